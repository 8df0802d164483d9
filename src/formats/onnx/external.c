/* external.c - constants whose contents stand in files of their own, beside the model's.
 *
 * Takes untrusted StringStringEntryProtos: location, offset, length. Gives bytes, borrowed from the file, which is mapped
 * once. The file must lie in the model's folder or below it.
 */
#include "formats/onnx/reader.h"

#include <string.h>

typedef struct entries {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} entries;

static bool parse_number(const char *text, uint64_t *out) {
    uint64_t v = 0;
    for (size_t i = 0; text[i]; i++) {
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (text[i] < '0' || text[i] > '9' || v > (UINT64_MAX - digit) / 10) {
            return false;
        }
        v = v * 10 + digit;
    }
    *out = v;
    return *text != 0;
}

void onnx_read_external(onnx_reader *r, const wire_path *path, wire_message m, onnx_external *out) {
    const char *key = "", *value = "";
    const uint64_t byte = m.at;
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        if (f.number == ONNX_ENTRY_KEY) {
            key = wire_pb_text(r->arena, &r->pb, path, &f);
        } else if (f.number == ONNX_ENTRY_VALUE) {
            value = wire_pb_text(r->arena, &r->pb, path, &f);
        }
    }
    bool fine = true;
    if (wire_pb_failed(&r->pb)) {
        return;
    }
    if (!strcmp(key, "location")) {
        out->location = value;
    } else if (!strcmp(key, "offset")) {
        fine = parse_number(value, &out->offset);
    } else if (!strcmp(key, "length")) {
        fine = out->has_length = parse_number(value, &out->length);
    } /* a checksum is the writer's matter, and other keys are anyone's */
    if (!fine) {
        wire_pb_error(&r->pb, path, byte, "external data: %s is \"%s\": expected a number", key,
                      base_printable(r->arena, value, strlen(value), 60));
    }
}

/* NULL: a fault, reported. */
static const base_file *file_at(onnx_reader *r, const wire_path *path, uint64_t byte, const char *location) {
    bool is_new;
    if (!r->files) {
        r->files = base_map_new(r->arena);
    }
    uint64_t *at = base_map_put(r->files, location, strlen(location), &is_new);
    if (is_new) {
        base_file *file = BASE_NEW(r->arena, base_file);
        base_diags own = {.arena = r->arena};
        *at = (uint64_t)(uintptr_t)file;
        if (base_file_read_inside(r->arena, r->options.folder, location, file, &own) != BASE_OK) {
            const base_diag *why = &own.list.at[0]; /* of the system: without the file's name */
            wire_pb_error(&r->pb, path, byte, "external data: %s%s%s",
                          why->file ? base_printable(r->arena, location, strlen(location), 200) : "",
                          why->file ? ": " : "", why->message);
            return NULL;
        }
    }
    return (const base_file *)(uintptr_t)*at;
}

/* The tensor's contents in that file. */
static bool take(onnx_reader *r, const wire_path *path, uint64_t byte, const onnx_external *e, const base_bytes *file,
                 uint64_t bytes, ir_tensor *t) {
    const char *name = base_printable(r->arena, e->location, strlen(e->location), 100);
    if (e->offset > file->size || (e->has_length && e->length > file->size - e->offset)) {
        wire_pb_error(&r->pb, path, byte, "external data: %llu bytes from byte %llu on: %s has %zu",
                      (unsigned long long)(e->has_length ? e->length : bytes), (unsigned long long)e->offset, name,
                      file->size);
        return false;
    }
    const uint64_t length = e->has_length ? e->length : file->size - e->offset;
    if (length != bytes) {
        wire_pb_error(&r->pb, path, byte, "external data: %llu bytes of %s: %s %s has %llu", (unsigned long long)length,
                      name, base_type_name(t->type), ir_shape_print(r->arena, &t->shape), (unsigned long long)bytes);
        return false;
    }
    t->data = bytes ? (const void *)(file->at + e->offset) : "";
    return true;
}

bool onnx_take_external(onnx_reader *r, const wire_path *path, uint64_t byte, const onnx_external *e, ir_tensor *t) {
    uint64_t bytes;
    if (!ir_tensor_bytes(t, &bytes)) {
        wire_pb_error(&r->pb, path, byte, "%s are too many elements", ir_shape_print(r->arena, &t->shape));
        return false;
    }
    if (!e->location) {
        wire_pb_error(&r->pb, path, byte, "external data: there is no location");
        return false;
    }
    if (r->options.beside && !strcmp(r->options.beside, e->location)) {
        return take(r, path, byte, e, &r->options.beside_bytes, bytes, t);
    }
    if (!r->options.folder) {
        formats_note(r->notes, path, byte, "external data of a model that is read from memory",
                     "load it from its file, or save it as one file");
        return false;
    }
    const base_file *file = file_at(r, path, byte, e->location);
    if (!file) {
        return false;
    }
    return take(r, path, byte, e, &(base_bytes){file->at, file->size}, bytes, t);
}
