/* test_json.c - JSON texts as trees: every kind of value of RFC 8259 with its place, and every kind of broken text. */
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

static const wire_json *read_all(const char *text, size_t n) {
    const wire_json *v = NULL;
    base_status status = wire_json_read(t.arena, "a.json", text, n, &v, &t.d);
    assert_int_equal(status, v != NULL ? BASE_OK : BASE_REFUSED);
    return v;
}

static const wire_json *read_text(const char *text) {
    return read_all(text, strlen(text));
}

static void values(void **state) {
    (void)state;
    uint64_t n = 0;
    const wire_json *v = read_text(" {\"a\" : [1, -2.5e+3 ,\"x\\n\\u00e9\\ud83d\\ude00\\/\"],\n\t\"b\":{}, "
                                   "\"c\":null,\"\":true, \"e\" : false }\r\n");
    assert_non_null(v);
    assert_int_equal(v->kind, WIRE_JSON_OBJECT);
    assert_int_equal(v->count, 5);
    assert_int_equal(v->column, 2);
    const wire_json *a = wire_json_find(v, "a");
    assert_int_equal(a->kind, WIRE_JSON_LIST);
    assert_int_equal(a->count, 3);
    assert_true(wire_json_uint(a->first, &n) && n == 1);
    assert_string_equal(a->first->next->text, "-2.5e+3");
    assert_false(wire_json_uint(a->first->next, &n));
    assert_string_equal(a->first->next->next->text, "x\n\xc3\xa9\xf0\x9f\x98\x80/");
    assert_null(a->first->next->next->next);
    const wire_json *b = wire_json_find(v, "b");
    assert_true(b->line == 2 && b->column == 6 && b->count == 0 && b->kind == WIRE_JSON_OBJECT);
    assert_int_equal(wire_json_find(v, "c")->kind, WIRE_JSON_NULL);
    assert_int_equal(wire_json_find(v, "")->kind, WIRE_JSON_TRUE);
    assert_int_equal(wire_json_find(v, "e")->kind, WIRE_JSON_FALSE);
    assert_null(wire_json_find(v, "f"));
    assert_null(wire_json_find(a, "a"));
    assert_null(wire_json_find(NULL, "a"));
    v = read_text("[18446744073709551615,18446744073709551616,1.0,-1,\"1\"]");
    assert_true(wire_json_uint(v->first, &n) && n == UINT64_MAX);
    for (v = v->first->next; v != NULL; v = v->next) {
        assert_false(wire_json_uint(v, &n));
    }
    for (size_t i = 0; i < 3; i++) {
        static const char *const whole[] = {"0", "\"a\"", "[]"};
        assert_non_null(read_text(whole[i]));
    }
}

/* Columns are characters; the fault is said where it is. */
static void broken(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
        unsigned line, column;
    } list[] = {{"", "ends too early", 1, 1},
                {"[1,", "ends too early", 1, 4},
                {"[1 2]", "expected , or ]", 1, 4},
                {"{\"a\":1\n\"b\":2}", "expected , or }", 2, 1},
                {"{\"a\" 1}", "expected :", 1, 6},
                {"{a:1}", "expected a name in quotes", 1, 2},
                {"{\"a\":1,}", "expected a name in quotes", 1, 8},
                {"[1,]", "expected a value", 1, 4},
                {"{\"a\":1,\n \"a\":2}", "there twice", 2, 2},
                {"01", "something behind the value", 1, 2},
                {"[] []", "something behind the value", 1, 4},
                {"1.", "ends too early", 1, 3},
                {"[1.]", "expected a digit", 1, 4},
                {"[1e+]", "expected a digit", 1, 5},
                {"-", "ends too early", 1, 2},
                {"+1", "expected a value", 1, 1},
                {"nul", "expected a value", 1, 1},
                {"\"a\nb\"", "a control character in a text", 1, 3},
                {"\"\\x\"", "no such escape", 1, 3},
                {"\"\\u12g4\"", "four hexadecimal digits", 1, 6},
                {"\"\\u0000\"", "a zero byte", 1, 8},
                {"\"\\ud800\"", "half of a surrogate pair", 1, 8},
                {"\"\\udc00\"", "half of a surrogate pair", 1, 8},
                {"\"\\ud800\\u0041\"", "half of a surrogate pair", 1, 14},
                {"\"\xc3\xa9\xff\"", "no UTF-8", 1, 3},
                {"\"\xc0\x80\"", "no UTF-8", 1, 2},
                {"\"abc", "ends too early", 1, 5},
                {"\"abc\\", "ends too early", 1, 6}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        t.d = (base_diags){.arena = t.arena};
        assert_null(read_text(list[i].text));
        assert_int_equal(t.d.list.n, 1);
        const base_diag *said = &t.d.list.at[0];
        if (strstr(said->message, list[i].says) == NULL || said->line != list[i].line ||
            said->column != list[i].column) {
            fail_msg("%s: %u:%u: %s", list[i].text, said->line, said->column, said->message);
        }
    }
    assert_null(read_all("[1]\0", 4));
}

/* Depth is bounded, and a text of one line is read in time in proportion to it. */
static void large(void **state) {
    (void)state;
    enum { N = 4000001 };
    char *text = malloc(N + 1);
    assert_non_null(text);
    memset(text, '[', N);
    assert_null(read_all(text, N));
    assert_non_null(strstr(t.d.list.at[0].message, "too deep"));
    assert_int_equal(t.d.list.at[0].column, 65);
    for (size_t i = 1; i < N; i++) {
        text[i] = i % 2 ? '7' : ',';
    }
    text[N - 1] = ']';
    const wire_json *v = read_all(text, N);
    assert_non_null(v);
    assert_int_equal(v->count, N / 2);
    free(text);
}

/* Every beginning of a text is refused, and nothing is read behind it. */
static void cut(void **state) {
    (void)state;
    const char *text = "{\"a\":[1.5e3,\"\\u00e9\\ud83d\\ude00\",true],\"b\":null}";
    for (size_t n = 0; n < strlen(text); n++) {
        char *part = malloc(n + 1); /* for sanitizers: of that size */
        assert_non_null(part);
        memcpy(part, text, n);
        char *exact = n > 0 ? realloc(part, n) : part;
        assert_null(read_all(exact, n));
        free(exact);
    }
    assert_non_null(read_text(text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
