/* order.c - an order of a graph's nodes in which each stands behind those that give what it needs.
 *
 * Takes untrusted NodeProtos. The standard wants them in such an order, and files have others. What a graph in an attribute needs
 * of the graphs around it, its node needs. The order of the file stays where it can be executed; a cycle is a fault. Of constants of
 * one name the last one counts, as it does for ONNX Runtime: the others are left out, which is said.
 * O(fields of the nodes, and of those in their graphs), each list of nodes once.
 */
#include "formats/onnx/reader.h"

#include <string.h>

enum { WAITING, OPEN, PLACED };

/* Names that a graph in an attribute gives itself. */
typedef struct own {
    const struct own *outer;
    base_map *names;
} own;

typedef struct walk {
    onnx_reader *r;
    const wire_path *outer; /* of the nodes */
    const wire_pb_field *nodes;
    size_t n;
    base_map *givers;         /* name -> the node that gives it */
    BASE_VEC(uint32_t) needs; /* nodes, of one after another */
    size_t *first;            /* of each node: where its needs begin; one more at the end */
    bool late;                /* a node needs one that is not before it */
    bool *replaced;           /* a constant whose name a later one gives again; NULL: none is */
} walk;

static wire_path place_of(const walk *w, size_t node) {
    return (wire_path){.outer = w->outer, .name = "node", .index = (int64_t)node};
}

/* ---- what a node needs ---- */

static void need(walk *w, size_t node, const own *scope, base_bytes name) {
    for (; scope; scope = scope->outer) {
        if (base_map_get(scope->names, name.at, name.size)) {
            return;
        }
    }
    const uint64_t *giver = name.size ? base_map_get(w->givers, name.at, name.size) : NULL;
    if (giver) {
        *BASE_PUSH(w->r->arena, &w->needs) = (uint32_t)*giver;
        w->late = w->late || *giver >= node;
    }
}

/* The field of that number of a message, as bytes; none: empty. */
static base_bytes field_of(walk *w, const wire_path *path, const wire_pb_field *message, uint32_t number) {
    base_bytes found = {0};
    wire_pb_field f;
    wire_message m = wire_pb_message(&w->r->pb, path, message);
    while (wire_pb_next(&w->r->pb, path, &m, &f)) {
        if (f.number == number) {
            found = wire_pb_bytes(&w->r->pb, path, &f);
        }
    }
    return found;
}

static void give(base_map *names, base_bytes name) {
    bool is_new;
    if (name.size) {
        (void)base_map_put(names, name.at, name.size, &is_new);
    }
}

static void gather_given(walk *w, const wire_path *path, wire_message graph, base_map *names) {
    wire_pb_field f, part;
    while (wire_pb_next(&w->r->pb, path, &graph, &f)) {
        if (f.number == ONNX_GRAPH_INPUT) {
            give(names, field_of(w, path, &f, ONNX_VALUE_NAME));
        } else if (f.number == ONNX_GRAPH_INITIALIZER) {
            give(names, field_of(w, path, &f, ONNX_TENSOR_NAME));
        } else if (f.number == ONNX_GRAPH_SPARSE_INITIALIZER) {
            wire_message sparse = wire_pb_message(&w->r->pb, path, &f);
            while (wire_pb_next(&w->r->pb, path, &sparse, &part)) {
                if (part.number == ONNX_SPARSE_VALUES) {
                    give(names, field_of(w, path, &part, ONNX_TENSOR_NAME));
                }
            }
        } else if (f.number == ONNX_GRAPH_NODE) {
            wire_message node = wire_pb_message(&w->r->pb, path, &f);
            while (wire_pb_next(&w->r->pb, path, &node, &part)) {
                if (part.number == ONNX_NODE_OUTPUT) {
                    give(names, wire_pb_bytes(&w->r->pb, path, &part));
                }
            }
        }
    }
}

static void need_graph(walk *w, size_t node, const wire_path *path, wire_message m, const own *outer, unsigned depth);

