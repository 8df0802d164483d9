/* dictionary.c - the steps that make attributes, and the dictionary's rows (dictionary.def says what each step does).
 *
 * Takes an operator whose tensors and options table are verified. Gives its node's attributes; faults of values are
 * reported at their field. Knows conventions of TFLite's tables; knows no operator but through its row.
 */
#include "formats/tflite/dictionary.h"

#include <string.h>

/* ---- helpers ---- */

static const ir_tensor *tensor_of(const tflite_op *op, uint32_t index) {
    return &op->r->g->tensors.at[index];
}

static const ir_shape *input_shape(const tflite_op *op, size_t input) {
    return &tensor_of(op, op->inputs[input])->shape;
}

static int64_t option_int(tflite_op *op, int field) {
    return tflite_int(&op->r->fb, op->options_path, &op->options, (tflite_field)field);
}

#define SAY_LIKE_PRINTF __attribute__((format(printf, 2, 3)))
/* A fault that is seen in the operator's tensors. */
static void op_error(tflite_op *op, const char *format, ...) SAY_LIKE_PRINTF;
static void op_error(tflite_op *op, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(op->r->arena, format, list);
    va_end(list);
    wire_fb_error(&op->r->fb, op->path, op->table.at, "%s", message);
}

static void option_error(tflite_op *op, int field, const char *message) {
    /* An absent table has no byte: its operator has. */
    const wire_table *at = op->options.at ? &op->options : &op->table;
    if (op->options.at) {
        tflite_error(&op->r->fb, op->options_path, at, (tflite_field)field, "%s", message);
    } else {
        wire_fb_error(&op->r->fb, op->options_path, at->at, "%s", message);
    }
}

/* axis from 0, for a tensor of that rank; -1: a fault, reported. */
static int64_t axis_of(tflite_op *op, int64_t axis, uint32_t rank) {
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        op_error(op, "axis %lld: the rank is %lu", (long long)axis, (unsigned long)rank);
        return -1;
    }
    return axis < 0 ? axis + rank : axis;
}

enum { MOST_INTS = 64 };

/* The contents of a constant input of integers, which is dropped; NULL: not constant (noted), or a fault. */
static int64_t *constant_ints(tflite_op *op, int input, size_t *n) {
    tflite_reader *r = op->r;
    const ir_tensor *t = tensor_of(op, op->inputs[input]);
    uint64_t count;
    if (!t->data) {
        tflite_unsupported(r, op->path, op->table.at,
                           base_printf(r->arena, "operator %s whose input %d is computed", op->name, input),
                           "convert the model with that input constant");
        return NULL;
    }
    if ((t->type != BASE_I32 && t->type != BASE_I64) || !ir_shape_elements(&t->shape, &count)) {
        op_error(op, "input %d has type %s: expected i32 or i64", input, base_type_name(t->type));
        return NULL;
    }
    if (count > MOST_INTS) {
        op_error(op, "input %d has %llu elements: no such list is longer than %d", input, (unsigned long long)count,
                 MOST_INTS);
        return NULL;
    }
    int64_t *list = BASE_NEWS(r->arena, int64_t, count + 1);
    for (uint64_t i = 0; i < count; i++) {
        list[i] = base_load(t->type, t->data, i).i;
    }
    op->dropped |= (uint32_t)1 << input;
    *n = (size_t)count;
    return list;
}

/* ---- steps from options ---- */

static void make_act(tflite_op *op, const tflite_step *step) {
    static const char *const acts[] = {"none", "relu", "relu_n1_to_1", "relu6"};
    static const char *const unsupported[] = {"TANH", "SIGN_BIT"};
    enum { ACTS = 4, CODES = 6 };
    int64_t code = option_int(op, step->a);
    if (code < 0 || code >= CODES) {
        option_error(op, step->a, base_printf(op->r->arena, "there is no activation %lld", (long long)code));
    } else if (code >= ACTS) {
        tflite_unsupported(
            op->r, op->path, op->table.at,
            base_printf(op->r->arena, "operator %s with the fused activation %s", op->name, unsupported[code - ACTS]),
            "put the activation into an operator of its own");
    } else {
        ir_attr_text(op->r->m, op->node, step->name, acts[code]);
    }
}

