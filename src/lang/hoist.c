/* hoist.c - sums that no round of a recurrence changes are computed before it.
 *
 * Takes a program. Finds in the stages of a recurrence the largest expressions around one reduction that read nothing that the recurrence
 * makes, and that output variables alone decide. Gives the program with a stage for each, before the recurrence, over those variables: the
 * same bits, since it is the same expression at the same point. Where an expression stood under a condition, its reads must be inside
 * their tensors without it. Judges no cost: the caller is asked.
 */
#include <assert.h>

#include "lang/lang.h"
#include "lang/rewrite.h"
#include "lang/walk.h"

#define SEVERAL UINT32_MAX /* reductions below a node */

typedef struct invariant {
    lang_ref node;
    size_t first; /* stage of its recurrence, before which it is computed */
    const lang_stage *stage;
    lang_ref reduction;
    uint32_t tensor; /* of the new program */
    bool left;       /* where it is */
} invariant;

typedef BASE_VEC(invariant) invariants;

/* ---- what is to be found ---- */

typedef struct finder {
    const lang_program *p;
    const lang_stage *stage;
    lang_ref *only; /* the reduction at or below a node; 0: none */
    bool *fixed;    /* reads nothing that the recurrence makes */
} finder;

static bool is_made_by(const lang_program *p, int32_t rec, uint32_t tensor) {
    const lang_tensor *t = &p->tensors.at[tensor];
    return t->kind == LANG_STAGE && p->stages.at[t->stage].rec == rec;
}

static void judge(finder *f, lang_ref r) {
    const lang_node *n = lang_at(f->p, r);
    lang_ref only = 0;
    bool fixed = n->kind != LANG_READ || !is_made_by(f->p, f->stage->rec, n->index);
    for (uint32_t k = 0; k < n->count; k++) {
        const lang_ref o = lang_operand(f->p, r, k);
        if (o != 0) {
            only = f->only[o] == 0 || f->only[o] == only ? only : only == 0 ? f->only[o] : SEVERAL;
            fixed = fixed && f->fixed[o];
        }
    }
    f->only[r] = n->kind != LANG_REDUCE ? only : only == 0 ? r : SEVERAL;
    f->fixed[r] = fixed;
}

/* Output variables alone decide it, and they go as far at each run. */
static bool has_place(const lang_program *p, const lang_stage *s, uint64_t vars) {
    uint32_t rank = 0;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        if ((vars >> k & 1) != 0) {
            rank++;
            if (k >= s->rank || lang_at(p, s->vars[k].extent)->kind != LANG_CONST) {
                return false;
            }
        }
    }
    return rank <= LANG_MAX_RANK;
}

static bool may_move(const finder *f, lang_ref r) {
    return r != 0 && f->fixed[r] && f->only[r] != 0 && f->only[r] != SEVERAL &&
           has_place(f->p, f->stage, lang_at(f->p, r)->free);
}

/* Below casts that make it wider: they are made again where it is read. */
static lang_ref narrowest(const lang_program *p, lang_ref r) {
    for (;;) {
        const lang_node *n = lang_at(p, r);
        if (n->kind != LANG_WORD_ || n->code != LANG_CAST) {
            return r;
        }
        const lang_ref o = lang_operand(p, r, 0);
        if (base_type_bits((base_type)lang_at(p, o)->type) >= base_type_bits((base_type)n->type)) {
            return r;
        }
        r = o;
    }
}

static void add_invariant(base_arena *scratch, const finder *f, size_t first, lang_ref r, lang_ref reduction,
                          invariants *out) {
    r = narrowest(f->p, r);
    for (size_t i = 0; i < out->n; i++) {
        if (out->at[i].node == r && out->at[i].first == first) {
            return;
        }
    }
    *BASE_PUSH(scratch, out) = (invariant){.node = r, .first = first, .stage = f->stage, .reduction = reduction};
}

/* Of each reduction of the stage the largest expression around it; where there are several, as of a sum that is used twice, the
 * reduction itself. */
