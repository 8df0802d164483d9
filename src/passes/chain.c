/* chain.c - operators that work element by element become one with what they follow.
 *
 * Takes pairs producer, consumer where the consumer is the only reader, reads each element where it makes its own (found in
 * the definition, by no name), and has no reduction. The first of a chain of reals may have one: a convolution, a product of
 * matrices, a pool, a mean, whose result the others bring to its last form. Gives a fused node in the consumer's place:
 * values between them need no memory and no loop, and nothing is computed twice. It answers to the ids of all. A step from
 * reals to integers stays apart: no contraction may move an integer. What would need more memory stays apart.
 */
#include <string.h>

#include "passes/passes_private.h"

#define MOST_NODES 16u     /* of one chain */
#define MOST_WORK 512u     /* nodes of its expressions */
#define MOST_RAW 65536u    /* nodes of its expressions as instantiated, of a chain that is not tried */
#define MOST_BEHIND 12u    /* of those behind a reduction, which a tile has for each of its sums */
#define FOLD_LIMIT 65536u  /* bytes of one table */
#define LARGEST_NAME 64u   /* of the words of the file, joined */
#define MOST_BETWEEN 4096u /* nodes between producer and consumer that are looked at */

/* What a node is, once it was asked. */
typedef struct element_wise {
    bool asked, is;
    bool by_contents;  /* its definition looked at what constants hold */
    bool reduces;      /* not element by element: one stage of reals with a reduction, which others may follow */
    uint32_t work;     /* nodes of its expression */
    uint64_t at_point; /* inputs that are read only where the output's element is */
    uint64_t nodes;    /* of its program as instantiated */
    uint64_t cost;     /* of that */
} element_wise;

typedef struct chainer {
    passes_edit *e;
    element_wise *of; /* each node */
    uint32_t *group;  /* of each node: the node in whose place it is done, itself at first */
    uint32_t *next;   /* of each node: another of its group, or IR_NONE */
    uint32_t *count;  /* of a group: its nodes */
    uint32_t *work;   /* of a group */
    bool *reduces;    /* a group: its first node does */
    uint32_t *seen;   /* of each tensor: the last group whose inputs were counted */
} chainer;

static uint64_t bytes_of(const passes_edit *e, uint32_t t) {
    uint64_t bytes = 0;
    return ir_tensor_bytes(&e->g->tensors.at[t], &bytes) ? bytes : UINT64_MAX / 4;
}

/* Known without looking at the definition. */
static bool may_be(const passes_edit *e, const ir_node *n) {
    bool values = n->output_count == 1 && n->input_count >= 1 && n->input_count <= 64 && ir_control_of(n) == IR_PLAIN &&
                  !ir_is_fused(n);
    for (size_t k = 0; values && k < n->input_count + n->output_count; k++) {
        uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        values = t == IR_NONE || (e->g->tensors.at[t].state == IR_NONE && passes_is_fixed(&e->g->tensors.at[t].shape));
    }
    return values;
}

static bool is_real(const passes_edit *e, uint32_t t) {
    return base_type_is_float(e->g->tensors.at[t].type);
}

static bool has_reductions(const lang_program *p) {
    for (size_t i = 0; i < p->stages.n; i++) {
        if (p->stages.at[i].tensor == p->outputs.at[0]) {
            return lang_has_reduction(p, p->stages.at[i].body) || p->stages.at[i].rec >= 0;
        }
    }
    return true;
}

/* Every read of what a run decides is affine, without a fill; those inputs that are read at the point are listed. */
static bool reads_elements(base_arena *scratch, const lang_program *p, element_wise *out) {
    const lang_stage *s = &p->stages.at[0];
    const uint8_t *reached = lang_reached(scratch, p, s);
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        const lang_node *n = lang_at(p, r);
        out->work += reached[r] != 0 && n->kind != LANG_CONST && n->kind != LANG_VAR;
        lang_affine a;
        if (reached[r] == 0 || n->kind != LANG_READ || p->tensors.at[n->index].data != NULL) {
            continue;
        }
        const lang_tensor *t = &p->tensors.at[n->index];
        if (t->kind != LANG_INPUT || t->input >= 64 || n->has_fill || !lang_affine_read(p, r, &a)) {
            return false;
        }
        if (lang_reads_at_point(p, s, n->index)) {
            out->at_point |= UINT64_C(1) << t->input;
        }
    }
    return out->at_point != 0 && lang_at(p, s->body)->kind == LANG_WORD_;
}

