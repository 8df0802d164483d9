/* search.c - offsets below a given peak, by branch and bound.
 *
 * Takes blocks with lifetimes, a capacity and a number of placements to try. Gives offsets, or that there are none, or
 * that the number was used up. Deterministic: the number counts placements, not time.
 *
 * Among all plans within the capacity there is one of least sum of offsets; in it every block rests on another or on 0,
 * and blocks can be placed in the order of (offset, rank). So each next block stands on what is placed under it, never
 * below the last one, and never so high that another that is left would fit beneath (Moffitt, "MiniMalloc", ASPLOS 2023,
 * has the canonical order and the split below). Ranks decide what is tried first: after the three fixed ones, blocks
 * that often stood where a plan became impossible are tried early, from the start again (as weighted degrees in
 * constraint solving: Boussemart et al., ECAI 2004).
 *
 * A section is a stretch of time without a beginning or an end inside. What is left is split where no block that is left
 * crosses from one section to the next.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan_private.h"

enum { MOST_BLOCKS = 1024, FIXED_RANKS = 3, RESTART = 3000, CONFLICT_WEIGHT = 20 };

typedef struct candidate {
    uint64_t offset;
    uint32_t rank, block;
} candidate;

typedef struct raised {
    uint32_t block;
    uint64_t from;
} raised;

typedef struct piece {
    size_t first, count;
} piece;

/* Sections, the last one too. */
typedef struct span {
    uint32_t first, last;
} span;

typedef struct search {
    const plan_block *blocks;
    size_t n, sections;
    uint64_t capacity, nodes, limit;
    uint32_t *first, *last;          /* of each block: its sections */
    uint32_t *with_first, *with;     /* of each block: those that live at the same time */
    uint32_t *inside_first, *inside; /* of each section: its blocks */
    uint32_t *by_start;              /* blocks by their first section */
    uint64_t *most;                  /* of each block: the largest sum of a section that it is in */
    uint32_t *support; /* of each block one that it could rest on when it was last looked for; at first itself */
    uint32_t *rank, *conflicts;    /* of each block */
    uint64_t *low, *offset, *left; /* of each block the lowest place left; its place; of each section the bytes left */
    bool *placed;
    uint32_t *seen, now;      /* of each section: the placement that looked at it */
    BASE_VEC(uint32_t) order; /* blocks placed, in order */
    BASE_VEC(raised) trail;
    candidate *candidates; /* three stacks, which grow with the placements: who may be next, */
    piece *pieces;         /* what is left, in pieces, */
    uint32_t *lists;       /* and the blocks of all pieces */
    size_t candidate_count, piece_count, list_count;
    base_arena *arena;
} search;

/* ---- what is looked at ---- */

/* The blocks that are left in a section, each no lower than it may be, nor than `floor`: the highest of these places, and
 * how many there are. */
static uint64_t collect_left(const search *s, uint32_t section, uint64_t floor, candidate *list, size_t *count) {
    uint64_t highest = 0;
    size_t n = 0;
    for (uint32_t k = s->inside_first[section]; k < s->inside_first[section + 1]; k++) {
        const uint32_t b = s->inside[k];
        if (!s->placed[b]) {
            const uint64_t low = s->low[b] > floor ? s->low[b] : floor;
            highest = low > highest ? low : highest;
            list[n++] = (candidate){.offset = low, .block = b};
        }
    }
    *count = n;
    return highest;
}

/* Does a stack of blocks, each no lower than its place, end in the capacity? No other order gives a lower one. From a place at or
 * below `slack` on there is room for all of them, so that only those above it are sorted. */
static bool stack_fits(const search *s, candidate *list, size_t n, uint64_t slack) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        const candidate c = list[i];
        if (c.offset <= slack) {
            continue;
        }
        list[i] = list[m];
        size_t k = m++;
        for (; k > 0 && list[k - 1].offset > c.offset; k--) {
            list[k] = list[k - 1];
        }
        list[k] = c;
    }
    uint64_t top = 0;
    for (size_t i = 0; i < m; i++) {
        top = (list[i].offset > top ? list[i].offset : top) + s->blocks[list[i].block].bytes;
    }
    return top <= s->capacity;
}

