/* test_cases.c - every operator by its cases: src/ops/NAME.case says inputs, attributes and the outputs that an
 * independent runtime, a specification or arithmetic by hand gives. An operator without cases fails.
 *
 * Each case is computed by the program as instantiated, by the folded one, by the simplified one and element by
 * element; what is wanted of floats must also lie within the bound that follows from the definition.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/case_file.h"

enum { LIMIT = 1 << 20 };

static void report(const base_diags *d, const char *what) {
    base_text text = {.arena = d->arena};
    for (size_t i = 0; i < d->list.n; i++) {
        base_diag_print(&text, &d->list.at[i], false);
    }
    print_error("%s:\n%s", what, text.at ? text.at : "no diagnostic\n");
}

static bool is_close(base_type type, base_value got, base_value want, double within) {
    if (!base_type_is_float(type)) {
        return got.u == want.u;
    }
    if (isnan(want.f) || isinf(want.f)) {
        return isnan(want.f) ? isnan(got.f) != 0 : got.f == want.f;
    }
    return fabs(got.f - want.f) <= within * fmax(1.0, fabs(want.f));
}

/* Number of faults; the first is said. */
static int compare(const ir_tensor *t, const void *got, const void *want, double within, const char *what) {
    uint64_t n = 0;
    ir_shape_elements(&t->shape, &n);
    int faults = 0;
    for (uint64_t i = 0; i < n; i++) {
        base_value g = base_load(t->type, got, i), w = base_load(t->type, want, i);
        if (!is_close(t->type, g, w, within) && faults++ == 0) {
            if (base_type_is_float(t->type)) {
                print_error("%s: element %llu is %.9g, not %.9g\n", what, (unsigned long long)i, g.f, w.f);
            } else {
                print_error("%s: element %llu is %lld, not %lld\n", what, (unsigned long long)i, (long long)g.i,
                            (long long)w.i);
            }
        }
    }
    return faults;
}

static void *room_for(base_arena *arena, const ir_tensor *t) {
    uint64_t bytes = 0;
    ir_tensor_bytes(t, &bytes);
    return base_alloc(arena, (size_t)bytes + 1, 1);
}

static int run_program(base_arena *arena, const case_one *c, const lang_program *p, const char *what, base_diags *d) {
    const ir_graph *g = &c->model->graphs.at[0];
    lang_code *code = lang_compile(arena, p, LANG_EVAL_EXACT, d);
    lang_result results[CASE_MOST] = {0};
    for (size_t k = 0; k < g->outputs.n; k++) {
        results[k].data = room_for(arena, &g->tensors.at[g->outputs.at[k]]);
    }
    if (code == NULL || lang_run(code, arena, c->inputs, results, d) != BASE_OK) {
        report(d, what);
        return 1;
    }
    int faults = 0;
    for (size_t k = 0; k < g->outputs.n; k++) {
        faults += compare(&g->tensors.at[g->outputs.at[k]], results[k].data, c->wanted[k], c->within[k], what);
    }
    return faults;
}

/* The elements of each output one at a time, last first. */
static int run_elements(base_arena *arena, const case_one *c, const lang_program *p, const char *what, base_diags *d) {
    const ir_graph *g = &c->model->graphs.at[0];
    lang_code *code = lang_compile(arena, p, LANG_EVAL_EXACT, d);
    int faults = code == NULL;
    for (uint32_t k = 0; k < g->outputs.n && code != NULL; k++) {
        const ir_tensor *t = &g->tensors.at[g->outputs.at[k]];
        uint64_t n = 0;
        ir_shape_elements(&t->shape, &n);
        uint64_t *order = BASE_NEWS(arena, uint64_t, (size_t)n + 1);
        void *mixed = room_for(arena, t), *sorted = room_for(arena, t);
        for (uint64_t i = 0; i < n; i++) {
            order[i] = n - 1 - i;
        }
        if (lang_run_elements(code, arena, c->inputs, k, order, (size_t)n, mixed, NULL, NULL, d) != BASE_OK) {
            report(d, what);
            return faults + 1;
        }
        for (uint64_t i = 0; i < n; i++) {
            base_store(t->type, sorted, order[i], base_load(t->type, mixed, i));
        }
        faults += compare(t, sorted, c->wanted[k], c->within[k], what);
    }
    return faults;
}

