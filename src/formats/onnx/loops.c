/* loops.c - Loop and Scan: what they take, and their rounds.
 *
 * Takes a node with a body. Gives it as an onnx_loop to while.c, or, where a run does not decide how many rounds there are and
 * values change their structure or shape, to unroll.c.
 */
#include "formats/onnx/loops.h"

#include <string.h>

/* One slice of a tensor of the scope. */
static uint32_t take(const onnx_loop *l, onnx_scope *scope, const onnx_slices *s, uint32_t index) {
    onnx_op *op = l->op;
    const onnx_value around = {.tensor = s->tensor};
    const uint32_t tensor = onnx_reach(op->r, scope, &around).tensor;
    uint32_t at = index;
    if (s->backwards) {
        const uint32_t both[] = {onnx_make_scalar(op, scope, BASE_I64, l->rounds - 1), index};
        onnx_op sub = onnx_make(op, scope, "sub", both, 2);
        at = onnx_finish(&sub);
    }
    const uint32_t inputs[] = {tensor, at};
    if (at == IR_NONE) {
        return IR_NONE;
    }
    onnx_op gather = onnx_make(op, scope, "gather", inputs, 2);
    ir_attr_int(op->r->m, gather.node, "axis", s->axis);
    ir_attr_int(op->r->m, gather.node, "from_end", 1); /* as ONNX's Gather, which says it when the model is written */
    return onnx_finish(&gather);
}

/* A scalar of the scope, as the body takes it. */
static onnx_value head_of(const onnx_loop *l, onnx_scope *scope, size_t i, uint32_t scalar) {
    onnx_value value = {.tensor = scalar};
    if (l->listed[i]) {
        const ir_tensor t = onnx_graph_of(l->op->r, scope)->tensors.at[scalar];
        const ir_shape one = ir_shape_of(1, &(int64_t){1});
        value.tensor = t.data ? ir_tensor_add(l->op->r->m, onnx_graph_of(l->op->r, scope), t.name, t.type, &one)
                              : onnx_make_reshape(l->op, scope, scalar, &one);
        if (t.data) {
            onnx_graph_of(l->op->r, scope)->tensors.at[value.tensor].data = t.data;
        }
    }
    return value;
}

bool onnx_read_round(const onnx_loop *l, onnx_scope *scope, uint32_t index, const onnx_value *carried,
                     onnx_round *round) {
    onnx_op *op = l->op;
    onnx_reader *r = op->r;
    const wire_path path = {.outer = op->path, .name = l->body->name, .index = WIRE_NO_INDEX};
    const size_t notes = formats_notes_count(r->notes), lead = l->counts ? 1 : 0;
    onnx_values inputs = {0}, outputs = {0};
    if (l->counts) { /* a round that runs has a condition that holds */
        *BASE_PUSH(r->arena, &inputs) = head_of(l, scope, 0, index);
        *BASE_PUSH(r->arena, &inputs) = head_of(l, scope, 1, onnx_make_scalar(op, scope, BASE_BOOL, 1));
    }
    for (size_t i = 0; i < l->carried_count; i++) {
        *BASE_PUSH(r->arena, &inputs) = carried[i];
    }
    for (size_t i = 0; i < l->taken_count; i++) {
        const uint32_t slice = take(l, scope, &l->taken[i], index);
        if (slice == IR_NONE) {
            return false;
        }
        *BASE_PUSH(r->arena, &inputs) = (onnx_value){.tensor = slice};
    }
    if (!onnx_read_body(r, &path, l->body->message, scope, inputs.at, inputs.n, &outputs) ||
        formats_notes_count(r->notes) != notes) {
        return false;
    }
    if (outputs.n != lead + l->carried_count + l->given_count) {
        onnx_op_error(op, "its body gives %zu outputs: expected %zu", outputs.n,
                      lead + l->carried_count + l->given_count);
        return false;
    }
    *round = (onnx_round){.condition = l->counts ? outputs.at[0] : (onnx_value){.tensor = IR_NONE},
                          .carried = outputs.at + lead};
    round->slices = BASE_NEWS(r->arena, uint32_t, l->given_count + 1);
    for (size_t i = 0; i < l->given_count; i++) {
        const onnx_value *v = &outputs.at[lead + l->carried_count + i];
        if (v->kind != ONNX_A_TENSOR || v->tensor == IR_NONE) {
            onnx_op_error(op, "output %zu of its body is %s: expected a tensor", lead + l->carried_count + i,
                          onnx_value_print(r, scope, v));
            return false;
        }
        round->slices[i] = v->tensor;
    }
    return true;
}

