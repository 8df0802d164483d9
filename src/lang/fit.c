/* fit.c - a staircase as one product and one shift.
 *
 * Takes the steps of functions. Gives factor and addend of each, and shifts for all: a line that lies on or above each step
 * where it begins and below it just before. Real numbers choose the line; integers prove it at every step, and between steps
 * nothing can happen, since both sides never descend. Gives no form that it has not proved.
 */
#include "lang/fit.h"

#include <math.h>

enum { FEW_STEPS = 2, MANY_STEPS = 16, HALVINGS = 8, CUTS = 60, TRIES = 9, LARGEST_DOWN = 30, HALF_BITS = 15 };

/* What the line must keep to: at x[k] it is at least y (below[k]: less than y); y counts steps, the bend apart. */
typedef struct limits {
    uint32_t n;
    int64_t *x, *y;
    double *at; /* x as a real; of functions of reals there is no other */
    bool *below;
    double bend; /* what is taken off for x < 0, in steps */
} limits;

/* How far apart the bounds of the addend are for a slope, and how that changes with the slope. */
typedef struct margin {
    double width, change, least, most;
} margin;

typedef struct fitter {
    base_arena *scratch;
    const lang_steps *f;
    size_t n;
    int64_t low, high; /* of the clamp */
    double *slope;     /* of each function the one with the widest margin; 0: any will do */
    double *middle;    /* and the addend there */
    uint32_t point;
    double bend;
    limits limits;
} fitter;

static void limit(limits *l, int64_t x, int64_t y, bool below) {
    l->x[l->n] = x;
    l->at[l->n] = (double)x;
    l->y[l->n] = y;
    l->below[l->n++] = below;
}

static void set_limits(fitter *t, const lang_steps *f) {
    limits *l = &t->limits;
    l->n = 0;
    l->bend = t->bend;
    if (f->low > t->low) {
        limit(l, f->from, f->low, false);
    }
    for (uint32_t k = 0; k < f->n; k++) {
        limit(l, f->at[k], f->low + k + 1, false);
        limit(l, f->at[k] - 1, f->low + k + 1, true);
    }
    if (f->low + f->n < t->high) {
        limit(l, f->to, f->low + f->n + 1, true);
    }
}

static margin margin_of(const limits *l, double slope) {
    double least = -HUGE_VAL, most = HUGE_VAL, at_least = 0, at_most = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        double x = l->at[k];
        double addend = (double)l->y[k] + (x < 0 ? l->bend : 0) - slope * x;
        if (l->below[k] && addend < most) {
            most = addend;
            at_most = x;
        } else if (!l->below[k] && addend > least) {
            least = addend;
            at_least = x;
        }
    }
    return (margin){most - least, at_least - at_most, least, most};
}

/* The slopes that an addend allows: least, most and width. */
static margin slopes_for(const limits *l, double addend) {
    double least = 0, most = HUGE_VAL;
    for (uint32_t k = 0; k < l->n; k++) {
        double x = l->at[k], rest = (double)l->y[k] + (x < 0 ? l->bend : 0) - addend;
        if (x == 0) {
            continue; /* the proof looks at it */
        }
        double slope = rest / x;
        if (l->below[k] == (x > 0)) {
            most = slope < most ? slope : most;
        } else {
            least = slope > least ? slope : least;
        }
    }
    return (margin){.width = most - least, .least = least, .most = most};
}

/* The slope with the widest margin: the margin is concave in it, so two tangents bound it from above. */
static double widest(const limits *l, double guess, margin *best) {
    double left = 0, right = guess, slope = guess;
    margin a = margin_of(l, left), b = margin_of(l, right);
    for (uint32_t k = 0; k < CUTS && b.change > 0; k++) {
        left = right;
        a = b;
        right *= 2;
        b = margin_of(l, right);
    }
    *best = b.width > a.width ? b : a;
    slope = b.width > a.width ? right : left;
    for (uint32_t k = 0; k < CUTS && a.change > 0 && b.change < 0; k++) {
        double cut = (b.width - a.width + a.change * left - b.change * right) / (a.change - b.change);
        if (!(cut > left && cut < right)) {
            break;
        }
        margin m = margin_of(l, cut);
        if (m.width > best->width) {
            *best = m;
            slope = cut;
        }
        if (m.change > 0) {
            left = cut;
            a = m;
        } else if (m.change < 0) {
            right = cut;
            b = m;
        } else {
            break;
        }
    }
    return slope;
}

/* With few steps many slopes will do: the gentlest with half the margin leaves more bits to all. */
static double gentlest(const limits *l, double slope, margin *best) {
    double low = 0, wanted = best->width / 2;
    for (uint32_t k = 0; k < HALVINGS; k++) {
        double middle = (low + slope) / 2;
        margin m = margin_of(l, middle);
        if (m.width >= wanted) {
            slope = middle;
            *best = m;
        } else {
            low = middle;
        }
    }
    return slope;
}

