/* test_types.c - element types. Narrow floats: every pattern against the formula of its specification, every rounding
 * boundary between two neighbours, overflow, infinities and NaN by the tables of ONNX's float8 and float4 notes. */
#include <math.h>

#include "fixture.h"

static uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static bool same(double a, double b) {
    return isnan(a) ? isnan(b) : bits_of(a) == bits_of(b);
}

static void names_and_sizes(void **state) {
    (void)state;
    static const struct {
        base_type t;
        const char *name;
        unsigned bits;
        bool is_float, is_int, is_signed;
    } rows[] = {
        {BASE_F64, "f64", 64, 1, 0, 1},
        {BASE_F32, "f32", 32, 1, 0, 1},
        {BASE_F16, "f16", 16, 1, 0, 1},
        {BASE_BF16, "bf16", 16, 1, 0, 1},
        {BASE_F8E4M3FN, "f8e4m3fn", 8, 1, 0, 1},
        {BASE_F8E4M3FNUZ, "f8e4m3fnuz", 8, 1, 0, 1},
        {BASE_F8E5M2, "f8e5m2", 8, 1, 0, 1},
        {BASE_F8E5M2FNUZ, "f8e5m2fnuz", 8, 1, 0, 1},
        {BASE_F8E8M0, "f8e8m0", 8, 1, 0, 1},
        {BASE_F4E2M1, "f4e2m1", 4, 1, 0, 1},
        {BASE_I64, "i64", 64, 0, 1, 1},
        {BASE_I32, "i32", 32, 0, 1, 1},
        {BASE_I16, "i16", 16, 0, 1, 1},
        {BASE_I8, "i8", 8, 0, 1, 1},
        {BASE_I4, "i4", 4, 0, 1, 1},
        {BASE_I2, "i2", 2, 0, 1, 1},
        {BASE_U64, "u64", 64, 0, 1, 0},
        {BASE_U32, "u32", 32, 0, 1, 0},
        {BASE_U16, "u16", 16, 0, 1, 0},
        {BASE_U8, "u8", 8, 0, 1, 0},
        {BASE_U4, "u4", 4, 0, 1, 0},
        {BASE_U2, "u2", 2, 0, 1, 0},
        {BASE_BOOL, "bool", 8, 0, 0, 0},
        {BASE_STR, "str", 32, 0, 1, 0},
    };
    assert_int_equal(sizeof rows / sizeof rows[0], 24);
    assert_int_equal(BASE_TYPE_COUNT, 25);
    for (size_t i = 0; i < 24; i++) {
        const base_type t = rows[i].t;
        assert_string_equal(base_type_name(t), rows[i].name);
        assert_int_equal(base_type_named(rows[i].name, strlen(rows[i].name)), t);
        assert_int_equal(base_type_bits(t), rows[i].bits);
        assert_int_equal(base_type_is_float(t), rows[i].is_float);
        assert_int_equal(base_type_is_int(t), rows[i].is_int);
        assert_int_equal(base_type_is_signed(t), rows[i].is_signed);
    }
    assert_int_equal(base_type_named("f32x", 4), BASE_NONE);
    assert_int_equal(base_type_named("f32x", 3), BASE_F32);
    assert_int_equal(base_type_named("", 0), BASE_NONE);
    assert_int_equal(base_type_named("none", 4), BASE_NONE);
}

static void bytes_of_tensors(void **state) {
    (void)state;
    uint64_t n = 77;
    assert_true(base_type_bytes(BASE_F32, 3, &n) && n == 12);
    assert_true(base_type_bytes(BASE_BOOL, 3, &n) && n == 3);
    assert_true(base_type_bytes(BASE_I4, 0, &n) && n == 0);
    assert_true(base_type_bytes(BASE_I4, 3, &n) && n == 2);
    assert_true(base_type_bytes(BASE_F4E2M1, 4, &n) && n == 2);
    assert_true(base_type_bytes(BASE_U2, 4, &n) && n == 1);
    assert_true(base_type_bytes(BASE_U2, 5, &n) && n == 2);
    assert_true(base_type_bytes(BASE_I4, UINT64_MAX, &n) && n == (uint64_t)1 << 63);
    assert_true(base_type_bytes(BASE_I8, UINT64_MAX, &n) && n == UINT64_MAX);
    assert_true(base_type_bytes(BASE_F64, UINT64_MAX / 8, &n) && n == UINT64_MAX - 7);
    assert_false(base_type_bytes(BASE_F64, UINT64_MAX / 8 + 1, &n));
    assert_false(base_type_bytes(BASE_F16, (uint64_t)1 << 63, &n));
}

