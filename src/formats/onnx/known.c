/* known.c - nodes whose value is known when the file is read: constants, and what only asks for extents.
 *
 * Takes a node. Gives constants of the graph. A name that Identity gives stands for the same tensor.
 */
#include "formats/onnx/special.h"

#include <string.h>

const onnx_special *onnx_special_of(const char *domain, const char *op, int64_t version) {
    static const onnx_special specials[] = {
        {"", "Constant", 1, onnx_read_constant},
        {"", "Identity", 1, onnx_read_identity},
        {"", "Shape", 1, onnx_read_shape},
        {"", "Size", 1, onnx_read_size},
        {"", "Max", 1, onnx_read_max},
        {"", "Min", 1, onnx_read_min},
        {"", "Sum", 1, onnx_read_sum},
        {"", "Mean", 1, onnx_read_mean},
        {"", "Einsum", 12, onnx_read_einsum},
        {"ai.onnx.preview.training", "Adagrad", 1, onnx_read_adagrad},
        {"ai.onnx.preview.training", "Adam", 1, onnx_read_adam},
        {"ai.onnx.preview.training", "Momentum", 1, onnx_read_momentum},
        {"", "If", 1, onnx_read_if},
        {"", "Loop", 1, onnx_read_loop},
        {"", "Scan", 8, onnx_read_scan_8},
        {"", "Scan", 9, onnx_read_scan},
        {"", "SequenceConstruct", 11, onnx_read_sequence_construct},
        {"", "SequenceEmpty", 11, onnx_read_sequence_empty},
        {"", "SequenceInsert", 11, onnx_read_sequence_insert},
        {"", "SequenceErase", 11, onnx_read_sequence_erase},
        {"", "SequenceAt", 11, onnx_read_sequence_at},
        {"", "SequenceLength", 11, onnx_read_sequence_length},
        {"", "SequenceMap", 17, onnx_read_sequence_map},
        {"", "ConcatFromSequence", 11, onnx_read_concat_from_sequence},
        {"", "SplitToSequence", 11, onnx_read_split_to_sequence},
        {"", "Optional", 15, onnx_read_optional},
        {"", "OptionalGetElement", 15, onnx_read_optional_get},
        {"", "OptionalHasElement", 15, onnx_read_optional_has},
        {"", "StringConcat", 20, onnx_read_string_concat},
        {"", "StringSplit", 20, onnx_read_string_split},
        {"", "StringNormalizer", 10, onnx_read_string_normalizer},
        {"", "RegexFullMatch", 20, onnx_read_regex_full_match},
        {"ai.onnx.ml", "ZipMap", 1, onnx_read_zip_map},
        {"ai.onnx.preview", "FlexAttention", 1, onnx_read_flex_attention},
    };
    const onnx_special *best = NULL;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (!strcmp(specials[i].domain, domain) && !strcmp(specials[i].op, op) && version >= specials[i].since) {
            best = &specials[i];
        }
    }
    return best;
}

static uint32_t add_constant(onnx_op *op, base_type type, const ir_shape *shape, const void *data) {
    const char *name = op->output_count ? op->output_names[0] : "";
    const uint32_t index = ir_tensor_add(op->r->m, onnx_graph_of(op->r, op->scope), name, type, shape);
    onnx_graph_of(op->r, op->scope)->tensors.at[index].data = data;
    return index;
}

static bool is_one(onnx_op *op, size_t inputs) {
    if (op->input_count != inputs || op->output_count != 1) {
        onnx_op_error(op, "%zu inputs and %zu outputs: expected %zu and 1", op->input_count, op->output_count, inputs);
    }
    return !onnx_op_failed(op);
}

/* ---- Constant ---- */

static void give_list(onnx_op *op, base_type type, const onnx_attr *a, const void *data, bool scalar) {
    const ir_shape shape = scalar ? (ir_shape){0} : ir_shape_of(1, &(int64_t){(int64_t)a->n});
    onnx_give(op, 0, add_constant(op, type, &shape, data ? data : ""));
}

static void give_tensor(onnx_op *op, const onnx_attr *a) { /* or a sparse one */
    ir_tensor t;
    const wire_path path = {.outer = op->path, .name = a->name, .index = WIRE_NO_INDEX};
    if (a->type == ONNX_TENSOR ? onnx_read_tensor(op->r, &path, a->message, &t)
                               : onnx_read_sparse(op->r, &path, a->message, &t)) {
        onnx_give(op, 0, add_constant(op, t.type, &t.shape, t.data));
    }
}

static void give_strings(onnx_op *op, const onnx_attr *a) {
    const bool one = a->type == ONNX_STRING;
    const uint32_t *numbers = onnx_op_strings(op, one ? &a->s : a->strings, one ? 1 : a->n);
    give_list(op, BASE_STR, a, numbers, one);
}

