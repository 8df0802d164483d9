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
#define MOST_ROUNDS 100000u                   /* of all loops of a run of the evaluator */
#define RUNS_OF_STATE 3u                      /* one after the other, so that what is kept is used */

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

/* Wide integers may be numbers of rounds. */
static base_value small_integer(base_type type, unsigned k, uint32_t *state) {
    int64_t v = k < 2 ? (int64_t)k : (int64_t)(next(state) % 20) - 4;
    return base_type_is_signed(type) || v >= 0 ? (base_value){.i = v} : (base_value){.u = 0};
}

void check_fill_inputs(const ir_model *m, unsigned k, void *const *inputs) {
    const ir_graph *g = &m->graphs.at[0];
    uint32_t state = 12345u + k;
    bool loops = ir_has_loops(m);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const ir_tensor *t = &g->tensors.at[g->inputs.at[i]];
        uint64_t n = 0;
        (void)ir_shape_elements(&t->shape, &n);
        for (uint64_t e = 0; e < n; e++) {
            bool small = loops && base_type_bits(t->type) > 16;
            base_value v = base_type_is_float(t->type) ? float_input(k, e, &state)
                           : small                     ? small_integer(t->type, k, &state)
                                                       : integer_input(t->type, k, e, &state);
            if (base_type_is_float(t->type)) {
                v.f = base_round_to(t->type, v.f);
            }
            base_store(t->type, inputs[i], e, v);
        }
    }
}

void check_fill_shapes(const ir_model *m, unsigned k, ir_shape *shapes) {
    const ir_graph *g = &m->graphs.at[0];
    uint32_t state = 54321u + k;
    int64_t *of = base_alloc(m->arena, m->symbols.n + 1, sizeof *of);
    for (size_t i = 0; i < m->symbols.n; i++) {
        const int64_t bound = m->symbols.at[i].bound;
        of[i] = bound < 1 || k == 1 ? bound : k == 0 ? 1 : 1 + (int64_t)(next(&state) % (uint64_t)bound);
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        const ir_shape *s = &g->tensors.at[g->inputs.at[i]].shape;
        shapes[i] = ir_shape_of(s->rank, s->dim);
        for (uint32_t d = 0; d < s->rank; d++) {
            shapes[i].dim[d] = s->symbol[d] != 0 ? of[s->symbol[d] - 1] : s->dim[d];
        }
    }
}

typedef struct checker {
    base_arena *arena;
    const ir_model *m; /* as read */
    const plan_module *plan;
    ops_session *reference; /* of the graph as read; NULL: too large for whole comparisons */
    /* of the graph after the passes, where floats forbid comparing the module whole; else NULL */
    ops_session *passed;
    check_build build;
    size_t runs; /* of each case; more than one where there is state to be kept */
    uint64_t sampled, total;
    unsigned endless; /* cases with a loop that went on beyond what is looked at */
    unsigned refused; /* cases in which an index or an extent is out of range, by the definition too */
    ops_registry *ops;
    ops_goal goal;
    base_diags *d;
} checker;

void **check_rooms(base_arena *scratch, const ir_graph *g, const uint32_t *list, size_t n, size_t runs) {
    void **r = BASE_NEWS(scratch, void *, n *runs + 1);
    for (size_t i = 0; i < n * runs; i++) {
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(&g->tensors.at[list[i % n]], &bytes);
        r[i] = base_alloc(scratch, (size_t)bytes + 16, 1);
    }
    return r;
}

static void set_shapes(const checker *c, ops_session *s, const ir_shape *shapes) {
    for (size_t i = 0; i < c->m->graphs.at[0].inputs.n; i++) {
        ops_session_set_input_shape(s, i, &shapes[i]);
    }
}

