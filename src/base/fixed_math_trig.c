/* fixed_math_trig.c - the float words of angles: sine, cosine, tangent and their inverses.
 *
 * Takes and gives double, radians, see words.h. Angles are reduced to [-pi/4, pi/4] in integers with as many bits of
 * 2/pi as the argument needs, so the reduction is right for every double. The inverses are one kernel, atan(y/x).
 */
#include "base/fixed_math.h"
#include "base/words.h"

static const base_dd half_pi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
static const base_dd whole_pi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};

/* 32 bits of 2/pi from bit `at` on, where bit 64 has the weight 1/2 */
static inline uint32_t two_over_pi_bits(unsigned at) {
    unsigned word = at / 32, shift = at % 32;
    uint64_t pair = (uint64_t)base_math_two_over_pi[word] << 32 | base_math_two_over_pi[word + 1];
    return (uint32_t)(pair >> (32 - shift));
}

/* |x| = (4 i + *quadrant) pi/2 + result, |result| <= pi/4, error 2^-70 of the result; |x| in (pi/4, inf).
 * The fraction of x * (2/pi) / 4 is that of M * F: M the 53-bit integer of x = M * 2^e, F 192 bits of 2/pi from
 * weight 2^-(e-1) on; what is above adds whole turns, what is below 2^-137 to a result of at least 2^-62. */
static base_dd reduce(double x, unsigned *quadrant) {
    int e;
    uint64_t m = (base_math_bits(base_math_split(base_math_abs(x), &e)) & UINT64_C(0xfffffffffffff)) | UINT64_C(1)
                                                                                                           << 52;
    e -= 52;
    unsigned at = (unsigned)(64 + e - 2); /* e >= -53 */
    uint64_t low = m & 0xffffffffu, high = m >> 32;
    uint32_t turn[6];
    uint64_t carry = 0, high_part = 0; /* high times the word below: its upper half belongs to this word's left */
    for (int i = 5; i >= 0; i--) {
        uint64_t f = two_over_pi_bits(at + 32u * (unsigned)i);
        uint64_t sum = (low * f & 0xffffffffu) + (high_part & 0xffffffffu) + (carry & 0xffffffffu);
        turn[i] = (uint32_t)sum;
        carry = (carry >> 32) + (low * f >> 32) + (high_part >> 32) + (sum >> 32);
        high_part = high * f;
    }
    *quadrant = turn[0] >> 30;
    bool negative = (turn[0] >> 29 & 1) != 0; /* past the middle of the quadrant: count back from the next */
    uint32_t flip = negative ? 0xffffffffu : 0;
    *quadrant = (*quadrant + (negative ? 1u : 0u)) & 3u;
    base_dd s = {(double)((turn[0] & 0x3fffffffu) ^ (flip >> 2)) * 0x1p-30, 0.0};
    double weight = 0x1p-62;
    for (int i = 1; i < 6; i++, weight *= 0x1p-32) {
        base_dd t = base_dd_fast(s.hi, (double)(turn[i] ^ flip) * weight);
        s = base_dd_fast(t.hi, s.lo + t.lo);
    }
    s = base_dd_mul(s, half_pi); /* the complement is short by 2^-190 */
    return negative ? base_dd_neg(s) : s;
}

/* sine and cosine of |r| <= pi/4, errors 2^-56 and 2^-58 */
static inline base_dd sin_kernel(base_dd r) {
    double z = r.hi * r.hi;
    return base_dd_fast(r.hi, r.hi * z * base_math_poly(z, base_math_sin, 7) + r.lo * (1.0 - 0.5 * z));
}
static inline base_dd cos_kernel(base_dd r) {
    base_dd z = base_dd_product(r.hi, r.hi), s = base_dd_fast(1.0, -0.5 * z.hi);
    double rest = z.hi * z.hi * base_math_poly(z.hi, base_math_cos, 7);
    return base_dd_fast(s.hi, s.lo + (rest - (0.5 * z.lo + r.hi * r.lo)));
}

#define QUARTER_PI 0x1.921fb54442d18p-1

double base_sin(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27)
        return x;
    if (a <= QUARTER_PI)
        return sin_kernel((base_dd){x, 0.0}).hi;
    if (!(a < base_math_inf()))
        return base_math_nan();
    unsigned quadrant;
    base_dd r = reduce(x, &quadrant);
    double s = (quadrant & 1) ? cos_kernel(r).hi : sin_kernel(r).hi;
    return (quadrant >= 2) != (x < 0) ? -s : s;
}

