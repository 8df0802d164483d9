/* memories.c - several memories: what lies in which, by what it gains for each byte.
 *
 * Takes a plan whose tensors are placed in one arena, and a device with several writable memories, the fastest first. Gives each of them a
 * part of the plan's addresses: a fast one has what is read and written most for each byte of it, as long as there is room while that
 * lives; the last one has the rest, and the states. Costs n log n of the tensors and what lives together.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/gaps.h"
#include "plan/plan_private.h"

enum { REST_PLACEMENTS = 200000, BANK_ALIGNMENT = 64, MOST_NAMED = 4 };

/* ---- how often ---- */

static double extent_of(const lang_stage *s, uint64_t vars) {
    double n = 1;
    for (uint32_t k = 0; k < s->var_count; k++) {
        n *= (vars >> k & 1) != 0 ? (double)s->vars[k].bound : 1;
    }
    return n;
}

/* A read happens at least once for all values of the variables that it depends on; what registers keep is not read again. */
static void count_stage(base_arena *scratch, const plan_kernel *k, const lang_stage *s, double *of) {
    const lang_program *p = k->program;
    const uint8_t *reached = lang_reached(scratch, p, s);
    uint64_t *vars = BASE_NEWS(scratch, uint64_t, (size_t)s->body + 1);
    for (lang_ref r = 1; r <= s->body; r++) {
        const lang_node *n = lang_at(p, r);
        if (reached[r] == 0) {
            continue;
        }
        if (n->kind == LANG_VAR && n->index < 64) {
            vars[r] = UINT64_C(1) << n->index;
            continue;
        }
        for (uint32_t i = 0; i < n->count; i++) {
            const lang_ref o = lang_operand(p, r, i);
            vars[r] |= o != 0 && o < r ? vars[o] : 0;
        }
        if (n->kind == LANG_READ && k->tensor[n->index] != IR_NONE) {
            of[k->tensor[n->index]] += extent_of(s, vars[r]);
        }
    }
    const uint64_t points = s->rank < 64 ? (UINT64_C(1) << s->rank) - 1 : UINT64_MAX;
    of[k->tensor[s->tensor]] += extent_of(s, points);
}

/* Of each tensor with bytes of its own the accesses to it and to what shares its bytes. */
static double *count_accesses(base_arena *arena, const plan_module *p) {
    double *of = BASE_NEWS(arena, double, p->tensors.n + 1), *roots = BASE_NEWS(arena, double, p->tensors.n + 1);
    for (size_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        base_arena *scratch = base_arena_new(base_arena_memory(arena));
        for (size_t s = 0; k->control == PLAN_COMPUTE && s < k->program->stages.n; s++) {
            if (k->schedules[s].form != PLAN_ALIAS) {
                count_stage(scratch, k, &k->program->stages.at[s], of);
            }
        }
        base_arena_free(scratch);
    }
    for (size_t i = 0; i < p->tensors.n; i++) {
        roots[p->tensors.at[i].root] += of[i];
    }
    return roots;
}

/* ---- what is asked of a plan with memories ---- */

static uint64_t bytes_of(const plan_module *p, size_t bank) {
    return bank + 1 < p->banks.n ? p->banks.at[bank].bytes : p->arena_bytes;
}

uint64_t plan_bank_needs(const plan_module *p, size_t bank) {
    const uint64_t bytes = bytes_of(p, bank);
    return bank + 1 < p->banks.n || p->state_bytes == 0 ? bytes : plan_align_up(bytes, 16) + p->state_bytes;
}

size_t plan_bank_of(const plan_module *p, const plan_tensor *t) {
    size_t bank = 0;
    while (bank + 1 < p->banks.n && p->banks.at[bank].memory != t->memory) {
        bank++;
    }
    return bank;
}

uint64_t plan_offset(const plan_module *p, const plan_tensor *t) {
    const bool in_bank = p->banks.n > 0 && plan_in_arena(p, t->root);
    return t->offset - (in_bank ? p->banks.at[plan_bank_of(p, t)].base : 0);
}

uint64_t plan_room(const plan_module *p) {
    uint64_t end = p->state_bytes == 0 ? p->arena_bytes : plan_align_up(p->arena_bytes, 16) + p->state_bytes;
    for (size_t i = 0; i + 1 < p->banks.n; i++) {
        const plan_bank *b = &p->banks.at[i];
        end = b->bytes > 0 && b->base + b->bytes > end ? b->base + b->bytes : end;
    }
    return end;
}

