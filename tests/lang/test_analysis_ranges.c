/* test_analysis_ranges.c - every interval contains every value; simple ones are tight. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpret.h"

typedef struct room {
    base_memory memory;
    base_arena *arena;
    base_guard guard;
} room;

static int set_up(void **state) {
    static room r;
    r = (room){0};
    r.arena = base_arena_new(&r.memory);
    *state = &r;
    return 0;
}

static int tear_down(void **state) {
    base_arena_free(((room *)*state)->arena);
    return 0;
}

static bool in_range(base_type type, lang_range r, base_value v) {
    if (!r.known) {
        return true;
    }
    return type == BASE_U64 && v.i < 0 ? false : v.i >= r.lo && v.i <= r.hi;
}

static uint64_t checked, informative, proofs;

/* All values of the variables of node e; of all nodes that no read outside spoils. */
static void check_node(interpreter *x, lang_ranges *r, lang_ref e) {
    const lang_node *n = lang_at(x->p, e);
    base_type type = (base_type)n->type;
    const lang_stage *s = &x->p->stages.at[x->p->stages.n - 1];
    uint64_t points = 1;
    lang_range range = lang_range_of(r, s, e);
    bool proved = n->kind == LANG_WORD_ &&
                  (n->code == LANG_ADD || n->code == LANG_SUB || n->code == LANG_MUL || n->code == LANG_NEG) &&
                  base_type_is_int(type) && !lang_may_wrap(r, s, e);
    lang_range full = {0};
    int64_t lo;
    uint64_t hi;
    if (base_type_is_float(type)) {
        assert_false(range.known);
        return;
    }
    base_type_range(type, &lo, &hi);
    full = (lang_range){lo, hi > INT64_MAX ? INT64_MAX : (int64_t)hi, true};
    assert_true(!range.known || (range.lo >= full.lo && range.hi <= full.hi && range.lo <= range.hi));
    informative += range.known && (range.lo > full.lo || range.hi < full.hi);
    proofs += proved;
    for (uint32_t v = 0; v < s->var_count; v++) {
        points *= (n->free >> v & 1) != 0 ? (uint64_t)s->vars[v].bound : 1;
    }
    for (uint64_t i = 0; i < points; i++) {
        uint64_t rest = i;
        for (uint32_t v = 0; v < s->var_count; v++) {
            uint64_t extent = (n->free >> v & 1) != 0 ? (uint64_t)s->vars[v].bound : 1;
            x->value[v] = (int64_t)(rest % extent);
            rest /= extent;
        }
        x->failed = false;
        base_value value = interpret_node(x, e);
        if (x->failed) {
            continue;
        }
        checked++;
        if (!in_range(type, range, value)) {
            print_error("node %u: %lld is not in [%lld, %lld]\n", e, (long long)value.i, (long long)range.lo,
                        (long long)range.hi);
            base_text t = {.arena = x->arena};
            lang_print(&t, x->p);
            print_error("%s\n", t.at);
            fail();
        }
        if (proved) {
            int64_t a = interpret_node(x, lang_operand(x->p, e, 0)).i;
            int64_t b = n->count == 2 ? interpret_node(x, lang_operand(x->p, e, 1)).i : 0, c = 0;
            bool overflow = n->code == LANG_ADD   ? __builtin_add_overflow(a, b, &c)
                            : n->code == LANG_SUB ? __builtin_sub_overflow(a, b, &c)
                            : n->code == LANG_MUL ? __builtin_mul_overflow(a, b, &c)
                                                  : __builtin_sub_overflow(0, a, &c);
            assert_false(overflow);
            assert_int_equal(c, value.i);
        }
    }
}

static void ranges_contain_every_value(void **state) {
    (void)state;
    checked = informative = proofs = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        base_memory memory = {0};
        base_arena *arena = base_arena_new(&memory);
        const void **inputs;
        lang_program *p = random_program(arena, seed, 1, seed % 4 == 0, &inputs);
        lang_ranges *r = lang_ranges_new(arena, p);
        interpreter *x = interpret(arena, p, inputs);
        for (lang_ref e = 1; e < p->nodes.n; e++) {
            check_node(x, r, e);
        }
        base_arena_free(arena);
    }
    assert_true(checked > 100000);
    assert_true(informative > 5000);
    assert_true(proofs > 500);
}

