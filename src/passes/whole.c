/* whole.c - several operators that are one of the output format.
 *
 * Takes an operator that the vocabulary lacks, and those around it that work on one tensor and numbers alone: x (1 + erf(x / sqrt 2)) / 2,
 * in whatever order it is multiplied. Gives one operator in the place of the last of them, if that is the same function within its
 * rounding at sampled numbers. Nothing but the words below is known by name; what becomes of the others, that others read or
 * nobody, is not decided here.
 */
#include <math.h>
#include <string.h>

#include "passes/speak.h"

enum { BACK = 4, ON = 6, MOST_NODES = 12, SAMPLES = 96 };

static const char *const words[] = {"gelu"};

typedef struct finder {
    speaker s;
    uint32_t *producer; /* of each tensor: a node; IR_NONE */
    uint32_t *reader;   /* of each tensor: the one node that reads it; IR_NONE: none, or several, or it is an output */
    uint32_t x, samples;
    uint32_t left; /* so many more nodes may be copied */
} finder;

static void begin(finder *f) {
    const ir_graph *g = f->s.g;
    uint32_t *uses = BASE_NEWS(f->s.scratch, uint32_t, g->tensors.n + 1);
    f->producer = BASE_NEWS(f->s.scratch, uint32_t, g->tensors.n + 1);
    f->reader = BASE_NEWS(f->s.scratch, uint32_t, g->tensors.n + 1);
    memset(f->producer, 0xff, (g->tensors.n + 1) * sizeof *f->producer);
    for (size_t i = 0; i < g->outputs.n; i++) {
        uses[g->outputs.at[i]] += 2;
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->input_count; k++) {
            if (n->inputs[k] != IR_NONE) {
                uses[n->inputs[k]]++;
                f->reader[n->inputs[k]] = i;
            }
        }
        for (size_t k = 0; k < n->output_count; k++) {
            f->producer[n->outputs[k]] = i;
        }
    }
    for (size_t t = 0; t < g->tensors.n; t++) {
        f->reader[t] = uses[t] == 1 ? f->reader[t] : IR_NONE;
    }
}

static bool is_number(const ir_tensor *t) {
    uint64_t n = 0;
    return t->data != NULL && ir_shape_elements(&t->shape, &n) && n == 1;
}

static bool is_plain(const ir_graph *g, const ir_node *n) {
    return ir_control_of(n) == IR_PLAIN && !ir_is_fused(n) && n->output_count == 1 && n->input_count > 0 &&
           n->input_count <= 4 && g->tensors.at[n->outputs[0]].state == IR_NONE;
}

/* The only input of the node that is no number; IR_NONE: there are several. */
static uint32_t operand_of(const ir_graph *g, const ir_node *n) {
    uint32_t found = IR_NONE;
    for (size_t k = 0; k < n->input_count; k++) {
        const uint32_t t = n->inputs[k];
        if (t == IR_NONE || (!is_number(&g->tensors.at[t]) && found != IR_NONE)) {
            return IR_NONE;
        }
        found = is_number(&g->tensors.at[t]) ? found : t;
    }
    return found;
}

/* What the tensor is at the samples, a constant. IR_NONE: it depends on more than x, or cannot be evaluated. */
static uint32_t sampled(finder *f, uint32_t t) {
    speaker *s = &f->s;
    uint32_t inputs[4];
    if (t == f->x) {
        return f->samples;
    }
    if (t == IR_NONE || is_number(&s->g->tensors.at[t])) {
        return t;
    }
    const uint32_t i = f->producer[t];
    if (i == IR_NONE || f->left == 0 || !is_plain(s->g, &s->g->nodes.at[i])) {
        return IR_NONE;
    }
    f->left--;
    const ir_node n = s->g->nodes.at[i]; /* adding may move it */
    for (size_t k = 0; k < n.input_count; k++) {
        inputs[k] = sampled(f, n.inputs[k]);
        if (inputs[k] == IR_NONE) {
            return IR_NONE;
        }
    }
    ir_node *copy = speak_node(s, n.op, inputs, n.input_count, BASE_NONE);
    copy->attrs = n.attrs;
    copy->attr_count = n.attr_count;
    return speak_done(s);
}

static bool same_values(const ir_graph *g, uint32_t a, uint32_t b) {
    const ir_tensor *x = &g->tensors.at[a], *y = &g->tensors.at[b];
    const double step = x->type == BASE_F32 ? 0x1p-22 : 0x1p-9;
    uint64_t n = 0, m = 0;
    if (x->type != y->type || !ir_shape_elements(&x->shape, &n) || !ir_shape_elements(&y->shape, &m) || n != m) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        const double v = base_load(x->type, x->data, i).f, w = base_load(y->type, y->data, i).f;
        if (!(fabs(v - w) <= step * (2 + 4 * fabs(w)))) {
            return false;
        }
    }
    return true;
}

