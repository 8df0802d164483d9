/* dead.c - drops operators that no output of their graph needs and that change no state.
 *
 * Takes graphs in executable order. Gives them without dead nodes; tensors stay, so that indices do not move.
 */
#include "passes/passes_private.h"

base_status passes_dead(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    const bool *with_state = ir_graphs_with_state(c->arena, m);
    for (size_t i = 0; i < m->graphs.n; i++) {
        ir_graph *g = &m->graphs.at[i];
        base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
        bool *needed = BASE_NEWS(scratch, bool, g->tensors.n + 1), *gone = BASE_NEWS(scratch, bool, g->nodes.n + 1);
        for (size_t k = 0; k < g->outputs.n; k++) {
            needed[g->outputs.at[k]] = true;
        }
        for (size_t k = g->nodes.n; k-- > 0;) {
            const ir_node *n = &g->nodes.at[k];
            gone[k] = !ir_reaches_state(n, with_state);
            for (size_t o = 0; o < n->output_count; o++) {
                gone[k] = gone[k] && !needed[n->outputs[o]] && g->tensors.at[n->outputs[o]].state == IR_NONE;
            }
            for (size_t o = 0; !gone[k] && o < n->input_count; o++) {
                if (n->inputs[o] != IR_NONE) {
                    needed[n->inputs[o]] = true;
                }
            }
        }
        passes_drop(g, gone);
        base_arena_free(scratch);
    }
    return BASE_OK;
}
