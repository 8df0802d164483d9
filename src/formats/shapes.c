/* shapes.c - the extents that a caller gives to a model's inputs.
 *
 * Takes a graph's inputs and texts ("x=2x3x4", "x.0=4", a batch). Gives the inputs' shapes. Infers nothing: what follows
 * from the new extents is the format's reader to find.
 */
#include "formats/formats.h"

#include <string.h>

typedef struct setter {
    base_arena *arena;
    ir_model *m;
    ir_graph *g;
    uint32_t *open;
    bool *changed;
    bool *named; /* of each input: a shape or dim names it */
    base_diags *d;
} setter;

static base_status usage(base_diags *d, const char *message) {
    base_error(d, NULL, "%s", message);
    return BASE_USAGE;
}

static char *shown(const setter *s, const char *text, size_t n) {
    return base_printable(s->arena, text, n, 60);
}

static ir_tensor *input_at(const setter *s, size_t i) {
    return &s->g->tensors.at[s->g->inputs.at[i]];
}

static base_status find_input(const setter *s, const char *what, const char *name, size_t n, size_t *out) {
    return formats_find_input(s->arena, s->g, what, name, n, out, s->d);
}

/* Decimal digits, the whole of the text: 1 to 2^31-1 (lowest 0: from 0). */
static bool parse_count(const char *text, size_t n, int64_t lowest, int64_t *out) {
    return formats_parse_count(text, n, lowest, out);
}

static void set_shape(setter *s, size_t input, const ir_shape *shape) {
    uint32_t t = s->g->inputs.at[input];
    s->changed[t] = s->changed[t] || !ir_shape_same(&s->g->tensors.at[t].shape, shape);
    s->g->tensors.at[t].shape = *shape;
}

/* ---- shapes ---- */

static bool parse_shape(const char *text, ir_shape *out) {
    *out = (ir_shape){0};
    if (strcmp(text, "scalar") == 0) {
        return true;
    }
    for (;;) {
        size_t n = strcspn(text, "x");
        if (out->rank == IR_MAX_RANK || !parse_count(text, n, 1, &out->dim[out->rank])) {
            return false;
        }
        out->rank++;
        if (text[n] == 0) {
            return true;
        }
        text += n + 1;
    }
}

static base_status apply_shape(setter *s, const char *text) {
    const char *equals = strrchr(text, '=');
    size_t input = 0;
    ir_shape shape;
    uint64_t elements;
    if (!equals && s->g->inputs.n != 1) {
        return usage(s->d, base_printf(s->arena, "shape: \"%s\": the model has %zu inputs; say NAME=%s",
                                       shown(s, text, strlen(text)), s->g->inputs.n, shown(s, text, strlen(text))));
    }
    base_status status = equals ? find_input(s, "shape", text, (size_t)(equals - text), &input) : BASE_OK;
    if (status != BASE_OK) {
        return status;
    }
    const char *extents = equals ? equals + 1 : text;
    if (!parse_shape(extents, &shape)) {
        return usage(s->d, base_printf(s->arena,
                                       "shape: \"%s\" is no shape: extents from 1 to 2^31-1 with x between them, at "
                                       "most %u, as 2x3x4; or scalar",
                                       shown(s, extents, strlen(extents)), IR_MAX_RANK));
    }
    if (!ir_shape_elements(&shape, &elements)) {
        return usage(s->d, base_printf(s->arena, "shape: %s are too many elements", ir_shape_print(s->arena, &shape)));
    }
    if (s->named[input]) {
        return usage(s->d, base_printf(s->arena, "shape: input %zu is given twice", input));
    }
    s->named[input] = true;
    s->open[s->g->inputs.at[input]] = 0;
    set_shape(s, input, &shape);
    return BASE_OK;
}

/* ---- dims ---- */

bool formats_parse_extent(const char *text, int64_t *extent, bool *up_to) {
    *up_to = strncmp(text, "..", 2) == 0;
    text += *up_to ? 2 : 0;
    return parse_count(text, strlen(text), 1, extent);
}

uint32_t formats_add_symbol(ir_model *m, const char *name, int64_t bound) {
    bool taken = false;
    for (uint32_t i = 0; i < m->symbols.n; i++) {
        const ir_symbol *s = &m->symbols.at[i];
        const bool same = strcmp(s->name, name) == 0;
        if (same && !s->computed && s->bound == bound) {
            return i + 1;
        }
        taken = taken || same;
    }
    const char *own = taken ? base_printf(m->arena, "%s#%zu", name, m->symbols.n) : base_strdup(m->arena, name);
    *BASE_PUSH(m->arena, &m->symbols) = (ir_symbol){own, bound, false};
    return (uint32_t)m->symbols.n;
}

