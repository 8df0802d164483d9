/* attributes.c - are two nodes, made alike for other extents, the same?
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
