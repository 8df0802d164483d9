/* steps_moves.c - steps of the operators that move elements: shapes, slices, pads, pieces (words.def says what each does).
 *
 * Takes a node whose inputs have types and shapes. Gives attributes that say extents and places as numbers from 0. One extent
 * of a shape may follow from data: it is -1. Where another number would have to follow from one the node is not supported.
 */
#include "formats/onnx/steps.h"

#include <string.h>

/* A list of an attribute, or of constant input a; *list NULL: absent. false: a fault, or noted as not supported. */
static bool read_list(onnx_op *op, const onnx_step *s, const int64_t **list, size_t *n) {
    *list = s->attr ? onnx_op_ints(op, s->attr, n) : onnx_op_constant(op, (size_t)s->a, n);
    return !onnx_op_failed(op) && (s->attr || *list || !onnx_op_has_input(op, (size_t)s->a));
}

/* The same of a list that has to be there. */
static bool need_list(onnx_op *op, const onnx_step *s, const int64_t **list, size_t *n) {
    if (!read_list(op, s, list, n)) {
        return false;
    }
    if (!*list) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", s->attr ? s->attr : s->name);
    }
    return *list != NULL;
}

/* Of input 0. */
static const ir_shape *shape_of(onnx_op *op) {
    return &onnx_op_input(op, 0)->shape;
}

/* An extent of input 0 that a number is made of, which data must not decide. */
static bool is_number(onnx_op *op, int64_t axis) {
    const bool open = ir_shape_open(shape_of(op)) >> axis & 1;
    if (open) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s of an extent that data decides", op->type),
                            "leave what is behind it to the application");
    }
    return !open;
}

static bool fits_rank(onnx_op *op, size_t rank) {
    if (rank > IR_MAX_RANK) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "a tensor of %zu extents", rank),
                            base_printf(op->r->arena, "a tensor has at most %u", IR_MAX_RANK));
    }
    return rank <= IR_MAX_RANK;
}

static void set_ints(onnx_op *op, const char *name, const int64_t *list, size_t n) {
    ir_attr_ints(op->r->m, op->node, name, list, n);
}

/* A shape; the first of its extents that data decides (bit i: extent i) becomes -1. */
static void set_shape(onnx_op *op, const char *name, const int64_t *list, size_t n, uint32_t open) {
    int64_t out[IR_MAX_RANK + 1];
    for (size_t i = 0; i < n; i++) {
        out[i] = open >> i & 1 ? -1 : list[i];
        open = open >> i & 1 ? 0 : open;
    }
    set_ints(op, name, out, n);
}

/* ---- shapes ---- */

static void make_perm(onnx_op *op, const onnx_step *s) {
    size_t n;
    const uint32_t rank = onnx_op_input(op, 0)->shape.rank;
    const int64_t *perm = onnx_op_ints(op, s->attr, &n);
    int64_t list[IR_MAX_RANK + 1], sorted[IR_MAX_RANK + 1];
    if (onnx_op_failed(op)) {
        return;
    }
    if (perm && n != rank) {
        onnx_op_error(op, "%s: expected %lu values, got %zu", s->attr, (unsigned long)rank, n);
        return;
    }
    for (uint32_t i = 0; i < rank; i++) {
        list[i] = sorted[i] = perm ? perm[i] : (int64_t)(rank - 1 - i);
        if (list[i] < 0) {
            onnx_op_error(op, "%s: axis %lld of a tensor of %lu extents", s->attr, (long long)list[i],
                          (unsigned long)rank);
            return;
        }
    }
    if (onnx_op_axes(op, s->attr, sorted, rank, rank)) {
        set_ints(op, s->name, list, rank);
    }
}

/* A list as an attribute. */
static void put_list(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INTS);
    if (a) {
        onnx_out_ints(out, s->attr, a->v.ints, a->n);
    }
}
const onnx_step_kind onnx_step_perm = {"PERM", make_perm, put_list};

/* The extent that -1 stands for, so that there are as many elements as in the input; < 0: reported. */
static int64_t extent_left(onnx_op *op, const ir_shape *in, const int64_t *list, size_t n) {
    uint64_t have = 0, rest = 1;
    ir_shape others = {0};
    for (size_t i = 0; i < n; i++) {
        others.dim[others.rank] = list[i];
        others.rank += list[i] >= 0;
    }
    const bool counted = ir_shape_elements(in, &have) && ir_shape_elements(&others, &rest);
    if (!counted || !rest || have % rest) {
        onnx_op_error(op, "shape: the input has %llu elements, and the extents besides -1 are for %llu",
                      (unsigned long long)have, (unsigned long long)rest);
        return -1;
    }
    return (int64_t)(have / rest);
}

