/* validate.c - an independent check of a finished plan.
 *
 * Takes a plan. Gives the first fault by name. Shares no code with lifetimes and placement: it looks at pairs by a sweep
 * over time, and at every loop by itself.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "plan/plan_private.h"

typedef struct live_block {
    const plan_tensor *t;
    uint32_t index;
} live_block;

static int by_first(const void *x, const void *y) {
    const live_block *a = x, *b = y;
    if (a->t->first != b->t->first) {
        return a->t->first < b->t->first ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

static bool in_arena(const plan_tensor *t) {
    return t->role != PLAN_CONSTANT && t->role != PLAN_STATE;
}

/* In one kernel, one is dead before the other begins. */
static bool are_apart(const plan_tensor *a, const plan_tensor *b) {
    const bool together = a->first == a->last && b->first == b->last && a->first == b->first;
    return together && (a->until < b->from || b->until < a->from);
}

/* Of those that live together: of a long chain thousands have one offset, and two live at a time. */
static base_status check_overlaps(const plan_module *p, base_arena *scratch, base_diags *d) {
    live_block *list = BASE_NEWS(scratch, live_block, p->tensors.n + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        if (t->root == i && in_arena(t) && t->bytes > 0) {
            list[n++] = (live_block){t, i};
        }
    }
    qsort(list, n, sizeof *list, by_first);
    for (size_t i = 0; i < n; i++) {
        const plan_tensor *a = list[i].t;
        for (size_t k = i + 1; k < n && list[k].t->first <= a->last; k++) {
            const plan_tensor *b = list[k].t;
            const bool meet_there = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
            if (meet_there && a->first <= b->last && !are_apart(a, b)) {
                return base_error(d, NULL, "plan: tensors %u \"%s\" and %u \"%s\" overlap at offset %" PRIu64,
                                  list[i].index, a->name, list[k].index, b->name,
                                  a->offset > b->offset ? a->offset : b->offset);
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
    if (t->root != i && (root->from != 0 || root->until != UINT32_MAX)) {
        return base_error(d, NULL, "plan: tensor %u \"%s\" shares bytes that live for some stages only", i, t->name);
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

/* ---- control ---- */

static base_status control_error(const plan_module *p, size_t i, const char *what, base_diags *d) {
    return base_error(d, NULL, "plan: kernel %zu %s: %s", i, p->kernels.at[i].op, what);
}

/* Jumps lead to where they may: an `if` forward over what it skips, a loop's two kernels to each other. */
static base_status check_jump(const plan_module *p, size_t i, base_diags *d) {
    const plan_kernel *k = &p->kernels.at[i];
    if (k->jump > p->kernels.n) {
        return control_error(p, i, "it jumps out of the plan", d);
    }
    switch (k->control) {
    case PLAN_IF:
    case PLAN_ELSE:
        return k->jump > i ? BASE_OK : control_error(p, i, "it jumps back", d);
    case PLAN_WHILE: {
        bool closed = k->jump > i + 1 && p->kernels.at[k->jump - 1].control == PLAN_REPEAT &&
                      p->kernels.at[k->jump - 1].loop == k->loop && k->loop < p->loops;
        return closed ? BASE_OK : control_error(p, i, "its loop does not end where it leads", d);
    }
    case PLAN_REPEAT:
        return k->jump <= i && k->loop < p->loops ? BASE_OK : control_error(p, i, "it does not jump back", d);
    default:
        return BASE_OK;
    }
}

static base_status check_condition(const plan_module *p, size_t i, base_diags *d) {
    const plan_kernel *k = &p->kernels.at[i];
    if (k->condition == IR_NONE) {
        return k->control == PLAN_IF ? control_error(p, i, "it has no condition", d) : BASE_OK;
    }
    if (k->condition >= p->tensors.n || p->tensors.at[k->condition].type != BASE_BOOL ||
        p->tensors.at[k->condition].bytes != 1 || p->tensors.at[k->condition].role == PLAN_CONSTANT) {
        return control_error(p, i, "its condition is no bool in memory", d);
    }
    return BASE_OK;
}

/* What is there before a loop and used inside it is there to the loop's end, for the next round. */
static base_status check_loop(const plan_module *p, size_t end, base_diags *d) {
    uint32_t start = p->kernels.at[end].jump;
    for (uint32_t i = start; i <= end; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        for (size_t t = 0; t <= k->program->tensors.n; t++) {
            uint32_t tensor = t < k->program->tensors.n ? k->tensor[t] : k->condition;
            if (tensor == IR_NONE) {
                continue;
            }
            const plan_tensor *x = &p->tensors.at[p->tensors.at[tensor].root];
            if (in_arena(x) && x->first < start && x->last < end) {
                return base_error(d, NULL, "plan: tensor %u \"%s\" ends before its loop, kernels %u to %zu", tensor,
                                  p->tensors.at[tensor].name, start, end);
            }
        }
    }
    return BASE_OK;
}

/* Every access lies within the lifetime. */
static base_status check_lifetimes(const plan_module *p, size_t i, base_diags *d) {
    const plan_kernel *k = &p->kernels.at[i];
    for (size_t t = 0; t <= k->program->tensors.n; t++) {
        uint32_t tensor = t < k->program->tensors.n ? k->tensor[t] : k->condition;
        if (tensor != IR_NONE && in_arena(&p->tensors.at[p->tensors.at[tensor].root]) &&
            (p->tensors.at[tensor].first > i || p->tensors.at[tensor].last < i)) {
            return base_error(d, NULL, "plan: tensor %u \"%s\" is used by kernel %zu, and lives from %u to %u", tensor,
                              p->tensors.at[tensor].name, i, p->tensors.at[tensor].first, p->tensors.at[tensor].last);
        }
    }
    return BASE_OK;
}

/* The tensor lives during the stages first .. last of the kernel. */
static base_status check_alive(const plan_module *p, size_t i, uint32_t tensor, size_t first, size_t last,
                               base_diags *d) {
    const plan_tensor *x = tensor == IR_NONE ? NULL : &p->tensors.at[tensor];
    if (x == NULL || (x->from <= first && last <= x->until)) {
        return BASE_OK;
    }
    return base_error(d, NULL,
                      "plan: tensor %u \"%s\" lives for stages %u to %u of kernel %zu, and is used in %zu to %zu",
                      tensor, x->name, x->from, x->until, i, first, last);
}

/* What lives for some stages of the kernel is used by none before or behind them, by no recurrence that is only partly
 * among them, and is nothing that the kernel gives. */
static base_status check_stages(const plan_module *p, size_t i, base_diags *d) {
    const plan_kernel *k = &p->kernels.at[i];
    const lang_program *x = k->program;
    const size_t n = x->stages.n;
    base_status status = BASE_OK;
    for (size_t t = 0; t < x->tensors.n && status == BASE_OK && x->external != NULL; t++) {
        status = check_alive(p, i, k->tensor[t], 0, UINT32_MAX, d);
    }
    for (size_t t = 0; t < x->outputs.n && status == BASE_OK && n > 0; t++) {
        status = check_alive(p, i, k->tensor[x->outputs.at[t]], 0, UINT32_MAX, d);
    }
    for (size_t s = 0; s < n && status == BASE_OK; s++) {
        base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
        const uint8_t *reached = lang_reached(scratch, x, &x->stages.at[s]);
        size_t first = s, last = s;
        for (size_t other = 0; (x->stages.at[s].rec >= 0 || k->schedules[s].shared > 0) && other < n; other++) {
            bool together = x->stages.at[s].rec >= 0
                                ? x->stages.at[other].rec == x->stages.at[s].rec
                                : k->schedules[other].shared > 0 && k->schedules[other].group == k->schedules[s].group;
            first = together && other < first ? other : first;
            last = together && other > last ? other : last;
        }
        status = check_alive(p, i, k->tensor[x->stages.at[s].tensor], first, last, d);
        for (lang_ref r = 1; r < x->nodes.n && status == BASE_OK; r++) {
            if (reached[r] != 0 && lang_at(x, r)->kind == LANG_READ) {
                status = check_alive(p, i, k->tensor[lang_at(x, r)->index], first, last, d);
            }
        }
        base_arena_free(scratch);
    }
    return status;
}

static base_status check_control(const plan_module *p, base_diags *d) {
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < p->kernels.n; i++) {
        status = check_lifetimes(p, i, d);
        status = status == BASE_OK ? check_stages(p, i, d) : status;
        if (status == BASE_OK && p->kernels.at[i].control != PLAN_COMPUTE) {
            status = check_jump(p, i, d);
        }
        if (status == BASE_OK && p->kernels.at[i].control != PLAN_COMPUTE) {
            status = check_condition(p, i, d);
        }
        if (status == BASE_OK && p->kernels.at[i].control == PLAN_REPEAT) {
            status = check_loop(p, i, d);
        }
    }
    return status;
}

/* ---- who finds what in shared bytes ---- */

static bool meet(const plan_tensor *a, const plan_tensor *b) {
    return a->root == b->root && a->root_offset < b->root_offset + b->bytes &&
           b->root_offset < a->root_offset + a->bytes;
}

/* The tensors of each root whose bytes were not lost, in lists: a chain of operators in place has thousands on one root, and
 * one of them at a time. */
typedef struct shared {
    uint32_t *next, *head;
    bool *lost; /* of each tensor: its bytes were written since it was made */
} shared;

static bool writes_tensor(const plan_kernel *k, uint32_t t) {
    for (size_t s = 0; s < k->program->stages.n; s++) {
        if (k->program->stages.at[s].tensor == t) {
            return true;
        }
    }
    return false;
}

/* What kernel i reads has its bytes still, and what it writes takes them from everything else there. A stage that is an alias
 * writes nothing: whoever shares bytes with its output goes on having them. */
static base_status check_bytes(const plan_module *p, size_t i, shared *x, base_diags *d) {
    const plan_kernel *k = &p->kernels.at[i];
    for (uint32_t t = 0; t < k->program->tensors.n; t++) {
        if (k->tensor[t] != IR_NONE && x->lost[k->tensor[t]] && !writes_tensor(k, t)) {
            return base_error(d, NULL, "plan: kernel %zu reads tensor %u \"%s\", whose bytes were written over", i,
                              k->tensor[t], p->tensors.at[k->tensor[t]].name);
        }
    }
    for (size_t s = 0; s < k->program->stages.n; s++) {
        const uint32_t to = k->tensor[k->program->stages.at[s].tensor];
        uint32_t *head = &x->head[p->tensors.at[to].root];
        if (x->lost[to]) {
            x->lost[to] = false;
            x->next[to] = *head;
            *head = to;
        }
        for (uint32_t *t = head; *t != IR_NONE && k->schedules[s].form != PLAN_ALIAS;) {
            if (*t != to && meet(&p->tensors.at[*t], &p->tensors.at[to])) {
                x->lost[*t] = true;
                *t = x->next[*t];
            } else {
                t = &x->next[*t];
            }
        }
    }
    return BASE_OK;
}

/* Kernel by kernel, where no jump leads elsewhere. Parts and copies that are made where they belong are written before the
 * kernel that would have moved them, which is an alias then. */
static base_status check_contents(const plan_module *p, base_diags *d) {
    for (size_t i = 0; i < p->kernels.n; i++) {
        if (p->kernels.at[i].control != PLAN_COMPUTE) {
            return BASE_OK;
        }
    }
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    shared x = {BASE_NEWS(scratch, uint32_t, p->tensors.n + 1), BASE_NEWS(scratch, uint32_t, p->tensors.n + 1),
                BASE_NEWS(scratch, bool, p->tensors.n + 1)};
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        x.head[i] = IR_NONE;
    }
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        if (p->tensors.at[i].role != PLAN_CONSTANT) {
            x.next[i] = x.head[p->tensors.at[i].root];
            x.head[p->tensors.at[i].root] = i;
        }
    }
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < p->kernels.n; i++) {
        status = check_bytes(p, i, &x, d);
    }
    for (size_t i = 0; status == BASE_OK && i < p->outputs.n + p->counts.n; i++) {
        const uint32_t t = i < p->outputs.n ? p->outputs.at[i] : p->counts.at[i - p->outputs.n].tensor;
        if (x.lost[t]) {
            status = base_error(d, NULL, "plan: the caller reads tensor %u \"%s\", whose bytes were written over", t,
                                p->tensors.at[t].name);
        }
    }
    base_arena_free(scratch);
    return status;
}

base_status plan_validate(const plan_module *p, base_diags *d) {
    base_status status = check_control(p, d);
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
    return status == BASE_OK ? check_contents(p, d) : status;
}