/* Can what is left in the section still be stacked above `floor`? */
static bool section_fits(search *s, uint32_t section, uint64_t floor) {
    candidate *list = s->candidates + s->candidate_count;
    size_t n;
    const uint64_t highest = collect_left(s, section, floor, list, &n);
    if (highest + s->left[section] <= s->capacity ||
        (s->left[section] <= s->capacity && stack_fits(s, list, n, s->capacity - s->left[section]))) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        s->conflicts[list[i].block]++;
    }
    return false;
}

static bool sections_fit(search *s, uint32_t first, uint32_t last, uint64_t floor) {
    bool fits = true;
    for (uint32_t k = first; fits && k <= last; k++) {
        if (s->left[k] > 0 && s->seen[k] != s->now) {
            s->seen[k] = s->now;
            fits = section_fits(s, k, floor);
        }
    }
    return fits;
}

static bool has_room_on(const search *s, uint32_t b, uint32_t under, uint64_t floor) {
    const uint64_t low = s->low[under] > floor ? s->low[under] : floor;
    return under != b && !s->placed[under] && low + s->blocks[under].bytes + s->blocks[b].bytes <= s->capacity;
}

/* Block b can no longer stand where it is low enough: is there another left on which it could rest? What was found is
 * looked at first the next time. */
static bool has_support(search *s, uint32_t b, uint64_t floor) {
    bool has = has_room_on(s, b, s->support[b], floor);
    for (uint32_t k = s->with_first[b]; !has && k < s->with_first[b + 1]; k++) {
        has = has_room_on(s, b, s->with[k], floor);
        s->support[b] = s->with[k];
    }
    return has;
}

