/* steps_windows.c - the dictionary's steps of windows: their counts, and the padding that TFLite says as SAME or VALID.
 *
 * Takes an operator whose tensors are verified, or a node. Gives attributes, or options. A window is over two extents
 * of an NHWC tensor, or over three of an NDHWC one: as many as it has strides. Knows no operator.
 */
#include "formats/tflite/steps.h"

#include <string.h>

enum { SAME, VALID };
enum { MOST = 3 };

/* ---- PAIR, TRIPLE ---- */

static void make_counts(tflite_op *op, const tflite_step *step) {
    const int fields[] = {step->a, step->b, step->c};
    size_t n = step->c ? 3 : 2;
    int64_t v[MOST];
    for (size_t i = 0; i < n; i++) {
        v[i] = tflite_op_option(op, fields[i]);
        if (v[i] < 1) {
            tflite_op_option_error(op, fields[i], "%s: it is %lld, and must be 1 or more", step->name, (long long)v[i]);
            return;
        }
    }
    ir_attr_ints(op->r->m, op->node, step->name, v, n);
}

static void put_counts(tflite_out *out, const tflite_step *step) {
    const int fields[] = {step->a, step->b, step->c};
    size_t n = step->c ? 3 : 2;
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    for (size_t i = 0; a && a->n == n && i < n; i++) {
        tflite_out_int(out, fields[i], a->v.ints[i]);
    }
    if (a && a->n != n) {
        tflite_out_cannot(out, "%s has %zu values: TFLite has %zu", step->name, a->n, n);
    }
}

const tflite_step_kind tflite_step_pair = {"PAIR", make_counts, put_counts};
const tflite_step_kind tflite_step_triple = {"TRIPLE", make_counts, put_counts};

/* ---- windows ---- */

/* No dilations: NULL. */
typedef struct window {
    size_t n;
    int64_t in[MOST], kernel[MOST];
    const ir_attr *strides, *dilations;
} window;

/* Counts from 1 on of 31 bits: a node that comes from a text may have anything. */
static bool are_counts(const ir_attr *a) {
    for (size_t i = 0; a->kind == IR_INTS && i < a->n; i++) {
        if (a->v.ints[i] < 1 || a->v.ints[i] > INT32_MAX) {
            return false;
        }
    }
    return a->kind == IR_INTS;
}

static bool are_extents(const ir_tensor *t) {
    for (uint32_t i = 0; i < t->shape.rank; i++) {
        if (t->shape.dim[i] > INT32_MAX) {
            return false;
        }
    }
    return true;
}

/* What the attributes say; false: it is not over two or three extents. */
static bool window_begin(const ir_node *node, window *w) {
    w->strides = ir_attr_find(node, "strides");
    w->dilations = ir_attr_find(node, "dilations");
    if (!w->strides || !are_counts(w->strides) || (w->dilations && !are_counts(w->dilations))) {
        return false;
    }
    w->n = w->strides->n;
    return (w->n == 2 || w->n == 3) && (!w->dilations || w->dilations->n == w->n);
}

/* Its kernel, from the attribute, or from weights whose extents of it begin at `first` (NULL: none). */
static bool window_kernel(const ir_node *node, const ir_tensor *weights, size_t first, window *w) {
    const ir_attr *kernel = ir_attr_find(node, "kernel");
    if (kernel ? kernel->n != w->n || !are_counts(kernel)
               : weights && (weights->shape.rank != w->n + 2 || !are_extents(weights))) {
        return false;
    }
    for (size_t i = 0; i < w->n; i++) {
        w->kernel[i] = kernel ? kernel->v.ints[i] : weights ? weights->shape.dim[first + i] : 1;
    }
    return true;
}

static bool window_input(const ir_tensor *x, window *w) {
    for (size_t i = 0; x->shape.rank == w->n + 2 && i < w->n; i++) {
        w->in[i] = x->shape.dim[1 + i];
    }
    return x->shape.rank == w->n + 2 && are_extents(x);
}

static int64_t places(int64_t in, int64_t stride) {
    return (in + stride - 1) / stride;
}

