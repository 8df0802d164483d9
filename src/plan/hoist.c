/* hoist.c - sums of recurrences that are computed before them: where they are worth their memory.
 *
 * Takes a model. Builds its plan with them, and, unless this machine runs it, without: on others the arena is as small as it can be,
 * and cycles come second. What was decided is in the kernels' reasons. Knows no operator.
 */
#include <inttypes.h>

#include "plan/build.h"

#define LARGEST ((uint64_t)1 << 24) /* bytes of one tensor of sums */

bool plan_wants_before(const void *options, const lang_program *p, lang_ranges *ranges, const lang_stage *s) {
    const lang_tensor *t = &p->tensors.at[s->tensor];
    uint64_t bytes = base_type_bits(t->type);
    for (uint32_t k = 0; k < t->rank; k++) {
        if (!base_mul_size(bytes, (uint64_t)t->dim[k], &bytes)) {
            return false;
        }
    }
    return bytes / 8 <= LARGEST && plan_is_tiled(options, p, ranges, s);
}

static bool takes_some(const plan_module *p) {
    bool any = false;
    for (size_t i = 0; i < p->kernels.n; i++) {
        any = any || p->kernels.at[i].hoisted;
    }
    return any;
}

static uint64_t all_cycles(const plan_module *p) {
    uint64_t sum = 0;
    for (size_t i = 0; i < p->kernels.n; i++) {
        sum += p->kernels.at[i].cost;
    }
    return sum;
}

static bool takes_at(const plan_module *p, const ir_node *n) {
    for (size_t i = 0; i < p->kernels.n; i++) {
        if (p->kernels.at[i].node == n && p->kernels.at[i].hoisted) {
            return true;
        }
    }
    return false;
}

/* Why the kernels that `of` has with such sums are as they are in p. */
static void add_reasons(plan_module *p, const plan_module *of, const char *why) {
    for (size_t i = 0; i < p->kernels.n; i++) {
        plan_kernel *k = &p->kernels.at[i];
        if (takes_at(of, k->node) && k->control == PLAN_COMPUTE) {
            k->reason = base_printf(p->arena, "%s; %s", k->reason, why);
        }
    }
}

base_status plan_build(base_arena *arena, ops_registry *ops, const ir_model *m, const plan_options *o,
                       plan_module **out, base_diags *d) {
    plan_module *with = NULL, *plain = NULL;
    plan_options without = *o;
    without.without |= (plan_moves)1 << PLAN_MOVE_HOIST;
    base_status status = plan_build_once(arena, ops, m, o, &with, d);
    const bool any = status == BASE_OK && takes_some(with);
    if (any && !o->device->detected) {
        status = plan_build_once(arena, ops, m, &without, &plain, d);
    }
    if (status != BASE_OK) {
        return status;
    }
    const bool larger = plain != NULL && with->arena_bytes > plain->arena_bytes;
    if (larger || (plain != NULL && all_cycles(with) > all_cycles(plain))) {
        plain->without = o->without;
        add_reasons(plain, with,
                    base_printf(arena,
                                larger ? "sums that no round changes stay in the rounds: computed before them the "
                                         "arena would have %" PRIu64 " bytes"
                                       : "sums that no round changes stay in the rounds: computed before them the "
                                         "network would take %" PRIu64 " cycles",
                                larger ? with->arena_bytes : all_cycles(with)));
        *out = plain;
    } else {
        if (any) {
            add_reasons(with, with, "sums that no round changes are computed before them, in register tiles");
        }
        *out = with;
    }
    return BASE_OK;
}
