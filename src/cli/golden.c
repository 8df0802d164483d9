/* golden.c - burin verify MODEL FOLDER: a model's outputs against golden data.
 *
 * Takes a model and a folder: input_N and output_N as .npy, .pb or .bin (raw little-endian), and perhaps io.txt, whose lines
 * "input 0 INT8 [1,49,10,1] ..." must then agree with the model. Gives a verdict for each output; status 3 when one
 * differs. Inputs that are missing are made by the documented generator: all of them, and those that are there must be
 * the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* ---- io.txt ---- */

static const char *type_of(const char *tflite) {
#define TYPE(name, word, bytes)                                                                                        \
    if (strcmp(tflite, word) == 0) {                                                                                   \
        return name;                                                                                                   \
    }
#include "cli/types.def"
#undef TYPE
    return NULL;
}

static bool parse_shape(const char *text, burin_array *a) {
    if (*text++ != '[') {
        return false;
    }
    while (*text >= '0' && *text <= '9' && a->rank < 8) {
        char *end = NULL;
        errno = 0;
        a->dim[a->rank++] = strtoll(text, &end, 10);
        if (errno != 0) {
            return false;
        }
        text = *end == ',' ? end + 1 : end;
    }
    return strcmp(text, "]") == 0;
}

/* One line that begins with "input" or "output": number, type, shape. */
static int check_line(cli *c, const burin_model *model, const char *path, unsigned line, char *words[4], size_t *next) {
    bool in = strcmp(words[0], "input") == 0;
    size_t i = next[in]++, n = in ? burin_input_count(model) : burin_output_count(model);
    burin_array said = {0}, is = {0};
    const char *type = words[2] == NULL ? NULL : type_of(words[2]);
    if (type == NULL || words[3] == NULL || !parse_shape(words[3], &said) ||
        strcmp(words[1], cli_format(c, "%zu", i)) != 0) {
        return cli_refuse(c, "%s:%u: it must say: %s %zu TYPE [EXTENTS]", cli_printable(c, path), line, words[0], i);
    }
    if (i >= n) {
        return cli_refuse(c, "%s:%u: the model has %s", cli_printable(c, path), line, cli_count(c, n, words[0]));
    }
    burin_tensor_info info = in ? burin_input_info(model, i) : burin_output_info(model, i);
    is.rank = info.rank;
    memcpy(is.dim, info.dim, sizeof is.dim);
    if (strcmp(info.type, type) != 0 || (!cli_is_within(&info, &said) && !cli_same_shape(&said, &is))) {
        return cli_refuse(c, "%s:%u: %s %zu is %s%s, in the model it is %s%s", cli_printable(c, path), line, words[0],
                          i, type, cli_shape_text(c, &said), info.type, cli_shape_text(c, &is));
    }
    return 0;
}

static int check_io(cli *c, const burin_model *model, const char *folder) {
    const char *path = cli_format(c, "%s/io.txt", folder);
    const void *bytes = NULL;
    size_t size = 0, next[2] = {0, 0};
    if (!cli_exists(path)) {
        return 0;
    }
    int status = cli_report(c, burin_file_bytes(c->context, path, &bytes, &size));
    if (status != 0) {
        return status;
    }
    char *text = cli_alloc(c, size + 1, 1);
    if (size > 0) {
        memcpy(text, bytes, size);
    }
    unsigned number = 0;
    for (char *line = text, *end; line != NULL && status == 0; line = end) {
        char *words[4] = {NULL}, *at = line;
        end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = 0;
        }
        number++;
        for (size_t k = 0; k < 4 && *(at += strspn(at, " \t\r")) != 0; k++) {
            words[k] = at;
            at += strcspn(at, " \t\r");
            if (*at != 0) {
                *at++ = 0;
            }
        }
        if (words[0] != NULL && (strcmp(words[0], "input") == 0 || strcmp(words[0], "output") == 0)) {
            status = words[1] == NULL
                         ? cli_refuse(c, "%s:%u: nothing follows %s", cli_printable(c, path), number, words[0])
                         : check_line(c, model, path, number, words, next);
        }
    }
    if (status == 0 && (next[1] != burin_input_count(model) || next[0] != burin_output_count(model))) {
        status = cli_refuse(c, "%s: %s and %s; the model has %zu and %zu", cli_printable(c, path),
                            cli_count(c, next[1], "input"), cli_count(c, next[0], "output"), burin_input_count(model),
                            burin_output_count(model));
    }
    return status;
}

/* ---- arrays ---- */

/* The file of input or output i, NULL: no form is there. */
static const char *find(cli *c, const char *folder, const char *what, size_t i) {
    static const char *const forms[] = {"npy", "bin", "pb"};
    for (size_t k = 0; k < 3; k++) {
        const char *path = cli_format(c, "%s/%s_%zu.%s", folder, what, i, forms[k]);
        if (cli_exists(path)) {
            return path;
        }
    }
    return NULL;
}

