/* run.c - one inference on a provider, or several, and made inputs.
 *
 * Takes a loaded model and arrays. Gives arrays. The reference provider is the evaluator over the graph as it was read;
 * the host provider is the emitted C, built with the host's compiler.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "api/api.h"

/* ---- inputs by the documented generator ---- */

#define MADE_LIMIT ((uint64_t)1 << 30) /* elements of one made input */

static base_value made_value(base_type type, double r) {
    unsigned bits = base_type_bits(type);
    if (base_type_is_float(type)) {
        return (base_value){.f = base_round_to(type, 2 * r - 1)};
    }
    if (type == BASE_BOOL) {
        return (base_value){.u = r >= 0.5};
    }
    int64_t v = bits <= 8 ? (int64_t)(256 * r) : type == BASE_I16 ? (int64_t)(65536 * r - 32768) : (int64_t)(2 * r);
    return lang_wrap(type, (base_value){.i = v});
}

typedef struct generate_call {
    const burin_model *m;
    uint32_t seed;
    size_t runs;
    burin_array *inputs;
} generate_call;

static burin_array array_for(burin_context *c, const ir_tensor *t, void **data) {
    burin_tensor_info info = api_tensor_info(t);
    burin_array a = {.type = info.type, .rank = info.rank, .size = (size_t)info.bytes};
    memcpy(a.dim, info.dim, sizeof a.dim);
    *data = base_alloc(c->arena, (size_t)info.bytes + 16, 1);
    a.data = *data;
    return a;
}

/* Inputs may be large, and are made for a run: a model that neither numerics takes is refused first, with all that is
 * unsupported listed. */
static base_status check_operators(burin_context *c, const burin_model *m) {
    const char *const tflm = "tflm", *const litert = "litert";
    const ops_goal first = {&tflm, 1}, other = {&litert, 1};
    base_arena *scratch = base_arena_new(&c->memory);
    base_diags ignored = {.arena = scratch};
    ir_model *refused;
    base_status status = m->unsupported ? api_copy(m, &refused) : BASE_OK;
    if (status == BASE_OK && ops_check(scratch, c->ops, m->ir, &other, &ignored) != BASE_OK) {
        status = ops_check(scratch, c->ops, m->ir, &first, &c->diags);
    }
    base_arena_free(scratch);
    return status;
}

static base_status generate(burin_context *c, void *arguments) {
    generate_call *call = arguments;
    const ir_graph *g = &call->m->ir->graphs.at[0];
    uint32_t state = call->seed;
    base_status status = check_operators(c, call->m);
    if (status != BASE_OK) {
        return status;
    }
    for (size_t k = 0; k < call->runs * g->inputs.n; k++) {
        const size_t i = k % g->inputs.n;
        const ir_tensor *t = &g->tensors.at[g->inputs.at[i]];
        void *data;
        uint64_t n = 0;
        if (!ir_shape_elements(&t->shape, &n) || n > MADE_LIMIT) {
            return base_error(&c->diags, NULL, "input %zu \"%s\" is too large to be made: it may have 2^30 elements", i,
                              base_printable(c->arena, t->name, strlen(t->name), 60));
        }
        call->inputs[k] = array_for(c, t, &data);
        for (uint64_t e = 0; e < n; e++) {
            state = state * 1664525u + 1013904223u;
            base_store(t->type, data, e, made_value(t->type, (double)(state >> 8) / 16777216.0));
        }
    }
    return BASE_OK;
}

burin_status burin_generate_inputs(burin_context *c, const burin_model *m, uint32_t seed, burin_array *inputs) {
    return burin_generate_runs(c, m, seed, 1, inputs);
}

burin_status burin_generate_runs(burin_context *c, const burin_model *m, uint32_t seed, size_t runs,
                                 burin_array *inputs) {
    generate_call call = {m, seed, runs, inputs};
    return api_guarded(c, generate, &call);
}

/* ---- running ---- */

typedef struct run_call {
    const burin_model *m;
    const char *provider;
    const burin_compile_options *options;
    bool raw;
    size_t runs;
    const burin_array *inputs;
    ir_shape *shapes; /* of the inputs */
    burin_array *outputs;
} run_call;

/* An array of the input's bytes; of one with open extents any up to the bounds. */
static bool fits(const burin_tensor_info *want, const burin_array *given) {
    uint64_t n = 1, bytes = 0;
    bool within = want->open != 0 && given->rank == want->rank;
    for (uint32_t k = 0; within && k < want->rank; k++) {
        within =
            given->dim[k] >= 0 && (want->open >> k & 1 ? given->dim[k] <= want->dim[k] : given->dim[k] == want->dim[k]);
        n *= within ? (uint64_t)given->dim[k] : 1;
    }
    return within ? base_type_bytes(base_type_named(want->type, strlen(want->type)), n, &bytes) && given->size == bytes
                  : want->open == 0 && given->size == want->bytes;
}

