/* steps.h - private to formats/onnx: every kind of step of the dictionary, and what their files share.
 *
 * A kind is defined in the file of its family, steps_*.c; words.def says what each does.
 */
#ifndef BURIN_ONNX_STEPS_H
#define BURIN_ONNX_STEPS_H

#include "formats/onnx/writer.h"

/* steps_attributes.c */
extern const onnx_step_kind onnx_step_int, onnx_step_float, onnx_step_text, onnx_step_ints, onnx_step_floats,
    onnx_step_only, onnx_step_ignored, onnx_step_scalar, onnx_step_axis, onnx_step_channel_axis, onnx_step_rest,
    onnx_step_choice, onnx_step_equation;
/* steps_types.c */
extern const onnx_step_kind onnx_step_type, onnx_step_type_named, onnx_step_type_like, onnx_step_type_text,
    onnx_step_type_is, onnx_step_saturate, onnx_step_wrap, onnx_step_wider;
/* steps_inputs.c */
extern const onnx_step_kind onnx_step_list_in, onnx_step_axis_in, onnx_step_axes, onnx_step_drop_in,
    onnx_step_broadcast, onnx_step_scalars_from, onnx_step_int_in, onnx_step_float_in;
/* steps_ml.c */
extern const onnx_step_kind onnx_step_const_floats, onnx_step_const_ints, onnx_step_classes, onnx_step_mapped,
    onnx_step_categories, onnx_step_features, onnx_step_imputed, onnx_step_encoded;
/* steps_trees.c */
extern const onnx_step_kind onnx_step_trees, onnx_step_trees_5;
/* steps_svm.c */
extern const onnx_step_kind onnx_step_svm;
/* steps_text.c */
extern const onnx_step_kind onnx_step_grams;
/* steps_recurrent.c */
extern const onnx_step_kind onnx_step_recurrent;
/* steps_ms.c */
extern const onnx_step_kind onnx_step_order, onnx_step_absent, onnx_step_triples, onnx_step_fused, onnx_step_at_least,
    onnx_step_only_float;
/* steps_nets.c */
extern const onnx_step_kind onnx_step_window, onnx_step_transposed, onnx_step_unpool, onnx_step_axes_from,
    onnx_step_given, onnx_step_mean_axes, onnx_step_outputs, onnx_step_float_optional, onnx_step_dropout,
    onnx_step_groups, onnx_step_rank_of, onnx_step_read_only, onnx_step_unchecked;
/* steps_moves.c */
extern const onnx_step_kind onnx_step_perm, onnx_step_reshape, onnx_step_flatten, onnx_step_squeeze,
    onnx_step_unsqueeze, onnx_step_expand, onnx_step_fill, onnx_step_slice, onnx_step_slice_in, onnx_step_pad,
    onnx_step_center, onnx_step_split, onnx_step_tile_axis;
/* steps_numbers.c */
extern const onnx_step_kind onnx_step_indexes_out, onnx_step_number_in, onnx_step_most_in, onnx_step_refused,
    onnx_step_random, onnx_step_range, onnx_step_behind, onnx_step_axis_if, onnx_step_ints_like;
/* steps_resize.c */
extern const onnx_step_kind onnx_step_resize, onnx_step_upsample, onnx_step_grid_mode;

/* ---- reading ---- */
/* The attribute of that name, marked as used; NULL: it is absent, or a fault: it is of another type. */
const onnx_attr *onnx_op_attr(onnx_op *op, const char *name, onnx_attr_type type);
/* An attribute that says nothing about values. */
void onnx_op_ignore(onnx_op *op, const char *name);
int64_t onnx_op_int(onnx_op *op, const char *name, int64_t otherwise);
float onnx_op_float(onnx_op *op, const char *name, float otherwise);
const char *onnx_op_text(onnx_op *op, const char *name, const char *otherwise);
/* The ints of an attribute; NULL and *n 0: absent. */
const int64_t *onnx_op_ints(onnx_op *op, const char *name, size_t *n);
/* The strings' numbers, as a tensor of type str holds them. */
uint32_t *onnx_op_strings(onnx_op *op, const base_bytes *strings, size_t n);
/* Numbers are ONNX's; a tensor without type stands for one that is absent. */
const ir_tensor *onnx_op_input(const onnx_op *op, size_t i);
bool onnx_op_has_input(const onnx_op *op, size_t i);
/* Classes of two attributes, of which one is there; of strings their numbers: then output 0 stands for strings. NULL: a
 * fault. */
const int64_t *onnx_op_classes(onnx_op *op, const char *strings, const char *ints, size_t *n);
/* The values of a constant integer input, which is dropped; NULL: it is absent; or not constant (noted), or a fault. What is
 * known for the run that the model is read for counts as constant. */
int64_t *onnx_op_constant(onnx_op *op, size_t input, size_t *n);
/* The same of numbers of any type. */
double *onnx_op_numbers(onnx_op *op, size_t input, size_t *n);
/* What the input holds, a constant or known for the run that the model is read for; NULL: absent, or not known. */
const void *onnx_op_contents(const onnx_op *op, size_t i);
/* An input whose contents the definition needs: it becomes a constant, where it is not one and is known for this run. false:
 * it is not known, which was noted. */
bool onnx_op_pin(onnx_op *op, size_t input);
/* That input with another shape of as many elements: a constant, or what a node before this one gives. */
void onnx_op_reshape(onnx_op *op, size_t input, const ir_shape *shape);
/* That input with its elements in that type, which a node before this one gives. */
void onnx_op_cast(onnx_op *op, size_t input, base_type type);
/* Of that input the part of that shape that begins there, which a node before this one gives. */
void onnx_op_slice(onnx_op *op, size_t input, const int64_t *begin, const ir_shape *shape);
/* The next of the constants that become inputs is absent. */
void onnx_op_add_absent(onnx_op *op);
/* axis from 0, for a tensor of that rank; -1: a fault, reported. */
int64_t onnx_op_axis(onnx_op *op, const char *what, int64_t axis, uint32_t rank);
/* Each from 0, ascending, none twice; in place. false: a fault, reported. */
bool onnx_op_axes(onnx_op *op, const char *what, int64_t *axes, size_t n, uint32_t rank);
/* A constant, which becomes an input of the node behind those of the file. Data are borrowed. */
void onnx_op_add_constant(onnx_op *op, const char *name, base_type type, const ir_shape *shape, const void *data);
/* An attribute of the next constant behind ONNX's inputs, which is a list of floats of 32 bits, or of integers; absent where
 * that is. */
void onnx_put_list_as_floats(onnx_out *out, const char *attr);
void onnx_put_list_as_ints(onnx_out *out, const char *attr);
void onnx_op_error(onnx_op *op, const char *format, ...) ONNX_LIKE_PRINTF(2, 3);
/* What is taken for the file's meaning, where the standard has none. */
void onnx_op_warn(onnx_op *op, uint64_t byte, const char *format, ...) ONNX_LIKE_PRINTF(3, 4);
/* Something valid that is not supported: "what is not supported; remedy". */
void onnx_op_unsupported(onnx_op *op, const char *what, const char *remedy);
bool onnx_op_failed(const onnx_op *op);

#endif
