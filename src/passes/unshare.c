/* unshare.c - what kernels compute in place is not read again under another name.
 *
 * Takes graphs in executable order, for a runtime that gives a reshaped tensor the memory of the other, and lets some kernels write
 * where they read if nobody else reads that: LiteRT asks so of the tensor that they read and of the one that first had the memory, and
 * not of those between. Which nodes those are the vocabulary says. Gives them with a copy, by a transpose that moves nothing, before
 * a reshape whose result is written over while what it reshapes is read later.
 */
#include <string.h>

#include "passes/passes_private.h"

static bool is_in_place(const passes_edit *e, const ir_node *n) {
    return e->c->vocabulary->is_over(e->c->vocabulary->user, n);
}

static bool is_view(const passes_edit *e, const ir_node *n) {
    return n->input_count > 0 && n->output_count == 1 && e->c->vocabulary->is_view(e->c->vocabulary->user, n);
}

/* Of each tensor the last node that reads it; IR_NONE: none does. */
static uint32_t *last_readers(const passes_edit *e) {
    uint32_t *last = BASE_NEWS(e->scratch, uint32_t, e->g->tensors.n + 1);
    memset(last, 0xff, (e->g->tensors.n + 1) * sizeof *last);
    for (uint32_t i = 0; i < e->g->nodes.n; i++) {
        for (size_t k = 0; k < e->g->nodes.at[i].input_count; k++) {
            if (e->g->nodes.at[i].inputs[k] != IR_NONE) {
                last[e->g->nodes.at[i].inputs[k]] = i;
            }
        }
    }
    return last;
}

/* Is node i a reshape of what is read after its result has been written over? */
static bool is_hazard(const passes_edit *e, const uint32_t *last, size_t i) {
    const ir_node *view = &e->g->nodes.at[i];
    const uint32_t t = is_view(e, view) ? view->inputs[0] : IR_NONE;
    if (t == IR_NONE || e->uses[t] < 2 || e->is_output[t] || e->producer[t] == IR_NONE ||
        e->g->tensors.at[t].state != IR_NONE || !passes_single(e, view->outputs[0])) {
        return false;
    }
    const ir_node *from = &e->g->nodes.at[e->producer[t]];
    const uint32_t writer = last[view->outputs[0]];
    return (is_in_place(e, from) || is_view(e, from)) && writer != IR_NONE && is_in_place(e, &e->g->nodes.at[writer]) &&
           last[t] > writer;
}

static void visit(passes_edit *e, const uint32_t *last, size_t i) {
    const uint32_t rank = e->g->nodes.at[i].input_count > 0 && e->g->nodes.at[i].inputs[0] != IR_NONE
                              ? e->g->tensors.at[e->g->nodes.at[i].inputs[0]].shape.rank
                              : 0;
    if (rank == 0 || !is_hazard(e, last, i)) {
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
    if (!passes_asked(c, "unshare") || c->vocabulary == NULL) {
        return BASE_OK;
    }
    for (size_t i = 0; i < m->graphs.n; i++) {
        passes_edit e = passes_edit_begin(c, m, &m->graphs.at[i]);
        const size_t nodes = e.g->nodes.n;
        const uint32_t *last = last_readers(&e);
        for (size_t k = 0; k < nodes; k++) {
            visit(&e, last, k);
        }
        base_arena_free(e.scratch);
    }
    return ir_sort(m, d);
}
