/* control.c - nodes whose meaning is the meaning of sub-graphs (if, while), and which graphs touch states.
 *
 * Takes models whose graphs are sound one by one. Gives what their control nodes are, errors where a node and its
 * graphs do not fit together, and refuses graphs that reach themselves. O(nodes + attributes), without recursion.
 */
#include "ir/order.h"

#include <assert.h>
#include <string.h>

/* The attributes that name a control node's graphs. */
static const char *const if_graphs[] = {"then", "else"};
static const char *const while_graphs[] = {"cond", "body"};

ir_control ir_control_of(const ir_node *n) {
    return !strcmp(n->op, "if") ? IR_IF : !strcmp(n->op, "while") ? IR_WHILE : IR_PLAIN;
}

bool ir_is_fused(const ir_node *n) {
    return !strcmp(n->op, "fused");
}

const ir_graph *ir_sub_graph(const ir_model *m, const ir_node *n, const char *name) {
    const ir_attr *a = ir_attr_find(n, name);
    assert(a && a->kind == IR_GRAPH && a->v.graph < m->graphs.n);
    return &m->graphs.at[a->v.graph];
}

/* ---- the order of graphs: those that are called before those that call them ---- */

enum { WAITING, OPEN, DONE };

/* The graph that attribute number at of the graph's nodes names, counted through all of them; IR_NONE at the end. */
typedef struct cursor {
    size_t node, attr;
} cursor;

static uint32_t next_graph(const ir_model *m, const ir_graph *g, cursor *c) {
    for (; c->node < g->nodes.n; c->node++, c->attr = 0) {
        const ir_node *n = &g->nodes.at[c->node];
        while (c->attr < n->attr_count) {
            const ir_attr *a = &n->attrs[c->attr++];
            if (a->kind == IR_GRAPH && a->v.graph < m->graphs.n) {
                return a->v.graph;
            }
        }
    }
    return IR_NONE;
}

/* order[0..graphs.n): every graph behind those that its nodes name. *again: a graph that reaches itself; IR_NONE: none. */
static uint32_t *order_graphs(base_arena *arena, const ir_model *m, uint32_t *again) {
    uint32_t *order = BASE_NEWS(arena, uint32_t, m->graphs.n + 1);
    uint32_t *stack = BASE_NEWS(arena, uint32_t, m->graphs.n + 1);
    uint8_t *mark = BASE_NEWS(arena, uint8_t, m->graphs.n + 1);
    cursor *at = BASE_NEWS(arena, cursor, m->graphs.n + 1);
    size_t placed = 0;
    *again = IR_NONE;
    for (uint32_t start = 0; start < m->graphs.n; start++) {
        size_t depth = 0;
        if (mark[start] == WAITING) {
            stack[depth++] = start;
            mark[start] = OPEN;
        }
        while (depth) {
            uint32_t g = stack[depth - 1], next = next_graph(m, &m->graphs.at[g], &at[g]);
            if (next == IR_NONE) {
                mark[g] = DONE;
                order[placed++] = g;
                depth--;
            } else if (mark[next] == WAITING) {
                mark[next] = OPEN;
                stack[depth++] = next;
            } else if (mark[next] == OPEN) {
                *again = next;
            }
        }
    }
    return order;
}

bool ir_has_loops(const ir_model *m) {
    for (size_t i = 0; i < m->graphs.n; i++) {
        for (size_t k = 0; k < m->graphs.at[i].nodes.n; k++) {
            if (ir_control_of(&m->graphs.at[i].nodes.at[k]) == IR_WHILE) {
                return true;
            }
        }
    }
    return false;
}

/* ---- states ---- */

bool ir_reaches_state(const ir_model *m, const ir_node *n, const bool *with_state) {
    for (size_t i = 0; i < n->attr_count; i++) {
        const ir_attr *a = &n->attrs[i];
        if (a->kind == IR_GRAPH && a->v.graph < m->graphs.n && with_state[a->v.graph]) {
            return true;
        }
    }
    return false;
}

bool *ir_graphs_with_state(base_arena *arena, const ir_model *m) {
    bool *with = BASE_NEWS(arena, bool, m->graphs.n + 1);
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    uint32_t again;
    const uint32_t *order = order_graphs(scratch, m, &again);
    for (size_t i = 0; i < m->graphs.n; i++) {
        const ir_graph *g = &m->graphs.at[order[i]];
        for (size_t k = 0; k < g->tensors.n && !with[order[i]]; k++) {
            with[order[i]] = g->tensors.at[k].state != IR_NONE;
        }
        cursor at = {0};
        for (uint32_t sub = next_graph(m, g, &at); sub != IR_NONE; sub = next_graph(m, g, &at)) {
            with[order[i]] = with[order[i]] || with[sub];
        }
    }
    base_arena_free(scratch);
    return with;
}

/* ---- the verifier's part ---- */

