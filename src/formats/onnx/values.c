/* values.c - ValueInfoProto and TypeProto: what graphs take and give, and what the caller says of open extents.
 *
 * Takes untrusted messages and the command's texts. Gives types and shapes. An extent that a file leaves open has a name or
 * none, and needs a number from the caller.
 */
#include "formats/onnx/reader.h"

#include <string.h>

/* One extent: a number, a name, or neither: -1. */
static void read_dim(onnx_reader *r, const wire_path *path, wire_message m, int64_t *dim, const char **name) {
    wire_pb_field f;
    *dim = -1;
    *name = NULL;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        if (f.number == ONNX_DIM_VALUE) {
            *dim = wire_pb_int(&r->pb, path, &f);
            *name = NULL;
            if (*dim < -1) {
                wire_pb_error(&r->pb, path, f.at, "an extent of %lld", (long long)*dim);
            }
        } else if (f.number == ONNX_DIM_PARAM) {
            *name = wire_pb_text(r->arena, &r->pb, path, &f);
            *dim = -1;
        }
    }
    *name = *name && **name ? *name : NULL;
}

static void read_shape(onnx_reader *r, const wire_path *path, wire_message m, ir_shape *s,
                       const char *dims[IR_MAX_RANK]) {
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        if (f.number != ONNX_SHAPE_DIM) {
            continue;
        }
        if (s->rank == IR_MAX_RANK) {
            wire_pb_error(&r->pb, path, f.at, "more than %u extents: a tensor may have so many", IR_MAX_RANK);
            return;
        }
        read_dim(r, path, wire_pb_message(&r->pb, path, &f), &s->dim[s->rank], &dims[s->rank]);
        s->rank++;
    }
}

/* *has_shape: the message states one. */
static bool read_tensor_type(onnx_reader *r, const wire_path *path, wire_message m, ir_tensor *t,
                             const char *dims[IR_MAX_RANK], bool *has_shape) {
    wire_pb_field f;
    int64_t type = 0;
    uint64_t byte = m.at;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        if (f.number == ONNX_TENSOR_TYPE_ELEM) {
            type = wire_pb_int(&r->pb, path, &f);
            byte = f.at;
        } else if (f.number == ONNX_TENSOR_TYPE_SHAPE) {
            *has_shape = true;
            read_shape(r, path, wire_pb_message(&r->pb, path, &f), &t->shape, dims);
        }
    }
    if (!wire_pb_failed(&r->pb) && !onnx_type_name(type)) {
        wire_pb_error(&r->pb, path, byte, "element type %lld is no type", (long long)type);
    }
    if (wire_pb_failed(&r->pb)) {
        return false;
    }
    t->type = onnx_type_base(type);
    if (t->type == BASE_NONE) {
        formats_note(r->notes, path, byte, base_printf(r->arena, "a tensor of type %s", onnx_type_name(type)),
                     "convert the model without it");
    }
    return t->type != BASE_NONE;
}

static bool read_type(onnx_reader *r, const wire_path *path, wire_message m, ir_tensor *t,
                      const char *dims[IR_MAX_RANK], bool *has_shape) {
    static const struct {
        unsigned field;
        const char *what;
    } others[] = {{ONNX_TYPE_SEQUENCE, "a sequence"},
                  {ONNX_TYPE_MAP, "a map"},
                  {ONNX_TYPE_SPARSE, "a sparse tensor"},
                  {ONNX_TYPE_OPTIONAL, "an optional value"}};
    wire_pb_field f;
    bool fine = false;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        if (f.number == ONNX_TYPE_TENSOR) {
            fine = read_tensor_type(r, path, wire_pb_message(&r->pb, path, &f), t, dims, has_shape);
        }
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            if (f.number == others[i].field) {
                formats_note(r->notes, path, f.at,
                             base_printf(r->arena, "%s as input or output of a graph", others[i].what),
                             "make it of tensors");
                return false;
            }
        }
    }
    return fine && !wire_pb_failed(&r->pb);
}

