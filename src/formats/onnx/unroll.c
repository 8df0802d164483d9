/* unroll.c - loops whose rounds are known when the file is read: each round's nodes, one after another.
 *
 * Takes loops. Gives the body's nodes in the loop's place, once for each round: so values may be sequences, and shapes may
 * change from round to round.
 */
#include "formats/onnx/loops.h"

/* Along which axis of the result the slices stand; -1: a fault, reported. */
static int64_t axis_of(const onnx_loop *l, size_t i, uint32_t rank) {
    return onnx_op_axis(l->op, "scan_output_axes", l->given[i].axis, rank + 1);
}

/* Slices one by one into a tensor; of no rounds: an empty one of the shape that the body would give. */
static uint32_t join(const onnx_loop *l, size_t i, const onnx_tensors *slices) {
    onnx_op *op = l->op;
    onnx_reader *r = op->r;
    const ir_shape shape = onnx_graph_of(r, op->scope)->tensors.at[slices->at[0]].shape;
    onnx_tensors ordered = {0};
    for (size_t k = 0; k < slices->n; k++) {
        const uint32_t slice = slices->at[l->given[i].backwards ? slices->n - 1 - k : k];
        const ir_shape *s = &onnx_graph_of(r, op->scope)->tensors.at[slice].shape;
        if (!ir_shape_same(s, &shape)) {
            onnx_op_unsupported(op,
                                base_printf(r->arena, "operator %s whose slices of output %zu are %s and %s", op->type,
                                            l->carried_count + i, ir_shape_print(r->arena, &shape),
                                            ir_shape_print(r->arena, s)),
                                "let every round give the same shape");
            return IR_NONE;
        }
        *BASE_PUSH(r->arena, &ordered) = slice;
    }
    const int64_t axis = axis_of(l, i, shape.rank);
    return axis < 0 ? IR_NONE : onnx_make_join(op, op->scope, ordered.at, ordered.n, (uint32_t)axis, true);
}

/* An empty tensor, of the type and shape of slices that a round would give: found by reading one that is then forgotten. */
static bool make_empty(const onnx_loop *l, uint32_t *out) {
    onnx_op *op = l->op;
    onnx_reader *r = op->r;
    const size_t graphs = r->m->graphs.n, symbols = r->m->symbols.n;
    onnx_scope below = onnx_scope_new(r, op->scope, onnx_below(r));
    onnx_value *carried = BASE_NEWS(r->arena, onnx_value, l->carried_count + 1);
    onnx_round round;
    for (size_t i = 0; i < l->carried_count; i++) {
        carried[i] = onnx_reach(r, &below, &l->carried[i]);
    }
    const uint32_t index = onnx_make_scalar(op, &below, BASE_I64, 0);
    bool fine = onnx_read_round(l, &below, index, carried, &round);
    for (size_t i = 0; i < l->given_count && fine; i++) {
        const ir_tensor t = onnx_graph_of(r, &below)->tensors.at[round.slices[i]];
        const int64_t axis = axis_of(l, i, t.shape.rank);
        ir_shape shape = {.rank = t.shape.rank + 1};
        fine = axis >= 0;
        for (uint32_t k = 0, from = 0; k < shape.rank && fine; k++) {
            shape.dim[k] = k == (uint32_t)axis ? 0 : t.shape.dim[from++];
        }
        out[i] = fine ? ir_tensor_add(r->m, onnx_graph_of(r, op->scope), "", t.type, &shape) : IR_NONE;
        onnx_graph_of(r, op->scope)->tensors.at[fine ? out[i] : 0].data = fine ? "" : NULL;
    }
    onnx_forget(r, graphs, symbols);
    return fine;
}

/* Is there a next round? -1: a run decides. */
static int goes_on(const onnx_loop *l, int64_t done, const onnx_value *condition) {
    if (l->rounds >= 0 && done >= l->rounds) {
        return 0;
    }
    return l->unconditional || !l->counts ? 1 : done == 0 ? l->condition : onnx_truth(l->op, l->op->scope, condition);
}

void onnx_unroll(const onnx_loop *l) {
    enum { MOST_ROUNDS = 4096 };
    onnx_op *op = l->op;
    onnx_reader *r = op->r;
    const onnx_value *carried = l->carried;
    onnx_tensors *slices = BASE_NEWS(r->arena, onnx_tensors, l->given_count + 1);
    uint32_t *joined = BASE_NEWS(r->arena, uint32_t, l->given_count + 1);
    onnx_value condition = {.tensor = IR_NONE};
    int more;
    int64_t done = 0;
    while ((more = goes_on(l, done, &condition)) == 1 && done < MOST_ROUNDS) {
        onnx_scope scope = onnx_scope_new(r, op->scope, op->scope->graph);
        onnx_round round;
        scope.id = op->id;
        const uint32_t index = onnx_make_scalar(op, &scope, BASE_I64, done++);
        if (!onnx_read_round(l, &scope, index, carried, &round)) {
            return;
        }
        carried = round.carried;
        condition = round.condition;
        for (size_t i = 0; i < l->given_count; i++) {
            *BASE_PUSH(r->arena, &slices[i]) = round.slices[i];
        }
    }
    if (more == -2) {
        return;
    }
    if (more != 0) {
        onnx_op_unsupported(op,
                            more < 0
                                ? base_printf(r->arena,
                                              "operator %s whose values change their shapes while a run decides how "
                                              "many rounds there are",
                                              op->type)
                                : base_printf(r->arena, "operator %s with more than %d rounds that change shapes",
                                              op->type, MOST_ROUNDS),
                            "let every round give what it takes");
        return;
    }
    if (!done && l->given_count && !make_empty(l, joined)) {
        return;
    }
    for (size_t i = 0; i < l->given_count && done; i++) {
        joined[i] = join(l, i, &slices[i]);
        if (joined[i] == IR_NONE) {
            return;
        }
    }
    onnx_give_results(l, carried, joined);
}
