/* test_passes.c - each pass on small graphs: what becomes of them, and that they compute the same.
 *
 * Expected: the operators that are left, by hand; the values, by the evaluator on the graph as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rewritten.h"

static base_guard guard;

static void what_moves_nothing_vanishes(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[2,3] \"t\" quant {0.5:1}\n"
                                       "tensor %1 i8[2,3] \"t\" quant {0.5:1}\n"
                                       "tensor %2 i8[2,3] \"t\" quant {0.5:1}\n"
                                       "tensor %3 i8[2,3] \"t\" quant {0.5:1}\n"
                                       "tensor %4 i8[2,3] \"t\" quant {0.5:1}\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node slice (%0) -> (%1) {begin: ints [0,0], extents: ints [2,3]} ids [0]\n"
                                       "node concatenation (%1) -> (%2) {axis: int 1, act: text \"none\"} ids [1]\n"
                                       "node pad (%2) -> (%3) {pads: ints [0,0,0,0]} ids [2]\n"
                                       "node relu (%3) -> (%4) ids [3]\n"
                                       "}\n",
                                  "moves", 0),
                        "relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,3] \"t\"\n"
                                       "tensor %1 f32[2,3] \"t\"\n"
                                       "tensor %2 f32[2,3] \"t\"\n"
                                       "tensor %3 f32[2,3] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node cast (%1) -> (%2) ids [1]\n"
                                       "node transpose (%2) -> (%3) {perm: ints [0,1]} ids [2]\n"
                                       "}\n",
                                  "moves", 0),
                        "relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i32[2,3] \"t\"\n"
                                       "tensor %1 f32[2,3] \"t\"\n"
                                       "tensor %2 f32[2,3] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node cast (%0) -> (%1) ids [0]\n"
                                       "node relu (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "moves", 0),
                        "cast relu");
}

/* Equal but for one thing each: the attribute, the constant, the scales that the output has; and an output of the graph stays. */
static void what_computes_the_same_becomes_one(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,2] \"t\"\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[] \"t\" = hex \"0000003f\"\n"
                                       "tensor %4 f32[] \"t\" = hex \"0000003f\"\n"
                                       "tensor %5 f32[] \"t\" = hex \"0000803f\"\n"
                                       "tensor %6 f32[4] \"t\"\n"
                                       "tensor %7 f32[4] \"t\"\n"
                                       "tensor %8 f32[4] \"t\"\n"
                                       "tensor %9 f32[4] \"t\"\n"
                                       "tensor %10 f32[4] \"t\"\n"
                                       "tensor %11 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%9, %10, %11)\n"
                                       "node reshape (%0) -> (%1) {shape: ints [4]} ids [0]\n"
                                       "node reshape (%0) -> (%2) {shape: ints [4]} ids [0]\n"
                                       "node add (%1, %3) -> (%6) {act: text \"none\"} ids [1]\n"
                                       "node add (%2, %4) -> (%7) {act: text \"none\"} ids [2]\n"
                                       "node add (%2, %5) -> (%8) {act: text \"none\"} ids [3]\n"
                                       "node sub (%6, %8) -> (%9) {act: text \"none\"} ids [4]\n"
                                       "node sub (%7, %8) -> (%10) {act: text \"none\"} ids [5]\n"
                                       "node sub (%7, %8) -> (%11) {act: text \"relu\"} ids [6]\n"
                                       "}\n",
                                  "same", 0),
                        "reshape add add sub sub sub");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:0}\n"
                                       "tensor %1 i8[4] \"t\" quant {0.5:0}\n"
                                       "tensor %2 i8[4] \"t\" quant {0.25:0}\n"
                                       "tensor %3 i8[4] \"t\" quant {0.5:0}\n"
                                       "tensor %4 i8[4] \"t\" quant {0.5:0}\n"
                                       "tensor %5 i8[4] \"t\" quant {0.5:0}\n"
                                       "inputs (%0)\n outputs (%4, %5)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node relu (%0) -> (%2) ids [1]\n"
                                       "node relu (%0) -> (%3) ids [2]\n"
                                       "node add (%1, %2) -> (%4) {act: text \"none\"} ids [3]\n"
                                       "node mul (%1, %3) -> (%5) {act: text \"none\"} ids [4]\n"
                                       "}\n",
                                  "same", 0),
                        "relu relu add mul");
}

static void a_graph_that_only_hands_on_keeps_one_copy(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2] \"t\"\n"
                                       "tensor %1 f32[2] \"t\"\n"
                                       "tensor %2 f32[2] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node identity (%0) -> (%1) ids [0]\n"
                                       "node identity (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "moves", 0),
                        "reshape");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2] \"t\"\n"
                                       "tensor %1 f32[2] \"t\"\n"
                                       "tensor %2 f32[2] \"t\"\n"
                                       "inputs (%0)\n outputs (%1, %2)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node identity (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "moves", 0),
                        "relu reshape");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2] \"t\"\n"
                                       "tensor %1 f32[2] \"t\"\n"
                                       "tensor %2 f32[2] \"t\"\n"
                                       "tensor %3 f32[2] \"t\"\n"
                                       "inputs (%0)\n outputs (%2, %3)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node identity (%1) -> (%2) ids [1]\n"
                                       "node neg (%1) -> (%3) ids [2]\n"
                                       "}\n",
                                  "moves", 0),
                        "relu neg");
}

static void other_quantisation_is_kept(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[2] \"t\" quant {0.5:1}\n"
                                       "tensor %1 i8[2] \"t\" quant {0.25:1}\n"
                                       "tensor %2 i8[2] \"t\" quant {0.25:1}\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node identity (%0) -> (%1) ids [0]\n"
                                       "node relu (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "moves", 0),
                        "identity relu");
}

