/* speak_named.c - operators that the format has in a narrower form.
 *
 * Takes a node whose word the format has, but not with these attributes. Gives the same word as the format's kernels have it, with moves, casts and
 * signs around: the places of the largest without the extent of 1, the largest k of the last extent, places that are not zero by
 * rows and what stands there, a GELU of a sum. Anything else is said from its definition, which for these is many operators, or none.
 */
#include <string.h>

#include "passes/speak.h"

static int64_t attribute(const ir_node *n, const char *name, int64_t absent) {
    const ir_attr *a = ir_attr_find(n, name);
    return a != NULL && a->kind == IR_INT ? a->v.i : absent;
}

/* ---- the place of the largest ---- */

static bool say_arg(speaker *s, const ir_node *n, uint32_t *found) {
    const ir_tensor to = s->g->tensors.at[n->outputs[0]];
    if (attribute(n, "select_last", 0) != 0 || n->input_count != 1) {
        return false;
    }
    ir_node *own = speak_node(s, n->op, n->inputs, 1, to.type);
    ir_attr_int(s->m, own, "axis", attribute(n, "axis", 0));
    found[0] = speak_reshape(s, speak_done(s), to.shape.rank, to.shape.dim);
    return found[0] != IR_NONE;
}

/* ---- the k largest ---- */

/* What is least becomes what is largest: of integers -1 - x, which has no overflow. */
static uint32_t turned(speaker *s, uint32_t t) {
    if (t == IR_NONE) {
        return IR_NONE;
    }
    const base_type type = s->g->tensors.at[t].type;
    return base_type_is_float(type) ? speak_word(s, "neg", &t, 1, BASE_NONE)
                                    : speak_word(s, "sub", (uint32_t[]){speak_number(s, type, -1), t}, 2, BASE_NONE);
}

/* Along the last extent: values, and places in i32. */
static bool say_largest(speaker *s, const ir_node *n, uint32_t x, int64_t k, uint32_t *found) {
    const ir_tensor from = s->g->tensors.at[x];
    ir_shape shape = from.shape;
    shape.dim[shape.rank - 1] = k;
    uint32_t *own = BASE_NEWS(s->scratch, uint32_t, 1);
    own[0] = x;
    found[0] = ir_tensor_add(s->m, s->g, "", from.type, &shape);
    found[1] = ir_tensor_add(s->m, s->g, "", BASE_I32, &shape);
    ir_node *node = ir_node_add(s->m, s->g, "topk", own, 1, found, 2, IR_NONE);
    node->ids = n->ids;
    node->id_count = n->id_count;
    node->byte = n->byte;
    ir_attr_int(s->m, node, "k", k);
    return passes_says(s->c, s->scratch, s->m, s->g, node);
}

static bool say_topk(speaker *s, const ir_node *n, uint32_t *found) {
    const ir_shape shape = s->g->tensors.at[n->inputs[0]].shape;
    const uint32_t behind = (uint32_t)attribute(n, "behind", 0);
    const bool largest = attribute(n, "largest", 1) != 0;
    int64_t perm[IR_MAX_RANK], back[IR_MAX_RANK];
    if (shape.rank == 0 || behind >= shape.rank || n->output_count != 2 || n->input_count != 1) {
        return false;
    }
    const uint32_t axis = shape.rank - 1 - behind;
    for (uint32_t k = 0; k < shape.rank; k++) {
        perm[k] = k < axis ? k : k + 1 < shape.rank ? k + 1 : axis;
        back[perm[k]] = k;
    }
    uint32_t x = speak_transpose(s, n->inputs[0], shape.rank, perm);
    x = largest ? x : turned(s, x);
    if (x == IR_NONE || s->g->tensors.at[x].data != NULL || !say_largest(s, n, x, attribute(n, "k", 0), found)) {
        return false;
    }
    found[0] = speak_transpose(s, largest ? found[0] : turned(s, found[0]), shape.rank, back);
    found[1] = speak_transpose(s, speak_cast(s, found[1], s->g->tensors.at[n->outputs[1]].type), shape.rank, back);
    return found[0] != IR_NONE && found[1] != IR_NONE;
}

