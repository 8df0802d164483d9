/* say_states.c - states and control in TFLite's words: variable tensors, variables behind handles, IF and WHILE.
 *
 * Takes the model that say.c turns into tables. A state that a recurrent operator lists among its inputs is a variable
 * tensor; one that a custom operator keeps in itself stands nowhere. Every other one is a variable: each sub-graph that touches it makes a handle of the same name, reads it where a
 * node reads, assigns it where a node writes, and a sub-graph that the entry calls once gives it its first contents.
 */
#include "formats/tflite/say.h"

#include "formats/tflite/steps.h"

#include <string.h>

enum { RESOURCE = 13 }; /* enum TensorType */
/* Zeros that a file of a few bytes may ask to be written out. */
#define MOST_ZEROS ((uint64_t)1 << 24)

/* ---- control ---- */

static const tflite_word control[] = {
    {.builtin = TFLITE_OP_IF,
     .word = "if",
     .options = TFLITE_IfOptions,
     .needed = 1,
     .most = TFLITE_ANY,
     .outputs = TFLITE_ANY,
     .steps = {{&tflite_step_graph, "then", TFLITE_IfOptions_then_subgraph_index, 0, 0},
               {&tflite_step_graph, "else", TFLITE_IfOptions_else_subgraph_index, 0, 0}}},
    {.builtin = TFLITE_OP_WHILE,
     .word = "while",
     .options = TFLITE_WhileOptions,
     .most = TFLITE_ANY,
     .outputs = TFLITE_ANY,
     .steps = {{&tflite_step_graph, "cond", TFLITE_WhileOptions_cond_subgraph_index, 0, 0},
               {&tflite_step_graph, "body", TFLITE_WhileOptions_body_subgraph_index, 0, 0}}},
};

const tflite_word *tflite_control_word_of(const ir_node *n) {
    return ir_control_of(n) == IR_IF ? &control[0] : &control[1];
}

/* The graphs of the model are the file's sub-graphs, in their order. */
static void put_graph(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_GRAPH);
    if (a) {
        tflite_out_int(out, step->a, a->v.graph);
    }
}

const tflite_step_kind tflite_step_graph = {"GRAPH", NULL, put_graph};

/* ---- how each state is said ---- */

/* What a runtime begins with: zeros; in a variable tensor of int8 its zero point (both runtimes). */
static bool begins_so(const ir_state *st, bool is_variable) {
    uint64_t bytes = 0;
    uint8_t zero = is_variable && st->type == BASE_I8 && st->quant.n == 1 ? (uint8_t)st->quant.zero[0] : 0;
    if (!st->data) {
        return !zero;
    }
    bool sane = ir_shape_elements(&st->shape, &bytes) && base_type_bytes(st->type, bytes, &bytes);
    for (uint64_t i = 0; sane && i < bytes; i++) {
        if (((const uint8_t *)st->data)[i] != zero) {
            return false;
        }
    }
    return sane;
}

/* How TFLite's operator of that word has states: among its inputs, or in itself. */
typedef enum holding { HAS_NONE, IS_LISTED, IS_KEPT } holding;

static holding holding_of(const char *word) {
    const tflite_word *w;
    for (size_t i = 0; (w = tflite_word_at(i)); i++) {
        for (size_t k = 0; !strcmp(w->word, word) && k < TFLITE_MOST_STEPS && w->steps[k].kind; k++) {
            const tflite_step_kind *kind = w->steps[k].kind;
            if (kind == &tflite_step_states) {
                return IS_LISTED;
            }
            if (kind == &tflite_step_keeps || kind == &tflite_step_holds) {
                return IS_KEPT;
            }
        }
    }
    return HAS_NONE;
}

typedef struct usage {
    size_t tensors; /* that stand for the state */
    size_t nodes;   /* that touch it */
    holding how;
} usage;

static bool reads(const ir_graph *g, const ir_node *n, uint32_t output) {
    for (size_t k = 0; k < n->input_count; k++) {
        if (n->inputs[k] != IR_NONE && g->tensors.at[n->inputs[k]].state == g->tensors.at[output].state) {
            return true;
        }
    }
    return false;
}

static void count_usage(const tflite_speaker *s, const ir_graph *g, usage *u) {
    for (size_t i = 0; i < g->tensors.n; i++) {
        if (g->tensors.at[i].state != IR_NONE) {
            u[g->tensors.at[i].state].tensors++;
        }
    }
    for (size_t i = 0; i < g->nodes.n && s->m->states.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        const holding how = holding_of(n->op);
        for (size_t k = 0; k < n->input_count; k++) {
            uint32_t state = n->inputs[k] == IR_NONE ? IR_NONE : g->tensors.at[n->inputs[k]].state;
            if (state != IR_NONE) {
                u[state].nodes++;
            }
        }
        for (size_t k = 0; k < n->output_count; k++) {
            uint32_t state = g->tensors.at[n->outputs[k]].state;
            if (state != IR_NONE) {
                u[state].nodes += !reads(g, n, n->outputs[k]);
                u[state].how = how != HAS_NONE ? how : u[state].how;
            }
        }
    }
}

