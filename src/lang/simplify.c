/* simplify.c - what ranges prove away.
 *
 * Takes a program. Gives one with the same outputs, bit for bit, in which divisions, clamps, conversions, guards, fills
 * and conditions that cannot act are gone. Rules use ranges and linear forms; integer rules hold for wrapping
 * arithmetic. A float's value is never rearranged. Nothing is split or reordered (schedules do that).
 */
#include <assert.h>
#include <math.h>

#include "lang/lang.h"
#include "lang/linear.h"
#include "lang/rewrite.h"

#define PASSES 3u

typedef struct simplifier {
    lang_program *q;
    lang_ranges *old; /* of the program that is read */
    lang_ranges *now; /* of q; contents of tensors as in old */
} simplifier;

/* ---- questions about nodes of the new program ---- */

static const lang_node *at(const simplifier *x, lang_ref r) {
    return lang_at(x->q, r);
}

static lang_range range(const simplifier *x, lang_ref r) {
    return lang_range_of(x->now, NULL, r);
}

static bool is_int(const simplifier *x, lang_ref r) {
    return base_type_is_int((base_type)at(x, r)->type);
}

static bool is_const(const simplifier *x, lang_ref r) {
    return at(x, r)->kind == LANG_CONST;
}

static bool is_word(const simplifier *x, lang_ref r, lang_word w) {
    return at(x, r)->kind == LANG_WORD_ && at(x, r)->code == (uint8_t)w;
}

static lang_ref operand(const simplifier *x, lang_ref r, uint32_t k) {
    return lang_operand(x->q, r, k);
}

/* A positive constant that fits i64. */
static bool positive(const simplifier *x, lang_ref r, int64_t *v) {
    *v = at(x, r)->value.i;
    return is_const(x, r) && is_int(x, r) && *v > 0;
}

static lang_ref constant(const simplifier *x, base_type type, int64_t v) {
    return lang_const(x->q, type, (base_value){.i = v});
}

static bool inside_type(lang_range r, base_type type) {
    lang_range t = lang_type_range(type);
    return base_type_is_int(type) && r.known && r.lo >= (t.known ? t.lo : 0) && (!t.known || r.hi <= t.hi);
}

/* ---- conversions ---- */

static bool keeps_value(const simplifier *x, lang_ref cast) {
    lang_ref a = operand(x, cast, 0);
    return is_word(x, cast, LANG_CAST) && is_int(x, a) && inside_type(range(x, a), (base_type)at(x, cast)->type);
}

#define NARROW_DEPTH 6u

static lang_ref narrow_arithmetic(const simplifier *x, base_type type, lang_ref a, uint32_t depth);

/* a modulo the width of `type`, without more conversions than now, where that can be had; 0: it cannot. */
static lang_ref without_cast(const simplifier *x, base_type type, lang_ref a, uint32_t depth) {
    if (is_const(x, a) && is_int(x, a)) {
        return lang_apply1(x->q, LANG_CAST, type, a);
    }
    if (is_word(x, a, LANG_CAST) && is_int(x, operand(x, a, 0))) {
        return lang_apply1(x->q, LANG_CAST, type, operand(x, a, 0));
    }
    return depth > 0 ? narrow_arithmetic(x, type, a, depth - 1) : 0;
}

/* T(a + b) with a and b converted from T: the low bits of the arithmetic need only low bits. */
static lang_ref narrow_arithmetic(const simplifier *x, base_type type, lang_ref a, uint32_t depth) {
    const lang_node n = *at(x, a);
    lang_ref args[2] = {0};
    bool ring = n.code == LANG_ADD || n.code == LANG_SUB || n.code == LANG_MUL || n.code == LANG_NEG ||
                n.code == LANG_BITAND || n.code == LANG_BITOR || n.code == LANG_BITXOR || n.code == LANG_BITNOT;
    if (n.kind != LANG_WORD_ || !ring || !base_type_is_int((base_type)n.type) ||
        base_type_bits(type) > base_type_bits((base_type)n.type)) {
        return 0;
    }
    for (uint32_t k = 0; k < n.count; k++) {
        args[k] = without_cast(x, type, operand(x, a, k), depth);
        if (args[k] == 0) {
            return 0;
        }
    }
    return lang_apply(x->q, (lang_word)n.code, type, args, n.count);
}

