/* share.c - which tensors lie in the bytes of others, whole or as parts.
 *
 * Takes who touches each tensor and when. Gives roots and offsets in them. A stage that only moves bytes (lang_pieces) has
 * nothing to do where its output lies in its input's bytes, or where its inputs are made in its output's. Whatever is
 * written more than once (states, carried values, results of branches) shares its bytes only as long as nobody writes
 * them, and is never a part.
 */
#include <string.h>

#include "plan/lives.h"

#define MOST_BETWEEN 4096u /* kernels between a value and the copy of it that are looked at */
#define MOST_PIECES 256u   /* parts of one whole */

static uint32_t write_count(const plan_lives *l, uint32_t tensor) {
    return l->write_first[tensor + 1] - l->write_first[tensor];
}

static bool is_own(const plan_tensor *t) {
    return t->role == PLAN_ACTIVATION || t->role == PLAN_SCRATCH;
}

static void rest(plan_lives *l, plan_kernel *k, size_t stage, const char *reason) {
    *BASE_PUSH(l->scratch, &l->idle) = (plan_idle){k, stage, k->schedules[stage].form, k->reason};
    k->schedules[stage].form = PLAN_ALIAS;
    k->reason = reason;
}

void plan_unshare(plan_lives *l) {
    for (size_t i = l->idle.n; i-- > 0;) {
        const plan_idle *x = &l->idle.at[i];
        x->kernel->schedules[x->stage].form = x->form;
        x->kernel->reason = x->reason;
    }
    l->idle.n = 0;
    for (uint32_t t = 0; t < l->p->tensors.n; t++) {
        l->p->tensors.at[t].root = t;
        l->p->tensors.at[t].root_offset = 0;
    }
}

/* ---- outputs that lie in an input's bytes ---- */

/* A pointer that the caller gets is aligned as a tensor of its own is. */
static bool may_be_seen_at(const plan_tensor *t, uint64_t offset) {
    bool visible = t->role == PLAN_INPUT || t->role == PLAN_OUTPUT;
    return !visible || t->alignment == 0 || offset % t->alignment == 0;
}

static bool can_share(const plan_tensor *root, const plan_tensor *to, uint64_t offset) {
    bool visible = root->role == PLAN_INPUT || root->role == PLAN_STATE;
    return !(visible && to->role == PLAN_OUTPUT) && root->role != PLAN_CONSTANT && to->role != PLAN_CONSTANT &&
           to->role != PLAN_STATE && offset + to->bytes <= root->bytes && may_be_seen_at(to, offset);
}

/* Nobody writes the root's bytes while the tensor, made by kernel k, is used. */
static bool stays(const plan_lives *l, uint32_t root, uint32_t tensor, uint32_t k) {
    for (uint32_t i = l->write_first[root]; i < l->write_first[root + 1]; i++) {
        if (l->writes[i] > k && l->writes[i] <= l->last[tensor]) {
            return false;
        }
    }
    return true;
}

/* Bytes of that many elements; false: they do not begin at a byte. */
static bool bytes_of(base_type type, int64_t elements, uint64_t *bytes) {
    unsigned bits = base_type_bits(type);
    *bytes = (uint64_t)elements * (bits / 8);
    return bits >= 8 || elements == 0;
}

