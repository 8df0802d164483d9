/* test_ints.c - the integer words at their edges; every expected value is worked out by hand. */
#include "fixture.h"

#define LO INT64_MIN
#define HI INT64_MAX

typedef int64_t (*word)(int64_t, int64_t);
typedef struct row {
    word f;
    int64_t a, b, expected;
} row;

static void division(void **state) {
    (void)state;
    static const row rows[] = {
        {base_floor_div, 7, 2, 3},        {base_floor_div, -7, 2, -4},      {base_floor_div, 7, -2, -4},
        {base_floor_div, -7, -2, 3},      {base_floor_div, -8, 2, -4},      {base_floor_div, 8, -2, -4},
        {base_floor_div, 5, 0, 0},        {base_floor_div, LO, -1, LO},     {base_floor_div, LO, 1, LO},
        {base_floor_div, LO, 2, LO / 2},  {base_floor_div, HI, -1, -HI},    {base_floor_div, LO, HI, -2},
        {base_floor_div, HI, LO, -1},     {base_floor_div, -1, HI, -1},     {base_floor_div, 0, LO, 0},
        {base_floor_mod, 7, 2, 1},        {base_floor_mod, -7, 2, 1},       {base_floor_mod, 7, -2, -1},
        {base_floor_mod, -7, -2, -1},     {base_floor_mod, -8, 2, 0},       {base_floor_mod, 5, 0, 0},
        {base_floor_mod, LO, -1, 0},      {base_floor_mod, LO, HI, HI - 1}, {base_floor_mod, HI, LO, -1},
        {base_floor_mod, -1, HI, HI - 1}, {base_floor_mod, 1, LO, LO + 1},  {base_trunc_div, 7, 2, 3},
        {base_trunc_div, -7, 2, -3},      {base_trunc_div, 7, -2, -3},      {base_trunc_div, -7, -2, 3},
        {base_trunc_div, LO, -1, LO},     {base_trunc_div, 1, 0, 0},        {base_trunc_div, LO, HI, -1},
        {base_trunc_div, HI, LO, 0},      {base_trunc_rem, 7, 2, 1},        {base_trunc_rem, -7, 2, -1},
        {base_trunc_rem, 7, -2, 1},       {base_trunc_rem, -7, -2, -1},     {base_trunc_rem, LO, -1, 0},
        {base_trunc_rem, 1, 0, 0},        {base_trunc_rem, LO, HI, -1},     {base_trunc_rem, HI, LO, HI},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(rows[i].f(rows[i].a, rows[i].b) == rows[i].expected);
    }
    for (int64_t a = -20; a <= 20; a++) {
        for (int64_t b = -5; b <= 5; b++) {
            if (b) { /* the definition: a = q * b + r, r between 0 and b */
                const int64_t q = base_floor_div(a, b), r = base_floor_mod(a, b);
                assert_true(q * b + r == a);
                assert_true(b > 0 ? r >= 0 && r < b : r <= 0 && r > b);
            }
        }
    }
}

