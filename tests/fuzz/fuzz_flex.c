/* fuzz_flex.c - any bytes as a FlexBuffer: every value that can be reached to a depth of 4, at most 4,096 of them; a fault
 * is said once.
 */
#include "wire/wire.h"

#include <stdlib.h>

typedef struct walker {
    wire_flex f;
    unsigned left; /* values that may still be visited */
} walker;

static void walk(walker *w, wire_flex_value v, unsigned depth) {
    (void)wire_flex_int(&w->f, &v);
    (void)wire_flex_float(&w->f, &v);
    base_bytes b = wire_flex_bytes(&w->f, &v);
    uint8_t sum = 0;
    for (size_t i = 0; i < b.size; i++)
        sum ^= b.at[i];
    if (sum == 1 && v.kind < WIRE_FLEX_TEXT)
        abort();
    for (uint64_t i = 0; v.kind >= WIRE_FLEX_VECTOR && depth && i < v.n && w->left; i++) {
        w->left--;
        if (v.kind == WIRE_FLEX_MAP && wire_flex_key(&w->f, &v, i).size > WIRE_FLEX_KEY)
            abort();
        walk(w, wire_flex_at(&w->f, &v, i), depth - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
    base_memory memory = {.limit = 1 << 20};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard))
        abort();
    base_arena *arena = base_arena_new(&memory);
    base_diags d = {.arena = arena};
    walker w = {.left = 4096};
    wire_flex_open(&w.f, "fuzz.flex", NULL, 0, (base_bytes){at, size}, &d);
    walk(&w, wire_flex_root(&w.f), 4);
    if (d.errors != wire_flex_failed(&w.f))
        abort();
    base_arena_free(arena);
    base_unguard(&memory, &guard);
    return 0;
}
