/* scales.c - scales that ONNX has at its operators become those of tensors.
 *
 * Takes quantize_linear and dequantize_linear with constant parameters, and the words of qlinear.def. Gives tensors with a quantisation
 * of their own, quantize and dequantize between them and reals, and the words on reals; what moves quantised numbers is
 * between conversions, too, so that other passes see reals alone. Integers that other operators of few bits take as they are have
 * no scale, which kernels would obey: their conversions stay ONNX's. Numbers of 8 bits are all of one sign, the one that the
 * weights need, and come out the same; the graph's inputs and outputs keep their type.
 */
#include <string.h>

#include "passes/passes_private.h"

typedef struct scaler {
    passes_context *c;
    ir_model *m;
    ir_graph *g;
    base_arena *scratch;
    bool *gone; /* of each node there was at first */
} scaler;

static bool is_quantised_type(base_type t) {
    return t == BASE_I8 || t == BASE_U8 || t == BASE_I16 || t == BASE_I4;
}

static const ir_tensor *constant_at(const scaler *s, const ir_node *n, size_t k) {
    const uint32_t t = k < n->input_count ? n->inputs[k] : IR_NONE;
    return t != IR_NONE && s->g->tensors.at[t].data != NULL ? &s->g->tensors.at[t] : NULL;
}

static uint64_t elements_of(const ir_tensor *t) {
    uint64_t n = 0;
    (void)ir_shape_elements(&t->shape, &n);
    return n;
}

/* Of constants that are inputs number `scale` and `zero` of the node: of a tensor of that shape, along that axis. */
static bool quant_of(const scaler *s, const ir_node *n, size_t scale, size_t zero, const ir_shape *shape, int64_t axis,
                     ir_quant *out) {
    const ir_tensor *c = constant_at(s, n, scale), *z = constant_at(s, n, zero);
    const bool has_zero = zero < n->input_count && n->inputs[zero] != IR_NONE;
    const uint64_t count = c != NULL ? elements_of(c) : 0;
    if (count == 0 || c->type != BASE_F32 || (has_zero && (z == NULL || elements_of(z) != count)) ||
        (count > 1 && (axis < 0 || axis >= shape->rank || (uint64_t)shape->dim[axis] != count))) {
        return false;
    }
    float *scales = BASE_NEWS(s->c->arena, float, (size_t)count);
    int64_t *zeros = BASE_NEWS(s->c->arena, int64_t, (size_t)count);
    for (uint64_t k = 0; k < count; k++) {
        scales[k] = (float)base_load(BASE_F32, c->data, k).f;
        zeros[k] = has_zero ? base_load(z->type, z->data, k).i : 0;
        if (!(scales[k] > 0 && scales[k] < 3e38f)) {
            return false;
        }
    }
    *out = (ir_quant){.n = (uint32_t)count, .axis = count > 1 ? (int32_t)axis : 0, .scale = scales, .zero = zeros};
    return true;
}

static uint32_t reals_of(scaler *s, uint32_t t) {
    const ir_tensor like = s->g->tensors.at[t];
    return ir_tensor_add(s->m, s->g, like.name, BASE_F32, &like.shape);
}

/* The tensor, or a copy of the constant, that has this quantisation and no other. IR_NONE: it has another. */
static uint32_t with_quant(scaler *s, uint32_t t, const ir_quant *quant) {
    ir_tensor *x = &s->g->tensors.at[t];
    if (x->quant.n == 0 || ir_quant_same(&x->quant, quant)) {
        x->quant = *quant;
        return t;
    }
    if (x->data == NULL) {
        return IR_NONE;
    }
    const ir_tensor like = *x;
    const uint32_t copy = passes_constant_add(s->m, s->g, like.name, like.type, &like.shape, like.data);
    s->g->tensors.at[copy].quant = *quant;
    return copy;
}

/* ---- ONNX's conversions ---- */