/* Stage s of kernel i is one run of elements of one tensor: a reshape, a part, the read of a state. */
static unsigned find_alias(plan_lives *l, uint32_t i, size_t s, bool parts) {
    plan_module *p = l->p;
    plan_kernel *k = &p->kernels.at[i];
    const lang_program *q = k->program;
    lang_piece piece;
    size_t n = 1;
    uint64_t offset;
    if (!lang_pieces(q, &q->stages.at[s], &piece, &n) || n != 1 || q->tensors.at[piece.tensor].kind != LANG_INPUT ||
        q->tensors.at[piece.tensor].data != NULL) {
        return 0;
    }
    uint32_t from = k->tensor[piece.tensor], to = k->tensor[q->stages.at[s].tensor];
    uint32_t root = p->tensors.at[from].root;
    if (!bytes_of(q->tensors.at[piece.tensor].type, piece.from, &offset)) {
        return 0;
    }
    offset += p->tensors.at[from].root_offset;
    bool part = offset != 0 || p->tensors.at[to].bytes != p->tensors.at[root].bytes;
    if (from == to || write_count(l, to) != 1 || p->tensors.at[to].root != to || (part && !parts) ||
        !can_share(&p->tensors.at[root], &p->tensors.at[to], offset) || !stays(l, root, to, i)) {
        return 0;
    }
    p->tensors.at[to].root = root;
    p->tensors.at[to].root_offset = offset;
    rest(l, k, s, part ? "a part of another tensor's bytes" : "the same bytes under another name or shape");
    return part ? PLAN_PARTS_READ : 0;
}

static unsigned find_aliases(plan_lives *l, bool parts) {
    unsigned found = 0;
    for (uint32_t i = 0; i < l->p->kernels.n; i++) {
        for (size_t s = 0; s < l->p->kernels.at[i].program->stages.n; s++) {
            found |= find_alias(l, i, s, parts);
        }
    }
    return found;
}

/* ---- groups: the tensors that lie in a root's bytes ---- */

enum { SEEN_COUNT = 0x80 }; /* a count that the caller reads */

typedef struct groups {
    uint32_t *next, *head; /* lists */
    uint32_t *last;        /* of each root: the last use of all of them */
    bool *many;            /* of each root: one of them is written more than once */
    bool *parts;           /* of each root: kernels make parts of it */
    uint8_t *roles;        /* of each root: one bit for each role that one of them has, and SEEN_COUNT */
} groups;

static groups group(const plan_lives *l) {
    const plan_module *p = l->p;
    size_t n = p->tensors.n;
    groups g = {.next = BASE_NEWS(l->scratch, uint32_t, n + 1), .head = BASE_NEWS(l->scratch, uint32_t, n + 1)};
    g.last = BASE_NEWS(l->scratch, uint32_t, n + 1);
    g.many = BASE_NEWS(l->scratch, bool, n + 1);
    g.parts = BASE_NEWS(l->scratch, bool, n + 1);
    g.roles = BASE_NEWS(l->scratch, uint8_t, n + 1);
    memset(g.head, 0xff, (n + 1) * sizeof *g.head);
    for (uint32_t t = 0; t < n; t++) {
        uint32_t root = p->tensors.at[t].root;
        g.next[t] = g.head[root];
        g.head[root] = t;
        g.last[root] = l->last[t] > g.last[root] ? l->last[t] : g.last[root];
        g.many[root] = g.many[root] || write_count(l, t) > 1;
        g.roles[root] |= (uint8_t)(1u << p->tensors.at[t].role);
    }
    for (size_t i = 0; i < p->counts.n; i++) {
        g.roles[p->tensors.at[p->counts.at[i].tensor].root] |= SEEN_COUNT;
    }
    return g;
}

static void move_group(const plan_lives *l, groups *g, uint32_t from, uint32_t root, uint64_t offset) {
    for (uint32_t t = g->head[from]; t != IR_NONE;) {
        uint32_t following = g->next[t];
        l->p->tensors.at[t].root = root;
        l->p->tensors.at[t].root_offset += offset;
        g->next[t] = g->head[root];
        g->head[root] = t;
        t = following;
    }
    g->head[from] = IR_NONE;
    g->last[root] = g->last[from] > g->last[root] ? g->last[from] : g->last[root];
    g->roles[root] |= g->roles[from];
}

static bool has_role(const groups *g, uint32_t root, plan_role role) {
    return (g->roles[root] >> role & 1) != 0;
}

/* ---- inputs that are made in an output's bytes ---- */