static lang_ref simplify_cast(const simplifier *x, base_type type, lang_ref a) {
    base_type from = (base_type)at(x, a)->type;
    if (!base_type_is_int(from)) {
        return 0;
    }
    if (is_word(x, a, LANG_CAST) && is_int(x, operand(x, a, 0))) {
        /* the inner one changes nothing, or only bits that the outer one drops */
        bool drops = base_type_is_int(type) && base_type_bits(type) <= base_type_bits(from);
        if (keeps_value(x, a) || drops) {
            return lang_apply1(x->q, LANG_CAST, type, operand(x, a, 0));
        }
    }
    return base_type_is_int(type) ? narrow_arithmetic(x, type, a, NARROW_DEPTH) : 0;
}

static lang_ref simplify_saturation(const simplifier *x, base_type type, lang_ref a) {
    if (is_int(x, a) && inside_type(range(x, a), type)) {
        return lang_apply1(x->q, LANG_CAST, type, a);
    }
    return 0;
}

/* ---- division ---- */

/* form / c where form = c*whole + part and part / c is one number: whole + that number. remainder: the part, less
 * it. */
static bool split_by(const simplifier *x, const lang_linear *form, int64_t c, lang_linear *whole, lang_linear *part) {
    *whole = (lang_linear){0};
    *part = (lang_linear){.constant = form->constant};
    for (uint32_t k = 0; k < form->n; k++) {
        bool divides = form->term[k].k % c == 0;
        lang_linear *to = divides ? whole : part;
        to->term[to->n] = form->term[k];
        to->term[to->n++].k /= divides ? c : 1;
    }
    if (!lang_linear_bound(x->now, part)) {
        return false;
    }
    int64_t q = base_floor_div(part->range.lo, c), multiple;
    return q == base_floor_div(part->range.hi, c) && !__builtin_add_overflow(whole->constant, q, &whole->constant) &&
           !__builtin_mul_overflow(q, c, &multiple) &&
           !__builtin_sub_overflow(part->constant, multiple, &part->constant) && lang_linear_bound(x->now, whole) &&
           lang_linear_bound(x->now, part);
}

/* The form as a node of `type`; every atom's value fits the type or the sum is congruent anyway. */
static lang_ref build(const simplifier *x, base_type type, const lang_linear *l) {
    lang_ref sum = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        lang_ref a = l->term[k].atom;
        if (at(x, a)->type != (uint8_t)type) {
            a = lang_apply1(x->q, LANG_CAST, type, a);
        }
        lang_ref t = lang_apply2(x->q, LANG_MUL, type, a, constant(x, type, l->term[k].k));
        sum = sum == 0 ? t : lang_apply2(x->q, LANG_ADD, type, sum, t);
    }
    lang_ref c = constant(x, type, l->constant);
    return sum == 0 ? c : lang_apply2(x->q, LANG_ADD, type, sum, c);
}

static lang_ref simplify_division(const simplifier *x, base_type type, lang_ref a, lang_ref b) {
    lang_linear form, whole, part;
    int64_t c, inner;
    if (!positive(x, b, &c)) {
        return 0;
    }
    if (lang_linear_of(x->now, a, &form) && split_by(x, &form, c, &whole, &part) && inside_type(whole.range, type)) {
        return build(x, type, &whole);
    }
    if (is_word(x, a, LANG_DIV) && positive(x, operand(x, a, 1), &inner) && !__builtin_mul_overflow(c, inner, &c)) {
        lang_ref d = constant(x, type, c); /* (a/b)/c is a/(b*c), if the type holds that */
        if (inside_type((lang_range){c, c, true}, type)) {
            return lang_apply2(x->q, LANG_DIV, type, operand(x, a, 0), d);
        }
    }
    return 0;
}

