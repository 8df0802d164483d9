/* eval_bound.c - running error analysis: what words do to values with bounds.
 *
 * Takes for each operand a value v and a bound b: any allowed implementation has some w with |w - v| <= b. Gives the
 * same for the result, for every implementation that rounds each operation to its type at worst, sums in any order or
 * wider, and whose library words are off by at most 4 units in the last place. An integer that comes from floats has a
 * bound too: a rounding or truncation whose argument straddles a border gives one that covers both sides; words that
 * are not monotone on an uncertain integer give the width of the type. A condition within its bound counts both ways.
 * The last digits of double are counted on top, so that a bound is never the noise of the evaluation itself.
 */
#include "lang/eval_bound.h"

#include <math.h>

#define U53 0x1p-53

typedef struct approx {
    base_value v; /* floats in f */
    double b;
} approx;

/* ---- types ---- */

static double unit_of(base_type t) {
    switch (t) {
    case BASE_F64:
        return 0x1p-53;
    case BASE_F32:
        return 0x1p-24;
    case BASE_F16:
        return 0x1p-11;
    case BASE_BF16:
        return 0x1p-8;
    case BASE_F8E4M3FN:
    case BASE_F8E4M3FNUZ:
        return 0x1p-4;
    case BASE_F8E5M2:
    case BASE_F8E5M2FNUZ:
        return 0x1p-3;
    case BASE_F8E8M0:
        return 0x1p-1;
    default:
        return 0x1p-2;
    }
}

/* Half the smallest subnormal: the absolute error of a rounding near 0. */
static double least_of(base_type t) {
    switch (t) {
    case BASE_F64:
        return 0x1p-1074;
    case BASE_F32:
        return 0x1p-150;
    case BASE_F16:
        return 0x1p-25;
    case BASE_BF16:
        return 0x1p-134;
    case BASE_F8E4M3FN:
        return 0x1p-10;
    case BASE_F8E4M3FNUZ:
        return 0x1p-11;
    case BASE_F8E5M2:
        return 0x1p-17;
    case BASE_F8E5M2FNUZ:
        return 0x1p-18;
    case BASE_F8E8M0:
        return 0x1p-127;
    default:
        return 0.25;
    }
}

static double fix(double b) {
    return b >= 0 ? b : (double)INFINITY;
} /* NaN: anything */

