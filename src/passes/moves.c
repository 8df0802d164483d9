/* moves.c - operators that move nothing, or only once more.
 *
 * Takes operators whose definition copies all elements of one input in their order (reshapes, transposes of extents of 1,
 * slices of everything, a concatenation of one, conversions to the same type ...): found in the definition, by no name.
 * Where the output's shape is the input's, too, it vanishes; else it becomes a reshape, which costs no code. Reshapes of
 * reshapes and transposes of transposes become one.
 */
#include <string.h>

#include "passes/passes_private.h"

#define LARGEST_CONSTANT 16u /* elements of an input that says where to move: a copy has no need of more */

/* Could it be a copy? Cheap: most operators are not. */
static bool may_be_copy(const passes_edit *e, const ir_node *n, size_t *input) {
    size_t unknown = 0;
    if (n->output_count != 1 || n->input_count == 0 || ir_control_of(n) != IR_PLAIN) {
        return false;
    }
    for (size_t k = 0; k < n->input_count; k++) {
        const ir_tensor *t = n->inputs[k] != IR_NONE ? &e->g->tensors.at[passes_now(e, n->inputs[k])] : NULL;
        uint64_t elements = 0;
        if (t == NULL || (t->data != NULL && ir_shape_elements(&t->shape, &elements) && elements <= LARGEST_CONSTANT)) {
            continue;
        }
        unknown++;
        *input = k;
    }
    const ir_tensor *from = &e->g->tensors.at[passes_now(e, n->inputs[*input])], *to = &e->g->tensors.at[n->outputs[0]];
    uint64_t a = 0, b = 0;
    return unknown == 1 && from->data == NULL && from->type == to->type && from->state == IR_NONE &&
           to->state == IR_NONE && passes_is_fixed(&from->shape) && passes_is_fixed(&to->shape) &&
           ir_shape_elements(&from->shape, &a) && ir_shape_elements(&to->shape, &b) && a == b;
}

static bool is_copy(const passes_edit *e, const ir_node *n, size_t input) {
    base_arena *scratch = base_arena_new(base_arena_memory(e->c->arena));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    uint32_t copied = IR_NONE;
    bool is = ops_instantiate(scratch, e->c->ops, e->m, e->g, n, &e->c->goal, &p, &ignored) == BASE_OK &&
              p->stages.n == 1 && lang_at(p, p->stages.at[0].body)->kind == LANG_READ;
    is = is && (lang_is_copy(p, &copied) || lang_is_copy(lang_simplify(scratch, p), &copied)) && copied == input;
    base_arena_free(scratch);
    return is;
}

static void become_reshape(passes_edit *e, ir_node *n, size_t input) {
    const ir_shape *shape = &e->g->tensors.at[n->outputs[0]].shape;
    for (size_t k = 0; k < n->input_count; k++) {
        uint32_t t = passes_now(e, n->inputs[k]);
        if (k != input && t != IR_NONE && t < e->tensors) {
            e->uses[t]--;
        }
    }
    passes_become(e->c, n, "reshape", &n->inputs[input], 1);
    ir_attr_ints(e->m, n, "shape", shape->dim, shape->rank);
}

/* The node `before` makes what only n reads: n does the work of both. */
static void skip(passes_edit *e, ir_node *n, ir_node *before) {
    uint32_t between = passes_now(e, n->inputs[0]);
    bool alone = passes_single(e, between);
    passes_rewire(e, n, 0, passes_now(e, before->inputs[0]));
    if (alone) {
        passes_join_ids(e->c, n, before, n);
        e->gone[before - e->g->nodes.at] = true;
        e->uses[passes_now(e, before->inputs[0])]--;
    }
}

static bool reads_value(const passes_edit *e, const ir_node *n) {
    return n->input_count == 1 && n->inputs[0] != IR_NONE && n->output_count == 1 &&
           e->g->tensors.at[passes_now(e, n->inputs[0])].state == IR_NONE &&
           e->g->tensors.at[n->outputs[0]].state == IR_NONE && passes_is_fixed(&e->g->tensors.at[n->outputs[0]].shape);
}

static void move(passes_edit *e, size_t i) {
    ir_node *n = &e->g->nodes.at[i];
    size_t input = 0;
    bool is = strcmp(n->op, "reshape") == 0 && reads_value(e, n);
    if (!is && may_be_copy(e, n, &input)) {
        is = is_copy(e, n, input);
        if (is && ir_quant_same(&e->g->tensors.at[passes_now(e, n->inputs[input])].quant,
                                &e->g->tensors.at[n->outputs[0]].quant)) {
            become_reshape(e, n, input);
        } else {
            is = false;
        }
    }
    if (!is) {
        return;
    }
    ir_node *before = passes_producer(e, n, 0);
    if (before != NULL && strcmp(before->op, "reshape") == 0 && reads_value(e, before)) {
        skip(e, n, before);
    }
    (void)passes_vanish(e, i, passes_now(e, n->inputs[0]));
}

/* Output extent i of the second is extent second[i] of the first's output, so extent first[second[i]] of its input. */
static void join_transposes(passes_edit *e, size_t i) {
    ir_node *n = &e->g->nodes.at[i], *before = passes_producer(e, n, 0);
    if (e->gone[i] || before == NULL || strcmp(n->op, "transpose") != 0 || strcmp(before->op, "transpose") != 0 ||
        !reads_value(e, n) || !reads_value(e, before)) {
        return;
    }
    const ir_attr *first = ir_attr_find(before, "perm"), *second = ir_attr_find(n, "perm");
    int64_t perm[IR_MAX_RANK] = {0};
    bool fits = first != NULL && second != NULL && first->kind == IR_INTS && second->kind == IR_INTS &&
                first->n == second->n && first->n <= IR_MAX_RANK;
    for (size_t k = 0; fits && k < first->n; k++) {
        fits = second->v.ints[k] >= 0 && second->v.ints[k] < (int64_t)first->n;
        perm[k] = fits ? first->v.ints[second->v.ints[k]] : 0;
    }
    if (!fits ||
        !ir_quant_same(&e->g->tensors.at[passes_now(e, n->inputs[0])].quant, &e->g->tensors.at[n->outputs[0]].quant)) {
        return;
    }
    ir_attr_ints(e->m, n, "perm", perm, first->n);
    skip(e, n, before);
}

static void join_and_move(passes_edit *e, size_t i) {
    join_transposes(e, i);
    move(e, i);
}

base_status passes_moves(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    passes_each_node(c, m, join_and_move);
    return BASE_OK;
}
