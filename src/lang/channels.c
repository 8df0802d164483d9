/* channels.c - ranges of an expression for each value of one variable.
 *
 * Takes what channels.h says. The variable has one value at a time, reduced variables one at each tap, all others an interval; the
 * nodes are computed in their order on intervals. A sum of products of something that does not depend on the variable and
 * of constants has a form of its own, two multiplications a tap.
 */
#include "lang/channels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lang/intervals.h"
#include "lang/linear.h"
#include "lang/words.h"

#define MOST_WORK ((uint64_t)1 << 25) /* of an analysis that is not told how much */
#define MOST_TAPS ((uint64_t)1 << 20) /* of one reduction that is taken tap by tap */
#define MOST_ELEMENTS 64              /* of a constant that are looked at for one index that is an interval */
#define ADDRESS_WORK 16u              /* of a flat index, whose form is found each time */
#define MOST_STAGES 8u                /* stages that read each other */

typedef struct span {
    base_value lo, hi; /* of the node's type; floats are finite and no NaN */
    bool known;
} span;

typedef struct channels {
    const lang_range *range; /* along the axis; NULL: nothing is known of it */
    uint32_t axis;
    bool asked; /* a stage's own */
} channels;

struct lang_along {
    base_arena *arena;
    const lang_program *p;
    lang_ranges *ranges;
    BASE_VEC(channels) of;    /* each tensor */
    uint64_t own_work, *work; /* nodes that may still be computed; a tap of a contraction counts for an eighth */
    uint32_t depth;           /* questions inside questions */
};

typedef struct refs {
    lang_ref *at;
    size_t n, cap;
} refs;

/* A sum of products, of which one factor depends on the variable and is a constant. */
typedef struct contraction {
    int64_t *lo, *hi; /* of the other factor, at each tap */
    int64_t *offset;  /* of the constant's element, at each tap */
    int64_t stride;   /* for each value of the variable */
    int64_t addend;
    const lang_tensor *weights;
} contraction;

typedef struct reduction {
    uint64_t bound; /* its variables */
    refs inner;     /* nodes that depend on them, operands first */
    refs outside;   /* what those read that does not */
    bool tried;
    contraction *c; /* NULL: it is none */
} reduction;

typedef struct question {
    lang_along *a;
    const lang_program *p;
    base_arena *scratch;
    const lang_stage *stage;
    uint32_t var;
    int64_t lo[LANG_MAX_VARS], hi[LANG_MAX_VARS];
    span *value;           /* of each node */
    reduction **reduction; /* of each node */
    uint32_t *stamp, stamps;
    bool exact;
} question;

lang_along *lang_along_new(base_arena *arena, const lang_program *p, uint64_t *work) {
    lang_along *a = BASE_NEW(arena, lang_along);
    a->arena = arena;
    a->p = p;
    a->ranges = lang_ranges_new(arena, p);
    a->own_work = MOST_WORK;
    a->work = work != NULL ? work : &a->own_work;
    return a;
}

static channels *channels_of(lang_along *a, uint32_t tensor) {
    while (a->of.n <= tensor) {
        *BASE_PUSH(a->arena, &a->of) = (channels){0};
    }
    return &a->of.at[tensor];
}

void lang_along_tensor(lang_along *a, uint32_t tensor, uint32_t axis, const lang_range *ranges) {
    const int64_t n = a->p->tensors.at[tensor].dim[axis];
    lang_range all = n > 0 ? ranges[0] : lang_type_range(a->p->tensors.at[tensor].type);
    for (int64_t i = 1; i < n; i++) {
        all.known = all.known && ranges[i].known;
        all.lo = ranges[i].lo < all.lo ? ranges[i].lo : all.lo;
        all.hi = ranges[i].hi > all.hi ? ranges[i].hi : all.hi;
    }
    if (all.known) {
        lang_ranges_tensor(a->ranges, tensor, all);
    }
    *channels_of(a, tensor) = (channels){.range = ranges, .axis = axis, .asked = true};
}

/* false: there has been too much. */
static bool spend(question *q, uint64_t work) {
    if (*q->a->work < work) {
        *q->a->work = 0;
        return false;
    }
    *q->a->work -= work;
    return true;
}

/* ---- spans ---- */

static span unknown(void) {
    return (span){.known = false};
}

static bool is_real(base_type t) {
    return base_type_is_float(t);
}

static span single(base_type type, base_value v) {
    const bool finite = !is_real(type) || isfinite(v.f);
    return (span){v, v, finite && !(type == BASE_U64 && v.i < 0)};
}

