/* ranges.c - intervals of integer expressions, proved for wrapping arithmetic.
 *
 * Takes a program. Gives for every integer or bool node an interval that holds for all values of its variables and
 * inputs: a node that may wrap has its type's whole range. Each node is visited once, operands (and stages it reads)
 * first, without recursion. The intervals of the words are in intervals.c. Floats have none.
 */
#include <string.h>

#include "lang/intervals.h"
#include "lang/linear.h"

enum { FRESH, OPEN, DONE };

typedef struct memo {
    lang_range range;
    uint8_t state;
    bool wraps;
} memo;

typedef struct tensor_memo {
    lang_range range;
    bool known; /* range is set: by the caller, or read from the data */
} tensor_memo;

struct lang_ranges {
    base_arena *arena;
    const lang_program *p;
    BASE_VEC(memo) nodes;
    BASE_VEC(tensor_memo) tensors;
    BASE_VEC(lang_ref) stack;
};

/* Intervals under facts: what a condition says of some nodes, used in one branch only. */
#define MAX_FACTS 8u
#define REFINE_DEPTH 6u
#define REFINE_BUDGET 48u
typedef struct view {
    lang_ranges *r;
    struct {
        lang_ref e;
        lang_range in;
    } fact[MAX_FACTS];
    uint32_t facts, depth;
    uint32_t *budget;
} view;

lang_ranges *lang_ranges_new(base_arena *arena, const lang_program *p) {
    lang_ranges *r = BASE_NEW(arena, lang_ranges);
    r->arena = arena;
    r->p = p;
    return r;
}

const lang_program *lang_ranges_program(const lang_ranges *r) {
    return r->p;
}

/* The program may have grown since the last question. */
static void grow(lang_ranges *r) {
    size_t n = r->p->nodes.n, t = r->p->tensors.n;
    if (r->nodes.cap < n) {
        size_t cap = n + n / 2;
        r->nodes.at = base_grow(r->arena, r->nodes.at, r->nodes.cap, cap, sizeof *r->nodes.at);
        r->nodes.cap = cap;
    }
    if (r->tensors.cap < t) {
        r->tensors.at = base_grow(r->arena, r->tensors.at, r->tensors.cap, t + 8, sizeof *r->tensors.at);
        r->tensors.cap = t + 8;
    }
    r->nodes.n = n;
    r->tensors.n = t;
}

void lang_ranges_tensor(lang_ranges *r, uint32_t tensor, lang_range range) {
    grow(r);
    r->tensors.at[tensor].range = range;
    r->tensors.at[tensor].known = true;
    for (size_t i = 0; i < r->nodes.n; i++) {
        r->nodes.at[i].state = FRESH;
    }
}

lang_range lang_ranges_peek(const lang_ranges *r, lang_ref e, bool *wraps) {
    base_type type = (base_type)lang_at(r->p, e)->type;
    if (e >= r->nodes.n || r->nodes.at[e].state != DONE) {
        *wraps = true;
        return lang_type_range(type);
    }
    *wraps = r->nodes.at[e].wraps;
    return r->nodes.at[e].range;
}

static lang_range peek(const lang_ranges *r, lang_ref e) {
    bool ignored;
    return lang_ranges_peek(r, e, &ignored);
}

/* ---- contents of tensors ---- */

#define SCAN(T)                                                                                                        \
    for (uint64_t i = 0; i < n; i++) {                                                                                 \
        T v;                                                                                                           \
        memcpy(&v, (const char *)data + i * sizeof v, sizeof v);                                                       \
        lo = v < lo ? v : lo;                                                                                          \
        hi = v > hi ? v : hi;                                                                                          \
    }                                                                                                                  \
    break

