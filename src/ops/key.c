/* key.c - when two nodes have the same program: a key of all that an instantiation depends on (ops.h).
 *
 * Takes a node of a graph. Gives bytes. Contents of more than a few numbers count as equal where they are the same bytes in
 * memory.
 */
#include <string.h>

#include "ops/ops.h"

enum { MOST_COPIED = 256 }; /* bytes of contents in a key */

static void put_number(base_text *key, uint64_t v) {
    base_putn(key, &v, sizeof v);
}

static bool put_attr(base_text *key, const ir_attr *a) {
    base_putn(key, a->name, strlen(a->name) + 1);
    put_number(key, (uint64_t)a->kind);
    switch (a->kind) {
    case IR_INT:
        put_number(key, (uint64_t)a->v.i);
        return true;
    case IR_FLOAT:
        base_putn(key, &a->v.f, sizeof a->v.f);
        return true;
    case IR_TEXT:
        put_number(key, a->n);
        base_putn(key, a->v.text, a->n);
        return true;
    case IR_INTS:
        put_number(key, a->n);
        base_putn(key, a->v.ints, a->n * sizeof *a->v.ints);
        return true;
    case IR_FLOATS:
        put_number(key, a->n);
        base_putn(key, a->v.floats, a->n * sizeof *a->v.floats);
        return true;
    default:
        return false; /* a graph: its nodes are no part of a key */
    }
}

static bool put_tensor(base_text *key, const ir_graph *g, uint32_t index, bool with_shape, bool contents) {
    if (index == IR_NONE) {
        put_number(key, UINT64_MAX);
        return true;
    }
    const ir_tensor *t = &g->tensors.at[index];
    uint64_t bytes = 0;
    put_number(key, (uint64_t)t->type);
    put_number(key, t->quant.n);
    put_number(key, (uint64_t)(int64_t)t->quant.axis);
    base_putn(key, t->quant.scale, t->quant.n * sizeof *t->quant.scale);
    base_putn(key, t->quant.zero, t->quant.n * sizeof *t->quant.zero);
    if (with_shape) {
        put_number(key, t->shape.rank);
        base_putn(key, t->shape.dim, t->shape.rank * sizeof *t->shape.dim);
    }
    if (!contents) {
        put_number(key, t->data != NULL);
    } else if (with_shape && t->data != NULL && ir_tensor_bytes(t, &bytes) && bytes <= MOST_COPIED) {
        put_number(key, 1);
        base_putn(key, t->data, (size_t)bytes);
    } else {
        put_number(key, 2);
        put_number(key, (uint64_t)(uintptr_t)t->data);
    }
    return t->state == IR_NONE && !ir_shape_open(&t->shape);
}

bool ops_key(base_text *key, const ir_graph *g, const ir_node *n, bool outputs_known, bool contents) {
    bool fine = !ir_is_fused(n);
    put_number(key, contents);
    base_putn(key, n->op, strlen(n->op) + 1);
    put_number(key, n->attr_count);
    put_number(key, n->input_count);
    put_number(key, n->output_count);
    for (size_t i = 0; i < n->attr_count && fine; i++) {
        fine = put_attr(key, &n->attrs[i]);
    }
    for (size_t i = 0; i < n->input_count && fine; i++) {
        fine = put_tensor(key, g, n->inputs[i], true, contents);
    }
    for (size_t i = 0; i < n->output_count && fine; i++) {
        fine = put_tensor(key, g, n->outputs[i], outputs_known, contents);
    }
    return fine;
}
