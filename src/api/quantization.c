/* quantization.c - quantisation parameters of a model's tensors, from and to JSON (docs/CLI.md).
 *
 * {"version": 1, "border": "reals", "tensors": [{"name": "w", "type": "i8", "axis": 0, "scale": [0.5, 0.25], "zero_point": [0, 0]}]}
 * Takes such a file and a model of reals. Gives the model with quantised operators. And the other way: what a quantised model has, as such
 * a file.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "wire/wire.h"

#define VERSION 1

typedef struct parameters {
    burin_context *c;
    const char *file, *text;
    size_t size;
    base_diags *d;
    BASE_VEC(passes_parameter) list;
    bool at_border;
} parameters;

static base_place place_of(const parameters *p, const wire_json *v) {
    return (base_place){
        .file = p->file, .source = p->text, .source_size = p->size, .line = v->line, .column = v->column};
}

#define FAULT(p, v, ...)                                                                                               \
    do {                                                                                                               \
        const base_place fault_place = place_of(p, v);                                                                 \
        return base_error((p)->d, &fault_place, __VA_ARGS__);                                                          \
    } while (false)

/* Every name in the object is one of these. */
static base_status check_names(const parameters *p, const wire_json *object, const char *const *names, size_t n) {
    for (const wire_json *v = object->first; v != NULL; v = v->next) {
        bool known = false;
        for (size_t i = 0; i < n; i++) {
            known = known || strcmp(v->name, names[i]) == 0;
        }
        if (!known) {
            const char *near = base_nearest(v->name, names, n);
            FAULT(p, v, "unknown name \"%s\"%s%s%s", base_printable(p->c->arena, v->name, strlen(v->name), 60),
                  near != NULL ? "; the nearest is \"" : "", near != NULL ? near : "", near != NULL ? "\"" : "");
        }
    }
    return BASE_OK;
}

static size_t count_of(const wire_json *v) {
    return v->kind == WIRE_JSON_LIST ? v->count : 1;
}

static base_status take_scales(const parameters *p, const wire_json *v, float *out) {
    size_t i = 0;
    for (const wire_json *x = v->kind == WIRE_JSON_LIST ? v->first : v; x != NULL; x = v == x ? NULL : x->next) {
        double real = 0;
        if (x->kind != WIRE_JSON_NUMBER || !base_parse_float(x->text, NULL, &real) || !((float)real > 0) ||
            !isfinite((float)real)) {
            FAULT(p, x, "a scale is a number above 0 that f32 has");
        }
        out[i++] = (float)real;
    }
    return BASE_OK;
}

static base_status take_zeros(const parameters *p, const wire_json *v, base_type type, int64_t *out) {
    const int64_t low = type == BASE_U8   ? 0
                        : type == BASE_I8 ? -128
                                          : 0,
                  high = type == BASE_U8   ? 255
                         : type == BASE_I8 ? 127
                                           : 0;
    size_t i = 0;
    for (const wire_json *x = v->kind == WIRE_JSON_LIST ? v->first : v; x != NULL; x = v == x ? NULL : x->next) {
        double whole = 0;
        if (x->kind != WIRE_JSON_NUMBER || !base_parse_float(x->text, NULL, &whole) || whole != floor(whole) ||
            whole < (double)low || whole > (double)high) {
            FAULT(p, x, "a zero point of %s is a whole number from %" PRId64 " to %" PRId64, base_type_name(type), low,
                  high);
        }
        out[i++] = (int64_t)whole;
    }
    return BASE_OK;
}

static base_status take_type(const parameters *p, const wire_json *v, base_type *out) {
    *out = v->kind == WIRE_JSON_TEXT ? base_type_named(v->text, strlen(v->text)) : BASE_NONE;
    if (*out != BASE_I8 && *out != BASE_U8 && *out != BASE_I16) {
        FAULT(p, v, "\"type\" is i8, u8 or i16%s",
              *out == BASE_I32 ? ": a bias stays real here, and becomes i32 with its operator" : "");
    }
    return BASE_OK;
}

