/* intervals.h - interval arithmetic of the words and reductions (private to lang).
 *
 * Takes intervals of the arguments. Gives an interval that contains every result, the type's whole range where the
 * operation may wrap. Knows no program.
 */
#ifndef BURIN_LANG_INTERVALS_H
#define BURIN_LANG_INTERVALS_H

#include "lang/analysis.h"

/* b is unused for words of one argument; same: both arguments are one value. *wraps: the arithmetic may leave the
 * type. */
lang_range lang_word_interval(lang_word w, base_type type, base_type argument, lang_range a, lang_range b, bool same,
                              bool *wraps);
/* How many points a domain has, when one more variable with this extent is added. */
lang_range lang_count_interval(lang_range count, lang_range extent);
/* Of a reduction over `count` points (INT64_MAX: any number); identity: the empty domain gives the reduction's
 * identity. */
lang_range lang_reduction_interval(lang_reduction r, base_type type, lang_range body, lang_range count, bool identity,
                                   bool *wraps);

#endif
