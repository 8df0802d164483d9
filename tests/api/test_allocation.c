/* test_allocation.c - every allocation of load, inspect, plan and compile failed in turn: a clean status each time,
 * nothing leaked.
 *
 * Two small networks in the graph's text form: int8 (convolution, depthwise, fully connected, softmax) and float; and one in
 * ONNX.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "burin/burin.h"

static const char int8_network[] =
    "burin 1\nmodel \"ir\" \"small_int8\"\ngraph \"main\" 0 {\n"
    "tensor %0 i8[1,6,6,2] \"in\" quant {0.5:3}\n"
    "tensor %1 i8[3,3,3,2] \"w\" quant axis 0 {0.02:0, 0.03:0, 0.01:0} = hex "
    "\"0102030405060708090a0b0c0d0e0f101112f1f2f3f4f5f6f7f8f9fafbfcfdfeff0001027f8001020304050607080910111213141516\"\n"
    "tensor %2 i32[3] \"b\" = hex \"0100000010000000ffffffff\"\n"
    "tensor %3 i8[1,6,6,3] \"c\" quant {0.25:-5}\n"
    "tensor %4 i8[1,3,3,3] \"dw\" quant axis 3 {0.02:0, 0.03:0, 0.01:0} = hex "
    "\"0102030405060708090a0b0c0d0e0f101112f1f2f3f4f5f6f7f8f9\"\n"
    "tensor %5 i8[1,4,4,3] \"d\" quant {0.25:7}\n"
    "tensor %6 i8[1,48] \"flat\" quant {0.25:7}\n"
    "tensor %7 i8[2,48] \"fw\" quant {0.05:0} = hex "
    "\"0102030405060708090a0b0c0d0e0f101112f1f2f3f4f5f6f7f8f9fafbfcfdfe0102030405060708090a0b0c0d0e0f10"
    "f102f304f506f708f90afb0cfd0e0f101112f1f2f3f4f5f6f7f8f9fafbfcfdfe0102030405060708090a0b0c0d0e0f10\"\n"
    "tensor %8 i8[1,2] \"fc\" quant {0.5:0}\n"
    "tensor %9 i8[1,2] \"out\" quant {0.00390625:-128}\n"
    "inputs (%0)\noutputs (%9)\n"
    "node conv2d (%0, %1, %2) -> (%3) {strides: ints [1,1], dilations: ints [1,1], pads: ints [1,1,1,1], act: text "
    "\"relu\"} ids [0]\n"
    "node depthwise_conv2d (%3, %4, _) -> (%5) {strides: ints [1,1], dilations: ints [1,1], pads: ints [0,0,0,0], act: "
    "text \"none\"} ids [1]\n"
    "node reshape (%5) -> (%6) {shape: ints [1,48]} ids [2]\n"
    "node fully_connected (%6, %7, _) -> (%8) {act: text \"none\", keep_num_dims: int 0} ids [3]\n"
    "node softmax (%8) -> (%9) {beta: float 1.0} ids [4]\n}\n";

static const char float_network[] = "burin 1\nmodel \"ir\" \"small_float\"\ngraph \"main\" 0 {\n"
                                    "tensor %0 f32[1,4,4,1] \"in\"\n"
                                    "tensor %1 f32[2,1,1,1] \"w\" = hex \"0000803f000000c0\"\n"
                                    "tensor %2 f32[1,4,4,2] \"c\"\n"
                                    "tensor %3 f32[1,4,4,2] \"r\"\n"
                                    "tensor %4 f32[1,2,2,2] \"out\"\n"
                                    "inputs (%0)\noutputs (%4)\n"
                                    "node conv2d (%0, %1, _) -> (%2) {strides: ints [1,1], dilations: ints [1,1], "
                                    "pads: ints [0,0,0,0], act: text \"none\"} ids [0]\n"
                                    "node relu (%2) -> (%3) ids [1]\n"
                                    "node average_pool2d (%3) -> (%4) {kernel: ints [2,2], strides: ints [2,2], pads: "
                                    "ints [0,0,0,0], act: text \"none\"} ids [2]\n}\n";

/* Conv, Relu, Mul, ReduceMax with their constants: tests/support/onnx_build.py. */
static const unsigned char onnx_network[] = {
    8,  10,  58,  166, 2,   10,  34,  10,  1,   120, 10,  1,   119, 18,  1,   99,  34,  4,   67,  111, 110, 118,
    42, 17,  10,  4,   112, 97,  100, 115, 64,  1,   64,  1,   64,  1,   64,  1,   160, 1,   7,   10,  13,  10,
    1,  99,  18,  1,   115, 34,  5,   83,  104, 97,  112, 101, 10,  12,  10,  1,   99,  18,  1,   114, 34,  4,
    82, 101, 108, 117, 10,  14,  10,  1,   114, 10,  1,   107, 18,  1,   109, 34,  3,   77,  117, 108, 10,  37,
    10, 1,   109, 10,  1,   97,  18,  1,   121, 34,  9,   82,  101, 100, 117, 99,  101, 77,  97,  120, 42,  15,
    10, 8,   107, 101, 101, 112, 100, 105, 109, 115, 24,  0,   160, 1,   2,   18,  1,   103, 42,  87,  8,   2,
    8,  1,   8,   3,   8,   3,   16,  1,   66,  1,   119, 74,  72,  0,   0,   0,   63,  0,   0,   0,   63,  0,
    0,  0,   63,  0,   0,   0,   63,  0,   0,   0,   63,  0,   0,   0,   63,  0,   0,   0,   63,  0,   0,   0,
    63, 0,   0,   0,   63,  0,   0,   0,   63,  0,   0,   0,   63,  0,   0,   0,   63,  0,   0,   0,   63,  0,
    0,  0,   63,  0,   0,   0,   63,  0,   0,   0,   63,  0,   0,   0,   63,  0,   0,   0,   63,  42,  13,  8,
    1,  16,  1,   66,  1,   107, 34,  4,   0,   0,   0,   64,  42,  25,  8,   2,   16,  7,   66,  1,   97,  74,
    16, 255, 255, 255, 255, 255, 255, 255, 255, 254, 255, 255, 255, 255, 255, 255, 255, 90,  27,  10,  1,   120,
    18, 22,  10,  20,  8,   1,   18,  16,  10,  2,   8,   1,   10,  2,   8,   1,   10,  2,   8,   4,   10,  2,
    8,  4,   98,  9,   10,  1,   121, 18,  4,   10,  2,   8,   1,   66,  4,   10,  0,   16,  21,
};

