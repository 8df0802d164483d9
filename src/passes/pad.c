/* pad.c - padding goes into the windows that read it.
 *
 * Takes pads of rows and columns all of whose readers can do the padding themselves: convolutions that take, for what is
 * outside their input, the very value (the definition says so: every read of the input has it as its fill), and maxima
 * that the value cannot win. Gives the readers with larger pads; the same bits. An average counts what is padded, and
 * not what is outside: it stays.
 */
#include <math.h>
#include <string.h>

#include "passes/passes_private.h"

/* How many extents a window moves over, from extent 1 on; 0: it is no window. */
static size_t window_rank(const ir_node *n) {
    static const struct {
        const char *op;
        size_t rank;
    } windows[] = {{"conv2d", 2}, {"depthwise_conv2d", 2}, {"conv3d", 3}, {"max_pool2d", 2}};
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        if (strcmp(n->op, windows[i].op) == 0) {
            return windows[i].rank;
        }
    }
    return 0;
}

static const ir_attr *ints(const ir_node *n, const char *name, size_t count) {
    const ir_attr *a = ir_attr_find(n, name);
    return a != NULL && a->kind == IR_INTS && a->n == count ? a : NULL;
}

typedef struct padding {
    const ir_node *node;
    const ir_attr *pads; /* before, after for each extent */
    const ir_tensor *from;
    base_value value;
} padding;

static bool is_float(const ir_tensor *t) {
    return base_type_is_float(t->type);
}

static bool find_padding(const passes_edit *e, const ir_node *n, padding *out) {
    if (strcmp(n->op, "pad") != 0 || n->input_count < 1 || n->inputs[0] == IR_NONE || n->output_count != 1) {
        return false;
    }
    const ir_tensor *from = &e->g->tensors.at[passes_now(e, n->inputs[0])], *to = &e->g->tensors.at[n->outputs[0]];
    *out = (padding){.node = n, .pads = ints(n, "pads", 2 * (size_t)to->shape.rank), .from = from};
    if (out->pads == NULL || from->state != IR_NONE || to->state != IR_NONE || from->shape.rank != to->shape.rank ||
        !passes_is_fixed(&to->shape) || to->quant.n > 1 || !ir_quant_same(&from->quant, &to->quant)) {
        return false;
    }
    if (n->input_count > 1 && n->inputs[1] != IR_NONE) {
        const ir_tensor *v = passes_constant(e, n, 1);
        uint64_t elements = 0;
        if (v == NULL || v->type != to->type || !ir_shape_elements(&v->shape, &elements) || elements == 0) {
            return false;
        }
        out->value = base_load(v->type, v->data, 0);
    } else if (is_float(to)) {
        out->value.f = 0;
    } else {
        out->value.i = to->quant.n > 0 ? to->quant.zero[0] : 0;
    }
    return true;
}

/* Every read of input 0 has the value for what is outside. */
static bool fills_with(const passes_edit *e, const ir_node *n, const padding *p) {
    base_arena *scratch = base_arena_new(base_arena_memory(e->c->arena));
    base_diags ignored = {.arena = scratch};
    lang_program *q = NULL;
    bool fits = ops_instantiate(scratch, e->c->ops, e->m, e->g, n, &e->c->goal, &q, &ignored) == BASE_OK;
    const uint8_t *reached = fits ? lang_reached(scratch, q, NULL) : NULL;
    for (lang_ref r = 1; fits && r < q->nodes.n; r++) {
        const lang_node *x = lang_at(q, r);
        if (reached[r] == 0 || x->kind != LANG_READ || x->index != q->inputs.at[0]) {
            continue;
        }
        const lang_node *fill = x->has_fill ? lang_at(q, lang_operand(q, r, x->count - 1)) : NULL;
        fits = fill != NULL && fill->kind == LANG_CONST &&
               (is_float(p->from) ? fill->value.f == p->value.f : fill->value.i == p->value.i);
    }
    base_arena_free(scratch);
    return fits;
}

/* The least that the node's output can be. */
static double least_of(const passes_edit *e, const ir_node *n, const ir_tensor *t) {
    passes_bounds b = {-INFINITY, INFINITY};
    size_t input;
    const ir_attr *act = n != NULL ? ir_attr_find(n, "act") : NULL;
    if (n != NULL && act != NULL && act->kind == IR_TEXT && window_rank(n) > 0) {
        (void)passes_activation_bounds(act->v.text, t, &b);
    } else if (n != NULL && !passes_node_bounds(e, n, &b, &input)) {
        b.low = -INFINITY;
    }
    return b.low;
}

