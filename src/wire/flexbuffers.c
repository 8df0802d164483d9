/* flexbuffers.c - the bounded FlexBuffers cursor (flexbuffers.h).
 *
 * Takes untrusted bytes. Gives verified places in them; reads whole values only through base_get_*. Does not follow
 * anything by itself.
 */
#include "wire/flexbuffers.h"

#include <assert.h>
#include <string.h>

/* The types of the format; typed vectors of 2 to 4 elements stand from FIXED on, by number of elements and kind. */
enum {
    T_NULL = 0,
    T_INT = 1,
    T_UINT = 2,
    T_FLOAT = 3,
    T_KEY = 4,
    T_STRING = 5,
    T_INDIRECT_INT = 6,
    T_INDIRECT_FLOAT = 8,
    T_MAP = 9,
    T_VECTOR = 10,
    T_VECTOR_INT = 11,
    T_VECTOR_STRING = 15, /* deprecated: its elements' widths are not known */
    T_FIXED = 16,
    T_FIXED_END = 24,
    T_BLOB = 25,
    T_BOOL = 26,
    T_VECTOR_BOOL = 36
};

static const wire_flex_value nothing = {0};

void wire_flex_open(wire_flex *f, const char *file, const wire_path *path, uint64_t origin, base_bytes bytes,
                    base_diags *d) {
    *f = (wire_flex){.bytes = bytes, .file = file, .path = path, .origin = origin, .d = d};
}

bool wire_flex_failed(const wire_flex *f) {
    return f->failed;
}

static wire_flex_value fault(wire_flex *f, uint64_t byte, const char *message) {
    if (!f->failed && f->d) {
        base_place place = {.file = f->file, .byte = f->origin + byte, .has_byte = true};
        place.path = f->path ? wire_path_print(f->d->arena, f->path) : NULL;
        base_error(f->d, &place, "%s", message);
    }
    f->failed = true;
    return nothing;
}

/* width bytes as an unsigned number: 1, 2, 4 or 8. */
static bool load(const wire_flex *f, uint64_t at, unsigned width, uint64_t *v) {
    uint8_t v8 = 0;
    uint16_t v16 = 0;
    uint32_t v32 = 0;
    bool in;
    switch (width) {
    case 1:
        in = base_get_u8(f->bytes, at, &v8);
        *v = v8;
        return in;
    case 2:
        in = base_get_u16(f->bytes, at, &v16);
        *v = v16;
        return in;
    case 4:
        in = base_get_u32(f->bytes, at, &v32);
        *v = v32;
        return in;
    default:
        return base_get_u64(f->bytes, at, v);
    }
}

static bool inside(const wire_flex *f, uint64_t at, uint64_t n) {
    return at <= f->bytes.size && n <= f->bytes.size - at;
}

/* Where the offset of width bytes at byte at points back to; false: a fault. */
static bool follow(wire_flex *f, uint64_t at, unsigned width, uint64_t *target) {
    uint64_t back;
    if (!load(f, at, width, &back) || back > at) {
        fault(f, at, "a FlexBuffers offset points outside the buffer");
        return false;
    }
    *target = at - back;
    return true;
}

/* The number that stands before a vector or string whose contents begin at byte at. */
static bool count_before(wire_flex *f, uint64_t at, unsigned width, uint64_t *n) {
    if (at < width || !load(f, at - width, width, n)) {
        fault(f, at, "a FlexBuffers vector begins before the buffer");
        return false;
    }
    return true;
}

static uint8_t packed(unsigned type, unsigned width) {
    static const uint8_t bits[] = {0, 0, 1, 0, 2, 0, 0, 0, 3};
    return (uint8_t)(type << 2 | bits[width]);
}

/* ---- values ---- */

static wire_flex_value scalar_of(wire_flex *f, wire_flex_kind kind, uint64_t at, unsigned width) {
    if (!inside(f, at, width)) {
        return fault(f, at, "a FlexBuffers value is outside the buffer");
    }
    return (wire_flex_value){.kind = kind, .at = at, .width = width};
}

static wire_flex_value key_of(wire_flex *f, uint64_t at) {
    uint64_t room = f->bytes.size - at, most = room < WIRE_FLEX_KEY + 1 ? room : WIRE_FLEX_KEY + 1;
    const uint8_t *end = most ? memchr(f->bytes.at + at, 0, (size_t)most) : NULL;
    if (!end) {
        return fault(f, at, "a FlexBuffers key of more than 255 bytes, or without its NUL");
    }
    return (wire_flex_value){.kind = WIRE_FLEX_TEXT, .at = at, .n = (uint64_t)(end - (f->bytes.at + at)), .width = 1};
}

