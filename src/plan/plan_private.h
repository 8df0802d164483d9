/* plan_private.h - what the files of room `plan` share. */
#ifndef BURIN_PLAN_PRIVATE_H
#define BURIN_PLAN_PRIVATE_H

#include "plan/plan.h"

static inline uint64_t plan_align_up(uint64_t v, uint64_t alignment) {
    return alignment <= 1 ? v : (v + alignment - 1) / alignment * alignment;
}

/* Chooses the form and the numbers of every stage of a kernel (schedule.c). */
void plan_schedule_kernel(base_arena *arena, plan_kernel *k, const plan_options *o);
/* What a tile of a stage that is scheduled as one may be: up to so many points and channels, so many accumulators in all; every part of
 * the last tile is a whole one where nr divides the channels. (schedule.c) */
typedef struct plan_tile_limits {
    uint32_t points, channels, accumulators, unroll;
} plan_tile_limits;
plan_tile_limits plan_tile_limits_of(lang_ranges *ranges, const lang_stage *s, const plan_schedule *x);
/* Would the stage be done in register tiles? (schedule.c) */
bool plan_is_tiled(const plan_options *o, const lang_program *p, lang_ranges *ranges, const lang_stage *s);
/* Predicted cycles of a kernel that is scheduled; 0: the machine has no model (cost.c). */
uint64_t plan_cost(base_arena *arena, const plan_kernel *k, const plan_machine *m);
const char *plan_form_name(plan_form f);
const char *plan_role_name(plan_role r);

/* Finds stages that share outer loops (join.c). */
void plan_join_stages(plan_kernel *k, plan_moves without);
/* The stages that run together with that one, round by round: first .. last; itself: none do. */
void plan_together(const plan_kernel *k, size_t stage, size_t *first, size_t *last);

/* May the output of a kernel overwrite the input, while it runs? tensors of the kernel's program. */
bool plan_in_place(const plan_kernel *k, uint32_t input, uint32_t output);

/* Kernels and tensors are complete: finds what may share bytes, how long everything lives, and places it
 * (lifetimes.c). order: kernel order[i] becomes kernel i; NULL: the one that is best. */
void plan_place_tensors(base_arena *arena, plan_module *p, bool share, const uint32_t *order);

/* An order of the kernels, which keeps for each what it reads, with fewer live bytes than theirs (reorder.c); tensors know what
 * they share bytes with. false: none is known. */
bool plan_find_order(base_arena *scratch, const plan_module *p, uint32_t *order);
/* Does each kernel read in that order what it reads in the plan's? false: numbers of the order of two that do not (reorder.c). */
bool plan_is_order(base_arena *scratch, const plan_module *p, const uint32_t *order, size_t *first, size_t *second);
/* Everything is placed: gives what schedules ask for lines, where the arena has it free (lines.c). */
void plan_place_lines(plan_module *p);

/* Everything is placed in one arena: says what lies in which of the device's memories (memories.c). */
void plan_spread_memories(plan_module *p);
/* The banks have their bytes: gives them their bases, and the plan the last one's totals. */
void plan_settle_banks(plan_module *p);
/* What has bytes of its own in the arena, with its lifetime; owner: of each block the tensor. -> how many (lifetimes.c) */
size_t plan_blocks(base_arena *scratch, const plan_module *p, plan_block *blocks, uint32_t *owner);

/* Offsets of all blocks below that capacity, by at most *nodes placements (search.c), which are taken off it: they are in
 * the blocks, or there are none, or it was stopped; it is at once where there are more than about a thousand blocks. */
typedef enum plan_search_result { PLAN_SEARCH_FOUND, PLAN_SEARCH_NONE, PLAN_SEARCH_STOPPED } plan_search_result;
plan_search_result plan_search(base_arena *memory, plan_block *blocks, size_t n, uint64_t capacity, uint64_t *nodes);

/* Are there jumps? (print.c) */
bool plan_has_control(const plan_module *p);
/* Has the tensor bytes of its own in the arena? (picture.c) */
bool plan_in_arena(const plan_module *p, uint32_t tensor);
/* Of each kernel the bytes that are live in it; and the first kernel with the most. */
uint64_t *plan_live_bytes(base_arena *arena, const plan_module *p);
size_t plan_fullest_kernel(const plan_module *p, const uint64_t *live);

/* What a written plan says of a plan that is made (replay.c): the kernels' order, before they are placed; the offsets of tensors from
 * that number on; and that nothing else differs. Each refuses by the file's line and column. */
base_status plan_replay_order(const plan_replay *r, const plan_module *p, uint32_t *order, base_diags *d);
/* Kernel i of the file is order[i] of the plan: its stages get the schedules that the file says, where those are legal. *edited: another one than
 * the options give was among them. */
base_status plan_replay_schedules(const plan_replay *r, plan_module *p, const uint32_t *order, bool *edited,
                                  base_diags *d);
base_status plan_replay_places(const plan_replay *r, plan_module *p, uint32_t from, base_diags *d);
/* lines_from: number of the first tensor of lines, which follow from schedules; UINT32_MAX: no schedule was edited. */
base_status plan_replay_rest(const plan_replay *r, const plan_module *p, uint32_t lines_from, base_diags *d);

/* Generated from devices/ (scripts/devices.py). */
extern const plan_device plan_devices[];
extern const size_t plan_device_total;

#endif
