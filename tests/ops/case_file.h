/* case_file.h - reads src/ops/NAME.case: what an operator must give for some inputs (docs/OPERATOR_CASES.md).
 *
 * Takes the text of one file. Gives one model of one node for each case, the contents of its inputs, and the outputs
 * wanted.
 */
#ifndef BURIN_TESTS_OPS_CASE_FILE_H
#define BURIN_TESTS_OPS_CASE_FILE_H

#include "ops/ops.h"

enum { CASE_MOST = 64 };

typedef struct case_one {
    const char *name, *source; /* source: what the wanted values come from */
    const char *goals[CASE_MOST];
    size_t goal_count;
    ir_model *model;               /* graphs.at[0] has the one node */
    const void *inputs[CASE_MOST]; /* of the node's inputs: contents; NULL where absent or constant */
    const void *wanted[CASE_MOST]; /* of the node's outputs */
    double within[CASE_MOST];      /* allowed for floats: relative where the value is above 1, else absolute */
} case_one;

typedef struct case_file {
    BASE_VEC(case_one) list;
} case_file;

/* op: the operator's name. False: *error says what is wrong, with the line. */
bool case_file_read(base_arena *arena, const char *op, const char *text, case_file *out, const char **error);

#endif
