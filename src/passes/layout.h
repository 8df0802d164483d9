/* layout.h - private to passes: transposes that are put off (layout.c, layout_cross.c, layout_absorb.c).
 */
#ifndef BURIN_PASSES_LAYOUT_H
#define BURIN_PASSES_LAYOUT_H

#include "passes/speak.h"

/* A tensor that is put off: what stands in the old graph makes it, from what is known. */
typedef struct put_off {
    bool is_off, is_made; /* is_made: it has been needed, and is there */
    uint32_t from;        /* of a transpose: extent k is extent perm[k] of this; of a reshape: its input */
    bool is_reshape;
    int64_t perm[IR_MAX_RANK];
} put_off;

typedef struct layouter {
    speaker s;
    base_arena *scratch;  /* of the whole pass */
    BASE_VEC(put_off) of; /* of each tensor */
} layouter;

put_off *layout_state(layouter *l, uint32_t t);
const ir_tensor *layout_tensor(const layouter *l, uint32_t t);
bool layout_is_identity(const int64_t *perm, uint32_t rank);
/* What stands for t: itself, or what it is a copy of. */
uint32_t layout_resolve(layouter *l, uint32_t t);
/* The tensor that has t's values, which is there from now on. */
uint32_t layout_make(layouter *l, uint32_t t);
size_t layout_transposes(const ir_graph *g, size_t first); /* of the nodes from number first on */
/* Takes back what was added since. */
void layout_back(layouter *l, speak_mark to);
/* Values of fixed extents, no control. */
bool layout_may_cross(const layouter *l, const ir_node *n);

/* Extents of a shape that are taken apart or put together to others: groups of both of equal size, in order. */
typedef struct layout_groups {
    uint32_t groups, group_of[IR_MAX_RANK]; /* of each extent of the first */
    size_t first[IR_MAX_RANK + 1];          /* of each group: where its extents begin among the others */
} layout_groups;
bool layout_find_groups(const ir_shape *in, const int64_t *to, size_t n, layout_groups *out);

/* ---- layout_cross.c ---- */
/* The node is computed on what its inputs were before they were transposed like its input number `at`; its outputs are put off.
 * false: that was not proved, and nothing is changed. */
bool layout_cross(layouter *l, const ir_node *n, size_t at);

/* ---- layout_absorb.c ---- */
/* A sum of products is said again over what stands before the moves of its input number `at`, where that takes no transpose. */
bool layout_absorb(layouter *l, const ir_node *n, size_t at);

#endif
