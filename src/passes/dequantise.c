/* dequantise.c - quantised arithmetic as reals between conversions.
 *
 * Takes nodes on tensors with scales of their own. Gives the same words on reals, between dequantize and quantize. Each is
 * compared with what it becomes (apart.c): TFLite's kernels and reals between two roundings may be a step apart. What has no
 * meaning on reals, or another one, is left to pass expand, else refused by name. Pass integers takes moves back to the integers, pass unscale has
 * ONNX's words for the conversions.
 */
#include <math.h>
#include <string.h>

#include "passes/passes_private.h"

#define MOST_OF_REALS 4.0 /* steps of 1/127 of the largest: inputs of hybrid operators are quantised at run time */

typedef struct dequantiser {
    passes_context *c;
    ir_model *m;
    ir_graph *g;
    size_t tensors; /* of it */
    uint32_t *real; /* of each of those: the reals it stands for; IR_NONE: not asked for yet */
    bool *is_made;  /* of each: a node makes these */
    base_arena *scratch;
    base_diags *d;
    base_status status;
} dequantiser;

static bool has_scales(const dequantiser *q, uint32_t t) {
    return t != IR_NONE && q->g->tensors.at[t].quant.n > 0;
}

static bool touches(const dequantiser *q, const ir_node *n) {
    bool is = false;
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        if (t != IR_NONE && q->g->tensors.at[t].state != IR_NONE) {
            return false; /* a state has its own type, and stays what it is */
        }
        is = is || has_scales(q, t);
    }
    return is;
}

/* ---- what becomes reals ---- */

/* What stands in the place of an input or output. */
typedef struct stand_in {
    uint32_t t, real; /* t itself where it has no scales */
    ir_quant quant;   /* n == 0: none */
} stand_in;

static uint32_t real_tensor(dequantiser *q, uint32_t t, const ir_quant *quant) {
    const ir_tensor like = q->g->tensors.at[t];
    const uint32_t real =
        ir_tensor_add(q->m, q->g, base_printf(q->c->arena, "%s_real", like.name), BASE_F32, &like.shape);
    uint64_t n = 0;
    if (like.type == BASE_I64 && like.data != NULL && ir_shape_elements(&like.shape, &n)) { /* wider than ONNX takes */
        float *list = BASE_NEWS(q->c->arena, float, (size_t)n + 1);
        for (uint64_t i = 0; i < n; i++) {
            base_store(BASE_F32, list, i, (base_value){.f = passes_real(&like, quant, like.data, i)});
        }
        q->g->tensors.at[real].data = list;
    }
    return real;
}

/* A sum that is added to products of two quantised inputs has the product of their scales, which kernels do not look up: it is
 * what they compute with, whatever the file says. */
static bool product_of_scales(dequantiser *q, const ir_node *n, const ir_tensor *sum, ir_quant *out) {
    const ir_quant *factor[2] = {NULL, NULL};
    size_t found = 0;
    for (size_t k = 0; k < n->input_count; k++) {
        const ir_tensor *t = n->inputs[k] != IR_NONE ? &q->g->tensors.at[n->inputs[k]] : NULL;
        if (t != NULL && t != sum && t->quant.n > 0 && found++ < 2) {
            factor[found - 1] = &t->quant;
        }
    }
    if (found != 2 || sum->shape.rank != 1 || (factor[0]->n > 1 && factor[1]->n > 1)) {
        return false;
    }
    const uint32_t count = factor[0]->n > 1 ? factor[0]->n : factor[1]->n;
    if (count > 1 && (int64_t)count != sum->shape.dim[0]) {
        return false;
    }
    float *scale = BASE_NEWS(q->c->arena, float, count);
    for (uint32_t i = 0; i < count; i++) {
        scale[i] = factor[0]->scale[factor[0]->n > 1 ? i : 0] * factor[1]->scale[factor[1]->n > 1 ? i : 0];
        if (!(scale[i] > 0) || !isfinite(scale[i])) {
            return false;
        }
    }
    *out = (ir_quant){.n = count, .axis = 0, .scale = scale, .zero = BASE_NEWS(q->c->arena, int64_t, count)};
    return true;
}

