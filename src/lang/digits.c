/* digits.c - index expressions as sums of digits of variables.
 *
 * Takes nodes. Gives constant + sum of factor * digit: what is affine, and quotients and remainders where the divisor parts
 * the digits cleanly, as in the indices of reshapes and groups. Looks at a bounded number of nodes; changes nothing.
 */
#include "lang/analysis.h"

enum { MOST_DEPTH = 64, BUDGET = 4096 };

bool lang_digits_range(const lang_digits *a, int64_t *lo, int64_t *hi) {
    *lo = *hi = a->constant;
    for (uint32_t i = 0; i < a->n; i++) {
        int64_t reach;
        int64_t *side = a->term[i].factor < 0 ? lo : hi;
        if (__builtin_mul_overflow(a->term[i].factor, a->term[i].digit.extent - 1, &reach) ||
            __builtin_add_overflow(*side, reach, side)) {
            return false;
        }
    }
    return true;
}

static void drop(lang_digits *a, uint32_t i) {
    for (a->n--; i < a->n; i++) {
        a->term[i] = a->term[i + 1];
    }
}

static bool comes_before(const lang_digit *a, const lang_digit *b) {
    return a->var != b->var ? a->var < b->var : a->low > b->low;
}

/* Neighbours that are two parts of one digit become that digit. */
static void join(lang_digits *a) {
    for (uint32_t i = 0; i + 1 < a->n;) {
        lang_term *high = &a->term[i], *low = &a->term[i + 1];
        int64_t step;
        if (high->digit.var == low->digit.var && !__builtin_mul_overflow(low->digit.low, low->digit.extent, &step) &&
            high->digit.low == step && !__builtin_mul_overflow(low->factor, low->digit.extent, &step) &&
            high->factor == step && !__builtin_mul_overflow(high->digit.extent, low->digit.extent, &step)) {
            low->digit.extent = step;
            drop(a, i);
            i -= i > 0;
        } else {
            i++;
        }
    }
}

static bool add_term(lang_digits *to, const lang_digit *d, int64_t factor) {
    uint32_t i = 0;
    while (i < to->n && comes_before(&to->term[i].digit, d)) {
        i++;
    }
    if (i < to->n && to->term[i].digit.var == d->var && to->term[i].digit.low == d->low) {
        if (to->term[i].digit.extent != d->extent ||
            __builtin_add_overflow(to->term[i].factor, factor, &to->term[i].factor)) {
            return false;
        }
        if (to->term[i].factor == 0) {
            drop(to, i);
        }
        return true;
    }
    if (to->n == LANG_MAX_TERMS) {
        return false;
    }
    for (uint32_t k = to->n++; k > i; k--) {
        to->term[k] = to->term[k - 1];
    }
    to->term[i] = (lang_term){*d, factor};
    return true;
}

/* A digit's lower part, of that extent, and the upper one. false: it does not divide so. */
static bool part_at(const lang_digit *d, int64_t low_extent, lang_digit *high, lang_digit *low) {
    *low = (lang_digit){d->var, d->low, low_extent};
    *high = (lang_digit){d->var, 0, d->extent / low_extent};
    return low_extent > 0 && d->extent % low_extent == 0 && !__builtin_mul_overflow(d->low, low_extent, &high->low);
}

bool lang_digits_add(lang_digits *to, int64_t factor, const lang_digits *a) {
    int64_t c;
    if (__builtin_mul_overflow(factor, a->constant, &c) || __builtin_add_overflow(to->constant, c, &to->constant)) {
        return false;
    }
    for (uint32_t i = 0; factor != 0 && i < a->n; i++) {
        if (__builtin_mul_overflow(factor, a->term[i].factor, &c) || !add_term(to, &a->term[i].digit, c)) {
            return false;
        }
    }
    join(to);
    return true;
}

static int64_t floor_of(int64_t a, int64_t k) {
    return a / k - (a % k < 0);
}

/* Quotient and remainder by k > 0. */
static bool divide(const lang_digits *a, int64_t k, lang_digits *quotient, lang_digits *rest) {
    *quotient = (lang_digits){.constant = floor_of(a->constant, k)};
    *rest = (lang_digits){.constant = a->constant - floor_of(a->constant, k) * k};
    for (uint32_t i = 0; i < a->n; i++) {
        const lang_term *t = &a->term[i];
        lang_digit high, low;
        int64_t reach;
        if (t->factor % k == 0) {
            if (!add_term(quotient, &t->digit, t->factor / k)) {
                return false;
            }
        } else if (!__builtin_mul_overflow(t->factor, t->digit.extent, &reach) && t->factor > 0 && reach > k &&
                   k % t->factor == 0 && part_at(&t->digit, k / t->factor, &high, &low)) {
            if (!add_term(quotient, &high, 1) || !add_term(rest, &low, t->factor)) {
                return false;
            }
        } else if (!add_term(rest, &t->digit, t->factor)) {
            return false;
        }
    }
    int64_t lo, hi;
    join(quotient);
    join(rest);
    return lang_digits_range(rest, &lo, &hi) && lo >= 0 && hi < k;
}

