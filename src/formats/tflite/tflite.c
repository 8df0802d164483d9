/* tflite.c - the TFLite format: reading a model file into a graph.
 *
 * Takes a file's bytes. Gives the entry sub-graph (number 0, or the one that a signature names) and those that its
 * operators call as verified graphs whose constants are borrowed from the bytes. Structural faults end the reading with
 * one line; what is valid but not supported is collected and listed whole.
 */
#include "formats/tflite/writer.h"

#include <string.h>

enum { SCHEMA_VERSION = 3 };
static const char identifier[] = "TFL3";

static bool recognise(const uint8_t *bytes, size_t n) {
    return n >= 8 && !memcmp(bytes + 4, identifier, 4);
}

/* ---- what is not supported ---- */

void tflite_unsupported(tflite_reader *r, const wire_path *path, uint64_t byte, const char *what, const char *remedy) {
    formats_note(r->notes, path, byte, what, remedy);
}

/* Operators that have a word but no definition yet. ops_check finds them in a model that is read; in one that is
 * refused for other reasons they are listed with these, so that nobody meets them one after the other. */
static void note_undefined(tflite_reader *r, const ir_graph *g) {
    ops_registry *ops = tflite_definitions(r);
    const wire_path outer = {.name = "subgraph", .index = g->index};
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        wire_path path = {.outer = &outer, .name = "operator", .note = n->source_name};
        path.index = n->id_count ? n->ids[0] : 0;
        if (ir_control_of(n) == IR_PLAIN && !ops_has(ops, n->op)) {
            tflite_unsupported(r, &path, n->byte, base_printf(r->arena, "operator %s", n->source_name),
                               TFLITE_REMEDY_OPERATOR);
        }
    }
}

