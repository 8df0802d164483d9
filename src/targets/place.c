/* place.c - places for the values of a file that is written, by the planner. */
#include "targets/target.h"

uint64_t target_place(base_arena *scratch, formats_block *blocks, size_t n) {
    enum { MOST_PLACEMENTS = 200000 };
    plan_block *placed = BASE_NEWS(scratch, plan_block, n + 1);
    for (size_t i = 0; i < n; i++) {
        const uint64_t over = blocks[i].bytes % FORMATS_BLOCK_ALIGNMENT;
        placed[i] = (plan_block){.bytes = blocks[i].bytes + (over ? FORMATS_BLOCK_ALIGNMENT - over : 0),
                                 .first = blocks[i].first,
                                 .last = blocks[i].last,
                                 .alignment = FORMATS_BLOCK_ALIGNMENT};
    }
    const plan_placement best = plan_place(scratch, placed, n, MOST_PLACEMENTS);
    for (size_t i = 0; i < n; i++) {
        blocks[i].offset = placed[i].offset;
    }
    return best.peak;
}