static void moves_of_extents_of_one_are_reshapes_and_reshapes_join(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,2,1,3] \"t\"\n"
                                       "tensor %1 f32[2,1,3,1] \"t\"\n"
                                       "tensor %2 f32[6] \"t\"\n"
                                       "tensor %3 f32[3,2] \"t\"\n"
                                       "tensor %4 f32[3,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node transpose (%0) -> (%1) {perm: ints [1,0,3,2]} ids [0]\n"
                                       "node reshape (%1) -> (%2) {shape: ints [6]} ids [1]\n"
                                       "node reshape (%2) -> (%3) {shape: ints [3,2]} ids [2]\n"
                                       "node relu (%3) -> (%4) ids [3]\n"
                                       "}\n",
                                  "moves", 0),
                        "reshape relu");
    assert_non_null(strstr(rewritten_text(), "node reshape (%0) -> (%3) {shape: ints [3, 2]} ids [0, 1, 2]"));
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,3] \"t\"\n"
                                       "tensor %1 f32[6] \"t\"\n"
                                       "tensor %2 f32[2,3] \"t\"\n"
                                       "tensor %3 f32[2,3] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node reshape (%0) -> (%1) {shape: ints [6]} ids [0]\n"
                                       "node reshape (%1) -> (%2) {shape: ints [2,3]} ids [1]\n"
                                       "node relu (%2) -> (%3) ids [2]\n"
                                       "}\n",
                                  "moves", 0),
                        "relu");
}

static void transposes_join(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[2,3,4] \"t\"\n"
                                       "tensor %1 i8[4,2,3] \"t\"\n"
                                       "tensor %2 i8[3,4,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node transpose (%0) -> (%1) {perm: ints [2,0,1]} ids [0]\n"
                                       "node transpose (%1) -> (%2) {perm: ints [2,0,1]} ids [1]\n"
                                       "}\n",
                                  "moves", 0),
                        "transpose");
    assert_non_null(strstr(rewritten_text(), "{perm: ints [1, 2, 0]} ids [0, 1]"));
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,3,4] \"t\"\n"
                                       "tensor %1 f32[4,2,3] \"t\"\n"
                                       "tensor %2 f32[2,3,4] \"t\"\n"
                                       "tensor %3 f32[2,3,4] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node transpose (%0) -> (%1) {perm: ints [2,0,1]} ids [0]\n"
                                       "node transpose (%1) -> (%2) {perm: ints [1,2,0]} ids [1]\n"
                                       "node relu (%2) -> (%3) ids [2]\n"
                                       "}\n",
                                  "moves", 0),
                        "relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[2,3,4] \"t\"\n"
                                       "tensor %1 i8[4,2,3] \"t\"\n"
                                       "tensor %2 i8[2,3,4] \"t\"\n"
                                       "inputs (%0)\n outputs (%1, %2)\n"
                                       "node transpose (%0) -> (%1) {perm: ints [2,0,1]} ids [0]\n"
                                       "node transpose (%1) -> (%2) {perm: ints [1,2,0]} ids [1]\n"
                                       "}\n",
                                  "moves", 0),
                        "transpose reshape");
}

static void states_are_read_when_their_turn_comes(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "state @0 f32[2] \"s\"\n"
                                       "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2] \"t\"\n"
                                       "tensor %1 f32[2] \"s\" state @0\n"
                                       "tensor %2 f32[2] \"t\"\n"
                                       "tensor %3 f32[2] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node identity (%1) -> (%2) ids [0]\n"
                                       "node identity (%0) -> (%1) ids [1]\n"
                                       "node add (%2, %0) -> (%3) {act: text \"none\"} ids [2]\n"
                                       "}\n",
                                  "moves clamp fuse", 0),
                        "identity identity add");
}

static void padding_goes_into_convolutions(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,4,4,1] \"t\"\n"
                                       "tensor %1 f32[1,7,5,1] \"t\"\n"
                                       "tensor %2 f32[1,3,3,1] \"t\" = hex "
                                       "\"0000003f000080bf0000004000004040000080be0000803f0000000000008040000000c0\"\n"
                                       "tensor %3 f32[1,5,3,1] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node pad (%0) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node conv2d (%1, %2) -> (%3) {strides: ints [1,1], dilations: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "pad", 1e-6),
                        "conv2d");
    assert_non_null(strstr(rewritten_text(), "pads: ints [1, 1, 2, 0]"));
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[1,4,4,1] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[1,7,5,1] \"t\" quant {0.5:3}\n"
                                       "tensor %2 i8[1,3,3,1] \"t\" quant {0.25:0} = hex \"01fe030405fa070809\"\n"
                                       "tensor %3 i8[1,7,4,1] \"t\" quant {1.5:-4}\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node pad (%0) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node depthwise_conv2d (%1, %2) -> (%3) {strides: ints [1,1], dilations: ints "
                                       "[1,1], pads: ints [1,0,1,1], act: text \"relu\"} ids [1]\n"
                                       "}\n",
                                  "pad", 0),
                        "depthwise_conv2d");
    assert_non_null(strstr(rewritten_text(), "pads: ints [2, 1, 3, 1]"));
}

