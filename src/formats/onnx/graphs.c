/* graphs.c - GraphProto: the constants, inputs, nodes and outputs of a graph.
 *
 * Takes untrusted messages. Gives them in the scope's graph, nodes in an order in which they can be executed (order.c).
 * O(fields).
 */
#include "formats/onnx/states.h"

#include <string.h>

typedef struct parts {
    BASE_VEC(wire_pb_field) nodes, constants, sparse, inputs, outputs;
    const char *name;
} parts;

static void read_parts(onnx_reader *r, const wire_path *path, wire_message m, parts *p) {
    wire_pb_field f;
    p->name = "";
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        switch (f.number) {
        case ONNX_GRAPH_NAME:
            p->name = wire_pb_text(r->arena, &r->pb, path, &f);
            break;
        case ONNX_GRAPH_NODE:
            *BASE_PUSH(r->arena, &p->nodes) = f;
            break;
        case ONNX_GRAPH_INITIALIZER:
            *BASE_PUSH(r->arena, &p->constants) = f;
            break;
        case ONNX_GRAPH_SPARSE_INITIALIZER:
            *BASE_PUSH(r->arena, &p->sparse) = f;
            break;
        case ONNX_GRAPH_INPUT:
            *BASE_PUSH(r->arena, &p->inputs) = f;
            break;
        case ONNX_GRAPH_OUTPUT:
            *BASE_PUSH(r->arena, &p->outputs) = f;
            break;
        default:
            break;
        }
    }
}

static uint32_t add_tensor(onnx_reader *r, const onnx_scope *scope, const ir_tensor *t) {
    const uint32_t index = ir_tensor_add(r->m, onnx_graph_of(r, scope), t->name, t->type, &t->shape);
    ir_tensor *to = &onnx_graph_of(r, scope)->tensors.at[index];
    *to = *t;
    to->source = index;
    return index;
}

/* What is not supported has a name all the same, so that what reads it is no fault. */
static void add_constant(onnx_reader *r, wire_path *place, const wire_pb_field *f, bool fine, ir_tensor *t,
                         onnx_scope *scope) {
    if (wire_pb_failed(&r->pb)) {
        return;
    }
    const char *name = t->name ? t->name : "";
    place->note = name;
    place->quoted = true;
    onnx_value value = {.tensor = fine ? add_tensor(r, scope, t) : onnx_new_tensor(r, scope, name)};
    if ((fine && !*name) || !onnx_define(r, scope, name, value)) {
        wire_pb_error(&r->pb, place, f->at, *name ? "there is another of this name" : "it has no name");
    }
}

static void read_constants(onnx_reader *r, const wire_path *path, const parts *p, onnx_scope *scope) {
    for (size_t i = 0; i < p->constants.n && !wire_pb_failed(&r->pb); i++) {
        wire_path place = {.outer = path, .name = "initializer", .index = (int64_t)i};
        ir_tensor t = {.name = ""};
        const bool fine = onnx_read_tensor(r, &place, wire_pb_message(&r->pb, &place, &p->constants.at[i]), &t);
        add_constant(r, &place, &p->constants.at[i], fine, &t, scope);
    }
    for (size_t i = 0; i < p->sparse.n && !wire_pb_failed(&r->pb); i++) {
        wire_path place = {.outer = path, .name = "sparse_initializer", .index = (int64_t)i};
        ir_tensor t = {.name = ""};
        const bool fine = onnx_read_sparse(r, &place, wire_pb_message(&r->pb, &place, &p->sparse.at[i]), &t);
        add_constant(r, &place, &p->sparse.at[i], fine, &t, scope);
    }
}

static void note_open(onnx_reader *r, uint32_t tensor, const ir_shape *s, const char *const dims[IR_MAX_RANK]) {
    while (r->open.n <= tensor) {
        *BASE_PUSH(r->arena, &r->open) = NULL;
    }
    for (uint32_t k = 0; k < s->rank; k++) {
        size_t i = 0;
        if (!dims[k]) {
            continue;
        }
        while (i < r->dims.n && strcmp(r->dims.at[i], dims[k]) != 0) {
            i++;
        }
        if (i == r->dims.n) {
            *BASE_PUSH(r->arena, &r->dims) = dims[k];
        }
        r->open.at[tensor] = r->open.at[tensor] ? r->open.at[tensor] : BASE_NEWS(r->arena, uint32_t, IR_MAX_RANK);
        r->open.at[tensor][k] = (uint32_t)(i + 1);
    }
}

