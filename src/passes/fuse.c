/* fuse.c - activations that another operator can absorb.
 *
 * Takes pairs producer, consumer where the consumer is the only reader and only keeps values between bounds. The
 * producer's `act` attribute becomes that of both where producer and consumer have the same type and quantisation and
 * there is a word for both bounds (clamps at the same borders: equal bits).
 */
#include <string.h>

#include "passes/passes_private.h"

static const char *const words[] = {"none", "relu", "relu6", "relu_n1_to_1"};
#define WORDS (sizeof words / sizeof words[0])

/* Those whose `act` is the last thing that happens to output 0. (A recurrence's is inside its steps.) */
static const char *const producers[] = {
    "add",       "average_pool2d", "conv2d", "conv3d", "conv3d_transpose", "depthwise_conv2d", "div", "fully_connected",
    "l2_pool2d", "max_pool2d",     "mul",    "sub",    "transpose_conv"};

static const char *activation_of(const passes_context *c, const ir_node *n) {
    bool known = false;
    for (size_t i = 0; i < sizeof producers / sizeof producers[0]; i++) {
        known = known || strcmp(producers[i], n->op) == 0;
    }
    return known && n->output_count == 1 ? passes_act(c, n) : NULL;
}

static void absorb(passes_edit *e, size_t i) {
    ir_node *n = &e->g->nodes.at[i], *p;
    passes_bounds a, b;
    size_t at;
    if (!passes_node_bounds(e, n, &b, &at) || (p = passes_producer(e, n, at)) == NULL ||
        activation_of(e->c, p) == NULL ||
        !passes_activation_bounds(activation_of(e->c, p), &e->g->tensors.at[n->outputs[0]], &a) ||
        !passes_single(e, passes_now(e, n->inputs[at]))) {
        return;
    }
    const char *word = passes_activation_of(passes_both_bounds(a, b), &e->g->tensors.at[n->outputs[0]], words, WORDS);
    if (word != NULL) {
        ir_attr_text(e->m, p, "act", word);
        passes_absorb(e, p, i);
    }
}

base_status passes_fuse(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    passes_each_node(c, m, absorb);
    return BASE_OK;
}