static void make_pair(tflite_op *op, const tflite_step *step) {
    const int fields[] = {step->a, step->b};
    int64_t v[2];
    for (size_t i = 0; i < 2; i++) {
        v[i] = option_int(op, fields[i]);
        if (v[i] < 1) {
            option_error(
                op, fields[i],
                base_printf(op->r->arena, "%s: it is %lld, and must be 1 or more", step->name, (long long)v[i]));
            return;
        }
    }
    ir_attr_ints(op->r->m, op->node, step->name, v, 2);
}

static void make_int(tflite_op *op, const tflite_step *step) {
    ir_attr_int(op->r->m, op->node, step->name, option_int(op, step->a));
}

static void make_float(tflite_op *op, const tflite_step *step) {
    float v = tflite_float(&op->r->fb, op->options_path, &op->options, (tflite_field)step->a);
    ir_attr_float(op->r->m, op->node, step->name, (double)v);
}

static void make_axis(tflite_op *op, const tflite_step *step) {
    int64_t axis = axis_of(op, option_int(op, step->a), input_shape(op, 0)->rank + (uint32_t)step->b);
    if (axis >= 0) {
        ir_attr_int(op->r->m, op->node, step->name, axis);
    }
}

static void make_only(tflite_op *op, const tflite_step *step) {
    if (option_int(op, step->a) != step->b) {
        tflite_unsupported(op->r, op->path, op->table.at, step->name, "convert the model without it");
    }
}

/* The window's extents: the kernel attribute, or those of the OHWI or 1HWO weights. */
static bool window(tflite_op *op, int64_t kernel[2]) {
    const ir_attr *a = ir_attr_find(op->node, "kernel");
    const ir_shape *x = input_shape(op, 0), *w = a ? NULL : input_shape(op, 1);
    if (x->rank != 4 || (w && w->rank != 4)) {
        op_error(op, "input %d has shape %s: expected 4 extents", x->rank != 4 ? 0 : 1,
                 ir_shape_print(op->r->arena, x->rank != 4 ? x : w));
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        kernel[i] = a ? a->v.ints[i] : w->dim[1 + i];
    }
    return true;
}

/* TFLite's rule: SAME gives ceil(in / stride) outputs, and what is missing is padded, the larger half behind. */
static void make_pads(tflite_op *op, const tflite_step *step) {
    enum { SAME, VALID };
    int64_t kernel[2], pads[4] = {0};
    int64_t padding = option_int(op, step->a);
    if (padding != SAME && padding != VALID) {
        option_error(op, step->a, base_printf(op->r->arena, "there is no padding %lld", (long long)padding));
        return;
    }
    const ir_attr *strides = ir_attr_find(op->node, "strides"), *dilations = ir_attr_find(op->node, "dilations");
    if (!window(op, kernel)) {
        return;
    }
    for (size_t i = 0; i < 2 && padding == SAME; i++) {
        /* All are below 2^31: nothing here leaves 64 bits. */
        int64_t in = input_shape(op, 0)->dim[1 + i], stride = strides->v.ints[i];
        int64_t reach = (kernel[i] - 1) * (dilations ? dilations->v.ints[i] : 1) + 1;
        int64_t out = (in + stride - 1) / stride;
        int64_t total = (out - 1) * stride + reach - in;
        total = total > 0 ? total : 0;
        pads[i] = total / 2;
        pads[2 + i] = total - total / 2;
    }
    ir_attr_ints(op->r->m, op->node, step->name, pads, 4);
}

/* ---- steps from constant inputs ---- */

static void make_axis_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = constant_ints(op, step->a, &n);
    if (!list) {
        return;
    }
    if (n != 1) {
        op_error(op, "input %d has %zu elements: expected one axis", step->a, n);
        return;
    }
    /* Of SPLIT's two orders of inputs the tensor that is split is the one that is no constant of this row. */
    int64_t axis = axis_of(op, list[0], input_shape(op, step->a == 0 ? 1 : 0)->rank);
    if (axis >= 0) {
        ir_attr_int(op->r->m, op->node, step->name, axis);
    }
}

