/* intervals.c - interval arithmetic of the words and reductions.
 *
 * Takes intervals of the arguments. Gives an interval that contains every result (docs/LANGUAGE.md gives the words'
 * meanings), and whether the arithmetic may leave the type. All sums are checked 64-bit: what overflows counts as
 * wrapping.
 */
#include "lang/intervals.h"

#include "lang/linear.h"

lang_range lang_type_range(base_type t) {
    int64_t lo = INT64_MIN;
    uint64_t hi = INT64_MAX;
    if (base_type_is_float(t) || t == BASE_NONE) {
        return (lang_range){lo, INT64_MAX, false};
    }
    base_type_range(t, &lo, &hi);
    if (hi > INT64_MAX) {
        return (lang_range){0, INT64_MAX, false};
    }
    return (lang_range){lo, (int64_t)hi, true};
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static lang_range exactly(int64_t v) {
    return (lang_range){v, v, true};
}

static lang_range between(int64_t lo, int64_t hi) {
    return (lang_range){lo, hi, true};
}

/* [lo, hi] if the type holds it; else the arithmetic may wrap and anything may come out. */
static lang_range fit(base_type type, int64_t lo, int64_t hi, bool overflow, bool *wraps) {
    lang_range t = lang_type_range(type);
    if (overflow || lo < (t.known ? t.lo : 0) || (t.known && hi > t.hi)) {
        *wraps = true;
        return t;
    }
    return between(lo, hi);
}

/* ---- arithmetic ---- */

static lang_range multiply(base_type type, lang_range a, lang_range b, bool same, bool *wraps) {
    int64_t v[4];
    bool overflow = __builtin_mul_overflow(a.lo, b.lo, &v[0]);
    overflow = __builtin_mul_overflow(a.lo, b.hi, &v[1]) || overflow;
    overflow = __builtin_mul_overflow(a.hi, b.lo, &v[2]) || overflow;
    overflow = __builtin_mul_overflow(a.hi, b.hi, &v[3]) || overflow;
    if (same) { /* a square: never negative */
        v[1] = v[2] = a.lo <= 0 && a.hi >= 0 ? 0 : v[0];
    }
    if (overflow) {
        return fit(type, 0, 0, true, wraps);
    }
    return fit(type, least(least(v[0], v[1]), least(v[2], v[3])), most(most(v[0], v[1]), most(v[2], v[3])), false,
               wraps);
}

typedef int64_t (*quotient_fn)(int64_t, int64_t);

/* Corners of a quotient over divisors of one sign: it is monotone in both arguments there. */
static void quotient_corners(quotient_fn f, lang_range a, int64_t b0, int64_t b1, lang_range *out, bool *some) {
    int64_t v[4] = {f(a.lo, b0), f(a.lo, b1), f(a.hi, b0), f(a.hi, b1)};
    for (uint32_t k = 0; k < 4; k++) {
        out->lo = *some ? least(out->lo, v[k]) : v[k];
        out->hi = *some ? most(out->hi, v[k]) : v[k];
        *some = true;
    }
}

static lang_range divide(base_type type, quotient_fn f, lang_range a, lang_range b, bool *wraps) {
    lang_range out = exactly(0);
    bool some = b.lo <= 0 && b.hi >= 0; /* x/0 is 0 */
    if (a.lo == INT64_MIN && b.lo <= -1 && b.hi >= -1) {
        return fit(type, 0, 0, true, wraps);
    }
    if (b.hi > 0) {
        quotient_corners(f, a, most(b.lo, 1), b.hi, &out, &some);
    }
    if (b.lo < 0) {
        quotient_corners(f, a, b.lo, least(b.hi, -1), &out, &some);
    }
    return fit(type, out.lo, out.hi, false, wraps);
}

static lang_range modulus(lang_range a, lang_range b) {
    if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo) {
        return a;
    }
    if (b.lo == b.hi && b.lo > 0) {
        int64_t q = base_floor_div(a.lo, b.lo);
        if (q == base_floor_div(a.hi, b.lo)) {
            return between(base_floor_mod(a.lo, b.lo), base_floor_mod(a.hi, b.lo));
        }
    }
    int64_t hi = b.hi > 0 ? b.hi - 1 : 0;
    if (b.lo > 0 && a.lo >= 0) {
        hi = least(hi, a.hi);
    }
    return between(b.lo < 0 ? b.lo + 1 : 0, hi);
}

static lang_range remainder_of(lang_range a, lang_range b) {
    if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo) {
        return a;
    }
    int64_t m = b.lo == INT64_MIN ? INT64_MAX : most(most(-b.lo, b.hi), 1) - 1;
    return between(a.lo < 0 ? most(a.lo, -m) : 0, a.hi > 0 ? least(a.hi, m) : 0);
}

