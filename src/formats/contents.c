/* contents.c - what inputs hold in the run that a model is read for.
 *
 * Takes a graph's inputs and arrays with type and shape. Gives each input its array, and the extents that the file leaves
 * open. Copies only what is stored another way than the tensor.
 */
#include "formats/formats.h"

#include <string.h>

base_status formats_match_contents(base_arena *arena, const ir_graph *g, const formats_contents *contents, size_t n,
                                   const bool *skip, const formats_contents **of, base_diags *d) {
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        size_t input = 0;
        if (contents[i].name == NULL) {
            continue;
        }
        base_status status =
            formats_find_input(arena, g, "input", contents[i].name, strlen(contents[i].name), &input, d);
        if (status == BASE_OK && of[input] != NULL) {
            base_error(d, NULL, "input: number %zu is given twice", input);
            status = BASE_USAGE;
        }
        if (status != BASE_OK) {
            return status;
        }
        of[input] = &contents[i];
    }
    for (size_t i = 0; i < n; i++) {
        if (contents[i].name != NULL) {
            continue;
        }
        while (next < g->inputs.n && (of[next] != NULL || (skip != NULL && skip[next]))) {
            next++;
        }
        if (next == g->inputs.n) {
            base_error(d, NULL, "input: %zu are given, and the model has fewer", n);
            return BASE_USAGE;
        }
        of[next] = &contents[i];
    }
    return BASE_OK;
}

const formats_contents *formats_contents_for(const ir_model *m, size_t i, const formats_contents *contents, size_t n) {
    size_t before = 0;
    for (size_t k = 0; k <= i; k++) {
        const formats_contents *named = NULL;
        for (size_t c = 0; c < n && !named; c++) {
            named = contents[c].name && strcmp(contents[c].name, m->takes.at[k].name) == 0 ? &contents[c] : NULL;
        }
        if (k == i && named) {
            return named;
        }
        before += k < i && !named;
    }
    for (size_t c = 0; c < n; c++) {
        if (!contents[c].name && before-- == 0) {
            return &contents[c];
        }
    }
    return NULL;
}

base_status formats_check_takes(base_arena *arena, const ir_model *m, const formats_contents *contents, size_t n,
                                base_diags *d) {
    bool *said = BASE_NEWS(arena, bool, m->takes.n + 1);
    if (n > m->takes.n) {
        base_error(d, NULL, "input: %zu are given, and the model has %zu", n, m->takes.n);
        return BASE_USAGE;
    }
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (contents[i].name && k < m->takes.n && strcmp(contents[i].name, m->takes.at[k].name) != 0) {
            k++;
        }
        if (contents[i].name && (k == m->takes.n || said[k])) {
            const char *name = base_printable(arena, contents[i].name, strlen(contents[i].name), 60);
            base_error(d, NULL,
                       k == m->takes.n ? "input: the model has no input \"%s\"" : "input: \"%s\" is given twice", name);
            return BASE_USAGE;
        }
        said[k] = said[k] || contents[i].name;
    }
    return BASE_OK;
}

/* Of the value that begins at form; returns what is behind it. *input: the graph's next one. c: NULL where nothing is said. */
static const char *flatten(base_arena *arena, const ir_graph *g, const char *form, const formats_contents *c,
                           size_t *input, formats_contents *out, size_t *n) {
    if (*form == 'T') {
        if (c) {
            out[*n] = *c;
            out[(*n)++].name = g->tensors.at[g->inputs.at[*input]].name;
        }
        (*input)++;
        return form + 1;
    }
    const bool list = c && c->type && strcmp(c->type, "list") == 0;
    size_t i = 0;
    for (form++; *form != ')' && *form != ']'; i++) {
        form = flatten(arena, g, form, list ? &c->parts[i] : c, input, out, n);
    }
    return form + 1;
}

formats_contents *formats_flatten_contents(base_arena *arena, const ir_model *m, const formats_contents *contents,
                                           size_t n, size_t *out_n) {
    const ir_graph *g = &m->graphs.at[0];
    formats_contents *out = BASE_NEWS(arena, formats_contents, g->inputs.n + 1);
    size_t input = 0;
    *out_n = 0;
    for (size_t i = 0; i < m->takes.n; i++) {
        (void)flatten(arena, g, m->takes.at[i].form, formats_contents_for(m, i, contents, n), &input, out, out_n);
    }
    return out;
}

