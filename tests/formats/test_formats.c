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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(content_before_extension, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_format, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_both_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_is_verified, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
