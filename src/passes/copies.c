/* copies.c - what a sub-graph gives is its own, for runtimes that hand it on by copying one after the other.
 *
 * Takes graphs that `if` and `while` run. Gives them with an identity before each output that is an input, a constant, or another output as
 * well: a runtime that copies outputs over each other in turn would copy what it has overwritten. An input of a loop's body that
 * comes out in its own place stays as it is.
 */
#include <string.h>

#include "passes/passes_private.h"

static bool is_shared(const ir_graph *g, size_t k) {
    const uint32_t t = g->outputs.at[k];
    bool shared = g->tensors.at[t].data != NULL;
    for (size_t i = 0; i < g->inputs.n; i++) {
        shared = shared || (g->inputs.at[i] == t && i != k);
    }
    for (size_t i = 0; i < k; i++) {
        shared = shared || g->outputs.at[i] == t;
    }
    return shared && g->tensors.at[t].state == IR_NONE;
}

static void copy_outputs(ir_model *m, ir_graph *g) {
    for (size_t k = 0; k < g->outputs.n; k++) {
        if (!is_shared(g, k)) {
            continue;
        }
        const uint32_t from = g->outputs.at[k];
        const ir_tensor of = g->tensors.at[from];
        const uint32_t to = ir_tensor_add(m, g, of.name, of.type, &of.shape);
        g->tensors.at[to].quant = of.quant;
        (void)ir_node_add(m, g, "identity", &from, 1, &to, 1, IR_NONE);
        g->outputs.at[k] = to;
    }
}

base_status passes_copies(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    if (!passes_asked(c, "copies")) {
        return BASE_OK;
    }
    bool *runs = BASE_NEWS(c->arena, bool, m->graphs.n + 1);
    for (size_t i = 0; i < m->graphs.n; i++) {
        const ir_graph *g = &m->graphs.at[i];
        for (size_t k = 0; k < g->nodes.n; k++) {
            for (size_t a = 0; a < g->nodes.at[k].attr_count; a++) {
                const ir_attr *one = &g->nodes.at[k].attrs[a];
                if (one->kind == IR_GRAPH && one->v.graph < m->graphs.n) {
                    runs[one->v.graph] = true;
                }
            }
        }
    }
    for (size_t i = 0; i < m->graphs.n; i++) {
        if (runs[i]) {
            copy_outputs(m, &m->graphs.at[i]);
        }
    }
    return BASE_OK;
}