/* ---- places that a run decides ---- */

/* Tensor `made` has the places where x is not zero, by rows. */
static bool say_where(speaker *s, const ir_node *n, uint32_t x, uint32_t made) {
    ir_graph *g = s->g;
    uint32_t *own = BASE_NEWS(s->m->arena, uint32_t, 1);
    own[0] = x;
    ir_node *where = ir_node_add(s->m, g, "where", own, 1, &made, 1, IR_NONE);
    if (!passes_says(s->c, s->scratch, s->m, g, where)) { /* any type can be cast to conditions */
        g->nodes.n--;
        own[0] = speak_cast(s, x, BASE_BOOL);
        where = ir_node_add(s->m, g, "where", own, 1, &made, 1, IR_NONE);
        if (own[0] == IR_NONE || !passes_says(s->c, s->scratch, s->m, g, where)) {
            return false;
        }
    }
    where->ids = n->ids;
    where->id_count = n->id_count;
    where->byte = n->byte;
    return true;
}

/* By rows, and turned: how many, a run decides, so that the tensor between has the symbol of the output. */
static bool say_nonzero(speaker *s, const ir_node *n) {
    static const int64_t turn[] = {1, 0};
    ir_graph *g = s->g;
    const ir_tensor to = g->tensors.at[n->outputs[0]];
    ir_shape rows = to.shape;
    if (speak_shape(s, n->inputs[0])->rank == 0) {
        return false;
    }
    for (uint32_t k = 0; k < 2; k++) {
        rows.dim[k] = to.shape.dim[1 - k];
        rows.symbol[k] = to.shape.symbol[1 - k];
    }
    const uint32_t made = ir_tensor_add(s->m, g, to.name, to.type, &rows);
    if (!say_where(s, n, n->inputs[0], made)) {
        return false;
    }
    passes_convert(s->m, g, "transpose", made, n->outputs[0], n);
    ir_attr_ints(s->m, &g->nodes.at[g->nodes.n - 1], "perm", turn, 2);
    return true;
}

/* The slices of x along an axis for which the condition holds, into the node's output. */
static bool say_kept(speaker *s, const ir_node *n, uint32_t x, uint32_t condition, uint32_t axis) {
    ir_graph *g = s->g;
    const ir_tensor to = g->tensors.at[n->outputs[0]];
    int64_t perm[IR_MAX_RANK], back[IR_MAX_RANK];
    ir_shape first = to.shape, rows = ir_shape_of(2, (const int64_t[]){to.shape.dim[axis], 1});
    for (uint32_t k = 0; k < to.shape.rank; k++) {
        perm[k] = k == 0 ? axis : k <= axis ? k - 1 : k;
        back[perm[k]] = k;
        first.dim[k] = to.shape.dim[perm[k]];
        first.symbol[k] = to.shape.symbol[perm[k]];
    }
    rows.symbol[0] = to.shape.symbol[axis];
    x = speak_transpose(s, x, to.shape.rank, perm);
    if (x == IR_NONE || condition == IR_NONE || g->tensors.at[condition].data != NULL) {
        return false;
    }
    uint32_t *own = BASE_NEWS(s->m->arena, uint32_t, 2);
    own[0] = x;
    own[1] = ir_tensor_add(s->m, g, "", BASE_I64, &rows);
    if (!say_where(s, n, condition, own[1])) {
        return false;
    }
    const uint32_t made = axis == 0 ? n->outputs[0] : ir_tensor_add(s->m, g, to.name, to.type, &first);
    ir_node *gather = ir_node_add(s->m, g, "gather_nd", own, 2, &made, 1, IR_NONE);
    gather->ids = n->ids;
    gather->id_count = n->id_count;
    gather->byte = n->byte;
    const bool says = passes_says(s->c, s->scratch, s->m, g, gather);
    if (says && axis != 0) {
        passes_convert(s->m, g, "transpose", made, n->outputs[0], n);
        ir_attr_ints(s->m, &g->nodes.at[g->nodes.n - 1], "perm", back, to.shape.rank);
    }
    return says;
}