/* All are below 2^31: nothing here leaves 64 bits. */
static int64_t reach_of(const window *w, size_t i) {
    return (w->kernel[i] - 1) * (w->dilations ? w->dilations->v.ints[i] : 1) + 1;
}

/* TFLite's rule: SAME gives ceil(in / stride) outputs, and what is missing is padded, the larger half behind. */
static void same_pads(const window *w, int64_t pads[2 * MOST]) {
    for (size_t i = 0; i < w->n; i++) {
        int64_t stride = w->strides->v.ints[i];
        int64_t total = (places(w->in[i], stride) - 1) * stride + reach_of(w, i) - w->in[i];
        total = total > 0 ? total : 0;
        pads[i] = total / 2;
        pads[w->n + i] = total - total / 2;
    }
}

/* VALID pads nothing where the window fits. Where it does not, shapes are placeholders, and LiteRT refuses the model; TFLM
 * computes all the same, outputs of the recorded extents: what its formula pads before, and as much behind as they
 * need. */
static void valid_pads(const window *w, const ir_shape *recorded, int64_t pads[2 * MOST]) {
    for (size_t i = 0; i < w->n; i++) {
        int64_t in = w->in[i], stride = w->strides->v.ints[i], reach = reach_of(w, i);
        int64_t total = ((in + stride - reach) / stride - 1) * stride + reach - in;
        pads[i] = pads[w->n + i] = 0;
        if (recorded && recorded->rank == w->n + 2 && recorded->dim[1 + i] > 0 && in < reach) {
            int64_t before = total > 0 ? total / 2 : 0, all = (recorded->dim[1 + i] - 1) * stride + reach - in;
            pads[i] = before < all ? before : all;
            pads[w->n + i] = all - pads[i];
        }
    }
}

static bool read_padding(tflite_op *op, const tflite_step *step, int64_t *padding) {
    *padding = tflite_op_option(op, step->a);
    if (*padding != SAME && *padding != VALID) {
        tflite_op_option_error(op, step->a, "there is no padding %lld", (long long)*padding);
        return false;
    }
    return true;
}

static void bad_rank(tflite_op *op, size_t input, size_t n) {
    tflite_op_error(op, "input %zu has shape %s: expected %zu extents", input,
                    ir_shape_print(op->r->arena, &tflite_op_input(op, input)->shape), n + 2);
}

static const char *list_of(base_arena *arena, const ir_attr *a) {
    base_text text = {.arena = arena};
    for (size_t i = 0; i < a->n; i++) {
        base_put(&text, "%s%lld", i ? ", " : "", (long long)a->v.ints[i]);
    }
    return base_printf(arena, "[%s]", a->n ? text.at : "");
}

/* ---- PADS, PADS_3D ---- */

static void make_pads(tflite_op *op, const tflite_step *step) {
    int64_t pads[2 * MOST] = {0}, padding;
    window w;
    if (!read_padding(op, step, &padding) || !window_begin(op->node, &w)) {
        return;
    }
    if (!window_input(tflite_op_input(op, 0), &w)) {
        bad_rank(op, 0, w.n);
        return;
    }
    if (!window_kernel(op->node, op->input_count > 1 ? tflite_op_input(op, 1) : NULL, (size_t)step->b, &w)) {
        bad_rank(op, 1, w.n);
        return;
    }
    if (padding == SAME) {
        same_pads(&w, pads);
    } else {
        valid_pads(&w, op->infers && op->recorded ? &tflite_op_output(op, 0)->shape : NULL, pads);
    }
    ir_attr_ints(op->r->m, op->node, step->name, pads, 2 * w.n);
}

/* Where nothing is padded, SAME and VALID have the same outputs. Where something is it is SAME, if that pads so: VALID pads
 * in placeholders alone. */
