/* quantise.c - words on reals between conversions become the same words on quantised numbers.
 *
 * Takes nodes whose real inputs are dequantised, or constants, and whose outputs are quantised and nothing else; and moves of
 * dequantised numbers. Gives the same node on the integers, if there is such a definition, and it comes within one step of the
 * reals (apart.c) on sampled elements: what definitions do not read (zero points of weights, scales of a softmax)
 * shows there. Where only the operator's own scale of its output, or one scale for all, will do, a requantisation
 * stands behind or before. Everything else stays on reals, between its conversions. Of models whose tensors had scales when they were
 * read nothing is changed. Pass integers is its part about moves.
 */
#include <math.h>
#include <string.h>

#include "passes/passes_private.h"

typedef struct quantiser {
    passes_context *c;
    ir_model *m;
    ir_graph *g;
    base_arena *scratch;
    size_t tensors, room;
    uint32_t *whole;    /* of each tensor: the integers whose reals it is; IR_NONE: not known */
    uint32_t *producer; /* of each tensor: a node; IR_NONE */
    uint32_t *same;     /* of each tensor: what stands for it from now on */
    uint32_t *first;    /* of each tensor: the first node that quantises it; IR_NONE */
    uint32_t *others;   /* of each tensor: how many nodes read it otherwise, and whether it is an output */
    bool *is_output;
    size_t count; /* nodes there were at first */
    bool *gone;   /* of each of them */
    bool moves_only;
} quantiser;

/* Scales that operators of TFLite give their outputs, whatever is asked (its specification of 8-bit quantisation). */
static const struct {
    base_type type;
    float scale;
    int64_t zero;
} own_scales[] = {{BASE_I8, 1.0f / 256, -128},
                  {BASE_I8, 1.0f / 128, 0},
                  {BASE_U8, 1.0f / 256, 0},
                  {BASE_U8, 1.0f / 128, 128},
                  {BASE_I16, 1.0f / 32768, 0}};

/* ---- the graph ---- */

static void grow(quantiser *q) {
    const size_t n = q->g->tensors.n;
    if (n > q->room) {
        const size_t room = 2 * n + 64;
        uint32_t **lists[] = {&q->whole, &q->producer, &q->same, &q->first, &q->others};
        for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
            uint32_t *wider = BASE_NEWS(q->scratch, uint32_t, room);
            if (q->tensors > 0) {
                memcpy(wider, *lists[i], q->tensors * sizeof *wider);
            }
            *lists[i] = wider;
        }
        bool *wider = BASE_NEWS(q->scratch, bool, room);
        if (q->tensors > 0) {
            memcpy(wider, q->is_output, q->tensors * sizeof *wider);
        }
        q->is_output = wider;
        q->room = room;
    }
    for (; q->tensors < n; q->tensors++) {
        q->whole[q->tensors] = q->producer[q->tensors] = q->first[q->tensors] = IR_NONE;
        q->same[q->tensors] = (uint32_t)q->tensors;
        q->others[q->tensors] = 0;
    }
}

static uint32_t now(const quantiser *q, uint32_t t) {
    while (t != IR_NONE && q->same[t] != t) {
        t = q->same[t];
    }
    return t;
}

static bool is_word(const ir_node *n, const char *word) {
    return strcmp(n->op, word) == 0 && n->input_count == 1 && n->output_count == 1 && n->inputs[0] != IR_NONE;
}

static void begin(quantiser *q) {
    const ir_graph *g = q->g;
    grow(q);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        const bool quantises = is_word(n, "quantize");
        for (size_t k = 0; k < n->input_count; k++) {
            const uint32_t t = n->inputs[k];
            if (t != IR_NONE && quantises && q->first[t] == IR_NONE) {
                q->first[t] = i;
            }
            if (t != IR_NONE && !quantises) {
                q->others[t]++;
            }
        }
        for (size_t k = 0; k < n->output_count; k++) {
            q->producer[n->outputs[k]] = i;
        }
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        q->others[g->outputs.at[i]]++;
        q->is_output[g->outputs.at[i]] = true;
    }
}

