/* put_graph.c - one graph of a model that is written: its names, constants and nodes (writer.h).
 *
 * Takes a graph. Gives the pieces of a GraphProto. Names are the graph's, made unique in the whole file, since graphs below
 * others see their names; a node's inputs are named before its outputs.
 */
#include "formats/onnx/arrays.h"
#include "formats/onnx/writer.h"

#include <string.h>

/* ---- names ---- */

/* Names are UTF-8 in the file. What is not becomes as messages show it. */
const char *onnx_unique_name(onnx_writer *w, const char *name, const char *otherwise) {
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

void onnx_note_type(onnx_writer *w, const char *name, base_type type) {
    bool is_new;
    *base_map_put(w->names, name, strlen(name), &is_new) = (uint64_t)type + 1;
}

static void name_tensor(onnx_frame *f, size_t t) {
    const ir_tensor *x = &f->g->tensors.at[t];
    f->name_of[t] = onnx_unique_name(f->w, x->name, base_printf(f->w->arena, "t%zu", t));
    onnx_note_type(f->w, f->name_of[t], x->type);
}

void onnx_frame_name_ports(onnx_frame *f) {
    const ir_graph *g = f->g;
    for (size_t i = 0; i < g->inputs.n + g->outputs.n; i++) {
        const uint32_t t = i < g->inputs.n ? g->inputs.at[i] : g->outputs.at[i - g->inputs.n];
        if (!f->name_of[t] && f->is_used[t]) {
            name_tensor(f, t);
        }
    }
}

/* Inputs and outputs first: they are what others know. */
void onnx_frame_name(onnx_frame *f) {
    onnx_frame_name_ports(f);
    for (size_t t = 0; t < f->g->tensors.n; t++) {
        if (!f->name_of[t] && f->is_used[t]) {
            name_tensor(f, t);
        }
    }
}

const char *onnx_output_name(const onnx_frame *f, const ir_node *n, size_t k) {
    const uint32_t state = f->g->tensors.at[n->outputs[k]].state;
    return state == IR_NONE ? f->name_of[n->outputs[k]] : f->w->state_put[state];
}

void onnx_name_state(onnx_frame *f, uint32_t state, const char *name) {
    for (size_t t = 0; t < f->g->tensors.n; t++) {
        if (f->g->tensors.at[t].state == state) {
            f->name_of[t] = name;
        }
    }
}

/* ---- what is used ---- */

onnx_sheet onnx_sheet_new(onnx_writer *w) {
    return (onnx_sheet){.nodes = {.arena = w->arena}};
}

static bool say_node(onnx_frame *f, const ir_node *n, onnx_out *out, const char **why);

/* So many of the node's last inputs are said by attributes: lists and numbers. */
static size_t said_by_attributes(onnx_frame *f, const ir_node *n) {
    uint32_t last = IR_NONE;
    for (size_t k = 0; k < n->input_count; k++) {
        last = n->inputs[k] != IR_NONE ? n->inputs[k] : last;
    }
    const bool may = ir_control_of(n) == IR_PLAIN && last != IR_NONE && f->g->tensors.at[last].data &&
                     f->g->tensors.at[last].shape.rank <= 1;
    onnx_out out;
    const char *why;
    return may && say_node(f, n, &out, &why) ? out.said : 0;
}

static void use(onnx_frame *f, const ir_node *n) {
    for (size_t k = 0; k < n->output_count; k++) {
        f->is_used[n->outputs[k]] = true;
    }
    if (ir_control_of(n) == IR_WHILE) {
        onnx_while_uses(f, n);
        return;
    }
    const size_t count = n->input_count - said_by_attributes(f, n);
    for (size_t k = 0; k < count; k++) {
        if (n->inputs[k] != IR_NONE) {
            f->is_used[n->inputs[k]] = true;
        }
    }
}

onnx_frame onnx_frame_new(onnx_writer *w, onnx_sheet *sheet, const ir_graph *g) {
    onnx_frame f = {.w = w, .sheet = sheet, .g = g};
    f.name_of = BASE_NEWS(w->arena, const char *, g->tensors.n + 1);
    f.is_used = BASE_NEWS(w->arena, bool, g->tensors.n + 1);
    f.is_said = BASE_NEWS(w->arena, bool, g->nodes.n + 1);
    for (size_t i = 0; i < g->nodes.n; i++) {
        use(&f, &g->nodes.at[i]);
    }
    for (size_t i = 0; i < g->inputs.n + g->outputs.n; i++) {
        f.is_used[i < g->inputs.n ? g->inputs.at[i] : g->outputs.at[i - g->inputs.n]] = true;
    }
    return f;
}

void onnx_frame_need(onnx_frame *f, const uint32_t *tensors, size_t n) {
    memset(f->is_used, 0, f->g->tensors.n * sizeof *f->is_used);
    for (size_t i = 0; i < n; i++) {
        f->is_used[tensors[i]] = true;
    }
    for (size_t i = f->g->nodes.n; i-- > 0;) {
        const ir_node *node = &f->g->nodes.at[i];
        bool needed = false;
        for (size_t k = 0; k < node->output_count; k++) {
            needed = needed || f->is_used[node->outputs[k]] || f->g->tensors.at[node->outputs[k]].state != IR_NONE;
        }
        f->is_said[i] = !needed;
        if (needed) {
            use(f, node);
        }
    }
}

/* ---- messages ---- */

static wire_pb_out message(const onnx_writer *w) {
    return (wire_pb_out){.arena = w->arena};
}

wire_pb_out onnx_put_value(const onnx_writer *w, const char *name, base_type elements, const ir_shape *s) {
    wire_pb_out value = message(w), type = message(w), tensor = message(w), shape = message(w);
    for (uint32_t k = 0; k < s->rank; k++) {
        wire_pb_out dim = message(w);
        if (s->symbol[k]) {
            wire_pb_put_text(&dim, ONNX_DIM_PARAM, w->m->symbols.at[s->symbol[k] - 1].name);
        } else {
            wire_pb_put_int(&dim, ONNX_DIM_VALUE, s->dim[k]);
        }
        wire_pb_put_message(&shape, ONNX_SHAPE_DIM, &dim);
    }
    wire_pb_put_int(&tensor, ONNX_TENSOR_TYPE_ELEM, onnx_type_code(elements));
    wire_pb_put_message(&tensor, ONNX_TENSOR_TYPE_SHAPE, &shape);
    wire_pb_put_message(&type, ONNX_TYPE_TENSOR, &tensor);
    wire_pb_put_text(&value, ONNX_VALUE_NAME, name);
    wire_pb_put_message(&value, ONNX_VALUE_TYPE, &type);
    return value;
}

static wire_pb_out attr_message(const onnx_writer *w, const onnx_put_attr *a) {
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
        wire_pb_put_bytes(&out, ONNX_ATTR_S, a->text.at, a->text.size);
        break;
    case ONNX_INTS:
        for (size_t i = 0; i < a->n; i++) { /* proto2: not packed */
            wire_pb_put_int(&out, ONNX_ATTR_INTS, a->ints[i]);
        }
        break;
    case ONNX_STRINGS:
        for (size_t i = 0; i < a->n; i++) {
            wire_pb_put_bytes(&out, ONNX_ATTR_STRINGS, a->texts[i].at, a->texts[i].size);
        }
        break;
    case ONNX_TENSOR:
        wire_pb_put_message(&out, ONNX_ATTR_T, a->graph);
        break;
    case ONNX_GRAPH:
        wire_pb_put_message(&out, ONNX_ATTR_G, a->graph);
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

static void note_domain(onnx_writer *w, const char *domain) {
    for (size_t i = 0; i < w->domains.n; i++) {
        if (!strcmp(w->domains.at[i], domain)) {
            return;
        }
    }
    if (*domain) {
        *BASE_PUSH(w->arena, &w->domains) = domain;
    }
}

static base_type type_of(const onnx_writer *w, const char *name) {
    const uint64_t *type = *name ? base_map_get(w->names, name, strlen(name)) : NULL;
    return type && *type ? (base_type)(*type - 1) : BASE_NONE;
}

/* Nodes that no row says: an error where the version has them not. */
static void check_types(onnx_frame *f, const char *op, const char *const *inputs, size_t input_count,
                        const char *const *outputs, size_t output_count) {
    base_type *types = BASE_NEWS(f->w->arena, base_type, input_count + output_count + 1);
    for (size_t i = 0; i < input_count; i++) {
        types[i] = type_of(f->w, inputs[i]);
    }
    for (size_t i = 0; i < output_count; i++) {
        types[input_count + i] = type_of(f->w, outputs[i]);
    }
    const char *why =
        onnx_types_why(f->w->arena, op, f->w->opset, types, input_count, types + input_count, output_count);
    if (why) {
        onnx_frame_cannot(f, f->node, why);
    }
}

/* Operators whose version 22 ONNX Runtime (1.32) has no kernels of, while it has those of the versions before. */
static bool is_ahead(const char *op, int opset) {
    static const char *const ops[] = {"GlobalLpPool", "MaxRoiPool", "RoiAlign"};
    bool is = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        is = is || !strcmp(ops[i], op);
    }
    return is && opset >= 22;
}

void onnx_put_node(onnx_frame *f, const char *domain, const char *op, const char *const *inputs, size_t input_count,
                   const char *const *outputs, size_t output_count, const onnx_put_attr *attrs, size_t attr_count) {
    wire_pb_out node = message(f->w);
    const size_t least = *domain ? 0 : onnx_least_inputs(op, f->w->opset);
    while (input_count > least && !*inputs[input_count - 1]) {
        input_count--;
    }
    if (!*domain) {
        check_types(f, op, inputs, input_count, outputs, output_count);
        f->w->is_ahead = f->w->is_ahead || is_ahead(op, f->w->opset);
    }
    if (input_count < least) {
        onnx_frame_cannot(f, f->node,
                          base_printf(f->w->arena, "%s needs %zu inputs, and has %zu", op, least, input_count));
    }
    for (size_t i = 0; i < input_count; i++) {
        wire_pb_put_text(&node, ONNX_NODE_INPUT, inputs[i]);
    }
    for (size_t i = 0; i < output_count; i++) {
        wire_pb_put_text(&node, ONNX_NODE_OUTPUT, outputs[i]);
    }
    wire_pb_put_text(&node, ONNX_NODE_OP_TYPE, op);
    for (size_t i = 0; i < attr_count; i++) {
        const wire_pb_out attr = attr_message(f->w, &attrs[i]);
        wire_pb_put_message(&node, ONNX_NODE_ATTRIBUTE, &attr);
    }
    if (*domain) {
        wire_pb_put_text(&node, ONNX_NODE_DOMAIN, domain);
    }
    note_domain(f->w, domain);
    if (f->w->lives) {
        onnx_lives_note(f->w->lives, inputs, input_count);
        onnx_lives_note(f->w->lives, outputs, output_count);
        onnx_lives_next(f->w->lives, f->sheet);
    }
    wire_pb_put_message(&f->sheet->nodes, ONNX_GRAPH_NODE, &node);
}

void onnx_put_copy(onnx_frame *f, const char *from, const char *to) {
    onnx_put_node(f, "", "Identity", &from, 1, &to, 1, NULL, 0);
}

/* Where in the file beside the model these bytes stand: large ones on a page of memory. */
static uint64_t put_beside(onnx_writer *w, const void *data, uint64_t n) {
    enum { LARGE = 65536, PAGE = 4096, LINE = 64 };
    static const uint8_t zeros[PAGE];
    const uint64_t step = n >= LARGE ? PAGE : LINE, over = w->data_size % step, gap = over ? step - over : 0;
    if (gap) {
        *BASE_PUSH(w->arena, &w->data) = (wire_piece){zeros, (size_t)gap};
    }
    *BASE_PUSH(w->arena, &w->data) = (wire_piece){data, (size_t)n};
    w->data_size += gap + n;
    return w->data_size - n;
}

void onnx_put_contents(onnx_frame *f, const char *name, base_type type, const ir_shape *shape, const void *data) {
    enum { LEAST_BESIDE = 1024 };
    onnx_writer *w = f->w;
    const ir_tensor t = {.name = name, .type = type, .shape = *shape, .data = data};
    uint64_t bytes = 0;
    (void)ir_tensor_bytes(&t, &bytes);
    onnx_note_type(w, name, type);
    *BASE_PUSH(w->arena, &f->sheet->constants) =
        w->data_name && type != BASE_STR && bytes >= LEAST_BESIDE
            ? onnx_tensor_beside(w->arena, &t, w->data_name, put_beside(w, data, bytes), bytes)
            : onnx_tensor_message(w->arena, w->m->strings, &t);
}

const char *onnx_put_constant(onnx_frame *f, const char *wanted, base_type type, const ir_shape *shape,
                              const void *data) {
    const char *name = onnx_unique_name(f->w, wanted, "constant");
    onnx_put_contents(f, name, type, shape, data);
    return name;
}

const char *onnx_put_list(onnx_frame *f, const char *name, const int64_t *v, size_t n) {
    const ir_shape shape = ir_shape_of(1, &(int64_t){(int64_t)n});
    uint8_t *data = base_alloc(f->w->arena, n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++) {
        base_store(BASE_I64, data, i, (base_value){.i = v[i]});
    }
    return onnx_put_constant(f, name, BASE_I64, &shape, data);
}

const char *onnx_put_scalar(onnx_frame *f, const char *name, int64_t v) {
    const ir_shape scalar = {0};
    uint8_t *data = base_alloc(f->w->arena, 1, sizeof v);
    base_store(BASE_I64, data, 0, (base_value){.i = v});
    return onnx_put_constant(f, name, BASE_I64, &scalar, data);
}

wire_pb_out onnx_sheet_message(const onnx_sheet *sheet, const char *name) {
    wire_pb_out graph = sheet->nodes;
    wire_pb_put_text(&graph, ONNX_GRAPH_NAME, name);
    for (size_t i = 0; i < sheet->constants.n; i++) {
        wire_pb_put_message(&graph, ONNX_GRAPH_INITIALIZER, &sheet->constants.at[i]);
    }
    return graph;
}

/* ---- nodes by the dictionary's rows ---- */

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

/* Versions of other domains stand still: of com.microsoft all rows hold, of ai.onnx.ml those of one of two versions. */
static bool holds(const onnx_word *row, const onnx_writer *w) {
    const int version = !*row->domain ? w->opset : onnx_domain_version(w, row->domain);
    return row->since <= version && is_newest(row, version);
}

/* One of ONNX's inputs: a constant that a step has put, a tensor of the node, or absent. */
typedef struct said_input {
    const onnx_made *made; /* NULL: none */
    uint32_t tensor;       /* IR_NONE: absent */
} said_input;

/* ONNX's inputs: the node's, with the constants that steps have put at their places. */
static said_input *arrange(const onnx_out *out, size_t *count) {
    const size_t of_node = out->input_count - out->said;
    said_input *list = BASE_NEWS(out->arena, said_input, 2 * (of_node + out->made.n) + 64);
    size_t next = 0, made = 0, n = 0;
    for (size_t at = 0; next < of_node || made < out->made.n; at++) {
        size_t k = 0;
        while (k < out->made.n && out->made.at[k].at != at) {
            k++;
        }
        list[n].tensor = IR_NONE;
        if (k < out->made.n) {
            list[n].made = &out->made.at[k];
            next += list[n].made->replaces;
            made++;
        } else if (!(at < 64 && (out->absent >> at & 1)) && next < of_node) {
            list[n].tensor = out->inputs[next++];
        }
        n++;
    }
    *count = n;
    return list;
}

/* The type of ONNX's output. */
static base_type given_type(const onnx_frame *f, const onnx_out *out, size_t output) {
    const base_type other = output < ONNX_MOST_CAST ? out->gives[output] : BASE_NONE;
    return other != BASE_NONE ? other : f->g->tensors.at[out->node->outputs[output]].type;
}

/* Has the version the operator, for those types? */
static bool fits(const onnx_frame *f, onnx_out *out) {
    const ir_node *n = out->node;
    size_t count;
    const said_input *inputs = arrange(out, &count);
    base_type *types = BASE_NEWS(out->arena, base_type, count + n->output_count + 1);
    for (size_t i = 0; i < count; i++) {
        types[i] = inputs[i].made                ? inputs[i].made->type
                   : inputs[i].tensor != IR_NONE ? f->g->tensors.at[inputs[i].tensor].type
                                                 : BASE_NONE;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        types[count + i] = given_type(f, out, i);
    }
    out->why = *out->word->domain ? NULL
                                  : onnx_types_why(out->arena, out->word->op, f->w->opset, types, count, types + count,
                                                   n->output_count);
    for (size_t i = 0; i < out->word->needed && !out->why; i++) {
        if (i >= count || (!inputs[i].made && inputs[i].tensor == IR_NONE)) {
            onnx_out_cannot(out, "%s needs input %zu, and it is absent", out->word->op, i);
        }
    }
    return !out->why;
}

/* The first row that can say the node; *why: else the reason of the last one that has its word. */
static bool say_node(onnx_frame *f, const ir_node *n, onnx_out *out, const char **why) {
    *why = NULL;
    for (size_t i = 0; onnx_word_at(i); i++) {
        const onnx_word *row = onnx_word_at(i);
        if (!row->word || strcmp(row->word, n->op) != 0 || !holds(row, f->w)) {
            continue;
        }
        *out = (onnx_out){.arena = f->w->arena, .ops = f->w->ops, .m = f->w->m, .g = f->g, .node = n, .word = row};
        out->opset = f->w->opset;
        if (onnx_say(out) && fits(f, out)) {
            return true;
        }
        *why = *why ? *why : out->why;
    }
    *why = *why ? *why : "it has no such operator";
    return false;
}

static void put_said(onnx_frame *f, const ir_node *node, const onnx_out *out) {
    size_t n;
    const said_input *inputs = arrange(out, &n);
    const char **names = BASE_NEWS(f->w->arena, const char *, n + 1),
               **outputs = BASE_NEWS(f->w->arena, const char *, node->output_count + 1);
    for (size_t i = 0; i < n; i++) {
        const onnx_made *m = inputs[i].made;
        names[i] = m                             ? onnx_put_constant(f, m->name, m->type, &m->shape, m->data)
                   : inputs[i].tensor != IR_NONE ? f->name_of[inputs[i].tensor]
                                                 : "";
    }
    for (size_t i = 0; i < node->output_count; i++) {
        const base_type type = given_type(f, out, i);
        outputs[i] = onnx_output_name(f, node, i);
        if (type != f->g->tensors.at[node->outputs[i]].type) {
            outputs[i] = onnx_unique_name(f->w, "", "wide");
            onnx_note_type(f->w, outputs[i], type);
        }
    }
    onnx_put_node(f, out->word->domain, out->word->op, names, n, outputs, node->output_count, out->attrs.at,
                  out->attrs.n);
    for (size_t i = 0; i < node->output_count; i++) {
        const base_type type = f->g->tensors.at[node->outputs[i]].type;
        if (type != given_type(f, out, i)) {
            const onnx_put_attr to = {.name = "to", .type = ONNX_INT, .i = onnx_type_code(type)};
            const char *name = onnx_output_name(f, node, i);
            onnx_put_node(f, "", "Cast", &outputs[i], 1, &name, 1, &to, 1);
        }
    }
}

static void put_node(onnx_frame *f, size_t i) {
    const ir_node *n = &f->g->nodes.at[i];
    onnx_out out;
    const char *why;
    f->node = i;
    switch (ir_control_of(n)) {
    case IR_IF:
        onnx_put_if(f, i);
        return;
    case IR_WHILE:
        onnx_put_while(f, i);
        return;
    default:
        break;
    }
    if (say_node(f, n, &out, &why)) {
        put_said(f, n, &out);
    } else if (!onnx_put_several(f, i)) {
        onnx_frame_cannot(f, i, why);
    }
}

/* A state that the node changes has a new name behind it: the last one is the output's. */
static void put_changing(onnx_frame *f, size_t node) {
    onnx_writer *w = f->w;
    const ir_node *n = &f->g->nodes.at[node];
    const size_t count = w->m->states.n ? n->output_count : 0;
    for (size_t k = 0; k < count; k++) {
        const uint32_t s = f->g->tensors.at[n->outputs[k]].state;
        if (s != IR_NONE) {
            w->state_put[s] =
                w->last_change[s] == n ? w->state_next[s] : onnx_unique_name(w, w->state_name[s], "state");
            onnx_note_type(w, w->state_put[s], w->m->states.at[s].type);
        }
    }
    put_node(f, node);
    for (size_t k = 0; k < count; k++) {
        const uint32_t s = f->g->tensors.at[n->outputs[k]].state;
        if (s != IR_NONE) {
            onnx_name_state(f, s, w->state_put[s]);
        }
    }
}

/* The first version behind the one that is wanted that can say the node; 0: none. */
static int later_opset(const onnx_frame *f, size_t node) {
    base_arena *scratch = base_arena_new(base_arena_memory(f->w->arena));
    int found = 0;
    for (int opset = f->w->opset + 1; opset <= ONNX_NEWEST_OPSET && !found; opset++) {
        base_diags unheard = {.arena = scratch};
        onnx_writer asker = {
            .arena = scratch, .m = f->w->m, .ops = f->w->ops, .opset = opset, .asks = true, .d = &unheard};
        onnx_sheet sheet = onnx_sheet_new(&asker);
        onnx_frame one = *f;
        asker.newest_ml = f->w->newest_ml;
        asker.names = base_map_new(scratch);
        asker.state_put = f->w->state_put;
        one.w = &asker;
        one.sheet = &sheet;
        for (size_t t = 0; t < f->g->tensors.n; t++) {
            if (f->name_of[t]) {
                onnx_note_type(&asker, f->name_of[t], f->g->tensors.at[t].type);
            }
        }
        put_node(&one, node);
        found = asker.status == BASE_OK ? opset : 0;
    }
    base_arena_free(scratch);
    return found;
}

void onnx_frame_cannot(onnx_frame *f, size_t node, const char *why) {
    enum { MOST_ASKED = 20 }; /* what is wrong everywhere is told by some */
    onnx_writer *w = f->w;
    const base_place place = ir_place_node(w->m, f->g, node);
    const char *op = f->g->nodes.at[node].op;
    if (w->asks || !w->only_opset || w->d->errors >= MOST_ASKED) {
        w->status = base_error(w->d, &place, "ONNX cannot say %s: %s", op, why);
        return;
    }
    const int later = later_opset(f, node);
    w->status = later ? base_error(w->d, &place,
                                   "version %d of ONNX's operators cannot say %s: %s; version %d is the first that can",
                                   w->opset, op, why, later)
                      : base_error(w->d, &place, "ONNX cannot say %s: %s", op, why);
}

/* In the newest version, whose operators are those of the others. Names are none that anybody sees. */
bool onnx_says(base_arena *scratch, ops_registry *ops, const ir_model *m, const ir_graph *g, const ir_node *n) {
    base_diags unheard = {.arena = scratch};
    onnx_writer w = {.arena = scratch, .m = m, .ops = ops, .opset = ONNX_NEWEST_OPSET, .asks = true, .d = &unheard};
    onnx_sheet sheet = {.nodes = {.arena = scratch}};
    onnx_frame f = {.w = &w, .sheet = &sheet, .g = g};
    onnx_out out;
    const char *why;
    if (ir_control_of(n) != IR_PLAIN || say_node(&f, n, &out, &why)) {
        return true;
    }
    w.newest_ml = true;
    if (say_node(&f, n, &out, &why)) {
        return true;
    }
    ir_graph alone = *g; /* a graph of this node */
    alone.nodes.at = BASE_NEW(scratch, ir_node);
    alone.nodes.at[0] = *n;
    alone.nodes.n = 1;
    w.names = base_map_new(scratch);
    f.g = &alone;
    f.name_of = BASE_NEWS(scratch, const char *, g->tensors.n + 1);
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        if (t != IR_NONE) {
            f.name_of[t] = base_printf(scratch, "t%lu", (unsigned long)t);
            onnx_note_type(&w, f.name_of[t], g->tensors.at[t].type);
        }
    }
    return onnx_put_several(&f, 0) && w.status == BASE_OK;
}

void onnx_frame_put(onnx_frame *f) {
    static const uint64_t most_nodes = (uint64_t)1 << 22;
    for (size_t t = 0; t < f->g->tensors.n; t++) {
        const ir_tensor *x = &f->g->tensors.at[t];
        if (x->data && f->is_used[t] && x->state == IR_NONE) {
            onnx_put_contents(f, f->name_of[t], x->type, &x->shape, x->data);
        }
    }
    for (size_t i = 0; i < f->g->nodes.n && f->w->size <= most_nodes && !(f->w->asks && f->w->status != BASE_OK); i++) {
        if (!f->is_said[i] && ++f->w->size > most_nodes) {
            onnx_frame_cannot(f, i, "the file would have too many nodes");
        } else if (!f->is_said[i]) {
            put_changing(f, i);
        }
    }
}
