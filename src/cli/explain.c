/* explain.c - burin explain: why the code of one operator is what it is. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static void print_lines(cli *c, const char *id, const char *text) {
    printf("{\"operator\":%lu,\"lines\":[", strtoul(id, NULL, 10));
    for (const char *at = text, *separator = ""; *at != 0; separator = ",") {
        size_t n = strcspn(at, "\n");
        fputs(separator, stdout);
        cli_json_text(cli_format(c, "%.*s", (int)n, at));
        at += n + (at[n] != 0);
    }
    printf("]}\n");
}

int cli_explain(cli *c) {
    burin_compile_options options = c->arguments.compile;
    const char *word = c->arguments.operands.at[1], *text = NULL;
    burin_model *model = NULL;
    if (word[strspn(word, "0123456789")] != 0 || strlen(word) > 9) {
        return cli_usage(c, "\"%s\" is no operator's number: burin plan lists them", cli_printable(c, word));
    }
    cli_progress(c, "planning");
    int result = cli_load(c, &model);
    if (result == 0) {
        result = cli_report(c, burin_explain(c->context, model, &options, (uint32_t)strtoul(word, NULL, 10), &text));
    }
    if (result == 0 && c->arguments.json) {
        print_lines(c, word, text);
    } else if (result == 0) {
        fputs(text, stdout);
    }
    return result;
}
