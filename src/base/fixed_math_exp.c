/* fixed_math_exp.c - the float words around e^x and log x: exponential, logarithm, power, hyperbolic and inverses.
 *
 * Takes and gives double, see words.h. Two kernels, e^x by a table of 2^(j/128) and log x by a table of 1/m, carry
 * 61 and 67 bits; every word is one of them, double-double arithmetic around it, and one rounding at the end.
 */
#include "base/fixed_math.h"
#include "base/words.h"

/* 2^(kd/128) e^(r.hi + r.lo), |r| <= 0.0028: the series leaves out r^7/5040 < 2^-71. */
static inline base_dd exp_rest(double kd, base_dd r, int *k) {
    int i = (int)kd, j = i & 127;
    base_dd t = base_math_exp2[j];
    double x = r.hi;
    double p = x * x * (1 / 2.0 + x * (1 / 6.0 + x * (1 / 24.0 + x * (1 / 120.0 + x * (1 / 720.0)))));
    *k = (i - j) / 128;
    return base_dd_fast(t.hi, t.hi * (x + (r.lo + p)) + t.lo);
}

base_dd base_math_exp(base_dd x, int *k) {
    double kd = base_math_round(x.hi * 0x1.71547652b82fep+7);
    double a = x.hi - kd * 0x1.62e42fefa0000p-8; /* exact: 35 bits of ln2/128 times 18 bits */
    double b = kd * 0x1.cf79abc9e3b3ap-47;
    double r = a - b;
    return exp_rest(kd, base_dd_sum(r, ((a - r) - b) + x.lo), k);
}

/* m * 2^k rounded; m in [0.9, 4], any k in [-1200, 1200] */
static inline double scale(double m, int k) {
    if (k >= -1021 && k <= 1020)
        return m * base_math_exp2i(k);
    if (k > 0)
        return m * 0x1p1000 * base_math_exp2i(k - 1000);
    return m * 0x1p-300 * base_math_exp2i(k + 300);
}

double base_exp(double x) {
    if (!(base_math_abs(x) < 746.0)) {
        if (x != x)
            return base_math_nan();
        return x > 0 ? base_math_inf() : 0.0;
    }
    int k;
    base_dd m = base_math_exp((base_dd){x, 0.0}, &k);
    return scale(m.hi, k);
}

double base_exp2(double x) {
    if (!(base_math_abs(x) < 1076.0)) {
        if (x != x)
            return base_math_nan();
        return x > 0 ? base_math_inf() : 0.0;
    }
    int k;
    double kd = base_math_round(x * 128.0), r = x - kd * (1 / 128.0); /* exact */
    base_dd m = exp_rest(kd, (base_dd){r * 0x1.62e42fefa39efp-1, r * 0x1.abc9e3b39803fp-56}, &k);
    return scale(m.hi, k);
}

double base_expm1(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-54)
        return x;
    if (a <= 0.36) {
        base_dd square = base_dd_product(x, x);
        base_dd s = base_dd_fast(x, 0.5 * square.hi);
        return s.hi + (s.lo + (0.5 * square.lo + x * square.hi * base_math_poly(x, base_math_expm1, 10)));
    }
    if (!(a < 40.0))
        return x != x ? base_math_nan() : x < 0 ? -1.0 : base_exp(x);
    int k;
    base_dd m = base_math_exp((base_dd){x, 0.0}, &k);
    double two = base_math_exp2i(k);
    base_dd s = base_dd_sum(m.hi * two, -1.0);
    return s.hi + (s.lo + m.lo * two);
}

/* (log(1 + r) - r + r^2/2)/r^3 */
static const double log_series[8] = {1 / 3.0, -1 / 4.0, 1 / 5.0, -1 / 6.0, 1 / 7.0, -1 / 8.0, 1 / 9.0, -1 / 10.0};

