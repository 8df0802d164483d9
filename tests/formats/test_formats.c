/* test_formats.c - room formats: which reader a file is for, and the text form as a format. */
#include "formats/formats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct {
    base_memory memory;
    base_guard guard;
    base_arena *arena;
    base_diags d;
} t;

static int set_up(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    if (BASE_GUARD(&t.memory, &t.guard)) {
        return -1;
    }
    t.arena = base_arena_new(&t.memory);
    t.d.arena = t.arena;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(t.arena);
    base_unguard(&t.memory, &t.guard);
    return 0;
}

static base_bytes bytes(const char *s) {
    return (base_bytes){(const uint8_t *)s, strlen(s)};
}

static const char text[] = "burin 1\nmodel \"tflite\" \"a.tflite\"\ngraph \"g\" 0 {\n  tensor %0 f32[2] \"x\"\n"
                           "  tensor %1 f32[2] \"y\"\n  inputs (%0)\n  outputs (%1)\n  node relu (%0) -> (%1)\n}\n";

static void the_list(void **state) {
    (void)state;
    assert_int_equal(formats_count, 3);
    assert_string_equal(formats_list[0]->name, "ir");
    assert_string_equal(formats_list[1]->name, "onnx");
    assert_string_equal(formats_list[2]->name, "tflite");
    assert_null(formats_list[3]);
    assert_ptr_equal(formats_find("tflite"), formats_list[2]);
    assert_null(formats_find("caffe"));
    assert_string_equal(formats_base_name("a/b/c.tflite"), "c.tflite");
    assert_string_equal(formats_base_name("c.tflite"), "c.tflite");
}

static const char *recognised(const char *file, const char *content) {
    const formats_interface *f = formats_recognise(file, bytes(content));
    return f ? f->name : "none";
}

static void content_before_extension(void **state) {
    (void)state;
    assert_string_equal(recognised("model.bin", text), "ir");
    assert_string_equal(recognised("model.tflite", "# a comment\n  burin 1"), "ir");
    assert_string_equal(recognised("model.ir", "....TFL3...."), "tflite");
    assert_string_equal(recognised("model.tflite", "rubbish"), "tflite");
    assert_string_equal(recognised("model.bin", "\x08\x07\x12\x04name"), "onnx");
    assert_string_equal(recognised("model.onnx", "rubbish"), "onnx");
    assert_string_equal(recognised("model.ir", ""), "ir");
    assert_string_equal(recognised("dir.tflite/model", "rubbish"), "none");
    assert_string_equal(recognised("model.bin", "burins 1"), "none");
    assert_string_equal(recognised("model.bin", "TFL3"), "none");
}

static void no_format(void **state) {
    (void)state;
    ir_model *m;
    assert_int_equal(formats_read(t.arena, "x.bin", bytes("rubbish"), NULL, &m, &t.d), BASE_REFUSED);
    assert_null(m);
    assert_string_equal(t.d.list.at[0].file, "x.bin");
    assert_non_null(strstr(t.d.list.at[0].message, "of no format that is read (ir, onnx, tflite)"));
    formats_options options = {.format = "caffe"};
    assert_int_equal(formats_read(t.arena, "x.bin", bytes(text), &options, &m, &t.d), BASE_USAGE);
    assert_non_null(strstr(t.d.list.at[1].message, "no format \"caffe\": there are ir, onnx, tflite"));
    options.format = "tflite";
    assert_int_equal(formats_read(t.arena, "x.bin", bytes("rubbish of text"), &options, &m, &t.d), BASE_REFUSED);
    assert_non_null(strstr(t.d.list.at[2].message, "expected \"TFL3\""));
}

static void text_both_ways(void **state) {
    (void)state;
    ir_model *m;
    assert_int_equal(formats_read(t.arena, "x.bin", bytes(text), NULL, &m, &t.d), BASE_OK);
    base_text out = {.arena = t.arena};
    assert_int_equal(formats_find("ir")->write(t.arena, m, NULL, &out, &t.d), BASE_OK);
    assert_string_equal(out.at, text);
}

static void text_is_verified(void **state) {
    (void)state;
    static const char twice[] = "burin 1\nmodel \"ir\" \"a.ir\"\ngraph \"g\" 0 {\n  tensor %0 f32[2] \"x\"\n"
                                "  inputs (%0)\n  outputs (%0)\n  node relu (%0) -> (%0)\n}\n";
    ir_model *m;
    assert_int_equal(formats_read(t.arena, "x.ir", bytes(twice), NULL, &m, &t.d), BASE_REFUSED);
    assert_null(m);
    assert_non_null(strstr(t.d.list.at[0].message, "it writes tensor 0 \"x\", which is an input of the graph"));
}

/* A file that may hold no more than that has its larger constants beside it, without being asked; where there is no place for
 * them it is refused. */
static void too_large_for_one_file(void **state) {
    (void)state;
    const ir_shape shape = ir_shape_of(1, (const int64_t[]){512});
    ir_model *m = ir_model_new(t.arena, "ir", "a.ir"), *back;
    ir_graph *g = ir_graph_add(m, "g");
    const uint32_t x = ir_tensor_add(m, g, "x", BASE_F32, &shape), c = ir_tensor_add(m, g, "c", BASE_F32, &shape),
                   y = ir_tensor_add(m, g, "y", BASE_F32, &shape);
    float values[512];
    for (size_t i = 0; i < 512; i++) {
        values[i] = (float)i / 7;
    }
    g->tensors.at[c].data = values;
    *BASE_PUSH(t.arena, &g->inputs) = x;
    *BASE_PUSH(t.arena, &g->outputs) = y;
    ir_node_add(m, g, "add", (const uint32_t[]){x, c}, 2, &y, 1, IR_NONE);

    base_text out = {.arena = t.arena}, data = {.arena = t.arena};
    formats_options options = {.writing = {.data_name = "a.data", .data = &data}};
    assert_int_equal(formats_find("onnx")->write(t.arena, m, &options, &out, &t.d), BASE_OK);
    assert_int_equal(data.n, 0);
    assert_true(out.n > 2048);

    options.writing.most = 1000;
    out.n = 0;
    assert_int_equal(formats_find("onnx")->write(t.arena, m, &options, &out, &t.d), BASE_OK);
    assert_true(out.n < 1000);
    assert_int_equal(data.n, sizeof values);
    assert_memory_equal(data.at, values, sizeof values);

    const formats_options reading = {.beside = "a.data", .beside_bytes = {(const uint8_t *)data.at, data.n}};
    assert_int_equal(
        formats_read(t.arena, "a.onnx", (base_bytes){(const uint8_t *)out.at, out.n}, &reading, &back, &t.d), BASE_OK);
    const ir_graph *b = &back->graphs.at[0];
    assert_memory_equal(b->tensors.at[b->nodes.at[0].inputs[1]].data, values, sizeof values);

    options.writing.data = NULL;
    assert_int_equal(formats_find("onnx")->write(t.arena, m, &options, &out, &t.d), BASE_REFUSED);
    assert_non_null(strstr(t.d.list.at[0].message, "it may have 1000"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(content_before_extension, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_format, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_both_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_is_verified, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_large_for_one_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
