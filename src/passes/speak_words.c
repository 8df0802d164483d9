/* speak_words.c - one scalar word on whole tensors.
 *
 * Takes a word and its operands. Gives the operator of spoken.def that is the word, or several that come to the same: integers of
 * fewer than 32 bits are computed in 32 and wrapped, as few runtimes have kernels for them; fixed-point words are products
 * and quotients in 64 bits, exactly.
 */
#include <math.h>
#include <string.h>

#include "passes/speak.h"

static const struct {
    lang_word word;
    const char *op;
    char types;
} spoken[] = {
#define SPOKEN(word, op, types) {LANG_##word, op, types},
#include "passes/spoken.def"
#undef SPOKEN
};

enum { MOST_SHIFT = 62 };

static bool type_fits(char types, base_type t) {
    return t == BASE_BOOL ? types == 'b' : types == 'n' || (types == 'f') == base_type_is_float(t);
}

static base_type type_at(const speaker *s, uint32_t t) {
    return s->g->tensors.at[t].type;
}

uint32_t speak_number(speaker *s, base_type type, double v) {
    return speak_scalar(s, type, base_type_is_float(type) ? (base_value){.f = v} : (base_value){.i = (int64_t)v});
}

static uint32_t integer(speaker *s, base_type type, int64_t v) {
    return speak_scalar(s, type, (base_value){.i = v});
}

uint32_t speak_cast(speaker *s, uint32_t t, base_type type) {
    return t == IR_NONE || type_at(s, t) == type ? t : speak_word(s, "cast", &t, 1, type);
}

uint32_t speak_gather(speaker *s, uint32_t x, uint32_t index) {
    const uint32_t inputs[2] = {x, index};
    uint32_t t = IR_NONE;
    for (int64_t from_end = 0; from_end < 2 && t == IR_NONE && x != IR_NONE && index != IR_NONE; from_end++) {
        ir_node *n = speak_node(s, "gather", inputs, 2, BASE_NONE);
        ir_attr_int(s->m, n, "axis", 0);
        if (from_end != 0) {
            ir_attr_int(s->m, n, "from_end", from_end);
        }
        t = speak_done(s);
    }
    return t;
}

/* The remainder with the divisor's sign, of integers. */
static uint32_t remainder_of(speaker *s, uint32_t a, uint32_t b) {
    const uint32_t t = speak_two(s, "floor_mod", a, b);
    return t != IR_NONE ? t : speak_two(s, "mod", a, b);
}

/* With the dividend's sign: where that is another, and it is not 0, the divisor comes off. */
static uint32_t remainder_towards_zero(speaker *s, base_type type, uint32_t a, uint32_t b) {
    const uint32_t r = remainder_of(s, a, b), zero = speak_number(s, type, 0);
    const uint32_t other = speak_two(s, "not_equal", speak_two(s, "less", r, zero), speak_two(s, "less", a, zero));
    return speak_choose(s, speak_two(s, "logical_and", speak_two(s, "not_equal", r, zero), other),
                        speak_two(s, "sub", r, b), r);
}

/* ---- fixed point ---- */

/* 2^n for each element of n, in 64 bits. */
static uint32_t power(speaker *s, uint32_t n) {
    int64_t list[MOST_SHIFT + 1], count = MOST_SHIFT + 1;
    for (unsigned k = 0; k <= MOST_SHIFT; k++) {
        base_store(BASE_I64, list, k, (base_value){.i = (int64_t)1 << k});
    }
    return speak_gather(s, speak_constant(s, BASE_I64, 1, &count, list), speak_cast(s, n, BASE_I64));
}

/* Is every element known, and none less than that? */
static bool at_least(const speaker *s, uint32_t t, int64_t least) {
    const ir_tensor *x = &s->g->tensors.at[t];
    uint64_t n = 0;
    bool is = x->data != NULL && ir_shape_elements(&x->shape, &n);
    for (uint64_t i = 0; is && i < n; i++) {
        is = base_load(x->type, x->data, i).i >= least;
    }
    return is;
}

/* a * b / 2^bits, rounded to the nearest, halves up, and saturated to the type of both. */
static uint32_t high_product(speaker *s, uint32_t a, uint32_t b, unsigned bits) {
    const base_type type = type_at(s, a);
    const int64_t half = (int64_t)1 << (bits - 1);
    const uint32_t p = speak_two(s, "mul", speak_cast(s, a, BASE_I64), speak_cast(s, b, BASE_I64));
    const uint32_t less = speak_two(s, "less", p, integer(s, BASE_I64, 0));
    const uint32_t nudge = speak_choose(s, less, integer(s, BASE_I64, 1 - half), integer(s, BASE_I64, half));
    uint32_t q = speak_quotient(s, speak_two(s, "add", p, nudge), integer(s, BASE_I64, 2 * half));
    if (!at_least(s, b, 1 - 2 * half) && !at_least(s, a, 1 - 2 * half)) {
        q = speak_two(s, "minimum", q, integer(s, BASE_I64, 2 * half - 1));
    }
    return speak_cast(s, q, type);
}

