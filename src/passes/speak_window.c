/* speak_window.c - the largest or the sum of a window: pools.
 *
 * Takes a reduction of one read, some of whose indices mix an output digit and a reduced one, and whose guard, if any, leaves out
 * what is outside the tensor. Gives a pool of the vocabulary; sums are means times the number of taps, those of integers
 * convolutions with ones on reals, where that is exact.
 */
#include <math.h>
#include <string.h>

#include "passes/speak.h"

enum { MOST_TAPS = 3 };
#define MOST_PLACES ((int64_t)1 << 22) /* whose taps are counted */
#define MOST_IN_FLOAT ((int64_t)1 << 24)

typedef struct window {
    speak_frame_values *f;
    speaker *s;
    lang_ref read;
    speak_axes frame;
    uint32_t tap_count, free_count;
    speak_tap tap[MOST_TAPS];
    lang_digit free_digit[IR_MAX_RANK]; /* of the other extents */
    uint32_t free_axis[IR_MAX_RANK];
} window;

static bool is_reduced(const speaker *s, lang_ref reduction, uint32_t var) {
    for (uint32_t k = 0; k < lang_at(s->p, reduction)->count - 3; k++) {
        if (lang_at(s->p, lang_operand(s->p, reduction, k))->index == var) {
            return true;
        }
    }
    return false;
}

/* All extents are windows, or one digit as it is. */
static bool sort_out(window *w, lang_ref reduction) {
    speaker *s = w->s;
    const lang_tensor *t = &s->p->tensors.at[lang_at(s->p, w->read)->index];
    lang_digits index[LANG_MAX_RANK];
    if (t->rank > IR_MAX_RANK || lang_at(s->p, w->read)->flat || !lang_digits_read(s->p, w->read, index)) {
        return false;
    }
    uint32_t reduced = 0;
    for (uint32_t k = 0; k < t->rank; k++) {
        int64_t factor[SPEAK_DIGITS];
        uint32_t in = IR_NONE, out = IR_NONE, n = 0;
        if (!speak_factors(&w->frame, &index[k], factor)) {
            return false;
        }
        for (uint32_t i = 0; i < w->frame.n; i++) {
            if (factor[i] != 0) {
                *(is_reduced(s, reduction, w->frame.at[i].var) ? &in : &out) = i;
                n++;
            }
        }
        if (n == 2 && in != IR_NONE && out != IR_NONE && factor[in] > 0 && factor[out] > 0 &&
            w->tap_count < MOST_TAPS) {
            w->tap[w->tap_count++] = (speak_tap){.axis = k,
                                                 .out = w->frame.at[out],
                                                 .in = w->frame.at[in],
                                                 .stride = factor[out],
                                                 .dilation = factor[in],
                                                 .offset = index[k].constant,
                                                 .extent = t->dim[k]};
            reduced++;
        } else if (n == 1 && out != IR_NONE && factor[out] == 1 && index[k].constant == 0 &&
                   w->frame.at[out].extent == t->dim[k]) {
            w->free_digit[w->free_count] = w->frame.at[out];
            w->free_axis[w->free_count++] = k;
        } else {
            return false;
        }
    }
    uint32_t own = 0;
    for (uint32_t i = 0; i < w->frame.n; i++) {
        own += is_reduced(s, reduction, w->frame.at[i].var);
    }
    return reduced == own && w->tap_count > 0 && w->free_count >= 1;
}

static bool same_form(const lang_digits *a, const lang_digits *b) {
    lang_digits d = *a;
    return lang_digits_add(&d, -1, b) && d.n == 0 && d.constant == 0;
}

/* The guard says nothing but that indices are inside. */
static bool guards_inside(const window *w, lang_ref guard) {
    speaker *s = w->s;
    lang_ref part[32];
    lang_digits index[LANG_MAX_RANK];
    const size_t n = lang_conjuncts(s->p, guard, part, 32);
    (void)lang_digits_read(s->p, w->read, index);
    for (size_t i = 0; i < n; i++) {
        const lang_node *e = lang_at(s->p, part[i]);
        lang_digits low, high, over;
        int64_t least, most;
        if (e->kind == LANG_CONST && e->value.i != 0) {
            continue;
        }
        if (e->kind != LANG_WORD_ || (e->code != LANG_LE && e->code != LANG_LT) ||
            !lang_digits_of(s->p, lang_operand(s->p, part[i], 0), &low) ||
            !lang_digits_of(s->p, lang_operand(s->p, part[i], 1), &high)) {
            return false;
        }
        over = high; /* over >= 0 holds */
        over.constant -= e->code == LANG_LT;
        if (!lang_digits_add(&over, -1, &low) || !lang_digits_range(&over, &least, &most)) {
            return false;
        }
        bool inside = least >= 0;
        for (uint32_t k = 0; k < w->tap_count && !inside; k++) {
            const lang_digits *at = &index[w->tap[k].axis];
            lang_digits behind = {.constant = w->tap[k].extent - 1};
            inside = same_form(&over, at) || (lang_digits_add(&behind, -1, at) && same_form(&over, &behind));
        }
        if (!inside) {
            return false;
        }
    }
    return true;
}