/* Lines for all functions. *failed: the slope of the first that has none. */
static bool lines(fitter *t, double *failed) {
    for (size_t i = 0; i < t->n; i++) {
        const lang_steps *f = &t->f[i];
        t->slope[i] = 0;
        if (f->n <= FEW_STEPS) {
            continue;
        }
        margin best;
        set_limits(t, f);
        t->slope[i] = widest(&t->limits, 2.0 * f->n / ((double)(f->at[f->n - 1] - f->at[0]) + 1), &best);
        if (f->n < MANY_STEPS && best.width > 0) {
            t->slope[i] = gentlest(&t->limits, t->slope[i], &best);
        }
        t->middle[i] = (best.least + best.most) / 2;
        if (best.width <= 0) {
            *failed = t->slope[i];
            return false;
        }
    }
    return true;
}

static int64_t magnitude(const lang_steps *f) {
    return f->to > -f->from ? f->to : -f->from;
}

/* The largest shift with which every factor has 31 bits and no sum leaves 32. */
static int32_t largest_down(const fitter *t) {
    int32_t down = LARGEST_DOWN;
    for (size_t i = 0; i < t->n; i++) {
        const lang_steps *f = &t->f[i];
        if (t->slope[i] > 0) {
            double reach = t->slope[i] * (double)magnitude(f) + fabs(t->middle[i]) + 2;
            int32_t by_factor = (int32_t)floor(31.0 - t->point - log2(t->slope[i]) - 1e-9);
            int32_t by_sum = (int32_t)floor(31.0 - log2(reach));
            down = by_factor < down ? by_factor : down;
            down = by_sum < down ? by_sum : down;
        }
    }
    return down;
}

static int64_t product(int64_t x, uint32_t point, int64_t factor) {
    return base_shr_signed(x * factor, point, 64);
}

static bool in_32_bits(int64_t v) {
    return v >= INT32_MIN && v <= INT32_MAX;
}

/* The addend that makes function f of a factor, proved at every step. */
static bool addend_of(const fitter *t, const lang_steps *f, int64_t factor, uint32_t down, int64_t bend,
                      int64_t *addend) {
    const limits *l = &t->limits;
    int64_t least = INT32_MIN, most = INT32_MAX;
    if (factor < 0 || factor > INT32_MAX) {
        return false;
    }
    for (uint32_t k = 0; k < l->n && least <= most; k++) {
        int64_t wanted = l->y[k] * ((int64_t)1 << down) + (l->x[k] < 0 ? bend : 0);
        int64_t rest = wanted - product(l->x[k], t->point, factor);
        if (l->below[k]) {
            most = rest - 1 < most ? rest - 1 : most;
        } else {
            least = rest > least ? rest : least;
        }
    }
    if (least > most) {
        return false;
    }
    int64_t middle = least + (most - least) / 2;
    int64_t first = product(f->from, t->point, factor), last = product(f->to, t->point, factor);
    *addend = middle;
    return in_32_bits(middle + first) && in_32_bits(middle + last) &&
           (f->from >= 0 || in_32_bits(middle + first - bend));
}

static bool fit_function(fitter *t, size_t i, uint32_t down, int64_t bend, lang_fit *out) {
    const lang_steps *f = &t->f[i];
    set_limits(t, f);
    if (f->n == 0) { /* always the same: no limit but at the ends */
        out->factor[i] = 0;
        int64_t addend;
        bool fits = addend_of(t, f, 0, down, bend, &addend);
        out->addend[i] = fits ? (int32_t)addend : 0;
        return fits;
    }
    double unit = ldexp(1.0, (int)(down + t->point)), slope = t->slope[i];
    if (slope == 0) { /* the steepest that is allowed, unless a gentler one is better */
        double steepest = ldexp(1.0, 30 - (int)down) / ((double)magnitude(f) + 1), most = 2147483647.0 / unit;
        margin best;
        slope = widest(&t->limits, steepest < most ? steepest : most, &best);
        slope = slope > steepest ? steepest : slope;
        slope = slope > most ? most : slope;
    }
    int64_t factor = (int64_t)floor(slope * unit + 0.5), addend;
    if (addend_of(t, f, factor, down, bend, &addend)) {
        out->factor[i] = (int32_t)factor;
        out->addend[i] = (int32_t)addend;
        return true;
    }
    /* The margin is narrow: for each whole addend near the middle the factors that it allows. */
    margin at = margin_of(&t->limits, slope);
    double scale = ldexp(1.0, (int)down), middle = floor((at.least + at.most) / 2 * scale + 0.5);
    for (int32_t k = 0; k < TRIES; k++) {
        double tried = middle + (k % 2 != 0 ? -(k + 1) / 2 : k / 2);
        margin of = slopes_for(&t->limits, tried / scale);
        factor = (int64_t)floor((of.least + of.most) / 2 * unit + 0.5);
        if (of.width > 0 && of.most < HUGE_VAL && addend_of(t, f, factor, down, bend, &addend)) {
            out->factor[i] = (int32_t)factor;
            out->addend[i] = (int32_t)addend;
            return true;
        }
    }
    return false;
}

