/* run.c - burin run: one inference on a provider, or several that keep the model's state.
 *
 * Takes a model and a file for each input, or a seed. Gives output_0, output_1 ... in a folder, and what they hold on
 * stdout. Of several runs a file holds all, one after the other.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"

/* ---- outputs ---- */

static const char *output_form(const cli *c) {
    return c->arguments.output_format;
}

static const char *file_name(cli *c, size_t i) {
    const char *form = output_form(c);
    return cli_format(c, "output_%zu.%s", i, strcmp(form, "raw") == 0 ? "bin" : form);
}

/* How many outputs a result of that form consists of. */
static size_t parts_of(const char *form) {
    size_t n = 0;
    for (const char *at = form; *at != 0; at++) {
        n += *at == 'T';
    }
    return n;
}

/* The file of output i, which is result `result` or part number `part` of it: a list is one file only as .pb. */
static const char *part_name(cli *c, const burin_result *r, size_t result, size_t part) {
    const char *form = output_form(c);
    return strcmp(r->form, "T") == 0 || strcmp(form, "pb") == 0
               ? file_name(c, result)
               : cli_format(c, "output_%zu_%zu.%s", result, part, strcmp(form, "raw") == 0 ? "bin" : form);
}

static int check_existing(cli *c, const burin_model *model) {
    burin_result r;
    for (size_t i = 0; c->arguments.output_dir != NULL && !c->arguments.force && burin_result_at(model, i, &r); i++) {
        const size_t n = parts_of(r.form);
        for (size_t k = 0; k < n || k == 0; k++) {
            const char *path = cli_format(c, "%s/%s", c->arguments.output_dir, part_name(c, &r, i, k));
            if (cli_exists(path)) {
                return cli_refuse(c, "%s exists and was kept; say --force to replace it", cli_printable(c, path));
            }
        }
    }
    return 0;
}

/* Output i of all runs, one after the other: a first extent of `runs`, where there is more than one. */
static burin_array all_runs(cli *c, size_t i, size_t n, size_t runs, const burin_array *outputs) {
    burin_array all = outputs[i];
    if (runs > 1) {
        char *data = cli_alloc(c, runs, all.size + 1);
        for (size_t r = 0; r < runs; r++) {
            memcpy(data + r * all.size, outputs[r * n + i].data, all.size);
        }
        all.data = data;
        all.size *= runs;
        all.rank++;
        all.dim[0] = (int64_t)runs;
        memcpy(all.dim + 1, outputs[i].dim, outputs[i].rank * sizeof all.dim[0]);
    }
    return all;
}

static int write_outputs(cli *c, const burin_model *model, size_t runs, const burin_array *outputs) {
    size_t n = burin_output_count(model);
    burin_result r;
    size_t results = 0;
    while (burin_result_at(model, results, &r)) {
        results++;
    }
    burin_file *files = cli_alloc(c, n + results + 1, sizeof *files);
    burin_output output = {.files = files};
    burin_status status = BURIN_OK;
    size_t i = 0;
    for (size_t k = 0; burin_result_at(model, k, &r) && status == BURIN_OK; k++) {
        if (strcmp(r.form, "T") != 0 && strcmp(output_form(c), "pb") == 0) {
            burin_file *file = &files[output.file_count++];
            *file = (burin_file){.name = file_name(c, k)};
            status = burin_list_bytes(c->context, r.form, &outputs[i], &file->bytes, &file->size);
            i += parts_of(r.form);
            continue;
        }
        const size_t parts = parts_of(r.form);
        for (size_t p = 0; p < parts && status == BURIN_OK; p++, i++) {
            burin_file *file = &files[output.file_count++];
            const burin_array all = all_runs(c, i, n, runs, outputs);
            *file = (burin_file){part_name(c, &r, k, p), all.data, all.size};
            if (strcmp(output_form(c), "raw") != 0) {
                status = burin_array_bytes(c->context, &all, output_form(c), burin_output_info(model, i).name,
                                           &file->bytes, &file->size);
            }
        }
    }
    if (status == BURIN_OK) {
        status = burin_output_write(c->context, &output, c->arguments.output_dir, c->arguments.force);
    }
    return cli_report(c, status);
}