static bool is_single(const span *s) {
    return s->known && s->lo.i == s->hi.i; /* of reals the same bits */
}

static span from_range(lang_range r) {
    return (span){{.i = r.lo}, {.i = r.hi}, r.known};
}

static lang_range to_range(const span *s) {
    return (lang_range){s->lo.i, s->hi.i, s->known};
}

static bool below(base_type type, base_value a, base_value b) {
    return is_real(type) ? a.f < b.f : a.i < b.i;
}

static span join(base_type type, span a, span b) {
    return (span){below(type, b.lo, a.lo) ? b.lo : a.lo, below(type, a.hi, b.hi) ? b.hi : a.hi, a.known && b.known};
}

/* Of integers and bools: what the ranges for all values at once say, too. */
static span narrowed(const question *q, lang_ref e, span s) {
    bool ignored;
    const base_type type = (base_type)lang_at(q->p, e)->type;
    if (is_real(type)) {
        return s;
    }
    const lang_range r = lang_ranges_peek(q->a->ranges, e, &ignored);
    if (!s.known || !r.known) {
        return s.known ? s : from_range(r);
    }
    const span in = {{.i = r.lo > s.lo.i ? r.lo : s.lo.i}, {.i = r.hi < s.hi.i ? r.hi : s.hi.i}, true};
    return in.lo.i <= in.hi.i ? in : s; /* empty: the value is never used */
}

/* ---- words ---- */

/* Monotone in each argument, whatever the others are: the corners bound it. */
static bool has_corners(lang_word w, base_type type, base_type argument, const span *b) {
    switch (w) {
    case LANG_ADD:
    case LANG_SUB:
    case LANG_MUL:
    case LANG_MIN:
    case LANG_MAX:
    case LANG_NEG:
    case LANG_FLOOR:
    case LANG_CEIL:
    case LANG_TRUNC:
    case LANG_RNE:
    case LANG_RHA:
    case LANG_LT:
    case LANG_LE:
        return true;
    case LANG_CAST:
    case LANG_SAT:
        return type != BASE_BOOL && type != BASE_U64 && argument != BASE_U64;
    case LANG_DIV:
        return is_real(type) && (b->lo.f > 0 || b->hi.f < 0);
    default:
        return false;
    }
}

static span corners(lang_word w, base_type type, base_type argument, const span *x, uint32_t n) {
    span out = unknown();
    for (uint32_t k = 0; k < (n == 2 ? 4u : 2u); k++) {
        const base_value args[2] = {k & 1 ? x[0].hi : x[0].lo, k & 2 ? x[1].hi : x[1].lo};
        const span s = single(type, lang_word_value(w, type, argument, args));
        out = k == 0 ? s : join(type, out, s);
    }
    return out;
}

/* Words on integers alone are the intervals' business. */
static span word_span(question *q, lang_ref e, const lang_node *n) {
    const lang_program *p = q->p;
    const base_type type = (base_type)n->type, argument = (base_type)lang_at(p, lang_operand(p, e, 0))->type;
    span x[3] = {{{0}, {0}, false}};
    bool known = true, singles = true, reals = is_real(type);
    for (uint32_t k = 0; k < n->count && k < 3; k++) {
        const lang_ref r = lang_operand(p, e, k);
        x[k] = q->value[r];
        known = known && x[k].known;
        singles = singles && is_single(&x[k]);
        reals = reals || is_real((base_type)lang_at(p, r)->type);
    }
    if (n->code == LANG_IF) {
        return is_single(&x[0]) ? x[x[0].lo.i != 0 ? 1 : 2] : join(type, x[1], x[2]);
    }
    if (singles && !(n->code == LANG_BITS && is_real(argument) && x[0].lo.f == 0)) { /* of which sign is not known */
        const base_value args[3] = {x[0].lo, x[1].lo, x[2].lo};
        return single(type, lang_word_value((lang_word)n->code, type, argument, args));
    }
    if (reals && known && (n->code == LANG_ISNAN || n->code == LANG_ISINF)) {
        return single(BASE_BOOL, (base_value){.i = 0});
    }
    if (reals && argument != BASE_BOOL) {
        return known && n->count <= 2 && has_corners((lang_word)n->code, type, argument, &x[1])
                   ? corners((lang_word)n->code, type, argument, x, n->count)
                   : from_range(lang_type_range(type));
    }
    bool wraps;
    const bool same = n->count == 2 && lang_operand(p, e, 0) == lang_operand(p, e, 1);
    const lang_range first = x[0].known ? to_range(&x[0]) : lang_type_range(argument);
    const lang_range second = x[1].known || n->count < 2
                                  ? to_range(&x[1])
                                  : lang_type_range((base_type)lang_at(p, lang_operand(p, e, 1))->type);
    return from_range(lang_word_interval((lang_word)n->code, type, argument, first, second, same, &wraps));
}

