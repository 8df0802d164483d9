/* schema.h - private to formats/tflite: TFLite's tables by the names of schema.def.
 *
 * Gives access to a field by one name: its number, kind and default come from the table, and so does its name in an
 * error's path. All accesses are wire's, verified; outer is the path of the table that holds the field.
 */
#ifndef BURIN_TFLITE_SCHEMA_H
#define BURIN_TFLITE_SCHEMA_H

#include "wire/wire.h"

typedef enum tflite_kind {
    TFLITE_U8, /* also bool */
    TFLITE_I8, /* also enums */
    TFLITE_I32,
    TFLITE_U32,
    TFLITE_U64,
    TFLITE_I64,
    TFLITE_F32,
    TFLITE_TABLE,
    TFLITE_UNION,
    TFLITE_STRING,
    TFLITE_BYTES,
    TFLITE_TABLES,
    TFLITE_U8S, /* as BYTES, but walked: the bytes count as visited */
    TFLITE_U16S,
    TFLITE_I32S,
    TFLITE_I64S,
    TFLITE_F32S
} tflite_kind;

typedef enum tflite_field {
#define FIELD(table, name, number, kind, otherwise) TFLITE_##table##_##name,
#include "formats/tflite/schema.def"
#undef FIELD
    TFLITE_FIELD_COUNT
} tflite_field;

/* union BuiltinOptions, and behind TFLITE_SECOND union BuiltinOptions2: an operator's options stand in one of two fields */

typedef enum tflite_options {
    TFLITE_NONE = 0,
    TFLITE_SECOND = 256,
#define OPTIONS(table, type) TFLITE_##table = type,
#define OPTIONS2(table, type) TFLITE_##table = TFLITE_SECOND + type,
#include "formats/tflite/schema.def"
#undef OPTIONS
#undef OPTIONS2
} tflite_options;

typedef enum tflite_builtin {
#define BUILTIN(name, code) TFLITE_OP_##name = code,
#include "formats/tflite/builtins.def"
#undef BUILTIN
} tflite_builtin;

const char *tflite_field_name(tflite_field f); /* "stride_w" */
tflite_kind tflite_field_kind(tflite_field f);
/* Least and largest value of an integer field. */
void tflite_field_range(tflite_field f, int64_t *lo, int64_t *hi);
enum {
#define TENSOR_TYPE(name, code, base) TFLITE_TYPE_##name = code,
#include "formats/tflite/schema.def"
#undef TENSOR_TYPE
};

const char *tflite_builtin_name(int64_t code);  /* NULL: no such operator in the schema */
const char *tflite_options_name(unsigned type); /* "Conv2DOptions"; NULL: none */
const char *tflite_type_name(int64_t code);     /* "FLOAT32"; NULL: no such type in the schema */
base_type tflite_type_base(int64_t code);       /* BASE_NONE: Burin has none for it */
int64_t tflite_type_code(base_type type);       /* its inverse; -1: the schema has none for it */

/* U8 to I64; a U64 above INT64_MAX is a fault of the file. */
int64_t tflite_int(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f);
float tflite_float(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f);
wire_table tflite_table(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f);
unsigned tflite_union_type(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f);
wire_table tflite_union(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f, unsigned *type);
/* TABLES, U8S, U16S, I32S, I64S, F32S */
wire_vector tflite_list(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f);
/* STRING, BYTES */
base_bytes tflite_bytes(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f);

/* ---- writing: fields of the table that the builder has open; values that are the field's default are left out ---- */
void tflite_put_int(wire_builder *b, tflite_field f, int64_t v); /* in the field's range */
void tflite_put_float(wire_builder *b, tflite_field f, float v);
void tflite_put_ref(wire_builder *b, tflite_field f, wire_ref ref); /* TABLE, STRING, BYTES and lists; 0: left out */
void tflite_put_union(wire_builder *b, tflite_field f, unsigned type, wire_ref ref);

/* Reports a fault of the field's value, at the field if it is there, else at its table. */
base_status tflite_error(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f, const char *format,
                         ...) __attribute__((format(printf, 5, 6)));

#endif
