/* steps_slices.c - the dictionary's steps of slices: begins, ends and strides with TFLite's five masks, and begins with
 * sizes, become places and extents, and back.
 *
 * Takes an operator whose tensors and options are verified, or a node. Gives attributes, or constant inputs and masks.
 */
#include "formats/tflite/steps.h"

/* ---- SLICE ---- */

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
        tflite_op_error(op, "stride %zu is %lld", i, (long long)stride);
        return false;
    }
    if (in->end_is_offset && (begin < INT32_MIN || begin > INT32_MAX || end < INT32_MIN || end > INT32_MAX)) {
        tflite_op_error(op, "begin %zu is %lld, its offset %lld", i, (long long)begin, (long long)end);
        return false;
    }
    end = in->end_is_offset ? begin + end : end;
    int64_t lo = stride > 0 ? 0 : -1, hi = stride > 0 ? dim : dim - 1;
    begin = begin < 0 ? (begin < -dim ? -1 : begin + dim) : begin;
    end = end < 0 ? (end < -dim ? -1 : end + dim) : end;
    bool from_mask = bit(in->begin_mask, i);
    if (shrink && !from_mask && (begin < 0 || begin >= dim)) {
        tflite_op_error(op, "index %lld of an extent of %lld", (long long)in->begin[i], (long long)dim);
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
        tflite_op_error(op, "%zu extents are sliced: the rank is %lu", entries, (unsigned long)x->rank);
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
                tflite_op_error(op, "the result has more than %u extents", IR_MAX_RANK);
                return false;
            }
            out->shape[out->shape_rank++] = 1;
        } else if (!slice_extent(op, in, i, x->dim[out->rank], out)) {
            return false;
        }
        if (out->shape_rank > IR_MAX_RANK - whole) {
            tflite_op_error(op, "the result has more than %u extents", IR_MAX_RANK);
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
        lists[i] = tflite_op_constant(op, 1 + i, &n[i]);
        if (!lists[i]) {
            return;
        }
    }
    if (n[0] != n[1] || n[0] != n[2] || n[0] > 2 * IR_MAX_RANK) {
        tflite_op_error(op, "%zu begins, %zu ends, %zu strides", n[0], n[1], n[2]);
        return;
    }
    slice_spec in = {.begin = lists[0], .end = lists[1], .strides = lists[2], .n = n[0]};
    in.begin_mask = tflite_op_option(op, TFLITE_StridedSliceOptions_begin_mask);
    in.end_mask = tflite_op_option(op, TFLITE_StridedSliceOptions_end_mask);
    in.ellipsis_mask = tflite_op_option(op, TFLITE_StridedSliceOptions_ellipsis_mask);
    in.new_axis_mask = tflite_op_option(op, TFLITE_StridedSliceOptions_new_axis_mask);
    in.shrink_mask = tflite_op_option(op, TFLITE_StridedSliceOptions_shrink_axis_mask);
    in.end_is_offset = tflite_op_option(op, TFLITE_StridedSliceOptions_offset) != 0;
    slice out = {0};
    if (slice_all(op, &in, &tflite_op_input(op, 0)->shape, &out)) {
        ir_attr_ints(op->r->m, op->node, "begin", out.begin, out.rank);
        ir_attr_ints(op->r->m, op->node, "strides", out.strides, out.rank);
        ir_attr_ints(op->r->m, op->node, "extents", out.extents, out.rank);
        ir_attr_ints(op->r->m, op->node, "shape", out.shape, out.shape_rank);
    }
}

/* ---- the inverse ---- */

/* A run of axes of extent 1 between two larger ones: `out` of them stay in the result's shape. The others are shrunk
 * away, those with a stride of 1 first, since a shrunk axis has no other. */
static void shrink_run(const int64_t *strides, bool *shrunk, size_t from, size_t to, size_t out) {
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = to; i-- > from && to - from > out;) {
            size_t left = 0;
            for (size_t k = from; k < to; k++) {
                left += !shrunk[k];
            }
            if (left > out && !shrunk[i] && (pass || strides[i] == 1)) {
                shrunk[i] = true;
            }
        }
    }
}

/* Which extents are shrunk away, and how many new ones of 1 stand before extent i (or at the end); false: the shape is
 * not the extents with ones left out and put in. */
static bool match_shape(const ir_attr *extents, const ir_attr *strides, const ir_attr *shape, bool *shrunk,
                        size_t *fresh) {
    size_t i = 0, k = 0;
    for (;;) {
        size_t from = i, ones = 0;
        while (i < extents->n && extents->v.ints[i] == 1) {
            i++;
        }
        while (k < shape->n && shape->v.ints[k] == 1) {
            k++, ones++;
        }
        fresh[i] = ones > i - from ? ones - (i - from) : 0;
        shrink_run(strides->v.ints, shrunk, from, i, ones);
        if (i == extents->n || k == shape->n) {
            return i == extents->n && k == shape->n;
        }
        if (extents->v.ints[i++] != shape->v.ints[k++]) {
            return false;
        }
    }
}

