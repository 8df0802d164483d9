/* steps_text.c - the n-grams of TfIdfVectorizer as tables: constant inputs in the order of the places that they count for. */
#include "formats/onnx/steps.h"

#include <stdlib.h>
#include <string.h>

typedef struct gram {
    int64_t place, first, size;
    size_t number; /* in the file */
} gram;

static int by_place(const void *a, const void *b) {
    const gram *x = a, *y = b;
    return x->place != y->place ? (x->place < y->place ? -1 : 1) : (x->number > y->number) - (x->number < y->number);
}

static void add(onnx_op *op, const char *name, base_type type, size_t n, const void *data) {
    const ir_shape shape = ir_shape_of(1, &(int64_t){(int64_t)n});
    onnx_op_add_constant(op, name, type, &shape, data);
}

/* Each n-gram's part of the pool, of those that are long enough and not too long. false: a fault, reported. */
static bool read_grams(onnx_op *op, size_t pool, const int64_t *starts, size_t lengths, const int64_t *places, size_t n,
                       gram *grams, size_t *count) {
    const int64_t least = onnx_op_int(op, "min_gram_length", 1), most = onnx_op_int(op, "max_gram_length", 1);
    size_t number = 0;
    *count = 0;
    for (size_t k = 0; k < lengths && !onnx_op_failed(op); k++) {
        const int64_t size = (int64_t)k + 1, end = k + 1 < lengths ? starts[k + 1] : (int64_t)pool;
        if (starts[k] < 0 || end < starts[k] || end > (int64_t)pool || (end - starts[k]) % size) {
            onnx_op_error(op, "ngram_counts: entry %zu and the next are no range of whole %zu-grams of %zu elements", k,
                          k + 1, pool);
            return false;
        }
        for (int64_t at = starts[k]; at < end; at += size, number++) {
            if (number >= n) {
                onnx_op_error(op, "ngram_indexes: %zu values, and there are more n-grams", n);
                return false;
            }
            if (size >= least && size <= most) {
                grams[(*count)++] = (gram){places[number], at, size, number};
            }
        }
    }
    if (number != n && !onnx_op_failed(op)) {
        onnx_op_error(op, "ngram_indexes: %zu values, and there are %zu n-grams", n, number);
    }
    return !onnx_op_failed(op);
}

/* false: a fault, or noted. */
static bool check_places(onnx_op *op, const int64_t *places, size_t n, int64_t *size) {
    static const int64_t most = INT64_C(1) << 24;
    *size = 0;
    for (size_t i = 0; i < n; i++) {
        if (places[i] < 0 || places[i] >= most) {
            onnx_op_error(op, "ngram_indexes: %lld is no place below %lld", (long long)places[i], (long long)most);
            return false;
        }
        *size = places[i] >= *size ? places[i] + 1 : *size;
    }
    return true;
}

static void put_tables(onnx_op *op, const gram *grams, size_t n, int64_t places, const float *weights) {
    base_arena *a = op->r->arena;
    int64_t *first = BASE_NEWS(a, int64_t, n + 1), *size = BASE_NEWS(a, int64_t, n + 1);
    int64_t *start = BASE_NEWS(a, int64_t, (size_t)places + 1);
    float *scaled = BASE_NEWS(a, float, n + 1);
    int64_t longest = 1, most = 1;
    for (size_t k = 0; k < n; k++) {
        first[k] = grams[k].first;
        size[k] = grams[k].size;
        scaled[k] = weights ? weights[grams[k].number] : 1;
        longest = size[k] > longest ? size[k] : longest;
        start[grams[k].place + 1]++;
    }
    for (int64_t o = 0; o < places; o++) {
        most = start[o + 1] > most ? start[o + 1] : most;
        start[o + 1] += start[o];
    }
    add(op, "first", BASE_I64, n, first);
    add(op, "size", BASE_I64, n, size);
    add(op, "start", BASE_I64, (size_t)places + 1, start);
    if (weights) {
        add(op, "weights", BASE_F32, n, scaled);
    }
    ir_attr_int(op->r->m, op->node, "longest", longest);
    ir_attr_int(op->r->m, op->node, "most", most);
    if (weights && most > 1) {
        onnx_op_unsupported(op, "operator TfIdfVectorizer with weights, and several n-grams at one place",
                            "give each n-gram a place of its own");
    }
}

static void make_grams(onnx_op *op, const onnx_step *s) {
    size_t pool = 0, lengths = 0, n = 0, count;
    const int64_t *elements = onnx_op_ints(op, "pool_int64s", &pool);
    const int64_t *starts = onnx_op_ints(op, "ngram_counts", &lengths);
    const int64_t *places = onnx_op_ints(op, "ngram_indexes", &n);
    const onnx_attr *weights = onnx_op_attr(op, "weights", ONNX_FLOATS);
    const int64_t skips = onnx_op_int(op, "max_skip_count", 0);
    const char *mode = onnx_op_text(op, "mode", "");
    int64_t size;
    (void)s;
    const onnx_attr *strings = onnx_op_attr(op, "pool_strings", ONNX_STRINGS);
    if (!onnx_op_failed(op) && (strings != NULL) != (onnx_op_input(op, 0)->type == BASE_STR)) {
        onnx_op_error(op, "it counts %s, and the input is %s", strings ? "strings" : "integers",
                      base_type_name(onnx_op_input(op, 0)->type));
    }
    if (strings && !onnx_op_failed(op)) {
        int64_t *numbers = BASE_NEWS(op->r->arena, int64_t, strings->n + 1);
        for (size_t i = 0; i < strings->n; i++) {
            numbers[i] = (int64_t)base_string_number(op->r->strings, strings->strings[i].at, strings->strings[i].size);
        }
        elements = numbers;
        pool = strings->n;
    }
    const bool idf = (strcmp(mode, "IDF") == 0), tfidf = (strcmp(mode, "TFIDF") == 0);
    if (!onnx_op_failed(op) &&
        ((!idf && !tfidf && !(strcmp(mode, "TF") == 0)) || !elements || !starts || !places || skips < 0 ||
         skips > INT32_MAX || lengths > INT32_MAX || (weights && weights->n != n))) {
        onnx_op_error(op, "mode, max_skip_count, or the lists of n-grams are absent or do not fit");
    }
    if (onnx_op_failed(op) || !check_places(op, places, n, &size)) {
        return;
    }
    gram *grams = BASE_NEWS(op->r->arena, gram, n + 1);
    if (!read_grams(op, pool, starts, lengths, places, n, grams, &count)) {
        return;
    }
    qsort(grams, count, sizeof *grams, by_place);
    add(op, "pool", BASE_I64, pool, elements);
    ir_attr_int(op->r->m, op->node, "mode", idf ? 1 : tfidf ? 2 : 0);
    ir_attr_int(op->r->m, op->node, "skips", skips);
    put_tables(op, grams, count, size, weights && (idf || tfidf) ? weights->floats : NULL);
}
const onnx_step_kind onnx_step_grams = {"GRAMS", make_grams, NULL};
