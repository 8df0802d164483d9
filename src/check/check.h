/* check.h - face of room `check`: what was emitted is run and compared with the evaluator.
 *
 * Takes a model as read, a plan and the files a target made. Builds them with the host's compiler in a temporary
 * folder, runs them on seeded inputs and compares every output, and on a difference every operator in turn, with the
 * evaluator on the raw definitions: integers by bits, floats by the bound that follows from the definition.
 */
#ifndef BURIN_CHECK_H
#define BURIN_CHECK_H

#include "compile/compile.h"
#include "formats/formats.h"

/* Inputs of case k: 0 all lowest, 1 all highest, 2 alternating extremes, 3.. random over the full range of the type
 * (floats: within [-1, 1], and larger by powers of two); the same on every machine. In a model with loops integers of 32
 * bits and more are from -4 to 15, since they may be numbers of rounds. */
void check_fill_inputs(const ir_model *m, unsigned k, void *const *inputs);
/* The shapes of these inputs, one for each: where the caller of a run says an extent, 1 in case 0, the bound in case 1, one
 * between in the others. Elements are dense in them. */
void check_fill_shapes(const ir_model *m, unsigned k, ir_shape *shapes);

typedef struct check_result {
    bool checked;           /* false: no compiler; why says so */
    const char *why, *json; /* for people, and for the plan */
    const char *compiler;
} check_result;
/* WRONG: first differing element and operator in d. compiler NULL: $CC, cc, gcc, clang in $PATH. */
base_status check_emitted(base_arena *arena, ops_registry *ops, const ir_model *as_read, const plan_module *plan,
                          const compile_options *o, const char *compiler, unsigned cases, check_result *result,
                          base_diags *d);

/* Of a target that writes a format: the first file is read again, which the second may belong to. They must say what `written` does, the model after its passes,
 * and, where evaluating is affordable, compute what the model as read does, bit for bit. WRONG: they do not. */
base_status check_written(base_arena *arena, ops_registry *ops, const ir_model *as_read, const ir_model *written,
                          const compile_options *o, const base_output_file *files, size_t file_count,
                          unsigned cases, check_result *result, base_diags *d);

/* Builds the module once and runs it on the given inputs, `runs` times, keeping its state in between: the host provider.
 * inputs and outputs: those of the first run in graph order, then those of the next. shapes_in: of each input, what the run has of it; shapes: of each output as it was. */
base_status check_run_emitted(base_arena *arena, const plan_module *plan, const compile_options *o,
                              const char *compiler, size_t runs, const void *const *inputs, const ir_shape *shapes_in,
                              void *const *outputs, ir_shape *shapes, base_diags *d);

#endif
