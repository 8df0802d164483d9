/* test_options.c - the compile options by their table: standard values, ranges, text there and back, what has no effect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "burin/burin.h"

static const char model_text[] =
    "burin 1\nmodel \"ir\" \"a\"\ngraph \"main\" 0 {\n  tensor %0 f32[4] \"x\"\n"
    "  tensor %1 f32[4] \"y\"\n  inputs (%0)\n  outputs (%1)\n  node relu (%0) -> (%1) ids [0]\n}\n";

static int setup(void **state) {
    *state = burin_context_new(NULL, NULL, 0);
    return *state == NULL;
}

static int teardown(void **state) {
    burin_context_free(*state);
    return 0;
}

/* The last error is of that status and says the text. */
static void assert_says(burin_context *c, burin_status status, burin_status wanted, const char *text) {
    assert_int_equal(status, wanted);
    assert_int_equal(burin_diagnostic_count(c), 1);
    const char *message = burin_diagnostic_at(c, 0).message;
    if (strstr(message, text) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", message, text);
    }
    burin_diagnostics_clear(c);
}

static const char *text_of(burin_context *c, const burin_compile_options *o) {
    const char *text = NULL;
    assert_int_equal(burin_compile_options_text(c, o, &text), BURIN_OK);
    return text;
}

/* What the table says holds without an option is what the initialiser says. */
static void standards(void **state) {
    (void)state;
    const burin_compile_options o = BURIN_COMPILE_OPTIONS_INIT;
#define SAME_TEXT(field, standard)                                                                                     \
    {                                                                                                                  \
        const char *s = standard;                                                                                      \
        assert_true(s == NULL ? o.field == NULL : o.field != NULL && strcmp(o.field, s) == 0);                         \
    }
#define STANDARD_TEXT SAME_TEXT
#define STANDARD_NAMES SAME_TEXT
#define STANDARD_PATH SAME_TEXT
#define STANDARD_CHOICE SAME_TEXT
#define STANDARD_FLAG(field, standard) assert_true(o.field == (standard));
#define STANDARD_NUMBER(field, standard) assert_true(o.field == (standard));
#define BURIN_OPTION(kind, field, flag, letter, value, lowest, highest, standard, ...) STANDARD_##kind(field, standard)
#include "burin/options.def"
#undef BURIN_OPTION
}

/* Another value in every field, by name: the copy is equal, each alone makes a difference, and text is read back. */
static void every_field(void **state) {
    burin_context *c = *state;
    static const char *const others[][2] = {{"target", "ir"},
                                            {"device", "cortex-m4"},
                                            {"prefix", "p"},
                                            {"opt_level", "2"},
                                            {"numerics", "litert"},
                                            {"layout", "single"},
                                            {"weights", "blob"},
                                            {"test_cases", "10000"},
                                            {"check", "false"},
                                            {"check_cases", "1"},
                                            {"compiler", "a: b"},
                                            {"dump_after", "all"},
                                            {"max_trips", "4294967295"},
                                            {"opset", "13"},
                                            {"external_data", "true"},
                                            {"data_name", "d"},
                                            {"exact", "true"},
                                            {"goal", "size"},
                                            {"kernel", "generic"},
                                            {"disable", "tile,roll"},
                                            {"plan", "p.json"},
                                            {"memory_plan", "true"},
                                            {"plan_lock", "l.json"},
                                            {"accumulation", "precise"},
                                            {"memories", "tcm=64K@.dtcm,ram=256K"}};
    const burin_compile_options standard = BURIN_COMPILE_OPTIONS_INIT;
    burin_compile_options all = standard, copy = {0}, read = standard;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        burin_compile_options one = standard;
        assert_int_equal(burin_compile_options_set(c, &one, others[i][0], others[i][1]), BURIN_OK);
        assert_false(burin_compile_options_equal(&one, &standard));
        char line[64];
        snprintf(line, sizeof line, "%s: %s\n", others[i][0], others[i][1]);
        assert_non_null(strstr(text_of(c, &one), line));
        assert_int_equal(burin_compile_options_set(c, &all, others[i][0], others[i][1]), BURIN_OK);
    }
    size_t rows = 0, lines = 0;
#define BURIN_OPTION(...) rows++;
#include "burin/options.def"
#undef BURIN_OPTION
    assert_int_equal(rows, sizeof others / sizeof others[0]);
    for (const char *at = text_of(c, &all); *at != 0; at++) {
        lines += *at == '\n';
    }
    assert_int_equal(lines, rows);
    assert_int_equal(burin_compile_options_copy(c, &all, &copy), BURIN_OK);
    assert_true(burin_compile_options_equal(&all, &copy));
    assert_ptr_not_equal(copy.disable, all.disable);
    assert_int_equal(burin_compile_options_parse(c, text_of(c, &all), &read), BURIN_OK);
    assert_true(burin_compile_options_equal(&all, &read));
    assert_int_equal(burin_compile_options_parse(c, text_of(c, &standard), &read), BURIN_OK);
    assert_true(burin_compile_options_equal(&standard, &read));
}

