/* words.c - the meaning of every scalar word on one value.
 *
 * Takes arguments held as base_value of their types. Gives the result in the range of its type: integers wrap, floats
 * are computed in double and rounded once to the type (for + - * / and sqrt that is the single rounding of the type, as
 * double has more than twice the digits of f32). The row kernels of the evaluator are tested against this file.
 */
#include "lang/words.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned char arity;
    char klass;
} word_table[LANG_WORD_COUNT] = {
#define LANG_WORD(E, spelling, arity, class) {spelling, arity, class},
#include "lang/words.def"
#undef LANG_WORD
};

const char *lang_word_name(lang_word w) {
    return word_table[w].name;
}

char lang_word_class(lang_word w) {
    return word_table[w].klass;
}

unsigned lang_word_arity(lang_word w) {
    return word_table[w].arity;
}

const char *lang_reduction_name(lang_reduction r) {
    static const char *const names[LANG_REDUCTION_COUNT] = {"sum", "prod", "max", "min", "any", "all", "first", "last"};
    return names[r];
}

double lang_float_highest(base_type t) {
    switch (t) {
    case BASE_F64:
        return DBL_MAX;
    case BASE_F32:
        return FLT_MAX;
    case BASE_F16:
        return 65504.0;
    case BASE_BF16:
        return 0x1.fep127;
    case BASE_F8E4M3FN:
        return 448.0;
    case BASE_F8E4M3FNUZ:
        return 240.0;
    case BASE_F8E5M2:
        return 57344.0;
    case BASE_F8E5M2FNUZ:
        return 57344.0;
    case BASE_F8E8M0:
        return 0x1p127;
    case BASE_F4E2M1:
        return 6.0;
    default:
        assert(0 && "a float type");
        return 0;
    }
}

double lang_float_lowest(base_type t) {
    return t == BASE_F8E8M0 ? 0x1p-127 : -lang_float_highest(t);
}

bool lang_float_has_inf(base_type t) {
    return t == BASE_F64 || t == BASE_F32 || t == BASE_F16 || t == BASE_BF16 || t == BASE_F8E5M2;
}

base_value lang_identity(lang_reduction r, base_type t) {
    base_value v = {.u = 0};
    bool real = base_type_is_float(t);
    int64_t lo = 0;
    uint64_t hi = 0;
    if (!real)
        base_type_range(t, &lo, &hi);
    switch (r) {
    case LANG_SUM:
    case LANG_ANY:
        if (real)
            v.f = base_round_to(t, 0.0); /* f8e8m0 has no 0 */
        return v;
    case LANG_PROD:
        if (real)
            v.f = 1.0;
        else
            v.i = lang_wrap(t, (base_value){.i = 1}).i;
        return v;
    case LANG_ALL:
        v.u = 1;
        return v;
    case LANG_RMAX:
        if (real)
            v.f = lang_float_has_inf(t) ? -(double)INFINITY : lang_float_lowest(t);
        else
            v.i = lo;
        return v;
    case LANG_RMIN:
        if (real)
            v.f = lang_float_has_inf(t) ? (double)INFINITY : lang_float_highest(t);
        else
            v.u = hi;
        return v;
    default:
        assert(0 && "first and last have no identity");
        return v;
    }
}

double lang_float_mod(double a, double b) {
    double r = base_fmod(a, b);
    if (r != 0.0)
        return (r < 0.0) != (b < 0.0) ? r + b : r;
    return copysign(r, b); /* a zero takes the sign of b; NaN compares unequal above */
}

double lang_uint_to_double_odd(uint64_t v) {
    unsigned lead = base_clz(v, 64);
    if (lead >= 11)
        return (double)v; /* at most 53 bits: exact */
    unsigned drop = 11 - lead;
    uint64_t kept = v >> drop;
    if ((kept << drop) != v)
        kept |= 1;
    return ldexp((double)kept, (int)drop);
}

double lang_int_to_double_odd(int64_t v) {
    return v < 0 ? -lang_uint_to_double_odd(0 - (uint64_t)v) : lang_uint_to_double_odd((uint64_t)v);
}

base_value lang_float_to_int(base_type to, double f) {
    base_value v = {.u = 0};
    if (to == BASE_BOOL) {
        v.u = f != 0.0;
        return v;
    }
    if (isnan(f))
        return v;
    int64_t lo;
    uint64_t hi;
    base_type_range(to, &lo, &hi);
    if (f <= (double)lo)
        v.i = lo;
    else if (f >= (double)hi) /* rounded up for 64 bits: then f >= 2^63 or 2^64 saturates */
        v.u = hi;
    else if (base_type_is_signed(to))
        v.i = (int64_t)f;
    else
        v.u = (uint64_t)f;
    return v;
}

