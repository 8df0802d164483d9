/* private.h - what the files of room `base` share and nobody else sees. */
#ifndef BURIN_BASE_PRIVATE_H
#define BURIN_BASE_PRIVATE_H

#include "base/base.h"

#include <string.h>

/* Length in bytes (1 to 4) of the UTF-8 character at s, of which n >= 1 bytes may be read, and its code point;
 * 0: the byte at s starts none (Unicode 15, table 3-7: no overlong forms, no surrogates, at most U+10FFFF). */
unsigned base_utf8(const uint8_t *s, size_t n, uint32_t *code);

/* Whether a terminal may act on the character instead of showing it: controls, and marks that turn text around. */
bool base_is_control(uint32_t code);

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
