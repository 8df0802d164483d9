/* walk.h - the nodes below a root, each once, operands first (private to lang).
 *
 * Takes roots one after another. Gives the order of all nodes reached so far. Uses no recursion: chains may be as long
 * as a program has nodes.
 */
#ifndef BURIN_LANG_WALK_H
#define BURIN_LANG_WALK_H

#include "lang/program.h"

typedef struct lang_walk {
    const lang_program *p;
    base_arena *scratch;
    uint64_t *seen;           /* one bit a node */
    BASE_VEC(lang_ref) order; /* operands before their users */
    BASE_VEC(lang_ref) stack;
} lang_walk;

void lang_walk_init(lang_walk *w, base_arena *scratch, const lang_program *p);
/* Appends to order what root reaches and was not there yet. root 0 adds nothing. */
void lang_walk_add(lang_walk *w, lang_ref root);

#endif
