/* lifetimes.c - which tensors share bytes, how long each lives, and where it lies.
 *
 * Takes the kernels of a plan and its tensors. Gives roots, lifetimes as intervals of kernels, and offsets. A loop goes
 * through its kernels again: what is there before it and is used inside lives to its end. Whatever is written more than
 * once (states, carried values, results of branches) shares its bytes only as long as nobody writes them.
 */
#include <string.h>

#include "plan/plan_private.h"

#define NEVER UINT32_MAX
#define MOST_BETWEEN 4096u /* kernels between a value and the copy of it that are looked at */

/* A loop: its kernels, and the loop around it. */
typedef struct span {
    uint32_t first, last, outer;
} span;

typedef struct lives {
    base_arena *scratch;
    plan_module *p;
    uint32_t *first, *last;                  /* of each tensor by itself, loops counted in; first NEVER: not at all */
    uint32_t *write_first, *writes, *writer; /* tensor t is written by writes[write_first[t] .. write_first[t + 1]) */
    span *loops;
    uint32_t *loop_of;   /* of each kernel: the innermost loop, or NEVER */
    uint32_t *branch_of; /* of each kernel: a number; kernels of one number are done together or not at all */
} lives;

/* ---- control ---- */

static void find_loops(lives *l) {
    const plan_module *p = l->p;
    l->loops = BASE_NEWS(l->scratch, span, (size_t)p->loops + 1);
    l->loop_of = BASE_NEWS(l->scratch, uint32_t, p->kernels.n + 1);
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        if (k->control == PLAN_REPEAT) {
            l->loops[k->loop] = (span){k->jump, i, NEVER};
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
    uint32_t open = NEVER;
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        for (uint32_t n = start[i]; n != NEVER; n = next[n]) {
            l->loops[n].outer = open;
            open = n;
        }
        l->loop_of[i] = open;
        while (open != NEVER && l->loops[open].last == i) {
            open = l->loops[open].outer;
        }
    }
}

/* A new number behind every control kernel and at every place that is jumped to, but the old one behind the whole. */
static void find_branches(lives *l) {
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

static void touch(lives *l, uint32_t tensor, uint32_t kernel) {
    l->first[tensor] = kernel < l->first[tensor] ? kernel : l->first[tensor];
    l->last[tensor] = kernel > l->last[tensor] ? kernel : l->last[tensor];
}

static void find_accesses(lives *l) {
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

/* What a loop found and uses it will want again in the next round. */
static void extend_over_loops(lives *l) {
    for (size_t t = 0; t < l->p->tensors.n; t++) {
        if (l->first[t] == NEVER || l->p->kernels.n == 0) {
            continue;
        }
        for (uint32_t n = l->loop_of[l->last[t]]; n != NEVER; n = l->loops[n].outer) {
            if (l->first[t] < l->loops[n].first) {
                l->last[t] = l->loops[n].last;
            }
        }
    }
}

static uint32_t write_count(const lives *l, uint32_t tensor) {
    return l->write_first[tensor + 1] - l->write_first[tensor];
}

/* ---- sharing ---- */

static bool can_share(const plan_tensor *root, const plan_tensor *to) {
    bool visible = root->role == PLAN_INPUT || root->role == PLAN_STATE;
    return !(visible && to->role == PLAN_OUTPUT) && root->role != PLAN_CONSTANT && to->role != PLAN_CONSTANT &&
           to->role != PLAN_STATE && root->bytes == to->bytes;
}

/* Nobody writes the root's bytes while the tensor, made by kernel k, is used. */
static bool stays(const lives *l, uint32_t root, uint32_t tensor, uint32_t k) {
    for (uint32_t i = l->write_first[root]; i < l->write_first[root + 1]; i++) {
        if (l->writes[i] > k && l->writes[i] <= l->last[tensor]) {
            return false;
        }
    }
    return true;
}

/* Reshapes, and reads of states: the output is the input's bytes. */
static void find_aliases(lives *l) {
    plan_module *p = l->p;
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        plan_kernel *k = &p->kernels.at[i];
        uint32_t input = 0;
        if (!lang_is_copy(k->program, &input)) {
            continue;
        }
        uint32_t from = k->tensor[k->program->inputs.at[input]], to = k->tensor[k->program->outputs.at[0]];
        uint32_t root = p->tensors.at[from].root;
        if (from != to && write_count(l, to) == 1 && p->tensors.at[to].root == to &&
            can_share(&p->tensors.at[root], &p->tensors.at[to]) && stays(l, root, to, i)) {
            p->tensors.at[to].root = root;
            k->schedules[0].form = PLAN_ALIAS;
            k->reason = "the same bytes under another name or shape";
        }
    }
}

/* The program tensor of the kernel that lies in the root's bytes; `count`: how many do. */
static uint32_t in_root(const lives *l, const plan_kernel *k, uint32_t root, uint32_t *count) {
    uint32_t found = IR_NONE;
    *count = 0;
    for (uint32_t t = 0; t < k->program->tensors.n; t++) {
        if (k->tensor[t] != IR_NONE && l->p->tensors.at[k->tensor[t]].root == root) {
            found = t;
            ++*count;
        }
    }
    return found;
}

/* May kernel w, which makes the value, write it to the root's bytes at once, where kernel `copy` would put it? */
static bool can_make_there(const lives *l, uint32_t w, uint32_t copy, uint32_t value, uint32_t root) {
    const plan_module *p = l->p;
    if (copy - w > MOST_BETWEEN || l->branch_of[w] != l->branch_of[copy]) {
        return false;
    }
    for (uint32_t i = w + 1; i < copy; i++) {
        uint32_t count, condition = p->kernels.at[i].condition;
        (void)in_root(l, &p->kernels.at[i], root, &count);
        if (count > 0 || (condition != IR_NONE && p->tensors.at[condition].root == root)) {
            return false;
        }
    }
    const plan_kernel *k = &p->kernels.at[w];
    uint32_t count, there = in_root(l, k, root, &count);
    if (count == 0) {
        return true;
    }
    uint32_t output = 0;
    while (output < k->program->tensors.n && k->tensor[output] != value) {
        output++;
    }
    return count == 1 && plan_in_place(k, there, output);
}

/* A value that is copied and not used afterwards lies where it is copied to from the beginning. */
static bool joins(const lives *l, uint32_t copy, uint32_t from, uint32_t to, uint32_t last_of_group) {
    const plan_module *p = l->p;
    const plan_tensor *a = &p->tensors.at[from], *c = &p->tensors.at[to];
    uint32_t root = c->root;
    bool own = a->role == PLAN_ACTIVATION || a->role == PLAN_SCRATCH;
    if (!own || a->root != from || root == from || a->bytes != p->tensors.at[root].bytes || last_of_group > copy ||
        p->tensors.at[root].role == PLAN_CONSTANT || write_count(l, from) != 1) {
        return false;
    }
    return can_make_there(l, l->writes[l->write_first[from]], copy, from, root);
}

/* Copies: into states, carried values and results of branches. */
static void find_joins(lives *l) {
    plan_module *p = l->p;
    size_t n = p->tensors.n;
    /* the tensors that lie in a root's bytes, as a list; and the last use of all of them */
    uint32_t *next = BASE_NEWS(l->scratch, uint32_t, n + 1), *head = BASE_NEWS(l->scratch, uint32_t, n + 1);
    uint32_t *last = BASE_NEWS(l->scratch, uint32_t, n + 1);
    memset(head, 0xff, (n + 1) * sizeof *head);
    for (uint32_t t = 0; t < n; t++) {
        uint32_t root = p->tensors.at[t].root;
        next[t] = head[root];
        head[root] = t;
        last[root] = l->last[t] > last[root] ? l->last[t] : last[root];
    }
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        plan_kernel *k = &p->kernels.at[i];
        uint32_t input = 0;
        if (!lang_is_copy(k->program, &input) || k->schedules[0].form == PLAN_ALIAS) {
            continue;
        }
        uint32_t from = k->tensor[k->program->inputs.at[input]], to = k->tensor[k->program->outputs.at[0]];
        uint32_t root = p->tensors.at[to].root;
        if (from == to || !joins(l, i, from, to, last[from])) {
            continue;
        }
        for (uint32_t t = head[from]; t != NEVER;) {
            uint32_t following = next[t];
            p->tensors.at[t].root = root;
            next[t] = head[root];
            head[root] = t;
            t = following;
        }
        head[from] = NEVER;
        last[root] = last[from] > last[root] ? last[from] : last[root];
        k->schedules[0].form = PLAN_ALIAS;
        k->reason = "the value was made where it belongs";
    }
}

