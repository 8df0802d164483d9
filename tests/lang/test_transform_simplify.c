/* test_transform_simplify.c - simplifying keeps every bit, and removes what a person sees cannot act. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "interpret.h"

typedef struct fixture {
    base_memory memory;
    base_arena *arena;
    base_diags diags;
} fixture;

static int set_up(void **state) {
    static fixture f;
    f = (fixture){0};
    f.arena = base_arena_new(&f.memory);
    f.diags.arena = f.arena;
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    base_arena_free(((fixture *)*state)->arena);
    return 0;
}

static void dump(base_arena *arena, const lang_program *p) {
    base_text t = {.arena = arena};
    lang_print(&t, p);
    print_error("%s\n", t.at);
}

/* The one output, by the evaluator. */
static void *evaluated(base_arena *arena, const lang_program *p, const void *const *inputs) {
    base_diags diags = {.arena = arena};
    lang_code *code = lang_compile(arena, p, LANG_EVAL_EXACT, &diags);
    assert_non_null(code);
    lang_result result = {.data = base_alloc(arena, interpret_bytes(&p->tensors.at[p->outputs.at[0]]) + 1, 1)};
    assert_int_equal(lang_run(code, arena, inputs, &result, &diags), BASE_OK);
    return result.data;
}

/* The same bits; any NaN for a NaN. */
static bool same(const lang_tensor *t, const void *a, const void *b) {
    for (uint64_t i = 0; i < interpret_elements(t); i++) {
        base_value x = base_load(t->type, a, i), y = base_load(t->type, b, i);
        bool nan = base_type_is_float(t->type) && x.f != x.f && y.f != y.f;
        if (!nan && memcmp(&x, &y, sizeof x) != 0) {
            return false;
        }
    }
    return true;
}

static void random_programs_keep_their_bits(void **state) {
    (void)state;
    uint64_t before = 0, after = 0, compared = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        base_memory memory = {0};
        base_arena *arena = base_arena_new(&memory);
        base_diags diags = {.arena = arena};
        const void **inputs;
        lang_program *p = random_program(arena, seed + 10000, 1 + (uint32_t)(seed % 3), seed % 3 == 0, &inputs);
        assert_int_equal(lang_verify(p, &diags), BASE_OK);
        lang_program *q = lang_simplify(arena, p);
        assert_int_equal(lang_verify(q, &diags), BASE_OK);
        interpreter *x = interpret(arena, p, inputs), *y = interpret(arena, q, inputs);
        assert_false(x->failed);
        uint32_t out = p->outputs.at[0], now = q->outputs.at[0];
        size_t bytes = interpret_bytes(&p->tensors.at[out]);
        assert_int_equal(bytes, interpret_bytes(&q->tensors.at[now]));
        const lang_tensor *tensor = &p->tensors.at[out];
        if (!same(tensor, x->data[out], y->data[now])) {
            print_error("seed %llu\n", (unsigned long long)seed);
            dump(arena, p);
            dump(arena, q);
            fail();
        }
        assert_true(same(tensor, evaluated(arena, p, inputs), evaluated(arena, q, inputs)));
        compared += bytes;
        before += p->nodes.n;
        after += q->nodes.n;
        base_arena_free(arena);
    }
    assert_true(compared > 20000);
    assert_true(after * 10 < before * 9); /* something was removed */
}

/* ---- single rules ---- */

static lang_program *p;

static lang_ref num(int64_t v) {
    return lang_int(p, BASE_I64, v);
}

static lang_ref op(lang_word w, lang_ref a, lang_ref b) {
    bool compare = w == LANG_LT || w == LANG_LE || w == LANG_EQ || w == LANG_AND || w == LANG_OR;
    return lang_apply2(p, w, compare ? BASE_BOOL : (base_type)lang_at(p, a)->type, a, b);
}

static lang_ref to(base_type type, lang_ref a) {
    return lang_apply1(p, LANG_CAST, type, a);
}

/* The body of the one stage over vars, simplified; *q: its program. */
static const lang_program *q;
static lang_ref simplified(uint32_t rank, const lang_variable *vars, uint32_t count, lang_ref body) {
    *BASE_PUSH(p->arena, &p->outputs) = add_stage(p, "Y", rank, vars, count, body);
    q = lang_simplify(p->arena, p);
    base_diags diags = {.arena = p->arena};
    assert_int_equal(lang_verify(q, &diags), BASE_OK);
    return q->stages.at[q->stages.n - 1].body;
}