static onnx_stated stated_at(onnx_reader *r, const wire_path *place, const wire_pb_field *f) {
    return onnx_read_stated(r, place, wire_pb_message(&r->pb, place, f));
}

static bool is_list(const onnx_stated *s) {
    return s->form && *s->form != 'T';
}

/* Contents that are to make an input constant, and are for none, or one of several; taken: of each, how many inputs. */
static void check_constant_lists(onnx_reader *r, const size_t *taken, size_t inputs) {
    for (size_t i = 0; i < r->options.list_count && !r->usage; i++) {
        const char *name = r->options.lists[i].name;
        const char *shown = name ? base_printable(r->arena, name, strlen(name), 60) : "";
        size_t first = 0;
        while (name && strcmp(r->options.lists[first].name ? r->options.lists[first].name : "", name) != 0) {
            first++;
        }
        r->usage = r->pb.failed = true;
        if (!name && inputs != 1) {
            base_error(r->d, NULL, "constant: the model has %zu inputs; say which by NAME=", inputs);
        } else if (taken[i] == 0) {
            base_error(r->d, NULL, "constant: the file holds a sequence or an optional value, and %s%s%s is none",
                       name ? "input \"" : "the model's input", shown, name ? "\"" : "");
        } else if (name && first != i) {
            base_error(r->d, NULL, "constant: input \"%s\" is given twice", shown);
        } else {
            r->usage = r->pb.failed = false;
        }
    }
}

/* Where one is no tensor, the model says which tensors each has. */
static void list_inputs(onnx_reader *r, const wire_path *path, const parts *p, const onnx_scope *scope) {
    size_t *taken = BASE_NEWS(r->arena, size_t, r->options.list_count + 1), inputs = 0;
    bool lists = false;
    for (size_t i = 0; i < p->inputs.n && !wire_pb_failed(&r->pb); i++) {
        const wire_path place = {.outer = path, .name = "input", .index = (int64_t)i};
        const onnx_stated s = stated_at(r, &place, &p->inputs.at[i]);
        if (!wire_pb_failed(&r->pb) && !base_map_get(scope->names, s.name, strlen(s.name))) {
            inputs++;
            const formats_contents *constant = is_list(&s) ? onnx_constant_list(r, s.name) : NULL;
            for (size_t k = 0; k < r->options.list_count && constant; k++) {
                const char *name = r->options.lists[k].name;
                taken[k] += !name || strcmp(name, s.name) == 0;
            }
            if (!constant) {
                lists = lists || is_list(&s);
                *BASE_PUSH(r->arena, &r->m->takes) = (ir_listed){s.name, "T"};
            }
        }
    }
    r->m->takes.n = lists ? r->m->takes.n : 0;
    if (!wire_pb_failed(&r->pb)) {
        check_constant_lists(r, taken, inputs);
    }
}

