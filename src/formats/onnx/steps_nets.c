/* steps_nets.c - steps for windows and normalisations: kernels, strides and padding in the ways that ONNX says them
 * (words.def says what each does).
 *
 * Every extent of the window stays below 2^31, so that no sum of them wraps.
 */
#include "formats/onnx/steps.h"

#include <string.h>

enum { MOST = INT32_MAX };

typedef struct window {
    size_t rank;
    const int64_t *extents; /* of the input, behind N and C */
    int64_t kernel[IR_MAX_RANK], strides[IR_MAX_RANK], dilations[IR_MAX_RANK];
    int64_t pads[2 * IR_MAX_RANK];
    const char *padding; /* auto_pad */
} window;

/* An attribute of n numbers from least to 2^31 - 1; of none: out stays. */
static void read_list(onnx_op *op, const char *name, size_t n, int64_t least, int64_t *out) {
    size_t given;
    const int64_t *list = onnx_op_ints(op, name, &given);
    if (list && given != n) {
        onnx_op_error(op, "%s: expected %zu values, got %zu", name, n, given);
        return;
    }
    for (size_t i = 0; list && i < n && !onnx_op_failed(op); i++) {
        out[i] = list[i];
        if (out[i] < least || out[i] > MOST) {
            onnx_op_error(op, "%s: %lld: expected a number from %lld to 2^31-1", name, (long long)out[i],
                          (long long)least);
        }
    }
}

static bool is_same(const char *padding) {
    return !strcmp(padding, "SAME_UPPER") || !strcmp(padding, "SAME_LOWER");
}

/* As many places as there are elements, of which a stride takes one; what they need beyond the input is shared. Windows of a
 * stride above their reach leave elements over. A pool leaves half of them out in front, half rounded as ONNX Runtime rounds it
 * (its formula has no lower end); other windows begin at the first element. */
static void pad_same(window *w, bool pools) {
    const bool upper = !strcmp(w->padding, "SAME_UPPER");
    for (size_t i = 0; i < w->rank; i++) {
        const int64_t places = (w->extents[i] + w->strides[i] - 1) / w->strides[i];
        const int64_t all = (places - 1) * w->strides[i] + (w->kernel[i] - 1) * w->dilations[i] + 1 - w->extents[i];
        const int64_t total = places && (all > 0 || pools) ? all : 0;
        w->pads[i] = upper ? total / 2 : (total + 1) / 2;
        w->pads[w->rank + i] = total > 0 ? total - w->pads[i] : 0;
    }
}

/* What windows leave out in front of the input is cut off. */
static void begin_inside(onnx_op *op, window *w) {
    ir_shape shape = onnx_op_input(op, 0)->shape;
    int64_t begin[IR_MAX_RANK] = {0};
    bool any = false;
    for (size_t i = 0; i < w->rank; i++) {
        if (w->pads[i] < 0) {
            any = true;
            begin[2 + i] = -w->pads[i];
            shape.dim[2 + i] += w->pads[i];
            w->pads[i] = 0;
        }
    }
    if (any && op->output_count > 1) {
        onnx_op_unsupported(op, "places of the largest elements where windows begin inside the input",
                            "pads: the padding in numbers, in place of auto_pad");
    } else if (any) {
        onnx_op_slice(op, 0, begin, &shape);
    }
}

/* The input's extents, and the kernel: an attribute, or the extents of the weights at that input (0: there are none). */
static void read_kernel(onnx_op *op, size_t weights, window *w) {
    const ir_shape *x = &onnx_op_input(op, 0)->shape, *k = &onnx_op_input(op, weights)->shape;
    if (x->rank < 3 || k->rank != x->rank) {
        onnx_op_error(op, "an input of %lu extents%s: expected N, C and at least one more%s", (unsigned long)x->rank,
                      weights ? base_printf(op->r->arena, " and weights of %lu", (unsigned long)k->rank) : "",
                      weights ? ", of both as many" : "");
        return;
    }
    w->rank = x->rank - 2;
    w->extents = x->dim + 2;
    for (size_t i = 0; i < w->rank; i++) {
        w->kernel[i] = weights ? k->dim[2 + i] : 0;
        if (x->dim[2 + i] > MOST || w->kernel[i] > MOST) {
            onnx_op_error(op, "extents above 2^31-1");
            return;
        }
    }
    read_list(op, "kernel_shape", w->rank, 1, w->kernel);
    for (size_t i = 0; i < w->rank && !onnx_op_failed(op); i++) {
        if (weights && w->kernel[i] != k->dim[2 + i]) {
            onnx_op_error(op, "kernel_shape: %lld, and the weights have %lld", (long long)w->kernel[i],
                          (long long)k->dim[2 + i]);
        } else if (!weights && !w->kernel[i]) {
            onnx_op_error(op, "kernel_shape: it is absent, and the operator needs it");
        }
    }
}