static uint32_t tensor_like(quantiser *q, uint32_t like, base_type type, const ir_quant *quant, const ir_shape *shape) {
    const char *name = q->g->tensors.at[like].name;
    const uint32_t t = ir_tensor_add(q->m, q->g, name, type, shape);
    q->g->tensors.at[t].quant = *quant;
    grow(q);
    return t;
}

static void convert(quantiser *q, const char *word, uint32_t from, uint32_t to, const ir_node *like) {
    const ir_node of = *like; /* adding may move it */
    q->producer[to] = (uint32_t)q->g->nodes.n;
    ir_node *n = ir_node_add(q->m, q->g, word, &from, 1, &to, 1, IR_NONE);
    n->ids = of.ids;
    n->id_count = of.id_count;
    n->byte = of.byte;
}

/* ---- candidates ---- */

typedef struct candidate {
    ir_node n;        /* on integers, with lists of its own */
    ir_quant *quants; /* of each input: of the reals in its place */
    bool *is_new;     /* of each input: a requantisation has to make it from from[k] */
    uint32_t *from;
} candidate;

static candidate candidate_of(quantiser *q, const ir_node *n) {
    candidate c = {.n = *n};
    c.n.inputs = BASE_NEWS(q->scratch, uint32_t, n->input_count + 1);
    c.n.outputs = BASE_NEWS(q->scratch, uint32_t, n->output_count + 1);
    c.quants = BASE_NEWS(q->scratch, ir_quant, n->input_count + 1);
    c.is_new = BASE_NEWS(q->scratch, bool, n->input_count + 1);
    c.from = BASE_NEWS(q->scratch, uint32_t, n->input_count + 1);
    memcpy(c.n.outputs, n->outputs, n->output_count * sizeof *n->outputs);
    for (size_t k = 0; k < n->input_count; k++) {
        const uint32_t t = now(q, n->inputs[k]), w = t != IR_NONE ? q->whole[t] : IR_NONE;
        c.n.inputs[k] = w != IR_NONE ? w : t;
        c.quants[k] = w != IR_NONE ? q->g->tensors.at[w].quant : (ir_quant){0};
    }
    return c;
}

/* A real constant that is added to products of two quantised inputs: integers of the product of their scales. */
static bool sum_as_integers(quantiser *q, candidate *c, size_t k) {
    const ir_tensor like = q->g->tensors.at[c->n.inputs[k]];
    const ir_quant *factor[2] = {NULL, NULL};
    size_t found = 0;
    uint64_t n = 0;
    for (size_t i = 0; i < c->n.input_count; i++) {
        if (c->quants[i].n > 0 && found++ < 2) {
            factor[found - 1] = &c->quants[i];
        }
    }
    if (found != 2 || like.data == NULL || like.type != BASE_F32 || like.shape.rank != 1 ||
        !ir_shape_elements(&like.shape, &n) || (factor[0]->n > 1 && factor[1]->n > 1)) {
        return false;
    }
    const uint32_t count = factor[0]->n > 1 ? factor[0]->n : factor[1]->n;
    const bool is_wide = q->g->tensors.at[c->n.inputs[0]].type == BASE_I16;
    const base_type type = is_wide ? BASE_I64 : BASE_I32;
    const double most = is_wide ? 1e15 : 2147483647.0;
    if (count > 1 && count != n) {
        return false;
    }
    float *scale = BASE_NEWS(q->c->arena, float, count);
    void *data = base_alloc(q->c->arena, (size_t)n + 1, 8);
    for (uint32_t i = 0; i < count; i++) {
        scale[i] = factor[0]->scale[factor[0]->n > 1 ? i : 0] * factor[1]->scale[factor[1]->n > 1 ? i : 0];
    }
    for (uint64_t i = 0; i < n; i++) {
        const double v = rint(base_load(BASE_F32, like.data, i).f / (double)scale[count > 1 ? i : 0]);
        if (!(fabs(v) <= most)) {
            return false;
        }
        base_store(type, data, i, (base_value){.i = (int64_t)v});
    }
    const ir_quant quant = {.n = count, .axis = 0, .scale = scale, .zero = BASE_NEWS(q->c->arena, int64_t, count)};
    c->n.inputs[k] = tensor_like(q, c->n.inputs[k], type, &quant, &like.shape);
    q->g->tensors.at[c->n.inputs[k]].data = data;
    return true;
}

