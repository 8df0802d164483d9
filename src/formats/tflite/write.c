/* write.c - the bytes of a file, from its tables.
 *
 * Takes a model and its tables in TFLite's numbers (say.c). Gives the FlatBuffers binary: buffers stand at its end, each
 * at a multiple of 16 bytes; the same model gives the same bytes. A file that would have 2 GB or more is refused.
 */
#include "formats/tflite/writer.h"

#include <string.h>

enum { BUFFER_ALIGN = 16, SCHEMA_VERSION = 3 };

typedef struct layout {
    base_arena *arena;
    const ir_model *m;
    const tflite_file *file;
    wire_builder b;
} layout;

static wire_ref *refs_of(layout *l, size_t n) {
    return BASE_NEWS(l->arena, wire_ref, n + 1);
}

/* Strings of a FlatBuffer are UTF-8: what is not, of another format, becomes as messages show it. TFLite's own stay as they are. */
static wire_ref text_of(layout *l, const char *s) {
    const char *text = strcmp(l->m->format, "tflite") != 0 ? base_printable(l->arena, s, strlen(s), 4096) : s;
    return wire_build_string(&l->b, text, strlen(text));
}

static wire_ref string_of(layout *l, const char *s) {
    return s && *s ? text_of(l, s) : 0;
}

/* ---- buffers ---- */

static wire_ref write_buffers(layout *l) {
    size_t n = l->file->buffers.n;
    wire_ref *data = refs_of(l, n), *tables = refs_of(l, n);
    for (size_t i = n; i-- > 0;) {
        const base_bytes *bytes = &l->file->buffers.at[i];
        data[i] = bytes->at ? wire_build_bytes(&l->b, bytes->at, bytes->size, BUFFER_ALIGN) : 0; /* buffer 0 has none */
    }
    for (size_t i = n; i-- > 0;) {
        wire_build_table(&l->b);
        tflite_put_ref(&l->b, TFLITE_Buffer_data, data[i]);
        tables[i] = wire_build_table_end(&l->b);
    }
    return wire_build_refs(&l->b, tables, n);
}

/* ---- sub-graphs ---- */

static wire_ref write_blocks(layout *l, const tflite_file_tensor *t) {
    enum { BLOCKWISE = 2, NO_ZERO_POINTS = -1 };
    wire_build_table(&l->b);
    tflite_put_int(&l->b, TFLITE_BlockwiseQuantization_scales, t->block_scales);
    tflite_put_int(&l->b, TFLITE_BlockwiseQuantization_zero_points, NO_ZERO_POINTS);
    tflite_put_int(&l->b, TFLITE_BlockwiseQuantization_block_size, t->block_size);
    wire_ref blocks = wire_build_table_end(&l->b);
    wire_build_table(&l->b);
    tflite_put_union(&l->b, TFLITE_QuantizationParameters_details, BLOCKWISE, blocks);
    return wire_build_table_end(&l->b);
}

static wire_ref write_quantisation(layout *l, const tflite_file_tensor *t) {
    const ir_quant *q = &t->quant;
    if (t->block_size) {
        return write_blocks(l, t);
    }
    if (!q->n) {
        return 0;
    }
    wire_ref zero = wire_build_i64s(&l->b, q->zero, q->n), scale = wire_build_floats(&l->b, q->scale, q->n);
    wire_build_table(&l->b);
    tflite_put_ref(&l->b, TFLITE_QuantizationParameters_scale, scale);
    tflite_put_ref(&l->b, TFLITE_QuantizationParameters_zero_point, zero);
    tflite_put_int(&l->b, TFLITE_QuantizationParameters_quantized_dimension, q->axis);
    return wire_build_table_end(&l->b);
}

