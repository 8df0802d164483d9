/* gaps.h - which bytes are taken while something lives. */
#ifndef BURIN_PLAN_GAPS_H
#define BURIN_PLAN_GAPS_H

#include "plan/plan.h"

typedef struct plan_gaps plan_gaps;

/* Nothing is placed yet of these blocks. */
plan_gaps *plan_gaps_new(base_arena *arena, const plan_block *blocks, size_t n);
void plan_gaps_clear(plan_gaps *g);
/* The lowest aligned offset at which one of the blocks has room beside all that are placed and live at the same time. */
uint64_t plan_gaps_lowest(plan_gaps *g, const plan_block *b);
/* The block is placed at its offset. */
void plan_gaps_fill(plan_gaps *g, const plan_block *b);
/* Ranges that all calls have looked at or moved: what the time follows. */
uint64_t plan_gaps_work(const plan_gaps *g);

#endif
