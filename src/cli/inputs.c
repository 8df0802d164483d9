/* inputs.c - what --input says: which file is which input, and what the files tell before the model is loaded.
 *
 * Takes the arguments and a model. Gives an array for each input of each run; made ones where no file is given.
 */
#include <string.h>

#include "cli/cli.h"

/* ---- which file for which input ---- */

/* The input whose name, followed by =, begins word; the longest such name. SIZE_MAX: none. */
static size_t input_named(const burin_model *model, const char *word) {
    size_t best = SIZE_MAX, longest = 0;
    for (size_t i = 0; i < burin_input_count(model); i++) {
        const char *name = burin_input_info(model, i).name;
        size_t n = strlen(name);
        if (strncmp(word, name, n) == 0 && word[n] == '=' && (best == SIZE_MAX || n > longest)) {
            best = i;
            longest = n;
        }
    }
    return best;
}

static int set_named(cli *c, const burin_model *model, size_t i, const char *word, const char **files) {
    const char *name = burin_input_info(model, i).name, *path = word + strlen(name) + 1;
    for (size_t k = 0; k < burin_input_count(model); k++) {
        if (k != i && strcmp(burin_input_info(model, k).name, name) == 0) {
            return cli_usage(c, "--input: more than one input is called \"%s\"; give them in the model's order",
                             cli_printable(c, name));
        }
    }
    if (files[i] != NULL) {
        return cli_usage(c, "--input: \"%s\" is given twice", cli_printable(c, name));
    }
    if (*path == 0) {
        return cli_usage(c, "--input: \"%s\" has no file", cli_printable(c, name));
    }
    files[i] = path;
    return 0;
}

static int unknown_name(cli *c, const burin_model *model, const char *word) {
    size_t n = burin_input_count(model);
    const char **names = cli_alloc(c, n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        names[i] = burin_input_info(model, i).name;
    }
    const char *given = cli_format(c, "%.*s", (int)(strcspn(word, "=") & 0xffff), word),
               *near = cli_nearest(given, names, n);
    return cli_usage(c, "--input: the model has no input \"%s\", and there is no file \"%s\"%s%s%s",
                     cli_printable(c, given), cli_printable(c, word), near == NULL ? "" : "; did you mean \"",
                     near == NULL ? "" : cli_printable(c, near), near == NULL ? "" : "\"?");
}

/* files: one for each input, by name first, the rest in order. */
static int match_files(cli *c, const burin_model *model, const char **files) {
    const cli_list *given = &c->arguments.inputs;
    size_t n = burin_input_count(model), at = 0;
    int status = 0;
    for (size_t i = 0; i < given->n && status == 0; i++) {
        size_t named = input_named(model, given->at[i]);
        if (named != SIZE_MAX) {
            status = set_named(c, model, named, given->at[i], files);
        } else if (strchr(given->at[i], '=') != NULL && !cli_exists(given->at[i])) {
            status = unknown_name(c, model, given->at[i]);
        }
    }
    for (size_t i = 0; i < given->n && status == 0; i++) {
        if (input_named(model, given->at[i]) == SIZE_MAX) {
            while (at < n && files[at] != NULL) {
                at++;
            }
            if (at == n) {
                return cli_usage(c, "--input: the model has %s, given were %zu", cli_count(c, n, "input"), given->n);
            }
            files[at] = given->at[i];
        }
    }
    for (size_t i = 0; i < n && status == 0; i++) {
        if (files[i] == NULL) {
            status = cli_usage(c, "--input: nothing for input %zu \"%s\"", i,
                               cli_printable(c, burin_input_info(model, i).name));
        }
    }
    return status;
}

/* ---- what the inputs hold, before the model is loaded ---- */

/* Where the file's path begins in "NAME=PATH" or "PATH": which it is only the model's names can tell where both are files.
 * NULL: no file, or both. */
static const char *path_in(const char *word) {
    const char *path = NULL;
    for (const char *at = word; at != NULL;) {
        if (cli_exists(at)) {
            if (path != NULL) {
                return NULL;
            }
            path = at;
        }
        at = strchr(at, '=');
        at = at != NULL ? at + 1 : NULL;
    }
    return path;
}

int cli_read_contents(cli *c, burin_contents **contents, size_t *n) {
    const cli_list *given = &c->arguments.inputs;
    burin_contents *list = cli_alloc(c, given->n + 1, sizeof *list);
    bool typed = false;
    *contents = list;
    *n = 0;
    for (size_t i = 0; i < given->n && !c->arguments.given.repeat; i++) {
        const char *word = given->at[i], *path = path_in(word);
        if (path == NULL) {
            return 0;
        }
        list[i].name = path == word ? NULL : cli_format(c, "%.*s", (int)((path - word - 1) & 0xffff), word);
        burin_status status = cli_read_file(c, path, &list[i].array);
        if (status != BURIN_OK) {
            return cli_report(c, status);
        }
        typed = typed || list[i].array.type != NULL;
    }
    *n = typed ? given->n : 0;
    return 0;
}

bool cli_has_list(const burin_contents *contents, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (contents[i].array.type != NULL && strcmp(contents[i].array.type, "list") == 0) {
            return true;
        }
    }
    return false;
}

int cli_get_inputs(cli *c, const burin_model *model, const burin_contents *contents, size_t content_count, size_t runs,
                   burin_array *inputs) {
    const size_t n = burin_input_count(model);
    if (cli_has_list(contents, content_count)) {
        return cli_report(c, burin_contents_inputs(c->context, model, inputs));
    }
    if (c->arguments.inputs.n == 0) {
        return cli_make_inputs(c, model, "", runs, inputs);
    }
    const char **files = cli_alloc(c, n + 1, sizeof *files);
    int status = match_files(c, model, files);
    for (size_t i = 0; i < n && status == 0; i++) {
        burin_tensor_info want = burin_input_info(model, i);
        status = cli_read_runs(c, files[i], &want, runs, n, &inputs[i]);
    }
    return status;
}
