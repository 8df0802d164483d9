/* eval_code.h - compiled programs, shared by whole runs and single elements (private to lang). */
#ifndef BURIN_LANG_EVAL_CODE_H
#define BURIN_LANG_EVAL_CODE_H

#include "lang/eval_compile.h"

struct lang_code {
    const lang_program *program;
    lang_eval_mode mode;
    int64_t (*dims)[LANG_MAX_RANK]; /* of every tensor; bounds where dynamic */
    bool *dynamic;                  /* tensor has a dynamic extent */
    uint8_t *wide;                  /* BOUND: kept as values with bounds */
    eval_stage **stages;            /* NULL: compiled in the run */
    eval_stage *(*extents)[LANG_MAX_RANK];
};

eval_options eval_options_of(const lang_code *code, const int64_t (*dims)[LANG_MAX_RANK], const lang_stage *s);
uint64_t eval_elements_of(const lang_program *p, uint32_t tensor, const int64_t *dim);
/* Gives the machine a frame for s, constants set. */
void eval_prepare(eval_machine *m, base_arena *scratch, const eval_stage *s);
void eval_bind_inputs(const lang_code *code, base_arena *scratch, const void *const *inputs, eval_store *store);
/* Evaluates the dynamic extents of a tensor into dim. */
base_status eval_dynamic_extents(const lang_code *code, eval_machine *m, base_arena *scratch, uint32_t tensor,
                                 const base_place *place, int64_t *dim);
/* eval_bound.c: values and bounds of n elements, from the wide arrays or from exact contents; either may be NULL. */
void eval_deliver_bounds(const eval_store *store, base_type t, uint64_t n, double *value, double *bound);

#endif
