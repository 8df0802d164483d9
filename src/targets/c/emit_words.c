/* emit_words.c - the words of the language in C: types, constants, and the helper functions that a module carries.
 *
 * Takes names. Gives texts. Every helper is total and free of undefined behaviour; each is written only if it is used.
 * In helper texts `$` is the module's prefix; `@T` `@U` `@S` are the C type, its unsigned counterpart and the suffix
 * that the helper is asked for with. The floats' words are libm's.
 */
#include <assert.h>
#include <string.h>

#include "targets/c/emit.h"

/* ---- types and constants ---- */

const char *c_storage_type(base_type t) {
    static const char *const names[BASE_TYPE_COUNT] = {
        [BASE_F64] = "double",   [BASE_F32] = "float",    [BASE_F16] = "uint16_t", [BASE_BF16] = "uint16_t",
        [BASE_I64] = "int64_t",  [BASE_I32] = "int32_t",  [BASE_I16] = "int16_t",  [BASE_I8] = "int8_t",
        [BASE_U64] = "uint64_t", [BASE_U32] = "uint32_t", [BASE_U16] = "uint16_t",
        [BASE_STR] = "uint32_t",
    };
    return names[t] ? names[t] : "uint8_t";
}

const char *c_value_type(base_type t) {
    if (c_is_small_float(t)) {
        return "float";
    }
    if (t == BASE_I4 || t == BASE_I2) {
        return "int8_t";
    }
    return t == BASE_BOOL ? "int" : c_storage_type(t);
}

bool c_is_packed(base_type t) {
    return base_type_bits(t) < 8;
}

bool c_is_small_float(base_type t) {
    return base_type_is_float(t) && t != BASE_F64 && t != BASE_F32;
}

static const char *float_constant(base_arena *arena, base_type t, double v) {
    bool wide = t == BASE_F64;
    base_text text = {.arena = arena};
    if (v != v) {
        return wide ? "((double)NAN)" : "((float)NAN)";
    }
    if (v > 1.7976931348623157e308 || v < -1.7976931348623157e308) {
        const char *infinity = wide ? "((double)INFINITY)" : "((float)INFINITY)";
        return v > 0 ? infinity : base_printf(arena, "(-%s)", infinity);
    }
    bool negative = v < 0 || (v == 0 && 1 / v < 0);
    if (negative) {
        base_puts(&text, "(");
    }
    size_t start = text.n;
    if (wide) {
        base_put_float(&text, v);
    } else {
        base_put_float32(&text, (float)v);
    }
    if (strpbrk(text.at + start, ".en") == NULL) {
        base_puts(&text, ".0");
    }
    base_puts(&text, wide ? "" : "f");
    base_puts(&text, negative ? ")" : "");
    return text.at;
}

const char *c_constant(base_arena *arena, base_type t, base_value v) {
    if (base_type_is_float(t)) {
        return float_constant(arena, t, v.f);
    }
    switch (t) {
    case BASE_I64:
        return v.i == INT64_MIN ? "(-INT64_C(9223372036854775807) - 1)"
                                : base_printf(arena, v.i < 0 ? "(-INT64_C(%llu))" : "INT64_C(%llu)",
                                              (unsigned long long)(v.i < 0 ? 0 - (uint64_t)v.i : (uint64_t)v.i));
    case BASE_U64:
        return base_printf(arena, "UINT64_C(%llu)", (unsigned long long)v.u);
    case BASE_U32:
    case BASE_STR:
        return base_printf(arena, "%lluu", (unsigned long long)v.u);
    default:
        if (v.i == INT32_MIN) {
            return "(-2147483647 - 1)";
        }
        return base_printf(arena, v.i < 0 ? "(%lld)" : "%lld", (long long)v.i);
    }
}

/* ---- helper functions ---- */

typedef struct c_template {
    const char *name; /* ends with _@S where the type varies */
    const char *text;
} c_template;

