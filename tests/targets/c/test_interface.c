/* test_interface.c - the emitted module's interface: layouts, statuses, state, steps, callbacks, threads, golden tests.
 * ctest: timeout=300
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/c/definition.h"

#define STRICT "gcc -std=c99 -O1 -fsanitize=undefined,address -fno-sanitize-recover=all"

static const definition sum = {
    "op t in S[N] X[N] Y[n<N] = S[n] + X[n]", BASE_I8, {{BASE_I8, "6", 0, 1, 1}, {BASE_I8, "6", 0, 2, 2}}};
static const definition gather = {
    "op t in X[N] K[M] Y[m<M] = X[i64(K[m])]", BASE_I16, {{BASE_I16, "7", 0, 0, 0}, {BASE_I32, "9", 0, 0, 6}}};
static const definition scaled = {
    "op t in X[N] W[N] Y[n<N] = X[n] * W[n]", BASE_F32, {{BASE_F32, "6", 0, 0, 0}, {BASE_F32, "6", 1, 0, 0}}};

/* Step 0 adds X to the state, which is output 0 too; step 1 gathers in parallel; step 2 multiplies floats by
 * constants. */
static void build(test_module *m, const void *inputs[3][MAX_ARGUMENTS]) {
    test_module_init(m, true);
    const lang_program *p = test_instantiate(m->arena, &m->diags, &sum, inputs[0]);
    (void)test_module_add(m, p, inputs[0], NULL);
    uint32_t state = m->plan.inputs.at[0], output = m->plan.outputs.at[0];
    m->plan.inputs.at[0] = m->plan.inputs.at[1]; /* the state is no input */
    m->inputs.at[0] = m->inputs.at[1];
    m->plan.inputs.n = m->inputs.n = 1;
    m->plan.tensors.at[state].role = PLAN_STATE;
    m->plan.tensors.at[state].offset = 0;
    m->plan.tensors.at[output].root = state;
    m->plan.state_bytes = 16;
    m->plan.tensors.at[m->plan.inputs.at[0]].name = "odd \"name\"\n\?\?/ %d";
    float *scale = BASE_NEW(m->arena, float);
    int64_t *zero = BASE_NEW(m->arena, int64_t);
    *scale = 0.5F;
    *zero = 3;
    m->plan.tensors.at[m->plan.inputs.at[0]].quant = (ir_quant){.n = 1, .scale = scale, .zero = zero};
    m->plan.tensors.at[output].quant = (ir_quant){.n = 1, .scale = scale, .zero = zero};
    p = lang_simplify(m->arena, test_instantiate(m->arena, &m->diags, &gather, inputs[1]));
    plan_schedule *x = test_plain_schedules(m->arena, p);
    x[0].threads_var = 0;
    (void)test_module_add(m, p, inputs[1], x);
    (void)test_module_add(m, test_instantiate(m->arena, &m->diags, &scaled, inputs[2]), inputs[2], NULL);
}

