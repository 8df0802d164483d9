/* scale.c - factors and addends for each channel go into weights and biases (batch normalisation among them).
 *
 * Takes real convolutions and products with constant weights and bias and no activation, whose only reader multiplies,
 * divides, adds or subtracts a constant for each channel. Gives the operator with new constants, and with the reader's
 * activation. Each new constant is rounded once: within the bound. What would overflow or lose bits to subnormals stays.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "passes/passes_private.h"

/* Where an operator has its weights and bias, and along which extent of the weights the channels are. */
typedef struct linear {
    const char *op;
    size_t weights, bias;
    bool innermost;
} linear;
static const linear linears[] = {{"conv2d", 1, 2, false},
                                 {"depthwise_conv2d", 1, 2, true},
                                 {"fully_connected", 1, 2, false},
                                 {"transpose_conv", 0, 2, false}};

static const linear *linear_of(const ir_node *n) {
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++) {
        if (strcmp(n->op, linears[i].op) == 0) {
            return &linears[i];
        }
    }
    return NULL;
}

static bool is_f32(const ir_tensor *t) {
    return t != NULL && t->type == BASE_F32 && t->data != NULL;
}

/* The constant as one number for each of the channels, which are the last extent of the output. */
static const float *for_channels(base_arena *scratch, const ir_tensor *c, int64_t channels) {
    uint64_t elements = 0;
    if (!is_f32(c) || !ir_shape_elements(&c->shape, &elements) ||
        !(elements == 1 || (elements == (uint64_t)channels && c->shape.dim[c->shape.rank - 1] == channels))) {
        return NULL;
    }
    float *list = BASE_NEWS(scratch, float, (size_t)channels + 1);
    for (int64_t o = 0; o < channels; o++) {
        list[o] = (float)base_load(BASE_F32, c->data, elements == 1 ? 0 : (uint64_t)o).f;
    }
    return list;
}

/* The work of one reader: every weight by a factor, then the bias by it and an addend. */
typedef struct change {
    bool scales, divides;
    double sign; /* of the addend */
    const float *values;
} change;

static bool find_change(const passes_edit *e, const ir_node *n, size_t at, int64_t channels, change *out) {
    bool mul = strcmp(n->op, "mul") == 0, div = strcmp(n->op, "div") == 0, add = strcmp(n->op, "add") == 0,
         sub = strcmp(n->op, "sub") == 0;
    if (!(mul || add || ((div || sub) && at == 0))) {
        return false;
    }
    *out = (change){.scales = mul || div, .divides = div, .sign = sub ? -1 : 1};
    out->values = for_channels(e->scratch, passes_constant(e, n, 1 - at), channels);
    return out->values != NULL;
}

static bool scaled(const change *x, float v, int64_t o, float *out) {
    *out = x->divides ? v / x->values[o] : v * x->values[o];
    bool vanishes = v != 0.0f && x->values[o] != 0.0f && fabsf(*out) < FLT_MIN;
    return isfinite(*out) && !vanishes;
}

static float *new_weights(passes_edit *e, const linear *l, const ir_tensor *w, const change *x, int64_t channels) {
    uint64_t n = 0;
    (void)ir_shape_elements(&w->shape, &n);
    uint64_t each = n / (uint64_t)channels;
    float *list = BASE_NEWS(e->c->arena, float, (size_t)n + 1);
    for (uint64_t i = 0; i < n; i++) {
        int64_t o = (int64_t)(l->innermost ? i % (uint64_t)channels : i / each);
        if (!scaled(x, (float)base_load(BASE_F32, w->data, i).f, o, &list[i])) {
            return NULL;
        }
    }
    return list;
}

static float *new_bias(passes_edit *e, const ir_tensor *b, const change *x, int64_t channels) {
    float *list = BASE_NEWS(e->c->arena, float, (size_t)channels + 1);
    for (int64_t o = 0; o < channels; o++) {
        float v = b != NULL ? (float)base_load(BASE_F32, b->data, (uint64_t)o).f : 0.0f;
        if (x->scales ? !scaled(x, v, o, &list[o])
                      : !isfinite(list[o] = (float)((double)v + x->sign * (double)x->values[o]))) {
            return NULL;
        }
    }
    return list;
}

