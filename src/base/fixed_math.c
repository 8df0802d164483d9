/* fixed_math.c - the exact float words: square root, rounding to integers, remainder, minimum and maximum.
 *
 * Takes and gives double, see words.h; every NaN given is the one of base_math_nan. The words that approximate are
 * in fixed_math_exp.c (exponential, logarithm, power, hyperbolic), fixed_math_trig.c and fixed_math_erf.c.
 */
#include "base/fixed_math.h"
#include "base/words.h"

double base_sqrt(double x) {
    if (!(x >= 0)) /* negative or NaN; -0 stays -0 */
        return base_math_nan();
    return sqrt(x);
}

double base_rsqrt(double x) {
    if (!(x >= 0))
        return base_math_nan();
    if (x == 0)
        return base_math_sign(base_math_inf(), x);
    return 1.0 / sqrt(x);
}

/* Long division in base 2^11: at most 190 steps. */
double base_fmod(double a, double b) {
    double aa = base_math_abs(a), ab = base_math_abs(b);
    if (!(aa < base_math_inf()) || b != b || ab == 0)
        return base_math_nan();
    if (aa < ab)
        return a;
    int ea = 0, eb = 0;
    uint64_t hidden = UINT64_C(1) << 52, fraction = hidden - 1;
    uint64_t ma = (base_math_bits(base_math_split(aa, &ea)) & fraction) | hidden;
    uint64_t mb = (base_math_bits(base_math_split(ab, &eb)) & fraction) | hidden;
    int n = ea - eb;
    ma %= mb;
    for (; n >= 11 && ma != 0; n -= 11)
        ma = (ma << 11) % mb;
    if (ma == 0)
        return base_math_sign(0.0, a);
    ma = (ma << n) % mb;
    /* r = ma * 2^(eb - 52), a multiple of the smallest subnormal: both steps are exact. */
    int e = eb - 52;
    double r = (double)ma;
    if (e < -1022) {
        r *= base_math_exp2i(-1022 - e < 52 ? e + 1022 : -52);
        r = e + 1022 < -52 ? r * base_math_exp2i(e + 1022 + 52) * 0x1p-1022 : r * 0x1p-1022;
    } else {
        r *= base_math_exp2i(e);
    }
    return base_math_sign(r, a);
}

double base_trunc(double x) {
    if (x != x)
        return base_math_nan();
    if (base_math_abs(x) >= 0x1p52)
        return x;
    return base_math_sign((double)(int64_t)x, x);
}

double base_floor(double x) {
    double t = base_trunc(x);
    return t > x ? base_math_sign(t - 1.0, x) : t;
}

double base_ceil(double x) {
    double t = base_trunc(x);
    return t < x ? base_math_sign(t + 1.0, x) : t;
}

double base_rne(double x) {
    double a = base_math_abs(x);
    if (x != x)
        return base_math_nan();
    if (a >= 0x1p52)
        return x;
    return base_math_sign((a + 0x1p52) - 0x1p52, x);
}

double base_rha(double x) {
    double t = base_trunc(x);
    if (base_math_abs(x - t) >= 0.5) /* exact; NaN for an infinity */
        t += base_math_sign(1.0, x);
    return t;
}

double base_min(double a, double b) {
    if (a != a || b != b)
        return base_math_nan();
    if (a == b) /* of two zeros the negative one */
        return base_math_from(base_math_bits(a) | base_math_bits(b));
    return a < b ? a : b;
}

double base_max(double a, double b) {
    if (a != a || b != b)
        return base_math_nan();
    if (a == b)
        return base_math_from(base_math_bits(a) & base_math_bits(b));
    return a > b ? a : b;
}