/* ---- reads ---- */

static bool is_exact(const lang_tensor *t) {
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->extent[k] != 0) {
            return false;
        }
    }
    return true;
}

static int64_t elements_of(const lang_tensor *t, uint32_t from) {
    int64_t n = 1;
    for (uint32_t k = from; k < t->rank; k++) {
        n *= t->dim[k];
    }
    return n;
}

/* What the tensor holds anywhere. */
static span anywhere(question *q, uint32_t tensor) {
    return from_range(lang_range_tensor(q->a->ranges, tensor));
}

/* Elements of a constant in a box, none outside of the tensor. */
static span constant_box(question *q, const lang_tensor *t, uint32_t tensor, const int64_t *lo, const int64_t *hi) {
    int64_t count = 1, at[LANG_MAX_RANK];
    for (uint32_t k = 0; k < t->rank; k++) {
        at[k] = lo[k];
        if (hi[k] - lo[k] >= MOST_ELEMENTS || (count *= hi[k] - lo[k] + 1) > MOST_ELEMENTS) {
            return anywhere(q, tensor);
        }
    }
    span out = unknown();
    (void)spend(q, (uint64_t)count);
    for (int64_t i = 0; i < count; i++) {
        int64_t element = 0;
        for (uint32_t k = 0; k < t->rank; k++) {
            element = element * t->dim[k] + at[k];
        }
        const span s = single(t->type, base_load(t->type, t->data, (uint64_t)element));
        out = i == 0 ? s : join(t->type, out, s);
        for (uint32_t k = t->rank; k-- > 0 && ++at[k] > hi[k];) {
            at[k] = lo[k];
        }
    }
    return out;
}

static span channel_box(question *q, const channels *c, uint32_t tensor, int64_t lo, int64_t hi) {
    const int64_t n = q->p->tensors.at[tensor].dim[c->axis];
    if (lo <= 0 && hi >= n - 1) {
        return anywhere(q, tensor);
    }
    span out = from_range(c->range[lo]);
    (void)spend(q, (uint64_t)(hi - lo));
    for (int64_t i = lo + 1; i <= hi; i++) {
        out = join(BASE_I64, out, from_range(c->range[i]));
    }
    return out;
}

/* The row-major element number, but for whole multiples of `period`, lies between. false: it may be anything. */
static bool address(const question *q, lang_ref e, int64_t period, int64_t *lo, int64_t *hi) {
    lang_affine a;
    if (!lang_affine_of(q->p, e, &a)) {
        return false;
    }
    *lo = *hi = a.constant;
    for (uint32_t v = 0; v < LANG_MAX_VARS; v++) {
        const int64_t k = a.vars >> v & 1 ? a.coefficient[v] : 0;
        int64_t x, y;
        if (k == 0 || (q->lo[v] != q->hi[v] && k % period == 0)) {
            continue;
        }
        if (__builtin_mul_overflow(k, k > 0 ? q->lo[v] : q->hi[v], &x) ||
            __builtin_mul_overflow(k, k > 0 ? q->hi[v] : q->lo[v], &y) || __builtin_add_overflow(*lo, x, lo) ||
            __builtin_add_overflow(*hi, y, hi)) {
            return false;
        }
    }
    return true;
}

static span flat_contents(question *q, lang_ref e, const lang_node *n, const span *at) {
    const lang_tensor *t = &q->p->tensors.at[n->index];
    const int64_t all = elements_of(t, 0);
    const channels *c = channels_of(q->a, n->index);
    int64_t lo, hi;
    if (t->data != NULL && at->known && at->lo.i >= 0 && at->hi.i < all && at->hi.i - at->lo.i < MOST_ELEMENTS) {
        span out = single(t->type, base_load(t->type, t->data, at->lo.u));
        (void)spend(q, (uint64_t)(at->hi.i - at->lo.i));
        for (int64_t i = at->lo.i + 1; i <= at->hi.i; i++) {
            out = join(t->type, out, single(t->type, base_load(t->type, t->data, (uint64_t)i)));
        }
        return out;
    }
    if (c->range == NULL || all == 0 || !is_exact(t)) {
        return anywhere(q, n->index);
    }
    const int64_t inside = elements_of(t, c->axis + 1), period = elements_of(t, c->axis);
    (void)spend(q, ADDRESS_WORK);
    if (!address(q, lang_operand(q->p, e, 0), period, &lo, &hi)) {
        return anywhere(q, n->index);
    }
    lo = base_floor_div(lo, inside);
    hi = base_floor_div(hi, inside);
    if (hi - lo >= t->dim[c->axis] || base_floor_mod(lo, t->dim[c->axis]) > base_floor_mod(hi, t->dim[c->axis])) {
        return anywhere(q, n->index);
    }
    return channel_box(q, c, n->index, base_floor_mod(lo, t->dim[c->axis]), base_floor_mod(hi, t->dim[c->axis]));
}

