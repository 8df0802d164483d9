/* steps_options.c - the dictionary's steps whose attributes stand in TFLite's options tables.
 *
 * Takes an operator whose tensors and options are verified, or a node. Gives attributes, or options; faults of values
 * are reported at their field. Knows conventions of TFLite's tables; knows no operator.
 */
#include "formats/tflite/steps.h"

#include <string.h>

/* ---- ACT ---- */

static const char *const acts[] = {"none", "relu", "relu_n1_to_1", "relu6", "tanh", "SIGN_BIT"};
enum { ACT_CODES = 6 };

static void make_act(tflite_op *op, const tflite_step *step) {
    int64_t code = tflite_op_option(op, step->a);
    if (code < 0 || code >= ACT_CODES) {
        tflite_op_option_error(op, step->a, "there is no activation %lld", (long long)code);
    } else if (code >= step->b) {
        tflite_unsupported(op->r, op->path, op->table.at,
                           base_printf(op->r->arena, "operator %s with the fused activation %s", op->name,
                                       code == 4 ? "TANH" : "SIGN_BIT"),
                           "put the activation into an operator of its own");
    } else {
        ir_attr_text(op->r->m, op->node, step->name, acts[code]);
    }
}

static void put_act(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_TEXT);
    for (int i = 0; a && i < step->b; i++) {
        if (!strcmp(acts[i], a->v.text)) {
            tflite_out_int(out, step->a, i);
            return;
        }
    }
    if (a) {
        tflite_out_cannot(out, "its activation \"%s\" is none that TFLite fuses",
                          base_printable(out->arena, a->v.text, a->n, 40));
    }
}

const tflite_step_kind tflite_step_act = {"ACT", make_act, put_act};

/* ---- PAIR ---- */

static void make_pair(tflite_op *op, const tflite_step *step) {
    const int fields[] = {step->a, step->b};
    int64_t v[2];
    for (size_t i = 0; i < 2; i++) {
        v[i] = tflite_op_option(op, fields[i]);
        if (v[i] < 1) {
            tflite_op_option_error(op, fields[i], "%s: it is %lld, and must be 1 or more", step->name, (long long)v[i]);
            return;
        }
    }
    ir_attr_ints(op->r->m, op->node, step->name, v, 2);
}

static void put_pair(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    if (a && a->n == 2) {
        tflite_out_int(out, step->a, a->v.ints[0]);
        tflite_out_int(out, step->b, a->v.ints[1]);
    } else if (a) {
        tflite_out_cannot(out, "%s has %zu values: TFLite has 2", step->name, a->n);
    }
}

const tflite_step_kind tflite_step_pair = {"PAIR", make_pair, put_pair};

/* ---- INT, FLOAT, AXIS ---- */

static void make_int(tflite_op *op, const tflite_step *step) {
    ir_attr_int(op->r->m, op->node, step->name, tflite_op_option(op, step->a));
}

static void put_int(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INT);
    if (a) {
        tflite_out_int(out, step->a, a->v.i);
    }
}

const tflite_step_kind tflite_step_int = {"INT", make_int, put_int};

static void make_float(tflite_op *op, const tflite_step *step) {
    float v = tflite_float(&op->r->fb, op->options_path, &op->options, (tflite_field)step->a);
    ir_attr_float(op->r->m, op->node, step->name, (double)v);
}

static void put_float(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_FLOAT);
    if (a) {
        tflite_out_float(out, step->a, a->v.f);
    }
}

const tflite_step_kind tflite_step_float = {"FLOAT", make_float, put_float};

static void make_axis(tflite_op *op, const tflite_step *step) {
    uint32_t rank = tflite_op_input(op, 0)->shape.rank;
    int64_t axis = tflite_op_axis(op, tflite_op_option(op, step->a), rank + (uint32_t)step->b);
    if (axis >= 0) {
        ir_attr_int(op->r->m, op->node, step->name, axis);
    }
}

const tflite_step_kind tflite_step_axis = {"AXIS", make_axis, put_int};

