/* say.c - a node in ONNX's words: one row of the dictionary, its steps backwards.
 *
 * Takes a node and a row. Gives attributes and constant inputs, or the reason why the row cannot say the node. An attribute
 * that no step has taken makes the row unfit, so that nothing is lost silently.
 */
#include "formats/onnx/arrays.h"
#include "formats/onnx/writer.h"

#include <string.h>

void onnx_out_cannot(onnx_out *out, const char *format, ...) {
    if (!out->why) {
        va_list list;
        va_start(list, format);
        out->why = base_vprintf(out->arena, format, list);
        va_end(list);
    }
}

static const ir_tensor *tensor_at(onnx_out *out, const uint32_t *tensors, size_t n, size_t i) {
    static const ir_tensor none = {.name = "", .state = IR_NONE};
    return i < n && tensors[i] != IR_NONE ? &out->g->tensors.at[tensors[i]] : &none;
}

const ir_tensor *onnx_out_input(onnx_out *out, size_t i) {
    return tensor_at(out, out->node->inputs, out->node->input_count, i);
}

const ir_tensor *onnx_out_output(onnx_out *out, size_t i) {
    return tensor_at(out, out->node->outputs, out->node->output_count, i);
}

const ir_attr *onnx_out_optional(onnx_out *out, const char *name, ir_attr_kind kind) {
    for (size_t i = 0; i < out->node->attr_count && i < 64; i++) {
        const ir_attr *a = &out->node->attrs[i];
        if (!strcmp(a->name, name)) {
            out->claimed |= (uint64_t)1 << i;
            if (a->kind == kind) {
                return a;
            }
            onnx_out_cannot(out, "its attribute %s is of another kind", name);
            return NULL;
        }
    }
    base_diags ignored = {.arena = out->arena};
    const lang_library *library = ops_library(out->ops, out->node->op, &ignored);
    const ir_attr *otherwise = library ? lang_attr_default(out->arena, library, out->node->op, name) : NULL;
    return otherwise && otherwise->kind == kind ? otherwise : NULL;
}

const ir_attr *onnx_out_attr(onnx_out *out, const char *name, ir_attr_kind kind) {
    const ir_attr *a = onnx_out_optional(out, name, kind);
    if (!a) {
        onnx_out_cannot(out, "it has no attribute %s", name);
    }
    return a;
}

/* ---- what is put ---- */

static onnx_put_attr *put_attr(onnx_out *out, const char *name, onnx_attr_type type) {
    onnx_put_attr *a = BASE_PUSH(out->arena, &out->attrs);
    *a = (onnx_put_attr){.name = name, .type = type};
    return a;
}

void onnx_out_int(onnx_out *out, const char *attr, int64_t v) {
    put_attr(out, attr, ONNX_INT)->i = v;
}

void onnx_out_float(onnx_out *out, const char *attr, float v) {
    put_attr(out, attr, ONNX_FLOAT)->f = v;
}

static base_bytes bytes_of(const char *text) {
    return (base_bytes){.at = (const uint8_t *)text, .size = strlen(text)};
}

void onnx_out_text(onnx_out *out, const char *attr, const char *text) {
    put_attr(out, attr, ONNX_STRING)->text = bytes_of(text);
}

void onnx_out_ints(onnx_out *out, const char *attr, const int64_t *v, size_t n) {
    onnx_put_attr *a = put_attr(out, attr, ONNX_INTS);
    a->ints = v;
    a->n = n;
}

void onnx_out_floats(onnx_out *out, const char *attr, const float *v, size_t n) {
    onnx_put_attr *a = put_attr(out, attr, ONNX_FLOATS);
    a->floats = v;
    a->n = n;
}

static void put_texts(onnx_out *out, const char *attr, const base_bytes *texts, size_t n) {
    onnx_put_attr *a = put_attr(out, attr, ONNX_STRINGS);
    a->texts = texts;
    a->n = n;
}

void onnx_out_texts(onnx_out *out, const char *attr, const char *const *v, size_t n) {
    base_bytes *texts = BASE_NEWS(out->arena, base_bytes, n + 1);
    for (size_t i = 0; i < n; i++) {
        texts[i] = bytes_of(v[i]);
    }
    put_texts(out, attr, texts, n);
}

static base_bytes string_of(onnx_out *out, uint32_t number) {
    base_bytes s = {.size = 0};
    s.at = (const uint8_t *)base_string_at(out->m->strings, number, &s.size);
    if (!s.at) {
        onnx_out_cannot(out, "it has a string of a number that there is not");
    }
    return s;
}

void onnx_out_string(onnx_out *out, const char *attr, uint32_t number) {
    put_attr(out, attr, ONNX_STRING)->text = string_of(out, number);
}

void onnx_out_strings(onnx_out *out, const char *attr, const double *numbers, size_t n) {
    base_bytes *texts = BASE_NEWS(out->arena, base_bytes, n + 1);
    for (size_t i = 0; i < n; i++) {
        texts[i] = string_of(out, (uint32_t)numbers[i]);
    }
    put_texts(out, attr, texts, n);
}

void onnx_out_gives(onnx_out *out, size_t output, base_type type) {
    const base_type own = onnx_out_output(out, output)->type;
    if (output >= out->node->output_count || own == type) {
        return;
    }
    if (output >= ONNX_MOST_CAST || base_type_is_float(own) || base_type_is_float(type) || own == BASE_BOOL ||
        type == BASE_BOOL) {
        onnx_out_cannot(out, "its output %zu is not of type %s", output, base_type_name(type));
        return;
    }
    out->gives[output] = type;
}

