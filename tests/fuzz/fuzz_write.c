/* fuzz_write.c - any model is written as TFLite, or refused with a diagnostic.
 *
 * A TFLite file that was read, once written, is read again, and written again as the same bytes if it was the same graph;
 * where it was another one (a variable tensor that has become a variable behind a handle), from then on. Of the text form, whose nodes may have any attributes, only refusals are checked, and that what was written does no harm when
 * it is read. Memory is limited in proportion to the input: running out of it is a finding too.
 */
#include "formats/formats.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_FOR_EACH = 2000, BYTES_ANYWAY = 1 << 28 }; /* a variable may begin with 16 MiB of zeros */

static base_bytes write_model(base_arena *arena, const ir_model *m) {
    base_text *out = BASE_NEW(arena, base_text);
    base_diags d = {.arena = arena};
    out->arena = arena;
    base_status status = formats_find("tflite")->write(arena, m, NULL, out, &d);
    if ((status != BASE_OK) != (d.errors > 0))
        abort();
    return status == BASE_OK ? (base_bytes){(const uint8_t *)out->at, out->n} : (base_bytes){0};
}

static ir_model *read_model(base_arena *arena, const char *format, base_bytes bytes) {
    base_diags d = {.arena = arena};
    formats_options options = {.format = format};
    ir_model *m = NULL;
    formats_read(arena, "fuzz", bytes, &options, &m, &d);
    return m;
}

static void write_once(base_memory *memory, base_bytes input) {
    base_arena *arena = base_arena_new(memory);
    bool is_text = input.size >= 5 && !memcmp(input.at, "burin", 5);
    ir_model *m = read_model(arena, is_text ? "ir" : "tflite", input);
    base_bytes file = m ? write_model(arena, m) : (base_bytes){0};
    ir_model *back = file.at ? read_model(arena, "tflite", file) : NULL;
    if (file.at && !is_text) {
        base_bytes again = back ? write_model(arena, back) : file;
        if (!back || !again.at)
            abort();
        if (!ir_same(arena, m, back)) {
            file = again;
            m = back;
            back = read_model(arena, "tflite", file);
            if (!back || !ir_same(arena, m, back))
                abort();
            again = write_model(arena, back);
        }
        if (again.size != file.size || memcmp(again.at, file.at, file.size) != 0)
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
    write_once(&memory, (base_bytes){at, size});
    base_unguard(&memory, &guard);
    return 0;
}
