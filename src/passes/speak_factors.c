/* speak_factors.c - sums of products of integers on reals, exactly.
 *
 * Takes the factors of a sum of products: expressions of one read. Gives their values as reals, and says whether sums of their
 * products are exact there: integers up to 2^24 are floats, up to 2^53 doubles, in whatever order they are added.
 */
#include <math.h>

#include "passes/speak.h"

#define MOST_IN_FLOAT 16777216.0
#define MOST_IN_DOUBLE 9007199254740992.0

lang_ref speak_factor_read(const speaker *s, lang_ref e) {
    const lang_node *n = lang_at(s->p, e);
    lang_ref found = 0;
    if (n->kind == LANG_READ) {
        return e;
    }
    for (uint32_t k = 0; n->kind == LANG_WORD_ && k < n->count; k++) {
        const lang_ref part = lang_operand(s->p, e, k);
        if (lang_at(s->p, part)->free == 0) {
            continue;
        }
        const lang_ref own = speak_factor_read(s, part);
        if (own == 0 || (found != 0 && found != own)) {
            return 0;
        }
        found = own;
    }
    return found;
}

/* What the expression is where the read has that value. false: it is not known. */
static bool value_at(const speaker *s, lang_ref e, lang_ref read, base_value fill, base_value *out) {
    const lang_node *n = lang_at(s->p, e);
    base_value args[3];
    if (e == read || n->kind == LANG_CONST) {
        *out = e == read ? fill : n->value;
        return true;
    }
    if (n->kind != LANG_WORD_ || n->count > 3) {
        return false;
    }
    for (uint32_t k = 0; k < n->count; k++) {
        if (!value_at(s, lang_operand(s->p, e, k), read, fill, &args[k])) {
            return false;
        }
    }
    const base_type type = (base_type)lang_at(s->p, lang_operand(s->p, e, 0))->type;
    *out = n->code == LANG_CAST ? lang_convert((base_type)n->type, type, args[0])
                                : lang_word_value((lang_word)n->code, (base_type)n->type, type, args);
    return true;
}

bool speak_factor_is_zero_outside(const speaker *s, lang_ref e, lang_ref read) {
    const lang_node *n = lang_at(s->p, read);
    const lang_node *fill = n->has_fill ? lang_at(s->p, lang_operand(s->p, read, n->count - 1)) : NULL;
    base_value v;
    if (fill == NULL || fill->kind != LANG_CONST || !value_at(s, e, read, fill->value, &v)) {
        return false;
    }
    return base_type_is_float((base_type)lang_at(s->p, e)->type) ? v.f == 0.0 : v.i == 0;
}

/* ---- ranges ---- */

static double most_of(lang_ranges *ranges, const lang_stage *stage, lang_ref e) {
    const lang_range r = lang_range_of(ranges, stage, e);
    return !r.known ? INFINITY : fmax(fabs((double)r.lo), fabs((double)r.hi));
}

speak_exactness speak_exact_sums(speaker *s, lang_ref a, lang_ref b, int64_t products) {
    lang_ranges *ranges = lang_ranges_new(s->scratch, s->p);
    const double one = most_of(ranges, s->s, a), other = most_of(ranges, s->s, b), sum = one * other * (double)products;
    speak_exactness is = {.type = BASE_NONE, .one = one};
    if (one <= MOST_IN_FLOAT && other <= MOST_IN_FLOAT) {
        is.type = sum <= MOST_IN_FLOAT ? BASE_F32 : BASE_F64;
        is.known = sum <= MOST_IN_FLOAT || sum <= MOST_IN_DOUBLE;
    }
    return is;
}

bool speak_exact_with(const speaker *s, double most, uint32_t weights, bool rows) {
    const ir_tensor *w = &s->g->tensors.at[weights];
    uint64_t n = 0;
    double top = 0;
    if (w->data == NULL || w->shape.rank == 0 || !ir_shape_elements(&w->shape, &n)) {
        return false;
    }
    const uint64_t lists = (uint64_t)w->shape.dim[rows ? 0 : w->shape.rank - 1], length = lists > 0 ? n / lists : 0;
    for (uint64_t i = 0; i < lists; i++) {
        double sum = 0;
        for (uint64_t k = 0; k < length; k++) {
            sum += fabs(base_load(w->type, w->data, rows ? i * length + k : k * lists + i).f);
        }
        top = sum > top ? sum : top;
    }
    return top * most <= MOST_IN_FLOAT;
}

/* ---- values ---- */

uint32_t speak_factor_real(speak_frame_values *f, lang_ref e, lang_ref read, uint32_t value, base_type type) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    if (e == read) {
        return speak_cast(s, value, type);
    }
    if (n->kind == LANG_CONST) {
        return speak_number(s, type, base_type_is_float((base_type)n->type) ? n->value.f : (double)n->value.i);
    }
    if (n->kind == LANG_WORD_ && n->code == LANG_CAST) {
        lang_ranges *ranges = lang_ranges_new(s->scratch, s->p);
        const lang_ref from = lang_operand(s->p, e, 0);
        const lang_range a = lang_range_of(ranges, s->s, e), b = lang_range_of(ranges, s->s, from);
        if (a.known && b.known && a.lo == b.lo && a.hi == b.hi) {
            return speak_factor_real(f, from, read, value, type);
        }
    }
    if (n->kind == LANG_WORD_ && (n->code == LANG_ADD || n->code == LANG_SUB)) {
        lang_ranges *ranges = lang_ranges_new(s->scratch, s->p);
        if (most_of(ranges, s->s, e) <= MOST_IN_FLOAT && !lang_may_wrap(ranges, s->s, e)) {
            uint32_t v[2];
            for (uint32_t k = 0; k < 2; k++) {
                v[k] = speak_factor_real(f, lang_operand(s->p, e, k), read, value, type);
            }
            return speak_word(s, n->code == LANG_ADD ? "add" : "sub", v, 2, BASE_NONE);
        }
    }
    if (n->free == 0 && n->kind == LANG_READ) {
        return speak_cast(s, speak_value(f, e), type);
    }
    return IR_NONE;
}
