/* verify.c - the structure of a model: what every pass may rely on.
 *
 * Takes any model. Gives errors that name graph, node and tensor, or BASE_OK. O(nodes + tensors).
 * Does not know what an operator means: counts and types of its inputs are the business of its definition.
 */
#include "ir/order.h"

#include <math.h>
#include <string.h>

/* ---- places ---- */

const char *ir_node_label(const ir_model *m, const ir_graph *g, size_t node) {
    const ir_node *n = &g->nodes.at[node];
    return n->id_count ? base_printf(m->arena, "operator[%lu]", (unsigned long)n->ids[0])
                       : base_printf(m->arena, "node[%zu]", node);
}

base_place ir_place_node(const ir_model *m, const ir_graph *g, size_t node) {
    const ir_node *n = &g->nodes.at[node];
    const char *name = n->source_name && *n->source_name ? n->source_name : n->op ? n->op : "";
    base_place place = {.file = m->file, .byte = n->byte, .has_byte = n->byte != 0};
    place.path = base_printf(m->arena, "graph[%lu]/%s %s", (unsigned long)g->index, ir_node_label(m, g, node),
                             base_printable(m->arena, name, strlen(name), 60));
    return place;
}

base_place ir_place_tensor(const ir_model *m, const ir_graph *g, size_t tensor) {
    const char *name = g->tensors.at[tensor].name;
    base_place place = {.file = m->file};
    place.path = base_printf(m->arena, "graph[%lu]/tensor[%zu] \"%s\"", (unsigned long)g->index, tensor,
                             name ? base_printable(m->arena, name, strlen(name), 60) : "");
    return place;
}

static base_place place_state(const ir_model *m, size_t state) {
    const char *name = m->states.at[state].name;
    base_place place = {.file = m->file};
    place.path =
        base_printf(m->arena, "state[%zu] \"%s\"", state, name ? base_printable(m->arena, name, strlen(name), 60) : "");
    return place;
}

/* ---- what is being verified ---- */

/* How each tensor comes to have contents. */
enum { NOWHERE, CONSTANT, STATE, INPUT, NODE };

typedef struct origin {
    uint8_t kind;
    uint32_t node; /* NODE: which */
} origin;

typedef struct view {
    const ir_model *m;
    const ir_graph *g;
    base_diags *d;
    origin *from;  /* one a tensor */
    size_t before; /* errors in d when this verification began */
    bool states;   /* g stands for the model's states: its tensors are they */
} view;

/* Places are made only when there is something to say: most models have nothing wrong. */
#define SAY_LIKE_PRINTF __attribute__((format(printf, 3, 4)))
static base_status tensor_error(const view *v, size_t tensor, const char *format, ...) SAY_LIKE_PRINTF;
static base_status node_error(const view *v, size_t node, const char *format, ...) SAY_LIKE_PRINTF;

static base_status tensor_error(const view *v, size_t tensor, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(v->m->arena, format, list);
    va_end(list);
    base_place place = v->states ? place_state(v->m, tensor) : ir_place_tensor(v->m, v->g, tensor);
    return base_error(v->d, &place, "%s", message);
}

static base_status node_error(const view *v, size_t node, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(v->m->arena, format, list);
    va_end(list);
    base_place place = ir_place_node(v->m, v->g, node);
    return base_error(v->d, &place, "%s", message);
}

/* Enough has been said: a hostile model shall not make us write a message for each of its million tensors. */
static bool enough(const view *v) {
    return v->d->errors - v->before > 20;
}

static base_status graph_error(const view *v, const char *message) {
    base_place place = {.file = v->m->file};
    place.path = base_printf(v->m->arena, "graph[%lu]", (unsigned long)v->g->index);
    return base_error(v->d, &place, "%s", message);
}

/* tensor 7 "name", for messages. */
static const char *called(const view *v, uint32_t t) {
    const char *name = v->g->tensors.at[t].name ? v->g->tensors.at[t].name : "";
    return base_printf(v->m->arena, "tensor %lu \"%s\"", (unsigned long)t,
                       base_printable(v->m->arena, name, strlen(name), 60));
}

