/* parameters.c - quantisation parameters that somebody gives for the tensors of a model of reals.
 *
 * Takes a main graph and a type with scales and zero points for some of its tensors. Gives the graph with conversions where they hold: a
 * constant becomes integers that are dequantised, what is computed is quantised and dequantised behind where it is made (ONNX's QDQ
 * form). What has no parameters stays real. Passes scales and quantise make quantised operators of that.
 */
#include <inttypes.h>
#include <string.h>

#include "passes/passes_private.h"

typedef struct setter {
    passes_context *c;
    ir_model *m;
    ir_graph *g;
    base_diags *d;
    size_t nodes, tensors; /* there were at first */
    base_map *by_name;     /* of them: the tensor; IR_NONE: several */
    uint32_t *same;        /* of each of those tensors: what its readers read from now on */
    uint32_t *outside;     /* of each: what the graph's border has in its place; itself: nothing else */
} setter;

static void list_names(setter *s) {
    s->by_name = base_map_new(s->c->arena);
    for (uint32_t t = 0; t < s->tensors; t++) {
        bool is_new;
        const char *name = s->g->tensors.at[t].name;
        uint64_t *at = base_map_put(s->by_name, name, strlen(name), &is_new);
        *at = is_new ? t : IR_NONE; /* several have it */
    }
}

static uint32_t find(const setter *s, const passes_parameter *p) {
    const uint64_t *at = base_map_get(s->by_name, p->name, strlen(p->name));
    const char *name = base_printable(s->c->arena, p->name, strlen(p->name), 80);
    if (at != NULL && *at != IR_NONE) {
        return (uint32_t)*at;
    }
    if (at != NULL) {
        base_error(s->d, &p->place, "several tensors are called \"%s\"", name);
        return IR_NONE;
    }
    const char **names = BASE_NEWS(s->c->arena, const char *, s->tensors + 1);
    for (uint32_t t = 0; t < s->tensors; t++) {
        names[t] = s->g->tensors.at[t].name;
    }
    const char *near = base_nearest(p->name, names, s->tensors);
    base_error(s->d, &p->place, "the main graph has no tensor \"%s\"%s%s%s", name,
               near != NULL ? "; the nearest is \"" : "",
               near != NULL ? base_printable(s->c->arena, near, strlen(near), 80) : "", near != NULL ? "\"" : "");
    return IR_NONE;
}

/* Can the tensor have these parameters? */
static bool check(const setter *s, const passes_parameter *p, uint32_t t) {
    const ir_tensor *x = &s->g->tensors.at[t];
    const ir_quant *q = &p->quant;
    const char *name = base_printable(s->c->arena, p->name, strlen(p->name), 80);
    if (x->type != BASE_F32) {
        base_error(s->d, &p->place, "\"%s\" is %s: only f32 is quantised", name, base_type_name(x->type));
    } else if (x->state != IR_NONE) {
        base_error(s->d, &p->place, "\"%s\" is a state of the model: its type stays", name);
    } else if (s->same[t] != t) {
        base_error(s->d, &p->place, "\"%s\" has parameters already", name);
    } else if (q->n > 1 && x->data == NULL) {
        base_error(s->d, &p->place, "\"%s\" is computed: it has one scale, and not %" PRIu32, name, q->n);
    } else if (q->n > 1 && (q->axis >= (int32_t)x->shape.rank || x->shape.dim[q->axis] != (int64_t)q->n)) {
        base_error(s->d, &p->place, "\"%s\" is %s: %" PRIu32 " scales do not fit along axis %" PRId32, name,
                   ir_shape_print(s->c->arena, &x->shape), q->n, q->axis);
    } else {
        return true;
    }
    return false;
}

static uint32_t tensor_like(const setter *s, uint32_t t, base_type type) {
    const ir_tensor like = s->g->tensors.at[t];
    return ir_tensor_add(s->m, s->g, like.name, type, &like.shape);
}

