/* types.c - the 24 element types: names, sizes, ranges, load, store, rounding, text.
 *
 * Takes raw little-endian element data of any alignment; gives exact values. Rounding is to nearest, ties to even,
 * by integer arithmetic on the bits; f32 by the hardware's conversion, which is IEEE's.
 * Does not saturate: overflow becomes infinity, or NaN where the format has none (f4e2m1 has neither and saturates).
 * Sources: IEEE 754; ONNX technical notes float8 and float4; OCP Microscaling formats 1.0 (e8m0, e2m1).
 */
#include "base/base.h"
#include "base/private.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

typedef struct type_info {
    const char *name;
    unsigned bits;
    char kind;
} type_info;

static const type_info infos[BASE_TYPE_COUNT] = {{"none", 0, 0},
#define TYPE_INFO(E, name, bits, kind) {name, bits, kind},
                                                 BASE_TYPES(TYPE_INFO)
#undef TYPE_INFO
};

static const type_info *info(base_type t) {
    assert((unsigned)t < BASE_TYPE_COUNT);
    return &infos[t];
}

const char *base_type_name(base_type t) {
    return info(t)->name;
}
unsigned base_type_bits(base_type t) {
    return info(t)->bits;
}

base_type base_type_named(const char *name, size_t n) {
    for (int t = BASE_NONE + 1; t < BASE_TYPE_COUNT; t++) {
        if (strlen(infos[t].name) == n && memcmp(infos[t].name, name, n) == 0)
            return (base_type)t;
    }
    return BASE_NONE;
}

bool base_type_bytes(base_type t, uint64_t n, uint64_t *bytes) {
    const unsigned bits = info(t)->bits;
    if (bits >= 8)
        return base_mul_size(n, bits / 8, bytes);
    const unsigned per_byte = bits ? 8 / bits : 1;
    *bytes = bits ? n / per_byte + (n % per_byte != 0) : 0;
    return true;
}

void base_type_range(base_type t, int64_t *lo, uint64_t *hi) {
    const type_info *i = info(t);
    assert(i->kind == 'i' || i->kind == 'u' || i->kind == 'b');
    const unsigned bits = i->kind == 'b' ? 1 : i->bits;
    const uint64_t all = UINT64_MAX >> (64 - bits);
    *lo = i->kind == 'i' ? -(int64_t)(all >> 1) - 1 : 0;
    *hi = i->kind == 'i' ? all >> 1 : all;
}

/* ---- narrow floats ---- */

typedef enum specials {
    IEEE,     /* the highest exponent is infinity and NaN */
    FN,       /* no infinity; NaN is all ones */
    FNUZ,     /* no infinity, no -0; NaN is where -0 would be */
    FINITE,   /* neither infinity nor NaN: both become the largest value */
    EXPONENT, /* e8m0: an exponent alone; NaN is all ones */
} specials;

typedef struct float_format {
    unsigned exponent_bits, fraction_bits;
    int bias;
    specials specials;
} float_format;

static const float_format formats[] = {
    [BASE_F32] = {8, 23, 127, IEEE},      [BASE_F16] = {5, 10, 15, IEEE},        [BASE_BF16] = {8, 7, 127, IEEE},
    [BASE_F8E4M3FN] = {4, 3, 7, FN},      [BASE_F8E4M3FNUZ] = {4, 3, 8, FNUZ},   [BASE_F8E5M2] = {5, 2, 15, IEEE},
    [BASE_F8E5M2FNUZ] = {5, 2, 16, FNUZ}, [BASE_F8E8M0] = {8, 0, 127, EXPONENT}, [BASE_F4E2M1] = {2, 1, 1, FINITE},
};

enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023, DOUBLE_SPECIAL = 2047 };

static double double_from(bool negative, int exponent, uint64_t fraction) {
    return base_double_of((uint64_t)negative << 63 | (uint64_t)exponent << DOUBLE_FRACTION | fraction);
}

