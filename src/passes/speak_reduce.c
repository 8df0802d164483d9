/* speak_reduce.c - reductions: an operator of its own, or one over the body, which is made as a tensor.
 *
 * Takes a reduction in a frame. Gives nodes: sums of products and windows by speak_contract.c and speak_window.c; else the body over all
 * places, and a reducing operator. Places that a guard leaves out count as nothing; the first or last place is the least or largest number
 * of one, and what stands there is a sum of which all but one is 0.
 */
#include <math.h>
#include <string.h>

#include "passes/speak.h"

#define MOST_MADE ((int64_t)1 << 26) /* elements of a reduction's body */

static bool is_reduction_of_products(const speaker *s, lang_ref e) {
    const lang_node *n = lang_at(s->p, e);
    return n->kind == LANG_REDUCE && n->code == LANG_SUM;
}

static const char *word_of(lang_reduction r) {
    static const char *const words[] = {"sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_any", "reduce_all"};
    return (size_t)r < sizeof words / sizeof words[0] ? words[r] : NULL;
}

/* What an element left out counts as. */
static uint32_t neutral(speaker *s, lang_reduction r, base_type type) {
    int64_t lo;
    uint64_t hi;
    if (r == LANG_RMAX || r == LANG_RMIN) {
        if (base_type_is_float(type)) {
            return speak_number(s, type, r == LANG_RMAX ? -INFINITY : INFINITY);
        }
        base_type_range(type, &lo, &hi);
        return speak_scalar(s, type, r == LANG_RMAX ? (base_value){.i = lo} : (base_value){.u = hi});
    }
    return speak_number(s, type, r == LANG_PROD || r == LANG_ALL ? 1 : 0);
}

/* The body in the frame of its own variables, with as many extents as it has digits; the reduced ones are the last. */
static uint32_t say_body(speak_frame_values *in, lang_ref e, uint32_t outer) {
    speaker *s = in->s;
    const lang_node *n = lang_at(s->p, e);
    const lang_ref guard = lang_operand(s->p, e, n->count - 3);
    const lang_reduction r = (lang_reduction)n->code;
    uint32_t v = speak_value(in, lang_operand(s->p, e, n->count - 2));
    if (v != IR_NONE && guard != 0) {
        const uint32_t g = speak_value(in, guard);
        v = g == IR_NONE ? IR_NONE
                         : speak_scalar_word(s, LANG_IF, BASE_BOOL, (base_type)n->type,
                                             (uint32_t[]){g, v, neutral(s, r, (base_type)n->type)}, 3);
    }
    if (v == IR_NONE) {
        return IR_NONE;
    }
    int64_t dims[SPEAK_DIGITS];
    const ir_shape shape = *speak_shape(s, v);
    bool whole = true;
    for (uint32_t k = 0; k < in->frame.n; k++) {
        const int64_t own = shape.rank == 0 ? 1 : shape.dim[k];
        dims[k] = k < outer ? own : in->frame.at[k].extent;
        whole = whole && own == dims[k];
    }
    if (whole) {
        return speak_reshape(s, v, in->frame.n, dims);
    }
    return r == LANG_SUM || r == LANG_PROD ? speak_broadcast(s, v, in->frame.n, dims) : v;
}

/* The frame of a reduction's body: the digits of the frame outside, and from number `first` on those that are reduced. */
typedef struct inner_frame {
    speak_frame_values in;
    uint32_t first;
} inner_frame;

static bool enter(speak_frame_values *f, lang_ref e, inner_frame *out) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    const uint32_t count = n->count - 3;
    uint32_t vars[LANG_MAX_VARS], outer = 0;
    for (uint32_t k = 0; k < f->frame.n; k++) { /* in the frame's order */
        if (k == 0 || f->frame.at[k].var != f->frame.at[k - 1].var) {
            vars[outer++] = f->frame.at[k].var;
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        vars[outer + k] = lang_at(s->p, lang_operand(s->p, e, k))->index;
    }
    *out = (inner_frame){.in = {.s = s}};
    const lang_ref roots[] = {lang_operand(s->p, e, n->count - 2), lang_operand(s->p, e, n->count - 3)};
    speak_axes *frame = &out->in.frame;
    if (!speak_frame(s, roots, 2, vars, outer + count, &f->frame, frame) || frame->n > IR_MAX_RANK ||
        speak_extents(frame->at, frame->n) > MOST_MADE) {
        return false;
    }
    out->in.memo = BASE_NEWS(s->scratch, uint32_t, s->p->nodes.n);
    while (out->first < frame->n && frame->at[out->first].var != vars[outer]) {
        out->first++;
    }
    return true;
}