/* x / 2^n, rounded to the nearest, halves away from zero. */
static uint32_t rounding_shift(speaker *s, uint32_t x, uint32_t n) {
    if (at_least(s, n, 0) && !at_least(s, n, 1)) {
        uint64_t count = 0, zeros = 0;
        (void)ir_shape_elements(speak_shape(s, n), &count);
        for (uint64_t i = 0; i < count; i++) {
            zeros += base_load(type_at(s, n), s->g->tensors.at[n].data, i).i == 0;
        }
        if (zeros == count) {
            return x;
        }
    }
    const uint32_t wide = speak_cast(s, x, BASE_I64), d = power(s, n);
    const uint32_t half = speak_quotient(s, d, integer(s, BASE_I64, 2));
    const uint32_t less = speak_two(s, "less", wide, integer(s, BASE_I64, 0));
    const uint32_t nudge = speak_choose(s, less, speak_two(s, "sub", integer(s, BASE_I64, 0), half), half);
    return speak_cast(s, speak_quotient(s, speak_two(s, "add", wide, nudge), d),
                      x == IR_NONE ? BASE_I32 : type_at(s, x));
}

static uint32_t floor_quotient(speaker *s, uint32_t a, uint32_t b) {
    return speak_quotient_down(s, a, b, remainder_of(s, a, b));
}

/* By the vocabulary's own shift, which moves by less than the width: by more all bits are out. */
static uint32_t shift_right(speaker *s, base_type type, uint32_t x, uint32_t n) {
    const int64_t width = (int64_t)base_type_bits(type);
    const uint32_t wide = speak_two(s, "maximum", speak_cast(s, n, BASE_I64), integer(s, BASE_I64, 0)),
                   most = speak_two(s, "minimum", wide, integer(s, BASE_I64, width - 1));
    const uint32_t y = speak_two(s, "right_shift", x, speak_cast(s, most, type));
    if (base_type_is_signed(type)) {
        return y;
    }
    const uint32_t is_out = speak_two(s, "less", integer(s, BASE_I64, width - 1), wide);
    const uint32_t inside = speak_cast(s, speak_one(s, "logical_not", is_out), type);
    return speak_two(s, "mul", y, inside);
}

/* How many powers of two are greater: of 0 and more. */
static uint32_t leading_zeros(speaker *s, uint32_t x) {
    const uint32_t bits = (uint32_t)base_type_bits(type_at(s, x));
    const ir_shape shape = *speak_shape(s, x);
    int64_t list[64], count = bits - 1, dims[IR_MAX_RANK + 1], axis = shape.rank;
    if (shape.rank == IR_MAX_RANK || bits > 64) {
        return IR_NONE;
    }
    memcpy(dims, shape.dim, shape.rank * sizeof *dims);
    dims[shape.rank] = 1;
    for (int64_t k = 0; k < count; k++) {
        base_store(BASE_I64, list, (uint64_t)k, (base_value){.i = (int64_t)1 << k});
    }
    const uint32_t wide = speak_cast(s, x, BASE_I64);
    const uint32_t less = speak_two(s, "less", speak_reshape(s, wide, shape.rank + 1, dims),
                                    speak_constant(s, BASE_I64, 1, &count, list));
    uint32_t n = speak_cast(s, less, BASE_I32);
    if (n == IR_NONE) {
        return IR_NONE;
    }
    ir_node *sum = speak_node(s, "sum", &n, 1, BASE_NONE);
    ir_attr_ints(s->m, sum, "axes", &axis, 1);
    ir_attr_int(s->m, sum, "keepdims", 0);
    n = speak_two(s, "add", speak_done(s), integer(s, BASE_I32, 1));
    return speak_choose(s, speak_two(s, "less", wide, integer(s, BASE_I64, 0)), integer(s, BASE_I32, 0), n);
}

