/* test_eval_random.c - the evaluator against the interpreter on random programs: every output the same bits, or an
 * error from both. */
#include <stdio.h>

#include "eval_reference.h"

enum { MAX_TENSORS = 8 };

typedef struct generator {
    eval_random rnd;
    lang_program *p;
    base_arena *arena;
    uint32_t tensors[MAX_TENSORS];
    uint32_t tensor_count;
    lang_ref vars[LANG_MAX_VARS]; /* in scope */
    uint32_t var_count, next_var;
    bool unsafe; /* reads without fill may leave their tensor */
} generator;

static const base_type types[] = {BASE_I32, BASE_F32,  BASE_I64, BASE_I8,       BASE_U8,     BASE_F64,   BASE_I16,
                                  BASE_U32, BASE_BOOL, BASE_F16, BASE_U64,      BASE_I4,     BASE_U16,   BASE_BF16,
                                  BASE_U4,  BASE_I2,   BASE_U2,  BASE_F8E4M3FN, BASE_F8E5M2, BASE_F4E2M1};
enum { TYPES = sizeof types / sizeof types[0] };

static uint64_t below(generator *g, uint64_t n) {
    return eval_random_below(&g->rnd, n);
}

/* Mostly the first few types. */
static base_type any_type(generator *g) {
    return types[below(g, below(g, 3) == 0 ? TYPES : 8)];
}

static lang_ref expression(generator *g, base_type t, int depth);

static lang_ref i64(generator *g, int64_t v) {
    return lang_int(g->p, BASE_I64, v);
}

static lang_ref op2(generator *g, lang_word w, lang_ref a, lang_ref b) {
    return lang_apply2(g->p, w, BASE_I64, a, b);
}

static lang_ref index_expression(generator *g, int64_t extent, int depth) {
    lang_ref v = g->var_count > 0 ? g->vars[below(g, g->var_count)] : i64(g, (int64_t)below(g, 4));
    switch (below(g, 9)) {
    case 0:
        return i64(g, (int64_t)below(g, (uint64_t)extent + 1));
    case 1:
        return op2(g, LANG_ADD, v, i64(g, (int64_t)below(g, 5) - 2));
    case 2:
        return op2(g, LANG_SUB, op2(g, LANG_MUL, v, i64(g, 2)), i64(g, (int64_t)below(g, 3)));
    case 3:
        return op2(g, LANG_DIV, v, i64(g, 1 + (int64_t)below(g, 4)));
    case 4:
        return op2(g, LANG_MOD, v, i64(g, 1 + (int64_t)below(g, 4)));
    case 5:
        return op2(g, LANG_SUB, i64(g, extent - 1), v);
    case 6:
        if (g->var_count > 1) {
            return op2(g, LANG_ADD, v, g->vars[below(g, g->var_count)]);
        }
        return v;
    case 7:
        if (depth > 0) {
            base_type t = any_type(g);
            return lang_apply1(g->p, LANG_CAST, BASE_I64, expression(g, t, depth - 1));
        }
        return v;
    default:
        return v;
    }
}

static lang_ref read(generator *g, uint32_t tensor, int depth) {
    const lang_tensor t = g->p->tensors.at[tensor];
    lang_ref index[LANG_MAX_RANK];
    bool fill = below(g, 3) != 0, flat = t.rank > 0 && below(g, 6) == 0;
    int64_t elements = 1;
    for (uint32_t k = 0; k < t.rank; k++) {
        elements *= t.dim[k];
    }
    bool clamp = !fill && !(g->unsafe && below(g, 4) == 0);
    fill = fill || elements == 0;
    for (uint32_t k = 0; k < (flat ? 1 : t.rank); k++) {
        int64_t extent = flat ? elements : t.dim[k];
        index[k] = index_expression(g, extent, depth);
        if (clamp && extent > 0) {
            index[k] = op2(g, LANG_MAX, op2(g, LANG_MIN, index[k], i64(g, extent - 1)), i64(g, 0));
        }
    }
    lang_ref f = fill ? expression(g, t.type, below(g, 3) == 0 ? depth - 1 : 0) : 0;
    return flat ? lang_read_flat(g->p, tensor, index[0], f) : lang_read(g->p, tensor, index, t.rank, f);
}