static lang_ref simplify_modulus(const simplifier *x, base_type type, lang_ref a, lang_ref b) {
    lang_linear form, whole, part;
    int64_t c, inner;
    if (!positive(x, b, &c)) {
        return 0;
    }
    if (is_word(x, a, LANG_MOD) && positive(x, operand(x, a, 1), &inner) && inner % c == 0) {
        return lang_apply2(x->q, LANG_MOD, type, operand(x, a, 0), b);
    }
    if (!lang_linear_of(x->now, a, &form)) {
        return 0;
    }
    if (split_by(x, &form, c, &whole, &part) && inside_type(part.range, type)) {
        return build(x, type, &part);
    }
    if (whole.n > 0 && lang_linear_bound(x->now, &part) && inside_type(part.range, type)) {
        /* multiples of c leave the modulus */
        return lang_apply2(x->q, LANG_MOD, type, build(x, type, &part), b);
    }
    return 0;
}

/* Truncating division of what is not negative is floor division, which the rules know. */
static lang_ref simplify_truncating(const simplifier *x, lang_word w, base_type type, lang_ref a, lang_ref b) {
    lang_range ra = range(x, a), rb = range(x, b);
    if (!ra.known || !rb.known || ra.lo < 0 || rb.lo < 0) {
        return 0;
    }
    return lang_apply2(x->q, w == LANG_TDIV ? LANG_DIV : LANG_MOD, type, a, b);
}

/* k*c*(i/c) + k*(i%c) is k*i: the digits of a number put together again. */
static lang_ref join_digits(const simplifier *x, base_type type, lang_ref sum) {
    lang_linear form;
    if (!lang_linear_of(x->now, sum, &form)) {
        return 0;
    }
    for (uint32_t m = 0; m < form.n; m++) {
        lang_ref low = form.term[m].atom;
        int64_t c, high;
        if (!is_word(x, low, LANG_MOD) || !positive(x, operand(x, low, 1), &c) || at(x, low)->type != (uint8_t)type ||
            __builtin_mul_overflow(form.term[m].k, c, &high)) {
            continue;
        }
        lang_ref i = operand(x, low, 0);
        lang_ref digit = simplify_division(x, type, i, operand(x, low, 1));
        digit = digit != 0 ? digit : lang_apply2(x->q, LANG_DIV, type, i, operand(x, low, 1));
        for (uint32_t d = 0; d < form.n; d++) {
            if (form.term[d].atom == digit && form.term[d].k == high) {
                form.term[m].atom = i;
                form.term[d] = form.term[--form.n];
                return build(x, type, &form);
            }
        }
    }
    return 0;
}

/* ---- words ---- */

static lang_ref simplify_extreme(const simplifier *x, lang_word w, lang_ref a, lang_ref b) {
    if (!is_int(x, a)) {
        /* an infinite bound never acts; NaN passes */
        bool idle = is_const(x, b) && base_type_is_float((base_type)at(x, b)->type) &&
                    at(x, b)->value.f == (w == LANG_MIN ? HUGE_VAL : -HUGE_VAL);
        return idle ? a : 0;
    }
    lang_range ra = range(x, a), rb = range(x, b);
    lang_linear la, lb, d;
    if (!ra.known || !rb.known) {
        return 0;
    }
    bool a_below = ra.hi <= rb.lo, b_below = rb.hi <= ra.lo;
    if (!a_below && !b_below && lang_linear_of(x->now, a, &la) && lang_linear_of(x->now, b, &lb) &&
        lang_linear_difference(x->now, &la, &lb, &d)) {
        a_below = d.range.hi <= 0;
        b_below = d.range.lo >= 0;
    }
    if (!a_below && !b_below) {
        return 0;
    }
    return a_below == (w == LANG_MIN) ? a : b;
}

