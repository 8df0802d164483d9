/* steps_recurrent.c - steps for recurrent layers: their functions by name, with what each takes of activation_alpha and
 * activation_beta (words.def says what each step does).
 */
#include "formats/onnx/steps.h"

#include <string.h>

enum { MOST_FUNCTIONS = 6 }; /* three of each of two directions */

/* By their number in the definitions. alpha and beta: what they are where the lists say nothing, if it takes them. */
static const struct {
    const char *name;
    bool has_alpha, has_beta;
    float alpha, beta;
} functions[] = {
    {"Sigmoid", false, false, 0, 0},      {"Tanh", false, false, 0, 0},
    {"Relu", false, false, 0, 0},         {"Affine", true, true, 1, 0},
    {"LeakyRelu", true, false, 0.01f, 0}, {"ThresholdedRelu", true, false, 1, 0},
    {"ScaledTanh", true, true, 1, 1},     {"HardSigmoid", true, true, 0.2f, 0.5f},
    {"Elu", true, false, 1, 0},           {"Softsign", false, false, 0, 0},
    {"Softplus", false, false, 0, 0},
};

static bool same_word(base_bytes a, const char *b) {
    if (a.size != strlen(b)) {
        return false;
    }
    for (size_t i = 0; i < a.size; i++) {
        if ((a.at[i] | 0x20) != ((unsigned char)b[i] | 0x20)) {
            return false;
        }
    }
    return true;
}

static int64_t number_of(onnx_op *op, base_bytes name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (same_word(name, functions[i].name)) {
            return (int64_t)i;
        }
    }
    onnx_op_error(op, "activations: \"%s\" is no function",
                  base_printable(op->r->arena, (const char *)name.at, name.size, 60));
    return 0;
}

/* The functions' numbers: a of each direction, in text what they are where the file has none. */
static void read_functions(onnx_op *op, const onnx_step *s, size_t directions, int64_t *out) {
    const onnx_attr *a = onnx_op_attr(op, "activations", ONNX_STRINGS);
    const size_t n = directions * (size_t)s->a;
    if (a && a->n != n) {
        onnx_op_error(op, "activations: expected %zu values, got %zu", n, a->n);
    }
    for (size_t i = 0; i < n && !onnx_op_failed(op); i++) {
        out[i] = a ? number_of(op, a->strings[i]) : s->text[i % (size_t)s->a] - '0';
    }
}

static void make_recurrent(onnx_op *op, const onnx_step *s) {
    const char *direction = onnx_op_text(op, "direction", "forward");
    const int64_t hidden = onnx_op_int(op, "hidden_size", -1);
    const ir_shape *r = &onnx_op_input(op, 2)->shape;
    const onnx_attr *alpha = onnx_op_attr(op, "activation_alpha", ONNX_FLOATS);
    const onnx_attr *beta = onnx_op_attr(op, "activation_beta", ONNX_FLOATS);
    const size_t directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1, n = directions * (size_t)s->a;
    int64_t numbers[MOST_FUNCTIONS] = {0};
    double alphas[MOST_FUNCTIONS], betas[MOST_FUNCTIONS];
    if (onnx_op_failed(op)) {
        return;
    }
    if (directions == 1 && strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0) {
        onnx_op_error(op, "direction: \"%s\": expected forward, reverse or bidirectional", direction);
    } else if (hidden >= 0 && r->rank == 3 && r->dim[2] != hidden) {
        onnx_op_error(op, "hidden_size: %lld, and the weights have %lld", (long long)hidden, (long long)r->dim[2]);
    } else {
        read_functions(op, s, directions, numbers);
    }
    for (size_t i = 0, k = 0, m = 0; i < n; i++) {
        const bool has_alpha = functions[numbers[i]].has_alpha, has_beta = functions[numbers[i]].has_beta;
        const bool given_alpha = has_alpha && alpha && k < alpha->n, given_beta = has_beta && beta && m < beta->n;
        if (!strcmp(functions[numbers[i]].name, "ScaledTanh") && (!given_alpha || !given_beta) && !onnx_op_failed(op)) {
            onnx_op_error(op, "activations: ScaledTanh needs a number of activation_alpha and one of activation_beta");
        }
        alphas[i] = (double)(given_alpha ? alpha->floats[k++] : functions[numbers[i]].alpha);
        betas[i] = (double)(given_beta ? beta->floats[m++] : functions[numbers[i]].beta);
    }
    if (!onnx_op_failed(op)) {
        ir_attr_text(op->r->m, op->node, "direction", direction);
        ir_attr_ints(op->r->m, op->node, "functions", numbers, n);
        ir_attr_floats(op->r->m, op->node, "alphas", alphas, n);
        ir_attr_floats(op->r->m, op->node, "betas", betas, n);
    }
}

static bool takes_it(const ir_attr *a, size_t i, bool takes, float otherwise) {
    return !takes && a->v.floats[i] != (double)otherwise;
}

static void put_recurrent(onnx_out *out, const onnx_step *s) {
    const ir_attr *direction = onnx_out_attr(out, "direction", IR_TEXT), *f = onnx_out_attr(out, "functions", IR_INTS);
    const ir_attr *a = onnx_out_attr(out, "alphas", IR_FLOATS), *b = onnx_out_attr(out, "betas", IR_FLOATS);
    const ir_shape *r = &onnx_out_input(out, 2)->shape;
    if (out->why || f->n > MOST_FUNCTIONS || a->n != f->n || b->n != f->n) {
        onnx_out_cannot(out, "its functions are others than the operator's");
        return;
    }
    const char **names = BASE_NEWS(out->arena, const char *, f->n + 1);
    float *alphas = BASE_NEWS(out->arena, float, f->n + 1), *betas = BASE_NEWS(out->arena, float, f->n + 1);
    size_t alpha_count = 0, beta_count = 0;
    bool usual = true;
    for (size_t i = 0; i < f->n; i++) {
        const int64_t k = f->v.ints[i];
        if (k < 0 || k >= (int64_t)(sizeof functions / sizeof *functions) ||
            takes_it(a, i, functions[k].has_alpha, functions[k].alpha) ||
            takes_it(b, i, functions[k].has_beta, functions[k].beta)) {
            onnx_out_cannot(out, "its functions are others than the operator's");
            return;
        }
        usual = usual && k == s->text[i % (size_t)s->a] - '0';
        names[i] = functions[k].name;
        if (functions[k].has_alpha) {
            alphas[alpha_count++] = (float)a->v.floats[i];
        }
        if (functions[k].has_beta) {
            betas[beta_count++] = (float)b->v.floats[i];
        }
    }
    if (strcmp(direction->v.text, "forward") != 0) {
        onnx_out_text(out, "direction", direction->v.text);
    }
    if (r->rank == 3) {
        onnx_out_int(out, "hidden_size", r->dim[2]);
    }
    if (!usual) {
        onnx_out_texts(out, "activations", names, f->n);
    }
    if (alpha_count) {
        onnx_out_floats(out, "activation_alpha", alphas, alpha_count);
    }
    if (beta_count) {
        onnx_out_floats(out, "activation_beta", betas, beta_count);
    }
}
const onnx_step_kind onnx_step_recurrent = {"RECURRENT", make_recurrent, put_recurrent};
