/* test_dictionary.c - TFLite's dictionary: each operator's node, as the text form says it. Attributes are worked out by
 * hand from TFLite's rules (SAME: ceil(in / stride) outputs, the larger half of the padding behind) and from numpy's
 * slices. Every case is also written and read again. */
#include "formats/tflite/dictionary.h"
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const formats_interface formats_tflite;

#define F32(r, ...)                                                                                                    \
    {                                                                                                                  \
        .type = 0, .rank = r, .dims = { __VA_ARGS__ }                                                                  \
    }
#define I32(r, ...)                                                                                                    \
    {                                                                                                                  \
        .type = 2, .rank = r, .dims = { __VA_ARGS__ }                                                                  \
    }
#define QUANTISED(t, r, ...)                                                                                           \
    { .type = t, .rank = r, .dims = {__VA_ARGS__}, .scales = 1, .scale = {0.5F}, .zeros = 1 }
#define I8(r, ...) QUANTISED(9, r, __VA_ARGS__)
#define I16(r, ...) QUANTISED(7, r, __VA_ARGS__)
#define COUNT(...) (sizeof((const int32_t[]){__VA_ARGS__}) / 4)
#define INTS(...)                                                                                                      \
    {                                                                                                                  \
        .type = 2, .rank = 1, .dims = {COUNT(__VA_ARGS__)}, .data = (const int32_t[]){__VA_ARGS__},                    \
        .bytes = 4 * COUNT(__VA_ARGS__)                                                                                \
    }
#define PAIRS(n, ...)                                                                                                  \
    { .type = 2, .rank = 2, .dims = {n, 2}, .data = (const int32_t[]){__VA_ARGS__}, .bytes = 8 * (n) }
#define IN1 .input_count = 1, .inputs = {0}
#define IN2 .input_count = 2, .inputs = {0, 1}
#define IN3 .input_count = 3, .inputs = {0, 1, 2}

/* Tensors: the inputs, then the output (or outputs) last. Those without data are inputs of the graph. */
typedef struct op_case {
    const char *expect;
    model_tensor t[6];
    model_op op;
} op_case;

