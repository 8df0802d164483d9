/* interpret.c - see interpret.h. */
#include "interpret.h"

#include <assert.h>
#include <math.h>
#include <string.h>

uint64_t random_next(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t random_below(uint64_t *state, uint64_t n) {
    return random_next(state) % n;
}

uint64_t interpret_elements(const lang_tensor *t) {
    uint64_t n = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        assert(t->extent[k] == 0);
        n *= (uint64_t)t->dim[k];
    }
    return n;
}

size_t interpret_bytes(const lang_tensor *t) {
    uint64_t bytes = 0;
    bool fine = base_type_bytes(t->type, interpret_elements(t), &bytes);
    assert(fine);
    (void)fine;
    return (size_t)bytes;
}

/* ---- the interpreter ---- */

static void key_of(const interpreter *x, const lang_node *n, uint64_t *key) {
    assert(n->free >> INTERPRET_VARS == 0);
    key[0] = key[1] = 0;
    for (uint32_t k = 0; k < INTERPRET_VARS; k++) {
        if ((n->free >> k & 1) != 0) {
            assert(x->value[k] < 16);
            key[k / 16] |= (uint64_t)x->value[k] << (k % 16 * 4);
        }
    }
}

static base_value read_value(interpreter *x, lang_ref e, const lang_node *n) {
    const lang_tensor *t = &x->p->tensors.at[n->index];
    uint32_t indices = n->count - (n->has_fill ? 1 : 0);
    uint64_t element = 0;
    for (uint32_t k = 0; k < indices; k++) {
        int64_t i = interpret_node(x, lang_operand(x->p, e, k)).i;
        uint64_t extent = n->flat ? interpret_elements(t) : (uint64_t)t->dim[k];
        if (i < 0 || (uint64_t)i >= extent) {
            x->failed = x->failed || !n->has_fill;
            x->filled[e] = true;
            return n->has_fill ? interpret_node(x, lang_operand(x->p, e, indices)) : (base_value){0};
        }
        element = element * extent + (uint64_t)i;
    }
    return base_load(t->type, x->data[n->index], element);
}

static base_value word_value(interpreter *x, lang_ref e, const lang_node *n) {
    base_value a[3] = {{0}};
    lang_ref first = lang_operand(x->p, e, 0);
    a[0] = interpret_node(x, first);
    if (n->code == LANG_IF) {
        return interpret_node(x, lang_operand(x->p, e, a[0].u ? 1 : 2));
    }
    if ((n->code == LANG_AND && !a[0].u) || (n->code == LANG_OR && a[0].u)) {
        return a[0];
    }
    for (uint32_t k = 1; k < n->count; k++) {
        a[k] = interpret_node(x, lang_operand(x->p, e, k));
    }
    return lang_word_value((lang_word)n->code, (base_type)n->type, (base_type)lang_at(x->p, first)->type, a);
}

static base_value combine(const lang_node *n, base_value acc, base_value v) {
    base_value a[2] = {acc, v};
    static const lang_word words[] = {LANG_ADD, LANG_MUL, LANG_MAX, LANG_MIN, LANG_OR, LANG_AND};
    assert(n->code < LANG_FIRST);
    return lang_word_value(words[n->code], (base_type)n->type, (base_type)n->type, a);
}

