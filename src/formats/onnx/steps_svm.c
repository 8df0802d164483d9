/* steps_svm.c - support vector machines of ai.onnx.ml: their lists as constant inputs, and which pairs of classes there are. */
#include "formats/onnx/steps.h"

#include <string.h>

enum { MOST_CLASSES = 1 << 10 }; /* pairs of them are listed */

static void add(onnx_op *op, const char *name, base_type type, size_t n, const void *data) {
    const ir_shape shape = ir_shape_of(1, &(int64_t){(int64_t)n});
    onnx_op_add_constant(op, name, type, &shape, data);
}

/* A list of floats that is the next input; needed, or absent where it is empty. */
static void add_floats(onnx_op *op, const char *attr, bool needed) {
    const onnx_attr *a = onnx_op_attr(op, attr, ONNX_FLOATS);
    if (onnx_op_failed(op)) {
        return;
    }
    if (a && a->n) {
        add(op, attr, BASE_F32, a->n, a->floats);
    } else if (needed) {
        onnx_op_error(op, "%s: it is absent, and the operator needs it", attr);
    } else {
        onnx_op_add_absent(op);
    }
}

static void set_kernel(onnx_op *op) {
    static const char *const names[] = {"gamma", "coef0", "degree"};
    const onnx_attr *a = onnx_op_attr(op, "kernel_params", ONNX_FLOATS);
    const char *kernel = onnx_op_text(op, "kernel_type", "LINEAR");
    if (onnx_op_failed(op)) {
        return;
    }
    if (a && a->n && a->n != 3) {
        onnx_op_error(op, "kernel_params: expected 3 values, got %zu", a->n);
    }
    ir_attr_text(op->r->m, op->node, "kernel", kernel);
    for (size_t i = 0; i < 3; i++) {
        ir_attr_float(op->r->m, op->node, names[i], a && a->n == 3 ? (double)a->floats[i] : 0.0);
    }
}

static void make_regressor(onnx_op *op) {
    const int64_t supports = onnx_op_int(op, "n_supports", 0);
    const char *post = onnx_op_text(op, "post_transform", "NONE");
    const onnx_attr *vectors = onnx_op_attr(op, "support_vectors", ONNX_FLOATS);
    if (!onnx_op_failed(op) && strcmp(post, "NONE") != 0) {
        onnx_op_unsupported(op, "operator SVMRegressor with a post_transform", "let an operator behind it do that");
    }
    if (!onnx_op_failed(op) && (supports < 0 || (supports > 0) != (vectors && vectors->n > 0))) {
        onnx_op_error(op, "n_supports is %lld, and support_vectors has %zu numbers", (long long)supports,
                      vectors ? vectors->n : 0);
    }
    set_kernel(op);
    add_floats(op, "support_vectors", false);
    add_floats(op, "coefficients", true);
    add_floats(op, "rho", true);
    ir_attr_int(op->r->m, op->node, "one_class", onnx_op_int(op, "one_class", 0));
}

/* The first vector of each class and the end; and the pairs of classes. false: a fault, reported. */
static bool add_classes(onnx_op *op, size_t n) {
    size_t given;
    const int64_t *per = onnx_op_ints(op, "vectors_per_class", &given);
    const onnx_attr *vectors = onnx_op_attr(op, "support_vectors", ONNX_FLOATS);
    if (!onnx_op_failed(op) && (!given || !vectors || !vectors->n)) {
        onnx_op_add_absent(op);
        onnx_op_add_absent(op);
        onnx_op_add_absent(op);
        if ((given != 0) != (vectors && vectors->n)) {
            onnx_op_error(op, "vectors_per_class has %zu values, and support_vectors %zu numbers", given,
                          vectors ? vectors->n : 0);
        }
        return !onnx_op_failed(op);
    }
    if (!onnx_op_failed(op) && (given != n || n < 2 || n > MOST_CLASSES)) {
        onnx_op_error(op, "vectors_per_class: %zu values, and there are %zu classes: expected 2 to %d", given, n,
                      MOST_CLASSES);
    }
    if (onnx_op_failed(op)) {
        return false;
    }
    int64_t *start = BASE_NEWS(op->r->arena, int64_t, n + 1);
    int64_t *one = BASE_NEWS(op->r->arena, int64_t, n * n), *other = BASE_NEWS(op->r->arena, int64_t, n * n);
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++) {
        if (per[i] < 0 || per[i] > (int64_t)vectors->n) {
            onnx_op_error(op, "vectors_per_class: value %zu is %lld", i, (long long)per[i]);
            return false;
        }
        start[i + 1] = start[i] + per[i];
        for (size_t j = i + 1; j < n; j++, pairs++) {
            one[pairs] = (int64_t)i;
            other[pairs] = (int64_t)j;
        }
    }
    const ir_shape shape = onnx_op_input(op, 0)->shape;
    if (shape.rank == 2 && start[n] * shape.dim[1] != (int64_t)vectors->n) {
        onnx_op_error(op, "support_vectors: %zu numbers, and there are %lld vectors of %lld", vectors->n,
                      (long long)start[n], (long long)shape.dim[1]);
        return false;
    }
    add(op, "start", BASE_I64, n + 1, start);
    add(op, "one", BASE_I64, pairs, one);
    add(op, "other", BASE_I64, pairs, other);
    return true;
}

