/* test_recurrence.c - stages of recurrences: which become one, and what is computed before them. By hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "planned.h"

#define WEIGHTS "f32[2,2] \"w\"\n"
/* Three steps of two cells; %14 is a coefficient of layer normalisation, of the forget gate. */
#define LSTM(normed)                                                                                                   \
    "burin 1\nmodel \"ir\" \"m.ir\"\ngraph \"main\" 0 {\n"                                                             \
    "tensor %0 f32[1,3,2] \"x\"\ntensor %1 " WEIGHTS "tensor %2 " WEIGHTS "tensor %3 " WEIGHTS "tensor %4 " WEIGHTS    \
    "tensor %5 " WEIGHTS "tensor %6 " WEIGHTS "tensor %7 " WEIGHTS "tensor %8 " WEIGHTS                                \
    "tensor %9 f32[2] \"bi\"\ntensor %10 f32[2] \"bf\"\ntensor %11 f32[2] \"bc\"\ntensor %12 f32[2] \"bo\"\n"          \
    "tensor %13 f32[1,2] \"s\"\ntensor %14 f32[2] \"l\"\ntensor %15 f32[1,3,2] \"y\"\ntensor %16 f32[1,2] \"sn\"\n"    \
    "tensor %17 f32[1,2] \"cn\"\ntensor %18 f32[1,2] \"c\"\n"                                                          \
    "inputs (%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %18)\noutputs (%15, %16, %17)\n"         \
    "node lstm (%0, %1, %2, %3, %4, %5, %6, %7, %8, _, _, _, %9, %10, %11, %12, _, _, %13, %18, _, " normed ", _, _)"  \
    " -> (%15, %16, %17) {act: text \"tanh\"}\n}\n"

/* The stages of the recurrence of kernel 0, one behind the other. */
static const char *rounds(const plan_module *p) {
    const lang_program *x = p->kernels.at[0].program;
    base_text text = {.arena = planned_arena};
    for (size_t s = 0; s < x->stages.n; s++) {
        if (x->stages.at[s].rec >= 0) {
            base_put(&text, "%s ", x->tensors.at[x->stages.at[s].tensor].name);
        }
    }
    return text.at;
}

/* Gates are read once, by the cell and by the output: they need no tensors. The state before is read by each gate's sums. */
static void what_one_stage_of_a_round_reads_once_has_no_tensor(void **state) {
    (void)state;
    assert_string_equal(rounds(planned_for(LSTM("_"), "generic", 1)), "HP CS HS ");
    assert_string_equal(rounds(planned_for(LSTM("_"), "generic", 0)), "HP AF AI AC CS AO OUT HS ");
}

/* The mean and the deviation read the forget gate of all cells. */
static void what_is_read_more_than_once_keeps_it(void **state) {
    (void)state;
    assert_string_equal(rounds(planned_for(LSTM("%14"), "generic", 1)), "HP AF MF VF CS HS ");
}

/* ---- sums that no round changes ---- */

#define SIXTEEN "0000803f000000bf0000403f0000a0c0" /* 1, -0.5, 0.75, -5 */
#define RNN_TENSORS                                                                                                    \
    "burin 1\nmodel \"ir\" \"m.ir\"\ngraph \"main\" 0 {\n"                                                             \
    "tensor %0 f32[1,6,4] \"x\"\ntensor %1 f32[3,4] \"w\" = hex \"" SIXTEEN SIXTEEN SIXTEEN "\"\n"                     \
    "tensor %2 f32[3,3] \"r\" = hex \"" SIXTEEN SIXTEEN "00000000\"\n"                                                 \
    "tensor %3 f32[3] \"c\" = hex \"000000000000803f00000000\"\ntensor %4 f32[1,3] \"s\"\n"                            \
    "tensor %5 f32[1,6,3] \"y\"\ntensor %6 f32[1,3] \"t\"\n"
/* Six steps of four inputs and three cells. */
#define RNN                                                                                                            \
    RNN_TENSORS "inputs (%0, %4)\noutputs (%5, %6)\n"                                                                  \
                "node rnn (%0, %1, %2, %3, %4) -> (%5, %6) {act: text \"tanh\"}\n}\n"
/* Behind what needs 64 times the input. */
#define BEHIND                                                                                                         \
    RNN_TENSORS "tensor %7 f32[64,6,4] \"tiled\"\ntensor %8 f32[6,4] \"most\"\ntensor %9 f32[1,6,4] \"z\"\n"           \
                "inputs (%0, %4)\noutputs (%5, %6)\n"                                                                  \
                "node tile (%0) -> (%7) {multiples: ints [64,1,1]}\n"                                                  \
                "node reduce_max (%7) -> (%8) {axes: ints [0]}\nnode reshape (%8) -> (%9) {shape: ints [1,6,4]}\n"     \
                "node rnn (%9, %1, %2, %3, %4) -> (%5, %6) {act: text \"tanh\"}\n}\n"

/* The kernel of the recurrent layer: its first stage, and why. */
static const plan_kernel *recurrent(const plan_module *p) {
    for (size_t i = 0; i < p->kernels.n; i++) {
        if (strcmp(p->kernels.at[i].op, "rnn") == 0) {
            return &p->kernels.at[i];
        }
    }
    fail();
    return NULL;
}

static const char *first_stage(const plan_kernel *k) {
    return k->program->tensors.at[k->program->stages.at[0].tensor].name;
}

static void expect_reason(const plan_kernel *k, const char *part) {
    if (strstr(k->reason, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, k->reason);
    }
}

/* The arena's 72 bytes for six steps of three sums are no concern of the machine that compiles. */
static void this_machine_has_the_memory(void **state) {
    (void)state;
    const plan_kernel *k = recurrent(planned_for(RNN, "host", 1));
    assert_string_equal(first_stage(k), "HS.sum");
    assert_int_equal(k->schedules[0].form, PLAN_CONTRACT);
    expect_reason(k, "computed before them, in register tiles");
}

static void where_the_arena_would_grow_they_stay(void **state) {
    (void)state;
    const plan_module *p = planned_for(RNN, "cortex-m4", 1);
    const plan_kernel *k = recurrent(p);
    assert_string_equal(first_stage(k), "HP");
    /* x 96, state in 12, y 72, state out 12; the states before and after each step, 72 each; 72 of sums, and 336 without */
    assert_int_equal(p->arena_bytes, 336);
    expect_reason(k, "the arena would have 408 bytes");
}

static void where_another_operator_needs_more_they_move(void **state) {
    (void)state;
    const plan_kernel *k = recurrent(planned_for(BEHIND, "cortex-m4", 1));
    assert_string_equal(first_stage(k), "HS.sum");
    expect_reason(k, "computed before them");
    assert_string_equal(first_stage(recurrent(planned_for(BEHIND, "cortex-m4", 0))), "HP"); /* as defined */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_one_stage_of_a_round_reads_once_has_no_tensor, planned_set_up,
                                        planned_tear_down),
        cmocka_unit_test_setup_teardown(what_is_read_more_than_once_keeps_it, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(this_machine_has_the_memory, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(where_the_arena_would_grow_they_stay, planned_set_up, planned_tear_down),
        cmocka_unit_test_setup_teardown(where_another_operator_needs_more_they_move, planned_set_up, planned_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