static void is_variable(lang_ref r, uint32_t number) {
    assert_int_equal(lang_at(q, r)->kind, LANG_VAR);
    assert_int_equal(lang_at(q, r)->index, number);
}

static void is_word(lang_ref r, lang_word w) {
    assert_int_equal(lang_at(q, r)->kind, LANG_WORD_);
    assert_int_equal(lang_at(q, r)->code, w);
}

static void is_number(lang_ref r, int64_t v) {
    assert_int_equal(lang_at(q, r)->kind, LANG_CONST);
    assert_int_equal(lang_at(q, r)->value.i, v);
}

static void divisions(void **state) {
    base_arena *arena = ((fixture *)*state)->arena;
    p = lang_program_new(arena, "divisions");
    lang_variable vars[2] = {variable(p, "y", 5), variable(p, "x", 4)};
    lang_ref y = lang_var(p, 0, vars[0].extent), x = lang_var(p, 1, vars[1].extent);
    lang_ref flat = op(LANG_ADD, op(LANG_MUL, y, num(4)), x);
    is_variable(simplified(2, vars, 2, op(LANG_DIV, flat, num(4))), 0);
    is_variable(simplified(2, vars, 2, op(LANG_MOD, flat, num(4))), 1);
    is_number(simplified(2, vars, 2, op(LANG_DIV, x, num(4))), 0);
    is_variable(simplified(2, vars, 2, op(LANG_MOD, x, num(7))), 1);
    /* o/(O/(C/Cg)) with one group */
    lang_ref group = op(LANG_DIV, y, op(LANG_DIV, num(5), op(LANG_DIV, num(3), num(3))));
    is_number(simplified(2, vars, 2, group), 0);
    /* the digits of a number, put together again; truncating division too */
    lang_ref wide = op(LANG_ADD, op(LANG_MUL, y, num(6)), x);
    lang_ref together = op(LANG_ADD, op(LANG_MUL, op(LANG_TDIV, wide, num(12)), num(12)),
                           op(LANG_ADD, op(LANG_MUL, op(LANG_MOD, op(LANG_DIV, wide, num(4)), num(3)), num(4)),
                              op(LANG_TREM, wide, num(4))));
    lang_ref r = simplified(2, vars, 2, together);
    is_word(r, LANG_ADD);
    lang_affine form;
    assert_true(lang_affine_of(q, r, &form));
    assert_int_equal(form.coefficient[0], 6);
    assert_int_equal(form.coefficient[1], 1);
    /* what may act stays: negative numerators, a true remainder */
    is_word(simplified(2, vars, 2, op(LANG_TDIV, op(LANG_SUB, x, num(2)), num(2))), LANG_TDIV);
    is_word(simplified(2, vars, 2, op(LANG_DIV, y, num(2))), LANG_DIV);
    is_word(simplified(2, vars, 2, op(LANG_MOD, op(LANG_ADD, flat, x), num(4))), LANG_MOD);
}

