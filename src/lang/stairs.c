/* stairs.c - what brings a number to few values, step by step, becomes one product and one shift.
 *
 * Takes a program. Finds in the body of each stage the largest expressions of one integer node and constants that never
 * descend (requantisation, fixed-point or real, with its rounding and clamps); where their steps lie the evaluator says; fit.c
 * finds numbers. Gives the program with these in their place, the same bits for all values that the node can have; what is
 * not proved stays. Knows no operator and no rounding.
 */
#include <assert.h>
#include <string.h>

#include "lang/fit.h"
#include "lang/intervals.h"
#include "lang/lang.h"
#include "lang/linear.h"
#include "lang/rewrite.h"
#include "lang/walk.h"

#define MAX_CHAIN 32u            /* words between the number and the result */
#define MAX_KNOWN 24u            /* constants of it */
#define MAX_STEPS 256            /* of one function */
#define MAX_FUNCTIONS (1u << 16) /* of one stage */
#define MAX_ALL_STEPS (1u << 20) /* of all functions of one stage */
#define POINTS 2048u             /* evaluated together */
#define FEW_POINTS 128u          /* of few functions */
#define WALKED_TOGETHER 64u      /* nodes that cost as much as a word at all points */
#define MAX_CHAINS 4u            /* of one stage */
#define FORM_COST 7u             /* of the product, sum, shift and clamp that come in their place */

typedef struct chain_link {
    lang_ref node;
    uint32_t at;       /* which operand is the number */
    uint32_t known[3]; /* the others: index into chain.known */
} chain_link;

typedef struct chain {
    const lang_program *p;
    const lang_stage *stage;
    lang_ref leaf, root;
    uint32_t n;
    chain_link link[MAX_CHAIN]; /* from the leaf to the root */
    uint32_t known_n;
    lang_ref known[MAX_KNOWN];
    uint32_t var_n; /* the functions: one for each point of these output variables */
    uint32_t var[LANG_MAX_RANK];
    int64_t extent[LANG_MAX_RANK];
    size_t functions;
    base_value *value[MAX_KNOWN];       /* of each function */
    base_value *from, *to, *low, *high; /* of each function: the leaf's interval, and what becomes of its ends */
    lang_fit fit;
    bool halves;    /* the product is two of 32 bits */
    uint64_t *work; /* words that may still be evaluated, roughly */
} chain;

/* ---- what depends on constants and on output variables alone ---- */

typedef struct finder {
    const lang_program *p;
    const lang_stage *stage;
    bool *known;
    lang_ref *leaf; /* of each node that is not known: the number that it is made of by words that never descend */
    uint8_t *under; /* which operand leads there */
    uint32_t *length;
    bool *inner; /* part of a longer chain */
} finder;

static bool is_known(const finder *f, lang_ref r) {
    const lang_node *n = lang_at(f->p, r);
    uint64_t outputs = f->stage->rank >= 64 ? UINT64_MAX : (UINT64_C(1) << f->stage->rank) - 1;
    for (uint32_t k = 0; k < n->count; k++) {
        lang_ref o = lang_operand(f->p, r, k);
        if (o != 0 && !f->known[o]) {
            return false;
        }
    }
    if (n->kind == LANG_READ) {
        const lang_tensor *t = &f->p->tensors.at[n->index];
        for (uint32_t k = 0; k < t->rank; k++) {
            if (t->extent[k] != 0) {
                return false;
            }
        }
        return t->data != NULL && !n->has_fill;
    }
    return n->kind != LANG_REDUCE && (n->free & ~outputs) == 0;
}

/* Words that, with constants for their other operands, never descend or never ascend as one operand grows. */
static bool may_be_monotone(const finder *f, lang_ref r, uint32_t at) {
    const lang_node *n = lang_at(f->p, r);
    base_type type = (base_type)n->type, from = (base_type)lang_at(f->p, lang_operand(f->p, r, at))->type;
    if (type == BASE_BOOL || from == BASE_BOOL || type == BASE_U64 || from == BASE_U64) {
        return false;
    }
    switch ((lang_word)n->code) {
    case LANG_ADD:
    case LANG_SUB:
    case LANG_MUL:
    case LANG_NEG:
    case LANG_MIN:
    case LANG_MAX:
    case LANG_SRDHM:
    case LANG_SRDHM16:
    case LANG_FLOOR:
    case LANG_CEIL:
    case LANG_TRUNC:
    case LANG_RNE:
    case LANG_RHA:
    case LANG_CAST:
    case LANG_SAT:
        return true;
    case LANG_DIV:
    case LANG_TDIV:
    case LANG_SHL:
    case LANG_SHR:
    case LANG_RDIVPOT:
        return at == 0;
    default:
        return false;
    }
}

