/* custom.c - the options of custom operators: a FlexBuffers map becomes the node's attributes, and back.
 *
 * Takes untrusted bytes, or a node. Gives attributes, each by its key; keys that begin with _ are the converter's own and
 * are passed over, null is no attribute. Integers and conditions are ints, vectors of numbers lists. Knows no operator.
 */
#include "formats/tflite/steps.h"

#include <string.h>

enum { MOST_ATTRIBUTES = 64, MOST_ELEMENTS = 64 };

/* Where the options are in the file, for errors. */
typedef struct options_of {
    tflite_op *op;
    wire_path path;
    wire_flex flex;
    uint64_t byte;
} options_of;

static void refuse(options_of *o, const char *key, const char *what) {
    wire_fb_error(&o->op->r->fb, &o->path, o->byte, "%s%s%s", key ? base_printf(o->op->r->arena, "\"%s\" ", key) : "",
                  key ? "is " : "", what);
}

static bool is_word(const char *s) {
    bool good = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
    for (; *s; s++) {
        good = good && ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_');
    }
    return good;
}

static void list_attribute(options_of *o, const char *key, const wire_flex_value *v) {
    int64_t ints[MOST_ELEMENTS];
    double floats[MOST_ELEMENTS];
    bool real = false;
    if (v->n > MOST_ELEMENTS) {
        refuse(o, key, "a list of more than 64 values");
        return;
    }
    for (uint64_t i = 0; i < v->n; i++) {
        wire_flex_value e = wire_flex_at(&o->flex, v, i);
        if (wire_flex_failed(&o->flex)) {
            return;
        }
        if (e.kind != WIRE_FLEX_BOOL && e.kind != WIRE_FLEX_INT && e.kind != WIRE_FLEX_UINT &&
            e.kind != WIRE_FLEX_FLOAT) {
            refuse(o, key, "a list of other things than numbers");
            return;
        }
        real = real || e.kind == WIRE_FLEX_FLOAT;
        ints[i] = wire_flex_int(&o->flex, &e);
        floats[i] = wire_flex_float(&o->flex, &e);
    }
    if (real) {
        ir_attr_floats(o->op->r->m, o->op->node, key, floats, (size_t)v->n);
    } else {
        ir_attr_ints(o->op->r->m, o->op->node, key, ints, (size_t)v->n);
    }
}

static void attribute(options_of *o, const char *key, const wire_flex_value *v) {
    ir_model *m = o->op->r->m;
    base_bytes text;
    switch (v->kind) {
    case WIRE_FLEX_NULL:
        break;
    case WIRE_FLEX_BOOL:
    case WIRE_FLEX_INT:
    case WIRE_FLEX_UINT:
        ir_attr_int(m, o->op->node, key, wire_flex_int(&o->flex, v));
        break;
    case WIRE_FLEX_FLOAT:
        ir_attr_float(m, o->op->node, key, wire_flex_float(&o->flex, v));
        break;
    case WIRE_FLEX_TEXT:
        text = wire_flex_bytes(&o->flex, v);
        if (text.size && memchr(text.at, 0, text.size)) {
            refuse(o, key, "a text with a byte 0");
        } else {
            ir_attr_text(m, o->op->node, key, base_strndup(o->op->r->arena, (const char *)text.at, text.size));
        }
        break;
    case WIRE_FLEX_VECTOR:
        list_attribute(o, key, v);
        break;
    default:
        refuse(o, key, "neither a number, a text nor a list of numbers");
        break;
    }
}

static void attributes(options_of *o, const wire_flex_value *map) {
    size_t count = 0;
    for (uint64_t i = 0; i < map->n && !wire_fb_failed(&o->op->r->fb) && !wire_flex_failed(&o->flex); i++) {
        base_bytes name = wire_flex_key(&o->flex, map, i);
        wire_flex_value v = wire_flex_at(&o->flex, map, i);
        if (wire_flex_failed(&o->flex)) {
            break;
        }
        char *key = base_strndup(o->op->r->arena, (const char *)name.at, name.size);
        if (*key == '_') {
            continue;
        }
        if (!is_word(key)) {
            refuse(o, base_printable(o->op->r->arena, key, name.size, 60), "no name of an attribute");
        } else if (ir_attr_find(o->op->node, key)) {
            refuse(o, key, "there twice");
        } else if (++count > MOST_ATTRIBUTES) {
            refuse(o, NULL, "more than 64 options");
        } else {
            attribute(o, key, &v);
        }
    }
}

/* ---- RAW ---- */