/* All but the padding; auto_pad in `padding`. */
static void read_window(onnx_op *op, size_t weights, bool dilated, bool automatic, window *w) {
    static const char *const known[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    *w = (window){.padding = "NOTSET"};
    read_kernel(op, weights, w);
    for (size_t i = 0; i < IR_MAX_RANK; i++) {
        w->strides[i] = w->dilations[i] = 1;
    }
    if (onnx_op_failed(op)) {
        return;
    }
    read_list(op, "strides", w->rank, 1, w->strides);
    if (dilated) {
        read_list(op, "dilations", w->rank, 1, w->dilations);
    }
    if (!automatic || onnx_op_failed(op)) {
        return;
    }
    w->padding = onnx_op_text(op, "auto_pad", "NOTSET");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(w->padding, known[i])) {
            return;
        }
    }
    onnx_op_error(op, "auto_pad: \"%s\": expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", w->padding);
}

static void set_window(onnx_op *op, const window *w) {
    ir_attr_ints(op->r->m, op->node, "strides", w->strides, w->rank);
    ir_attr_ints(op->r->m, op->node, "dilations", w->dilations, w->rank);
    ir_attr_ints(op->r->m, op->node, "pads", w->pads, 2 * w->rank);
}

/* a: the input of the weights, 0: none; b: it has dilations, or b 2: it has those, and no auto_pad. */
static void make_window(onnx_op *op, const onnx_step *s) {
    window w;
    read_window(op, (size_t)s->a, s->b != 0, s->b != 2, &w);
    if (!onnx_op_failed(op)) {
        read_list(op, "pads", 2 * w.rank, 0, w.pads);
    }
    if (onnx_op_failed(op)) {
        return;
    }
    if (is_same(w.padding)) {
        pad_same(&w, !s->a);
        begin_inside(op, &w);
    } else if (!strcmp(w.padding, "VALID")) {
        memset(w.pads, 0, sizeof w.pads);
    }
    set_window(op, &w);
    if (!s->a) {
        ir_attr_ints(op->r->m, op->node, "kernel_shape", w.kernel, w.rank);
    }
}
/* A list of numbers, of which some say nothing where they are all `otherwise`. */
static const ir_attr *put_list(onnx_out *out, const char *name, int64_t otherwise) {
    const ir_attr *a = onnx_out_attr(out, name, IR_INTS);
    bool all = a != NULL;
    for (size_t i = 0; all && i < a->n; i++) {
        all = a->v.ints[i] == otherwise;
    }
    if (a && !all) {
        onnx_out_ints(out, name, a->v.ints, a->n);
    }
    return all ? NULL : a;
}

/* Before version 22 an output whose last window stands on padding alone has that window, by the standard's text. */
static void check_ceiling(onnx_out *out) {
    const ir_attr *ceil = ir_attr_find(out->node, "ceil_mode"), *kernel = ir_attr_find(out->node, "kernel_shape"),
                  *strides = ir_attr_find(out->node, "strides"), *pads = ir_attr_find(out->node, "pads"),
                  *dilations = ir_attr_find(out->node, "dilations");
    const ir_shape *x = &onnx_out_input(out, 0)->shape, *y = &onnx_out_output(out, 0)->shape;
    for (size_t i = 0; ceil && ceil->v.i && kernel && out->opset < 22 && i < kernel->n && i + 2 < x->rank; i++) {
        const int64_t stride = strides && i < strides->n ? strides->v.ints[i] : 1,
                      reach = (kernel->v.ints[i] - 1) * (dilations && i < dilations->n ? dilations->v.ints[i] : 1) + 1,
                      more = pads && pads->n == 2 * kernel->n ? pads->v.ints[i] + pads->v.ints[kernel->n + i] : 0;
        if (y->dim[i + 2] != (x->dim[i + 2] + more - reach + stride - 1) / stride + 1) {
            onnx_out_cannot(out, "its last window would stand on padding alone, which versions before 22 count");
        }
    }
}