static void need_node(walk *w, size_t node, const wire_path *path, const wire_pb_field *message, const own *scope,
                      unsigned depth) {
    wire_pb_field f, part;
    wire_message m = wire_pb_message(&w->r->pb, path, message);
    while (wire_pb_next(&w->r->pb, path, &m, &f)) {
        if (f.number == ONNX_NODE_INPUT) {
            need(w, node, scope, wire_pb_bytes(&w->r->pb, path, &f));
        } else if (f.number == ONNX_NODE_ATTRIBUTE) {
            wire_message attribute = wire_pb_message(&w->r->pb, path, &f);
            while (wire_pb_next(&w->r->pb, path, &attribute, &part)) {
                if (part.number == ONNX_ATTR_G || part.number == ONNX_ATTR_GRAPHS) {
                    need_graph(w, node, path, wire_pb_message(&w->r->pb, path, &part), scope, depth);
                }
            }
        }
    }
}

/* What is too deep is reported when it is read. */
static void need_graph(walk *w, size_t node, const wire_path *path, wire_message m, const own *outer, unsigned depth) {
    if (depth == ONNX_MOST_DEPTH) {
        return;
    }
    const own scope = {outer, base_map_new(w->r->arena)};
    gather_given(w, path, m, scope.names);
    wire_pb_field f;
    while (wire_pb_next(&w->r->pb, path, &m, &f)) {
        if (f.number == ONNX_GRAPH_NODE) {
            need_node(w, node, path, &f, &scope, depth + 1);
        } else if (f.number == ONNX_GRAPH_OUTPUT) {
            need(w, node, &scope, field_of(w, path, &f, ONNX_VALUE_NAME));
        }
    }
}

static bool is_constant(walk *w, size_t node) {
    const wire_path path = place_of(w, node);
    const base_bytes type = field_of(w, &path, &w->nodes[node], ONNX_NODE_OP_TYPE),
                     domain = field_of(w, &path, &w->nodes[node], ONNX_NODE_DOMAIN);
    return !domain.size && type.size == strlen("Constant") && memcmp(type.at, "Constant", type.size) == 0;
}

/* A name that a node before this one gives, too. Where both are no constants it is a fault, reported when they are read. */
static void give_again(walk *w, uint64_t *giver, size_t node, base_bytes name) {
    if (*giver == node || !is_constant(w, *giver) || !is_constant(w, node)) {
        return;
    }
    wire_path path = place_of(w, *giver);
    path.note = "Constant";
    const base_place place = {
        .file = w->r->file, .path = wire_path_print(w->r->arena, &path), .byte = w->nodes[*giver].at, .has_byte = true};
    base_warn(w->r->d, &place, "\"%s\" is also what node[%zu] Constant gives: the last one holds",
              base_printable(w->r->arena, (const char *)name.at, name.size, 60), node);
    w->replaced = w->replaced ? w->replaced : BASE_NEWS(w->r->arena, bool, w->n);
    w->replaced[*giver] = true;
    *giver = node;
}

static void gather(walk *w) {
    bool is_new;
    for (size_t i = 0; i < w->n; i++) {
        const wire_path path = place_of(w, i);
        wire_message m = wire_pb_message(&w->r->pb, &path, &w->nodes[i]);
        wire_pb_field f;
        while (wire_pb_next(&w->r->pb, &path, &m, &f)) {
            const base_bytes name =
                f.number == ONNX_NODE_OUTPUT ? wire_pb_bytes(&w->r->pb, &path, &f) : (base_bytes){0};
            uint64_t *giver = name.size ? base_map_put(w->givers, name.at, name.size, &is_new) : NULL;
            if (giver && is_new) {
                *giver = i;
            } else if (giver) {
                give_again(w, giver, i, name);
            }
        }
    }
    for (size_t i = 0; i < w->n; i++) {
        const wire_path path = place_of(w, i);
        w->first[i] = w->needs.n;
        need_node(w, i, &path, &w->nodes[i], NULL, 0);
    }
    w->first[w->n] = w->needs.n;
}

