/* reorder.c - another order of the kernels, where it needs less memory.
 *
 * Takes kernels without control among them, and which tensors share bytes. Gives an order in which every kernel still finds what it
 * reads, or none that is better. A beam search over what has been done: of two ways to have done the same kernels only the one with
 * the lower peak goes on. Bounded by the candidates it looks at, so that a plan is the same on every machine.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan_private.h"

enum { WIDTH = 24, MOST_KERNELS = 4096, MOST_CANDIDATES = 3000000 };

/* Lists of numbers, one behind the other: those of i are list[first[i] .. first[i + 1]). */
typedef struct lists {
    uint32_t *first, *list;
} lists;

typedef struct state {
    uint64_t *done; /* a bit for each kernel */
    uint32_t *ready;
    uint32_t ready_count;
    uint64_t live, peak;
    uint64_t key; /* of the set that is done */
    uint32_t trail;
} state;

typedef struct candidate {
    uint32_t from, kernel; /* state, and what is done next */
    uint64_t live, peak, key;
} candidate;

typedef struct step {
    uint32_t before, kernel;
} step;

typedef struct reorder {
    base_arena *scratch;
    const plan_module *p;
    uint32_t n;
    lists groups; /* of each kernel: the roots it touches in the arena */
    lists users;  /* of each root: its kernels */
    lists next;   /* of each kernel: those that need it done */
    lists before; /* of each kernel: those that it needs done */
    bool *stays;  /* root: the caller sees it behind the run */
    bool *there;  /* root: it is there before the run */
    uint64_t looked;
    BASE_VEC(step) steps;
} reorder;

/* ---- what touches what ---- */

static uint32_t root_of(const reorder *x, const plan_kernel *k, uint32_t t) {
    return k->tensor[t] == IR_NONE ? IR_NONE : x->p->tensors.at[k->tensor[t]].root;
}

/* Each kernel's roots once. */
static void find_groups(reorder *x) {
    const plan_module *p = x->p;
    uint32_t *seen = BASE_NEWS(x->scratch, uint32_t, p->tensors.n + 1), total = 0;
    x->users.first = BASE_NEWS(x->scratch, uint32_t, p->tensors.n + 2);
    x->groups.first = BASE_NEWS(x->scratch, uint32_t, (size_t)x->n + 2);
    for (int round = 0; round < 2; round++) {
        memset(seen, 0xff, (p->tensors.n + 1) * sizeof *seen);
        total = 0;
        for (uint32_t i = 0; i < x->n; i++) {
            const plan_kernel *k = &p->kernels.at[i];
            x->groups.first[i] = total;
            for (uint32_t t = 0; t < k->program->tensors.n; t++) {
                const uint32_t root = root_of(x, k, t);
                if (root == IR_NONE || !plan_in_arena(p, root) || seen[root] == i) {
                    continue;
                }
                seen[root] = i;
                if (round == 0) {
                    x->users.first[root + 2]++;
                } else {
                    x->groups.list[total] = root;
                    x->users.list[x->users.first[root + 1]++] = i;
                }
                total++;
            }
        }
        x->groups.first[x->n] = total;
        if (round == 0) {
            x->groups.list = BASE_NEWS(x->scratch, uint32_t, (size_t)total + 1);
            x->users.list = BASE_NEWS(x->scratch, uint32_t, (size_t)total + 1);
            for (size_t r = 2; r <= p->tensors.n; r++) {
                x->users.first[r] += x->users.first[r - 1];
            }
        }
    }
}

typedef struct edge {
    uint32_t from, to;
} edge;

typedef BASE_VEC(edge) edges;
typedef BASE_VEC(uint32_t) numbers;

static int by_ends(const void *a, const void *b) {
    const edge *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->to < y->to ? -1 : x->to > y->to;
}

