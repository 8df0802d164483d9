/* write.c - the ONNX format: writing a graph as a model file.
 *
 * Takes a verified model. Gives the bytes of a ModelProto, or lists every node and tensor that ONNX has no words for. Names
 * are the graph's, made unique; integers of shapes and axes are int64. The version of the operator set is the lowest from
 * 22 on that has every word and type (before it, types and shapes of some operators are as checkers do not know them), or the
 * newest before that; the same model gives the same bytes.
 */
#include "formats/onnx/arrays.h"
#include "formats/onnx/metadata.h"
#include "formats/onnx/states.h"
#include "formats/onnx/writer.h"

#include <string.h>

enum { USUAL_OPSET = 22 };

/* IR version that came with each version of the operator set, from ONNX_OLDEST_WRITTEN on (ONNX's Versioning.md). */
static const uint8_t ir_versions[] = {7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 11, 12, 13, 13, 14};

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
            if (k > 0 && g->tensors.at[t].state != IR_NONE) {
                const base_place at = ir_place_tensor(w->m, g, t);
                w->status = base_error(w->d, &at, "ONNX's graphs below others keep no state, and this one does");
            }
            if (g->tensors.at[t].quant.n) {
                const base_place at = ir_place_tensor(w->m, g, t);
                w->status = base_error(w->d, &at, "ONNX says scales by operators, and this tensor has one of its own");
            }
        }
    }
}

/* Each state is an input, with its first contents as an initializer, and an output. */
static void name_states(onnx_writer *w, onnx_frame *f) {
    const size_t n = w->m->states.n;
    w->state_name = BASE_NEWS(w->arena, const char *, n + 1);
    w->state_next = BASE_NEWS(w->arena, const char *, n + 1);
    w->state_put = BASE_NEWS(w->arena, const char *, n + 1);
    w->last_change = BASE_NEWS(w->arena, const ir_node *, n + 1);
    for (uint32_t s = 0; s < n; s++) {
        w->state_name[s] = onnx_unique_name(w, w->m->states.at[s].name, "state");
        w->state_next[s] = onnx_unique_name(w, base_printf(w->arena, "%s_next", w->state_name[s]), "next");
        onnx_note_type(w, w->state_name[s], w->m->states.at[s].type);
        onnx_name_state(f, s, w->state_name[s]);
    }
    for (size_t i = 0; i < f->g->nodes.n && n; i++) {
        for (size_t k = 0; k < f->g->nodes.at[i].output_count; k++) {
            const uint32_t s = f->g->tensors.at[f->g->nodes.at[i].outputs[k]].state;
            if (s != IR_NONE) {
                w->last_change[s] = &f->g->nodes.at[i];
            }
        }
    }
}

static void put_states(onnx_writer *w, onnx_frame *f) {
    for (uint32_t s = 0; s < w->m->states.n; s++) {
        const ir_state *state = &w->m->states.at[s];
        const ir_tensor t = {.type = state->type, .shape = state->shape};
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(&t, &bytes);
        onnx_put_contents(f, w->state_name[s], state->type, &state->shape,
                          state->data ? state->data : base_alloc(w->arena, (size_t)bytes + 1, 1));
        if (!w->last_change[s]) {
            onnx_put_copy(f, w->state_name[s], w->state_next[s]);
        }
    }
}

/* The main graph with its inputs and outputs, in that version. */
static wire_pb_out put_main(onnx_writer *w) {
    const ir_graph *g = &w->m->graphs.at[0];
    onnx_sheet sheet = onnx_sheet_new(w);
    onnx_frame f = onnx_frame_new(w, &sheet, g);
    onnx_frame_name_ports(&f);
    name_states(w, &f);
    onnx_frame_name(&f);
    w->lives = w->has_places ? onnx_lives_new(&f) : NULL;
    onnx_frame_put(&f);
    put_states(w, &f);
    if (w->lives) {
        onnx_lives_end(w->lives, &f);
    }
    wire_pb_out graph =
        onnx_sheet_message(&sheet, *g->name ? base_printable(w->arena, g->name, strlen(g->name), 255) : "graph");
    for (size_t i = 0; i < g->inputs.n + g->outputs.n; i++) {
        const bool is_input = i < g->inputs.n;
        const uint32_t t = is_input ? g->inputs.at[i] : g->outputs.at[i - g->inputs.n];
        const wire_pb_out value = onnx_put_value(w, f.name_of[t], g->tensors.at[t].type, &g->tensors.at[t].shape);
        wire_pb_put_message(&graph, is_input ? ONNX_GRAPH_INPUT : ONNX_GRAPH_OUTPUT, &value);
    }
    for (size_t s = 0; s < w->m->states.n; s++) {
        const ir_state *state = &w->m->states.at[s];
        const wire_pb_out input = onnx_put_value(w, w->state_name[s], state->type, &state->shape),
                          output = onnx_put_value(w, w->state_next[s], state->type, &state->shape);
        wire_pb_put_message(&graph, ONNX_GRAPH_INPUT, &input);
        wire_pb_put_message(&graph, ONNX_GRAPH_OUTPUT, &output);
    }
    return graph;
}

