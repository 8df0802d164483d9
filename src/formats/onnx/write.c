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

typedef struct writer {
    base_arena *arena;
    const ir_model *m;
    const ir_graph *g;
    ops_registry *ops;
    int opset;
    base_map *names;      /* taken */
    const char **name_of; /* of each tensor */
    bool *is_used;        /* of each tensor */
    wire_pb_out graph;
    BASE_VEC(wire_pb_out) constants; /* that steps have made */
    BASE_VEC(const char *) domains;  /* in use, beside ai.onnx */
    base_diags *d;
    base_status status;
} writer;

/* ---- names ---- */

/* Names are UTF-8 in the file. What is not becomes as messages show it. */
static const char *unique_name(writer *w, const char *name, const char *otherwise) {
    const char *wanted = *name ? base_printable(w->arena, name, strlen(name), 4096) : otherwise;
    const char *given = wanted;
    bool is_new;
    (void)base_map_put(w->names, given, strlen(given), &is_new);
    for (size_t i = 1; !is_new; i++) {
        given = base_printf(w->arena, "%s_%zu", wanted, i);
        (void)base_map_put(w->names, given, strlen(given), &is_new);
    }
    return given;
}

/* Inputs and outputs first: they are what others know. */
static void name_tensors(writer *w) {
    const ir_graph *g = w->g;
    w->name_of = BASE_NEWS(w->arena, const char *, g->tensors.n + 1);
    for (size_t i = 0; i < g->inputs.n + g->outputs.n; i++) {
        const uint32_t t = i < g->inputs.n ? g->inputs.at[i] : g->outputs.at[i - g->inputs.n];
        if (!w->name_of[t]) {
            w->name_of[t] = unique_name(w, g->tensors.at[t].name, base_printf(w->arena, "t%lu", (unsigned long)t));
        }
    }
    for (size_t t = 0; t < g->tensors.n; t++) {
        if (!w->name_of[t] && w->is_used[t]) {
            w->name_of[t] = unique_name(w, g->tensors.at[t].name, base_printf(w->arena, "t%zu", t));
        }
    }
}

static void find_used(writer *w) {
    w->is_used = BASE_NEWS(w->arena, bool, w->g->tensors.n + 1);
    for (size_t i = 0; i < w->g->nodes.n; i++) {
        const ir_node *n = &w->g->nodes.at[i];
        for (size_t k = 0; k < n->input_count + n->output_count; k++) {
            const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
            if (t != IR_NONE) {
                w->is_used[t] = true;
            }
        }
    }
    for (size_t i = 0; i < w->g->outputs.n; i++) {
        w->is_used[w->g->outputs.at[i]] = true;
    }
}

/* ---- tensors ---- */

static wire_pb_out message(const writer *w) {
    return (wire_pb_out){.arena = w->arena};
}

static wire_pb_out tensor_message(writer *w, const char *name, base_type type, const ir_shape *shape,
                                  const void *data) {
    const ir_tensor t = {.name = name, .type = type, .shape = *shape, .data = data};
    return onnx_tensor_message(w->arena, &t);
}

static wire_pb_out value_message(writer *w, uint32_t index) {
    const ir_tensor *t = &w->g->tensors.at[index];
    wire_pb_out value = message(w), type = message(w), tensor = message(w), shape = message(w);
    for (uint32_t k = 0; k < t->shape.rank; k++) {
        wire_pb_out dim = message(w);
        if (t->shape.symbol[k]) {
            wire_pb_put_text(&dim, ONNX_DIM_PARAM, w->m->symbols.at[t->shape.symbol[k] - 1].name);
        } else {
            wire_pb_put_int(&dim, ONNX_DIM_VALUE, t->shape.dim[k]);
        }
        wire_pb_put_message(&shape, ONNX_SHAPE_DIM, &dim);
    }
    wire_pb_put_int(&tensor, ONNX_TENSOR_TYPE_ELEM, onnx_type_code(t->type));
    wire_pb_put_message(&tensor, ONNX_TENSOR_TYPE_SHAPE, &shape);
    wire_pb_put_message(&type, ONNX_TYPE_TENSOR, &tensor);
    wire_pb_put_text(&value, ONNX_VALUE_NAME, w->name_of[index]);
    wire_pb_put_message(&value, ONNX_VALUE_TYPE, &type);
    return value;
}

/* ---- nodes ---- */

static bool is_newest(const onnx_word *row, int opset) {
    for (size_t i = 0; onnx_word_at(i); i++) {
        const onnx_word *w = onnx_word_at(i);
        if (w != row && !strcmp(w->op, row->op) && !strcmp(w->domain, row->domain) && w->since <= opset &&
            w->since > row->since) {
            return false;
        }
    }
    return true;
}

/* Versions of other domains stand still: all their rows hold. */
static bool holds(const onnx_word *row, int opset) {
    return !*row->domain ? row->since <= opset && is_newest(row, opset) : is_newest(row, INT32_MAX);
}