/* An input that has an initializer is a constant: old models list their weights so. */
static void read_inputs(onnx_reader *r, const wire_path *path, const parts *p, onnx_scope *scope) {
    size_t at = 0;
    list_inputs(r, path, p, scope);
    if (r->m->takes.n && !wire_pb_failed(&r->pb) &&
        formats_check_takes(r->arena, r->m, r->options.contents, r->options.content_count, r->d)) {
        r->usage = true;
        r->pb.failed = true;
        return;
    }
    for (size_t i = 0; i < p->inputs.n && !wire_pb_failed(&r->pb); i++) {
        wire_path place = {.outer = path, .name = "input", .index = (int64_t)i};
        const char *dims[IR_MAX_RANK] = {NULL};
        ir_tensor t;
        const bool may_be_list = r->m->takes.n || r->options.list_count;
        const onnx_stated s = may_be_list ? stated_at(r, &place, &p->inputs.at[i]) : (onnx_stated){.form = "T"};
        if (is_list(&s) && !wire_pb_failed(&r->pb)) {
            place.note = s.name;
            place.quoted = true;
            if (onnx_constant_list(r, s.name)) {
                onnx_constant_input(r, &place, p->inputs.at[i].at, scope, &s);
                continue;
            }
            onnx_list_input(r, &place, p->inputs.at[i].at, scope, &s, at++);
            const ir_graph *g = onnx_graph_of(r, scope);
            if (g->inputs.n) {
                note_open(r, g->inputs.at[g->inputs.n - 1], &(ir_shape){0}, dims);
            }
            continue;
        }
        const bool typed = onnx_read_value(r, &place, wire_pb_message(&r->pb, &place, &p->inputs.at[i]), &t, dims);
        place.note = t.name;
        place.quoted = true;
        if (wire_pb_failed(&r->pb) || base_map_get(scope->names, t.name, strlen(t.name))) {
            if (!wire_pb_failed(&r->pb)) {
                onnx_keep_state(r, scope, t.name);
            }
            continue;
        }
        if (!*t.name) {
            wire_pb_error(&r->pb, &place, p->inputs.at[i].at, "it has no name");
            return;
        }
        at++;
        const uint32_t index = add_tensor(r, scope, &t);
        (void)onnx_define(r, scope, t.name, (onnx_value){.tensor = index});
        *BASE_PUSH(r->arena, &onnx_graph_of(r, scope)->inputs) = index;
        if (typed && !scope->outer) {
            note_open(r, index, &t.shape, dims);
        } else if (!typed && !formats_notes_count(r->notes)) {
            wire_pb_error(&r->pb, &place, p->inputs.at[i].at, "it has no type");
        }
    }
    if (r->m->takes.n && !wire_pb_failed(&r->pb) && r->options.content_count) {
        r->options.contents = formats_flatten_contents(r->arena, r->m, r->options.contents, r->options.content_count,
                                                       &r->options.content_count);
    }
}

/* An output that another name stands for, of a constant or an input of the graph too, is a copy: it has its own name. */
static uint32_t output_tensor(onnx_reader *r, const onnx_scope *scope, uint32_t tensor, const char *name) {
    const ir_tensor from = onnx_graph_of(r, scope)->tensors.at[tensor];
    if (strcmp(from.name, name) == 0 || from.type == BASE_NONE) {
        return tensor;
    }
    const uint32_t to = ir_tensor_add(r->m, onnx_graph_of(r, scope), name, from.type, &from.shape);
    ir_node_add(r->m, onnx_graph_of(r, scope), "identity", &tensor, 1, &to, 1, IR_NONE)->source_name = "Identity";
    return to;
}

/* An output that is no tensor: its tensors are outputs. */
static void add_listed(onnx_reader *r, const onnx_scope *scope, const onnx_value *v, const char *name) {
    if (v->kind == ONNX_A_TENSOR) {
        const uint32_t tensor = output_tensor(r, scope, v->tensor, name);
        *BASE_PUSH(r->arena, &onnx_graph_of(r, scope)->outputs) = tensor;
    }
    for (size_t i = 0; i < v->n; i++) {
        add_listed(r, scope, &v->at[i], v->kind == ONNX_A_SEQUENCE ? base_printf(r->arena, "%s[%zu]", name, i) : name);
    }
}

static void warn(onnx_reader *r, const wire_path *path, uint64_t byte, const char *what) {
    const base_place place = {.file = r->file, .path = wire_path_print(r->arena, path), .byte = byte, .has_byte = true};
    base_warn(r->d, &place, "%s", what);
}

/* Is it an optional value, or a sequence of some, whose content only a run gives? */
static bool may_lack(const onnx_value *v) {
    bool may = v->kind == ONNX_AN_OPTIONAL && v->tensor != IR_NONE;
    for (size_t i = 0; i < v->n && !may; i++) {
        may = may_lack(&v->at[i]);
    }
    return may;
}

