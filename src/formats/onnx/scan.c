/* scan.c - Scan: its carried values, the tensors that it goes through, and those that it builds.
 *
 * Takes a node. Gives it as an onnx_loop, whose number of rounds is an extent. Version 8, which has batches, is read as one
 * loop for each of them.
 */
#include "formats/onnx/loops.h"

#include <string.h>

/* The entries of a list attribute, each `most` at most and -most - 1 at least; of an absent one zeros. NULL: a fault. */
static const int64_t *list_of(onnx_op *op, const char *name, size_t n) {
    size_t count;
    const int64_t *list = onnx_op_ints(op, name, &count);
    if (!list && !onnx_op_failed(op)) {
        return BASE_NEWS(op->r->arena, int64_t, n + 1);
    }
    if (list && count != n) {
        onnx_op_error(op, "%s: expected %zu values, got %zu", name, n, count);
    }
    return onnx_op_failed(op) ? NULL : list;
}

static bool is_direction(onnx_op *op, const char *name, int64_t v) {
    if (v != 0 && v != 1) {
        onnx_op_error(op, "%s: %lld is no direction: expected 0 or 1", name, (long long)v);
    }
    return v == 0 || v == 1;
}

static bool find_taken(onnx_loop *l, const uint32_t *tensors, size_t n, const int64_t *axes,
                       const int64_t *directions) {
    onnx_op *op = l->op;
    onnx_slices *taken = BASE_NEWS(op->r->arena, onnx_slices, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (tensors[i] == IR_NONE) {
            onnx_op_error(op, "an input that it goes through is no tensor");
            return false;
        }
        const ir_shape *s = &onnx_graph_of(op->r, op->scope)->tensors.at[tensors[i]].shape;
        const int64_t axis = onnx_op_axis(op, "scan_input_axes", axes[i], s->rank);
        if (axis < 0 || !is_direction(op, "scan_input_directions", directions[i])) {
            return false;
        }
        if (l->rounds >= 0 && s->dim[axis] != l->rounds) {
            onnx_op_error(op, "it goes through %lld and %lld slices", (long long)l->rounds, (long long)s->dim[axis]);
            return false;
        }
        l->rounds = s->dim[axis];
        taken[i] = (onnx_slices){.tensor = tensors[i], .axis = axis, .backwards = directions[i] == 1};
    }
    l->taken = taken;
    l->taken_count = n;
    return true;
}

static bool find_given(onnx_loop *l, const int64_t *axes, const int64_t *directions) {
    onnx_slices *given = BASE_NEWS(l->op->r->arena, onnx_slices, l->given_count + 1);
    for (size_t i = 0; i < l->given_count; i++) {
        if (!is_direction(l->op, "scan_output_directions", directions[i])) {
            return false;
        }
        given[i] = (onnx_slices){.tensor = IR_NONE, .axis = axes[i], .backwards = directions[i] == 1};
    }
    l->given = given;
    return true;
}

static bool is_known(onnx_op *op) {
    for (size_t i = 0; i < op->input_count; i++) {
        if (ir_shape_open(&onnx_op_input(op, i)->shape)) {
            onnx_op_unsupported(op, "operator Scan behind an extent that data decides",
                                "leave what is behind it to the application");
            return false;
        }
    }
    return true;
}

/* The body, and how many inputs it goes through. false: a fault, or noted. */
static bool begin(onnx_loop *l, size_t first, int64_t *through) {
    onnx_op *op = l->op;
    const onnx_attr *count = onnx_op_attr(op, "num_scan_inputs", ONNX_INT);
    l->body = onnx_op_attr(op, "body", ONNX_GRAPH);
    if (onnx_op_failed(op)) {
        return false;
    }
    if (!l->body || !count) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", l->body ? "num_scan_inputs" : "body");
        return false;
    }
    *through = count->i;
    if (*through < 1 || op->input_count < first || *through > (int64_t)(op->input_count - first)) {
        onnx_op_error(op, "num_scan_inputs: %lld of %zu inputs", (long long)*through, op->input_count);
        return false;
    }
    l->carried_count = op->input_count - first - (size_t)*through;
    return onnx_read_outline(l) && is_known(op);
}

static onnx_loop new_loop(onnx_op *op) {
    return (onnx_loop){
        .op = op, .rounds = -1, .limit = IR_NONE, .condition = 1, .first = IR_NONE, .unconditional = true};
}

