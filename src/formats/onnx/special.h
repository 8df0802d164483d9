/* special.h - private to formats/onnx: nodes that are no operator of the graph, since they are about names, graphs or
 * values that are known when the file is read.
 */
#ifndef BURIN_ONNX_SPECIAL_H
#define BURIN_ONNX_SPECIAL_H

#include "formats/onnx/steps.h"

typedef struct onnx_special {
    const char *domain, *op;
    int since;
    void (*read)(onnx_op *op);
} onnx_special;

/* NULL: the node is an operator. */
const onnx_special *onnx_special_of(const char *domain, const char *op, int64_t version);

/* The outputs' names stand for these tensors of the scope's graph. */
void onnx_give(onnx_op *op, size_t output, uint32_t tensor);
void onnx_give_value(onnx_op *op, size_t output, const onnx_value *value);
const char *onnx_kind_name(const onnx_value *v); /* "a sequence" */

/* ---- functions.c ---- */
/* The function's body in the node's place. */
void onnx_call_function(onnx_op *op, onnx_function *f);

/* ---- several.c ---- */
void onnx_read_max(onnx_op *op);
void onnx_read_min(onnx_op *op);
void onnx_read_sum(onnx_op *op);
void onnx_read_mean(onnx_op *op);
void onnx_read_einsum(onnx_op *op);
void onnx_read_adagrad(onnx_op *op);
void onnx_read_adam(onnx_op *op);
void onnx_read_momentum(onnx_op *op);

/* ---- made.c: nodes that the file does not have ---- */
/* A node of that word with one output, which has no type yet, in the scope's graph; attributes are the caller's to set. */
onnx_op onnx_make(const onnx_op *op, onnx_scope *scope, const char *word, const uint32_t *inputs, size_t n);
/* Its output, typed by its definition; IR_NONE: a fault, or noted as not supported. */
uint32_t onnx_finish(onnx_op *op);
/* A constant of that type, i64, i32 or bool: a scalar, or a list. */
uint32_t onnx_make_scalar(const onnx_op *op, onnx_scope *scope, base_type type, int64_t value);
uint32_t onnx_make_list(const onnx_op *op, onnx_scope *scope, const int64_t *values, size_t n);
/* Zeros, by a node. IR_NONE as above. */
uint32_t onnx_make_zeros(const onnx_op *op, onnx_scope *scope, base_type type, const ir_shape *shape);
/* The tensor under another shape of as many elements; IR_NONE as above. */
uint32_t onnx_make_reshape(const onnx_op *op, onnx_scope *scope, uint32_t tensor, const ir_shape *shape);
/* Elements of index [from, from + count) along an axis. */
uint32_t onnx_make_slice(const onnx_op *op, onnx_scope *scope, uint32_t tensor, uint32_t axis, int64_t from,
                         int64_t count);
/* Tensors one after another along an axis; pack: along a new one. n > 0. */
uint32_t onnx_make_join(const onnx_op *op, onnx_scope *scope, const uint32_t *tensors, size_t n, uint32_t axis,
                        bool pack);

/* ---- parts.c: values and the tensors that they consist of ---- */
typedef BASE_VEC(uint32_t) onnx_tensors;
/* The tensors that a value consists of, in order. */
void onnx_parts(onnx_reader *r, const onnx_value *v, onnx_tensors *out);
/* A value of the same structure of other tensors, which *at counts through. */
onnx_value onnx_rebuild(onnx_reader *r, const onnx_value *v, const uint32_t *tensors, size_t *at);
/* Tensors of the same types and shapes in another graph. */
onnx_value onnx_like(onnx_reader *r, const onnx_scope *from, const onnx_value *v, const onnx_scope *to,
                     const char *name);
/* The same structure, types and shapes? */
bool onnx_alike(onnx_reader *r, const onnx_scope *a_scope, const onnx_value *a, const onnx_scope *b_scope,
                const onnx_value *b);
/* Of two optional values the one that may have what either has: false: they are none, or what they may have is not alike; or
 * noted. Each becomes that in its own scope, and says so there: zeros stand for what it has not. */
bool onnx_make_maybe(onnx_op *op, onnx_scope *a_scope, onnx_value *a, onnx_scope *b_scope, onnx_value *b);
/* "a sequence of 3", "f32 2x3" */
const char *onnx_value_print(onnx_reader *r, const onnx_scope *scope, const onnx_value *v);

/* ---- control.c ---- */
void onnx_read_if(onnx_op *op);
/* A graph of the model below the scope's, empty. */
uint32_t onnx_below(onnx_reader *r);
/* The graphs from that number on are gone, and symbols from that one on. */
void onnx_forget(onnx_reader *r, size_t graphs, size_t symbols);
/* What a condition is known to be: 0, 1; -1: a run decides; -2: a fault, reported: it is not one bool. */
int onnx_truth(onnx_op *op, const onnx_scope *scope, const onnx_value *v);
/* An extent that data decides is not handed to a graph below. false: noted. */
bool onnx_settle_captures(onnx_op *op, const onnx_scope *below);

/* ---- loops.c ---- */
void onnx_read_loop(onnx_op *op);
/* ---- scan.c ---- */
void onnx_read_scan(onnx_op *op);
void onnx_read_scan_8(onnx_op *op);

/* ---- sequences.c ---- */
void onnx_read_sequence_construct(onnx_op *op);
void onnx_read_sequence_empty(onnx_op *op);
void onnx_read_sequence_insert(onnx_op *op);
void onnx_read_sequence_erase(onnx_op *op);
void onnx_read_sequence_at(onnx_op *op);
void onnx_read_sequence_length(onnx_op *op);
void onnx_read_sequence_map(onnx_op *op);
void onnx_read_concat_from_sequence(onnx_op *op);
void onnx_read_split_to_sequence(onnx_op *op);
void onnx_read_optional(onnx_op *op);
void onnx_read_optional_get(onnx_op *op);
void onnx_read_optional_has(onnx_op *op);

/* ---- flex.c ---- */
void onnx_read_flex_attention(onnx_op *op);

/* ---- classes.c ---- */
void onnx_read_zip_map(onnx_op *op);
/* An input of the node stands for strings or maps, which was noted. */
bool onnx_takes_instead(onnx_op *op);

/* ---- strings.c ---- */
/* An input is of strings, and the operator takes none: noted. */
bool onnx_refuses_strings(onnx_op *op);
/* Is it a Cast to or from strings? Then its output is given, unless a fault was reported or noted. */
bool onnx_casts_strings(onnx_op *op);
void onnx_read_string_concat(onnx_op *op);
void onnx_read_string_split(onnx_op *op);
void onnx_read_string_normalizer(onnx_op *op);
void onnx_read_regex_full_match(onnx_op *op);

/* ---- known.c ---- */
void onnx_read_constant(onnx_op *op);
void onnx_read_shape(onnx_op *op);
void onnx_read_size(onnx_op *op);
void onnx_read_identity(onnx_op *op);

#endif