static wire_flex_value bytes_of(wire_flex *f, wire_flex_kind kind, uint64_t at, unsigned width) {
    uint64_t n;
    if (!count_before(f, at, width, &n)) {
        return nothing;
    }
    return inside(f, at, n) ? (wire_flex_value){.kind = kind, .at = at, .n = n, .width = 1}
                            : fault(f, at, "FlexBuffers bytes end outside the buffer");
}

/* n elements; element: their type byte, 0: type bytes follow them. */
static wire_flex_value vector_of(wire_flex *f, wire_flex_kind kind, uint64_t at, unsigned width, uint64_t n,
                                 uint8_t element) {
    uint64_t bytes;
    if (!base_mul_size(n, width + (element ? 0u : 1u), &bytes) || !inside(f, at, bytes)) {
        return fault(f, at, "the elements of a FlexBuffers vector end outside the buffer");
    }
    return (wire_flex_value){.kind = kind, .at = at, .n = n, .width = width, .element = element};
}

static wire_flex_value map_of(wire_flex *f, uint64_t at, unsigned width, uint64_t n) {
    wire_flex_value v = vector_of(f, WIRE_FLEX_MAP, at, width, n, 0);
    uint64_t keys_width, keys, count;
    if (f->failed) {
        return nothing;
    }
    if (at < 3 * (uint64_t)width || !load(f, at - 2 * (uint64_t)width, width, &keys_width) ||
        !follow(f, at - 3 * (uint64_t)width, width, &keys)) {
        return fault(f, at, "a FlexBuffers map begins before the buffer");
    }
    if (keys_width != 1 && keys_width != 2 && keys_width != 4 && keys_width != 8) {
        return fault(f, at, "the keys of a FlexBuffers map have offsets of a width that does not exist");
    }
    v.keys_at = keys;
    v.keys_width = (unsigned)keys_width;
    if (!count_before(f, keys, v.keys_width, &count)) {
        return nothing;
    }
    if (count != n || !base_mul_size(n, keys_width, &count) || !inside(f, keys, count)) {
        return fault(f, at, "a FlexBuffers map has another number of keys than of values");
    }
    return v;
}

/* A value that stands elsewhere: at its contents, whose elements, or count, have width bytes. */
static wire_flex_value far_value(wire_flex *f, unsigned type, uint64_t at, unsigned width) {
    uint64_t n;
    if (type >= T_INDIRECT_INT && type <= T_INDIRECT_FLOAT) {
        return scalar_of(f, (wire_flex_kind)(WIRE_FLEX_INT + (type - T_INDIRECT_INT)), at, width);
    }
    if (type == T_KEY) {
        return key_of(f, at);
    }
    if (type == T_STRING || type == T_BLOB) {
        return bytes_of(f, type == T_STRING ? WIRE_FLEX_TEXT : WIRE_FLEX_BLOB, at, width);
    }
    if (type >= T_FIXED && type <= T_FIXED_END) {
        unsigned element = T_INT + (type - T_FIXED) % 3;
        return vector_of(f, WIRE_FLEX_VECTOR, at, width, 2 + (type - T_FIXED) / 3, packed(element, width));
    }
    if (!count_before(f, at, width, &n)) {
        return nothing;
    }
    if (type == T_MAP) {
        return map_of(f, at, width, n);
    }
    if (type == T_VECTOR) {
        return vector_of(f, WIRE_FLEX_VECTOR, at, width, n, 0);
    }
    unsigned element = type == T_VECTOR_BOOL ? T_BOOL : type - T_VECTOR_INT + T_INT;
    return vector_of(f, WIRE_FLEX_VECTOR, at, width, n, packed(element, width));
}

