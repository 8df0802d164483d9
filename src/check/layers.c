/* layers.c - every kernel of several runs compared with its definition, fed with the module's own inputs.
 *
 * Takes a trace (driver.c). Gives the first element that differs, by operator and index. A kernel above a cost limit is
 * checked on sampled elements: the corners, and random ones; one that a loop repeats in its first rounds. Also finds
 * bytes that were overwritten between producer and reader, and jumps that no condition asked for.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "check/check_private.h"

#define WHOLE_COST UINT64_C(400000000) /* scalar operations of a kernel that is still checked whole */
#define SAMPLES 512u
#define FOLD_LIMIT ((uint64_t)1 << 26) /* bytes of one folded stage */

#define MOST_OF_ONE 16u /* times that one kernel, which a loop repeats, is compared */

typedef struct walker {
    base_arena *arena;
    ops_registry *ops;
    const ops_goal *goal;
    const plan_module *p;
    const uint8_t *trace;
    size_t size, at;
    const uint8_t **latest; /* plan tensor -> its bytes, as last produced */
    lang_code **codes;      /* of each kernel, once it was compared; NULL: kernels are met once, and nothing is kept */
    uint32_t *times;        /* that each kernel was compared */
    uint64_t sampled, total;
    base_diags *d;
} walker;

static const uint8_t *take(walker *w, uint64_t bytes) {
    if (bytes > w->size - w->at) {
        return NULL;
    }
    const uint8_t *here = w->trace + w->at;
    w->at += (size_t)bytes;
    return here;
}

static base_status short_trace(walker *w) {
    base_error(w->d, NULL, "the emitted program ended early: %zu bytes", w->size);
    return BASE_WRONG;
}

static char *place(walker *w, const plan_kernel *k) {
    const char *word = k->node->source_name != NULL ? k->node->source_name : k->op;
    return k->id_count > 0 && k->ids[0] != IR_NONE ? base_printf(w->arena, "operator %u %s", k->ids[0], word)
                                                   : base_strdup(w->arena, word);
}

/* Integers: bits, or within the bound where the value was made from floats. Floats: within the bound of the wide
 * value. */
static bool agrees(base_type type, base_value got, base_value want, double wide, double bound) {
    if (!base_type_is_float(type)) {
        return got.u == want.u || (bound > 0 && fabs((double)got.i - (double)want.i) <= bound);
    }
    if (isnan(got.f) || isnan(wide)) {
        return isnan(got.f) && isnan(wide);
    }
    return got.f == want.f || got.f == wide || fabs(got.f - wide) <= bound || isinf(bound) || isnan(bound);
}

typedef struct expected {
    void *data;
    double *value, *bound;
    const uint64_t *elements; /* NULL: all */
    uint64_t count;
    const ir_shape *actual; /* as a run decided; NULL: as the plan says */
} expected;

static base_status compare_output(walker *w, const plan_kernel *k, const plan_tensor *t, size_t output,
                                  const uint8_t *got, const expected *e) {
    for (uint64_t i = 0; i < e->count; i++) {
        uint64_t element = e->elements != NULL ? e->elements[i] : i;
        const uint64_t at = e->actual != NULL ? check_place(t, e->actual, element) : element;
        base_value a = base_load(t->type, got, at), b = base_load(t->type, e->data, i);
        if (!agrees(t->type, a, b, e->value[i], e->bound[i])) {
            const ir_shape *shape = e->actual != NULL ? e->actual : &t->shape;
            base_text text = {.arena = w->arena};
            base_put(&text, "%s: output %zu, element ", place(w, k), output);
            base_put_index(&text, shape->rank, shape->dim, element);
            base_puts(&text, " is ");
            base_put_value(&text, t->type, a);
            base_puts(&text, ", the definition gives ");
            base_put_value(&text, t->type, b);
            base_puts(&text, " (allowed difference ");
            base_put_float(&text, e->bound[i]);
            base_error(w->d, NULL, "%s)", text.at);
            return BASE_WRONG;
        }
    }
    w->sampled += e->count;
    return BASE_OK;
}