static base_status take_tensor(parameters *p, const wire_json *v) {
    static const char *const names[] = {"name", "type", "axis", "scale", "zero_point"};
    if (v->kind != WIRE_JSON_OBJECT) {
        FAULT(p, v, "a tensor is an object {\"name\", \"type\", \"axis\", \"scale\", \"zero_point\"}");
    }
    base_status status = check_names(p, v, names, sizeof names / sizeof names[0]);
    const wire_json *name = wire_json_find(v, "name"), *type = wire_json_find(v, "type"),
                    *axis = wire_json_find(v, "axis"), *scale = wire_json_find(v, "scale"),
                    *zero = wire_json_find(v, "zero_point");
    if (status != BASE_OK) {
        return status;
    }
    if (name == NULL || name->kind != WIRE_JSON_TEXT || type == NULL || scale == NULL || count_of(scale) == 0) {
        FAULT(p, v, "a tensor has a \"name\", a \"type\" and a \"scale\", or a list of them");
    }
    passes_parameter to = {.name = name->text, .place = place_of(p, v)};
    const size_t n = count_of(scale);
    float *scales = BASE_NEWS(p->c->arena, float, n);
    int64_t *zeros = BASE_NEWS(p->c->arena, int64_t, n);
    uint64_t along = 0;
    status = take_type(p, type, &to.type);
    if (status == BASE_OK && axis != NULL && (!wire_json_uint(axis, &along) || along >= IR_MAX_RANK)) {
        FAULT(p, axis, "\"axis\" is the number of an extent, from 0");
    }
    if (status == BASE_OK && n > 1 && axis == NULL) {
        FAULT(p, v, "%zu scales: \"axis\" has to say along which extent", n);
    }
    if (status == BASE_OK && zero != NULL && count_of(zero) != n) {
        FAULT(p, zero, "%zu zero points, but %zu scales", count_of(zero), n);
    }
    status = status == BASE_OK ? take_scales(p, scale, scales) : status;
    if (status == BASE_OK && zero != NULL) {
        status = take_zeros(p, zero, to.type, zeros);
    } else if (status == BASE_OK && to.type == BASE_U8) {
        FAULT(p, v, "u8 has a \"zero_point\"; 0 and 128 are usual");
    }
    to.quant = (ir_quant){.n = (uint32_t)n, .axis = n > 1 ? (int32_t)along : 0, .scale = scales, .zero = zeros};
    *BASE_PUSH(p->c->arena, &p->list) = to;
    return status;
}

static base_status take_file(parameters *p, const wire_json *root) {
    static const char *const names[] = {"version", "border", "tensors"};
    const wire_json *version = wire_json_find(root, "version"), *border = wire_json_find(root, "border"),
                    *tensors = wire_json_find(root, "tensors");
    uint64_t number = 0;
    if (!wire_json_uint(version, &number) || number != VERSION) {
        FAULT(p, version != NULL ? version : root, "expected \"version\": %d", VERSION);
    }
    base_status status = check_names(p, root, names, sizeof names / sizeof names[0]);
    if (status == BASE_OK && (tensors == NULL || tensors->kind != WIRE_JSON_LIST)) {
        FAULT(p, tensors != NULL ? tensors : root, "expected a list \"tensors\"");
    }
    if (status == BASE_OK && border != NULL) {
        p->at_border = border->kind == WIRE_JSON_TEXT && strcmp(border->text, "integers") == 0;
        if (!p->at_border && (border->kind != WIRE_JSON_TEXT || strcmp(border->text, "reals") != 0)) {
            FAULT(p, border, "\"border\" is \"reals\" or \"integers\": what the model's inputs and outputs are");
        }
    }
    for (const wire_json *v = tensors->first; v != NULL && status == BASE_OK; v = v->next) {
        status = take_tensor(p, v);
    }
    return status;
}

base_status api_quantise(burin_context *c, const char *path, const char *numerics, ir_model *m, base_diags *d) {
    base_file file;
    base_status status = base_file_read(c->arena, path, &file, d);
    parameters p = {.c = c, .file = path, .text = (const char *)file.at, .size = file.size, .d = d};
    const wire_json *root = NULL;
    if (status == BASE_OK) {
        status = wire_json_read(c->arena, path, p.text, p.size, &root, d);
    }
    if (status == BASE_OK) {
        status = take_file(&p, root);
    }
    const char *goals[] = {numerics};
    passes_context passes = {.arena = c->arena, .ops = c->ops, .goal = {goals, 1}};
    if (status == BASE_OK) {
        status = passes_parameters(&passes, m, p.list.at, p.list.n, p.at_border, d);
    }
    return status == BASE_OK ? compile_integers(c->arena, c->ops, m, numerics, d) : status;
}

/* ---- as a file ---- */

typedef struct writer {
    base_text t;
    base_map *written; /* names */
} writer;

