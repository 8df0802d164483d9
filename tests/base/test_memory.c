/* test_memory.c - arenas: alignment, zeroing, growth, limits, guards, deferred calls, and every allocation failing in
 * turn. */
#include "fixture.h"

static void pieces_are_zeroed_aligned_and_apart(void **state) {
    (void)state;
    ledger l = {.allowed = -1};
    base_memory memory = {.realloc = ledger_realloc, .user = &l};
    base_arena *arena = base_arena_new(&memory);
    static const size_t sizes[] = {0, 1, 15, 16, 17, 100, 4096, 5000, 65535, 65536, 1 << 20, 3};
    enum { N = sizeof sizes / sizeof sizes[0] };
    uint8_t *at[N];
    for (size_t i = 0; i < N; i++) {
        at[i] = base_alloc(arena, sizes[i], 1);
        assert_non_null(at[i]);
        assert_int_equal((uintptr_t)at[i] % 16, 0);
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(at[i][k], 0);
        }
        memset(at[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(at[i][k], i + 1);
        }
    }
    assert_ptr_equal(base_arena_memory(arena), &memory);
    assert_true(memory.in_use >= (1 << 20) + 65536 + 65535);
    assert_int_equal(memory.in_use, l.live);
    base_arena_free(arena);
    assert_int_equal(l.live, 0);
    assert_int_equal(memory.in_use, 0);
    assert_true(memory.peak >= 1 << 20);
}

static void an_arena_knows_what_it_holds(void **state) {
    fixture *f = *state;
    base_arena *other = base_arena_new(base_arena_memory(f->arena));
    static const size_t sizes[] = {1, 100, 5000, 70000};
    for (size_t i = 0; i < 40; i++) {
        const size_t size = sizes[i % 4];
        const uint8_t *here = base_alloc(f->arena, size, 1), *there = base_alloc(other, size, 1);
        assert_true(base_arena_holds(f->arena, here) && base_arena_holds(f->arena, here + size - 1));
        assert_true(base_arena_holds(other, there) && base_arena_holds(other, there + size - 1));
        assert_false(base_arena_holds(other, here) || base_arena_holds(f->arena, there));
    }
    assert_false(base_arena_holds(f->arena, NULL) || base_arena_holds(f->arena, sizes));
    base_arena_free(other);
}

static void grow_keeps_the_old_part_and_zeroes_the_new(void **state) {
    fixture *f = *state;
    static const size_t steps[] = {1, 3, 16, 17, 100, 1000, 5000, 20000, 40000, 100000};
    uint32_t *p = base_grow(f->arena, NULL, 0, 1, sizeof *p), *other = NULL;
    size_t n = 1;
    p[0] = 7;
    for (size_t s = 1; s < sizeof steps / sizeof steps[0]; s++) {
        if (s % 2) {
            other = BASE_NEW(f->arena, uint32_t); /* now p is not the newest piece */
            *other = 99;
        }
        p = base_grow(f->arena, p, n, steps[s], sizeof *p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(p[i], 7 + i);
        }
        for (size_t i = n; i < steps[s]; i++) {
            assert_int_equal(p[i], 0);
            p[i] = (uint32_t)(7 + i);
        }
        n = steps[s];
        assert_int_equal(*other, 99);
    }
    assert_ptr_equal(base_grow(f->arena, p, n, n, sizeof *p), p);
    assert_ptr_equal(base_grow(f->arena, p, n, 1, sizeof *p), p);
}

static void a_large_piece_is_given_back_when_it_grows(void **state) {
    fixture *f = *state;
    const size_t mib = 1 << 20;
    uint8_t *p = base_alloc(f->arena, mib, 1);
    for (size_t n = mib; n < 64 * mib; n += mib) {
        p = base_grow(f->arena, p, n, n + mib, 1);
    }
    assert_non_null(p);
    assert_true(f->memory.in_use < 66 * mib);
}