static void another_value_stays(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,4,4,1] \"t\"\n"
                                       "tensor %1 f32[1,7,5,1] \"t\"\n"
                                       "tensor %2 f32[1,3,3,1] \"t\" = hex "
                                       "\"0000003f000080bf0000004000004040000080be0000803f0000000000008040000000c0\"\n"
                                       "tensor %3 f32[1,5,3,1] \"t\"\n"
                                       "tensor %4 f32[1] \"t\" = hex \"0000803f\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node pad (%0, %4) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node conv2d (%1, %2) -> (%3) {strides: ints [1,1], dilations: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "pad", 0),
                        "pad conv2d");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[1,4,4,1] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[1,7,5,1] \"t\" quant {0.5:3}\n"
                                       "tensor %2 i8[1,3,3,1] \"t\" quant {0.25:0} = hex \"01fe030405fa070809\"\n"
                                       "tensor %3 i8[1,5,3,1] \"t\" quant {1.5:-4}\n"
                                       "tensor %4 i8[] \"t\" quant {0.5:3} = hex \"00\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node pad (%0, %4) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node conv2d (%1, %2) -> (%3) {strides: ints [1,1], dilations: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "pad", 0),
                        "pad conv2d");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[1,4,4,1] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[1,7,5,1] \"t\" quant {0.5:3}\n"
                                       "tensor %2 i8[1,3,3,1] \"t\" quant {0.25:0} = hex \"01fe030405fa070809\"\n"
                                       "tensor %3 i8[1,5,3,1] \"t\" quant {1.5:-4}\n"
                                       "tensor %4 i8[] \"t\" quant {0.5:3} = hex \"03\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node pad (%0, %4) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node conv2d (%1, %2) -> (%3) {strides: ints [1,1], dilations: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "pad", 0),
                        "conv2d");
}

static void all_readers_or_none(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,4,4,1] \"t\"\n"
                                       "tensor %1 f32[1,7,5,1] \"t\"\n"
                                       "tensor %2 f32[1,3,3,1] \"t\" = hex "
                                       "\"0000003f000080bf0000004000004040000080be0000803f0000000000008040000000c0\"\n"
                                       "tensor %3 f32[1,5,3,1] \"t\"\n"
                                       "tensor %4 f32[1,5,3,1] \"t\"\n"
                                       "inputs (%0)\n outputs (%3, %4)\n"
                                       "node pad (%0) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node conv2d (%1, %2) -> (%3) {strides: ints [1,1], dilations: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "node conv2d (%1, %2) -> (%4) {strides: ints [1,1], dilations: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"relu\"} ids [2]\n"
                                       "}\n",
                                  "pad", 1e-6),
                        "conv2d conv2d");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,4,4,1] \"t\"\n"
                                       "tensor %1 f32[1,7,5,1] \"t\"\n"
                                       "tensor %2 f32[1,3,3,1] \"t\" = hex "
                                       "\"0000003f000080bf0000004000004040000080be0000803f0000000000008040000000c0\"\n"
                                       "tensor %3 f32[1,5,3,1] \"t\"\n"
                                       "tensor %4 f32[1,7,5,1] \"t\"\n"
                                       "inputs (%0)\n outputs (%3, %4)\n"
                                       "node pad (%0) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node conv2d (%1, %2) -> (%3) {strides: ints [1,1], dilations: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "node abs (%1) -> (%4) ids [2]\n"
                                       "}\n",
                                  "pad", 0),
                        "pad conv2d abs");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,4,4,1] \"t\"\n"
                                       "tensor %1 f32[1,7,5,1] \"t\"\n"
                                       "tensor %2 f32[1,3,3,1] \"t\" = hex "
                                       "\"0000003f000080bf0000004000004040000080be0000803f0000000000008040000000c0\"\n"
                                       "tensor %3 f32[1,5,3,1] \"t\"\n"
                                       "inputs (%0)\n outputs (%1, %3)\n"
                                       "node pad (%0) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node conv2d (%1, %2) -> (%3) {strides: ints [1,1], dilations: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "pad", 0),
                        "pad conv2d");
}

static void averages_count_what_is_padded(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,4,4,1] \"t\"\n"
                                       "tensor %1 f32[1,7,5,1] \"t\"\n"
                                       "tensor %2 f32[1,6,4,1] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node pad (%0) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node average_pool2d (%1) -> (%2) {kernel: ints [2,2], strides: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "pad", 0),
                        "pad average_pool2d");
}

static void maxima_take_what_cannot_win(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[1,4,4,1] \"t\" quant {0.5:-128}\n"
                                       "tensor %1 i8[1,7,5,1] \"t\" quant {0.5:-128}\n"
                                       "tensor %2 i8[1,6,4,1] \"t\" quant {0.5:-128}\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node pad (%0) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node max_pool2d (%1) -> (%2) {kernel: ints [2,2], strides: ints [1,1], pads: "
                                       "ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "pad", 0),
                        "max_pool2d");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[1,4,4,1] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[1,7,5,1] \"t\" quant {0.5:3}\n"
                                       "tensor %2 i8[1,6,4,1] \"t\" quant {0.5:3}\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node pad (%0) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node max_pool2d (%1) -> (%2) {kernel: ints [2,2], strides: ints [1,1], pads: "
                                       "ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "pad", 0),
                        "pad max_pool2d");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,4,4,1] \"t\"\n"
                                       "tensor %1 f32[1,4,4,1] \"t\"\n"
                                       "tensor %2 f32[1,7,5,1] \"t\"\n"
                                       "tensor %3 f32[1,5,3,1] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node pad (%1) -> (%2) {pads: ints [0,0,1,2,1,0,0,0]} ids [1]\n"
                                       "node max_pool2d (%2) -> (%3) {kernel: ints [3,3], strides: ints [1,1], pads: "
                                       "ints [0,0,0,0], act: text \"none\"} ids [2]\n"
                                       "}\n",
                                  "pad", 0),
                        "relu max_pool2d");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,4,4,1] \"t\"\n"
                                       "tensor %1 f32[1,4,4,1] \"t\"\n"
                                       "tensor %2 f32[1,7,5,1] \"t\"\n"
                                       "tensor %3 f32[1,6,4,1] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node pad (%1) -> (%2) {pads: ints [0,0,1,2,1,0,0,0]} ids [1]\n"
                                       "node max_pool2d (%2) -> (%3) {kernel: ints [2,2], strides: ints [1,1], pads: "
                                       "ints [0,0,0,0], act: text \"none\"} ids [2]\n"
                                       "}\n",
                                  "pad", 0),
                        "relu pad max_pool2d");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,4,4,1] \"t\"\n"
                                       "tensor %1 f32[1,7,5,1] \"t\"\n"
                                       "tensor %2 f32[1,5,3,1] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node pad (%0) -> (%1) {pads: ints [0,0,1,2,1,0,0,0]} ids [0]\n"
                                       "node max_pool2d (%1) -> (%2) {kernel: ints [3,3], strides: ints [1,1], pads: "
                                       "ints [0,0,0,0], act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "pad", 0),
                        "pad max_pool2d");
}

