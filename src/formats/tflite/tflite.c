/* tflite.c - the TFLite format: reading a model file into a graph.
 *
 * Takes a file's bytes. Gives the entry sub-graph (number 0) as a verified graph whose constants are borrowed from the
 * bytes. Structural faults end the reading with one line; what is valid but not supported is collected and listed
 * whole. Sub-graphs other than the entry are reached only through operators, and those are refused by name.
 */
#include "formats/tflite/writer.h"

#include <string.h>

enum { MOST_GROUPS = 16, MOST_PLACES = 24, SCHEMA_VERSION = 3 };
static const char identifier[] = "TFL3";

static bool recognise(const uint8_t *bytes, size_t n) {
    return n >= 8 && !memcmp(bytes + 4, identifier, 4);
}

/* ---- what is not supported ---- */

void tflite_unsupported(tflite_reader *r, const wire_path *path, uint64_t byte, const char *what, const char *remedy) {
    bool is_new;
    r->notes++;
    uint64_t *index = base_map_put(r->group_of, what, strlen(what), &is_new);
    if (is_new) {
        *index = r->groups.n;
        tflite_group *g = BASE_PUSH(r->arena, &r->groups);
        *g = (tflite_group){.what = what, .remedy = remedy, .first_byte = byte};
        g->first_path = wire_path_print(r->arena, path);
        g->places.arena = r->arena;
    }
    tflite_group *g = &r->groups.at[*index];
    if (g->count++ < MOST_PLACES) {
        base_put(&g->places, "%s%s[%lld]", g->count > 1 ? ", " : "", path->name, (long long)path->index);
    }
}

/* Operators that have a word but no definition yet. ops_check finds them in a model that is read; in one that is
 * refused for other reasons they are listed with these, so that nobody meets them one after the other. */
static void note_undefined(tflite_reader *r) {
    ops_registry *ops = tflite_definitions(r);
    const wire_path outer = {.name = "subgraph", .index = 0};
    for (size_t i = 0; i < r->g->nodes.n; i++) {
        const ir_node *n = &r->g->nodes.at[i];
        wire_path path = {.outer = &outer, .name = "operator", .index = n->ids[0], .note = n->source_name};
        if (!ops_has(ops, n->op)) {
            tflite_unsupported(r, &path, n->byte, base_printf(r->arena, "operator %s", n->source_name),
                               TFLITE_REMEDY_OPERATOR);
        }
    }
}

static base_status report_unsupported(tflite_reader *r) {
    if (r->groups.n) {
        note_undefined(r);
    }
    base_text rest = {.arena = r->arena};
    for (size_t i = 0; i < r->groups.n; i++) {
        const tflite_group *g = &r->groups.at[i];
        if (i >= MOST_GROUPS) {
            base_put(&rest, "%s%s (%s)", i > MOST_GROUPS ? "; " : "", g->what, g->places.at);
            continue;
        }
        base_text places = {.arena = r->arena};
        if (g->count > 1) {
            base_put(&places, ", %zu times: %s", g->count, g->places.at);
        }
        if (g->count > MOST_PLACES) {
            base_puts(&places, "...");
        }
        base_place place = {.file = r->file, .path = g->first_path, .byte = g->first_byte, .has_byte = true};
        base_error(r->d, &place, "%s is not supported%s; %s", g->what, g->count > 1 ? places.at : "", g->remedy);
    }
    if (rest.n) {
        base_place place = {.file = r->file};
        base_error(r->d, &place, "not supported either: %s", rest.at);
    }
    return r->groups.n ? BASE_REFUSED : BASE_OK;
}

/* ---- the file ---- */

uint32_t *tflite_read_indices(tflite_reader *r, const wire_path *path, const wire_table *t, tflite_field f,
                              bool may_be_absent, size_t *n) {
    wire_vector v = tflite_list(&r->fb, path, t, f);
    uint32_t *list = BASE_NEWS(r->arena, uint32_t, v.n + 1);
    for (uint64_t i = 0; i < v.n; i++) {
        int32_t index = wire_fb_i32_at(&r->fb, &v, i);
        bool absent = may_be_absent && index == -1;
        if (!absent && (index < 0 || (uint64_t)index >= r->g->tensors.n)) {
            tflite_error(&r->fb, path, t, f, "[%llu] is tensor %ld: the sub-graph has %zu", (unsigned long long)i,
                         (long)index, r->g->tensors.n);
            break;
        }
        list[i] = absent ? IR_NONE : (uint32_t)index;
    }
    *n = wire_fb_failed(&r->fb) ? 0 : v.n;
    return list;
}

