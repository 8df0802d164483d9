/* test_hoist.c - recurrences: stages of one round that become one, expected values by hand. */
#include "definition.h"

static void instantiated(definition *f, const char *text, const char *call) {
    definition_begin(f);
    if (definition_parse(f, text) != BASE_OK || definition_call(f, call) != BASE_OK) {
        fail_msg("%s\n%s\n%s", text, call, definition_report(f));
    }
}

/* The program, which is sound, gives these elements on the call's contents. */
static void gives(definition *f, const char *expected) {
    if (lang_verify(f->program, &f->diags) != BASE_OK) {
        fail_msg("%s\n%s", definition_report(f), definition_dump(f));
    }
    const char *given = definition_run(f);
    if (given == NULL || strcmp(given, expected) != 0) {
        fail_msg("expected %s\ngiven    %s\n%s%s", expected, given ? given : "nothing", definition_report(f),
                 definition_dump(f));
    }
}

/* Steps: A = 0*2+1 = 1, Y = 1+10*1; A = 11*2+2 = 24, Y = 24+10*2; A = 44*2+3 = 91, Y = 91+10*3. */
static void stages_of_one_round_become_one(void **state) {
    (void)state;
    definition f;
    instantiated(&f,
                 "op o\nin X:i32[N]\nrec t<N\n  | A:i32[t] = Y[t-1]?0 * 2 + X[t]\n"
                 "  | Y:i32[t] = A[t] + sum[k<4] (X[t] * i32(k + 1))\n",
                 "o i32[3]={1,2,3}");
    assert_int_equal(f.program->stages.n, 2);
    gives(&f, "11 44 121");
    f.program = lang_inline(f.arena, f.program, 0);
    assert_non_null(f.program);
    assert_int_equal(f.program->stages.n, 1);
    assert_int_equal(f.program->stages.at[0].rec, 0);
    gives(&f, "11 44 121");
    definition_end(&f);
}

#define TEST(f) cmocka_unit_test(f)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(stages_of_one_round_become_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
