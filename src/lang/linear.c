/* linear.c - linear forms over atoms, with the proof that wrapping arithmetic agrees with them.
 *
 * Takes nodes whose operands have ranges. Gives constant + sum of multiples of atoms. The arithmetic of a type of w
 * bits is exact modulo 2^w, so a form whose range fits the type is the value, even where a partial sum wraps; below a
 * conversion that does not hold, and there every node must be proved not to wrap.
 */
#include "lang/linear.h"

#define BUDGET 96u /* nodes looked at for one form */

typedef struct entry {
    lang_ref e;
    int64_t k;
    bool inner; /* below a conversion: may not wrap at all */
} entry;

static bool add_term(lang_linear *l, lang_ref atom, int64_t k) {
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->term[i].atom == atom) {
            if (__builtin_add_overflow(l->term[i].k, k, &l->term[i].k)) {
                return false;
            }
            if (l->term[i].k == 0) {
                l->term[i] = l->term[--l->n];
            }
            return true;
        }
    }
    if (l->n == LANG_LINEAR_TERMS) {
        return false;
    }
    l->term[l->n].atom = atom;
    l->term[l->n++].k = k;
    return true;
}

static bool add_constant(lang_linear *l, int64_t k, int64_t v) {
    int64_t t;
    return !__builtin_mul_overflow(k, v, &t) && !__builtin_add_overflow(l->constant, t, &l->constant);
}

/* The constant factor of node n, when it is a multiple of its operand 0 by one. */
static bool constant_factor(const lang_program *p, lang_ref e, int64_t *factor) {
    const lang_node *n = lang_at(p, e);
    if (n->code == LANG_NEG) {
        *factor = -1;
        return true;
    }
    const lang_node *c = lang_at(p, lang_operand(p, e, 1));
    if (c->kind != LANG_CONST) {
        return false;
    }
    if (n->code == LANG_SHL) {
        bool small = c->value.u < 62 && c->value.u < base_type_bits((base_type)n->type);
        *factor = small ? (int64_t)1 << c->value.u : 0;
        return small;
    }
    *factor = c->value.i;
    return n->type != BASE_U64 || c->value.i >= 0;
}

typedef struct work {
    entry stack[BUDGET];
    uint32_t n, left;
} work;

static bool push(work *w, lang_ref e, int64_t k, bool inner) {
    if (w->left == 0 || w->n == BUDGET) {
        return false;
    }
    w->left--;
    w->stack[w->n++] = (entry){e, k, inner};
    return true;
}

/* Takes x apart, or makes it an atom. */
static bool open(lang_ranges *r, lang_ref root, entry x, work *w, lang_linear *l) {
    const lang_program *p = lang_ranges_program(r);
    const lang_node *n = lang_at(p, x.e);
    bool wraps;
    lang_range own = lang_ranges_peek(r, x.e, &wraps);
    if (n->kind == LANG_CONST) {
        return (n->type != BASE_U64 || n->value.i >= 0) && add_constant(l, x.k, n->value.i);
    }
    bool plain = n->kind == LANG_WORD_ && (x.e == root || !x.inner || !wraps);
    if (plain && (n->code == LANG_ADD || n->code == LANG_SUB)) {
        int64_t k = x.k;
        l->pure = l->pure && (x.e == root || !wraps);
        return (n->code == LANG_ADD || !__builtin_sub_overflow(0, k, &k)) &&
               push(w, lang_operand(p, x.e, 1), k, x.inner) && push(w, lang_operand(p, x.e, 0), x.k, x.inner);
    }
    if (plain && (n->code == LANG_MUL || n->code == LANG_NEG || n->code == LANG_SHL)) {
        int64_t k;
        if (constant_factor(p, x.e, &k)) {
            l->pure = l->pure && (x.e == root || !wraps);
            return !__builtin_mul_overflow(x.k, k, &k) && (k == 0 || push(w, lang_operand(p, x.e, 0), k, x.inner));
        }
    }
    if (plain && n->code == LANG_CAST) {
        lang_ref a = lang_operand(p, x.e, 0);
        bool ignored;
        lang_range in = lang_ranges_peek(r, a, &ignored), type = lang_type_range((base_type)n->type);
        bool keeps = in.known && in.lo >= (type.known ? type.lo : 0) && (!type.known || in.hi <= type.hi);
        if (keeps && base_type_is_int((base_type)lang_at(p, a)->type)) {
            return push(w, a, x.k, true);
        }
    }
    return own.known && add_term(l, x.e, x.k);
}

bool lang_linear_bound(lang_ranges *r, lang_linear *l) {
    lang_range sum = {l->constant, l->constant, true};
    for (uint32_t i = 0; i < l->n; i++) {
        bool ignored;
        lang_range a = lang_ranges_peek(r, l->term[i].atom, &ignored);
        int64_t x, y;
        if (!a.known || __builtin_mul_overflow(a.lo, l->term[i].k, &x) ||
            __builtin_mul_overflow(a.hi, l->term[i].k, &y) || __builtin_add_overflow(sum.lo, x < y ? x : y, &sum.lo) ||
            __builtin_add_overflow(sum.hi, x < y ? y : x, &sum.hi)) {
            return false;
        }
    }
    l->range = sum;
    return true;
}

bool lang_linear_of(lang_ranges *r, lang_ref e, lang_linear *out) {
    work w = {.left = BUDGET};
    base_type type = (base_type)lang_at(lang_ranges_program(r), e)->type;
    *out = (lang_linear){.pure = true};
    if (!base_type_is_int(type) || !push(&w, e, 1, false)) {
        return false;
    }
    while (w.n > 0) {
        entry x = w.stack[--w.n];
        if (!open(r, e, x, &w, out)) {
            return false;
        }
    }
    lang_range fits = lang_type_range(type);
    return lang_linear_bound(r, out) && out->range.lo >= (fits.known ? fits.lo : 0) &&
           (!fits.known || out->range.hi <= fits.hi);
}

bool lang_linear_difference(lang_ranges *r, const lang_linear *a, const lang_linear *b, lang_linear *out) {
    *out = *a;
    if (__builtin_sub_overflow(a->constant, b->constant, &out->constant)) {
        return false;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        int64_t k;
        if (__builtin_sub_overflow(0, b->term[i].k, &k) || !add_term(out, b->term[i].atom, k)) {
            return false;
        }
    }
    return lang_linear_bound(r, out);
}
