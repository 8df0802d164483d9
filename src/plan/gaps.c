/* gaps.c - the lowest gap between blocks that live at the same time.
 *
 * Takes blocks that are placed one after the other. Gives the lowest offset at which the next has room. A tree over the steps has
 * at each node the bytes that are taken in all of its steps, and those that are taken in any of them, as ranges that do not
 * touch: blocks that stand close are one range, however many they are.
 */
#include <string.h>

#include "plan/gaps.h"
#include "plan/plan_private.h"

#define MOST_SETS 128 /* that one block's life meets: two paths of the tree, and what hangs off them */

typedef struct range {
    uint64_t from, to;
} range;

/* By `from`; none touches the next. */
typedef struct ranges {
    range *at;
    uint32_t n, cap;
} ranges;

/* Of one set, where a search has come to. */
typedef struct cursor {
    const ranges *set;
    size_t i;
} cursor;

struct plan_gaps {
    base_arena *arena;
    size_t leaves;
    ranges *all, *any; /* of each node: taken in all of its steps and not of its parent's; in any below it */
    uint64_t granule;  /* every offset is a multiple */
    uint64_t work;
};

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

plan_gaps *plan_gaps_new(base_arena *arena, const plan_block *blocks, size_t n) {
    plan_gaps *g = BASE_NEW(arena, plan_gaps);
    uint32_t last = 0;
    *g = (plan_gaps){.arena = arena, .leaves = 1};
    for (size_t i = 0; i < n; i++) {
        last = blocks[i].last > last ? blocks[i].last : last;
        g->granule = common_divisor(g->granule, blocks[i].alignment > 0 ? blocks[i].alignment : 1);
    }
    while (g->leaves <= last) {
        g->leaves *= 2;
    }
    g->granule = g->granule > 0 ? g->granule : 1;
    g->all = BASE_NEWS(arena, ranges, g->leaves);
    g->any = BASE_NEWS(arena, ranges, 2 * g->leaves);
    return g;
}

void plan_gaps_clear(plan_gaps *g) {
    for (size_t i = 0; i < g->leaves; i++) {
        g->all[i].n = 0;
    }
    for (size_t i = 0; i < 2 * g->leaves; i++) {
        g->any[i].n = 0;
    }
}

uint64_t plan_gaps_work(const plan_gaps *g) {
    return g->work;
}

/* The first range from number i on that ends behind `at`, or at it where `touching`; steps that double, then halve. */
static size_t find_range(const ranges *s, size_t i, uint64_t at, bool touching) {
    const uint64_t least = touching ? at : at + 1;
    size_t step = 1, end = i;
    while (end < s->n && s->at[end].to < least) {
        i = end + 1;
        end += step;
        step *= 2;
    }
    end = end < s->n ? end : s->n;
    while (i < end) {
        const size_t middle = i + (end - i) / 2;
        if (s->at[middle].to < least) {
            i = middle + 1;
        } else {
            end = middle;
        }
    }
    return i;
}

/* false: all of it was taken. */
static bool add_range(plan_gaps *g, ranges *s, uint64_t from, uint64_t to) {
    const size_t first = s->n > 0 && s->at[s->n - 1].to < from ? s->n : find_range(s, 0, from, true);
    size_t behind = first;
    if (first < s->n && s->at[first].from <= from && to <= s->at[first].to) {
        return false;
    }
    for (; behind < s->n && s->at[behind].from <= to; behind++) {
        from = s->at[behind].from < from ? s->at[behind].from : from;
        to = s->at[behind].to > to ? s->at[behind].to : to;
    }
    if (behind == first) {
        if (s->n == s->cap) {
            const uint32_t cap = s->cap > 0 ? 2 * s->cap : 2;
            s->at = base_grow(g->arena, s->at, s->cap, cap, sizeof *s->at);
            s->cap = cap;
        }
        memmove(s->at + first + 1, s->at + first, (s->n - first) * sizeof *s->at);
        s->n++;
    } else {
        memmove(s->at + first + 1, s->at + behind, (s->n - behind) * sizeof *s->at);
        s->n -= (uint32_t)(behind - first - 1);
    }
    g->work += 1 + s->n - first;
    s->at[first] = (range){from, to};
    return true;
}

/* What is taken below a node is taken below those above it, too: one that has it all ends the way. */
static void add_at(plan_gaps *g, size_t node, uint64_t from, uint64_t to) {
    if (node < g->leaves) {
        (void)add_range(g, &g->all[node], from, to);
    }
    while (node > 0 && add_range(g, &g->any[node], from, to)) {
        node /= 2;
    }
}

void plan_gaps_fill(plan_gaps *g, const plan_block *b) {
    const uint64_t to = plan_align_up(b->offset + b->bytes, g->granule);
    for (size_t lo = b->first + g->leaves, hi = b->last + 1 + g->leaves; lo < hi; lo /= 2, hi /= 2) {
        if (lo & 1) {
            add_at(g, lo++, b->offset, to);
        }
        if (hi & 1) {
            add_at(g, --hi, b->offset, to);
        }
    }
}

static void add_cursor(cursor *list, size_t *n, const ranges *s) {
    if (s->n > 0) {
        list[(*n)++] = (cursor){s, 0};
    }
}

/* What the block lives together with: all below the nodes that its life consists of, and what lives through whole nodes above its first
 * and last step. */
static size_t find_cursors(const plan_gaps *g, const plan_block *b, cursor *list) {
    size_t n = 0;
    for (size_t lo = b->first + g->leaves, hi = b->last + 1 + g->leaves; lo < hi; lo /= 2, hi /= 2) {
        if (lo & 1) {
            add_cursor(list, &n, &g->any[lo++]);
        }
        if (hi & 1) {
            add_cursor(list, &n, &g->any[--hi]);
        }
    }
    for (size_t x = (b->first + g->leaves) / 2, y = (b->last + g->leaves) / 2; x > 0; x /= 2, y /= 2) {
        add_cursor(list, &n, &g->all[x]);
        if (x != y) {
            add_cursor(list, &n, &g->all[y]);
        }
    }
    return n;
}

uint64_t plan_gaps_lowest(plan_gaps *g, const plan_block *b) {
    cursor list[MOST_SETS];
    const size_t n = find_cursors(g, b, list);
    uint64_t at = 0;
    for (size_t k = 0, free = 0; free < n; k = k + 1 < n ? k + 1 : 0) { /* until all have room there */
        cursor *c = &list[k];
        const uint64_t before = at;
        c->i = find_range(c->set, c->i, at, false);
        while (c->i < c->set->n && c->set->at[c->i].from < at + b->bytes) {
            at = plan_align_up(c->set->at[c->i].to, b->alignment);
            c->i = find_range(c->set, c->i, at, false);
            g->work++;
        }
        free = at == before ? free + 1 : 1;
        g->work++;
    }
    return at;
}
