/* case_file.c - the reader of case files: words, numbers, and the model that a case says. */
#include "ops/case_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    base_arena *arena;
    const char *at;
    unsigned line;
    const char *error; /* the first; everything then gives nothing */
    /* the case being read */
    case_one *one;
    ir_graph *graph;
    uint32_t inputs[CASE_MOST], outputs[CASE_MOST];
    size_t input_count, output_count;
    BASE_VEC(ir_attr) attrs;
} reader;

static void fail(reader *r, const char *what) {
    if (r->error == NULL) {
        r->error = base_printf(r->arena, "line %u: %s", r->line, what);
    }
}

static void skip_space(reader *r) {
    for (;;) {
        if (r->at[0] == '/' && r->at[1] == '/') {
            r->at += strcspn(r->at, "\n");
        } else if (isspace((unsigned char)*r->at)) {
            r->line += *r->at == '\n';
            r->at++;
        } else {
            return;
        }
    }
}

/* Is the next token this one? Then it is taken. */
static bool take(reader *r, const char *token) {
    skip_space(r);
    size_t n = strlen(token);
    bool is_word = isalpha((unsigned char)token[0]);
    if (r->error != NULL || strncmp(r->at, token, n) != 0 ||
        (is_word && (isalnum((unsigned char)r->at[n]) || r->at[n] == '_'))) {
        return false;
    }
    r->at += n;
    return true;
}

static void need(reader *r, const char *token) {
    if (!take(r, token)) {
        fail(r, base_printf(r->arena, "expected %s", token));
    }
}

static const char *name(reader *r) {
    skip_space(r);
    size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (n == 0) {
        fail(r, "expected a name");
    }
    r->at += n;
    return base_strndup(r->arena, r->at - n, n);
}

static const char *quoted(reader *r) {
    need(r, "\"");
    size_t n = strcspn(r->at, "\"\n");
    const char *text = base_strndup(r->arena, r->at, n);
    r->at += n;
    need(r, "\"");
    return text;
}

/* ---- numbers ---- */

typedef struct number {
    bool is_float;
    int64_t i;
    double f;
} number;

/* Does a number begin here? */
static bool at_number(reader *r) {
    skip_space(r);
    const char *s = r->at + (*r->at == '-' || *r->at == '+');
    return r->error == NULL && (isdigit((unsigned char)*s) || *s == '.' || strncmp(s, "inf", 3) == 0 ||
                                strncmp(s, "nan", 3) == 0 || strncmp(s, "true", 4) == 0 || strncmp(s, "false", 5) == 0);
}

static number take_number(reader *r) {
    number v = {0};
    if (take(r, "true")) {
        return (number){.i = 1, .f = 1};
    }
    if (take(r, "false")) {
        return v;
    }
    const char *end = r->at;
    if (!at_number(r) || !base_parse_float(r->at, &end, &v.f)) {
        fail(r, "expected a number");
        return v;
    }
    size_t n = (size_t)(end - r->at);
    v.is_float = strcspn(r->at, ".eEpnf") < n || strncmp(r->at, "0x", 2) == 0;
    v.i = v.is_float ? 0 : strtoll(r->at, NULL, 10);
    r->at = end;
    return v;
}

typedef struct numbers {
    bool is_list, is_float;
    BASE_VEC(number) list;
} numbers;

/* A number, or [numbers] with or without commas. */
static numbers take_numbers(reader *r) {
    numbers v = {0};
    v.is_list = take(r, "[");
    do {
        if (v.is_list && !at_number(r)) {
            break;
        }
        number k = take_number(r);
        *BASE_PUSH(r->arena, &v.list) = k;
        v.is_float = v.is_float || k.is_float;
        take(r, ",");
    } while (v.is_list && r->error == NULL);
    if (v.is_list) {
        need(r, "]");
    }
    return v;
}

/* ---- the pieces of a case ---- */

static void read_attr(reader *r) {
    ir_attr a = {.name = name(r)};
    need(r, "=");
    skip_space(r);
    if (*r->at == '"') {
        a.kind = IR_TEXT;
        a.v.text = quoted(r);
        a.n = strlen(a.v.text);
    } else {
        numbers v = take_numbers(r);
        a.n = v.list.n;
        a.kind = v.is_list ? (v.is_float ? IR_FLOATS : IR_INTS) : (v.is_float ? IR_FLOAT : IR_INT);
        int64_t *ints = BASE_NEWS(r->arena, int64_t, v.list.n + 1);
        double *floats = BASE_NEWS(r->arena, double, v.list.n + 1);
        for (size_t i = 0; i < v.list.n; i++) {
            ints[i] = v.list.at[i].i;
            floats[i] = v.list.at[i].f;
        }
        switch (a.kind) {
        case IR_INTS:
            a.v.ints = ints;
            break;
        case IR_FLOATS:
            a.v.floats = floats;
            break;
        case IR_INT:
            a.v.i = ints[0];
            break;
        default:
            a.v.f = floats[0];
            break;
        }
    }
    *BASE_PUSH(r->arena, &r->attrs) = a;
}

static void read_quant(reader *r, ir_quant *q, double *within) {
    while (r->error == NULL && !take(r, "=")) {
        bool is_scale = take(r, "scale");
        if (is_scale || take(r, "zero")) {
            numbers v = take_numbers(r);
            float *scale = BASE_NEWS(r->arena, float, v.list.n + 1);
            int64_t *zero = BASE_NEWS(r->arena, int64_t, v.list.n + 1);
            for (size_t i = 0; i < v.list.n; i++) {
                scale[i] = (float)v.list.at[i].f;
                zero[i] = v.list.at[i].i;
            }
            q->n = (uint32_t)v.list.n;
            q->scale = is_scale ? scale : q->scale;
            q->zero = is_scale ? zero : zero;
        } else if (take(r, "axis")) {
            q->axis = (int32_t)take_number(r).i;
        } else if (take(r, "within")) {
            *within = take_number(r).f;
        } else {
            fail(r, "expected scale, zero, axis, within or =");
        }
    }
}

