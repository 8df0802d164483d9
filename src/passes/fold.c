/* fold.c - operators whose outputs do not depend on any input of the model become constants.
 *
 * Takes nodes all of whose inputs are known, or whose small outputs hold shapes. Gives tensors with contents, computed
 * by the evaluator. An operator without a definition, or refused by it, is left for the plan to report. Once all that was made is
 * out of proportion to the constants that the model came with, the rest is left to be computed at run time. For a target that
 * has words for quantised weights they stay what they are.
 */
#include <string.h>

#include "passes/passes_private.h"

#define SMALL_OUTPUT 4096u /* bytes without scales: tried even when an input is not known (shape, rank) */
#define MADE_AT_LEAST ((uint64_t)1 << 26) /* bytes of all folded tensors together: so many may be made of nothing, */
#define MADE_FOR_EACH 8u                  /* and so many for each byte of the constants */

static uint64_t most_made(const ir_model *m) {
    uint64_t sum = 0;
    for (size_t i = 0; i < m->graphs.n; i++) {
        for (size_t k = 0; k < m->graphs.at[i].tensors.n; k++) {
            const ir_tensor *t = &m->graphs.at[i].tensors.at[k];
            uint64_t bytes = 0;
            sum += t->data != NULL && ir_tensor_bytes(t, &bytes) ? bytes : 0;
        }
    }
    return MADE_AT_LEAST + MADE_FOR_EACH * sum;
}

/* room: bytes that may still be made; made: how many the node would make. */
static bool worth_trying(const ir_graph *g, const ir_node *n, uint64_t room, uint64_t *made) {
    *made = 0;
    bool known = true, small = n->output_count > 0;
    for (size_t i = 0; i < n->input_count; i++) {
        known = known && (n->inputs[i] == IR_NONE || g->tensors.at[n->inputs[i]].data != NULL);
    }
    for (size_t i = 0; i < n->output_count; i++) {
        const ir_tensor *t = &g->tensors.at[n->outputs[i]];
        uint64_t bytes = 0;
        if (t->state != IR_NONE || !ir_tensor_bytes(t, &bytes) || bytes > room - *made) {
            return false;
        }
        *made += bytes;
        small = small && bytes <= SMALL_OUTPUT && base_type_is_int(t->type) && t->quant.n == 0;
    }
    return (known && n->input_count > 0) || small;
}

/* A conversion of weights, which other passes look for. */
static bool is_weights(const passes_context *c, const ir_node *n) {
    return (passes_asked(c, "dequantise") || passes_asked(c, "quantise")) && strcmp(n->op, "dequantize_linear") == 0;
}

base_status passes_fold(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    uint64_t room = most_made(m), made;
    for (size_t i = 0; i < m->graphs.n; i++) {
        ir_graph *g = &m->graphs.at[i];
        bool *gone = BASE_NEWS(c->arena, bool, g->nodes.n + 1);
        for (size_t k = 0; k < g->nodes.n; k++) {
            const ir_node *n = &g->nodes.at[k];
            gone[k] = !is_weights(c, n) && worth_trying(g, n, room, &made) &&
                      ops_evaluate(c->arena, c->ops, m, g, n, &c->goal);
            room -= gone[k] ? made : 0;
        }
        passes_drop(g, gone);
    }
    return BASE_OK;
}