static void convert(scaler *s, size_t i) {
    ir_node *n = &s->g->nodes.at[i];
    const bool from_reals = strcmp(n->op, "quantize_linear") == 0;
    const uint32_t whole = from_reals ? n->outputs[0] : n->inputs[0], real = from_reals ? n->inputs[0] : n->outputs[0];
    const ir_attr *axis = ir_attr_find(n, "axis"), *block = ir_attr_find(n, "block_size");
    const ir_tensor *x = &s->g->tensors.at[whole];
    ir_quant quant;
    if (whole == IR_NONE || real == IR_NONE || s->g->tensors.at[real].type != BASE_F32 || axis == NULL ||
        axis->kind != IR_INT || (block != NULL && (block->kind != IR_INT || block->v.i != 0)) || x->state != IR_NONE ||
        !quant_of(s, n, 1, 2, &x->shape, axis->v.i, &quant)) {
        return;
    }
    if (x->type == BASE_I32 && x->data != NULL && !from_reals) { /* a bias: its scale is that of what it is added to */
        s->gone[i] = ops_evaluate(s->c->arena, s->c->ops, s->m, s->g, n, &s->c->goal);
        return;
    }
    /* runtimes have no kernels for zero points of 16 bits: that stays arithmetic */
    bool has_kernel = is_quantised_type(x->type);
    for (uint32_t k = 0; k < quant.n; k++) {
        has_kernel = has_kernel && (x->type != BASE_I16 || quant.zero[k] == 0);
    }
    const uint32_t t = has_kernel ? with_quant(s, whole, &quant) : IR_NONE;
    if (t != IR_NONE) {
        const uint32_t input = from_reals ? real : t;
        s->c->rescaled = true;
        passes_become(s->c, n, from_reals ? "quantize" : "dequantize", &input, 1);
    }
}

/* ---- words on quantised numbers ---- */

typedef struct qlinear {
    const char *word, *real;
    size_t operands, bias;
    int axis;
    bool bias_before; /* the output's scale */
} qlinear;
static const qlinear rows[] = {
#define QLINEAR(word, real, operands, bias, axis) {word, real, operands, bias, axis, false},
#define QLINEAR_BIASED(word, real, operands, bias, axis) {word, real, operands, bias, axis, true},
#include "passes/qlinear.def"
#undef QLINEAR
#undef QLINEAR_BIASED
};

static bool bias_reals(scaler *s, const ir_node *n, size_t k, const ir_quant *quants, uint32_t *out) {
    const ir_tensor *b = constant_at(s, n, k);
    const ir_attr *alpha = ir_attr_find(n, "alpha"); /* of qgemm it multiplies the bias, too */
    const float factor = alpha != NULL && alpha->kind == IR_FLOAT ? (float)alpha->v.f : 1;
    const uint32_t count = quants[1].n;
    if (b == NULL || b->type != BASE_I32 || (count > 1 && count != elements_of(b)) || quants[0].n != 1) {
        return false;
    }
    const ir_tensor like = *b;
    const uint64_t size = elements_of(b);
    float *list = BASE_NEWS(s->c->arena, float, (size_t)size + 1);
    for (uint64_t i = 0; i < size; i++) {
        const float scale = quants[0].scale[0] * quants[1].scale[count > 1 ? i : 0] * factor;
        base_store(BASE_F32, list, i, (base_value){.f = (double)((float)base_load(BASE_I32, like.data, i).i * scale)});
    }
    *out = passes_constant_add(s->m, s->g, like.name, BASE_F32, &like.shape, list);
    return true;
}

/* Attributes of the word on reals that stand for what the other always does. */
static void keep_attributes(scaler *s, ir_node *n, const char *word) {
    if (strcmp(n->op, "softmax") == 0) {
        ir_attr_int(s->m, n, "count", 1);
    }
    if (strcmp(word, "qlinear_global_average_pool") == 0) {
        int64_t axes[IR_MAX_RANK];
        const uint32_t rank = s->g->tensors.at[n->inputs[0]].shape.rank;
        for (uint32_t k = 2; k < rank; k++) {
            axes[k - 2] = k;
        }
        n->attr_count = 0; /* channels_last */
        ir_attr_ints(s->m, n, "axes", axes, rank > 2 ? rank - 2 : 0);
        ir_attr_int(s->m, n, "keepdims", 1);
    }
}

