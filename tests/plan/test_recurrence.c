/* test_recurrence.c - stages of recurrences: which become one. By hand. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_one_stage_of_a_round_reads_once_has_no_tensor, planned_set_up,
                                        planned_tear_down),
        cmocka_unit_test_setup_teardown(what_is_read_more_than_once_keeps_it, planned_set_up, planned_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
