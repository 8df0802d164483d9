/* lifetimes.c - how long each tensor lives, and where it lies.
 *
 * Takes the kernels of a plan and its tensors. Gives lifetimes as intervals of kernels (of an operator's intermediate values as
 * intervals of its stages), and offsets, with what shares bytes (share.c). A loop goes through its kernels again: what is there before it and is used inside lives to its end.
 */
#include <string.h>

#include "plan/lives.h"

/* ---- control ---- */

static void find_loops(plan_lives *l) {
    const plan_module *p = l->p;
    l->loops = BASE_NEWS(l->scratch, plan_span, (size_t)p->loops + 1);
    l->loop_of = BASE_NEWS(l->scratch, uint32_t, p->kernels.n + 1);
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        if (k->control == PLAN_REPEAT) {
            l->loops[k->loop] = (plan_span){k->jump, i, IR_NONE};
        }
    }
    /* Starts of loops that share a kernel are met outer first: loops are numbered from the inside. */
    uint32_t *start = BASE_NEWS(l->scratch, uint32_t, p->kernels.n + 1),
             *next = BASE_NEWS(l->scratch, uint32_t, (size_t)p->loops + 1);
    memset(start, 0xff, (p->kernels.n + 1) * sizeof *start);
    for (uint32_t i = 0; i < p->loops; i++) {
        next[i] = start[l->loops[i].first];
        start[l->loops[i].first] = i;
    }
    uint32_t open = IR_NONE;
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        for (uint32_t n = start[i]; n != IR_NONE; n = next[n]) {
            l->loops[n].outer = open;
            open = n;
        }
        l->loop_of[i] = open;
        while (open != IR_NONE && l->loops[open].last == i) {
            open = l->loops[open].outer;
        }
    }
}

/* A new number behind every control kernel and at every place that is jumped to, but the old one behind the whole. */
static void find_branches(plan_lives *l) {
    const plan_module *p = l->p;
    BASE_VEC(uint32_t) open = {0}; /* numbers to come back to */
    uint32_t now = 0, count = 0;
    l->branch_of = BASE_NEWS(l->scratch, uint32_t, p->kernels.n + 1);
    /* how many constructs end before kernel i: each gives back the number that was there before it */
    uint32_t *ends = BASE_NEWS(l->scratch, uint32_t, p->kernels.n + 1),
             *begins = BASE_NEWS(l->scratch, uint32_t, p->kernels.n + 1);
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        begins[k->control == PLAN_REPEAT ? k->jump : p->kernels.n]++;
        if (k->control == PLAN_WHILE) {
            ends[k->jump]++;
        } else if (k->control == PLAN_IF) {
            bool has_else = k->jump > 0 && p->kernels.at[k->jump - 1].control == PLAN_ELSE && k->jump - 1 > i;
            ends[has_else ? p->kernels.at[k->jump - 1].jump : k->jump]++;
        }
    }
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        for (uint32_t n = 0; n < ends[i] && open.n > 0; n++) {
            now = open.at[--open.n];
        }
        for (uint32_t n = 0; n < begins[i]; n++) { /* a loop: its condition */
            *BASE_PUSH(l->scratch, &open) = now;
            now = ++count;
        }
        const plan_kernel *k = &p->kernels.at[i];
        if (k->control == PLAN_IF) {
            *BASE_PUSH(l->scratch, &open) = now;
        }
        l->branch_of[i] = now;
        if (k->control == PLAN_IF || k->control == PLAN_ELSE || k->control == PLAN_WHILE) {
            now = ++count;
        }
    }
}

/* ---- accesses ---- */

static void touch(plan_lives *l, uint32_t tensor, uint32_t kernel) {
    l->first[tensor] = kernel < l->first[tensor] ? kernel : l->first[tensor];
    l->last[tensor] = kernel > l->last[tensor] ? kernel : l->last[tensor];
}