static lang_ref condition(generator *g, int depth) {
    switch (below(g, 6)) {
    case 0:
        return lang_apply2(g->p, LANG_AND, BASE_BOOL, condition(g, depth - 1), condition(g, depth - 1));
    case 1:
        return lang_apply2(g->p, LANG_OR, BASE_BOOL, condition(g, depth - 1), condition(g, depth - 1));
    case 2:
        return lang_apply1(g->p, LANG_NOT, BASE_BOOL, condition(g, depth - 1));
    case 3:
    case 4: {
        static const lang_word words[] = {LANG_LT, LANG_LE, LANG_EQ};
        return lang_apply2(g->p, words[below(g, 3)], BASE_BOOL, index_expression(g, 5, depth - 1),
                           index_expression(g, 5, 0));
    }
    default: {
        static const lang_word words[] = {LANG_LT, LANG_LE, LANG_EQ};
        base_type t = any_type(g);
        return lang_apply2(g->p, words[below(g, 3)], BASE_BOOL, expression(g, t, depth - 1),
                           expression(g, t, depth - 1));
    }
    }
}

static lang_ref reduction(generator *g, base_type t, int depth) {
    uint32_t n = 1 + (uint32_t)below(g, 3), outer = g->var_count, first = g->next_var;
    lang_ref vars[3];
    lang_reduction op = t == BASE_BOOL ? (below(g, 2) == 0 ? LANG_ANY : LANG_ALL) : (lang_reduction)below(g, 4);
    if (below(g, 5) == 0) {
        op = below(g, 2) == 0 ? LANG_FIRST : LANG_LAST;
    }
    if (g->next_var + n > 40) {
        return lang_const(g->p, t, eval_random_value(&g->rnd, t));
    }
    for (uint32_t k = 0; k < n; k++) {
        lang_ref extent;
        switch (below(g, 6)) {
        case 0:
            extent = index_expression(g, 4, depth - 1);
            extent = op2(g, LANG_MIN, extent, i64(g, 6));
            break;
        case 1:
            extent = i64(g, below(g, 12) == 0 ? 260 : (int64_t)below(g, 2));
            break;
        default:
            extent = i64(g, 1 + (int64_t)below(g, 5));
            break;
        }
        vars[k] = lang_var(g->p, g->next_var++, extent);
        g->vars[g->var_count++] = vars[k];
    }
    lang_ref guard = below(g, 2) == 0 ? condition(g, depth - 1) : 0;
    lang_ref body = expression(g, t, depth - 1);
    g->var_count = outer;
    bool needs_else = op == LANG_FIRST || op == LANG_LAST || below(g, 4) == 0;
    lang_ref otherwise = needs_else ? expression(g, t, below(g, 2) == 0 ? depth - 1 : 0) : 0;
    if (below(g, 2) == 0) {
        g->next_var = first; /* numbers may be used again beside, not inside */
    }
    return lang_reduce(g->p, op, t, vars, n, guard, body, otherwise);
}

static lang_ref word(generator *g, base_type t, int depth) {
    static const lang_word numeric[] = {LANG_ADD, LANG_SUB, LANG_MUL, LANG_DIV, LANG_MOD, LANG_MIN, LANG_MAX, LANG_POW};
    static const lang_word integer[] = {LANG_TDIV, LANG_TREM, LANG_BITAND, LANG_BITOR, LANG_BITXOR, LANG_SHL, LANG_SHR};
    static const lang_word real[] = {LANG_FLOOR, LANG_CEIL, LANG_TRUNC, LANG_RNE,  LANG_RHA,
                                     LANG_SQRT,  LANG_EXP,  LANG_TANH,  LANG_RSQRT};
    uint64_t kind = below(g, 10);
    if (kind < 5) {
        return lang_apply2(g->p, numeric[below(g, kind == 0 ? 8 : 3)], t, expression(g, t, depth - 1),
                           expression(g, t, depth - 1));
    }
    if (kind == 5) {
        return lang_apply1(g->p, below(g, 2) == 0 ? LANG_NEG : LANG_ABS, t, expression(g, t, depth - 1));
    }
    if (kind < 8) {
        if (base_type_is_float(t)) {
            return lang_apply1(g->p, real[below(g, 9)], t, expression(g, t, depth - 1));
        }
        if (t == BASE_I32 && below(g, 2) == 0) {
            return lang_apply2(g->p, below(g, 2) == 0 ? LANG_SRDHM : LANG_RDIVPOT, t, expression(g, t, depth - 1),
                               expression(g, t, depth - 1));
        }
        return lang_apply2(g->p, integer[below(g, 7)], t, expression(g, t, depth - 1), expression(g, t, depth - 1));
    }
    base_type from = any_type(g);
    return lang_apply1(g->p, kind == 8 && t != BASE_BOOL ? LANG_SAT : LANG_CAST, t, expression(g, from, depth - 1));
}

