/* eval.c - the evaluator's face: compiles programs, runs them whole, counts their cost.
 *
 * Takes programs and buffers. Gives outputs as eval.h says. Stages whose extents are all known are compiled once; those
 * that touch a dynamic extent are compiled in each run, when the extents are known. Single elements are in
 * eval_elements.c.
 */
#include "lang/analysis.h"
#include "lang/eval_code.h"

#include <assert.h>
#include <string.h>

/* ---- compiling ---- */

static bool reads_dynamic(const lang_code *code, lang_ref r, uint8_t *seen) {
    const lang_program *p = code->program;
    if (seen[r] != 0) {
        return seen[r] == 2;
    }
    const lang_node *n = lang_at(p, r);
    bool dynamic = n->kind == LANG_READ && code->dynamic[n->index];
    for (uint32_t k = 0; k < n->count; k++) {
        lang_ref o = lang_operand(p, r, k);
        dynamic = (o != 0 && reads_dynamic(code, o, seen)) || dynamic;
    }
    seen[r] = dynamic ? 2 : 1;
    return dynamic;
}

lang_eval_options lang_eval_options_of(const lang_code *code, const int64_t (*dims)[LANG_MAX_RANK],
                                       const lang_stage *s) {
    lang_eval_options o = {
        .mode = code->mode, .dims = dims, .tile_limit = LANG_ROW, .wide = code->wide, .approximate = code->approximate};
    if (s != NULL && s->rec >= 0) {
        o.given = (uint64_t)1 << s->rec_var;
    }
    return o;
}

/* BOUND mode: what depends on inputs by float arithmetic has a bound. What depends on constants only is folded, with
 * our own words, wherever it is compiled: it is exact. */
static void find_approximate(lang_code *code, base_arena *scratch) {
    const lang_program *p = code->program;
    uint8_t *varies = BASE_NEWS(scratch, uint8_t, p->nodes.n), *varying = BASE_NEWS(scratch, uint8_t, p->tensors.n + 1);
    bool changed = code->mode == LANG_EVAL_BOUND; /* recurrences read themselves: until nothing changes */
    for (size_t t = 0; t < p->tensors.n; t++) {
        varying[t] = p->tensors.at[t].kind == LANG_INPUT && p->tensors.at[t].data == NULL;
    }
    while (changed) {
        changed = false;
        for (lang_ref r = 1; r < p->nodes.n; r++) {
            const lang_node *n = lang_at(p, r);
            bool computes = (n->kind == LANG_WORD_ || n->kind == LANG_REDUCE) && base_type_is_float((base_type)n->type);
            bool read = n->kind == LANG_READ;
            uint8_t moves = read && varying[n->index] != 0, approximate = read && code->wide[n->index] != 0;
            for (uint32_t k = 0; k < n->count && n->kind != LANG_VAR; k++) { /* a variable's values are certain */
                lang_ref o = lang_operand(p, r, k);
                o = n->kind == LANG_REDUCE && k + 3 < n->count ? lang_operand(p, o, 0) : o;
                moves |= varies[o];
                approximate |= code->approximate[o];
            }
            varies[r] = moves;
            code->approximate[r] = (uint8_t)(approximate | (computes && moves));
        }
        for (size_t k = 0; k < p->stages.n; k++) {
            const lang_stage *s = &p->stages.at[k];
            if (code->approximate[s->body] > code->wide[s->tensor] || varies[s->body] > varying[s->tensor]) {
                code->wide[s->tensor] |= code->approximate[s->body];
                varying[s->tensor] |= varies[s->body];
                changed = true;
            }
        }
    }
}