static lang_range data_range(base_type type, const void *data, uint64_t n) {
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    switch (type) {
    case BASE_I8:
        SCAN(int8_t);
    case BASE_U8:
        SCAN(uint8_t);
    case BASE_I16:
        SCAN(int16_t);
    case BASE_I32:
        SCAN(int32_t);
    case BASE_I64:
        SCAN(int64_t);
    default:
        for (uint64_t i = 0; i < n; i++) {
            base_value v = base_load(type, data, i);
            if (type == BASE_U64 && v.i < 0) {
                return lang_type_range(type);
            }
            lo = v.i < lo ? v.i : lo;
            hi = v.i > hi ? v.i : hi;
        }
    }
    return n > 0 ? (lang_range){lo, hi, true} : lang_type_range(type);
}

static bool element_count(const lang_tensor *t, uint64_t *n) {
    *n = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->extent[k] != 0 || t->dim[k] < 0 || !base_mul_size(*n, (uint64_t)t->dim[k], n)) {
            return false;
        }
    }
    return true;
}

/* Of all elements; the body of a stage counts as far as it is memoised. */
static lang_range contents(lang_ranges *r, uint32_t tensor) {
    const lang_tensor *t = &r->p->tensors.at[tensor];
    tensor_memo *m = &r->tensors.at[tensor];
    uint64_t n;
    if (m->known) {
        return m->range;
    }
    if (!base_type_is_int(t->type) && t->type != BASE_BOOL) {
        return lang_type_range(t->type);
    }
    if (t->kind == LANG_INPUT && t->most > 0) {
        return (lang_range){0, t->most, true};
    }
    if (t->data != NULL && element_count(t, &n)) {
        m->range = data_range(t->type, t->data, n);
        m->known = true;
        return m->range;
    }
    if (t->kind == LANG_STAGE && t->stage < r->p->stages.n && r->p->stages.at[t->stage].body < r->nodes.n) {
        return peek(r, r->p->stages.at[t->stage].body);
    }
    return lang_type_range(t->type);
}

/* ---- facts ---- */

static void add_fact(view *v, lang_ref e, int64_t lo, int64_t hi) {
    lang_range old = peek(v->r, e);
    const lang_node *n = lang_at(v->r->p, e);
    if (n->kind == LANG_CONST || !old.known) {
        return;
    }
    for (uint32_t i = 0; i < v->facts; i++) {
        if (v->fact[i].e == e) {
            old = v->fact[i].in;
        }
    }
    lang_range in = {lo > old.lo ? lo : old.lo, hi < old.hi ? hi : old.hi, true};
    if (in.lo > in.hi || (in.lo == old.lo && in.hi == old.hi) || v->facts == MAX_FACTS) {
        return; /* never true (so anything holds), nothing new, or no room */
    }
    for (uint32_t i = 0; i < v->facts; i++) {
        if (v->fact[i].e == e) {
            v->fact[i].in = in;
            return;
        }
    }
    v->fact[v->facts].e = e;
    v->fact[v->facts++].in = in;
    /* x + c in [lo, hi] says that x is in [lo-c, hi-c], where the sum cannot wrap */
    bool wraps;
    (void)lang_ranges_peek(v->r, e, &wraps);
    if (n->kind == LANG_WORD_ && n->code == LANG_ADD && !wraps &&
        lang_at(v->r->p, lang_operand(v->r->p, e, 1))->kind == LANG_CONST) {
        int64_t c = lang_at(v->r->p, lang_operand(v->r->p, e, 1))->value.i;
        int64_t x, y;
        if (!__builtin_sub_overflow(in.lo, c, &x) && !__builtin_sub_overflow(in.hi, c, &y)) {
            add_fact(v, lang_operand(v->r->p, e, 0), x, y);
        }
    }
}

