/* speak_index.c - reads as moves of whole tensors: pad, slice, reshape, transpose, as the index maps say.
 *
 * Takes a read and the digits of the variables around it. Gives the tensor with one extent for each digit. Two digits in one index
 * are an extent taken apart; a digit in two indices, or an index that follows from data, is not said.
 */
#include <string.h>

#include "passes/speak.h"

enum { MOST_CUTS = 16 };

int64_t speak_extents(const lang_digit *at, uint32_t n) {
    int64_t product = 1;
    for (uint32_t k = 0; k < n; k++) {
        product *= at[k].extent;
    }
    return product;
}

/* ---- frames ---- */

/* Where a variable's digits end: 1, ..., its extent, ascending, each a multiple of the one before. */
typedef struct cuts {
    uint32_t n;
    int64_t at[MOST_CUTS];
} cuts;

static bool cut(cuts *c, int64_t at) {
    uint32_t i = 0;
    while (i < c->n && c->at[i] < at) {
        i++;
    }
    if (i < c->n && c->at[i] == at) {
        return true;
    }
    if (c->n == MOST_CUTS) {
        return false;
    }
    memmove(&c->at[i + 1], &c->at[i], (c->n - i) * sizeof c->at[0]);
    c->at[i] = at;
    c->n++;
    return true;
}

static bool cut_by(cuts *of, const lang_digit *d) {
    return cut(&of[d->var], d->low) && cut(&of[d->var], d->low * d->extent);
}

static void cut_by_form(const lang_digits *form, cuts *of) {
    for (uint32_t i = 0; i < form->n; i++) {
        (void)cut_by(of, &form->term[i].digit);
    }
}

/* Of a read some of whose indices data decide, the others are values, too. */
static void cut_by_read(speaker *s, lang_ref read, cuts *of) {
    lang_digits index[LANG_MAX_RANK];
    const lang_node *n = lang_at(s->p, read);
    if (lang_digits_read(s->p, read, index)) {
        for (uint32_t k = 0; k < s->p->tensors.at[n->index].rank; k++) {
            cut_by_form(&index[k], of);
        }
        return;
    }
    for (uint32_t k = 0; k < n->count - (n->has_fill ? 1u : 0u); k++) {
        if (lang_digits_of(s->p, lang_operand(s->p, read, k), &index[0])) {
            cut_by_form(&index[0], of);
        }
    }
}

static void cut_under(speaker *s, const lang_ref *roots, size_t n, cuts *of) {
    bool *seen = BASE_NEWS(s->scratch, bool, s->p->nodes.n);
    for (size_t i = 0; i < n; i++) {
        seen[roots[i]] = true;
    }
    for (lang_ref r = (lang_ref)s->p->nodes.n - 1; r > 0; r--) { /* operands have smaller numbers */
        const lang_node *e = lang_at(s->p, r);
        if (!seen[r] || e->kind == LANG_REDUCE) {
            continue;
        }
        if (e->kind == LANG_READ) {
            cut_by_read(s, r, of);
        }
        for (uint32_t k = 0; k < e->count; k++) {
            seen[lang_operand(s->p, r, k)] = true;
        }
    }
}

bool speak_frame(speaker *s, const lang_ref *e, size_t n, const uint32_t *vars, uint32_t var_count,
                 const speak_axes *also, speak_axes *out) {
    cuts *of = BASE_NEWS(s->scratch, cuts, LANG_MAX_VARS);
    cut_under(s, e, n, of);
    for (uint32_t k = 0; also != NULL && k < also->n; k++) {
        (void)cut_by(of, &also->at[k]);
    }
    *out = (speak_axes){.tensor = IR_NONE};
    for (uint32_t v = 0; v < var_count; v++) {
        cuts *c = &of[vars[v]];
        const int64_t extent = s->s->vars[vars[v]].bound;
        if (extent < 1 || !cut(c, 1) || !cut(c, extent)) {
            return false;
        }
        for (uint32_t i = c->n; i-- > 1;) {
            if (c->at[i] % c->at[i - 1] != 0 || out->n == SPEAK_DIGITS) {
                return false;
            }
            out->at[out->n++] = (lang_digit){vars[v], c->at[i - 1], c->at[i] / c->at[i - 1]};
        }
        if (c->n == 1 && out->n < SPEAK_DIGITS) {
            out->at[out->n++] = (lang_digit){vars[v], 1, 1};
        }
    }
    return true;
}

bool speak_factors(const speak_axes *frame, const lang_digits *form, int64_t *factor) {
    memset(factor, 0, SPEAK_DIGITS * sizeof *factor);
    for (uint32_t i = 0; i < form->n; i++) {
        const lang_digit *d = &form->term[i].digit;
        int64_t covered = 1;
        for (uint32_t k = 0; k < frame->n; k++) {
            const lang_digit *f = &frame->at[k];
            if (f->var == d->var && f->low >= d->low && f->low * f->extent <= d->low * d->extent) {
                factor[k] += form->term[i].factor * (f->low / d->low);
                covered *= f->extent;
            }
        }
        if (covered != d->extent) {
            return false;
        }
    }
    return true;
}

