/* test_place.c - offsets: instances whose best peak is known by hand, and random ones checked for overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "plan/gaps.h"
#include "plan/plan.h"

static base_memory memory;
static base_guard guard;

static uint64_t place(plan_block *blocks, size_t n, uint64_t *bound) {
    base_arena *arena = base_arena_new(&memory);
    const plan_placement p = plan_place(arena, blocks, n, 100000);
    *bound = p.bound;
    assert_non_null(p.how);
    assert_true(p.peak > p.bound || p.optimal);
    base_arena_free(arena);
    return p.peak;
}

static void expect_disjoint(const plan_block *b, size_t n, uint64_t peak) {
    for (size_t i = 0; i < n; i++) {
        assert_true(b[i].offset + b[i].bytes <= peak);
        assert_int_equal(b[i].offset % b[i].alignment, 0);
        for (size_t k = 0; k < i; k++) {
            bool together = b[i].first <= b[k].last && b[k].first <= b[i].last;
            bool apart = b[i].offset + b[i].bytes <= b[k].offset || b[k].offset + b[k].bytes <= b[i].offset;
            assert_true(!together || apart);
        }
    }
}

static void a_chain_needs_its_two_largest_neighbours(void **state) {
    (void)state;
    uint64_t bound = 0;
    plan_block b[] = {{100, 0, 0, 1, 0}, {400, 0, 1, 1, 0}, {300, 1, 2, 1, 0}, {50, 2, 3, 1, 0}};
    assert_int_equal(place(b, 4, &bound), 700); /* 400 + 300 live in step 1 */
    assert_int_equal(bound, 700);
    expect_disjoint(b, 4, 700);
}

static void a_residual_lives_across(void **state) {
    (void)state;
    uint64_t bound = 0;
    /* x 64 lives 0..3; a 32 0..1; b 32 1..2; c 64 2..3; sum 64 in step 3 with x and c: 64+64+64 */
    plan_block b[] = {{64, 0, 3, 16, 0}, {32, 0, 1, 16, 0}, {32, 1, 2, 16, 0}, {64, 2, 3, 16, 0}, {64, 3, 3, 16, 0}};
    assert_int_equal(place(b, 5, &bound), 192);
    assert_int_equal(bound, 192);
    expect_disjoint(b, 5, 192);
}

static void alignment_is_kept(void **state) {
    (void)state;
    uint64_t bound = 0;
    plan_block b[] = {{10, 0, 1, 16, 0}, {10, 0, 1, 16, 0}, {3, 0, 1, 4, 0}};
    uint64_t peak = place(b, 3, &bound);
    assert_int_equal(bound, 23);
    assert_true(peak >= 26 && peak <= 35); /* 10 pad 16, 10; the 3 fits behind either */
    expect_disjoint(b, 3, peak);
}

static void nothing_needs_nothing(void **state) {
    (void)state;
    uint64_t bound = 1;
    plan_block none[1] = {{0, 0, 0, 1, 0}};
    assert_int_equal(place(none, 0, &bound), 0);
    assert_int_equal(bound, 0);
    assert_int_equal(place(none, 1, &bound), 0);
}

static void random_instances_never_overlap(void **state) {
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        plan_block b[40];
        uint64_t bound = 0, sum = 0;
        for (int i = 0; i < 40; i++) {
            seed = seed * 1664525u + 1013904223u;
            uint32_t first = (seed >> 8) % 20, length = (seed >> 16) % 6;
            b[i] = (plan_block){
                .bytes = (seed >> 12) % 1000, .first = first, .last = first + length, .alignment = 1u << (seed >> 30)};
            sum += b[i].bytes + b[i].alignment;
        }
        uint64_t peak = place(b, 40, &bound);
        assert_true(peak >= bound && peak <= sum);
        expect_disjoint(b, 40, peak);
    }
}