static const op_case cases[] = {
    /* rows: out 2, (2-1)*2 + 3 - 4 = 1 missing; columns: reach 5, out 6, 5 + 5 - 6 = 4 missing */
    {"conv2d (%0, %1, %2) -> (%3) {strides: ints [2, 1], dilations: ints [1, 2], pads: ints [0, 2, 1, 2], act: text "
     "\"relu\"}",
     {F32(4, 1, 4, 6, 3), F32(4, 8, 3, 3, 3), F32(1, 8), F32(4, 1, 2, 6, 8)},
     {.code = 3, IN3, .options = 1, .widths = "144144", .values = {0, 1, 2, 1, 2, 1}}},
    {"conv2d (%0, %1, _) -> (%2) {strides: ints [3, 2], dilations: ints [1, 1], pads: ints [0, 0, 0, 0], act: text "
     "\"none\"}",
     {F32(4, 1, 7, 7, 1), F32(4, 2, 3, 3, 1), F32(4, 1, 2, 3, 2)},
     {.code = 3, .input_count = 3, .inputs = {0, 1, -1}, .options = 1, .widths = "144", .values = {1, 2, 3}}},
    /* without a bias, of int16, the option of its type is the attribute; with one its type says it */
    {"conv2d (%0, %1) -> (%2) {strides: ints [1, 1], dilations: ints [1, 1], pads: ints [0, 0, 0, 0], act: text "
     "\"none\", narrow_sums: int 1}",
     {I16(4, 1, 5, 5, 1), I8(4, 2, 1, 1, 1), I16(4, 1, 5, 5, 2)},
     {.code = 3, IN2, .options = 1, .widths = "1441441", .values = {0, 1, 1, 0, 1, 1, 2}}},
    {"fully_connected (%0, %1, _) -> (%2) {act: text \"none\", keep_num_dims: int 0, asymmetric_quantize_inputs: int "
     "0, "
     "narrow_sums: int 1}",
     {I16(2, 1, 3), I8(2, 2, 3), I16(2, 1, 2)},
     {.code = 9, .input_count = 3, .inputs = {0, 1, -1}, .options = 8, .widths = "11111", .values = {0, 0, 0, 0, 2}}},
    {"fully_connected (%0, %1, _) -> (%2) {act: text \"none\", keep_num_dims: int 0, asymmetric_quantize_inputs: int "
     "0}",
     {I16(2, 1, 3), I8(2, 2, 3), I16(2, 1, 2)},
     {.code = 9, .input_count = 3, .inputs = {0, 1, -1}, .options = 8, .widths = "11111", .values = {0, 0, 0, 0, 4}}},
    {"fully_connected (%0, %1, %2) -> (%3) {act: text \"none\", keep_num_dims: int 0, asymmetric_quantize_inputs: int "
     "0}",
     {I16(2, 1, 3), I8(2, 2, 3), I32(1, 2), I16(2, 1, 2)},
     {.code = 9, IN3, .options = 8, .widths = "11111", .values = {0, 0, 0, 0, 2}}},
    {"transpose_conv (%1, %2) -> (%3) {strides: ints [1, 1], pads: ints [0, 0], extents: ints [5, 5], act: text "
     "\"none\", narrow_sums: int 1}",
     {INTS(1, 5, 5, 2), I8(4, 2, 1, 1, 1), I16(4, 1, 5, 5, 1), I16(4, 1, 5, 5, 2)},
     {.code = 67, IN3, .options = 49, .widths = "14411", .values = {0, 1, 1, 0, 2}}},
    /* a window of 1 that steps over the last column: nothing is missing, and nothing is cut off either */
    {"conv2d (%0, %1) -> (%2) {strides: ints [3, 3], dilations: ints [1, 1], pads: ints [0, 0, 0, 0], act: text "
     "\"none\"}",
     {F32(4, 1, 5, 5, 1), F32(4, 2, 1, 1, 1), F32(4, 1, 2, 2, 2)},
     {.code = 3, IN2, .options = 1, .widths = "144", .values = {0, 3, 3}}},
    {"depthwise_conv2d (%0, %1) -> (%2) {strides: ints [2, 2], dilations: ints [1, 1], pads: ints [1, 0, 1, 1], act: "
     "text \"relu6\"}",
     {F32(4, 1, 5, 4, 2), F32(4, 1, 3, 3, 4), F32(4, 1, 3, 2, 4)},
     {.code = 4, IN2, .options = 2, .widths = "144-144", .values = {0, 2, 2, 0, 3, 1, 1}}},
    {"average_pool2d (%0) -> (%1) {kernel: ints [3, 2], strides: ints [2, 2], pads: ints [1, 0, 1, 1], act: text "
     "\"none\"}",
     {F32(4, 1, 5, 5, 2), F32(4, 1, 3, 3, 2)},
     {.code = 1, IN1, .options = 5, .widths = "14444", .values = {0, 2, 2, 2, 3}}},
    {"max_pool2d (%0) -> (%1) {kernel: ints [2, 2], strides: ints [2, 1], pads: ints [0, 0, 0, 0], act: text "
     "\"relu_n1_to_1\"}",
     {F32(4, 1, 4, 4, 1), F32(4, 1, 2, 3, 1)},
     {.code = 17, IN1, .options = 5, .widths = "144441", .values = {1, 1, 2, 2, 2, 2}}},
    {"fully_connected (%0, %1, %2) -> (%3) {act: text \"relu\", keep_num_dims: int 1, asymmetric_quantize_inputs: "
     "int 1}",
     {F32(3, 2, 3, 4), F32(2, 5, 4), F32(1, 5), F32(3, 2, 3, 5)},
     {.code = 9, IN3, .options = 8, .widths = "1111", .values = {1, 0, 1, 1}}},
    {"softmax (%0) -> (%1) {beta: float 0.5}",
     {F32(2, 1, 4), F32(2, 1, 4)},
     {.code = 25, IN1, .options = 9, .widths = "4", .values = {0x3f000000}}},
    {"add (%0, %1) -> (%2) {act: text \"none\"}", {F32(1, 2), F32(1, 2), F32(1, 2)}, {.code = 0, IN2}},
    {"sub (%0, %1) -> (%2) {act: text \"relu\"}",
     {F32(1, 2), F32(1, 2), F32(1, 2)},
     {.code = 41, IN2, .options = 28, .widths = "1", .values = {1}}},
    {"mul (%0, %1) -> (%2) {act: text \"none\"}",
     {F32(1, 2), F32(1, 2), F32(1, 2)},
     {.code = 18, IN2, .options = 21, .widths = "1", .values = {0}}},
    {"reshape (%0) -> (%2) {shape: ints [3, 2]}", {F32(2, 2, 3), INTS(-1, 2), F32(2, 3, 2)}, {.code = 22, IN2}},
    {"reshape (%0) -> (%1) {shape: ints []}", {F32(1, 1), F32(0, 0)}, {.code = 22, IN1}},
    {"reshape (%0) -> (%1) {shape: ints [3]}",
     {F32(3, 1, 3, 1), F32(1, 3)},
     {.code = 43, IN1, .options = 30, .widths = "-"}},
    {"reshape (%0) -> (%2) {shape: ints [1, 3]}", {F32(1, 3), INTS(0), F32(2, 1, 3)}, {.code = 70, IN2}},
    {"mean (%0) -> (%2) {axes: ints [1, 3], keepdims: int 1}",
     {F32(4, 1, 2, 3, 4), INTS(-1, 1, 3), F32(4, 1, 1, 3, 1)},
     {.code = 40, IN2, .options = 27, .widths = "1", .values = {1}}},
    {"reduce_max (%0) -> (%2) {axes: ints [0], keepdims: int 0}",
     {F32(2, 2, 3), INTS(0), F32(1, 3)},
     {.code = 82, IN2, .options = 27, .widths = "1", .values = {0}}},
    {"pad (%0) -> (%2) {pads: ints [0, 0, 1, 2]}",
     {F32(2, 2, 2),
      {.type = 2, .rank = 2, .dims = {2, 2}, .data = (const int32_t[]){0, 0, 1, 2}, .bytes = 16},
      F32(2, 2, 5)},
     {.code = 34, IN2}},
    {"pad (%0, %2) -> (%3) {pads: ints [3, 0]}", {F32(1, 2), INTS(3, 0), F32(0, 0), F32(1, 5)}, {.code = 60, IN3}},
    {"concatenation (%0, %1, %2) -> (%3) {axis: int 1, act: text \"none\"}",
     {F32(2, 1, 2), F32(2, 1, 2), F32(2, 1, 2), F32(2, 1, 6)},
     {.code = 2, IN3, .options = 10, .widths = "41", .values = {-1, 0}}},
    {"transpose (%0) -> (%2) {perm: ints [2, 0, 1]}",
     {F32(3, 2, 3, 4), INTS(-1, 0, 1), F32(3, 4, 2, 3)},
     {.code = 39, IN2}},
    {"gather (%0, %1) -> (%2) {axis: int 1, batch_dims: int 1}",
     {F32(2, 2, 5), I32(2, 2, 3), F32(2, 2, 3)},
     {.code = 36, IN2, .options = 23, .widths = "44", .values = {-1, 1}}},
    {"gather (%0, %1) -> (%2) {axis: int 1, batch_dims: int 1}",
     {F32(2, 2, 5), I32(3, 2, 3, 1), F32(3, 2, 3, 1)},
     {.code = 36, IN2, .options = 23, .widths = "44", .values = {1, -2}}},
    {"pack (%0, %1) -> (%2) {axis: int 2}",
     {F32(2, 2, 3), F32(2, 2, 3), F32(3, 2, 3, 2)},
     {.code = 83, IN2, .options = 59, .widths = "44", .values = {2, -1}}},
    {"unpack (%0) -> (%1, %2) {axis: int 0}",
     {F32(2, 2, 3), F32(1, 3), F32(1, 3)},
     {.code = 88, IN1, .output_count = 2, .outputs = {1, 2}, .options = 64, .widths = "44", .values = {2, -2}}},
    {"split (%1) -> (%2, %3) {axis: int 1, sizes: ints [2, 2]}",
     {INTS(-1), F32(2, 3, 4), F32(2, 3, 2), F32(2, 3, 2)},
     {.code = 49, IN2, .output_count = 2, .outputs = {2, 3}}},
    {"split (%0) -> (%3, %4) {axis: int 0, sizes: ints [1, 2]}",
     {F32(1, 3), INTS(1, -1), INTS(0), F32(1, 1), F32(1, 2)},
     {.code = 102, IN3, .output_count = 2, .outputs = {3, 4}}},
    {"batch_matmul (%0, %1) -> (%2) {adj_x: int 0, adj_y: int 1, asymmetric_quantize_inputs: int 0}",
     {F32(2, 2, 3), F32(2, 4, 3), F32(2, 2, 4)},
     {.code = 126, IN2, .options = 101, .widths = "11", .values = {0, 1}}},
    {"depth_to_space (%0) -> (%1) {block_size: int 2}",
     {F32(4, 1, 2, 2, 4), F32(4, 1, 4, 4, 1)},
     {.code = 5, IN1, .options = 94, .widths = "4", .values = {2}}},
    {"space_to_depth (%0) -> (%1) {block_size: int 2}",
     {F32(4, 1, 4, 4, 1), F32(4, 1, 2, 2, 4)},
     {.code = 26, IN1, .options = 19, .widths = "4", .values = {2}}},
    {"leaky_relu (%0) -> (%1) {alpha: float 0.25}",
     {F32(1, 2), F32(1, 2)},
     {.code = 98, IN1, .options = 75, .widths = "4", .values = {0x3e800000}}},
    /* x[1:3, -1:-6:-2] of 4 x 5: rows 1 2, columns 4 2 0 */
    {"strided_slice (%0) -> (%4) {begin: ints [1, 4], strides: ints [1, -2], extents: ints [2, 3], shape: ints [2, 3]}",
     {F32(2, 4, 5), INTS(1, -1), INTS(3, -6), INTS(1, -2), F32(2, 2, 3)},
     {.code = 45, .input_count = 4, .inputs = {0, 1, 2, 3}, .options = 32, .widths = "44444", .values = {0}}},
    /* x[0, newaxis, ..., 1:3] of 2 x 3 x 4 */
    {"strided_slice (%0) -> (%4) {begin: ints [0, 0, 1], strides: ints [1, 1, 1], extents: ints [1, 3, 2], shape: ints "
     "[1, 3, 2]}",
     {F32(3, 2, 3, 4), INTS(0, 0, 0, 1), INTS(1, 0, 0, 3), INTS(1, 1, 1, 1), F32(3, 1, 3, 2)},
     {.code = 45,
      .input_count = 4,
      .inputs = {0, 1, 2, 3},
      .options = 32,
      .widths = "44444",
      .values = {0, 0, 4, 2, 1}}},
    /* x[2::-1] of 5 */
    {"strided_slice (%0) -> (%4) {begin: ints [2], strides: ints [-1], extents: ints [3], shape: ints [3]}",
     {F32(1, 5), INTS(2), INTS(0), INTS(-1), F32(1, 3)},
     {.code = 45, .input_count = 4, .inputs = {0, 1, 2, 3}, .options = 32, .widths = "44444", .values = {0, 1}}},
    /* x[1:1 + 2] of 5, the rest of the extents whole */
    {"strided_slice (%0) -> (%4) {begin: ints [1, 0], strides: ints [1, 1], extents: ints [2, 3], shape: ints [2, 3]}",
     {F32(2, 5, 3), INTS(1), INTS(2), INTS(1), F32(2, 2, 3)},
     {.code = 45,
      .input_count = 4,
      .inputs = {0, 1, 2, 3},
      .options = 32,
      .widths = "444441",
      .values = {0, 0, 0, 0, 0, 1}}},
    /* x[4:1] of 5 is empty */
    {"strided_slice (%0) -> (%4) {begin: ints [0], strides: ints [1], extents: ints [0], shape: ints [0]}",
     {F32(1, 5), INTS(4), INTS(1), INTS(1), F32(1, 0)},
     {.code = 45, .input_count = 4, .inputs = {0, 1, 2, 3}, .options = 32, .widths = "44444", .values = {0}}},
    {"arg_max (%0) -> (%2) {axis: int 1}",
     {F32(2, 2, 3), INTS(-1), I32(1, 2)},
     {.code = 56, IN2, .options = 40, .widths = "1", .values = {2}}},
    {"arg_min (%0) -> (%2) {axis: int 0}",
     {F32(2, 2, 3), INTS(0), I32(1, 3)},
     {.code = 79, IN2, .options = 57, .widths = "1", .values = {2}}},
    {"batch_to_space_nd (%0) -> (%3) {block: ints [2], crops: ints [1, 0]}",
     {F32(3, 4, 2, 1), INTS(2), PAIRS(1, 1, 0), F32(3, 2, 3, 1)},
     {.code = 37, IN3}},
    {"space_to_batch_nd (%0) -> (%3) {block: ints [2, 1], pads: ints [1, 0, 0, 2]}",
     {F32(4, 1, 3, 1, 1), INTS(2, 1), PAIRS(2, 1, 0, 0, 2), F32(4, 2, 2, 3, 1)},
     {.code = 38, IN3}},
    {"broadcast_to (%0) -> (%2) {shape: ints [2, 3]}", {F32(1, 3), INTS(2, 3), F32(2, 2, 3)}, {.code = 130, IN2}},
    {"tile (%0) -> (%2) {multiples: ints [2, 3]}", {F32(2, 1, 2), INTS(2, 3), F32(2, 2, 6)}, {.code = 69, IN2}},
    {"fill (%1) -> (%2) {shape: ints [2, 3]}", {INTS(2, 3), F32(0, 0), F32(2, 2, 3)}, {.code = 94, IN2}},
    {"reverse (%0) -> (%2) {axes: ints [0, 2]}", {F32(3, 2, 3, 4), INTS(-1, 0), F32(3, 2, 3, 4)}, {.code = 105, IN2}},
    {"cumsum (%0) -> (%2) {axis: int 1, exclusive: int 1, reverse: int 0}",
     {F32(2, 2, 3), INTS(-1), F32(2, 2, 3)},
     {.code = 128, IN2, .options = 102, .widths = "11", .values = {1, 0}}},
    {"l2_pool2d (%0) -> (%1) {kernel: ints [2, 3], strides: ints [1, 2], pads: ints [0, 0, 0, 0], act: text \"relu\"}",
     {F32(4, 1, 4, 5, 2), F32(4, 1, 3, 2, 2)},
     {.code = 12, IN1, .options = 5, .widths = "144441", .values = {1, 2, 1, 3, 2, 1}}},
    {"mirror_pad (%0) -> (%2) {pads: ints [1, 0, 0, 2], symmetric: int 1}",
     {F32(2, 2, 3), PAIRS(2, 1, 0, 0, 2), F32(2, 3, 5)},
     {.code = 100, IN2, .options = 77, .widths = "1", .values = {1}}},
    {"resize_bilinear (%0) -> (%2) {size: ints [3, 5], align_corners: int 0, half_pixel_centers: int 1}",
     {F32(4, 1, 2, 2, 1), INTS(3, 5), F32(4, 1, 3, 5, 1)},
     {.code = 23, IN2, .options = 15, .widths = "--11", .values = {0, 0, 0, 1}}},
    {"resize_nearest_neighbor (%0) -> (%2) {size: ints [3, 5], align_corners: int 1, half_pixel_centers: int 0}",
     {F32(4, 1, 2, 2, 1), INTS(3, 5), F32(4, 1, 3, 5, 1)},
     {.code = 97, IN2, .options = 74, .widths = "11", .values = {1, 0}}},
    {"slice (%0) -> (%3) {begin: ints [1, 2], extents: ints [1, 3]}",
     {F32(2, 2, 5), INTS(1, 2), INTS(-1, 3), F32(2, 1, 3)},
     {.code = 65, IN3}},
    {"slice (%0, %1) -> (%3) {extents: ints [1, 3]}",
     {F32(2, 2, 5), I32(1, 2), INTS(1, 3), F32(2, 1, 3)},
     {.code = 65, IN3}},
    /* over the output: rows 3 of 5 by 2, (3-1)*2 + 3 - 5 = 2 missing; columns (4-1)*1 + 2 - 4 = 1, the smaller half none */
    {"transpose_conv (%1, %2, %3) -> (%4) {strides: ints [2, 1], pads: ints [1, 0], extents: ints [5, 4], act: text "
     "\"relu\"}",
     {INTS(1, 5, 4, 6), F32(4, 6, 3, 2, 3), F32(4, 1, 3, 4, 3), F32(1, 6), F32(4, 1, 5, 4, 6)},
     {.code = 67, .input_count = 4, .inputs = {0, 1, 2, 3}, .options = 49, .widths = "1441", .values = {0, 1, 2, 1}}},
    {"transpose_conv (%1, %2) -> (%3) {strides: ints [2, 2], pads: ints [0, 0], extents: ints [5, 7], act: text "
     "\"none\"}",
     {INTS(1, 5, 7, 1), F32(4, 1, 3, 3, 3), F32(4, 1, 2, 3, 3), F32(4, 1, 5, 7, 1)},
     {.code = 67, IN3, .options = 49, .widths = "144", .values = {1, 2, 2}}},
    {"quantize (%0) -> (%1)",
     {F32(1, 2), {.type = 9, .rank = 1, .dims = {2}, .scales = 1, .zeros = 1, .scale = {0.5f}, .zero = {3}}},
     {.code = 114, IN1}},
    {"dequantize (%0) -> (%1)",
     {{.type = 3, .rank = 1, .dims = {2}, .scales = 1, .zeros = 1, .scale = {0.5f}, .zero = {128}}, F32(1, 2)},
     {.code = 6, IN1}},
};

