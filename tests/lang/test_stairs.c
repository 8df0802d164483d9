/* test_stairs.c - requantisation becomes one product: at every number the same value as its definition, written out here. */
#include <math.h>
#include <string.h>

#include "fitted.h"

enum { CHANNELS = 5, POINTS = 65536 };

typedef int32_t (*expected_fn)(int32_t x, uint32_t channel);

static int32_t multiplier[CHANNELS], shift[CHANNELS], zero, low, high;
static float scale[CHANNELS];
static bool wide = true; /* products of 64 bits; else two of 32 */

static int32_t clamped(int64_t v) {
    return clamped_to(v, low, high);
}

static int32_t fixed_point(int32_t x, uint32_t c) {
    return clamped((int64_t)doubly_rounded(x, multiplier[c], shift[c]) + zero);
}

static int32_t real(int32_t x, uint32_t c) {
    return clamped((int64_t)rintf((float)x * scale[c]) + zero);
}

/* A number that is every integer from -32768 to 32767: X * 256 + U, by bytes that are read. */
static lang_variable vars[2];
static lang_ref channel, point;
static lang_ref number(void) {
    const int64_t dim[1] = {POINTS};
    vars[0] = variable(p, "j", POINTS);
    vars[1] = variable(p, "n", CHANNELS);
    point = lang_var(p, 0, vars[0].extent);
    channel = lang_var(p, 1, vars[1].extent);
    lang_ref x = lang_read(p, add_input(p, "X", BASE_I8, 1, dim), &point, 1, 0);
    lang_ref u = lang_read(p, add_input(p, "U", BASE_U8, 1, dim), &point, 1, 0);
    return op(LANG_ADD, op(LANG_MUL, i32(x), lang_int(p, BASE_I32, 256)), i32(u));
}

static lang_ref constant(base_type type, const void *data) {
    const int64_t dim[1] = {CHANNELS};
    return lang_read(p, add_constant(p, "C", type, 1, dim, data), &channel, 1, 0);
}

static lang_ref clamp(lang_ref v) {
    return clamped_node(v, zero, low, high);
}

static uint32_t count_words(const lang_program *q, lang_ref r, lang_word w) {
    const lang_node *n = lang_at(q, r);
    uint32_t count = n->kind == LANG_WORD_ && n->code == w;
    for (uint32_t k = 0; k < n->count; k++) {
        count += lang_operand(q, r, k) != 0 ? count_words(q, lang_operand(q, r, k), w) : 0;
    }
    return count;
}

static lang_program *stairs(uint64_t *work, uint32_t *found) {
    return lang_stairs(arena, p, wide, work, found);
}

static lang_program *fitted(lang_ref body) {
    return fitted_by(stairs, vars, body);
}

/* Every number, every channel. */
static void gives(const lang_program *q, expected_fn f) {
    static int8_t x[POINTS];
    static uint8_t u[POINTS];
    static int8_t y[POINTS][CHANNELS];
    for (int32_t k = 0; k < POINTS; k++) {
        x[k] = (int8_t)(k / 256 - 128);
        u[k] = (uint8_t)(k % 256);
    }
    run_on(q, x, u, y);
    for (int32_t k = 0; k < POINTS; k++) {
        for (uint32_t c = 0; c < CHANNELS; c++) {
            if (y[k][c] != f(k - 32768, c)) {
                print_error("%d of channel %u: %d, not %d\n", k - 32768, c, y[k][c], f(k - 32768, c));
                fail();
            }
        }
    }
}

static lang_ref requantised(lang_ref x) {
    return clamp(doubly_rounded_node(x, constant(BASE_I32, multiplier), constant(BASE_I32, shift)));
}

static void draw(uint64_t *seed, int32_t from, int32_t to) {
    for (uint32_t c = 0; c < CHANNELS; c++) {
        multiplier[c] = (int32_t)((UINT64_C(1) << 30) + random_below(seed, UINT64_C(1) << 30));
        shift[c] = from + (int32_t)random_below(seed, (uint64_t)(to - from + 1));
        scale[c] = ldexpf(0.5f + (float)random_below(seed, 1 << 20) / (1 << 21), -shift[c]);
    }
}

