/* number.c - floats to shortest decimal text and back, exactly, without libc and so without its locale.
 *
 * Gives the shortest digits that read back as the same value, of those the nearest (Steele and White's free-format
 * algorithm, in 64 bits where they suffice, else in big integers), and the correctly rounded value of decimal and
 * hexadecimal text (Clinger's fast path, else exact division). Time and memory are bounded for any text: digits
 * beyond the 800th only say whether the rest is zero, which no double needs more of.
 */
#include "base/base.h"
#include "base/private.h"

#include <assert.h>
#include <float.h>
#include <string.h>

/* ---- big natural numbers: 32-bit limbs, least first, no leading zero limb ---- */

/* Largest: 801 digits (2661 bits) against 10^1127 (3744 bits), scaled to stand level, and 64 bits more. */
enum { LIMBS = 128, MAX_DIGITS = 800 };

typedef struct big {
    unsigned n;
    uint32_t limb[LIMBS];
} big;

static void big_set(big *b, uint64_t v) {
    b->n = 0;
    for (; v; v >>= 32)
        b->limb[b->n++] = (uint32_t)v;
}

/* b = b * factor + add */
static void big_mul(big *b, uint32_t factor, uint32_t add) {
    uint64_t carry = add;
    for (unsigned i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) {
        assert(b->n < LIMBS);
        b->limb[b->n++] = (uint32_t)carry;
    }
}

static void big_mul_pow10(big *b, unsigned exponent) {
    for (; exponent >= 9; exponent -= 9)
        big_mul(b, 1000000000u, 0);
    uint32_t rest = 1;
    while (exponent--)
        rest *= 10;
    if (rest > 1)
        big_mul(b, rest, 0);
}

static void big_shift(big *b, unsigned by) {
    const unsigned limbs = by / 32, bits = by % 32;
    if (!b->n || !by)
        return;
    assert(b->n + limbs + 1 <= LIMBS);
    b->limb[b->n] = 0;
    for (unsigned i = b->n + 1; i-- > 0;) {
        const uint32_t below = i ? b->limb[i - 1] : 0;
        b->limb[i + limbs] = bits ? b->limb[i] << bits | below >> (32 - bits) : b->limb[i];
    }
    memset(b->limb, 0, limbs * sizeof b->limb[0]);
    b->n += limbs + 1;
    if (!b->limb[b->n - 1])
        b->n--;
}

static unsigned big_bits(const big *b) {
    return b->n ? 32 * b->n - base_clz(b->limb[b->n - 1], 32) : 0;
}

static int big_compare(const big *a, const big *b) {
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (unsigned i = a->n; i-- > 0;) {
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    }
    return 0;
}

/* Compares a + b with c. */
static int big_compare_sum(const big *a, const big *b, const big *c) {
    big sum = {0};
    uint64_t carry = 0;
    const unsigned n = a->n > b->n ? a->n : b->n;
    for (unsigned i = 0; i < n || carry; i++) {
        assert(i < LIMBS);
        carry += (i < a->n ? a->limb[i] : 0u);
        carry += (i < b->n ? b->limb[i] : 0u);
        sum.limb[sum.n++] = (uint32_t)carry;
        carry >>= 32;
    }
    return big_compare(&sum, c);
}

/* a -= b, which is not larger. */
static void big_sub(big *a, const big *b) {
    uint64_t borrow = 0;
    for (unsigned i = 0; i < a->n; i++) {
        const uint64_t take = (i < b->n ? b->limb[i] : 0u) + borrow;
        borrow = a->limb[i] < take;
        a->limb[i] = (uint32_t)(a->limb[i] - take);
    }
    while (a->n && !a->limb[a->n - 1])
        a->n--;
}

/* ---- printing ---- */

/* A finite value above 0: m * 2^e. lowest_of_binade: the next value below is only half as far away as the one above. */
typedef struct binary {
    uint64_t m;
    int e;
    bool lowest_of_binade;
} binary;

/* digits[0..n) with the decimal point before digit number `point`. */
typedef struct decimal {
    char digits[24];
    unsigned n;
    int point;
} decimal;

/* The value is r / s, and a text within (r - below, r + above) / s reads back; its ends too when `even`. */
typedef struct scaled {
    big r, s, below, above;
} scaled;

static int floor_log10_pow2(int e) {
    const int64_t product = (int64_t)e * 1292913986; /* log10(2) * 2^32, rounded down */
    return (int)(product >= 0 ? product >> 32 : ~(~product >> 32));
}

static void put_last_digit(decimal *d, unsigned digit, bool up) {
    d->digits[d->n++] = (char)('0' + digit + up); /* never past 9: then the digit before had ended the number */
}