/* The nearest that the type has. */
static uint32_t saturate(speaker *s, uint32_t x, base_type type) {
    const base_type from = type_at(s, x);
    int64_t lo, own_lo;
    uint64_t hi, own_hi;
    if (base_type_is_float(type) || base_type_bits(type) > 32) {
        return IR_NONE;
    }
    base_type_range(type, &lo, &hi);
    if (base_type_is_float(from)) {
        const uint32_t wide = speak_cast(s, x, base_type_bits(type) > 16 ? BASE_F64 : from);
        const uint32_t low = wide == IR_NONE ? IR_NONE : speak_number(s, type_at(s, wide), (double)lo),
                       high = wide == IR_NONE ? IR_NONE : speak_number(s, type_at(s, wide), (double)hi);
        return speak_cast(s, speak_two(s, "maximum", speak_two(s, "minimum", wide, high), low), type);
    }
    base_type_range(from, &own_lo, &own_hi);
    const base_type wide = base_type_bits(from) < 32 ? BASE_I32 : from;
    uint32_t t = speak_cast(s, x, wide);
    if (own_hi > hi) {
        t = speak_two(s, "minimum", t, integer(s, wide, (int64_t)hi));
    }
    if (own_lo < lo) {
        t = speak_two(s, "maximum", t, integer(s, wide, lo));
    }
    return speak_cast(s, t, type);
}

/* Halves away from zero, exactly. */
static uint32_t round_away(speaker *s, base_type type, uint32_t x) {
    const uint32_t a = speak_one(s, "abs", x), f = speak_one(s, "floor", a);
    const uint32_t below = speak_two(s, "less", speak_two(s, "sub", a, f), speak_number(s, type, 0.5));
    const uint32_t y = speak_choose(s, below, f, speak_two(s, "add", f, speak_number(s, type, 1)));
    const uint32_t negative = speak_two(s, "less", x, speak_number(s, type, 0));
    return speak_choose(s, negative, speak_two(s, "mul", y, speak_number(s, type, -1)), y);
}

/* What is said in other words, where there is no operator: equal, of integers; else but for rounding, which near 0 may be more
 * than of itself. */
static uint32_t other_words(speaker *s, lang_word w, base_type type, base_type to, const uint32_t *v) {
    uint32_t a, b;
    switch (w) {
    case LANG_RSQRT:
        return speak_two(s, "div", speak_number(s, type, 1), speak_one(s, "sqrt", v[0]));
    case LANG_EXPM1:
        return speak_two(s, "sub", speak_one(s, "exp", v[0]), speak_number(s, type, 1));
    case LANG_LOG1P:
        return speak_one(s, "log", speak_two(s, "add", v[0], speak_number(s, type, 1)));
    case LANG_EXP2:
        return speak_one(s, "exp", speak_two(s, "mul", v[0], speak_number(s, type, 0.693147180559945309)));
    case LANG_SINH:
    case LANG_COSH:
        a = speak_one(s, "exp", v[0]);
        b = speak_two(s, "div", speak_number(s, type, 1), a);
        a = speak_two(s, w == LANG_SINH ? "sub" : "add", a, b);
        return speak_two(s, "mul", a, speak_number(s, type, 0.5));
    case LANG_NEG:
        return speak_two(s, "mul", v[0], speak_number(s, type, -1));
    case LANG_TAN:
        return speak_two(s, "div", speak_one(s, "sin", v[0]), speak_one(s, "cos", v[0]));
    case LANG_ISNAN:
        return speak_two(s, "not_equal", v[0], v[0]);
    case LANG_ISINF:
        return speak_two(s, "equal", speak_one(s, "abs", v[0]), speak_number(s, type, INFINITY));
    case LANG_RHA:
        return round_away(s, type, v[0]);
    case LANG_TRUNC:
        a = speak_two(s, "less", v[0], speak_number(s, type, 0));
        return speak_choose(s, a, speak_one(s, "ceil", v[0]), speak_one(s, "floor", v[0]));
    case LANG_SRDHM:
        return high_product(s, v[0], v[1], 31);
    case LANG_SRDHM16:
        return high_product(s, v[0], v[1], 15);
    case LANG_RDIVPOT:
        return rounding_shift(s, v[0], v[1]);
    case LANG_SHL:
        return speak_cast(s, speak_two(s, "mul", speak_cast(s, v[0], BASE_I64), power(s, v[1])), type);
    case LANG_SHR:
        a = speak_cast(s, floor_quotient(s, speak_cast(s, v[0], BASE_I64), power(s, v[1])), type);
        return a != IR_NONE ? a : shift_right(s, type, v[0], v[1]);
    case LANG_DIV:
        return base_type_is_float(type) ? IR_NONE : floor_quotient(s, v[0], v[1]);
    case LANG_TDIV:
        return speak_quotient(s, v[0], v[1]);
    case LANG_TREM:
        a = speak_two(s, "sub", v[0], speak_two(s, "mul", speak_two(s, "div", v[0], v[1]), v[1]));
        return a != IR_NONE ? a : remainder_towards_zero(s, type, v[0], v[1]);
    case LANG_CLZ:
        return leading_zeros(s, v[0]);
    case LANG_SAT:
        return saturate(s, v[0], to);
    case LANG_BITS:
        return base_type_is_float(type) || base_type_is_float(to) ? speak_word(s, "bitcast", v, 1, to)
                                                                  : speak_cast(s, v[0], to);
    default:
        return speak_function(s, w, type, v);
    }
}

