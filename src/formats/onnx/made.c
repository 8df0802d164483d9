/* made.c - nodes that the file does not have: what control and sequences need beside the file's operators.
 *
 * Takes Burin's words and tensors. Gives their nodes in a scope's graph, typed by their definitions, or what they give where
 * that is known.
 */
#include "formats/onnx/special.h"

#include <string.h>

onnx_op onnx_make(const onnx_op *op, onnx_scope *scope, const char *word, const uint32_t *inputs, size_t n) {
    onnx_reader *r = op->r;
    onnx_op made = *op;
    made.scope = scope;
    made.outputs = BASE_NEW(r->arena, uint32_t);
    made.outputs[0] = onnx_new_tensor(r, scope, "");
    made.output_count = 1;
    made.node = ir_node_add(r->m, onnx_graph_of(r, scope), word, inputs, n, made.outputs, 1, op->id);
    made.node->source_name = op->type;
    made.node->byte = op->byte;
    return made;
}

uint32_t onnx_finish(onnx_op *op) {
    const uint32_t output = op->outputs[0];
    if (onnx_infer(op)) {
        return output;
    }
    ir_graph *g = onnx_graph_of(op->r, op->scope);
    g->nodes.at[--g->nodes.n] = (ir_node){0};
    return IR_NONE;
}

static uint32_t add_constant(const onnx_op *op, onnx_scope *scope, base_type type, const ir_shape *shape,
                             const void *data) {
    ir_graph *g = onnx_graph_of(op->r, scope);
    const uint32_t index = ir_tensor_add(op->r->m, g, "", type, shape);
    g->tensors.at[index].data = data;
    return index;
}

uint32_t onnx_make_scalar(const onnx_op *op, onnx_scope *scope, base_type type, int64_t value) {
    const ir_shape scalar = {0};
    void *data = base_alloc(op->r->arena, 1, sizeof value);
    base_store(type, data, 0, (base_value){.i = value});
    return add_constant(op, scope, type, &scalar, data);
}

uint32_t onnx_make_list(const onnx_op *op, onnx_scope *scope, const int64_t *values, size_t n) {
    const ir_shape shape = ir_shape_of(1, &(int64_t){(int64_t)n});
    int64_t *data = BASE_NEWS(op->r->arena, int64_t, n + 1);
    memcpy(data, values, n * sizeof *data);
    return add_constant(op, scope, BASE_I64, &shape, data);
}

uint32_t onnx_make_zeros(const onnx_op *op, onnx_scope *scope, base_type type, const ir_shape *shape) {
    static const uint64_t zero;
    const ir_shape scalar = {0};
    const uint32_t element = add_constant(op, scope, type, &scalar, &zero);
    onnx_op fill = onnx_make(op, scope, "fill", &element, 1);
    ir_attr_ints(op->r->m, fill.node, "shape", shape->dim, shape->rank);
    return onnx_finish(&fill);
}

uint32_t onnx_make_reshape(const onnx_op *op, onnx_scope *scope, uint32_t tensor, const ir_shape *shape) {
    onnx_op made = onnx_make(op, scope, "reshape", &tensor, 1);
    ir_attr_ints(op->r->m, made.node, "shape", shape->dim, shape->rank);
    return onnx_finish(&made);
}

uint32_t onnx_make_slice(const onnx_op *op, onnx_scope *scope, uint32_t tensor, uint32_t axis, int64_t from,
                         int64_t count) {
    ir_shape shape = onnx_graph_of(op->r, scope)->tensors.at[tensor].shape;
    int64_t begin[IR_MAX_RANK] = {0};
    begin[axis] = from;
    shape.dim[axis] = count;
    onnx_op made = onnx_make(op, scope, "slice", &tensor, 1);
    ir_attr_ints(op->r->m, made.node, "begin", begin, shape.rank);
    ir_attr_ints(op->r->m, made.node, "extents", shape.dim, shape.rank);
    return onnx_finish(&made);
}

uint32_t onnx_make_join(const onnx_op *op, onnx_scope *scope, const uint32_t *tensors, size_t n, uint32_t axis,
                        bool pack) {
    onnx_op made = onnx_make(op, scope, pack ? "pack" : "concatenation", tensors, n);
    ir_attr_int(op->r->m, made.node, "axis", (int64_t)axis);
    return onnx_finish(&made);
}
