/* edit.c - changes of a model's outline: another entry, other outputs, nothing that no output needs.
 *
 * Takes verified models. Gives them verified, too; tensors stay, so that their indices do not move.
 */
#include "ir/ir.h"

#include <string.h>

/* What nodes and signatures call graph i is graph place[i] now. */
static void renumber(ir_model *m, const uint32_t *place) {
    for (size_t i = 0; i < m->graphs.n; i++) {
        const ir_graph *g = &m->graphs.at[i];
        for (size_t k = 0; k < g->nodes.n; k++) {
            ir_node *n = &g->nodes.at[k];
            for (size_t a = 0; a < n->attr_count; a++) {
                if (n->attrs[a].kind == IR_GRAPH) {
                    ir_attr_graph(m, n, n->attrs[a].name, place[n->attrs[a].v.graph]);
                }
            }
        }
    }
    for (size_t i = 0; i < m->signatures.n; i++) {
        m->signatures.at[i].graph = place[m->signatures.at[i].graph];
    }
}

void ir_make_entry(ir_model *m, uint32_t graph) {
    uint32_t *place = BASE_NEWS(m->arena, uint32_t, m->graphs.n + 1);
    const ir_graph first = m->graphs.at[0];
    m->graphs.at[0] = m->graphs.at[graph];
    m->graphs.at[graph] = first;
    for (uint32_t i = 0; i < m->graphs.n; i++) {
        place[i] = i == graph ? 0 : i == 0 ? graph : i;
    }
    renumber(m, place);
}

static void drop_dead_of(const ir_model *m, ir_graph *g, base_arena *scratch, const bool *with_state) {
    bool *needed = BASE_NEWS(scratch, bool, g->tensors.n + 1), *dead = BASE_NEWS(scratch, bool, g->nodes.n + 1);
    for (size_t k = 0; k < g->outputs.n; k++) {
        needed[g->outputs.at[k]] = true;
    }
    for (size_t k = g->nodes.n; k-- > 0;) {
        const ir_node *n = &g->nodes.at[k];
        dead[k] = !ir_reaches_state(m, n, with_state);
        for (size_t o = 0; o < n->output_count; o++) {
            dead[k] = dead[k] && !needed[n->outputs[o]] && g->tensors.at[n->outputs[o]].state == IR_NONE;
        }
        for (size_t o = 0; !dead[k] && o < n->input_count; o++) {
            if (n->inputs[o] != IR_NONE) {
                needed[n->inputs[o]] = true;
            }
        }
    }
    size_t kept = 0;
    for (size_t k = 0; k < g->nodes.n; k++) {
        if (!dead[k]) {
            g->nodes.at[kept++] = g->nodes.at[k];
        }
    }
    g->nodes.n = kept;
}

void ir_drop_dead(ir_model *m) {
    base_arena *scratch = base_arena_new(base_arena_memory(m->arena));
    const bool *with_state = ir_graphs_with_state(scratch, m);
    for (size_t i = 0; i < m->graphs.n; i++) {
        drop_dead_of(m, &m->graphs.at[i], scratch, with_state);
    }
    base_arena_free(scratch);
}

static void calls_of(const ir_graph *g, bool *called) {
    for (size_t k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.at[k];
        for (size_t a = 0; a < n->attr_count; a++) {
            if (n->attrs[a].kind == IR_GRAPH) {
                called[n->attrs[a].v.graph] = true;
            }
        }
    }
}

bool *ir_called(base_arena *arena, const ir_model *m) {
    bool *called = BASE_NEWS(arena, bool, m->graphs.n + 1);
    for (size_t i = 0; i < m->graphs.n; i++) {
        calls_of(&m->graphs.at[i], called);
    }
    return called;
}

