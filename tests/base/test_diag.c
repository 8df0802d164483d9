/* test_diag.c - diagnostics: layout of both kinds of place, carets, what a terminal must not get, the limit; nearest
 * names. */
#include "fixture.h"

static const char *print(fixture *f, size_t i, bool colour) {
    base_text t = {.arena = f->arena};
    base_diag_print(&t, &f->diags.list.at[i], colour);
    return t.at;
}

static void text_places_have_a_caret(void **state) {
    fixture *f = *state;
    const char *source = "first\n\tY = foo(X)\r\nlast";
    base_place place = {.file = "a.op", .source = source, .source_size = strlen(source), .line = 2, .column = 6};
    assert_int_equal(base_error(&f->diags, &place, "no word '%s'", "foo"), BASE_REFUSED);
    place.line = 3, place.column = 99; /* beyond the line: just after it */
    base_warn(&f->diags, &place, "unused");
    place.line = 1, place.column = 1;
    base_note(&f->diags, &place, "here");
    place.line = 4; /* beyond the text: no line */
    base_error(&f->diags, &place, "end");
    place.line = 1, place.column = 0; /* a line without column: no caret */
    base_error(&f->diags, &place, "line");
    assert_string_equal(print(f, 0, false), "a.op:2:6: error: no word 'foo'\n     Y = foo(X)\n         ^\n");
    assert_string_equal(print(f, 1, false), "a.op:3:99: warning: unused\n    last\n        ^\n");
    assert_string_equal(print(f, 2, false), "a.op:1:1: note: here\n    first\n    ^\n");
    assert_string_equal(print(f, 3, false), "a.op:4:1: error: end\n");
    assert_string_equal(print(f, 4, false), "a.op:1: error: line\n    first\n");
    assert_int_equal(f->diags.errors, 3);
    assert_int_equal(f->diags.warnings, 1);
    assert_int_equal(f->diags.dropped, 0);
}

static void binary_places_have_path_and_byte(void **state) {
    fixture *f = *state;
    base_place place = {
        .file = "model.onnx", .path = "graph/node[17] \"conv_3\" Conv: strides", .byte = 0x4f21, .has_byte = true};
    base_error(&f->diags, &place, "expected %d values, got %d", 2, 3);
    base_warn(&f->diags, &place, "odd");
    place.path = NULL, place.byte = UINT64_MAX;
    base_error(&f->diags, &place, "not a model");
    place = (base_place){.file = "out"};
    base_error(&f->diags, &place, "cannot open: reason");
    base_error(&f->diags, NULL, "no device");
    assert_string_equal(print(f, 0, false), "model.onnx: graph/node[17] \"conv_3\" Conv: strides: expected 2 values, "
                                            "got 3 (byte 0x4f21)\n");
    assert_string_equal(print(f, 1, false),
                        "model.onnx: warning: graph/node[17] \"conv_3\" Conv: strides: odd (byte 0x4f21)\n");
    assert_string_equal(print(f, 2, false), "model.onnx: not a model (byte 0xffffffffffffffff)\n");
    assert_string_equal(print(f, 3, false), "out: error: cannot open: reason\n");
    assert_string_equal(print(f, 4, false), "error: no device\n");
}

static void colours_on_request(void **state) {
    fixture *f = *state;
    const base_place place = {.file = "a", .source = "xy", .source_size = 2, .line = 1, .column = 2};
    base_error(&f->diags, &place, "bad");
    assert_string_equal(print(f, 0, true),
                        "\033[1ma:1:2:\033[0m \033[1;31merror:\033[0m bad\n    xy\n     \033[1;31m^\033[0m\n");
}

static void nothing_reaches_the_terminal_raw(void **state) {
    fixture *f = *state;
    const char source[] = "a\033[2J\xff\xc3\xa9\xe2\x80\xae\0z";
    const base_place place = {
        .file = "x\033.op", .path = "p\n", .source = source, .source_size = sizeof source - 1, .line = 1, .column = 7};
    base_error(&f->diags, &place, "name %s\r", "\033]0;\x9b");
    /* one column a character: escape, byte, override and NUL are question marks; the caret is under the e acute */
    assert_string_equal(print(f, 0, false), "x\\x1b.op:1:7: error: p\\x0a: name \\x1b]0;\\x9b\\x0d\n"
                                            "    a?[2J?\xc3\xa9??z\n          ^\n");
    char *borrowed = base_strdup(f->arena, "borrowed");
    const base_place other = {.file = borrowed, .path = borrowed};
    base_error(&f->diags, &other, "%s", borrowed);
    memset(borrowed, '!', 8);
    assert_string_equal(print(f, 1, false), "borrowed: borrowed: borrowed\n");
}