typedef struct ledger {
    long live, left; /* blocks alive; allocations still allowed */
} ledger;

static void *counted(void *user, void *pointer, size_t old_size, size_t size) {
    ledger *l = user;
    (void)old_size;
    if (size == 0) {
        l->live -= pointer != NULL;
        free(pointer);
        return NULL;
    }
    if (l->left-- <= 0) {
        return NULL;
    }
    l->live += pointer == NULL;
    return realloc(pointer, size);
}

static burin_status road(burin_context *c, const char *text, size_t size) {
    burin_compile_options options = BURIN_COMPILE_OPTIONS_INIT;
    burin_model *model = NULL;
    const burin_output *output = NULL;
    const char *said = NULL;
    options.check = false;
    options.test_cases = 1;
    burin_status status = burin_load_memory(c, "small.ir", text, size, &model);
    if (status == BURIN_OK) {
        status = burin_inspect(c, model, BURIN_JSON, &said);
    }
    if (status == BURIN_OK) {
        status = burin_plan(c, model, &options, BURIN_TEXT, &said);
    }
    if (status == BURIN_OK) {
        status = burin_compile(c, model, &options, &output);
        assert_true(status != BURIN_OK || (output != NULL && output->file_count > 2));
    }
    return status;
}

/* To a TFLite file, which is read again and evaluated. */
static burin_status written_road(burin_context *c, const char *text, size_t size) {
    burin_compile_options options = BURIN_COMPILE_OPTIONS_INIT;
    burin_model *model = NULL;
    const burin_output *output = NULL;
    options.target = "tflite";
    options.check_cases = 1;
    burin_status status = burin_load_memory(c, "small.ir", text, size, &model);
    if (status == BURIN_OK) {
        status = burin_compile(c, model, &options, &output);
        assert_true(status != BURIN_OK || (output != NULL && output->file_count == 1 && output->checked));
    }
    return status;
}

/* Quantised by a file of parameters; those are printed again. */
static burin_status quantised_road(burin_context *c, const char *text, size_t size) {
    burin_load_options options = BURIN_LOAD_OPTIONS_INIT;
    burin_model *model = NULL;
    const char *said = NULL;
    options.quantization = "allocation_parameters.json";
    burin_status status = burin_load_memory_with(c, "small.ir", text, size, &options, &model);
    if (status == BURIN_OK) {
        status = burin_quantization_text(c, model, &said);
    }
    assert_true(status != BURIN_OK || strstr(said, "{\"name\": \"r\", \"type\": \"i8\", \"scale\": [0.5]") != NULL);
    return status;
}

