/* steps_options.c - the dictionary's steps whose attributes stand in TFLite's options tables.
 *
 * Takes an operator whose tensors and options are verified, or a node. Gives attributes, or options; faults of values
 * are reported at their field. Knows conventions of TFLite's tables; knows no operator.
 */
#include "formats/tflite/steps.h"

#include <math.h>
#include <string.h>

/* ---- ACT ---- */

static const char *const acts[] = {"none", "relu", "relu_n1_to_1", "relu6", "tanh", "SIGN_BIT"};
enum { ACT_CODES = 6 };

static void make_act(tflite_op *op, const tflite_step *step) {
    int64_t code = tflite_op_option(op, step->a);
    if (code < 0 || code >= ACT_CODES) {
        tflite_op_option_error(op, step->a, "there is no activation %lld", (long long)code);
    } else if (code >= step->b) {
        tflite_unsupported(op->r, op->path, op->table.at,
                           base_printf(op->r->arena, "operator %s with the fused activation %s", op->name,
                                       code == 4 ? "TANH" : "SIGN_BIT"),
                           "put the activation into an operator of its own");
    } else {
        ir_attr_text(op->r->m, op->node, step->name, acts[code]);
    }
}

static void put_act(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_TEXT);
    for (int i = 0; a && i < step->b; i++) {
        if (!strcmp(acts[i], a->v.text)) {
            tflite_out_int(out, step->a, i);
            return;
        }
    }
    if (a) {
        tflite_out_cannot(out, "its activation \"%s\" is none that TFLite fuses",
                          base_printable(out->arena, a->v.text, a->n, 40));
    }
}

const tflite_step_kind tflite_step_act = {"ACT", make_act, put_act};

/* ---- INT, FLOAT, AXIS, COUNT ---- */

static void make_int(tflite_op *op, const tflite_step *step) {
    ir_attr_int(op->r->m, op->node, step->name, tflite_op_option(op, step->a));
}

static void put_int(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INT);
    if (a) {
        tflite_out_int(out, step->a, a->v.i);
    }
}

const tflite_step_kind tflite_step_int = {"INT", make_int, put_int};

/* ---- OF_I16 ---- */

static void make_of_i16(tflite_op *op, const tflite_step *step) {
    if (tflite_op_input(op, 0)->type == BASE_I16 && op->options.at != 0) {
        make_int(op, step);
    }
}

static void put_of_i16(tflite_out *out, const tflite_step *step) {
    if (tflite_out_input(out, 0)->type == BASE_I16) {
        put_int(out, step);
    }
}

const tflite_step_kind tflite_step_of_i16 = {"OF_I16", make_of_i16, put_of_i16};

static void make_float(tflite_op *op, const tflite_step *step) {
    float v = tflite_float(&op->r->fb, op->options_path, &op->options, (tflite_field)step->a);
    ir_attr_float(op->r->m, op->node, step->name, (double)v);
}

static void put_float(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_FLOAT);
    if (a) {
        tflite_out_float(out, step->a, a->v.f);
    }
}

const tflite_step_kind tflite_step_float = {"FLOAT", make_float, put_float};

static void make_axis(tflite_op *op, const tflite_step *step) {
    uint32_t rank = tflite_op_input(op, 0)->shape.rank;
    int64_t axis = tflite_op_axis(op, tflite_op_option(op, step->a), rank + (uint32_t)step->b);
    if (axis >= 0) {
        ir_attr_int(op->r->m, op->node, step->name, axis);
    }
}

const tflite_step_kind tflite_step_axis = {"AXIS", make_axis, put_int};

static void make_count(tflite_op *op, const tflite_step *step) {
    const int64_t rank = tflite_op_input(op, (size_t)step->b)->shape.rank, said = tflite_op_option(op, step->a),
                  count = said < 0 ? said + rank : said;
    if (count < 0 || count > rank) {
        tflite_op_error(op, "%s %lld: input %d has rank %lld", step->name, (long long)said, step->b, (long long)rank);
        return;
    }
    ir_attr_int(op->r->m, op->node, step->name, count);
}

const tflite_step_kind tflite_step_count = {"COUNT", make_count, put_int};

