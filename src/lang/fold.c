/* fold.c - what depends on constants only is computed now.
 *
 * Takes a program. Gives one in which every stage whose values are known is a constant tensor, computed by the
 * evaluator, and in which nothing is left that no output needs. An evaluation that fails (a read outside, a limit)
 * leaves its stages as they are.
 */
#include <assert.h>

#include "lang/lang.h"
#include "lang/rewrite.h"
#include "lang/walk.h"

#define COST_LIMIT ((uint64_t)1 << 32) /* scalar operations that folding may cost */

typedef struct folder {
    const lang_program *p;
    base_arena *arena, *scratch;
    uint64_t max_bytes;
    bool *known;    /* tensor: its values can be computed now */
    bool *constant; /* node: likewise, for each value of its variables */
    void **data;    /* tensor: its values */
    bool *needed;   /* tensor */
} folder;

/* ---- what is known ---- */

static bool node_known(const folder *f, lang_ref e) {
    const lang_node *n = lang_at(f->p, e);
    for (uint32_t k = 0; k < n->count; k++) {
        lang_ref o = lang_operand(f->p, e, k);
        if (o != 0 && !f->constant[o]) {
            return false;
        }
    }
    return n->kind != LANG_READ || f->known[n->index];
}

static bool small_and_static(const folder *f, const lang_tensor *t) {
    uint64_t n = 1, bytes;
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->extent[k] != 0 || !base_mul_size(n, (uint64_t)t->dim[k], &n)) {
            return false;
        }
    }
    return base_type_bytes(t->type, n, &bytes) && bytes <= f->max_bytes;
}

/* Stages first .. last-1: one stage, or one recurrence, which is known as a whole or not at all. */
static void judge_group(folder *f, lang_walk *w, size_t first, size_t last) {
    const lang_program *p = f->p;
    size_t from = w->order.n;
    bool known = true;
    for (size_t i = first; i < last; i++) {
        f->known[p->stages.at[i].tensor] = small_and_static(f, &p->tensors.at[p->stages.at[i].tensor]);
        known = known && f->known[p->stages.at[i].tensor];
    }
    for (size_t i = first; i < last; i++) {
        lang_walk_add(w, p->stages.at[i].body);
        for (uint32_t k = 0; k < p->stages.at[i].var_count; k++) {
            lang_walk_add(w, p->stages.at[i].vars[k].extent);
        }
    }
    for (int pass = 0; pass < 2;
         pass++) { /* the second, when the recurrence turned out unknown: its own reads are too */
        for (size_t i = from; i < w->order.n; i++) {
            f->constant[w->order.at[i]] = node_known(f, w->order.at[i]);
        }
        for (size_t i = first; i < last; i++) {
            known = known && f->constant[p->stages.at[i].body];
        }
        for (size_t i = first; i < last; i++) {
            f->known[p->stages.at[i].tensor] = known;
        }
    }
}

static void judge(folder *f) {
    const lang_program *p = f->p;
    lang_walk w;
    lang_walk_init(&w, f->scratch, p);
    for (size_t t = 0; t < p->tensors.n; t++) {
        f->known[t] = p->tensors.at[t].kind != LANG_STAGE && p->tensors.at[t].data != NULL;
    }
    for (size_t i = 0; i < p->stages.n;) {
        size_t last = i + 1;
        while (p->stages.at[i].rec >= 0 && last < p->stages.n && p->stages.at[last].rec == p->stages.at[i].rec) {
            last++;
        }
        judge_group(f, &w, i, last);
        i = last;
    }
}

/* ---- computing it ---- */

/* A read of a constant at the point itself: as folded as an output can be. */
static bool is_copy(const lang_program *p, const lang_stage *s) {
    const lang_node *n = lang_at(p, s->body);
    return n->kind == LANG_CONST || (n->kind == LANG_READ && p->tensors.at[n->index].kind == LANG_CONSTANT &&
                                     !n->has_fill && lang_reads_at_point(p, s, n->index));
}