/* Of the first C slices the numbers are below C. */
static bool say_leading(speaker *s, const ir_node *n) {
    int64_t count = speak_shape(s, n->inputs[0])->dim[0];
    int64_t *numbers = BASE_NEWS(s->scratch, int64_t, (size_t)count + 1);
    for (int64_t k = 0; k < count; k++) {
        base_store(BASE_I64, numbers, (uint64_t)k, (base_value){.i = k});
    }
    const uint32_t below = speak_two(s, "less", speak_constant(s, BASE_I64, 1, &count, numbers), n->inputs[1]);
    return say_kept(s, n, n->inputs[0], below, 0);
}

/* A condition that is longer than the axis counts no further. */
static bool say_compress(speaker *s, const ir_node *n) {
    uint32_t x = n->inputs[0], condition = n->inputs[1];
    int64_t count = 1;
    const ir_attr *axis = ir_attr_find(n, "axis");
    if (axis == NULL) {
        for (uint32_t k = 0; k < speak_shape(s, x)->rank; k++) {
            count *= speak_shape(s, x)->dim[k];
        }
        x = speak_reshape(s, x, 1, &count);
    } else {
        count = speak_shape(s, x)->dim[axis->v.i];
    }
    if (speak_shape(s, condition)->dim[0] > count) {
        condition = speak_slice(s, condition, (const int64_t[]){0}, (const int64_t[]){1}, &count);
    }
    return say_kept(s, n, x, condition, axis != NULL ? (uint32_t)axis->v.i : 0);
}

bool speak_places(speaker *s, const ir_node *n) {
    static const struct {
        const char *word;
        size_t inputs;
        bool (*say)(speaker *s, const ir_node *n);
    } words[] = {{"nonzero", 1, say_nonzero}, {"leading", 2, say_leading}, {"compress", 2, say_compress}};
    const speak_mark mark = speak_here(s);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        bool fits = strcmp(words[i].word, n->op) == 0 && n->input_count == words[i].inputs &&
                    s->g->tensors.at[n->outputs[0]].state == IR_NONE;
        for (size_t k = 0; fits && k < n->input_count; k++) {
            const ir_tensor *t = n->inputs[k] != IR_NONE ? &s->g->tensors.at[n->inputs[k]] : NULL;
            fits = t != NULL && t->state == IR_NONE && t->quant.n == 0 && passes_is_fixed(&t->shape);
        }
        if (fits && words[i].say(s, n)) {
            return true;
        }
        speak_back(s, mark);
    }
    return false;
}

/* ---- a unit of the sum with a row ---- */

static bool say_gelu_of_sum(speaker *s, const ir_node *n, uint32_t *found) {
    const bool has_row = n->input_count > 1 && n->inputs[1] != IR_NONE;
    const uint32_t x = has_row ? speak_word(s, "add", n->inputs, 2, BASE_NONE) : n->inputs[0];
    if (x == IR_NONE) {
        return false;
    }
    ir_attr_int(s->m, speak_node(s, "gelu", &x, 1, BASE_NONE), "approximate", attribute(n, "approximate", 0));
    found[0] = speak_done(s);
    return found[0] != IR_NONE;
}

bool speak_named(speaker *s, const ir_node *n, uint32_t *found) {
    static const struct {
        const char *word;
        bool (*say)(speaker *s, const ir_node *n, uint32_t *found);
    } words[] = {{"arg_max", say_arg}, {"arg_min", say_arg}, {"topk", say_topk}, {"bias_gelu", say_gelu_of_sum}};
    const speak_mark mark = speak_here(s);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, n->op) == 0 && words[i].say(s, n, found)) {
            return true;
        }
        speak_back(s, mark);
    }
    return false;
}
