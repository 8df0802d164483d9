/* steps_inputs.c - the dictionary's steps whose attributes stand in TFLite's constant inputs.
 *
 * Takes an operator whose tensors are verified, or a node. Gives attributes and drops the inputs, or puts the inputs.
 * Knows no operator.
 */
#include "formats/tflite/steps.h"

/* ---- AXIS_IN ---- */

static void make_axis_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = tflite_op_constant(op, step->a, &n);
    if (!list) {
        return;
    }
    if (n != 1) {
        tflite_op_error(op, "input %d has %zu elements: expected one axis", step->a, n);
        return;
    }
    /* Of SPLIT's two orders of inputs the tensor that is split is the one that is no constant of this row. */
    int64_t axis = tflite_op_axis(op, list[0], tflite_op_input(op, step->a == 0 ? 1 : 0)->shape.rank);
    if (axis >= 0) {
        ir_attr_int(op->r->m, op->node, step->name, axis);
    }
}

static void put_axis_in(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INT);
    const ir_shape scalar = {0};
    if (a) {
        tflite_out_constant(out, (size_t)step->a, step->name, &scalar, &a->v.i);
    }
}

const tflite_step_kind tflite_step_axis_in = {"AXIS_IN", make_axis_in, put_axis_in};

/* ---- BLOCKS ---- */

/* Optional inputs before it that the file leaves out become absent ones. */
static void make_blocks(tflite_op *op, const tflite_step *step) {
    tflite_reader *r = op->r;
    uint32_t tensor = op->inputs[step->a];
    const tflite_blocks *b = &r->blocks[tensor];
    if (!b->size) {
        return;
    }
    if (b->zeros != IR_NONE) {
        tflite_unsupported(r, op->path, op->table.at, "quantisation in blocks with zero points",
                           "convert the model with symmetric weights");
        return;
    }
    const ir_tensor *w = &r->g->tensors.at[tensor], *s = &r->g->tensors.at[b->scales];
    int64_t last = w->shape.rank ? w->shape.dim[w->shape.rank - 1] : 0;
    if (!s->shape.rank || s->shape.dim[s->shape.rank - 1] != last / b->size || last % b->size) {
        tflite_op_error(op, "input %d has blocks of %lld in an extent of %lld: there are scales of shape %s", step->a,
                        (long long)b->size, (long long)last, ir_shape_print(r->arena, &s->shape));
        return;
    }
    size_t count = (size_t)op->word->most + 1;
    uint32_t *inputs = BASE_NEWS(r->arena, uint32_t, count);
    for (size_t i = 0; i < count; i++) {
        inputs[i] = i < op->input_count ? op->inputs[i] : IR_NONE;
    }
    inputs[count - 1] = b->scales;
    op->inputs = inputs;
    op->input_count = op->node->input_count = count;
    op->node->inputs = BASE_NEWS(r->arena, uint32_t, count);
}

static void put_blocks(tflite_out *out, const tflite_step *step) {
    if (out->node->input_count <= out->word->most) {
        return;
    }
    size_t last = out->node->input_count - 1;
    const ir_shape *w = &tflite_out_input(out, (size_t)step->a)->shape, *s = &tflite_out_input(out, last)->shape;
    int64_t extent = w->rank ? w->dim[w->rank - 1] : 0, blocks = s->rank ? s->dim[s->rank - 1] : 0;
    if (out->why || blocks < 1 || extent < blocks || extent % blocks || extent / blocks > INT32_MAX) {
        tflite_out_cannot(out, "its weights of %lld elements are not in blocks of equal size", (long long)extent);
        return;
    }
    out->last_said = true;
    out->block_size = extent / blocks;
    out->block_weights = out->node->inputs[step->a];
    out->block_scales = out->node->inputs[last];
}

const tflite_step_kind tflite_step_blocks = {"BLOCKS", make_blocks, put_blocks};

/* ---- INT_IN ---- */

