/* flatbuffers.h - part of wire's face: a bounded cursor over a FlatBuffers binary.
 *
 * Source: FlatBuffers' "Internals" document: little-endian; an offset is 32 bits, unsigned, from where it stands; a
 * table begins with the signed distance back to its vtable; a vtable is u16 its bytes, u16 the table's bytes, u16 a
 * field's place in the table or 0; a vector is u32 its elements, then they; a string is a vector of bytes and a NUL.
 *
 * Every access is verified: alignment, the file's bounds, the table's bounds, nesting, and that the same bytes are not
 * reached again and again (a file of n bytes whose vectors all share one tail could cost n * n). The first fault is
 * reported with its path and byte; after it every access gives nothing, so that a reader asks wire_fb_failed at the end
 * of each table and not after each field.
 */
#ifndef BURIN_WIRE_FLATBUFFERS_H
#define BURIN_WIRE_FLATBUFFERS_H

#include "base/base.h"

/* Where the reader is: a chain on its stack, from the inside out. It becomes text only in an error. */
typedef struct wire_path {
    const struct wire_path *outer;
    const char *name;
    int64_t index;    /* name[index]; -1: name */
    const char *note; /* printed after it, escaped: operator[3] CONV_2D; NULL: none */
    bool quoted;      /* the note is a name from the file: tensor[3] "conv/weights" */
} wire_path;
#define WIRE_NO_INDEX (-1)

typedef struct wire_fb {
    base_bytes bytes;
    const char *file;
    base_diags *d;
    uint64_t budget; /* bytes that may still be visited */
    bool failed;
} wire_fb;

/* A verified table; at 0: none (absent, or after a fault): all its fields are absent. */
typedef struct wire_table {
    uint64_t at, vtable;
    uint16_t vtable_size, size;
    uint32_t depth;
} wire_table;

/* A verified vector; its n elements of the width it was asked for begin at byte at. */
typedef struct wire_vector {
    uint64_t at, n;
    uint32_t depth;
    bool present;
} wire_vector;

/* Sets the cursor on bytes. file and d are borrowed. */
void wire_fb_open(wire_fb *fb, const char *file, base_bytes bytes, base_diags *d);
/* The root table; identifier: the 4 characters that must stand at byte 4; NULL: the file has none. */
wire_table wire_fb_root(wire_fb *fb, const char *identifier);
bool wire_fb_failed(const wire_fb *fb);

/* Reports "path: message (byte)" and fails the cursor. For faults that the reader finds itself. Returns
 * BASE_REFUSED. */
base_status wire_fb_error(wire_fb *fb, const wire_path *path, uint64_t byte, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* "subgraph[0]/operator[3] CONV_2D/inputs" */
char *wire_path_print(base_arena *arena, const wire_path *path);

/* ---- fields of a table, by number ---- */
/* The byte at which a field of that many bytes stands; 0: absent. path is the field's, as in every call below. */
uint64_t wire_fb_field(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned width);
/* Scalars: the value widened, or otherwise when the field is absent. width 1, 2, 4, 8. */
uint64_t wire_fb_unsigned(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned width,
                          uint64_t otherwise);
int64_t wire_fb_signed(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned width,
                       int64_t otherwise);
float wire_fb_float(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, float otherwise);
wire_table wire_fb_table(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field);
/* Field is the type, field + 1 the table. *type 0 and no table: none. A type above most is a fault. wire_fb_union_type
 * does not follow the table. */
unsigned wire_fb_union_type(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned most);
wire_table wire_fb_union(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned most,
                         unsigned *type);
/* A vector of elements of width bytes (1, 2, 4, 8; offsets: 4). */
wire_vector wire_fb_vector(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field, unsigned width);
/* A vector of bytes that is borrowed whole, not walked: it may be reached any number of times. at NULL: absent. */
base_bytes wire_fb_blob(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field);
/* A string's bytes, without its NUL; at NULL: absent. */
base_bytes wire_fb_string(wire_fb *fb, const wire_path *path, const wire_table *t, unsigned field);

/* ---- elements of a vector; i < n ---- */
int32_t wire_fb_i32_at(const wire_fb *fb, const wire_vector *v, uint64_t i);
int64_t wire_fb_i64_at(const wire_fb *fb, const wire_vector *v, uint64_t i);
float wire_fb_float_at(const wire_fb *fb, const wire_vector *v, uint64_t i);
wire_table wire_fb_table_at(wire_fb *fb, const wire_path *path, const wire_vector *v, uint64_t i);

#endif
