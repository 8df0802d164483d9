/* eval_bound.h - kernels on values with error bounds (private to lang). */
#ifndef BURIN_LANG_EVAL_BOUND_H
#define BURIN_LANG_EVAL_BOUND_H

#include "lang/eval_compile.h"

/* d, d2 = word(a +- a2, b +- b2). Floats that carry a bound are doubles, others are held as their type. */
void lang_eval_bound_word_row(const lang_eval_machine *m, const lang_eval_ins *i, size_t n);
/* d, d2 = a (bool, uncertain where c2 > 0) ? b +- a2 : c +- b2; all of class cls. */
void lang_eval_bound_select_row(const lang_eval_machine *m, const lang_eval_ins *i, size_t n);
/* d = a (bool) || b2 > 0. */
void lang_eval_bound_possible_row(const lang_eval_machine *m, const lang_eval_ins *i, size_t n);
/* d = b2 > 0 ? inf : a. */
void lang_eval_bound_taint_row(const lang_eval_machine *m, const lang_eval_ins *i, size_t n);
/* Accumulates a +- a2 into d, d2 and the sum of magnitudes c and the count (first and last: what was seen) c2.
 * b: mask or 0; b2: the guard is uncertain where > 0, or 0. imm: the reduction. The second works on scalars over all
 * points. */
void lang_eval_bound_accumulate(const lang_eval_machine *m, const lang_eval_ins *i, size_t n);
void lang_eval_bound_close(const lang_eval_machine *m, const lang_eval_ins *i, size_t n);
/* The rounding of a sum: d2 from d, d2, magnitudes c, count c2. */
void lang_eval_bound_sum(const lang_eval_machine *m, const lang_eval_ins *i, size_t n);

#endif
