/* arrays.h - private to formats/onnx: a tensor with contents as a message, and as a file of its own. */
#ifndef BURIN_ONNX_ARRAYS_H
#define BURIN_ONNX_ARRAYS_H

#include "formats/formats.h"
#include "wire/wire.h"

/* A TensorProto; t->data is borrowed until it is written. strings: of tensors of type str, which hold their numbers. */
wire_pb_out onnx_tensor_message(base_arena *arena, const base_map *strings, const ir_tensor *t);
/* The same, whose contents stand in a file of that name, so many bytes from that one on. */
wire_pb_out onnx_tensor_beside(base_arena *arena, const ir_tensor *t, const char *name, uint64_t offset, uint64_t n);
/* formats_onnx.read_tensor and write_tensor */
base_status onnx_read_array(base_arena *arena, const char *file, base_bytes bytes, base_map *strings, ir_tensor *out,
                            base_diags *d);
void onnx_write_array(base_arena *arena, const base_map *strings, const ir_tensor *t, base_text *out);

/* formats_onnx.read_list and write_list */
base_status onnx_read_list(base_arena *arena, const char *file, base_bytes bytes, base_map *strings,
                           formats_contents *out, base_diags *d);
void onnx_write_list(base_arena *arena, const base_map *strings, const char *form, const ir_tensor *tensors,
                     base_text *out);

#endif