/* sums: integers of 32 bits and more have the product of the other inputs' scales. */
static bool choose_places(dequantiser *q, const ir_node *n, bool sums, stand_in *places) {
    bool differs = false;
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        places[k] = (stand_in){.t = t, .real = t};
        if (t == IR_NONE) {
            continue;
        }
        const ir_tensor like = q->g->tensors.at[t];
        ir_quant product = {0};
        if (sums && k < n->input_count && (like.type == BASE_I32 || like.type == BASE_I64) && like.data != NULL &&
            product_of_scales(q, n, &q->g->tensors.at[t], &product)) {
            differs = true;
            places[k].quant = product;
            places[k].real = real_tensor(q, t, &product);
        } else if (like.quant.n > 0 && base_type_is_int(like.type)) {
            places[k].quant = like.quant;
            if (k >= n->input_count) {
                places[k].real = real_tensor(q, t, &like.quant);
                continue;
            }
            q->real[t] = q->real[t] != IR_NONE ? q->real[t] : real_tensor(q, t, &like.quant);
            places[k].real = q->real[t];
        }
    }
    return differs || !sums;
}

/* The node on the reals; false: *why says what is in the way. */
static bool becomes(dequantiser *q, const ir_node *n, const stand_in *places, const char **why) {
    ir_node real = *n;
    base_diags said = {.arena = q->scratch};
    ir_quant *quants = BASE_NEWS(q->scratch, ir_quant, n->input_count + 1);
    double steps = 0, most = MOST_OF_REALS;
    real.inputs = BASE_NEWS(q->scratch, uint32_t, n->input_count + 1);
    real.outputs = BASE_NEWS(q->scratch, uint32_t, n->output_count + 1);
    for (size_t k = 0; k < n->input_count; k++) {
        real.inputs[k] = places[k].real;
        quants[k] = places[k].quant;
    }
    for (size_t k = 0; k < n->output_count; k++) {
        real.outputs[k] = places[n->input_count + k].real;
    }
    if (n->output_count > 0 && places[n->input_count].quant.n > 0) {
        most = passes_most_apart(q->g->tensors.at[n->outputs[0]].type);
    }
    if (!passes_steps_apart(q->c, q->m, q->g, n, &real, quants, false, &steps, &said)) {
        *why = said.list.n > 0 ? said.list.at[0].message : "it cannot be evaluated on reals";
        return false;
    }
    if (steps > most) {
        *why = base_printf(q->c->arena, "on reals it is %.3g steps away from what it is on integers", steps);
        return false;
    }
    return true;
}

/* The constant with the scales that count. */
static uint32_t with_quant(dequantiser *q, uint32_t t, const ir_quant *quant) {
    const ir_tensor like = q->g->tensors.at[t];
    if (ir_quant_same(&like.quant, quant)) {
        return t;
    }
    const uint32_t copy = passes_constant_add(q->m, q->g, like.name, like.type, &like.shape, like.data);
    q->g->tensors.at[copy].quant = *quant;
    return copy;
}

/* Node i takes reals and gives reals, between conversions. */
static void put_between(dequantiser *q, size_t i, const stand_in *places) {
    const ir_node like = q->g->nodes.at[i];
    const size_t count = like.input_count;
    for (size_t k = 0; k < count; k++) {
        const stand_in *p = &places[k];
        if (p->quant.n == 0) {
            continue;
        }
        const bool is_shared = q->real[p->t] == p->real;
        if (q->g->tensors.at[p->real].data == NULL && !(is_shared && q->is_made[p->t])) {
            passes_convert(q->m, q->g, "dequantize", with_quant(q, p->t, &p->quant), p->real, &like);
            q->is_made[p->t] = q->is_made[p->t] || is_shared;
        }
        q->g->nodes.at[i].inputs[k] = p->real;
    }
    for (size_t k = 0; k < like.output_count; k++) {
        const stand_in *p = &places[count + k];
        if (p->quant.n > 0) {
            passes_convert(q->m, q->g, "quantize", p->real, p->t, &like);
            q->g->nodes.at[i].outputs[k] = p->real;
        }
    }
}

