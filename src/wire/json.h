/* json.h - part of wire's face: a JSON text as a tree, of bounded depth, every value with its line and column.
 *
 * Source: RFC 8259. A text is UTF-8; names of one object are different; a number is kept as it is written. Depth is at most
 * 64, so that neither reading nor walking a tree can run out of stack. The first fault is reported with its place.
 */
#ifndef BURIN_WIRE_JSON_H
#define BURIN_WIRE_JSON_H

#include "base/base.h"

typedef enum wire_json_kind {
    WIRE_JSON_NULL,
    WIRE_JSON_FALSE,
    WIRE_JSON_TRUE,
    WIRE_JSON_NUMBER,
    WIRE_JSON_TEXT,
    WIRE_JSON_LIST,
    WIRE_JSON_OBJECT
} wire_json_kind;

typedef struct wire_json {
    wire_json_kind kind;
    const char *name;               /* in an object; else NULL */
    const char *text;               /* TEXT: decoded, NUMBER: as written; ends with a zero byte, and holds none */
    size_t count;                   /* LIST, OBJECT: of what is in it */
    struct wire_json *first, *next; /* in it; behind it */
    unsigned line, column;
} wire_json;

/* The file's text as a tree, in arena; it borrows nothing. REFUSED with the place. */
base_status wire_json_read(base_arena *arena, const char *file, const char *text, size_t n, const wire_json **out,
                           base_diags *d);
/* The value of that name in an object; NULL: there is none, or it is no object. */
const wire_json *wire_json_find(const wire_json *object, const char *name);
/* A number that is a whole one within 64 bits without sign. */
bool wire_json_uint(const wire_json *value, uint64_t *out);

#endif