/* Real constants of it that are no quantised numbers: biases. false: one is none. */
static bool add_sums(quantiser *q, candidate *c) {
    for (size_t k = 0; k < c->n.input_count; k++) {
        const uint32_t t = c->n.inputs[k];
        if (t != IR_NONE && c->quants[k].n == 0 && base_type_is_float(q->g->tensors.at[t].type) &&
            !sum_as_integers(q, c, k)) {
            return false;
        }
    }
    return true;
}

/* Operators that a kernel of a runtime computes wrongly of that type, whatever its definition says (docs/TFLITE.md). */
static const struct {
    const char *word;
    base_type type;
} on_reals[] = {{"sum", BASE_I16}};

static bool stays_real(const quantiser *q, const candidate *c) {
    base_arena *scratch = base_arena_new(base_arena_memory(q->c->arena));
    bool stays = q->c->vocabulary != NULL && !passes_says(q->c, scratch, q->m, q->g, &c->n);
    base_arena_free(scratch);
    for (size_t i = 0; i < sizeof on_reals / sizeof on_reals[0]; i++) {
        stays = stays ||
                (strcmp(c->n.op, on_reals[i].word) == 0 && q->g->tensors.at[c->n.outputs[0]].type == on_reals[i].type);
    }
    return stays;
}

/* With the numerics of each runtime that definitions know. */
static bool fits(quantiser *q, const candidate *c, const ir_node *real, double most) {
    static const char *const other[] = {"litert"};
    base_diags ignored = {.arena = q->scratch};
    double steps[2] = {0, 0};
    ir_node resolved = *real; /* inputs by what stands for them now */
    resolved.inputs = BASE_NEWS(q->scratch, uint32_t, real->input_count + 1);
    for (size_t k = 0; k < real->input_count; k++) {
        resolved.inputs[k] = now(q, real->inputs[k]);
    }
    const ops_goal asked = q->c->goal;
    bool done = true;
    for (size_t k = 0; done && k < 2; k++) {
        q->c->goal = k == 0 ? asked : (ops_goal){other, 1};
        done = passes_steps_apart(q->c, q->m, q->g, &c->n, &resolved, c->quants, true, &steps[k], &ignored) &&
               steps[k] <= most;
    }
    q->c->goal = asked;
    return done;
}

/* Node i becomes the candidate. */
static void take(quantiser *q, size_t i, const candidate *c) {
    for (size_t k = 0; k < c->n.input_count; k++) {
        if (c->is_new[k]) {
            convert(q, "quantize", c->from[k], c->n.inputs[k], &q->g->nodes.at[i]);
        }
    }
    ir_node *n = &q->g->nodes.at[i];
    memcpy(n->inputs, c->n.inputs, n->input_count * sizeof *n->inputs);
    memcpy(n->outputs, c->n.outputs, n->output_count * sizeof *n->outputs);
    for (size_t k = 0; k < n->output_count; k++) {
        q->producer[n->outputs[k]] = (uint32_t)i;
    }
}

/* ---- arithmetic ---- */

/* The inputs brought to one quantisation. false: numbers with a scale for each channel are not requantised. */
static bool bring_to(quantiser *q, candidate *c, base_type type, const ir_quant *quant) {
    for (size_t k = 0; k < c->n.input_count; k++) {
        const uint32_t t = c->n.inputs[k];
        if (c->quants[k].n == 0 || (q->g->tensors.at[t].type == type && ir_quant_same(&c->quants[k], quant))) {
            continue;
        }
        if (c->quants[k].n > 1) {
            return false;
        }
        const ir_shape shape = q->g->tensors.at[t].shape;
        c->from[k] = t;
        c->is_new[k] = true;
        c->n.inputs[k] = tensor_like(q, t, type, quant, &shape);
        c->quants[k] = *quant;
    }
    return true;
}