/* ---- tensors ---- */

static base_status verify_shape(const view *v, size_t i) {
    const ir_tensor *t = &v->g->tensors.at[i];
    uint64_t bytes;
    if (t->type <= BASE_NONE || t->type >= BASE_TYPE_COUNT) {
        return tensor_error(v, i, "it has no element type");
    }
    if (t->shape.rank > IR_MAX_RANK) {
        return tensor_error(v, i, "rank %lu: at most %u", (unsigned long)t->shape.rank, IR_MAX_RANK);
    }
    for (uint32_t k = 0; k < t->shape.rank; k++) {
        uint32_t symbol = t->shape.symbol[k];
        if (t->shape.dim[k] < 0) {
            return tensor_error(v, i, "extent %u is %lld", k, (long long)t->shape.dim[k]);
        }
        if (symbol > v->m->symbols.n) {
            return tensor_error(v, i, "extent %u is symbol %lu: the model has %zu", k, (unsigned long)symbol,
                                v->m->symbols.n);
        }
        if (symbol && v->m->symbols.at[symbol - 1].bound != t->shape.dim[k]) {
            return tensor_error(v, i, "extent %u is %lld, its symbol's bound %lld", k, (long long)t->shape.dim[k],
                                (long long)v->m->symbols.at[symbol - 1].bound);
        }
    }
    if (!ir_tensor_bytes(t, &bytes)) {
        return tensor_error(v, i, "shape %s: too many elements", ir_shape_print(v->m->arena, &t->shape));
    }
    return BASE_OK;
}

static bool zero_in_range(base_type type, int64_t zero) {
    if (!base_type_is_int(type)) {
        return zero == 0;
    }
    int64_t lo;
    uint64_t hi;
    base_type_range(type, &lo, &hi);
    return zero >= lo && (zero < 0 || (uint64_t)zero <= hi);
}

static base_status verify_quant(const view *v, size_t i) {
    const ir_tensor *t = &v->g->tensors.at[i];
    const ir_quant *q = &t->quant;
    if (!q->n) {
        return BASE_OK;
    }
    if (!q->scale || !q->zero) {
        return tensor_error(v, i, "quantisation without scales or zero points");
    }
    if (q->n > 1) {
        if (q->axis < 0 || (uint32_t)q->axis >= t->shape.rank) {
            return tensor_error(v, i, "quantisation axis %ld: the rank is %lu", (long)q->axis,
                                (unsigned long)t->shape.rank);
        }
        if ((int64_t)q->n != t->shape.dim[q->axis]) {
            return tensor_error(v, i, "%lu scales along axis %ld of extent %lld", (unsigned long)q->n, (long)q->axis,
                                (long long)t->shape.dim[q->axis]);
        }
    }
    for (uint32_t k = 0; k < q->n; k++) {
        if (!(q->scale[k] > 0) || isinf(q->scale[k])) {
            base_text number = {.arena = v->m->arena};
            base_put_float32(&number, q->scale[k]);
            return tensor_error(v, i, "scale[%lu] is %s: it must be finite and above 0", (unsigned long)k, number.at);
        }
        if (!zero_in_range(t->type, q->zero[k])) {
            return tensor_error(v, i, "zero_point[%lu] is %lld: outside %s", (unsigned long)k, (long long)q->zero[k],
                                base_type_name(t->type));
        }
    }
    return BASE_OK;
}

