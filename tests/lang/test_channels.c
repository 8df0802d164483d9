/* test_channels.c - ranges for each value of one variable contain every value there; what is exact is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "built.h"

static uint64_t checked, narrower;

static bool holds(base_type type, lang_range r, base_value v) {
    return !r.known || (!(type == BASE_U64 && v.i < 0) && v.i >= r.lo && v.i <= r.hi);
}

/* Every value of node e at each value of variable var. */
static void check_node(interpreter *x, lang_along *a, lang_ranges *wide, const lang_stage *s, lang_ref e,
                       uint32_t var) {
    const lang_node *n = lang_at(x->p, e);
    const base_type type = (base_type)n->type;
    lang_range out[32];
    uint64_t points = 1;
    const lang_range all = lang_range_of(wide, s, e);
    (void)lang_ranges_along(a, s, e, var, out);
    for (uint32_t v = 0; v < s->var_count; v++) {
        points *= v != var && (n->free >> v & 1) != 0 ? (uint64_t)s->vars[v].bound : 1;
    }
    for (int64_t i = 0; i < s->vars[var].bound; i++) {
        narrower += out[i].known && all.known && (out[i].lo > all.lo || out[i].hi < all.hi);
        for (uint64_t k = 0; k < points; k++) {
            uint64_t rest = k;
            for (uint32_t v = 0; v < s->var_count; v++) {
                uint64_t extent = v != var && (n->free >> v & 1) != 0 ? (uint64_t)s->vars[v].bound : 1;
                x->value[v] = v == var ? i : (int64_t)(rest % extent);
                rest /= extent;
            }
            x->failed = false;
            const base_value value = interpret_node(x, e);
            checked += !x->failed;
            if (!x->failed && !holds(type, out[i], value)) {
                base_text t = {.arena = x->arena};
                lang_print(&t, x->p);
                print_error("node %u, variable %u at %lld: %lld is not in [%lld, %lld]\n%s\n", e, var, (long long)i,
                            (long long)value.i, (long long)out[i].lo, (long long)out[i].hi, t.at);
                fail();
            }
        }
    }
}

/* What the input holds at each place of its last extent. */
static void tell(base_arena *a, lang_along *along, const lang_program *q, uint32_t tensor, const void *data) {
    const lang_tensor *t = &q->tensors.at[tensor];
    if (t->rank == 0 || base_type_is_float(t->type) || t->type == BASE_U64 || data == NULL) {
        return;
    }
    const int64_t last = t->dim[t->rank - 1];
    lang_range *list = BASE_NEWS(a, lang_range, (size_t)last + 1);
    for (uint64_t i = 0; i < interpret_elements(t); i++) {
        const int64_t v = base_load(t->type, data, i).i;
        lang_range *r = &list[i % (uint64_t)last];
        *r = i < (uint64_t)last ? (lang_range){v, v, true}
                                : (lang_range){v < r->lo ? v : r->lo, v > r->hi ? v : r->hi, true};
    }
    lang_along_tensor(along, tensor, t->rank - 1, list);
}

static void channels_contain_every_value(void **state) {
    (void)state;
    checked = narrower = 0;
    for (uint64_t seed = 0; seed < 6000; seed++) {
        base_memory m = {0};
        base_arena *a = base_arena_new(&m);
        const void **inputs;
        lang_program *q = random_program(a, seed, 1 + (uint32_t)(seed % 3), seed % 3 == 0, &inputs);
        lang_along *along = lang_along_new(a, q, NULL);
        lang_ranges *wide = lang_ranges_new(a, q);
        interpreter *x = interpret(a, q, inputs);
        for (size_t i = 0; i < q->inputs.n && seed % 2; i++) {
            tell(a, along, q, q->inputs.at[i], inputs[i]);
        }
        const lang_stage *s = &q->stages.at[q->stages.n - 1];
        const uint8_t *reached = lang_reached(a, q, s);
        for (lang_ref e = 1; e < q->nodes.n; e++) {
            for (uint32_t v = 0; v < s->var_count && reached[e] != 0; v++) {
                if ((lang_at(q, e)->free >> v & 1) != 0 && !base_type_is_float((base_type)lang_at(q, e)->type)) {
                    check_node(x, along, wide, s, e, v);
                }
            }
        }
        base_arena_free(a);
    }
    assert_true(checked > 100000);
    assert_true(narrower > 10000);
}

/* ---- exact where it can be ---- */

static void is(const lang_range *r, int64_t lo, int64_t hi) {
    assert_true(r->known);
    assert_int_equal(r->lo, lo);
    assert_int_equal(r->hi, hi);
}