/* Handles of one name are one variable: every state has its own. */
static const char *shared_name(tflite_speaker *s, base_map *names, size_t state) {
    const char *name = s->m->states.at[state].name;
    bool is_new = false;
    if (*name) {
        base_map_put(names, name, strlen(name), &is_new);
    }
    for (size_t i = state; !is_new; i += s->m->states.n) {
        name = base_printf(s->arena, "variable %zu", i);
        base_map_put(names, name, strlen(name), &is_new);
    }
    return name;
}

void tflite_say_states(tflite_speaker *s) {
    const size_t n = s->m->states.n;
    usage *u = BASE_NEWS(s->arena, usage, n + 1);
    base_map *names = base_map_new(s->arena);
    s->shared = BASE_NEWS(s->arena, const char *, n + 1);
    s->handle = BASE_NEWS(s->arena, int32_t, n + 1);
    for (size_t i = 0; i < s->m->graphs.n; i++) {
        count_usage(s, &s->m->graphs.at[i], u);
    }
    for (size_t i = 0; i < n; i++) {
        const ir_state *st = &s->m->states.at[i];
        base_place place = {.file = s->m->file};
        place.path =
            base_printf(s->arena, "state[%zu] \"%s\"", i, base_printable(s->arena, st->name, strlen(st->name), 60));
        if (!u[i].nodes) {
            continue; /* nothing would notice it */
        }
        if (tflite_type_code(st->type) < 0) {
            s->status = base_error(s->d, &place, "TFLite has no tensors of type %s", base_type_name(st->type));
        } else if (u[i].how == HAS_NONE) {
            s->shared[i] = shared_name(s, names, i);
        } else if (u[i].how == IS_KEPT && u[i].nodes > 1) {
            s->status = base_error(s->d, &place, "what TFLite's operator keeps in itself no other can read or write");
        } else if (u[i].tensors > 1) {
            s->status = base_error(s->d, &place, "TFLite has one tensor for the state of an operator; %zu stand for it",
                                   u[i].tensors);
        } else if (!begins_so(st, u[i].how == IS_LISTED)) {
            s->status = base_error(s->d, &place, "TFLite has no first contents for the state of an operator but zeros");
        }
    }
}

bool tflite_is_variable(const tflite_speaker *s, const ir_tensor *t) {
    return t->state != IR_NONE && s->shared[t->state];
}

/* ---- operators without a row ---- */

static const int32_t *list_of(const tflite_speaker *s, int32_t a, int32_t b) {
    int32_t *list = BASE_NEWS(s->arena, int32_t, 2);
    list[0] = a;
    list[1] = b;
    return list;
}

/* -1: no such input or output. */
static tflite_file_op *add_op(tflite_speaker *s, tflite_builtin builtin, tflite_options options, int32_t in,
                              int32_t in2, int32_t out) {
    tflite_file_op *op = BASE_PUSH(s->arena, &s->to->ops);
    *op = (tflite_file_op){.code = tflite_code_of(s, builtin, NULL, 1),
                           .input_count = in < 0    ? 0
                                          : in2 < 0 ? 1
                                                    : 2,
                           .output_count = out >= 0,
                           .inputs = list_of(s, in, in2),
                           .outputs = list_of(s, out, -1),
                           .options = options};
    return op;
}

static void set_values(tflite_file_op *op, const tflite_value *values, size_t n) {
    op->values = values;
    op->value_count = n;
}

static int32_t add_handle(tflite_speaker *s, size_t state) {
    const ir_tensor handle = {.name = s->shared[state], .type = BASE_BOOL};
    int32_t tensor = tflite_add_tensor(s, &handle);
    s->to->tensors.at[tensor].type = RESOURCE;
    tflite_value *values = BASE_NEWS(s->arena, tflite_value, 2);
    values[0] = (tflite_value){.field = TFLITE_VarHandleOptions_container, .text = ""};
    values[1] = (tflite_value){.field = TFLITE_VarHandleOptions_shared_name, .text = s->shared[state]};
    set_values(add_op(s, TFLITE_OP_VAR_HANDLE, TFLITE_VarHandleOptions, -1, -1, tensor), values, 2);
    return tensor;
}

static size_t variables(const tflite_speaker *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->m->states.n; i++) {
        n += s->shared[i] != NULL;
    }
    return n;
}

