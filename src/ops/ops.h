/* ops.h - face of room `ops`: the operators' definitions, one text file each, and how a graph's node calls its
 * definition.
 *
 * Takes nodes of a graph. Gives typed programs. A definition file src/ops/NAME.op holds every overload of operator
 * NAME; files that begin with an underscore hold shared fn macros and are parsed before the first definition.
 * Definitions are embedded in the program and parsed on first use. No operator has code of its own in C.
 */
#ifndef BURIN_OPS_H
#define BURIN_OPS_H

#include "lang/lang.h"

typedef struct ops_registry ops_registry;
ops_registry *ops_registry_new(base_arena *arena);

/* Adds definitions of the caller's own, for the operators "custom.NAME" alone: `op NAME` of the text says what custom.NAME
 * means. They may use the fns of Burin's own definitions. file and text must outlive the registry. Errors have line,
 * column and caret; a text without an `op` is one, and so is an operator that a text before defines. The same text again
 * adds nothing. */
base_status ops_add(ops_registry *r, const char *file, const char *text, size_t n, base_diags *d);
bool ops_has(ops_registry *r, const char *op); /* by file name: parses nothing */
size_t ops_count(const ops_registry *r);
const char *ops_name(const ops_registry *r, size_t i); /* sorted */
/* How many programs it has made of definitions so far: what a walk over a graph is held to. */
uint64_t ops_instantiated(const ops_registry *r);
/* The library that holds op (parsed now if it was not). A parse error is our own fault: reported, NULL. */
const lang_library *ops_library(ops_registry *r, const char *op, base_diags *d);
/* The definition's text, for documentation. */
const char *ops_source_text(const ops_registry *r, const char *op);

/* Scalar operations of one operator: far above any network's, far below for ever. */
#define OPS_MOST_COST (UINT64_C(1) << 40)

typedef struct ops_goal {
    const char *const *names; /* "litert" ... */
    size_t count;
} ops_goal;

/* Instantiates node n of graph g: raw program with one input per node input and one output per node output. Constants
 * of the graph are known contents. Errors name the operator's place (format's word, index, byte). */
base_status ops_instantiate(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g, const ir_node *n,
                            const ops_goal *goal, lang_program **out, base_diags *d);
/* The same for other shapes than the graph's: shapes, one for each of its tensors, of which those of the node's inputs count.
 * What the graph says of the outputs' shapes does not. */
base_status ops_instantiate_at(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g,
                               const ir_node *n, const ir_shape *shapes, const ops_goal *goal, lang_program **out,
                               base_diags *d);
/* The same for shapes whose symbol[k] = s says that the extent is what a run has for count number s - 1, at most dim[k]: the
 * program has the counts as inputs behind the node's (lang_call). */
base_status ops_instantiate_open(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g,
                                 const ir_node *n, const ir_shape *shapes, const int64_t *counts, size_t count_count,
                                 const ops_goal *goal, lang_program **out, base_diags *d);
/* The same of a node that is fused of others (ir_is_fused); ops_instantiate comes here. */
base_status ops_link_fused(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *outer,
                           const ir_node *n, const ops_goal *goal, lang_program **out, base_diags *d);
/* The shapes that the definition gives the node's outputs, whatever the graph says of them: one for each. An extent that
 * data decides is its bound, and has its bit set in dynamic[i], unless it is a symbol that an input has: that is in
 * shapes[i]. types: theirs too (NULL: not wanted); in the graph an output's type may be BASE_NONE, where its definition gives
 * it. by_contents (NULL: not wanted): contents of constants had a part in it. */
base_status ops_output_shapes(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g,
                              const ir_node *n, const ops_goal *goal, ir_shape *shapes, base_type *types,
                              uint32_t *dynamic, bool *by_contents, base_diags *d);
/* Types and shapes, by the definition, of `count` inputs that stand behind those the node has: states that a file's operator does
 * not list. The definition must say them by what stands before. */
base_status ops_more_inputs(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g, const ir_node *n,
                            const ops_goal *goal, size_t count, base_type *types, ir_shape *shapes, base_diags *d);
/* The node's place in the model's file, for messages; in arena. */
base_place ops_place(base_arena *arena, const ir_model *m, const ir_graph *g, const ir_node *n);
/* Computes what the node gives if that depends on nothing that a run reads: its outputs then have contents, in arena.
 * false: it does, or the operator has no definition that fits; or data decide an extent, and it is not the graph's. */
bool ops_evaluate(base_arena *arena, ops_registry *r, const ir_model *m, ir_graph *g, const ir_node *n,
                  const ops_goal *goal);
/* As ops_evaluate; outputs whose extents data decide get those that they have, and fixed. */
bool ops_evaluate_counted(base_arena *arena, ops_registry *r, const ir_model *m, ir_graph *g, const ir_node *n,
                          const ops_goal *goal);
/* What is known of an element of a small integer tensor in a model of which a run decides extents: its value, which is the same
 * in every run; or the extent that it is, which is symbol - 1 of the model; or (known false, symbol 0) nothing. */
typedef struct ops_element {
    bool known;
    int64_t value;
    uint32_t symbol;
} ops_element;
#define OPS_MOST_ELEMENTS 64u
/* What follows for the node's outputs from what is known of its inputs: an array for each, or NULL. What is none of
 * those (a type, too many elements, a shape that is open) stays NULL. The arrays are in arena. false: nothing follows. */
bool ops_elements(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g, const ir_node *n,
                  const ops_element *const *inputs, ops_element **outputs);
/* For a node's program as ops_instantiate gave it: an extent that data decides, and that the graph fixes all the same, is an
 * error, since a run would have one number here and another there. */
base_status ops_check_extents(const ir_model *m, const ir_graph *g, const ir_node *n, const lang_program *p,
                              base_diags *d);
/* Appends bytes that are equal for two nodes only if ops_instantiate gives them the same program, but for names and places
 * (outputs_known false: ops_output_shapes the same answer). contents false: only if that holds wherever contents of constants have
 * no part in it. false: no such bytes, and key is of no use. */
bool ops_key(base_text *key, const ir_graph *g, const ir_node *n, bool outputs_known, bool contents);
/* All operators of the model for which no definition exists, or no overload fits: one diagnostic each, all listed. */
base_status ops_check(base_arena *arena, ops_registry *r, const ir_model *m, const ops_goal *goal, base_diags *d);

#include "ops/session.h"

#endif
