/* put_several.c - words that no operator of ONNX says alone: several nodes each (writer.h).
 *
 * Takes a node of the graph. Gives ONNX's nodes, whose last one has its output's name.
 */
#include "formats/onnx/writer.h"

#include <math.h>
#include <string.h>

static const ir_tensor *input(const onnx_frame *f, const ir_node *n, size_t i) {
    return &f->g->tensors.at[n->inputs[i]];
}

static const ir_tensor *output(const onnx_frame *f, const ir_node *n) {
    return &f->g->tensors.at[n->outputs[0]];
}

/* A node of one output, which gets a name of its own. */
static const char *put(onnx_frame *f, const char *op, const char *const *inputs, size_t n, const onnx_put_attr *attr) {
    const char *name = onnx_unique_name(f->w, "", op);
    onnx_put_node(f, "", op, inputs, n, &name, 1, attr, attr ? 1 : 0);
    return name;
}

static bool put_pack(onnx_frame *f, const ir_node *n) {
    const char *name = onnx_output_name(f, n, 0);
    const ir_attr *axis = ir_attr_find(n, "axis");
    const char **parts = BASE_NEWS(f->w->arena, const char *, n->input_count + 1);
    const char *axes = onnx_put_list(f, "axes", &axis->v.i, 1);
    for (size_t i = 0; i < n->input_count; i++) {
        parts[i] = put(f, "Unsqueeze", (const char *const[]){f->name_of[n->inputs[i]], axes}, 2, NULL);
    }
    const onnx_put_attr along = {.name = "axis", .type = ONNX_INT, .i = axis->v.i};
    onnx_put_node(f, "", "Concat", parts, n->input_count, &name, 1, &along, 1);
    return true;
}

/* Where a run says where it begins, ONNX reads nothing outside, and the definition zeros. */
static bool put_slice(onnx_frame *f, const ir_node *n) {
    const char *name = onnx_output_name(f, n, 0);
    const ir_attr *begin = ir_attr_find(n, "begin"), *extents = ir_attr_find(n, "extents");
    int64_t ends[IR_MAX_RANK];
    if (!begin || !extents || n->input_count != 1) {
        return false;
    }
    for (size_t i = 0; i < begin->n; i++) {
        ends[i] = begin->v.ints[i] + extents->v.ints[i];
    }
    const char *const inputs[] = {f->name_of[n->inputs[0]], onnx_put_list(f, "starts", begin->v.ints, begin->n),
                                  onnx_put_list(f, "ends", ends, begin->n)};
    onnx_put_node(f, "", "Slice", inputs, 3, &name, 1, NULL, 0);
    return true;
}

/* The places of all elements of a tensor: its shape, and one extent more. */
static const char *put_places(onnx_frame *f, const ir_shape *s, uint64_t elements) {
    ir_shape shape = *s;
    shape.dim[shape.rank++] = s->rank;
    uint8_t *data = base_alloc(f->w->arena, (size_t)(elements * s->rank) + 1, sizeof(int64_t));
    for (uint64_t i = 0; i < elements; i++) {
        uint64_t rest = i;
        for (uint32_t k = s->rank; k-- > 0;) {
            base_store(BASE_I64, data, i * s->rank + k, (base_value){.i = (int64_t)(rest % (uint64_t)s->dim[k])});
            rest /= (uint64_t)s->dim[k];
        }
    }
    return onnx_put_constant(f, "places", BASE_I64, &shape, data);
}

static bool put_update(onnx_frame *f, const ir_node *n) {
    const char *name = onnx_output_name(f, n, 0);
    enum { MOST_PLACES = 1 << 16 };
    const ir_tensor *x = input(f, n, 0), *u = input(f, n, 1), *p = input(f, n, 2);
    const onnx_put_attr to = {.name = "to", .type = ONNX_INT, .i = onnx_type_code(BASE_I64)};
    uint64_t elements;
    int64_t most[IR_MAX_RANK], zeros[IR_MAX_RANK] = {0};
    if (ir_shape_open(&x->shape) || ir_shape_open(&u->shape) || !ir_shape_elements(&u->shape, &elements) ||
        elements > MOST_PLACES || u->shape.rank == IR_MAX_RANK) {
        return false;
    }
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        most[k] = x->shape.dim[k] - u->shape.dim[k];
    }
    const char *place = f->name_of[n->inputs[2]];
    place = p->type == BASE_I64 ? place : put(f, "Cast", &place, 1, &to);
    place = put(f, "Max", (const char *const[]){place, onnx_put_list(f, "least", zeros, x->shape.rank)}, 2, NULL);
    place = put(f, "Min", (const char *const[]){place, onnx_put_list(f, "most", most, x->shape.rank)}, 2, NULL);
    place = put(f, "Add", (const char *const[]){put_places(f, &u->shape, elements), place}, 2, NULL);
    const char *const inputs[] = {f->name_of[n->inputs[0]], place, f->name_of[n->inputs[1]]};
    onnx_put_node(f, "", "ScatterND", inputs, 3, &name, 1, NULL, 0);
    return true;
}