/* A constant that is added to a sum is where the sum starts: it belongs to the number. */
static bool is_start_of_sum(const finder *f, lang_ref r, uint32_t at) {
    const lang_node *n = lang_at(f->p, r);
    return n->code == LANG_ADD && lang_at(f->p, lang_operand(f->p, r, at))->kind == LANG_REDUCE &&
           lang_at(f->p, lang_operand(f->p, r, 1 - at))->kind == LANG_READ;
}

static void judge(finder *f, lang_ref r) {
    const lang_node *n = lang_at(f->p, r);
    f->leaf[r] = 0;
    f->length[r] = 0;
    f->known[r] = is_known(f, r);
    if (f->known[r]) {
        return;
    }
    bool integer = base_type_is_int((base_type)n->type) && n->type != BASE_U64;
    f->leaf[r] = integer ? r : 0;
    uint32_t unknown = 0, at = 0;
    for (uint32_t k = 0; n->kind == LANG_WORD_ && k < n->count; k++) {
        if (!f->known[lang_operand(f->p, r, k)]) {
            unknown++;
            at = k;
        }
    }
    if (unknown != 1 || !may_be_monotone(f, r, at) || (integer && is_start_of_sum(f, r, at))) {
        return;
    }
    lang_ref below = lang_operand(f->p, r, at);
    if (f->leaf[below] != 0 && f->length[below] < MAX_CHAIN) {
        f->leaf[r] = f->leaf[below];
        f->under[r] = (uint8_t)at;
        f->length[r] = f->length[below] + 1;
    }
}

/* ---- is it worth it? ---- */

/* Instructions of a small processor, roughly. */
static uint32_t cost_of(const lang_program *p, lang_ref r) {
    const lang_node *n = lang_at(p, r);
    base_type type = (base_type)n->type, from = (base_type)lang_at(p, lang_operand(p, r, 0))->type;
    bool real = base_type_is_float(type) || base_type_is_float(from), wide = type == BASE_I64 || from == BASE_I64;
    switch ((lang_word)n->code) {
    case LANG_SRDHM:
    case LANG_SRDHM16:
        return 5;
    case LANG_RDIVPOT:
        return 5;
    case LANG_DIV:
    case LANG_TDIV:
        return 10;
    default:
        return real ? 8 : wide ? 3 : 1;
    }
}

/* ---- one chain ---- */

static bool note_known(chain *c, lang_ref r, uint32_t *index) {
    for (*index = 0; *index < c->known_n; ++*index) {
        if (c->known[*index] == r) {
            return true;
        }
    }
    if (c->known_n == MAX_KNOWN) {
        return false;
    }
    c->known[c->known_n++] = r;
    return true;
}

/* The chain that ends at root; false: it does not pay, or is too large. */
static bool follow(const finder *f, lang_ref root, chain *c) {
    uint32_t cost = 0;
    uint64_t vars = 0;
    *c = (chain){
        .p = f->p, .stage = f->stage, .leaf = f->leaf[root], .root = root, .n = f->length[root], .functions = 1};
    base_type leaf = (base_type)lang_at(f->p, c->leaf)->type;
    if (c->leaf == root || leaf == BASE_I64 || leaf == BASE_U32 ||
        !base_type_is_int((base_type)lang_at(f->p, root)->type)) {
        return false;
    }
    lang_ref r = root;
    for (uint32_t k = c->n; k-- > 0;) {
        c->link[k] = (chain_link){.node = r, .at = f->under[r]};
        for (uint32_t o = 0; o < lang_at(f->p, r)->count; o++) {
            lang_ref other = lang_operand(f->p, r, o);
            if (o != f->under[r] && !note_known(c, other, &c->link[k].known[o])) {
                return false;
            }
            vars |= o != f->under[r] ? lang_at(f->p, other)->free : 0;
        }
        cost += cost_of(f->p, r);
        r = lang_operand(f->p, r, f->under[r]);
    }
    for (uint32_t v = 0; v < f->stage->rank; v++) {
        if ((vars >> v & 1) != 0) {
            const lang_node *extent = lang_at(f->p, f->stage->vars[v].extent);
            c->var[c->var_n] = v;
            c->extent[c->var_n] = extent->value.i;
            if (extent->kind != LANG_CONST || extent->value.i < 1 ||
                (uint64_t)extent->value.i > MAX_FUNCTIONS / c->functions) {
                return false;
            }
            c->functions *= (size_t)c->extent[c->var_n++];
        }
    }
    return cost > FORM_COST;
}

