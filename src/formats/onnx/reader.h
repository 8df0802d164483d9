/* reader.h - private to formats/onnx: what the reader's files share. */
#ifndef BURIN_ONNX_READER_H
#define BURIN_ONNX_READER_H

#include "formats/formats.h"
#include "formats/onnx/schema.h"

typedef enum onnx_kind { ONNX_A_TENSOR, ONNX_A_SEQUENCE, ONNX_AN_OPTIONAL } onnx_kind;

/* What a name stands for. Sequences and optional values are known by their parts: no tensor of the graph is one. */
typedef struct onnx_value {
    onnx_kind kind;
    /* Of a tensor: in the graph that its scope reads into; IR_NONE: absent. Of an optional value: a bool without dimensions, whether
     * a run gives it its content; IR_NONE: n says it. */
    uint32_t tensor;
    size_t n; /* values of a sequence; of an optional value 1 or 0 */
    const struct onnx_value *at;
    const char
        *instead; /* what the tensor is given in the place of, and how to read it; NULL: it is what the file says */
} onnx_value;

typedef BASE_VEC(onnx_value) onnx_values;

typedef struct onnx_attr {
    const char *name;
    onnx_attr_type type;
    int64_t i;
    float f;
    base_bytes s; /* STRING */
    size_t n;     /* INTS, FLOATS, STRINGS */
    const int64_t *ints;
    const float *floats;
    const base_bytes *strings;
    wire_message message; /* TENSOR, GRAPH, SPARSE_TENSOR, TYPE_PROTO */
    uint64_t byte;
    bool used;
} onnx_attr;

typedef BASE_VEC(onnx_attr) onnx_attrs;

/* A domain that the model or a function uses, and which version. */
typedef struct onnx_import {
    const char *domain; /* "" for ai.onnx */
    int64_t version;
} onnx_import;

typedef BASE_VEC(onnx_import) onnx_imports;

/* A function of the model. */
typedef struct onnx_function {
    const char *domain, *name, *overload;
    wire_path path;
    wire_message message;
    BASE_VEC(const char *) inputs, outputs, attributes; /* attributes: those without a default */
    BASE_VEC(wire_pb_field) defaults, nodes;
    onnx_imports imports;
    bool open; /* its body is being read */
} onnx_function;

/* A tensor of a graph that stands for one of the graph around it: an argument. */
typedef struct onnx_capture {
    uint32_t outer, inner;
} onnx_capture;

/* The names that a graph or function gives; those of outer are visible too. */
typedef struct onnx_scope {
    struct onnx_scope *outer; /* NULL: the model's graph, or a function */
    uint32_t graph;           /* of the model: nodes and tensors go there; that of outer, or another, below it */
    base_map *names;          /* -> address of an onnx_value */
    base_map *reached;        /* the same of names of outer that have been found, where the graph is another */
    BASE_VEC(onnx_capture) captures;
    const onnx_imports *imports;
    const onnx_attrs *call; /* of a function: the attributes that its caller gives; NULL: it is none */
    uint32_t id;            /* what the scope holds stands in the place of that node; IR_NONE */
} onnx_scope;

/* What a value holds in the run that the model is read for, or where that is to be found. */
typedef struct onnx_contents {
    const void *data;          /* NULL: not known, or not yet */
    uint32_t node;             /* of the graph, that gives it and was not evaluated yet; IR_NONE */
    uint32_t same_in, same_as; /* graph and tensor that hold the same; IR_NONE */
} onnx_contents;

typedef BASE_VEC(onnx_contents) onnx_contents_list; /* of each tensor of a graph, as far as there is something to say */

/* A state: the tensor that stands for it, and the name of the output that is its next contents. */
typedef struct onnx_state {
    uint32_t tensor;
    const char *next;
} onnx_state;

