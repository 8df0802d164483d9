/* steps.h - private to formats/tflite: every kind of step of the dictionary, and what their files share.
 *
 * A kind is defined in steps_options.c (attributes that TFLite keeps in options), steps_windows.c (those of windows), steps_inputs.c (in constant inputs),
 * steps_outputs.c (in the shapes of outputs), steps_states.c (in variable tensors and intermediates) or steps_slices.c. dictionary.def says what each does.
 */
#ifndef BURIN_TFLITE_STEPS_H
#define BURIN_TFLITE_STEPS_H

#include "formats/tflite/dictionary.h"

extern const tflite_step_kind tflite_step_act, tflite_step_int, tflite_step_of_i16, tflite_step_ints,
    tflite_step_floats, tflite_step_float, tflite_step_axis, tflite_step_count, tflite_step_said, tflite_step_only,
    tflite_step_table, tflite_step_body, tflite_step_multiplier, tflite_step_typed_as_inputs;
extern const tflite_step_kind tflite_step_axis_in, tflite_step_axes_in, tflite_step_perm_in, tflite_step_pads_in,
    tflite_step_said_in, tflite_step_list_in, tflite_step_pairs_in, tflite_step_int_in;
extern const tflite_step_kind tflite_step_out_shape, tflite_step_out_extents, tflite_step_ones_in, tflite_step_ones_out,
    tflite_step_even, tflite_step_own_shapes, tflite_step_times, tflite_step_inputs, tflite_step_outputs,
    tflite_step_type_out, tflite_step_narrow_out, tflite_step_bias_type;
extern const tflite_step_kind tflite_step_blocks;
extern const tflite_step_kind tflite_step_complex, tflite_step_raw, tflite_step_keeps, tflite_step_holds,
    tflite_step_states, tflite_step_intermediates, tflite_step_graph;
extern const tflite_step_kind tflite_step_pair, tflite_step_triple, tflite_step_pads, tflite_step_transposed;
extern const tflite_step_kind tflite_step_slice, tflite_step_window_in;

#define TFLITE_LIKE_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* ---- reading ---- */

/* Numbers are TFLite's, dropped inputs too. */
const ir_tensor *tflite_op_input(const tflite_op *op, size_t i);
const ir_tensor *tflite_op_output(const tflite_op *op, size_t i);
/* An integer option: what the schema says of an absent field, but 0 where there is no table. */
int64_t tflite_op_option(tflite_op *op, int field);
/* A fault that is seen in the operator's tensors. */
void tflite_op_error(tflite_op *op, const char *format, ...) TFLITE_LIKE_PRINTF(2, 3);
/* A fault of an option's value. */
void tflite_op_option_error(tflite_op *op, int field, const char *format, ...) TFLITE_LIKE_PRINTF(3, 4);
/* axis from 0, for a tensor of that rank; -1: a fault, reported. */
int64_t tflite_op_axis(tflite_op *op, int64_t axis, uint32_t rank);
/* The contents of a constant input of integers, which is dropped; NULL: not constant (noted), or a fault. */
int64_t *tflite_op_constant(tflite_op *op, int input, size_t *n);
/* Of a list of extents one may be -1: it becomes what is left of the whole, which is all elements of input 0, or (where
 * the node has an axis) its extent there. false: a fault, reported. */
bool tflite_op_solve(tflite_op *op, int64_t *list, size_t n);
/* Does the operator take what is recorded of the attribute of OUT_SHAPE or OUT_EXTENTS, whatever it is told? */
bool tflite_op_reads_recorded(const tflite_op *op);
/* The attribute that OUT_SHAPE or OUT_EXTENTS takes from what is recorded, as the operator is told it (one extent may be -1). Where the two
 * differ, what is impossible does not count; else what TFLM's kernel reads in its numerics, what it is told otherwise. */
void tflite_op_told(tflite_op *op, const tflite_step *step, int64_t *list, size_t n);
/* A doubt about the operator that ends nothing. */
void tflite_op_warn(tflite_op *op, const char *format, ...) TFLITE_LIKE_PRINTF(2, 3);
/* It cannot be computed as the file says (message): a fault if anything depends on it. NULL: its first output does not
 * depend on its first input. */
void tflite_op_doubt(tflite_op *op, const char *message);
/* An attribute that is the shape: -1 for an extent that data decides, if there is one. */
void tflite_op_shape_attr(tflite_op *op, const char *name, const ir_shape *shape);

/* ---- writing ---- */

/* Nodes may come from a text: attributes of any kind and size, inputs and outputs of any number.
 * Inputs' numbers are the node's. One that is not there is a tensor without extents, and the row cannot say the node. */
const ir_tensor *tflite_out_input(tflite_out *out, size_t i);
const ir_tensor *tflite_out_output(tflite_out *out, size_t i);
/* The attribute, or what its definition says of an absent one, which with that is said; NULL: the node has none of this kind, and the row cannot say it. */
const ir_attr *tflite_out_attr(tflite_out *out, const char *name, ir_attr_kind kind);
/* The row cannot say the node. The first reason stays. */
void tflite_out_cannot(tflite_out *out, const char *format, ...) TFLITE_LIKE_PRINTF(2, 3);
/* The row cannot, where no runtime has a kernel for the operator's types or ranks (kernels.c). */
void tflite_check_kernel(tflite_out *out);
/* Sets a field of the options table; what does not fit in it cannot be said. */
void tflite_out_int(tflite_out *out, int field, int64_t v);
void tflite_out_float(tflite_out *out, int field, double v);
void tflite_out_wide(tflite_out *out, int field, const int64_t *list, size_t n);
void tflite_out_floats(tflite_out *out, int field, const float *list, size_t n);
void tflite_out_ints(tflite_out *out, int field, const int64_t *list, size_t n);
/* A constant input at that place of TFLite's inputs, with the values (i32) as elements of that shape. name is what it
 * says. */
void tflite_out_constant(tflite_out *out, size_t at, const char *name, const ir_shape *shape, const int64_t *values);
/* The same, a list. */
void tflite_out_list(tflite_out *out, size_t at, const char *name, const int64_t *values, size_t n);

#endif