/* The bound must hold what another runtime computed: its own order, library and contraction. */
static int run_bound(base_arena *arena, const case_one *c, const lang_program *p, const char *what, base_diags *d) {
    const ir_graph *g = &c->model->graphs.at[0];
    lang_code *code = lang_compile(arena, p, LANG_EVAL_BOUND, d);
    lang_result results[CASE_MOST] = {0};
    uint64_t n[CASE_MOST] = {0};
    for (size_t k = 0; k < g->outputs.n; k++) {
        const ir_tensor *t = &g->tensors.at[g->outputs.at[k]];
        ir_shape_elements(&t->shape, &n[k]);
        results[k].data = room_for(arena, t);
        results[k].value = BASE_NEWS(arena, double, (size_t)n[k] + 1);
        results[k].bound = BASE_NEWS(arena, double, (size_t)n[k] + 1);
    }
    if (code == NULL || lang_run(code, arena, c->inputs, results, d) != BASE_OK) {
        report(d, what);
        return 1;
    }
    int faults = 0;
    for (size_t k = 0; k < g->outputs.n; k++) {
        base_type type = g->tensors.at[g->outputs.at[k]].type;
        for (uint64_t i = 0; i < n[k] && base_type_is_float(type); i++) {
            double want = base_load(type, c->wanted[k], i).f, value = results[k].value[i], bound = results[k].bound[i];
            if (isfinite(want) && !(fabs(value - want) <= bound) && faults++ == 0) {
                print_error("%s: element %llu is %.9g within %.3g, not %.9g\n", what, (unsigned long long)i, value,
                            bound, want);
            }
        }
    }
    return faults;
}

static int run_case(base_arena *arena, ops_registry *registry, const case_one *c) {
    base_diags d = {.arena = arena};
    const ir_graph *g = &c->model->graphs.at[0];
    const ir_node *node = &g->nodes.at[0];
    ops_goal goal = {.names = c->goals, .count = c->goal_count};
    lang_program *raw;
    const char *what = base_printf(arena, "%s: %s", node->op, c->name);
    if (ops_instantiate(arena, registry, c->model, g, node, &goal, &raw, &d) != BASE_OK ||
        lang_verify(raw, &d) != BASE_OK) {
        report(&d, what);
        return 1;
    }
    const lang_program *folded = lang_fold(arena, raw, LIMIT);
    const lang_program *simple = lang_simplify(arena, folded);
    return run_program(arena, c, raw, what, &d) +
           run_program(arena, c, folded, base_printf(arena, "%s, folded", what), &d) +
           run_program(arena, c, simple, base_printf(arena, "%s, simplified", what), &d) +
           run_elements(arena, c, raw, base_printf(arena, "%s, by elements", what), &d) +
           run_bound(arena, c, raw, base_printf(arena, "%s, bound", what), &d);
}

static const char *read_text(base_arena *arena, const char *op) {
    base_diags d = {.arena = arena};
    base_file file;
    const char *path = base_printf(arena, "%s/%s.case", BURIN_OPS_DIR, op);
    return base_file_read(arena, path, &file, &d) == BASE_OK ? base_strndup(arena, (const char *)file.at, file.size)
                                                             : NULL;
}

static int run_operator(base_memory *memory, const char *op, size_t *count) {
    base_arena *arena = base_arena_new(memory);
    ops_registry *registry = ops_registry_new(arena);
    int faults = 0;
    case_file cases = {0};
    const char *error = "there is none", *text = read_text(arena, op);
    if (text == NULL || !case_file_read(arena, op, text, &cases, &error)) {
        print_error("%s.case: %s\n", op, error);
        faults++;
    }
    for (size_t i = 0; i < cases.list.n; i++, ++*count) {
        faults += run_case(arena, registry, &cases.list.at[i]);
    }
    base_arena_free(arena);
    return faults;
}

static void every_operator_gives_what_its_cases_say(void **state) {
    (void)state;
    base_memory memory = {0};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard)) {
        fail_msg("out of memory");
    }
    base_arena *arena = base_arena_new(&memory);
    ops_registry *registry = ops_registry_new(arena);
    int faults = 0;
    size_t count = 0;
    const char *only = getenv("BURIN_CASE");
    for (size_t i = 0; i < ops_count(registry); i++) {
        if (only == NULL || strcmp(only, ops_name(registry, i)) == 0) {
            faults += run_operator(&memory, ops_name(registry, i), &count);
        }
    }
    print_message("%zu operators, %zu cases\n", ops_count(registry), count);
    base_arena_free(arena);
    base_unguard(&memory, &guard);
    assert_int_equal(faults, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_operator_gives_what_its_cases_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
