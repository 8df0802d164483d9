/* formats.c - which reader a file is for (formats.h). Knows the formats only through their list. */
#include "formats/formats.h"

#include <string.h>

const formats_interface *formats_find(const char *name) {
    for (size_t i = 0; i < formats_count; i++) {
        if (!strcmp(formats_list[i]->name, name)) {
            return formats_list[i];
        }
    }
    return NULL;
}

const formats_interface *formats_recognise(const char *file, base_bytes bytes) {
    for (size_t i = 0; i < formats_count; i++) {
        if (formats_list[i]->recognise(bytes.at, bytes.size)) {
            return formats_list[i];
        }
    }
    const char *dot = strrchr(formats_base_name(file), '.');
    for (size_t i = 0; dot && i < formats_count; i++) {
        for (const char *const *e = formats_list[i]->extensions; *e; e++) {
            if (!strcmp(*e, dot + 1)) {
                return formats_list[i];
            }
        }
    }
    return NULL;
}

static char *list_names(base_arena *arena) {
    base_text out = {.arena = arena};
    for (size_t i = 0; i < formats_count; i++) {
        base_put(&out, "%s%s", i ? ", " : "", formats_list[i]->name);
    }
    return out.at;
}

base_status formats_read(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                         ir_model **out, base_diags *d) {
    base_place place = {.file = file};
    const formats_interface *format = NULL;
    *out = NULL;
    if (options && options->format) {
        format = formats_find(options->format);
        if (!format) {
            base_error(d, NULL, "there is no format \"%s\": there are %s",
                       base_printable(arena, options->format, strlen(options->format), 60), list_names(arena));
            return BASE_USAGE;
        }
    } else {
        format = formats_recognise(file, bytes);
    }
    if (!format) {
        return base_error(d, &place, "its content is of no format that is read (%s)", list_names(arena));
    }
    return format->read(arena, file, bytes, options, out, d);
}
