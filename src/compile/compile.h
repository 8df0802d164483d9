/* compile.h - face of room `compile`: the road from a graph to files, walked once.
 *
 * Takes a model that was read. Gives passes run, plan made, target emitted. pipeline.c is the whole road on one page.
 * Checks nothing by execution (room check does) and writes no file.
 */
#ifndef BURIN_COMPILE_H
#define BURIN_COMPILE_H

#include "passes/passes.h"
#include "targets/target.h"

typedef struct compile_options {
    const target_interface *target;
    const plan_device *device;
    const char *prefix; /* a C identifier */
    unsigned opt_level;
    plan_moves without;         /* of plan_options */
    const char *without_passes; /* of passes_context */
    const char *const *goals;
    size_t goal_count;
    uint64_t max_trips; /* of plan_options, as the next three */
    plan_goal goal;
    const char *asked; /* where it is "balanced", goal and generic are chosen */
    bool generic, precise;
    bool fixed_kernel; /* of "balanced": generic is the caller's */
    const plan_replay *replay;
    const char *dump_after;
    base_text *dump;
    bool exact;          /* of passes_context */
    bool foreign;        /* the model goes as one of another format does, though it may be of the target's */
    const char **layout; /* becomes passes_context.layout; NULL: nobody asks */
    bool *in_f32;        /* likewise; and the check of what is written reads it */
} compile_options;

/* A C identifier from a file's name: letters, digits and _ kept, the rest _, never first a digit, never a keyword. */
char *compile_prefix(base_arena *arena, const char *file);
/* The passes that the target wants. m is changed. */
base_status compile_passes(base_arena *arena, ops_registry *ops, ir_model *m, const compile_options *o, base_diags *d);
/* A model of reals between conversions becomes one of quantised operators, which are TFLite's, wherever they come within one step: as it would
 * be written as TFLite and read again. Its format is "tflite" then. REFUSED: TFLite lacks an operator. */
base_status compile_integers(base_arena *arena, ops_registry *ops, ir_model *m, const char *numerics, base_diags *d);
/* Passes, then the plan. m is changed. */
base_status compile_plan(base_arena *arena, ops_registry *ops, ir_model *m, const compile_options *o,
                         plan_module **plan, base_diags *d);
/* The target's files of a plan. */
base_status compile_emit(base_arena *arena, const compile_options *o, const plan_module *plan, const ir_model *m,
                         const target_options *t, target_files *files, base_diags *d);

#endif