/* false: there has been too much. */
static bool spend(uint64_t *work, uint64_t words) {
    bool enough = words <= *work;
    *work = enough ? *work - words : 0;
    return enough;
}

/* ---- constants of each function ---- */

typedef struct reader {
    const chain *c;
    base_value *value; /* of each node */
    int64_t point[LANG_MAX_VARS];
} reader;

static bool read_value(const reader *x, lang_ref r, const lang_node *n) {
    const lang_tensor *t = &x->c->p->tensors.at[n->index];
    int64_t element = 0, total = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        int64_t i = n->flat ? 0 : x->value[lang_operand(x->c->p, r, k)].i;
        if (i < 0 || i >= t->dim[k]) {
            return false;
        }
        element = element * t->dim[k] + i;
        total *= t->dim[k];
    }
    if (n->flat) {
        element = x->value[lang_operand(x->c->p, r, 0)].i;
    }
    if (element < 0 || element >= total) {
        return false;
    }
    x->value[r] = base_load(t->type, t->data, (uint64_t)element);
    return true;
}

static bool known_value(const reader *x, lang_ref r) {
    const lang_program *p = x->c->p;
    const lang_node *n = lang_at(p, r);
    base_value a[3];
    switch (n->kind) {
    case LANG_CONST:
        x->value[r] = n->value;
        return true;
    case LANG_VAR:
        x->value[r].i = x->point[n->index];
        return true;
    case LANG_READ:
        return read_value(x, r, n);
    default:
        for (uint32_t k = 0; k < n->count; k++) {
            a[k] = x->value[lang_operand(p, r, k)];
        }
        x->value[r] = lang_word_value((lang_word)n->code, (base_type)n->type,
                                      (base_type)lang_at(p, lang_operand(p, r, 0))->type, a);
        return true;
    }
}

static bool known_values(base_arena *scratch, chain *c) {
    lang_walk w;
    reader x = {.c = c, .value = BASE_NEWS(scratch, base_value, c->p->nodes.n)};
    lang_walk_init(&w, scratch, c->p);
    for (uint32_t k = 0; k < c->known_n; k++) {
        lang_walk_add(&w, c->known[k]);
        c->value[k] = BASE_NEWS(scratch, base_value, c->functions);
    }
    if (!spend(c->work, (uint64_t)w.order.n * c->functions)) {
        return false;
    }
    for (size_t i = 0; i < c->functions; i++) {
        size_t rest = i;
        for (uint32_t v = c->var_n; v-- > 0;) {
            x.point[c->var[v]] = (int64_t)(rest % (size_t)c->extent[v]);
            rest /= (size_t)c->extent[v];
        }
        for (size_t k = 0; k < w.order.n; k++) {
            if (!known_value(&x, w.order.at[k])) {
                return false;
            }
        }
        for (uint32_t k = 0; k < c->known_n; k++) {
            c->value[k][i] = x.value[c->known[k]];
        }
    }
    return true;
}

/* ---- each word never descends, and the ends of the interval ---- */

typedef enum direction { NEITHER, ASCENDS, DESCENDS } direction;

static direction by_sign(lang_word w, base_type type, base_value c) {
    bool real = base_type_is_float(type), quotient = w == LANG_DIV || w == LANG_TDIV;
    if (real ? !(c.f > 0) && !(c.f < 0) : c.i == 0) {
        return real || quotient ? NEITHER : ASCENDS; /* always 0 */
    }
    return (real ? c.f > 0 : c.i > 0) ? ASCENDS : DESCENDS;
}

/* In operand `at` with the other one constant (NULL: there is none), where integers do not wrap. Reals: no constant is an
 * infinity or no number, so none comes out. */
static direction word_direction(const lang_node *n, base_type type, uint32_t at, const base_value *other) {
    if (other != NULL && base_type_is_float(type) && !(other->f - other->f == 0)) {
        return NEITHER;
    }
    switch ((lang_word)n->code) {
    case LANG_NEG:
        return DESCENDS;
    case LANG_SUB:
        return at == 0 ? ASCENDS : DESCENDS;
    case LANG_MUL:
    case LANG_DIV:
    case LANG_TDIV:
    case LANG_SRDHM:
    case LANG_SRDHM16:
        return by_sign((lang_word)n->code, type, *other);
    default:
        return ASCENDS;
    }
}

static lang_range range_of_value(base_value v) {
    return (lang_range){v.i, v.i, true};
}

