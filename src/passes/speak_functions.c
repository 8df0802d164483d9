/* speak_functions.c - functions of reals, and bits of integers, that the vocabulary has no operator for.
 *
 * Takes a word and its operands, tensors. Gives operators of arithmetic that come to the same: bits exactly; functions of f32 within some
 * units of the last place, near 0 too, as each comment says. What would be worse is not said.
 */
#include "passes/speak.h"

static uint32_t real(speaker *s, double v) {
    return speak_number(s, BASE_F32, v);
}

/* a[0] + a[1] t + a[2] t^2 + ... */
static uint32_t polynomial(speaker *s, uint32_t t, const float *a, size_t n) {
    uint32_t y = real(s, (double)a[n - 1]);
    for (size_t k = n - 1; k-- > 0;) {
        y = speak_two(s, "add", speak_two(s, "mul", y, t), real(s, (double)a[k]));
    }
    return y;
}

/* ---- functions ---- */

/* x P(x^2) / Q(x^2) up to 4, from where it is 1: within 4.2e-7, and 7 units of the last place. P and Q are least squares of the relative
 * error, weighted anew until it was even, against C's erf; 2 / sqrt(pi) is what comes out for P(0). */
static uint32_t error_function(speaker *s, uint32_t v) {
    static const float p[] = {1.1283791f,     0.193544790f,    0.0531017035f,
                              0.00388333201f, 0.000284565613f, 1.98678367e-06f};
    static const float q[] = {1.0f, 0.504857183f, 0.115349881f, 0.0152072255f, 0.00118556824f, 3.74201736e-05f};
    const uint32_t x = speak_two(s, "maximum", speak_two(s, "minimum", v, real(s, 4)), real(s, -4)),
                   t = speak_two(s, "mul", x, x);
    const uint32_t over = polynomial(s, t, p, sizeof p / sizeof *p), under = polynomial(s, t, q, sizeof q / sizeof *q);
    const uint32_t y = speak_two(s, "div", speak_two(s, "mul", x, over), under);
    return speak_two(s, "maximum", speak_two(s, "minimum", y, real(s, 1)), real(s, -1));
}

/* sqrt(1 - x^2), without loss near 1 */
static uint32_t other_leg(speaker *s, uint32_t x) {
    return speak_one(s, "sqrt",
                     speak_two(s, "mul", speak_two(s, "sub", real(s, 1), x), speak_two(s, "add", x, real(s, 1))));
}

/* Kernels of atan2 do not broadcast. */
static uint32_t angle(speaker *s, uint32_t y, uint32_t x) {
    const uint32_t like = speak_two(s, "add", y, x);
    if (like == IR_NONE) {
        return IR_NONE;
    }
    const ir_shape shape = *speak_shape(s, like); /* the sum itself nobody needs */
    y = speak_broadcast(s, y, shape.rank, shape.dim);
    return speak_two(s, "atan2", y, speak_broadcast(s, x, shape.rank, shape.dim));
}

/* The function is the series where |x| is below 1/4, and elsewhere `far`. */
static uint32_t odd_near_zero(speaker *s, uint32_t x, const float *series, size_t n, uint32_t far) {
    const uint32_t y = speak_two(s, "mul", x, polynomial(s, speak_two(s, "mul", x, x), series, n));
    return speak_choose(s, speak_two(s, "less", speak_one(s, "abs", x), real(s, 0.25)), y, far);
}

static uint32_t inverse_tanh(speaker *s, uint32_t x) {
    static const float series[] = {1.0f, 1.0f / 3, 1.0f / 5, 1.0f / 7, 1.0f / 9, 1.0f / 11};
    const uint32_t ratio = speak_two(s, "div", speak_two(s, "add", x, real(s, 1)), speak_two(s, "sub", real(s, 1), x));
    const uint32_t far = speak_two(s, "mul", speak_one(s, "log", ratio), real(s, 0.5));
    return odd_near_zero(s, x, series, sizeof series / sizeof *series, far);
}

/* Of what is large the square is left out: it might be infinite. */
static uint32_t inverse_sinh(speaker *s, uint32_t x) {
    static const float series[] = {1.0f, -1.0f / 6, 3.0f / 40, -15.0f / 336, 105.0f / 3456, -945.0f / 42240};
    const uint32_t a = speak_one(s, "abs", x), square = speak_two(s, "mul", a, a);
    const uint32_t sum = speak_two(s, "add", a, speak_one(s, "sqrt", speak_two(s, "add", square, real(s, 1))));
    const uint32_t large = speak_two(s, "add", speak_one(s, "log", a), real(s, 0.693147180559945309));
    const uint32_t y = speak_choose(s, speak_two(s, "less", a, real(s, 10000)), speak_one(s, "log", sum), large);
    const uint32_t far = speak_choose(s, speak_two(s, "less", x, real(s, 0)), speak_two(s, "mul", y, real(s, -1)), y);
    return odd_near_zero(s, x, series, sizeof series / sizeof *series, far);
}

