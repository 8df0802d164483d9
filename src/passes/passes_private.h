/* passes_private.h - what the passes share. */
#ifndef BURIN_PASSES_PRIVATE_H
#define BURIN_PASSES_PRIVATE_H

#include "passes/passes.h"

#define PASS(name, level, description) base_status passes_##name(passes_context *c, ir_model *m, base_diags *d);
#include "passes/passes.def"
#undef PASS

/* Drops the nodes with gone[i] set, keeping the order. */
void passes_drop(ir_graph *g, const bool *gone);
/* One type, shape and quantisation, and no state: a state is read when its operator's turn comes, not when its contents
 * were made. */
bool passes_same_values(const ir_tensor *a, const ir_tensor *b);

/* Is the pass among those that the target names? Some run for no other. */
bool passes_asked(const passes_context *c, const char *name);
/* Does the vocabulary, which there is, have words for the node, or for what a later pass makes of it? */
bool passes_says(const passes_context *c, base_arena *scratch, const ir_model *m, const ir_graph *g, const ir_node *n);

/* Says in c->layout how many transposes there are now, where formats differ. */
void passes_count_transposes(passes_context *c, const ir_model *m);

/* No extent that a run decides. */
bool passes_is_fixed(const ir_shape *s);

/* The node's activation, of its attribute or as its definition says of an absent one; NULL: it has none. */
const char *passes_act(const passes_context *c, const ir_node *n);

/* ---- edit.c: a graph while a pass changes it ---- */
typedef struct passes_edit {
    passes_context *c;
    ir_model *m;
    ir_graph *g;
    base_arena *scratch;
    size_t tensors;     /* that there were at first: those the lists below are for */
    uint32_t *uses;     /* of each tensor: nodes that read it, plus one for each time it is an output of the graph */
    uint32_t *producer; /* of each tensor: node, or IR_NONE */
    uint32_t *same;     /* of each tensor: the tensor that stands for it from now on, itself at first */
    bool *is_output;    /* of each tensor: an output of the graph */
    bool *gone;         /* of each node */
} passes_edit;
/* Nodes may be changed in their order; nodes and tensors may be added behind the others. */
passes_edit passes_edit_begin(passes_context *c, ir_model *m, ir_graph *g);
/* Every node reads what stands for its inputs, and the nodes that are gone are dropped. */
void passes_edit_end(passes_edit *e);
/* One edit of each graph, in which visit sees every node in order. */
void passes_each_node(passes_context *c, ir_model *m, void (*visit)(passes_edit *e, size_t node));
/* Tensor t, or what stands for it. */
uint32_t passes_now(const passes_edit *e, uint32_t t);
/* The node, not gone, that makes input number k of the node; NULL: none. */
ir_node *passes_producer(const passes_edit *e, const ir_node *n, size_t k);
/* Only one node reads tensor t, and nothing else needs it. */
bool passes_single(const passes_edit *e, uint32_t t);
/* Contents of input number k of node n, where it is a constant; else NULL. */
const ir_tensor *passes_constant(const passes_edit *e, const ir_node *n, size_t k);
/* The one-input node i goes: its output has the same values as `from`. false: it has to stay, since both are seen from
 * outside. */
bool passes_vanish(passes_edit *e, size_t i, uint32_t from);
/* Node `into`, which comes before i and whose output 0 only i reads, makes output 0 of i itself, and i goes. */
void passes_absorb(passes_edit *e, ir_node *into, size_t i);
/* The ids of both, first those of `first`, become those of n. */
void passes_join_ids(passes_context *c, ir_node *n, const ir_node *first, const ir_node *second);
/* Input k of node n becomes tensor t. */
void passes_rewire(passes_edit *e, ir_node *n, size_t k, uint32_t t);
/* The node takes this one attribute list and this word; attributes are given by ir_attr_... afterwards. */
void passes_become(passes_context *c, ir_node *n, const char *op, const uint32_t *inputs, size_t input_count);

/* A constant of the graph, whose data lives in the model's arena. */
uint32_t passes_constant_add(ir_model *m, ir_graph *g, const char *name, base_type type, const ir_shape *shape,
                             const void *data);

/* ---- apart.c: quantised numbers and reals ---- */
/* What element i of a tensor of that shape and type stands for. */
double passes_real(const ir_tensor *t, const ir_quant *q, const void *data, uint64_t i);
/* How many steps of its outputs' scales the first node is from the second, which has a real tensor in the place of each input
 * with a quantisation in quants, and of each quantised output; sampled. Of outputs that are reals in both, steps of 1/127 of
 * the largest. reals_meant: the second is what a model says, so that what it has infinite saturates; else nothing is asked of the first
 * there. false: one of them cannot be instantiated or evaluated. */
bool passes_steps_apart(passes_context *c, const ir_model *m, const ir_graph *g, const ir_node *quantised,
                        const ir_node *real, const ir_quant *quants, bool reals_meant, double *steps, base_diags *d);
/* So many are rounding: 1, and of 16 bits, whose functions TFLite interpolates in tables, 1/1000 of the range. */
double passes_most_apart(base_type type);
/* Every value that the node gives is an element of an input, or a constant. */
bool passes_only_moves(passes_context *c, const ir_model *m, const ir_graph *g, const ir_node *n);
/* The same, and scales have no part in it. g is as it was afterwards. */
bool passes_stays_on_integers(passes_context *c, const ir_model *m, ir_graph *g, const ir_node *n);

/* ---- whole.c ---- */
/* Operators around one that the vocabulary, which there is, lacks become one that it has, in the place of the last of them. */
void passes_find_wholes(passes_context *c, ir_model *m, uint32_t graph);

/* ---- poles.c ---- */
/* Minimum and maximum before conversions of reals that may be infinite. Nodes stand behind those that make their inputs; those that
 * are added stand last. */
void passes_bound_poles(passes_context *c, ir_model *m, ir_graph *g);

/* ---- bounds.c: operators that only keep values between two bounds ---- */
typedef struct passes_bounds {
    double low, high; /* of quantised values: integers of the type */
} passes_bounds;
/* What an activation does to values of that tensor's type and quantisation. false: no such word. */
bool passes_activation_bounds(const char *act, const ir_tensor *t, passes_bounds *out);
/* What the node does to its input number *input: relu and its like, minimum and maximum with a constant. false: more. */
bool passes_node_bounds(const passes_edit *e, const ir_node *n, passes_bounds *out, size_t *input);
/* First a, then b. */
passes_bounds passes_both_bounds(passes_bounds a, passes_bounds b);
/* The activation of these bounds among words (of words[n]), NULL: none. */
const char *passes_activation_of(passes_bounds b, const ir_tensor *t, const char *const *words, size_t n);

/* ---- from_start.c ---- */
/* The node, which the vocabulary lacks, as one that counts no place from the end: the last node. false: it is none, or may have to. */
bool passes_from_start(passes_context *c, ir_model *m, uint32_t graph, const ir_node *n);

/* ---- narrow.c ---- */
/* The node, which the vocabulary lacks, as one whose integers are of 32 bits, and casts: behind the last node. false: it is none. */
bool passes_narrow(passes_context *c, ir_model *m, uint32_t graph, const ir_node *n);

/* Adds word(from) -> to behind the last node, for the operators of the input file that `like` is for. */
void passes_convert(ir_model *m, ir_graph *g, const char *word, uint32_t from, uint32_t to, const ir_node *like);
/* Node i, a quantize that makes tensor `whole` or a dequantize that reads it, says that tensor's scale itself, as ONNX's do. */
void passes_say_scale(passes_context *c, ir_model *m, ir_graph *g, size_t i, uint32_t whole);

#endif