/* ---- every integer word, exhaustively over small intervals ---- */

/* x in [lo, lo+n): a variable moved there, in the type. */
static lang_ref moved(lang_program *p, base_type type, uint32_t number, int64_t lo, int64_t n) {
    lang_ref v = lang_apply1(p, LANG_CAST, type, lang_var(p, number, lang_int(p, BASE_I64, n)));
    return lang_apply2(p, LANG_ADD, type, v, lang_const(p, type, (base_value){.i = lo}));
}

static void check_word(base_arena *arena, lang_word w, base_type type, base_type result, uint32_t arity, int64_t alo,
                       int64_t an, int64_t blo, int64_t bn) {
    lang_program *p = lang_program_new(arena, "word");
    lang_ref args[2] = {moved(p, type, 0, alo, an), moved(p, type, 1, blo, bn)};
    lang_variable vars[2] = {variable(p, "a", an), variable(p, "b", bn)};
    lang_ref e = lang_apply(p, w, result, args, arity);
    (void)add_stage(p, "Y", 2, vars, 2, lang_apply1(p, LANG_CAST, BASE_I64, e));
    lang_ranges *r = lang_ranges_new(arena, p);
    interpreter *x = interpret(arena, p, NULL);
    check_node(x, r, e);
}

static void words_exhaustively(void **state) {
    (void)state;
    static const struct {
        lang_word w;
        uint32_t arity;
        base_type type, result; /* result BASE_NONE: the same */
    } rows[] = {
        {LANG_ADD, 2, BASE_I8, BASE_NONE},      {LANG_SUB, 2, BASE_I8, BASE_NONE},
        {LANG_MUL, 2, BASE_I8, BASE_NONE},      {LANG_DIV, 2, BASE_I8, BASE_NONE},
        {LANG_MOD, 2, BASE_I8, BASE_NONE},      {LANG_NEG, 1, BASE_I8, BASE_NONE},
        {LANG_ABS, 1, BASE_I8, BASE_NONE},      {LANG_MIN, 2, BASE_I8, BASE_NONE},
        {LANG_MAX, 2, BASE_I8, BASE_NONE},      {LANG_TDIV, 2, BASE_I8, BASE_NONE},
        {LANG_TREM, 2, BASE_I8, BASE_NONE},     {LANG_POW, 2, BASE_I8, BASE_NONE},
        {LANG_LT, 2, BASE_I8, BASE_BOOL},       {LANG_LE, 2, BASE_I8, BASE_BOOL},
        {LANG_EQ, 2, BASE_I8, BASE_BOOL},       {LANG_BITAND, 2, BASE_I8, BASE_NONE},
        {LANG_BITOR, 2, BASE_I8, BASE_NONE},    {LANG_BITXOR, 2, BASE_I8, BASE_NONE},
        {LANG_BITNOT, 1, BASE_I8, BASE_NONE},   {LANG_SHL, 2, BASE_I8, BASE_NONE},
        {LANG_SHR, 2, BASE_I8, BASE_NONE},      {LANG_CLZ, 1, BASE_I8, BASE_I32},
        {LANG_CAST, 1, BASE_I8, BASE_U8},       {LANG_SAT, 1, BASE_I8, BASE_U4},
        {LANG_BITS, 1, BASE_I8, BASE_U8},       {LANG_CAST, 1, BASE_I8, BASE_BOOL},
        {LANG_CAST, 1, BASE_I16, BASE_I4},      {LANG_SAT, 1, BASE_I16, BASE_I8},
        {LANG_SRDHM16, 2, BASE_I16, BASE_NONE}, {LANG_SRDHM, 2, BASE_I32, BASE_NONE},
        {LANG_RDIVPOT, 2, BASE_I32, BASE_NONE}, {LANG_ADD, 2, BASE_U8, BASE_NONE},
        {LANG_SUB, 2, BASE_U8, BASE_NONE},      {LANG_MUL, 2, BASE_U8, BASE_NONE},
        {LANG_DIV, 2, BASE_U8, BASE_NONE},      {LANG_MOD, 2, BASE_U8, BASE_NONE},
        {LANG_BITNOT, 1, BASE_U8, BASE_NONE},   {LANG_SHL, 2, BASE_U8, BASE_NONE},
        {LANG_SHR, 2, BASE_U8, BASE_NONE},      {LANG_NEG, 1, BASE_U8, BASE_NONE},
        {LANG_CLZ, 1, BASE_U8, BASE_I32},       {LANG_ADD, 2, BASE_I64, BASE_NONE},
        {LANG_MUL, 2, BASE_I64, BASE_NONE},     {LANG_DIV, 2, BASE_I64, BASE_NONE},
        {LANG_ABS, 1, BASE_I64, BASE_NONE},     {LANG_NEG, 1, BASE_I64, BASE_NONE},
        {LANG_SHL, 2, BASE_I64, BASE_NONE},     {LANG_SHR, 2, BASE_U64, BASE_NONE},
        {LANG_TDIV, 2, BASE_I64, BASE_NONE},    {LANG_TREM, 2, BASE_I64, BASE_NONE},
        {LANG_BITXOR, 2, BASE_I64, BASE_NONE},  {LANG_CAST, 1, BASE_I64, BASE_I32},
        {LANG_SAT, 1, BASE_I64, BASE_U32},      {LANG_MOD, 2, BASE_I64, BASE_NONE},
    };
    uint64_t random = 5;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        base_type type = rows[k].type, result = rows[k].result == BASE_NONE ? type : rows[k].result;
        int64_t least;
        uint64_t most;
        base_type_range(type, &least, &most);
        const int64_t corners[] = {
            least, 0, (int64_t)(most >> 1 >> 1), (int64_t)(most > INT64_MAX ? INT64_MAX : most) - 3, -4, 1, 2};
        for (uint32_t i = 0; i < 120; i++) {
            base_memory memory = {0};
            base_arena *arena = base_arena_new(&memory);
            bool corner = random_below(&random, 3) == 0;
            int64_t alo =
                corner ? corners[random_below(&random, 7)] : (int64_t)random_below(&random, 40) - (least < 0 ? 20 : 0);
            int64_t blo = random_below(&random, 4) ? (int64_t)random_below(&random, 14) - (least < 0 ? 7 : 0)
                                                   : corners[random_below(&random, 7)];
            if (least == 0) {
                alo = alo < 0 ? 0 : alo;
                blo = blo < 0 ? 0 : blo;
            }
            check_word(arena, rows[k].w, type, result, rows[k].arity, alo, 1 + (int64_t)random_below(&random, 9), blo,
                       1 + (int64_t)random_below(&random, 6));
            base_arena_free(arena);
        }
    }
}

