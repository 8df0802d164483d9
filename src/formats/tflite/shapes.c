/* shapes.c - shapes that the file leaves open: what the caller says of the inputs, and what follows from it.
 *
 * Takes an operator's node whose inputs have their shapes. Gives its outputs' shapes by its definition, and contents to
 * integers that follow from shapes, so that chains from SHAPE to RESHAPE end in constants. What the file records for such
 * a tensor is one possible shape, and not used. Knows no operator.
 */
#include "formats/tflite/steps.h"

#include <string.h>

enum { MOST_EXTENTS = 16, MOST_FOLDED = 1024 }; /* elements of a tensor that is computed here: shapes are shorter */

/* ---- the inputs ---- */

static char *input_name(tflite_reader *r, size_t i) {
    const char *name = r->g->tensors.at[r->g->inputs.at[i]].name;
    return *name ? base_printable(r->arena, name, strlen(name), 60) : base_printf(r->arena, "%zu", i);
}

/* What is open beyond a batch of 1 is worth a word: nobody can have meant it to stay 1. */
static void note_open(tflite_reader *r, size_t i) {
    const ir_tensor *t = &r->g->tensors.at[r->g->inputs.at[i]];
    const uint32_t open = r->open[r->g->inputs.at[i]];
    if (open > 1 || (open == 1 && t->shape.rank == 1)) {
        base_place place = {.file = r->file};
        base_note(r->d, &place,
                  "input %zu \"%s\" has extents that the file leaves open; as recorded it is %s: --shape %s=... gives "
                  "others",
                  i, input_name(r, i), ir_shape_print(r->arena, &t->shape), input_name(r, i));
    }
}

static void refuse_open(tflite_reader *r, const wire_path *path, size_t i) {
    const uint32_t index = r->g->inputs.at[i];
    const ir_shape *s = &r->g->tensors.at[index].shape;
    base_text shape = {.arena = r->arena};
    for (uint32_t k = 0; k < s->rank; k++) {
        base_put(&shape, s->dim[k] < 0 ? "%s?" : "%s%lld", k ? "x" : "", (long long)s->dim[k]);
    }
    wire_path tensor = {.outer = path, .name = "tensor", .index = index, .note = r->g->tensors.at[index].name};
    tensor.quoted = true;
    wire_fb_error(&r->fb, &tensor, r->bad_shape[index],
                  "input %zu is %s, and what stands for ? must be said: --shape %s=...", i, shape.at, input_name(r, i));
}

void tflite_set_inputs(tflite_reader *r, const wire_path *path) {
    base_status status = formats_set_shapes(r->arena, r->m, r->g, &r->shapes, r->open, r->changed, r->d);
    if (status != BASE_OK) {
        r->usage = status == BASE_USAGE;
        r->fb.failed = true;
        return;
    }
    for (size_t i = 0; i < r->g->inputs.n && !wire_fb_failed(&r->fb); i++) {
        const uint32_t index = r->g->inputs.at[i];
        bool known = true;
        for (uint32_t k = 0; k < r->g->tensors.at[index].shape.rank; k++) {
            known = known && r->g->tensors.at[index].shape.dim[k] >= 0;
        }
        if (!known) {
            refuse_open(r, path, i);
            return;
        }
        if (r->changed[index] && r->g->tensors.at[index].data) {
            wire_fb_error(&r->fb, path, 0, "input %zu has contents in the file, and keeps its shape", i);
            return;
        }
        r->bad_shape[index] = 0;
        note_open(r, i);
    }
    status = formats_set_constants(r->arena, r->g, r->constants, r->constant_count, r->d);
    for (size_t i = 0; i < r->g->inputs.n && r->constant_count; i++) {
        const uint32_t index = r->g->inputs.at[i]; /* the shapes that follow from contents are no longer as recorded */
        r->changed[index] = r->changed[index] || r->g->tensors.at[index].data;
        r->derived[index] = r->derived[index] || r->g->tensors.at[index].data;
    }
    r->usage = status == BASE_USAGE;
    r->fb.failed = r->fb.failed || status != BASE_OK;
}

/* ---- operators ---- */

