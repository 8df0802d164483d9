/* name.c - what the formats share that knows no list of them: a format links without its siblings. */
#include "formats/formats.h"

#include <string.h>

const char *formats_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *formats_folder(base_arena *arena, const char *path) {
    const char *name = formats_base_name(path);
    return name == path ? "." : base_strndup(arena, path, (size_t)(name - path));
}

void formats_no_signature(base_arena *arena, const char *file, const char *wanted, const char *const *names, size_t n,
                          base_diags *d) {
    base_text list = {.arena = arena};
    base_place place = {.file = file};
    const char *near = base_nearest(wanted, names, n);
    for (size_t i = 0; i < n; i++) {
        base_put(&list, "%s\"%s\"", i ? ", " : "", base_printable(arena, names[i], strlen(names[i]), 60));
    }
    base_error(d, &place, "signature: there is no \"%s\"; %s%s%s%s%s",
               base_printable(arena, wanted, strlen(wanted), 60), n ? "the model has " : "the model has no signatures",
               n ? list.at : "", near ? "; did you mean \"" : "",
               near ? base_printable(arena, near, strlen(near), 60) : "", near ? "\"?" : "");
}
