/* steps_states.c - the dictionary's steps for tensors that are more than values: variable tensors, which are states, the
 * intermediates that say how a recurrent operator quantises inside, and complex numbers.
 *
 * Takes an operator whose tensors are verified, or a node. TFLite lists a state among the inputs alone; the node has it
 * among its outputs too, since it changes it.
 */
#include "formats/tflite/steps.h"

/* ---- STATES ---- */

/* A state that the caller gives, an input of the sub-graph, changes nothing that lasts: its next contents go nowhere. */
static uint32_t written(tflite_op *op, uint32_t tensor) {
    const ir_tensor *t = &op->r->g->tensors.at[tensor];
    if (t->state != IR_NONE) {
        return tensor;
    }
    base_type type = t->type;
    ir_shape shape = t->shape;
    ir_quant quant = t->quant;
    uint32_t to = ir_tensor_add(op->r->m, op->r->g, base_printf(op->r->arena, "%s next", t->name), type, &shape);
    op->r->g->tensors.at[to].quant = quant;
    return to;
}

static void make_states(tflite_op *op, const tflite_step *step) {
    ir_node *n = op->node;
    size_t count = n->output_count + (size_t)step->b;
    uint32_t *outputs = BASE_NEWS(op->r->arena, uint32_t, count);
    for (size_t i = 0; i < n->output_count; i++) {
        outputs[i] = n->outputs[i];
    }
    for (size_t i = 0; i < (size_t)step->b; i++) {
        size_t input = (size_t)step->a + i;
        if (input >= op->input_count || op->inputs[input] == IR_NONE) {
            tflite_op_error(op, "input %zu, which is its state, is absent", input);
            return;
        }
        outputs[n->output_count + i] = written(op, op->inputs[input]);
    }
    n->outputs = outputs;
    n->output_count = count;
}

/* Where the row's states begin among the node's outputs. */
static size_t first_state(const tflite_out *out) {
    size_t states = 0;
    for (size_t i = 0; i < TFLITE_MOST_STEPS && out->word->steps[i].kind; i++) {
        states += out->word->steps[i].kind == &tflite_step_states ? (size_t)out->word->steps[i].b : 0;
    }
    return states < out->node->output_count ? out->node->output_count - states : 0;
}

/* What a state that the caller gives would be next: no node reads it. */
static bool goes_nowhere(const tflite_out *out, uint32_t tensor) {
    for (size_t i = 0; i < out->g->outputs.n; i++) {
        if (out->g->outputs.at[i] == tensor) {
            return false;
        }
    }
    for (size_t i = 0; i < out->g->nodes.n; i++) {
        const ir_node *n = &out->g->nodes.at[i];
        for (size_t k = 0; k < n->input_count; k++) {
            if (n->inputs[k] == tensor) {
                return false;
            }
        }
    }
    return out->g->tensors.at[tensor].state == IR_NONE;
}

static void put_states(tflite_out *out, const tflite_step *step) {
    const ir_node *n = out->node;
    size_t at = first_state(out) + out->states;
    for (size_t i = 0; i < (size_t)step->b; i++) {
        size_t input = (size_t)step->a + i;
        if (input >= n->input_count || n->inputs[input] == IR_NONE || at + i >= n->output_count) {
            tflite_out_cannot(out, "its input %zu, which is its state, is absent", input);
        } else if (n->outputs[at + i] != n->inputs[input] && !goes_nowhere(out, n->outputs[at + i])) {
            tflite_out_cannot(out, "its state is another tensor among the outputs than among the inputs");
        }
    }
    out->states += (size_t)step->b;
}

const tflite_step_kind tflite_step_states = {"STATES", make_states, put_states};

/* ---- KEEPS, HOLDS ---- */

static uint32_t *with(tflite_op *op, const uint32_t *list, size_t n, uint32_t last) {
    uint32_t *longer = BASE_NEWS(op->r->arena, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        longer[i] = list[i];
    }
    longer[n] = last;
    return longer;
}

/* A state that TFLite's operator does not list: the node's next input and output. */
static void keep(tflite_op *op, const char *name, base_type type, const ir_shape *shape, const ir_quant *quant) {
    ir_model *m = op->r->m;
    uint32_t state = ir_state_add(m, name, type, shape);
    uint32_t tensor = ir_tensor_add(m, op->r->g, name, type, shape);
    m->states.at[state].quant = op->r->g->tensors.at[tensor].quant = *quant;
    op->r->g->tensors.at[tensor].state = state;
    op->inputs = with(op, op->inputs, op->input_count++, tensor);
    op->node->inputs = with(op, op->inputs, op->input_count - 1, tensor);
    op->node->input_count = op->input_count;
    op->node->outputs = with(op, op->node->outputs, op->node->output_count++, tensor);
}

static void make_keeps(tflite_op *op, const tflite_step *step) {
    const ir_tensor like = *tflite_op_output(op, (size_t)step->a);
    keep(op, base_printf(op->r->arena, "%s/state", like.name), like.type, &like.shape, &like.quant);
}

static void make_holds(tflite_op *op, const tflite_step *step) {
    enum { MOST = 4 };
    base_type types[MOST];
    ir_shape shapes[MOST];
    const char *first = tflite_op_output(op, 0)->name;
    const size_t count = (size_t)step->a < MOST ? (size_t)step->a : MOST;
    if (ops_more_inputs(op->r->arena, tflite_definitions(op->r), op->r->m, op->r->g, op->node, NULL, count, types,
                        shapes, op->r->d) != BASE_OK) {
        op->r->fb.failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        keep(op, base_printf(op->r->arena, i ? "%s/state %zu" : "%s/state", first, i), types[i], &shapes[i],
             &(ir_quant){0});
    }
}