static void factors_and_addends_go_into_weights(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,2,2,2] \"t\"\n"
                                       "tensor %1 f32[2,1,1,2] \"t\" = hex \"0000803f0000004000004040000080c0\"\n"
                                       "tensor %2 f32[2] \"t\" = hex \"0000003f0000803f\"\n"
                                       "tensor %3 f32[1,2,2,2] \"t\"\n"
                                       "tensor %4 f32[1,1,1,2] \"t\" = hex \"00000040000000bf\"\n"
                                       "tensor %5 f32[1,2,2,2] \"t\"\n"
                                       "tensor %6 f32[2] \"t\" = hex \"00000041000040c0\"\n"
                                       "tensor %7 f32[1,2,2,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%7)\n"
                                       "node conv2d (%0, %1, %2) -> (%3) {strides: ints [1,1], dilations: ints [1,1], "
                                       "pads: ints [0,0,0,0], act: text \"none\"} ids [0]\n"
                                       "node mul (%3, %4) -> (%5) {act: text \"none\"} ids [1]\n"
                                       "node add (%6, %5) -> (%7) {act: text \"relu6\"} ids [2]\n"
                                       "}\n",
                                  "scale", 1e-6),
                        "conv2d");
    assert_non_null(strstr(rewritten_text(), "act: text \"relu6\""));
    assert_non_null(strstr(rewritten_text(), "ids [0, 1, 2]"));
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[1,2,2,2] \"t\"\n"
                                       "tensor %1 f32[1,1,1,4] \"t\" = hex \"0000803f0000004000004040000080c0\"\n"
                                       "tensor %2 f32[1,2,2,4] \"t\"\n"
                                       "tensor %3 f32[4] \"t\" = hex \"0000004000008040000000c10000003f\"\n"
                                       "tensor %4 f32[1,2,2,4] \"t\"\n"
                                       "tensor %5 f32[] \"t\" = hex \"00004040\"\n"
                                       "tensor %6 f32[1,2,2,4] \"t\"\n"
                                       "inputs (%0)\n outputs (%6)\n"
                                       "node depthwise_conv2d (%0, %1) -> (%2) {strides: ints [1,1], dilations: ints "
                                       "[1,1], pads: ints [0,0,0,0], act: text \"none\"} ids [0]\n"
                                       "node div (%2, %3) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "node sub (%4, %5) -> (%6) {act: text \"none\"} ids [2]\n"
                                       "}\n",
                                  "scale", 1e-6),
                        "depthwise_conv2d");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[3,2] \"t\"\n"
                                       "tensor %1 f32[2,2] \"t\" = hex \"0000803f0000004000004040000080c0\"\n"
                                       "tensor %2 f32[3,2] \"t\"\n"
                                       "tensor %3 f32[2] \"t\" = hex \"0000004000008040\"\n"
                                       "tensor %4 f32[3,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node fully_connected (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node mul (%2, %3) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "scale", 1e-6),
                        "fully_connected");
    assert_string_equal(
        rewritten(
            HEAD
            "graph \"g\" 0 {\n"
            "tensor %0 f32[1,2,2,1] \"t\"\n"
            "tensor %1 f32[2,2,2,1] \"t\" = hex \"0000803f0000004000004040000080c00000a0400000c0400000e04000000041\"\n"
            "tensor %2 f32[1,4,4,2] \"t\"\n"
            "tensor %3 f32[2] \"t\" = hex \"0000004000008040\"\n"
            "tensor %4 f32[1,4,4,2] \"t\"\n"
            "inputs (%0)\n outputs (%4)\n"
            "node transpose_conv (%1, %0) -> (%2) {strides: ints [2,2], pads: ints [0,0], extents: ints [4,4], act: "
            "text \"none\"} ids [0]\n"
            "node mul (%2, %3) -> (%4) {act: text \"none\"} ids [1]\n"
            "}\n",
            "scale", 1e-6),
        "transpose_conv");
}

