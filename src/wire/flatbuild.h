/* flatbuild.h - part of wire's face: writes a FlatBuffers binary (flatbuffers.h says how one is laid out).
 *
 * A file is built from its end: what is pointed to is written before what points to it. Everything is aligned to its
 * width from the start of the file; equal vtables are one. The same calls give the same bytes. A file of 2^31 bytes or
 * more cannot be pointed into: the builder then stops to write, and wire_build_finish says so.
 */
#ifndef BURIN_WIRE_FLATBUILD_H
#define BURIN_WIRE_FLATBUILD_H

#include "base/base.h"

/* What has been written, by its distance from the end of the file; 0: nothing, and a field of it is left out. */
typedef uint32_t wire_ref;

enum { WIRE_MOST_FIELDS = 64 };

typedef struct wire_builder {
    base_arena *arena;
    uint8_t *block; /* the file's end is the block's */
    size_t cap, n;
    uint64_t most; /* bytes of a file: below 2^31 */
    size_t align;  /* of the widest thing in it */
    bool too_large;
    base_map *vtables; /* their bytes -> their place */
    struct {
        uint64_t bits;
        uint8_t width; /* 0: absent */
        bool is_ref;
    } fields[WIRE_MOST_FIELDS]; /* of the table that is being built */
    unsigned field_count;
    bool in_table;
} wire_builder;

/* hint: about how many bytes the file will have; 0: unknown. */
void wire_build_open(wire_builder *b, base_arena *arena, size_t hint);

/* A vector of n bytes; the first stands at a multiple of align (a power of 2, at most 64). Also of no bytes. */
wire_ref wire_build_bytes(wire_builder *b, const void *bytes, size_t n, unsigned align);
/* A string: n bytes and a NUL. */
wire_ref wire_build_string(wire_builder *b, const char *s, size_t n);
wire_ref wire_build_i32s(wire_builder *b, const int32_t *list, size_t n);
wire_ref wire_build_i64s(wire_builder *b, const int64_t *list, size_t n);
wire_ref wire_build_floats(wire_builder *b, const float *list, size_t n);
/* A vector of tables or strings; none of them may be 0. */
wire_ref wire_build_refs(wire_builder *b, const wire_ref *list, size_t n);

/* A table: begin, any of its fields once, end. Nothing else may be written in between. */
void wire_build_table(wire_builder *b);
/* The field's lowest width bytes (1, 2, 4, 8) of bits. */
void wire_build_field(wire_builder *b, unsigned field, unsigned width, uint64_t bits);
void wire_build_float_field(wire_builder *b, unsigned field, float v);
void wire_build_ref_field(wire_builder *b, unsigned field, wire_ref ref);
wire_ref wire_build_table_end(wire_builder *b);

/* The whole file, with its root table and the four characters of its identifier (NULL: none), in the builder's arena.
 * false: it would have 2^31 bytes or more. */
bool wire_build_finish(wire_builder *b, wire_ref root, const char *identifier, base_bytes *file);

#endif
