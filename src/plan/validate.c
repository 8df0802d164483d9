/* validate.c - an independent check of a finished plan.
 *
 * Takes a plan. Gives the first fault by name. Shares no code with placement: it looks at pairs by a sweep over
 * offsets.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "plan/plan_private.h"

typedef struct live_block {
    const plan_tensor *t;
    uint32_t index;
} live_block;

static int by_offset(const void *x, const void *y) {
    const live_block *a = x, *b = y;
    if (a->t->offset != b->t->offset) {
        return a->t->offset < b->t->offset ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

static bool in_arena(const plan_tensor *t) {
    return t->role != PLAN_CONSTANT && t->role != PLAN_STATE;
}

static base_status check_overlaps(const plan_module *p, base_arena *scratch, base_diags *d) {
    live_block *list = BASE_NEWS(scratch, live_block, p->tensors.n + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        if (t->root == i && in_arena(t) && t->bytes > 0) {
            list[n++] = (live_block){t, i};
        }
    }
    qsort(list, n, sizeof *list, by_offset);
    for (size_t i = 0; i < n; i++) {
        const plan_tensor *a = list[i].t;
        for (size_t k = i + 1; k < n && list[k].t->offset < a->offset + a->bytes; k++) {
            const plan_tensor *b = list[k].t;
            if (a->first <= b->last && b->first <= a->last) {
                return base_error(d, NULL, "plan: tensors %u \"%s\" and %u \"%s\" overlap at offset %" PRIu64,
                                  list[i].index, a->name, list[k].index, b->name, b->offset);
            }
        }
    }
    return BASE_OK;
}

static base_status check_tensor(const plan_module *p, uint32_t i, base_diags *d) {
    const plan_tensor *t = &p->tensors.at[i];
    if (t->root >= p->tensors.n || p->tensors.at[t->root].root != t->root) {
        return base_error(d, NULL, "plan: tensor %u \"%s\" shares bytes with a tensor that is no root", i, t->name);
    }
    const plan_tensor *root = &p->tensors.at[t->root];
    if (t->root_offset + t->bytes > root->bytes || t->offset != root->offset + t->root_offset) {
        return base_error(d, NULL, "plan: tensor %u \"%s\" leaves the bytes it shares", i, t->name);
    }
    if (in_arena(root) && root->offset + root->bytes > p->arena_bytes) {
        return base_error(d, NULL, "plan: tensor %u \"%s\" ends at %" PRIu64 ", the arena at %" PRIu64, i, t->name,
                          root->offset + root->bytes, p->arena_bytes);
    }
    if (t->root == i && t->alignment > 1 && t->offset % t->alignment != 0) {
        return base_error(d, NULL, "plan: tensor %u \"%s\" at offset %" PRIu64 " is not aligned to %u", i, t->name,
                          t->offset, t->alignment);
    }
    return BASE_OK;
}

static base_status check_schedule(const plan_kernel *k, size_t stage, base_diags *d) {
    const lang_stage *s = &k->program->stages.at[stage];
    const plan_schedule *x = &k->schedules[stage];
    uint64_t seen = 0;
    for (uint32_t i = 0; i < x->order_count; i++) {
        seen |= UINT64_C(1) << x->order[i];
    }
    if (x->order_count != s->rank || seen != (s->rank == 0 ? 0 : (UINT64_C(1) << s->rank) - 1)) {
        return base_error(d, NULL, "plan: operator %s, stage %zu: the order is no permutation of the output's %u loops",
                          k->op, stage, s->rank);
    }
    bool tiled = x->form == PLAN_CONTRACT || x->form == PLAN_DEPTHWISE;
    if (x->mr < 1 || x->nr < 1 || x->unroll < 1 || (tiled && x->n_var >= s->rank)) {
        return base_error(d, NULL, "plan: operator %s, stage %zu: a tile of %u x %u over loop %u", k->op, stage, x->mr,
                          x->nr, x->n_var);
    }
    return BASE_OK;
}

base_status plan_validate(const plan_module *p, base_diags *d) {
    base_status status = BASE_OK;
    for (uint32_t i = 0; status == BASE_OK && i < p->tensors.n; i++) {
        status = check_tensor(p, i, d);
    }
    for (size_t i = 0; status == BASE_OK && i < p->kernels.n; i++) {
        for (size_t s = 0; status == BASE_OK && s < p->kernels.at[i].program->stages.n; s++) {
            status = check_schedule(&p->kernels.at[i], s, d);
        }
    }
    if (status == BASE_OK) {
        base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
        status = check_overlaps(p, scratch, d);
        base_arena_free(scratch);
    }
    return status;
}