static void put_window(onnx_out *out, const onnx_step *s) {
    if (!s->a) {
        check_ceiling(out);
        put_list(out, "kernel_shape", 0);
    }
    put_list(out, "strides", 1);
    put_list(out, "pads", 0);
    if (s->b) {
        put_list(out, "dilations", 1);
        return;
    }
    const ir_attr *a = onnx_out_attr(out, "dilations", IR_INTS);
    for (size_t i = 0; a && i < a->n; i++) {
        if (a->v.ints[i] != 1) {
            onnx_out_cannot(out, "this version of the operator has no dilations");
        }
    }
}
const onnx_step_kind onnx_step_window = {"WINDOW", make_window, put_window};

/* What the output would have without padding, less what it shall have, is the padding. Only an output_shape makes it larger. */
static void pad_to(window *w, const int64_t *wanted, const int64_t *more, bool larger) {
    for (size_t i = 0; i < w->rank; i++) {
        const int64_t whole = w->strides[i] * (w->extents[i] - 1) + more[i] + (w->kernel[i] - 1) * w->dilations[i] + 1;
        const int64_t total = whole > wanted[i] ? whole - wanted[i] : 0;
        w->pads[i] = !strcmp(w->padding, "SAME_UPPER") ? total / 2 : total - total / 2;
        w->pads[w->rank + i] = (larger ? whole - wanted[i] : total) - w->pads[i];
    }
}

static void make_transposed(onnx_op *op, const onnx_step *s) {
    window w;
    int64_t wanted[2 * IR_MAX_RANK] = {0}, more[IR_MAX_RANK] = {0};
    size_t n;
    read_window(op, (size_t)s->a, true, true, &w);
    if (onnx_op_failed(op)) {
        return;
    }
    read_list(op, "pads", 2 * w.rank, 0, w.pads);
    read_list(op, "output_padding", w.rank, 0, more);
    const int64_t *shape = onnx_op_ints(op, "output_shape", &n);
    if (shape && n != w.rank && n != w.rank + 2) {
        onnx_op_error(op, "output_shape: expected %zu values, got %zu", w.rank, n);
    }
    for (size_t i = 0; i < w.rank && !onnx_op_failed(op); i++) {
        wanted[i] = shape ? shape[n - w.rank + i] : w.extents[i] * w.strides[i];
        if (wanted[i] < 1 || wanted[i] > MOST) {
            onnx_op_error(op, "output_shape: %lld: expected a number from 1 to 2^31-1", (long long)wanted[i]);
        }
    }
    if (onnx_op_failed(op)) {
        return;
    }
    if (shape || is_same(w.padding)) {
        pad_to(&w, wanted, more, shape != NULL);
    } else if (!strcmp(w.padding, "VALID")) {
        memset(w.pads, 0, sizeof w.pads);
    }
    set_window(op, &w);
    ir_attr_ints(op->r->m, op->node, "output_padding", more, w.rank);
}
/* Padding below 0 is what output_shape makes behind an extent where there is none before it. */
static void put_transposed(onnx_out *out, const onnx_step *s) {
    const ir_shape *x = &onnx_out_input(out, 0)->shape, *k = &onnx_out_input(out, (size_t)s->a)->shape;
    const ir_attr *strides = onnx_out_attr(out, "strides", IR_INTS), *pads = onnx_out_attr(out, "pads", IR_INTS);
    const ir_attr *dilations = onnx_out_attr(out, "dilations", IR_INTS);
    const ir_attr *more = onnx_out_attr(out, "output_padding", IR_INTS);
    int64_t *wanted = BASE_NEWS(out->arena, int64_t, IR_MAX_RANK);
    bool below = false;
    put_list(out, "strides", 1);
    put_list(out, "dilations", 1);
    put_list(out, "output_padding", 0);
    if (out->why || x->rank < 3 || k->rank != x->rank || strides->n != x->rank - 2 || pads->n != 2 * strides->n ||
        dilations->n != strides->n || more->n != strides->n) {
        return;
    }
    for (size_t i = 0; i < strides->n; i++) {
        const int64_t lo = pads->v.ints[i], hi = pads->v.ints[strides->n + i];
        below = below || lo < 0 || hi < 0;
        wanted[i] = strides->v.ints[i] * (x->dim[2 + i] - 1) + more->v.ints[i] +
                    (k->dim[2 + i] - 1) * dilations->v.ints[i] + 1 - lo - hi;
    }
    for (size_t i = 0; below && i < strides->n; i++) {
        const int64_t lo = pads->v.ints[i], total = lo + pads->v.ints[strides->n + i];
        if (lo != (total > 0 ? total - total / 2 : 0)) {
            onnx_out_cannot(out, "its padding is none that output_shape gives");
        }
    }
    if (below) {
        onnx_out_ints(out, "output_shape", wanted, strides->n);
    } else {
        put_list(out, "pads", 0);
    }
}
const onnx_step_kind onnx_step_transposed = {"WINDOW_TRANSPOSED", make_transposed, put_transposed};