typedef struct onnx_reader {
    base_arena *arena;
    const char *file;
    base_diags *d;
    wire_pb pb;
    ir_model *m;
    formats_options options;
    ops_registry *ops;
    base_map *strings;    /* base_strings_new */
    formats_notes *notes; /* what is not supported */
    bool usage;           /* what the caller says does not fit the model */
    int64_t ir_version;
    onnx_imports imports;
    BASE_VEC(onnx_state) states;
    /* What metadata say of states: input -> address of the output's name; outputs that are next contents. NULL: nothing. */
    base_map *state_next, *next_states;
    base_map *functions;         /* by domain, name and overload -> address of an onnx_function */
    BASE_VEC(const char *) dims; /* names of open extents */
    /* of each tensor of graph 0: for each extent its name's number in dims + 1; 0: it is known. NULL: it has none */
    BASE_VEC(uint32_t *) open;
    BASE_VEC(onnx_contents_list) contents; /* of each graph; none: the model is read for no single run */
    bool settled;                          /* what that run's data decide is known while it is read (onnx.c) */
    uint64_t computed;                     /* bytes of contents so far */
    bool drawn;                            /* it has an operator whose outputs are random, and gives their mean */
    base_map *files;                       /* of external data: location -> address of a base_file; NULL: none yet */
    uint64_t dense;                        /* bytes of the sparse constants, made dense */
    base_map *inferred;                    /* of nodes, by ops_key: address of what they give */
    base_map *meanings;                    /* by operator set, domain and type: what the dictionary has (nodes.c) */
    base_text key;                         /* room for one */
    base_map *orders;                      /* of lists of nodes, by the first one's byte; NULL: none yet */
    size_t depth;                          /* of graphs and functions that are being read */
    uint64_t size;                         /* nodes read so far, of functions each time that they are called */
} onnx_reader;

#define ONNX_LIKE_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* ---- scopes.c ---- */
onnx_scope onnx_scope_new(onnx_reader *r, onnx_scope *outer, uint32_t graph);
ir_graph *onnx_graph_of(const onnx_reader *r, const onnx_scope *scope);
/* The value of that name, in the scope or around it, as a value of the scope's own graph; NULL: there is none. */
const onnx_value *onnx_find(onnx_reader *r, onnx_scope *scope, const char *name);
/* A value of the scope around, as one of the scope's own graph: constants are there once more, all else are arguments. */
onnx_value onnx_reach(onnx_reader *r, onnx_scope *scope, const onnx_value *value);
/* Nothing is known of it, or of a part: an operator gives it that is not supported. */
bool onnx_is_unknown(const onnx_reader *r, const onnx_scope *scope, const onnx_value *v);
/* The value that the scope itself has of that name; NULL: none. */
onnx_value *onnx_own_value(const onnx_scope *scope, const char *name);
/* false: the scope has the name already. */
bool onnx_define(onnx_reader *r, onnx_scope *scope, const char *name, onnx_value value);
/* A tensor of the scope's graph that is not typed yet. */
uint32_t onnx_new_tensor(onnx_reader *r, const onnx_scope *scope, const char *name);
/* The version of a domain that the scope uses; 0: it does not. */
int64_t onnx_version_of(const onnx_imports *imports, const char *domain);
/* "ai.onnx" is "". */
const char *onnx_domain(const char *domain);
void onnx_read_import(onnx_reader *r, const wire_path *path, wire_message m, onnx_imports *out);

/* ---- tensors.c ---- */
/* A TensorProto: type, shape and contents of *t, whose name is set if the message has one. false: a fault, or noted as not
 * supported. */
bool onnx_read_tensor(onnx_reader *r, const wire_path *path, wire_message m, ir_tensor *t);

/* ---- external.c ---- */
typedef struct onnx_external {
    const char *location; /* NULL: none */
    uint64_t offset, length;
    bool has_length;
} onnx_external;
/* One entry of a TensorProto's external_data. */
void onnx_read_external(onnx_reader *r, const wire_path *path, wire_message m, onnx_external *out);
/* The contents of *t, whose type and shape are set. false: a fault, or noted as not supported. */
bool onnx_take_external(onnx_reader *r, const wire_path *path, uint64_t byte, const onnx_external *e, ir_tensor *t);

/* ---- sparse.c ---- */
/* A SparseTensorProto, as onnx_read_tensor. */
bool onnx_read_sparse(onnx_reader *r, const wire_path *path, wire_message m, ir_tensor *t);

/* ---- values.c ---- */
/* A ValueInfoProto: name, type and shape; extents that have no number are -1, and their names (NULL: none) in dims. false: a
 * fault, or noted as not supported. */