/* clang-format off */
static const char driver[] =
    "#include <stdio.h>\n#include <string.h>\n#include \"tm.h\"\n#define CHECK(x) do { if (!(x)) { fprintf(stderr, \"line %d: %s\\n\", __LINE__, #x); return 1; } } while (0)\n"
    "static tm_model m;\nstatic uint8_t room[tm_ARENA_BYTES + 32];\nstatic int begins, ends, cancel_at = -1, chunks;\n"
    "static void count(void *user, uint32_t step, uint32_t id, int begin) {\n    (void)id;\n    if (user == (void *)&m) {\n        begins += begin;\n        ends += !begin;\n    }\n"
    "    if ((int)step == cancel_at && begin) {\n        tm_cancel(&m);\n    }\n}\n"
    "static void chunked(void *user, void (*body)(void *, uint32_t, uint32_t), void *task, uint32_t n) {\n    uint32_t k;\n    (void)user;\n    for (k = n; k-- > 0;) {\n        body(task, k, k + 1);\n        chunks++;\n    }\n}\n"
    "int main(void) {\n    uint8_t *arena = room, saved[tm_STATE_BYTES], before[tm_OUTPUT_1_BYTES];\n    const int8_t *y;\n    int8_t q[3];\n    float real[3] = {0.26f, 100.0f, -1e9f}, back[3];\n    int done = 0, k;\n    int32_t *index;\n"
    "    while ((size_t)arena % tm_ARENA_ALIGNMENT != 0) {\n        arena++;\n    }\n"
    "    CHECK(tm_INPUT_COUNT == 4 && tm_OUTPUT_COUNT == 3 && tm_STEP_COUNT == 3 && tm_INPUT_0_BYTES == 6);\n"
    "    CHECK(tm_run(&m) == tm_ERROR_NULL && tm_run(NULL) == tm_ERROR_NULL && tm_input(&m, 0) == NULL);\n"
    "    CHECK(tm_init(NULL, arena, sizeof room) == tm_ERROR_NULL && tm_init(&m, NULL, 9) == tm_ERROR_NULL);\n"
    "    CHECK(tm_init(&m, arena, tm_ARENA_BYTES - 1) == tm_ERROR_ARENA_BYTES && tm_init(&m, arena + 1, tm_ARENA_BYTES) == tm_ERROR_ARENA_ALIGNMENT);\n"
    "    memset(room, 0x5a, sizeof room);\n    CHECK(tm_init(&m, arena, tm_ARENA_BYTES) == tm_OK);\n"
    "    CHECK(tm_input(&m, 4) == NULL && tm_output(&m, 3) == NULL && tm_input_info(4) == NULL && tm_output_info(3) == NULL);\n"
    "    CHECK(strcmp(tm_input_info(0)->name, \"odd \\\"name\\\"\\n\\?\\?/ %d\") == 0 && tm_input_info(0)->type == tm_I8 && tm_input_info(0)->rank == 1);\n"
    "    CHECK(tm_input_info(0)->dims[0] == 6 && tm_input_info(0)->scale == 0.5f && tm_input_info(0)->zero_point == 3 && tm_input_info(0)->bytes == 6);\n"
    "    CHECK(strcmp(tm_status_text(tm_OK), \"ok\") == 0 && tm_status_text(tm_CANCELLED)[0] != 0);\n"
    "    CHECK(tm_set_dim(&m, 0, 3) == tm_ERROR_DIM && tm_state_bytes(&m) == tm_STATE_BYTES);\n"
    "    memset(tm_input(&m, 0), 2, 6);\n    for (k = 0; k < 9; k++) {\n        ((int32_t *)tm_input(&m, 2))[k] = k % 7;\n    }\n"
    "    for (k = 0; k < 7; k++) {\n        ((int16_t *)tm_input(&m, 1))[k] = (int16_t)(10 * k);\n    }\n"
    "    memset(tm_input(&m, 3), 0, tm_INPUT_3_BYTES);\n"
    "    y = (const int8_t *)tm_output(&m, 0);\n    CHECK(tm_run(&m) == tm_OK && y[0] == 2 && y[5] == 2);\n    CHECK(((const int16_t *)tm_output(&m, 1))[8] == 10);\n"
    "    CHECK(tm_state_save(&m, saved, 3) == tm_ERROR_STATE && tm_state_save(&m, saved, sizeof saved) == tm_OK);\n"
    "    CHECK(tm_run(&m) == tm_OK && y[0] == 4);\n    CHECK(tm_state_restore(&m, saved, sizeof saved) == tm_OK && tm_run(&m) == tm_OK && y[0] == 4);\n"
    "    CHECK(tm_reset(&m) == tm_OK && tm_run(&m) == tm_OK && y[0] == 2);\n"
    "    tm_set_callback(&m, count, &m);\n    CHECK(tm_run(&m) == tm_OK && begins == 3 && ends == 3);\n"
    "    cancel_at = 1;\n    CHECK(tm_run(&m) == tm_CANCELLED && begins == 5);\n    cancel_at = -1;\n    CHECK(tm_run(&m) == tm_OK);\n    tm_set_callback(&m, NULL, NULL);\n"
    "    CHECK(tm_step(&m, &done) == tm_OK && done == 0 && tm_step(&m, &done) == tm_OK && done == 0 && tm_step(&m, &done) == tm_OK && done == 1);\n"
    "    memcpy(before, tm_output(&m, 1), sizeof before);\n    tm_set_parallel_for(&m, chunked, NULL);\n    memset((void *)(uintptr_t)tm_output(&m, 1), 0, sizeof before);\n"
    "    CHECK(tm_run(&m) == tm_OK && chunks == 9 && memcmp(before, tm_output(&m, 1), sizeof before) == 0);\n"
    "    index = (int32_t *)tm_input(&m, 2);\n    index[4] = 7;\n    CHECK(tm_run(&m) == tm_ERROR_INDEX);\n    tm_set_parallel_for(&m, NULL, NULL);\n    CHECK(tm_run(&m) == tm_ERROR_INDEX);\n"
    "    index[4] = -1;\n    CHECK(tm_run(&m) == tm_ERROR_INDEX);\n    index[4] = 0;\n    CHECK(tm_run(&m) == tm_OK);\n"
    "    tm_quantize_input_0(real, q, 3);\n    CHECK(q[0] == 4 && q[1] == 127 && q[2] == -128);\n    tm_dequantize_output_0(q, back, 3);\n    CHECK(back[0] == 0.5f && back[1] == 62.0f);\n"
    "    return 0;\n}\n";
