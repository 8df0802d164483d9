/* verify.c - two models of any formats, given the same inputs, held against each other.
 *
 * Takes two loaded models and inputs of the first. Gives how far their outputs are apart, and, where that is asked for, the
 * tensors between: those that have one name in both models, else, where the graphs have the same operators in one order,
 * those of one place. Layouts are not guessed: what has another shape is not compared.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api.h"

typedef struct pair {
    burin_comparison found;
    size_t at[2]; /* in the outputs of the models that are run; SIZE_MAX: it is not compared */
} pair;

typedef struct verify_call {
    const burin_model *given[2];
    burin_verify_options options;
    const burin_array *inputs;
    burin_model model[2]; /* as given, or with the tensors between as outputs beside their own */
    burin_array *fed;     /* the inputs in the order of the second */
    burin_array *outputs[2];
    BASE_VEC(pair) pairs;
    burin_comparison *list;
} verify_call;

static const char *printable(burin_context *c, const char *name) {
    return base_printable(c->arena, name, strlen(name), 60);
}

/* ---- which belongs to which ---- */

typedef burin_tensor_info (*info_fn)(const burin_model *m, size_t i);

/* of[i]: the one of b's n that is called as a's i; false where names do not say it of each. */
static bool match_names(burin_context *c, const verify_call *call, info_fn info, size_t n, size_t *of) {
    base_arena *scratch = base_arena_new(&c->memory);
    base_map *places = base_map_new(scratch);
    bool fits = true, is_new = false;
    for (size_t i = 0; i < n; i++) {
        const char *name = info(call->given[1], i).name;
        *base_map_put(places, name, strlen(name), &is_new) = i;
        fits = fits && is_new;
    }
    bool *taken = BASE_NEWS(scratch, bool, n + 1);
    for (size_t i = 0; fits && i < n; i++) {
        const char *name = info(call->given[0], i).name;
        const uint64_t *at = base_map_get(places, name, strlen(name));
        fits = at != NULL && !taken[*at];
        if (fits) {
            taken[*at] = true;
            of[i] = (size_t)*at;
        }
    }
    base_arena_free(scratch);
    for (size_t i = 0; !fits && i < n; i++) {
        of[i] = i;
    }
    return fits;
}

static base_status match(burin_context *c, const verify_call *call, const char *what, info_fn info, size_t n,
                         size_t other, size_t **of) {
    if (n != other) {
        return base_error(&c->diags, NULL, "%s has %zu %s%s, %s %zu", printable(c, call->given[0]->ir->file), n, what,
                          n == 1 ? "" : "s", printable(c, call->given[1]->ir->file), other);
    }
    *of = BASE_NEWS(c->arena, size_t, n + 1);
    if (!match_names(c, call, info, n, *of) && n > 1) {
        base_note(&c->diags, NULL, "the %ss have other names in %s: they are taken in order", what,
                  printable(c, call->given[1]->ir->file));
    }
    return BASE_OK;
}

/* "f32 1x3", of what a run decides the bound */
static const char *form_of(base_arena *arena, const burin_tensor_info *t) {
    base_text text = {.arena = arena};
    base_put(&text, "%s ", t->type);
    for (uint32_t k = 0; k < t->rank; k++) {
        base_put(&text, "%s%s%" PRId64, k ? "x" : "", t->open >> k & 1 ? "<=" : "", t->dim[k]);
    }
    base_puts(&text, t->rank ? "" : "scalar");
    return text.at;
}

/* The extents but for those of 1; where one is open anything below its bound fits. */
static bool same_extents(const burin_tensor_info *a, const burin_tensor_info *b) {
    uint32_t i = 0, j = 0;
    if (a->open != 0 || b->open != 0) {
        return a->rank == b->rank; /* the run tells */
    }
    for (;; i++, j++) {
        for (; i < a->rank && a->dim[i] == 1; i++) {
        }
        for (; j < b->rank && b->dim[j] == 1; j++) {
        }
        if (i == a->rank || j == b->rank) {
            return i == a->rank && j == b->rank;
        }
        if (a->dim[i] != b->dim[j]) {
            return false;
        }
    }
}

/* NULL: they can be compared. */
static const char *why_not(burin_context *c, const verify_call *call, const burin_tensor_info *a,
                           const burin_tensor_info *b) {
    if (strcmp(a->type, b->type) == 0 && same_extents(a, b)) {
        return NULL;
    }
    return base_printf(c->arena, "%s, in %s %s", form_of(c->arena, a), printable(c, call->given[1]->ir->file),
                       form_of(c->arena, b));
}

