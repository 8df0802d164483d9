/* eval.h - the evaluator: the reference for every output of Burin (part of lang's face).
 *
 * Takes a program and buffers. Gives every output bit for bit as docs/LANGUAGE.md says, on every machine; a bound for
 * floats; single elements on demand. Knows no operator; never uses an emitter. Built with -ffp-contract=off.
 * Programs are compiled once into flat bytecode that works on rows of elements, then run any number of times.
 */
#ifndef BURIN_LANG_EVAL_H
#define BURIN_LANG_EVAL_H

#include "lang/program.h"

typedef struct lang_code lang_code;

typedef enum lang_eval_mode {
    LANG_EVAL_EXACT, /* every float operation rounds to its type, sums in ascending order */
    /* Floats are computed wide (double), with a running bound b for each: whatever order, contraction or accumulation
     * width up to the stated type an implementation takes, its value lies within b of ours. Integer parts
     * are exact. */
    LANG_EVAL_BOUND,
} lang_eval_mode;

/* NULL only with a diagnostic (limits, unsupported is a bug and asserts). */
lang_code *lang_compile(base_arena *arena, const lang_program *p, lang_eval_mode mode, base_diags *d);

typedef struct lang_result {
    void *data;    /* given by the caller: dense elements of the output's type, for the bounds of its extents */
    double *value; /* BOUND mode, float outputs: wide values; may be NULL */
    double *bound; /* BOUND mode, float outputs: the allowed difference; may be NULL */
    int64_t dim[LANG_MAX_RANK]; /* set: the actual extents (dynamic ones included); elements are dense in these */
} lang_result;

/* inputs[k]: contents of program input k, NULL where absent or constant. results: one per output.
 * Errors: a read outside its tensor without fill (stage, tensor, index, the definition's place), a dynamic extent
 * beyond its bound. scratch: for intermediate stages; may be freed after. */
base_status lang_run(const lang_code *code, base_arena *scratch, const void *const *inputs, lang_result *results,
                     base_diags *d);

/* Single elements: element[k] (row-major numbers) of one output, k < n, computed by need: of each intermediate stage
 * only what is read (stages of recurrences whole). values: n elements of the output's type; BOUND mode also value,
 * bound as above (or NULL). */
base_status lang_run_elements(const lang_code *code, base_arena *scratch, const void *const *inputs, uint32_t output,
                              const uint64_t *element, size_t n, void *values, double *value, double *bound,
                              base_diags *d);

/* Scalar operations that one run costs, counted as words x elements; for reports and for choosing sampled checks. */
uint64_t lang_cost(const lang_program *p);

#define LANG_EVAL_DEPTH 2000u /* levels of a stage's expression that lang_compile takes */
/* Levels of the deepest stage's expression. */
uint32_t lang_depth(base_arena *scratch, const lang_program *p);

#endif
