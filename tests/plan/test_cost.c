/* test_cost.c - predicted cycles, counted by hand with the numbers of devices/cortex-m4.yaml: word 1, load 2, store 1, multiply-add 1,
 * real 30, loop 4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "planned.h"

#define HEAD "burin 1\nmodel \"ir\" \"m.ir\"\ngraph \"main\" 0 {\n"
static const char *const negated =
    HEAD "tensor %0 i32[256] \"x\"\ntensor %1 i32[256] \"y\"\ninputs (%0)\noutputs (%1)\n"
         "node neg (%0) -> (%1)\n}\n";

static void an_element_is_read_worked_on_and_stored(void **state) {
    (void)state;
    assert_int_equal(planned_for(negated, "cortex-m4", 1)->kernels.at[0].cost, 256 * (2 + 1 + 1 + 4));
}

static void a_machine_without_numbers_has_no_model(void **state) {
    (void)state;
    assert_int_equal(planned_for(negated, "generic", 1)->kernels.at[0].cost, 0);
    assert_int_equal(planned_for(negated, "host", 1)->kernels.at[0].cost, 0);
}

/* 2 points, 4 channels and 4 products of each, in a tile of 2 x 4: what is read for a product is shared, the loop is unrolled by 4. Of
 * each result: its start, its sum, the store. */
static void a_tile_shares_what_it_reads(void **state) {
    (void)state;
    const plan_module *p =
        planned_for(HEAD "tensor %0 i8[2,4] \"x\" quant {1.0:0}\n"
                         "tensor %1 i8[4,4] \"w\" quant {1.0:0} = hex \"0102030405060708090a0b0c0d0e0f10\"\n"
                         "tensor %2 i32[2,4] \"y\"\ninputs (%0)\noutputs (%2)\n"
                         "node matmul_integer (%0, %1) -> (%2)\n}\n",
                    "cortex-m4", 1);
    const plan_kernel *k = &p->kernels.at[0];
    assert_int_equal(k->schedules[0].form, PLAN_CONTRACT);
    assert_int_equal(k->schedules[0].mr * 10 + k->schedules[0].nr, 24);
    const double product = 1 + 2.0 * (1.0 / 2 + 1.0 / 4) + 4.0 / (2 * 4 * 4);
    assert_int_equal(k->cost, (uint64_t)(8 * (4 * product + 2 + 1)));
}

/* Two rows of four: each number is read and added; each sum stored. */
static void a_sum_of_reals_takes_what_real_sums_take(void **state) {
    (void)state;
    const plan_module *p = planned_for(HEAD "tensor %0 f32[2,4] \"x\"\ntensor %1 f32[2] \"y\"\ninputs (%0)\n"
                                            "outputs (%1)\nnode sum (%0) -> (%1) {axes: ints [1]}\n}\n",
                                       "cortex-m4", 1);
    assert_int_equal(p->kernels.at[0].cost, 2 * (4 * (2 + 30 + 4) + 1 + 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_element_is_read_worked_on_and_stored, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(a_machine_without_numbers_has_no_model, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(a_tile_shares_what_it_reads, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(a_sum_of_reals_takes_what_real_sums_take, planned_set_up, planned_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
