/* parts.c - values that are no tensor: sequences and optional values, and the tensors that they consist of.
 *
 * Takes values of a scope. Gives their tensors in order, and values of the same structure again. O(parts).
 */
#include "formats/onnx/special.h"

const char *onnx_kind_name(const onnx_value *v) {
    return v->kind == ONNX_A_SEQUENCE ? "a sequence" : v->kind == ONNX_AN_OPTIONAL ? "an optional value" : "a tensor";
}

void onnx_parts(onnx_reader *r, const onnx_value *v, onnx_tensors *out) {
    if (v->tensor != IR_NONE) {
        *BASE_PUSH(r->arena, out) = v->tensor;
    }
    for (size_t i = 0; i < v->n; i++) {
        onnx_parts(r, &v->at[i], out);
    }
}

bool onnx_is_unknown(const onnx_reader *r, const onnx_scope *scope, const onnx_value *v) {
    bool unknown = v->kind == ONNX_A_TENSOR && v->tensor != IR_NONE &&
                   onnx_graph_of(r, scope)->tensors.at[v->tensor].type == BASE_NONE;
    for (size_t i = 0; i < v->n && !unknown; i++) {
        unknown = onnx_is_unknown(r, scope, &v->at[i]);
    }
    return unknown;
}

onnx_value onnx_rebuild(onnx_reader *r, const onnx_value *v, const uint32_t *tensors, size_t *at) {
    onnx_value made = *v;
    made.tensor = v->tensor == IR_NONE ? IR_NONE : tensors[(*at)++];
    if (v->kind == ONNX_A_TENSOR) {
        return made;
    }
    onnx_value *parts = BASE_NEWS(r->arena, onnx_value, v->n + 1);
    for (size_t i = 0; i < v->n; i++) {
        parts[i] = onnx_rebuild(r, &v->at[i], tensors, at);
    }
    made.at = parts;
    return made;
}

onnx_value onnx_like(onnx_reader *r, const onnx_scope *from, const onnx_value *v, const onnx_scope *to,
                     const char *name) {
    onnx_tensors parts = {0};
    size_t at = 0;
    onnx_parts(r, v, &parts);
    for (size_t i = 0; i < parts.n; i++) {
        const ir_tensor t = onnx_graph_of(r, from)->tensors.at[parts.at[i]];
        parts.at[i] = ir_tensor_add(r->m, onnx_graph_of(r, to), name, t.type, &t.shape);
    }
    return onnx_rebuild(r, v, parts.at, &at);
}

bool onnx_alike(onnx_reader *r, const onnx_scope *a_scope, const onnx_value *a, const onnx_scope *b_scope,
                const onnx_value *b) {
    bool alike = a->kind == b->kind && a->n == b->n && (a->tensor == IR_NONE) == (b->tensor == IR_NONE);
    if (alike && a->tensor != IR_NONE) {
        const ir_tensor *s = &onnx_graph_of(r, a_scope)->tensors.at[a->tensor];
        const ir_tensor *t = &onnx_graph_of(r, b_scope)->tensors.at[b->tensor];
        alike = s->type == t->type && ir_shape_same(&s->shape, &t->shape);
    }
    for (size_t i = 0; i < a->n && alike; i++) {
        alike = onnx_alike(r, a_scope, &a->at[i], b_scope, &b->at[i]);
    }
    return alike;
}

const char *onnx_value_print(onnx_reader *r, const onnx_scope *scope, const onnx_value *v) {
    if (v->kind == ONNX_A_SEQUENCE) {
        return base_printf(r->arena, "a sequence of %zu", v->n);
    }
    if (v->kind == ONNX_AN_OPTIONAL && v->n) {
        return base_printf(r->arena, "an optional value %s %s", v->tensor == IR_NONE ? "with" : "that may have",
                           onnx_value_print(r, scope, v->at));
    }
    if (v->kind == ONNX_AN_OPTIONAL || v->tensor == IR_NONE) {
        return v->kind == ONNX_AN_OPTIONAL ? "an optional value without content" : "absent";
    }
    const ir_tensor *t = &onnx_graph_of(r, scope)->tensors.at[v->tensor];
    return base_printf(r->arena, "%s %s", base_type_name(t->type), ir_shape_print(r->arena, &t->shape));
}
