/* protobuf.c - the bounded Protocol Buffers cursor (protobuf.h).
 *
 * Takes untrusted bytes. Gives fields in the order in which they stand. Follows nothing by itself: nothing here recurses.
 */
#include "wire/protobuf.h"

#include <string.h>

enum { MOST_DEPTH = 64, GROUP_BEGINS = 3, GROUP_ENDS = 4 };

void wire_pb_open(wire_pb *pb, const char *file, base_bytes bytes, base_diags *d) {
    *pb = (wire_pb){.bytes = bytes, .file = file, .d = d};
}

wire_message wire_pb_root(const wire_pb *pb) {
    return (wire_message){.at = 0, .end = pb->bytes.size};
}

bool wire_pb_failed(const wire_pb *pb) {
    return pb->failed;
}

base_status wire_pb_error(wire_pb *pb, const wire_path *path, uint64_t byte, const char *format, ...) {
    if (pb->failed) {
        return BASE_REFUSED;
    }
    pb->failed = true;
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(pb->d->arena, format, list);
    va_end(list);
    base_place place = {.file = pb->file, .byte = byte, .has_byte = true};
    place.path = path ? wire_path_print(pb->d->arena, path) : NULL;
    return base_error(pb->d, &place, "%s", message);
}

/* A varint that ends before `end`: at most 10 bytes, the last of which holds one bit. */
static bool read_varint(wire_pb *pb, const wire_path *path, uint64_t *at, uint64_t end, uint64_t *value) {
    const uint64_t begin = *at;
    *value = 0;
    for (unsigned shift = 0; shift < 70 && *at < end; shift += 7) {
        const uint8_t byte = pb->bytes.at[(*at)++];
        if (shift == 63 && byte > 1) {
            wire_pb_error(pb, path, begin, "a number of more than 64 bits");
            return false;
        }
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    wire_pb_error(pb, path, begin, "the message ends within a number");
    return false;
}

static uint64_t load(const wire_pb *pb, uint64_t at, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        value |= (uint64_t)pb->bytes.at[at + i] << (8 * i);
    }
    return value;
}

/* A field of any wire type; of a group that begins or ends (3, 4) only its number. */
static bool next_piece(wire_pb *pb, const wire_path *path, wire_message *m, wire_pb_field *f) {
    uint64_t key;
    const uint64_t begin = m->at;
    if (pb->failed || m->at >= m->end || !read_varint(pb, path, &m->at, m->end, &key)) {
        return false;
    }
    const uint64_t number = key >> 3;
    const unsigned type = key & 7;
    if (!number || number > 0x1fffffff) {
        wire_pb_error(pb, path, begin, "field number %llu", (unsigned long long)number);
        return false;
    }
    *f = (wire_pb_field){.number = (uint32_t)number, .type = (wire_pb_type)type, .depth = m->depth + 1};
    f->at = m->at;
    switch (type) {
    case WIRE_PB_VARINT:
        return read_varint(pb, path, &m->at, m->end, &f->value);
    case WIRE_PB_I64:
    case WIRE_PB_I32:
        f->size = type == WIRE_PB_I64 ? 8 : 4;
        break;
    case WIRE_PB_BYTES:
        if (!read_varint(pb, path, &m->at, m->end, &f->size)) {
            return false;
        }
        f->at = m->at;
        break;
    case GROUP_BEGINS:
    case GROUP_ENDS:
        return true;
    default:
        wire_pb_error(pb, path, begin, "wire type %u: no field has it", type);
        return false;
    }
    if (f->size > m->end - m->at) {
        wire_pb_error(pb, path, begin, "field %lu has %llu bytes, and its message ends after %llu",
                      (unsigned long)f->number, (unsigned long long)f->size, (unsigned long long)(m->end - m->at));
        return false;
    }
    if (type != WIRE_PB_BYTES) {
        f->value = load(pb, f->at, (unsigned)f->size);
    }
    m->at += f->size;
    return true;
}

