/* steps_inputs.c - steps for what ONNX says in constant inputs (words.def says what each does). */
#include "formats/onnx/steps.h"

static void make_list_in(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *list = onnx_op_constant(op, (size_t)s->a, &n);
    if (list) {
        ir_attr_ints(op->r->m, op->node, s->name, list, n);
    }
}

static void put_list_in(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_optional(out, s->name, IR_INTS);
    if (a) {
        onnx_out_list(out, (size_t)s->a, s->name, a->v.ints, a->n);
    }
}
const onnx_step_kind onnx_step_list_in = {"LIST_IN", make_list_in, put_list_in};

static void make_axis_in(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t otherwise = s->b, *list = onnx_op_constant(op, (size_t)s->a, &n);
    if (list && n != 1) {
        onnx_op_error(op, "input %d has %zu elements: expected one axis", s->a, n);
        return;
    }
    if (s->b && !onnx_op_has_input(op, (size_t)s->a)) {
        list = &otherwise;
    }
    const int64_t axis = list ? onnx_op_axis(op, s->name, list[0], onnx_op_input(op, 0)->shape.rank) : -1;
    if (axis >= 0) {
        ir_attr_int(op->r->m, op->node, s->name, axis);
    }
}

static void put_axis_in(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    const ir_shape scalar = {0};
    void *data = base_alloc(out->arena, 1, sizeof(int64_t));
    if (a) {
        base_store(BASE_I64, data, 0, (base_value){.i = a->v.i});
        onnx_out_constant(out, (size_t)s->a, s->name, BASE_I64, &scalar, data);
    }
}
const onnx_step_kind onnx_step_axis_in = {"AXIS_IN", make_axis_in, put_axis_in};

/* Of no axes: none where noop_with_empty_axes says so, else all. */
static void make_axes(onnx_op *op, const onnx_step *s) {
    size_t n = 0;
    const uint32_t rank = onnx_op_input(op, 0)->shape.rank;
    const int64_t *given = s->attr ? onnx_op_ints(op, s->attr, &n) : onnx_op_constant(op, (size_t)s->a, &n);
    const bool none = s->b && onnx_op_int(op, "noop_with_empty_axes", 0) != 0;
    if (onnx_op_failed(op) || (!given && !s->attr && onnx_op_has_input(op, (size_t)s->a))) {
        return;
    }
    while (!rank && n && (given[n - 1] == 0 || given[n - 1] == -1)) { /* of a scalar: what runtimes take for none */
        n--;
    }
    const bool all = n == 0 && !none;
    int64_t *axes = BASE_NEWS(op->r->arena, int64_t, n + rank + 1);
    n = all ? rank : n;
    for (size_t i = 0; i < n; i++) {
        axes[i] = all ? (int64_t)i : given[i];
    }
    if (onnx_op_axes(op, s->name, axes, n, rank)) {
        ir_attr_ints(op->r->m, op->node, s->name, axes, n);
    }
}

/* No axes are all, unless noop_with_empty_axes says that they are none. */
static void put_axes(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INTS);
    if (a && a->n == 0 && s->b) {
        onnx_out_int(out, "noop_with_empty_axes", 1);
    } else if (a && a->n == 0 && onnx_out_input(out, 0)->shape.rank > 0) {
        onnx_out_cannot(out, "it has no axes, which means all");
    } else if (a && a->n > 0 && s->attr) {
        onnx_out_ints(out, s->attr, a->v.ints, a->n);
    } else if (a && a->n > 0) {
        onnx_out_list(out, (size_t)s->a, s->name, a->v.ints, a->n);
    }
}
const onnx_step_kind onnx_step_axes = {"AXES", make_axes, put_axes};

static void make_drop_in(onnx_op *op, const onnx_step *s) {
    if ((size_t)s->a < op->input_count) {
        op->dropped[s->a] = true;
    }
}

static void put_drop_in(onnx_out *out, const onnx_step *s) {
    out->absent |= (uint64_t)1 << s->a;
}
const onnx_step_kind onnx_step_drop_in = {"DROP_IN", make_drop_in, put_drop_in};

