/* verify.c - burin verify: two models, or a model and golden data (golden.c).
 *
 * Takes a model and, for two, its inputs: files or made ones. The other is loaded for the run with these inputs. Gives a
 * verdict for each output, with --layers for tensors between; status 3 when an output differs.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* ---- tolerances ---- */

int cli_tolerances(cli *c, const burin_model *model, burin_tolerances *out) {
    const cli_arguments *a = &c->arguments;
    bool floats = a->layers, integers = a->layers;
    *out = (burin_tolerances)BURIN_TOLERANCES_INIT;
    if (a->given.ulp) {
        out->absolute = out->relative = 0;
    }
    out->absolute = a->given.atol ? a->atol : out->absolute;
    out->relative = a->given.rtol ? a->rtol : out->relative;
    out->ulp = a->ulp;
    out->steps = a->steps;
    for (size_t i = 0; i < burin_output_count(model); i++) {
        const char *type = burin_output_info(model, i).type;
        const bool is_float = type[0] == 'f' || strncmp(type, "bf", 2) == 0;
        floats = floats || is_float;
        integers = integers || !is_float;
    }
    const char *option = a->given.rtol ? "rtol" : a->given.atol ? "atol" : a->given.ulp ? "ulp" : NULL;
    if (option != NULL && !floats) {
        return cli_usage(c, "--%s has no effect: the model's outputs are all integers%s", option,
                         a->given.steps ? "" : ", which must be equal");
    }
    return a->given.steps && !integers ? cli_usage(c, "--steps has no effect: the model's outputs are all floats") : 0;
}

/* ---- verdicts ---- */

static const char *verdict_of(const burin_comparison *f, bool differs) {
    return differs                      ? "differs"
           : f->why != NULL             ? "not compared"
           : f->difference.unequal == 0 ? "equal"
                                        : "within tolerance";
}

void cli_print_verdict(cli *c, const char *what, const burin_comparison *f, bool differs) {
    const burin_difference *d = &f->difference;
    const bool is_float = f->array.type[0] == 'f' || strncmp(f->array.type, "bf", 2) == 0;
    printf("%s  %s%s \"%s\"  %s", what, f->array.type, cli_shape_text(c, &f->array), cli_printable(c, f->name),
           verdict_of(f, differs));
    if (f->other != NULL && strcmp(f->name, f->other) != 0) {
        printf(" (\"%s\")", cli_printable(c, f->other));
    }
    if (f->why != NULL) {
        printf(": %s", f->why);
    } else if (d->unequal > 0) {
        printf(": %" PRIu64 " of %" PRIu64 " not equal, at most %.3g apart, relative %.3g, %" PRIu64 " %s", d->unequal,
               d->elements, d->max_absolute, d->max_relative, d->max_steps, is_float ? "ulp" : "steps");
    }
    putchar('\n');
}

static void json_value(const char *name, const char *text) {
    const bool is_number = strspn(text, "0123456789+-.eE") == strlen(text);
    printf(",\"%s\":", name);
    if (is_number) {
        fputs(text, stdout);
    } else {
        cli_json_text(text);
    }
}

void cli_json_verdict(const char *kind, const burin_comparison *f, bool differs, size_t runs) {
    const burin_difference *d = &f->difference;
    printf("{\"kind\":\"%s\",\"name\":", kind);
    cli_json_text(f->name);
    if (f->other != NULL) {
        printf(",\"other\":");
        cli_json_text(f->other);
    }
    printf(",\"type\":\"%s\",\"shape\":", f->array.type);
    cli_json_shape(&f->array);
    printf(",\"verdict\":\"%s\"", verdict_of(f, differs));
    if (f->why != NULL) {
        json_value("why", f->why);
    } else {
        printf(",\"elements\":%" PRIu64 ",\"unequal\":%" PRIu64 ",\"mismatches\":%" PRIu64
               ",\"max_abs\":%.9g,\"max_rel\":%.9g,\"max_steps\":%" PRIu64,
               d->elements, d->unequal, d->mismatches, d->max_absolute, d->max_relative, d->max_steps);
    }
    if (d->first_a != NULL) {
        if (runs > 1) {
            printf(",\"run\":%zu", f->run);
        }
        printf(",\"first\":%" PRIu64, d->first);
        json_value("a", d->first_a);
        json_value("b", d->first_b);
    }
    putchar('}');
}

