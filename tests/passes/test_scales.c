/* test_scales.c - quantised arithmetic, with scales at its tensors, and as ONNX says it, with scales at its operators.
 *
 * Expected: the operators that are left, by hand; the values, by the evaluator on the graph as it was, within one step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rewritten.h"

static base_guard guard;

#define STEP 1.0

static void arithmetic_becomes_reals_between_conversions(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[2,3] \"x\" quant {0.5:1}\n"
                                       "tensor %1 i8[2,3] \"y\" quant {0.25:-4}\n"
                                       "tensor %2 i8[2,3] \"z\" quant {0.00390625:-128}\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node add (%0, %0) -> (%1) {act: text \"relu6\"} ids [0]\n"
                                       "node logistic (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "dequantise", STEP),
                        "dequantize_linear add quantize_linear dequantize_linear logistic quantize_linear");
    assert_null(strstr(rewritten_text(), "quant {"));
    assert_non_null(strstr(rewritten_text(), "i8[2,3] \"y\""));
    assert_non_null(strstr(rewritten_text(), "{act: text \"relu6\"}"));
}

static void weights_have_a_scale_for_each_channel(void **state) {
    (void)state;
    assert_string_equal(
        rewritten(HEAD "graph \"g\" 0 {\n"
                       "tensor %0 i8[1,4] \"x\" quant {0.125:3}\n"
                       "tensor %1 i8[2,4] \"w\" quant axis 0 {0.5:0, 0.25:0} = hex \"0102030405fafbfc\"\n"
                       "tensor %2 i32[2] \"b\" quant axis 0 {0.0625:0, 0.03125:0} = hex \"10000000f0ffffff\"\n"
                       "tensor %3 i8[1,2] \"y\" quant {0.75:-7}\n"
                       "inputs (%0)\n outputs (%3)\n"
                       "node fully_connected (%0, %1, %2) -> (%3) {act: text \"none\"} ids [0]\n"
                       "}\n",
                  "fold dequantise", STEP),
        "dequantize_linear dequantize_linear dequantize_linear fully_connected quantize_linear");
    assert_non_null(strstr(rewritten_text(), "{axis: int 0}"));
    assert_non_null(strstr(rewritten_text(), "f32[2] \"w_scale\" = hex \"0000003f0000803e\""));
}

/* Kernels do not look at a bias' scale: the one that counts is the product. */
static void a_bias_has_the_product_of_the_scales(void **state) {
    (void)state;
    static const char *const biases[] = {"i32[1] \"b\"", "i32[1] \"b\" quant {0.5:0}"};
    for (size_t i = 0; i < 2; i++) {
        base_arena *arena = base_arena_new(&rewritten_memory);
        const char *text = base_printf(arena,
                                       HEAD "graph \"g\" 0 {\n"
                                            "tensor %%0 i8[1,2] \"x\" quant {0.125:3}\n"
                                            "tensor %%1 i8[1,2] \"w\" quant {0.5:0} = hex \"0102\"\n"
                                            "tensor %%2 %s = hex \"30000000\"\n"
                                            "tensor %%3 i8[1,1] \"y\" quant {0.25:-7}\n"
                                            "inputs (%%0)\n outputs (%%3)\n"
                                            "node fully_connected (%%0, %%1, %%2) -> (%%3) ids [0]\n"
                                            "}\n",
                                       biases[i]);
        assert_string_equal(rewritten(text, "dequantise", STEP),
                            "dequantize_linear dequantize_linear dequantize_linear fully_connected quantize_linear");
        assert_non_null(strstr(rewritten_text(), "f32[] \"b_scale\" = hex \"0000803d\"")); /* 0.125 * 0.5 */
        base_arena_free(arena);
    }
}

static void what_moves_numbers_stays_on_integers(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD
                                  "graph \"g\" 0 {\n"
                                  "tensor %0 i8[1,2,2,2] \"x\" quant {0.5:1}\n"
                                  "tensor %1 i8[1,2,2,2] \"t\" quant {0.5:1}\n"
                                  "tensor %2 i8[1,2,2,4] \"c\" quant {0.5:1}\n"
                                  "tensor %3 i8[1,1,1,4] \"m\" quant {0.5:1}\n"
                                  "inputs (%0)\n outputs (%3)\n"
                                  "node transpose (%0) -> (%1) {perm: ints [0,2,1,3]} ids [0]\n"
                                  "node concatenation (%0, %1) -> (%2) {axis: int 3} ids [1]\n"
                                  "node max_pool2d (%2) -> (%3) {kernel: ints [2,2], strides: ints [2,2], pads: ints "
                                  "[0,0,0,0]} ids [2]\n"
                                  "}\n",
                                  "dequantise", 0),
                        "transpose concatenation max_pool2d");
    assert_null(strstr(rewritten_text(), "quant {"));
}

/* What is padded with is the zero point, which without scales would be 0. */
static void padding_with_a_zero_point_does_not(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[2] \"x\" quant {0.5:1}\n"
                                       "tensor %1 i8[4] \"y\" quant {0.5:1}\n"
                                       "inputs (%0)\n outputs (%1)\n"
                                       "node pad (%0) -> (%1) {pads: ints [1,1]} ids [0]\n"
                                       "}\n",
                                  "dequantise", 0),
                        "dequantize_linear pad quantize_linear");
}

static void conversions_are_those_of_onnx(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"x\"\n"
                                       "tensor %1 u8[4] \"a\" quant {0.0625:128}\n"
                                       "tensor %2 i8[4] \"b\" quant {0.25:1}\n"
                                       "tensor %3 f32[4] \"y\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node quantize (%0) -> (%1) ids [0]\n"
                                       "node quantize (%1) -> (%2) ids [1]\n"
                                       "node dequantize (%2) -> (%3) ids [2]\n"
                                       "}\n",
                                  "dequantise", 0.05),
                        "quantize_linear dequantize_linear quantize_linear dequantize_linear");
}

/* A softmax over integers always gives steps of 1/256: a file that says other ones means other reals. */
static void what_means_something_else_is_refused(void **state) {
    (void)state;
    assert_non_null(strstr(rewritten(HEAD "graph \"g\" 0 {\n"
                                          "tensor %0 i8[1,4] \"x\" quant {0.5:1}\n"
                                          "tensor %1 i8[1,4] \"y\" quant {0.125:-128}\n"
                                          "inputs (%0)\n outputs (%1)\n"
                                          "node softmax (%0) -> (%1) ids [0]\n"
                                          "}\n",
                                     "dequantise", STEP),
                           "softmax on quantised numbers has no counterpart on reals"));
}

static void only_targets_that_name_it(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[2] \"x\" quant {0.5:1}\n"
                                       "tensor %1 i8[2] \"y\" quant {0.25:1}\n"
                                       "inputs (%0)\n outputs (%1)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "}\n",
                                  NULL, 0),
                        "relu");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_becomes_reals_between_conversions),
        cmocka_unit_test(weights_have_a_scale_for_each_channel),
        cmocka_unit_test(a_bias_has_the_product_of_the_scales),
        cmocka_unit_test(what_moves_numbers_stays_on_integers),
        cmocka_unit_test(padding_with_a_zero_point_does_not),
        cmocka_unit_test(conversions_are_those_of_onnx),
        cmocka_unit_test(what_means_something_else_is_refused),
        cmocka_unit_test(only_targets_that_name_it),
    };
    if (BASE_GUARD(&rewritten_memory, &guard)) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