/* The evaluator over all runs; *completed: how many came to their end, which are all but those with endless loops. */
static base_status run_all(const checker *c, ops_session *s, base_arena *scratch, const void *const *inputs,
                           const ir_shape *shapes, void *const *outputs, size_t *completed) {
    const ir_graph *g = &c->m->graphs.at[0];
    base_diags ignored = {.arena = scratch};
    *completed = 0;
    ops_session_reset(s);
    for (size_t r = 0; r < c->runs; r++, ++*completed) {
        set_shapes(c, s, shapes + r * g->inputs.n);
        base_status status =
            ops_session_run(s, scratch, inputs + r * g->inputs.n, outputs + r * g->outputs.n, &ignored);
        if (status != BASE_OK && ops_session_endless(s)) {
            return BASE_OK;
        }
        if (status != BASE_OK) { /* once more for its message */
            ops_session_reset(s);
            for (size_t i = 0; i <= r; i++) {
                set_shapes(c, s, shapes + i * g->inputs.n);
                status = ops_session_run(s, scratch, inputs + i * g->inputs.n, outputs + i * g->outputs.n, c->d);
            }
            return status;
        }
    }
    return BASE_OK;
}

static bool same_whole_numbers(base_type type, uint64_t n, const void *got, const void *want) {
    bool same = true;
    for (uint64_t i = 0; i < n; i++) {
        const base_value v = base_load(type, got, i), w = base_load(type, want, i);
        const double a = base_type_is_signed(type) ? (double)v.i : (double)v.u,
                     b = base_type_is_signed(type) ? (double)w.i : (double)w.u;
        same = same && fabs(a - b) <= 1 + 0x1p-20 * fabs(b);
    }
    return same;
}

bool check_same_values(const ir_tensor *t, const void *got, const void *want, check_rounding rounding) {
    uint64_t n = 0, bytes = 0;
    double top = 0;
    if (!ir_shape_elements(&t->shape, &n) || !base_type_bytes(t->type, n, &bytes) ||
        !memcmp(got, want, (size_t)bytes) || rounding == CHECK_BITS || !base_type_is_float(t->type)) {
        return !memcmp(got, want, (size_t)bytes) ||
               (rounding == CHECK_IN_F32 && base_type_is_int(t->type) && same_whole_numbers(t->type, n, got, want));
    }
    for (uint64_t i = 0; i < n; i++) {
        double v = fabs(base_load(t->type, want, i).f);
        top = isfinite(v) && v > top ? v : top;
    }
    /* Eight units of the last place of 16 bits: another format rounds operators to them at other places. */
    const bool by_format = rounding >= CHECK_FORMAT;
    const double narrow = by_format && t->type == BASE_F16 ? 0x1p-8 : by_format && t->type == BASE_BF16 ? 0x1p-5 : 0;
    const double each = narrow > 0 ? narrow : 1e-4, all = narrow > 0 ? narrow : 1e-5;
    for (uint64_t i = 0; i < n; i++) {
        double a = base_load(t->type, got, i).f, b = base_load(t->type, want, i).f;
        bool same = a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= each * fabs(b) + all * top;
        if (!same) {
            return false;
        }
    }
    return true;
}

const char *check_difference(base_arena *arena, const ir_tensor *t, const void *got, const void *want) {
    uint64_t n = 0, differ = 0, at = 0;
    double worst = -1;
    (void)ir_shape_elements(&t->shape, &n);
    for (uint64_t i = 0; i < n; i++) {
        const base_value a = base_load(t->type, got, i), b = base_load(t->type, want, i);
        const bool is_real = base_type_is_float(t->type);
        const double far = is_real ? fabs(a.f - b.f) : fabs((double)a.i - (double)b.i);
        if (is_real ? a.f == b.f || (isnan(a.f) && isnan(b.f)) : a.i == b.i) {
            continue;
        }
        differ++;
        if (worst < 0 || far > worst || (isnan(far) && !isnan(worst))) {
            worst = far;
            at = i;
        }
    }
    if (differ == 0) {
        return "";
    }
    base_text text = {.arena = arena};
    base_put(&text, " (most at element %llu of %llu: ", (unsigned long long)at, (unsigned long long)n);
    for (unsigned k = 0; k < 2; k++) {
        const base_value v = base_load(t->type, k == 0 ? got : want, at);
        base_put(&text, "%s", k == 0 ? "" : " for ");
        if (base_type_is_float(t->type)) {
            base_put_float(&text, v.f);
        } else {
            base_put(&text, "%lld", (long long)v.i);
        }
    }
    base_put(&text, "; %llu differ)", (unsigned long long)differ);
    return text.at;
}

