/* arrays.c - files of one TensorProto (.pb): what ONNX's own tests and tools keep inputs and outputs in.
 *
 * Takes untrusted bytes, or a tensor with contents. Gives its type, shape and contents, or the bytes.
 */
#include "formats/onnx/arrays.h"

#include "formats/onnx/reader.h"

static wire_pb_out without_contents(base_arena *arena, const ir_tensor *t) {
    wire_pb_out out = {.arena = arena};
    wire_pb_put_ints(&out, ONNX_TENSOR_DIMS, t->shape.dim, t->shape.rank);
    wire_pb_put_int(&out, ONNX_TENSOR_DATA_TYPE, onnx_type_code(t->type));
    wire_pb_put_text(&out, ONNX_TENSOR_NAME, t->name);
    return out;
}

static void put_entry(wire_pb_out *out, const char *key, const char *value) {
    wire_pb_out entry = {.arena = out->arena};
    wire_pb_put_text(&entry, ONNX_ENTRY_KEY, key);
    wire_pb_put_text(&entry, ONNX_ENTRY_VALUE, value);
    wire_pb_put_message(out, ONNX_TENSOR_EXTERNAL_DATA, &entry);
}

wire_pb_out onnx_tensor_beside(base_arena *arena, const ir_tensor *t, const char *name, uint64_t offset, uint64_t n) {
    wire_pb_out out = without_contents(arena, t);
    put_entry(&out, "location", name);
    put_entry(&out, "offset", base_printf(arena, "%llu", (unsigned long long)offset));
    put_entry(&out, "length", base_printf(arena, "%llu", (unsigned long long)n));
    wire_pb_put_int(&out, ONNX_TENSOR_DATA_LOCATION, 1);
    return out;
}

static void put_strings(wire_pb_out *out, const base_map *strings, const ir_tensor *t) {
    uint64_t n = 0;
    (void)ir_shape_elements(&t->shape, &n);
    for (uint64_t i = 0; i < n; i++) {
        size_t size = 0;
        const char *at = base_string_at(strings, (uint32_t)base_load(BASE_STR, t->data, i).u, &size);
        wire_pb_put_bytes(out, ONNX_TENSOR_STRING_DATA, at ? at : "", size);
    }
}

wire_pb_out onnx_tensor_message(base_arena *arena, const base_map *strings, const ir_tensor *t) {
    wire_pb_out out = without_contents(arena, t);
    uint64_t bytes = 0;
    (void)ir_tensor_bytes(t, &bytes);
    if (t->type == BASE_STR) {
        put_strings(&out, strings, t);
        return out;
    }
    wire_pb_put_bytes(&out, ONNX_TENSOR_RAW_DATA, t->data, (size_t)bytes);
    return out;
}

base_status onnx_read_array(base_arena *arena, const char *file, base_bytes bytes, base_map *strings, ir_tensor *out,
                            base_diags *d) {
    onnx_reader r = {.arena = arena, .file = file, .d = d, .strings = strings};
    r.notes = formats_notes_new(arena, file);
    wire_pb_open(&r.pb, file, bytes, d);
    const wire_path path = {.name = "tensor", .index = WIRE_NO_INDEX};
    const bool fine = onnx_read_tensor(&r, &path, wire_pb_root(&r.pb), out);
    (void)formats_notes_report(r.notes, d);
    return fine ? BASE_OK : BASE_REFUSED;
}

void onnx_write_array(base_arena *arena, const base_map *strings, const ir_tensor *t, base_text *out) {
    const wire_pb_out message = onnx_tensor_message(arena, strings, t);
    wire_pb_finish(&message, out);
}
