/* several.c - operators of any number of tensors, which become a chain of nodes of two: Max, Min, Sum, Mean, Einsum; and the
 * optimizers, which become a node for each tensor that is trained.
 *
 * Takes a node. Gives nodes of the scope's graph, whose last ones have its outputs' names.
 */
#include "formats/onnx/special.h"

#include <string.h>

static bool has_counts(onnx_op *op, size_t least, size_t outputs) {
    if (op->input_count < least || op->output_count != outputs) {
        onnx_op_error(op, "%zu inputs and %zu outputs: expected %zu or more, and %zu", op->input_count,
                      op->output_count, least, outputs);
    }
    for (size_t i = 0; i < op->input_count && !onnx_op_failed(op); i++) {
        if (!onnx_op_has_input(op, i)) {
            onnx_op_error(op, "input %zu is absent: the operator needs it", i);
        }
    }
    return !onnx_op_failed(op);
}

static void give_named(onnx_op *op, size_t output, uint32_t tensor) {
    ir_tensor *t = &onnx_graph_of(op->r, op->scope)->tensors.at[tensor];
    if (!*t->name) {
        t->name = op->output_names[output];
    }
    onnx_give(op, output, tensor);
}

/* ---- Max, Min, Sum, Mean ---- */

/* All inputs by that word; IR_NONE: a fault, or noted. */
static uint32_t chained(onnx_op *op, const char *word) {
    uint32_t result = op->inputs[0];
    for (size_t i = 1; i < op->input_count && result != IR_NONE; i++) {
        onnx_op made = onnx_make(op, op->scope, word, (const uint32_t[]){result, op->inputs[i]}, 2);
        result = onnx_finish(&made);
    }
    return result;
}

static void read_chain(onnx_op *op, const char *word) {
    onnx_op_ignore(op, "consumed_inputs");
    const uint32_t result = has_counts(op, 1, 1) ? chained(op, word) : IR_NONE;
    if (result != IR_NONE) {
        give_named(op, 0, result);
    }
}

void onnx_read_max(onnx_op *op) {
    read_chain(op, "maximum");
}

void onnx_read_min(onnx_op *op) {
    read_chain(op, "minimum");
}

void onnx_read_sum(onnx_op *op) {
    read_chain(op, "add");
}

void onnx_read_mean(onnx_op *op) {
    onnx_op_ignore(op, "consumed_inputs");
    if (!has_counts(op, 1, 1)) {
        return;
    }
    const base_type type = onnx_op_input(op, 0)->type;
    const ir_shape scalar = {0};
    if (!base_type_is_float(type)) {
        onnx_op_error(op, "input 0 has type %s: expected floats", base_type_name(type));
        return;
    }
    const uint32_t sum = chained(op, "add");
    if (sum == IR_NONE || op->input_count == 1) {
        if (sum != IR_NONE) {
            give_named(op, 0, sum);
        }
        return;
    }
    const uint32_t count = ir_tensor_add(op->r->m, onnx_graph_of(op->r, op->scope), "", type, &scalar);
    void *data = base_alloc(op->r->arena, 1, sizeof(double));
    base_store(type, data, 0, (base_value){.f = base_round_to(type, (double)op->input_count)});
    onnx_graph_of(op->r, op->scope)->tensors.at[count].data = data;
    onnx_op made = onnx_make(op, op->scope, "div", (const uint32_t[]){sum, count}, 2);
    const uint32_t mean = onnx_finish(&made);
    if (mean != IR_NONE) {
        give_named(op, 0, mean);
    }
}

/* ---- Einsum ---- */

enum { MOST_LABELS = 52 + IR_MAX_RANK, ELLIPSIS = 256 };

/* The labels of a tensor's extents: letters, or ELLIPSIS and the place from the end. */
typedef struct labels {
    uint32_t n;
    int64_t at[IR_MAX_RANK];
} labels;

static bool is_letter(char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
}

static bool holds(const labels *l, int64_t label) {
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->at[i] == label) {
            return true;
        }
    }
    return false;
}