/* ---- ONLY ---- */

static void make_only(tflite_op *op, const tflite_step *step) {
    if (tflite_op_option(op, step->a) != step->b) {
        tflite_unsupported(op->r, op->path, op->table.at, step->name, "convert the model without it");
    }
}

static void put_only(tflite_out *out, const tflite_step *step) {
    tflite_out_int(out, step->a, step->b);
}

const tflite_step_kind tflite_step_only = {"ONLY", make_only, put_only};

/* ---- PADS ---- */

enum { SAME, VALID };

/* A window over two extents of an NHWC tensor; no dilations: NULL. */
typedef struct window {
    int64_t in[2], kernel[2];
    const ir_attr *strides, *dilations;
} window;

/* From the input and, without an attribute kernel, from OHWI or 1HWO weights (NULL: none); false: an input has not 4
 * extents, *bad. */
static bool window_of(const ir_node *node, const ir_tensor *x, const ir_tensor *weights, window *w, size_t *bad) {
    const ir_attr *kernel = ir_attr_find(node, "kernel");
    const ir_shape *k = kernel || !weights ? NULL : &weights->shape;
    *bad = x->shape.rank != 4 ? 0 : 1;
    if (x->shape.rank != 4 || (k && k->rank != 4)) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        w->in[i] = x->shape.dim[1 + i];
        w->kernel[i] = kernel ? kernel->v.ints[i] : k ? k->dim[1 + i] : 1;
    }
    w->strides = ir_attr_find(node, "strides");
    w->dilations = ir_attr_find(node, "dilations");
    return true;
}

/* TFLite's rule: SAME gives ceil(in / stride) outputs, and what is missing is padded, the larger half behind. */
static void same_pads(const window *w, int64_t pads[4]) {
    for (size_t i = 0; i < 2; i++) {
        /* All are below 2^31: nothing here leaves 64 bits. */
        int64_t in = w->in[i], stride = w->strides->v.ints[i];
        int64_t reach = (w->kernel[i] - 1) * (w->dilations ? w->dilations->v.ints[i] : 1) + 1;
        int64_t out = (in + stride - 1) / stride;
        int64_t total = (out - 1) * stride + reach - in;
        total = total > 0 ? total : 0;
        pads[i] = total / 2;
        pads[2 + i] = total - total / 2;
    }
}

/* VALID pads nothing where the window fits. Where it does not, shapes are placeholders, and LiteRT refuses the model; TFLM
 * computes all the same, outputs of the recorded extents: what its formula pads before, and as much behind as they
 * need. */
static void valid_pads(const window *w, const ir_shape *recorded, int64_t pads[4]) {
    for (size_t i = 0; i < 2; i++) {
        int64_t in = w->in[i], stride = w->strides->v.ints[i];
        int64_t reach = (w->kernel[i] - 1) * (w->dilations ? w->dilations->v.ints[i] : 1) + 1;
        int64_t total = ((in + stride - reach) / stride - 1) * stride + reach - in;
        pads[i] = pads[2 + i] = 0;
        if (recorded && recorded->rank == 4 && recorded->dim[1 + i] > 0 && in < reach) {
            int64_t before = total > 0 ? total / 2 : 0, all = (recorded->dim[1 + i] - 1) * stride + reach - in;
            pads[i] = before < all ? before : all;
            pads[2 + i] = all - pads[i];
        }
    }
}

static void make_pads(tflite_op *op, const tflite_step *step) {
    int64_t pads[4] = {0};
    int64_t padding = tflite_op_option(op, step->a);
    window w;
    size_t bad;
    if (padding != SAME && padding != VALID) {
        tflite_op_option_error(op, step->a, "there is no padding %lld", (long long)padding);
        return;
    }
    if (!window_of(op->node, tflite_op_input(op, 0), op->input_count > 1 ? tflite_op_input(op, 1) : NULL, &w, &bad)) {
        tflite_op_error(op, "input %zu has shape %s: expected 4 extents", bad,
                        ir_shape_print(op->r->arena, &tflite_op_input(op, bad)->shape));
        return;
    }
    if (padding == SAME) {
        same_pads(&w, pads);
    } else {
        valid_pads(&w, op->infers && op->recorded ? &tflite_op_output(op, 0)->shape : NULL, pads);
    }
    ir_attr_ints(op->r->m, op->node, step->name, pads, 4);
}

