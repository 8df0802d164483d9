/* inspect.c - burin inspect: what is in a model, and what of it is unsupported. */
#include "cli/cli.h"

int cli_inspect(cli *c) {
    burin_model *model = NULL;
    const char *text = NULL;
    burin_status status = burin_load(c->context, c->arguments.operands.at[0], &model);
    if (status == BURIN_OK) {
        status = burin_inspect(c->context, model, c->arguments.json ? BURIN_JSON : BURIN_TEXT, &text);
    }
    int result = cli_report(c, status);
    if (result == 0) {
        fputs(text, stdout);
    }
    return result;
}
