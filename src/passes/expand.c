/* expand.c - operators that the output format has no word for are said in those that it has.
 *
 * Takes every node that the vocabulary lacks, of values with fixed extents; and every one that computes on quantised numbers and was not
 * said on reals (dequantise.c), whose program is arithmetic on plain integers. Gives in its place nodes that
 * it has, found in the node's program: index maps become moves of tensors, scalar words operators, sums of products and windows
 * those of the format (speak.h). Each new node has the type and shape that its own definition gives, and the outputs
 * those of the node. What cannot be said stays, and is refused by its name when the file is written.
 */
#include <string.h>

#include "passes/speak.h"

#define FOLD_LIMIT 65536u /* bytes of one table */

bool speak_may(const ir_graph *g, const ir_node *n) {
    bool values = ir_control_of(n) == IR_PLAIN && !ir_is_fused(n) && n->output_count > 0;
    for (size_t k = 0; values && k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        values = t == IR_NONE || (g->tensors.at[t].quant.n == 0 && passes_is_fixed(&g->tensors.at[t].shape));
    }
    return values;
}

/* The nodes since `first` make `from`: it becomes tensor `to`. false: nothing there makes it. */
static bool rename_output(speaker *s, size_t first, uint32_t from, uint32_t to) {
    ir_graph *g = s->g;
    bool made = false;
    for (size_t i = first; i < g->nodes.n; i++) {
        for (size_t k = 0; k < g->nodes.at[i].output_count; k++) {
            made = made || g->nodes.at[i].outputs[k] == from;
        }
    }
    for (size_t i = first; made && i < g->nodes.n; i++) {
        ir_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->output_count; k++) {
            n->outputs[k] = n->outputs[k] == from ? to : n->outputs[k];
        }
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

/* The states among the outputs change at last, when everything has been read. */
static bool deliver_states(speaker *s, const ir_node *n, const uint32_t *found) {
    for (size_t i = 0; i < n->output_count; i++) {
        if (s->g->tensors.at[n->outputs[i]].state == IR_NONE) {
            continue;
        }
        if (s->g->tensors.at[found[i]].state != IR_NONE) {
            return false; /* it may have changed by then */
        }
        ir_node *copy = speak_node(s, "identity", &found[i], 1, BASE_NONE);
        copy->outputs[0] = n->outputs[i];
        s->g->tensors.n--; /* it has no use for one of its own */
    }
    return true;
}

/* Each output of the node is what was found for it, or a copy. */
static bool deliver(speaker *s, const ir_node *n, size_t first, const uint32_t *given) {
    uint32_t *found = BASE_NEWS(s->scratch, uint32_t, n->output_count + 1);
    memcpy(found, given, n->output_count * sizeof *found);
    for (size_t i = 0; i < n->output_count; i++) {
        ir_tensor *to = &s->g->tensors.at[n->outputs[i]];
        const ir_tensor *from = &s->g->tensors.at[found[i]];
        if (from->type != to->type || !ir_shape_same(&from->shape, &to->shape)) {
            return false;
        }
        if (to->state != IR_NONE) {
            continue;
        }
        if (from->data != NULL && !is_output(s->g, n->outputs[i])) {
            to->data = from->data;
            continue;
        }
        if (rename_output(s, first, found[i], n->outputs[i])) {
            for (size_t k = i + 1; k < n->output_count; k++) {
                found[k] = found[k] == found[i] ? n->outputs[i] : found[k];
            }
            continue;
        }
        const ir_shape shape = to->shape; /* a new tensor may move the others */
        ir_node *copy = speak_node(s, "reshape", &found[i], 1, BASE_NONE);
        ir_attr_ints(s->m, copy, "shape", shape.dim, shape.rank);
        copy->outputs[0] = n->outputs[i];
        s->g->tensors.n--; /* it has no use for one of its own */
    }
    return deliver_states(s, n, found);
}

static bool speaks_as(speaker *s, const ir_node *n, const lang_program *p) {
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

/* As convolutions, where sums leave out places. */
bool speak_as(speaker *s, const ir_node *n, const lang_program *p) {
    p = lang_fold(s->scratch, p, FOLD_LIMIT);
    const lang_program *wide = lang_spread(s->scratch, p);
    return (wide != p && speaks_as(s, n, wide)) || speaks_as(s, n, p);
}

/* ---- one operator for another ---- */

typedef struct other_word {
    const char *word;
    bool by_axis;
} other_word;
static const other_word words[] = {
#define REPHRASED(word) {word, false},
#define REPHRASED_AXIS(word) {word, true},
#include "passes/rephrased.def"
#undef REPHRASED
#undef REPHRASED_AXIS
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
static uint32_t rephrase(speaker *s, const ir_node *n, const lang_program *p, const other_word *word, uint32_t last) {
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
        ir_node *other = speak_node(s, word->word, &x, 1, BASE_NONE);
        copy_attributes(s, n, other);
        if (word->by_axis) {
            ir_attr_int(s->m, other, "axis", (int64_t)rank - 1);
            ir_attr_int(s->m, other, "count", 1);
        }
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

static bool renamed(speaker *s, const ir_node *n) {
    const speak_mark mark = speak_here(s);
    uint32_t *found = BASE_NEWS(s->scratch, uint32_t, n->output_count + 1);
    if (n->input_count > 0 && n->inputs[0] != IR_NONE && speak_named(s, n, found) && deliver(s, n, mark.nodes, found)) {
        return true;
    }
    speak_back(s, mark);
    return false;
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
        s->g->tensors.at[n->inputs[0]].state != IR_NONE || s->g->tensors.at[n->outputs[0]].state != IR_NONE ||
        speak_shape(s, n->inputs[0])->rank != speak_shape(s, n->outputs[0])->rank || !reads_one(s->scratch, p)) {
        return false;
    }
    const uint32_t rank = speak_shape(s, n->inputs[0])->rank, tries = has_reduction(p) ? rank : 0;
    const speak_mark mark = speak_here(s);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        for (uint32_t k = 0; k <= tries; k++) {
            const uint32_t y = rephrase(s, n, p, &words[i], k == 0 ? IR_NONE : k - 1);
            if (y != IR_NONE && deliver(s, n, mark.nodes, &y)) {
                return true;
            }
            speak_back(s, mark);
        }
    }
    return false;
}

/* What the node takes and gives has no scales from now on. */
static void without_scales(ir_graph *g, const ir_node *n) {
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        if (t != IR_NONE) {
            g->tensors.at[t].quant = (ir_quant){0};
        }
    }
}

/* whole: its program is said; else one operator may do as well. */
static bool expand_node(passes_context *c, ir_model *m, uint32_t graph, const ir_node *n, bool whole) {
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    ir_graph *g = &m->graphs.at[graph];
    speaker s = {.c = c, .m = m, .g = g, .scratch = scratch, .origin = n, .gathers = true};
    bool said = ops_has(c->ops, n->op) && ops_instantiate(scratch, c->ops, m, g, n, &c->goal, &p, &ignored) == BASE_OK;
    if (said && whole) {
        without_scales(g, n);
    }
    said = said && ((!whole && (renamed(&s, n) || rephrased(&s, n, p))) || speak_as(&s, n, p));
    base_arena_free(scratch);
    return said;
}

/* ---- narrow reals ---- */

static bool is_narrow(const ir_graph *g, uint32_t t) {
    return t != IR_NONE && (g->tensors.at[t].type == BASE_F16 || g->tensors.at[t].type == BASE_BF16);
}

/* The tensor in f32: a constant, or of a cast. */
static uint32_t in_f32(passes_context *c, ir_model *m, ir_graph *g, uint32_t t, const ir_node *like) {
    const ir_tensor of = g->tensors.at[t];
    uint64_t count = 0;
    const uint32_t wide = ir_tensor_add(m, g, of.name, BASE_F32, &of.shape);
    if (of.data == NULL) {
        passes_convert(m, g, "cast", t, wide, like);
        return wide;
    }
    (void)ir_shape_elements(&of.shape, &count);
    float *data = BASE_NEWS(c->arena, float, (size_t)count + 1);
    for (uint64_t i = 0; i < count; i++) {
        base_store(BASE_F32, data, i, base_load(of.type, of.data, i));
    }
    g->tensors.at[wide].data = data;
    return wide;
}

/* A node on halves of floats, on f32 between casts, which is as near as its own type has it. */
static bool expand_wider(passes_context *c, ir_model *m, uint32_t graph, const ir_node *n) {
    ir_graph *g = &m->graphs.at[graph];
    const size_t nodes = g->nodes.n, tensors = g->tensors.n, count = n->input_count + n->output_count;
    bool narrow = false;
    ir_node own = *n;
    own.inputs = BASE_NEWS(m->arena, uint32_t, n->input_count + 1);
    own.outputs = BASE_NEWS(m->arena, uint32_t, n->output_count + 1);
    for (size_t k = 0; k < count; k++) {
        const bool in = k < n->input_count;
        const uint32_t t = in ? n->inputs[k] : n->outputs[k - n->input_count];
        uint32_t *to = in ? &own.inputs[k] : &own.outputs[k - n->input_count];
        *to = t;
        if (is_narrow(g, t)) {
            narrow = true;
            const ir_shape shape = g->tensors.at[t].shape;
            *to = in ? in_f32(c, m, g, t, n) : ir_tensor_add(m, g, g->tensors.at[t].name, BASE_F32, &shape);
        }
    }
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    bool said = narrow && strcmp(n->op, "cast") != 0 && ops_has(c->ops, n->op) &&
                ops_instantiate(scratch, c->ops, m, g, &own, &c->goal, &p, &ignored) == BASE_OK;
    if (said && passes_says(c, scratch, m, g, &own)) {
        *BASE_PUSH(m->arena, &g->nodes) = own;
    } else {
        said = said && expand_node(c, m, graph, &own, false);
    }
    base_arena_free(scratch);
    for (size_t k = 0; said && k < n->output_count; k++) {
        if (own.outputs[k] != n->outputs[k]) {
            passes_convert(m, g, "cast", own.outputs[k], n->outputs[k], n);
        }
    }
    if (!said) {
        g->nodes.n = nodes;
        g->tensors.n = tensors;
    }
    return said;
}

/* Of constant numbers with a scale for each channel. */
static bool is_dequantised(const ir_graph *g, uint32_t t) {
    for (size_t i = g->nodes.n; i-- > 0;) {
        const ir_node *n = &g->nodes.at[i];
        if (n->output_count == 1 && n->outputs[0] == t) {
            const ir_tensor *x = n->input_count == 1 && n->inputs[0] != IR_NONE ? &g->tensors.at[n->inputs[0]] : NULL;
            return strcmp(n->op, "dequantize") == 0 && x != NULL && x->data != NULL && x->quant.n > 1;
        }
    }
    return false;
}

/* A product with a constant matrix, which a fully connected operator says, too: that takes a bias and an activation, and of quantised
 * numbers a scale for each column. */
static bool may_connect(const ir_graph *g, const ir_node *n) {
    const ir_tensor *w =
        n->input_count == 2 && n->inputs[0] != IR_NONE && n->inputs[1] != IR_NONE ? &g->tensors.at[n->inputs[1]] : NULL;
    return strcmp(n->op, "batch_matmul") == 0 && w != NULL && w->shape.rank == 2 && w->type == BASE_F32 &&
           (w->data != NULL || is_dequantised(g, n->inputs[1])) && g->tensors.at[n->inputs[0]].data == NULL &&
           g->tensors.at[n->inputs[0]].state == IR_NONE && g->tensors.at[n->outputs[0]].state == IR_NONE &&
           speak_may(g, n);
}

/* Over the leading extents as they are: the product may be quantised. */
static bool connect_dequantised(ir_model *m, uint32_t graph, const ir_node *n) {
    ir_graph *g = &m->graphs.at[graph];
    const ir_attr *of_x = ir_attr_find(n, "adj_x"), *of_y = ir_attr_find(n, "adj_y");
    const ir_tensor w = g->tensors.at[n->inputs[1]];
    if (g->tensors.at[n->inputs[0]].shape.rank < 2 || (of_x != NULL && of_x->v.i != 0)) {
        return false;
    }
    uint32_t inputs[2] = {n->inputs[0], n->inputs[1]};
    if (of_y == NULL || of_y->v.i == 0) {
        static const int64_t order[2] = {1, 0};
        const ir_shape turned = ir_shape_of(2, (const int64_t[]){w.shape.dim[1], w.shape.dim[0]});
        inputs[1] = ir_tensor_add(m, g, w.name, w.type, &turned);
        ir_attr_ints(m, ir_node_add(m, g, "transpose", &n->inputs[1], 1, &inputs[1], 1, IR_NONE), "perm", order, 2);
    }
    ir_node *product = ir_node_add(m, g, "fully_connected", inputs, 2, n->outputs, 1, IR_NONE);
    product->ids = n->ids;
    product->id_count = n->id_count;
    product->byte = n->byte;
    ir_attr_int(m, product, "keep_num_dims", 1);
    return true;
}

static bool connect(passes_context *c, ir_model *m, uint32_t graph, const ir_node *n) {
    ir_graph *g = &m->graphs.at[graph];
    const size_t first = g->nodes.n;
    bool connected = false;
    if (!may_connect(g, n)) {
        return false;
    }
    if (g->tensors.at[n->inputs[1]].data == NULL) {
        return connect_dequantised(m, graph, n);
    }
    if (!expand_node(c, m, graph, n, false)) {
        return false;
    }
    g = &m->graphs.at[graph];
    connected = g->tensors.at[n->outputs[0]].data != NULL; /* a sum over nothing, say */
    for (size_t i = first; i < g->nodes.n; i++) {
        connected = connected || strcmp(g->nodes.at[i].op, "fully_connected") == 0;
    }
    g->nodes.n = connected ? g->nodes.n : first;
    return connected;
}

/* ---- a graph ---- */

typedef struct expander {
    passes_context *c;
    ir_model *m;
    uint32_t graph;
    const ir_quant
        *quant;     /* of each tensor there was: its scales; in the graph only converted ones have them meanwhile */
    bool *converts; /* of each of them: a conversion from or to reals is said by its scales */
    base_diags *d;
    speak_carrier carrier;
    base_place rounds; /* the first node that computes on f64, and is said in f32 */
    size_t rounding;   /* how many there are */
} expander;

static bool has_scales(const ir_graph *g, const ir_node *n) {
    bool has = false;
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        has = has || (t != IR_NONE && g->tensors.at[t].quant.n > 0);
    }
    return has;
}

