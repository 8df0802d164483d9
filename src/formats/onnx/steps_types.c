/* steps_types.c - steps for the type of an output, and for what is said of types (words.def says what each does). */
#include "formats/onnx/steps.h"

#include <string.h>

static void set_type(onnx_op *op, size_t output, base_type type) {
    onnx_graph_of(op->r, op->scope)->tensors.at[op->outputs[output]].type = type;
}

/* The type of ONNX's number; BASE_NONE: a fault, or noted as not supported. */
static base_type type_of(onnx_op *op, const char *attr, int64_t code) {
    const base_type type = onnx_type_base(code);
    if (!onnx_type_name(code)) {
        onnx_op_error(op, "%s: %lld is no type", attr, (long long)code);
    } else if (type == BASE_NONE) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s to %s", op->type, onnx_type_name(code)),
                            "convert the model without it");
    }
    return type;
}

static void make_type(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_INT);
    const int64_t code = a ? a->i : s->a;
    if (!a && !code && s->text) {
        set_type(op, 0, onnx_op_input(op, 0)->type);
    } else if (!a && !code) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", s->attr);
    } else {
        set_type(op, 0, type_of(op, s->attr, code));
    }
}
static void put_type(onnx_out *out, const onnx_step *s) {
    const base_type type = onnx_out_output(out, 0)->type;
    if (!s->text || type != onnx_out_input(out, 0)->type) {
        onnx_out_int(out, s->attr, onnx_type_code(type));
    }
}
const onnx_step_kind onnx_step_type = {"TYPE", make_type, put_type};

static void make_type_is(onnx_op *op, const onnx_step *s) {
    set_type(op, 0, (base_type)s->a);
}
static void put_type_is(onnx_out *out, const onnx_step *s) {
    onnx_out_gives(out, 0, (base_type)s->a);
}
const onnx_step_kind onnx_step_type_is = {"TYPE_IS", make_type_is, put_type_is};

static void make_type_named(onnx_op *op, const onnx_step *s) {
    const char *name = onnx_op_text(op, s->attr, "");
    int64_t code = 1;
    while (onnx_type_name(code) && strcmp(onnx_type_name(code), name) != 0) {
        code++;
    }
    if (!onnx_type_name(code) && !onnx_op_failed(op)) {
        onnx_op_error(op, "%s: \"%s\" is no type", s->attr, name);
    } else if (!onnx_op_failed(op)) {
        set_type(op, 0, type_of(op, s->attr, code));
    }
}
const onnx_step_kind onnx_step_type_named = {"TYPE_NAMED", make_type_named, NULL};

/* The attribute's, if there is one and it is not 0. */
static base_type given_type(onnx_op *op, const char *attr) {
    const int64_t code = attr ? onnx_op_int(op, attr, 0) : 0;
    return code ? type_of(op, attr, code) : BASE_NONE;
}

static void make_type_like(onnx_op *op, const onnx_step *s) {
    const base_type given = given_type(op, s->attr);
    const bool has = onnx_op_has_input(op, (size_t)s->a);
    const base_type like = has ? onnx_op_input(op, (size_t)s->a)->type : BASE_U8;
    if (s->b && has && given != BASE_NONE && given != like) {
        onnx_op_error(op, "%s: it is %s, and input %d %s", s->attr, base_type_name(given), s->a, base_type_name(like));
        return;
    }
    set_type(op, 0, given != BASE_NONE ? given : like);
}
static void put_type_like(onnx_out *out, const onnx_step *s) {
    const base_type type = onnx_out_output(out, 0)->type;
    const bool has = (size_t)s->a < out->node->input_count && out->node->inputs[s->a] != IR_NONE;
    if (type == (has ? onnx_out_input(out, (size_t)s->a)->type : BASE_U8)) {
        return;
    }
    if (s->attr && !(s->b && has)) {
        onnx_out_int(out, s->attr, onnx_type_code(type));
    } else {
        onnx_out_cannot(out, "its output is %s", base_type_name(type));
    }
}
const onnx_step_kind onnx_step_type_like = {"TYPE_LIKE", make_type_like, put_type_like};

static void make_type_text(onnx_op *op, const onnx_step *s) {
    const base_type given = given_type(op, s->attr);
    const base_type like = onnx_op_input(op, (size_t)s->a)->type;
    if (!onnx_op_failed(op)) {
        ir_attr_text(op->r->m, op->node, s->name, base_type_name(given != BASE_NONE ? given : like));
    }
}
static void put_type_text(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_TEXT);
    const base_type type = a ? base_type_named(a->v.text, strlen(a->v.text)) : BASE_NONE;
    if (a && strcmp(a->v.text, base_type_name(onnx_out_input(out, (size_t)s->a)->type)) != 0) {
        if (s->attr && type != BASE_NONE) {
            onnx_out_int(out, s->attr, onnx_type_code(type));
        } else {
            onnx_out_cannot(out, "its attribute %s is %s", s->name, a->v.text);
        }
    }
}
const onnx_step_kind onnx_step_type_text = {"TYPE_TEXT", make_type_text, put_type_text};

static bool is_float8(base_type t) {
    return t == BASE_F8E4M3FN || t == BASE_F8E4M3FNUZ || t == BASE_F8E5M2 || t == BASE_F8E5M2FNUZ || t == BASE_F8E8M0;
}

static base_type type_out(const onnx_op *op) {
    return onnx_graph_of(op->r, op->scope)->tensors.at[op->outputs[0]].type;
}

static void make_saturate(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = s->attr ? onnx_op_attr(op, s->attr, ONNX_INT) : NULL;
    if (s->attr && !onnx_op_failed(op) && is_float8(type_out(op))) {
        ir_attr_int(op->r->m, op->node, s->name, a ? a->i : s->a);
    }
}

static void put_saturate(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    if (a && is_float8(onnx_out_output(out, 0)->type) && a->v.i != s->a) {
        if (s->attr) {
            onnx_out_int(out, s->attr, a->v.i);
        } else {
            onnx_out_cannot(out, "it has no attribute %s there", s->name);
        }
    }
}
const onnx_step_kind onnx_step_saturate = {"SATURATE", make_saturate, put_saturate};

static void make_wrap(onnx_op *op, const onnx_step *s) {
    if (base_type_bits(type_out(op)) < 8) {
        ir_attr_int(op->r->m, op->node, s->name, s->a);
    }
}

static void put_wrap(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    if (a && a->v.i != s->a && base_type_bits(onnx_out_output(out, 0)->type) < 8) {
        onnx_out_cannot(out, "its attribute %s is not %d", s->name, s->a);
    }
}
const onnx_step_kind onnx_step_wrap = {"WRAP", make_wrap, put_wrap};

/* Floats of an input that the operator needs in another one's type, which has all of them: runtimes take both. */
static void make_wider(onnx_op *op, const onnx_step *s) {
    const base_type from = onnx_op_input(op, (size_t)s->a)->type, to = onnx_op_input(op, (size_t)s->b)->type;
    if (base_type_is_float(from) && base_type_is_float(to) && base_type_bits(from) < base_type_bits(to)) {
        onnx_op_warn(op, op->byte, "input %d is %s, and input %d is %s: input %d is made %s, and the output is", s->a,
                     base_type_name(from), s->b, base_type_name(to), s->a, base_type_name(to));
        onnx_op_cast(op, (size_t)s->a, to);
    }
}
const onnx_step_kind onnx_step_wider = {"WIDER", make_wider, NULL};
