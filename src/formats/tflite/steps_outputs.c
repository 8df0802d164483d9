/* steps_outputs.c - the dictionary's steps whose attributes stand in the shapes of TFLite's outputs, where a file has
 * resolved them, and in their number.
 *
 * Takes an operator whose tensors are verified, or a node. Gives attributes, or the options and inputs that TFLite has
 * beside the shapes. Knows no operator.
 */
#include "formats/tflite/steps.h"

#include <string.h>

/* ---- OUT_SHAPE ---- */

static void make_out_shape(tflite_op *op, const tflite_step *step) {
    if (op->infers) {
        return; /* a later step of the row makes it */
    }
    const ir_shape *s = &tflite_op_output(op, 0)->shape;
    ir_attr_ints(op->r->m, op->node, step->name, s->dim, s->rank);
}

/* The output's tensor says it. */
static void put_out_shape(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    const ir_shape *s = &tflite_out_output(out, 0)->shape;
    bool same = a && a->n == s->rank;
    for (uint32_t i = 0; same && i < s->rank; i++) {
        same = a->v.ints[i] == s->dim[i] || a->v.ints[i] == -1;
    }
    if (a && !same) {
        tflite_out_cannot(out, "its %s is not its output's", step->name);
    }
}

const tflite_step_kind tflite_step_out_shape = {"OUT_SHAPE", make_out_shape, put_out_shape};

/* ---- OUT_EXTENTS ---- */

static void make_out_extents(tflite_op *op, const tflite_step *step) {
    const ir_attr *axis = ir_attr_find(op->node, "axis");
    if (!axis || op->infers) {
        return;
    }
    int64_t *sizes = BASE_NEWS(op->r->arena, int64_t, op->output_count);
    for (size_t i = 0; i < op->output_count; i++) {
        const ir_shape *s = &tflite_op_output(op, i)->shape;
        if (axis->v.i >= (int64_t)s->rank) {
            tflite_op_error(op, "output %zu has shape %s: there is no axis %lld", i, ir_shape_print(op->r->arena, s),
                            (long long)axis->v.i);
            return;
        }
        sizes[i] = s->dim[axis->v.i];
    }
    ir_attr_ints(op->r->m, op->node, step->name, sizes, op->output_count);
}

/* The outputs' tensors say it. */
static void put_out_extents(tflite_out *out, const tflite_step *step) {
    const ir_attr *axis = ir_attr_find(out->node, "axis"), *a = tflite_out_attr(out, step->name, IR_INTS);
    if (!a || !axis || axis->kind != IR_INT || a->n != out->node->output_count) {
        tflite_out_cannot(out, "its %s are not one for each output", step->name);
        return;
    }
    for (size_t i = 0; i < a->n; i++) {
        const ir_shape *s = &tflite_out_output(out, i)->shape;
        if (axis->v.i < 0 || axis->v.i >= (int64_t)s->rank || s->dim[axis->v.i] != a->v.ints[i]) {
            tflite_out_cannot(out, "its %s are not its outputs'", step->name);
        }
    }
}

const tflite_step_kind tflite_step_out_extents = {"OUT_EXTENTS", make_out_extents, put_out_extents};

/* ---- what is recorded and what the operator is told ---- */

/* The step that takes what is recorded. */
static const tflite_step *recorded_step(const tflite_op *op) {
    for (size_t i = 0; i < TFLITE_MOST_STEPS && op->word->steps[i].kind; i++) {
        const tflite_step *step = &op->word->steps[i];
        if (step->kind == &tflite_step_out_shape || step->kind == &tflite_step_out_extents) {
            return step;
        }
    }
    return NULL;
}

bool tflite_op_reads_recorded(const tflite_op *op) {
    const tflite_step *step = recorded_step(op);
    return step && step->b && !op->infers && !op->r->litert;
}

/* Do the extents hold the input's elements: along the axis, or all? */
static bool are_whole(const tflite_op *op, const int64_t *list, size_t n) {
    const ir_attr *axis = ir_attr_find(op->node, "axis");
    const ir_shape *x = &tflite_op_input(op, op->dropped & 1 ? 1 : 0)->shape;
    int64_t have = axis ? 0 : 1;
    uint64_t whole;
    for (size_t i = 0; i < n; i++) {
        if (list[i] < 0 ||
            (axis ? __builtin_add_overflow(have, list[i], &have) : __builtin_mul_overflow(have, list[i], &have))) {
            return false;
        }
    }
    return axis ? have == x->dim[axis->v.i] : ir_shape_elements(x, &whole) && (uint64_t)have == whole;
}

