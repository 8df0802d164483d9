/* test_join.c - stages that share their outer loops: which, and that what they need lives together. By hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "planned.h"

#define HEAD "burin 1\nmodel \"ir\" \"m.ir\"\ngraph \"main\" 0 {\n"
#define SOFTMAX(shape)                                                                                                 \
    HEAD "tensor %0 f32[" shape "] \"x\"\ntensor %1 f32[" shape "] \"y\"\ninputs (%0)\noutputs (%1)\n"                 \
         "node softmax (%0) -> (%1) {beta: float 1.0}\n}\n"

/* Of a row the largest, the sum and the quotients: three stages, one loop over rows. */
static void the_stages_of_a_row_share_the_loop_over_rows(void **state) {
    (void)state;
    const plan_module *p = planned_for(SOFTMAX("2,5,8"), "generic", 1);
    const plan_kernel *k = &p->kernels.at[0];
    assert_int_equal(k->program->stages.n, 3);
    for (size_t s = 0; s < 3; s++) {
        assert_int_equal(k->schedules[s].shared, 2);
        assert_int_equal(k->schedules[s].group, 0);
    }
    assert_int_equal(planned_for(SOFTMAX("2,5,8"), "generic", 0)->kernels.at[0].schedules[0].shared, 0);
}

static void one_row_has_no_loop_to_share(void **state) {
    (void)state;
    assert_int_equal(planned_for(SOFTMAX("1,8"), "generic", 1)->kernels.at[0].schedules[2].shared, 0);
}

/* Columns of a matrix that is reduced over its rows: the sums need all rows before the first quotient. */
static void what_needs_all_rounds_shares_none(void **state) {
    (void)state;
    const plan_module *p =
        planned_for(HEAD "tensor %0 f32[6,4] \"x\"\ntensor %1 f32[6,4] \"y\"\ninputs (%0)\noutputs (%1)\n"
                         "node lp_normalization (%0) -> (%1) {axis: int 0, p: int 2}\n}\n",
                    "generic", 1);
    const plan_kernel *k = &p->kernels.at[0];
    for (size_t s = 0; s < k->program->stages.n; s++) {
        assert_int_equal(k->schedules[s].shared, 0);
    }
}

/* The largest of all rows lives while quotients are made: the check of a plan says so. */
static void what_they_need_lives_together(void **state) {
    (void)state;
    plan_module *p = planned_for(SOFTMAX("2,5,8"), "generic", 1);
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        if (t->role == PLAN_SCRATCH) {
            assert_true(t->from == 0 && t->until >= 2);
            t->until = 1;
            planned_expect_fault(p, "and is used in 0 to 2");
            return;
        }
    }
    fail();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_stages_of_a_row_share_the_loop_over_rows, planned_set_up,
                                        planned_tear_down),
        cmocka_unit_test_setup_teardown(one_row_has_no_loop_to_share, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(what_needs_all_rounds_shares_none, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(what_they_need_lives_together, planned_set_up, planned_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