static void make_raw(tflite_op *op, const tflite_step *step) {
    wire_path path = {.outer = op->path, .name = "custom_options", .index = WIRE_NO_INDEX};
    base_bytes bytes = tflite_bytes(&op->r->fb, op->path, &op->table, TFLITE_Operator_custom_options);
    uint32_t v;
    if (wire_fb_failed(&op->r->fb)) {
        return;
    }
    if (!base_get_u32(bytes, (uint64_t)step->a, &v)) {
        wire_fb_error(&op->r->fb, &path, op->table.at, "they have %llu bytes, and end before \"%s\" at byte %d",
                      (unsigned long long)bytes.size, step->name, step->a);
        return;
    }
    ir_attr_int(op->r->m, op->node, step->name, (int32_t)v);
}

static void put_raw(tflite_out *out, const tflite_step *step) {
    const ir_attr *a = tflite_out_attr(out, step->name, IR_INT);
    const size_t end = (size_t)step->a + 4, before = (size_t)out->custom_options.size;
    if (!a || a->v.i < INT32_MIN || a->v.i > INT32_MAX) {
        tflite_out_cannot(out, "its %s is no number of 32 bits", step->name);
        return;
    }
    uint8_t *bytes = BASE_NEWS(out->arena, uint8_t, before > end ? before : end);
    if (before) {
        memcpy(bytes, out->custom_options.at, before);
    }
    for (unsigned i = 0; i < 4; i++) {
        bytes[(size_t)step->a + i] = (uint8_t)((uint32_t)a->v.i >> (8 * i));
    }
    out->custom_options = (base_bytes){bytes, before > end ? before : end};
}

const tflite_step_kind tflite_step_raw = {"RAW", make_raw, put_raw};

/* ---- all of it ---- */

void tflite_custom_attributes(tflite_op *op) {
    if (op->word->steps[0].kind == &tflite_step_raw) {
        return; /* its steps read them */
    }
    options_of o = {.op = op, .path = {.outer = op->path, .name = "custom_options", .index = WIRE_NO_INDEX}};
    base_bytes bytes = tflite_bytes(&op->r->fb, op->path, &op->table, TFLITE_Operator_custom_options);
    if (!bytes.size || wire_fb_failed(&op->r->fb)) {
        return;
    }
    o.byte = (uint64_t)(bytes.at - op->r->bytes.at);
    wire_flex_open(&o.flex, op->r->file, &o.path, o.byte, bytes, op->r->d);
    wire_flex_value root = wire_flex_root(&o.flex);
    if (!wire_flex_failed(&o.flex) && root.kind != WIRE_FLEX_MAP) {
        refuse(&o, NULL, "they are no FlexBuffers map, so that nothing says what they mean");
    } else {
        attributes(&o, &root);
    }
    op->r->fb.failed = op->r->fb.failed || wire_flex_failed(&o.flex);
}

/* ---- writing ---- */

static void entry_of(tflite_out *out, const ir_attr *a, wire_flex_entry *e) {
    *e = (wire_flex_entry){.key = a->name, .n = a->n};
    switch (a->kind) {
    case IR_INT:
        e->kind = WIRE_FLEX_INT;
        e->i = a->v.i;
        break;
    case IR_FLOAT:
        e->kind = WIRE_FLEX_FLOAT;
        e->f = a->v.f;
        break;
    case IR_TEXT:
        e->kind = WIRE_FLEX_TEXT;
        e->text = a->v.text;
        break;
    case IR_INTS:
    case IR_FLOATS:
        e->kind = WIRE_FLEX_VECTOR;
        e->ints = a->kind == IR_INTS ? a->v.ints : NULL;
        e->floats = a->kind == IR_FLOATS ? a->v.floats : NULL;
        break;
    case IR_GRAPH:
        tflite_out_cannot(out, "a custom operator of TFLite has no sub-graphs, as its attribute %s", a->name);
        break;
    }
    if (!is_word(a->name) || *a->name == '_' || (e->kind == WIRE_FLEX_VECTOR && a->n > MOST_ELEMENTS)) {
        tflite_out_cannot(out, "its attribute %s is none of a custom operator",
                          base_printable(out->arena, a->name, strlen(a->name), 60));
    }
}

void tflite_custom_options(tflite_out *out) {
    wire_flex_entry entries[MOST_ATTRIBUTES];
    size_t n = 0;
    /* A code is read printable: one with other bytes would be written as another. */
    if (!*out->word->custom || strstr(out->word->custom, "\\x")) {
        tflite_out_cannot(out, "its custom code \"%s\" has bytes that are not printable", out->word->custom);
    }
    for (size_t i = 0; i < out->node->attr_count && !out->why && out->word->steps[0].kind != &tflite_step_raw; i++) {
        const ir_attr *a = &out->node->attrs[i];
        if (i < MOST_ATTRIBUTES && !(out->claimed >> i & 1)) {
            entry_of(out, a, &entries[n++]);
            out->claimed |= (uint64_t)1 << i;
        }
    }
    if (n && !out->why) {
        out->custom_options = wire_flex_build_map(out->arena, entries, n);
    }
}
