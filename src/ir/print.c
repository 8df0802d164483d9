/* print.c - the text form, printed (docs/IR.md is its definition).
 *
 * Takes a verified model. Gives text that ir_parse reads back to the same model: names escaped to printable ASCII,
 * floats as the shortest decimals that are exact, constants whole. The same model gives the same bytes on every
 * machine.
 */
#include "ir/text.h"

#include <assert.h>
#include <string.h>

static void put_string(base_text *out, const char *s, size_t n) {
    base_puts(out, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') {
            base_put(out, "\\%c", c);
        } else if (c >= 0x20 && c < 0x7f) {
            base_putn(out, &c, 1);
        } else {
            base_put(out, "\\x%02x", c);
        }
    }
    base_puts(out, "\"");
}

static void put_name(base_text *out, const char *s) {
    put_string(out, s ? s : "", s ? strlen(s) : 0);
}

/* An operator's or attribute's word: bare where it is a word, else a string. */
static void put_word(base_text *out, const char *s) {
    if (ir_text_is_word(s)) {
        base_puts(out, s);
    } else {
        put_name(out, s);
    }
}

static void put_tensor_ref(base_text *out, uint32_t t) {
    if (t == IR_NONE) {
        base_puts(out, "_");
    } else {
        base_put(out, "%%%lu", (unsigned long)t);
    }
}

static void put_refs(base_text *out, const uint32_t *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        base_puts(out, i ? ", " : "");
        put_tensor_ref(out, list[i]);
    }
}

static void put_hex(base_text *out, const uint8_t *data, uint64_t n) {
    base_puts(out, "hex \"");
    for (uint64_t i = 0; i < n; i++) {
        base_put(out, "%02x", data[i]);
    }
    base_puts(out, "\"");
}

static void put_base64(base_text *out, const uint8_t *data, uint64_t n) {
    enum { BYTES_A_LINE = 72 };
    base_puts(out, "base64 \"");
    for (uint64_t i = 0; i < n; i += 3) {
        uint32_t have = n - i < 3 ? (uint32_t)(n - i) : 3;
        uint32_t group = (uint32_t)data[i] << 16;
        group |= have > 1 ? (uint32_t)data[i + 1] << 8 : 0;
        group |= have > 2 ? (uint32_t)data[i + 2] : 0;
        char digits[4];
        for (uint32_t k = 0; k < 4; k++) {
            digits[k] = k <= have ? ir_text_base64[group >> (18 - 6 * k) & 63] : '=';
        }
        if (i % BYTES_A_LINE == 0) {
            base_puts(out, "\n        ");
        }
        base_putn(out, digits, 4);
    }
    base_puts(out, "\"");
}

static void put_quant(base_text *out, const ir_quant *q) {
    base_puts(out, " quant");
    if (q->axis || q->n > 1) {
        base_put(out, " axis %ld", (long)q->axis);
    }
    base_puts(out, " {");
    for (uint32_t i = 0; i < q->n; i++) {
        base_puts(out, i ? ", " : "");
        base_put_float(out, (double)q->scale[i]);
        base_put(out, ":%lld", (long long)q->zero[i]);
    }
    base_puts(out, "}");
}

/* f32[2,"T"] "name" */
static void put_type(base_text *out, const ir_model *m, base_type type, const ir_shape *shape, const char *name) {
    base_put(out, "%s[", base_type_name(type));
    for (uint32_t i = 0; i < shape->rank; i++) {
        base_puts(out, i ? "," : "");
        if (shape->symbol[i]) {
            put_name(out, m->symbols.at[shape->symbol[i] - 1].name);
        } else {
            base_put(out, "%lld", (long long)shape->dim[i]);
        }
    }
    base_puts(out, "] ");
    put_name(out, name);
}

static void put_contents(base_text *out, base_type type, const ir_shape *shape, const void *data) {
    enum { MOST_HEX = 32 };
    uint64_t elements = 0, bytes = 0;
    bool sane = ir_shape_elements(shape, &elements) && base_type_bytes(type, elements, &bytes);
    assert(sane);
    (void)sane;
    base_puts(out, " = ");
    (bytes <= MOST_HEX ? put_hex : put_base64)(out, data, bytes);
}

static void put_state(base_text *out, const ir_model *m, const ir_state *s, size_t index) {
    base_put(out, "state @%zu ", index);
    put_type(out, m, s->type, &s->shape, s->name);
    if (s->quant.n) {
        put_quant(out, &s->quant);
    }
    if (s->data) {
        put_contents(out, s->type, &s->shape, s->data);
    }
    base_puts(out, "\n");
}

static void put_tensor(base_text *out, const ir_model *m, const ir_tensor *t, size_t index) {
    base_put(out, "  tensor %%%zu ", index);
    put_type(out, m, t->type, &t->shape, t->name);
    if (t->source != IR_NONE) {
        base_put(out, " source %lu", (unsigned long)t->source);
    }
    if (t->state != IR_NONE) {
        base_put(out, " state @%lu", (unsigned long)t->state);
    }
    if (t->quant.n) {
        put_quant(out, &t->quant);
    }
    if (t->data) {
        put_contents(out, t->type, &t->shape, t->data);
    }
    base_puts(out, "\n");
}