bool tflite_is_open(const tflite_reader *r, const uint32_t *inputs, size_t input_count, const uint32_t *outputs,
                    size_t output_count) {
    for (size_t i = 0; i < input_count; i++) {
        if (inputs[i] != IR_NONE && r->changed[inputs[i]]) {
            return true;
        }
    }
    for (size_t i = 0; i < output_count; i++) {
        if (r->unsettled[outputs[i]]) {
            return true;
        }
    }
    return false;
}

bool tflite_is_settled(tflite_reader *r, const wire_path *path, uint32_t tensor) {
    if (!r->bad_shape[tensor]) {
        return true;
    }
    wire_path place = {.outer = path, .name = "tensor", .index = tensor, .note = r->g->tensors.at[tensor].name};
    place.quoted = true;
    wire_fb_error(&r->fb, &place, r->bad_shape[tensor],
                  "the file leaves its shape open, and it is known from no operator before it");
    return false;
}

void tflite_set_shape(tflite_reader *r, uint32_t tensor, const ir_shape *shape) {
    ir_tensor *t = &r->g->tensors.at[tensor];
    if (tensor < r->tensor_count) {
        r->changed[tensor] = r->changed[tensor] || !ir_shape_same(&t->shape, shape);
        r->bad_shape[tensor] = 0;
    }
    t->shape = *shape;
}

ops_registry *tflite_definitions(tflite_reader *r) {
    r->ops = r->ops ? r->ops : ops_registry_new(r->arena);
    return r->ops;
}

void tflite_infer(tflite_op *op) {
    tflite_reader *r = op->r;
    const ir_node *node = op->node;
    const bool recorded = op->recorded;
    uint32_t *dynamic = BASE_NEWS(r->arena, uint32_t, node->output_count + 1);
    ir_shape *shapes = BASE_NEWS(r->arena, ir_shape, node->output_count + 1);
    base_diags ignored = {.arena = r->arena};
    if (!ops_has(tflite_definitions(r), node->op)) {
        if (!recorded) {
            tflite_unsupported(r, op->path, node->byte, base_printf(r->arena, "operator %s", node->source_name),
                               TFLITE_REMEDY_OPERATOR);
        }
        return;
    }
    base_status status = ops_output_shapes(r->arena, r->ops, r->m, r->g, node, NULL, shapes, NULL, dynamic, NULL,
                                           recorded ? &ignored : r->d);
    if (status != BASE_OK && recorded) {
        return; /* whatever takes the operator will say why not */
    }
    if (status != BASE_OK) {
        if (r->shapes.shape_count || r->shapes.dim_count || r->shapes.batch) {
            base_note(r->d, NULL,
                      "the model does not take the extents that were asked for; without --shape, --dim and "
                      "--batch its own are used");
        }
        r->fb.failed = true;
        return;
    }
    if (!tflite_follow(op, shapes, dynamic)) {
        return;
    }
    node = op->node; /* the list of nodes may have moved */
    for (size_t i = 0; i < node->output_count; i++) {
        const ir_tensor *t = &r->g->tensors.at[node->outputs[i]];
        if (t->data == NULL && t->state == IR_NONE) {
            tflite_set_shape(r, node->outputs[i], &shapes[i]);
        }
    }
}

void tflite_resize(tflite_op *op) {
    tflite_reader *r = op->r;
    const ir_node *node = op->node;
    uint32_t *dynamic = BASE_NEWS(r->arena, uint32_t, node->output_count + 1);
    ir_shape *shapes = BASE_NEWS(r->arena, ir_shape, node->output_count + 1);
    base_diags ignored = {.arena = r->arena};
    if (!r->litert || op->infers || !ops_has(tflite_definitions(r), node->op) ||
        ops_output_shapes(r->arena, r->ops, r->m, r->g, node, NULL, shapes, NULL, dynamic, NULL, &ignored) != BASE_OK) {
        return;
    }
    for (size_t i = 0; i < node->output_count; i++) {
        const ir_tensor *t = &r->g->tensors.at[node->outputs[i]];
        if (dynamic[i] || t->data || t->state != IR_NONE || ir_shape_same(&t->shape, &shapes[i])) {
            continue;
        }
        tflite_op_warn(op, "output %zu is recorded as %s, and gets %s: that is taken, as LiteRT does", i,
                       ir_shape_print(r->arena, &t->shape), ir_shape_print(r->arena, &shapes[i]));
        r->m->by_numerics = true;
        op->infers = true;
        op->recorded = false;
    }
}

