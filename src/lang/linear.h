/* linear.h - an integer expression as a constant plus multiples of atoms (private to lang).
 *
 * Takes ranges. Gives linear forms that are proved to have the expression's value: an atom is any node that is not
 * itself a sum, a difference, or a multiple by a constant. The wider cousin of lang_affine, whose atoms are variables
 * only.
 */
#ifndef BURIN_LANG_LINEAR_H
#define BURIN_LANG_LINEAR_H

#include "lang/analysis.h"

#define LANG_LINEAR_TERMS 16u

typedef struct lang_linear {
    int64_t constant;
    uint32_t n;
    struct {
        lang_ref atom;
        int64_t k; /* not 0 */
    } term[LANG_LINEAR_TERMS];
    lang_range range;
    bool pure; /* nothing below the root can wrap on the way */
} lang_linear;

/* false: too large, not an integer, or not proved equal. Nodes without a memoised range count as unknown: see
 * lang_ranges_peek. */
bool lang_linear_of(lang_ranges *r, lang_ref e, lang_linear *out);
/* a - b, by atoms. false: overflow or too many terms. */
bool lang_linear_difference(lang_ranges *r, const lang_linear *a, const lang_linear *b, lang_linear *out);
/* Fills in out->range from the ranges of the atoms. false: unknown or overflow. */
bool lang_linear_bound(lang_ranges *r, lang_linear *l);

/* What is memoised of node e, or the range of its type; never computes. */
lang_range lang_ranges_peek(const lang_ranges *r, lang_ref e, bool *wraps);
const lang_program *lang_ranges_program(const lang_ranges *r);
lang_range lang_type_range(base_type t); /* floats and u64: known false */
/* The smallest value of extent k of tensor t: an index below it is inside. */
int64_t lang_least_extent(lang_ranges *r, const lang_tensor *t, uint32_t k);

/* A condition that is known to hold, or not to hold, where an expression is evaluated. */
typedef struct lang_fact {
    lang_ref condition;
    bool holds;
} lang_fact;
lang_range lang_range_under(lang_ranges *r, const lang_fact *facts, size_t n, lang_ref e);

#endif