static void make_scalars_from(onnx_op *op, const onnx_step *s) {
    for (size_t i = (size_t)s->a; i < op->input_count; i++) {
        const ir_shape *shape = &onnx_op_input(op, i)->shape;
        if (onnx_op_has_input(op, i) && shape->rank == 1 && shape->dim[0] == 1 && !ir_shape_open(shape)) {
            onnx_op_reshape(op, i, &(ir_shape){0});
        }
    }
}

static void put_scalars_from(onnx_out *out, const onnx_step *s) {
    (void)out; /* they are scalars */
    (void)s;
}
const onnx_step_kind onnx_step_scalars_from = {"SCALARS_FROM", make_scalars_from, put_scalars_from};

/* ---- numbers ---- */

static bool is_one(onnx_op *op, size_t input, size_t n) {
    if (n != 1) {
        onnx_op_error(op, "input %zu has %zu elements: expected one", input, n);
    }
    return n == 1;
}

static void make_int_in(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *list = onnx_op_constant(op, (size_t)s->a, &n);
    if (list && is_one(op, (size_t)s->a, n)) {
        ir_attr_int(op->r->m, op->node, s->name, list[0]);
    }
}

static void put_int_in(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    const ir_shape scalar = {0};
    void *data = base_alloc(out->arena, 1, sizeof(int64_t));
    if (a && (a->v.i || (size_t)s->a < out->word->needed)) {
        const base_type type = s->b ? BASE_I32 : BASE_I64;
        base_store(type, data, 0, (base_value){.i = a->v.i});
        onnx_out_constant(out, (size_t)s->a, s->name, type, &scalar, data);
    }
}
const onnx_step_kind onnx_step_int_in = {"INT_IN", make_int_in, put_int_in};

static void make_float_in(onnx_op *op, const onnx_step *s) {
    size_t n;
    const double *list = onnx_op_numbers(op, (size_t)s->a, &n);
    if (list && is_one(op, (size_t)s->a, n)) {
        ir_attr_float(op->r->m, op->node, s->name, list[0]);
    }
}

static void put_float_in(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_FLOAT);
    const ir_shape scalar = {0};
    void *data = base_alloc(out->arena, 1, sizeof(double));
    if (a) {
        base_store(BASE_F32, data, 0, (base_value){.f = base_round_to(BASE_F32, a->v.f)});
        onnx_out_constant(out, (size_t)s->a, s->name, BASE_F32, &scalar, data);
    }
}
const onnx_step_kind onnx_step_float_in = {"FLOAT_IN", make_float_in, put_float_in};

/* ---- extents that stand at an axis ---- */

/* Shapes as a later version's broadcasting takes them: behind its own extents the second input gets some of 1. */
static void make_broadcast(onnx_op *op, const onnx_step *s) {
    const ir_tensor *a = onnx_op_input(op, 0), *b = onnx_op_input(op, 1);
    const bool channels = s->b && b->shape.rank == 1 && a->shape.rank > 1;
    const bool asked = !s->b && onnx_op_int(op, "broadcast", 0) != 0;
    const onnx_attr *axis = s->b ? NULL : onnx_op_attr(op, "axis", ONNX_INT);
    if (onnx_op_failed(op) || (!asked && !channels) || (asked && !axis) || b->shape.rank == 0) {
        return;
    }
    const int64_t at = onnx_op_axis(op, "axis", axis ? axis->i : s->a, a->shape.rank);
    if (at < 0) {
        return;
    }
    if ((uint32_t)at + b->shape.rank > a->shape.rank) {
        onnx_op_error(op, "axis: %lu extents from axis %lld on: the first input has %lu", (unsigned long)b->shape.rank,
                      (long long)at, (unsigned long)a->shape.rank);
    } else if ((uint32_t)at + b->shape.rank < a->shape.rank) {
        ir_shape shape = b->shape;
        for (shape.rank = b->shape.rank; (uint32_t)at + shape.rank < a->shape.rank; shape.rank++) {
            shape.dim[shape.rank] = 1;
            shape.symbol[shape.rank] = 0;
        }
        onnx_op_reshape(op, 1, &shape);
    }
}
const onnx_step_kind onnx_step_broadcast = {"BROADCAST_AT", make_broadcast, NULL};
