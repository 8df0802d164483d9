/* narrow.c - an operator whose wide integers are small ones, which the vocabulary has it for.
 *
 * Takes a node that the vocabulary lacks. Gives in its place the same node with outputs of 32 bits for those of 64, and casts behind it, where
 * the definition leaves their type open and every value of theirs is proved to fit in 32 bits (places, counts).
 */
#include "passes/passes_private.h"

static lang_program *program_of(passes_context *c, base_arena *scratch, const ir_model *m, const ir_graph *g,
                                const ir_node *n) {
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    return ops_has(c->ops, n->op) && ops_instantiate(scratch, c->ops, m, g, n, &c->goal, &p, &ignored) == BASE_OK
               ? p
               : NULL;
}

/* Does every element of that output of the program fit in 32 bits? */
static bool is_small(lang_ranges *r, const lang_program *p, size_t output) {
    const lang_range range = lang_range_tensor(r, p->outputs.at[output]);
    return range.known && range.lo >= INT32_MIN && range.hi <= INT32_MAX;
}

static bool may_narrow(const ir_graph *g, const ir_node *n) {
    bool wide = false, fixed = ir_control_of(n) == IR_PLAIN && !ir_is_fused(n);
    for (size_t k = 0; fixed && k < n->output_count; k++) {
        const ir_tensor *t = &g->tensors.at[n->outputs[k]];
        wide = wide || t->type == BASE_I64;
        fixed = t->state == IR_NONE && passes_is_fixed(&t->shape);
    }
    return fixed && wide;
}

bool passes_narrow(passes_context *c, ir_model *m, uint32_t graph, const ir_node *n) {
    ir_graph *g = &m->graphs.at[graph];
    const size_t tensors = g->tensors.n;
    if (!may_narrow(g, n)) {
        return false;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    const lang_program *p = program_of(c, scratch, m, g, n);
    lang_ranges *ranges = p != NULL ? lang_ranges_new(scratch, p) : NULL;
    bool said = p != NULL && p->outputs.n == n->output_count;
    ir_node own = *n;
    own.outputs = BASE_NEWS(m->arena, uint32_t, n->output_count + 1);
    for (size_t k = 0; said && k < n->output_count; k++) {
        const ir_tensor t = g->tensors.at[n->outputs[k]];
        own.outputs[k] = n->outputs[k];
        if (t.type == BASE_I64) {
            said = is_small(ranges, p, k);
            own.outputs[k] = ir_tensor_add(m, g, t.name, BASE_I32, &t.shape);
        }
    }
    said = said && program_of(c, scratch, m, g, &own) != NULL && passes_says(c, scratch, m, g, &own);
    base_arena_free(scratch);
    if (!said) {
        g->tensors.n = tensors;
        return false;
    }
    *BASE_PUSH(m->arena, &g->nodes) = own;
    for (size_t k = 0; k < n->output_count; k++) {
        if (own.outputs[k] != n->outputs[k]) {
            passes_convert(m, g, "cast", own.outputs[k], n->outputs[k], n);
        }
    }
    return true;
}