static const element_wise *ask(chainer *x, uint32_t i) {
    element_wise *out = &x->of[i];
    const ir_node *n = &x->e->g->nodes.at[i];
    if (out->asked) {
        return out;
    }
    out->asked = true;
    if (!may_be(x->e, n)) {
        return out;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(x->e->c->arena));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    if (ops_instantiate(scratch, x->e->c->ops, x->e->m, x->e->g, n, &x->e->c->goal, &p, &ignored) == BASE_OK &&
        p->outputs.n == 1) {
        const lang_program *raw = p;
        const bool reduces = has_reductions(p), may_begin = reduces && is_real(x->e, n->outputs[0]);
        p = !reduces || may_begin ? lang_simplify(scratch, lang_fold(scratch, p, FOLD_LIMIT)) : p;
        const bool one = p->stages.n == 1 && p->stages.at[0].rec < 0;
        out->is = one && !reduces && reads_elements(scratch, p, out);
        out->reduces = one && may_begin;
        out->by_contents = raw->by_contents;
        out->nodes = raw->nodes.n;
        out->cost = out->is || out->reduces ? lang_cost(raw) : 0;
    }
    base_arena_free(scratch);
    return out;
}

/* Bytes of the values that the group reads from outside, each once; `without`: but for this one. */
static uint64_t read_from_outside(chainer *x, uint32_t group, uint32_t without) {
    const passes_edit *e = x->e;
    uint64_t sum = 0;
    for (uint32_t i = group; i != IR_NONE; i = x->next[i]) {
        const ir_node *n = &e->g->nodes.at[i];
        for (size_t k = 0; k < n->input_count; k++) {
            uint32_t t = n->inputs[k], p = t != IR_NONE ? e->producer[t] : IR_NONE;
            bool inside = p != IR_NONE && x->group[p] == group;
            if (t == IR_NONE || t == without || inside || e->g->tensors.at[t].data != NULL || x->seen[t] == group + 1) {
                continue;
            }
            x->seen[t] = group + 1;
            sum += bytes_of(e, t);
        }
    }
    for (uint32_t i = group; i != IR_NONE; i = x->next[i]) {
        const ir_node *n = &e->g->nodes.at[i];
        for (size_t k = 0; k < n->input_count; k++) {
            if (n->inputs[k] != IR_NONE) {
                x->seen[n->inputs[k]] = 0;
            }
        }
    }
    return sum;
}

/* Nothing but nodes of the group at `at` lies between. */
static bool is_next(const chainer *x, uint32_t from, uint32_t at) {
    if (at - from > MOST_BETWEEN) {
        return false;
    }
    for (uint32_t i = from + 1; i < at; i++) {
        if (x->group[i] != at && x->group[i] != from) {
            return false;
        }
    }
    return true;
}

/* What the producer reads lives to the consumer now, and what it makes not at all. What a reduction reads is no place for the
 * result, as what is read element by element may be. */
static bool needs_no_more(chainer *x, uint32_t producer, uint32_t consumer, uint32_t between, bool reduces) {
    uint64_t value = bytes_of(x->e, between), made = bytes_of(x->e, x->e->g->nodes.at[consumer].outputs[0]);
    return (!reduces && read_from_outside(x, producer, IR_NONE) <= value) ||
           (is_next(x, producer, consumer) && made <= value);
}

/* Group p, whose value input k of node i reads, joins the group at i. */
static void join(chainer *x, uint32_t i, size_t k) {
    passes_edit *e = x->e;
    const ir_node *n = &e->g->nodes.at[i];
    uint32_t t = n->inputs[k], p = t != IR_NONE ? e->producer[t] : IR_NONE, to = n->outputs[0];
    if (p == IR_NONE || x->group[p] != p || p == i || !passes_single(e, t) ||
        !ir_shape_same(&e->g->tensors.at[t].shape, &e->g->tensors.at[to].shape) || (is_real(e, t) && !is_real(e, to)) ||
        x->count[p] + x->count[i] > MOST_NODES) {
        return;
    }
    if (!ask(x, i)->is || (x->of[i].at_point >> k & 1) == 0 || !(ask(x, p)->is || x->of[p].reduces)) {
        return;
    }
    const bool reduces = x->reduces[p] || x->of[p].reduces, both = reduces && x->reduces[i];
    const uint32_t work = x->work[p] + x->of[p].work + x->work[i] + x->of[i].work;
    if (both || work > (reduces || x->reduces[i] ? MOST_BEHIND : MOST_WORK) || !needs_no_more(x, p, i, t, reduces)) {
        return;
    }
    uint32_t last = i;
    while (x->next[last] != IR_NONE) {
        last = x->next[last];
    }
    x->next[last] = p;
    for (uint32_t m = p; m != IR_NONE; m = x->next[m]) {
        x->group[m] = i;
    }
    x->count[i] += x->count[p];
    x->reduces[i] = x->reduces[i] || reduces;
    x->work[i] += x->work[p] + x->of[p].work;
}

