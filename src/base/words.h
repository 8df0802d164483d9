/* words.h - the scalar words that have an exact meaning everywhere (part of base's face).
 *
 * Total: every argument has a defined result, without undefined behaviour in C. docs/LANGUAGE.md is the definition.
 * The float words are our own fixed math: the same bits on every machine (built with -ffp-contract=off),
 * never libm's. Faithful to about 1 ulp of the stated type unless said otherwise.
 */
#ifndef BURIN_BASE_WORDS_H
#define BURIN_BASE_WORDS_H

#include <stdint.h>

/* integers, on 64 bits; callers wrap the result to the type */
int64_t base_floor_div(int64_t a, int64_t b); /* toward -inf; b == 0 gives 0; INT64_MIN / -1 wraps */
int64_t base_floor_mod(int64_t a, int64_t b); /* sign of b; b == 0 gives 0 */
int64_t base_trunc_div(int64_t a, int64_t b); /* toward zero; b == 0 gives 0 */
int64_t base_trunc_rem(int64_t a, int64_t b); /* sign of a; b == 0 gives 0 */
int64_t base_ipow(int64_t a, int64_t b);      /* wraps; b < 0: 0, but 1 for a == 1 and +-1 for a == -1 */
/* shifts: the count is taken as it is; < 0 shifts the other way never: it gives as count 0; >= width: shl 0, shr 0 or
 * the sign */
int64_t base_shl(int64_t a, int64_t count, unsigned width);
int64_t base_shr_signed(int64_t a, int64_t count, unsigned width);
uint64_t base_shr_unsigned(uint64_t a, int64_t count, unsigned width);
unsigned base_clz(uint64_t a, unsigned width); /* of 0: width */
/* fixed point (gemmlowp's): */
/* saturating rounding doubling high multiply; INT32_MIN*INT32_MIN gives INT32_MAX */
int32_t base_srdhm(int32_t a, int32_t b);
int16_t base_srdhm16(int16_t a, int16_t b);
int32_t base_rdivpot(int32_t x, int32_t exponent); /* x / 2^exponent, ties away from zero; exponent <= 0: x; > 31: 0 */

/* floats (fixed_math*.c). A word on f32 is the word on the widened argument, rounded once to float: within 0.5001 ulp
 * of f32 (sqrt: correctly rounded). Special values after C99 Annex F; every NaN given is the bits 0x7ff8000000000000.
 * Errors in ulps of f64, searched over millions of arguments: below 0.51, but expm1 sinh tanh 0.6, sin cos erf 0.8,
 * tan 0.95, rsqrt 1; where the result is subnormal exp exp2 pow 0.76. */
double base_exp(double), base_exp2(double), base_expm1(double), base_log(double), base_log1p(double);
double base_sin(double), base_cos(double), base_tan(double), base_asin(double), base_acos(double), base_atan(double);
double base_atan2(double y, double x), base_sinh(double), base_cosh(double), base_tanh(double);
double base_asinh(double), base_acosh(double), base_atanh(double), base_erf(double), base_pow(double, double);
double base_sqrt(double);             /* correctly rounded (IEEE) */
double base_rsqrt(double);            /* 1/sqrt(x), two roundings */
double base_fmod(double a, double b); /* exact, sign of a; b == 0 or a infinite: NaN */
double base_floor(double), base_ceil(double), base_trunc(double);
double base_rne(double); /* nearest, ties to even */
double base_rha(double); /* nearest, ties away from zero (C's round) */
/* min and max propagate NaN; of -0 and +0 min gives -0, max +0 */
double base_min(double a, double b);
double base_max(double a, double b);

#endif
