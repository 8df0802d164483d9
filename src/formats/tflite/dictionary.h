/* dictionary.h - private to formats/tflite: one operator of the file, and the dictionary's rows that say it in Burin's
 * words. */
#ifndef BURIN_TFLITE_DICTIONARY_H
#define BURIN_TFLITE_DICTIONARY_H

#include "formats/tflite/reader.h"

enum { TFLITE_MOST_STEPS = 6, TFLITE_ANY = 255 };

typedef struct tflite_op tflite_op;

/* Makes an attribute of the operator's node; the meaning of the rest of the step is the function's own. */
typedef struct tflite_step {
    void (*make)(tflite_op *op, const struct tflite_step *step);
    const char *name; /* of the attribute, or the words of a refusal */
    int a, b;         /* fields or an input's number */
} tflite_step;

typedef struct tflite_word {
    tflite_builtin builtin;
    const char *word;
    tflite_options options; /* TFLITE_NONE: not read */
    uint8_t needed, most, outputs;
    tflite_step steps[TFLITE_MOST_STEPS];
} tflite_word;

struct tflite_op {
    tflite_reader *r;
    const wire_path *path, *options_path;
    wire_table table, options;
    const tflite_word *word;
    const char *name;                 /* the file's: "CONV_2D" */
    size_t input_count, output_count; /* as in the file, dropped ones too */
    uint32_t *inputs, *outputs;
    uint32_t dropped; /* bit i: input i has become an attribute; only the first 32 can */
    ir_node *node;
};

const tflite_word *tflite_word_of(int64_t builtin); /* NULL: it has no word yet */

#endif
