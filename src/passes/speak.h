/* speak.h - private to passes: a program said in operators that a vocabulary has.
 *
 * Takes the program of a node. Gives nodes, added behind those of the graph, that compute the same: found from index maps and scalar
 * words alone. What is not found is none, and the caller takes back what was added.
 */
#ifndef BURIN_PASSES_SPEAK_H
#define BURIN_PASSES_SPEAK_H

#include "passes/passes_private.h"

enum { SPEAK_DIGITS = 24 };

/* A recurrence, of which a graph computes one round. */
typedef struct speak_loop {
    int32_t group;
    uint32_t var; /* of the stage at hand: the number of the round */
    int64_t rounds;
    uint32_t index;              /* the same as a value of the graph, i64 without extents */
    uint32_t *now, *before;      /* of each tensor of the program: what this round, and the one before, has of it */
    bool *carries;               /* of each: something reads it of the round before */
    uint32_t *seen;              /* of each: that of the graph around, as this graph sees it */
    const uint32_t *outside;     /* of each: that of the graph around */
    uint32_t around;             /* that graph */
    BASE_VEC(uint32_t) in, from; /* inputs of this graph, and what they are in the graph around; in turn */
} speak_loop;

typedef struct speaker {
    passes_context *c;
    ir_model *m;
    ir_graph *g;
    base_arena *scratch;
    const ir_node *origin; /* whose ids the new nodes have */
    const lang_program *p;
    const lang_stage *s; /* at hand */
    uint32_t *tensor;    /* of each tensor of p: that of the graph, IR_NONE: not yet */
    bool gathers;        /* what no move says is read element by element */
    bool only_products;  /* sums of products are operators of their own, or are not said */
    speak_loop *loop;    /* NULL: none */
    lang_ref instead_of; /* this read is of another tensor, with the same extents, which has 0 outside; 0: none is */
    uint32_t instead;
} speaker;

/* A tensor seen as one extent for each digit, in this order; var IR_NONE: an extent of 1 of no variable. */
typedef struct speak_axes {
    uint32_t tensor;
    uint32_t n;
    lang_digit at[SPEAK_DIGITS];
} speak_axes;

/* ---- speak_emit.c: nodes ---- */
typedef struct speak_mark {
    size_t nodes, tensors, graphs;
} speak_mark;
speak_mark speak_here(const speaker *s);
void speak_back(speaker *s, speak_mark to); /* takes back what was added since */
/* A node whose attributes may be set until speak_done: its output, with the type and shape that the definition gives; a
 * constant, where all inputs are. IR_NONE: the vocabulary has no word for it, or there is no such operator; it was taken back.
 * type: of the output, where the definition leaves it open; else BASE_NONE. */
ir_node *speak_node(speaker *s, const char *word, const uint32_t *inputs, size_t n, base_type type);
uint32_t speak_done(speaker *s);
/* Both of a node without attributes. */
uint32_t speak_word(speaker *s, const char *word, const uint32_t *inputs, size_t n, base_type type);
/* The same of one operand, and of two; a or b by a condition. */
uint32_t speak_one(speaker *s, const char *word, uint32_t a);
uint32_t speak_two(speaker *s, const char *word, uint32_t a, uint32_t b);
uint32_t speak_choose(speaker *s, uint32_t condition, uint32_t a, uint32_t b);
const ir_shape *speak_shape(const speaker *s, uint32_t t);
/* Data are copied. */
uint32_t speak_constant(speaker *s, base_type type, uint32_t rank, const int64_t *dims, const void *data);
uint32_t speak_scalar(speaker *s, base_type type, base_value v);
uint32_t speak_reshape(speaker *s, uint32_t t, uint32_t rank, const int64_t *dims);
uint32_t speak_transpose(speaker *s, uint32_t t, uint32_t rank, const int64_t *perm);
uint32_t speak_pad(speaker *s, uint32_t t, const int64_t *before, const int64_t *after, base_value fill);
/* Elements begin + k * stride, k < extent, along each extent. */
uint32_t speak_slice(speaker *s, uint32_t t, const int64_t *begin, const int64_t *strides, const int64_t *extents);
uint32_t speak_broadcast(speaker *s, uint32_t t, uint32_t rank, const int64_t *dims);