static base_status verify_state_of(const view *v, size_t i) {
    const ir_tensor *t = &v->g->tensors.at[i];
    if (t->state >= v->m->states.n) {
        return tensor_error(v, i, "state %lu: the model has %zu", (unsigned long)t->state, v->m->states.n);
    }
    const ir_state *s = &v->m->states.at[t->state];
    if (t->data) {
        return tensor_error(v, i, "it is both a constant and a state");
    }
    if (t->type != s->type || !ir_shape_same(&t->shape, &s->shape)) {
        return tensor_error(v, i, "it is %s[%s], and its state @%lu %s[%s]", base_type_name(t->type),
                            ir_shape_print(v->m->arena, &t->shape), (unsigned long)t->state, base_type_name(s->type),
                            ir_shape_print(v->m->arena, &s->shape));
    }
    return BASE_OK;
}

static base_status verify_tensors(const view *v) {
    base_status status = BASE_OK;
    for (size_t i = 0; i < v->g->tensors.n && !enough(v); i++) {
        const ir_tensor *t = &v->g->tensors.at[i];
        if (verify_shape(v, i) || verify_quant(v, i)) {
            status = BASE_REFUSED;
        } else if (t->state != IR_NONE && verify_state_of(v, i)) {
            status = BASE_REFUSED;
        } else if ((t->data || t->state != IR_NONE) && ir_shape_computed(v->m, &t->shape)) {
            status = tensor_error(v, i, "an extent is computed, and no node gives it: it is a constant or a state");
        }
        v->from[i].kind = t->data ? CONSTANT : t->state != IR_NONE ? STATE : NOWHERE;
    }
    return status;
}

/* States are verified as what they are: tensors without a graph. */
static base_status verify_states(const ir_model *m, base_diags *d, size_t before) {
    ir_graph all = {.name = ""};
    for (size_t i = 0; i < m->states.n; i++) {
        const ir_state *s = &m->states.at[i];
        *BASE_PUSH(m->arena, &all.tensors) = (ir_tensor){.name = s->name,
                                                         .type = s->type,
                                                         .shape = s->shape,
                                                         .quant = s->quant,
                                                         .state = IR_NONE,
                                                         .source = IR_NONE};
    }
    view v = {m, &all, d, BASE_NEWS(m->arena, origin, all.tensors.n + 1), before, true};
    return verify_tensors(&v);
}

/* ---- edges ---- */

static base_status verify_inputs(const view *v) {
    base_status status = BASE_OK;
    for (size_t i = 0; i < v->g->inputs.n && !enough(v); i++) {
        uint32_t t = v->g->inputs.at[i];
        if (t >= v->g->tensors.n) {
            status = graph_error(v, base_printf(v->m->arena, "input %zu is tensor %lu: there are %zu", i,
                                                (unsigned long)t, v->g->tensors.n));
            continue;
        }
        if (v->from[t].kind == CONSTANT) {
            status = tensor_error(v, t, "it is an input of the graph and a constant");
        } else if (v->from[t].kind == INPUT) {
            status = tensor_error(v, t, "it is an input of the graph twice");
        } else if (v->from[t].kind == STATE) {
            status = tensor_error(v, t, "it is an input of the graph and a state");
        } else if (ir_shape_computed(v->m, &v->g->tensors.at[t].shape)) {
            status = tensor_error(v, t, "it is an input of the graph, and an extent is computed, which no node gives");
        }
        v->from[t].kind = INPUT;
    }
    return status;
}

static base_status verify_indices(const view *v, size_t node) {
    const ir_node *n = &v->g->nodes.at[node];
    base_status status = BASE_OK;
    if (!n->op || !*n->op) {
        status = node_error(v, node, "it has no operator");
    }
    for (size_t k = 0; k < n->input_count && !enough(v); k++) {
        if (n->inputs[k] != IR_NONE && n->inputs[k] >= v->g->tensors.n) {
            status = node_error(v, node, "input %zu is tensor %lu: the graph has %zu", k, (unsigned long)n->inputs[k],
                                v->g->tensors.n);
        }
    }
    for (size_t k = 0; k < n->output_count && !enough(v); k++) {
        if (n->outputs[k] >= v->g->tensors.n) {
            status = node_error(v, node, "output %zu is tensor %lu: the graph has %zu", k, (unsigned long)n->outputs[k],
                                v->g->tensors.n);
        }
    }
    return status;
}

