/* bounds.c - operators that only keep values between two bounds, as pairs of bounds.
 *
 * Takes nodes and activations' words. Gives what they do to real numbers, or to the integers of a quantised tensor: the
 * arithmetic is that of act_low and act_high in src/ops/_quantise.op.
 */
#include <math.h>
#include <string.h>

#include "passes/passes_private.h"

static const struct {
    const char *word;
    double low, high; /* of real numbers */
} activations[] = {{"none", -INFINITY, INFINITY},
                   {"relu", 0, INFINITY},
                   {"relu6", 0, 6},
                   {"relu_n1_to_1", -1, 1},
                   {"relu_0_to_1", 0, 1}};

/* zero + round(v / scale), divided in float, inside the type. */
static double quantised(double v, const ir_tensor *t) {
    int64_t least;
    uint64_t most;
    base_type_range(t->type, &least, &most);
    if (isinf(v)) {
        return v < 0 ? (double)least : (double)most;
    }
    double q = (double)t->quant.zero[0] + (double)roundf((float)v / t->quant.scale[0]);
    return q < (double)least ? (double)least : q > (double)most ? (double)most : q;
}

static bool is_quantised(const ir_tensor *t) {
    return t->quant.n == 1 && (t->type == BASE_I8 || t->type == BASE_U8 || t->type == BASE_I16);
}

bool passes_activation_bounds(const char *act, const ir_tensor *t, passes_bounds *out) {
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (strcmp(activations[i].word, act) != 0) {
            continue;
        }
        *out = (passes_bounds){activations[i].low, activations[i].high};
        if (is_quantised(t)) {
            *out = (passes_bounds){quantised(out->low, t), quantised(out->high, t)};
            return true;
        }
        return t->type == BASE_F32;
    }
    return false;
}

/* All elements of the constant, as one number. */
static bool one_value(const ir_tensor *t, double *v) {
    uint64_t n = 0;
    if (!ir_shape_elements(&t->shape, &n) || n == 0 || base_type_bits(t->type) < 8) {
        return false;
    }
    base_value first = base_load(t->type, t->data, 0);
    *v = base_type_is_float(t->type) ? first.f : (double)first.i;
    for (uint64_t i = 1; i < n; i++) {
        base_value x = base_load(t->type, t->data, i);
        double w = base_type_is_float(t->type) ? x.f : (double)x.i;
        if (w != *v) { /* so a NaN never is one */
            return false;
        }
    }
    return *v == *v;
}

bool passes_node_bounds(const passes_edit *e, const ir_node *n, passes_bounds *out, size_t *input) {
    bool is_min = strcmp(n->op, "minimum") == 0, is_max = strcmp(n->op, "maximum") == 0;
    *input = 0;
    if (n->output_count != 1 || n->input_count < 1 || n->inputs[0] == IR_NONE) {
        return false;
    }
    const ir_tensor *to = &e->g->tensors.at[n->outputs[0]];
    if (is_min || is_max) {
        double v;
        *input = passes_constant(e, n, 0) != NULL ? 1 : 0;
        const ir_tensor *c = n->input_count == 2 ? passes_constant(e, n, 1 - *input) : NULL;
        if (c == NULL || n->inputs[*input] == IR_NONE || !(is_quantised(to) || to->type == BASE_F32) ||
            !one_value(c, &v) || !passes_activation_bounds("none", to, out)) {
            return false;
        }
        out->low = is_max && v > out->low ? v : out->low;
        out->high = is_min && v < out->high ? v : out->high;
    } else if (n->input_count != 1 || strcmp(n->op, "none") == 0 || !passes_activation_bounds(n->op, to, out)) {
        return false;
    }
    return passes_same_values(&e->g->tensors.at[passes_now(e, n->inputs[*input])], to);
}

static double inside(double v, passes_bounds b) {
    return v < b.low ? b.low : v > b.high ? b.high : v;
}

passes_bounds passes_both_bounds(passes_bounds a, passes_bounds b) {
    return (passes_bounds){inside(a.low, b), inside(a.high, b)};
}

const char *passes_activation_of(passes_bounds b, const ir_tensor *t, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++) {
        passes_bounds w;
        if (passes_activation_bounds(words[i], t, &w) && w.low == b.low && w.high == b.high) {
            return words[i];
        }
    }
    return NULL;
}