/* ---- the order ---- */

/* node[5] "name" Add */
static const char *title(walk *w, uint32_t node) {
    base_arena *a = w->r->arena;
    const wire_path path = place_of(w, node);
    const base_bytes name = field_of(w, &path, &w->nodes[node], ONNX_NODE_NAME),
                     type = field_of(w, &path, &w->nodes[node], ONNX_NODE_OP_TYPE);
    const char *shown = base_printable(a, (const char *)type.at, type.size, 40);
    return name.size ? base_printf(a, "node[%lu] \"%s\" %s", (unsigned long)node,
                                   base_printable(a, (const char *)name.at, name.size, 60), shown)
                     : base_printf(a, "node[%lu] %s", (unsigned long)node, shown);
}

/* stack: nodes of which each needs the next; the last one needs `again`, which is among them. */
static void report_cycle(walk *w, const uint32_t *stack, size_t n, uint32_t again) {
    enum { SHOWN = 6 };
    base_text text = {.arena = w->r->arena};
    size_t from = n - 1;
    while (stack[from] != again) {
        from--;
    }
    for (size_t i = from + 1; i < n && i - from < SHOWN; i++) {
        base_put(&text, "%s, ", title(w, stack[i]));
    }
    if (n - from > SHOWN) {
        base_put(&text, "%zu more, ", n - from - SHOWN);
    }
    base_puts(&text, title(w, again));
    (void)wire_pb_error(&w->r->pb, w->outer, w->nodes[again].at, "its nodes are a cycle: %s needs %s", title(w, again),
                        text.at);
}

static void place(walk *w, onnx_ordered *order) {
    base_arena *a = w->r->arena;
    uint8_t *state = BASE_NEWS(a, uint8_t, w->n);
    size_t *next = BASE_NEWS(a, size_t, w->n);
    uint32_t *stack = BASE_NEWS(a, uint32_t, w->n);
    for (uint32_t i = 0; i < w->n; i++) {
        size_t depth = state[i] == WAITING && !(w->replaced && w->replaced[i]);
        stack[0] = i;
        state[i] = depth ? OPEN : state[i];
        while (depth) {
            const uint32_t node = stack[depth - 1];
            if (next[node] == w->first[node + 1] - w->first[node]) {
                state[node] = PLACED;
                order->at[order->n++] = node;
                depth--;
                continue;
            }
            const uint32_t needed = w->needs.at[w->first[node] + next[node]++];
            if (state[needed] == OPEN) {
                report_cycle(w, stack, depth, needed);
                return;
            }
            if (state[needed] == WAITING) {
                state[needed] = OPEN;
                stack[depth++] = needed;
            }
        }
    }
}

const onnx_ordered *onnx_order(onnx_reader *r, const wire_path *outer, const wire_pb_field *nodes, size_t n) {
    if (n < 2 || wire_pb_failed(&r->pb)) {
        return NULL;
    }
    bool is_new;
    r->orders = r->orders ? r->orders : base_map_new(r->arena);
    uint64_t *known = base_map_put(r->orders, &nodes[0].at, sizeof nodes[0].at, &is_new);
    if (!is_new) {
        return (const onnx_ordered *)(uintptr_t)*known;
    }
    walk w = {.r = r, .outer = outer, .nodes = nodes, .n = n, .givers = base_map_new(r->arena)};
    w.first = BASE_NEWS(r->arena, size_t, n + 1);
    gather(&w);
    if (wire_pb_failed(&r->pb) || (!w.late && !w.replaced)) {
        return NULL;
    }
    onnx_ordered *order = BASE_NEW(r->arena, onnx_ordered);
    order->at = BASE_NEWS(r->arena, uint32_t, n);
    place(&w, order);
    *known = (uint64_t)(uintptr_t)order;
    return wire_pb_failed(&r->pb) ? NULL : order;
}