static burin_array as_other(const burin_tensor_info *want, const burin_array *given) {
    burin_array a = *given;
    if (want->open == 0) {
        a.rank = want->rank;
        memcpy(a.dim, want->dim, sizeof a.dim);
    }
    return a;
}

static base_status match_inputs(burin_context *c, verify_call *call) {
    const burin_model *a = call->given[0], *b = call->given[1];
    const size_t n = burin_input_count(a);
    size_t *of = NULL;
    base_status status = match(c, call, "input", burin_input_info, n, burin_input_count(b), &of);
    call->fed = BASE_NEWS(c->arena, burin_array, call->options.runs * n + 1);
    for (size_t i = 0; i < n && status == BASE_OK; i++) {
        const burin_tensor_info mine = burin_input_info(a, i), other = burin_input_info(b, of[i]);
        const char *why = why_not(c, call, &mine, &other);
        if (why != NULL) {
            status = base_error(&c->diags, NULL, "input %zu \"%s\" is %s: both cannot be given the same", i,
                                printable(c, mine.name), why);
        }
        for (size_t r = 0; r < call->options.runs && status == BASE_OK; r++) {
            call->fed[r * n + of[i]] = as_other(&other, &call->inputs[r * n + i]);
        }
    }
    return status;
}

static base_status match_outputs(burin_context *c, verify_call *call) {
    const burin_model *a = call->given[0], *b = call->given[1];
    const size_t n = burin_output_count(a);
    size_t *of = NULL;
    base_status status = match(c, call, "output", burin_output_info, n, burin_output_count(b), &of);
    for (size_t i = 0; i < n && status == BASE_OK; i++) {
        const burin_tensor_info mine = burin_output_info(a, i), other = burin_output_info(b, of[i]);
        pair p = {.found = {.name = mine.name, .other = other.name, .number = i, .other_number = of[i]},
                  .at = {i, of[i]}};
        p.found.array = (burin_array){.type = mine.type, .rank = mine.rank};
        memcpy(p.found.array.dim, mine.dim, sizeof mine.dim);
        p.found.why = why_not(c, call, &mine, &other);
        *BASE_PUSH(c->arena, &call->pairs) = p;
    }
    return status;
}

/* ---- tensors between ---- */

/* Named tensors that a node gives and that are no outputs; a name that stands for two of them is left out. */
static base_map *named_tensors(base_arena *arena, const ir_graph *g, const bool *is_output) {
    base_map *places = base_map_new(arena);
    for (size_t k = 0; k < g->nodes.n; k++) {
        for (size_t o = 0; o < g->nodes.at[k].output_count; o++) {
            const uint32_t t = g->nodes.at[k].outputs[o];
            const char *name = g->tensors.at[t].name;
            bool is_new = false;
            if (*name != 0 && g->tensors.at[t].state == IR_NONE && !is_output[t]) {
                uint64_t *at = base_map_put(places, name, strlen(name), &is_new);
                *at = is_new ? t : UINT64_MAX;
            }
        }
    }
    return places;
}

static bool *outputs_of(base_arena *arena, const ir_graph *g) {
    bool *is_output = BASE_NEWS(arena, bool, g->tensors.n + 1);
    for (size_t i = 0; i < g->outputs.n; i++) {
        is_output[g->outputs.at[i]] = true;
    }
    return is_output;
}

/* Both graphs have the same operators in one order, with as many outputs each. */
static bool same_operators(const ir_graph *a, const ir_graph *b) {
    bool same = a->nodes.n == b->nodes.n;
    for (size_t k = 0; same && k < a->nodes.n; k++) {
        same = strcmp(a->nodes.at[k].op, b->nodes.at[k].op) == 0 &&
               a->nodes.at[k].output_count == b->nodes.at[k].output_count;
    }
    return same;
}