static base_status verify_writes(const view *v, size_t node) {
    const ir_node *n = &v->g->nodes.at[node];
    base_status status = BASE_OK;
    for (size_t k = 0; k < n->output_count && !enough(v); k++) {
        origin *o = &v->from[n->outputs[k]];
        if (o->kind == NOWHERE) {
            *o = (origin){NODE, (uint32_t)node};
        } else if (o->kind == NODE) {
            status = node_error(v, node, "it writes %s, which %s writes too", called(v, n->outputs[k]),
                                ir_node_label(v->m, v->g, o->node));
        } else if (o->kind != STATE) {
            status = node_error(v, node, "it writes %s, which is %s", called(v, n->outputs[k]),
                                o->kind == CONSTANT ? "a constant" : "an input of the graph");
        }
    }
    return status;
}

/* Every tensor that is read has contents from somewhere. *late: some producer does not come before its reader. */
static base_status verify_reads(const view *v, bool *late) {
    base_status status = BASE_OK;
    for (size_t i = 0; i < v->g->nodes.n && !enough(v); i++) {
        const ir_node *n = &v->g->nodes.at[i];
        for (size_t k = 0; k < n->input_count && !enough(v); k++) {
            uint32_t t = n->inputs[k];
            if (t == IR_NONE) {
                continue;
            }
            if (v->from[t].kind == NOWHERE) {
                status = node_error(v, i, "it reads %s, which nothing produces", called(v, t));
            }
            *late = *late || (v->from[t].kind == NODE && v->from[t].node >= i);
        }
    }
    for (size_t i = 0; i < v->g->outputs.n && !enough(v); i++) {
        uint32_t t = v->g->outputs.at[i];
        if (t >= v->g->tensors.n) {
            status = graph_error(v, base_printf(v->m->arena, "output %zu is tensor %lu: there are %zu", i,
                                                (unsigned long)t, v->g->tensors.n));
        } else if (v->from[t].kind == NOWHERE) {
            status = tensor_error(v, t, "it is output %zu of the graph, and nothing produces it", i);
        } else if (v->from[t].kind == STATE) {
            status = tensor_error(v, t, "it is output %zu of the graph, and a state: an operator has to read it", i);
        }
    }
    return status;
}

/* Some node reads what is not there yet: a cycle, or an order that cannot be executed. */
static base_status report_late(const view *v) {
    uint32_t *order = BASE_NEWS(v->m->arena, uint32_t, v->g->nodes.n + 1);
    if (ir_order(v->m, v->g, ir_graphs_with_state(v->m->arena, v->m), order, v->d)) {
        return BASE_REFUSED;
    }
    for (size_t i = 0; i < v->g->nodes.n && !enough(v); i++) {
        const ir_node *n = &v->g->nodes.at[i];
        for (size_t k = 0; k < n->input_count && !enough(v); k++) {
            uint32_t t = n->inputs[k];
            if (t != IR_NONE && v->from[t].kind == NODE && v->from[t].node >= i) {
                node_error(v, i, "it reads %s before %s produces it", called(v, t),
                           ir_node_label(v->m, v->g, v->from[t].node));
            }
        }
    }
    return BASE_REFUSED;
}

static base_status verify_edges(const view *v) {
    base_status status = verify_inputs(v);
    bool in_range = true;
    for (size_t i = 0; i < v->g->nodes.n && !enough(v); i++) {
        if (verify_indices(v, i)) {
            in_range = false;
        }
    }
    if (!in_range || enough(v)) {
        return BASE_REFUSED;
    }
    for (size_t i = 0; i < v->g->nodes.n && !enough(v); i++) {
        if (verify_writes(v, i)) {
            status = BASE_REFUSED;
        }
    }
    bool late = false;
    if (verify_reads(v, &late)) {
        status = BASE_REFUSED;
    }
    if (status == BASE_OK && late) {
        status = report_late(v);
    }
    return status;
}

