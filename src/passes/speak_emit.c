/* speak_emit.c - nodes that are added to a graph while a program is said.
 *
 * Takes words, inputs and attributes. Gives nodes with the types and shapes of their definitions, or constants; only such as
 * the vocabulary has.
 */
#include <string.h>

#include "passes/speak.h"

#define LARGEST_CONSTANT ((uint64_t)1 << 28) /* bytes that are made when a file is written */

speak_mark speak_here(const speaker *s) {
    return (speak_mark){s->g->nodes.n, s->g->tensors.n, s->m->graphs.n};
}

void speak_back(speaker *s, speak_mark to) {
    s->g->nodes.n = to.nodes;
    s->g->tensors.n = to.tensors;
    s->m->graphs.n = to.graphs;
}

const ir_shape *speak_shape(const speaker *s, uint32_t t) {
    return &s->g->tensors.at[t].shape;
}

ir_node *speak_node(speaker *s, const char *word, const uint32_t *inputs, size_t n, base_type type) {
    const ir_shape none = {0};
    uint32_t *own = BASE_NEWS(s->scratch, uint32_t, n + 1);
    memcpy(own, inputs, n * sizeof *own);
    const uint32_t out = ir_tensor_add(s->m, s->g, "", type, &none);
    ir_node *node = ir_node_add(s->m, s->g, word, own, n, &out, 1, IR_NONE);
    node->ids = s->origin->ids;
    node->id_count = s->origin->id_count;
    node->byte = s->origin->byte;
    return node;
}

static bool infer(speaker *s, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(s->scratch));
    base_diags ignored = {.arena = scratch};
    ir_shape shape = {0};
    base_type type = BASE_NONE;
    uint32_t dynamic = 0;
    bool fits = ops_has(s->c->ops, n->op) &&
                ops_output_shapes(scratch, s->c->ops, s->m, s->g, n, &s->c->goal, &shape, &type, &dynamic, NULL,
                                  &ignored) == BASE_OK &&
                dynamic == 0;
    if (fits) {
        ir_tensor *t = &s->g->tensors.at[n->outputs[0]];
        t->shape = shape;
        t->type = type;
    }
    base_arena_free(scratch);
    return fits;
}

static bool all_constant(const speaker *s, const ir_node *n) {
    bool all = n->input_count > 0;
    for (size_t k = 0; k < n->input_count; k++) {
        all = all && (n->inputs[k] == IR_NONE || s->g->tensors.at[n->inputs[k]].data != NULL);
    }
    return all;
}

static bool is_said(const speaker *s, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(s->scratch));
    const bool said = passes_says(s->c, scratch, s->m, s->g, n);
    base_arena_free(scratch);
    return said;
}

static uint32_t take_back(speaker *s) {
    s->g->nodes.n--;
    s->g->tensors.n--;
    return IR_NONE;
}

uint32_t speak_done(speaker *s) {
    ir_node *n = &s->g->nodes.at[s->g->nodes.n - 1];
    const uint32_t t = n->outputs[0];
    if (!infer(s, n)) {
        return take_back(s);
    }
    if (all_constant(s, n)) {
        uint64_t bytes = 0;
        const bool done = ir_tensor_bytes(&s->g->tensors.at[t], &bytes) && bytes <= LARGEST_CONSTANT &&
                          ops_evaluate(s->c->arena, s->c->ops, s->m, s->g, n, &s->c->goal);
        s->g->nodes.n -= done;
        return done ? t : take_back(s);
    }
    return is_said(s, n) ? t : take_back(s);
}

uint32_t speak_word(speaker *s, const char *word, const uint32_t *inputs, size_t n, base_type type) {
    for (size_t k = 0; k < n; k++) {
        if (inputs[k] == IR_NONE) {
            return IR_NONE;
        }
    }
    (void)speak_node(s, word, inputs, n, type);
    return speak_done(s);
}

uint32_t speak_one(speaker *s, const char *op, uint32_t a) {
    return speak_word(s, op, &a, 1, BASE_NONE);
}

uint32_t speak_two(speaker *s, const char *op, uint32_t a, uint32_t b) {
    return speak_word(s, op, (uint32_t[]){a, b}, 2, BASE_NONE);
}

uint32_t speak_choose(speaker *s, uint32_t condition, uint32_t a, uint32_t b) {
    return speak_word(s, "select", (uint32_t[]){condition, a, b}, 3, BASE_NONE);
}

uint32_t speak_constant(speaker *s, base_type type, uint32_t rank, const int64_t *dims, const void *data) {
    const ir_shape shape = ir_shape_of(rank, dims);
    const uint32_t t = ir_tensor_add(s->m, s->g, "", type, &shape);
    uint64_t bytes = 0;
    (void)ir_tensor_bytes(&s->g->tensors.at[t], &bytes);
    void *own = base_alloc(s->c->arena, (size_t)bytes + 1, 1);
    memcpy(own, data, (size_t)bytes);
    s->g->tensors.at[t].data = own;
    return t;
}

uint32_t speak_scalar(speaker *s, base_type type, base_value v) {
    uint64_t room[2] = {0};
    base_store(type, room, 0, v);
    return speak_constant(s, type, 0, NULL, room);
}