/* Symbolic extents have their bound in the shape and -1 in the signature. */
static wire_ref write_signature(layout *l, const ir_shape *s) {
    int32_t dims[IR_MAX_RANK];
    bool symbolic = false;
    for (uint32_t i = 0; i < s->rank; i++) {
        dims[i] = s->symbol[i] ? -1 : (int32_t)s->dim[i];
        symbolic = symbolic || s->symbol[i];
    }
    return symbolic ? wire_build_i32s(&l->b, dims, s->rank) : 0;
}

static wire_ref write_tensor(layout *l, const tflite_file_tensor *t) {
    int32_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->shape.rank; i++) {
        dims[i] = (int32_t)t->shape.dim[i];
    }
    wire_ref name = string_of(l, t->name), quantisation = write_quantisation(l, t);
    wire_ref signature = write_signature(l, &t->shape), shape = wire_build_i32s(&l->b, dims, t->shape.rank);
    wire_build_table(&l->b);
    tflite_put_ref(&l->b, TFLITE_Tensor_shape, shape);
    tflite_put_int(&l->b, TFLITE_Tensor_type, t->type);
    tflite_put_int(&l->b, TFLITE_Tensor_buffer, t->buffer);
    tflite_put_ref(&l->b, TFLITE_Tensor_name, name);
    tflite_put_ref(&l->b, TFLITE_Tensor_quantization, quantisation);
    tflite_put_int(&l->b, TFLITE_Tensor_is_variable, t->is_variable);
    tflite_put_ref(&l->b, TFLITE_Tensor_shape_signature, signature);
    tflite_put_int(&l->b, TFLITE_Tensor_has_rank, 1);
    return wire_build_table_end(&l->b);
}

static wire_ref write_options(layout *l, const tflite_file_op *op) {
    wire_ref *lists = refs_of(l, op->value_count);
    for (size_t i = 0; i < op->value_count; i++) {
        const tflite_value *v = &op->values[i];
        lists[i] = v->list     ? wire_build_i32s(&l->b, v->list, v->n)
                   : v->wide   ? wire_build_i64s(&l->b, v->wide, v->n)
                   : v->floats ? wire_build_floats(&l->b, v->floats, v->n)
                   : v->text   ? wire_build_string(&l->b, v->text, strlen(v->text))
                               : 0;
    }
    wire_build_table(&l->b);
    for (size_t i = 0; i < op->value_count; i++) {
        const tflite_value *v = &op->values[i];
        switch (tflite_field_kind(v->field)) {
        case TFLITE_F32:
            tflite_put_float(&l->b, v->field, v->f);
            break;
        case TFLITE_I32S:
        case TFLITE_I64S:
        case TFLITE_F32S:
        case TFLITE_STRING:
            tflite_put_ref(&l->b, v->field, lists[i]);
            break;
        default:
            tflite_put_int(&l->b, v->field, v->i);
            break;
        }
    }
    return wire_build_table_end(&l->b);
}

static wire_ref write_operator(layout *l, const tflite_file_op *op) {
    wire_ref options = op->options ? write_options(l, op) : 0;
    const base_bytes *custom_options = &op->custom_options;
    wire_ref custom =
        custom_options->size ? wire_build_bytes(&l->b, custom_options->at, custom_options->size, BUFFER_ALIGN) : 0;
    wire_ref intermediates =
        op->intermediate_count ? wire_build_i32s(&l->b, op->intermediates, op->intermediate_count) : 0;
    wire_ref outputs = wire_build_i32s(&l->b, op->outputs, op->output_count);
    wire_ref inputs = wire_build_i32s(&l->b, op->inputs, op->input_count);
    wire_build_table(&l->b);
    tflite_put_int(&l->b, TFLITE_Operator_opcode_index, op->code);
    tflite_put_ref(&l->b, TFLITE_Operator_inputs, inputs);
    tflite_put_ref(&l->b, TFLITE_Operator_outputs, outputs);
    if (op->options >= TFLITE_SECOND) {
        tflite_put_union(&l->b, TFLITE_Operator_builtin_options_2, op->options - TFLITE_SECOND, options);
    } else {
        tflite_put_union(&l->b, TFLITE_Operator_builtin_options, op->options, options);
    }
    tflite_put_ref(&l->b, TFLITE_Operator_custom_options, custom);
    tflite_put_ref(&l->b, TFLITE_Operator_intermediates, intermediates);
    return wire_build_table_end(&l->b);
}