static base_value reduce_value(interpreter *x, lang_ref e, const lang_node *n) {
    uint32_t vars = n->count - 3;
    lang_ref guard = lang_operand(x->p, e, vars), otherwise = lang_operand(x->p, e, vars + 2);
    base_type type = (base_type)n->type;
    base_value acc = {0};
    bool some = false;
    int64_t extent[INTERPRET_VARS], saved[INTERPRET_VARS];
    uint64_t points = 1;
    memcpy(saved, x->value, sizeof saved);
    for (uint32_t k = 0; k < vars; k++) {
        extent[k] = interpret_node(x, lang_operand(x->p, lang_operand(x->p, e, k), 0)).i;
        points *= extent[k] > 0 ? (uint64_t)extent[k] : 0;
    }
    for (uint64_t i = 0; i < points; i++) {
        uint64_t rest = i;
        for (uint32_t k = vars; k-- > 0;) {
            x->value[lang_at(x->p, lang_operand(x->p, e, k))->index] = (int64_t)(rest % (uint64_t)extent[k]);
            rest /= (uint64_t)extent[k];
        }
        if (guard != 0 && !interpret_node(x, guard).u) {
            continue;
        }
        base_value v = interpret_node(x, lang_operand(x->p, e, vars + 1));
        if (!some || n->code == LANG_LAST) {
            /* as the evaluator: sums start from 0 */
            base_value zero = {0};
            if (base_type_is_float(type)) {
                zero.f = 0;
            }
            acc = n->code == LANG_SUM ? combine(n, zero, v) : v;
        } else if (n->code < LANG_FIRST) {
            acc = combine(n, acc, v);
        }
        some = true;
        if (n->code == LANG_FIRST) {
            break;
        }
    }
    memcpy(x->value, saved, sizeof saved);
    if (some) {
        return acc;
    }
    if (otherwise != 0) {
        return interpret_node(x, otherwise);
    }
    int64_t lo;
    uint64_t hi;
    switch (n->code) {
    case LANG_PROD:
        return lang_convert(type, BASE_I64, (base_value){.i = 1});
    case LANG_ALL:
        return (base_value){.u = 1};
    case LANG_RMAX:
    case LANG_RMIN:
        if (base_type_is_float(type)) {
            return (base_value){.f = n->code == LANG_RMAX ? -HUGE_VAL : HUGE_VAL};
        }
        base_type_range(type, &lo, &hi);
        return n->code == LANG_RMAX ? (base_value){.i = lo} : (base_value){.u = hi};
    default:
        return lang_convert(type, BASE_I64, (base_value){.i = 0});
    }
}

base_value interpret_node(interpreter *x, lang_ref e) {
    const lang_node *n = lang_at(x->p, e);
    base_value v = {0};
    uint64_t key[2];
    if (n->kind == LANG_CONST) {
        return n->value;
    }
    if (n->kind == LANG_VAR) {
        return (base_value){.i = x->value[n->index]};
    }
    key_of(x, n, key);
    if (x->memo[e].set && memcmp(x->memo[e].key, key, sizeof key) == 0) {
        return x->memo[e].value;
    }
    bool before = x->failed;
    x->failed = false;
    v = n->kind == LANG_READ    ? read_value(x, e, n)
        : n->kind == LANG_WORD_ ? word_value(x, e, n)
                                : reduce_value(x, e, n);
    if (!x->failed) {
        x->memo[e].set = true;
        memcpy(x->memo[e].key, key, sizeof key);
        x->memo[e].value = v;
    }
    x->failed = x->failed || before;
    return v;
}

interpreter *interpret(base_arena *arena, const lang_program *p, const void *const *inputs) {
    interpreter *x = BASE_NEW(arena, interpreter);
    x->p = p;
    x->arena = arena;
    x->data = BASE_NEWS(arena, void *, p->tensors.n);
    x->memo = base_alloc(arena, p->nodes.n, sizeof *x->memo);
    x->filled = BASE_NEWS(arena, bool, p->nodes.n);
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        const lang_tensor *tensor = &p->tensors.at[t];
        size_t bytes = interpret_bytes(tensor);
        x->data[t] = base_alloc(arena, bytes + 1, 1);
        const void *from = tensor->data != NULL         ? tensor->data
                           : tensor->kind == LANG_INPUT ? inputs[tensor->input]
                                                        : NULL;
        if (from != NULL) {
            memcpy(x->data[t], from, bytes);
        }
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        const lang_tensor *t = &p->tensors.at[s->tensor];
        for (uint64_t e = 0; e < interpret_elements(t); e++) {
            uint64_t rest = e;
            for (uint32_t k = s->rank; k-- > 0;) {
                x->value[k] = (int64_t)(rest % (uint64_t)t->dim[k]);
                rest /= (uint64_t)t->dim[k];
            }
            base_store(t->type, x->data[s->tensor], e, interpret_node(x, s->body));
        }
    }
    return x;
}