/* ---- how many taps are inside ---- */

static int64_t taps_inside(const speak_tap *t, int64_t place) {
    int64_t n = 0;
    for (int64_t k = 0; k < t->in.extent; k++) {
        const int64_t at = place * t->stride + k * t->dilation + t->offset;
        n += at >= 0 && at < t->extent;
    }
    return n;
}

static int64_t all_taps(const window *w) {
    int64_t n = 1;
    for (uint32_t k = 0; k < w->tap_count; k++) {
        n *= w->tap[k].in.extent;
    }
    return n;
}

enum { COUNTS_INSIDE = 1, COUNTS_ALL = 2 };

/* What the constant in the frame counts of each place: the taps inside, or all. ratio: all / it, as a constant like it. */
static unsigned what_counts(window *w, uint32_t counts, uint32_t *ratio) {
    speaker *s = w->s;
    const ir_tensor t = s->g->tensors.at[counts];
    const speak_axes *frame = &w->f->frame;
    uint64_t n = 0;
    unsigned is = COUNTS_INSIDE | COUNTS_ALL;
    if (!ir_shape_elements(&t.shape, &n) || n > (uint64_t)MOST_PLACES || t.type != BASE_F32) {
        return 0;
    }
    float *to = BASE_NEWS(s->scratch, float, (size_t)n + 1);
    for (uint64_t i = 0; i < n; i++) {
        int64_t rest = (int64_t)i, inside = 1;
        const double value = base_load(t.type, t.data, i).f;
        for (uint32_t k = 0; k < w->tap_count && t.shape.rank == 0; k++) {
            for (int64_t p = 0; p < w->tap[k].out.extent; p++) {
                is &= taps_inside(&w->tap[k], p) != w->tap[k].in.extent ? (unsigned)COUNTS_ALL : is;
            }
        }
        for (uint32_t k = t.shape.rank; k-- > 0;) {
            const int64_t at = rest % t.shape.dim[k];
            rest /= t.shape.dim[k];
            for (uint32_t j = 0; j < w->tap_count; j++) {
                const lang_digit *d = &w->tap[j].out;
                if (d->var == frame->at[k].var && d->low == frame->at[k].low) {
                    inside *= t.shape.dim[k] == d->extent ? taps_inside(&w->tap[j], at) : 0;
                }
            }
        }
        inside = t.shape.rank == 0 ? all_taps(w) : inside;
        is &= value == (double)inside ? is : (unsigned)COUNTS_ALL;
        is &= value == (double)all_taps(w) ? is : (unsigned)COUNTS_INSIDE;
        to[i] = (float)((double)all_taps(w) / value);
    }
    *ratio = speak_constant(s, BASE_F32, t.shape.rank, t.shape.dim, to);
    return is;
}

/* ---- pools ---- */

typedef struct pool {
    const char *word, *kernel; /* kernel NULL: a convolution with ones */
    lang_reduction reduction;
    uint32_t least, most;
    bool channels_last, dilations;
} pool;

static const pool pools[] = {{"max_pool2d", "kernel", LANG_RMAX, 1, 2, true, false},
                             {"average_pool2d", "kernel", LANG_SUM, 1, 2, true, false},
                             {"max_pool", "kernel_shape", LANG_RMAX, 1, 3, false, true},
                             {"average_pool", "kernel_shape", LANG_SUM, 1, 3, false, true}};
static const pool with_ones = {"conv", NULL, LANG_SUM, 1, 3, false, true};

static uint32_t constant_of(speaker *s, uint32_t rank, const int64_t *dims, double v) {
    uint64_t n = 1;
    for (uint32_t k = 0; k < rank; k++) {
        n *= (uint64_t)dims[k];
    }
    float *list = BASE_NEWS(s->scratch, float, (size_t)n + 1);
    for (uint64_t i = 0; i < n; i++) {
        base_store(BASE_F32, list, i, (base_value){.f = v});
    }
    return speak_constant(s, BASE_F32, rank, dims, list);
}

