/* writer.h - private to formats/onnx: a model that is being written.
 *
 * A node is said in the words of one row; what a row cannot say tries the next, and nothing reaches the file before all
 * steps of a row have been taken.
 */
#ifndef BURIN_ONNX_WRITER_H
#define BURIN_ONNX_WRITER_H

#include "formats/onnx/dictionary.h"

/* An attribute that a step has put. */
typedef struct onnx_put_attr {
    const char *name;
    onnx_attr_type type; /* INT, FLOAT, STRING, INTS, FLOATS, STRINGS */
    int64_t i;
    float f;
    const char *text;
    const int64_t *ints;
    const float *floats;
    const char *const *texts;
    size_t n;
} onnx_put_attr;

/* A constant input that a step has put: it stands at place `at` of ONNX's inputs. */
typedef struct onnx_made {
    size_t at;
    const char *name; /* what it says: "axes" */
    base_type type;
    ir_shape shape;
    const void *data;
} onnx_made;

struct onnx_out {
    base_arena *arena;
    ops_registry *ops; /* for what an attribute is that the node leaves out */
    const ir_model *m;
    const ir_graph *g;
    const ir_node *node;
    const onnx_word *word;
    uint64_t claimed; /* bit i: attribute i of the node is said */
    BASE_VEC(onnx_put_attr) attrs;
    BASE_VEC(onnx_made) made;
    uint64_t absent; /* bit i: ONNX's input i is left out; the node's stand around it */
    size_t said;     /* so many of the node's last inputs are said by attributes, and are none of ONNX's inputs */
    const char *why; /* the row cannot say the node: the reason; NULL: so far it can */
};

/* Says out->node in words of out->word by its steps; false: it cannot, and out->why says why not. */
bool onnx_say(onnx_out *out);

/* ---- for steps ---- */
const ir_tensor *onnx_out_input(onnx_out *out, size_t i);
const ir_tensor *onnx_out_output(onnx_out *out, size_t i);
/* The attribute, or what its definition says of an absent one, which with that is said; NULL: the node has none of this
 * kind, and the row cannot say it. */
const ir_attr *onnx_out_attr(onnx_out *out, const char *name, ir_attr_kind kind);
/* The same where the node may leave it out and its definition says nothing: NULL, and no fault. */
const ir_attr *onnx_out_optional(onnx_out *out, const char *name, ir_attr_kind kind);
/* The row cannot say the node. The first reason stays. */
void onnx_out_cannot(onnx_out *out, const char *format, ...) ONNX_LIKE_PRINTF(2, 3);
void onnx_out_int(onnx_out *out, const char *attr, int64_t v);
void onnx_out_float(onnx_out *out, const char *attr, float v);
void onnx_out_text(onnx_out *out, const char *attr, const char *text);
void onnx_out_ints(onnx_out *out, const char *attr, const int64_t *v, size_t n);
void onnx_out_floats(onnx_out *out, const char *attr, const float *v, size_t n);
void onnx_out_texts(onnx_out *out, const char *attr, const char *const *v, size_t n);
/* A constant input at that place of ONNX's inputs. Data are borrowed. */
void onnx_out_constant(onnx_out *out, size_t at, const char *name, base_type type, const ir_shape *shape,
                       const void *data);
/* The same, a list of i64. */
void onnx_out_list(onnx_out *out, size_t at, const char *name, const int64_t *v, size_t n);

/* formats_onnx.write */
base_status onnx_write(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                       base_diags *d);

#endif
