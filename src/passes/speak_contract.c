/* speak_contract.c - sums of products: convolutions and matrix products, by the roles of their digits.
 *
 * Takes a sum of a product of two reads. Gives the operator of the vocabulary whose roles they are: with an index that mixes an
 * output digit and a reduced one a convolution over those extents, else a product of matrices. Operands are brought into its order of
 * extents, which costs nothing where they are constants.
 */
#include <string.h>

#include "passes/speak.h"

enum { MOST_TAPS = 3, MOST_GROUPS = 512 };

typedef struct digit_list {
    uint32_t n;
    lang_digit at[SPEAK_DIGITS];
} digit_list;

typedef struct contraction {
    speak_frame_values *f;
    speaker *s;
    lang_ref sum, a, b, addend;
    lang_ref whole_a, whole_b; /* the factors: a and b, or made of them */
    bool integers;             /* computed on reals, exactly */
    speak_exactness exact;
    uint32_t image;   /* a's tensor */
    speak_axes frame; /* of outer and reduced digits */
    bool reduced[SPEAK_DIGITS], in_a[SPEAK_DIGITS], in_b[SPEAK_DIGITS];
    digit_list batch, taps, groups, m,
        k; /* of a convolution: images; window places; groups; filters; channels of a group */
    speak_tap tap[MOST_TAPS];
    uint32_t tap_count;
    uint32_t axes[IR_MAX_RANK]; /* of a's tensor: images, windows, channels */
    uint32_t axis_count, batch_axes, channel_axes;
} contraction;

static void push(digit_list *to, const lang_digit *d) {
    to->at[to->n++] = *d;
}

static void append(digit_list *to, const digit_list *from) {
    for (uint32_t k = 0; k < from->n; k++) {
        push(to, &from->at[k]);
    }
}

static bool occurs(const contraction *c, lang_ref read, bool *in) {
    lang_digits index[LANG_MAX_RANK];
    int64_t factor[SPEAK_DIGITS];
    if (!lang_digits_read(c->s->p, read, index)) {
        return false;
    }
    memset(in, 0, SPEAK_DIGITS);
    for (uint32_t k = 0; k < c->s->p->tensors.at[lang_at(c->s->p, read)->index].rank; k++) {
        if (!speak_factors(&c->frame, &index[k], factor)) {
            return false;
        }
        for (uint32_t i = 0; i < c->frame.n; i++) {
            in[i] = in[i] || factor[i] != 0;
        }
    }
    return true;
}

/* Does an index of a mix an output digit that b has not with a reduced one? */
static bool mixes(const contraction *c, lang_ref read, const bool *other) {
    const lang_tensor *t = &c->s->p->tensors.at[lang_at(c->s->p, read)->index];
    lang_digits index[LANG_MAX_RANK];
    int64_t factor[SPEAK_DIGITS];
    bool any = false;
    if (lang_at(c->s->p, read)->flat || !lang_digits_read(c->s->p, read, index)) {
        return false;
    }
    for (uint32_t k = 0; k < t->rank; k++) {
        bool outer = false, reduced = false;
        if (speak_factors(&c->frame, &index[k], factor)) {
            for (uint32_t i = 0; i < c->frame.n; i++) {
                outer = outer || (factor[i] != 0 && !c->reduced[i] && !other[i]);
                reduced = reduced || (factor[i] != 0 && c->reduced[i]);
            }
        }
        any = any || (outer && reduced);
    }
    return any;
}

static bool prepare(contraction *c, lang_ref sum) {
    speaker *s = c->s;
    const lang_node *n = lang_at(s->p, sum);
    const lang_ref body = lang_operand(s->p, sum, n->count - 2);
    const lang_node *product = lang_at(s->p, body);
    uint32_t vars[LANG_MAX_VARS], outer = 0;
    if (lang_operand(s->p, sum, n->count - 3) != 0 || lang_operand(s->p, sum, n->count - 1) != 0 ||
        product->kind != LANG_WORD_ || product->code != LANG_MUL) {
        return false;
    }
    c->whole_a = lang_operand(s->p, body, 0);
    c->whole_b = lang_operand(s->p, body, 1);
    c->a = speak_factor_read(s, c->whole_a);
    c->b = speak_factor_read(s, c->whole_b);
    if (c->a == c->b || (!c->integers && (c->a != c->whole_a || c->b != c->whole_b))) {
        return false;
    }
    for (uint32_t k = 0; k < c->f->frame.n; k++) {
        if (k == 0 || c->f->frame.at[k].var != c->f->frame.at[k - 1].var) {
            vars[outer++] = c->f->frame.at[k].var;
        }
    }
    for (uint32_t k = 0; k < n->count - 3; k++) {
        vars[outer + k] = lang_at(s->p, lang_operand(s->p, sum, k))->index;
    }
    if (!speak_frame(s, &body, 1, vars, outer + n->count - 3, &c->f->frame, &c->frame)) {
        return false;
    }
    for (uint32_t i = 0; i < c->frame.n; i++) {
        for (uint32_t k = 0; k < n->count - 3; k++) {
            c->reduced[i] = c->reduced[i] || c->frame.at[i].var == vars[outer + k];
        }
    }
    return true;
}

static bool both_occur(contraction *c) {
    return c->a != 0 && c->b != 0 && occurs(c, c->a, c->in_a) && occurs(c, c->b, c->in_b);
}

