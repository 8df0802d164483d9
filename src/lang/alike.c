/* alike.c - do two programs compute the same, but for the order of extents?
 *
 * Takes two programs and how the extents of their inputs correspond. Gives yes with the order of the output's extents, or no. Both
 * are gone through side by side; a variable of one becomes a variable of the other where they first meet, and
 * must be met so again. Indices are compared as sums of digits, so that a program that takes shapes apart and puts them
 * together is compared with one that does not.
 */
#include <string.h>

#include "lang/lang.h"

enum { MOST_DEPTH = 200, BUDGET = 20000 };

/* A stage of each, being compared: of each variable 0 (not met), or the other's variable + 1. */
typedef struct pair {
    const lang_stage *a, *b;
    uint8_t to[LANG_MAX_VARS], from[LANG_MAX_VARS];
} pair;

typedef struct stage_pair {
    uint32_t a, b; /* tensors */
    uint32_t order[LANG_MAX_RANK];
} stage_pair;

typedef struct comparer {
    base_arena *scratch;
    const lang_program *a, *b;
    const uint32_t *const *inputs;
    BASE_VEC(stage_pair) known;
    unsigned left, depth;
} comparer;

static bool same(comparer *c, pair *v, lang_ref x, lang_ref y);

/* The factor that is not 1. */
static lang_ref without_ones(const lang_program *p, lang_ref e) {
    for (;;) {
        const lang_node *n = lang_at(p, e);
        if (n->kind != LANG_WORD_ || n->code != LANG_MUL || !base_type_is_float((base_type)n->type)) {
            return e;
        }
        const lang_node *x = lang_at(p, lang_operand(p, e, 0)), *y = lang_at(p, lang_operand(p, e, 1));
        if (y->kind == LANG_CONST && y->value.f == 1.0) {
            e = lang_operand(p, e, 0);
        } else if (x->kind == LANG_CONST && x->value.f == 1.0) {
            e = lang_operand(p, e, 1);
        } else {
            return e;
        }
    }
}

static bool meet(pair *v, uint32_t x, uint32_t y) {
    if (v->to[x] == 0 && v->from[y] == 0 && v->a->vars[x].bound == v->b->vars[y].bound) {
        v->to[x] = (uint8_t)(y + 1);
        v->from[y] = (uint8_t)(x + 1);
    }
    return v->to[x] == y + 1 && v->from[y] == x + 1;
}

/* Digits of extent 1 are 0. */
static bool counts(const lang_term *t) {
    return t->digit.extent > 1;
}

/* Variables that have met first, so that of equal digits the right ones meet. */
static bool same_forms(pair *v, const lang_digits *x, const lang_digits *y) {
    bool done[LANG_MAX_TERMS] = {false}, used[LANG_MAX_TERMS] = {false};
    if (x->constant != y->constant) {
        return false;
    }
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < x->n; i++) {
            const lang_term *t = &x->term[i];
            if (done[i] || !counts(t) || (round == 0 && v->to[t->digit.var] == 0)) {
                continue;
            }
            for (uint32_t k = 0; k < y->n && !done[i]; k++) {
                const lang_term *u = &y->term[k];
                if (!used[k] && counts(u) && u->factor == t->factor && u->digit.low == t->digit.low &&
                    u->digit.extent == t->digit.extent && meet(v, t->digit.var, u->digit.var)) {
                    done[i] = used[k] = true;
                }
            }
            if (!done[i]) {
                return false;
            }
        }
    }
    for (uint32_t k = 0; k < y->n; k++) {
        if (counts(&y->term[k]) && !used[k]) {
            return false;
        }
    }
    return true;
}

static const lang_stage *stage_of(const lang_program *p, uint32_t tensor) {
    return &p->stages.at[p->tensors.at[tensor].stage];
}

/* What has not met by the end has no effect: it meets what is left of its extent. */
static bool meet_rest(pair *v) {
    for (uint32_t k = 0; k < v->a->rank; k++) {
        for (uint32_t j = 0; j < v->b->rank && v->to[k] == 0; j++) {
            (void)(v->from[j] == 0 && meet(v, k, j));
        }
        if (v->to[k] == 0 || v->to[k] > v->b->rank) {
            return false;
        }
    }
    return true;
}