/* ---- what goes where ---- */

typedef struct mover {
    uint32_t bank; /* of p->banks; the last: the rest */
    bool fixed;    /* it stays in the rest */
    double gain;   /* accesses for each byte */
    uint64_t live; /* the most bytes that live at once while it does */
} mover;

typedef struct spreader {
    base_arena *scratch;
    plan_module *p;
    plan_block *blocks;
    const uint32_t *owner; /* of each block: the tensor */
    mover *of;
    size_t n;
} spreader;

typedef struct ranked {
    double gain;
    uint64_t live, bytes;
    uint32_t block;
} ranked;

static int by_block(const ranked *a, const ranked *b) {
    return a->block < b->block ? -1 : 1;
}

static int by_gain(const void *x, const void *y) {
    const ranked *a = x, *b = y;
    return a->gain != b->gain ? (a->gain > b->gain ? -1 : 1) : by_block(a, b);
}

static int by_bytes(const void *x, const void *y) {
    const ranked *a = x, *b = y;
    return a->bytes != b->bytes ? (a->bytes > b->bytes ? -1 : 1) : by_block(a, b);
}

/* What lives when most does, the largest first: that relieves the last memory. */
static int by_live(const void *x, const void *y) {
    const ranked *a = x, *b = y;
    return a->live != b->live ? (a->live > b->live ? -1 : 1) : by_bytes(x, y);
}

/* Of each block the most that lives at once while it does: maxima of ranges of steps, by a table of powers of two. */
static void find_live(spreader *s) {
    enum { LEVELS = 32 };
    uint64_t *most[LEVELS];
    size_t steps = 1, levels = 1;
    for (size_t i = 0; i < s->n; i++) {
        steps = s->blocks[i].last + (size_t)1 > steps ? s->blocks[i].last + (size_t)1 : steps;
    }
    most[0] = BASE_NEWS(s->scratch, uint64_t, steps + 1);
    for (size_t i = 0; i < s->n; i++) { /* wrapping differences */
        most[0][s->blocks[i].first] += s->blocks[i].bytes;
        most[0][s->blocks[i].last + 1] -= s->blocks[i].bytes;
    }
    for (size_t k = 1; k < steps; k++) {
        most[0][k] += most[0][k - 1];
    }
    for (; (size_t)1 << levels <= steps; levels++) {
        const size_t half = (size_t)1 << (levels - 1);
        most[levels] = BASE_NEWS(s->scratch, uint64_t, steps + 1);
        for (size_t k = 0; k + 2 * half <= steps; k++) {
            const uint64_t a = most[levels - 1][k], b = most[levels - 1][k + half];
            most[levels][k] = a > b ? a : b;
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        const size_t first = s->blocks[i].first, count = s->blocks[i].last - first + 1;
        size_t level = 0;
        while ((size_t)2 << level <= count) {
            level++;
        }
        const uint64_t a = most[level][first], b = most[level][first + count - ((size_t)1 << level)];
        s->of[i].live = a > b ? a : b;
    }
}

/* What finds room, one after the other, in memories from the fastest on. */
static void fill_fast(spreader *s, int (*order)(const void *, const void *)) {
    const size_t rest = s->p->banks.n - 1;
    ranked *list = BASE_NEWS(s->scratch, ranked, s->n + 1);
    plan_gaps *gaps = plan_gaps_new(s->scratch, s->blocks, s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        s->of[i].bank = (uint32_t)rest;
        list[i] = (ranked){s->of[i].gain, s->of[i].live, s->blocks[i].bytes, i};
    }
    qsort(list, s->n, sizeof *list, order);
    for (uint32_t bank = 0; bank < rest; bank++) {
        const uint64_t room = s->p->device->memories[s->p->banks.at[bank].memory].bytes;
        plan_gaps_clear(gaps);
        for (size_t i = 0; i < s->n; i++) {
            plan_block *b = &s->blocks[list[i].block];
            mover *m = &s->of[list[i].block];
            if (m->bank != rest || m->fixed || b->bytes == 0) {
                continue;
            }
            b->offset = plan_gaps_lowest(gaps, b);
            if (room == 0 || b->offset + b->bytes <= room) {
                plan_gaps_fill(gaps, b);
                m->bank = bank;
            }
        }
    }
}

/* Places the blocks of one memory as well as one can; as they were found where that is not better. */
static plan_placement place_bank(spreader *s, uint32_t bank) {
    plan_block *some = BASE_NEWS(s->scratch, plan_block, s->n + 1);
    size_t count = 0;
    uint64_t found = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->of[i].bank == bank) {
            const plan_block *b = &s->blocks[i];
            found = b->offset + b->bytes > found ? b->offset + b->bytes : found;
            some[count++] = *b;
        }
    }
    plan_placement placed = plan_place(s->scratch, some, count, REST_PLACEMENTS);
    const bool is_rest = bank + 1 == s->p->banks.n, better = is_rest || placed.peak <= found;
    for (size_t i = 0, k = 0; i < s->n; i++) {
        if (s->of[i].bank == bank) {
            s->blocks[i].offset = better ? some[k].offset : s->blocks[i].offset;
            k++;
        }
    }
    if (!better) {
        placed.peak = found;
        placed.how = "by gain for each byte";
        placed.optimal = false;
    }
    return placed;
}

