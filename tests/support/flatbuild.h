/* flatbuild.h - a FlatBuffers builder for tests: parents first, children behind them, every place known to the test.
 *
 * Shares no code with the reader. Forward offsets are what the format asks for, so nothing has to be built backwards.
 */
#ifndef BURIN_TESTS_FLATBUILD_H
#define BURIN_TESTS_FLATBUILD_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

typedef struct flat {
    uint8_t at[1 << 17];
    size_t n;
} flat;

static inline void flat_put(flat *f, size_t at, uint64_t v, size_t width) {
    assert(at + width <= sizeof f->at);
    for (size_t i = 0; i < width; i++)
        f->at[at + i] = (uint8_t)(v >> (8 * i));
}

static inline size_t flat_get(const flat *f, size_t at, size_t width) {
    size_t v = 0;
    for (size_t i = 0; i < width; i++)
        v |= (size_t)f->at[at + i] << (8 * i);
    return v;
}

/* Room for bytes whose byte `shift` is aligned to width. */
static inline size_t flat_room(flat *f, size_t bytes, size_t width, size_t shift) {
    while ((f->n + shift) % width)
        f->n++;
    size_t at = f->n;
    f->n += bytes;
    assert(f->n <= sizeof f->at);
    return at;
}

static inline void flat_start(flat *f, const char *identifier) {
    memset(f, 0, sizeof *f);
    f->n = 8;
    if (identifier)
        memcpy(f->at + 4, identifier, 4);
}

/* A table with its vtable before it. widths: one character a field: 1 2 4 8 bytes, or - for absent. Returns its
 * byte. */
static inline size_t flat_table(flat *f, const char *widths) {
    size_t fields = strlen(widths), size = 4;
    size_t vtable = flat_room(f, 4 + 2 * fields, 2, 0);
    size_t table = flat_room(f, 4, 8, 0);
    for (size_t i = 0; i < fields; i++) {
        size_t width = widths[i] == '-' ? 0 : (size_t)(widths[i] - '0');
        if (!width)
            continue;
        while (size % width)
            size++;
        flat_put(f, vtable + 4 + 2 * i, size, 2);
        size += width;
    }
    f->n = table + size;
    flat_put(f, vtable, 4 + 2 * fields, 2);
    flat_put(f, vtable + 2, size, 2);
    flat_put(f, table, table - vtable, 4);
    return table;
}

static inline size_t flat_vtable(const flat *f, size_t table) {
    return table - flat_get(f, table, 4);
}

/* The byte of a field. */
static inline size_t flat_field(const flat *f, size_t table, size_t field) {
    return table + flat_get(f, flat_vtable(f, table) + 4 + 2 * field, 2);
}

/* Makes the offset at byte `at` point to byte `to`, which lies behind it. */
static inline void flat_point(flat *f, size_t at, size_t to) {
    assert(to > at);
    flat_put(f, at, to - at, 4);
}

/* A vector of n elements of width bytes, all 0; returns the byte of its length, 4 before the elements. */
static inline size_t flat_vector(flat *f, size_t n, size_t width) {
    size_t at = flat_room(f, 4 + n * width, width < 4 ? 4 : width, 4);
    flat_put(f, at, n, 4);
    return at;
}

static inline size_t flat_string(flat *f, const char *s) {
    size_t at = flat_vector(f, strlen(s) + 1, 1);
    flat_put(f, at, strlen(s), 4);
    memcpy(f->at + at + 4, s, strlen(s));
    return at;
}

#endif