static void read_outputs(onnx_reader *r, const wire_path *path, const parts *p, onnx_scope *scope) {
    bool lists = false;
    for (size_t i = 0; i < p->outputs.n && !wire_pb_failed(&r->pb); i++) {
        wire_path place = {.outer = path, .name = "output", .index = (int64_t)i};
        const char *dims[IR_MAX_RANK];
        ir_tensor t = {.type = BASE_NONE};
        const onnx_stated s = stated_at(r, &place, &p->outputs.at[i]);
        if (!wire_pb_failed(&r->pb) && onnx_is_next_state(r, s.name)) {
            continue;
        }
        const onnx_value *value = wire_pb_failed(&r->pb) ? NULL : onnx_find(r, scope, s.name);
        const bool unknown = value && onnx_is_unknown(r, scope, value);
        base_text form = {.arena = r->arena};
        if (value && !unknown && may_lack(value)) {
            formats_note(r->notes, &place, p->outputs.at[i].at, "an output that a run may leave without content",
                         "give what is in it, and whether it is there, as tensors");
            continue;
        }
        if (value && !unknown) {
            onnx_put_form(&form, value);
            *BASE_PUSH(r->arena, &r->m->gives) = (ir_listed){s.name, form.at};
        }
        if (value && (value->kind != ONNX_A_TENSOR || (unknown && s.form && *s.form != 'T'))) {
            lists = true;
            if (!unknown) {
                add_listed(r, scope, value, s.name);
            }
            continue;
        }
        if (!value || !value->instead) {
            (void)onnx_read_value(r, &place, wire_pb_message(&r->pb, &place, &p->outputs.at[i]), &t, dims);
        }
        place.note = s.name;
        place.quoted = true;
        if (value && value->tensor != IR_NONE) {
            const uint32_t tensor = output_tensor(r, scope, value->tensor, s.name);
            *BASE_PUSH(r->arena, &onnx_graph_of(r, scope)->outputs) = tensor;
            const ir_tensor *given = &onnx_graph_of(r, scope)->tensors.at[tensor];
            if (value->instead) {
                warn(r, &place, p->outputs.at[i].at, value->instead);
            } else if (t.type != BASE_NONE && given->type != BASE_NONE && given->type != t.type) {
                wire_pb_error(&r->pb, &place, p->outputs.at[i].at, "it is stated as %s, and what gives it gives %s",
                              base_type_name(t.type), base_type_name(given->type));
            }
        } else if (!wire_pb_failed(&r->pb) && !formats_notes_count(r->notes)) {
            wire_pb_error(&r->pb, &place, p->outputs.at[i].at, "no node gives it");
        }
    }
    r->m->gives.n = lists ? r->m->gives.n : 0;
}

void onnx_read_graph(onnx_reader *r, const wire_path *path, wire_message m, onnx_scope *scope) {
    parts p = {0};
    read_parts(r, path, m, &p);
    if (!wire_pb_failed(&r->pb)) {
        onnx_graph_of(r, scope)->name = p.name;
        read_constants(r, path, &p, scope);
        read_inputs(r, path, &p, scope);
    }
    if (!wire_pb_failed(&r->pb) && !formats_notes_count(r->notes)) {
        onnx_set_inputs(r, path);
    }
    onnx_read_nodes(r, path, p.nodes.at, p.nodes.n, scope);
    if (!wire_pb_failed(&r->pb)) {
        read_outputs(r, path, &p, scope);
    }
    if (!wire_pb_failed(&r->pb)) {
        onnx_change_states(r, path, scope);
    }
    onnx_forget_state_keys(r->m);
}

/* ---- graphs below others ---- */

/* Of a ValueInfoProto the name; and the type of elements, where it states one of a tensor. */
static const char *read_name(onnx_reader *r, const wire_path *path, wire_message m, int64_t *type) {
    static const uint32_t way[] = {ONNX_VALUE_TYPE, ONNX_TYPE_TENSOR, ONNX_TENSOR_TYPE_ELEM};
    const char *name = "";
    *type = 0;
    for (size_t depth = 0; depth < sizeof way / sizeof *way; depth++) {
        wire_message below = {0};
        wire_pb_field f;
        while (wire_pb_next(&r->pb, path, &m, &f)) {
            if (!depth && f.number == ONNX_VALUE_NAME) {
                name = wire_pb_text(r->arena, &r->pb, path, &f);
            } else if (f.number == way[depth] && depth == 2) {
                *type = wire_pb_int(&r->pb, path, &f);
            } else if (f.number == way[depth]) {
                below = wire_pb_message(&r->pb, path, &f);
            }
        }
        m = below;
    }
    return name;
}