static void add_comparison(view *v, lang_word w, lang_ref a, lang_ref b, bool holds) {
    const lang_program *p = v->r->p;
    if (!base_type_is_int((base_type)lang_at(p, a)->type)) {
        return;
    }
    if (w != LANG_EQ && !holds) { /* !(a < b) is b <= a */
        lang_ref t = a;
        a = b;
        b = t;
        w = w == LANG_LT ? LANG_LE : LANG_LT;
        holds = true;
    }
    lang_range ra = peek(v->r, a), rb = peek(v->r, b);
    if (!ra.known || !rb.known || !holds) {
        return;
    }
    if (w == LANG_EQ) {
        add_fact(v, a, rb.lo, rb.hi);
        add_fact(v, b, ra.lo, ra.hi);
        return;
    }
    int64_t step = w == LANG_LT;
    add_fact(v, a, INT64_MIN, rb.hi == INT64_MIN ? rb.hi : rb.hi - step);
    add_fact(v, b, ra.lo == INT64_MAX ? ra.lo : ra.lo + step, INT64_MAX);
}

/* What follows when condition c has the value `holds`: of a conjunction each part, of a refuted disjunction too. */
static void add_condition(view *v, lang_ref c, bool holds) {
    const lang_program *p = v->r->p;
    struct {
        lang_ref c;
        bool holds;
    } stack[16];
    uint32_t n = 0, left = 64;
    stack[n].c = c;
    stack[n++].holds = holds;
    while (n > 0 && left-- > 0) {
        lang_ref e = stack[--n].c;
        bool h = stack[n].holds;
        const lang_node *x = lang_at(p, e);
        if (x->kind != LANG_WORD_) {
            continue;
        }
        switch (x->code) {
        case LANG_AND:
        case LANG_OR:
            if (h == (x->code == LANG_AND) && n + 2 <= 16) {
                stack[n].c = lang_operand(p, e, 1);
                stack[n++].holds = h;
                stack[n].c = lang_operand(p, e, 0);
                stack[n++].holds = h;
            }
            break;
        case LANG_NOT:
            stack[n].c = lang_operand(p, e, 0);
            stack[n++].holds = !h;
            break;
        case LANG_LT:
        case LANG_LE:
        case LANG_EQ:
            add_comparison(v, (lang_word)x->code, lang_operand(p, e, 0), lang_operand(p, e, 1), h);
            break;
        default:
            break;
        }
    }
}

/* ---- nodes ---- */

static lang_range node_range(const view *v, lang_ref e, bool *wraps);

static lang_range intersect(lang_range a, lang_range b) {
    if (!a.known || !b.known) {
        return a.known ? a : b;
    }
    lang_range c = {a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi, true};
    return c.lo <= c.hi ? c : a; /* empty: the branch is never taken */
}

static lang_range look(const view *v, lang_ref e) {
    lang_range known = peek(v->r, e);
    for (uint32_t i = 0; i < v->facts; i++) {
        if (v->fact[i].e == e) {
            return v->fact[i].in;
        }
    }
    const lang_node *n = lang_at(v->r->p, e);
    if (v->facts == 0 || v->depth == 0 || *v->budget == 0 || n->kind != LANG_WORD_ || !known.known) {
        return known;
    }
    view deeper = *v;
    bool ignored;
    deeper.depth--;
    (*v->budget)--;
    return intersect(known, node_range(&deeper, e, &ignored));
}

static lang_range join(lang_range a, lang_range b) {
    return (lang_range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, a.known && b.known};
}

static int64_t least_extent(const lang_ranges *r, const lang_tensor *t, uint32_t k) {
    if (t->extent[k] == 0) {
        return t->dim[k];
    }
    lang_range e = peek(r, t->extent[k]);
    int64_t least = e.known && e.lo > 0 ? e.lo : 0;
    return least < t->dim[k] ? least : t->dim[k];
}

static int64_t index_extent(const lang_ranges *r, const lang_node *n, uint32_t k) {
    const lang_tensor *t = &r->p->tensors.at[n->index];
    if (!n->flat) {
        return least_extent(r, t, k);
    }
    int64_t total = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (__builtin_mul_overflow(total, least_extent(r, t, d), &total)) {
            return INT64_MAX;
        }
    }
    return total;
}