static void find_in_stage(base_arena *scratch, const lang_program *p, size_t first, const lang_stage *s,
                          invariants *out) {
    base_arena *own = base_arena_new(base_arena_memory(scratch));
    finder f = {.p = p, .stage = s};
    f.only = BASE_NEWS(own, lang_ref, p->nodes.n);
    f.fixed = BASE_NEWS(own, bool, p->nodes.n);
    lang_ref *around = BASE_NEWS(own, lang_ref, p->nodes.n);
    lang_walk w;
    lang_walk_init(&w, own, p);
    lang_walk_add(&w, s->body);
    for (size_t i = 0; i < w.order.n; i++) {
        const lang_ref r = w.order.at[i];
        judge(&f, r);
        for (uint32_t k = 0; !may_move(&f, r) && k < lang_at(p, r)->count; k++) {
            const lang_ref o = lang_operand(p, r, k);
            if (may_move(&f, o)) {
                lang_ref *a = &around[f.only[o]];
                *a = *a == 0 || *a == o ? o : f.only[o];
            }
        }
    }
    if (may_move(&f, s->body)) {
        around[f.only[s->body]] = s->body;
    }
    for (size_t i = 0; i < w.order.n; i++) {
        const lang_ref r = w.order.at[i];
        if (around[r] != 0) {
            add_invariant(scratch, &f, first, around[r], r, out);
        }
    }
    base_arena_free(own);
}

static invariants find_all(base_arena *scratch, const lang_program *p) {
    invariants found = {0};
    size_t first = 0;
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        first = i > 0 && s->rec >= 0 && p->stages.at[i - 1].rec == s->rec ? first : i;
        if (s->rec >= 0) {
            find_in_stage(scratch, p, first, s, &found);
        }
    }
    return found;
}

/* ---- the new program ---- */

static lang_ref renumber(lang_rewriter *w, lang_ref r) {
    const uint32_t *number = w->user;
    const lang_node *n = lang_at(w->from, r);
    return n->kind == LANG_VAR ? lang_var(w->to, number[n->index], w->memo.at[lang_operand(w->from, r, 0)]) : 0;
}

/* Puts the stage of the expression behind those that there are. */
static bool add_stage(base_arena *scratch, const lang_program *p, lang_program *q, const uint32_t *map, invariant *x) {
    const uint64_t free = lang_at(p, x->node)->free;
    const lang_stage *old = x->stage;
    uint32_t number[LANG_MAX_VARS] = {0};
    lang_rewriter w = {.from = p, .to = q, .replace = renumber, .user = number, .tensor_map = map};
    lang_tensor t = {.name = base_printf(q->arena, "%s.sum", p->tensors.at[old->tensor].name),
                     .type = (base_type)lang_at(p, x->node)->type,
                     .kind = LANG_STAGE,
                     .stage = (uint32_t)q->stages.n};
    lang_stage s = {.rec = -1, .place = old->place};
    lang_variable *vars = BASE_NEWS(q->arena, lang_variable, old->var_count);
    for (uint32_t k = 0; k < old->rank; k++) {
        if ((free >> k & 1) != 0) {
            number[k] = s.var_count;
            t.dim[s.var_count] = lang_at(p, old->vars[k].extent)->value.i;
            vars[s.var_count++] = old->vars[k];
        }
    }
    t.rank = s.rank = s.var_count;
    for (uint32_t k = 0; k + 3 < lang_at(p, x->reduction)->count; k++) {
        const uint32_t v = lang_at(p, lang_operand(p, x->reduction, k))->index;
        number[v] = s.var_count;
        vars[s.var_count++] = old->vars[v];
    }
    for (uint32_t k = 0; k < s.var_count; k++) {
        vars[k].extent = lang_rewrite(scratch, &w, vars[k].extent);
    }
    s.vars = vars;
    s.body = lang_rewrite(scratch, &w, x->node);
    s.tensor = x->tensor = lang_tensor_add(q, &t);
    *BASE_PUSH(q->arena, &q->stages) = s;
    return s.body != 0;
}