/* Operators that have nothing but inputs and an output: code and word. */
static const struct {
    int code, inputs;
    const char *word;
} plain[] = {
    {8, 1, "floor"},
    {11, 1, "l2_normalization"},
    {14, 1, "logistic"},
    {19, 1, "relu"},
    {20, 1, "relu_n1_to_1"},
    {21, 1, "relu6"},
    {28, 1, "tanh"},
    {47, 1, "exp"},
    {50, 1, "log_softmax"},
    {53, 1, "cast"},
    {55, 2, "maximum"},
    {57, 2, "minimum"},
    {58, 2, "less"},
    {59, 1, "neg"},
    {61, 2, "greater"},
    {62, 2, "greater_equal"},
    {63, 2, "less_equal"},
    {66, 1, "sin"},
    {71, 2, "equal"},
    {72, 2, "not_equal"},
    {73, 1, "log"},
    {75, 1, "sqrt"},
    {76, 1, "rsqrt"},
    {84, 2, "logical_or"},
    {86, 2, "logical_and"},
    {87, 1, "logical_not"},
    {92, 1, "square"},
    {95, 2, "floor_mod"},
    {101, 1, "abs"},
    {104, 1, "ceil"},
    {108, 1, "cos"},
    {111, 1, "elu"},
    {116, 1, "round"},
    {117, 1, "hard_swish"},
    {78, 2, "pow"},
    {113, 1, "matrix_diag"},
    {115, 2, "matrix_set_diag"},
    {152, 1, "relu_0_to_1"},
    {156, 2, "atan2"},
    {158, 1, "sign"},
    {159, 1, "bitcast"},
    {160, 2, "bitwise_xor"},
    {161, 2, "right_shift"},
    {7, 2, "embedding_lookup"},
    {54, 2, "prelu"},
    {93, 1, "zeros_like"},
    {99, 2, "squared_difference"},
    {106, 2, "add_n"},
    {107, 2, "gather_nd"},
    {145, 2, "broadcast_args"},
};

