/* steps.c - what the dictionary's steps share (steps.h): an operator's tensors and options when it is read, a node's
 * attributes when it is written. Knows no step and no operator.
 */
#include "formats/tflite/steps.h"

#include <math.h>
#include <string.h>

/* ---- reading ---- */

const ir_tensor *tflite_op_input(const tflite_op *op, size_t i) {
    return &op->r->g->tensors.at[op->inputs[i]];
}

const ir_tensor *tflite_op_output(const tflite_op *op, size_t i) {
    return &op->r->g->tensors.at[op->outputs[i]];
}

int64_t tflite_op_option(tflite_op *op, int field) {
    if (op->options.at ==
        0) { /* no table: the runtimes' parameters begin with zeros, not with what the schema says of a field */
        return 0;
    }
    return tflite_int(&op->r->fb, op->options_path, &op->options, (tflite_field)field);
}

void tflite_op_error(tflite_op *op, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(op->r->arena, format, list);
    va_end(list);
    wire_fb_error(&op->r->fb, op->path, op->table.at, "%s", message);
}

void tflite_op_warn(tflite_op *op, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(op->r->arena, format, list);
    va_end(list);
    base_place place = {.file = op->r->file, .byte = op->table.at, .has_byte = true};
    place.path = wire_path_print(op->r->arena, op->path);
    base_warn(op->r->d, &place, "%s", message);
}

void tflite_op_doubt(tflite_op *op, const char *message) {
    tflite_doubt *doubt = BASE_NEW(op->r->arena, tflite_doubt);
    *doubt = (tflite_doubt){.next = op->r->doubts,
                            .output = op->outputs[0],
                            .index = op->path->index,
                            .name = op->path->note,
                            .message = message,
                            .byte = op->table.at};
    op->r->doubts = doubt;
}

void tflite_op_option_error(tflite_op *op, int field, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(op->r->arena, format, list);
    va_end(list);
    /* An absent table has no byte: its operator has. */
    if (op->options.at) {
        tflite_error(&op->r->fb, op->options_path, &op->options, (tflite_field)field, "%s", message);
    } else {
        wire_fb_error(&op->r->fb, op->options_path, op->table.at, "%s", message);
    }
}

int64_t tflite_op_axis(tflite_op *op, int64_t axis, uint32_t rank) {
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        tflite_op_error(op, "axis %lld: the rank is %lu", (long long)axis, (unsigned long)rank);
        return -1;
    }
    return axis < 0 ? axis + rank : axis;
}

enum { MOST_INTS = 64 };

int64_t *tflite_op_constant(tflite_op *op, int input, size_t *n) {
    tflite_reader *r = op->r;
    const ir_tensor *t = tflite_op_input(op, (size_t)input);
    uint64_t count;
    if (!t->data && (!ir_shape_elements(&t->shape, &count) || count)) { /* what is empty is known */
        const bool open = tflite_op_has_symbol(op, false);
        tflite_unsupported(
            r, op->path, op->table.at,
            base_printf(r->arena, "operator %s whose input %d is computed%s", op->name, input,
                        open ? " where an extent is left open" : ""),
            open ? TFLITE_REMEDY_OPEN
                 : "convert the model with that input constant, or, if it is an input of the model, give its "
                   "contents: --constant NAME=FILE");
        return NULL;
    }
    const bool integer = t->type == BASE_I8 || t->type == BASE_I16 || t->type == BASE_I32 || t->type == BASE_I64;
    if (!integer || !ir_shape_elements(&t->shape, &count)) {
        tflite_op_error(op, "input %d has type %s: expected i8, i16, i32 or i64", input, base_type_name(t->type));
        return NULL;
    }
    if (count > MOST_INTS) {
        tflite_op_error(op, "input %d has %llu elements: no such list is longer than %d", input,
                        (unsigned long long)count, MOST_INTS);
        return NULL;
    }
    int64_t *list = BASE_NEWS(r->arena, int64_t, count + 1);
    for (uint64_t i = 0; i < count; i++) {
        list[i] = base_load(t->type, t->data, i).i;
    }
    op->dropped |= (uint32_t)1 << input;
    *n = (size_t)count;
    return list;
}

bool tflite_op_solve(tflite_op *op, int64_t *list, size_t n) {
    const ir_attr *axis = ir_attr_find(op->node, "axis");
    const ir_shape *x = &tflite_op_input(op, 0)->shape;
    int64_t known = axis ? 0 : 1;
    uint64_t whole;
    size_t open = n;
    for (size_t i = 0; i < n; i++) {
        if (list[i] == -1 && open == n) {
            open = i;
        } else if (list[i] < 0 || list[i] > INT32_MAX) {
            tflite_op_error(op, "extent %zu is %lld%s", i, (long long)list[i], list[i] == -1 ? ", as another is" : "");
            return false;
        } else if (axis) {
            known += list[i];
        } else if (__builtin_mul_overflow(known, list[i], &known)) {
            tflite_op_error(op, "the extents are of too many elements");
            return false;
        }
    }
    bool decided = false; /* by data: what is left follows in each run */
    for (uint32_t i = 0; i < x->rank; i++) {
        decided = decided || x->symbol[i];
    }
    if (open == n || (decided && !axis) || !ir_shape_elements(x, &whole)) {
        return true;
    }
    int64_t rest = axis                                    ? x->dim[axis->v.i] - known
                   : known && whole % (uint64_t)known == 0 ? (int64_t)whole / known
                                                           : -1;
    if (rest < 0) {
        tflite_op_error(op, "no extent %zu makes an input of %s whole", open, ir_shape_print(op->r->arena, x));
        return false;
    }
    list[open] = rest;
    return true;
}

