/* plain.c - a model without its history, so that two can be compared: what it computes, and nothing of where it came
 * from.
 *
 * Takes a verified model. Gives one whose graphs have only tensors that are used, numbered in their order, whose nodes
 * and tensors have no places in a file, and whose graphs are numbered as they stand; attributes stand in the order of their
 * names. Data stay borrowed.
 */
#include "ir/ir.h"

#include <string.h>

static void mark(bool *used, const uint32_t *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (list[i] != IR_NONE) {
            used[list[i]] = true;
        }
    }
}

static uint32_t *renumber(base_arena *arena, const uint32_t *number, const uint32_t *list, size_t n) {
    uint32_t *out = BASE_NEWS(arena, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        out[i] = list[i] == IR_NONE ? IR_NONE : number[list[i]];
    }
    return out;
}

/* Attributes have names, no order. Lists are short. */
static const ir_attr *sorted(base_arena *arena, const ir_attr *attrs, size_t n) {
    ir_attr *list = BASE_NEWS(arena, ir_attr, n + 1);
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && strcmp(list[at - 1].name, attrs[i].name) > 0; at--) {
            list[at] = list[at - 1];
        }
        list[at] = attrs[i];
    }
    return list;
}

/* Of each tensor: does a node or the border have it? */
static bool *used_in(base_arena *arena, const ir_graph *g) {
    bool *used = BASE_NEWS(arena, bool, g->tensors.n + 1);
    mark(used, g->inputs.at, g->inputs.n);
    mark(used, g->outputs.at, g->outputs.n);
    for (size_t i = 0; i < g->nodes.n; i++) {
        mark(used, g->nodes.at[i].inputs, g->nodes.at[i].input_count);
        mark(used, g->nodes.at[i].outputs, g->nodes.at[i].output_count);
    }
    return used;
}

void ir_drop_unused_tensors(ir_model *m, ir_graph *g) {
    const bool *used = used_in(m->arena, g);
    uint32_t *number = BASE_NEWS(m->arena, uint32_t, g->tensors.n + 1);
    size_t kept = 0;
    for (size_t i = 0; i < g->tensors.n; i++) {
        if (used[i]) {
            number[i] = (uint32_t)kept;
            g->tensors.at[kept++] = g->tensors.at[i];
        }
    }
    g->tensors.n = kept;
    for (size_t i = 0; i < g->nodes.n; i++) {
        ir_node *n = &g->nodes.at[i];
        n->inputs = renumber(m->arena, number, n->inputs, n->input_count);
        n->outputs = renumber(m->arena, number, n->outputs, n->output_count);
    }
    g->inputs.at = renumber(m->arena, number, g->inputs.at, g->inputs.n);
    g->outputs.at = renumber(m->arena, number, g->outputs.at, g->outputs.n);
    g->inputs.cap = g->inputs.n;
    g->outputs.cap = g->outputs.n;
}

static void plain_graph(ir_model *m, const ir_graph *from) {
    ir_graph *g = ir_graph_add(m, from->name);
    const bool *used = used_in(m->arena, from);
    uint32_t *number = BASE_NEWS(m->arena, uint32_t, from->tensors.n + 1);
    for (size_t i = 0; i < from->tensors.n; i++) {
        if (used[i]) {
            number[i] = (uint32_t)g->tensors.n;
            ir_tensor *t = BASE_PUSH(m->arena, &g->tensors);
            *t = from->tensors.at[i];
            t->source = IR_NONE;
        }
    }
    for (size_t i = 0; i < from->nodes.n; i++) {
        ir_node *n = BASE_PUSH(m->arena, &g->nodes);
        *n = from->nodes.at[i];
        n->inputs = renumber(m->arena, number, n->inputs, n->input_count);
        n->outputs = renumber(m->arena, number, n->outputs, n->output_count);
        n->attrs = sorted(m->arena, n->attrs, n->attr_count);
        n->id_count = 0;
        n->source_name = "";
        n->byte = 0;
    }
    g->inputs.at = renumber(m->arena, number, from->inputs.at, from->inputs.n);
    g->inputs.n = g->inputs.cap = from->inputs.n;
    g->outputs.at = renumber(m->arena, number, from->outputs.at, from->outputs.n);
    g->outputs.n = g->outputs.cap = from->outputs.n;
}

ir_model *ir_plain(base_arena *arena, const ir_model *m) {
    ir_model *out = ir_model_new(arena, "", "");
    for (size_t i = 0; i < m->graphs.n; i++) {
        plain_graph(out, &m->graphs.at[i]);
    }
    out->symbols = m->symbols;
    out->states = m->states;
    out->description = m->description;
    out->signatures = m->signatures;
    out->metadata = m->metadata;
    return out;
}

bool ir_same(base_arena *scratch, const ir_model *a, const ir_model *b) {
    base_text first = {.arena = scratch}, second = {.arena = scratch};
    ir_print(&first, ir_plain(scratch, a));
    ir_print(&second, ir_plain(scratch, b));
    return first.n == second.n && !memcmp(first.at, second.at, first.n);
}