/* ---- running a case ---- */

static model_spec spec_of(const op_case *c) {
    model_spec spec = {.op_count = 1, .ops = {c->op}};
    model_op *op = &spec.ops[0];
    memcpy(spec.tensors, c->t, sizeof c->t);
    if (!op->output_count) {
        int absent = 0;
        for (int i = 0; i < op->input_count; i++)
            absent += op->inputs[i] < 0;
        op->output_count = 1;
        op->outputs[0] = op->input_count - absent;
    }
    spec.tensor_count = op->outputs[op->output_count - 1] + 1;
    for (int i = 0; i < spec.tensor_count; i++) {
        bool is_output = false;
        for (int k = 0; k < op->output_count; k++)
            is_output = is_output || op->outputs[k] == i;
        if (is_output)
            spec.outputs[spec.output_count++] = i;
        else if (!c->t[i].data)
            spec.inputs[spec.input_count++] = i;
    }
    return spec;
}

/* What is read is written in the file's own operators and read again as the same graph; the second file is the first,
 * byte for byte. */
static void round_trip(base_arena *arena, const op_case *c, const ir_model *m, base_diags *d) {
    base_text file = {.arena = arena}, again = {.arena = arena};
    ir_model *back = NULL;
    if (formats_tflite.write(arena, m, NULL, &file, d) != BASE_OK) {
        fail_msg("%s: %s: %s", c->expect, d->list.at[0].path, d->list.at[0].message);
    }
    const base_bytes bytes = {(const uint8_t *)file.at, file.n};
    if (formats_tflite.read(arena, "case.tflite", bytes, NULL, &back, d) != BASE_OK) {
        fail_msg("%s: what was written: %s: %s", c->expect, d->list.at[0].path, d->list.at[0].message);
    }
    base_text one = {.arena = arena}, two = {.arena = arena};
    ir_print(&one, ir_plain(arena, m));
    ir_print(&two, ir_plain(arena, back));
    assert_string_equal(two.at, one.at);
    assert_true(ir_same(arena, m, back));
    const ir_graph *was = &m->graphs.at[0], *is = &back->graphs.at[0];
    for (size_t i = 0; i < was->nodes.n; i++) {
        assert_string_equal(is->nodes.at[i].source_name, was->nodes.at[i].source_name);
    }
    assert_int_equal(formats_tflite.write(arena, back, NULL, &again, d), BASE_OK);
    assert_int_equal(again.n, file.n);
    assert_memory_equal(again.at, file.at, file.n);
}

