/* fitted.h - requantisation as definitions have it, and programs in which something shorter came in its place: what the tests of stairs
 * and of planes set up.
 *
 * Takes numbers, or nodes of program p. Gives what gemmlowp's words make of numbers, the nodes of these words, and the program that a
 * transform of the lang room makes of one stage.
 */
#ifndef BURIN_TESTS_LANG_FITTED_H
#define BURIN_TESTS_LANG_FITTED_H

#include "built.h"

/* gemmlowp's SaturatingRoundingDoublingHighMul and RoundingDivideByPOT */
static inline int32_t doubly_rounded(int32_t x, int32_t m, int32_t e) {
    int64_t product = (int64_t)x * m;
    int32_t t = (int32_t)((product + (product >= 0 ? 1 << 30 : 1 - (1 << 30))) / ((int64_t)1 << 31));
    int32_t mask = (int32_t)((1u << e) - 1), rest = t & mask, half = (mask >> 1) + (t < 0);
    return (t >> e) + (rest > half);
}

static inline int32_t clamped_to(int64_t v, int32_t low, int32_t high) {
    return v < low ? low : v > high ? high : (int32_t)v;
}

static inline lang_ref whole(int64_t v) {
    return lang_int(p, BASE_I32, v);
}

static inline lang_ref doubly_rounded_node(lang_ref x, lang_ref m, lang_ref e) {
    return op(LANG_RDIVPOT, op(LANG_SRDHM, x, m), e);
}

/* The byte that v + zero is between low and high. */
static inline lang_ref clamped_node(lang_ref v, int32_t zero, int32_t low, int32_t high) {
    v = op(LANG_ADD, v, whole(zero));
    return to(BASE_I8, op(LANG_MIN, op(LANG_MAX, v, whole(low)), whole(high)));
}

/* Of p, with that work left. */
typedef lang_program *(*transform_fn)(uint64_t *work, uint32_t *found);

/* What the transform makes of Y[vars[0], vars[1]] = body; NULL: it finds nothing, and says so. */
static inline lang_program *fitted_by(transform_fn transform, const lang_variable *vars, lang_ref body) {
    uint32_t found = 0;
    uint64_t work = UINT64_C(1) << 28;
    *BASE_PUSH(arena, &p->outputs) = add_stage(p, "Y", 2, vars, 2, body);
    assert_int_equal(lang_verify(p, &diags), BASE_OK);
    lang_program *q = transform(&work, &found);
    assert_int_equal(q != NULL, found > 0);
    if (q != NULL) {
        assert_int_equal(lang_verify(q, &diags), BASE_OK);
    }
    return q;
}

/* The program's output for two inputs. */
static inline void run_on(const lang_program *q, const void *first, const void *second, void *output) {
    const void *inputs[2] = {first, second};
    lang_result result = {.data = output};
    lang_code *code = lang_compile(arena, q, LANG_EVAL_EXACT, &diags);
    assert_non_null(code);
    assert_int_equal(lang_run(code, arena, inputs, &result, &diags), BASE_OK);
}

#endif