/* The exact value of a pattern. A NaN keeps its sign and payload, so that copying an element keeps its bits. */
static double decode(const float_format *f, uint64_t pattern) {
    const uint64_t fraction_mask = ((uint64_t)1 << f->fraction_bits) - 1;
    const uint64_t exponent_max = ((uint64_t)1 << f->exponent_bits) - 1;
    const uint64_t fraction = pattern & fraction_mask, exponent = pattern >> f->fraction_bits & exponent_max;
    const bool negative = f->specials != EXPONENT && (pattern >> (f->fraction_bits + f->exponent_bits) & 1);
    const unsigned widen = DOUBLE_FRACTION - f->fraction_bits;
    const uint64_t quiet = (uint64_t)1 << (DOUBLE_FRACTION - 1);
    if (exponent == exponent_max) {
        if (f->specials == IEEE)
            return double_from(negative, DOUBLE_SPECIAL, fraction << widen);
        if (f->specials == EXPONENT)
            return double_from(false, DOUBLE_SPECIAL, quiet);
        if (f->specials == FN && fraction == fraction_mask)
            return double_from(negative, DOUBLE_SPECIAL, quiet);
    }
    if (f->specials == FNUZ && negative && !exponent && !fraction)
        return double_from(false, DOUBLE_SPECIAL, quiet);
    if (f->specials == EXPONENT)
        return double_from(false, (int)exponent - f->bias + DOUBLE_BIAS, 0);
    if (exponent)
        return double_from(negative, (int)exponent - f->bias + DOUBLE_BIAS, fraction << widen);
    if (!fraction)
        return double_from(negative, 0, 0);
    /* subnormal: shift its leading one to the top */
    const unsigned lead = f->fraction_bits - (63 - base_clz(fraction, 64));
    const uint64_t normal = fraction << lead & fraction_mask;
    return double_from(negative, 1 - (int)lead - f->bias + DOUBLE_BIAS, normal << widen);
}

static uint64_t encode_nan(const float_format *f, bool negative, uint64_t fraction) {
    const uint64_t sign = (uint64_t)negative << (f->fraction_bits + f->exponent_bits);
    const uint64_t magnitude = ((uint64_t)1 << (f->fraction_bits + f->exponent_bits)) - 1; /* all ones */
    switch (f->specials) {
    case IEEE: {
        const uint64_t infinity = magnitude - (((uint64_t)1 << f->fraction_bits) - 1);
        const uint64_t payload = fraction >> (DOUBLE_FRACTION - f->fraction_bits);
        return sign | infinity | (payload ? payload : (uint64_t)1 << (f->fraction_bits - 1));
    }
    case FN:
        return sign | magnitude;
    case FNUZ:
        return magnitude + 1;
    case FINITE: /* ONNX: NaN becomes the largest value, without the sign */
    case EXPONENT:
        break;
    }
    return magnitude;
}

