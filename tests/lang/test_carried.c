/* test_carried.c - a program with f32 for floats of 8 bits and fewer has the same values; with f32 for f64 those that f32 has. */
#include <math.h>
#include <string.h>

#include "built.h"

enum { BLOCK = 16 };
static const int64_t block[1] = {BLOCK};
static const base_type small[] = {BASE_F8E4M3FN, BASE_F8E4M3FNUZ, BASE_F8E5M2, BASE_F8E5M2FNUZ, BASE_F4E2M1};

static lang_variable i;
static lang_ref v;

/* Y = f32(S), S = X as the type. */
static lang_program *through(base_type type, lang_word conversion, bool *exact) {
    p = lang_program_new(arena, "test");
    i = variable(p, "i", BLOCK);
    v = lang_var(p, 0, i.extent);
    const uint32_t x = add_input(p, "X", BASE_F32, 1, block);
    const uint32_t s = add_stage(p, "S", 1, &i, 1, lang_apply1(p, conversion, type, lang_read(p, x, &v, 1, 0)));
    const uint32_t y = add_stage(p, "Y", 1, &i, 1, to(BASE_F32, lang_read(p, s, &v, 1, 0)));
    *BASE_PUSH(arena, &p->outputs) = y;
    return lang_carried(arena, p, LANG_CARRIES_SMALL, exact);
}

static void compare(const lang_program *q, const float *x) {
    base_arena *own = base_arena_new(&memory);
    const void *inputs[1] = {x};
    const float *want = interpret(own, p, inputs)->data[p->outputs.at[0]],
                *got = interpret(own, q, inputs)->data[q->outputs.at[0]];
    for (int k = 0; k < BLOCK; k++) {
        if (!(got[k] == want[k] || (isnan(got[k]) && isnan(want[k])))) {
            fail_msg("%a becomes %a, expected %a", (double)x[k], (double)got[k], (double)want[k]);
        }
    }
    base_arena_free(own);
}

/* Every power of two near the type's range, with each upper fraction of five bits, a little less and a little more; both signs. */
static void small_floats_keep_their_values(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof small / sizeof *small; t++) {
        for (int saturates = 0; saturates < 2; saturates++) {
            bool exact = false;
            const lang_program *q = through(small[t], saturates != 0 ? LANG_SAT : LANG_CAST, &exact);
            assert_non_null(q);
            assert_int_equal(lang_verify(q, &diags), BASE_OK);
            for (uint32_t n = 0; n < q->tensors.n; n++) {
                assert_int_equal(q->tensors.at[n].type, BASE_F32);
            }
            float x[BLOCK] = {0, -0.0f, INFINITY, -INFINITY, NAN, 3e38f, -3e38f, 1e-40f};
            compare(q, x);
            for (int e = -24; e < 20; e++) {
                for (int f = 0; f < 32; f += 4) {
                    for (int k = 0; k < BLOCK; k++) {
                        const double near[] = {0, 0x1p-20, -0x1p-20, 0x1p-6}, a = 1 + (f + k / 4) / 32.0 + near[k % 4];
                        x[k] = (float)ldexp((f / 4 + k) % 3 == 0 ? -a : a, e);
                    }
                    compare(q, x);
                }
            }
        }
    }
}

/* Words on f64, of values that f32 has: which of them can give others? */
static lang_program *in_f32(lang_word w, bool widens, bool *exact) {
    p = lang_program_new(arena, "test");
    i = variable(p, "i", BLOCK);
    v = lang_var(p, 0, i.extent);
    const uint32_t x = add_input(p, "X", widens ? BASE_I64 : BASE_F64, 1, block);
    const lang_ref a = to(BASE_F64, lang_read(p, x, &v, 1, 0));
    const uint32_t y = add_stage(p, "Y", 1, &i, 1, op(w, a, lang_float(p, BASE_F64, 0.75)));
    *BASE_PUSH(arena, &p->outputs) = y;
    return lang_carried(arena, p, LANG_CARRIES_F64, exact);
}

static void only_words_that_round_are_inexact(void **state) {
    (void)state;
    static const struct {
        lang_word word;
        bool widens, exact;
    } cases[] = {{LANG_MAX, false, true},  {LANG_LT, false, true},  {LANG_ADD, false, false},
                 {LANG_MUL, false, false}, {LANG_MAX, true, false}, {LANG_LT, true, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bool exact = !cases[k].exact;
        const lang_program *q = in_f32(cases[k].word, cases[k].widens, &exact);
        assert_non_null(q);
        assert_int_equal(lang_verify(q, &diags), BASE_OK);
        assert_int_equal(exact, cases[k].exact);
        assert_int_equal(q->tensors.at[q->outputs.at[0]].type, cases[k].word == LANG_LT ? BASE_BOOL : BASE_F32);
    }
}

static void constants_are_looked_at(void **state) {
    (void)state;
    const double held[2] = {0.5, 0.1};
    bool exact = true;
    const float *first = lang_carried_data(arena, BASE_F64, held, 1, &exact);
    assert_true(exact && first[0] == 0.5f);
    const float *both = lang_carried_data(arena, BASE_F64, held, 2, &exact);
    assert_true(!exact && both[1] == 0.1f);
}

/* There is no f32 that has the bits of a double; sums of small floats round at every step. */
static void what_needs_the_type_itself_is_none(void **state) {
    (void)state;
    bool exact;
    i = variable(p, "i", BLOCK);
    v = lang_var(p, 0, i.extent);
    const uint32_t x = add_input(p, "X", BASE_F64, 1, block);
    const lang_ref bits = lang_apply1(p, LANG_BITS, BASE_I64, lang_read(p, x, &v, 1, 0));
    *BASE_PUSH(arena, &p->outputs) = add_stage(p, "Y", 1, &i, 1, bits);
    assert_null(lang_carried(arena, p, LANG_CARRIES_F64, &exact));
    p = lang_program_new(arena, "test");
    i = variable(p, "i", BLOCK);
    v = lang_var(p, 0, i.extent);
    const uint32_t s = add_input(p, "S", BASE_F8E5M2, 1, block);
    const lang_ref sum = lang_reduce(p, LANG_SUM, BASE_F8E5M2, &v, 1, 0, lang_read(p, s, &v, 1, 0), 0);
    *BASE_PUSH(arena, &p->outputs) = add_stage(p, "Y", 0, &i, 1, sum);
    assert_null(lang_carried(arena, p, LANG_CARRIES_SMALL, &exact));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(small_floats_keep_their_values),
        TEST(only_words_that_round_are_inexact),
        TEST(constants_are_looked_at),
        TEST(what_needs_the_type_itself_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
