/* lines.c - room for the points that a tile copies first, in what the arena has free anyhow.
 *
 * Takes a plan whose tensors are placed. Gives each stage that asks for lines (schedule.c) a tensor where nothing else
 * lives while the stage runs, or takes the wish back: the arena never grows, and a target then does without or uses its
 * stack. Costs what is alive at the kernels that ask.
 */
#include <string.h>

#include "plan/plan_private.h"

/* Of what is alive at once, and in all of what is looked at: a plan costs no more. */
enum { MOST_ALIVE = 256, MOST_LOOKS = 1 << 26 };

typedef struct alive {
    BASE_VEC(uint32_t) at; /* tensors with bytes of their own in the arena */
    uint64_t looks;
} alive;

static void drop_ended(const plan_module *p, alive *a, size_t kernel) {
    size_t n = 0;
    for (size_t i = 0; i < a->at.n; i++) {
        if (p->tensors.at[a->at.at[i]].last >= kernel) {
            a->at.at[n++] = a->at.at[i];
        }
    }
    a->at.n = n;
}

/* The lowest place of so many bytes between what is alive, from `begin` to `end`; UINT64_MAX: there is none. */
static uint64_t free_place(const plan_module *p, alive *a, uint64_t bytes, uint64_t alignment, uint64_t begin,
                           uint64_t end) {
    uint64_t at = begin;
    for (bool moved = true; moved && at + bytes <= end;) {
        moved = false;
        a->looks += a->at.n;
        for (size_t i = 0; i < a->at.n; i++) {
            const plan_tensor *t = &p->tensors.at[a->at.at[i]];
            if (t->offset < at + bytes && at < t->offset + t->bytes) {
                at = plan_align_up(t->offset + t->bytes, alignment);
                moved = true;
            }
        }
    }
    return at + bytes <= end ? at : UINT64_MAX;
}

/* The same in any memory, from the fastest on. *memory: which. */
static uint64_t free_in_banks(const plan_module *p, alive *a, uint64_t bytes, uint64_t alignment, uint32_t *memory) {
    for (size_t i = 0; i + 1 < p->banks.n; i++) {
        const plan_bank *b = &p->banks.at[i];
        const uint64_t at = free_place(p, a, bytes, alignment, b->base, b->base + b->bytes);
        *memory = b->memory;
        if (at != UINT64_MAX) {
            return at;
        }
    }
    *memory = p->banks.n > 0 ? p->banks.at[p->banks.n - 1].memory : 0;
    return free_place(p, a, bytes, alignment, 0, p->arena_bytes);
}

static uint32_t add_lines(plan_module *p, const plan_kernel *k, uint32_t kernel, uint32_t stage, uint64_t bytes,
                          uint64_t offset, uint32_t memory) {
    uint32_t i = (uint32_t)p->tensors.n;
    plan_tensor *t = BASE_PUSH(p->arena, &p->tensors);
    *t = (plan_tensor){.graph = k->graph->index,
                       .graph_tensor = IR_NONE,
                       .state = IR_NONE,
                       .name = "lines",
                       .role = PLAN_SCRATCH,
                       .type = BASE_U8,
                       .shape = ir_shape_of(1, (const int64_t[]){(int64_t)bytes}),
                       .bytes = bytes,
                       .alignment = p->device->machine.alignment,
                       .root = i,
                       .first = kernel,
                       .last = kernel,
                       .from = stage,
                       .until = stage,
                       .memory = memory,
                       .offset = offset};
    memset(t->count, 0xff, sizeof t->count);
    return i;
}

static void place_in(plan_module *p, alive *a, uint32_t kernel) {
    plan_kernel *k = &p->kernels.at[kernel];
    for (uint32_t s = 0; s < k->program->stages.n; s++) {
        plan_schedule *x = &k->schedules[s];
        if (x->line_bytes == 0) {
            continue;
        }
        const bool looks = a->looks < MOST_LOOKS;
        if (looks) {
            a->looks += a->at.n;
            drop_ended(p, a, kernel);
        }
        const uint64_t alignment = p->device->machine.alignment > 0 ? p->device->machine.alignment : 1;
        uint32_t memory = 0;
        uint64_t at = !looks || a->at.n > MOST_ALIVE || x->line_bytes > plan_room(p)
                          ? UINT64_MAX
                          : free_in_banks(p, a, x->line_bytes, alignment, &memory);
        if (at == UINT64_MAX) {
            x->line_bytes = 0;
        } else {
            x->lines = add_lines(p, k, kernel, s, x->line_bytes, at, memory);
        }
    }
}

void plan_place_lines(plan_module *p) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    const size_t n = p->tensors.n;
    uint32_t *next = BASE_NEWS(scratch, uint32_t, n + 1), *first = BASE_NEWS(scratch, uint32_t, p->kernels.n + 1);
    memset(first, 0xff, (p->kernels.n + 1) * sizeof *first);
    for (uint32_t i = 0; i < n; i++) {
        if (plan_in_arena(p, i) && p->tensors.at[i].first < p->kernels.n) {
            next[i] = first[p->tensors.at[i].first];
            first[p->tensors.at[i].first] = i;
        }
    }
    alive a = {0};
    for (uint32_t k = 0; k < p->kernels.n; k++) {
        for (uint32_t i = first[k]; i != UINT32_MAX; i = next[i]) {
            *BASE_PUSH(scratch, &a.at) = i;
        }
        if (p->kernels.at[k].control == PLAN_COMPUTE) {
            place_in(p, &a, k);
        }
    }
    base_arena_free(scratch);
}