/* One term, with so many extents for its ellipsis; *p stands behind it then. false: a fault, reported. */
static bool read_term(onnx_op *op, const char **p, uint32_t dots, labels *out) {
    bool ellipsis = false;
    out->n = 0;
    for (; **p && **p != ',' && strncmp(*p, "->", 2) != 0; (*p)++) {
        const bool dotted = !ellipsis && strncmp(*p, "...", 3) == 0;
        if (**p == ' ') {
            continue;
        }
        if ((!is_letter(**p) && !dotted) || out->n + (dotted ? dots : 1) > IR_MAX_RANK) {
            onnx_op_error(op, "equation: it cannot be read at \"%s\"",
                          base_printable(op->r->arena, *p, strlen(*p), 40));
            return false;
        }
        for (uint32_t i = 0; dotted && i < dots; i++) {
            out->at[out->n++] = ELLIPSIS + (int64_t)(dots - 1 - i);
        }
        if (!dotted) {
            out->at[out->n++] = **p;
        }
        ellipsis = ellipsis || dotted;
        *p += dotted ? 2 : 0;
    }
    return true;
}

/* How many letters a term has, and whether an ellipsis. */
static uint32_t letters_of(const char *p, bool *ellipsis) {
    uint32_t n = 0;
    *ellipsis = false;
    for (; *p && *p != ',' && strncmp(p, "->", 2) != 0; p++) {
        n += is_letter(*p) ? 1 : 0;
        *ellipsis = *ellipsis || *p == '.';
    }
    return n;
}

/* Without "->": the ellipsis, and the letters that stand once, by the alphabet. */
static void imply(const labels *terms, size_t n, uint32_t dots, labels *out) {
    out->n = 0;
    for (uint32_t i = 0; i < dots; i++) {
        out->at[out->n++] = ELLIPSIS + (int64_t)(dots - 1 - i);
    }
    for (int64_t letter = 'A'; letter <= 'z' && out->n < IR_MAX_RANK; letter++) {
        size_t count = 0;
        for (size_t t = 0; t < n; t++) {
            for (uint32_t i = 0; i < terms[t].n; i++) {
                count += terms[t].at[i] == letter ? 1 : 0;
            }
        }
        if (count == 1) {
            out->at[out->n++] = letter;
        }
    }
}

/* Terms of the inputs and the output. false: a fault, reported. */
static bool read_equation(onnx_op *op, const char *p, labels *terms, labels *out) {
    uint32_t most = 0;
    for (size_t i = 0; i < op->input_count; i++) {
        bool ellipsis;
        const uint32_t rank = onnx_op_input(op, i)->shape.rank, letters = letters_of(p, &ellipsis);
        const uint32_t dots = ellipsis && letters <= rank ? rank - letters : 0;
        most = dots > most ? dots : most;
        if (!read_term(op, &p, dots, &terms[i])) {
            return false;
        }
        if (terms[i].n != rank) {
            onnx_op_error(op, "equation: term %zu has %lu letters, and the input %lu extents", i,
                          (unsigned long)terms[i].n, (unsigned long)rank);
            return false;
        }
        if (i + 1 < op->input_count ? *p != ',' : *p == ',') {
            onnx_op_error(op, "equation: expected a term for each of %zu inputs", op->input_count);
            return false;
        }
        p += *p == ',' ? 1 : 0;
    }
    if (strncmp(p, "->", 2) != 0) {
        imply(terms, op->input_count, most, out);
        return true;
    }
    p += 2;
    if (!read_term(op, &p, most, out) || *p) {
        if (!onnx_op_failed(op)) {
            onnx_op_error(op, "equation: there is more behind the output");
        }
        return false;
    }
    return true;
}

/* Where in the tensors' extents, one behind the other, the label stands, where it is not 1 if it can be; -1: nowhere, or a
 * fault: it is of two extents. */
static int64_t place_of(onnx_op *op, int64_t label, const labels *l, const ir_shape *const shapes[2], size_t n) {
    int64_t at = -1, base = 0, extent = 1;
    for (size_t t = 0; t < n; t++) {
        for (uint32_t i = 0; i < l[t].n; i++) {
            const int64_t e = shapes[t]->dim[i];
            if (l[t].at[i] != label) {
                continue;
            }
            if (at >= 0 && e != extent && e != 1 && extent != 1) {
                onnx_op_error(op, "equation: extents %lld and %lld have one letter", (long long)extent, (long long)e);
                return -1;
            }
            if (at < 0 || extent == 1) {
                at = base + i;
                extent = e;
            }
        }
        base += l[t].n;
    }
    return at;
}

