/* writer.h - private to formats/onnx: a model that is being written.
 *
 * A node is said in the words of one row; what a row cannot say tries the next, and nothing reaches the file before all
 * steps of a row have been taken. Words that no row has become several nodes (put_several.c), or a node with graphs
 * (put_control.c).
 */
#ifndef BURIN_ONNX_WRITER_H
#define BURIN_ONNX_WRITER_H

#include "formats/onnx/dictionary.h"

/* An attribute that a step has put. */
typedef struct onnx_put_attr {
    const char *name;
    onnx_attr_type type; /* INT, FLOAT, STRING, TENSOR, INTS, FLOATS, STRINGS, GRAPH */
    int64_t i;
    float f;
    base_bytes text;
    const int64_t *ints;
    const float *floats;
    const base_bytes *texts;
    size_t n;
    const wire_pb_out *graph; /* or a tensor */
} onnx_put_attr;

/* A constant input that a step has put: it stands at place `at` of ONNX's inputs. */
typedef struct onnx_made {
    size_t at;
    const char *name; /* what it says: "axes" */
    base_type type;
    ir_shape shape;
    const void *data;
    bool replaces; /* it stands for the node's next input, which is absent */
} onnx_made;

enum { ONNX_MOST_CAST = 4 };

struct onnx_out {
    base_arena *arena;
    ops_registry *ops; /* for what an attribute is that the node leaves out */
    const ir_model *m;
    const ir_graph *g;
    const ir_node *node;
    const uint32_t *inputs; /* the node's, in ONNX's order, and without those that ONNX's operator has not */
    size_t input_count;
    const onnx_word *word;
    int opset;        /* that is written */
    uint64_t claimed; /* bit i: attribute i of the node is said */
    BASE_VEC(onnx_put_attr) attrs;
    BASE_VEC(onnx_made) made;
    uint64_t absent; /* bit i: ONNX's input i is left out; the node's stand around it */
    /* Of each of the first outputs: the type that ONNX's has, from which a Cast brings it to the node's; BASE_NONE: that. */
    base_type gives[ONNX_MOST_CAST];
    size_t said;     /* so many of the node's last inputs are said by attributes, and are none of ONNX's inputs */
    size_t lists;    /* so many of those behind ONNX's inputs steps have asked for */
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
/* The next of the constants that stand behind ONNX's inputs, which an attribute says; NULL: it is absent, or no constant
 * (a reason). Rows that use it have a fixed number of inputs. */
const ir_tensor *onnx_out_list_input(onnx_out *out);
/* Its numbers, of that type; *n: how many. NULL: as above, or of another type (a reason). */
int64_t *onnx_out_int_list(onnx_out *out, size_t *n);
double *onnx_out_float_list(onnx_out *out, base_type type, size_t *n);
/* The row cannot say the node. The first reason stays. */
void onnx_out_cannot(onnx_out *out, const char *format, ...) ONNX_LIKE_PRINTF(2, 3);
void onnx_out_int(onnx_out *out, const char *attr, int64_t v);
void onnx_out_float(onnx_out *out, const char *attr, float v);
void onnx_out_text(onnx_out *out, const char *attr, const char *text);
void onnx_out_ints(onnx_out *out, const char *attr, const int64_t *v, size_t n);
void onnx_out_floats(onnx_out *out, const char *attr, const float *v, size_t n);
/* A tensor of one extent, from numbers that the type has. */
void onnx_out_tensor(onnx_out *out, const char *attr, base_type type, const double *v, size_t n);
void onnx_out_texts(onnx_out *out, const char *attr, const char *const *v, size_t n);
/* Strings by their numbers. */
void onnx_out_strings(onnx_out *out, const char *attr, const double *numbers, size_t n);
void onnx_out_string(onnx_out *out, const char *attr, uint32_t number);
/* ONNX's output is of that integer type; where the node's is another one, numbers that both have are cast. */
void onnx_out_gives(onnx_out *out, size_t output, base_type type);
/* A constant input at that place of ONNX's inputs. Data are borrowed. */
void onnx_out_constant(onnx_out *out, size_t at, const char *name, base_type type, const ir_shape *shape,
                       const void *data);
/* The same where the node has an absent input. */
void onnx_out_constant_for(onnx_out *out, size_t at, const char *name, base_type type, const ir_shape *shape,
                           const void *data);
/* The same as onnx_out_constant, a list of i64. */
void onnx_out_list(onnx_out *out, size_t at, const char *name, const int64_t *v, size_t n);

/* ---- types.c ---- */
/* Why the operator of ai.onnx does not take or give those types in that version; BASE_NONE: absent, or not known. NULL: it does. */
const char *onnx_types_why(base_arena *arena, const char *op, int opset, const base_type *inputs, size_t input_count,
                           const base_type *outputs, size_t output_count);
/* How many inputs a node of that operator of ai.onnx lists at least, absent ones too: of Loop 2, which may both be absent. */
size_t onnx_least_inputs(const char *op, int opset);

/* ---- put_graph.c ---- */

/* What is the same for all graphs of a model that is written. */
typedef struct onnx_writer {
    base_arena *arena;
    const ir_model *m;
    ops_registry *ops;
    int opset;
    int only_opset;                 /* what the caller wants; 0: any */
    bool newest_ml;                 /* of ai.onnx.ml: the newest version, not the one before TreeEnsemble */
    base_map *names;                /* taken, in all graphs -> type + 1, 0: not known */
    BASE_VEC(const char *) domains; /* in use, beside ai.onnx */
    bool has_places;                /* the file says where values may lie */
    const char *data_name;          /* where larger constants go; NULL: nowhere else */
    BASE_VEC(wire_piece) data;      /* they, and what is between them */
    uint64_t data_size;
    /* Of each state: its input, the output that is its next contents, what the node that is being put makes of it, and
     * the last node that changes it. */
    const char **state_name, **state_next, **state_put;
    const ir_node **last_change;
    struct onnx_lives *lives; /* which nodes use each value (places.c); NULL: nobody asks */
    uint64_t size;            /* nodes so far */
    bool asks;                /* whether it can be said at all: the first fault is the end */
    bool is_ahead; /* a node is of a version that ONNX Runtime does not have, and of the one before it does */
    base_diags *d;
    base_status status;
} onnx_writer;

/* Which version of another domain than ai.onnx is written. */
int onnx_domain_version(const onnx_writer *w, const char *domain);

/* A GraphProto that grows. */
typedef struct onnx_sheet {
    wire_pb_out nodes;
    BASE_VEC(wire_pb_out) constants;
} onnx_sheet;

/* A graph of the model whose nodes go to a sheet; a sheet may take several. */
typedef struct onnx_frame {
    onnx_writer *w;
    onnx_sheet *sheet;
    const ir_graph *g;
    const char **name_of; /* of each tensor; NULL: it has none */
    bool *is_used;        /* of each tensor */
    bool *is_said;        /* of each node whether others say it, or nothing needs it */
    size_t node;          /* that is being put */
} onnx_frame;

onnx_sheet onnx_sheet_new(onnx_writer *w);
/* Nothing has a name yet, every tensor that a node or output has is used. */
onnx_frame onnx_frame_new(onnx_writer *w, onnx_sheet *sheet, const ir_graph *g);
/* Only what these tensors need is used. */
void onnx_frame_need(onnx_frame *f, const uint32_t *tensors, size_t n);
/* Names all that is used and has none: the graph's names, made unique. */
void onnx_frame_name(onnx_frame *f);
/* The same of its inputs and outputs alone. */
void onnx_frame_name_ports(onnx_frame *f);
/* What output k of the node is called: of a state, by a name of its own each time. */
const char *onnx_output_name(const onnx_frame *f, const ir_node *n, size_t k);
/* Tensors that stand for the state are called so from now on. */
void onnx_name_state(onnx_frame *f, uint32_t state, const char *name);
/* The constant of that name. */
void onnx_put_contents(onnx_frame *f, const char *name, base_type type, const ir_shape *shape, const void *data);
/* Puts the constants and nodes that are used into the sheet. What cannot be said is an error of the writer. */
void onnx_frame_put(onnx_frame *f);
/* A name that nothing has; wanted may be "". */
const char *onnx_unique_name(onnx_writer *w, const char *wanted, const char *otherwise);
/* A node. Names "": absent. */
void onnx_put_node(onnx_frame *f, const char *domain, const char *op, const char *const *inputs, size_t input_count,
                   const char *const *outputs, size_t output_count, const onnx_put_attr *attrs, size_t attr_count);
/* A constant; its name. Data are borrowed. */
const char *onnx_put_constant(onnx_frame *f, const char *name, base_type type, const ir_shape *shape, const void *data);
const char *onnx_put_list(onnx_frame *f, const char *name, const int64_t *v, size_t n);
const char *onnx_put_scalar(onnx_frame *f, const char *name, int64_t v);
/* The value's copy under another name. */
void onnx_put_copy(onnx_frame *f, const char *from, const char *to);
/* A ValueInfoProto. */
wire_pb_out onnx_put_value(const onnx_writer *w, const char *name, base_type type, const ir_shape *shape);
/* The sheet's nodes and constants, as a GraphProto without inputs and outputs. */
wire_pb_out onnx_sheet_message(const onnx_sheet *sheet, const char *name);
/* Says of which type the values of that name are. */
void onnx_note_type(onnx_writer *w, const char *name, base_type type);
/* The node cannot be said: an error, with the reason. */
void onnx_frame_cannot(onnx_frame *f, size_t node, const char *why);

/* ---- put_control.c, put_several.c ---- */
/* Puts a node with graphs. */
void onnx_put_if(onnx_frame *f, size_t node);
void onnx_put_while(onnx_frame *f, size_t node);
/* Marks the arguments that the Loop has: not what it says in another way. */
void onnx_while_uses(onnx_frame *f, const ir_node *n);
/* Puts the node as several of ONNX's. false: there is no way to. */
bool onnx_put_several(onnx_frame *f, size_t node);

/* ---- places.c ---- */
typedef struct onnx_lives onnx_lives;
/* Begins to note who uses the values of the model's graph, all of which have names, in nodes that are put into its sheet. */
onnx_lives *onnx_lives_new(const onnx_frame *f);
/* The node that comes next, or one of a graph of its, has those names. */
void onnx_lives_note(onnx_lives *l, const char *const *names, size_t n);
/* That node is put. */
void onnx_lives_next(onnx_lives *l, const onnx_sheet *sheet);
/* All are put; the graph's outputs are there to the end. */
void onnx_lives_end(onnx_lives *l, const onnx_frame *f);
/* Their places, as JSON. file: the model's, for a note of how many bytes they are. */
const char *onnx_lives_places(onnx_lives *l, const char *file, const formats_writing *how, base_diags *d);

/* formats_onnx.says */
bool onnx_says(base_arena *scratch, ops_registry *ops, const ir_model *m, const ir_graph *g, const ir_node *n);
/* formats_onnx.write */
base_status onnx_write(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                       base_diags *d);

#endif
