/* ir.h - face of room `ir`: the named graph.
 *
 * Takes base. Gives models as graphs of named operators over typed, shaped, quantised tensors; the verifier; the
 * text form, printed and parsed. Knows no operator's meaning and no file format.
 * Everything lives in the model's arena; weights are borrowed from the mapped input (never copied).
 */
#ifndef BURIN_IR_H
#define BURIN_IR_H

#include "base/base.h"

#define IR_MAX_RANK 8u
#define IR_MAX_CALLS 64u   /* graphs below each other */
#define IR_NONE UINT32_MAX /* an absent optional input */

/* Extents, outermost first. symbol[i] != 0: the extent is symbolic, symbols[symbol[i]-1] of the model, and dim[i] is
 * its declared bound (strides and arena use the bound); else dim[i] >= 0 is the extent. Rank 0 is a scalar (one
 * element). */
typedef struct ir_shape {
    uint32_t rank;
    int64_t dim[IR_MAX_RANK];
    uint32_t symbol[IR_MAX_RANK];
} ir_shape;

/* real = scale[k] * (q - zero[k]); k = 0 (n == 1: per tensor) or the index along axis (n == dim[axis]: per channel). n
 * == 0: none. */
typedef struct ir_quant {
    uint32_t n;
    int32_t axis;
    const float *scale;
    const int64_t *zero;
} ir_quant;

typedef enum ir_attr_kind { IR_INT, IR_FLOAT, IR_TEXT, IR_INTS, IR_FLOATS, IR_GRAPH } ir_attr_kind;
typedef struct ir_attr {
    const char *name;
    ir_attr_kind kind;
    size_t n; /* INTS, FLOATS: count; TEXT: bytes */
    union {
        int64_t i;
        double f;
        const char *text;
        const int64_t *ints;
        const double *floats;
        uint32_t graph; /* index in the model's graphs */
    } v;
} ir_attr;

typedef struct ir_tensor {
    const char *name; /* as in the file, any bytes but NUL; "" if none */
    base_type type;
    ir_shape shape;
    ir_quant quant;
    /* constant contents, dense row-major little-endian, base_type_bytes(type, elements) bytes; NULL: computed */
    const void *data;
    uint32_t state;  /* of the model's states, for which this tensor stands; IR_NONE: a value of its own */
    uint32_t source; /* index of the tensor in the input file; IR_NONE: made by a pass */
} ir_tensor;

/* What is kept between runs. Several tensors, of any graphs, may stand for one state: a node that reads such a tensor
 * reads the state, one that has it among its outputs changes the state. A node reads all its inputs, then writes.
 * Accesses to one state happen in the order of the nodes. */
typedef struct ir_state {
    const char *name;
    base_type type;
    ir_shape shape; /* also of every tensor that stands for it */
    ir_quant quant;
    const void *data; /* first contents, as ir_tensor.data; NULL: zeros */
} ir_state;

typedef struct ir_node {
    const char *op; /* Burin's word for the operator: "conv2d" */
    size_t attr_count, input_count, output_count;
    const ir_attr *attrs;
    uint32_t *inputs;  /* tensor indices or IR_NONE */
    uint32_t *outputs; /* tensor indices */
    /* identity: the indices in the input file of all operators this node stands for, first its own */
    size_t id_count;
    const uint32_t *ids;
    const char *source_name; /* what the file calls it: "CONV_2D" */
    uint64_t byte;           /* offset of the operator in the input file, for messages */
} ir_node;

typedef struct ir_graph {
    const char *name;
    uint32_t index; /* sub-graph index in the input file */
    BASE_VEC(ir_tensor) tensors;
    BASE_VEC(ir_node) nodes; /* in an order that can be executed */
    BASE_VEC(uint32_t) inputs;
    BASE_VEC(uint32_t) outputs;
} ir_graph;

typedef struct ir_symbol {
    const char *name;
    int64_t bound;
    bool computed; /* by the node that gives a tensor with this extent, from data; else the caller of a run says it */
} ir_symbol;

/* What a signature calls an input or output of its graph: number `at` of them. */
typedef struct ir_port {
    const char *name;
    uint32_t at;
} ir_port;

/* A way to call a graph, with names for what it takes and gives. */
typedef struct ir_signature {
    const char *name;
    uint32_t graph;
    size_t input_count, output_count;
    const ir_port *inputs, *outputs;
} ir_signature;

