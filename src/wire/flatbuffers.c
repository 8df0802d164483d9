/* flatbuffers.c - the bounded FlatBuffers cursor (flatbuffers.h).
 *
 * Takes untrusted bytes. Gives verified places in them; reads whole values only through base_get_*.
 * Does not follow anything by itself: a reader walks a schema of fixed depth, so nothing here recurses.
 */
#include "wire/flatbuffers.h"

#include <assert.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_PATH = 16 };

/* Writers share equal vectors and tables, so bytes may be reached more than once, but not without limit. */
static const uint64_t budget_factor = 16, budget_floor = (uint64_t)1 << 20;

void wire_fb_open(wire_fb *fb, const char *file, base_bytes bytes, base_diags *d) {
    uint64_t budget;
    if (!base_mul_size(bytes.size, budget_factor, &budget) || !base_add_size(budget, budget_floor, &budget)) {
        budget = UINT64_MAX;
    }
    *fb = (wire_fb){.bytes = bytes, .file = file, .d = d, .budget = budget};
}

bool wire_fb_failed(const wire_fb *fb) {
    return fb->failed;
}

/* ---- errors ---- */

char *wire_path_print(base_arena *arena, const wire_path *path) {
    const wire_path *steps[MOST_PATH];
    size_t n = 0;
    for (; path && n < MOST_PATH; path = path->outer) {
        steps[n++] = path;
    }
    base_text out = {.arena = arena};
    base_puts(&out, "");
    while (n--) {
        const wire_path *step = steps[n];
        base_puts(&out, step->name);
        if (step->index != WIRE_NO_INDEX) {
            base_put(&out, "[%lld]", (long long)step->index);
        }
        if (step->note) {
            const char *quote = step->quoted ? "\"" : "";
            base_put(&out, " %s%s%s", quote, base_printable(arena, step->note, strlen(step->note), 60), quote);
        }
        base_puts(&out, n ? "/" : "");
    }
    return out.at;
}

base_status wire_fb_error(wire_fb *fb, const wire_path *path, uint64_t byte, const char *format, ...) {
    if (fb->failed) {
        return BASE_REFUSED;
    }
    fb->failed = true;
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(fb->d->arena, format, list);
    va_end(list);
    base_place place = {.file = fb->file, .byte = byte, .has_byte = true};
    place.path = path ? wire_path_print(fb->d->arena, path) : NULL;
    return base_error(fb->d, &place, "%s", message);
}

/* Charges a visit of n bytes. */
static bool visit(wire_fb *fb, const wire_path *path, uint64_t byte, uint64_t n) {
    if (fb->budget < n) {
        wire_fb_error(fb, path, byte, "the same bytes are reached again and again");
        return false;
    }
    fb->budget -= n;
    return true;
}

/* ---- places ---- */

static bool inside(const wire_fb *fb, uint64_t at, uint64_t n) {
    return at <= fb->bytes.size && n <= fb->bytes.size - at;
}

static bool aligned(wire_fb *fb, const wire_path *path, uint64_t at, unsigned width) {
    if (at % width) {
        wire_fb_error(fb, path, at, "it is not aligned to %u bytes", width);
        return false;
    }
    return true;
}

/* Where the offset that stands at byte at points; 0: a fault. */
static uint64_t follow(wire_fb *fb, const wire_path *path, uint64_t at, const char *what) {
    uint32_t offset;
    if (!base_get_u32(fb->bytes, at, &offset)) {
        wire_fb_error(fb, path, at, "the file ends within the offset of %s", what);
        return 0;
    }
    uint64_t target = at + offset;
    if (!offset || !inside(fb, target, 4)) {
        wire_fb_error(fb, path, at, "the offset of %s, %lu, points outside the file of %llu bytes", what,
                      (unsigned long)offset, (unsigned long long)fb->bytes.size);
        return 0;
    }
    return aligned(fb, path, target, 4) ? target : 0;
}