static lang_range read_range(const view *v, lang_ref e, const lang_node *n) {
    lang_range all = contents(v->r, n->index);
    uint32_t indices = n->count - (n->has_fill ? 1 : 0);
    bool inside = true;
    for (uint32_t k = 0; n->has_fill && k < indices; k++) {
        lang_range i = look(v, lang_operand(v->r->p, e, k));
        inside = inside && i.known && i.lo >= 0 && i.hi < index_extent(v->r, n, k);
    }
    return inside ? all : join(all, look(v, lang_operand(v->r->p, e, indices)));
}

static lang_range if_range(const view *v, lang_ref e) {
    const lang_program *p = v->r->p;
    lang_ref c = lang_operand(p, e, 0);
    lang_range condition = look(v, c);
    uint32_t budget = REFINE_BUDGET;
    lang_range branch[2];
    for (uint32_t k = 0; k < 2; k++) {
        view x = *v;
        if (v->facts == 0) {
            x.budget = &budget;
            x.depth = REFINE_DEPTH;
        }
        add_condition(&x, c, k == 0);
        branch[k] = look(&x, lang_operand(p, e, k + 1));
    }
    if (condition.lo == condition.hi) {
        return branch[condition.lo == 1 ? 0 : 1];
    }
    return join(branch[0], branch[1]);
}

static lang_range word_range(const view *v, lang_ref e, const lang_node *n, bool *wraps) {
    const lang_program *p = v->r->p;
    lang_range a[2] = {{0}};
    base_type argument = (base_type)lang_at(p, lang_operand(p, e, 0))->type;
    if (n->code == LANG_IF) {
        return if_range(v, e);
    }
    for (uint32_t k = 0; k < n->count && k < 2; k++) {
        a[k] = look(v, lang_operand(p, e, k));
    }
    bool same = n->count == 2 && lang_operand(p, e, 0) == lang_operand(p, e, 1);
    lang_range out = lang_word_interval((lang_word)n->code, (base_type)n->type, argument, a[0], a[1], same, wraps);
    bool sum = n->code == LANG_ADD || n->code == LANG_SUB;
    if (v->facts == 0 && sum && base_type_is_int((base_type)n->type) &&
        (lang_at(p, lang_operand(p, e, 0))->free & lang_at(p, lang_operand(p, e, 1))->free) != 0) {
        lang_linear l; /* the operands move together: i - i/4*4 and the like */
        if (lang_linear_of(v->r, e, &l)) {
            out = out.known ? intersect(l.range, out) : l.range;
            *wraps = *wraps && !l.pure;
        }
    }
    return out;
}

static lang_range reduce_range(const view *v, lang_ref e, const lang_node *n, bool *wraps) {
    const lang_program *p = v->r->p;
    uint32_t vars = n->count - 3, budget = REFINE_BUDGET;
    lang_ref guard = lang_operand(p, e, vars), otherwise = lang_operand(p, e, vars + 2);
    lang_range count = {1, 1, true};
    for (uint32_t k = 0; k < vars; k++) {
        lang_range extent = look(v, lang_operand(p, lang_operand(p, e, k), 0));
        count = lang_count_interval(count, extent);
    }
    view inner = *v;
    if (guard != 0) {
        lang_range g = look(v, guard);
        if (g.lo == 0) {
            count.lo = 0;
        }
        if (v->facts == 0) {
            inner.budget = &budget;
            inner.depth = REFINE_DEPTH;
        }
        add_condition(&inner, guard, true);
    }
    lang_range body = look(&inner, lang_operand(p, e, vars + 1));
    lang_range out =
        lang_reduction_interval((lang_reduction)n->code, (base_type)n->type, body, count, otherwise == 0, wraps);
    if (otherwise != 0 && count.lo == 0) {
        out = join(out, look(v, otherwise));
    }
    return out;
}