static void make_classifier(onnx_op *op) {
    size_t n = 0;
    const int64_t *labels = onnx_op_classes(op, "classlabels_strings", "classlabels_ints", &n);
    set_kernel(op);
    add_floats(op, "support_vectors", false);
    add_floats(op, "coefficients", true);
    add_floats(op, "rho", true);
    if (!labels || !add_classes(op, n)) {
        return;
    }
    add_floats(op, "prob_a", false);
    add_floats(op, "prob_b", false);
    add(op, "classes", BASE_I64, n, labels);
    ir_attr_text(op->r->m, op->node, "post_transform", onnx_op_text(op, "post_transform", "NONE"));
    ir_attr_int(op->r->m, op->node, "sweeps", n > 100 ? (int64_t)n : 100);
}

/* Kernel and lists of both. */
static void put_machine(onnx_out *out) {
    static const char *const names[] = {"gamma", "coef0", "degree"};
    const ir_attr *kernel = onnx_out_attr(out, "kernel", IR_TEXT);
    float *params = BASE_NEWS(out->arena, float, 3);
    for (size_t i = 0; i < 3; i++) {
        const ir_attr *a = onnx_out_attr(out, names[i], IR_FLOAT);
        params[i] = a ? (float)a->v.f : 0.0F;
    }
    if (!kernel) {
        return;
    }
    onnx_out_text(out, "kernel_type", kernel->v.text);
    onnx_out_floats(out, "kernel_params", params, 3);
    onnx_put_list_as_floats(out, "support_vectors");
    onnx_put_list_as_floats(out, "coefficients");
    onnx_put_list_as_floats(out, "rho");
}

static void put_regressor(onnx_out *out) {
    const ir_attr *one_class = onnx_out_attr(out, "one_class", IR_INT);
    const ir_tensor *vectors = onnx_out_input(out, 1), *x = onnx_out_input(out, 0);
    const int64_t features = x->shape.rank == 2 ? x->shape.dim[1] : 0;
    uint64_t n = 0;
    put_machine(out);
    if (vectors->type != BASE_NONE && (!ir_shape_elements(&vectors->shape, &n) || features < 1)) {
        onnx_out_cannot(out, "its vectors are of no length");
        return;
    }
    onnx_out_int(out, "n_supports", features > 0 ? (int64_t)n / features : 0);
    if (one_class && one_class->v.i) {
        onnx_out_int(out, "one_class", one_class->v.i);
    }
}

static void put_classifier(onnx_out *out) {
    size_t n, pairs;
    const ir_attr *post = onnx_out_attr(out, "post_transform", IR_TEXT);
    put_machine(out);
    int64_t *start = onnx_out_int_list(out, &n);
    (void)onnx_out_int_list(out, &pairs); /* all pairs, in order */
    (void)onnx_out_int_list(out, &pairs);
    (void)onnx_out_attr(out, "sweeps", IR_INT);
    for (size_t i = 0; start && i + 1 < n; i++) {
        start[i] = start[i + 1] - start[i];
    }
    if (start && n) {
        onnx_out_ints(out, "vectors_per_class", start, n - 1);
    }
    onnx_put_list_as_floats(out, "prob_a");
    onnx_put_list_as_floats(out, "prob_b");
    onnx_put_list_as_ints(out, "classlabels_ints");
    if (post && strcmp(post->v.text, "NONE") != 0) {
        onnx_out_text(out, "post_transform", post->v.text);
    }
}

static void put_svm(onnx_out *out, const onnx_step *s) {
    if (s->a) {
        put_classifier(out);
    } else {
        put_regressor(out);
    }
}

static void make_svm(onnx_op *op, const onnx_step *s) {
    if (s->a) {
        make_classifier(op);
    } else {
        make_regressor(op);
    }
}
const onnx_step_kind onnx_step_svm = {"SVM", make_svm, put_svm};