static void make_reshape(onnx_op *op, const onnx_step *s) {
    size_t n, open = SIZE_MAX;
    const int64_t *list;
    int64_t out[IR_MAX_RANK + 1];
    const bool zero = s->b && onnx_op_int(op, "allowzero", 0) != 0;
    if (!need_list(op, s, &list, &n) || !fits_rank(op, n)) {
        return;
    }
    const ir_shape *in = shape_of(op);
    const uint32_t computed = ir_shape_open(in);
    uint32_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (list[i] < -1 || (list[i] == -1 && open != SIZE_MAX) || (list[i] == 0 && !zero && i >= in->rank)) {
            onnx_op_error(op, list[i] == -1 ? "shape: entry %zu is a second -1" : "shape: entry %zu is %lld", i,
                          (long long)list[i]);
            return;
        }
        open = list[i] == -1 ? i : open;
        out[i] = list[i] == 0 && !zero ? in->dim[i] : list[i];
        left |= list[i] == 0 && !zero ? computed & 1u << i : 0;
    }
    if (open != SIZE_MAX && computed) {
        left = left ? left : 1u << open; /* with both, the other one is a number that would follow from data */
        out[open] = left == 1u << open ? -1 : extent_left(op, in, out, n);
    } else if (open != SIZE_MAX) {
        out[open] = extent_left(op, in, out, n);
    }
    if (!onnx_op_failed(op)) {
        set_shape(op, s->name, out, n, left);
    }
}

/* Every shape is one of the latest version. */
static void put_reshape(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INTS);
    bool zero = false, open = false;
    for (size_t i = 0; a && i < a->n; i++) {
        zero = zero || a->v.ints[i] == 0;
        open = open || a->v.ints[i] < 0;
    }
    if (s->attr || (zero && (open || !s->b))) {
        onnx_out_cannot(out, "its %s has an extent of 0", s->name);
    } else if (a) {
        if (zero) {
            onnx_out_int(out, "allowzero", 1);
        }
        onnx_out_list(out, (size_t)s->a, s->name, a->v.ints, a->n);
    }
}
const onnx_step_kind onnx_step_reshape = {"RESHAPE", make_reshape, put_reshape};

static void make_flatten(onnx_op *op, const onnx_step *s) {
    const ir_shape *in = shape_of(op);
    const int64_t axis = onnx_op_int(op, s->attr, s->a);
    const int64_t at = axis < 0 ? axis + (int64_t)in->rank : axis;
    if (onnx_op_failed(op)) {
        return;
    }
    if (at < 0 || at > (int64_t)in->rank) {
        onnx_op_error(op, "%s: axis %lld of a tensor of %lu extents", s->attr, (long long)axis,
                      (unsigned long)in->rank);
        return;
    }
    ir_shape halves[2] = {{0}, {0}};
    uint64_t n[2] = {0, 0};
    uint32_t open = 0;
    for (uint32_t i = 0; i < in->rank; i++) {
        const bool behind = (int64_t)i >= at;
        halves[behind].dim[halves[behind].rank++] = in->dim[i];
        open |= (ir_shape_open(in) >> i & 1u) << behind;
    }
    if (ir_shape_elements(&halves[0], &n[0]) && ir_shape_elements(&halves[1], &n[1])) {
        set_shape(op, s->name, (const int64_t[]){(int64_t)n[0], (int64_t)n[1]}, 2, open);
    } else {
        onnx_op_error(op, "the input has too many elements");
    }
}
const onnx_step_kind onnx_step_flatten = {"FLATTEN", make_flatten, NULL};