static void digits_big(const binary *b, decimal *d) {
    const bool even = b->m % 2 == 0;
    const unsigned twice = b->lowest_of_binade ? 2 : 1;
    scaled v;
    big_set(&v.r, b->m);
    big_set(&v.s, 1);
    big_set(&v.above, 1);
    big_shift(&v.r, twice + (b->e > 0 ? (unsigned)b->e : 0));
    big_shift(&v.s, twice + (b->e < 0 ? (unsigned)-b->e : 0));
    big_shift(&v.above, twice - 1 + (b->e > 0 ? (unsigned)b->e : 0));
    big_set(&v.below, 1);
    big_shift(&v.below, b->e > 0 ? (unsigned)b->e : 0);
    const int top = 63 - (int)base_clz(b->m, 64) + b->e;
    d->point = floor_log10_pow2(top); /* at most the true one; the loop below corrects it */
    if (d->point >= 0) {
        big_mul_pow10(&v.s, (unsigned)d->point);
    } else {
        big_mul_pow10(&v.r, (unsigned)-d->point);
        big_mul_pow10(&v.above, (unsigned)-d->point);
        big_mul_pow10(&v.below, (unsigned)-d->point);
    }
    while (big_compare_sum(&v.r, &v.above, &v.s) >= (even ? 0 : 1)) {
        big_mul(&v.s, 10, 0);
        d->point++;
    }
    for (;;) {
        big_mul(&v.r, 10, 0);
        big_mul(&v.above, 10, 0);
        big_mul(&v.below, 10, 0);
        unsigned digit = 0;
        for (; big_compare(&v.r, &v.s) >= 0; digit++)
            big_sub(&v.r, &v.s);
        const bool low = big_compare(&v.r, &v.below) < (even ? 1 : 0);
        const bool high = big_compare_sum(&v.r, &v.above, &v.s) >= (even ? 0 : 1);
        if (low || high) {
            const int half = big_compare_sum(&v.r, &v.r, &v.s);
            put_last_digit(d, digit, high && (!low || half > 0 || (half == 0 && digit % 2)));
            return;
        }
        d->digits[d->n++] = (char)('0' + digit);
    }
}

/* The same in 64 bits; false, and nothing done, when they do not suffice. */
static bool digits_small(const binary *b, decimal *d) {
    static const uint64_t powers[] = {
        1,        10,        100,        1000,         10000,         100000,        1000000,
        10000000, 100000000, 1000000000, 10000000000u, 100000000000u, 1000000000000u};
    const bool even = b->m % 2 == 0;
    const unsigned twice = b->lowest_of_binade ? 2 : 1;
    const int width = 64 - (int)base_clz(b->m, 64), top = width - 1 + b->e;
    int point = floor_log10_pow2(top);
    if (b->e > 0 || b->e < -55 || point > 12 || point < -12)
        return false;
    /* s grows by 10 at most once, and r + above stays below 20 * s */
    const unsigned s_bits = (unsigned)(-b->e) + twice + (point > 0 ? (unsigned)((point * 10) / 3 + 1) : 0);
    if (s_bits > 56)
        return false;
    uint64_t r = b->m << twice, s = (uint64_t)1 << ((unsigned)(-b->e) + twice);
    uint64_t above = (uint64_t)1 << (twice - 1), below = 1;
    if (point >= 0) {
        s *= powers[point];
    } else {
        r *= powers[-point];
        above *= powers[-point];
        below *= powers[-point];
    }
    const bool further = even ? r + above >= 10 * s : r + above > 10 * s;
    if (further && point < 0) { /* each has a factor of 10, and s stays a power of two */
        r /= 10;
        above /= 10;
        below /= 10;
    } else if (further) {
        s *= 10;
    }
    d->point = point + 1 + further; /* r >= s: the first digit is before the point */
    const bool is_shift = point <= 0 && !(further && point == 0);
    const unsigned shift = (unsigned)(-b->e) + twice;
    for (;;) {
        const unsigned digit = (unsigned)(is_shift ? r >> shift : r / s);
        r = is_shift ? r & (s - 1) : r % s;
        const bool low = even ? r <= below : r < below;
        const bool high = even ? r + above >= s : r + above > s;
        if (low || high) {
            put_last_digit(d, digit, high && (!low || 2 * r > s || (2 * r == s && digit % 2)));
            return true;
        }
        d->digits[d->n++] = (char)('0' + digit);
        r *= 10;
        above *= 10;
        below *= 10;
    }
}

