/* reader.h - private to formats/tflite: what the reader's files share. */
#ifndef BURIN_TFLITE_READER_H
#define BURIN_TFLITE_READER_H

#include "formats/formats.h"
#include "formats/tflite/schema.h"
#include "ops/ops.h"

/* The metadata that TFLite Micro takes places of tensors from: version 1, sub-graph, count, and of each tensor the offset, -1 for
 * none. They hold for one file, and are none of a model that was read. */
#define TFLITE_PLACES "OfflineMemoryAllocation"

/* How a tensor is quantised in blocks of its last extent. */
typedef struct tflite_blocks {
    int64_t size;           /* 0: it is not */
    uint32_t scales, zeros; /* tensors; IR_NONE: all 0 */
} tflite_blocks;

/* What a VAR_HANDLE names. */
typedef struct tflite_variable {
    const char *name;
    uint32_t state;         /* IR_NONE: nothing has used it yet, and its type is not known */
    uint32_t graph, tensor; /* the last tensor that stands for the state */
    bool touched;           /* by an operator that is not CALL_ONCE's */
} tflite_variable;

/* What a call hands to a sub-graph. */
typedef struct tflite_argument {
    uint32_t tensor;   /* of the caller */
    uint32_t variable; /* that the tensor is the handle of; IR_NONE: none */
    bool constant;     /* its contents are the sub-graph's constant */
    ir_tensor known;   /* the tensor */
} tflite_argument;

/* One reading of a sub-graph: the entry's, or one for each operator that calls it, with what is known of its arguments.
 * Arguments that are handles or constants are no inputs of the graph that is read. */
typedef struct tflite_call {
    const struct tflite_call *outer; /* NULL: the entry */
    uint32_t subgraph;
    bool conditional; /* it may not be done at all */
    bool once;        /* it is done before the first run */
    size_t count;
    const tflite_argument *arguments;
    const bool *drop; /* of each output: it is not wanted; NULL: all are */
    /* set: */
    uint32_t graph; /* of the model */
    size_t output_count;
    ir_tensor *outputs;        /* all of them, dropped ones too */
    uint32_t *output_tensor;   /* their numbers in the graph */
    uint32_t *output_variable; /* IR_NONE: no handle; handles are dropped */
} tflite_call;

/* A sub-graph that is called from outside, and the graph that was read from it. Of each tensor, once a signature is read:
 * which of the sub-graph's inputs and outputs it is first, and which of the graph's outputs; IR_NONE: none. */
typedef struct tflite_entry {
    uint32_t subgraph, graph;
    uint32_t *input, *output, *kept;
} tflite_entry;

/* What is settled once the whole sub-graph is read: an operator that cannot be computed as the file says, which is a fault
 * if anything depends on it; or (without a message) one whose output does not depend on its first input. */
typedef struct tflite_doubt {
    struct tflite_doubt *next;
    uint32_t output; /* the operator's first, a tensor of the graph */
    int64_t index;   /* of the operator in the file */
    const char *name, *message;
    uint64_t byte;
} tflite_doubt;

typedef struct tflite_reader {
    base_arena *arena;
    const char *file;
    base_bytes bytes;
    base_diags *d;
    bool keep_unsupported; /* of formats_options */
    formats_shapes shapes; /* of formats_options */
    bool litert;           /* of formats_options: LiteRT's numerics */
    bool usage;            /* they do not fit the model */
    wire_fb fb;
    ir_model *m;
    BASE_VEC(tflite_entry) entries;
    ir_graph *g;
    wire_vector buffers, codes, subgraphs;
    const tflite_call *call; /* the sub-graph that is being read */
    size_t depth;            /* of calls */
    uint64_t size;           /* tensors and operators of all calls so far */
    uint64_t visited;        /* bytes that calls have visited; each may visit the whole file */
    uint64_t budget;         /* so many bytes a reading may visit */
    BASE_VEC(tflite_variable) variables;
    base_map *variable_of; /* what names it -> index in variables, or (of a variable tensor) in the model's states */
    bool *initialised;     /* of each sub-graph: CALL_ONCE has done it */
    bool every_signature;  /* of formats_options */
    const char *signature; /* of formats_options */
    int64_t asked;         /* its number and table, once they are found */
    wire_table asked_table;
    const char *const *outputs;
    size_t output_count;
    bool cut; /* the outputs are tensors that formats_options names, and not the file's */
    const formats_constant *constants;
    size_t constant_count;
    formats_notes *notes; /* what is not supported */
    uint64_t *bad_shape; /* of each tensor: 0, or the byte of a shape with an extent below 0 that is not inferred yet */
    ops_registry *ops;   /* of formats_options; tflite_definitions gives one in any case */
    /* of each tensor of the file; steps may add others behind them: */
    size_t tensor_count;
    uint32_t *open;  /* bit k: the file leaves extent k open, what it records is one possible */
    bool *unsettled; /* what the file records may be a placeholder */
    bool *changed;   /* its shape is not the recorded one */
    tflite_blocks *blocks;
    uint64_t filled;        /* bytes of first contents that stand in no buffer */
    ir_quant *real_quant;   /* of each f32 tensor for which the file has a scale */
    bool *derived;          /* its contents were computed here, from shapes */
    ops_element **elements; /* what is known of its elements where extents are open, all of it; NULL: nothing */
    bool *is_variable;      /* the file says that it keeps its contents */
    bool *is_complex;       /* its type is COMPLEX64: pairs of floats in a last extent that the file does not state */
    uint64_t dense;         /* bytes of sparse tensors that were made dense */
    bool *is_resource;      /* its type is RESOURCE */
    uint32_t *handle;       /* the variable that it is the handle of; IR_NONE: none */
    tflite_doubt *doubts;   /* about operators of this sub-graph */
} tflite_reader;

