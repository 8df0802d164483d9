/* ir_text.c - the graph's text form as a file format: reading, and writing for --target ir.
 *
 * The form itself belongs to room `ir` (docs/IR.md); here it is recognised, verified and put into the list of formats.
 */
#include "formats/formats.h"

#include <string.h>

static bool recognise(const uint8_t *bytes, size_t n) {
    enum { MOST_COMMENT = 4096 };
    static const char word[] = "burin";
    size_t at = 0;
    bool comment = false;
    for (; at < n && at < MOST_COMMENT; at++) {
        uint8_t c = bytes[at];
        if (comment || c == '#') {
            comment = c != '\n';
        } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            break;
        }
    }
    size_t end = at + strlen(word);
    return end < n && !memcmp(bytes + at, word, strlen(word)) && (bytes[end] == ' ' || bytes[end] == '\n');
}

static base_status select_signature(base_arena *arena, ir_model *m, const char *name, base_diags *d) {
    const char **names = BASE_NEWS(arena, const char *, m->signatures.n + 1);
    for (size_t i = 0; i < m->signatures.n; i++) {
        names[i] = m->signatures.at[i].name;
        if (!strcmp(names[i], name)) {
            ir_make_entry(m, m->signatures.at[i].graph);
            return BASE_OK;
        }
    }
    formats_no_signature(arena, m->file, name, names, m->signatures.n, d);
    return BASE_USAGE;
}

static base_status read(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                        ir_model **out, base_diags *d) {
    ir_model *m;
    *out = NULL;
    if (options && (options->shapes.shape_count || options->shapes.dim_count || options->shapes.batch)) {
        base_error(d, &(base_place){.file = file},
                   "shape, dim and batch: the text form states every extent itself; change them there");
        return BASE_USAGE;
    }
    if (ir_parse(arena, file, (const char *)bytes.at, bytes.size, &m, d) || ir_verify(m, d)) {
        return BASE_REFUSED;
    }
    if (ir_has_strings(m)) {
        return base_error(d, &(base_place){.file = file},
                          "tensors of type str: the text form has no strings; keep the model in ONNX");
    }
    base_status status = options && options->signature ? select_signature(arena, m, options->signature, d) : BASE_OK;
    if (status == BASE_OK && options) {
        status = formats_set_constants(arena, &m->graphs.at[0], options->constants, options->constant_count, d);
        formats_drop_constants(m, options->constants, options->constant_count);
    }
    *out = m;
    return status;
}

static base_status write(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                         base_diags *d) {
    (void)arena;
    (void)options;
    if (ir_has_strings(m)) {
        return base_error(d, NULL, "the text form has no strings: write ONNX (--target onnx)");
    }
    ir_print(out, m);
    return BASE_OK;
}

static const char *const extensions[] = {"ir", NULL};

const formats_interface formats_ir = {
    .name = "ir",
    .description = "Burin's graph as text",
    .extensions = extensions,
    .recognise = recognise,
    .read = read,
    .write = write,
};
