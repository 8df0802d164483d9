/* private.h - what the files of room `base` share and nobody else sees. */
#ifndef BURIN_BASE_PRIVATE_H
#define BURIN_BASE_PRIVATE_H

#include "base/base.h"

#include <string.h>


/* Whether a terminal may act on the character instead of showing it: controls, and marks that turn text around. */
bool base_is_control(uint32_t code);

/* A file that was read with an arena. */
typedef struct base_path {
    const char *path;
    struct base_path *older;
} base_path;
/* The newest of the arena's (memory.c), to be added to. */
base_path **base_paths_of(base_arena *arena);

/* As base_grow, of bytes, and the new part may hold anything. */
void *base_grow_plain(base_arena *arena, void *p, size_t old, size_t bytes);

/* The bits of a double, and back. */
static inline uint64_t base_bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
static inline double base_double_of(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#endif