/* 2 atanh(sqrt((x - 1) / (x + 1))) below 2, log(x + sqrt(x - 1) sqrt(x + 1)) from there on. */
static uint32_t inverse_cosh(speaker *s, uint32_t x) {
    const uint32_t less = speak_two(s, "sub", x, real(s, 1)), more = speak_two(s, "add", x, real(s, 1));
    const uint32_t near =
        speak_two(s, "mul", inverse_tanh(s, speak_one(s, "sqrt", speak_two(s, "div", less, more))), real(s, 2));
    const uint32_t root = speak_two(s, "mul", speak_one(s, "sqrt", less), speak_one(s, "sqrt", more));
    return speak_choose(s, speak_two(s, "less", x, real(s, 2)), near,
                        speak_one(s, "log", speak_two(s, "add", x, root)));
}

/* The remainder of amounts, which is exact, with the sign of the dividend. */
static uint32_t remainder_of_reals(speaker *s, uint32_t a, uint32_t b) {
    const uint32_t r = speak_two(s, "floor_mod", speak_one(s, "abs", a), speak_one(s, "abs", b));
    return speak_choose(s, speak_two(s, "less", a, real(s, 0)), speak_two(s, "mul", r, real(s, -1)), r);
}

uint32_t speak_function(speaker *s, lang_word w, base_type type, const uint32_t *v) {
    if (type != BASE_F32) {
        return IR_NONE;
    }
    switch (w) {
    case LANG_ERF:
        return error_function(s, v[0]);
    case LANG_ATAN:
        return angle(s, v[0], real(s, 1));
    case LANG_ASIN:
        return angle(s, v[0], other_leg(s, v[0]));
    case LANG_ACOS:
        return angle(s, other_leg(s, v[0]), v[0]);
    case LANG_ATANH:
        return inverse_tanh(s, v[0]);
    case LANG_ASINH:
        return inverse_sinh(s, v[0]);
    case LANG_ACOSH:
        return inverse_cosh(s, v[0]);
    case LANG_FMOD:
        return remainder_of_reals(s, v[0], v[1]);
    default:
        return IR_NONE;
    }
}

/* ---- bits ---- */

/* Halves of integers, and what is left of each: 0 or 1. */
static uint32_t half_of(speaker *s, uint32_t a, uint32_t *lowest) {
    const uint32_t half = speak_two(s, "right_shift", a, speak_scalar(s, BASE_I32, (base_value){.i = 1}));
    *lowest = speak_two(s, "sub", a, speak_two(s, "add", half, half));
    return half;
}

/* Of i32. a + b = (a ^ b) + 2 (a & b), which of halves is in range and gives all bits but the lowest; that is the product of the two. */
static uint32_t both_bits(speaker *s, uint32_t a, uint32_t b) {
    uint32_t low[2];
    const uint32_t x = half_of(s, a, &low[0]), y = half_of(s, b, &low[1]);
    const uint32_t twice = speak_two(s, "sub", speak_two(s, "add", x, y), speak_two(s, "bitwise_xor", x, y));
    return speak_two(s, "add", twice, speak_two(s, "mul", low[0], low[1]));
}

static uint32_t bits_of_i32(speaker *s, lang_word w, const uint32_t *v) {
    switch (w) {
    case LANG_BITAND:
        return both_bits(s, v[0], v[1]);
    case LANG_BITOR:
        return speak_two(s, "add", speak_two(s, "bitwise_xor", v[0], v[1]), both_bits(s, v[0], v[1]));
    case LANG_BITXOR:
        return speak_two(s, "bitwise_xor", v[0], v[1]);
    case LANG_BITNOT:
        return speak_two(s, "bitwise_xor", v[0], speak_scalar(s, BASE_I32, (base_value){.i = -1}));
    default:
        return IR_NONE;
    }
}

uint32_t speak_bits(speaker *s, lang_word w, base_type type, const uint32_t *v, uint32_t n) {
    const uint64_t bits = base_type_bits(type);
    uint32_t own[2] = {IR_NONE, IR_NONE};
    if ((w != LANG_BITAND && w != LANG_BITOR && w != LANG_BITXOR && w != LANG_BITNOT) || base_type_is_float(type) ||
        type == BASE_BOOL || n > 2) {
        return IR_NONE;
    }
    /* of 64 bits two halves stand along a last extent */
    for (uint32_t k = 0; k < n; k++) {
        own[k] = bits == 64 ? speak_word(s, "bitcast", &v[k], 1, BASE_I32) : speak_cast(s, v[k], BASE_I32);
        if (own[k] == IR_NONE) {
            return IR_NONE;
        }
    }
    const uint32_t t = bits_of_i32(s, w, own);
    return bits == 64 && t != IR_NONE ? speak_word(s, "bitcast", &t, 1, type) : speak_cast(s, t, type);
}
