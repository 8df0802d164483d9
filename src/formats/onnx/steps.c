/* steps.c - what the dictionary's steps share: a node's attributes and constant inputs, and faults in them (steps.h). */
#include "formats/onnx/steps.h"

#include <string.h>

enum { MOST_NUMBERS = 1 << 16 }; /* of a list: shapes, axes, scales are shorter */

bool onnx_op_failed(const onnx_op *op) {
    return wire_pb_failed(&op->r->pb);
}

void onnx_op_error(onnx_op *op, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *message = base_vprintf(op->r->arena, format, list);
    va_end(list);
    wire_pb_error(&op->r->pb, op->path, op->byte, "%s", message);
}

void onnx_op_warn(onnx_op *op, uint64_t byte, const char *format, ...) {
    base_place place = {.file = op->r->file, .byte = byte, .has_byte = true};
    place.path = wire_path_print(op->r->arena, op->path);
    va_list list;
    va_start(list, format);
    base_warn(op->r->d, &place, "%s", base_vprintf(op->r->arena, format, list));
    va_end(list);
}

void onnx_op_unsupported(onnx_op *op, const char *what, const char *remedy) {
    formats_note(op->r->notes, op->path, op->byte, what, remedy);
}

/* ---- attributes ---- */

const onnx_attr *onnx_op_attr(onnx_op *op, const char *name, onnx_attr_type type) {
    for (size_t i = 0; i < op->attrs.n && !onnx_op_failed(op); i++) {
        onnx_attr *a = &op->attrs.at[i];
        if (strcmp(a->name, name) != 0) {
            continue;
        }
        a->used = true;
        if (a->type == type) {
            return a;
        }
        wire_pb_error(&op->r->pb, op->path, a->byte, "%s: it is of type %s: expected %s", name,
                      onnx_attr_type_name(a->type), onnx_attr_type_name(type));
    }
    return NULL;
}

uint32_t *onnx_op_strings(onnx_op *op, const base_bytes *strings, size_t n) {
    uint32_t *numbers = BASE_NEWS(op->r->arena, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        const uint32_t number = base_string_number(op->r->strings, strings[i].at, strings[i].size);
        base_store(BASE_STR, numbers, i, (base_value){.u = number});
    }
    return numbers;
}

int64_t onnx_op_int(onnx_op *op, const char *name, int64_t otherwise) {
    const onnx_attr *a = onnx_op_attr(op, name, ONNX_INT);
    return a ? a->i : otherwise;
}

float onnx_op_float(onnx_op *op, const char *name, float otherwise) {
    const onnx_attr *a = onnx_op_attr(op, name, ONNX_FLOAT);
    return a ? a->f : otherwise;
}

const char *onnx_op_text(onnx_op *op, const char *name, const char *otherwise) {
    const onnx_attr *a = onnx_op_attr(op, name, ONNX_STRING);
    return a ? base_printable(op->r->arena, (const char *)a->s.at, a->s.size, 255) : otherwise;
}

const int64_t *onnx_op_ints(onnx_op *op, const char *name, size_t *n) {
    const onnx_attr *a = onnx_op_attr(op, name, ONNX_INTS);
    *n = a ? a->n : 0;
    return !a ? NULL : a->ints ? a->ints : BASE_NEWS(op->r->arena, int64_t, 1);
}

void onnx_op_ignore(onnx_op *op, const char *name) {
    for (size_t i = 0; i < op->attrs.n; i++) {
        op->attrs.at[i].used = op->attrs.at[i].used || strcmp(op->attrs.at[i].name, name) == 0;
    }
}

/* ---- inputs ---- */

const ir_tensor *onnx_op_input(const onnx_op *op, size_t i) {
    static const ir_tensor none = {.name = "", .state = IR_NONE};
    return onnx_op_has_input(op, i) ? &onnx_graph_of(op->r, op->scope)->tensors.at[op->inputs[i]] : &none;
}

bool onnx_op_has_input(const onnx_op *op, size_t i) {
    return i < op->input_count && op->inputs[i] != IR_NONE;
}

const void *onnx_op_contents(const onnx_op *op, size_t i) {
    return onnx_op_has_input(op, i) ? onnx_contents_of(op->r, op->scope->graph, op->inputs[i]) : NULL;
}

static void note_computed(onnx_op *op, size_t input) {
    onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s whose input %zu is computed", op->type, input),
                        "convert the model with that input constant, or, if it is an input of the model, give its "
                        "contents: --constant NAME=FILE");
}

bool onnx_op_pin(onnx_op *op, size_t input) {
    const void *data = onnx_op_contents(op, input);
    const ir_tensor t = *onnx_op_input(op, input);
    if (onnx_op_has_input(op, input) && !data) {
        note_computed(op, input);
        return false;
    }
    if (onnx_op_has_input(op, input) && !t.data) {
        ir_graph *g = onnx_graph_of(op->r, op->scope);
        op->inputs[input] = ir_tensor_add(op->r->m, g, t.name, t.type, &t.shape);
        g->tensors.at[op->inputs[input]].data = data;
    }
    return true;
}