static void put_pads(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    int64_t same[2 * MOST], valid[2 * MOST];
    window w;
    const ir_tensor *weights = ir_attr_find(out->node, "kernel") ? NULL : tflite_out_input(out, 1);
    if (!a || !window_begin(out->node, &w) || a->n != 2 * w.n || !window_input(tflite_out_input(out, 0), &w) ||
        !window_kernel(out->node, weights, (size_t)step->b, &w)) {
        tflite_out_cannot(out, "its window is not over two or three extents");
        return;
    }
    same_pads(&w, same);
    valid_pads(&w, &tflite_out_output(out, 0)->shape, valid);
    bool is_valid = !memcmp(a->v.ints, valid, a->n * sizeof *valid);
    bool is_same = !memcmp(a->v.ints, same, a->n * sizeof *same), pads = false;
    for (size_t i = 0; i < a->n; i++) {
        pads = pads || a->v.ints[i];
    }
    if (is_same && (pads || !is_valid)) {
        tflite_out_int(out, step->a, SAME);
    } else if (is_valid) {
        tflite_out_int(out, step->a, VALID);
    } else {
        tflite_out_cannot(out, "its padding %s is neither SAME nor VALID", list_of(out->arena, a));
    }
}

const tflite_step_kind tflite_step_pads = {"PADS", make_pads, put_pads};

/* ---- TRANSPOSED, TRANSPOSED_3D: the window of a transposed convolution is over its output ---- */

static void make_transposed(tflite_op *op, const tflite_step *step) {
    int64_t pads[2 * MOST] = {0}, padding;
    const ir_shape *y = &tflite_op_output(op, 0)->shape;
    const int64_t *shape = y->dim; /* of a computed shape the file has resolved what comes out */
    size_t n = y->rank;
    window w;
    if (tflite_op_input(op, 0)->data) {
        shape = tflite_op_constant(op, 0, &n);
    }
    op->dropped |= 1;
    if (!shape || !read_padding(op, step, &padding) || !window_begin(op->node, &w)) {
        return;
    }
    bool sane = n == w.n + 2;
    for (size_t i = 0; sane && i < w.n; i++) {
        w.in[i] = shape[1 + i];
        sane = w.in[i] >= 1 && w.in[i] <= INT32_MAX;
    }
    if (!sane) {
        tflite_op_error(op, "the output's shape: expected %zu extents, of 1 or more", w.n + 2);
        return;
    }
    if (!window_kernel(op->node, tflite_op_input(op, 1), (size_t)step->b, &w)) {
        bad_rank(op, 1, w.n);
        return;
    }
    if (padding == SAME) {
        same_pads(&w, pads);
    }
    ir_attr_ints(op->r->m, op->node, "pads", pads, w.n);
    ir_attr_ints(op->r->m, op->node, "extents", shape + 1, w.n);
}

/* The input's extents tell SAME from VALID where neither pads. */
static void put_transposed(tflite_out *out, const tflite_step *step) {
    const ir_attr *pads = tflite_out_attr(out, "pads", IR_INTS), *extents = tflite_out_attr(out, "extents", IR_INTS);
    const ir_shape *x = &tflite_out_input(out, 1)->shape, *y = &tflite_out_output(out, 0)->shape;
    int64_t same[2 * MOST];
    window w;
    if (!pads || !extents || !are_counts(extents) || !window_begin(out->node, &w) || pads->n != w.n ||
        extents->n != w.n || x->rank != w.n + 2 || y->rank != w.n + 2 ||
        !window_kernel(out->node, tflite_out_input(out, 0), (size_t)step->b, &w)) {
        tflite_out_cannot(out, "its window is not over two or three extents");
        return;
    }
    memcpy(w.in, extents->v.ints, w.n * sizeof *w.in);
    same_pads(&w, same);
    bool is_same = true, is_none = true;
    for (size_t i = 0; i < w.n; i++) {
        is_same = is_same && x->dim[1 + i] == places(w.in[i], w.strides->v.ints[i]) && pads->v.ints[i] == same[i];
        is_none = is_none && !pads->v.ints[i];
    }
    if (!is_same && !is_none) {
        tflite_out_cannot(out, "its padding %s is neither SAME nor VALID", list_of(out->arena, pads));
    }
    tflite_out_int(out, step->a, is_same ? SAME : VALID);
    tflite_out_list(out, 0, "output_shape", y->dim, w.n + 2);
}

const tflite_step_kind tflite_step_transposed = {"TRANSPOSED", make_transposed, put_transposed};