/* Corners, edges of the row-major order, and random elements: the same ones every time. */
static uint64_t *choose_elements(base_arena *arena, uint64_t elements, uint64_t cost, uint64_t *count) {
    uint64_t each = elements == 0 ? 1 : cost / elements + 1, most = WHOLE_COST / each + 1;
    most = most < SAMPLES ? most : SAMPLES;
    uint64_t n = elements < most ? elements : most;
    uint64_t *list = BASE_NEWS(arena, uint64_t, (size_t)n + 1);
    uint32_t seed = 12345;
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint64_t high = seed;
        seed = seed * 1664525u + 1013904223u;
        uint64_t random = high << 32 | seed;
        list[i] = elements <= n || i < 16 ? i : i < 32 ? elements - 1 - (i - 16) : random % elements;
    }
    *count = n;
    return list;
}

/* What the module itself had there; of a constant that a graph was given, its contents. What nobody has made yet is something
 * that the kernel was shown not to depend on (a sum whose bounds leave one value), so that it may come first: zeros will do. */
static const void *input_of(const walker *w, uint32_t t, base_arena *scratch) {
    const plan_tensor *x = &w->p->tensors.at[t];
    return x->role == PLAN_CONSTANT ? x->data
           : w->latest[t] != NULL   ? (const void *)w->latest[t]
                                    : base_alloc(scratch, (size_t)x->bytes + 8, 1);
}

static const void **kernel_inputs(walker *w, const plan_kernel *k, base_arena *scratch, base_status *status) {
    const lang_program *raw = k->raw;
    const void **inputs = BASE_NEWS(scratch, const void *, raw->inputs.n + 1);
    for (size_t i = 0; i < raw->inputs.n; i++) { /* counts too */
        uint32_t t = k->inputs[i];
        inputs[i] = t == IR_NONE ? NULL : input_of(w, t, scratch);
    }
    uint32_t traced[64];
    size_t n = check_traced(w->p, k, true, traced, 64);
    for (size_t i = 0; i < n; i++) {
        const plan_tensor *t = &w->p->tensors.at[traced[i]];
        const uint8_t *bytes = take(w, t->bytes);
        if (bytes == NULL) {
            *status = short_trace(w);
            return inputs;
        }
        if (w->latest[traced[i]] != NULL && memcmp(bytes, w->latest[traced[i]], (size_t)t->bytes) != 0) {
            base_error(w->d, NULL, "%s: its input \"%s\" was overwritten after it was computed", place(w, k), t->name);
            *status = BASE_WRONG;
            return inputs;
        }
    }
    return inputs;
}

static bool has_floats(const lang_program *p) {
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        if (base_type_is_float((base_type)lang_at(p, r)->type)) {
            return true;
        }
    }
    return false;
}

static expected room_for(base_arena *scratch, base_type type, uint64_t count) {
    uint64_t bytes = 0;
    (void)base_type_bytes(type, count, &bytes);
    expected e = {.count = count, .data = base_alloc(scratch, (size_t)bytes + 8, 1)};
    e.value = BASE_NEWS(scratch, double, (size_t)count + 1);
    e.bound = BASE_NEWS(scratch, double, (size_t)count + 1);
    return e;
}

static base_status check_whole(walker *w, const plan_kernel *k, const lang_code *code, const void *const *inputs,
                               const uint8_t **got, base_arena *scratch) {
    size_t n = k->raw->outputs.n;
    lang_result *results = BASE_NEWS(scratch, lang_result, n + 1);
    expected *e = BASE_NEWS(scratch, expected, n + 1);
    for (size_t i = 0; i < n; i++) {
        const plan_tensor *t = &w->p->tensors.at[k->outputs[i]];
        uint64_t elements = 0;
        (void)ir_shape_elements(&t->shape, &elements);
        e[i] = room_for(scratch, t->type, elements);
        results[i] = (lang_result){.data = e[i].data, .value = e[i].value, .bound = e[i].bound};
        w->total += elements;
    }
    base_status status = lang_run(code, scratch, inputs, results, w->d);
    for (size_t i = 0; status == BASE_OK && i < n; i++) {
        status = compare_output(w, k, &w->p->tensors.at[k->outputs[i]], i, got[i], &e[i]);
    }
    return status;
}