/* ---- building ---- */

lang_variable variable(lang_program *p, const char *name, int64_t extent) {
    return (lang_variable){.name = name, .extent = lang_int(p, BASE_I64, extent), .bound = extent};
}

uint32_t add_input(lang_program *p, const char *name, base_type type, uint32_t rank, const int64_t *dim) {
    lang_tensor t = {.name = name, .type = type, .rank = rank, .kind = LANG_INPUT, .input = (uint32_t)p->inputs.n};
    for (uint32_t k = 0; k < rank; k++) {
        t.dim[k] = dim[k];
    }
    uint32_t tensor = lang_tensor_add(p, &t);
    *BASE_PUSH(p->arena, &p->inputs) = tensor;
    return tensor;
}

uint32_t add_constant(lang_program *p, const char *name, base_type type, uint32_t rank, const int64_t *dim,
                      const void *data) {
    lang_tensor t = {.name = name, .type = type, .rank = rank, .kind = LANG_CONSTANT, .data = data};
    for (uint32_t k = 0; k < rank; k++) {
        t.dim[k] = dim[k];
    }
    return lang_tensor_add(p, &t);
}

uint32_t add_stage(lang_program *p, const char *name, uint32_t rank, const lang_variable *vars, uint32_t var_count,
                   lang_ref body) {
    lang_tensor t = {.name = name, .type = (base_type)lang_at(p, body)->type, .rank = rank, .kind = LANG_STAGE};
    lang_variable *copy = BASE_NEWS(p->arena, lang_variable, var_count + 1);
    for (uint32_t k = 0; k < var_count; k++) {
        copy[k] = vars[k];
        if (k < rank) {
            t.dim[k] = vars[k].bound;
        }
    }
    t.stage = (uint32_t)p->stages.n;
    lang_stage s = {.rank = rank, .var_count = var_count, .vars = copy, .body = body, .rec = -1};
    s.tensor = lang_tensor_add(p, &t);
    *BASE_PUSH(p->arena, &p->stages) = s;
    return s.tensor;
}

/* ---- random programs ---- */

#define OUTPUT_VARS 3u
#define ALL_VARS 6u
#define POOL 96u

typedef struct generator {
    lang_program *p;
    uint64_t state;
    bool floats;
    lang_variable vars[ALL_VARS];
    lang_ref pool[POOL];
    uint32_t n;
    uint64_t closed; /* bound variables that are used up */
} generator;

static const base_type int_types[] = {BASE_I64, BASE_I64, BASE_I32, BASE_I32, BASE_I16, BASE_I8,
                                      BASE_I4,  BASE_U64, BASE_U32, BASE_U16, BASE_U8,  BASE_U2};

static uint64_t below(generator *g, uint64_t n) {
    return random_below(&g->state, n);
}

static void keep(generator *g, lang_ref r) {
    if (r != 0 && g->n < POOL) {
        g->pool[g->n++] = r;
    }
}

static lang_ref pick(generator *g) {
    return g->pool[below(g, g->n)];
}

static lang_ref as(generator *g, base_type type, lang_ref r) {
    return lang_apply1(g->p, LANG_CAST, type, r);
}

static lang_ref random_constant(generator *g, base_type type) {
    static const int64_t values[] = {0,  1,    2,         3,         4,         5,         7,      8,  16,
                                     31, 64,   100,       127,       128,       255,       -1,     -2, -3,
                                     -8, -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1 << 20};
    uint64_t small = below(g, 3);
    int64_t v = values[below(g, small ? 12 : sizeof values / sizeof *values)];
    if (base_type_is_float(type)) {
        static const double floats[] = {0, -0.0, 1, 0.5, -3, HUGE_VAL, -HUGE_VAL, 127, 1e10};
        return lang_float(g->p, type, floats[below(g, 9)]);
    }
    return lang_const(g->p, type, (base_value){.i = v});
}