/* ---- ONLY ---- */

static void make_only(tflite_op *op, const tflite_step *step) {
    if (tflite_op_option(op, step->a) != step->b) {
        tflite_unsupported(op->r, op->path, op->table.at, step->name, "convert the model without it");
    }
}

static void put_only(tflite_out *out, const tflite_step *step) {
    tflite_out_int(out, step->a, step->b);
}

const tflite_step_kind tflite_step_only = {"ONLY", make_only, put_only};

/* ---- TABLE ---- */

static void make_table(tflite_op *op, const tflite_step *step) {
    (void)step;
    if (!op->options.at) {
        tflite_unsupported(op->r, op->path, op->table.at,
                           base_printf(op->r->arena, "operator %s without a table of options", op->name),
                           "say in the file what it is to do: LiteRT refuses it, and TFLM takes none of the ways");
    }
}

/* Options are always written. */
static void put_table(tflite_out *out, const tflite_step *step) {
    (void)out;
    (void)step;
}

const tflite_step_kind tflite_step_table = {"TABLE", make_table, put_table};

/* ---- INTS ---- */

enum { MOST_INTS = 64 };

static void make_ints(tflite_op *op, const tflite_step *step) {
    wire_vector list = tflite_list(&op->r->fb, op->options_path, &op->options, (tflite_field)step->a);
    if (list.n > MOST_INTS) {
        tflite_op_option_error(op, step->a, "%s: %llu values: no such list is longer than %d", step->name,
                               (unsigned long long)list.n, MOST_INTS);
        return;
    }
    int64_t v[MOST_INTS];
    for (uint64_t i = 0; i < list.n; i++) {
        v[i] = wire_fb_i64_at(&op->r->fb, &list, i);
    }
    ir_attr_ints(op->r->m, op->node, step->name, v, (size_t)list.n);
}

static void put_ints(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    if (a) {
        tflite_out_wide(out, step->a, a->v.ints, a->n);
    }
}

const tflite_step_kind tflite_step_ints = {"INTS", make_ints, put_ints};

/* ---- FLOATS ---- */

static void make_floats(tflite_op *op, const tflite_step *step) {
    wire_vector list = tflite_list(&op->r->fb, op->options_path, &op->options, (tflite_field)step->a);
    ir_shape shape = {.rank = 1, .dim = {(int64_t)list.n}};
    float *v = BASE_NEWS(op->r->arena, float, list.n + 1);
    for (uint64_t i = 0; i < list.n; i++) {
        v[i] = wire_fb_float_at(&op->r->fb, &list, i);
        if (isnan(v[i]) || (i && v[i] < v[i - 1])) {
            tflite_op_option_error(op, step->a, "they must ascend: [%llu] does not", (unsigned long long)i);
            return;
        }
    }
    uint32_t t = ir_tensor_add(op->r->m, op->r->g, step->name, BASE_F32, &shape);
    op->r->g->tensors.at[t].data = v;
    op->added = t + 1;
}

static void put_floats(tflite_out *out, const tflite_step *step) {
    size_t last = out->node->input_count - 1;
    const ir_tensor *t =
        out->node->input_count && out->node->inputs[last] != IR_NONE ? tflite_out_input(out, last) : NULL;
    if (!t || !t->data || t->type != BASE_F32 || t->shape.rank != 1) {
        tflite_out_cannot(out, "its %s are not constant", step->name);
        return;
    }
    float *v = BASE_NEWS(out->arena, float, (size_t)t->shape.dim[0] + 1);
    for (uint64_t i = 0; i < (uint64_t)t->shape.dim[0]; i++) {
        v[i] = (float)base_load(BASE_F32, t->data, i).f;
    }
    tflite_out_floats(out, step->a, v, (size_t)t->shape.dim[0]);
    out->last_said = true;
}

const tflite_step_kind tflite_step_floats = {"FLOATS", make_floats, put_floats};

/* ---- BODY ---- */

