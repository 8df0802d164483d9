/* test_transform_programs.c - rewriting, inlining, linking: the same bits from another program. */
#include <string.h>

#include "built.h"

static void same_output(const lang_program *a, const lang_program *b, const void *const *inputs) {
    assert_int_equal(lang_verify(b, &diags), BASE_OK);
    interpreter *x = interpret(arena, a, inputs), *y = interpret(arena, b, inputs);
    assert_false(x->failed || y->failed);
    assert_int_equal(a->outputs.n, b->outputs.n);
    for (size_t k = 0; k < a->outputs.n; k++) {
        uint32_t s = a->outputs.at[k], t = b->outputs.at[k];
        size_t bytes = interpret_bytes(&a->tensors.at[s]);
        assert_int_equal(bytes, interpret_bytes(&b->tensors.at[t]));
        assert_memory_equal(x->data[s], y->data[t], bytes);
    }
}

/* ---- rewriting ---- */

static lang_ref swap_variables(lang_rewriter *w, lang_ref r) {
    const lang_node *n = lang_at(w->from, r);
    return n->kind == LANG_VAR && n->index < 2 ? lang_var(w->to, 1 - n->index, w->memo.at[lang_operand(w->from, r, 0)])
                                               : 0;
}

static void rewriting_substitutes(void **state) {
    (void)state;
    lang_ref five = num(5), a = lang_var(p, 0, five), b = lang_var(p, 1, five), c = lang_var(p, 2, num(3));
    lang_ref e = lang_reduce(p, LANG_SUM, BASE_I64, &c, 1, op(LANG_LT, c, a), op(LANG_SUB, op(LANG_MUL, a, c), b), 0);
    lang_ref want =
        lang_reduce(p, LANG_SUM, BASE_I64, &c, 1, op(LANG_LT, c, b), op(LANG_SUB, op(LANG_MUL, b, c), a), 0);
    lang_rewriter w = {.from = p, .to = p, .replace = swap_variables};
    assert_int_equal(lang_rewrite(arena, &w, e), want);
    assert_int_equal(lang_rewrite(arena, &w, 0), 0);
    /* without a callback: itself; into another program: as many nodes */
    lang_rewriter same = {.from = p, .to = p};
    assert_int_equal(lang_rewrite(arena, &same, e), e);
    lang_program *q = lang_program_new(arena, "copy");
    lang_rewriter over = {.from = p, .to = q};
    lang_ref copy = lang_rewrite(arena, &over, e);
    assert_int_equal(lang_at(q, copy)->free, lang_at(p, e)->free);
    assert_int_equal(lang_verify(q, &diags), BASE_OK);
}

static void rewriting_stops_at_the_node_limit(void **state) {
    (void)state;
    lang_ref e = lang_var(p, 0, num(100));
    for (int64_t k = 0; k < 50; k++) {
        e = op(LANG_BITXOR, op(LANG_MUL, e, num(k + 2)), num(k));
    }
    lang_program *q = lang_program_new(arena, "small");
    q->node_limit = 20;
    lang_rewriter w = {.from = p, .to = q};
    assert_int_equal(lang_rewrite(arena, &w, e), 0);
    assert_true(lang_full(q));
}

/* ---- in another arena ---- */