static base_status report_unsupported(tflite_reader *r) {
    for (size_t i = 0; i < r->m->graphs.n && formats_notes_count(r->notes); i++) {
        note_undefined(r, &r->m->graphs.at[i]);
    }
    return formats_notes_report(r->notes, r->d);
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

/* Nothing uses what still has no shape, or is only a handle. */
static void drop_unfinished(tflite_reader *r) {
    for (size_t i = 0; i < r->tensor_count; i++) {
        if (r->is_resource[i]) {
            r->g->tensors.at[i].type = BASE_BOOL;
        }
        if (r->bad_shape[i] || r->is_resource[i]) {
            r->g->tensors.at[i].shape = (ir_shape){0};
            r->g->tensors.at[i].quant = (ir_quant){0};
        }
    }
}

/* ---- sub-graphs ---- */

/* What the caller knows of the arguments: their shapes, contents, and what handles they are. */
static void set_arguments(tflite_reader *r, const wire_path *path, const wire_table *subgraph) {
    const tflite_call *call = r->call;
    ir_graph *g = r->g;
    if (g->inputs.n != call->count) {
        tflite_error(&r->fb, path, subgraph, TFLITE_SubGraph_inputs, "%zu inputs: its caller gives %zu", g->inputs.n,
                     call->count);
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < call->count; i++) {
        const tflite_argument *a = &call->arguments[i];
        const uint32_t index = g->inputs.at[i];
        ir_tensor *t = &g->tensors.at[index];
        bool is_handle = a->variable != IR_NONE;
        if (is_handle != r->is_resource[index] || (!is_handle && a->known.type != t->type)) {
            tflite_error(&r->fb, path, subgraph, TFLITE_SubGraph_inputs,
                         "[%zu] has another type than what its caller gives", i);
            return;
        }
        if (is_handle) {
            r->handle[index] = a->variable;
            continue;
        }
        r->open[index] = 0;
        r->unsettled[index] = false;
        r->changed[index] = r->bad_shape[index] || !ir_shape_same(&t->shape, &a->known.shape);
        r->bad_shape[index] = 0;
        t->shape = a->known.shape;
        if (a->constant) {
            t->data = a->known.data;
            r->derived[index] = true;
        } else {
            g->inputs.at[kept++] = index;
        }
    }
    g->inputs.n = kept;
}

/* Tells the call what the graph gives, and leaves out what is no value or not wanted. */
static void settle_outputs(tflite_reader *r, tflite_call *call) {
    ir_graph *g = r->g;
    size_t kept = 0;
    call->output_count = g->outputs.n;
    call->outputs = BASE_NEWS(r->arena, ir_tensor, g->outputs.n + 1);
    call->output_tensor = BASE_NEWS(r->arena, uint32_t, g->outputs.n + 1);
    call->output_variable = BASE_NEWS(r->arena, uint32_t, g->outputs.n + 1);
    for (size_t i = 0; i < call->output_count; i++) {
        const uint32_t index = g->outputs.at[i];
        call->outputs[i] = g->tensors.at[index];
        call->output_tensor[i] = index;
        call->output_variable[i] = index < r->tensor_count ? r->handle[index] : IR_NONE;
        if (call->output_variable[i] == IR_NONE && !(call->drop && call->drop[i])) {
            g->outputs.at[kept++] = index;
        }
    }
    g->outputs.n = kept;
}

static void read_lists(tflite_reader *r, const wire_path *path, const wire_table *subgraph) {
    static const tflite_field lists[] = {TFLITE_SubGraph_inputs, TFLITE_SubGraph_outputs};
    for (size_t k = 0; k < 2; k++) {
        size_t n;
        uint32_t *indices = tflite_read_indices(r, path, subgraph, lists[k], false, &n);
        for (size_t i = 0; i < n; i++) {
            *(k ? BASE_PUSH(r->arena, &r->g->outputs) : BASE_PUSH(r->arena, &r->g->inputs)) = indices[i];
        }
    }
}

/* An output of that name, or any tensor; tensor_count: none. */
static uint32_t tensor_called(const tflite_reader *r, const char *name) {
    uint32_t t = 0;
    for (size_t i = 0; i < r->g->outputs.n; i++) {
        if (strcmp(r->g->tensors.at[r->g->outputs.at[i]].name, name) == 0) {
            return r->g->outputs.at[i];
        }
    }
    while (t < r->tensor_count && strcmp(r->g->tensors.at[t].name, name) != 0) {
        t++;
    }
    return t;
}

/* The outputs that were asked for, where all are names of tensors; formats_read knows the other names, and says which there
 * are none of. */
static void choose_outputs(tflite_reader *r) {
    uint32_t *outputs = BASE_NEWS(r->arena, uint32_t, r->output_count + 1);
    for (size_t i = 0; i < r->output_count; i++) {
        outputs[i] = tensor_called(r, r->outputs[i]);
        if (outputs[i] == r->tensor_count) {
            return;
        }
    }
    r->cut = r->cut || r->output_count > 0;
    r->g->outputs.n = r->output_count > 0 ? 0 : r->g->outputs.n;
    for (size_t i = 0; i < r->output_count; i++) {
        *BASE_PUSH(r->arena, &r->g->outputs) = outputs[i];
    }
}

/* An entry takes and gives values. */
static void refuse_resources(tflite_reader *r, const wire_path *path, const wire_table *subgraph) {
    for (size_t i = 0; i < r->g->inputs.n + r->g->outputs.n; i++) {
        bool in = i < r->g->inputs.n;
        uint32_t index = in ? r->g->inputs.at[i] : r->g->outputs.at[i - r->g->inputs.n];
        if (r->is_resource[index]) {
            tflite_unsupported(r, path, subgraph->at, "a resource as input or output of the model",
                               "keep variables inside of the model");
        }
    }
}

static void read_body(tflite_reader *r, const wire_path *path, const wire_table *subgraph, tflite_call *call) {
    base_bytes name = tflite_bytes(&r->fb, path, subgraph, TFLITE_SubGraph_name);
    r->g = ir_graph_add(r->m, name.at ? base_strndup(r->arena, (const char *)name.at, name.size) : "");
    r->g->index = call->subgraph;
    call->graph = (uint32_t)(r->m->graphs.n - 1);
    tflite_read_tensors(r, path, subgraph);
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    read_lists(r, path, subgraph);
    if (!wire_fb_failed(&r->fb) && !call->outer && r->signature) {
        tflite_take_ports(r);
    }
    if (!wire_fb_failed(&r->fb) && !call->outer) {
        choose_outputs(r);
    }
    if (!wire_fb_failed(&r->fb) && call->outer) {
        set_arguments(r, path, subgraph);
    } else if (!wire_fb_failed(&r->fb)) {
        refuse_resources(r, path, subgraph);
        tflite_set_inputs(r, path);
    }
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    tflite_make_states(r);
    tflite_read_operators(r, path, subgraph);
    for (size_t i = 0;
         i < r->g->outputs.n && !wire_fb_failed(&r->fb) && !formats_notes_count(r->notes) && !r->keep_unsupported;
         i++) {
        (void)tflite_is_settled(r, path, r->g->outputs.at[i]);
    }
    if (!wire_fb_failed(&r->fb)) {
        drop_unfinished(r);
        read_states_at_end(r);
        settle_empty_constants(r);
        settle_outputs(r, call);
    }
}

void tflite_read_subgraph(tflite_reader *r, tflite_call *call) {
    enum { MOST_CALLS = 32 };
    static const uint64_t most_elements = (uint64_t)1 << 18, most_bytes = (uint64_t)1 << 28;
    /* In proportion to the file: memory is. */
    const uint64_t wanted = 4096 + r->bytes.size / 2, most_size = wanted < most_elements ? wanted : most_elements;
    const tflite_reader at = *r;
    const size_t graph = r->g ? (size_t)(r->g - r->m->graphs.at) : 0;
    wire_path path = {.name = "subgraph", .index = call->subgraph};
    wire_table subgraph = wire_fb_table_at(&r->fb, &path, &r->subgraphs, call->subgraph);
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    for (const tflite_call *c = call->outer; c; c = c->outer) {
        if (c->subgraph == call->subgraph) {
            wire_fb_error(&r->fb, &path, subgraph.at, "the sub-graph calls itself: recursion has no bound");
            return;
        }
    }
    wire_vector tensors = tflite_list(&r->fb, &path, &subgraph, TFLITE_SubGraph_tensors);
    wire_vector operators = tflite_list(&r->fb, &path, &subgraph, TFLITE_SubGraph_operators);
    r->size += call->outer ? tensors.n + operators.n + 1 : 0;
    if (r->depth == MOST_CALLS || r->size > most_size || r->visited > most_bytes) {
        wire_fb_error(&r->fb, &path, subgraph.at,
                      r->depth == MOST_CALLS
                          ? "sub-graphs call each other more than %llu deep"
                          : "the sub-graphs, each call for itself, have more than %llu tensors and operators",
                      r->depth == MOST_CALLS ? (unsigned long long)MOST_CALLS : (unsigned long long)most_size);
        return;
    }
    r->depth++;
    r->call = call;
    r->fb.budget = call->outer ? r->budget : r->fb.budget;
    read_body(r, &path, &subgraph, call);
    if (call->outer) {
        r->visited += r->budget - r->fb.budget;
        r->fb.budget = at.fb.budget;
    }
    r->depth = at.depth;
    r->call = at.call;
    if (at.g) {
        r->g = &r->m->graphs.at[graph];
        r->bad_shape = at.bad_shape;
        r->tensor_count = at.tensor_count;
        r->open = at.open;
        r->unsettled = at.unsettled;
        r->changed = at.changed;
        r->derived = at.derived;
        r->elements = at.elements;
        r->blocks = at.blocks;
        r->real_quant = at.real_quant;
        r->is_variable = at.is_variable;
        r->is_complex = at.is_complex;
        r->is_resource = at.is_resource;
        r->handle = at.handle;
        r->doubts = at.doubts;
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
    r->subgraphs = tflite_list(&r->fb, NULL, &model, TFLITE_Model_subgraphs);
    if (!r->subgraphs.n) {
        tflite_error(&r->fb, NULL, &model, TFLITE_Model_subgraphs, "the model has no sub-graph");
        return;
    }
    r->initialised = BASE_NEWS(r->arena, bool, r->subgraphs.n);
    tflite_call entry = {.subgraph = r->signature ? tflite_subgraph_of(r, &model) : 0};
    if (!wire_fb_failed(&r->fb)) {
        tflite_read_subgraph(r, &entry);
        *BASE_PUSH(r->arena, &r->entries) = (tflite_entry){.subgraph = entry.subgraph, .graph = entry.graph};
    }
    if (!wire_fb_failed(&r->fb) && r->every_signature) {
        tflite_read_entries(r, &model);
    }
    if (!wire_fb_failed(&r->fb)) {
        tflite_read_beside(r, &model, &r->subgraphs);
    }
}

static base_status read(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                        ir_model **out, base_diags *d) {
    tflite_reader r = {.arena = arena, .file = formats_base_name(file), .bytes = bytes, .d = d};
    if (options) {
        r.keep_unsupported = options->keep_unsupported;
        r.shapes = options->shapes;
        r.ops = options->ops;
        r.litert = options->numerics && !strcmp(options->numerics, "litert");
        r.signature = options->signature;
        r.outputs = options->outputs;
        r.output_count = options->output_count;
        r.constants = options->constants;
        r.constant_count = options->constant_count;
        r.every_signature = options->every_signature && !options->signature && !options->output_count;
    }
    r.m = ir_model_new(arena, "tflite", r.file);
    r.notes = formats_notes_new(arena, r.file);
    r.variable_of = base_map_new(arena);
    *out = NULL;
    wire_fb_open(&r.fb, r.file, bytes, d);
    r.budget = r.fb.budget;
    read_model(&r);
    bool failed = wire_fb_failed(&r.fb);
    if (!failed) {
        formats_drop_constants(r.m, r.constants, r.constant_count);
    }
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
    .says = tflite_says,
    .memory = tflite_memory,
};