/* Can the word leave its type between the two ends? */
static bool stays(const lang_node *n, base_type from, uint32_t at, base_value lo, base_value hi,
                  const base_value *other) {
    base_type type = (base_type)n->type;
    bool wraps = false;
    if (base_type_is_float(type) || base_type_is_float(from)) {
        return true; /* rounds or saturates */
    }
    lang_range x = {lo.i, hi.i, true}, c = other != NULL ? range_of_value(*other) : x, t = lang_type_range(type);
    if (n->code == LANG_CAST) {
        return t.known && x.lo >= t.lo && x.hi <= t.hi;
    }
    (void)lang_word_interval((lang_word)n->code, type, from, at == 0 ? x : c, at == 0 ? c : x, false, &wraps);
    return !wraps;
}

/* Follows the ends of function i's interval through the chain. */
static bool follow_ends(chain *c, size_t i) {
    base_value lo = c->from[i], hi = c->to[i];
    direction all = ASCENDS;
    for (uint32_t k = 0; k < c->n; k++) {
        const chain_link *l = &c->link[k];
        const lang_node *n = lang_at(c->p, l->node);
        base_type from = (base_type)lang_at(c->p, lang_operand(c->p, l->node, l->at))->type;
        base_type first = (base_type)lang_at(c->p, lang_operand(c->p, l->node, 0))->type;
        base_value a[2] = {{0}}, b[2] = {{0}};
        for (uint32_t o = 0; o < n->count; o++) {
            a[o] = o == l->at ? lo : c->value[l->known[o]][i];
            b[o] = o == l->at ? hi : a[o];
        }
        const base_value *other = n->count == 2 ? &a[1 - l->at] : NULL;
        direction d = word_direction(n, from, l->at, other);
        if (d == NEITHER || !stays(n, from, l->at, lo, hi, other)) {
            return false;
        }
        lo = lang_word_value((lang_word)n->code, (base_type)n->type, first, a);
        hi = lang_word_value((lang_word)n->code, (base_type)n->type, first, b);
        if (d == DESCENDS) {
            base_value t = lo;
            lo = hi;
            hi = t;
            all = all == ASCENDS ? DESCENDS : ASCENDS;
        }
    }
    c->low[i] = lo;
    c->high[i] = hi;
    return all == ASCENDS && hi.i - lo.i <= MAX_STEPS;
}

/* ---- where the steps lie: the evaluator runs the chain's own words over many points of all functions ---- */

typedef struct probe {
    size_t function;
    int64_t value;     /* the least x where the function is at least this is searched */
    int64_t low, high; /* less than it at low, not so at high */
    int64_t next, width;
    int8_t last; /* the last answer: 1 less, 2 not so; 0: none yet, 3: both came */
} probe;

typedef struct runner {
    base_arena *scratch;
    chain *c;
    lang_code *code;
    base_type type[MAX_KNOWN + 1];
    void *input[MAX_KNOWN + 1];
    size_t inputs;
    uint32_t known[MAX_KNOWN + 1];
    lang_result result;
    size_t points; /* evaluated together */
} runner;

/* The chain as a program of its own: output[j] of X[j] and the constants of its function. */
static bool runner_make(runner *x, base_arena *scratch, chain *c) {
    const int64_t points = c->functions > FEW_POINTS / 2 ? POINTS : FEW_POINTS;
    *x = (runner){.scratch = scratch, .c = c, .points = (size_t)points};
    lang_program *q = lang_program_new(scratch, c->p->name);
    lang_variable *vars = BASE_NEWS(scratch, lang_variable, 1);
    vars[0] = (lang_variable){.name = "j", .extent = lang_int(q, BASE_I64, points), .bound = points};
    lang_ref j = lang_var(q, 0, vars[0].extent), known[MAX_KNOWN], r = 0;
    for (uint32_t k = 0; k <= c->known_n; k++) { /* the number comes last */
        const lang_node *n = lang_at(c->p, k < c->known_n ? c->known[k] : c->leaf);
        if (k < c->known_n && n->free == 0) {
            known[k] = lang_const(q, (base_type)n->type, c->value[k][0]);
            continue;
        }
        lang_tensor t = {.name = "X", .type = (base_type)n->type, .rank = 1, .dim = {points}, .kind = LANG_INPUT};
        t.input = (uint32_t)q->inputs.n;
        uint32_t tensor = lang_tensor_add(q, &t);
        uint64_t bytes = 0;
        (void)base_type_bytes(t.type, x->points, &bytes);
        *BASE_PUSH(scratch, &q->inputs) = tensor;
        x->type[x->inputs] = t.type;
        x->known[x->inputs] = k;
        x->input[x->inputs++] = base_alloc(scratch, bytes, 8);
        r = lang_read(q, tensor, &j, 1, 0);
        if (k < c->known_n) {
            known[k] = r;
        }
    }
    for (uint32_t k = 0; k < c->n; k++) {
        const lang_node *n = lang_at(c->p, c->link[k].node);
        lang_ref a[3] = {0};
        for (uint32_t o = 0; o < n->count; o++) {
            a[o] = o == c->link[k].at ? r : known[c->link[k].known[o]];
        }
        r = lang_apply(q, (lang_word)n->code, (base_type)n->type, a, n->count);
    }
    lang_tensor out = {.name = "Y", .type = (base_type)lang_at(c->p, c->root)->type, .rank = 1, .dim = {points}};
    out.kind = LANG_STAGE;
    uint32_t tensor = lang_tensor_add(q, &out);
    *BASE_PUSH(scratch, &q->stages) =
        (lang_stage){.tensor = tensor, .rank = 1, .var_count = 1, .vars = vars, .body = r, .rec = -1};
    *BASE_PUSH(scratch, &q->outputs) = tensor;
    base_diags unheard = {.arena = scratch};
    x->code = lang_compile(scratch, q, LANG_EVAL_EXACT, &unheard);
    x->result.data = base_alloc(scratch, 8 * x->points, 8);
    return x->code != NULL;
}

