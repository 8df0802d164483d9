/* steps_ml.c - steps for operators of ai.onnx.ml, whose lists of numbers become constant inputs (words.def says what each does). */
#include "formats/onnx/steps.h"

#include <math.h>

void onnx_put_list_as_floats(onnx_out *out, const char *attr) {
    size_t n;
    const double *list = onnx_out_float_list(out, BASE_F32, &n);
    float *floats = BASE_NEWS(out->arena, float, n + 1);
    for (size_t i = 0; list && i < n; i++) {
        floats[i] = (float)list[i];
    }
    if (list) {
        onnx_out_floats(out, attr, floats, n);
    }
}

void onnx_put_list_as_ints(onnx_out *out, const char *attr) {
    size_t n;
    const int64_t *list = onnx_out_int_list(out, &n);
    if (list) {
        onnx_out_ints(out, attr, list, n);
    }
}

static void add_list(onnx_op *op, const char *name, base_type type, size_t n, const void *data) {
    const ir_shape shape = ir_shape_of(1, &(int64_t){(int64_t)n});
    onnx_op_add_constant(op, name, type, &shape, data ? data : "");
}

static void need(onnx_op *op, const char *attr) {
    if (!onnx_op_failed(op)) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", attr);
    }
}

/* ---- lists that are inputs of the node: behind those of the file, in the row's order ---- */

static bool is_list(const onnx_step_kind *kind) {
    return kind == &onnx_step_const_floats || kind == &onnx_step_const_ints || kind == &onnx_step_classes ||
           kind == &onnx_step_categories || kind == &onnx_step_imputed;
}

/* The list of that step, a constant of that type; NULL: it is absent, or the row cannot say the node. */
static const ir_tensor *list_of(onnx_out *out, const onnx_step *s, base_type type, bool needed, size_t *n) {
    size_t at = out->word->most;
    uint64_t count = 0;
    for (const onnx_step *before = out->word->steps; before != s; before++) {
        at += is_list(before->kind);
    }
    out->said = out->node->input_count > out->word->most ? out->node->input_count - out->word->most : 0;
    const ir_tensor *t = onnx_out_input(out, at);
    if (t->type == BASE_NONE) {
        if (needed) {
            onnx_out_cannot(out, "its input %zu is absent", at);
        }
        return NULL;
    }
    if (t->data == NULL || t->type != type || !ir_shape_elements(&t->shape, &count)) {
        onnx_out_cannot(out, "its input %zu is no constant of type %s", at, base_type_name(type));
        return NULL;
    }
    *n = (size_t)count;
    return t;
}

static void put_floats(onnx_out *out, const onnx_step *s, const char *attr, bool needed) {
    size_t n = 0;
    const ir_tensor *t = list_of(out, s, BASE_F32, needed, &n);
    float *list = BASE_NEWS(out->arena, float, n + 1);
    for (size_t i = 0; t && i < n; i++) {
        list[i] = (float)base_load(BASE_F32, t->data, i).f;
    }
    if (t) {
        onnx_out_floats(out, attr, list, n);
    }
}

static void put_ints(onnx_out *out, const onnx_step *s, const char *attr, bool needed) {
    size_t n = 0;
    const ir_tensor *t = list_of(out, s, BASE_I64, needed, &n);
    int64_t *list = BASE_NEWS(out->arena, int64_t, n + 1);
    for (size_t i = 0; t && i < n; i++) {
        list[i] = base_load(BASE_I64, t->data, i).i;
    }
    if (t) {
        onnx_out_ints(out, attr, list, n);
    }
}

static void make_const_floats(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_FLOATS);
    if (a) {
        add_list(op, s->attr, BASE_F32, a->n, a->floats);
    } else if (s->b) {
        need(op, s->attr);
    } else {
        onnx_op_add_absent(op);
    }
}
static void put_const_floats(onnx_out *out, const onnx_step *s) {
    put_floats(out, s, s->attr, s->b != 0);
}
const onnx_step_kind onnx_step_const_floats = {"CONST_FLOATS", make_const_floats, put_const_floats};

