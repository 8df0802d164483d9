/* test_words.c - every word on every type, at extremes, emitted, compiled and compared with the word's definition on
 * one value.
 * ctest: timeout=600
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "targets/c/module.h"

static const struct {
    const char *name;
    unsigned arity;
    char klass;
} words[LANG_WORD_COUNT] = {
#define LANG_WORD(E, spelling, arity, class) {spelling, arity, class},
#include "lang/words.def"
#undef LANG_WORD
};

enum { MAX_VALUES = 20 };

static size_t extremes(base_type t, base_value *v) {
    size_t n = 0;
    if (base_type_is_float(t)) {
        static const double list[] = {0.0,  -0.0,  1,    -1,     0.5,  -0.5,  1.5,      2.5,       -2.5, 3,
                                      7.25, -7.25, 1e-3, 100.75, 1e10, -1e10, HUGE_VAL, -HUGE_VAL, NAN};
        for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
            v[n++].f = base_round_to(t, list[k]);
        }
        return n;
    }
    int64_t lo;
    uint64_t hi;
    base_type_range(t, &lo, &hi);
    static const int64_t list[] = {0, 1, 2, 3, 5, 7, 31, 33, 100, -1, -2, -3, -7, -100};
    v[n++].i = lo;
    v[n++].i = lo + 1;
    v[n++].u = hi;
    v[n++].u = hi - 1;
    v[n++].u = hi / 2;
    v[n++].i = lo / 2;
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        if ((list[k] < 0 ? list[k] >= lo : (uint64_t)list[k] <= hi)) {
            v[n++].i = list[k];
        }
    }
    return n;
}

typedef struct word_case {
    lang_word word;
    base_type type, result;
    uint64_t count;
    base_value *arg[2];
    size_t output;
} word_case;

typedef struct word_cases {
    test_module m;
    BASE_VEC(word_case) list;
} word_cases;

/* Y[i] = word(A[i], B[i]) over all pairs of extremes. */
static void add(word_cases *w, lang_word word, base_type type, base_type result) {
    base_arena *arena = w->m.arena;
    unsigned arity = words[word].arity;
    base_value v[MAX_VALUES];
    size_t n = extremes(type, v), total = arity == 2 ? n * n : n;
    word_case c = {.word = word, .type = type, .result = result, .count = total};
    void *data[2] = {0};
    const void *inputs[2];
    lang_program *p = lang_program_new(arena, words[word].klass == 'T' ? "convert" : "word");
    lang_ref extent = lang_int(p, BASE_I64, (int64_t)total), index = lang_var(p, 0, extent), args[2] = {0};
    for (unsigned k = 0; k < arity; k++) {
        lang_tensor t = {.name = "A", .type = type, .rank = 1, .dim = {(int64_t)total}, .kind = LANG_INPUT, .input = k};
        uint32_t tensor = lang_tensor_add(p, &t);
        *BASE_PUSH(arena, &p->inputs) = tensor;
        args[k] = lang_read(p, tensor, &index, 1, 0);
        c.arg[k] = BASE_NEWS(arena, base_value, total);
        data[k] = base_alloc(arena, total + 1, 8);
        for (size_t i = 0; i < total; i++) {
            c.arg[k][i] = arity == 2 ? v[k == 0 ? i / n : i % n] : v[i];
            base_store(type, data[k], i, c.arg[k][i]);
        }
        inputs[k] = data[k];
    }
    lang_tensor y = {.name = "Y", .type = result, .rank = 1, .dim = {(int64_t)total}, .kind = LANG_STAGE};
    uint32_t output = lang_tensor_add(p, &y);
    lang_variable *var = BASE_NEW(arena, lang_variable);
    *var = (lang_variable){"i", extent, (int64_t)total};
    lang_stage s = {.tensor = output, .rank = 1, .var_count = 1, .vars = var, .rec = -1};
    s.body = lang_apply(p, word, result, args, arity);
    *BASE_PUSH(arena, &p->stages) = s;
    *BASE_PUSH(arena, &p->outputs) = output;
    c.output = test_module_add(&w->m, p, inputs, NULL);
    *BASE_PUSH(arena, &w->list) = c;
}

/* Words that C's libm computes: faithful to some units in the last place, not to the bit. */
static bool is_approximate(lang_word w) {
    return (w >= LANG_EXP && w <= LANG_ERF && w != LANG_SQRT) || w == LANG_POW;
}