base_value lang_wrap(base_type t, base_value v) {
    if (base_type_is_float(t)) {
        v.f = base_round_to(t, v.f);
        return v;
    }
    if (t == BASE_BOOL) {
        v.u = v.u != 0;
        return v;
    }
    unsigned width = base_type_bits(t);
    if (width == 64)
        return v;
    uint64_t mask = ((uint64_t)1 << width) - 1;
    v.u &= mask;
    if (base_type_is_signed(t) && (v.u >> (width - 1)) != 0)
        v.u |= ~mask;
    return v;
}

base_value lang_convert(base_type to, base_type from, base_value v) {
    bool to_float = base_type_is_float(to);
    if (base_type_is_float(from)) {
        if (!to_float)
            return lang_float_to_int(to, v.f);
    } else if (to_float) {
        base_value r;
        if (to == BASE_F64)
            r.f = base_type_is_signed(from) ? (double)v.i : (double)v.u;
        else
            r.f = base_type_is_signed(from) ? lang_int_to_double_odd(v.i) : lang_uint_to_double_odd(v.u);
        v = r;
    }
    return lang_wrap(to, v);
}

base_value lang_saturate(base_type to, base_type from, base_value v) {
    base_value r = {.u = 0};
    if (base_type_is_float(to)) {
        if (to == BASE_F64)
            v = lang_convert(to, from, v); /* an integer is rounded once, to nearest */
        else if (!base_type_is_float(from))
            v.f = base_type_is_signed(from) ? lang_int_to_double_odd(v.i) : lang_uint_to_double_odd(v.u);
        double f = v.f, hi = lang_float_highest(to), lo = lang_float_lowest(to);
        r.f = base_round_to(to, f > hi ? hi : f < lo ? lo : f); /* NaN stays */
        return r;
    }
    if (base_type_is_float(from) || to == BASE_BOOL)
        return lang_convert(to, from, v);
    int64_t lo;
    uint64_t hi;
    base_type_range(to, &lo, &hi);
    if (base_type_is_signed(from)) {
        if (v.i < lo)
            r.i = lo;
        else if (v.i > 0 && (uint64_t)v.i > hi)
            r.u = hi;
        else
            r = v;
    } else {
        r.u = v.u > hi ? hi : v.u;
    }
    return r;
}

base_value lang_bits(base_type to, base_type from, base_value v) {
    uint64_t cell = 0;
    if (from == BASE_F64 && isnan(v.f))
        cell = UINT64_C(0x7ff8000000000000);
    else if (from == BASE_F32 && isnan(v.f))
        base_store(BASE_U32, &cell, 0, (base_value){.u = 0x7fc00000});
    else
        base_store(from, &cell, 0, v);
    return base_load(to, &cell, 0);
}

/* Integer words of both signs: 64-bit arithmetic, the caller wraps. u64 differs where order or quotients matter. */
static base_value int_word(lang_word w, base_type type, const base_value *a) {
    bool wide = type == BASE_U64, sign = base_type_is_signed(type);
    unsigned width = base_type_bits(type);
    base_value r = {.u = 0};
    switch (w) {
    case LANG_ADD:
        r.u = a[0].u + a[1].u;
        break;
    case LANG_SUB:
        r.u = a[0].u - a[1].u;
        break;
    case LANG_MUL:
        r.u = a[0].u * a[1].u;
        break;
    case LANG_DIV:
    case LANG_TDIV:
        if (wide)
            r.u = a[1].u == 0 ? 0 : a[0].u / a[1].u;
        else
            r.i = w == LANG_DIV ? base_floor_div(a[0].i, a[1].i) : base_trunc_div(a[0].i, a[1].i);
        break;
    case LANG_MOD:
    case LANG_TREM:
        if (wide)
            r.u = a[1].u == 0 ? 0 : a[0].u % a[1].u;
        else
            r.i = w == LANG_MOD ? base_floor_mod(a[0].i, a[1].i) : base_trunc_rem(a[0].i, a[1].i);
        break;
    case LANG_NEG:
        r.u = 0 - a[0].u;
        break;
    case LANG_ABS:
        r.u = sign && a[0].i < 0 ? 0 - a[0].u : a[0].u;
        break;
    case LANG_MIN:
        r = (sign ? a[1].i < a[0].i : a[1].u < a[0].u) ? a[1] : a[0];
        break;
    case LANG_MAX:
        r = (sign ? a[1].i > a[0].i : a[1].u > a[0].u) ? a[1] : a[0];
        break;
    case LANG_POW:
        if (wide) {
            r.u = 1;
            for (uint64_t base = a[0].u, e = a[1].u; e != 0; e >>= 1, base *= base)
                if (e & 1)
                    r.u *= base;
        } else {
            r.i = base_ipow(a[0].i, a[1].i);
        }
        break;
    case LANG_BITAND:
        r.u = a[0].u & a[1].u;
        break;
    case LANG_BITOR:
        r.u = a[0].u | a[1].u;
        break;
    case LANG_BITXOR:
        r.u = a[0].u ^ a[1].u;
        break;
    case LANG_BITNOT:
        r.u = ~a[0].u;
        break;
    case LANG_SHL:
        r.i = base_shl(a[0].i, a[1].i, width);
        break;
    case LANG_SHR:
        if (sign)
            r.i = base_shr_signed(a[0].i, a[1].i, width);
        else
            r.u = base_shr_unsigned(a[0].u, a[1].i, width);
        break;
    case LANG_SRDHM:
        r.i = base_srdhm((int32_t)a[0].i, (int32_t)a[1].i);
        break;
    case LANG_RDIVPOT:
        r.i = base_rdivpot((int32_t)a[0].i, (int32_t)a[1].i);
        break;
    case LANG_SRDHM16:
        r.i = base_srdhm16((int16_t)a[0].i, (int16_t)a[1].i);
        break;
    default:
        assert(0 && "an integer word");
        break;
    }
    return lang_wrap(type, r);
}

