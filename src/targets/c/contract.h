/* contract.h - what the files of register tiles share (private to emit_contract.c, emit_lines.c, emit_window.c). */
#ifndef BURIN_TARGETS_C_CONTRACT_H
#define BURIN_TARGETS_C_CONTRACT_H

#include "targets/c/emit.h"

enum { C_NO_VAR = 255, C_MAX_K = 8, C_MAX_PATCH = 640 };

typedef struct c_check {
    lang_affine form; /* 0 <= form: inside */
    uint32_t out, k;  /* the output variable (C_NO_VAR: none) and the reduction variable in it */
} c_check;

typedef struct c_run { /* one loop of the reduction in one instance of the tile */
    int64_t extent, a_step, b_step;
    const char *low, *high; /* NULL: 0, extent */
} c_run;

typedef struct c_tile {
    c_unit *u;
    const plan_schedule *x;
    lang_roles roles;
    lang_affine a, b, out;
    base_type type;   /* of the accumulators */
    base_type a_type; /* of the elements of A */
    bool per_channel; /* A has the channel too */
    uint32_t m, n, mr, nr;
    int64_t M, N, K;
    uint32_t k_count, k[C_MAX_K];
    int64_t k_extent[C_MAX_K], k_step[C_MAX_K]; /* step: of the packed factor, in rows of nr */
    c_check check[2 * LANG_MAX_RANK];
    size_t check_count;
    int64_t low, high;    /* points [low, high) of m need no checks of m */
    lang_ref accumulated; /* the node that the accumulators hold at the end: the sum, or the sum and a bias */
    uint32_t bias;        /* program tensor of the bias, IR_NONE: none */
    lang_affine bias_form;
    int64_t addend;                    /* to A's elements; 0 where it is hoisted */
    bool is_unsigned;                  /* accumulators wrap: unsigned arithmetic */
    uint32_t weights, start;           /* arguments; start: UINT32_MAX where the accumulators start at 0 */
    int64_t outer_step[LANG_MAX_VARS]; /* of the packed factor by output variables other than n */
    bool scalar;                       /* accumulators are scalars; else arrays, in loops that compilers vectorise */
    bool dot;       /* points are copied to 16-bit lines first, products summed in pairs of the reduction */
    bool patch;     /* points are copied to lines first, their elements as they are */
    bool stream;    /* the tile reads its points by pointers that run through the whole reduction */
    int64_t a_step; /* stream: of those pointers */
    const char *w;  /* stream: the pointer to the packed factors */
    bool placed;    /* the plan has room for the lines */
    bool window;    /* one channel after the other, its points rolling along a row */
    const char *q;  /* the buffer of lines */
    int64_t line;   /* elements of a line: K, of pairs made even */
    int64_t fill;   /* what acts as 0 where A's elements are read as they are */
    uint32_t flat_count, flat[LANG_MAX_RANK]; /* output variables that lines let join m, innermost first */
    int64_t flat_extent[LANG_MAX_RANK];       /* of m, then of each of them, before they joined */
    uint32_t mr_now;                          /* points of the tile at hand */
    bool edge;                                /* the tile at hand needs the checks of m */
} c_tile;

static inline int64_t c_coefficient(const lang_affine *a, uint32_t var) {
    return (a->vars >> var & 1) != 0 ? a->coefficient[var] : 0;
}

/* ---- emit_contract.c ---- */
const char *c_accumulator_type(const c_tile *t);
/* The loops of the reduction for tiles that need the checks of m (edge) or not; neighbours joined where the addresses
 * allow. run: room for C_MAX_K. */
uint32_t c_runs_of(c_tile *t, bool edge, c_run *run);
/* An element of A at a pointer, in the accumulators' type, its addend added; a packed factor in that type. */
const char *c_a_element(c_tile *t, const char *pointer, const char *index);
const char *c_w_element(c_tile *t, const char *pointer, const char *index);
/* The rest of the body for the accumulator whose text is given, at the point that is bound, and its store. */
void c_finish_at(c_tile *t, const char *accumulator);
/* index + offset as text; base + step * var as text */
const char *c_plus(c_tile *t, const char *index, int64_t offset);
const char *c_scaled(c_tile *t, const char *base, const char *var, int64_t step);

/* ---- emit_lines.c ---- */
/* q: the elements of mr points in the order of the reduction, what acts as 0 where the fill acts. */
void c_gather(c_tile *t, uint32_t mr);
/* Joins to m the output variables that only A's addresses keep apart: lines are read by the point's number. */
void c_flatten_points(c_tile *t);

/* ---- emit_window.c ---- */
/* Can one channel's points roll along m, each element of A loaded once a row? */
bool c_window_fits(c_tile *t);
void c_emit_window(c_tile *t);

#endif
