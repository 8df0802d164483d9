/* edit.c - a graph while a pass changes it: who makes and who reads what, and what stands for what.
 *
 * Takes a graph in executable order. Gives it with nodes dropped, joined and rewired. Outputs of the graph keep their
 * tensors; states are never touched.
 */
#include <string.h>

#include "passes/passes_private.h"

passes_edit passes_edit_begin(passes_context *c, ir_model *m, ir_graph *g) {
    passes_edit e = {.c = c, .m = m, .g = g, .tensors = g->tensors.n};
    e.scratch = base_arena_new(base_arena_memory(c->arena));
    e.uses = BASE_NEWS(e.scratch, uint32_t, e.tensors + 1);
    e.producer = BASE_NEWS(e.scratch, uint32_t, e.tensors + 1);
    e.same = BASE_NEWS(e.scratch, uint32_t, e.tensors + 1);
    e.is_output = BASE_NEWS(e.scratch, bool, e.tensors + 1);
    e.gone = BASE_NEWS(e.scratch, bool, g->nodes.n + 1);
    for (uint32_t t = 0; t < e.tensors; t++) {
        e.producer[t] = IR_NONE;
        e.same[t] = t;
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->input_count; k++) {
            if (n->inputs[k] != IR_NONE) {
                e.uses[n->inputs[k]]++;
            }
        }
        for (size_t k = 0; k < n->output_count; k++) {
            if (g->tensors.at[n->outputs[k]].state == IR_NONE) {
                e.producer[n->outputs[k]] = i;
            }
        }
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        e.uses[g->outputs.at[i]]++;
        e.is_output[g->outputs.at[i]] = true;
    }
    return e;
}

uint32_t passes_now(const passes_edit *e, uint32_t t) {
    while (t != IR_NONE && t < e->tensors && e->same[t] != t) {
        t = e->same[t];
    }
    return t;
}

void passes_edit_end(passes_edit *e) {
    ir_graph *g = e->g;
    for (size_t i = 0; i < g->nodes.n; i++) {
        for (size_t k = 0; k < g->nodes.at[i].input_count; k++) {
            g->nodes.at[i].inputs[k] = passes_now(e, g->nodes.at[i].inputs[k]);
        }
    }
    passes_drop(g, e->gone);
    base_arena_free(e->scratch);
}

void passes_each_node(passes_context *c, ir_model *m, void (*visit)(passes_edit *e, size_t node)) {
    for (size_t i = 0; i < m->graphs.n; i++) {
        passes_edit e = passes_edit_begin(c, m, &m->graphs.at[i]);
        for (size_t k = 0; k < e.g->nodes.n; k++) {
            visit(&e, k);
        }
        passes_edit_end(&e);
    }
}

ir_node *passes_producer(const passes_edit *e, const ir_node *n, size_t k) {
    uint32_t t = k < n->input_count ? passes_now(e, n->inputs[k]) : IR_NONE;
    uint32_t p = t != IR_NONE && t < e->tensors ? e->producer[t] : IR_NONE;
    return p != IR_NONE && !e->gone[p] ? &e->g->nodes.at[p] : NULL;
}

bool passes_single(const passes_edit *e, uint32_t t) {
    return t < e->tensors && e->uses[t] == 1 && !e->is_output[t] && e->g->tensors.at[t].state == IR_NONE;
}

const ir_tensor *passes_constant(const passes_edit *e, const ir_node *n, size_t k) {
    uint32_t t = k < n->input_count ? passes_now(e, n->inputs[k]) : IR_NONE;
    return t != IR_NONE && e->g->tensors.at[t].data != NULL ? &e->g->tensors.at[t] : NULL;
}

bool passes_vanish(passes_edit *e, size_t i, uint32_t from) {
    const ir_node *n = &e->g->nodes.at[i];
    uint32_t to = n->outputs[0];
    if (!passes_same_values(&e->g->tensors.at[from], &e->g->tensors.at[to])) {
        return false;
    }
    if (!e->is_output[to]) {
        e->uses[from] += e->uses[to] - 1;
        e->same[to] = from;
        e->gone[i] = true;
        return true;
    }
    /* The output keeps its tensor: whoever makes the value makes it there. */
    ir_node *p = passes_producer(e, n, 0);
    if (p == NULL || e->is_output[from] || passes_now(e, n->inputs[0]) != from) {
        return false;
    }
    for (size_t k = 0; k < p->output_count; k++) {
        p->outputs[k] = p->outputs[k] == from ? to : p->outputs[k];
    }
    e->producer[to] = e->producer[from];
    e->uses[to] += e->uses[from] - 1;
    e->same[from] = to;
    e->gone[i] = true;
    return true;
}