/* ---- integers that follow from shapes ---- */

void tflite_fold(tflite_reader *r) {
    const ir_node *n = &r->g->nodes.at[r->g->nodes.n - 1];
    bool derived = false, small = true, changed = false;
    for (size_t i = 0; i < n->input_count; i++) {
        const uint32_t input = n->inputs[i];
        if (input != IR_NONE && !r->g->tensors.at[input].data) {
            return;
        }
        derived = derived || (input != IR_NONE && input < r->tensor_count && r->derived[input]);
        changed = changed || (input != IR_NONE && input < r->tensor_count && r->changed[input]);
    }
    for (size_t i = 0; i < n->output_count; i++) {
        const ir_tensor *t = &r->g->tensors.at[n->outputs[i]];
        uint64_t elements;
        if (t->data || t->state != IR_NONE || !ir_shape_elements(&t->shape, &elements) || elements > MOST_FOLDED ||
            t->quant.n || n->outputs[i] >= r->tensor_count || r->bad_shape[n->outputs[i]]) {
            return;
        }
        small = small && base_type_is_int(t->type) && t->shape.rank <= 1 && elements <= MOST_EXTENTS;
    }
    if ((derived || small) && ops_evaluate(r->arena, tflite_definitions(r), r->m, r->g, n, NULL)) {
        for (size_t i = 0; i < n->output_count; i++) {
            r->derived[n->outputs[i]] = true;
            r->changed[n->outputs[i]] = r->changed[n->outputs[i]] || changed; /* contents, which may say extents */
        }
        r->g->nodes.at[--r->g->nodes.n] = (ir_node){0}; /* what grows there again must be as new */
    }
}

/* ---- integers of which extents are a part that each run says ---- */

void tflite_follow_elements(tflite_reader *r) {
    const ir_node *n = &r->g->nodes.at[r->g->nodes.n - 1];
    const ops_element **inputs = BASE_NEWS(r->arena, const ops_element *, n->input_count + 1);
    ops_element **outputs = BASE_NEWS(r->arena, ops_element *, n->output_count + 1);
    bool follows = false, all = true;
    for (size_t i = 0; i < n->input_count; i++) {
        const uint32_t t = n->inputs[i];
        if (t != IR_NONE) {
            inputs[i] = t < r->tensor_count ? r->elements[t] : NULL;
            follows = follows || inputs[i] || ir_shape_open(&r->g->tensors.at[t].shape);
        }
    }
    for (size_t i = 0; i < n->output_count; i++) {
        const ir_tensor *t = &r->g->tensors.at[n->outputs[i]];
        uint64_t elements;
        follows = follows && (t->type == BASE_I32 || t->type == BASE_I64) && !ir_shape_open(&t->shape) &&
                  ir_shape_elements(&t->shape, &elements) && elements <= MOST_EXTENTS && !t->data && !t->quant.n &&
                  t->state == IR_NONE && n->outputs[i] < r->tensor_count && !r->bad_shape[n->outputs[i]];
    }
    if (!follows || !ops_elements(r->arena, tflite_definitions(r), r->m, r->g, n, inputs, outputs)) {
        return;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        uint64_t elements = 0;
        (void)ir_shape_elements(&r->g->tensors.at[n->outputs[i]].shape, &elements);
        r->elements[n->outputs[i]] = outputs[i];
        r->changed[n->outputs[i]] = true; /* contents, which may say extents */
        for (uint64_t k = 0; k < elements; k++) {
            all = all && outputs[i] && outputs[i][k].known;
        }
    }
    for (size_t i = 0; i < n->output_count && all; i++) { /* the same in every run: a constant */
        ir_tensor *t = &r->g->tensors.at[n->outputs[i]];
        uint64_t elements = 0, bytes = 0;
        (void)(ir_shape_elements(&t->shape, &elements) && ir_tensor_bytes(t, &bytes));
        void *data = base_alloc(r->arena, (size_t)bytes + 1, 1);
        for (uint64_t k = 0; k < elements; k++) {
            base_store(t->type, data, k, (base_value){.i = outputs[i][k].value});
        }
        t->data = data;
        r->derived[n->outputs[i]] = true;
    }
    if (all) {
        r->g->nodes.at[--r->g->nodes.n] = (ir_node){0};
    }
}