/* ---- the fused node ---- */

static void sort(uint32_t *list, size_t n) {
    for (size_t i = 1; i < n; i++) {
        for (size_t k = i; k > 0 && list[k - 1] > list[k]; k--) {
            uint32_t v = list[k];
            list[k] = list[k - 1];
            list[k - 1] = v;
        }
    }
}

typedef struct body {
    uint32_t graph;
    uint32_t *inputs; /* the tensors outside, in the order of the graph's inputs */
    size_t input_count;
} body;

/* The tensor of the body for tensor t outside. */
static uint32_t tensor_of(passes_edit *e, ir_graph *g, uint32_t *map, uint32_t t) {
    if (map[t] == IR_NONE) {
        ir_tensor copy = e->g->tensors.at[t];
        copy.data = NULL;
        copy.source = IR_NONE;
        map[t] = (uint32_t)g->tensors.n;
        *BASE_PUSH(e->m->arena, &g->tensors) = copy;
    }
    return map[t];
}

/* A graph of these nodes; map: of the outer graph's tensors, all IR_NONE before and after. */
static body make_body(passes_edit *e, const uint32_t *nodes, size_t n, uint32_t *map) {
    body b = {.graph = (uint32_t)e->m->graphs.n};
    size_t outer = (size_t)(e->g - e->m->graphs.at);
    ir_graph *g = ir_graph_add(e->m, "fused");
    e->g = &e->m->graphs.at[outer];
    g->index = e->g->index;
    b.inputs = BASE_NEWS(e->m->arena, uint32_t, MOST_NODES * 64u);
    for (size_t i = 0; i < n; i++) {
        const ir_node *from = &e->g->nodes.at[nodes[i]];
        ir_node copy = *from;
        copy.inputs = BASE_NEWS(e->m->arena, uint32_t, from->input_count + 1);
        copy.outputs = BASE_NEWS(e->m->arena, uint32_t, 1);
        for (size_t k = 0; k < from->input_count; k++) {
            uint32_t t = from->inputs[k];
            bool fresh = t != IR_NONE && map[t] == IR_NONE;
            copy.inputs[k] = t == IR_NONE ? IR_NONE : tensor_of(e, g, map, t);
            if (fresh) {
                b.inputs[b.input_count++] = t;
                *BASE_PUSH(e->m->arena, &g->inputs) = map[t];
            }
        }
        copy.outputs[0] = tensor_of(e, g, map, from->outputs[0]);
        *BASE_PUSH(e->m->arena, &g->nodes) = copy;
    }
    *BASE_PUSH(e->m->arena, &g->outputs) = map[e->g->nodes.at[nodes[n - 1]].outputs[0]];
    for (size_t i = 0; i < n; i++) {
        const ir_node *from = &e->g->nodes.at[nodes[i]];
        map[from->outputs[0]] = IR_NONE;
        for (size_t k = 0; k < from->input_count; k++) {
            if (from->inputs[k] != IR_NONE) {
                map[from->inputs[k]] = IR_NONE;
            }
        }
    }
    return b;
}

/* The words of the file, one after the other. */
static const char *joined_words(const passes_edit *e, const uint32_t *nodes, size_t n) {
    base_text t = {.arena = e->m->arena};
    for (size_t i = 0; i < n; i++) {
        const ir_node *x = &e->g->nodes.at[nodes[i]];
        const char *word = x->source_name != NULL && *x->source_name ? x->source_name : x->op;
        if (t.n + strlen(word) > LARGEST_NAME) {
            base_puts(&t, "+...");
            break;
        }
        base_put(&t, "%s%s", i ? "+" : "", word);
    }
    return t.at;
}

/* A node that was asked without a look at contents is the same without them. */
static bool node_stands_alone(const chainer *x, const ir_graph *g, uint32_t node, const ir_node *n,
                              base_arena *scratch) {
    const passes_edit *e = x->e;
    base_diags ignored = {.arena = scratch};
    lang_program *p;
    return !x->of[node].by_contents ||
           ops_instantiate(scratch, e->c->ops, e->m, g, n, &e->c->goal, &p, &ignored) == BASE_OK;
}

/* Without what only this call knows: so the graph can be read again. nodes: those of the outer graph that it holds. */
static bool stands_alone(const chainer *x, uint32_t graph, const uint32_t *nodes, base_arena *scratch) {
    const ir_graph *g = &x->e->m->graphs.at[graph];
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (!node_stands_alone(x, g, nodes[i], &g->nodes.at[i], scratch)) {
            return false;
        }
    }
    return true;
}