/* MaxUnpool: its indices count in a tensor that the window's attributes say; output_shape, at input a, may want more room. */
static void make_unpool(onnx_op *op, const onnx_step *s) {
    window w;
    int64_t shape[IR_MAX_RANK], extents[IR_MAX_RANK];
    size_t n;
    read_window(op, 0, false, false, &w);
    if (onnx_op_failed(op)) {
        return;
    }
    read_list(op, "pads", 2 * w.rank, 0, w.pads);
    const int64_t *wanted = onnx_op_constant(op, (size_t)s->a, &n);
    if (onnx_op_failed(op) || (!wanted && onnx_op_has_input(op, (size_t)s->a))) {
        return;
    }
    if (wanted && n != w.rank + 2) {
        onnx_op_error(op, "output_shape: expected %zu values, got %zu", w.rank + 2, n);
        return;
    }
    for (size_t i = 0; i < w.rank; i++) {
        shape[i] = (w.extents[i] - 1) * w.strides[i] + w.kernel[i] - w.pads[i] - w.pads[w.rank + i];
        extents[i] = wanted ? wanted[2 + i] : shape[i];
    }
    ir_attr_ints(op->r->m, op->node, "shape", shape, w.rank);
    ir_attr_ints(op->r->m, op->node, "extents", extents, w.rank);
}
/* The shape is that of a kernel without strides. */
static void put_unpool(onnx_out *out, const onnx_step *s) {
    const ir_shape *x = &onnx_out_input(out, 0)->shape;
    const ir_attr *shape = onnx_out_attr(out, "shape", IR_INTS), *extents = onnx_out_attr(out, "extents", IR_INTS);
    int64_t *kernel = BASE_NEWS(out->arena, int64_t, IR_MAX_RANK),
            *wanted = BASE_NEWS(out->arena, int64_t, IR_MAX_RANK);
    bool more = false;
    if (!shape || !extents || x->rank < 3 || shape->n != x->rank - 2 || extents->n != shape->n) {
        onnx_out_cannot(out, "its shape is not one extent for each of the input's");
        return;
    }
    memcpy(wanted, x->dim, 2 * sizeof *wanted);
    for (size_t i = 0; i < shape->n; i++) {
        kernel[i] = shape->v.ints[i] - x->dim[2 + i] + 1;
        wanted[2 + i] = extents->v.ints[i];
        more = more || extents->v.ints[i] != shape->v.ints[i];
        if (kernel[i] < 1) {
            onnx_out_cannot(out, "its shape is smaller than the input's");
        }
    }
    onnx_out_ints(out, "kernel_shape", kernel, shape->n);
    if (more) {
        onnx_out_list(out, (size_t)s->a, "output_shape", wanted, x->rank);
    }
}
const onnx_step_kind onnx_step_unpool = {"UNPOOL", make_unpool, put_unpool};

/* ---- axes and counts that the operator itself says ---- */