static void make_squeeze(onnx_op *op, const onnx_step *s) {
    size_t n, rank = 0;
    const int64_t *given;
    int64_t axes[IR_MAX_RANK], out[IR_MAX_RANK];
    const ir_shape *in = shape_of(op);
    const uint32_t computed = ir_shape_open(in);
    uint32_t open = 0;
    if (!read_list(op, s, &given, &n)) {
        return;
    }
    if (n > in->rank) {
        onnx_op_error(op, "axes: %zu of a tensor of %lu extents", n, (unsigned long)in->rank);
        return;
    }
    memcpy(axes, given ? given : axes, n * sizeof *axes);
    if (!onnx_op_axes(op, "axes", axes, n, in->rank)) {
        return;
    }
    for (uint32_t i = 0, k = 0; i < in->rank; i++) {
        const bool named = k < n && axes[k] == (int64_t)i;
        k += named;
        const bool one = in->dim[i] == 1 && !(computed >> i & 1);
        if (named && !one) {
            onnx_op_error(op, "axes: extent %lu is %lld: expected 1", (unsigned long)i, (long long)in->dim[i]);
            return;
        }
        if (n ? !named : !one) {
            open |= (computed >> i & 1) << rank;
            out[rank++] = in->dim[i];
        }
    }
    set_shape(op, s->name, out, rank, open);
}
const onnx_step_kind onnx_step_squeeze = {"SQUEEZE", make_squeeze, NULL};

static void make_unsqueeze(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *given;
    int64_t axes[IR_MAX_RANK], out[IR_MAX_RANK];
    const ir_shape *in = shape_of(op);
    uint32_t open = 0;
    if (!need_list(op, s, &given, &n) || !fits_rank(op, in->rank + n)) {
        return;
    }
    const uint32_t rank = in->rank + (uint32_t)n;
    memcpy(axes, given, n * sizeof *axes);
    if (!onnx_op_axes(op, "axes", axes, n, rank)) {
        return;
    }
    for (uint32_t i = 0, k = 0; i < rank; i++) {
        const bool made = k < n && axes[k] == (int64_t)i;
        out[i] = made ? 1 : in->dim[i - k];
        open |= made ? 0 : (ir_shape_open(in) >> (i - k) & 1) << i;
        k += made;
    }
    set_shape(op, s->name, out, rank, open);
}
const onnx_step_kind onnx_step_unsqueeze = {"UNSQUEEZE", make_unsqueeze, NULL};

static void make_expand(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *list;
    int64_t out[IR_MAX_RANK];
    const ir_shape *in = shape_of(op);
    if (!need_list(op, s, &list, &n) || !fits_rank(op, n)) {
        return;
    }
    const uint32_t rank = in->rank > n ? in->rank : (uint32_t)n;
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t have = i + in->rank < rank ? 1 : in->dim[i + in->rank - rank];
        const int64_t want = i + n < rank ? 1 : list[i + n - rank];
        if (i + in->rank >= rank && want != 1 && !is_number(op, (int64_t)(i + in->rank - rank))) {
            return;
        }
        if (want < 0 || (have != want && have != 1 && want != 1)) {
            onnx_op_error(op, "shape: the input's extent %lld does not become %lld", (long long)have, (long long)want);
            return;
        }
        out[i] = have == 1 ? want : have;
    }
    set_ints(op, s->name, out, rank);
}

static void put_expand(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INTS);
    if (a) {
        onnx_out_list(out, (size_t)s->a, s->name, a->v.ints, a->n);
    }
}
const onnx_step_kind onnx_step_expand = {"EXPAND", make_expand, put_expand};

static void make_fill(onnx_op *op, const onnx_step *s) {
    static const float zero = 0;
    const ir_shape scalar = {0};
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_TENSOR);
    ir_tensor t = {.type = BASE_F32, .data = &zero};
    const wire_path path = {.outer = op->path, .name = s->attr, .index = WIRE_NO_INDEX};
    uint64_t n = 1;
    if (onnx_op_failed(op) || (a && !onnx_read_tensor(op->r, &path, a->message, &t))) {
        return;
    }
    if (!ir_shape_elements(&t.shape, &n) || n != 1) {
        onnx_op_error(op, "%s: it has %llu elements: expected 1", s->attr, (unsigned long long)n);
        return;
    }
    onnx_op_add_constant(op, s->attr, t.type, &scalar, t.data);
}
const onnx_step_kind onnx_step_fill = {"FILL", make_fill, NULL};

/* ---- slices ---- */

typedef struct slices {
    const int64_t *starts, *ends, *axes, *steps;
    size_t n, n_ends, n_axes, n_steps;
} slices;

static int64_t clamp(int64_t x, int64_t least, int64_t most) {
    return x < least ? least : x > most ? most : x;
}

