/* fused.c - a node whose meaning is that of a graph of others: their definitions, linked.
 *
 * Takes a fused node of a verified model. Gives one raw program whose stages are those of the graph's nodes, none
 * substituted. What the node is given as constants is known inside.
 */
#include "ops/ops.h"

/* The graph as it is in this call: its inputs have the contents of the node's. */
static ir_graph called(base_arena *arena, const ir_model *m, const ir_graph *outer, const ir_node *n) {
    ir_graph g = *ir_sub_graph(m, n, "body");
    ir_tensor *tensors = BASE_NEWS(arena, ir_tensor, g.tensors.n + 1);
    for (size_t t = 0; t < g.tensors.n; t++) {
        tensors[t] = g.tensors.at[t];
    }
    for (size_t i = 0; i < g.inputs.n; i++) {
        tensors[g.inputs.at[i]].data = outer->tensors.at[n->inputs[i]].data;
    }
    g.tensors.at = tensors;
    return g;
}

/* Where each tensor of the graph comes from. */
static lang_link_source *sources(base_arena *arena, const ir_graph *g) {
    lang_link_source *list = BASE_NEWS(arena, lang_link_source, g->tensors.n + 1);
    for (size_t i = 0; i < g->inputs.n; i++) {
        list[g->inputs.at[i]] = (lang_link_source){IR_NONE, (uint32_t)i};
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        for (uint32_t k = 0; k < g->nodes.at[i].output_count; k++) {
            list[g->nodes.at[i].outputs[k]] = (lang_link_source){i, k};
        }
    }
    return list;
}

base_status ops_link_fused(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *outer,
                           const ir_node *n, const ops_goal *goal, lang_program **out, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    ir_graph g = called(scratch, m, outer, n);
    const lang_link_source *from = sources(scratch, &g);
    lang_link_part *parts = BASE_NEWS(scratch, lang_link_part, g.nodes.n + 1);
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < g.nodes.n; i++) {
        const ir_node *x = &g.nodes.at[i];
        lang_program *p = NULL;
        status = ops_instantiate(arena, r, m, &g, x, goal, &p, d);
        lang_link_source *inputs = BASE_NEWS(scratch, lang_link_source, x->input_count + 1);
        for (size_t k = 0; k < x->input_count; k++) {
            inputs[k] = x->inputs[k] == IR_NONE ? (lang_link_source){IR_NONE, IR_NONE} : from[x->inputs[k]];
        }
        parts[i] = (lang_link_part){p, inputs};
    }
    lang_link_source *outputs = BASE_NEWS(scratch, lang_link_source, g.outputs.n + 1);
    for (size_t i = 0; i < g.outputs.n; i++) {
        outputs[i] = from[g.outputs.at[i]];
    }
    if (status == BASE_OK) {
        *out = lang_link(arena, n->op, parts, g.nodes.n, g.inputs.n, outputs, g.outputs.n);
        status = *out != NULL ? BASE_OK : base_error(d, NULL, "%s: fused operators have too many nodes", m->file);
    }
    base_arena_free(scratch);
    return status;
}