/* How many products a sum has. */
static int64_t products(const contraction *c) {
    int64_t n = 1;
    for (uint32_t i = 0; i < c->frame.n; i++) {
        n *= c->reduced[i] ? c->frame.at[i].extent : 1;
    }
    return n;
}

static void swap(contraction *c) {
    const lang_ref r = c->a, whole = c->whole_a;
    bool in[SPEAK_DIGITS];
    c->a = c->b;
    c->b = r;
    c->whole_a = c->whole_b;
    c->whole_b = whole;
    memcpy(in, c->in_a, sizeof in);
    memcpy(c->in_a, c->in_b, sizeof in);
    memcpy(c->in_b, in, sizeof in);
}

/* The result, with its digits in this order, in the frame of the sum. */
static uint32_t finish(contraction *c, uint32_t t, const digit_list *digits) {
    speak_axes from = {.tensor = t, .n = digits->n};
    memcpy(from.at, digits->at, sizeof digits->at);
    if (t == IR_NONE) {
        return IR_NONE;
    }
    /* the frame's digits may be coarser */
    lang_digit fine[SPEAK_DIGITS];
    int64_t dims[SPEAK_DIGITS];
    uint32_t n = 0;
    const speak_axes *outer = &c->f->frame;
    for (uint32_t i = 0; i < c->frame.n; i++) {
        if (!c->reduced[i]) {
            fine[n++] = c->frame.at[i];
        }
    }
    for (uint32_t k = 0; k < outer->n; k++) {
        dims[k] = 1;
        for (uint32_t i = 0; i < digits->n; i++) {
            const lang_digit *d = &digits->at[i], *o = &outer->at[k];
            dims[k] *= d->var == o->var && d->low >= o->low && d->low < o->low * o->extent ? d->extent : 1;
        }
        if (dims[k] != 1 && dims[k] != outer->at[k].extent) {
            return IR_NONE;
        }
    }
    return speak_arrange(c->s, &from, fine, n, outer->n, dims);
}

/* ---- convolutions ---- */

/* The digits of a's index along one extent, from the largest factor on. */
static bool sort_extent(contraction *c, uint32_t axis, const lang_digits *form) {
    int64_t factor[SPEAK_DIGITS];
    digit_list groups = {0}, channels = {0};
    uint32_t outer = 0, tap = IR_NONE, image = IR_NONE;
    const lang_tensor *t = &c->s->p->tensors.at[lang_at(c->s->p, c->a)->index];
    if (!speak_factors(&c->frame, form, factor)) {
        return false;
    }
    for (uint32_t i = 0; i < c->frame.n; i++) {
        if (factor[i] == 0) {
            continue;
        }
        if (!c->reduced[i] && !c->in_b[i]) {
            outer++;
            image = i;
        } else if (!c->reduced[i]) {
            push(&groups, &c->frame.at[i]);
        } else if (c->in_b[i]) {
            push(&channels, &c->frame.at[i]);
            tap = i;
        } else {
            return false;
        }
    }
    if (outer == 1 && groups.n == 0 && channels.n == 1) {
        speak_tap w = {.axis = axis, .out = c->frame.at[image], .in = c->frame.at[tap], .extent = t->dim[axis]};
        w.stride = factor[image];
        w.dilation = factor[tap];
        w.offset = form->constant;
        if (w.dilation < 0) {
            w.backward = true;
            w.offset += (w.in.extent - 1) * w.dilation;
            w.dilation = -w.dilation;
        }
        if (c->tap_count == MOST_TAPS || w.stride < 1 || w.dilation < 1) {
            return false;
        }
        c->tap[c->tap_count++] = w;
        return true;
    }
    if (form->constant != 0) {
        return false;
    }
    if (outer == 1 && groups.n == 0 && channels.n == 0) {
        push(&c->batch, &c->frame.at[image]);
        return factor[image] == 1 && c->frame.at[image].extent == t->dim[axis];
    }
    /* g * extent of c + c, or either alone */
    if (outer != 0 || groups.n > 1 || channels.n > 1) {
        return false;
    }
    append(&c->groups, &groups);
    append(&c->k, &channels);
    return speak_extents(groups.at, groups.n) * speak_extents(channels.at, channels.n) == t->dim[axis] ||
           groups.n + channels.n == 0;
}

/* Which extent of a is what; a must not be flat. */
static bool sort_out(contraction *c) {
    const lang_tensor *t = &c->s->p->tensors.at[lang_at(c->s->p, c->a)->index];
    lang_digits index[LANG_MAX_RANK];
    uint32_t kind[LANG_MAX_RANK]; /* 0 images, 1 windows, 2 channels */
    if (t->rank > IR_MAX_RANK || !lang_digits_read(c->s->p, c->a, index)) {
        return false;
    }
    for (uint32_t k = 0; k < t->rank; k++) {
        const uint32_t batch = c->batch.n, taps = c->tap_count;
        if (!sort_extent(c, k, &index[k])) {
            return false;
        }
        kind[k] = c->batch.n > batch ? 0 : c->tap_count > taps ? 1 : 2;
        if (kind[k] == 2 && t->dim[k] == 1 && index[k].n == 0) {
            kind[k] = 0; /* an extent of 1 of nothing */
        }
    }
    for (uint32_t what = 0; what < 3; what++) {
        for (uint32_t k = 0; k < t->rank; k++) {
            if (kind[k] == what) {
                c->axes[c->axis_count++] = k;
                c->batch_axes += what == 0;
                c->channel_axes += what == 2;
            }
        }
    }
    for (uint32_t i = 0; i < c->frame.n; i++) {
        if (!c->in_a[i] && c->in_b[i] && !c->reduced[i]) {
            push(&c->m, &c->frame.at[i]);
        } else if ((c->reduced[i] && !(c->in_a[i] && c->in_b[i]) && c->frame.at[i].extent > 1) ||
                   (!c->in_a[i] && !c->in_b[i] && c->frame.at[i].extent > 1)) {
            return false; /* summed over nothing of the one, or repeated */
        }
    }
    return c->tap_count > 0;
}

