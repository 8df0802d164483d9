/* writer.h - private to formats/tflite: a file that is being written, between the graph and the bytes.
 *
 * say.c turns the model into these tables, which are TFLite's own: every tensor, operator and buffer with the number it
 * will have. write.c lays them out. What TFLite cannot say is found by the first, so that the second cannot fail but
 * for size.
 */
#ifndef BURIN_TFLITE_WRITER_H
#define BURIN_TFLITE_WRITER_H

#include "formats/tflite/dictionary.h"

typedef struct tflite_file_tensor {
    const char *name;
    int type; /* by the schema */
    ir_shape shape;
    ir_quant quant;
    int64_t block_size; /* of quantisation in blocks; 0: it is not */
    int32_t block_scales;
    uint32_t buffer;
    bool is_variable;
} tflite_file_tensor;

typedef struct tflite_file_op {
    uint32_t code;
    size_t input_count, output_count;
    const int32_t *inputs, *outputs; /* -1: absent */
    size_t intermediate_count;
    int32_t *intermediates;
    base_bytes custom_options;
    tflite_options options;
    const tflite_value *values; /* fields of the options */
    size_t value_count;
} tflite_file_op;

typedef struct tflite_file_graph {
    const char *name;
    BASE_VEC(tflite_file_tensor) tensors;
    BASE_VEC(tflite_file_op) ops;
    size_t input_count, output_count;
    int32_t *inputs, *outputs;
} tflite_file_graph;

typedef struct tflite_file_code {
    int builtin, version;
    const char *custom; /* NULL: none */
} tflite_file_code;

typedef struct tflite_file {
    BASE_VEC(base_bytes) buffers; /* [0] has none */
    BASE_VEC(tflite_file_code) codes;
    BASE_VEC(tflite_file_graph) graphs; /* graph i of the model is sub-graph i, and more may follow */
    uint32_t *metadata;                 /* the buffer of each of the model's */
    uint32_t places;                    /* the buffer of the offline memory allocation; 0: there is none */
} tflite_file;

/* Says places of the tensors that operators compute (places.c). An error where sub-graphs call each other: TFLite Micro takes
 * the places of each from the same list. */
base_status tflite_say_places(base_arena *arena, const ir_model *m, const formats_writing *how, tflite_file *file,
                              base_diags *d);

/* The model's tables; ops: the operators' definitions, NULL: Burin's; what TFLite has no words for is listed, each with its place. */
base_status tflite_say_model(base_arena *arena, const ir_model *m, ops_registry *ops, tflite_file *file, base_diags *d);
/* formats_tflite.memory */
formats_memory tflite_memory(const ir_node *n);
/* formats_tflite.says */
bool tflite_says(base_arena *scratch, ops_registry *ops, const ir_model *m, const ir_graph *g, const ir_node *n);
/* The least version of the operator that knows this use of it. inputs and outputs: tensors as in the file, IR_NONE for
 * absent ones. */
int tflite_version_of(const tflite_out *out, const ir_tensor *const *inputs, size_t input_count);
/* Appends the file. */
base_status tflite_write_file(base_arena *arena, const ir_model *m, const tflite_file *file, base_text *out,
                              base_diags *d);
/* formats_tflite.write */
base_status tflite_write(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                         base_diags *d);

#endif