/* Values of the functions at the probes' next points. */
static bool runner_run(runner *x, const probe *probes, const uint32_t *open, size_t n, int64_t *values) {
    base_diags unheard = {.arena = x->scratch};
    base_type type = (base_type)lang_at(x->c->p, x->c->root)->type;
    for (size_t first = 0; first < n; first += x->points) {
        if (!spend(x->c->work, x->points * x->c->n)) {
            return false;
        }
        size_t count = n - first < x->points ? n - first : x->points;
        for (size_t k = 0; k < x->inputs; k++) {
            uint32_t known = x->known[k];
            for (size_t i = 0; i < count; i++) {
                const probe *b = &probes[open[first + i]];
                base_value v = known < x->c->known_n ? x->c->value[known][b->function] : (base_value){.i = b->next};
                base_store(x->type[k], x->input[k], i, v);
            }
        }
        base_arena *run = base_arena_new(base_arena_memory(x->scratch));
        base_status status = lang_run(x->code, run, (const void *const *)x->input, &x->result, &unheard);
        base_arena_free(run);
        if (status != BASE_OK) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            values[first + i] = base_load(type, x->result.data, i).i;
        }
    }
    return true;
}

/* The next point: ever wider steps from the last one until both answers came, then the middle. */
static void advance(probe *b, int64_t value) {
    int8_t answer = value < b->value ? 1 : 2;
    if (answer == 1) {
        b->low = b->next;
    } else {
        b->high = b->next;
    }
    b->last = (int8_t)(b->last | answer);
    if (b->last == 3) {
        b->next = b->low + (b->high - b->low) / 2;
        return;
    }
    b->next = answer == 1 ? b->low + b->width : b->high - b->width;
    b->width *= 2;
    if (b->next <= b->low || b->next >= b->high) {
        b->next = b->low + (b->high - b->low) / 2;
    }
}

static bool search(runner *x, probe *probes, size_t n) {
    uint32_t *open = BASE_NEWS(x->scratch, uint32_t, n + 1);
    int64_t *values = BASE_NEWS(x->scratch, int64_t, n + 1);
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (probes[i].high - probes[i].low > 1) {
            open[left++] = (uint32_t)i;
        }
    }
    while (left > 0) {
        if (!runner_run(x, probes, open, left, values)) {
            return false;
        }
        size_t kept = 0;
        for (size_t k = 0; k < left; k++) {
            probe *b = &probes[open[k]];
            advance(b, values[k]);
            if (b->high - b->low > 1) {
                open[kept++] = open[k];
            }
        }
        left = kept;
    }
    return true;
}

static probe probe_between(const chain *c, size_t i, int64_t value, int64_t guess) {
    probe b = {.function = i, .value = value, .low = c->from[i].i, .high = c->to[i].i, .width = 1};
    b.next = guess <= b.low ? b.low + 1 : guess >= b.high ? b.high - 1 : guess;
    return b;
}