void onnx_give_results(const onnx_loop *l, const onnx_value *carried, const uint32_t *slices) {
    for (size_t i = 0; i < l->op->output_count; i++) {
        const onnx_value slice = {.tensor = i < l->carried_count ? IR_NONE : slices[i - l->carried_count]};
        onnx_give_value(l->op, i, i < l->carried_count ? &carried[i] : &slice);
    }
}

bool onnx_read_outline(onnx_loop *l) {
    onnx_reader *r = l->op->r;
    const wire_path path = {.outer = l->op->path, .name = l->body->name, .index = WIRE_NO_INDEX};
    const size_t lead = (l->counts ? 1 : 0) + l->carried_count;
    wire_message m = l->body->message;
    wire_pb_field f;
    size_t n = 0, inputs = 0;
    while (wire_pb_next(&r->pb, &path, &m, &f)) {
        n += f.number == ONNX_GRAPH_OUTPUT;
        if (f.number == ONNX_GRAPH_INPUT && inputs < 2 && l->counts) {
            const wire_path place = {.outer = &path, .name = "input", .index = (int64_t)inputs};
            const char *dims[IR_MAX_RANK];
            ir_tensor t;
            l->listed[inputs++] =
                onnx_read_value(r, &place, wire_pb_message(&r->pb, &place, &f), &t, dims) && t.shape.rank == 1;
        }
    }
    if (!onnx_op_failed(l->op) && (n < lead || l->op->output_count > n - (l->counts ? 1 : 0))) {
        onnx_op_error(l->op, "its body gives %zu outputs, for %zu carried values and %zu outputs of the node", n,
                      l->carried_count, l->op->output_count);
    }
    l->given_count = n < lead ? 0 : n - lead;
    return !onnx_op_failed(l->op);
}

/* ---- which way ---- */

void onnx_read_rounds(const onnx_loop *l) {
    onnx_reader *r = l->op->r;
    const bool can_unroll = l->limit == IR_NONE && l->condition != -1;
    if (!can_unroll) {
        (void)onnx_while(l);
        return;
    }
    if (l->rounds != 0 && l->rounds != 1) {
        const size_t graphs = r->m->graphs.n, symbols = r->m->symbols.n;
        formats_notes *notes = r->notes;
        r->notes = formats_notes_new(r->arena, r->file); /* what is not supported so may be so round by round */
        const bool done = onnx_while(l);
        r->notes = notes;
        if (done || onnx_op_failed(l->op)) {
            return;
        }
        onnx_forget(r, graphs, symbols);
    }
    onnx_unroll(l);
}

/* ---- Loop ---- */

/* A scalar of a tensor with one element; IR_NONE: a fault, or noted. */
static uint32_t scalar_of(onnx_op *op, size_t input, base_type type) {
    const ir_tensor *t = onnx_op_input(op, input);
    const ir_shape scalar = {0};
    uint64_t elements = 0;
    if (t->type != type || !ir_shape_elements(&t->shape, &elements) || elements != 1) {
        onnx_op_error(op, "input %zu is %s: expected one %s", input,
                      onnx_value_print(op->r, op->scope, &op->values[input]), base_type_name(type));
        return IR_NONE;
    }
    return t->shape.rank ? onnx_make_reshape(op, op->scope, op->inputs[input], &scalar) : op->inputs[input];
}

void onnx_read_loop(onnx_op *op) {
    onnx_reader *r = op->r;
    onnx_loop l = {.op = op, .counts = true, .rounds = -1, .limit = IR_NONE, .condition = 1, .first = IR_NONE};
    l.body = onnx_op_attr(op, "body", ONNX_GRAPH);
    if (!l.body) {
        onnx_op_error(op, "body: it is absent, and the operator needs it");
        return;
    }
    l.unconditional = !onnx_op_has_input(op, 1);
    if (onnx_op_has_input(op, 0)) {
        l.limit = scalar_of(op, 0, BASE_I64);
        if (l.limit == IR_NONE) {
            return;
        }
        const void *data = onnx_contents_of(r, op->scope->graph, l.limit);
        if (data) {
            const int64_t limit = base_load(BASE_I64, data, 0).i;
            l.rounds = limit < 0 ? 0 : limit;
            l.limit = IR_NONE;
        }
    }
    if (onnx_op_has_input(op, 1)) {
        l.first = scalar_of(op, 1, BASE_BOOL);
        if (l.first == IR_NONE) {
            return;
        }
        const onnx_value first = {.tensor = l.first};
        l.condition = onnx_truth(op, op->scope, &first);
        l.rounds = l.condition == 0 ? 0 : l.rounds;
    }
    l.carried = op->values + 2;
    l.carried_count = op->input_count < 2 ? 0 : op->input_count - 2;
    if (onnx_read_outline(&l)) {
        l.given = BASE_NEWS(r->arena, onnx_slices, l.given_count + 1); /* along axis 0, from the front */
        onnx_read_rounds(&l);
    }
}
