/* test_analysis_roles.c - patterns and roles of hand-built stages; affine forms, conjuncts, bound checks, reads,
 * counts. */
#include "built.h"

static lang_ref add(lang_ref a, lang_ref b) {
    return op(LANG_ADD, a, b);
}

static lang_ref mul(lang_ref a, lang_ref b) {
    return op(LANG_MUL, a, b);
}

/* Variables of the stage at hand, by their extents. */
static lang_variable vars[8];
static lang_ref v[8];
static uint32_t var_count;
static void variables(uint32_t n, const int64_t *extent) {
    var_count = n;
    for (uint32_t k = 0; k < n; k++) {
        vars[k] = variable(p, "v", extent[k]);
        v[k] = lang_var(p, k, vars[k].extent);
    }
}

static lang_roles roles(uint32_t rank, lang_ref body) {
    (void)add_stage(p, "Y", rank, vars, var_count, body);
    lang_ranges *r = lang_ranges_new(arena, p);
    return lang_roles_of(r, &p->stages.at[p->stages.n - 1]);
}

static lang_ref read2(uint32_t t, lang_ref a, lang_ref b) {
    lang_ref index[2] = {a, b};
    return lang_read(p, t, index, 2, 0);
}

static void expect_roles(const lang_roles *r, uint32_t n, const lang_role *role) {
    for (uint32_t k = 0; k < n; k++) {
        assert_int_equal(r->role[k], role[k]);
    }
}

/* Y[n,y,x,o] = sum[i<3,j<3,c<C] (i32(X[n,y+i-1,x+j-1,group(o)*Cg+c] ? -3) + 3) * i32(W[o,i,j,c]) + B[o], clamped to
 * i8 */
static lang_roles conv2d(int64_t groups, bool simplify, const lang_program **program) {
    static const int8_t weights[8 * 3 * 3 * 4] = {1, 2};
    static const int32_t bias[8];
    const int64_t c = 4, x_dim[4] = {2, 5, 5, 4}, w_dim[4] = {8, 3, 3, 4 / groups}, b_dim[1] = {8};
    const int64_t extent[7] = {2, 5, 5, 8, 3, 3, c / groups};
    variables(7, extent);
    uint32_t tx = add_input(p, "X", BASE_I8, 4, x_dim), tw = add_constant(p, "W", BASE_I8, 4, w_dim, weights);
    uint32_t tb = add_constant(p, "B", BASE_I32, 1, b_dim, bias);
    lang_ref group = op(LANG_DIV, v[3], num(8 / groups));
    lang_ref xi[4] = {v[0], add(add(v[1], v[4]), num(-1)), add(add(v[2], v[5]), num(-1)),
                      add(mul(group, num(c / groups)), v[6])};
    lang_ref wi[4] = {v[3], v[4], v[5], v[6]};
    lang_ref x = add(i32(lang_read(p, tx, xi, 4, lang_int(p, BASE_I8, -3))), lang_int(p, BASE_I32, 3));
    lang_ref w = i32(lang_read(p, tw, wi, 4, 0));
    lang_ref sum = lang_reduce(p, LANG_SUM, BASE_I32, &v[4], 3, 0, mul(w, x), 0);
    lang_ref y = to(BASE_I8, op(LANG_MIN, add(sum, lang_read(p, tb, &v[3], 1, 0)), lang_int(p, BASE_I32, 127)));
    (void)add_stage(p, "Y", 4, vars, 7, y);
    *program = simplify ? lang_simplify(arena, p) : p;
    lang_ranges *r = lang_ranges_new(arena, *program);
    return lang_roles_of(r, &(*program)->stages.at[0]);
}

