/* fixture.h - for the tests of base: an arena per test, and an allocator that fails when told to. */
#ifndef BURIN_TESTS_BASE_FIXTURE_H
#define BURIN_TESTS_BASE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

/* An allocator with accounts. Gives addresses that are 8 bytes off a multiple of 16: the arena must align. */
typedef struct ledger {
    size_t live;  /* bytes not given back */
    long allowed; /* allocations until it fails; negative: never */
} ledger;

static inline void *ledger_realloc(void *user, void *pointer, size_t old, size_t size) {
    ledger *l = user;
    uint8_t *raw = pointer ? (uint8_t *)pointer - 8 : NULL;
    if (size == 0) {
        assert_true(l->live >= old);
        l->live -= old;
        free(raw);
        return NULL;
    }
    assert_null(pointer); /* arenas do not resize */
    assert_int_equal(old, 0);
    if (l->allowed == 0) {
        return NULL;
    }
    if (l->allowed > 0) {
        l->allowed--;
    }
    l->live += size;
    raw = malloc(size + 8);
    assert_non_null(raw);
    memset(raw, 0xa5, size + 8);
    return raw + 8;
}

/* Runs body with the first allocation failing, then the second, and so on, until it runs to its end.
 * Each failure must come back to the guard with all memory given back. Returns the number of failures. */
static inline long fail_each_allocation(void (*body)(base_arena *arena)) {
    for (volatile long allowed = 0;; allowed++) {
        ledger l = {.live = 0, .allowed = allowed};
        base_memory memory = {.realloc = ledger_realloc, .user = &l};
        base_arena *volatile arena = NULL;
        volatile bool failed = false;
        base_guard guard;
        if (BASE_GUARD(&memory, &guard)) {
            failed = true;
        } else {
            arena = base_arena_new(&memory);
            body(arena);
            base_unguard(&memory, &guard);
            base_arena_free(arena);
        }
        assert_null(memory.guard);
        assert_int_equal(l.live, 0);
        assert_int_equal(memory.in_use, 0);
        if (!failed) {
            return allowed;
        }
        assert_true(allowed < 10000);
    }
}

/* Per test: an arena. No guard: running out of memory is a failed assertion of base. */
typedef struct fixture {
    base_memory memory;
    base_arena *arena;
    base_diags diags;
} fixture;

static inline int fixture_setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (!f) {
        return -1;
    }
    *state = f;
    f->arena = base_arena_new(&f->memory);
    f->diags.arena = f->arena;
    return 0;
}

static inline int fixture_teardown(void **state) {
    fixture *f = *state;
    base_arena_free(f->arena);
    const int leaked = f->memory.in_use != 0;
    free(f);
    return leaked;
}

#define WITH_ARENA(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

#endif