/* ---- tight where a person sees it ---- */

static lang_program *program;
static lang_ranges *ranges;

static void is(lang_ref e, int64_t lo, int64_t hi) {
    lang_range r = lang_range_of(ranges, NULL, e);
    assert_true(r.known);
    assert_int_equal(r.lo, lo);
    assert_int_equal(r.hi, hi);
}

static lang_ref num(int64_t v) {
    return lang_int(program, BASE_I64, v);
}

static lang_ref op(lang_word w, lang_ref a, lang_ref b) {
    bool compare = w == LANG_LT || w == LANG_LE || w == LANG_EQ || w == LANG_AND || w == LANG_OR;
    return lang_apply2(program, w, compare ? BASE_BOOL : (base_type)lang_at(program, a)->type, a, b);
}

static void tight_intervals(void **state) {
    base_arena *arena = ((room *)*state)->arena;
    program = lang_program_new(arena, "tight");
    ranges = lang_ranges_new(arena, program);
    lang_ref i = lang_var(program, 0, num(10)), j = lang_var(program, 1, num(4));
    is(i, 0, 9);
    is(op(LANG_ADD, op(LANG_MUL, i, num(2)), op(LANG_SUB, j, num(1))), -1, 20);
    is(op(LANG_DIV, i, num(10)), 0, 0);
    is(op(LANG_DIV, op(LANG_SUB, i, num(5)), num(2)), -3, 2);
    is(op(LANG_MOD, i, num(4)), 0, 3);
    is(op(LANG_MOD, op(LANG_ADD, j, num(4)), num(4)), 0, 3);
    is(op(LANG_MOD, op(LANG_ADD, j, num(8)), num(16)), 8, 11);
    is(op(LANG_MIN, op(LANG_MAX, op(LANG_SUB, i, num(5)), num(0)), num(3)), 0, 3);
    /* an interval alone would give -27 .. 9: the operands move together */
    lang_ref low = op(LANG_SUB, i, op(LANG_MUL, op(LANG_ADD, i, j), num(1)));
    is(low, -3, 0);
    lang_ref squares = op(LANG_MUL, op(LANG_SUB, i, num(5)), op(LANG_SUB, i, num(5)));
    is(squares, 0, 25);
    /* a condition narrows its branches */
    lang_ref shifted = op(LANG_SUB, i, num(3));
    lang_ref args[3] = {op(LANG_LT, shifted, num(0)), num(0), shifted};
    is(lang_apply(program, LANG_IF, BASE_I64, args, 3), 0, 6);
    lang_ref wrapped[3] = {op(LANG_LT, shifted, num(0)), op(LANG_ADD, shifted, num(7)), shifted};
    is(lang_apply(program, LANG_IF, BASE_I64, wrapped, 3), 0, 6);
    lang_ref both[3] = {op(LANG_AND, op(LANG_LE, num(0), shifted), op(LANG_LT, shifted, num(4))),
                        op(LANG_MUL, shifted, num(2)), num(1)};
    is(lang_apply(program, LANG_IF, BASE_I64, both, 3), 0, 6);
    is(op(LANG_LT, i, num(10)), 1, 1);
    is(op(LANG_LE, num(10), i), 0, 0);
    is(lang_apply1(program, LANG_SAT, BASE_I4, op(LANG_SUB, i, num(20))), -8, -8);
}