static bool fits(const plan_module *p, size_t bank) {
    const uint64_t room = p->device->memories[p->banks.at[bank].memory].bytes;
    return room == 0 || plan_bank_needs(p, bank) <= room;
}

static bool try_order(spreader *s, int (*order)(const void *, const void *)) {
    plan_module *p = s->p;
    bool all = true;
    fill_fast(s, order);
    for (uint32_t bank = 0; bank < p->banks.n; bank++) {
        const plan_placement placed = place_bank(s, bank);
        p->banks.at[bank].bytes = placed.peak;
        p->arena_bytes = placed.peak; /* of the last, in the end */
        p->banks.at[bank].bound = placed.bound;
        p->banks.at[bank].placement =
            base_printf(p->arena, "%s%s", placed.how, placed.optimal ? "; optimal (this order, whole tensors)" : "");
        all = all && fits(p, bank);
    }
    return all;
}

void plan_settle_banks(plan_module *p) {
    plan_bank *rest = &p->banks.at[p->banks.n - 1];
    rest->base = 0;
    p->arena_bytes = rest->bytes;
    p->arena_bound = rest->bound;
    p->placement = rest->placement;
    uint64_t end = plan_align_up(rest->bytes, 16) + p->state_bytes;
    for (size_t i = 0; i + 1 < p->banks.n; i++) {
        p->banks.at[i].base = plan_align_up(end, BANK_ALIGNMENT);
        end = p->banks.at[i].base + p->banks.at[i].bytes;
    }
}

/* Offsets within their memories become addresses of the plan. */
static void settle(spreader *s) {
    plan_module *p = s->p;
    plan_settle_banks(p);
    for (size_t i = 0; i < s->n; i++) {
        plan_tensor *t = &p->tensors.at[s->owner[i]];
        const plan_bank *b = &p->banks.at[s->of[i].bank];
        t->memory = b->memory;
        t->offset = b->base + s->blocks[i].offset;
    }
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        const plan_tensor *root = &p->tensors.at[t->root];
        t->memory = root->memory;
        t->offset = root->offset + t->root_offset;
    }
}

static void spread(plan_module *p) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    spreader s = {.scratch = scratch, .p = p};
    uint32_t *owner = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    s.blocks = BASE_NEWS(scratch, plan_block, p->tensors.n + 1);
    s.n = plan_blocks(scratch, p, s.blocks, owner);
    s.owner = owner;
    s.of = BASE_NEWS(scratch, mover, s.n + 1);
    const double *accesses = count_accesses(scratch, p);
    bool *is_count = BASE_NEWS(scratch, bool, p->tensors.n + 1);
    for (size_t i = 0; i < p->counts.n; i++) {
        is_count[p->tensors.at[p->counts.at[i].tensor].root] = true;
    }
    for (size_t i = 0; i < s.n; i++) {
        s.of[i].fixed = is_count[owner[i]];
        s.of[i].gain = s.blocks[i].bytes > 0 ? accesses[owner[i]] / (double)s.blocks[i].bytes : 0;
    }
    find_live(&s);
    if (!try_order(&s, by_gain) && !try_order(&s, by_live) && !try_order(&s, by_bytes)) {
        (void)try_order(&s, by_gain); /* what is said of it */
    }
    settle(&s);
    base_arena_free(scratch);
}