bool onnx_read_value(onnx_reader *r, const wire_path *path, wire_message m, ir_tensor *t,
                     const char *dims[IR_MAX_RANK]) {
    wire_pb_field f, type = {0};
    bool has_shape = false;
    *t = (ir_tensor){.name = "", .state = IR_NONE, .source = IR_NONE};
    for (uint32_t k = 0; k < IR_MAX_RANK; k++) {
        dims[k] = NULL;
    }
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        if (f.number == ONNX_VALUE_NAME) {
            t->name = wire_pb_text(r->arena, &r->pb, path, &f);
        } else if (f.number == ONNX_VALUE_TYPE) {
            type = f;
        }
    }
    if (wire_pb_failed(&r->pb) || !type.number) {
        return false; /* its type is not stated: an output's follows from its node */
    }
    return read_type(r, path, wire_pb_message(&r->pb, path, &type), t, dims, &has_shape);
}

/* ---- open extents of the inputs ---- */

/* "batch=4", where batch is the name of extents: of all that have it. */
static bool set_named(onnx_reader *r, const char *text) {
    const char *equals = strrchr(text, '=');
    const size_t n = equals ? (size_t)(equals - text) : 0;
    const ir_graph *g = &r->m->graphs.at[0];
    int64_t extent;
    bool up_to;
    for (size_t i = 0; equals && i < r->dims.n; i++) {
        if (strlen(r->dims.at[i]) != n || memcmp(r->dims.at[i], text, n) != 0 ||
            !formats_parse_extent(equals + 1, &extent, &up_to)) {
            continue;
        }
        const uint32_t symbol = up_to ? formats_add_symbol(r->m, r->dims.at[i], extent) : 0;
        for (size_t k = 0; k < g->inputs.n; k++) {
            ir_shape *s = &g->tensors.at[g->inputs.at[k]].shape;
            const uint32_t *open = r->open.at[g->inputs.at[k]];
            for (uint32_t a = 0; open && a < s->rank; a++) {
                s->dim[a] = open[a] == i + 1 ? extent : s->dim[a];
                s->symbol[a] = open[a] == i + 1 ? symbol : s->symbol[a];
            }
        }
        return true;
    }
    return false;
}

static const char *shown(onnx_reader *r, const char *name) {
    return base_printable(r->arena, name, strlen(name), 60);
}

/* Says of each input which of its extents are open, and the flags that give them numbers. */
static void refuse_open(onnx_reader *r, const wire_path *path, size_t input) {
    const uint32_t index = r->m->graphs.at[0].inputs.at[input];
    const ir_tensor *t = &r->m->graphs.at[0].tensors.at[index];
    base_text shape = {.arena = r->arena}, flags = {.arena = r->arena};
    for (uint32_t k = 0; k < t->shape.rank; k++) {
        const uint32_t name = r->open.at[index] ? r->open.at[index][k] : 0;
        if (t->shape.dim[k] >= 0) {
            base_put(&shape, "%s%lld", k ? "x" : "", (long long)t->shape.dim[k]);
        } else {
            base_put(&shape, "%s%s", k ? "x" : "", name ? shown(r, r->dims.at[name - 1]) : "?");
        }
        bool again = false;
        for (uint32_t i = 0; name && i < k; i++) {
            again = again || r->open.at[index][i] == name;
        }
        if (t->shape.dim[k] < 0 && name && !again) {
            base_put(&flags, " --dim %s=N", shown(r, r->dims.at[name - 1]));
        } else if (t->shape.dim[k] < 0 && !name) {
            base_put(&flags, " --dim %s.%lu=N", shown(r, t->name), (unsigned long)k);
        }
    }
    wire_path place = {.outer = path, .name = "input", .index = (int64_t)input, .note = t->name, .quoted = true};
    wire_pb_error(&r->pb, &place, 0, "it is %s, and its open extents must be said:%s", shape.at, flags.at);
}

