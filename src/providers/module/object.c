/* object.c - ELF files of 64 bits, little-endian: is all of it there, and where is the module's head (object.h).
 *
 * Every number of the file is checked before it is used; what a loader would map from behind the end is refused.
 */
#include <string.h>

#include "providers/module/object.h"

/* System V ABI, ELF-64: the file header and a program header, as offsets. */
enum { FILE_HEADER = 64, CLASS_64 = 2, LITTLE = 1, SHARED = 3, PROGRAM_HEADER = 56, LOAD = 1, WRITABLE = 2 };

typedef struct segment {
    uint32_t type, flags;
    uint64_t offset, address, file_bytes;
} segment;

typedef struct table {
    uint64_t at;
    uint16_t size, count;
} table;

static bool inside(base_bytes file, uint64_t offset, uint64_t size) {
    return offset <= file.size && size <= file.size - offset;
}

/* A table that the header names: at `at` its offset, at `shape` size of a row and rows. */
static bool find_table(base_bytes file, uint64_t at, uint64_t shape, table *t) {
    return base_get_u64(file, at, &t->at) && base_get_u16(file, shape, &t->size) &&
           base_get_u16(file, shape + 2, &t->count) && inside(file, t->at, (uint64_t)t->size * t->count);
}

static bool find_segments(base_bytes file, table *t) {
    static const uint8_t ident[6] = {0x7f, 'E', 'L', 'F', CLASS_64, LITTLE};
    uint16_t type = 0;
    table sections;
    return file.size >= FILE_HEADER && memcmp(file.at, ident, sizeof ident) == 0 && base_get_u16(file, 16, &type) &&
           type == SHARED && find_table(file, 32, 54, t) && t->size == PROGRAM_HEADER &&
           find_table(file, 40, 58, &sections);
}

static bool get_segment(base_bytes file, const table *t, uint16_t i, segment *s) {
    const uint64_t at = t->at + (uint64_t)i * PROGRAM_HEADER;
    return base_get_u32(file, at, &s->type) && base_get_u32(file, at + 4, &s->flags) &&
           base_get_u64(file, at + 8, &s->offset) && base_get_u64(file, at + 16, &s->address) &&
           base_get_u64(file, at + 32, &s->file_bytes);
}

/* Where the bytes of the file at offset are in the object; false: nowhere. */
static bool address_of(base_bytes file, const table *t, uint64_t offset, uint64_t bytes, uint64_t *address) {
    segment s;
    for (uint16_t i = 0; i < t->count; i++) {
        if (get_segment(file, t, i, &s) && s.type == LOAD && offset >= s.offset && bytes <= s.file_bytes &&
            offset - s.offset <= s.file_bytes - bytes) {
            *address = s.address + (offset - s.offset);
            return true;
        }
    }
    return false;
}

static bool is_sane(const burin_module_head *h) {
    return h->size == sizeof *h && h->output_count > 0 && h->input_count < 1u << 20 && h->output_count < 1u << 20 &&
           h->arena_alignment > 0 && h->arena_alignment <= 64 && (h->arena_alignment & (h->arena_alignment - 1)) == 0 &&
           h->arena_bytes <= UINT32_MAX && h->state_bytes <= h->arena_bytes && h->model_bytes > 0 &&
           h->model_bytes <= 1u << 16 && memchr(h->prefix, 0, sizeof h->prefix) != NULL;
}

burin_code object_find_head(base_bytes file, object_head *out, burin_error *error) {
    table t;
    segment s;
    size_t found = 0;
    if (!find_segments(file, &t)) {
        return burin_fail(error, BURIN_E_FORMAT, "no whole shared object of this kind of machine (ELF, 64 bits)");
    }
    for (uint16_t i = 0; i < t.count; i++) {
        if (!get_segment(file, &t, i, &s) || (s.type == LOAD && !inside(file, s.offset, s.file_bytes))) {
            return burin_fail(error, BURIN_E_FORMAT, "the shared object is cut short");
        }
    }
    for (uint64_t at = 0; at + sizeof out->numbers <= file.size; at += sizeof(uint64_t)) {
        if (memcmp(file.at + at, BURIN_MODULE_MAGIC, sizeof BURIN_MODULE_MAGIC) == 0 &&
            address_of(file, &t, at, sizeof out->numbers, &out->address)) {
            memcpy(&out->numbers, file.at + at, sizeof out->numbers);
            found++;
        }
    }
    if (found != 1 || !is_sane(&out->numbers)) {
        return burin_fail(error, BURIN_E_FORMAT,
                          found > 1 ? "the shared object has several modules"
                                    : "the shared object has no module: burin/module.h makes it one");
    }
    return BURIN_E_NONE;
}

bool object_is(base_bytes file, const object_head *at, const burin_module_head *head) {
    const uint8_t *base = (const uint8_t *)head - at->address;
    table t;
    segment s;
    if (head == NULL || memcmp(head, &at->numbers, sizeof *head) != 0 || !find_segments(file, &t)) {
        return false;
    }
    for (uint16_t i = 0; i < t.count; i++) {
        if (get_segment(file, &t, i, &s) && s.type == LOAD && (s.flags & WRITABLE) == 0 &&
            memcmp(base + s.address, file.at + s.offset, (size_t)s.file_bytes) != 0) {
            return false;
        }
    }
    return true;
}
