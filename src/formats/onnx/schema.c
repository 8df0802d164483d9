/* schema.c - ONNX's element and attribute types by number (schema.h). */
#include "formats/onnx/schema.h"

static const struct {
    const char *name;
    base_type base;
} types[] = {
    {0},
    {"FLOAT", BASE_F32},
    {"UINT8", BASE_U8},
    {"INT8", BASE_I8},
    {"UINT16", BASE_U16},
    {"INT16", BASE_I16},
    {"INT32", BASE_I32},
    {"INT64", BASE_I64},
    {"STRING", BASE_STR},
    {"BOOL", BASE_BOOL},
    {"FLOAT16", BASE_F16},
    {"DOUBLE", BASE_F64},
    {"UINT32", BASE_U32},
    {"UINT64", BASE_U64},
    {"COMPLEX64", BASE_NONE},
    {"COMPLEX128", BASE_NONE},
    {"BFLOAT16", BASE_BF16},
    {"FLOAT8E4M3FN", BASE_F8E4M3FN},
    {"FLOAT8E4M3FNUZ", BASE_F8E4M3FNUZ},
    {"FLOAT8E5M2", BASE_F8E5M2},
    {"FLOAT8E5M2FNUZ", BASE_F8E5M2FNUZ},
    {"UINT4", BASE_U4},
    {"INT4", BASE_I4},
    {"FLOAT4E2M1", BASE_F4E2M1},
    {"FLOAT8E8M0", BASE_F8E8M0},
    {"UINT2", BASE_U2},
    {"INT2", BASE_I2},
};
enum { TYPES = sizeof types / sizeof *types };

base_type onnx_type_base(int64_t code) {
    return code > 0 && code < TYPES ? types[code].base : BASE_NONE;
}

const char *onnx_type_name(int64_t code) {
    return code > 0 && code < TYPES ? types[code].name : NULL;
}

int64_t onnx_type_code(base_type type) {
    int64_t code = 1;
    while (code < TYPES && types[code].base != type) {
        code++;
    }
    return code < TYPES ? code : 0;
}

const char *onnx_attr_type_name(int64_t code) {
    static const char *const names[ONNX_ATTR_TYPES] = {
        NULL,      "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
        "STRINGS", "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
    return code > 0 && code < ONNX_ATTR_TYPES ? names[code] : NULL;
}