/* How an operator of the vocabulary has its extents: windows in front of the channels, or behind. */
typedef struct convolution {
    const char *word;
    uint32_t least, most; /* extents of the window */
    bool channels_last;
    enum { FILTERS_FIRST, FILTERS_LAST, DEPTHWISE, CHANNELS_FIRST } weights;
    bool groups;
    bool transposed; /* of elements that stand apart, its taps backward */
} convolution;

static const convolution convolutions[] = {{"depthwise_conv2d", 1, 2, true, DEPTHWISE, true, false},
                                           {"conv2d", 1, 2, true, FILTERS_FIRST, true, false},
                                           {"conv3d", 3, 3, true, FILTERS_LAST, false, false},
                                           {"conv", 1, 3, false, FILTERS_FIRST, true, false}};
static const convolution turned_2d = {"transpose_conv", 1, 2, true, FILTERS_FIRST, false, true};
static const convolution turned_any = {"conv_transpose", 1, 3, false, CHANNELS_FIRST, true, true};

/* The part of the extent that windows need: what is in front of the first one, or would make one more behind the last, is left
 * out. false: nothing is left. */
static bool needed(const speak_tap *t, int64_t *begin, int64_t *extent) {
    int64_t before = 0, after = 0;
    (void)speak_tap_pads(t, &before, &after);
    const int64_t end = (t->out.extent - 1) * t->stride + (t->in.extent - 1) * t->dilation + t->offset + 1;
    *begin = before < 0 ? -before : 0;
    *extent = (t->extent - end >= t->stride ? end : t->extent) - *begin;
    return *extent > 0;
}

/* An image of a's extents, but of those of its windows: in the operator's order; windows of fewer extents than it has get extents of
 * 1. */
static uint32_t image_of(contraction *c, const convolution *o, uint32_t windows, uint32_t image,
                         const int64_t *extents) {
    speaker *s = c->s;
    int64_t perm[IR_MAX_RANK], dims[IR_MAX_RANK];
    const uint32_t first = c->batch_axes, last = c->batch_axes + c->tap_count;
    uint32_t n = 0, at = 0;
    for (uint32_t k = 0; k < first; k++) {
        perm[n++] = c->axes[k];
    }
    for (uint32_t k = last; !o->channels_last && k < c->axis_count; k++) {
        perm[n++] = c->axes[k];
    }
    for (uint32_t k = first; k < last; k++) {
        perm[n++] = c->axes[k];
    }
    for (uint32_t k = last; o->channels_last && k < c->axis_count; k++) {
        perm[n++] = c->axes[k];
    }
    const int64_t channels = speak_extents(c->groups.at, c->groups.n) * speak_extents(c->k.at, c->k.n);
    dims[at++] = speak_extents(c->batch.at, c->batch.n);
    if (!o->channels_last) {
        dims[at++] = channels;
    }
    for (uint32_t k = c->tap_count; k < windows; k++) {
        dims[at++] = 1;
    }
    for (uint32_t k = 0; k < c->tap_count; k++) {
        dims[at++] = extents[c->tap[k].axis];
    }
    if (o->channels_last) {
        dims[at++] = channels;
    }
    return speak_reshape(s, speak_transpose(s, image, n, perm), at, dims);
}

/* What windows need of the image, in the operator's order. */
static uint32_t needed_image(contraction *c, const convolution *o, uint32_t windows) {
    const lang_tensor *t = &c->s->p->tensors.at[lang_at(c->s->p, c->a)->index];
    const uint32_t image = image_of(c, o, windows, c->image, t->dim), first = o->channels_last ? 1 : 2;
    int64_t begin[IR_MAX_RANK] = {0}, strides[IR_MAX_RANK], extents[IR_MAX_RANK];
    if (image == IR_NONE) {
        return IR_NONE;
    }
    const ir_shape shape = *speak_shape(c->s, image);
    for (uint32_t k = 0; k < shape.rank; k++) {
        strides[k] = 1;
        extents[k] = shape.dim[k];
    }
    for (uint32_t k = 0; k < c->tap_count; k++) {
        const uint32_t axis = first + windows - c->tap_count + k;
        if (!needed(&c->tap[k], &begin[axis], &extents[axis])) {
            return IR_NONE;
        }
    }
    return speak_slice(c->s, image, begin, strides, extents);
}

