/* load.c - how a model is loaded, as the options say.
 *
 * Takes the arguments. Gives burin_load_options, with the contents of inputs that become constants read from their files, and the
 * model.
 */
#include <string.h>

#include "cli/cli.h"

/* "A,B" and "C" are three names. */
static cli_list split_names(cli *c, const cli_list *given) {
    size_t n = 0;
    for (size_t i = 0; i < given->n; i++) {
        for (const char *s = given->at[i]; s != NULL; s = strchr(s, ',') != NULL ? strchr(s, ',') + 1 : NULL) {
            n++;
        }
    }
    cli_list names = {.at = cli_alloc(c, n + 1, sizeof *names.at)};
    for (size_t i = 0; i < given->n; i++) {
        for (const char *s = given->at[i]; s != NULL; s = strchr(s, ',') != NULL ? strchr(s, ',') + 1 : NULL) {
            names.at[names.n++] = cli_format(c, "%.*s", (int)(strcspn(s, ",") & 0xffff), s);
        }
    }
    return names;
}

/* NAME=FILE, or FILE where the model has one input: into one of the two lists of o, which have room. */
static int read_constant(cli *c, const char *text, burin_constant *constants, burin_contents *lists,
                         burin_load_options *o) {
    const char *equals = strchr(text, '='), *path = equals != NULL ? equals + 1 : text;
    burin_array array = {0};
    burin_status status = cli_read_file(c, path, &array);
    const char *name = equals != NULL ? cli_format(c, "%.*s", (int)((equals - text) & 0xffff), text) : NULL;
    if (array.type != NULL && strcmp(array.type, "list") == 0) {
        lists[o->list_count++] = (burin_contents){name, array};
    } else {
        constants[o->constant_count++] = (burin_constant){name, array.type, array.data, array.size};
    }
    return cli_report(c, status);
}

int cli_load_options(cli *c, burin_load_options *o) {
    const cli_arguments *a = &c->arguments;
    *o = (burin_load_options)BURIN_LOAD_OPTIONS_INIT;
    o->shapes = a->shapes.at;
    o->shape_count = a->shapes.n;
    o->dims = a->dims.at;
    o->dim_count = a->dims.n;
    o->batch = a->batch;
    o->max_trips = a->compile.max_trips;
    o->states = a->states.at;
    o->state_count = a->states.n;
    o->random_mean = a->random_mean;
    o->quantization = a->quantization;
    o->numerics = a->compile.numerics;
    o->ops = a->ops.at;
    o->op_count = a->ops.n;
    o->signature = a->signature;
    const cli_list outputs = split_names(c, &a->outputs);
    o->outputs = outputs.at;
    o->output_count = outputs.n;
    for (size_t i = 0; i < outputs.n; i++) {
        if (*outputs.at[i] == 0) {
            return cli_usage(c, "--outputs: a name is empty");
        }
    }
    burin_constant *constants = cli_alloc(c, a->constants.n + 1, sizeof *constants);
    burin_contents *lists = cli_alloc(c, a->constants.n + 1, sizeof *lists);
    int status = 0;
    for (size_t i = 0; i < a->constants.n && status == 0; i++) {
        status = read_constant(c, a->constants.at[i], constants, lists, o);
    }
    o->constants = constants;
    o->lists = lists;
    return status;
}

int cli_load_for(cli *c, const burin_contents *contents, size_t n, burin_model **model) {
    burin_load_options o;
    int status = cli_load_options(c, &o);
    o.contents = contents;
    o.content_count = n;
    return status != 0 ? status : cli_report(c, burin_load_with(c->context, c->arguments.operands.at[0], &o, model));
}

int cli_load(cli *c, burin_model **model) {
    return cli_load_for(c, NULL, 0, model);
}
