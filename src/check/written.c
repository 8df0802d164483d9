/* written.c - the check of a file that was written in a format for other runtimes: it is read again.
 *
 * Takes a model as read, the model as its passes left it, and the bytes. Two comparisons: what is read again says what was
 * written (text for text, but for history), and, where evaluating is affordable, it computes what the model as read
 * does: bit for bit where it was read in the same format, since nothing is reordered between the two; else reals as far as a whole
 * network rounds otherwise, since operators were said in others. Where one of the two models has scales at its tensors and
 * the other at its operators, they round between operators otherwise, and a network makes more of it than a step: the
 * largest difference is told, and only what no rounding does is wrong.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "check/check_private.h"

#define MOST_STEPS 64.0                      /* of 1/255 of the range of the output's type, or of its largest value */
#define EVALUATION_COST UINT64_C(1000000000) /* scalar operations of one case: above it nothing is evaluated */

enum { RUNS_WITH_STATE = 3, MOST_TRIPS = 10000 };

typedef struct rereader {
    base_arena *arena;
    ops_registry *ops;
    const compile_options *o;
    const ir_model *as_read, *back;
    size_t runs;
    unsigned compared; /* runs of cases that came to their end */
    bool rounded;      /* reals may be rounded otherwise */
    bool requantised;  /* scales are at tensors here, at operators there */
    double *scale;     /* then: of each output of reals that a node makes of scaled numbers, their scale; else 0 */
    double apart;      /* and steps that outputs differ by */
    bool refused;      /* an input that was made is none that the model takes */
    base_diags *d;
} rereader;

/* One round of every loop. */
static base_status cost_of(const rereader *r, base_arena *scratch, uint64_t *cost) {
    const ops_goal goal = {r->o->goals, r->o->goal_count};
    *cost = 0;
    for (size_t k = 0; k < r->back->graphs.n; k++) {
        const ir_graph *g = &r->back->graphs.at[k];
        for (size_t i = 0; i < g->nodes.n; i++) {
            lang_program *raw = NULL;
            if (ir_control_of(&g->nodes.at[i]) != IR_PLAIN) {
                continue;
            }
            base_status status = ops_instantiate(scratch, r->ops, r->back, g, &g->nodes.at[i], &goal, &raw, r->d);
            if (status != BASE_OK) {
                return status;
            }
            *cost += lang_cost(raw);
        }
    }
    return BASE_OK;
}

static bool has_scales(const ir_model *m) {
    bool has = false;
    for (size_t i = 0; i < m->graphs.n; i++) {
        for (size_t t = 0; t < m->graphs.at[i].tensors.n; t++) {
            has = has || m->graphs.at[i].tensors.at[t].quant.n > 0;
        }
    }
    return has;
}

/* scale[i], of n outputs: at least the largest scale of what the node takes that makes output i of the model. */
static void note_scales(const ir_model *m, base_arena *scratch, double *scale, size_t n) {
    const ir_graph *g = &m->graphs.at[0];
    double *made = BASE_NEWS(scratch, double, g->tensors.n + 1);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *node = &g->nodes.at[i];
        double most = 0;
        for (size_t k = 0; k < node->input_count; k++) {
            const ir_quant *q = node->inputs[k] == IR_NONE ? NULL : &g->tensors.at[node->inputs[k]].quant;
            most = q && q->n == 1 && q->scale[0] > most ? q->scale[0] : most;
        }
        for (size_t k = 0; k < node->output_count; k++) {
            made[node->outputs[k] == IR_NONE ? g->tensors.n : node->outputs[k]] = most;
        }
    }
    for (size_t i = 0; i < g->outputs.n && i < n; i++) {
        scale[i] = made[g->outputs.at[i]] > scale[i] ? made[g->outputs.at[i]] : scale[i];
    }
}

/* By bits; of a requantised model by steps, as far as there are such: places and conditions that follow from reals may be
 * others. */
static bool same_output(rereader *r, size_t output, const void *want, const void *got) {
    const ir_tensor *t = &r->as_read->graphs.at[0].tensors.at[r->as_read->graphs.at[0].outputs.at[output]];
    uint64_t bytes = 0, n = 0, most;
    int64_t least;
    (void)ir_tensor_bytes(t, &bytes);
    (void)ir_shape_elements(&t->shape, &n);
    if (memcmp(want, got, (size_t)bytes) == 0 || !r->requantised) {
        const bool in_f32 = r->o->in_f32 != NULL && *r->o->in_f32;
        return check_same_values(t, got, want, in_f32 ? CHECK_IN_F32 : r->rounded ? CHECK_FORMAT : CHECK_BITS);
    }
    const bool is_real = base_type_is_float(t->type);
    if (!is_real && base_type_bits(t->type) != 8 && base_type_bits(t->type) != 16) {
        return true;
    }
    double step = is_real ? 255 * r->scale[output] : 0, worst = 0; /* of all of its range */
    for (uint64_t i = 0; is_real && i < n; i++) {
        const double v = fabs(base_load(t->type, want, i).f);
        step = isfinite(v) && v > step ? v : step;
    }
    if (!is_real) {
        base_type_range(t->type, &least, &most);
        step = (double)most - (double)least;
    }
    for (uint64_t i = 0; i < n; i++) {
        const base_value a = base_load(t->type, want, i), b = base_load(t->type, got, i);
        const double far = is_real ? (a.f == b.f || (isnan(a.f) && isnan(b.f)) ? 0 : fabs(a.f - b.f))
                                   : fabs((double)a.i - (double)b.i);
        worst = far > worst || isnan(far) ? far : worst;
    }
    worst = worst == 0 ? 0 : worst * 255 / step;
    r->apart = worst > r->apart ? worst : r->apart;
    return worst <= MOST_STEPS;
}

