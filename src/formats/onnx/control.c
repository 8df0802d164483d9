/* control.c - If: the branch that is taken, or a node over both.
 *
 * Takes a node with two graphs. A condition that is known when the file is read puts its branch in the node's place; else
 * each branch becomes a graph of its own, what it reaches around it its arguments. Both give values of the same types and
 * shapes: a result whose shape a run would decide is refused by name.
 */
#include "formats/onnx/special.h"
#include "formats/onnx/states.h"

#include <string.h>

uint32_t onnx_below(onnx_reader *r) {
    ir_graph_add(r->m, "");
    return (uint32_t)r->m->graphs.n - 1;
}

void onnx_forget(onnx_reader *r, size_t graphs, size_t symbols) {
    while (r->m->graphs.n > graphs) {
        r->m->graphs.at[--r->m->graphs.n] = (ir_graph){0}; /* what grows there again must be as new */
    }
    r->m->symbols.n = symbols;
    r->contents.n = r->contents.n > graphs ? graphs : r->contents.n;
}

int onnx_truth(onnx_op *op, const onnx_scope *scope, const onnx_value *v) {
    uint64_t elements = 0;
    const ir_tensor *t =
        v->kind == ONNX_A_TENSOR && v->tensor != IR_NONE ? &onnx_graph_of(op->r, scope)->tensors.at[v->tensor] : NULL;
    if (!t || t->type != BASE_BOOL || !ir_shape_elements(&t->shape, &elements) || elements != 1) {
        onnx_op_error(op, "its condition is %s: expected one bool", onnx_value_print(op->r, scope, v));
        return -2;
    }
    const void *data = onnx_contents_of(op->r, scope->graph, v->tensor);
    return data ? base_load(BASE_BOOL, data, 0).u != 0 : -1;
}

bool onnx_settle_captures(onnx_op *op, const onnx_scope *below) {
    for (size_t i = 0; i < below->captures.n; i++) {
        const ir_tensor *t = &onnx_graph_of(op->r, below)->tensors.at[below->captures.at[i].inner];
        if (ir_shape_open(&t->shape)) {
            onnx_op_unsupported(
                op, base_printf(op->r->arena, "operator %s that reaches an extent that data decides", op->type),
                "leave what is behind it to the application");
            return false;
        }
    }
    return true;
}

/* ---- If ---- */

typedef struct branch {
    const onnx_attr *attr;
    onnx_scope scope;
    onnx_values given;
} branch;

static bool read_branch(onnx_op *op, branch *b, uint32_t graph) {
    const wire_path path = {.outer = op->path, .name = b->attr->name, .index = WIRE_NO_INDEX};
    b->scope = onnx_scope_new(op->r, op->scope, graph);
    if (graph == op->scope->graph) {
        b->scope.id = op->id;
    }
    if (!onnx_read_body(op->r, &path, b->attr->message, &b->scope, NULL, 0, &b->given)) {
        return false;
    }
    if (b->given.n < op->output_count) {
        onnx_op_error(op, "%zu outputs: %s gives %zu", op->output_count, b->attr->name, b->given.n);
    }
    return !onnx_op_failed(op);
}

/* The argument that stands for a tensor around; IR_NONE: none does. */
static uint32_t argument_of(const branch *b, uint32_t outer) {
    for (size_t i = 0; i < b->scope.captures.n; i++) {
        if (b->scope.captures.at[i].outer == outer) {
            return b->scope.captures.at[i].inner;
        }
    }
    return IR_NONE;
}

/* Both graphs take all that either reaches. */
static void add_arguments(onnx_op *op, branch *branches, onnx_tensors *inputs) {
    onnx_reader *r = op->r;
    for (size_t k = 0; k < 2; k++) {
        const branch *other = &branches[1 - k];
        for (size_t i = 0; i < branches[k].scope.captures.n; i++) {
            const onnx_capture c = branches[k].scope.captures.at[i];
            uint32_t there = argument_of(other, c.outer);
            if (k == 1 && there != IR_NONE) {
                continue;
            }
            if (there == IR_NONE) {
                const ir_tensor t = onnx_graph_of(r, op->scope)->tensors.at[c.outer];
                there = ir_tensor_add(r->m, onnx_graph_of(r, &other->scope), t.name, t.type, &t.shape);
            }
            *BASE_PUSH(r->arena, inputs) = c.outer;
            *BASE_PUSH(r->arena, &onnx_graph_of(r, &branches[k].scope)->inputs) = c.inner;
            *BASE_PUSH(r->arena, &onnx_graph_of(r, &other->scope)->inputs) = there;
        }
    }
}