/* The operator's own constants: weights of its own with a channel for each of the output's, a bias or none. */
static bool fits(const passes_edit *e, const linear *l, const ir_node *p, const ir_tensor *to, bool scales) {
    const ir_tensor *w = passes_constant(e, p, l->weights);
    bool has_bias = p->input_count > l->bias && p->inputs[l->bias] != IR_NONE;
    const ir_tensor *b = passes_constant(e, p, l->bias);
    uint64_t elements = 0;
    if (!is_f32(w) || w->shape.rank < 2 || to->shape.rank < 1 || to->type != BASE_F32 || (has_bias && !is_f32(b)) ||
        (scales && !passes_single(e, passes_now(e, p->inputs[l->weights])))) {
        return false;
    }
    int64_t channels = to->shape.dim[to->shape.rank - 1];
    return channels > 0 && channels == w->shape.dim[l->innermost ? w->shape.rank - 1 : 0] &&
           ir_shape_elements(&w->shape, &elements) && elements > 0 &&
           (!has_bias || (b->shape.rank == 1 && b->shape.dim[0] == channels));
}

static void set_bias(passes_edit *e, const linear *l, ir_node *p, uint32_t bias) {
    size_t count = p->input_count > l->bias ? p->input_count : l->bias + 1;
    uint32_t *inputs = BASE_NEWS(e->c->arena, uint32_t, count + 1);
    memset(inputs, 0xff, (count + 1) * sizeof *inputs);
    memcpy(inputs, p->inputs, p->input_count * sizeof *inputs);
    inputs[l->bias] = bias;
    p->inputs = inputs;
    p->input_count = count;
}

static void absorb(passes_edit *e, size_t i) {
    ir_node *n = &e->g->nodes.at[i];
    if (n->input_count != 2 || n->output_count != 1 || n->inputs[0] == IR_NONE || n->inputs[1] == IR_NONE ||
        passes_act(e->c, n) == NULL) {
        return;
    }
    size_t at = passes_constant(e, n, 0) != NULL ? 1 : 0;
    ir_node *p = passes_producer(e, n, at);
    const linear *l = p != NULL ? linear_of(p) : NULL;
    uint32_t between = passes_now(e, n->inputs[at]);
    const ir_tensor *to = &e->g->tensors.at[between];
    change x;
    if (l == NULL || p->output_count != 1 || passes_act(e->c, p) == NULL || strcmp(passes_act(e->c, p), "none") != 0 ||
        !passes_single(e, between) || !passes_same_values(to, &e->g->tensors.at[n->outputs[0]])) {
        return;
    }
    int64_t channels = to->shape.rank > 0 ? to->shape.dim[to->shape.rank - 1] : 0;
    if (!find_change(e, n, at, channels, &x) || !fits(e, l, p, to, x.scales)) {
        return;
    }
    const ir_tensor w = *passes_constant(e, p, l->weights), *b = passes_constant(e, p, l->bias);
    const float *weights = x.scales ? new_weights(e, l, &w, &x, channels) : NULL;
    const float *bias = b != NULL || !x.scales ? new_bias(e, b, &x, channels) : NULL;
    if ((x.scales && weights == NULL) || ((b != NULL || !x.scales) && bias == NULL)) {
        return;
    }
    if (bias != NULL) {
        ir_shape shape = ir_shape_of(1, &channels);
        set_bias(e, l, p, passes_constant_add(e->m, e->g, b != NULL ? b->name : w.name, BASE_F32, &shape, bias));
    }
    if (weights != NULL) {
        p->inputs[l->weights] = passes_constant_add(e->m, e->g, w.name, BASE_F32, &w.shape, weights);
    }
    ir_attr_text(e->m, p, "act", passes_act(e->c, n));
    passes_absorb(e, p, i);
}

base_status passes_scale(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    if (c->vocabulary != NULL && !c->expanded) {
        return BASE_OK; /* nothing was said in other words: reals stay the same bits */
    }
    passes_each_node(c, m, absorb);
    return BASE_OK;
}