static void what_is_no_factor_for_each_channel_stays(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,2] \"t\"\n"
                                       "tensor %1 f32[2,2] \"t\" = hex \"0000803f0000004000004040000080c0\"\n"
                                       "tensor %2 f32[2,2] \"t\"\n"
                                       "tensor %3 f32[2,1] \"t\" = hex \"0000004000008040\"\n"
                                       "tensor %4 f32[2,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node fully_connected (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node mul (%2, %3) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "scale", 0),
                        "fully_connected mul");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,2] \"t\"\n"
                                       "tensor %1 f32[2,2] \"t\" = hex \"0000803f0000004000004040000080c0\"\n"
                                       "tensor %2 f32[2,2] \"t\"\n"
                                       "tensor %3 f32[2,2] \"t\" = hex \"0000004000008040000040400000a040\"\n"
                                       "tensor %4 f32[2,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node fully_connected (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node mul (%2, %3) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "scale", 0),
                        "fully_connected mul");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,2] \"t\"\n"
                                       "tensor %1 f32[2,2] \"t\" = hex \"0000803f0000004000004040000080c0\"\n"
                                       "tensor %2 f32[2,2] \"t\"\n"
                                       "tensor %3 f32[2] \"t\" = hex \"0000004000008040\"\n"
                                       "tensor %4 f32[2,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node fully_connected (%0, %1) -> (%2) {act: text \"relu\"} ids [0]\n"
                                       "node mul (%2, %3) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "scale", 0),
                        "fully_connected mul");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,2] \"t\"\n"
                                       "tensor %1 f32[2,2] \"t\" = hex \"0000803f0000004000004040000080c0\"\n"
                                       "tensor %2 f32[2,2] \"t\"\n"
                                       "tensor %3 f32[2] \"t\" = hex \"0000004000008040\"\n"
                                       "tensor %4 f32[2,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%2, %4)\n"
                                       "node fully_connected (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node mul (%2, %3) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "scale", 0),
                        "fully_connected mul");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,2] \"t\"\n"
                                       "tensor %1 f32[2,2] \"t\" = hex \"0000803f0000004000004040000080c0\"\n"
                                       "tensor %2 f32[2,2] \"t\"\n"
                                       "tensor %3 f32[2] \"t\" = hex \"0000004000008040\"\n"
                                       "tensor %4 f32[2,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node fully_connected (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node div (%3, %2) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "scale", 0),
                        "fully_connected div");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,2] \"t\"\n"
                                       "tensor %1 f32[2,2] \"t\" = hex \"0000803f0000004000004040000080c0\"\n"
                                       "tensor %2 f32[2,2] \"t\"\n"
                                       "tensor %3 f32[2] \"t\" = hex \"0000004000008040\"\n"
                                       "tensor %4 f32[2,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node fully_connected (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node sub (%3, %2) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "scale", 0),
                        "fully_connected sub");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,2] \"t\"\n"
                                       "tensor %1 f32[2,2] \"t\" = hex \"00000040000000400000004000000040\"\n"
                                       "tensor %2 f32[2,2] \"t\"\n"
                                       "tensor %3 f32[2] \"t\" = hex \"e6b1617f0000803f\"\n"
                                       "tensor %4 f32[2,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node fully_connected (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node mul (%2, %3) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "scale", 0),
                        "fully_connected mul");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2,2] \"t\"\n"
                                       "tensor %1 f32[2,2] \"t\" = hex \"08e53c1e0000803f0000803f0000803f\"\n"
                                       "tensor %2 f32[2,2] \"t\"\n"
                                       "tensor %3 f32[2] \"t\" = hex \"6042a20d0000803f\"\n"
                                       "tensor %4 f32[2,2] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node fully_connected (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node mul (%2, %3) -> (%4) {act: text \"none\"} ids [1]\n"
                                       "}\n",
                                  "scale", 0),
                        "fully_connected mul");
}

static void chains_of_bounds_become_one(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"0000c040\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node minimum (%0, %1) -> (%2) ids [0]\n"
                                       "node relu (%2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu6");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 f32[] \"t\" = hex \"0000c040\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node minimum (%1, %2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu6");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"00000000\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[] \"t\" = hex \"0000c040\"\n"
                                       "tensor %4 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node maximum (%0, %1) -> (%2) ids [0]\n"
                                       "node minimum (%2, %3) -> (%4) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu6");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node relu (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node relu6 (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu6");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node relu6 (%0) -> (%1) ids [0]\n"
                                       "node relu (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu6");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"000080bf\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[] \"t\" = hex \"0000803f\"\n"
                                       "tensor %4 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node maximum (%0, %1) -> (%2) ids [0]\n"
                                       "node minimum (%2, %3) -> (%4) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu_n1_to_1");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node relu_n1_to_1 (%0) -> (%1) ids [0]\n"
                                       "node relu (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu_0_to_1");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 f32[] \"t\" = hex \"0000e040\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "tensor %4 f32[] \"t\" = hex \"000040c0\"\n"
                                       "tensor %5 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%5)\n"
                                       "node relu6 (%0) -> (%1) ids [0]\n"
                                       "node minimum (%1, %2) -> (%3) ids [1]\n"
                                       "node maximum (%3, %4) -> (%5) ids [2]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu6");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"0000a040\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node minimum (%0, %1) -> (%2) ids [0]\n"
                                       "node relu (%2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "minimum relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"000000c0\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node minimum (%0, %1) -> (%2) ids [0]\n"
                                       "node relu (%2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "minimum relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "tensor %4 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node abs (%0) -> (%1) ids [0]\n"
                                       "node relu (%1) -> (%2) ids [1]\n"
                                       "node relu6 (%2) -> (%3) ids [2]\n"
                                       "node relu (%3) -> (%4) ids [3]\n"
                                       "}\n",
                                  "clamp", 0),
                        "abs relu6");
}

static void quantised_chains_keep_their_integers(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[] \"t\" quant {0.5:3} = hex \"0f\"\n"
                                       "tensor %2 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %3 i8[4] \"t\" quant {0.5:3}\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node minimum (%0, %1) -> (%2) ids [0]\n"
                                       "node relu (%2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu6");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %2 i8[4] \"t\" quant {0.5:3}\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node relu6 (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu6");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[] \"t\" quant {0.5:3} = hex \"0e\"\n"
                                       "tensor %2 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %3 i8[4] \"t\" quant {0.5:3}\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node minimum (%0, %1) -> (%2) ids [0]\n"
                                       "node relu (%2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "minimum relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 u8[4] \"t\" quant {0.1:7}\n"
                                       "tensor %1 u8[4] \"t\" quant {0.1:7}\n"
                                       "tensor %2 u8[4] \"t\" quant {0.1:7}\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node relu6 (%0) -> (%1) ids [0]\n"
                                       "node relu (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu6");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[4] \"t\" quant {0.25:3}\n"
                                       "tensor %2 i8[4] \"t\" quant {0.25:3}\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node relu (%0) -> (%1) ids [0]\n"
                                       "node relu6 (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "clamp", 0),
                        "relu relu6");
}

