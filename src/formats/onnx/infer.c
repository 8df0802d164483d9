/* infer.c - the types and shapes of a node's outputs, and the contents of those that nothing read at run time decides.
 *
 * Takes a node whose inputs have types and shapes. Gives its outputs theirs by its definition. What the file says of values
 * between nodes is not used. Knows no operator.
 */
#include "formats/onnx/steps.h"

#include <string.h>

enum { MOST_FOLDED = 1024 }; /* elements of a tensor that is computed here: shapes are shorter */

/* Extents that data decides get symbols. */
static void set_outputs(onnx_op *op, const ir_shape *shapes, const base_type *types, const uint32_t *dynamic) {
    ir_model *m = op->r->m;
    for (size_t i = 0; i < op->node->output_count; i++) {
        ir_tensor *t = &onnx_graph_of(op->r, op->scope)->tensors.at[op->node->outputs[i]];
        t->type = types[i];
        t->shape = shapes[i];
        for (uint32_t k = 0; k < t->shape.rank; k++) {
            if (dynamic[i] >> k & 1) {
                const char *name = base_printf(op->r->arena, "count%zu", m->symbols.n);
                *BASE_PUSH(op->r->arena, &m->symbols) = (ir_symbol){name, t->shape.dim[k], true};
                t->shape.symbol[k] = (uint32_t)m->symbols.n;
            }
        }
    }
}

/* true: the outputs are constants, and the node is gone. Small weights stay quantised: no shape follows from them. */
static bool fold(onnx_op *op) {
    ir_graph *g = onnx_graph_of(op->r, op->scope);
    const ir_node *n = op->node;
    if (strcmp(n->op, "dequantize_linear") == 0) {
        return false;
    }
    for (size_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] != IR_NONE && !g->tensors.at[n->inputs[i]].data) {
            return false;
        }
    }
    for (size_t i = 0; i < n->output_count; i++) {
        uint64_t elements;
        const ir_shape *s = &g->tensors.at[n->outputs[i]].shape;
        if (ir_shape_open(s) || !ir_shape_elements(s, &elements) || elements > MOST_FOLDED) {
            return false;
        }
    }
    if (!ops_evaluate(op->r->arena, op->r->ops, op->r->m, g, n, NULL)) {
        return false;
    }
    g->nodes.at[--g->nodes.n] = (ir_node){0};
    return true;
}

/* What the definition says, at the node's place in the file. */
static void refuse(onnx_op *op, const base_diags *own) {
    const base_diag *first = own->list.at;
    if (first->line) {
        onnx_op_error(op, "%s (%s:%u)", first->message, first->file, first->line);
    } else {
        onnx_op_error(op, "%s", first->message);
    }
}

/* What a node gives. */
typedef struct given {
    ir_shape *shapes;
    base_type *types;
    uint32_t *dynamic;
    bool by_contents; /* what its constants hold has a part in it */
} given;

static bool find_given(onnx_op *op, given *out) {
    onnx_reader *r = op->r;
    const size_t n = op->node->output_count;
    base_diags own = {.arena = r->arena};
    out->dynamic = BASE_NEWS(r->arena, uint32_t, n + 1);
    out->shapes = BASE_NEWS(r->arena, ir_shape, n + 1);
    out->types = BASE_NEWS(r->arena, base_type, n + 1);
    if (ops_output_shapes(r->arena, r->ops, r->m, onnx_graph_of(r, op->scope), op->node, NULL, out->shapes, out->types,
                          out->dynamic, &out->by_contents, &own) != BASE_OK) {
        refuse(op, &own);
        return false;
    }
    return true;
}

static bool put_key(onnx_op *op, bool contents) {
    onnx_reader *r = op->r;
    r->key.arena = r->arena;
    r->key.n = 0;
    return ops_key(&r->key, onnx_graph_of(r, op->scope), op->node, false, contents);
}

/* Large models have few nodes that are unlike each other, but for the contents of constants. */
static bool find_once(onnx_op *op, given *out) {
    onnx_reader *r = op->r;
    bool is_new;
    r->inferred = r->inferred ? r->inferred : base_map_new(r->arena);
    for (int contents = 0; contents < 2; contents++) {
        if (!put_key(op, contents != 0)) {
            return find_given(op, out);
        }
        const uint64_t *at = base_map_get(r->inferred, r->key.at, r->key.n);
        const given *known = at ? (const given *)(uintptr_t)*at : NULL;
        if (known && known->by_contents == (contents != 0)) {
            *out = *known;
            return true;
        }
    }
    if (!find_given(op, out)) {
        return false;
    }
    given *kept = BASE_NEW(r->arena, given);
    *kept = *out;
    (void)put_key(op, out->by_contents);
    *base_map_put(r->inferred, r->key.at, r->key.n, &is_new) = (uint64_t)(uintptr_t)kept;
    return true;
}

bool onnx_infer(onnx_op *op) {
    onnx_reader *r = op->r;
    given gives;
    if (!ops_has(r->ops, op->node->op)) {
        onnx_op_unsupported(op, base_printf(r->arena, "operator %s", op->type), "burin operators lists those that are");
        return false;
    }
    if (!find_once(op, &gives)) {
        return false;
    }
    const size_t symbols = r->m->symbols.n;
    set_outputs(op, gives.shapes, gives.types, gives.dynamic);
    ir_graph *g = onnx_graph_of(r, op->scope);
    if (r->m->symbols.n > symbols && onnx_settle(r, op->scope->graph, op->node)) {
        r->m->symbols.n = symbols;
        g->nodes.at[--g->nodes.n] = (ir_node){0};
    } else if (!fold(op)) {
        onnx_given_by(r, op->scope->graph, (uint32_t)onnx_graph_of(r, op->scope)->nodes.n - 1);
    }
    return true;
}
