/* emit_test.c - P_test.c: golden cases as constant data, and a main that runs them on a host or a board.
 *
 * Takes inputs, outputs and bounds that the evaluator gave. Gives a program that prints "P: N passed, M failed" and
 * exits 0 or 1. Where there is state each case goes on with what the one before left. Integers must have equal bits; floats lie within their bound (equal infinities, NaN for NaN).
 */
#include <inttypes.h>
#include <string.h>

#include "targets/c/emit.h"

static void put_array(c_module *m, base_text *t, const char *name, base_type type, const void *bytes, uint64_t count) {
    c_put(m, t, "static const %s %s[] = {\n", c_storage_type(type), name);
    c_data_put_values(t, type, bytes, count);
    base_puts(t, "};\n");
}

static bool is_compared_as_floats(const plan_tensor *x) {
    return base_type_is_float(x->type) && c_elements(&x->shape) > 0;
}

static void put_case_data(c_module *m, base_text *t, unsigned k) {
    const target_case *c = &m->options->cases[k];
    for (size_t i = 0; i < m->plan->inputs.n; i++) {
        put_array(m, t, base_printf(m->arena, "case_%u_input_%zu", k, i), c_io(m, true, i)->type, c->inputs[i],
                  c_elements(&c_io(m, true, i)->shape));
    }
    for (size_t i = 0; i < m->plan->outputs.n; i++) {
        const plan_tensor *x = c_io(m, false, i);
        put_array(m, t, base_printf(m->arena, "case_%u_output_%zu", k, i), x->type, c->outputs[i],
                  c_elements(&x->shape));
        if (is_compared_as_floats(x)) {
            put_array(m, t, base_printf(m->arena, "case_%u_bound_%zu", k, i), BASE_F64, c->bounds[i],
                      c_elements(&x->shape));
        }
    }
}

static bool has_floats(const c_module *m) {
    for (size_t i = 0; i < m->plan->outputs.n; i++) {
        if (is_compared_as_floats(c_io(m, false, i))) {
            return true;
        }
    }
    return false;
}

static const char near_text[] =
    "static int near(double got, double want, double bound) {\n"
    "    return got == want || (got != got && want != want) || fabs(got - want) <= bound;\n}\n\n";

/* The value of element k of p, as a double expression. */
static const char *value_text(c_module *m, c_helpers *h, base_type type, const char *p) {
    static const struct {
        base_type type;
        int e, f, bias, special;
    } shapes[] = {{BASE_F16, 5, 10, 15, 0},      {BASE_BF16, 8, 7, 127, 0},  {BASE_F8E4M3FN, 4, 3, 7, 1},
                  {BASE_F8E4M3FNUZ, 4, 3, 8, 2}, {BASE_F8E5M2, 5, 2, 15, 0}, {BASE_F8E5M2FNUZ, 5, 2, 16, 2},
                  {BASE_F8E8M0, 8, 0, 127, 4},   {BASE_F4E2M1, 2, 1, 1, 3}};
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        if (shapes[k].type != type) {
            continue;
        }
        const char *bits = type == BASE_F4E2M1
                               ? base_printf(m->arena, "%s(%s, (uint32_t)k, 4u)", c_helper(h, "get_unsigned"), p)
                               : base_printf(m->arena, "%s[k]", p);
        return base_printf(m->arena, "(double)%s(%s, %d, %d, %d, %d)", c_helper(h, "float_from"), bits, shapes[k].e,
                           shapes[k].f, shapes[k].bias, shapes[k].special);
    }
    return base_printf(m->arena, type == BASE_F64 ? "%s[k]" : "(double)%s[k]", p);
}

static void put_compare(c_module *m, base_text *t, c_helpers *h, unsigned k, size_t i) {
    const plan_tensor *x = c_io(m, false, i);
    const char *want = base_printf(m->arena, "case_%u_output_%zu", k, i);
    if (!is_compared_as_floats(x)) {
        c_put(m, t, "    if (memcmp($_output(&model, %zu), %s, %" PRIu64 ") != 0) {\n        ok = 0;\n    }\n", i, want,
              x->bytes);
        return;
    }
    const char *c = c_storage_type(x->type);
    c_put(m, t, "    {\n        const %s *got = (const %s *)$_output(&model, %zu);\n        size_t k;\n", c, c, i);
    c_put(m, t, "        for (k = 0; k < %" PRIu64 "u; k++) {\n", c_elements(&x->shape));
    c_put(
        m, t,
        "            if (!near(%s, %s, case_%u_bound_%zu[k])) {\n                ok = 0;\n            }\n        }\n   "
        " }\n",
        value_text(m, h, x->type, "got"), value_text(m, h, x->type, want), k, i);
}