static void bounds_become_activations(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"0000803f\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node add (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node relu (%2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "fuse", 0),
                        "add");
    assert_non_null(strstr(rewritten_text(), "act: text \"relu\""));
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"0000803f\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "tensor %4 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node add (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node relu (%2) -> (%3) ids [1]\n"
                                       "node relu6 (%3) -> (%4) ids [2]\n"
                                       "}\n",
                                  "fuse", 0),
                        "add");
    assert_non_null(strstr(rewritten_text(), "act: text \"relu6\""));
    assert_non_null(strstr(rewritten_text(), "ids [0, 1, 2]"));
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"0000803f\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[] \"t\" = hex \"0000803f\"\n"
                                       "tensor %4 f32[4] \"t\"\n"
                                       "tensor %5 f32[] \"t\" = hex \"000080bf\"\n"
                                       "tensor %6 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%6)\n"
                                       "node add (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node minimum (%2, %3) -> (%4) ids [1]\n"
                                       "node maximum (%4, %5) -> (%6) ids [2]\n"
                                       "}\n",
                                  "clamp fuse", 0),
                        "add");
    assert_non_null(strstr(rewritten_text(), "act: text \"relu_n1_to_1\""));
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"0000803f\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node add (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node relu_0_to_1 (%2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "fuse", 0),
                        "add relu_0_to_1");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 f32[] \"t\" = hex \"0000803f\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[] \"t\" = hex \"00004040\"\n"
                                       "tensor %4 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%4)\n"
                                       "node add (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node minimum (%2, %3) -> (%4) ids [1]\n"
                                       "}\n",
                                  "fuse", 0),
                        "add minimum");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[] \"t\" quant {0.5:3} = hex \"09\"\n"
                                       "tensor %2 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %3 i8[4] \"t\" quant {0.5:3}\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node add (%0, %1) -> (%2) {act: text \"none\"} ids [0]\n"
                                       "node relu6 (%2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "fuse", 0),
                        "add");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2] \"t\"\n"
                                       "tensor %1 f32[2] \"t\"\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "tensor %3 f32[4] \"t\"\n"
                                       "inputs (%0, %1)\n outputs (%3)\n"
                                       "node concatenation (%0, %1) -> (%2) {axis: int 0, act: text \"none\"} ids [0]\n"
                                       "node relu (%2) -> (%3) ids [1]\n"
                                       "}\n",
                                  "fuse", 0),
                        "concatenation relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[2] \"t\"\n"
                                       "tensor %1 f32[2] \"t\"\n"
                                       "tensor %2 f32[2] \"t\"\n"
                                       "inputs (%0)\n outputs (%1, %2)\n"
                                       "node add (%0, %0) -> (%1) {act: text \"none\"} ids [0]\n"
                                       "node relu (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "fuse", 0),
                        "add relu");
}

static void there_and_back_vanishes(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.0123:5}\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 i8[4] \"t\" quant {0.0123:5}\n"
                                       "tensor %3 i8[4] \"t\" quant {0.0123:5}\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node dequantize (%0) -> (%1) ids [0]\n"
                                       "node quantize (%1) -> (%2) ids [1]\n"
                                       "node relu (%2) -> (%3) ids [2]\n"
                                       "}\n",
                                  "requantise", 0),
                        "relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i16[4] \"t\" quant {0.0123:0}\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 i16[4] \"t\" quant {0.0123:0}\n"
                                       "tensor %3 i16[4] \"t\" quant {0.0123:0}\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node dequantize (%0) -> (%1) ids [0]\n"
                                       "node quantize (%1) -> (%2) ids [1]\n"
                                       "node relu (%2) -> (%3) ids [2]\n"
                                       "}\n",
                                  "requantise", 0),
                        "relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:5}\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 i8[4] \"t\" quant {0.5:5}\n"
                                       "tensor %3 i8[4] \"t\" quant {0.5:5}\n"
                                       "inputs (%0)\n outputs (%1, %3)\n"
                                       "node dequantize (%0) -> (%1) ids [0]\n"
                                       "node quantize (%1) -> (%2) ids [1]\n"
                                       "node relu (%2) -> (%3) ids [2]\n"
                                       "}\n",
                                  "requantise", 0),
                        "dequantize relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %2 i8[4] \"t\" quant {0.5:3}\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node quantize (%0) -> (%1) ids [0]\n"
                                       "node relu (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "requantise", 0),
                        "relu");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 f32[4] \"t\"\n"
                                       "tensor %1 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node quantize (%0) -> (%1) ids [0]\n"
                                       "node dequantize (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "requantise", 0),
                        "quantize dequantize");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i32[4] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i32[4] \"t\" quant {0.5:3}\n"
                                       "tensor %2 f32[4] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node quantize (%0) -> (%1) ids [0]\n"
                                       "node dequantize (%1) -> (%2) ids [1]\n"
                                       "}\n",
                                  "requantise", 0),
                        "quantize dequantize");
}

static void other_parameters_are_one_step_where_that_is_exact(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:5}\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 i8[4] \"t\" quant {1.0:-3}\n"
                                       "tensor %3 i8[4] \"t\" quant {1.0:-3}\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node dequantize (%0) -> (%1) ids [0]\n"
                                       "node quantize (%1) -> (%2) ids [1]\n"
                                       "node relu (%2) -> (%3) ids [2]\n"
                                       "}\n",
                                  "requantise", 0),
                        "dequantize quantize relu"); /* half a step: away from zero in float, up in fixed point */
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 u8[4] \"t\" quant {0.5:5}\n"
                                       "tensor %1 f32[4] \"t\"\n"
                                       "tensor %2 i8[4] \"t\" quant {0.25:0}\n"
                                       "tensor %3 i8[4] \"t\" quant {0.25:0}\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node dequantize (%0) -> (%1) ids [0]\n"
                                       "node quantize (%1) -> (%2) ids [1]\n"
                                       "node relu (%2) -> (%3) ids [2]\n"
                                       "}\n",
                                  "requantise", 0),
                        "quantize relu");
}