static void ask_stage(question *q, uint32_t tensor);

static span read_span(question *q, lang_ref e, const lang_node *n) {
    const lang_tensor *t = &q->p->tensors.at[n->index];
    const uint32_t indices = n->count - (n->has_fill ? 1 : 0);
    const span fill = n->has_fill ? q->value[lang_operand(q->p, e, indices)] : unknown();
    bool inside = is_exact(t), outside = false;
    int64_t lo[LANG_MAX_RANK], hi[LANG_MAX_RANK];
    if (t->kind == LANG_STAGE && t->data == NULL) {
        ask_stage(q, n->index);
    }
    for (uint32_t k = 0; k < indices; k++) {
        const span *i = &q->value[lang_operand(q->p, e, k)];
        const int64_t extent = n->flat ? elements_of(t, 0) : t->dim[k];
        inside = inside && i->known && i->lo.i >= 0 && i->hi.i < extent;
        outside = outside || extent <= 0 || (i->known && (i->hi.i < 0 || i->lo.i >= extent));
        lo[k] = i->known && i->lo.i > 0 ? i->lo.i : 0;
        hi[k] = i->known && i->hi.i < extent ? i->hi.i : extent - 1;
    }
    if (outside) {
        return n->has_fill ? fill : from_range(lang_type_range(t->type));
    }
    const channels *c = channels_of(q->a, n->index);
    span out;
    if (n->flat) {
        out = flat_contents(q, e, n, &q->value[lang_operand(q->p, e, 0)]);
    } else if (t->data != NULL && is_exact(t)) {
        out = constant_box(q, t, n->index, lo, hi);
    } else if (c->range != NULL) {
        out = channel_box(q, c, n->index, lo[c->axis], hi[c->axis]);
    } else {
        out = anywhere(q, n->index);
    }
    return inside || !n->has_fill ? out : join(t->type, out, fill);
}

/* A stage without contents has ranges along its last extent. */
static void ask_stage(question *q, uint32_t tensor) {
    const lang_tensor *t = &q->p->tensors.at[tensor];
    lang_along *a = q->a;
    channels *c = channels_of(a, tensor);
    if (c->asked || t->rank == 0 || is_real(t->type) || a->depth >= MOST_STAGES || t->stage >= q->p->stages.n ||
        q->p->stages.at[t->stage].rec >= 0 || t->extent[t->rank - 1] != 0 ||
        (uint64_t)t->dim[t->rank - 1] > MOST_TAPS) {
        return;
    }
    c->asked = true;
    lang_range *list = BASE_NEWS(a->arena, lang_range, (size_t)t->dim[t->rank - 1] + 1);
    const lang_stage *s = &q->p->stages.at[t->stage];
    q->exact = lang_ranges_along(a, s, s->body, t->rank - 1, list) && q->exact;
    c = channels_of(a, tensor);
    c->range = list;
    c->axis = t->rank - 1;
}

/* ---- reductions ---- */

static void set_all(question *q, uint32_t var) {
    q->lo[var] = 0;
    q->hi[var] = q->stage->vars[var].bound > 0 ? q->stage->vars[var].bound - 1 : 0;
}

static void run(question *q, const refs *list);

static bool next_tap(question *q, const lang_node *n, lang_ref e) {
    for (uint32_t k = n->count - 3; k-- > 0;) {
        const lang_node *v = lang_at(q->p, lang_operand(q->p, e, k));
        const int64_t extent = lang_at(q->p, q->p->operands.at[v->first])->value.i;
        if (++q->lo[v->index] < extent) {
            q->hi[v->index] = q->lo[v->index];
            return true;
        }
        q->lo[v->index] = q->hi[v->index] = 0;
    }
    return false;
}

/* How many taps; false: not known, or too many to be taken one by one. */
static bool count_taps(question *q, lang_ref e, const lang_node *n, uint64_t *taps) {
    *taps = 1;
    for (uint32_t k = 0; k + 3 < n->count; k++) {
        const lang_node *v = lang_at(q->p, lang_operand(q->p, e, k));
        const lang_node *extent = lang_at(q->p, q->p->operands.at[v->first]);
        if (extent->kind != LANG_CONST || !base_mul_size(*taps, extent->value.i > 0 ? extent->value.u : 0, taps) ||
            *taps > MOST_TAPS) {
            return false;
        }
    }
    return true;
}