/* bend_shift: the bend is 2^-bend_shift steps; below 0: none. */
static bool fit_all(fitter *t, int32_t bend_shift, lang_fit *out) {
    double failed = 0;
    t->bend = bend_shift < 0 ? 0 : ldexp(1.0, -bend_shift);
    if (!lines(t, &failed)) {
        return false;
    }
    int32_t down = largest_down(t);
    for (int32_t k = 0; k < 2; k++, down--) {
        int32_t bend = bend_shift < 0 ? -1 : down - bend_shift;
        if (down < 1 || (bend_shift >= 0 && bend < 0)) {
            return false;
        }
        bool all = true;
        for (size_t i = 0; i < t->n && all; i++) {
            all = fit_function(t, i, (uint32_t)down, bend < 0 ? 0 : (int64_t)1 << bend, out);
        }
        if (all) {
            out->point = t->point;
            out->down = (uint32_t)down;
            out->bend = bend;
            out->low = t->low;
            out->high = t->high;
            return true;
        }
    }
    return false;
}

/* Some value is below 0 and some is not: only there a bend shows. */
static bool crosses_zero(const fitter *t) {
    for (size_t i = 0; i < t->n; i++) {
        if (t->f[i].from < 0 && t->f[i].to >= 0) {
            return true;
        }
    }
    return false;
}

static bool fit_between(fitter *t, int64_t low, int64_t high, lang_fit *out) {
    double failed = 0;
    t->low = low;
    t->high = high;
    t->bend = 0;
    if (lines(t, &failed)) {
        return fit_all(t, -1, out);
    }
    /* Rounded twice, half away from zero: a slope of m * 2^-e, m from 1/2 to 1, is bent by 2^-e at zero. */
    int32_t e = (int32_t)ceil(-log2(failed)) - 1;
    return e >= 0 && e < LARGEST_DOWN && crosses_zero(t) && fit_all(t, e, out);
}

static void new_limits(base_arena *scratch, limits *l, size_t steps) {
    l->n = 0;
    l->x = BASE_NEWS(scratch, int64_t, 2 * steps + 2);
    l->y = BASE_NEWS(scratch, int64_t, 2 * steps + 2);
    l->at = BASE_NEWS(scratch, double, 2 * steps + 2);
    l->below = BASE_NEWS(scratch, bool, 2 * steps + 2);
}

double lang_fit_slope(base_arena *scratch, const double *first, const double *last, int32_t n) {
    limits l = {.n = 0};
    double *least = BASE_NEWS(scratch, double, (size_t)n + 1), most = -HUGE_VAL;
    if (n <= FEW_STEPS) {
        return 0;
    }
    new_limits(scratch, &l, (size_t)n);
    least[n] = HUGE_VAL;
    for (int32_t k = n; k-- > 0;) {
        least[k] = first[k] < least[k + 1] ? first[k] : least[k + 1];
    }
    for (int32_t k = 1; k < n; k++) {
        most = last[k - 1] > most ? last[k - 1] : most;
        if (!(most < least[k])) {
            return 0;
        }
        for (uint32_t below = 0; below < 2; below++) {
            limit(&l, 0, k, below == 1);
            l.at[l.n - 1] = below == 1 ? most : least[k];
        }
    }
    margin best;
    double slope = widest(&l, 2.0 * n / (least[n - 1] - last[0]), &best);
    return best.width > 0 ? slope : 0;
}

bool lang_fit_steps(base_arena *arena, const lang_steps *functions, size_t n, int64_t least, int64_t most, bool halves,
                    lang_fit *out) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    fitter t = {.scratch = scratch, .f = functions, .n = n};
    uint32_t steps = 0;
    int64_t largest = 0, low = most, high = least;
    for (size_t i = 0; i < n; i++) {
        const lang_steps *f = &functions[i];
        steps = f->n > steps ? f->n : steps;
        largest = f->n > 0 && magnitude(f) > largest ? magnitude(f) : largest; /* what is constant has factor 0 */
        low = f->low < low ? f->low : low;
        high = f->low + f->n > high ? f->low + f->n : high;
    }
    bool found = false;
    if (largest <= INT32_MAX) {
        t.slope = BASE_NEWS(scratch, double, n + 1);
        t.middle = BASE_NEWS(scratch, double, n + 1);
        new_limits(scratch, &t.limits, steps);
        out->factor = BASE_NEWS(arena, int32_t, n + 1);
        out->addend = BASE_NEWS(arena, int32_t, n + 1);
        uint32_t room = 0; /* bits that are free above x in 32 */
        while (room < LARGEST_DOWN && largest << (room + 1) <= INT32_MAX) {
            room++;
        }
        t.point = !halves ? 32 - room : room < HALF_BITS ? room : HALF_BITS;
        /* a clamp to what the type holds is the cheapest */
        found = fit_between(&t, least, most, out) || ((low > least || high < most) && fit_between(&t, low, high, out));
    }
    base_arena_free(scratch);
    return found;
}
