/* test_control.c - plans of models with state and control: which copies there are, who shares whose bytes, how long things
 * live, where jumps lead; and the faults that the independent check finds. Expected values are by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "planned.h"

#define HEAD "burin 1\nmodel \"ir\" \"m.ir\"\n"
#define COPY(from, to) "node identity (%" #from ") -> (%" #to ")\n"
#define ADD(a, b, to) "node add (%" #a ", %" #b ") -> (%" #to ") {act: text \"none\"}\n"

static plan_module *planned(const char *text) {
    return planned_for(text, "generic", 1);
}

static const plan_kernel *kernel(const plan_module *p, size_t i) {
    assert_true(i < p->kernels.n);
    return &p->kernels.at[i];
}

static const plan_tensor *input_of(const plan_module *p, size_t i, size_t k) {
    return &p->tensors.at[kernel(p, i)->inputs[k]];
}

static bool no_code(const plan_module *p, size_t i) {
    return kernel(p, i)->schedules[0].form == PLAN_ALIAS;
}

static bool in_state(const plan_module *p, const plan_tensor *t) {
    return p->tensors.at[t->root].role == PLAN_STATE;
}

/* ---- states ---- */

static void a_read_is_the_state_itself(void **state) {
    (void)state;
    plan_module *p = planned(HEAD "state @0 f32[4] \"s\"\ngraph \"main\" 0 {\ntensor %0 f32[4] \"x\"\n"
                                  "tensor %1 f32[4] \"s\" state @0\ntensor %2 f32[4] \"y\"\ntensor %3 f32[4] \"z\"\n"
                                  "inputs (%0)\noutputs (%3)\n" COPY(1, 2) ADD(2, 0, 3) COPY(0, 1) "}");
    assert_true(no_code(p, 0) && in_state(p, planned_output(p, 0)));
    assert_false(no_code(p, 2)); /* an input is not where the state is */
    assert_int_equal(p->state_bytes, 16);
    assert_int_equal(p->arena_bytes, 32);
}

static void a_read_that_outlives_a_write_is_a_copy(void **state) {
    (void)state;
    plan_module *p = planned(HEAD "state @0 f32[4] \"s\"\ngraph \"main\" 0 {\ntensor %0 f32[4] \"x\"\n"
                                  "tensor %1 f32[4] \"s\" state @0\ntensor %2 f32[4] \"y\"\ntensor %3 f32[4] \"z\"\n"
                                  "inputs (%0)\noutputs (%3)\n" COPY(1, 2) COPY(0, 1) ADD(2, 0, 3) "}");
    assert_false(no_code(p, 0));
    assert_false(in_state(p, planned_output(p, 0)));
}

static void an_output_of_the_module_is_no_state(void **state) {
    (void)state;
    plan_module *p = planned(HEAD "state @0 f32[4] \"s\"\ngraph \"main\" 0 {\ntensor %0 f32[4] \"s\" state @0\n"
                                  "tensor %1 f32[4] \"y\"\ninputs ()\noutputs (%1)\n" COPY(0, 1) "}");
    assert_false(no_code(p, 0));
    assert_int_equal(planned_output(p, 0)->role, PLAN_OUTPUT);
}

static void what_is_computed_for_a_state_is_made_there(void **state) {
    (void)state;
    /* v = x + x, then s = v; and s = s + x, whose elements are read just before they are written */
    plan_module *p =
        planned(HEAD "state @0 f32[4] \"s\"\ngraph \"main\" 0 {\ntensor %0 f32[4] \"x\"\n"
                     "tensor %1 f32[4] \"s\" state @0\ntensor %2 f32[4] \"v\"\ninputs (%0)\noutputs ()\n" ADD(0, 0, 2)
                         COPY(2, 1) ADD(1, 0, 1) "}");
    assert_int_equal(p->kernels.n, 4); /* the last: its copy into place */
    assert_true(no_code(p, 1) && in_state(p, planned_output(p, 0)));
    assert_true(no_code(p, 3) && in_state(p, planned_output(p, 2)));
    assert_int_equal(p->arena_bytes, 16);
}