/* Over the reduced digits of what has all extents of the frame, or none. */
static uint32_t reduce(const inner_frame *x, const char *word, uint32_t v, bool keep) {
    speaker *s = x->in.s;
    int64_t axes[SPEAK_DIGITS];
    if (v == IR_NONE || speak_shape(s, v)->rank == 0) {
        return v;
    }
    for (uint32_t k = x->first; k < x->in.frame.n; k++) {
        axes[k - x->first] = k;
    }
    ir_node *node = speak_node(s, word, &v, 1, BASE_NONE);
    ir_attr_ints(s->m, node, "axes", axes, x->in.frame.n - x->first);
    ir_attr_int(s->m, node, "keepdims", keep);
    return speak_done(s);
}

/* Without the reduced digits, in the frame outside: digits that are finer there join again. */
static uint32_t leave(speak_frame_values *f, const inner_frame *x, uint32_t v) {
    int64_t dims[SPEAK_DIGITS];
    if (v == IR_NONE) {
        return IR_NONE;
    }
    const ir_shape shape = *speak_shape(f->s, v);
    for (uint32_t k = 0; k < f->frame.n; k++) {
        dims[k] = 1;
        for (uint32_t i = 0; i < x->first && shape.rank != 0; i++) {
            const lang_digit *d = &x->in.frame.at[i], *o = &f->frame.at[k];
            const bool within = d->var == o->var && d->low >= o->low && d->low < o->low * o->extent;
            dims[k] *= within && shape.dim[i] == d->extent ? d->extent : 1;
        }
        if (dims[k] != 1 && dims[k] != f->frame.at[k].extent) {
            return IR_NONE;
        }
    }
    return speak_reshape(f->s, v, f->frame.n, dims);
}

/* ---- the first or last place ---- */

/* 0, 1, ... over the reduced digits. */
static uint32_t numbered(const inner_frame *x, int64_t *count) {
    const speak_axes *frame = &x->in.frame;
    int64_t dims[SPEAK_DIGITS];
    *count = 1;
    for (uint32_t k = 0; k < frame->n; k++) {
        dims[k] = k < x->first ? 1 : frame->at[k].extent;
        *count *= dims[k];
    }
    int32_t *list = BASE_NEWS(x->in.s->scratch, int32_t, (size_t)*count + 1);
    for (int64_t i = 0; i < *count; i++) {
        base_store(BASE_I32, list, (uint64_t)i, (base_value){.i = i});
    }
    return speak_constant(x->in.s, BASE_I32, frame->n, dims, list);
}

/* The body at that place: the sum of what is 0 elsewhere. */
static uint32_t at_place(const inner_frame *x, uint32_t numbers, uint32_t place, uint32_t body) {
    speaker *s = x->in.s;
    if (body == IR_NONE) {
        return IR_NONE;
    }
    const base_type type = s->g->tensors.at[body].type;
    const uint32_t hit = speak_word(s, "equal", (uint32_t[]){numbers, place}, 2, BASE_NONE);
    if (type == BASE_BOOL) {
        return reduce(x, "reduce_any", speak_word(s, "logical_and", (uint32_t[]){hit, body}, 2, BASE_NONE), true);
    }
    const bool is_small = !base_type_is_float(type) && base_type_bits(type) < 32;
    const uint32_t own = is_small ? speak_cast(s, body, BASE_I32) : body;
    const uint32_t zero = speak_number(s, is_small ? BASE_I32 : type, 0);
    const uint32_t only = speak_word(s, "select", (uint32_t[]){hit, own, zero}, 3, BASE_NONE);
    return speak_cast(s, reduce(x, "sum", only, true), type);
}