static wire_ref write_graph(layout *l, const tflite_file_graph *g) {
    wire_ref *ops = refs_of(l, g->ops.n), *tensors = refs_of(l, g->tensors.n);
    for (size_t i = g->ops.n; i-- > 0;) {
        ops[i] = write_operator(l, &g->ops.at[i]);
    }
    for (size_t i = g->tensors.n; i-- > 0;) {
        tensors[i] = write_tensor(l, &g->tensors.at[i]);
    }
    wire_ref name = string_of(l, g->name), op_list = wire_build_refs(&l->b, ops, g->ops.n);
    wire_ref outputs = wire_build_i32s(&l->b, g->outputs, g->output_count);
    wire_ref inputs = wire_build_i32s(&l->b, g->inputs, g->input_count);
    wire_ref tensor_list = wire_build_refs(&l->b, tensors, g->tensors.n);
    wire_build_table(&l->b);
    tflite_put_ref(&l->b, TFLITE_SubGraph_tensors, tensor_list);
    tflite_put_ref(&l->b, TFLITE_SubGraph_inputs, inputs);
    tflite_put_ref(&l->b, TFLITE_SubGraph_outputs, outputs);
    tflite_put_ref(&l->b, TFLITE_SubGraph_operators, op_list);
    tflite_put_ref(&l->b, TFLITE_SubGraph_name, name);
    return wire_build_table_end(&l->b);
}

static wire_ref write_graphs(layout *l) {
    size_t n = l->file->graphs.n;
    wire_ref *list = refs_of(l, n);
    for (size_t i = n; i-- > 0;) {
        list[i] = write_graph(l, &l->file->graphs.at[i]);
    }
    return wire_build_refs(&l->b, list, n);
}

/* ---- operator codes ---- */

/* Readers from before there were more than 127 operators know the old field alone: it says the code, or 127. */
static wire_ref write_codes(layout *l) {
    size_t n = l->file->codes.n;
    wire_ref *list = refs_of(l, n);
    for (size_t i = n; i-- > 0;) {
        const tflite_file_code *code = &l->file->codes.at[i];
        const int most = TFLITE_OP_PLACEHOLDER_FOR_GREATER_OP_CODES;
        wire_ref custom = string_of(l, code->custom);
        wire_build_table(&l->b);
        tflite_put_int(&l->b, TFLITE_OperatorCode_deprecated_builtin_code, code->builtin < most ? code->builtin : most);
        tflite_put_ref(&l->b, TFLITE_OperatorCode_custom_code, custom);
        tflite_put_int(&l->b, TFLITE_OperatorCode_version, code->version);
        tflite_put_int(&l->b, TFLITE_OperatorCode_builtin_code, code->builtin);
        list[i] = wire_build_table_end(&l->b);
    }
    return wire_build_refs(&l->b, list, n);
}

/* ---- signatures and metadata ---- */

static wire_ref write_ports(layout *l, const ir_port *ports, size_t n, const int32_t *tensors) {
    wire_ref *list = refs_of(l, n);
    for (size_t i = n; i-- > 0;) {
        wire_ref name = text_of(l, ports[i].name);
        wire_build_table(&l->b);
        tflite_put_ref(&l->b, TFLITE_TensorMap_name, name);
        tflite_put_int(&l->b, TFLITE_TensorMap_tensor_index, tensors[ports[i].at]);
        list[i] = wire_build_table_end(&l->b);
    }
    return wire_build_refs(&l->b, list, n);
}