/* Of each kernel where its edges lead, each once. */
static lists lists_of(const reorder *x, edges *e) {
    lists l = {BASE_NEWS(x->scratch, uint32_t, (size_t)x->n + 2), BASE_NEWS(x->scratch, uint32_t, e->n + 1)};
    uint32_t count = 0, at = 0;
    if (e->n > 0) {
        qsort(e->at, e->n, sizeof *e->at, by_ends);
    }
    for (size_t i = 0; i < e->n; i++) {
        if (i > 0 && by_ends(&e->at[i - 1], &e->at[i]) == 0) {
            continue;
        }
        for (; at <= e->at[i].from; at++) {
            l.first[at] = count;
        }
        l.list[count++] = e->at[i].to;
    }
    for (; at <= x->n; at++) {
        l.first[at] = count;
    }
    return l;
}

static void add_edge(reorder *x, edges *e, uint32_t from, uint32_t to) {
    if (from != IR_NONE && from != to) {
        *BASE_PUSH(x->scratch, e) = (edge){from, to};
    }
}

static bool writes(const plan_kernel *k, uint32_t t) {
    for (size_t s = 0; s < k->program->stages.n; s++) {
        if (k->program->stages.at[s].tensor == t) {
            return true;
        }
    }
    for (size_t i = 0; i < k->program->outputs.n; i++) {
        if (k->program->outputs.at[i] == t) {
            return true;
        }
    }
    return false;
}

/* A tensor is read behind its last write, and written behind all that read or wrote it before: whatever is read is what
 * was read in the order that is given. Functions of the application's keep their order. */
static void find_needs(reorder *x) {
    const plan_module *p = x->p;
    uint32_t *writer = BASE_NEWS(x->scratch, uint32_t, p->tensors.n + 1), external = IR_NONE;
    memset(writer, 0xff, (p->tensors.n + 1) * sizeof *writer);
    numbers *readers = BASE_NEWS(x->scratch, numbers, p->tensors.n + 1);
    edges e = {0};
    for (uint32_t i = 0; i < x->n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        if (k->program->external != NULL) {
            add_edge(x, &e, external, i);
            external = i;
        }
        for (uint32_t t = 0; t < k->program->tensors.n; t++) {
            if (k->tensor[t] != IR_NONE && p->tensors.at[k->tensor[t]].role != PLAN_CONSTANT && !writes(k, t)) {
                add_edge(x, &e, writer[k->tensor[t]], i);
                *BASE_PUSH(x->scratch, &readers[k->tensor[t]]) = i;
            }
        }
        for (uint32_t t = 0; t < k->program->tensors.n; t++) {
            if (k->tensor[t] == IR_NONE || !writes(k, t)) {
                continue;
            }
            add_edge(x, &e, writer[k->tensor[t]], i);
            for (size_t r = 0; r < readers[k->tensor[t]].n; r++) {
                add_edge(x, &e, readers[k->tensor[t]].at[r], i);
            }
            readers[k->tensor[t]].n = 0;
            writer[k->tensor[t]] = i;
        }
    }
    x->next = lists_of(x, &e);
    for (size_t i = 0; i < e.n; i++) {
        e.at[i] = (edge){e.at[i].to, e.at[i].from};
    }
    x->before = lists_of(x, &e);
}

static void find_visible(reorder *x) {
    const plan_module *p = x->p;
    x->stays = BASE_NEWS(x->scratch, bool, p->tensors.n + 1);
    x->there = BASE_NEWS(x->scratch, bool, p->tensors.n + 1);
    for (size_t i = 0; i < p->inputs.n; i++) {
        x->there[p->tensors.at[p->inputs.at[i]].root] = true;
    }
    for (size_t i = 0; i < p->outputs.n; i++) {
        x->stays[p->tensors.at[p->outputs.at[i]].root] = true;
    }
    for (size_t i = 0; i < p->counts.n; i++) {
        const uint32_t root = p->tensors.at[p->counts.at[i].tensor].root;
        x->stays[root] = true;
        x->there[root] = x->there[root] || p->counts.at[i].set;
    }
}

/* ---- memory of an order ---- */

static bool is_done(const uint64_t *done, uint32_t k) {
    return (done[k / 64] >> k % 64 & 1) != 0;
}

/* Does kernel k, done next, begin or end the life of the root? */
static void life_at(const reorder *x, const uint64_t *done, uint32_t root, uint32_t k, bool *begins, bool *ends) {
    *begins = !x->there[root];
    *ends = !x->stays[root];
    for (uint32_t u = x->users.first[root]; u < x->users.first[root + 1]; u++) {
        const uint32_t user = x->users.list[u];
        if (is_done(done, user)) {
            *begins = false;
        } else if (user != k) {
            *ends = false;
        }
    }
}

