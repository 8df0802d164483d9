/* lists.c - sequences and optional values as inputs and outputs of the model's graph, and as files (.pb).
 *
 * Takes untrusted messages. A SequenceProto and an OptionalProto have the same fields: tensors, or further lists. A sequence that
 * the graph takes has as many tensors as the run has that the model is read for; each is an input of the graph. Forms are those
 * of ir_listed.
 */
#include "formats/onnx/arrays.h"

#include <string.h>

#include "formats/onnx/special.h"

enum { LIST_NAME = 1, LIST_ELEM_TYPE = 2, LIST_TENSOR = 3, LIST_SEQUENCE = 5 }; /* SequenceProto, OptionalProto */
enum { OF_TENSORS = 1, OF_SEQUENCES = 3, MOST_NESTED = 8 };

/* ---- files ---- */

static bool read_list(onnx_reader *r, const wire_path *outer, wire_message m, unsigned depth, formats_contents *out) {
    BASE_VEC(formats_contents) parts = {0};
    wire_pb_field f;
    if (depth == MOST_NESTED) {
        wire_pb_error(&r->pb, outer, m.at, "lists are more than %d deep in each other", MOST_NESTED);
    }
    while (wire_pb_next(&r->pb, outer, &m, &f)) {
        const wire_path path = {.outer = outer, .name = "part", .index = (int64_t)parts.n};
        formats_contents part = {.type = "list"};
        ir_tensor t = {.name = ""};
        uint64_t bytes = 0;
        if (f.number == LIST_TENSOR) {
            if (!onnx_read_tensor(r, &path, wire_pb_message(&r->pb, &path, &f), &t) || !ir_tensor_bytes(&t, &bytes)) {
                return false;
            }
            part = (formats_contents){
                .type = base_type_name(t.type), .shape = t.shape, .data = t.data, .size = (size_t)bytes};
            *BASE_PUSH(r->arena, &parts) = part;
        } else if (f.number == LIST_SEQUENCE) {
            if (!read_list(r, &path, wire_pb_message(&r->pb, &path, &f), depth + 1, &part)) {
                return false;
            }
            *BASE_PUSH(r->arena, &parts) = part;
        } else if (f.number == LIST_NAME) {
            (void)wire_pb_bytes(&r->pb, &path, &f); /* a TensorProto has numbers there */
        } else if (f.number != LIST_ELEM_TYPE) {
            wire_pb_error(&r->pb, &path, f.at, "it is no tensor and no sequence of tensors");
        }
    }
    *out = (formats_contents){.type = "list", .parts = parts.at, .part_count = parts.n};
    return !wire_pb_failed(&r->pb);
}

base_status onnx_read_list(base_arena *arena, const char *file, base_bytes bytes, base_map *strings,
                           formats_contents *out, base_diags *d) {
    onnx_reader r = {.arena = arena, .file = file, .d = d, .strings = strings};
    const wire_path path = {.name = "list", .index = WIRE_NO_INDEX};
    r.notes = formats_notes_new(arena, file);
    wire_pb_open(&r.pb, file, bytes, d);
    const bool fine = read_list(&r, &path, wire_pb_root(&r.pb), 0, out);
    (void)formats_notes_report(r.notes, d);
    return fine ? BASE_OK : BASE_REFUSED;
}

/* The list that begins at *form, which is then behind it; so is *t behind its tensors. */
static wire_pb_out list_message(base_arena *arena, const base_map *strings, const char **form, const ir_tensor **t) {
    wire_pb_out out = {.arena = arena};
    const char *at = *form + 1;
    const bool nested = *at == '(' || *at == '[';
    wire_pb_put_int(&out, LIST_ELEM_TYPE, nested ? OF_SEQUENCES : OF_TENSORS);
    while (*at == 'T' || *at == '(' || *at == '[') {
        wire_pb_out part;
        if (*at == 'T') {
            part = onnx_tensor_message(arena, strings, (*t)++);
            at++;
        } else {
            part = list_message(arena, strings, &at, t);
        }
        wire_pb_put_message(&out, nested ? LIST_SEQUENCE : LIST_TENSOR, &part);
    }
    *form = at + 1;
    return out;
}

void onnx_write_list(base_arena *arena, const base_map *strings, const char *form, const ir_tensor *tensors,
                     base_text *out) {
    const wire_pb_out message = list_message(arena, strings, &form, &tensors);
    wire_pb_finish(&message, out);
}

/* ---- what a graph states ---- */

/* TypeProto: "T", "(T)" of a sequence, "[T]" of an optional value; NULL: another. */
static const char *form_of(onnx_reader *r, const wire_path *path, wire_message m, unsigned depth, int64_t *type) {
    wire_pb_field f, g;
    const char *form = NULL;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        const bool sequence = f.number == ONNX_TYPE_SEQUENCE, optional = f.number == ONNX_TYPE_OPTIONAL;
        if (f.number != ONNX_TYPE_TENSOR && !sequence && !optional) {
            continue;
        }
        wire_message below = wire_pb_message(&r->pb, path, &f);
        form = f.number == ONNX_TYPE_TENSOR ? "T" : NULL;
        while (wire_pb_next(&r->pb, path, &below, &g)) {
            if (f.number == ONNX_TYPE_TENSOR && g.number == ONNX_TENSOR_TYPE_ELEM) {
                *type = wire_pb_int(&r->pb, path, &g);
            } else if (f.number != ONNX_TYPE_TENSOR && g.number == ONNX_SEQUENCE_ELEM && depth < MOST_NESTED) {
                const char *inner = form_of(r, path, wire_pb_message(&r->pb, path, &g), depth + 1, type);
                form = inner ? base_printf(r->arena, sequence ? "(%s)" : "[%s]", inner) : NULL;
            }
        }
    }
    return form;
}