static void make_const_ints(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *list = onnx_op_ints(op, s->attr, &n);
    if (list) {
        add_list(op, s->attr, BASE_I64, n, list);
    } else if (s->b) {
        need(op, s->attr);
    } else {
        onnx_op_add_absent(op);
    }
}
static void put_const_ints(onnx_out *out, const onnx_step *s) {
    put_ints(out, s, s->attr, s->b != 0);
}
const onnx_step_kind onnx_step_const_ints = {"CONST_INTS", make_const_ints, put_const_ints};

static void make_classes(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *list = onnx_op_classes(op, s->text, s->attr, &n);
    if (list) {
        add_list(op, s->attr, BASE_I64, n, list);
    }
}
static void put_classes(onnx_out *out, const onnx_step *s) {
    put_ints(out, s, s->attr, true);
}
const onnx_step_kind onnx_step_classes = {"CLASSES", make_classes, put_classes};

/* Lists are a row each. Other dimensions than the inputs' cut them off, or fill them up. */
static void make_features(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *stated = onnx_op_ints(op, "inputdimensions", &n);
    (void)s;
    for (size_t i = 0; i < op->input_count && !onnx_op_failed(op); i++) {
        const ir_shape shape = onnx_op_input(op, i)->shape;
        if (shape.rank < 1 || (stated && n != op->input_count)) {
            onnx_op_error(op, "inputdimensions: expected %zu values, got %zu; and inputs with extents", op->input_count,
                          n);
        } else if (stated && stated[i] != shape.dim[shape.rank - 1]) {
            onnx_op_unsupported(op, "operator FeatureVectorizer that cuts inputs off, or fills them up",
                                "state inputdimensions as they are");
            return;
        } else if (shape.rank == 1) {
            onnx_op_reshape(op, i, &(ir_shape){.rank = 2, .dim = {1, shape.dim[0]}});
        }
    }
}
static void put_features(onnx_out *out, const onnx_step *s) {
    int64_t *last = BASE_NEWS(out->arena, int64_t, out->node->input_count + 1);
    (void)s;
    for (size_t i = 0; i < out->node->input_count; i++) {
        const ir_shape *shape = &onnx_out_input(out, i)->shape;
        if (shape->rank < 1 || shape->symbol[shape->rank - 1]) {
            onnx_out_cannot(out, "its input %zu has an open extent", i);
            return;
        }
        last[i] = shape->dim[shape->rank - 1];
    }
    onnx_out_ints(out, "inputdimensions", last, out->node->input_count);
}
const onnx_step_kind onnx_step_features = {"FEATURES", make_features, put_features};

/* Numbers of one type as those of another. */
static void *converted(onnx_op *op, base_type to, size_t n, const float *floats, const int64_t *ints) {
    void *data = base_alloc(op->r->arena, n + 1, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        const double v = floats ? (double)floats[i] : 0.0;
        base_store(to, data, i, floats ? (base_value){.f = base_round_to(to, v)} : (base_value){.i = ints[i]});
    }
    return data;
}

static void make_imputed(onnx_op *op, const onnx_step *s) {
    const base_type type = onnx_op_input(op, 0)->type;
    const bool real = base_type_is_float(type);
    const onnx_attr *floats = onnx_op_attr(op, "imputed_value_floats", ONNX_FLOATS);
    size_t n;
    const int64_t *ints = onnx_op_ints(op, "imputed_value_int64s", &n);
    const float replaced = onnx_op_float(op, "replaced_value_float", 0);
    const int64_t replaced_int = onnx_op_int(op, "replaced_value_int64", 0);
    (void)s;
    if (onnx_op_failed(op)) {
        return;
    }
    if (real ? !floats : !ints) {
        need(op, real ? "imputed_value_floats" : "imputed_value_int64s");
    } else if (real) {
        add_list(op, "imputed_value_floats", type, floats->n, converted(op, type, floats->n, floats->floats, NULL));
        ir_attr_float(op->r->m, op->node, "replaced", (double)replaced);
    } else {
        add_list(op, "imputed_value_int64s", type, n, converted(op, type, n, NULL, ints));
        ir_attr_int(op->r->m, op->node, "replaced_int", replaced_int);
    }
}
static void put_imputed(onnx_out *out, const onnx_step *s) {
    const bool real = base_type_is_float(onnx_out_input(out, 0)->type);
    const ir_attr *a = real ? onnx_out_attr(out, "replaced", IR_FLOAT) : onnx_out_attr(out, "replaced_int", IR_INT);
    if (a && real) {
        onnx_out_float(out, "replaced_value_float", (float)a->v.f);
        put_floats(out, s, "imputed_value_floats", true);
    } else if (a) {
        onnx_out_int(out, "replaced_value_int64", a->v.i);
        put_ints(out, s, "imputed_value_int64s", true);
    }
}
const onnx_step_kind onnx_step_imputed = {"IMPUTED", make_imputed, put_imputed};

