/* poles.c - reals that may be infinite are kept in range before they are quantised.
 *
 * Takes conversions of reals to integers of which an operator with a pole (a quotient, a logarithm, a power ...) is a part. Gives
 * the same with a minimum and a maximum in front: what is beyond the range saturates in either case, but TFLite's kernel
 * converts to 32 bits first, which has no meaning for what they do not hold. Where the divisor is a constant there is no pole.
 */
#include <string.h>

#include "passes/passes_private.h"

typedef struct poles {
    passes_context *c;
    ir_model *m;
    ir_graph *g;
    base_arena *scratch;
    uint8_t *known; /* of each tensor: 0 not yet, 1 finite as what it is made of, 2 there is a pole before it */
} poles;

static bool is_pole(const lang_program *p, lang_ref r) {
    const lang_node *n = lang_at(p, r);
    if (n->kind != LANG_WORD_ || !base_type_is_float((base_type)n->type)) {
        return false;
    }
    switch ((lang_word)n->code) {
    case LANG_DIV:
        return lang_at(p, lang_operand(p, r, 1))->kind != LANG_CONST;
    case LANG_POW:
    case LANG_EXP:
    case LANG_EXP2:
    case LANG_EXPM1:
    case LANG_LOG:
    case LANG_LOG1P:
    case LANG_RSQRT:
    case LANG_TAN:
    case LANG_SINH:
    case LANG_COSH:
    case LANG_ATANH:
        return true;
    default:
        return false;
    }
}

static bool has_pole(poles *x, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(x->scratch));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    bool has = false;
    if (ops_instantiate(scratch, x->c->ops, x->m, x->g, n, &x->c->goal, &p, &ignored) == BASE_OK) {
        const uint8_t *reached = lang_reached(scratch, p, NULL);
        for (lang_ref r = 1; r < p->nodes.n; r++) {
            has = has || (reached[r] != 0 && is_pole(p, r));
        }
    }
    base_arena_free(scratch);
    return has;
}

/* The node is behind those that make its inputs. */
static void visit(poles *x, uint32_t i) {
    const ir_node *n = &x->g->nodes.at[i];
    bool is = false;
    if (ir_control_of(n) != IR_PLAIN || n->output_count == 0 || x->g->tensors.at[n->outputs[0]].type != BASE_F32) {
        return;
    }
    for (size_t k = 0; k < n->input_count; k++) {
        is = is || (n->inputs[k] != IR_NONE && x->known[n->inputs[k]] == 2);
    }
    is = is || (!ir_is_fused(n) && ops_has(x->c->ops, n->op) && has_pole(x, n));
    for (size_t k = 0; k < n->output_count; k++) {
        x->known[n->outputs[k]] = is ? 2 : 1;
    }
}

static uint32_t bounded(poles *x, const ir_node *like, const char *word, uint32_t t, float bound) {
    ir_graph *g = x->g;
    const ir_shape none = {0}, shape = g->tensors.at[t].shape;
    float *data = BASE_NEW(x->c->arena, float);
    *data = bound;
    const uint32_t c = passes_constant_add(x->m, g, "", BASE_F32, &none, data),
                   to = ir_tensor_add(x->m, g, "", BASE_F32, &shape);
    ir_node *n = ir_node_add(x->m, g, word, (uint32_t[]){t, c}, 2, &to, 1, IR_NONE);
    n->ids = like->ids;
    n->id_count = like->id_count;
    n->byte = like->byte;
    return to;
}

void passes_bound_poles(passes_context *c, ir_model *m, ir_graph *g) {
    poles x = {.c = c, .m = m, .g = g, .scratch = base_arena_new(base_arena_memory(c->arena))};
    const size_t count = g->nodes.n;
    x.known = BASE_NEWS(x.scratch, uint8_t, g->tensors.n + 1);
    for (uint32_t i = 0; i < count; i++) {
        visit(&x, i);
    }
    for (size_t i = 0; i < count; i++) {
        const ir_node n = g->nodes.at[i]; /* adding may move it */
        if (strcmp(n.op, "quantize") != 0 || n.input_count != 1 || x.known[n.inputs[0]] != 2) {
            continue;
        }
        const ir_tensor to = g->tensors.at[n.outputs[0]];
        int64_t lo;
        uint64_t hi;
        if (to.quant.n != 1 || base_type_bits(to.type) > 16) {
            continue;
        }
        base_type_range(to.type, &lo, &hi);
        const double scale = (double)to.quant.scale[0], zero = (double)to.quant.zero[0];
        const uint32_t low = bounded(&x, &n, "maximum", n.inputs[0], (float)(((double)lo - zero) * scale));
        g->nodes.at[i].inputs[0] = bounded(&x, &n, "minimum", low, (float)(((double)hi - zero) * scale));
    }
    base_arena_free(x.scratch);
}