/* The value of that type byte that stands in a place of width bytes at byte at. */
static wire_flex_value value_at(wire_flex *f, uint64_t at, unsigned width, uint8_t type_byte) {
    static const wire_flex_kind inline_kinds[] = {WIRE_FLEX_NULL, WIRE_FLEX_INT, WIRE_FLEX_UINT, WIRE_FLEX_FLOAT};
    unsigned type = type_byte >> 2, inner = 1u << (type_byte & 3);
    uint64_t target;
    if (f->failed || type == T_NULL) {
        return nothing;
    }
    if (type <= T_FLOAT || type == T_BOOL) {
        return scalar_of(f, type == T_BOOL ? WIRE_FLEX_BOOL : inline_kinds[type], at, width);
    }
    bool known = (type <= T_BLOB && type != T_VECTOR_STRING) || type == T_VECTOR_BOOL;
    if (!known) {
        return fault(f, at, "a FlexBuffers value of a type that is unknown, or was given up");
    }
    return follow(f, at, width, &target) ? far_value(f, type, target, inner) : nothing;
}

wire_flex_value wire_flex_root(wire_flex *f) {
    uint64_t size = f->bytes.size;
    if (size < 3) {
        return fault(f, 0, "fewer than 3 bytes are no FlexBuffer");
    }
    unsigned width = f->bytes.at[size - 1];
    if ((width != 1 && width != 2 && width != 4 && width != 8) || size - 2 < width) {
        return fault(f, size - 1, "the last byte is no width of a FlexBuffer's root");
    }
    return value_at(f, size - 2 - width, width, f->bytes.at[size - 2]);
}

/* ---- what is in them ---- */

int64_t wire_flex_int(wire_flex *f, const wire_flex_value *v) {
    uint64_t bits = 0;
    if (f->failed || (v->kind != WIRE_FLEX_BOOL && v->kind != WIRE_FLEX_INT && v->kind != WIRE_FLEX_UINT) ||
        !load(f, v->at, v->width, &bits)) {
        return 0;
    }
    if (v->kind == WIRE_FLEX_INT) {
        uint64_t sign = (uint64_t)1 << (8 * v->width - 1);
        return (int64_t)((bits ^ sign) - sign);
    }
    if (bits > INT64_MAX) {
        fault(f, v->at, "a FlexBuffers number above 2^63-1");
        return 0;
    }
    return v->kind == WIRE_FLEX_BOOL ? bits != 0 : (int64_t)bits;
}

double wire_flex_float(wire_flex *f, const wire_flex_value *v) {
    static const base_type types[] = {BASE_NONE, BASE_NONE, BASE_F16,  BASE_NONE, BASE_F32,
                                      BASE_NONE, BASE_NONE, BASE_NONE, BASE_F64};
    if (v->kind != WIRE_FLEX_FLOAT) {
        return (double)wire_flex_int(f, v);
    }
    uint64_t bits = 0;
    if (f->failed || !load(f, v->at, v->width, &bits)) {
        return 0;
    }
    if (v->width == 1) {
        fault(f, v->at, "a FlexBuffers float of 8 bits");
        return 0;
    }
    uint8_t raw[8];
    for (unsigned i = 0; i < 8; i++) {
        raw[i] = (uint8_t)(bits >> (8 * i));
    }
    return base_load(types[v->width], raw, 0).f;
}

base_bytes wire_flex_bytes(const wire_flex *f, const wire_flex_value *v) {
    if (f->failed || (v->kind != WIRE_FLEX_TEXT && v->kind != WIRE_FLEX_BLOB)) {
        return (base_bytes){0};
    }
    return (base_bytes){f->bytes.at + v->at, v->n};
}

wire_flex_value wire_flex_at(wire_flex *f, const wire_flex_value *v, uint64_t i) {
    if (f->failed || (v->kind != WIRE_FLEX_VECTOR && v->kind != WIRE_FLEX_MAP)) {
        return nothing;
    }
    assert(i < v->n);
    uint8_t type = v->element;
    if (!type && !base_get_u8(f->bytes, v->at + v->n * v->width + i, &type)) {
        return fault(f, v->at, "a FlexBuffers vector without its types");
    }
    return value_at(f, v->at + i * v->width, v->width, type);
}

base_bytes wire_flex_key(wire_flex *f, const wire_flex_value *map, uint64_t i) {
    uint64_t at;
    if (f->failed || map->kind != WIRE_FLEX_MAP) {
        return (base_bytes){0};
    }
    assert(i < map->n);
    if (!follow(f, map->keys_at + i * map->keys_width, map->keys_width, &at)) {
        return (base_bytes){0};
    }
    wire_flex_value v = key_of(f, at);
    return wire_flex_bytes(f, &v);
}
