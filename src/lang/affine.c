/* affine.c - affine forms of index expressions, the parts of a guard, and the bound checks of reads.
 *
 * Takes nodes. Gives constant + sum of coefficient * variable, proved for wrapping arithmetic from the variables'
 * extents alone. Uses no recursion but through conversions, and looks at a bounded number of nodes.
 */
#include "lang/analysis.h"
#include "lang/linear.h"

#define BUDGET 4096u
#define CONVERSIONS 8u
#define STACK 256u
#define LARGEST_EXTENT ((int64_t)1 << 48) /* of a variable whose extent is not constant; no loop runs longer */

typedef struct collect {
    const lang_program *p;
    uint32_t left;
    int64_t extent[LANG_MAX_VARS];
} collect;

static bool add_product(int64_t *sum, int64_t a, int64_t b) {
    int64_t t;
    return !__builtin_mul_overflow(a, b, &t) && !__builtin_add_overflow(*sum, t, sum);
}

static bool add_scaled(lang_affine *to, int64_t k, const lang_affine *a) {
    bool fine = add_product(&to->constant, k, a->constant);
    for (uint32_t v = 0; fine && v < LANG_MAX_VARS; v++) {
        fine = a->coefficient[v] == 0 || add_product(&to->coefficient[v], k, a->coefficient[v]);
    }
    return fine;
}

static void set_vars(lang_affine *a) {
    a->vars = 0;
    for (uint32_t v = 0; v < LANG_MAX_VARS; v++) {
        a->vars |= a->coefficient[v] != 0 ? UINT64_C(1) << v : 0;
    }
}

/* Does the form stay within integer type t for all values of its variables? */
static bool fits(const collect *c, const lang_affine *a, base_type t) {
    int64_t lo = a->constant, hi = a->constant, least;
    uint64_t most;
    for (uint32_t v = 0; v < LANG_MAX_VARS; v++) {
        int64_t k = a->coefficient[v];
        if (k != 0 && !add_product(k < 0 ? &lo : &hi, k, c->extent[v] - 1)) {
            return false;
        }
    }
    base_type_range(t, &least, &most);
    return lo >= least && (hi < 0 || (uint64_t)hi <= most);
}

typedef struct part {
    lang_ref e;
    int64_t k;
} part;

static bool collect_into(collect *c, lang_ref root, uint32_t conversions, lang_affine *out);

static bool add_variable(collect *c, const lang_node *n, lang_ref e, int64_t k, lang_affine *out) {
    const lang_node *extent = lang_at(c->p, lang_operand(c->p, e, 0));
    int64_t bound = extent->kind == LANG_CONST && extent->value.i < LARGEST_EXTENT ? extent->value.i : LARGEST_EXTENT;
    bound = bound < 1 ? 1 : bound;
    c->extent[n->index] = bound > c->extent[n->index] ? bound : c->extent[n->index];
    return add_product(&out->coefficient[n->index], k, 1);
}

/* The constant that node e multiplies its operand 0 by. */
static bool factor_of(const lang_program *p, lang_ref e, int64_t *k) {
    const lang_node *n = lang_at(p, e);
    const lang_node *c = n->count == 2 ? lang_at(p, lang_operand(p, e, 1)) : NULL;
    if (n->code == LANG_NEG) {
        *k = -1;
        return true;
    }
    if (c == NULL || c->kind != LANG_CONST) {
        return false;
    }
    if (n->code == LANG_SHL) {
        *k = c->value.u < 62 ? (int64_t)1 << c->value.u : 0;
        return c->value.u < 62 && c->value.u < base_type_bits((base_type)n->type);
    }
    *k = c->value.i;
    return n->code == LANG_MUL;
}

static bool collect_conversion(collect *c, lang_ref e, int64_t k, uint32_t conversions, lang_affine *out) {
    lang_ref a = lang_operand(c->p, e, 0);
    lang_affine inner;
    if (conversions == 0 || !collect_into(c, a, conversions - 1, &inner)) {
        return false;
    }
    return fits(c, &inner, (base_type)lang_at(c->p, e)->type) && add_scaled(out, k, &inner);
}