static void a_convolution_is_a_contraction(void **state) {
    (void)state;
    static const lang_role want[7] = {LANG_ROLE_M, LANG_ROLE_M, LANG_ROLE_M, LANG_ROLE_N,
                                      LANG_ROLE_K, LANG_ROLE_K, LANG_ROLE_K};
    const lang_program *q;
    lang_roles r = conv2d(1, true, &q);
    assert_int_equal(r.pattern, LANG_CONTRACT);
    expect_roles(&r, 7, want);
    assert_true(r.mixed);
    assert_true(r.guarded);
    assert_string_equal(q->tensors.at[lang_at(q, r.a.read)->index].name, "X");
    assert_string_equal(q->tensors.at[lang_at(q, r.b.read)->index].name, "W");
    assert_int_equal(lang_at(q, r.a.addend)->value.i, 3);
    assert_int_equal(r.b.addend, 0);
    assert_int_equal(lang_at(q, r.reduction)->kind, LANG_REDUCE);
    /* the channel of X has lost its group: the whole read is affine */
    lang_affine form;
    assert_true(lang_affine_read(q, r.a.read, &form));
    assert_int_equal(form.coefficient[0], 100);
    assert_int_equal(form.coefficient[1], 20);
    assert_int_equal(form.coefficient[4], 20);
    assert_int_equal(form.coefficient[2], 4);
    assert_int_equal(form.coefficient[6], 1);
    assert_int_equal(form.coefficient[3], 0);
    assert_int_equal(form.constant, -24);
    assert_int_equal(lang_macs(q), 2 * 5 * 5 * 8 * 3 * 3 * 4);
}

static void bound_checks_of_a_convolution(void **state) {
    (void)state;
    const lang_program *q;
    lang_roles r = conv2d(1, true, &q);
    lang_ranges *ranges = lang_ranges_new(arena, q);
    lang_bound_check check[4];
    size_t n = 4;
    assert_true(lang_read_checks(ranges, &q->stages.at[0], r.a.read, check, &n));
    assert_int_equal(n, 2); /* y and x; batch and channel cannot leave */
    assert_true(check[0].low && check[0].high);
    assert_int_equal(check[0].extent, 5);
    assert_int_equal(check[0].index.constant, -1);
    assert_int_equal(check[0].index.coefficient[1], 1);
    assert_int_equal(check[1].index.coefficient[2], 1);
    n = 1;
    assert_false(lang_read_checks(ranges, &q->stages.at[0], r.a.read, check, &n)); /* no room */
    n = 4;
    assert_true(lang_read_checks(ranges, &q->stages.at[0], r.b.read, check, &n));
    assert_int_equal(n, 0);
}

static void a_grouped_convolution_has_no_columns(void **state) {
    (void)state;
    static const lang_role want[7] = {LANG_ROLE_M, LANG_ROLE_M, LANG_ROLE_M, LANG_ROLE_BATCH,
                                      LANG_ROLE_K, LANG_ROLE_K, LANG_ROLE_K};
    const lang_program *q;
    lang_roles r = conv2d(2, true, &q);
    assert_int_equal(r.pattern, LANG_DEPTHWISE);
    expect_roles(&r, 7, want);
    lang_affine form;
    assert_false(lang_affine_read(q, r.a.read, &form)); /* o/4 */
}

static void depthwise(void **state) {
    (void)state;
    static const int8_t weights[9 * 6];
    const int64_t x_dim[3] = {7, 7, 6}, w_dim[3] = {3, 3, 6}, extent[5] = {5, 5, 6, 3, 3};
    static const lang_role want[5] = {LANG_ROLE_M, LANG_ROLE_M, LANG_ROLE_BATCH, LANG_ROLE_K, LANG_ROLE_K};
    variables(5, extent);
    uint32_t tx = add_input(p, "X", BASE_I8, 3, x_dim), tw = add_constant(p, "W", BASE_I8, 3, w_dim, weights);
    lang_ref xi[3] = {add(v[0], v[3]), add(v[1], v[4]), v[2]}, wi[3] = {v[3], v[4], v[2]};
    lang_ref body = mul(i32(lang_read(p, tw, wi, 3, 0)), i32(lang_read(p, tx, xi, 3, 0)));
    lang_roles r = roles(3, lang_reduce(p, LANG_SUM, BASE_I32, &v[3], 2, 0, body, 0));
    assert_int_equal(r.pattern, LANG_DEPTHWISE);
    expect_roles(&r, 5, want);
    assert_int_equal(lang_at(p, r.b.read)->index, tw);
    assert_true(r.mixed);
    assert_false(r.guarded);
    assert_int_equal(lang_macs(p), 5 * 5 * 6 * 9);
}