/* The model and itself, with what is between. */
static burin_status verified_road(burin_context *c, const char *text, size_t size) {
    burin_verify_options options = BURIN_VERIFY_OPTIONS_INIT;
    burin_model *model[2] = {NULL, NULL};
    burin_array inputs[1];
    const burin_comparison *list = NULL;
    size_t count = 0;
    options.layers = true;
    options.runs = 1;
    burin_status status = burin_load_memory(c, "small.ir", text, size, &model[0]);
    if (status == BURIN_OK) {
        status = burin_load_memory(c, "small.ir", text, size, &model[1]);
    }
    if (status == BURIN_OK) {
        assert_int_equal(burin_input_count(model[0]), 1);
        status = burin_generate_inputs(c, model[0], 1, inputs);
    }
    if (status == BURIN_OK) {
        status = burin_verify(c, model[0], model[1], &options, inputs, &list, &count);
    }
    for (size_t i = 0; i < count; i++) {
        assert_null(list[i].why);
        assert_true(list[i].difference.elements > 0 && list[i].difference.unequal == 0);
    }
    assert_int_equal(status == BURIN_OK, count > 1);
    return status;
}

/* Under AddressSanitizer each piece is an allocation of its own, tens of thousands of them: every 97th there. */
#if defined(__SANITIZE_ADDRESS__)
#define STEP 97
#else
#define STEP 1
#endif

static void fail_in_turn(burin_status (*walk)(burin_context *c, const char *text, size_t size), const char *text,
                         size_t size) {
    long points = 0;
    for (long allowed = 0;; allowed += STEP) {
        ledger l = {.left = allowed};
        burin_context *c = burin_context_new(counted, &l, 0);
        burin_status status = c == NULL ? BURIN_NO_MEMORY : walk(c, text, size);
        if (c != NULL) {
            assert_true(status == BURIN_OK || burin_diagnostic_count(c) > 0);
        }
        burin_context_free(c);
        assert_int_equal(l.live, 0);
        if (status == BURIN_OK) {
            break;
        }
        assert_int_equal(status, BURIN_NO_MEMORY);
        points++;
    }
    assert_true(points > 20);
    print_message("%ld allocations failed in turn\n", points);
}

static void int8_road(void **state) {
    (void)state;
    fail_in_turn(road, int8_network, sizeof int8_network - 1);
}

static void int8_written(void **state) {
    (void)state;
    fail_in_turn(written_road, int8_network, sizeof int8_network - 1);
}

static void int8_verified(void **state) {
    (void)state;
    fail_in_turn(verified_road, int8_network, sizeof int8_network - 1);
}

static void float_road(void **state) {
    (void)state;
    fail_in_turn(road, float_network, sizeof float_network - 1);
}

static void float_quantised(void **state) {
    (void)state;
    FILE *file = fopen("allocation_parameters.json", "w");
    assert_non_null(file);
    assert_true(fputs("{\"version\": 1, \"tensors\": [{\"name\": \"in\", \"type\": \"i8\", \"scale\": 0.25},\n"
                      "{\"name\": \"w\", \"type\": \"i8\", \"axis\": 0, \"scale\": [0.5, 0.125]},\n"
                      "{\"name\": \"r\", \"type\": \"i8\", \"scale\": 0.5}]}\n",
                      file) >= 0 &&
                fclose(file) == 0);
    fail_in_turn(quantised_road, float_network, sizeof float_network - 1);
    assert_int_equal(remove("allocation_parameters.json"), 0);
}

static void onnx_road(void **state) {
    (void)state;
    fail_in_turn(road, (const char *)onnx_network, sizeof onnx_network);
}

/* A context that ran out goes on after more is allowed. */
static void a_context_recovers(void **state) {
    (void)state;
    ledger l = {.left = 1L << 40};
    burin_context *c = burin_context_new(counted, &l, 0);
    assert_non_null(c);
    l.left = 12;
    assert_int_equal(road(c, int8_network, sizeof int8_network - 1), BURIN_NO_MEMORY);
    assert_non_null(strstr(burin_diagnostics_text(c, false), "out of memory"));
    l.left = 1L << 40;
    burin_diagnostics_clear(c);
    assert_int_equal(road(c, int8_network, sizeof int8_network - 1), BURIN_OK);
    burin_context_reset(c);
    assert_int_equal(road(c, float_network, sizeof float_network - 1), BURIN_OK);
    burin_context_free(c);
    assert_int_equal(l.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int8_road),       cmocka_unit_test(int8_written), cmocka_unit_test(int8_verified),
        cmocka_unit_test(float_road),      cmocka_unit_test(onnx_road),    cmocka_unit_test(a_context_recovers),
        cmocka_unit_test(float_quantised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