/* sum[k<3] (i32(X[k]) + 10) * i32(W[o,k]), X by its own ranges. */
static void a_product_of_matrices(void **state) {
    (void)state;
    static const int8_t weights[6] = {1, -2, 3, 0, 0, 5};
    static const lang_range x_is[3] = {{-4, 5, true}, {7, 7, true}, {-10, -10, true}};
    const int64_t w_dim[2] = {2, 3}, x_dim[1] = {3};
    const uint32_t w = add_constant(p, "W", BASE_I8, 2, w_dim, weights), x = add_input(p, "X", BASE_I8, 1, x_dim);
    const lang_variable vars[2] = {variable(p, "o", 2), variable(p, "k", 3)};
    const lang_ref o = lang_var(p, 0, num(2)), k = lang_var(p, 1, num(3));
    const lang_ref index[2] = {o, k};
    const lang_ref a = op(LANG_ADD, i32(lang_read(p, x, &k, 1, 0)), i32(num(10)));
    const lang_ref sum =
        lang_reduce(p, LANG_SUM, BASE_I32, &k, 1, 0, op(LANG_MUL, a, i32(lang_read(p, w, index, 2, 0))), 0);
    (void)add_stage(p, "Y", 1, vars, 2, sum);
    lang_along *along = lang_along_new(arena, p, NULL);
    lang_range out[3];
    lang_along_tensor(along, x, 0, x_is);
    assert_true(lang_ranges_along(along, &p->stages.at[0], sum, 0, out));
    is(&out[0], 6 - 34 + 0, 15 - 34 + 0);
    is(&out[1], 0, 0);
    /* of the reduced variable: what is read there */
    assert_true(lang_ranges_along(along, &p->stages.at[0], a, 1, out));
    is(&out[0], 6, 15);
    is(&out[1], 17, 17);
    is(&out[2], 0, 0);
    /* without work left: what holds for all at once */
    uint64_t none = 2;
    lang_along *poor = lang_along_new(arena, p, &none);
    assert_false(lang_ranges_along(poor, &p->stages.at[0], sum, 0, out));
    assert_true(out[0].lo <= -138 * 5 && out[1].hi >= 137 * 5);
}

/* A window of three over X with fill 2: channel 0 is always 2, channel 1 always 3. */
static void padded_taps_take_the_fill(void **state) {
    (void)state;
    static const lang_range x_is[2] = {{2, 2, true}, {3, 3, true}};
    const int64_t dim[2] = {4, 2};
    const uint32_t x = add_input(p, "X", BASE_I8, 2, dim);
    const lang_variable vars[3] = {variable(p, "i", 4), variable(p, "c", 2), variable(p, "k", 3)};
    const lang_ref i = lang_var(p, 0, num(4)), c = lang_var(p, 1, num(2)), k = lang_var(p, 2, num(3));
    const lang_ref at[2] = {op(LANG_SUB, op(LANG_ADD, i, k), num(1)), c};
    const lang_ref v = i32(lang_read(p, x, at, 2, lang_int(p, BASE_I8, 2)));
    const lang_ref sum = lang_reduce(p, LANG_SUM, BASE_I32, &k, 1, 0, v, 0);
    const lang_ref top = lang_reduce(p, LANG_RMAX, BASE_I32, &k, 1, 0, v, 0);
    (void)add_stage(p, "Y", 2, vars, 3, op(LANG_ADD, sum, top));
    lang_along *along = lang_along_new(arena, p, NULL);
    lang_range out[2];
    lang_along_tensor(along, x, 1, x_is);
    (void)lang_ranges_along(along, &p->stages.at[0], sum, 1, out);
    is(&out[0], 6, 6);
    is(&out[1], 7, 9); /* the middle tap is inside at every i */
    (void)lang_ranges_along(along, &p->stages.at[0], top, 1, out);
    is(&out[0], 2, 2);
    is(&out[1], 3, 3);
}

/* clamp(rha(f64(x) * scale[o]) + zero, low, high), as numerics in double have it. */
static void words_on_reals(void **state) {
    (void)state;
    static const double scales[3] = {0.5, -0.25, 0.001};
    const int64_t dim[1] = {3};
    const uint32_t w = add_constant(p, "S", BASE_F64, 1, dim, scales), x = add_input(p, "X", BASE_I8, 1, dim);
    const lang_variable o = variable(p, "o", 3);
    const lang_ref at = lang_var(p, 0, num(3));
    const lang_ref product = op(LANG_MUL, to(BASE_F64, lang_read(p, x, &at, 1, 0)), lang_read(p, w, &at, 1, 0));
    const lang_ref moved = op(LANG_ADD, lang_apply1(p, LANG_RHA, BASE_F64, product), lang_float(p, BASE_F64, 3.0));
    const lang_ref y = to(BASE_I8, op(LANG_MIN, moved, lang_float(p, BASE_F64, 50.0)));
    (void)add_stage(p, "Y", 1, &o, 1, y);
    lang_along *along = lang_along_new(arena, p, NULL);
    lang_range out[3];
    assert_true(lang_ranges_along(along, &p->stages.at[0], y, 0, out));
    is(&out[0], -61, 50);
    is(&out[1], 3 - 32, 3 + 32);
    is(&out[2], 3, 3);
}

/* Row l of X has its K elements behind l * K: a flat number, by whose remainder the channel is known. */
static void flat_reads(void **state) {
    (void)state;
    static const lang_range x_is[2] = {{1, 1, true}, {-5, 6, true}};
    const int64_t dim[3] = {2, 3, 2};
    const uint32_t x = add_input(p, "X", BASE_I8, 3, dim);
    const lang_variable vars[2] = {variable(p, "l", 3), variable(p, "k", 4)};
    const lang_ref l = lang_var(p, 0, num(3)), k = lang_var(p, 1, num(4));
    const lang_ref y = lang_read_flat(p, x, op(LANG_ADD, op(LANG_MUL, l, num(4)), k), 0);
    (void)add_stage(p, "Y", 2, vars, 2, y);
    lang_along *along = lang_along_new(arena, p, NULL);
    lang_range out[4];
    lang_along_tensor(along, x, 2, x_is);
    assert_true(lang_ranges_along(along, &p->stages.at[0], y, 1, out));
    is(&out[0], 1, 1);
    is(&out[1], -5, 6);
    is(&out[2], 1, 1);
    is(&out[3], -5, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_contain_every_value),
        cmocka_unit_test_setup_teardown(a_product_of_matrices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(padded_taps_take_the_fill, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_on_reals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flat_reads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