static void make_axes_from(onnx_op *op, const onnx_step *s) {
    int64_t axes[IR_MAX_RANK];
    const uint32_t rank = onnx_op_input(op, 0)->shape.rank;
    size_t n = 0;
    if (rank < (uint32_t)s->a) {
        onnx_op_error(op, "an input of %lu extents: expected at least %d", (unsigned long)rank, s->a);
        return;
    }
    for (uint32_t i = (uint32_t)s->a; i < rank; i++) {
        axes[n++] = i;
    }
    ir_attr_ints(op->r->m, op->node, s->name, axes, n);
}
static void put_axes_from(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INTS);
    const int64_t rank = onnx_out_input(out, 0)->shape.rank;
    bool same = a && (int64_t)a->n == rank - s->a;
    for (size_t i = 0; same && i < a->n; i++) {
        same = a->v.ints[i] == s->a + (int64_t)i;
    }
    if (!same) {
        onnx_out_cannot(out, "its axes are others than the operator's");
    }
}
const onnx_step_kind onnx_step_axes_from = {"AXES_FROM", make_axes_from, put_axes_from};

static void make_given(onnx_op *op, const onnx_step *s) {
    if (s->text) {
        ir_attr_text(op->r->m, op->node, s->name, s->text);
    } else {
        ir_attr_int(op->r->m, op->node, s->name, s->a);
    }
}

static void put_given(onnx_out *out, const onnx_step *s) {
    if (s->text) {
        const ir_attr *text = onnx_out_attr(out, s->name, IR_TEXT);
        if (text && strcmp(text->v.text, s->text) != 0) {
            onnx_out_cannot(out, "its attribute %s is not %s", s->name, s->text);
        }
        return;
    }
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    if (a && a->v.i != s->a) {
        onnx_out_cannot(out, "its attribute %s is not %d", s->name, s->a);
    }
}
const onnx_step_kind onnx_step_given = {"GIVEN", make_given, put_given};

/* Of MeanVarianceNormalization: of none 0, 2 and 3. */
static void make_mean_axes(onnx_op *op, const onnx_step *s) {
    static const int64_t otherwise[] = {0, 2, 3};
    size_t n;
    const int64_t *list = onnx_op_ints(op, s->attr, &n);
    int64_t *axes = BASE_NEWS(op->r->arena, int64_t, n + 3);
    n = list ? n : 3;
    memcpy(axes, list ? list : otherwise, n * sizeof *axes);
    if (!onnx_op_failed(op) && onnx_op_axes(op, s->attr, axes, n, onnx_op_input(op, 0)->shape.rank)) {
        ir_attr_ints(op->r->m, op->node, s->name, axes, n);
    }
}
static void put_mean_axes(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INTS);
    if (a) {
        onnx_out_ints(out, s->attr, a->v.ints, a->n);
    }
}
const onnx_step_kind onnx_step_mean_axes = {"MEAN_AXES", make_mean_axes, put_mean_axes};

static void make_outputs(onnx_op *op, const onnx_step *s) {
    if (op->output_count > (size_t)s->a) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s with %zu outputs", op->type, op->output_count),
                            s->text);
    }
}
static void put_outputs(onnx_out *out, const onnx_step *s) {
    if (out->node->output_count > (size_t)s->a) {
        onnx_out_cannot(out, "it has %zu outputs", out->node->output_count);
    }
}
const onnx_step_kind onnx_step_outputs = {"OUTPUTS", make_outputs, put_outputs};

static void make_float_optional(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_FLOAT);
    if (a) {
        ir_attr_float(op->r->m, op->node, s->name, (double)a->f);
    }
}

/* What the definition says of an absent one is NaN. */
static void put_float_optional(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_optional(out, s->name, IR_FLOAT);
    if (a && a->v.f == a->v.f) {
        onnx_out_float(out, s->attr, (float)a->v.f);
    }
}
const onnx_step_kind onnx_step_float_optional = {"FLOAT_OPTIONAL", make_float_optional, put_float_optional};

/* Is it known that nothing is left out: by training_mode, or by a ratio of 0? */
static bool keeps_all(onnx_op *op) {
    size_t n;
    if (!onnx_op_has_input(op, 2)) {
        return true;
    }
    const double *ratio = onnx_op_contents(op, 1) ? onnx_op_numbers(op, 1, &n) : NULL;
    if (ratio && n == 1 && *ratio == 0) {
        return true;
    }
    const double *training = onnx_op_numbers(op, 2, &n);
    return !training || (n == 1 && *training == 0);
}

