/* lists.c - burin targets, devices, moves, operators: what there is. */
#include "cli/cli.h"

static int list(cli *c, burin_status (*get)(burin_context *, burin_form, const char **)) {
    const char *text = NULL;
    int status = cli_report(c, get(c->context, c->arguments.json ? BURIN_JSON : BURIN_TEXT, &text));
    if (status == 0) {
        fputs(text, stdout);
    }
    return status;
}

int cli_targets(cli *c) {
    return list(c, burin_list_targets);
}

int cli_devices(cli *c) {
    return list(c, burin_list_devices);
}

int cli_moves(cli *c) {
    return list(c, burin_list_moves);
}

int cli_operators(cli *c) {
    return list(c, burin_list_operators);
}
