/* model.c - building a model: graphs, tensors, nodes, attributes, shapes.
 *
 * Takes the caller's lists and copies them into the model's arena; borrows nothing but constant data.
 * Gives the structs of ir.h. Checks nothing: ir_verify does.
 */
#include "ir/text.h"

#include <assert.h>
#include <string.h>

/* The most elements of one tensor: 2^48 of 8 bytes still leaves room for sums of sizes in 64 bits. */
static const uint64_t most_elements = (uint64_t)1 << 48;

ir_model *ir_model_new(base_arena *arena, const char *format, const char *file) {
    ir_model *m = BASE_NEW(arena, ir_model);
    m->arena = arena;
    m->format = base_strdup(arena, format ? format : "");
    m->file = base_strdup(arena, file ? file : "");
    m->description = "";
    return m;
}

ir_graph *ir_graph_add(ir_model *m, const char *name) {
    ir_graph *g = BASE_PUSH(m->arena, &m->graphs);
    *g = (ir_graph){.name = base_strdup(m->arena, name ? name : ""), .index = (uint32_t)(m->graphs.n - 1)};
    return g; /* not what a graph that was taken away has left there */
}

uint32_t ir_tensor_add(ir_model *m, ir_graph *g, const char *name, base_type type, const ir_shape *shape) {
    assert(g->tensors.n < IR_NONE);
    ir_tensor *t = BASE_PUSH(m->arena, &g->tensors);
    *t = (ir_tensor){.name = base_strdup(m->arena, name ? name : ""), .type = type};
    if (shape) {
        t->shape = *shape;
    }
    t->source = IR_NONE;
    t->state = IR_NONE;
    return (uint32_t)(g->tensors.n - 1);
}

uint32_t ir_state_add(ir_model *m, const char *name, base_type type, const ir_shape *shape) {
    assert(m->states.n < IR_NONE);
    *BASE_PUSH(m->arena, &m->states) =
        (ir_state){.name = base_strdup(m->arena, name ? name : ""), .type = type, .shape = *shape};
    return (uint32_t)(m->states.n - 1);
}

static const ir_port *copy_ports(base_arena *arena, const ir_port *list, size_t n) {
    ir_port *copy = BASE_NEWS(arena, ir_port, n + 1);
    if (n) {
        memcpy(copy, list, n * sizeof *copy);
    }
    return copy;
}

void ir_signature_add(ir_model *m, const char *name, uint32_t graph, const ir_port *inputs, size_t input_count,
                      const ir_port *outputs, size_t output_count) {
    *BASE_PUSH(m->arena, &m->signatures) = (ir_signature){.name = name,
                                                          .graph = graph,
                                                          .input_count = input_count,
                                                          .output_count = output_count,
                                                          .inputs = copy_ports(m->arena, inputs, input_count),
                                                          .outputs = copy_ports(m->arena, outputs, output_count)};
}

static uint32_t *copy_indices(base_arena *arena, const uint32_t *list, size_t n) {
    uint32_t *copy = BASE_NEWS(arena, uint32_t, n ? n : 1);
    if (n) {
        memcpy(copy, list, n * sizeof *copy);
    }
    return copy;
}

ir_node *ir_node_add(ir_model *m, ir_graph *g, const char *op, const uint32_t *inputs, size_t input_count,
                     const uint32_t *outputs, size_t output_count, uint32_t id) {
    ir_node *n = BASE_PUSH(m->arena, &g->nodes);
    *n = (ir_node){.op = base_strdup(m->arena, op)};
    n->inputs = copy_indices(m->arena, inputs, input_count);
    n->input_count = input_count;
    n->outputs = copy_indices(m->arena, outputs, output_count);
    n->output_count = output_count;
    n->ids = copy_indices(m->arena, &id, id == IR_NONE ? 0 : 1);
    n->id_count = id == IR_NONE ? 0 : 1;
    n->source_name = "";
    return n;
}

/* ---- attributes ---- */

/* Lists are short: each change copies. */
ir_attr *ir_attr_put(ir_model *m, ir_node *n, const char *name, ir_attr_kind kind) {
    size_t at = 0;
    while (at < n->attr_count && strcmp(n->attrs[at].name, name)) {
        at++;
    }
    size_t count = at < n->attr_count ? n->attr_count : n->attr_count + 1;
    ir_attr *attrs = BASE_NEWS(m->arena, ir_attr, count);
    if (n->attr_count) {
        memcpy(attrs, n->attrs, n->attr_count * sizeof *attrs);
    }
    attrs[at] = (ir_attr){.name = base_strdup(m->arena, name), .kind = kind};
    n->attrs = attrs;
    n->attr_count = count;
    return &attrs[at];
}

void ir_attr_int(ir_model *m, ir_node *n, const char *name, int64_t v) {
    ir_attr_put(m, n, name, IR_INT)->v.i = v;
}