/* Dropout for inference: the input, and a mask of ones where it is wanted. a: the mask is of bool; b: is_test says what it is for. */
static void make_dropout(onnx_op *op, const onnx_step *s) {
    if (s->b ? !onnx_op_int(op, "is_test", 0) : !keeps_all(op)) {
        onnx_op_unsupported(op, "operator Dropout in training, which is random", "export the model for inference");
        return;
    }
    for (size_t i = 1; i < op->input_count; i++) {
        op->dropped[i] = true;
    }
    if (op->output_count > 1) {
        op->as = "dropout";
        ir_attr_int(op->r->m, op->node, "typed", !s->a);
    }
}

static void put_dropout(onnx_out *out, const onnx_step *s) {
    if (s->b) {
        onnx_out_int(out, "is_test", 1);
    }
    if (out->node->output_count > 1) {
        onnx_out_cannot(out, "it has a mask");
    }
}
const onnx_step_kind onnx_step_dropout = {"DROPOUT", make_dropout, put_dropout};

/* How many scales GroupNormalization has: one for each channel (a), or for each group. */
static int64_t scales_of(const onnx_step *s, const ir_shape *x, int64_t groups) {
    return s->a && x->rank >= 2 ? x->dim[1] : groups;
}

static void make_groups(onnx_op *op, const onnx_step *s) {
    const ir_shape *scale = &onnx_op_input(op, 1)->shape;
    const ir_attr *groups = ir_attr_find(op->node, "num_groups");
    const int64_t wanted = groups ? scales_of(s, &onnx_op_input(op, 0)->shape, groups->v.i) : 0;
    if (groups && (scale->rank != 1 || scale->dim[0] != wanted)) {
        onnx_op_error(op, "input 1 is %s: expected %lld", ir_shape_print(op->r->arena, scale), (long long)wanted);
    }
}

static void put_groups(onnx_out *out, const onnx_step *s) {
    const ir_attr *groups = onnx_out_attr(out, "num_groups", IR_INT);
    const ir_shape *scale = &onnx_out_input(out, 1)->shape;
    if (groups && (scale->rank != 1 || scale->dim[0] != scales_of(s, &onnx_out_input(out, 0)->shape, groups->v.i))) {
        onnx_out_cannot(out, "its scales are of %s", s->a ? "groups" : "channels");
    }
}
const onnx_step_kind onnx_step_groups = {"GROUPS", make_groups, put_groups};

static void make_rank_of(onnx_op *op, const onnx_step *s) {
    const ir_tensor *x = onnx_op_input(op, (size_t)s->a);
    if (!s->text && x->type != BASE_NONE && x->shape.rank != (uint32_t)s->b) {
        onnx_op_error(op, "input %d is %s: expected %d extents", s->a, ir_shape_print(op->r->arena, &x->shape), s->b);
    }
}

/* Another row has what has another rank. */
static void put_rank_of(onnx_out *out, const onnx_step *s) {
    const ir_tensor *x = onnx_out_input(out, (size_t)s->a);
    const bool is_so = x->shape.rank == (uint32_t)s->b;
    if (x->type != BASE_NONE && is_so == (s->text != NULL)) {
        onnx_out_cannot(out, "its input %d has %lu extents, where %s %s %d", s->a, (unsigned long)x->shape.rank,
                        out->word->op, s->text ? s->text : "takes", s->b);
    }
}
const onnx_step_kind onnx_step_rank_of = {"RANK_OF", make_rank_of, put_rank_of};

static void put_read_only(onnx_out *out, const onnx_step *s) {
    (void)s;
    onnx_out_cannot(out, "it is no operator of the standard");
}
static void make_unchecked(onnx_op *op, const onnx_step *s) {
    (void)s;
    for (size_t i = 0; i < op->attrs.n; i++) {
        onnx_attr *a = &op->attrs.at[i];
        if (!a->used) {
            onnx_op_warn(op, a->byte, "%s: there is no such attribute: it is left out",
                         base_printable(op->r->arena, a->name, strlen(a->name), 60));
            a->used = true;
        }
    }
}
const onnx_step_kind onnx_step_unchecked = {"UNCHECKED", make_unchecked, NULL};
const onnx_step_kind onnx_step_read_only = {"READ_ONLY", NULL, put_read_only};