/* Reals of the inputs, each by a unit of its last place larger or smaller. */
static void nudge(const ir_graph *g, void **inputs) {
    uint32_t seed = 77;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const ir_tensor *t = &g->tensors.at[g->inputs.at[i]];
        uint64_t n = 0;
        (void)ir_shape_elements(&t->shape, &n);
        for (uint64_t k = 0; t->type == BASE_F32 && k < n; k++) {
            seed = seed * 1664525u + 1013904223u;
            const double v = base_load(BASE_F32, inputs[i], k).f;
            base_store(BASE_F32, inputs[i], k, (base_value){.f = v * (1 + (seed >> 31 ? 0x1p-23 : -0x1p-23))});
        }
    }
}

/* Does output i differ by no more than what rounding the inputs makes of it? A network may divide by the spread of numbers that are all but
 * equal, and then shows nothing but how it rounds. Of a model without states, whose reals may be rounded otherwise. */
static bool is_rounding(const rereader *r, ops_session *s, base_arena *scratch, void **inputs, size_t i,
                        void *const *want, const void *got) {
    const ir_graph *g = &r->as_read->graphs.at[0];
    const ir_tensor *t = &g->tensors.at[g->outputs.at[i]];
    uint64_t n = 0;
    double spread = 0, worst = 0;
    base_diags ignored = {.arena = scratch};
    void **other = check_rooms(scratch, g, g->outputs.at, g->outputs.n, 1);
    if (!r->rounded || r->requantised || r->as_read->states.n > 0 || t->type != BASE_F32) {
        return false;
    }
    nudge(g, inputs);
    if (ops_session_run(s, scratch, (const void *const *)inputs, other, &ignored) != BASE_OK) {
        return false;
    }
    (void)ir_shape_elements(&t->shape, &n);
    for (uint64_t k = 0; k < n; k++) {
        const double w = base_load(t->type, want[i], k).f, a = base_load(t->type, got, k).f,
                     b = base_load(t->type, other[i], k).f;
        spread = fabs(b - w) > spread ? fabs(b - w) : spread;
        worst = a == w || (isnan(a) && isnan(w)) ? worst : !(fabs(a - w) <= worst) ? fabs(a - w) : worst;
    }
    return isfinite(worst) && worst <= 2 * spread;
}

/* One run of both; *ended is false where a loop of both passes the bound, or the model as it was read refuses the inputs. */
static base_status compare_run(rereader *r, ops_session *const both[2], unsigned k, bool *ended) {
    const ir_graph *g = &r->as_read->graphs.at[0];
    base_arena *scratch = base_arena_new(base_arena_memory(r->arena));
    void **inputs = check_rooms(scratch, g, g->inputs.at, g->inputs.n, 1), **outputs[2];
    base_diags ignored = {.arena = scratch};
    base_status status = BASE_OK;
    bool refused = false; /* by the model as it was read */
    check_fill_inputs(r->as_read, k, inputs);
    for (size_t i = 0; status == BASE_OK && i < 2; i++) {
        outputs[i] = check_rooms(scratch, g, g->outputs.at, g->outputs.n, 1);
        status = ops_session_run(both[i], scratch, (const void *const *)inputs, outputs[i], &ignored);
        refused = status == BASE_REFUSED && !i;
    }
    *ended = status == BASE_OK || !ops_session_endless(both[0]);
    if (status != BASE_OK && ops_session_endless(both[0])) {
        status = BASE_OK;
    } else if (status != BASE_OK && refused) { /* no input of the model: a value outside what its operators take */
        *ended = false;
        r->refused = true;
        status = BASE_OK;
    } else if (status != BASE_OK) {
        base_error(r->d, NULL, "%s", ignored.list.n ? ignored.list.at[0].message : "it cannot be evaluated");
    }
    for (size_t i = 0; status == BASE_OK && *ended && i < g->outputs.n; i++) {
        if (!same_output(r, i, outputs[0][i], outputs[1][i]) &&
            !is_rounding(r, both[0], scratch, inputs, i, outputs[0], outputs[1][i])) {
            base_error(r->d, NULL, "output %zu of what was written differs from that of the model as it was read%s", i,
                       check_difference(r->arena, &g->tensors.at[g->outputs.at[i]], outputs[1][i], outputs[0][i]));
            status = BASE_WRONG;
        }
    }
    r->compared += status == BASE_OK && *ended;
    base_arena_free(scratch);
    return status;
}

