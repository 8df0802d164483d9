/* flexbuild.h - part of wire's face: writes a FlexBuffers map (flexbuffers.h says how one is laid out).
 *
 * Everything is 8 bytes wide: the buffers are small, and their writer simple. Keys stand in the order that readers
 * search them by.
 */
#ifndef BURIN_WIRE_FLEXBUILD_H
#define BURIN_WIRE_FLEXBUILD_H

#include "wire/flexbuffers.h"

/* One entry: INT, FLOAT, TEXT (n bytes), or VECTOR, of ints or, where those are NULL, of floats (n of them). */
typedef struct wire_flex_entry {
    const char *key;
    wire_flex_kind kind;
    int64_t i;
    double f;
    const char *text;
    const int64_t *ints;
    const double *floats;
    size_t n;
} wire_flex_entry;

/* The buffer, in the arena. No key twice. */
base_bytes wire_flex_build_map(base_arena *arena, const wire_flex_entry *entries, size_t n);

#endif