static base_status check_sampled(walker *w, const plan_kernel *k, const lang_code *code, const void *const *inputs,
                                 const uint8_t **got, base_arena *scratch) {
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < k->raw->outputs.n; i++) {
        const plan_tensor *t = &w->p->tensors.at[k->outputs[i]];
        uint64_t elements = 0, count = 0;
        (void)ir_shape_elements(&t->shape, &elements);
        uint64_t *list = choose_elements(scratch, elements, lang_cost(k->raw), &count);
        expected e = room_for(scratch, t->type, count);
        e.elements = list;
        w->total += elements;
        status =
            lang_run_elements(code, scratch, inputs, (uint32_t)i, list, (size_t)count, e.data, e.value, e.bound, w->d);
        if (status == BASE_OK) {
            status = compare_output(w, k, t, i, got[i], &e);
        }
    }
    return status;
}

/* What depends on constants only is computed at compile time by the evaluator itself: exact, and without a bound. */
static lang_code *compile_kernel(walker *w, base_arena *arena, const plan_kernel *k) {
    const lang_program *definition = lang_fold(arena, k->raw, FOLD_LIMIT);
    return lang_compile(arena, definition, has_floats(definition) ? LANG_EVAL_BOUND : LANG_EVAL_EXACT, w->d);
}

static lang_code *code_of(walker *w, base_arena *scratch, size_t index) {
    const plan_kernel *k = &w->p->kernels.at[index];
    if (w->codes == NULL) {
        return compile_kernel(w, scratch, k);
    }
    if (w->codes[index] == NULL) {
        w->codes[index] = compile_kernel(w, w->arena, k);
    }
    return w->codes[index];
}

/* ---- kernels with extents that a run decided ---- */

/* The node's program for the shapes that its inputs had, and these inputs one element behind the other. */
static base_status make_actual(walker *w, const plan_kernel *k, base_arena *scratch, const void **inputs,
                               lang_program **raw) {
    const ir_graph *g = k->graph;
    ir_shape *shapes = BASE_NEWS(scratch, ir_shape, g->tensors.n + 1);
    base_status status = BASE_OK;
    for (size_t t = 0; t < g->tensors.n; t++) {
        shapes[t] = ir_shape_of(g->tensors.at[t].shape.rank, g->tensors.at[t].shape.dim);
    }
    for (size_t i = 0; status == BASE_OK && i < k->node->input_count; i++) {
        const uint32_t t = k->inputs[i];
        if (t != IR_NONE && w->p->tensors.at[t].role != PLAN_CONSTANT) {
            ir_shape *actual = &shapes[k->node->inputs[i]];
            status = check_actual_shape(w->p, w->latest, t, actual, w->d);
            inputs[i] = status == BASE_OK ? check_dense(scratch, &w->p->tensors.at[t], actual, inputs[i]) : NULL;
        }
    }
    return status != BASE_OK ? status
                             : ops_instantiate_at(scratch, w->ops, w->p->model, g, k->node, shapes, w->goal, raw, w->d);
}