/* From reals to integers or back, for which the format has a word. */
static bool is_conversion(const expander *x, const ir_graph *g, const ir_node *n) {
    const bool quantises = strcmp(n->op, "quantize") == 0;
    return !x->c->exact && (quantises || strcmp(n->op, "dequantize") == 0) && n->input_count == 1 &&
           n->inputs[0] != IR_NONE && g->tensors.at[n->inputs[0]].state == IR_NONE &&
           g->tensors.at[n->outputs[0]].state == IR_NONE &&
           (!quantises || base_type_bits(g->tensors.at[n->outputs[0]].type) <= 16);
}

/* A copy of the tensor that has no scales. */
static uint32_t bare(expander *x, uint32_t t, const ir_node *like) {
    ir_graph *g = &x->m->graphs.at[x->graph];
    const ir_tensor of = g->tensors.at[t];
    const uint32_t to = ir_tensor_add(x->m, g, of.name, of.type, &of.shape);
    g->tensors.at[to].data = of.data;
    if (of.data == NULL) {
        passes_convert(x->m, g, "identity", t, to, like);
    }
    return to;
}

/* A node on quantised numbers, as arithmetic on the integers. */
static bool expand_quantised(expander *x, const ir_node *n) {
    ir_graph *g = &x->m->graphs.at[x->graph];
    const size_t first = g->nodes.n, tensors = g->tensors.n;
    ir_node own = *n;
    own.inputs = BASE_NEWS(x->c->arena, uint32_t, n->input_count + 1);
    own.outputs = BASE_NEWS(x->c->arena, uint32_t, n->output_count + 1);
    bool fixed = n->output_count > 0;
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const bool in = k < n->input_count;
        const uint32_t t = in ? n->inputs[k] : n->outputs[k - n->input_count];
        uint32_t *to = in ? &own.inputs[k] : &own.outputs[k - n->input_count];
        *to = t;
        if (t == IR_NONE) {
            continue;
        }
        fixed = fixed && passes_is_fixed(&g->tensors.at[t].shape);
        if (x->converts[t]) {
            *to = in ? bare(x, t, n)
                     : ir_tensor_add(x->m, g, g->tensors.at[t].name, g->tensors.at[t].type, &g->tensors.at[t].shape);
        }
        g->tensors.at[*to].quant = x->quant[t];
    }
    const bool said = fixed && expand_node(x->c, x->m, x->graph, &own, true);
    g = &x->m->graphs.at[x->graph];
    without_scales(g, &own);
    for (size_t k = 0; said && k < n->output_count; k++) {
        if (own.outputs[k] != n->outputs[k]) {
            passes_convert(x->m, g, "identity", own.outputs[k], n->outputs[k], n);
        }
    }
    if (!said) {
        g->nodes.n = first;
        g->tensors.n = tensors;
    }
    return said;
}