/* Every permutation of the blocks, each pushed down on what is there: one of them is a best plan. */
static uint64_t least_peak(plan_block *b, size_t *order, size_t n, size_t k) {
    uint64_t least = UINT64_MAX;
    if (k == n) {
        uint64_t peak = 0;
        for (size_t i = 0; i < n; i++) {
            plan_block *x = &b[order[i]];
            x->offset = 0;
            for (size_t j = 0; j < i; j++) {
                const plan_block *o = &b[order[j]];
                const uint64_t top = (o->offset + o->bytes + x->alignment - 1) / x->alignment * x->alignment;
                if (x->first <= o->last && o->first <= x->last && top > x->offset) {
                    x->offset = top;
                }
            }
            peak = x->offset + x->bytes > peak ? x->offset + x->bytes : peak;
        }
        return peak;
    }
    for (size_t i = k; i < n; i++) {
        const size_t at = order[i];
        order[i] = order[k];
        order[k] = at;
        const uint64_t peak = least_peak(b, order, n, k + 1);
        least = peak < least ? peak : least;
        order[k] = order[i];
        order[i] = at;
    }
    return least;
}

static void small_instances_are_optimal(void **state) {
    (void)state;
    uint32_t seed = 7;
    int above = 0;
    for (int round = 0; round < 300; round++) {
        enum { N = 7 };
        plan_block b[N], tried[N];
        size_t order[N];
        uint64_t bound = 0;
        for (size_t i = 0; i < N; i++) {
            seed = seed * 1664525u + 1013904223u;
            const uint32_t first = (seed >> 8) % 6;
            b[i] = (plan_block){.bytes = 1 + (seed >> 12) % 9,
                                .first = first,
                                .last = first + (seed >> 20) % 4,
                                .alignment = round % 3 == 0 ? 1u << ((seed >> 26) % 3) : 1};
            tried[i] = b[i];
            order[i] = i;
        }
        const uint64_t least = least_peak(tried, order, N, 0), peak = place(b, N, &bound);
        assert_int_equal(peak, least);
        expect_disjoint(b, N, peak);
        above += least > bound;
    }
    assert_true(above > 10); /* the bound is not always reached: so the search has shown that nothing is below */
}

/* No order is better than what a search of few placements gives, and without one the plan stands, too. */
static void a_search_may_be_short(void **state) {
    (void)state;
    base_arena *arena = base_arena_new(&memory);
    plan_block b[] = {{4, 0, 1, 1, 0}, {3, 1, 3, 1, 0}, {4, 3, 4, 1, 0},
                      {2, 0, 2, 1, 0}, {3, 2, 4, 1, 0}, {1, 1, 1, 1, 0}};
    const plan_placement p = plan_place(arena, b, 6, 1000), none = plan_place(arena, b, 6, 0);
    assert_true(p.optimal && p.peak <= none.peak);
    expect_disjoint(b, 6, none.peak);
    base_arena_free(arena);
}

/* A chain of many blocks takes no quadratic time: with it the test would not end. */
static void many_blocks(void **state) {
    (void)state;
    enum { N = 200000 };
    base_arena *arena = base_arena_new(&memory);
    plan_block *b = BASE_NEWS(arena, plan_block, N);
    for (uint32_t i = 0; i < N; i++) {
        b[i] = (plan_block){.bytes = 16 + i % 7, .first = i, .last = i + 1, .alignment = 4};
    }
    b[0].last = N;
    const plan_placement p = plan_place(arena, b, N, 1000);
    assert_true(p.peak >= p.bound && p.peak <= 16 + 3 * 24);
    base_arena_free(arena);
}

/* The offset from the definition: 0, or the aligned end of one that lives at the same time; the lowest that meets none of them. */
static uint64_t lowest_by_all(const plan_block *placed, size_t n, const plan_block *b) {
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i <= n; i++) {
        const uint64_t end = i < n ? placed[i].offset + placed[i].bytes : 0;
        const uint64_t at = (end + b->alignment - 1) / b->alignment * b->alignment;
        bool free = true;
        for (size_t k = 0; k < n; k++) {
            const plan_block *o = &placed[k];
            free = free && !(o->first <= b->last && b->first <= o->last && at < o->offset + o->bytes &&
                             o->offset < at + b->bytes);
        }
        lowest = free && at < lowest ? at : lowest;
    }
    return lowest;
}

