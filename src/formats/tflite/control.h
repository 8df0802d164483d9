/* control.h - private to formats/tflite: operators that call sub-graphs and that keep variables. */
#ifndef BURIN_TFLITE_CONTROL_H
#define BURIN_TFLITE_CONTROL_H

#include "formats/tflite/steps.h"

/* Is it one of those operators, which have no row in the dictionary? */
bool tflite_is_control(int64_t code);
/* Reads it: its tensors are verified. */
void tflite_read_control(tflite_op *op, int64_t code);
/* VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, CALL_ONCE (variables.c). */
void tflite_read_variable_op(tflite_op *op, int64_t code);
/* Is there such a sub-graph? false, and a fault: there is not. */
bool tflite_is_subgraph(tflite_op *op, int64_t subgraph);

#endif