static void what_is_read_in_another_order_is_made_beside(void **state) {
    (void)state;
    plan_module *p = planned(HEAD "state @0 f32[2,2] \"s\"\ngraph \"main\" 0 {\ntensor %0 f32[2,2] \"s\" state @0\n"
                                  "inputs ()\noutputs ()\nnode transpose (%0) -> (%0) {perm: ints [1, 0]}\n}");
    assert_int_equal(p->kernels.n, 2);
    assert_false(no_code(p, 1));
    assert_false(in_state(p, planned_output(p, 0)));
}

static void a_state_that_moves_is_moved_where_it_is(void **state) {
    (void)state;
    /* rank 1, 2 filters of 1 feature over 3 steps: row k of the state takes what row k + 1 had */
    plan_module *p =
        planned(HEAD "state @0 f32[1,6] \"s\"\ngraph \"main\" 0 {\ntensor %0 f32[1,1] \"x\"\n"
                     "tensor %1 f32[2,1] \"w\" = hex \"0000803f0000003f\"\n"
                     "tensor %2 f32[2,3] \"t\" = hex \"0000803f0000003f0000803f0000003f0000803f0000003f\"\n"
                     "tensor %3 f32[1,6] \"s\" state @0\ntensor %4 f32[1,2] \"y\"\ninputs (%0)\noutputs (%4)\n"
                     "node svdf (%0, %1, %2, _, %3) -> (%4, %3) {rank: int 1, act: text \"none\"}\n}");
    assert_int_equal(p->kernels.n, 2);
    assert_true(no_code(p, 1));
    assert_true(in_state(p, &p->tensors.at[kernel(p, 0)->outputs[1]]));
}

static void a_branch_does_not_write_early(void **state) {
    (void)state;
    /* v is there in any case, the state takes it in one branch only */
    plan_module *p = planned(HEAD "state @0 f32[4] \"s\"\ngraph \"main\" 0 {\ntensor %0 bool[] \"c\"\n"
                                  "tensor %1 f32[4] \"x\"\ntensor %2 f32[4] \"v\"\ninputs (%0, %1)\noutputs ()\n" ADD(
                                      1, 1, 2) "node if (%0, %2) -> () {then: graph 1, else: graph 2}\n}\n"
                                               "graph \"then\" 1 {\ntensor %0 f32[4] \"v\"\n"
                                               "tensor %1 f32[4] \"s\" state @0\ninputs (%0)\noutputs ()\n" COPY(
                                                   0, 1) "}\ngraph \"else\" 2 {\ntensor %0 f32[4] \"v\"\ninputs (%0)\n"
                                                         "outputs ()\n}");
    assert_int_equal(p->kernels.n, 3); /* add, if, copy: the other branch is empty */
    assert_int_equal(kernel(p, 1)->control, PLAN_IF);
    assert_int_equal(kernel(p, 1)->jump, 3);
    assert_false(no_code(p, 2));
    assert_false(in_state(p, planned_output(p, 0)));
}

/* ---- loops ---- */

/* while (i < n) { i = i + 1; } with a value of the outside, x, added in each round to s */
static const char loop[] = HEAD
    "graph \"main\" 0 {\ntensor %0 i32[] \"n\"\ntensor %1 i32[] \"x\"\ntensor %2 i32[] \"zero\" = hex \"00000000\"\n"
    "tensor %3 i32[] \"x2\"\ntensor %4 i32[] \"i\"\ntensor %5 i32[] \"s\"\ntensor %6 i32[] \"n\"\ntensor %7 i32[] "
    "\"x\"\n"
    "inputs (%0, %1)\noutputs (%5)\n" ADD(
        1, 1, 3) "node while (%2, %2, %0, %3) -> (%4, %5, %6, %7) {cond: graph 1, body: graph 2}\n}\n"
                 "graph \"cond\" 1 {\ntensor %0 i32[] \"i\"\ntensor %1 i32[] \"s\"\ntensor %2 i32[] \"n\"\ntensor %3 "
                 "i32[] \"x\"\n"
                 "tensor %4 bool[] \"c\"\ninputs (%0, %1, %2, %3)\noutputs (%4)\nnode less (%0, %2) -> (%4)\n}\n"
                 "graph \"body\" 2 {\ntensor %0 i32[] \"i\"\ntensor %1 i32[] \"s\"\ntensor %2 i32[] \"n\"\ntensor %3 "
                 "i32[] \"x\"\n"
                 "tensor %4 i32[] \"one\" = hex \"01000000\"\ntensor %5 i32[] \"i1\"\ntensor %6 i32[] \"s1\"\n"
                 "inputs (%0, %1, %2, %3)\noutputs (%5, %6, %2, %3)\n" ADD(0, 4, 5) ADD(1, 3, 6) "}\n";

