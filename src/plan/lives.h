/* lives.h - who touches each tensor of a plan and when (private to plan): made by lifetimes.c, read by share.c. */
#ifndef BURIN_PLAN_LIVES_H
#define BURIN_PLAN_LIVES_H

#include "plan/plan_private.h"

/* A loop: its kernels, and the loop around it (IR_NONE: none). */
typedef struct plan_span {
    uint32_t first, last, outer;
} plan_span;

/* A stage that has nothing left to do, and what it was before. */
typedef struct plan_idle {
    plan_kernel *kernel;
    size_t stage;
    plan_form form;
    const char *reason;
} plan_idle;

typedef struct plan_lives {
    base_arena *scratch;
    plan_module *p;
    uint32_t *first, *last;         /* of each tensor by itself, loops counted in; first IR_NONE: not at all */
    uint32_t *from, *until;         /* of each tensor, in the kernels that use it: the stages that do */
    uint32_t *write_first, *writes; /* tensor t is written by writes[write_first[t] .. write_first[t + 1]) */
    plan_span *loops;
    uint32_t *loop_of;   /* of each kernel: the innermost loop, or IR_NONE */
    uint32_t *branch_of; /* of each kernel: a number; kernels of one number are done together or not at all */
    BASE_VEC(plan_idle) idle;
} plan_lives;

/* What may share bytes beyond whole values: parts of a value that are read where it lies, and parts that are made where
 * the whole will lie; and outputs that are written over an input, element by element. */
enum { PLAN_PARTS_READ = 1u, PLAN_PARTS_MADE = 2u, PLAN_PARTS = 3u, PLAN_IN_PLACE = 4u };

/* Finds tensors that share bytes, whole ones and those parts: roots and offsets in them, and the stages that have nothing
 * left to do. Gives which of them there were. (share.c) */
unsigned plan_share(plan_lives *l, unsigned what);
/* Every tensor has bytes of its own again, and every stage its work. (share.c) */
void plan_unshare(plan_lives *l);

#endif