#define TFLITE_REMEDY_OPERATOR "burin operators lists those that are"
#define TFLITE_REMEDY_OPEN "give the extent a number: --dim NAME.AXIS=N"
#define TFLITE_REMEDY_CUSTOM "give it a meaning with --ops FILE.op, or express it with builtin operators"

/* Notes something valid that is not supported; the model is refused at the end, with everything listed. */
void tflite_unsupported(tflite_reader *r, const wire_path *path, uint64_t byte, const char *what, const char *remedy);

/* Reads all tensors of the sub-graph into r->g. After a fault r->fb has failed. */
void tflite_read_tensors(tflite_reader *r, const wire_path *path, const wire_table *subgraph);
/* Reads all operators into nodes of r->g, by the dictionary. */
void tflite_read_operators(tflite_reader *r, const wire_path *path, const wire_table *subgraph);
/* The dense contents of a sparse constant, in the arena, from the values that are stored. NULL: refused, or a fault. */
const void *tflite_read_sparse(tflite_reader *r, const wire_path *tensor_path, const wire_table *tensor,
                               const ir_tensor *t, base_bytes values);
/* The contents of a constant that is packed, by the details of its quantisation. NULL: refused, or a fault. */
const void *tflite_read_packed(tflite_reader *r, const wire_path *tensor_path, const wire_table *tensor,
                               const ir_tensor *t, base_bytes details, base_bytes stored);
/* The contents of a buffer, index in range: at NULL: none. */
bool tflite_in_range(base_type type, int64_t v); /* of an integer type */
/* Is it a constant of integers of which each is v? */
bool tflite_is_constant(const ir_tensor *t, int64_t v);
base_bytes tflite_read_buffer(tflite_reader *r, uint64_t index);
/* Reads the sub-graphs that signatures name and that have not been read as entries. */
void tflite_read_entries(tflite_reader *r, const wire_table *model);
/* Reads description, signatures and metadata; the sub-graphs have been read. */
void tflite_read_beside(tflite_reader *r, const wire_table *model, const wire_vector *subgraphs);
/* The sub-graph of the signature that is wanted; a fault: there is none of that name. */
uint32_t tflite_subgraph_of(tflite_reader *r, const wire_table *model);
/* Gives the inputs and outputs of r->g, an entry's, the names that the signature in demand has for them; outputs that it
 * has not are left out where no others were asked for. */
void tflite_take_ports(tflite_reader *r);
/* ---- tflite.c ---- */
/* Reads a sub-graph as a graph of its own, for the call; r goes on with the graph that it was at. */
void tflite_read_subgraph(tflite_reader *r, tflite_call *call);

/* ---- variables.c ---- */
/* Variable tensors become states. */
void tflite_make_states(tflite_reader *r);
/* The tensor of the graph that stands for the variable's state, whose type and shape are those of tensor `like`; IR_NONE:
 * they are not, and that was noted. */
uint32_t tflite_state_tensor(tflite_reader *r, const wire_path *path, const wire_table *op, uint32_t variable,
                             uint32_t like);

/* ---- shapes.c ---- */
/* Gives the entry sub-graph's inputs the extents that the caller says, notes those that stay open, and refuses those that
 * have none. */
void tflite_set_inputs(tflite_reader *r, const wire_path *path);
/* Must the shapes of the operator's outputs be inferred, since what the file records is not theirs? */
bool tflite_is_open(const tflite_reader *r, const uint32_t *inputs, size_t input_count, const uint32_t *outputs,
                    size_t output_count);
/* An operator's outputs become constants, and its node vanishes, where they are integers that follow from shapes. */
void tflite_fold(tflite_reader *r);
/* What is known of the last node's outputs, small integers, where a part of them are extents that each run says. What is
 * the same in every run becomes a constant, and the node vanishes. */
void tflite_follow_elements(tflite_reader *r);
/* The operators' definitions: the caller's, or Burin's. */
ops_registry *tflite_definitions(tflite_reader *r);
/* Sets the shape of a tensor that an operator gives. */
void tflite_set_shape(tflite_reader *r, uint32_t tensor, const ir_shape *shape);
/* false, and refused: the tensor's shape is not known. */
bool tflite_is_settled(tflite_reader *r, const wire_path *path, uint32_t tensor);

/* Reads a vector of tensor indices, each checked; may_be_absent: -1 becomes IR_NONE. Returns them in the arena. */
uint32_t *tflite_read_indices(tflite_reader *r, const wire_path *path, const wire_table *t, tflite_field f,
                              bool may_be_absent, size_t *n);

#endif