static wire_table table_at(wire_fb *fb, const wire_path *path, uint64_t offset_at, uint32_t depth) {
    const wire_table none = {0};
    uint64_t at = fb->failed ? 0 : follow(fb, path, offset_at, "a table");
    uint32_t distance;
    if (!at || !base_get_u32(fb->bytes, at, &distance)) {
        return none;
    }
    if (depth > MOST_DEPTH) {
        wire_fb_error(fb, path, at, "tables are nested more than %d deep", MOST_DEPTH);
        return none;
    }
    int64_t vtable = (int64_t)at - (int32_t)distance;
    wire_table t = {.at = at, .vtable = (uint64_t)vtable, .depth = depth};
    if (vtable < 4 || !base_get_u16(fb->bytes, t.vtable, &t.vtable_size) ||
        !base_get_u16(fb->bytes, t.vtable + 2, &t.size)) {
        wire_fb_error(fb, path, at, "the table's vtable, %ld bytes back, is outside the file", (long)(int32_t)distance);
        return none;
    }
    if (t.vtable % 2 || t.vtable_size < 4 || t.vtable_size % 2 || !inside(fb, t.vtable, t.vtable_size)) {
        wire_fb_error(fb, path, t.vtable, "a vtable of %u bytes", t.vtable_size);
        return none;
    }
    if (t.size < 4 || !inside(fb, at, t.size)) {
        wire_fb_error(fb, path, at, "a table of %u bytes: the file ends %llu bytes after its start", t.size,
                      (unsigned long long)(fb->bytes.size - at));
        return none;
    }
    return visit(fb, path, at, t.size) ? t : none;
}

wire_table wire_fb_root(wire_fb *fb, const char *identifier) {
    const wire_table none = {0};
    const wire_path path = {.name = "root", .index = WIRE_NO_INDEX};
    if (fb->bytes.size < 8) {
        wire_fb_error(fb, NULL, fb->bytes.size, "the file has %llu bytes: too short for a header",
                      (unsigned long long)fb->bytes.size);
        return none;
    }
    const char *got = (const char *)fb->bytes.at + 4;
    if (identifier && memcmp(got, identifier, 4) != 0) {
        wire_fb_error(fb, NULL, 4, "the file identifier is \"%s\": expected \"%s\"",
                      base_printable(fb->d->arena, got, 4, 20), identifier);
        return none;
    }
    return table_at(fb, &path, 0, 1);
}

/* ---- fields ---- */

uint64_t wire_fb_field(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned width) {
    uint64_t entry = 4 + 2 * (uint64_t)field;
    uint16_t offset;
    if (!t->at || fb->failed || entry + 2 > t->vtable_size || !base_get_u16(fb->bytes, t->vtable + entry, &offset) ||
        !offset) {
        return 0;
    }
    if (offset < 4 || (uint32_t)offset + width > t->size) {
        wire_fb_error(fb, path, t->vtable + entry, "a field of %u bytes at %u of a table of %u bytes", width, offset,
                      t->size);
        return 0;
    }
    uint64_t at = t->at + offset;
    return aligned(fb, path, at, width) ? at : 0;
}

/* The bits of width bytes at a verified place. */
static uint64_t load(const wire_fb *fb, uint64_t at, unsigned width) {
    uint8_t v8 = 0;
    uint16_t v16 = 0;
    uint32_t v32 = 0;
    uint64_t v64 = 0;
    bool in = false;
    switch (width) {
    case 1:
        in = base_get_u8(fb->bytes, at, &v8);
        v64 = v8;
        break;
    case 2:
        in = base_get_u16(fb->bytes, at, &v16);
        v64 = v16;
        break;
    case 4:
        in = base_get_u32(fb->bytes, at, &v32);
        v64 = v32;
        break;
    case 8:
        in = base_get_u64(fb->bytes, at, &v64);
        break;
    default:
        break;
    }
    assert(in);
    (void)in;
    return v64;
}

uint64_t wire_fb_unsigned(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned width,
                          uint64_t otherwise) {
    uint64_t at = wire_fb_field(fb, path, t, field, width);
    return at ? load(fb, at, width) : otherwise;
}