/* The padded value wins no maximum: it is below everything there is, and every window has an element inside. */
static bool never_wins(const passes_edit *e, const ir_node *n, const padding *p, const int64_t *pads) {
    const ir_attr *kernel = ints(n, "kernel", 2), *strides = ints(n, "strides", 2);
    const ir_tensor *to = &e->g->tensors.at[n->outputs[0]];
    int64_t lowest = 0;
    uint64_t highest = 0;
    double value = is_float(p->from) ? p->value.f : (double)p->value.i;
    if (!is_float(p->from)) {
        base_type_range(p->from->type, &lowest, &highest);
    }
    if (is_float(p->from) ? value == -INFINITY : p->value.i == lowest) {
        return true;
    }
    if (kernel == NULL || strides == NULL || !(least_of(e, passes_producer(e, p->node, 0), p->from) >= value)) {
        return false;
    }
    for (size_t k = 0; k < 2; k++) {
        int64_t last = (to->shape.dim[k + 1] - 1) * strides->v.ints[k];
        if (pads[k] >= kernel->v.ints[k] || last - pads[k] >= p->from->shape.dim[k + 1]) {
            return false;
        }
    }
    return true;
}

/* The reader's pads with those of the padding. false: it cannot do that. */
static bool joined(const passes_edit *e, const ir_node *n, const padding *p, int64_t *pads) {
    size_t rank = window_rank(n);
    const ir_attr *own = rank > 0 ? ints(n, "pads", 2 * rank) : NULL;
    if (own == NULL || p->pads->n != 2 * (rank + 2) || passes_now(e, n->inputs[0]) != p->node->outputs[0]) {
        return false;
    }
    for (size_t k = 0; k < p->pads->n; k++) {
        bool inner = k >= 2 && k < 2 * (rank + 1);
        if (p->pads->v.ints[k] < 0 || (!inner && p->pads->v.ints[k] != 0)) {
            return false;
        }
    }
    for (size_t k = 0; k < rank; k++) {
        int64_t before = p->pads->v.ints[2 * (k + 1)], after = p->pads->v.ints[2 * (k + 1) + 1];
        if (before > INT32_MAX - own->v.ints[k] || after > INT32_MAX - own->v.ints[k + rank]) {
            return false;
        }
        pads[k] = own->v.ints[k] + before;
        pads[k + rank] = own->v.ints[k + rank] + after;
    }
    for (size_t k = 1; k < n->input_count; k++) {
        if (n->inputs[k] != IR_NONE && passes_now(e, n->inputs[k]) == p->node->outputs[0]) {
            return false;
        }
    }
    return strcmp(n->op, "max_pool2d") == 0 ? never_wins(e, n, p, pads) : fills_with(e, n, p);
}

typedef struct reader {
    uint32_t node, next; /* next: of the list, or IR_NONE */
} reader;

/* The nodes that read each tensor, as lists. */
static reader *find_readers(const passes_edit *e, uint32_t *head) {
    size_t total = 0;
    for (size_t i = 0; i < e->g->nodes.n; i++) {
        total += e->g->nodes.at[i].input_count;
    }
    reader *list = BASE_NEWS(e->scratch, reader, total + 1);
    memset(head, 0xff, (e->tensors + 1) * sizeof *head);
    uint32_t at = 0;
    for (uint32_t i = 0; i < e->g->nodes.n; i++) {
        const ir_node *n = &e->g->nodes.at[i];
        for (size_t k = 0; k < n->input_count; k++) {
            if (n->inputs[k] != IR_NONE) {
                list[at] = (reader){i, head[n->inputs[k]]};
                head[n->inputs[k]] = at++;
            }
        }
    }
    return list;
}

static void push_down(passes_edit *e, size_t i, const reader *list, uint32_t first) {
    ir_node *n = &e->g->nodes.at[i];
    padding p;
    int64_t pads[2 * IR_MAX_RANK];
    if (!find_padding(e, n, &p) || e->is_output[n->outputs[0]] || first == IR_NONE) {
        return;
    }
    for (uint32_t r = first; r != IR_NONE; r = list[r].next) {
        if (!joined(e, &e->g->nodes.at[list[r].node], &p, pads)) {
            return;
        }
    }
    for (uint32_t r = first; r != IR_NONE; r = list[r].next) {
        ir_node *window = &e->g->nodes.at[list[r].node];
        (void)joined(e, window, &p, pads);
        ir_attr_ints(e->m, window, "pads", pads, 2 * window_rank(window));
        passes_rewire(e, window, 0, passes_now(e, n->inputs[0]));
        passes_join_ids(e->c, window, n, window);
    }
    e->gone[i] = true;
}

base_status passes_pad(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    for (size_t i = 0; i < m->graphs.n; i++) {
        passes_edit e = passes_edit_begin(c, m, &m->graphs.at[i]);
        uint32_t *head = BASE_NEWS(e.scratch, uint32_t, e.tensors + 1);
        const reader *list = find_readers(&e, head);
        for (size_t k = 0; k < e.g->nodes.n; k++) {
            push_down(&e, k, list, e.g->nodes.at[k].output_count == 1 ? head[e.g->nodes.at[k].outputs[0]] : IR_NONE);
        }
        passes_edit_end(&e);
    }
    return BASE_OK;
}
