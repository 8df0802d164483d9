/* test_transform_fold.c - what depends on constants only is computed; what nothing needs is dropped. */
#include "built.h"

static const int64_t four[1] = {4};
static lang_variable i;
static lang_ref v;

/* W (constant) -> A = W*W (constant too) -> B = A + 1, D = dead; Y = X * B. */
static uint32_t build(uint32_t *x) {
    static const int8_t w[4] = {1, -2, 3, 100};
    i = variable(p, "i", 4);
    v = lang_var(p, 0, i.extent);
    uint32_t tw = add_constant(p, "W", BASE_I8, 1, four, w), unused = add_constant(p, "U", BASE_I8, 1, four, w);
    *x = add_input(p, "X", BASE_I32, 1, four);
    lang_ref rw = i32(lang_read(p, tw, &v, 1, 0));
    uint32_t a = add_stage(p, "A", 1, &i, 1, op(LANG_MUL, rw, rw));
    uint32_t b = add_stage(p, "B", 1, &i, 1, op(LANG_ADD, lang_read(p, a, &v, 1, 0), lang_int(p, BASE_I32, 1)));
    (void)add_stage(p, "D", 1, &i, 1, op(LANG_ADD, lang_read(p, *x, &v, 1, 0), i32(lang_read(p, unused, &v, 1, 0))));
    uint32_t y = add_stage(p, "Y", 1, &i, 1, op(LANG_MUL, lang_read(p, *x, &v, 1, 0), lang_read(p, b, &v, 1, 0)));
    *BASE_PUSH(arena, &p->outputs) = y;
    return b;
}

static void constant_stages_become_constants(void **state) {
    (void)state;
    uint32_t x;
    (void)build(&x);
    lang_program *q = lang_fold(arena, p, 1024);
    assert_int_equal(lang_verify(q, &diags), BASE_OK);
    assert_int_equal(q->stages.n, 1);
    assert_int_equal(q->tensors.n, 3); /* X, B, Y: W, A, U and D have gone */
    assert_int_equal(q->inputs.n, 1);
    const lang_tensor *b = &q->tensors.at[1];
    static const int32_t want[4] = {2, 5, 10, 10001};
    assert_int_equal(b->kind, LANG_CONSTANT);
    assert_memory_equal(b->data, want, sizeof want);
    static const int32_t data[4] = {7, -1, 2, 3}, product[4] = {14, -5, 20, 30003};
    const void *inputs[1] = {data};
    interpreter *run = interpret(arena, q, inputs);
    assert_memory_equal(run->data[q->outputs.at[0]], product, sizeof product);
}

static void a_constant_output_stays_a_stage(void **state) {
    (void)state;
    uint32_t x;
    p->outputs.n = 0;
    uint32_t b = build(&x);
    *BASE_PUSH(arena, &p->outputs) = b;
    lang_program *q = lang_fold(arena, p, 1024);
    assert_int_equal(lang_verify(q, &diags), BASE_OK);
    assert_int_equal(q->stages.n, 2);
    const lang_tensor *out = &q->tensors.at[q->outputs.at[1]];
    assert_int_equal(out->kind, LANG_STAGE);
    const lang_node *body = lang_at(q, q->stages.at[out->stage].body);
    assert_int_equal(body->kind, LANG_READ);
    assert_int_equal(q->tensors.at[body->index].kind, LANG_CONSTANT);
    lang_program *again = lang_fold(arena, q, 1024); /* nothing more to do */
    assert_int_equal(again->stages.n, 2);
    assert_int_equal(again->tensors.n, q->tensors.n);
}

static void limits_and_failures_leave_stages(void **state) {
    (void)state;
    uint32_t x;
    uint32_t b = build(&x);
    lang_program *q = lang_fold(arena, p, 15); /* A and B have 16 bytes */
    assert_int_equal(q->stages.n, 3);          /* D is dead all the same */
    /* a read outside without fill: an error of the definition, told when it runs, not here */
    lang_ref far = lang_apply2(p, LANG_ADD, BASE_I64, v, lang_int(p, BASE_I64, 3));
    lang_stage *s = &p->stages.at[p->tensors.at[b].stage];
    s->body = i32(lang_read(p, 0, &far, 1, 0));
    q = lang_fold(arena, p, 1024);
    assert_int_equal(q->stages.n, 2);
}

