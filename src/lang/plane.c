/* plane.c - what makes one byte of two becomes two products and one shift.
 *
 * Takes a program. Finds stages whose body depends on two integers of at most 8 bits, through a sum or a difference (sums of
 * quantised tensors, fixed-point or real); the evaluator says what comes of every pair. Gives the program with a plane in their
 * place, where there is one that is the same at every pair, of which there are at most 65,536. Knows no operator.
 */
#include <assert.h>
#include <math.h>

#include "lang/fit.h"
#include "lang/lang.h"
#include "lang/rewrite.h"
#include "lang/walk.h"

#define VALUES 256
#define TRIES 5       /* of each factor */
#define LEAST_DOWN 18 /* bits behind the point with which it is still tried */
#define PLANE_COST 8u /* words that the plane takes */

typedef struct side {
    lang_ref source, term; /* the byte; what of it the sum adds */
    int64_t first;         /* its type's least value */
    int32_t values;
    double at[VALUES]; /* the term at each value */
    int32_t factor;
} side;

typedef struct plane {
    lang_ref root, sum;
    uint32_t words; /* that make the root */
    side a, b;
    bool minus;        /* the sum is a difference */
    int64_t low, high; /* what the root's type holds */
    uint8_t *value;    /* at each pair, from low on */
    uint32_t down;
    int32_t addend;
} plane;

static lang_ref word(lang_program *q, lang_word w, lang_ref a, int64_t b) {
    return lang_apply2(q, w, (base_type)lang_at(q, a)->type, a, lang_int(q, BASE_I32, b));
}

/* ---- two bytes that come together in a sum ---- */

typedef struct sources {
    lang_ref at[2];
    uint8_t n; /* 3: more, or something else */
} sources;

static void add_source(sources *to, const sources *from) {
    for (uint32_t k = 0; k < from->n && k < 2; k++) {
        bool there = (to->n > 0 && to->at[0] == from->at[k]) || (to->n > 1 && to->at[1] == from->at[k]);
        if (!there && to->n < 2) {
            to->at[to->n++] = from->at[k];
        } else if (!there) {
            to->n = 3;
        }
    }
    to->n = from->n == 3 ? 3 : to->n;
}

static bool is_byte(const lang_node *n) {
    return base_type_is_int((base_type)n->type) && base_type_bits((base_type)n->type) <= 8;
}

static sources sources_of(const lang_program *p, lang_ref r, const sources *of) {
    const lang_node *n = lang_at(p, r);
    sources s = {.n = 3};
    if (n->kind == LANG_CONST) {
        s.n = 0;
    } else if ((n->kind == LANG_READ || n->kind == LANG_REDUCE) && is_byte(n)) {
        s = (sources){.at = {r}, .n = 1};
    } else if (n->kind == LANG_WORD_) {
        s.n = 0;
        for (uint32_t k = 0; k < n->count; k++) {
            add_source(&s, &of[lang_operand(p, r, k)]);
        }
    }
    return s;
}

static side side_of(const lang_program *p, lang_ref source, lang_ref term) {
    side s = {.source = source, .term = term};
    uint64_t most = 0;
    base_type_range((base_type)lang_at(p, source)->type, &s.first, &most);
    s.values = (int32_t)((int64_t)most - s.first + 1);
    return s;
}

static bool find_plane(const lang_program *p, const lang_stage *s, const lang_walk *w, const sources *of, plane *out) {
    const lang_node *root = lang_at(p, s->body);
    uint64_t most = 0;
    *out = (plane){.root = s->body};
    if (!is_byte(root) || of[s->body].n != 2) {
        return false;
    }
    for (size_t i = 0; i < w->order.n; i++) {
        lang_ref r = w->order.at[i];
        const lang_node *n = lang_at(p, r);
        bool word = n->kind == LANG_WORD_ && of[r].n > 0 && of[r].n < 3;
        out->words += word;
        if (!word || of[r].n != 2 || out->sum != 0) {
            continue;
        }
        lang_ref x = lang_operand(p, r, 0), y = n->count == 2 ? lang_operand(p, r, 1) : 0;
        if ((n->code != LANG_ADD && n->code != LANG_SUB) || of[x].n != 1 || of[y].n != 1) {
            return false;
        }
        out->sum = r;
        out->minus = n->code == LANG_SUB;
        out->a = side_of(p, of[x].at[0], x);
        out->b = side_of(p, of[y].at[0], y);
    }
    base_type_range((base_type)root->type, &out->low, &most);
    out->high = (int64_t)most;
    return out->sum != 0 && out->words > PLANE_COST;
}