static bool fits_type(const lang_digits *a, base_type type) {
    int64_t lo, hi, least;
    uint64_t most;
    base_type_range(type, &least, &most);
    return lang_digits_range(a, &lo, &hi) && lo >= least && (hi < 0 || (uint64_t)hi <= most);
}

static bool form_of(const lang_program *p, lang_ref e, unsigned depth, unsigned *left, lang_digits *out);

static bool form_of_word(const lang_program *p, lang_ref e, unsigned depth, unsigned *left, lang_digits *out) {
    const lang_node *n = lang_at(p, e);
    lang_digits a, b = {0}, other;
    if (n->count < 1 || n->count > 2 || !form_of(p, lang_operand(p, e, 0), depth + 1, left, &a) ||
        (n->count == 2 && !form_of(p, lang_operand(p, e, 1), depth + 1, left, &b))) {
        return false;
    }
    *out = (lang_digits){0};
    switch ((lang_word)n->code) {
    case LANG_ADD:
    case LANG_SUB:
        return lang_digits_add(out, 1, &a) && lang_digits_add(out, n->code == LANG_ADD ? 1 : -1, &b);
    case LANG_NEG:
        return lang_digits_add(out, -1, &a);
    case LANG_MUL:
        return b.n == 0 ? lang_digits_add(out, b.constant, &a) : a.n == 0 && lang_digits_add(out, a.constant, &b);
    case LANG_CAST:
        *out = a;
        return true;
    case LANG_DIV:
        return b.n == 0 && b.constant > 0 && divide(&a, b.constant, out, &other);
    case LANG_MOD:
        return b.n == 0 && b.constant > 0 && divide(&a, b.constant, &other, out);
    default:
        return false;
    }
}

static bool form_of(const lang_program *p, lang_ref e, unsigned depth, unsigned *left, lang_digits *out) {
    const lang_node *n = lang_at(p, e);
    *out = (lang_digits){0};
    if (depth > MOST_DEPTH || *left == 0 || !base_type_is_int((base_type)n->type)) {
        return false;
    }
    --*left;
    if (n->kind == LANG_CONST) {
        out->constant = n->value.i;
        return n->type != BASE_U64 || n->value.i >= 0;
    }
    if (n->kind == LANG_VAR) {
        const lang_node *extent = lang_at(p, lang_operand(p, e, 0));
        lang_digit d = {n->index, 1, extent->value.i};
        return extent->kind == LANG_CONST && extent->value.i > 0 && add_term(out, &d, 1);
    }
    return n->kind == LANG_WORD_ && form_of_word(p, e, depth, left, out) && fits_type(out, (base_type)n->type);
}

bool lang_digits_of(const lang_program *p, lang_ref e, lang_digits *out) {
    unsigned left = BUDGET;
    return form_of(p, e, 0, &left, out);
}

bool lang_digits_address(const lang_program *p, lang_ref read, lang_digits *out) {
    const lang_node *n = lang_at(p, read);
    const lang_tensor *t = &p->tensors.at[n->index];
    int64_t stride = 1;
    if (n->flat) {
        return lang_digits_of(p, lang_operand(p, read, 0), out);
    }
    *out = (lang_digits){0};
    for (uint32_t k = t->rank; k-- > 0;) {
        lang_digits index;
        if (t->extent[k] != 0 || !lang_digits_of(p, lang_operand(p, read, k), &index) ||
            !lang_digits_add(out, stride, &index) || __builtin_mul_overflow(stride, t->dim[k], &stride)) {
            return false;
        }
    }
    return true;
}

bool lang_digits_read(const lang_program *p, lang_ref read, lang_digits *index) {
    const lang_node *n = lang_at(p, read);
    const lang_tensor *t = &p->tensors.at[n->index];
    lang_digits rest, quotient;
    if (!n->flat) {
        for (uint32_t k = 0; k < t->rank; k++) {
            if (t->extent[k] != 0 || !lang_digits_of(p, lang_operand(p, read, k), &index[k])) {
                return false;
            }
        }
        return true;
    }
    if (!lang_digits_of(p, lang_operand(p, read, 0), &rest)) {
        return false;
    }
    for (uint32_t k = t->rank; k-- > 0;) {
        if (t->extent[k] != 0 || t->dim[k] < 1 || !divide(&rest, t->dim[k], &quotient, &index[k])) {
            return false;
        }
        rest = quotient;
    }
    int64_t lo, hi; /* digits of extent 1 may be left */
    return lang_digits_range(&rest, &lo, &hi) && lo == 0 && hi == 0;
}