/* Groups are obsolete: no format that is read has one, and one in a file is a field that the format does not know. */
bool wire_pb_next(wire_pb *pb, const wire_path *path, wire_message *m, wire_pb_field *f) {
    uint32_t open[MOST_DEPTH];
    unsigned depth = 0;
    const uint64_t begin = m->at;
    while (next_piece(pb, path, m, f)) {
        if ((unsigned)f->type == GROUP_BEGINS) {
            if (depth == MOST_DEPTH) {
                wire_pb_error(pb, path, begin, "groups are more than %d deep in each other", MOST_DEPTH);
                return false;
            }
            open[depth++] = f->number;
        } else if ((unsigned)f->type == GROUP_ENDS) {
            if (!depth || open[--depth] != f->number) {
                wire_pb_error(pb, path, begin, "a group ends that did not begin");
                return false;
            }
        } else if (!depth) {
            return true;
        }
    }
    if (depth) {
        wire_pb_error(pb, path, begin, "the message ends within a group");
    }
    return false;
}

static bool is_type(wire_pb *pb, const wire_path *path, const wire_pb_field *f, wire_pb_type type) {
    static const char *const names[] = {"a varint", "8 bytes", "a length and bytes", "", "", "4 bytes"};
    if (!pb->failed && f->type != type) {
        wire_pb_error(pb, path, f->at, "it is stored as %s: expected %s", names[f->type], names[type]);
    }
    return !pb->failed;
}

wire_message wire_pb_message(wire_pb *pb, const wire_path *path, const wire_pb_field *f) {
    const wire_message none = {0};
    if (!is_type(pb, path, f, WIRE_PB_BYTES)) {
        return none;
    }
    if (f->depth > MOST_DEPTH) {
        wire_pb_error(pb, path, f->at, "messages are nested more than %d deep", MOST_DEPTH);
        return none;
    }
    return (wire_message){.at = f->at, .end = f->at + f->size, .depth = f->depth};
}

base_bytes wire_pb_bytes(wire_pb *pb, const wire_path *path, const wire_pb_field *f) {
    const base_bytes none = {0};
    return is_type(pb, path, f, WIRE_PB_BYTES) ? (base_bytes){pb->bytes.at + f->at, (size_t)f->size} : none;
}

char *wire_pb_text(base_arena *arena, wire_pb *pb, const wire_path *path, const wire_pb_field *f) {
    const base_bytes b = wire_pb_bytes(pb, path, f);
    if (b.size && memchr(b.at, 0, b.size)) {
        wire_pb_error(pb, path, f->at, "the text holds a NUL");
    }
    return pb->failed || !b.size ? base_strdup(arena, "") : base_strndup(arena, (const char *)b.at, b.size);
}

int64_t wire_pb_int(wire_pb *pb, const wire_path *path, const wire_pb_field *f) {
    return is_type(pb, path, f, WIRE_PB_VARINT) ? (int64_t)f->value : 0;
}

float wire_pb_float(wire_pb *pb, const wire_path *path, const wire_pb_field *f) {
    float v = 0;
    if (is_type(pb, path, f, WIRE_PB_I32)) {
        const uint32_t bits = (uint32_t)f->value;
        memcpy(&v, &bits, sizeof v);
    }
    return v;
}

bool wire_pb_varint_in(wire_pb *pb, const wire_path *path, const wire_pb_field *f, uint64_t *k, uint64_t *value) {
    if (pb->failed) {
        return false;
    }
    if (f->type == WIRE_PB_VARINT) {
        *value = f->value;
        return !(*k)++;
    }
    if (!is_type(pb, path, f, WIRE_PB_BYTES) || *k >= f->size) {
        return false;
    }
    uint64_t at = f->at + *k;
    bool fine = read_varint(pb, path, &at, f->at + f->size, value);
    *k = at - f->at;
    return fine;
}

bool wire_pb_fixed_in(wire_pb *pb, const wire_path *path, const wire_pb_field *f, unsigned width, uint64_t *k,
                      uint64_t *value) {
    if (pb->failed) {
        return false;
    }
    if (f->type == (width == 8 ? WIRE_PB_I64 : WIRE_PB_I32)) {
        *value = f->value;
        return !(*k)++;
    }
    if (!is_type(pb, path, f, WIRE_PB_BYTES) || *k >= f->size) {
        return false;
    }
    if (f->size - *k < width) {
        wire_pb_error(pb, path, f->at + *k, "the list ends within a value");
        return false;
    }
    *value = load(pb, f->at + *k, width);
    *k += width;
    return true;
}