static void find_accesses(plan_lives *l) {
    const plan_module *p = l->p;
    size_t n = p->tensors.n, kernels = p->kernels.n;
    l->first = BASE_NEWS(l->scratch, uint32_t, n + 1);
    l->last = BASE_NEWS(l->scratch, uint32_t, n + 1);
    l->write_first = BASE_NEWS(l->scratch, uint32_t, n + 2);
    memset(l->first, 0xff, (n + 1) * sizeof *l->first);
    uint32_t total = 0;
    for (uint32_t i = 0; i < kernels; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        for (size_t t = 0; t < k->program->tensors.n; t++) {
            if (k->tensor[t] != IR_NONE) {
                touch(l, k->tensor[t], i);
            }
        }
        if (k->condition != IR_NONE) {
            touch(l, k->condition, i);
        }
        for (size_t s = 0; s < k->program->stages.n; s++) {
            l->write_first[k->tensor[k->program->stages.at[s].tensor] + 2]++;
            total++;
        }
    }
    for (size_t i = 0; i < p->inputs.n; i++) {
        touch(l, p->inputs.at[i], 0);
    }
    for (size_t i = 0; i < p->counts.n; i++) {
        touch(l, p->counts.at[i].tensor, kernels == 0 ? 0 : (uint32_t)kernels - 1);
        if (p->counts.at[i].set) { /* it stays from run to run */
            touch(l, p->counts.at[i].tensor, 0);
        }
    }
    for (size_t i = 0; i < p->outputs.n; i++) {
        touch(l, p->outputs.at[i], kernels == 0 ? 0 : (uint32_t)kernels - 1);
    }
    for (size_t i = 2; i <= n; i++) {
        l->write_first[i] += l->write_first[i - 1];
    }
    l->writes = BASE_NEWS(l->scratch, uint32_t, (size_t)total + 1);
    for (uint32_t i = 0; i < kernels; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        for (size_t s = 0; s < k->program->stages.n; s++) {
            l->writes[l->write_first[k->tensor[k->program->stages.at[s].tensor] + 1]++] = i;
        }
    }
}

static void touch_by_stages(plan_lives *l, uint32_t tensor, uint32_t from, uint32_t until) {
    if (tensor != IR_NONE) {
        l->from[tensor] = from < l->from[tensor] ? from : l->from[tensor];
        l->until[tensor] = until > l->until[tensor] ? until : l->until[tensor];
    }
}

static void find_stages_of(plan_lives *l, const plan_kernel *k) {
    const lang_program *p = k->program;
    size_t first, last;
    for (size_t s = 0; s < p->stages.n; s++) {
        base_arena *scratch = base_arena_new(base_arena_memory(l->scratch));
        const uint8_t *reached = lang_reached(scratch, p, &p->stages.at[s]);
        plan_together(k, s, &first, &last);
        const uint32_t from = (uint32_t)first, until = (uint32_t)last;
        touch_by_stages(l, k->tensor[p->stages.at[s].tensor], from, until);
        for (lang_ref r = 1; r <= p->stages.at[s].body; r++) {
            if (reached[r] != 0 && lang_at(p, r)->kind == LANG_READ) {
                touch_by_stages(l, k->tensor[lang_at(p, r)->index], from, until);
            }
        }
        base_arena_free(scratch);
    }
    for (size_t i = 0; i < p->outputs.n; i++) { /* the kernel gives it, whoever looks */
        touch_by_stages(l, k->tensor[p->outputs.at[i]], 0, UINT32_MAX);
    }
}

/* An intermediate value of an operator is needed by some of its stages. What a function of the caller's does is not known. */
static void find_stages(plan_lives *l) {
    const plan_module *p = l->p;
    l->from = BASE_NEWS(l->scratch, uint32_t, p->tensors.n + 1);
    l->until = BASE_NEWS(l->scratch, uint32_t, p->tensors.n + 1);
    memset(l->from, 0xff, (p->tensors.n + 1) * sizeof *l->from);
    for (size_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        if (k->control == PLAN_COMPUTE && k->program->external == NULL && k->program->stages.n > 1) {
            find_stages_of(l, k);
        } else {
            for (size_t t = 0; t < k->program->tensors.n; t++) {
                touch_by_stages(l, k->tensor[t], 0, UINT32_MAX);
            }
        }
    }
}

/* What a loop found and uses it will want again in the next round. */
static void extend_over_loops(plan_lives *l) {
    for (size_t t = 0; t < l->p->tensors.n; t++) {
        if (l->first[t] == IR_NONE || l->p->kernels.n == 0) {
            continue;
        }
        for (uint32_t n = l->loop_of[l->last[t]]; n != IR_NONE; n = l->loops[n].outer) {
            if (l->first[t] < l->loops[n].first) {
                l->last[t] = l->loops[n].last;
            }
        }
    }
}

/* ---- lifetimes and offsets ---- */

/* Stages, where they say more than kernels: of scratch that nobody shares. */
static void fill_stages(const plan_lives *l) {
    plan_module *p = l->p;
    bool *shared = BASE_NEWS(l->scratch, bool, p->tensors.n + 1);
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        shared[p->tensors.at[i].root] = shared[p->tensors.at[i].root] || p->tensors.at[i].root != i;
    }
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        const bool own = t->role == PLAN_SCRATCH && t->root == i && !shared[i] && t->first == t->last;
        const bool known = own && l->from[i] <= l->until[i];
        t->from = known ? l->from[i] : 0;
        t->until = known ? l->until[i] : UINT32_MAX;
    }
}