static int by_offset(const void *x, const void *y) {
    const candidate *a = x, *b = y;
    if (a->offset != b->offset) {
        return a->offset < b->offset ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* The blocks of a part that may be next behind a block of that offset and rank, the best first. false: there is one that
 * has no place any more. */
static bool find_candidates(search *s, const uint32_t *part, size_t n, uint64_t floor, uint32_t rank, size_t *count) {
    candidate *list = s->candidates + s->candidate_count;
    uint64_t room = UINT64_MAX; /* from here on another would fit beneath */
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t b = part[i];
        const uint64_t low = s->low[b], bytes = s->blocks[b].bytes;
        room = low + bytes < room ? low + bytes : room;
        if (low > floor || (low == floor && s->rank[b] > rank)) {
            list[m++] = (candidate){low, s->rank[b], b};
            continue;
        }
        if (!has_support(s, b, floor)) {
            return false;
        }
    }
    qsort(list, m, sizeof *list, by_offset);
    while (m > 0 && list[m - 1].offset >= room) {
        m--;
    }
    *count = m;
    return true;
}

/* ---- placing and taking back ---- */

static bool place_block(search *s, uint32_t b, uint64_t offset) {
    const uint64_t top = offset + s->blocks[b].bytes;
    bool fits = true;
    s->placed[b] = true;
    s->offset[b] = offset;
    *BASE_PUSH(s->arena, &s->order) = b;
    for (uint32_t k = s->first[b]; k <= s->last[b]; k++) {
        s->left[k] -= s->blocks[b].bytes;
    }
    for (uint32_t k = s->with_first[b]; k < s->with_first[b + 1]; k++) {
        const uint32_t o = s->with[k];
        const uint64_t low = plan_align_up(top, s->blocks[o].alignment);
        if (!s->placed[o] && s->low[o] < low) {
            *BASE_PUSH(s->arena, &s->trail) = (raised){o, s->low[o]};
            s->low[o] = low;
            fits = fits && low + s->blocks[o].bytes <= s->capacity;
        }
    }
    return fits;
}

static void take_back(search *s, size_t order, size_t trail) {
    while (s->trail.n > trail) {
        const raised *r = &s->trail.at[--s->trail.n];
        s->low[r->block] = r->from;
    }
    while (s->order.n > order) {
        const uint32_t b = s->order.at[--s->order.n];
        s->placed[b] = false;
        for (uint32_t k = s->first[b]; k <= s->last[b]; k++) {
            s->left[k] += s->blocks[b].bytes;
        }
    }
}

/* Whether the sections of a part can still be filled: all of them above the placement, those that it changed, from that
 * point of the trail on, as they are. */
static bool changes_fit(search *s, const span *part, const candidate *c, size_t trail) {
    bool fits = true;
    for (uint32_t k = part->first; fits && k <= part->last; k++) {
        fits = c->offset + s->left[k] <= s->capacity;
    }
    s->now++;
    fits = fits && sections_fit(s, s->first[c->block], s->last[c->block], c->offset);
    for (size_t i = trail; fits && i < s->trail.n; i++) {
        fits = sections_fit(s, s->first[s->trail.at[i].block], s->last[s->trail.at[i].block], c->offset);
    }
    return fits;
}

/* ---- the search ---- */

static span span_of(const search *s, const uint32_t *part, size_t n) {
    span all = {s->first[part[0]], 0};
    for (size_t i = 0; i < n; i++) {
        all.last = s->last[part[i]] > all.last ? s->last[part[i]] : all.last;
    }
    return all;
}

static bool search_parts(search *s, const uint32_t *part, size_t n, uint64_t floor, uint32_t rank);

/* Places all blocks of a part, which are by start, behind a block of that offset and rank. */
static bool search_part(search *s, const uint32_t *part, size_t n, uint64_t floor, uint32_t rank) {
    size_t count = 0;
    bool found = false;
    if (!find_candidates(s, part, n, floor, rank, &count)) {
        return false;
    }
    const candidate *list = s->candidates + s->candidate_count;
    const span sections = span_of(s, part, n);
    s->candidate_count += count;
    for (size_t i = 0; i < count && !found && s->nodes <= s->limit; i++) {
        const size_t order = s->order.n, trail = s->trail.n;
        s->nodes++;
        found = place_block(s, list[i].block, list[i].offset) && changes_fit(s, &sections, &list[i], trail) &&
                search_parts(s, part, n, list[i].offset, list[i].rank);
        if (!found) {
            take_back(s, order, trail);
        }
    }
    s->candidate_count -= count;
    return found;
}

/* What is left of a part, each piece that no other lives together with by itself, the smallest first. */
static bool search_parts(search *s, const uint32_t *part, size_t n, uint64_t floor, uint32_t rank) {
    uint32_t *list = s->lists + s->list_count, end = 0;
    piece *pieces = s->pieces + s->piece_count;
    size_t left = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t b = part[i];
        if (s->placed[b]) {
            continue;
        }
        if (count == 0 || s->first[b] > end) {
            pieces[count++] = (piece){left, 0};
            end = s->last[b];
        }
        pieces[count - 1].count++;
        end = s->last[b] > end ? s->last[b] : end;
        list[left++] = b;
    }
    for (size_t i = 1; i < count; i++) {
        const piece p = pieces[i];
        size_t k = i;
        for (; k > 0 && pieces[k - 1].count > p.count; k--) {
            pieces[k] = pieces[k - 1];
        }
        pieces[k] = p;
    }
    s->list_count += left;
    s->piece_count += count;
    bool found = true;
    for (size_t i = 0; i < count && found; i++) {
        found = search_part(s, list + pieces[i].first, pieces[i].count, floor, rank);
    }
    s->piece_count -= count;
    s->list_count -= left;
    return found;
}

/* ---- ranks ---- */

/* The keys of a fixed order, the first the most important: the largest sum, the width of life, the area. */
static void keys_of(const search *s, int order, uint32_t b, uint64_t keys[3]) {
    static const int which[FIXED_RANKS][3] = {{0, 1, 2}, {1, 2, 0}, {0, 2, 1}};
    const uint64_t width = (uint64_t)(s->last[b] - s->first[b]) + 1;
    const uint64_t of[3] = {s->most[b], (uint64_t)(s->blocks[b].last - s->blocks[b].first) + 1,
                            s->blocks[b].bytes <= UINT64_MAX / width ? s->blocks[b].bytes * width : UINT64_MAX};
    for (int k = 0; k < 3; k++) {
        keys[k] = of[which[order][k]];
    }
}