static bool is_one(const ir_node *n, const char *attribute, double value) {
    const ir_attr *a = ir_attr_find(n, attribute);
    return a == NULL || (a->kind == IR_FLOAT ? a->v.f == value : a->kind == IR_INT && (double)a->v.i == value);
}

/* Has the word on reals the attributes' meaning? */
static bool has_real(const ir_node *n, const qlinear *row) {
    return row->bias_before || is_one(n, "channels_last", 0);
}

/* Along which the scales of operand k are. */
static int64_t axis_of(const ir_node *n, const qlinear *row, const ir_shape *shape) {
    const bool turned = row->bias_before && !is_one(n, "transB", 0);
    return turned ? 0 : row->axis < 0 ? (int64_t)shape->rank - 1 : row->axis;
}

static void take_apart(scaler *s, size_t i, const qlinear *row) {
    const ir_node like = s->g->nodes.at[i];
    uint32_t inputs[3], count = 0;
    ir_quant quants[3] = {{0}, {0}, {0}};
    const size_t of_output = 3 * row->operands + row->bias_before;
    const bool gives_reals = row->bias_before && (of_output >= like.input_count || like.inputs[of_output] == IR_NONE);
    const size_t scaled = row->operands + !gives_reals;
    if (!has_real(&like, row) || (!gives_reals && of_output >= like.input_count)) {
        return;
    }
    for (size_t k = 0; k < scaled; k++) {
        const bool is_output = k == row->operands;
        const uint32_t t = is_output ? like.outputs[0] : like.inputs[3 * k];
        const size_t scale = is_output ? of_output : 3 * k + 1;
        const ir_shape *shape = t != IR_NONE ? &s->g->tensors.at[t].shape : NULL;
        if (shape == NULL || s->g->tensors.at[t].state != IR_NONE || !is_quantised_type(s->g->tensors.at[t].type) ||
            !quant_of(s, &like, scale, scale + 1, shape, axis_of(&like, row, shape), &quants[k])) {
            return;
        }
    }
    uint32_t bias = IR_NONE;
    const bool has_bias = row->bias != 0 && row->bias < like.input_count && like.inputs[row->bias] != IR_NONE;
    if (has_bias && !bias_reals(s, &like, row->bias, quants, &bias)) {
        return;
    }
    uint32_t operands[3];
    for (size_t k = 0; k < scaled; k++) {
        operands[k] = with_quant(s, k == row->operands ? like.outputs[0] : like.inputs[3 * k], &quants[k]);
        if (operands[k] == IR_NONE) {
            return;
        }
    }
    for (size_t k = 0; k < row->operands; k++) {
        inputs[count++] = reals_of(s, operands[k]);
        passes_convert(s->m, s->g, "dequantize", operands[k], inputs[k], &like);
    }
    if (bias != IR_NONE) {
        inputs[count++] = bias;
    }
    const uint32_t real = gives_reals ? like.outputs[0] : reals_of(s, like.outputs[0]);
    if (!gives_reals) {
        passes_convert(s->m, s->g, "quantize", real, like.outputs[0], &like);
    }
    ir_node *n = &s->g->nodes.at[i];
    s->c->rescaled = true;
    passes_become(s->c, n, row->real, inputs, count);
    n->attrs = like.attrs;
    n->attr_count = like.attr_count;
    n->outputs[0] = real;
    keep_attributes(s, n, row->word);
}

/* ---- moves of quantised numbers ---- */

static bool is_wrapped(const scaler *s, uint32_t t, base_type type, bool plain) {
    const ir_tensor *x = t != IR_NONE ? &s->g->tensors.at[t] : NULL;
    return x != NULL && (x->quant.n > 0 || (plain && x->type == type));
}