static void powers(void **state) {
    (void)state;
    static const row rows[] = {
        {base_ipow, 0, 0, 1},
        {base_ipow, 0, 5, 0},
        {base_ipow, 3, 4, 81},
        {base_ipow, -3, 3, -27},
        {base_ipow, 2, 62, (int64_t)1 << 62},
        {base_ipow, 2, 63, LO},
        {base_ipow, 2, 64, 0},
        {base_ipow, -2, 63, LO},
        {base_ipow, 10, 18, 1000000000000000000},
        {base_ipow, 1, HI, 1},
        {base_ipow, -1, HI, -1},
        {base_ipow, -1, HI - 1, 1},
        {base_ipow, 1, -1, 1},
        {base_ipow, 1, LO, 1},
        {base_ipow, -1, -1, -1},
        {base_ipow, -1, -2, 1},
        {base_ipow, -1, LO, 1},
        {base_ipow, 0, -1, 0},
        {base_ipow, 2, -1, 0},
        {base_ipow, LO, 2, 0},
        {base_ipow, HI, 2, 1}, /* (2^63 - 1)^2 = 2^126 - 2^64 + 1 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(rows[i].f(rows[i].a, rows[i].b) == rows[i].expected);
    }
}

static void shifts(void **state) {
    (void)state;
    assert_true(base_shl(1, 3, 32) == 8);
    assert_true(base_shl(1, 31, 32) == (int64_t)1 << 31);
    assert_true(base_shl(1, 32, 32) == 0);
    assert_true(base_shl(1, 63, 64) == LO);
    assert_true(base_shl(1, 64, 64) == 0);
    assert_true(base_shl(-1, 1, 64) == -2);
    assert_true(base_shl(LO, 1, 64) == 0);
    assert_true(base_shl(5, -1, 32) == 5);
    assert_true(base_shl(5, LO, 32) == 5);
    assert_true(base_shl(5, HI, 32) == 0);
    assert_true(base_shl(5, 8, 8) == 0);
    assert_true(base_shr_signed(-8, 1, 32) == -4);
    assert_true(base_shr_signed(-7, 1, 32) == -4); /* toward -inf */
    assert_true(base_shr_signed(7, 1, 32) == 3);
    assert_true(base_shr_signed(-1, 31, 32) == -1);
    assert_true(base_shr_signed(-1, 32, 32) == -1);
    assert_true(base_shr_signed(1, 32, 32) == 0);
    assert_true(base_shr_signed(LO, 63, 64) == -1);
    assert_true(base_shr_signed(LO, 62, 64) == -2);
    assert_true(base_shr_signed(HI, 62, 64) == 1);
    assert_true(base_shr_signed(LO, HI, 64) == -1);
    assert_true(base_shr_signed(LO, -1, 64) == LO);
    assert_true(base_shr_signed(-100, 8, 8) == -1);
    assert_true(base_shr_unsigned(UINT64_MAX, 63, 64) == 1);
    assert_true(base_shr_unsigned(UINT64_MAX, 64, 64) == 0);
    assert_true(base_shr_unsigned(UINT64_MAX, HI, 64) == 0);
    assert_true(base_shr_unsigned(200, 3, 8) == 25);
    assert_true(base_shr_unsigned(200, 8, 8) == 0);
    assert_true(base_shr_unsigned(200, LO, 8) == 200);
}

static void leading_zeros(void **state) {
    (void)state;
    static const unsigned widths[] = {2, 4, 8, 16, 32, 64};
    for (size_t w = 0; w < 6; w++) {
        assert_int_equal(base_clz(0, widths[w]), widths[w]);
        for (unsigned bit = 0; bit < widths[w]; bit++) {
            assert_int_equal(base_clz((uint64_t)1 << bit, widths[w]), widths[w] - 1 - bit);
            assert_int_equal(base_clz(UINT64_MAX >> (63 - bit), widths[w]), widths[w] - 1 - bit);
        }
    }
    assert_int_equal(base_clz(UINT64_MAX, 8), 0);
    assert_int_equal(base_clz(0x100, 8), 8); /* bits above the width do not count */
}

static void fixed_point(void **state) {
    (void)state;
    const int32_t lo = INT32_MIN, hi = INT32_MAX;
    assert_int_equal(base_srdhm(lo, lo), hi);
    assert_int_equal(base_srdhm(lo, hi), -hi);    /* -(2^31 - 1): exact */
    assert_int_equal(base_srdhm(hi, hi), hi - 1); /* 2^31 - 2 + 2^-31 */
    assert_int_equal(base_srdhm(lo, 1), -1);
    assert_int_equal(base_srdhm(1 << 30, 1), 1);    /* 0.5: up */
    assert_int_equal(base_srdhm(-(1 << 30), 1), 0); /* -0.5: up */
    assert_int_equal(base_srdhm((1 << 30) - 1, 1), 0);
    assert_int_equal(base_srdhm(-(1 << 30) - 1, 1), -1);
    assert_int_equal(base_srdhm(1 << 30, 3), 2);     /* 1.5: up */
    assert_int_equal(base_srdhm(-(1 << 30), 3), -1); /* -1.5: up */
    assert_int_equal(base_srdhm(1000, 1 << 30), 500);
    assert_int_equal(base_srdhm(0, lo), 0);
    assert_int_equal(base_srdhm16(INT16_MIN, INT16_MIN), INT16_MAX);
    assert_int_equal(base_srdhm16(INT16_MAX, INT16_MAX), INT16_MAX - 1);
    assert_int_equal(base_srdhm16(INT16_MIN, INT16_MAX), -INT16_MAX);
    assert_int_equal(base_srdhm16(1 << 14, 1), 1);
    assert_int_equal(base_srdhm16(-(1 << 14), 1), 0);
    assert_int_equal(base_srdhm16(-(1 << 14), 3), -1);
    assert_int_equal(base_srdhm16(-(1 << 14) - 1, 1), -1);
    assert_int_equal(base_rdivpot(5, 1), 3); /* 2.5: away from zero */
    assert_int_equal(base_rdivpot(-5, 1), -3);
    assert_int_equal(base_rdivpot(4, 1), 2);
    assert_int_equal(base_rdivpot(5, 2), 1);   /* 1.25 */
    assert_int_equal(base_rdivpot(-6, 2), -2); /* -1.5 */
    assert_int_equal(base_rdivpot(7, 0), 7);
    assert_int_equal(base_rdivpot(7, INT32_MIN), 7);
    assert_int_equal(base_rdivpot(lo, 31), -1);
    assert_int_equal(base_rdivpot(hi, 31), 1);
    assert_int_equal(base_rdivpot(1 << 30, 31), 1); /* 0.5 */
    assert_int_equal(base_rdivpot(-(1 << 30), 31), -1);
    assert_int_equal(base_rdivpot((1 << 30) - 1, 31), 0);
    assert_int_equal(base_rdivpot(lo, 32), 0);
    assert_int_equal(base_rdivpot(hi, INT32_MAX), 0);
    assert_int_equal(base_rdivpot(lo, 1), lo / 2);
    assert_int_equal(base_rdivpot(hi, 1), 1 << 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(division),      cmocka_unit_test(powers),      cmocka_unit_test(shifts),
        cmocka_unit_test(leading_zeros), cmocka_unit_test(fixed_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