void onnx_out_constant(onnx_out *out, size_t at, const char *name, base_type type, const ir_shape *shape,
                       const void *data) {
    *BASE_PUSH(out->arena, &out->made) = (onnx_made){at, name, type, *shape, data, false};
}

void onnx_out_constant_for(onnx_out *out, size_t at, const char *name, base_type type, const ir_shape *shape,
                           const void *data) {
    *BASE_PUSH(out->arena, &out->made) = (onnx_made){at, name, type, *shape, data, true};
}

void onnx_out_list(onnx_out *out, size_t at, const char *name, const int64_t *v, size_t n) {
    const ir_shape shape = ir_shape_of(1, &(int64_t){(int64_t)n});
    uint8_t *data = base_alloc(out->arena, n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++) {
        base_store(BASE_I64, data, i, (base_value){.i = v[i]});
    }
    onnx_out_constant(out, at, name, BASE_I64, &shape, data);
}

void onnx_out_tensor(onnx_out *out, const char *attr, base_type type, const double *v, size_t n) {
    ir_tensor t = {.name = "", .type = type, .shape = ir_shape_of(1, &(int64_t){(int64_t)n})};
    uint8_t *data = base_alloc(out->arena, n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++) {
        base_store(type, data, i,
                   base_type_is_float(type) ? (base_value){.f = v[i]} : (base_value){.i = (int64_t)v[i]});
    }
    t.data = data;
    wire_pb_out *message = BASE_NEW(out->arena, wire_pb_out);
    *message = onnx_tensor_message(out->arena, out->m->strings, &t);
    put_attr(out, attr, ONNX_TENSOR)->graph = message;
}

/* ---- constants that attributes say ---- */

const ir_tensor *onnx_out_list_input(onnx_out *out) {
    const size_t at = out->word->most + out->lists++;
    if (at >= out->node->input_count) {
        return NULL;
    }
    const ir_tensor *t = onnx_out_input(out, at);
    out->said++;
    if (out->node->inputs[at] != IR_NONE && !t->data) {
        onnx_out_cannot(out, "its input %zu is no constant", at);
    }
    return t->data ? t : NULL;
}

static size_t count_of(const ir_tensor *t) {
    uint64_t n = 0;
    (void)ir_shape_elements(&t->shape, &n);
    return (size_t)n;
}

int64_t *onnx_out_int_list(onnx_out *out, size_t *n) {
    const ir_tensor *t = onnx_out_list_input(out);
    *n = t ? count_of(t) : 0;
    if (t && t->type != BASE_I64) {
        onnx_out_cannot(out, "its list %s is not of type i64", t->name);
    }
    if (!t || t->type != BASE_I64) {
        return NULL;
    }
    int64_t *list = BASE_NEWS(out->arena, int64_t, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        list[i] = base_load(t->type, t->data, i).i;
    }
    return list;
}

double *onnx_out_float_list(onnx_out *out, base_type type, size_t *n) {
    const ir_tensor *t = onnx_out_list_input(out);
    *n = t ? count_of(t) : 0;
    if (t && t->type != type) {
        onnx_out_cannot(out, "its list %s is not of type %s", t->name, base_type_name(type));
    }
    if (!t || t->type != type) {
        return NULL;
    }
    double *list = BASE_NEWS(out->arena, double, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        const base_value v = base_load(type, t->data, i);
        list[i] = base_type_is_float(type) ? v.f : (double)v.i;
    }
    return list;
}

/* ---- a row ---- */

static void check_counts(onnx_out *out) {
    const onnx_word *w = out->word;
    size_t inputs = out->input_count - out->said + out->made.n;
    for (size_t i = 0; i < out->made.n; i++) {
        inputs -= out->made.at[i].replaces;
    }
    if (out->input_count < out->said || inputs < w->needed || (w->most != ONNX_ANY && inputs > w->most)) {
        onnx_out_cannot(out, "it has %zu inputs", out->input_count);
    } else if (out->node->output_count < w->gives ||
               (w->most_given != ONNX_ANY && out->node->output_count > w->most_given)) {
        onnx_out_cannot(out, "it has %zu outputs", out->node->output_count);
    }
}

bool onnx_say(onnx_out *out) {
    out->inputs = out->node->inputs;
    out->input_count = out->node->input_count;
    for (size_t i = 0; i < ONNX_MOST_STEPS && out->word->steps[i].kind && !out->why; i++) {
        const onnx_step_kind *kind = out->word->steps[i].kind;
        if (kind->put) {
            kind->put(out, &out->word->steps[i]);
        } else {
            onnx_out_cannot(out,
                            "operator %s is read, but writing it is not supported; emit C (--target c), or keep "
                            "the part of the model with it in its own file",
                            out->word->op);
        }
    }
    for (size_t i = 0; i < out->node->attr_count; i++) {
        if (i >= 64 || (!(out->claimed >> i & 1) &&
                        !formats_says_nothing(out->arena, out->ops, out->node, &out->node->attrs[i]))) {
            onnx_out_cannot(out, "%s does not say its attribute %s", out->word->op, out->node->attrs[i].name);
        }
    }
    check_counts(out);
    return !out->why;
}