/* The first row that can say the node; *why: else the reason of the last one that has its word. */
static bool say_node(writer *w, const ir_node *n, int opset, onnx_out *out, const char **why) {
    *why = NULL;
    for (size_t i = 0; onnx_word_at(i); i++) {
        const onnx_word *row = onnx_word_at(i);
        if (!row->word || strcmp(row->word, n->op) != 0 || !holds(row, opset)) {
            continue;
        }
        *out = (onnx_out){.arena = w->arena, .ops = w->ops, .m = w->m, .g = w->g, .node = n, .word = row};
        if (onnx_say(out)) {
            return true;
        }
        *why = *why ? *why : out->why;
    }
    *why = *why ? *why : "it has no such operator";
    return false;
}

static wire_pb_out attr_message(writer *w, const onnx_put_attr *a) {
    wire_pb_out out = message(w);
    wire_pb_put_text(&out, ONNX_ATTR_NAME, a->name);
    switch (a->type) {
    case ONNX_INT:
        wire_pb_put_int(&out, ONNX_ATTR_I, a->i);
        break;
    case ONNX_FLOAT:
        wire_pb_put_float(&out, ONNX_ATTR_F, a->f);
        break;
    case ONNX_STRING:
        wire_pb_put_bytes(&out, ONNX_ATTR_S, a->text, strlen(a->text));
        break;
    case ONNX_INTS:
        for (size_t i = 0; i < a->n; i++) { /* proto2: not packed */
            wire_pb_put_int(&out, ONNX_ATTR_INTS, a->ints[i]);
        }
        break;
    case ONNX_STRINGS:
        for (size_t i = 0; i < a->n; i++) {
            wire_pb_put_bytes(&out, ONNX_ATTR_STRINGS, a->texts[i], strlen(a->texts[i]));
        }
        break;
    default:
        for (size_t i = 0; i < a->n; i++) {
            wire_pb_put_float(&out, ONNX_ATTR_FLOATS, a->floats[i]);
        }
        break;
    }
    wire_pb_put_int(&out, ONNX_ATTR_TYPE, a->type);
    return out;
}

static const char *made_name(writer *w, const onnx_made *made) {
    const char *name = unique_name(w, made->name, "constant");
    *BASE_PUSH(w->arena, &w->constants) = tensor_message(w, name, made->type, &made->shape, made->data);
    return name;
}

/* ONNX's inputs: the node's, with the constants that steps have put at their places. */
static void put_inputs(writer *w, const onnx_out *out, wire_pb_out *node) {
    const size_t of_node = out->node->input_count - out->said, count = of_node + out->made.n;
    size_t next = 0, made = 0;
    const char **names = BASE_NEWS(w->arena, const char *, 2 * count + 64);
    size_t n = 0;
    for (size_t at = 0; next < of_node || made < out->made.n; at++) {
        size_t k = 0;
        while (k < out->made.n && out->made.at[k].at != at) {
            k++;
        }
        if (k < out->made.n) {
            names[n++] = made_name(w, &out->made.at[k]);
            made++;
        } else if ((at < 64 && (out->absent >> at & 1)) || next == of_node) {
            names[n++] = "";
        } else {
            const uint32_t t = out->node->inputs[next++];
            names[n++] = t == IR_NONE ? "" : w->name_of[t];
        }
    }
    while (n && !*names[n - 1]) {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        wire_pb_put_text(node, ONNX_NODE_INPUT, names[i]);
    }
}

static void note_domain(writer *w, const char *domain) {
    for (size_t i = 0; i < w->domains.n; i++) {
        if (!strcmp(w->domains.at[i], domain)) {
            return;
        }
    }
    if (*domain) {
        *BASE_PUSH(w->arena, &w->domains) = domain;
    }
}

static void put_node(writer *w, const ir_node *n, const onnx_out *out) {
    wire_pb_out node = message(w);
    put_inputs(w, out, &node);
    for (size_t i = 0; i < n->output_count; i++) {
        wire_pb_put_text(&node, ONNX_NODE_OUTPUT, w->name_of[n->outputs[i]]);
    }
    wire_pb_put_text(&node, ONNX_NODE_OP_TYPE, out->word->op);
    for (size_t i = 0; i < out->attrs.n; i++) {
        const wire_pb_out attr = attr_message(w, &out->attrs.at[i]);
        wire_pb_put_message(&node, ONNX_NODE_ATTRIBUTE, &attr);
    }
    if (*out->word->domain) {
        wire_pb_put_text(&node, ONNX_NODE_DOMAIN, out->word->domain);
    }
    note_domain(w, out->word->domain);
    wire_pb_put_message(&w->graph, ONNX_GRAPH_NODE, &node);
}

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

/* Can every node be said in that version? */
static bool all_said(const writer *w, int opset) {
    base_arena *scratch = base_arena_new(base_arena_memory(w->arena));
    writer asker = *w;
    bool said = true;
    asker.arena = scratch;
    for (size_t i = 0; i < w->g->nodes.n && said; i++) {
        onnx_out out;
        const char *why;
        said = say_node(&asker, &w->g->nodes.at[i], opset, &out, &why);
    }
    base_arena_free(scratch);
    return said;
}

