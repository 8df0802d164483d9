/* eval_rows.c - what words, selections and reductions do on rows.
 *
 * Takes registers of the machine. Gives for each point exactly what lang_word_value gives: a kernel that is written out
 * here is a plain loop that compilers vectorise; every other word goes through the general kernel, point by point.
 * Does not wrap narrow integers unless said: the compiler adds lang_eval_wrap_kernel where a value can leave its type.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "lang/eval_private.h"

lang_eval_class lang_eval_class_of(base_type t) {
    switch (t) {
    case BASE_F64:
        return LANG_EVAL_F64;
    case BASE_I64:
    case BASE_U64:
    case BASE_U32:
    case BASE_STR:
        return LANG_EVAL_I64;
    case BASE_BOOL:
        return LANG_EVAL_B8;
    default:
        return base_type_is_float(t) ? LANG_EVAL_F32 : LANG_EVAL_I32;
    }
}

base_value lang_eval_get(const lang_eval_machine *m, uint32_t reg, lang_eval_class c, size_t j) {
    base_value v = {.u = 0};
    switch (c) {
    case LANG_EVAL_I32:
        v.i = LANG_EVAL_AT(m, int32_t, reg)[j];
        break;
    case LANG_EVAL_I64:
        v.i = LANG_EVAL_AT(m, int64_t, reg)[j];
        break;
    case LANG_EVAL_F32:
        v.f = (double)LANG_EVAL_AT(m, float, reg)[j];
        break;
    case LANG_EVAL_F64:
        v.f = LANG_EVAL_AT(m, double, reg)[j];
        break;
    case LANG_EVAL_B8:
        v.u = LANG_EVAL_AT(m, uint8_t, reg)[j];
        break;
    }
    return v;
}

void lang_eval_put(const lang_eval_machine *m, uint32_t reg, lang_eval_class c, size_t j, base_value v) {
    switch (c) {
    case LANG_EVAL_I32:
        LANG_EVAL_AT(m, int32_t, reg)[j] = (int32_t)v.i;
        break;
    case LANG_EVAL_I64:
        LANG_EVAL_AT(m, int64_t, reg)[j] = v.i;
        break;
    case LANG_EVAL_F32:
        LANG_EVAL_AT(m, float, reg)[j] = (float)v.f;
        break;
    case LANG_EVAL_F64:
        LANG_EVAL_AT(m, double, reg)[j] = v.f;
        break;
    case LANG_EVAL_B8:
        LANG_EVAL_AT(m, uint8_t, reg)[j] = v.u != 0;
        break;
    }
}

static void general(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    unsigned arity = lang_word_arity((lang_word)i->word);
    base_value arg[2] = {{.u = 0}, {.u = 0}};
    for (size_t j = 0; j < n; j++) {
        arg[0] = lang_eval_get(m, i->a, (lang_eval_class)i->acls, (i->rows & LANG_EVAL_ROW_A) != 0 ? j : 0);
        if (arity > 1) {
            arg[1] = lang_eval_get(m, i->b, (lang_eval_class)i->bcls, (i->rows & LANG_EVAL_ROW_B) != 0 ? j : 0);
        }
        lang_eval_put(m, i->d, (lang_eval_class)i->cls, j,
                      lang_word_value((lang_word)i->word, (base_type)i->type, (base_type)i->atype, arg));
    }
}

/* ---- elementwise kernels ---- */