static void make_int_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = tflite_op_constant(op, step->a, &n);
    if (list && n != 1) {
        tflite_op_error(op, "input %d has %zu elements: expected one, %s", step->a, n, step->name);
    } else if (list) {
        ir_attr_int(op->r->m, op->node, step->name, list[0]);
    }
}

const tflite_step_kind tflite_step_int_in = {"INT_IN", make_int_in, put_axis_in};

/* ---- AXES_IN, PERM_IN ---- */

static void make_axes_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = tflite_op_constant(op, step->a, &n);
    int64_t axes[IR_MAX_RANK];
    bool wanted[IR_MAX_RANK] = {false};
    uint32_t rank = tflite_op_input(op, 0)->shape.rank;
    size_t count = 0;
    for (size_t i = 0; list && i < n; i++) {
        int64_t axis = tflite_op_axis(op, list[i], rank);
        if (axis < 0) {
            return;
        }
        wanted[axis] = true;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (wanted[i]) {
            axes[count++] = i;
        }
    }
    if (list) {
        ir_attr_ints(op->r->m, op->node, step->name, axes, count);
    }
}

static void put_list(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    if (a) {
        tflite_out_list(out, (size_t)step->a, step->name, a->v.ints, a->n);
    }
}

const tflite_step_kind tflite_step_axes_in = {"AXES_IN", make_axes_in, put_list};

static void make_perm_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = tflite_op_constant(op, step->a, &n);
    uint32_t rank = tflite_op_input(op, 0)->shape.rank;
    bool seen[IR_MAX_RANK] = {false};
    if (!list) {
        return;
    }
    if (n != rank) {
        tflite_op_error(op, "a permutation of %zu axes: the rank is %lu", n, (unsigned long)rank);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = tflite_op_axis(op, list[i], rank);
        if (list[i] < 0) {
            return;
        }
        if (seen[list[i]]) {
            tflite_op_error(op, "axis %lld is in the permutation twice", (long long)list[i]);
            return;
        }
        seen[list[i]] = true;
    }
    ir_attr_ints(op->r->m, op->node, step->name, list, n);
}

const tflite_step_kind tflite_step_perm_in = {"PERM_IN", make_perm_in, put_list};

/* ---- PADS_IN ---- */

static void make_pads_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = tflite_op_constant(op, step->a, &n);
    uint32_t rank = tflite_op_input(op, 0)->shape.rank;
    if (!list) {
        return;
    }
    if (n != 2 * (size_t)rank) {
        tflite_op_error(op, "%zu paddings: expected %lu, two for each extent", n, 2 * (unsigned long)rank);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (list[i] < 0 || list[i] > INT32_MAX) {
            tflite_op_error(op, "padding %zu is %lld", i, (long long)list[i]);
            return;
        }
    }
    ir_attr_ints(op->r->m, op->node, step->name, list, n);
}

static void put_pads_in(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INTS);
    for (size_t i = 0; a && i < a->n; i++) {
        if (a->v.ints[i] < 0) {
            tflite_out_cannot(out, "its attribute %s has a negative number, which TFLite has not", step->name);
            return;
        }
    }
    if (a) {
        ir_shape shape = {.rank = 2, .dim = {(int64_t)(a->n / 2), 2}};
        tflite_out_constant(out, (size_t)step->a, step->name, &shape, a->v.ints);
    }
}

const tflite_step_kind tflite_step_pads_in = {"PADS_IN", make_pads_in, put_pads_in};

/* ---- LIST_IN, PAIRS_IN: what they may be the definition says ---- */

static void make_list_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    int64_t *list = tflite_op_constant(op, step->a, &n);
    if (list) {
        ir_attr_ints(op->r->m, op->node, step->name, list, n);
    }
}

static void put_list_in(tflite_out *out, const tflite_step *step) {
    size_t before = out->made.n;
    put_list(out, step);
    if (out->made.n > before && step->b) {
        out->made.at[before].type = BASE_I64;
    }
}