static base_status apply_dim(setter *s, const char *text, bool *shaped, uint32_t *given) {
    const char *equals = strrchr(text, '='), *dot = equals;
    int64_t extent, axis;
    size_t input = 0;
    bool up_to;
    while (dot && dot > text && *dot != '.') {
        dot--;
    }
    if (!dot || *dot != '.' || !parse_count(dot + 1, (size_t)(equals - dot - 1), 0, &axis) ||
        !formats_parse_extent(equals + 1, &extent, &up_to)) {
        return usage(s->d,
                     base_printf(s->arena,
                                 "dim: \"%s\" is no dimension of an input: NAME.AXIS=N, as x.0=4, or x.0=..8 for up to "
                                 "8 in each run; N from 1 to 2^31-1",
                                 shown(s, text, strlen(text))));
    }
    base_status status = find_input(s, "dim", text, (size_t)(dot - text), &input);
    if (status != BASE_OK) {
        return status;
    }
    ir_shape shape = input_at(s, input)->shape;
    if (axis >= (int64_t)shape.rank) {
        return usage(s->d, base_printf(s->arena, "dim: \"%s\": input %zu has %lu extents, numbered from 0",
                                       shown(s, text, strlen(text)), input, (unsigned long)shape.rank));
    }
    if (shaped[input] || (given[input] >> axis & 1)) {
        return usage(s->d,
                     base_printf(s->arena, "dim: \"%s\": the extent is given twice", shown(s, text, strlen(text))));
    }
    given[input] |= (uint32_t)1 << axis;
    s->named[input] = true;
    s->open[s->g->inputs.at[input]] &= ~((uint32_t)1 << axis);
    shape.dim[axis] = extent;
    if (up_to) {
        const char *name = base_printf(s->arena, "%.*s", (int)(equals - text), text);
        shape.symbol[axis] = formats_add_symbol(s->m, name, extent);
    }
    set_shape(s, input, &shape);
    return BASE_OK;
}

/* ---- the batch ---- */

static base_status apply_batch(setter *s, int64_t batch, const uint32_t *open_as_read) {
    bool any_open = false, any = false;
    for (size_t i = 0; i < s->g->inputs.n; i++) {
        any_open = any_open || (open_as_read[i] & 1);
    }
    for (size_t i = 0; i < s->g->inputs.n; i++) {
        uint32_t t = s->g->inputs.at[i];
        ir_shape shape = s->g->tensors.at[t].shape;
        bool wanted = shape.rank > 0 && (any_open ? (open_as_read[i] & 1) != 0 : shape.dim[0] == 1);
        if (wanted && !s->named[i]) {
            any = true;
            shape.dim[0] = batch;
            s->open[t] &= ~(uint32_t)1;
            set_shape(s, i, &shape);
        }
    }
    return any ? BASE_OK
               : usage(s->d, "batch: no input that is not named otherwise has a first extent that is open or 1; say "
                             "shape NAME=... for each");
}

base_status formats_set_shapes(base_arena *arena, ir_model *m, ir_graph *g, const formats_shapes *o, uint32_t *open,
                               bool *changed, base_diags *d) {
    setter s = {.arena = arena, .m = m, .g = g, .open = open, .changed = changed, .d = d};
    s.named = BASE_NEWS(arena, bool, g->inputs.n + 1);
    bool *shaped = BASE_NEWS(arena, bool, g->inputs.n + 1);
    uint32_t *given = BASE_NEWS(arena, uint32_t, g->inputs.n + 1),
             *as_read = BASE_NEWS(arena, uint32_t, g->inputs.n + 1);
    base_status status = BASE_OK;
    for (size_t i = 0; i < g->inputs.n; i++) {
        as_read[i] = open[g->inputs.at[i]];
    }
    for (size_t i = 0; i < o->shape_count && status == BASE_OK; i++) {
        status = apply_shape(&s, o->shapes[i]);
    }
    memcpy(shaped, s.named, g->inputs.n * sizeof *shaped);
    for (size_t i = 0; i < o->dim_count && status == BASE_OK; i++) {
        status = apply_dim(&s, o->dims[i], shaped, given);
    }
    return status == BASE_OK && o->batch > 0 ? apply_batch(&s, o->batch, as_read) : status;
}