/* Does the definition take reals in the place of its quantised inputs and its outputs? plain: and of others of that type. */
static bool takes_reals(scaler *s, const ir_node *n, base_type type, bool plain) {
    base_arena *scratch = base_arena_new(base_arena_memory(s->c->arena));
    base_diags ignored = {.arena = scratch};
    const size_t tensors = s->g->tensors.n;
    lang_program *p = NULL;
    ir_node on_reals = *n;
    on_reals.inputs = BASE_NEWS(scratch, uint32_t, n->input_count + 1);
    on_reals.outputs = BASE_NEWS(scratch, uint32_t, n->output_count + 1);
    for (size_t k = 0; k < n->input_count; k++) {
        const uint32_t t = n->inputs[k];
        on_reals.inputs[k] = is_wrapped(s, t, type, plain) ? reals_of(s, t) : t;
    }
    for (size_t k = 0; k < n->output_count; k++) {
        on_reals.outputs[k] = reals_of(s, n->outputs[k]);
    }
    const bool takes = ops_instantiate(scratch, s->c->ops, s->m, s->g, &on_reals, &s->c->goal, &p, &ignored) == BASE_OK;
    s->g->tensors.n = tensors;
    base_arena_free(scratch);
    return takes;
}

/* Does all that the node has of one type, beginning with its inputs, agree on one quantisation? NULL: none has, or they do not. */
static const ir_quant *one_quant(const scaler *s, const ir_node *n, base_type *type) {
    const ir_quant *quant = NULL;
    bool one = n->output_count > 0;
    *type = BASE_NONE;
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const uint32_t at = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        const ir_tensor *t = at != IR_NONE ? &s->g->tensors.at[at] : NULL;
        if (t != NULL && t->quant.n > 0 && (k < n->input_count || quant == NULL)) {
            one = one && t->quant.n == 1 && (quant == NULL || (ir_quant_same(&t->quant, quant) && t->type == *type));
            quant = &t->quant;
            *type = t->type;
        }
    }
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const uint32_t at = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        const ir_tensor *t = at != IR_NONE ? &s->g->tensors.at[at] : NULL;
        const bool moved = t != NULL && t->type == *type;
        one = one && (moved ? t->state == IR_NONE : k < n->input_count);
    }
    return one ? quant : NULL;
}

/* All quantised inputs, or where none is the outputs, have one quantisation, and nothing else counts: the outputs have it, too, and so
 * have inputs that are moved together with them and had none. */
static void wrap(scaler *s, size_t i) {
    const ir_node like = s->g->nodes.at[i];
    base_type type = BASE_NONE;
    const ir_quant *quant = one_quant(s, &like, &type);
    if (quant == NULL || ir_control_of(&like) != IR_PLAIN || !passes_stays_on_integers(s->c, s->m, s->g, &like)) {
        return;
    }
    const ir_quant of = *quant;
    const bool plain = !takes_reals(s, &like, type, false);
    if (plain && !takes_reals(s, &like, type, true)) {
        return;
    }
    for (size_t k = 0; k < like.output_count; k++) {
        if (with_quant(s, like.outputs[k], &of) == IR_NONE) {
            return;
        }
    }
    for (size_t k = 0; k < like.input_count; k++) {
        const uint32_t t = like.inputs[k];
        if (is_wrapped(s, t, type, plain)) {
            const uint32_t scaled = with_quant(s, t, &of), real = reals_of(s, t);
            passes_convert(s->m, s->g, "dequantize", scaled, real, &like);
            s->g->nodes.at[i].inputs[k] = real;
        }
    }
    for (size_t k = 0; k < like.output_count; k++) {
        const uint32_t real = reals_of(s, like.outputs[k]);
        passes_convert(s->m, s->g, "quantize", real, like.outputs[k], &like);
        s->g->nodes.at[i].outputs[k] = real;
    }
}

/* ---- numbers that an operator takes as they are ---- */