/* ---- what comes of every pair ---- */

static uint32_t add_values(lang_program *q, const side *s, base_type type) {
    lang_tensor t = {.name = "X", .type = type, .rank = 1, .dim = {s->values}, .kind = LANG_CONSTANT};
    uint64_t bytes = 0;
    (void)base_type_bytes(type, (uint64_t)s->values, &bytes);
    void *data = base_alloc(q->arena, bytes, 8);
    for (int32_t k = 0; k < s->values; k++) {
        base_store(type, data, (uint64_t)k, (base_value){.i = s->first + k});
    }
    t.data = data;
    return lang_tensor_add(q, &t);
}

/* A stage over the values of `rank` bytes, and its output. */
static void add_output(lang_program *q, const lang_variable *vars, uint32_t rank, lang_ref body) {
    lang_tensor t = {.name = "Y", .type = (base_type)lang_at(q, body)->type, .rank = rank, .kind = LANG_STAGE};
    for (uint32_t k = 0; k < rank; k++) {
        t.dim[k] = vars[k].bound;
    }
    t.stage = (uint32_t)q->stages.n;
    uint32_t tensor = lang_tensor_add(q, &t);
    *BASE_PUSH(q->arena, &q->stages) =
        (lang_stage){.tensor = tensor, .rank = rank, .var_count = rank, .vars = vars, .body = body, .rec = -1};
    *BASE_PUSH(q->arena, &q->outputs) = tensor;
}

typedef struct builder {
    const lang_program *p;
    const lang_walk *w;
    const sources *of;
    const plane *x;
    lang_program *q;
    lang_ref *now; /* of each node of p */
} builder;

/* Node `wanted` of p in q, of these bytes. */
static lang_ref rebuilt(const builder *b, lang_ref wanted, lang_ref at_a, lang_ref at_b) {
    for (size_t i = 0; i < b->w->order.n; i++) {
        lang_ref r = b->w->order.at[i], a[3] = {0};
        const lang_node *n = lang_at(b->p, r);
        if (r == b->x->a.source || r == b->x->b.source) {
            b->now[r] = r == b->x->a.source ? at_a : at_b;
        } else if (n->kind == LANG_CONST) {
            b->now[r] = lang_const(b->q, (base_type)n->type, n->value);
        } else if (n->kind == LANG_WORD_ && b->of[r].n < 3) {
            for (uint32_t k = 0; k < n->count; k++) {
                a[k] = b->now[lang_operand(b->p, r, k)];
            }
            b->now[r] = lang_apply(b->q, (lang_word)n->code, (base_type)n->type, a, n->count);
        }
    }
    return b->now[wanted];
}

/* Reads the values of a byte at variable `var` of a stage. */
static lang_ref byte_at(lang_program *q, lang_variable *vars, uint32_t var, uint32_t tensor, const side *s) {
    vars[var] = (lang_variable){"v", lang_int(q, BASE_I64, s->values), s->values};
    lang_ref v = lang_var(q, var, vars[var].extent);
    return lang_read(q, tensor, &v, 1, 0);
}