/* ---- reads ---- */

/* One extent of the tensor: its digits from the largest factor on. */
typedef struct extent_map {
    uint32_t n;
    uint32_t digit[SPEAK_DIGITS]; /* of the frame */
    int64_t factor[SPEAK_DIGITS];
    int64_t constant, extent;
    uint32_t unit; /* a digit of extent 1 that stands here, or IR_NONE */
} extent_map;

static bool map_extent(const speak_axes *frame, const lang_digits *form, int64_t extent, bool *used, extent_map *out) {
    int64_t factor[SPEAK_DIGITS];
    *out = (extent_map){.constant = form->constant, .extent = extent, .unit = IR_NONE};
    if (!speak_factors(frame, form, factor)) {
        return false;
    }
    for (uint32_t k = 0; k < frame->n; k++) {
        if (factor[k] == 0) {
            continue;
        }
        if (frame->at[k].extent == 1) {
            out->unit = out->unit == IR_NONE && !used[k] ? k : out->unit;
            continue;
        }
        uint32_t i = out->n++;
        for (; i > 0 && out->factor[i - 1] < factor[k]; i--) {
            out->factor[i] = out->factor[i - 1];
            out->digit[i] = out->digit[i - 1];
        }
        out->factor[i] = factor[k];
        out->digit[i] = k;
        if (used[k]) {
            return false;
        }
        used[k] = true;
    }
    if (out->unit != IR_NONE && out->n == 0) {
        used[out->unit] = true;
    }
    return true;
}

/* Of one digit what is outside is padded: the extent and the constant become those with the padding. */
static bool pad_extent(const speak_axes *frame, extent_map *m, int64_t *before, int64_t *after) {
    *before = *after = 0;
    int64_t lo = m->constant, hi = m->constant;
    for (uint32_t i = 0; i < m->n; i++) {
        *(m->factor[i] < 0 ? &lo : &hi) += m->factor[i] * (frame->at[m->digit[i]].extent - 1);
    }
    *before = lo < 0 ? -lo : 0;
    *after = hi >= m->extent ? hi - m->extent + 1 : 0;
    m->constant += *before;
    m->extent += *before + *after;
    return true;
}

typedef struct reader {
    const speak_axes *frame;
    uint32_t rank; /* after extents are taken apart */
    int64_t dims[LANG_MAX_RANK], begin[LANG_MAX_RANK], strides[LANG_MAX_RANK], extents[LANG_MAX_RANK];
    lang_digit digit[LANG_MAX_RANK];
} reader;

static bool add_extent(reader *r, int64_t dim, int64_t begin, int64_t stride, const lang_digit *d) {
    static const lang_digit none = {IR_NONE, 1, 1};
    if (r->rank == IR_MAX_RANK) {
        return false;
    }
    r->dims[r->rank] = dim;
    r->begin[r->rank] = begin;
    r->strides[r->rank] = stride;
    r->digit[r->rank] = d != NULL ? *d : none;
    r->extents[r->rank] = d != NULL ? d->extent : 1;
    r->rank++;
    return true;
}

/* An extent as the radices of its digits: each begins somewhere inside its radix. */
static bool take_apart(reader *r, const extent_map *m) {
    const lang_digit *at = r->frame->at;
    if (m->n == 0) {
        const lang_digit *unit = m->unit != IR_NONE ? &at[m->unit] : NULL;
        return add_extent(r, m->extent, m->constant, 1, unit);
    }
    if (m->n == 1) {
        return add_extent(r, m->extent, m->constant, m->factor[0], &at[m->digit[0]]);
    }
    int64_t above = m->extent, rest = m->constant;
    if (m->factor[m->n - 1] < 1 || rest < 0) {
        return false;
    }
    for (uint32_t i = 0; i < m->n; i++) {
        const int64_t begin = rest / m->factor[i];
        rest %= m->factor[i];
        if (above % m->factor[i] != 0 || begin + at[m->digit[i]].extent > above / m->factor[i] ||
            !add_extent(r, above / m->factor[i], begin, 1, &at[m->digit[i]])) {
            return false;
        }
        above = m->factor[i];
    }
    return above == 1 || add_extent(r, above, rest, 1, NULL);
}

/* Where nothing is said of what is outside it is not used: then it may be 0. */
static bool constant_fill(const speaker *s, lang_ref read, base_value *v) {
    const lang_node *n = lang_at(s->p, read);
    const lang_node *fill = n->has_fill ? lang_at(s->p, lang_operand(s->p, read, n->count - 1)) : NULL;
    if (fill != NULL && fill->kind == LANG_CONST) {
        *v = fill->value;
    } else if (base_type_is_float((base_type)n->type)) {
        v->f = 0;
    }
    return fill == NULL || fill->kind == LANG_CONST;
}