/* The word, of x, in the place of node i, if it is what that gives. */
static bool becomes(finder *f, uint32_t i, uint32_t x, const char *word) {
    speaker *s = &f->s;
    const speak_mark mark = speak_here(s);
    const ir_tensor from = s->g->tensors.at[x], to = s->g->tensors.at[s->g->nodes.at[i].outputs[0]];
    int64_t count = SAMPLES;
    uint64_t data[SAMPLES] = {0};
    if (from.type != to.type || !base_type_is_float(from.type) || !ir_shape_same(&from.shape, &to.shape)) {
        return false;
    }
    for (int64_t k = 0; k < count; k++) { /* from -7 to 7, and not at regular distances */
        const double v = 7.0 * ((double)(k * 37 % count) + 0.37) / (double)count * 2 - 7.0;
        base_store(from.type, data, (uint64_t)k, (base_value){.f = base_round_to(from.type, k % 8 == 0 ? v / 64 : v)});
    }
    f->x = x;
    f->left = MOST_NODES;
    f->samples = speak_constant(s, from.type, 1, &count, data);
    const uint32_t as_read = sampled(f, s->g->nodes.at[i].outputs[0]);
    const uint32_t as_word = as_read == IR_NONE ? IR_NONE : speak_word(s, word, &f->samples, 1, BASE_NONE);
    bool same = as_word != IR_NONE && same_values(s->g, as_read, as_word);
    speak_back(s, mark);
    if (same) {
        const ir_node before = s->g->nodes.at[i];
        passes_become(s->c, &s->g->nodes.at[i], word, &x, 1);
        same = passes_says(s->c, s->scratch, s->m, s->g, &s->g->nodes.at[i]);
        if (!same) {
            s->g->nodes.at[i] = before;
        }
    }
    return same;
}

/* From the furthest on and the furthest back. */
static bool find_around(finder *f, uint32_t at) {
    const ir_graph *g = f->s.g;
    uint32_t on[ON + 1], back[BACK + 1], on_count = 0, back_count = 0;
    for (uint32_t i = at; i != IR_NONE && on_count <= ON && is_plain(g, &g->nodes.at[i]);
         i = f->reader[g->nodes.at[i].outputs[0]]) {
        on[on_count++] = i;
    }
    for (uint32_t t = g->nodes.at[at].inputs[0]; t != IR_NONE && back_count <= BACK;) {
        back[back_count++] = t;
        const uint32_t p = f->producer[t];
        t = p != IR_NONE && is_plain(g, &g->nodes.at[p]) ? operand_of(g, &g->nodes.at[p]) : IR_NONE;
    }
    for (uint32_t i = on_count; i-- > 1;) {
        for (uint32_t k = back_count; k-- > 0;) {
            for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
                if (becomes(f, on[i], back[k], words[w])) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* A function of one tensor of floats that the vocabulary lacks. */
static bool is_lacking(finder *f, uint32_t i) {
    const ir_graph *g = f->s.g;
    const ir_node *n = &g->nodes.at[i];
    return is_plain(g, n) && n->input_count == 1 && n->inputs[0] != IR_NONE &&
           g->tensors.at[n->inputs[0]].data == NULL && base_type_is_float(g->tensors.at[n->inputs[0]].type) &&
           base_type_bits(g->tensors.at[n->inputs[0]].type) <= 32 &&
           base_type_bits(g->tensors.at[n->inputs[0]].type) >= 16 &&
           ir_shape_same(&g->tensors.at[n->inputs[0]].shape, &g->tensors.at[n->outputs[0]].shape) &&
           !passes_says(f->s.c, f->s.scratch, f->s.m, g, n);
}

void passes_find_wholes(passes_context *c, ir_model *m, uint32_t graph) {
    finder f = {.s = {.c = c, .m = m, .g = &m->graphs.at[graph]}};
    f.s.scratch = base_arena_new(base_arena_memory(c->arena));
    begin(&f);
    const size_t count = f.s.g->nodes.n;
    for (uint32_t i = 0; i < count; i++) {
        const ir_node at = f.s.g->nodes.at[i]; /* adding may move it */
        f.s.origin = &at;
        if (is_lacking(&f, i)) {
            (void)find_around(&f, i);
        }
    }
    base_arena_free(f.s.scratch);
}
