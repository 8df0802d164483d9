/* eval_reference.h - a tree-walking interpreter of programs for the evaluator's tests: element by element, nothing
 * shared. */
#ifndef TESTS_LANG_EVAL_REFERENCE_H
#define TESTS_LANG_EVAL_REFERENCE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lang/eval.h"

typedef struct reference {
    const lang_program *p;
    base_arena *arena;
    base_value **contents; /* of each tensor, by element */
    int64_t (*dim)[LANG_MAX_RANK];
    int64_t var[LANG_MAX_VARS];
    bool failed;           /* a read outside its tensor, or an extent beyond its bound */
    uint64_t steps, limit; /* expression nodes visited; beyond the limit it gives up (failed and limit_hit) */
    bool limit_hit;
} reference;

/* Runs the whole program. inputs as lang_run. */
void eval_reference_run(reference *r, base_arena *arena, const lang_program *p, const void *const *inputs);
base_value eval_reference_value(reference *r, lang_ref e);
uint64_t eval_reference_elements(const reference *r, uint32_t tensor);
/* Same value of type t: floats by value and sign of zero, any NaN equals any NaN. */
bool eval_reference_same(base_type t, base_value a, base_value b);

/* Memory for a test. */
typedef struct eval_fixture {
    base_memory memory;
    base_guard guard;
    base_arena *arena;
    base_diags d;
} eval_fixture;
int eval_set_up(void **state);
int eval_tear_down(void **state);

/* Random numbers, the same on every machine. */
typedef struct eval_random {
    uint64_t state;
} eval_random;
uint64_t eval_random_bits(eval_random *r);
uint64_t eval_random_below(eval_random *r, uint64_t n);
base_value eval_random_value(eval_random *r, base_type t);

/* Shorthands for programs. */
uint32_t eval_add_input(lang_program *p, const char *name, base_type t, uint32_t rank, const int64_t *dim);
/* A stage over rank output variables; the caller has the variables from stage_var. extents as dim. */
uint32_t eval_add_stage(lang_program *p, const char *name, base_type t, uint32_t rank, const int64_t *dim,
                        lang_ref body);
lang_ref eval_const_var(lang_program *p, uint32_t number, int64_t extent);

#endif