static bool is_in(const uint32_t *list, size_t n, uint32_t t) {
    for (size_t i = 0; i < n; i++) {
        if (list[i] == t) {
            return true;
        }
    }
    return false;
}

/* A conversion from or to `whole`, whose quantisation it says itself. */
static size_t convert(const setter *s, const char *word, uint32_t from, uint32_t to, uint32_t whole) {
    const ir_node none = {0};
    passes_convert(s->m, s->g, word, from, to, &none);
    passes_say_scale(s->c, s->m, s->g, s->g->nodes.n - 1, whole);
    return s->g->nodes.n - 1;
}

/* Conversions of one tensor. at_border: where it is an input or an output of the graph, the graph has the integers. */
static base_status set(const setter *s, const passes_parameter *p, uint32_t t, bool at_border) {
    const bool is_constant = s->g->tensors.at[t].data != NULL;
    const bool is_input = at_border && is_in(s->g->inputs.at, s->g->inputs.n, t),
               is_output = at_border && is_in(s->g->outputs.at, s->g->outputs.n, t);
    const uint32_t whole = tensor_like(s, t, p->type), real = tensor_like(s, t, BASE_F32);
    s->g->tensors.at[whole].quant = p->quant;
    if (!is_input) {
        const size_t node = convert(s, "quantize", t, whole, whole);
        if (is_constant) {
            if (!ops_evaluate(s->c->arena, s->c->ops, s->m, s->g, &s->g->nodes.at[node], &s->c->goal)) {
                return base_error(s->d, &p->place, "\"%s\" cannot be converted to %s",
                                  base_printable(s->c->arena, p->name, strlen(p->name), 80), base_type_name(p->type));
            }
            s->g->nodes.n = node;
        }
    }
    convert(s, "dequantize", whole, real, whole);
    s->g->tensors.at[whole].quant = (ir_quant){0};
    s->same[t] = real;
    s->outside[t] = is_input || is_output ? whole : real;
    return BASE_OK;
}

static void put(const uint32_t *same, size_t tensors, uint32_t *list, size_t n) {
    for (size_t k = 0; k < n; k++) {
        list[k] = list[k] != IR_NONE && list[k] < tensors ? same[list[k]] : list[k];
    }
}

base_status passes_parameters(passes_context *c, ir_model *m, const passes_parameter *list, size_t n, bool at_border,
                              base_diags *d) {
    setter s = {.c = c, .m = m, .g = &m->graphs.at[0], .d = d};
    s.nodes = s.g->nodes.n;
    s.tensors = s.g->tensors.n;
    list_names(&s);
    s.same = BASE_NEWS(c->arena, uint32_t, s.tensors + 1);
    s.outside = BASE_NEWS(c->arena, uint32_t, s.tensors + 1);
    for (uint32_t t = 0; t < s.tensors; t++) {
        s.same[t] = s.outside[t] = t;
        if (s.g->tensors.at[t].quant.n > 0) {
            const base_place place = {.file = m->file};
            return base_error(d, &place, "\"%s\" has a scale: the model is quantised already",
                              base_printable(c->arena, s.g->tensors.at[t].name, strlen(s.g->tensors.at[t].name), 80));
        }
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t t = find(&s, &list[i]);
        const base_status status =
            t != IR_NONE && check(&s, &list[i], t) ? set(&s, &list[i], t, at_border) : BASE_REFUSED;
        if (status != BASE_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < s.nodes; i++) {
        put(s.same, s.tensors, s.g->nodes.at[i].inputs, s.g->nodes.at[i].input_count);
    }
    put(s.outside, s.tensors, s.g->outputs.at, s.g->outputs.n);
    if (at_border) {
        put(s.outside, s.tensors, s.g->inputs.at, s.g->inputs.n);
    }
    const base_status status = ir_sort(m, d);
    return status == BASE_OK ? ir_verify(m, d) : status;
}
