/* steps_numbers.c - steps for single numbers: counts, axes that may be absent, lists as long as others, types of outputs
 * (words.def says what each does).
 *
 * Takes attributes and constant inputs. Gives attributes of the node.
 */
#include "formats/onnx/steps.h"

#include <math.h>

static void make_indexes_out(onnx_op *op, const onnx_step *s) {
    if ((size_t)s->a < op->output_count) {
        onnx_graph_of(op->r, op->scope)->tensors.at[op->outputs[s->a]].type = BASE_I64;
    }
}

static void put_indexes_out(onnx_out *out, const onnx_step *s) {
    onnx_out_gives(out, (size_t)s->a, BASE_I64);
}
const onnx_step_kind onnx_step_indexes_out = {"INDEXES_OUT", make_indexes_out, put_indexes_out};

static void make_number_in(onnx_op *op, const onnx_step *s) {
    size_t n;
    const double *list = onnx_op_numbers(op, (size_t)s->a, &n);
    if (!list) {
        return;
    }
    if (n != 1 || !(fabs(list[0]) < 0x1p53)) {
        onnx_op_error(op, "%s: input %d has %zu elements: expected one number", s->name, s->a, n);
        return;
    }
    ir_attr_int(op->r->m, op->node, s->name, (int64_t)list[0]);
}

static void put_number_in(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    const ir_shape shape = {.rank = s->b ? 1 : 0, .dim = {1}};
    int64_t *data = BASE_NEW(out->arena, int64_t);
    if (a) {
        base_store(BASE_I64, data, 0, (base_value){.i = a->v.i});
        onnx_out_constant(out, (size_t)s->a, s->name, BASE_I64, &shape, data);
    }
}
const onnx_step_kind onnx_step_number_in = {"NUMBER_IN", make_number_in, put_number_in};

/* Where it is not constant the number is read when the module runs; else its place is empty. */
static void make_most_in(onnx_op *op, const onnx_step *s) {
    size_t n;
    if (!onnx_op_has_input(op, (size_t)s->a) || !onnx_op_contents(op, (size_t)s->a)) {
        return;
    }
    const int64_t *list = onnx_op_constant(op, (size_t)s->a, &n);
    op->dropped[s->a] = false;
    op->inputs[s->a] = IR_NONE;
    if (list && n == 1) {
        ir_attr_int(op->r->m, op->node, s->name, list[0] < 0 ? 0 : list[0]);
    } else if (list) {
        onnx_op_error(op, "input %d has %zu elements: expected one number", s->a, n);
    }
}

static void put_most_in(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_optional(out, s->name, IR_INT);
    const size_t at = (size_t)s->a;
    const ir_shape scalar = {0};
    void *data = base_alloc(out->arena, 1, sizeof(int64_t));
    if (a && at < out->node->input_count && out->node->inputs[at] == IR_NONE) {
        base_store(BASE_I64, data, 0, (base_value){.i = a->v.i});
        onnx_out_constant_for(out, at, s->name, BASE_I64, &scalar, data);
    } else if (a && a->v.i) {
        onnx_out_cannot(out, "it has %s and an input of that meaning", s->name);
    }
}
const onnx_step_kind onnx_step_most_in = {"MOST_IN", make_most_in, put_most_in};

static void make_refused(onnx_op *op, const onnx_step *s) {
    onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s, %s", op->type, s->text), s->name);
}
const onnx_step_kind onnx_step_refused = {"REFUSED", make_refused, NULL};

/* A tensor that is full of the mean: a normal distribution's, or that of a uniform one from s->name to s->attr. */
static void make_random(onnx_op *op, const onnx_step *s) {
    const bool like = s->a != 0;
    const ir_tensor *in = onnx_op_input(op, 0);
    const ir_shape scalar = {0};
    const int64_t stated = onnx_op_int(op, "dtype", 0);
    const base_type type = stated ? onnx_type_base(stated) : like ? in->type : BASE_F32;
    const double low = onnx_op_float(op, s->name, 0), high = s->attr ? onnx_op_float(op, s->attr, 1) : low;
    size_t n = in->shape.rank;
    const int64_t *shape = like ? in->shape.dim : onnx_op_ints(op, "shape", &n);
    onnx_op_ignore(op, "scale");
    onnx_op_ignore(op, "seed");
    if (onnx_op_failed(op)) {
        return;
    }
    if (!op->r->options.random_mean) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s, whose outputs are random", op->type),
                            "make the random numbers an input of the model, or take the mean of their distribution, "
                            "--random-mean: what is emitted gives the same outputs for the same inputs");
        return;
    }
    bool fine = shape && n <= IR_MAX_RANK;
    for (size_t i = 0; i < n && fine; i++) {
        fine = shape[i] >= 0;
    }
    if (!fine || !base_type_is_float(type)) {
        onnx_op_error(op, "expected a shape of at most %d extents and a type of floats", IR_MAX_RANK);
        return;
    }
    void *data = base_alloc(op->r->arena, 8, 8);
    base_store(type, data, 0, (base_value){.f = (low + high) / 2});
    for (size_t i = 0; i < op->input_count; i++) {
        op->dropped[i] = true;
    }
    ir_attr_ints(op->r->m, op->node, "shape", shape, n);
    onnx_op_add_constant(op, s->name, type, &scalar, data);
    op->r->drawn = true;
}
const onnx_step_kind onnx_step_random = {"RANDOM", make_random, NULL};