/* First where each function's first and last step are; the others are near the line between them. */
static lang_steps *find_steps(base_arena *scratch, chain *c) {
    runner x;
    lang_steps *steps = BASE_NEWS(scratch, lang_steps, c->functions);
    probe *ends = BASE_NEWS(scratch, probe, 2 * c->functions);
    size_t total = 0, at = 0;
    if (!runner_make(&x, scratch, c)) {
        return NULL;
    }
    for (size_t i = 0; i < c->functions; i++) {
        int64_t low = c->low[i].i, high = c->high[i].i, from = c->from[i].i, to = c->to[i].i;
        steps[i] = (lang_steps){.from = from, .to = to, .low = low, .n = (uint32_t)(high - low)};
        total += steps[i].n;
        ends[2 * i] = probe_between(c, i, low + 1, from + (to - from) / 2);
        ends[2 * i + 1] = probe_between(c, i, high, from + (to - from) / 2);
        for (uint32_t k = 0; k < 2; k++) {
            ends[2 * i + k].last = 3; /* halves from the start */
            ends[2 * i + k].high = low == high ? from + 1 : to;
        }
    }
    if (total > MAX_ALL_STEPS || !search(&x, ends, 2 * c->functions)) {
        return NULL;
    }
    probe *probes = BASE_NEWS(scratch, probe, total + 1);
    int64_t *places = BASE_NEWS(scratch, int64_t, total + 1);
    for (size_t i = 0; i < c->functions; i++) {
        int64_t first = ends[2 * i].high, last = ends[2 * i + 1].high, n = steps[i].n;
        for (int64_t k = 0; k < n; k++) {
            int64_t guess = n > 1 ? first + (last - first) * k / (n - 1) : first;
            probes[at + (size_t)k] = probe_between(c, i, steps[i].low + 1 + k, guess);
            if (k == 0 || k + 1 == n) {
                probes[at + (size_t)k] = ends[2 * i + (k > 0)];
            }
        }
        steps[i].at = places + at;
        at += (size_t)n;
    }
    if (!search(&x, probes, total)) {
        return NULL;
    }
    for (size_t k = 0; k < total; k++) {
        places[k] = probes[k].high;
    }
    return steps;
}

/* ---- the number's interval, for each function ---- */

/* The output variable along which constants of the number vary, the last one: its intervals differ there. IR_NONE: none. */
static uint32_t axis_of(base_arena *scratch, const chain *c) {
    uint32_t axis = IR_NONE;
    lang_walk w;
    lang_walk_init(&w, scratch, c->p);
    lang_walk_add(&w, c->leaf);
    for (size_t i = 0; i < w.order.n; i++) {
        const lang_node *n = lang_at(c->p, w.order.at[i]);
        bool constant = n->kind == LANG_READ && c->p->tensors.at[n->index].data != NULL;
        for (uint32_t v = 0; constant && v < c->stage->rank; v++) {
            axis = (n->free >> v & 1) != 0 && (axis == IR_NONE || v > axis) ? v : axis;
        }
    }
    return axis != IR_NONE && lang_at(c->p, c->stage->vars[axis].extent)->kind == LANG_CONST ? axis : IR_NONE;
}

static lang_range joined(lang_range a, lang_range b) {
    return (lang_range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, a.known && b.known};
}

/* Of each function the interval of its number. */
static void number_ranges(base_arena *scratch, lang_along *along, const chain *c, lang_range *out) {
    uint32_t axis = axis_of(scratch, c), place = IR_NONE;
    const lang_variable *v = axis == IR_NONE ? NULL : &c->stage->vars[axis];
    int64_t extent = v == NULL || v->bound < 1 ? 1 : v->bound;
    lang_range *ranges = BASE_NEWS(scratch, lang_range, (size_t)extent);
    if (axis == IR_NONE) {
        ranges[0] = lang_range_of(lang_ranges_new(scratch, c->p), c->stage, c->leaf);
    } else {
        (void)lang_ranges_along(along, c->stage, c->leaf, axis, ranges);
    }
    lang_range all = ranges[0];
    for (int64_t i = 1; i < extent; i++) {
        all = joined(all, ranges[i]);
    }
    size_t inner = 1; /* functions that follow each other with the same number on the axis */
    for (uint32_t k = c->var_n; k-- > 0 && place == IR_NONE;) {
        if (c->var[k] == axis) {
            place = k;
        } else {
            inner *= (size_t)c->extent[k];
        }
    }
    for (size_t i = 0; i < c->functions; i++) {
        out[i] = place == IR_NONE ? all : ranges[i / inner % (size_t)c->extent[place]];
    }
}

static bool intervals(base_arena *scratch, lang_along *along, chain *c) {
    lang_range *ranges = BASE_NEWS(scratch, lang_range, c->functions);
    number_ranges(scratch, along, c, ranges);
    c->from = BASE_NEWS(scratch, base_value, c->functions);
    c->to = BASE_NEWS(scratch, base_value, c->functions);
    c->low = BASE_NEWS(scratch, base_value, c->functions);
    c->high = BASE_NEWS(scratch, base_value, c->functions);
    for (size_t i = 0; i < c->functions; i++) {
        c->from[i].i = ranges[i].lo;
        c->to[i].i = ranges[i].hi;
        if (!ranges[i].known || ranges[i].lo < INT32_MIN + 1 || ranges[i].hi > INT32_MAX || !follow_ends(c, i)) {
            return false;
        }
    }
    return true;
}

