/* fixed_math.h - private to base: double-double arithmetic, the kernels and the tables of the fixed math words.
 *
 * A base_dd is the unevaluated sum hi + lo with |lo| <= ulp(hi)/2: about 106 bits. Everything here is exact, or
 * good to 2^-100 of the result, for arguments whose squares and products are normal numbers (each caller sees to
 * that). Needs IEEE double arithmetic, rounding to nearest, without contraction (-ffp-contract=off) and without
 * excess precision (32-bit x86: -msse2 -mfpmath=sse). Uses no fma, no long double, and of libm only sqrt.
 */
#ifndef BURIN_BASE_FIXED_MATH_H
#define BURIN_BASE_FIXED_MATH_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "fixed math needs IEEE arithmetic: do not build with -ffast-math"
#endif
#if FLT_EVAL_METHOD != 0
#error "fixed math needs double arithmetic without excess precision: build with -msse2 -mfpmath=sse"
#endif

typedef struct base_dd {
    double hi, lo;
} base_dd;
typedef struct base_math_log_row {
    double inverse, hi, lo;
} base_math_log_row;
typedef struct base_math_erf_row {
    base_dd at;
    double k[12];
} base_math_erf_row;

/* ---- tables, fixed_math_tables.c ---- */
extern const base_dd base_math_exp2[128];
extern const base_math_log_row base_math_log_table[93];
extern const base_dd base_math_atan_table[17];
extern const uint32_t base_math_two_over_pi[40];
extern const double base_math_sin[7], base_math_cos[7], base_math_expm1[10], base_math_sinh[6], base_math_tanh[10];
extern const double base_math_erf[9];
extern const base_math_erf_row base_math_erf_table[22];

/* ---- kernels, fixed_math_exp.c ---- */
/* e^x as m * 2^*k, m in [0.99, 2.01), |x| <= 746, error 2^-61 of m; k in [-1077, 1077]. */
base_dd base_math_exp(base_dd x, int *k);
/* log x for a finite x.hi > 0, error 2^-67 of the result where x.lo is 0 or |log x| >= 2^-40. */
base_dd base_math_log(base_dd x);

/* ---- bits ---- */
#define BASE_MATH_SIGN UINT64_C(0x8000000000000000)
#define BASE_MATH_INF UINT64_C(0x7ff0000000000000)

static inline uint64_t base_math_bits(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
static inline double base_math_from(uint64_t b) {
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}
/* The one NaN these words return: machines disagree about sign and payload of a NaN they make or pass on. */
static inline double base_math_nan(void) {
    return base_math_from(UINT64_C(0x7ff8000000000000));
}
static inline double base_math_inf(void) {
    return base_math_from(BASE_MATH_INF);
}
static inline double base_math_abs(double x) {
    return base_math_from(base_math_bits(x) & ~BASE_MATH_SIGN);
}
/* magnitude of x, sign of s */
static inline double base_math_sign(double x, double s) {
    return base_math_from((base_math_bits(x) & ~BASE_MATH_SIGN) | (base_math_bits(s) & BASE_MATH_SIGN));
}
static inline double base_math_exp2i(int k) { /* 2^k, -1022 <= k <= 1023 */
    return base_math_from((uint64_t)(k + 1023) << 52);
}
/* Nearest integer, ties to even, of |x| < 2^51. */
static inline double base_math_round(double x) {
    double shift = 0x1.8p52;
    return (x + shift) - shift;
}
/* x = m * 2^*e with |m| in [1, 2); x finite, not 0. */
static inline double base_math_split(double x, int *e) {
    int adjust = 0;
    if (base_math_abs(x) < 0x1p-1022) {
        x *= 0x1p54;
        adjust = -54;
    }
    uint64_t b = base_math_bits(x);
    *e = (int)((b >> 52) & 0x7ff) - 1023 + adjust;
    return base_math_from((b & UINT64_C(0x800fffffffffffff)) | UINT64_C(0x3ff0000000000000));
}

/* ---- double-double ---- */
static inline base_dd base_dd_fast(double a, double b) { /* a + b exactly; |a| >= |b| or a == 0 */
    double s = a + b;
    return (base_dd){s, b - (s - a)};
}
static inline base_dd base_dd_sum(double a, double b) { /* a + b exactly */
    double s = a + b, t = s - a;
    return (base_dd){s, (a - (s - t)) + (b - t)};
}
static inline base_dd base_dd_product(double a, double b) { /* a * b exactly */
    double ca = 134217729.0 * a, cb = 134217729.0 * b;      /* 2^27 + 1: halves of 26 bits */
    double ah = ca - (ca - a), bh = cb - (cb - b);
    double al = a - ah, bl = b - bh, p = a * b;
    return (base_dd){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}
static inline base_dd base_dd_neg(base_dd a) {
    return (base_dd){-a.hi, -a.lo};
}
static inline base_dd base_dd_add(base_dd a, base_dd b) {
    base_dd s = base_dd_sum(a.hi, b.hi), t = base_dd_sum(a.lo, b.lo);
    s = base_dd_fast(s.hi, s.lo + t.hi);
    return base_dd_fast(s.hi, s.lo + t.lo);
}
static inline base_dd base_dd_mul(base_dd a, base_dd b) {
    base_dd p = base_dd_product(a.hi, b.hi);
    return base_dd_fast(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
static inline base_dd base_dd_div(base_dd a, base_dd b) {
    double q = a.hi / b.hi;
    base_dd p = base_dd_product(q, b.hi);
    double rest = ((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo);
    return base_dd_fast(q, rest / b.hi);
}
static inline base_dd base_dd_sqrt(base_dd a) { /* a > 0 */
    double s = sqrt(a.hi);
    base_dd p = base_dd_product(s, s);
    return base_dd_fast(s, (((a.hi - p.hi) - p.lo) + a.lo) / (2.0 * s));
}

/* k[0] + k[1] x + ... + k[n-1] x^(n-1) */
static inline double base_math_poly(double x, const double *k, int n) {
    double s = k[n - 1];
    for (int i = n - 2; i >= 0; i--)
        s = s * x + k[i];
    return s;
}

#endif
