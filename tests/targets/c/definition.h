/* definition.h - operators as text with random inputs, for tests that compare emitted C with the evaluator. */
#ifndef BURIN_TESTS_C_DEFINITION_H
#define BURIN_TESTS_C_DEFINITION_H

#include "targets/c/module.h"

enum { MAX_ARGUMENTS = 5 };

typedef struct input {
    base_type type;    /* NONE: no more inputs */
    const char *dims;  /* "2,3,4" */
    int constant;      /* contents known at compile time */
    int64_t low, high; /* of random integers; both 0: the whole range */
} input;

typedef struct definition {
    const char *text; /* of op t */
    base_type out;
    input in[MAX_ARGUMENTS];
} definition;

typedef struct instance {
    const definition *definition;
    lang_program *program; /* raw */
    const void *inputs[MAX_ARGUMENTS];
    size_t output[2]; /* of test_module.outputs: emitted raw, and simplified */
} instance;

/* Parses, instantiates, fills inputs with random values. Fails the test with the diagnostic. */
lang_program *test_instantiate(base_arena *arena, base_diags *d, const definition *x, const void **inputs);
/* Compares output `which` of the instance with the evaluator: integers by bits, f32 within rounding. what: for the
 * message. */
void test_compare(test_module *m, const instance *x, size_t which, const char *what);
uint64_t test_random(void); /* the same sequence in every run */

#endif
