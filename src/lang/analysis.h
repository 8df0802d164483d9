/* analysis.h - what can be known of a program without running it (part of lang's face).
 *
 * Takes programs. Gives affine forms, integer ranges, guard conjuncts and roles. Changes nothing.
 * "Quasi-affine" and "data-dependent" are results here, never declarations.
 */
#ifndef BURIN_LANG_ANALYSIS_H
#define BURIN_LANG_ANALYSIS_H

#include "lang/program.h"

/* ---- ranges: a closed interval of an integer (or bool) expression over all values of its variables and inputs ---- */
typedef struct lang_range {
    int64_t lo, hi; /* u64 values above INT64_MAX: known = false */
    bool known;
} lang_range;

/* One analysis of one program; memoised. data of constant tensors is read once per tensor for its range; input tensors
 * have the full range of their type unless set. Intervals are of the mathematical value: an operation that may wrap
 * gives the type's range. */
typedef struct lang_ranges lang_ranges;
lang_ranges *lang_ranges_new(base_arena *arena, const lang_program *p);
void lang_ranges_tensor(lang_ranges *r, uint32_t tensor, lang_range range); /* narrower contents, known by the caller */
lang_range lang_range_of(lang_ranges *r, const lang_stage *s, lang_ref e);
lang_range lang_range_tensor(lang_ranges *r, uint32_t tensor); /* of all elements */
/* Could the integer arithmetic of node e (ADD SUB MUL NEG ABS SHL, SUM, PROD) leave its type? false is a proof that it
 * cannot. */
bool lang_may_wrap(lang_ranges *r, const lang_stage *s, lang_ref e);

/* ---- affine forms: c0 + sum of coefficient * variable ---- */
typedef struct lang_affine {
    int64_t constant;
    int64_t coefficient[LANG_MAX_VARS]; /* of variable k of the stage */
    uint64_t vars;                      /* those with a coefficient other than 0 */
} lang_affine;
/* false: not affine (div, mod, data-dependent, overflow). */
bool lang_affine_of(const lang_program *p, lang_ref e, lang_affine *out);
/* The affine form of the row-major element number that a read addresses (dims of its tensor exact); false as above. */
bool lang_affine_read(const lang_program *p, lang_ref read, lang_affine *out);

/* ---- digits: c0 + sum of factor * digit, where a digit of variable v is (v / low) % extent ---- */
#define LANG_MAX_TERMS 24u
typedef struct lang_digit {
    uint32_t var;
    int64_t low, extent;
} lang_digit;
typedef struct lang_term {
    lang_digit digit;
    int64_t factor; /* not 0 */
} lang_term;
typedef struct lang_digits {
    int64_t constant;
    uint32_t n;
    lang_term term[LANG_MAX_TERMS]; /* of one variable: from its highest digit on */
} lang_digits;
/* Divisions and remainders of affine forms, too, where they take digits apart. false: it is no such form, or an extent is
 * not constant. */
bool lang_digits_of(const lang_program *p, lang_ref e, lang_digits *out);
/* The index of a read along each extent of its tensor; a flat one is taken apart. false as above. index: room for the rank. */
bool lang_digits_read(const lang_program *p, lang_ref read, lang_digits *index);
/* The row-major element number that a read addresses. false as above, or an extent is open. */
bool lang_digits_address(const lang_program *p, lang_ref read, lang_digits *out);
bool lang_digits_add(lang_digits *to, int64_t factor, const lang_digits *a);
/* The least and greatest value. false: not in 64 bits. */
bool lang_digits_range(const lang_digits *a, int64_t *lo, int64_t *hi);

/* Do both compute the same, but for the order of extents, of reduced variables and of operands that may be swapped? inputs[i][k]
 * says which extent of b's input i is extent k of a's; further ones of b's are 1. output[j][k] becomes the extent of b's output
 * j that is extent k of a's: room for each output. Factors of 1.0 do not count. true is a proof; false says nothing. */
bool lang_alike(base_arena *scratch, const lang_program *a, const lang_program *b, const uint32_t *const *inputs,
                uint32_t (*output)[LANG_MAX_RANK]);

/* ---- conditions ---- */
/* The conjuncts of a guard, in order. */
size_t lang_conjuncts(const lang_program *p, lang_ref guard, lang_ref *out, size_t max);
/* The condition under which read r is inside its tensor, as affine inequalities 0 <= a <= limit, one per dimension that
 * can leave it (by ranges). false: some index is not affine. */
