/* passes.h - face of room `passes`: graph to graph.
 *
 * Takes a model. Gives the same model, changed in place; every output computes the same bits (integers) or lies within
 * the bound (floats). The graph is verified after each pass and can be printed and parsed between any two.
 */
#ifndef BURIN_PASSES_H
#define BURIN_PASSES_H

#include "ops/ops.h"

/* The operators that the output has words for; passes that change what has none run only with it. */
typedef struct passes_vocabulary {
    bool (*says)(void *user, base_arena *scratch, const ir_model *m, const ir_graph *g, const ir_node *n);
    bool (*is_over)(void *user, const ir_node *n); /* its kernel writes over what it reads, if nobody else reads that */
    bool (*is_view)(void *user, const ir_node *n); /* what it gives has the memory of its input 0 */
    void *user;
    bool own; /* the model was read in that format: what has a word keeps it */
} passes_vocabulary;

/* What pass channels found: channels of integer tensors, those of one value in every run, those that are computed no more; and
 * what that saves: multiply-accumulates, and bytes of constants. */
typedef struct passes_channel_counts {
    uint64_t all, constant, dropped;
    uint64_t macs, bytes;
} passes_channel_counts;

typedef struct passes_context {
    base_arena *arena; /* the model's */
    ops_registry *ops;
    ops_goal goal;
    unsigned opt_level;
    const passes_vocabulary *vocabulary; /* NULL: everything can be said */
    bool expanded;                       /* pass expand has said operators in others */
    bool in_f32;                         /* set by pass expand: it has said what computes on f64 in f32 */
    const char *layout;                  /* of pass layout: what it left, one line; NULL: it did not run */
    const char *only;                    /* the passes that may run, a blank between; NULL: all */
    const char *without;                 /* passes that may not run, a blank between; NULL: none */
    const char *dump_after;              /* pass name, "all", or NULL */
    base_text *dump;                     /* where; NULL: nowhere */
    bool exact;                          /* quantised operators are said as integer arithmetic, and not on reals */
    bool rescaled;                       /* set by pass scales: it has found scales at operators */
    passes_channel_counts channels;      /* set by pass channels */
    const bool *called;                  /* set by passes_run: the graphs, called_count, that nodes called before */
    size_t called_count;
} passes_context;

typedef struct passes_pass {
    const char *name, *description;
    unsigned level; /* runs at opt_level >= this */
    base_status (*run)(passes_context *c, ir_model *m, base_diags *d);
} passes_pass;
/* In the order they run (passes.def). */
extern const passes_pass passes_list[];
extern const size_t passes_count;

/* What somebody says of a tensor of the main graph, which is f32. */
typedef struct passes_parameter {
    const char *name;
    base_type type; /* i8, u8 or i16 */
    ir_quant quant; /* n > 1: of a constant */
    base_place place;
} passes_parameter;
/* parameters.c: the tensors are quantised, and dequantised for who reads them. at_border: inputs and outputs of the graph among them become the
 * integers. REFUSED with the place: no such tensor, or it cannot have that; the model is quantised already. */
base_status passes_parameters(passes_context *c, ir_model *m, const passes_parameter *list, size_t n, bool at_border,
                              base_diags *d);

/* All of them. An unknown dump_after is a usage error that names the nearest pass. */
base_status passes_run(passes_context *c, ir_model *m, base_diags *d);

#endif