/* What runs have of the inputs; an error where one symbol has two numbers in a run. */
static base_status input_shapes(burin_context *c, const run_call *call, ir_shape *shapes) {
    const ir_model *m = call->m->ir;
    const ir_graph *g = &m->graphs.at[0];
    int64_t *of = base_alloc(c->arena, m->symbols.n + 1, sizeof *of);
    for (size_t k = 0; k < call->runs * g->inputs.n; k++) {
        const size_t i = k % g->inputs.n;
        const ir_shape *s = &g->tensors.at[g->inputs.at[i]].shape;
        shapes[k] = ir_shape_of(s->rank, s->dim);
        for (size_t n = 0; i == 0 && n < m->symbols.n; n++) {
            of[n] = -1;
        }
        for (uint32_t d = 0; d < s->rank; d++) {
            if (s->symbol[d] == 0) {
                continue;
            }
            shapes[k].dim[d] = call->inputs[k].dim[d];
            int64_t *have = &of[s->symbol[d] - 1];
            if (*have >= 0 && *have != shapes[k].dim[d]) {
                return base_error(&c->diags, NULL,
                                  "input %zu: extent %u is %" PRId64 ", of another input %" PRId64
                                  ": they are one symbol",
                                  i, d, shapes[k].dim[d], *have);
            }
            *have = shapes[k].dim[d];
        }
    }
    return BASE_OK;
}

static base_status check_inputs(burin_context *c, const run_call *call) {
    const size_t count = burin_input_count(call->m);
    for (size_t k = 0; k < call->runs * count; k++) {
        const size_t i = k % count;
        burin_tensor_info want = burin_input_info(call->m, i);
        const burin_array *given = &call->inputs[k];
        if (given->type == NULL || strcmp(given->type, want.type) != 0) {
            return base_error(&c->diags, NULL, "input %zu \"%s\" is %s, given was %s", i,
                              base_printable(c->arena, want.name, strlen(want.name), 60), want.type,
                              given->type == NULL ? "nothing" : given->type);
        }
        if (!fits(&want, given)) {
            return base_error(&c->diags, NULL, "input %zu \"%s\" has %" PRIu64 " bytes, given were %zu", i,
                              base_printable(c->arena, want.name, strlen(want.name), 60), want.bytes, given->size);
        }
    }
    return BASE_OK;
}

/* A model that was loaded for one run holds for no other. */
static base_status check_contents(burin_context *c, const run_call *call) {
    const formats_options *o = &call->m->options;
    const ir_graph *g = &call->m->ir->graphs.at[0];
    const formats_contents **of = BASE_NEWS(c->arena, const formats_contents *, g->inputs.n + 1);
    const formats_contents *contents = o->contents;
    size_t n = o->content_count;
    if (call->m->ir->takes.n > 0) {
        contents = formats_flatten_contents(c->arena, call->m->ir, contents, n, &n);
    }
    base_status status = formats_match_contents(c->arena, g, contents, n, NULL, of, &c->diags);
    for (size_t i = 0; i < g->inputs.n && status == BASE_OK; i++) {
        const ir_tensor *t = &g->tensors.at[g->inputs.at[i]];
        const void *data = of[i] != NULL ? formats_contents_data(c->arena, t, of[i]) : NULL;
        for (size_t r = 0; r < call->runs && data != NULL && status == BASE_OK; r++) {
            const burin_array *given = &call->inputs[r * g->inputs.n + i];
            if (given->data != data && memcmp(given->data, data, given->size) != 0) {
                base_error(&c->diags, NULL,
                           "input %zu \"%s\" holds something else than in the run that the model was loaded for", i,
                           base_printable(c->arena, t->name, strlen(t->name), 60));
                status = BASE_USAGE;
            }
        }
    }
    return status;
}

/* After the operators are known to be sound: what they refuse may say that it is larger than any memory. */
static void make_outputs(burin_context *c, const run_call *call, void **outputs) {
    const ir_graph *g = &call->m->ir->graphs.at[0];
    for (size_t i = 0; i < call->runs * g->outputs.n; i++) {
        call->outputs[i] = array_for(c, &g->tensors.at[g->outputs.at[i % g->outputs.n]], &outputs[i]);
    }
}

/* What data decided. */
static void set_shape(burin_array *a, const ir_tensor *t, const ir_shape *shape) {
    ir_tensor actual = *t;
    uint64_t bytes = 0;
    actual.shape = *shape;
    memcpy(a->dim, shape->dim, sizeof a->dim);
    a->size = ir_tensor_bytes(&actual, &bytes) ? (size_t)bytes : 0;
}