static void check_type(onnx_reader *r, const wire_path *path, const onnx_scope *scope, uint64_t byte, int64_t type,
                       const onnx_value *v) {
    const base_type stated = onnx_type_base(type);
    const base_type given = v->kind == ONNX_A_TENSOR && v->tensor != IR_NONE
                                ? onnx_graph_of(r, scope)->tensors.at[v->tensor].type
                                : BASE_NONE;
    if (stated != BASE_NONE && given != BASE_NONE && stated != given) {
        wire_pb_error(&r->pb, path, byte, "it is stated as %s, and what gives it gives %s", base_type_name(stated),
                      base_type_name(given));
    }
}

/* Inputs that have an initializer are constants. */
static void bind_inputs(onnx_reader *r, const wire_path *path, uint64_t byte, const parts *p, onnx_scope *scope,
                        const onnx_value *inputs, size_t count) {
    size_t bound = 0;
    for (size_t i = 0; i < p->inputs.n && !wire_pb_failed(&r->pb); i++) {
        wire_path place = {.outer = path, .name = "input", .index = (int64_t)i};
        int64_t type;
        const char *name = read_name(r, &place, wire_pb_message(&r->pb, &place, &p->inputs.at[i]), &type);
        place.note = name;
        place.quoted = true;
        if (wire_pb_failed(&r->pb) || base_map_get(scope->names, name, strlen(name))) {
            continue;
        }
        if (bound < count) {
            check_type(r, &place, scope, p->inputs.at[i].at, type, &inputs[bound]);
            (void)onnx_define(r, scope, name, inputs[bound]);
        }
        bound++;
    }
    if (bound != count && !wire_pb_failed(&r->pb)) {
        wire_pb_error(&r->pb, path, byte, "the graph takes %zu inputs, and is given %zu", bound, count);
    }
}

bool onnx_read_body(onnx_reader *r, const wire_path *path, wire_message m, onnx_scope *scope, const onnx_value *inputs,
                    size_t input_count, onnx_values *outputs) {
    parts p = {0};
    if (++r->depth > ONNX_MOST_DEPTH) {
        wire_pb_error(&r->pb, path, m.at, "graphs and functions are more than %d deep in each other", ONNX_MOST_DEPTH);
    }
    read_parts(r, path, m, &p);
    if (!wire_pb_failed(&r->pb)) {
        read_constants(r, path, &p, scope);
        bind_inputs(r, path, m.at, &p, scope, inputs, input_count);
    }
    onnx_read_nodes(r, path, p.nodes.at, p.nodes.n, scope);
    for (size_t i = 0; i < p.outputs.n && !wire_pb_failed(&r->pb); i++) {
        wire_path place = {.outer = path, .name = "output", .index = (int64_t)i};
        int64_t type;
        const char *name = read_name(r, &place, wire_pb_message(&r->pb, &place, &p.outputs.at[i]), &type);
        const onnx_value *value = wire_pb_failed(&r->pb) ? NULL : onnx_find(r, scope, name);
        place.note = name;
        place.quoted = true;
        if (value && value->instead) {
            formats_note(r->notes, &place, p.outputs.at[i].at, "a graph below another that gives strings or maps",
                         "let the model end in its classifier");
            *BASE_PUSH(r->arena, outputs) = *value;
        } else if (value) {
            check_type(r, &place, scope, p.outputs.at[i].at, type, value);
            *BASE_PUSH(r->arena, outputs) = *value;
        } else if (!wire_pb_failed(&r->pb)) {
            wire_pb_error(&r->pb, &place, p.outputs.at[i].at, "no node gives it");
        }
    }
    r->depth--;
    return !wire_pb_failed(&r->pb);
}
