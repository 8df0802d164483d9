/* steps_ms.c - steps for operators of com.microsoft, which say in inputs and attributes of their own what Burin's definitions
 * have elsewhere (words.def says what each does).
 */
#include "formats/onnx/steps.h"

#include <string.h>

/* The inputs in another order: digit k of the text is the number of the one that comes k-th. The last step of a row. */
static void make_order(onnx_op *op, const onnx_step *s) {
    uint32_t *inputs = BASE_NEWS(op->r->arena, uint32_t, op->input_count + 1);
    for (size_t k = 0; k < op->input_count; k++) {
        inputs[k] = op->inputs[s->text[k] - '0'];
    }
    op->inputs = inputs;
}
static void put_order(onnx_out *out, const onnx_step *s) {
    const size_t n = strlen(s->text);
    uint32_t *inputs = BASE_NEWS(out->arena, uint32_t, n + 1);
    if (out->input_count != n || out->made.n) {
        onnx_out_cannot(out, "it has %zu inputs", out->input_count);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        inputs[s->text[k] - '0'] = out->inputs[k];
    }
    out->inputs = inputs;
}
const onnx_step_kind onnx_step_order = {"ORDER", make_order, put_order};

/* An input that the definition has there, and the operator has not: those behind it move. The last step of a row. */
static void make_absent(onnx_op *op, const onnx_step *s) {
    if (op->input_count <= (size_t)s->a) {
        return;
    }
    uint32_t *inputs = BASE_NEWS(op->r->arena, uint32_t, op->input_count + 2);
    bool *dropped = BASE_NEWS(op->r->arena, bool, op->input_count + 2);
    for (size_t k = 0; k <= op->input_count; k++) {
        const bool before = k < (size_t)s->a;
        inputs[k] = k == (size_t)s->a ? IR_NONE : op->inputs[before ? k : k - 1];
        dropped[k] = k != (size_t)s->a && op->dropped[before ? k : k - 1];
    }
    op->inputs = inputs;
    op->dropped = dropped;
    op->input_count++;
}
static void put_absent(onnx_out *out, const onnx_step *s) {
    const size_t at = (size_t)s->a;
    if (out->input_count <= at) {
        return;
    }
    if (out->inputs[at] != IR_NONE || out->made.n) {
        onnx_out_cannot(out, "%s has no input like its input %zu", out->word->op, at);
        return;
    }
    uint32_t *inputs = BASE_NEWS(out->arena, uint32_t, out->input_count);
    memcpy(inputs, out->inputs, at * sizeof *inputs);
    memcpy(inputs + at, out->inputs + at + 1, (out->input_count - at - 1) * sizeof *inputs);
    out->inputs = inputs;
    out->input_count--;
}
const onnx_step_kind onnx_step_absent = {"ABSENT", make_absent, put_absent};

/* QLinearConcat: scale and zero point of the output, then tensors, each with its own. */
static void make_triples(onnx_op *op, const onnx_step *s) {
    const size_t n = op->input_count / 3;
    double *scales = BASE_NEWS(op->r->arena, double, n + 1);
    int64_t *zeros = BASE_NEWS(op->r->arena, int64_t, n + 1);
    const onnx_attr *axis = onnx_op_attr(op, "axis", ONNX_INT);
    if (op->input_count != 3 * n + 2 || !axis) {
        onnx_op_error(op,
                      !axis ? "axis: it is absent, and the operator needs it"
                            : "%zu inputs: expected a scale and a zero point, then three for each tensor",
                      op->input_count);
        return;
    }
    for (size_t k = 0; k <= n; k++) {
        size_t scale_count, zero_count;
        const size_t at = k < n ? 3 * k + 3 : 0;
        const double *scale = onnx_op_numbers(op, at, &scale_count), *zero = onnx_op_numbers(op, at + 1, &zero_count);
        if (!scale || !zero) {
            return;
        }
        if (scale_count != 1 || zero_count != 1) {
            onnx_op_error(op, "inputs %zu and %zu: expected one number each", at, at + 1);
            return;
        }
        scales[k] = *scale;
        zeros[k] = (int64_t)*zero;
    }
    const int64_t at = onnx_op_axis(op, "axis", axis->i, onnx_op_input(op, 2)->shape.rank);
    if (at >= 0) {
        ir_attr_int(op->r->m, op->node, "axis", at);
        ir_attr_floats(op->r->m, op->node, s->name, scales, n + 1);
        ir_attr_ints(op->r->m, op->node, s->attr, zeros, n + 1);
    }
}
static void put_number(onnx_out *out, size_t at, const char *name, base_type type, base_value v) {
    const ir_shape scalar = {0};
    void *data = base_alloc(out->arena, 1, sizeof(double));
    base_store(type, data, 0, v);
    onnx_out_constant(out, at, name, type, &scalar, data);
}

