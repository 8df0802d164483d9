/* attributes.c - are two nodes, made alike for other extents, the same?
 *
 * Takes nodes. Knows no format and no operator.
 */
#include <string.h>

#include "formats/formats.h"

bool formats_same_attributes(const ir_node *a, const ir_node *b) {
    bool same = a->attr_count == b->attr_count;
    for (size_t i = 0; same && i < a->attr_count; i++) {
        const ir_attr *x = &a->attrs[i], *y = &b->attrs[i];
        same = strcmp(x->name, y->name) == 0 && x->kind == y->kind;
        if (same && x->kind == IR_INTS) {
            same = x->n == y->n && memcmp(x->v.ints, y->v.ints, x->n * sizeof *x->v.ints) == 0;
        } else if (same && x->kind == IR_INT) {
            same = x->v.i == y->v.i;
        }
    }
    return same;
}