/* What the definition gives has the extents that were counted, and of an output nothing but zeros is behind it. */
static base_status check_extents(walker *w, const plan_kernel *k, size_t output, const lang_result *r, uint32_t rank,
                                 const uint8_t *got) {
    const plan_tensor *t = &w->p->tensors.at[k->outputs[output]];
    ir_shape actual, given = ir_shape_of(rank, r->dim);
    uint64_t n = 0, m = 0, all = 0;
    base_status status = check_actual_shape(w->p, w->latest, k->outputs[output], &actual, w->d);
    bool same =
        ir_shape_elements(&actual, &n) && ir_shape_elements(&given, &m) && ir_shape_elements(&t->shape, &all) && n == m;
    for (uint32_t i = 0; same && rank == actual.rank && i < rank; i++) {
        same = actual.dim[i] == given.dim[i];
    }
    for (uint64_t i = n; status == BASE_OK && same && t->role == PLAN_OUTPUT && i < all; i++) {
        if (base_load(t->type, got, i).u != 0) {
            base_error(w->d, NULL, "%s: output %zu has something behind its %" PRIu64 " elements", place(w, k), output,
                       n);
            return BASE_WRONG;
        }
    }
    if (status == BASE_OK && !same) {
        base_error(w->d, NULL, "%s: output %zu is %s, the definition gives %s", place(w, k), output,
                   ir_shape_print(w->arena, &actual), ir_shape_print(w->arena, &given));
        status = BASE_WRONG;
    }
    return status;
}

/* got NULL: the module found something out of range, and so must the evaluator. */
static base_status check_counted(walker *w, const plan_kernel *k, const void **inputs, const uint8_t **got,
                                 base_arena *scratch) {
    lang_program *raw = NULL;
    base_diags ignored = {.arena = scratch}, *d = w->d;
    const size_t n = k->node->output_count;
    w->d = got == NULL ? &ignored : d;
    base_status status = make_actual(w, k, scratch, inputs, &raw);
    const lang_program *definition = status == BASE_OK ? lang_fold(scratch, raw, FOLD_LIMIT) : NULL;
    lang_code *code =
        definition == NULL
            ? NULL
            : lang_compile(scratch, definition, has_floats(definition) ? LANG_EVAL_BOUND : LANG_EVAL_EXACT, w->d);
    lang_result *results = BASE_NEWS(scratch, lang_result, n + 1);
    expected *e = BASE_NEWS(scratch, expected, n + 1);
    for (size_t i = 0; code != NULL && i < n; i++) {
        const lang_tensor *t = &raw->tensors.at[raw->outputs.at[i]];
        const ir_shape most = ir_shape_of(t->rank, t->dim);
        uint64_t elements = 0;
        (void)ir_shape_elements(&most, &elements);
        e[i] = room_for(scratch, t->type, elements);
        results[i] = (lang_result){.data = e[i].data, .value = e[i].value, .bound = e[i].bound};
    }
    status = code == NULL ? BASE_REFUSED : lang_run(code, scratch, inputs, results, w->d);
    w->d = d;
    for (size_t i = 0; status == BASE_OK && got != NULL && i < n; i++) {
        const lang_tensor *t = &raw->tensors.at[raw->outputs.at[i]];
        ir_shape actual = ir_shape_of(t->rank, results[i].dim);
        e[i].actual = &actual;
        status = check_extents(w, k, i, &results[i], t->rank, got[i]);
        (void)ir_shape_elements(&actual, &e[i].count);
        w->total += e[i].count;
        if (status == BASE_OK) {
            status = compare_output(w, k, &w->p->tensors.at[k->outputs[i]], i, got[i], &e[i]);
        }
    }
    return status;
}