lang_code *lang_compile(base_arena *arena, const lang_program *p, lang_eval_mode mode, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lang_code *code = BASE_NEW(arena, lang_code);
    code->program = p;
    code->mode = mode;
    code->dims = base_alloc(arena, p->tensors.n + 1, sizeof *code->dims);
    code->dynamic = BASE_NEWS(arena, bool, p->tensors.n + 1);
    code->wide = BASE_NEWS(arena, uint8_t, p->tensors.n + 1);
    code->stages = BASE_NEWS(arena, lang_eval_stage *, p->stages.n + 1);
    code->extents = base_alloc(arena, p->tensors.n + 1, sizeof *code->extents);
    code->approximate = BASE_NEWS(arena, uint8_t, p->nodes.n);
    find_approximate(code, scratch);
    lang_eval_context *context = lang_eval_context_new(scratch, p);
    bool any_dynamic = false, good = true;
    for (size_t t = 0; t < p->tensors.n; t++) {
        const lang_tensor *tensor = &p->tensors.at[t];
        memcpy(code->dims[t], tensor->dim, sizeof code->dims[t]);
        for (uint32_t k = 0; k < tensor->rank; k++) {
            code->dynamic[t] = code->dynamic[t] || tensor->extent[k] != 0;
        }
        any_dynamic = any_dynamic || code->dynamic[t];
    }
    lang_eval_options options = lang_eval_options_of(code, (const int64_t(*)[LANG_MAX_RANK])code->dims, NULL);
    for (size_t t = 0; t < p->tensors.n && good; t++) {
        for (uint32_t k = 0; k < p->tensors.at[t].rank; k++) {
            if (p->tensors.at[t].extent[k] != 0) {
                code->extents[t][k] =
                    lang_eval_compile_stage(arena, context, NULL, p->tensors.at[t].extent[k], &options, d);
                good = good && code->extents[t][k] != NULL;
            }
        }
    }
    uint8_t *seen = BASE_NEWS(scratch, uint8_t, p->nodes.n);
    for (size_t k = 0; k < p->stages.n && good; k++) {
        const lang_stage *s = &p->stages.at[k];
        if (context->depth[s->body] <= LANG_EVAL_DEPTH && any_dynamic &&
            (code->dynamic[s->tensor] || reads_dynamic(code, s->body, seen))) {
            continue;
        }
        lang_eval_options own = lang_eval_options_of(code, options.dims, s);
        code->stages[k] = lang_eval_compile_stage(arena, context, s, 0, &own, d);
        good = code->stages[k] != NULL;
    }
    base_arena_free(scratch);
    return good ? code : NULL;
}

/* ---- running ---- */

uint64_t lang_eval_elements_of(const lang_program *p, uint32_t tensor, const int64_t *dim) {
    uint64_t n = 1;
    for (uint32_t k = 0; k < p->tensors.at[tensor].rank; k++) {
        n *= (uint64_t)dim[k];
    }
    return n;
}

void lang_eval_prepare(lang_eval_machine *m, base_arena *scratch, const lang_eval_stage *s) {
    m->frame = base_alloc(scratch, s->frame / 8 + 8, 8);
    m->tiles = BASE_NEWS(scratch, lang_eval_tile_state, s->tile_count + 1);
    m->n = 1;
    for (size_t k = 0; k < s->constants.n; k++) {
        const lang_eval_constant *c = &s->constants.at[k];
        lang_eval_put(m, c->reg, c->cls, 0, c->value);
    }
}

static const void *aligned(base_arena *scratch, base_type t, uint64_t elements, const void *data) {
    uint64_t bytes = 0;
    unsigned size = base_type_bits(t) / 8;
    if (data == NULL || size < 2 || (uintptr_t)data % size == 0 || !base_type_bytes(t, elements, &bytes)) {
        return data;
    }
    void *copy = base_alloc(scratch, (size_t)bytes + 1, 1);
    memcpy(copy, data, (size_t)bytes);
    return copy;
}

void lang_eval_bind_inputs(const lang_code *code, base_arena *scratch, const void *const *inputs,
                           lang_eval_store *store) {
    const lang_program *p = code->program;
    for (size_t t = 0; t < p->tensors.n; t++) {
        const lang_tensor *tensor = &p->tensors.at[t];
        const void *data = tensor->data;
        if (tensor->kind == LANG_INPUT && tensor->input < p->inputs.n && inputs != NULL &&
            inputs[tensor->input] != NULL) {
            data = inputs[tensor->input];
        }
        if (tensor->kind != LANG_STAGE) {
            data = aligned(scratch, tensor->type, lang_eval_elements_of(p, (uint32_t)t, tensor->dim), data);
            store[t].at[LANG_EVAL_PART_DATA] = (void *)(uintptr_t)data; /* only read: it is no stage's */
        }
    }
}