static void put_attr(base_text *out, const ir_attr *a) {
    put_word(out, a->name);
    base_put(out, ": %s ", ir_text_kinds[a->kind]);
    switch (a->kind) {
    case IR_INT:
        base_put(out, "%lld", (long long)a->v.i);
        break;
    case IR_FLOAT:
        base_put_float(out, a->v.f);
        break;
    case IR_TEXT:
        put_string(out, a->v.text, a->n);
        break;
    case IR_INTS:
        base_puts(out, "[");
        for (size_t i = 0; i < a->n; i++) {
            base_put(out, "%s%lld", i ? ", " : "", (long long)a->v.ints[i]);
        }
        base_puts(out, "]");
        break;
    case IR_FLOATS:
        base_puts(out, "[");
        for (size_t i = 0; i < a->n; i++) {
            base_puts(out, i ? ", " : "");
            base_put_float(out, a->v.floats[i]);
        }
        base_puts(out, "]");
        break;
    case IR_GRAPH:
        base_put(out, "%lu", (unsigned long)a->v.graph);
        break;
    }
}

static void put_node(base_text *out, const ir_node *n) {
    base_puts(out, "  node ");
    put_word(out, n->op);
    base_puts(out, " (");
    put_refs(out, n->inputs, n->input_count);
    base_puts(out, ") -> (");
    put_refs(out, n->outputs, n->output_count);
    base_puts(out, ")");
    if (n->attr_count) {
        base_puts(out, " {");
        for (size_t i = 0; i < n->attr_count; i++) {
            base_puts(out, i ? ", " : "");
            put_attr(out, &n->attrs[i]);
        }
        base_puts(out, "}");
    }
    if (n->id_count) {
        base_puts(out, " ids [");
        for (size_t i = 0; i < n->id_count; i++) {
            base_put(out, "%s%lu", i ? ", " : "", (unsigned long)n->ids[i]);
        }
        base_puts(out, "]");
    }
    if (n->source_name && *n->source_name) {
        base_puts(out, " from ");
        put_name(out, n->source_name);
    }
    if (n->byte) {
        base_put(out, " at %llu", (unsigned long long)n->byte);
    }
    base_puts(out, "\n");
}

static void put_ports(base_text *out, const ir_port *list, size_t n) {
    base_puts(out, " (");
    for (size_t i = 0; i < n; i++) {
        base_puts(out, i ? ", " : "");
        put_name(out, list[i].name);
        base_put(out, " %lu", (unsigned long)list[i].at);
    }
    base_puts(out, ")");
}

static void put_listed(base_text *out, const char *word, const ir_listed *listed, size_t n) {
    for (size_t i = 0; i < n; i++) {
        base_put(out, "%s ", word);
        put_name(out, listed[i].name);
        base_puts(out, " ");
        put_name(out, listed[i].form);
        base_puts(out, "\n");
    }
}

static void put_beside(base_text *out, const ir_model *m) {
    if (m->description[0]) {
        base_puts(out, "description ");
        put_name(out, m->description);
        base_puts(out, "\n");
    }
    for (size_t i = 0; i < m->signatures.n; i++) {
        const ir_signature *s = &m->signatures.at[i];
        base_puts(out, "signature ");
        put_name(out, s->name);
        base_put(out, " graph %lu", (unsigned long)s->graph);
        put_ports(out, s->inputs, s->input_count);
        base_puts(out, " ->");
        put_ports(out, s->outputs, s->output_count);
        base_puts(out, "\n");
    }
    put_listed(out, "takes", m->takes.at, m->takes.n);
    put_listed(out, "gives", m->gives.at, m->gives.n);
    for (size_t i = 0; i < m->metadata.n; i++) {
        const ir_metadata *d = &m->metadata.at[i];
        const ir_shape shape = {.rank = 1, .dim = {(int64_t)d->size}};
        base_puts(out, "metadata ");
        put_name(out, d->name);
        base_put(out, " %zu", d->size);
        put_contents(out, BASE_U8, &shape, d->data);
        base_puts(out, "\n");
    }
}

void ir_print(base_text *out, const ir_model *m) {
    base_put(out, "burin %d\nmodel ", IR_TEXT_VERSION);
    put_name(out, m->format);
    base_puts(out, " ");
    put_name(out, m->file);
    base_puts(out, "\n");
    for (size_t i = 0; i < m->symbols.n; i++) {
        base_puts(out, "symbol ");
        put_name(out, m->symbols.at[i].name);
        base_put(out, " %lld%s\n", (long long)m->symbols.at[i].bound, m->symbols.at[i].computed ? " computed" : "");
    }
    for (size_t i = 0; i < m->states.n; i++) {
        put_state(out, m, &m->states.at[i], i);
    }
    for (size_t i = 0; i < m->graphs.n; i++) {
        const ir_graph *g = &m->graphs.at[i];
        base_puts(out, "graph ");
        put_name(out, g->name);
        base_put(out, " %lu {\n", (unsigned long)g->index);
        for (size_t k = 0; k < g->tensors.n; k++) {
            put_tensor(out, m, &g->tensors.at[k], k);
        }
        base_puts(out, "  inputs (");
        put_refs(out, g->inputs.at, g->inputs.n);
        base_puts(out, ")\n  outputs (");
        put_refs(out, g->outputs.at, g->outputs.n);
        base_puts(out, ")\n");
        for (size_t k = 0; k < g->nodes.n; k++) {
            put_node(out, &g->nodes.at[k]);
        }
        base_puts(out, "}\n");
    }
    put_beside(out, m);
}