/* The pool of x, whose attributes but for the window's extents may be set. */
static ir_node *pool_node(speaker *s, const pool *o, uint32_t x, const int64_t *kernel, uint32_t windows) {
    if (o->kernel != NULL) {
        ir_node *node = speak_node(s, o->word, &x, 1, BASE_NONE);
        ir_attr_ints(s->m, node, o->kernel, kernel, windows);
        return node;
    }
    int64_t dims[2 + MOST_TAPS] = {speak_shape(s, x)->dim[1], 1};
    memcpy(dims + 2, kernel, windows * sizeof *kernel);
    const uint32_t inputs[3] = {x, constant_of(s, 2 + windows, dims, 1), constant_of(s, 1, dims, 0)};
    ir_node *node = speak_node(s, o->word, inputs, 3, BASE_NONE);
    ir_attr_int(s->m, node, "group", dims[0]);
    return node;
}

/* padded: what is outside is put there first. */
static uint32_t say_pool(window *w, const pool *o, bool padded) {
    speaker *s = w->s;
    const lang_tensor *t = &s->p->tensors.at[lang_at(s->p, w->read)->index];
    const uint32_t windows = w->tap_count < 2 && o->channels_last ? 2 : w->tap_count, more = windows - w->tap_count;
    const uint32_t first = o->channels_last ? 1 : 2;
    int64_t perm[IR_MAX_RANK], dims[IR_MAX_RANK], before[IR_MAX_RANK] = {0}, after[IR_MAX_RANK] = {0};
    int64_t kernel[MOST_TAPS], strides[MOST_TAPS], dilations[MOST_TAPS], pads[2 * MOST_TAPS] = {0};
    uint32_t n = 0, at = 0;
    speak_axes y = {.n = 0};
    if (w->tap_count < o->least || w->tap_count > o->most) {
        return IR_NONE;
    }
    /* the last free extent are the channels, all before them images */
    const uint32_t channel = w->free_count - 1;
    int64_t images = 1;
    for (uint32_t k = 0; k < channel; k++) {
        perm[n++] = w->free_axis[k];
        images *= w->free_digit[k].extent;
        y.at[y.n++] = w->free_digit[k];
    }
    dims[at++] = images;
    if (!o->channels_last) {
        perm[n++] = w->free_axis[channel];
        dims[at++] = w->free_digit[channel].extent;
        y.at[y.n++] = w->free_digit[channel];
    }
    for (uint32_t k = 0; k < windows; k++) {
        kernel[k] = strides[k] = dilations[k] = dims[at] = 1;
        if (k >= more) {
            const speak_tap *p = &w->tap[k - more];
            kernel[k] = p->in.extent;
            strides[k] = p->stride;
            dilations[k] = p->dilation;
            perm[n++] = p->axis;
            dims[at] = t->dim[p->axis];
            y.at[y.n++] = p->out;
            if ((p->dilation != 1 && !o->dilations) || !speak_tap_pads(p, &before[first + k], &after[first + k])) {
                return IR_NONE;
            }
        }
        at++;
    }
    if (o->channels_last) {
        perm[n++] = w->free_axis[channel];
        dims[at++] = w->free_digit[channel].extent;
        y.at[y.n++] = w->free_digit[channel];
    }
    for (uint32_t k = 0; k < windows && !padded; k++) {
        pads[k] = before[first + k];
        pads[windows + k] = after[first + k];
    }
    uint32_t x = speak_transpose(s, s->tensor[lang_at(s->p, w->read)->index], n, perm);
    x = speak_reshape(s, x, at, dims);
    x = padded ? speak_pad(s, x, before, after, (base_value){.f = o->reduction == LANG_RMAX ? -INFINITY : 0}) : x;
    x = o->kernel == NULL ? speak_cast(s, x, BASE_F32) : x;
    if (x == IR_NONE) {
        return IR_NONE;
    }
    ir_node *node = pool_node(s, o, x, kernel, windows);
    ir_attr_ints(s->m, node, "strides", strides, windows);
    if (o->dilations) {
        ir_attr_ints(s->m, node, "dilations", dilations, windows);
    }
    ir_attr_ints(s->m, node, "pads", pads, 2 * (size_t)windows);
    y.tensor = speak_done(s);
    for (uint32_t k = 0; y.tensor != IR_NONE && k < w->tap_count; k++) {
        if (speak_shape(s, y.tensor)->dim[first + more + k] != w->tap[k].out.extent) {
            return IR_NONE;
        }
    }
    return y.tensor == IR_NONE ? IR_NONE : speak_to_frame(s, &y, &w->f->frame);
}

