/* flatbuild.c - the FlatBuffers builder (flatbuild.h).
 *
 * Takes values, the parts before the whole. Gives a file. Bytes are put in front of what is there, so every place is
 * counted from the end until the file is finished.
 */
#include "wire/flatbuild.h"

#include <assert.h>
#include <string.h>

enum { FIRST_BLOCK = 1024, MOST_ALIGN = 64 };
static const uint64_t most_bytes = ((uint64_t)1 << 31) - 1 - MOST_ALIGN;

void wire_build_open(wire_builder *b, base_arena *arena, size_t hint) {
    *b = (wire_builder){.arena = arena, .most = most_bytes, .align = 4};
    b->vtables = base_map_new(arena);
    b->cap = hint > FIRST_BLOCK && hint < most_bytes ? hint : FIRST_BLOCK;
    b->block = base_alloc(arena, b->cap, 1);
}

/* ---- bytes, from the end ---- */

/* n bytes in front of all others, zero; NULL: there is no room for them. */
static uint8_t *room(wire_builder *b, size_t n) {
    if (b->too_large || n > b->most - b->n) {
        b->too_large = true;
        return NULL;
    }
    if (n > b->cap - b->n) {
        size_t cap = b->cap;
        while (n > cap - b->n) {
            cap *= 2;
        }
        uint8_t *block = base_alloc(b->arena, cap, 1);
        memcpy(block + cap - b->n, b->block + b->cap - b->n, b->n);
        b->block = block;
        b->cap = cap;
    }
    b->n += n;
    return b->block + b->cap - b->n;
}

/* Pads so that what begins after `n` further bytes have been put in front is aligned. */
static void align(wire_builder *b, size_t n, unsigned width) {
    assert(width && width <= MOST_ALIGN && !(width & (width - 1)));
    b->align = width > b->align ? width : b->align;
    room(b, (size_t)(-(uint64_t)(b->n + n) & (width - 1)));
}

static void store(uint8_t *at, uint64_t bits, unsigned width) {
    for (unsigned i = 0; at && i < width; i++) {
        at[i] = (uint8_t)(bits >> 8 * i);
    }
}

static void put(wire_builder *b, uint64_t bits, unsigned width) {
    store(room(b, width), bits, width);
}

static wire_ref here(const wire_builder *b) {
    return (wire_ref)b->n;
}

/* ---- vectors ---- */

static wire_ref bytes_and_count(wire_builder *b, const void *bytes, size_t n, unsigned width) {
    uint8_t *at = n > b->most ? (b->too_large = true, NULL) : room(b, n);
    if (at && n) {
        memcpy(at, bytes, n);
    }
    put(b, n / width, 4);
    return here(b);
}

wire_ref wire_build_bytes(wire_builder *b, const void *bytes, size_t n, unsigned width) {
    assert(!b->in_table);
    if (n < b->most) {
        align(b, n, width);
        align(b, n, 4);
    }
    return bytes_and_count(b, bytes, n, 1);
}

wire_ref wire_build_string(wire_builder *b, const char *s, size_t n) {
    assert(!b->in_table);
    if (n < b->most) {
        align(b, n + 1, 4);
    }
    put(b, 0, 1);
    return bytes_and_count(b, s, n, 1);
}

/* Opens a vector of n elements; puts nothing of it. */
static bool vector_fits(wire_builder *b, size_t n, unsigned width) {
    assert(!b->in_table);
    if (n > b->most / width) {
        b->too_large = true;
        return false;
    }
    align(b, n * width, width);
    align(b, n * width, 4);
    return true;
}

wire_ref wire_build_i32s(wire_builder *b, const int32_t *list, size_t n) {
    for (size_t i = vector_fits(b, n, 4) ? n : 0; i-- > 0;) {
        put(b, (uint32_t)list[i], 4);
    }
    put(b, n, 4);
    return here(b);
}

wire_ref wire_build_i64s(wire_builder *b, const int64_t *list, size_t n) {
    for (size_t i = vector_fits(b, n, 8) ? n : 0; i-- > 0;) {
        put(b, (uint64_t)list[i], 8);
    }
    put(b, n, 4);
    return here(b);
}