/* ---- writing ---- */

static const ir_tensor absent = {0};

const ir_tensor *tflite_out_input(tflite_out *out, size_t i) {
    if (i < out->node->input_count && out->node->inputs[i] != IR_NONE) {
        return &out->g->tensors.at[out->node->inputs[i]];
    }
    tflite_out_cannot(out, "it has no input %zu", i);
    return &absent;
}

const ir_tensor *tflite_out_output(tflite_out *out, size_t i) {
    if (i < out->node->output_count) {
        return &out->g->tensors.at[out->node->outputs[i]];
    }
    tflite_out_cannot(out, "it has no output %zu", i);
    return &absent;
}

void tflite_out_cannot(tflite_out *out, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (!out->why) {
        out->why = base_vprintf(out->arena, format, list);
    }
    va_end(list);
}

const ir_attr *tflite_out_attr(tflite_out *out, const char *name, ir_attr_kind kind) {
    for (size_t i = 0; i < out->node->attr_count; i++) {
        const ir_attr *a = &out->node->attrs[i];
        if (!strcmp(a->name, name) && a->kind == kind && i < 64) {
            out->claimed |= (uint64_t)1 << i;
            return a;
        }
    }
    /* An attribute of another kind is no absent one. */
    base_diags ignored = {.arena = out->arena};
    const lang_library *lib = !ir_attr_find(out->node, name) && ops_has(out->ops, out->node->op)
                                  ? ops_library(out->ops, out->node->op, &ignored)
                                  : NULL;
    const ir_attr *a = lib ? lang_attr_default(out->arena, lib, out->node->op, name) : NULL;
    if (a && a->kind == kind) {
        return a;
    }
    tflite_out_cannot(out, "it has no attribute %s", name);
    return NULL;
}

static tflite_value *value_of(tflite_out *out, int field) {
    tflite_value *v = BASE_PUSH(out->arena, &out->values);
    v->field = (tflite_field)field;
    return v;
}

void tflite_out_int(tflite_out *out, int field, int64_t v) {
    int64_t lo, hi;
    tflite_field_range((tflite_field)field, &lo, &hi);
    if (v < lo || v > hi) {
        tflite_out_cannot(out, "%s would be %lld, and is %lld to %lld in a file",
                          tflite_field_name((tflite_field)field), (long long)v, (long long)lo, (long long)hi);
        return;
    }
    value_of(out, field)->i = v;
}

void tflite_out_float(tflite_out *out, int field, double v) {
    if (!isnan(v) && (double)(float)v != v) {
        base_text text = {.arena = out->arena};
        base_put_float(&text, v);
        tflite_out_cannot(out, "%s would be %s, which no float is", tflite_field_name((tflite_field)field), text.at);
        return;
    }
    value_of(out, field)->f = (float)v;
}

static const int32_t *narrow(tflite_out *out, const char *name, const int64_t *values, size_t n) {
    int32_t *list = BASE_NEWS(out->arena, int32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (values[i] < INT32_MIN || values[i] > INT32_MAX) {
            tflite_out_cannot(out, "%s %zu would be %lld, and has 32 bits in a file", name, i, (long long)values[i]);
            return list;
        }
        list[i] = (int32_t)values[i];
    }
    return list;
}

void tflite_out_ints(tflite_out *out, int field, const int64_t *list, size_t n) {
    const int32_t *narrowed = narrow(out, tflite_field_name((tflite_field)field), list, n);
    tflite_value *v = value_of(out, field);
    v->list = narrowed;
    v->n = n;
}

void tflite_out_wide(tflite_out *out, int field, const int64_t *list, size_t n) {
    tflite_value *v = value_of(out, field);
    v->wide = list;
    v->n = n;
}

void tflite_out_floats(tflite_out *out, int field, const float *list, size_t n) {
    tflite_value *v = value_of(out, field);
    v->floats = list;
    v->n = n;
}

void tflite_out_constant(tflite_out *out, size_t at, const char *name, const ir_shape *shape, const int64_t *values) {
    uint64_t n;
    if (!ir_shape_elements(shape, &n)) {
        tflite_out_cannot(out, "%s has too many elements", name);
        return;
    }
    const int32_t *narrowed = narrow(out, name, values, (size_t)n);
    *BASE_PUSH(out->arena, &out->made) =
        (tflite_made){.at = at, .type = BASE_I32, .shape = *shape, .values = narrowed, .name = name};
}

void tflite_out_list(tflite_out *out, size_t at, const char *name, const int64_t *values, size_t n) {
    ir_shape shape = {.rank = 1, .dim = {(int64_t)n}};
    tflite_out_constant(out, at, name, &shape, values);
}