static void make_axes_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = constant_ints(op, step->a, &n);
    int64_t axes[IR_MAX_RANK];
    bool wanted[IR_MAX_RANK] = {false};
    uint32_t rank = input_shape(op, 0)->rank;
    size_t count = 0;
    for (size_t i = 0; list && i < n; i++) {
        int64_t axis = axis_of(op, list[i], rank);
        if (axis < 0) {
            return;
        }
        wanted[axis] = true;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (wanted[i]) {
            axes[count++] = i;
        }
    }
    if (list) {
        ir_attr_ints(op->r->m, op->node, step->name, axes, count);
    }
}

static void make_perm_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = constant_ints(op, step->a, &n);
    uint32_t rank = input_shape(op, 0)->rank;
    bool seen[IR_MAX_RANK] = {false};
    if (!list) {
        return;
    }
    if (n != rank) {
        op_error(op, "a permutation of %zu axes: the rank is %lu", n, (unsigned long)rank);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = axis_of(op, list[i], rank);
        if (list[i] < 0) {
            return;
        }
        if (seen[list[i]]) {
            op_error(op, "axis %lld is in the permutation twice", (long long)list[i]);
            return;
        }
        seen[list[i]] = true;
    }
    ir_attr_ints(op->r->m, op->node, step->name, list, n);
}

static void make_pads_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = constant_ints(op, step->a, &n);
    uint32_t rank = input_shape(op, 0)->rank;
    if (!list) {
        return;
    }
    if (n != 2 * (size_t)rank) {
        op_error(op, "%zu paddings: expected %lu, two for each extent", n, 2 * (unsigned long)rank);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (list[i] < 0 || list[i] > INT32_MAX) {
            op_error(op, "padding %zu is %lld", i, (long long)list[i]);
            return;
        }
    }
    ir_attr_ints(op->r->m, op->node, step->name, list, n);
}

static void make_drop(tflite_op *op, const tflite_step *step) {
    op->dropped |= (uint32_t)1 << step->a;
}

/* ---- steps that make nothing: what a kernel of TFLite takes for granted ---- */

/* From 2^16 on every sum but 0 saturates an output of 8 or 16 bits, and the kernels' left shift of sums leaves 32 bits:
 * the scales are damaged, and what TFLite computes with them is overflow. */
static void check_multiplier(tflite_op *op, const tflite_step *step) {
    const ir_quant *x = &tensor_of(op, op->inputs[0])->quant, *w = &tensor_of(op, op->inputs[1])->quant;
    const ir_quant *y = &tensor_of(op, op->outputs[0])->quant;
    (void)step;
    for (uint32_t i = 0; x->n == 1 && y->n == 1 && i < w->n; i++) {
        if (!((double)x->scale[0] * (double)w->scale[i] / (double)y->scale[0] < 65536.0)) {
            op_error(op,
                     "the scales of input and filter (%lu) over that of the output are 65536 or more: every sum would "
                     "saturate",
                     (unsigned long)i);
            return;
        }
    }
}

/* ---- steps from outputs ---- */

static void make_out_shape(tflite_op *op, const tflite_step *step) {
    const ir_shape *s = &tensor_of(op, op->outputs[0])->shape;
    ir_attr_ints(op->r->m, op->node, step->name, s->dim, s->rank);
}

static void make_out_extents(tflite_op *op, const tflite_step *step) {
    const ir_attr *axis = ir_attr_find(op->node, "axis");
    if (!axis) {
        return;
    }
    int64_t *sizes = BASE_NEWS(op->r->arena, int64_t, op->output_count);
    for (size_t i = 0; i < op->output_count; i++) {
        const ir_shape *s = &tensor_of(op, op->outputs[i])->shape;
        if (axis->v.i >= (int64_t)s->rank) {
            op_error(op, "output %zu has shape %s: there is no axis %lld", i, ir_shape_print(op->r->arena, s),
                     (long long)axis->v.i);
            return;
        }
        sizes[i] = s->dim[axis->v.i];
    }
    ir_attr_ints(op->r->m, op->node, step->name, sizes, op->output_count);
}