bool onnx_read_value(onnx_reader *r, const wire_path *path, wire_message m, ir_tensor *t,
                     const char *dims[IR_MAX_RANK]);
/* Gives the extents of graph 0's inputs that the file leaves open the numbers that the caller says. */
void onnx_set_inputs(onnx_reader *r, const wire_path *path);

/* ---- lists.c ---- */
typedef struct onnx_stated {
    const char *name;
    const char *form; /* "T", "(T)", "[T]", "[(T)]" (ir_listed); NULL: another type */
    int64_t type;     /* of its tensors: ONNX's number; 0: not stated */
} onnx_stated;
/* A ValueInfoProto, whatever its type. */
onnx_stated onnx_read_stated(onnx_reader *r, const wire_path *path, wire_message m);
/* What the caller makes of an input that is no tensor, a constant: NULL: nothing. */
const formats_contents *onnx_constant_list(const onnx_reader *r, const char *name);
/* Such an input, with what onnx_constant_list gives for it. */
void onnx_constant_input(onnx_reader *r, const wire_path *place, uint64_t byte, onnx_scope *scope,
                         const onnx_stated *s);
/* Input number `at` of the model's graph, no tensor: its tensors, as many as its contents have, become inputs. */
void onnx_list_input(onnx_reader *r, const wire_path *place, uint64_t byte, onnx_scope *scope, const onnx_stated *s,
                     size_t at);
/* The value's form (ir_listed). */
void onnx_put_form(base_text *out, const onnx_value *v);

/* ---- contents.c ---- */
/* What the tensor holds: a constant's contents, or those that are known for the run that the model is read for. NULL: not
 * known. Evaluates nodes before it, each once. */
const void *onnx_contents_of(onnx_reader *r, uint32_t graph, uint32_t tensor);
void onnx_set_contents(onnx_reader *r, uint32_t graph, uint32_t tensor, const void *data);
/* The tensor holds what that of the other graph does: a value that is seen from around. */
void onnx_same_contents(onnx_reader *r, uint32_t graph, uint32_t tensor, uint32_t outer_graph, uint32_t outer_tensor);
/* The node gives extents that data decide: its outputs become constants, with those extents. false: they are not known, or
 * the model is not read so. */
bool onnx_settle(onnx_reader *r, uint32_t graph, const ir_node *n);
/* The node is whole: what it gives may follow from it. */
void onnx_given_by(onnx_reader *r, uint32_t graph, uint32_t node);

/* ---- graphs.c ---- */
/* Reads the model's graph: its constants, inputs, nodes and outputs. */
void onnx_read_graph(onnx_reader *r, const wire_path *path, wire_message m, onnx_scope *scope);
/* Reads a graph below another: its constants and nodes, for these inputs. Gives its outputs' values; those that nothing is
 * known of have a tensor without type. false: a fault. */
bool onnx_read_body(onnx_reader *r, const wire_path *path, wire_message m, onnx_scope *scope, const onnx_value *inputs,
                    size_t input_count, onnx_values *outputs);
enum { ONNX_MOST_DEPTH = 32 }; /* graphs and functions in each other */

/* ---- functions.c ---- */
/* A FunctionProto of the model, without its body. */
void onnx_read_function(onnx_reader *r, const wire_path *path, wire_message m);
/* NULL: the model has none. */
onnx_function *onnx_function_of(onnx_reader *r, const char *domain, const char *name, const char *overload);

/* ---- attributes.c ---- */
/* AttributeProtos of a node, those that a function refers to resolved by its call. */
void onnx_read_attribute(onnx_reader *r, const wire_path *path, wire_message m, const onnx_scope *scope,
                         onnx_attrs *out);

/* ---- order.c ---- */
typedef struct onnx_ordered {
    uint32_t *at;
    size_t n; /* without constants that others of their names replace */
} onnx_ordered;
/* An order in which each node stands behind those that give what it needs; NULL: that of the list, or a fault. */
const onnx_ordered *onnx_order(onnx_reader *r, const wire_path *outer, const wire_pb_field *nodes, size_t n);

/* ---- nodes.c ---- */
/* The nodes of a graph or function, which is at outer. */
void onnx_read_nodes(onnx_reader *r, const wire_path *outer, const wire_pb_field *nodes, size_t n, onnx_scope *scope);

#endif