static lang_ref simplify_comparison(const simplifier *x, lang_word w, lang_ref a, lang_ref b) {
    lang_linear la, lb, d;
    if (!is_int(x, a)) {
        return 0;
    }
    (void)range(x, a);
    (void)range(x, b);
    if (!lang_linear_of(x->now, a, &la) || !lang_linear_of(x->now, b, &lb) ||
        !lang_linear_difference(x->now, &la, &lb, &d)) {
        return 0;
    }
    bool always = w == LANG_LT ? d.range.hi < 0 : w == LANG_LE ? d.range.hi <= 0 : d.range.lo == 0 && d.range.hi == 0;
    bool never = w == LANG_LT ? d.range.lo >= 0 : w == LANG_LE ? d.range.lo > 0 : d.range.lo > 0 || d.range.hi < 0;
    return always || never ? lang_int(x->q, BASE_BOOL, always) : 0;
}

/* if(c, true, false) and its like. */
static lang_ref simplify_if(const simplifier *x, const lang_ref *a) {
    if (a[1] == a[2]) { /* they have become equal by being simplified */
        return a[1];
    }
    if (at(x, a[0])->kind == LANG_WORD_ && at(x, a[0])->code == LANG_NOT) {
        lang_ref args[3] = {operand(x, a[0], 0), a[2], a[1]};
        return lang_apply(x->q, LANG_IF, (base_type)at(x, a[1])->type, args, 3);
    }
    if (at(x, a[1])->type != BASE_BOOL || !is_const(x, a[1]) || !is_const(x, a[2])) {
        return 0;
    }
    return at(x, a[1])->value.u ? a[0] : lang_apply1(x->q, LANG_NOT, BASE_BOOL, a[0]);
}

static lang_ref simplify_bitand(const simplifier *x, lang_ref a, lang_ref b) {
    int64_t mask;
    lang_range r = range(x, a);
    bool covers =
        positive(x, b, &mask) && ((uint64_t)mask & ((uint64_t)mask + 1)) == 0 && r.known && r.lo >= 0 && r.hi <= mask;
    return covers ? a : 0;
}

static lang_ref simplify_shift(const simplifier *x, lang_ref a, lang_ref count) {
    lang_range r = range(x, count);
    return r.known && r.hi <= 0 ? a : 0;
}

static lang_ref simplify_word(const simplifier *x, const lang_node *n, const lang_ref *a) {
    lang_word w = (lang_word)n->code;
    base_type type = (base_type)n->type;
    bool integer = base_type_is_int(type);
    for (uint32_t k = 0; k < n->count; k++) {
        (void)range(x, a[k]); /* linear forms look at what is memoised */
    }
    switch (w) {
    case LANG_CAST:
        return simplify_cast(x, type, a[0]);
    case LANG_SAT:
        return simplify_saturation(x, type, a[0]);
    case LANG_DIV:
        return integer ? simplify_division(x, type, a[0], a[1]) : 0;
    case LANG_MOD:
        return integer ? simplify_modulus(x, type, a[0], a[1]) : 0;
    case LANG_TDIV:
    case LANG_TREM:
        return simplify_truncating(x, w, type, a[0], a[1]);
    case LANG_MIN:
    case LANG_MAX:
        return simplify_extreme(x, w, a[0], a[1]);
    case LANG_LT:
    case LANG_LE:
    case LANG_EQ:
        return simplify_comparison(x, w, a[0], a[1]);
    case LANG_IF:
        return simplify_if(x, a);
    case LANG_ABS: {
        lang_range r = range(x, a[0]);
        if (!integer || !r.known || (r.lo < 0 && r.hi > 0)) {
            return 0;
        }
        return r.lo >= 0 ? a[0] : lang_apply1(x->q, LANG_NEG, type, a[0]);
    }
    case LANG_BITAND:
        return simplify_bitand(x, a[0], a[1]);
    case LANG_SHL:
    case LANG_SHR:
    case LANG_RDIVPOT:
        return simplify_shift(x, a[0], a[1]);
    default:
        return 0;
    }
}