static base_value value_of(base_type type, number n) {
    return base_type_is_float(type)    ? (base_value){.f = base_round_to(type, n.f)}
           : base_type_is_signed(type) ? (base_value){.i = n.i}
                                       : (base_value){.u = (uint64_t)n.i};
}

/* type[shape] quantisation = values. Gives the tensor's number in the graph. */
static uint32_t read_tensor(reader *r, const char *role, const void **data, double *within) {
    const char *type_name = name(r);
    base_type type = base_type_named(type_name, strlen(type_name));
    skip_space(r);
    if (type == BASE_NONE || *r->at != '[') {
        fail(r, "expected a type and a shape");
        return 0;
    }
    numbers dims = take_numbers(r);
    ir_shape shape = {.rank = (uint32_t)dims.list.n};
    for (size_t i = 0; i < dims.list.n && i < IR_MAX_RANK; i++) {
        shape.dim[i] = dims.list.at[i].i;
    }
    ir_quant quant = {0};
    read_quant(r, &quant, within);
    uint64_t elements, bytes;
    if (r->error != NULL || dims.list.n > IR_MAX_RANK || !ir_shape_elements(&shape, &elements) || elements > 1u << 20 ||
        !base_type_bytes(type, elements, &bytes)) {
        fail(r, "the shape is too large");
        return 0;
    }
    char *at = base_alloc(r->arena, (size_t)bytes + 1, 1);
    uint64_t n = 0;
    for (; n < elements && at_number(r); n++) {
        number k = take_number(r);
        if (k.is_float && !base_type_is_float(type)) {
            fail(r, "a fraction in an integer tensor");
        }
        base_store(type, at, n, value_of(type, k));
    }
    if (n < elements || at_number(r)) {
        fail(r, base_printf(r->arena, "expected %llu values", (unsigned long long)elements));
    }
    uint32_t t =
        ir_tensor_add(r->one->model, r->graph, base_printf(r->arena, "%s%zu", role, r->graph->tensors.n), type, &shape);
    r->graph->tensors.at[t].quant = quant;
    *data = at;
    return t;
}

static void read_input(reader *r, bool is_absent, bool is_constant) {
    if (r->input_count == CASE_MOST) {
        fail(r, "too many inputs");
        return;
    }
    size_t k = r->input_count++;
    r->inputs[k] = IR_NONE;
    if (!is_absent) {
        double ignored;
        const void *data = NULL;
        r->inputs[k] = read_tensor(r, "in", &data, &ignored);
        if (r->error == NULL && is_constant) {
            r->graph->tensors.at[r->inputs[k]].data = data;
        } else if (r->error == NULL) {
            r->one->inputs[k] = data;
            *BASE_PUSH(r->arena, &r->graph->inputs) = r->inputs[k];
        }
    }
}

static void read_output(reader *r) {
    if (r->output_count == CASE_MOST) {
        fail(r, "too many outputs");
        return;
    }
    size_t k = r->output_count++;
    r->outputs[k] = read_tensor(r, "out", &r->one->wanted[k], &r->one->within[k]);
    *BASE_PUSH(r->arena, &r->graph->outputs) = r->outputs[k];
}

static void read_case(reader *r, const char *op, case_file *out) {
    case_one one = {.name = name(r)};
    need(r, "from");
    one.source = quoted(r);
    one.model = ir_model_new(r->arena, "case", one.name);
    r->one = &one;
    r->graph = ir_graph_add(one.model, op);
    r->input_count = r->output_count = r->attrs.n = 0;
    skip_space(r);
    while (r->error == NULL && *r->at != '\0' && strncmp(r->at, "case", 4) != 0) {
        if (take(r, "goal")) {
            one.goals[one.goal_count++ % CASE_MOST] = quoted(r);
        } else if (take(r, "attr")) {
            read_attr(r);
        } else if (take(r, "absent")) {
            read_input(r, true, false);
        } else if (take(r, "const")) {
            read_input(r, false, true);
        } else if (take(r, "in") || take(r, "state")) { /* a state is an input like any other */
            read_input(r, false, false);
        } else if (take(r, "out")) {
            read_output(r);
        } else {
            fail(r, "expected goal, attr, in, const, state, absent, out or case");
        }
        skip_space(r);
    }
    if (r->error == NULL) {
        ir_node *node =
            ir_node_add(one.model, r->graph, op, r->inputs, r->input_count, r->outputs, r->output_count, IR_NONE);
        ir_attr *attrs = BASE_NEWS(r->arena, ir_attr, r->attrs.n + 1);
        for (size_t i = 0; i < r->attrs.n; i++) {
            attrs[i] = r->attrs.at[i];
        }
        node->attrs = attrs;
        node->attr_count = r->attrs.n;
        *BASE_PUSH(r->arena, &out->list) = one;
    }
}

bool case_file_read(base_arena *arena, const char *op, const char *text, case_file *out, const char **error) {
    reader r = {.arena = arena, .at = text, .line = 1};
    skip_space(&r);
    while (r.error == NULL && *r.at != '\0') {
        if (take(&r, "case")) {
            read_case(&r, op, out);
        } else {
            fail(&r, "expected case");
        }
        skip_space(&r);
    }
    if (r.error == NULL && out->list.n == 0) {
        fail(&r, "no case");
    }
    *error = r.error;
    return r.error == NULL;
}