#define F "tensor %0 f32[2,3] \"x\"\n tensor %1 f32[3] \"c\" = hex \"0000803f0000004000004040\"\n"
#define V(n) "tensor %" #n " f32[2,3] \"t\"\n"
#define ADD(x, y, to) "node add (%" #x ", %" #y ") -> (%" #to ") {act: text \"none\"}"

/* The graph with these values, inputs, outputs and nodes. */
#define CHAIN(values, in, out, nodes)                                                                                  \
    HEAD "graph \"g\" 0 {\n" F values "inputs (" in ")\n outputs (" out ")\n" nodes "}\n"

static void what_works_element_by_element_becomes_one(void **state) {
    (void)state;
    assert_string_equal(rewritten(CHAIN(V(2) V(3) V(4), "%0", "%4",
                                        "node mul (%0, %1) -> (%2) {act: text \"none\"} ids [7]\n"
                                        "node logistic (%2) -> (%3) ids [8]\n" ADD(3, 0, 4) " ids [9]\n"),
                                  "chain", 0),
                        "fused");
    assert_non_null(strstr(rewritten_text(), "node fused (%0, %1) -> (%4) {body: graph 1} ids [7, 8, 9]"));
    /* Both values of a sum, and what is between them in the order. */
    assert_string_equal(rewritten(CHAIN(V(2) V(3) V(4), "%0", "%4",
                                        "node exp (%0) -> (%2)\n node tanh (%0) -> (%3)\n" ADD(2, 3, 4) "\n"),
                                  "chain", 0),
                        "fused");
    /* A value that another node reads, or that is an output, is made. */
    assert_string_equal(rewritten(CHAIN(V(2) V(3) V(4), "%0", "%3, %4",
                                        "node exp (%0) -> (%2)\n node tanh (%2) -> (%3)\n node abs (%2) -> (%4)\n"),
                                  "chain", 0),
                        "exp tanh abs");
    assert_string_equal(
        rewritten(CHAIN(V(2) V(3), "%0", "%2, %3", "node exp (%0) -> (%2)\n node tanh (%2) -> (%3)\n"), "chain", 0),
        "exp tanh");
}

static void what_reads_other_elements_or_sums_stays(void **state) {
    (void)state;
    assert_string_equal(
        rewritten(CHAIN(V(2) V(3), "%0", "%3", "node reverse (%0) -> (%2) {axes: ints [1]}\n node tanh (%2) -> (%3)\n"),
                  "chain", 0),
        "reverse tanh");
    assert_string_equal(
        rewritten(CHAIN(V(2) V(3), "%0", "%3", "node exp (%0) -> (%2)\n node softmax (%2) -> (%3) {beta: float 1}\n"),
                  "chain", 0),
        "exp softmax");
    /* A value that is read by rows: it would be computed again for each. */
    assert_string_equal(rewritten(CHAIN("tensor %2 f32[3] \"r\"\n tensor %3 f32[3] \"t\"\n" V(4), "%0, %2", "%4",
                                        "node exp (%2) -> (%3)\n" ADD(0, 3, 4) "\n"),
                                  "chain", 0),
                        "exp add");
}

static void integers_do_not_depend_on_contractions(void **state) {
    (void)state;
    assert_string_equal(rewritten(CHAIN(V(2) "tensor %3 i8[2,3] \"q\" quant {0.1:3}\n", "%0", "%3",
                                        ADD(0, 1, 2) "\n node quantize (%2) -> (%3)\n"),
                                  "chain", 0),
                        "add quantize");
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i8[4] \"t\" quant {0.5:3}\n"
                                       "tensor %1 i8[4] \"t\" quant {0.25:-4}\n"
                                       "tensor %2 i8[4] \"t\" quant {0.0078125:0}\n"
                                       "tensor %3 i8[4] \"t\" quant {0.75:9}\n"
                                       "inputs (%0)\n outputs (%3)\n"
                                       "node mul (%0, %0) -> (%1) {act: text \"none\"}\n"
                                       "node tanh (%1) -> (%2)\n"
                                       "node add (%0, %2) -> (%3) {act: text \"relu\"}\n"
                                       "}\n",
                                  "chain", 0),
                        "fused");
}

static void what_would_need_more_memory_stays(void **state) {
    (void)state;
    /* 24 bytes of reals become 6 of integers, which wait: with the reals waiting instead it would be more. */
    assert_string_equal(rewritten(CHAIN("tensor %2 i8[2,3] \"q\" quant {0.1:3}\n" V(3) V(4) V(5), "%0", "%5",
                                        "node quantize (%0) -> (%2)\n node softmax (%0) -> (%3) {beta: float 1}\n"
                                        "node dequantize (%2) -> (%4)\n" ADD(3, 4, 5) "\n"),
                                  "chain", 0),
                        "quantize softmax fused");
    /* Wider than what is between: both would be there at once. */
    assert_string_equal(rewritten(CHAIN("tensor %2 i8[2,3] \"q\" quant {0.1:3}\n" V(3), "%0", "%3",
                                        "node quantize (%0) -> (%2)\n node dequantize (%2) -> (%3)\n"),
                                  "chain", 0),
                        "quantize dequantize");
}