/* A runtime's kernel would look at scales: the operator, no conversion, gives numbers of as few bits, or compares. */
static bool looks_at_scales(const scaler *s, const ir_node *n) {
    bool looks = false;
    for (size_t k = 0; k < n->output_count; k++) {
        const base_type type = s->g->tensors.at[n->outputs[k]].type;
        looks = looks || is_quantised_type(type) || type == BASE_BOOL;
    }
    return looks && strcmp(n->op, "quantize") != 0 && strcmp(n->op, "quantize_linear") != 0;
}

/* What an operator that kernels have with scales takes or gives as integers has none. */
static void bare(scaler *s) {
    bool *is_bare = BASE_NEWS(s->scratch, bool, s->g->tensors.n + 1);
    const size_t tensors = s->g->tensors.n, nodes = s->g->nodes.n;
    for (size_t i = 0; i < nodes; i++) {
        const ir_node *n = &s->g->nodes.at[i];
        for (size_t k = 0; looks_at_scales(s, n) && k < n->input_count + n->output_count; k++) {
            const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
            if (t != IR_NONE && s->g->tensors.at[t].quant.n > 0) {
                is_bare[t] = true;
            }
        }
    }
    for (size_t i = 0; i < nodes; i++) {
        const ir_node *n = &s->g->nodes.at[i];
        if (strcmp(n->op, "quantize") == 0 && is_bare[n->outputs[0]]) {
            passes_say_scale(s->c, s->m, s->g, i, n->outputs[0]);
        } else if (strcmp(n->op, "dequantize") == 0 && is_bare[n->inputs[0]]) {
            passes_say_scale(s->c, s->m, s->g, i, n->inputs[0]);
        }
    }
    for (uint32_t t = 0; t < tensors; t++) {
        s->g->tensors.at[t].quant = is_bare[t] ? (ir_quant){0} : s->g->tensors.at[t].quant;
    }
}

/* ---- one sign for all numbers of 8 bits ---- */

/* Of each tensor: does anything but a conversion read or make it? */
static bool *touched_by_others(const scaler *s) {
    bool *touched = BASE_NEWS(s->scratch, bool, s->g->tensors.n + 1);
    for (size_t i = 0; i < s->g->nodes.n; i++) {
        const ir_node *n = &s->g->nodes.at[i];
        const bool is_conversion = strcmp(n->op, "quantize") == 0 || strcmp(n->op, "dequantize") == 0;
        for (size_t k = 0; !is_conversion && k < n->input_count + n->output_count; k++) {
            const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
            if (t != IR_NONE) {
                touched[t] = true;
            }
        }
    }
    return touched;
}

/* The same reals, by numbers of the other sign. */
static void turn(scaler *s, uint32_t t, base_type to) {
    ir_tensor *x = &s->g->tensors.at[t];
    const int64_t by = to == BASE_I8 ? -128 : 128;
    int64_t *zeros = BASE_NEWS(s->c->arena, int64_t, x->quant.n);
    for (uint32_t k = 0; k < x->quant.n; k++) {
        zeros[k] = x->quant.zero[k] + by;
    }
    if (x->data != NULL) {
        const uint64_t n = elements_of(x);
        uint8_t *bytes = base_alloc(s->c->arena, (size_t)n + 1, 1);
        for (uint64_t i = 0; i < n; i++) {
            bytes[i] = (uint8_t)(((const uint8_t *)x->data)[i] ^ 0x80u);
        }
        x->data = bytes;
    }
    x->type = to;
    x->quant.zero = zeros;
}

/* Weights whose zero point is not the middle can only be told in unsigned numbers: kernels of signed ones have none. */
static base_type wanted_sign(const scaler *s) {
    for (size_t t = 0; t < s->g->tensors.n; t++) {
        const ir_tensor *x = &s->g->tensors.at[t];
        for (uint32_t k = 0; x->data != NULL && x->shape.rank >= 2 && k < x->quant.n; k++) {
            if ((x->type == BASE_U8 && x->quant.zero[k] != 128) || (x->type == BASE_I8 && x->quant.zero[k] != 0)) {
                return BASE_U8;
            }
        }
    }
    return BASE_I8;
}

