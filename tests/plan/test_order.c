/* test_order.c - memory that another order of the operators, or writing over an input, saves; and the faults in shared bytes that
 * the independent check finds. Expected sizes are by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "planned.h"

#define HEAD "burin 1\nmodel \"ir\" \"m.ir\"\ngraph \"main\" 0 {\n"

static plan_module *planned_at(const char *text, unsigned level) {
    return planned_for(text, "cortex-m4", level);
}

/* x of 16 bytes; twice 1,024 are made of it and reduced to 16. As given, both are there at once. */
static const char *const branches =
    HEAD "tensor %0 i32[4] \"x\"\ntensor %1 i32[256] \"a\"\ntensor %2 i32[256] \"b\"\ntensor %3 i32[4] \"c\"\n"
         "tensor %4 i32[4] \"d\"\ntensor %5 i32[4] \"y\"\ntensor %6 i32[64,4] \"a2\"\ntensor %7 i32[64,4] \"b2\"\n"
         "inputs (%0)\noutputs (%5)\n"
         "node tile (%0) -> (%1) {multiples: ints [64]}\n"
         "node tile (%0) -> (%2) {multiples: ints [64]}\n"
         "node reshape (%1) -> (%6) {shape: ints [64,4]}\n"
         "node reshape (%2) -> (%7) {shape: ints [64,4]}\n"
         "node reduce_max (%6) -> (%3) {axes: ints [0]}\n"
         "node reduce_max (%7) -> (%4) {axes: ints [0]}\n"
         "node add (%3, %4) -> (%5) {act: text \"none\"}\n}\n";

static void one_branch_is_done_before_the_other(void **state) {
    (void)state;
    const plan_module *p = planned_at(branches, 0);
    assert_int_equal(p->moved, 0);
    assert_true(p->arena_bytes >= 2 * 1024 + 16);
    p = planned_at(branches, 1);
    assert_true(p->moved > 0);
    assert_int_equal(p->arena_bytes, 1024 + 2 * 16); /* x or the sum of the first, what is reduced, and what it gives */
    assert_int_equal(p->arena_bytes, p->arena_bound);
    assert_string_equal(p->kernels.at[6].op, "add");
}

/* Nothing is gained: the order of the model stays. */
static void an_order_that_saves_nothing_stays(void **state) {
    (void)state;
    const plan_module *p = planned_at(
        HEAD "tensor %0 i32[8] \"x\"\ntensor %1 i32[8] \"a\"\ntensor %2 i32[8] \"b\"\ntensor %3 i32[8] \"y\"\n"
             "inputs (%0)\noutputs (%3)\nnode abs (%0) -> (%1)\nnode neg (%0) -> (%2)\n"
             "node add (%1, %2) -> (%3) {act: text \"none\"}\n}\n",
        1);
    assert_int_equal(p->moved, 0);
    assert_string_equal(p->kernels.at[0].op, "abs");
    assert_string_equal(p->kernels.at[1].op, "neg");
}

/* State is read before it is written, and written in the order of the model, whatever would save memory. */
static void the_order_of_a_state_stays(void **state) {
    (void)state;
    const plan_module *p = planned_at(
        "burin 1\nmodel \"ir\" \"m.ir\"\nstate @0 i32[4] \"s\"\ngraph \"main\" 0 {\n"
        "tensor %0 i32[4] \"x\"\ntensor %1 i32[4] \"s\" state @0\ntensor %2 i32[256] \"a\"\ntensor %3 i32[256] \"b\"\n"
        "tensor %4 i32[64,4] \"a2\"\ntensor %5 i32[64,4] \"b2\"\ntensor %6 i32[4] \"c\"\ntensor %7 i32[4] \"d\"\n"
        "tensor %8 i32[4] \"y\"\n"
        "inputs (%0)\noutputs (%8)\n"
        "node tile (%1) -> (%2) {multiples: ints [64]}\n"
        "node identity (%0) -> (%1)\n"
        "node tile (%1) -> (%3) {multiples: ints [64]}\n"
        "node reshape (%2) -> (%4) {shape: ints [64,4]}\nnode reshape (%3) -> (%5) {shape: ints [64,4]}\n"
        "node reduce_max (%4) -> (%6) {axes: ints [0]}\nnode reduce_max (%5) -> (%7) {axes: ints [0]}\n"
        "node add (%6, %7) -> (%8) {act: text \"none\"}\n}\n",
        1);
    size_t old = 0, written = 0, new = 0;
    for (size_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        const bool tile = strcmp(k->op, "tile") == 0;
        old = tile && strcmp(planned_output(p, i)->name, "a") == 0 ? i : old;
        new = tile &&strcmp(planned_output(p, i)->name, "b") == 0 ? i : new;
        written = strcmp(k->op, "identity") == 0 ? i : written;
    }
    assert_true(p->moved > 0);
    assert_true(old < written && written < new);
    assert_int_equal(p->arena_bytes, 1024 + 2 * 16);
}

