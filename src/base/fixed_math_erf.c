/* fixed_math_erf.c - the error function.
 *
 * Takes and gives double, see words.h. An odd polynomial below 1/2; above, one polynomial for each quarter around
 * its middle, added to a double-double value there.
 */
#include "base/fixed_math.h"
#include "base/words.h"

static const base_dd two_over_sqrt_pi = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};

double base_erf(double x) {
    double a = base_math_abs(x);
    if (a < 0.5) {
        double factor = 1.0;
        if (a < 0x1p-500) { /* keeps the exact product clear of underflow */
            x *= 0x1p200;
            factor = 0x1p-200;
        }
        double z = x * x;
        base_dd p = base_dd_product(x, two_over_sqrt_pi.hi);
        double rest = p.lo + x * two_over_sqrt_pi.lo;
        if (a >= 0x1p-60)
            rest += x * z * base_math_poly(z, base_math_erf, 9);
        return base_math_sign((p.hi + rest) * factor, x);
    }
    if (!(a < 6.0)) /* 1 - erf(6) < 2^-55 */
        return x != x ? base_math_nan() : base_math_sign(1.0, x);
    int i = (int)(a * 4.0);
    const base_math_erf_row *row = &base_math_erf_table[i - 2];
    double d = a - ((double)i + 0.5) * 0.25; /* exact */
    return base_math_sign(row->at.hi + (row->at.lo + d * base_math_poly(d, row->k, 12)), x);
}
