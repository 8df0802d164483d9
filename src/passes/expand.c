/* expand.c - operators that the output format has no word for are said in those that it has.
 *
 * Takes every node that the vocabulary lacks, of values with fixed extents and without quantisation. Gives in its place nodes that
 * it has, found in the node's program: index maps become moves of tensors, scalar words operators, sums of products and windows
 * those of the format (speak.h). Each new node has the type and shape that its own definition gives, and the outputs
 * those of the node. What cannot be said stays, and is refused by its name when the file is written.
 */
#include <string.h>

#include "passes/speak.h"

#define FOLD_LIMIT 65536u /* bytes of one table */

static bool may_expand(const ir_graph *g, const ir_node *n) {
    bool values = ir_control_of(n) == IR_PLAIN && !ir_is_fused(n) && n->output_count > 0;
    for (size_t k = 0; values && k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        values = t == IR_NONE || (g->tensors.at[t].state == IR_NONE && g->tensors.at[t].quant.n == 0 &&
                                  passes_is_fixed(&g->tensors.at[t].shape));
    }
    return values;
}

/* The nodes since `first` make `from`: it becomes tensor `to`. false: nothing there makes it. */
static bool rename_output(speaker *s, size_t first, uint32_t from, uint32_t to) {
    ir_graph *g = s->g;
    bool made = false;
    for (size_t i = first; i < g->nodes.n; i++) {
        made = made || g->nodes.at[i].outputs[0] == from;
    }
    for (size_t i = first; made && i < g->nodes.n; i++) {
        ir_node *n = &g->nodes.at[i];
        n->outputs[0] = n->outputs[0] == from ? to : n->outputs[0];
        for (size_t k = 0; k < n->input_count; k++) {
            n->inputs[k] = n->inputs[k] == from ? to : n->inputs[k];
        }
    }
    return made;
}

static bool is_output(const ir_graph *g, uint32_t t) {
    for (size_t i = 0; i < g->outputs.n; i++) {
        if (g->outputs.at[i] == t) {
            return true;
        }
    }
    return false;
}

/* Each output of the node is what was found for it, or a copy. */
static bool deliver(speaker *s, const ir_node *n, size_t first, const uint32_t *found) {
    for (size_t i = 0; i < n->output_count; i++) {
        ir_tensor *to = &s->g->tensors.at[n->outputs[i]];
        const ir_tensor *from = &s->g->tensors.at[found[i]];
        if (from->type != to->type || !ir_shape_same(&from->shape, &to->shape)) {
            return false;
        }
        if (from->data != NULL && !is_output(s->g, n->outputs[i])) {
            to->data = from->data;
            continue;
        }
        if (rename_output(s, first, found[i], n->outputs[i])) {
            continue;
        }
        const ir_shape shape = to->shape; /* a new tensor may move the others */
        ir_node *copy = speak_node(s, "reshape", &found[i], 1, BASE_NONE);
        ir_attr_ints(s->m, copy, "shape", shape.dim, shape.rank);
        copy->outputs[0] = n->outputs[i];
        s->g->tensors.n--; /* it has no use for one of its own */
    }
    return true;
}

static bool speaks_as(speaker *s, const ir_node *n, lang_program *p) {
    const speak_mark mark = speak_here(s);
    uint32_t *found = BASE_NEWS(s->scratch, uint32_t, p->outputs.n + 1);
    s->p = p;
    s->tensor = BASE_NEWS(s->scratch, uint32_t, p->tensors.n + 1);
    memset(s->tensor, 0xff, (p->tensors.n + 1) * sizeof *s->tensor);
    for (size_t k = 0; k < p->inputs.n && k < n->input_count; k++) {
        if (p->inputs.at[k] != IR_NONE) {
            s->tensor[p->inputs.at[k]] = n->inputs[k];
        }
    }
    if (p->outputs.n == n->output_count && speak_program(s, found) && deliver(s, n, mark.nodes, found)) {
        return true;
    }
    speak_back(s, mark);
    return false;
}

/* ---- one operator for another ---- */

static const char *const words[] = {
#define REPHRASED(word) word,
#include "passes/rephrased.def"
#undef REPHRASED
};

/* What both words know as an attribute of theirs; the rest is as the other word's definition has it. */
static void copy_attributes(speaker *s, const ir_node *n, ir_node *to) {
    base_diags ignored = {.arena = s->scratch};
    const lang_library *library = ops_library(s->c->ops, to->op, &ignored);
    for (size_t i = 0; library != NULL && i < n->attr_count && strcmp(n->op, to->op) != 0; i++) {
        const ir_attr *a = &n->attrs[i], *d = lang_attr_default(s->scratch, library, to->op, a->name);
        if (d != NULL && d->kind == a->kind && a->kind == IR_FLOAT) {
            ir_attr_float(s->m, to, a->name, a->v.f);
        } else if (d != NULL && d->kind == a->kind && a->kind == IR_INT) {
            ir_attr_int(s->m, to, a->name, a->v.i);
        }
    }
}