/* The copy stands when the arena of the original is gone, with its constants and names, and nodes are found in it again. */
static void a_kept_program_stands_alone(void **state) {
    (void)state;
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lang_program *from = lang_program_new(scratch, "kept");
    static const int32_t contents[3] = {4, -5, 6};
    int32_t *data = BASE_NEWS(scratch, int32_t, 3);
    memcpy(data, contents, sizeof contents);
    const uint32_t x = lang_tensor_add(from, &(lang_tensor){.name = base_strdup(scratch, "X"),
                                                            .type = BASE_I32,
                                                            .rank = 1,
                                                            .dim = {3},
                                                            .data = data,
                                                            .kind = LANG_CONSTANT});
    const uint32_t y = lang_tensor_add(
        from,
        &(lang_tensor){.name = base_strdup(scratch, "Y"), .type = BASE_I32, .rank = 1, .dim = {3}, .kind = LANG_STAGE});
    lang_variable *vars = BASE_NEW(scratch, lang_variable);
    *vars = (lang_variable){base_strdup(scratch, "v"), lang_int(from, BASE_I64, 3), 3};
    lang_ref v = lang_var(from, 0, vars->extent), read = lang_read(from, x, &v, 1, 0);
    const lang_ref body = lang_apply2(from, LANG_MUL, BASE_I32, read, lang_int(from, BASE_I32, 7));
    *BASE_PUSH(scratch, &from->stages) =
        (lang_stage){.tensor = y, .rank = 1, .var_count = 1, .vars = vars, .body = body, .rec = -1};
    *BASE_PUSH(scratch, &from->outputs) = y;
    lang_program *copy = lang_keep(arena, scratch, from);
    assert_false(base_arena_holds(scratch, copy->tensors.at[x].data));
    memset(data, 0x55, sizeof contents);
    base_arena_free(scratch);
    assert_int_equal(lang_verify(copy, &diags), BASE_OK);
    assert_string_equal(copy->name, "kept");
    assert_string_equal(copy->tensors.at[x].name, "X");
    assert_string_equal(copy->stages.at[0].vars[0].name, "v");
    interpreter *run = interpret(arena, copy, NULL);
    const int32_t *out = run->data[y];
    assert_true(out[0] == 28 && out[1] == -35 && out[2] == 42);
    const size_t nodes = copy->nodes.n;
    assert_int_equal(lang_apply2(copy, LANG_MUL, BASE_I32, read, lang_int(copy, BASE_I32, 7)), body);
    assert_int_equal(copy->nodes.n, nodes);
    (void)lang_int(copy, BASE_I32, 8);
    assert_int_equal(copy->nodes.n, nodes + 1);
}

/* ---- inlining ---- */

static void inlining_random_programs(void **state) {
    (void)state;
    uint64_t done = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const void **inputs;
        set_up(NULL);
        lang_program *q = random_program(arena, seed + 50000, 3, seed % 3 == 0, &inputs);
        for (uint32_t stage = 2; stage-- > 0;) {
            lang_program *r = lang_inline(arena, q, stage);
            if (r == NULL) {
                continue; /* out of variables */
            }
            assert_int_equal(r->stages.n, 2);
            same_output(q, r, inputs);
            lang_program *one = lang_inline(arena, r, 0);
            if (one != NULL) {
                assert_int_equal(one->stages.n, 1);
                same_output(q, one, inputs);
                done++;
            }
            same_output(q, lang_simplify(arena, r), inputs);
        }
        tear_down(NULL);
    }
    set_up(NULL);
    assert_true(done > 300);
}

/* A[i] = sum[k<4] X[i,k]; Y[i] = A[A[i] % 3] + A[i-1]?100: one instance in another's index, one with a fill. */
static void an_instance_in_the_index_of_another(void **state) {
    (void)state;
    const int64_t dim[2] = {3, 4};
    static const int64_t data[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13};
    const void *inputs[1] = {data};
    uint32_t x = add_input(p, "X", BASE_I64, 2, dim);
    lang_variable vars[2] = {variable(p, "i", 3), variable(p, "k", 4)};
    lang_ref v[2] = {lang_var(p, 0, vars[0].extent), lang_var(p, 1, vars[1].extent)};
    uint32_t a =
        add_stage(p, "A", 1, vars, 2, lang_reduce(p, LANG_SUM, BASE_I64, &v[1], 1, 0, lang_read(p, x, v, 2, 0), 0));
    lang_ref inner = op(LANG_MOD, lang_read(p, a, v, 1, 0), num(3)), before = op(LANG_SUB, v[0], num(1));
    lang_ref sum = op(LANG_ADD, lang_read(p, a, &inner, 1, 0), lang_read(p, a, &before, 1, num(100)));
    *BASE_PUSH(arena, &p->outputs) = add_stage(p, "Y", 1, vars, 1, sum);
    interpreter *before_inlining = interpret(arena, p, inputs);
    /* A = 10, 26, 43; Y = A[10%3] + 100, A[26%3] + 10, A[43%3] + 26 */
    static const int64_t want[3] = {126, 53, 52};
    assert_memory_equal(before_inlining->data[p->outputs.at[0]], want, sizeof want);
    lang_program *q = lang_inline(arena, p, 0);
    assert_non_null(q);
    assert_int_equal(q->stages.n, 1);
    assert_int_equal(q->tensors.n, 2);
    assert_int_equal(q->stages.at[0].var_count, 3); /* i, k of the outer instance, k of the one in its index */
    same_output(p, q, inputs);
}

