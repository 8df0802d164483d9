/* model.c - lays out a TFLite model (model.h). One operator code an operator; buffer 0 is empty, buffer i + 1 is tensor
 * i's. */
#include "model.h"

static void build_tensor(flat *f, const model_tensor *t, int i, model_places *at) {
    size_t table = at->tensor[i] = flat_table(f, "41444144--4");
    at->shape[i] = flat_vector(f, (size_t)t->rank, 4);
    for (int k = 0; k < t->rank; k++)
        flat_put(f, at->shape[i] + 4 + 4 * (size_t)k, (uint32_t)t->dims[k], 4);
    flat_point(f, flat_field(f, table, 0), at->shape[i]);
    flat_put(f, flat_field(f, table, 1), (uint64_t)t->type, 1);
    flat_put(f, flat_field(f, table, 2), t->data ? (uint64_t)i + 1 : 0, 4);
    flat_point(f, flat_field(f, table, 3), flat_string(f, t->name ? t->name : "t"));
    flat_put(f, flat_field(f, table, 5), t->variable, 1);
    /* An offset of 0 is no offset: the fields that have no value leave the vtable. */
    flat_put(f, flat_vtable(f, table) + 4 + 2 * 6, 0, 2);
    flat_put(f, flat_vtable(f, table) + 4 + 2 * 7, 0, 2);
    if (!t->scales) {
        flat_put(f, flat_vtable(f, table) + 4 + 2 * 4, 0, 2);
        return;
    }
    size_t q = at->quantization[i] = flat_table(f, "--44--4");
    flat_point(f, flat_field(f, table, 4), q);
    at->scale[i] = flat_vector(f, (size_t)t->scales, 4);
    at->zero[i] = flat_vector(f, (size_t)t->zeros, 8);
    for (size_t k = 0; k < (size_t)t->scales; k++) {
        uint32_t bits;
        memcpy(&bits, &t->scale[k], 4);
        flat_put(f, at->scale[i] + 4 + 4 * k, bits, 4);
    }
    for (size_t k = 0; k < (size_t)t->zeros; k++)
        flat_put(f, at->zero[i] + 4 + 8 * k, (uint64_t)t->zero[k], 8);
    flat_point(f, flat_field(f, q, 2), at->scale[i]);
    flat_point(f, flat_field(f, q, 3), at->zero[i]);
    flat_put(f, flat_field(f, q, 6), (uint32_t)t->axis, 4);
}

static size_t build_indices(flat *f, const int32_t *list, int n) {
    size_t vector = flat_vector(f, (size_t)n, 4);
    for (size_t k = 0; k < (size_t)n; k++)
        flat_put(f, vector + 4 + 4 * k, (uint32_t)list[k], 4);
    return vector;
}

static void build_op(flat *f, const model_op *op, int i, model_places *at) {
    size_t table = at->op[i] = flat_table(f, op->options ? "44414" : "444");
    flat_put(f, flat_field(f, table, 0), (uint64_t)i, 4);
    flat_point(f, flat_field(f, table, 1), at->op_inputs[i] = build_indices(f, op->inputs, op->input_count));
    flat_point(f, flat_field(f, table, 2), at->op_outputs[i] = build_indices(f, op->outputs, op->output_count));
    if (!op->options)
        return;
    flat_put(f, flat_field(f, table, 3), (uint64_t)op->options, 1);
    size_t options = at->options[i] = flat_table(f, op->widths);
    flat_point(f, flat_field(f, table, 4), options);
    for (size_t k = 0; op->widths[k]; k++)
        if (op->widths[k] != '-')
            flat_put(f, flat_field(f, options, k), (uint64_t)op->values[k], (size_t)(op->widths[k] - '0'));
}

static void build_codes(flat *f, const model_spec *spec, model_places *at) {
    for (int i = 0; i < spec->op_count; i++) {
        const model_op *op = &spec->ops[i];
        size_t table = at->code[i] = flat_table(f, op->custom ? "1444" : "1-44");
        flat_put(f, flat_field(f, table, 0), op->code < 127 ? (uint64_t)op->code : 127, 1);
        flat_put(f, flat_field(f, table, 2), 1, 4);
        flat_put(f, flat_field(f, table, 3), (uint64_t)op->code, 4);
        if (op->custom)
            flat_point(f, flat_field(f, table, 1), flat_string(f, op->custom));
        flat_point(f, at->codes + 4 + 4 * (size_t)i, table);
    }
}

static void build_buffers(flat *f, const model_spec *spec, model_places *at) {
    for (int i = 0; i <= spec->tensor_count; i++) {
        const model_tensor *t = i ? &spec->tensors[i - 1] : NULL;
        size_t table = at->buffer[i] = flat_table(f, t && t->data ? "4" : "-88");
        flat_point(f, at->buffers + 4 + 4 * (size_t)i, table);
        if (t && t->data) {
            size_t data = flat_vector(f, t->bytes, 1);
            memcpy(&f->at[data + 4], t->data, t->bytes);
            flat_point(f, flat_field(f, table, 0), data);
        }
    }
}

void model_build(flat *f, const model_spec *spec, model_places *at) {
    flat_start(f, "TFL3");
    memset(at, 0, sizeof *at);
    at->root = flat_table(f, "444-4");
    flat_point(f, 0, at->root);
    flat_put(f, flat_field(f, at->root, 0), 3, 4);
    flat_point(f, flat_field(f, at->root, 1), at->codes = flat_vector(f, (size_t)spec->op_count, 4));
    flat_point(f, flat_field(f, at->root, 2), at->subgraphs = flat_vector(f, 1, 4));
    flat_point(f, flat_field(f, at->root, 4), at->buffers = flat_vector(f, (size_t)spec->tensor_count + 1, 4));
    flat_point(f, at->subgraphs + 4, at->subgraph = flat_table(f, "44444"));
    flat_point(f, flat_field(f, at->subgraph, 0), at->tensors = flat_vector(f, (size_t)spec->tensor_count, 4));
    flat_point(f, flat_field(f, at->subgraph, 1), build_indices(f, spec->inputs, spec->input_count));
    flat_point(f, flat_field(f, at->subgraph, 2), build_indices(f, spec->outputs, spec->output_count));
    flat_point(f, flat_field(f, at->subgraph, 3), at->operators = flat_vector(f, (size_t)spec->op_count, 4));
    flat_point(f, flat_field(f, at->subgraph, 4), flat_string(f, "main"));
    for (int i = 0; i < spec->tensor_count; i++) {
        build_tensor(f, &spec->tensors[i], i, at);
        flat_point(f, at->tensors + 4 + 4 * (size_t)i, at->tensor[i]);
    }
    for (int i = 0; i < spec->op_count; i++) {
        build_op(f, &spec->ops[i], i, at);
        flat_point(f, at->operators + 4 + 4 * (size_t)i, at->op[i]);
    }
    build_codes(f, spec, at);
    build_buffers(f, spec, at);
}
