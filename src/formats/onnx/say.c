/* say.c - a node in ONNX's words: one row of the dictionary, its steps backwards.
 *
 * Takes a node and a row. Gives attributes and constant inputs, or the reason why the row cannot say the node. An attribute
 * that no step has taken makes the row unfit, so that nothing is lost silently.
 */
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

void onnx_out_text(onnx_out *out, const char *attr, const char *text) {
    put_attr(out, attr, ONNX_STRING)->text = text;
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

void onnx_out_texts(onnx_out *out, const char *attr, const char *const *v, size_t n) {
    onnx_put_attr *a = put_attr(out, attr, ONNX_STRINGS);
    a->texts = v;
    a->n = n;
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
            onnx_out_cannot(out, "%s is read, and not yet written", kind->name);
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