/* The weights, whose window's extents begin there, with those in the other order that go backward. */
static uint32_t turned(const contraction *c, uint32_t t, uint32_t first) {
    int64_t begin[IR_MAX_RANK] = {0}, strides[IR_MAX_RANK], extents[IR_MAX_RANK];
    if (t == IR_NONE) {
        return IR_NONE;
    }
    const ir_shape shape = *speak_shape(c->s, t);
    for (uint32_t k = 0; k < shape.rank; k++) {
        const bool back = k >= first && k < first + c->tap_count && c->tap[k - first].backward;
        begin[k] = back ? shape.dim[k] - 1 : 0;
        strides[k] = back ? -1 : 1;
        extents[k] = shape.dim[k];
    }
    return speak_slice(c->s, t, begin, strides, extents);
}

static uint32_t weights_of(contraction *c, const convolution *o, uint32_t windows) {
    speaker *s = c->s;
    digit_list order = {0}, taps = {0};
    speak_axes w;
    int64_t dims[IR_MAX_RANK];
    const int64_t filters = speak_extents(c->groups.at, c->groups.n) * speak_extents(c->m.at, c->m.n);
    const int64_t channels = speak_extents(c->k.at, c->k.n);
    uint32_t at = 0;
    for (uint32_t k = 0; k < c->tap_count; k++) {
        push(&taps, &c->tap[k].in);
    }
    if (o->weights == CHANNELS_FIRST) {
        append(&order, &c->groups);
        append(&order, &c->k);
        append(&order, &c->m);
        append(&order, &taps);
    } else if (o->weights == FILTERS_FIRST) {
        append(&order, &c->groups);
        append(&order, &c->m);
        if (!o->channels_last) {
            append(&order, &c->k);
        }
        append(&order, &taps);
        if (o->channels_last) {
            append(&order, &c->k);
        }
    } else {
        append(&order, &taps);
        append(&order, &c->k);
        append(&order, &c->groups);
        append(&order, &c->m);
    }
    const int64_t groups = speak_extents(c->groups.at, c->groups.n);
    dims[at++] = o->weights == FILTERS_FIRST ? filters : o->weights == CHANNELS_FIRST ? groups * channels : 1;
    at -= o->weights == FILTERS_LAST;
    if (!o->channels_last) {
        dims[at++] = o->weights == CHANNELS_FIRST ? filters / groups : channels;
    }
    for (uint32_t k = c->tap_count; k < windows; k++) {
        dims[at++] = 1;
    }
    const uint32_t first = at;
    for (uint32_t k = 0; k < c->tap_count; k++) {
        dims[at++] = c->tap[k].in.extent;
    }
    if (o->channels_last && o->weights != DEPTHWISE) {
        dims[at++] = channels;
    }
    if (o->weights == FILTERS_LAST || o->weights == DEPTHWISE) {
        dims[at++] = filters;
    }
    if (!speak_read(s, c->b, &c->frame, &w)) {
        return IR_NONE;
    }
    if (c->integers) {
        w.tensor = speak_factor_real(c->f, c->whole_b, c->b, w.tensor, BASE_F32);
        if (w.tensor == IR_NONE) {
            return IR_NONE;
        }
    }
    const uint32_t t = speak_arrange(s, &w, order.at, order.n, at, dims);
    return o->transposed ? t : turned(c, t, first);
}

/* An addend of one value for each of these digits, as a list. */
static uint32_t addend_of(contraction *c, const digit_list *digits) {
    speak_axes b;
    const int64_t n = speak_extents(digits->at, digits->n);
    if (c->addend == 0 || !speak_read(c->s, c->addend, &c->frame, &b)) {
        return IR_NONE;
    }
    if (speak_extents(b.at, b.n) != n) {
        return IR_NONE;
    }
    return speak_arrange(c->s, &b, digits->at, digits->n, 1, &n);
}

/* The digits of what a convolution gives, in its order. */
static void output_digits(const contraction *c, bool channels_last, digit_list *digits) {
    *digits = c->batch;
    for (uint32_t part = 0; part < 2; part++) {
        if ((part == 0) == channels_last) {
            for (uint32_t k = 0; k < c->tap_count; k++) {
                push(digits, &c->tap[k].out);
            }
        } else {
            append(digits, &c->groups);
            append(digits, &c->m);
        }
    }
}

/* Some kernels want one. */
static uint32_t addend_or_zeros(contraction *c) {
    digit_list filters = c->groups;
    append(&filters, &c->m);
    const int64_t count = speak_extents(filters.at, filters.n);
    return c->addend != 0
               ? addend_of(c, &filters)
               : speak_constant(c->s, BASE_F32, 1, &count, BASE_NEWS(c->s->scratch, float, (size_t)count + 1));
}

typedef struct window_lists {
    uint32_t n;
    int64_t strides[MOST_TAPS], dilations[MOST_TAPS], pads[2 * MOST_TAPS];
} window_lists;

/* Of image, weights and addend. */
static uint32_t convolved(contraction *c, const convolution *o, const uint32_t *inputs, const window_lists *w,
                          int64_t groups) {
    speaker *s = c->s;
    if (inputs[0] == IR_NONE || inputs[1] == IR_NONE || inputs[2] == IR_NONE) {
        return IR_NONE;
    }
    ir_node *n = speak_node(s, o->word, inputs, 3, BASE_NONE);
    ir_attr_ints(s->m, n, "strides", w->strides, w->n);
    ir_attr_ints(s->m, n, "dilations", w->dilations, w->n);
    ir_attr_ints(s->m, n, "pads", w->pads, 2 * (size_t)w->n);
    if (!o->channels_last) {
        ir_attr_int(s->m, n, "group", groups);
    }
    return speak_done(s);
}