static double unit_of(base_type t) {
    switch (t) {
    case BASE_F64:
        return DBL_EPSILON;
    case BASE_F32:
        return FLT_EPSILON;
    case BASE_F16:
        return 0x1p-10;
    case BASE_BF16:
        return 0x1p-7;
    case BASE_F8E4M3FN:
    case BASE_F8E4M3FNUZ:
        return 0x1p-3;
    case BASE_F8E5M2:
    case BASE_F8E5M2FNUZ:
        return 0x1p-2;
    case BASE_F8E8M0:
        return 1;
    default:
        return 0.5;
    }
}

static bool agrees(const word_case *c, base_value got, base_value want) {
    if (!base_type_is_float(c->result)) {
        return got.u == want.u;
    }
    if (want.f != want.f) {
        return got.f != got.f;
    }
    if (is_approximate(c->word)) {
        /* 4 units, near the smallest numbers absolute, at the largest also the rounding to infinity */
        return got.f == want.f || fabs(got.f - want.f) <= 4 * unit_of(c->result) * fabs(want.f) + 1e-37;
    }
    return got.f == want.f && (got.f != 0 || signbit(got.f) == signbit(want.f));
}

static void compare(word_cases *w) {
    size_t bad = 0;
    for (size_t k = 0; k < w->list.n; k++) {
        const word_case *c = &w->list.at[k];
        for (uint64_t i = 0; i < c->count; i++) {
            base_value args[2] = {c->arg[0][i], c->arg[1] != NULL ? c->arg[1][i] : (base_value){0}};
            base_value want = lang_word_value(c->word, c->result, c->type, args);
            base_value got = base_load(c->result, w->m.outputs.at[c->output], i);
            if (!agrees(c, got, want) && bad++ < 20) {
                print_error("%s: %s -> %s of %lld %lld (%g %g): got %lld (%g), want %lld (%g)\n", words[c->word].name,
                            base_type_name(c->type), base_type_name(c->result), (long long)args[0].i,
                            (long long)args[1].i, args[0].f, args[1].f, (long long)got.i, got.f, (long long)want.i,
                            want.f);
            }
        }
    }
    assert_int_equal(bad, 0);
}

static void run_all(word_cases *w) {
    test_module_emit(&w->m, NULL);
    assert_int_equal(test_module_run(&w->m, "gcc -std=c99 -O0 -fsanitize=undefined -fno-sanitize-recover=all"), 0);
    compare(w);
    assert_int_equal(test_module_run(&w->m, "gcc -std=c99 -O2 -march=native"), 0);
    compare(w);
    assert_true(w->list.n > 100);
    test_module_free(&w->m);
}

static bool takes(char klass, base_type t) {
    bool real = base_type_is_float(t), integer = base_type_is_int(t);
    switch (klass) {
    case 'n':
        return real || integer;
    case 'f':
    case 'p':
        return real;
    case 'i':
    case 's':
    case 'k':
        return integer;
    case 'c':
        return true;
    case 'l':
        return t == BASE_BOOL;
    case 'x':
        return t == BASE_I32;
    case 'h':
        return t == BASE_I16;
    default:
        return false;
    }
}

static void every_word_on_every_type(void **state) {
    (void)state;
    word_cases w = {0};
    test_module_init(&w.m, true);
    for (int k = 0; k < LANG_WORD_COUNT; k++) {
        for (int t = 1; t < BASE_TYPE_COUNT; t++) {
            char klass = words[k].klass;
            if (takes(klass, (base_type)t)) {
                bool condition = klass == 'c' || klass == 'l' || klass == 'p';
                add(&w, (lang_word)k, (base_type)t, condition ? BASE_BOOL : klass == 'k' ? BASE_I32 : (base_type)t);
            }
        }
    }
    run_all(&w);
}

static void every_conversion(void **state) {
    (void)state;
    word_cases w = {0};
    test_module_init(&w.m, true);
    for (int from = 1; from < BASE_TYPE_COUNT; from++) {
        for (int to = 1; to < BASE_TYPE_COUNT; to++) {
            if (from == to) {
                continue;
            }
            add(&w, LANG_CAST, (base_type)from, (base_type)to);
            add(&w, LANG_SAT, (base_type)from, (base_type)to);
            if (base_type_bits((base_type)from) == base_type_bits((base_type)to)) {
                add(&w, LANG_BITS, (base_type)from, (base_type)to);
            }
        }
    }
    run_all(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_on_every_type),
        cmocka_unit_test(every_conversion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
