/* write.c - the ONNX format: writing a graph as a model file.
 *
 * Takes a verified model. Gives the bytes of a ModelProto, or lists every node and tensor that ONNX has no words for. Names
 * are the graph's, made unique; integers of shapes and axes are int64. The version of the operator set is the lowest from
 * 22 on that has every word and type (before it, types and shapes of some operators are as checkers do not know them), or the
 * newest before that; the same model gives the same bytes.
 */
#include "formats/onnx/arrays.h"
#include "formats/onnx/writer.h"

#include <string.h>

enum { OLDEST_OPSET = 17, USUAL_OPSET = 22 };

/* IR version that came with each version of the operator set, from OLDEST_OPSET on (ONNX's Versioning.md). */
static const uint8_t ir_versions[] = {8, 8, 9, 9, 10, 10, 11, 11, 12, 13, 13, 14};

/* The version that a type came with. */
static int opset_of_type(base_type type) {
    switch (type) {
    case BASE_I2:
    case BASE_U2:
        return 25;
    case BASE_F8E8M0:
        return 24;
    case BASE_F4E2M1:
        return 23;
    default:
        return USUAL_OPSET;
    }
}

/* ---- the model ---- */

/* The graphs that graph 0 reaches. */
static bool *reached(const onnx_writer *w) {
    bool *is = BASE_NEWS(w->arena, bool, w->m->graphs.n + 1);
    uint32_t *list = BASE_NEWS(w->arena, uint32_t, w->m->graphs.n + 1);
    size_t n = 0;
    is[list[n++] = 0] = true;
    for (size_t at = 0; at < n; at++) {
        const ir_graph *g = &w->m->graphs.at[list[at]];
        for (size_t i = 0; i < g->nodes.n; i++) {
            for (size_t k = 0; k < g->nodes.at[i].attr_count; k++) {
                const ir_attr *a = &g->nodes.at[i].attrs[k];
                if (a->kind == IR_GRAPH && !is[a->v.graph]) {
                    is[list[n++] = a->v.graph] = true;
                }
            }
        }
    }
    return is;
}

/* What the format has no words for at all. */
static void check_model(onnx_writer *w, const bool *is_reached) {
    const base_place place = {.file = w->m->file};
    for (size_t k = 0; k < w->m->graphs.n; k++) {
        const ir_graph *g = &w->m->graphs.at[k];
        if (!is_reached[k]) {
            w->status = base_error(w->d, &place, "ONNX has one graph, and this model several: name one by --signature");
            return;
        }
        for (size_t t = 0; t < g->tensors.n; t++) {
            if (g->tensors.at[t].quant.n) {
                const base_place at = ir_place_tensor(w->m, g, t);
                w->status = base_error(w->d, &at, "ONNX says scales by operators, and this tensor has one of its own");
            }
        }
    }
    if (w->m->states.n) {
        w->status = base_error(w->d, &place, "ONNX has no state, and the model keeps %zu", w->m->states.n);
    }
}

/* The main graph with its inputs and outputs, in that version. */
static wire_pb_out put_main(onnx_writer *w) {
    const ir_graph *g = &w->m->graphs.at[0];
    onnx_sheet sheet = onnx_sheet_new(w);
    onnx_frame f = onnx_frame_new(w, &sheet, g);
    onnx_frame_name(&f);
    onnx_frame_put(&f);
    wire_pb_out graph =
        onnx_sheet_message(&sheet, *g->name ? base_printable(w->arena, g->name, strlen(g->name), 255) : "graph");
    for (size_t i = 0; i < g->inputs.n + g->outputs.n; i++) {
        const bool is_input = i < g->inputs.n;
        const uint32_t t = is_input ? g->inputs.at[i] : g->outputs.at[i - g->inputs.n];
        const wire_pb_out value = onnx_put_value(w, f.name_of[t], g->tensors.at[t].type, &g->tensors.at[t].shape);
        wire_pb_put_message(&graph, is_input ? ONNX_GRAPH_INPUT : ONNX_GRAPH_OUTPUT, &value);
    }
    return graph;
}