void onnx_read_scan(onnx_op *op) {
    onnx_loop l = new_loop(op);
    int64_t through;
    if (!begin(&l, 0, &through)) {
        return;
    }
    const int64_t *axes = list_of(op, "scan_input_axes", (size_t)through),
                  *directions = list_of(op, "scan_input_directions", (size_t)through),
                  *out_axes = list_of(op, "scan_output_axes", l.given_count),
                  *out_directions = list_of(op, "scan_output_directions", l.given_count);
    l.carried = op->values;
    if (axes && directions && out_axes && out_directions &&
        find_taken(&l, op->inputs + l.carried_count, (size_t)through, axes, directions) &&
        find_given(&l, out_axes, out_directions)) {
        onnx_read_rounds(&l);
    }
}

/* ---- version 8: the first extent of all values is that of the batch ---- */

static uint32_t of_batch(onnx_op *op, uint32_t tensor, int64_t batch) {
    ir_shape shape = onnx_graph_of(op->r, op->scope)->tensors.at[tensor].shape;
    const uint32_t slice = onnx_make_slice(op, op->scope, tensor, 0, batch, 1);
    memmove(shape.dim, shape.dim + 1, (IR_MAX_RANK - 1) * sizeof *shape.dim);
    shape.rank--;
    return slice == IR_NONE ? IR_NONE : onnx_make_reshape(op, op->scope, slice, &shape);
}

/* The loop of one batch: its results are the outputs' parts. false: a fault, or noted. */
static bool read_batch(onnx_op *op, const onnx_loop *whole, size_t through, const int64_t *directions, int64_t batch,
                       onnx_tensors *parts) {
    onnx_reader *r = op->r;
    onnx_scope scope = onnx_scope_new(r, op->scope, op->scope->graph);
    const size_t notes = formats_notes_count(r->notes), inputs = whole->carried_count + through;
    onnx_op one = *op;
    onnx_loop l = *whole;
    onnx_value *values = BASE_NEWS(r->arena, onnx_value, inputs + 1);
    uint32_t *tensors = BASE_NEWS(r->arena, uint32_t, inputs + 1);
    for (size_t i = 0; i < inputs; i++) {
        tensors[i] = of_batch(op, op->inputs[i + 1], batch);
        values[i] = (onnx_value){.tensor = tensors[i]};
        if (tensors[i] == IR_NONE) {
            return false;
        }
    }
    scope.id = op->id;
    one.scope = &scope; /* names of the outputs are of this batch */
    l.op = &one;
    l.carried = values;
    const int64_t *zeros = BASE_NEWS(r->arena, int64_t, inputs + l.given_count + 1);
    if (!find_taken(&l, tensors + l.carried_count, through, zeros, directions) || !find_given(&l, zeros, zeros)) {
        return false;
    }
    onnx_read_rounds(&l);
    for (size_t i = 0; i < op->output_count && !onnx_op_failed(op) && formats_notes_count(r->notes) == notes; i++) {
        const onnx_value *v = *op->output_names[i] ? onnx_find(r, &scope, op->output_names[i]) : NULL;
        if (v && (v->kind != ONNX_A_TENSOR || v->tensor == IR_NONE)) {
            onnx_op_error(op, "output %zu is %s: expected a tensor", i, onnx_value_print(r, &scope, v));
        }
        *BASE_PUSH(r->arena, &parts[i]) = v ? v->tensor : IR_NONE;
    }
    return !onnx_op_failed(op) && formats_notes_count(r->notes) == notes;
}

void onnx_read_scan_8(onnx_op *op) {
    onnx_loop l = new_loop(op);
    int64_t through;
    if (!begin(&l, 1, &through)) {
        return;
    }
    const int64_t *directions = list_of(op, "directions", (size_t)through);
    if (directions && op->values[0].kind == ONNX_A_TENSOR && op->inputs[0] != IR_NONE) {
        onnx_op_unsupported(op, "operator Scan with sequence_lens", "convert the model to a newer operator set");
        return;
    }
    const int64_t batches = directions ? onnx_op_input(op, 1)->shape.dim[0] : 0;
    for (size_t i = 1; i < op->input_count && directions; i++) {
        const ir_shape *s = &onnx_op_input(op, i)->shape;
        if (s->rank < 1 || s->dim[0] != batches || batches < 1) {
            onnx_op_error(op, "input %zu is %s: expected batches, as many as there are of input 1, 1 at least", i,
                          onnx_value_print(op->r, op->scope, &op->values[i]));
            return;
        }
    }
    onnx_tensors *parts = BASE_NEWS(op->r->arena, onnx_tensors, op->output_count + 1);
    for (int64_t batch = 0; batch < batches; batch++) {
        if (!read_batch(op, &l, (size_t)through, directions, batch, parts)) {
            return;
        }
    }
    for (size_t i = 0; i < op->output_count && directions; i++) {
        if (!*op->output_names[i]) {
            continue;
        }
        const uint32_t joined = onnx_make_join(op, op->scope, parts[i].at, parts[i].n, 0, true);
        if (joined == IR_NONE) {
            return;
        }
        onnx_give(op, i, joined);
    }
}
