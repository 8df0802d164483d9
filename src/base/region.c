/* region.c - a heap within one block: for what must not go to the system while it works.
 *
 * Takes a block and the sizes that base_memory asks for. Gives places in it, the lowest that is free, so that the same calls have the
 * same places whatever the size of the block, and the peak of one block is the size that another needs.
 */
#include <string.h>

#include "base/base.h"

enum { GRAIN = 16 };

typedef struct base_hole {
    struct base_hole *next; /* at a higher address */
    size_t size;
} hole;

static size_t rounded(size_t size) {
    return size <= SIZE_MAX - GRAIN ? (size + GRAIN - 1) / GRAIN * GRAIN : 0;
}

void base_region_init(base_region *r, void *at, size_t size) {
    assert((uintptr_t)at % GRAIN == 0);
    *r = (base_region){.at = at, .size = size / GRAIN * GRAIN};
    if (r->size > 0) {
        r->holes = at;
        *r->holes = (hole){NULL, r->size};
    }
}

static void *take(base_region *r, size_t size) {
    hole **link = &r->holes;
    while (*link != NULL && (*link)->size < size) {
        link = &(*link)->next;
    }
    hole *found = *link;
    if (found == NULL || size == 0) {
        return NULL;
    }
    if (found->size > size) {
        hole *rest = (hole *)(void *)((uint8_t *)found + size);
        *rest = (hole){found->next, found->size - size};
        *link = rest;
    } else {
        *link = found->next;
    }
    const size_t end = (size_t)((uint8_t *)found - r->at) + size;
    r->peak = end > r->peak ? end : r->peak;
    return found;
}

static bool touches(const hole *a, const hole *b) {
    return b != NULL && (const uint8_t *)a + a->size == (const uint8_t *)b;
}

static void give(base_region *r, void *at, size_t size) {
    hole *new = at, *before = NULL, *after = r->holes;
    while (after != NULL && (uintptr_t)after < (uintptr_t)at) {
        before = after;
        after = after->next;
    }
    *new = (hole){after, size};
    if (touches(new, after)) {
        *new = (hole){after->next, size + after->size};
    }
    if (before == NULL) {
        r->holes = new;
    } else if (touches(before, new)) {
        *before = (hole){new->next, before->size + new->size};
    } else {
        before->next = new;
    }
}

void *base_region_realloc(void *region, void *pointer, size_t old, size_t size) {
    base_region *r = region;
    void *to = size > 0 ? take(r, rounded(size)) : NULL;
    if (to != NULL && pointer != NULL) {
        memcpy(to, pointer, old < size ? old : size);
    }
    if (pointer != NULL && (size == 0 || to != NULL)) {
        give(r, pointer, rounded(old));
    }
    return to;
}