static void put_triples(onnx_out *out, const onnx_step *s) {
    const ir_attr *axis = onnx_out_attr(out, "axis", IR_INT), *scales = onnx_out_attr(out, s->name, IR_FLOATS);
    const ir_attr *zeros = onnx_out_attr(out, s->attr, IR_INTS);
    const size_t n = out->node->input_count;
    if (out->why || scales->n != n + 1 || zeros->n != n + 1) {
        onnx_out_cannot(out, "it has not a scale and a zero point for each tensor");
        return;
    }
    onnx_out_int(out, "axis", axis->v.i);
    for (size_t k = 0; k <= n; k++) { /* the output's, which are the last, stand first */
        const size_t at = k ? 3 * k : 0, of = k ? k - 1 : n;
        put_number(out, at, "scale", BASE_F32, (base_value){.f = scales->v.floats[of]});
        put_number(out, at + 1, "zero_point", onnx_out_input(out, 0)->type, (base_value){.i = zeros->v.ints[of]});
    }
}
const onnx_step_kind onnx_step_triples = {"TRIPLES", make_triples, put_triples};

/* FusedGemm: an activation and up to two parameters, as FusedConv has them in a list. */
static void make_fused(onnx_op *op, const onnx_step *s) {
    const char *name = onnx_op_text(op, "activation", "none");
    const bool leaky = !strcmp(name, "LeakyRelu"), hard = !strcmp(name, "HardSigmoid");
    const double alpha = (double)onnx_op_float(op, "activation_alpha", leaky ? 0.01f : 0.2f);
    const double params[2] = {alpha, (double)onnx_op_float(op, "activation_beta", 0.5f)};
    (void)onnx_op_float(op, "activation_gamma", 0);
    if (!onnx_op_failed(op)) {
        ir_attr_text(op->r->m, op->node, s->name, name);
        ir_attr_floats(op->r->m, op->node, s->attr, params, hard ? 2 : leaky ? 1 : 0);
    }
}
static void put_fused(onnx_out *out, const onnx_step *s) {
    const ir_attr *name = onnx_out_attr(out, s->name, IR_TEXT), *params = onnx_out_attr(out, s->attr, IR_FLOATS);
    if (!name || !params || params->n > 2 || !strcmp(name->v.text, "Clip")) {
        onnx_out_cannot(out, "its activation has other parameters than an alpha and a beta");
        return;
    }
    onnx_out_text(out, "activation", name->v.text);
    if (params->n > 0) {
        onnx_out_float(out, "activation_alpha", (float)params->v.floats[0]);
    }
    if (params->n > 1) {
        onnx_out_float(out, "activation_beta", (float)params->v.floats[1]);
    }
}
const onnx_step_kind onnx_step_fused = {"FUSED", make_fused, put_fused};

static void make_at_least(onnx_op *op, const onnx_step *s) {
    const int64_t v = onnx_op_int(op, s->attr, s->a);
    if (v < s->a) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s with %s %lld", op->type, s->attr, (long long)v),
                            s->text);
    }
}
static void put_at_least(onnx_out *out, const onnx_step *s) {
    onnx_out_int(out, s->attr, s->a);
}
const onnx_step_kind onnx_step_at_least = {"AT_LEAST", make_at_least, put_at_least};

static void make_only_float(onnx_op *op, const onnx_step *s) {
    const float v = onnx_op_float(op, s->attr, (float)s->f);
    if (v != (float)s->f) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s with %s %g", op->type, s->attr, (double)v),
                            s->text);
    }
}

/* What is not written is that value. */
static void put_only_float(onnx_out *out, const onnx_step *s) {
    (void)out;
    (void)s;
}
const onnx_step_kind onnx_step_only_float = {"ONLY_FLOAT", make_only_float, put_only_float};