lang_eval_machine lang_eval_machine_of(const lang_eval_run *r) {
    return (lang_eval_machine){.store = r->store,
                               .program = r->code->program,
                               .diags = r->diags,
                               .dims = (const int64_t(*)[LANG_MAX_RANK])r->dims,
                               .demand = r->demand};
}

base_status lang_eval_dynamic_extents(const lang_code *code, lang_eval_machine *m, base_arena *scratch, uint32_t tensor,
                                      const base_place *place, int64_t *dim) {
    const lang_tensor *t = &code->program->tensors.at[tensor];
    for (uint32_t k = 0; k < t->rank; k++) {
        const lang_eval_stage *s = code->extents[tensor][k];
        if (s == NULL) {
            continue;
        }
        lang_eval_prepare(m, scratch, s);
        base_status status = lang_eval_run_block(m, &s->body);
        if (status != BASE_OK) {
            return status;
        }
        int64_t e = *LANG_EVAL_AT(m, int64_t, s->result);
        if (e < 0 || e > t->dim[k]) {
            return base_error(m->diags, place, "%s: extent %u of %s is %lld, its bound is %lld", code->program->name, k,
                              t->name, (long long)e, (long long)t->dim[k]);
        }
        dim[k] = e;
    }
    return BASE_OK;
}

/* Memory of a stage's tensor: the caller's for an output. */
void lang_eval_place_tensor(lang_eval_run *r, const lang_stage *s) {
    const lang_program *p = r->code->program;
    uint32_t t = s->tensor;
    base_type type = p->tensors.at[t].type;
    uint64_t n = lang_eval_elements_of(p, t, r->dims[t]), bytes = 0;
    lang_eval_store *store = &r->store[t];
    for (size_t k = 0; k < p->outputs.n && r->results != NULL; k++) {
        if (p->outputs.at[k] == t && r->results[k].data != NULL && store->at[LANG_EVAL_PART_DATA] == NULL) {
            store->at[LANG_EVAL_PART_DATA] = r->results[k].data;
            if (base_type_bytes(type, n, &bytes) && (s->rec >= 0 || base_type_bits(type) < 8)) {
                memset(store->at[LANG_EVAL_PART_DATA], 0, (size_t)bytes);
            }
        }
    }
    if (r->code->wide[t] != 0) {
        store->at[LANG_EVAL_PART_VALUE] = base_alloc(r->scratch, (size_t)n + 1, 8);
        store->at[LANG_EVAL_PART_BOUND] = base_alloc(r->scratch, (size_t)n + 1, 8);
    } else if (store->at[LANG_EVAL_PART_DATA] == NULL && base_type_bytes(type, n, &bytes)) {
        store->at[LANG_EVAL_PART_DATA] = base_alloc(r->scratch, (size_t)bytes + 8, 1);
    }
}

static base_status prepare_stage(lang_eval_run *r, const lang_stage *s) {
    if (r->code->dynamic[s->tensor] && r->demand == NULL) {
        lang_eval_machine m = lang_eval_machine_of(r);
        base_status status =
            lang_eval_dynamic_extents(r->code, &m, r->scratch, s->tensor, &s->place, r->dims[s->tensor]);
        if (status != BASE_OK) {
            return status;
        }
    }
    lang_eval_place_tensor(r, s);
    return BASE_OK;
}

static const lang_eval_stage *stage_code(lang_eval_run *r, size_t k) {
    const lang_stage *s = &r->code->program->stages.at[k];
    if (r->code->stages[k] != NULL) {
        return r->code->stages[k];
    }
    if (r->context == NULL) {
        r->context = lang_eval_context_new(r->scratch, r->code->program);
    }
    lang_eval_options o = lang_eval_options_of(r->code, (const int64_t(*)[LANG_MAX_RANK])r->dims, s);
    return lang_eval_compile_stage(r->scratch, r->context, s, 0, &o, r->diags);
}

static bool is_empty(const lang_eval_run *r, const lang_stage *s) {
    return lang_eval_elements_of(r->code->program, s->tensor, r->dims[s->tensor]) == 0;
}

