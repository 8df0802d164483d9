/* schema.h - private to formats/onnx: the numbers of onnx.proto's fields, and ONNX's element types.
 *
 * Source: onnx.proto3 of ONNX 1.23 (IR version 14, opset 28); older versions have a part of these fields, under the same
 * numbers.
 */
#ifndef BURIN_ONNX_SCHEMA_H
#define BURIN_ONNX_SCHEMA_H

#include "wire/wire.h"

enum { ONNX_NEWEST_IR = 14, ONNX_NEWEST_OPSET = 28, ONNX_OLDEST_WRITTEN = 13 };

enum { /* ModelProto */
       ONNX_MODEL_IR_VERSION = 1,
       ONNX_MODEL_PRODUCER_NAME = 2,
       ONNX_MODEL_PRODUCER_VERSION = 3,
       ONNX_MODEL_DOMAIN = 4,
       ONNX_MODEL_VERSION = 5,
       ONNX_MODEL_DOC_STRING = 6,
       ONNX_MODEL_GRAPH = 7,
       ONNX_MODEL_OPSET_IMPORT = 8,
       ONNX_MODEL_METADATA = 14,
       ONNX_MODEL_FUNCTIONS = 25
};
enum { ONNX_OPSET_DOMAIN = 1, ONNX_OPSET_VERSION = 2 };
enum { /* GraphProto */
       ONNX_GRAPH_NODE = 1,
       ONNX_GRAPH_NAME = 2,
       ONNX_GRAPH_INITIALIZER = 5,
       ONNX_GRAPH_INPUT = 11,
       ONNX_GRAPH_OUTPUT = 12,
       ONNX_GRAPH_VALUE_INFO = 13,
       ONNX_GRAPH_SPARSE_INITIALIZER = 15
};
enum { /* NodeProto */
       ONNX_NODE_INPUT = 1,
       ONNX_NODE_OUTPUT = 2,
       ONNX_NODE_NAME = 3,
       ONNX_NODE_OP_TYPE = 4,
       ONNX_NODE_ATTRIBUTE = 5,
       ONNX_NODE_DOMAIN = 7,
       ONNX_NODE_OVERLOAD = 8
};
enum { /* AttributeProto */
       ONNX_ATTR_NAME = 1,
       ONNX_ATTR_F = 2,
       ONNX_ATTR_I = 3,
       ONNX_ATTR_S = 4,
       ONNX_ATTR_T = 5,
       ONNX_ATTR_G = 6,
       ONNX_ATTR_FLOATS = 7,
       ONNX_ATTR_INTS = 8,
       ONNX_ATTR_STRINGS = 9,
       ONNX_ATTR_TENSORS = 10,
       ONNX_ATTR_GRAPHS = 11,
       ONNX_ATTR_TP = 14,
       ONNX_ATTR_TYPE = 20,
       ONNX_ATTR_REF = 21,
       ONNX_ATTR_SPARSE_TENSOR = 22
};
/* AttributeProto.AttributeType */
typedef enum onnx_attr_type {
    ONNX_UNDEFINED = 0,
    ONNX_FLOAT = 1,
    ONNX_INT = 2,
    ONNX_STRING = 3,
    ONNX_TENSOR = 4,
    ONNX_GRAPH = 5,
    ONNX_FLOATS = 6,
    ONNX_INTS = 7,
    ONNX_STRINGS = 8,
    ONNX_TENSORS = 9,
    ONNX_GRAPHS = 10,
    ONNX_SPARSE_TENSOR = 11,
    ONNX_SPARSE_TENSORS = 12,
    ONNX_TYPE_PROTO = 13,
    ONNX_TYPE_PROTOS = 14,
    ONNX_ATTR_TYPES
} onnx_attr_type;
enum { /* TensorProto */
       ONNX_TENSOR_DIMS = 1,
       ONNX_TENSOR_DATA_TYPE = 2,
       ONNX_TENSOR_SEGMENT = 3,
       ONNX_TENSOR_FLOAT_DATA = 4,
       ONNX_TENSOR_INT32_DATA = 5,
       ONNX_TENSOR_STRING_DATA = 6,
       ONNX_TENSOR_INT64_DATA = 7,
       ONNX_TENSOR_NAME = 8,
       ONNX_TENSOR_RAW_DATA = 9,
       ONNX_TENSOR_DOUBLE_DATA = 10,
       ONNX_TENSOR_UINT64_DATA = 11,
       ONNX_TENSOR_EXTERNAL_DATA = 13,
       ONNX_TENSOR_DATA_LOCATION = 14
};
enum { ONNX_SPARSE_VALUES = 1, ONNX_SPARSE_INDICES = 2, ONNX_SPARSE_DIMS = 3 };
enum { ONNX_ENTRY_KEY = 1, ONNX_ENTRY_VALUE = 2 }; /* StringStringEntryProto */
enum { ONNX_VALUE_NAME = 1, ONNX_VALUE_TYPE = 2 }; /* ValueInfoProto */
enum {                                             /* TypeProto, and its parts */
       ONNX_TYPE_TENSOR = 1,
       ONNX_TYPE_SEQUENCE = 4,
       ONNX_TYPE_MAP = 5,
       ONNX_TYPE_SPARSE = 8,
       ONNX_TYPE_OPTIONAL = 9,
       ONNX_TENSOR_TYPE_ELEM = 1,
       ONNX_TENSOR_TYPE_SHAPE = 2,
       ONNX_SEQUENCE_ELEM = 1,
       ONNX_SHAPE_DIM = 1,
       ONNX_DIM_VALUE = 1,
       ONNX_DIM_PARAM = 2
};
enum { /* FunctionProto */
       ONNX_FUNCTION_NAME = 1,
       ONNX_FUNCTION_INPUT = 4,
       ONNX_FUNCTION_OUTPUT = 5,
       ONNX_FUNCTION_ATTRIBUTE = 6,
       ONNX_FUNCTION_NODE = 7,
       ONNX_FUNCTION_OPSET_IMPORT = 9,
       ONNX_FUNCTION_DOMAIN = 10,
       ONNX_FUNCTION_ATTRIBUTE_PROTO = 11,
       ONNX_FUNCTION_OVERLOAD = 13
};

/* TensorProto.DataType: what Burin calls it; BASE_NONE: it has none, or the number is no type. */
base_type onnx_type_base(int64_t code);
const char *onnx_type_name(int64_t code);      /* "FLOAT"; NULL: no such type */
int64_t onnx_type_code(base_type type);        /* the inverse of onnx_type_base */
const char *onnx_attr_type_name(int64_t code); /* "INTS"; NULL: no such type */

#endif