/* A constant of no elements has no bytes to be known by: it is one if nothing else gives the tensor contents. */
static void settle_empty_constants(tflite_reader *r) {
    ir_graph *g = r->g;
    bool *given = BASE_NEWS(r->arena, bool, g->tensors.n + 1);
    for (size_t i = 0; i < g->inputs.n; i++) {
        given[g->inputs.at[i]] = true;
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        for (size_t k = 0; k < g->nodes.at[i].output_count; k++) {
            given[g->nodes.at[i].outputs[k]] = true;
        }
    }
    for (size_t i = 0; i < g->tensors.n; i++) {
        ir_tensor *t = &g->tensors.at[i];
        uint64_t bytes;
        if (!given[i] && !t->data && t->state == IR_NONE && ir_tensor_bytes(t, &bytes) && !bytes) {
            t->data = "";
        }
    }
}

/* What a variable tensor begins with: its buffer, else zeros; of int8 the zero point, in every byte (both runtimes). */
static const void *first_contents(tflite_reader *r, const ir_tensor *t) {
    uint64_t bytes = 0;
    if (t->data || t->type != BASE_I8 || t->quant.n != 1 || !t->quant.zero[0] || !ir_tensor_bytes(t, &bytes)) {
        return t->data;
    }
    int8_t *data = BASE_NEWS(r->arena, int8_t, (size_t)bytes + 1);
    memset(data, (int)t->quant.zero[0], (size_t)bytes);
    return data;
}

/* Variable tensors are states, but an input of the sub-graph: that is what the caller says before each run. */
static void make_states(tflite_reader *r) {
    ir_graph *g = r->g;
    for (size_t i = 0; i < g->inputs.n; i++) {
        r->is_variable[g->inputs.at[i]] = false;
    }
    for (size_t i = 0; i < g->tensors.n; i++) {
        ir_tensor *t = &g->tensors.at[i];
        if (r->is_variable[i] && t->type != BASE_NONE && !r->bad_shape[i]) {
            t->state = ir_state_add(r->m, t->name, t->type, &t->shape);
            r->m->states.at[t->state].quant = t->quant;
            r->m->states.at[t->state].data = first_contents(r, t);
            t->data = NULL;
        }
    }
}

/* A state that is an output of the sub-graph: its contents at the end are. */
static void read_states_at_end(tflite_reader *r) {
    ir_graph *g = r->g;
    for (size_t i = 0; i < g->outputs.n; i++) {
        uint32_t from = g->outputs.at[i];
        if (g->tensors.at[from].state != IR_NONE) {
            ir_tensor t = g->tensors.at[from];
            uint32_t to = ir_tensor_add(r->m, g, t.name, t.type, &t.shape);
            g->tensors.at[to].quant = t.quant;
            ir_node_add(r->m, g, "identity", &from, 1, &to, 1, IR_NONE);
            g->outputs.at[i] = to;
        }
    }
}

/* Nothing uses what still has no shape. */
static void drop_unfinished(tflite_reader *r) {
    for (size_t i = 0; i < r->tensor_count; i++) {
        if (r->bad_shape[i]) {
            r->g->tensors.at[i].shape = (ir_shape){0};
            r->g->tensors.at[i].quant = (ir_quant){0};
        }
    }
}