/* ---- the new form ---- */

typedef struct replacer {
    base_arena *arena;
    chain *chain;
    size_t n;
} replacer;

/* Of each function its number; one constant where all are equal. */
static lang_ref table(lang_rewriter *w, const replacer *x, const chain *c, const char *name, const int32_t *values) {
    bool equal = true, short_ = true;
    for (size_t i = 0; i < c->functions; i++) {
        equal = equal && values[i] == values[0];
        short_ = short_ && values[i] >= INT16_MIN && values[i] <= INT16_MAX;
    }
    if (equal) {
        return lang_int(w->to, BASE_I32, values[0]);
    }
    lang_tensor t = {.name = name, .type = short_ ? BASE_I16 : BASE_I32, .rank = c->var_n, .kind = LANG_CONSTANT};
    void *data = base_alloc(x->arena, c->functions * sizeof *values, sizeof *values);
    lang_ref index[LANG_MAX_RANK];
    for (size_t i = 0; i < c->functions; i++) {
        base_store(t.type, data, i, (base_value){.i = values[i]});
    }
    for (uint32_t k = 0; k < c->var_n; k++) {
        t.dim[k] = c->extent[k];
        index[k] = lang_var(w->to, c->var[k], lang_int(w->to, BASE_I64, c->extent[k]));
    }
    t.data = data;
    lang_ref read = lang_read(w->to, lang_tensor_add(w->to, &t), index, c->var_n, 0);
    return lang_apply1(w->to, LANG_CAST, BASE_I32, read);
}

static lang_ref word(lang_program *q, lang_word w, lang_ref a, lang_ref b) {
    return lang_apply2(q, w, (base_type)lang_at(q, a)->type, a, b);
}

/* The high word of a product: one instruction where 64 bits are. */
static lang_ref high_product(lang_rewriter *w, const replacer *x, const chain *c, lang_ref number) {
    lang_program *q = w->to;
    lang_ref up = word(q, LANG_SHL, number, lang_int(q, BASE_I32, 32 - c->fit.point));
    lang_ref wide = lang_apply1(q, LANG_CAST, BASE_I64, up);
    lang_ref factor = lang_apply1(q, LANG_CAST, BASE_I64, table(w, x, c, "factor", c->fit.factor));
    lang_ref high = word(q, LANG_SHR, word(q, LANG_MUL, wide, factor), lang_int(q, BASE_I32, 32));
    return lang_apply1(q, LANG_CAST, BASE_I32, high);
}

/* The same of two products of 32 bits. */
static lang_ref two_products(lang_rewriter *w, const replacer *x, const chain *c, lang_ref number) {
    lang_program *q = w->to;
    int32_t *high = BASE_NEWS(x->arena, int32_t, c->functions), *low = BASE_NEWS(x->arena, int32_t, c->functions);
    for (size_t i = 0; i < c->functions; i++) {
        high[i] = c->fit.factor[i] >> c->fit.point; /* a factor is not negative */
        low[i] = c->fit.factor[i] & (int32_t)((UINT32_C(1) << c->fit.point) - 1);
    }
    lang_ref below = word(q, LANG_MUL, number, table(w, x, c, "factor", low));
    return word(q, LANG_ADD, word(q, LANG_MUL, number, table(w, x, c, "factor", high)),
                word(q, LANG_SHR, below, lang_int(q, BASE_I32, c->fit.point)));
}

static lang_ref replace_root(lang_rewriter *w, lang_ref r) {
    const replacer *x = w->user;
    const chain *c = NULL;
    for (size_t k = 0; k < x->n; k++) {
        c = x->chain[k].root == r ? &x->chain[k] : c;
    }
    if (c == NULL) {
        return 0;
    }
    lang_program *q = w->to;
    const lang_fit *f = &c->fit;
    lang_ref number = lang_apply1(q, LANG_CAST, BASE_I32, w->memo.at[c->leaf]);
    lang_ref product = c->halves ? two_products(w, x, c, number) : high_product(w, x, c, number);
    lang_ref sum = word(q, LANG_ADD, product, table(w, x, c, "addend", f->addend));
    if (f->bend >= 0) {
        lang_ref sign = word(q, LANG_SHR, number, lang_int(q, BASE_I32, 31));
        sum = word(q, LANG_ADD, sum, word(q, LANG_SHL, sign, lang_int(q, BASE_I32, f->bend)));
    }
    lang_ref y = word(q, LANG_SHR, sum, lang_int(q, BASE_I32, f->down));
    y = word(q, LANG_MAX, y, lang_int(q, BASE_I32, f->low));
    y = word(q, LANG_MIN, y, lang_int(q, BASE_I32, f->high));
    return lang_apply1(q, LANG_CAST, (base_type)lang_at(w->from, r)->type, y);
}