/* The group of plan tensor t is the piece, and may lie there in the whole: whoever made it makes it there. */
static bool may_be_part(const plan_lives *l, const groups *g, uint32_t t, uint32_t whole, uint64_t offset) {
    const plan_module *p = l->p;
    const plan_tensor *x = &p->tensors.at[t];
    uint32_t root = x->root;
    if (root == whole || x->root_offset != 0 || p->tensors.at[root].bytes != x->bytes || g->many[root] ||
        p->tensors.at[root].role == PLAN_CONSTANT || p->tensors.at[root].role == PLAN_STATE ||
        (has_role(g, root, PLAN_INPUT) && has_role(g, whole, PLAN_OUTPUT))) {
        return false;
    }
    for (uint32_t m = g->head[root]; m != IR_NONE; m = g->next[m]) {
        if (!may_be_seen_at(&p->tensors.at[m], offset + p->tensors.at[m].root_offset)) {
            return false;
        }
    }
    return true;
}

static bool has_twice(const plan_lives *l, const plan_kernel *k, const lang_piece *pieces, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (l->p->tensors.at[k->tensor[pieces[i].tensor]].root ==
                l->p->tensors.at[k->tensor[pieces[j].tensor]].root) {
                return true;
            }
        }
    }
    return false;
}

/* Stage s of kernel i puts several whole tensors one behind the other, which nobody needs elsewhere. */
static bool find_parts(plan_lives *l, groups *g, uint32_t i, size_t s) {
    plan_module *p = l->p;
    plan_kernel *k = &p->kernels.at[i];
    const lang_program *q = k->program;
    lang_piece pieces[MOST_PIECES];
    size_t n = MOST_PIECES;
    uint32_t whole = k->tensor[q->stages.at[s].tensor];
    const plan_tensor *w = &p->tensors.at[whole];
    if (k->schedules[s].form == PLAN_ALIAS || lang_at(q, q->stages.at[s].body)->kind != LANG_WORD_ ||
        !lang_pieces(q, &q->stages.at[s], pieces, &n) || w->root != whole || g->many[whole] ||
        !(is_own(w) || w->role == PLAN_OUTPUT)) {
        return false;
    }
    for (size_t j = 0; j < n; j++) {
        const lang_tensor *t = &q->tensors.at[pieces[j].tensor];
        uint64_t offset, bytes;
        if (t->kind != LANG_INPUT || t->data != NULL || k->tensor[pieces[j].tensor] == IR_NONE ||
            !bytes_of(t->type, pieces[j].to, &offset) || !bytes_of(t->type, pieces[j].count, &bytes) ||
            pieces[j].from != 0 || bytes != p->tensors.at[k->tensor[pieces[j].tensor]].bytes ||
            !may_be_part(l, g, k->tensor[pieces[j].tensor], whole, offset)) {
            return false;
        }
    }
    if (has_twice(l, k, pieces, n)) {
        return false;
    }
    for (size_t j = 0; j < n; j++) {
        uint64_t offset;
        (void)bytes_of(q->tensors.at[pieces[j].tensor].type, pieces[j].to, &offset);
        move_group(l, g, p->tensors.at[k->tensor[pieces[j].tensor]].root, whole, offset);
    }
    g->parts[whole] = true;
    rest(l, k, s, "its inputs are made where they belong");
    return true;
}

/* ---- copies whose value is made where it is copied to ---- */