/* Places that are not zero, whose number a run decides. */
static bool expand_places(passes_context *c, ir_model *m, uint32_t graph, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    speaker s = {.c = c, .m = m, .g = &m->graphs.at[graph], .scratch = scratch, .origin = n};
    const bool said = !passes_says(c, scratch, m, s.g, n) && speak_places(&s, n);
    base_arena_free(scratch);
    return said;
}

static bool has_small_floats(const ir_graph *g, const ir_node *n) {
    bool has = false;
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        has = has || (t != IR_NONE && lang_is_carried(LANG_CARRIES_SMALL, g->tensors.at[t].type));
    }
    return has;
}

/* Node i of the graph as it was, on f64, in f32, where nothing else says it. */
static bool expand_rounded(expander *x, const ir_node *n, size_t i) {
    bool rounds = false;
    if (!speak_carry(&x->carrier, n, LANG_CARRIES_F64, &rounds)) {
        return false;
    }
    if (rounds && x->rounding++ == 0) {
        x->rounds = ir_place_node(x->m, x->carrier.before, i);
    }
    return true;
}

static bool expand_one(expander *x, const ir_node *n, size_t i, bool quantised) {
    ir_graph *g = &x->m->graphs.at[x->graph];
    bool rounds = false;
    if (quantised) {
        return expand_quantised(x, n);
    }
    if (has_small_floats(g, n)) {
        return speak_carry(&x->carrier, n, LANG_CARRIES_SMALL, &rounds);
    }
    speak_carry_seen(&x->carrier, n);
    if (expand_places(x->c, x->m, x->graph, n)) {
        return true;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(x->c->arena));
    const bool own = passes_says(x->c, scratch, x->m, g, n), said = own || !speak_may(g, n);
    base_arena_free(scratch);
    if (!own && passes_from_start(x->c, x->m, x->graph, n)) {
        return true;
    }
    return said ? !x->c->vocabulary->own && connect(x->c, x->m, x->graph, n)
                : expand_wider(x->c, x->m, x->graph, n) || passes_narrow(x->c, x->m, x->graph, n) ||
                      expand_node(x->c, x->m, x->graph, n, false) || expand_rounded(x, n, i);
}