/* Can every node be said in that version? *others: how many domains beside ai.onnx that takes. */
static bool all_said(const onnx_writer *w, int opset, size_t *others, bool *is_ahead) {
    base_arena *scratch = base_arena_new(base_arena_memory(w->arena));
    base_diags unheard = {.arena = scratch};
    onnx_writer asker = {.arena = scratch, .m = w->m, .ops = w->ops, .opset = opset, .asks = true, .d = &unheard};
    asker.newest_ml = w->newest_ml;
    asker.names = base_map_new(scratch);
    (void)put_main(&asker);
    base_arena_free(scratch);
    *others = asker.domains.n;
    *is_ahead = asker.is_ahead;
    return asker.status == BASE_OK;
}

/* The lowest version from USUAL_OPSET on that can say every node, with no more domains than a later one needs, or the one
 * before where ONNX Runtime has the operators of that alone; else the newest one before it that can; else the newest, which
 * then says why not. */
static int choose_opset(const onnx_writer *w) {
    size_t least = SIZE_MAX, others;
    int best = 0;
    bool is_ahead = false, best_is_ahead = false;
    for (int opset = USUAL_OPSET; opset <= ONNX_NEWEST_OPSET && least; opset++) {
        if (all_said(w, opset, &others, &is_ahead) && others < least) {
            best = opset;
            best_is_ahead = is_ahead;
            least = others;
        }
    }
    if (best) {
        return best_is_ahead && best == USUAL_OPSET && all_said(w, best - 1, &others, &is_ahead) && others <= least
                   ? best - 1
                   : best;
    }
    for (int opset = USUAL_OPSET; opset-- > ONNX_OLDEST_WRITTEN;) {
        if (all_said(w, opset, &others, &is_ahead)) {
            return opset;
        }
    }
    return ONNX_NEWEST_OPSET;
}

/* Does the model have a word that only the newest version of ai.onnx.ml may say? */
static bool may_need_newest_ml(const onnx_writer *w) {
    bool may = false;
    for (size_t g = 0; g < w->m->graphs.n; g++) {
        const ir_graph *graph = &w->m->graphs.at[g];
        for (size_t i = 0; i < graph->nodes.n; i++) {
            for (size_t k = 0; onnx_word_at(k) && !may; k++) {
                const onnx_word *row = onnx_word_at(k);
                may = row->word && !strcmp(row->domain, "ai.onnx.ml") &&
                      row->since > onnx_domain_version(w, row->domain) && !strcmp(row->word, graph->nodes.at[i].op);
            }
        }
    }
    return may;
}

static void choose_versions(onnx_writer *w) {
    size_t others;
    bool is_ahead;
    w->opset = w->only_opset ? w->only_opset : choose_opset(w);
    if (!may_need_newest_ml(w) || all_said(w, w->opset, &others, &is_ahead)) {
        return;
    }
    onnx_writer newer = *w;
    newer.newest_ml = true;
    newer.opset = w->only_opset ? w->only_opset : choose_opset(&newer);
    if (all_said(&newer, newer.opset, &others, &is_ahead)) {
        w->newest_ml = true;
        w->opset = newer.opset;
    }
}

static void put_import(wire_pb_out *model, const char *domain, int version) {
    wire_pb_out import = {.arena = model->arena};
    wire_pb_put_text(&import, ONNX_OPSET_DOMAIN, domain);
    wire_pb_put_int(&import, ONNX_OPSET_VERSION, version);
    wire_pb_put_message(model, ONNX_MODEL_OPSET_IMPORT, &import);
}

static void put_entry(const onnx_writer *w, wire_pb_out *model, const char *key, const char *value) {
    wire_pb_out entry = {.arena = w->arena};
    wire_pb_put_text(&entry, ONNX_ENTRY_KEY, key);
    wire_pb_put_text(&entry, ONNX_ENTRY_VALUE, value);
    wire_pb_put_message(model, ONNX_MODEL_METADATA, &entry);
}

