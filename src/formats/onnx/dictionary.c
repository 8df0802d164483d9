/* dictionary.c - the dictionary's rows (words.def says what each step does), and finding one. */
#include "formats/onnx/steps.h"

#include <math.h>
#include <string.h>

#define ANY ONNX_ANY
#define DOMAIN_ONNX ""
#define DOMAIN_ML "ai.onnx.ml"
#define DOMAIN_MS "com.microsoft"
#define DOMAIN_TRAINING "ai.onnx.preview.training"
#define STEP(kind, name, attr, text, f, a, b)                                                                          \
    { &onnx_step_##kind, name, attr, text, f, a, b }
#define NOTHING STEP_NONE
#define EQUATION STEP(equation, NULL, "equation", NULL, 0, 0, 0)
#define STEP_NONE                                                                                                      \
    { NULL, NULL, NULL, NULL, 0, 0, 0 }
#define INT(name, attr, otherwise) STEP(int, name, attr, NULL, 0, otherwise, 0)
#define INT_NEEDED(name, attr) STEP(int, name, attr, NULL, 0, 0, 1)
#define INT_SAID(name, attr, otherwise) STEP(int, name, attr, NULL, 0, otherwise, 2)
#define FLOAT(name, attr, otherwise) STEP(float, name, attr, NULL, otherwise, 0, 0)
#define FLOAT_NEEDED(name, attr) STEP(float, name, attr, NULL, NAN, 0, 0)
#define TEXT(name, attr, otherwise) STEP(text, name, attr, otherwise, 0, 0, 0)
#define INTS(name, attr) STEP(ints, name, attr, NULL, 0, 0, 0)
#define INTS_NEEDED(name, attr) STEP(ints, name, attr, NULL, 0, 0, 1)
#define FLOATS(name, attr) STEP(floats, name, attr, NULL, 0, 0, 0)
#define ONLY(attr, value, remedy) STEP(only, NULL, attr, remedy, 0, value, 0)
#define IGNORED(attr) STEP(ignored, NULL, attr, NULL, 0, 0, 0)
#define SATURATE(attr) STEP(saturate, "saturate", attr, NULL, 0, 1, 0)
#define WRAP STEP(wrap, "wrap", NULL, NULL, 0, 1, 0)
#define TYPE(attr) STEP(type, NULL, attr, NULL, 0, 0, 0)
#define TYPE_OR(attr, code) STEP(type, NULL, attr, NULL, 0, code, 0)
#define TYPE_OR_INPUT(attr) STEP(type, NULL, attr, "input", 0, 0, 0)
#define TYPE_NAMED(attr) STEP(type_named, NULL, attr, NULL, 0, 0, 0)
#define TYPE_IS(type) STEP(type_is, NULL, NULL, NULL, 0, type, 0)
#define TYPE_LIKE(input) STEP(type_like, NULL, NULL, NULL, 0, input, 0)
#define TYPE_OR_LIKE(attr, input) STEP(type_like, NULL, attr, NULL, 0, input, 0)
#define TYPE_LIKE_OR(input, attr) STEP(type_like, NULL, attr, NULL, 0, input, 1)
#define TYPE_TEXT(name, attr, input) STEP(type_text, name, attr, NULL, 0, input, 0)
#define CHOICE(name, attr, words) STEP(choice, name, attr, words, 0, 0, 0)
#define CHOICE_NEEDED(name, attr, words) STEP(choice, name, attr, words, 0, 0, 1)
#define SCALAR(attr, otherwise) STEP(scalar, NULL, attr, NULL, otherwise, 0, 0)
#define AXIS(name, attr, otherwise) STEP(axis, name, attr, NULL, 0, otherwise, 0)
#define AXIS_MORE(name, attr, otherwise, extra) STEP(axis, name, attr, NULL, 0, otherwise, extra)
#define CHANNEL_AXIS(name, attr, otherwise) STEP(channel_axis, name, attr, NULL, 0, otherwise, 0)
#define REST(name, attr, otherwise) STEP(rest, name, attr, NULL, 0, otherwise, 0)
#define AXIS_NEEDED(name, attr) STEP(axis, name, attr, "needed", 0, 0, 0)
#define INT_IN(name, input) STEP(int_in, name, NULL, NULL, 0, input, 0)
#define INT32_IN(name, input) STEP(int_in, name, NULL, NULL, 0, input, 1)
#define FLOAT_IN(name, input) STEP(float_in, name, NULL, NULL, 0, input, 0)
#define AXIS_IN_OR(name, input, otherwise) STEP(axis_in, name, NULL, NULL, 0, input, otherwise)
#define AXIS_IN(name, input) STEP(axis_in, name, NULL, NULL, 0, input, 0)
#define LIST_IN(name, input) STEP(list_in, name, NULL, NULL, 0, input, 0)
#define AXES(name, attr) STEP(axes, name, attr, NULL, 0, 0, 0)
#define AXES_NOOP(name, attr) STEP(axes, name, attr, NULL, 0, 0, 1)
#define AXES_IN(name, input) STEP(axes, name, NULL, NULL, 0, input, 0)
#define AXES_IN_NOOP(name, input) STEP(axes, name, NULL, NULL, 0, input, 1)
#define BROADCAST_AT STEP(broadcast, NULL, NULL, NULL, 0, 0, 0)
#define CHANNELS(axis) STEP(broadcast, NULL, NULL, NULL, 0, axis, 1)
#define CONST_FLOATS(attr, needed) STEP(const_floats, NULL, attr, NULL, 0, 0, needed)
#define CONST_INTS(attr, needed) STEP(const_ints, NULL, attr, NULL, 0, 0, needed)
#define MAPPED(strings, ints) STEP(mapped, NULL, strings, ints, 0, 0, 0)
#define CATEGORIES STEP(categories, NULL, NULL, NULL, 0, 0, 0)
#define CLASSES(strings, ints) STEP(classes, NULL, ints, strings, 0, 0, 0)
#define IMPUTED STEP(imputed, NULL, NULL, NULL, 0, 0, 0)
#define ENCODED(last) STEP(encoded, NULL, NULL, NULL, 0, last, 0)
#define GRAMS STEP(grams, NULL, NULL, NULL, 0, 0, 0)
#define FEATURES STEP(features, NULL, NULL, NULL, 0, 0, 0)
#define SVM(classes) STEP(svm, NULL, NULL, NULL, 0, classes, 0)
#define TREES(classes) STEP(trees, NULL, NULL, NULL, 0, classes, 0)
#define TREES_5 STEP(trees_5, NULL, NULL, NULL, 0, 0, 0)
#define SCALARS_FROM(first) STEP(scalars_from, NULL, NULL, NULL, 0, first, 0)
#define DROP_IN(input) STEP(drop_in, NULL, NULL, NULL, 0, input, 0)
#define WINDOW(weights) STEP(window, NULL, NULL, NULL, 0, weights, 1)
#define WINDOW_GIVEN(weights) STEP(window, NULL, NULL, NULL, 0, weights, 2)
#define POOL STEP(window, NULL, NULL, NULL, 0, 0, 0)
#define POOL_DILATED STEP(window, NULL, NULL, NULL, 0, 0, 1)
#define WINDOW_TRANSPOSED(weights) STEP(transposed, NULL, NULL, NULL, 0, weights, 0)
#define UNPOOL(input) STEP(unpool, NULL, NULL, NULL, 0, input, 0)
#define AXES_FROM(name, first) STEP(axes_from, name, NULL, NULL, 0, first, 0)
#define GIVEN(name, value) STEP(given, name, NULL, NULL, 0, value, 0)
#define MEAN_AXES(name, attr) STEP(mean_axes, name, attr, NULL, 0, 0, 0)
#define FLOAT_OPTIONAL(name, attr) STEP(float_optional, name, attr, NULL, 0, 0, 0)
#define RECURRENT(count, usual) STEP(recurrent, NULL, NULL, usual, 0, count, 0)
#define ORDER(digits) STEP(order, NULL, NULL, digits, 0, 0, 0)
#define ABSENT(input) STEP(absent, NULL, NULL, NULL, 0, input, 0)
#define TRIPLES(scales, zeros) STEP(triples, scales, zeros, NULL, 0, 0, 0)
#define FUSED(name, params) STEP(fused, name, params, NULL, 0, 0, 0)
#define AT_LEAST(attr, least, remedy) STEP(at_least, NULL, attr, remedy, 0, least, 0)
#define DROPOUT(is_bool) STEP(dropout, NULL, NULL, NULL, 0, is_bool, 0)
#define DROPOUT_TEST STEP(dropout, NULL, NULL, NULL, 0, 0, 1)
#define ONLY_FLOAT(attr, value, remedy) STEP(only_float, NULL, attr, remedy, value, 0, 0)
#define RANK_OF(input, rank) STEP(rank_of, NULL, NULL, NULL, 0, input, rank)
#define RANK_UNLIKE(input, rank) STEP(rank_of, NULL, NULL, "of another domain is not written with", 0, input, rank)
#define GROUPS(each) STEP(groups, NULL, NULL, NULL, 0, each, 0)
#define WIDER(input, like) STEP(wider, NULL, NULL, NULL, 0, input, like)
#define READ_ONLY STEP(read_only, NULL, NULL, NULL, 0, 0, 0)
#define UNCHECKED STEP(unchecked, NULL, NULL, NULL, 0, 0, 0)
#define OUTPUTS(most, remedy) STEP(outputs, NULL, NULL, remedy, 0, most, 0)
#define GIVEN_TEXT(name, value) STEP(given, name, NULL, value, 0, 0, 0)
#define NUMBER_IN(name, input) STEP(number_in, name, NULL, NULL, 0, input, 0)
#define COUNT_IN(name, input) STEP(number_in, name, NULL, NULL, 0, input, 1)
#define REFUSED(what, remedy) STEP(refused, remedy, NULL, what, 0, 0, 0)
#define RANDOM                                                                                                         \
    REFUSED("whose outputs are random",                                                                                \
            "make the random numbers an input of the model: what is emitted gives the same "                           \
            "outputs for the same inputs")
#define NORMAL(like) STEP(random, "mean", NULL, NULL, 0, like, 0)
#define UNIFORM(like) STEP(random, "low", "high", NULL, 0, like, 0)
#define PERM(name, attr) STEP(perm, name, attr, NULL, 0, 0, 0)
#define RESHAPE(name, attr) STEP(reshape, name, attr, NULL, 0, 0, 0)
#define RESHAPE_IN(name, input, zero) STEP(reshape, name, NULL, NULL, 0, input, zero)
#define FLATTEN(name, attr, otherwise) STEP(flatten, name, attr, NULL, 0, otherwise, 0)
#define SQUEEZE(name, attr) STEP(squeeze, name, attr, NULL, 0, 0, 0)
#define SQUEEZE_IN(name, input) STEP(squeeze, name, NULL, NULL, 0, input, 0)
#define UNSQUEEZE(name, attr) STEP(unsqueeze, name, attr, NULL, 0, 0, 0)
#define UNSQUEEZE_IN(name, input) STEP(unsqueeze, name, NULL, NULL, 0, input, 0)
#define EXPAND_IN(name, input) STEP(expand, name, NULL, NULL, 0, input, 0)
#define FILL(attr) STEP(fill, NULL, attr, NULL, 0, 0, 0)
#define SLICE STEP(slice, NULL, NULL, NULL, 0, 0, 0)
#define SLICE_IN STEP(slice_in, NULL, NULL, NULL, 0, 0, 0)
#define PAD(attr) STEP(pad, "pads", attr, NULL, 0, 0, 0)
#define PAD_IN STEP(pad, "pads", NULL, NULL, 0, 1, 1)
#define CENTER_IN(input) STEP(center, "shape", NULL, NULL, 0, input, 0)
#define INDEXES_OUT(output) STEP(indexes_out, NULL, NULL, NULL, 0, output, 0)
#define SPLIT(name, attr) STEP(split, name, attr, NULL, 0, 1, 0)
#define SPLIT_IN(name, input, counted) STEP(split, name, NULL, NULL, 0, input, counted)
#define TILE_AXIS(name) STEP(tile_axis, name, NULL, NULL, 0, 0, 0)
#define RANGE(name) STEP(range, name, NULL, NULL, 0, 0, 0)
#define BEHIND(name, attr, otherwise) STEP(behind, name, attr, NULL, 0, otherwise, 0)
#define AXIS_IF(name, attr) STEP(axis_if, name, attr, NULL, 0, 0, 0)
#define MOST_IN(name, input) STEP(most_in, name, NULL, NULL, 0, input, 0)
#define GRID_MODE(name, attr) STEP(grid_mode, name, attr, NULL, 0, 0, 0)
#define RESIZE STEP(resize, NULL, NULL, NULL, 0, 1, 0)
#define RESIZE_AXES STEP(resize, NULL, NULL, NULL, 0, 1, 1)
#define RESIZE_SCALED STEP(upsample, NULL, NULL, NULL, 0, 1, 0)
#define RESIZE_SCALES(attr) STEP(upsample, NULL, attr, NULL, 0, 0, 0)
#define ROI_ALIGN                                                                                                      \
    TEXT("mode", "mode", "avg"), INT("output_height", "output_height", 1), INT("output_width", "output_width", 1),     \
        INT("sampling_ratio", "sampling_ratio", 0), FLOAT("spatial_scale", "spatial_scale", 1)
#define INTS_LIKE(name, attr, like, times, otherwise) STEP(ints_like, name, attr, like, 0, otherwise, times)

static const onnx_word words[] = {
#define OP(domain, op, since, word, needed, most, gives, most_given, ...)                                              \
    {DOMAIN_##domain, op, since, word, needed, most, gives, most_given, {__VA_ARGS__}},
#include "formats/onnx/words.def"
#undef OP
};

const onnx_word *onnx_word_at(size_t i) {
    return i < sizeof words / sizeof *words ? &words[i] : NULL;
}

const onnx_word *onnx_word_of(const char *domain, const char *op, int64_t version, bool *newer) {
    const onnx_word *best = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const onnx_word *w = &words[i];
        if (w->op[0] != op[0] || strcmp(w->op, op) != 0 || strcmp(w->domain, domain) != 0) {
            continue;
        }
        *newer = *newer || w->since > version;
        if (w->since <= version && (!best || w->since > best->since)) {
            best = w;
        }
    }
    *newer = *newer && !best;
    return best;
}
