/* say.h - private to formats/tflite: what the files that turn a model into a file's tables share (say.c, say_states.c).
 */
#ifndef BURIN_TFLITE_SAY_H
#define BURIN_TFLITE_SAY_H

#include "formats/tflite/writer.h"

/* A node of the graph, in the words of a row. */
typedef struct tflite_said {
    tflite_out out;
    bool is_said;         /* an operator is written for it */
    bool copies_variable; /* it is nothing but a READ_VARIABLE or ASSIGN_VARIABLE */
} tflite_said;

typedef struct tflite_speaker {
    base_arena *arena;
    const ir_model *m;
    ops_registry *ops;
    const ir_graph *g;
    tflite_file *file;
    tflite_file_graph *to;
    base_map *buffers;    /* hash of contents -> the first buffer that has it */
    base_map *codes;      /* operator and version -> its code */
    base_map *made;       /* of this graph: a constant's extents and values -> its tensor */
    int32_t *number;      /* of each tensor of g, in the file; -1: it is not there, or (of a variable) not read */
    tflite_said *nodes;   /* of g */
    uint32_t *stands_for; /* of each tensor of g: itself, or the variable tensor whose contents at the end it is */
    const char **shared; /* of each state: the name that handles of its variable share; NULL: it is a variable tensor */
    int32_t *handle;     /* of each state: the tensor of g's handle; -1: g does not touch it */
    base_diags *d;
    base_status status;
} tflite_speaker;

/* Equal contents are one buffer; no contents are buffer 0. */
uint32_t tflite_buffer_of(tflite_speaker *s, const void *data, size_t size);
uint32_t tflite_code_of(tflite_speaker *s, tflite_builtin builtin, const char *custom, int version);
/* A further tensor of the sub-graph, with t's contents; its number. */
int32_t tflite_add_tensor(tflite_speaker *s, const ir_tensor *t);

/* ---- say_states.c ---- */

/* The row of if or while. */
const tflite_word *tflite_control_word_of(const ir_node *n);
/* Decides how each state is said. */
void tflite_say_states(tflite_speaker *s);
/* Does the tensor stand for a state that is a variable behind a handle? */
bool tflite_is_variable(const tflite_speaker *s, const ir_tensor *t);
/* Is the copy one from or to a variable? */
bool tflite_copies_variable(const tflite_speaker *s, const ir_node *n);
/* The operators that a sub-graph begins with: CALL_ONCE in those that are called from outside, and its handles. */
void tflite_say_handles(tflite_speaker *s);
void tflite_say_copy(tflite_speaker *s, const ir_node *n);
/* Before a node that reads variables, the operators that read them; after one that writes them, those that do. outputs:
 * the numbers of what it gives. */
void tflite_read_states(tflite_speaker *s, const ir_node *n);
void tflite_write_states(tflite_speaker *s, const ir_node *n, const int32_t *outputs, size_t count);
/* The sub-graph that CALL_ONCE calls, if there are variables. */
void tflite_say_first_contents(tflite_speaker *s);

#endif