void ir_drop_uncalled(ir_model *m, const bool *called, size_t n) {
    base_arena *scratch = base_arena_new(base_arena_memory(m->arena));
    bool *live = BASE_NEWS(scratch, bool, m->graphs.n + 1), *seen = BASE_NEWS(scratch, bool, m->graphs.n + 1);
    uint32_t *place = BASE_NEWS(scratch, uint32_t, m->graphs.n + 1);
    for (size_t i = 0; i < m->graphs.n; i++) {
        live[i] = i == 0 || (i < n && !called[i]);
    }
    for (size_t i = 0; i < m->signatures.n; i++) {
        live[m->signatures.at[i].graph] = true;
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < m->graphs.n; i++) {
            if (live[i] && !seen[i]) {
                seen[i] = more = true;
                calls_of(&m->graphs.at[i], live);
            }
        }
    }
    uint32_t kept = 0;
    for (size_t i = 0; i < m->graphs.n; i++) {
        place[i] = live[i] ? kept++ : IR_NONE;
        if (live[i]) {
            m->graphs.at[place[i]] = m->graphs.at[i];
        }
    }
    const bool changed = kept < m->graphs.n;
    while (m->graphs.n > kept) {
        m->graphs.at[--m->graphs.n] = (ir_graph){0};
    }
    if (changed) {
        renumber(m, place);
    }
    base_arena_free(scratch);
}

/* The ports whose places are kept, by their new places: place[at], IR_NONE: gone. */
static const ir_port *move_ports(base_arena *arena, const ir_port *ports, size_t *n, const uint32_t *place) {
    ir_port *list = BASE_NEWS(arena, ir_port, *n + 1);
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        if (place[ports[i].at] != IR_NONE) {
            list[kept++] = (ir_port){ports[i].name, place[ports[i].at]};
        }
    }
    *n = kept;
    return list;
}

/* The graph's inputs or outputs that are kept, and for each its new place. */
static uint32_t *keep(base_arena *arena, uint32_t *list, size_t *n, const bool *drop) {
    uint32_t *place = BASE_NEWS(arena, uint32_t, *n + 1);
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        place[i] = drop[i] ? IR_NONE : (uint32_t)kept;
        if (!drop[i]) {
            list[kept++] = list[i];
        }
    }
    *n = kept;
    return place;
}

void ir_drop_ports(ir_model *m, const bool *inputs, const bool *outputs) {
    ir_graph *g = &m->graphs.at[0];
    const uint32_t *in = keep(m->arena, g->inputs.at, &g->inputs.n, inputs),
                   *out = keep(m->arena, g->outputs.at, &g->outputs.n, outputs);
    for (size_t i = 0; i < m->signatures.n; i++) {
        ir_signature *s = &m->signatures.at[i];
        if (s->graph == 0) {
            s->inputs = move_ports(m->arena, s->inputs, &s->input_count, in);
            s->outputs = move_ports(m->arena, s->outputs, &s->output_count, out);
        }
    }
}

static bool is_read(const ir_graph *g, uint32_t tensor) {
    for (size_t i = 0; i < g->nodes.n; i++) {
        for (size_t k = 0; k < g->nodes.at[i].input_count; k++) {
            if (g->nodes.at[i].inputs[k] == tensor) {
                return true;
            }
        }
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        if (g->outputs.at[i] == tensor) {
            return true;
        }
    }
    return false;
}

void ir_cut(ir_model *m, const uint32_t *outputs, size_t n) {
    m->gives.n = 0;
    ir_graph *g = &m->graphs.at[0];
    uint32_t *in = BASE_NEWS(m->arena, uint32_t, g->inputs.n + 1),
             *out = BASE_NEWS(m->arena, uint32_t, g->outputs.n + 1);
    for (size_t i = 0; i < g->outputs.n; i++) {
        out[i] = IR_NONE;
        for (size_t k = 0; k < n && out[i] == IR_NONE; k++) {
            out[i] = outputs[k] == g->outputs.at[i] ? (uint32_t)k : IR_NONE;
        }
    }
    g->outputs.n = 0;
    for (size_t i = 0; i < n; i++) {
        *BASE_PUSH(m->arena, &g->outputs) = outputs[i];
    }
    ir_drop_dead(m);
    size_t kept = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        in[i] = m->takes.n || is_read(g, g->inputs.at[i]) ? (uint32_t)kept : IR_NONE;
        if (in[i] != IR_NONE) {
            g->inputs.at[kept++] = g->inputs.at[i];
        }
    }
    g->inputs.n = kept;
    size_t named = 0;
    for (size_t i = 0; i < m->signatures.n; i++) {
        ir_signature s = m->signatures.at[i];
        const bool gave = s.output_count > 0;
        if (s.graph == 0) {
            s.inputs = move_ports(m->arena, s.inputs, &s.input_count, in);
            s.outputs = move_ports(m->arena, s.outputs, &s.output_count, out);
        }
        if (!gave || s.output_count > 0) {
            m->signatures.at[named++] = s;
        }
    }
    m->signatures.n = named;
}
