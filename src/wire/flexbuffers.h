/* flexbuffers.h - part of wire's face: a bounded cursor over a FlexBuffers binary.
 *
 * Source: FlatBuffers' "FlexBuffers" document and its internals: little-endian, schema-less, read from the end. The last
 * byte is the root's width, before it stands its type, before that the root. A type byte is kind << 2 | log2 of the width
 * of what it contains. An offset is unsigned, counted back from where it stands, as wide as the elements of its vector.
 * A vector is its number of elements, then they, then (but in typed vectors) a type byte for each; a map is a vector
 * before whose number stand the offset of the vector of its keys and the width of that.
 *
 * Every access is verified against the buffer's bounds. Nothing is aligned: a buffer may stand anywhere. The cursor
 * follows nothing by itself, so the reader bounds the depth; elements are read where they stand, none is copied. The
 * first fault is reported with its byte in the file; after it every access gives nothing.
 */
#ifndef BURIN_WIRE_FLEXBUFFERS_H
#define BURIN_WIRE_FLEXBUFFERS_H

#include "wire/flatbuffers.h"

typedef struct wire_flex {
    base_bytes bytes;
    const char *file;
    const wire_path *path; /* of the buffer */
    uint64_t origin;       /* its place in the file */
    base_diags *d;
    bool failed;
} wire_flex;

typedef enum wire_flex_kind {
    WIRE_FLEX_NULL, /* also: after a fault */
    WIRE_FLEX_BOOL,
    WIRE_FLEX_INT,
    WIRE_FLEX_UINT,
    WIRE_FLEX_FLOAT,
    WIRE_FLEX_TEXT, /* strings and keys */
    WIRE_FLEX_BLOB,
    WIRE_FLEX_VECTOR, /* typed ones too */
    WIRE_FLEX_MAP
} wire_flex_kind;

/* A verified value. Scalars: their bytes. TEXT, BLOB: n bytes. VECTOR, MAP: n elements. */
typedef struct wire_flex_value {
    wire_flex_kind kind;
    uint64_t at, n;
    unsigned width;      /* of the scalar, or of an element */
    uint8_t element;     /* typed vectors: the type byte of all elements; 0: each has its own */
    uint64_t keys_at;    /* maps: the keys' vector */
    unsigned keys_width; /* maps: of an offset there */
} wire_flex_value;

enum { WIRE_FLEX_KEY = 255 }; /* a longer key is a fault */

/* Sets the cursor on a buffer that stands at byte origin of the file. file, path and d are borrowed; d NULL: faults are
 * not reported, which serves to ask whether bytes are a FlexBuffer at all. */
void wire_flex_open(wire_flex *f, const char *file, const wire_path *path, uint64_t origin, base_bytes bytes,
                    base_diags *d);
bool wire_flex_failed(const wire_flex *f);
wire_flex_value wire_flex_root(wire_flex *f);

/* BOOL, INT, UINT (above INT64_MAX: a fault) and FLOAT values; others are 0. */
int64_t wire_flex_int(wire_flex *f, const wire_flex_value *v); /* of a FLOAT: 0 */
double wire_flex_float(wire_flex *f, const wire_flex_value *v);
base_bytes wire_flex_bytes(const wire_flex *f, const wire_flex_value *v); /* of TEXT and BLOB */
/* Element i of a VECTOR or MAP, i < n. */
wire_flex_value wire_flex_at(wire_flex *f, const wire_flex_value *v, uint64_t i);
/* Key i of a MAP, i < n, in the keys' order. */
base_bytes wire_flex_key(wire_flex *f, const wire_flex_value *map, uint64_t i);

#endif