/* Part number i of so many along the last extent. */
static uint32_t part_of(speaker *s, uint32_t t, int64_t i, int64_t parts) {
    const ir_shape shape = *speak_shape(s, t);
    int64_t begin[IR_MAX_RANK] = {0}, strides[IR_MAX_RANK], extents[IR_MAX_RANK];
    for (uint32_t k = 0; k < shape.rank; k++) {
        strides[k] = 1;
        extents[k] = shape.dim[k];
    }
    extents[shape.rank - 1] /= parts;
    begin[shape.rank - 1] = i * extents[shape.rank - 1];
    return speak_slice(s, t, begin, strides, extents);
}

/* Each group by an operator of its own, whose results stand side by side: image, weights and addend have the groups last. */
static uint32_t apart(contraction *c, const convolution *o, const uint32_t *inputs, const window_lists *w,
                      int64_t groups) {
    speaker *s = c->s;
    uint32_t *each = BASE_NEWS(s->scratch, uint32_t, (size_t)groups);
    for (int64_t i = 0; i < groups; i++) {
        const uint32_t own[3] = {part_of(s, inputs[0], i, groups), part_of(s, inputs[1], i, groups),
                                 part_of(s, inputs[2], i, groups)};
        each[i] = convolved(c, o, own, w, 1);
        if (each[i] == IR_NONE) {
            return IR_NONE;
        }
    }
    ir_node *n = speak_node(s, "concatenation", each, (size_t)groups, BASE_NONE);
    ir_attr_int(s->m, n, "axis", (int64_t)speak_shape(s, each[0])->rank - 1);
    return speak_done(s);
}

static uint32_t convolve(contraction *c, const convolution *o, bool padded) {
    speaker *s = c->s;
    const uint32_t windows = c->tap_count < 2 && o->channels_last ? 2 : c->tap_count, more = windows - c->tap_count;
    window_lists w = {.n = windows};
    int64_t before[IR_MAX_RANK] = {0}, after[IR_MAX_RANK] = {0};
    const uint32_t first = o->channels_last ? 1 : 2;
    const int64_t groups = speak_extents(c->groups.at, c->groups.n), channels = speak_extents(c->k.at, c->k.n);
    digit_list digits;
    if (c->tap_count < o->least || c->tap_count > o->most || (!o->groups && groups > MOST_GROUPS) ||
        (o->weights == DEPTHWISE && (channels != 1 || groups == 1))) {
        return IR_NONE;
    }
    for (uint32_t k = 0; k < windows; k++) {
        w.strides[k] = w.dilations[k] = 1;
        if (k >= more) {
            const speak_tap *t = &c->tap[k - more];
            w.strides[k] = t->stride;
            w.dilations[k] = t->dilation;
            (void)speak_tap_pads(t, &before[first + k], &after[first + k]);
            before[first + k] = before[first + k] < 0 ? 0 : before[first + k];
        }
    }
    uint32_t x = needed_image(c, o, windows);
    for (uint32_t k = 0; k < windows; k++) {
        if (!padded) {
            w.pads[k] = before[first + k];
            w.pads[windows + k] = after[first + k];
        }
    }
    x = padded ? speak_pad(s, x, before, after, (base_value){.f = 0}) : x;
    const uint32_t inputs[3] = {x, weights_of(c, o, windows), addend_or_zeros(c)};
    if (inputs[0] == IR_NONE || inputs[1] == IR_NONE || inputs[2] == IR_NONE) {
        return IR_NONE;
    }
    if (c->integers && !c->exact.known && !speak_exact_with(s, c->exact.one, inputs[1], o->weights == FILTERS_FIRST)) {
        return IR_NONE;
    }
    const uint32_t y = o->groups || groups == 1 ? convolved(c, o, inputs, &w, groups) : apart(c, o, inputs, &w, groups);
    output_digits(c, o->channels_last, &digits);
    for (uint32_t k = 0; y != IR_NONE && k < c->tap_count; k++) {
        if (speak_shape(s, y)->dim[first + more + k] != c->tap[k].out.extent) {
            return IR_NONE;
        }
    }
    return finish(c, y, &digits);
}

/* ---- transposed ones ---- */

/* An image whose elements stand apart, and where the first place of the output lies in it. */
typedef struct spread_image {
    uint32_t tensor;
    const int64_t *extents;
    int64_t apart[LANG_MAX_RANK]; /* of each extent of a */
    int64_t before[MOST_TAPS];
} spread_image;

/* Is a such an image, met by taps one after the other, backward? */
static bool is_spread(const contraction *c, spread_image *out) {
    const lang_program *p = c->s->p;
    uint32_t from;
    if (c->integers || !lang_is_spread(p, lang_at(p, c->a)->index, &from, out->apart) ||
        c->s->tensor[from] == IR_NONE) {
        return false;
    }
    bool is = true;
    out->tensor = c->s->tensor[from];
    out->extents = p->tensors.at[from].dim;
    for (uint32_t k = 0; k < c->tap_count; k++) {
        const speak_tap *t = &c->tap[k];
        out->before[k] = t->offset + (t->in.extent - 1) * t->dilation;
        is = is && t->stride == 1 && t->backward && out->before[k] >= 0;
    }
    return is;
}