/* tflite_op_solve, without a word. */
static bool can_be_solved(tflite_op *op, int64_t *list, size_t n) {
    base_diags *d = op->r->fb.d, ignored = {.arena = op->r->arena};
    op->r->fb.d = &ignored;
    const bool solved = tflite_op_solve(op, list, n);
    op->r->fb.d = d;
    op->r->fb.failed = false;
    return solved;
}

static const char *print_list(base_arena *arena, const int64_t *list, size_t n) {
    base_text t = {.arena = arena};
    base_puts(&t, "[");
    for (size_t i = 0; i < n; i++) {
        base_put(&t, "%s%lld", i ? ", " : "", (long long)list[i]);
    }
    base_puts(&t, "]");
    return t.at;
}

void tflite_op_told(tflite_op *op, const tflite_step *step, int64_t *list, size_t n) {
    base_arena *arena = op->r->arena;
    const ir_attr *recorded = ir_attr_find(op->node, step->name);
    if (wire_fb_failed(&op->r->fb)) {
        return;
    }
    if (op->infers || !recorded) {
        if (tflite_op_solve(op, list, n)) {
            ir_attr_ints(op->r->m, op->node, step->name, list, n);
        }
        return;
    }
    const bool moves = recorded_step(op)->a, told = can_be_solved(op, list, n) && (!moves || are_whole(op, list, n)),
               kept = moves && are_whole(op, recorded->v.ints, recorded->n);
    if (told && recorded->n == n && (!n || !memcmp(recorded->v.ints, list, n * sizeof *list))) {
        return;
    }
    const char *says = print_list(arena, list, n), *has = print_list(arena, recorded->v.ints, recorded->n);
    if (!told && !kept) {
        tflite_op_error(op, "its %s is to be %s, recorded is %s: neither holds the elements of %s", step->name, says,
                        has, ir_shape_print(arena, &tflite_op_input(op, op->dropped & 1 ? 1 : 0)->shape));
        return;
    }
    const bool both = told && kept && recorded_step(op)->b, keeps = kept && (!told || tflite_op_reads_recorded(op));
    tflite_op_warn(op, "its %s is to be %s, recorded is %s: %s is taken%s", step->name, says, has, keeps ? has : says,
                   !both   ? ""
                   : keeps ? ", as TFLM does, not LiteRT"
                           : ", as LiteRT does, not TFLM");
    op->r->m->by_numerics = op->r->m->by_numerics || both;
    if (!keeps) {
        ir_attr_ints(op->r->m, op->node, step->name, list, n);
        op->infers = true;
        op->recorded = false;
    }
}

/* ---- INPUTS, OUTPUTS, TIMES, EVEN ---- */

static void make_inputs(tflite_op *op, const tflite_step *step) {
    const int64_t said = tflite_op_option(op, step->a);
    if (said != (int64_t)op->input_count) {
        tflite_op_option_error(op, step->a, "it is %lld, and there are %zu inputs", (long long)said, op->input_count);
    }
}

static void put_inputs(tflite_out *out, const tflite_step *step) {
    tflite_out_int(out, step->a, (int64_t)out->node->input_count);
}

const tflite_step_kind tflite_step_inputs = {"INPUTS", make_inputs, put_inputs};

static void put_outputs(tflite_out *out, const tflite_step *step) {
    tflite_out_int(out, step->a, (int64_t)out->node->output_count);
}

const tflite_step_kind tflite_step_outputs = {"OUTPUTS", NULL, put_outputs};

static void put_times(tflite_out *out, const tflite_step *step) {
    const ir_shape *x = &tflite_out_input(out, 0)->shape, *w = &tflite_out_input(out, 1)->shape;
    int64_t from = x->rank ? x->dim[x->rank - 1] : 0, to = w->rank ? w->dim[w->rank - 1] : 0;
    if (from < 1 || to % from) {
        tflite_out_cannot(out, "its filter has %lld channels, which are not a multiple of %lld", (long long)to,
                          (long long)from);
        return;
    }
    tflite_out_int(out, step->a, to / from);
}

const tflite_step_kind tflite_step_times = {"TIMES", NULL, put_times};

static void put_even(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    for (size_t i = 1; a && i < a->n; i++) {
        if (a->v.ints[i] != a->v.ints[0]) {
            tflite_out_cannot(out, "its %s are not equal", step->name);
        }
    }
}