static void known_inputs_fold_and_stay(void **state) {
    (void)state;
    static const int32_t data[4] = {7, -1, 2, 3};
    i = variable(p, "i", 4);
    v = lang_var(p, 0, i.extent);
    uint32_t x = add_input(p, "X", BASE_I32, 1, four), z = add_input(p, "Z", BASE_I32, 1, four);
    p->tensors.at[x].data = data;
    uint32_t a = add_stage(p, "A", 1, &i, 1, op(LANG_MUL, lang_read(p, x, &v, 1, 0), lang_int(p, BASE_I32, 2)));
    uint32_t y = add_stage(p, "Y", 1, &i, 1, op(LANG_ADD, lang_read(p, a, &v, 1, 0), lang_read(p, z, &v, 1, 0)));
    *BASE_PUSH(arena, &p->outputs) = y;
    lang_program *q = lang_fold(arena, p, 1024);
    assert_int_equal(q->stages.n, 1);
    assert_int_equal(q->inputs.n, 2);
    assert_int_equal(q->tensors.at[q->inputs.at[0]].kind, LANG_INPUT);
    assert_int_equal(q->tensors.n, 4);
}

/* R[t] = R[t-1]?1 * 2, all known; and one that reads an input and is not. */
static void recurrences_fold_as_a_whole(void **state) {
    (void)state;
    i = variable(p, "t", 4);
    v = lang_var(p, 0, i.extent);
    uint32_t x = add_input(p, "X", BASE_I64, 1, four);
    uint32_t r[2];
    for (int32_t k = 0; k < 2; k++) {
        r[k] = add_stage(p, "R", 1, &i, 1, lang_int(p, BASE_I64, 1));
        lang_ref before = lang_apply2(p, LANG_SUB, BASE_I64, v, lang_int(p, BASE_I64, 1));
        lang_ref own = op(LANG_MUL, lang_read(p, r[k], &before, 1, lang_int(p, BASE_I64, 1)), lang_int(p, BASE_I64, 2));
        lang_stage *s = &p->stages.at[p->tensors.at[r[k]].stage];
        s->body = k == 0 ? own : op(LANG_ADD, own, lang_read(p, x, &v, 1, 0));
        s->rec = k;
    }
    p->rec_count = 2;
    *BASE_PUSH(arena, &p->outputs) =
        add_stage(p, "Y", 1, &i, 1, op(LANG_ADD, lang_read(p, r[0], &v, 1, 0), lang_read(p, r[1], &v, 1, 0)));
    lang_program *q = lang_fold(arena, p, 1024);
    assert_int_equal(q->stages.n, 2);
    static const int64_t want[4] = {2, 4, 8, 16};
    bool found = false;
    for (size_t t = 0; t < q->tensors.n; t++) {
        if (q->tensors.at[t].kind == LANG_CONSTANT) {
            assert_memory_equal(q->tensors.at[t].data, want, sizeof want);
            found = true;
        }
    }
    assert_true(found);
}

/* Random programs without inputs of their own: all is folded, to what the interpreter says. */
static void random_constants(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        const void **inputs;
        base_memory m = {0};
        base_arena *a = base_arena_new(&m);
        lang_program *q = random_program(a, seed + 90000, 3, false, &inputs);
        for (uint32_t k = 0; k < 2; k++) {
            q->tensors.at[k].data = inputs[k];
        }
        interpreter *x = interpret(a, q, inputs);
        uint32_t out = q->outputs.at[0];
        lang_program *r = lang_fold(a, q, 1 << 20);
        assert_int_equal(r->stages.n, 1);
        const lang_node *body = lang_at(r, r->stages.at[0].body);
        assert_true(body->kind == LANG_CONST ||
                    (body->kind == LANG_READ && r->tensors.at[body->index].kind == LANG_CONSTANT));
        interpreter *y = interpret(a, r, inputs);
        assert_memory_equal(x->data[out], y->data[r->outputs.at[0]], interpret_bytes(&q->tensors.at[out]));
        base_arena_free(a);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(constant_stages_become_constants), TEST(a_constant_output_stays_a_stage),
        TEST(limits_and_failures_leave_stages), TEST(known_inputs_fold_and_stay),
        TEST(recurrences_fold_as_a_whole),      cmocka_unit_test(random_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