static void put_json(const char *what, const burin_model *model, bool in, size_t runs, const burin_array *arrays) {
    size_t n = in ? burin_input_count(model) : burin_output_count(model);
    printf("\"%s\":[", what);
    for (size_t k = 0; k < runs * n; k++) {
        const size_t i = k % n;
        printf("%s\n  {", k != 0 ? "," : "");
        if (runs > 1) {
            printf("\"run\":%zu,", k / n);
        }
        printf("\"name\":");
        cli_json_text(in ? burin_input_info(model, i).name : burin_output_info(model, i).name);
        printf(",\"type\":\"%s\",\"shape\":", arrays[k].type);
        cli_json_shape(&arrays[k]);
        printf(",\"bytes\":%zu,\"fnv1a64\":\"%016" PRIx64 "\"}", arrays[k].size,
               cli_fnv1a64(arrays[k].data, arrays[k].size));
    }
    printf("]");
}

static void print_result(cli *c, const burin_model *model, const char *provider, size_t runs, const burin_array *inputs,
                         const burin_array *outputs) {
    const size_t n = burin_output_count(model);
    if (c->arguments.json) {
        printf("{\"provider\":\"%s\",", provider);
        put_json("inputs", model, true, runs, inputs);
        printf(",\n");
        put_json("outputs", model, false, runs, outputs);
        printf("}\n");
    } else if (!c->arguments.quiet) {
        for (size_t k = 0; k < runs * n; k++) {
            const char *what = runs > 1 ? cli_format(c, "run %zu output", k / n) : "output";
            cli_print_array(c, what, k % n, burin_output_info(model, k % n).name, &outputs[k]);
        }
    }
}

/* Files of several runs have one extent more, and arrays have at most 8. */
static int check_ranks(cli *c, const burin_model *model, size_t runs) {
    for (size_t i = 0; i < burin_output_count(model) && runs > 1 && c->arguments.output_dir != NULL; i++) {
        if (burin_output_info(model, i).rank == 8) {
            return cli_usage(
                c, "--repeat with --output-dir: output %zu has 8 extents, and a file of several runs one more", i);
        }
    }
    return 0;
}

int cli_run(cli *c) {
    const cli_arguments *a = &c->arguments;
    burin_compile_options options = c->arguments.compile;
    const char *provider;
    burin_model *model = NULL;
    burin_contents *contents = NULL;
    size_t content_count = 0;
    int status = cli_check_provider(c, &provider);
    if (status == 0 && a->inputs.n > 0 && a->given.seed) {
        status = cli_usage(c, "--input and --seed: the inputs are either given or made");
    }
    if (status == 0 && a->given.output_format && a->output_dir == NULL) {
        status = cli_usage(c, "--output-format needs --output-dir");
    }
    if (status == 0 && a->force && a->output_dir == NULL) {
        status = cli_usage(c, "--force needs --output-dir: nothing is written without it");
    }
    if (status == 0) {
        status = cli_read_contents(c, &contents, &content_count);
    }
    if (status == 0) {
        status = cli_load_for(c, contents, content_count, &model);
    }
    if (status == 0) {
        status = check_existing(c, model);
    }
    if (status != 0) {
        return status;
    }
    const size_t runs = a->repeat;
    status = check_ranks(c, model, runs);
    if (status != 0) {
        return status;
    }
    burin_array *inputs = cli_arrays(c, runs * burin_input_count(model));
    burin_array *outputs = cli_arrays(c, runs * burin_output_count(model));
    status = cli_get_inputs(c, model, contents, content_count, runs, inputs);
    if (status == 0) {
        cli_progress(c, "running");
        status = cli_report(c, burin_run_many(c->context, model, provider, &options, a->raw, runs, inputs, outputs));
    }
    if (status == 0 && a->output_dir != NULL) {
        status = write_outputs(c, model, runs, outputs);
    }
    if (status == 0) {
        print_result(c, model, provider, runs, inputs, outputs);
    }
    return status;
}
