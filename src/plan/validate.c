/* validate.c - an independent check of a finished plan.
 *
 * Takes a plan. Gives the first fault by name. Shares no code with lifetimes and placement: it looks at pairs by a sweep
 * over time, and at every loop by itself.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_private.h"

static bool in_arena(const plan_tensor *t) {
    return t->role != PLAN_CONSTANT && t->role != PLAN_STATE;
}

/* ---- ranges of bytes, in the order in which they begin ---- */

/* A tree over their numbers: of each node the last end of those below it that are there; 0: none is. */
typedef struct ends {
    uint64_t *most;
    size_t leaves;
} ends;

static ends ends_new(base_arena *scratch, size_t n) {
    ends e = {.leaves = 1};
    while (e.leaves < n) {
        e.leaves *= 2;
    }
    e.most = BASE_NEWS(scratch, uint64_t, 2 * e.leaves);
    return e;
}

/* Range i ends there from now on; 0: it is not there. */
static void set_end(ends *e, size_t i, uint64_t end) {
    size_t node = e->leaves + i;
    for (e->most[node] = end; node > 1; node /= 2) {
        const uint64_t a = e->most[node], b = e->most[node ^ 1];
        e->most[node / 2] = a > b ? a : b;
    }
}

/* The first from number i on that ends behind an offset; SIZE_MAX: none does. */
static size_t first_behind(const ends *e, size_t i, uint64_t offset) {
    size_t node = e->leaves + i;
    if (i >= e->leaves) {
        return SIZE_MAX;
    }
    while (e->most[node] <= offset) { /* the next node to the right, at the level where it begins */
        for (node++; node % 2 == 0; node /= 2) {
        }
        if (node == 1) {
            return SIZE_MAX;
        }
    }
    while (node < e->leaves) {
        node = e->most[2 * node] > offset ? 2 * node : 2 * node + 1;
    }
    return node - e->leaves;
}

/* ---- who lives together ---- */

typedef struct live_block {
    uint64_t begin, end; /* kernel, and stage in it: what lives in one kernel may live for some of its stages */
    size_t rank;         /* by offset */
    uint32_t tensor;
    const plan_tensor *t;
} live_block;

static int compare_words(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int by_offset(const void *x, const void *y) {
    const live_block *a = x, *b = y;
    return a->t->offset != b->t->offset ? compare_words(a->t->offset, b->t->offset)
                                        : compare_words(a->tensor, b->tensor);
}

static int by_begin(const void *x, const void *y) {
    const live_block *a = x, *b = y;
    return a->begin != b->begin ? compare_words(a->begin, b->begin) : compare_words(a->tensor, b->tensor);
}

static int by_end(const void *x, const void *y) {
    const live_block *a = x, *b = y;
    return a->end != b->end ? compare_words(a->end, b->end) : compare_words(a->tensor, b->tensor);
}

/* What has bytes of its own, by offset; its number is its rank. */
static live_block *live_blocks(base_arena *scratch, const plan_module *p, size_t *n) {
    live_block *list = BASE_NEWS(scratch, live_block, p->tensors.n + 1);
    *n = 0;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        const bool one = t->first == t->last;
        if (t->root == i && in_arena(t) && t->bytes > 0) {
            list[(*n)++] = (live_block){.begin = (uint64_t)t->first << 32 | (one ? t->from : 0),
                                        .end = (uint64_t)t->last << 32 | (one ? t->until : UINT32_MAX),
                                        .tensor = i,
                                        .t = t};
        }
    }
    qsort(list, *n, sizeof *list, by_offset);
    for (size_t i = 0; i < *n; i++) {
        list[i].rank = i;
    }
    return list;
}

static live_block *sorted(base_arena *scratch, const live_block *list, size_t n,
                          int (*by)(const void *, const void *)) {
    live_block *copy = BASE_NEWS(scratch, live_block, n + 1);
    memcpy(copy, list, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, by);
    return copy;
}

