/* test_planes.c - sums of two quantised numbers become a plane: at every pair the same value as the definition, written out here. */
#include <math.h>

#include "fitted.h"

enum { VALUES = 256 };

typedef int32_t (*expected_fn)(int32_t a, int32_t b);

static struct {
    int32_t zero_a, zero_b, zero, m_a, e_a, m_b, e_b, m, e;
    float a, b;
    bool minus;
} with;

static int32_t clamped(int64_t v) {
    return clamped_to(v, -128, 127);
}

static int32_t fixed_point(int32_t a, int32_t b) {
    int32_t x = doubly_rounded((a - with.zero_a) * (1 << 20), with.m_a, with.e_a);
    int32_t y = doubly_rounded((b - with.zero_b) * (1 << 20), with.m_b, with.e_b);
    return clamped((int64_t)doubly_rounded(with.minus ? x - y : x + y, with.m, with.e) + with.zero);
}

static int32_t real(int32_t a, int32_t b) {
    volatile float x = (float)(a - with.zero_a) * with.a, y = (float)(b - with.zero_b) * with.b;
    return clamped((int64_t)rintf(with.minus ? x - y : x + y) + with.zero);
}

static lang_variable vars[2];

static lang_ref byte(uint32_t k) {
    const int64_t dim[1] = {VALUES};
    vars[k] = variable(p, k == 0 ? "i" : "j", VALUES);
    lang_ref v = lang_var(p, k, vars[k].extent);
    return lang_read(p, add_input(p, k == 0 ? "A" : "B", BASE_I8, 1, dim), &v, 1, 0);
}

static lang_ref requantised(lang_ref x, int32_t m, int32_t e) {
    return doubly_rounded_node(x, whole(m), whole(e));
}

static lang_ref clamp(lang_ref v) {
    return clamped_node(v, with.zero, -128, 127);
}

static lang_ref fixed_point_body(void) {
    lang_ref a = op(LANG_SHL, op(LANG_SUB, i32(byte(0)), whole(with.zero_a)), whole(20));
    lang_ref b = op(LANG_SHL, op(LANG_SUB, i32(byte(1)), whole(with.zero_b)), whole(20));
    a = requantised(a, with.m_a, with.e_a);
    b = requantised(b, with.m_b, with.e_b);
    return clamp(requantised(op(with.minus ? LANG_SUB : LANG_ADD, a, b), with.m, with.e));
}

static lang_ref real_body(void) {
    lang_ref a = to(BASE_F32, op(LANG_SUB, i32(byte(0)), whole(with.zero_a)));
    lang_ref b = to(BASE_F32, op(LANG_SUB, i32(byte(1)), whole(with.zero_b)));
    a = op(LANG_MUL, a, lang_float(p, BASE_F32, (double)with.a));
    b = op(LANG_MUL, b, lang_float(p, BASE_F32, (double)with.b));
    lang_ref sum = lang_apply1(p, LANG_RNE, BASE_F32, op(with.minus ? LANG_SUB : LANG_ADD, a, b));
    return clamp(lang_apply1(p, LANG_SAT, BASE_I32, sum));
}

static lang_program *planes(uint64_t *work, uint32_t *found) {
    return lang_planes(arena, p, work, found);
}

static lang_program *fitted(lang_ref body) {
    return fitted_by(planes, vars, body);
}

static void gives(const lang_program *q, expected_fn f) {
    static int8_t x[VALUES], y[VALUES][VALUES];
    for (int32_t k = 0; k < VALUES; k++) {
        x[k] = (int8_t)(k - 128);
    }
    run_on(q, x, x, y);
    for (int32_t a = 0; a < VALUES; a++) {
        for (int32_t b = 0; b < VALUES; b++) {
            assert_int_equal(y[a][b], f(a - 128, b - 128));
        }
    }
}

static int32_t drawn(uint64_t *seed, int32_t from, int32_t to_) {
    return from + (int32_t)random_below(seed, (uint64_t)(to_ - from + 1));
}

static void draw(uint64_t *seed, bool minus) {
    with.zero_a = drawn(seed, -128, 127);
    with.zero_b = drawn(seed, -128, 127);
    with.zero = drawn(seed, -128, 127);
    with.m_a = 1 << 30; /* the larger scale: one half */
    with.e_a = 0;
    with.m_b = drawn(seed, 1 << 30, INT32_MAX);
    with.e_b = drawn(seed, 1, 3);
    with.m = drawn(seed, 1 << 30, INT32_MAX);
    with.e = drawn(seed, 18, 20);
    with.a = ldexpf((float)drawn(seed, 1 << 22, 1 << 23), -23);
    with.b = ldexpf((float)drawn(seed, 1 << 22, 1 << 23), -24);
    with.minus = minus;
}

static uint32_t words(const lang_program *q, lang_ref r) {
    uint32_t count = lang_at(q, r)->kind == LANG_WORD_;
    for (uint32_t k = 0; k < lang_at(q, r)->count; k++) {
        count += lang_operand(q, r, k) != 0 ? words(q, lang_operand(q, r, k)) : 0;
    }
    return count;
}

static void many(void **state, lang_ref (*body)(void), expected_fn f) {
    uint64_t seed = 1, found = 0;
    for (uint32_t round = 0; round < 60; round++) {
        base_arena_free(arena);
        (void)set_up(state);
        draw(&seed, round % 3 == 2);
        lang_program *q = fitted(body());
        if (q != NULL) {
            found++;
            assert_in_range(words(q, q->stages.at[0].body), 1, 10);
            gives(q, f);
        }
    }
    assert_in_range(found, 55, 60); /* numbers are searched: of some scales there are none in 32 bits */
}

static void sums_in_fixed_point(void **state) {
    many(state, fixed_point_body, fixed_point);
}

static void sums_of_reals(void **state) {
    many(state, real_body, real);
}

/* A product of two bytes is no plane, and a plane that leaves 32 bits is none. */
static void refused(void **state) {
    (void)state;
    uint64_t seed = 3;
    draw(&seed, false);
    lang_ref a = op(LANG_SUB, i32(byte(0)), whole(3)), b = op(LANG_SUB, i32(byte(1)), whole(5));
    assert_null(fitted(clamp(requantised(op(LANG_MUL, a, b), with.m, 7))));
    base_arena_free(arena);
    (void)set_up(state);
    a = op(LANG_MUL, i32(byte(0)), i32(byte(0)));
    assert_null(fitted(clamp(requantised(op(LANG_ADD, a, i32(byte(1))), with.m, 5))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_in_fixed_point, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_of_reals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