double base_cos(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27)
        return 1.0;
    if (a <= QUARTER_PI)
        return cos_kernel((base_dd){x, 0.0}).hi;
    if (!(a < base_math_inf()))
        return base_math_nan();
    unsigned quadrant;
    base_dd r = reduce(x, &quadrant);
    double c = (quadrant & 1) ? sin_kernel(r).hi : cos_kernel(r).hi;
    return quadrant == 1 || quadrant == 2 ? -c : c;
}

double base_tan(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27)
        return x;
    if (!(a < base_math_inf()))
        return base_math_nan();
    unsigned quadrant = 0;
    base_dd r = {a, 0.0};
    if (a > QUARTER_PI)
        r = reduce(x, &quadrant);
    base_dd s = sin_kernel(r), c = cos_kernel(r);
    double t = (quadrant & 1) ? -base_dd_div(c, s).hi : base_dd_div(s, c).hi;
    return x < 0 ? -t : t;
}

/* atan(y/x), 0 < y <= x, both far from over- and underflow, error 2^-62: from the nearest i/16 by
 * atan(y/x) = atan(c) + atan((y - c x)/(x + c y)), the last of at most 1/31, by its series. */
static base_dd atan_kernel(base_dd y, base_dd x) {
    int i = (int)(y.hi / x.hi * 16.0 + 0.5);
    base_dd c = {(double)i * 0.0625, 0.0}, t;
    if (i == 0)
        t = base_dd_div(y, x);
    else
        t = base_dd_div(base_dd_add(y, base_dd_neg(base_dd_mul(c, x))), base_dd_add(x, base_dd_mul(c, y)));
    double z = t.hi * t.hi;
    double p = -1 / 3.0 + z * (1 / 5.0 + z * (-1 / 7.0 + z * (1 / 9.0 + z * (-1 / 11.0 + z * (1 / 13.0)))));
    t = base_dd_fast(t.hi, t.lo + t.hi * z * p);
    return i == 0 ? t : base_dd_add(base_math_atan_table[i], t);
}

/* The angle in [0, pi] of the point (x, y), y > 0, x != 0. */
static double angle(base_dd y, base_dd x, bool left) {
    base_dd t;
    if (y.hi <= x.hi)
        t = atan_kernel(y, x);
    else
        t = base_dd_add(half_pi, base_dd_neg(atan_kernel(x, y)));
    return left ? base_dd_add(whole_pi, base_dd_neg(t)).hi : t.hi;
}

double base_atan(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27)
        return x;
    if (!(a < 0x1p60))
        return x != x ? base_math_nan() : base_math_sign(half_pi.hi, x);
    return base_math_sign(angle((base_dd){a, 0.0}, (base_dd){1.0, 0.0}, false), x);
}

double base_atan2(double y, double x) {
    if (x != x || y != y)
        return base_math_nan();
    double ay = base_math_abs(y), ax = base_math_abs(x), inf = base_math_inf();
    bool left = (base_math_bits(x) & BASE_MATH_SIGN) != 0;
    if (ay == 0 || (ax == inf && ay < inf))
        return base_math_sign(left ? whole_pi.hi : 0.0, y);
    if (ay == inf && ax == inf)
        return base_math_sign(left ? 0x1.2d97c7f3321d2p+1 : QUARTER_PI, y); /* 3 pi/4 */
    if (ax == 0 || ay == inf)
        return base_math_sign(half_pi.hi, y);
    int ey, ex;
    double my = base_math_split(ay, &ey), mx = base_math_split(ax, &ex);
    if (ey - ex > 60)
        return base_math_sign(half_pi.hi, y);
    if (ey - ex < -60)
        return base_math_sign(left ? whole_pi.hi : ay / ax, y);
    my *= base_math_exp2i(ey - ex);
    return base_math_sign(angle((base_dd){my, 0.0}, (base_dd){mx, 0.0}, left), y);
}

/* sqrt(1 - a^2), 0 < a < 1 */
static base_dd cathetus(double a) {
    return base_dd_sqrt(base_dd_mul(base_dd_sum(1.0, -a), base_dd_sum(1.0, a)));
}

double base_asin(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27)
        return x;
    if (!(a < 1))
        return a == 1 ? base_math_sign(half_pi.hi, x) : base_math_nan();
    return base_math_sign(angle((base_dd){a, 0.0}, cathetus(a), false), x);
}

double base_acos(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-60)
        return half_pi.hi;
    if (!(a < 1)) {
        if (a == 1)
            return x < 0 ? whole_pi.hi : 0.0;
        return base_math_nan();
    }
    return angle(cathetus(a), (base_dd){a, 0.0}, x < 0);
}