/* v * 2^-drop to nearest, ties to even. */
static uint64_t round_shift(uint64_t v, unsigned drop) {
    if (drop > 63)
        return 0;
    if (drop == 0)
        return v;
    const uint64_t kept = v >> drop, rest = v & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* e8m0: the nearest power of two by value, ties up; the sign is dropped and zero is the smallest (ONNX Cast). */
static uint64_t encode_exponent(int exponent, uint64_t fraction) {
    if (exponent == 0)
        return 0; /* a double below 2^-1022 */
    const int64_t e = (int64_t)exponent - DOUBLE_BIAS + 127 + (int)(fraction >> (DOUBLE_FRACTION - 1));
    return e < 0 ? 0 : e > 255 ? 255 : (uint64_t)e;
}

/* The pattern nearest to v. */
static uint64_t encode(const float_format *f, double v) {
    const uint64_t bits = base_bits_of(v), fraction = bits & (((uint64_t)1 << DOUBLE_FRACTION) - 1);
    const bool negative = bits >> 63;
    const int exponent = (int)(bits >> DOUBLE_FRACTION & DOUBLE_SPECIAL);
    const uint64_t sign = (uint64_t)negative << (f->fraction_bits + f->exponent_bits);
    const uint64_t ones = ((uint64_t)1 << (f->fraction_bits + f->exponent_bits)) - 1;
    const uint64_t fraction_ones = ((uint64_t)1 << f->fraction_bits) - 1;
    if (exponent == DOUBLE_SPECIAL && fraction)
        return encode_nan(f, negative, fraction);
    if (f->specials == EXPONENT)
        return exponent == DOUBLE_SPECIAL ? ones : encode_exponent(exponent, fraction);
    /* A double below 2^-1022 rounds to 0 in every format. */
    uint64_t magnitude = 0;
    if (exponent) {
        const uint64_t significand = fraction | (uint64_t)1 << DOUBLE_FRACTION;
        const int e = exponent - DOUBLE_BIAS + f->bias;
        const unsigned drop = DOUBLE_FRACTION - f->fraction_bits;
        if (e >= (1 << f->exponent_bits)) {
            magnitude = ones + 1;
        } else if (e >= 1) {
            /* the leading one counts 1 in the exponent field, and so does a carry out of the fraction */
            magnitude = ((uint64_t)(e - 1) << f->fraction_bits) + round_shift(significand, drop);
        } else {
            magnitude = round_shift(significand, drop + (unsigned)(1 - e));
        }
    }
    const uint64_t infinity = ones - fraction_ones;
    const uint64_t largest = f->specials == IEEE ? infinity - 1 : f->specials == FN ? ones - 1 : ones;
    if (magnitude > largest) {
        if (f->specials == IEEE)
            return sign | infinity;
        if (f->specials == FINITE)
            return sign | largest;
        return encode_nan(f, negative, 0);
    }
    return f->specials == FNUZ && !magnitude ? 0 : sign | magnitude;
}

/* ---- elements ---- */

/* The shifts below are the form that compilers turn into one load or store. */
static uint64_t load_bits(const uint8_t *data, uint64_t index, unsigned bits) {
    const uint8_t *p = data + index * (bits / 8);
    switch (bits) {
    case 8:
        return p[0];
    case 16:
        return (uint64_t)p[0] | (uint64_t)p[1] << 8;
    case 32:
        return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    case 64:
        return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
               (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
    default:
        break;
    }
    const unsigned per_byte = 8 / bits, shift = (unsigned)(index % per_byte) * bits;
    return (uint64_t)data[index / per_byte] >> shift & ((1u << bits) - 1);
}

static void store_bits(uint8_t *data, uint64_t index, unsigned bits, uint64_t v) {
    if (bits >= 8) {
        uint8_t *p = data + index * (bits / 8);
        for (unsigned i = 0; i < bits / 8; i++)
            p[i] = (uint8_t)(v >> (8 * i));
        return;
    }
    const unsigned per_byte = 8 / bits, shift = (unsigned)(index % per_byte) * bits;
    const unsigned mask = ((1u << bits) - 1) << shift;
    uint8_t *p = &data[index / per_byte];
    *p = (uint8_t)((*p & ~mask) | ((unsigned)(v << shift) & mask));
}

static double load_float(base_type t, uint64_t pattern) {
    if (t == BASE_F64)
        return base_double_of(pattern);
    if (t == BASE_F32) {
        const uint32_t bits = (uint32_t)pattern;
        float v;
        memcpy(&v, &bits, sizeof v);
        if (v == v)
            return (double)v; /* the hardware's conversion is exact, but for the bits of a NaN */
    }
    return decode(&formats[t], pattern);
}

static uint64_t store_float(base_type t, double v) {
    if (t == BASE_F64)
        return base_bits_of(v);
    if (t == BASE_F32 && v == v) {
        const float narrow = (float)v;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    return encode(&formats[t], v);
}

double base_round_to(base_type t, double v) {
    assert(base_type_is_float(t));
    if (t == BASE_F64)
        return v;
    if (t == BASE_F32 && v == v)
        return (double)(float)v;
    return decode(&formats[t], encode(&formats[t], v));
}

base_value base_load(base_type t, const void *data, uint64_t index) {
    const type_info *i = info(t);
    const uint64_t pattern = load_bits(data, index, i->bits);
    base_value v = {.u = pattern};
    if (i->kind == 'f') {
        v.f = load_float(t, pattern);
    } else if (i->kind == 'i') {
        const uint64_t sign = (uint64_t)1 << (i->bits - 1);
        v.i = (int64_t)((pattern ^ sign) - sign);
    } else if (i->kind == 'b') {
        v.u = pattern != 0;
    }
    return v;
}

void base_store(base_type t, void *data, uint64_t index, base_value v) {
    const type_info *i = info(t);
    uint64_t pattern = i->kind == 'i' ? (uint64_t)v.i : v.u;
    if (i->kind == 'f')
        pattern = store_float(t, v.f);
    if (i->kind == 'b')
        pattern = v.u != 0;
    store_bits(data, index, i->bits, pattern);
}

void base_put_value(base_text *t, base_type type, base_value v) {
    if (base_type_is_float(type)) {
        base_put_float(t, v.f);
    } else if (base_type_is_signed(type)) {
        base_put(t, "%" PRId64, v.i);
    } else {
        base_put(t, "%" PRIu64, v.u);
    }
}

void base_put_index(base_text *t, uint32_t rank, const int64_t *dim, uint64_t element) {
    uint64_t stride = 1;
    for (uint32_t k = 1; k < rank; k++) {
        stride *= dim[k] > 0 ? (uint64_t)dim[k] : 1;
    }
    base_puts(t, "[");
    for (uint32_t k = 0; k < rank; k++) {
        base_put(t, "%s%" PRIu64, k ? "," : "", element / stride);
        element %= stride;
        if (k + 1 < rank) {
            stride /= dim[k + 1] > 0 ? (uint64_t)dim[k + 1] : 1;
        }
    }
    base_puts(t, "]");
}
