/* onnx.c - the ONNX format: reading a model file into a graph.
 *
 * Takes a file's bytes. Gives the graph, and those that its nodes hold, as verified graphs whose constants are borrowed from
 * the bytes. Structural faults end the reading with one line; what is valid but not supported is collected and listed whole.
 */
#include "formats/onnx/arrays.h"
#include "formats/onnx/metadata.h"
#include "formats/onnx/states.h"
#include "formats/onnx/writer.h"

#include <string.h>

/* ModelProto has no identifier. It begins with ir_version, a small number, or with a field that a writer put first. */
static bool recognise(const uint8_t *bytes, size_t n) {
    return n >= 4 && bytes[0] == (ONNX_MODEL_IR_VERSION << 3 | WIRE_PB_VARINT) && bytes[1] >= 1 && bytes[1] < 32 &&
           (bytes[2] & 7) == WIRE_PB_BYTES && bytes[2] >> 3 >= ONNX_MODEL_PRODUCER_NAME &&
           bytes[2] >> 3 <= ONNX_MODEL_METADATA;
}

static void read_version(onnx_reader *r, const wire_pb_field *f) {
    const wire_path path = {.name = "ir_version", .index = WIRE_NO_INDEX};
    r->ir_version = wire_pb_int(&r->pb, &path, f);
    if (!wire_pb_failed(&r->pb) && (r->ir_version < 1 || r->ir_version > ONNX_NEWEST_IR)) {
        wire_pb_error(&r->pb, &path, f->at, "it is %lld: versions 1 to %d are read", (long long)r->ir_version,
                      ONNX_NEWEST_IR);
    }
}

static void read_metadata(onnx_reader *r, const wire_path *path, wire_message m) {
    ir_metadata data = {.name = "", .data = ""};
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        if (f.number == ONNX_ENTRY_KEY) {
            data.name = wire_pb_text(r->arena, &r->pb, path, &f);
        } else if (f.number == ONNX_ENTRY_VALUE) {
            const base_bytes value = wire_pb_bytes(&r->pb, path, &f);
            data.data = value.at;
            data.size = value.size;
        }
    }
    data = onnx_metadata_from_text(r->arena, &data);
    if (strcmp(data.name, ONNX_PLACES) != 0) {
        *BASE_PUSH(r->arena, &r->m->metadata) = data;
    }
    onnx_note_state(r, &data);
}

/* What stands beside the graph, and *graph, which needs it read first. */
static void read_fields(onnx_reader *r, wire_pb_field *graph) {
    wire_message m = wire_pb_root(&r->pb);
    wire_pb_field f;
    size_t imports = 0, metadata = 0, functions = 0;
    while (wire_pb_next(&r->pb, NULL, &m, &f)) {
        wire_path path = {.name = "opset_import", .index = (int64_t)imports};
        switch (f.number) {
        case ONNX_MODEL_IR_VERSION:
            read_version(r, &f);
            break;
        case ONNX_MODEL_GRAPH:
            *graph = f;
            break;
        case ONNX_MODEL_FUNCTIONS:
            path = (wire_path){.name = "functions", .index = (int64_t)functions++};
            onnx_read_function(r, &path, wire_pb_message(&r->pb, &path, &f));
            break;
        case ONNX_MODEL_OPSET_IMPORT:
            imports++;
            onnx_read_import(r, &path, wire_pb_message(&r->pb, &path, &f), &r->imports);
            break;
        case ONNX_MODEL_METADATA:
            path = (wire_path){.name = "metadata_props", .index = (int64_t)metadata++};
            read_metadata(r, &path, wire_pb_message(&r->pb, &path, &f));
            break;
        case ONNX_MODEL_DOC_STRING:
            path = (wire_path){.name = "doc_string", .index = WIRE_NO_INDEX};
            r->m->description = wire_pb_text(r->arena, &r->pb, &path, &f);
            break;
        default:
            break;
        }
    }
}