/* The known stages alone; outputs: those that an unknown stage or the outside reads. */
static lang_program *known_part(folder *f, const bool *wanted, uint32_t *map) {
    const lang_program *p = f->p;
    bool *keep = BASE_NEWS(f->scratch, bool, p->tensors.n + 1);
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        keep[t] = f->known[t] || p->tensors.at[t].kind == LANG_INPUT;
    }
    lang_program *q = lang_like(f->scratch, p, keep, map);
    lang_rewriter w = {.from = p, .to = q, .tensor_map = map};
    q->outputs.n = 0;
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        if (f->known[t] && !lang_copy_extents(f->scratch, &w, t, map[t])) {
            return NULL;
        }
        for (uint32_t k = 0; !f->known[t] && map[t] != IR_NONE && k < q->tensors.at[map[t]].rank; k++) {
            q->tensors.at[map[t]].extent[k] = 0; /* of an input, which is not read here */
        }
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        if (!f->known[s->tensor]) {
            continue;
        }
        if (!lang_copy_stage(f->scratch, &w, s, map[s->tensor])) {
            return NULL;
        }
        if (wanted[s->tensor]) {
            *BASE_PUSH(f->scratch, &q->outputs) = map[s->tensor];
        }
    }
    return q;
}

/* Tensors of known stages that are read by unknown ones, or are outputs. */
static bool find_wanted(folder *f, bool *wanted) {
    const lang_program *p = f->p;
    lang_walk w;
    bool any = false;
    lang_walk_init(&w, f->scratch, p);
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        if (!f->known[s->tensor]) {
            lang_walk_add(&w, s->body);
            for (uint32_t k = 0; k < s->var_count; k++) {
                lang_walk_add(&w, s->vars[k].extent);
            }
        } else {
            wanted[s->tensor] = lang_is_output(p, s->tensor) && !is_copy(p, s);
        }
    }
    for (size_t t = 0; t < p->tensors.n; t++) {
        for (uint32_t k = 0; k < p->tensors.at[t].rank; k++) {
            lang_walk_add(&w, p->tensors.at[t].extent[k]);
        }
    }
    for (size_t i = 0; i < w.order.n; i++) {
        const lang_node *n = lang_at(p, w.order.at[i]);
        if (n->kind == LANG_READ && p->tensors.at[n->index].kind == LANG_STAGE && f->known[n->index]) {
            wanted[n->index] = true;
        }
    }
    for (size_t t = 0; t < p->tensors.n; t++) {
        any = any || wanted[t];
    }
    return any;
}

static void evaluate(folder *f) {
    const lang_program *p = f->p;
    bool *wanted = BASE_NEWS(f->scratch, bool, p->tensors.n + 1);
    uint32_t *map = BASE_NEWS(f->scratch, uint32_t, p->tensors.n + 1);
    if (!find_wanted(f, wanted)) {
        return;
    }
    lang_program *q = known_part(f, wanted, map);
    if (q == NULL || lang_cost(q) > COST_LIMIT) {
        return;
    }
    base_diags unheard = {.arena = f->scratch};
    lang_code *code = lang_compile(f->scratch, q, LANG_EVAL_EXACT, &unheard);
    if (code == NULL) {
        return;
    }
    lang_result *results = BASE_NEWS(f->scratch, lang_result, q->outputs.n);
    const void **inputs = BASE_NEWS(f->scratch, const void *, q->inputs.n + 1);
    for (size_t k = 0; k < q->outputs.n; k++) {
        const lang_tensor *t = &q->tensors.at[q->outputs.at[k]];
        uint64_t n = 1, bytes = 0;
        for (uint32_t d = 0; d < t->rank; d++) {
            n *= (uint64_t)t->dim[d];
        }
        (void)base_type_bytes(t->type, n, &bytes);
        results[k].data = base_alloc(f->arena, bytes + 1, 1);
    }
    if (lang_run(code, f->scratch, inputs, results, &unheard) != BASE_OK) {
        return;
    }
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        for (size_t k = 0; k < q->outputs.n; k++) {
            if (wanted[t] && q->outputs.at[k] == map[t]) {
                f->data[t] = results[k].data;
            }
        }
    }
}

/* ---- what is needed ---- */

static void need(folder *f, lang_walk *w, uint32_t tensor, bool contents) {
    const lang_program *p = f->p;
    if (f->needed[tensor]) {
        return;
    }
    f->needed[tensor] = true;
    const lang_tensor *t = &p->tensors.at[tensor];
    for (uint32_t k = 0; k < t->rank; k++) {
        lang_walk_add(w, t->extent[k]);
    }
    if (t->kind != LANG_STAGE || !contents) {
        return;
    }
    const lang_stage *s = &p->stages.at[t->stage]; /* of a recurrence too: its stages are needed one by one */
    lang_walk_add(w, s->body);
    for (uint32_t k = 0; k < s->var_count; k++) {
        lang_walk_add(w, s->vars[k].extent);
    }
}