/* Over one or two extents, channels last. whole: from the first place that any element meets on, of which the output is a part. */
static uint32_t turn_2d(contraction *c, const spread_image *x, bool whole) {
    speaker *s = c->s;
    int64_t strides[2] = {1, 1}, pads[2] = {0}, extents[2] = {1, 1}, begin[4] = {0}, ones[4] = {1, 1, 1, 1};
    const uint32_t more = 2 - c->tap_count;
    const int64_t groups = speak_extents(c->groups.at, c->groups.n);
    digit_list digits;
    if (c->tap_count > 2 || groups != 1) {
        return IR_NONE;
    }
    for (uint32_t k = 0; k < c->tap_count; k++) {
        if (c->tap[k].dilation != 1) {
            return IR_NONE;
        }
        const int64_t stride = x->apart[c->tap[k].axis], in = x->extents[c->tap[k].axis], out = c->tap[k].out.extent;
        const int64_t met = stride * (in - 1) + c->tap[k].in.extent, end = x->before[k] + out;
        strides[more + k] = stride;
        pads[more + k] = whole ? 0 : x->before[k];
        begin[1 + more + k] = whole ? x->before[k] : 0;
        extents[more + k] = whole && end < met ? met : whole ? end : out;
        if (whole ? end >= met + stride : (out + stride - 1) / stride != in) { /* as its kernels ask */
            return IR_NONE;
        }
    }
    const uint32_t inputs[3] = {weights_of(c, &turned_2d, 2), image_of(c, &turned_2d, 2, x->tensor, x->extents),
                                addend_or_zeros(c)};
    if (inputs[0] == IR_NONE || inputs[1] == IR_NONE || inputs[2] == IR_NONE) {
        return IR_NONE;
    }
    ir_node *n = speak_node(s, turned_2d.word, inputs, 3, BASE_NONE);
    ir_attr_ints(s->m, n, "strides", strides, 2);
    ir_attr_ints(s->m, n, "pads", pads, 2);
    ir_attr_ints(s->m, n, "extents", extents, 2);
    uint32_t y = speak_done(s);
    if (y == IR_NONE) {
        return IR_NONE;
    }
    ir_shape part = *speak_shape(s, y);
    for (uint32_t k = 0; k < c->tap_count; k++) {
        part.dim[1 + more + k] = c->tap[k].out.extent;
    }
    y = speak_slice(s, y, begin, ones, part.dim);
    output_digits(c, true, &digits);
    return finish(c, y, &digits);
}

/* Over any extents, channels in front. */
static uint32_t turn_any(contraction *c, const spread_image *x) {
    speaker *s = c->s;
    int64_t strides[MOST_TAPS], dilations[MOST_TAPS], pads[2 * MOST_TAPS], more[MOST_TAPS];
    const uint32_t windows = c->tap_count;
    digit_list digits;
    for (uint32_t k = 0; k < windows; k++) {
        const speak_tap *t = &c->tap[k];
        strides[k] = x->apart[t->axis];
        dilations[k] = t->dilation;
        const int64_t all = strides[k] * (x->extents[t->axis] - 1) + (t->in.extent - 1) * t->dilation + 1;
        const int64_t behind = all - x->before[k] - t->out.extent;
        pads[k] = x->before[k];
        pads[windows + k] = behind > 0 ? behind : 0;
        more[k] = behind < 0 ? -behind : 0;
        if (more[k] >= strides[k] && more[k] >= dilations[k]) {
            return IR_NONE;
        }
    }
    const uint32_t inputs[3] = {image_of(c, &turned_any, windows, x->tensor, x->extents),
                                weights_of(c, &turned_any, windows), addend_or_zeros(c)};
    if (inputs[0] == IR_NONE || inputs[1] == IR_NONE || inputs[2] == IR_NONE) {
        return IR_NONE;
    }
    ir_node *n = speak_node(s, turned_any.word, inputs, 3, BASE_NONE);
    ir_attr_ints(s->m, n, "strides", strides, windows);
    ir_attr_ints(s->m, n, "dilations", dilations, windows);
    ir_attr_ints(s->m, n, "pads", pads, 2 * (size_t)windows);
    ir_attr_ints(s->m, n, "output_padding", more, windows);
    ir_attr_int(s->m, n, "group", speak_extents(c->groups.at, c->groups.n));
    output_digits(c, false, &digits);
    return finish(c, speak_done(s), &digits);
}

/* As the vocabulary's own transposed convolution. IR_NONE: it is none, or there is no such word. */
static uint32_t say_transposed(contraction *c) {
    const speak_mark mark = speak_here(c->s);
    spread_image x;
    if (!is_spread(c, &x)) {
        return IR_NONE;
    }
    for (unsigned way = 0; way < 3; way++) {
        const uint32_t y = way < 2 ? turn_2d(c, &x, way == 1) : turn_any(c, &x);
        if (y != IR_NONE) {
            return y;
        }
        speak_back(c->s, mark);
    }
    return IR_NONE;
}

/* What is outside the image counts as 0. */
static bool fills_with_zero(const contraction *c) {
    const lang_node *n = lang_at(c->s->p, c->a);
    const lang_node *fill = n->has_fill ? lang_at(c->s->p, lang_operand(c->s->p, c->a, n->count - 1)) : NULL;
    bool pads = false;
    for (uint32_t k = 0; k < c->tap_count; k++) {
        int64_t before = 0, after = 0;
        (void)speak_tap_pads(&c->tap[k], &before, &after);
        pads = pads || before > 0 || after != 0;
    }
    return !pads || (c->integers ? speak_factor_is_zero_outside(c->s, c->whole_a, c->a)
                                 : fill != NULL && fill->kind == LANG_CONST && fill->value.f == 0.0);
}

