/* rewritten.c - runs passes over a graph in text form and the evaluator over what was and what came of it. */
#include "rewritten.h"

#include <math.h>
#include <string.h>

#define ROUNDS 12u

base_memory rewritten_memory;
static base_arena *arena;
static base_text after;
static uint64_t instantiated;

static uint32_t seed;

static uint32_t next_random(void) {
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

/* Lowest, highest, alternating, then random: reals of both sides of the bounds of activations. */
static void *fill(const ir_tensor *t, unsigned round) {
    uint64_t elements = 0, bytes = 0, most;
    int64_t least;
    (void)ir_shape_elements(&t->shape, &elements);
    (void)ir_tensor_bytes(t, &bytes);
    void *data = base_alloc(arena, (size_t)bytes + 8, 1);
    bool real = base_type_is_float(t->type);
    if (!real) {
        base_type_range(t->type, &least, &most);
    }
    for (uint64_t i = 0; i < elements; i++) {
        double part = round == 0   ? 0
                      : round == 1 ? 1
                      : round == 2 ? (double)(i & 1)
                                   : (double)(next_random() % 65537u) / 65536.0;
        base_value v = {0};
        if (real) {
            v.f = (double)(float)(part * 20.0 - 10.0);
        } else {
            v.i = least + (int64_t)(part * ((double)most - (double)least));
        }
        base_store(t->type, data, i, v);
    }
    return data;
}

static ops_session *session(ops_registry *ops, const ir_model *m, base_diags *d) {
    ops_session *s = NULL;
    return ops_session_new(arena, ops, m, &(ops_session_options){0}, &s, d) == BASE_OK ? s : NULL;
}

static void **room(const ir_graph *g) {
    void **list = BASE_NEWS(arena, void *, g->outputs.n + 1);
    for (size_t i = 0; i < g->outputs.n; i++) {
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(&g->tensors.at[g->outputs.at[i]], &bytes);
        list[i] = base_alloc(arena, (size_t)bytes + 8, 1);
    }
    return list;
}

static bool agree(const ir_tensor *t, const void *a, const void *b, double tolerance) {
    uint64_t elements = 0;
    double greatest = 0;
    (void)ir_shape_elements(&t->shape, &elements);
    for (uint64_t i = 0; base_type_is_float(t->type) && i < elements; i++) {
        double v = fabs(base_load(t->type, a, i).f);
        greatest = isfinite(v) && v > greatest ? v : greatest;
    }
    for (uint64_t i = 0; i < elements; i++) {
        base_value x = base_load(t->type, a, i), y = base_load(t->type, b, i);
        bool same = x.u == y.u;
        if (base_type_is_float(t->type)) {
            same = x.f == y.f || (isnan(x.f) && isnan(y.f)) || fabs(x.f - y.f) <= tolerance * greatest;
        } else if (tolerance >= 1) {
            same = fabs((double)x.i - (double)y.i) <= tolerance;
        }
        if (!same) {
            return false;
        }
    }
    return true;
}

static const char *compare(ops_registry *ops, const ir_model *a, const ir_model *b, double tolerance, base_diags *d) {
    ops_session *before = session(ops, a, d), *now = session(ops, b, d);
    const ir_graph *g = &a->graphs.at[0];
    if (before == NULL || now == NULL) {
        return "does not evaluate";
    }
    void **x = room(g), **y = room(g);
    seed = 7;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const void **inputs = BASE_NEWS(arena, const void *, g->inputs.n + 1);
        for (size_t i = 0; i < g->inputs.n; i++) {
            inputs[i] = fill(&g->tensors.at[g->inputs.at[i]], round);
        }
        if (ops_session_run(before, arena, inputs, x, d) != BASE_OK ||
            ops_session_run(now, arena, inputs, y, d) != BASE_OK) {
            return "does not run";
        }
        for (size_t i = 0; i < g->outputs.n; i++) {
            if (!agree(&g->tensors.at[g->outputs.at[i]], x[i], y[i], tolerance)) {
                return base_printf(arena, "differs in round %u, output %zu", round, i);
            }
        }
    }
    return NULL;
}

const char *rewritten(const char *text, const char *passes, double tolerance) {
    if (arena != NULL) {
        base_arena_free(arena);
    }
    arena = base_arena_new(&rewritten_memory);
    after = (base_text){.arena = arena};
    base_diags d = {.arena = arena};
    ir_model *a = NULL, *b = NULL;
    ops_registry *ops = ops_registry_new(arena);
    passes_context c = {.arena = arena, .ops = ops, .opt_level = 1, .only = passes};
    if (ir_parse(arena, "a", text, strlen(text), &a, &d) != BASE_OK || ir_verify(a, &d) != BASE_OK ||
        ir_parse(arena, "b", text, strlen(text), &b, &d) != BASE_OK || passes_run(&c, b, &d) != BASE_OK) {
        return d.list.n > 0 ? d.list.at[0].message : "refused";
    }
    instantiated = ops_instantiated(ops);
    ir_print(&after, b);
    const char *wrong = compare(ops, a, b, tolerance, &d);
    if (wrong != NULL) {
        return wrong;
    }
    base_text words = {.arena = arena};
    base_puts(&words, "");
    for (size_t i = 0; i < b->graphs.at[0].nodes.n; i++) {
        base_put(&words, "%s%s", i ? " " : "", b->graphs.at[0].nodes.at[i].op);
    }
    return words.at != NULL ? words.at : "";
}

const char *rewritten_text(void) {
    return after.at;
}

uint64_t rewritten_instantiated(void) {
    return instantiated;
}