static void first_tap(question *q, lang_ref e, const lang_node *n, bool all) {
    for (uint32_t k = 0; k + 3 < n->count; k++) {
        const uint32_t v = lang_at(q->p, lang_operand(q->p, e, k))->index;
        set_all(q, v);
        q->hi[v] = all ? q->hi[v] : 0;
    }
}

/* y = cast(constant) or that plus a constant, whose address is affine in the variable and the reduced ones. */
static bool find_weights(question *q, const reduction *r, lang_ref y, contraction *c) {
    const lang_program *p = q->p;
    const lang_node *n = lang_at(p, y);
    bool wraps = false;
    lang_affine a;
    c->addend = 0;
    if (n->kind == LANG_WORD_ && (n->code == LANG_ADD || n->code == LANG_SUB)) {
        const lang_node *k = lang_at(p, lang_operand(p, y, 1));
        (void)lang_ranges_peek(q->a->ranges, y, &wraps);
        if (wraps || k->kind != LANG_CONST || k->value.i < INT32_MIN || k->value.i > INT32_MAX) {
            return false;
        }
        c->addend = n->code == LANG_ADD ? k->value.i : -k->value.i;
        y = lang_operand(p, y, 0);
        n = lang_at(p, y);
    }
    while (n->kind == LANG_WORD_ && n->code == LANG_CAST) {
        const lang_ref below_it = lang_operand(p, y, 0);
        const lang_range from = lang_ranges_peek(q->a->ranges, below_it, &wraps),
                         to = lang_type_range((base_type)n->type);
        if (!from.known || !to.known || from.lo < to.lo || from.hi > to.hi) {
            return false;
        }
        y = below_it;
        n = lang_at(p, y);
    }
    if (n->kind != LANG_READ || n->has_fill || p->tensors.at[n->index].data == NULL ||
        !base_type_is_int(p->tensors.at[n->index].type) || !is_exact(&p->tensors.at[n->index]) ||
        !lang_affine_read(p, y, &a) || (a.vars & ~(r->bound | UINT64_C(1) << q->var)) != 0) {
        return false;
    }
    c->weights = &p->tensors.at[n->index];
    c->stride = a.vars >> q->var & 1 ? a.coefficient[q->var] : 0;
    return true;
}

static lang_ref weights_read(const lang_program *p, lang_ref y) {
    while (lang_at(p, y)->kind == LANG_WORD_) {
        y = lang_operand(p, y, 0);
    }
    return y;
}

/* No product and no sum leaves 64 bits, no product its type, no address the constant. */
static bool is_safe(question *q, const contraction *c, lang_ref body, uint64_t taps) {
    bool wraps;
    const int64_t all = elements_of(c->weights, 0), last = q->stage->vars[q->var].bound - 1;
    const lang_range w = lang_range_tensor(q->a->ranges, (uint32_t)(c->weights - q->p->tensors.at));
    int64_t most = 1, widest, total;
    (void)lang_ranges_peek(q->a->ranges, body, &wraps);
    if (wraps || !w.known || w.lo < INT32_MIN || w.hi > INT32_MAX) {
        return false;
    }
    for (uint64_t k = 0; k < taps; k++) {
        int64_t far;
        if (__builtin_mul_overflow(c->stride, last, &far) || __builtin_add_overflow(c->offset[k], far, &far) ||
            far < 0 || far >= all || c->offset[k] < 0 || c->offset[k] >= all || c->lo[k] == INT64_MIN) {
            return false;
        }
        most = -c->lo[k] > most ? -c->lo[k] : most;
        most = c->hi[k] > most ? c->hi[k] : most;
    }
    widest = (w.hi > -w.lo ? w.hi : -w.lo) + llabs(c->addend);
    return !__builtin_mul_overflow(most, widest, &total) && !__builtin_mul_overflow(total, (int64_t)taps + 1, &total);
}