/* Is the graph one that a caller of the model calls? */
static bool is_entry(const tflite_speaker *s, const ir_graph *g) {
    size_t index = (size_t)(g - s->m->graphs.at);
    for (size_t i = 0; i < s->m->signatures.n; i++) {
        if (s->m->signatures.at[i].graph == index) {
            return true;
        }
    }
    return !index;
}

void tflite_say_handles(tflite_speaker *s) {
    if (variables(s) && is_entry(s, s->g)) {
        tflite_value *value = BASE_NEW(s->arena, tflite_value);
        *value = (tflite_value){.field = TFLITE_CallOnceOptions_init_subgraph_index, .i = (int64_t)s->m->graphs.n};
        set_values(add_op(s, TFLITE_OP_CALL_ONCE, TFLITE_CallOnceOptions, -1, -1, -1), value, 1);
    }
    for (size_t i = 0; i < s->m->states.n; i++) {
        s->handle[i] = -1;
        for (size_t k = 0; k < s->g->tensors.n && s->shared[i] && s->handle[i] < 0; k++) {
            s->handle[i] = s->g->tensors.at[k].state == i ? add_handle(s, i) : -1;
        }
    }
}

/* ---- reading and writing ---- */

static void read_into(tflite_speaker *s, uint32_t variable, int32_t to) {
    add_op(s, TFLITE_OP_READ_VARIABLE, TFLITE_NONE, s->handle[s->g->tensors.at[variable].state], -1, to);
}

static void assign(tflite_speaker *s, uint32_t variable, int32_t from) {
    add_op(s, TFLITE_OP_ASSIGN_VARIABLE, TFLITE_NONE, s->handle[s->g->tensors.at[variable].state], from, -1);
}

bool tflite_copies_variable(const tflite_speaker *s, const ir_node *n) {
    return tflite_is_variable(s, &s->g->tensors.at[n->inputs[0]]) ||
           tflite_is_variable(s, &s->g->tensors.at[n->outputs[0]]);
}

void tflite_say_copy(tflite_speaker *s, const ir_node *n) {
    const uint32_t from = n->inputs[0], to = n->outputs[0];
    const ir_tensor *x = &s->g->tensors.at[from], *y = &s->g->tensors.at[to];
    int32_t value = s->number[from];
    if (tflite_is_variable(s, x)) {
        value = tflite_is_variable(s, y) ? tflite_add_tensor(s, y) : s->number[to];
        read_into(s, from, value);
    }
    if (tflite_is_variable(s, y)) {
        assign(s, to, value);
    }
}

void tflite_read_states(tflite_speaker *s, const ir_node *n) {
    for (size_t i = 0; i < n->input_count; i++) {
        const uint32_t t = n->inputs[i];
        if (t != IR_NONE && tflite_is_variable(s, &s->g->tensors.at[t])) {
            s->number[t] = -1;
        }
    }
    for (size_t i = 0; i < n->input_count; i++) {
        const uint32_t t = n->inputs[i];
        if (t != IR_NONE && tflite_is_variable(s, &s->g->tensors.at[t]) && s->number[t] < 0) {
            s->number[t] = tflite_add_tensor(s, &s->g->tensors.at[t]);
            read_into(s, t, s->number[t]);
        }
    }
}

void tflite_write_states(tflite_speaker *s, const ir_node *n, const int32_t *outputs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (tflite_is_variable(s, &s->g->tensors.at[n->outputs[i]])) {
            assign(s, n->outputs[i], outputs[i]);
        }
    }
}

/* ---- first contents ---- */

void tflite_say_first_contents(tflite_speaker *s) {
    if (!variables(s)) {
        return;
    }
    s->to = BASE_PUSH(s->arena, &s->file->graphs);
    s->to->name = "first contents";
    for (size_t i = 0; i < s->m->states.n; i++) {
        const ir_state *st = &s->m->states.at[i];
        ir_tensor t = {.name = st->name, .type = st->type, .shape = st->shape, .quant = st->quant, .data = st->data};
        uint64_t bytes = 0;
        if (!s->shared[i] || tflite_type_code(st->type) < 0 || !ir_tensor_bytes(&t, &bytes)) {
            continue;
        }
        if (!st->data && bytes > MOST_ZEROS) {
            base_place place = {.file = s->m->file};
            place.path =
                base_printf(s->arena, "state[%zu] \"%s\"", i, base_printable(s->arena, st->name, strlen(st->name), 60));
            s->status =
                base_error(s->d, &place, "TFLite has variables begin with what the file holds: %llu bytes of zeros",
                           (unsigned long long)bytes);
            continue;
        }
        t.data = t.data ? t.data : base_alloc(s->arena, (size_t)bytes + 1, 1);
        int32_t contents = tflite_add_tensor(s, &t);
        add_op(s, TFLITE_OP_ASSIGN_VARIABLE, TFLITE_NONE, add_handle(s, i), contents, -1);
    }
}