static void a_loop_is_a_test_and_a_way_back(void **state) {
    (void)state;
    plan_module *p = planned(loop);
    /* add; copies of zero, zero, n, x2; less; while; two adds; their two copies; repeat */
    static const plan_control want[] = {PLAN_COMPUTE, PLAN_COMPUTE, PLAN_COMPUTE, PLAN_COMPUTE,
                                        PLAN_COMPUTE, PLAN_COMPUTE, PLAN_WHILE,   PLAN_COMPUTE,
                                        PLAN_COMPUTE, PLAN_COMPUTE, PLAN_COMPUTE, PLAN_REPEAT};
    assert_int_equal(p->kernels.n, 12);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(kernel(p, i)->control, want[i]);
    }
    assert_int_equal(p->loops, 1);
    assert_int_equal(kernel(p, 6)->jump, 12);
    assert_int_equal(kernel(p, 11)->jump, 5);
    assert_ptr_equal(&p->tensors.at[kernel(p, 6)->condition], planned_output(p, 5));
    assert_true(no_code(p, 3) && no_code(p, 4));  /* n and x2 are only handed on: they stay where they are */
    assert_true(no_code(p, 9) && no_code(p, 10)); /* each sum is made where the next round reads it */
    assert_int_equal(input_of(p, 8, 1)->root, planned_output(p, 0)->root);
    assert_int_equal(planned_output(p, 0)->last, 11); /* the next round wants it again */
    assert_int_equal(plan_validate(p, &planned_diags), BASE_OK);
}

static void values_that_change_places_are_put_aside(void **state) {
    (void)state;
    plan_module *p = planned(
        HEAD
        "graph \"main\" 0 {\ntensor %0 i32[] \"a\"\ntensor %1 i32[] \"b\"\ntensor %2 i32[] \"a\"\ntensor %3 i32[] "
        "\"b\"\n"
        "inputs (%0, %1)\noutputs (%2, %3)\nnode while (%0, %1) -> (%2, %3) {cond: graph 1, body: graph 2}\n}\n"
        "graph \"cond\" 1 {\ntensor %0 i32[] \"a\"\ntensor %1 i32[] \"b\"\ntensor %2 bool[] \"c\"\n"
        "inputs (%0, %1)\noutputs (%2)\nnode less (%0, %1) -> (%2)\n}\n"
        "graph \"body\" 2 {\ntensor %0 i32[] \"a\"\ntensor %1 i32[] \"b\"\ninputs (%0, %1)\noutputs (%1, %0)\n}\n");
    /* copies of a and b; less; while; both put aside; both put back; repeat */
    assert_int_equal(p->kernels.n, 9);
    assert_ptr_equal(input_of(p, 4, 0), planned_output(p, 1));
    assert_ptr_equal(input_of(p, 5, 0), planned_output(p, 0));
    assert_ptr_equal(input_of(p, 6, 0), planned_output(p, 4));
    assert_ptr_equal(planned_output(p, 6), planned_output(p, 0));
    /* b can be read where it is, since a is written first; a cannot */
    assert_true(no_code(p, 4));
    assert_false(no_code(p, 5) || no_code(p, 6) || no_code(p, 7));
    assert_true(planned_output(p, 5)->root != planned_output(p, 0)->root);
}