base_dd base_math_log(base_dd x) {
    int adjust = 0;
    double lo = x.lo / x.hi; /* log(hi + lo) = log hi + lo/hi, less 2^-107 */
    if (x.hi < 0x1p-1022) {
        x.hi *= 0x1p54;
        adjust = -54;
    }
    uint64_t b = base_math_bits(x.hi), sqrt_half = UINT64_C(0x3fe6a09e00000000);
    int k = (int)((b + (UINT64_C(0x3ff0000000000000) - sqrt_half)) >> 52) - 1023;
    uint64_t mb = b - ((uint64_t)(int64_t)k << 52); /* m = x / 2^k in [0.707, 1.415) */
    double m = base_math_from(mb);
    const base_math_log_row *row = &base_math_log_table[(int)(m * 128.0 + 0.5) - 90];
    double mh = base_math_from(mb & ~UINT64_C(0xffffff)), ml = m - mh;
    /* m/c - 1, exact: 29 and 24 bits times 12; |r| < 0.006 */
    base_dd r = base_dd_sum(mh * row->inverse - 1.0, ml * row->inverse);
    base_dd square = base_dd_product(r.hi, r.hi);
    double p = r.hi * square.hi * base_math_poly(r.hi, log_series, 8);
    double kd = (double)(k + adjust);
    double whole = kd * 0x1.62e42fefa3800p-1 + row->hi; /* exact: multiples of 2^-42 below 2^11 */
    base_dd s = base_dd_fast(whole, r.hi);              /* whole is 0 or above |r| */
    base_dd t = base_dd_fast(s.hi, -0.5 * square.hi);
    double rest = p + (r.lo - (0.5 * square.lo + r.hi * r.lo));
    rest += kd * 0x1.ef35793c76730p-45 + row->lo;
    return base_dd_fast(t.hi, t.lo + (s.lo + (rest + lo)));
}

double base_log(double x) {
    if (!(x > 0)) {
        if (x == 0)
            return -base_math_inf();
        return base_math_nan();
    }
    if (x == base_math_inf())
        return x;
    return base_math_log((base_dd){x, 0.0}).hi;
}

double base_log1p(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27) {
        if (a < 0x1p-54)
            return x;
        return x - x * x * (0.5 - x * (1 / 3.0));
    }
    if (!(x > -1)) {
        if (x == -1)
            return -base_math_inf();
        return base_math_nan();
    }
    if (x == base_math_inf())
        return x;
    return base_math_log(base_dd_sum(1.0, x)).hi;
}

/* 0: not an integer, 1: odd, 2: even; y finite */
static int integer_kind(double y) {
    double a = base_math_abs(y);
    if (a >= 0x1p53)
        return 2;
    int64_t i = (int64_t)a;
    if ((double)i != a)
        return 0;
    return (i & 1) ? 1 : 2;
}

/* pow where an argument is 0, infinite or NaN; x != 1 and y != 0 */
static double pow_special(double x, double y) {
    double a = base_math_abs(x), inf = base_math_inf();
    if (x != x || y != y)
        return base_math_nan();
    if (base_math_abs(y) == inf) {
        if (a == 1)
            return 1.0;
        return (a > 1) == (y > 0) ? inf : 0.0;
    }
    double r = (a == 0) == (y < 0) ? inf : 0.0; /* 0^-y, inf^y : 0^y, inf^-y */
    return integer_kind(y) == 1 ? base_math_sign(r, x) : r;
}

double base_pow(double x, double y) {
    if (x == 1 || y == 0)
        return 1.0;
    double a = base_math_abs(x), ay = base_math_abs(y), inf = base_math_inf();
    if (!(a < inf) || !(ay < inf) || a == 0)
        return pow_special(x, y);
    double sign = 1.0;
    if (x < 0) {
        int kind = integer_kind(y);
        if (kind == 0)
            return base_math_nan();
        sign = kind == 1 ? -1.0 : 1.0;
        if (a == 1)
            return sign;
    }
    if (ay < 0x1p-65) /* |y log x| < 2^-55 */
        return sign;
    bool grows = (a > 1) == (y > 0);
    if (ay > 0x1p65) /* |y log x| > 2^11 */
        return grows ? sign * inf : sign * 0.0;
    base_dd l = base_math_log((base_dd){a, 0.0}), p = base_dd_product(l.hi, y);
    if (base_math_abs(p.hi) >= 746.0)
        return grows ? sign * inf : sign * 0.0;
    p = base_dd_fast(p.hi, p.lo + l.lo * y);
    int k;
    base_dd m = base_math_exp(p, &k);
    return sign * scale(m.hi, k);
}

