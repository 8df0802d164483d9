/* plan.c - burin plan: the schedule and the memory map that compile would use. */
#include "cli/cli.h"

int cli_plan(cli *c) {
    burin_compile_options options = c->arguments.compile;
    burin_model *model = NULL;
    const char *text = NULL;
    if (c->arguments.json && c->arguments.given.dump_after) {
        return cli_usage(c, "--json and --dump-after: stdout can hold only one of them");
    }
    if (c->arguments.svg && (c->arguments.json || c->arguments.given.dump_after)) {
        return cli_usage(c, "--svg and %s: stdout can hold only one of them",
                         c->arguments.json ? "--json" : "--dump-after");
    }
    cli_progress(c, "planning");
    int result = cli_load(c, &model);
    if (result == 0) {
        const burin_form form = c->arguments.json ? BURIN_JSON : c->arguments.svg ? BURIN_SVG : BURIN_TEXT;
        result = cli_report(c, burin_plan(c->context, model, &options, form, &text));
    }
    if (result == 0) {
        const char *dump = options.dump_after != NULL ? burin_dump_text(c->context) : NULL;
        fputs(dump != NULL ? dump : text, stdout);
    }
    return result;
}
