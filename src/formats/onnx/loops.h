/* loops.h - private to formats/onnx: what Loop and Scan have in common.
 *
 * A loop has values that it carries from round to round, tensors of which each round takes one slice, and tensors that grow
 * by one slice a round.
 */
#ifndef BURIN_ONNX_LOOPS_H
#define BURIN_ONNX_LOOPS_H

#include "formats/onnx/special.h"

/* A tensor by its slices along an axis, which the rounds take or give from the front, or from the back. */
typedef struct onnx_slices {
    uint32_t tensor; /* taken ones */
    int64_t axis;    /* from 0; of given ones as in the file */
    bool backwards;
} onnx_slices;

typedef struct onnx_loop {
    onnx_op *op;
    const onnx_attr *body;
    bool counts;    /* the body takes the round's number and the condition first, and gives the condition first */
    bool listed[2]; /* the body states that number, that condition as a list of one: exporters before version 11 did */
    int64_t rounds; /* how many at most; -1: not known, or no such limit */
    uint32_t limit; /* a tensor, i64 without dimensions, that says how many at most; IR_NONE: none, or known */
    int condition;  /* of the first round: 0, 1; -1: first says it, a bool without dimensions */
    uint32_t first;
    bool unconditional; /* what the body says of the condition is not used */
    const onnx_value *carried;
    size_t carried_count;
    const onnx_slices *taken, *given;
    size_t taken_count, given_count;
} onnx_loop;

/* What one round makes of the carried values. */
typedef struct onnx_round {
    onnx_value condition;
    const onnx_value *carried;
    uint32_t *slices;
} onnx_round;

/* Reads the body once. index: of the round, i64; carried: the values of the scope. false: a fault, or noted. */
bool onnx_read_round(const onnx_loop *l, onnx_scope *scope, uint32_t index, const onnx_value *carried,
                     onnx_round *round);
/* The results, carried values first. */
void onnx_give_results(const onnx_loop *l, const onnx_value *carried, const uint32_t *slices);
/* Reads the loop in the way that fits. Outputs are given, or a fault, or noted. */
void onnx_read_rounds(const onnx_loop *l);

/* What the body states: how many slices a round gives, and what is a list. false: a fault. */
bool onnx_read_outline(onnx_loop *l);

/* ---- while.c ---- */
/* A node over graphs of its own. false: a fault; or noted: the body changes shapes, or holds what is not supported. */
bool onnx_while(const onnx_loop *l);

/* ---- unroll.c ---- */
/* Each round for itself in the node's place; their number is known. */
void onnx_unroll(const onnx_loop *l);

#endif
