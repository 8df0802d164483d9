/* scopes.c - names: what a graph gives, what is visible from around it, and which operator sets are in use.
 *
 * Takes names of values. Gives tensors of the graph that reads them: a constant from around is one there too.
 */
#include "formats/onnx/reader.h"

#include <string.h>

onnx_scope onnx_scope_new(onnx_reader *r, onnx_scope *outer, uint32_t graph) {
    return (onnx_scope){.outer = outer,
                        .graph = graph,
                        .names = base_map_new(r->arena),
                        .reached = base_map_new(r->arena),
                        .imports = outer ? outer->imports : &r->imports,
                        .call = outer ? outer->call : NULL,
                        .id = outer && outer->graph == graph ? outer->id : IR_NONE};
}

ir_graph *onnx_graph_of(const onnx_reader *r, const onnx_scope *scope) {
    return &r->m->graphs.at[scope->graph];
}

static const onnx_value *value_in(const base_map *names, const char *name) {
    const uint64_t *at = base_map_get(names, name, strlen(name));
    return at ? (const onnx_value *)(uintptr_t)*at : NULL;
}

static bool put(onnx_reader *r, base_map *names, const char *name, onnx_value value) {
    bool is_new;
    uint64_t *at = base_map_put(names, name, strlen(name), &is_new);
    if (is_new) {
        onnx_value *v = BASE_NEW(r->arena, onnx_value);
        *v = value;
        *at = (uint64_t)(uintptr_t)v;
    }
    return is_new;
}

static uint32_t capture(onnx_reader *r, onnx_scope *scope, uint32_t outer) {
    const ir_tensor from = onnx_graph_of(r, scope->outer)->tensors.at[outer];
    const uint32_t inner = ir_tensor_add(r->m, onnx_graph_of(r, scope), from.name, from.type, &from.shape);
    ir_tensor *to = &onnx_graph_of(r, scope)->tensors.at[inner];
    *to = from;
    to->source = to->state = IR_NONE;
    if (!from.data && from.type != BASE_NONE) {
        *BASE_PUSH(r->arena, &scope->captures) = (onnx_capture){.outer = outer, .inner = inner};
        onnx_same_contents(r, scope->graph, inner, scope->outer->graph, outer);
    }
    return inner;
}

onnx_value onnx_reach(onnx_reader *r, onnx_scope *scope, const onnx_value *value) {
    onnx_value inner = *value;
    if (!scope->outer || scope->graph == scope->outer->graph) {
        return inner;
    }
    inner.tensor = value->tensor == IR_NONE ? IR_NONE : capture(r, scope, value->tensor);
    if (value->kind == ONNX_A_TENSOR) {
        return inner;
    }
    onnx_value *parts = BASE_NEWS(r->arena, onnx_value, value->n + 1);
    for (size_t i = 0; i < value->n; i++) {
        parts[i] = onnx_reach(r, scope, &value->at[i]);
    }
    inner.at = parts;
    return inner;
}

const onnx_value *onnx_find(onnx_reader *r, onnx_scope *scope, const char *name) {
    const onnx_value *own = value_in(scope->names, name);
    if (own || !scope->outer) {
        return own;
    }
    if (scope->graph == scope->outer->graph) {
        return onnx_find(r, scope->outer, name);
    }
    if (!value_in(scope->reached, name)) {
        const onnx_value *outer = onnx_find(r, scope->outer, name);
        if (!outer) {
            return NULL;
        }
        (void)put(r, scope->reached, name, onnx_reach(r, scope, outer));
    }
    return value_in(scope->reached, name);
}

onnx_value *onnx_own_value(const onnx_scope *scope, const char *name) {
    uint64_t *at = base_map_get(scope->names, name, strlen(name));
    return at ? (onnx_value *)(uintptr_t)*at : NULL;
}

bool onnx_define(onnx_reader *r, onnx_scope *scope, const char *name, onnx_value value) {
    return put(r, scope->names, name, value);
}

uint32_t onnx_new_tensor(onnx_reader *r, const onnx_scope *scope, const char *name) {
    const ir_shape scalar = {0};
    return ir_tensor_add(r->m, onnx_graph_of(r, scope), name, BASE_NONE, &scalar);
}

/* ---- operator sets ---- */

const char *onnx_domain(const char *domain) {
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

int64_t onnx_version_of(const onnx_imports *imports, const char *domain) {
    for (size_t i = 0; i < imports->n; i++) {
        if (strcmp(imports->at[i].domain, domain) == 0) {
            return imports->at[i].version;
        }
    }
    return 0;
}

/* A domain that was imported in another version before: the last one counts, as it does for ONNX Runtime. */
static void take_last(onnx_reader *r, const wire_path *path, uint64_t byte, onnx_imports *imports,
                      const onnx_import *last) {
    for (size_t i = 0; i < imports->n; i++) {
        onnx_import *one = &imports->at[i];
        if (strcmp(one->domain, last->domain) == 0) {
            const base_place place = {
                .file = r->file, .path = wire_path_print(r->arena, path), .byte = byte, .has_byte = true};
            base_warn(r->d, &place, "domain \"%s\" is imported in versions %lld and %lld: the last one holds",
                      base_printable(r->arena, one->domain, strlen(one->domain), 60), (long long)one->version,
                      (long long)last->version);
            one->version = last->version;
        }
    }
}

void onnx_read_import(onnx_reader *r, const wire_path *path, wire_message m, onnx_imports *out) {
    onnx_import import = {.domain = ""};
    uint64_t byte = m.at;
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        if (f.number == ONNX_OPSET_DOMAIN) {
            import.domain = onnx_domain(wire_pb_text(r->arena, &r->pb, path, &f));
        } else if (f.number == ONNX_OPSET_VERSION) {
            import.version = wire_pb_int(&r->pb, path, &f);
            byte = f.at;
        }
    }
    const bool standard = *import.domain == 0;
    const int64_t known = onnx_version_of(out, import.domain);
    if (!wire_pb_failed(&r->pb) && (import.version < 1 || (standard && import.version > ONNX_NEWEST_OPSET))) {
        wire_pb_error(&r->pb, path, byte, "version %lld of domain \"%s\": versions 1 to %d are read",
                      (long long)import.version, base_printable(r->arena, import.domain, strlen(import.domain), 60),
                      ONNX_NEWEST_OPSET);
    } else if (!known) {
        *BASE_PUSH(r->arena, out) = import;
    } else if (known !=
               import.version) { /* exporters do say the same twice, and a graph's versions beside older ones */
        take_last(r, path, byte, out, &import);
    }
}
