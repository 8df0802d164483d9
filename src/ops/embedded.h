/* embedded.h - the definitions src/ops/NAME.op, embedded at build time (cmake/embed.cmake writes the C file).
 *
 * Gives their texts as they stand in the source tree; parses nothing.
 */
#ifndef BURIN_OPS_EMBEDDED_H
#define BURIN_OPS_EMBEDDED_H

#include <stddef.h>

typedef struct ops_source {
    const char *name; /* the file's name, with .op */
    const char *text; /* NUL-terminated */
    size_t size;      /* bytes of text, without the NUL */
} ops_source;

extern const ops_source ops_sources[]; /* sorted by name */
extern const size_t ops_source_count;

#endif