static uint32_t bits_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

wire_ref wire_build_floats(wire_builder *b, const float *list, size_t n) {
    for (size_t i = vector_fits(b, n, 4) ? n : 0; i-- > 0;) {
        put(b, bits_of(list[i]), 4);
    }
    put(b, n, 4);
    return here(b);
}

/* An offset counts from where it stands, which is what is in front once its four bytes are. */
static void put_ref(wire_builder *b, wire_ref ref) {
    assert(b->too_large || (ref && ref <= b->n));
    uint8_t *at = room(b, 4);
    store(at, (uint64_t)b->n - ref, 4);
}

wire_ref wire_build_refs(wire_builder *b, const wire_ref *list, size_t n) {
    for (size_t i = vector_fits(b, n, 4) ? n : 0; i-- > 0;) {
        put_ref(b, list[i]);
    }
    put(b, n, 4);
    return here(b);
}

/* ---- tables ---- */

void wire_build_table(wire_builder *b) {
    assert(!b->in_table);
    b->in_table = true;
    b->field_count = 0;
}

void wire_build_field(wire_builder *b, unsigned field, unsigned width, uint64_t bits) {
    assert(b->in_table && field < WIRE_MOST_FIELDS);
    for (; b->field_count <= field; b->field_count++) {
        b->fields[b->field_count].width = 0;
    }
    assert(!b->fields[field].width);
    b->fields[field].width = (uint8_t)width;
    b->fields[field].bits = bits;
    b->fields[field].is_ref = false;
}

void wire_build_float_field(wire_builder *b, unsigned field, float v) {
    wire_build_field(b, field, 4, bits_of(v));
}

void wire_build_ref_field(wire_builder *b, unsigned field, wire_ref ref) {
    if (ref) {
        wire_build_field(b, field, 4, ref);
        b->fields[field].is_ref = true;
    }
}

/* The widest fields stand first, so that none needs a gap. Notes each field's place from the end. */
static void put_fields(wire_builder *b, size_t places[WIRE_MOST_FIELDS]) {
    for (unsigned width = 1; width <= 8; width *= 2) {
        for (unsigned i = b->field_count; i-- > 0;) {
            if (b->fields[i].width != width) {
                continue;
            }
            align(b, width, width);
            if (b->fields[i].is_ref) {
                put_ref(b, (wire_ref)b->fields[i].bits);
            } else {
                put(b, b->fields[i].bits, width);
            }
            places[i] = b->n;
        }
    }
}

wire_ref wire_build_table_end(wire_builder *b) {
    assert(b->in_table);
    b->in_table = false;
    size_t places[WIRE_MOST_FIELDS] = {0}, end = b->n;
    put_fields(b, places);
    align(b, 4, 4);
    put(b, 0, 4);
    size_t table = b->n;
    uint8_t vtable[4 + 2 * WIRE_MOST_FIELDS];
    unsigned size = 4 + 2 * b->field_count;
    store(vtable, size, 2);
    store(vtable + 2, table - end, 2);
    for (unsigned i = 0; i < b->field_count; i++) {
        store(vtable + 4 + 2 * i, places[i] ? table - places[i] : 0, 2);
    }
    bool is_new;
    uint64_t *place = base_map_put(b->vtables, vtable, size, &is_new);
    if (is_new) {
        align(b, size, 2);
        uint8_t *at = room(b, size);
        if (at) {
            memcpy(at, vtable, size);
        }
        *place = b->n;
    }
    /* The signed distance back to the vtable; it stands in front, or, as an older table's, behind. */
    if (!b->too_large) {
        store(b->block + b->cap - table, *place - table, 4);
    }
    return (wire_ref)table;
}

bool wire_build_finish(wire_builder *b, wire_ref root, const char *identifier, base_bytes *file) {
    assert(!b->in_table);
    align(b, identifier ? 8 : 4, (unsigned)b->align);
    uint8_t *at = identifier ? room(b, 4) : NULL;
    if (at) {
        memcpy(at, identifier, 4);
    }
    put_ref(b, root);
    *file = (base_bytes){b->block + b->cap - b->n, b->n};
    return !b->too_large;
}