/* Bytes that stand beside the graph for others to read: carried along. */
typedef struct ir_metadata {
    const char *name;
    const void *data;
    size_t size;
} ir_metadata;

/* What the file's graph takes or gives, of which graphs[0] has the tensors, in order. form: "T" is a tensor, "(TT)" a list of
 * two, "[T]" an optional value that is there, "[]" one that is not; they may be in each other. */
typedef struct ir_listed {
    const char *name, *form;
} ir_listed;

typedef struct ir_model {
    base_arena *arena;
    const char *format;        /* "tflite", "ir" ... */
    const char *file;          /* base name of the input, for messages and default prefixes */
    BASE_VEC(ir_graph) graphs; /* [0] is the entry */
    BASE_VEC(ir_symbol) symbols;
    BASE_VEC(ir_state) states;
    const char *description; /* "" if none */
    BASE_VEC(ir_signature) signatures;
    BASE_VEC(ir_metadata) metadata;
    BASE_VEC(ir_listed) takes, gives; /* empty: each is a tensor */
    base_map *strings;                /* of its tensors of type str (base_strings_new); NULL: it has none */
    bool by_numerics;                 /* the file contradicts itself, and was read as one of the numerics reads it */
} ir_model;

/* How many tensors a form has; SIZE_MAX: it is none. */
size_t ir_form_tensors(const char *form);

ir_model *ir_model_new(base_arena *arena, const char *format, const char *file);
ir_graph *ir_graph_add(ir_model *m, const char *name);
/* A state with that name, type and shape, zero at first. */
uint32_t ir_state_add(ir_model *m, const char *name, base_type type, const ir_shape *shape);
/* A signature of the graph, with its ports in the arena (copied) and borrowed names. */
void ir_signature_add(ir_model *m, const char *name, uint32_t graph, const ir_port *inputs, size_t input_count,
                      const ir_port *outputs, size_t output_count);
uint32_t ir_tensor_add(ir_model *m, ir_graph *g, const char *name, base_type type, const ir_shape *shape);
/* Copies the lists. id: operator index in the input file, IR_NONE for none. */
ir_node *ir_node_add(ir_model *m, ir_graph *g, const char *op, const uint32_t *inputs, size_t input_count,
                     const uint32_t *outputs, size_t output_count, uint32_t id);
void ir_attr_int(ir_model *m, ir_node *n, const char *name, int64_t v);
void ir_attr_float(ir_model *m, ir_node *n, const char *name, double v);
void ir_attr_text(ir_model *m, ir_node *n, const char *name, const char *v);
void ir_attr_ints(ir_model *m, ir_node *n, const char *name, const int64_t *v, size_t count);
void ir_attr_floats(ir_model *m, ir_node *n, const char *name, const double *v, size_t count);
void ir_attr_graph(ir_model *m, ir_node *n, const char *name, uint32_t graph);
const ir_attr *ir_attr_find(const ir_node *n, const char *name); /* NULL: absent */

/* ---- control: nodes whose meaning is the meaning of sub-graphs (docs/IR.md) ----
 * if(condition, arguments...) -> (results...) {then: graph, else: graph}
 * while(arguments...) -> (results...) {cond: graph, body: graph} */
typedef enum ir_control { IR_PLAIN, IR_IF, IR_WHILE } ir_control;
ir_control ir_control_of(const ir_node *n); /* by its word */
bool ir_has_loops(const ir_model *m);       /* is any node of any graph a while? */
/* fused(arguments...) -> (results...) {body: graph}: what the graph's nodes compute, as one operator. The graph holds no
 * state and no control, and no fused node. */
bool ir_is_fused(const ir_node *n);
/* The graph that an attribute names. The model is verified, and the node has it. */
const ir_graph *ir_sub_graph(const ir_model *m, const ir_node *n, const char *name);
/* For each graph whether it touches a state, itself or through its control nodes. In arena. */
bool *ir_graphs_with_state(base_arena *arena, const ir_model *m);
/* Does one of the node's graphs touch a state? with_state: of ir_graphs_with_state. A graph that there is not touches none. */
bool ir_reaches_state(const ir_model *m, const ir_node *n, const bool *with_state);