static void read_subgraph(tflite_reader *r, const wire_path *path, const wire_table *subgraph) {
    base_bytes name = tflite_bytes(&r->fb, path, subgraph, TFLITE_SubGraph_name);
    r->g = ir_graph_add(r->m, name.at ? base_strndup(r->arena, (const char *)name.at, name.size) : "");
    tflite_read_tensors(r, path, subgraph);
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    static const tflite_field lists[] = {TFLITE_SubGraph_inputs, TFLITE_SubGraph_outputs};
    for (size_t k = 0; k < 2; k++) {
        size_t n;
        uint32_t *indices = tflite_read_indices(r, path, subgraph, lists[k], false, &n);
        for (size_t i = 0; i < n; i++) {
            *(k ? BASE_PUSH(r->arena, &r->g->outputs) : BASE_PUSH(r->arena, &r->g->inputs)) = indices[i];
        }
    }
    if (!wire_fb_failed(&r->fb)) {
        tflite_set_inputs(r, path);
    }
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    make_states(r);
    tflite_read_operators(r, path, subgraph);
    for (size_t i = 0; i < r->g->outputs.n && !wire_fb_failed(&r->fb) && !r->groups.n && !r->keep_unsupported; i++) {
        (void)tflite_is_settled(r, path, r->g->outputs.at[i]);
    }
    if (!wire_fb_failed(&r->fb)) {
        drop_unfinished(r);
        read_states_at_end(r);
        settle_empty_constants(r);
    }
}

/* Old converters wrote no identifier: other bytes of the file stand in its place. Four characters there are a wrong
 * one. */
static bool has_identifier(base_bytes bytes) {
    for (size_t i = 4; i < 8 && i < bytes.size; i++) {
        if (bytes.at[i] < 0x20 || bytes.at[i] >= 0x7f) {
            return false;
        }
    }
    return true;
}

static void read_model(tflite_reader *r) {
    bool identified = has_identifier(r->bytes);
    if (!identified && r->bytes.size >= 8) {
        base_place place = {.file = r->file, .byte = 4, .has_byte = true};
        base_warn(r->d, &place, "there is no file identifier \"%s\": read as from an old converter", identifier);
    }
    wire_table model = wire_fb_root(&r->fb, identified ? identifier : NULL);
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    int64_t version = tflite_int(&r->fb, NULL, &model, TFLITE_Model_version);
    if (version != SCHEMA_VERSION) {
        tflite_error(&r->fb, NULL, &model, TFLITE_Model_version, "schema version %lld: version %d is read",
                     (long long)version, SCHEMA_VERSION);
    }
    r->codes = tflite_list(&r->fb, NULL, &model, TFLITE_Model_operator_codes);
    r->buffers = tflite_list(&r->fb, NULL, &model, TFLITE_Model_buffers);
    wire_vector subgraphs = tflite_list(&r->fb, NULL, &model, TFLITE_Model_subgraphs);
    if (!subgraphs.n) {
        tflite_error(&r->fb, NULL, &model, TFLITE_Model_subgraphs, "the model has no sub-graph");
        return;
    }
    wire_path path = {.name = "subgraph", .index = 0};
    wire_table subgraph = wire_fb_table_at(&r->fb, &path, &subgraphs, 0);
    if (!wire_fb_failed(&r->fb)) {
        read_subgraph(r, &path, &subgraph);
    }
    if (!wire_fb_failed(&r->fb)) {
        tflite_read_beside(r, &model, &subgraphs);
    }
}

static base_status read(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                        ir_model **out, base_diags *d) {
    tflite_reader r = {.arena = arena, .file = formats_base_name(file), .bytes = bytes, .d = d};
    if (options) {
        r.keep_unsupported = options->keep_unsupported;
        r.shapes = options->shapes;
        r.ops = options->ops;
    }
    r.m = ir_model_new(arena, "tflite", r.file);
    r.group_of = base_map_new(arena);
    *out = NULL;
    wire_fb_open(&r.fb, r.file, bytes, d);
    read_model(&r);
    bool failed = wire_fb_failed(&r.fb);
    if (report_unsupported(&r) || failed || ir_verify(r.m, d)) {
        return r.usage ? BASE_USAGE : BASE_REFUSED;
    }
    *out = r.m;
    return BASE_OK;
}

static const char *const extensions[] = {"tflite", "lite", NULL};

const formats_interface formats_tflite = {
    .name = "tflite",
    .description = "TensorFlow Lite model",
    .extensions = extensions,
    .recognise = recognise,
    .read = read,
    .write = tflite_write,
};
