/* order.c - an executable order of a graph's nodes, and what a cycle looks like.
 *
 * Takes a graph whose tensor indices are in range. Gives the order by a depth-first walk that starts from the nodes in
 * their given order, so an order that can be executed is kept. What touches a state waits for what touched it before.
 * O(nodes + their inputs and outputs), without recursion.
 */
#include "ir/order.h"

#include <assert.h>
#include <string.h>

enum { WAITING, OPEN, PLACED };

/* What each node waits for: dep[first[i]..first[i + 1]), IR_NONE where there is nothing to wait for. */
typedef struct deps {
    size_t *first;
    uint32_t *dep;
} deps;

/* Who touched states so far. A control node that reaches states stands between all that touch them. */
typedef struct accesses {
    uint32_t *last;   /* of each state: the last node that touched it; counts only behind the barrier */
    uint32_t barrier; /* the last control node that reaches states; IR_NONE: none */
    uint32_t *since;  /* the nodes that touched states behind the barrier */
    size_t since_count;
} accesses;

static void wait_for(deps *all, size_t *at, uint32_t node) {
    all->dep[(*at)++] = node;
}

/* What node i waits for because of states, and that it touched them. */
static void order_accesses(const ir_model *m, const ir_graph *g, uint32_t i, const bool *with_state, accesses *seen,
                           deps *all, size_t *at) {
    const ir_node *n = &g->nodes.at[i];
    bool touches = false, reaches = ir_reaches_state(m, n, with_state);
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        uint32_t state = t == IR_NONE ? IR_NONE : g->tensors.at[t].state;
        if (state == IR_NONE) {
            continue;
        }
        uint32_t last = seen->last[state];
        touches = true;
        /* Nodes are met in their given order: a larger number is a later one. */
        bool behind = last != IR_NONE && (seen->barrier == IR_NONE || last > seen->barrier);
        if (last != i) {
            wait_for(all, at, behind ? last : seen->barrier);
        }
        seen->last[state] = i;
    }
    if (reaches) {
        wait_for(all, at, seen->barrier);
        for (size_t k = 0; k < seen->since_count; k++) {
            wait_for(all, at, seen->since[k]);
        }
        seen->since_count = 0;
        seen->barrier = i;
    } else if (touches) {
        seen->since[seen->since_count++] = i;
    }
}

static uint32_t *nones(base_arena *arena, size_t n) {
    uint32_t *list = BASE_NEWS(arena, uint32_t, n + 1);
    memset(list, 0xff, (n + 1) * sizeof *list);
    return list;
}

static deps deps_of(const ir_model *m, const ir_graph *g, const bool *with_state) {
    base_arena *arena = m->arena;
    uint32_t *producer = nones(arena, g->tensors.n);
    size_t slots = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        /* its inputs; a state for each tensor; the barrier; and itself, when a barrier waits for it */
        slots += 2 * n->input_count + n->output_count + 2;
        for (size_t k = 0; k < n->output_count; k++) {
            if (g->tensors.at[n->outputs[k]].state == IR_NONE) {
                producer[n->outputs[k]] = (uint32_t)i;
            }
        }
    }
    deps all = {BASE_NEWS(arena, size_t, g->nodes.n + 1), BASE_NEWS(arena, uint32_t, slots + 1)};
    accesses seen = {nones(arena, m->states.n), IR_NONE, nones(arena, g->nodes.n), 0};
    size_t at = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        all.first[i] = at;
        for (size_t k = 0; k < n->input_count; k++) {
            wait_for(&all, &at, n->inputs[k] == IR_NONE ? IR_NONE : producer[n->inputs[k]]);
        }
        order_accesses(m, g, (uint32_t)i, with_state, &seen, &all, &at);
    }
    all.first[g->nodes.n] = at;
    assert(at <= slots);
    return all;
}

