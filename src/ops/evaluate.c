/* evaluate.c - what a node gives, where that depends on nothing that a run reads (ops.h).
 *
 * Takes a node of a graph. Gives contents, computed by the evaluator on the definition as instantiated.
 */
#include "ops/ops.h"

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

static bool evaluate(base_arena *arena, base_arena *scratch, ir_graph *g, const ir_node *n, const lang_program *p,
                     bool counted, base_diags *d) {
    const lang_code *code = lang_compile(scratch, p, LANG_EVAL_EXACT, d);
    lang_result *results = BASE_NEWS(scratch, lang_result, n->output_count + 1);
    const void **inputs = BASE_NEWS(scratch, const void *, n->input_count + 1);
    for (size_t i = 0; i < n->input_count; i++) {
        inputs[i] = n->inputs[i] == IR_NONE ? NULL : g->tensors.at[n->inputs[i]].data;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(&g->tensors.at[n->outputs[i]], &bytes);
        results[i].data = base_alloc(arena, 1, (size_t)bytes + 1);
    }
    if (code == NULL || lang_run(code, scratch, inputs, results, d) != BASE_OK) {
        return false;
    }
    for (size_t i = 0; i < n->output_count; i++) { /* extents that data decides: fewer elements than the bound */
        ir_shape actual = ir_shape_of(g->tensors.at[n->outputs[i]].shape.rank, results[i].dim);
        if (!counted && !ir_shape_same(&actual, &g->tensors.at[n->outputs[i]].shape)) {
            return false;
        }
    }
    for (size_t i = 0; i < n->output_count; i++) {
        if (counted) {
            g->tensors.at[n->outputs[i]].shape = ir_shape_of(g->tensors.at[n->outputs[i]].shape.rank, results[i].dim);
        }
        g->tensors.at[n->outputs[i]].data = results[i].data;
    }
    return true;
}

static bool compute(base_arena *arena, ops_registry *r, const ir_model *m, ir_graph *g, const ir_node *n,
                    const ops_goal *goal, bool counted) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    base_diags ignored = {.arena = scratch};
    lang_program *raw = NULL;
    for (size_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] != IR_NONE && ir_shape_open(&g->tensors.at[n->inputs[i]].shape)) {
            base_arena_free(scratch);
            return false;
        }
    }
    bool done = ops_has(r, n->op) && ops_instantiate(scratch, r, m, g, n, goal, &raw, &ignored) == BASE_OK &&
                !reads_unknown(scratch, raw) && evaluate(arena, scratch, g, n, raw, counted, &ignored);
    base_arena_free(scratch);
    return done;
}

bool ops_evaluate(base_arena *arena, ops_registry *r, const ir_model *m, ir_graph *g, const ir_node *n,
                  const ops_goal *goal) {
    return compute(arena, r, m, g, n, goal, false);
}

bool ops_evaluate_counted(base_arena *arena, ops_registry *r, const ir_model *m, ir_graph *g, const ir_node *n,
                          const ops_goal *goal) {
    return compute(arena, r, m, g, n, goal, true);
}