/* ---- speak_index.c: frames, and reads in them ---- */
/* The digits that reads under e need of the variables, from the highest digit of the first variable on; reductions under e
 * are not looked into. also: digits that are needed anyway (NULL: none). false: they cannot be had. */
bool speak_frame(speaker *s, const lang_ref *e, size_t n, const uint32_t *vars, uint32_t var_count,
                 const speak_axes *also, speak_axes *out);
/* The factor of each of the frame's digits. */
bool speak_factors(const speak_axes *frame, const lang_digits *form, int64_t *factor);
/* What is read, one extent a digit of the frame, in the order in which it stands there. */
bool speak_read(speaker *s, lang_ref read, const speak_axes *frame, speak_axes *out);
/* With the digits in this order, under a shape; digits that are not there have extent 1. IR_NONE: not possible. */
uint32_t speak_arrange(speaker *s, const speak_axes *from, const lang_digit *to, uint32_t n, uint32_t rank,
                       const int64_t *dims);
/* The same with the frame's own extents, or 1. */
uint32_t speak_to_frame(speaker *s, const speak_axes *from, const speak_axes *frame);
int64_t speak_extents(const lang_digit *at, uint32_t n); /* their product */

/* ---- speak_words.c: scalar words on tensors ---- */
uint32_t speak_number(speaker *s, base_type type, double v);
uint32_t speak_cast(speaker *s, uint32_t t, base_type type);
/* Elements of x, which has one extent, by number. */
uint32_t speak_gather(speaker *s, uint32_t x, uint32_t index);
/* The word on operands of that type (an if's: its condition's), to that type. IR_NONE: it cannot be said. */
uint32_t speak_scalar_word(speaker *s, lang_word w, base_type type, base_type to, const uint32_t *v, uint32_t n);

/* ---- speak_functions.c ---- */
/* A function of reals of that type, by arithmetic. IR_NONE: it is none, or that would not be close. */
uint32_t speak_function(speaker *s, lang_word w, base_type type, const uint32_t *v);
/* Bits of integers, by arithmetic and exclusive or. IR_NONE: it is no such word, or cannot be said. */
uint32_t speak_bits(speaker *s, lang_word w, base_type type, const uint32_t *v, uint32_t n);

/* ---- speak_quotients.c ---- */
/* Of integers, towards zero. IR_NONE: it cannot be said. */
uint32_t speak_quotient(speaker *s, uint32_t a, uint32_t b);
/* Rounded down; with the remainder that has the divisor's sign (IR_NONE: there is no word for it). */
uint32_t speak_quotient_down(speaker *s, uint32_t a, uint32_t b, uint32_t remainder);

/* ---- speak_recurrence.c ---- */
/* What is read: a tensor of the graph; of a tensor of the recurrence at hand what a round has, without that axis. */
typedef struct speak_source {
    uint32_t tensor;
    uint32_t round_axis; /* IR_NONE: it is none of the recurrence */
    bool before;         /* what the round before has; in the first one the read's fill, whatever is in the tensor */
} speak_source;
bool speak_source_of(speaker *s, lang_ref read, speak_source *out);
/* The stages of a recurrence from number `first` on: their tensors, if something behind it needs them. */
bool speak_recurrence(speaker *s, size_t first);

/* ---- speak.c: expressions ---- */
typedef struct speak_frame_values {
    speaker *s;
    speak_axes frame;
    uint32_t *memo; /* of each node of p: its tensor + 1 */
} speak_frame_values;
/* The value of e: a tensor with one extent for each digit of the frame (1 where it does not depend on it), or without
 * extents. IR_NONE: it cannot be said. */
uint32_t speak_value(speak_frame_values *f, lang_ref e);
/* One stage: its tensor, of a recurrence one round of it. IR_NONE: it cannot be said. */
uint32_t speak_stage(speaker *s, const lang_stage *stage);
/* The whole program: the tensors of its outputs. false: it cannot be said; what was added is taken back. */
bool speak_program(speaker *s, uint32_t *outputs);