static base_status run_stage(lang_eval_run *r, size_t k) {
    const lang_stage *s = &r->code->program->stages.at[k];
    base_status status = prepare_stage(r, s);
    if (status != BASE_OK || is_empty(r, s)) {
        return status;
    }
    const lang_eval_stage *code = stage_code(r, k);
    if (code == NULL) {
        return BASE_REFUSED;
    }
    base_arena *frame = base_arena_new(base_arena_memory(r->scratch));
    lang_eval_machine m = lang_eval_machine_of(r);
    lang_eval_prepare(&m, frame, code);
    status = lang_eval_run_block(&m, &code->body);
    base_arena_free(frame);
    return status;
}

/* Stages [first, last) together, for each t. */
base_status lang_eval_run_recurrence(lang_eval_run *r, size_t first, size_t last) {
    const lang_program *p = r->code->program;
    size_t n = last - first;
    lang_eval_machine *machines = BASE_NEWS(r->scratch, lang_eval_machine, n);
    const lang_eval_stage **codes = BASE_NEWS(r->scratch, const lang_eval_stage *, n);
    int64_t steps = 0;
    for (size_t k = 0; k < n; k++) {
        const lang_stage *s = &p->stages.at[first + k];
        base_status status = prepare_stage(r, s);
        if (status != BASE_OK) {
            return status;
        }
        steps = r->dims[s->tensor][s->rec_var] > steps ? r->dims[s->tensor][s->rec_var] : steps;
    }
    for (size_t k = 0; k < n; k++) {
        codes[k] = stage_code(r, first + k);
        if (codes[k] == NULL) {
            return BASE_REFUSED;
        }
        machines[k] = lang_eval_machine_of(r);
        lang_eval_prepare(&machines[k], r->scratch, codes[k]);
    }
    for (int64_t t = 0; t < steps; t++) {
        for (size_t k = 0; k < n; k++) {
            const lang_stage *s = &p->stages.at[first + k];
            if (is_empty(r, s) || t >= r->dims[s->tensor][s->rec_var]) {
                continue;
            }
            *LANG_EVAL_AT(&machines[k], int64_t, codes[k]->given[s->rec_var]) = t;
            base_status status = lang_eval_run_block(&machines[k], &codes[k]->body);
            if (status != BASE_OK) {
                return status;
            }
        }
    }
    return BASE_OK;
}

static void deliver(lang_eval_run *r, size_t k) {
    const lang_program *p = r->code->program;
    uint32_t t = p->outputs.at[k];
    lang_result *out = &r->results[k];
    uint64_t n = lang_eval_elements_of(p, t, r->dims[t]), bytes = 0;
    const lang_eval_store *store = &r->store[t];
    base_type type = p->tensors.at[t].type;
    memcpy(out->dim, r->dims[t], sizeof out->dim);
    if (out->data != NULL && store->at[LANG_EVAL_PART_DATA] != NULL && r->code->wide[t] == 0 &&
        out->data != store->at[LANG_EVAL_PART_DATA] && base_type_bytes(type, n, &bytes)) {
        memcpy(out->data, store->at[LANG_EVAL_PART_DATA], (size_t)bytes);
    }
    if (r->code->mode == LANG_EVAL_BOUND) {
        lang_eval_deliver_bounds(store, type, n, r->code->wide[t] != 0 ? out->data : NULL, out->value, out->bound);
    }
}

/* Inputs whose extents are counts, which are inputs too. */
static base_status input_extents(lang_eval_run *r) {
    const base_place nowhere = {0};
    lang_eval_machine m = lang_eval_machine_of(r);
    base_status status = BASE_OK;
    for (uint32_t t = 0; status == BASE_OK && t < r->code->program->tensors.n; t++) {
        if (r->code->dynamic[t] && r->code->program->tensors.at[t].kind == LANG_INPUT) {
            status = lang_eval_dynamic_extents(r->code, &m, r->scratch, t, &nowhere, r->dims[t]);
        }
    }
    return status;
}