/* ---- LabelEncoder ---- */

typedef struct column {
    base_type type; /* BASE_NONE: absent */
    size_t n;
    const void *data;
} column;

/* Keys or values: a list by type, or a tensor. */
static column column_of(onnx_op *op, const char *what) {
    column c = {BASE_NONE, 0, NULL};
    const onnx_attr *floats = onnx_op_attr(op, base_printf(op->r->arena, "%s_floats", what), ONNX_FLOATS);
    size_t n;
    const int64_t *ints = onnx_op_ints(op, base_printf(op->r->arena, "%s_int64s", what), &n);
    const onnx_attr *tensor = onnx_op_attr(op, base_printf(op->r->arena, "%s_tensor", what), ONNX_TENSOR);
    const onnx_attr *strings = onnx_op_attr(op, base_printf(op->r->arena, "%s_strings", what), ONNX_STRINGS);
    if (strings && !onnx_op_failed(op)) {
        c = (column){BASE_STR, strings->n, onnx_op_strings(op, strings->strings, strings->n)};
    } else if (tensor && !onnx_op_failed(op)) {
        ir_tensor t;
        uint64_t count = 0;
        const wire_path path = {.outer = op->path, .name = tensor->name, .index = WIRE_NO_INDEX};
        if (onnx_read_tensor(op->r, &path, tensor->message, &t) && ir_shape_elements(&t.shape, &count)) {
            c = (column){t.type, (size_t)count, t.data};
        }
    } else if (floats) {
        c = (column){BASE_F32, floats->n, floats->floats};
    } else if (ints) {
        c = (column){BASE_I64, n, ints};
    }
    return c;
}

/* The definition takes the first of several: the last is the first from behind. */
static column backward(onnx_op *op, column c) {
    void *data = base_alloc(op->r->arena, c.n + 1, sizeof(double));
    for (size_t i = 0; i < c.n; i++) {
        base_store(c.type, data, i, base_load(c.type, c.data, c.n - 1 - i));
    }
    c.data = data;
    return c;
}

/* What stands for a key that there is not. */
static uint32_t unused_string(onnx_op *op, const onnx_attr *given) {
    static const char unused[] = "_Unused";
    return given ? base_string_number(op->r->strings, given->s.at, given->s.size)
                 : base_string_number(op->r->strings, unused, sizeof unused - 1);
}

