/* clamp.c - chains of operators that only keep values between bounds become one.
 *
 * Takes pairs producer, consumer (relu and its like, minimum and maximum with one constant value) of equal type and
 * quantisation, where the consumer is the only reader. Gives one operator with the bounds of both, where there is a word
 * for them: the same bits, also of NaN and of zeros. One that does nothing more than its producer vanishes.
 */
#include <math.h>

#include "passes/passes_private.h"

static const char *const words[] = {"relu", "relu6", "relu_n1_to_1", "relu_0_to_1"};
#define WORDS (sizeof words / sizeof words[0])

/* Zeros have signs: a bound that lets -0 through where the pair gives +0 is another operator. Minimum and maximum with 0
 * pick +0 and -0 by the order -0 < +0, as relu does; only a chain without a maximum keeps -0, and there is no word for it. */
static void join(passes_edit *e, size_t i) {
    ir_node *n = &e->g->nodes.at[i], *p;
    passes_bounds a, b;
    size_t from, at;
    if (!passes_node_bounds(e, n, &b, &at) || (p = passes_producer(e, n, at)) == NULL ||
        !passes_node_bounds(e, p, &a, &from)) {
        return;
    }
    const ir_tensor *t = &e->g->tensors.at[n->outputs[0]];
    uint32_t between = passes_now(e, n->inputs[at]);
    passes_bounds both = passes_both_bounds(a, b);
    if (both.low == a.low && both.high == a.high) {
        (void)passes_vanish(e, i, between);
        return;
    }
    const char *word = passes_activation_of(both, t, words, WORDS);
    if (word != NULL && passes_single(e, between)) {
        uint32_t input = passes_now(e, p->inputs[from]);
        passes_become(e->c, p, word, &input, 1);
        passes_absorb(e, p, i);
    }
}

base_status passes_clamp(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    passes_each_node(c, m, join);
    return BASE_OK;
}
