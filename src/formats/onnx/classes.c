/* classes.c - what is given in the place of strings and maps, which are no tensors: classes by their numbers, and scores.
 *
 * Takes nodes that classifiers end in. Gives tensors whose values know what they stand for: an output of the model is such a
 * tensor, with a warning that says how to read it, and no operator takes one.
 */
#include "formats/onnx/special.h"

#include <string.h>

enum { MOST_SHOWN = 12 }; /* classes that a warning lists */

/* 0 "cat", 1 "dog" ...; of integers without the numbers. */
static void put_classes(onnx_op *op, base_text *out, const onnx_attr *strings, const int64_t *ints, size_t n) {
    for (size_t i = 0; i < n && i < MOST_SHOWN; i++) {
        base_puts(out, i ? ", " : "");
        if (strings) {
            const base_bytes *s = &strings->strings[i];
            base_put(out, "%zu \"%s\"", i, base_printable(op->r->arena, (const char *)s->at, s->size, 40));
        } else {
            base_put(out, "%lld", (long long)ints[i]);
        }
    }
    base_puts(out, n > MOST_SHOWN ? ", ..." : "");
}

const int64_t *onnx_op_classes(onnx_op *op, const char *strings, const char *ints, size_t *n) {
    const onnx_attr *texts = onnx_op_attr(op, strings, ONNX_STRINGS);
    const int64_t *numbers = onnx_op_ints(op, ints, n);
    if (onnx_op_failed(op) || (!texts && !numbers) || (texts && numbers && *n)) {
        if (!onnx_op_failed(op)) {
            onnx_op_error(op, "%s and %s: expected one of them", strings, ints);
        }
        return NULL;
    }
    if (!texts) {
        return numbers;
    }
    int64_t *list = BASE_NEWS(op->r->arena, int64_t, texts->n + 1);
    for (size_t i = 0; i < texts->n; i++) {
        list[i] = (int64_t)i;
    }
    *n = texts->n;
    base_text what = {.arena = op->r->arena};
    base_puts(&what, "strings are not given: a class is given by its number: ");
    put_classes(op, &what, texts, NULL, texts->n);
    onnx_value *value = onnx_own_value(op->scope, op->output_names[0]);
    if (value) {
        value->instead = what.at;
    }
    return list;
}

void onnx_read_zip_map(onnx_op *op) {
    size_t n;
    const onnx_attr *strings = onnx_op_attr(op, "classlabels_strings", ONNX_STRINGS);
    const int64_t *ints = onnx_op_ints(op, "classlabels_int64s", &n);
    if (onnx_op_failed(op)) {
        return;
    }
    n = strings ? strings->n : n;
    const ir_tensor *t = onnx_op_input(op, 0);
    if (op->input_count != 1 || op->output_count != 1 || !onnx_op_has_input(op, 0) || (!strings && !ints)) {
        onnx_op_error(op, "expected one tensor, one output, and the classes");
        return;
    }
    if (t->shape.rank < 1 || t->shape.rank > 2 || t->shape.dim[t->shape.rank - 1] != (int64_t)n) {
        onnx_op_error(op, "there are %zu classes, and the input is %s", n,
                      onnx_value_print(op->r, op->scope, &op->values[0]));
        return;
    }
    base_text what = {.arena = op->r->arena};
    base_puts(&what, "maps are not given: the scores are, a column for each of the classes ");
    put_classes(op, &what, strings, ints, n);
    onnx_value value = op->values[0];
    value.instead = what.at;
    onnx_give_value(op, 0, &value);
}

bool onnx_takes_instead(onnx_op *op) {
    for (size_t i = 0; i < op->input_count; i++) {
        if (op->values[i].instead) {
            onnx_op_unsupported(
                op, base_printf(op->r->arena, "operator %s of strings or maps", op->type),
                "convert the model without what comes behind the classifier: its outputs are classes and scores");
            return true;
        }
    }
    return false;
}