typedef struct checker {
    const ir_model *m;
    const ir_graph *g;
    size_t node;
    base_diags *d;
} checker;

#define SAY_LIKE_PRINTF __attribute__((format(printf, 2, 3)))
static base_status say(const checker *c, const char *format, ...) SAY_LIKE_PRINTF;
static base_status say(const checker *c, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(c->m->arena, format, list);
    va_end(list);
    base_place place = ir_place_node(c->m, c->g, c->node);
    return base_error(c->d, &place, "%s", message);
}

static const char *shown(const ir_model *m, const ir_tensor *t) {
    return base_printf(m->arena, "%s[%s]", base_type_name(t->type), ir_shape_print(m->arena, &t->shape));
}

/* The node's values and the graph's are the same in number, type and shape. */
static base_status check_list(const checker *c, const char *name, const ir_graph *sub, const char *what,
                              const uint32_t *mine, size_t mine_count, const uint32_t *its, size_t its_count) {
    base_status status = BASE_OK;
    if (mine_count != its_count) {
        return say(c, "%s: graph %lu has %zu %ss, the node has %zu for it", name, (unsigned long)sub->index, its_count,
                   what, mine_count);
    }
    for (size_t i = 0; i < mine_count; i++) {
        if (mine[i] == IR_NONE) {
            status = say(c, "%s: %s %zu is absent, and the graph takes it", name, what, i);
            continue;
        }
        const ir_tensor *a = &c->g->tensors.at[mine[i]], *b = &sub->tensors.at[its[i]];
        if (ir_shape_open(&a->shape)) {
            status = say(c, "%s: %s %zu is %s: what data decides does not pass between graphs", name, what, i,
                         shown(c->m, a));
        } else if (a->type != b->type || !ir_shape_same(&a->shape, &b->shape)) {
            status = say(c, "%s: %s %zu is %s in graph %lu, and %s at the node", name, what, i, shown(c->m, b),
                         (unsigned long)sub->index, shown(c->m, a));
        }
    }
    return status;
}

static base_status check_condition(const checker *c, const char *name, const ir_tensor *t) {
    uint64_t elements;
    if (t->type == BASE_BOOL && ir_shape_elements(&t->shape, &elements) && elements == 1) {
        return BASE_OK;
    }
    return say(c, "%s is %s: a condition is one bool", name, shown(c->m, t));
}

static base_status check_if(const checker *c, const ir_node *n) {
    if (!n->input_count || n->inputs[0] == IR_NONE) {
        return say(c, "it has no condition");
    }
    base_status status = check_condition(c, "input 0", &c->g->tensors.at[n->inputs[0]]);
    for (size_t i = 0; i < 2; i++) {
        const ir_graph *sub = ir_sub_graph(c->m, n, if_graphs[i]);
        if (check_list(c, if_graphs[i], sub, "input", n->inputs + 1, n->input_count - 1, sub->inputs.at,
                       sub->inputs.n) ||
            check_list(c, if_graphs[i], sub, "output", n->outputs, n->output_count, sub->outputs.at, sub->outputs.n)) {
            status = BASE_REFUSED;
        }
    }
    return status;
}

static base_status check_while(const checker *c, const ir_node *n) {
    const ir_graph *cond = ir_sub_graph(c->m, n, "cond"), *body = ir_sub_graph(c->m, n, "body");
    base_status status = BASE_OK;
    if (cond->outputs.n != 1) {
        status = say(c, "cond: graph %lu has %zu outputs: expected the condition", (unsigned long)cond->index,
                     cond->outputs.n);
    } else {
        status = check_condition(c, "cond's output", &cond->tensors.at[cond->outputs.at[0]]);
    }
    if (check_list(c, "cond", cond, "input", n->inputs, n->input_count, cond->inputs.at, cond->inputs.n) ||
        check_list(c, "body", body, "input", n->inputs, n->input_count, body->inputs.at, body->inputs.n) ||
        check_list(c, "body", body, "output", n->outputs, n->output_count, body->outputs.at, body->outputs.n)) {
        return BASE_REFUSED;
    }
    /* What the body gives it takes in the next round. */
    if (check_list(c, "body", body, "output", n->inputs, n->input_count, body->outputs.at, body->outputs.n)) {
        return BASE_REFUSED;
    }
    return status;
}