/* Output numbers go on through the runs. */
static base_status compare_outputs(const checker *c, const void *const *got, void *const *want, size_t runs,
                                   check_rounding rounding, const char *differs) {
    const ir_graph *g = &c->m->graphs.at[0];
    for (size_t i = 0; i < runs * g->outputs.n; i++) {
        size_t output = i % g->outputs.n, run = i / g->outputs.n;
        if (!check_same_values(&g->tensors.at[g->outputs.at[output]], got[i], want[i], rounding)) {
            base_error(c->d, NULL, "output %zu%s %s%s", output,
                       run > 0 ? base_printf(c->arena, " of run %zu on the same state", run + 1) : "", differs,
                       check_difference(c->arena, &g->tensors.at[g->outputs.at[output]], got[i], want[i]));
            return BASE_WRONG;
        }
    }
    return BASE_OK;
}

static base_status compare_whole(checker *c, base_arena *scratch, const void *const *inputs, const check_trace *trace) {
    const ir_graph *g = &c->m->graphs.at[0];
    void **want = check_rooms(scratch, g, g->outputs.at, g->outputs.n, c->runs);
    size_t completed = 0;
    base_status status = run_all(c, c->reference, scratch, inputs, trace->shapes, want, &completed);
    if (status != BASE_OK) {
        return status;
    }
    if (trace->why == CHECK_TRIPS && completed > trace->completed) {
        base_error(c->d, NULL, "the emitted program says that a loop passes its bound, and by the graph none does");
        return BASE_WRONG;
    }
    return compare_outputs(c, (const void *const *)trace->outputs, want,
                           completed < trace->completed ? completed : trace->completed, CHECK_BITS,
                           "differs from the graph as it was read, though every operator agrees with its definition");
}

/* The passes promise the same integers, and reals but for the rounding of new constants (pass scale): shown on the
 * evaluator, where nothing is reordered. */
static base_status compare_passes(checker *c, base_arena *scratch, const void *const *inputs, const ir_shape *shapes) {
    const ir_graph *g = &c->m->graphs.at[0];
    void **before = check_rooms(scratch, g, g->outputs.at, g->outputs.n, c->runs);
    void **after = check_rooms(scratch, g, g->outputs.at, g->outputs.n, c->runs);
    size_t first = 0, second = 0;
    base_status status = run_all(c, c->reference, scratch, inputs, shapes, before, &first);
    if (status == BASE_OK) {
        status = run_all(c, c->passed, scratch, inputs, shapes, after, &second);
    }
    return status != BASE_OK
               ? status
               : compare_outputs(c, (const void *const *)before, after, first < second ? first : second, CHECK_NETWORK,
                                 "of the graph after its passes differs from the graph as it was read");
}