static void sums_and_extremes(void **state) {
    base_arena *arena = ((room *)*state)->arena;
    program = lang_program_new(arena, "sums");
    ranges = lang_ranges_new(arena, program);
    static const int8_t weights[6] = {-3, 5, 0, 2, -3, 1};
    const int64_t w_dim[1] = {6}, x_dim[1] = {100};
    uint32_t w = add_constant(program, "W", BASE_I8, 1, w_dim, weights);
    uint32_t x = add_input(program, "X", BASE_I8, 1, x_dim);
    assert_int_equal(lang_range_tensor(ranges, w).lo, -3);
    assert_int_equal(lang_range_tensor(ranges, w).hi, 5);
    assert_int_equal(lang_range_tensor(ranges, x).lo, -128);
    lang_ref k = lang_var(program, 1, num(6));
    lang_ref rx = lang_apply1(program, LANG_CAST, BASE_I32, lang_read(program, x, &k, 1, 0));
    lang_ref rw = lang_apply1(program, LANG_CAST, BASE_I32, lang_read(program, w, &k, 1, 0));
    lang_ref product = op(LANG_MUL, rw, rx);
    is(product, -640, 635);
    lang_ref sum = lang_reduce(program, LANG_SUM, BASE_I32, &k, 1, 0, product, 0);
    is(sum, -3840, 3810);
    assert_false(lang_may_wrap(ranges, NULL, sum));
    is(lang_reduce(program, LANG_RMAX, BASE_I32, &k, 1, 0, rw, 0), -3, 5);
    lang_ref guarded =
        lang_reduce(program, LANG_SUM, BASE_I32, &k, 1, op(LANG_LT, num(0), k), lang_int(program, BASE_I32, 2), 0);
    is(guarded, 0, 12);
    /* the guard holds inside */
    is(lang_reduce(program, LANG_RMAX, BASE_I64, &k, 1, op(LANG_LT, k, num(3)), k, num(0)), 0, 2);
    lang_ref huge = lang_var(program, 2, num((int64_t)1 << 40));
    lang_ref overflow = lang_reduce(program, LANG_SUM, BASE_I32, &huge, 1, 0, rx, 0);
    is(overflow, INT32_MIN, INT32_MAX);
    assert_true(lang_may_wrap(ranges, NULL, overflow));
    assert_true(lang_may_wrap(ranges, NULL, op(LANG_ADD, overflow, lang_int(program, BASE_I32, 1))));
    /* a product of one factor is that factor, the least integer too; of more, anything */
    lang_ref any = lang_apply1(program, LANG_BITNOT, BASE_I64,
                               lang_read(program, add_input(program, "L", BASE_I64, 1, x_dim), &k, 1, 0));
    lang_ref one = lang_var(program, 3, num(1));
    is(lang_reduce(program, LANG_PROD, BASE_I64, &one, 1, 0, any, 0), INT64_MIN, INT64_MAX);
    is(lang_reduce(program, LANG_PROD, BASE_I64, &k, 1, 0, any, 0), INT64_MIN, INT64_MAX);
    is(lang_reduce(program, LANG_PROD, BASE_I32, &k, 1, 0, rw, 0), -15625, 15625);
    /* (-128)^9 is -2^63, which has no negative */
    lang_ref nine = lang_var(program, 4, num(9));
    is(lang_reduce(program, LANG_PROD, BASE_I64, &nine, 1, 0, lang_apply1(program, LANG_CAST, BASE_I64, rx), 0),
       INT64_MIN, INT64_MAX);
    /* narrower contents, as the caller knows them */
    lang_ranges_tensor(ranges, x, (lang_range){0, 6, true});
    is(product, -18, 30);
}

