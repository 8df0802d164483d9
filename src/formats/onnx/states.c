/* states.c - what a model keeps between runs, which ONNX has no word for: an input with first contents, and an output that is
 * its next ones, paired by the model's metadata: burin.state.INPUT = OUTPUT (docs/ONNX.md).
 *
 * Takes the metadata and the graph that is being read. Gives states. A pair whose input or output is not there says nothing.
 */
#include "formats/onnx/states.h"

#include <string.h>

void onnx_note_state(onnx_reader *r, const ir_metadata *e) {
    static const size_t lead = sizeof ONNX_STATE_KEY - 1;
    bool is_new;
    if (strncmp(e->name, ONNX_STATE_KEY, lead) != 0) {
        return;
    }
    if (!r->state_next) {
        r->state_next = base_map_new(r->arena);
        r->next_states = base_map_new(r->arena);
    }
    const size_t n = e->size < 4096 ? e->size : 4096;
    const char *next = base_printf(r->arena, "%.*s", (int)n, (const char *)e->data);
    *base_map_put(r->state_next, e->name + lead, strlen(e->name + lead), &is_new) = (uint64_t)(uintptr_t)next;
}

void onnx_keep_state(onnx_reader *r, onnx_scope *scope, const char *name) {
    const uint64_t *pair = r->state_next ? base_map_get(r->state_next, name, strlen(name)) : NULL;
    const char *next = pair ? (const char *)(uintptr_t)*pair : NULL;
    bool is_new;
    const uint64_t *at = base_map_get(scope->names, name, strlen(name));
    const onnx_value *value = at ? (const onnx_value *)(uintptr_t)*at : NULL;
    ir_tensor *t = value && value->kind == ONNX_A_TENSOR && value->tensor != IR_NONE
                       ? &onnx_graph_of(r, scope)->tensors.at[value->tensor]
                       : NULL;
    if (!next || !t || !t->data || t->state != IR_NONE || ir_shape_open(&t->shape)) {
        return;
    }
    t->state = ir_state_add(r->m, name, t->type, &t->shape);
    r->m->states.at[t->state].data = t->data;
    t->data = NULL;
    (void)base_map_put(r->next_states, next, strlen(next), &is_new);
    *BASE_PUSH(r->arena, &r->states) = (onnx_state){.tensor = value->tensor, .next = next};
}

bool onnx_is_next_state(const onnx_reader *r, const char *name) {
    return r->next_states && base_map_get(r->next_states, name, strlen(name));
}

static uint32_t copy(onnx_reader *r, const onnx_scope *scope, uint32_t tensor, uint32_t state) {
    const ir_tensor from = onnx_graph_of(r, scope)->tensors.at[tensor];
    const uint32_t to =
        ir_tensor_add(r->m, onnx_graph_of(r, scope), state == IR_NONE ? "" : from.name, from.type, &from.shape);
    onnx_graph_of(r, scope)->tensors.at[to].state = state;
    ir_node_add(r->m, onnx_graph_of(r, scope), "identity", &tensor, 1, &to, 1, IR_NONE)->source_name = "Identity";
    return to;
}

void onnx_take_values(onnx_reader *r, const onnx_scope *scope, uint32_t *tensors, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (tensors[i] != IR_NONE && onnx_graph_of(r, scope)->tensors.at[tensors[i]].state != IR_NONE) {
            tensors[i] = copy(r, scope, tensors[i], IR_NONE);
        }
    }
}

/* All next contents are there before the first state changes. */
void onnx_change_states(onnx_reader *r, const wire_path *path, onnx_scope *scope) {
    uint32_t *values = BASE_NEWS(r->arena, uint32_t, r->states.n + 1);
    for (size_t i = 0; i < r->states.n; i++) {
        const onnx_state *s = &r->states.at[i];
        const onnx_value *value = onnx_find(r, scope, s->next);
        values[i] = IR_NONE;
        if (!value || value->kind != ONNX_A_TENSOR || value->tensor == IR_NONE) {
            continue;
        }
        const ir_tensor t = onnx_graph_of(r, scope)->tensors.at[value->tensor],
                        kept = onnx_graph_of(r, scope)->tensors.at[s->tensor];
        if (t.type == BASE_NONE) {
            continue;
        }
        if (t.type != kept.type || !ir_shape_same(&t.shape, &kept.shape)) {
            wire_pb_error(&r->pb, path, 0, "output \"%s\" is %s %s: the state that it is next to is %s %s",
                          base_printable(r->arena, s->next, strlen(s->next), 60), base_type_name(t.type),
                          ir_shape_print(r->arena, &t.shape), base_type_name(kept.type),
                          ir_shape_print(r->arena, &kept.shape));
            return;
        }
        if (value->tensor != s->tensor) {
            values[i] = t.state != IR_NONE ? copy(r, scope, value->tensor, IR_NONE) : value->tensor;
        }
    }
    for (size_t i = 0; i < r->states.n; i++) {
        if (values[i] != IR_NONE) {
            (void)copy(r, scope, values[i], onnx_graph_of(r, scope)->tensors.at[r->states.at[i].tensor].state);
        }
    }
}

void onnx_forget_state_keys(ir_model *m) {
    size_t n = 0;
    for (size_t i = 0; i < m->metadata.n; i++) {
        if (!m->states.n || strncmp(m->metadata.at[i].name, ONNX_STATE_KEY, sizeof ONNX_STATE_KEY - 1) != 0) {
            m->metadata.at[n++] = m->metadata.at[i];
        }
    }
    m->metadata.n = n;
}
