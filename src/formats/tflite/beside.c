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

typedef struct port_list {
    ir_port *at;
    size_t n;
} port_list;

/* false: a fault, or a tensor that `all` has no place for; one that only `kept` has none for is no port. */
static bool read_ports(tflite_reader *r, const wire_path *outer, const wire_table *signature, tflite_field f,
                       const tflite_entry *entry, const uint32_t *all, const uint32_t *kept, port_list *ports) {
    const size_t count = r->m->graphs.at[entry->graph].tensors.n;
    wire_vector maps = tflite_list(&r->fb, outer, signature, f);
    *ports = (port_list){.at = BASE_NEWS(r->arena, ir_port, maps.n + 1)};
    for (uint64_t i = 0; i < maps.n; i++) {
        wire_path path = {.outer = outer, .name = "tensor_map", .index = (int64_t)i};
        wire_table map = wire_fb_table_at(&r->fb, &path, &maps, i);
        const char *name = text_of(r, &path, &map, TFLITE_TensorMap_name);
        const int64_t tensor = tflite_int(&r->fb, &path, &map, TFLITE_TensorMap_tensor_index);
        if (wire_fb_failed(&r->fb) || tensor < 0 || (uint64_t)tensor >= count || all[tensor] == IR_NONE) {
            return false;
        }
        if (kept[tensor] != IR_NONE) {
            ports->at[ports->n++] = (ir_port){name, kept[tensor]};
        }
    }
    return true;
}

static uint32_t *no_places(const tflite_reader *r, const ir_graph *g) {
    uint32_t *place = BASE_NEWS(r->arena, uint32_t, g->tensors.n + 1);
    for (size_t t = 0; t < g->tensors.n; t++) {
        place[t] = IR_NONE;
    }
    return place;
}

static uint32_t *places_in(const tflite_reader *r, const ir_graph *g, const wire_vector *list) {
    uint32_t *place = no_places(r, g);
    for (uint64_t i = list->n; i-- > 0;) {
        place[wire_fb_i32_at(&r->fb, list, i)] = (uint32_t)i; /* in range: the graph was read */
    }
    return place;
}

static void make_places(tflite_reader *r, tflite_entry *e, const wire_vector *subgraphs) {
    const ir_graph *g = &r->m->graphs.at[e->graph];
    wire_path path = {.name = "subgraph", .index = e->subgraph};
    wire_table subgraph = wire_fb_table_at(&r->fb, &path, subgraphs, e->subgraph);
    wire_vector in = tflite_list(&r->fb, &path, &subgraph, TFLITE_SubGraph_inputs);
    wire_vector out = tflite_list(&r->fb, &path, &subgraph, TFLITE_SubGraph_outputs);
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    e->input = places_in(r, g, &in);
    e->output = e->kept = places_in(r, g, &out);
    if (r->cut) {
        e->kept = no_places(r, g);
        for (size_t i = g->outputs.n; i-- > 0;) {
            e->kept[g->outputs.at[i]] = (uint32_t)i;
        }
    }
}

/* The sub-graph as it was read as an entry; NULL: it was not. */
static tflite_entry *entry_of(tflite_reader *r, int64_t subgraph) {
    for (size_t i = 0; i < r->entries.n; i++) {
        if ((int64_t)r->entries.at[i].subgraph == subgraph) {
            return &r->entries.at[i];
        }
    }
    return NULL;
}

void tflite_read_entries(tflite_reader *r, const wire_table *model) {
    wire_vector list = tflite_list(&r->fb, NULL, model, TFLITE_Model_signature_defs);
    r->shapes = (formats_shapes){0}; /* they were meant for the first, as constants were */
    r->constant_count = 0;
    for (uint64_t i = 0; i < list.n && !wire_fb_failed(&r->fb); i++) {
        wire_path path = {.name = "signature_def", .index = (int64_t)i};
        wire_table table = wire_fb_table_at(&r->fb, &path, &list, i);
        int64_t index = tflite_int(&r->fb, &path, &table, TFLITE_SignatureDef_subgraph_index);
        if (!wire_fb_failed(&r->fb) && (uint64_t)index < r->subgraphs.n && !entry_of(r, index)) {
            tflite_call entry = {.subgraph = (uint32_t)index};
            tflite_read_subgraph(r, &entry);
            *BASE_PUSH(r->arena, &r->entries) = (tflite_entry){.subgraph = entry.subgraph, .graph = entry.graph};
        }
    }
}

