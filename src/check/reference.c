/* reference.c - the evaluator over a whole graph: node by node, on the definitions as instantiated.
 *
 * Takes a model's entry graph. Gives its outputs for given inputs. Compiles each node once; runs any number of times.
 * Tensors are freed never within a run: the whole run lives in the caller's scratch arena.
 */
#include <string.h>

#include "check/check.h"

struct check_reference {
    base_arena *arena;
    const ir_graph *graph;
    const lang_program **programs; /* of each node */
    lang_code **codes;
};

base_status check_reference_new(base_arena *arena, ops_registry *ops, const ir_model *m, const ops_goal *goal,
                                bool simplified, check_reference **out, base_diags *d) {
    if (m->states.n || m->graphs.n > 1) {
        return base_error(d, NULL, "%s: models with state or several sub-graphs cannot be evaluated", m->file);
    }
    check_reference *r = BASE_NEW(arena, check_reference);
    base_status status = BASE_OK;
    r->arena = arena;
    r->graph = &m->graphs.at[0];
    r->programs = BASE_NEWS(arena, const lang_program *, r->graph->nodes.n + 1);
    r->codes = BASE_NEWS(arena, lang_code *, r->graph->nodes.n + 1);
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        lang_program *raw = NULL;
        base_status one = ops_instantiate(arena, ops, m, r->graph, &r->graph->nodes.at[i], goal, &raw, d);
        if (one != BASE_OK) {
            status = one; /* go on: all operators that are refused are listed at once */
            continue;
        }
        r->programs[i] = simplified ? lang_simplify(arena, raw) : raw;
        r->codes[i] = lang_compile(arena, r->programs[i], LANG_EVAL_EXACT, d);
        status = r->codes[i] == NULL ? BASE_REFUSED : status;
    }
    *out = r;
    return status;
}

static base_status run_node(const check_reference *r, size_t i, base_arena *scratch, const void **contents, void **own,
                            base_diags *d) {
    const ir_node *n = &r->graph->nodes.at[i];
    const void **inputs = BASE_NEWS(scratch, const void *, n->input_count + 1);
    lang_result *results = BASE_NEWS(scratch, lang_result, n->output_count + 1);
    for (size_t k = 0; k < n->input_count; k++) {
        inputs[k] = n->inputs[k] == IR_NONE ? NULL : contents[n->inputs[k]];
    }
    for (size_t k = 0; k < n->output_count; k++) {
        uint32_t t = n->outputs[k];
        if (own[t] == NULL) {
            uint64_t bytes = 0;
            if (!ir_tensor_bytes(&r->graph->tensors.at[t], &bytes)) {
                return base_error(d, NULL, "tensor %u is too large", t);
            }
            own[t] = base_alloc(scratch, (size_t)bytes + 1, 1);
        }
        results[k].data = own[t];
        contents[t] = own[t];
    }
    base_arena *inner = base_arena_new(base_arena_memory(scratch));
    base_status status = lang_run(r->codes[i], inner, inputs, results, d);
    base_arena_free(inner);
    return status;
}

base_status check_reference_run(check_reference *r, base_arena *scratch, const void *const *inputs,
                                void *const *outputs, base_diags *d) {
    const ir_graph *g = r->graph;
    const void **contents = BASE_NEWS(scratch, const void *, g->tensors.n + 1);
    void **own = BASE_NEWS(scratch, void *, g->tensors.n + 1);
    for (size_t t = 0; t < g->tensors.n; t++) {
        contents[t] = g->tensors.at[t].data;
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        contents[g->inputs.at[i]] = inputs[i];
    }
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < g->nodes.n; i++) {
        status = run_node(r, i, scratch, contents, own, d);
    }
    for (size_t i = 0; status == BASE_OK && i < g->outputs.n; i++) {
        uint32_t t = g->outputs.at[i];
        uint64_t bytes = 0;
        if (contents[t] == NULL || !ir_tensor_bytes(&g->tensors.at[t], &bytes)) {
            return base_error(d, NULL, "output %zu is computed by no operator", i);
        }
        memcpy(outputs[i], contents[t], (size_t)bytes);
    }
    return status;
}