static void a_stage_has_the_range_of_its_body(void **state) {
    base_arena *arena = ((room *)*state)->arena;
    program = lang_program_new(arena, "stages");
    ranges = lang_ranges_new(arena, program);
    lang_variable i = variable(program, "i", 5);
    lang_ref v = lang_var(program, 0, i.extent);
    uint32_t a = add_stage(program, "A", 1, &i, 1, op(LANG_MUL, v, num(3)));
    lang_ref past = op(LANG_ADD, v, num(1));
    is(lang_read(program, a, &v, 1, 0), 0, 12);
    is(lang_read(program, a, &past, 1, num(-7)), -7, 12);
    is(lang_read(program, a, &v, 1, num(-7)), 0, 12); /* the fill cannot act */
    assert_int_equal(lang_range_tensor(ranges, a).hi, 12);
    /* a recurrence reads itself: its type's range */
    lang_variable t = variable(program, "t", 5);
    uint32_t own = (uint32_t)program->tensors.n;
    lang_tensor tensor = {
        .name = "R", .type = BASE_I64, .rank = 1, .dim = {5}, .kind = LANG_STAGE, .stage = (uint32_t)program->stages.n};
    (void)lang_tensor_add(program, &tensor);
    lang_ref before = op(LANG_SUB, v, num(1));
    lang_ref r = op(LANG_ADD, lang_read(program, own, &before, 1, num(0)), num(1));
    lang_stage s = {.tensor = own, .rank = 1, .var_count = 1, .vars = &t, .body = r, .rec = 0};
    *BASE_PUSH(arena, &program->stages) = s;
    is(r, INT64_MIN, INT64_MAX);
    assert_true(lang_may_wrap(ranges, NULL, r));
}

/* A chain as long as a program can be: no recursion. */
static void long_chains(void **state) {
    base_arena *arena = ((room *)*state)->arena;
    program = lang_program_new(arena, "long");
    ranges = lang_ranges_new(arena, program);
    const int64_t dim[1] = {4};
    uint32_t x = add_input(program, "X", BASE_I8, 1, dim);
    lang_ref v = lang_var(program, 0, num(4)),
             e = lang_apply1(program, LANG_CAST, BASE_I64, lang_read(program, x, &v, 1, 0));
    for (int k = 0; k < 400000; k++) {
        e = op(k % 2 ? LANG_BITXOR : LANG_MIN, e, k % 2 ? v : num(120));
    }
    lang_range r = lang_range_of(ranges, NULL, e);
    assert_true(r.known && r.lo >= -128 && r.hi <= 127);
    assert_false(lang_has_reduction(program, e));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_contain_every_value),
        cmocka_unit_test(words_exhaustively),
        cmocka_unit_test_setup_teardown(tight_intervals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_and_extremes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stage_has_the_range_of_its_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_chains, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