static bool quantise_with(quantiser *q, size_t i, uint32_t real, uint32_t to, bool one_scale) {
    const ir_node like = q->g->nodes.at[i];
    candidate c = candidate_of(q, &like);
    c.n.outputs[0] = to;
    if (!add_sums(q, &c)) {
        return false;
    }
    const ir_tensor t = q->g->tensors.at[to];
    if (one_scale && !bring_to(q, &c, t.type, &t.quant)) {
        return false;
    }
    if (stays_real(q, &c) || !fits(q, &c, &like, passes_most_apart(t.type))) {
        return false;
    }
    take(q, i, &c);
    q->whole[real] = to;
    return true;
}

/* Does it matter to the node on integers which scale its output has? */
static bool reads_scale_of_output(quantiser *q, size_t i, uint32_t to) {
    candidate c = candidate_of(q, &q->g->nodes.at[i]);
    const ir_quant was = q->g->tensors.at[to].quant;
    const float other[1] = {was.scale[0] * 4};
    base_arena *scratch = base_arena_new(base_arena_memory(q->c->arena));
    base_diags ignored = {.arena = scratch};
    base_text texts[2] = {{.arena = scratch}, {.arena = scratch}};
    bool same = add_sums(q, &c);
    c.n.outputs[0] = to;
    for (size_t k = 0; same && k < 2; k++) {
        lang_program *p = NULL;
        const ir_quant changed = {.n = 1, .scale = k == 0 ? was.scale : other, .zero = was.zero};
        q->g->tensors.at[to].quant = changed;
        same = ops_instantiate(scratch, q->c->ops, q->m, q->g, &c.n, &q->c->goal, &p, &ignored) == BASE_OK;
        if (same) {
            lang_print(&texts[k], p);
        }
    }
    q->g->tensors.at[to].quant = was;
    same = same && strcmp(texts[0].at, texts[1].at) == 0;
    base_arena_free(scratch);
    return !same;
}

/* By a scale of the operator's own, or the input's. */
static bool quantise_by_another(quantiser *q, size_t i, uint32_t real, uint32_t to, size_t at) {
    const ir_tensor t = q->g->tensors.at[to];
    const candidate c = candidate_of(q, &q->g->nodes.at[i]);
    const size_t own_count = sizeof own_scales / sizeof own_scales[0];
    for (size_t k = 0; k < own_count + c.n.input_count; k++) {
        ir_quant other = {.n = 1};
        if (k < own_count && own_scales[k].type == t.type) {
            other.scale = &own_scales[k].scale;
            other.zero = &own_scales[k].zero;
        } else if (k >= own_count && c.quants[k - own_count].n == 1 &&
                   q->g->tensors.at[c.n.inputs[k - own_count]].type == t.type) {
            other = c.quants[k - own_count];
        } else {
            continue;
        }
        const bool is_asked = ir_quant_same(&other, &t.quant);
        if (quantise_with(q, i, real, is_asked ? to : tensor_like(q, to, t.type, &other, &t.shape), false)) {
            q->gone[at] = is_asked; /* else it becomes a requantisation when it is met */
            return true;
        }
    }
    return false;
}

static void quantise(quantiser *q, size_t i) {
    const ir_node like = q->g->nodes.at[i];
    const uint32_t real = like.output_count == 1 ? like.outputs[0] : IR_NONE;
    if (real == IR_NONE || q->first[real] == IR_NONE || q->others[real] != 0) {
        return;
    }
    const size_t at = q->first[real];
    const uint32_t to = q->g->nodes.at[at].outputs[0];
    if (q->g->tensors.at[to].quant.n != 1) {
        return;
    }
    const bool reads = reads_scale_of_output(q, i, to);
    if (reads ? quantise_with(q, i, real, to, false) : quantise_by_another(q, i, real, to, at)) {
        q->gone[at] = q->gone[at] || reads;
    } else if (like.input_count > 1 && quantise_with(q, i, real, to, true)) {
        q->gone[at] = true;
    }
}

/* ---- moves ---- */