/* Of a sub-graph with one operator, its builtin; -1: it has none; -2: it is no such sub-graph, or a fault. */
static int64_t body_of(tflite_op *op, uint64_t subgraph) {
    wire_fb *fb = &op->r->fb;
    wire_path path = {.name = "subgraph", .index = (int64_t)subgraph};
    wire_table graph = wire_fb_table_at(fb, &path, &op->r->subgraphs, subgraph);
    wire_vector operators = tflite_list(fb, &path, &graph, TFLITE_SubGraph_operators);
    wire_vector inputs = tflite_list(fb, &path, &graph, TFLITE_SubGraph_inputs);
    wire_vector outputs = tflite_list(fb, &path, &graph, TFLITE_SubGraph_outputs);
    if (wire_fb_failed(fb) || inputs.n != 2 || outputs.n != 1 || operators.n > 1) {
        return -2;
    }
    if (!operators.n) {
        return wire_fb_i32_at(fb, &outputs, 0) == wire_fb_i32_at(fb, &inputs, 1) ? -1 : -2;
    }
    wire_path operator_path = {.outer = &path, .name = "operator", .index = 0};
    wire_table o = wire_fb_table_at(fb, &operator_path, &operators, 0);
    int64_t index = tflite_int(fb, &operator_path, &o, TFLITE_Operator_opcode_index);
    wire_path code_path = {.name = "operator_code", .index = index};
    if (wire_fb_failed(fb) || (uint64_t)index >= op->r->codes.n) {
        return -2;
    }
    wire_table code = wire_fb_table_at(fb, &code_path, &op->r->codes, (uint64_t)index);
    int64_t old = tflite_int(fb, &code_path, &code, TFLITE_OperatorCode_deprecated_builtin_code);
    int64_t builtin = tflite_int(fb, &code_path, &code, TFLITE_OperatorCode_builtin_code);
    return builtin > old ? builtin : old;
}

static void make_body(tflite_op *op, const tflite_step *step) {
    static const int64_t functions[] = {-1,
                                        TFLITE_OP_STABLEHLO_ADD,
                                        TFLITE_OP_STABLEHLO_MULTIPLY,
                                        TFLITE_OP_STABLEHLO_MINIMUM,
                                        TFLITE_OP_STABLEHLO_MAXIMUM,
                                        TFLITE_OP_STABLEHLO_AND,
                                        TFLITE_OP_STABLEHLO_OR};
    int64_t subgraph = tflite_op_option(op, step->a);
    if (subgraph < 0 || (uint64_t)subgraph >= op->r->subgraphs.n) {
        tflite_op_option_error(op, step->a, "there is no sub-graph %lld", (long long)subgraph);
        return;
    }
    int64_t body = body_of(op, (uint64_t)subgraph);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (body == functions[i]) {
            ir_attr_int(op->r->m, op->node, step->name, (int64_t)i);
            return;
        }
    }
    if (!wire_fb_failed(&op->r->fb)) {
        tflite_unsupported(
            op->r, op->path, op->table.at,
            base_printf(op->r->arena, "operator %s with the computation of sub-graph %lld", op->name,
                        (long long)subgraph),
            "convert the model so that it adds, multiplies, or takes the less, the larger, or the second of two");
    }
}

static void put_body(tflite_out *out, const tflite_step *step) {
    (void)tflite_out_attr(out, step->name, IR_INT);
    tflite_out_cannot(out, "TFLite has its computation in a sub-graph, and Burin keeps none of it");
}

const tflite_step_kind tflite_step_body = {"BODY", make_body, put_body};

/* ---- MULTIPLIER: makes nothing; what a kernel of TFLite takes for granted ---- */

/* From 2^16 on every sum but 0 saturates an output of 8 or 16 bits, and the kernels' left shift of sums leaves 32 bits:
 * the scales are damaged, and what TFLite computes with them is overflow. */
static const char *bad_multiplier(base_arena *arena, const ir_quant *x, const ir_quant *w, const ir_quant *y) {
    if (w->n == 1) { /* either may be the filter, which alone may have several */
        const ir_quant *filter = x;
        x = w;
        w = filter;
    }
    for (uint32_t i = 0; x->n == 1 && y->n == 1 && i < w->n; i++) {
        if (!((double)x->scale[0] * (double)w->scale[i] / (double)y->scale[0] < 65536.0)) {
            return base_printf(arena,
                               "the scales of input and filter (%lu) over that of the output are 65536 or more: every "
                               "sum would saturate",
                               (unsigned long)i);
        }
    }
    return NULL;
}