static wire_ref write_signatures(layout *l) {
    size_t n = l->m->signatures.n;
    wire_ref *list = refs_of(l, n);
    for (size_t i = n; i-- > 0;) {
        const ir_signature *s = &l->m->signatures.at[i];
        const tflite_file_graph *g = &l->file->graphs.at[s->graph];
        wire_ref key = text_of(l, s->name);
        wire_ref outputs = write_ports(l, s->outputs, s->output_count, g->outputs);
        wire_ref inputs = write_ports(l, s->inputs, s->input_count, g->inputs);
        wire_build_table(&l->b);
        tflite_put_ref(&l->b, TFLITE_SignatureDef_inputs, inputs);
        tflite_put_ref(&l->b, TFLITE_SignatureDef_outputs, outputs);
        tflite_put_ref(&l->b, TFLITE_SignatureDef_signature_key, key);
        tflite_put_int(&l->b, TFLITE_SignatureDef_subgraph_index, s->graph);
        list[i] = wire_build_table_end(&l->b);
    }
    return n ? wire_build_refs(&l->b, list, n) : 0;
}

static wire_ref write_entry(layout *l, const char *key, uint32_t buffer) {
    wire_ref name = text_of(l, key);
    wire_build_table(&l->b);
    tflite_put_ref(&l->b, TFLITE_Metadata_name, name);
    tflite_put_int(&l->b, TFLITE_Metadata_buffer, buffer);
    return wire_build_table_end(&l->b);
}

static wire_ref write_metadata(layout *l) {
    const size_t n = l->m->metadata.n, all = n + (l->file->places != 0);
    wire_ref *list = refs_of(l, all);
    if (all > n) {
        list[n] = write_entry(l, TFLITE_PLACES, l->file->places);
    }
    for (size_t i = n; i-- > 0;) {
        list[i] = write_entry(l, l->m->metadata.at[i].name, l->file->metadata[i]);
    }
    return all ? wire_build_refs(&l->b, list, all) : 0;
}

/* ---- all of it ---- */

static size_t about(const tflite_file *file) {
    size_t n = 1 << 16;
    for (size_t i = 0; i < file->buffers.n; i++) {
        n += file->buffers.at[i].size + BUFFER_ALIGN;
    }
    return n;
}

base_status tflite_write_file(base_arena *arena, const ir_model *m, const tflite_file *file, base_text *out,
                              base_diags *d) {
    layout l = {.arena = arena, .m = m, .file = file};
    wire_build_open(&l.b, arena, about(file));
    wire_ref buffers = write_buffers(&l), metadata = write_metadata(&l), signatures = write_signatures(&l);
    wire_ref graphs = write_graphs(&l), codes = write_codes(&l), description = string_of(&l, m->description);
    wire_build_table(&l.b);
    tflite_put_int(&l.b, TFLITE_Model_version, SCHEMA_VERSION);
    tflite_put_ref(&l.b, TFLITE_Model_operator_codes, codes);
    tflite_put_ref(&l.b, TFLITE_Model_subgraphs, graphs);
    tflite_put_ref(&l.b, TFLITE_Model_description, description);
    tflite_put_ref(&l.b, TFLITE_Model_buffers, buffers);
    tflite_put_ref(&l.b, TFLITE_Model_metadata, metadata);
    tflite_put_ref(&l.b, TFLITE_Model_signature_defs, signatures);
    base_bytes bytes;
    if (!wire_build_finish(&l.b, wire_build_table_end(&l.b), "TFL3", &bytes)) {
        base_place place = {.file = m->file};
        return base_error(d, &place, "a TFLite file of 2 GB or more is not written");
    }
    base_putn(out, bytes.at, bytes.size);
    return BASE_OK;
}

base_status tflite_write(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                         base_diags *d) {
    tflite_file file = {0};
    base_status status = tflite_say_model(arena, m, options ? options->ops : NULL, &file, d);
    if (status == BASE_OK && options && options->writing.place) {
        status = tflite_say_places(arena, m, &options->writing, &file, d);
    }
    return status == BASE_OK ? tflite_write_file(arena, m, &file, out, d) : status;
}