/* a and b of 1,024 bytes are needed for their sum, which takes the place of one. */
static const char *const residual =
    HEAD "tensor %0 i32[4] \"x\"\ntensor %1 i32[256] \"a\"\ntensor %2 i32[256] \"b\"\ntensor %3 i32[256] \"sum\"\n"
         "tensor %4 i32[64,4] \"sum2\"\ntensor %5 i32[4] \"y\"\ninputs (%0)\noutputs (%5)\n"
         "node tile (%0) -> (%1) {multiples: ints [64]}\nnode neg (%1) -> (%2)\n"
         "node add (%1, %2) -> (%3) {act: text \"none\"}\n"
         "node reshape (%3) -> (%4) {shape: ints [64,4]}\nnode reduce_max (%4) -> (%5) {axes: ints [0]}\n}\n";

static void a_sum_is_written_over_what_it_adds(void **state) {
    (void)state;
    plan_module *p = planned_at(residual, 1);
    assert_int_equal(p->arena_bytes, 2 * 1024);
    assert_int_equal(planned_output(p, 2)->root, planned_output(p, 0)->root);
    assert_int_equal(plan_validate(p, &planned_diags), BASE_OK);
}

static void what_was_written_over_is_not_read(void **state) {
    (void)state;
    plan_module *p = planned_at(residual, 1);
    plan_tensor *b = &p->tensors.at[p->kernels.at[1].outputs[0]];
    const plan_tensor *a = planned_output(p, 0);
    b->root = a->root; /* neg, too, over what the sum still needs */
    b->offset = a->offset;
    b->first = a->first;
    b->last = a->last;
    planned_expect_fault(p, "kernel 2 reads tensor 2 \"a\", whose bytes were written over");
}

/* In the last kernel, too: what the caller will see is there behind it. */
static void what_the_caller_sees_is_not_written_over(void **state) {
    (void)state;
    plan_module *p = planned_at(
        HEAD "tensor %0 i32[4] \"x\"\ntensor %1 i32[256] \"a\"\ntensor %2 i32[256] \"y\"\ntensor %3 i32[64,4] \"z\"\n"
             "inputs (%0)\noutputs (%2, %3)\nnode tile (%0) -> (%1) {multiples: ints [64]}\n"
             "node reshape (%1) -> (%3) {shape: ints [64,4]}\nnode neg (%1) -> (%2)\n}\n",
        1);
    assert_true(p->tensors.at[p->outputs.at[0]].root != p->tensors.at[p->outputs.at[1]].root);
    assert_int_equal(p->arena_bytes, 2 * 1024);
    plan_tensor *y = &p->tensors.at[p->outputs.at[0]];
    y->root = p->tensors.at[p->outputs.at[1]].root;
    y->offset = p->tensors.at[y->root].offset;
    y->first = p->tensors.at[y->root].first;
    planned_expect_fault(p, "the caller reads tensor");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_branch_is_done_before_the_other, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(an_order_that_saves_nothing_stays, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(the_order_of_a_state_stays, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(a_sum_is_written_over_what_it_adds, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(what_was_written_over_is_not_read, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(what_the_caller_sees_is_not_written_over, planned_set_up, planned_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