static void fully_connected(void **state) {
    (void)state;
    static const int8_t weights[6 * 5] = {1, 2};
    const int64_t x_dim[2] = {1, 5}, w_dim[2] = {6, 5}, extent[3] = {1, 6, 5};
    static const lang_role want[3] = {LANG_ROLE_FREE, LANG_ROLE_N, LANG_ROLE_K};
    variables(3, extent);
    uint32_t tx = add_input(p, "X", BASE_I8, 2, x_dim), tw = add_constant(p, "W", BASE_I8, 2, w_dim, weights);
    lang_ref body = mul(i32(read2(tx, v[0], v[2])), i32(read2(tw, v[1], v[2])));
    lang_roles r = roles(2, lang_reduce(p, LANG_SUM, BASE_I32, &v[2], 1, 0, body, 0));
    assert_int_equal(r.pattern, LANG_CONTRACT);
    assert_int_equal(r.role[0], LANG_ROLE_M);
    const lang_program *q = lang_simplify(arena, p); /* one row: its variable vanishes from X */
    lang_ranges *ranges = lang_ranges_new(arena, q);
    r = lang_roles_of(ranges, &q->stages.at[0]);
    assert_int_equal(r.pattern, LANG_CONTRACT);
    expect_roles(&r, 3, want);
    assert_int_equal(lang_at(q, r.b.read)->index, tw);
}

static void batched_matmul(void **state) {
    (void)state;
    const int64_t a_dim[3] = {2, 3, 4}, b_dim[3] = {2, 4, 5}, extent[4] = {2, 3, 5, 4};
    static const lang_role want[4] = {LANG_ROLE_BATCH, LANG_ROLE_M, LANG_ROLE_N, LANG_ROLE_K};
    variables(4, extent);
    uint32_t tb = add_input(p, "B", BASE_F32, 3, b_dim), ta = add_input(p, "A", BASE_F32, 3, a_dim);
    lang_ref ai[3] = {v[0], v[1], v[3]}, bi[3] = {v[0], v[3], v[2]};
    lang_ref body = mul(lang_read(p, tb, bi, 3, 0), lang_read(p, ta, ai, 3, 0));
    lang_roles r = roles(3, lang_reduce(p, LANG_SUM, BASE_F32, &v[3], 1, 0, body, 0));
    assert_int_equal(r.pattern, LANG_CONTRACT);
    expect_roles(&r, 4, want); /* A has the first row, whatever stands first in the text */
    assert_int_equal(lang_at(p, r.a.read)->index, ta);
    assert_false(r.mixed);
}

static void pools_and_rows(void **state) {
    (void)state;
    const int64_t x_dim[2] = {6, 4}, extent[3] = {3, 4, 2};
    variables(3, extent);
    uint32_t tx = add_input(p, "X", BASE_I8, 2, x_dim);
    lang_ref x = read2(tx, add(mul(v[0], num(2)), v[2]), v[1]);
    lang_roles r = roles(2, lang_reduce(p, LANG_RMAX, BASE_I8, &v[2], 1, 0, x, 0));
    assert_int_equal(r.pattern, LANG_WINDOW);
    assert_true(r.mixed);
    assert_false(r.guarded);
    r = roles(2, to(BASE_I8, op(LANG_DIV, lang_reduce(p, LANG_SUM, BASE_I32, &v[2], 1, 0, i32(x), 0),
                                lang_int(p, BASE_I32, 2))));
    assert_int_equal(r.pattern, LANG_WINDOW);
    assert_int_equal(r.role[2], LANG_ROLE_K_A);
    assert_int_equal(r.role[0], LANG_ROLE_M);
    r = roles(2, lang_reduce(p, LANG_RMAX, BASE_I8, &v[2], 1, op(LANG_LT, add(v[0], v[2]), num(3)), x, 0));
    assert_int_equal(r.pattern, LANG_WINDOW);
    assert_true(r.guarded);
}