static lang_range power(base_type type, lang_range a, lang_range b, bool *wraps) {
    if (b.lo != b.hi || b.lo < 0 || b.lo > 64 || a.lo < 0) {
        *wraps = true;
        return lang_type_range(type);
    }
    int64_t lo = 1, hi = 1;
    bool overflow = false;
    for (int64_t k = 0; k < b.lo; k++) {
        overflow = __builtin_mul_overflow(hi, a.hi, &hi) || overflow;
        lo = overflow ? 0 : lo * a.lo;
    }
    return fit(type, lo, hi, overflow, wraps);
}

/* ---- bits ---- */

/* The smallest [-2^k, 2^k-1] around both, or [0, 2^k-1] where both are not negative: and, or, xor stay inside. */
static lang_range power_box(lang_range a, lang_range b) {
    uint64_t reach = 0;
    const int64_t v[4] = {a.lo, a.hi, b.lo, b.hi};
    bool negative = false;
    for (uint32_t k = 0; k < 4; k++) {
        reach |= (uint64_t)(v[k] < 0 ? ~v[k] : v[k]);
        negative = negative || v[k] < 0;
    }
    unsigned width = 64 - base_clz(reach, 64);
    int64_t hi = width == 0 ? 0 : (int64_t)(UINT64_MAX >> (64 - width));
    return between(negative ? -hi - 1 : 0, hi);
}

static lang_range bitwise(lang_word w, lang_range a, lang_range b) {
    lang_range box = power_box(a, b);
    if (w == LANG_BITAND && (a.lo >= 0 || b.lo >= 0)) {
        int64_t hi = a.lo >= 0 && b.lo >= 0 ? least(a.hi, b.hi) : a.lo >= 0 ? a.hi : b.hi;
        return between(0, hi);
    }
    if (w == LANG_BITOR && a.lo >= 0 && b.lo >= 0) {
        return between(most(a.lo, b.lo), box.hi);
    }
    return box;
}

static lang_range complement(base_type type, lang_range a) {
    lang_range t = lang_type_range(type);
    if (base_type_is_signed(type)) {
        return between(~a.hi, ~a.lo);
    }
    return t.known ? between(t.hi - a.hi, t.hi - a.lo) : t;
}

static lang_range shift_left(base_type type, lang_range a, lang_range count, bool *wraps) {
    unsigned width = base_type_bits(type);
    int64_t from = most(count.lo, 0), to = most(count.hi, 0);
    if (a.lo == 0 && a.hi == 0) {
        return a;
    }
    if (from >= (int64_t)width) {
        *wraps = true;
        return exactly(0);
    }
    if (to >= (int64_t)width || to > 62) {
        return fit(type, 0, 0, true, wraps);
    }
    return multiply(type, a, between((int64_t)1 << from, (int64_t)1 << to), false, wraps);
}

static lang_range shift_right(base_type type, lang_range a, lang_range count) {
    int64_t from = least(most(count.lo, 0), 63), to = least(most(count.hi, 0), 63);
    if (!a.known) { /* u64 */
        return from >= 1 ? between(0, (int64_t)(UINT64_MAX >> from)) : lang_type_range(type);
    }
    int64_t v[4] = {base_shr_signed(a.lo, from, 64), base_shr_signed(a.lo, to, 64), base_shr_signed(a.hi, from, 64),
                    base_shr_signed(a.hi, to, 64)};
    return between(least(v[0], v[1]), most(v[2], v[3]));
}

static lang_range leading_zeros(base_type argument, lang_range a) {
    unsigned width = base_type_bits(argument);
    if (!a.known || a.lo < 0) {
        return between(0, a.known && a.hi < 0 ? 0 : (int64_t)width);
    }
    return between(base_clz((uint64_t)a.hi, width), base_clz((uint64_t)a.lo, width));
}

/* ---- conversions ---- */

static lang_range cast(base_type type, base_type argument, lang_range a) {
    lang_range t = lang_type_range(type);
    if (base_type_is_float(argument) || base_type_is_float(type) || !a.known) {
        return t;
    }
    if (type == BASE_BOOL) {
        return a.lo > 0 || a.hi < 0 ? exactly(1) : between(0, a.lo == 0 && a.hi == 0 ? 0 : 1);
    }
    return a.lo >= (t.known ? t.lo : 0) && (!t.known || a.hi <= t.hi) ? a : t;
}

static lang_range saturate(base_type type, base_type argument, lang_range a) {
    lang_range t = lang_type_range(type);
    if (base_type_is_float(argument) || base_type_is_float(type) || type == BASE_BOOL || !a.known) {
        return t;
    }
    int64_t lo = t.known ? t.lo : 0, hi = t.known ? t.hi : INT64_MAX;
    return between(least(most(a.lo, lo), hi), least(most(a.hi, lo), hi));
}

