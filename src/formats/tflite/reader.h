/* reader.h - private to formats/tflite: what the reader's files share. */
#ifndef BURIN_TFLITE_READER_H
#define BURIN_TFLITE_READER_H

#include "formats/formats.h"
#include "formats/tflite/schema.h"
#include "ops/ops.h"

/* One kind of thing that is not supported, with all its places. */
typedef struct tflite_group {
    const char *what, *remedy;
    char *first_path;
    uint64_t first_byte;
    base_text places; /* "operator[3], operator[7]" */
    size_t count;
} tflite_group;

typedef struct tflite_reader {
    base_arena *arena;
    const char *file;
    base_bytes bytes;
    base_diags *d;
    bool keep_unsupported; /* of formats_options */
    wire_fb fb;
    ir_model *m;
    ir_graph *g;
    wire_vector buffers, codes;
    BASE_VEC(tflite_group) groups;
    base_map *group_of;  /* what -> index in groups */
    uint64_t *bad_shape; /* of each tensor: 0, or the byte of a shape that nothing may use */
    bool *is_variable;   /* of each tensor: the file says that it keeps its contents */
} tflite_reader;

#define TFLITE_REMEDY_OPERATOR "burin operators lists those that are"

/* Notes something valid that is not supported; the model is refused at the end, with everything listed. */
void tflite_unsupported(tflite_reader *r, const wire_path *path, uint64_t byte, const char *what, const char *remedy);

/* Reads all tensors of the sub-graph into r->g. After a fault r->fb has failed. */
void tflite_read_tensors(tflite_reader *r, const wire_path *path, const wire_table *subgraph);
/* Reads all operators into nodes of r->g, by the dictionary. */
void tflite_read_operators(tflite_reader *r, const wire_path *path, const wire_table *subgraph);
/* The contents of a buffer, index in range: at NULL: none. */
base_bytes tflite_read_buffer(tflite_reader *r, uint64_t index);
/* Reads description, signatures and metadata; the sub-graphs have been read. */
void tflite_read_beside(tflite_reader *r, const wire_table *model, const wire_vector *subgraphs);
/* Reads a vector of tensor indices, each checked; may_be_absent: -1 becomes IR_NONE. Returns them in the arena. */
uint32_t *tflite_read_indices(tflite_reader *r, const wire_path *path, const wire_table *t, tflite_field f,
                              bool may_be_absent, size_t *n);

#endif