static void an_output_stays_when_it_is_inlined(void **state) {
    (void)state;
    const int64_t dim[1] = {5};
    static const int8_t data[5] = {3, -4, 5, 100, -128};
    const void *inputs[1] = {data};
    uint32_t x = add_input(p, "X", BASE_I8, 1, dim);
    lang_variable i = variable(p, "i", 5);
    lang_ref v = lang_var(p, 0, i.extent), read = lang_read(p, x, &v, 1, 0);
    uint32_t a = add_stage(p, "A", 1, &i, 1, lang_apply2(p, LANG_MUL, BASE_I8, read, lang_int(p, BASE_I8, 3)));
    lang_ref back = op(LANG_SUB, num(4), v);
    uint32_t y = add_stage(p, "Y", 1, &i, 1, lang_read_flat(p, a, back, 0));
    *BASE_PUSH(arena, &p->outputs) = a;
    *BASE_PUSH(arena, &p->outputs) = y;
    lang_program *q = lang_inline(arena, p, 0);
    assert_int_equal(q->stages.n, 2);
    assert_int_equal(lang_reads_of(q, &q->stages.at[1], q->outputs.at[0]), 0);
    same_output(p, q, inputs);
}

/* An extent reads the stage: it stays. */
static void inlining_that_is_refused(void **state) {
    (void)state;
    lang_variable none[1] = {{0}};
    uint32_t n = add_stage(p, "N", 0, none, 0, num(2));
    lang_ref extent = lang_read(p, n, NULL, 0, 0);
    lang_tensor t = {
        .name = "Y", .type = BASE_I64, .rank = 1, .dim = {4}, .extent = {extent}, .kind = LANG_STAGE, .stage = 1};
    lang_variable v = {.name = "i", .extent = extent, .bound = 4};
    lang_stage s = {.tensor = lang_tensor_add(p, &t),
                    .rank = 1,
                    .var_count = 1,
                    .vars = &v,
                    .body = lang_var(p, 0, extent),
                    .rec = -1};
    *BASE_PUSH(arena, &p->stages) = s;
    *BASE_PUSH(arena, &p->outputs) = s.tensor;
    assert_null(lang_inline(arena, p, 0));
}

/* ---- linking ---- */

/* Y = X * factor + constant C, as a program of its own. */
static lang_program *scaled(const int32_t *c, int32_t factor) {
    const int64_t dim[1] = {4};
    p = lang_program_new(arena, "scaled");
    uint32_t x = add_input(p, "X", BASE_I32, 1, dim), k = add_constant(p, "C", BASE_I32, 1, dim, c);
    lang_variable i = variable(p, "i", 4);
    lang_ref v = lang_var(p, 0, i.extent);
    lang_ref y =
        lang_apply2(p, LANG_ADD, BASE_I32,
                    lang_apply2(p, LANG_MUL, BASE_I32, lang_read(p, x, &v, 1, 0), lang_int(p, BASE_I32, factor)),
                    lang_read(p, k, &v, 1, 0));
    *BASE_PUSH(arena, &p->outputs) = add_stage(p, "Y", 1, &i, 1, y);
    return p;
}

static void linked_programs_compute_the_composition(void **state) {
    (void)state;
    static const int32_t c0[4] = {1, 2, 3, 4}, c1[4] = {-1, -1, 5, 7}, x0[4] = {10, 20, 30, 40}, x1[4] = {5, 6, 7, 8};
    const void *inputs[2] = {x0, x1};
    lang_program *first = scaled(c0, 3), *second = scaled(c1, -2);
    const int64_t dim[1] = {4};
    p = lang_program_new(arena, "sum");
    uint32_t a = add_input(p, "A", BASE_I32, 1, dim), b = add_input(p, "B", BASE_I32, 1, dim);
    *BASE_PUSH(arena, &p->inputs) = IR_NONE; /* an optional input that is absent */
    lang_variable i = variable(p, "i", 4);
    lang_ref v = lang_var(p, 0, i.extent);
    *BASE_PUSH(arena, &p->outputs) = add_stage(
        p, "Y", 1, &i, 1, lang_apply2(p, LANG_ADD, BASE_I32, lang_read(p, a, &v, 1, 0), lang_read(p, b, &v, 1, 0)));
    const lang_link_source in_first = {IR_NONE, 1}, in_second = {0, 0},
                           in_sum[3] = {{1, 0}, {IR_NONE, 0}, {IR_NONE, IR_NONE}};
    const lang_link_part parts[3] = {{first, &in_first}, {second, &in_second}, {p, in_sum}};
    const lang_link_source outputs[2] = {{2, 0}, {0, 0}};
    lang_program *q = lang_link(arena, "whole", parts, 3, 2, outputs, 2);
    assert_non_null(q);
    assert_int_equal(lang_verify(q, &diags), BASE_OK);
    assert_int_equal(q->inputs.n, 2);
    assert_int_equal(q->stages.n, 3);
    interpreter *x = interpret(arena, q, inputs);
    const int32_t *sum = x->data[q->outputs.at[0]], *inner = x->data[q->outputs.at[1]];
    for (int k = 0; k < 4; k++) {
        int32_t t = x1[k] * 3 + c0[k];
        assert_int_equal(inner[k], t);
        assert_int_equal(sum[k], t * -2 + c1[k] + x0[k]);
    }
    /* and through inlining and simplifying */
    lang_program *r = lang_simplify(arena, lang_inline(arena, q, 1));
    assert_int_equal(r->stages.n, 2);
    same_output(q, r, inputs);
}

