/* test_language_page.c - every example of docs/LANGUAGE.md, run.
 *
 * A block fenced as burin is a text of definitions; its lines "//! call -> results" are run, "//! call !! words" must
 * be refused with these words, and "//! !! words" says that the text itself is refused.
 */
#include <stdio.h>

#include "lang/definition.h"

static char page[1 << 17];

static void read_page(void) {
    FILE *file = fopen(BURIN_SOURCE_DIR "/docs/LANGUAGE.md", "rb");
    assert_non_null(file);
    const size_t n = fread(page, 1, sizeof page - 1, file);
    fclose(file);
    assert_true(n > 0 && n < sizeof page - 1);
    page[n] = 0;
}

static void refused(definition *f, const char *what, base_status status, const char *words) {
    if (status == BASE_OK || !strstr(definition_report(f), words))
        fail_msg("%s\nexpected to be refused: %s\n%s", what, words, definition_report(f));
}

/* One line after "//! ". */
static void run_line(const char *block, char *line) {
    definition f;
    char *words = strstr(line, "!! "), *results = strstr(line, " ->");
    definition_begin(&f);
    const base_status parsed = definition_parse(&f, block);
    if (words == line) {
        refused(&f, block, parsed, words + 3);
        definition_end(&f);
        return;
    }
    f.diags.list.n = f.diags.errors = 0; /* of another line of the block */
    if (words) {
        words[-1] = 0;
        refused(&f, line, definition_call(&f, line), words + 3);
    } else {
        assert_non_null(results);
        *results = 0;
        results += results[3] == ' ' ? 4 : 3;
        if (definition_call(&f, line) != BASE_OK)
            fail_msg("%s\n%s", line, definition_report(&f));
        const char *given = definition_run(&f);
        if (!given || strcmp(given, results) != 0)
            fail_msg("%s\nexpected %s\ngiven    %s\n%s", line, results, given ? given : "nothing",
                     definition_report(&f));
    }
    definition_end(&f);
}

static void test_examples(void **state) {
    (void)state;
    size_t blocks = 0, lines = 0;
    read_page();
    for (char *block = page; (block = strstr(block, "\n```burin\n")) != NULL;) {
        block += strlen("\n```burin\n");
        char *end = strstr(block, "\n```");
        assert_non_null(end);
        *end = 0;
        blocks++;
        char *copy = strdup(block), *save = NULL;
        assert_non_null(copy);
        for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            if (strncmp(line, "//! ", 4) == 0) {
                run_line(block, line + 4);
                lines++;
            }
        free(copy);
        block = end + 1;
    }
    assert_true(blocks >= 15);
    assert_true(lines >= 50);
}

/* Each word and each type that the language has is on the page. */
static void test_complete(void **state) {
    (void)state;
    read_page();
    for (int w = 0; w < LANG_WORD_COUNT; w++) {
        const char *name = lang_word_name((lang_word)w);
        if (w != LANG_CAST && w != LANG_SAT && w != LANG_BITS && !strstr(page, name))
            fail_msg("the word %s is not on the page", name);
    }
    for (int r = 0; r < LANG_REDUCTION_COUNT; r++)
        assert_non_null(strstr(page, lang_reduction_name((lang_reduction)r)));
    for (int t = BASE_NONE + 1; t < BASE_TYPE_COUNT; t++)
        assert_non_null(strstr(page, base_type_name((base_type)t)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