/* ---- strided slices ---- */

typedef struct slice {
    int64_t begin[IR_MAX_RANK], strides[IR_MAX_RANK], extents[IR_MAX_RANK], shape[IR_MAX_RANK];
    size_t rank, shape_rank;
} slice;

typedef struct slice_spec {
    const int64_t *begin, *end, *strides;
    size_t n;
    int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
    bool end_is_offset;
} slice_spec;

static bool bit(int64_t mask, size_t i) {
    return i < 32 && (mask >> i & 1);
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

/* One extent of the input: which elements of it, in which order. */
static bool slice_extent(tflite_op *op, const slice_spec *in, size_t i, int64_t dim, slice *out) {
    int64_t stride = in->strides[i], begin = in->begin[i], end = in->end[i];
    bool shrink = bit(in->shrink_mask, i);
    if (!stride || stride < INT32_MIN || stride > INT32_MAX) {
        op_error(op, "stride %zu is %lld", i, (long long)stride);
        return false;
    }
    if (in->end_is_offset && (begin < INT32_MIN || begin > INT32_MAX || end < INT32_MIN || end > INT32_MAX)) {
        op_error(op, "begin %zu is %lld, its offset %lld", i, (long long)begin, (long long)end);
        return false;
    }
    end = in->end_is_offset ? begin + end : end;
    int64_t lo = stride > 0 ? 0 : -1, hi = stride > 0 ? dim : dim - 1;
    begin = begin < 0 ? (begin < -dim ? -1 : begin + dim) : begin;
    end = end < 0 ? (end < -dim ? -1 : end + dim) : end;
    bool from_mask = bit(in->begin_mask, i);
    if (shrink && !from_mask && (begin < 0 || begin >= dim)) {
        op_error(op, "index %lld of an extent of %lld", (long long)in->begin[i], (long long)dim);
        return false;
    }
    begin = from_mask ? (stride > 0 ? 0 : dim - 1) : clamp(begin, lo, hi);
    end = bit(in->end_mask, i) ? (stride > 0 ? dim : -1) : clamp(end, lo, hi);
    int64_t extent = stride > 0 ? (end - begin + stride - 1) / stride : (begin - end - stride - 1) / -stride;
    extent = shrink ? 1 : extent > 0 ? extent : 0;
    out->begin[out->rank] = extent ? begin : 0;
    out->strides[out->rank] = shrink ? 1 : stride;
    out->extents[out->rank++] = extent;
    if (!shrink) {
        out->shape[out->shape_rank++] = extent;
    }
    return true;
}

/* Entries of the specification become extents of the input; the ellipsis, or the end, stands for the extents left
 * over. */
static bool slice_all(tflite_op *op, const slice_spec *in, const ir_shape *x, slice *out) {
    size_t entries = 0;
    for (size_t i = 0; i < in->n; i++) {
        entries += !bit(in->ellipsis_mask, i) && !bit(in->new_axis_mask, i);
    }
    if (entries > x->rank) {
        op_error(op, "%zu extents are sliced: the rank is %lu", entries, (unsigned long)x->rank);
        return false;
    }
    size_t whole = x->rank - entries;
    for (size_t i = 0; i <= in->n; i++) {
        if (i == in->n || bit(in->ellipsis_mask, i)) {
            for (; whole; whole--) {
                out->strides[out->rank] = 1;
                out->extents[out->rank] = out->shape[out->shape_rank++] = x->dim[out->rank];
                out->rank++;
            }
        } else if (bit(in->new_axis_mask, i)) {
            if (out->shape_rank >= IR_MAX_RANK) {
                op_error(op, "the result has more than %u extents", IR_MAX_RANK);
                return false;
            }
            out->shape[out->shape_rank++] = 1;
        } else if (!slice_extent(op, in, i, x->dim[out->rank], out)) {
            return false;
        }
        if (out->shape_rank > IR_MAX_RANK - whole) {
            op_error(op, "the result has more than %u extents", IR_MAX_RANK);
            return false;
        }
    }
    return true;
}

static void make_slice(tflite_op *op, const tflite_step *step) {
    (void)step;
    size_t n[3] = {0};
    int64_t *lists[3];
    for (int i = 0; i < 3; i++) {
        lists[i] = constant_ints(op, 1 + i, &n[i]);
        if (!lists[i]) {
            return;
        }
    }
    if (n[0] != n[1] || n[0] != n[2] || n[0] > 2 * IR_MAX_RANK) {
        op_error(op, "%zu begins, %zu ends, %zu strides", n[0], n[1], n[2]);
        return;
    }
    slice_spec in = {.begin = lists[0], .end = lists[1], .strides = lists[2], .n = n[0]};
    in.begin_mask = option_int(op, TFLITE_StridedSliceOptions_begin_mask);
    in.end_mask = option_int(op, TFLITE_StridedSliceOptions_end_mask);
    in.ellipsis_mask = option_int(op, TFLITE_StridedSliceOptions_ellipsis_mask);
    in.new_axis_mask = option_int(op, TFLITE_StridedSliceOptions_new_axis_mask);
    in.shrink_mask = option_int(op, TFLITE_StridedSliceOptions_shrink_axis_mask);
    in.end_is_offset = option_int(op, TFLITE_StridedSliceOptions_offset) != 0;
    slice out = {0};
    if (slice_all(op, &in, input_shape(op, 0), &out)) {
        ir_attr_ints(op->r->m, op->node, "begin", out.begin, out.rank);
        ir_attr_ints(op->r->m, op->node, "strides", out.strides, out.rank);
        ir_attr_ints(op->r->m, op->node, "extents", out.extents, out.rank);
        ir_attr_ints(op->r->m, op->node, "shape", out.shape, out.shape_rank);
    }
}

/* ---- the rows ---- */

#define ANY TFLITE_ANY
#define NOTHING                                                                                                        \
    { NULL, NULL, 0, 0 }
#define ACT(table)                                                                                                     \
    { make_act, "act", TFLITE_##table##_fused_activation_function, 0 }
#define PAIR(name, h, w)                                                                                               \
    { make_pair, name, TFLITE_##h, TFLITE_##w }
#define PADS(table)                                                                                                    \
    { make_pads, "pads", TFLITE_##table##_padding, 0 }
#define INT(name, field)                                                                                               \
    { make_int, name, TFLITE_##field, 0 }
#define FLOAT(name, field)                                                                                             \
    { make_float, name, TFLITE_##field, 0 }
#define AXIS(name, field, extra)                                                                                       \
    { make_axis, name, TFLITE_##field, extra }
#define AXIS_IN(name, input)                                                                                           \
    { make_axis_in, name, input, 0 }
#define AXES_IN(name, input)                                                                                           \
    { make_axes_in, name, input, 0 }
#define PERM_IN(name, input)                                                                                           \
    { make_perm_in, name, input, 0 }
#define PADS_IN(name, input)                                                                                           \
    { make_pads_in, name, input, 0 }
#define OUT_SHAPE(name)                                                                                                \
    { make_out_shape, name, 0, 0 }
#define OUT_EXTENTS(name)                                                                                              \
    { make_out_extents, name, 0, 0 }
#define SLICE                                                                                                          \
    { make_slice, NULL, 0, 0 }
#define DROP(input)                                                                                                    \
    { make_drop, NULL, input, 0 }
#define MULTIPLIER                                                                                                     \
    { check_multiplier, NULL, 0, 0 }
#define ONLY(field, value, what)                                                                                       \
    { make_only, what, TFLITE_##field, value }

static const tflite_word words[] = {
#define WORD(builtin, word, options, needed, most, outputs, ...)                                                       \
    {TFLITE_OP_##builtin, word, TFLITE_##options, needed, most, outputs, {__VA_ARGS__}},
#include "formats/tflite/dictionary.def"
#undef WORD
};

const tflite_word *tflite_word_of(int64_t builtin) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if ((int64_t)words[i].builtin == builtin) {
            return &words[i];
        }
    }
    return NULL;
}