static base_type random_type(generator *g) {
    if (g->floats && below(g, 4) == 0) {
        return below(g, 3) ? BASE_F32 : BASE_F16;
    }
    return int_types[below(g, sizeof int_types / sizeof *int_types)];
}

static lang_ref argument(generator *g, base_type type) {
    return below(g, 4) == 0 ? random_constant(g, type) : as(g, type, pick(g));
}

static lang_ref random_read(generator *g) {
    uint32_t tensor = (uint32_t)below(g, g->p->tensors.n);
    const lang_tensor t = g->p->tensors.at[tensor];
    lang_ref index[LANG_MAX_RANK];
    lang_ref fill = random_constant(g, t.type);
    if (below(g, 4) == 0) {
        return lang_read_flat(g->p, tensor, as(g, BASE_I64, pick(g)), fill);
    }
    for (uint32_t k = 0; k < t.rank; k++) {
        lang_ref v = lang_var(g->p, k % OUTPUT_VARS, g->vars[k % OUTPUT_VARS].extent);
        switch (below(g, 4)) {
        case 0:
            index[k] = v;
            break;
        case 1:
            index[k] =
                lang_apply2(g->p, LANG_MOD, BASE_I64, as(g, BASE_I64, pick(g)), lang_int(g->p, BASE_I64, t.dim[k]));
            break;
        case 2:
            index[k] = lang_apply2(g->p, LANG_ADD, BASE_I64, v, lang_int(g->p, BASE_I64, (int64_t)below(g, 3) - 1));
            break;
        default:
            index[k] = as(g, BASE_I64, pick(g));
        }
    }
    return lang_read(g->p, tensor, index, t.rank, fill);
}

static lang_ref random_condition(generator *g) {
    static const lang_word compare[] = {LANG_LT, LANG_LE, LANG_EQ};
    base_type type = random_type(g);
    lang_ref c = lang_apply2(g->p, compare[below(g, 3)], BASE_BOOL, argument(g, type), argument(g, type));
    if (below(g, 3) == 0) {
        base_type other = random_type(g);
        lang_ref d = lang_apply2(g->p, compare[below(g, 3)], BASE_BOOL, argument(g, other), argument(g, other));
        c = lang_apply2(g->p, below(g, 2) ? LANG_AND : LANG_OR, BASE_BOOL, c, d);
    }
    return below(g, 5) == 0 ? lang_apply1(g->p, LANG_NOT, BASE_BOOL, c) : c;
}

/* if(0 <= i && i < extent, X[i], c), sometimes without one of the conditions. */
static lang_ref guarded_read(generator *g) {
    uint32_t tensor = (uint32_t)below(g, g->p->tensors.n);
    const lang_tensor t = g->p->tensors.at[tensor];
    lang_ref fill = random_constant(g, t.type), i = as(g, BASE_I64, pick(g)), zero = lang_int(g->p, BASE_I64, 0);
    lang_ref low = lang_apply2(g->p, LANG_LE, BASE_BOOL, zero, i);
    lang_ref high = lang_apply2(g->p, LANG_LT, BASE_BOOL, i, lang_int(g->p, BASE_I64, t.dim[0]));
    lang_ref both = below(g, 4) ? lang_apply2(g->p, LANG_AND, BASE_BOOL, low, high) : below(g, 2) ? low : high;
    lang_ref index[LANG_MAX_RANK] = {i, zero, zero};
    lang_ref args[3] = {both, lang_read(g->p, tensor, index, t.rank, fill), random_constant(g, t.type)};
    return lang_apply(g->p, LANG_IF, t.type, args, 3);
}