#define UNARY(name, TA, TD, expr)                                                                                      \
    static void name(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {                                   \
        TD *restrict d = LANG_EVAL_AT(m, TD, i->d);                                                                    \
        const TA *restrict a = LANG_EVAL_AT(m, TA, i->a);                                                              \
        if ((i->rows & LANG_EVAL_ROW_A) == 0) {                                                                        \
            n = 1;                                                                                                     \
        }                                                                                                              \
        for (size_t j = 0; j < n; j++) {                                                                               \
            TA x = a[j];                                                                                               \
            d[j] = (expr);                                                                                             \
        }                                                                                                              \
    }

#define BINARY(name, TA, TD, expr)                                                                                     \
    static void name(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {                                   \
        TD *restrict d = LANG_EVAL_AT(m, TD, i->d);                                                                    \
        const TA *a = LANG_EVAL_AT(m, TA, i->a);                                                                       \
        const TA *b = LANG_EVAL_AT(m, TA, i->b);                                                                       \
        unsigned form = i->rows & (LANG_EVAL_ROW_A | LANG_EVAL_ROW_B);                                                 \
        if (form == (LANG_EVAL_ROW_A | LANG_EVAL_ROW_B)) {                                                             \
            for (size_t j = 0; j < n; j++) {                                                                           \
                TA x = a[j], y = b[j];                                                                                 \
                d[j] = (expr);                                                                                         \
            }                                                                                                          \
        } else if (form == LANG_EVAL_ROW_A) {                                                                          \
            TA y = b[0];                                                                                               \
            for (size_t j = 0; j < n; j++) {                                                                           \
                TA x = a[j];                                                                                           \
                d[j] = (expr);                                                                                         \
            }                                                                                                          \
        } else if (form == LANG_EVAL_ROW_B) {                                                                          \
            TA x = a[0];                                                                                               \
            for (size_t j = 0; j < n; j++) {                                                                           \
                TA y = b[j];                                                                                           \
                d[j] = (expr);                                                                                         \
            }                                                                                                          \
        } else {                                                                                                       \
            TA x = a[0], y = b[0];                                                                                     \
            d[0] = (expr);                                                                                             \
        }                                                                                                              \
    }

#define U32(x) ((uint32_t)(x))
#define U64(x) ((uint64_t)(x))

BINARY(add_i32, int32_t, int32_t, (int32_t)(U32(x) + U32(y)))
BINARY(sub_i32, int32_t, int32_t, (int32_t)(U32(x) - U32(y)))
BINARY(mul_i32, int32_t, int32_t, (int32_t)(U32(x) * U32(y)))
BINARY(min_i32, int32_t, int32_t, y < x ? y : x)
BINARY(max_i32, int32_t, int32_t, y > x ? y : x)
BINARY(div_i32, int32_t, int32_t, (int32_t)base_floor_div(x, y))
BINARY(mod_i32, int32_t, int32_t, (int32_t)base_floor_mod(x, y))
BINARY(tdiv_i32, int32_t, int32_t, (int32_t)base_trunc_div(x, y))
BINARY(trem_i32, int32_t, int32_t, (int32_t)base_trunc_rem(x, y))
BINARY(and_i32, int32_t, int32_t, x &y)
BINARY(or_i32, int32_t, int32_t, x | y)
BINARY(xor_i32, int32_t, int32_t, x ^ y)
BINARY(lt_i32, int32_t, uint8_t, x < y)
BINARY(le_i32, int32_t, uint8_t, x <= y)
BINARY(eq_i32, int32_t, uint8_t, x == y)
UNARY(neg_i32, int32_t, int32_t, (int32_t)(0u - U32(x)))
UNARY(abs_i32, int32_t, int32_t, x < 0 ? (int32_t)(0u - U32(x)) : x)
UNARY(not_i32, int32_t, int32_t, ~x)

BINARY(add_i64, int64_t, int64_t, (int64_t)(U64(x) + U64(y)))
BINARY(sub_i64, int64_t, int64_t, (int64_t)(U64(x) - U64(y)))
BINARY(mul_i64, int64_t, int64_t, (int64_t)(U64(x) * U64(y)))
BINARY(min_i64, int64_t, int64_t, y < x ? y : x)
BINARY(max_i64, int64_t, int64_t, y > x ? y : x)
BINARY(div_i64, int64_t, int64_t, base_floor_div(x, y))
BINARY(mod_i64, int64_t, int64_t, base_floor_mod(x, y))
BINARY(tdiv_i64, int64_t, int64_t, base_trunc_div(x, y))
BINARY(trem_i64, int64_t, int64_t, base_trunc_rem(x, y))
BINARY(and_i64, int64_t, int64_t, x &y)
BINARY(or_i64, int64_t, int64_t, x | y)
BINARY(xor_i64, int64_t, int64_t, x ^ y)
BINARY(lt_i64, int64_t, uint8_t, x < y)
BINARY(le_i64, int64_t, uint8_t, x <= y)
BINARY(eq_i64, int64_t, uint8_t, x == y)
BINARY(lt_u64, uint64_t, uint8_t, x < y)
BINARY(le_u64, uint64_t, uint8_t, x <= y)
BINARY(min_u64, uint64_t, uint64_t, y < x ? y : x)
BINARY(max_u64, uint64_t, uint64_t, y > x ? y : x)
UNARY(neg_i64, int64_t, int64_t, (int64_t)(0u - U64(x)))
UNARY(abs_i64, int64_t, int64_t, x < 0 ? (int64_t)(0u - U64(x)) : x)
UNARY(not_i64, int64_t, int64_t, ~x)

BINARY(and_b8, uint8_t, uint8_t, x &y)
BINARY(or_b8, uint8_t, uint8_t, x | y)
BINARY(eq_b8, uint8_t, uint8_t, x == y)
UNARY(not_b8, uint8_t, uint8_t, x ^ 1)

/* NaN if either is; -0 below +0. */
static inline double min_f64_of(double x, double y) {
    return x < y ? x : y < x ? y : x == y ? (signbit(x) ? x : y) : x + y;
}
static inline double max_f64_of(double x, double y) {
    return x > y ? x : y > x ? y : x == y ? (signbit(x) ? y : x) : x + y;
}
static inline float min_f32_of(float x, float y) {
    return x < y ? x : y < x ? y : x == y ? (signbit(x) ? x : y) : x + y;
}
static inline float max_f32_of(float x, float y) {
    return x > y ? x : y > x ? y : x == y ? (signbit(x) ? y : x) : x + y;
}

#define FLOATS(S, T)                                                                                                   \
    BINARY(add_##S, T, T, x + y)                                                                                       \
    BINARY(sub_##S, T, T, x - y)                                                                                       \
    BINARY(mul_##S, T, T, x *y)                                                                                        \
    BINARY(div_##S, T, T, x / y)                                                                                       \
    BINARY(min_##S, T, T, min_##S##_of(x, y))                                                                          \
    BINARY(max_##S, T, T, max_##S##_of(x, y))                                                                          \
    BINARY(lt_##S, T, uint8_t, x < y)                                                                                  \
    BINARY(le_##S, T, uint8_t, x <= y)                                                                                 \
    BINARY(eq_##S, T, uint8_t, x == y)                                                                                 \
    UNARY(neg_##S, T, T, -x)                                                                                           \
    UNARY(isnan_##S, T, uint8_t, x != x)                                                                               \
    UNARY(floor_##S, T, T, (T)base_floor((double)x))                                                                   \
    UNARY(ceil_##S, T, T, (T)base_ceil((double)x))                                                                     \
    UNARY(trunc_##S, T, T, (T)base_trunc((double)x))                                                                   \
    UNARY(rne_##S, T, T, (T)base_rne((double)x))                                                                       \
    UNARY(rha_##S, T, T, (T)base_rha((double)x))                                                                       \
    UNARY(sqrt_##S, T, T, (T)base_sqrt((double)x))                                                                     \
    UNARY(exp_##S, T, T, (T)base_exp((double)x))                                                                       \
    UNARY(tanh_##S, T, T, (T)base_tanh((double)x))

FLOATS(f32, float)
FLOATS(f64, double)
UNARY(abs_f32, float, float, fabsf(x))
UNARY(abs_f64, double, double, fabs(x))

/* Fixed point, as base_srdhm and base_rdivpot, written so that they inline. */
static inline int32_t srdhm(int32_t x, int32_t y) {
    int64_t product = (int64_t)x * y;
    int64_t nudge = product >= 0 ? (int64_t)1 << 30 : 1 - ((int64_t)1 << 30);
    int64_t sum = product + nudge;
    int64_t quotient = (sum + (sum < 0 ? ((int64_t)1 << 31) - 1 : 0)) >> 31;
    return quotient > INT32_MAX ? INT32_MAX : (int32_t)quotient;
}
static inline int32_t rdivpot(int32_t x, int32_t e) {
    if (e <= 0) {
        return x;
    }
    if (e > 31) {
        return 0;
    }
    int32_t mask = (int32_t)((1u << e) - 1);
    int32_t threshold = (mask >> 1) + (x < 0);
    return (x >> e) + ((x & mask) > threshold);
}
BINARY(srdhm_i32, int32_t, int32_t, srdhm(x, y))
BINARY(rdivpot_i32, int32_t, int32_t, rdivpot(x, y))

static inline int32_t shl32(int32_t x, int32_t count, int32_t width) {
    return count <= 0 ? x : count >= width ? 0 : (int32_t)(U32(x) << count);
}
static inline int32_t shr32(int32_t x, int32_t count, int32_t width) {
    return count <= 0 ? x : x >> (count >= width ? 31 : count); /* unsigned narrow values are not negative here */
}
static inline int64_t shl64(int64_t x, int64_t count, int64_t width) {
    return count <= 0 ? x : count >= width ? 0 : (int64_t)(U64(x) << count);
}
static inline int64_t shr64(int64_t x, int64_t count, int64_t width) {
    return count <= 0 ? x : x >> (count >= width ? 63 : count);
}
BINARY(shl_i32, int32_t, int32_t, shl32(x, y, (int32_t)i->imm))
BINARY(shr_i32, int32_t, int32_t, shr32(x, y, (int32_t)i->imm))
BINARY(shl_i64, int64_t, int64_t, shl64(x, y, i->imm))
BINARY(shr_i64, int64_t, int64_t, shr64(x, y, i->imm))

/* ---- conversions ---- */

UNARY(i32_to_i64, int32_t, int64_t, x)
UNARY(i64_to_i32, int64_t, int32_t, (int32_t)U32(U64(x)))
UNARY(i32_to_f32, int32_t, float, (float)x)
UNARY(i32_to_f64, int32_t, double, (double)x)
UNARY(i64_to_f32, int64_t, float, (float)x)
UNARY(i64_to_f64, int64_t, double, (double)x)
UNARY(u64_to_f32, uint64_t, float, (float)x)
UNARY(u64_to_f64, uint64_t, double, (double)x)
UNARY(f32_to_f64, float, double, (double)x)
UNARY(f64_to_f32, double, float, (float)x)
UNARY(b8_to_i32, uint8_t, int32_t, x)
UNARY(b8_to_i64, uint8_t, int64_t, x)
UNARY(b8_to_f32, uint8_t, float, (float)x)
UNARY(b8_to_f64, uint8_t, double, (double)x)
UNARY(i32_to_b8, int32_t, uint8_t, x != 0)
UNARY(i64_to_b8, int64_t, uint8_t, x != 0)
UNARY(f32_to_b8, float, uint8_t, x != 0)
UNARY(f64_to_b8, double, uint8_t, x != 0)

/* Truncating, saturating to a type of at most 32 bits. */
#define FLOAT_TO_I32(name, T)                                                                                          \
    static void name(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {                                   \
        int32_t *restrict d = LANG_EVAL_AT(m, int32_t, i->d);                                                          \
        const T *restrict a = LANG_EVAL_AT(m, T, i->a);                                                                \
        int64_t least;                                                                                                 \
        uint64_t most;                                                                                                 \
        base_type_range((base_type)i->type, &least, &most);                                                            \
        double lo = (double)least, hi = (double)most;                                                                  \
        if ((i->rows & LANG_EVAL_ROW_A) == 0) {                                                                        \
            n = 1;                                                                                                     \
        }                                                                                                              \
        for (size_t j = 0; j < n; j++) {                                                                               \
            double x = (double)a[j];                                                                                   \
            x = x > lo ? x : lo; /* NaN gives lo here and 0 below */                                                   \
            x = x < hi ? x : hi;                                                                                       \
            d[j] = a[j] == a[j] ? (int32_t)x : 0;                                                                      \
        }                                                                                                              \
    }
FLOAT_TO_I32(f32_to_i32, float)
FLOAT_TO_I32(f64_to_i32, double)

#define CLAMP_TO_I32(name, T)                                                                                          \
    static void name(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {                                   \
        int32_t *restrict d = LANG_EVAL_AT(m, int32_t, i->d);                                                          \
        const T *restrict a = LANG_EVAL_AT(m, T, i->a);                                                                \
        int64_t least;                                                                                                 \
        uint64_t most;                                                                                                 \
        base_type_range((base_type)i->type, &least, &most);                                                            \
        T lo = (T)least, hi = (T)most;                                                                                 \
        if ((i->rows & LANG_EVAL_ROW_A) == 0) {                                                                        \
            n = 1;                                                                                                     \
        }                                                                                                              \
        for (size_t j = 0; j < n; j++) {                                                                               \
            T x = a[j] > lo ? a[j] : lo;                                                                               \
            d[j] = (int32_t)(x < hi ? x : hi);                                                                         \
        }                                                                                                              \
    }
CLAMP_TO_I32(sat_i32_i32, int32_t)
CLAMP_TO_I32(sat_i64_i32, int64_t)

static lang_eval_kernel float_kernel(lang_word w, bool wide) {
#define FLOAT_ROW(W, name)                                                                                             \
    case LANG_##W:                                                                                                     \
        return wide ? name##_f64 : name##_f32;
    switch (w) {
        FLOAT_ROW(ADD, add)
        FLOAT_ROW(SUB, sub)
        FLOAT_ROW(MUL, mul)
        FLOAT_ROW(DIV, div)
        FLOAT_ROW(MIN, min)
        FLOAT_ROW(MAX, max)
        FLOAT_ROW(NEG, neg)
        FLOAT_ROW(ABS, abs)
        FLOAT_ROW(FLOOR, floor)
        FLOAT_ROW(CEIL, ceil)
        FLOAT_ROW(TRUNC, trunc)
        FLOAT_ROW(RNE, rne)
        FLOAT_ROW(RHA, rha)
        FLOAT_ROW(SQRT, sqrt)
        FLOAT_ROW(EXP, exp)
        FLOAT_ROW(TANH, tanh)
    default:
        return general;
    }
#undef FLOAT_ROW
}

static lang_eval_kernel int_kernel(lang_word w, base_type t) {
    bool wide = lang_eval_class_of(t) == LANG_EVAL_I64;
#define INT_ROW(W, name)                                                                                               \
    case LANG_##W:                                                                                                     \
        return wide ? name##_i64 : name##_i32;
    if (t == BASE_U64) {
        switch (w) {
        case LANG_MIN:
            return min_u64;
        case LANG_MAX:
            return max_u64;
        case LANG_DIV:
        case LANG_MOD:
        case LANG_TDIV:
        case LANG_TREM:
        case LANG_ABS:
        case LANG_SHR:
            return general;
        default:
            break;
        }
    }
    switch (w) {
        INT_ROW(ADD, add)
        INT_ROW(SUB, sub)
        INT_ROW(MUL, mul)
        INT_ROW(MIN, min)
        INT_ROW(MAX, max)
        INT_ROW(DIV, div)
        INT_ROW(MOD, mod)
        INT_ROW(TDIV, tdiv)
        INT_ROW(TREM, trem)
        INT_ROW(NEG, neg)
        INT_ROW(ABS, abs)
        INT_ROW(BITAND, and)
        INT_ROW(BITOR, or)
        INT_ROW(BITXOR, xor)
        INT_ROW(BITNOT, not )
        INT_ROW(SHL, shl)
        INT_ROW(SHR, shr)
    case LANG_SRDHM:
        return srdhm_i32;
    case LANG_RDIVPOT:
        return rdivpot_i32;
    default:
        return general;
    }
#undef INT_ROW
}

static lang_eval_kernel compare_kernel(lang_word w, base_type t) {
    static const lang_eval_kernel table[5][3] = {{lt_i32, le_i32, eq_i32},
                                                 {lt_i64, le_i64, eq_i64},
                                                 {lt_f32, le_f32, eq_f32},
                                                 {lt_f64, le_f64, eq_f64},
                                                 {general, general, eq_b8}};
    unsigned k = w == LANG_LT ? 0 : w == LANG_LE ? 1 : 2;
    if (t == BASE_U64 && k < 2) {
        return k == 0 ? lt_u64 : le_u64;
    }
    return table[lang_eval_class_of(t)][k];
}

static bool narrow_float(base_type t) {
    return base_type_is_float(t) && t != BASE_F32 && t != BASE_F64;
}

static lang_eval_kernel cast_kernel(base_type to, base_type from) {
    lang_eval_class c = lang_eval_class_of(to), ac = lang_eval_class_of(from);
    if (narrow_float(to)) {
        return general;
    }
    switch (ac) {
    case LANG_EVAL_I32: {
        static const lang_eval_kernel table[5] = {NULL, i32_to_i64, i32_to_f32, i32_to_f64, i32_to_b8};
        return c == LANG_EVAL_I32 ? lang_eval_copy_kernel(c) : table[c];
    }
    case LANG_EVAL_I64: {
        static const lang_eval_kernel table[5] = {i64_to_i32, NULL, i64_to_f32, i64_to_f64, i64_to_b8};
        if (from == BASE_U64 && (c == LANG_EVAL_F32 || c == LANG_EVAL_F64)) {
            return c == LANG_EVAL_F32 ? u64_to_f32 : u64_to_f64;
        }
        return c == LANG_EVAL_I64 ? lang_eval_copy_kernel(c) : table[c];
    }
    case LANG_EVAL_F32:
    case LANG_EVAL_F64: {
        bool wide = ac == LANG_EVAL_F64;
        switch (c) {
        case LANG_EVAL_I32:
            return wide ? f64_to_i32 : f32_to_i32;
        case LANG_EVAL_F32:
            return wide ? f64_to_f32 : lang_eval_copy_kernel(c);
        case LANG_EVAL_F64:
            return wide ? lang_eval_copy_kernel(c) : f32_to_f64;
        case LANG_EVAL_B8:
            return wide ? f64_to_b8 : f32_to_b8;
        default:
            return general;
        }
    }
    case LANG_EVAL_B8: {
        static const lang_eval_kernel table[5] = {b8_to_i32, b8_to_i64, b8_to_f32, b8_to_f64, NULL};
        return c == LANG_EVAL_B8 ? lang_eval_copy_kernel(c) : table[c];
    }
    }
    return general;
}

lang_eval_kernel lang_eval_word_kernel(lang_word w, base_type type, base_type arg_type, lang_eval_class second) {
    lang_eval_class c = lang_eval_class_of(type), ac = lang_eval_class_of(arg_type);
    switch (w) {
    case LANG_LT:
    case LANG_LE:
    case LANG_EQ:
        return compare_kernel(w, arg_type);
    case LANG_AND:
        return and_b8;
    case LANG_OR:
        return or_b8;
    case LANG_NOT:
        return not_b8;
    case LANG_ISNAN:
        return ac == LANG_EVAL_F64 ? isnan_f64 : isnan_f32;
    case LANG_CAST:
        return cast_kernel(type, arg_type);
    case LANG_SAT:
        if (c == LANG_EVAL_I32 && (ac == LANG_EVAL_F32 || ac == LANG_EVAL_F64)) {
            return cast_kernel(type, arg_type);
        }
        return c == LANG_EVAL_I32 && ac == LANG_EVAL_I32                           ? sat_i32_i32
               : c == LANG_EVAL_I32 && ac == LANG_EVAL_I64 && arg_type != BASE_U64 ? sat_i64_i32
                                                                                   : general;
    case LANG_ISINF:
    case LANG_CLZ:
    case LANG_BITS:
        return general;
    default:
        break;
    }
    if (base_type_is_float(type)) {
        return narrow_float(type) ? general : float_kernel(w, type == BASE_F64);
    }
    if ((w == LANG_SHL || w == LANG_SHR) && second != c) {
        return general;
    }
    return int_kernel(w, type);
}

/* ---- selection and copies ---- */

#define SELECT(name, T)                                                                                                \
    static void name(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {                                   \
        T *restrict d = LANG_EVAL_AT(m, T, i->d);                                                                      \
        const uint8_t *restrict a = LANG_EVAL_AT(m, uint8_t, i->a);                                                    \
        const T *b = LANG_EVAL_AT(m, T, i->b), *c = LANG_EVAL_AT(m, T, i->c);                                          \
        size_t sb = (i->rows & LANG_EVAL_ROW_B) != 0, sc = (i->rows & LANG_EVAL_ROW_C) != 0;                           \
        if ((i->rows & LANG_EVAL_ROW_A) == 0) {                                                                        \
            const T *from = a[0] != 0 ? b : c;                                                                         \
            size_t s = a[0] != 0 ? sb : sc;                                                                            \
            for (size_t j = 0; j < n; j++) {                                                                           \
                d[j] = from[j * s];                                                                                    \
            }                                                                                                          \
        } else if (sb && sc) {                                                                                         \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T x = b[j], y = c[j];                                                                                  \
                d[j] = a[j] != 0 ? x : y;                                                                              \
            }                                                                                                          \
        } else if (sb) {                                                                                               \
            T y = c[0];                                                                                                \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T x = b[j];                                                                                            \
                d[j] = a[j] != 0 ? x : y;                                                                              \
            }                                                                                                          \
        } else {                                                                                                       \
            T x = b[0];                                                                                                \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T y = c[j * sc];                                                                                       \
                d[j] = a[j] != 0 ? x : y;                                                                              \
            }                                                                                                          \
        }                                                                                                              \
    }
SELECT(select_8, uint8_t)
SELECT(select_32, uint32_t)
SELECT(select_64, uint64_t)

#define COPY(name, T)                                                                                                  \
    static void name(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {                                   \
        T *restrict d = LANG_EVAL_AT(m, T, i->d);                                                                      \
        const T *restrict a = LANG_EVAL_AT(m, T, i->a);                                                                \
        size_t s = (i->rows & LANG_EVAL_ROW_A) != 0;                                                                   \
        if (s) {                                                                                                       \
            memcpy(d, a, n * sizeof *d);                                                                               \
        } else {                                                                                                       \
            T x = a[0];                                                                                                \
            for (size_t j = 0; j < n; j++) {                                                                           \
                d[j] = x;                                                                                              \
            }                                                                                                          \
        }                                                                                                              \
    }
COPY(copy_8, uint8_t)
COPY(copy_32, uint32_t)
COPY(copy_64, uint64_t)

lang_eval_kernel lang_eval_select_kernel(lang_eval_class c) {
    return lang_eval_class_size(c) == 1 ? select_8 : lang_eval_class_size(c) == 4 ? select_32 : select_64;
}

lang_eval_kernel lang_eval_copy_kernel(lang_eval_class c) {
    return lang_eval_class_size(c) == 1 ? copy_8 : lang_eval_class_size(c) == 4 ? copy_32 : copy_64;
}

/* ---- wrapping narrow integers in place ---- */

#define WRAP(name, T, expr)                                                                                            \
    static void name(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {                                   \
        T *d = LANG_EVAL_AT(m, T, i->d);                                                                               \
        for (size_t j = 0; j < n; j++) {                                                                               \
            T x = d[j];                                                                                                \
            d[j] = (expr);                                                                                             \
        }                                                                                                              \
    }
#define SIGNED_BITS(x, bits) ((int32_t)(U32(x) << (32 - (bits))) >> (32 - (bits)))
WRAP(wrap_i16, int32_t, SIGNED_BITS(x, 16))
WRAP(wrap_i8, int32_t, SIGNED_BITS(x, 8))
WRAP(wrap_i4, int32_t, SIGNED_BITS(x, 4))
WRAP(wrap_i2, int32_t, SIGNED_BITS(x, 2))
WRAP(wrap_u16, int32_t, x & 0xffff)
WRAP(wrap_u8, int32_t, x & 0xff)
WRAP(wrap_u4, int32_t, x & 0xf)
WRAP(wrap_u2, int32_t, x & 0x3)
WRAP(wrap_u32, int64_t, x &INT64_C(0xffffffff))

lang_eval_kernel lang_eval_wrap_kernel(base_type t) {
    switch (t) {
    case BASE_I16:
        return wrap_i16;
    case BASE_I8:
        return wrap_i8;
    case BASE_I4:
        return wrap_i4;
    case BASE_I2:
        return wrap_i2;
    case BASE_U32:
    case BASE_STR:
        return wrap_u32;
    case BASE_U16:
        return wrap_u16;
    case BASE_U8:
        return wrap_u8;
    case BASE_U4:
        return wrap_u4;
    case BASE_U2:
        return wrap_u2;
    default:
        return NULL;
    }
}

/* ---- indices ---- */

void lang_eval_multiply_add(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    int64_t *restrict d = LANG_EVAL_AT(m, int64_t, i->d);
    const int64_t *a = LANG_EVAL_AT(m, int64_t, i->a), *b = LANG_EVAL_AT(m, int64_t, i->b);
    size_t sa = (i->rows & LANG_EVAL_ROW_A) != 0, sb = (i->rows & LANG_EVAL_ROW_B) != 0;
    uint64_t k = U64(i->imm);
    for (size_t j = 0; j < n; j++) {
        d[j] = (int64_t)(U64(a[j * sa]) + U64(b[j * sb]) * k);
    }
}

void lang_eval_inside(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    uint8_t *restrict d = LANG_EVAL_AT(m, uint8_t, i->d);
    const int64_t *a = LANG_EVAL_AT(m, int64_t, i->a);
    const uint8_t *c = i->c != 0 ? LANG_EVAL_AT(m, uint8_t, i->c) : NULL;
    size_t sa = (i->rows & LANG_EVAL_ROW_A) != 0, sc = (i->rows & LANG_EVAL_ROW_C) != 0;
    uint64_t extent = U64(i->imm);
    for (size_t j = 0; j < n; j++) {
        uint8_t inside = U64(a[j * sa]) < extent;
        d[j] = c != NULL ? (uint8_t)(inside & c[j * sc]) : inside;
    }
}

void lang_eval_row_max(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    const int64_t *a = LANG_EVAL_AT(m, int64_t, i->a);
    int64_t most = 0;
    for (size_t j = 0; j < n; j++) {
        most = a[j] > most ? a[j] : most;
    }
    LANG_EVAL_AT(m, int64_t, i->d)[0] = most;
}

/* ---- reductions ---- */

#define ACCUMULATE(name, T, expr)                                                                                      \
    static void name(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {                                   \
        T *restrict d = LANG_EVAL_AT(m, T, i->d);                                                                      \
        const T *restrict a = LANG_EVAL_AT(m, T, i->a);                                                                \
        const uint8_t *restrict b = LANG_EVAL_AT(m, uint8_t, i->b);                                                    \
        if (i->b != 0) {                                                                                               \
            size_t s = (i->rows & LANG_EVAL_ROW_A) != 0;                                                               \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T x = d[j], y = a[j * s];                                                                              \
                T z = (expr);                                                                                          \
                d[j] = b[j] != 0 ? z : x;                                                                              \
            }                                                                                                          \
        } else if ((i->rows & LANG_EVAL_ROW_A) != 0) {                                                                 \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T x = d[j], y = a[j];                                                                                  \
                d[j] = (expr);                                                                                         \
            }                                                                                                          \
        } else {                                                                                                       \
            T y = a[0];                                                                                                \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T x = d[j];                                                                                            \
                d[j] = (expr);                                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void close_##name(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {                           \
        T *d = LANG_EVAL_AT(m, T, i->d);                                                                               \
        const T *a = LANG_EVAL_AT(m, T, i->a);                                                                         \
        const uint8_t *b = LANG_EVAL_AT(m, uint8_t, i->b);                                                             \
        T x = d[0];                                                                                                    \
        if (i->b != 0 || (i->rows & LANG_EVAL_ROW_A) == 0) {                                                           \
            size_t s = (i->rows & LANG_EVAL_ROW_A) != 0;                                                               \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T y = a[j * s];                                                                                        \
                T z = (expr);                                                                                          \
                x = i->b == 0 || b[j] != 0 ? z : x;                                                                    \
            }                                                                                                          \
        } else {                                                                                                       \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T y = a[j];                                                                                            \
                x = (expr);                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
        d[0] = x;                                                                                                      \
    }

ACCUMULATE(sum_i32, uint32_t, x + y)
ACCUMULATE(sum_i64, uint64_t, x + y)
ACCUMULATE(sum_f32, float, x + y)
ACCUMULATE(sum_f64, double, x + y)
ACCUMULATE(prod_i32, uint32_t, x *y)
ACCUMULATE(prod_i64, uint64_t, x *y)
ACCUMULATE(prod_f32, float, x *y)
ACCUMULATE(prod_f64, double, x *y)
ACCUMULATE(rmax_i32, int32_t, y > x ? y : x)
ACCUMULATE(rmax_i64, int64_t, y > x ? y : x)
ACCUMULATE(rmax_u64, uint64_t, y > x ? y : x)
ACCUMULATE(rmax_f32, float, max_f32_of(x, y))
ACCUMULATE(rmax_f64, double, max_f64_of(x, y))
ACCUMULATE(rmax_b8, uint8_t, y > x ? y : x)
ACCUMULATE(rmin_i32, int32_t, y < x ? y : x)
ACCUMULATE(rmin_i64, int64_t, y < x ? y : x)
ACCUMULATE(rmin_u64, uint64_t, y < x ? y : x)
ACCUMULATE(rmin_f32, float, min_f32_of(x, y))
ACCUMULATE(rmin_f64, double, min_f64_of(x, y))
ACCUMULATE(rmin_b8, uint8_t, y < x ? y : x)
ACCUMULATE(any_b8, uint8_t, x | y)
ACCUMULATE(all_b8, uint8_t, x &y)

static base_value combine(lang_reduction r, base_type t, base_value x, base_value y) {
    static const lang_word word[] = {LANG_ADD, LANG_MUL, LANG_MAX, LANG_MIN};
    base_value args[2] = {x, y};
    return lang_word_value(word[r], t, t, args);
}

/* Narrow floats: each step rounds to the type. imm: the reduction. */
static void accumulate_general(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    for (size_t j = 0; j < n; j++) {
        if (i->b == 0 || LANG_EVAL_AT(m, uint8_t, i->b)[j] != 0) {
            base_value x = lang_eval_get(m, i->d, (lang_eval_class)i->cls, j);
            base_value y = lang_eval_get(m, i->a, (lang_eval_class)i->cls, (i->rows & LANG_EVAL_ROW_A) != 0 ? j : 0);
            lang_eval_put(m, i->d, (lang_eval_class)i->cls, j,
                          combine((lang_reduction)i->imm, (base_type)i->type, x, y));
        }
    }
}

static void close_general(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    base_value x = lang_eval_get(m, i->d, (lang_eval_class)i->cls, 0);
    for (size_t j = 0; j < n; j++) {
        if (i->b == 0 || LANG_EVAL_AT(m, uint8_t, i->b)[j] != 0) {
            base_value y = lang_eval_get(m, i->a, (lang_eval_class)i->cls, (i->rows & LANG_EVAL_ROW_A) != 0 ? j : 0);
            x = combine((lang_reduction)i->imm, (base_type)i->type, x, y);
        }
    }
    lang_eval_put(m, i->d, (lang_eval_class)i->cls, 0, x);
}

/* c: bool, a point was seen. */
static void accumulate_first(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    uint8_t *seen = LANG_EVAL_AT(m, uint8_t, i->c);
    for (size_t j = 0; j < n; j++) {
        bool take = (i->b == 0 || LANG_EVAL_AT(m, uint8_t, i->b)[j] != 0) && (i->imm == LANG_LAST || seen[j] == 0);
        if (take) {
            base_value y = lang_eval_get(m, i->a, (lang_eval_class)i->cls, (i->rows & LANG_EVAL_ROW_A) != 0 ? j : 0);
            lang_eval_put(m, i->d, (lang_eval_class)i->cls, j, y);
            seen[j] = 1;
        }
    }
}

static void close_first(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    uint8_t *seen = LANG_EVAL_AT(m, uint8_t, i->c);
    bool last = i->imm == LANG_LAST;
    if (!last && seen[0] != 0) {
        return;
    }
    for (size_t k = 0; k < n; k++) {
        size_t j = last ? n - 1 - k : k;
        if (i->b == 0 || LANG_EVAL_AT(m, uint8_t, i->b)[j] != 0) {
            base_value y = lang_eval_get(m, i->a, (lang_eval_class)i->cls, (i->rows & LANG_EVAL_ROW_A) != 0 ? j : 0);
            lang_eval_put(m, i->d, (lang_eval_class)i->cls, 0, y);
            seen[0] = 1;
            return;
        }
    }
}

typedef struct fold_pair {
    lang_eval_kernel accumulate, close;
} fold_pair;

static fold_pair fold_kernels(lang_reduction r, base_type t) {
#define PAIR(name) ((fold_pair){name, close_##name})
    if (r == LANG_FIRST || r == LANG_LAST) {
        return (fold_pair){accumulate_first, close_first};
    }
    if (r == LANG_ANY || r == LANG_ALL) {
        return r == LANG_ANY ? PAIR(any_b8) : PAIR(all_b8);
    }
    if (narrow_float(t)) {
        return (fold_pair){accumulate_general, close_general};
    }
    if (t == BASE_U64 && (r == LANG_RMAX || r == LANG_RMIN)) {
        return r == LANG_RMAX ? PAIR(rmax_u64) : PAIR(rmin_u64);
    }
    const fold_pair table[4][5] = {
        {PAIR(sum_i32), PAIR(sum_i64), PAIR(sum_f32), PAIR(sum_f64), PAIR(any_b8)},
        {PAIR(prod_i32), PAIR(prod_i64), PAIR(prod_f32), PAIR(prod_f64), PAIR(all_b8)},
        {PAIR(rmax_i32), PAIR(rmax_i64), PAIR(rmax_f32), PAIR(rmax_f64), PAIR(rmax_b8)},
        {PAIR(rmin_i32), PAIR(rmin_i64), PAIR(rmin_f32), PAIR(rmin_f64), PAIR(rmin_b8)},
    };
    return table[r][lang_eval_class_of(t)];
#undef PAIR
}

lang_eval_kernel lang_eval_accumulate_kernel(lang_reduction r, base_type t) {
    return fold_kernels(r, t).accumulate;
}

lang_eval_kernel lang_eval_close_kernel(lang_reduction r, base_type t) {
    return fold_kernels(r, t).close;
}