/* Bytes that live while kernel k runs next, and behind it. */
static void run_next(reorder *x, const uint64_t *done, uint64_t live, uint32_t k, uint64_t *during, uint64_t *after) {
    uint64_t begun = 0, ended = 0;
    for (uint32_t g = x->groups.first[k]; g < x->groups.first[k + 1]; g++) {
        const uint32_t root = x->groups.list[g];
        bool begins, ends;
        life_at(x, done, root, k, &begins, &ends);
        begun += begins ? x->p->tensors.at[root].bytes : 0;
        ended += ends ? x->p->tensors.at[root].bytes : 0;
        x->looked += x->users.first[root + 1] - x->users.first[root];
    }
    *during = live + begun;
    *after = live + begun - ended;
    x->looked++;
}

static uint64_t live_before(const reorder *x) {
    uint64_t live = 0;
    for (uint32_t t = 0; t < x->p->tensors.n; t++) {
        live += x->p->tensors.at[t].root == t && x->there[t] ? x->p->tensors.at[t].bytes : 0;
    }
    return live;
}

static uint64_t peak_as_given(reorder *x) {
    uint64_t *done = BASE_NEWS(x->scratch, uint64_t, x->n / 64 + 1), live = live_before(x), peak = live;
    for (uint32_t k = 0; k < x->n; k++) {
        uint64_t during;
        run_next(x, done, live, k, &during, &live);
        peak = during > peak ? during : peak;
        done[k / 64] |= UINT64_C(1) << k % 64;
    }
    return peak;
}

