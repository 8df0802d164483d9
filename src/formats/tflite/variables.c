/* variables.c - what a TFLite model keeps between runs: variable tensors, and variables behind handles.
 *
 * Takes operators VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and CALL_ONCE, whose tensors are verified. Gives states, the
 * nodes that read and write them, and their first contents, which CALL_ONCE's sub-graph computes here.
 */
#include "formats/tflite/control.h"

#include <string.h>

#define MOST_FILLED ((uint64_t)1 << 24) /* bytes that the file does not hold */

/* ---- variable tensors ---- */

/* What a variable tensor begins with: its buffer, else zeros; of int8 the zero point, in every byte (both runtimes). */
static const void *first_contents(tflite_reader *r, const ir_tensor *t) {
    uint64_t bytes = 0;
    if (t->data || t->type != BASE_I8 || t->quant.n != 1 || !t->quant.zero[0] || !ir_tensor_bytes(t, &bytes)) {
        return t->data;
    }
    r->filled += bytes;
    if (r->filled > MOST_FILLED) {
        const wire_path outer = {.name = "subgraph", .index = r->g->index};
        wire_path path = {.outer = &outer, .name = "tensor", .index = t->source, .note = t->name, .quoted = true};
        tflite_unsupported(r, &path, 0, "more than 16 MiB of variable tensors that begin with a zero point",
                           "give them zero point 0");
        return NULL;
    }
    int8_t *data = BASE_NEWS(r->arena, int8_t, (size_t)bytes + 1);
    memset(data, (int)t->quant.zero[0], (size_t)bytes);
    return data;
}

/* A sub-graph's variable tensors are the same in every call of it. But an input of the sub-graph is what its caller
 * says. */
void tflite_make_states(tflite_reader *r) {
    ir_graph *g = r->g;
    for (size_t i = 0; i < g->inputs.n; i++) {
        r->is_variable[g->inputs.at[i]] = false;
    }
    for (size_t i = 0; i < r->tensor_count; i++) {
        ir_tensor *t = &g->tensors.at[i];
        if (!r->is_variable[i] || t->type == BASE_NONE || r->bad_shape[i]) {
            continue;
        }
        bool is_new;
        const char *key = base_printf(r->arena, "tensor %lu %zu", (unsigned long)g->index, i);
        uint64_t *state = base_map_put(r->variable_of, key, strlen(key), &is_new);
        if (is_new) {
            *state = ir_state_add(r->m, t->name, t->type, &t->shape);
            r->m->states.at[*state].quant = t->quant;
            r->m->states.at[*state].data = first_contents(r, t);
        }
        t->state = (uint32_t)*state;
        t->data = NULL;
    }
}

/* ---- variables behind handles ---- */

/* Two handles of one container and name are the same variable. */
static void read_handle(tflite_op *op) {
    tflite_reader *r = op->r;
    if (op->output_count != 1 || !r->is_resource[op->outputs[0]]) {
        tflite_op_error(op, "it gives %zu tensors: expected one of type RESOURCE", op->output_count);
        return;
    }
    base_bytes container = tflite_bytes(&r->fb, op->options_path, &op->options, TFLITE_VarHandleOptions_container);
    base_bytes name = tflite_bytes(&r->fb, op->options_path, &op->options, TFLITE_VarHandleOptions_shared_name);
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    base_text key = {.arena = r->arena};
    base_put(&key, "handle %zu ", container.size);
    base_putn(&key, container.at ? (const void *)container.at : "", container.size);
    base_putn(&key, name.at ? (const void *)name.at : "", name.size);
    bool is_new;
    uint64_t *index = base_map_put(r->variable_of, key.at, key.n, &is_new);
    if (is_new) {
        *index = r->variables.n;
        *BASE_PUSH(r->arena, &r->variables) = (tflite_variable){
            .name = name.at ? base_strndup(r->arena, (const char *)name.at, name.size) : "", .state = IR_NONE};
        r->variables.at[*index].graph = IR_NONE;
    }
    r->handle[op->outputs[0]] = (uint32_t)*index;
}