void onnx_read_constant(onnx_op *op) {
    static const struct {
        const char *name;
        onnx_attr_type type;
        int since;
    } values[] = {{"value", ONNX_TENSOR, 1},           {"value_float", ONNX_FLOAT, 12},
                  {"value_floats", ONNX_FLOATS, 12},   {"value_int", ONNX_INT, 12},
                  {"value_ints", ONNX_INTS, 12},       {"value_string", ONNX_STRING, 12},
                  {"value_strings", ONNX_STRINGS, 12}, {"sparse_value", ONNX_SPARSE_TENSOR, 11}};
    const onnx_attr *a = NULL;
    for (size_t i = 0; i < sizeof values / sizeof *values && op->opset >= 1; i++) {
        if (op->opset < values[i].since) {
            continue;
        }
        const onnx_attr *one = onnx_op_attr(op, values[i].name, values[i].type);
        if (one && a) {
            onnx_op_error(op, "it has %s and %s: expected one value", a->name, one->name);
        }
        a = one ? one : a;
    }
    if (onnx_op_failed(op) || !is_one(op, 0)) {
        return;
    }
    switch (a ? a->type : ONNX_UNDEFINED) {
    case ONNX_TENSOR:
    case ONNX_SPARSE_TENSOR:
        give_tensor(op, a);
        break;
    case ONNX_FLOAT:
        give_list(op, BASE_F32, a, &a->f, true);
        break;
    case ONNX_INT:
        give_list(op, BASE_I64, a, &a->i, true);
        break;
    case ONNX_FLOATS:
        give_list(op, BASE_F32, a, a->floats, false);
        break;
    case ONNX_INTS:
        give_list(op, BASE_I64, a, a->ints, false);
        break;
    case ONNX_UNDEFINED:
        onnx_op_error(op, "it has no value");
        break;
    default:
        give_strings(op, a);
        break;
    }
}

/* ---- Shape, Size, Identity ---- */

static bool is_tensor(onnx_op *op) {
    if (!onnx_op_has_input(op, 0)) {
        onnx_op_error(op, "input 0 is %s: expected a tensor", onnx_value_print(op->r, op->scope, &op->values[0]));
        return false;
    }
    return true;
}

/* Of extents that data decides a run says what they are. */
static uint32_t counted_shape(onnx_op *op) {
    onnx_op made = onnx_make(op, op->scope, "shape", op->inputs, 1);
    onnx_graph_of(op->r, op->scope)->tensors.at[made.outputs[0]].type = BASE_I64;
    return onnx_finish(&made);
}

/* Entries start to end of a shape. IR_NONE: noted, or a fault. */
static uint32_t part_of(onnx_op *op, uint32_t shape, int64_t start, int64_t end, int64_t rank) {
    if (shape == IR_NONE || (start == 0 && end == rank)) {
        return shape;
    }
    onnx_op made = onnx_make(op, op->scope, "slice", &shape, 1);
    ir_attr_ints(op->r->m, made.node, "begin", &start, 1);
    ir_attr_ints(op->r->m, made.node, "extents", &(int64_t){end - start}, 1);
    return onnx_finish(&made);
}

static void give_made(onnx_op *op, uint32_t tensor) {
    if (tensor != IR_NONE) {
        onnx_give(op, 0, tensor);
    }
}

void onnx_read_shape(onnx_op *op) {
    if (!is_one(op, 1) || !is_tensor(op)) {
        return;
    }
    const ir_shape *shape = &onnx_op_input(op, 0)->shape;
    const int64_t rank = shape->rank;
    int64_t start = op->opset >= 15 ? onnx_op_int(op, "start", 0) : 0,
            end = op->opset >= 15 ? onnx_op_int(op, "end", rank) : rank;
    start = start < 0 ? start + rank : start;
    end = end < 0 ? end + rank : end;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end < start ? start : end > rank ? rank : end;
    if (ir_shape_open(shape) >> start & ((UINT64_C(1) << (end - start)) - 1)) {
        give_made(op, part_of(op, counted_shape(op), start, end, rank));
        return;
    }
    int64_t *extents = BASE_NEWS(op->r->arena, int64_t, (size_t)rank + 1);
    memcpy(extents, shape->dim + start, (size_t)(end - start) * sizeof *extents);
    const ir_shape list = ir_shape_of(1, &(int64_t){end - start});
    onnx_give(op, 0, add_constant(op, BASE_I64, &list, extents));
}

void onnx_read_size(onnx_op *op) {
    uint64_t elements = 0;
    if (!is_one(op, 1) || !is_tensor(op) || !ir_shape_elements(&onnx_op_input(op, 0)->shape, &elements)) {
        return;
    }
    if (ir_shape_open(&onnx_op_input(op, 0)->shape)) {
        const uint32_t list = counted_shape(op);
        if (list != IR_NONE) {
            onnx_op made = onnx_make(op, op->scope, "reduce_prod", &list, 1);
            ir_attr_ints(op->r->m, made.node, "axes", &(int64_t){0}, 1);
            give_made(op, onnx_finish(&made));
        }
        return;
    }
    const ir_shape scalar = {0};
    int64_t *size = BASE_NEW(op->r->arena, int64_t);
    *size = (int64_t)elements;
    onnx_give(op, 0, add_constant(op, BASE_I64, &scalar, size));
}

/* An input of the graph that is an output as well is copied: so the module has two buffers. */
void onnx_read_identity(onnx_op *op) {
    if (is_one(op, 1)) {
        onnx_give_value(op, 0, &op->values[0]);
    }
}