base_status lang_run(const lang_code *code, base_arena *scratch, const void *const *inputs, lang_result *results,
                     base_diags *d) {
    const lang_program *p = code->program;
    lang_eval_run r = {.code = code, .scratch = scratch, .diags = d, .results = results};
    r.dims = base_alloc(scratch, p->tensors.n + 1, sizeof *r.dims);
    memcpy(r.dims, code->dims, p->tensors.n * sizeof *r.dims);
    r.store = BASE_NEWS(scratch, lang_eval_store, p->tensors.n + 1);
    lang_eval_bind_inputs(code, scratch, inputs, r.store);
    base_status extents = input_extents(&r);
    if (extents != BASE_OK) {
        return extents;
    }
    for (size_t k = 0; k < p->stages.n;) {
        size_t last = k + 1;
        int32_t rec = p->stages.at[k].rec;
        while (rec >= 0 && last < p->stages.n && p->stages.at[last].rec == rec) {
            last++;
        }
        base_status status = rec < 0 ? run_stage(&r, k) : lang_eval_run_recurrence(&r, k, last);
        if (status != BASE_OK) {
            return status;
        }
        k = last;
    }
    for (size_t k = 0; k < p->outputs.n; k++) {
        deliver(&r, k);
    }
    return BASE_OK;
}

/* ---- cost ---- */

typedef struct cost_of_stage {
    const lang_program *p;
    const lang_stage *s;
    const uint8_t *reached; /* nodes that the stage needs */
    uint64_t bound[LANG_MAX_VARS];
    uint64_t total;
} cost_of_stage;

static uint64_t times(uint64_t a, uint64_t b) {
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* A word costs once for each value of the variables it depends on; a reduction once for each point. */
static void add_cost(cost_of_stage *c, lang_ref r) {
    const lang_node *n = lang_at(c->p, r);
    if (n->kind != LANG_WORD_ && n->kind != LANG_REDUCE) {
        return;
    }
    uint64_t vars = n->free, points = 1;
    for (uint32_t k = 0; n->kind == LANG_REDUCE && k + 3 < n->count; k++) {
        vars |= (uint64_t)1 << lang_at(c->p, lang_operand(c->p, r, k))->index;
    }
    for (uint32_t k = 0; vars != 0; k++, vars >>= 1) {
        points = (vars & 1) != 0 ? times(points, c->bound[k]) : points;
    }
    c->total = c->total > UINT64_MAX - points ? UINT64_MAX : c->total + points;
}

/* Extents of variables where they are constants. */
static void take_extents(cost_of_stage *c) {
    for (lang_ref r = 1; r <= c->s->body; r++) {
        const lang_node *n = lang_at(c->p, r);
        if (c->reached[r] != 0 && n->kind == LANG_VAR && lang_at(c->p, lang_operand(c->p, r, 0))->kind == LANG_CONST) {
            int64_t e = lang_at(c->p, lang_operand(c->p, r, 0))->value.i;
            c->bound[n->index] = e > 0 ? (uint64_t)e : 0;
        }
    }
}

uint64_t lang_cost(const lang_program *p) {
    uint64_t total = 0;
    cost_of_stage c = {.p = p};
    for (size_t k = 0; k < p->stages.n; k++) {
        c.s = &p->stages.at[k];
        c.total = 0;
        base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
        c.reached = lang_reached(scratch, p, c.s);
        for (uint32_t v = 0; v < LANG_MAX_VARS; v++) {
            bool known = c.s->vars != NULL && v < c.s->var_count;
            c.bound[v] = known && c.s->vars[v].bound > 0 ? (uint64_t)c.s->vars[v].bound : 0;
            if (v < c.s->rank) {
                c.bound[v] = (uint64_t)p->tensors.at[c.s->tensor].dim[v];
            }
        }
        take_extents(&c);
        for (lang_ref r = 1; r <= c.s->body; r++) {
            if (c.reached[r] != 0) {
                add_cost(&c, r);
            }
        }
        uint64_t elements = lang_eval_elements_of(p, c.s->tensor, p->tensors.at[c.s->tensor].dim);
        c.total = c.total > elements ? c.total : elements; /* moving costs too */
        total = total > UINT64_MAX - c.total ? UINT64_MAX : total + c.total;
        base_arena_free(scratch);
    }
    return total;
}
