/* steps_resize.c - steps for Resize, Upsample and GridSample: in all versions they become the attributes of the latest one
 * (words.def says what each does).
 *
 * Takes extents and scales as the file says them, for some axes or all. Gives extents and scales of all axes, and which of
 * them change.
 */
#include "formats/onnx/steps.h"

#include <math.h>
#include <string.h>

typedef struct resize {
    const ir_shape *in;
    size_t n; /* of the axes that the file speaks of */
    int64_t axes[IR_MAX_RANK];
    int64_t shape[IR_MAX_RANK];
    double scales[IR_MAX_RANK];
    double roi[2 * IR_MAX_RANK]; /* begin, end of each axis */
    bool crop;                   /* what is taken is not all of it, at any scale */
} resize;

/* Extents below 2^31, so that places are exact in f64. */
static bool begin(onnx_op *op, resize *z) {
    *z = (resize){.in = &onnx_op_input(op, 0)->shape};
    if (ir_shape_open(z->in)) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s of an extent that data decides", op->type),
                            "shapes have to be known when the model is compiled");
        return false;
    }
    z->n = z->in->rank;
    for (size_t i = 0; i < z->n; i++) {
        z->axes[i] = (int64_t)i;
        z->shape[i] = z->in->dim[i];
        z->scales[i] = 1;
        z->roi[2 * i + 1] = 1;
        if (z->in->dim[i] > INT32_MAX) {
            onnx_op_error(op, "an extent above 2^31-1");
        }
    }
    return !onnx_op_failed(op);
}

static void read_axes(onnx_op *op, resize *z) {
    size_t n;
    bool given[IR_MAX_RANK] = {false};
    const int64_t *axes = onnx_op_ints(op, "axes", &n);
    if (!axes) {
        return;
    }
    z->n = n;
    for (size_t i = 0; i < n && !onnx_op_failed(op); i++) {
        const int64_t axis = onnx_op_axis(op, "axes", axes[i], z->in->rank);
        if (axis >= 0 && given[axis]) {
            onnx_op_error(op, "axes: axis %lld is given twice", (long long)axis);
        } else if (axis >= 0) {
            z->axes[i] = axis;
            given[axis] = true;
        }
    }
}

/* As the standard's own inference of shapes has it: in f32. */
static void set_scales(onnx_op *op, resize *z, const double *scales, size_t n) {
    if (n != z->n) {
        onnx_op_error(op, "scales: expected %zu values, got %zu", z->n, n);
    }
    for (size_t i = 0; i < z->n && !onnx_op_failed(op); i++) {
        const int64_t axis = z->axes[i];
        const float part = z->crop ? (float)(z->roi[2 * axis + 1] - z->roi[2 * axis]) : 1.0f;
        const float extent = floorf((float)z->in->dim[axis] * part * (float)scales[i]);
        if (!(scales[i] > 0) || !isfinite(scales[i]) || !(extent >= 0) || extent >= 0x1p31f) {
            onnx_op_error(op, "scales: %g is no scale of an extent of %lld", scales[i], (long long)z->in->dim[axis]);
            return;
        }
        z->scales[axis] = scales[i];
        z->shape[axis] = (int64_t)extent;
    }
}

static void set_sizes(onnx_op *op, resize *z, const int64_t *sizes, size_t n, const char *policy) {
    const bool smaller = !strcmp(policy, "not_larger"), larger = !strcmp(policy, "not_smaller");
    double all = 0;
    if (n != z->n || (!smaller && !larger && strcmp(policy, "stretch") != 0)) {
        onnx_op_error(op, "sizes: %zu values for %zu axes, keep_aspect_ratio_policy \"%s\"", n, z->n, policy);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t have = z->in->dim[z->axes[i]];
        if (sizes[i] < 0 || sizes[i] > INT32_MAX || (have == 0 && sizes[i] > 0)) {
            onnx_op_error(op, "sizes: an extent of %lld does not become %lld", (long long)have, (long long)sizes[i]);
            return;
        }
        const double scale = have && sizes[i] ? (double)sizes[i] / (double)have : 1;
        all = i == 0 || (smaller ? scale < all : scale > all) ? scale : all;
        z->scales[z->axes[i]] = scale;
        z->shape[z->axes[i]] = sizes[i];
    }
    for (size_t i = 0; i < n && (smaller || larger); i++) {
        const int64_t axis = z->axes[i];
        z->scales[axis] = all;
        z->shape[axis] = (int64_t)floor(all * (double)z->in->dim[axis] + 0.5);
    }
}

