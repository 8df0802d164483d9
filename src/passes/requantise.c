/* requantise.c - conversions between scales that come to nothing, or to one.
 *
 * Takes quantize between equal parameters: it vanishes. Takes quantize of what dequantize gave: where both have the same
 * parameters it vanishes, since a number of at most 16 bits comes back through float; with others it becomes one
 * requantisation if that gives the same integer for every value of the type (all are tried). A dequantised quantised
 * real number is rounded, and stays so.
 */
#include <string.h>

#include "passes/passes_private.h"

static bool is_conversion(const passes_edit *e, const ir_node *n, const char *op) {
    return strcmp(n->op, op) == 0 && n->input_count == 1 && n->inputs[0] != IR_NONE && n->output_count == 1 &&
           e->g->tensors.at[passes_now(e, n->inputs[0])].state == IR_NONE &&
           e->g->tensors.at[n->outputs[0]].state == IR_NONE;
}

/* Of 8 or 16 bits, quantised, with scales whose products are normal floats. */
static bool is_small(const ir_tensor *t) {
    bool fits = t->quant.n > 0 && (t->type == BASE_I8 || t->type == BASE_U8 || t->type == BASE_I16);
    for (uint32_t k = 0; fits && k < t->quant.n; k++) {
        fits = t->quant.scale[k] > 1e-30f && t->quant.scale[k] < 1e30f;
    }
    return fits;
}

/* A graph of its own: every value of from's type through the word or words, evaluated. NULL: it cannot be. */
static const void *through(passes_context *c, base_arena *scratch, const ir_tensor *from, const ir_tensor *to,
                           bool real, const void *values, int64_t count) {
    ir_model *m = ir_model_new(scratch, "", "");
    ir_graph *g = ir_graph_add(m, "");
    ir_shape shape = ir_shape_of(1, &count);
    uint32_t t[3];
    t[0] = ir_tensor_add(m, g, "", from->type, &shape);
    t[1] = ir_tensor_add(m, g, "", BASE_F32, &shape);
    t[2] = ir_tensor_add(m, g, "", to->type, &shape);
    g->tensors.at[t[0]].quant = from->quant;
    g->tensors.at[t[0]].data = values;
    g->tensors.at[t[2]].quant = to->quant;
    uint32_t last = t[real ? 1 : 0];
    if (real) {
        ir_node *n = ir_node_add(m, g, "dequantize", &t[0], 1, &t[1], 1, IR_NONE);
        if (!ops_evaluate(scratch, c->ops, m, g, n, &c->goal)) {
            return NULL;
        }
    }
    ir_node *n = ir_node_add(m, g, "quantize", &last, 1, &t[2], 1, IR_NONE);
    return ops_evaluate(scratch, c->ops, m, g, n, &c->goal) ? g->tensors.at[t[2]].data : NULL;
}

static bool gives_the_same(passes_context *c, const ir_tensor *from, const ir_tensor *to) {
    if (from->quant.n != 1 || to->quant.n != 1) {
        return false;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    int64_t lowest;
    uint64_t highest, bytes = 0;
    base_type_range(from->type, &lowest, &highest);
    int64_t count = (int64_t)highest - lowest + 1;
    (void)base_type_bytes(from->type, (uint64_t)count, &bytes);
    void *values = base_alloc(scratch, (size_t)bytes, 1);
    for (int64_t i = 0; i < count; i++) {
        base_store(from->type, values, (uint64_t)i, (base_value){.i = lowest + i});
    }
    const void *a = through(c, scratch, from, to, true, values, count),
               *b = through(c, scratch, from, to, false, values, count);
    (void)base_type_bytes(to->type, (uint64_t)count, &bytes);
    bool same = a != NULL && b != NULL && memcmp(a, b, (size_t)bytes) == 0;
    base_arena_free(scratch);
    return same;
}

static void convert(passes_edit *e, size_t i) {
    ir_node *n = &e->g->nodes.at[i];
    if (!is_conversion(e, n, "quantize")) {
        return;
    }
    uint32_t input = passes_now(e, n->inputs[0]);
    const ir_tensor *to = &e->g->tensors.at[n->outputs[0]];
    if (base_type_is_int(e->g->tensors.at[input].type)) {
        if (is_small(to)) { /* a wide integer does not come through the multiplication */
            (void)passes_vanish(e, i, input);
        }
        return;
    }
    ir_node *before = passes_producer(e, n, 0);
    if (before == NULL || !is_conversion(e, before, "dequantize")) {
        return;
    }
    uint32_t source = passes_now(e, before->inputs[0]);
    const ir_tensor *from = &e->g->tensors.at[source];
    if (!is_small(from) || !is_small(to)) {
        return;
    }
    bool equal = passes_same_values(from, to);
    if (!equal && !gives_the_same(e->c, from, to)) {
        return;
    }
    bool alone = passes_single(e, input);
    passes_rewire(e, n, 0, source);
    if (alone) {
        passes_join_ids(e->c, n, before, n);
        e->gone[before - e->g->nodes.at] = true;
        e->uses[source]--;
    }
    if (equal) {
        (void)passes_vanish(e, i, source);
    }
}

base_status passes_requantise(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    passes_each_node(c, m, convert);
    return BASE_OK;
}