/* The numbers of each channel have to stay beside each other along one extent: a constant of the channels' numbers is moved,
 * too, and says where. */
static bool move_channels(quantiser *q, const ir_node *n, size_t input, ir_quant *quant, uint32_t like, uint32_t to) {
    const ir_tensor from = q->g->tensors.at[like], result = q->g->tensors.at[to];
    uint64_t elements = 0, behind = 1, after = 0;
    (void)ir_shape_elements(&from.shape, &elements);
    (void)ir_shape_elements(&result.shape, &after);
    for (uint32_t k = (uint32_t)quant->axis + 1; k < from.shape.rank; k++) {
        behind *= (uint64_t)from.shape.dim[k];
    }
    int32_t *numbers = BASE_NEWS(q->scratch, int32_t, (size_t)elements + 1);
    for (uint64_t e = 0; e < elements; e++) {
        base_store(BASE_I32, numbers, e, (base_value){.i = (int64_t)(e / behind % quant->n)});
    }
    const ir_quant none = {0};
    const uint32_t x = tensor_like(q, like, BASE_I32, &none, &from.shape),
                   y = tensor_like(q, to, BASE_I32, &none, &result.shape);
    ir_node moved = *n;
    moved.inputs = BASE_NEWS(q->scratch, uint32_t, n->input_count + 1);
    memcpy(moved.inputs, n->inputs, n->input_count * sizeof *n->inputs);
    moved.inputs[input] = x;
    moved.outputs = BASE_NEWS(q->scratch, uint32_t, 1);
    moved.outputs[0] = y;
    q->g->tensors.at[x].data = numbers;
    const bool done = ops_evaluate(q->scratch, q->c->ops, q->m, q->g, &moved, &q->c->goal);
    const void *places = q->g->tensors.at[y].data;
    q->g->tensors.at[x].data = q->g->tensors.at[y].data = NULL; /* they stay behind in the graph, unused */
    if (!done) {
        return false;
    }
    for (uint32_t axis = 0; axis < result.shape.rank; axis++) {
        behind = 1;
        for (uint32_t k = axis + 1; k < result.shape.rank; k++) {
            behind *= (uint64_t)result.shape.dim[k];
        }
        bool fits_axis = result.shape.dim[axis] == (int64_t)quant->n;
        for (uint64_t e = 0; fits_axis && e < after; e++) {
            fits_axis = (uint64_t)base_load(BASE_I32, places, e).i == e / behind % quant->n;
        }
        if (fits_axis) {
            quant->axis = (int32_t)axis;
            return true;
        }
    }
    return false;
}

/* All real inputs stand for integers of one quantisation, which the outputs then have. */
static bool one_quant(const quantiser *q, const candidate *c, size_t *input) {
    bool found = false;
    for (size_t k = 0; k < c->n.input_count; k++) {
        const uint32_t t = c->n.inputs[k];
        if (t == IR_NONE || c->quants[k].n == 0) {
            if (t != IR_NONE && base_type_is_float(q->g->tensors.at[t].type)) {
                return false;
            }
            continue;
        }
        if (found && (!ir_quant_same(&c->quants[k], &c->quants[*input]) || c->quants[k].n > 1 ||
                      q->g->tensors.at[t].type != q->g->tensors.at[c->n.inputs[*input]].type)) {
            return false;
        }
        *input = found ? *input : k;
        found = true;
    }
    return found;
}

/* Weights with a scale for each channel, which have zero points of 0: moved now, as plain integers. */
static bool move_weights(quantiser *q, const candidate *c, size_t input, ir_quant *quant) {
    const uint32_t from = c->n.inputs[input], to = c->n.outputs[0];
    const ir_quant before = q->g->tensors.at[from].quant;
    bool done = q->g->tensors.at[from].data != NULL;
    for (uint32_t k = 0; k < quant->n; k++) {
        done = done && quant->zero[k] == 0;
    }
    q->g->tensors.at[from].quant = (ir_quant){0};
    done = done && passes_only_moves(q->c, q->m, q->g, &c->n) && move_channels(q, &c->n, input, quant, from, to) &&
           ops_evaluate(q->c->arena, q->c->ops, q->m, q->g, &c->n, &q->c->goal);
    q->g->tensors.at[from].quant = before;
    return done;
}