/* clang-format off */
static const c_template templates[] = {
{"sar_@S", "/* arithmetic shift on every compiler; those that have it fold this to one instruction */\n"
 "static inline @T $_sar_@S(@T x, int32_t n) {\n    return x < 0 ? ~(~x >> n) : x >> n;\n}\n"},
{"min_@S", "static inline @T $_min_@S(@T a, @T b) {\n    return b < a ? b : a;\n}\n"},
{"max_@S", "static inline @T $_max_@S(@T a, @T b) {\n    return b > a ? b : a;\n}\n"},
{"abs_@S", "static inline @T $_abs_@S(@T a) {\n    return a < 0 ? (@T)(0 - (@U)a) : a;\n}\n"},
{"tdiv_@S", "/* by 0: 0; the least by -1 wraps */\n"
 "static inline @T $_tdiv_@S(@T a, @T b) {\n    return b == 0 ? 0 : b == -1 ? (@T)(0 - (@U)a) : a / b;\n}\n"},
{"trem_@S", "static inline @T $_trem_@S(@T a, @T b) {\n    return b == 0 || b == -1 ? 0 : a % b;\n}\n"},
{"fdiv_@S", "/* toward minus infinity; by 0: 0 */\n"
 "static inline @T $_fdiv_@S(@T a, @T b) {\n    @T q = $_tdiv_@S(a, b);\n"
 "    return $_trem_@S(a, b) != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;\n}\n"},
{"fmod_@S", "/* the sign of b; by 0: 0 */\n"
 "static inline @T $_fmod_@S(@T a, @T b) {\n    @T r = $_trem_@S(a, b);\n"
 "    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;\n}\n"},
{"udiv_@S", "static inline @T $_udiv_@S(@T a, @T b) {\n    return b == 0 ? 0 : a / b;\n}\n"},
{"urem_@S", "static inline @T $_urem_@S(@T a, @T b) {\n    return b == 0 ? 0 : a % b;\n}\n"},
{"shl_@S", "/* counts below 0 are 0, from the width on: 0 */\n"
 "static inline @T $_shl_@S(@T a, int64_t n, int32_t width) {\n"
 "    return n <= 0 ? a : n >= width ? 0 : (@T)((@U)a << n);\n}\n"},
{"shr_@S", "static inline @T $_shr_@S(@T a, int64_t n, int32_t width) {\n"
 "    return n <= 0 ? a : $_sar_@S(a, n >= width ? width - 1 : (int32_t)n);\n}\n"},
{"ushr_@S", "static inline @T $_ushr_@S(@T a, int64_t n, int32_t width) {\n"
 "    return n <= 0 ? a : n >= width ? 0 : (@T)(a >> n);\n}\n"},
{"pow_@S", "/* wraps */\n"
 "static inline @T $_pow_@S(@T a, @T e) {\n    @U r = 1, b = (@U)a;\n"
 "    if (e < 0) {\n        return a == 1 ? 1 : a == -1 ? ((e & 1) != 0 ? -1 : 1) : 0;\n    }\n"
 "    for (; e != 0; e /= 2, b *= b) {\n        if ((e & 1) != 0) {\n            r *= b;\n        }\n    }\n"
 "    return (@T)r;\n}\n"},
{"upow_@S", "static inline @T $_upow_@S(@T a, @T e) {\n    @T r = 1;\n"
 "    for (; e != 0; e >>= 1, a *= a) {\n        if ((e & 1) != 0) {\n            r *= a;\n        }\n    }\n    return r;\n}\n"},
{"clz_@S", "static inline int32_t $_clz_@S(@U a) {\n    int32_t n = 0;\n    if (a == 0) {\n        return (int32_t)(8 * sizeof a);\n    }\n"
 "#if defined(__GNUC__)\n"
 "    n = sizeof a == 4 ? __builtin_clz((unsigned int)a) - (int32_t)(8 * sizeof(unsigned int) - 32) : __builtin_clzll(a);\n"
 "#else\n    for (; (a >> (8 * sizeof a - 1)) == 0; a <<= 1) {\n        n++;\n    }\n#endif\n    return n;\n}\n"},
/* x held in [-2^(bits-1), 2^(bits-1)) or [0, 2^bits) */
{"wrap_signed", "static inline int8_t $_wrap_signed(int32_t x, int32_t bits) {\n"
 "    uint32_t half = 1u << (bits - 1);\n"
 "    return (int8_t)((int32_t)(((uint32_t)x & (2u * half - 1u)) ^ half) - (int32_t)half);\n}\n"},
{"get_unsigned", "/* packed elements, low bits first */\n"
 "static inline uint8_t $_get_unsigned(const uint8_t *p, uint32_t i, uint32_t bits) {\n"
 "    uint32_t n = 8u / bits;\n    return (uint8_t)((uint32_t)(p[i / n] >> (i % n * bits)) & ((1u << bits) - 1u));\n}\n"},
{"get_signed", "static inline int8_t $_get_signed(const uint8_t *p, uint32_t i, uint32_t bits) {\n"
 "    return $_wrap_signed($_get_unsigned(p, i, bits), (int32_t)bits);\n}\n"},
{"put_packed", "static inline void $_put_packed(uint8_t *p, uint32_t i, uint32_t bits, uint32_t v) {\n"
 "    uint32_t n = 8u / bits, shift = i % n * bits, mask = ((1u << bits) - 1u) << shift;\n"
 "    p[i / n] = (uint8_t)((p[i / n] & ~mask) | ((v << shift) & mask));\n}\n"},
/* fixed point */
{"srdhm", "/* a * b / 2^31, rounded half up; saturates its one overflow */\n"
 "static inline int32_t $_srdhm(int32_t a, int32_t b) {\n"
 "    return a == b && a == INT32_MIN ? INT32_MAX : (int32_t)$_sar_i64((int64_t)a * b + 1073741824, 31);\n}\n"},
{"srdhm_fast", "/* not for a = b = INT32_MIN */\n"
 "static inline int32_t $_srdhm_fast(int32_t a, int32_t b) {\n"
 "    return (int32_t)(uint32_t)((uint64_t)((int64_t)a * b + 1073741824) >> 31);\n}\n"},
{"srdhm16", "static inline int16_t $_srdhm16(int16_t a, int16_t b) {\n"
 "    return a == b && a == INT16_MIN ? INT16_MAX : (int16_t)$_sar_i32((int32_t)a * b + 16384, 15);\n}\n"},
{"rdivpot", "/* x / 2^e, ties away from zero; e below 1: x, above 31: 0 */\n"
 "static inline int32_t $_rdivpot(int32_t x, int32_t e) {\n    int64_t half;\n    if (e <= 0 || e > 31) {\n        return e <= 0 ? x : 0;\n    }\n"
 "    half = (int64_t)1 << (e - 1);\n    return (int32_t)$_sar_i64((int64_t)x + half - (x < 0), e);\n}\n"},
{"rdivpot_fast", "/* 1 <= e <= 31, x + 2^(e-1) in range */\n"
 "static inline int32_t $_rdivpot_fast(int32_t x, int32_t e) {\n"
 "    return $_sar_i32(x + (int32_t)(1u << (e - 1)) + $_sar_i32(x, 31), e);\n}\n"},
{"requantize", "/* rdivpot(srdhm(x, m), e) for m >= 2^30, 1 <= e <= 31 and |x| + 2^(e-1) in range: the sign of the product is x's */\n"
 "static inline int32_t $_requantize(int32_t x, int32_t m, int32_t e) {\n"
 "    return $_sar_i32($_srdhm_fast(x, m) + (int32_t)(1u << (e - 1)) + $_sar_i32(x, 31), e);\n}\n"},
{"requantize_wide", "/* the same for |x| < 2^30: the rounded high word of a product */\n"
 "static inline int32_t $_requantize_wide(int32_t x, int32_t m, int32_t e) {\n"
 "    int32_t t = (int32_t)(uint32_t)((uint64_t)((int64_t)(2 * x) * m + INT64_C(0x80000000)) >> 32);\n"
 "    return $_sar_i32(t + (int32_t)(1u << (e - 1)) + $_sar_i32(x, 31), e);\n}\n"},
{"requantize_any", "/* the same for 0 <= e <= 31 */\n"
 "static inline int32_t $_requantize_any(int32_t x, int32_t m, int32_t e) {\n"
 "    return $_sar_i32($_srdhm_fast(x, m) + (int32_t)((1u << e) >> 1) + (e > 0 ? $_sar_i32(x, 31) : 0), e);\n}\n"},
{"mulhi", "/* the high word of the product */\n"
 "static inline int32_t $_mulhi(int32_t a, int32_t b) {\n    return (int32_t)(uint32_t)((uint64_t)((int64_t)a * b) >> 32);\n}\n"},
{"mulhi_16", "/* the high word of the product, by products that have 32 bits */\n"
 "static inline int32_t $_mulhi_16(int32_t a, int32_t b) {\n"
 "    uint32_t al = (uint32_t)a & 0xffffu, bl = (uint32_t)b & 0xffffu;\n"
 "    int32_t ah = $_sar_i32(a, 16), bh = $_sar_i32(b, 16), m = ah * (int32_t)bl + (int32_t)(al * bl >> 16);\n"
 "    return ah * bh + $_sar_i32(m, 16) + $_sar_i32((int32_t)al * bh + (m & 0xffff), 16);\n}\n"},
/* floats: min and max propagate NaN, -0 < +0 */
{"min_f32", "static inline float $_min_f32(float a, float b) {\n"
 "    return a < b ? a : b < a ? b : a == b ? (a != 0.0f || signbit(a) ? a : b) : a + b;\n}\n"},
{"max_f32", "static inline float $_max_f32(float a, float b) {\n"
 "    return a > b ? a : b > a ? b : a == b ? (a != 0.0f || signbit(b) ? a : b) : a + b;\n}\n"},
{"min_f64", "static inline double $_min_f64(double a, double b) {\n"
 "    return a < b ? a : b < a ? b : a == b ? (a != 0.0 || signbit(a) ? a : b) : a + b;\n}\n"},
{"max_f64", "static inline double $_max_f64(double a, double b) {\n"
 "    return a > b ? a : b > a ? b : a == b ? (a != 0.0 || signbit(b) ? a : b) : a + b;\n}\n"},
/* b is a constant, not NaN; +0 for max, -0 for min, where it is a zero */
{"min_with_f32", "static inline float $_min_with_f32(float a, float b) {\n    return a < b || a != a ? a : b;\n}\n"},
{"max_with_f32", "static inline float $_max_with_f32(float a, float b) {\n    return a > b || a != a ? a : b;\n}\n"},
{"mod_f32", "/* a - b * floor(a / b), exactly; the sign of b */\n"
 "static inline float $_mod_f32(float a, float b) {\n    float r = fmodf(a, b);\n"
 "    return r != 0.0f ? ((r < 0.0f) != (b < 0.0f) ? r + b : r) : copysignf(r, b);\n}\n"},
{"mod_f64", "static inline double $_mod_f64(double a, double b) {\n    double r = fmod(a, b);\n"
 "    return r != 0.0 ? ((r < 0.0) != (b < 0.0) ? r + b : r) : copysign(r, b);\n}\n"},
{"float_to_signed", "/* truncates, saturates; NaN: 0 */\n"
 "static inline int64_t $_float_to_signed(double v, int64_t lo, int64_t hi) {\n"
 "    return v != v ? 0 : v <= (double)lo ? lo : v >= (double)hi ? hi : (int64_t)v;\n}\n"},
{"float_to_unsigned", "static inline uint64_t $_float_to_unsigned(double v, uint64_t hi) {\n"
 "    return v != v || v <= 0.0 ? 0 : v >= (double)hi ? hi : (uint64_t)v;\n}\n"},
{"clamp_f64", "static inline double $_clamp_f64(double v, double lo, double hi) {\n    return v < lo ? lo : v > hi ? hi : v;\n}\n"},
{"f32_to_bits", "static inline uint32_t $_f32_to_bits(float v) {\n    uint32_t b = UINT32_C(0x7fc00000);\n"
 "    if (v == v) {\n        memcpy(&b, &v, sizeof b);\n    }\n    return b;\n}\n"},
{"f64_to_bits", "static inline uint64_t $_f64_to_bits(double v) {\n    uint64_t b = UINT64_C(0x7ff8000000000000);\n"
 "    if (v == v) {\n        memcpy(&b, &v, sizeof b);\n    }\n    return b;\n}\n"},
{"bits_to_f32", "static inline float $_bits_to_f32(uint32_t b) {\n    float v;\n    memcpy(&v, &b, sizeof v);\n    return v;\n}\n"},
{"bits_to_f64", "static inline double $_bits_to_f64(uint64_t b) {\n    double v;\n    memcpy(&v, &b, sizeof v);\n    return v;\n}\n"},
/* floats as integers that have their order, for running extremes: -0 < +0; NaN beyond all others, at the end named */
{"max_key", "/* an integer in the order of floats, NaN the largest */\n"
 "static inline int32_t $_max_key(float v) {\n    uint32_t b;\n    memcpy(&b, &v, sizeof b);\n"
 "    return (int32_t)(b & 0x7fffffffu) > 0x7f800000 ? 0x7fc00000 : (int32_t)(b ^ ((0u - (b >> 31)) >> 1));\n}\n"},
{"min_key", "/* an integer in the order of floats, NaN the least */\n"
 "static inline int32_t $_min_key(float v) {\n    uint32_t b;\n    memcpy(&b, &v, sizeof b);\n"
 "    return (int32_t)(b & 0x7fffffffu) > 0x7f800000 ? -0x7fc00001 : (int32_t)(b ^ ((0u - (b >> 31)) >> 1));\n}\n"},
{"key_to_f32", "/* the float that such an integer stands for */\n"
 "static inline float $_key_to_f32(int32_t k) {\n    uint32_t b = (uint32_t)k;\n"
 "    return $_bits_to_f32(b ^ ((0u - (b >> 31)) >> 1));\n}\n"},
/* Narrow floats: exponent bits, fraction bits, bias; special 0 IEEE, 1 no infinity (FN), 2 FNUZ, 3 finite only, 4
 * exponent only. */
{"float_from", "/* the value of a narrow float: e exponent bits, f fraction bits; special 0: IEEE, 1: FN, 2: FNUZ, 3: finite, 4: e8m0 */\n"
 "static inline float $_float_from(uint32_t bits, int32_t e, int32_t f, int32_t bias, int32_t special) {\n"
 "    uint32_t top = (1u << e) - 1u, ones = (1u << f) - 1u, exponent = (bits >> f) & top, fraction = bits & ones;\n"
 "    int negative = special != 4 && ((bits >> (e + f)) & 1u) != 0u;\n    float v;\n"
 "    if (exponent == top && (special == 0 || special == 4 || (special == 1 && fraction == ones))) {\n"
 "        if (special != 0 || fraction != 0u) {\n            return $_bits_to_f32((negative ? 0xff800000u : 0x7f800000u) |\n"
 "                                 (special == 0 ? fraction << (23 - f) : 0x400000u));\n        }\n"
 "        return negative ? -(float)INFINITY : (float)INFINITY;\n    }\n"
 "    if (special == 2 && negative && exponent == 0u && fraction == 0u) {\n        return (float)NAN;\n    }\n"
 "    if (special == 4) {\n        return ldexpf(1.0f, (int32_t)exponent - bias);\n    }\n"
 "    v = exponent != 0u ? ldexpf((float)(fraction + ones + 1u), (int32_t)exponent - bias - f) : ldexpf((float)fraction, 1 - bias - f);\n"
 "    return negative ? -v : v;\n}\n"},
{"float_to", "/* the pattern nearest to v, ties to even */\n"
 "static inline uint32_t $_float_to(double v, int32_t e, int32_t f, int32_t bias, int32_t special) {\n"
 "    uint64_t b;\n    uint32_t ones = (1u << (e + f)) - 1u, infinity = ones - ((1u << f) - 1u), sign, magnitude, largest;\n"
 "    int32_t exponent;\n    double quantum;\n    memcpy(&b, &v, sizeof b);\n"
 "    sign = (uint32_t)(b >> 63) << (e + f);\n"
 "    if (v != v) {\n        uint32_t payload = (uint32_t)((b & UINT64_C(0xfffffffffffff)) >> (52 - f));\n"
 "        return special == 0 ? sign | infinity | (payload != 0u ? payload : 1u << (f - 1)) : special == 1 ? sign | ones : special == 2 ? ones + 1u : ones;\n    }\n"
 "    exponent = (int32_t)((b >> 52) & 2047u) - 1023;\n"
 "    if (special == 4) {\n        int32_t x = exponent + 127 + (int32_t)((b >> 51) & 1u);\n"
 "        return exponent == -1023 || x < 0 ? 0u : x > 255 ? 255u : (uint32_t)x;\n    }\n"
 "    if (exponent + bias >= (1 << e)) {\n        magnitude = ones + 1u;\n    } else {\n"
 "        int32_t q = exponent + bias >= 1 ? exponent - f : 1 - bias - f;\n        quantum = rint(ldexp(fabs(v), -q));\n"
 "        magnitude = (uint32_t)((q + f + bias - 1) * (1 << f)) + (uint32_t)quantum;\n    }\n"
 "    largest = special == 0 ? infinity - 1u : special == 1 ? ones - 1u : ones;\n"
 "    if (magnitude > largest) {\n        return special == 0 ? sign | infinity : special == 3 ? sign | largest : special == 1 ? sign | ones : ones + 1u;\n    }\n"
 "    return special == 2 && magnitude == 0u ? 0u : sign | magnitude;\n}\n"},
};
/* clang-format on */