double base_sinh(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27 || !(a < base_math_inf()))
        return x != x ? base_math_nan() : x;
    if (a <= 0.36) {
        double z = x * x;
        return x + x * z * base_math_poly(z, base_math_sinh, 6);
    }
    if (a >= 712.0)
        return base_math_sign(base_math_inf(), x);
    int k;
    base_dd e = base_math_exp((base_dd){a, 0.0}, &k);
    if (a > 40.0)
        return base_math_sign(scale(e.hi, k - 1), x);
    double half = base_math_exp2i(k - 1);
    e = (base_dd){e.hi * half, e.lo * half};
    return base_math_sign(base_dd_add(e, base_dd_neg(base_dd_div((base_dd){0.25, 0.0}, e))).hi, x);
}

double base_cosh(double x) {
    double a = base_math_abs(x);
    if (!(a < 712.0))
        return x != x ? base_math_nan() : base_math_inf();
    int k;
    base_dd e = base_math_exp((base_dd){a, 0.0}, &k);
    if (a > 40.0)
        return scale(e.hi, k - 1);
    double half = base_math_exp2i(k - 1);
    e = (base_dd){e.hi * half, e.lo * half};
    return base_dd_add(e, base_dd_div((base_dd){0.25, 0.0}, e)).hi;
}

double base_tanh(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27)
        return x;
    if (a <= 0.36) {
        double z = x * x;
        return x + x * z * base_math_poly(z, base_math_tanh, 10);
    }
    if (!(a < 22.0))
        return x != x ? base_math_nan() : base_math_sign(1.0, x);
    int k;
    base_dd e = base_math_exp((base_dd){2.0 * a, 0.0}, &k);
    double two = base_math_exp2i(k);
    e = base_dd_add((base_dd){e.hi * two, e.lo * two}, (base_dd){1.0, 0.0});
    return base_math_sign(base_dd_add((base_dd){1.0, 0.0}, base_dd_div((base_dd){-2.0, 0.0}, e)).hi, x);
}

/* The inverses: log of a double-double argument; at |x| >= 2^-27 its 2^-104 is 2^-77 of the result. */

static const base_dd ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

double base_asinh(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27 || !(a < base_math_inf()))
        return x != x ? base_math_nan() : x;
    base_dd l;
    if (a > 0x1p30) {
        l = base_dd_add(base_math_log((base_dd){a, 0.0}), ln2);
    } else {
        base_dd root = base_dd_sqrt(base_dd_add(base_dd_product(a, a), (base_dd){1.0, 0.0}));
        l = base_math_log(base_dd_add(root, (base_dd){a, 0.0}));
    }
    return base_math_sign(l.hi, x);
}

double base_acosh(double x) {
    if (!(x >= 1))
        return base_math_nan();
    if (x == 1)
        return 0.0;
    if (x == base_math_inf())
        return x;
    if (x > 0x1p30)
        return base_dd_add(base_math_log((base_dd){x, 0.0}), ln2).hi;
    base_dd root = base_dd_sqrt(base_dd_mul(base_dd_sum(x, -1.0), base_dd_sum(x, 1.0)));
    return base_math_log(base_dd_add(root, (base_dd){x, 0.0})).hi;
}

double base_atanh(double x) {
    double a = base_math_abs(x);
    if (a < 0x1p-27)
        return x;
    if (!(a < 1))
        return a == 1 ? base_math_sign(base_math_inf(), x) : base_math_nan();
    base_dd q = base_dd_div(base_dd_sum(1.0, a), base_dd_sum(1.0, -a));
    return base_math_sign(0.5 * base_math_log(q).hi, x);
}
