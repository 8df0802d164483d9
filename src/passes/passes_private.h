/* passes_private.h - what the passes share. */
#ifndef BURIN_PASSES_PRIVATE_H
#define BURIN_PASSES_PRIVATE_H

#include "passes/passes.h"

#define PASS(name, level, description) base_status passes_##name(passes_context *c, ir_model *m, base_diags *d);
#include "passes/passes.def"
#undef PASS

/* uses[t]: how many nodes read tensor t, plus one if it is an output of the graph. In scratch. */
uint32_t *passes_count_uses(base_arena *scratch, const ir_graph *g);
/* Drops the nodes with gone[i] set, keeping the order. */
void passes_drop(ir_graph *g, const bool *gone);
bool passes_same_quant(const ir_quant *a, const ir_quant *b);

#endif