static void softmax(void **state) {
    (void)state;
    const int64_t x_dim[2] = {3, 5}, m_dim[1] = {3}, extent[3] = {3, 5, 5}, short_extent[2] = {3, 5};
    variables(3, extent);
    uint32_t x = add_input(p, "X", BASE_F32, 2, x_dim), m = add_input(p, "M", BASE_F32, 1, m_dim);
    lang_ref e = lang_apply1(p, LANG_EXP, BASE_F32, op(LANG_SUB, read2(x, v[0], v[1]), lang_read(p, m, &v[0], 1, 0)));
    lang_roles r = roles(2, e);
    assert_int_equal(r.pattern, LANG_MAP);
    assert_int_equal(r.reduction, 0);
    variables(2, short_extent);
    r = roles(1, lang_reduce(p, LANG_RMAX, BASE_F32, &v[1], 1, 0, read2(x, v[0], v[1]), 0));
    assert_int_equal(r.pattern, LANG_ROW);
    assert_false(r.mixed);
    assert_int_equal(r.role[1], LANG_ROLE_K_A);
    lang_ref d = op(LANG_SUB, read2(x, v[0], v[1]), lang_read(p, m, &v[0], 1, 0));
    r = roles(1, lang_reduce(p, LANG_SUM, BASE_F32, &v[1], 1, 0, mul(d, d), 0));
    assert_int_equal(r.pattern, LANG_ROW);
    /* two sums in one stage */
    lang_ref s = lang_reduce(p, LANG_SUM, BASE_F32, &v[1], 1, 0, d, 0);
    r = roles(1, op(LANG_DIV, s, lang_reduce(p, LANG_RMAX, BASE_F32, &v[1], 1, 0, d, 0)));
    assert_int_equal(r.pattern, LANG_OTHER);
    assert_int_equal(r.reduction, 0);
}

static void moves(void **state) {
    (void)state;
    const int64_t x_dim[2] = {4, 3}, j_dim[1] = {3}, extent[2] = {3, 4};
    variables(2, extent);
    uint32_t x = add_input(p, "X", BASE_I8, 2, x_dim), j = add_input(p, "J", BASE_I32, 1, j_dim);
    lang_roles r = roles(2, i32(read2(x, v[1], v[0])));
    assert_int_equal(r.pattern, LANG_MOVE);
    assert_int_equal(lang_at(p, r.a.read)->kind, LANG_READ);
    r = roles(2, read2(x, to(BASE_I64, lang_read(p, j, &v[0], 1, 0)), v[0]));
    assert_int_equal(r.pattern, LANG_MOVE);
    assert_int_equal(lang_at(p, r.a.read)->index, x);
}

static void scatters_and_prefixes(void **state) {
    (void)state;
    const int64_t u_dim[1] = {3}, extent[2] = {6, 3}, square[2] = {6, 6}, x_dim[1] = {6};
    variables(2, extent);
    uint32_t u = add_input(p, "U", BASE_I8, 1, u_dim), j = add_input(p, "J", BASE_I32, 1, u_dim),
             x = add_input(p, "X", BASE_I8, 1, x_dim);
    lang_ref at = to(BASE_I64, lang_read(p, j, &v[1], 1, 0));
    lang_ref tie = op(LANG_EQ, at, v[0]), update = lang_read(p, u, &v[1], 1, 0), old = lang_read(p, x, &v[0], 1, 0);
    lang_roles r = roles(1, lang_reduce(p, LANG_LAST, BASE_I8, &v[1], 1, tie, update, old));
    assert_int_equal(r.pattern, LANG_SCATTER);
    /* transposed convolution: i*2 + k - 1 == o, among other conjuncts */
    lang_ref strided = op(LANG_EQ, add(mul(v[1], num(2)), num(-1)), v[0]);
    r = roles(1, lang_reduce(p, LANG_SUM, BASE_I32, &v[1], 1, op(LANG_AND, op(LANG_LT, v[1], v[0]), strided),
                             i32(update), 0));
    assert_int_equal(r.pattern, LANG_SCATTER);
    variables(2, square);
    lang_ref value = lang_read(p, x, &v[1], 1, 0);
    r = roles(1, lang_reduce(p, LANG_SUM, BASE_I32, &v[1], 1, op(LANG_LE, v[1], v[0]), i32(value), 0));
    assert_int_equal(r.pattern, LANG_ROW); /* a prefix sum */
    assert_true(r.guarded);
    /* argmax: values are compared, no index is tied */
    lang_ref same = op(LANG_EQ, value, lang_read(p, x, &v[0], 1, 0));
    r = roles(1, lang_reduce(p, LANG_FIRST, BASE_I64, &v[1], 1, same, v[1], num(0)));
    assert_int_equal(r.pattern, LANG_ROW);
}