static void add_layer(burin_context *c, verify_call *call, ir_graph *const g[2], const uint32_t t[2]) {
    const burin_tensor_info mine = api_tensor_info(&g[0]->tensors.at[t[0]]),
                            other = api_tensor_info(&g[1]->tensors.at[t[1]]);
    pair p = {.found = {.name = mine.name, .other = other.name, .layer = true}, .at = {SIZE_MAX, SIZE_MAX}};
    p.found.array = (burin_array){.type = mine.type, .rank = mine.rank};
    memcpy(p.found.array.dim, mine.dim, sizeof mine.dim);
    p.found.why = why_not(c, call, &mine, &other);
    for (size_t i = 0; p.found.why == NULL && i < 2; i++) {
        p.at[i] = g[i]->outputs.n;
        *BASE_PUSH(call->model[i].ir->arena, &g[i]->outputs) = t[i];
    }
    *BASE_PUSH(c->arena, &call->pairs) = p;
}

static base_status match_layers(burin_context *c, verify_call *call) {
    ir_graph *g[2];
    for (size_t i = 0; i < 2; i++) {
        base_status status = api_copy(call->given[i], &call->model[i].ir);
        if (status != BASE_OK) {
            return status;
        }
        g[i] = &call->model[i].ir->graphs.at[0];
    }
    base_arena *scratch = base_arena_new(&c->memory);
    const bool *is_output[2] = {outputs_of(scratch, g[0]), outputs_of(scratch, g[1])};
    const base_map *named[2] = {named_tensors(scratch, g[0], is_output[0]), named_tensors(scratch, g[1], is_output[1])};
    const size_t before = call->pairs.n;
    for (size_t i = 0; i < base_map_count(named[0]); i++) {
        uint64_t *mine = NULL;
        size_t n = 0;
        const void *name = base_map_key(named[0], i, &n, &mine);
        const uint64_t *other = base_map_get(named[1], name, n);
        if (other != NULL && *mine != UINT64_MAX && *other != UINT64_MAX) {
            add_layer(c, call, g, (uint32_t[]){(uint32_t)*mine, (uint32_t)*other});
        }
    }
    const bool by_name = call->pairs.n > before, by_order = !by_name && same_operators(g[0], g[1]);
    for (size_t k = 0; by_order && k < g[0]->nodes.n; k++) {
        const ir_node *n[2] = {&g[0]->nodes.at[k], &g[1]->nodes.at[k]};
        for (size_t o = 0; o < n[0]->output_count; o++) {
            const uint32_t t[2] = {n[0]->outputs[o], n[1]->outputs[o]};
            if (!is_output[0][t[0]] && !is_output[1][t[1]] && g[0]->tensors.at[t[0]].state == IR_NONE &&
                g[1]->tensors.at[t[1]].state == IR_NONE) {
                add_layer(c, call, g, t);
            }
        }
    }
    base_arena_free(scratch);
    if (call->pairs.n == before) {
        base_note(&c->diags, NULL,
                  "no tensors between have one name in both models, and their operators are not the "
                  "same: outputs alone are compared");
    } else if (!by_name) {
        base_note(&c->diags, NULL, "tensors between have other names in %s: those of the same operators are compared",
                  printable(c, call->given[1]->ir->file));
    }
    return BASE_OK;
}

static base_status prepare(burin_context *c, void *arguments) {
    verify_call *call = arguments;
    call->model[0] = *call->given[0];
    call->model[1] = *call->given[1];
    if (call->options.runs == 0) {
        base_error(&c->diags, NULL, "runs: 0 is too few");
        return BASE_USAGE;
    }
    if (call->options.layers && strcmp(call->options.provider, "reference") != 0) {
        base_error(&c->diags, NULL, "layers: tensors between are those of the provider \"reference\"");
        return BASE_USAGE;
    }
    base_status status = match_inputs(c, call);
    if (status == BASE_OK) {
        status = match_outputs(c, call);
    }
    if (status == BASE_OK && call->options.layers) {
        status = match_layers(c, call);
    }
    for (size_t i = 0; i < 2; i++) {
        call->outputs[i] =
            BASE_NEWS(c->arena, burin_array, call->options.runs * burin_output_count(&call->model[i]) + 1);
    }
    return status;
}

/* ---- how far ---- */

static bool same_arrays(const burin_array *a, const burin_array *b) {
    burin_tensor_info x = {.rank = a->rank}, y = {.rank = b->rank};
    memcpy(x.dim, a->dim, sizeof x.dim);
    memcpy(y.dim, b->dim, sizeof y.dim);
    return same_extents(&x, &y);
}

static void add_run(burin_difference *all, const burin_difference *d) {
    all->elements += d->elements;
    all->unequal += d->unequal;
    all->mismatches += d->mismatches;
    all->max_absolute = d->max_absolute > all->max_absolute ? d->max_absolute : all->max_absolute;
    all->max_relative = d->max_relative > all->max_relative ? d->max_relative : all->max_relative;
    all->max_steps = d->max_steps > all->max_steps ? d->max_steps : all->max_steps;
}