/* Regions of all axes that the file speaks of: begins, then ends. */
static void set_roi(onnx_op *op, resize *z, const double *roi, size_t n) {
    if (n != 2 * z->n) {
        onnx_op_error(op, "roi: expected %zu values, got %zu", 2 * z->n, n);
        return;
    }
    for (size_t i = 0; i < z->n; i++) {
        z->roi[2 * z->axes[i]] = roi[i];
        z->roi[2 * z->axes[i] + 1] = roi[i + z->n];
    }
}

static void set_attributes(onnx_op *op, const resize *z) {
    ir_model *m = op->r->m;
    int64_t axes[IR_MAX_RANK];
    size_t n = 0;
    for (uint32_t i = 0; i < z->in->rank; i++) {
        if (z->crop || z->shape[i] != z->in->dim[i] || z->scales[i] < 1 || z->scales[i] > 1) {
            axes[n++] = (int64_t)i;
        }
    }
    ir_attr_ints(m, op->node, "shape", z->shape, z->in->rank);
    ir_attr_floats(m, op->node, "scales", z->scales, z->in->rank);
    ir_attr_floats(m, op->node, "roi", z->roi, 2 * (size_t)z->in->rank);
    ir_attr_ints(m, op->node, "axes", axes, n);
}

/* How many elements around a place count: along the axis that shrinks most, of a filter that antialias makes wider. */
static void set_taps(onnx_op *op, const resize *z, const char *mode, bool antialias) {
    const double reach = strcmp(mode, "cubic") == 0 ? 2 : 1;
    double least = 1;
    for (uint32_t i = 0; antialias && i < z->in->rank; i++) {
        least = z->scales[i] < least ? z->scales[i] : least;
    }
    const double taps = 2 - 2 * (floor(-reach / least) + 1);
    if (!(taps <= 1 << 20)) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s of more than 2^20 to 1", op->type),
                            "resize in several steps");
        return;
    }
    ir_attr_int(op->r->m, op->node, "taps", strcmp(mode, "nearest") == 0 ? 1 : (int64_t)taps);
}

static const char *put_text(onnx_op *op, const char *name, const char *otherwise) {
    const char *text = onnx_op_text(op, name, otherwise);
    ir_attr_text(op->r->m, op->node, name, text);
    return text;
}

