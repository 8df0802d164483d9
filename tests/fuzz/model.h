/* model.h - any bytes as a model file of a format: refused with a diagnostic, or read to a model that verifies and prints.
 *
 * Memory is limited in proportion to the input: running out of it is a finding too.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "formats/formats.h"

#include <stdlib.h>

static uint64_t fuzz_bytes(base_type type, const ir_shape *shape, const void *data) {
    uint64_t elements = 0, bytes = 0;
    return data && ir_shape_elements(shape, &elements) && base_type_bytes(type, elements, &bytes) ? bytes : 0;
}

/* A few bytes can say large constants and states (sparse ones, zeros), whose text is more than the input should cost. */
static bool fuzz_is_small(const ir_model *m) {
    uint64_t total = 0;
    for (size_t i = 0; i < m->states.n; i++)
        total += fuzz_bytes(m->states.at[i].type, &m->states.at[i].shape, m->states.at[i].data);
    for (size_t i = 0; i < m->graphs.n; i++)
        for (size_t k = 0; k < m->graphs.at[i].tensors.n; k++) {
            const ir_tensor *t = &m->graphs.at[i].tensors.at[k];
            total += fuzz_bytes(t->type, &t->shape, t->data);
        }
    return total <= (uint64_t)1 << 24;
}

static void fuzz_read_once(base_memory *memory, const char *format, const uint8_t *at, size_t size) {
    base_arena *arena = base_arena_new(memory);
    base_diags d = {.arena = arena};
    formats_options options = {.format = format};
    ir_model *m = NULL;
    base_status status = formats_read(arena, "fuzz", (base_bytes){at, size}, &options, &m, &d);
    if ((status == BASE_OK) != (m != NULL) || (status != BASE_OK) != (d.errors > 0))
        abort();
    if (m && fuzz_is_small(m)) {
        base_text text = {.arena = arena};
        ir_print(&text, m);
        ir_model *again = NULL;
        if (ir_parse(arena, "fuzz.ir", text.at, text.n, &again, &d) || ir_verify(again, &d))
            abort();
    }
    base_arena_free(arena);
}

/* At most `anyway` bytes and `for_each` for each of the input's. */
static void fuzz_read(const char *format, size_t anyway, size_t for_each, const uint8_t *at, size_t size) {
    base_memory memory = {.limit = anyway + for_each * size};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard))
        abort();
    fuzz_read_once(&memory, format, at, size);
    base_unguard(&memory, &guard);
}

#endif