static void find_contraction(question *q, lang_ref e, const lang_node *n, reduction *r, uint64_t taps) {
    const lang_program *p = q->p;
    const lang_ref body = lang_operand(p, e, n->count - 2);
    const lang_node *b = lang_at(p, body);
    if ((r->bound >> q->var & 1) != 0 || n->code != LANG_SUM || is_real((base_type)n->type) ||
        lang_operand(p, e, n->count - 3) != 0 || taps == 0 || b->kind != LANG_WORD_ || b->code != LANG_MUL ||
        !spend(q, taps * r->inner.n)) {
        return;
    }
    contraction *c = BASE_NEW(q->scratch, contraction);
    c->lo = BASE_NEWS(q->scratch, int64_t, taps);
    c->hi = BASE_NEWS(q->scratch, int64_t, taps);
    c->offset = BASE_NEWS(q->scratch, int64_t, taps);
    lang_ref x = 0, y = 0;
    for (uint32_t k = 0; k < 2 && x == 0; k++) {
        const lang_ref other = lang_operand(p, body, 1 - k);
        if ((lang_at(p, other)->free >> q->var & 1) == 0 && find_weights(q, r, lang_operand(p, body, k), c)) {
            x = other;
            y = weights_read(p, lang_operand(p, body, k));
        }
    }
    if (x == 0) {
        return;
    }
    lang_affine a;
    (void)lang_affine_read(p, y, &a);
    first_tap(q, e, n, false);
    bool known = true;
    for (uint64_t k = 0; k < taps && known; k++) {
        run(q, &r->inner);
        known = q->value[x].known;
        c->lo[k] = q->value[x].lo.i;
        c->hi[k] = q->value[x].hi.i;
        c->offset[k] = a.constant;
        for (uint32_t v = 0; v < LANG_MAX_VARS; v++) {
            c->offset[k] += v != q->var && a.vars >> v & 1 ? a.coefficient[v] * q->lo[v] : 0;
        }
        (void)next_tap(q, n, e);
    }
    if (known && is_safe(q, c, body, taps)) {
        r->c = c;
    }
}

static span contract(question *q, const contraction *c, base_type type, uint64_t taps) {
    const int64_t shift = c->stride * q->lo[q->var];
    const lang_range t = lang_type_range(type);
    int64_t lo = 0, hi = 0;
    (void)spend(q, taps / 8 + 1);
    for (uint64_t k = 0; k < taps; k++) {
        const uint64_t at = (uint64_t)(c->offset[k] + shift);
        const int64_t w =
            c->addend + (c->weights->type == BASE_I8 ? ((const int8_t *)c->weights->data)[at]
                                                     : base_load(c->weights->type, c->weights->data, at).i);
        lo += w * (w < 0 ? c->hi[k] : c->lo[k]);
        hi += w * (w < 0 ? c->lo[k] : c->hi[k]);
    }
    return lo < t.lo || hi > t.hi || !t.known ? from_range(t) : (span){{.i = lo}, {.i = hi}, true};
}

/* Of one more tap, which counts if the guard holds. */
static void add_tap(lang_reduction r, const span *guard, const span *body, span *out, bool *overflow, bool *some) {
    const bool always = guard == NULL || (is_single(guard) && guard->lo.i != 0);
    if (guard != NULL && is_single(guard) && guard->lo.i == 0) {
        return;
    }
    out->known = out->known && body->known;
    const int64_t lo = body->lo.i, hi = body->hi.i;
    if (r == LANG_SUM) {
        *overflow = __builtin_add_overflow(out->lo.i, always || lo < 0 ? lo : 0, &out->lo.i) || *overflow;
        *overflow = __builtin_add_overflow(out->hi.i, always || hi > 0 ? hi : 0, &out->hi.i) || *overflow;
    } else if (r == LANG_RMAX) {
        out->hi.i = hi > out->hi.i ? hi : out->hi.i;
        out->lo.i = always && lo > out->lo.i ? lo : out->lo.i;
    } else {
        out->lo.i = lo < out->lo.i ? lo : out->lo.i;
        out->hi.i = always && hi < out->hi.i ? hi : out->hi.i;
    }
    *some = *some || always;
}

/* Tap by tap. */
static span enumerate(question *q, lang_ref e, const lang_node *n, const reduction *r, uint64_t taps) {
    const lang_program *p = q->p;
    const base_type type = (base_type)n->type;
    const lang_ref guard = lang_operand(p, e, n->count - 3), body = lang_operand(p, e, n->count - 2);
    const lang_ref otherwise = lang_operand(p, e, n->count - 1);
    const lang_range t = lang_type_range(type);
    span out = {{.i = 0}, {.i = 0}, true};
    bool overflow = false, some = false;
    if (n->code != LANG_SUM) { /* the empty domain's: least for max */
        out.lo.i = out.hi.i = n->code == LANG_RMAX ? t.lo : t.hi;
    }
    first_tap(q, e, n, false);
    for (uint64_t k = 0; k < taps; k++) {
        run(q, &r->inner);
        add_tap((lang_reduction)n->code, guard != 0 ? &q->value[guard] : NULL, &q->value[body], &out, &overflow, &some);
        (void)next_tap(q, n, e);
    }
    if (!some && otherwise != 0) {
        out = join(type, out, q->value[otherwise]);
    }
    return out.known && !overflow && out.lo.i >= t.lo && out.hi.i <= t.hi ? out : from_range(t);
}