/* Always with a point or an exponent, so that C, JSON and our own languages read a float. */
static void put_decimal(base_text *t, bool negative, const decimal *d) {
    char text[40];
    size_t at = 0;
    const int n = (int)d->n;
    if (negative)
        text[at++] = '-';
    if (d->point > 16 || d->point < -3) {
        for (int k = 0; k < n; k++) {
            text[at++] = d->digits[k];
            if (k == 0 && n > 1)
                text[at++] = '.';
        }
        base_putn(t, text, at);
        base_put(t, "e%d", d->point - 1);
        return;
    }
    if (d->point <= 0) {
        text[at++] = '0';
        text[at++] = '.';
    }
    for (int k = d->point < 0 ? d->point : 0; k < n || k < d->point; k++) {
        if (k > 0 && k == d->point)
            text[at++] = '.';
        text[at++] = k < 0 || k >= n ? '0' : d->digits[k];
    }
    if (d->point >= n) {
        text[at++] = '.';
        text[at++] = '0';
    }
    base_putn(t, text, at);
}

/* Writes v, whose significand has `stored` bits below the leading one and whose bits are magnitude and sign. d, without
 * digits: those that were written, unless it is 0 or no number. */
static void put_bits(base_text *t, uint64_t magnitude, bool negative, unsigned stored, int bias, decimal *d) {
    const uint64_t fraction = magnitude & (((uint64_t)1 << stored) - 1);
    const int exponent = (int)(magnitude >> stored);
    if (exponent == 2 * bias + 1) {
        base_puts(t, fraction ? "nan" : negative ? "-inf" : "inf");
    } else if (!magnitude) {
        base_puts(t, negative ? "-0.0" : "0.0");
    } else {
        binary b = {.m = fraction, .e = 1 - bias - (int)stored};
        if (exponent) {
            b.m |= (uint64_t)1 << stored;
            b.e = exponent - bias - (int)stored;
            b.lowest_of_binade = !fraction && exponent > 1;
        }
        if (!digits_small(&b, d))
            digits_big(&b, d);
        put_decimal(t, negative, d);
    }
}

void base_put_float(base_text *t, double v) {
    const uint64_t bits = base_bits_of(v);
    decimal d = {.n = 0};
    put_bits(t, bits & INT64_MAX, bits >> 63, 52, 1023, &d);
}

/* ---- reading ---- */