/* ---- fixed point: monotone in each argument, so the corners bound them ---- */

static lang_range high_multiply(lang_word w, lang_range a, lang_range b) {
    lang_range out = exactly(0);
    for (uint32_t k = 0; k < 4; k++) {
        int64_t x = k & 1 ? a.hi : a.lo, y = k & 2 ? b.hi : b.lo;
        int64_t v = w == LANG_SRDHM ? base_srdhm((int32_t)x, (int32_t)y) : base_srdhm16((int16_t)x, (int16_t)y);
        out = k == 0 ? exactly(v) : between(least(out.lo, v), most(out.hi, v));
    }
    return out;
}

static lang_range rounding_shift(lang_range a, lang_range b) {
    lang_range out = exactly(0);
    for (uint32_t k = 0; k < 4; k++) {
        int64_t v = base_rdivpot((int32_t)(k & 1 ? a.hi : a.lo), (int32_t)(k & 2 ? b.hi : b.lo));
        out = k == 0 ? exactly(v) : between(least(out.lo, v), most(out.hi, v));
    }
    return out;
}

/* ---- comparisons ---- */

static lang_range compare(lang_word w, lang_range a, lang_range b) {
    if (!a.known || !b.known) {
        return between(0, 1);
    }
    if (w == LANG_EQ) {
        if (a.hi < b.lo || b.hi < a.lo) {
            return exactly(0);
        }
        return a.lo == a.hi && b.lo == b.hi ? exactly(1) : between(0, 1);
    }
    bool always = w == LANG_LT ? a.hi < b.lo : a.hi <= b.lo;
    bool never = w == LANG_LT ? a.lo >= b.hi : a.lo > b.hi;
    return always ? exactly(1) : between(0, never ? 0 : 1);
}

static lang_range logic(lang_word w, lang_range a, lang_range b) {
    switch (w) {
    case LANG_AND:
        return between(least(a.lo, b.lo), least(a.hi, b.hi));
    case LANG_OR:
        return between(most(a.lo, b.lo), most(a.hi, b.hi));
    default:
        return between(1 - a.hi, 1 - a.lo);
    }
}

static lang_range arithmetic(lang_word w, base_type type, lang_range a, lang_range b, bool same, bool *wraps) {
    int64_t lo = 0, hi = 0;
    bool overflow;
    switch (w) {
    case LANG_ADD:
        overflow = __builtin_add_overflow(a.lo, b.lo, &lo);
        overflow = __builtin_add_overflow(a.hi, b.hi, &hi) || overflow;
        return fit(type, lo, hi, overflow, wraps);
    case LANG_SUB:
        overflow = __builtin_sub_overflow(a.lo, b.hi, &lo);
        overflow = __builtin_sub_overflow(a.hi, b.lo, &hi) || overflow;
        return fit(type, lo, hi, overflow, wraps);
    case LANG_NEG:
        overflow = __builtin_sub_overflow(0, a.hi, &lo);
        overflow = __builtin_sub_overflow(0, a.lo, &hi) || overflow;
        return fit(type, lo, hi, overflow, wraps);
    case LANG_ABS:
        if (a.lo >= 0) {
            return a;
        }
        overflow = __builtin_sub_overflow(0, a.lo, &hi);
        overflow = __builtin_sub_overflow(0, least(a.hi, 0), &lo) || overflow;
        return fit(type, lo, most(hi, a.hi), overflow, wraps);
    case LANG_MUL:
        return multiply(type, a, b, same, wraps);
    case LANG_DIV:
        return divide(type, base_floor_div, a, b, wraps);
    case LANG_TDIV:
        return divide(type, base_trunc_div, a, b, wraps);
    case LANG_POW:
        return power(type, a, b, wraps);
    default:
        return lang_type_range(type);
    }
}