static void clamps_and_conversions(void **state) {
    base_arena *arena = ((fixture *)*state)->arena;
    p = lang_program_new(arena, "clamps");
    const int64_t dim[1] = {6};
    uint32_t t = add_input(p, "X", BASE_I8, 1, dim);
    lang_variable i = variable(p, "i", 6);
    lang_ref v = lang_var(p, 0, i.extent), x = lang_read(p, t, &v, 1, 0);
    lang_ref x32 = to(BASE_I32, x);
    /* i8(max(min(i32(x), 127), -128)) is x */
    lang_ref clamped =
        to(BASE_I8, op(LANG_MAX, op(LANG_MIN, x32, lang_int(p, BASE_I32, 127)), lang_int(p, BASE_I32, -128)));
    assert_int_equal(lang_at(q = p, simplified(1, &i, 1, clamped))->kind, LANG_READ);
    lang_ref kept = simplified(1, &i, 1, op(LANG_MAX, x32, lang_int(p, BASE_I32, 0)));
    is_word(kept, LANG_MAX);
    assert_int_equal(lang_at(q, simplified(1, &i, 1, lang_apply1(p, LANG_SAT, BASE_I8, x32)))->kind, LANG_READ);
    /* i32(i64(x)+i64(x)): the arithmetic is done in i32 at once */
    lang_ref wide = to(BASE_I32, op(LANG_ADD, to(BASE_I64, x32), op(LANG_MUL, to(BASE_I64, x32), num(3))));
    (void)simplified(1, &i, 1, wide);
    for (lang_ref r = 1; r < q->nodes.n; r++) {
        assert_false(lang_at(q, r)->kind == LANG_WORD_ && lang_at(q, r)->type == BASE_I64 &&
                     lang_at(q, r)->code == LANG_MUL);
    }
    /* a float clamp to infinities */
    lang_ref f = to(BASE_F32, x);
    lang_ref infinite = op(LANG_MIN, op(LANG_MAX, f, lang_float(p, BASE_F32, -(double)1e300 * 1e300)),
                           lang_float(p, BASE_F32, (double)1e300 * 1e300));
    is_word(simplified(1, &i, 1, infinite), LANG_CAST);
    is_word(simplified(1, &i, 1, op(LANG_MIN, f, lang_float(p, BASE_F32, 6))), LANG_MIN);
    is_variable(simplified(1, &i, 1, op(LANG_MIN, v, op(LANG_ADD, v, num(1)))), 0);
    is_variable(simplified(1, &i, 1, lang_apply1(p, LANG_ABS, BASE_I64, v)), 0);
    is_variable(simplified(1, &i, 1, op(LANG_BITAND, v, num(7))), 0);
    is_word(simplified(1, &i, 1, op(LANG_BITAND, v, num(3))), LANG_BITAND);
}

static void conditions_guards_and_fills(void **state) {
    base_arena *arena = ((fixture *)*state)->arena;
    p = lang_program_new(arena, "guards");
    const int64_t dim[1] = {6};
    uint32_t t = add_input(p, "X", BASE_I8, 1, dim);
    lang_variable vars[2] = {variable(p, "i", 4), variable(p, "k", 3)};
    lang_ref i = lang_var(p, 0, vars[0].extent), k = lang_var(p, 1, vars[1].extent), nine = lang_int(p, BASE_I8, 9);
    lang_ref sum = op(LANG_ADD, i, k), before = op(LANG_SUB, sum, num(1)), far = op(LANG_ADD, sum, num(6));
    lang_ref inside = lang_read(p, t, &sum, 1, nine), border = lang_read(p, t, &before, 1, nine),
             outside = lang_read(p, t, &far, 1, nine);
    lang_ref r = simplified(1, vars, 2, lang_reduce(p, LANG_RMAX, BASE_I8, &k, 1, op(LANG_LT, sum, num(6)), inside, 0));
    assert_int_equal(lang_at(q, r)->kind, LANG_REDUCE);
    assert_int_equal(lang_operand(q, r, 1), 0); /* the guard cannot fail: 3+2 < 6 */
    assert_false(lang_at(q, lang_operand(q, r, 2))->has_fill);
    r = simplified(1, vars, 2, lang_reduce(p, LANG_RMAX, BASE_I8, &k, 1, op(LANG_LT, sum, num(5)), border, 0));
    assert_int_not_equal(lang_operand(q, r, 1), 0);
    assert_true(lang_at(q, lang_operand(q, r, 2))->has_fill);
    is_number(simplified(1, vars, 2, lang_reduce(p, LANG_RMAX, BASE_I8, &k, 1, 0, outside, 0)), 9);
    lang_ref count = lang_reduce(p, LANG_SUM, BASE_I32, &k, 1, op(LANG_LE, num(0), sum), lang_int(p, BASE_I32, 1), 0);
    is_number(simplified(1, vars, 2, count), 3);
    is_number(
        simplified(1, vars, 2,
                   lang_reduce(p, LANG_SUM, BASE_I32, &k, 1, op(LANG_LT, sum, num(0)), lang_int(p, BASE_I32, 1), 0)),
        0);
    lang_ref args[3] = {op(LANG_LT, i, op(LANG_ADD, i, num(1))), i, num(5)};
    is_variable(simplified(1, vars, 2, lang_apply(p, LANG_IF, BASE_I64, args, 3)), 0);
    lang_ref both[3] = {op(LANG_LT, i, num(2)), op(LANG_LE, num(0), i), lang_int(p, BASE_BOOL, 1)};
    is_number(simplified(1, vars, 2, lang_apply(p, LANG_IF, BASE_BOOL, both, 3)), 1);
    both[2] = lang_int(p, BASE_BOOL, 0);
    is_word(simplified(1, vars, 2, lang_apply(p, LANG_IF, BASE_BOOL, both, 3)), LANG_LT);
}

