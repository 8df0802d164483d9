/* versions.c - which version an operator of a file has (versions.def).
 *
 * Takes an operator as it will stand in the file. Gives the least version that says all of it, or the last that a runtime's
 * reference kernels are registered as.
 */
#include "formats/tflite/writer.h"

typedef enum test_kind {
    ALWAYS,
    TEST_IN,
    TEST_OUT,
    TEST_RANK,
    TEST_INPUT_RANK,
    TEST_NOT_4D,
    TEST_SHAPES,
    TEST_CHANNELS,
    TEST_OUT_CHANNELS,
    TEST_RAW,
    TEST_HAS,
    TEST_NO_BIAS,
    TEST_OVER,
    TEST_GROUPS,
    TEST_GAIN
} test_kind;

enum { MOST_TESTS = 3 };

typedef struct test {
    test_kind kind;
    int at, value;
} test;

typedef struct rule {
    tflite_builtin builtin;
    int version;
    test tests[MOST_TESTS];
} rule;

#define ANYTHING                                                                                                       \
    { ALWAYS, 0, 0 }
#define IN(i, type)                                                                                                    \
    { TEST_IN, i, BASE_##type }
#define OUT(i, type)                                                                                                   \
    { TEST_OUT, i, BASE_##type }
#define RANK(n)                                                                                                        \
    { TEST_RANK, 0, n }
#define INPUT_RANK(i, n)                                                                                               \
    { TEST_INPUT_RANK, i, n }
#define NOT_4D                                                                                                         \
    { TEST_NOT_4D, 0, 0 }
#define SHAPES                                                                                                         \
    { TEST_SHAPES, 0, 0 }
#define CHANNELS(i)                                                                                                    \
    { TEST_CHANNELS, i, 0 }
#define OUT_CHANNELS(i)                                                                                                \
    { TEST_OUT_CHANNELS, i, 0 }
#define RAW(i)                                                                                                         \
    { TEST_RAW, i, 0 }
#define HAS(i)                                                                                                         \
    { TEST_HAS, i, 0 }
#define NO_BIAS                                                                                                        \
    { TEST_NO_BIAS, 2, 0 }
#define SET(field)                                                                                                     \
    { TEST_OVER, TFLITE_##field, 0 }
#define MORE(field)                                                                                                    \
    { TEST_OVER, TFLITE_##field, 1 }
#define GROUPS                                                                                                         \
    { TEST_GROUPS, 0, 0 }
#define GAIN                                                                                                           \
    { TEST_GAIN, 0, 0 }

static const rule rules[] = {
#define VERSION(builtin, version, ...) {TFLITE_OP_##builtin, version, {__VA_ARGS__}},
#define REGISTERED(builtin, version)
#include "formats/tflite/versions.def"
#undef VERSION
#undef REGISTERED
};

static const struct {
    tflite_builtin builtin;
    int version;
} registered[] = {
#define VERSION(builtin, version, ...)
#define REGISTERED(builtin, version) {TFLITE_OP_##builtin, version},
#include "formats/tflite/versions.def"
#undef VERSION
#undef REGISTERED
};

typedef struct use {
    const tflite_out *out;
    const ir_tensor *const *inputs;
    size_t n;
} use;

/* NULL: absent */
static const ir_tensor *input(const use *u, int i) {
    return (size_t)i < u->n ? u->inputs[i] : NULL;
}

static const ir_tensor *output(const use *u, int i) {
    return (size_t)i < u->out->node->output_count ? &u->out->g->tensors.at[u->out->node->outputs[i]] : NULL;
}

static bool some_rank_over(const use *u, int n) {
    for (size_t i = 0; i < u->n; i++) {
        if (u->inputs[i] && u->inputs[i]->shape.rank > (uint32_t)n) {
            return true;
        }
    }
    return false;
}

static bool option_over(const use *u, int field, int value) {
    for (size_t i = 0; i < u->out->values.n; i++) {
        if ((int)u->out->values.at[i].field == field) {
            return u->out->values.at[i].i > value;
        }
    }
    return false;
}

static bool has_groups(const use *u) {
    const ir_tensor *x = input(u, 0), *w = input(u, 1);
    return x && w && x->shape.rank == 4 && w->shape.rank == 4 && w->shape.dim[3] != x->shape.dim[3];
}

static bool has_gain(const use *u) {
    const ir_tensor *a = input(u, 0), *b = input(u, 1), *y = output(u, 0);
    return a && b && y && a->quant.n == 1 && b->quant.n == 1 && y->quant.n == 1 &&
           a->quant.scale[0] * b->quant.scale[0] / y->quant.scale[0] >= 1.0F;
}

static bool holds(const test *t, const use *u) {
    const ir_tensor *x = input(u, t->at);
    switch (t->kind) {
    case ALWAYS:
        return true;
    case TEST_IN:
        return x && (int)x->type == t->value;
    case TEST_OUT:
        return output(u, t->at) && (int)output(u, t->at)->type == t->value;
    case TEST_RANK:
        return some_rank_over(u, t->value);
    case TEST_INPUT_RANK:
        return x && x->shape.rank > (uint32_t)t->value;
    case TEST_NOT_4D:
        return x && x->shape.rank != 4;
    case TEST_SHAPES:
        return input(u, 0) && input(u, 1) && !ir_shape_same(&input(u, 0)->shape, &input(u, 1)->shape);
    case TEST_CHANNELS:
        return x && x->quant.n > 1;
    case TEST_OUT_CHANNELS:
        return output(u, t->at) && output(u, t->at)->quant.n > 1;
    case TEST_RAW:
        return x && !x->quant.n;
    case TEST_HAS:
        return x != NULL;
    case TEST_NO_BIAS:
        return x == NULL;
    case TEST_OVER:
        return option_over(u, t->at, t->value);
    case TEST_GROUPS:
        return has_groups(u);
    case TEST_GAIN:
        return has_gain(u);
    }
    return false;
}

static int at_most_registered(tflite_builtin builtin, int version) {
    for (size_t i = 0; i < sizeof registered / sizeof *registered; i++) {
        if (registered[i].builtin == builtin && registered[i].version < version) {
            return registered[i].version;
        }
    }
    return version;
}

int tflite_version_of(const tflite_out *out, const ir_tensor *const *inputs, size_t input_count) {
    const use u = {out, inputs, input_count};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        bool all = rules[i].builtin == out->word->builtin;
        for (size_t k = 0; k < MOST_TESTS && all; k++) {
            all = holds(&rules[i].tests[k], &u);
        }
        if (all) {
            return at_most_registered(out->word->builtin, rules[i].version);
        }
    }
    return 1;
}
