/* test_hoist.c - recurrences: stages of one round that become one, sums that are computed before them; expected values by hand. */
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

/* ---- sums that no round changes ---- */

static bool any(const void *user, const lang_program *p, lang_ranges *ranges, const lang_stage *s) {
    (void)ranges;
    assert_true(s >= p->stages.at && s < p->stages.at + p->stages.n && s->rec < 0);
    return user == NULL;
}

/* The call gives these elements, and so it does when sums are before its recurrences, in so many more stages, the first of
 * which is of that type and over so many variables; more 0: nothing can be. */
static void moved(const char *text, const char *call, const char *expected, size_t more, base_type type,
                  uint32_t rank) {
    definition f;
    instantiated(&f, text, call);
    gives(&f, expected);
    const size_t before = f.program->stages.n;
    lang_program *q = lang_hoist(f.arena, f.program, any, NULL);
    assert_null(lang_hoist(f.arena, f.program, any, text)); /* nobody wants it */
    if ((q != NULL) != (more > 0)) {
        fail_msg("%s\n%s", q != NULL ? "something moved" : "nothing moved", definition_dump(&f));
    }
    if (q != NULL) {
        f.program = q;
        assert_int_equal(q->stages.n, before + more);
        const lang_stage *s = &q->stages.at[0];
        assert_int_equal(s->rec, -1);
        assert_int_equal(s->rank, rank);
        assert_int_equal(q->tensors.at[s->tensor].type, type);
        assert_true(lang_has_reduction(q, s->body));
        gives(&f, expected);
    }
    definition_end(&f);
}

/* Guard and order stay: of row 0 one column counts, of row 1 both. 1*1, 1*2; then 3*1+4*10 + 1, 3*2+4*20 + 2. */
static void a_sum_of_the_input_moves(void **state) {
    (void)state;
    moved("op o\nin X:i32[N,K] W:i32[H,K]\n"
          "rec t<N | Y:i32[t,h<H] = sum[k<K | k <= t] (X[t,k] * W[h,k]) + Y[t-1,h]?0\n",
          "o i32[2,2]={1,2,3,4} i32[2,2]={1,10,2,20}", "1 2 44 88", 1, BASE_I32, 2);
}

/* The largest expression around the sum: 8 bits of it, and what is made of them again in 32. 8 * 2, 127 * 16. */
static void what_is_made_of_the_sum_moves_with_it(void **state) {
    (void)state;
    moved("op o\nin X:i32[N,K]\n"
          "rec t<N | Y:i32[t] = i32(sat_i8(sum[k<K] (X[t,k]) + 1)) * Y[t-1]?2\n",
          "o i32[2,2]={3,4,250,250}", "16 2032", 1, BASE_I8, 1);
}

/* One of the sums reads the state. 1*5 + 0, then 2*5 + 5*5. */
static void a_sum_of_the_state_stays(void **state) {
    (void)state;
    moved("op o\nin X:i32[N,K] W:i32[K]\n"
          "rec t<N | Y:i32[t] = sum[k<K] (X[t,k] * W[k]) + sum[k<K] (Y[t-1]?0 * W[k])\n",
          "o i32[2,1]={1,2} i32[1]={5}", "5 35", 1, BASE_I32, 1);
    moved("op o\nin W:i32[K]\nrec t<2 | Y:i32[t] = 1 + sum[k<K] (Y[t-1]?0 * W[k])\n", "o i32[2]={1,2}", "1 4", 0,
          BASE_I32, 0);
    /* through a stage of the same round; and through the sum around it */
    moved("op o\nin W:i32[K]\nrec t<2 | A:i32[t] = Y[t-1]?7 | Y:i32[t] = sum[k<K] (A[t] * W[k])\n", "o i32[2]={1,2}",
          "21 63", 0, BASE_I32, 0);
    moved("op o\nin W:i32[K]\nrec t<2 | Y:i32[t] = sum[k<K] (W[k] * sum[j<K] (W[j] + Y[t-1]?1))\n", "o i32[2]={1,2}",
          "15 99", 0, BASE_I32, 0);
}