enum { TEMPLATE_COUNT = sizeof templates / sizeof *templates, SUFFIX_COUNT = 5 };
static const char *const suffixes[SUFFIX_COUNT] = {"", "i32", "i64", "u32", "u64"};
static const char *const suffix_types[SUFFIX_COUNT] = {"", "int32_t", "int64_t", "uint32_t", "uint64_t"};
static const char *const suffix_unsigned[SUFFIX_COUNT] = {"", "uint32_t", "uint64_t", "uint32_t", "uint64_t"};

struct c_helpers {
    base_arena *arena;
    const char *prefix;
    bool used[TEMPLATE_COUNT][SUFFIX_COUNT];
    base_map *made;  /* names of helpers that were made for a size */
    base_text texts; /* theirs, in order */
};

c_helpers *c_helpers_new(base_arena *arena, const char *prefix) {
    c_helpers *h = BASE_NEW(arena, c_helpers);
    h->arena = arena;
    h->prefix = prefix;
    h->made = base_map_new(arena);
    h->texts.arena = arena;
    return h;
}

void c_put_prefixed(base_text *out, const char *prefix, const char *text) {
    for (const char *at = text; *at != 0;) {
        size_t n = strcspn(at, "$");
        base_putn(out, at, n);
        at += n;
        if (*at == '$') {
            base_puts(out, prefix);
            at++;
        }
    }
}