/* clang-format on */

static void the_interface_does_what_its_header_says(void **state) {
    (void)state;
    static const char *const layouts[] = {"folder", "single"};
    for (size_t k = 0; k < 2; k++) {
        test_module m;
        const void *inputs[3][MAX_ARGUMENTS];
        build(&m, inputs);
        target_options options = {.layout = layouts[k]};
        test_module_emit(&m, &options);
        assert_int_equal(m.files.list.n, k == 0 ? 6 : 3);
        assert_int_equal(test_module_build(&m, STRICT, driver, ""), 0);
        assert_int_equal(test_module_build(&m, "g++ -x c++ -std=c++11", driver, ""), 0);
        test_module_free(&m);
    }
}

static void equal_plans_give_equal_bytes(void **state) {
    (void)state;
    test_module m;
    const void *inputs[3][MAX_ARGUMENTS];
    build(&m, inputs);
    test_module_emit(&m, NULL);
    target_files first = m.files;
    test_module_emit(&m, NULL);
    assert_int_equal(first.list.n, m.files.list.n);
    for (size_t k = 0; k < first.list.n; k++) {
        assert_string_equal(first.list.at[k].name, m.files.list.at[k].name);
        assert_int_equal(first.list.at[k].size, m.files.list.at[k].size);
        assert_memory_equal(first.list.at[k].bytes, m.files.list.at[k].bytes, first.list.at[k].size);
    }
    test_module_free(&m);
}

static void an_unknown_layout_is_refused(void **state) {
    (void)state;
    extern const target_interface target_c;
    test_module m;
    const void *inputs[3][MAX_ARGUMENTS];
    build(&m, inputs);
    target_options options = {.layout = "origami"};
    target_files files = {0};
    assert_int_equal(target_c.emit(m.arena, &m.plan, NULL, &options, &files, &m.diags), BASE_USAGE);
    assert_non_null(strstr(m.diags.list.at[0].message, "origami"));
    test_module_free(&m);
}

/* One kernel, twice: layers with equal loops share one function. */
static void equal_loops_are_emitted_once(void **state) {
    (void)state;
    test_module m;
    const void *inputs[MAX_ARGUMENTS];
    test_module_init(&m, true);
    for (int k = 0; k < 3; k++) {
        (void)test_module_add(&m, test_instantiate(m.arena, &m.diags, &scaled, inputs), inputs, NULL);
    }
    target_options options = {.layout = "single"};
    test_module_emit(&m, &options);
    const char *source = m.files.list.at[1].bytes;
    assert_non_null(strstr(source, "tm_k0("));
    assert_null(strstr(source, "tm_k1("));
    assert_non_null(strstr(
        source,
        "/* Step 0: t, Y f32 6; loop nest; shared by steps 0, 1, 2.\n * p0 Y, p1 X, p2 W. */\nstatic void tm_k0("));
    assert_int_equal(test_module_run(&m, STRICT), 0);
    test_module_free(&m);
}

/* A read that the conditions above it keep inside is not tested again; one that they do not is. */
static void what_a_condition_proves_is_not_tested(void **state) {
    (void)state;
    static const definition proven = {"op t in X:i32[5] -> Y:i32 Y[v<16] = if(v / 2 < 4, X[v / 2], X[7 - v / 2])",
                                      BASE_I32,
                                      {{BASE_I32, "5", 0, 0, 9}}},
                            open = {"op t in X:i32[5] -> Y:i32 Y[v<16] = if(v / 2 < 4, X[v / 2], X[8 - (v / 2) % 5])",
                                    BASE_I32,
                                    {{BASE_I32, "5", 0, 0, 9}}};
    for (int k = 0; k < 2; k++) {
        test_module m;
        const void *inputs[MAX_ARGUMENTS];
        test_module_init(&m, true);
        (void)test_module_add(&m, test_instantiate(m.arena, &m.diags, k ? &open : &proven, inputs), inputs, NULL);
        target_options options = {.layout = "single"};
        test_module_emit(&m, &options);
        assert_int_equal(strstr(m.files.list.at[1].bytes, "return 1u;") != NULL, k);
        test_module_free(&m);
    }
}