static void long_lines_and_messages_are_cut(void **state) {
    fixture *f = *state;
    const size_t n = 5000000;
    char *line = base_alloc(f->arena, n, 1);
    memset(line, 'a', n);
    line[4000000 - 1] = 'B';
    base_place place = {.file = "f", .source = line, .source_size = n, .line = 1, .column = 4000000};
    base_error(&f->diags, &place, "far");
    place.column = 1;
    base_error(&f->diags, &place, "near");
    place.column = UINT32_MAX;
    base_error(&f->diags, &place, "beyond");
    base_error(&f->diags, NULL, "%.*s", 100000, line);
    const base_diag *d = f->diags.list.at;
    assert_int_equal(strlen(d[0].line_text), 126); /* 120 and dots on both sides */
    assert_int_equal(d[0].line_text[d[0].caret - 1], 'B');
    assert_int_equal(strncmp(d[0].line_text, "...a", 4), 0);
    assert_int_equal(strlen(d[1].line_text), 123);
    assert_int_equal(d[1].caret, 1);
    assert_true(strlen(d[2].line_text) < 130 && d[2].caret <= 130);
    assert_int_equal(strlen(d[3].message), 2000);
    assert_string_equal(d[3].message + 1996, "a...");
}

static void twenty_of_each_are_kept(void **state) {
    fixture *f = *state;
    for (int i = 0; i < 25; i++) {
        base_warn(&f->diags, NULL, "w%d", i);
    }
    for (int i = 0; i < 30; i++) {
        assert_int_equal(base_error(&f->diags, NULL, "e%d", i), BASE_REFUSED);
    }
    base_note(&f->diags, NULL, "n");
    assert_int_equal(f->diags.list.n, 40);
    assert_int_equal(f->diags.errors, 30);
    assert_int_equal(f->diags.warnings, 25);
    assert_int_equal(f->diags.dropped, 5 + 10 + 1);
    assert_string_equal(f->diags.list.at[19].message, "w19");
    assert_string_equal(f->diags.list.at[20].message, "e0");
    assert_string_equal(f->diags.list.at[39].message, "e19");
}

static void nearest_names(void **state) {
    (void)state;
    static const char *const names[] = {"conv2d", "depthwise_conv2d", "relu", "softmax", "add", "max_pool2d"};
    static const char *const rows[][2] = {
        {"conv2", "conv2d"},
        {"cnov2d", "conv2d"},
        {"RELU", "relu"},
        {"sofmax", "softmax"},
        {"softmaxx", "softmax"},
        {"ad", "add"},
        {"add", "add"},
        {"maxpool2d", "max_pool2d"},
        {"relu6", "relu"},
        {"depthwise_conv", "depthwise_conv2d"},
        {"lstm", NULL},
        {"x", NULL},
        {"", NULL},
        {"completely", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *found = base_nearest(rows[i][0], names, 6);
        if (rows[i][1]) {
            assert_non_null(found);
            assert_string_equal(found, rows[i][1]);
        } else {
            assert_null(found);
        }
    }
    char word[70];
    memset(word, 'a', 69);
    word[69] = '\0';
    const char *const long_names[] = {word, word + 5};
    assert_null(base_nearest(word, long_names, 2)); /* over 64 bytes: no suggestion, bounded time */
    assert_ptr_equal(base_nearest(word + 5, long_names, 2), word + 5);
    assert_null(base_nearest("add", names, 0));
}

static void report_much(base_arena *arena) {
    base_diags diags = {.arena = arena};
    const base_place place = {.file = "f", .path = "p", .source = "line", .source_size = 4, .line = 1, .column = 2};
    for (int i = 0; i < 30; i++) {
        base_error(&diags, &place, "%0500d", i);
    }
    assert_int_equal(diags.list.n, 20);
}

static void survives_every_failure(void **state) {
    (void)state;
    assert_true(fail_each_allocation(report_much) >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_ARENA(text_places_have_a_caret),
        WITH_ARENA(binary_places_have_path_and_byte),
        WITH_ARENA(colours_on_request),
        WITH_ARENA(nothing_reaches_the_terminal_raw),
        WITH_ARENA(long_lines_and_messages_are_cut),
        WITH_ARENA(twenty_of_each_are_kept),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(survives_every_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
