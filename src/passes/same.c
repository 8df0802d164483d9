/* same.c - nodes that compute the same become one, and equal small constants, too.
 *
 * Takes graphs in executable order; where operators have been said in others (expand), stages of one program read a tensor in the same
 * way. Gives them with the first of such nodes alone (LiteRT computes in place what two reshapes of one tensor share: that is wrong then). Those that touch states, have graphs, or make what a run decides stay, and so
 * do conversions, of which each reader has its own, and what is an output of the graph.
 */
#include <string.h>

#include "passes/passes_private.h"

enum { MOST_BYTES = 1024 /* of a constant that is compared */, MOST_IDS = 1024 /* that one node stands for */ };

typedef struct merger {
    passes_edit *e;
    base_map *seen;
    base_text key;
} merger;

static void put_bytes(merger *m, const void *at, size_t n) {
    base_putn(&m->key, (const char *)&n, sizeof n);
    base_putn(&m->key, at, n);
}

static void put_text(merger *m, const char *text) {
    put_bytes(m, text, strlen(text));
}

static void put_number(merger *m, uint64_t v) {
    base_putn(&m->key, (const char *)&v, sizeof v);
}

static void put_kind(merger *m, const ir_tensor *t) {
    put_number(m, (uint64_t)t->type);
    put_bytes(m, t->shape.dim, t->shape.rank * sizeof *t->shape.dim);
    put_number(m, t->quant.n > 1 ? (uint64_t)t->quant.axis : 0);
    put_bytes(m, t->quant.scale, t->quant.n * sizeof *t->quant.scale);
    put_bytes(m, t->quant.zero, t->quant.n * sizeof *t->quant.zero);
}

static void put_attribute(merger *m, const ir_attr *a) {
    put_text(m, a->name);
    put_number(m, (uint64_t)a->kind);
    switch (a->kind) {
    case IR_INT:
        put_number(m, (uint64_t)a->v.i);
        break;
    case IR_GRAPH:
        put_number(m, a->v.graph);
        break;
    case IR_FLOAT:
        put_bytes(m, &a->v.f, sizeof a->v.f);
        break;
    case IR_TEXT:
        put_text(m, a->v.text);
        break;
    case IR_INTS:
        put_bytes(m, a->v.ints, a->n * sizeof *a->v.ints);
        break;
    case IR_FLOATS:
        put_bytes(m, a->v.floats, a->n * sizeof *a->v.floats);
        break;
    }
}

/* The first of that key; IR_NONE: this one is. */
static uint32_t first_of(merger *m, uint32_t own) {
    bool is_new;
    uint64_t *at = base_map_put(m->seen, m->key.at, m->key.n, &is_new);
    if (is_new) {
        *at = own;
    }
    return is_new ? IR_NONE : (uint32_t)*at;
}

static void merge_constants(merger *m) {
    const ir_graph *g = m->e->g;
    for (uint32_t t = 0; t < m->e->tensors; t++) {
        const ir_tensor *x = &g->tensors.at[t];
        uint64_t bytes = 0;
        if (x->data == NULL || x->state != IR_NONE || m->e->is_output[t] || !passes_is_fixed(&x->shape) ||
            !ir_tensor_bytes(x, &bytes) || bytes > MOST_BYTES) {
            continue;
        }
        m->key.n = 0;
        put_text(m, "");
        put_kind(m, x);
        put_bytes(m, x->data, (size_t)bytes);
        const uint32_t first = first_of(m, t);
        m->e->same[t] = first == IR_NONE ? t : first;
    }
}

static bool may_merge(const merger *m, const ir_node *n) {
    const ir_graph *g = m->e->g;
    bool may = ir_control_of(n) == IR_PLAIN && !ir_is_fused(n) && n->output_count > 0 &&
               strcmp(n->op, "quantize") != 0 && strcmp(n->op, "dequantize") != 0;
    for (size_t k = 0; may && k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        may = t == IR_NONE || (g->tensors.at[t].state == IR_NONE && passes_is_fixed(&g->tensors.at[t].shape));
    }
    return may;
}

static void put_node(merger *m, const ir_node *n) {
    m->key.n = 0;
    put_text(m, n->op);
    put_number(m, n->input_count);
    for (size_t k = 0; k < n->input_count; k++) {
        put_number(m, passes_now(m->e, n->inputs[k]));
    }
    put_number(m, n->attr_count);
    for (size_t k = 0; k < n->attr_count; k++) {
        put_attribute(m, &n->attrs[k]);
    }
    put_number(m, n->output_count);
    for (size_t k = 0; k < n->output_count; k++) {
        put_kind(m, &m->e->g->tensors.at[n->outputs[k]]);
    }
}

static void merge_node(merger *m, uint32_t i) {
    ir_node *n = &m->e->g->nodes.at[i];
    if (!may_merge(m, n)) {
        return;
    }
    put_node(m, n);
    const uint32_t first = first_of(m, i);
    bool stays = first == IR_NONE;
    for (size_t k = 0; k < n->output_count; k++) {
        stays = stays || m->e->is_output[n->outputs[k]];
    }
    if (stays) {
        return;
    }
    ir_node *of = &m->e->g->nodes.at[first];
    for (size_t k = 0; k < n->output_count; k++) {
        m->e->same[n->outputs[k]] = of->outputs[k];
    }
    if (of->id_count < MOST_IDS &&
        (of->id_count != n->id_count || memcmp(of->ids, n->ids, n->id_count * sizeof *n->ids))) {
        passes_join_ids(m->e->c, of, of, n);
    }
    m->e->gone[i] = true;
}

base_status passes_same(passes_context *c, ir_model *model, base_diags *d) {
    (void)d;
    for (size_t i = 0; i < model->graphs.n; i++) {
        passes_edit e = passes_edit_begin(c, model, &model->graphs.at[i]);
        merger m = {.e = &e, .seen = base_map_new(e.scratch), .key = {.arena = e.scratch}};
        merge_constants(&m);
        for (uint32_t k = 0; k < e.g->nodes.n; k++) {
            merge_node(&m, k);
        }
        passes_edit_end(&e);
    }
    passes_count_transposes(c, model);
    return BASE_OK;
}