static void refused(void **state) {
    burin_context *c = *state;
    const burin_compile_options standard = BURIN_COMPILE_OPTIONS_INIT;
    static const char *const wrong[][3] = {
        {"taget", "c", "no such option: taget; did you mean target?"},
        {"", "c", "no such option"},
        {"weights", "blub", "weights: \"blub\" is none of inline, blob or incbin; did you mean blob?"},
        {"weights", "(none)", "is none of inline"},
        {"opt_level", "3", "opt_level: 3 is not a number from 0 to 2"},
        {"opt_level", "-1", "\"-1\" is not a number from 0 to 2"},
        {"opt_level", "", "\"\" is not a number"},
        {"opset", "12", "opset: 12 is not a number from 13 to 28"},
        {"opset", "99999999999999999999999", "is not a number from 13 to 28"},
        {"check_cases", "0", "check_cases: 0 is not a number from 1 to 10000"},
        {"max_trips", "4294967296", "is not a number from 1 to 4294967295"},
        {"exact", "yes", "exact: \"yes\" is not true or false"},
        {"prefix", "", "is not a value"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        burin_compile_options o = standard;
        assert_says(c, burin_compile_options_set(c, &o, wrong[i][0], wrong[i][1]), BURIN_USAGE, wrong[i][2]);
        assert_true(burin_compile_options_equal(&o, &standard));
    }
    burin_compile_options o = standard;
    assert_says(c, burin_compile_options_parse(c, "goal: size\nkernel\n", &o), BURIN_USAGE,
                "\"kernel\" is not of the form");
    assert_says(c, burin_compile_options_parse(c, "goal: size\nkernel: genric\n", &o), BURIN_USAGE,
                "did you mean generic?");
    assert_true(burin_compile_options_equal(&o, &standard)); /* all or none */
}

/* A struct of before `goal` was added keeps its own size; what it lacks cannot be set and has its standard value. */
static void older(void **state) {
    burin_context *c = *state;
    const burin_compile_options standard = BURIN_COMPILE_OPTIONS_INIT;
    burin_compile_options o = standard, read = standard;
    o.size = offsetof(burin_compile_options, goal);
    o.goal = o.kernel = (const char *)(uintptr_t)1; /* never to be read */
    assert_true(burin_compile_options_equal(&o, &standard));
    assert_says(c, burin_compile_options_set(c, &o, "goal", "size"), BURIN_USAGE, "older version");
    assert_int_equal(burin_compile_options_parse(c, "layout: single\n", &o), BURIN_OK);
    assert_string_equal(o.layout, "single");
    assert_int_equal(o.size, offsetof(burin_compile_options, goal));
    assert_int_equal(burin_compile_options_copy(c, &o, &read), BURIN_OK);
    assert_string_equal(read.goal, "latency");
}

/* burin_compile and burin_plan hold the values to the table, and to what the target uses. */
static void resolved(void **state) {
    burin_context *c = *state;
    burin_model *model = NULL;
    const burin_output *output = NULL;
    assert_int_equal(burin_load_memory(c, "a.ir", model_text, sizeof model_text - 1, &model), BURIN_OK);
    static const char *const unused[] = {"device",   "prefix", "layout", "weights",       "test_cases", "check_cases",
                                         "compiler", "opset",  "exact",  "external_data", "goal",       "kernel"};
    burin_compile_options others = BURIN_COMPILE_OPTIONS_INIT;
    assert_int_equal(
        burin_compile_options_parse(c,
                                    "device: cortex-m4\nprefix: p\nlayout: single\nweights: blob\ntest_cases: 1\n"
                                    "check_cases: 1\ncompiler: cc\nopset: 22\nexternal_data: true\n"
                                    "exact: true\ngoal: size\nkernel: generic\n",
                                    &others),
        BURIN_OK);
    for (size_t i = 0; i < sizeof unused / sizeof unused[0]; i++) {
        burin_compile_options o = BURIN_COMPILE_OPTIONS_INIT;
        char line[64], *at = NULL;
        const char *text = strstr(text_of(c, &others), unused[i]);
        snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
        assert_int_equal(burin_compile_options_parse(c, line, &o), BURIN_OK);
        o.target = "ir";
        at = strchr(line, ':');
        strcpy(at, " has no effect with target ir");
        assert_says(c, burin_compile(c, model, &o, &output), BURIN_USAGE, line);
    }
    burin_compile_options o = BURIN_COMPILE_OPTIONS_INIT;
    o.target = "ir";
    o.check = false; /* there is none to leave out */
    o.device = NULL;
    assert_int_equal(burin_compile(c, model, &o, &output), BURIN_OK);
    o = (burin_compile_options)BURIN_COMPILE_OPTIONS_INIT;
    o.test_cases = 10001;
    assert_says(c, burin_compile(c, model, &o, &output), BURIN_USAGE,
                "test_cases: 10001 is not a number from 0 to 10000");
    o.test_cases = 0;
    o.layout = NULL;
    assert_says(c, burin_compile(c, model, &o, &output), BURIN_USAGE, "layout: \"\" is none of folder or single");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(standards, setup, teardown),
        cmocka_unit_test_setup_teardown(every_field, setup, teardown),
        cmocka_unit_test_setup_teardown(refused, setup, teardown),
        cmocka_unit_test_setup_teardown(older, setup, teardown),
        cmocka_unit_test_setup_teardown(resolved, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
