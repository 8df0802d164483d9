/* test_share.c - kernel generic: which texts become one function, and what its numbers are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "targets/c/emit.h"

enum { MOST = 4, ROOM = 16 };

typedef struct share_test {
    base_memory memory;
    base_arena *arena;
    plan_module plan;
    plan_kernel kernels[MOST];
    c_kernel_calls calls[MOST];
    c_module m;
} share_test;

/* Functions of these bodies, so many times each; kernel k calls function k. */
static void begin(share_test *t, size_t n, const char *const *bodies, int times) {
    static const c_argument pointer = {.type = BASE_I8, .name = "Y", .written = true, .exclusive = true};
    memset(t, 0, sizeof *t);
    t->arena = base_arena_new(&t->memory);
    t->m = (c_module){.arena = t->arena, .plan = &t->plan, .calls = t->calls, .prefix = "m"};
    t->m.data_map = base_map_new(t->arena);
    t->plan.kernels.at = t->kernels;
    t->plan.kernels.n = n;
    for (uint32_t k = 0; k < n; k++) {
        base_text text = {.arena = t->arena};
        base_puts(&text, "static void \1(int8_t *\2 p0)\n{\n");
        for (int i = 0; i < times; i++) {
            base_put(&text, "    %s\n", bodies[k]);
        }
        base_puts(&text, "}\n");
        *BASE_PUSH(t->arena, &t->m.functions) =
            (c_function){.text = text.at, .argument_count = 1, .arguments = &pointer};
        *BASE_PUSH(t->arena, &t->calls[k].list) = (c_call){k, 1, &pointer};
    }
    c_share_functions(&t->m);
}

/* The `count` numbers that kernel k gives; a constant's bytes lie anywhere. */
static void numbers(const share_test *t, size_t k, size_t count, int32_t *number) {
    const c_call *call = &t->calls[k].list.at[0];
    assert_int_equal(call->argument_count, 2);
    const c_data *d = &t->m.data.at[call->arguments[1].data];
    assert_int_equal(d->type, BASE_I32);
    assert_int_equal(d->count, count);
    memcpy(number, d->bytes, count * sizeof *number);
}

static void end(share_test *t) {
    base_arena_free(t->arena);
}

static void what_differs_is_a_number_and_equal_columns_are_one(void **state) {
    (void)state;
    static const char *const bodies[] = {"p0[3 * v1 - 4] = (int8_t)(p0[3 * v2 + 9] + (-7) + 128);",
                                         "p0[5 * v7 + 6] = (int8_t)(p0[5 * v9 + 9] + 7 + 128);"};
    share_test t;
    begin(&t, 2, bodies, ROOM);
    assert_int_equal(t.m.functions.n, 1);
    assert_int_equal(t.calls[1].list.at[0].function, 0);
    const char *text = t.m.functions.at[0].text;
    assert_non_null(strstr(text, "static void \1(int8_t *\2 p0, const int32_t *\2 p1)\n{\n"));
    assert_non_null(strstr(text, "    const int32_t n0_ = p1[0];\n"));
    assert_non_null(strstr(text, "p0[n0_ * v1 + n1_] = (int8_t)(p0[n0_ * v2 + 9] + n2_ + 128);"));
    int32_t a[3], b[3];
    numbers(&t, 0, 3, a);
    numbers(&t, 1, 3, b);
    assert_true(a[0] == 3 && a[1] == -4 && a[2] == -7 && b[0] == 5 && b[1] == 6 && b[2] == 7);
    end(&t);
}

