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
#define TO_ONNX "dequantise integers unscale dead"

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
                                  TO_ONNX, STEP),
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
                  "fold " TO_ONNX, STEP),
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
        assert_string_equal(rewritten(text, TO_ONNX, STEP),
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
                                  TO_ONNX, 0),
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
                                  TO_ONNX, 0),
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
                                  TO_ONNX, 0.05),
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
                                     TO_ONNX, STEP),
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

/* ---- scales at operators become those of tensors, and words those on quantised numbers ---- */

#define QUANTISES "fold scales fuse quantise dead"

/* Weights of 2 channels, a bias, an activation; unsigned numbers at the borders alone; a softmax of 1/255, which has 1/256. */
static void a_network_becomes_one_on_integers(void **state) {
    (void)state;
    assert_string_equal(
        rewritten(HEAD "graph \"g\" 0 {\n"
                       "tensor %0 u8[1,3,3,2] \"x\"\n"
                       "tensor %1 f32[1,3,3,2] \"xr\"\n"
                       "tensor %2 f32[] \"xs\" = hex \"0000003e\"\n"
                       "tensor %3 u8[] \"xz\" = hex \"80\"\n"
                       "tensor %4 i8[2,2,2,2] \"w\" = hex \"0102030405060708f1f2f3f4f5f6f7f8\"\n"
                       "tensor %5 f32[2,2,2,2] \"wr\"\n"
                       "tensor %6 f32[2] \"ws\" = hex \"0000003d0000803d\"\n"
                       "tensor %7 i8[2] \"wz\" = hex \"0000\"\n"
                       "tensor %8 f32[2] \"b\" = hex \"0000003f000080bf\"\n"
                       "tensor %9 f32[1,2,2,2] \"y\"\n"
                       "tensor %10 u8[1,2,2,2] \"yq\"\n"
                       "tensor %11 f32[] \"ys\" = hex \"0000803d\"\n"
                       "tensor %12 u8[] \"yz\" = hex \"00\"\n"
                       "tensor %13 f32[1,2,2,2] \"yr\"\n"
                       "tensor %14 f32[1,8] \"r\"\n"
                       "tensor %15 f32[1,8] \"p\"\n"
                       "tensor %16 u8[1,8] \"pq\"\n"
                       "tensor %17 f32[] \"ps\" = hex \"8180803b\"\n"
                       "tensor %18 u8[] \"pz\" = hex \"00\"\n"
                       "tensor %19 f32[1,2,2,2] \"relu\"\n"
                       "inputs (%0)\n outputs (%16)\n"
                       "node dequantize_linear (%0, %2, %3) -> (%1) {axis: int 1} ids [0]\n"
                       "node dequantize_linear (%4, %6, %7) -> (%5) {axis: int 0} ids [1]\n"
                       "node conv2d (%1, %5, %8) -> (%9) {strides: ints [1,1], dilations: ints [1,1], pads: ints "
                       "[0,0,0,0]} ids [2]\n"
                       "node relu (%9) -> (%19) ids [3]\n"
                       "node quantize_linear (%19, %11, %12) -> (%10) {axis: int 1, precision: text \"f32\"} ids [4]\n"
                       "node dequantize_linear (%10, %11, %12) -> (%13) {axis: int 1} ids [5]\n"
                       "node reshape (%13) -> (%14) {shape: ints [1,8]} ids [6]\n"
                       "node softmax (%14) -> (%15) {beta: float 1} ids [7]\n"
                       "node quantize_linear (%15, %17, %18) -> (%16) {axis: int 1, precision: text \"f32\"} ids [8]\n"
                       "}\n",
                  QUANTISES, 2),
        "quantize conv2d reshape softmax quantize");
    assert_non_null(strstr(rewritten_text(), "i8[1,3,3,2] \"x\" quant {0.125:0}"));
    assert_non_null(strstr(rewritten_text(), "quant {0.00390625:-128}"));
    assert_non_null(
        strstr(rewritten_text(), "i32[2] \"b\" quant axis 0 {0.00390625:0, 0.0078125:0} = hex \"8000000080ffffff\""));
}

