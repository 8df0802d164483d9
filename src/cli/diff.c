/* diff.c - burin diff: what differs between two written plans. */
#include "cli/cli.h"

int cli_diff(cli *c) {
    const cli_arguments *a = &c->arguments;
    const char *text = NULL;
    size_t count = 0;
    const burin_form form = a->json ? BURIN_JSON : BURIN_TEXT;
    const int result =
        cli_report(c, burin_plan_diff(c->context, a->operands.at[0], a->operands.at[1], form, &count, &text));
    if (result == 0 && (a->json || !a->quiet)) {
        fputs(text, stdout);
    }
    return result != 0 ? result : count > 0 ? BURIN_WRONG : 0;
}