/* Is its filter zero, and its bias, if it has one? Then it adds nothing up. */
static bool adds_nothing(const tflite_op *op, const ir_tensor *filter) {
    const ir_tensor *bias = op->input_count > 2 && op->inputs[2] != IR_NONE ? tflite_op_input(op, 2) : NULL;
    return filter->quant.n == 1 && tflite_is_constant(filter, filter->quant.zero[0]) &&
           (!bias || tflite_is_constant(bias, 0));
}

static void make_multiplier(tflite_op *op, const tflite_step *step) {
    const ir_tensor *x = tflite_op_input(op, (size_t)step->a), *w = tflite_op_input(op, (size_t)step->b);
    const char *bad = bad_multiplier(op->r->arena, &x->quant, &w->quant, &tflite_op_output(op, 0)->quant);
    if (bad || (step->a == 0 && adds_nothing(op, w))) {
        tflite_op_doubt(op, bad);
    }
}

static void put_multiplier(tflite_out *out, const tflite_step *step) {
    (void)step;
    const char *bad = bad_multiplier(out->arena, &tflite_out_input(out, 0)->quant, &tflite_out_input(out, 1)->quant,
                                     &tflite_out_output(out, 0)->quant);
    if (bad) {
        tflite_out_cannot(out, "%s", bad);
    }
}

const tflite_step_kind tflite_step_multiplier = {"MULTIPLIER", make_multiplier, put_multiplier};

/* ---- TYPED_AS_INPUTS ---- */

/* Quantisers of early days left the type of what lies between two operators as it was in training. */
static void make_typed_as_inputs(tflite_op *op, const tflite_step *step) {
    (void)step;
    ir_tensor *y = &op->r->g->tensors.at[op->outputs[0]];
    const base_type type = tflite_op_input(op, 0)->type;
    const ir_quant *q = &op->r->real_quant[op->outputs[0]];
    bool fits = y->type == BASE_F32 && (type == BASE_I8 || type == BASE_U8 || type == BASE_I16) && q->n == 1 &&
                tflite_in_range(type, q->zero[0]);
    for (size_t i = 1; i < op->input_count; i++) {
        fits = fits && tflite_op_input(op, i)->type == type;
    }
    if (fits) {
        y->type = type;
        y->quant = *q;
    }
}

/* What is written says the type. */
static void put_typed_as_inputs(tflite_out *out, const tflite_step *step) {
    (void)out;
    (void)step;
}

const tflite_step_kind tflite_step_typed_as_inputs = {"TYPED_AS_INPUTS", make_typed_as_inputs, put_typed_as_inputs};

/* ---- SAID ---- */

/* Where an input says it, that counts. [0] is how old converters wrote a scalar. */
static void make_said(tflite_op *op, const tflite_step *step) {
    if (op->told || !op->options.at) {
        return;
    }
    wire_vector v = tflite_list(&op->r->fb, op->options_path, &op->options, (tflite_field)step->a);
    if (v.n > IR_MAX_RANK) {
        tflite_op_option_error(op, step->a, "%llu extents: at most %u are read", (unsigned long long)v.n, IR_MAX_RANK);
        return;
    }
    int64_t list[IR_MAX_RANK];
    for (uint64_t i = 0; i < v.n; i++) {
        list[i] = wire_fb_i32_at(&op->r->fb, &v, i);
    }
    uint64_t whole;
    const bool scalar = v.n == 1 && list[0] == 0 && ir_shape_elements(&tflite_op_input(op, 0)->shape, &whole) && whole;
    if (v.present) {
        tflite_op_told(op, step, list, scalar ? 0 : (size_t)v.n);
    }
}

static void put_said(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    if (a) {
        tflite_out_ints(out, step->a, a->v.ints, a->n);
    }
}

const tflite_step_kind tflite_step_said = {"SAID", make_said, put_said};