static uint32_t place_in(const labels *order, uint32_t n, int64_t label) {
    uint32_t k = 0;
    while (k < n && order->at[k] != label) {
        k++;
    }
    return k;
}

/* One or two tensors, multiplied and summed over the labels that the result does not have. */
static uint32_t contracted(onnx_op *op, const uint32_t *inputs, const labels *l, size_t n, const labels *out) {
    const ir_graph *g = onnx_graph_of(op->r, op->scope);
    const ir_shape *const shapes[2] = {&g->tensors.at[inputs[0]].shape, &g->tensors.at[inputs[n - 1]].shape};
    int64_t places[2][IR_MAX_RANK] = {{0}}, sides[2][IR_MAX_RANK] = {{0}};
    uint32_t counts[2] = {0};
    int64_t order[2 * IR_MAX_RANK];
    for (size_t part = 0; part < 2; part++) {
        for (size_t t = 0; t < (part ? n : 1); t++) {
            const labels *from = part ? &l[t] : out;
            for (uint32_t i = 0; i < from->n; i++) {
                bool known = part && holds(out, from->at[i]);
                for (uint32_t k = 0; k < counts[1] && part; k++) {
                    known = known || order[counts[0] + k] == from->at[i];
                }
                if (known) {
                    continue;
                }
                const int64_t at = place_of(op, from->at[i], l, shapes, n);
                if (at < 0 || counts[part] == IR_MAX_RANK) {
                    if (!onnx_op_failed(op)) {
                        onnx_op_error(op, "equation: a letter of the output stands in no input, or there are too many");
                    }
                    return IR_NONE;
                }
                order[counts[0] + counts[1]] = from->at[i];
                places[part][counts[part]++] = at;
            }
        }
    }
    for (size_t t = 0; t < n; t++) {
        for (uint32_t i = 0; i < l[t].n; i++) {
            int64_t k = 0;
            while (order[k] != l[t].at[i]) {
                k++;
            }
            sides[t][i] = k;
        }
    }
    onnx_op made = onnx_make(op, op->scope, "einsum", inputs, n);
    ir_attr_ints(op->r->m, made.node, "a", sides[0], l[0].n);
    if (n == 2) {
        ir_attr_ints(op->r->m, made.node, "b", sides[1], l[1].n);
    }
    ir_attr_ints(op->r->m, made.node, "out", places[0], counts[0]);
    ir_attr_ints(op->r->m, made.node, "red", places[1], counts[1]);
    return onnx_finish(&made);
}

/* The labels of both that the output or a later term has. */
static void keep_needed(const labels *both, const labels *later, size_t n, const labels *out, labels *kept) {
    kept->n = 0;
    for (size_t t = 0; t < 2; t++) {
        for (uint32_t i = 0; i < both[t].n; i++) {
            const int64_t label = both[t].at[i];
            bool needed = holds(out, label);
            for (size_t k = 0; k < n; k++) {
                needed = needed || holds(&later[k], label);
            }
            if (needed && place_in(kept, kept->n, label) == kept->n && kept->n < IR_MAX_RANK) {
                kept->at[kept->n++] = label;
            }
        }
    }
}

void onnx_read_einsum(onnx_op *op) {
    const char *equation = onnx_op_text(op, "equation", NULL);
    labels *terms = BASE_NEWS(op->r->arena, labels, op->input_count + 1), out;
    if (!equation && !onnx_op_failed(op)) {
        onnx_op_error(op, "equation: it is absent, and the operator needs it");
    }
    if (onnx_op_failed(op) || !has_counts(op, 1, 1) || !read_equation(op, equation, terms, &out)) {
        return;
    }
    uint32_t result = op->inputs[0];
    labels now[2] = {terms[0], {0}};
    if (op->input_count == 1) {
        result = contracted(op, &result, now, 1, &out);
    }
    for (size_t i = 1; i < op->input_count && result != IR_NONE; i++) {
        labels kept = out;
        now[1] = terms[i];
        if (i + 1 < op->input_count) {
            keep_needed(now, terms + i + 1, op->input_count - i - 1, &out, &kept);
        }
        result = contracted(op, (const uint32_t[]){result, op->inputs[i]}, now, 2, &kept);
        now[0] = kept;
    }
    if (result != IR_NONE) {
        give_named(op, 0, result);
    }
}