/* The last `count` inputs are states, and the last outputs the same. That nothing else knows them, and what they begin with, is the
 * model's matter: tflite_say_states. */
static void put_kept(tflite_out *out, size_t count) {
    const ir_node *n = out->node;
    for (size_t i = 1; i <= count && !out->why; i++) {
        const uint32_t tensor = i <= n->input_count ? n->inputs[n->input_count - i] : IR_NONE;
        if (tensor == IR_NONE || out->g->tensors.at[tensor].state == IR_NONE || i > n->output_count ||
            n->outputs[n->output_count - i] != tensor) {
            tflite_out_cannot(out, "what it keeps between runs is no state of its own");
        }
    }
    out->states = out->kept = count;
}

static void put_keeps(tflite_out *out, const tflite_step *step) {
    (void)step;
    put_kept(out, 1);
}

static void put_holds(tflite_out *out, const tflite_step *step) {
    put_kept(out, (size_t)step->a);
}

const tflite_step_kind tflite_step_keeps = {"KEEPS", make_keeps, put_keeps};
const tflite_step_kind tflite_step_holds = {"HOLDS", make_holds, put_holds};

/* ---- INTERMEDIATES ---- */

enum { GATES = 4, HIDDEN = 4 };

static double scale_of(const tflite_op *op, size_t i) {
    const ir_quant *q = &op->r->g->tensors.at[op->mids[i]].quant;
    return q->n == 1 ? (double)q->scale[0] : 0;
}

/* The scales of the gates count where there is layer normalisation; elsewhere they are fixed. */
static void make_intermediates(tflite_op *op, const tflite_step *step) {
    (void)step;
    if (!base_type_is_int(tflite_op_input(op, 0)->type) || op->mid_count <= HIDDEN) {
        return;
    }
    const ir_quant *hidden = &op->r->g->tensors.at[op->mids[HIDDEN]].quant;
    ir_attr_float(op->r->m, op->node, "hidden_scale", scale_of(op, HIDDEN));
    ir_attr_int(op->r->m, op->node, "hidden_zero", hidden->n == 1 ? hidden->zero[0] : 0);
    double gates[GATES];
    bool all = true;
    for (size_t i = 0; i < GATES; i++) {
        gates[i] = scale_of(op, i);
        all = all && gates[i] > 0;
    }
    if (all) {
        ir_attr_floats(op->r->m, op->node, "gate_scales", gates, GATES);
    }
}

static const ir_attr *find(const tflite_out *out, const char *name, ir_attr_kind kind) {
    const ir_attr *a = ir_attr_find(out->node, name);
    return a && a->kind == kind ? a : NULL;
}

static void put_intermediates(tflite_out *out, const tflite_step *step) {
    (void)step;
    if (!find(out, "hidden_scale", IR_FLOAT) && !find(out, "gate_scales", IR_FLOATS)) {
        return;
    }
    const ir_attr *scale = tflite_out_attr(out, "hidden_scale", IR_FLOAT);
    const ir_attr *zero = tflite_out_attr(out, "hidden_zero", IR_INT);
    const ir_attr *gates = find(out, "gate_scales", IR_FLOATS) ? tflite_out_attr(out, "gate_scales", IR_FLOATS) : NULL;
    if (!scale || !zero) {
        return;
    }
    if (gates && gates->n != GATES) {
        tflite_out_cannot(out, "gate_scales has %zu values: TFLite has %d", gates->n, GATES);
        return;
    }
    for (size_t i = 0; i < GATES; i++) {
        *BASE_PUSH(out->arena, &out->mids) =
            (tflite_mid){gates ? BASE_I16 : BASE_F32, gates ? (float)gates->v.floats[i] : 0, 0};
    }
    *BASE_PUSH(out->arena, &out->mids) = (tflite_mid){tflite_out_input(out, 0)->type, (float)scale->v.f, zero->v.i};
}

const tflite_step_kind tflite_step_intermediates = {"INTERMEDIATES", make_intermediates, put_intermediates};

/* ---- COMPLEX ---- */

static void make_complex(tflite_op *op, const tflite_step *step) {
    uint32_t t = step->a >= 0 ? op->inputs[step->a] : op->outputs[step->b];
    if (t >= op->r->tensor_count || !op->r->is_complex[t]) {
        tflite_op_error(op, "its %s has type %s: expected COMPLEX64", step->a >= 0 ? "input" : "output",
                        base_type_name(op->r->g->tensors.at[t].type));
    }
}

static void put_complex(tflite_out *out, const tflite_step *step) {
    uint32_t t = step->a >= 0 ? out->node->inputs[step->a] : out->node->outputs[step->b];
    const ir_tensor *x = &out->g->tensors.at[t];
    if (x->type != BASE_F32 || !x->shape.rank || x->shape.dim[x->shape.rank - 1] != 2) {
        tflite_out_cannot(out, "its complex numbers are no pairs of floats in a last extent of 2");
    }
    out->complex = t + 1;
}

const tflite_step_kind tflite_step_complex = {"COMPLEX", make_complex, put_complex};
