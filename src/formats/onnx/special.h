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

/* ---- known.c ---- */
void onnx_read_constant(onnx_op *op);
void onnx_read_shape(onnx_op *op);
void onnx_read_size(onnx_op *op);
void onnx_read_identity(onnx_op *op);

#endif
