/* steps_attributes.c - steps for what ONNX says in attributes (words.def says what each does). */
#include "formats/onnx/steps.h"

#include <string.h>

static void make_int(onnx_op *op, const onnx_step *s) {
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_INT);
    if (!a && s->b == 1) {
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
    if (a && a->v.f == s->f) { /* what an absent one says, which may be no float of 32 bits */
        return;
    }
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
    onnx_op_ignore(op, s->attr);
}
const onnx_step_kind onnx_step_ignored = {"IGNORED", make_ignored, put_nothing};

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
    const onnx_attr *a = onnx_op_attr(op, s->attr, ONNX_INT);
    const int64_t axis = a ? a->i : s->a;
    if (!a && s->text && !onnx_op_failed(op)) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", s->attr);
    }
    const int64_t at =
        onnx_op_failed(op) ? -1 : onnx_op_axis(op, s->attr, axis, onnx_op_input(op, 0)->shape.rank + (uint32_t)s->b);
    if (at >= 0) {
        ir_attr_int(op->r->m, op->node, s->name, at);
    }
}

static void put_axis(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    const int64_t rank = (int64_t)onnx_out_input(out, 0)->shape.rank + s->b;
    if (a && (s->text || a->v.i != (s->a < 0 ? s->a + rank : s->a))) {
        onnx_out_int(out, s->attr, a->v.i);
    }
}
const onnx_step_kind onnx_step_axis = {"AXIS", make_axis, put_axis};

static void make_channel_axis(onnx_op *op, const onnx_step *s) {
    const int64_t rank = onnx_op_input(op, 0)->shape.rank;
    int64_t axis = onnx_op_int(op, s->attr, s->a);
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis > IR_MAX_RANK) {
        onnx_op_error(op, "%s: there is no such axis of a tensor of %lld extents", s->attr, (long long)rank);
    } else if (!onnx_op_failed(op)) {
        ir_attr_int(op->r->m, op->node, s->name, axis);
    }
}
const onnx_step_kind onnx_step_channel_axis = {"CHANNEL_AXIS", make_channel_axis, put_int};

static void make_rest(onnx_op *op, const onnx_step *s) {
    const int64_t rank = onnx_op_input(op, 0)->shape.rank;
    const int64_t axis = onnx_op_axis(op, s->attr, onnx_op_int(op, s->attr, s->a), (uint32_t)rank);
    if (axis >= 0) {
        ir_attr_int(op->r->m, op->node, s->name, rank - axis);
    }
}
/* The axis has been put: so many extents follow it. */
static void put_rest(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    const ir_attr *axis = ir_attr_find(out->node, s->attr);
    if (a && (!axis || a->v.i + axis->v.i != (int64_t)onnx_out_input(out, 0)->shape.rank)) {
        onnx_out_cannot(out, "its attribute %s is not all extents behind the axis", s->name);
    }
}
const onnx_step_kind onnx_step_rest = {"REST", make_rest, put_rest};

/* ---- one of some texts ---- */

/* The number of the word among those of the list, -1: it is none. */
static int64_t place_in(const char *list, const char *word) {
    const size_t n = strlen(word);
    int64_t at = 0;
    for (const char *p = list; *p; at++) {
        const char *end = strchr(p, ' ');
        const size_t length = end ? (size_t)(end - p) : strlen(p);
        if (length == n && memcmp(p, word, n) == 0) {
            return at;
        }
        p += length + (end ? 1 : 0);
    }
    return -1;
}

static void make_choice(onnx_op *op, const onnx_step *s) {
    const char *text = onnx_op_text(op, s->attr, NULL);
    const int64_t at = text ? place_in(s->text, text) : s->b ? -1 : 0;
    if (onnx_op_failed(op)) {
        return;
    }
    if (!text && at < 0) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", s->attr);
    } else if (at < 0) {
        onnx_op_error(op, "%s: \"%s\": expected one of: %s", s->attr, text, s->text);
    } else {
        ir_attr_int(op->r->m, op->node, s->name, at);
    }
}
static void put_choice(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, s->name, IR_INT);
    const char *p = s->text;
    for (int64_t i = 0; a && p && i < a->v.i; i++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    if (a && (!p || a->v.i < 0)) {
        onnx_out_cannot(out, "its attribute %s is none of: %s", s->name, s->text);
    } else if (a && (s->b || a->v.i)) {
        onnx_out_text(out, s->attr, base_printf(out->arena, "%.*s", (int)strcspn(p, " "), p));
    }
}
const onnx_step_kind onnx_step_choice = {"CHOICE", make_choice, put_choice};

/* A letter for each place. */
static void put_equation(onnx_out *out, const onnx_step *s) {
    const ir_attr *a = onnx_out_attr(out, "a", IR_INTS), *b = onnx_out_optional(out, "b", IR_INTS),
                  *result = onnx_out_attr(out, "out", IR_INTS), *rest = onnx_out_attr(out, "red", IR_INTS);
    base_text t = {.arena = out->arena};
    for (size_t i = 0; a && i < a->n; i++) {
        base_put(&t, "%c", (char)('a' + a->v.ints[i]));
    }
    for (size_t i = 0; a && b && i < b->n; i++) {
        base_put(&t, "%s%c", i ? "" : ",", (char)('a' + b->v.ints[i]));
    }
    base_put(&t, "%s->", a && b && !b->n ? "," : "");
    for (size_t i = 0; result && rest && i < result->n; i++) {
        base_put(&t, "%c", (char)('a' + (int)i));
    }
    onnx_out_text(out, s->attr, t.at);
}
const onnx_step_kind onnx_step_equation = {"EQUATION", NULL, put_equation};