static lang_ref random_if(generator *g) {
    base_type type = random_type(g);
    if (below(g, 3) == 0) {
        return guarded_read(g);
    }
    lang_ref args[3] = {random_condition(g), argument(g, type), argument(g, type)};
    return lang_apply(g->p, LANG_IF, type, args, 3);
}

static lang_ref random_arithmetic(generator *g) {
    static const lang_word any[] = {LANG_ADD, LANG_ADD, LANG_SUB, LANG_MUL, LANG_MUL,
                                    LANG_MIN, LANG_MAX, LANG_DIV, LANG_MOD};
    static const lang_word ints[] = {LANG_DIV,    LANG_MOD,   LANG_TDIV,   LANG_TREM,
                                     LANG_BITAND, LANG_BITOR, LANG_BITXOR, LANG_POW};
    base_type type = random_type(g);
    lang_word w = any[below(g, 7)];
    if (!base_type_is_float(type) && below(g, 2)) {
        w = ints[below(g, 8)];
        if (below(g, 2)) {
            return lang_apply2(g->p, w, type, argument(g, type), random_constant(g, type));
        }
    }
    return lang_apply2(g->p, w, type, argument(g, type), argument(g, type));
}

static lang_ref random_unary(generator *g) {
    base_type type = random_type(g);
    bool is_float = base_type_is_float(type);
    switch (below(g, 6)) {
    case 0:
        return lang_apply1(g->p, LANG_NEG, type, argument(g, type));
    case 1:
        return lang_apply1(g->p, LANG_ABS, type, argument(g, type));
    case 2:
        return is_float ? lang_apply1(g->p, LANG_FLOOR, type, argument(g, type))
                        : lang_apply1(g->p, LANG_BITNOT, type, argument(g, type));
    case 3:
        return is_float ? lang_apply1(g->p, LANG_ISNAN, BASE_BOOL, argument(g, type))
                        : lang_apply1(g->p, LANG_CLZ, BASE_I32, argument(g, type));
    case 4:
        return lang_apply1(g->p, LANG_SAT, type, pick(g));
    default:
        return is_float ? as(g, type, pick(g)) : lang_apply1(g->p, LANG_BITS, BASE_U32, argument(g, BASE_I32));
    }
}

static lang_ref random_fixed(generator *g) {
    base_type type = int_types[below(g, sizeof int_types / sizeof *int_types)];
    switch (below(g, 5)) {
    case 0:
        return lang_apply2(g->p, LANG_SRDHM, BASE_I32, argument(g, BASE_I32), argument(g, BASE_I32));
    case 1:
        return lang_apply2(g->p, LANG_SRDHM16, BASE_I16, argument(g, BASE_I16), argument(g, BASE_I16));
    case 2:
        return lang_apply2(g->p, LANG_RDIVPOT, BASE_I32, argument(g, BASE_I32), argument(g, BASE_I32));
    case 3:
        return lang_apply2(g->p, LANG_SHL, type, argument(g, type), argument(g, int_types[below(g, 8)]));
    default:
        return lang_apply2(g->p, LANG_SHR, type, argument(g, type), argument(g, int_types[below(g, 8)]));
    }
}

/* Closes bound variable v: what has it free leaves the pool. */
static lang_ref reduce_over(generator *g, uint32_t v, lang_ref body) {
    static const lang_reduction ints[] = {LANG_SUM, LANG_SUM, LANG_PROD, LANG_RMAX, LANG_RMIN, LANG_FIRST, LANG_LAST};
    base_type type = (base_type)lang_at(g->p, body)->type;
    lang_reduction r = type == BASE_BOOL ? (below(g, 2) ? LANG_ANY : LANG_ALL) : ints[below(g, 7)];
    lang_ref var = lang_var(g->p, v, g->vars[v].extent);
    lang_ref guard = below(g, 3) == 0 ? random_condition(g) : 0;
    lang_ref otherwise = 0;
    uint64_t bit = UINT64_C(1) << v;
    if (r == LANG_FIRST || r == LANG_LAST) {
        otherwise = random_constant(g, type == BASE_BOOL ? BASE_I32 : type);
    }
    lang_ref out = lang_reduce(g->p, r, type, &var, 1, guard, body, otherwise);
    g->closed |= bit;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        if ((lang_at(g->p, g->pool[i])->free & bit) == 0) {
            g->pool[kept++] = g->pool[i];
        }
    }
    g->n = kept;
    return out;
}

