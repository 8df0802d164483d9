/* from_start.c - an operator that counts negative places from the end, where no place is negative.
 *
 * Takes a node that the vocabulary lacks. Gives in its place the same node without from_end, where every place that it is given is
 * proved not to be negative: a constant, or by the definitions of the nodes that make it (places that are not zero, of the largest).
 */
#include <string.h>

#include "passes/passes_private.h"

enum { NEAR = 256, MOST_NODES = 32 }; /* how far before it what makes a place is looked for, and among how many */

static bool is_negative_nowhere(const ir_tensor *t) {
    uint64_t n = 0;
    bool is = ir_shape_elements(&t->shape, &n);
    for (uint64_t i = 0; is && i < n; i++) {
        is = base_load(t->type, t->data, i).i >= 0;
    }
    return is;
}

static const ir_node *producer_of(const ir_graph *g, uint32_t t, size_t *output) {
    for (size_t i = g->nodes.n; i-- > 0 && g->nodes.n - i <= NEAR;) {
        for (size_t k = 0; k < g->nodes.at[i].output_count; k++) {
            if (g->nodes.at[i].outputs[k] == t) {
                *output = k;
                return &g->nodes.at[i];
            }
        }
    }
    return NULL;
}

/* By ranges through the nodes that make it. */
static bool is_counted_from_start(passes_context *c, base_arena *scratch, const ir_model *m, const ir_graph *g,
                                  uint32_t t, unsigned *left) {
    const ir_tensor *x = &g->tensors.at[t];
    size_t output = 0;
    if (base_type_is_float(x->type) || x->type == BASE_BOOL || x->state != IR_NONE || x->quant.n > 0) {
        return false;
    }
    if (x->data != NULL) {
        return is_negative_nowhere(x);
    }
    const ir_node *n = *left > 0 ? producer_of(g, t, &output) : NULL;
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    *left -= *left > 0;
    if (n == NULL || ir_control_of(n) != IR_PLAIN || ir_is_fused(n) || !ops_has(c->ops, n->op) ||
        ops_instantiate(scratch, c->ops, m, g, n, &c->goal, &p, &ignored) != BASE_OK || p->outputs.n <= output) {
        return false;
    }
    lang_ranges *ranges = lang_ranges_new(scratch, p);
    for (size_t k = 0; k < n->input_count && k < p->inputs.n; k++) {
        if (n->inputs[k] != IR_NONE && p->inputs.at[k] != IR_NONE && g->tensors.at[n->inputs[k]].data == NULL &&
            is_counted_from_start(c, scratch, m, g, n->inputs[k], left)) {
            lang_range range = lang_range_tensor(ranges, p->inputs.at[k]);
            range.lo = range.lo < 0 ? 0 : range.lo;
            lang_ranges_tensor(ranges, p->inputs.at[k], range);
        }
    }
    const lang_range range = lang_range_tensor(ranges, p->outputs.at[output]);
    return range.known && range.lo >= 0;
}

bool passes_from_start(passes_context *c, ir_model *m, uint32_t graph, const ir_node *n) {
    ir_graph *g = &m->graphs.at[graph];
    const ir_attr *a = ir_attr_find(n, "from_end");
    if (a == NULL || a->kind != IR_INT || a->v.i != 1 || n->input_count < 2 || n->inputs[1] == IR_NONE) {
        return false;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    unsigned left = MOST_NODES;
    ir_node own = *n;
    ir_attr *attrs = BASE_NEWS(m->arena, ir_attr, n->attr_count);
    own.attrs = attrs;
    own.attr_count = 0;
    for (size_t k = 0; k < n->attr_count; k++) {
        if (&n->attrs[k] != a) {
            attrs[own.attr_count++] = n->attrs[k];
        }
    }
    const bool said =
        passes_says(c, scratch, m, g, &own) && is_counted_from_start(c, scratch, m, g, n->inputs[1], &left);
    base_arena_free(scratch);
    if (said) {
        *BASE_PUSH(m->arena, &g->nodes) = own;
    }
    return said;
}