static void make_even(tflite_op *op, const tflite_step *step) {
    const ir_attr *axis = ir_attr_find(op->node, "axis");
    if (!axis) {
        return;
    }
    /* The inputs that are left: SPLIT drops the axis, its first. */
    const ir_shape *x = &tflite_op_input(op, op->dropped & 1 ? 1 : 0)->shape;
    const int64_t whole = x->dim[axis->v.i], n = (int64_t)op->output_count;
    if (whole % n && (op->infers || !tflite_op_reads_recorded(op))) {
        tflite_op_error(op, "an extent of %lld does not split into %lld equal ones", (long long)whole, (long long)n);
        return;
    }
    int64_t *sizes = BASE_NEWS(op->r->arena, int64_t, op->output_count);
    for (size_t i = 0; i < op->output_count; i++) {
        sizes[i] = whole / n;
    }
    if (op->infers) {
        ir_attr_ints(op->r->m, op->node, step->name, sizes, op->output_count);
    } else {
        tflite_op_told(op, step, sizes, op->output_count);
    }
}

const tflite_step_kind tflite_step_even = {"EVEN", make_even, put_even};

/* ---- TYPE_OUT, BIAS_TYPE ---- */

static void put_type(tflite_out *out, int field, base_type type) {
    int64_t code = tflite_type_code(type);
    if (code < 0) {
        tflite_out_cannot(out, "a file has no type for %s", base_type_name(type));
    } else {
        tflite_out_int(out, field, code);
    }
}

static void put_type_out(tflite_out *out, const tflite_step *step) {
    put_type(out, step->a, tflite_out_output(out, (size_t)step->b)->type);
}

const tflite_step_kind tflite_step_type_out = {"TYPE_OUT", NULL, put_type_out};

static void put_narrow_out(tflite_out *out, const tflite_step *step) {
    const base_type type = tflite_out_output(out, (size_t)step->b)->type;
    if (base_type_is_float(type) || base_type_bits(type) > 32) {
        tflite_out_cannot(out, "output %d is of type %s: kernels give integers of 16 and 32 bits", step->b,
                          base_type_name(type));
    }
}

const tflite_step_kind tflite_step_narrow_out = {"NARROW_OUT", NULL, put_narrow_out};

/* What stays of the inputs is the node's. */
static bool has_node_input(const tflite_op *op, size_t number) {
    size_t n = 0;
    for (size_t i = 0; i < op->input_count; i++) {
        bool dropped = i < 32 && (op->dropped >> i & 1);
        if (!dropped && n++ == number) {
            return op->inputs[i] != IR_NONE;
        }
    }
    return false;
}

static void make_bias_type(tflite_op *op, const tflite_step *step) {
    if (op->output_count && tflite_op_output(op, 0)->type == BASE_I16 && !has_node_input(op, (size_t)step->b) &&
        tflite_op_option(op, step->a) == tflite_type_code(BASE_I32)) {
        ir_attr_int(op->r->m, op->node, step->name, 1);
    }
}

static void put_bias_type(tflite_out *out, const tflite_step *step) {
    size_t i = (size_t)step->b;
    if (i < out->node->input_count && out->node->inputs[i] != IR_NONE) {
        put_type(out, step->a, tflite_out_input(out, i)->type);
    } else if (ir_attr_find(out->node, step->name)) {
        const ir_attr *a = tflite_out_attr(out, step->name, IR_INT);
        if (a && a->v.i == 1) {
            put_type(out, step->a, BASE_I32);
        }
    }
}

const tflite_step_kind tflite_step_bias_type = {"BIAS_TYPE", make_bias_type, put_bias_type};

/* ---- OWN_SHAPES ---- */

static void make_own_shapes(tflite_op *op, const tflite_step *step) {
    (void)step;
    op->infers = true;
}

static void put_own_shapes(tflite_out *out, const tflite_step *step) {
    (void)out;
    (void)step;
}

const tflite_step_kind tflite_step_own_shapes = {"OWN_SHAPES", make_own_shapes, put_own_shapes};

/* ---- ONES_IN, ONES_OUT ---- */

/* The axes of `longer`, all of extent 1, without which it is `shorter`; false: it never is. */
static bool ones(const ir_shape *longer, const ir_shape *shorter, int64_t axes[IR_MAX_RANK], size_t *n) {
    uint32_t k = 0;
    *n = 0;
    for (uint32_t i = 0; i < longer->rank; i++) {
        if (k < shorter->rank && longer->dim[i] == shorter->dim[k]) {
            k++;
        } else if (longer->dim[i] == 1) {
            axes[(*n)++] = i;
        } else {
            return false;
        }
    }
    return k == shorter->rank;
}