/* One element as often as the output has room for. */
static bool put_fill(onnx_frame *f, const ir_node *n) {
    const char *name = onnx_output_name(f, n, 0);
    const ir_shape *shape = &output(f, n)->shape;
    if (n->input_count != 1 || ir_shape_open(shape)) {
        return false;
    }
    const char *const inputs[] = {f->name_of[n->inputs[0]], onnx_put_list(f, "shape", shape->dim, shape->rank)};
    onnx_put_node(f, "", "Expand", inputs, 2, &name, 1, NULL, 0);
    return true;
}

/* Over several extents, the last ones, as over one of so many elements. */
static bool put_over_last(onnx_frame *f, const ir_node *n) {
    const char *name = onnx_output_name(f, n, 0), *op = !strcmp(n->op, "softmax")   ? "Softmax"
                                                        : !strcmp(n->op, "hardmax") ? "Hardmax"
                                                                                    : "LogSoftmax";
    const ir_attr *axis = ir_attr_find(n, "axis"), *count = ir_attr_find(n, "count");
    const ir_shape *shape = &input(f, n, 0)->shape;
    const onnx_put_attr along = {.name = "axis", .type = ONNX_INT, .i = -1};
    if (n->input_count != 1 || n->attr_count != 2 || !axis || !count ||
        axis->v.i + count->v.i != (int64_t)shape->rank || ir_shape_open(shape)) {
        return false;
    }
    int64_t flat[IR_MAX_RANK + 1], last = 1;
    for (int64_t k = 0; k < (int64_t)shape->rank; k++) {
        last *= k >= axis->v.i ? shape->dim[k] : 1;
        flat[k < axis->v.i ? k : axis->v.i] = shape->dim[k];
    }
    flat[axis->v.i] = last;
    const char *rows =
        put(f, "Reshape",
            (const char *const[]){f->name_of[n->inputs[0]], onnx_put_list(f, "shape", flat, (size_t)axis->v.i + 1)}, 2,
            NULL);
    const char *const inputs[] = {put(f, op, &rows, 1, &along), onnx_put_list(f, "shape", shape->dim, shape->rank)};
    onnx_put_node(f, "", "Reshape", inputs, 2, &name, 1, NULL, 0);
    return true;
}

/* ---- the parts of FlexAttention ---- */

static const char *put_number(onnx_frame *f, const char *name, base_type type, double v) {
    const ir_shape scalar = {0};
    void *data = base_alloc(f->w->arena, 1, sizeof v);
    base_store(type, data, 0, (base_value){.f = base_round_to(type, v)});
    return onnx_put_constant(f, name, type, &scalar, data);
}

static const char *put_cast(onnx_frame *f, const char *name, base_type from, base_type to) {
    const onnx_put_attr type = {.name = "to", .type = ONNX_INT, .i = onnx_type_code(to)};
    return from == to ? name : put(f, "Cast", &name, 1, &type);
}

/* Several heads of a share one of b: the rows of all of them as one head's. */
static const char *put_rows(onnx_frame *f, const char *name, const ir_tensor *a, int64_t heads) {
    const int64_t *d = a->shape.dim;
    if (d[1] == heads) {
        return name;
    }
    const int64_t shape[] = {d[0], heads, d[1] / heads * d[2], d[3]};
    return put(f, "Reshape", (const char *const[]){name, onnx_put_list(f, "shape", shape, 4)}, 2, NULL);
}

/* A product as the node's output: of its type, and with its own heads where rows were put together. */
static void give_product(onnx_frame *f, const ir_node *n, const char *product, base_type type, bool is_shared) {
    const ir_tensor *to = output(f, n);
    product = put_cast(f, product, type, to->type);
    if (is_shared) {
        const char *shape = onnx_put_list(f, "shape", to->shape.dim, to->shape.rank);
        product = put(f, "Reshape", (const char *const[]){product, shape}, 2, NULL);
    }
    onnx_put_copy(f, product, onnx_output_name(f, n, 0));
}

static const char *put_two(onnx_frame *f, const char *op, const char *a, const char *b) {
    return put(f, op, (const char *const[]){a, b}, 2, NULL);
}

/* Of narrow types each factor is scaled before the product, by the root, and rounded. */
static bool put_scores(onnx_frame *f, const ir_node *n) {
    const ir_tensor *q = input(f, n, 0), *k = input(f, n, 1);
    const ir_attr *given = ir_attr_find(n, "scale");
    const double scale = given ? given->v.f : 1 / sqrt((double)q->shape.dim[3]);
    const bool is_narrow = base_type_bits(q->type) < 32;
    const onnx_put_attr perm = {.name = "perm", .type = ONNX_INTS, .ints = (const int64_t[]){0, 1, 3, 2}, .n = 4};
    if (ir_shape_open(&q->shape) || ir_shape_open(&k->shape)) {
        return false;
    }
    const char *factor = put_number(f, "scale", q->type, is_narrow ? sqrt(scale) : scale);
    const char *of_q = put_rows(f, f->name_of[n->inputs[0]], q, k->shape.dim[1]), *of_k = f->name_of[n->inputs[1]];
    of_q = is_narrow ? put_two(f, "Mul", of_q, factor) : of_q;
    of_k = is_narrow ? put_two(f, "Mul", of_k, factor) : of_k;
    of_k = put(f, "Transpose", &of_k, 1, &perm);
    const char *product = put_two(f, "MatMul", of_q, of_k);
    product = is_narrow ? product : put_two(f, "Mul", product, factor);
    give_product(f, n, product, q->type, q->shape.dim[1] != k->shape.dim[1]);
    return true;
}