static void ranges(void **state) {
    (void)state;
    static const struct {
        base_type t;
        int64_t lo;
        uint64_t hi;
    } rows[] = {
        {BASE_I64, INT64_MIN, INT64_MAX},
        {BASE_I32, INT32_MIN, INT32_MAX},
        {BASE_I16, -32768, 32767},
        {BASE_I8, -128, 127},
        {BASE_I4, -8, 7},
        {BASE_I2, -2, 1},
        {BASE_U64, 0, UINT64_MAX},
        {BASE_U32, 0, UINT32_MAX},
        {BASE_U16, 0, 65535},
        {BASE_U8, 0, 255},
        {BASE_U4, 0, 15},
        {BASE_U2, 0, 3},
        {BASE_BOOL, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t lo = 1;
        uint64_t hi = 2;
        base_type_range(rows[i].t, &lo, &hi);
        assert_true(lo == rows[i].lo && hi == rows[i].hi);
        /* both ends, and 0, go in and come back, beside neighbours that stay */
        uint8_t data[32];
        memset(data, 0xa5, sizeof data);
        const base_value ends[3] = {{.i = lo}, {.u = hi}, {.u = 0}};
        for (uint64_t k = 0; k < 3; k++) {
            base_store(rows[i].t, data + 1, k, ends[k]); /* an odd address */
        }
        for (uint64_t k = 0; k < 3; k++) {
            assert_true(base_load(rows[i].t, data + 1, k).u == ends[k].u);
        }
        assert_int_equal(data[0], 0xa5);
        assert_int_equal(data[1 + (3 * base_type_bits(rows[i].t) + 7) / 8], 0xa5);
    }
}

static void bytes_in_order(void **state) {
    (void)state;
    uint8_t data[8] = {0};
    base_store(BASE_I32, data, 1, (base_value){.i = -2});
    static const uint8_t i32[8] = {0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff};
    assert_memory_equal(data, i32, 8);
    base_store(BASE_U64, data, 0, (base_value){.u = 0x0102030405060708u});
    static const uint8_t u64[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    assert_memory_equal(data, u64, 8);
    base_store(BASE_F32, data, 0, (base_value){.f = -1.5}); /* 0xbfc00000 */
    static const uint8_t f32[8] = {0, 0, 0xc0, 0xbf, 4, 3, 2, 1};
    assert_memory_equal(data, f32, 8);
    base_store(BASE_F64, data, 0, (base_value){.f = 1}); /* 0x3ff0000000000000 */
    static const uint8_t f64[8] = {0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    assert_memory_equal(data, f64, 8);
    assert_true(base_load(BASE_F64, data, 0).f == 1);
    base_store(BASE_BOOL, data, 0, (base_value){.u = 1});
    assert_int_equal(data[0], 1);
    data[0] = 7; /* any byte that is not 0 is true */
    assert_int_equal(base_load(BASE_BOOL, data, 0).u, 1);
    static const uint8_t all[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    assert_true(base_load(BASE_I64, all, 0).i == -1);
    assert_true(base_load(BASE_U64, all, 0).u == UINT64_MAX);
    assert_true(base_load(BASE_U32, all, 1).u == UINT32_MAX);
    assert_true(base_load(BASE_I16, all, 3).i == -1);
}

static void packed_low_bits_first(void **state) {
    (void)state;
    static const uint8_t bytes[2] = {0x8f, 0x72};
    static const int64_t i4[4] = {-1, -8, 2, 7}, i2[8] = {-1, -1, 0, -2, -2, 0, -1, 1};
    static const uint64_t u4[4] = {15, 8, 2, 7}, u2[8] = {3, 3, 0, 2, 2, 0, 3, 1};
    static const double f4[4] = {-6, -0.0, 1, 6};
    uint8_t out[5][2] = {{0}};
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(base_load(BASE_I4, bytes, i).i == i4[i]);
        assert_true(base_load(BASE_U4, bytes, i).u == u4[i]);
        assert_true(same(base_load(BASE_F4E2M1, bytes, i).f, f4[i]));
        base_store(BASE_I4, out[0], 3 - i, (base_value){.i = i4[3 - i]});
        base_store(BASE_U4, out[1], i, (base_value){.u = u4[i]});
        base_store(BASE_F4E2M1, out[2], i, (base_value){.f = f4[i]});
    }
    for (uint64_t i = 0; i < 8; i++) {
        assert_true(base_load(BASE_I2, bytes, i).i == i2[i]);
        assert_true(base_load(BASE_U2, bytes, i).u == u2[i]);
        base_store(BASE_I2, out[3], 7 - i, (base_value){.i = i2[7 - i]});
        base_store(BASE_U2, out[4], i, (base_value){.u = u2[i]});
    }
    for (int k = 0; k < 5; k++) {
        assert_memory_equal(out[k], bytes, 2);
    }
    uint8_t nibbles[1] = {0xff};
    base_store(BASE_U4, nibbles, 0, (base_value){.u = 2});
    assert_int_equal(nibbles[0], 0xf2);
    base_store(BASE_U4, nibbles, 1, (base_value){.u = 5});
    assert_int_equal(nibbles[0], 0x52);
    base_store(BASE_U2, nibbles, 3, (base_value){.u = 2});
    assert_int_equal(nibbles[0], 0x92);
}

/* What the specifications say of a format: sign, exponent and fraction fields, bias, and its own NaN and infinity. */
typedef struct format {
    base_type t;
    int exponent_bits, fraction_bits, bias;
    bool has_infinity, unsigned_zero;
    double largest;
    double overflow; /* the smallest magnitude that rounds beyond the largest: half a step more, ties to even */
    bool tie_overflows;
} format;

static const format formats[] = {
    {BASE_F16, 5, 10, 15, true, false, 65504, 65520, true},
    {BASE_BF16, 8, 7, 127, true, false, 0x1.fep127, 0x1.ffp127, true},
    {BASE_F8E4M3FN, 4, 3, 7, false, false, 448, 464, false},
    {BASE_F8E4M3FNUZ, 4, 3, 8, false, true, 240, 248, true},
    {BASE_F8E5M2, 5, 2, 15, true, false, 57344, 61440, true},
    {BASE_F8E5M2FNUZ, 5, 2, 16, false, true, 57344, 61440, true},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static unsigned patterns(const format *f) {
    return 2u << (f->exponent_bits + f->fraction_bits);
}

/* The value of a pattern by the formulas of IEEE 754 and ONNX's note on float8. */
static double value_of(const format *f, unsigned pattern) {
    const unsigned fraction_size = 1u << f->fraction_bits, exponent_size = 1u << f->exponent_bits;
    const unsigned fraction = pattern % fraction_size, exponent = pattern / fraction_size % exponent_size;
    const bool negative = pattern >= patterns(f) / 2;
    const double sign = negative ? -1 : 1;
    if (f->unsigned_zero && pattern == patterns(f) / 2) {
        return NAN;
    }
    if (f->has_infinity && exponent == exponent_size - 1) {
        return fraction ? NAN : sign * INFINITY;
    }
    if (!f->has_infinity && !f->unsigned_zero && pattern % (patterns(f) / 2) == patterns(f) / 2 - 1) {
        return NAN;
    }
    const double part = (double)fraction / fraction_size;
    return sign * (exponent ? ldexp(1 + part, (int)exponent - f->bias) : ldexp(part, 1 - f->bias));
}

static void store_pattern(uint8_t *data, base_type t, unsigned pattern) {
    data[0] = (uint8_t)pattern;
    if (base_type_bits(t) == 16) {
        data[1] = (uint8_t)(pattern >> 8);
    }
}

static void every_pattern_loads_and_comes_back(void **state) {
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        const format *f = &formats[i];
        unsigned nans = 0;
        for (unsigned p = 0; p < patterns(f); p++) {
            uint8_t data[2] = {0}, back[2] = {0};
            store_pattern(data, f->t, p);
            const base_value v = base_load(f->t, data, 0);
            assert_true(same(v.f, value_of(f, p)));
            base_store(f->t, back, 0, v);
            if (f->t == BASE_F16 || f->t == BASE_BF16 || !isnan(v.f)) {
                assert_memory_equal(back, data, 2); /* of NaN the payload too */
            } else {
                nans++;
                assert_true(isnan(base_load(f->t, back, 0).f));
            }
            assert_true(same(base_round_to(f->t, v.f), v.f));
        }
        assert_int_equal(nans, f->t == BASE_F16 || f->t == BASE_BF16 ? 0
                               : f->t == BASE_F8E5M2                 ? 6
                               : f->unsigned_zero                    ? 1
                                                                     : 2);
    }
}

static void every_boundary_rounds_to_nearest_even(void **state) {
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        const format *f = &formats[i];
        for (unsigned p = 0; value_of(f, p) < f->largest; p++) {
            const double a = value_of(f, p), b = value_of(f, p + 1), middle = a + (b - a) / 2;
            const double even = p % 2 ? b : a, zero = f->unsigned_zero ? 0.0 : -0.0;
            assert_true(a < b && middle > a && middle < b);
            assert_true(same(base_round_to(f->t, middle), even));
            assert_true(same(base_round_to(f->t, nextafter(middle, a)), a));
            assert_true(same(base_round_to(f->t, nextafter(middle, b)), b));
            assert_true(same(base_round_to(f->t, -middle), even == 0 ? zero : -even));
            assert_true(same(base_round_to(f->t, -nextafter(middle, a)), a == 0 ? zero : -a));
            assert_true(same(base_round_to(f->t, -nextafter(middle, b)), -b));
        }
    }
}

static void overflow_infinity_and_nan(void **state) {
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        const format *f = &formats[i];
        const double beyond = f->has_infinity ? INFINITY : NAN;
        for (int sign = -1; sign <= 1; sign += 2) {
            assert_true(same(base_round_to(f->t, sign * nextafter(f->overflow, 0)), sign * f->largest));
            assert_true(
                same(base_round_to(f->t, sign * f->overflow), f->tie_overflows ? sign * beyond : sign * f->largest));
            assert_true(same(base_round_to(f->t, sign * nextafter(f->overflow, INFINITY)), sign * beyond));
            assert_true(same(base_round_to(f->t, sign * 1e300), sign * beyond));
            assert_true(same(base_round_to(f->t, sign * (double)INFINITY), sign * beyond));
        }
        assert_true(isnan(base_round_to(f->t, NAN)));
        assert_true(same(base_round_to(f->t, 0.0), 0.0));
        assert_true(same(base_round_to(f->t, -0.0), f->unsigned_zero ? 0.0 : -0.0));
        assert_true(same(base_round_to(f->t, 0x1p-1074), 0.0));
        assert_true(same(base_round_to(f->t, -1e-300), f->unsigned_zero ? 0.0 : -0.0));
    }
    /* patterns of NaN: ONNX's float8 note */
    static const struct {
        base_type t;
        double v;
        uint8_t pattern;
    } rows[] = {
        {BASE_F8E4M3FN, NAN, 0x7f},       {BASE_F8E4M3FN, INFINITY, 0x7f}, {BASE_F8E4M3FN, -INFINITY, 0xff},
        {BASE_F8E4M3FNUZ, NAN, 0x80},     {BASE_F8E4M3FNUZ, -1000, 0x80},  {BASE_F8E5M2FNUZ, INFINITY, 0x80},
        {BASE_F8E5M2, INFINITY, 0x7c},    {BASE_F8E5M2, -INFINITY, 0xfc},  {BASE_F8E4M3FN, 448, 0x7e},
        {BASE_F8E4M3FNUZ, -0.0, 0},       {BASE_F8E5M2FNUZ, 57344, 0x7f},  {BASE_F8E4M3FN, 0x1p-9, 0x01},
        {BASE_F8E4M3FNUZ, 0x1p-10, 0x01}, {BASE_F8E5M2, 0x1p-16, 0x01},    {BASE_F8E5M2FNUZ, 0x1p-17, 0x01},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t byte = 0x55;
        base_store(rows[i].t, &byte, 0, (base_value){.f = rows[i].v});
        assert_int_equal(byte, rows[i].pattern);
    }
}

/* OCP MX 1.0: 2^(pattern - 127), 255 is NaN. ONNX Cast, round_mode nearest: ties up, no saturation. */
static void e8m0(void **state) {
    (void)state;
    for (unsigned p = 0; p < 256; p++) {
        uint8_t byte = (uint8_t)p, back = 0;
        const base_value v = base_load(BASE_F8E8M0, &byte, 0);
        assert_true(same(v.f, p == 255 ? NAN : ldexp(1, (int)p - 127)));
        base_store(BASE_F8E8M0, &back, 0, v);
        assert_int_equal(back, p);
        if (p < 254) {
            assert_true(base_round_to(BASE_F8E8M0, 1.5 * v.f) == 2 * v.f);
            assert_true(base_round_to(BASE_F8E8M0, nextafter(1.5 * v.f, 0)) == v.f);
        }
    }
    assert_true(isnan(base_round_to(BASE_F8E8M0, 1.5 * 0x1p127)));
    assert_true(base_round_to(BASE_F8E8M0, nextafter(1.5 * 0x1p127, 0)) == 0x1p127);
    assert_true(isnan(base_round_to(BASE_F8E8M0, INFINITY)));
    assert_true(isnan(base_round_to(BASE_F8E8M0, NAN)));
    assert_true(base_round_to(BASE_F8E8M0, 0) == 0x1p-127);
    assert_true(base_round_to(BASE_F8E8M0, 0x1p-1074) == 0x1p-127);
    assert_true(base_round_to(BASE_F8E8M0, 0x1p-200) == 0x1p-127);
    assert_true(base_round_to(BASE_F8E8M0, -4) == 4);
}

/* OCP MX 1.0: eight magnitudes. ONNX's note on float4: beyond 6 and infinities saturate, NaN is 6. */
static void e2m1(void **state) {
    (void)state;
    static const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (unsigned p = 0; p < 16; p++) {
        uint8_t byte = (uint8_t)p, back = 0xf0;
        const double expected = p < 8 ? values[p] : -values[p - 8];
        assert_true(same(base_load(BASE_F4E2M1, &byte, 0).f, expected));
        base_store(BASE_F4E2M1, &back, 0, (base_value){.f = expected});
        assert_int_equal(back, 0xf0 | p);
    }
    for (unsigned p = 0; p < 7; p++) {
        const double middle = (values[p] + values[p + 1]) / 2;
        assert_true(base_round_to(BASE_F4E2M1, middle) == values[p + p % 2]);
        assert_true(base_round_to(BASE_F4E2M1, nextafter(middle, 0)) == values[p]);
        assert_true(base_round_to(BASE_F4E2M1, nextafter(middle, 9)) == values[p + 1]);
    }
    static const double to_six[] = {6.5, 7, 8, 100, 1e300, INFINITY};
    for (int i = 0; i < 6; i++) {
        assert_true(base_round_to(BASE_F4E2M1, to_six[i]) == 6);
        assert_true(base_round_to(BASE_F4E2M1, -to_six[i]) == -6);
    }
    assert_true(base_round_to(BASE_F4E2M1, NAN) == 6);
    assert_true(same(base_round_to(BASE_F4E2M1, -0.0), -0.0));
    assert_true(same(base_round_to(BASE_F4E2M1, -0.25), -0.0));
}

static void wide_floats(void **state) {
    (void)state;
    static const double cases[][2] = {
        {0x1.000001p0, 0x1p0}, /* tie */
        {0x1.000003p0, 0x1.000004p0},
        {0x1.0000010000001p0, 0x1.000002p0},
        {0x1.fffffep127, 0x1.fffffep127},
        {0x1.fffffefffffffp127, 0x1.fffffep127},
        {0x1.ffffffp127, INFINITY},
        {-0x1.ffffffp127, -INFINITY},
        {0x1p-149, 0x1p-149},
        {0x1p-150, 0}, /* tie with 0 */
        {0x1.8p-149, 0x1p-148},
        {0x1.0000000000001p-150, 0x1p-149},
        {-0x1p-150, -0.0},
        {0.1, 0x1.99999ap-4},
        {INFINITY, INFINITY},
        {NAN, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t data[9];
        assert_true(same(base_round_to(BASE_F32, cases[i][0]), cases[i][1]));
        base_store(BASE_F32, data + 1, 0, (base_value){.f = cases[i][0]});
        assert_true(same(base_load(BASE_F32, data + 1, 0).f, cases[i][1]));
        assert_true(same(base_round_to(BASE_F64, cases[i][0]), cases[i][0]));
        base_store(BASE_F64, data + 1, 0, (base_value){.f = cases[i][0]});
        assert_true(same(base_load(BASE_F64, data + 1, 0).f, cases[i][0]));
    }
    /* NaN keep sign and payload through load and store */
    static const uint32_t nans[] = {0x7fc00000, 0xffc00001, 0x7f800001, 0xffbfffff, 0x7fffffff};
    for (int i = 0; i < 5; i++) {
        uint32_t back = 0;
        base_store(BASE_F32, &back, 0, base_load(BASE_F32, &nans[i], 0));
        assert_int_equal(back, nans[i]);
    }
}

static void values_and_places_as_text(void **state) {
    base_arena *arena = ((fixture *)*state)->arena;
    const int64_t dim[] = {2, 3, 4}, none[] = {0, 3};
    base_text t = {.arena = arena};
    base_put_index(&t, 3, dim, 23);
    base_put_index(&t, 3, dim, 0);
    base_put_index(&t, 3, dim, 13);
    base_put_index(&t, 1, dim + 2, 3);
    base_put_index(&t, 0, dim, 0);
    base_put_index(&t, 2, none, 4);
    assert_string_equal(t.at, "[1,2,3][0,0,0][1,0,1][3][][1,1]");
    base_text v = {.arena = arena};
    base_put_value(&v, BASE_I8, (base_value){.i = -128});
    base_puts(&v, " ");
    base_put_value(&v, BASE_U64, (base_value){.u = UINT64_MAX});
    base_puts(&v, " ");
    base_put_value(&v, BASE_F32, (base_value){.f = 0.5});
    base_puts(&v, " ");
    base_put_value(&v, BASE_BOOL, (base_value){.u = 1});
    assert_string_equal(v.at, "-128 18446744073709551615 0.5 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_sizes),
        cmocka_unit_test(bytes_of_tensors),
        cmocka_unit_test(ranges),
        cmocka_unit_test(bytes_in_order),
        cmocka_unit_test(packed_low_bits_first),
        cmocka_unit_test(every_pattern_loads_and_comes_back),
        cmocka_unit_test(every_boundary_rounds_to_nearest_even),
        cmocka_unit_test(overflow_infinity_and_nan),
        cmocka_unit_test(e8m0),
        cmocka_unit_test(e2m1),
        cmocka_unit_test(wide_floats),
        WITH_ARENA(values_and_places_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
