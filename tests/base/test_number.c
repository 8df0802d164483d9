/* test_number.c - floats to text and back. Expected texts: worked out by hand or CPython's repr; values: C's own
 * constants and libc's strtod and strtof in the C locale, which are correctly rounded and none of our code. */
#include <math.h>
#include <stdlib.h>

#include "fixture.h"

static uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static float float_of(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Numbers without order, the same on every run (Marsaglia's xorshift). */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static const char *print(fixture *f, double v) {
    base_text t = {.arena = f->arena};
    base_put_float(&t, v);
    return t.at;
}

static const char *print32(fixture *f, float v) {
    base_text t = {.arena = f->arena};
    base_put_float32(&t, v);
    return t.at;
}

static void prints_the_shortest(void **state) {
    fixture *f = *state;
    static const struct {
        double v;
        const char *text;
    } rows[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {100, "100.0"},
        {123456789, "123456789.0"},
        {0.001, "0.001"},
        {0.0001, "0.0001"},
        {0.00001, "1e-5"},
        {1.5e-7, "1.5e-7"},
        {9007199254740993.0, "9007199254740992.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e16"},
        {1.2345e16, "1.2345e16"},
        {1e22, "1e22"},
        {1e23, "1e23"},
        {9.5e22, "9.5e22"},
        {5e-324, "5e-324"},
        {0x1p-1022, "2.2250738585072014e-308"},
        {0x0.fffffffffffffp-1022, "2.225073858507201e-308"},
        {0x1.fffffffffffffp1023, "1.7976931348623157e308"},
        {9007199254740991.0, "9007199254740991.0"},
        {0x1p63, "9.223372036854776e18"},
        {4.35, "4.35"},
        {0.1 + 0.2, "0.30000000000000004"},
        {2.0000000000000004, "2.0000000000000004"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(print(f, rows[i].v), rows[i].text);
    }
    static const struct {
        float v;
        const char *text;
    } narrow[] = {
        {0, "0.0"},
        {-0.0f, "-0.0"},
        {0.1f, "0.1"},
        {1, "1.0"},
        {16777216, "16777216.0"},
        {1.0f / 3, "0.33333334"},
        {0x1p-149f, "1e-45"},
        {0x1p-126f, "1.1754944e-38"},
        {0x1.fffffep127f, "3.4028235e38"},
        {1e10f, "10000000000.0"},
        {1e-10f, "1e-10"},
        {0.3f, "0.3"},
        {0x1.000002p0f, "1.0000001"},
        {8.5f, "8.5"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {3e-5f, "3e-5"},
        {33554432, "33554432.0"},
        {0x1p-33f, "1.1641532e-10"},
    };
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++) {
        assert_string_equal(print32(f, narrow[i].v), narrow[i].text);
    }
}

/* Reads back by libc and by us; and no text of one digit less does: the nearest such, by printf, reads as another. */
static void check_double(fixture *f, double v) {
    const char *text = print(f, v), *end = NULL;
    double back = 0;
    assert_true(bits_of(strtod(text, NULL)) == bits_of(v));
    assert_true(base_parse_float(text, &end, &back) && *end == '\0');
    assert_true(bits_of(back) == bits_of(v));
    int digits = 0;
    bool leading = true;
    int zeros = 0;
    for (const char *p = text; *p && *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9' && !(leading && *p == '0')) {
            leading = false;
            digits++;
            zeros = *p == '0' ? zeros + 1 : 0;
        }
    }
    digits -= zeros;
    assert_true(digits >= 1 && digits <= 17);
    if (digits > 1) {
        char shorter[64];
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, v);
        assert_true(bits_of(strtod(shorter, NULL)) != bits_of(v));
    }
}

static void doubles_come_back(void **state) {
    fixture *f = *state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        const double v = double_of(next_random(&seed));
        if (isfinite(v) && v != 0) {
            check_double(f, v);
        }
        check_double(f, (double)(next_random(&seed) % 2000001) / 1000 + 0.0005);
    }
    for (int e = -1074; e <= 1023; e++) {
        const double v = ldexp(1, e);
        check_double(f, v);
        check_double(f, -nextafter(v, INFINITY));
        check_double(f, nextafter(v, 0) == 0 ? v : nextafter(v, 0));
    }
    for (uint64_t bits = 1; bits < 2000; bits++) {
        check_double(f, double_of(bits)); /* subnormal */
    }
}