/* Stages of both; the order of their extents is found, or, where they were met before, is what it was. */
static bool same_stages(comparer *c, uint32_t x, uint32_t y, uint32_t *order) {
    const lang_stage *s = stage_of(c->a, x), *t = stage_of(c->b, y);
    for (size_t i = 0; i < c->known.n; i++) {
        if (c->known.at[i].a == x && c->known.at[i].b == y) {
            memcpy(order, c->known.at[i].order, sizeof c->known.at[i].order);
            return true;
        }
    }
    pair v = {.a = s, .b = t};
    if (s->rank != t->rank || s->rec >= 0 || t->rec >= 0 || c->a->tensors.at[x].type != c->b->tensors.at[y].type ||
        ++c->depth > MOST_DEPTH || !same(c, &v, s->body, t->body) || !meet_rest(&v)) {
        return false;
    }
    c->depth--;
    stage_pair *known = BASE_PUSH(c->scratch, &c->known);
    *known = (stage_pair){.a = x, .b = y};
    for (uint32_t k = 0; k < s->rank; k++) {
        known->order[k] = order[k] = v.to[k] - 1u;
    }
    return true;
}

static bool same_fill(comparer *c, pair *v, lang_ref x, lang_ref y) {
    const lang_node *n = lang_at(c->a, x), *m = lang_at(c->b, y);
    return n->has_fill == m->has_fill &&
           (!n->has_fill || same(c, v, lang_operand(c->a, x, n->count - 1), lang_operand(c->b, y, m->count - 1)));
}

static bool same_constants(const lang_tensor *t, const lang_tensor *u) {
    uint64_t n = 1, bytes = 0;
    for (uint32_t k = 0; k < t->rank && k < u->rank; k++) {
        n *= (uint64_t)t->dim[k];
        if (t->dim[k] != u->dim[k]) {
            return false;
        }
    }
    return t->rank == u->rank && base_type_bytes(t->type, n, &bytes) && memcmp(t->data, u->data, (size_t)bytes) == 0;
}

/* Which extent of u is extent k of t. */
static bool find_order(comparer *c, uint32_t x, uint32_t y, uint32_t *order) {
    const lang_tensor *t = &c->a->tensors.at[x], *u = &c->b->tensors.at[y];
    for (uint32_t k = 0; k < LANG_MAX_RANK; k++) {
        order[k] = k;
    }
    if (t->kind == LANG_INPUT) {
        memcpy(order, c->inputs[t->input], t->rank * sizeof *order);
        return t->input == u->input;
    }
    return t->kind == LANG_STAGE ? same_stages(c, x, y, order) : same_constants(t, u);
}

/* Indices that follow from data. */
static bool same_computed(comparer *c, pair *v, lang_ref x, lang_ref y, const uint32_t *order) {
    const lang_node *n = lang_at(c->a, x), *m = lang_at(c->b, y);
    const lang_tensor *t = &c->a->tensors.at[n->index], *u = &c->b->tensors.at[m->index];
    bool fine = n->flat == m->flat && t->rank == u->rank;
    for (uint32_t k = 0; fine && k < t->rank; k++) {
        fine = t->dim[k] == u->dim[order[k]] &&
               (n->flat ? order[k] == k : same(c, v, lang_operand(c->a, x, k), lang_operand(c->b, y, order[k])));
    }
    return fine && (!n->flat || same(c, v, lang_operand(c->a, x, 0), lang_operand(c->b, y, 0)));
}

static bool same_reads(comparer *c, pair *v, lang_ref x, lang_ref y) {
    const uint32_t at = lang_at(c->a, x)->index, other = lang_at(c->b, y)->index;
    const lang_tensor *t = &c->a->tensors.at[at], *u = &c->b->tensors.at[other];
    uint32_t order[LANG_MAX_RANK], met = 0;
    lang_digits i[LANG_MAX_RANK], j[LANG_MAX_RANK];
    if (t->kind != u->kind || t->type != u->type || t->rank > u->rank || !same_fill(c, v, x, y) ||
        !find_order(c, at, other, order)) {
        return false;
    }
    if (!lang_digits_read(c->a, x, i) || !lang_digits_read(c->b, y, j)) {
        return same_computed(c, v, x, y, order);
    }
    for (uint32_t k = 0; k < t->rank; k++) {
        met |= UINT32_C(1) << order[k];
        if (t->dim[k] != u->dim[order[k]] || !same_forms(v, &i[k], &j[order[k]])) {
            return false;
        }
    }
    for (uint32_t k = 0; k < u->rank; k++) {
        if ((met >> k & 1) == 0 && u->dim[k] != 1) {
            return false;
        }
    }
    return true;
}

static bool extent_of(const lang_program *p, lang_ref variable, int64_t *product) {
    const lang_node *e = lang_at(p, lang_operand(p, variable, 0));
    return e->kind == LANG_CONST && !__builtin_mul_overflow(*product, e->value.i, product);
}

