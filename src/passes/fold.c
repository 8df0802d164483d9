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

/* Does any stage read a tensor whose contents are not known? */
static bool reads_unknown(base_arena *scratch, const lang_program *p) {
    const uint8_t *reached = lang_reached(scratch, p, NULL);
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        const lang_node *n = lang_at(p, r);
        if (reached[r] != 0 && n->kind == LANG_READ && p->tensors.at[n->index].kind == LANG_INPUT &&
            p->tensors.at[n->index].data == NULL) {
            return true;
        }
    }
    return false;
}

static bool evaluate(passes_context *c, base_arena *scratch, ir_graph *g, const ir_node *n, const lang_program *p,
                     base_diags *d) {
    const lang_code *code = lang_compile(scratch, p, LANG_EVAL_EXACT, d);
    lang_result *results = BASE_NEWS(scratch, lang_result, n->output_count + 1);
    const void **inputs = BASE_NEWS(scratch, const void *, n->input_count + 1);
    for (size_t i = 0; i < n->input_count; i++) {
        inputs[i] = n->inputs[i] == IR_NONE ? NULL : g->tensors.at[n->inputs[i]].data;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(&g->tensors.at[n->outputs[i]], &bytes);
        results[i].data = base_alloc(c->arena, 1, (size_t)bytes + 1);
    }
    if (code == NULL || lang_run(code, scratch, inputs, results, d) != BASE_OK) {
        return false;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        g->tensors.at[n->outputs[i]].data = results[i].data;
    }
    return true;
}

/* Sets the contents of the node's outputs if they are known; true when the node is spent. */
static bool fold_node(passes_context *c, ir_model *m, ir_graph *g, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    base_diags ignored = {.arena = scratch};
    lang_program *raw = NULL;
    bool folded = ops_has(c->ops, n->op) &&
                  ops_instantiate(scratch, c->ops, m, g, n, &c->goal, &raw, &ignored) == BASE_OK &&
                  !reads_unknown(scratch, raw) && evaluate(c, scratch, g, n, raw, &ignored);
    base_arena_free(scratch);
    return folded;
}

base_status passes_fold(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    for (size_t i = 0; i < m->graphs.n; i++) {
        ir_graph *g = &m->graphs.at[i];
        bool *gone = BASE_NEWS(c->arena, bool, g->nodes.n + 1);
        for (size_t k = 0; k < g->nodes.n; k++) {
            const ir_node *n = &g->nodes.at[k];
            gone[k] = worth_trying(g, n) && fold_node(c, m, g, n);
        }
        passes_drop(g, gone);
    }
    return BASE_OK;
}