/* Where scales will be gone, they must not count (a zero point that is padded with). */
static bool moves_integers(quantiser *q, const ir_node *n) {
    return q->moves_only ? passes_stays_on_integers(q->c, q->m, q->g, n) : passes_only_moves(q->c, q->m, q->g, n);
}

static bool move(quantiser *q, size_t i) {
    const ir_node like = q->g->nodes.at[i];
    candidate c = candidate_of(q, &like);
    size_t input = 0;
    if (like.output_count != 1 || !one_quant(q, &c, &input)) {
        return false;
    }
    const uint32_t from = c.n.inputs[input], real = like.outputs[0];
    ir_quant quant = c.quants[input];
    const ir_shape shape = q->g->tensors.at[real].shape;
    const ir_quant known = quant.n > 1 ? (ir_quant){0} : quant;
    const uint32_t to = tensor_like(q, real, q->g->tensors.at[from].type, &known, &shape);
    c.n.outputs[0] = to;
    const bool is_move =
        quant.n > 1 ? move_weights(q, &c, input, &quant) : moves_integers(q, &c.n) && fits(q, &c, &like, 0);
    if (!is_move) {
        return false;
    }
    if (quant.n > 1 || ops_evaluate(q->c->arena, q->c->ops, q->m, q->g, &c.n, &q->c->goal)) {
        q->gone[i] = true;
    } else {
        take(q, i, &c);
    }
    q->g->tensors.at[to].quant = quant;
    q->whole[real] = to;
    convert(q, "dequantize", to, real, &like);
    return true;
}

/* ---- conversions ---- */

/* Tensor `to` has what w has. */
static void stand_in(quantiser *q, size_t i, uint32_t w, uint32_t to) {
    if (!q->is_output[to]) {
        q->same[to] = w;
        q->gone[i] = true;
    } else if (!q->is_output[w] && q->producer[w] != IR_NONE) {
        ir_node *p = &q->g->nodes.at[q->producer[w]];
        for (size_t k = 0; k < p->output_count; k++) {
            p->outputs[k] = p->outputs[k] == w ? to : p->outputs[k];
        }
        q->producer[to] = q->producer[w];
        q->same[w] = to;
        q->gone[i] = true;
    } else {
        q->g->nodes.at[i].inputs[0] = w;
    }
}

static bool is_quantised_once(const quantiser *q, uint32_t t) {
    size_t n = 0;
    for (size_t i = 0; i < q->count; i++) {
        const ir_node *reader = &q->g->nodes.at[i];
        n += !q->gone[i] && is_word(reader, "quantize") && now(q, reader->inputs[0]) == t;
    }
    return n == 1;
}

/* The same reals by numbers of the other sign, of what another conversion alone makes for this one: that one makes them. */
static void join_signs(quantiser *q, ir_node *n) {
    const uint32_t w = now(q, n->inputs[0]), p = q->producer[w];
    const ir_tensor *from = &q->g->tensors.at[w], *to = &q->g->tensors.at[n->outputs[0]];
    if (p == IR_NONE || p >= q->count || q->gone[p] || !is_word(&q->g->nodes.at[p], "quantize") || q->others[w] != 0 ||
        from->quant.n != 1 || to->quant.n != 1 || from->quant.scale[0] != to->quant.scale[0] ||
        !((from->type == BASE_I8 && to->type == BASE_U8 && to->quant.zero[0] - from->quant.zero[0] == 128) ||
          (from->type == BASE_U8 && to->type == BASE_I8 && from->quant.zero[0] - to->quant.zero[0] == 128)) ||
        !is_quantised_once(q, w)) {
        return;
    }
    n->inputs[0] = q->g->nodes.at[p].inputs[0];
    q->gone[p] = true;
}