/* TFLite's own conversions. */
static bool is_conversion(const ir_node *n) {
    return (strcmp(n->op, "quantize") == 0 || strcmp(n->op, "dequantize") == 0) && n->input_count == 1 &&
           n->output_count == 1;
}

/* A move of numbers goes between conversions for now, so that other passes see reals alone: the same numbers, exactly. */
static bool move_reals(dequantiser *q, size_t i) {
    const ir_node like = q->g->nodes.at[i];
    stand_in *places = BASE_NEWS(q->scratch, stand_in, like.input_count + like.output_count + 1);
    const char *ignored = NULL;
    bool all = like.output_count > 0;
    for (size_t k = 0; k < like.output_count; k++) {
        all = all && has_scales(q, like.outputs[k]);
    }
    if (!all || !choose_places(q, &like, false, places) || !becomes(q, &like, places, &ignored)) {
        return false;
    }
    put_between(q, i, places);
    return true;
}

static void visit(dequantiser *q, size_t i) {
    const ir_node like = q->g->nodes.at[i];
    const char *why = NULL;
    if (ir_control_of(&like) != IR_PLAIN || ir_is_fused(&like) || !touches(q, &like)) {
        return;
    }
    if (is_conversion(&like)) {
        return;
    }
    if (passes_stays_on_integers(q->c, q->m, q->g, &like)) {
        (void)move_reals(q, i);
        return;
    }
    stand_in *places = BASE_NEWS(q->scratch, stand_in, like.input_count + like.output_count + 1);
    for (unsigned sums = 0; sums < 2; sums++) {
        const char *not_so = NULL;
        if (choose_places(q, &like, sums, places) && becomes(q, &like, places, &not_so)) {
            put_between(q, i, places);
            return;
        }
        why = why == NULL ? not_so : why;
    }
    if (q->c->vocabulary != NULL && passes_asked(q->c, "expand")) {
        return; /* its integers may be said */
    }
    const base_place place = ir_place_node(q->m, q->g, i);
    q->status = base_error(q->d, &place, "%s on quantised numbers has no counterpart on reals: %s", like.op, why);
}

static void dequantise(dequantiser *q) {
    ir_graph *g = q->g;
    const size_t nodes = g->nodes.n;
    bool scaled = false;
    for (size_t t = 0; t < g->tensors.n; t++) {
        scaled = scaled || (g->tensors.at[t].quant.n > 0 && g->tensors.at[t].state == IR_NONE);
    }
    if (!scaled) {
        return;
    }
    q->tensors = g->tensors.n;
    q->real = BASE_NEWS(q->scratch, uint32_t, q->tensors + 1);
    q->is_made = BASE_NEWS(q->scratch, bool, q->tensors + 1);
    for (size_t t = 0; t < q->tensors; t++) {
        q->real[t] = IR_NONE;
    }
    for (size_t i = 0; i < nodes; i++) {
        visit(q, i);
    }
}

base_status passes_dequantise(passes_context *c, ir_model *m, base_diags *d) {
    base_status status = BASE_OK;
    if (!passes_asked(c, "dequantise") || c->exact) {
        return BASE_OK;
    }
    for (size_t i = 0; i < m->graphs.n; i++) {
        dequantiser q = {.c = c, .m = m, .g = &m->graphs.at[i], .d = d};
        q.scratch = base_arena_new(base_arena_memory(c->arena));
        dequantise(&q);
        base_arena_free(q.scratch);
        status = status == BASE_OK ? q.status : status;
    }
    return status == BASE_OK ? ir_sort(m, d) : status;
}