static double times(double a, double b) {
    return a == 0 || b == 0 ? 0 : a * b;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* v with propagated bound b, rounded to t with relative error of ulps units. */
static approx rounded(base_type t, double v, double b, double units) {
    approx r = {.v.f = v};
    if (!isfinite(v)) {
        bool held = lang_float_has_inf(t) || (isnan(v) && t != BASE_F4E2M1);
        r.b = b == 0 && held ? 0 : (double)INFINITY;
        return r;
    }
    double most = fabs(v) + b;
    r.b = fix(b + units * unit_of(t) * most + 2 * U53 * most + least_of(t));
    if (most > lang_float_highest(t)) {
        r.b = (double)INFINITY; /* one implementation overflows, a wider one does not */
    }
    return r;
}

static approx exact(base_value v) {
    return (approx){v, 0};
}

static approx around(double v, double b) {
    return (approx){{.f = v}, fix(b)};
}

/* The value and the furthest of two others around it. */
static double spread(double v, double lo, double hi) {
    if (isnan(lo) || isnan(hi) || isnan(v)) {
        return isnan(lo) && isnan(hi) && isnan(v) ? 0 : (double)INFINITY;
    }
    return larger(lo == v ? 0 : fabs(v - lo), hi == v ? 0 : fabs(hi - v));
}

/* ---- floats ---- */

static double call(lang_word w, double x) {
    base_value a = {.f = x};
    return lang_word_value(w, BASE_F64, BASE_F64, &a).f;
}

static bool rounds_to_integer(lang_word w) {
    return w == LANG_FLOOR || w == LANG_CEIL || w == LANG_TRUNC || w == LANG_RNE || w == LANG_RHA;
}

static approx unary(lang_word w, base_type t, approx x) {
    double v = call(w, x.v.f), b = 0;
    double units = w == LANG_SQRT ? 1 : 8; /* 4 ulp are 8 units of roundoff */
    if (x.b > 0) {
        double lo = x.v.f - x.b, hi = x.v.f + x.b;
        switch (w) {
        case LANG_SIN:
        case LANG_COS:
            b = x.b < 2 ? x.b : 2;
            break;
        case LANG_TAN:
            b = isinf(x.b) || floor((lo - 0x1.921fb54442d18p0) / 0x1.921fb54442d18p1) !=
                                  floor((hi - 0x1.921fb54442d18p0) / 0x1.921fb54442d18p1)
                    ? (double)INFINITY
                    : spread(v, call(w, lo), call(w, hi));
            break;
        case LANG_COSH:
            b = spread(v, call(w, lo), call(w, hi));
            b = lo < 0 && hi > 0 ? larger(b, v - 1) : b;
            break;
        default: /* monotone */
            b = spread(v, call(w, lo), call(w, hi));
            break;
        }
    }
    return rounds_to_integer(w) ? around(v, b) : rounded(t, v, b, units);
}

static approx power(base_type t, approx x, approx y) {
    base_value args[2] = {x.v, y.v};
    double v = lang_word_value(LANG_POW, BASE_F64, BASE_F64, args).f, b = 0;
    if (x.b > 0 || y.b > 0) {
        bool integer = y.b == 0 && y.v.f == floor(y.v.f);
        if (x.v.f - x.b <= 0 && !(integer && y.v.f >= 0)) {
            return around(v, (double)INFINITY);
        }
        for (int k = 0; k < 4; k++) {
            args[0].f = x.v.f + (k & 1 ? x.b : -x.b);
            args[1].f = y.v.f + (k & 2 ? y.b : -y.b);
            double corner = lang_word_value(LANG_POW, BASE_F64, BASE_F64, args).f;
            b = larger(b, spread(v, corner, corner));
        }
        if (x.v.f - x.b <= 0) {
            b = larger(b, fabs(v)); /* the power passes 0 */
        }
    }
    return rounded(t, v, b, 8);
}

static approx modulus(lang_word w, base_type t, approx x, approx y) {
    base_value args[2] = {x.v, y.v};
    double v = lang_word_value(w, BASE_F64, BASE_F64, args).f;
    if (x.b == 0 && y.b == 0) {
        return rounded(t, v, 0, 1);
    }
    if (fabs(y.v.f) <= y.b) {
        return around(v, (double)INFINITY);
    }
    double q0 = 0;
    bool same = true;
    for (int k = 0; k < 4; k++) {
        double q = (x.v.f + (k & 1 ? x.b : -x.b)) / (y.v.f + (k & 2 ? y.b : -y.b));
        q = w == LANG_MOD ? floor(q) : trunc(q);
        same = same && (k == 0 || q == q0);
        q0 = q;
    }
    return rounded(t, v, same ? x.b + times(fabs(q0), y.b) : 2 * (fabs(y.v.f) + y.b), 1);
}

static approx angle(base_type t, approx y, approx x) {
    base_value args[2] = {y.v, x.v};
    double v = lang_word_value(LANG_ATAN2, BASE_F64, BASE_F64, args).f, b = 0;
    if (x.b > 0 || y.b > 0) {
        double ax = larger(fabs(x.v.f) - x.b, 0), ay = larger(fabs(y.v.f) - y.b, 0), r = larger(ax, ay);
        bool cut = x.v.f - x.b < 0 && fabs(y.v.f) <= y.b;
        b = r == 0 || cut ? 0x1.921fb54442d19p2 : (x.b + y.b) / r;
    }
    return rounded(t, v, b, 8);
}

static approx extreme(bool want_max, approx x, approx y) {
    double v = want_max ? base_max(x.v.f, y.v.f) : base_min(x.v.f, y.v.f);
    double lo = want_max ? base_max(x.v.f - x.b, y.v.f - y.b) : base_min(x.v.f - x.b, y.v.f - y.b);
    double hi = want_max ? base_max(x.v.f + x.b, y.v.f + y.b) : base_min(x.v.f + x.b, y.v.f + y.b);
    if (x.b == 0 && y.b == 0) {
        return around(v, 0);
    }
    if (isnan(v)) {
        return around(v, isfinite(x.b) && isfinite(y.b) ? 0 : (double)INFINITY);
    }
    return around(v, spread(v, lo, hi));
}

/* Operands are exact and so is the result: nothing is rounded, whatever is contracted. */
static bool is_exact(lang_word w, base_type t, double a, double c, double v) {
    if (!isfinite(v) || base_round_to(t, v) != v) {
        return false;
    }
    switch (w) {
    case LANG_ADD:
    case LANG_SUB: {
        double d = w == LANG_SUB ? -c : c, part = v - a;
        return (a - (v - part)) + (d - part) == 0;
    }
    case LANG_MUL:
        return fma(a, c, -v) == 0 && (v != 0 || a == 0 || c == 0);
    case LANG_DIV:
        return c != 0 && fma(v, c, -a) == 0 && (v != 0 || a == 0);
    default:
        return false;
    }
}

static approx inexact_word(lang_word w, base_type t, approx x, approx y);

static approx float_word(lang_word w, base_type t, approx x, approx y) {
    approx r = inexact_word(w, t, x, y);
    if (isinf(x.b) || isinf(y.b)) {
        r.b = (double)INFINITY; /* an operand may be NaN */
    }
    if (x.b == 0 && y.b == 0 && is_exact(w, t, x.v.f, y.v.f, r.v.f)) {
        r.b = 0;
    }
    return r;
}

static approx inexact_word(lang_word w, base_type t, approx x, approx y) {
    double a = x.v.f, c = y.v.f;
    switch (w) {
    case LANG_ADD:
        return rounded(t, a + c, x.b + y.b, 1);
    case LANG_SUB:
        return rounded(t, a - c, x.b + y.b, 1);
    case LANG_MUL:
        return rounded(t, a * c, times(fabs(a), y.b) + times(fabs(c), x.b) + times(x.b, y.b), 1);
    case LANG_DIV:
        if (y.b > 0 && fabs(c) <= y.b) {
            return around(a / c, (double)INFINITY);
        }
        return rounded(t, a / c, x.b == 0 && y.b == 0 ? 0 : (x.b + times(fabs(a / c), y.b)) / (fabs(c) - y.b), 1);
    case LANG_MOD:
    case LANG_FMOD:
        return modulus(w, t, x, y);
    case LANG_POW:
        return power(t, x, y);
    case LANG_ATAN2:
        return angle(t, x, y);
    case LANG_NEG:
        return around(-a, x.b);
    case LANG_ABS:
        return around(fabs(a), x.b);
    case LANG_MIN:
    case LANG_MAX:
        return extreme(w == LANG_MAX, x, y);
    default:
        return unary(w, t, x);
    }
}

/* ---- integers ---- */

static double as_double(base_type t, base_value v) {
    return base_type_is_float(t) ? v.f : base_type_is_signed(t) ? (double)v.i : (double)v.u;
}

static double width_of(base_type t) {
    return t == BASE_BOOL ? 1 : ldexp(1.0, (int)base_type_bits(t));
}

/* Uncertain integers: interval arithmetic where the word is monotone, else the width of the type. */
static approx int_word(lang_word w, base_type t, base_type arg, approx x, approx y) {
    base_value args[2] = {x.v, y.v};
    approx r = exact(lang_word_value(w, t, arg, args));
    double a = as_double(arg, x.v), c = as_double(arg, y.v), v = as_double(t, r.v), lo = 0, hi = 0;
    int64_t least;
    uint64_t most;
    if (x.b == 0 && y.b == 0) {
        return r;
    }
    base_type_range(t, &least, &most);
    switch (w) {
    case LANG_ADD:
    case LANG_SUB:
        r.b = x.b + y.b;
        break;
    case LANG_MUL:
        r.b = times(fabs(a), y.b) + times(fabs(c), x.b) + times(x.b, y.b);
        break;
    case LANG_NEG:
    case LANG_ABS:
        r.b = x.b;
        break;
    case LANG_MIN:
    case LANG_MAX:
        r.b = extreme(w == LANG_MAX, around(a, x.b), around(c, y.b)).b;
        return r;
    case LANG_DIV:
    case LANG_TDIV:
    case LANG_SHR:
    case LANG_RDIVPOT:
    case LANG_SRDHM:
    case LANG_SRDHM16: {
        if (y.b > 0 || !isfinite(x.b) || a - x.b < (double)least || a + x.b > (double)most) {
            r.b = width_of(t);
            return r;
        }
        base_value span = {.i = (int64_t)x.b};
        args[0].i = x.v.i - span.i;
        lo = as_double(t, lang_word_value(w, t, arg, args));
        args[0].i = x.v.i + span.i;
        hi = as_double(t, lang_word_value(w, t, arg, args));
        r.b = spread(v, lo, hi);
        return r;
    }
    default:
        r.b = width_of(t);
        return r;
    }
    if (!(v - r.b >= (double)least && v + r.b <= (double)most)) {
        r.b = width_of(t); /* some value wraps */
    }
    return r;
}

/* ---- conversions ---- */

static approx to_int(lang_word w, base_type t, base_type from, approx x) {
    approx r = exact(lang_word_value(w, t, from, &x.v));
    if (x.b == 0) {
        return r;
    }
    double v = as_double(t, r.v), a = as_double(from, x.v);
    if (t == BASE_BOOL) {
        r.b = fabs(a) <= x.b;
        return r;
    }
    if (isinf(x.b)) {
        r.b = width_of(t);
        return r;
    }
    int64_t least;
    uint64_t most;
    base_type_range(t, &least, &most);
    if (base_type_is_float(from) || w == LANG_SAT) {
        base_value lo = lang_float_to_int(t, a - x.b), hi = lang_float_to_int(t, a + x.b);
        r.b = isnan(a) ? x.b : spread(v, as_double(t, lo), as_double(t, hi));
        return r;
    }
    r.b = a - x.b >= (double)least && a + x.b <= (double)most ? x.b : width_of(t);
    return r;
}

static approx to_float(lang_word w, base_type t, base_type from, approx x) {
    double v = as_double(from, x.v);
    if (w == LANG_SAT) {
        double hi = lang_float_highest(t), lo = lang_float_lowest(t);
        v = v > hi ? hi : v < lo ? lo : v;
    }
    base_value same = {.f = base_round_to(t, v)};
    if (x.b == 0 && (same.f == v || isnan(v))) {
        return exact(same); /* nothing is rounded */
    }
    if (base_type_is_float(from) && unit_of(from) >= unit_of(t) && lang_float_highest(from) <= lang_float_highest(t)) {
        return around(v, x.b);
    }
    return rounded(t, v, x.b, 1);
}

static approx convert(lang_word w, base_type t, base_type from, approx x) {
    if (w == LANG_BITS) {
        base_value v = x.v;
        if (base_type_is_float(from)) {
            v.f = base_round_to(from, v.f);
        }
        approx r = exact(lang_bits(t, from, v));
        r.b = x.b == 0 ? 0 : base_type_is_float(t) ? (double)INFINITY : width_of(t);
        return r;
    }
    return base_type_is_float(t) ? to_float(w, t, from, x) : to_int(w, t, from, x);
}

/* ---- conditions ---- */

static approx compare(lang_word w, base_type arg, approx x, approx y) {
    base_value args[2] = {x.v, y.v};
    approx r = exact(lang_word_value(w, BASE_BOOL, arg, args));
    double a = as_double(arg, x.v), b = as_double(arg, y.v), gap = fabs(a - b);
    if ((isnan(a) && isfinite(x.b)) || (isnan(b) && isfinite(y.b))) {
        return r; /* false for certain */
    }
    r.b = x.b + y.b > 0 && !(gap > x.b + y.b);
    return r;
}

static approx logic(lang_word w, approx x, approx y) {
    bool absorbing = w == LANG_OR;
    approx r = exact((base_value){.u = absorbing ? x.v.u | y.v.u : x.v.u & y.v.u});
    bool settled = (x.b == 0 && (x.v.u != 0) == absorbing) || (y.b == 0 && (y.v.u != 0) == absorbing);
    r.b = !settled && (x.b > 0 || y.b > 0);
    return r;
}

static approx word(lang_word w, base_type t, base_type arg, approx x, approx y) {
    switch (w) {
    case LANG_LT:
    case LANG_LE:
    case LANG_EQ:
        return compare(w, arg, x, y);
    case LANG_AND:
    case LANG_OR:
        return logic(w, x, y);
    case LANG_NOT:
        return (approx){{.u = x.v.u == 0}, x.b};
    case LANG_ISNAN:
    case LANG_ISINF: {
        approx r = exact(lang_word_value(w, t, arg, &x.v));
        r.b = isinf(x.b) ? 1 : 0;
        return r;
    }
    case LANG_CAST:
    case LANG_SAT:
    case LANG_BITS:
        return convert(w, t, arg, x);
    default:
        return base_type_is_float(t) ? float_word(w, t, x, y) : int_word(w, t, arg, x, y);
    }
}

/* ---- rows ---- */

static double bound_at(const lang_eval_machine *m, uint32_t reg, size_t j) {
    return reg != 0 ? LANG_EVAL_AT(m, double, reg)[j] : 0;
}

static void put_bound(const lang_eval_machine *m, uint32_t reg, size_t j, double b) {
    LANG_EVAL_AT(m, double, reg)[j] = fix(b);
}

static approx operand(const lang_eval_machine *m, uint32_t reg, uint32_t bound, uint8_t cls, size_t j) {
    return (approx){lang_eval_get(m, reg, (lang_eval_class)cls, j), bound_at(m, bound, j)};
}

void lang_eval_bound_word_row(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    approx y = {{.u = 0}, 0};
    for (size_t j = 0; j < n; j++) {
        approx x = operand(m, i->a, i->a2, i->acls, (i->rows & LANG_EVAL_ROW_A) != 0 ? j : 0);
        if (i->b != 0) {
            y = operand(m, i->b, i->b2, i->bcls, (i->rows & LANG_EVAL_ROW_B) != 0 ? j : 0);
        }
        approx r = word((lang_word)i->word, (base_type)i->type, (base_type)i->atype, x, y);
        lang_eval_put(m, i->d, (lang_eval_class)i->cls, j, r.v);
        put_bound(m, i->d2, j, r.b);
    }
}

static double value_of(lang_eval_class c, base_value v) {
    return c == LANG_EVAL_F64 || c == LANG_EVAL_F32 ? v.f : c == LANG_EVAL_B8 ? (double)v.u : (double)v.i;
}

/* Both may be the value: around the first. */
static double both(lang_eval_class c, approx chosen, approx other) {
    double a = value_of(c, chosen.v), b = value_of(c, other.v);
    if (isnan(a) && isnan(b)) {
        return larger(chosen.b, other.b);
    }
    return larger(chosen.b, fix((a == b ? 0 : fabs(a - b)) + other.b));
}

void lang_eval_bound_select_row(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    lang_eval_class c = (lang_eval_class)i->cls;
    for (size_t j = 0; j < n; j++) {
        size_t ja = (i->rows & LANG_EVAL_ROW_A) != 0 ? j : 0, jb = (i->rows & LANG_EVAL_ROW_B) != 0 ? j : 0;
        size_t jc = (i->rows & LANG_EVAL_ROW_C) != 0 ? j : 0;
        bool yes = LANG_EVAL_AT(m, uint8_t, i->a)[ja] != 0;
        approx x = operand(m, i->b, i->a2, i->cls, jb), y = operand(m, i->c, i->b2, i->cls, jc);
        approx r = yes ? x : y;
        if (bound_at(m, i->c2, ja) > 0) {
            r.b = both(c, r, yes ? y : x);
        }
        lang_eval_put(m, i->d, c, j, r.v);
        put_bound(m, i->d2, j, r.b);
    }
}

void lang_eval_bound_possible_row(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    for (size_t j = 0; j < n; j++) {
        LANG_EVAL_AT(m, uint8_t, i->d)[j] = LANG_EVAL_AT(m, uint8_t, i->a)[j] != 0 || bound_at(m, i->b2, j) > 0;
    }
}

void lang_eval_bound_taint_row(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    for (size_t j = 0; j < n; j++) {
        bool doubt = bound_at(m, i->b2, (i->rows & LANG_EVAL_ROW_B) != 0 ? j : 0) > 0;
        put_bound(m, i->d, j, doubt ? (double)INFINITY : bound_at(m, i->a, (i->rows & LANG_EVAL_ROW_A) != 0 ? j : 0));
    }
}

/* ---- reductions ---- */

enum { SEEN_NOTHING, SEEN_PERHAPS, SEEN };

static void fold_sum(const lang_eval_machine *m, const lang_eval_ins *i, size_t j, approx t, bool doubt) {
    lang_eval_class c = (lang_eval_class)i->cls;
    base_value v = lang_eval_get(m, i->d, c, j);
    double size = fabs(value_of(c, t.v)) + t.b;
    if (c == LANG_EVAL_F64) {
        v.f += t.v.f;
    } else {
        v.i = (int64_t)((uint64_t)v.i + t.v.u);
    }
    lang_eval_put(m, i->d, c, j, v);
    put_bound(m, i->d2, j, bound_at(m, i->d2, j) + (doubt ? size : t.b));
    put_bound(m, i->c, j, bound_at(m, i->c, j) + size);
    put_bound(m, i->c2, j, bound_at(m, i->c2, j) + 1);
}

static approx fold_extreme(lang_eval_class c, base_type t, bool want_max, approx acc, approx x, bool doubt) {
    approx a = around(value_of(c, acc.v), acc.b), y = around(value_of(c, x.v), x.b);
    approx r = extreme(want_max, a, y);
    if (doubt) { /* the end that the term would raise stays */
        double lo = want_max ? a.v.f - a.b : r.v.f - r.b, hi = want_max ? r.v.f + r.b : a.v.f + a.b;
        r.b = larger(r.b, spread(r.v.f, lo, hi));
    }
    base_value args[2] = {acc.v, x.v};
    base_type exact_type = base_type_is_float(t) ? BASE_F64 : t;
    r.v = lang_word_value(want_max ? LANG_MAX : LANG_MIN, exact_type, exact_type, args);
    return r;
}

static approx fold_ordered(const lang_eval_machine *m, const lang_eval_ins *i, size_t j, approx acc, approx t,
                           bool doubt) {
    double seen = bound_at(m, i->c2, j);
    bool last = i->imm == LANG_LAST;
    if (!last && seen == SEEN) {
        return acc;
    }
    approx r = t;
    if (seen == SEEN_PERHAPS || (last && seen == SEEN)) {
        if (last && !doubt) {
            r = t; /* it settles what is last */
        } else {
            r = last ? t : acc;
            r.b = both((lang_eval_class)i->cls, r, last ? acc : t);
        }
    }
    put_bound(m, i->c2, j, doubt && seen != SEEN ? SEEN_PERHAPS : SEEN);
    return r;
}

static void fold(const lang_eval_machine *m, const lang_eval_ins *i, size_t j, approx t, bool doubt) {
    lang_eval_class c = (lang_eval_class)i->cls;
    base_type type = (base_type)i->type;
    lang_reduction op = (lang_reduction)i->imm;
    if (op == LANG_SUM) {
        fold_sum(m, i, j, t, doubt);
        return;
    }
    approx acc = operand(m, i->d, i->d2, i->cls, j), r;
    switch (op) {
    case LANG_PROD:
        r = c == LANG_EVAL_F64 ? float_word(LANG_MUL, type, acc, t) : int_word(LANG_MUL, type, type, acc, t);
        r.b = doubt ? both(c, r, acc) : r.b;
        break;
    case LANG_RMAX:
    case LANG_RMIN:
        r = fold_extreme(c, type, op == LANG_RMAX, acc, t, doubt);
        break;
    case LANG_ANY:
    case LANG_ALL:
        t.b = doubt && (t.v.u != 0) == (op == LANG_ANY) ? 1 : t.b;
        r = logic(op == LANG_ANY ? LANG_OR : LANG_AND, acc, t);
        break;
    default:
        r = fold_ordered(m, i, j, acc, t, doubt);
        break;
    }
    lang_eval_put(m, i->d, c, j, r.v);
    put_bound(m, i->d2, j, r.b);
}

static void fold_rows(const lang_eval_machine *m, const lang_eval_ins *i, size_t n, bool closing) {
    for (size_t j = 0; j < n; j++) {
        if (i->b == 0 || LANG_EVAL_AT(m, uint8_t, i->b)[j] != 0) {
            approx t = operand(m, i->a, i->a2, i->acls, (i->rows & LANG_EVAL_ROW_A) != 0 ? j : 0);
            bool doubt = bound_at(m, i->b2, (i->rows & LANG_EVAL_ROW_B) != 0 ? j : 0) > 0;
            fold(m, i, closing ? 0 : j, t, doubt);
        }
    }
}

void lang_eval_bound_accumulate(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    fold_rows(m, i, n, false);
}

void lang_eval_bound_close(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    fold_rows(m, i, n, true);
}

void lang_eval_bound_sum(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    base_type t = (base_type)i->type;
    for (size_t j = 0; j < n; j++) {
        double b = bound_at(m, i->d2, j), size = bound_at(m, i->c, j), terms = bound_at(m, i->c2, j);
        if (i->cls == LANG_EVAL_F64) {
            double v = LANG_EVAL_AT(m, double, i->d)[j], share = terms * unit_of(t);
            share = share < 0.5 ? share / (1 - share) : share;
            if (isfinite(v)) {
                b += times(share + 2 * terms * U53, size) + terms * least_of(t);
                b = size > lang_float_highest(t) ? (double)INFINITY : b; /* some order overflows on the way */
            } else {
                b = b == 0 ? 0 : (double)INFINITY;
            }
        } else if (b > 0) {
            int64_t least;
            uint64_t most;
            double v = value_of((lang_eval_class)i->cls, lang_eval_get(m, i->d, (lang_eval_class)i->cls, j));
            base_type_range(t, &least, &most);
            b = v - b >= (double)least && v + b <= (double)most ? b : width_of(t);
        }
        put_bound(m, i->d2, j, b);
    }
}
