/* words.h - the words on single values, shared inside lang (private).
 *
 * Takes values held as base_value. Gives the pieces of lang_word_value that the evaluator's row kernels need too, so
 * that a constant folded by a builder and an element computed in a row cannot differ. Does not know nodes or programs.
 */
#ifndef BURIN_LANG_WORDS_H
#define BURIN_LANG_WORDS_H

#include "lang/program.h"

/* Where the value of a type lives in a base_value. */
typedef enum lang_hold { LANG_HOLD_I, LANG_HOLD_U, LANG_HOLD_F } lang_hold;
static inline lang_hold lang_hold_of(base_type t) {
    return base_type_is_float(t) ? LANG_HOLD_F : base_type_is_signed(t) ? LANG_HOLD_I : LANG_HOLD_U;
}

/* The class letter of words.def. */
char lang_word_class(lang_word w);
unsigned lang_word_arity(lang_word w);
/* Largest finite and lowest finite value of a float type. */
double lang_float_highest(base_type t);
double lang_float_lowest(base_type t);
/* Has the float type an infinity? */
bool lang_float_has_inf(base_type t);
/* The value of an empty reduction (FIRST and LAST have none: asserts). */
base_value lang_identity(lang_reduction r, base_type t);
/* Float modulus with the sign of b, one rounding (that of the last addition, in double). */
double lang_float_mod(double a, double b);
/* An integer as a double that rounds to any narrower type as the integer itself would (round to odd). */
double lang_int_to_double_odd(int64_t v);
double lang_uint_to_double_odd(uint64_t v);
/* A float truncated and saturated to an integer type or bool (bool: v != 0); NaN gives 0 for integers. */
base_value lang_float_to_int(base_type to, double v);
/* SAT. */
base_value lang_saturate(base_type to, base_type from, base_value v);
/* BITS: NaN of any payload gives the canonical quiet NaN's bits, so that machines agree. */
base_value lang_bits(base_type to, base_type from, base_value v);

#endif
