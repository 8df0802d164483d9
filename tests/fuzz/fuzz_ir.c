/* fuzz_ir.c - any bytes as the graph's text form: refused with line and column, or read to what prints and reads the
 * same. */
#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

static char *print(base_arena *arena, const ir_model *m) {
    base_text text = {.arena = arena};
    ir_print(&text, m);
    return text.at;
}

static void read_once(base_memory *memory, const char *at, size_t size) {
    base_arena *arena = base_arena_new(memory);
    base_diags d = {.arena = arena};
    ir_model *m = NULL, *again = NULL;
    if (ir_parse(arena, "fuzz.ir", at, size, &m, &d)) {
        if (!d.errors || !d.list.at[0].line)
            abort();
    } else {
        ir_verify(m, &d);
        char *once = print(arena, m);
        if (ir_parse(arena, "again.ir", once, strlen(once), &again, &d) || strcmp(once, print(arena, again)) != 0)
            abort();
    }
    base_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
    base_memory memory = {.limit = (1 << 20) + 2000 * size};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard))
        abort();
    read_once(&memory, (const char *)at, size);
    base_unguard(&memory, &guard);
    return 0;
}