/* Which nodes compute on quantised numbers; the graph's tensors lose their scales, but for those that conversions need. */
static bool *find_quantised(expander *x, const ir_node *nodes, size_t count) {
    ir_graph *g = &x->m->graphs.at[x->graph];
    bool *is = BASE_NEWS(x->c->arena, bool, count + 1);
    ir_quant *quant = BASE_NEWS(x->c->arena, ir_quant, g->tensors.n + 1);
    x->converts = BASE_NEWS(x->c->arena, bool, g->tensors.n + 1);
    for (size_t i = 0; i < count; i++) {
        const ir_node *n = &nodes[i];
        const bool plain = ir_control_of(n) == IR_PLAIN && !ir_is_fused(n) && has_scales(g, n),
                   converts = plain && is_conversion(x, g, n);
        is[i] = plain && !converts && !passes_stays_on_integers(x->c, x->m, g, n);
        for (size_t k = 0; converts && k < 2; k++) {
            x->converts[k == 0 ? n->inputs[0] : n->outputs[0]] = true;
        }
    }
    for (size_t t = 0; t < g->tensors.n; t++) {
        quant[t] = g->tensors.at[t].quant;
        if (!x->converts[t]) {
            g->tensors.at[t].quant = (ir_quant){0};
        }
    }
    x->quant = quant;
    return is;
}

