/* formats.h - face of room `formats`: model files, told apart by their content.
 *
 * Takes bytes. Gives verified graphs. Each format is a folder src/formats/NAME that exports
 * `const formats_interface formats_NAME`; the build lists the folders.
 */
#ifndef BURIN_FORMATS_H
#define BURIN_FORMATS_H

#include "ir/ir.h"

typedef struct formats_options {
    const char *format; /* the format's name; NULL: told by the content */
    /* For looking at a model: operators that are not supported stay in the graph, without attributes, under a name that
     * no operator has ("custom Detect"); what else is not supported is still refused. */
    bool keep_unsupported;
} formats_options;

typedef struct formats_interface {
    const char *name, *description;
    const char *const *extensions;                     /* without the dot; NULL at the end */
    bool (*recognise)(const uint8_t *bytes, size_t n); /* by the first bytes; cheap */
    /* Reads bytes, which the model borrows. file: its name, for messages. Every fault of the input is a diagnostic;
     * operators and types that are not supported are all listed. *out is verified; options may be NULL. */
    base_status (*read)(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                        ir_model **out, base_diags *d);
    /* Appends the file's bytes; NULL: the format is only read. */
    base_status (*write)(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                         base_diags *d);
} formats_interface;

/* generated from the folders, sorted by name */
extern const formats_interface *const formats_list[];
extern const size_t formats_count;
const formats_interface *formats_find(const char *name); /* NULL: none */

/* The format that recognises the bytes, else the one that the file's extension names (so that a broken file is
 * explained by the right reader), else NULL. */
const formats_interface *formats_recognise(const char *file, base_bytes bytes);
/* Reads a file of any format. BASE_USAGE: options name a format that does not exist. */
base_status formats_read(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                         ir_model **out, base_diags *d);

/* The part of a path after the last slash. */
const char *formats_base_name(const char *path);

#endif