/* Where nothing is padded, SAME and VALID have the same outputs. */
static void put_pads(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    int64_t same[4], valid[4];
    window w;
    size_t bad;
    const ir_tensor *weights = out->node->input_count > 1 ? tflite_out_input(out, 1) : NULL;
    if (!a || a->n != 4 || !window_of(out->node, tflite_out_input(out, 0), weights, &w, &bad) || !w.strides) {
        tflite_out_cannot(out, "its window is not over two extents");
        return;
    }
    same_pads(&w, same);
    valid_pads(&w, &tflite_out_output(out, 0)->shape, valid);
    if (!memcmp(a->v.ints, valid, sizeof valid)) {
        tflite_out_int(out, step->a, VALID);
    } else if (!memcmp(a->v.ints, same, sizeof same)) {
        tflite_out_int(out, step->a, SAME);
    } else {
        tflite_out_cannot(out, "its padding [%lld, %lld, %lld, %lld] is neither SAME nor VALID",
                          (long long)a->v.ints[0], (long long)a->v.ints[1], (long long)a->v.ints[2],
                          (long long)a->v.ints[3]);
    }
}

const tflite_step_kind tflite_step_pads = {"PADS", make_pads, put_pads};

/* ---- TRANSPOSED ---- */

/* The window of a transposed convolution is over its output. false: a rank is not 4. */
static bool transposed_of(const ir_node *node, const ir_tensor *weights, const int64_t extents[2], window *w) {
    if (weights->shape.rank != 4) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        w->in[i] = extents[i];
        w->kernel[i] = weights->shape.dim[1 + i];
    }
    w->strides = ir_attr_find(node, "strides");
    w->dilations = NULL;
    return w->strides != NULL;
}

static void make_transposed(tflite_op *op, const tflite_step *step) {
    int64_t pads[4] = {0}, padding = tflite_op_option(op, step->a);
    size_t n;
    int64_t *shape = tflite_op_constant(op, 0, &n);
    window w;
    if (!shape) {
        return;
    }
    if (padding != SAME && padding != VALID) {
        tflite_op_option_error(op, step->a, "there is no padding %lld", (long long)padding);
        return;
    }
    if (n != 4 || shape[1] < 1 || shape[2] < 1 || shape[1] > INT32_MAX || shape[2] > INT32_MAX) {
        tflite_op_error(op, "the output's shape: expected 4 extents, of 1 or more");
        return;
    }
    if (!transposed_of(op->node, tflite_op_input(op, 1), shape + 1, &w)) {
        tflite_op_error(op, "input 1 has shape %s: expected 4 extents",
                        ir_shape_print(op->r->arena, &tflite_op_input(op, 1)->shape));
        return;
    }
    if (padding == SAME) {
        same_pads(&w, pads);
    }
    ir_attr_ints(op->r->m, op->node, "pads", pads, 2);
    ir_attr_ints(op->r->m, op->node, "extents", shape + 1, 2);
}

