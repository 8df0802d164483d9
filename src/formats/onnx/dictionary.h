/* dictionary.h - private to formats/onnx: one node of the file, and the dictionary's rows that say it in Burin's words, in
 * both directions.
 */
#ifndef BURIN_ONNX_DICTIONARY_H
#define BURIN_ONNX_DICTIONARY_H

#include "formats/onnx/reader.h"

enum { ONNX_MOST_STEPS = 12, ONNX_ANY = 255 };

typedef struct onnx_op onnx_op;
typedef struct onnx_out onnx_out;
typedef struct onnx_step onnx_step;

/* A kind of step (steps.h declares all). make reads: from the file's node to attributes and inputs of Burin's; NULL:
 * reading needs nothing of it. put writes, its inverse; NULL: it has none yet, and nodes with such a step are refused when
 * they are written. */
typedef struct onnx_step_kind {
    const char *name; /* as in the rows: "AXES_IN" */
    void (*make)(onnx_op *op, const onnx_step *step);
    void (*put)(onnx_out *out, const onnx_step *step);
} onnx_step_kind;

/* The meaning of all but the kind is the kind's own. */
struct onnx_step {
    const onnx_step_kind *kind; /* NULL: no further step */
    const char *name;           /* Burin's attribute */
    const char *attr;           /* ONNX's */
    const char *text;
    double f;
    int a, b;
};

/* What an operator of a domain says from that version on, until the next row of the same name. */
typedef struct onnx_word {
    const char *domain, *op;
    int since;
    const char *word;          /* NULL: it was taken out of the standard then */
    uint8_t needed, most;      /* inputs */
    uint8_t gives, most_given; /* outputs */
    onnx_step steps[ONNX_MOST_STEPS];
} onnx_word;

struct onnx_op {
    onnx_reader *r;
    onnx_scope *scope;
    const wire_path *path;
    uint64_t byte;
    uint32_t id; /* its number in the graph; of what stands in another node's place, that node's */
    const onnx_word *word;
    const char *domain, *type, *name; /* name: "" if none */
    const char *overload;
    int64_t opset; /* of its domain */
    onnx_attrs attrs;
    size_t input_count, output_count; /* without absent ones at the end */
    size_t listed_outputs;            /* with them */
    const char **input_names, **output_names;
    onnx_value *values;         /* inputs */
    uint32_t *inputs, *outputs; /* tensors; IR_NONE: absent, or no tensor */
    /* Of each input whether it has become an attribute; and the inputs that steps have made, behind the others. */
    bool *dropped;
    BASE_VEC(uint32_t) added;
    ir_node *node;
    const char *as; /* the word, where a step chooses another than the row's; NULL */
};

/* ---- the rows ---- */
/* The row of an operator in that version of its domain; NULL: there is none. *newer: there is one, but only of a later version. */
const onnx_word *onnx_word_of(const char *domain, const char *op, int64_t version, bool *newer);
const onnx_word *onnx_word_at(size_t i); /* NULL: there are no more */

/* ---- computed.c ---- */
/* The node's attributes, and the constants that steps made, are the same for all extents that data may decide. before: the
 * operator before its steps. false: noted. */
bool onnx_holds_for_all(onnx_op *op, const onnx_op *before);

/* ---- infer.c ---- */
/* The node's inputs have types and shapes: gives them to its outputs, by its definition; or contents, where they are known.
 * false: a fault, or noted as not supported. */
bool onnx_infer(onnx_op *op);

#endif