/* "V1", "V2": NumPy has no name for the type. */
static bool is_unnamed(const char *type) {
    return type[0] == 'V' && type[1] != 0 && type[2] == 0;
}

static bool same_type(const ir_tensor *t, const char *type) {
    const unsigned bits = base_type_bits(t->type);
    if (is_unnamed(type)) {
        return type[1] == '1' ? bits <= 8 : bits == 16;
    }
    return base_type_named(type, strlen(type)) == t->type;
}

const void *formats_as_type(base_arena *arena, const ir_tensor *t, const char *type, const void *data, size_t size) {
    const unsigned bits = base_type_bits(t->type);
    uint64_t bytes, elements;
    if (!same_type(t, type) || !ir_shape_elements(&t->shape, &elements) || !ir_tensor_bytes(t, &bytes)) {
        return NULL;
    }
    if (!is_unnamed(type) || bits >= 8) {
        return size == bytes ? data : NULL;
    }
    uint8_t *packed = base_alloc(arena, 1, (size_t)bytes + 1);
    for (uint64_t i = 0; size == elements && i < elements; i++) {
        const unsigned v = ((const uint8_t *)data)[i] & ((1u << bits) - 1);
        packed[i * bits / 8] = (uint8_t)(packed[i * bits / 8] | v << (i * bits % 8));
    }
    return size == elements ? packed : NULL;
}

/* Equal but for extents of 1: a batch that was left out. */
static bool same_but_ones(const ir_shape *a, const ir_shape *b) {
    uint32_t i = 0, j = 0;
    for (;;) {
        for (; i < a->rank && a->dim[i] == 1; i++) {
        }
        for (; j < b->rank && b->dim[j] == 1; j++) {
        }
        if (i == a->rank || j == b->rank) {
            return i == a->rank && j == b->rank;
        }
        if (a->dim[i++] != b->dim[j++]) {
            return false;
        }
    }
}

static bool is_open(const ir_shape *s) {
    bool open = false;
    for (uint32_t k = 0; k < s->rank; k++) {
        open = open || s->dim[k] < 0;
    }
    return open;
}

static bool fills(const ir_shape *s, const ir_shape *given) {
    bool same = s->rank == given->rank;
    for (uint32_t k = 0; same && k < s->rank; k++) {
        same = s->dim[k] < 0 || s->dim[k] == given->dim[k];
    }
    return same;
}

const void *formats_contents_data(base_arena *arena, const ir_tensor *t, const formats_contents *c) {
    if (c->type == NULL || c->data == NULL || !same_but_ones(&t->shape, &c->shape)) {
        return NULL;
    }
    return formats_as_type(arena, t, c->type, c->data, c->size);
}

static const char *print_open(base_arena *arena, const ir_shape *s) {
    base_text out = {.arena = arena};
    for (uint32_t k = 0; k < s->rank; k++) {
        base_puts(&out, k ? "x" : "");
        if (s->dim[k] < 0) {
            base_puts(&out, "?");
        } else {
            base_put(&out, "%lld", (long long)s->dim[k]);
        }
    }
    return s->rank ? out.at : "scalar";
}

base_status formats_set_contents(base_arena *arena, ir_graph *g, const formats_contents *const *of, base_diags *d) {
    for (size_t i = 0; i < g->inputs.n; i++) {
        ir_tensor *t = &g->tensors.at[g->inputs.at[i]];
        if (of[i] == NULL || of[i]->type == NULL || !is_open(&t->shape)) {
            continue; /* what does not fit a shape that is known is refused when the run is given it */
        }
        if (!same_type(t, of[i]->type) || !fills(&t->shape, &of[i]->shape)) {
            base_error(d, NULL, "input %zu \"%s\" is %s %s, given was %s %s", i,
                       base_printable(arena, t->name, strlen(t->name), 60), base_type_name(t->type),
                       print_open(arena, &t->shape), of[i]->type, ir_shape_print(arena, &of[i]->shape));
            return BASE_REFUSED;
        }
        t->shape = of[i]->shape;
    }
    return BASE_OK;
}