/* first or last: the least, or the largest, number of a place that the guard lets through. */
static uint32_t say_place(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e), *body = lang_at(s->p, lang_operand(s->p, e, n->count - 2));
    const lang_ref guard = lang_operand(s->p, e, n->count - 3), otherwise = lang_operand(s->p, e, n->count - 1);
    const bool is_first = n->code == LANG_FIRST;
    inner_frame x;
    int64_t count;
    if (otherwise == 0 || !enter(f, e, &x)) {
        return IR_NONE;
    }
    const uint32_t numbers = numbered(&x, &count);
    const uint32_t none = speak_number(s, BASE_I32, is_first ? (double)count : -1);
    const uint32_t allowed = guard != 0 ? speak_value(&x.in, guard) : IR_NONE;
    if (count == 0 || (guard != 0 && allowed == IR_NONE)) {
        return count == 0 ? speak_value(f, otherwise) : IR_NONE;
    }
    const uint32_t open =
        guard == 0 ? numbers : speak_word(s, "select", (uint32_t[]){allowed, numbers, none}, 3, BASE_NONE);
    const uint32_t place = reduce(&x, is_first ? "reduce_min" : "reduce_max", open, true);
    uint32_t v;
    if (body->kind == LANG_VAR && n->count == 4 && lang_operand(s->p, e, 0) == lang_operand(s->p, e, n->count - 2)) {
        v = leave(f, &x, speak_cast(s, place, (base_type)n->type));
    } else {
        v = leave(f, &x, at_place(&x, numbers, place, speak_value(&x.in, lang_operand(s->p, e, n->count - 2))));
    }
    if (guard == 0) {
        return v;
    }
    const uint32_t found = leave(
        f, &x, speak_word(s, "less", is_first ? (uint32_t[]){place, none} : (uint32_t[]){none, place}, 2, BASE_NONE));
    return speak_scalar_word(s, LANG_IF, BASE_BOOL, (base_type)n->type,
                             (uint32_t[]){found, v, speak_value(f, otherwise)}, 3);
}

/* ---- the others ---- */

uint32_t speak_reduced_body(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    const lang_ref guard = lang_operand(s->p, e, n->count - 3), otherwise = lang_operand(s->p, e, n->count - 1);
    const char *word = word_of((lang_reduction)n->code);
    inner_frame x;
    if (n->code == LANG_FIRST || n->code == LANG_LAST) {
        return say_place(f, e);
    }
    if (word == NULL || !enter(f, e, &x)) {
        return IR_NONE;
    }
    const uint32_t v = leave(f, &x, reduce(&x, word, say_body(&x.in, e, x.first), false));
    if (v == IR_NONE || s->g->tensors.at[v].type != (base_type)n->type || otherwise == 0) {
        return v != IR_NONE && s->g->tensors.at[v].type == (base_type)n->type ? v : IR_NONE;
    }
    if (guard == 0) {
        return v; /* over no places there would be no operator */
    }
    uint32_t any = speak_value(&x.in, guard);
    if (any != IR_NONE) {
        any = leave(f, &x, reduce(&x, "reduce_any", any, true));
    }
    return any == IR_NONE ? IR_NONE
                          : speak_scalar_word(s, LANG_IF, BASE_BOOL, (base_type)n->type,
                                              (uint32_t[]){any, v, speak_value(f, otherwise)}, 3);
}

uint32_t speak_reduction(speak_frame_values *f, lang_ref e) {
    const speak_mark mark = speak_here(f->s);
    const lang_node *n = lang_at(f->s->p, e), *body = lang_at(f->s->p, lang_operand(f->s->p, e, n->count - 2));
    const bool products = is_reduction_of_products(f->s, e) && body->kind == LANG_WORD_ && body->code == LANG_MUL;
    uint32_t t = is_reduction_of_products(f->s, e) ? speak_contraction(f, e, 0) : IR_NONE;
    if (t == IR_NONE && products && f->s->only_products) {
        return IR_NONE;
    }
    if (t == IR_NONE) {
        speak_back(f->s, mark);
        t = speak_window(f, e, IR_NONE);
    }
    if (t == IR_NONE) {
        speak_back(f->s, mark);
        t = speak_reduced_body(f, e);
    }
    return t;
}

uint32_t speak_together(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    const speak_mark mark = speak_here(s);
    uint32_t t = IR_NONE;
    for (uint32_t k = 0; n->code == LANG_ADD && t == IR_NONE && k < 2; k++) {
        const lang_ref sum = lang_operand(s->p, e, k), other = lang_operand(s->p, e, 1 - k);
        const lang_node *with = lang_at(s->p, other);
        const bool is_zero =
            with->kind == LANG_CONST && base_type_is_float((base_type)with->type) && with->value.f == 0.0;
        if (is_reduction_of_products(s, sum) && (with->kind == LANG_READ || is_zero)) {
            t = speak_contraction(f, sum, is_zero ? 0 : other); /* a sum is never -0: it begins with 0 */
        }
    }
    if (n->code == LANG_DIV && base_type_is_float((base_type)n->type) &&
        is_reduction_of_products(s, lang_operand(s->p, e, 0))) {
        const uint32_t counts = speak_value(f, lang_operand(s->p, e, 1));
        if (counts != IR_NONE && s->g->tensors.at[counts].data != NULL) {
            t = speak_window(f, lang_operand(s->p, e, 0), counts);
        }
    }
    if (t == IR_NONE) {
        speak_back(s, mark);
        memset(f->memo, 0, s->p->nodes.n * sizeof *f->memo); /* what it knew may have been taken back */
    }
    return t;
}
