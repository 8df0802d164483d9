/* ints.c - the integer words of words.h.
 *
 * Takes and gives 64-bit integers (the fixed-point words: the width they name). Total: every argument has a
 * defined result and no expression here overflows. Wrapping to a narrower type is the caller's.
 */
#include "base/base.h"

/* Two's complement wrap: implementation-defined in C11, and modular in every compiler we build with. */
static int64_t wrap(uint64_t v) {
    return (int64_t)v;
}

int64_t base_trunc_div(int64_t a, int64_t b) {
    if (b == 0)
        return 0;
    if (b == -1)
        return wrap(0 - (uint64_t)a);
    return a / b;
}

int64_t base_trunc_rem(int64_t a, int64_t b) {
    if (b == 0 || b == -1)
        return 0;
    return a % b;
}

int64_t base_floor_div(int64_t a, int64_t b) {
    const int64_t q = base_trunc_div(a, b), r = base_trunc_rem(a, b);
    return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}

int64_t base_floor_mod(int64_t a, int64_t b) {
    const int64_t r = base_trunc_rem(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t base_ipow(int64_t a, int64_t b) {
    if (b < 0) {
        if (a == 1)
            return 1;
        if (a == -1)
            return b % 2 != 0 ? -1 : 1;
        return 0;
    }
    uint64_t result = 1, power = (uint64_t)a;
    for (uint64_t e = (uint64_t)b; e; e >>= 1) {
        if (e & 1)
            result *= power;
        power *= power;
    }
    return wrap(result);
}

int64_t base_shl(int64_t a, int64_t count, unsigned width) {
    if (count <= 0)
        return a;
    if (count >= (int64_t)width || count >= 64)
        return 0;
    return wrap((uint64_t)a << count);
}

int64_t base_shr_signed(int64_t a, int64_t count, unsigned width) {
    if (count <= 0)
        return a;
    if (count >= (int64_t)width || count >= 64)
        return a < 0 ? -1 : 0;
    return a < 0 ? ~(~a >> count) : a >> count;
}

uint64_t base_shr_unsigned(uint64_t a, int64_t count, unsigned width) {
    if (count <= 0)
        return a;
    if (count >= (int64_t)width || count >= 64)
        return 0;
    return a >> count;
}

unsigned base_clz(uint64_t a, unsigned width) {
    if (width < 64)
        a &= ((uint64_t)1 << width) - 1;
    unsigned used = 0;
    for (unsigned step = 32; step; step /= 2) {
        if (a >> step) {
            a >>= step;
            used += step;
        }
    }
    return width - used - (unsigned)a;
}

/* gemmlowp's high multiply: round half away from zero below, up above, as its nudge and truncating division do. */
static int64_t doubling_high(int64_t product, unsigned bits) {
    const int64_t half = (int64_t)1 << (bits - 1);
    return (product + (product >= 0 ? half : 1 - half)) / ((int64_t)1 << bits);
}

int32_t base_srdhm(int32_t a, int32_t b) {
    if (a == INT32_MIN && b == INT32_MIN)
        return INT32_MAX;
    return (int32_t)doubling_high((int64_t)a * b, 31);
}

int16_t base_srdhm16(int16_t a, int16_t b) {
    if (a == INT16_MIN && b == INT16_MIN)
        return INT16_MAX;
    return (int16_t)doubling_high((int64_t)a * b, 15);
}

int32_t base_rdivpot(int32_t x, int32_t exponent) {
    if (exponent <= 0)
        return x;
    if (exponent > 31)
        return 0;
    const int64_t magnitude = x < 0 ? -(int64_t)x : x;
    const int64_t q = (magnitude + ((int64_t)1 << (exponent - 1))) >> exponent;
    return (int32_t)(x < 0 ? -q : q);
}
