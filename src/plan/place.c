/* place.c - offsets for blocks with lifetimes in one arena.
 *
 * Takes sizes, alignments and lifetimes. Gives offsets by several greedy orders and keeps the best; the lower bound is
 * the largest sum of bytes live in one step; between the two a search decides (search.c). Deterministic: ties go to the
 * smaller index.
 */
#include <stdlib.h>

#include "plan/gaps.h"
#include "plan/plan_private.h"

static uint64_t bound_of(base_arena *scratch, const plan_block *blocks, size_t n) {
    uint32_t steps = 0;
    for (size_t i = 0; i < n; i++) {
        steps = blocks[i].last + 1 > steps ? blocks[i].last + 1 : steps;
    }
    uint64_t *change = BASE_NEWS(scratch, uint64_t, (size_t)steps + 1); /* wrapping differences */
    for (size_t i = 0; i < n; i++) {
        change[blocks[i].first] += blocks[i].bytes;
        change[blocks[i].last + 1] -= blocks[i].bytes;
    }
    uint64_t live = 0, peak = 0;
    for (uint32_t s = 0; s < steps; s++) {
        live += change[s];
        peak = live > peak ? live : peak;
    }
    return peak;
}

typedef enum place_order { BY_SIZE, BY_DURATION, BY_AREA, BY_START, BY_END, ORDER_COUNT } place_order;
static const char *const order_names[ORDER_COUNT] = {"by size", "by duration", "by size times duration", "by first use",
                                                     "by last use"};

typedef struct place_key {
    uint64_t major, minor;
    size_t index;
} place_key;

static int compare_keys(const void *x, const void *y) {
    const place_key *a = x, *b = y;
    if (a->major != b->major) {
        return a->major > b->major ? -1 : 1;
    }
    if (a->minor != b->minor) {
        return a->minor > b->minor ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

static void sort_blocks(place_key *keys, const plan_block *blocks, size_t n, place_order order) {
    for (size_t i = 0; i < n; i++) {
        const plan_block *b = &blocks[i];
        uint64_t duration = (uint64_t)(b->last - b->first) + 1;
        keys[i] = (place_key){.major = b->bytes, .minor = duration, .index = i};
        switch (order) {
        case BY_DURATION:
            keys[i].major = duration;
            keys[i].minor = b->bytes;
            break;
        case BY_AREA:
            keys[i].major = duration != 0 && b->bytes > UINT64_MAX / duration ? UINT64_MAX : b->bytes * duration;
            break;
        case BY_START:
            keys[i].major = UINT32_MAX - (uint64_t)b->first;
            keys[i].minor = b->bytes;
            break;
        case BY_END:
            keys[i].major = b->last;
            keys[i].minor = b->bytes;
            break;
        default:
            break;
        }
    }
    qsort(keys, n, sizeof *keys, compare_keys);
}

/* ---- greedy ---- */

static uint64_t place_in_order(plan_gaps *gaps, plan_block *blocks, size_t n, const place_key *keys) {
    uint64_t peak = 0;
    plan_gaps_clear(gaps);
    for (size_t i = 0; i < n; i++) {
        plan_block *b = &blocks[keys[i].index];
        b->offset = plan_gaps_lowest(gaps, b);
        plan_gaps_fill(gaps, b);
        peak = b->offset + b->bytes > peak ? b->offset + b->bytes : peak;
    }
    return peak;
}

static void keep_offsets(uint64_t *offsets, const plan_block *blocks, size_t n) {
    for (size_t i = 0; i < n; i++) {
        offsets[i] = blocks[i].offset;
    }
}

static void give_offsets(plan_block *blocks, const uint64_t *offsets, size_t n) {
    for (size_t i = 0; i < n; i++) {
        blocks[i].offset = offsets[i];
    }
}

static uint64_t peak_of(const plan_block *blocks, size_t n) {
    uint64_t peak = 0;
    for (size_t i = 0; i < n; i++) {
        peak = blocks[i].offset + blocks[i].bytes > peak ? blocks[i].offset + blocks[i].bytes : peak;
    }
    return peak;
}

/* No order is better than the bound, so that one that meets it is the last. */
static plan_placement place_greedily(base_arena *scratch, plan_block *blocks, size_t n) {
    place_key *keys = BASE_NEWS(scratch, place_key, n + 1);
    uint64_t *best = BASE_NEWS(scratch, uint64_t, n + 1);
    plan_gaps *gaps = plan_gaps_new(scratch, blocks, n);
    plan_placement p = {.peak = UINT64_MAX, .bound = bound_of(scratch, blocks, n)};
    for (int order = 0; order < ORDER_COUNT && p.peak > p.bound; order++) {
        sort_blocks(keys, blocks, n, (place_order)order);
        uint64_t peak = place_in_order(gaps, blocks, n, keys);
        if (peak < p.peak) {
            p.peak = peak;
            p.how = order_names[order];
            keep_offsets(best, blocks, n);
        }
    }
    give_offsets(blocks, best, n);
    return p;
}

/* Looks for plans between the bound and what greedy orders gave: first and longest at the bound, then in the middle of what is left.
 * What a search shows to be impossible is below `least`. */
static void place_below(base_arena *scratch, plan_block *blocks, size_t n, plan_placement *p, uint64_t nodes) {
    uint64_t *best = BASE_NEWS(scratch, uint64_t, n + 1);
    uint64_t least = p->bound, from = p->bound;
    keep_offsets(best, blocks, n);
    while (from < p->peak && nodes > 1) {
        const bool at_bound = from == p->bound;
        const uint64_t capacity = at_bound ? from : from + (p->peak - 1 - from) / 2;
        uint64_t share = at_bound ? nodes - nodes / 8 : nodes / 2;
        nodes -= share;
        const plan_search_result result = plan_search(scratch, blocks, n, capacity, &share);
        nodes += share;
        if (result == PLAN_SEARCH_FOUND) {
            p->peak = peak_of(blocks, n);
            p->how = "by search";
            keep_offsets(best, blocks, n);
        } else {
            from = capacity + 1;
            least = result == PLAN_SEARCH_NONE ? capacity + 1 : least;
        }
    }
    give_offsets(blocks, best, n);
    p->optimal = p->peak == least;
}

plan_placement plan_place(base_arena *scratch, plan_block *blocks, size_t n, uint64_t most_placements) {
    plan_block *some = BASE_NEWS(scratch, plan_block, n + 1); /* those that have bytes */
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        blocks[i].offset = 0;
        if (blocks[i].bytes > 0) {
            some[count++] = blocks[i];
        }
    }
    plan_placement p = {.how = order_names[0], .optimal = true};
    if (count > 0) {
        p = place_greedily(scratch, some, count);
        p.optimal = p.peak == p.bound;
        if (!p.optimal) {
            place_below(scratch, some, count, &p, most_placements);
        }
    }
    for (size_t i = 0, k = 0; i < n; i++) {
        blocks[i].offset = blocks[i].bytes > 0 ? some[k++].offset : 0;
    }
    return p;
}