/* ---- reads ---- */

static lang_ref simplify_read(const simplifier *x, const lang_node *n, const lang_ref *a) {
    const lang_tensor t = x->q->tensors.at[n->index];
    uint32_t indices = n->count - 1;
    bool inside = true, outside = false;
    int64_t least = 1, most = 1;
    if (!n->has_fill) {
        return 0;
    }
    for (uint32_t k = 0; k < t.rank; k++) {
        if (!n->flat) {
            least = most = 1;
        }
        if (__builtin_mul_overflow(least, lang_least_extent(x->now, &t, k), &least) ||
            __builtin_mul_overflow(most, t.dim[k], &most)) {
            return 0;
        }
        if (!n->flat || k + 1 == t.rank) {
            lang_range r = range(x, a[n->flat ? 0 : k]);
            inside = inside && r.known && r.lo >= 0 && r.hi < least;
            outside = outside || (r.known && (r.hi < 0 || r.lo >= most));
        }
    }
    if (outside) {
        return a[indices];
    }
    if (!inside || (n->flat && t.rank == 0)) {
        return 0;
    }
    return n->flat ? lang_read_flat(x->q, n->index, a[0], 0) : lang_read(x->q, n->index, a, indices, 0);
}

/* ---- reductions ---- */

/* Over one point the reduction is its body. Not so for float sums and products, which start from 0 and 1 in another
 * precision. */
static bool is_body_of_one(lang_reduction r, base_type type) {
    return base_type_is_int(type) || (r != LANG_SUM && r != LANG_PROD);
}

/* Over no point at all: `otherwise`, or the reduction's identity. */
static lang_ref over_nothing(const simplifier *x, lang_reduction r, base_type type, const lang_ref *a, uint32_t vars) {
    return lang_reduce(x->q, r, type, a, vars, lang_int(x->q, BASE_BOOL, 0), a[vars + 1], a[vars + 2]);
}

static lang_ref sum_of_constant(const simplifier *x, base_type type, const lang_ref *vars, uint32_t n, lang_ref body) {
    uint64_t count = 1;
    for (uint32_t k = 0; k < n; k++) {
        const lang_node *extent = at(x, operand(x, vars[k], 0));
        if (extent->kind != LANG_CONST) {
            return 0;
        }
        count *= extent->value.u; /* modulo 2^64, as the sum is */
    }
    return lang_const(x->q, type, (base_value){.u = count * at(x, body)->value.u});
}

/* Variables with one value have become that value in the body (their range is [0, 0]): they need not be counted. */
static lang_ref simplify_reduce(const simplifier *x, const lang_node *n, const lang_ref *a) {
    lang_reduction r = (lang_reduction)n->code;
    base_type type = (base_type)n->type;
    uint32_t vars = n->count - 3, kept = 0;
    lang_ref guard = a[vars], body = a[vars + 1], otherwise = a[vars + 2], var[LANG_MAX_VARS];
    if (guard != 0 && is_const(x, guard)) {
        if (at(x, guard)->value.u == 0) {
            return over_nothing(x, r, type, a, vars);
        }
        guard = 0;
    }
    for (uint32_t k = 0; k < vars; k++) {
        lang_range extent = range(x, operand(x, a[k], 0));
        if (extent.known && extent.hi <= 0) {
            return over_nothing(x, r, type, a, vars);
        }
        bool one = extent.known && extent.lo == 1 && extent.hi == 1;
        if (!one || (kept == 0 && k + 1 == vars && !is_body_of_one(r, type))) {
            var[kept++] = a[k];
        }
    }
    if (kept == 0 && guard == 0) {
        return body;
    }
    if (kept == 0) {
        lang_ref args[3] = {guard, body, over_nothing(x, r, type, a, vars)};
        return lang_apply(x->q, LANG_IF, type, args, 3);
    }
    if (r == LANG_SUM && guard == 0 && is_const(x, body) && base_type_is_int(type) && otherwise == 0) {
        lang_ref sum = sum_of_constant(x, type, var, kept, body);
        if (sum != 0) {
            return sum;
        }
    }
    bool changed = kept < vars || guard != a[vars];
    return changed ? lang_reduce(x->q, r, type, var, kept, guard, body, otherwise) : 0;
}

