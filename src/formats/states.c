/* states.c - inputs and outputs of a model that are one state: what an output is, its input is in the next run.
 *
 * Takes a read model and pairs of names, as callers write them. Gives the model with states in their place; they begin as zeros.
 * All states are read before the first is written, so that the pairs have no order.
 */
#include "formats/formats.h"

#include <string.h>

static char *shown(base_arena *arena, const char *text) {
    return base_printable(arena, text, strlen(text), 60);
}

size_t formats_state_input(const ir_graph *g, const char *pair) {
    size_t found = SIZE_MAX, longest = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const char *name = g->tensors.at[g->inputs.at[i]].name;
        const size_t n = strlen(name);
        if (strncmp(pair, name, n) == 0 && pair[n] == '=' && (found == SIZE_MAX || n > longest)) {
            found = i;
            longest = n;
        }
    }
    return found;
}

/* One pair: numbers of an input and an output. */
typedef struct state_pair {
    size_t input, output;
} state_pair;

static base_status no_such(base_arena *arena, const ir_graph *g, bool input, const char *name, base_diags *d) {
    const size_t n = input ? g->inputs.n : g->outputs.n;
    const char **names = BASE_NEWS(arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        names[i] = g->tensors.at[input ? g->inputs.at[i] : g->outputs.at[i]].name;
    }
    const char *near = base_nearest(name, names, n);
    base_error(d, NULL, "state: the model has no %s \"%s\"%s%s%s", input ? "input" : "output", shown(arena, name),
               near ? "; did you mean \"" : "", near ? shown(arena, near) : "",
               near ? "\"?" : "; burin inspect lists them");
    return BASE_USAGE;
}

static base_status find(base_arena *arena, const ir_graph *g, const char *text, const bool *taken, state_pair *out,
                        base_diags *d) {
    const char *equals = strchr(text, '=');
    if (!equals) {
        base_error(d, NULL, "state: \"%s\": expected INPUT=OUTPUT", shown(arena, text));
        return BASE_USAGE;
    }
    out->input = formats_state_input(g, text);
    if (out->input == SIZE_MAX) {
        return no_such(arena, g, true, base_strndup(arena, text, (size_t)(equals - text)), d);
    }
    const char *past = g->tensors.at[g->inputs.at[out->input]].name, *present = text + strlen(past) + 1;
    for (out->output = 0; out->output < g->outputs.n; out->output++) {
        if (strcmp(g->tensors.at[g->outputs.at[out->output]].name, present) == 0) {
            break;
        }
    }
    if (out->output == g->outputs.n) {
        return no_such(arena, g, false, present, d);
    }
    if (taken[out->input]) {
        base_error(d, NULL, "state: input \"%s\" is given twice", shown(arena, past));
        return BASE_USAGE;
    }
    return BASE_OK;
}

static base_status check_alike(base_arena *arena, const ir_tensor *past, const ir_tensor *present, base_diags *d) {
    if (past->type != present->type || !ir_shape_same(&past->shape, &present->shape) ||
        !ir_quant_same(&past->quant, &present->quant)) {
        return base_error(d, NULL, "state: input \"%s\" is %s %s, output \"%s\" is %s %s%s: they must be alike",
                          shown(arena, past->name), base_type_name(past->type), ir_shape_print(arena, &past->shape),
                          shown(arena, present->name), base_type_name(present->type),
                          ir_shape_print(arena, &present->shape),
                          ir_quant_same(&past->quant, &present->quant) ? "" : ", with another scale");
    }
    if (ir_shape_open(&past->shape)) {
        return base_error(d, NULL,
                          "state: input \"%s\" has an open extent: a state has a fixed size; give it, --dim %s.0=N",
                          shown(arena, past->name), shown(arena, past->name));
    }
    return BASE_OK;
}

static uint32_t add_copy(ir_model *m, ir_graph *g, uint32_t from, uint32_t to) {
    ir_node_add(m, g, "identity", &from, 1, &to, 1, IR_NONE)->source_name = "state";
    return to;
}

