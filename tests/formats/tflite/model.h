/* model.h - TFLite models for tests, laid out byte by byte from a description; numbers are the schema's. */
#ifndef BURIN_TESTS_TFLITE_MODEL_H
#define BURIN_TESTS_TFLITE_MODEL_H

#include "support/flatbuild.h"

#include <stdbool.h>

enum { MODEL_MOST = 48 };

/* A level of a sparse tensor. type: of both vectors: 0 none, 1 i32, 2 u16, 3 u8. */
typedef struct model_level {
    int format, size, type, segment_count, index_count;
    int32_t segments[8], indices[8];
} model_level;

typedef struct model_sparse {
    int order_count, block_count, level_count;
    int32_t order[8], blocks[8];
    model_level levels[8];
} model_sparse;

/* Types by the schema: 0 f32, 1 f16, 2 i32, 3 u8, 4 i64, 5 string, 6 bool, 7 i16, 9 i8, 17 i4. */
typedef struct model_tensor {
    int type, rank;
    int32_t dims[10];
    const char *name;
    const void *data; /* its buffer's contents, bytes of them; NULL: buffer 0, which is empty */
    size_t bytes;
    int scales, zeros; /* counts; 0 scales: no quantisation table */
    float scale[8];
    int64_t zero[8];
    int axis;
    bool variable;
    int32_t blocks[3];          /* scales, zero points, size; size 0: not quantised in blocks */
    const model_sparse *sparse; /* NULL: dense */
    const uint8_t *custom;      /* details of its quantisation, of a custom kind; custom_bytes of them; NULL: none */
    size_t custom_bytes;
} model_tensor;

typedef struct model_op {
    int code;           /* builtin operator; 32: custom */
    const char *custom; /* its name */
    int input_count, output_count;
    int32_t inputs[40], outputs[4];
    int options;        /* union type; 0: none */
    const char *widths; /* the options table's fields (flat_table) */
    int64_t values[8];  /* their values; floats as bits */
} model_op;

typedef struct model_spec {
    int tensor_count, op_count, input_count, output_count;
    model_tensor tensors[MODEL_MOST];
    model_op ops[MODEL_MOST];
    int32_t inputs[4], outputs[4];
} model_spec;

/* Where everything stands: bytes of tables, and of vectors' lengths. */
typedef struct model_places {
    size_t root, codes, subgraphs, buffers, subgraph, tensors, operators;
    size_t tensor[MODEL_MOST], shape[MODEL_MOST], quantization[MODEL_MOST], scale[MODEL_MOST], zero[MODEL_MOST];
    size_t blocks[MODEL_MOST];
    size_t op[MODEL_MOST], op_inputs[MODEL_MOST], op_outputs[MODEL_MOST], options[MODEL_MOST], code[MODEL_MOST];
    size_t buffer[MODEL_MOST + 1];
} model_places;

void model_build(flat *f, const model_spec *spec, model_places *at);

#endif
