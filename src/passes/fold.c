/* fold.c - operators whose outputs do not depend on any input of the model become constants.
 *
 * Takes nodes all of whose inputs are known, or whose small outputs hold shapes. Gives tensors with contents, computed
 * by the evaluator. An operator without a definition, or refused by it, is left for the plan to report.
 */
#include "passes/passes_private.h"

#define SMALL_OUTPUT 4096u                 /* bytes: tried even when an input is not known (shape, rank) */
#define LARGEST_OUTPUT ((uint64_t)1 << 28) /* bytes of one folded tensor */

static bool worth_trying(const ir_graph *g, const ir_node *n) {
    bool known = true, small = n->output_count > 0;
    for (size_t i = 0; i < n->input_count; i++) {
        known = known && (n->inputs[i] == IR_NONE || g->tensors.at[n->inputs[i]].data != NULL);
    }
    for (size_t i = 0; i < n->output_count; i++) {
        const ir_tensor *t = &g->tensors.at[n->outputs[i]];
        uint64_t bytes = 0;
        if (t->state != IR_NONE || !ir_tensor_bytes(t, &bytes) || bytes > LARGEST_OUTPUT) {
            return false;
        }
        small = small && bytes <= SMALL_OUTPUT && base_type_is_int(t->type);
    }
    return (known && n->input_count > 0) || small;
}

base_status passes_fold(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    for (size_t i = 0; i < m->graphs.n; i++) {
        ir_graph *g = &m->graphs.at[i];
        bool *gone = BASE_NEWS(c->arena, bool, g->nodes.n + 1);
        for (size_t k = 0; k < g->nodes.n; k++) {
            const ir_node *n = &g->nodes.at[k];
            gone[k] = worth_trying(g, n) && ops_evaluate(c->arena, c->ops, m, g, n, &c->goal);
        }
        passes_drop(g, gone);
    }
    return BASE_OK;
}
