/* functions.c - functions of the model: their bodies are put in the place of the nodes that call them.
 *
 * Takes FunctionProtos and calls. Gives the body's nodes in the caller's graph, once for each call, with the names, operator
 * sets and attributes of the function. A function that reaches itself has no end and is refused.
 */
#include "formats/onnx/special.h"

#include <string.h>

static char *key_of(onnx_reader *r, const char *domain, const char *name, const char *overload) {
    return base_printf(r->arena, "%s\n%s\n%s", domain, name, overload);
}

onnx_function *onnx_function_of(onnx_reader *r, const char *domain, const char *name, const char *overload) {
    if (!base_map_count(r->functions)) {
        return NULL;
    }
    const char *key = key_of(r, domain, name, overload);
    const uint64_t *at = base_map_get(r->functions, key, strlen(key));
    return at ? (onnx_function *)(uintptr_t)*at : NULL;
}

static void read_field(onnx_reader *r, onnx_function *fn, const wire_pb_field *f) {
    switch (f->number) {
    case ONNX_FUNCTION_NAME:
        fn->name = wire_pb_text(r->arena, &r->pb, &fn->path, f);
        break;
    case ONNX_FUNCTION_DOMAIN:
        fn->domain = onnx_domain(wire_pb_text(r->arena, &r->pb, &fn->path, f));
        break;
    case ONNX_FUNCTION_OVERLOAD:
        fn->overload = wire_pb_text(r->arena, &r->pb, &fn->path, f);
        break;
    case ONNX_FUNCTION_INPUT:
        *BASE_PUSH(r->arena, &fn->inputs) = wire_pb_text(r->arena, &r->pb, &fn->path, f);
        break;
    case ONNX_FUNCTION_OUTPUT:
        *BASE_PUSH(r->arena, &fn->outputs) = wire_pb_text(r->arena, &r->pb, &fn->path, f);
        break;
    case ONNX_FUNCTION_ATTRIBUTE:
        *BASE_PUSH(r->arena, &fn->attributes) = wire_pb_text(r->arena, &r->pb, &fn->path, f);
        break;
    case ONNX_FUNCTION_ATTRIBUTE_PROTO:
        *BASE_PUSH(r->arena, &fn->defaults) = *f;
        break;
    case ONNX_FUNCTION_NODE:
        *BASE_PUSH(r->arena, &fn->nodes) = *f;
        break;
    case ONNX_FUNCTION_OPSET_IMPORT:
        onnx_read_import(r, &fn->path, wire_pb_message(&r->pb, &fn->path, f), &fn->imports);
        break;
    default:
        break;
    }
}

void onnx_read_function(onnx_reader *r, const wire_path *path, wire_message m) {
    onnx_function *fn = BASE_NEW(r->arena, onnx_function);
    *fn = (onnx_function){.domain = "", .name = "", .overload = "", .path = *path};
    const uint64_t byte = m.at;
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        read_field(r, fn, &f);
    }
    if (wire_pb_failed(&r->pb)) {
        return;
    }
    bool is_new;
    const char *key = key_of(r, fn->domain, fn->name, fn->overload);
    uint64_t *at = base_map_put(r->functions, key, strlen(key), &is_new);
    *at = (uint64_t)(uintptr_t)fn;
    fn->path.note = base_printable(r->arena, fn->name, strlen(fn->name), 60);
    if (!*fn->name || !is_new) {
        wire_pb_error(&r->pb, &fn->path, byte, *fn->name ? "there is another of this name" : "it has no name");
    }
}

/* ---- calls ---- */

static bool is_given(const onnx_attrs *attrs, const char *name) {
    bool given = false;
    for (size_t i = 0; i < attrs->n; i++) {
        given = given || strcmp(attrs->at[i].name, name) == 0;
    }
    return given;
}

/* Those of the node, marked as known, then those that it leaves to the function. */
static void gather_attributes(onnx_op *op, const onnx_function *fn, onnx_attrs *out) {
    onnx_reader *r = op->r;
    onnx_attrs defaults = {0};
    for (size_t i = 0; i < fn->defaults.n; i++) {
        onnx_read_attribute(r, &fn->path, wire_pb_message(&r->pb, &fn->path, &fn->defaults.at[i]), op->scope,
                            &defaults);
    }
    for (size_t i = 0; i < op->attrs.n; i++) {
        onnx_attr *a = &op->attrs.at[i];
        a->used = is_given(&defaults, a->name);
        for (size_t k = 0; k < fn->attributes.n; k++) {
            a->used = a->used || strcmp(fn->attributes.at[k], a->name) == 0;
        }
        if (a->type == ONNX_GRAPH) {
            onnx_op_unsupported(op, base_printf(r->arena, "a graph as attribute of function %s", op->type),
                                "put the function in its place before the model is saved");
        }
        *BASE_PUSH(r->arena, out) = *a;
    }
    for (size_t i = 0; i < defaults.n; i++) {
        if (!is_given(&op->attrs, defaults.at[i].name)) {
            *BASE_PUSH(r->arena, out) = defaults.at[i];
        }
    }
}

static void read_body(onnx_op *op, const onnx_function *fn, const onnx_attrs *attrs) {
    onnx_reader *r = op->r;
    onnx_scope scope = onnx_scope_new(r, NULL, op->scope->graph);
    scope.imports = &fn->imports;
    scope.call = attrs;
    scope.id = op->id;
    for (size_t i = 0; i < fn->inputs.n; i++) {
        const onnx_value absent = {.tensor = IR_NONE};
        if (!onnx_define(r, &scope, fn->inputs.at[i], i < op->input_count ? op->values[i] : absent)) {
            onnx_op_error(op, "function %s has two inputs of one name", op->type);
        }
    }
    if (!onnx_op_failed(op)) {
        onnx_read_nodes(r, op->path, fn->nodes.at, fn->nodes.n, &scope);
    }
    for (size_t i = 0; i < op->output_count && !onnx_op_failed(op); i++) {
        const onnx_value *value = onnx_find(r, &scope, fn->outputs.at[i]);
        if (value) {
            onnx_give_value(op, i, value);
        } else {
            onnx_op_error(op, "no node of function %s gives its output %zu", op->type, i);
        }
    }
}

void onnx_call_function(onnx_op *op, onnx_function *fn) {
    onnx_reader *r = op->r;
    onnx_attrs attrs = {0};
    const size_t notes = formats_notes_count(r->notes);
    if (fn->open) {
        onnx_op_error(op, "function %s reaches itself: recursion has no end", op->type);
    } else if (op->input_count > fn->inputs.n || op->output_count > fn->outputs.n) {
        onnx_op_error(op, "%zu inputs and %zu outputs: the function has %zu and %zu", op->input_count, op->output_count,
                      fn->inputs.n, fn->outputs.n);
    } else if (++r->depth > ONNX_MOST_DEPTH) {
        onnx_op_error(op, "graphs and functions are more than %d deep in each other", ONNX_MOST_DEPTH);
    }
    if (onnx_op_failed(op)) {
        return;
    }
    gather_attributes(op, fn, &attrs);
    if (!onnx_op_failed(op) && formats_notes_count(r->notes) == notes) {
        fn->open = true;
        read_body(op, fn, &attrs);
        fn->open = false;
    }
    r->depth--;
}