static lang_ref expression(generator *g, base_type t, int depth) {
    if (depth <= 0 || below(g, 8) == 0) {
        if (t == BASE_I64 && g->var_count > 0 && below(g, 2) == 0) {
            return g->vars[below(g, g->var_count)];
        }
        return lang_const(g->p, t, eval_random_value(&g->rnd, t));
    }
    switch (below(g, 7)) {
    case 0:
    case 1:
    case 2: {
        uint32_t tensor = g->tensors[below(g, g->tensor_count)];
        lang_ref r = read(g, tensor, depth - 1);
        base_type from = g->p->tensors.at[tensor].type;
        return from == t ? r : lang_apply1(g->p, LANG_CAST, t, r);
    }
    case 3:
        return lang_apply(
            g->p, LANG_IF, t,
            (lang_ref[]){condition(g, depth - 1), expression(g, t, depth - 1), expression(g, t, depth - 1)}, 3);
    case 4:
        return reduction(g, t, depth);
    default:
        return t == BASE_BOOL ? condition(g, depth - 1) : word(g, t, depth);
    }
}

static uint32_t random_shape(generator *g, int64_t *dim, uint64_t points) {
    static const int64_t large[] = {255, 256, 257, 513};
    uint32_t rank = (uint32_t)below(g, 4);
    int64_t n = 1;
    for (uint32_t k = 0; k < rank; k++) {
        dim[k] = below(g, 40) == 0 ? 0 : below(g, 12) == 0 ? large[below(g, 4)] : 1 + (int64_t)below(g, 7);
        while ((uint64_t)(n * dim[k]) > points) {
            dim[k] = 1 + dim[k] / 2;
            n = dim[k] == 1 ? 1 : n;
            if (dim[k] <= 2) {
                dim[k] = 1;
                break;
            }
        }
        n *= dim[k];
    }
    return rank;
}

static void *random_contents(generator *g, const lang_tensor *t) {
    uint64_t n = 1, bytes = 0;
    for (uint32_t k = 0; k < t->rank; k++) {
        n *= (uint64_t)t->dim[k];
    }
    assert_true(base_type_bytes(t->type, n, &bytes));
    void *data = base_alloc(g->arena, (size_t)bytes + 8, 1);
    for (uint64_t e = 0; e < n; e++) {
        base_store(t->type, data, e, eval_random_value(&g->rnd, t->type));
    }
    return data;
}

/* Exact evaluation is one of the implementations that a bound allows. */
static void check_bounds(generator *g, const reference *r, const void *const *inputs, uint32_t stages, uint64_t seed) {
    base_diags d = {.arena = g->arena};
    lang_result results[3] = {{0}};
    for (uint32_t k = 0; k < stages; k++) {
        size_t n = (size_t)eval_reference_elements(r, g->p->outputs.at[k]);
        results[k].value = base_alloc(g->arena, n + 1, sizeof(double));
        results[k].bound = base_alloc(g->arena, n + 1, sizeof(double));
    }
    lang_code *code = lang_compile(g->arena, g->p, LANG_EVAL_BOUND, &d);
    assert_non_null(code);
    assert_int_equal(lang_run(code, g->arena, inputs, results, &d), BASE_OK);
    for (uint32_t k = 0; k < stages; k++) {
        uint32_t id = g->p->outputs.at[k];
        base_type t = g->p->tensors.at[id].type;
        for (uint64_t e = 0; e < eval_reference_elements(r, id); e++) {
            base_value v = r->contents[id][e];
            double want = base_type_is_float(t) ? v.f : base_type_is_signed(t) ? (double)v.i : (double)v.u;
            double value = results[k].value[e], bound = results[k].bound[e];
            bool inside = isinf(bound) || want == value || (isnan(want) && isnan(value)) || fabs(want - value) <= bound;
            if (!inside || isnan(bound)) {
                base_text text = {.arena = g->arena};
                lang_print(&text, g->p);
                fail_msg("seed %llu: output %u element %llu: %.17g, value %.17g, bound %g\n%s",
                         (unsigned long long)seed, k, (unsigned long long)e, want, value, bound, text.at);
            }
        }
    }
}

/* Some elements by need are those of the whole run. */
static void check_elements(generator *g, const reference *r, const lang_code *code, const void *const *inputs,
                           uint32_t stages) {
    base_diags d = {.arena = g->arena};
    for (uint32_t k = 0; k < stages; k++) {
        uint32_t id = g->p->outputs.at[k];
        base_type t = g->p->tensors.at[id].type;
        uint64_t n = eval_reference_elements(r, id), element[5], values[5] = {0};
        if (n == 0) {
            continue;
        }
        for (int i = 0; i < 5; i++) {
            element[i] = i == 0 ? n - 1 : below(g, n);
        }
        assert_int_equal(lang_run_elements(code, g->arena, inputs, k, element, 5, values, NULL, NULL, &d), BASE_OK);
        for (int i = 0; i < 5; i++) {
            assert_true(eval_reference_same(t, base_load(t, values, (uint64_t)i), r->contents[id][element[i]]));
        }
    }
}