uint32_t tflite_state_tensor(tflite_reader *r, const wire_path *path, const wire_table *op, uint32_t variable,
                             uint32_t like) {
    tflite_variable *v = &r->variables.at[variable];
    const ir_tensor t = r->g->tensors.at[like];
    const uint32_t graph = (uint32_t)(r->g - r->m->graphs.at);
    if (v->state == IR_NONE) {
        v->state = ir_state_add(r->m, v->name, t.type, &t.shape);
        r->m->states.at[v->state].quant = t.quant;
    }
    const ir_state *s = &r->m->states.at[v->state];
    if (s->type != t.type || !ir_shape_same(&s->shape, &t.shape)) {
        tflite_unsupported(r, path, op->at,
                           base_printf(r->arena, "variable \"%s\", which is %s %s here and %s %s there,",
                                       base_printable(r->arena, v->name, strlen(v->name), 60), base_type_name(s->type),
                                       ir_shape_print(r->arena, &s->shape), base_type_name(t.type),
                                       ir_shape_print(r->arena, &t.shape)),
                           "a variable keeps one type and shape");
        return IR_NONE;
    }
    v->touched = v->touched || !r->call->once;
    if (v->graph != graph) {
        v->graph = graph;
        v->tensor = ir_tensor_add(r->m, r->g, v->name, s->type, &s->shape);
        r->g->tensors.at[v->tensor].quant = s->quant;
        r->g->tensors.at[v->tensor].state = v->state;
    }
    return v->tensor;
}

/* The variable of the operator's first input; IR_NONE: a fault. */
static uint32_t variable_of(tflite_op *op) {
    tflite_reader *r = op->r;
    uint32_t variable = op->input_count && op->inputs[0] != IR_NONE && op->inputs[0] < r->tensor_count
                            ? r->handle[op->inputs[0]]
                            : IR_NONE;
    if (variable == IR_NONE) {
        tflite_op_error(op, "its input 0 is no variable's handle");
        return IR_NONE;
    }
    const tflite_variable *v = &r->variables.at[variable];
    if (r->call->once && v->touched) {
        tflite_unsupported(r, op->path, op->table.at, "CALL_ONCE that sets a variable which an operator before it uses",
                           "call it first");
        return IR_NONE;
    }
    return variable;
}

static void add_copy(tflite_op *op, uint32_t from, uint32_t to) {
    ir_node *n = ir_node_add(op->r->m, op->r->g, "identity", &from, 1, &to, 1, (uint32_t)op->path->index);
    n->source_name = op->name;
    n->byte = op->table.at;
}

static void read_variable(tflite_op *op) {
    tflite_reader *r = op->r;
    if (op->input_count != 1 || op->output_count != 1) {
        tflite_op_error(op, "%zu inputs and %zu outputs: expected 1 and 1", op->input_count, op->output_count);
        return;
    }
    uint32_t variable = variable_of(op);
    if (variable == IR_NONE) {
        return;
    }
    const uint32_t state = r->variables.at[variable].state;
    if (state != IR_NONE && (r->unsettled[op->outputs[0]] || r->bad_shape[op->outputs[0]])) {
        tflite_set_shape(r, op->outputs[0], &r->m->states.at[state].shape);
    }
    if (!tflite_is_settled(r, op->path, op->outputs[0])) {
        return;
    }
    uint32_t from = tflite_state_tensor(r, op->path, &op->table, variable, op->outputs[0]);
    if (from != IR_NONE) {
        add_copy(op, from, op->outputs[0]);
    }
}

static void assign_variable(tflite_op *op) {
    tflite_reader *r = op->r;
    if (op->input_count != 2 || op->inputs[1] == IR_NONE || op->output_count) {
        tflite_op_error(op, "%zu inputs and %zu outputs: expected 2 and none", op->input_count, op->output_count);
        return;
    }
    uint32_t variable = variable_of(op);
    if (variable == IR_NONE || !tflite_is_settled(r, op->path, op->inputs[1])) {
        return;
    }
    uint32_t to = tflite_state_tensor(r, op->path, &op->table, variable, op->inputs[1]);
    if (to != IR_NONE) {
        add_copy(op, op->inputs[1], to);
    }
}

