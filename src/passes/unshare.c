/* unshare.c - what kernels compute in place is not read again under another name.
 *
 * Takes graphs in executable order, for LiteRT, which gives a reshaped tensor the memory of the other, and lets some kernels write where they
 * read if nobody else reads that: it asks so of the tensor that they read and of the one that first had the memory, and not of those
 * between. Gives them with a copy, by a transpose that moves nothing, before a reshape whose result is written over while what it
 * reshapes is read later.
 */
#include <string.h>

#include "passes/passes_private.h"

static bool is_among(const char *word, const char *const *list, size_t n) {
    bool is = false;
    for (size_t i = 0; i < n; i++) {
        is = is || strcmp(word, list[i]) == 0;
    }
    return is;
}

/* Kernels that write over what they read (measured: LiteRT 2.3.0). */
static bool is_in_place(const ir_node *n) {
    static const char *const words[] = {"add", "sub", "mul", "div", "softmax", "dynamic_update_slice"};
    return is_among(n->op, words, sizeof words / sizeof words[0]);
}

static bool is_view(const ir_node *n) {
    static const char *const words[] = {"reshape", "identity", "squeeze", "expand_dims", "bitcast"};
    return n->input_count > 0 && n->output_count == 1 && is_among(n->op, words, sizeof words / sizeof words[0]);
}

/* The last node that reads t; IR_NONE: none does. */
static uint32_t last_reader(const ir_graph *g, uint32_t t) {
    for (size_t i = g->nodes.n; i-- > 0;) {
        for (size_t k = 0; k < g->nodes.at[i].input_count; k++) {
            if (g->nodes.at[i].inputs[k] == t) {
                return (uint32_t)i;
            }
        }
    }
    return IR_NONE;
}

/* Is node i a reshape of what is read after its result has been written over? */
static bool is_hazard(const passes_edit *e, size_t i) {
    const ir_node *view = &e->g->nodes.at[i];
    const uint32_t t = is_view(view) ? view->inputs[0] : IR_NONE;
    if (t == IR_NONE || e->uses[t] < 2 || e->is_output[t] || e->producer[t] == IR_NONE ||
        e->g->tensors.at[t].state != IR_NONE || !passes_single(e, view->outputs[0])) {
        return false;
    }
    const ir_node *from = &e->g->nodes.at[e->producer[t]];
    const uint32_t writer = last_reader(e->g, view->outputs[0]);
    return (is_in_place(from) || is_view(from)) && writer != IR_NONE && is_in_place(&e->g->nodes.at[writer]) &&
           last_reader(e->g, t) > writer;
}

static void visit(passes_edit *e, size_t i) {
    const uint32_t rank = e->g->nodes.at[i].input_count > 0 && e->g->nodes.at[i].inputs[0] != IR_NONE
                              ? e->g->tensors.at[e->g->nodes.at[i].inputs[0]].shape.rank
                              : 0;
    if (rank == 0 || !is_hazard(e, i)) {
        return;
    }
    const ir_node like = e->g->nodes.at[i];
    const ir_tensor of = e->g->tensors.at[like.inputs[0]];
    int64_t order[IR_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) {
        order[k] = k;
    }
    const uint32_t to = ir_tensor_add(e->m, e->g, of.name, of.type, &of.shape);
    e->g->tensors.at[to].quant = of.quant;
    passes_convert(e->m, e->g, "transpose", like.inputs[0], to, &like);
    ir_attr_ints(e->m, &e->g->nodes.at[e->g->nodes.n - 1], "perm", order, rank);
    e->g->nodes.at[i].inputs[0] = to;
}

base_status passes_unshare(passes_context *c, ir_model *m, base_diags *d) {
    if (!passes_asked(c, "unshare")) {
        return BASE_OK;
    }
    for (size_t i = 0; i < m->graphs.n; i++) {
        passes_edit e = passes_edit_begin(c, m, &m->graphs.at[i]);
        const size_t nodes = e.g->nodes.n;
        for (size_t k = 0; k < nodes; k++) {
            visit(&e, k);
        }
        base_arena_free(e.scratch);
    }
    return ir_sort(m, d);
}