/* Is the word, of the input with extent `last` put last (IR_NONE: as it is), the same as program p? Then that is said. */
static uint32_t rephrase(speaker *s, const ir_node *n, const lang_program *p, const char *word, uint32_t last) {
    const uint32_t rank = speak_shape(s, n->inputs[0])->rank;
    int64_t perm[IR_MAX_RANK], back[IR_MAX_RANK];
    uint32_t order[LANG_MAX_RANK], found[1][LANG_MAX_RANK], at = 0;
    const uint32_t *orders[16] = {NULL};
    for (uint32_t k = 0; k < rank; k++) {
        if (k != last) {
            perm[at++] = k;
        }
    }
    if (last != IR_NONE) {
        perm[at] = last;
    }
    for (uint32_t k = 0; k < rank; k++) {
        back[perm[k]] = k;
    }
    for (uint32_t k = 0; k < LANG_MAX_RANK; k++) {
        order[k] = k < rank ? (uint32_t)back[k] : k;
    }
    for (size_t k = 0; k < p->inputs.n; k++) {
        orders[k] = order;
    }
    const speak_mark mark = speak_here(s);
    uint32_t x = speak_transpose(s, n->inputs[0], rank, perm);
    if (x != IR_NONE) {
        ir_node *other = speak_node(s, word, &x, 1, BASE_NONE);
        copy_attributes(s, n, other);
        x = speak_done(s);
    }
    base_diags ignored = {.arena = s->scratch};
    lang_program *q = NULL;
    if (x != IR_NONE && s->g->nodes.n > mark.nodes &&
        ops_instantiate(s->scratch, s->c->ops, s->m, s->g, &s->g->nodes.at[s->g->nodes.n - 1], &s->c->goal, &q,
                        &ignored) == BASE_OK) {
        /* further inputs of the node's are constants that its program has taken in */
        lang_program *own = BASE_NEW(s->scratch, lang_program);
        *own = *p;
        own->inputs.n = q->inputs.n;
        if (lang_alike(s->scratch, own, q, orders, found)) {
            bool same = true;
            for (uint32_t k = 0; k < rank; k++) {
                same = same && (found[0][k] == order[k] || speak_shape(s, x)->dim[order[k]] == 1);
            }
            x = same ? speak_transpose(s, x, rank, back) : IR_NONE;
            if (x != IR_NONE) {
                return x;
            }
        }
    }
    speak_back(s, mark);
    return IR_NONE;
}

static bool has_reduction(const lang_program *p) {
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        if (lang_at(p, r)->kind == LANG_REDUCE) {
            return true;
        }
    }
    return false;
}

/* Does the program read anything but input 0? */
static bool reads_one(base_arena *scratch, const lang_program *p) {
    const uint8_t *reached = lang_reached(scratch, p, NULL);
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        const lang_node *n = lang_at(p, r);
        if (reached[r] != 0 && n->kind == LANG_READ && p->tensors.at[n->index].kind == LANG_INPUT &&
            p->tensors.at[n->index].input != 0) {
            return false;
        }
    }
    return true;
}

/* The same in one operator that the vocabulary has, or that and transposes. */
static bool rephrased(speaker *s, const ir_node *n, const lang_program *p) {
    if (n->input_count < 1 || n->input_count > 16 || n->inputs[0] == IR_NONE || n->output_count != 1 ||
        speak_shape(s, n->inputs[0])->rank != speak_shape(s, n->outputs[0])->rank || !reads_one(s->scratch, p)) {
        return false;
    }
    const uint32_t rank = speak_shape(s, n->inputs[0])->rank, tries = has_reduction(p) ? rank : 0;
    const speak_mark mark = speak_here(s);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        for (uint32_t k = 0; k <= tries; k++) {
            const uint32_t y = rephrase(s, n, p, words[i], k == 0 ? IR_NONE : k - 1);
            if (y != IR_NONE && deliver(s, n, mark.nodes, &y)) {
                return true;
            }
            speak_back(s, mark);
        }
    }
    return false;
}

static bool expand_node(passes_context *c, ir_model *m, ir_graph *g, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    speaker s = {.c = c, .m = m, .g = g, .scratch = scratch, .origin = n};
    const bool said = ops_has(c->ops, n->op) &&
                      ops_instantiate(scratch, c->ops, m, g, n, &c->goal, &p, &ignored) == BASE_OK &&
                      (rephrased(&s, n, p) || speaks_as(&s, n, lang_fold(scratch, p, FOLD_LIMIT)));
    base_arena_free(scratch);
    return said;
}

/* A product with a constant matrix, which a fully connected operator says, too: that takes a bias and an activation. */
static bool may_connect(const ir_graph *g, const ir_node *n) {
    const ir_tensor *w =
        n->input_count == 2 && n->inputs[0] != IR_NONE && n->inputs[1] != IR_NONE ? &g->tensors.at[n->inputs[1]] : NULL;
    return strcmp(n->op, "batch_matmul") == 0 && w != NULL && w->data != NULL && w->shape.rank == 2 &&
           w->type == BASE_F32 && g->tensors.at[n->inputs[0]].data == NULL && may_expand(g, n);
}

static bool connect(passes_context *c, ir_model *m, ir_graph *g, const ir_node *n) {
    const size_t first = g->nodes.n;
    bool connected = false;
    if (!may_connect(g, n) || !expand_node(c, m, g, n)) {
        return false;
    }
    for (size_t i = first; i < g->nodes.n; i++) {
        connected = connected || strcmp(g->nodes.at[i].op, "fully_connected") == 0;
    }
    g->nodes.n = connected ? g->nodes.n : first;
    return connected;
}

static void expand_graph(passes_context *c, ir_model *m, ir_graph *g) {
    const size_t count = g->nodes.n;
    ir_node *old = g->nodes.at;
    g->nodes.at = NULL;
    g->nodes.n = g->nodes.cap = 0;
    for (size_t i = 0; i < count; i++) {
        base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
        const bool said = !may_expand(g, &old[i]) || passes_says(c, scratch, m, g, &old[i]);
        base_arena_free(scratch);
        if (said ? !connect(c, m, g, &old[i]) : !expand_node(c, m, g, &old[i])) {
            *BASE_PUSH(m->arena, &g->nodes) = old[i];
        } else {
            c->expanded = true;
        }
    }
}

base_status passes_expand(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    for (size_t i = 0; c->vocabulary != NULL && i < m->graphs.n; i++) {
        expand_graph(c, m, &m->graphs.at[i]);
    }
    return BASE_OK;
}
