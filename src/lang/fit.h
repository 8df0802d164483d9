/* fit.h - a staircase as one product and one shift (private to lang).
 *
 * Takes where the steps of functions lie. Gives numbers with which a product, a sum, a shift and a clamp step at the very
 * same places. Knows no program.
 */
#ifndef BURIN_LANG_FIT_H
#define BURIN_LANG_FIT_H

#include "base/base.h"

/* A function f of whole x in [from, to], never descending: f(from) = low, and f(x) >= low + k + 1 exactly where x >= at[k].
 * from < at[0] <= at[1] ... <= to; f(to) = low + n. */
typedef struct lang_steps {
    int64_t from, to, low;
    uint32_t n;
    const int64_t *at;
} lang_steps;

/* f(x) = clamp((addend + (x * factor >> point) + bend) >> down, low, high), where bend is -(1 << bend) for x < 0 and 0 else, bend < 0:
 * always 0. For x in [from, to] every sum is one of 32 bits. The product is the high word of (x << (32 - point)) * factor, where the shift
 * stays in 32 bits; with halves it is x * (factor >> point) + (x * (factor mod 2^point) >> point), where the second product does. */
typedef struct lang_fit {
    uint32_t point, down;
    int32_t bend;
    int64_t low, high;
    int32_t *factor, *addend; /* of each function */
} lang_fit;

/* One form for all n functions; their values lie in [least, most]. true: every one is exactly its function. false: not found. */
bool lang_fit_steps(base_arena *arena, const lang_steps *functions, size_t n, int64_t least, int64_t most, bool halves,
                    lang_fit *out);

/* Of a function of reals whose value k is first seen at first[k] and last at last[k], k < n (infinities where never): the slope of the
 * line that is farthest from its steps; 0: it descends somewhere, or has not steps enough. */
double lang_fit_slope(base_arena *scratch, const double *first, const double *last, int32_t n);

#endif