static void read_signature(tflite_reader *r, const wire_path *path, const wire_table *signature,
                           const wire_vector *subgraphs) {
    const char *key = text_of(r, path, signature, TFLITE_SignatureDef_signature_key);
    int64_t index = tflite_int(&r->fb, path, signature, TFLITE_SignatureDef_subgraph_index);
    tflite_entry *e = wire_fb_failed(&r->fb) ? NULL : entry_of(r, index);
    if (!e) {
        return;
    }
    if (!e->input) {
        make_places(r, e, subgraphs);
    }
    port_list inputs, outputs;
    if (!wire_fb_failed(&r->fb) &&
        read_ports(r, path, signature, TFLITE_SignatureDef_inputs, e, e->input, e->input, &inputs) &&
        read_ports(r, path, signature, TFLITE_SignatureDef_outputs, e, e->output, e->kept, &outputs)) {
        if (!r->cut || outputs.n > 0) {
            ir_signature_add(r->m, key, e->graph, inputs.at, inputs.n, outputs.at, outputs.n);
        }
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
        r->asked = (int64_t)i;
        r->asked_table = table;
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

/* Names the tensors that are marked, and marks them as named. false: a fault, or a signature that does not fit. */
static bool take_names(tflite_reader *r, tflite_field f, const bool *is_port, bool *named) {
    const wire_path outer = {.name = "signature_def", .index = r->asked};
    wire_vector maps = tflite_list(&r->fb, &outer, &r->asked_table, f);
    for (uint64_t i = 0; i < maps.n; i++) {
        wire_path path = {.outer = &outer, .name = "tensor_map", .index = (int64_t)i};
        wire_table map = wire_fb_table_at(&r->fb, &path, &maps, i);
        const char *name = text_of(r, &path, &map, TFLITE_TensorMap_name);
        const int64_t tensor = tflite_int(&r->fb, &path, &map, TFLITE_TensorMap_tensor_index);
        if (wire_fb_failed(&r->fb) || tensor < 0 || (uint64_t)tensor >= r->tensor_count || !is_port[tensor]) {
            return false;
        }
        named[tensor] = true;
        r->g->tensors.at[tensor].name = *name ? name : r->g->tensors.at[tensor].name;
    }
    return maps.n > 0;
}

static bool *marks(const tflite_reader *r, const uint32_t *tensors, size_t n) {
    bool *marked = BASE_NEWS(r->arena, bool, r->tensor_count + 1);
    for (size_t i = 0; i < n; i++) {
        marked[tensors[i]] = true;
    }
    return marked;
}

void tflite_take_ports(tflite_reader *r) {
    ir_graph *g = r->g;
    bool *named = BASE_NEWS(r->arena, bool, r->tensor_count + 1);
    const bool fits = take_names(r, TFLITE_SignatureDef_outputs, marks(r, g->outputs.at, g->outputs.n), named);
    size_t kept = 0;
    for (size_t i = 0; i < g->outputs.n; i++) {
        if (named[g->outputs.at[i]] || !fits || r->output_count > 0) {
            g->outputs.at[kept++] = g->outputs.at[i];
        }
    }
    r->cut = r->cut || kept < g->outputs.n;
    g->outputs.n = kept;
    (void)take_names(r, TFLITE_SignatureDef_inputs, marks(r, g->inputs.at, g->inputs.n), named);
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
    const bool is_of_the_file = !strcmp(d.name, TFLITE_PLACES);
    if (!wire_fb_failed(&r->fb) && !is_of_the_file) {
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
