/* flex.c - FlexAttention: scores, their modifier, softmax, the probabilities' modifier, values; each a node of its own.
 *
 * Takes a node with up to two graphs, which are put in its place: each takes one tensor and gives one of the same type and
 * shape.
 */
#include "formats/onnx/special.h"

/* The modifier's graph for that tensor; the tensor itself where there is none. IR_NONE: a fault, or noted. */
static uint32_t modified(onnx_op *op, const char *name, uint32_t tensor) {
    const onnx_attr *a = onnx_op_attr(op, name, ONNX_GRAPH);
    if (!a || tensor == IR_NONE) {
        return tensor;
    }
    const wire_path path = {.outer = op->path, .name = name, .index = WIRE_NO_INDEX};
    onnx_scope scope = onnx_scope_new(op->r, op->scope, op->scope->graph);
    const onnx_value argument = {.tensor = tensor};
    onnx_values given = {0};
    scope.id = op->id;
    if (!onnx_read_body(op->r, &path, a->message, &scope, &argument, 1, &given)) {
        return IR_NONE;
    }
    if (given.n != 1 || given.at[0].kind != ONNX_A_TENSOR || given.at[0].tensor == IR_NONE) {
        onnx_op_error(op, "%s gives %zu values: expected one tensor", name, given.n);
        return IR_NONE;
    }
    const ir_graph *g = onnx_graph_of(op->r, op->scope);
    const ir_tensor *before = &g->tensors.at[tensor], *after = &g->tensors.at[given.at[0].tensor];
    if (after->type == BASE_NONE) {
        return IR_NONE; /* noted */
    }
    if (after->type != before->type || !ir_shape_same(&after->shape, &before->shape)) {
        onnx_op_error(op, "%s gives %s %s: expected %s %s, as it takes", name, base_type_name(after->type),
                      ir_shape_print(op->r->arena, &after->shape), base_type_name(before->type),
                      ir_shape_print(op->r->arena, &before->shape));
        return IR_NONE;
    }
    return given.at[0].tensor;
}

static uint32_t scores(onnx_op *op, base_type type) {
    onnx_op made = onnx_make(op, op->scope, "attention_scores", op->inputs, 2);
    const onnx_attr *scale = onnx_op_attr(op, "scale", ONNX_FLOAT);
    if (scale) {
        ir_attr_float(op->r->m, made.node, "scale", (double)scale->f);
    }
    onnx_graph_of(op->r, op->scope)->tensors.at[made.outputs[0]].type = type;
    return onnx_finish(&made);
}

static uint32_t softmax(onnx_op *op, uint32_t tensor) {
    onnx_op made = onnx_make(op, op->scope, "softmax", &tensor, 1);
    ir_attr_int(op->r->m, made.node, "axis", 3);
    ir_attr_int(op->r->m, made.node, "count", 1);
    return onnx_finish(&made);
}

/* The type that softmax is computed in; BASE_NONE: a fault. */
static base_type precision(onnx_op *op) {
    const onnx_attr *a = onnx_op_attr(op, "softmax_precision", ONNX_INT);
    if (!a) {
        return onnx_op_input(op, 0)->type == BASE_F64 ? BASE_F64 : BASE_F32;
    }
    const base_type type = onnx_type_base(a->i);
    if (!base_type_is_float(type)) {
        onnx_op_error(op, "softmax_precision: %lld is no type of floats", (long long)a->i);
        return BASE_NONE;
    }
    return type;
}

void onnx_read_flex_attention(onnx_op *op) {
    if (op->input_count != 3 || op->output_count != 1) {
        onnx_op_error(op, "%zu inputs and %zu outputs: expected 3 and 1", op->input_count, op->output_count);
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        if (!onnx_op_has_input(op, i)) {
            onnx_op_error(op, "input %zu is absent: the operator needs it", i);
            return;
        }
    }
    const base_type type = precision(op);
    uint32_t tensor = onnx_op_failed(op) ? IR_NONE : modified(op, "score_mod", scores(op, type));
    tensor = tensor == IR_NONE ? IR_NONE : modified(op, "prob_mod", softmax(op, tensor));
    if (tensor != IR_NONE) {
        const uint32_t last[] = {tensor, op->inputs[2]};
        onnx_op made = onnx_make(op, op->scope, "attention_values", last, 2);
        tensor = onnx_finish(&made);
    }
    if (tensor != IR_NONE) {
        onnx_give(op, 0, tensor);
    }
}
