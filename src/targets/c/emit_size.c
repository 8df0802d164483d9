/* emit_size.c - what a function will take of flash, predicted from its text.
 *
 * Takes emitted C. Gives bytes for a 32-bit machine with short instructions (Thumb-2).
 */
#include <string.h>

#include "targets/c/emit.h"

uint64_t c_code_bytes(const char *text) {
    uint64_t operators = 0;
    for (const char *c = text; *c != 0; c++) {
        operators += strchr("+-*/%<>=[?&|^!", *c) != NULL;
    }
    return 16 + operators * 5 / 2;
}