/* ---- nodes ---- */

static lang_ref as_constant(const simplifier *x, lang_ref r, lang_range known) {
    base_type type = (base_type)at(x, r)->type;
    bool exact = known.known && known.lo == known.hi && (base_type_is_int(type) || type == BASE_BOOL);
    return exact && !is_const(x, r) ? constant(x, type, known.lo) : r;
}

/* Node r of the old program, its operands simplified, in the new one. */
static lang_ref simplify_node(lang_rewriter *w, lang_ref r) {
    simplifier *x = w->user;
    const lang_node n = *lang_at(w->from, r);
    lang_ref a[LANG_MAX_VARS + 3] = {0};
    lang_ref built = 0;
    lang_range known = lang_range_of(x->old, NULL, r);
    base_type type = (base_type)n.type;
    if (known.known && known.lo == known.hi && n.kind != LANG_VAR && (base_type_is_int(type) || type == BASE_BOOL)) {
        return constant(x, type, known.lo);
    }
    for (uint32_t k = 0; k < n.count; k++) {
        lang_ref o = lang_operand(w->from, r, k);
        a[k] = o != 0 ? w->memo.at[o] : 0;
        bool binds = n.kind == LANG_REDUCE && k + 3 < n.count;
        if (a[k] != 0 && !binds && at(x, a[k])->kind == LANG_VAR && range(x, a[k]).hi == 0) {
            a[k] =
                lang_int(x->q, BASE_I64, 0); /* a variable with one value; where it is bound it must stay a variable */
        }
    }
    switch (n.kind) {
    case LANG_READ:
        built = simplify_read(x, &n, a);
        break;
    case LANG_WORD_:
        built = simplify_word(x, &n, a);
        break;
    case LANG_REDUCE:
        built = simplify_reduce(x, &n, a);
        break;
    default:
        break;
    }
    if (built == 0) {
        built = lang_rebuild(w, r, a);
    }
    if (built == 0 || n.kind == LANG_VAR) {
        return built;
    }
    built = as_constant(x, built, range(x, built));
    if (is_word(x, built, LANG_ADD) && base_type_is_int(type)) {
        lang_ref joined = join_digits(x, type, built);
        built = joined != 0 ? joined : built;
    }
    return built;
}

/* Contents of constants are read once, for all passes. */
static void share_contents(lang_ranges *from, lang_ranges *to, const lang_program *p, bool stages) {
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        const lang_tensor *x = &p->tensors.at[t];
        bool integer = base_type_is_int(x->type) || x->type == BASE_BOOL;
        if (integer && (x->data != NULL || (stages && x->kind == LANG_STAGE))) {
            lang_ranges_tensor(to, t, lang_range_tensor(from, t));
        }
    }
}

static bool copy_all(base_arena *scratch, lang_rewriter *w, const uint32_t *map) {
    const lang_program *p = w->from;
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        if (!lang_copy_extents(scratch, w, t, map[t])) {
            return false;
        }
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        if (!lang_copy_stage(scratch, w, &p->stages.at[i], map[p->stages.at[i].tensor])) {
            return false;
        }
    }
    return true;
}

/* ---- passes ---- */

static lang_ref new_ref(const lang_rewriter *w, lang_ref r) {
    return r != 0 ? w->memo.at[r] : 0;
}