static void extents_of_one(void **state) {
    base_arena *arena = ((fixture *)*state)->arena;
    p = lang_program_new(arena, "ones");
    const int64_t dim[2] = {4, 3};
    uint32_t t = add_input(p, "X", BASE_I8, 2, dim), f = add_input(p, "F", BASE_F32, 2, dim);
    lang_variable vars[3] = {variable(p, "i", 4), variable(p, "a", 1), variable(p, "k", 3)};
    lang_ref i = lang_var(p, 0, vars[0].extent), a = lang_var(p, 1, vars[1].extent), k = lang_var(p, 2, vars[2].extent);
    lang_ref index[2] = {op(LANG_ADD, i, a), k}, both[2] = {a, k};
    lang_ref r = simplified(
        1, vars, 3, lang_reduce(p, LANG_SUM, BASE_I32, both, 2, 0, to(BASE_I32, lang_read(p, t, index, 2, 0)), 0));
    assert_int_equal(lang_at(q, r)->count, 4); /* k, no guard, body, no else */
    lang_ref corner[2] = {i, a};
    r = simplified(1, vars, 3,
                   lang_reduce(p, LANG_SUM, BASE_I32, &a, 1, 0, to(BASE_I32, lang_read(p, t, corner, 2, 0)), 0));
    is_word(r, LANG_CAST);
    /* a float sum starts from +0: -0 would come out otherwise */
    r = simplified(1, vars, 3, lang_reduce(p, LANG_SUM, BASE_F32, &a, 1, 0, lang_read(p, f, corner, 2, 0), 0));
    assert_int_equal(lang_at(q, r)->kind, LANG_REDUCE);
}

/* A dynamic extent that turns out constant is exact afterwards. */
static void extents_that_become_constant(void **state) {
    base_arena *arena = ((fixture *)*state)->arena;
    p = lang_program_new(arena, "extent");
    static const int64_t five = 5;
    uint32_t n = add_constant(p, "N", BASE_I64, 0, NULL, &five);
    lang_tensor y = {.name = "Y", .type = BASE_I64, .rank = 1, .dim = {8}, .kind = LANG_STAGE, .stage = 0};
    p->tensors.at[n].data = NULL; /* so that the builder does not fold the read */
    lang_ref extent = lang_read(p, n, NULL, 0, 0);
    p->tensors.at[n].data = &five;
    y.extent[0] = extent;
    uint32_t out = lang_tensor_add(p, &y);
    lang_variable v = {.name = "i", .extent = extent, .bound = 8};
    lang_stage s = {.tensor = out, .rank = 1, .var_count = 1, .vars = &v, .body = lang_var(p, 0, extent), .rec = -1};
    *BASE_PUSH(arena, &p->stages) = s;
    *BASE_PUSH(arena, &p->outputs) = out;
    q = lang_simplify(arena, p);
    const lang_tensor *t = &q->tensors.at[q->outputs.at[0]];
    assert_int_equal(t->extent[0], 0);
    assert_int_equal(t->dim[0], 5);
    assert_int_equal(q->stages.at[0].vars[0].bound, 5);
}

static void chains_of_many_nodes(void **state) {
    base_arena *arena = ((fixture *)*state)->arena;
    p = lang_program_new(arena, "long");
    lang_variable i = variable(p, "i", 8);
    lang_ref v = lang_var(p, 0, i.extent), e = v;
    for (int k = 0; k < 100000; k++) {
        e = op(k % 2 ? LANG_BITXOR : LANG_SUB, k % 2 ? e : num(7), k % 2 ? v : e);
    }
    lang_ref r = simplified(1, &i, 1, e);
    assert_int_equal(lang_at(q, r)->type, BASE_I64);
    assert_true(q->nodes.n > 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_keep_their_bits),
        cmocka_unit_test_setup_teardown(divisions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clamps_and_conversions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(conditions_guards_and_fills, set_up, tear_down),
        cmocka_unit_test_setup_teardown(extents_of_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(extents_that_become_constant, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chains_of_many_nodes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