/* The module says that something is out of range: by the definition it must be. */
static base_status check_refusal(walker *w, size_t index, const void **inputs, base_arena *scratch) {
    const plan_kernel *k = &w->p->kernels.at[index];
    base_status status;
    if (check_is_counted(w->p, k)) {
        status = check_counted(w, k, inputs, NULL, scratch);
    } else {
        base_diags ignored = {.arena = scratch};
        lang_result *results = BASE_NEWS(scratch, lang_result, k->raw->outputs.n + 1);
        for (size_t i = 0; i < k->raw->outputs.n; i++) {
            uint64_t elements = 0;
            (void)ir_shape_elements(&w->p->tensors.at[k->outputs[i]].shape, &elements);
            results[i].data = room_for(scratch, w->p->tensors.at[k->outputs[i]].type, elements).data;
        }
        lang_code *code = lang_compile(scratch, k->raw, LANG_EVAL_EXACT, w->d);
        status = code == NULL ? BASE_REFUSED : lang_run(code, scratch, inputs, results, &ignored);
    }
    if (status == BASE_OK) {
        base_error(w->d, NULL,
                   "%s: the emitted program says that an index or an extent is out of range, and by the "
                   "definition none is",
                   place(w, k));
        return BASE_WRONG;
    }
    return BASE_OK;
}

/* What stands behind the inputs of a step. */
static uint32_t second_number(const walker *w) {
    return w->size - w->at >= 4 ? (uint32_t)base_load(BASE_U32, w->trace + w->at, 0).u : 0;
}

static base_status check_kernel(walker *w, size_t index, check_trace *trace) {
    const plan_kernel *k = &w->p->kernels.at[index];
    base_arena *scratch = base_arena_new(base_arena_memory(w->arena));
    base_status status = BASE_OK;
    const void **inputs = kernel_inputs(w, k, scratch, &status);
    const uint8_t **got = BASE_NEWS(scratch, const uint8_t *, k->program->outputs.n + 1);
    if (status == BASE_OK && second_number(w) == CHECK_TRIPS) {
        base_arena_free(scratch);
        return BASE_OK; /* it is met again as the next step */
    }
    if (status == BASE_OK && second_number(w) == CHECK_INDEX) {
        trace->why = CHECK_INDEX;
        status = check_refusal(w, index, inputs, scratch);
        base_arena_free(scratch);
        return status;
    }
    status = status == BASE_OK && take(w, 4) == NULL ? short_trace(w) : status;
    for (size_t i = 0; status == BASE_OK && i < k->program->outputs.n; i++) {
        const plan_tensor *t = &w->p->tensors.at[k->outputs[i]];
        got[i] = t->role == PLAN_CONSTANT ? t->data : take(w, t->bytes);
        if (got[i] == NULL) {
            status = short_trace(w);
        } else {
            w->latest[k->outputs[i]] = got[i];
        }
    }
    if (status == BASE_OK && k->control == PLAN_COMPUTE && w->times[index]++ < MOST_OF_ONE) {
        bool whole = lang_cost(k->raw) <= WHOLE_COST, counted = check_is_counted(w->p, k);
        lang_code *code = counted ? NULL : code_of(w, scratch, index);
        status = counted        ? check_counted(w, k, inputs, got, scratch)
                 : code == NULL ? BASE_REFUSED
                 : whole        ? check_whole(w, k, code, inputs, got, scratch)
                                : check_sampled(w, k, code, inputs, got, scratch);
    }
    base_arena_free(scratch);
    return status;
}

static bool condition_holds(walker *w, const plan_kernel *k) {
    if (k->condition == IR_NONE) {
        return true;
    }
    const plan_tensor *t = &w->p->tensors.at[k->condition];
    const uint8_t *bytes = t->role == PLAN_CONSTANT ? t->data : w->latest[k->condition];
    return bytes != NULL && bytes[0] != 0;
}

/* The step that has to follow. */
static uint32_t next_step(walker *w, uint32_t step) {
    const plan_kernel *k = &w->p->kernels.at[step];
    switch (k->control) {
    case PLAN_ELSE:
    case PLAN_REPEAT:
        return k->jump;
    case PLAN_IF:
    case PLAN_WHILE:
        return condition_holds(w, k) ? step + 1 : k->jump;
    default:
        return step + 1;
    }
}