static void recurrences(void **state) {
    (void)state;
    const int64_t extent[1] = {6};
    variables(1, extent);
    uint32_t t = add_stage(p, "R", 1, vars, 1, num(1));
    lang_ref before = add(v[0], num(-1));
    p->stages.at[0].body = add(lang_read(p, t, &before, 1, num(0)), num(1));
    p->stages.at[0].rec = 0;
    lang_roles r = lang_roles_of(lang_ranges_new(arena, p), &p->stages.at[0]);
    assert_int_equal(r.pattern, LANG_RECURRENT);
}

/* ---- affine forms ---- */

static void affine_forms(void **state) {
    (void)state;
    const int64_t extent[3] = {10, 10, 10};
    lang_affine a;
    variables(3, extent);
    lang_ref e = op(LANG_SUB, add(mul(v[0], num(3)), num(7)), mul(add(v[1], v[2]), num(2)));
    assert_true(lang_affine_of(p, e, &a));
    assert_int_equal(a.constant, 7);
    assert_int_equal(a.coefficient[0], 3);
    assert_int_equal(a.coefficient[1], -2);
    assert_int_equal(a.coefficient[2], -2);
    assert_int_equal(a.vars, 7);
    assert_true(lang_affine_of(p, op(LANG_SUB, add(v[0], v[1]), v[0]), &a));
    assert_int_equal(a.vars, 2);
    assert_true(lang_affine_of(p, op(LANG_SHL, v[0], num(4)), &a));
    assert_int_equal(a.coefficient[0], 16);
    assert_true(lang_affine_of(p, lang_apply1(p, LANG_NEG, BASE_I64, v[0]), &a));
    assert_int_equal(a.coefficient[0], -1);
    assert_true(lang_affine_of(p, to(BASE_I64, add(i32(v[0]), lang_int(p, BASE_I32, 5))), &a));
    assert_int_equal(a.constant, 5);
    assert_false(lang_affine_of(p, op(LANG_DIV, v[0], num(2)), &a));
    assert_false(lang_affine_of(p, op(LANG_MOD, v[0], num(2)), &a));
    assert_false(lang_affine_of(p, mul(v[0], v[1]), &a));
    /* an i8 would wrap: 9 * 20 is 180 */
    assert_false(lang_affine_of(p, to(BASE_I64, mul(to(BASE_I8, v[0]), lang_int(p, BASE_I8, 20))), &a));
    assert_true(lang_affine_of(p, to(BASE_I64, mul(to(BASE_I8, v[0]), lang_int(p, BASE_I8, 14))), &a));
    /* partial sums may wrap when the whole comes back */
    lang_ref far = add(mul(v[0], num(INT64_MAX / 4)), num(1));
    assert_false(lang_affine_of(p, far, &a));
    /* sharing doubles the tree, not the work */
    lang_ref doubled = v[0];
    for (int k = 0; k < 60; k++) {
        doubled = add(doubled, doubled);
    }
    assert_false(lang_affine_of(p, doubled, &a));
}

static void affine_reads(void **state) {
    (void)state;
    const int64_t extent[2] = {4, 3}, dim[2] = {4, 3};
    lang_affine a;
    variables(2, extent);
    uint32_t x = add_input(p, "X", BASE_I8, 2, dim);
    assert_true(lang_affine_read(p, read2(x, v[0], op(LANG_SUB, num(2), v[1])), &a));
    assert_int_equal(a.constant, 2);
    assert_int_equal(a.coefficient[0], 3);
    assert_int_equal(a.coefficient[1], -1);
    assert_true(lang_affine_read(p, lang_read_flat(p, x, add(mul(v[0], num(3)), v[1]), 0), &a));
    assert_int_equal(a.coefficient[0], 3);
    lang_bound_check check[2];
    size_t n = 2;
    lang_ranges *r = lang_ranges_new(arena, p);
    lang_ref read = lang_read_flat(p, x, add(mul(v[0], num(3)), add(v[1], num(1))), 0);
    assert_true(lang_read_checks(r, NULL, read, check, &n));
    assert_int_equal(n, 1);
    assert_int_equal(check[0].extent, 12);
    assert_false(check[0].low);
    assert_true(check[0].high);
    n = 2;
    assert_false(lang_read_checks(r, NULL, read2(x, op(LANG_DIV, mul(v[0], v[0]), num(2)), v[1]), check, &n));
}