/* Of one axis: from where, in which steps, how many. Of no element none, which backward would begin at place 0. */
static void slice_axis(int64_t extent, int64_t start, int64_t end, int64_t step, int64_t out[3]) {
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? extent - 1 : extent;
    start = clamp(start < 0 ? start + extent : start, step < 0 ? 0 : low, high);
    end = clamp(end < 0 ? end + extent : end, low, high);
    const uint64_t gap =
        step < 0 ? (uint64_t)(start > end ? start - end : 0) : (uint64_t)(end > start ? end - start : 0);
    const uint64_t pace = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    const uint64_t count = extent ? gap / pace + (gap % pace != 0) : 0;
    out[0] = count ? start : 0;
    out[1] = count > 1 ? step : 1;
    out[2] = (int64_t)count;
}

static void make_slices(onnx_op *op, const slices *l) {
    int64_t begin[IR_MAX_RANK], steps[IR_MAX_RANK], extents[IR_MAX_RANK];
    bool given[IR_MAX_RANK] = {false};
    const ir_shape *in = shape_of(op);
    uint32_t open = ir_shape_open(in);
    if (l->n != l->n_ends || (l->axes && l->n_axes != l->n) || (l->steps && l->n_steps != l->n) || l->n > in->rank) {
        onnx_op_error(op, "%zu starts, %zu ends, %zu axes, %zu steps of a tensor of %lu extents", l->n, l->n_ends,
                      l->axes ? l->n_axes : l->n, l->steps ? l->n_steps : l->n, (unsigned long)in->rank);
        return;
    }
    for (uint32_t i = 0; i < in->rank; i++) {
        begin[i] = 0;
        steps[i] = 1;
        extents[i] = in->dim[i];
    }
    for (size_t i = 0; i < l->n; i++) {
        const int64_t step = l->steps ? l->steps[i] : 1;
        const int64_t axis = onnx_op_axis(op, "axes", l->axes ? l->axes[i] : (int64_t)i, in->rank);
        if (axis < 0 || given[axis] || !step) {
            onnx_op_error(op, step ? "axes: one is given twice" : "steps: a step is 0");
            return;
        }
        int64_t out[3];
        given[axis] = true;
        slice_axis(in->dim[axis], l->starts[i], l->ends[i], step, out);
        const bool whole = l->starts[i] == 0 && step == 1 && l->ends[i] >= INT32_MAX;
        if (!whole && !is_number(op, axis)) {
            return;
        }
        begin[axis] = out[0];
        steps[axis] = out[1];
        extents[axis] = out[2];
    }
    set_ints(op, "begin", begin, in->rank);
    set_ints(op, "strides", steps, in->rank);
    set_shape(op, "extents", extents, in->rank, open);
    set_shape(op, "shape", extents, in->rank, open);
}

static void make_slice(onnx_op *op, const onnx_step *s) {
    slices l = {0};
    const bool ok = need_list(op, &(onnx_step){.attr = "starts"}, &l.starts, &l.n) &&
                    need_list(op, &(onnx_step){.attr = "ends"}, &l.ends, &l.n_ends) &&
                    read_list(op, &(onnx_step){.attr = "axes"}, &l.axes, &l.n_axes);
    (void)s;
    if (ok) {
        make_slices(op, &l);
    }
}
const onnx_step_kind onnx_step_slice = {"SLICE", make_slice, NULL};

static void make_slice_in(onnx_op *op, const onnx_step *s) {
    slices l = {0};
    const bool ok = need_list(op, &(onnx_step){.name = "starts", .a = 1}, &l.starts, &l.n) &&
                    need_list(op, &(onnx_step){.name = "ends", .a = 2}, &l.ends, &l.n_ends) &&
                    read_list(op, &(onnx_step){.name = "axes", .a = 3}, &l.axes, &l.n_axes) &&
                    read_list(op, &(onnx_step){.name = "steps", .a = 4}, &l.steps, &l.n_steps);
    (void)s;
    if (ok) {
        make_slices(op, &l);
    }
}

