/* metadata.h - private to formats/onnx: metadata that are no text (metadata.c). */
#ifndef BURIN_ONNX_METADATA_H
#define BURIN_ONNX_METADATA_H

#include "ir/ir.h"

/* The entry as ONNX may have it, in arena where it is another. */
ir_metadata onnx_metadata_as_text(base_arena *arena, const ir_metadata *e);
/* The entry that was written so. */
ir_metadata onnx_metadata_from_text(base_arena *arena, const ir_metadata *e);

/* What says where values may lie (places.c); it holds for one file, and is none of a model that was read. */
#define ONNX_PLACES "burin.memory_plan"

#endif