static void put_case(c_module *m, base_text *t, c_helpers *h, unsigned k) {
    c_put(m, t, "static int run_%u(void) {\n    int ok = 1;\n", k);
    if (k == 0 || m->plan->state_bytes == 0) {
        c_put(m, t, "    if ($_reset(&model) != $_OK) {\n        return 0;\n    }\n");
    }
    for (size_t i = 0; i < m->plan->counts.n; i++) {
        const plan_count *count = &m->plan->counts.at[i];
        size_t input = 0;
        while (count->set && m->plan->inputs.at[input] != count->of) {
            input++;
        }
        if (count->set) {
            c_put(m, t, "    if ($_set_dim(&model, %zu, %" PRId64 ") != $_OK) {\n        return 0;\n    }\n", i,
                  m->options->cases[k].input_shapes[input].dim[count->axis]);
        }
    }
    for (size_t i = 0; i < m->plan->inputs.n; i++) {
        c_put(m, t, "    memcpy($_input(&model, %zu), case_%u_input_%zu, %" PRIu64 ");\n", i, k, i,
              c_io(m, true, i)->bytes);
    }
    c_put(m, t, "    if ($_run(&model) != $_OK) {\n        return 0;\n    }\n");
    for (size_t i = 0; i < m->plan->counts.n; i++) {
        const plan_count *count = &m->plan->counts.at[i];
        size_t output = 0;
        if (count->set) {
            continue;
        }
        while (m->plan->outputs.at[output] != count->of) {
            output++;
        }
        c_put(m, t, "    if ($_dim(&model, %zu) != %" PRId64 ") {\n        ok = 0;\n    }\n", i,
              m->options->cases[k].shapes[output].dim[count->axis]);
    }
    for (size_t i = 0; i < m->plan->outputs.n; i++) {
        put_compare(m, t, h, k, i);
    }
    base_puts(t, "    return ok;\n}\n\n");
}

void c_put_test(base_text *t, c_module *m) {
    unsigned n = m->options->test_cases;
    c_helpers *h = c_helpers_new(m->arena, "test");
    base_text cases = {.arena = m->arena};
    for (unsigned k = 0; k < n; k++) {
        put_case(m, &cases, h, k);
    }
    c_put(
        m, t,
        "/* Generated by Burin: golden cases. The expected values are the evaluator's. */\n#include <math.h>\n#include "
        "<stdio.h>\n#include <string.h>\n\n"
        "#include \"$.h\"\n\n");
    for (unsigned k = 0; k < n; k++) {
        put_case_data(m, t, k);
    }
    const bool several = c_has_memories(m);
    c_put(m, t, "\nstatic $_model model;\n%s",
          several ? "$_MEMORIES;\n" : "static uint8_t room[$_ARENA_BYTES + $_ARENA_ALIGNMENT];\n");
    if (m->options->weights_blob) {
        c_put(m, t, "static uint8_t weights[$_WEIGHTS_BYTES + 16];\n");
    }
    base_puts(t, "\n");
    c_helpers_put(t, h);
    if (has_floats(m)) {
        base_puts(t, near_text);
    }
    base_putn(t, cases.at, cases.n);
    c_put(m, t, "typedef int (*test_fn)(void);\nstatic const test_fn tests[] = {");
    for (unsigned k = 0; k < n; k++) {
        base_put(t, "%srun_%u", k > 0 ? ", " : "", k);
    }
    c_put(m, t, "};\n\nint main(%s) {\n%s    int passed = 0, failed = 0;\n    size_t k;\n",
          m->options->weights_blob ? "int argc, char **argv" : "void", several ? "" : "    uint8_t *arena = room;\n");
    if (!several) {
        c_put(m, t, "    while ((uintptr_t)arena %% $_ARENA_ALIGNMENT != 0) {\n        arena++;\n    }\n");
    }
    if (m->options->weights_blob) {
        c_put(
            m, t,
            "    {\n        uint8_t *blob = weights;\n        FILE *f = fopen(argc > 1 ? argv[1] : \"$_weights.bin\", "
            "\"rb\");\n"
            "        while ((uintptr_t)blob %% 16 != 0) {\n            blob++;\n        }\n"
            "        if (f == NULL || fread(blob, 1, $_WEIGHTS_BYTES, f) != $_WEIGHTS_BYTES || fclose(f) != 0 ||\n"
            "            %s blob, $_WEIGHTS_BYTES) != $_OK) {\n"
            "            printf(\"$: the weights cannot be read\\n\");\n            return 1;\n        }\n    }\n",
            several ? "$_INIT_MEMORIES(&model," : "$_init_weights(&model, arena, $_ARENA_BYTES,");
    } else {
        c_put(m, t, "    if (%s != $_OK) {\n        printf(\"$: not initialised\\n\");\n        return 1;\n    }\n",
              several ? "$_INIT_MEMORIES(&model)" : "$_init(&model, arena, $_ARENA_BYTES)");
    }
    c_put(m, t,
          "    for (k = 0; k < sizeof tests / sizeof tests[0]; k++) {\n        if (tests[k]() != 0) {\n            "
          "passed++;\n        } else {\n"
          "            failed++;\n        }\n    }\n    printf(\"$: %%d passed, %%d failed\\n\", passed, failed);\n    "
          "return failed != 0;\n}\n");
}