static void put_metadata(const onnx_writer *w, const formats_writing *how, wire_pb_out *model) {
    base_map *keys = base_map_new(w->arena); /* which are unique in ONNX */
    for (size_t i = 0; i < w->m->metadata.n; i++) {
        wire_pb_out entry = {.arena = w->arena};
        ir_metadata e = onnx_metadata_as_text(w->arena, &w->m->metadata.at[i]);
        bool is_new;
        uint64_t *same = base_map_put(keys, e.name, strlen(e.name), &is_new);
        *same = is_new ? 1 : *same + 1;
        e.name = is_new ? e.name : base_printf(w->arena, "%s#%llu", e.name, (unsigned long long)*same);
        wire_pb_put_text(&entry, ONNX_ENTRY_KEY, e.name);
        wire_pb_put_bytes(&entry, ONNX_ENTRY_VALUE, e.data, e.size);
        wire_pb_put_message(model, ONNX_MODEL_METADATA, &entry);
    }
    for (size_t s = 0; s < w->m->states.n; s++) {
        put_entry(w, model, base_printf(w->arena, ONNX_STATE_KEY "%s", w->state_name[s]), w->state_next[s]);
    }
    if (w->lives) {
        put_entry(w, model, ONNX_PLACES, onnx_lives_places(w->lives, w->m->file, how, w->d));
    }
}

/* The newest that the dictionary has; of ai.onnx.ml that is one without the operators for classifiers, so the one before it
 * where it serves. */
int onnx_domain_version(const onnx_writer *w, const char *domain) {
    enum { ML_BEFORE_TREES = 4 };
    int newest = 1;
    if (!strcmp(domain, "ai.onnx.ml") && !w->newest_ml) {
        return ML_BEFORE_TREES;
    }
    for (size_t i = 0; onnx_word_at(i); i++) {
        const onnx_word *row = onnx_word_at(i);
        newest = !strcmp(row->domain, domain) && row->since > newest ? row->since : newest;
    }
    return newest;
}

/* The whole file. */
static wire_pb_out put_model(onnx_writer *w, const formats_writing *how) {
    wire_pb_out model = {.arena = w->arena};
    w->names = base_map_new(w->arena);
    w->size = w->data_size = 0;
    w->data.n = w->domains.n = 0;
    const wire_pb_out graph = put_main(w);
    wire_pb_put_int(&model, ONNX_MODEL_IR_VERSION, ir_versions[w->opset - ONNX_OLDEST_WRITTEN]);
    wire_pb_put_text(&model, ONNX_MODEL_PRODUCER_NAME, "burin");
    if (*w->m->description) {
        wire_pb_put_text(&model, ONNX_MODEL_DOC_STRING,
                         base_printable(w->arena, w->m->description, strlen(w->m->description), 4096));
    }
    wire_pb_put_message(&model, ONNX_MODEL_GRAPH, &graph);
    put_import(&model, "", w->opset);
    for (size_t i = 0; i < w->domains.n; i++) {
        put_import(&model, w->domains.at[i], onnx_domain_version(w, w->domains.at[i]));
    }
    put_metadata(w, how, &model);
    return model;
}

base_status onnx_write(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                       base_diags *d) {
    const formats_writing how = options ? options->writing : (formats_writing){0};
    const uint64_t most = how.most ? how.most : INT32_MAX;
    onnx_writer w = {.arena = arena, .m = m, .d = d, .only_opset = (int)how.opset};
    w.has_places = how.place != NULL;
    w.ops = options && options->ops ? options->ops : ops_registry_new(arena);
    if (how.opset && (how.opset < ONNX_OLDEST_WRITTEN || how.opset > ONNX_NEWEST_OPSET)) {
        base_error(d, NULL, "opset: %u is none of %d to %d", how.opset, ONNX_OLDEST_WRITTEN, ONNX_NEWEST_OPSET);
        return BASE_USAGE;
    }
    check_model(&w, reached(&w));
    if (w.status != BASE_OK) {
        return w.status;
    }
    choose_versions(&w);
    w.data_name = how.external_data ? how.data_name : NULL;
    wire_pb_out model = put_model(&w, &how);
    if (w.status == BASE_OK && model.size > most && !w.data_name && how.data) {
        w.data_name = how.data_name;
        model = put_model(&w, &how);
    }
    if (w.status == BASE_OK && model.size > most) {
        const base_place place = {.file = m->file};
        w.status = base_error(d, &place, "a file of %llu bytes is not written: it may have %llu",
                              (unsigned long long)model.size, (unsigned long long)most);
    }
    if (w.status == BASE_OK) {
        wire_pb_finish(&model, out);
        for (size_t i = 0; i < w.data.n; i++) {
            base_putn(how.data, w.data.at[i].at, w.data.at[i].n);
        }
    }
    return w.status;
}
