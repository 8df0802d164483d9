/* test_eval_words.c - every word on every type of its class: values by hand from docs/LANGUAGE.md and IEEE 754, and the
 * evaluator's rows, scalars and their mixtures against the definition of the word on one value, at the extremes of each
 * type. */
#include "eval_reference.h"

#include "lang/words.h"

/* ---- values by hand ---- */

typedef struct hand {
    lang_word word;
    base_type type, from; /* from: type of the first argument */
    double a, b, expected;
} hand;

static const double inf = HUGE_VAL;

#define I8_LOW (-128.0)
#define I32_LOW (-2147483648.0)
#define NUM(w, t, a, b, r)                                                                                             \
    { LANG_##w, BASE_##t, BASE_##t, a, b, r }
#define TO(w, t, f, a, r)                                                                                              \
    { LANG_##w, BASE_##t, BASE_##f, a, 0, r }

static const hand hands[] = {
    /* integers wrap */
    NUM(ADD, I8, 127, 1, I8_LOW),
    NUM(ADD, U8, 255, 1, 0),
    NUM(ADD, I4, 7, 1, -8),
    NUM(ADD, U2, 3, 3, 2),
    NUM(SUB, U32, 0, 1, 4294967295.0),
    NUM(SUB, I16, -32768, 1, 32767),
    NUM(MUL, I32, 65536, 65536, 0),
    NUM(MUL, I8, I8_LOW, -1, I8_LOW),
    NUM(NEG, I8, I8_LOW, 0, I8_LOW),
    NUM(NEG, U8, 1, 0, 255),
    NUM(ABS, I8, I8_LOW, 0, I8_LOW),
    NUM(ABS, I32, I32_LOW, 0, I32_LOW),
    NUM(ABS, I16, -5, 0, 5),
    /* division: floor, by zero 0, the least by -1 wraps */
    NUM(DIV, I32, -7, 2, -4),
    NUM(DIV, I32, 7, -2, -4),
    NUM(DIV, I32, 5, 0, 0),
    NUM(DIV, I32, I32_LOW, -1, I32_LOW),
    NUM(DIV, I8, I8_LOW, -1, I8_LOW),
    NUM(DIV, U8, 255, 2, 127),
    NUM(MOD, I32, -7, 3, 2),
    NUM(MOD, I32, 7, -3, -2),
    NUM(MOD, I32, 7, 0, 0),
    NUM(TDIV, I32, -7, 2, -3),
    NUM(TDIV, I16, 7, 0, 0),
    NUM(TDIV, I8, I8_LOW, -1, I8_LOW),
    NUM(TREM, I32, -7, 3, -1),
    NUM(TREM, I32, 7, -3, 1),
    NUM(TREM, I64, 3, 0, 0),
    NUM(POW, I32, 3, 4, 81),
    NUM(POW, I8, 2, 7, I8_LOW),
    NUM(POW, I32, 2, -1, 0),
    NUM(POW, I32, -1, -3, -1),
    NUM(POW, I32, 0, 0, 1),
    NUM(MIN, U8, 200, 3, 3),
    NUM(MAX, U8, 200, 3, 200),
    NUM(MIN, I8, -1, 3, -1),
    /* bits */
    NUM(BITAND, I8, -1, 15, 15),
    NUM(BITOR, U4, 8, 1, 9),
    NUM(BITXOR, I8, -1, 1, -2),
    NUM(BITNOT, U8, 0, 0, 255),
    NUM(BITNOT, I32, 0, 0, -1),
    NUM(BITNOT, U2, 1, 0, 2),
    NUM(SHL, I8, 1, 7, I8_LOW),
    NUM(SHL, I8, 1, 8, 0),
    NUM(SHL, I32, 5, -1, 5),
    NUM(SHL, U16, 65535, 1, 65534),
    NUM(SHR, I8, -128, 3, -16),
    NUM(SHR, I8, -1, 100, -1),
    NUM(SHR, U8, 255, 8, 0),
    NUM(SHR, U8, 255, 4, 15),
    NUM(SHR, I32, 8, -3, 8),
    TO(CLZ, I32, I8, 1, 7),
    TO(CLZ, I32, U16, 0, 16),
    TO(CLZ, I32, I32, -1, 0),
    TO(CLZ, I32, I64, 1, 63),
    TO(CLZ, I32, I4, 1, 3),
    /* fixed point */
    NUM(SRDHM, I32, I32_LOW, I32_LOW, 2147483647.0),
    NUM(SRDHM, I32, 1073741824.0, 1, 1),
    NUM(SRDHM, I32, -1073741824.0, 1, 0),
    NUM(SRDHM, I32, 1000000, 1073741824.0, 500000),
    NUM(SRDHM16, I16, -32768, -32768, 32767),
    NUM(SRDHM16, I16, 16384, 3, 2),
    NUM(RDIVPOT, I32, 5, 1, 3),
    NUM(RDIVPOT, I32, -5, 1, -3),
    NUM(RDIVPOT, I32, -6, 2, -2),
    NUM(RDIVPOT, I32, 7, 0, 7),
    NUM(RDIVPOT, I32, 7, -1, 7),
    NUM(RDIVPOT, I32, 7, 32, 0),
    /* floats: one rounding to the type */
    NUM(ADD, F32, 16777216, 1, 16777216),
    NUM(ADD, F64, 16777216, 1, 16777217),
    NUM(ADD, F16, 2048, 1, 2048),
    NUM(MUL, F16, 256, 256, inf),
    NUM(MUL, BF16, 1.0078125, 1.0078125, 1.015625),
    NUM(DIV, F32, 1, 3, 0x1.555556p-2),
    NUM(DIV, F32, 1, 0, inf),
    NUM(SUB, F32, inf, inf, (double)NAN),
    NUM(MOD, F32, -7, 3, 2),
    NUM(MOD, F32, 7, -3, -2),
    NUM(MOD, F32, 5.5, 2, 1.5),
    NUM(FMOD, F32, -7, 3, -1),
    NUM(FMOD, F64, 7, 0, (double)NAN),
    NUM(POW, F32, 2, 10, 1024),
    NUM(MIN, F32, 0.0, -0.0, -0.0),
    NUM(MAX, F32, -0.0, 0.0, 0.0),
    NUM(MIN, F32, (double)NAN, 1, (double)NAN),
    NUM(MAX, F64, 1, (double)NAN, (double)NAN),
    NUM(NEG, F32, 0.0, 0, -0.0),
    NUM(ABS, F32, -0.0, 0, 0.0),
    NUM(FLOOR, F32, -2.5, 0, -3),
    NUM(CEIL, F32, -2.5, 0, -2),
    NUM(TRUNC, F32, -2.5, 0, -2),
    NUM(RNE, F32, 2.5, 0, 2),
    NUM(RNE, F64, -3.5, 0, -4),
    NUM(RHA, F32, 2.5, 0, 3),
    NUM(RHA, F32, -2.5, 0, -3),
    NUM(SQRT, F32, 2, 0, 0x1.6a09e6p0),
    NUM(SQRT, F32, -1, 0, (double)NAN),
    NUM(RSQRT, F32, 4, 0, 0.5),
    NUM(EXP, F32, 0, 0, 1),
    NUM(EXP, F32, 1, 0, 0x1.5bf0a8p1),
    NUM(EXP, F32, -inf, 0, 0),
    NUM(EXP2, F32, 5, 0, 32),
    NUM(EXPM1, F32, 0, 0, 0),
    NUM(LOG, F32, 1, 0, 0),
    NUM(LOG, F32, 0, 0, -inf),
    NUM(LOG1P, F64, 0, 0, 0),
    NUM(SIN, F32, 0, 0, 0),
    NUM(COS, F32, 0, 0, 1),
    NUM(TAN, F32, 0, 0, 0),
    NUM(ASIN, F64, 2, 0, (double)NAN),
    NUM(ACOS, F32, 1, 0, 0),
    NUM(ATAN, F32, inf, 0, 0x1.921fb6p0),
    NUM(ATAN2, F32, 0, -1, 0x1.921fb6p1),
    NUM(SINH, F32, 0, 0, 0),
    NUM(COSH, F32, 0, 0, 1),
    NUM(TANH, F32, inf, 0, 1),
    NUM(ASINH, F32, 0, 0, 0),
    NUM(ACOSH, F32, 1, 0, 0),
    NUM(ATANH, F32, 1, 0, inf),
    NUM(ERF, F32, inf, 0, 1),
    /* comparisons and predicates */
    {LANG_LT, BASE_BOOL, BASE_F32, (double)NAN, 1, 0},
    {LANG_EQ, BASE_BOOL, BASE_F32, (double)NAN, (double)NAN, 0},
    {LANG_EQ, BASE_BOOL, BASE_F32, 0.0, -0.0, 1},
    {LANG_LE, BASE_BOOL, BASE_I8, -1, 1, 1},
    {LANG_LT, BASE_BOOL, BASE_U8, 255, 1, 0},
    {LANG_ISNAN, BASE_BOOL, BASE_F16, (double)NAN, 0, 1},
    {LANG_ISINF, BASE_BOOL, BASE_F32, -inf, 0, 1},
    {LANG_ISINF, BASE_BOOL, BASE_F32, 1, 0, 0},
    /* conversions */
    TO(CAST, I8, I32, 300, 44),
    TO(CAST, U8, I32, -1, 255),
    TO(CAST, I32, F32, -2.9, -2),
    TO(CAST, I32, F32, 3e9, 2147483647.0),
    TO(CAST, I32, F32, (double)NAN, 0),
    TO(CAST, U8, F32, -5, 0),
    TO(CAST, I64, F64, inf, 9223372036854775807.0),
    TO(CAST, U64, F64, -1, 0),
    TO(CAST, BOOL, F32, 0.5, 1),
    TO(CAST, BOOL, F32, -0.0, 0),
    TO(CAST, BOOL, I8, -3, 1),
    TO(CAST, F32, I32, 16777217, 16777216),
    TO(CAST, F16, I32, 65520, inf),
    TO(CAST, F16, F32, 1.00048828125, 1),
    TO(CAST, F32, U8, 255, 255),
    TO(CAST, I4, I8, 8, -8),
    TO(CAST, F64, BOOL, 1, 1),
    TO(SAT, I8, I32, 300, 127),
    TO(SAT, I8, I32, -300, I8_LOW),
    TO(SAT, U8, I32, -3, 0),
    TO(SAT, I8, F32, 1e9, 127),
    TO(SAT, I8, F32, (double)NAN, 0),
    TO(SAT, F16, F32, 1e9, 65504),
    TO(SAT, F16, F32, -inf, -65504),
    TO(SAT, F8E4M3FN, F32, 1000, 448),
    TO(SAT, U4, I8, 77, 15),
    TO(BITS, I32, F32, 1, 1065353216.0),
    TO(BITS, F32, I32, 1065353216.0, 1),
    TO(BITS, U16, F16, 1, 15360),
    TO(BITS, I8, U8, 255, -1),
    TO(BITS, U32, F32, (double)NAN, 2143289344.0),
};

static base_value held(base_type t, double v) {
    base_value r;
    if (base_type_is_float(t)) {
        r.f = v;
    } else if (v >= 9.2e18) {
        r.u = t == BASE_I64 ? (uint64_t)INT64_MAX : UINT64_MAX;
    } else {
        r.i = (int64_t)v;
    }
    return r;
}

static void words_by_hand(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof hands / sizeof hands[0]; k++) {
        const hand *h = &hands[k];
        base_value args[2] = {held(h->from, h->a), held(h->from, h->b)};
        base_value got = lang_word_value(h->word, h->type, h->from, args);
        if (!eval_reference_same(h->type, got, held(h->type, h->expected))) {
            fail_msg("%s on %s (%g, %g): %g or %lld, want %g", lang_word_name(h->word), base_type_name(h->from), h->a,
                     h->b, got.f, (long long)got.i, h->expected);
        }
    }
}

/* ---- rows against single values ---- */

enum { VALUES = 14 };

static void extremes(base_type t, base_value *v) {
    static const double reals[VALUES] = {0.0, -0.0, 1,      -1,     0.5,   -2.5,     1.75,
                                         6,   448,  -65504, 3.0e38, 1e-45, HUGE_VAL, (double)NAN};
    int64_t lo = 0;
    uint64_t hi = 1;
    if (base_type_is_float(t)) {
        for (int k = 0; k < VALUES; k++) {
            v[k].f = base_round_to(t, reals[k]);
        }
        return;
    }
    base_type_range(t, &lo, &hi);
    const int64_t ints[VALUES] = {0, 1,  -1, 2,       lo,  lo + 1,    (int64_t)hi, (int64_t)(hi - 1),
                                  3, -7, 31, 1 << 30, 100, -(1 << 30)};
    for (int k = 0; k < VALUES; k++) {
        v[k] = lang_wrap(t, (base_value){.i = ints[k]});
    }
}

typedef struct word_case {
    lang_word word;
    base_type type, a, b; /* b BASE_NONE: one argument */
} word_case;

/* Y[i<14, j<14] = w(X[i], Z[j]); Y[i] = w(X[i], Z[j0]); Y[j] = w(X[i0], Z[j]); all scalars. */
static void compare_rows(base_arena *parent, const word_case *w) {
    base_arena *arena = base_arena_new(base_arena_memory(parent));
    lang_program *p = lang_program_new(arena, "words");
    int64_t dim[2] = {VALUES, VALUES};
    uint32_t x = eval_add_input(p, "X", w->a, 1, dim),
             z = eval_add_input(p, "Z", w->b != BASE_NONE ? w->b : w->a, 1, dim);
    base_value xs[VALUES], zs[VALUES];
    uint64_t xd[VALUES] = {0}, zd[VALUES] = {0};
    extremes(w->a, xs);
    extremes(w->b != BASE_NONE ? w->b : w->a, zs);
    for (uint64_t k = 0; k < VALUES; k++) {
        base_store(w->a, xd, k, xs[k]);
        base_store(w->b != BASE_NONE ? w->b : w->a, zd, k, zs[k]);
    }
    for (uint32_t form = 0; form < 4; form++) {
        uint32_t rank = form == 0 ? 2 : 1;
        int64_t extent[2] = {VALUES, form == 0 ? VALUES : 1};
        lang_ref i = form == 2 ? lang_int(p, BASE_I64, 4) : eval_const_var(p, 0, extent[0]);
        lang_ref j = form == 0   ? eval_const_var(p, 1, extent[1])
                     : form == 2 ? eval_const_var(p, 0, extent[0])
                                 : lang_int(p, BASE_I64, 5);
        if (form == 3) { /* a scalar inside a stage without rows */
            i = lang_int(p, BASE_I64, 6);
            rank = 0;
        }
        lang_ref args[2] = {lang_read(p, x, &i, 1, 0), lang_read(p, z, &j, 1, 0)};
        lang_ref body = lang_apply(p, w->word, w->type, args, w->b != BASE_NONE ? 2 : 1);
        *BASE_PUSH(arena, &p->outputs) = eval_add_stage(p, "Y", w->type, rank, extent, body);
    }
    base_diags d = {.arena = arena};
    lang_code *code = lang_compile(arena, p, LANG_EVAL_EXACT, &d);
    lang_result results[4] = {{0}};
    for (int k = 0; k < 4; k++) {
        results[k].data = base_alloc(arena, VALUES * VALUES * 8, 1);
    }
    assert_int_equal(lang_run(code, arena, (const void *const[]){xd, zd}, results, &d), BASE_OK);
    for (uint32_t form = 0; form < 4; form++) {
        uint64_t n = form == 0 ? VALUES * VALUES : form == 3 ? 1 : VALUES;
        for (uint64_t e = 0; e < n; e++) {
            uint64_t i = form == 0 ? e / VALUES : form == 1 ? e : form == 2 ? 4 : 6;
            uint64_t j = form == 0 ? e % VALUES : form == 2 ? e : 5;
            base_value args[2] = {xs[i], zs[j]}, want = lang_word_value(w->word, w->type, w->a, args);
            base_value got = base_load(w->type, results[form].data, e);
            if (!eval_reference_same(w->type, got, want)) {
                fail_msg("%s %s(%s %llx %g, %llx %g) form %u: %llx %g, want %llx %g", lang_word_name(w->word),
                         base_type_name(w->type), base_type_name(w->a), (unsigned long long)args[0].u, args[0].f,
                         (unsigned long long)args[1].u, args[1].f, form, (unsigned long long)got.u, got.f,
                         (unsigned long long)want.u, want.f);
            }
        }
    }
    base_arena_free(arena);
}

static bool in_class(char class, base_type t) {
    bool real = base_type_is_float(t), integer = base_type_is_int(t);
    switch (class) {
    case 'n':
    case 'c':
        return real || integer;
    case 'f':
    case 'p':
        return real;
    case 'i':
    case 's':
    case 'k':
        return integer;
    case 'x':
        return t == BASE_I32;
    case 'h':
        return t == BASE_I16;
    case 'l':
        return t == BASE_BOOL;
    default:
        return true;
    }
}

static void every_word_on_rows(void **state) {
    eval_fixture *f = *state;
    unsigned count = 0;
    for (int w = 0; w < LANG_WORD_COUNT; w++) {
        char class = lang_word_class((lang_word)w);
        for (int t = BASE_NONE + 1; t < BASE_TYPE_COUNT; t++) {
            base_type type = (base_type)t;
            if (class == '?' || !in_class(class, type)) {
                continue;
            }
            word_case c = {(lang_word)w, type, type, lang_word_arity((lang_word)w) > 1 ? type : BASE_NONE};
            if (class == 'c' || class == 'p' || class == 'l') {
                c.type = BASE_BOOL;
            } else if (class == 'k') {
                c.type = BASE_I32;
            }
            if (class == 'T') {
                for (int from = BASE_NONE + 1; from < BASE_TYPE_COUNT; from++) {
                    c.a = (base_type)from;
                    bool bits = w != LANG_BITS ||
                                (base_type_bits(c.a) == base_type_bits(type) && type != BASE_BOOL && c.a != BASE_BOOL);
                    if (c.a != type && bits) {
                        compare_rows(f->arena, &c);
                        count++;
                    }
                }
                continue;
            }
            compare_rows(f->arena, &c);
            count++;
            if (class == 's') { /* counts of other types */
                c.b = BASE_I64;
                compare_rows(f->arena, &c);
                c.b = BASE_U8;
                compare_rows(f->arena, &c);
            }
        }
    }
    assert_true(count > 1000);
}

/* The identities of max and min: infinities, or the ends of the types that have none. */
static void empty_reductions_fold(void **state) {
    eval_fixture *f = *state;
    static const struct {
        lang_reduction op;
        base_type type;
        double expected;
    } rows[] = {{LANG_RMAX, BASE_F8E4M3FN, -448}, {LANG_RMIN, BASE_F4E2M1, 6}, {LANG_RMAX, BASE_F8E5M2, -HUGE_VAL},
                {LANG_RMIN, BASE_F32, HUGE_VAL},  {LANG_SUM, BASE_F16, 0},     {LANG_PROD, BASE_BF16, 1}};
    lang_program *p = lang_program_new(f->arena, "empty");
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        lang_ref var = eval_const_var(p, 0, 0), one = lang_float(p, rows[k].type, 1);
        lang_ref r = lang_reduce(p, rows[k].op, rows[k].type, &var, 1, 0, one, 0);
        assert_int_equal(lang_at(p, r)->kind, LANG_CONST);
        assert_true(lang_at(p, r)->value.f == rows[k].expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_by_hand),
        cmocka_unit_test_setup_teardown(every_word_on_rows, eval_set_up, eval_tear_down),
        cmocka_unit_test_setup_teardown(empty_reductions_fold, eval_set_up, eval_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