static void make_encoded(onnx_op *op, const onnx_step *s) {
    const column keys = column_of(op, "keys"), values = column_of(op, "values");
    const float default_float = onnx_op_float(op, "default_float", -0.0F);
    const int64_t default_int = onnx_op_int(op, "default_int64", -1);
    const onnx_attr *tensor = onnx_op_attr(op, "default_tensor", ONNX_TENSOR);
    const ir_shape scalar = {0};
    const onnx_attr *string = onnx_op_attr(op, "default_string", ONNX_STRING);
    if (onnx_op_failed(op) || keys.type == BASE_NONE || values.type == BASE_NONE) {
        if (!onnx_op_failed(op) && formats_notes_count(op->r->notes) == 0) {
            need(op, keys.type == BASE_NONE ? "keys" : "values");
        }
        return;
    }
    if (keys.n != values.n) {
        onnx_op_error(op, "%zu keys, and %zu values", keys.n, values.n);
        return;
    }
    add_list(op, "keys", keys.type, keys.n, s->a ? backward(op, keys).data : keys.data);
    add_list(op, "values", values.type, values.n, s->a ? backward(op, values).data : values.data);
    void *data = base_alloc(op->r->arena, 1, sizeof(double));
    base_store(values.type, data, 0,
               values.type == BASE_STR           ? (base_value){.u = unused_string(op, string)}
               : base_type_is_float(values.type) ? (base_value){.f = (double)default_float}
                                                 : (base_value){.i = default_int});
    if (tensor) {
        ir_tensor t;
        uint64_t count = 0;
        const wire_path path = {.outer = op->path, .name = tensor->name, .index = WIRE_NO_INDEX};
        if (!onnx_read_tensor(op->r, &path, tensor->message, &t)) {
            return;
        }
        if (t.type != values.type || !ir_shape_elements(&t.shape, &count) || count != 1) {
            onnx_op_error(op, "default_tensor: expected one number of the values' type");
            return;
        }
        data = base_alloc(op->r->arena, 1, sizeof(double));
        base_store(t.type, data, 0, base_load(t.type, t.data, 0));
    }
    onnx_op_add_constant(op, "default", values.type, &scalar, data);
}
/* The list, as its type has it. */
static void put_column(onnx_out *out, const char *what, base_type type, const double *v, size_t n) {
    float *floats = BASE_NEWS(out->arena, float, n + 1);
    int64_t *ints = BASE_NEWS(out->arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        floats[i] = type == BASE_F32 ? (float)v[i] : 0.0F;
        ints[i] = type == BASE_I64 ? (int64_t)v[i] : 0;
        if (!base_type_is_float(type) && fabs(v[i]) > 0x1p53) {
            onnx_out_cannot(out, "its integers are beyond 2^53");
        }
    }
    if (type == BASE_STR) {
        onnx_out_strings(out, base_printf(out->arena, "%s_strings", what), v, n);
    } else if (type == BASE_F32) {
        onnx_out_floats(out, base_printf(out->arena, "%s_floats", what), floats, n);
    } else if (type == BASE_I64) {
        onnx_out_ints(out, base_printf(out->arena, "%s_int64s", what), ints, n);
    } else {
        onnx_out_tensor(out, base_printf(out->arena, "%s_tensor", what), type, v, n);
    }
}

/* Keys that are not there before; what is no number is equal to itself, and so are both zeros. *n: how many are left. */
static void leave_first(base_arena *arena, double *keys, double *values, size_t *n) {
    base_map *seen = base_map_new(arena);
    size_t count = 0;
    for (size_t i = 0; i < *n; i++) {
        const bool is_number = keys[i] == keys[i];
        const double key = is_number && keys[i] != 0 ? keys[i] : 0.0;
        bool is_new;
        (void)base_map_put(seen, is_number ? (const void *)&key : "nan", is_number ? sizeof key : 3, &is_new);
        if (is_new) {
            keys[count] = keys[i];
            values[count++] = values[i];
        }
    }
    *n = count;
}

static void turn(double *v, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        const double here = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = here;
    }
}

/* From behind, as version 4 has it. Of a key that is there twice the first one here counts, and runtimes differ: it stands
 * alone. */
static void put_encoded(onnx_out *out, const onnx_step *s) {
    size_t n, n_values, one;
    const size_t first = out->word->most;
    const base_type key = onnx_out_input(out, first)->type, type = onnx_out_input(out, first + 1)->type;
    double *keys = onnx_out_float_list(out, key, &n), *values = onnx_out_float_list(out, type, &n_values);
    const double *otherwise = onnx_out_float_list(out, type, &one);
    if (out->why || !keys || !values || !otherwise || n != n_values || one != 1 || !s->a) {
        onnx_out_cannot(out, "it has no keys and values");
        return;
    }
    leave_first(out->arena, keys, values, &n);
    turn(keys, n);
    turn(values, n);
    put_column(out, "keys", key, keys, n);
    put_column(out, "values", type, values, n);
    if (type == BASE_STR) {
        onnx_out_string(out, "default_string", (uint32_t)*otherwise);
    } else if (type == BASE_F32) {
        onnx_out_float(out, "default_float", (float)*otherwise);
    } else if (type == BASE_I64) {
        onnx_out_int(out, "default_int64", (int64_t)*otherwise);
    } else {
        onnx_out_tensor(out, "default_tensor", type, otherwise, 1);
    }
}
const onnx_step_kind onnx_step_encoded = {"ENCODED", make_encoded, put_encoded};