/* Fills in both terms, and the root at every pair. */
static bool evaluate(base_arena *scratch, builder *b, plane *x) {
    lang_program *q = b->q;
    uint32_t tensor[2];
    side *sides[2] = {&x->a, &x->b};
    lang_variable *vars[3];
    lang_result results[3];
    base_diags unheard = {.arena = scratch};
    for (uint32_t k = 0; k < 2; k++) {
        tensor[k] = add_values(q, sides[k], (base_type)lang_at(b->p, sides[k]->source)->type);
    }
    for (uint32_t k = 0; k < 3; k++) {
        vars[k] = BASE_NEWS(scratch, lang_variable, 2);
    }
    for (uint32_t k = 0; k < 2; k++) {
        lang_ref byte = byte_at(q, vars[k], 0, tensor[k], sides[k]);
        add_output(q, vars[k], 1, lang_apply1(q, LANG_CAST, BASE_F64, rebuilt(b, sides[k]->term, byte, byte)));
        results[k] = (lang_result){.data = sides[k]->at};
    }
    lang_ref first = byte_at(q, vars[2], 0, tensor[0], &x->a), second = byte_at(q, vars[2], 1, tensor[1], &x->b);
    lang_ref root = rebuilt(b, x->root, first, second);
    add_output(
        q, vars[2], 2,
        lang_apply1(q, LANG_CAST, BASE_U8, word(q, LANG_SUB, lang_apply1(q, LANG_CAST, BASE_I32, root), x->low)));
    x->value = BASE_NEWS(scratch, uint8_t, (size_t)x->a.values * (size_t)x->b.values);
    results[2] = (lang_result){.data = x->value};
    lang_code *code = lang_compile(scratch, q, LANG_EVAL_EXACT, &unheard);
    return code != NULL && lang_run(code, scratch, NULL, results, &unheard) == BASE_OK;
}

/* ---- a line over the sum, and from it a plane ---- */

/* The slope of the root over the sum: 0 where the root is no staircase of it. */
static double slope_of(base_arena *scratch, const plane *x) {
    double first[VALUES], last[VALUES], sign = x->minus ? -1 : 1;
    int32_t least = VALUES, most = -1;
    for (int32_t v = 0; v < VALUES; v++) {
        first[v] = HUGE_VAL;
        last[v] = -HUGE_VAL;
    }
    for (int32_t i = 0; i < x->a.values; i++) {
        for (int32_t j = 0; j < x->b.values; j++) {
            int32_t v = x->value[i * x->b.values + j];
            double sum = x->a.at[i] + sign * x->b.at[j];
            first[v] = sum < first[v] ? sum : first[v];
            last[v] = sum > last[v] ? sum : last[v];
            least = v < least ? v : least;
            most = v > most ? v : most;
        }
    }
    return lang_fit_slope(scratch, first + least, last + least, most - least + 1);
}

/* The addends that make the plane right at every pair: from *least to *most. */
static bool addends_of(const plane *x, int64_t *least, int64_t *most) {
    *least = INT32_MIN;
    *most = INT32_MAX;
    for (int32_t i = 0; i < x->a.values; i++) {
        int64_t row = (x->a.first + i) * x->a.factor;
        const uint8_t *value = x->value + (ptrdiff_t)i * x->b.values;
        for (int32_t j = 0; j < x->b.values; j++) {
            int64_t v = x->low + value[j];
            int64_t rest = v * ((int64_t)1 << x->down) - row - (x->b.first + j) * x->b.factor;
            int64_t end = rest + ((int64_t)1 << x->down) - 1;
            *least = v > x->low && rest > *least ? rest : *least;
            *most = v < x->high && end < *most ? end : *most;
        }
        if (*least > *most) {
            return false;
        }
    }
    return true;
}

static int64_t extreme(const side *s, bool most) {
    int64_t a = s->first * s->factor, b = (s->first + s->values - 1) * s->factor;
    return (a > b) == most ? a : b;
}

/* No sum of the products and the addend leaves 32 bits, in whatever order. */
static bool in_range(const plane *x, int64_t addend) {
    int64_t low[2] = {extreme(&x->a, false), extreme(&x->b, false)};
    int64_t high[2] = {extreme(&x->a, true), extreme(&x->b, true)};
    int64_t least = addend, most = addend;
    for (uint32_t k = 0; k < 2; k++) {
        least += low[k] < 0 ? low[k] : 0;
        most += high[k] > 0 ? high[k] : 0;
    }
    return least >= INT32_MIN && most <= INT32_MAX && low[0] + low[1] >= INT32_MIN && high[0] + high[1] <= INT32_MAX;
}