/* Does name (n characters) fit template t, and with which suffix? */
static bool matches(const c_template *t, const char *name, size_t n, int *suffix) {
    size_t length = strlen(t->name);
    if (length < 2 || strcmp(t->name + length - 2, "@S") != 0) {
        *suffix = 0;
        return length == n && memcmp(t->name, name, n) == 0;
    }
    for (int s = 1; s < SUFFIX_COUNT; s++) {
        if (n == length - 2 + strlen(suffixes[s]) && memcmp(t->name, name, length - 2) == 0 &&
            memcmp(suffixes[s], name + length - 2, n - length + 2) == 0) {
            *suffix = s;
            return true;
        }
    }
    return false;
}

static void use(c_helpers *h, const char *name, size_t n);

static char *expand(base_arena *arena, const c_template *t, int suffix) {
    base_text text = {.arena = arena};
    for (const char *at = t->text; *at != 0; at++) {
        if (at[0] == '@' && (at[1] == 'T' || at[1] == 'U' || at[1] == 'S')) {
            base_puts(&text, at[1] == 'T'   ? suffix_types[suffix]
                             : at[1] == 'U' ? suffix_unsigned[suffix]
                                            : suffixes[suffix]);
            at++;
        } else {
            base_putn(&text, at, 1);
        }
    }
    return text.at;
}

