/* test_alike.c - digits of index expressions, and programs that are the same but for the order of extents. Expected: by hand.
 */
#include "lang/definition.h"

static lang_program *program_of(definition *f, const char *text, const char *call) {
    definition_begin(f);
    f->program = NULL;
    if (definition_parse(f, text) != BASE_OK || definition_call(f, call) != BASE_OK ||
        lang_instantiate(f->arena, f->lib, &f->call, &f->program, &f->diags) != BASE_OK) {
        fail_msg("%s", definition_report(f));
    }
    return f->program;
}

/* The index of the first stage's body, a read, along extent k: "c + factor*var/low%extent ..." */
static void expect_form(const char *text, const char *call, uint32_t k, const char *expected) {
    definition f;
    lang_program *p = program_of(&f, text, call);
    lang_digits index[LANG_MAX_RANK];
    base_text t = {.arena = f.arena};
    if (!lang_digits_read(p, p->stages.at[0].body, index)) {
        base_puts(&t, "none");
    } else {
        base_put(&t, "%lld", (long long)index[k].constant);
        for (uint32_t i = 0; i < index[k].n; i++) {
            const lang_term *x = &index[k].term[i];
            base_put(&t, " %lld*v%lu/%lld%%%lld", (long long)x->factor, (unsigned long)x->digit.var,
                     (long long)x->digit.low, (long long)x->digit.extent);
        }
    }
    assert_string_equal(t.at, expected);
    definition_end(&f);
}

static void indices_are_digits(void **state) {
    (void)state;
    expect_form("op f in X:f32[N,M] Y[i<3,j<4] = X[2*i + 1, j]", "f f32[9,4]", 0, "1 2*v0/1%3");
    expect_form("op f in X:f32[N,M] Y[i<12] = X[i / 4, i % 4]", "f f32[3,4]", 0, "0 1*v0/4%3");
    expect_form("op f in X:f32[N,M] Y[i<12] = X[i / 4, i % 4]", "f f32[3,4]", 1, "0 1*v0/1%4");
    /* taken apart and put together again */
    expect_form("op f in X:f32[N] Y[i<12] = X[i / 4 * 4 + i % 4]", "f f32[12]", 0, "0 1*v0/1%12");
    /* a flat index along the extents of its tensor: 6 by 4 as 3 by 8 */
    expect_form("op f in X:f32[3,8] Y[i<6,j<4] = X.[i*4 + j]", "f f32[3,8]", 0, "0 1*v0/2%3");
    expect_form("op f in X:f32[3,8] Y[i<6,j<4] = X.[i*4 + j]", "f f32[3,8]", 1, "0 4*v0/1%2 1*v1/1%4");
    /* 12 numbers do not divide into runs of 5, a product of variables is no sum */
    expect_form("op f in X:f32[N,M] Y[i<12] = X[i / 5, i % 5]", "f f32[3,5]", 0, "none");
    expect_form("op f in X:f32[N] Y[i<3,j<4] = X[i * j]", "f f32[12]", 0, "none");
}

/* order: of the inputs' extents, all alike. expected: the output's order as digits, or "no". */
static void expect_alike(const char *a, const char *call_a, const char *b, const char *call_b, const uint32_t *order,
                         const char *expected) {
    definition f, g;
    lang_program *p = program_of(&f, a, call_a), *q = program_of(&g, b, call_b);
    const uint32_t *orders[] = {order, order, order};
    uint32_t output[2][LANG_MAX_RANK];
    base_text t = {.arena = f.arena};
    base_puts(&t, "");
    if (!lang_alike(f.arena, p, q, orders, output)) {
        base_puts(&t, "no");
    } else {
        for (uint32_t k = 0; k < p->tensors.at[p->outputs.at[0]].rank; k++) {
            base_put(&t, "%lu", (unsigned long)output[0][k]);
        }
    }
    assert_string_equal(t.at, expected);
    definition_end(&f);
    definition_end(&g);
}

#define ADD "op add in X:f32[I..] Z:f32[J..] let O.. = bc(I.., J..) Y[o..<O..] = X[~o..] + Z[~o..]"
#define SUM "op total attr axis in X:f32[A..{axis},C,B..] Y[a..<A..,b..<B..] = sum[c<C] X[a..,c,b..]"
#define SOFT                                                                                                           \
    "op soft attr axis in X:f32[A..{axis},C,B..] T[a..<A..,b..<B..] = max[c<C] X[a..,c,b..] "                          \
    "Y[a..<A..,c<C,b..<B..] = exp(X[a..,c,b..] - T[a..,b..])"