void plan_spread_memories(plan_module *p) {
    uint32_t writable = 0, first = UINT32_MAX, constants = UINT32_MAX;
    for (uint32_t i = 0; i < p->device->memory_count; i++) {
        const bool is_writable = p->device->memories[i].writable;
        writable += is_writable;
        first = is_writable && first == UINT32_MAX ? i : first;
        constants = !is_writable && constants == UINT32_MAX ? i : constants;
    }
    for (uint32_t i = 0; i < p->device->memory_count; i++) {
        if (p->device->memories[i].writable) {
            *BASE_PUSH(p->arena, &p->banks) =
                (plan_bank){.memory = i, .bytes = p->arena_bytes, .bound = p->arena_bound, .placement = p->placement};
        }
    }
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        t->memory = p->tensors.at[t->root].role == PLAN_CONSTANT ? constants : first;
    }
    if (writable > 1) {
        spread(p);
        for (size_t i = 0; i < p->tensors.n; i++) {
            plan_tensor *t = &p->tensors.at[i];
            const plan_role role = p->tensors.at[t->root].role;
            t->memory = role == PLAN_CONSTANT ? constants
                        : role == PLAN_STATE  ? p->banks.at[p->banks.n - 1].memory
                                              : t->memory;
        }
    }
}

/* ---- what does not fit ---- */

/* The largest of what lives in it when it is fullest. */
static void say_largest(const plan_module *p, size_t bank, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    uint64_t *live = BASE_NEWS(scratch, uint64_t, p->kernels.n + 1);
    const uint32_t memory = p->banks.at[bank].memory;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        for (size_t k = t->first; plan_in_arena(p, i) && t->memory == memory && k <= t->last && k < p->kernels.n; k++) {
            live[k] += t->bytes;
        }
    }
    const size_t full = plan_fullest_kernel(p, live);
    uint32_t largest[MOST_NAMED];
    size_t n = 0;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        if (!plan_in_arena(p, i) || t->memory != memory || t->first > full || t->last < full) {
            continue;
        }
        size_t at = n < MOST_NAMED ? n++ : MOST_NAMED;
        for (; at > 0 && p->tensors.at[largest[at - 1]].bytes < t->bytes; at--) {
            if (at < MOST_NAMED) {
                largest[at] = largest[at - 1];
            }
        }
        if (at < MOST_NAMED) {
            largest[at] = i;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const plan_tensor *t = &p->tensors.at[largest[i]];
        base_note(d, NULL, "%s: %" PRIu64 " bytes, \"%s\", %s, steps %" PRIu32 " to %" PRIu32,
                  p->device->memories[memory].name, t->bytes, t->name, plan_role_name(t->role), t->first, t->last);
    }
    base_arena_free(scratch);
}

base_status plan_check_memories(const plan_module *p, base_diags *d) {
    base_status status = BASE_OK;
    for (size_t i = 0; i < p->banks.n; i++) {
        const plan_memory *m = &p->device->memories[p->banks.at[i].memory];
        if (!fits(p, i)) {
            base_error(d, NULL,
                       "%s: the memory %s has %" PRIu64 " bytes, and %" PRIu64
                       " are needed at once%s; a larger memory, another one behind it (--memories), or a smaller "
                       "network would do",
                       p->model->file, m->name, m->bytes, plan_bank_needs(p, i),
                       i + 1 == p->banks.n && p->banks.n > 1 ? ", besides what the others hold" : "");
            say_largest(p, i, d);
            status = BASE_BUDGET;
        }
    }
    for (size_t i = 0; i < p->device->memory_count; i++) {
        const plan_memory *m = &p->device->memories[i];
        if (!m->writable && m->bytes > 0 && p->constant_bytes > m->bytes) {
            base_error(d, NULL,
                       "%s: the memory %s has %" PRIu64 " bytes, and the constants alone are %" PRIu64
                       "; a larger one (--memories), or a smaller network would do",
                       p->model->file, m->name, m->bytes, p->constant_bytes);
            status = BASE_BUDGET;
        }
        if (!m->writable) {
            break; /* constants are in the first */
        }
    }
    return status;
}