static void read_model(onnx_reader *r) {
    wire_pb_field graph = {0};
    read_fields(r, &graph);
    if (wire_pb_failed(&r->pb)) {
        return;
    }
    if (!r->ir_version) {
        wire_pb_error(&r->pb, NULL, 0, "the model has no ir_version");
        return;
    }
    if (!graph.number) {
        wire_pb_error(&r->pb, NULL, 0, "the model has no graph");
        return;
    }
    if (!r->imports.n) { /* models of IR version 1 and 2 name none */
        *BASE_PUSH(r->arena, &r->imports) = (onnx_import){.domain = "", .version = 1};
        if (r->ir_version >= 3) {
            wire_pb_error(&r->pb, NULL, 0, "the model imports no operator set");
            return;
        }
    }
    ir_graph_add(r->m, "");
    const wire_path path = {.name = "graph", .index = WIRE_NO_INDEX};
    onnx_scope scope = onnx_scope_new(r, NULL, 0);
    onnx_read_graph(r, &path, wire_pb_message(&r->pb, &path, &graph), &scope);
}

/* For a look at a model that holds what is not supported: what nothing is known of is a scalar. */
static void settle_unknown(onnx_reader *r) {
    for (size_t i = 0; i < r->m->graphs.n; i++) {
        for (size_t k = 0; k < r->m->graphs.at[i].tensors.n; k++) {
            ir_tensor *t = &r->m->graphs.at[i].tensors.at[k];
            t->type = t->type == BASE_NONE ? BASE_F32 : t->type;
        }
    }
}

/* settled: what data decide in the run that the model is read for is constant. *open: only that could help. */
static base_status read_as(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                           bool settled, bool *open, ir_model **out, base_diags *d) {
    onnx_reader r = {.arena = arena, .file = formats_base_name(file), .d = d, .settled = settled};
    r.options = options ? *options : (formats_options){0};
    r.ops = r.options.ops ? r.options.ops : ops_registry_new(arena);
    r.m = ir_model_new(arena, "onnx", r.file);
    r.strings = r.m->strings = r.options.strings ? r.options.strings : base_strings_new(arena);
    r.notes = formats_notes_new(arena, r.file);
    r.functions = base_map_new(arena);
    *out = NULL;
    wire_pb_open(&r.pb, r.file, bytes, d);
    if (r.options.signature) {
        formats_no_signature(arena, r.file, r.options.signature, NULL, 0, d);
        return BASE_USAGE;
    }
    read_model(&r);
    const bool failed = wire_pb_failed(&r.pb);
    *open = !failed && r.options.content_count && formats_notes_count(r.notes);
    if (!failed) {
        formats_drop_constants(r.m, r.options.constants, r.options.constant_count);
        settle_unknown(&r);
    }
    if (formats_notes_report(r.notes, d) || failed || ir_verify(r.m, d)) {
        return r.usage ? BASE_USAGE : BASE_REFUSED;
    }
    if (r.options.drawn) {
        *r.options.drawn = r.drawn;
    }
    *out = r.m;
    return BASE_OK;
}

/* A model that is read for one run is read as for any, so that this run computes all that others would; and once more, settled,
 * where shapes follow from what is large, or from extents that data decide. */
static base_status read(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                        ir_model **out, base_diags *d) {
    const size_t n = d->list.n, errors = d->errors, warnings = d->warnings, dropped = d->dropped;
    bool open = false;
    const base_status status = read_as(arena, file, bytes, options, false, &open, out, d);
    if (status == BASE_OK || !open || options->keep_unsupported) {
        return status;
    }
    d->list.n = n;
    d->errors = errors;
    d->warnings = warnings;
    d->dropped = dropped;
    return read_as(arena, file, bytes, options, true, &open, out, d);
}

static const char *const extensions[] = {"onnx", NULL};

const formats_interface formats_onnx = {
    .name = "onnx",
    .description = "ONNX model",
    .extensions = extensions,
    .recognise = recognise,
    .read = read,
    .write = onnx_write,
    .says = onnx_says,
    .tensor_extension = "pb",
    .read_tensor = onnx_read_array,
    .write_tensor = onnx_write_array,
    .read_list = onnx_read_list,
    .write_list = onnx_write_list,
};
