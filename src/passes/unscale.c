/* unscale.c - scales of tensors become inputs of operators, as ONNX has them.
 *
 * Takes a graph whose arithmetic is on reals, with quantize and dequantize around it. Gives quantize_linear and dequantize_linear with
 * constants for scales and zero points, and tensors without. A state keeps its scales.
 */
#include <string.h>

#include "passes/passes_private.h"

typedef struct unscaler {
    passes_context *c;
    ir_model *m;
    ir_graph *g;
} unscaler;

static uint32_t scales_of(unscaler *q, const char *name, const ir_quant *quant) {
    const int64_t n = quant->n;
    const ir_shape shape = ir_shape_of(n > 1, &n);
    float *list = BASE_NEWS(q->c->arena, float, quant->n);
    for (uint32_t k = 0; k < quant->n; k++) {
        base_store(BASE_F32, list, k, (base_value){.f = (double)quant->scale[k]});
    }
    return passes_constant_add(q->m, q->g, base_printf(q->c->arena, "%s_scale", name), BASE_F32, &shape, list);
}

static uint32_t zeros_of(unscaler *q, const char *name, base_type type, const ir_quant *quant) {
    const int64_t n = quant->n;
    const ir_shape shape = ir_shape_of(n > 1, &n);
    uint64_t bytes = 0;
    (void)base_type_bytes(type, quant->n, &bytes);
    void *list = base_alloc(q->c->arena, (size_t)bytes + 1, 1);
    for (uint32_t k = 0; k < quant->n; k++) {
        base_store(type, list, k, (base_value){.i = quant->zero[k]});
    }
    return passes_constant_add(q->m, q->g, base_printf(q->c->arena, "%s_zero", name), type, &shape, list);
}

/* Node i becomes dequantize_linear or quantize_linear, from one tensor to the other, of which one is quantised. */
static void convert(unscaler *q, size_t i, const char *word, uint32_t from, uint32_t to, uint32_t quantised) {
    const ir_tensor x = q->g->tensors.at[quantised];
    const uint32_t inputs[3] = {from, scales_of(q, x.name, &x.quant), zeros_of(q, x.name, x.type, &x.quant)};
    ir_node *n = &q->g->nodes.at[i];
    passes_become(q->c, n, word, inputs, x.type == BASE_I32 ? 2 : 3);
    n->outputs[0] = to;
    ir_attr_int(q->m, n, "axis", x.quant.n > 1 ? x.quant.axis : 1);
    if (strcmp(word, "quantize_linear") == 0) {
        ir_attr_text(q->m, n, "precision", "f32");
    }
}

static void visit(unscaler *q, size_t i) {
    const ir_node like = q->g->nodes.at[i];
    const bool dequantises = strcmp(like.op, "dequantize") == 0;
    if ((!dequantises && strcmp(like.op, "quantize") != 0) || like.input_count != 1 || like.output_count != 1 ||
        like.inputs[0] == IR_NONE) {
        return;
    }
    uint32_t from = like.inputs[0];
    const uint32_t to = like.outputs[0];
    if (q->g->tensors.at[from].state != IR_NONE || q->g->tensors.at[to].state != IR_NONE ||
        q->g->tensors.at[dequantises ? from : to].quant.n == 0) {
        return;
    }
    if (dequantises) {
        convert(q, i, "dequantize_linear", from, to, from);
        return;
    }
    if (q->g->tensors.at[from].quant.n > 0) { /* to other scales: by the reals */
        const ir_tensor x = q->g->tensors.at[from];
        const uint32_t real = ir_tensor_add(q->m, q->g, x.name, BASE_F32, &x.shape);
        ir_node *n = ir_node_add(q->m, q->g, "dequantize", &from, 1, &real, 1, IR_NONE);
        n->ids = like.ids;
        n->id_count = like.id_count;
        n->byte = like.byte;
        convert(q, q->g->nodes.n - 1, "dequantize_linear", from, real, from);
        from = real;
    }
    convert(q, i, "quantize_linear", from, to, to);
}

base_status passes_unscale(passes_context *c, ir_model *m, base_diags *d) {
    if (!passes_asked(c, "unscale")) {
        return BASE_OK;
    }
    for (size_t k = 0; k < m->graphs.n; k++) {
        unscaler q = {.c = c, .m = m, .g = &m->graphs.at[k]};
        const size_t nodes = q.g->nodes.n;
        for (size_t i = 0; i < nodes; i++) {
            visit(&q, i);
        }
        for (size_t t = 0; t < q.g->tensors.n; t++) {
            if (q.g->tensors.at[t].state == IR_NONE) {
                q.g->tensors.at[t].quant = (ir_quant){0};
            }
        }
    }
    return ir_sort(m, d);
}