static void unsigned_numbers_keep_their_type(void **state) {
    (void)state;
    static const char *const bodies[] = {"if ((uint32_t)x < 4000000000u && x != 8) { p0[x] = 0; }",
                                         "if ((uint32_t)x < 5u && x != 5) { p0[x] = 0; }"};
    share_test t;
    begin(&t, 2, bodies, ROOM);
    const char *text = t.m.functions.at[0].text;
    assert_non_null(strstr(text, "    const uint32_t n0_ = (uint32_t)p1[0];\n    const int32_t n1_ = p1[1];\n"));
    assert_non_null(strstr(text, "(uint32_t)x < n0_ && x != n1_)"));
    int32_t n[2];
    numbers(&t, 0, 2, n);
    assert_true((uint32_t)n[0] == 4000000000U && n[1] == 8);
    end(&t);
}

static void what_must_be_constant_in_c_stays(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"int32_t q[8]; q[0] = 1;", "int32_t q[16]; q[0] = 1;"},                    /* an array's length */
        {"p0[0] = (int8_t)(x + INT64_C(5));", "p0[0] = (int8_t)(x + INT64_C(6));"}, /* part of a constant */
        {"p0[0] = _mm_srai(x, 5);", "p0[0] = _mm_srai(x, 6);"},                     /* an immediate */
        {"p0[0] = (int8_t)(x * 1.5f);", "p0[0] = (int8_t)(x * 2.5f);"},             /* no integer */
        {"p0[0] = (int8_t)(x * 1e5f);", "p0[0] = (int8_t)(x * 1e6f);"},
        {"p0[0] = (int8_t)(x & 0x10);", "p0[0] = (int8_t)(x & 0x11);"},
        {"p0[0] = (int8_t)(y + 4294967296);", "p0[0] = (int8_t)(y + 4294967297);"}, /* no int */
        {"p0[0] = P_put_4(x);", "p0[0] = P_put_5(x);"},                             /* of a name */
        {"p0[0] = x1 + x2;", "p0[0] = x1 + x1;"},                                   /* other locals */
    };
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        share_test t;
        begin(&t, 2, pairs[k], ROOM);
        assert_int_equal(t.m.functions.n, 2);
        assert_int_equal(t.calls[1].list.at[0].function, 1);
        assert_int_equal(t.calls[1].list.at[0].argument_count, 1);
        end(&t);
    }
}

static void other_names_of_locals_are_no_difference(void **state) {
    (void)state;
    static const char *const bodies[] = {"p0[x1 + x2] = 0;", "p0[x4 + x7] = 0;"};
    share_test t;
    begin(&t, 2, bodies, ROOM);
    assert_int_equal(t.m.functions.n, 1);
    assert_int_equal(t.calls[1].list.at[0].function, 0);
    assert_int_equal(t.calls[1].list.at[0].argument_count, 1);
    assert_non_null(strstr(t.m.functions.at[0].text, "static void \1(int8_t *\2 p0)\n{\n    p0[x1 + x2] = 0;\n"));
    end(&t);
}

static void what_does_not_pay_stays(void **state) {
    (void)state;
    static const char *const bodies[] = {"p0[1] = 2, p0[3] = 4, p0[5] = 6, p0[7] = 8, p0[9] = 10, p0[11] = 12;",
                                         "p0[2] = 1, p0[4] = 3, p0[6] = 5, p0[8] = 7, p0[10] = 9, p0[12] = 11;"};
    share_test t;
    begin(&t, 2, bodies, 1);
    assert_int_equal(t.m.functions.n, 2);
    assert_int_equal(t.calls[1].list.at[0].argument_count, 1);
    end(&t);
    begin(&t, 1, bodies, ROOM); /* alone */
    assert_int_equal(t.m.functions.n, 1);
    assert_int_equal(t.calls[0].list.at[0].argument_count, 1);
    end(&t);
    begin(&t, 2, bodies, ROOM);
    assert_int_equal(t.m.functions.n, 1);
    end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_differs_is_a_number_and_equal_columns_are_one),
        cmocka_unit_test(unsigned_numbers_keep_their_type),
        cmocka_unit_test(what_must_be_constant_in_c_stays),
        cmocka_unit_test(other_names_of_locals_are_no_difference),
        cmocka_unit_test(what_does_not_pay_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