typedef struct lang_bound_check {
    lang_affine index;
    int64_t extent; /* inside: 0 <= index < extent */
    bool low, high; /* which side can fail */
} lang_bound_check;
bool lang_read_checks(lang_ranges *r, const lang_stage *s, lang_ref read, lang_bound_check *out,
                      size_t *n /* in: room, out: count */);

/* Is read r inside its tensor wherever stage s evaluates it: by its indices' ranges, and by the conditions of the ifs,
 * &&, || and guards above it? true is a proof: no check is needed, and a fill cannot act. */
bool lang_read_inside(lang_ranges *r, const lang_stage *s, lang_ref read);

/* ---- roles: what a stage is, found, never declared ---- */
typedef enum lang_role {
    LANG_ROLE_NONE,  /* variable does not occur */
    LANG_ROLE_M,     /* output, factor A */
    LANG_ROLE_N,     /* output, factor B */
    LANG_ROLE_BATCH, /* output and both factors */
    LANG_ROLE_K,     /* reduced, both factors */
    LANG_ROLE_K_A,   /* reduced, factor A only */
    LANG_ROLE_K_B,
    LANG_ROLE_FREE, /* output, in no factor */
} lang_role;

typedef enum lang_pattern {
    LANG_MAP,       /* no reduction */
    LANG_MOVE,      /* the body is one read (and casts) */
    LANG_CONTRACT,  /* one sum of a product of two reads (casts and constants added allowed), with M or batch, N, K */
    LANG_DEPTHWISE, /* a contraction without N: all of B's output variables are A's too */
    LANG_WINDOW,    /* one reduction of one read, whose index mixes output and reduction variables (pools) */
    LANG_ROW,       /* one reduction of an expression of reads (row reductions, norms) */
    LANG_SCATTER,   /* an equality guard binds a reduction variable to an output one */
    LANG_RECURRENT, /* part of a rec */
    LANG_OTHER,     /* several reductions, or nested */
} lang_pattern;

/* A factor of a contraction: (read [cast to the accumulator's type]) + addend. */
typedef struct lang_factor {
    lang_ref read;   /* the LANG_READ */
    lang_ref addend; /* integer constant or per-stage invariant added after the cast; 0: none */
    lang_ref whole;  /* the factor as it stands in the product */
} lang_factor;

typedef struct lang_roles {
    lang_pattern pattern;
    lang_ref reduction; /* the one REDUCE node; 0 if none */
    lang_factor a, b;   /* CONTRACT, DEPTHWISE: b is the constant one where one is (weights) */
    lang_role role[LANG_MAX_VARS];
    bool mixed;   /* an index of a mixes output and reduction variables (convolution) */
    bool guarded; /* some read has a fill that can act, or the reduction has a guard */
} lang_roles;
lang_roles lang_roles_of(lang_ranges *r, const lang_stage *s);

/* One byte a node of p, 1 where the body of stage s needs it; s NULL: where any stage does. */
uint8_t *lang_reached(base_arena *scratch, const lang_program *p, const lang_stage *s);
/* Does e contain a reduction node? Does stage s read tensor t, and how often? */
bool lang_has_reduction(const lang_program *p, lang_ref e);
uint32_t lang_reads_of(const lang_program *p, const lang_stage *s, uint32_t tensor);
/* Does a reduction of stage s have a read of tensor t inside, so that it may be made more than once a point? */
bool lang_reduces_over(const lang_program *p, const lang_stage *s, uint32_t tensor);
/* Every read of tensor t by stage s is at exactly the point being written (same variables, same order): in place is
 * legal. */
bool lang_reads_at_point(const lang_program *p, const lang_stage *s, uint32_t tensor);
/* ---- views: stages that only move bytes ---- */
/* Elements to .. to + count of the stage's output, in row-major order, are elements from .. from + count of the tensor,
 * which has the same type. */
typedef struct lang_piece {
    uint32_t tensor;
    int64_t from, to, count;
} lang_piece;
/* The whole output of stage s as such pieces, in order. false: it is more, or there are more of them than there is room
 * for. */
bool lang_pieces(const lang_program *p, const lang_stage *s, lang_piece *out, size_t *n /* in: room, out: count */);
/* The program copies all elements of one input, whose contents are not known, in their order to its one output: *input is
 * set. */
bool lang_is_copy(const lang_program *p, uint32_t *input);

/* Multiply-accumulates of the program: elements x domain of every sum of products. */
uint64_t lang_macs(const lang_program *p);

#endif