/* ---- signatures ---- */

static base_status verify_signature(const ir_model *m, const ir_signature *s, base_diags *d) {
    base_place place = {.file = m->file};
    place.path = base_printf(m->arena, "signature \"%s\"", base_printable(m->arena, s->name, strlen(s->name), 60));
    if (s->graph >= m->graphs.n) {
        return base_error(d, &place, "there is no graph %lu", (unsigned long)s->graph);
    }
    const ir_graph *g = &m->graphs.at[s->graph];
    for (size_t i = 0; i < s->input_count + s->output_count; i++) {
        bool is_input = i < s->input_count;
        const ir_port *port = is_input ? &s->inputs[i] : &s->outputs[i - s->input_count];
        size_t n = is_input ? g->inputs.n : g->outputs.n;
        if (port->at >= n) {
            return base_error(d, &place, "it names %s %lu of its graph, which has %zu", is_input ? "input" : "output",
                              (unsigned long)port->at, n);
        }
    }
    return BASE_OK;
}

/* ---- what the file's graph takes and gives ---- */

size_t ir_form_tensors(const char *form) {
    char open[64];
    size_t depth = 0, n = 0;
    for (; *form && (depth || !n); form++) {
        if (*form == 'T') {
            n++;
        } else if ((*form == '(' || *form == '[') && depth < sizeof open) {
            open[depth++] = *form == '(' ? ')' : ']';
        } else if (!depth || *form != open[--depth]) {
            return SIZE_MAX;
        }
        if (!depth) {
            return form[1] ? SIZE_MAX : n;
        }
    }
    return SIZE_MAX;
}

static base_status verify_listed(const ir_model *m, const char *what, const ir_listed *listed, size_t n, size_t tensors,
                                 base_diags *d) {
    base_place place = {.file = m->file};
    size_t said = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t of = ir_form_tensors(listed[i].form);
        if (of == SIZE_MAX) {
            place.path = base_printf(m->arena, "%s \"%s\"", what,
                                     base_printable(m->arena, listed[i].name, strlen(listed[i].name), 60));
            return base_error(d, &place, "\"%s\" is no form of tensors, lists and optional values",
                              base_printable(m->arena, listed[i].form, strlen(listed[i].form), 60));
        }
        said += of;
    }
    return !n || said == tensors
               ? BASE_OK
               : base_error(d, &place, "%s names %zu tensors: the graph has %zu", what, said, tensors);
}

base_status ir_verify(const ir_model *m, base_diags *d) {
    return ir_verify_from(m, 0, d);
}

base_status ir_verify_from(const ir_model *m, size_t first, base_diags *d) {
    base_status status = BASE_OK;
    size_t before = d->errors;
    if (!m->graphs.n) {
        base_place place = {.file = m->file};
        return base_error(d, &place, "the model has no graph");
    }
    if (verify_states(m, d, before)) {
        return BASE_REFUSED;
    }
    for (size_t i = first; i < m->graphs.n; i++) {
        const ir_graph *g = &m->graphs.at[i];
        view v = {m, g, d, BASE_NEWS(m->arena, origin, g->tensors.n + 1), before, false};
        if (verify_tensors(&v)) {
            status = BASE_REFUSED;
        }
        if (verify_edges(&v)) {
            status = BASE_REFUSED;
        }
    }
    for (size_t i = 0; i < m->signatures.n && status == BASE_OK; i++) {
        status = verify_signature(m, &m->signatures.at[i], d);
    }
    if (status == BASE_OK) {
        status = verify_listed(m, "takes", m->takes.at, m->takes.n, m->graphs.at[0].inputs.n, d);
    }
    if (status == BASE_OK) {
        status = verify_listed(m, "gives", m->gives.at, m->gives.n, m->graphs.at[0].outputs.n, d);
    }
    return status == BASE_OK ? ir_verify_control(m, first, d) : status;
}