static void use(c_helpers *h, const char *name, size_t n) {
    for (size_t k = 0; k < TEMPLATE_COUNT; k++) {
        int suffix;
        if (!matches(&templates[k], name, n, &suffix)) {
            continue;
        }
        if (h->used[k][suffix]) {
            return;
        }
        h->used[k][suffix] = true;
        /* what it calls */
        for (const char *at = strstr(expand(h->arena, &templates[k], suffix), "$_"); at != NULL;
             at = strstr(at, "$_")) {
            at += 2;
            use(h, at, strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_"));
        }
        return;
    }
    assert(false && "a helper of this name exists");
}

const char *c_helper(c_helpers *h, const char *name) {
    use(h, name, strlen(name));
    return base_printf(h->arena, "%s_%s", h->prefix, name);
}

const char *c_helper_made(c_helpers *h, const char *name, const char *text) {
    bool is_new;
    (void)base_map_put(h->made, name, strlen(name), &is_new);
    if (is_new) {
        c_put_prefixed(&h->texts, h->prefix, text);
        base_puts(&h->texts, "\n");
    }
    return base_printf(h->arena, "%s_%s", h->prefix, name);
}

bool c_helpers_use_vectors(const c_helpers *h) {
    return h->texts.n > 0;
}

void c_helpers_put(base_text *out, const c_helpers *h) {
    for (size_t k = 0; k < TEMPLATE_COUNT; k++) {
        for (int s = 0; s < SUFFIX_COUNT; s++) {
            if (h->used[k][s]) {
                c_put_prefixed(out, h->prefix, expand(h->arena, &templates[k], s));
                base_puts(out, "\n");
            }
        }
    }
    base_putn(out, h->texts.at, h->texts.n);
}