static base_status report_cycle(const ir_model *m, const ir_graph *g, const uint32_t *stack, size_t depth,
                                uint32_t again, base_diags *d) {
    enum { MOST_NAMED = 8 };
    size_t from = depth;
    while (stack[from - 1] != again) {
        from--;
    }
    /* The stack goes from a reader to what it waits for: backwards it is the way of the data. */
    base_text names = {.arena = m->arena};
    const char *end = ir_node_label(m, g, again);
    base_puts(&names, end);
    for (size_t i = depth; i > from && depth - i < MOST_NAMED; i--) {
        base_put(&names, " -> %s", ir_node_label(m, g, stack[i - 1]));
    }
    base_put(&names, "%s -> %s", depth - from > MOST_NAMED ? " -> ..." : "", end);
    base_place place = ir_place_node(m, g, again);
    return base_error(d, &place, "the operators form a cycle: %s", names.at);
}

base_status ir_order(const ir_model *m, const ir_graph *g, const bool *with_state, uint32_t *order, base_diags *d) {
    deps all = deps_of(m, g, with_state);
    uint8_t *state = BASE_NEWS(m->arena, uint8_t, g->nodes.n + 1);
    size_t *next = BASE_NEWS(m->arena, size_t, g->nodes.n + 1);
    uint32_t *stack = BASE_NEWS(m->arena, uint32_t, g->nodes.n + 1);
    size_t placed = 0;
    for (size_t start = 0; start < g->nodes.n; start++) {
        if (state[start] == PLACED) {
            continue;
        }
        size_t depth = 0;
        stack[depth++] = (uint32_t)start;
        state[start] = OPEN;
        next[start] = all.first[start];
        while (depth) {
            uint32_t node = stack[depth - 1];
            if (next[node] == all.first[node + 1]) {
                state[node] = PLACED;
                order[placed++] = node;
                depth--;
                continue;
            }
            uint32_t wanted = all.dep[next[node]++];
            if (wanted == IR_NONE || state[wanted] == PLACED) {
                continue;
            }
            if (state[wanted] == OPEN) {
                return report_cycle(m, g, stack, depth, wanted, d);
            }
            state[wanted] = OPEN;
            next[wanted] = all.first[wanted];
            stack[depth++] = wanted;
        }
    }
    assert(placed == g->nodes.n);
    return BASE_OK;
}

/* Of tensors, states and graphs. */
static base_status indices_in_range(const ir_model *m, const ir_graph *g, base_diags *d) {
    base_status status = BASE_OK;
    for (size_t i = 0; i < g->tensors.n; i++) {
        if (g->tensors.at[i].state != IR_NONE && g->tensors.at[i].state >= m->states.n) {
            base_place place = ir_place_tensor(m, g, i);
            status = base_error(d, &place, "state %lu: the model has %zu", (unsigned long)g->tensors.at[i].state,
                                m->states.n);
        }
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->input_count + n->output_count; k++) {
            bool is_input = k < n->input_count;
            uint32_t t = is_input ? n->inputs[k] : n->outputs[k - n->input_count];
            if (t >= g->tensors.n && !(is_input && t == IR_NONE)) {
                base_place place = ir_place_node(m, g, i);
                status = base_error(d, &place, "tensor %lu: the graph has %zu", (unsigned long)t, g->tensors.n);
            }
        }
        for (size_t k = 0; k < n->attr_count; k++) {
            if (n->attrs[k].kind == IR_GRAPH && n->attrs[k].v.graph >= m->graphs.n) {
                base_place place = ir_place_node(m, g, i);
                status = base_error(d, &place, "graph %lu: the model has %zu", (unsigned long)n->attrs[k].v.graph,
                                    m->graphs.n);
            }
        }
    }
    return status;
}

base_status ir_sort(ir_model *m, base_diags *d) {
    base_status status = BASE_OK;
    const bool *with_state = ir_graphs_with_state(m->arena, m);
    for (size_t i = 0; i < m->graphs.n; i++) {
        ir_graph *g = &m->graphs.at[i];
        uint32_t *order = BASE_NEWS(m->arena, uint32_t, g->nodes.n + 1);
        if (indices_in_range(m, g, d) || ir_order(m, g, with_state, order, d)) {
            status = BASE_REFUSED;
            continue;
        }
        ir_node *sorted = BASE_NEWS(m->arena, ir_node, g->nodes.n + 1);
        for (size_t k = 0; k < g->nodes.n; k++) {
            sorted[k] = g->nodes.at[order[k]];
        }
        if (g->nodes.n) {
            memcpy(g->nodes.at, sorted, g->nodes.n * sizeof *sorted);
        }
    }
    return status;
}