/* Reads under conditions: a pool's guard, a concatenation's if, and a read that two branches share. */
static void reads_that_conditions_keep_inside(void **state) {
    (void)state;
    const int64_t extent[2] = {6, 3}, dim[1] = {6}, half[1] = {3};
    variables(2, extent);
    uint32_t x = add_input(p, "X", BASE_I8, 1, dim), z = add_input(p, "Z", BASE_I8, 1, half);
    lang_ref at = add(add(v[0], v[1]), num(-1));
    lang_ref guard = op(LANG_AND, op(LANG_LE, num(0), at), op(LANG_LT, at, num(6))), read = lang_read(p, x, &at, 1, 0);
    lang_ranges *r = lang_ranges_new(arena, p);
    (void)add_stage(p, "P", 1, vars, 2, lang_reduce(p, LANG_RMAX, BASE_I8, &v[1], 1, guard, read, 0));
    lang_ref only_high = lang_reduce(p, LANG_RMAX, BASE_I8, &v[1], 1, op(LANG_LT, at, num(6)), read, 0);
    (void)add_stage(p, "Q", 1, vars, 2, only_high);
    assert_true(lang_read_inside(r, &p->stages.at[0], read));
    assert_false(lang_read_inside(r, &p->stages.at[1], read));
    lang_ref low = lang_read(p, z, &v[0], 1, 0), shifted = add(v[0], num(-3)), high = lang_read(p, z, &shifted, 1, 0);
    lang_ref c = op(LANG_LT, v[0], num(3)), args[3] = {c, low, high};
    lang_ref choice = lang_apply(p, LANG_IF, BASE_I8, args, 3);
    (void)add_stage(p, "C", 1, vars, 1, choice);
    assert_true(lang_read_inside(r, &p->stages.at[2], low));
    assert_true(lang_read_inside(r, &p->stages.at[2], high));
    assert_true(lang_read_inside(r, &p->stages.at[0], lang_read(p, x, &v[0], 1, 0)));
    /* evaluated outside the if as well: nothing is known */
    (void)add_stage(p, "D", 1, vars, 1, add(choice, high));
    assert_false(lang_read_inside(r, &p->stages.at[3], high));
    assert_true(lang_read_inside(r, &p->stages.at[3], low));
    /* c || Z[i-3] == 0: the second side is evaluated where c fails; && where it holds */
    lang_ref zero = op(LANG_EQ, high, lang_int(p, BASE_I8, 0));
    (void)add_stage(p, "E", 1, vars, 1, op(LANG_OR, c, zero));
    (void)add_stage(p, "F", 1, vars, 1, op(LANG_AND, c, zero));
    assert_true(lang_read_inside(r, &p->stages.at[4], high));
    assert_false(lang_read_inside(r, &p->stages.at[5], high));
}

/* Where inside is proved, no fill is ever taken. */
static void proofs_of_inside_hold(void **state) {
    (void)state;
    uint64_t proofs = 0, by_conditions = 0, filled = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        base_memory m = {0};
        base_arena *a = base_arena_new(&m);
        const void **inputs;
        const lang_program *q = random_program(a, seed + 70000, 1, false, &inputs);
        lang_ranges *r = lang_ranges_new(a, q);
        interpreter *x = interpret(a, q, inputs);
        for (lang_ref e = 1; e < q->nodes.n; e++) {
            const lang_node *n = lang_at(q, e);
            if (n->kind != LANG_READ) {
                continue;
            }
            filled += x->filled[e];
            if (lang_read_inside(r, &q->stages.at[0], e)) {
                lang_bound_check check[LANG_MAX_RANK];
                size_t checks = LANG_MAX_RANK;
                bool anywhere = lang_read_checks(r, &q->stages.at[0], e, check, &checks) && checks == 0;
                assert_false(x->filled[e]);
                proofs++;
                by_conditions += !anywhere;
            }
        }
        base_arena_free(a);
    }
    assert_true(proofs > 500);
    assert_true(by_conditions > 20);
    assert_true(filled > 200);
}