void passes_absorb(passes_edit *e, ir_node *into, size_t i) {
    ir_node *n = &e->g->nodes.at[i];
    passes_join_ids(e->c, into, into, n);
    into->outputs[0] = n->outputs[0];
    e->producer[n->outputs[0]] = (uint32_t)(into - e->g->nodes.at);
    e->gone[i] = true;
}

void passes_join_ids(passes_context *c, ir_node *n, const ir_node *first, const ir_node *second) {
    uint32_t *ids = BASE_NEWS(c->arena, uint32_t, first->id_count + second->id_count + 1);
    memcpy(ids, first->ids, first->id_count * sizeof *ids);
    memcpy(ids + first->id_count, second->ids, second->id_count * sizeof *ids);
    n->id_count = first->id_count + second->id_count;
    n->ids = ids;
}

void passes_rewire(passes_edit *e, ir_node *n, size_t k, uint32_t t) {
    uint32_t before = passes_now(e, n->inputs[k]);
    if (before != IR_NONE && before < e->tensors) {
        e->uses[before]--;
    }
    if (t < e->tensors) {
        e->uses[t]++;
    }
    n->inputs[k] = t;
}

void passes_become(passes_context *c, ir_node *n, const char *op, const uint32_t *inputs, size_t input_count) {
    uint32_t *list = BASE_NEWS(c->arena, uint32_t, input_count + 1);
    memcpy(list, inputs, input_count * sizeof *list);
    n->op = op;
    n->inputs = list;
    n->input_count = input_count;
    n->attrs = NULL;
    n->attr_count = 0;
    n->source_name = "";
}

uint32_t passes_constant_add(ir_model *m, ir_graph *g, const char *name, base_type type, const ir_shape *shape,
                             const void *data) {
    const uint32_t t = ir_tensor_add(m, g, name, type, shape);
    g->tensors.at[t].data = data;
    return t;
}

void passes_convert(ir_model *m, ir_graph *g, const char *word, uint32_t from, uint32_t to, const ir_node *like) {
    const ir_node of = *like; /* adding may move it */
    ir_node *n = ir_node_add(m, g, word, &from, 1, &to, 1, IR_NONE);
    n->ids = of.ids;
    n->id_count = of.id_count;
    n->byte = of.byte;
}

/* Scales or zero points, as a constant. */
static uint32_t list_of(passes_context *c, ir_model *m, ir_graph *g, const ir_quant *quant, base_type type,
                        bool scales) {
    const int64_t count = quant->n;
    const ir_shape shape = ir_shape_of(count > 1, &count);
    void *data = base_alloc(c->arena, (size_t)count, 8);
    for (uint32_t k = 0; k < quant->n; k++) {
        base_store(type, data, k,
                   scales ? (base_value){.f = (double)quant->scale[k]} : (base_value){.i = quant->zero[k]});
    }
    return passes_constant_add(m, g, "", type, &shape, data);
}

void passes_say_scale(passes_context *c, ir_model *m, ir_graph *g, size_t i, uint32_t whole) {
    const ir_tensor like = g->tensors.at[whole];
    const bool makes = g->nodes.at[i].outputs[0] == whole;
    const uint32_t inputs[3] = {g->nodes.at[i].inputs[0], list_of(c, m, g, &like.quant, BASE_F32, true),
                                list_of(c, m, g, &like.quant, like.type, false)};
    ir_node *n = &g->nodes.at[i];
    passes_become(c, n, makes ? "quantize_linear" : "dequantize_linear", inputs, 3);
    ir_attr_int(m, n, "axis", like.quant.axis);
    if (makes) {
        ir_attr_text(m, n, "precision", "f32");
    }
}