/* ---- stages ---- */

/* Tops of chains: no node of the stage leads on from there. */
static size_t find_chains(base_arena *scratch, finder *f, chain *out) {
    const lang_program *p = f->p;
    size_t n = 0;
    lang_walk w;
    lang_walk_init(&w, scratch, p);
    lang_walk_add(&w, f->stage->body);
    for (size_t i = 0; i < w.order.n; i++) {
        judge(f, w.order.at[i]);
        f->inner[w.order.at[i]] = false;
    }
    for (size_t i = w.order.n; i-- > 0 && n < MAX_CHAINS;) {
        lang_ref r = w.order.at[i];
        if (f->inner[r] || f->leaf[r] == 0 || f->leaf[r] == r) {
            continue;
        }
        if (follow(f, r, &out[n])) {
            for (lang_ref k = r; k != f->leaf[r]; k = lang_operand(p, k, f->under[k])) {
                f->inner[k] = true;
            }
            n++;
        }
    }
    return n;
}

static size_t fit_stage(base_arena *arena, base_arena *scratch, lang_along *along, bool wide, uint64_t *work, finder *f,
                        chain *out) {
    size_t found = spend(work, f->p->nodes.n / WALKED_TOGETHER) ? find_chains(scratch, f, out) : 0, n = 0;
    for (size_t k = 0; k < found; k++) {
        chain *c = &out[k];
        const lang_steps *steps = NULL;
        int64_t least = 0;
        uint64_t most = 0;
        base_type_range((base_type)lang_at(f->p, c->root)->type, &least, &most);
        c->work = work;
        if (known_values(scratch, c) && intervals(scratch, along, c)) {
            steps = find_steps(scratch, c);
        }
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (size_t i = 0; steps != NULL && i < c->functions; i++) {
            low = c->low[i].i < low ? c->low[i].i : low;
            high = c->high[i].i > high ? c->high[i].i : high;
        }
        if (most < (uint64_t)INT16_MAX) { /* to a wider type a clamp costs what it costs anyway */
            low = least;
            high = (int64_t)most;
        }
        c->halves = !wide && steps != NULL && lang_fit_steps(arena, steps, c->functions, low, high, true, &c->fit);
        if (c->halves || (steps != NULL && lang_fit_steps(arena, steps, c->functions, low, high, false, &c->fit))) {
            out[n++] = *c;
        }
    }
    return n;
}

lang_program *lang_stairs(base_arena *arena, const lang_program *p, bool wide, uint64_t *work, uint32_t *found) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lang_along *along = lang_along_new(scratch, p, NULL);
    size_t *n = BASE_NEWS(scratch, size_t, p->stages.n + 1);
    chain **chains = BASE_NEWS(scratch, chain *, p->stages.n + 1), chain_of[MAX_CHAINS];
    finder f = {.p = p};
    f.known = BASE_NEWS(scratch, bool, p->nodes.n);
    f.leaf = BASE_NEWS(scratch, lang_ref, p->nodes.n);
    f.under = BASE_NEWS(scratch, uint8_t, p->nodes.n);
    f.length = BASE_NEWS(scratch, uint32_t, p->nodes.n);
    f.inner = BASE_NEWS(scratch, bool, p->nodes.n);
    *found = 0;
    for (size_t i = 0; i < p->stages.n; i++) {
        base_arena *own = base_arena_new(base_arena_memory(arena));
        f.stage = &p->stages.at[i];
        n[i] = fit_stage(scratch, own, along, wide, work, &f, chain_of);
        chains[i] = BASE_NEWS(scratch, chain, n[i] + 1);
        memcpy(chains[i], chain_of, n[i] * sizeof *chain_of);
        *found += (uint32_t)n[i];
        base_arena_free(own);
    }
    lang_program *q = NULL;
    if (*found > 0) {
        replacer *x = BASE_NEWS(scratch, replacer, p->stages.n);
        lang_rewriter *by = BASE_NEWS(scratch, lang_rewriter, p->stages.n);
        for (size_t i = 0; i < p->stages.n; i++) {
            x[i] = (replacer){.arena = arena, .chain = chains[i], .n = n[i]};
            by[i] = (lang_rewriter){.replace = n[i] > 0 ? replace_root : NULL, .user = &x[i]};
        }
        q = lang_rewrite_stages(arena, p, by);
    }
    base_arena_free(scratch);
    return q;
}