static void conjuncts(void **state) {
    (void)state;
    const int64_t extent[4] = {9, 9, 9, 9};
    lang_ref part[8], c[4];
    variables(4, extent);
    for (uint32_t k = 0; k < 4; k++) {
        c[k] = op(LANG_LT, v[k], num(5));
    }
    lang_ref left = op(LANG_AND, op(LANG_AND, c[0], c[1]), op(LANG_AND, c[2], c[3]));
    assert_int_equal(lang_conjuncts(p, left, part, 8), 4);
    assert_memory_equal(part, c, sizeof c);
    assert_int_equal(lang_conjuncts(p, 0, part, 8), 0);
    assert_int_equal(lang_conjuncts(p, op(LANG_OR, c[0], c[1]), part, 8), 1);
    size_t n = lang_conjuncts(p, left, part, 2); /* the rest stays together */
    assert_int_equal(n, 2);
    assert_int_equal(op(LANG_AND, part[0], part[1]), left);
}

static void reads_of_a_stage(void **state) {
    (void)state;
    const int64_t extent[2] = {4, 3}, dim[2] = {4, 3}, flat_dim[1] = {12}, other[2] = {3, 4};
    variables(2, extent);
    uint32_t x = add_input(p, "X", BASE_F32, 2, dim), z = add_input(p, "Z", BASE_F32, 1, flat_dim),
             y = add_input(p, "Y", BASE_F32, 2, other);
    lang_ref here = read2(x, v[0], v[1]), element = add(mul(v[0], num(3)), v[1]);
    lang_ref there = read2(x, v[0], op(LANG_SUB, num(2), v[1]));
    lang_ref relabelled = lang_read(p, z, &element, 1, 0), turned = read2(y, v[1], v[0]);
    uint32_t a = add_stage(p, "A", 2, vars, 2, op(LANG_ADD, lang_apply1(p, LANG_EXP, BASE_F32, here), here));
    uint32_t b = add_stage(p, "B", 2, vars, 2, op(LANG_ADD, here, there));
    uint32_t c = add_stage(p, "C", 2, vars, 2, op(LANG_ADD, relabelled, turned));
    const lang_stage *sa = &p->stages.at[p->tensors.at[a].stage], *sb = &p->stages.at[p->tensors.at[b].stage];
    const lang_stage *sc = &p->stages.at[p->tensors.at[c].stage];
    assert_int_equal(lang_reads_of(p, sa, x), 1); /* one node, used twice */
    assert_int_equal(lang_reads_of(p, sb, x), 2);
    assert_int_equal(lang_reads_of(p, sa, z), 0);
    assert_true(lang_reads_at_point(p, sa, x));
    assert_false(lang_reads_at_point(p, sb, x));
    assert_true(lang_reads_at_point(p, sc, z));
    assert_false(lang_reads_at_point(p, sc, y));
}

/* Y = X + sum[k] Z[k] * W[i]: X is read once a point, Z and W as often as there are k. */
static void reads_below_a_reduction(void **state) {
    (void)state;
    const int64_t extent[2] = {4, 3}, rows[1] = {4}, columns[1] = {3};
    variables(2, extent);
    const uint32_t x = add_input(p, "X", BASE_F32, 1, rows), w = add_input(p, "W", BASE_F32, 1, rows);
    const uint32_t z = add_input(p, "Z", BASE_F32, 1, columns);
    lang_ref product = op(LANG_MUL, lang_read(p, z, &v[1], 1, 0), lang_read(p, w, v, 1, 0));
    lang_ref sum = lang_reduce(p, LANG_SUM, BASE_F32, &v[1], 1, 0, product, 0);
    const uint32_t y = add_stage(p, "Y", 1, vars, 2, op(LANG_ADD, lang_read(p, x, v, 1, 0), sum));
    const lang_stage *s = &p->stages.at[p->tensors.at[y].stage];
    assert_false(lang_reduces_over(p, s, x));
    assert_true(lang_reduces_over(p, s, z));
    assert_true(lang_reduces_over(p, s, w));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_convolution_is_a_contraction),
        TEST(bound_checks_of_a_convolution),
        TEST(a_grouped_convolution_has_no_columns),
        TEST(depthwise),
        TEST(fully_connected),
        TEST(batched_matmul),
        TEST(pools_and_rows),
        TEST(softmax),
        TEST(moves),
        TEST(scatters_and_prefixes),
        TEST(recurrences),
        TEST(affine_forms),
        TEST(affine_reads),
        TEST(reads_that_conditions_keep_inside),
        TEST(proofs_of_inside_hold),
        TEST(conjuncts),
        TEST(reads_of_a_stage),
        TEST(reads_below_a_reduction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