static void fill_lifetimes(const plan_lives *l) {
    plan_module *p = l->p;
    for (size_t i = 0; i < p->tensors.n; i++) {
        p->tensors.at[i].first = UINT32_MAX;
        p->tensors.at[i].last = 0;
    }
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *root = &p->tensors.at[p->tensors.at[i].root];
        root->first = l->first[i] < root->first ? l->first[i] : root->first;
        root->last = l->last[i] > root->last ? l->last[i] : root->last;
    }
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        const plan_tensor *root = &p->tensors.at[t->root];
        t->first = root->first == UINT32_MAX ? 0 : root->first;
        t->last = root->last;
    }
    fill_stages(l);
}

/* The number of the first stage of each kernel in the whole plan; one more: of the end. A kernel without stages counts as one. */
static uint32_t *stage_numbers(base_arena *scratch, const plan_module *p) {
    uint32_t *at = BASE_NEWS(scratch, uint32_t, p->kernels.n + 2);
    for (size_t i = 0; i < p->kernels.n; i++) {
        const size_t n = p->kernels.at[i].program->stages.n;
        at[i + 1] = at[i] + (n > 0 ? (uint32_t)n : 1);
    }
    at[p->kernels.n + 1] = at[p->kernels.n] + 1; /* a plan without kernels */
    return at;
}

static uint64_t line_up(plan_module *p, plan_role role) {
    uint64_t at = 0;
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        if (t->role == role && t->root == i) {
            t->offset = plan_align_up(at, t->alignment);
            at = t->offset + t->bytes;
        }
    }
    return at;
}

/* Of a search, where greedy orders leave bytes between what lives: hundredths of a second to choose what shares, and up to
 * a second for the plan itself. */
enum { CHOICE_PLACEMENTS = 10000, PLAN_PLACEMENTS = 200000 };

size_t plan_blocks(base_arena *scratch, const plan_module *p, plan_block *blocks, uint32_t *owner) {
    const uint32_t *at = stage_numbers(scratch, p);
    size_t n = 0;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        if (t->root == i && t->role != PLAN_CONSTANT && t->role != PLAN_STATE) {
            const uint32_t end = at[t->last + 1] - 1;
            owner[n] = i;
            blocks[n++] = (plan_block){.bytes = t->bytes,
                                       .first = at[t->first] + t->from,
                                       .last = t->until < end - at[t->last] ? at[t->last] + t->until : end,
                                       .alignment = t->alignment};
        }
    }
    return n;
}

static void place(base_arena *arena, base_arena *scratch, plan_module *p, uint64_t most_placements) {
    plan_block *blocks = BASE_NEWS(scratch, plan_block, p->tensors.n + 1);
    uint32_t *owner = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    const size_t n = plan_blocks(scratch, p, blocks, owner);
    const plan_placement placed = plan_place(scratch, blocks, n, most_placements);
    p->arena_bytes = placed.peak;
    p->arena_bound = placed.bound;
    for (size_t i = 0; i < n; i++) {
        p->tensors.at[owner[i]].offset = blocks[i].offset;
    }
    p->state_bytes = line_up(p, PLAN_STATE);
    p->constant_bytes = line_up(p, PLAN_CONSTANT);
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        t->offset = p->tensors.at[t->root].offset + t->root_offset;
    }
    p->placement =
        base_printf(arena, "%s%s", placed.how, placed.optimal ? "; optimal (this order, whole tensors)" : "");
}

/* Bytes of the arena when these share. */
static uint64_t try_sharing(base_arena *arena, plan_lives *l, unsigned what, unsigned *found,
                            uint64_t most_placements) {
    plan_unshare(l);
    *found = plan_share(l, what);
    fill_lifetimes(l);
    place(arena, l->scratch, l->p, most_placements);
    return l->p->arena_bytes;
}

/* A part that is read where it lies keeps the whole alive, and one that is made in the whole begins its life: both save a
 * copy, and may cost memory. What needs the least memory is taken; among equals what copies least, and writes nothing over an input. */
static void share_and_place(base_arena *arena, plan_lives *l) {
    static const unsigned choices[] = {PLAN_PARTS_MADE, PLAN_PARTS_READ, 0};
    unsigned there, found, best = plan_has(l->p->without, PLAN_MOVE_PARTS) ? 0 : PLAN_PARTS;
    uint64_t least = try_sharing(arena, l, best, &there, CHOICE_PLACEMENTS);
    for (size_t i = 0; (there & best) != 0 && i < sizeof choices / sizeof choices[0]; i++) {
        if ((choices[i] & ~there) != 0 || (choices[i] & there) == there) {
            continue; /* the same as another choice */
        }
        uint64_t bytes = try_sharing(arena, l, choices[i], &found, CHOICE_PLACEMENTS);
        if (bytes < least) {
            least = bytes;
            best = choices[i];
        }
    }
    if (!plan_has(l->p->without, PLAN_MOVE_IN_PLACE) &&
        try_sharing(arena, l, best | PLAN_IN_PLACE, &found, CHOICE_PLACEMENTS) < least) {
        best |= PLAN_IN_PLACE;
    }
    (void)try_sharing(arena, l, best, &found, PLAN_PLACEMENTS);
}

