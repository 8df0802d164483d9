/* tensors.c - TensorProto: constants, borrowed from the file where they stand there as Burin has them.
 *
 * Takes untrusted messages. Gives type, shape and dense contents. What is stored as numbers of another width is converted
 * into the arena; the size of that is bounded by the bytes that stand in the file.
 */
#include "formats/onnx/reader.h"

#include <string.h>

/* The fields of one message. */
typedef struct stored {
    ir_shape shape;
    size_t dims; /* more than IR_MAX_RANK: too many */
    int64_t type;
    const char *name;
    uint64_t byte;
    bool has_raw, external, segmented;
    onnx_external elsewhere;
    base_bytes raw;
    BASE_VEC(wire_pb_field) lists; /* of the typed fields, all of one number */
} stored;

static void read_dims(onnx_reader *r, const wire_path *path, const wire_pb_field *f, stored *s) {
    uint64_t k = 0, v;
    while (wire_pb_varint_in(&r->pb, path, f, &k, &v)) {
        if ((int64_t)v < 0) {
            wire_pb_error(&r->pb, path, f->at, "dims[%zu] is %lld", s->dims, (long long)v);
        } else if (s->dims < IR_MAX_RANK) {
            s->shape.dim[s->dims] = (int64_t)v;
        }
        s->dims++;
    }
}

static void read_field(onnx_reader *r, const wire_path *path, const wire_pb_field *f, stored *s) {
    switch (f->number) {
    case ONNX_TENSOR_DIMS:
        read_dims(r, path, f, s);
        break;
    case ONNX_TENSOR_DATA_TYPE:
        s->type = wire_pb_int(&r->pb, path, f);
        s->byte = f->at;
        break;
    case ONNX_TENSOR_NAME:
        s->name = wire_pb_text(r->arena, &r->pb, path, f);
        break;
    case ONNX_TENSOR_RAW_DATA:
        s->raw = wire_pb_bytes(&r->pb, path, f);
        s->has_raw = true;
        break;
    case ONNX_TENSOR_SEGMENT:
        s->segmented = true;
        break;
    case ONNX_TENSOR_DATA_LOCATION:
        s->external = wire_pb_int(&r->pb, path, f) == 1;
        break;
    case ONNX_TENSOR_EXTERNAL_DATA:
        onnx_read_external(r, path, wire_pb_message(&r->pb, path, f), &s->elsewhere);
        break;
    case ONNX_TENSOR_FLOAT_DATA:
    case ONNX_TENSOR_INT32_DATA:
    case ONNX_TENSOR_INT64_DATA:
    case ONNX_TENSOR_DOUBLE_DATA:
    case ONNX_TENSOR_UINT64_DATA:
    case ONNX_TENSOR_STRING_DATA:
        if (s->lists.n && s->lists.at[0].number != f->number) {
            wire_pb_error(&r->pb, path, f->at, "its contents stand in two fields");
        }
        *BASE_PUSH(r->arena, &s->lists) = *f;
        break;
    default:
        break;
    }
}

/* Which field holds the contents of a type, and the bytes of a value there; 0: varints. */
static unsigned field_of(base_type type, unsigned *width) {
    *width = type == BASE_F64 ? 8 : type == BASE_F32 ? 4 : 0;
    switch (type) {
    case BASE_F32:
        return ONNX_TENSOR_FLOAT_DATA;
    case BASE_F64:
        return ONNX_TENSOR_DOUBLE_DATA;
    case BASE_I64:
        return ONNX_TENSOR_INT64_DATA;
    case BASE_STR:
        return ONNX_TENSOR_STRING_DATA;
    case BASE_U32:
    case BASE_U64:
        return ONNX_TENSOR_UINT64_DATA;
    default:
        return ONNX_TENSOR_INT32_DATA;
    }
}

/* One value of a typed field is an element, or (of elements below a byte) a byte of several. */
static bool convert(onnx_reader *r, const wire_path *path, const stored *s, unsigned width, size_t bytes_of_value,
                    uint8_t *out, uint64_t bytes) {
    uint64_t done = 0;
    for (size_t i = 0; i < s->lists.n; i++) {
        uint64_t k = 0, v;
        const wire_pb_field *f = &s->lists.at[i];
        while (width ? wire_pb_fixed_in(&r->pb, path, f, width, &k, &v) : wire_pb_varint_in(&r->pb, path, f, &k, &v)) {
            if (bytes - done < bytes_of_value) {
                wire_pb_error(&r->pb, path, f->at, "it has more values than its %s",
                              s->shape.rank ? "shape" : "one element");
                return false;
            }
            for (size_t b = 0; b < bytes_of_value; b++) {
                out[done++] = (uint8_t)(v >> (8 * b));
            }
        }
    }
    if (!wire_pb_failed(&r->pb) && done != bytes) {
        wire_pb_error(&r->pb, path, s->lists.n ? s->lists.at[0].at : s->byte,
                      "its values have %llu bytes, and its shape %llu", (unsigned long long)done,
                      (unsigned long long)bytes);
    }
    return !wire_pb_failed(&r->pb);
}