static bool is_in(const uint32_t *list, size_t n, uint32_t t) {
    for (size_t i = 0; i < n; i++) {
        if (list[i] == t) {
            return true;
        }
    }
    return false;
}

/* An input or output of the graph stays what it is, before or behind one of the other sign. */
static uint32_t behind_the_border(scaler *s, uint32_t t, bool is_input) {
    const ir_tensor like = s->g->tensors.at[t];
    const uint32_t inner = ir_tensor_add(s->m, s->g, like.name, like.type, &like.shape);
    const ir_node none = {0};
    s->g->tensors.at[inner].quant = like.quant;
    for (size_t i = 0; i < s->g->nodes.n; i++) {
        ir_node *n = &s->g->nodes.at[i];
        for (size_t k = 0; k < n->input_count; k++) {
            n->inputs[k] = n->inputs[k] == t ? inner : n->inputs[k];
        }
        for (size_t k = 0; k < n->output_count; k++) {
            n->outputs[k] = n->outputs[k] == t ? inner : n->outputs[k];
        }
    }
    passes_convert(s->m, s->g, "quantize", is_input ? t : inner, is_input ? inner : t, &none);
    return inner;
}

static void one_sign(scaler *s) {
    const base_type wanted = wanted_sign(s), other = wanted == BASE_I8 ? BASE_U8 : BASE_I8;
    const size_t tensors = s->g->tensors.n;
    const bool *touched = touched_by_others(s);
    for (uint32_t t = 0; t < tensors; t++) {
        const ir_tensor *x = &s->g->tensors.at[t];
        if (x->type != other || x->quant.n == 0 || x->state != IR_NONE || touched[t]) {
            continue;
        }
        const bool is_input = is_in(s->g->inputs.at, s->g->inputs.n, t),
                   is_output = is_in(s->g->outputs.at, s->g->outputs.n, t);
        if (!(is_input && is_output) && (x->quant.n == 1 || !(is_input || is_output))) { /* no kernel turns channels */
            turn(s, is_input || is_output ? behind_the_border(s, t, is_input) : t, wanted);
        }
    }
}

static void visit(scaler *s, size_t i) {
    const ir_node *n = &s->g->nodes.at[i];
    if (strcmp(n->op, "quantize_linear") == 0 || strcmp(n->op, "dequantize_linear") == 0) {
        if (n->input_count >= 2 && n->output_count == 1) {
            convert(s, i);
        }
        return;
    }
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        if (strcmp(n->op, rows[k].word) == 0) {
            if (n->input_count > 3 * rows[k].operands && n->output_count == 1) {
                take_apart(s, i, &rows[k]);
            }
            return;
        }
    }
    wrap(s, i);
}

base_status passes_scales(passes_context *c, ir_model *m, base_diags *d) {
    if (!passes_asked(c, "scales")) {
        return BASE_OK;
    }
    for (size_t i = 0; i < m->graphs.n; i++) {
        scaler s = {.c = c, .m = m, .g = &m->graphs.at[i]};
        bool had = false;
        for (size_t t = 0; t < s.g->tensors.n; t++) { /* TFLite's own stay */
            had = had || s.g->tensors.at[t].quant.n > 0;
        }
        if (had) {
            continue;
        }
        s.scratch = base_arena_new(base_arena_memory(c->arena));
        const size_t nodes = s.g->nodes.n;
        s.gone = BASE_NEWS(s.scratch, bool, nodes + 1);
        for (size_t k = 0; k < nodes; k++) {
            visit(&s, k);
        }
        for (size_t k = nodes; k-- > 0;) { /* what is moved before its scale is said */
            wrap(&s, k);
        }
        bool *all = BASE_NEWS(s.scratch, bool, s.g->nodes.n + 1);
        memcpy(all, s.gone, nodes * sizeof *all);
        passes_drop(s.g, all);
        bare(&s);
        one_sign(&s);
        base_arena_free(s.scratch);
    }
    return ir_sort(m, d);
}
