/* metadata.c - metadata that are no text: ONNX's are strings, other formats' any bytes.
 *
 * Takes an entry. Gives it with a value in UTF-8: bytes that are none as hexadecimal digits, under a key that says so; and back.
 */
#include "formats/onnx/metadata.h"

#include <string.h>

#define HEX_KEY "burin.hex."

/* How many bytes the character at `at` has; 0: it is none. */
static size_t character(const uint8_t *at, size_t n) {
    const size_t more = at[0] < 0x80                    ? 0
                        : at[0] >= 0xc2 && at[0] < 0xe0 ? 1
                        : (at[0] & 0xf0) == 0xe0        ? 2
                        : at[0] >= 0xf0 && at[0] < 0xf5 ? 3
                                                        : n;
    if (more >= n) {
        return 0;
    }
    uint32_t code = more == 0 ? at[0] : at[0] & (0x3fu >> more);
    for (size_t k = 1; k <= more; k++) {
        if ((at[k] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (at[k] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    return code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : more + 1;
}

static bool is_text(const ir_metadata *e) {
    const uint8_t *at = e->data;
    for (size_t k = 0; k < e->size;) {
        const size_t n = character(at + k, e->size - k);
        if (n == 0) {
            return false;
        }
        k += n;
    }
    return true;
}

ir_metadata onnx_metadata_as_text(base_arena *arena, const ir_metadata *e) {
    static const char digits[] = "0123456789abcdef";
    if (is_text(e)) {
        return *e;
    }
    char *text = base_alloc(arena, 2 * e->size + 1, 1);
    for (size_t k = 0; k < e->size; k++) {
        const uint8_t byte = ((const uint8_t *)e->data)[k];
        text[2 * k] = digits[byte >> 4];
        text[2 * k + 1] = digits[byte & 15];
    }
    return (ir_metadata){base_printf(arena, HEX_KEY "%s", e->name), text, 2 * e->size};
}

static int digit_of(uint8_t c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

ir_metadata onnx_metadata_from_text(base_arena *arena, const ir_metadata *e) {
    const size_t prefix = sizeof HEX_KEY - 1;
    if (strncmp(e->name, HEX_KEY, prefix) != 0 || e->size % 2 != 0) {
        return *e;
    }
    const uint8_t *text = e->data;
    uint8_t *data = base_alloc(arena, e->size / 2 + 1, 1);
    for (size_t k = 0; k < e->size; k++) {
        const int digit = digit_of(text[k]);
        if (digit < 0) {
            return *e;
        }
        data[k / 2] = (uint8_t)(data[k / 2] << 4 | digit);
    }
    return (ir_metadata){e->name + prefix, data, e->size / 2};
}
