/* transform.c - programs from programs: copying, inlining a stage, linking.
 *
 * Takes programs. Gives new ones in the caller's arena with the same outputs, bit for bit. Judges no cost and
 * simplifies nothing beyond what the builders fold.
 */
#include <assert.h>

#include "lang/lang.h"
#include "lang/rewrite.h"
#include "lang/walk.h"

/* ---- copying ---- */

#define UNKNOWN_EXTENT (LANG_MAX_VARS - 1u) /* stands in until the extents are rewritten */

uint32_t lang_copy_tensor(lang_program *to, const lang_tensor *t) {
    lang_tensor copy = *t;
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->extent[k] != 0) {
            copy.extent[k] = lang_var(to, UNKNOWN_EXTENT, lang_int(to, BASE_I64, t->dim[k] + 1));
        }
    }
    return lang_tensor_add(to, &copy);
}

bool lang_copy_extents(base_arena *scratch, lang_rewriter *w, uint32_t from, uint32_t to) {
    for (uint32_t k = 0; k < w->from->tensors.at[from].rank; k++) {
        lang_ref extent = w->from->tensors.at[from].extent[k];
        if (extent == 0) {
            continue;
        }
        lang_ref e = lang_rewrite(scratch, w, extent);
        if (e == 0) {
            return false;
        }
        lang_tensor *t = &w->to->tensors.at[to];
        const lang_node *n = lang_at(w->to, e);
        bool exact = n->kind == LANG_CONST && n->value.i >= 0 && n->value.i <= t->dim[k];
        t->extent[k] = exact ? 0 : e;
        t->dim[k] = exact ? n->value.i : t->dim[k];
    }
    return true;
}

/* Variables of s, rewritten; room for `extra` more. NULL: the node limit. */
static lang_variable *copy_variables(base_arena *scratch, lang_rewriter *w, const lang_stage *s, uint32_t extra) {
    lang_variable *vars = BASE_NEWS(w->to->arena, lang_variable, s->var_count + extra);
    for (uint32_t k = 0; k < s->var_count; k++) {
        vars[k] = s->vars[k];
        vars[k].extent = lang_rewrite(scratch, w, s->vars[k].extent);
        if (vars[k].extent == 0) {
            return NULL;
        }
        const lang_node *n = lang_at(w->to, vars[k].extent);
        if (n->kind == LANG_CONST && n->value.i >= 0 && n->value.i < vars[k].bound) {
            vars[k].bound = n->value.i;
        }
    }
    return vars;
}

bool lang_copy_stage(base_arena *scratch, lang_rewriter *w, const lang_stage *s, uint32_t tensor) {
    lang_stage copy = *s;
    copy.tensor = tensor;
    copy.vars = copy_variables(scratch, w, s, 0);
    copy.body = copy.vars != NULL ? lang_rewrite(scratch, w, s->body) : 0;
    if (copy.body == 0) {
        return false;
    }
    w->to->tensors.at[tensor].stage = (uint32_t)w->to->stages.n;
    *BASE_PUSH(w->to->arena, &w->to->stages) = copy;
    return true;
}

/* ---- inlining ---- */

typedef struct inliner {
    base_arena *scratch;
    uint32_t tensor;         /* of the stage that vanishes */
    const lang_stage *stage; /* in the old program */
    lang_walk body;          /* the nodes of its body */
    lang_rewriter inner;     /* rebuilds its body at one point */
    lang_ref *index;         /* the point */
    uint8_t now;             /* the level of the instance there */
    uint32_t var_count;      /* of the reading stage, with fresh ones */
    uint32_t base_count;     /* without */
    bool too_many;
    uint8_t *
        /* of each node of the reading stage: how deep reads of the vanishing stage stand in each other's indices */
        level;
    struct {
        uint32_t variable; /* of the stage that vanishes */
        lang_ref extent;
        uint8_t level;
    } fresh[LANG_MAX_VARS];
} inliner;

/* The number in the reading stage of a variable that the vanishing stage binds. One number serves all instances that
 * lie beside each other; an instance in another's index comes to stand inside that one's reductions and gets its
 * own. */
static uint32_t fresh_number(inliner *x, uint32_t variable, lang_ref extent) {
    for (uint32_t k = x->base_count; k < x->var_count; k++) {
        if (x->fresh[k].variable == variable && x->fresh[k].extent == extent && x->fresh[k].level == x->now) {
            return k;
        }
    }
    if (x->var_count == LANG_MAX_VARS) {
        x->too_many = true;
        return 0;
    }
    x->fresh[x->var_count].variable = variable;
    x->fresh[x->var_count].extent = extent;
    x->fresh[x->var_count].level = x->now;
    return x->var_count++;
}