static uint32_t say_convolution(contraction *c) {
    const speak_mark mark = speak_here(c->s);
    speak_source from;
    if (!sort_out(c) || !fills_with_zero(c) || !speak_source_of(c->s, c->a, &from) || from.round_axis != IR_NONE) {
        return IR_NONE;
    }
    c->image = from.tensor;
    const uint32_t turned_one = say_transposed(c);
    if (turned_one != IR_NONE) {
        return turned_one;
    }
    if (c->integers) {
        c->exact = speak_exact_sums(c->s, c->whole_a, c->whole_b, products(c));
        c->exact.known = c->exact.known && c->exact.type == BASE_F32;
        c->image =
            c->exact.type != BASE_NONE ? speak_factor_real(c->f, c->whole_a, c->a, from.tensor, BASE_F32) : IR_NONE;
        if (c->image == IR_NONE) {
            return IR_NONE;
        }
    }
    const speak_mark mapped = speak_here(c->s);
    for (size_t i = 0; i < sizeof convolutions / sizeof convolutions[0]; i++) {
        for (unsigned padded = 0; padded < 2; padded++) {
            const uint32_t y = convolve(c, &convolutions[i], padded != 0);
            if (y != IR_NONE) {
                return y;
            }
            speak_back(c->s, mapped);
        }
    }
    speak_back(c->s, mark);
    return IR_NONE;
}

/* ---- products of matrices ---- */

/* Digits in the order in which they stand in memory, so that the operand need not be moved. */
static void collect(const contraction *c, const speak_axes *in, bool reduced, bool both, digit_list *out) {
    for (uint32_t i = 0; i < in->n; i++) {
        for (uint32_t k = 0; k < c->frame.n; k++) {
            const lang_digit *d = &c->frame.at[k];
            if (in->at[i].var == d->var && in->at[i].low == d->low && c->reduced[k] == reduced &&
                (reduced || (c->in_a[k] && c->in_b[k]) == both)) {
                push(out, d);
            }
        }
    }
}

static uint32_t multiply(contraction *c, const speak_axes *a, const speak_axes *b, bool connected) {
    speaker *s = c->s;
    digit_list batch = {0}, m = {0}, n = {0}, k = {0}, order = {0}, digits;
    int64_t dims[IR_MAX_RANK];
    uint32_t inputs[3], at = 0;
    collect(c, a, false, true, &batch);
    collect(c, a, false, false, &m);
    collect(c, b, false, false, &n);
    collect(c, a, true, false, &k);
    const int64_t rows = speak_extents(m.at, m.n), inner = speak_extents(k.at, k.n), columns = speak_extents(n.at, n.n),
                  matrices = speak_extents(batch.at, batch.n);
    if (k.n == 0 || (connected && matrices != 1)) {
        return IR_NONE;
    }
    append(&order, &batch);
    append(&order, &m);
    append(&order, &k);
    if (matrices != 1) {
        dims[at++] = matrices;
    }
    dims[at] = rows;
    dims[at + 1] = inner;
    inputs[0] = speak_arrange(s, a, order.at, order.n, at + 2, dims);
    order = batch;
    append(&order, connected ? &n : &k);
    append(&order, connected ? &k : &n);
    dims[at] = connected ? columns : inner;
    dims[at + 1] = connected ? inner : columns;
    inputs[1] = speak_arrange(s, b, order.at, order.n, at + 2, dims);
    inputs[2] = connected ? addend_of(c, &n) : IR_NONE;
    digits = batch;
    append(&digits, &m);
    append(&digits, &n);
    if (inputs[0] == IR_NONE || inputs[1] == IR_NONE || (c->addend != 0 && inputs[2] == IR_NONE)) {
        return IR_NONE;
    }
    if (c->integers && !c->exact.known && c->exact.type == BASE_F32 &&
        !(connected && speak_exact_with(s, c->exact.one, inputs[1], true))) {
        return IR_NONE;
    }
    if (!connected) {
        return finish(c, speak_word(s, "batch_matmul", inputs, 2, BASE_NONE), &digits);
    }
    const speak_mark mark = speak_here(s);
    uint32_t y = speak_word(s, "fully_connected", inputs, c->addend != 0 ? 3 : 2, BASE_NONE);
    if (y == IR_NONE) {
        speak_back(s, mark);
        ir_attr_int(s->m, speak_node(s, "gemm", inputs, c->addend != 0 ? 3 : 2, BASE_NONE), "transB", 1);
        y = speak_done(s);
    }
    return finish(c, y, &digits);
}

