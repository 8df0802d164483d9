/* test_bounded.c - programs with extents that a run decides, as programs of fixed extents that count. Expected values are
 * by hand.
 */
#include "lang/definition.h"

static const char nonzero[] = "op f in X:i32[N] R:i64[n<N] = sum[j<n | X[j] != 0] 1 C:i64[] = sum[j<N | X[j] != 0] 1 "
                              "Y[u<C[]] = first[n<N | X[n] != 0 && R[n] == u] (n + 10) else (-1) ";

/* The call's results in the bounded program; simplified too, which must be the same. */
static void bounded_gives(const char *text, const char *call, const char *expected) {
    definition f;
    uint32_t counted[4] = {9, 9, 9, 9};
    definition_begin(&f);
    if (definition_parse(&f, text) != BASE_OK || definition_call(&f, call) != BASE_OK) {
        fail_msg("%s", definition_report(&f));
    }
    const size_t outputs = f.program->outputs.n;
    f.program = lang_bounded(f.arena, f.program, counted);
    assert_non_null(f.program);
    assert_int_equal(lang_verify(f.program, &f.diags), BASE_OK);
    for (size_t i = 0; i < f.program->tensors.n; i++) {
        for (uint32_t k = 0; k < f.program->tensors.at[i].rank; k++) {
            assert_int_equal(f.program->tensors.at[i].extent[k], 0);
        }
    }
    for (size_t i = outputs; i < f.program->outputs.n; i++) {
        assert_true(counted[i - outputs] < outputs);
    }
    assert_string_equal(definition_run(&f), expected);
    f.program = lang_simplify(f.arena, f.program);
    assert_string_equal(definition_run(&f), expected);
    definition_end(&f);
}

static void what_is_there_is_first_and_counted(void **state) {
    (void)state;
    char text[400];
    strcpy(text, nonzero);
    bounded_gives(text, "f i32[5]={0,7,0,0,8}", "11 14 0 0 0 | 2");
    bounded_gives(text, "f i32[3]={0,0,0}", "0 0 0 | 0");
    bounded_gives(text, "f i32[2]={1,1}", "10 11 | 2");
    strcat(text, "Z:f32[u<C[],k<2] = f32(u) + 0.5 A[] = C[] + 1 -> Y, Z, A");
    bounded_gives(text, "f i32[3]={5,0,5}", "10 12 0 | 0.5 0.5 1.5 1.5 0 0 | 3 | 2 | 2");
    bounded_gives("op f in X:i32[N] Y[n<N] = X[n] + 1", "f i32[2]={1,2}", "2 3");
}

static void refused(const char *text, const char *call) {
    definition f;
    uint32_t counted[4];
    definition_begin(&f);
    if (definition_parse(&f, text) != BASE_OK || definition_call(&f, call) != BASE_OK) {
        fail_msg("%s", definition_report(&f));
    }
    assert_null(lang_bounded(f.arena, f.program, counted));
    definition_end(&f);
}

/* Elements are dense in what there is: with any other extent their places would depend on the count. */
static void what_has_no_fixed_places_is_refused(void **state) {
    (void)state;
    refused("op f in X:i32[N] C:i64[] = sum[j<N | X[j] != 0] 1 Y[k<2,u<C[]] = u + k", "f i32[2]={1,0}");
    refused("op f in X:i32[N] C:i64[] = sum[j<N | X[j] != 0] 1 T[u<C[]] = u Y[u<C[]] = T[u]", "f i32[2]={1,0}");
    refused("op f in X:i32[N] C:i64[] = sum[j<N | X[j] != 0] 1 T[u<C[]] = u Y[n<N] = T[n]?(-1) -> T, Y",
            "f i32[2]={1,0}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_first_and_counted),
        cmocka_unit_test(what_has_no_fixed_places_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