static void floats_come_back(void **state) {
    fixture *f = *state;
    uint64_t seed = 362436069;
    for (int i = 0; i < 60000; i++) {
        const uint32_t random = (uint32_t)(next_random(&seed) >> 20);
        const uint32_t bits = i < 510    ? (uint32_t)(i / 2) << 23 | (uint32_t)(i % 2)
                              : i < 3000 ? (uint32_t)i - 509
                                         : random;
        const float v = float_of(bits);
        if (!isfinite(v)) {
            continue;
        }
        const char *text = print32(f, v);
        double back = 0;
        assert_true(strtof(text, NULL) == v);
        assert_true(base_parse_float(text, NULL, &back));
        assert_true((float)back == v);
        assert_true(strlen(text) <= 19);
    }
}

static void reads_hard_cases(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double v;
    } rows[] = {
        {"0", 0},
        {"-0", -0.0},
        {"+1", 1},
        {"1.", 1},
        {".5", 0.5},
        {"-.5e1", -5},
        {"1e0", 1},
        {"1E+2", 100},
        {"00012.500", 12.5},
        {"9007199254740993", 9007199254740992.0}, /* tie to even */
        {"9007199254740995", 9007199254740996.0},
        {"9007199254740993.00000000000000000000000000000000000000001", 9007199254740994.0},
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022}, /* PHP's and Java's endless loop */
        {"2.2250738585072012e-308", 0x1p-1022},
        {"2.2250738585072014e-308", 0x1p-1022},
        {"1.7976931348623157e308", 0x1.fffffffffffffp1023},
        {"1.7976931348623158e308", 0x1.fffffffffffffp1023},
        {"1.7976931348623159e308", INFINITY},
        {"1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070963302864"
         "16692887"
         "9109465555478519404026306574886715058206819089020007083836762738548458177115317644757302700698555713669596228"
         "42914819"
         "860834936475292719074168444365510704342711559699508093042880177904174497792",
         INFINITY}, /* the largest and half a step: to even */
        {"1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070963302864"
         "16692887"
         "9109465555478519404026306574886715058206819089020007083836762738548458177115317644757302700698555713669596228"
         "42914819"
         "860834936475292719074168444365510704342711559699508093042880177904174497791.9999",
         0x1.fffffffffffffp1023},
        {"2.4703282292062327e-324", 0}, /* just under half the smallest */
        {"2.4703282292062328e-324", 0x1p-1074},
        {"4.9e-324", 0x1p-1074},
        {"7.4e-324", 0x1p-1074},
        {"7.5e-324", 0x1p-1073},
        {"1e-400", 0},
        {"-1e400", -INFINITY},
        {"1e99999999999999999999", INFINITY},
        {"1e-99999999999999999999", 0},
        {"0e99999999999999999999", 0},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
        {"6.929001713869936e+236", 6.929001713869936e+236},
        {"8.5e22", 8.5e22},
        {"1e23", 1e23},
        {"0x1p0", 1},
        {"0X1.8P+1", 3},
        {"0x.8", 0.5},
        {"0x10", 16},
        {"-0x0p5", -0.0},
        {"0xap-2", 2.5},
        {"0x1.fffffffffffff8p0", 2},
        {"0x1.fffffffffffff7p0", 0x1.fffffffffffffp0},
        {"0x1.00000000000008p0", 1},
        {"0x1.00000000000018p0", 0x1.0000000000002p0},
        {"0x1.000000000000080000000000000000001p0", 0x1.0000000000001p0},
        {"0x1p-1074", 0x1p-1074},
        {"0x1p-1075", 0},
        {"0x1.0000000000001p-1075", 0x1p-1074},
        {"0x1.8p-1074", 0x1p-1073},
        {"0x1p1024", INFINITY},
        {"0x1.fffffffffffff8p1023", INFINITY},
        {"0x1p99999999999999999999", INFINITY},
        {"0x100000000000000000000000000000000p-128", 1},
        {"inf", INFINITY},
        {"-inf", -INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *end = NULL;
        double v = 12345;
        assert_true(base_parse_float(rows[i].text, &end, &v));
        assert_int_equal(*end, '\0');
        assert_true(bits_of(v) == bits_of(rows[i].v));
    }
    double v = 0;
    assert_true(base_parse_float("nan", NULL, &v) && isnan(v));
    assert_true(base_parse_float("-nan", NULL, &v) && isnan(v));
}