/* Of the run that the model is read for: which input holds what, and so which extents it has. Constants take no place in the
 * order of the run's inputs. */
static base_status take_contents(onnx_reader *r, ir_graph *g, const formats_contents **of) {
    bool *skip = BASE_NEWS(r->arena, bool, g->inputs.n + 1);
    for (size_t i = 0; i < r->options.constant_count && r->options.content_count; i++) {
        const char *name = r->options.constants[i].name;
        size_t input = 0;
        base_status status =
            name ? formats_find_input(r->arena, g, "constant", name, strlen(name), &input, r->d) : BASE_OK;
        if (status != BASE_OK) {
            return status;
        }
        skip[input] = true;
    }
    for (size_t i = 0; i < r->options.state_count; i++) {
        const size_t input = formats_state_input(g, r->options.states[i]);
        skip[input == SIZE_MAX ? g->inputs.n : input] = true;
    }
    base_status status =
        formats_match_contents(r->arena, g, r->options.contents, r->options.content_count, skip, of, r->d);
    return status == BASE_OK ? formats_set_contents(r->arena, g, of, r->d) : status;
}

void onnx_set_inputs(onnx_reader *r, const wire_path *path) {
    ir_graph *g = &r->m->graphs.at[0];
    formats_shapes shapes = r->options.shapes;
    const char **rest = BASE_NEWS(r->arena, const char *, shapes.dim_count + 1);
    size_t left = 0;
    for (size_t i = 0; i < shapes.dim_count; i++) {
        if (!set_named(r, shapes.dims[i])) {
            rest[left++] = shapes.dims[i];
        }
    }
    shapes.dims = rest;
    shapes.dim_count = left;
    uint32_t *open = BASE_NEWS(r->arena, uint32_t, g->tensors.n + 1);
    bool *changed = BASE_NEWS(r->arena, bool, g->tensors.n + 1);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const ir_shape *s = &g->tensors.at[g->inputs.at[i]].shape;
        for (uint32_t k = 0; k < s->rank; k++) {
            open[g->inputs.at[i]] |= (uint32_t)(s->dim[k] < 0) << k;
        }
    }
    base_status status = formats_set_shapes(r->arena, r->m, g, &shapes, open, changed, r->d);
    const formats_contents **of = BASE_NEWS(r->arena, const formats_contents *, g->inputs.n + 1);
    status = status == BASE_OK ? take_contents(r, g, of) : status;
    for (size_t i = 0; i < g->inputs.n && status == BASE_OK && !r->options.keep_unsupported; i++) {
        const ir_shape *s = &g->tensors.at[g->inputs.at[i]].shape;
        for (uint32_t k = 0; k < s->rank; k++) {
            if (s->dim[k] < 0) {
                refuse_open(r, path, i);
                return;
            }
        }
    }
    for (size_t i = 0; i < g->inputs.n && status == BASE_OK; i++) { /* for a look at the model: one of each */
        ir_shape *s = &g->tensors.at[g->inputs.at[i]].shape;
        for (uint32_t k = 0; k < s->rank; k++) {
            s->dim[k] = s->dim[k] < 0 ? 1 : s->dim[k];
        }
    }
    status = status == BASE_OK
                 ? formats_set_constants(r->arena, g, r->options.constants, r->options.constant_count, r->d)
                 : status;
    for (size_t i = 0; i < g->inputs.n && status == BASE_OK; i++) {
        const ir_tensor *t = &g->tensors.at[g->inputs.at[i]];
        const void *data = of[i] && !t->data ? formats_contents_data(r->arena, t, of[i]) : NULL;
        if (data) {
            onnx_set_contents(r, 0, g->inputs.at[i], data);
        }
    }
    r->usage = status == BASE_USAGE;
    r->pb.failed = r->pb.failed || status != BASE_OK;
}