static void run(const op_case *c) {
    static flat f;
    model_places at;
    model_spec spec = spec_of(c);
    model_build(&f, &spec, &at);
    base_memory memory = {0};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard)) {
        fail();
    }
    base_arena *arena = base_arena_new(&memory);
    base_diags d = {.arena = arena};
    ir_model *m;
    if (formats_tflite.read(arena, "case.tflite", (base_bytes){f.at, f.n}, NULL, &m, &d) != BASE_OK) {
        fail_msg("%s: %s: %s", c->expect, d.list.at[0].path, d.list.at[0].message);
    }
    base_text out = {.arena = arena};
    ir_print(&out, m);
    const char *line = strstr(out.at, "  node ");
    assert_non_null(line);
    line += strlen("  node ");
    const char *end = strstr(line, " ids [0] from ");
    assert_non_null(end);
    char *got = base_strndup(arena, line, (size_t)(end - line));
    assert_string_equal(got, c->expect);
    round_trip(arena, c, m, &d);
    base_arena_free(arena);
    base_unguard(&memory, &guard);
}

static void every_word(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run(&cases[i]);
    }
}

static void plain_words(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        char expect[80];
        op_case c = {.t = {F32(1, 2), F32(1, 2), F32(1, 2)}, .op = {.code = plain[i].code, IN2}};
        const op_case whole = {.t = {I32(1, 2), I32(1, 2), I32(1, 2)}, .op = {.code = plain[i].code, IN2}};
        if (strcmp(plain[i].word, "bitwise_xor") == 0 || strcmp(plain[i].word, "right_shift") == 0) {
            c = whole; /* kernels take no reals */
        }
        c.op.input_count = plain[i].inputs;
        c.expect = expect;
        snprintf(expect, sizeof expect, plain[i].inputs == 1 ? "%s (%%0) -> (%%1)" : "%s (%%0, %%1) -> (%%2)",
                 plain[i].word);
        run(&c);
    }
}

