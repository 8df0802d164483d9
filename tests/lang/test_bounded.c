/* test_bounded.c - programs with extents that a run decides, as programs that have room for the most, and count. Expected
 * values are by hand.
 */
#include "lang/definition.h"

static const char nonzero[] = "op f in X:i32[N] R:i64[n<N] = sum[j<n | X[j] != 0] 1 C:i64[] = sum[j<N | X[j] != 0] 1 "
                              "Y[u<C[]] = first[n<N | X[n] != 0 && R[n] == u] (n + 10) else (-1) ";

/* The call's results in the counted program, filled where it can be; simplified too, which must be the same. room: of every
 * open extent, 0: its bound. */
static void counted_gives(const char *text, const char *call, int64_t room, const char *expected) {
    definition f;
    lang_count counts[32];
    size_t count_n = 0;
    definition_begin(&f);
    if (definition_parse(&f, text) != BASE_OK || definition_call(&f, call) != BASE_OK) {
        fail_msg("%s", definition_report(&f));
    }
    ir_shape most[4];
    bool filled[4] = {false};
    const size_t outputs = f.program->outputs.n;
    for (uint32_t i = 0; i < outputs; i++) {
        const lang_tensor *t = &f.program->tensors.at[f.program->outputs.at[i]];
        most[i] = ir_shape_of(t->rank, t->dim);
        for (uint32_t k = 0; k < t->rank; k++) {
            most[i].dim[k] = t->extent[k] != 0 && room > 0 ? room : t->dim[k];
        }
        filled[i] = lang_can_fill(f.program, i);
    }
    f.program = lang_counted(f.arena, f.program, outputs, most, filled, counts, &count_n);
    assert_non_null(f.program);
    assert_int_equal(lang_verify(f.program, &f.diags), BASE_OK);
    for (size_t i = 0; i < count_n; i++) {
        assert_true(counts[i].output < outputs);
        assert_false(counts[i].is_input);
        assert_in_range(counts[i].index, outputs, f.program->outputs.n - 1);
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
    counted_gives(text, "f i32[5]={0,7,0,0,8}", 0, "11 14 0 0 0 | 2");
    counted_gives(text, "f i32[3]={0,0,0}", 0, "0 0 0 | 0");
    counted_gives(text, "f i32[2]={1,1}", 0, "10 11 | 2");
    strcat(text, "Z:f32[u<C[],k<2] = f32(u) + 0.5 A[] = C[] + 1 -> Y, Z, A");
    counted_gives(text, "f i32[3]={5,0,5}", 0, "10 12 0 | 0.5 0.5 1.5 1.5 0 0 | 3 | 2");
    counted_gives("op f in X:i32[N] Y[n<N] = X[n] + 1", "f i32[2]={1,2}", 0, "2 3");
}

/* Where no zeros can be put behind, the evaluator's elements are dense in what there is. */
static void inner_extents_and_what_is_read_again_are_counted_too(void **state) {
    (void)state;
    counted_gives("op f in X:i32[N] C:i64[] = sum[j<N | X[j] != 0] 1 Y[k<2,u<C[]] = u + k", "f i32[3]={1,0,1}", 0,
                  "0 1 1 2 | 2");
    counted_gives("op f in X:i32[N] C:i64[] = sum[j<N | X[j] != 0] 1 T[u<C[]] = u * 2 Y[u<C[]] = T[u]",
                  "f i32[2]={1,1}", 0, "0 2 | 2");
    counted_gives("op f in X:i32[N] C:i64[] = sum[j<N | X[j] != 0] 1 T[u<C[]] = u Y[n<N] = T[n]?(-1) -> T, Y",
                  "f i32[2]={1,0}", 0, "0 | 0 -1 | 1");
    counted_gives("op f in X:i32[N] C:i64[] = sum[j<N | X[j] != 0] 1 Y[u<C[],k<C[]+1] = k", "f i32[2]={1,0}", 0,
                  "0 1 | 1 | 2");
}

/* What a test adds: one element, 0. */
static void less_room_than_the_bound_is_tested(void **state) {
    (void)state;
    counted_gives(nonzero, "f i32[5]={0,7,0,0,8}", 2, "11 14 | 2 | 0");
    definition f;
    lang_count counts[8];
    size_t count_n = 0;
    const bool filled[] = {true};
    const ir_shape most = ir_shape_of(1, (const int64_t[]){1});
    definition_begin(&f);
    assert_int_equal(definition_parse(&f, nonzero), BASE_OK);
    assert_int_equal(definition_call(&f, "f i32[5]={0,7,0,0,8}"), BASE_OK);
    f.program = lang_counted(f.arena, f.program, 1, &most, filled, counts, &count_n);
    assert_non_null(f.program);
    assert_null(definition_run(&f));
    definition_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_first_and_counted),
        cmocka_unit_test(inner_extents_and_what_is_read_again_are_counted_too),
        cmocka_unit_test(less_room_than_the_bound_is_tested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