static lang_ref replace_variable(lang_rewriter *w, lang_ref r) {
    inliner *x = w->user;
    const lang_node *n = lang_at(w->from, r);
    if (n->kind != LANG_VAR) {
        return 0;
    }
    if (n->index < x->stage->rank) {
        return x->index[n->index];
    }
    lang_ref extent = w->memo.at[lang_operand(w->from, r, 0)];
    return lang_var(w->to, fresh_number(x, n->index, extent), extent);
}

static lang_ref body_at(inliner *x, lang_ref *index) {
    x->index = index;
    lang_ref body = lang_rewrite(x->scratch, &x->inner, x->stage->body);
    for (size_t i = 0; i < x->body.order.n; i++) {
        x->inner.memo.at[x->body.order.at[i]] = 0;
    }
    return body;
}

static lang_ref extent_of(lang_program *p, const lang_tensor *t, uint32_t k) {
    return t->extent[k] != 0 ? t->extent[k] : lang_int(p, BASE_I64, t->dim[k]);
}

static lang_ref apply(lang_program *p, lang_word w, lang_ref a, lang_ref b) {
    bool logic = w == LANG_LE || w == LANG_LT || w == LANG_AND;
    return lang_apply2(p, w, logic ? BASE_BOOL : BASE_I64, a, b);
}

static lang_ref within(lang_program *p, lang_ref condition, lang_ref index, lang_ref extent) {
    lang_ref c =
        apply(p, LANG_AND, apply(p, LANG_LE, lang_int(p, BASE_I64, 0), index), apply(p, LANG_LT, index, extent));
    return condition != 0 ? apply(p, LANG_AND, condition, c) : c;
}

/* The indices of a flat read, and the condition that it is inside. */
static lang_ref unflatten(lang_program *p, const lang_tensor *t, lang_ref element, lang_ref *index) {
    lang_ref stride = lang_int(p, BASE_I64, 1);
    for (uint32_t k = t->rank; k-- > 0;) {
        lang_ref e = extent_of(p, t, k);
        lang_ref q = apply(p, LANG_DIV, element, stride);
        index[k] = k > 0 ? apply(p, LANG_MOD, q, e) : q;
        stride = apply(p, LANG_MUL, stride, e);
    }
    return within(p, 0, element, stride);
}

/* A read of the vanishing stage becomes its body there, under the condition of being inside where there is a fill. */
static lang_ref replace_read(lang_rewriter *w, lang_ref r) {
    inliner *x = w->user;
    const lang_node n = *lang_at(w->from, r);
    for (uint32_t k = 0; k < n.count; k++) {
        uint8_t level = x->level[lang_operand(w->from, r, k)];
        x->level[r] = level > x->level[r] ? level : x->level[r];
    }
    if (n.kind != LANG_READ || n.index != x->tensor) {
        return 0;
    }
    x->now = x->level[r] < UINT8_MAX ? ++x->level[r] : UINT8_MAX;
    x->too_many = x->too_many || x->now > LANG_MAX_VARS;
    lang_program *p = w->to;
    const lang_tensor t = p->tensors.at[w->tensor_map[n.index]];
    lang_ref index[LANG_MAX_RANK + 1] = {0}, inside = 0;
    uint32_t indices = n.count - (n.has_fill ? 1 : 0);
    for (uint32_t k = 0; k < indices; k++) {
        index[k] = w->memo.at[lang_operand(w->from, r, k)];
    }
    if (n.flat) {
        inside = unflatten(p, &t, index[0], index);
    }
    for (uint32_t k = 0; !n.flat && n.has_fill && k < t.rank; k++) {
        inside = within(p, inside, index[k], extent_of(p, &t, k));
    }
    lang_ref body = body_at(x, index);
    if (!n.has_fill || body == 0 || inside == 0) {
        x->too_many = x->too_many || body == 0;
        return body;
    }
    lang_ref args[3] = {inside, body, w->memo.at[lang_operand(w->from, r, indices)]};
    return lang_apply(p, LANG_IF, t.type, args, 3);
}

static bool extents_read(const lang_program *p, uint32_t tensor, base_arena *scratch) {
    lang_walk w;
    lang_walk_init(&w, scratch, p);
    for (size_t t = 0; t < p->tensors.n; t++) {
        for (uint32_t k = 0; k < p->tensors.at[t].rank; k++) {
            lang_walk_add(&w, p->tensors.at[t].extent[k]);
        }
    }
    for (size_t i = 0; i < w.order.n; i++) {
        const lang_node *n = lang_at(p, w.order.at[i]);
        if (n->kind == LANG_READ && n->index == tensor) {
            return true;
        }
    }
    return false;
}