/* The lowest version from USUAL_OPSET on that has every type and can say every node; else the newest one before it that can;
 * else the newest, which then says why not. */
static int choose_opset(const writer *w) {
    int least = USUAL_OPSET;
    for (size_t t = 0; t < w->g->tensors.n; t++) {
        const int of_type = w->is_used[t] ? opset_of_type(w->g->tensors.at[t].type) : least;
        least = of_type > least ? of_type : least;
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

static void put_nodes(writer *w) {
    for (size_t i = 0; i < w->g->nodes.n; i++) {
        const ir_node *n = &w->g->nodes.at[i];
        onnx_out out;
        const char *why;
        if (say_node(w, n, w->opset, &out, &why)) {
            put_node(w, n, &out);
        } else {
            const base_place place = ir_place_node(w->m, w->g, i);
            w->status = base_error(w->d, &place, "ONNX cannot say %s: %s", n->op, why);
        }
    }
}

/* ---- the graph ---- */

static void put_constants(writer *w) {
    for (size_t t = 0; t < w->g->tensors.n; t++) {
        const ir_tensor *x = &w->g->tensors.at[t];
        if (x->data && w->is_used[t]) {
            const wire_pb_out tensor = tensor_message(w, w->name_of[t], x->type, &x->shape, x->data);
            wire_pb_put_message(&w->graph, ONNX_GRAPH_INITIALIZER, &tensor);
        }
    }
    for (size_t i = 0; i < w->constants.n; i++) {
        wire_pb_put_message(&w->graph, ONNX_GRAPH_INITIALIZER, &w->constants.at[i]);
    }
}

static void put_values(writer *w) {
    for (size_t i = 0; i < w->g->inputs.n; i++) {
        const wire_pb_out value = value_message(w, w->g->inputs.at[i]);
        wire_pb_put_message(&w->graph, ONNX_GRAPH_INPUT, &value);
    }
    for (size_t i = 0; i < w->g->outputs.n; i++) {
        const wire_pb_out value = value_message(w, w->g->outputs.at[i]);
        wire_pb_put_message(&w->graph, ONNX_GRAPH_OUTPUT, &value);
    }
}

/* What the format has no words for at all. */
static void check_model(writer *w) {
    const base_place place = {.file = w->m->file};
    if (w->m->graphs.n > 1) {
        w->status = base_error(w->d, &place, "ONNX with sub-graphs is not written");
    }
    if (w->m->states.n) {
        w->status = base_error(w->d, &place, "ONNX has no state, and the model keeps %zu", w->m->states.n);
    }
    for (size_t t = 0; t < w->g->tensors.n; t++) {
        if (w->is_used[t] && w->g->tensors.at[t].quant.n) {
            const base_place at = ir_place_tensor(w->m, w->g, t);
            w->status = base_error(w->d, &at, "ONNX says scales by operators, and this tensor has one of its own");
        }
    }
}

static void put_import(wire_pb_out *model, const char *domain, int version) {
    wire_pb_out import = {.arena = model->arena};
    wire_pb_put_text(&import, ONNX_OPSET_DOMAIN, domain);
    wire_pb_put_int(&import, ONNX_OPSET_VERSION, version);
    wire_pb_put_message(model, ONNX_MODEL_OPSET_IMPORT, &import);
}

static void put_metadata(const writer *w, wire_pb_out *model) {
    for (size_t i = 0; i < w->m->metadata.n; i++) {
        wire_pb_out entry = message(w);
        wire_pb_put_text(&entry, ONNX_ENTRY_KEY, w->m->metadata.at[i].name);
        wire_pb_put_bytes(&entry, ONNX_ENTRY_VALUE, w->m->metadata.at[i].data, w->m->metadata.at[i].size);
        wire_pb_put_message(model, ONNX_MODEL_METADATA, &entry);
    }
}

base_status onnx_write(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                       base_diags *d) {
    writer w = {.arena = arena, .m = m, .g = &m->graphs.at[0], .d = d, .names = base_map_new(arena)};
    w.ops = options && options->ops ? options->ops : ops_registry_new(arena);
    w.graph.arena = arena;
    find_used(&w);
    check_model(&w);
    if (w.status != BASE_OK) {
        return w.status;
    }
    name_tensors(&w);
    w.opset = choose_opset(&w);
    put_nodes(&w);
    wire_pb_put_text(&w.graph, ONNX_GRAPH_NAME,
                     *w.g->name ? base_printable(arena, w.g->name, strlen(w.g->name), 255) : "graph");
    put_constants(&w);
    put_values(&w);
    wire_pb_out model = message(&w);
    wire_pb_put_int(&model, ONNX_MODEL_IR_VERSION, ir_versions[w.opset - OLDEST_OPSET]);
    wire_pb_put_text(&model, ONNX_MODEL_PRODUCER_NAME, "burin");
    if (*m->description) {
        wire_pb_put_text(&model, ONNX_MODEL_DOC_STRING,
                         base_printable(arena, m->description, strlen(m->description), 4096));
    }
    wire_pb_put_message(&model, ONNX_MODEL_GRAPH, &w.graph);
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