/* The program tensor of the kernel that lies in the root's bytes; `count`: how many do. */
static uint32_t in_root(const plan_lives *l, const plan_kernel *k, uint32_t root, uint32_t *count) {
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
static bool can_make_there(const plan_lives *l, uint32_t w, uint32_t copy, uint32_t value, uint32_t root) {
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
static bool joins(const plan_lives *l, const groups *g, uint32_t copy, uint32_t from, uint32_t to) {
    const plan_module *p = l->p;
    const plan_tensor *a = &p->tensors.at[from], *c = &p->tensors.at[to];
    uint32_t root = c->root;
    if (!is_own(a) || g->parts[from] || a->root != from || root == from || a->bytes != p->tensors.at[root].bytes ||
        g->last[from] > copy || p->tensors.at[root].role == PLAN_CONSTANT || write_count(l, from) != 1) {
        return false;
    }
    return can_make_there(l, l->writes[l->write_first[from]], copy, from, root);
}

/* Copies: into states, carried values and results of branches. */
static void find_joins(plan_lives *l, groups *g) {
    plan_module *p = l->p;
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        plan_kernel *k = &p->kernels.at[i];
        uint32_t input = 0;
        if (!lang_is_copy(k->program, &input) || k->schedules[0].form == PLAN_ALIAS) {
            continue;
        }
        uint32_t from = k->tensor[k->program->inputs.at[input]], to = k->tensor[k->program->outputs.at[0]];
        if (from != to && joins(l, g, i, from, to)) {
            move_group(l, g, from, p->tensors.at[to].root, 0);
            rest(l, k, 0, "the value was made where it belongs");
        }
    }
}

/* ---- outputs that are written over an input ---- */

/* Does the caller look at a tensor in the root's bytes behind the run? */
static bool is_seen(const groups *g, uint32_t root) {
    return (g->roles[root] & SEEN_COUNT) != 0 || has_role(g, root, PLAN_OUTPUT);
}

/* Whoever needs the input has had it when kernel i writes that output, which nobody else writes, in its place. */
static bool is_over(const plan_lives *l, const groups *g, uint32_t i, uint32_t from, uint32_t to) {
    const plan_module *p = l->p;
    const uint32_t root = p->tensors.at[from].root, x = p->tensors.at[to].root;
    uint32_t count = 0;
    if (x != to || root == to || !is_own(&p->tensors.at[root]) ||
        !(is_own(&p->tensors.at[to]) || p->tensors.at[to].role == PLAN_OUTPUT) || g->last[root] != i || g->many[root] ||
        g->many[to] || g->parts[root] || g->parts[to] || p->tensors.at[from].root_offset != 0 ||
        p->tensors.at[root].bytes != p->tensors.at[to].bytes || l->writes[l->write_first[to]] != i) {
        return false;
    }
    (void)in_root(l, &p->kernels.at[i], root, &count);
    return count == 1 && !is_seen(g, root) && write_count(l, root) == 1 &&
           l->branch_of[l->writes[l->write_first[root]]] == l->branch_of[i] &&
           l->loop_of[l->writes[l->write_first[root]]] == l->loop_of[i];
}

static bool find_over(plan_lives *l, groups *g, uint32_t i) {
    plan_module *p = l->p;
    const plan_kernel *k = &p->kernels.at[i];
    for (size_t o = 0; o < k->program->outputs.n; o++) {
        const uint32_t output = k->program->outputs.at[o], to = output == IR_NONE ? IR_NONE : k->tensor[output];
        for (size_t n = 0; n < k->program->inputs.n && to != IR_NONE && write_count(l, to) == 1; n++) {
            const uint32_t input = k->program->inputs.at[n], from = input == IR_NONE ? IR_NONE : k->tensor[input];
            if (from != IR_NONE && is_over(l, g, i, from, to) && plan_in_place(k, input, output)) {
                move_group(l, g, to, p->tensors.at[from].root, 0);
                return true;
            }
        }
    }
    return false;
}

unsigned plan_share(plan_lives *l, unsigned what) {
    unsigned found = find_aliases(l, (what & PLAN_PARTS_READ) != 0);
    groups g = group(l);
    for (uint32_t i = 0; (what & PLAN_PARTS_MADE) != 0 && i < l->p->kernels.n; i++) {
        for (size_t s = 0; s < l->p->kernels.at[i].program->stages.n; s++) {
            found |= find_parts(l, &g, i, s) ? PLAN_PARTS_MADE : 0;
        }
    }
    find_joins(l, &g);
    for (uint32_t i = 0; (what & PLAN_IN_PLACE) != 0 && i < l->p->kernels.n; i++) {
        found |= find_over(l, &g, i) ? PLAN_IN_PLACE : 0;
    }
    return found;
}