static bool put_values(onnx_frame *f, const ir_node *n) {
    const ir_tensor *p = input(f, n, 0), *v = input(f, n, 1);
    if (ir_shape_open(&p->shape) || ir_shape_open(&v->shape)) {
        return false;
    }
    const char *rows = put_rows(f, f->name_of[n->inputs[0]], p, v->shape.dim[1]);
    const char *product = put_two(f, "MatMul", rows, put_cast(f, f->name_of[n->inputs[1]], v->type, p->type));
    give_product(f, n, product, p->type, p->shape.dim[1] != v->shape.dim[1]);
    return true;
}

/* One number of each group: as many of it as the group has channels. */
static const char *put_of_channels(onnx_frame *f, const char *name, int64_t groups, int64_t channels) {
    const int64_t one = 1, both[] = {groups, channels / groups};
    name = put_two(f, "Unsqueeze", name, onnx_put_list(f, "axes", &one, 1));
    name = put_two(f, "Expand", name, onnx_put_list(f, "shape", both, 2));
    return put_two(f, "Reshape", name, onnx_put_list(f, "shape", &channels, 1));
}

/* Scales of groups, which GroupNormalization had in version 18, and since 21 of channels. */
static bool put_groups(onnx_frame *f, const ir_node *n) {
    enum { SINCE = 21 };
    const char *name = onnx_output_name(f, n, 0);
    const ir_attr *groups = ir_attr_find(n, "num_groups"), *epsilon = ir_attr_find(n, "epsilon");
    const ir_shape *x = &input(f, n, 0)->shape;
    if (!groups || x->rank < 2 || ir_shape_open(x) >> 1 & 1 || f->w->opset < SINCE || groups->v.i < 1 ||
        input(f, n, 1)->shape.rank != 1 || input(f, n, 1)->shape.dim[0] != groups->v.i) {
        return false;
    }
    const onnx_put_attr attrs[] = {{.name = "num_groups", .type = ONNX_INT, .i = groups->v.i},
                                   {.name = "epsilon", .type = ONNX_FLOAT, .f = epsilon ? (float)epsilon->v.f : 1e-5F}};
    const char *const inputs[] = {f->name_of[n->inputs[0]],
                                  put_of_channels(f, f->name_of[n->inputs[1]], groups->v.i, x->dim[1]),
                                  put_of_channels(f, f->name_of[n->inputs[2]], groups->v.i, x->dim[1])};
    onnx_put_node(f, "", "GroupNormalization", inputs, 3, &name, 1, attrs, 2);
    return true;
}

/* The first elements, as many as a run says, none for a negative number: for Slice that counts from the end. */
static bool put_leading(onnx_frame *f, const ir_node *n) {
    const char *name = onnx_output_name(f, n, 0);
    static const int64_t zero, one = 1;
    if (input(f, n, 1)->type != BASE_I64) {
        return false;
    }
    const char *list = onnx_put_list(f, "zero", &zero, 1);
    const char *end = put_two(f, "Reshape", f->name_of[n->inputs[1]], onnx_put_list(f, "shape", &one, 1));
    const char *const inputs[] = {f->name_of[n->inputs[0]], list, put_two(f, "Max", end, list), list};
    onnx_put_node(f, "", "Slice", inputs, 4, &name, 1, NULL, 0);
    return true;
}

/* Extents, which ONNX gives as integers of 64 bits. */
static bool put_shape(onnx_frame *f, const ir_node *n) {
    const char *name = onnx_output_name(f, n, 0), *of = f->name_of[n->inputs[0]];
    if (output(f, n)->type == BASE_I64) {
        onnx_put_node(f, "", "Shape", &of, 1, &name, 1, NULL, 0);
    } else {
        onnx_put_copy(f, put_cast(f, put(f, "Shape", &of, 1, NULL), BASE_I64, output(f, n)->type), name);
    }
    return true;
}

bool onnx_put_several(onnx_frame *f, size_t node) {
    static const struct {
        const char *word;
        bool (*put)(onnx_frame *f, const ir_node *n);
    } words[] = {{"pack", put_pack},
                 {"shape", put_shape},
                 {"group_normalization", put_groups},
                 {"slice", put_slice},
                 {"fill", put_fill},
                 {"softmax", put_over_last},
                 {"log_softmax", put_over_last},
                 {"hardmax", put_over_last},
                 {"leading", put_leading},
                 {"dynamic_update_slice", put_update},
                 {"attention_scores", put_scores},
                 {"attention_values", put_values}};
    const ir_node *n = &f->g->nodes.at[node];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(words[i].word, n->op)) {
            return words[i].put(f, n);
        }
    }
    return false;
}
