/* computed.c - nodes behind extents that data decides.
 *
 * Takes a node whose attributes were made for the bounds of such extents. Says whether they are the same for lower ones: what
 * the node is made of is made again and compared, and what would differ has no meaning for all runs. Knows no operator.
 */
#include "formats/onnx/steps.h"

#include <string.h>

enum { MOST_SYMBOLS = 4, PROBES = 8 };

static ir_shape *input_shape(const onnx_op *op, size_t i) {
    return onnx_op_has_input(op, i) ? &onnx_graph_of(op->r, op->scope)->tensors.at[op->inputs[i]].shape : NULL;
}

/* The symbols that data decides among the extents of the inputs; MOST_SYMBOLS + 1: there are more. */
static size_t symbols_of(const onnx_op *op, uint32_t symbols[MOST_SYMBOLS + 1]) {
    size_t n = 0;
    for (size_t i = 0; i < op->input_count; i++) {
        const ir_shape *s = input_shape(op, i);
        const uint32_t computed = s != NULL ? ir_shape_open(s) : 0;
        for (uint32_t k = 0; computed >> k != 0 && n <= MOST_SYMBOLS; k++) {
            bool known = (computed >> k & 1) == 0;
            for (size_t j = 0; j < n; j++) {
                known = known || symbols[j] == s->symbol[k];
            }
            if (!known) {
                symbols[n++] = s->symbol[k];
            }
        }
    }
    return n;
}

static void set_extent(const onnx_op *op, uint32_t symbol, int64_t extent) {
    for (size_t i = 0; i < op->input_count; i++) {
        ir_shape *s = input_shape(op, i);
        for (uint32_t k = 0; s != NULL && k < s->rank; k++) {
            s->dim[k] = s->symbol[k] == symbol ? extent : s->dim[k];
        }
    }
}

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

static bool same_for(onnx_op *op, const onnx_op *before, uint32_t symbol, int64_t extent) {
    onnx_reader *r = op->r;
    ir_graph *g = onnx_graph_of(r, op->scope);
    const int64_t bound = r->m->symbols.at[symbol - 1].bound;
    const size_t notes = formats_notes_count(r->notes), tensors = g->tensors.n;
    base_diags *d = r->d, *pb_d = r->pb.d, ignored = {.arena = r->arena};
    onnx_op other = *before;
    other.dropped = BASE_NEWS(r->arena, bool, other.input_count + 1);
    other.inputs = BASE_NEWS(r->arena, uint32_t, other.input_count + 1);
    memcpy(other.inputs, before->inputs, other.input_count * sizeof *other.inputs);
    r->d = r->pb.d = &ignored;
    set_extent(op, symbol, extent);
    other.node = ir_node_add(r->m, g, op->word->word, other.inputs, other.input_count, NULL, 0, IR_NONE);
    for (size_t i = 0; i < ONNX_MOST_STEPS && op->word->steps[i].kind && !onnx_op_failed(op); i++) {
        if (op->word->steps[i].kind->make) {
            op->word->steps[i].kind->make(&other, &op->word->steps[i]);
        }
    }
    g = onnx_graph_of(r, op->scope);
    const bool same = !onnx_op_failed(op) && formats_notes_count(r->notes) == notes && other.as == op->as &&
                      formats_same_attributes(&g->nodes.at[g->nodes.n - 2], other.node) && same_constants(op, &other);
    set_extent(op, symbol, bound);
    g->nodes.at[--g->nodes.n] = (ir_node){0};
    g->tensors.n = tensors; /* what the steps made is not kept */
    op->node = &g->nodes.at[g->nodes.n - 1];
    r->pb.failed = false;
    r->d = d;
    r->pb.d = pb_d;
    return same;
}

bool onnx_holds_for_all(onnx_op *op, const onnx_op *before) {
    uint32_t symbols[MOST_SYMBOLS + 1];
    const size_t n = symbols_of(op, symbols);
    const char *why = n > MOST_SYMBOLS ? "together with more than 3 others" : NULL;
    for (size_t i = 0; i < n && !why; i++) {
        const int64_t bound = op->r->m->symbols.at[symbols[i] - 1].bound;
        for (int64_t v = bound - 1; v > 0 && v >= bound - PROBES && !why; v--) {
            why = same_for(op, before, symbols[i], v) ? NULL : "from which its attributes would follow";
        }
    }
    if (why) {
        onnx_op_unsupported(
            op, base_printf(op->r->arena, "operator %s behind an extent that data decides, %s", op->type, why),
            "leave what is behind it to the application");
    }
    return !why;
}