/* Linked it is within all limits: each node is by itself, and so is the sum of what adds up. */
static bool surely_links(const chainer *x, const uint32_t *nodes, size_t n) {
    uint64_t raw = 0, cost = 0;
    for (size_t k = 0; k < n; k++) {
        raw += x->of[nodes[k]].nodes;
        cost += x->of[nodes[k]].cost;
    }
    return raw <= MOST_RAW && cost <= OPS_MOST_COST / 2;
}

static bool links(const chainer *x, const ir_node *fused, const uint32_t *nodes, size_t n, base_arena *scratch) {
    const passes_edit *e = x->e;
    base_diags ignored = {.arena = scratch};
    lang_program *p;
    return surely_links(x, nodes, n) ||
           ops_instantiate(scratch, e->c->ops, e->m, e->g, fused, &e->c->goal, &p, &ignored) == BASE_OK;
}

static void make_fused(chainer *x, uint32_t i, uint32_t *map) {
    passes_edit *e = x->e;
    uint32_t nodes[MOST_NODES];
    size_t n = 0;
    for (uint32_t m = i; m != IR_NONE && n < MOST_NODES; m = x->next[m]) {
        nodes[n++] = m;
    }
    sort(nodes, n);
    body b = make_body(e, nodes, n, map);
    base_arena *scratch = base_arena_new(base_arena_memory(e->c->arena));
    ir_node fused = e->g->nodes.at[i];
    fused.source_name = joined_words(e, nodes, n);
    const char *name = fused.source_name;
    passes_become(e->c, &fused, "fused", b.inputs, b.input_count);
    fused.source_name = name;
    ir_attr_graph(e->m, &fused, "body", b.graph);
    fused.id_count = 0;
    for (size_t k = 0; k < n; k++) {
        passes_join_ids(e->c, &fused, &fused, &e->g->nodes.at[nodes[k]]);
    }
    if (stands_alone(x, b.graph, nodes, scratch) && links(x, &fused, nodes, n, scratch)) {
        for (size_t k = 0; k < n; k++) {
            e->gone[nodes[k]] = nodes[k] != i;
        }
        e->g->nodes.at[i] = fused;
    } else {
        e->m->graphs.n--; /* as they were */
    }
    base_arena_free(scratch);
}

static void chain_graph(passes_context *c, ir_model *m, size_t graph) {
    passes_edit e = passes_edit_begin(c, m, &m->graphs.at[graph]);
    size_t n = e.g->nodes.n;
    chainer x = {.e = &e, .of = BASE_NEWS(e.scratch, element_wise, n + 1)};
    uint32_t *map = BASE_NEWS(e.scratch, uint32_t, e.tensors + 1);
    x.group = BASE_NEWS(e.scratch, uint32_t, n + 1);
    x.next = BASE_NEWS(e.scratch, uint32_t, n + 1);
    x.count = BASE_NEWS(e.scratch, uint32_t, n + 1);
    x.work = BASE_NEWS(e.scratch, uint32_t, n + 1);
    x.reduces = BASE_NEWS(e.scratch, bool, n + 1);
    x.seen = BASE_NEWS(e.scratch, uint32_t, e.tensors + 1);
    memset(map, 0xff, (e.tensors + 1) * sizeof *map);
    memset(x.next, 0xff, (n + 1) * sizeof *x.next);
    for (uint32_t i = 0; i < n; i++) {
        x.group[i] = i;
        x.count[i] = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (e.g->nodes.at[i].output_count == 1) {
            for (size_t k = e.g->nodes.at[i].input_count; k-- > 0;) {
                join(&x, i, k);
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (x.group[i] == i && x.count[i] > 1) {
            make_fused(&x, i, map);
        }
    }
    passes_edit_end(&e);
}

base_status passes_chain(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    bool *is_body = BASE_NEWS(c->arena, bool, m->graphs.n + 1);
    size_t graphs = m->graphs.n;
    for (size_t i = 0; i < graphs; i++) {
        for (size_t k = 0; k < m->graphs.at[i].nodes.n; k++) {
            const ir_node *n = &m->graphs.at[i].nodes.at[k];
            if (ir_is_fused(n)) {
                is_body[ir_attr_find(n, "body")->v.graph] = true;
            }
        }
    }
    for (size_t i = 0; i < graphs; i++) {
        if (!is_body[i]) {
            chain_graph(c, m, i);
        }
    }
    return BASE_OK;
}