static void say_shape(tflite_op *op, const tflite_step *step, const ir_shape *shape) {
    int64_t list[IR_MAX_RANK];
    memcpy(list, shape->dim, sizeof list);
    if (op->infers) {
        tflite_op_shape_attr(op, step->name, shape);
    } else {
        tflite_op_told(op, step, list, shape->rank);
    }
}

static void make_ones_in(tflite_op *op, const tflite_step *step) {
    const ir_shape *x = &tflite_op_input(op, 0)->shape;
    size_t n;
    int64_t *list = tflite_op_constant(op, step->a, &n);
    op->dropped |= (uint32_t)1 << step->a;
    if (!list) {
        return;
    }
    int64_t axis = n == 1 ? tflite_op_axis(op, list[0], x->rank + 1) : -1;
    if (n != 1 || x->rank == IR_MAX_RANK) {
        tflite_op_error(op,
                        "input %d has %zu elements and input 0 the rank %lu: one axis is put in, and at most %u stay",
                        step->a, n, (unsigned long)x->rank, IR_MAX_RANK);
    }
    if (wire_fb_failed(&op->r->fb)) {
        return;
    }
    ir_shape shape = {.rank = x->rank + 1};
    for (uint32_t i = 0; i < shape.rank; i++) {
        shape.dim[i] = i < axis ? x->dim[i] : i == axis ? 1 : x->dim[i - 1];
        shape.symbol[i] = i < axis ? x->symbol[i] : i == axis ? 0 : x->symbol[i - 1];
    }
    say_shape(op, step, &shape);
}

static void put_ones_in(tflite_out *out, const tflite_step *step) {
    const ir_shape scalar = {0};
    int64_t axes[IR_MAX_RANK];
    size_t n;
    if (ones(&tflite_out_output(out, 0)->shape, &tflite_out_input(out, 0)->shape, axes, &n) && n == 1) {
        tflite_out_constant(out, (size_t)step->a, "axis", &scalar, axes);
    } else {
        tflite_out_cannot(out, "its output has not one extent of 1 more than its input");
    }
}

const tflite_step_kind tflite_step_ones_in = {"ONES_IN", make_ones_in, put_ones_in};

void tflite_op_shape_attr(tflite_op *op, const char *name, const ir_shape *shape) {
    int64_t list[IR_MAX_RANK];
    bool open = false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        list[i] = shape->symbol[i] && !open ? -1 : shape->dim[i];
        open = open || shape->symbol[i];
    }
    ir_attr_ints(op->r->m, op->node, name, list, shape->rank);
}

static bool has_one(const ir_shape *s) {
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->dim[i] == 1) {
            return true;
        }
    }
    return false;
}

/* No axes at all would mean every one of extent 1. */
static void put_ones_out(tflite_out *out, const tflite_step *step) {
    const ir_shape *x = &tflite_out_input(out, 0)->shape;
    int64_t axes[IR_MAX_RANK];
    size_t n;
    if (ones(x, &tflite_out_output(out, 0)->shape, axes, &n) && (n || !has_one(x))) {
        tflite_out_ints(out, step->a, axes, n);
    } else {
        tflite_out_cannot(out, "its output is not its input without extents of 1");
    }
}

/* No axes: every one of extent 1. */
static void make_ones_out(tflite_op *op, const tflite_step *step) {
    const ir_shape *x = &tflite_op_input(op, 0)->shape;
    wire_vector list = tflite_list(&op->r->fb, op->options_path, &op->options, (tflite_field)step->a);
    bool gone[IR_MAX_RANK] = {false};
    for (uint64_t i = 0; i < list.n; i++) {
        int64_t axis = tflite_op_axis(op, wire_fb_i32_at(&op->r->fb, &list, i), x->rank);
        if (axis < 0) {
            return;
        }
        if (x->dim[axis] != 1 || x->symbol[axis]) {
            tflite_op_error(op, "axis %lld has extent %lld: only extents of 1 can be left out", (long long)axis,
                            (long long)x->dim[axis]);
            return;
        }
        gone[axis] = true;
    }
    ir_shape shape = {0};
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!(list.n ? gone[i] : x->dim[i] == 1 && !x->symbol[i])) {
            shape.symbol[shape.rank] = x->symbol[i];
            shape.dim[shape.rank++] = x->dim[i];
        }
    }
    say_shape(op, step, &shape);
}

const tflite_step_kind tflite_step_ones_out = {"ONES_OUT", make_ones_out, put_ones_out};
