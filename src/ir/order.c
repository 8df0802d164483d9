/* order.c - an executable order of a graph's nodes, and what a cycle looks like.
 *
 * Takes a graph whose tensor indices are in range. Gives the order by a depth-first walk that starts from the nodes in
 * their given order, so an order that can be executed is kept. O(nodes + their inputs and outputs), without recursion.
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

static deps deps_of(const ir_model *m, const ir_graph *g) {
    base_arena *arena = m->arena;
    uint32_t *producer = BASE_NEWS(arena, uint32_t, g->tensors.n + 1);
    memset(producer, 0xff, (g->tensors.n + 1) * sizeof *producer);
    size_t slots = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        slots += n->input_count + n->output_count;
        for (size_t k = 0; k < n->output_count; k++) {
            if (!g->tensors.at[n->outputs[k]].variable) {
                producer[n->outputs[k]] = (uint32_t)i;
            }
        }
    }
    deps all = {BASE_NEWS(arena, size_t, g->nodes.n + 1), BASE_NEWS(arena, uint32_t, slots + 1)};
    size_t at = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        all.first[i] = at;
        for (size_t k = 0; k < n->input_count; k++) {
            all.dep[at++] = n->inputs[k] == IR_NONE ? IR_NONE : producer[n->inputs[k]];
        }
        for (size_t k = 0; k < n->output_count; k++) {
            all.dep[at++] = g->tensors.at[n->outputs[k]].variable ? producer[n->outputs[k]] : IR_NONE;
        }
        /* From here on a variable's producer is the last node that touched it: the next one waits for that one. */
        for (size_t k = 0; k < n->input_count + n->output_count; k++) {
            uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
            if (t != IR_NONE && g->tensors.at[t].variable) {
                producer[t] = (uint32_t)i;
            }
        }
    }
    all.first[g->nodes.n] = at;
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

base_status ir_order(const ir_model *m, const ir_graph *g, uint32_t *order, base_diags *d) {
    deps all = deps_of(m, g);
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

static base_status indices_in_range(const ir_model *m, const ir_graph *g, base_diags *d) {
    base_status status = BASE_OK;
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
    }
    return status;
}

base_status ir_sort(ir_model *m, base_diags *d) {
    base_status status = BASE_OK;
    for (size_t i = 0; i < m->graphs.n; i++) {
        ir_graph *g = &m->graphs.at[i];
        uint32_t *order = BASE_NEWS(m->arena, uint32_t, g->nodes.n + 1);
        if (indices_in_range(m, g, d) || ir_order(m, g, order, d)) {
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