static void print_list(cli *c, const burin_comparison *list, size_t n, size_t runs) {
    size_t compared = 0, differing = 0;
    if (c->arguments.json) {
        printf("[");
    }
    for (size_t i = 0; i < n; i++) {
        const burin_comparison *f = &list[i];
        const bool differs = f->difference.mismatches > 0 || (!f->layer && f->why != NULL);
        compared += f->layer && f->why == NULL;
        differing += f->layer && differs;
        if (c->arguments.json) {
            printf("%s", i != 0 ? ",\n " : "");
            cli_json_verdict(f->layer ? "layer" : "output", f, differs, runs);
        } else if (!c->arguments.quiet) {
            cli_print_verdict(c, f->layer ? "layer" : cli_format(c, "output %zu", f->number), f, differs);
        }
    }
    if (c->arguments.json) {
        printf("]\n");
    } else if (c->arguments.layers && !c->arguments.quiet) {
        printf("%s compared, %zu differ\n", cli_count(c, compared, "layer"), differing);
    }
}

/* ---- two models ---- */

/* The contents under the names that the first model has for its inputs; of several runs only what they are. Lists are as they
 * were given. */
static burin_contents *contents_for(cli *c, const burin_model *model, const burin_array *inputs,
                                    const burin_contents *given, size_t *n) {
    const bool lists = cli_has_list(given, *n);
    *n = lists ? *n : burin_input_count(model);
    burin_contents *contents = cli_alloc(c, *n + 1, sizeof *contents);
    for (size_t i = 0; i < *n; i++) {
        contents[i] = lists ? given[i] : (burin_contents){burin_input_info(model, i).name, inputs[i]};
        contents[i].array.data = c->arguments.given.repeat ? NULL : contents[i].array.data;
    }
    return contents;
}

/* The other model is read for the run with these contents, called as in the first where it knows the names, else in order. */
static int load_other(cli *c, burin_contents *contents, size_t n, burin_model **other) {
    burin_load_options o;
    int status = cli_load_options(c, &o);
    if (status != 0) {
        return status;
    }
    o.shapes = o.dims = NULL;
    o.shape_count = o.dim_count = 0;
    o.signature = NULL;
    o.op_count = 0; /* they hold for every model of the context */
    o.contents = contents;
    o.content_count = n;
    burin_status loaded = burin_load_with(c->context, c->arguments.operands.at[1], &o, other);
    if (loaded == BURIN_USAGE && n > 0) {
        for (size_t i = 0; i < n; i++) {
            contents[i].name = NULL;
        }
        burin_diagnostics_clear(c->context);
        loaded = burin_load_with(c->context, c->arguments.operands.at[1], &o, other);
    }
    return cli_report(c, loaded);
}

static int verify_models(cli *c) {
    const cli_arguments *a = &c->arguments;
    const burin_compile_options compile = c->arguments.compile;
    burin_verify_options o = BURIN_VERIFY_OPTIONS_INIT;
    const burin_comparison *list = NULL;
    burin_contents *contents = NULL;
    burin_model *model = NULL, *other = NULL;
    size_t content_count = 0, count = 0;
    int status = cli_check_provider(c, &o.provider);
    if (status == 0 && a->layers && strcmp(o.provider, "reference") != 0) {
        status = cli_usage(c, "--layers needs --provider reference: emitted C does not keep tensors between");
    }
    if (status == 0 && a->inputs.n > 0 && a->given.seed) {
        status = cli_usage(c, "--input and --seed: the inputs are either given or made");
    }
    if (status == 0) {
        status = cli_read_contents(c, &contents, &content_count);
    }
    if (status == 0) {
        status = cli_load_for(c, contents, content_count, &model);
    }
    if (status == 0) {
        status = cli_tolerances(c, model, &o.tolerances);
    }
    if (status != 0) {
        return status;
    }
    o.compile = &compile;
    o.layers = a->layers;
    o.runs = a->repeat;
    burin_array *inputs = cli_arrays(c, o.runs * burin_input_count(model));
    status = cli_get_inputs(c, model, contents, content_count, o.runs, inputs);
    if (status == 0) {
        contents = contents_for(c, model, inputs, contents, &content_count);
        status = load_other(c, contents, content_count, &other);
    }
    if (status == 0) {
        cli_progress(c, "running");
        status = cli_report(c, burin_verify(c->context, model, other, &o, inputs, &list, &count));
        if (list != NULL) {
            print_list(c, list, count, o.runs);
        }
    }
    return status;
}

int cli_verify(cli *c) {
    struct stat is;
    const char *other = c->arguments.operands.at[1];
    return stat(other, &is) == 0 && S_ISDIR(is.st_mode) ? cli_verify_golden(c, other) : verify_models(c);
}