/* y = word(x, x2) by scales of 0.5 for x, 0.25 for x2 and 1 for y; zero points 1, -2 and 3. */
static const char *two(const char *word, const char *inputs, const char *result) {
    base_arena *arena = base_arena_new(&rewritten_memory);
    const char *got = rewritten(
        base_printf(
            arena,
            HEAD "graph \"g\" 0 {\n"
                 "tensor %%0 i8[1,2,2,1] \"x\"\n"
                 "tensor %%1 i8[1,2,2,1] \"x2\"\n"
                 "tensor %%2 f32[1,2,2,1] \"xr\"\n"
                 "tensor %%3 f32[1,2,2,1] \"x2r\"\n"
                 "tensor %%4 f32%s \"yr\"\n"
                 "tensor %%5 i8%s \"y\"\n"
                 "tensor %%6 f32[] \"s\" = hex \"0000003f\"\n"
                 "tensor %%7 i8[] \"z\" = hex \"01\"\n"
                 "tensor %%8 f32[] \"s\" = hex \"0000803e\"\n"
                 "tensor %%9 i8[] \"z\" = hex \"fe\"\n"
                 "tensor %%10 f32[] \"s\" = hex \"0000803f\"\n"
                 "tensor %%11 i8[] \"z\" = hex \"03\"\n"
                 "inputs (%%0, %%1)\n outputs (%%5)\n"
                 "node dequantize_linear (%%0, %%6, %%7) -> (%%2) {axis: int 1} ids [0]\n"
                 "node dequantize_linear (%%1, %%8, %%9) -> (%%3) {axis: int 1} ids [1]\n"
                 "node %s (%s) -> (%%4) %s ids [2]\n"
                 "node quantize_linear (%%4, %%10, %%11) -> (%%5) {axis: int 1, precision: text \"f32\"} ids [3]\n"
                 "}\n",
            result, result, word, inputs,
            strcmp(word, "concatenation") == 0    ? "{axis: int 3}"
            : strcmp(word, "average_pool2d") == 0 ? "{kernel: ints [2,2], strides: ints [1,1], pads: ints [0,0,0,0]}"
                                                  : ""),
        QUANTISES, STEP);
    base_arena_free(arena);
    return got;
}

static void scales_may_differ_where_the_word_takes_them(void **state) {
    (void)state;
    assert_string_equal(two("add", "%2, %3", "[1,2,2,1]"), "add");
    assert_string_equal(two("mul", "%2, %3", "[1,2,2,1]"), "mul");
}

static void where_it_does_not_a_requantisation_stands_before_or_behind(void **state) {
    (void)state;
    assert_string_equal(two("concatenation", "%2, %3", "[1,2,2,2]"), "quantize quantize concatenation");
    assert_string_equal(two("average_pool2d", "%2", "[1,1,1,1]"), "average_pool2d quantize");
    assert_string_equal(two("logistic", "%2", "[1,2,2,1]"), "logistic quantize");
}

static void what_has_no_word_on_integers_stays_on_reals(void **state) {
    (void)state;
    assert_string_equal(two("erf", "%2", "[1,2,2,1]"), "dequantize erf quantize");
}

/* Kernels of signed numbers have no zero points of weights. */
static void weights_with_a_zero_point_are_unsigned(void **state) {
    (void)state;
    assert_string_equal(
        rewritten(HEAD "graph \"g\" 0 {\n"
                       "tensor %0 i8[1,2] \"x\"\n"
                       "tensor %1 f32[1,2] \"xr\"\n"
                       "tensor %2 i8[3,2] \"w\" = hex \"0102030405f6\"\n"
                       "tensor %3 f32[3,2] \"wr\"\n"
                       "tensor %4 f32[1,3] \"yr\"\n"
                       "tensor %5 i8[1,3] \"y\"\n"
                       "tensor %6 f32[] \"s\" = hex \"0000003f\"\n"
                       "tensor %7 i8[] \"z\" = hex \"01\"\n"
                       "tensor %8 i8[] \"z\" = hex \"fe\"\n"
                       "inputs (%0)\n outputs (%5)\n"
                       "node dequantize_linear (%0, %6, %7) -> (%1) {axis: int 1} ids [0]\n"
                       "node dequantize_linear (%2, %6, %8) -> (%3) {axis: int 1} ids [1]\n"
                       "node fully_connected (%1, %3) -> (%4) ids [2]\n"
                       "node quantize_linear (%4, %6, %7) -> (%5) {axis: int 1, precision: text \"f32\"} ids [3]\n"
                       "}\n",
                  QUANTISES, STEP),
        "quantize fully_connected quantize");
    assert_non_null(strstr(rewritten_text(), "u8[3,2] \"w\" quant {0.5:126} = hex \"818283848576\""));
}