static base_status expand_graph(expander *x, bool integers) {
    passes_find_wholes(x->c, x->m, x->graph);
    ir_graph *g = &x->m->graphs.at[x->graph];
    const size_t count = g->nodes.n;
    ir_node *old = g->nodes.at;
    base_status status = BASE_OK;
    const bool *quantised = integers ? find_quantised(x, old, count) : BASE_NEWS(x->c->arena, bool, count + 1);
    const ir_graph before = *g;
    x->carrier = speak_carry_begin(x->c, x->m, x->graph, &before);
    g->nodes.at = NULL;
    g->nodes.n = g->nodes.cap = 0;
    for (size_t i = 0; i < count; i++) {
        if (expand_one(x, &old[i], i, quantised[i])) {
            x->c->expanded = true;
            continue;
        }
        if (quantised[i]) {
            const base_place place = ir_place_node(x->m, &before, i);
            status = base_error(x->d, &place,
                                "%s on quantised numbers has no counterpart on reals, and its integers cannot be said",
                                old[i].op);
        }
        *BASE_PUSH(x->m->arena, &x->m->graphs.at[x->graph].nodes) = old[i];
    }
    return status;
}

/* States have no scales of their own, where nodes are said by integers. */
static void bare_states(ir_model *m) {
    for (size_t i = 0; i < m->states.n; i++) {
        m->states.at[i].quant = (ir_quant){0};
    }
}

base_status passes_expand(passes_context *c, ir_model *m, base_diags *d) {
    const bool integers = passes_asked(c, "unscale");
    base_status status = BASE_OK;
    const size_t count = m->graphs.n;
    expander x = {.c = c, .m = m, .d = d};
    for (size_t i = 0; c->vocabulary != NULL && i < count; i++) {
        x.graph = (uint32_t)i;
        const base_status own = expand_graph(&x, integers);
        status = status == BASE_OK ? own : status;
    }
    if (x.rounding > 0) {
        c->in_f32 = true;
        base_warn(
            d, &x.rounds,
            "it computes on f64, for which the format has no kernels: written in f32, with 24 bits of each number "
            "where there were 53, and infinities above 3.4e38 (%zu operator%s in all)",
            x.rounding, x.rounding == 1 ? "" : "s");
    }
    if (c->vocabulary != NULL && integers) {
        bare_states(m);
    }
    return status == BASE_OK && integers && c->vocabulary != NULL ? ir_sort(m, d) : status;
}
