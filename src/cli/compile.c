/* compile.c - burin compile: from a model to files, with the table of what was decided and the line of the check.
 *
 * Takes INPUT and -o OUT. Writes nothing unless all of it went well; what exists is kept without --force, which is seen
 * before the work is done.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* The extension of a path, NULL: none. A word of letters and digits that does not begin with a digit; "out.v2" has one,
 * "run.2" none. */
static const char *extension_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1, *dot = strrchr(name, '.');
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (dot == NULL || dot == name || dot[1] == 0 || dot[1] == '.' || (dot[1] >= '0' && dot[1] <= '9')) {
        return NULL;
    }
    return strspn(dot + 1, word) == strlen(dot + 1) ? dot + 1 : NULL;
}

static int check_usage(cli *c, burin_compile_options *o) {
    const cli_arguments *a = &c->arguments;
    if (a->output == NULL) {
        return cli_usage(c, "it needs -o OUT");
    }
    if (a->json && a->given.dump_after) {
        return cli_usage(c, "--json and --dump-after: stdout can hold only one of them");
    }
    if (!o->check && (a->given.check_cases || a->given.compiler)) {
        return cli_usage(c, "--no-check leaves nothing for --%s", a->given.compiler ? "compiler" : "check-cases");
    }
    const char *extension = extension_of(a->output);
    if (o->target == NULL && extension != NULL) {
        o->target = burin_target_of(a->output);
        if (o->target == NULL) {
            return cli_usage(c, "no target writes .%s files; for a folder of that name say --target c", extension);
        }
    }
    return o->target != NULL ? cli_check_target(c, o->target) : 0; /* a device's own target uses everything */
}

/* The first file of the output that exists at path, NULL: none. */
static const char *first_existing(cli *c, const burin_output *output, const char *path) {
    for (size_t i = 0; i < output->file_count && !output->single; i++) {
        const char *file = cli_format(c, "%s/%s", path, output->files[i].name);
        if (cli_exists(file)) {
            return file;
        }
    }
    return output->single && cli_exists(path) ? path : NULL;
}

/* What exists is found before the costly part: for a folder that is there the files' names come from a compilation
 * without a check. */
static int check_existing(cli *c, const burin_model *model, const burin_compile_options *options) {
    const char *path = c->arguments.output, *existing = path;
    struct stat is;
    const char *data = cli_format(c, "%s.data", path);
    if (options->external_data && !c->arguments.force && cli_exists(data)) {
        return cli_refuse(c, "%s exists and was kept; say --force to replace it", cli_printable(c, data));
    }
    if (c->arguments.force || !cli_exists(path)) {
        return 0;
    }
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode)) {
        burin_compile_options quick = *options;
        const burin_output *output = NULL;
        quick.check = false;
        quick.test_cases = options->test_cases > 0; /* one: for the names */
        burin_status status = burin_compile(c->context, model, &quick, &output);
        if (status != BURIN_OK) {
            return cli_report(c, status);
        }
        burin_diagnostics_clear(c->context); /* the compilation proper says the same */
        existing = first_existing(c, output, path);
    }
    return existing == NULL
               ? 0
               : cli_refuse(c, "%s exists and was kept; say --force to replace it", cli_printable(c, existing));
}

static void print_json(const burin_output *output, const char *path) {
    printf("{\"output\":");
    cli_json_text(path);
    printf(",\"checked\":%s,\"check\":", output->checked ? "true" : "false");
    cli_json_text(output->check);
    if (output->layout != NULL) {
        printf(",\"layout\":");
        cli_json_text(output->layout);
    }
    if (output->plan != NULL) {
        printf(",\"arena_bytes\":%" PRIu64 ",\"arena_bound\":%" PRIu64 ",\"constant_bytes\":%" PRIu64
               ",\"macs\":%" PRIu64,
               output->arena_bytes, output->arena_bound, output->constant_bytes, output->macs);
    }
    printf(",\"files\":[");
    for (size_t i = 0; i < output->file_count; i++) {
        printf("%s{\"name\":", i != 0 ? "," : "");
        cli_json_text(output->single && i == 0 ? path : output->files[i].name);
        printf(",\"bytes\":%zu}", output->files[i].size);
    }
    printf("]}\n");
}

static void print_text(cli *c, const burin_output *output, const char *path) {
    if (output->plan != NULL) {
        puts(output->plan);
    }
    if (output->layout != NULL) {
        printf("layout     %s\n", output->layout);
    }
    printf("check      %s\n", output->check);
    if (output->single) {
        printf("wrote      %s (%zu bytes)\n", cli_printable(c, path), output->files[0].size);
        for (size_t i = 1; i < output->file_count; i++) {
            printf("wrote      %s (%zu bytes), beside it\n", cli_printable(c, output->files[i].name),
                   output->files[i].size);
        }
        return;
    }
    printf("wrote      %s:", cli_printable(c, path));
    for (size_t i = 0; i < output->file_count; i++) {
        printf(" %s (%zu bytes)%s", output->files[i].name, output->files[i].size,
               i + 1 < output->file_count ? "," : "\n");
    }
}

int cli_compile(cli *c) {
    const cli_arguments *a = &c->arguments;
    burin_compile_options options = c->arguments.compile;
    burin_model *model = NULL;
    const burin_output *output = NULL;
    int result = check_usage(c, &options);
    if (result != 0) {
        return result;
    }
    const char *slash = strrchr(a->output, '/');
    options.data_name = cli_format(c, "%s.data", slash != NULL ? slash + 1 : a->output);
    cli_progress(c, "reading");
    result = cli_load(c, &model);
    if (result == 0) {
        result = check_existing(c, model, &options);
    }
    if (result != 0) {
        return result;
    }
    if (options.check) {
        cli_temporary_begin();
    }
    cli_progress(c, options.check ? "compiling and checking" : "compiling");
    burin_status status = burin_compile(c->context, model, &options, &output);
    const char *rule = NULL;
    if (status == BURIN_OK && (a->depends || a->depends_file != NULL)) {
        result = cli_rule(c, output, a->output, &rule);
        if (result != 0) {
            return result;
        }
    }
    if (status == BURIN_OK) {
        status = burin_output_write(c->context, output, a->output, a->force);
    }
    if (status == BURIN_OK && rule != NULL) {
        const char *to = a->depends_file != NULL ? a->depends_file : cli_format(c, "%s.d", a->output);
        status = burin_file_write(c->context, to, rule, strlen(rule), true);
    }
    result = cli_report(c, status);
    if (a->given.dump_after) {
        const char *dump = burin_dump_text(c->context);
        fputs(dump != NULL ? dump : "", stdout);
    } else if (result == 0 && a->json) {
        print_json(output, a->output);
    } else if (result == 0 && !a->quiet) {
        print_text(c, output, a->output);
    }
    return result;
}
