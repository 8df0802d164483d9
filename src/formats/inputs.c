/* inputs.c - the inputs of a graph as callers name them, and those that a caller makes constant.
 *
 * Takes names ("x", or an input's number) and contents. Gives tensors with contents that are inputs no more. Copies no
 * contents.
 */
#include "formats/formats.h"

#include <string.h>

#define LARGEST_EXTENT INT64_C(2147483647)

static char *shown(base_arena *arena, const char *text, size_t n) {
    return base_printable(arena, text, n, 60);
}

static base_status usage(base_diags *d, const char *message) {
    base_error(d, NULL, "%s", message);
    return BASE_USAGE;
}

bool formats_parse_count(const char *text, size_t n, int64_t lowest, int64_t *out) {
    int64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || v > LARGEST_EXTENT) {
            return false;
        }
        v = v * 10 + (text[i] - '0');
    }
    *out = v;
    return n > 0 && v >= lowest && v <= LARGEST_EXTENT;
}

base_status formats_find_input(base_arena *arena, const ir_graph *g, const char *what, const char *name, size_t n,
                               size_t *out, base_diags *d) {
    size_t count = g->inputs.n, found = 0;
    const char **names = BASE_NEWS(arena, const char *, count + 1);
    int64_t number;
    for (size_t i = 0; i < count; i++) {
        names[i] = g->tensors.at[g->inputs.at[i]].name;
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0) {
            *out = i;
            found++;
        }
    }
    if (found > 1) {
        return usage(d, base_printf(arena, "%s: %zu inputs are called \"%s\"; say which by its number, from 0", what,
                                    found, shown(arena, name, n)));
    }
    if (found == 0 && formats_parse_count(name, n, 0, &number) && number < (int64_t)count) {
        *out = (size_t)number;
        found = 1;
    }
    if (found == 0) {
        const char *near = base_nearest(base_strndup(arena, name, n), names, count);
        return usage(d, base_printf(arena, "%s: the model has no input \"%s\"%s%s%s", what, shown(arena, name, n),
                                    near ? "; did you mean \"" : "", near ? shown(arena, near, strlen(near)) : "",
                                    near    ? "\"?"
                                    : count ? "; burin inspect lists them"
                                            : " (it has none)"));
    }
    return BASE_OK;
}

base_status formats_set_constants(base_arena *arena, ir_graph *g, const formats_constant *constants, size_t n,
                                  base_diags *d) {
    for (size_t i = 0; i < n; i++) {
        const formats_constant *c = &constants[i];
        size_t input = 0;
        base_status status = BASE_OK;
        if (c->name != NULL) {
            status = formats_find_input(arena, g, "constant", c->name, strlen(c->name), &input, d);
        } else if (g->inputs.n != 1) {
            status =
                usage(d, base_printf(arena, "constant: the model has %zu inputs; say which by NAME=", g->inputs.n));
        }
        if (status != BASE_OK) {
            return status;
        }
        ir_tensor *t = &g->tensors.at[g->inputs.at[input]];
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(t, &bytes);
        const char *name = shown(arena, t->name, strlen(t->name));
        if (t->data != NULL) {
            return usage(d, base_printf(arena, "constant: input %zu \"%s\" is given twice", input, name));
        }
        const void *data = c->type != NULL ? formats_as_type(arena, t, c->type, c->data, c->size) : c->data;
        if (c->type != NULL && c->type[0] != 'V' && strcmp(c->type, base_type_name(t->type)) != 0) {
            base_error(d, NULL, "constant: %s for input %zu \"%s\", which is %s", c->type, input, name,
                       base_type_name(t->type));
            return BASE_REFUSED;
        }
        if (data != c->data || (c->type == NULL && bytes != c->size)) { /* what would have to be packed, too */
            base_error(d, NULL, "constant: %zu bytes for input %zu \"%s\": %s %s has %llu", c->size, input, name,
                       base_type_name(t->type), ir_shape_print(arena, &t->shape), (unsigned long long)bytes);
            return BASE_REFUSED;
        }
        t->data = c->data;
    }
    return BASE_OK;
}

/* The ports of the entry graph's signatures, without those of inputs that are gone. */
static void renumber(ir_model *m, const uint32_t *place) {
    for (size_t i = 0; i < m->signatures.n; i++) {
        ir_signature *s = &m->signatures.at[i];
        if (s->graph != 0) {
            continue;
        }
        ir_port *ports = BASE_NEWS(m->arena, ir_port, s->input_count + 1);
        size_t kept = 0;
        for (size_t k = 0; k < s->input_count; k++) {
            if (place[s->inputs[k].at] != IR_NONE) {
                ports[kept++] = (ir_port){s->inputs[k].name, place[s->inputs[k].at]};
            }
        }
        s->inputs = ports;
        s->input_count = kept;
    }
}

void formats_drop_constants(ir_model *m, const formats_constant *constants, size_t n) {
    ir_graph *g = &m->graphs.at[0];
    uint32_t *place = BASE_NEWS(m->arena, uint32_t, g->inputs.n + 1);
    size_t kept = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        uint32_t t = g->inputs.at[i];
        place[i] = (uint32_t)kept;
        for (size_t k = 0; k < n && g->tensors.at[t].data != NULL; k++) {
            place[i] = constants[k].data == g->tensors.at[t].data ? IR_NONE : place[i];
        }
        if (place[i] != IR_NONE) {
            g->inputs.at[kept++] = t;
        }
    }
    g->inputs.n = kept;
    renumber(m, place);
}
