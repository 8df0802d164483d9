/* order.h - private to room `ir`: an executable order of a graph's nodes. */
#ifndef BURIN_IR_ORDER_H
#define BURIN_IR_ORDER_H

#include "ir/ir.h"

/* How a node is called in diagnostics: operator[ID] by its index in the input file, node[i] where a pass made it. */
const char *ir_node_label(const ir_model *m, const ir_graph *g, size_t node);

/* order[0..nodes.n) becomes an executable order of g that moves a node only where it must. Every tensor index of g is
 * in range. Nodes that touch one state keep their order among themselves; a control node whose graphs touch states keeps
 * its order with all that do. with_state: ir_graphs_with_state. A cycle is reported and refused. */
base_status ir_order(const ir_model *m, const ir_graph *g, const bool *with_state, uint32_t *order, base_diags *d);

/* control.c: the part of ir_verify that looks at several graphs. Every graph is sound for itself. */
base_status ir_verify_control(const ir_model *m, size_t first, base_diags *d);

#endif