/* r->compared stays 0 where evaluating would cost too much. */
static base_status compare_values(rereader *r, unsigned cases) {
    ops_session *both[2] = {NULL, NULL};
    const ops_goal goal = {r->o->goals, r->o->goal_count};
    const ops_session_options how = {.goal = &goal, .most_trips = MOST_TRIPS};
    uint64_t cost = 0;
    base_arena *scratch = base_arena_new(base_arena_memory(r->arena));
    base_status status = cost_of(r, scratch, &cost);
    const size_t n = r->as_read->graphs.at[0].outputs.n;
    r->scale = BASE_NEWS(r->arena, double, n + 1);
    note_scales(r->as_read, scratch, r->scale, n);
    note_scales(r->back, scratch, r->scale, n);
    base_arena_free(scratch);
    if (status != BASE_OK || cost > EVALUATION_COST) {
        return status;
    }
    status = ops_session_new(r->arena, r->ops, r->as_read, &how, &both[0], r->d);
    if (status == BASE_OK) {
        status = ops_session_new(r->arena, r->ops, r->back, &how, &both[1], r->d);
    }
    for (unsigned k = 0; status == BASE_OK && k < cases; k++) {
        bool ended = true;
        ops_session_reset(both[0]);
        ops_session_reset(both[1]);
        for (size_t i = 0; status == BASE_OK && ended && i < r->runs; i++) {
            status = compare_run(r, both, k + 7 * (unsigned)i, &ended);
        }
    }
    return status;
}

/* Nodes that a pass has made leave out what a definition says of an absent attribute, and the reader does not: then what was read is
 * written as the same bytes. */
static bool writes_the_same(base_arena *arena, const compile_options *o, ops_registry *ops, const ir_model *back,
                            base_bytes bytes) {
    const formats_options how = {.ops = ops};
    base_diags ignored = {.arena = arena};
    base_text again = {.arena = arena};
    return formats_find(o->target->format)->write(arena, back, &how, &again, &ignored) == BASE_OK &&
           again.n == bytes.size && memcmp(again.at, bytes.at, bytes.size) == 0;
}

base_status check_written(base_arena *arena, ops_registry *ops, const ir_model *as_read, const ir_model *written,
                          const compile_options *o, const base_output_file *files, size_t file_count, unsigned cases,
                          check_result *result, base_diags *d) {
    rereader r = {.arena = arena, .ops = ops, .o = o, .as_read = as_read, .d = d};
    ir_model *back = NULL;
    r.runs = as_read->states.n ? RUNS_WITH_STATE : 1;
    const base_bytes bytes = {files[0].bytes, files[0].size};
    formats_options how = {.ops = ops, .every_signature = true, .max_trips = r.o->max_trips};
    if (file_count > 1) {
        how.beside = files[1].name;
        how.beside_bytes = (base_bytes){files[1].bytes, files[1].size};
    }
    base_status status = formats_find(o->target->format)->read(arena, as_read->file, bytes, &how, &back, d);
    if (status != BASE_OK) {
        base_error(d, NULL, "what was written cannot be read again");
        return BASE_WRONG;
    }
    r.back = back;
    r.requantised = has_scales(as_read) != has_scales(back);
    r.rounded = strcmp(as_read->format, o->target->format) != 0;
    *result = (check_result){.checked = false};
    const bool same = ir_same(arena, written, back) || writes_the_same(arena, o, ops, back, bytes);
    status = compare_values(&r, cases);
    if (status == BASE_OK && !r.compared && r.refused) {
        result->why = "not checked: read again; no input that was made is one that the model takes";
        result->json = "{\"checked\":false,\"why\":\"no input that was made is one that the model takes\"}";
        return BASE_OK;
    }
    if (status == BASE_OK && !same && !r.compared) {
        base_error(d, NULL, "what was written is read again as another graph");
        return BASE_WRONG;
    }
    if (status == BASE_OK) {
        const char *graph = same ? "read again as the same graph" : "read again";
        *result = (check_result){.checked = true};
        result->why = r.compared ? base_printf(arena, "checked: %s; %u inputs compared with the model as it was read",
                                               graph, r.compared)
                                 : base_printf(arena, "checked: %s; too large to be evaluated", graph);
        if (r.compared && r.requantised) {
            result->why = base_printf(
                arena, "%s; rounded between operators as %s does: outputs differ by up to %.3g of 255 steps",
                result->why, back->format, r.apart);
        }
        result->json = base_printf(arena, "{\"checked\":true,\"same_graph\":%s,\"cases\":%u}", same ? "true" : "false",
                                   r.compared);
    }
    return status;
}
