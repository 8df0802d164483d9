/* passes.h - face of room `passes`: graph to graph.
 *
 * Takes a model. Gives the same model, changed in place; every output computes the same bits (integers) or lies within
 * the bound (floats). The graph is verified after each pass and can be printed and parsed between any two.
 */
#ifndef BURIN_PASSES_H
#define BURIN_PASSES_H

#include "ops/ops.h"

typedef struct passes_context {
    base_arena *arena; /* the model's */
    ops_registry *ops;
    ops_goal goal;
    unsigned opt_level;
    const char *only;       /* the passes that may run, a blank between; NULL: all */
    const char *dump_after; /* pass name, "all", or NULL */
    base_text *dump;        /* where; NULL: nowhere */
} passes_context;

typedef struct passes_pass {
    const char *name, *description;
    unsigned level; /* runs at opt_level >= this */
    base_status (*run)(passes_context *c, ir_model *m, base_diags *d);
} passes_pass;
/* In the order they run (passes.def). */
extern const passes_pass passes_list[];
extern const size_t passes_count;

/* All of them. An unknown dump_after is a usage error that names the nearest pass. */
base_status passes_run(passes_context *c, ir_model *m, base_diags *d);

#endif
