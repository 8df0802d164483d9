/* steps_ml.c - steps for operators of ai.onnx.ml, whose lists of numbers become constant inputs (words.def says what each does). */
#include "formats/onnx/steps.h"

static void add_list(onnx_op *op, const char *name, base_type type, size_t n, const void *data) {
    const ir_shape shape = ir_shape_of(1, &(int64_t){(int64_t)n});
    onnx_op_add_constant(op, name, type, &shape, data ? data : "");
}

static void need(onnx_op *op, const char *attr) {
    if (!onnx_op_failed(op)) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", attr);
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
const onnx_step_kind onnx_step_const_floats = {"CONST_FLOATS", make_const_floats, NULL};

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
const onnx_step_kind onnx_step_const_ints = {"CONST_INTS", make_const_ints, NULL};

static void make_no_strings(onnx_op *op, const onnx_step *s) {
    if (onnx_op_attr(op, s->attr, ONNX_STRINGS)) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s with %s", op->type, s->attr),
                            "give the classes or categories as integers");
    }
}
const onnx_step_kind onnx_step_no_strings = {"NO_STRINGS", make_no_strings, NULL};

static void make_classes(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *list = onnx_op_classes(op, s->text, s->attr, &n);
    if (list) {
        add_list(op, s->attr, BASE_I64, n, list);
    }
}
const onnx_step_kind onnx_step_classes = {"CLASSES", make_classes, NULL};

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
const onnx_step_kind onnx_step_features = {"FEATURES", make_features, NULL};

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
const onnx_step_kind onnx_step_imputed = {"IMPUTED", make_imputed, NULL};

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
    if (onnx_op_attr(op, base_printf(op->r->arena, "%s_strings", what), ONNX_STRINGS)) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s with strings", op->type),
                            "give the labels as numbers");
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

static void make_encoded(onnx_op *op, const onnx_step *s) {
    const column keys = column_of(op, "keys"), values = column_of(op, "values");
    const float default_float = onnx_op_float(op, "default_float", -0.0F);
    const int64_t default_int = onnx_op_int(op, "default_int64", -1);
    const onnx_attr *tensor = onnx_op_attr(op, "default_tensor", ONNX_TENSOR);
    const ir_shape scalar = {0};
    (void)onnx_op_text(op, "default_string", NULL);
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
               base_type_is_float(values.type) ? (base_value){.f = (double)default_float}
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
const onnx_step_kind onnx_step_encoded = {"ENCODED", make_encoded, NULL};