#define SHAPE "op shape attr s.. in X:f32[I..] Y[o..<s..] = X.[flat(o.., s..)]"

static const uint32_t keep[LANG_MAX_RANK] = {0, 1, 2, 3}, swap[LANG_MAX_RANK] = {1, 0},
                      last[LANG_MAX_RANK] = {0, 3, 1, 2}; /* channels: from second to last */

static void order_of_extents_does_not_matter(void **state) {
    (void)state;
    expect_alike(ADD, "add f32[2,3] f32[2,3]", ADD, "add f32[3,2] f32[3,2]", swap, "10");
    expect_alike(ADD, "add f32[2,3,4,5] f32[1,3,1,1]", ADD, "add f32[2,4,5,3] f32[1,1,1,3]", last, "0312");
    expect_alike(SUM, "total f32[2,3,4,5] axis=1", SUM, "total f32[2,4,5,3] axis=3", last, "012");
    expect_alike(SOFT, "soft f32[2,3,4,5] axis=1", SOFT, "soft f32[2,4,5,3] axis=3", last, "0312");
    expect_alike(SHAPE, "shape f32[2,6,4,5] s=[2,3,2,4,5]", SHAPE, "shape f32[2,4,5,6] s=[2,4,5,3,2]", last, "03412");
    /* operands that may be swapped, factors of 1 */
    expect_alike("op f in X:f32[N] Z:f32[N] Y[n<N] = X[n] * Z[n] + X[n]", "f f32[3] f32[3]",
                 "op f in X:f32[N] Z:f32[N] Y[n<N] = X[n] + Z[n] * X[n] * 1.0", "f f32[3] f32[3]", keep, "0");
}

static void what_is_not_the_same_is_not_alike(void **state) {
    (void)state;
    expect_alike(SUM, "total f32[2,3,4,5] axis=1", SUM, "total f32[2,4,5,3] axis=1", last, "no");
    expect_alike(SUM, "total f32[2,2] axis=0", SUM, "total f32[2,2] axis=1", keep, "no");
    expect_alike(SOFT, "soft f32[2,2,2,2] axis=1", SOFT, "soft f32[2,2,2,2] axis=1", last, "no");
    expect_alike(SHAPE, "shape f32[2,6,4,5] s=[2,3,2,4,5]", SHAPE, "shape f32[2,4,5,6] s=[2,4,5,2,3]", last, "no");
    expect_alike("op f in X:f32[N,N] Y[i<N,j<N] = X[i,j] - X[j,i]", "f f32[3,3]",
                 "op f in X:f32[N,N] Y[i<N,j<N] = X[j,i] - X[i,j]", "f f32[3,3]", keep, "10");
    expect_alike("op f in X:f32[N,N] Y[i<N,j<N] = X[i,j] - X[j,i]", "f f32[3,3]",
                 "op f in X:f32[N,N] Y[i<N,j<N] = X[i,j] - X[i,j]", "f f32[3,3]", keep, "no");
    /* an operand in the place of the other: of a difference that counts */
    expect_alike("op f in X:f32[N] Z:f32[N] Y[n<N] = X[n] - Z[n]", "f f32[3] f32[3]",
                 "op f in X:f32[N] Z:f32[N] Y[n<N] = Z[n] - X[n]", "f f32[3] f32[3]", keep, "no");
    /* a reduced variable is none of the output's */
    expect_alike("op f in X:f32[N,N] Y[i<N] = sum[j<N] X[i,j]", "f f32[3,3]",
                 "op f in X:f32[N,N] Y[i<N] = sum[j<N] X[j,i]", "f f32[3,3]", keep, "no");
    expect_alike("op f in X:f32[N,N] Y[i<N] = sum[j<N] X[i,j]", "f f32[3,3]",
                 "op f in X:f32[N,N] Y[i<N] = sum[j<N] X[j,i]", "f f32[3,3]", swap, "0");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(indices_are_digits),
                                       cmocka_unit_test(order_of_extents_does_not_matter),
                                       cmocka_unit_test(what_is_not_the_same_is_not_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