int64_t wire_fb_signed(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned width,
                       int64_t otherwise) {
    uint64_t at = wire_fb_field(fb, path, t, field, width);
    if (!at) {
        return otherwise;
    }
    uint64_t bits = load(fb, at, width), sign = (uint64_t)1 << (8 * width - 1);
    return (int64_t)((bits ^ sign) - sign);
}

static float float_of(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

float wire_fb_float(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, float otherwise) {
    uint64_t at = wire_fb_field(fb, path, t, field, 4);
    return at ? float_of((uint32_t)load(fb, at, 4)) : otherwise;
}

wire_table wire_fb_table(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field) {
    uint64_t at = wire_fb_field(fb, path, t, field, 4);
    return at ? table_at(fb, path, at, t->depth + 1) : (wire_table){0};
}

unsigned wire_fb_union_type(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned most) {
    uint64_t at = wire_fb_field(fb, path, t, field, 1);
    unsigned type = at ? (unsigned)load(fb, at, 1) : 0;
    if (type > most) {
        wire_fb_error(fb, path, at, "union type %u: the schema has %u", type, most);
        type = 0;
    }
    return type;
}

wire_table wire_fb_union(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned most,
                         unsigned *type) {
    *type = wire_fb_union_type(fb, path, t, field, most);
    wire_table value = *type ? wire_fb_table(fb, path, t, field + 1) : (wire_table){0};
    if (!value.at) {
        *type = 0;
    }
    return value;
}

/* A vector's first element and count, its bytes verified; not charged. */
static wire_vector vector_of(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned width) {
    wire_vector none = {0};
    uint32_t n;
    uint64_t at = wire_fb_field(fb, path, t, field, 4);
    at = at ? follow(fb, path, at, "a vector") : 0;
    if (!at || !base_get_u32(fb->bytes, at, &n)) {
        return none;
    }
    if (!inside(fb, at + 4, (uint64_t)n * width)) {
        wire_fb_error(fb, path, at, "%lu elements of %u bytes: only %llu bytes follow", (unsigned long)n, width,
                      (unsigned long long)(fb->bytes.size - at - 4));
        return none;
    }
    if (n && !aligned(fb, path, at + 4, width)) {
        return none;
    }
    return (wire_vector){.at = at + 4, .n = n, .depth = t->depth, .present = true};
}

wire_vector wire_fb_vector(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned width) {
    wire_vector v = vector_of(fb, path, t, field, width);
    return visit(fb, path, v.at, v.n * width + 4) ? v : (wire_vector){0};
}

base_bytes wire_fb_blob(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field) {
    wire_vector v = vector_of(fb, path, t, field, 1);
    return v.present ? (base_bytes){fb->bytes.at + v.at, v.n} : (base_bytes){0};
}

base_bytes wire_fb_string(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field) {
    const base_bytes none = {0};
    uint8_t end;
    wire_vector v = vector_of(fb, path, t, field, 1);
    if (!v.present || !visit(fb, path, v.at, v.n + 4)) {
        return none;
    }
    if (!base_get_u8(fb->bytes, v.at + v.n, &end) || end) {
        wire_fb_error(fb, path, v.at + v.n, "a string without its NUL");
        return none;
    }
    return (base_bytes){fb->bytes.at + v.at, v.n};
}

/* ---- elements ---- */

int32_t wire_fb_i32_at(const wire_fb *fb, const wire_vector *v, uint64_t i) {
    assert(i < v->n);
    return (int32_t)(uint32_t)load(fb, v->at + 4 * i, 4);
}

int64_t wire_fb_i64_at(const wire_fb *fb, const wire_vector *v, uint64_t i) {
    assert(i < v->n);
    return (int64_t)load(fb, v->at + 8 * i, 8);
}

float wire_fb_float_at(const wire_fb *fb, const wire_vector *v, uint64_t i) {
    assert(i < v->n);
    return float_of((uint32_t)load(fb, v->at + 4 * i, 4));
}

wire_table wire_fb_table_at(wire_fb *fb, const wire_path *path, const wire_vector *v, uint64_t i) {
    assert(i < v->n);
    return table_at(fb, path, v->at + 4 * i, v->depth + 1);
}