/* Golden cases with the right and with wrong values, weights inline and as a blob. */
static void golden_tests_pass_and_fail(void **state) {
    (void)state;
    for (int blob = 0; blob < 2; blob++) {
        for (int wrong = 0; wrong < 3; wrong++) {
            test_module m;
            const void *inputs[2][MAX_ARGUMENTS];
            test_module_init(&m, true);
            lang_program *floats = test_instantiate(m.arena, &m.diags, &scaled, inputs[0]);
            lang_program *integers = test_instantiate(m.arena, &m.diags, &sum, inputs[1]);
            (void)test_module_add(&m, floats, inputs[0], NULL);
            (void)test_module_add(&m, integers, inputs[1], NULL);
            float product[6];
            double bound[6];
            int8_t total[6];
            for (int k = 0; k < 6; k++) {
                product[k] = ((const float *)inputs[0][0])[k] * ((const float *)inputs[0][1])[k];
                bound[k] = 1e-6;
                total[k] = 3;
            }
            product[5] += wrong == 1 ? 0.01F : 0.0F;
            total[5] = (int8_t)(wrong == 2 ? 4 : 3);
            const void *in[] = {inputs[0][0], inputs[1][0], inputs[1][1]}, *out[] = {product, total};
            const double *bounds[] = {bound, NULL};
            target_case cases[2] = {{in, out, bounds, NULL, NULL}, {in, out, bounds, NULL, NULL}};
            target_options options = {
                .layout = blob ? "single" : "folder", .weights_blob = blob != 0, .test_cases = 2, .cases = cases};
            test_module_emit(&m, &options);
            assert_int_equal(test_module_build(&m, STRICT, NULL, "tm_weights.bin"), wrong != 0);
            base_file printed;
            const char *path = base_printf(m.arena, "%s/out.bin", m.folder);
            assert_int_equal(base_file_read(m.arena, path, &printed, &m.diags), BASE_OK);
            const char *want = wrong != 0 ? "tm: 0 passed, 2 failed\n" : "tm: 2 passed, 0 failed\n";
            assert_int_equal(printed.size, strlen(want));
            assert_memory_equal(printed.at, want, strlen(want));
            test_module_free(&m);
        }
    }
}

/* A blob that is not the module's is refused: the test program then says that it cannot read it. */
static void another_blob_is_refused(void **state) {
    (void)state;
    test_module m;
    const void *inputs[MAX_ARGUMENTS];
    test_module_init(&m, true);
    (void)test_module_add(&m, test_instantiate(m.arena, &m.diags, &scaled, inputs), inputs, NULL);
    float zeros[6] = {0};
    double bound[6] = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9};
    const void *in[] = {inputs[0]}, *out[] = {zeros};
    const double *bounds[] = {bound};
    target_case one = {in, out, bounds, NULL, NULL};
    target_options options = {.layout = "single", .weights_blob = true, .test_cases = 1, .cases = &one};
    test_module_emit(&m, &options);
    assert_int_equal(test_module_build(&m, STRICT, NULL, "tm_weights.bin"), 0);
    for (size_t k = 0; k < m.files.list.n; k++) {
        if (strcmp(m.files.list.at[k].name, "tm_weights.bin") == 0) {
            char *other = base_alloc(m.arena, m.files.list.at[k].size, 1);
            memcpy(other, m.files.list.at[k].bytes, m.files.list.at[k].size);
            other[1] ^= 1;
            m.files.list.at[k].bytes = other;
        }
    }
    assert_int_equal(test_module_build(&m, STRICT, NULL, "tm_weights.bin"), 1);
    test_module_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interface_does_what_its_header_says),
        cmocka_unit_test(equal_plans_give_equal_bytes),
        cmocka_unit_test(an_unknown_layout_is_refused),
        cmocka_unit_test(equal_loops_are_emitted_once),
        cmocka_unit_test(what_a_condition_proves_is_not_tested),
        cmocka_unit_test(golden_tests_pass_and_fail),
        cmocka_unit_test(another_blob_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