/* ---- expand.c ---- */
/* No control flow, no scales, fixed extents. */
bool speak_may(const ir_graph *g, const ir_node *n);
/* The node's program, or one that is the same, in the node's place: behind the last node. false: it cannot be said. */
bool speak_as(speaker *s, const ir_node *n, const lang_program *p);

/* ---- carry.c: values of types that the format has not, in f32 ---- */
typedef struct speak_carrier {
    passes_context *c;
    ir_model *m;
    uint32_t graph;
    const ir_graph *before; /* the graph as it was */
    size_t count;           /* tensors that it had */
    uint32_t *held;         /* of each of them: the tensor that has it in f32; IR_NONE */
    bool *exact;            /* and has every value of it */
} speak_carrier;
speak_carrier speak_carry_begin(passes_context *c, ir_model *m, uint32_t graph, const ir_graph *before);
/* The node stays as it is: what converts to f64 is known in f32. */
void speak_carry_seen(speak_carrier *x, const ir_node *n);
/* The node with f32 for what it computes in a type of that kind. *rounds: it is f64, and values may be others. */
bool speak_carry(speak_carrier *x, const ir_node *n, lang_carries what, bool *rounds);

/* ---- speak_factors.c: sums of products of integers, on reals ---- */
/* The one read of a factor, 0: it has none, or several. */
lang_ref speak_factor_read(const speaker *s, lang_ref e);
/* Is the factor 0 where the read is outside of its tensor? */
bool speak_factor_is_zero_outside(const speaker *s, lang_ref e, lang_ref read);
typedef struct speak_exactness {
    base_type type; /* in which each factor is exact */
    bool known;     /* and sums of so many products of theirs, too */
    double one;     /* the first factor's largest amount */
} speak_exactness;
speak_exactness speak_exact_sums(speaker *s, lang_ref a, lang_ref b, int64_t products);
/* Is every sum exact in f32 whose other factors are one row (or column) of these constants, and at most that? */
bool speak_exact_with(const speaker *s, double most, uint32_t weights, bool rows);
/* The factor, with that value for its read, as reals. IR_NONE: it is no sum of it and a constant. */
uint32_t speak_factor_real(speak_frame_values *f, lang_ref e, lang_ref read, uint32_t value, base_type type);

/* ---- speak_named.c ---- */
/* The node's own word in the form that the vocabulary has, with moves around it: the tensors of its outputs. false: it is not known. */
bool speak_named(speaker *s, const ir_node *n, uint32_t *found);
/* The same of a node that gives places, or slices, as many as a run has, into its own output. */
bool speak_places(speaker *s, const ir_node *n);

/* ---- speak_reduce.c: reductions ---- */
/* The body in the frame, reduced. */
uint32_t speak_reduced_body(speak_frame_values *f, lang_ref e);
/* A reduction in the frame: an operator of its own, or its body reduced. */
uint32_t speak_reduction(speak_frame_values *f, lang_ref e);
/* Two that are said together: a sum of products and what is added, the sum of a window and what divides it. IR_NONE: they are not. */
uint32_t speak_together(speak_frame_values *f, lang_ref e);

/* ---- speak_contract.c, speak_window.c: reductions that are operators of their own ---- */
/* A sum of products, and an addend for each output channel (0: none): in the frame. IR_NONE: it is no such sum. */
uint32_t speak_contraction(speak_frame_values *f, lang_ref sum, lang_ref addend);
/* The largest, or the sum, of a window. counts: a constant in the frame that the sum is divided by; IR_NONE: none. */
uint32_t speak_window(speak_frame_values *f, lang_ref reduction, uint32_t counts);

/* Index = stride * output + dilation * reduced + offset, along an extent. */
typedef struct speak_tap {
    uint32_t axis; /* of the tensor that is read */
    lang_digit out, in;
    int64_t stride, dilation, offset, extent;
    bool backward; /* dilation and offset are those of the taps in the other order */
} speak_tap;
/* What is added before and behind for the outermost taps; below 0 before: what they leave out. false: that. */
bool speak_tap_pads(const speak_tap *t, int64_t *before, int64_t *after);

#endif