/* Through time: of what lives no two overlap, so that the first that ends behind where the next begins is the one that it could meet. */
static base_status check_overlaps(const plan_module *p, base_arena *scratch, base_diags *d) {
    size_t n, ended = 0;
    const live_block *list = live_blocks(scratch, p, &n);
    const live_block *begins = sorted(scratch, list, n, by_begin), *ends_of = sorted(scratch, list, n, by_end);
    ends there = ends_new(scratch, n);
    for (size_t i = 0; i < n; i++) {
        const plan_tensor *b = begins[i].t;
        while (ended < n && ends_of[ended].end < begins[i].begin) {
            set_end(&there, ends_of[ended++].rank, 0);
        }
        const size_t rank = first_behind(&there, 0, b->offset);
        const plan_tensor *a = rank < n ? list[rank].t : NULL;
        if (a != NULL && a->offset < b->offset + b->bytes) {
            return base_error(d, NULL, "plan: tensors %u \"%s\" and %u \"%s\" overlap at offset %" PRIu64,
                              list[rank].tensor, a->name, begins[i].tensor, b->name,
                              a->offset > b->offset ? a->offset : b->offset);
        }
        set_end(&there, begins[i].rank, b->offset + b->bytes);
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
    const size_t bank = in_arena(root) ? plan_bank_of(p, root) : 0;
    const bool other = bank + 1 < p->banks.n;
    const uint64_t begin = other ? p->banks.at[bank].base : 0,
                   end = other ? begin + p->banks.at[bank].bytes : p->arena_bytes;
    if (in_arena(root) && (root->offset < begin || root->offset + root->bytes > end)) {
        return base_error(
            d, NULL, "plan: tensor %u \"%s\" is at %" PRIu64 " to %" PRIu64 ", its memory at %" PRIu64 " to %" PRIu64,
            i, t->name, root->offset, root->offset + root->bytes, begin, end);
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

/* The tensors by root and by where they begin in it, and who of them has its bytes still: a chain of operators in place has thousands on
 * one root and one at a time, and what thousands of parts make up has as many on one root at once. */
typedef struct shared {
    uint32_t *order, *rank; /* of a rank the tensor; of a tensor the rank */
    uint32_t *first;        /* of each root: the rank of the first of its tensors */
    ends there;
    bool *lost; /* of each tensor: its bytes were written since it was made */
} shared;

typedef struct part {
    uint32_t tensor, root;
    uint64_t offset;
} part;

static int by_place(const void *x, const void *y) {
    const part *a = x, *b = y;
    return a->root != b->root       ? compare_words(a->root, b->root)
           : a->offset != b->offset ? compare_words(a->offset, b->offset)
                                    : compare_words(a->tensor, b->tensor);
}

static shared shared_new(base_arena *scratch, const plan_module *p) {
    const size_t n = p->tensors.n;
    part *parts = BASE_NEWS(scratch, part, n + 1);
    shared x = {.order = BASE_NEWS(scratch, uint32_t, n + 1),
                .rank = BASE_NEWS(scratch, uint32_t, n + 1),
                .first = BASE_NEWS(scratch, uint32_t, n + 1),
                .there = ends_new(scratch, n),
                .lost = BASE_NEWS(scratch, bool, n + 1)};
    for (uint32_t i = 0; i < n; i++) {
        parts[i] = (part){i, p->tensors.at[i].root, p->tensors.at[i].root_offset};
    }
    qsort(parts, n, sizeof *parts, by_place);
    for (uint32_t i = 0; i < n; i++) {
        const plan_tensor *t = &p->tensors.at[parts[i].tensor];
        if (i == 0 || parts[i - 1].root != parts[i].root) {
            x.first[parts[i].root] = i;
        }
        x.order[i] = parts[i].tensor;
        x.rank[parts[i].tensor] = i;
        set_end(&x.there, i, t->role != PLAN_CONSTANT ? t->root_offset + t->bytes : 0);
    }
    return x;
}

/* The first of the tensors from that rank on whose bytes meet the tensor's; SIZE_MAX: none do. */
static size_t next_met(const plan_module *p, const shared *x, size_t from, const plan_tensor *t) {
    const size_t rank = first_behind(&x->there, from, t->root_offset);
    const plan_tensor *o = rank < p->tensors.n ? &p->tensors.at[x->order[rank]] : NULL;
    return o != NULL && o->root == t->root && o->root_offset < t->root_offset + t->bytes ? rank : SIZE_MAX;
}

/* The tensor takes its bytes from everything else that has them. */
static void take_bytes(const plan_module *p, shared *x, uint32_t tensor) {
    const plan_tensor *t = &p->tensors.at[tensor];
    for (size_t i = next_met(p, x, x->first[t->root], t); i != SIZE_MAX; i = next_met(p, x, i + 1, t)) {
        if (x->order[i] != tensor) {
            x->lost[x->order[i]] = true;
            set_end(&x->there, i, 0);
        }
    }
}

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
        if (x->lost[to]) {
            x->lost[to] = false;
            set_end(&x->there, x->rank[to], p->tensors.at[to].root_offset + p->tensors.at[to].bytes);
        }
        if (k->schedules[s].form != PLAN_ALIAS) {
            take_bytes(p, x, to);
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
    shared x = shared_new(scratch, p);
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
