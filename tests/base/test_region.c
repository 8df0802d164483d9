/* test_region.c - a heap within one block: places apart and aligned, holes that close, and the peak as the size that is enough. */
#include "fixture.h"

enum { SIZE = 4096 };
static _Alignas(64) uint8_t block[SIZE];

static void places_are_apart_and_end_with_the_block(void **state) {
    (void)state;
    base_region r;
    base_region_init(&r, block, SIZE);
    uint8_t *a = base_region_realloc(&r, NULL, 0, 1), *b = base_region_realloc(&r, NULL, 0, 17);
    assert_ptr_equal(a, block);
    assert_ptr_equal(b, block + 16);
    assert_ptr_equal(base_region_realloc(&r, NULL, 0, SIZE - 48), block + 48);
    assert_null(base_region_realloc(&r, NULL, 0, 1));
    assert_null(base_region_realloc(&r, NULL, 0, SIZE_MAX));
    assert_int_equal(r.peak, SIZE);
    base_region_init(&r, block, 0);
    assert_null(base_region_realloc(&r, NULL, 0, 1));
}

/* Freed in every order, three neighbours become one place again. */
static void holes_close(void **state) {
    (void)state;
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int o = 0; o < 6; o++) {
        base_region r;
        void *at[3];
        base_region_init(&r, block, SIZE);
        for (int i = 0; i < 3; i++) {
            at[i] = base_region_realloc(&r, NULL, 0, 1000);
        }
        void *last = base_region_realloc(&r, NULL, 0, 500);
        for (int i = 0; i < 3; i++) {
            assert_null(base_region_realloc(&r, at[orders[o][i]], 1000, 0));
        }
        assert_ptr_equal(base_region_realloc(&r, NULL, 0, 3024), block);
        assert_null(base_region_realloc(&r, NULL, 0, 3024));
        assert_null(base_region_realloc(&r, last, 500, 0));
        assert_null(base_region_realloc(&r, block, 3024, 0));
        assert_ptr_equal(base_region_realloc(&r, NULL, 0, SIZE), block);
    }
}

static void a_place_that_grows_keeps_its_contents(void **state) {
    (void)state;
    base_region r;
    base_region_init(&r, block, SIZE);
    uint8_t *a = base_region_realloc(&r, NULL, 0, 32);
    memset(a, 7, 32);
    uint8_t *b = base_region_realloc(&r, a, 32, 64);
    assert_non_null(b);
    for (int i = 0; i < 32; i++) {
        assert_int_equal(b[i], 7);
    }
    assert_null(base_region_realloc(&r, b, 64, SIZE)); /* no room: b stays */
    assert_int_equal(b[31], 7);
}

static void arenas_at_work(base_region *r) {
    base_memory heap = {.realloc = base_region_realloc, .user = r};
    base_arena *a = base_arena_new(&heap), *b = base_arena_new(&heap);
    (void)base_alloc(a, 100, 1);
    (void)base_alloc(b, 1, 64);
    base_arena_free(a);
    (void)base_alloc(b, 10, 8);
    base_arena_free(b);
}

/* A block of the peak's size gives the same places; one that is smaller runs out. */
static void the_peak_is_enough(void **state) {
    (void)state;
    enum { LARGE = 1 << 16 };
    static _Alignas(64) uint8_t large[LARGE];
    base_region r;
    base_region_init(&r, large, LARGE);
    arenas_at_work(&r);
    const size_t peak = r.peak;
    assert_true(peak > 0 && peak < LARGE);
    uint8_t *exact = aligned_alloc(64, (peak + 63) / 64 * 64);
    assert_non_null(exact);
    base_region_init(&r, exact, peak);
    arenas_at_work(&r);
    assert_int_equal(r.peak, peak);
    base_region_init(&r, exact, peak - 16);
    base_memory heap = {.realloc = base_region_realloc, .user = &r};
    base_guard guard;
    volatile bool out = false;
    if (BASE_GUARD(&heap, &guard)) {
        out = true;
    } else {
        base_arena *a = base_arena_new(&heap), *b = base_arena_new(&heap);
        (void)base_alloc(a, 100, 1);
        (void)base_alloc(b, 1, 64);
        base_unguard(&heap, &guard);
        base_arena_free(a);
        base_arena_free(b);
    }
    assert_true(out);
    free(exact);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_apart_and_end_with_the_block),
        cmocka_unit_test(holes_close),
        cmocka_unit_test(a_place_that_grows_keeps_its_contents),
        cmocka_unit_test(the_peak_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