static lang_range node_range(const view *v, lang_ref e, bool *wraps) {
    const lang_node *n = lang_at(v->r->p, e);
    base_type type = (base_type)n->type;
    *wraps = false;
    switch (n->kind) {
    case LANG_CONST:
        if (base_type_is_float(type) || (type == BASE_U64 && n->value.i < 0)) {
            return lang_type_range(type);
        }
        return (lang_range){n->value.i, n->value.i, true};
    case LANG_VAR: {
        lang_range extent = look(v, lang_operand(v->r->p, e, 0));
        return (lang_range){0, extent.hi > 0 ? extent.hi - 1 : 0, true};
    }
    case LANG_READ:
        return read_range(v, e, n);
    case LANG_WORD_:
        return word_range(v, e, n, wraps);
    default:
        return reduce_range(v, e, n, wraps);
    }
}

static void want(lang_ranges *r, lang_ref e) {
    if (e != 0 && r->nodes.at[e].state == FRESH) {
        *BASE_PUSH(r->arena, &r->stack) = e;
    }
}

static void want_operands(lang_ranges *r, lang_ref e) {
    const lang_node *n = lang_at(r->p, e);
    for (uint32_t k = n->count; k-- > 0;) {
        want(r, lang_operand(r->p, e, k));
    }
    if (n->kind != LANG_READ) {
        return;
    }
    const lang_tensor *t = &r->p->tensors.at[n->index];
    for (uint32_t k = 0; k < t->rank; k++) {
        want(r, t->extent[k]);
    }
    if (t->kind == LANG_STAGE && t->stage < r->p->stages.n && !r->tensors.at[n->index].known) {
        want(r, r->p->stages.at[t->stage].body);
    }
}

static void compute(lang_ranges *r, lang_ref root) {
    grow(r);
    want(r, root);
    while (r->stack.n > 0) {
        lang_ref e = r->stack.at[r->stack.n - 1];
        memo *m = &r->nodes.at[e];
        if (m->state == FRESH) {
            m->state = OPEN;
            want_operands(r, e);
            continue;
        }
        r->stack.n--;
        if (m->state == OPEN) {
            /* an operand that is still open reads its own stage (a recurrence): it counts with its type's range */
            view v = {.r = r};
            bool wraps;
            m->range = node_range(&v, e, &wraps);
            m->wraps = wraps;
            m->state = DONE;
        }
    }
}

lang_range lang_range_of(lang_ranges *r, const lang_stage *s, lang_ref e) {
    (void)s; /* a variable carries its extent: the interval is the same in every stage */
    compute(r, e);
    return r->nodes.at[e].range;
}

bool lang_may_wrap(lang_ranges *r, const lang_stage *s, lang_ref e) {
    (void)s;
    compute(r, e);
    return r->nodes.at[e].wraps;
}

lang_range lang_range_tensor(lang_ranges *r, uint32_t tensor) {
    grow(r);
    const lang_tensor *t = &r->p->tensors.at[tensor];
    if (t->kind == LANG_STAGE && t->data == NULL && t->stage < r->p->stages.n && !r->tensors.at[tensor].known) {
        return lang_range_of(r, NULL, r->p->stages.at[t->stage].body);
    }
    return contents(r, tensor);
}

int64_t lang_least_extent(lang_ranges *r, const lang_tensor *t, uint32_t k) {
    if (t->extent[k] != 0) {
        compute(r, t->extent[k]);
    }
    return least_extent(r, t, k);
}

lang_range lang_range_under(lang_ranges *r, const lang_fact *facts, size_t n, lang_ref e) {
    uint32_t budget = REFINE_BUDGET;
    view v = {.r = r, .depth = REFINE_DEPTH, .budget = &budget};
    compute(r, e);
    for (size_t k = 0; k < n; k++) {
        compute(r, facts[k].condition);
        add_condition(&v, facts[k].condition, facts[k].holds);
    }
    return look(&v, e);
}