/* Of all axes; an end before the first element is said by the least number. */
static void put_slice_in(onnx_out *out, const onnx_step *s) {
    const ir_attr *begin = onnx_out_attr(out, "begin", IR_INTS), *strides = onnx_out_attr(out, "strides", IR_INTS);
    const ir_attr *extents = onnx_out_attr(out, "extents", IR_INTS), *shape = onnx_out_attr(out, "shape", IR_INTS);
    const uint32_t rank = onnx_out_input(out, 0)->shape.rank;
    int64_t ends[IR_MAX_RANK], axes[IR_MAX_RANK];
    (void)s;
    if (!begin || !strides || !extents || !shape || begin->n != rank || strides->n != rank || extents->n != rank) {
        onnx_out_cannot(out, "it is not of as many axes as its input");
        return;
    }
    if (shape->n != rank || memcmp(shape->v.ints, extents->v.ints, rank * sizeof *shape->v.ints) != 0) {
        onnx_out_cannot(out, "its shape is not of its extents");
        return;
    }
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t end = begin->v.ints[i] + extents->v.ints[i] * strides->v.ints[i];
        ends[i] = extents->v.ints[i] < 0 ? INT64_MAX : end < 0 ? INT64_MIN : end;
        axes[i] = (int64_t)i;
    }
    onnx_out_list(out, 1, "starts", begin->v.ints, rank);
    onnx_out_list(out, 2, "ends", ends, rank);
    onnx_out_list(out, 3, "axes", axes, rank);
    onnx_out_list(out, 4, "steps", strides->v.ints, rank);
}
const onnx_step_kind onnx_step_slice_in = {"SLICE_IN", make_slice_in, put_slice_in};

/* ---- pads ---- */

enum { MOST_PAD = INT32_MAX };

/* Pads of all extents, [before, after, before, after ..], from ONNX's of some: all that come before, then all behind. */
static void set_pads(onnx_op *op, const int64_t *pads, size_t n, const int64_t *axes, size_t n_axes) {
    int64_t out[2 * IR_MAX_RANK] = {0};
    bool given[IR_MAX_RANK] = {false};
    const uint32_t rank = onnx_op_input(op, 0)->shape.rank;
    const size_t count = axes ? n_axes : rank;
    if (n != 2 * count) {
        onnx_op_error(op, "pads: expected %zu values, got %zu", 2 * count, n);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t axis = onnx_op_axis(op, "axes", axes ? axes[i] : (int64_t)i, rank);
        if (axis < 0 || given[axis]) {
            onnx_op_error(op, "axes: one is given twice");
            return;
        }
        given[axis] = true;
        for (size_t k = 0; k < 2; k++) {
            const int64_t pad = pads[i + k * count];
            if (pad < -MOST_PAD || pad > MOST_PAD) {
                onnx_op_error(op, "pads: %lld is no number of elements", (long long)pad);
                return;
            }
            out[2 * axis + (int64_t)k] = pad;
        }
    }
    set_ints(op, "pads", out, (size_t)rank * 2);
}

/* The mode; a value that is an input (b: its number, 0: it is an attribute) stays one only where it counts. */
static void make_pad(onnx_op *op, const onnx_step *s) {
    size_t n, n_axes = 0;
    const int64_t *pads, *axes = NULL;
    const char *mode = onnx_op_text(op, "mode", "constant");
    if (!need_list(op, s, &pads, &n) ||
        (s->b && !read_list(op, &(onnx_step){.name = "axes", .a = 3}, &axes, &n_axes))) {
        return;
    }
    set_pads(op, pads, n, axes, n_axes);
    const bool constant = strcmp(mode, "constant") == 0;
    if (!constant) {
        ir_attr_text(op->r->m, op->node, "mode", mode);
    }
    if (s->b) {
        op->dropped[2] = op->input_count > 2 && (!constant || op->dropped[2]);
    } else if (constant) {
        onnx_step_scalar.make(op, &(onnx_step){.attr = "value"});
    } else {
        (void)onnx_op_float(op, "value", 0);
    }
}

/* Of all axes, in the latest version. */
static void put_pad(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INTS), *mode = onnx_out_optional(out, "mode", IR_TEXT);
    int64_t *pads = BASE_NEWS(out->arena, int64_t, a ? a->n + 1 : 1);
    for (size_t i = 0; a && i < a->n; i++) {
        pads[i % 2 * (a->n / 2) + i / 2] = a->v.ints[i];
    }
    if (!s->b || onnx_out_input(out, 0)->quant.n) {
        onnx_out_cannot(out, s->b ? "its values are quantised" : "it is of an earlier version");
    } else if (a) {
        onnx_out_list(out, (size_t)s->a, s->name, pads, a->n);
    }
    if (mode) {
        onnx_out_text(out, "mode", mode->v.text);
    }
}
const onnx_step_kind onnx_step_pad = {"PAD", make_pad, put_pad};