static base_status check_run(walker *w, check_trace *trace) {
    base_status status = BASE_OK;
    for (uint32_t due = 0; status == BASE_OK;) {
        const uint8_t *at = take(w, 4);
        if (at == NULL) {
            return short_trace(w);
        }
        uint32_t step = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        if (step == CHECK_STOPPED || step == CHECK_TRIPS) {
            trace->why = step;
            return BASE_OK;
        }
        if (step == CHECK_DONE && due >= w->p->kernels.n) {
            break;
        }
        if (step != due && !(w->p->kernels.n == 0 && step == 0)) {
            base_error(w->d, NULL, "the emitted program went on with step %" PRIu32 ", due was step %" PRIu32, step,
                       due);
            return BASE_WRONG;
        }
        if (step < w->p->kernels.n) {
            status = check_kernel(w, step, trace);
            if (status == BASE_OK && trace->why == CHECK_INDEX) {
                return BASE_OK;
            }
            due = next_step(w, step);
        }
    }
    size_t n = w->p->outputs.n;
    for (size_t i = 0; status == BASE_OK && i < n; i++) {
        const uint8_t *bytes = take(w, w->p->tensors.at[w->p->outputs.at[i]].bytes);
        trace->outputs[trace->completed * n + i] = bytes;
        status = bytes == NULL ? short_trace(w) : BASE_OK;
    }
    trace->completed += status == BASE_OK;
    return status;
}

/* The input as the module got it: zeros behind what there is. */
static const uint8_t *padded(walker *w, uint32_t t, const void *input, const ir_shape *shape) {
    const plan_tensor *x = &w->p->tensors.at[t];
    uint64_t n = 0, bytes = 0;
    if (!ir_shape_elements(shape, &n) || !base_type_bytes(x->type, n, &bytes) || bytes >= x->bytes) {
        return input;
    }
    uint8_t *copy = base_alloc(w->arena, (size_t)x->bytes + 1, 1);
    memcpy(copy, input, (size_t)bytes);
    return copy;
}

/* States hold their first contents. */
static void begin(walker *w) {
    for (size_t i = 0; i < w->p->tensors.n; i++) {
        const plan_tensor *t = &w->p->tensors.at[i];
        if (t->role == PLAN_STATE) {
            w->latest[i] = t->data != NULL ? t->data : base_alloc(w->arena, (size_t)t->bytes + 1, 1);
        }
    }
}

base_status check_layers(base_arena *arena, ops_registry *ops, const ops_goal *goal, const plan_module *p,
                         check_trace *trace, uint64_t *sampled, uint64_t *total, base_diags *d) {
    walker w = {.arena = arena, .ops = ops, .goal = goal, .p = p, .trace = trace->bytes, .size = trace->size, .d = d};
    base_status status = BASE_OK;
    w.latest = BASE_NEWS(arena, const uint8_t *, p->tensors.n + 1);
    w.codes = trace->runs > 1 || p->loops > 0 ? BASE_NEWS(arena, lang_code *, p->kernels.n + 1) : NULL;
    w.times = BASE_NEWS(arena, uint32_t, p->kernels.n + 1);
    trace->outputs = BASE_NEWS(arena, const uint8_t *, trace->runs * p->outputs.n + 1);
    begin(&w);
    for (size_t r = 0; status == BASE_OK && r < trace->runs && trace->why == 0; r++) {
        for (size_t i = 0; i < p->inputs.n; i++) {
            w.latest[p->inputs.at[i]] =
                padded(&w, p->inputs.at[i], trace->inputs[r * p->inputs.n + i], &trace->shapes[r * p->inputs.n + i]);
        }
        for (size_t i = 0; i < p->counts.n; i++) {
            const plan_count *count = &p->counts.at[i];
            if (count->set) {
                int64_t *n = BASE_NEW(arena, int64_t);
                *n = trace->shapes[r * p->inputs.n + check_input_of(p, count)].dim[count->axis];
                w.latest[count->tensor] = (const uint8_t *)n;
            }
        }
        status = check_run(&w, trace);
    }
    *sampled += w.sampled;
    *total += w.total;
    return status;
}