static span whole_domain(question *q, lang_ref e, const lang_node *n, const reduction *r) {
    const lang_program *p = q->p;
    const lang_ref guard = lang_operand(p, e, n->count - 3), otherwise = lang_operand(p, e, n->count - 1);
    lang_range count = {1, 1, true};
    bool wraps;
    first_tap(q, e, n, true);
    run(q, &r->inner);
    for (uint32_t k = 0; k + 3 < n->count; k++) {
        const span *extent = &q->value[p->operands.at[lang_at(p, lang_operand(p, e, k))->first]];
        count = lang_count_interval(count, to_range(extent));
    }
    if (guard != 0 && !(is_single(&q->value[guard]) && q->value[guard].lo.i != 0)) {
        count.lo = 0;
    }
    const span *body = &q->value[lang_operand(p, e, n->count - 2)];
    const span out = from_range(lang_reduction_interval((lang_reduction)n->code, (base_type)n->type, to_range(body),
                                                        count, otherwise == 0, &wraps));
    return otherwise != 0 && count.lo == 0 ? join((base_type)n->type, out, q->value[otherwise]) : out;
}

static span reduced(question *q, lang_ref e, const lang_node *n) {
    reduction *r = q->reduction[e];
    const base_type type = (base_type)n->type;
    const bool by_taps = (n->code == LANG_SUM || n->code == LANG_RMAX || n->code == LANG_RMIN) &&
                         base_type_is_int(type) && type != BASE_U64;
    uint64_t taps = 0;
    if (is_real(type) || type == BASE_U64) {
        return unknown();
    }
    if (by_taps && count_taps(q, e, n, &taps)) {
        if (!r->tried) {
            const int64_t at = q->lo[q->var];
            r->tried = true;
            set_all(q, q->var); /* the other factor does not depend on it */
            find_contraction(q, e, n, r, taps);
            q->lo[q->var] = q->hi[q->var] = at;
        }
        if (r->c != NULL) {
            return contract(q, r->c, type, taps);
        }
        if (spend(q, taps * (r->inner.n + 1))) {
            return enumerate(q, e, n, r, taps);
        }
    }
    q->exact = q->exact && !by_taps;
    return whole_domain(q, e, n, r);
}

static span reduce_span(question *q, lang_ref e, const lang_node *n) {
    const uint64_t bound = q->reduction[e]->bound;
    const span out = reduced(q, e, n);
    for (uint32_t v = 0; v < q->stage->var_count; v++) {
        if (bound >> v & 1) {
            set_all(q, v);
        }
    }
    return out;
}

/* ---- nodes ---- */

static span node_span(question *q, lang_ref e) {
    const lang_node *n = lang_at(q->p, e);
    switch (n->kind) {
    case LANG_CONST:
        return single((base_type)n->type, n->value);
    case LANG_VAR:
        return (span){{.i = q->lo[n->index]}, {.i = q->hi[n->index]}, true};
    case LANG_READ:
        return read_span(q, e, n);
    case LANG_WORD_:
        return word_span(q, e, n);
    default:
        return reduce_span(q, e, n);
    }
}

static void run(question *q, const refs *list) {
    for (size_t i = 0; i < list->n; i++) {
        q->value[list->at[i]] = narrowed(q, list->at[i], node_span(q, list->at[i]));
    }
}

static void push(question *q, refs *list, lang_ref e) {
    if (list->n == list->cap) {
        const size_t cap = list->cap * 2 + 16;
        list->at = base_grow(q->scratch, list->at, list->cap, cap, sizeof *list->at);
        list->cap = cap;
    }
    list->at[list->n++] = e;
}

static int compare(const void *a, const void *b) {
    const lang_ref x = *(const lang_ref *)a, y = *(const lang_ref *)b;
    return x < y ? -1 : x > y;
}

/* Appends what e needs at this level: of nodes that depend on `bound`, or (0) of all; the others go to `outside`. Bodies of
 * reductions are levels of their own, whose reductions are there already. */