/* ---- LabelEncoder of version 1, CategoryMapper: strings and the numbers beside them, either way ---- */

static void make_mapped(onnx_op *op, const onnx_step *s) {
    const onnx_attr *strings = onnx_op_attr(op, s->attr, ONNX_STRINGS), *string;
    size_t n = strings ? strings->n : 0;
    const int64_t *ints = s->text ? onnx_op_ints(op, s->text, &n) : NULL;
    const int64_t otherwise = onnx_op_int(op, "default_int64", -1);
    string = onnx_op_attr(op, "default_string", ONNX_STRING);
    const base_type type = onnx_op_input(op, 0)->type;
    const ir_shape scalar = {0};
    if (onnx_op_failed(op)) {
        return;
    }
    if (!strings || (s->text && (!ints || n != strings->n)) || (type != BASE_STR && type != BASE_I64)) {
        onnx_op_error(op, "expected strings, as many numbers, and strings or i64 to map");
        return;
    }
    int64_t *numbers = BASE_NEWS(op->r->arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = ints ? ints[i] : (int64_t)i;
    }
    const uint32_t *texts = onnx_op_strings(op, strings->strings, n);
    const bool to_numbers = type == BASE_STR;
    add_list(op, "keys", type, n, to_numbers ? (const void *)texts : numbers);
    add_list(op, "values", to_numbers ? BASE_I64 : BASE_STR, n, to_numbers ? (const void *)numbers : texts);
    void *data = base_alloc(op->r->arena, 1, sizeof(double));
    base_store(to_numbers ? BASE_I64 : BASE_STR, data, 0,
               to_numbers ? (base_value){.i = otherwise} : (base_value){.u = unused_string(op, string)});
    onnx_op_add_constant(op, "default", to_numbers ? BASE_I64 : BASE_STR, &scalar, data);
}
static void put_mapped(onnx_out *out, const onnx_step *s) {
    (void)s;
    onnx_out_cannot(out, "a newer LabelEncoder says it");
}
const onnx_step_kind onnx_step_mapped = {"MAPPED", make_mapped, put_mapped};

/* ---- OneHotEncoder: categories of either type, as i64 ---- */

static void make_categories(onnx_op *op, const onnx_step *s) {
    size_t n;
    const onnx_attr *strings = onnx_op_attr(op, "cats_strings", ONNX_STRINGS);
    const int64_t *ints = onnx_op_ints(op, "cats_int64s", &n);
    const bool of_strings = onnx_op_input(op, 0)->type == BASE_STR;
    (void)s;
    if (onnx_op_failed(op) || (of_strings ? !strings : !ints)) {
        need(op, of_strings ? "cats_strings" : "cats_int64s");
        return;
    }
    n = of_strings ? strings->n : n;
    int64_t *numbers = BASE_NEWS(op->r->arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = of_strings
                         ? (int64_t)base_string_number(op->r->strings, strings->strings[i].at, strings->strings[i].size)
                         : ints[i];
    }
    add_list(op, "cats_int64s", BASE_I64, n, numbers);
}
static void put_categories(onnx_out *out, const onnx_step *s) {
    if (onnx_out_input(out, 0)->type != BASE_STR) {
        put_ints(out, s, "cats_int64s", true);
        return;
    }
    size_t n = 0;
    const ir_tensor *t = list_of(out, s, BASE_I64, true, &n);
    double *numbers = BASE_NEWS(out->arena, double, n + 1);
    for (size_t i = 0; t && i < n; i++) {
        numbers[i] = (double)base_load(BASE_I64, t->data, i).i;
    }
    if (t) {
        onnx_out_strings(out, "cats_strings", numbers, n);
    }
}
const onnx_step_kind onnx_step_categories = {"CATEGORIES", make_categories, put_categories};