/* The form of root, proved to be its value: exact modulo 2^width of its type, and in that type's range. */
static bool collect_into(collect *c, lang_ref root, uint32_t conversions, lang_affine *out) {
    const lang_program *p = c->p;
    base_type type = (base_type)lang_at(p, root)->type;
    part stack[STACK] = {{root, 1}};
    uint32_t depth = 1;
    *out = (lang_affine){0};
    if (!base_type_is_int(type)) {
        return false;
    }
    while (depth > 0) {
        part x = stack[--depth];
        const lang_node *n = lang_at(p, x.e);
        int64_t k;
        if (c->left == 0 || depth + 2 > STACK) {
            return false;
        }
        c->left--;
        if (n->kind == LANG_CONST) {
            if (!add_product(&out->constant, x.k, n->value.i) || (type == BASE_U64 && n->value.i < 0)) {
                return false;
            }
        } else if (n->kind == LANG_VAR) {
            if (!add_variable(c, n, x.e, x.k, out)) {
                return false;
            }
        } else if (n->kind != LANG_WORD_) {
            return false;
        } else if (n->code == LANG_ADD || n->code == LANG_SUB) {
            if (__builtin_mul_overflow(x.k, n->code == LANG_ADD ? 1 : -1, &k)) {
                return false;
            }
            stack[depth++] = (part){lang_operand(p, x.e, 0), x.k};
            stack[depth++] = (part){lang_operand(p, x.e, 1), k};
        } else if (n->code == LANG_CAST) {
            if (!collect_conversion(c, x.e, x.k, conversions, out)) {
                return false;
            }
        } else if (factor_of(p, x.e, &k)) {
            if (__builtin_mul_overflow(x.k, k, &k)) {
                return false;
            }
            stack[depth++] = (part){lang_operand(p, x.e, 0), k};
        } else {
            return false;
        }
    }
    set_vars(out);
    return fits(c, out, type);
}

bool lang_affine_of(const lang_program *p, lang_ref e, lang_affine *out) {
    collect c = {.p = p, .left = BUDGET};
    return collect_into(&c, e, CONVERSIONS, out);
}

bool lang_affine_read(const lang_program *p, lang_ref read, lang_affine *out) {
    const lang_node *n = lang_at(p, read);
    const lang_tensor *t = &p->tensors.at[n->index];
    int64_t stride = 1;
    if (n->flat) {
        return lang_affine_of(p, lang_operand(p, read, 0), out);
    }
    *out = (lang_affine){0};
    for (uint32_t k = t->rank; k-- > 0;) {
        lang_affine index;
        if (t->extent[k] != 0 || !lang_affine_of(p, lang_operand(p, read, k), &index) ||
            !add_scaled(out, stride, &index) || __builtin_mul_overflow(stride, t->dim[k], &stride)) {
            return false;
        }
    }
    set_vars(out);
    return true;
}

/* ---- conditions ---- */

size_t lang_conjuncts(const lang_program *p, lang_ref guard, lang_ref *out, size_t max) {
    size_t n = 0;
    if (guard == 0 || max == 0) {
        return 0;
    }
    out[n++] = guard;
    /* each && is replaced by its sides in place; what finds no room stays whole */
    for (size_t k = 0; k < n;) {
        const lang_node *c = lang_at(p, out[k]);
        if (c->kind != LANG_WORD_ || c->code != LANG_AND || n == max) {
            k++;
            continue;
        }
        for (size_t i = n++; i > k + 1; i--) {
            out[i] = out[i - 1];
        }
        out[k + 1] = lang_operand(p, out[k], 1);
        out[k] = lang_operand(p, out[k], 0);
    }
    return n;
}

/* ---- bound checks ---- */

static bool check_index(lang_ranges *r, const lang_stage *s, lang_ref index, int64_t extent, lang_bound_check *out,
                        bool *needed) {
    const lang_program *p = lang_ranges_program(r);
    lang_range range = lang_range_of(r, s, index);
    bool low = !range.known || range.lo < 0, high = !range.known || range.hi >= extent;
    *needed = low || high;
    if (!*needed) {
        return true;
    }
    *out = (lang_bound_check){.extent = extent, .low = low, .high = high};
    return lang_affine_of(p, index, &out->index);
}

bool lang_read_checks(lang_ranges *r, const lang_stage *s, lang_ref read, lang_bound_check *out, size_t *n) {
    const lang_program *p = lang_ranges_program(r);
    const lang_node *x = lang_at(p, read);
    const lang_tensor *t = &p->tensors.at[x->index];
    size_t room = *n;
    int64_t total = 1;
    *n = 0;
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->extent[k] != 0 || __builtin_mul_overflow(total, t->dim[k], &total)) {
            return false;
        }
    }
    for (uint32_t k = 0; k < (x->flat ? 1 : t->rank); k++) {
        lang_bound_check check;
        bool needed;
        if (!check_index(r, s, lang_operand(p, read, k), x->flat ? total : t->dim[k], &check, &needed) ||
            (needed && *n == room)) {
            return false;
        }
        if (needed) {
            out[(*n)++] = check;
        }
    }
    return true;
}
