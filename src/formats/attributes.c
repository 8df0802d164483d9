/* attributes.c - are attributes the same: of two nodes that were made for other extents, of a node and its definition?
 *
 * Takes nodes. Knows no format and no operator.
 */
#include <string.h>

#include "formats/formats.h"

static bool same_value(const ir_attr *x, const ir_attr *y) {
    switch (x->kind) {
    case IR_INT:
        return x->v.i == y->v.i;
    case IR_GRAPH:
        return x->v.graph == y->v.graph;
    case IR_FLOAT:
        return memcmp(&x->v.f, &y->v.f, sizeof x->v.f) == 0;
    case IR_TEXT:
        return strcmp(x->v.text, y->v.text) == 0;
    case IR_INTS:
        return x->n == y->n && (x->n == 0 || memcmp(x->v.ints, y->v.ints, x->n * sizeof *x->v.ints) == 0);
    case IR_FLOATS:
        return x->n == y->n && (x->n == 0 || memcmp(x->v.floats, y->v.floats, x->n * sizeof *x->v.floats) == 0);
    }
    return false;
}

bool formats_same_attributes(const ir_node *a, const ir_node *b) {
    bool same = a->attr_count == b->attr_count;
    for (size_t i = 0; same && i < a->attr_count; i++) {
        const ir_attr *x = &a->attrs[i], *y = &b->attrs[i];
        same = strcmp(x->name, y->name) == 0 && x->kind == y->kind && same_value(x, y);
    }
    return same;
}

bool formats_says_nothing(base_arena *arena, ops_registry *ops, const ir_node *n, const ir_attr *a) {
    base_diags ignored = {.arena = arena};
    const lang_library *library = ops_has(ops, n->op) ? ops_library(ops, n->op, &ignored) : NULL;
    const ir_attr *d = library != NULL ? lang_attr_default(arena, library, n->op, a->name) : NULL;
    return d != NULL && d->kind == a->kind && same_value(a, d);
}