static void measure_pair(burin_context *c, const verify_call *call, burin_comparison *found, const size_t at[2]) {
    const size_t n[2] = {burin_output_count(&call->model[0]), burin_output_count(&call->model[1])};
    for (size_t r = 0; r < call->options.runs && found->why == NULL; r++) {
        const burin_array *a = &call->outputs[0][r * n[0] + at[0]], *b = &call->outputs[1][r * n[1] + at[1]];
        burin_difference d;
        if (!same_arrays(a, b)) {
            found->why = base_printf(c->arena, "in run %zu it has other extents in %s", r,
                                     printable(c, call->given[1]->ir->file));
            return;
        }
        api_measure(c, a, b, &call->options.tolerances, &d);
        const bool is_first = d.mismatches > 0 && found->difference.mismatches == 0;
        if (is_first || found->difference.mismatches == 0) {
            found->array = *a;
            found->run = r;
        }
        add_run(&found->difference, &d);
        if (is_first) {
            found->difference.first = d.first;
            found->difference.first_a = d.first_a;
            found->difference.first_b = d.first_b;
        }
    }
    found->difference.first = found->difference.mismatches > 0 ? found->difference.first : found->difference.elements;
    found->array.data = NULL;
}

/* One line of what differs. */
static const char *say(burin_context *c, const verify_call *call, const burin_comparison *f) {
    const char *what = f->layer ? base_printf(c->arena, "tensor \"%s\"", printable(c, f->name))
                                : base_printf(c->arena, "output %zu \"%s\"", f->number, printable(c, f->name));
    if (f->why != NULL) {
        return base_printf(c->arena, "%s: %s", what, f->why);
    }
    return base_printf(c->arena, "%s: %s%s", what,
                       call->options.runs > 1 ? base_printf(c->arena, "run %zu: ", f->run) : "",
                       api_difference_text(c->arena, &f->array, &f->difference));
}

static base_status measure_all(burin_context *c, void *arguments) {
    verify_call *call = arguments;
    const burin_comparison *layer = NULL;
    base_status status = BASE_OK;
    call->list = BASE_NEWS(c->arena, burin_comparison, call->pairs.n + 1);
    for (size_t i = 0; i < call->pairs.n; i++) {
        burin_comparison *f = &call->list[i];
        *f = call->pairs.at[i].found;
        if (f->why == NULL) {
            measure_pair(c, call, f, call->pairs.at[i].at);
        }
        if (!f->layer && (f->why != NULL || f->difference.mismatches > 0)) {
            base_error(&c->diags, NULL, "%s", say(c, call, f));
            status = BASE_WRONG;
        }
        layer = layer == NULL && f->layer && f->difference.mismatches > 0 ? f : layer;
    }
    if (layer != NULL) {
        base_note(&c->diags, NULL, "the first that differs: %s", say(c, call, layer));
    }
    return status;
}

burin_status burin_verify(burin_context *c, const burin_model *a, const burin_model *b,
                          const burin_verify_options *options, const burin_array *inputs, const burin_comparison **list,
                          size_t *count) {
    verify_call call = {.given = {a, b}, .options = BURIN_VERIFY_OPTIONS_INIT, .inputs = inputs};
    if (options != NULL) {
        memcpy(&call.options, options, options->size < sizeof call.options ? options->size : sizeof call.options);
    }
    const burin_compile_options defaults = BURIN_COMPILE_OPTIONS_INIT;
    const burin_verify_options *o = &call.options;
    call.options.compile = o->compile != NULL ? o->compile : &defaults;
    *list = NULL;
    *count = 0;
    burin_status status = api_guarded(c, prepare, &call);
    if (status == BURIN_OK) {
        status = burin_run_many(c, &call.model[0], o->provider, o->compile, false, o->runs, inputs, call.outputs[0]);
    }
    if (status == BURIN_OK) {
        status = burin_run_many(c, &call.model[1], o->provider, o->compile, false, o->runs, call.fed, call.outputs[1]);
    }
    if (status == BURIN_OK) {
        status = api_guarded(c, measure_all, &call);
    }
    if (status == BURIN_OK || status == BURIN_WRONG) {
        *list = call.list;
        *count = call.pairs.n;
    }
    return status;
}