static base_status check_fused(const checker *c, const ir_node *n) {
    const ir_attr *a = ir_attr_find(n, "body");
    if (!a || a->kind != IR_GRAPH || n->attr_count != 1) {
        return say(c, "it does not name its graph \"body\", and that alone");
    }
    if (a->v.graph >= c->m->graphs.n) {
        return BASE_REFUSED; /* said before */
    }
    const ir_graph *body = &c->m->graphs.at[a->v.graph];
    if (check_list(c, "body", body, "input", n->inputs, n->input_count, body->inputs.at, body->inputs.n) ||
        check_list(c, "body", body, "output", n->outputs, n->output_count, body->outputs.at, body->outputs.n)) {
        return BASE_REFUSED;
    }
    for (size_t i = 0; i < body->nodes.n; i++) {
        if (ir_control_of(&body->nodes.at[i]) != IR_PLAIN || ir_is_fused(&body->nodes.at[i])) {
            return say(c, "its graph holds %s", body->nodes.at[i].op);
        }
    }
    for (size_t i = 0; i < body->tensors.n; i++) {
        if (body->tensors.at[i].state != IR_NONE || body->tensors.at[i].data != NULL) {
            return say(c, "its graph holds a state or a constant");
        }
        for (uint32_t k = 0; k < body->tensors.at[i].shape.rank; k++) {
            if (body->tensors.at[i].shape.symbol[k] != 0) {
                return say(c, "its graph has an extent that is a symbol");
            }
        }
    }
    for (size_t i = 0; i < body->outputs.n; i++) {
        for (size_t k = 0; k < body->inputs.n; k++) {
            if (body->inputs.at[k] == body->outputs.at[i]) {
                return say(c, "output %zu of its graph is an input", i);
            }
        }
    }
    return BASE_OK;
}

static base_status check_node(const checker *c, const ir_node *n) {
    ir_control control = ir_control_of(n);
    const char *const *names = control == IR_IF ? if_graphs : while_graphs;
    base_status status = BASE_OK;
    for (size_t i = 0; i < n->attr_count; i++) {
        const ir_attr *a = &n->attrs[i];
        if (a->kind == IR_GRAPH && a->v.graph >= c->m->graphs.n) {
            status =
                say(c, "%s is graph %lu: the model has %zu", base_printable(c->m->arena, a->name, strlen(a->name), 60),
                    (unsigned long)a->v.graph, c->m->graphs.n);
        }
    }
    for (size_t i = 0; i < 2 && control != IR_PLAIN; i++) {
        const ir_attr *a = ir_attr_find(n, names[i]);
        if (!a || a->kind != IR_GRAPH) {
            status = say(c, "it does not name its graph \"%s\"", names[i]);
        }
    }
    for (size_t k = 0; k < n->input_count + n->output_count && (control != IR_PLAIN || ir_is_fused(n)); k++) {
        uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        if (t != IR_NONE && c->g->tensors.at[t].state != IR_NONE) {
            status = say(c, "tensor %lu stands for a state, which its graphs can touch themselves", (unsigned long)t);
        }
    }
    if (status == BASE_OK && ir_is_fused(n)) {
        return check_fused(c, n);
    }
    if (status != BASE_OK || control == IR_PLAIN) {
        return status;
    }
    return control == IR_IF ? check_if(c, n) : check_while(c, n);
}

/* A graph with more than `most` graphs below each other; IR_NONE: there is none. */
static uint32_t deeper_than(base_arena *scratch, const ir_model *m, const uint32_t *order, uint32_t most) {
    uint32_t *depth = BASE_NEWS(scratch, uint32_t, m->graphs.n + 1);
    for (size_t i = 0; i < m->graphs.n; i++) {
        const ir_graph *g = &m->graphs.at[order[i]];
        cursor at = {0};
        for (uint32_t sub = next_graph(m, g, &at); sub != IR_NONE; sub = next_graph(m, g, &at)) {
            uint32_t below = ir_is_fused(&g->nodes.at[at.node]) ? 0 : depth[sub] + 1; /* that is no call */
            depth[order[i]] = below > depth[order[i]] ? below : depth[order[i]];
        }
        if (depth[order[i]] > most) {
            return order[i];
        }
    }
    return IR_NONE;
}

base_status ir_verify_control(const ir_model *m, size_t first, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(m->arena));
    base_status status = BASE_OK;
    uint32_t again;
    const uint32_t *order = order_graphs(scratch, m, &again);
    uint32_t deep = again == IR_NONE ? deeper_than(scratch, m, order, IR_MAX_CALLS) : IR_NONE;
    base_arena_free(scratch);
    if (again != IR_NONE) {
        base_place place = {.file = m->file};
        place.path = base_printf(m->arena, "graph[%lu]", (unsigned long)m->graphs.at[again].index);
        return base_error(d, &place, "the graph reaches itself: recursion has no bound");
    }
    if (deep != IR_NONE) {
        base_place place = {.file = m->file};
        place.path = base_printf(m->arena, "graph[%lu]", (unsigned long)m->graphs.at[deep].index);
        return base_error(d, &place, "graphs below it call each other more than %u deep", IR_MAX_CALLS);
    }
    size_t before = d->errors;
    for (size_t i = first; i < m->graphs.n; i++) {
        checker c = {.m = m, .g = &m->graphs.at[i], .d = d};
        for (c.node = 0; c.node < c.g->nodes.n && d->errors - before <= 20; c.node++) {
            if (check_node(&c, &c.g->nodes.at[c.node])) {
                status = BASE_REFUSED;
            }
        }
    }
    return status;
}