static void large_pieces_grow_in_any_order(void **state) {
    (void)state;
    ledger l = {.allowed = -1};
    base_memory memory = {.realloc = ledger_realloc, .user = &l};
    base_arena *arena = base_arena_new(&memory);
    static const int order[] = {1, 0, 2, 2, 1, 3, 0, 3, 1, 2, 0, 0, 1};
    size_t size[4] = {70000, 80000, 90000, 100000};
    uint8_t *at[4];
    for (int k = 0; k < 4; k++) {
        at[k] = base_alloc(arena, size[k], 1);
        memset(at[k], k + 1, size[k]);
    }
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const int k = order[i];
        at[k] = base_grow(arena, at[k], size[k], size[k] + 50000, 1);
        memset(at[k] + size[k], k + 1, 50000);
        size[k] += 50000;
    }
    size_t total = 0;
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < size[k]; i++) {
            assert_int_equal(at[k][i], k + 1);
        }
        total += size[k];
    }
    assert_true(memory.in_use < total + 2000); /* what was given up is gone */
    base_arena_free(arena);
    assert_int_equal(l.live, 0);
}

static void vectors_start_at_eight_and_double(void **state) {
    fixture *f = *state;
    BASE_VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) {
        *BASE_PUSH(f->arena, &v) = i * i;
        assert_int_equal(v.cap, i < 8 ? 8u : i < 16 ? 16u : i < 32 ? 32u : v.cap);
    }
    assert_int_equal(v.n, 1000);
    assert_int_equal(v.cap, 1024);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(v.at[i], i * i);
    }
    for (size_t i = 1000; i < v.cap; i++) {
        assert_int_equal(v.at[i], 0);
    }
}

static void product_overflow(base_arena *arena) {
    base_alloc(arena, SIZE_MAX / 2, 3);
}
static void size_overflow(base_arena *arena) {
    base_alloc(arena, SIZE_MAX, 1);
}
static void grow_overflow(base_arena *arena) {
    base_grow(arena, base_alloc(arena, 1, 8), 1, SIZE_MAX / 4, 8);
}
static void vec_overflow(base_arena *arena) {
    base_vec_grow(arena, base_alloc(arena, 1, 8), SIZE_MAX / 2 + 1, 1);
}

static void must_run_out(void (*call)(base_arena *)) {
    base_memory memory = {0};
    base_guard guard;
    base_arena *volatile arena = NULL;
    if (BASE_GUARD(&memory, &guard)) {
        assert_int_equal(memory.in_use, 0); /* the jump freed the arena */
        return;
    }
    arena = base_arena_new(&memory);
    call(arena);
    fail_msg("an allocation of more than there is returned");
}

static void sizes_that_overflow_are_out_of_memory(void **state) {
    (void)state;
    must_run_out(product_overflow);
    must_run_out(size_overflow);
    must_run_out(grow_overflow);
    must_run_out(vec_overflow);
}

static void over_the_limit_is_out_of_memory(void **state) {
    (void)state;
    base_memory memory = {.limit = 100000};
    base_guard guard;
    base_arena *volatile arena = NULL;
    volatile int pieces = 0;
    if (BASE_GUARD(&memory, &guard)) {
        assert_true(pieces > 10 && pieces < 100);
        assert_true(memory.peak <= 100000);
        assert_null(memory.guard);
        assert_int_equal(memory.in_use, 0);
        return;
    }
    arena = base_arena_new(&memory);
    for (;; pieces++) {
        base_alloc(arena, 1000, 1);
    }
}