/* So many bytes can stand in the fields at most: each value there has one or more. */
static uint64_t most_stored(const stored *s, size_t bytes_of_value) {
    uint64_t n = 0;
    for (size_t i = 0; i < s->lists.n; i++) {
        n += s->lists.at[i].type == WIRE_PB_BYTES ? s->lists.at[i].size : 1;
    }
    return n * bytes_of_value;
}

/* Each is a field of its own. */
static bool read_strings(onnx_reader *r, const wire_path *path, const stored *s, ir_tensor *t, uint64_t n) {
    if (s->has_raw || n != s->lists.n) {
        wire_pb_error(&r->pb, path, s->byte,
                      s->has_raw ? "strings stand in raw_data" : "it has %zu strings, and %llu elements", s->lists.n,
                      (unsigned long long)n);
        return false;
    }
    uint8_t *data = base_alloc(r->arena, (size_t)n + 1, sizeof(uint32_t));
    for (size_t i = 0; i < n && !wire_pb_failed(&r->pb); i++) {
        const base_bytes one = wire_pb_bytes(&r->pb, path, &s->lists.at[i]);
        base_store(BASE_STR, data, i, (base_value){.u = base_string_number(r->strings, one.at, one.size)});
    }
    t->data = data;
    return !wire_pb_failed(&r->pb);
}

static bool read_contents(onnx_reader *r, const wire_path *path, const stored *s, ir_tensor *t) {
    uint64_t bytes;
    unsigned width;
    if (!ir_tensor_bytes(t, &bytes)) {
        wire_pb_error(&r->pb, path, s->byte, "%s are too many elements", ir_shape_print(r->arena, &t->shape));
        return false;
    }
    if (s->has_raw && s->lists.n) {
        wire_pb_error(&r->pb, path, s->byte, "its contents stand in two fields");
        return false;
    }
    if (t->type == BASE_STR && (!s->lists.n || s->lists.at[0].number == ONNX_TENSOR_STRING_DATA)) {
        return read_strings(r, path, s, t, bytes / sizeof(uint32_t));
    }
    if (s->has_raw) {
        if (s->raw.size != bytes) {
            wire_pb_error(&r->pb, path, s->raw.at ? (uint64_t)(s->raw.at - r->pb.bytes.at) : s->byte,
                          "raw_data has %zu bytes: %s %s has %llu", s->raw.size, base_type_name(t->type),
                          ir_shape_print(r->arena, &t->shape), (unsigned long long)bytes);
            return false;
        }
        t->data = bytes ? (const void *)s->raw.at : "";
        return true;
    }
    const unsigned field = field_of(t->type, &width), bits = base_type_bits(t->type);
    const size_t bytes_of_value = bits < 8 ? 1 : bits / 8;
    if (s->lists.n && s->lists.at[0].number != field) {
        wire_pb_error(&r->pb, path, s->lists.at[0].at, "contents of %s stand in another field",
                      onnx_type_name(s->type));
        return false;
    }
    if (bytes && s->lists.n == 1 && width && s->lists.at[0].type == WIRE_PB_BYTES && s->lists.at[0].size == bytes) {
        t->data = r->pb.bytes.at + s->lists.at[0].at; /* little-endian and dense, as Burin has it */
        return true;
    }
    if (bytes > most_stored(s, bytes_of_value)) {
        wire_pb_error(&r->pb, path, s->byte, "its values have fewer than the %llu bytes of %s %s",
                      (unsigned long long)bytes, base_type_name(t->type), ir_shape_print(r->arena, &t->shape));
        return false;
    }
    uint8_t *data = base_alloc(r->arena, 1, (size_t)bytes + 1);
    t->data = data;
    return convert(r, path, s, width, bytes_of_value, data, bytes);
}

bool onnx_read_tensor(onnx_reader *r, const wire_path *path, wire_message m, ir_tensor *t) {
    stored s = {.byte = m.at};
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        read_field(r, path, &f, &s);
    }
    if (wire_pb_failed(&r->pb)) {
        return false;
    }
    const char *type = onnx_type_name(s.type);
    *t = (ir_tensor){.name = s.name ? s.name : "", .type = onnx_type_base(s.type)};
    t->state = IR_NONE;
    t->source = IR_NONE;
    if (s.dims > IR_MAX_RANK) {
        wire_pb_error(&r->pb, path, s.byte, "it has %zu dims: a tensor may have %u", s.dims, IR_MAX_RANK);
    } else if (!type) {
        wire_pb_error(&r->pb, path, s.byte, "data_type %lld is no type", (long long)s.type);
    } else if (s.segmented) {
        formats_note(r->notes, path, s.byte, "a tensor in segments", "save the model anew");
    } else if (onnx_type_base(s.type) == BASE_NONE) {
        formats_note(r->notes, path, s.byte, base_printf(r->arena, "a constant of type %s", type),
                     "convert the model without it");
    } else {
        s.shape.rank = (uint32_t)s.dims;
        t->shape = s.shape;
        if (s.external && t->type == BASE_STR) {
            wire_pb_error(&r->pb, path, s.byte, "strings stand in a file beside the model, which holds numbers alone");
            return false;
        }
        return s.external ? onnx_take_external(r, path, s.byte, &s.elsewhere, t) : read_contents(r, path, &s, t);
    }
    return false;
}