static base_status run_reference(burin_context *c, const run_call *call, const api_resolved *o,
                                 const void *const *inputs, void **outputs) {
    const ir_graph *g = &call->m->ir->graphs.at[0];
    ops_session *session = NULL;
    ops_goal goal = {o->compile.goals, o->compile.goal_count};
    const ops_session_options how = {.goal = &goal, .simplified = !call->raw, .max_trips = o->compile.max_trips};
    base_arena *scratch = base_arena_new(&c->memory);
    base_status status = ops_session_new(scratch, c->ops, call->m->ir, &how, &session, &c->diags);
    if (status == BASE_OK) {
        make_outputs(c, call, outputs);
    }
    for (size_t r = 0; status == BASE_OK && r < call->runs; r++) {
        for (size_t i = 0; i < g->inputs.n; i++) {
            ops_session_set_input_shape(session, i, &call->shapes[r * g->inputs.n + i]);
        }
        status = ops_session_run(session, scratch, inputs + r * g->inputs.n, outputs + r * g->outputs.n, &c->diags);
        for (size_t i = 0; status == BASE_OK && i < g->outputs.n; i++) {
            const ir_shape actual = ops_session_output_shape(session, i);
            set_shape(&call->outputs[r * g->outputs.n + i], &g->tensors.at[g->outputs.at[i]], &actual);
        }
    }
    base_arena_free(scratch);
    return status;
}

static base_status run_host(burin_context *c, const run_call *call, const api_resolved *o, const void *const *inputs,
                            void **outputs) {
    const ir_graph *g = &call->m->ir->graphs.at[0];
    ir_model *changed = NULL;
    plan_module *plan = NULL;
    ir_shape *shapes = NULL;
    base_arena *scratch = base_arena_new(&c->memory);
    base_status status = api_copy(call->m, &changed);
    if (status == BASE_OK) {
        status = compile_plan(c->arena, c->ops, changed, &o->compile, &plan, &c->diags);
    }
    if (status == BASE_OK) {
        make_outputs(c, call, outputs);
        shapes = BASE_NEWS(scratch, ir_shape, call->runs * g->outputs.n + 1);
        status = check_run_emitted(scratch, plan, &o->compile, o->compiler, call->runs, inputs, call->shapes, outputs,
                                   shapes, &c->diags);
    }
    for (size_t i = 0; status == BASE_OK && i < call->runs * g->outputs.n; i++) {
        set_shape(&call->outputs[i], &g->tensors.at[g->outputs.at[i % g->outputs.n]], &shapes[i]);
    }
    base_arena_free(scratch);
    return status;
}

static base_status run(burin_context *c, void *arguments) {
    run_call *call = arguments;
    const ir_graph *g = &call->m->ir->graphs.at[0];
    api_resolved o;
    base_status status = api_resolve(c, call->m, call->options, &o);
    if (status == BASE_OK && call->m->unsupported) {
        ir_model *refused;
        status = api_copy(call->m, &refused);
    }
    if (status == BASE_OK) {
        status = check_inputs(c, call);
    }
    call->shapes = BASE_NEWS(c->arena, ir_shape, call->runs * g->inputs.n + 1);
    status = status == BASE_OK ? input_shapes(c, call, call->shapes) : status;
    if (status == BASE_OK && call->m->options.content_count > 0) {
        status = check_contents(c, call);
    }
    if (status != BASE_OK) {
        return status;
    }
    const void **inputs = BASE_NEWS(c->arena, const void *, call->runs * g->inputs.n + 1);
    void **outputs = BASE_NEWS(c->arena, void *, call->runs * g->outputs.n + 1);
    for (size_t i = 0; i < call->runs * g->inputs.n; i++) {
        inputs[i] = call->inputs[i].data;
    }
    if (strcmp(call->provider, "reference") == 0) {
        return run_reference(c, call, &o, inputs, outputs);
    }
    if (strcmp(call->provider, "host") == 0) {
        return run_host(c, call, &o, inputs, outputs);
    }
    base_error(&c->diags, NULL, "provider: \"%s\" is none of reference or host", call->provider);
    return BASE_USAGE;
}

burin_status burin_run(burin_context *c, const burin_model *m, const char *provider,
                       const burin_compile_options *options, bool raw, const burin_array *inputs,
                       burin_array *outputs) {
    return burin_run_many(c, m, provider, options, raw, 1, inputs, outputs);
}

burin_status burin_run_many(burin_context *c, const burin_model *m, const char *provider,
                            const burin_compile_options *options, bool raw, size_t runs, const burin_array *inputs,
                            burin_array *outputs) {
    run_call call = {m, provider, options, raw, runs, inputs, NULL, outputs};
    return api_guarded(c, run, &call);
}