const tflite_step_kind tflite_step_list_in = {"LIST_IN", make_list_in, put_list_in};
const tflite_step_kind tflite_step_pairs_in = {"PAIRS_IN", make_list_in, put_pads_in};

/* ---- SAID_IN ---- */

/* Of a list of which each run says a part: the one extent that it says, which is what is left of the whole, as -1. A -1 of
 * the file's own is then what input 0 has besides that extent. NULL: it is no such list. */
static int64_t *partly_known(tflite_op *op, int input, size_t *n) {
    const uint32_t t = op->inputs[input];
    const ops_element *elements = t < op->r->tensor_count ? op->r->elements[t] : NULL;
    const ir_tensor *list = tflite_op_input(op, (size_t)input);
    const ir_shape *x = &tflite_op_input(op, 0)->shape;
    int64_t *out = BASE_NEWS(op->r->arena, int64_t, OPS_MOST_ELEMENTS + 1), known = 1, whole = 1;
    uint64_t count = 0;
    size_t said = OPS_MOST_ELEMENTS, rest = OPS_MOST_ELEMENTS, open = 0;
    bool fits = elements && !list->data && list->shape.rank == 1 && ir_shape_elements(&list->shape, &count),
         same = true;
    for (size_t i = 0; fits && i < count; i++) {
        fits = elements[i].known ? elements[i].value >= -1 && (elements[i].value >= 0 || rest == OPS_MOST_ELEMENTS)
                                 : said == OPS_MOST_ELEMENTS;
        out[i] = elements[i].known ? elements[i].value : -1;
        said = elements[i].known ? said : i;
        rest = elements[i].known && out[i] < 0 ? i : rest;
        fits = fits && (out[i] < 0 || !__builtin_mul_overflow(known, out[i], &known));
    }
    if (!fits || said == OPS_MOST_ELEMENTS) {
        return NULL;
    }
    for (uint32_t k = 0; k < x->rank; k++) {
        open += x->symbol[k] != 0;
        same = same && (x->symbol[k] == 0 || x->symbol[k] == elements[said].symbol);
        fits = fits && (x->symbol[k] != 0 || !__builtin_mul_overflow(whole, x->dim[k], &whole));
    }
    same = same && fits && open == 1;
    if (same && (rest < OPS_MOST_ELEMENTS ? known == 0 || whole % known != 0 : known != whole)) {
        tflite_op_error(op, "its list is of %lld elements for each of the %lld that its input has", (long long)known,
                        (long long)whole);
        return NULL;
    }
    if (!fits || (rest < OPS_MOST_ELEMENTS && !same)) {
        return NULL;
    }
    if (rest < OPS_MOST_ELEMENTS) {
        out[rest] = whole / known;
    }
    *n = (size_t)count;
    op->dropped |= (uint32_t)1 << input;
    return out;
}

static void make_said_in(tflite_op *op, const tflite_step *step) {
    size_t n;
    const bool there = (size_t)step->a < op->input_count && op->inputs[step->a] != IR_NONE;
    uint64_t elements = 1;
    if (there && !tflite_op_input(op, (size_t)step->a)->data && tflite_op_reads_recorded(op) &&
        (!ir_shape_elements(&tflite_op_input(op, (size_t)step->a)->shape, &elements) || elements)) {
        tflite_op_warn(op, "input %d is computed, and not read: the recorded %s is taken, as TFLM does", step->a,
                       step->name);
    } else if (there) {
        int64_t *list = op->infers && step->b ? partly_known(op, step->a, &n) : NULL;
        list = list || wire_fb_failed(&op->r->fb) ? list : tflite_op_constant(op, step->a, &n);
        if (list) {
            tflite_op_told(op, step, list, n);
        }
    }
    op->told = op->told || there;
    op->dropped |= (uint32_t)1 << step->a;
}

const tflite_step_kind tflite_step_said_in = {"SAID_IN", make_said_in, put_list};