/* Of an outer sum's variable: it has no place of its own there. 1 * (1+0 + 2+0) + 2 * (1+1 + 2+1) = 13; 13 of that. */
static void a_sum_that_needs_the_variable_of_another_stays(void **state) {
    (void)state;
    moved("op o\nin W:i32[K]\nrec t<2 | Y:i32[t] = sum[k<K] (W[k] * Y[t-1]?1 * sum[j<K] (W[j] + i32(k)))\n",
          "o i32[2]={1,2}", "13 169", 0, BASE_I32, 0);
}

/* No step is needed: one sum for all of them. */
static void a_sum_that_no_step_needs_has_no_steps(void **state) {
    (void)state;
    moved("op o\nin W:i32[H,K]\nrec t<3 | Y:i32[t,h<H] = sum[k<K] (W[h,k]) + Y[t-1,h]?0\n", "o i32[2,2]={1,2,3,4}",
          "3 7 6 14 9 21", 1, BASE_I32, 1);
}

/* Used twice, the sum itself moves, and once: 4 * (6 - 0), 8 * (14 - 24). */
static void a_sum_that_is_used_twice_moves_once(void **state) {
    (void)state;
    moved("op o\nin X:i32[N,K]\n"
          "rec t<N | Y:i32[t] = { s = sum[k<K] X[t,k]; (s + 1) * (s * 2 - Y[t-1]?0) }\n",
          "o i32[2,2]={1,2,3,4}", "24 -80", 1, BASE_I32, 1);
}

/* A condition that no round changes moves with the sum. Where one reads the state, nobody asks before the loop whether there was a step
 * before: the read must be inside by itself, or have a fill. */
static void a_read_that_only_a_condition_keeps_inside_stays(void **state) {
    (void)state;
    moved("op o\nin X:i32[N,K]\nrec t<N | Y:i32[t] = if(t > 0, sum[k<K] X[t-1,k], 9) + Y[t-1]?0\n",
          "o i32[2,2]={1,2,3,4}", "9 12", 1, BASE_I32, 1);
    moved("op o\nin X:i32[N,K]\nrec t<N | Y:i32[t] = if(t > 0 && Y[t-1]?0 > 5, sum[k<K] X[t-1,k], 9) + Y[t-1]?0\n",
          "o i32[2,2]={1,2,3,4}", "9 12", 0, BASE_I32, 0);
    moved("op o\nin X:i32[N,K]\nrec t<N | Y:i32[t] = if(t > 0 && Y[t-1]?0 > 5, sum[k<K] X[t-1,k]?0, 9) + Y[t-1]?0\n",
          "o i32[2,2]={1,2,3,4}", "9 12", 1, BASE_I32, 1);
}

/* The same sum in two recurrences is a stage before each. */
static void each_recurrence_has_its_own(void **state) {
    (void)state;
    moved("op o\nin X:i32[N,K]\n-> Y:i32, Z:i32\nrec t<N | Y:i32[t] = sum[k<K] (X[t,k]) + Y[t-1]?0\n"
          "rec t<N | Z:i32[t] = sum[k<K] (X[t,k]) - Z[t-1]?0 + Y[t]\n",
          "o i32[2,2]={1,2,3,4}", "3 10 | 6 11", 2, BASE_I32, 1);
}

/* How often a run goes round is not known before: there is no room. */
static void steps_that_a_run_counts_stay(void **state) {
    (void)state;
    moved("op o\nin X:i32[N,K]\nC:i64[] = sum[n<N | X[n,0] > 0] 1\n"
          "rec t<C[] | Y:i32[t] = sum[k<K] (X[t,k]) + Y[t-1]?0\n",
          "o i32[3,2]={1,2,3,4,-5,6}", "3 10", 0, BASE_I32, 0);
}

#define TEST(f) cmocka_unit_test(f)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(stages_of_one_round_become_one),
        TEST(a_sum_of_the_input_moves),
        TEST(what_is_made_of_the_sum_moves_with_it),
        TEST(a_sum_of_the_state_stays),
        TEST(a_sum_that_needs_the_variable_of_another_stays),
        TEST(a_sum_that_no_step_needs_has_no_steps),
        TEST(a_sum_that_is_used_twice_moves_once),
        TEST(a_read_that_only_a_condition_keeps_inside_stays),
        TEST(each_recurrence_has_its_own),
        TEST(steps_that_a_run_counts_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