static double float_word(lang_word w, double x, double y) {
    switch (w) {
    case LANG_ADD:
        return x + y;
    case LANG_SUB:
        return x - y;
    case LANG_MUL:
        return x * y;
    case LANG_DIV:
        return x / y;
    case LANG_MOD:
        return lang_float_mod(x, y);
    case LANG_NEG:
        return -x;
    case LANG_ABS:
        return fabs(x);
    case LANG_MIN:
        return base_min(x, y);
    case LANG_MAX:
        return base_max(x, y);
    case LANG_FMOD:
        return base_fmod(x, y);
    case LANG_POW:
        return base_pow(x, y);
    case LANG_FLOOR:
        return base_floor(x);
    case LANG_CEIL:
        return base_ceil(x);
    case LANG_TRUNC:
        return base_trunc(x);
    case LANG_RNE:
        return base_rne(x);
    case LANG_RHA:
        return base_rha(x);
    case LANG_EXP:
        return base_exp(x);
    case LANG_EXP2:
        return base_exp2(x);
    case LANG_EXPM1:
        return base_expm1(x);
    case LANG_LOG:
        return base_log(x);
    case LANG_LOG1P:
        return base_log1p(x);
    case LANG_SQRT:
        return base_sqrt(x);
    case LANG_RSQRT:
        return base_rsqrt(x);
    case LANG_SIN:
        return base_sin(x);
    case LANG_COS:
        return base_cos(x);
    case LANG_TAN:
        return base_tan(x);
    case LANG_ASIN:
        return base_asin(x);
    case LANG_ACOS:
        return base_acos(x);
    case LANG_ATAN:
        return base_atan(x);
    case LANG_ATAN2:
        return base_atan2(x, y);
    case LANG_SINH:
        return base_sinh(x);
    case LANG_COSH:
        return base_cosh(x);
    case LANG_TANH:
        return base_tanh(x);
    case LANG_ASINH:
        return base_asinh(x);
    case LANG_ACOSH:
        return base_acosh(x);
    case LANG_ATANH:
        return base_atanh(x);
    case LANG_ERF:
        return base_erf(x);
    default:
        assert(0 && "a float word");
        return 0;
    }
}

base_value lang_word_value(lang_word w, base_type type, base_type arg_type, const base_value *a) {
    base_value r = {.u = 0};
    lang_hold hold = arg_type == BASE_NONE ? LANG_HOLD_U : lang_hold_of(arg_type);
    switch (w) {
    case LANG_LT:
        r.u = hold == LANG_HOLD_F ? a[0].f < a[1].f : hold == LANG_HOLD_I ? a[0].i < a[1].i : a[0].u < a[1].u;
        return r;
    case LANG_LE:
        r.u = hold == LANG_HOLD_F ? a[0].f <= a[1].f : hold == LANG_HOLD_I ? a[0].i <= a[1].i : a[0].u <= a[1].u;
        return r;
    case LANG_EQ:
        r.u = hold == LANG_HOLD_F ? a[0].f == a[1].f : a[0].u == a[1].u;
        return r;
    case LANG_AND:
        r.u = a[0].u != 0 && a[1].u != 0;
        return r;
    case LANG_OR:
        r.u = a[0].u != 0 || a[1].u != 0;
        return r;
    case LANG_NOT:
        r.u = a[0].u == 0;
        return r;
    case LANG_IF:
        return a[0].u != 0 ? a[1] : a[2];
    case LANG_ISNAN:
        r.u = isnan(a[0].f) ? 1u : 0u;
        return r;
    case LANG_ISINF:
        r.u = isinf(a[0].f) ? 1u : 0u;
        return r;
    case LANG_CLZ: {
        unsigned width = base_type_bits(arg_type);
        uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
        r.i = base_clz(a[0].u & mask, width);
        return r;
    }
    case LANG_CAST:
        return lang_convert(type, arg_type, a[0]);
    case LANG_SAT:
        return lang_saturate(type, arg_type, a[0]);
    case LANG_BITS:
        return lang_bits(type, arg_type, a[0]);
    default:
        break;
    }
    if (!base_type_is_float(type))
        return int_word(w, type, a);
    r.f = base_round_to(type, float_word(w, a[0].f, lang_word_arity(w) > 1 ? a[1].f : 0.0));
    return r;
}