/* The constant input, dropped; NULL: absent, or noted. */
static const ir_tensor *drop_constant(onnx_op *op, size_t input, uint64_t *n) {
    const ir_tensor *t = onnx_op_input(op, input);
    if (input < op->input_count) {
        op->dropped[input] = true;
    }
    if (!onnx_op_has_input(op, input)) {
        return NULL;
    }
    const void *data = onnx_op_contents(op, input);
    if (!data) {
        note_computed(op, input);
        return NULL;
    }
    if (!ir_shape_elements(&t->shape, n) || *n > MOST_NUMBERS) {
        onnx_op_error(op, "input %zu has %llu elements: no such list is longer than %d", input, (unsigned long long)*n,
                      MOST_NUMBERS);
        return NULL;
    }
    ir_tensor *known = BASE_NEW(op->r->arena, ir_tensor);
    *known = *t;
    known->data = data;
    return known;
}

int64_t *onnx_op_constant(onnx_op *op, size_t input, size_t *n) {
    uint64_t count = 0;
    const ir_tensor *t = drop_constant(op, input, &count);
    *n = 0;
    if (t && !base_type_is_int(t->type)) {
        onnx_op_error(op, "input %zu has type %s: expected integers", input, base_type_name(t->type));
        return NULL;
    }
    int64_t *list = t ? BASE_NEWS(op->r->arena, int64_t, (size_t)count + 1) : NULL;
    for (uint64_t i = 0; i < count && t; i++) {
        list[i] = base_load(t->type, t->data, i).i;
    }
    *n = t ? (size_t)count : 0;
    return list;
}

double *onnx_op_numbers(onnx_op *op, size_t input, size_t *n) {
    uint64_t count = 0;
    const ir_tensor *t = drop_constant(op, input, &count);
    double *list = t ? BASE_NEWS(op->r->arena, double, (size_t)count + 1) : NULL;
    for (uint64_t i = 0; i < count && t; i++) {
        const base_value v = base_load(t->type, t->data, i);
        list[i] = base_type_is_float(t->type) ? v.f : base_type_is_signed(t->type) ? (double)v.i : (double)v.u;
    }
    *n = t ? (size_t)count : 0;
    return list;
}

void onnx_op_add_constant(onnx_op *op, const char *name, base_type type, const ir_shape *shape, const void *data) {
    ir_graph *g = onnx_graph_of(op->r, op->scope);
    const uint32_t index = ir_tensor_add(op->r->m, g, name, type, shape);
    g->tensors.at[index].data = data;
    *BASE_PUSH(op->r->arena, &op->added) = index;
}

void onnx_op_add_absent(onnx_op *op) {
    *BASE_PUSH(op->r->arena, &op->added) = IR_NONE;
}

/* A node in front of this one, which takes that input, and gives what this one takes then. */
static ir_node *put_before(onnx_op *op, const char *word, size_t input, base_type type, const ir_shape *shape) {
    ir_graph *g = onnx_graph_of(op->r, op->scope);
    const uint32_t to = ir_tensor_add(op->r->m, g, "", type, shape);
    ir_node *before = ir_node_add(op->r->m, g, word, &op->inputs[input], 1, &to, 1, op->node->ids[0]);
    before->source_name = op->type;
    before->byte = op->byte;
    const ir_node made = *before;
    *before = before[-1];
    before[-1] = made;
    op->node = before;
    op->inputs[input] = to;
    return before - 1;
}

void onnx_op_reshape(onnx_op *op, size_t input, const ir_shape *shape) {
    ir_graph *g = onnx_graph_of(op->r, op->scope);
    const ir_tensor from = *onnx_op_input(op, input);
    if (from.data) {
        op->inputs[input] = ir_tensor_add(op->r->m, g, "", from.type, shape);
        g->tensors.at[op->inputs[input]].data = from.data;
    } else {
        ir_attr_ints(op->r->m, put_before(op, "reshape", input, from.type, shape), "shape", shape->dim, shape->rank);
    }
}

void onnx_op_cast(onnx_op *op, size_t input, base_type type) {
    const ir_shape shape = onnx_op_input(op, input)->shape;
    put_before(op, "cast", input, type, &shape);
}

void onnx_op_slice(onnx_op *op, size_t input, const int64_t *begin, const ir_shape *shape) {
    ir_node *slice = put_before(op, "slice", input, onnx_op_input(op, input)->type, shape);
    ir_attr_ints(op->r->m, slice, "begin", begin, shape->rank);
    ir_attr_ints(op->r->m, slice, "extents", shape->dim, shape->rank);
}

/* ---- axes ---- */

int64_t onnx_op_axis(onnx_op *op, const char *what, int64_t axis, uint32_t rank) {
    const int64_t at = axis < 0 ? axis + (int64_t)rank : axis;
    if (at < 0 || at >= (int64_t)rank) {
        onnx_op_error(op, "%s: axis %lld of a tensor of %lu extents", what, (long long)axis, (unsigned long)rank);
        return -1;
    }
    return at;
}

bool onnx_op_axes(onnx_op *op, const char *what, int64_t *axes, size_t n, uint32_t rank) {
    bool given[IR_MAX_RANK] = {false};
    for (size_t i = 0; i < n; i++) {
        const int64_t axis = onnx_op_axis(op, what, axes[i], rank);
        if (axis < 0 || given[axis]) {
            if (axis >= 0) {
                onnx_op_error(op, "%s: axis %lld is given twice", what, (long long)axis);
            }
            return false;
        }
        given[axis] = true;
    }
    for (size_t axis = 0, k = 0; axis < IR_MAX_RANK && k < n; axis++) {
        if (given[axis]) {
            axes[k++] = (int64_t)axis;
        }
    }
    return true;
}