/* Of one type in, the word's type out. IR_NONE: there is no such. */
static uint32_t say(speaker *s, lang_word w, base_type type, base_type to, const uint32_t *v, uint32_t n) {
    for (size_t i = 0; i < sizeof spoken / sizeof spoken[0]; i++) {
        if (spoken[i].word == w && type_fits(spoken[i].types, type)) {
            const uint32_t t = speak_word(s, spoken[i].op, v, n, BASE_NONE);
            if (t != IR_NONE && type_at(s, t) == to) {
                return t;
            }
        }
    }
    return other_words(s, w, type, to, v);
}

/* The wider type in which the word gives the same, wrapped: integers have kernels in 32 and 64 bits. BASE_NONE: none is needed. */
static base_type wider(lang_word w, base_type type) {
    static const lang_word words[] = {LANG_ADD, LANG_SUB, LANG_MUL,    LANG_DIV,   LANG_MOD,    LANG_NEG, LANG_ABS,
                                      LANG_MIN, LANG_MAX, LANG_TDIV,   LANG_TREM,  LANG_LT,     LANG_LE,  LANG_EQ,
                                      LANG_IF,  LANG_SHL, LANG_BITAND, LANG_BITOR, LANG_BITXOR, LANG_SHR};
    bool is = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        is = is || words[i] == w;
    }
    if (!is || base_type_is_float(type) || type == BASE_BOOL || base_type_bits(type) > 32 || type == BASE_I32) {
        return BASE_NONE;
    }
    return base_type_bits(type) < 32 ? BASE_I32 : BASE_I64;
}

/* Of floats of 16 bits in f32, which has more than twice their digits: rounded once more it is the same. */
static bool is_same_in_f32(lang_word w, base_type type) {
    static const lang_word words[] = {LANG_ADD, LANG_SUB, LANG_MUL, LANG_DIV, LANG_SQRT,  LANG_NEG,  LANG_ABS, LANG_MIN,
                                      LANG_MAX, LANG_LT,  LANG_LE,  LANG_EQ,  LANG_FLOOR, LANG_CEIL, LANG_RNE};
    bool is = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        is = is || words[i] == w;
    }
    return is && (type == BASE_F16 || type == BASE_BF16);
}

uint32_t speak_scalar_word(speaker *s, lang_word w, base_type type, base_type to, const uint32_t *v, uint32_t n) {
    const speak_mark mark = speak_here(s);
    const bool chooses = w == LANG_IF, shifts = w == LANG_SHL || w == LANG_SHR;
    for (uint32_t k = 0; k < n; k++) {
        if (v[k] == IR_NONE) {
            return IR_NONE;
        }
    }
    if (w == LANG_CAST) {
        return speak_cast(s, v[0], to);
    }
    const base_type width = wider(w, chooses ? to : type);
    if (width != BASE_NONE) {
        uint32_t wide[3] = {IR_NONE, IR_NONE, IR_NONE};
        bool all = true;
        for (uint32_t k = 0; k < n; k++) {
            const bool own = (chooses && k == 0) || (shifts && k == 1);
            wide[k] = own ? v[k] : speak_cast(s, v[k], width);
            all = all && wide[k] != IR_NONE;
        }
        uint32_t t = IR_NONE;
        if (all) {
            t = chooses ? speak_choose(s, wide[0], wide[1], wide[2])
                        : say(s, w, width, to == BASE_BOOL ? to : width, wide, n);
        }
        t = speak_cast(s, t, to);
        if (t != IR_NONE) {
            return t;
        }
        speak_back(s, mark);
    }
    uint32_t t = chooses ? speak_choose(s, v[0], v[1], v[2]) : say(s, w, type, to, v, n);
    if (t == IR_NONE) {
        speak_back(s, mark);
        t = speak_bits(s, w, type, v, n);
    }
    if (t == IR_NONE && is_same_in_f32(w, type)) {
        uint32_t wide[2] = {IR_NONE, IR_NONE};
        for (uint32_t k = 0; k < n; k++) {
            wide[k] = speak_cast(s, v[k], BASE_F32);
        }
        t = n == 2 && wide[1] == IR_NONE ? IR_NONE : wide[0];
        t = t != IR_NONE ? speak_cast(s, say(s, w, BASE_F32, to == BASE_BOOL ? to : BASE_F32, wide, n), to) : t;
    }
    return t;
}
