/* carry.c - nodes whose values are of a type that the output format does not compute in, with f32 for it.
 *
 * Takes a node that the vocabulary lacks. Gives nodes that compute the same program with its floats of 64 bits in 32, which rounds
 * otherwise, between casts; or with its floats of 8 bits and fewer in f32, exactly. What one node has made in f32 the next reads as it
 * is; the value of the node's own type is there as well, for whoever needs that, and else is dead.
 */
#include <string.h>

#include "passes/speak.h"

speak_carrier speak_carry_begin(passes_context *c, ir_model *m, uint32_t graph, const ir_graph *before) {
    speak_carrier x = {.c = c, .m = m, .graph = graph, .before = before, .count = before->tensors.n};
    x.held = BASE_NEWS(c->arena, uint32_t, x.count + 1);
    x.exact = BASE_NEWS(c->arena, bool, x.count + 1);
    for (size_t t = 0; t < x.count; t++) {
        x.held[t] = IR_NONE;
    }
    return x;
}

void speak_carry_seen(speak_carrier *x, const ir_node *n) {
    const ir_graph *g = &x->m->graphs.at[x->graph];
    if (ir_control_of(n) != IR_PLAIN || n->input_count != 1 || n->output_count != 1 || strcmp(n->op, "cast") != 0 ||
        n->inputs[0] == IR_NONE || n->outputs[0] >= x->count || g->tensors.at[n->inputs[0]].state != IR_NONE ||
        g->tensors.at[n->outputs[0]].type != BASE_F64 || g->tensors.at[n->outputs[0]].state != IR_NONE) {
        return;
    }
    if (g->tensors.at[n->inputs[0]].type == BASE_F32) {
        x->held[n->outputs[0]] = n->inputs[0];
        x->exact[n->outputs[0]] = true;
    }
}

/* Is every value of what the cast that makes tensor t converts one of f32? */
static bool is_of_f32(const speak_carrier *x, uint32_t t) {
    const ir_graph *g = &x->m->graphs.at[x->graph];
    for (size_t i = g->nodes.n; i-- > 0;) {
        const ir_node *n = &g->nodes.at[i];
        if (n->output_count == 1 && n->outputs[0] == t) {
            const base_type from =
                n->input_count == 1 && n->inputs[0] != IR_NONE ? g->tensors.at[n->inputs[0]].type : BASE_F64;
            return strcmp(n->op, "cast") == 0 && base_type_bits(from) <= (base_type_is_float(from) ? 32 : 16);
        }
    }
    return false;
}

/* Tensor t in f32. IR_NONE: it is not to be had. */
static uint32_t carried_input(speak_carrier *x, uint32_t t, lang_carries what, const ir_node *like, bool *exact) {
    ir_graph *g = &x->m->graphs.at[x->graph];
    const ir_tensor of = g->tensors.at[t];
    uint64_t count = 0;
    if (t >= x->count || of.state != IR_NONE || !ir_shape_elements(&of.shape, &count)) {
        return IR_NONE;
    }
    if (x->held[t] == IR_NONE && of.data != NULL) {
        x->exact[t] = true;
        x->held[t] = ir_tensor_add(x->m, g, of.name, BASE_F32, &of.shape);
        g->tensors.at[x->held[t]].data = lang_carried_data(x->c->arena, of.type, of.data, count, &x->exact[t]);
    } else if (x->held[t] == IR_NONE && what == LANG_CARRIES_F64) {
        x->exact[t] = is_of_f32(x, t);
        x->held[t] = ir_tensor_add(x->m, g, of.name, BASE_F32, &of.shape);
        passes_convert(x->m, g, "cast", t, x->held[t], like);
    }
    *exact = *exact && x->exact[t];
    return x->held[t];
}

/* The node on f32, whose program that is. */
static bool carried_node(speak_carrier *x, const ir_node *n, lang_carries what, ir_node *own, bool *exact) {
    ir_graph *g = &x->m->graphs.at[x->graph];
    *own = *n;
    own->inputs = BASE_NEWS(x->m->arena, uint32_t, n->input_count + 1);
    own->outputs = BASE_NEWS(x->m->arena, uint32_t, n->output_count + 1);
    bool fits = true, some = false, all = true;
    for (size_t k = 0; fits && k < n->input_count; k++) {
        const uint32_t t = n->inputs[k];
        const bool carried = t != IR_NONE && lang_is_carried(what, g->tensors.at[t].type);
        own->inputs[k] = carried ? carried_input(x, t, what, n, exact) : t;
        fits = !carried || own->inputs[k] != IR_NONE;
    }
    for (size_t k = 0; fits && k < n->output_count; k++) {
        const ir_tensor of = g->tensors.at[n->outputs[k]];
        const bool carried = lang_is_carried(what, of.type);
        own->outputs[k] = carried ? ir_tensor_add(x->m, g, of.name, BASE_F32, &of.shape) : n->outputs[k];
        fits = !carried || (of.state == IR_NONE && n->outputs[k] < x->count);
        some = some || carried;
        all = all && carried;
    }
    return fits && (all || !some || what == LANG_CARRIES_F64); /* give_back leaves the node itself, too */
}

/* The values of the node's own types, for whoever needs those. */
static void give_back(speak_carrier *x, const ir_node *n, const ir_node *own, lang_carries what, bool exact) {
    ir_graph *g = &x->m->graphs.at[x->graph];
    bool keeps = false;
    for (size_t k = 0; k < n->output_count; k++) {
        const uint32_t t = n->outputs[k];
        if (own->outputs[k] == t) {
            continue;
        }
        x->held[t] = own->outputs[k];
        x->exact[t] = exact;
        keeps = keeps || what != LANG_CARRIES_F64;
        if (what == LANG_CARRIES_F64) {
            passes_convert(x->m, g, "cast", own->outputs[k], t, n);
        }
    }
    if (keeps) {
        *BASE_PUSH(x->m->arena, &g->nodes) = *n;
    }
}

bool speak_carry(speak_carrier *x, const ir_node *n, lang_carries what, bool *rounds) {
    ir_graph *g = &x->m->graphs.at[x->graph];
    const size_t nodes = g->nodes.n, tensors = g->tensors.n;
    base_diags ignored = {.arena = NULL};
    lang_program *p = NULL;
    ir_node own;
    bool exact = true, of_values = true;
    if (!speak_may(g, n) || !ops_has(x->c->ops, n->op)) {
        return false;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(x->c->arena));
    ignored.arena = scratch;
    bool said = ops_instantiate(scratch, x->c->ops, x->m, g, n, &x->c->goal, &p, &ignored) == BASE_OK;
    const lang_program *q = said ? lang_carried(scratch, p, what, &exact) : NULL;
    said = q != NULL && carried_node(x, n, what, &own, &of_values);
    if (said) {
        speaker s = {.c = x->c, .m = x->m, .g = g, .scratch = scratch, .origin = n, .gathers = true};
        said = speak_as(&s, &own, q);
    }
    base_arena_free(scratch);
    if (said) {
        *rounds = what == LANG_CARRIES_F64 && !(exact && of_values);
        give_back(x, n, &own, what, exact && of_values);
        return true;
    }
    for (size_t t = 0; t < x->count; t++) { /* what was made for this node goes with it */
        x->held[t] = x->held[t] != IR_NONE && x->held[t] >= tensors ? IR_NONE : x->held[t];
    }
    g->nodes.n = nodes;
    g->tensors.n = tensors;
    return false;
}