/* ---- what is done once ---- */

#define MOST_ONCE_BYTES ((uint64_t)1 << 27) /* of all values that CALL_ONCE's sub-graph computes */
#define MOST_ONCE_COST ((uint64_t)1 << 26)  /* scalar operations: a second or two */

static bool is_small(const ir_model *m, size_t first) {
    uint64_t sum = 0, bytes = 0;
    for (size_t i = first; i < m->graphs.n; i++) {
        const ir_graph *g = &m->graphs.at[i];
        for (size_t k = 0; k < g->tensors.n; k++) {
            if (!g->tensors.at[k].data && (!ir_tensor_bytes(&g->tensors.at[k], &bytes) || bytes > MOST_ONCE_BYTES)) {
                return false;
            }
            sum += g->tensors.at[k].data ? 0 : bytes;
        }
    }
    return sum <= MOST_ONCE_BYTES;
}

/* The states begin with what the graph leaves in them. */
static void run_once(tflite_op *op, uint32_t graph) {
    tflite_reader *r = op->r;
    ops_session *s;
    const ops_session_options how = {.graph = graph, .most_trips = 100000, .most_cost = MOST_ONCE_COST};
    base_diags ignored = {.arena = r->arena}, *d = r->keep_unsupported ? &ignored : r->d;
    if (!is_small(r->m, graph)) {
        tflite_unsupported(r, op->path, op->table.at, "CALL_ONCE of a sub-graph that computes more than 128 MiB",
                           "let the variables begin with constants");
        return;
    }
    if (ir_verify_from(r->m, graph, d) || ops_session_new(r->arena, tflite_definitions(r), r->m, &how, &s, d) ||
        ops_session_run(s, r->arena, NULL, NULL, d)) {
        r->fb.failed = r->fb.failed || !r->keep_unsupported;
        return;
    }
    for (uint32_t i = 0; i < r->m->states.n; i++) {
        r->m->states.at[i].data = ops_session_state(s, i);
    }
}

static void call_once(tflite_op *op) {
    tflite_reader *r = op->r;
    int64_t subgraph = tflite_int(&r->fb, op->options_path, &op->options, TFLITE_CallOnceOptions_init_subgraph_index);
    if (!tflite_is_subgraph(op, subgraph) || r->initialised[subgraph]) {
        return; /* done already: once is enough */
    }
    if (r->call->conditional) {
        tflite_unsupported(r, op->path, op->table.at, "CALL_ONCE in a branch or a loop",
                           "call it in the main sub-graph");
        return;
    }
    r->initialised[subgraph] = true;
    tflite_call call = {.outer = r->call, .subgraph = (uint32_t)subgraph, .once = true};
    const size_t graphs = r->m->graphs.n, notes = formats_notes_count(r->notes);
    tflite_read_subgraph(r, &call);
    if (!wire_fb_failed(&r->fb) && call.output_count) {
        tflite_op_error(op, "its sub-graph gives %zu tensors: expected none", call.output_count);
    }
    if (!wire_fb_failed(&r->fb) && formats_notes_count(r->notes) == notes) {
        run_once(op, (uint32_t)graphs);
    }
    /* The graph has done its work. What grows there again must be as new. */
    while (r->m->graphs.n > graphs) {
        r->m->graphs.at[--r->m->graphs.n] = (ir_graph){0};
    }
    for (size_t i = 0; i < r->variables.n; i++) {
        r->variables.at[i].graph = r->variables.at[i].graph < graphs ? r->variables.at[i].graph : IR_NONE;
    }
}

void tflite_read_variable_op(tflite_op *op, int64_t code) {
    switch (code) {
    case TFLITE_OP_VAR_HANDLE:
        read_handle(op);
        break;
    case TFLITE_OP_READ_VARIABLE:
        read_variable(op);
        break;
    case TFLITE_OP_ASSIGN_VARIABLE:
        assign_variable(op);
        break;
    default:
        call_once(op);
        break;
    }
}