static base_status check_case(checker *c, unsigned k) {
    const ir_graph *g = &c->m->graphs.at[0];
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    void **inputs = check_rooms(scratch, g, g->inputs.at, g->inputs.n, c->runs);
    ir_shape *shapes = BASE_NEWS(scratch, ir_shape, c->runs * g->inputs.n + 1);
    check_trace trace = {.runs = c->runs, .inputs = (const void *const *)inputs, .shapes = shapes};
    for (size_t r = 0; r < c->runs; r++) {
        check_fill_inputs(c->m, k + (unsigned)r * 7, inputs + r * g->inputs.n);
        check_fill_shapes(c->m, k + (unsigned)r * 7, shapes + r * g->inputs.n);
    }
    base_status status =
        check_run_module(scratch, &c->build, c->runs, trace.inputs, shapes, &trace.bytes, &trace.size, c->d);
    if (status == BASE_OK) {
        status = check_layers(scratch, c->ops, &c->goal, c->plan, &trace, &c->sampled, &c->total, c->d);
    }
    if (trace.why == CHECK_INDEX) { /* the evaluator refuses these inputs, too */
        c->refused++;
        base_arena_free(scratch);
        return status;
    }
    if (status == BASE_OK && c->passed != NULL) {
        status = compare_passes(c, scratch, trace.inputs, shapes);
    } else if (status == BASE_OK && c->reference != NULL) {
        status = compare_whole(c, scratch, trace.inputs, &trace);
    }
    c->endless += trace.why != 0;
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

static bool all_graphs_integer(const ir_model *m) {
    for (size_t i = 0; i < m->graphs.n; i++) {
        if (!all_integer(&m->graphs.at[i])) {
            return false;
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
             ",\"pointer_bits\":%u,\"cases\":%u,\"runs\":%zu,\"endless\":%u,\"refused\":%u,\"sampled\":%" PRIu64
             ",\"elements\":%" PRIu64 ",\"whole_graph\":%s}",
             (unsigned)sizeof(void *) * 8, cases, c->runs, c->endless, c->refused, c->sampled, c->total,
             c->reference != NULL && c->passed == NULL ? "true" : "false");
    *r = (check_result){.checked = true, .compiler = compiler, .json = json.at};
    r->why = base_printf(
        c->arena,
        "checked: %u inputs%s, %" PRIu64 " of %" PRIu64 " elements compared, operator by operator%s%s (%s %s)", cases,
        c->runs > 1 ? base_printf(c->arena, " in each of %zu runs on one state", c->runs) : "", c->sampled, c->total,
        c->passed != NULL      ? ""
        : c->reference != NULL ? " and over the whole graph"
                               : "",
        base_printf(
            c->arena, "%s%s",
            c->endless > 0 ? base_printf(c->arena, "; %u did not come to their end, for loops that go on", c->endless)
                           : "",
            c->refused > 0 ? base_printf(c->arena, "; %u had an index or an extent out of range", c->refused) : ""),
        compiler, c->build.flags);
}

base_status check_emitted(base_arena *arena, ops_registry *ops, const ir_model *as_read, const plan_module *plan,
                          const compile_options *o, const char *compiler, unsigned cases, check_result *result,
                          base_diags *d) {
    checker c = {.arena = arena, .m = as_read, .plan = plan, .d = d, .ops = ops, .goal = {o->goals, o->goal_count}};
    c.runs = plan->state_bytes > 0 ? RUNS_OF_STATE : 1;
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
    uint64_t cost = graph_cost(plan), rounds = WHOLE_GRAPH_COST / (cost + 1);
    ops_session_options how = {.goal = &c.goal, .max_trips = plan->max_trips};
    how.most_trips = rounds < MOST_ROUNDS ? rounds + 1 : MOST_ROUNDS;
    if (status == BASE_OK && cost <= WHOLE_GRAPH_COST) {
        status = ops_session_new(arena, ops, as_read, &how, &c.reference, d);
    }
    if (status == BASE_OK && c.reference != NULL && !all_graphs_integer(as_read)) {
        status = ops_session_new(arena, ops, plan->model, &how, &c.passed, d);
    }
    for (unsigned k = 0; status == BASE_OK && k < cases; k++) {
        status = check_case(&c, k);
    }
    if (status == BASE_OK && cases > 0 && c.refused == cases) { /* of what a run computes nothing was seen to its end */
        *result = (check_result){
            .why = "not checked: each of the inputs that were made had an index or an extent out of range",
            .json = "{\"checked\":false,\"why\":\"an index or an extent out of range\"}"};
    } else if (status == BASE_OK) {
        describe(&c, found, cases, result);
    }
    return status;
}