static void collect(question *q, lang_ref e, uint64_t bound, refs *list, refs *outside) {
    const lang_program *p = q->p;
    refs stack = {0};
    push(q, &stack, e);
    while (stack.n > 0) {
        const lang_ref r = stack.at[--stack.n];
        const lang_node *n = lang_at(p, r);
        if (r == 0 || q->stamp[r] == q->stamps) {
            continue;
        }
        q->stamp[r] = q->stamps;
        (void)spend(q, 1);
        if (bound != 0 && (n->free & bound) == 0) {
            push(q, outside, r);
            continue;
        }
        push(q, list, r);
        if (n->kind == LANG_REDUCE && q->reduction[r] != NULL) {
            for (size_t k = 0; k < q->reduction[r]->outside.n; k++) {
                push(q, &stack, q->reduction[r]->outside.at[k]);
            }
            continue;
        }
        for (uint32_t k = 0; k < n->count; k++) {
            push(q, &stack, lang_operand(p, r, k));
        }
    }
    if (list->n > 1) {
        qsort(list->at, list->n, sizeof *list->at, compare);
    }
}

static void add_reduction(question *q, lang_ref e) {
    const lang_program *p = q->p;
    const lang_node *n = lang_at(p, e);
    reduction *r = BASE_NEW(q->scratch, reduction);
    q->stamps++;
    for (uint32_t k = 0; k + 3 < n->count; k++) {
        r->bound |= UINT64_C(1) << lang_at(p, lang_operand(p, e, k))->index;
        push(q, &r->outside, p->operands.at[lang_at(p, lang_operand(p, e, k))->first]); /* its extent */
    }
    for (uint32_t k = n->count - 3; k + 1 < n->count; k++) {
        collect(q, lang_operand(p, e, k), r->bound, &r->inner, &r->outside);
    }
    push(q, &r->outside, lang_operand(p, e, n->count - 1));
    q->reduction[e] = r;
}

/* Every reduction below e, inner ones first, then e's own level. */
static void arrange(question *q, lang_ref e, refs *list) {
    refs all = {0}, none = {0};
    q->stamps = 1;
    collect(q, e, 0, &all, &none);
    for (size_t i = 0; i<all.n && * q->a->work> 0; i++) {
        if (lang_at(q->p, all.at[i])->kind == LANG_REDUCE) {
            add_reduction(q, all.at[i]);
        }
    }
    q->stamps++;
    collect(q, e, 0, list, &none);
}

static bool fixed_variable(const lang_program *p, const lang_stage *s, uint32_t var) {
    const lang_node *extent = lang_at(p, s->vars[var].extent);
    return s->vars[var].extent != 0 && extent->kind == LANG_CONST;
}

static bool ask(question *q, lang_ref e, lang_range *out) {
    const lang_stage *s = q->stage;
    const int64_t n = s->vars[q->var].bound;
    const lang_range wide = lang_range_of(q->a->ranges, s, e);
    refs list = {0}, varying = {0};
    for (int64_t i = 0; i < n; i++) {
        out[i] = wide;
    }
    if (is_real((base_type)lang_at(q->p, e)->type) || !fixed_variable(q->p, s, q->var)) {
        return false;
    }
    arrange(q, e, &list);
    if (*q->a->work == 0) {
        return false;
    }
    for (size_t i = 0; i < list.n; i++) {
        if (lang_at(q->p, list.at[i])->free >> q->var & 1) {
            push(q, &varying, list.at[i]);
        }
    }
    q->exact = true;
    for (int64_t i = 0; i < n; i++) {
        q->lo[q->var] = q->hi[q->var] = i;
        if (!spend(q, (i == 0 ? list.n : varying.n) + 1)) {
            return false;
        }
        run(q, i == 0 ? &list : &varying);
        out[i] = q->value[e].known ? to_range(&q->value[e]) : wide;
    }
    return q->exact;
}

bool lang_ranges_along(lang_along *a, const lang_stage *s, lang_ref e, uint32_t var, lang_range *out) {
    question *q = BASE_NEW(a->arena, question);
    base_arena *scratch = base_arena_new(base_arena_memory(a->arena));
    *q = (question){.a = a, .p = a->p, .scratch = scratch, .stage = s, .var = var};
    q->value = BASE_NEWS(scratch, span, a->p->nodes.n + 1);
    q->reduction = BASE_NEWS(scratch, reduction *, a->p->nodes.n + 1);
    q->stamp = BASE_NEWS(scratch, uint32_t, a->p->nodes.n + 1);
    for (uint32_t v = 0; v < s->var_count; v++) {
        set_all(q, v);
    }
    a->depth++;
    const bool exact = ask(q, e, out);
    a->depth--;
    base_arena_free(scratch);
    return exact;
}
