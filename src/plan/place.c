/* place.c - offsets for blocks with lifetimes in one arena.
 *
 * Takes sizes, alignments and lifetimes. Gives offsets by several greedy orders and keeps the best; the lower bound is
 * the largest sum of bytes live in one step. Deterministic: ties go to the smaller index. O(n^2) in blocks that live
 * together.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan_private.h"

static uint64_t align_up(uint64_t v, uint64_t a) {
    return a <= 1 ? v : (v + a - 1) / a * a;
}

uint64_t plan_place_bound(base_arena *scratch, const plan_block *blocks, size_t n) {
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

typedef struct interval {
    uint64_t from, to;
} interval;

static int compare_intervals(const void *x, const void *y) {
    const interval *a = x, *b = y;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->to < b->to ? -1 : a->to > b->to);
}

/* The lowest aligned gap among the blocks already placed that live at the same time. */
static uint64_t lowest_gap(const plan_block *blocks, const size_t *placed, size_t count, const plan_block *b,
                           interval *busy) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const plan_block *o = &blocks[placed[i]];
        if (o->bytes > 0 && o->first <= b->last && b->first <= o->last) {
            busy[n++] = (interval){o->offset, o->offset + o->bytes};
        }
    }
    qsort(busy, n, sizeof *busy, compare_intervals);
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (busy[i].from >= at + b->bytes) {
            break;
        }
        uint64_t after = align_up(busy[i].to, b->alignment);
        at = after > at ? after : at;
    }
    return at;
}

static uint64_t place_in_order(plan_block *blocks, const place_key *keys, size_t n, size_t *placed, interval *busy) {
    uint64_t peak = 0;
    for (size_t i = 0; i < n; i++) {
        plan_block *b = &blocks[keys[i].index];
        b->offset = lowest_gap(blocks, placed, i, b, busy);
        placed[i] = keys[i].index;
        peak = b->offset + b->bytes > peak ? b->offset + b->bytes : peak;
    }
    return peak;
}

uint64_t plan_place(base_arena *scratch, plan_block *blocks, size_t n, const char **winner) {
    place_key *keys = BASE_NEWS(scratch, place_key, n + 1);
    size_t *placed = BASE_NEWS(scratch, size_t, n + 1);
    interval *busy = BASE_NEWS(scratch, interval, n + 1);
    uint64_t *best = BASE_NEWS(scratch, uint64_t, n + 1);
    uint64_t best_peak = UINT64_MAX;
    *winner = order_names[0];
    for (int order = 0; order < ORDER_COUNT; order++) {
        sort_blocks(keys, blocks, n, (place_order)order);
        uint64_t peak = place_in_order(blocks, keys, n, placed, busy);
        if (peak < best_peak) {
            best_peak = peak;
            *winner = order_names[order];
            for (size_t i = 0; i < n; i++) {
                best[i] = blocks[i].offset;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        blocks[i].offset = best[i];
    }
    return n == 0 ? 0 : best_peak;
}