static void gaps_are_the_lowest(void **state) {
    (void)state;
    enum { N = 120 };
    uint32_t seed = 11;
    for (uint32_t round = 0; round < 120; round++) {
        base_arena *arena = base_arena_new(&memory);
        plan_block b[N];
        const uint32_t steps = 1 + round % 61, widest = 1 + round % 17;
        for (size_t i = 0; i < N; i++) {
            seed = seed * 1664525u + 1013904223u;
            const uint32_t first = (seed >> 8) % steps, length = (seed >> 16) % widest;
            b[i] = (plan_block){.bytes = 1 + (seed >> 12) % 40,
                                .first = first,
                                .last = first + length < steps ? first + length : steps - 1,
                                .alignment = round % 3 == 0 ? 1 : 1u << (seed >> 30)};
        }
        plan_gaps *gaps = plan_gaps_new(arena, b, N);
        for (int again = 0; again < 2; again++) {
            plan_gaps_clear(gaps);
            for (size_t i = 0; i < N; i++) {
                b[i].offset = plan_gaps_lowest(gaps, &b[i]);
                assert_int_equal(b[i].offset, lowest_by_all(b, i, &b[i]));
                plan_gaps_fill(gaps, &b[i]);
            }
        }
        base_arena_free(arena);
    }
}

/* Ranges that are looked at for n blocks of which i lives from first(i) to last(i), in their order or from the last one on. */
static uint64_t work_for(uint32_t n, bool backward, uint32_t (*first)(uint32_t, uint32_t),
                         uint32_t (*last)(uint32_t, uint32_t)) {
    base_arena *arena = base_arena_new(&memory);
    plan_block *b = BASE_NEWS(arena, plan_block, n);
    for (uint32_t i = 0; i < n; i++) {
        b[i] = (plan_block){.bytes = 40, .first = first(i, n), .last = last(i, n), .alignment = 16};
    }
    plan_gaps *gaps = plan_gaps_new(arena, b, n);
    for (uint32_t i = 0; i < n; i++) {
        plan_block *x = &b[backward ? n - 1 - i : i];
        x->offset = plan_gaps_lowest(gaps, x);
        plan_gaps_fill(gaps, x);
    }
    const uint64_t work = plan_gaps_work(gaps);
    base_arena_free(arena);
    return work;
}

static uint32_t at_its_step(uint32_t i, uint32_t n) {
    (void)n;
    return i;
}

static uint32_t at_the_end(uint32_t i, uint32_t n) {
    (void)i;
    return n - 1;
}

static uint32_t half_way_on(uint32_t i, uint32_t n) {
    return i + n / 2 < n ? i + n / 2 : n - 1;
}

static uint32_t one_on(uint32_t i, uint32_t n) {
    return i + 1 < n ? i + 1 : i;
}

/* Outputs of a graph that all live to its end, long skip connections, a chain: twice the blocks are little more than twice the work, where
 * looking at all that live together would be four times. */
static void many_that_live_together(void **state) {
    (void)state;
    uint32_t (*const lasts[])(uint32_t, uint32_t) = {at_the_end, half_way_on, one_on};
    for (size_t k = 0; k < sizeof lasts / sizeof lasts[0]; k++) {
        for (int backward = 0; backward < 2; backward++) {
            const uint64_t once = work_for(8192, backward != 0, at_its_step, lasts[k]);
            const uint64_t twice = work_for(16384, backward != 0, at_its_step, lasts[k]);
            assert_in_range(once, 8192, (uint64_t)8192 * 200);
            assert_in_range(twice, 16384, once * 5 / 2);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_needs_its_two_largest_neighbours),
        cmocka_unit_test(a_residual_lives_across),
        cmocka_unit_test(alignment_is_kept),
        cmocka_unit_test(nothing_needs_nothing),
        cmocka_unit_test(random_instances_never_overlap),
        cmocka_unit_test(small_instances_are_optimal),
        cmocka_unit_test(a_search_may_be_short),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(gaps_are_the_lowest),
        cmocka_unit_test(many_that_live_together),
    };
    if (BASE_GUARD(&memory, &guard)) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