static void visit(quantiser *q, size_t i) {
    ir_node *n = &q->g->nodes.at[i];
    if (q->gone[i] || ir_control_of(n) != IR_PLAIN || ir_is_fused(n) || n->input_count == 0 || n->output_count == 0) {
        return;
    }
    if (is_word(n, "dequantize")) {
        const uint32_t from = now(q, n->inputs[0]);
        if (q->g->tensors.at[from].quant.n > 0 && q->g->tensors.at[from].state == IR_NONE) {
            q->whole[n->outputs[0]] = from;
        }
        return;
    }
    if (is_word(n, "quantize")) {
        const uint32_t w = q->whole[now(q, n->inputs[0])], to = n->outputs[0];
        if (w != IR_NONE && q->g->tensors.at[w].quant.n == 1 && q->g->tensors.at[to].quant.n == 1) {
            if (passes_same_values(&q->g->tensors.at[w], &q->g->tensors.at[to])) {
                stand_in(q, i, w, to);
            } else {
                n->inputs[0] = w;
            }
        }
        join_signs(q, n);
        return;
    }
    bool any = false;
    for (size_t k = 0; k < n->input_count; k++) {
        const uint32_t t = now(q, n->inputs[k]);
        any = any || (t != IR_NONE && q->whole[t] != IR_NONE);
    }
    for (size_t k = 0; k < n->output_count; k++) {
        any = any && q->g->tensors.at[n->outputs[k]].type == BASE_F32;
    }
    if (any && !move(q, i) && !q->moves_only) {
        quantise(q, i);
    }
}

static void rewrite(passes_context *c, ir_model *m, ir_graph *g, bool moves_only) {
    quantiser q = {.c = c, .m = m, .g = g, .moves_only = moves_only};
    q.scratch = base_arena_new(base_arena_memory(c->arena));
    const size_t nodes = q.count = g->nodes.n;
    q.gone = BASE_NEWS(q.scratch, bool, nodes + 1);
    begin(&q);
    for (size_t k = 0; k < nodes; k++) {
        visit(&q, k);
    }
    bool *all = BASE_NEWS(q.scratch, bool, g->nodes.n + 1);
    bool *made = BASE_NEWS(q.scratch, bool, g->tensors.n + 1); /* of each tensor: it is a constant now */
    memcpy(all, q.gone, nodes * sizeof *all);
    for (size_t k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.at[k];
        for (size_t j = 0; j < n->input_count; j++) {
            n->inputs[j] = now(&q, n->inputs[j]);
        }
        bool is_constant = is_word(n, "dequantize") && g->tensors.at[n->inputs[0]].quant.n > 1;
        for (size_t j = 0; j < n->input_count; j++) {
            is_constant = is_constant || (n->inputs[j] != IR_NONE && made[n->inputs[j]]);
        }
        if (!moves_only && !all[k] && is_constant && n->output_count == 1 && !q.is_output[n->outputs[0]]) {
            /* TFLM would take the first scale for all */
            all[k] = made[n->outputs[0]] = ops_evaluate(c->arena, c->ops, m, g, n, &c->goal);
        }
    }
    passes_drop(g, all);
    base_arena_free(q.scratch);
}

base_status passes_quantise(passes_context *c, ir_model *m, base_diags *d) {
    if (!passes_asked(c, "quantise") || !c->rescaled) {
        return BASE_OK;
    }
    for (size_t i = 0; i < m->graphs.n; i++) {
        rewrite(c, m, &m->graphs.at[i], false);
    }
    passes_count_transposes(c, m);
    const base_status status = ir_sort(m, d);
    for (size_t i = 0; status == BASE_OK && i < m->graphs.n; i++) {
        passes_bound_poles(c, m, &m->graphs.at[i]);
    }
    return status == BASE_OK ? ir_sort(m, d) : status;
}

base_status passes_integers(passes_context *c, ir_model *m, base_diags *d) {
    if (!passes_asked(c, "integers")) {
        return BASE_OK;
    }
    for (size_t i = 0; i < m->graphs.n; i++) {
        rewrite(c, m, &m->graphs.at[i], true);
    }
    passes_count_transposes(c, m);
    return ir_sort(m, d);
}