static void known_conditions_leave_no_test(void **state) {
    (void)state;
    plan_module *p = planned(
        HEAD
        "graph \"main\" 0 {\ntensor %0 i32[] \"x\"\ntensor %1 bool[] \"no\" = hex \"00\"\ntensor %2 i32[] \"y\"\n"
        "inputs (%0)\noutputs (%2)\nnode if (%1, %0) -> (%2) {then: graph 1, else: graph 2}\n}\n"
        "graph \"then\" 1 {\ntensor %0 i32[] \"x\"\ntensor %1 i32[] \"y\"\ninputs (%0)\noutputs (%1)\n" ADD(
            0, 0, 1) "}\n"
                     "graph \"else\" 2 {\ntensor %0 i32[] \"x\"\ntensor %1 i32[] \"y\"\ninputs (%0)\noutputs (%1)\n"
                     "node mul (%0, %0) -> (%1) {act: text \"none\"}\n}\n");
    assert_int_equal(p->kernels.n, 1);
    assert_string_equal(kernel(p, 0)->op, "mul");
    assert_int_equal(planned_output(p, 0)->role, PLAN_OUTPUT); /* made where it belongs: no copy */
}

/* ---- inside an operator ---- */

#define STAGES                                                                                                         \
    HEAD "graph \"main\" 0 {\n  tensor %0 i16[512] \"x\"\n  tensor %1 i16[514] \"y\"\n  inputs (%0)\n  outputs (%1)\n" \
         "  node signal_rfft (%0) -> (%1) {T: int 7, fft_length: int 512}\n}\n"

static plan_tensor *scratch_of(plan_module *p, size_t number) {
    for (size_t i = 0; i < p->tensors.n; i++) {
        if (p->tensors.at[i].role == PLAN_SCRATCH && number-- == 0) {
            return &p->tensors.at[i];
        }
    }
    return NULL;
}

/* Each stage of a transform reads the one before: two of 1,024 bytes at a time, beside the operator's input and output. */
static void stages_take_the_place_of_those_before(void **state) {
    (void)state;
    plan_module *p = planned(STAGES);
    assert_int_equal(p->kernels.n, 1);
    assert_int_equal(scratch_of(p, 0)->from, 0);
    assert_int_equal(scratch_of(p, 0)->until, 1);
    assert_int_equal(scratch_of(p, 1)->from, 1);
    assert_int_equal(p->arena_bound,
                     1024 + 1028 + 2 * 1024 + 8); /* SUM, DIFF and the last stage are 4 + 4 bytes more */
    assert_int_equal(plan_validate(p, &planned_diags), BASE_OK);
    scratch_of(p, 1)->until = 1;
    planned_expect_fault(p, "lives for stages 1 to 1 of kernel 0, and is used in 2 to 2");
    p = planned(STAGES);
    scratch_of(p, 1)->offset = scratch_of(p, 0)->offset;
    planned_expect_fault(p, "overlap at offset");
    p = planned(STAGES);
    p->tensors.at[p->outputs.at[0]].until = 3;
    planned_expect_fault(p, "lives for stages 0 to 3 of kernel 0, and is used in 0 to 4294967295");
}

/* The stages of a recurrence run together. */
static void stages_of_a_recurrence_live_together(void **state) {
    (void)state;
    plan_module *p =
        planned(HEAD "graph \"main\" 0 {\n  tensor %0 f32[2,3,4] \"x\"\n  tensor %1 f32[5,4] \"w\"\n"
                     "  tensor %2 f32[5,5] \"r\"\n  tensor %3 f32[5] \"b\"\n  tensor %4 f32[2,5] \"s\"\n"
                     "  tensor %5 f32[2,3,5] \"y\"\n  tensor %6 f32[2,5] \"t\"\n  inputs (%0, %1, %2, %3, %4)\n"
                     "  outputs (%5, %6)\n  node rnn (%0, %1, %2, %3, %4) -> (%5, %6) {act: text \"tanh\"}\n}\n");
    assert_int_equal(plan_validate(p, &planned_diags), BASE_OK);
    const lang_program *x = p->kernels.at[0].program;
    size_t together = 0;
    for (size_t s = 0; s < x->stages.n; s++) {
        const plan_tensor *t = &p->tensors.at[p->kernels.at[0].tensor[x->stages.at[s].tensor]];
        together += x->stages.at[s].rec >= 0;
        assert_true(t->from <= s && s <= t->until);
    }
    assert_true(together > 0);
}

