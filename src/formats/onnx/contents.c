/* contents.c - what values hold in the one run that a model is read for, where the caller says it of the inputs.
 *
 * Takes the inputs' contents. Gives those of a value that follows from them, by evaluating the nodes that give it, when a
 * step asks; then they are kept. The graph is not changed: its values stay computed. What an extent follows from is small, so
 * larger values are not known; but where the model has no other meaning (r->settled), and then what decides extents becomes
 * constant as well.
 */
#include "formats/onnx/reader.h"

enum { MOST_ELEMENTS = 1024, MOST_DEPTH = 2048 };
static const uint64_t most_settled = UINT64_C(1) << 28; /* bytes that are computed here in all */

static onnx_contents *entry(onnx_reader *r, uint32_t graph, uint32_t tensor) {
    while (r->contents.n <= graph) {
        *BASE_PUSH(r->arena, &r->contents) = (onnx_contents_list){0};
    }
    onnx_contents_list *list = &r->contents.at[graph];
    while (list->n <= tensor) {
        *BASE_PUSH(r->arena, list) = (onnx_contents){.node = IR_NONE, .same_as = IR_NONE};
    }
    return &list->at[tensor];
}

static bool wanted(const onnx_reader *r) {
    return r->options.content_count > 0;
}

void onnx_set_contents(onnx_reader *r, uint32_t graph, uint32_t tensor, const void *data) {
    entry(r, graph, tensor)->data = data;
}

void onnx_same_contents(onnx_reader *r, uint32_t graph, uint32_t tensor, uint32_t outer_graph, uint32_t outer_tensor) {
    if (wanted(r)) {
        onnx_contents *e = entry(r, graph, tensor);
        e->same_in = outer_graph;
        e->same_as = outer_tensor;
    }
}

void onnx_given_by(onnx_reader *r, uint32_t graph, uint32_t node) {
    const ir_node *n = &r->m->graphs.at[graph].nodes.at[node];
    for (size_t i = 0; wanted(r) && i < n->output_count; i++) {
        entry(r, graph, n->outputs[i])->node = node;
    }
}

/* Is it small enough? counted: data may decide its extents. */
static bool small(onnx_reader *r, const ir_graph *g, const ir_node *n, bool counted) {
    for (size_t i = 0; i < n->output_count; i++) {
        const ir_tensor *t = &g->tensors.at[n->outputs[i]];
        uint64_t elements = 0, bytes = 0;
        if ((!counted && ir_shape_open(&t->shape)) || !ir_shape_elements(&t->shape, &elements) ||
            !ir_tensor_bytes(t, &bytes) ||
            (r->settled ? bytes > most_settled - r->computed : elements > MOST_ELEMENTS)) {
            return false;
        }
        r->computed += bytes;
    }
    return true;
}

static const void *find(onnx_reader *r, uint32_t graph, uint32_t tensor, unsigned depth);

/* The node's inputs hold their contents for as long as it is evaluated; then its outputs do. */
static bool compute(onnx_reader *r, uint32_t graph, const ir_node *n, unsigned depth, bool counted) {
    ir_graph *g = &r->m->graphs.at[graph];
    const void **data = BASE_NEWS(r->arena, const void *, n->input_count + 1);
    bool fine = small(r, g, n, counted);
    for (size_t i = 0; i < n->input_count && fine; i++) {
        data[i] = n->inputs[i] == IR_NONE ? NULL : find(r, graph, n->inputs[i], depth + 1);
        fine = n->inputs[i] == IR_NONE || data[i];
    }
    if (!fine) {
        return false;
    }
    bool *lent = BASE_NEWS(r->arena, bool, n->input_count + 1);
    for (size_t i = 0; i < n->input_count; i++) {
        lent[i] = data[i] && !g->tensors.at[n->inputs[i]].data;
        if (lent[i]) {
            g->tensors.at[n->inputs[i]].data = data[i];
        }
    }
    fine = counted ? ops_evaluate_counted(r->arena, r->ops, r->m, g, n, NULL)
                   : ops_evaluate(r->arena, r->ops, r->m, g, n, NULL);
    for (size_t i = 0; i < n->input_count; i++) {
        if (lent[i]) {
            g->tensors.at[n->inputs[i]].data = NULL;
        }
    }
    return fine;
}

static void evaluate(onnx_reader *r, uint32_t graph, uint32_t node, unsigned depth) {
    ir_graph *g = &r->m->graphs.at[graph];
    const ir_node *n = &g->nodes.at[node];
    const bool fine = compute(r, graph, n, depth, false);
    for (size_t i = 0; i < n->output_count; i++) {
        onnx_contents *e = entry(r, graph, n->outputs[i]);
        e->data = fine ? g->tensors.at[n->outputs[i]].data : NULL;
        e->node = IR_NONE; /* once */
        g->tensors.at[n->outputs[i]].data = NULL;
    }
}

bool onnx_settle(onnx_reader *r, uint32_t graph, const ir_node *n) {
    return r->settled && compute(r, graph, n, 0, true);
}

static const void *find(onnx_reader *r, uint32_t graph, uint32_t tensor, unsigned depth) {
    const void *data = r->m->graphs.at[graph].tensors.at[tensor].data;
    if (data || !wanted(r) || graph >= r->contents.n || tensor >= r->contents.at[graph].n || depth > MOST_DEPTH) {
        return data;
    }
    const onnx_contents *e = &r->contents.at[graph].at[tensor];
    if (!e->data && e->same_as != IR_NONE) {
        return find(r, e->same_in, e->same_as, depth + 1);
    }
    if (!e->data && e->node != IR_NONE) {
        evaluate(r, graph, e->node, depth);
        e = &r->contents.at[graph].at[tensor];
    }
    return e->data;
}

const void *onnx_contents_of(onnx_reader *r, uint32_t graph, uint32_t tensor) {
    return find(r, graph, tensor, 0);
}
