/* steps_attributes.c - steps for what ONNX says in attributes (words.def says what each does). */
#include "formats/onnx/steps.h"

#include <string.h>

static void make_int(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_INT);
    if (!a && s->b) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", s->attr);
    } else if (!onnx_op_failed(op)) {
        ir_attr_int(op->r->m, op->node, s->name, a ? a->i : s->a);
    }
}

static void put_int(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    if (a && (s->b || a->v.i != s->a)) {
        onnx_out_int(out, s->attr, a->v.i);
    }
}
const onnx_step_kind onnx_step_int = {"INT", make_int, put_int};

static void make_float(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_FLOAT);
    if (!onnx_op_failed(op)) {
        ir_attr_float(op->r->m, op->node, s->name, a ? (double)a->f : (double)(float)s->f);
    }
}

static void put_float(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_FLOAT);
    if (a && (double)(float)a->v.f != a->v.f && a->v.f == a->v.f) {
        onnx_out_cannot(out, "its attribute %s is no float of 32 bits", s->name);
    } else if (a && (float)a->v.f != (float)s->f) {
        onnx_out_float(out, s->attr, (float)a->v.f);
    }
}
const onnx_step_kind onnx_step_float = {"FLOAT", make_float, put_float};

static void make_text(onnx_op *op, const onnx_step *s) {
    const char *text = onnx_op_text(op, s->attr, s->text);
    if (!onnx_op_failed(op)) {
        ir_attr_text(op->r->m, op->node, s->name, text);
    }
}

static void put_text(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_TEXT);
    if (a && strcmp(a->v.text, s->text ? s->text : "") != 0) {
        onnx_out_text(out, s->attr, a->v.text);
    }
}
const onnx_step_kind onnx_step_text = {"TEXT", make_text, put_text};

static void make_ints(onnx_op *op, const onnx_step *s) {
    size_t n;
    const int64_t *list = onnx_op_ints(op, s->attr, &n);
    if (!list && s->b && !onnx_op_failed(op)) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", s->attr);
    } else if (list) {
        ir_attr_ints(op->r->m, op->node, s->name, list, n);
    }
}

static void put_ints(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = s->b ? onnx_out_attr(out, s->name, IR_INTS) : onnx_out_optional(out, s->name, IR_INTS);
    if (a) {
        onnx_out_ints(out, s->attr, a->v.ints, a->n);
    }
}
const onnx_step_kind onnx_step_ints = {"INTS", make_ints, put_ints};

static void make_floats(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_FLOATS);
    if (a) {
        double *list = BASE_NEWS(op->r->arena, double, a->n + 1);
        for (size_t i = 0; i < a->n; i++) {
            list[i] = (double)a->floats[i];
        }
        ir_attr_floats(op->r->m, op->node, s->name, list, a->n);
    }
}

static void put_floats(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_optional(out, s->name, IR_FLOATS);
    float *list = BASE_NEWS(out->arena, float, a ? a->n + 1 : 1);
    for (size_t i = 0; a && i < a->n; i++) {
        list[i] = (float)a->v.floats[i];
    }
    if (a) {
        onnx_out_floats(out, s->attr, list, a->n);
    }
}
const onnx_step_kind onnx_step_floats = {"FLOATS", make_floats, put_floats};

static void make_only(onnx_op *op, const onnx_step *s) {
    const int64_t v = onnx_op_int(op, s->attr, s->a);
    if (v != s->a) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s with %s %lld", op->type, s->attr, (long long)v),
                            s->text);
    }
}

/* What is not written is what the standard says of an absent one. */
static void put_nothing(onnx_out *out, const onnx_step *s) {
    (void)out;
    (void)s;
}
const onnx_step_kind onnx_step_only = {"ONLY", make_only, put_nothing};

static void make_ignored(onnx_op *op, const onnx_step *s) {
    for (size_t i = 0; i < op->attrs.n; i++) {
        op->attrs.at[i].used = op->attrs.at[i].used || strcmp(op->attrs.at[i].name, s->attr) == 0;
    }
}
const onnx_step_kind onnx_step_ignored = {"IGNORED", make_ignored, put_nothing};

static void make_type(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_INT);
    const int64_t code = a ? a->i : s->a;
    ir_tensor *t = &onnx_graph_of(op->r, op->scope)->tensors.at[op->outputs[s->b]];
    if (!a && !code && s->text) {
        t->type = onnx_op_input(op, 0)->type;
    } else if (!onnx_type_name(code)) {
        onnx_op_error(op, a ? "%s: %lld is no type" : "%s: it is absent, and the operator needs it", s->attr,
                      (long long)code);
    } else if (onnx_type_base(code) == BASE_NONE) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s to %s", op->type, onnx_type_name(code)),
                            "convert the model without it");
    } else {
        t->type = onnx_type_base(code);
    }
}

static void put_type(onnx_out *out, const onnx_step *s) {
    const base_type type = onnx_out_output(out, (size_t)s->b)->type;
    if (!s->text || type != onnx_out_input(out, 0)->type) {
        onnx_out_int(out, s->attr, onnx_type_code(type));
    }
}
const onnx_step_kind onnx_step_type = {"TYPE", make_type, put_type};

static void make_scalar(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_FLOAT);
    const base_type type = onnx_op_input(op, 0)->type;
    const ir_shape scalar = {0};
    void *data = base_alloc(op->r->arena, 1, sizeof(double));
    if (onnx_op_failed(op)) {
        return;
    }
    if (!base_type_is_float(type)) {
        onnx_op_error(op, "%s: it is of type FLOAT, and the input %s", s->attr, base_type_name(type));
        return;
    }
    base_store(type, data, 0, (base_value){.f = base_round_to(type, a ? (double)a->f : s->f)});
    onnx_op_add_constant(op, s->attr, type, &scalar, data);
}
const onnx_step_kind onnx_step_scalar = {"SCALAR", make_scalar, NULL};

static void make_axis(onnx_op *op, const onnx_step *s) {
    const int64_t axis = onnx_op_int(op, s->attr, s->a);
    const int64_t at =
        onnx_op_failed(op) ? -1 : onnx_op_axis(op, s->attr, axis, onnx_op_input(op, 0)->shape.rank + (uint32_t)s->b);
    if (at >= 0) {
        ir_attr_int(op->r->m, op->node, s->name, at);
    }
}

static void put_axis(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    const int64_t rank = (int64_t)onnx_out_input(out, 0)->shape.rank + s->b;
    if (a && a->v.i != (s->a < 0 ? s->a + rank : s->a)) {
        onnx_out_int(out, s->attr, a->v.i);
    }
}
const onnx_step_kind onnx_step_axis = {"AXIS", make_axis, put_axis};