static void find_lives(plan_lives *l, base_arena *scratch, plan_module *p) {
    *l = (plan_lives){.scratch = scratch, .p = p};
    find_loops(l);
    find_branches(l);
    find_accesses(l);
    find_stages(l);
    extend_over_loops(l);
}

/* Kernel order[i] becomes kernel i. */
static void put_in_order(base_arena *scratch, plan_module *p, const uint32_t *order) {
    plan_kernel *old = BASE_NEWS(scratch, plan_kernel, p->kernels.n);
    memcpy(old, p->kernels.at, p->kernels.n * sizeof *old);
    for (size_t i = 0; i < p->kernels.n; i++) {
        p->kernels.at[i] = old[order[i]];
    }
}

static bool is_as_given(const uint32_t *order, size_t n) {
    size_t i = 0;
    while (i < n && order[i] == i) {
        i++;
    }
    return i == n;
}

/* The order that a caller wants, whatever it costs. */
static void take_order(base_arena *arena, plan_lives *l, bool share, const uint32_t *order) {
    plan_module *p = l->p;
    if (is_as_given(order, p->kernels.n)) {
        return;
    }
    plan_unshare(l);
    put_in_order(l->scratch, p, order);
    for (size_t i = 0; i < p->kernels.n; i++) {
        p->moved += order[i] != i;
    }
    find_lives(l, l->scratch, p);
    if (share) {
        share_and_place(arena, l);
    } else {
        fill_lifetimes(l);
        place(arena, l->scratch, p, PLAN_PLACEMENTS);
    }
}

/* Another order of the kernels, if the arena is smaller with it. */
static void reorder(base_arena *arena, plan_lives *l) {
    plan_module *p = l->p;
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    uint32_t *order = BASE_NEWS(scratch, uint32_t, p->kernels.n + 1),
             *back = BASE_NEWS(scratch, uint32_t, p->kernels.n + 1);
    const uint64_t before = p->arena_bytes;
    if (plan_find_order(scratch, p, order)) {
        plan_lives now;
        plan_unshare(l);
        put_in_order(scratch, p, order);
        find_lives(&now, scratch, p);
        share_and_place(arena, &now);
        for (uint32_t i = 0; i < p->kernels.n; i++) {
            back[order[i]] = i;
            p->moved += order[i] != i;
        }
        if (p->arena_bytes >= before) {
            p->moved = 0;
            plan_unshare(&now);
            put_in_order(scratch, p, back);
            share_and_place(arena, l);
        }
    }
    base_arena_free(scratch);
}

static void set_joined(plan_module *p, bool joined) {
    for (size_t i = 0; i < p->kernels.n; i++) {
        plan_kernel *k = &p->kernels.at[i];
        for (size_t s = 0; s < k->program->stages.n; s++) {
            k->schedules[s].shared = 0;
        }
        if (joined) {
            plan_join_stages(k, p->without);
        }
    }
}

static bool is_joined(const plan_module *p) {
    for (size_t i = 0; i < p->kernels.n; i++) {
        for (size_t s = 0; s < p->kernels.at[i].program->stages.n; s++) {
            if (p->kernels.at[i].schedules[s].shared > 0) {
                return true;
            }
        }
    }
    return false;
}

static void place_joined(base_arena *arena, plan_lives *l, bool joined) {
    plan_unshare(l);
    set_joined(l->p, joined);
    find_lives(l, l->scratch, l->p);
    share_and_place(arena, l);
}

/* Stages that share loops keep alive together what they need: not at the cost of a larger arena. */
static void join_and_place(base_arena *arena, plan_lives *l) {
    set_joined(l->p, true);
    const bool any = is_joined(l->p);
    find_lives(l, l->scratch, l->p);
    share_and_place(arena, l);
    const uint64_t joined = l->p->arena_bytes;
    if (any) {
        place_joined(arena, l, false);
    }
    if (any && joined <= l->p->arena_bytes) {
        place_joined(arena, l, true);
    }
}

void plan_place_tensors(base_arena *arena, plan_module *p, bool share, const uint32_t *order) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    plan_lives l = {.scratch = scratch, .p = p};
    if (share) {
        join_and_place(arena, &l);
        if (order == NULL && !plan_has(p->without, PLAN_MOVE_ORDER)) {
            reorder(arena, &l);
        }
    } else {
        find_lives(&l, scratch, p);
        fill_lifetimes(&l);
        place(arena, scratch, p, PLAN_PLACEMENTS);
    }
    if (order != NULL) {
        take_order(arena, &l, share, order);
    }
    base_arena_free(scratch);
}