ir_shape ir_shape_of(uint32_t rank, const int64_t *dims);
bool ir_shape_same(const ir_shape *a, const ir_shape *b);
bool ir_quant_same(const ir_quant *a, const ir_quant *b);
/* Product of extents (bounds of symbolic ones); false on overflow or above 2^48 elements. */
bool ir_shape_elements(const ir_shape *s, uint64_t *n);
bool ir_tensor_bytes(const ir_tensor *t, uint64_t *bytes);
/* Bit k: extent k is a symbol that a node computes; dim[k] is its bound. */
uint32_t ir_shape_computed(const ir_model *m, const ir_shape *s);
/* Bit k: extent k is what a run has of a symbol, computed or said by its caller; dim[k] is its bound. */
uint32_t ir_shape_open(const ir_shape *s);
/* "1x49x10x1", "scalar" for rank 0, of a symbol its bound: "<=16x3" */
char *ir_shape_print(base_arena *arena, const ir_shape *s);

/* The place of a node or a tensor for messages, in the model's arena: graph[0]/operator[3] CONV_2D, with the byte where
 * it is known. */
base_place ir_place_node(const ir_model *m, const ir_graph *g, size_t node);
base_place ir_place_tensor(const ir_model *m, const ir_graph *g, size_t tensor);

/* Structure: indices in range, one producer a tensor, no read before its producer, no cycle, constants have the right
 * number of bytes, quantisation sane (scale finite and > 0, zero points in the type's range, axis in rank, n ==
 * dim[axis]). States: tensors that stand for one have its type and shape, and are no inputs or outputs of graphs.
 * Signatures: their graph has the inputs and outputs that they name. Lists taken and given: as many tensors as graph 0 has.
 * Control: the graphs of an if or while take and give what the node does, no graph reaches itself, and none is
 * more than IR_MAX_CALLS deep.
 * O(nodes + tensors). Every error names graph, node and tensor. */
base_status ir_verify(const ir_model *m, base_diags *d);
/* The same of the graphs from number first on, while those before them are still being made. */
base_status ir_verify_from(const ir_model *m, size_t first, base_diags *d);
/* Puts the nodes of every graph into an executable order, keeping the given one where it is already, and the order of
 * accesses to one state in any case; a cycle is an error. */
base_status ir_sort(ir_model *m, base_diags *d);

/* ---- another outline (edit.c) ---- */
/* That graph becomes graphs[0], and graphs[0] takes its number. */
void ir_make_entry(ir_model *m, uint32_t graph);
/* Drops the nodes that no output of their graph needs and that change no state. */
void ir_drop_dead(ir_model *m);
/* Which graphs a node calls: a bool for each, in the arena. */
bool *ir_called(base_arena *arena, const ir_model *m);
/* Drops the graphs that were called when ir_called gave the list, of n graphs, or were made since, and that no signature
 * and no other graph calls any more. Those that are left move up. */
void ir_drop_uncalled(ir_model *m, const bool *called, size_t n);
/* These tensors become the outputs of graphs[0]; what they do not need is dropped, inputs too. Signatures
 * follow; one that gives nothing any more is dropped. */
void ir_cut(ir_model *m, const uint32_t *outputs, size_t n);
/* Inputs and outputs of the entry graph that are none any more: a bool for each. Signatures follow. */
void ir_drop_ports(ir_model *m, const bool *inputs, const bool *outputs);

/* Tensors that no node and no border of the graph has are gone; the others are numbered anew, in their order. */
void ir_drop_unused_tensors(ir_model *m, ir_graph *g);

/* Is a tensor of it of type str? The text form does not have the strings. */
bool ir_has_strings(const ir_model *m);
/* The text form (docs/IR.md). ir_parse(ir_print(m)) is m again, byte for byte on printing; whole constants included. */
void ir_print(base_text *out, const ir_model *m);
/* The same model without its history: unused tensors are gone, names of the file's operators, ids and places too. Data
 * are borrowed. */
ir_model *ir_plain(base_arena *arena, const ir_model *m);
/* Do the two say the same, but for their history? */
bool ir_same(base_arena *scratch, const ir_model *a, const ir_model *b);
base_status ir_parse(base_arena *arena, const char *file, const char *text, size_t n, ir_model **out, base_diags *d);

#endif
