/* depends.c - a build's rule: what was written depends on what was read (-MD, -MF FILE).
 *
 * Takes an output and its path. Gives a rule for make and ninja, and, as C compilers' -MP, one without a recipe for each file that was
 * read, so that a build does not stop where one is gone.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* As make reads names: blanks and # behind a backslash, $ twice. NULL: there is no way to write it. */
static const char *in_rule(cli *c, const char *name) {
    char *out = cli_alloc(c, 2 * strlen(name) + 1, 1), *to = out;
    for (const char *at = name; *at != 0; at++) {
        if (*at == '\n' || *at == '\r') {
            return NULL;
        }
        if (*at == ' ' || *at == '\t' || *at == '#' || *at == '$' || *at == ':') {
            *to++ = *at == '$' ? '$' : '\\';
        }
        *to++ = *at;
    }
    *to = 0;
    return out;
}

typedef struct text {
    char *at;
    size_t n, room;
} text;

static void put(cli *c, text *t, const char *s) {
    const size_t n = strlen(s);
    if (t->n + n + 1 > t->room) {
        char *more = cli_alloc(c, 2 * (t->n + n + 1), 1);
        if (t->n > 0) {
            memcpy(more, t->at, t->n);
        }
        t->at = more;
        t->room = 2 * (t->n + n + 1);
    }
    memcpy(t->at + t->n, s, n + 1);
    t->n += n;
}

/* Puts the name with `before` before it. */
static int put_name(cli *c, text *t, const char *before, const char *name) {
    const char *written = in_rule(c, name);
    if (written == NULL) {
        return cli_refuse(c, "-MD: %s: a rule can have no name with a line's end in it", cli_printable(c, name));
    }
    put(c, t, before);
    put(c, t, written);
    return 0;
}

static int put_outputs(cli *c, text *t, const burin_output *output, const char *path) {
    const char *slash = strrchr(path, '/');
    int result = output->single ? put_name(c, t, "", path) : 0;
    for (size_t i = output->single ? 1 : 0; i < output->file_count && result == 0; i++) {
        const char *name = output->files[i].name;
        const char *whole = !output->single ? cli_format(c, "%s/%s", path, name)
                            : slash != NULL ? cli_format(c, "%.*s/%s", (int)((slash - path) & 0xffff), path, name)
                                            : name;
        result = put_name(c, t, i == 0 ? "" : " ", whole);
    }
    put(c, t, ":");
    return result;
}

int cli_rule(cli *c, const burin_output *output, const char *path, const char **rule) {
    const char *const *read = NULL;
    size_t n = 0;
    text t = {0};
    int result = cli_report(c, burin_files_read(c->context, &read, &n));
    result = result != 0 ? result : put_outputs(c, &t, output, path);
    for (size_t i = 0; i < n && result == 0; i++) {
        result = put_name(c, &t, " \\\n  ", read[i]);
    }
    put(c, &t, "\n");
    for (size_t i = 0; i < n && result == 0; i++) {
        result = put_name(c, &t, "\n", read[i]);
        put(c, &t, ":\n");
    }
    *rule = t.at;
    return result;
}
