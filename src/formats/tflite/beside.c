/* beside.c - what stands beside the sub-graphs of a file: description, signatures, metadata.
 *
 * Takes untrusted tables, after the graphs. Gives them to the model as they are, so that they can be written again.
 * A signature that does not fit its sub-graph is left out, with a warning: nothing is computed by it.
 */
#include "formats/tflite/reader.h"

#include <string.h>

static const char *text_of(tflite_reader *r, const wire_path *path, const wire_table *t, tflite_field f) {
    base_bytes s = tflite_bytes(&r->fb, path, t, f);
    return s.at ? base_strndup(r->arena, (const char *)s.at, s.size) : "";
}

static void leave_out(tflite_reader *r, const wire_path *path, const wire_table *t, const char *why) {
    base_place place = {.file = r->file, .path = wire_path_print(r->arena, path), .byte = t->at, .has_byte = true};
    base_warn(r->d, &place, "%s: it is left out", why);
}

/* ---- signatures ---- */

/* Which input or output of the sub-graph a tensor is; IR_NONE: none. */
static uint32_t place_in(const tflite_reader *r, const wire_vector *list, int64_t tensor) {
    for (uint64_t i = 0; i < list->n; i++) {
        if (wire_fb_i32_at(&r->fb, list, i) == tensor) {
            return (uint32_t)i;
        }
    }
    return IR_NONE;
}

typedef struct port_list {
    ir_port *at;
    size_t n;
} port_list;

/* false: a fault, or a tensor that is none of the sub-graph's list. */
static bool read_ports(tflite_reader *r, const wire_path *outer, const wire_table *signature, tflite_field f,
                       const wire_vector *list, port_list *ports) {
    wire_vector maps = tflite_list(&r->fb, outer, signature, f);
    ports->at = BASE_NEWS(r->arena, ir_port, maps.n + 1);
    ports->n = (size_t)maps.n;
    for (uint64_t i = 0; i < maps.n; i++) {
        wire_path path = {.outer = outer, .name = "tensor_map", .index = (int64_t)i};
        wire_table map = wire_fb_table_at(&r->fb, &path, &maps, i);
        const char *name = text_of(r, &path, &map, TFLITE_TensorMap_name);
        uint32_t at = place_in(r, list, tflite_int(&r->fb, &path, &map, TFLITE_TensorMap_tensor_index));
        if (wire_fb_failed(&r->fb) || at == IR_NONE) {
            return false;
        }
        ports->at[i] = (ir_port){name, at};
    }
    return true;
}

/* Outputs by their places among those that were asked for; the others have none. */
static void move_ports(const tflite_reader *r, const wire_vector *list, port_list *ports) {
    const ir_graph *g = &r->m->graphs.at[0];
    size_t kept = 0;
    for (size_t i = 0; i < ports->n; i++) {
        uint32_t tensor = (uint32_t)wire_fb_i32_at(&r->fb, list, ports->at[i].at), at = 0;
        while (at < g->outputs.n && g->outputs.at[at] != tensor) {
            at++;
        }
        if (at < g->outputs.n) {
            ports->at[kept++] = (ir_port){ports->at[i].name, at};
        }
    }
    ports->n = kept;
}

/* The graph whose inputs and outputs are those of the sub-graph; IR_NONE: it was not read as an entry. */
static uint32_t graph_of(const tflite_reader *r, int64_t subgraph) {
    for (size_t i = 0; i < r->entries.n; i++) {
        if ((int64_t)r->entries.at[i].subgraph == subgraph) {
            return r->entries.at[i].graph;
        }
    }
    return IR_NONE;
}

void tflite_read_entries(tflite_reader *r, const wire_table *model) {
    wire_vector list = tflite_list(&r->fb, NULL, model, TFLITE_Model_signature_defs);
    r->shapes = (formats_shapes){0}; /* they were meant for the first, as constants were */
    r->constant_count = 0;
    for (uint64_t i = 0; i < list.n && !wire_fb_failed(&r->fb); i++) {
        wire_path path = {.name = "signature_def", .index = (int64_t)i};
        wire_table table = wire_fb_table_at(&r->fb, &path, &list, i);
        int64_t index = tflite_int(&r->fb, &path, &table, TFLITE_SignatureDef_subgraph_index);
        if (!wire_fb_failed(&r->fb) && (uint64_t)index < r->subgraphs.n && graph_of(r, index) == IR_NONE) {
            tflite_call entry = {.subgraph = (uint32_t)index};
            tflite_read_subgraph(r, &entry);
            *BASE_PUSH(r->arena, &r->entries) = (tflite_entry){entry.subgraph, entry.graph};
        }
    }
}