static void reads_what_is_a_number_only(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int length; /* -1: no number */
        double v;
    } rows[] = {
        {"", -1, 0},     {"-", -1, 0},      {".", -1, 0},     {"e5", -1, 0},         {"+-1", -1, 0}, {" 1", -1, 0},
        {"info", -1, 0}, {"nan_", -1, 0},   {"inf2", -1, 0},  {"-.e5", -1, 0},       {"1e", 1, 1},   {"1e+", 1, 1},
        {"1e-x", 1, 1},  {"1.5.2", 3, 1.5}, {"1,5", 1, 1},    {"0x", 1, 0},          {"0x.", 1, 0},  {"0xg", 1, 0},
        {"0x1p", 3, 1},  {"0x1p+", 3, 1},   {"12abc", 2, 12}, {"inf)", 3, INFINITY}, {"1f", 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *end = NULL;
        double v = 12345;
        assert_int_equal(base_parse_float(rows[i].text, &end, &v), rows[i].length >= 0);
        if (rows[i].length >= 0) {
            assert_int_equal(end - rows[i].text, rows[i].length);
            assert_true(bits_of(v) == bits_of(rows[i].v));
        } else {
            assert_null(end);
            assert_true(v == 12345);
        }
    }
}

/* Long digit strings and midpoints between doubles, against libc. */
static void reads_as_libc_does(void **state) {
    (void)state;
    uint64_t seed = 521288629;
    char text[2600];
    for (int i = 0; i < 20000; i++) {
        static const int lengths[] = {1, 5, 15, 16, 17, 19, 20, 25, 40, 120, 780, 800, 801, 1200};
        const int digits = lengths[next_random(&seed) % (i % 50 ? 9 : 14)];
        const int point = (int)(next_random(&seed) % (uint64_t)(digits + 1));
        int n = 0;
        for (int k = 0; k < digits; k++) {
            if (k == point) {
                text[n++] = '.';
            }
            text[n++] = (char)('0' + next_random(&seed) % 10);
        }
        snprintf(text + n, sizeof text - (size_t)n, "e%d", (int)(next_random(&seed) % 680) - 345);
        double v = 0;
        const char *end = NULL;
        assert_true(base_parse_float(text, &end, &v) && *end == '\0');
        assert_true(bits_of(v) == bits_of(strtod(text, NULL)));
    }
    for (int i = 0; i < 3000; i++) {
        /* long double holds the midpoint on x86; elsewhere the case is one more double */
        const double a = double_of((next_random(&seed) & 0x800fffffffffffffu) | (uint64_t)(600 + i % 800) << 52);
        const double b = nextafter(a, INFINITY);
        const long double middle = ((long double)a + (long double)b) / 2;
        snprintf(text, sizeof text, "%.1200Lg", middle);
        double v = 0;
        assert_true(base_parse_float(text, NULL, &v));
        assert_true(bits_of(v) == bits_of(strtod(text, NULL)));
    }
}

static void any_length_is_bounded(void **state) {
    fixture *f = *state;
    char *tie = base_printf(f->arena, "9007199254740993.%02000d1", 0);
    double above = 0;
    assert_true(base_parse_float(tie, NULL, &above));
    assert_true(above == 9007199254740994.0); /* the last digit decides */
    tie[strlen(tie) - 1] = '0';
    assert_true(base_parse_float(tie, NULL, &above));
    assert_true(above == 9007199254740992.0);
    const size_t n = 3000000;
    char *text = base_alloc(f->arena, n + 20, 1);
    memset(text, '0', n);
    double v = 1;
    const char *end = NULL;
    text[1] = '.';
    memcpy(text + n, "1e2999999", 10); /* 0.000...1, n - 1 places */
    assert_true(base_parse_float(text, &end, &v) && *end == '\0');
    assert_true(v == 1.0);
    memset(text, '9', n);
    memcpy(text + n, "e-3000000", 10);
    assert_true(base_parse_float(text, &end, &v) && *end == '\0');
    assert_true(v == 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_ARENA(prints_the_shortest),
        WITH_ARENA(doubles_come_back),
        WITH_ARENA(floats_come_back),
        cmocka_unit_test(reads_hard_cases),
        cmocka_unit_test(reads_what_is_a_number_only),
        cmocka_unit_test(reads_as_libc_does),
        WITH_ARENA(any_length_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