bool speak_read(speaker *s, lang_ref read, const speak_axes *frame, speak_axes *out) {
    const lang_node *n = lang_at(s->p, read);
    const lang_tensor *t = &s->p->tensors.at[n->index];
    lang_digits form[LANG_MAX_RANK];
    int64_t before[LANG_MAX_RANK], after[LANG_MAX_RANK];
    bool used[SPEAK_DIGITS] = {false}, pads = false;
    reader r = {.frame = frame};
    speak_source source;
    uint32_t extents = 0;
    if (t->rank > IR_MAX_RANK || !lang_digits_read(s->p, read, form) || !speak_source_of(s, read, &source)) {
        return false;
    }
    uint32_t from = source.tensor;
    for (uint32_t axis = 0; axis < t->rank; axis++) {
        extent_map m;
        const uint32_t k = extents;
        if (axis == source.round_axis) {
            continue;
        }
        extents++;
        if (!map_extent(frame, &form[axis], t->dim[axis], used, &m) || !pad_extent(frame, &m, &before[k], &after[k]) ||
            !take_apart(&r, &m)) {
            return false;
        }
        pads = pads || before[k] != 0 || after[k] != 0;
    }
    base_value fill = {.i = 0};
    if (pads && read != s->instead_of && (n->flat || source.before || !constant_fill(s, read, &fill))) {
        return false;
    }
    from = pads ? speak_pad(s, from, before, after, fill) : from;
    from = speak_slice(s, speak_reshape(s, from, r.rank, r.dims), r.begin, r.strides, r.extents);
    *out = (speak_axes){.tensor = from, .n = r.rank};
    memcpy(out->at, r.digit, r.rank * sizeof r.digit[0]);
    return from != IR_NONE;
}

/* ---- order ---- */

static bool same_digit(const lang_digit *a, const lang_digit *b) {
    return a->var == b->var && a->low == b->low && a->extent == b->extent;
}

/* Digits that stay neighbours become one; only of one variable, unless there would be too many extents. */
static uint32_t join(const lang_digit *at, const uint32_t *place, uint32_t n, bool any, int64_t *dims,
                     uint32_t *where) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < n; k++) {
        const bool goes_on = k > 0 && place[k] == place[k - 1] + 1 && (any || at[k].var == at[k - 1].var);
        if (goes_on) {
            dims[count - 1] *= at[k].extent;
        } else {
            dims[count] = at[k].extent;
            where[count++] = place[k];
        }
    }
    return count;
}

uint32_t speak_arrange(speaker *s, const speak_axes *from, const lang_digit *to, uint32_t n, uint32_t rank,
                       const int64_t *dims) {
    lang_digit kept[SPEAK_DIGITS];
    uint32_t place[SPEAK_DIGITS], where[SPEAK_DIGITS], count = 0;
    int64_t own[SPEAK_DIGITS], perm[SPEAK_DIGITS];
    for (uint32_t k = 0; k < from->n; k++) {
        uint32_t at = 0;
        while (at < n && !same_digit(&from->at[k], &to[at])) {
            at++;
        }
        if (at < n) {
            kept[count] = from->at[k];
            place[count++] = at;
        } else if (from->at[k].extent != 1) {
            return IR_NONE;
        }
    }
    /* places among those that are there */
    uint32_t ordered[SPEAK_DIGITS];
    for (uint32_t k = 0; k < count; k++) {
        ordered[k] = 0;
        for (uint32_t i = 0; i < count; i++) {
            ordered[k] += place[i] < place[k];
        }
    }
    uint32_t joined = join(kept, ordered, count, false, own, where);
    if (joined > IR_MAX_RANK) {
        joined = join(kept, ordered, count, true, own, where);
    }
    if (joined > IR_MAX_RANK) {
        return IR_NONE;
    }
    for (uint32_t k = 0; k < joined; k++) {
        uint32_t at = 0;
        for (uint32_t i = 0; i < joined; i++) {
            at += where[i] < where[k];
        }
        perm[at] = k;
    }
    const uint32_t t = speak_reshape(s, from->tensor, joined, own);
    return speak_reshape(s, speak_transpose(s, t, joined, perm), rank, dims);
}

uint32_t speak_to_frame(speaker *s, const speak_axes *from, const speak_axes *frame) {
    int64_t dims[SPEAK_DIGITS];
    for (uint32_t k = 0; k < frame->n; k++) {
        dims[k] = 1;
        for (uint32_t i = 0; i < from->n; i++) {
            dims[k] = same_digit(&from->at[i], &frame->at[k]) ? frame->at[k].extent : dims[k];
        }
    }
    return speak_arrange(s, from, frame->at, frame->n, frame->n, dims);
}

bool speak_tap_pads(const speak_tap *t, int64_t *before, int64_t *after) {
    const int64_t last = (t->out.extent - 1) * t->stride + (t->in.extent - 1) * t->dilation + t->offset;
    *before = -t->offset;
    *after = last >= t->extent ? last - t->extent + 1 : 0;
    return *before >= 0;
}