/* ceil((limit - start) / step), at least 0; -1: it is none. */
static int64_t count_of(base_type type, base_value start, base_value limit, base_value step) {
    if (base_type_is_float(type)) {
        const double n = ceil((limit.f - start.f) / step.f);
        return n > 0 ? (n < 0x1p48 ? (int64_t)n : -1) : n <= 0 ? 0 : -1;
    }
    const bool down = step.i < 0;
    const uint64_t pace = down ? 0 - (uint64_t)step.i : (uint64_t)step.i;
    const bool some = down ? limit.i < start.i : limit.i > start.i;
    const uint64_t gap = down ? (uint64_t)start.i - (uint64_t)limit.i : (uint64_t)limit.i - (uint64_t)start.i;
    const uint64_t n = some && pace ? gap / pace + (gap % pace != 0) : 0;
    return n < (uint64_t)1 << 48 ? (int64_t)n : -1;
}

static void make_range(onnx_op *op, const onnx_step *s) {
    base_value v[3];
    const base_type type = onnx_op_input(op, 0)->type;
    for (size_t i = 0; i < 3; i++) {
        size_t n;
        const bool was = op->dropped[i];
        const double *list = onnx_op_numbers(op, i, &n);
        const ir_tensor *t = onnx_op_input(op, i);
        if (!list) {
            return;
        }
        if (n != 1 || t->type != type || type == BASE_BOOL) {
            onnx_op_error(op, "input %zu: %zu elements of %s: expected one number of %s", i, n, base_type_name(t->type),
                          base_type_name(type));
            return;
        }
        v[i] = base_load(type, onnx_op_contents(op, i), 0);
        op->dropped[i] = i == 1 || was;
    }
    if (base_type_is_float(type) ? v[2].f == 0 : v[2].i == 0) {
        onnx_op_error(op, "the step is 0");
        return;
    }
    const int64_t count = count_of(type, v[0], v[1], v[2]);
    if (count < 0) {
        onnx_op_error(op, "its inputs say no number of elements");
        return;
    }
    ir_attr_int(op->r->m, op->node, s->name, count);
}
const onnx_step_kind onnx_step_range = {"RANGE", make_range, NULL};

/* Places of the axis behind the wanted one. */
static void make_behind(onnx_op *op, const onnx_step *s) {
    const uint32_t rank = onnx_op_input(op, 0)->shape.rank;
    const int64_t axis = onnx_op_int(op, s->attr, s->a);
    const int64_t at = onnx_op_failed(op) ? -1 : onnx_op_axis(op, s->attr, axis, rank);
    if (at >= 0) {
        ir_attr_int(op->r->m, op->node, s->name, (int64_t)rank - 1 - at);
    }
}

static void put_behind(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    if (a) {
        onnx_out_int(out, s->attr, (int64_t)onnx_out_input(out, 0)->shape.rank - 1 - a->v.i);
    }
}
const onnx_step_kind onnx_step_behind = {"BEHIND", make_behind, put_behind};

/* An axis that may be absent: no attribute then. */
static void make_axis_if(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_INT);
    const int64_t at = a ? onnx_op_axis(op, s->attr, a->i, onnx_op_input(op, 0)->shape.rank) : -1;
    if (at >= 0) {
        ir_attr_int(op->r->m, op->node, s->name, at);
    }
}

static void put_axis_if(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_optional(out, s->name, IR_INT);
    if (a) {
        onnx_out_int(out, s->attr, a->v.i);
    }
}
const onnx_step_kind onnx_step_axis_if = {"AXIS_IF", make_axis_if, put_axis_if};

/* A list that has one entry for each of another attribute's; otherwise all the same number. */
static void make_ints_like(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *given = onnx_op_ints(op, s->attr, &n);
    const ir_attr *like = ir_attr_find(op->node, s->text);
    if (onnx_op_failed(op) || !like || like->kind != IR_INTS) {
        return;
    }
    const size_t count = like->n * (size_t)s->b;
    int64_t *list = BASE_NEWS(op->r->arena, int64_t, count + 1);
    if (given && n != count) {
        onnx_op_error(op, "%s: expected %zu values, got %zu", s->attr, count, n);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = given ? given[i] : s->a;
    }
    ir_attr_ints(op->r->m, op->node, s->name, list, count);
}

static void put_ints_like(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INTS);
    if (a) {
        onnx_out_ints(out, s->attr, a->v.ints, a->n);
    }
}

const onnx_step_kind onnx_step_ints_like = {"INTS_LIKE", make_ints_like, put_ints_like};
