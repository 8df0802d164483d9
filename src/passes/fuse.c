/* fuse.c - activations and requantisations that another operator can absorb.
 *
 * Takes pairs producer, consumer where the consumer is the only reader. An activation becomes the producer's `act`
 * attribute where producer and activation have the same type and quantisation (clamps at the same border: equal bits);
 * a requantisation between equal quantisations is the identity and vanishes.
 */
#include <string.h>

#include "passes/passes_private.h"

static const char *const activations[] = {"relu", "relu6", "relu_n1_to_1"};

static const char *activation_of(const ir_node *n) {
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (strcmp(n->op, activations[i]) == 0 && n->input_count == 1 && n->output_count == 1) {
            return activations[i];
        }
    }
    return NULL;
}

static bool has_no_activation(const ir_node *n) {
    const ir_attr *a = ir_attr_find(n, "act");
    return a != NULL && a->kind == IR_TEXT && strcmp(a->v.text, "none") == 0 && n->output_count == 1;
}

static bool same_values(const ir_tensor *a, const ir_tensor *b) {
    /* A state is read when its operator's turn comes, not when its contents were made. */
    return a->state == IR_NONE && b->state == IR_NONE && a->type == b->type && ir_shape_same(&a->shape, &b->shape) &&
           passes_same_quant(&a->quant, &b->quant);
}

static void set_activation(passes_context *c, ir_node *n, const char *act) {
    ir_attr *attrs = BASE_NEWS(c->arena, ir_attr, n->attr_count);
    memcpy(attrs, n->attrs, n->attr_count * sizeof *attrs);
    for (size_t i = 0; i < n->attr_count; i++) {
        if (strcmp(attrs[i].name, "act") == 0) {
            attrs[i].v.text = act;
            attrs[i].n = strlen(act);
        }
    }
    n->attrs = attrs;
}

static void join_ids(passes_context *c, ir_node *into, const ir_node *from) {
    uint32_t *ids = BASE_NEWS(c->arena, uint32_t, into->id_count + from->id_count + 1);
    memcpy(ids, into->ids, into->id_count * sizeof *ids);
    memcpy(ids + into->id_count, from->ids, from->id_count * sizeof *ids);
    into->ids = ids;
    into->id_count += from->id_count;
}

typedef struct fuser {
    passes_context *c;
    ir_graph *g;
    uint32_t *uses;
    uint32_t *producer; /* of each tensor: node, or IR_NONE */
    uint32_t *same;     /* of each tensor: the tensor that readers read instead, itself at first */
    bool *gone;
} fuser;

static void fuse_activation(fuser *f, size_t i, const char *act) {
    ir_node *n = &f->g->nodes.at[i];
    uint32_t input = n->inputs[0], p = input == IR_NONE ? IR_NONE : f->producer[input];
    if (p == IR_NONE || f->uses[input] != 1 || !has_no_activation(&f->g->nodes.at[p]) ||
        !same_values(&f->g->tensors.at[input], &f->g->tensors.at[n->outputs[0]])) {
        return;
    }
    ir_node *producer = &f->g->nodes.at[p];
    set_activation(f->c, producer, act);
    join_ids(f->c, producer, n);
    producer->outputs[0] = n->outputs[0];
    f->producer[n->outputs[0]] = p;
    f->gone[i] = true;
}

static bool is_output(const ir_graph *g, uint32_t tensor) {
    for (size_t i = 0; i < g->outputs.n; i++) {
        if (g->outputs.at[i] == tensor) {
            return true;
        }
    }
    return false;
}

/* quantize between equal quantised types: every value maps to itself. The graph's own outputs keep their tensor. */
static void drop_identity(fuser *f, size_t i) {
    const ir_node *n = &f->g->nodes.at[i];
    if (strcmp(n->op, "quantize") == 0 && n->input_count == 1 && n->inputs[0] != IR_NONE && n->output_count == 1 &&
        base_type_is_int(f->g->tensors.at[n->inputs[0]].type) &&
        same_values(&f->g->tensors.at[n->inputs[0]], &f->g->tensors.at[n->outputs[0]]) &&
        !is_output(f->g, n->outputs[0])) {
        f->uses[n->inputs[0]] += f->uses[n->outputs[0]] - 1;
        f->same[n->outputs[0]] = n->inputs[0];
        f->gone[i] = true;
    }
}

base_status passes_fuse(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    for (size_t i = 0; i < m->graphs.n; i++) {
        fuser f = {.c = c, .g = &m->graphs.at[i]};
        base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
        f.uses = passes_count_uses(scratch, f.g);
        f.producer = BASE_NEWS(scratch, uint32_t, f.g->tensors.n + 1);
        f.gone = BASE_NEWS(scratch, bool, f.g->nodes.n + 1);
        f.same = BASE_NEWS(scratch, uint32_t, f.g->tensors.n + 1);
        for (uint32_t t = 0; t < f.g->tensors.n; t++) {
            f.producer[t] = IR_NONE;
            f.same[t] = t;
        }
        for (size_t k = 0; k < f.g->nodes.n; k++) {
            for (size_t o = 0; o < f.g->nodes.at[k].input_count; o++) {
                uint32_t *input = &f.g->nodes.at[k].inputs[o];
                *input = *input == IR_NONE ? IR_NONE : f.same[*input];
            }
            const char *act = activation_of(&f.g->nodes.at[k]);
            if (act != NULL) {
                fuse_activation(&f, k, act);
            } else {
                drop_identity(&f, k);
            }
            for (size_t o = 0; !f.gone[k] && o < f.g->nodes.at[k].output_count; o++) {
                f.producer[f.g->nodes.at[k].outputs[o]] = (uint32_t)k;
            }
        }
        passes_drop(f.g, f.gone);
        base_arena_free(scratch);
    }
    return BASE_OK;
}