/* b: with what came in version 18. */
static void make_resize(onnx_op *op, const onnx_step *s) {
    resize z;
    size_t n_roi, n_scales, n_sizes;
    if (!begin(op, &z)) {
        return;
    }
    if (s->b) {
        read_axes(op, &z);
    }
    const char *mode = put_text(op, "mode", "nearest");
    const char *transform = put_text(op, "coordinate_transformation_mode", "half_pixel");
    const char *policy = s->b ? onnx_op_text(op, "keep_aspect_ratio_policy", "stretch") : "stretch";
    const bool antialias = s->b && onnx_op_int(op, "antialias", 0) != 0;
    put_text(op, "nearest_mode", "round_prefer_floor");
    ir_attr_float(op->r->m, op->node, "cubic_coeff_a", (double)onnx_op_float(op, "cubic_coeff_a", -0.75f));
    ir_attr_float(op->r->m, op->node, "extrapolation_value", (double)onnx_op_float(op, "extrapolation_value", 0));
    ir_attr_int(op->r->m, op->node, "exclude_outside", onnx_op_int(op, "exclude_outside", 0) != 0);
    ir_attr_int(op->r->m, op->node, "antialias", antialias);
    z.crop = strcmp(transform, "tf_crop_and_resize") == 0;
    const double *roi = NULL;
    if (z.crop) {
        roi = onnx_op_numbers(op, 1, &n_roi);
    } else if (op->input_count > 1) {
        op->dropped[1] = true;
    }
    const double *scales = onnx_op_numbers(op, 2, &n_scales);
    const int64_t *sizes = onnx_op_constant(op, 3, &n_sizes);
    if (onnx_op_failed(op) || (z.crop && !roi) || (!scales && onnx_op_has_input(op, 2)) ||
        (!sizes && onnx_op_has_input(op, 3))) {
        if (z.crop && !onnx_op_has_input(op, 1) && !onnx_op_failed(op)) {
            onnx_op_error(op, "roi: it is absent, and tf_crop_and_resize needs it");
        }
        return;
    }
    if (roi) {
        set_roi(op, &z, roi, n_roi);
    }
    /* before version 13 absent ones are empty */
    scales = n_scales ? scales : NULL;
    sizes = n_sizes ? sizes : NULL;
    if (!scales == !sizes && z.n) {
        onnx_op_error(op, "it has %s: expected scales or sizes",
                      scales ? "scales and sizes" : "neither scales nor sizes");
    } else if (scales) {
        set_scales(op, &z, scales, n_scales);
    } else if (sizes) {
        set_sizes(op, &z, sizes, n_sizes, policy);
    }
    if (!onnx_op_failed(op)) {
        set_attributes(op, &z);
        set_taps(op, &z, mode, antialias);
    }
}
/* Sizes where the scales are theirs, else scales. */
static void put_extents(onnx_out *out, const ir_shape *in, const ir_attr *shape, const ir_attr *scales) {
    bool sized = true, scaled = true;
    float *list = BASE_NEWS(out->arena, float, in->rank + 1);
    const ir_shape of_list = ir_shape_of(1, &(int64_t){(int64_t)in->rank});
    for (uint32_t i = 0; i < in->rank; i++) {
        const double scale = scales->v.floats[i];
        list[i] = (float)scale;
        sized = sized && (in->dim[i] && shape->v.ints[i] ? !(scale < (double)shape->v.ints[i] / (double)in->dim[i]) &&
                                                               !(scale > (double)shape->v.ints[i] / (double)in->dim[i])
                                                         : !(scale < 1) && !(scale > 1));
        scaled = scaled && !((double)list[i] < scale) && !((double)list[i] > scale) &&
                 (int64_t)floorf((float)in->dim[i] * list[i]) == shape->v.ints[i];
    }
    if (sized) {
        out->absent |= 1u << 2;
        onnx_out_list(out, 3, "sizes", shape->v.ints, in->rank);
    } else if (scaled) {
        uint8_t *data = base_alloc(out->arena, (size_t)in->rank + 1, sizeof *list);
        for (uint32_t i = 0; i < in->rank; i++) {
            base_store(BASE_F32, data, i, (base_value){.f = (double)list[i]});
        }
        onnx_out_constant(out, 2, "scales", BASE_F32, &of_list, data);
    } else {
        onnx_out_cannot(out, "its scales are neither its sizes' nor of 32 bits");
    }
}

/* The region: begins, then ends. */
static void put_roi(onnx_out *out, const ir_attr *roi, size_t rank) {
    const ir_shape of_list = ir_shape_of(1, &(int64_t){(int64_t)(2 * rank)});
    uint8_t *data = base_alloc(out->arena, 2 * rank + 1, sizeof(float));
    for (size_t i = 0; i < 2 * rank; i++) {
        const double v = roi->v.floats[i % rank * 2 + i / rank];
        if ((double)(float)v < v || (double)(float)v > v) {
            onnx_out_cannot(out, "its roi is not of 32 bits");
        }
        base_store(BASE_F32, data, i, (base_value){.f = v});
    }
    onnx_out_constant(out, 1, "roi", BASE_F32, &of_list, data);
}