void ir_attr_float(ir_model *m, ir_node *n, const char *name, double v) {
    ir_attr_put(m, n, name, IR_FLOAT)->v.f = v;
}

void ir_attr_text(ir_model *m, ir_node *n, const char *name, const char *v) {
    ir_attr *a = ir_attr_put(m, n, name, IR_TEXT);
    a->n = strlen(v);
    a->v.text = base_strdup(m->arena, v);
}

void ir_attr_ints(ir_model *m, ir_node *n, const char *name, const int64_t *v, size_t count) {
    ir_attr *a = ir_attr_put(m, n, name, IR_INTS);
    int64_t *copy = BASE_NEWS(m->arena, int64_t, count ? count : 1);
    if (count) {
        memcpy(copy, v, count * sizeof *copy);
    }
    a->n = count;
    a->v.ints = copy;
}

void ir_attr_floats(ir_model *m, ir_node *n, const char *name, const double *v, size_t count) {
    ir_attr *a = ir_attr_put(m, n, name, IR_FLOATS);
    double *copy = BASE_NEWS(m->arena, double, count ? count : 1);
    if (count) {
        memcpy(copy, v, count * sizeof *copy);
    }
    a->n = count;
    a->v.floats = copy;
}

void ir_attr_graph(ir_model *m, ir_node *n, const char *name, uint32_t graph) {
    ir_attr_put(m, n, name, IR_GRAPH)->v.graph = graph;
}

const ir_attr *ir_attr_find(const ir_node *n, const char *name) {
    for (size_t i = 0; i < n->attr_count; i++) {
        if (!strcmp(n->attrs[i].name, name)) {
            return &n->attrs[i];
        }
    }
    return NULL;
}

/* ---- shapes ---- */

ir_shape ir_shape_of(uint32_t rank, const int64_t *dims) {
    assert(rank <= IR_MAX_RANK);
    ir_shape s = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        s.dim[i] = dims[i];
    }
    return s;
}

bool ir_quant_same(const ir_quant *a, const ir_quant *b) {
    bool same = a->n == b->n && (a->n < 2 || a->axis == b->axis);
    for (uint32_t i = 0; same && i < a->n; i++) {
        same = a->scale[i] == b->scale[i] && a->zero[i] == b->zero[i];
    }
    return same;
}

bool ir_shape_same(const ir_shape *a, const ir_shape *b) {
    if (a->rank != b->rank) {
        return false;
    }
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i] || a->symbol[i] != b->symbol[i]) {
            return false;
        }
    }
    return true;
}

bool ir_shape_elements(const ir_shape *s, uint64_t *n) {
    if (s->rank > IR_MAX_RANK) {
        return false;
    }
    /* Extents of 0 count as 1 for the limit, so that no stride of an accepted shape overflows either. */
    uint64_t product = 1;
    bool empty = false;
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0) {
            return false;
        }
        if (!s->dim[i]) {
            empty = true;
        } else if (!base_mul_size(product, (uint64_t)s->dim[i], &product) || product > most_elements) {
            return false;
        }
    }
    *n = empty ? 0 : product;
    return true;
}

uint32_t ir_shape_open(const ir_shape *s) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < s->rank; i++) {
        mask |= (uint32_t)(s->symbol[i] != 0) << i;
    }
    return mask;
}

uint32_t ir_shape_computed(const ir_model *m, const ir_shape *s) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < s->rank; i++) {
        bool computed = s->symbol[i] != 0 && s->symbol[i] <= m->symbols.n && m->symbols.at[s->symbol[i] - 1].computed;
        mask |= (uint32_t)computed << i;
    }
    return mask;
}

bool ir_tensor_bytes(const ir_tensor *t, uint64_t *bytes) {
    uint64_t elements;
    return ir_shape_elements(&t->shape, &elements) && base_type_bytes(t->type, elements, bytes);
}

char *ir_shape_print(base_arena *arena, const ir_shape *s) {
    if (!s->rank) {
        return base_strdup(arena, "scalar");
    }
    base_text out = {.arena = arena};
    for (uint32_t i = 0; i < s->rank; i++) {
        base_puts(&out, i ? "x" : "");
        base_puts(&out, s->symbol[i] ? "<=" : s->dim[i] < 0 ? "-" : "");
        base_put_unsigned(&out, s->dim[i] < 0 ? 0 - (uint64_t)s->dim[i] : (uint64_t)s->dim[i]);
    }
    return out.at;
}

bool ir_has_strings(const ir_model *m) {
    for (size_t i = 0; i < m->graphs.n; i++) {
        for (size_t k = 0; k < m->graphs.at[i].tensors.n; k++) {
            if (m->graphs.at[i].tensors.at[k].type == BASE_STR) {
                return true;
            }
        }
    }
    return false;
}