/* A walk over a large graph takes as long as there are programs to be made of definitions. */
static void each_node_of_a_chain_is_instantiated_once(void **state) {
    (void)state;
    assert_string_equal(rewritten(CHAIN(V(2) V(3) V(4) V(5) V(6), "%0", "%6",
                                        "node mul (%0, %1) -> (%2) {act: text \"none\"}\n node tanh (%2) -> (%3)\n" ADD(
                                            3, 1, 4) "\n node exp (%4) -> (%5)\n node abs (%5) -> (%6)\n"),
                                  "chain", 0),
                        "fused");
    assert_int_equal(rewritten_instantiated(), 5);
}

/* x times a matrix of 2 x 3, and what follows. */
#define MATRIX "tensor %2 f32[2,2] \"m\"\n tensor %3 f32[3,2] \"w\" = hex \"" ONES ONES ONES "\"\n"
#define ONES "0000803f0000803f"
#define PRODUCT(to) "node fully_connected (%2, %3) -> (%" #to ") {act: text \"none\"}"

static void a_sum_of_products_begins_a_chain(void **state) {
    (void)state;
    assert_string_equal(
        rewritten(CHAIN(MATRIX V(4) V(5) V(6), "%2", "%6",
                        PRODUCT(4) " ids [3]\n node relu (%4) -> (%5) ids [5]\n" ADD(5, 1, 6) " ids [7]\n"),
                  "chain", 0),
        "fused");
    assert_non_null(strstr(rewritten_text(), "node fused (%2, %3, %1) -> (%6) {body: graph 1} ids [3, 5, 7]"));
    /* So does a mean, which is a sum of its own. */
    assert_string_equal(rewritten(CHAIN("tensor %2 f32[2,3,4] \"m\"\n" V(3) V(4), "%2", "%4",
                                        "node mean (%2) -> (%3) {axes: ints [2]}\n node rsqrt (%3) -> (%4)\n"),
                                  "chain", 0),
                        "fused");
    /* A chain has one at most. */
    assert_string_equal(rewritten(CHAIN(MATRIX V(4) V(5) V(6) V(7), "%2", "%7",
                                        PRODUCT(4) "\n" PRODUCT(5) "\n" ADD(4, 5, 6) "\n node relu (%6) -> (%7)\n"),
                                  "chain", 0),
                        "fully_connected fused");
    /* Nor may it be in the midst: each of its elements would be made for every sum. */
    assert_string_equal(
        rewritten(CHAIN(MATRIX "tensor %4 f32[2,2] \"t\"\n" V(5), "%2", "%5",
                        "node exp (%2) -> (%4)\n node fully_connected (%4, %3) -> (%5) {act: text \"none\"}\n"),
                  "chain", 0),
        "exp fully_connected");
    /* What the sum reads would live longer, and is no place for the result. */
    assert_string_equal(rewritten(CHAIN(MATRIX V(4) V(5) V(6), "%0, %2", "%6",
                                        PRODUCT(4) "\n node softmax (%0) -> (%5) {beta: float 1}\n" ADD(4, 5, 6) "\n"),
                                  "chain", 0),
                        "fully_connected softmax add");
    /* A long end, which a tile would have for each of its sums: hard swish three times. */
    assert_string_equal(rewritten(CHAIN(MATRIX V(4) V(5) V(6) V(7), "%2", "%7",
                                        PRODUCT(4) "\n node hard_swish (%4) -> (%5)\n node hard_swish (%5) -> (%6)\n"
                                                   "node hard_swish (%6) -> (%7)\n"),
                                  "chain", 0),
                        "fused hard_swish");
}

static void sums_of_integers_begin_no_chain(void **state) {
    (void)state;
    assert_string_equal(rewritten(HEAD "graph \"g\" 0 {\n"
                                       "tensor %0 i32[2,4] \"t\"\n"
                                       "tensor %1 i32[2] \"t\"\n"
                                       "tensor %2 i32[2] \"t\"\n"
                                       "inputs (%0)\n outputs (%2)\n"
                                       "node sum (%0) -> (%1) {axes: ints [1]}\n"
                                       "node abs (%1) -> (%2)\n"
                                       "}\n",
                                  "chain", 0),
                        "sum abs");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_of_products_begins_a_chain),
        cmocka_unit_test(sums_of_integers_begin_no_chain),
        cmocka_unit_test(what_moves_nothing_vanishes),
        cmocka_unit_test(what_computes_the_same_becomes_one),
        cmocka_unit_test(a_graph_that_only_hands_on_keeps_one_copy),
        cmocka_unit_test(other_quantisation_is_kept),
        cmocka_unit_test(moves_of_extents_of_one_are_reshapes_and_reshapes_join),
        cmocka_unit_test(transposes_join),
        cmocka_unit_test(states_are_read_when_their_turn_comes),
        cmocka_unit_test(padding_goes_into_convolutions),
        cmocka_unit_test(another_value_stays),
        cmocka_unit_test(all_readers_or_none),
        cmocka_unit_test(averages_count_what_is_padded),
        cmocka_unit_test(maxima_take_what_cannot_win),
        cmocka_unit_test(factors_and_addends_go_into_weights),
        cmocka_unit_test(what_is_no_factor_for_each_channel_stays),
        cmocka_unit_test(chains_of_bounds_become_one),
        cmocka_unit_test(quantised_chains_keep_their_integers),
        cmocka_unit_test(bounds_become_activations),
        cmocka_unit_test(there_and_back_vanishes),
        cmocka_unit_test(other_parameters_are_one_step_where_that_is_exact),
        cmocka_unit_test(what_works_element_by_element_becomes_one),
        cmocka_unit_test(what_reads_other_elements_or_sums_stays),
        cmocka_unit_test(integers_do_not_depend_on_contractions),
        cmocka_unit_test(what_would_need_more_memory_stays),
        cmocka_unit_test(each_node_of_a_chain_is_instantiated_once),
    };
    if (BASE_GUARD(&rewritten_memory, &guard)) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