static void put_resize(onnx_out *out, const onnx_step *s) {
    static const onnx_step texts[] = {
        {.name = "mode", .attr = "mode", .text = "nearest"},
        {.name = "nearest_mode", .attr = "nearest_mode", .text = "round_prefer_floor"},
        {.name = "coordinate_transformation_mode", .attr = "coordinate_transformation_mode", .text = "half_pixel"}};
    static const onnx_step floats[] = {{.name = "cubic_coeff_a", .attr = "cubic_coeff_a", .f = -0.75},
                                       {.name = "extrapolation_value", .attr = "extrapolation_value"}};
    static const onnx_step ints[] = {{.name = "exclude_outside", .attr = "exclude_outside"},
                                     {.name = "antialias", .attr = "antialias"}};
    const ir_shape *in = &onnx_out_input(out, 0)->shape;
    const ir_attr *shape = onnx_out_attr(out, "shape", IR_INTS), *scales = onnx_out_attr(out, "scales", IR_FLOATS);
    const ir_attr *roi = onnx_out_attr(out, "roi", IR_FLOATS);
    const ir_attr *mode = onnx_out_attr(out, "coordinate_transformation_mode", IR_TEXT);
    /* these two follow from the others */
    (void)onnx_out_optional(out, "axes", IR_INTS);
    (void)onnx_out_optional(out, "taps", IR_INT);
    if (!s->b || (mode && strcmp(mode->v.text, "tf_half_pixel_for_nn") == 0)) {
        onnx_out_cannot(out, "it is of an earlier version");
    } else if (shape && scales && roi && mode && shape->n == in->rank && scales->n == in->rank &&
               roi->n == 2 * (size_t)in->rank) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            onnx_step_text.put(out, &texts[i]);
        }
        for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
            onnx_step_float.put(out, &floats[i]);
            onnx_step_int.put(out, &ints[i]);
        }
        if (strcmp(mode->v.text, "tf_crop_and_resize") == 0) {
            put_roi(out, roi, in->rank);
        } else {
            out->absent |= 1u << 1;
        }
        put_extents(out, in, shape, scales);
    } else {
        onnx_out_cannot(out, "its lists are not of as many axes as its input");
    }
}

const onnx_step_kind onnx_step_resize = {"RESIZE", make_resize, put_resize};

/* Upsample, and Resize of version 10: scales of all axes, places at x / scale. */
static void make_upsample(onnx_op *op, const onnx_step *s) {
    resize z;
    size_t n = 0;
    const double *scales = NULL;
    if (!begin(op, &z)) {
        return;
    }
    const char *mode = onnx_op_text(op, "mode", "nearest");
    mode = strcmp(mode, "bilinear") == 0 ? "linear" : mode;
    if (s->attr) {
        const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_FLOATS);
        double *list = BASE_NEWS(op->r->arena, double, a ? a->n + 1 : 1);
        n = a ? a->n : 0;
        for (size_t i = 0; i < n; i++) {
            list[i] = (double)a->floats[i];
        }
        scales = list;
    } else {
        scales = onnx_op_numbers(op, (size_t)s->a, &n);
    }
    if (!scales || onnx_op_failed(op)) {
        return;
    }
    ir_attr_text(op->r->m, op->node, "mode", mode);
    ir_attr_text(op->r->m, op->node, "coordinate_transformation_mode", "asymmetric");
    ir_attr_text(op->r->m, op->node, "nearest_mode", "floor");
    set_scales(op, &z, scales, n);
    if (!onnx_op_failed(op)) {
        set_attributes(op, &z);
        set_taps(op, &z, mode, false);
    }
}
const onnx_step_kind onnx_step_upsample = {"UPSAMPLE", make_upsample, NULL};

/* Version 16 says bilinear and bicubic. */
static void make_grid_mode(onnx_op *op, const onnx_step *s) {
    const char *mode = onnx_op_text(op, s->attr, "linear");
    mode = strcmp(mode, "bilinear") == 0 ? "linear" : strcmp(mode, "bicubic") == 0 ? "cubic" : mode;
    ir_attr_text(op->r->m, op->node, s->name, mode);
}

/* The names of version 20. */
static void put_grid_mode(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_TEXT);
    if (a && strcmp(a->v.text, "linear") != 0) {
        onnx_out_text(out, s->attr, a->v.text);
    }
}
const onnx_step_kind onnx_step_grid_mode = {"GRID_MODE", make_grid_mode, put_grid_mode};