static bool try_factors(plane *x, int64_t a, int64_t b) {
    int64_t least = 0, most = 0;
    x->a.factor = (int32_t)a;
    x->b.factor = (int32_t)b;
    if (!addends_of(x, &least, &most)) {
        return false;
    }
    int64_t addend = least + (most - least) / 2;
    x->addend = (int32_t)addend;
    return in_range(x, addend);
}

static bool fit_plane(base_arena *scratch, plane *x) {
    double slope = slope_of(scratch, x), sign = x->minus ? -1 : 1;
    if (!(slope > 0)) {
        return false;
    }
    double a = slope * (x->a.at[x->a.values - 1] - x->a.at[0]) / (x->a.values - 1);
    double b = sign * slope * (x->b.at[x->b.values - 1] - x->b.at[0]) / (x->b.values - 1);
    double reach = (fabs(a) + fabs(b)) * VALUES + VALUES;
    int32_t down = (int32_t)floor(31 - log2(reach));
    for (; down > 0 && down > LEAST_DOWN; down--) {
        int64_t to_a = (int64_t)floor(ldexp(a, down) + 0.5), to_b = (int64_t)floor(ldexp(b, down) + 0.5);
        x->down = (uint32_t)down;
        for (int32_t k = 0; k < TRIES * TRIES; k++) { /* from the middle outward */
            int32_t i = k % TRIES, j = k / TRIES;
            if (try_factors(x, to_a + (i % 2 != 0 ? -(i + 1) / 2 : i / 2),
                            to_b + (j % 2 != 0 ? -(j + 1) / 2 : j / 2))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- in its place ---- */

static bool spend(uint64_t *work, uint64_t words) {
    bool enough = words <= *work;
    *work = enough ? *work - words : 0;
    return enough;
}

static lang_ref product(lang_rewriter *w, const side *s) {
    lang_ref byte = lang_apply1(w->to, LANG_CAST, BASE_I32, w->memo.at[s->source]);
    return word(w->to, LANG_MUL, byte, s->factor);
}

static lang_ref replace_root(lang_rewriter *w, lang_ref r) {
    const plane *x = w->user;
    lang_program *q = w->to;
    if (r != x->root) {
        return 0;
    }
    lang_ref y = lang_apply2(q, LANG_ADD, BASE_I32, word(q, LANG_ADD, product(w, &x->a), x->addend), product(w, &x->b));
    y = word(q, LANG_SHR, y, x->down);
    y = word(q, LANG_MIN, word(q, LANG_MAX, y, x->low), x->high);
    return lang_apply1(q, LANG_CAST, (base_type)lang_at(w->from, r)->type, y);
}

lang_program *lang_planes(base_arena *arena, const lang_program *p, uint64_t *work, uint32_t *found) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lang_rewriter *rewriters = BASE_NEWS(scratch, lang_rewriter, p->stages.n + 1);
    *found = 0;
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        if (!is_byte(lang_at(p, s->body)) || lang_at(p, s->body)->kind != LANG_WORD_) {
            continue;
        }
        base_arena *own = base_arena_new(base_arena_memory(arena));
        plane *x = BASE_NEW(scratch, plane);
        lang_walk w;
        lang_walk_init(&w, own, p);
        lang_walk_add(&w, s->body);
        sources *of = BASE_NEWS(own, sources, p->nodes.n);
        for (size_t k = 0; k < w.order.n; k++) {
            of[w.order.at[k]] = sources_of(p, w.order.at[k], of);
        }
        builder b = {.p = p, .w = &w, .of = of, .x = x, .q = lang_program_new(own, p->name)};
        b.now = BASE_NEWS(own, lang_ref, p->nodes.n);
        if (find_plane(p, s, &w, of, x) && spend(work, p->nodes.n + (uint64_t)x->words * VALUES * VALUES) &&
            evaluate(own, &b, x) && fit_plane(own, x)) {
            rewriters[i] = (lang_rewriter){.replace = replace_root, .user = x};
            ++*found;
        }
        base_arena_free(own);
    }
    lang_program *q = *found > 0 ? lang_rewrite_stages(arena, p, rewriters) : NULL;
    base_arena_free(scratch);
    return q;
}