/* Stage s with every read of the vanishing one substituted. */
static bool inline_into(inliner *x, lang_program *to, const lang_program *from, const uint32_t *map,
                        const lang_stage *s) {
    lang_rewriter w = {.from = from, .to = to, .replace = replace_read, .user = x, .tensor_map = map};
    x->base_count = x->var_count = s->var_count;
    x->level = BASE_NEWS(x->scratch, uint8_t, from->nodes.n);
    lang_stage copy = *s;
    copy.tensor = map[s->tensor];
    lang_variable *vars = copy_variables(x->scratch, &w, s, LANG_MAX_VARS - s->var_count);
    copy.body = vars != NULL ? lang_rewrite(x->scratch, &w, s->body) : 0;
    if (copy.body == 0 || x->too_many) {
        return false;
    }
    for (uint32_t k = x->base_count; k < x->var_count; k++) {
        vars[k] = x->stage->vars[x->fresh[k].variable];
        vars[k].extent = x->fresh[k].extent;
    }
    copy.vars = vars;
    copy.var_count = x->var_count;
    to->tensors.at[copy.tensor].stage = (uint32_t)to->stages.n;
    *BASE_PUSH(to->arena, &to->stages) = copy;
    return true;
}

lang_program *lang_like(base_arena *arena, const lang_program *p, const bool *keep, uint32_t *map) {
    lang_program *q = lang_program_new(arena, p->name);
    q->external = p->external;
    q->node_limit = p->node_limit;
    q->rec_count = p->rec_count;
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        map[t] = keep == NULL || keep[t] ? lang_copy_tensor(q, &p->tensors.at[t]) : IR_NONE;
    }
    for (size_t k = 0; k < p->inputs.n; k++) {
        *BASE_PUSH(arena, &q->inputs) = p->inputs.at[k] != IR_NONE ? map[p->inputs.at[k]] : IR_NONE;
    }
    for (size_t k = 0; k < p->outputs.n; k++) {
        *BASE_PUSH(arena, &q->outputs) = map[p->outputs.at[k]];
    }
    return q;
}

lang_program *lang_rewrite_stages(base_arena *arena, const lang_program *p, lang_rewriter *by) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    uint32_t *map = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    lang_program *q = lang_like(arena, p, NULL, map);
    lang_rewriter plain = {.from = p, .to = q, .tensor_map = map};
    bool fine = true;
    q->node_limit = 2 * p->nodes.n + 4096; /* what comes in the place of nodes is small */
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        fine = fine && lang_copy_extents(scratch, &plain, t, map[t]);
    }
    for (size_t i = 0; i < p->stages.n && fine; i++) {
        lang_rewriter own = {.from = p, .to = q, .replace = by[i].replace, .user = by[i].user, .tensor_map = map};
        fine = lang_copy_stage(scratch, by[i].replace != NULL ? &own : &plain, &p->stages.at[i],
                               map[p->stages.at[i].tensor]);
    }
    assert(fine);
    (void)fine;
    q->node_limit = p->node_limit;
    base_arena_free(scratch);
    return q;
}

bool lang_is_output(const lang_program *p, uint32_t tensor) {
    for (size_t k = 0; k < p->outputs.n; k++) {
        if (p->outputs.at[k] == tensor) {
            return true;
        }
    }
    return false;
}

/* A tensor nothing reads any more is dropped with its stage; an output stays. */
static lang_program *without_tensor(base_arena *arena, base_arena *scratch, const lang_program *p, uint32_t tensor) {
    bool *keep = BASE_NEWS(scratch, bool, p->tensors.n);
    uint32_t *map = BASE_NEWS(scratch, uint32_t, p->tensors.n);
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        keep[t] = t != tensor;
    }
    lang_program *q = lang_like(arena, p, keep, map);
    lang_rewriter w = {.from = p, .to = q, .tensor_map = map};
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        if (keep[t] && !lang_copy_extents(scratch, &w, t, map[t])) {
            return NULL;
        }
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        if (p->stages.at[i].tensor != tensor &&
            !lang_copy_stage(scratch, &w, &p->stages.at[i], map[p->stages.at[i].tensor])) {
            return NULL;
        }
    }
    return q;
}

lang_program *lang_inline(base_arena *arena, const lang_program *p, uint32_t stage) {
    const lang_stage *s = &p->stages.at[stage];
    assert(stage < p->stages.n);
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lang_program *out = NULL;
    if (!extents_read(p, s->tensor, scratch)) {
        uint32_t *map = BASE_NEWS(scratch, uint32_t, p->tensors.n);
        lang_program *q = lang_like(scratch, p, NULL, map);
        inliner x = {.scratch = scratch, .tensor = s->tensor, .stage = s};
        x.inner = (lang_rewriter){.from = p, .to = q, .replace = replace_variable, .user = &x, .tensor_map = map};
        lang_walk_init(&x.body, scratch, p);
        lang_walk_add(&x.body, s->body);
        lang_rewriter plain = {.from = p, .to = q, .tensor_map = map};
        bool fine = true;
        for (uint32_t t = 0; t < p->tensors.n && fine; t++) {
            fine = lang_copy_extents(scratch, &plain, t, map[t]);
        }
        for (size_t i = 0; i < p->stages.n && fine; i++) {
            const lang_stage *reader = &p->stages.at[i];
            bool reads = reader != s && lang_reads_of(p, reader, s->tensor) > 0;
            fine = reads ? inline_into(&x, q, p, map, reader)
                         : lang_copy_stage(scratch, &plain, reader, map[reader->tensor]);
        }
        out = fine ? without_tensor(arena, scratch, q, lang_is_output(p, s->tensor) ? IR_NONE : map[s->tensor]) : NULL;
    }
    base_arena_free(scratch);
    return out;
}

