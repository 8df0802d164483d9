/* inspect.c - burin inspect: what is in a model, and what of it is unsupported. */
#include "cli/cli.h"

int cli_inspect(cli *c) {
    burin_model *model = NULL;
    const char *text = NULL;
    int result = cli_load(c, &model);
    if (result == 0 && c->arguments.parameters) {
        result = cli_report(c, burin_quantization_text(c->context, model, &text));
    } else if (result == 0) {
        result = cli_report(c, burin_inspect(c->context, model, c->arguments.json ? BURIN_JSON : BURIN_TEXT, &text));
    }
    if (result == 0) {
        fputs(text, stdout);
    }
    return result;
}