/* m * 2^e, m's lowest bit also standing for everything below it, rounded to nearest even. */
static double assemble(uint64_t m, int64_t e) {
    if (!m)
        return 0;
    const unsigned lead = base_clz(m, 64);
    m <<= lead;
    e -= (int64_t)lead;
    int64_t exponent = e + 63 + 1023;
    if (exponent > 2046)
        return base_double_of((uint64_t)2047 << 52);
    unsigned drop = 11;
    if (exponent < 1) {
        if (exponent < -52)
            return 0;
        drop += (unsigned)(1 - exponent);
        exponent = 0;
    }
    /* drop is at most 64 */
    uint64_t kept = drop < 64 ? m >> drop : 0;
    const uint64_t rest = drop < 64 ? m << (64 - drop) : m, half = (uint64_t)1 << 63;
    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    /* the leading one adds 1 to the exponent; a carry out of the fraction does too */
    return base_double_of(exponent ? (((uint64_t)exponent - 1) << 52) + kept : kept);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int hex_digit(char c) {
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Reads an exponent after its letter at *s, if a digit is there; clamped to +-2^40. */
static int64_t read_exponent(const char **s) {
    const char *p = *s + 1;
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (!is_digit(*p))
        return 0;
    int64_t e = 0;
    for (; is_digit(*p); p++) {
        if (e < (int64_t)1 << 40)
            e = 10 * e + (*p - '0');
    }
    *s = p;
    return negative ? -e : e;
}

/* After "0x". */
static bool read_hex(const char **s, double *v) {
    const char *p = *s;
    uint64_t m = 0;
    int64_t e = 0;
    bool any = false, point = false;
    for (;; p++) {
        const int digit = hex_digit(*p);
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (digit < 0)
            break;
        any = true;
        if (m >> 59) {
            m |= digit != 0; /* sticky: far below the last bit kept */
            if (!point)
                e += 4;
        } else {
            m = m << 4 | (uint64_t)digit;
            if (point)
                e -= 4;
        }
    }
    if (!any)
        return false;
    if (*p == 'p' || *p == 'P')
        e += read_exponent(&p);
    *v = assemble(m, e);
    *s = p;
    return true;
}

/* significant digits * 10^exponent; more: something not zero follows them. */
typedef struct number {
    uint8_t digits[MAX_DIGITS + 1];
    unsigned n;
    int64_t exponent;
} number;

static double number_exact(const number *d) {
    /* between 10^(magnitude - 1) and 10^magnitude */
    const int64_t magnitude = d->exponent + (int64_t)d->n;
    if (magnitude > 310)
        return base_double_of((uint64_t)2047 << 52);
    if (magnitude < -324)
        return 0;
    big value, divisor;
    big_set(&value, 0);
    big_set(&divisor, 1);
    for (unsigned i = 0; i < d->n; i++) {
        if (value.n) {
            big_mul(&value, 10, d->digits[i]);
        } else {
            big_set(&value, d->digits[i]);
        }
    }
    if (d->exponent >= 0) {
        big_mul_pow10(&value, (unsigned)d->exponent);
    } else {
        big_mul_pow10(&divisor, (unsigned)-d->exponent);
    }
    int e = (int)big_bits(&value) - (int)big_bits(&divisor);
    big_shift(e < 0 ? &value : &divisor, (unsigned)(e < 0 ? -e : e));
    /* now 1/2 < value / divisor < 2: 63 bits of the quotient, and whether something is left */
    uint64_t quotient = 0;
    for (int i = 0; i < 63; i++) {
        quotient <<= 1;
        if (big_compare(&value, &divisor) >= 0) {
            big_sub(&value, &divisor);
            quotient |= 1;
        }
        big_shift(&value, 1);
    }
    return assemble(quotient << 1 | (value.n != 0), (int64_t)e - 63);
}

static double number_value(const number *d) {
#if FLT_EVAL_METHOD == 0
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    /* both operands are exact, so that one operation rounds once */
    if (d->n <= 15 && d->exponent >= -22 && d->exponent <= 22) {
        uint64_t m = 0;
        for (unsigned i = 0; i < d->n; i++)
            m = 10 * m + d->digits[i];
        return d->exponent < 0 ? (double)m / powers[-d->exponent] : (double)m * powers[d->exponent];
    }
#endif
    return d->n ? number_exact(d) : 0;
}

static bool read_decimal(const char **s, double *v) {
    const char *p = *s;
    number d;
    d.n = 0;
    d.exponent = 0;
    bool any = false, point = false, more = false;
    for (;; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(*p))
            break;
        any = true;
        if (d.n < MAX_DIGITS) {
            if (d.n || *p != '0')
                d.digits[d.n++] = (uint8_t)(*p - '0');
            if (point)
                d.exponent--;
        } else {
            more = more || *p != '0';
            if (!point)
                d.exponent++;
        }
    }
    if (!any)
        return false;
    if (more) {
        d.digits[d.n++] = 1;
        d.exponent--;
    }
    if (*p == 'e' || *p == 'E')
        d.exponent += read_exponent(&p);
    *v = number_value(&d);
    *s = p;
    return true;
}

/* The word at s, which no letter, digit or underscore may follow. */
static bool read_word(const char **s, const char *word) {
    const size_t n = strlen(word);
    if (strncmp(*s, word, n) != 0)
        return false;
    const char next = (*s)[n];
    if (hex_digit(next) >= 0 || (next >= 'g' && next <= 'z') || (next >= 'G' && next <= 'Z') || next == '_')
        return false;
    *s += n;
    return true;
}

bool base_parse_float(const char *s, const char **end, double *v) {
    const char *p = s;
    const bool negative = *p == '-';
    double magnitude = 0;
    if (*p == '-' || *p == '+')
        p++;
    const char *hex = p + 2;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X') && read_hex(&hex, &magnitude)) {
        p = hex;
    } else if (read_word(&p, "inf")) {
        magnitude = base_double_of((uint64_t)2047 << 52);
    } else if (read_word(&p, "nan")) {
        magnitude = base_double_of((uint64_t)4095 << 51);
    } else if (!read_decimal(&p, &magnitude)) {
        return false;
    }
    if (end)
        *end = p;
    *v = negative ? base_double_of(base_bits_of(magnitude) | (uint64_t)1 << 63) : magnitude;
    return true;
}

/* ---- writing a float, which is read as it is written ---- */

void base_put_float32(base_text *t, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    const size_t start = t->n;
    decimal d = {.n = 0};
    put_bits(t, bits & INT32_MAX, bits >> 31, 23, 127, &d);
    if (!d.n)
        return;
    /* A text within a rounding error of two floats' midpoint could come back wrong through double: be exact then. */
    number read; /* not its 800 digits */
    read.n = d.n;
    read.exponent = d.point - (int)d.n;
    for (unsigned k = 0; k < d.n; k++)
        read.digits[k] = (uint8_t)(d.digits[k] - '0');
    if ((float)number_value(&read) != (v < 0 ? -v : v)) {
        t->n = start;
        base_put_float(t, (double)v);
    }
}
