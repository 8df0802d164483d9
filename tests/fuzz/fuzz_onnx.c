/* fuzz_onnx.c - any bytes as an ONNX file (model.h), and as a file of one TensorProto. */
#include "fuzz/model.h"

enum { BYTES_FOR_EACH = 2000, BYTES_ANYWAY = 1 << 28 }; /* sparse constants may be 64 MiB when they are dense */

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
    fuzz_read("onnx", BYTES_ANYWAY, BYTES_FOR_EACH, at, size);
    base_memory memory = {.limit = BYTES_ANYWAY};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard))
        abort();
    base_arena *arena = base_arena_new(&memory);
    base_diags d = {.arena = arena};
    ir_tensor t;
    if ((formats_of_tensors("pb")->read_tensor(arena, "fuzz.pb", (base_bytes){at, size}, base_strings_new(arena), &t, &d) != BASE_OK) !=
        (d.errors > 0))
        abort();
    base_arena_free(arena);
    base_unguard(&memory, &guard);
    return 0;
}