static void read_signature(tflite_reader *r, const wire_path *path, const wire_table *signature,
                           const wire_vector *subgraphs) {
    const char *key = text_of(r, path, signature, TFLITE_SignatureDef_signature_key);
    int64_t index = tflite_int(&r->fb, path, signature, TFLITE_SignatureDef_subgraph_index);
    uint32_t graph = graph_of(r, index);
    if (wire_fb_failed(&r->fb) || graph == IR_NONE) {
        return;
    }
    wire_path subgraph_path = {.name = "subgraph", .index = index};
    wire_table subgraph = wire_fb_table_at(&r->fb, &subgraph_path, subgraphs, (uint64_t)index);
    wire_vector in = tflite_list(&r->fb, &subgraph_path, &subgraph, TFLITE_SubGraph_inputs);
    wire_vector out = tflite_list(&r->fb, &subgraph_path, &subgraph, TFLITE_SubGraph_outputs);
    port_list inputs, outputs;
    if (read_ports(r, path, signature, TFLITE_SignatureDef_inputs, &in, &inputs) &&
        read_ports(r, path, signature, TFLITE_SignatureDef_outputs, &out, &outputs)) {
        if (r->cut) {
            move_ports(r, &out, &outputs);
        }
        ir_signature_add(r->m, key, graph, inputs.at, inputs.n, outputs.at, outputs.n);
    } else if (!wire_fb_failed(&r->fb)) {
        leave_out(r, path, signature, "it names tensors that are no inputs and outputs of its sub-graph");
    }
}

uint32_t tflite_subgraph_of(tflite_reader *r, const wire_table *model) {
    wire_vector list = tflite_list(&r->fb, NULL, model, TFLITE_Model_signature_defs);
    const char **names = BASE_NEWS(r->arena, const char *, list.n + 1);
    for (uint64_t i = 0; i < list.n && !wire_fb_failed(&r->fb); i++) {
        wire_path path = {.name = "signature_def", .index = (int64_t)i};
        wire_table table = wire_fb_table_at(&r->fb, &path, &list, i);
        names[i] = text_of(r, &path, &table, TFLITE_SignatureDef_signature_key);
        if (wire_fb_failed(&r->fb) || strcmp(names[i], r->signature) != 0) {
            continue;
        }
        int64_t index = tflite_int(&r->fb, &path, &table, TFLITE_SignatureDef_subgraph_index);
        if (!wire_fb_failed(&r->fb) && (uint64_t)index >= r->subgraphs.n) {
            tflite_error(&r->fb, &path, &table, TFLITE_SignatureDef_subgraph_index,
                         "it is %lld: the model has %llu sub-graphs", (long long)index,
                         (unsigned long long)r->subgraphs.n);
        }
        return (uint32_t)index;
    }
    if (!wire_fb_failed(&r->fb)) {
        formats_no_signature(r->arena, r->file, r->signature, names, (size_t)list.n, r->d);
        r->usage = true;
        r->fb.failed = true;
    }
    return 0;
}

/* ---- metadata ---- */

static void read_metadata(tflite_reader *r, const wire_path *path, const wire_table *table) {
    ir_metadata d = {.name = text_of(r, path, table, TFLITE_Metadata_name)};
    int64_t index = tflite_int(&r->fb, path, table, TFLITE_Metadata_buffer);
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    if ((uint64_t)index >= r->buffers.n) {
        leave_out(r, path, table, base_printf(r->arena, "there is no buffer %lld", (long long)index));
        return;
    }
    base_bytes bytes = tflite_read_buffer(r, (uint64_t)index);
    d.data = bytes.at ? (const void *)bytes.at : "";
    d.size = bytes.size;
    if (!wire_fb_failed(&r->fb)) {
        *BASE_PUSH(r->arena, &r->m->metadata) = d;
    }
}

void tflite_read_beside(tflite_reader *r, const wire_table *model, const wire_vector *subgraphs) {
    r->m->description = text_of(r, NULL, model, TFLITE_Model_description);
    wire_vector list = tflite_list(&r->fb, NULL, model, TFLITE_Model_signature_defs);
    for (uint64_t i = 0; i < list.n && !wire_fb_failed(&r->fb); i++) {
        wire_path path = {.name = "signature_def", .index = (int64_t)i};
        wire_table table = wire_fb_table_at(&r->fb, &path, &list, i);
        read_signature(r, &path, &table, subgraphs);
    }
    list = tflite_list(&r->fb, NULL, model, TFLITE_Model_metadata);
    for (uint64_t i = 0; i < list.n && !wire_fb_failed(&r->fb); i++) {
        wire_path path = {.name = "metadata", .index = (int64_t)i};
        wire_table table = wire_fb_table_at(&r->fb, &path, &list, i);
        read_metadata(r, &path, &table);
    }
}