/* A value that is an input or a constant, or another state by now, is copied before states are written. */
static uint32_t settled(ir_model *m, ir_graph *g, uint32_t tensor) {
    const ir_tensor t = g->tensors.at[tensor];
    bool is_input = t.state != IR_NONE;
    for (size_t i = 0; i < g->inputs.n; i++) {
        is_input = is_input || g->inputs.at[i] == tensor;
    }
    if (!is_input) {
        return tensor;
    }
    const uint32_t copy = ir_tensor_add(m, g, t.name, t.type, &t.shape);
    g->tensors.at[copy].quant = t.quant;
    return add_copy(m, g, tensor, copy);
}

/* Graphs below can touch states themselves: nodes that call them take a copy of what it holds, made before all other nodes. */
static void copy_for_graphs(base_arena *arena, ir_model *m, ir_graph *g, uint32_t state) {
    uint32_t copy = IR_NONE;
    for (size_t i = 0; i < g->nodes.n; i++) {
        ir_node *n = &g->nodes.at[i];
        uint32_t *inputs = BASE_NEWS(arena, uint32_t, n->input_count + 1);
        bool takes = false;
        for (size_t k = 0; k < n->input_count && ir_control_of(n) != IR_PLAIN; k++) {
            takes = takes || n->inputs[k] == state;
        }
        if (!takes) {
            continue;
        }
        if (copy == IR_NONE) {
            const ir_tensor t = g->tensors.at[state];
            copy = ir_tensor_add(m, g, t.name, t.type, &t.shape);
            g->tensors.at[copy].quant = t.quant;
            (void)add_copy(m, g, state, copy);
            const ir_node made = g->nodes.at[g->nodes.n - 1];
            memmove(g->nodes.at + 1, g->nodes.at, (g->nodes.n - 1) * sizeof *g->nodes.at);
            g->nodes.at[0] = made;
            n = &g->nodes.at[++i];
        }
        for (size_t k = 0; k < n->input_count; k++) {
            inputs[k] = n->inputs[k] == state ? copy : n->inputs[k];
        }
        n->inputs = inputs;
    }
}

base_status formats_pair_states(base_arena *arena, ir_model *m, const char *const *texts, size_t n, base_diags *d) {
    ir_graph *g = &m->graphs.at[0];
    bool *in = BASE_NEWS(arena, bool, g->inputs.n + 1), *out = BASE_NEWS(arena, bool, g->outputs.n + 1);
    state_pair *pairs = BASE_NEWS(arena, state_pair, n + 1);
    uint32_t *from = BASE_NEWS(arena, uint32_t, n + 1), *to = BASE_NEWS(arena, uint32_t, n + 1);
    if (m->takes.n || m->gives.n) {
        return base_error(d, NULL, "state: a model that takes or gives sequences or optional values has no states");
    }
    for (size_t i = 0; i < n; i++) {
        base_status status = find(arena, g, texts[i], in, &pairs[i], d);
        from[i] = status == BASE_OK ? g->outputs.at[pairs[i].output] : IR_NONE;
        to[i] = status == BASE_OK ? g->inputs.at[pairs[i].input] : IR_NONE;
        status = status == BASE_OK ? check_alike(arena, &g->tensors.at[to[i]], &g->tensors.at[from[i]], d) : status;
        if (status != BASE_OK) {
            return status;
        }
        in[pairs[i].input] = out[pairs[i].output] = true;
    }
    for (size_t i = 0; i < n; i++) {
        from[i] = settled(m, g, from[i]);
    }
    for (size_t i = 0; i < n; i++) {
        const ir_tensor past = g->tensors.at[to[i]];
        const uint32_t state = ir_state_add(m, past.name, past.type, &past.shape);
        m->states.at[state].quant = past.quant;
        g->tensors.at[to[i]].state = state;
        (void)add_copy(m, g, from[i], to[i]);
        copy_for_graphs(arena, m, g, to[i]);
    }
    ir_drop_ports(m, in, out);
    return ir_verify(m, d);
}