static void find_needed(folder *f) {
    const lang_program *p = f->p;
    lang_walk w;
    lang_walk_init(&w, f->scratch, p);
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        if (p->tensors.at[t].kind == LANG_INPUT || lang_is_output(p, t)) {
            need(f, &w, t, f->data[t] == NULL);
        }
    }
    for (size_t i = 0; i < w.order.n; i++) { /* grows while it is read */
        const lang_node *n = lang_at(p, w.order.at[i]);
        if (n->kind == LANG_READ) {
            need(f, &w, n->index, f->data[n->index] == NULL);
        }
    }
}

/* ---- the new program ---- */

/* An output is a stage: it copies the constant that its values became. */
static bool copy_constant(lang_program *q, base_arena *arena, const lang_stage *s, uint32_t tensor, uint32_t constant) {
    lang_variable *vars = BASE_NEWS(arena, lang_variable, s->rank + 1);
    lang_ref index[LANG_MAX_RANK] = {0};
    for (uint32_t k = 0; k < s->rank; k++) {
        vars[k] = s->vars[k];
        vars[k].bound = q->tensors.at[tensor].dim[k];
        vars[k].extent = lang_int(q, BASE_I64, vars[k].bound);
        index[k] = lang_var(q, k, vars[k].extent);
    }
    lang_stage copy = {
        .tensor = tensor, .rank = s->rank, .var_count = s->rank, .vars = vars, .rec = -1, .place = s->place};
    copy.body = lang_read(q, constant, index, s->rank, 0);
    q->tensors.at[tensor].stage = (uint32_t)q->stages.n;
    *BASE_PUSH(arena, &q->stages) = copy;
    return copy.body != 0;
}

/* For each folded tensor a constant: the tensor itself, or one beside it where it is an output. read_map says what
 * readers read. */
static void add_constants(folder *f, lang_program *q, const uint32_t *map, uint32_t *read_map) {
    const lang_program *p = f->p;
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        read_map[t] = map[t];
        if (f->data[t] == NULL || map[t] == IR_NONE) {
            continue;
        }
        if (lang_is_output(p, t)) {
            lang_tensor beside = q->tensors.at[map[t]];
            beside.kind = LANG_CONSTANT;
            beside.data = f->data[t];
            read_map[t] = lang_tensor_add(q, &beside);
        } else {
            q->tensors.at[map[t]].kind = LANG_CONSTANT;
            q->tensors.at[map[t]].data = f->data[t];
        }
    }
}

static lang_program *rest(folder *f) {
    const lang_program *p = f->p;
    uint32_t *map = BASE_NEWS(f->scratch, uint32_t, p->tensors.n + 1);
    uint32_t *read_map = BASE_NEWS(f->scratch, uint32_t, p->tensors.n + 1);
    lang_program *q = lang_like(f->arena, p, f->needed, map);
    q->node_limit = 2 * p->nodes.n + 4096; /* of copies there are never more */
    lang_rewriter w = {.from = p, .to = q, .tensor_map = read_map};
    add_constants(f, q, map, read_map);
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        bool fine = map[t] == IR_NONE || lang_copy_extents(f->scratch, &w, t, map[t]);
        assert(fine);
        (void)fine;
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        bool folded = f->data[s->tensor] != NULL;
        if (map[s->tensor] == IR_NONE || (folded && read_map[s->tensor] == map[s->tensor])) {
            continue;
        }
        bool fine = folded ? copy_constant(q, f->arena, s, map[s->tensor], read_map[s->tensor])
                           : lang_copy_stage(f->scratch, &w, s, map[s->tensor]);
        assert(fine);
        (void)fine;
    }
    q->node_limit = p->node_limit;
    return q;
}

lang_program *lang_fold(base_arena *arena, const lang_program *p, uint64_t max_bytes) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    folder f = {.p = p, .arena = arena, .scratch = scratch, .max_bytes = max_bytes};
    f.known = BASE_NEWS(scratch, bool, p->tensors.n + 1);
    f.needed = BASE_NEWS(scratch, bool, p->tensors.n + 1);
    f.data = BASE_NEWS(scratch, void *, p->tensors.n + 1);
    f.constant = BASE_NEWS(scratch, bool, p->nodes.n);
    judge(&f);
    evaluate(&f);
    find_needed(&f);
    lang_program *q = rest(&f);
    base_arena_free(scratch);
    return q;
}
