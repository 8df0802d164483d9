/* join.c - stages of an operator that share their outer loops.
 *
 * Takes a kernel whose stages have their schedules. Gives how many outer loops each has in common with the stage before it: all stages of
 * such a group have the same number, and the same extents there; what one reads of another is of the same point of these loops, so
 * that each round has made what it needs. A row's largest element, its sum and its quotients are one loop over rows. Judges no cost.
 */
#include "plan/plan_private.h"

/* How many of the first output loops of both go equally far, by constants. */
static uint32_t equal_loops(const lang_program *p, const lang_stage *a, const lang_stage *b) {
    uint32_t n = 0;
    while (n < a->rank && n < b->rank && a->vars[n].bound == b->vars[n].bound &&
           lang_at(p, a->vars[n].extent)->kind == LANG_CONST && lang_at(p, b->vars[n].extent)->kind == LANG_CONST) {
        n++;
    }
    return n;
}

static bool makes(const lang_program *p, size_t first, size_t end, uint32_t tensor) {
    for (size_t i = first; i < end; i++) {
        if (p->stages.at[i].tensor == tensor) {
            return true;
        }
    }
    return false;
}

/* The first indices of the read that are the loops themselves. */
static uint32_t own_indices(const lang_program *p, lang_ref read, uint32_t most) {
    const lang_node *n = lang_at(p, read);
    uint32_t same = 0;
    while (same < most && !n->flat && same < p->tensors.at[n->index].rank) {
        const lang_node *index = lang_at(p, lang_operand(p, read, same));
        if (index->kind != LANG_VAR || index->index != same) {
            break;
        }
        same++;
    }
    return same;
}

/* Stage i can go with first .. i - 1 in so many loops. */
static uint32_t common_loops(base_arena *scratch, const lang_program *p, size_t first, size_t i, uint32_t most) {
    const lang_stage *s = &p->stages.at[i];
    uint32_t n = equal_loops(p, &p->stages.at[first], s);
    n = n < most ? n : most;
    const uint8_t *reached = lang_reached(scratch, p, s);
    for (lang_ref r = 1; r <= s->body && n > 0; r++) {
        if (reached[r] != 0 && lang_at(p, r)->kind == LANG_READ && makes(p, first, i, lang_at(p, r)->index)) {
            n = own_indices(p, r, n);
        }
    }
    return n;
}

static bool may_share(const plan_kernel *k, size_t i) {
    return k->schedules[i].form == PLAN_NEST && k->program->stages.at[i].rec < 0;
}

static double rounds(const lang_stage *s, uint32_t loops) {
    double n = 1;
    for (uint32_t v = 0; v < loops; v++) {
        n *= (double)s->vars[v].bound;
    }
    return n;
}

void plan_join_stages(plan_kernel *k, plan_moves without) {
    const lang_program *p = k->program;
    if (plan_has(without, PLAN_MOVE_JOIN) || k->control != PLAN_COMPUTE || p->external != NULL) {
        return;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    for (size_t first = 0; first + 1 < p->stages.n;) {
        uint32_t loops = may_share(k, first) ? p->stages.at[first].rank : 0;
        size_t end = first + 1;
        while (loops > 0 && end < p->stages.n && may_share(k, end)) {
            const uint32_t common = common_loops(scratch, p, first, end, loops);
            if (rounds(&p->stages.at[first], common) <= 1) {
                break;
            }
            loops = common;
            end++;
        }
        for (size_t i = first; end > first + 1 && i < end; i++) {
            k->schedules[i].shared = loops;
            k->schedules[i].group = (uint32_t)first;
        }
        first = end;
    }
    base_arena_free(scratch);
}

void plan_together(const plan_kernel *k, size_t stage, size_t *first, size_t *last) {
    const lang_program *p = k->program;
    const lang_stage *s = &p->stages.at[stage];
    *first = *last = stage;
    if (s->rec >= 0) {
        while (*first > 0 && p->stages.at[*first - 1].rec == s->rec) {
            --*first;
        }
        while (*last + 1 < p->stages.n && p->stages.at[*last + 1].rec == s->rec) {
            ++*last;
        }
    } else if (k->schedules[stage].shared > 0) {
        *first = k->schedules[stage].group;
        while (*last + 1 < p->stages.n && k->schedules[*last + 1].shared > 0 &&
               k->schedules[*last + 1].group == *first) {
            ++*last;
        }
    }
}