/* A factor in the frame, by its values: an extent for each digit that it has. */
static bool operand_of(contraction *c, lang_ref whole, lang_ref read, base_type type, bool *in, speak_axes *out) {
    speaker *s = c->s;
    speak_frame_values f = {.s = s, .frame = c->frame};
    int64_t dims[SPEAK_DIGITS];
    f.memo = BASE_NEWS(s->scratch, uint32_t, s->p->nodes.n);
    uint32_t t = read != 0 ? speak_value(&f, read) : IR_NONE;
    t = t != IR_NONE && type != BASE_NONE ? speak_factor_real(&f, whole, read, t, type) : t;
    if (t == IR_NONE || read != whole) {
        t = t != IR_NONE ? t : speak_value(&f, whole);
        t = type != BASE_NONE ? speak_cast(s, t, type) : t;
    }
    if (t == IR_NONE || (speak_shape(s, t)->rank != 0 && speak_shape(s, t)->rank != c->frame.n)) {
        return false;
    }
    *out = (speak_axes){.n = 0};
    for (uint32_t i = 0; i < c->frame.n; i++) {
        in[i] = speak_shape(s, t)->rank != 0 && c->frame.at[i].extent > 1 && speak_shape(s, t)->dim[i] != 1;
        if (in[i]) {
            dims[out->n] = c->frame.at[i].extent;
            out->at[out->n++] = c->frame.at[i];
        }
    }
    out->tensor = speak_reshape(s, t, out->n, dims);
    return out->tensor != IR_NONE;
}

/* The two operands as tensors. */
static bool operands(contraction *c, base_type type, speak_axes *a, speak_axes *b) {
    const speak_mark mark = speak_here(c->s);
    if (!c->integers && both_occur(c) && speak_read(c->s, c->a, &c->frame, a) && speak_read(c->s, c->b, &c->frame, b)) {
        return true;
    }
    speak_back(c->s, mark);
    return operand_of(c, c->whole_a, c->a, type, c->in_a, a) && operand_of(c, c->whole_b, c->b, type, c->in_b, b);
}

static uint32_t say_product(contraction *c, base_type type) {
    const speak_mark mark = speak_here(c->s);
    speak_axes a, b;
    if (!operands(c, type, &a, &b)) {
        speak_back(c->s, mark);
        return IR_NONE;
    }
    for (uint32_t i = 0; i < c->frame.n; i++) {
        if (c->frame.at[i].extent > 1 && c->reduced[i] && !(c->in_a[i] && c->in_b[i])) {
            return IR_NONE;
        }
    }
    const speak_mark read = speak_here(c->s);
    uint32_t y = multiply(c, &a, &b, true);
    if (y == IR_NONE && c->addend == 0) {
        speak_back(c->s, read);
        y = multiply(c, &a, &b, false);
    }
    if (y == IR_NONE) {
        speak_back(c->s, mark);
    }
    return y;
}

static bool is_constant(const contraction *c, lang_ref read) {
    speak_source from;
    return read != 0 && speak_source_of(c->s, read, &from) && c->s->g->tensors.at[from.tensor].data != NULL;
}

/* Is every element of the operands in few products? Then a product of matrices saves nothing. */
static bool has_few_products(const contraction *c) {
    enum { FEW = 4 };
    int64_t all = 1, of_a = 1, of_b = 1;
    for (uint32_t i = 0; i < c->frame.n; i++) {
        all *= c->frame.at[i].extent;
        of_a *= c->in_a[i] ? c->frame.at[i].extent : 1;
        of_b *= c->in_b[i] ? c->frame.at[i].extent : 1;
    }
    return all <= FEW * (of_a > of_b ? of_a : of_b);
}

/* Integers are said on reals where that is exact: first on the narrower ones; on the wider ones, which not every format has, only where
 * integers that are multiplied and added would be many. */
static uint32_t say_integers(contraction *c) {
    speaker *s = c->s;
    const speak_mark mark = speak_here(s);
    c->exact = speak_exact_sums(s, c->whole_a, c->whole_b, products(c));
    const bool fits = c->exact.known;
    if (c->exact.type == BASE_NONE) {
        return IR_NONE;
    }
    const bool narrow = c->exact.type == BASE_F32;
    c->exact.type = BASE_F32;
    c->exact.known = fits && narrow;
    uint32_t y = say_product(c, BASE_F32);
    if (y == IR_NONE && !narrow && has_few_products(c)) {
        speak_back(s, mark);
        y = speak_reduced_body(c->f, c->sum);
    }
    if (y == IR_NONE && fits) {
        speak_back(s, mark);
        c->exact = (speak_exactness){.type = BASE_F64, .known = true};
        y = say_product(c, BASE_F64);
    }
    return y;
}

static uint32_t contract(contraction *c) {
    const bool occur = both_occur(c);
    const speak_mark mark = speak_here(c->s);
    uint32_t y = IR_NONE;
    if (occur && mixes(c, c->a, c->in_b)) {
        y = say_convolution(c);
    } else if (occur && mixes(c, c->b, c->in_a)) {
        swap(c);
        y = say_convolution(c);
    } else {
        if (is_constant(c, c->a) && !is_constant(c, c->b)) {
            swap(c);
        }
        return c->integers ? say_integers(c) : say_product(c, BASE_NONE);
    }
    if (y == IR_NONE) {
        speak_back(c->s, mark);
    }
    return y;
}

uint32_t speak_contraction(speak_frame_values *f, lang_ref sum, lang_ref addend) {
    contraction *c = BASE_NEW(f->s->scratch, contraction);
    const base_type type = (base_type)lang_at(f->s->p, sum)->type;
    *c = (contraction){.f = f, .s = f->s, .sum = sum, .addend = addend, .integers = !base_type_is_float(type)};
    if ((c->integers && (addend != 0 || base_type_bits(type) < 32)) || !prepare(c, sum)) {
        return IR_NONE;
    }
    const uint32_t y = contract(c);
    return c->integers ? speak_cast(f->s, y, type) : y;
}