/* Reduced variables meet inside, those of the one with those of the other; what has not met only counts. */
static bool same_reductions(comparer *c, pair *v, lang_ref x, lang_ref y) {
    const lang_node *n = lang_at(c->a, x), *m = lang_at(c->b, y);
    const uint32_t vars = n->count - 3, others = m->count - 3;
    int64_t domain = 1, other = 1;
    uint64_t own = 0;
    for (uint32_t k = 0; k < 3; k++) {
        const lang_ref p = lang_operand(c->a, x, vars + k), q = lang_operand(c->b, y, others + k);
        if ((p == 0) != (q == 0)) {
            return false;
        }
    }
    static const uint32_t parts[] = {1, 0, 2}; /* the body first: it says which variables meet */
    for (uint32_t k = 0; k < 3; k++) {
        const lang_ref p = lang_operand(c->a, x, vars + parts[k]);
        if (p != 0 && !same(c, v, p, lang_operand(c->b, y, others + parts[k]))) {
            return false;
        }
    }
    for (uint32_t k = 0; k < others; k++) {
        own |= UINT64_C(1) << lang_at(c->b, lang_operand(c->b, y, k))->index;
        if (!extent_of(c->b, lang_operand(c->b, y, k), &other)) {
            return false;
        }
    }
    for (uint32_t k = 0; k < vars; k++) {
        const uint32_t var = lang_at(c->a, lang_operand(c->a, x, k))->index;
        if (!extent_of(c->a, lang_operand(c->a, x, k), &domain) ||
            (v->to[var] != 0 && (own >> (v->to[var] - 1) & 1) == 0)) {
            return false;
        }
    }
    return domain == other && n->code != LANG_FIRST && n->code != LANG_LAST;
}

static bool may_swap(const lang_node *n) {
    switch ((lang_word)n->code) {
    case LANG_ADD:
    case LANG_MUL:
    case LANG_MIN:
    case LANG_MAX:
    case LANG_AND:
    case LANG_OR:
    case LANG_EQ:
        return true;
    default:
        return false;
    }
}

static bool same_operands(comparer *c, pair *v, lang_ref x, lang_ref y) {
    const lang_node *n = lang_at(c->a, x);
    const pair before = *v;
    bool is = true;
    for (uint32_t k = 0; is && k < n->count; k++) {
        is = same(c, v, lang_operand(c->a, x, k), lang_operand(c->b, y, k));
    }
    if (!is && may_swap(n)) {
        *v = before;
        is = same(c, v, lang_operand(c->a, x, 0), lang_operand(c->b, y, 1)) &&
             same(c, v, lang_operand(c->a, x, 1), lang_operand(c->b, y, 0));
    }
    return is;
}

static bool same(comparer *c, pair *v, lang_ref x, lang_ref y) {
    x = without_ones(c->a, x);
    y = without_ones(c->b, y);
    const lang_node *n = lang_at(c->a, x), *m = lang_at(c->b, y);
    lang_digits i, j;
    if (n->type != m->type || c->left == 0) {
        return false;
    }
    c->left--;
    if (n->free != 0 && n->kind != LANG_READ && n->kind != LANG_REDUCE && lang_digits_of(c->a, x, &i) &&
        lang_digits_of(c->b, y, &j)) {
        return same_forms(v, &i, &j);
    }
    if (n->kind != m->kind || n->code != m->code) {
        return false;
    }
    switch ((lang_kind)n->kind) {
    case LANG_CONST:
        return n->value.u == m->value.u;
    case LANG_VAR:
        return false; /* of an extent that is not constant */
    case LANG_READ:
        return same_reads(c, v, x, y);
    case LANG_REDUCE:
        return same_reductions(c, v, x, y);
    default:
        return n->count == m->count && same_operands(c, v, x, y);
    }
}

bool lang_alike(base_arena *scratch, const lang_program *a, const lang_program *b, const uint32_t *const *inputs,
                uint32_t (*output)[LANG_MAX_RANK]) {
    comparer c = {.scratch = scratch, .a = a, .b = b, .inputs = inputs, .left = BUDGET};
    bool alike = a->outputs.n == b->outputs.n && a->inputs.n == b->inputs.n && !a->external && !b->external;
    for (size_t j = 0; alike && j < a->outputs.n; j++) {
        const uint32_t x = a->outputs.at[j], y = b->outputs.at[j];
        alike = a->tensors.at[x].kind == LANG_STAGE && b->tensors.at[y].kind == LANG_STAGE &&
                same_stages(&c, x, y, output[j]);
    }
    return alike;
}
