/* bytes.c - bounded little-endian reads and checked sizes.
 *
 * Takes untrusted offsets and counts of 64 bits; gives a value, or false when they do not fit.
 * Knows no format.
 */
#include "base/base.h"

static bool get(base_bytes b, uint64_t offset, unsigned width, uint64_t *v) {
    if (offset > b.size || b.size - offset < width)
        return false;
    uint64_t value = 0;
    for (unsigned i = width; i-- > 0;)
        value = value << 8 | b.at[(size_t)offset + i];
    *v = value;
    return true;
}

bool base_get_u8(base_bytes b, uint64_t offset, uint8_t *v) {
    uint64_t wide;
    if (!get(b, offset, 1, &wide))
        return false;
    *v = (uint8_t)wide;
    return true;
}

bool base_get_u16(base_bytes b, uint64_t offset, uint16_t *v) {
    uint64_t wide;
    if (!get(b, offset, 2, &wide))
        return false;
    *v = (uint16_t)wide;
    return true;
}

bool base_get_u32(base_bytes b, uint64_t offset, uint32_t *v) {
    uint64_t wide;
    if (!get(b, offset, 4, &wide))
        return false;
    *v = (uint32_t)wide;
    return true;
}

bool base_get_u64(base_bytes b, uint64_t offset, uint64_t *v) {
    return get(b, offset, 8, v);
}

bool base_mul_size(uint64_t a, uint64_t b, uint64_t *product) {
    if (b && a > UINT64_MAX / b)
        return false;
    *product = a * b;
    return true;
}

bool base_add_size(uint64_t a, uint64_t b, uint64_t *sum) {
    if (a > UINT64_MAX - b)
        return false;
    *sum = a + b;
    return true;
}