lang_range lang_word_interval(lang_word w, base_type type, base_type argument, lang_range a, lang_range b, bool same,
                              bool *wraps) {
    *wraps = false;
    switch (w) {
    case LANG_LT:
    case LANG_LE:
    case LANG_EQ:
        return compare(w, a, b);
    case LANG_AND:
    case LANG_OR:
    case LANG_NOT:
        return logic(w, a, b);
    case LANG_CLZ:
        return leading_zeros(argument, a);
    case LANG_CAST:
        return cast(type, argument, a);
    case LANG_SAT:
        return saturate(type, argument, a);
    case LANG_BITS: {
        lang_range t = lang_type_range(type);
        bool keeps = base_type_is_int(argument) && a.known && a.lo >= 0 && t.known && a.hi <= t.hi;
        return keeps ? a : t;
    }
    case LANG_SHR:
        return shift_right(type, a, b);
    default:
        break;
    }
    bool unary = w == LANG_NEG || w == LANG_ABS || w == LANG_BITNOT;
    if (base_type_is_float(type) || !base_type_is_int(type)) {
        return lang_type_range(type);
    }
    if (!a.known || (!unary && !b.known)) {
        *wraps = true;
        return lang_type_range(type);
    }
    switch (w) {
    case LANG_MIN:
        return between(least(a.lo, b.lo), least(a.hi, b.hi));
    case LANG_MAX:
        return between(most(a.lo, b.lo), most(a.hi, b.hi));
    case LANG_MOD:
        return modulus(a, b);
    case LANG_TREM:
        return remainder_of(a, b);
    case LANG_BITAND:
    case LANG_BITOR:
    case LANG_BITXOR:
        return bitwise(w, a, b);
    case LANG_BITNOT:
        return complement(type, a);
    case LANG_SHL:
        return shift_left(type, a, b, wraps);
    case LANG_SRDHM:
    case LANG_SRDHM16:
        return high_multiply(w, a, b);
    case LANG_RDIVPOT:
        return rounding_shift(a, b);
    default:
        return arithmetic(w, type, a, b, same, wraps);
    }
}

/* ---- reductions ---- */

lang_range lang_count_interval(lang_range count, lang_range extent) {
    lang_range out = between(0, INT64_MAX);
    int64_t lo = most(extent.lo, 0), hi = most(extent.hi, 0);
    if (__builtin_mul_overflow(count.lo, extent.known ? lo : 0, &out.lo)) {
        out.lo = INT64_MAX;
    }
    if (!extent.known || __builtin_mul_overflow(count.hi, hi, &out.hi)) {
        out.hi = INT64_MAX;
    }
    return out;
}

static lang_range total(base_type type, lang_range body, lang_range count, bool *wraps) {
    int64_t v[4];
    bool overflow = __builtin_mul_overflow(body.lo, count.lo, &v[0]);
    overflow = __builtin_mul_overflow(body.lo, count.hi, &v[1]) || overflow;
    overflow = __builtin_mul_overflow(body.hi, count.lo, &v[2]) || overflow;
    overflow = __builtin_mul_overflow(body.hi, count.hi, &v[3]) || overflow;
    if (overflow) {
        return fit(type, 0, 0, true, wraps);
    }
    /* on the way the sum passes through everything between 0 and its value */
    bool leaves = false;
    (void)fit(type, least(v[1], 0), most(v[3], 0), false, &leaves);
    *wraps = leaves;
    return leaves ? lang_type_range(type) : between(least(v[0], v[1]), most(v[2], v[3]));
}

static lang_range product(base_type type, lang_range body, lang_range count, bool *wraps) {
    if (body.lo >= 0 && body.hi <= 1) {
        return between(count.hi > 0 ? body.lo : 1, count.lo == 0 ? 1 : body.hi);
    }
    if (count.hi <= 1) {
        return count.lo == 1 ? body : between(least(body.lo, 1), most(body.hi, 1));
    }
    if (body.lo == INT64_MIN) {
        return fit(type, 0, 0, true, wraps);
    }
    int64_t most_of = most(-body.lo, body.hi), reach = 1;
    bool overflow = most_of > 1 && count.hi > 63;
    for (int64_t k = 0; !overflow && most_of > 1 && k < count.hi; k++) {
        overflow = __builtin_mul_overflow(reach, most_of, &reach);
    }
    if (overflow) { /* what the product wrapped to may have no negative */
        return fit(type, 0, 0, true, wraps);
    }
    return fit(type, body.lo >= 0 ? 0 : -reach, reach, false, wraps);
}

lang_range lang_reduction_interval(lang_reduction r, base_type type, lang_range body, lang_range count, bool identity,
                                   bool *wraps) {
    lang_range t = lang_type_range(type);
    bool empty = count.lo == 0 && identity;
    *wraps = false;
    if (base_type_is_float(type)) {
        return t;
    }
    if (!body.known) {
        *wraps = r == LANG_SUM || r == LANG_PROD;
        return t;
    }
    switch (r) {
    case LANG_SUM:
        return total(type, body, count, wraps);
    case LANG_PROD:
        return product(type, body, count, wraps);
    case LANG_RMAX: /* the empty one is the type's least */
        return empty ? between(t.known ? t.lo : 0, body.hi) : body;
    case LANG_RMIN:
        return empty ? (t.known ? between(body.lo, t.hi) : t) : body;
    case LANG_ANY:
        return between(count.lo > 0 ? body.lo : 0, count.hi > 0 ? body.hi : 0);
    case LANG_ALL:
        return between(count.hi > 0 ? body.lo : 1, count.lo > 0 ? body.hi : 1);
    default:
        return body;
    }
}