uint32_t speak_reshape(speaker *s, uint32_t t, uint32_t rank, const int64_t *dims) {
    if (t == IR_NONE || rank > IR_MAX_RANK) {
        return IR_NONE;
    }
    const ir_shape shape = ir_shape_of(rank, dims);
    if (ir_shape_same(&shape, speak_shape(s, t))) {
        return t;
    }
    if (s->g->tensors.at[t].data != NULL) {
        const ir_tensor from = s->g->tensors.at[t];
        const uint32_t to = ir_tensor_add(s->m, s->g, from.name, from.type, &shape);
        s->g->tensors.at[to].data = from.data;
        return to;
    }
    ir_attr_ints(s->m, speak_node(s, "reshape", &t, 1, BASE_NONE), "shape", dims, rank);
    return speak_done(s);
}

uint32_t speak_transpose(speaker *s, uint32_t t, uint32_t rank, const int64_t *perm) {
    if (t == IR_NONE) {
        return IR_NONE;
    }
    int64_t dims[IR_MAX_RANK], last = -1;
    bool keeps = true, moves = false;
    for (uint32_t k = 0; k < rank; k++) {
        dims[k] = speak_shape(s, t)->dim[perm[k]];
        moves = moves || perm[k] != k;
        if (dims[k] != 1) {
            keeps = keeps && perm[k] > last;
            last = perm[k];
        }
    }
    if (!moves || keeps) {
        return speak_reshape(s, t, rank, dims);
    }
    ir_attr_ints(s->m, speak_node(s, "transpose", &t, 1, BASE_NONE), "perm", perm, rank);
    return speak_done(s);
}

enum { MOST_PADDED = 5 }; /* extents that kernels pad */

/* With neighbours that nothing is added to as one extent. */
static uint32_t pad_joined(speaker *s, uint32_t t, const int64_t *before, const int64_t *after, base_value fill) {
    const ir_shape shape = *speak_shape(s, t);
    int64_t joined[IR_MAX_RANK], low[IR_MAX_RANK], high[IR_MAX_RANK], dims[IR_MAX_RANK];
    uint32_t n = 0;
    bool plain = false; /* the last one */
    for (uint32_t k = 0; k < shape.rank; k++) {
        const bool is_plain = before[k] == 0 && after[k] == 0;
        dims[k] = before[k] + shape.dim[k] + after[k];
        if (is_plain && plain) {
            joined[n - 1] *= shape.dim[k];
        } else {
            joined[n] = shape.dim[k];
            low[n] = before[k];
            high[n++] = after[k];
        }
        plain = is_plain;
    }
    return n == shape.rank
               ? IR_NONE
               : speak_reshape(s, speak_pad(s, speak_reshape(s, t, n, joined), low, high, fill), shape.rank, dims);
}

uint32_t speak_pad(speaker *s, uint32_t t, const int64_t *before, const int64_t *after, base_value fill) {
    const uint32_t rank = t == IR_NONE ? 0 : speak_shape(s, t)->rank;
    int64_t pads[2 * IR_MAX_RANK];
    bool any = false;
    if (t == IR_NONE) {
        return IR_NONE;
    }
    const base_type type = s->g->tensors.at[t].type;
    for (uint32_t k = 0; k < rank; k++) {
        pads[2 * k] = before[k];
        pads[2 * k + 1] = after[k];
        any = any || before[k] != 0 || after[k] != 0;
    }
    if (!any) {
        return t;
    }
    const uint32_t few = rank > MOST_PADDED ? pad_joined(s, t, before, after, fill) : IR_NONE;
    if (few != IR_NONE) {
        return few;
    }
    const bool is_zero = base_type_is_float(type) ? fill.f == 0.0 : fill.i == 0;
    uint32_t inputs[2] = {t, is_zero ? IR_NONE : speak_scalar(s, type, fill)};
    ir_attr_ints(s->m, speak_node(s, "pad", inputs, is_zero ? 1 : 2, BASE_NONE), "pads", pads, 2 * (size_t)rank);
    return speak_done(s);
}

uint32_t speak_slice(speaker *s, uint32_t t, const int64_t *begin, const int64_t *strides, const int64_t *extents) {
    if (t == IR_NONE) {
        return IR_NONE;
    }
    const ir_shape shape = *speak_shape(s, t);
    bool all = true, ones = true;
    for (uint32_t k = 0; k < shape.rank; k++) {
        ones = ones && strides[k] == 1;
        all = all && begin[k] == 0 && strides[k] == 1 && extents[k] == shape.dim[k];
    }
    if (all) {
        return t;
    }
    if (ones) {
        ir_node *n = speak_node(s, "slice", &t, 1, BASE_NONE);
        ir_attr_ints(s->m, n, "begin", begin, shape.rank);
        ir_attr_ints(s->m, n, "extents", extents, shape.rank);
        const uint32_t sliced = speak_done(s);
        if (sliced != IR_NONE) {
            return sliced;
        }
    }
    ir_node *n = speak_node(s, "strided_slice", &t, 1, BASE_NONE);
    ir_attr_ints(s->m, n, "begin", begin, shape.rank);
    ir_attr_ints(s->m, n, "strides", strides, shape.rank);
    ir_attr_ints(s->m, n, "extents", extents, shape.rank);
    ir_attr_ints(s->m, n, "shape", extents, shape.rank);
    return speak_done(s);
}

uint32_t speak_broadcast(speaker *s, uint32_t t, uint32_t rank, const int64_t *dims) {
    const ir_shape shape = ir_shape_of(rank, dims);
    if (t == IR_NONE || ir_shape_same(&shape, speak_shape(s, t))) {
        return t;
    }
    ir_attr_ints(s->m, speak_node(s, "broadcast_to", &t, 1, BASE_NONE), "shape", dims, rank);
    return speak_done(s);
}
