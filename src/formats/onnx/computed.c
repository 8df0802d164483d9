/* computed.c - nodes behind extents that data decides.
 *
 * Takes a node whose attributes were made for the bounds of such extents. Says whether they are the same for lower ones: what
 * the node is made of is made again and compared, and what would differ has no meaning for all runs. Knows no operator.
 */
#include "formats/onnx/steps.h"

#include <string.h>

/* The constants that steps made. */
static bool same_constants(const onnx_op *a, const onnx_op *b) {
    const ir_graph *g = onnx_graph_of(a->r, a->scope);
    bool same = a->added.n == b->added.n;
    for (size_t i = 0; same && i < a->added.n; i++) {
        const ir_tensor *x = &g->tensors.at[a->added.at[i]], *y = &g->tensors.at[b->added.at[i]];
        uint64_t n = 0, m = 0;
        same = ir_tensor_bytes(x, &n) && ir_tensor_bytes(y, &m) && n == m && ir_shape_same(&x->shape, &y->shape) &&
               (x->data == y->data || (x->data && y->data && memcmp(x->data, y->data, (size_t)n) == 0));
    }
    return same;
}

typedef struct asked {
    onnx_op *op;
    const onnx_op *before; /* as it was before its steps */
} asked;

/* Does it take what the file's node takes? Nodes in front of it were made for one extent. */
static bool same_inputs(const onnx_op *a, const onnx_op *b) {
    const ir_graph *g = onnx_graph_of(a->r, a->scope);
    bool same = a->input_count == b->input_count;
    for (size_t i = 0; same && i < a->input_count; i++) {
        const uint32_t x = a->inputs[i], y = b->inputs[i];
        same = x == y || (x != IR_NONE && y != IR_NONE && g->tensors.at[x].data &&
                          g->tensors.at[x].data == g->tensors.at[y].data);
    }
    return same;
}

/* Is what the node is made of the same for the extents that its inputs have now? */
static formats_likeness make_again(void *user) {
    const asked *a = user;
    onnx_op *op = a->op;
    onnx_reader *r = op->r;
    ir_graph *g = onnx_graph_of(r, op->scope);
    const size_t notes = formats_notes_count(r->notes), tensors = g->tensors.n, nodes = g->nodes.n;
    base_diags *d = r->d, *pb_d = r->pb.d, ignored = {.arena = r->arena};
    onnx_op other = *a->before;
    other.dropped = BASE_NEWS(r->arena, bool, other.input_count + 1);
    other.inputs = BASE_NEWS(r->arena, uint32_t, other.input_count + 1);
    memcpy(other.inputs, a->before->inputs, other.input_count * sizeof *other.inputs);
    r->d = r->pb.d = &ignored;
    other.node = ir_node_add(r->m, g, op->word->word, other.inputs, other.input_count, NULL, 0, IR_NONE);
    for (size_t i = 0; i < ONNX_MOST_STEPS && op->word->steps[i].kind && !onnx_op_failed(op); i++) {
        if (op->word->steps[i].kind->make) {
            op->word->steps[i].kind->make(&other, &op->word->steps[i]);
        }
    }
    g = onnx_graph_of(r, op->scope);
    const bool made = !onnx_op_failed(op) && formats_notes_count(r->notes) == notes;
    const bool same = made && other.as == op->as && same_inputs(op, &other) &&
                      formats_same_attributes(&g->nodes.at[nodes - 1], other.node) && same_constants(op, &other);
    while (g->nodes.n > nodes) {
        g->nodes.at[--g->nodes.n] = (ir_node){0};
    }
    g->tensors.n = tensors; /* what the steps made is not kept */
    op->node = &g->nodes.at[g->nodes.n - 1];
    r->pb.failed = false;
    r->d = d;
    r->pb.d = pb_d;
    return same ? FORMATS_SAME : made ? FORMATS_OTHER : FORMATS_NONE;
}

bool onnx_holds_for_all(onnx_op *op, const onnx_op *before) {
    asked a = {op, before};
    const char *why =
        formats_differs_by_extents(op->r->m, op->scope->graph, op->inputs, op->input_count, make_again, &a);
    if (why) {
        onnx_op_unsupported(
            op, base_printf(op->r->arena, "operator %s behind an extent that data decides, %s", op->type, why),
            "leave what is behind it to the application");
    }
    return !why;
}