typedef struct reader {
    const invariants *found;
    size_t first;
} reader;

static lang_ref read_it(lang_rewriter *w, lang_ref r) {
    const reader *x = w->user;
    for (size_t i = 0; i < x->found->n; i++) {
        const invariant *v = &x->found->at[i];
        if (v->node != r || v->first != x->first || v->left) {
            continue;
        }
        lang_ref index[LANG_MAX_RANK + 1] = {0};
        uint32_t rank = 0;
        for (uint32_t k = 0; k < v->stage->rank; k++) {
            if ((lang_at(w->from, r)->free >> k & 1) != 0) {
                const int64_t extent = lang_at(w->from, v->stage->vars[k].extent)->value.i;
                index[rank++] = lang_var(w->to, k, lang_int(w->to, BASE_I64, extent));
            }
        }
        return lang_read(w->to, v->tensor, index, rank, 0);
    }
    return 0;
}

static lang_program *build(base_arena *arena, base_arena *scratch, const lang_program *p, invariants *found) {
    uint32_t *map = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    lang_program *q = lang_like(arena, p, NULL, map);
    lang_rewriter plain = {.from = p, .to = q, .tensor_map = map};
    reader x = {.found = found};
    lang_rewriter reads = plain;
    bool fine = true;
    for (uint32_t t = 0; t < p->tensors.n && fine; t++) {
        fine = lang_copy_extents(scratch, &plain, t, map[t]);
    }
    for (size_t i = 0; i < p->stages.n && fine; i++) {
        const lang_stage *s = &p->stages.at[i];
        for (size_t k = 0; k < found->n && fine; k++) {
            if (found->at[k].first == i && !found->at[k].left) {
                fine = add_stage(scratch, p, q, map, &found->at[k]);
            }
        }
        if (s->rec >= 0 && (i == 0 || p->stages.at[i - 1].rec != s->rec)) { /* another recurrence, and other reads */
            x.first = i;
            reads = (lang_rewriter){.from = p, .to = q, .replace = read_it, .user = &x, .tensor_map = map};
        }
        fine = fine && lang_copy_stage(scratch, s->rec >= 0 ? &reads : &plain, s, map[s->tensor]);
    }
    return fine ? q : NULL;
}

/* No condition is above it any more. */
static bool reads_inside(base_arena *scratch, lang_ranges *ranges, const lang_program *q, const lang_stage *s) {
    lang_walk w;
    lang_walk_init(&w, scratch, q);
    lang_walk_add(&w, s->body);
    for (size_t i = 0; i < w.order.n; i++) {
        const lang_node *n = lang_at(q, w.order.at[i]);
        if (n->kind == LANG_READ && !n->has_fill && !lang_read_inside(ranges, s, w.order.at[i])) {
            return false;
        }
    }
    return true;
}

/* How many of them move. */
static uint32_t choose(base_arena *scratch, const lang_program *q, lang_wanted wanted, const void *user,
                       invariants *found) {
    lang_ranges *ranges = lang_ranges_new(scratch, q);
    uint32_t n = 0;
    for (size_t i = 0; i < found->n; i++) {
        const lang_stage *s = &q->stages.at[q->tensors.at[found->at[i].tensor].stage];
        found->at[i].left = !reads_inside(scratch, ranges, q, s) || !wanted(user, q, ranges, s);
        n += !found->at[i].left;
    }
    return n;
}

lang_program *lang_hoist(base_arena *arena, const lang_program *p, lang_wanted wanted, const void *user) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    invariants found = find_all(scratch, p);
    lang_program *q = found.n > 0 ? build(scratch, scratch, p, &found) : NULL;
    const bool any = q != NULL && choose(scratch, q, wanted, user, &found) > 0;
    q = any ? build(arena, scratch, p, &found) : NULL;
    base_arena_free(scratch);
    return q;
}