/* ---- optimizers: rate, count of updates, then for each tensor that is trained itself, its gradient and its states ---- */

typedef struct number {
    const char *name;
    float otherwise;
    bool needed;
} number;

/* has_mode: the operator says whether the step is Nesterov's. */
static void read_optimizer(onnx_op *op, const char *word, size_t states, const number *numbers, size_t n,
                           bool has_mode) {
    const size_t each = 2 + states, count = op->input_count > 2 ? (op->input_count - 2) / each : 0;
    float values[5] = {0};
    for (size_t i = 0; i < n; i++) {
        const onnx_attr *a = onnx_op_attr(op, numbers[i].name, ONNX_FLOAT);
        values[i] = a ? a->f : numbers[i].otherwise;
        if (!a && numbers[i].needed && !onnx_op_failed(op)) {
            onnx_op_error(op, "%s: it is absent, and the operator needs it", numbers[i].name);
        }
    }
    const char *mode = has_mode ? onnx_op_text(op, "mode", NULL) : "standard";
    if (!onnx_op_failed(op) && (!mode || (strcmp(mode, "standard") != 0 && strcmp(mode, "nesterov") != 0))) {
        onnx_op_error(op, "mode: expected standard or nesterov");
    }
    if (onnx_op_failed(op) || !has_counts(op, 2 + each, count * (1 + states))) {
        return;
    }
    if (op->input_count != 2 + each * count) {
        onnx_op_error(op, "%zu inputs: expected 2, and %zu for each tensor", op->input_count, each);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t inputs[6] = {op->inputs[0], op->inputs[1]}, outputs[3];
        for (size_t k = 0; k < each; k++) {
            inputs[2 + k] = op->inputs[2 + k * count + i];
        }
        onnx_op made = onnx_make(op, op->scope, word, inputs, 2 + each);
        for (size_t k = 0; k <= states; k++) {
            outputs[k] = onnx_new_tensor(op->r, op->scope, op->output_names[k * count + i]);
        }
        made.outputs = outputs;
        made.output_count = 1 + states;
        uint32_t *list = BASE_NEWS(op->r->arena, uint32_t, 1 + states);
        memcpy(list, outputs, (1 + states) * sizeof *list);
        made.node->outputs = list;
        made.node->output_count = 1 + states;
        for (size_t k = 0; k < n; k++) {
            ir_attr_float(op->r->m, made.node, numbers[k].name, (double)values[k]);
        }
        if (has_mode) {
            ir_attr_int(op->r->m, made.node, "nesterov", !strcmp(mode, "nesterov"));
        }
        if (onnx_finish(&made) == IR_NONE) {
            return;
        }
        for (size_t k = 0; k <= states; k++) {
            onnx_give(op, k * count + i, outputs[k]);
        }
    }
}

void onnx_read_adagrad(onnx_op *op) {
    static const number numbers[] = {
        {"decay_factor", 0, false}, {"epsilon", 1e-6F, false}, {"norm_coefficient", 0, false}};
    read_optimizer(op, "adagrad", 1, numbers, 3, false);
}

void onnx_read_adam(onnx_op *op) {
    static const number numbers[] = {{"alpha", 0.9F, false},
                                     {"beta", 0.999F, false},
                                     {"epsilon", 1e-6F, false},
                                     {"norm_coefficient", 0, false},
                                     {"norm_coefficient_post", 0, false}};
    read_optimizer(op, "adam", 2, numbers, 5, false);
}

void onnx_read_momentum(onnx_op *op) {
    static const number numbers[] = {{"alpha", 0, true}, {"beta", 0, true}, {"norm_coefficient", 0, true}};
    read_optimizer(op, "momentum", 1, numbers, 3, true);
}
