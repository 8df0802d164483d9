/* check.c - the check of an emitted module: build, run on seeded inputs, compare.
 *
 * Takes a model as read and its plan. Gives "checked", or the first difference. Two comparisons: every kernel with its
 * definition (layers.c), and the outputs of the whole module with the evaluator over the graph as it was read, bit for
 * bit where all of it is integer arithmetic.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "check/check_private.h"

#define WHOLE_GRAPH_COST UINT64_C(3000000000) /* scalar operations: above it only layers are compared */

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static base_value integer_input(base_type type, unsigned k, uint64_t i, uint32_t *state) {
    int64_t lo;
    uint64_t hi;
    base_type_range(type, &lo, &hi);
    base_value low = {.i = lo}, high = {.u = hi};
    if (k < 2) {
        return k == 0 ? low : high;
    }
    if (k == 2) {
        return i % 2 == 0 ? low : high;
    }
    uint64_t bits = (uint64_t)next(state) << 40 ^ (uint64_t)next(state) << 20 ^ next(state);
    uint64_t span = hi - (uint64_t)lo; /* wraps to the number of values less one */
    return (base_value){.u = (uint64_t)lo + (span == UINT64_MAX ? bits : bits % (span + 1))};
}

static base_value float_input(unsigned k, uint64_t i, uint32_t *state) {
    double r = (double)next(state) / 8388608.0 - 1.0;
    if (k < 3) {
        return (base_value){.f = k == 0 ? -1.0 : k == 1 ? 1.0 : i % 2 == 0 ? -1.0 : 1.0};
    }
    return (base_value){.f = r * ldexp(1.0, (int)((k - 3) % 4) * 2)};
}

void check_fill_inputs(const ir_model *m, unsigned k, void *const *inputs) {
    const ir_graph *g = &m->graphs.at[0];
    uint32_t state = 12345u + k;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const ir_tensor *t = &g->tensors.at[g->inputs.at[i]];
        uint64_t n = 0;
        (void)ir_shape_elements(&t->shape, &n);
        for (uint64_t e = 0; e < n; e++) {
            base_value v =
                base_type_is_float(t->type) ? float_input(k, e, &state) : integer_input(t->type, k, e, &state);
            if (base_type_is_float(t->type)) {
                v.f = base_round_to(t->type, v.f);
            }
            base_store(t->type, inputs[i], e, v);
        }
    }
}

typedef struct checker {
    base_arena *arena;
    const ir_model *m; /* as read */
    const plan_module *plan;
    check_reference *reference; /* of the graph as read; NULL: too large for whole comparisons */
    /* of the graph after the passes, where floats forbid comparing the module whole; else NULL */
    check_reference *passed;
    check_build build;
    uint64_t sampled, total;
    base_diags *d;
} checker;

static void **rooms(base_arena *scratch, const ir_graph *g, const uint32_t *list, size_t n) {
    void **r = BASE_NEWS(scratch, void *, n + 1);
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(&g->tensors.at[list[i]], &bytes);
        r[i] = base_alloc(scratch, (size_t)bytes + 16, 1);
    }
    return r;
}

/* The last bytes of a trace are the module's outputs. */
static base_status compare_whole(checker *c, base_arena *scratch, const void *const *inputs, const uint8_t *trace,
                                 size_t size) {
    const ir_graph *g = &c->m->graphs.at[0];
    void **want = rooms(scratch, g, g->outputs.at, g->outputs.n);
    base_status status = check_reference_run(c->reference, scratch, inputs, want, c->d);
    for (size_t i = g->outputs.n; status == BASE_OK && i-- > 0;) {
        const ir_tensor *t = &g->tensors.at[g->outputs.at[i]];
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(t, &bytes);
        if (bytes > size) {
            base_error(c->d, NULL, "the emitted program wrote too little");
            return BASE_WRONG;
        }
        size -= (size_t)bytes;
        if (memcmp(trace + size, want[i], (size_t)bytes) != 0) {
            base_error(
                c->d, NULL,
                "output %zu differs from the graph as it was read, though every operator agrees with its definition",
                i);
            return BASE_WRONG;
        }
    }
    return status;
}