typedef struct ranked {
    uint64_t keys[3];
    uint32_t block;
} ranked;

static int compare_ranked(const void *x, const void *y) {
    const ranked *a = x, *b = y;
    for (int k = 0; k < 3; k++) {
        if (a->keys[k] != b->keys[k]) {
            return a->keys[k] > b->keys[k] ? -1 : 1;
        }
    }
    return a->block < b->block ? -1 : 1;
}

/* The ranks of a restart: a fixed order, or one drawn from it with what conflicts have shown. */
static void give_ranks(search *s, ranked *list, uint32_t restart, uint64_t *seed) {
    uint32_t most = 1;
    for (uint32_t b = 0; b < s->n; b++) {
        list[b].block = b;
        keys_of(s, (int)(restart % FIXED_RANKS), b, list[b].keys);
        most = s->conflicts[b] > most ? s->conflicts[b] : most;
    }
    qsort(list, s->n, sizeof *list, compare_ranked);
    for (size_t i = 0; restart >= FIXED_RANKS && i < s->n; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        const uint64_t noise = 1024 + (*seed >> 54) / 5, place = (((uint64_t)(s->n - i)) << 10) / s->n;
        const uint64_t weight = 1024 + CONFLICT_WEIGHT * 1024 * (uint64_t)s->conflicts[list[i].block] / most;
        list[i].keys[0] = place * noise * weight;
    }
    if (restart >= FIXED_RANKS) {
        qsort(list, s->n, sizeof *list, compare_ranked);
    }
    for (size_t i = 0; i < s->n; i++) {
        s->rank[list[i].block] = (uint32_t)i + 1;
    }
}

/* ---- sections ---- */

static int compare_steps(const void *x, const void *y) {
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

static uint32_t section_of(const uint32_t *starts, size_t n, uint32_t step) {
    size_t lo = 0, hi = n;
    while (lo + 1 < hi) {
        const size_t mid = (lo + hi) / 2;
        *(starts[mid] <= step ? &lo : &hi) = mid;
    }
    return (uint32_t)lo;
}

static void find_sections(search *s) {
    uint32_t *starts = BASE_NEWS(s->arena, uint32_t, 2 * s->n + 1);
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        starts[count++] = s->blocks[i].first;
        starts[count++] = s->blocks[i].last + 1;
    }
    qsort(starts, count, sizeof *starts, compare_steps);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || starts[kept - 1] != starts[i]) {
            starts[kept++] = starts[i];
        }
    }
    s->sections = kept;
    for (size_t i = 0; i < s->n; i++) {
        s->first[i] = section_of(starts, kept, s->blocks[i].first);
        s->last[i] = section_of(starts, kept, s->blocks[i].last);
    }
}

/* Who lives together, and in which sections. */
static void find_neighbours(search *s) {
    const size_t n = s->n;
    size_t pairs = 0, entries = 0;
    s->with_first = BASE_NEWS(s->arena, uint32_t, n + 1);
    s->inside_first = BASE_NEWS(s->arena, uint32_t, s->sections + 1);
    s->with = BASE_NEWS(s->arena, uint32_t, n * n + 1);
    for (size_t i = 0; i < n; i++) {
        s->with_first[i] = (uint32_t)pairs;
        entries += s->last[i] - s->first[i] + 1;
        for (size_t k = 0; k < n; k++) {
            if (i != k && s->first[i] <= s->last[k] && s->first[k] <= s->last[i]) {
                s->with[pairs++] = (uint32_t)k;
            }
        }
    }
    s->with_first[n] = (uint32_t)pairs;
    s->inside = BASE_NEWS(s->arena, uint32_t, entries + 1);
    entries = 0;
    for (uint32_t q = 0; q < s->sections; q++) {
        s->inside_first[q] = (uint32_t)entries;
        for (uint32_t i = 0; i < n; i++) {
            if (s->first[i] <= q && q <= s->last[i]) {
                s->inside[entries++] = i;
            }
        }
    }
    s->inside_first[s->sections] = (uint32_t)entries;
}