static void one_program(base_arena *arena, base_memory *memory, uint64_t seed, bool unsafe, unsigned *errors) {
    generator g = {.rnd = {seed}, .arena = arena, .unsafe = unsafe};
    const void *inputs[3];
    int64_t dim[LANG_MAX_RANK];
    (void)memory;
    g.p = lang_program_new(arena, "random");
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t rank = random_shape(&g, dim, 1000);
        g.tensors[g.tensor_count++] = eval_add_input(g.p, "X", any_type(&g), rank, dim);
        inputs[k] = random_contents(&g, &g.p->tensors.at[g.tensors[k]]);
    }
    uint32_t stages = 1 + (uint32_t)below(&g, 3);
    for (uint32_t k = 0; k < stages; k++) {
        uint32_t rank = random_shape(&g, dim, 800);
        base_type t = any_type(&g);
        g.var_count = rank;
        g.next_var = rank;
        for (uint32_t i = 0; i < rank; i++) {
            g.vars[i] = eval_const_var(g.p, i, dim[i]);
        }
        lang_ref body = expression(&g, t, 5);
        if (body == 0) {
            return;
        }
        uint32_t id = eval_add_stage(g.p, "Y", t, rank, dim, body);
        g.tensors[g.tensor_count++] = id;
        *BASE_PUSH(arena, &g.p->outputs) = id;
    }
    reference r = {.limit = 3000000};
    eval_reference_run(&r, arena, g.p, inputs);
    if (r.limit_hit) {
        return;
    }
    base_diags d = {.arena = arena};
    lang_result results[3] = {{0}};
    for (uint32_t k = 0; k < stages; k++) {
        uint64_t bytes = 0;
        uint64_t n = 1;
        const lang_tensor *t = &g.p->tensors.at[g.p->outputs.at[k]];
        for (uint32_t i = 0; i < t->rank; i++) {
            n *= (uint64_t)t->dim[i];
        }
        assert_true(base_type_bytes(t->type, n, &bytes));
        results[k].data = base_alloc(arena, (size_t)bytes + 8, 1);
    }
    lang_code *code = lang_compile(arena, g.p, LANG_EVAL_EXACT, &d);
    assert_non_null(code);
    base_status status = lang_run(code, arena, inputs, results, &d);
    if (r.failed != (status != BASE_OK)) {
        base_text text = {.arena = arena};
        lang_print(&text, g.p);
        fail_msg("seed %llu: reference %s, evaluator %s\n%s", (unsigned long long)seed, r.failed ? "fails" : "runs",
                 status == BASE_OK ? "runs" : d.list.at[0].message, text.at);
    }
    if (r.failed) {
        ++*errors;
        return;
    }
    for (uint32_t k = 0; k < stages; k++) {
        uint32_t id = g.p->outputs.at[k];
        base_type t = g.p->tensors.at[id].type;
        for (uint64_t e = 0; e < eval_reference_elements(&r, id); e++) {
            base_value got = base_load(t, results[k].data, e), want = r.contents[id][e];
            if (!eval_reference_same(t, got, want)) {
                base_text text = {.arena = arena};
                lang_print(&text, g.p);
                fail_msg("seed %llu: output %u element %llu: %llx (%g), want %llx (%g)\n%s", (unsigned long long)seed,
                         k, (unsigned long long)e, (unsigned long long)got.u, got.f, (unsigned long long)want.u, want.f,
                         text.at);
            }
        }
    }
    if (!unsafe) {
        check_bounds(&g, &r, inputs, stages, seed);
        check_elements(&g, &r, code, inputs, stages);
    }
}

static void run_many(void **state, uint64_t first, unsigned count, bool unsafe, unsigned *errors) {
    eval_fixture *f = *state;
    for (unsigned k = 0; k < count; k++) {
        base_arena *arena = base_arena_new(&f->memory);
        one_program(arena, &f->memory, (first + k) * UINT64_C(0x9e3779b97f4a7c15) + 1, unsafe, errors);
        base_arena_free(arena);
    }
}

static void random_programs(void **state) {
    unsigned errors = 0, count = 3000;
    const char *more = getenv("BURIN_RANDOM_PROGRAMS");
    if (more != NULL) {
        count = (unsigned)strtoul(more, NULL, 10);
    }
    run_many(state, 1, count, false, &errors);
    assert_int_equal(errors, 0);
}

static void random_programs_that_may_fail(void **state) {
    unsigned errors = 0;
    run_many(state, 1000000, 1000, true, &errors);
    assert_true(errors > 20); /* else the reads that leave their tensors were not tried */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_programs, eval_set_up, eval_tear_down),
        cmocka_unit_test_setup_teardown(random_programs_that_may_fail, eval_set_up, eval_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