static bool check_results(onnx_op *op, branch *branches) {
    onnx_reader *r = op->r;
    for (size_t i = 0; i < op->output_count; i++) {
        onnx_value *a = &branches[0].given.at[i], *b = &branches[1].given.at[i];
        if (!onnx_alike(r, &branches[0].scope, a, &branches[1].scope, b) &&
            !onnx_make_maybe(op, &branches[0].scope, a, &branches[1].scope, b)) {
            onnx_op_unsupported(op,
                                base_printf(r->arena, "operator If whose output %zu is %s or %s", i,
                                            onnx_value_print(r, &branches[0].scope, a),
                                            onnx_value_print(r, &branches[1].scope, b)),
                                "give the condition: --constant NAME=FILE, or give both branches the same shape");
            return false;
        }
    }
    return onnx_settle_captures(op, &branches[0].scope) && onnx_settle_captures(op, &branches[1].scope);
}

static void choose(onnx_op *op, branch *branches) {
    onnx_reader *r = op->r;
    onnx_tensors inputs = {0}, outputs = {0};
    *BASE_PUSH(r->arena, &inputs) = op->inputs[0];
    add_arguments(op, branches, &inputs);
    for (size_t i = 0; i < op->output_count; i++) {
        const onnx_value value =
            onnx_like(r, &branches[0].scope, &branches[0].given.at[i], op->scope, op->output_names[i]);
        onnx_parts(r, &value, &outputs);
        onnx_give_value(op, i, &value);
        for (size_t k = 0; k < 2; k++) {
            onnx_tensors parts = {0};
            onnx_parts(r, &branches[k].given.at[i], &parts);
            for (size_t p = 0; p < parts.n; p++) {
                *BASE_PUSH(r->arena, &onnx_graph_of(r, &branches[k].scope)->outputs) = parts.at[p];
            }
        }
    }
    onnx_take_values(r, op->scope, inputs.at, inputs.n);
    ir_node *n =
        ir_node_add(r->m, onnx_graph_of(r, op->scope), "if", inputs.at, inputs.n, outputs.at, outputs.n, op->id);
    n->source_name = op->type;
    n->byte = op->byte;
    ir_attr_graph(r->m, n, "then", branches[0].scope.graph);
    ir_attr_graph(r->m, n, "else", branches[1].scope.graph);
}

void onnx_read_if(onnx_op *op) {
    branch branches[2] = {{.attr = onnx_op_attr(op, "then_branch", ONNX_GRAPH)},
                          {.attr = onnx_op_attr(op, "else_branch", ONNX_GRAPH)}};
    if (!onnx_op_failed(op) && (op->input_count != 1 || !branches[0].attr || !branches[1].attr)) {
        onnx_op_error(op, "expected one input, then_branch and else_branch");
    }
    const int truth = onnx_op_failed(op) ? -2 : onnx_truth(op, op->scope, &op->values[0]);
    if (truth == -2) {
        return;
    }
    if (truth >= 0) {
        branch *taken = &branches[truth ? 0 : 1];
        if (read_branch(op, taken, op->scope->graph)) {
            for (size_t i = 0; i < op->output_count; i++) {
                onnx_give_value(op, i, &taken->given.at[i]);
            }
        }
        return;
    }
    const size_t notes = formats_notes_count(op->r->notes);
    for (size_t k = 0; k < 2; k++) {
        const uint32_t graph = onnx_below(op->r);
        if (!read_branch(op, &branches[k], graph)) {
            return;
        }
    }
    if (formats_notes_count(op->r->notes) == notes && check_results(op, branches)) {
        choose(op, branches);
    }
}
