/* model.c - lays out a TFLite model (model.h). One operator code an operator; buffer 0 is empty, buffer i + 1 is tensor
 * i's. */
#include "model.h"

static size_t build_list(flat *f, const int32_t *list, int n, size_t width) {
    size_t vector = flat_vector(f, (size_t)n, width);
    for (size_t k = 0; k < (size_t)n; k++)
        flat_put(f, vector + 4 + width * k, (uint32_t)list[k], width);
    return vector;
}

static void build_integers(flat *f, size_t level, size_t field, int type, const int32_t *list, int n) {
    flat_put(f, flat_field(f, level, field), (uint64_t)type, 1);
    size_t table = flat_table(f, "4");
    flat_point(f, flat_field(f, level, field + 1), table);
    flat_point(f, flat_field(f, table, 0), build_list(f, list, n, type == 1 ? 4 : type == 2 ? 2 : 1));
}

static size_t build_sparse(flat *f, const model_sparse *s) {
    size_t table = flat_table(f, "444");
    flat_point(f, flat_field(f, table, 0), build_list(f, s->order, s->order_count, 4));
    flat_point(f, flat_field(f, table, 1), build_list(f, s->blocks, s->block_count, 4));
    size_t levels = flat_vector(f, (size_t)s->level_count, 4);
    flat_point(f, flat_field(f, table, 2), levels);
    for (int i = 0; i < s->level_count; i++) {
        const model_level *l = &s->levels[i];
        size_t level = flat_table(f, l->type ? "141414" : "14");
        flat_point(f, levels + 4 + 4 * (size_t)i, level);
        flat_put(f, flat_field(f, level, 0), (uint64_t)l->format, 1);
        flat_put(f, flat_field(f, level, 1), (uint32_t)l->size, 4);
        if (l->type) {
            build_integers(f, level, 2, l->type, l->segments, l->segment_count);
            build_integers(f, level, 4, l->type, l->indices, l->index_count);
        }
    }
    return table;
}

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
    if (t->sparse)
        flat_point(f, flat_field(f, table, 6), build_sparse(f, t->sparse));
    else
        flat_put(f, flat_vtable(f, table) + 4 + 2 * 6, 0, 2);
    flat_put(f, flat_vtable(f, table) + 4 + 2 * 7, 0, 2);
    if (t->blocks[2]) {
        size_t q = at->quantization[i] = flat_table(f, "----14");
        flat_point(f, flat_field(f, table, 4), q);
        flat_put(f, flat_field(f, q, 4), 2, 1);
        size_t details = at->blocks[i] = flat_table(f, "444");
        flat_point(f, flat_field(f, q, 5), details);
        for (size_t k = 0; k < 3; k++)
            flat_put(f, flat_field(f, details, k), (uint32_t)t->blocks[k], 4);
        return;
    }
    if (!t->scales) {
        flat_put(f, flat_vtable(f, table) + 4 + 2 * 4, 0, 2);
        return;
    }
    size_t q = at->quantization[i] = flat_table(f, t->custom ? "--44144" : "--44--4");
    if (t->custom) {
        flat_put(f, flat_field(f, q, 4), 1, 1);
        size_t details = flat_table(f, "4");
        flat_point(f, flat_field(f, q, 5), details);
        size_t bytes = flat_vector(f, t->custom_bytes, 1);
        for (size_t k = 0; k < t->custom_bytes; k++)
            flat_put(f, bytes + 4 + k, t->custom[k], 1);
        flat_point(f, flat_field(f, details, 0), bytes);
    }
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

static void build_op(flat *f, const model_op *op, int i, model_places *at) {
    size_t table = at->op[i] = flat_table(f, op->options ? "44414" : "444");
    flat_put(f, flat_field(f, table, 0), (uint64_t)i, 4);
    flat_point(f, flat_field(f, table, 1), at->op_inputs[i] = build_list(f, op->inputs, op->input_count, 4));
    flat_point(f, flat_field(f, table, 2), at->op_outputs[i] = build_list(f, op->outputs, op->output_count, 4));
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
    flat_point(f, flat_field(f, at->subgraph, 1), build_list(f, spec->inputs, spec->input_count, 4));
    flat_point(f, flat_field(f, at->subgraph, 2), build_list(f, spec->outputs, spec->output_count, 4));
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