/* ---- linking ---- */

typedef struct linker {
    lang_program *to;
    base_arena *scratch;
    const lang_link_part *parts;
    uint32_t **map;  /* of each part: its tensors in the whole */
    uint32_t *whole; /* tensor of each input of the whole, IR_NONE until one part reads it */
} linker;

static uint32_t source_tensor(const linker *l, lang_link_source s) {
    if (s.index == IR_NONE) {
        return IR_NONE;
    }
    if (s.part == IR_NONE) {
        return l->whole[s.index];
    }
    return l->map[s.part][l->parts[s.part].program->outputs.at[s.index]];
}

/* Which input of the program tensor t is; IR_NONE: none. */
static uint32_t input_number(const lang_program *p, uint32_t tensor) {
    for (uint32_t k = 0; k < p->inputs.n; k++) {
        if (p->inputs.at[k] == tensor) {
            return k;
        }
    }
    return IR_NONE;
}

static uint32_t link_tensor(linker *l, const lang_link_part *part, uint32_t t, bool *copied) {
    const lang_tensor *old = &part->program->tensors.at[t];
    uint32_t k = old->kind == LANG_INPUT ? input_number(part->program, t) : IR_NONE;
    *copied = true;
    if (k == IR_NONE) {
        return lang_copy_tensor(l->to, old);
    }
    lang_link_source source = part->inputs[k];
    assert(source.index != IR_NONE);
    uint32_t bound = source_tensor(l, source);
    if (bound == IR_NONE) {
        lang_tensor fresh = *old;
        fresh.input = source.index;
        bound = lang_copy_tensor(l->to, &fresh);
        l->whole[source.index] = bound;
    } else {
        *copied = false;
    }
    assert(l->to->tensors.at[bound].type == old->type && l->to->tensors.at[bound].rank == old->rank);
    return bound;
}

static bool link_part(linker *l, uint32_t j) {
    const lang_program *p = l->parts[j].program;
    l->map[j] = BASE_NEWS(l->scratch, uint32_t, p->tensors.n + 1);
    lang_rewriter w = {.from = p, .to = l->to, .tensor_map = l->map[j]};
    uint32_t first_rec = l->to->rec_count;
    bool *copied = BASE_NEWS(l->scratch, bool, p->tensors.n + 1);
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        l->map[j][t] = link_tensor(l, &l->parts[j], t, &copied[t]);
    }
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        if (copied[t] && !lang_copy_extents(l->scratch, &w, t, l->map[j][t])) {
            return false;
        }
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        lang_stage s = p->stages.at[i];
        s.rec = s.rec >= 0 ? s.rec + (int32_t)first_rec : -1;
        if (!lang_copy_stage(l->scratch, &w, &s, l->map[j][s.tensor])) {
            return false;
        }
    }
    l->to->rec_count += p->rec_count;
    return true;
}

lang_program *lang_link(base_arena *arena, const char *name, const lang_link_part *parts, size_t n, size_t input_count,
                        const lang_link_source *outputs, size_t output_count) {
    linker l = {
        .to = lang_program_new(arena, name), .scratch = base_arena_new(base_arena_memory(arena)), .parts = parts};
    bool fine = true;
    l.map = BASE_NEWS(l.scratch, uint32_t *, n + 1);
    l.whole = BASE_NEWS(l.scratch, uint32_t, input_count + 1);
    for (size_t k = 0; k < input_count; k++) {
        l.whole[k] = IR_NONE;
    }
    for (size_t j = 0; j < n; j++) {
        uint64_t limit = parts[j].program->node_limit;
        l.to->node_limit = limit > l.to->node_limit ? limit : l.to->node_limit;
    }
    for (uint32_t j = 0; j < n && fine; j++) {
        fine = link_part(&l, j);
    }
    for (size_t k = 0; k < input_count && fine; k++) {
        *BASE_PUSH(arena, &l.to->inputs) = l.whole[k];
    }
    for (size_t k = 0; k < output_count && fine; k++) {
        *BASE_PUSH(arena, &l.to->outputs) = source_tensor(&l, outputs[k]);
    }
    base_arena_free(l.scratch);
    return fine ? l.to : NULL;
}
