/* measure.c - how far the values of two arrays are apart, and where first beyond the tolerances.
 *
 * Takes two arrays of one type. Gives the largest differences, absolute, relative and in steps of the type, and the first
 * value that does not fit.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "api/api.h"

/* ---- two arrays ---- */

static uint64_t elements_of(const burin_array *a) {
    uint64_t n = 1;
    for (uint32_t k = 0; k < a->rank; k++) {
        n *= (uint64_t)a->dim[k];
    }
    return n;
}

static double largest(base_type type, const burin_array *a, uint64_t n) {
    double top = 0;
    for (uint64_t i = 0; i < n; i++) {
        double v = fabs(base_load(type, a->data, i).f);
        top = isfinite(v) && v > top ? v : top;
    }
    return top;
}

/* How many values of the type lie between two finite ones: their bits, sign and magnitude, as numbers in order. */
static uint64_t ulps(base_type type, const void *a, const void *b, uint64_t i) {
    const unsigned bits = base_type_bits(type);
    const base_type pattern = bits == 64   ? BASE_U64
                              : bits == 32 ? BASE_U32
                              : bits == 16 ? BASE_U16
                              : bits == 8  ? BASE_U8
                                           : BASE_U4;
    const uint64_t sign = type == BASE_F8E8M0 ? 0 : (uint64_t)1 << (bits - 1);
    const uint64_t x = base_load(pattern, a, i).u, y = base_load(pattern, b, i).u;
    const uint64_t u = x & ~sign, v = y & ~sign;
    return (x & sign) != (y & sign) ? u + v : u > v ? u - v : v - u;
}

static uint64_t distance(base_type type, base_value x, base_value y) {
    const bool above = base_type_is_signed(type) ? x.i > y.i : x.u > y.u;
    return above ? x.u - y.u : y.u - x.u;
}

/* The largest so far; beyond the greatest double it is that. */
static void keep_largest(double *largest_one, double v) {
    v = v > DBL_MAX ? DBL_MAX : v;
    *largest_one = v > *largest_one ? v : *largest_one;
}

static bool float_fits(base_type type, const burin_array *a, const burin_array *b, uint64_t i,
                       const burin_tolerances *t, double top, burin_difference *out) {
    const double x = base_load(type, a->data, i).f, y = base_load(type, b->data, i).f;
    if (x == y || (isnan(x) && isnan(y))) {
        return true;
    }
    out->unequal++;
    if (!isfinite(x) || !isfinite(y)) {
        return false;
    }
    const double apart = fabs(x - y);
    const uint64_t steps = ulps(type, a->data, b->data, i);
    keep_largest(&out->max_absolute, apart);
    keep_largest(&out->max_relative, y != 0 ? apart / fabs(y) : 0);
    out->max_steps = steps > out->max_steps ? steps : out->max_steps;
    return apart <= t->absolute * top + t->relative * fabs(y) || steps <= t->ulp;
}

static bool integer_fits(base_type type, base_value x, base_value y, const burin_tolerances *t, burin_difference *out) {
    if (x.u == y.u) {
        return true;
    }
    const uint64_t steps = distance(type, x, y);
    const double apart = (double)steps, of = base_type_is_signed(type) ? fabs((double)y.i) : (double)y.u;
    out->unequal++;
    keep_largest(&out->max_absolute, apart);
    keep_largest(&out->max_relative, of != 0 ? apart / of : 0);
    out->max_steps = steps > out->max_steps ? steps : out->max_steps;
    return steps <= t->steps;
}

static const char *value_text(base_arena *arena, base_type type, const burin_array *a, uint64_t i) {
    base_text t = {.arena = arena};
    base_put_value(&t, type, base_load(type, a->data, i));
    return t.at;
}

void api_measure(burin_context *c, const burin_array *a, const burin_array *b, const burin_tolerances *t,
                 burin_difference *out) {
    const base_type type = base_type_named(a->type, strlen(a->type));
    const bool is_float = base_type_is_float(type);
    const uint64_t n = elements_of(a);
    const double top = is_float ? largest(type, b, n) : 0;
    *out = (burin_difference){.elements = n, .first = n};
    for (uint64_t i = 0; i < n; i++) {
        const bool fits = is_float
                              ? float_fits(type, a, b, i, t, top, out)
                              : integer_fits(type, base_load(type, a->data, i), base_load(type, b->data, i), t, out);
        if (!fits && out->mismatches++ == 0) {
            out->first = i;
            out->first_a = value_text(c->arena, type, a, i);
            out->first_b = value_text(c->arena, type, b, i);
        }
    }
}

burin_tolerances api_tolerances(const burin_tolerances *given) {
    burin_tolerances t = BURIN_TOLERANCES_INIT;
    if (given != NULL) {
        memcpy(&t, given, given->size < sizeof t ? given->size : sizeof t);
    }
    return t;
}

typedef struct measure_call {
    const char *name;
    const burin_array *a, *b;
    const burin_tolerances *tolerances;
    burin_difference *out;
} measure_call;

const char *api_difference_text(base_arena *arena, const burin_array *a, const burin_difference *d) {
    base_text t = {.arena = arena};
    base_put(&t, "%" PRIu64 " of %" PRIu64 " values differ, first ", d->mismatches, d->elements);
    base_put_index(&t, a->rank, a->dim, d->first);
    base_put(&t, ": %s, not %s", d->first_a, d->first_b);
    return t.at;
}

static base_status compare(burin_context *c, void *arguments) {
    const measure_call *call = arguments;
    const burin_array *a = call->a, *b = call->b;
    const burin_tolerances t = api_tolerances(call->tolerances);
    *call->out = (burin_difference){0};
    if (strcmp(a->type, b->type) != 0) {
        base_error(&c->diags, NULL, "%s: type %s, not %s", call->name, a->type, b->type);
        return BASE_WRONG;
    }
    if (a->size != b->size || elements_of(a) != elements_of(b)) {
        base_error(&c->diags, NULL, "%s: %zu bytes, not %zu", call->name, a->size, b->size);
        return BASE_WRONG;
    }
    api_measure(c, a, b, &t, call->out);
    if (call->out->mismatches == 0) {
        return BASE_OK;
    }
    base_error(&c->diags, NULL, "%s: %s", call->name, api_difference_text(c->arena, a, call->out));
    return BASE_WRONG;
}

burin_status burin_measure(burin_context *c, const char *name, const burin_array *a, const burin_array *b,
                           const burin_tolerances *tolerances, burin_difference *difference) {
    measure_call call = {name, a, b, tolerances, difference};
    return api_guarded(c, compare, &call);
}

burin_status burin_compare(burin_context *c, const char *name, const burin_array *a, const burin_array *b,
                           double absolute, double relative) {
    burin_tolerances tolerances = BURIN_TOLERANCES_INIT;
    burin_difference difference;
    tolerances.absolute = absolute;
    tolerances.relative = relative;
    return burin_measure(c, name, a, b, &tolerances, &difference);
}