/* The input's extents tell SAME from VALID where neither pads. */
static void put_transposed(tflite_out *out, const tflite_step *step) {
    const ir_attr *pads = tflite_out_attr(out, "pads", IR_INTS), *extents = tflite_out_attr(out, "extents", IR_INTS);
    const ir_shape *x = &tflite_out_input(out, 1)->shape, *y = &tflite_out_output(out, 0)->shape;
    int64_t same[4];
    window w;
    if (!pads || !extents || pads->n != 2 || extents->n != 2 || x->rank != 4 || y->rank != 4 ||
        !transposed_of(out->node, tflite_out_input(out, 0), extents->v.ints, &w)) {
        tflite_out_cannot(out, "its window is not over two extents");
        return;
    }
    same_pads(&w, same);
    bool is_same = true;
    for (size_t i = 0; i < 2; i++) {
        int64_t stride = w.strides->v.ints[i];
        is_same = is_same && x->dim[1 + i] == (w.in[i] + stride - 1) / stride && pads->v.ints[i] == same[i];
    }
    if (!is_same && (pads->v.ints[0] || pads->v.ints[1])) {
        tflite_out_cannot(out, "its padding [%lld, %lld] is neither SAME nor VALID", (long long)pads->v.ints[0],
                          (long long)pads->v.ints[1]);
    }
    tflite_out_int(out, step->a, is_same ? SAME : VALID);
    tflite_out_list(out, 0, "output_shape", y->dim, 4);
}

const tflite_step_kind tflite_step_transposed = {"TRANSPOSED", make_transposed, put_transposed};

/* ---- MULTIPLIER: makes nothing; what a kernel of TFLite takes for granted ---- */

/* From 2^16 on every sum but 0 saturates an output of 8 or 16 bits, and the kernels' left shift of sums leaves 32 bits:
 * the scales are damaged, and what TFLite computes with them is overflow. */
static const char *bad_multiplier(base_arena *arena, const ir_quant *x, const ir_quant *w, const ir_quant *y) {
    if (w->n == 1) { /* either may be the filter, which alone may have several */
        const ir_quant *filter = x;
        x = w;
        w = filter;
    }
    for (uint32_t i = 0; x->n == 1 && y->n == 1 && i < w->n; i++) {
        if (!((double)x->scale[0] * (double)w->scale[i] / (double)y->scale[0] < 65536.0)) {
            return base_printf(arena,
                               "the scales of input and filter (%lu) over that of the output are 65536 or more: every "
                               "sum would saturate",
                               (unsigned long)i);
        }
    }
    return NULL;
}

static void make_multiplier(tflite_op *op, const tflite_step *step) {
    const ir_tensor *x = tflite_op_input(op, (size_t)step->a), *w = tflite_op_input(op, (size_t)step->b);
    const char *bad = bad_multiplier(op->r->arena, &x->quant, &w->quant, &tflite_op_output(op, 0)->quant);
    if (bad) {
        tflite_op_error(op, "%s", bad);
    }
}

static void put_multiplier(tflite_out *out, const tflite_step *step) {
    (void)step;
    const char *bad = bad_multiplier(out->arena, &tflite_out_input(out, 0)->quant, &tflite_out_input(out, 1)->quant,
                                     &tflite_out_output(out, 0)->quant);
    if (bad) {
        tflite_out_cannot(out, "%s", bad);
    }
}

const tflite_step_kind tflite_step_multiplier = {"MULTIPLIER", make_multiplier, put_multiplier};

/* ---- SAID ---- */

/* Where an input says it, that counts. */
static void make_said(tflite_op *op, const tflite_step *step) {
    if (!op->infers || !op->options.at || ir_attr_find(op->node, step->name)) {
        return;
    }
    wire_vector v = tflite_list(&op->r->fb, op->options_path, &op->options, (tflite_field)step->a);
    if (v.n > IR_MAX_RANK) {
        tflite_op_option_error(op, step->a, "%llu extents: at most %u are read", (unsigned long long)v.n, IR_MAX_RANK);
        return;
    }
    int64_t list[IR_MAX_RANK];
    for (uint64_t i = 0; i < v.n; i++) {
        list[i] = wire_fb_i32_at(&op->r->fb, &v, i);
    }
    if (v.present && tflite_op_solve(op, list, (size_t)v.n)) {
        ir_attr_ints(op->r->m, op->node, step->name, list, (size_t)v.n);
    }
}

static void put_said(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    if (a) {
        tflite_out_ints(out, step->a, a->v.ints, a->n);
    }
}

const tflite_step_kind tflite_step_said = {"SAID", make_said, put_said};