/* Can every node be said in that version? */
static bool all_said(const onnx_writer *w, int opset) {
    base_arena *scratch = base_arena_new(base_arena_memory(w->arena));
    base_diags unheard = {.arena = scratch};
    onnx_writer asker = {.arena = scratch, .m = w->m, .ops = w->ops, .opset = opset, .asks = true, .d = &unheard};
    asker.names = base_map_new(scratch);
    (void)put_main(&asker);
    base_arena_free(scratch);
    return asker.status == BASE_OK;
}

/* The lowest version from USUAL_OPSET on that has every type and can say every node; else the newest one before it that can;
 * else the newest, which then says why not. */
static int choose_opset(const onnx_writer *w) {
    int least = USUAL_OPSET;
    for (size_t k = 0; k < w->m->graphs.n; k++) {
        const ir_graph *g = &w->m->graphs.at[k];
        for (size_t t = 0; t < g->tensors.n; t++) {
            const int of_type = opset_of_type(g->tensors.at[t].type);
            least = of_type > least ? of_type : least;
        }
    }
    for (int opset = least; opset <= ONNX_NEWEST_OPSET; opset++) {
        if (all_said(w, opset)) {
            return opset;
        }
    }
    for (int opset = USUAL_OPSET; opset-- > OLDEST_OPSET && least == USUAL_OPSET;) {
        if (all_said(w, opset)) {
            return opset;
        }
    }
    return ONNX_NEWEST_OPSET;
}

static void put_import(wire_pb_out *model, const char *domain, int version) {
    wire_pb_out import = {.arena = model->arena};
    wire_pb_put_text(&import, ONNX_OPSET_DOMAIN, domain);
    wire_pb_put_int(&import, ONNX_OPSET_VERSION, version);
    wire_pb_put_message(model, ONNX_MODEL_OPSET_IMPORT, &import);
}

static void put_metadata(const onnx_writer *w, wire_pb_out *model) {
    for (size_t i = 0; i < w->m->metadata.n; i++) {
        wire_pb_out entry = {.arena = w->arena};
        wire_pb_put_text(&entry, ONNX_ENTRY_KEY, w->m->metadata.at[i].name);
        wire_pb_put_bytes(&entry, ONNX_ENTRY_VALUE, w->m->metadata.at[i].data, w->m->metadata.at[i].size);
        wire_pb_put_message(model, ONNX_MODEL_METADATA, &entry);
    }
}

base_status onnx_write(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                       base_diags *d) {
    onnx_writer w = {.arena = arena, .m = m, .d = d, .names = base_map_new(arena)};
    w.ops = options && options->ops ? options->ops : ops_registry_new(arena);
    check_model(&w, reached(&w));
    if (w.status != BASE_OK) {
        return w.status;
    }
    w.opset = choose_opset(&w);
    const wire_pb_out graph = put_main(&w);
    wire_pb_out model = {.arena = arena};
    wire_pb_put_int(&model, ONNX_MODEL_IR_VERSION, ir_versions[w.opset - OLDEST_OPSET]);
    wire_pb_put_text(&model, ONNX_MODEL_PRODUCER_NAME, "burin");
    if (*m->description) {
        wire_pb_put_text(&model, ONNX_MODEL_DOC_STRING,
                         base_printable(arena, m->description, strlen(m->description), 4096));
    }
    wire_pb_put_message(&model, ONNX_MODEL_GRAPH, &graph);
    put_import(&model, "", w.opset);
    for (size_t i = 0; i < w.domains.n; i++) {
        put_import(&model, w.domains.at[i], 1);
    }
    put_metadata(&w, &model);
    if (w.status == BASE_OK && model.size >= (uint64_t)1 << 31) {
        const base_place place = {.file = m->file};
        return base_error(d, &place,
                          "a file of 2 GB or more is not written: its constants would have to stand beside it");
    }
    if (w.status == BASE_OK) {
        wire_pb_finish(&model, out);
    }
    return w.status;
}