/* Where only values of what is not negative show, rounding twice is a line; each channel has a scale of its own. */
static void behind_relu(void **state) {
    (void)state;
    uint64_t seed = 1, found = 0;
    for (uint32_t round = 0; round < 80; round++) {
        wide = round < 40;
        base_arena_free(arena);
        (void)set_up(state);
        draw(&seed, 6, 9);
        zero = low = -128;
        high = round % 2 == 0 ? 127 : 90;
        lang_program *q = fitted(requantised(number()));
        if (q != NULL) {
            found++;
            lang_ref body = q->stages.at[0].body;
            assert_int_equal(count_words(q, body, LANG_SRDHM) + count_words(q, body, LANG_RDIVPOT), 0);
            /* one is the number's, and the number stands in the body twice where the product is two */
            assert_int_equal(count_words(q, body, LANG_MUL), wide ? 2 : 4);
            gives(q, fixed_point);
        }
    }
    assert_in_range(found, 76, 80); /* numbers are searched, and one round in many may have none */
}

/* Negative numbers, too: halves away from zero bend the line there, for all channels by the same. */
static void both_signs(void **state) {
    (void)state;
    uint64_t seed = 2, found = 0;
    for (uint32_t round = 0; round < 80; round++) {
        wide = round < 40;
        base_arena_free(arena);
        (void)set_up(state);
        draw(&seed, 8, 8);
        zero = (int32_t)random_below(&seed, 200) - 100;
        low = -128;
        high = 127;
        lang_program *q = fitted(requantised(number()));
        if (q != NULL) {
            found++;
            gives(q, fixed_point);
        }
    }
    assert_in_range(found, 76, 80);
}

static void reals(void **state) {
    (void)state;
    uint64_t seed = 3, found = 0;
    for (uint32_t round = 0; round < 80; round++) {
        wide = round < 40;
        base_arena_free(arena);
        (void)set_up(state);
        draw(&seed, 6, 9);
        zero = (int32_t)random_below(&seed, 200) - 100;
        low = -128;
        high = 127;
        lang_ref x = number();
        lang_ref scaled = op(LANG_MUL, to(BASE_F32, x), constant(BASE_F32, scale));
        lang_program *q = fitted(clamp(i32(lang_apply1(p, LANG_RNE, BASE_F32, scaled))));
        if (q != NULL) {
            found++;
            gives(q, real);
        }
    }
    assert_in_range(found, 76, 80);
}

/* A channel whose scale is 0 is constant; equal scales are one constant and no table. */
static void equal_and_dead_channels(void **state) {
    (void)state;
    zero = low = -128;
    high = 127;
    for (uint32_t c = 0; c < CHANNELS; c++) {
        multiplier[c] = 1518500250;
        shift[c] = 8;
    }
    lang_program *q = fitted(requantised(number()));
    assert_non_null(q);
    lang_ref body = q->stages.at[0].body;
    const lang_node *n = lang_at(q, body);
    assert_int_equal(n->free & 2, 0); /* the channel's number is not needed */
    gives(q, fixed_point);
    base_arena_free(arena);
    (void)set_up(state);
    multiplier[2] = 0;
    q = fitted(requantised(number()));
    assert_non_null(q);
    gives(q, fixed_point);
}

/* What descends, wraps, or has too many steps stays. */
static void refused(void **state) {
    (void)state;
    uint64_t seed = 4;
    draw(&seed, 6, 6);
    zero = 0;
    low = -128;
    high = 127;
    multiplier[1] = -multiplier[1];
    assert_null(fitted(requantised(number())));
    base_arena_free(arena);
    (void)set_up(state);
    draw(&seed, 6, 6);
    assert_null(fitted(requantised(op(LANG_SHL, number(), whole(17)))));
    base_arena_free(arena);
    (void)set_up(state);
    low = -1000;
    high = 1000;
    lang_ref x = number();
    lang_ref many = doubly_rounded_node(x, constant(BASE_I32, multiplier), whole(3));
    many = op(LANG_MIN, op(LANG_MAX, many, whole(low)), whole(high));
    assert_null(fitted(to(BASE_I16, many)));
}

/* With no work left all stays as it is. */
static void bounded(void **state) {
    (void)state;
    uint64_t seed = 5, work = 100;
    uint32_t found = 0;
    zero = low = -128;
    high = 127;
    draw(&seed, 6, 6);
    *BASE_PUSH(arena, &p->outputs) = add_stage(p, "Y", 2, vars, 2, requantised(number()));
    assert_null(lang_stairs(arena, p, true, &work, &found));
    assert_int_equal(found, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(behind_relu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_signs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_and_dead_channels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bounded, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
