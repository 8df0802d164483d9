/* states.h - private to formats/onnx: inputs and outputs that metadata pairs as states (states.c). */
#ifndef BURIN_ONNX_STATES_H
#define BURIN_ONNX_STATES_H

#include "formats/onnx/reader.h"

#define ONNX_STATE_KEY "burin.state."

/* An entry of the metadata: it may pair an input and an output. */
void onnx_note_state(onnx_reader *r, const ir_metadata *e);
/* An input of the model's graph that has an initializer: becomes a state, if the metadata say so. */
void onnx_keep_state(onnx_reader *r, onnx_scope *scope, const char *name);
/* The output is a state's next contents, and none of the graph's. */
bool onnx_is_next_state(const onnx_reader *r, const char *name);
/* The nodes that change the states, when all else has been read. */
void onnx_change_states(onnx_reader *r, const wire_path *path, onnx_scope *scope);
/* In the place of tensors that stand for states, what the states are there: control nodes take values. */
void onnx_take_values(onnx_reader *r, const onnx_scope *scope, uint32_t *tensors, size_t n);
/* What the states say is no metadata any more. */
void onnx_forget_state_keys(ir_model *m);

#endif