static void put_tensor(writer *w, const char *name, base_type type, const ir_quant *q) {
    bool is_new;
    if (*name == 0 || (type != BASE_I8 && type != BASE_U8 && type != BASE_I16)) {
        return;
    }
    (void)base_map_put(w->written, name, strlen(name), &is_new);
    if (!is_new) {
        return;
    }
    base_puts(&w->t, base_map_count(w->written) > 1 ? ",\n  {\"name\": " : "\n  {\"name\": ");
    base_put_quoted(&w->t, name);
    base_put(&w->t, ", \"type\": \"%s\"", base_type_name(type));
    if (q->n > 1) {
        base_put(&w->t, ", \"axis\": %" PRId32, q->axis);
    }
    base_puts(&w->t, ", \"scale\": [");
    for (uint32_t k = 0; k < q->n; k++) {
        base_puts(&w->t, k > 0 ? ", " : "");
        base_put_float32(&w->t, q->scale[k]);
    }
    base_puts(&w->t, "], \"zero_point\": [");
    for (uint32_t k = 0; k < q->n; k++) {
        base_put(&w->t, "%s%" PRId64, k > 0 ? ", " : "", q->zero[k]);
    }
    base_puts(&w->t, "]}");
}

/* Of ONNX's conversions with constant parameters. */
static void put_conversion(base_arena *arena, writer *w, const ir_graph *g, const ir_node *n) {
    const bool makes = strcmp(n->op, "quantize_linear") == 0;
    if ((!makes && strcmp(n->op, "dequantize_linear") != 0) || n->input_count < 2 || n->output_count != 1) {
        return;
    }
    const ir_tensor *whole = &g->tensors.at[makes ? n->outputs[0] : n->inputs[0]],
                    *scale = &g->tensors.at[n->inputs[1]],
                    *zero = n->input_count > 2 && n->inputs[2] != IR_NONE ? &g->tensors.at[n->inputs[2]] : NULL;
    const ir_attr *axis = ir_attr_find(n, "axis"), *block = ir_attr_find(n, "block_size");
    uint64_t count = 0, zeros = 0;
    if ((!makes && whole->data == NULL) || scale->data == NULL || scale->type != BASE_F32 ||
        !ir_shape_elements(&scale->shape, &count) || count == 0 || (block != NULL && block->v.i != 0) ||
        (zero != NULL && (zero->data == NULL || !ir_shape_elements(&zero->shape, &zeros) || zeros != count))) {
        return;
    }
    float *scales = BASE_NEWS(arena, float, (size_t)count);
    int64_t *points = BASE_NEWS(arena, int64_t, (size_t)count);
    for (uint64_t k = 0; k < count; k++) {
        scales[k] = (float)base_load(BASE_F32, scale->data, k).f;
        points[k] = zero != NULL ? base_load(zero->type, zero->data, k).i : 0;
    }
    const ir_quant quant = {
        .n = (uint32_t)count, .axis = axis != NULL ? (int32_t)axis->v.i : 0, .scale = scales, .zero = points};
    put_tensor(w, makes ? g->tensors.at[n->inputs[0]].name : whole->name, whole->type, &quant);
}

typedef struct text_call {
    const burin_model *m;
    const char *text;
} text_call;

static base_status write_text(burin_context *c, void *arguments) {
    text_call *call = arguments;
    const ir_graph *g = &call->m->ir->graphs.at[0];
    writer w = {.t = {.arena = c->arena}, .written = base_map_new(c->arena)};
    bool at_border = false;
    for (size_t i = 0; i < g->inputs.n; i++) {
        at_border = at_border || g->tensors.at[g->inputs.at[i]].quant.n > 0;
    }
    base_put(&w.t, "{\"version\": %d, \"border\": \"%s\", \"tensors\": [", VERSION, at_border ? "integers" : "reals");
    for (size_t t = 0; t < g->tensors.n; t++) {
        if (g->tensors.at[t].quant.n > 0) {
            put_tensor(&w, g->tensors.at[t].name, g->tensors.at[t].type, &g->tensors.at[t].quant);
        }
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        put_conversion(c->arena, &w, g, &g->nodes.at[i]);
    }
    base_puts(&w.t, "\n]}\n");
    call->text = w.t.at;
    return BASE_OK;
}

burin_status burin_quantization_text(burin_context *c, const burin_model *m, const char **text) {
    text_call call = {.m = m};
    const burin_status status = api_guarded(c, write_text, &call);
    *text = status == BURIN_OK ? call.text : NULL;
    return status;
}