static bool all_fit(const ir_attr *a) {
    for (size_t i = 0; i < a->n; i++) {
        if (a->v.ints[i] < INT32_MIN || a->v.ints[i] > INT32_MAX) {
            return false;
        }
    }
    return true;
}

static void put_slice(tflite_out *out, const tflite_step *step) {
    (void)step;
    const ir_attr *begin = tflite_out_attr(out, "begin", IR_INTS), *strides = tflite_out_attr(out, "strides", IR_INTS);
    const ir_attr *extents = tflite_out_attr(out, "extents", IR_INTS), *shape = tflite_out_attr(out, "shape", IR_INTS);
    const ir_shape *x = &tflite_out_input(out, 0)->shape;
    int64_t lists[3][2 * IR_MAX_RANK + 1], end_mask = 0, new_axis_mask = 0, shrink_mask = 0;
    bool shrunk[IR_MAX_RANK] = {false};
    size_t fresh[IR_MAX_RANK + 1] = {0}, n = 0;
    if (!begin || !strides || !extents || !shape || begin->n != x->rank || strides->n != x->rank ||
        extents->n != x->rank || shape->n > IR_MAX_RANK || !all_fit(begin) || !all_fit(strides) || !all_fit(extents) ||
        !match_shape(extents, strides, shape, shrunk, fresh)) {
        tflite_out_cannot(out, "its shape is not that of its slice");
        return;
    }
    for (size_t i = 0; i <= x->rank; i++) {
        for (size_t k = 0; k < fresh[i]; k++, n++) {
            new_axis_mask |= (int64_t)1 << n;
            lists[0][n] = lists[1][n] = 0;
            lists[2][n] = 1;
        }
        if (i == x->rank) {
            break;
        }
        int64_t stride = shrunk[i] ? 1 : strides->v.ints[i], end = begin->v.ints[i] + stride * extents->v.ints[i];
        shrink_mask |= (int64_t)shrunk[i] << n;
        end_mask |= (int64_t)(end < 0) << n; /* only a negative stride gets there, and takes all that is left */
        lists[0][n] = begin->v.ints[i];
        lists[1][n] = end < 0 ? 0 : end > x->dim[i] ? x->dim[i] : end;
        lists[2][n++] = stride;
    }
    static const char *const names[] = {"begin", "end", "strides"};
    for (size_t i = 0; i < 3; i++) {
        tflite_out_list(out, 1 + i, names[i], lists[i], n);
    }
    tflite_out_int(out, TFLITE_StridedSliceOptions_end_mask, end_mask);
    tflite_out_int(out, TFLITE_StridedSliceOptions_new_axis_mask, new_axis_mask);
    tflite_out_int(out, TFLITE_StridedSliceOptions_shrink_axis_mask, shrink_mask);
}

const tflite_step_kind tflite_step_slice = {"SLICE", make_slice, put_slice};

/* ---- WINDOW_IN ---- */

/* A size of -1 is all that is left, which needs a begin that is known. */
static void make_window_in(tflite_op *op, const tflite_step *step) {
    (void)step;
    const ir_tensor *x = tflite_op_input(op, 0);
    bool fixed = tflite_op_input(op, 1)->data != NULL;
    size_t n, begins = x->shape.rank;
    int64_t *size = tflite_op_constant(op, 2, &n), *begin = fixed ? tflite_op_constant(op, 1, &begins) : NULL;
    if (!size || (fixed && !begin)) {
        return;
    }
    if (n != x->shape.rank || begins != x->shape.rank) {
        tflite_op_error(op, "%zu begins and %zu sizes: the rank is %lu", begins, n, (unsigned long)x->shape.rank);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (size[i] == -1 && !fixed) {
            tflite_unsupported(
                op->r, op->path, op->table.at,
                base_printf(op->r->arena, "operator %s with a size of -1 from a computed begin", op->name),
                "convert the model with its begin constant, or with its size");
            return;
        }
        int64_t from = fixed ? begin[i] : 0;
        if (from < 0 || from > x->shape.dim[i] || size[i] < -1 || size[i] > x->shape.dim[i] - from) {
            tflite_op_error(op, "begin %lld and size %lld of an extent of %lld", (long long)from, (long long)size[i],
                            (long long)x->shape.dim[i]);
            return;
        }
        size[i] = size[i] < 0 ? x->shape.dim[i] - from : size[i];
    }
    if (fixed) {
        ir_attr_ints(op->r->m, op->node, "begin", begin, n);
    }
    ir_attr_ints(op->r->m, op->node, "extents", size, n);
}

static void put_window_in(tflite_out *out, const tflite_step *step) {
    (void)step;
    const ir_attr *begin = out->node->input_count > 1 ? NULL : tflite_out_attr(out, "begin", IR_INTS);
    const ir_attr *extents = tflite_out_attr(out, "extents", IR_INTS);
    if (begin) {
        tflite_out_list(out, 1, "begin", begin->v.ints, begin->n);
    }
    if (extents) {
        tflite_out_list(out, 2, "size", extents->v.ints, extents->n);
    }
}

const tflite_step_kind tflite_step_window_in = {"WINDOW_IN", make_window_in, put_window_in};
