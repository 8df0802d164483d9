/* channels.h - ranges of an expression for each value of one variable: channel by channel (part of lang's face).
 *
 * Takes a program, best folded and simplified, and what is known of its inputs. Gives intervals that hold for every run: constants are
 * read element by element, reductions taken tap by tap, padded taps joined with their fill, words with floats by the
 * corners of those that are monotone. Changes nothing; the work is bounded, and what is beyond it gets the interval of
 * analysis.h, which is as sound and wider.
 */
#ifndef BURIN_LANG_CHANNELS_H
#define BURIN_LANG_CHANNELS_H

#include "lang/analysis.h"

typedef struct lang_along lang_along;
/* *work: how many nodes may still be computed, for as many analyses as share it; NULL: as many as one may. */
lang_along *lang_along_new(base_arena *arena, const lang_program *p, uint64_t *work);
/* What tensor `tensor`, of which contents are not known, holds where its index along the axis is 0, 1, ...: as many ranges as
 * that extent, borrowed. Without it: what its type holds. */
void lang_along_tensor(lang_along *a, uint32_t tensor, uint32_t axis, const lang_range *ranges);
/* The range of node e, an integer or bool of stage s, for each value of variable `var` of the stage, over all values of the other
 * variables that occur free: out has room for the variable's bound. Reduced variables may be asked for, too, of nodes inside their
 * reduction. false: some of it is the range for all values at once (too much work, an extent that a run decides). */
bool lang_ranges_along(lang_along *a, const lang_stage *s, lang_ref e, uint32_t var, lang_range *out);

#endif