static int get_inputs(cli *c, const burin_model *model, const char *folder, burin_array *inputs) {
    size_t n = burin_input_count(model), missing = n;
    for (size_t i = n; i-- > 0;) {
        missing = find(c, folder, "input", i) == NULL ? i : missing;
    }
    if (missing == n && c->arguments.given.seed && n > 0) {
        return cli_usage(c, "--seed: %s has all the inputs", cli_printable(c, folder));
    }
    int status =
        missing == n ? 0 : cli_make_inputs(c, model, cli_format(c, "there is no input_%zu: ", missing), 1, inputs);
    for (size_t i = 0; i < n && status == 0; i++) {
        burin_tensor_info want = burin_input_info(model, i);
        burin_array made = inputs[i];
        const char *path = find(c, folder, "input", i);
        status = path == NULL ? 0 : cli_read_array(c, path, &want, &inputs[i]);
        if (path != NULL && status == 0 && missing < n && memcmp(made.data, inputs[i].data, made.size) != 0) {
            status =
                cli_refuse(c, "%s is not what the generator makes, so that input_%zu, which is missing, cannot be made",
                           cli_printable(c, path), missing);
        }
    }
    return status;
}

static int get_golden(cli *c, const burin_model *model, const char *folder, burin_array *golden) {
    int status = 0;
    size_t n = burin_output_count(model);
    for (size_t i = 0; i < n && status == 0; i++) {
        burin_tensor_info want = burin_output_info(model, i);
        const char *path = find(c, folder, "output", i);
        status = path == NULL ? cli_refuse(c, "%s: there is neither output_%zu.npy nor output_%zu.bin",
                                           cli_printable(c, folder), i, i)
                              : cli_read_array(c, path, &want, &golden[i]);
    }
    if (status == 0 && find(c, folder, "output", n) != NULL) {
        status = cli_refuse(c, "%s: there is an output_%zu, but the model has %s", cli_printable(c, folder), n,
                            cli_count(c, n, "output"));
    }
    return status;
}

/* ---- verdicts ---- */

static int compare(cli *c, const burin_model *model, const burin_tolerances *tolerances, const burin_array *outputs,
                   const burin_array *golden) {
    const cli_arguments *a = &c->arguments;
    int worst = 0;
    if (a->json) {
        printf("[");
    }
    for (size_t i = 0; i < burin_output_count(model); i++) {
        burin_comparison f = {.name = burin_output_info(model, i).name, .number = i, .array = outputs[i]};
        const int status = cli_report(c, burin_measure(c->context, cli_format(c, "output %zu", i), &outputs[i],
                                                       &golden[i], tolerances, &f.difference));
        worst = status > worst ? status : worst;
        if (a->json) {
            printf("%s", i != 0 ? ",\n " : "");
            cli_json_verdict("output", &f, status != 0, 1);
        } else if (!a->quiet) {
            cli_print_verdict(c, cli_format(c, "output %zu", i), &f, status != 0);
        }
    }
    if (a->json) {
        printf("]\n");
    }
    return worst;
}

/* What is of two models only. */
static int check_options(cli *c) {
    const cli_arguments *a = &c->arguments;
    const char *option = a->inputs.n > 0 ? "input" : a->given.repeat ? "repeat" : a->layers ? "layers" : NULL;
    return option == NULL ? 0
                          : cli_usage(c, "--%s: %s is a folder of golden data, which has its own inputs and outputs",
                                      option, cli_printable(c, a->operands.at[1]));
}

/* The inputs that are there, for the reader of the model; none where --constant takes some of them away. */
static int read_contents(cli *c, const char *folder, burin_contents **contents, size_t *n) {
    int status = 0;
    bool typed = false;
    size_t count = 0;
    while (c->arguments.constants.n == 0 && find(c, folder, "input", count) != NULL) {
        count++;
    }
    *contents = cli_alloc(c, count + 1, sizeof **contents);
    for (size_t i = 0; i < count && status == 0; i++) {
        burin_array *a = &(*contents)[i].array;
        status = cli_report(c, cli_read_file(c, find(c, folder, "input", i), a));
        typed = typed || a->type != NULL;
    }
    *n = typed ? count : 0;
    return status;
}

int cli_verify_golden(cli *c, const char *folder) {
    const char *provider;
    burin_compile_options options = c->arguments.compile;
    burin_contents *contents = NULL;
    size_t content_count = 0;
    burin_tolerances tolerances;
    burin_model *model = NULL;
    int status = check_options(c);
    if (status == 0) {
        status = cli_check_provider(c, &provider);
    }
    if (status == 0) {
        status = read_contents(c, folder, &contents, &content_count);
    }
    if (status == 0) {
        status = cli_load_for(c, contents, content_count, &model);
    }
    if (status == 0) {
        status = cli_tolerances(c, model, &tolerances);
    }
    if (status == 0) {
        status = check_io(c, model, folder);
    }
    if (status != 0) {
        return status;
    }
    burin_array *inputs = cli_arrays(c, burin_input_count(model)), *outputs = cli_arrays(c, burin_output_count(model));
    burin_array *golden = cli_arrays(c, burin_output_count(model));
    status = get_golden(c, model, folder, golden);
    if (status == 0) {
        status = get_inputs(c, model, folder, inputs);
    }
    if (status == 0) {
        cli_progress(c, "running");
        status = cli_report(c, burin_run(c->context, model, provider, &options, false, inputs, outputs));
    }
    return status != 0 ? status : compare(c, model, &tolerances, outputs, golden);
}