/* ---- lifetimes and offsets ---- */

static void fill_lifetimes(const lives *l) {
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
}

static uint64_t line_up(plan_module *p, plan_role role) {
    uint64_t at = 0;
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        if (t->role == role && t->root == i) {
            uint64_t a = t->alignment == 0 ? 1 : t->alignment;
            t->offset = (at + a - 1) / a * a;
            at = t->offset + t->bytes;
        }
    }
    return at;
}

static void place(base_arena *arena, base_arena *scratch, plan_module *p) {
    plan_block *blocks = BASE_NEWS(scratch, plan_block, p->tensors.n + 1);
    uint32_t *owner = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    const char *winner = "";
    size_t n = 0;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        if (t->root == i && t->role != PLAN_CONSTANT && t->role != PLAN_STATE) {
            owner[n] = i;
            blocks[n++] =
                (plan_block){.bytes = t->bytes, .first = t->first, .last = t->last, .alignment = t->alignment};
        }
    }
    p->arena_bytes = plan_place(scratch, blocks, n, &winner);
    p->arena_bound = plan_place_bound(scratch, blocks, n);
    for (size_t i = 0; i < n; i++) {
        p->tensors.at[owner[i]].offset = blocks[i].offset;
    }
    p->state_bytes = line_up(p, PLAN_STATE);
    p->constant_bytes = line_up(p, PLAN_CONSTANT);
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        t->offset = p->tensors.at[t->root].offset + t->root_offset;
    }
    p->placement = base_printf(arena, "%s%s", winner,
                               p->arena_bytes == p->arena_bound ? "; optimal (this order, whole tensors)" : "");
}

void plan_place_tensors(base_arena *arena, plan_module *p, bool share) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lives l = {.scratch = scratch, .p = p};
    find_loops(&l);
    find_branches(&l);
    find_accesses(&l);
    extend_over_loops(&l);
    if (share) {
        find_aliases(&l);
        find_joins(&l);
    }
    fill_lifetimes(&l);
    place(arena, scratch, p);
    base_arena_free(scratch);
}