static void find_sums(search *s) {
    memset(s->left, 0, s->sections * sizeof *s->left);
    for (size_t i = 0; i < s->n; i++) {
        for (uint32_t q = s->first[i]; q <= s->last[i]; q++) {
            s->left[q] += s->blocks[i].bytes;
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        s->most[i] = 0;
        for (uint32_t q = s->first[i]; q <= s->last[i]; q++) {
            s->most[i] = s->left[q] > s->most[i] ? s->left[q] : s->most[i];
        }
    }
}

static void sort_by_start(search *s) {
    size_t count = 0;
    for (uint32_t q = 0; q < s->sections; q++) {
        for (uint32_t k = s->inside_first[q]; k < s->inside_first[q + 1]; k++) {
            if (s->first[s->inside[k]] == q) {
                s->by_start[count++] = s->inside[k];
            }
        }
    }
}

static search *prepare(base_arena *scratch, const plan_block *blocks, size_t n) {
    search *s = BASE_NEW(scratch, search);
    *s = (search){.arena = scratch, .blocks = blocks, .n = n};
    s->first = BASE_NEWS(scratch, uint32_t, n);
    s->last = BASE_NEWS(scratch, uint32_t, n);
    find_sections(s);
    find_neighbours(s);
    s->by_start = BASE_NEWS(scratch, uint32_t, n);
    sort_by_start(s);
    s->most = BASE_NEWS(scratch, uint64_t, n);
    s->rank = BASE_NEWS(scratch, uint32_t, n);
    s->support = BASE_NEWS(scratch, uint32_t, n);
    for (uint32_t b = 0; b < n; b++) {
        s->support[b] = b;
    }
    s->conflicts = BASE_NEWS(scratch, uint32_t, n);
    s->low = BASE_NEWS(scratch, uint64_t, n);
    s->offset = BASE_NEWS(scratch, uint64_t, n);
    s->left = BASE_NEWS(scratch, uint64_t, s->sections + 1);
    s->placed = BASE_NEWS(scratch, bool, n);
    s->seen = BASE_NEWS(scratch, uint32_t, s->sections + 1);
    /* Each placement leaves one block less for all that is behind it. */
    const size_t stack = n * (n + 3) / 2 + n;
    s->candidates = BASE_NEWS(scratch, candidate, stack);
    s->pieces = BASE_NEWS(scratch, piece, stack);
    s->lists = BASE_NEWS(scratch, uint32_t, stack);
    return s;
}

plan_search_result plan_search(base_arena *memory, plan_block *blocks, size_t n, uint64_t capacity, uint64_t *nodes) {
    for (size_t i = 0; i < n; i++) {
        if (blocks[i].bytes > capacity) {
            return PLAN_SEARCH_NONE;
        }
    }
    if (n == 0 || n > MOST_BLOCKS) {
        return n == 0 ? PLAN_SEARCH_FOUND : PLAN_SEARCH_STOPPED;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(memory));
    search *s = prepare(scratch, blocks, n);
    ranked *list = BASE_NEWS(scratch, ranked, n);
    const uint64_t most = *nodes;
    uint64_t seed = 1;
    plan_search_result result = PLAN_SEARCH_STOPPED;
    s->capacity = capacity;
    for (uint32_t restart = 0; result == PLAN_SEARCH_STOPPED && *nodes > 0; restart++) {
        find_sums(s);
        give_ranks(s, list, restart, &seed);
        memset(s->low, 0, n * sizeof *s->low);
        s->nodes = 0;
        /* The last eighth in one go: of few blocks it shows that there are none. */
        s->limit = *nodes > RESTART && *nodes > most / 8 ? RESTART : *nodes;
        const bool found = search_parts(s, s->by_start, n, 0, 0);
        result = found ? PLAN_SEARCH_FOUND : s->nodes <= s->limit ? PLAN_SEARCH_NONE : PLAN_SEARCH_STOPPED;
        *nodes -= s->nodes < *nodes ? s->nodes : *nodes;
    }
    for (size_t i = 0; result == PLAN_SEARCH_FOUND && i < n; i++) {
        blocks[i].offset = s->offset[i];
    }
    base_arena_free(scratch);
    return result;
}