static void reductions(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *word;
    } words[] = {{40, "mean"},       {74, "sum"},        {81, "reduce_prod"}, {82, "reduce_max"},
                 {89, "reduce_min"}, {91, "reduce_any"}, {140, "reduce_all"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char expect[120];
        op_case c = {.t = {F32(3, 2, 3, 4), INTS(2, 0, -1), F32(1, 3)},
                     .op = {.code = words[i].code, IN2, .options = 27, .widths = "1"}};
        c.expect = expect;
        snprintf(expect, sizeof expect, "%s (%%0) -> (%%2) {axes: ints [0, 2], keepdims: int 0}", words[i].word);
        run(&c);
    }
}

/* Both runtimes' parameters begin with zeros: what the schema says of an absent field counts where there is a table. */
static void reads_options(bool with) {
    static flat f;
    static const float one = 1, bias = 0;
    model_spec spec = {
        .tensor_count = 9,
        .op_count = 1,
        .input_count = 1,
        .output_count = 2,
        .outputs = {7, 8},
        .tensors = {F32(3, 2, 2, 1),
                    {.type = 0, .rank = 2, .dims = {1, 1}, .data = &one, .bytes = 4},
                    {.type = 0, .rank = 1, .dims = {1}, .data = &bias, .bytes = 4},
                    [7] = F32(3, 2, 2, 1),
                    [8] = F32(3, 2, 2, 1)},
        .ops = {{.code = 52,
                 .input_count = 39,
                 .output_count = 2,
                 .outputs = {7, 8},
                 .options = with ? 69 : 0,
                 .widths = "1",
                 .values = {4}}},
    };
    model_op *op = &spec.ops[0];
    for (int i = 1; i < 35; i++) {
        int k = i >= 18 ? i - 17 : i; /* of the gates: weights, peepholes, biases, the projection */
        op->inputs[i] = k <= 8 ? 1 : k >= 12 && k <= 15 ? 2 : -1;
    }
    for (int i = 3; i < 7; i++) {
        spec.tensors[i] = (model_tensor){.type = 0, .rank = 2, .dims = {2, 1}, .variable = true};
        op->inputs[32 + i] = i;
    }
    model_places at;
    model_build(&f, &spec, &at);
    base_memory memory = {0};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard)) {
        fail();
    }
    base_arena *arena = base_arena_new(&memory);
    base_diags d = {.arena = arena};
    ir_model *m;
    if (formats_tflite.read(arena, "case.tflite", (base_bytes){f.at, f.n}, NULL, &m, &d) != BASE_OK) {
        fail_msg("%s: %s", d.list.at[0].path, d.list.at[0].message);
    }
    base_text out = {.arena = arena};
    ir_print(&out, m);
    assert_non_null(strstr(out.at, with ? "time_major: int 1" : "time_major: int 0"));
    assert_non_null(strstr(out.at, with ? "act: text \"tanh\"" : "act: text \"none\""));
    base_arena_free(arena);
    base_unguard(&memory, &guard);
}

static void no_table_of_options_is_zeros(void **state) {
    (void)state;
    reads_options(false);
    reads_options(true);
}

/* Every row can be said in both directions, and is read by some case above or in the tests of whole files. A step
 * without a put is a word that is read and never written: it is named here, or does not exist. */
static void every_step_has_its_inverse(void **state) {
    (void)state;
    size_t rows = 0, steps = 0;
    for (const tflite_word *w; (w = tflite_word_at(rows)); rows++) {
        if (!w->custom) {
            assert_ptr_equal(tflite_word_of(w->builtin), w); /* an operator has one row */
        }
        for (size_t i = 0; i < TFLITE_MOST_STEPS && w->steps[i].kind; i++, steps++) {
            if (!w->steps[i].kind->put) {
                fail_msg("%s: step %s has no put: what it reads cannot be written", tflite_builtin_name(w->builtin),
                         w->steps[i].kind->name);
            }
        }
    }
    assert_true(rows > 60 && steps > 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word),
        cmocka_unit_test(plain_words),
        cmocka_unit_test(reductions),
        cmocka_unit_test(no_table_of_options_is_zeros),
        cmocka_unit_test(every_step_has_its_inverse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