/* No order needs less than some kernel by itself. */
static uint64_t largest_kernel(const reorder *x) {
    uint64_t most = 0;
    for (uint32_t k = 0; k < x->n; k++) {
        uint64_t bytes = 0;
        for (uint32_t g = x->groups.first[k]; g < x->groups.first[k + 1]; g++) {
            bytes += x->p->tensors.at[x->groups.list[g]].bytes;
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* ---- the beam ---- */

/* A kernel's number in the key of a set (splitmix64, S. Vigna). */
static uint64_t key_of(uint64_t k) {
    uint64_t z = (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static int by_cost(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->peak != y->peak) {
        return x->peak < y->peak ? -1 : 1;
    }
    if (x->live != y->live) {
        return x->live < y->live ? -1 : 1;
    }
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

/* The state behind a candidate: its ready kernels are those of before, and what waited for this one alone. */
static state follow(reorder *x, base_arena *arena, const state *from, const candidate *c) {
    const size_t words = x->n / 64 + 1;
    state s = {.live = c->live, .peak = c->peak, .key = c->key};
    s.done = BASE_NEWS(arena, uint64_t, words);
    memcpy(s.done, from->done, words * sizeof *s.done);
    s.done[c->kernel / 64] |= UINT64_C(1) << c->kernel % 64;
    const uint32_t waiting = x->next.first[c->kernel + 1] - x->next.first[c->kernel];
    s.ready = BASE_NEWS(arena, uint32_t, (size_t)from->ready_count + waiting + 1);
    for (uint32_t i = 0; i < from->ready_count; i++) {
        if (from->ready[i] != c->kernel) {
            s.ready[s.ready_count++] = from->ready[i];
        }
    }
    for (uint32_t i = x->next.first[c->kernel]; i < x->next.first[c->kernel + 1]; i++) {
        const uint32_t k = x->next.list[i];
        bool ready = true;
        for (uint32_t b = x->before.first[k]; b < x->before.first[k + 1] && ready; b++) {
            ready = is_done(s.done, x->before.list[b]);
        }
        if (ready) {
            s.ready[s.ready_count++] = k;
        }
    }
    s.trail = (uint32_t)x->steps.n;
    *BASE_PUSH(x->scratch, &x->steps) = (step){from->trail, c->kernel};
    return s;
}

static state start(reorder *x, base_arena *arena) {
    state s = {.live = live_before(x), .trail = IR_NONE};
    s.peak = s.live;
    s.done = BASE_NEWS(arena, uint64_t, x->n / 64 + 1);
    s.ready = BASE_NEWS(arena, uint32_t, (size_t)x->n + 1);
    for (uint32_t k = 0; k < x->n; k++) {
        if (x->before.first[k] == x->before.first[k + 1]) {
            s.ready[s.ready_count++] = k;
        }
    }
    return s;
}

/* What the states of a round lead to, the cheapest first; those that reach `limit` left out. */
static size_t candidates_of(reorder *x, base_arena *arena, const state *states, size_t n, uint64_t limit,
                            candidate **out) {
    size_t most = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        most += states[i].ready_count;
    }
    *out = BASE_NEWS(arena, candidate, most + 1);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t r = 0; r < states[i].ready_count; r++) {
            candidate c = {.from = i, .kernel = states[i].ready[r]};
            run_next(x, states[i].done, states[i].live, c.kernel, &c.peak, &c.live);
            c.peak = c.peak > states[i].peak ? c.peak : states[i].peak;
            c.key = states[i].key ^ key_of(c.kernel);
            if (c.peak < limit) {
                (*out)[count++] = c;
            }
        }
    }
    qsort(*out, count, sizeof **out, by_cost);
    return count;
}

static bool is_there(const state *states, size_t n, uint64_t key) {
    for (size_t i = 0; i < n; i++) {
        if (states[i].key == key) {
            return true;
        }
    }
    return false;
}

/* An order whose peak is below the limit. */
static bool search(reorder *x, uint64_t limit, uint32_t *order) {
    base_arena *now = base_arena_new(base_arena_memory(x->scratch));
    state *states = BASE_NEWS(now, state, WIDTH);
    size_t n = 1;
    states[0] = start(x, now);
    for (uint32_t round = 0; round < x->n && n > 0; round++) {
        base_arena *next = base_arena_new(base_arena_memory(x->scratch));
        candidate *list;
        const size_t count = candidates_of(x, next, states, n, limit, &list);
        state *followed = BASE_NEWS(next, state, WIDTH);
        n = 0;
        for (size_t i = 0; i < count && n < WIDTH && x->looked < MOST_CANDIDATES; i++) {
            if (!is_there(followed, n, list[i].key)) {
                followed[n++] = follow(x, next, &states[list[i].from], &list[i]);
            }
        }
        base_arena_free(now);
        now = next;
        states = followed;
    }
    uint32_t at = n > 0 ? states[0].trail : IR_NONE;
    for (uint32_t k = x->n; n > 0 && k-- > 0; at = x->steps.at[at].before) {
        order[k] = x->steps.at[at].kernel;
    }
    base_arena_free(now);
    return n > 0;
}

bool plan_find_order(base_arena *scratch, const plan_module *p, uint32_t *order) {
    if (p->kernels.n < 3 || p->kernels.n > MOST_KERNELS || plan_has_control(p)) {
        return false;
    }
    reorder x = {.scratch = scratch, .p = p, .n = (uint32_t)p->kernels.n};
    find_groups(&x);
    find_visible(&x);
    const uint64_t given = peak_as_given(&x);
    if (given <= largest_kernel(&x)) {
        return false;
    }
    find_needs(&x);
    x.looked = 0;
    return search(&x, given, order);
}

bool plan_is_order(base_arena *scratch, const plan_module *p, const uint32_t *order, size_t *first, size_t *second) {
    const size_t n = p->kernels.n;
    reorder x = {.scratch = scratch, .p = p, .n = (uint32_t)n};
    uint32_t *at = BASE_NEWS(scratch, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        at[order[i]] = (uint32_t)i;
    }
    if (plan_has_control(p)) { /* jumps lead to numbers */
        for (size_t i = 0; i < n; i++) {
            if (order[i] != i) {
                *first = at[i];
                *second = i;
                return false;
            }
        }
        return true;
    }
    find_needs(&x);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t e = x.next.first[k]; e < x.next.first[k + 1]; e++) {
            if (at[k] > at[x.next.list[e]]) {
                *first = at[k];
                *second = at[x.next.list[e]];
                return false;
            }
        }
    }
    return true;
}