static bool same_node(const lang_rewriter *w, lang_ref r, const uint32_t *map) {
    const lang_node *a = lang_at(w->from, r), *b = lang_at(w->to, w->memo.at[r]);
    bool same = a->kind == b->kind && a->type == b->type && a->code == b->code && a->has_fill == b->has_fill &&
                a->flat == b->flat && a->count == b->count && a->value.u == b->value.u &&
                b->index == (a->kind == LANG_READ ? map[a->index] : a->index);
    for (uint32_t k = 0; same && k < a->count; k++) {
        same = lang_operand(w->to, w->memo.at[r], k) == new_ref(w, lang_operand(w->from, r, k));
    }
    return same;
}

/* Every node that was read became one like it. How they are numbered does not count: a pass goes from a root through operands in
 * their order, and asks of what it reads for nothing else. */
static bool same_nodes(const lang_rewriter *w, const uint32_t *map) {
    bool same = true;
    for (lang_ref r = 1; same && r < w->memo.n; r++) {
        same = w->memo.at[r] == 0 || same_node(w, r, map);
    }
    return same;
}

/* Another pass over what w made would make nothing else of it. */
static bool is_settled(const lang_rewriter *w, const uint32_t *map) {
    const lang_program *p = w->from, *q = w->to;
    bool same = same_nodes(w, map);
    for (uint32_t t = 0; same && t < p->tensors.n; t++) {
        const lang_tensor *a = &p->tensors.at[t], *b = &q->tensors.at[map[t]];
        for (uint32_t k = 0; same && k < a->rank; k++) {
            same = a->dim[k] == b->dim[k] && b->extent[k] == new_ref(w, a->extent[k]);
        }
    }
    for (size_t i = 0; same && i < p->stages.n; i++) {
        for (uint32_t k = 0; same && k < p->stages.at[i].var_count; k++) {
            same = p->stages.at[i].vars[k].bound == q->stages.at[i].vars[k].bound;
        }
    }
    return same;
}

/* One pass; *ranges: of p, then of what is returned. NULL: the rules grew the program over its limit. */
static lang_program *pass(base_arena *scratch, const lang_program *p, lang_ranges **ranges, bool *settled) {
    uint32_t *map = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    lang_program *q = lang_like(scratch, p, NULL, map);
    simplifier x = {.q = q, .old = *ranges, .now = lang_ranges_new(scratch, q)};
    lang_rewriter w = {.from = p, .to = q, .replace = simplify_node, .user = &x};
    share_contents(x.old, x.now, p, true);
    q->node_limit = p->node_limit < 2 * p->nodes.n + 4096 ? 2 * p->nodes.n + 4096 : p->node_limit;
    bool fine = copy_all(scratch, &w, map);
    q->node_limit = p->node_limit;
    *settled = fine && is_settled(&w, map);
    *ranges = lang_ranges_new(scratch, q);
    share_contents(x.old, *ranges, q, false);
    return fine ? q : NULL;
}

lang_program *lang_simplify(base_arena *arena, const lang_program *p) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lang_ranges *ranges = lang_ranges_new(scratch, p);
    const lang_program *best = p;
    bool settled = false;
    for (uint32_t k = 0; k < PASSES && !settled; k++) {
        const lang_program *q = pass(scratch, best, &ranges, &settled);
        if (q == NULL) {
            break;
        }
        best = q;
    }
    /* a last copy leaves behind the nodes that rules tried and dropped */
    uint32_t *map = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    lang_program *q = lang_like(arena, best, NULL, map);
    lang_rewriter w = {.from = best, .to = q};
    q->node_limit = 2 * best->nodes.n + 4096;
    bool fine = copy_all(scratch, &w, map);
    assert(fine);
    (void)fine;
    q->node_limit = p->node_limit;
    base_arena_free(scratch);
    return q;
}
