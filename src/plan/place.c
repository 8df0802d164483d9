/* place.c - offsets for blocks with lifetimes in one arena.
 *
 * Takes sizes, alignments and lifetimes. Gives offsets by several greedy orders and keeps the best; the lower bound is
 * the largest sum of bytes live in one step; between the two a search decides (search.c). Deterministic: ties go to the
 * smaller index. Greedy: O(n log n) and the pairs that live together.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan_private.h"

static uint64_t align_up(uint64_t v, uint64_t a) {
    return a <= 1 ? v : (v + a - 1) / a * a;
}

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

typedef struct interval {
    uint64_t from, to;
} interval;

static int compare_intervals(const void *x, const void *y) {
    const interval *a = x, *b = y;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->to < b->to ? -1 : a->to > b->to);
}

/* ---- greedy ---- */

/* What is placed, by time: for each step the blocks that begin in it, and a tree over the steps whose nodes have the
 * blocks that live through the whole of theirs (and not of their parent's). */
typedef struct entry {
    uint32_t block, next;
} entry;

typedef struct greedy {
    plan_block *blocks;
    size_t n, leaves;
    uint32_t *begins, *through; /* of each step, of each node: the first entry, or none */
    entry *entries;
    size_t entry_count;
    interval *busy;
    size_t busy_count;
} greedy;

#define NO_ENTRY UINT32_MAX

static greedy greedy_new(base_arena *scratch, plan_block *blocks, size_t n) {
    greedy g = {.blocks = blocks, .n = n, .leaves = 1};
    uint32_t last = 0;
    for (size_t i = 0; i < n; i++) {
        last = blocks[i].last > last ? blocks[i].last : last;
    }
    size_t levels = 1;
    for (; g.leaves <= last; levels++) {
        g.leaves *= 2;
    }
    g.begins = BASE_NEWS(scratch, uint32_t, g.leaves);
    g.through = BASE_NEWS(scratch, uint32_t, 2 * g.leaves);
    g.entries = BASE_NEWS(scratch, entry, n * (2 * levels + 1) + 1);
    g.busy = BASE_NEWS(scratch, interval, n + 1);
    return g;
}

static void add_entry(greedy *g, uint32_t *list, uint32_t block) {
    g->entries[g->entry_count] = (entry){block, *list};
    *list = (uint32_t)g->entry_count++;
}

static void add_placed(greedy *g, uint32_t block) {
    const plan_block *b = &g->blocks[block];
    add_entry(g, &g->begins[b->first], block);
    for (size_t lo = b->first + g->leaves, hi = b->last + 1 + g->leaves; lo < hi; lo /= 2, hi /= 2) {
        if (lo & 1) {
            add_entry(g, &g->through[lo++], block);
        }
        if (hi & 1) {
            add_entry(g, &g->through[--hi], block);
        }
    }
}

static void add_busy(greedy *g, uint32_t list, bool earlier, uint32_t first) {
    for (; list != NO_ENTRY; list = g->entries[list].next) {
        const plan_block *o = &g->blocks[g->entries[list].block];
        if (!earlier || o->first < first) {
            g->busy[g->busy_count++] = (interval){o->offset, o->offset + o->bytes};
        }
    }
}

/* The lowest aligned gap among the blocks already placed that live at the same time: those that begin while it lives, and
 * those that began before and live in its first step. */
static uint64_t lowest_gap(greedy *g, const plan_block *b) {
    g->busy_count = 0;
    for (uint32_t step = b->first; step <= b->last; step++) {
        add_busy(g, g->begins[step], false, 0);
    }
    for (size_t node = b->first + g->leaves; node > 0; node /= 2) {
        add_busy(g, g->through[node], true, b->first);
    }
    qsort(g->busy, g->busy_count, sizeof *g->busy, compare_intervals);
    uint64_t at = 0;
    for (size_t i = 0; i < g->busy_count && g->busy[i].from < at + b->bytes; i++) {
        uint64_t after = align_up(g->busy[i].to, b->alignment);
        at = after > at ? after : at;
    }
    return at;
}

static uint64_t place_in_order(greedy *g, const place_key *keys) {
    uint64_t peak = 0;
    memset(g->begins, 0xff, g->leaves * sizeof *g->begins);
    memset(g->through, 0xff, 2 * g->leaves * sizeof *g->through);
    g->entry_count = 0;
    for (size_t i = 0; i < g->n; i++) {
        plan_block *b = &g->blocks[keys[i].index];
        b->offset = lowest_gap(g, b);
        add_placed(g, (uint32_t)keys[i].index);
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
    greedy g = greedy_new(scratch, blocks, n);
    plan_placement p = {.peak = UINT64_MAX, .bound = bound_of(scratch, blocks, n)};
    for (int order = 0; order < ORDER_COUNT && p.peak > p.bound; order++) {
        sort_blocks(keys, blocks, n, (place_order)order);
        uint64_t peak = place_in_order(&g, keys);
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