/* Weights that are transposed first, and an operator of ONNX on quantised numbers. */
static void weights_are_moved_with_their_channels(void **state) {
    (void)state;
    assert_string_equal(
        rewritten(HEAD "graph \"g\" 0 {\n"
                       "tensor %0 i8[1,2] \"x\"\n"
                       "tensor %1 f32[1,2] \"xr\"\n"
                       "tensor %2 i8[2,3] \"w\" = hex \"0102030405f6\"\n"
                       "tensor %3 f32[2,3] \"wr\"\n"
                       "tensor %4 f32[1,3] \"yr\"\n"
                       "tensor %5 i8[1,3] \"y\"\n"
                       "tensor %6 f32[] \"s\" = hex \"0000003f\"\n"
                       "tensor %7 i8[] \"z\" = hex \"01\"\n"
                       "tensor %8 f32[3] \"ws\" = hex \"0000003f0000803e0000803f\"\n"
                       "tensor %9 i8[3] \"z\" = hex \"000000\"\n"
                       "tensor %10 f32[3,2] \"wt\"\n"
                       "tensor %11 i8[1,3] \"sum\"\n"
                       "inputs (%0)\n outputs (%11)\n"
                       "node dequantize_linear (%0, %6, %7) -> (%1) {axis: int 1} ids [0]\n"
                       "node dequantize_linear (%2, %8, %9) -> (%3) {axis: int 1} ids [1]\n"
                       "node transpose (%3) -> (%10) {perm: ints [1,0]} ids [2]\n"
                       "node fully_connected (%1, %10) -> (%4) ids [3]\n"
                       "node quantize_linear (%4, %6, %7) -> (%5) {axis: int 1, precision: text \"f32\"} ids [4]\n"
                       "node qlinear_add (%5, %6, %7, %5, %6, %7, %6, %7) -> (%11) ids [5]\n"
                       "}\n",
                  QUANTISES, 2),
        "fully_connected add");
    assert_non_null(strstr(rewritten_text(), "quant axis 0 {0.5:0, 0.25:0, 1.0:0} = hex \"0104020503f6\""));
}

/* One scale at a tensor, another where it is read: such a node stays ONNX's. */
static void two_scales_of_one_tensor_stay(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"x\"\n"
                                       "tensor %1 f32[4] \"a\"\n"
                                       "tensor %2 f32[4] \"b\"\n"
                                       "tensor %3 f32[] \"s\" = hex \"0000003f\"\n"
                                       "tensor %4 f32[] \"s\" = hex \"0000803f\"\n"
                                       "inputs (%0)\n outputs (%1, %2)\n"
                                       "node dequantize_linear (%0, %3) -> (%1) {axis: int 1} ids [0]\n"
                                       "node dequantize_linear (%0, %4) -> (%2) {axis: int 1} ids [1]\n"
                                       "}\n",
                                  QUANTISES, 0),
                        "dequantize dequantize_linear");
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
        cmocka_unit_test(a_network_becomes_one_on_integers),
        cmocka_unit_test(scales_may_differ_where_the_word_takes_them),
        cmocka_unit_test(where_it_does_not_a_requantisation_stands_before_or_behind),
        cmocka_unit_test(what_has_no_word_on_integers_stays_on_reals),
        cmocka_unit_test(weights_with_a_zero_point_are_unsigned),
        cmocka_unit_test(weights_are_moved_with_their_channels),
        cmocka_unit_test(two_scales_of_one_tensor_stay),
    };
    if (BASE_GUARD(&rewritten_memory, &guard)) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
