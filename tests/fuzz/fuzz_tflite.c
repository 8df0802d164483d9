/* fuzz_tflite.c - any bytes as a TFLite file: refused with a diagnostic, or read to a model that verifies and prints.
 *
 * Memory is limited in proportion to the input: running out of it is a finding too.
 */
#include "formats/formats.h"

#include <stdlib.h>

enum { BYTES_FOR_EACH = 400, BYTES_ANYWAY = 1 << 26 }; /* variables may begin with 16 MiB of zeros */

static void read_once(base_memory *memory, const uint8_t *at, size_t size) {
    base_arena *arena = base_arena_new(memory);
    base_diags d = {.arena = arena};
    formats_options options = {.format = "tflite"};
    ir_model *m = NULL;
    base_status status = formats_read(arena, "fuzz.tflite", (base_bytes){at, size}, &options, &m, &d);
    if ((status == BASE_OK) != (m != NULL) || (status != BASE_OK) != (d.errors > 0))
        abort();
    if (m) {
        base_text text = {.arena = arena};
        ir_print(&text, m);
        ir_model *again = NULL;
        if (ir_parse(arena, "fuzz.ir", text.at, text.n, &again, &d) || ir_verify(again, &d))
            abort();
    }
    base_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
    base_memory memory = {.limit = BYTES_ANYWAY + BYTES_FOR_EACH * size};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard))
        abort();
    read_once(&memory, at, size);
    base_unguard(&memory, &guard);
    return 0;
}
