/* dictionary.h - private to formats/tflite: one operator of the file, and the dictionary's rows that say it in Burin's
 * words, in both directions.
 */
#ifndef BURIN_TFLITE_DICTIONARY_H
#define BURIN_TFLITE_DICTIONARY_H

#include "formats/tflite/reader.h"

enum { TFLITE_MOST_STEPS = 8, TFLITE_ANY = 255 };

typedef struct tflite_op tflite_op;
typedef struct tflite_out tflite_out;
typedef struct tflite_step tflite_step;

/* A kind of step (steps.h declares all). make reads: from the file's operator to attributes of its node; NULL: reading
 * needs nothing of it. put writes, its inverse: from the node to options and constant inputs; NULL: it has none yet, and
 * operators with such a step are refused when they are written. */
typedef struct tflite_step_kind {
    const char *name; /* as in dictionary.def: "AXIS_IN" */
    void (*make)(tflite_op *op, const tflite_step *step);
    void (*put)(tflite_out *out, const tflite_step *step);
} tflite_step_kind;

/* The meaning of all but the kind is the kind's own. */
struct tflite_step {
    const tflite_step_kind *kind; /* NULL: no further step */
    const char *name;             /* of the attribute, or the words of a refusal */
    int a, b, c;                  /* fields or an input's number */
};

typedef struct tflite_word {
    tflite_builtin builtin;
    const char *word;
    tflite_options options; /* TFLITE_NONE: neither read nor written */
    uint8_t needed, most, outputs;
    tflite_step steps[TFLITE_MOST_STEPS];
    const char *custom; /* the custom code, of a row of customs.def; else NULL */
} tflite_word;

/* ---- reading ---- */

struct tflite_op {
    tflite_reader *r;
    const wire_path *path, *options_path;
    wire_table table, options;
    const tflite_word *word;
    const char *name;                 /* the file's: "CONV_2D" */
    size_t input_count, output_count; /* as in the file, dropped ones too */
    uint32_t *inputs, *outputs;
    uint32_t dropped; /* bit i: input i has become an attribute; only the first 32 can */
    size_t mid_count; /* intermediates */
    uint32_t *mids;
    uint32_t added; /* a tensor that a step has made of options, the node's last input; 0: none, or as numbered + 1 */
    ir_node *node;
    bool recorded; /* of the recorded shapes of its inputs and outputs none is known to be wrong or missing */
    bool told;     /* a step has found what OUT_SHAPE or OUT_EXTENTS is about in an input, so options do not count */
    bool infers;   /* the recorded shapes of its outputs may be wrong: attributes follow from its inputs */
};

/* ---- operators.c, shapes.c, computed.c ---- */
/* The operator's node, with attributes by the steps of its row; only inputs that have not become attributes stay. */
void tflite_make_attributes(tflite_op *op, uint32_t id);
/* The node's inputs have their shapes: gives them to its outputs, by its definition. Where op->recorded, the shapes that the
 * file records hold where the definition gives none. */
void tflite_infer(tflite_op *op);
/* In LiteRT's numerics, whose kernels resize their outputs: where the file records another shape than the definition gives, that is
 * inferred, with a warning. */
void tflite_resize(tflite_op *op);
/* Symbols for the extents of the outputs (of those shapes) that the definition counts (bit k of dynamic[i]) or that follow
 * from extents that data decides. false: noted as not supported. */
bool tflite_follow(tflite_op *op, ir_shape *shapes, const uint32_t *dynamic);
/* Has some input an extent that data decides (computed), or that the caller of each run says? */
bool tflite_op_has_symbol(const tflite_op *op, bool computed);

/* ---- writing ---- */

/* A field of the options table that a step has put. */
typedef struct tflite_value {
    tflite_field field;
    int64_t i;           /* integers and bool */
    float f;             /* F32 */
    const int32_t *list; /* I32S: n of them */
    const int64_t *wide; /* I64S */
    const float *floats; /* F32S */
    const char *text;    /* STRING */
    size_t n;
} tflite_value;

/* A constant input that a step has put: it stands at place `at` of TFLite's inputs. */
typedef struct tflite_made {
    size_t at;
    base_type type; /* i32 or i64; the values fit both */
    ir_shape shape;
    const int32_t *values;
    const char *name; /* what it says: "axis" */
} tflite_made;

/* An intermediate: a tensor without elements that says how an operator quantises inside. */
typedef struct tflite_mid {
    base_type type;
    float scale;
    int64_t zero;
} tflite_mid;

/* A node on its way into the words of one row. Nothing reaches the file before all steps have been taken, so that
 * another row can be tried. */
struct tflite_out {
    base_arena *arena;
    ops_registry *ops; /* for what an attribute is that the node leaves out */
    const ir_model *m;
    const ir_graph *g;
    const ir_node *node;
    const tflite_word *word;
    uint64_t claimed; /* bit i: attribute i of the node is said */
    BASE_VEC(tflite_value) values;
    BASE_VEC(tflite_made) made;
    BASE_VEC(tflite_mid) mids; /* the operator's intermediates */
    bool last_said;            /* the node's last input is said by an option, and is none of TFLite's inputs */
    /* The weights that are quantised in blocks, and their scales: tensors of the graph; 0 elements in a block: none. */
    int64_t block_size;
    uint32_t block_weights, block_scales;
    base_bytes custom_options; /* of a custom operator */
    /* The tensor that is complex in the file, pairs of floats here: its number + 1; 0: none. */
    uint32_t complex;
    size_t states;   /* so many of the node's last outputs are states, which TFLite's operator does not list */
    size_t kept;     /* so many of the node's last inputs are states, which TFLite's operator does not list */
    const char *why; /* the row cannot say the node: the reason; NULL: so far it can */
};

/* ---- the rows ---- */

const tflite_word *tflite_word_of(int64_t builtin); /* NULL: it has no word yet */
/* The row of a custom operator: of customs.def, else one that says "custom.NAME" when the caller has defined that; NULL:
 * neither. */
const tflite_word *tflite_custom_word(tflite_reader *r, const char *code);
/* Attributes of the custom operator's node from its options (customs.def says how). */
void tflite_custom_attributes(tflite_op *op);
const tflite_word *tflite_word_at(size_t i); /* row i of dictionary.def, then of customs.def; NULL: there are no more */
/* The row that writes "custom.NAME", made for the node; NULL: its word is none such. */
const tflite_word *tflite_custom_word_of(base_arena *arena, const ir_node *n);
/* "CONV_2D", or the custom operator's code. */
const char *tflite_word_name(const tflite_word *w);
/* Says the attributes that no step has taken in the options of a custom operator (customs.def says how). */
void tflite_custom_options(tflite_out *out);
/* Says out->node in words of out->word by its steps; false: it cannot, and out->why says why not. Every attribute must
 * have been said. */
bool tflite_say(tflite_out *out);

#endif