/* ---- the check of a plan ---- */

/* Half a million tensors at one place, one after the other: compared are those that live together, and not all that share an
 * offset, which would be 10^11 pairs. */
static void many_tensors_are_checked_quickly(void **state) {
    (void)state;
    enum { COUNT = 500000 };
    plan_module *p = planned(STAGES);
    plan_tensor *t = BASE_NEWS(planned_arena, plan_tensor, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        t[i] = (plan_tensor){.name = "t",
                             .role = PLAN_ACTIVATION,
                             .bytes = 64,
                             .alignment = 16,
                             .first = i,
                             .last = i,
                             .root = i,
                             .until = UINT32_MAX};
    }
    plan_module chain = {.arena = planned_arena, .model = p->model, .device = p->device, .arena_bytes = 64};
    chain.tensors.at = t;
    chain.tensors.n = COUNT;
    assert_int_equal(plan_validate(&chain, &planned_diags), BASE_OK);
    t[COUNT / 2].last = COUNT / 2 + 1;
    planned_expect_fault(&chain, "tensors 250000 \"t\" and 250001 \"t\" overlap at offset 0");
    for (uint32_t i = 0; i < COUNT; i++) { /* outputs: all of them live to the end */
        t[i].last = COUNT;
        t[i].offset = (uint64_t)i * 64;
    }
    chain.arena_bytes = (uint64_t)COUNT * 64;
    assert_int_equal(plan_validate(&chain, &planned_diags), BASE_OK);
    t[3].bytes = 65;
    planned_expect_fault(&chain, "tensors 3 \"t\" and 4 \"t\" overlap at offset 256");
}

static void faults_of_control_are_found(void **state) {
    (void)state;
    plan_module *p = planned(loop);
    p->kernels.at[6].jump = 11;
    planned_expect_fault(p, "its loop does not end where it leads");
    p = planned(loop);
    p->kernels.at[11].jump = 13;
    planned_expect_fault(p, "it jumps out of the plan");
    p = planned(loop);
    p->kernels.at[11].jump = 12;
    planned_expect_fault(p, "it does not jump back");
    p = planned(loop);
    p->kernels.at[6].condition = p->kernels.at[0].outputs[0];
    planned_expect_fault(p, "its condition is no bool in memory");
    p = planned(loop); /* what comes from outside ends with its last reader: in the next round it is gone */
    plan_tensor *outside = &p->tensors.at[p->tensors.at[p->kernels.at[0].outputs[0]].root];
    assert_int_equal(outside->last, 11);
    for (size_t i = 0; i < p->tensors.n; i++) {
        if (&p->tensors.at[p->tensors.at[i].root] == outside) {
            p->tensors.at[i].last = 8;
        }
    }
    planned_expect_fault(p, "ends before its loop, kernels 5 to 11");
    p = planned(loop);
    p->tensors.at[p->kernels.at[5].outputs[0]].last = 5;
    planned_expect_fault(p, "is used by kernel 6");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_read_is_the_state_itself, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(a_read_that_outlives_a_write_is_a_copy, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(an_output_of_the_module_is_no_state, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(what_is_computed_for_a_state_is_made_there, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(what_is_read_in_another_order_is_made_beside, planned_set_up,
                                        planned_tear_down),
        cmocka_unit_test_setup_teardown(a_state_that_moves_is_moved_where_it_is, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(a_branch_does_not_write_early, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(a_loop_is_a_test_and_a_way_back, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(values_that_change_places_are_put_aside, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(known_conditions_leave_no_test, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(stages_take_the_place_of_those_before, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(stages_of_a_recurrence_live_together, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(many_tensors_are_checked_quickly, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(faults_of_control_are_found, planned_set_up, planned_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