/* ---- elements apart ---- */

/* Y[o<7] = sum[k<3 | (o+1-k)%2 == 0] X[(o+1-k)/2]?fill * W[k], its products times `more`; of whole numbers, whose sums are exact. */
static void transposed(float fill, lang_ref (*more)(lang_ref read)) {
    static const int64_t four = 4, three = 3;
    uint32_t x = add_input(p, "X", BASE_F32, 1, &four), w = add_input(p, "W", BASE_F32, 1, &three);
    lang_variable vars[2] = {variable(p, "o", 7), variable(p, "k", 3)};
    lang_ref o = lang_var(p, 0, vars[0].extent), k = lang_var(p, 1, vars[1].extent);
    lang_ref at = op(LANG_SUB, op(LANG_ADD, o, num(1)), k), half = op(LANG_DIV, at, num(2));
    lang_ref read = lang_read(p, x, &half, 1, lang_float(p, BASE_F32, (double)fill));
    lang_ref product = op(LANG_MUL, read, lang_read(p, w, &k, 1, 0));
    product = more != NULL ? op(LANG_ADD, product, more(read)) : product;
    lang_ref sum = lang_reduce(p, LANG_SUM, BASE_F32, &k, 1, op(LANG_EQ, op(LANG_MOD, at, num(2)), num(0)), product, 0);
    *BASE_PUSH(arena, &p->outputs) = add_stage(p, "Y", 1, vars, 2, sum);
}

static void sums_of_every_second_place_are_spread(void **state) {
    (void)state;
    static const float x[4] = {3, -5, 7, 11}, w[3] = {2, 13, -1};
    const void *inputs[2] = {x, w};
    transposed(0, NULL);
    /* o = 0: k = 1: X[0] * 13; o = 1: k = 0: X[1] * 2, k = 2: X[0] * -1; ... */
    static const float want[7] = {39, -13, -65, 19, 91, 15, 143};
    assert_memory_equal(interpret(arena, p, inputs)->data[p->outputs.at[0]], want, sizeof want);
    const lang_program *q = lang_spread(arena, p);
    assert_ptr_not_equal(q, p);
    assert_int_equal(q->stages.n, 3);
    assert_int_equal(q->tensors.at[q->stages.at[1].tensor].dim[0], 8);
    same_output(p, q, inputs);
    assert_ptr_equal(lang_spread(arena, q), q);
    uint32_t from = 0;
    int64_t apart[LANG_MAX_RANK];
    assert_true(lang_is_spread(q, q->stages.at[1].tensor, &from, apart));
    assert_int_equal(from, q->inputs.at[0]);
    assert_int_equal(apart[0], 2);
    assert_false(lang_is_spread(q, q->stages.at[0].tensor, &from, apart));
    assert_false(lang_is_spread(q, q->stages.at[2].tensor, &from, apart));
}

static lang_ref itself(lang_ref read) {
    return read;
}

static void what_is_not_0_outside_or_read_twice_is_not_spread(void **state) {
    (void)state;
    transposed(1, NULL);
    assert_ptr_equal(lang_spread(arena, p), p);
    (void)tear_down(NULL);
    (void)set_up(NULL);
    transposed(0, itself);
    assert_ptr_equal(lang_spread(arena, p), p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(rewriting_substitutes),
        TEST(rewriting_stops_at_the_node_limit),
        TEST(a_kept_program_stands_alone),
        cmocka_unit_test_setup_teardown(inlining_random_programs, NULL, tear_down),
        TEST(an_instance_in_the_index_of_another),
        TEST(an_output_stays_when_it_is_inlined),
        TEST(inlining_that_is_refused),
        TEST(linked_programs_compute_the_composition),
        TEST(sums_of_every_second_place_are_spread),
        TEST(what_is_not_0_outside_or_read_twice_is_not_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