static uint32_t random_stage(generator *g, const char *name) {
    g->n = 0;
    g->closed = 0;
    for (uint32_t v = 0; v < ALL_VARS; v++) {
        g->vars[v] = variable(g->p, "v", (int64_t)(v < OUTPUT_VARS ? 1 + below(g, 4) : 1 + below(g, 3)));
        keep(g, lang_var(g->p, v, g->vars[v].extent));
    }
    keep(g, random_constant(g, BASE_I64));
    uint64_t steps = 6 + below(g, 24);
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t what = below(g, 12);
        lang_ref r = 0;
        if (what < 4) {
            r = random_arithmetic(g);
        } else if (what < 5) {
            r = random_unary(g);
        } else if (what < 6) {
            r = random_fixed(g);
        } else if (what < 8) {
            r = random_read(g);
        } else if (what < 9) {
            r = random_if(g);
        } else if (what < 10) {
            r = random_condition(g);
        } else if (what < 11) {
            r = as(g, random_type(g), pick(g));
        } else {
            uint32_t v = OUTPUT_VARS + (uint32_t)below(g, ALL_VARS - OUTPUT_VARS);
            r = (g->closed >> v & 1) == 0 ? reduce_over(g, v, g->pool[g->n - 1 - below(g, g->n < 4 ? g->n : 4)])
                                          : pick(g);
        }
        keep(g, r);
    }
    lang_ref body = g->pool[g->n - 1];
    for (uint32_t v = OUTPUT_VARS; v < ALL_VARS; v++) {
        uint64_t bit = UINT64_C(1) << v;
        if ((lang_at(g->p, body)->free & bit) != 0) {
            body = reduce_over(g, v, body);
        }
    }
    if ((lang_at(g->p, body)->free >> OUTPUT_VARS) != 0) { /* a guard brought one of them back in */
        body = lang_int(g->p, BASE_I32, 1);
    }
    return add_stage(g->p, name, OUTPUT_VARS, g->vars, ALL_VARS, body);
}

lang_program *random_program(base_arena *arena, uint64_t seed, uint32_t stages, bool floats, const void ***inputs) {
    generator g = {.p = lang_program_new(arena, "random"), .state = seed * 77 + 1, .floats = floats};
    const int64_t dim[3] = {3, 4, 2};
    static const base_type types[] = {BASE_I8, BASE_I32, BASE_U8};
    *inputs = BASE_NEWS(arena, const void *, 2);
    for (uint32_t k = 0; k < 4; k++) {
        base_type type = types[below(&g, 3)];
        uint8_t *data = base_alloc(arena, 24, 8);
        for (uint32_t i = 0; i < 24; i++) {
            base_value v = {.i = (int64_t)(random_next(&g.state) >> (below(&g, 2) ? 0 : 58))};
            base_store(type, data, i, lang_wrap(type, v));
        }
        if (k < 2) {
            (*inputs)[k] = data;
            (void)add_input(g.p, "X", type, 1 + k, dim + k);
        } else {
            (void)add_constant(g.p, "C", type, 1 + k % 2, dim + k % 2, data);
        }
    }
    uint32_t tensor = 0;
    for (uint32_t i = 0; i < stages; i++) {
        tensor = random_stage(&g, "S");
    }
    *BASE_PUSH(arena, &g.p->outputs) = tensor;
    return g.p;
}