onnx_stated onnx_read_stated(onnx_reader *r, const wire_path *path, wire_message m) {
    onnx_stated s = {.name = "", .form = "T"};
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        if (f.number == ONNX_VALUE_NAME) {
            s.name = wire_pb_text(r->arena, &r->pb, path, &f);
        } else if (f.number == ONNX_VALUE_TYPE) {
            s.form = form_of(r, path, wire_pb_message(&r->pb, path, &f), 0, &s.type);
        }
    }
    return s;
}

/* ---- inputs ---- */

static bool is_list(const formats_contents *c) {
    return c->type && strcmp(c->type, "list") == 0;
}

/* The value of contents c, whose form is to be `form`; tensors become inputs of the graph, or, where actual is NULL,
 * constants. false: a fault. */
static bool make_input(onnx_reader *r, const wire_path *place, uint64_t byte, onnx_scope *scope, const onnx_stated *s,
                       const char *form, const char *name, const formats_contents *c, base_text *actual,
                       onnx_value *out) {
    if (*form == 'T') {
        const base_type type = c->type ? base_type_named(c->type, strlen(c->type)) : BASE_NONE;
        if (type == BASE_NONE || type != onnx_type_base(s->type)) {
            wire_pb_error(&r->pb, place, byte, "its contents are %s: expected tensors of %s",
                          c->type ? c->type : "of no type",
                          onnx_type_name(s->type) ? onnx_type_name(s->type) : "no type");
            return false;
        }
        ir_graph *g = onnx_graph_of(r, scope);
        const uint32_t index = ir_tensor_add(r->m, g, name, type, &c->shape);
        g->tensors.at[index].source = index;
        *out = (onnx_value){.tensor = index};
        if (!actual) {
            const void *data = formats_contents_data(r->arena, &g->tensors.at[index], c);
            g->tensors.at[index].data = data ? data : ""; /* of no elements */
            return true;
        }
        *BASE_PUSH(r->arena, &g->inputs) = index;
        base_puts(actual, "T");
        return true;
    }
    const bool sequence = *form == '(', list = is_list(c);
    const formats_contents *parts = list ? c->parts : c;
    const size_t n = list ? c->part_count : 1;
    if ((sequence && !list) || (!sequence && n > 1)) {
        wire_pb_error(&r->pb, place, byte,
                      sequence ? "it is a sequence, and its contents are none"
                               : "it is an optional value, and its contents are several");
        return false;
    }
    onnx_value *values = BASE_NEWS(r->arena, onnx_value, n + 1);
    if (actual) {
        base_puts(actual, sequence ? "(" : "[");
    }
    for (size_t i = 0; i < n; i++) {
        const char *part = sequence ? base_printf(r->arena, "%s[%zu]", name, i) : name;
        if (!make_input(r, place, byte, scope, s, form + 1, part, &parts[i], actual, &values[i])) {
            return false;
        }
    }
    if (actual) {
        base_puts(actual, sequence ? ")" : "]");
    }
    *out = (onnx_value){.kind = sequence ? ONNX_A_SEQUENCE : ONNX_AN_OPTIONAL, .tensor = IR_NONE, .n = n, .at = values};
    return true;
}

const formats_contents *onnx_constant_list(const onnx_reader *r, const char *name) {
    for (size_t i = 0; i < r->options.list_count; i++) {
        const char *given = r->options.lists[i].name;
        if (!given || strcmp(given, name) == 0) {
            return &r->options.lists[i];
        }
    }
    return NULL;
}

void onnx_constant_input(onnx_reader *r, const wire_path *place, uint64_t byte, onnx_scope *scope,
                         const onnx_stated *s) {
    onnx_value value = {.tensor = IR_NONE};
    if (make_input(r, place, byte, scope, s, s->form, s->name, onnx_constant_list(r, s->name), NULL, &value)) {
        (void)onnx_define(r, scope, s->name, value);
    }
}

void onnx_list_input(onnx_reader *r, const wire_path *place, uint64_t byte, onnx_scope *scope, const onnx_stated *s,
                     size_t at) {
    const formats_contents *c = formats_contents_for(r->m, at, r->options.contents, r->options.content_count);
    base_text actual = {.arena = r->arena};
    onnx_value value = {.tensor = IR_NONE};
    if (!c || r->options.constant_count) {
        formats_note(r->notes, place, byte,
                     c ? "a constant beside a sequence or optional value as input"
                       : "a sequence or optional value as input, for no run that says how many tensors it has,",
                     "give its contents: --constant NAME=FILE.pb; or run the model: burin run MODEL --input FILE.pb");
        value.tensor = onnx_new_tensor(r, scope, s->name);
    } else if (!make_input(r, place, byte, scope, s, s->form, s->name, c, &actual, &value)) {
        return;
    }
    r->m->takes.at[at].form = actual.n ? actual.at : "T";
    (void)onnx_define(r, scope, s->name, value);
}

/* ---- outputs ---- */

void onnx_put_form(base_text *out, const onnx_value *v) {
    if (v->kind == ONNX_A_TENSOR) {
        base_puts(out, "T");
        return;
    }
    base_puts(out, v->kind == ONNX_A_SEQUENCE ? "(" : "[");
    for (size_t i = 0; i < v->n; i++) {
        onnx_put_form(out, &v->at[i]);
    }
    base_puts(out, v->kind == ONNX_A_SEQUENCE ? ")" : "]");
}