static void guards_nest(void **state) {
    (void)state;
    base_memory memory = {.limit = 1000000};
    base_guard outer, inner;
    base_arena *volatile arena = NULL;
    volatile int reached = 0;
    if (BASE_GUARD(&memory, &outer)) {
        assert_int_equal(reached, 1);
        reached = 2;
    } else {
        arena = base_arena_new(&memory);
        if (BASE_GUARD(&memory, &inner)) {
            assert_ptr_equal(memory.guard, &outer);
            reached = 1;
            base_alloc(arena, 2000000, 1); /* the outer one's now */
        } else {
            base_alloc(arena, 2000000, 1);
        }
        fail_msg("an allocation over the limit returned");
    }
    assert_int_equal(reached, 2);
    assert_null(memory.guard);
    base_guard_set(&memory, &outer);
    base_guard_set(&memory, &inner);
    base_unguard(&memory, &inner);
    assert_ptr_equal(memory.guard, &outer);
    base_unguard(&memory, &outer);
    assert_null(memory.guard);
    assert_int_equal(memory.in_use, 0);
}

/* The jump frees what was made under the guard, and only that; an older arena may have been freed meanwhile. */
static void the_jump_frees_younger_arenas(void **state) {
    (void)state;
    base_memory memory = {.limit = 1000000};
    base_guard guard;
    base_arena *oldest = base_arena_new(&memory), *older = base_arena_new(&memory);
    if (BASE_GUARD(&memory, &guard)) {
        assert_ptr_equal(memory.arenas, oldest);
        base_arena_free(oldest);
        assert_int_equal(memory.in_use, 0);
        return;
    }
    base_arena *first = base_arena_new(&memory), *second = base_arena_new(&memory);
    base_arena_free(older); /* the newest when the guard was set */
    base_arena_free(first);
    base_alloc(second, 2000000, 1);
    fail_msg("an allocation over the limit returned");
}

static char calls[16];
static void note_a(void *argument) {
    strcat(calls, argument);
}

static void deferred_calls_run_last_first(void **state) {
    (void)state;
    base_memory memory = {0};
    base_arena *arena = base_arena_new(&memory);
    calls[0] = '\0';
    base_defer(arena, note_a, "a");
    base_defer(arena, note_a, "b");
    base_alloc(arena, 100000, 1);
    base_defer(arena, note_a, "c");
    assert_string_equal(calls, "");
    base_arena_free(arena);
    base_arena_free(NULL);
    assert_string_equal(calls, "cba");
    assert_int_equal(memory.in_use, 0);
}

static int opened, closed;
static void close_it(void *argument) {
    (void)argument;
    closed++;
}
static void open_one(base_arena *arena) {
    for (int i = 0; i < 1000; i++) { /* more than one block holds */
        opened++;
        base_defer(arena, close_it, NULL);
    }
}

static void a_deferred_call_is_made_even_if_deferring_fails(void **state) {
    (void)state;
    assert_true(fail_each_allocation(open_one) >= 3);
    assert_true(opened > 0);
    assert_int_equal(closed, opened);
}

static void push_many(base_arena *arena) {
    BASE_VEC(uint64_t) v = {0};
    for (uint64_t i = 0; i < 20000; i++) {
        *BASE_PUSH(arena, &v) = i;
    }
    assert_int_equal(v.at[19999], 19999);
}

static void vectors_survive_every_failure(void **state) {
    (void)state;
    assert_true(fail_each_allocation(push_many) >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        WITH_ARENA(an_arena_knows_what_it_holds),
        WITH_ARENA(grow_keeps_the_old_part_and_zeroes_the_new),
        WITH_ARENA(a_large_piece_is_given_back_when_it_grows),
        cmocka_unit_test(large_pieces_grow_in_any_order),
        WITH_ARENA(vectors_start_at_eight_and_double),
        cmocka_unit_test(sizes_that_overflow_are_out_of_memory),
        cmocka_unit_test(over_the_limit_is_out_of_memory),
        cmocka_unit_test(guards_nest),
        cmocka_unit_test(the_jump_frees_younger_arenas),
        cmocka_unit_test(deferred_calls_run_last_first),
        cmocka_unit_test(a_deferred_call_is_made_even_if_deferring_fails),
        cmocka_unit_test(vectors_survive_every_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
