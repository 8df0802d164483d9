/* eval_code.h - compiled programs, shared by whole runs and single elements (private to lang). */
#ifndef BURIN_LANG_EVAL_CODE_H
#define BURIN_LANG_EVAL_CODE_H

#include "lang/eval_compile.h"

struct lang_code {
    const lang_program *program;
    lang_eval_mode mode;
    int64_t (*dims)[LANG_MAX_RANK]; /* of every tensor; bounds where dynamic */
    bool *dynamic;                  /* tensor has a dynamic extent */
    uint8_t *wide;                  /* BOUND: for each tensor, kept as values with bounds */
    uint8_t *approximate;           /* BOUND: for each node */
    lang_eval_stage **stages;       /* NULL: compiled in the run */
    lang_eval_stage *(*extents)[LANG_MAX_RANK];
};

/* One run of a program. */
typedef struct lang_eval_run {
    const lang_code *code;
    base_arena *scratch;
    base_diags *diags;
    int64_t (*dims)[LANG_MAX_RANK]; /* actual extents */
    lang_eval_store *store;
    lang_result *results;       /* NULL: single elements */
    lang_eval_context *context; /* made when a stage is compiled in the run */
    lang_eval_demand *demand;   /* single elements; its extents are known before stages are run */
} lang_eval_run;

lang_eval_machine lang_eval_machine_of(const lang_eval_run *r);
/* Memory of a stage's tensor: the caller's for an output. */
void lang_eval_place_tensor(lang_eval_run *r, const lang_stage *s);
/* Stages [first, last), one recurrence, for each t. */
base_status lang_eval_run_recurrence(lang_eval_run *r, size_t first, size_t last);

lang_eval_options lang_eval_options_of(const lang_code *code, const int64_t (*dims)[LANG_MAX_RANK],
                                       const lang_stage *s);
uint64_t lang_eval_elements_of(const lang_program *p, uint32_t tensor, const int64_t *dim);
/* Gives the machine a frame for s, constants set. */
void lang_eval_prepare(lang_eval_machine *m, base_arena *scratch, const lang_eval_stage *s);
void lang_eval_bind_inputs(const lang_code *code, base_arena *scratch, const void *const *inputs,
                           lang_eval_store *store);
/* Evaluates the dynamic extents of a tensor into dim. */
base_status lang_eval_dynamic_extents(const lang_code *code, lang_eval_machine *m, base_arena *scratch, uint32_t tensor,
                                      const base_place *place, int64_t *dim);
/* Element `from` of a tensor as element `to` of data, its value and bound; wide or exact; any of the three may be
 * NULL. */
void lang_eval_deliver_element(const lang_eval_store *store, base_type t, uint64_t from, void *data, uint64_t to,
                               double *value, double *bound);
/* All n elements. data: typed contents of wide tensors, NULL otherwise. */
void lang_eval_deliver_bounds(const lang_eval_store *store, base_type t, uint64_t n, void *data, double *value,
                              double *bound);

#endif
