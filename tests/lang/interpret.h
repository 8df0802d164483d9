/* interpret.h - a small, slow interpreter of typed programs, and random programs, for the tests of analyses and
 * transforms.
 *
 * Independent of the evaluator: it recurses over nodes, one value at a time, by lang_word_value. At most 32 variables
 * with extents up to 16; no recurrences, no dynamic extents.
 */
#ifndef BURIN_TESTS_INTERPRET_H
#define BURIN_TESTS_INTERPRET_H

#include "lang/lang.h"

#define INTERPRET_VARS 32u

typedef struct interpreter {
    const lang_program *p;
    base_arena *arena;
    void **data; /* of each tensor */
    int64_t value[INTERPRET_VARS];
    bool failed;  /* a read outside without fill */
    bool *filled; /* of each READ node: its fill was taken */
    struct {
        uint64_t key[2]; /* 4 bits for each variable that occurs free */
        base_value value;
        bool set;
    } * memo;
} interpreter;

/* inputs[k]: contents of program input k. Runs all stages. */
interpreter *interpret(base_arena *arena, const lang_program *p, const void *const *inputs);
/* Value of e with the variables as in x->value; x->failed when it reads outside. */
base_value interpret_node(interpreter *x, lang_ref e);
uint64_t interpret_elements(const lang_tensor *t);
size_t interpret_bytes(const lang_tensor *t);

uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t n);

/* A variable of a stage being built. */
lang_variable variable(lang_program *p, const char *name, int64_t extent);
uint32_t add_input(lang_program *p, const char *name, base_type type, uint32_t rank, const int64_t *dim);
uint32_t add_constant(lang_program *p, const char *name, base_type type, uint32_t rank, const int64_t *dim,
                      const void *data);
/* A stage over vars[0..rank), of body's type. Returns its tensor. */
uint32_t add_stage(lang_program *p, const char *name, uint32_t rank, const lang_variable *vars, uint32_t var_count,
                   lang_ref body);

/* A random program of `stages` stages, the last one the output; floats: also float words. *inputs: random contents. */
lang_program *random_program(base_arena *arena, uint64_t seed, uint32_t stages, bool floats, const void ***inputs);

#endif