static bool pads_somewhere(const window *w) {
    bool any = false;
    for (uint32_t k = 0; k < w->tap_count; k++) {
        int64_t before = 0, after = 0;
        (void)speak_tap_pads(&w->tap[k], &before, &after);
        any = any || before != 0 || after != 0;
    }
    return any;
}

/* One of the vocabulary's pools, with the padding in it or in front. */
static uint32_t any_pool(window *w, lang_reduction r, bool inside, bool front) {
    const speak_mark mark = speak_here(w->s);
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        for (unsigned padded = inside ? 0 : 1; padded <= (front ? 1u : 0u); padded++) {
            const uint32_t y = pools[i].reduction == r ? say_pool(w, &pools[i], padded != 0) : IR_NONE;
            if (y != IR_NONE) {
                return y;
            }
            speak_back(w->s, mark);
        }
    }
    return IR_NONE;
}

static uint32_t times(speaker *s, uint32_t a, uint32_t b) {
    return speak_word(s, "mul", (uint32_t[]){a, b}, 2, BASE_NONE);
}

/* A sum, divided by counts. */
static uint32_t say_sum(window *w, uint32_t counts) {
    speaker *s = w->s;
    uint32_t ratio = IR_NONE, y;
    const unsigned is = counts != IR_NONE ? what_counts(w, counts, &ratio) : 0;
    if (counts == IR_NONE) {
        y = any_pool(w, LANG_SUM, !pads_somewhere(w), true);
        return times(s, y, speak_scalar(s, BASE_F32, (base_value){.f = (double)all_taps(w)}));
    }
    y = (is & COUNTS_INSIDE) != 0 ? any_pool(w, LANG_SUM, true, false) : IR_NONE;
    if (y != IR_NONE) {
        return y;
    }
    y = any_pool(w, LANG_SUM, !pads_somewhere(w), true);
    return (is & COUNTS_ALL) != 0 ? y : times(s, y, ratio);
}

/* A sum of integers, whose window's values fit into reals. */
static uint32_t say_integer_sum(window *w, base_type type) {
    speaker *s = w->s;
    const base_type of = (base_type)lang_at(s->p, w->read)->type;
    if (base_type_is_float(of) || base_type_bits(of) > 16 || all_taps(w) > MOST_IN_FLOAT >> base_type_bits(of)) {
        return IR_NONE;
    }
    return speak_cast(s, say_pool(w, &with_ones, false), type);
}

uint32_t speak_window(speak_frame_values *f, lang_ref reduction, uint32_t counts) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, reduction);
    const lang_ref guard = lang_operand(s->p, reduction, n->count - 3);
    const bool integers = !base_type_is_float((base_type)n->type);
    lang_ref body = lang_operand(s->p, reduction, n->count - 2);
    while (integers && n->code == LANG_SUM && lang_at(s->p, body)->kind == LANG_WORD_ &&
           lang_at(s->p, body)->code == LANG_CAST) {
        body = lang_operand(s->p, body, 0);
    }
    window *w = BASE_NEW(s->scratch, window);
    uint32_t vars[LANG_MAX_VARS], outer = 0;
    *w = (window){.f = f, .s = s, .read = body};
    if ((n->type != BASE_F32 && !integers) || (n->code != LANG_SUM && n->code != LANG_RMAX) ||
        lang_operand(s->p, reduction, n->count - 1) != 0 || lang_at(s->p, body)->kind != LANG_READ ||
        lang_at(s->p, body)->has_fill || s->loop != NULL || s->tensor[lang_at(s->p, body)->index] == IR_NONE) {
        return IR_NONE;
    }
    for (uint32_t k = 0; k < f->frame.n; k++) {
        if (k == 0 || f->frame.at[k].var != f->frame.at[k - 1].var) {
            vars[outer++] = f->frame.at[k].var;
        }
    }
    for (uint32_t k = 0; k < n->count - 3; k++) {
        vars[outer + k] = lang_at(s->p, lang_operand(s->p, reduction, k))->index;
    }
    if (!speak_frame(s, &body, 1, vars, outer + n->count - 3, &f->frame, &w->frame) || !sort_out(w, reduction) ||
        (guard != 0 && !guards_inside(w, guard))) {
        return IR_NONE;
    }
    if (n->code == LANG_SUM && integers) {
        return say_integer_sum(w, (base_type)n->type);
    }
    return n->code == LANG_SUM ? say_sum(w, counts) : any_pool(w, LANG_RMAX, true, !integers);
}