static void make_center(onnx_op *op, const onnx_step *s) {
    size_t n, n_axes;
    const int64_t *shape;
    const ir_shape *in = shape_of(op);
    const int64_t *axes = onnx_op_ints(op, "axes", &n_axes);
    if (!need_list(op, s, &shape, &n) || onnx_op_failed(op)) {
        return;
    }
    if (n != (axes ? n_axes : in->rank) || n > in->rank) {
        onnx_op_error(op, "shape: expected %zu values, got %zu", axes ? n_axes : (size_t)in->rank, n);
        return;
    }
    int64_t pads[2 * IR_MAX_RANK];
    for (size_t i = 0; i < n; i++) {
        const int64_t axis = onnx_op_axis(op, "axes", axes ? axes[i] : (int64_t)i, in->rank);
        if (axis >= 0 && !is_number(op, axis)) {
            return;
        }
        if (axis < 0 || shape[i] < 0 || shape[i] > MOST_PAD) {
            onnx_op_error(op, "shape: %lld is no extent", (long long)shape[i]);
            return;
        }
        const int64_t have = in->dim[axis];
        pads[i] = shape[i] < have ? -((have - shape[i]) / 2) : (shape[i] - have) / 2;
        pads[i + n] = shape[i] - have - pads[i];
    }
    set_pads(op, pads, 2 * n, axes, n_axes);
}
const onnx_step_kind onnx_step_center = {"CENTER", make_center, NULL};

/* ---- pieces and copies ---- */

static void make_split(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *given;
    const int64_t axis = onnx_op_axis(op, "axis", onnx_op_int(op, "axis", 0), onnx_op_input(op, 0)->shape.rank);
    const ir_shape *in = axis < 0 || !is_number(op, axis) ? NULL : shape_of(op);
    const int64_t count =
        s->b ? onnx_op_int(op, "num_outputs", (int64_t)op->listed_outputs) : (int64_t)op->listed_outputs;
    if (!in || !read_list(op, s, &given, &n) ||
        (!given && !read_list(op, &(onnx_step){.name = s->name, .a = s->a}, &given, &n))) {
        return;
    }
    const size_t pieces = given ? n : op->listed_outputs;
    if (pieces != op->listed_outputs || (!given && count != (int64_t)pieces)) {
        onnx_op_error(op, "it has %zu outputs: expected %lld", op->listed_outputs,
                      given ? (long long)n : (long long)count);
        return;
    }
    int64_t *sizes = BASE_NEWS(op->r->arena, int64_t, pieces + 1);
    const int64_t each = (in->dim[axis] + (int64_t)pieces - 1) / (int64_t)pieces;
    for (size_t i = 0; i < pieces; i++) {
        const int64_t left = in->dim[axis] - each * (int64_t)i;
        sizes[i] = given ? given[i] : left < each ? left : each;
        if (sizes[i] < 0 || sizes[i] > in->dim[axis]) {
            onnx_op_error(op, "split: piece %zu of an extent of %lld cannot be had", i, (long long)in->dim[axis]);
            return;
        }
    }
    ir_attr_int(op->r->m, op->node, "axis", axis);
    set_ints(op, s->name, sizes, pieces);
}

static void put_split(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INTS), *axis = onnx_out_attr(out, "axis", IR_INT);
    if (a && a->n != out->node->output_count) {
        onnx_out_cannot(out, "some of its pieces are no outputs");
    } else if (s->attr) {
        onnx_out_cannot(out, "it is of an earlier version");
    } else if (a && axis) {
        onnx_out_int(out, "axis", axis->v.i);
        onnx_out_list(out, (size_t)s->a, s->name, a->v.ints, a->n);
    }
}
const onnx_step_kind onnx_step_split = {"SPLIT", make_split, put_split};

/* How often, and along which axis: the first version's two inputs. */
static void make_tile_axis(onnx_op *op, const onnx_step *s) {
    size_t n = 0, n_axis = 0;
    const int64_t *tiles = onnx_op_constant(op, 1, &n);
    const int64_t *axes = onnx_op_constant(op, 2, &n_axis);
    const uint32_t rank = onnx_op_input(op, 0)->shape.rank;
    int64_t out[IR_MAX_RANK];
    if (!tiles || !axes) {
        return;
    }
    if (n != 1 || n_axis != 1) {
        onnx_op_error(op, "%zu tiles and %zu axes: expected one of each", n, n_axis);
        return;
    }
    const int64_t axis = onnx_op_axis(op, "axis", axes[0], rank);
    for (uint32_t i = 0; i < rank; i++) {
        out[i] = (int64_t)i == axis ? tiles[0] : 1;
    }
    if (axis >= 0) {
        set_ints(op, s->name, out, rank);
    }
}
const onnx_step_kind onnx_step_tile_axis = {"TILE_AXIS", make_tile_axis, NULL};
