/* test_text.c - text: formatting, JSON strings, names for terminals, every allocation failing in turn. */
#include "fixture.h"

static void strings_are_copied(void **state) {
    fixture *f = *state;
    char source[] = "hello";
    char *copy = base_strdup(f->arena, source), *part = base_strndup(f->arena, source, 2);
    source[0] = 'j';
    assert_string_equal(copy, "hello");
    assert_string_equal(part, "he");
    assert_string_equal(base_strndup(f->arena, NULL, 0), "");
    assert_string_equal(base_printf(f->arena, "%d-%s", 42, "x"), "42-x");
    assert_string_equal(base_printf(f->arena, "%s", ""), "");
    assert_int_equal(strlen(base_printf(f->arena, "%*d", 10000, 1)), 10000);
}

static void text_grows(void **state) {
    fixture *f = *state;
    base_text t = {.arena = f->arena};
    size_t expected = 0;
    for (int i = 0; i < 3000; i++) {
        base_put(&t, "%d,", i);
        expected += i < 10 ? 2 : i < 100 ? 3 : i < 1000 ? 4 : 5;
        assert_int_equal(t.n, expected);
        assert_int_equal(t.at[t.n], '\0');
    }
    assert_memory_equal(t.at, "0,1,2,3,4,5,6,7,8,9,10,", 23);
    assert_string_equal(t.at + t.n - 10, "2998,2999,");
    for (size_t n = 60; n < 70; n++) { /* around the first capacity */
        base_text u = {.arena = f->arena};
        base_put(&u, "%*d", (int)n, 7);
        assert_int_equal(u.n, n);
        assert_int_equal(strlen(u.at), n);
        base_text w = {.arena = f->arena};
        for (size_t i = 0; i < n; i++) {
            base_putn(&w, "x", 1);
        }
        assert_int_equal(strlen(w.at), n);
    }
    base_text empty = {.arena = f->arena};
    base_puts(&empty, "");
    assert_string_equal(empty.at, "");
    base_putn(&empty, "a\0b", 3);
    assert_int_equal(empty.n, 3);
    assert_memory_equal(empty.at, "a\0b", 4);
    base_putn(&empty, NULL, 0);
    assert_int_equal(empty.n, 3);
}

static void numbers_in_decimal(void **state) {
    fixture *f = *state;
    base_text t = {.arena = f->arena};
    const uint64_t values[] = {0, 9, 10, 4294967296u, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        base_put_unsigned(&t, values[i]);
        base_puts(&t, " ");
    }
    assert_string_equal(t.at, "0 9 10 4294967296 18446744073709551615 ");
    char *long_one = base_printf(f->arena, "%0255d|%0300d", 1, 2); /* beyond what is formatted on the stack */
    assert_int_equal(strlen(long_one), 556);
    assert_true(long_one[254] == '1' && long_one[255] == '|' && long_one[555] == '2');
    assert_int_equal(strlen(base_printf(f->arena, "%0255d", 1)), 255);
    assert_int_equal(strlen(base_printf(f->arena, "%0256d", 1)), 256);
}

static void json_strings(void **state) {
    fixture *f = *state;
    static const char *const cases[][2] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
        {"bfnrt", "\"bfnrt\""},
        {"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""}, /* e acute, euro, face */
        {"\xc2\x80\xc2\x9b", "\"\\u0080\\u009b\""},      /* C1 controls */
        {"\xe2\x80\xae", "\"\\u202e\""},                 /* right-to-left override */
        {"\xff", "\"\\ufffd\""},
        {"a\xc3", "\"a\\ufffd\""},                                    /* cut short */
        {"\xc0\x80", "\"\\ufffd\\ufffd\""},                           /* overlong NUL */
        {"\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""},                /* overlong U+07FF */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},                /* surrogate */
        {"\xed\x9f\xbf\xee\x80\x80", "\"\xed\x9f\xbf\xee\x80\x80\""}, /* its neighbours */
        {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},                 /* U+10FFFF */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},     /* one more */
        {"\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},     /* overlong U+FFFF */
        {"\xc3\x28", "\"\\ufffd(\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        base_text t = {.arena = f->arena};
        base_put_quoted(&t, cases[i][0]);
        assert_string_equal(t.at, cases[i][1]);
    }
}

static void printable_names(void **state) {
    fixture *f = *state;
    static const struct {
        const char *s;
        size_t n, max;
        const char *expected;
    } cases[] = {
        {"conv_1/Relu:0", 13, 100, "conv_1/Relu:0"},
        {"\033[31m", 5, 100, "\\x1b[31m"},
        {"a\0b\n", 4, 100, "a\\x00b\\x0a"},
        {"\xc3\xa9\xff", 3, 100, "\xc3\xa9\\xff"},
        {"\xe2\x80\xae", 3, 100, "\\xe2\\x80\\xae"},
        {"abcdefghij", 10, 10, "abcdefghij"},
        {"abcdefghijk", 11, 10, "abcdefg..."},
        {"abcde\xc3\xa9xyz", 10, 10, "abcde\xc3\xa9xyz"},
        {"abcde\xc3\xa9wxyz", 11, 10, "abcde\xc3\xa9..."},
        {"abcdef\xc3\xa9wxyz", 12, 10, "abcdef..."}, /* the whole character or nothing */
        {"abcde\001wxyz", 10, 10, "abcde..."},       /* the whole escape or nothing */
        {"abcdef", 6, 2, ".."},
        {"abcdef", 6, 0, ""},
        {"", 0, 5, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(base_printable(f->arena, cases[i].s, cases[i].n, cases[i].max), cases[i].expected);
    }
}

static void write_much(base_arena *arena) {
    base_text t = {.arena = arena};
    for (int i = 0; i < 2000; i++) {
        base_put(&t, "%d %s ", i, "words");
        base_put_quoted(&t, "quo\"ted");
        base_put_float(&t, i / 3.0);
    }
    assert_memory_equal(t.at, "0 words \"quo\\\"ted\"0.01 words ", 29);
    base_printable(arena, t.at, t.n, 100000);
    base_printf(arena, "%s", t.at);
}

static void survives_every_failure(void **state) {
    (void)state;
    assert_true(fail_each_allocation(write_much) >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_ARENA(strings_are_copied),
        WITH_ARENA(text_grows),
        WITH_ARENA(numbers_in_decimal),
        WITH_ARENA(json_strings),
        WITH_ARENA(printable_names),
        cmocka_unit_test(survives_every_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