/* The passes promise the same bits, floats included: shown on the evaluator, where nothing is reordered. */
static base_status compare_passes(checker *c, base_arena *scratch, const void *const *inputs) {
    const ir_graph *g = &c->m->graphs.at[0];
    void **before = rooms(scratch, g, g->outputs.at, g->outputs.n);
    void **after = rooms(scratch, g, g->outputs.at, g->outputs.n);
    base_status status = check_reference_run(c->reference, scratch, inputs, before, c->d);
    if (status == BASE_OK) {
        status = check_reference_run(c->passed, scratch, inputs, after, c->d);
    }
    for (size_t i = 0; status == BASE_OK && i < g->outputs.n; i++) {
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(&g->tensors.at[g->outputs.at[i]], &bytes);
        if (memcmp(before[i], after[i], (size_t)bytes) != 0) {
            base_error(c->d, NULL, "output %zu of the graph after its passes differs from the graph as it was read", i);
            status = BASE_WRONG;
        }
    }
    return status;
}

static base_status check_case(checker *c, unsigned k) {
    const ir_graph *g = &c->m->graphs.at[0];
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    void **inputs = rooms(scratch, g, g->inputs.at, g->inputs.n);
    const uint8_t *trace = NULL;
    size_t size = 0;
    check_fill_inputs(c->m, k, inputs);
    base_status status = check_run_module(scratch, &c->build, (const void *const *)inputs, &trace, &size, c->d);
    if (status == BASE_OK) {
        status = check_layers(scratch, c->plan, (const void *const *)inputs, trace, size, &c->sampled, &c->total, c->d);
    }
    if (status == BASE_OK && c->passed != NULL) {
        status = compare_passes(c, scratch, (const void *const *)inputs);
    } else if (status == BASE_OK && c->reference != NULL) {
        status = compare_whole(c, scratch, (const void *const *)inputs, trace, size);
    }
    base_arena_free(scratch);
    return status;
}

static bool all_integer(const ir_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->input_count + n->output_count; k++) {
            uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
            if (t != IR_NONE && base_type_is_float(g->tensors.at[t].type)) {
                return false;
            }
        }
    }
    return true;
}

static uint64_t graph_cost(const plan_module *p) {
    uint64_t cost = 0;
    for (size_t i = 0; i < p->kernels.n; i++) {
        cost += lang_cost(p->kernels.at[i].raw);
    }
    return cost;
}

static void describe(checker *c, const char *compiler, unsigned cases, check_result *r) {
    base_text json = {.arena = c->arena};
    base_puts(&json, "{\"checked\":true,\"compiler\":");
    base_put_quoted(&json, compiler);
    base_puts(&json, ",\"flags\":");
    base_put_quoted(&json, c->build.flags);
    base_put(&json,
             ",\"pointer_bits\":%u,\"cases\":%u,\"sampled\":%" PRIu64 ",\"elements\":%" PRIu64 ",\"whole_graph\":%s}",
             (unsigned)sizeof(void *) * 8, cases, c->sampled, c->total,
             c->reference != NULL && c->passed == NULL ? "true" : "false");
    *r = (check_result){.checked = true, .compiler = compiler, .json = json.at};
    r->why = base_printf(
        c->arena, "checked: %u inputs, %" PRIu64 " of %" PRIu64 " elements compared, operator by operator%s (%s %s)",
        cases, c->sampled, c->total,
        c->passed != NULL      ? ""
        : c->reference != NULL ? " and over the whole graph"
                               : "",
        compiler, c->build.flags);
}

base_status check_emitted(base_arena *arena, ops_registry *ops, const ir_model *as_read, const plan_module *plan,
                          const compile_options *o, const char *compiler, unsigned cases, check_result *result,
                          base_diags *d) {
    checker c = {.arena = arena, .m = as_read, .plan = plan, .d = d};
    const char *found = check_find_compiler(arena, compiler);
    if (found == NULL) {
        *result = (check_result){.why = "not checked: no C compiler was found",
                                 .json = "{\"checked\":false,\"why\":\"no C compiler was found\"}"};
        if (compiler != NULL) {
            base_error(d, NULL, "--compiler %s: no such program", compiler);
            return BASE_USAGE;
        }
        return BASE_OK;
    }
    base_status status = check_build_module(arena, plan, o, found, true, &c.build, d);
    ops_goal goal = {o->goals, o->goal_count};
    if (status == BASE_OK && graph_cost(plan) <= WHOLE_GRAPH_COST) {
        status = check_reference_new(arena, ops, as_read, &goal, false, &c.reference, d);
    }
    if (status == BASE_OK && c.reference != NULL && !all_integer(&as_read->graphs.at[0])) {
        status = check_reference_new(arena, ops, plan->model, &goal, false, &c.passed, d);
    }
    for (unsigned k = 0; status == BASE_OK && k < cases; k++) {
        status = check_case(&c, k);
    }
    if (status == BASE_OK) {
        describe(&c, found, cases, result);
    }
    return status;
}
