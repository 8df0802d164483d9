/* inside.c - which conditions hold where a node is evaluated, and what that proves of a read's indices.
 *
 * Takes a stage. Gives for a read whether it stays inside its tensor. Conditions come from the lazy words and from
 * guards; a node that several expressions share has those that all of them have. Kept sets are small: a forgotten fact
 * only loses a proof.
 */
#include "lang/linear.h"
#include "lang/walk.h"

#define FACTS 8u

typedef struct context {
    bool reached;
    uint8_t n;
    lang_fact fact[FACTS];
} context;

static bool has_fact(const context *c, lang_fact f) {
    for (uint32_t k = 0; k < c->n; k++) {
        if (c->fact[k].condition == f.condition && c->fact[k].holds == f.holds) {
            return true;
        }
    }
    return false;
}

/* One more use of a node, under the facts of its user and one of the edge (condition 0: none). */
static void add_use(context *to, const context *user, lang_fact edge) {
    context use = *user;
    if (edge.condition != 0 && !has_fact(&use, edge) && use.n < FACTS) {
        use.fact[use.n++] = edge;
    }
    if (!to->reached) {
        *to = use;
        return;
    }
    uint8_t kept = 0;
    for (uint32_t k = 0; k < to->n; k++) {
        if (has_fact(&use, to->fact[k])) {
            to->fact[kept++] = to->fact[k];
        }
    }
    to->n = kept;
}

/* What edge k of node e adds: the branch of an if, the second side of a lazy word, the body under a guard. */
static lang_fact edge_fact(const lang_program *p, lang_ref e, uint32_t k) {
    const lang_node *n = lang_at(p, e);
    lang_fact none = {0};
    if (n->kind == LANG_REDUCE && k + 2 == n->count) {
        return (lang_fact){lang_operand(p, e, n->count - 3), true};
    }
    if (n->kind != LANG_WORD_ || k == 0) {
        return none;
    }
    lang_ref c = lang_operand(p, e, 0);
    switch (n->code) {
    case LANG_IF:
        return (lang_fact){c, k == 1};
    case LANG_AND:
        return (lang_fact){c, true};
    case LANG_OR:
        return (lang_fact){c, false};
    default:
        return none;
    }
}

/* The facts under which stage s evaluates node e. */
static context context_of(base_arena *scratch, const lang_program *p, const lang_stage *s, lang_ref e) {
    lang_walk w;
    lang_walk_init(&w, scratch, p);
    lang_walk_add(&w, s->body);
    context *all = BASE_NEWS(scratch, context, (size_t)s->body + 1); /* operands have smaller numbers */
    all[s->body].reached = true;
    for (size_t i = w.order.n; i-- > 0 && w.order.at[i] != e;) { /* users before operands */
        lang_ref user = w.order.at[i];
        for (uint32_t k = 0; k < lang_at(p, user)->count; k++) {
            lang_ref o = lang_operand(p, user, k);
            if (o != 0) {
                add_use(&all[o], &all[user], edge_fact(p, user, k));
            }
        }
    }
    return e <= s->body ? all[e] : (context){0};
}

static bool indices_inside(lang_ranges *r, lang_ref read, const context *c) {
    const lang_program *p = lang_ranges_program(r);
    const lang_node *n = lang_at(p, read);
    const lang_tensor *t = &p->tensors.at[n->index];
    int64_t total = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        int64_t extent = lang_least_extent(r, t, k);
        if (__builtin_mul_overflow(total, extent, &total)) {
            return false;
        }
        if (!n->flat) {
            lang_range i = lang_range_under(r, c->fact, c->n, lang_operand(p, read, k));
            if (!i.known || i.lo < 0 || i.hi >= extent) {
                return false;
            }
        }
    }
    if (n->flat) {
        lang_range i = lang_range_under(r, c->fact, c->n, lang_operand(p, read, 0));
        return i.known && i.lo >= 0 && i.hi < total;
    }
    return true;
}

bool lang_read_inside(lang_ranges *r, const lang_stage *s, lang_ref read) {
    const context anywhere = {0};
    if (indices_inside(r, read, &anywhere)) {
        return true;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(lang_ranges_program(r)->arena));
    context c = context_of(scratch, lang_ranges_program(r), s, read);
    bool inside = c.reached && c.n > 0 && indices_inside(r, read, &c);
    base_arena_free(scratch);
    return inside;
}
