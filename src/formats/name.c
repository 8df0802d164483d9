/* name.c - what the formats share that knows no list of them: a format links without its siblings. */
#include "formats/formats.h"

#include <string.h>

const char *formats_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
