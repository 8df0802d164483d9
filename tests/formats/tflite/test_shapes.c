/* test_shapes.c - extents that a TFLite file leaves open: what the caller says, what follows, and what data decides. */
#include "formats/formats.h"
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const formats_interface formats_tflite;

static struct {
    base_memory memory;
    base_guard guard;
    base_arena *arena;
    base_diags d;
    flat f;
    model_places at;
} t;

static int set_up(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    if (BASE_GUARD(&t.memory, &t.guard)) {
        return -1;
    }
    t.arena = base_arena_new(&t.memory);
    t.d.arena = t.arena;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(t.arena);
    base_unguard(&t.memory, &t.guard);
    return 0;
}

static base_status read_with(const model_spec *spec, const formats_options *o, ir_model **m) {
    model_build(&t.f, spec, &t.at);
    base_bytes bytes = {t.f.at, t.f.n};
    t.d.list.n = t.d.errors = 0;
    return formats_tflite.read(t.arena, "m.tflite", bytes, o, m, &t.d);
}

static void assert_shape(const ir_model *m, uint32_t tensor, const char *shape) {
    assert_string_equal(ir_shape_print(t.arena, &m->graphs.at[0].tensors.at[tensor].shape), shape);
}

static void assert_refused(const char *part) {
    assert_true(t.d.list.n > 0);
    if (!strstr(t.d.list.at[0].message, part)) {
        fail_msg("'%s' is not in '%s'", part, t.d.list.at[0].message);
    }
}

/* x[?,2] + w[1,2] -> y[?,2] -> relu -> z[], whose rank nobody recorded */
static const float two[] = {1, 2};
static const model_spec open_rows = {
    .tensor_count = 4,
    .tensors = {{.type = 0, .rank = 2, .dims = {-1, 2}, .name = "x"},
                {.type = 0, .rank = 2, .dims = {1, 2}, .name = "w", .data = two, .bytes = 8},
                {.type = 0, .rank = 2, .dims = {-1, 2}, .name = "y"},
                {.type = 0, .rank = 0, .name = "z"}},
    .op_count = 2,
    .ops = {{.code = 0, .input_count = 2, .inputs = {0, 1}, .output_count = 1, .outputs = {2}},
            {.code = 19, .input_count = 1, .inputs = {2}, .output_count = 1, .outputs = {3}}},
    .input_count = 1,
    .inputs = {0},
    .output_count = 1,
    .outputs = {3},
};

static void what_the_caller_says_goes_through(void **state) {
    (void)state;
    ir_model *m;
    const char *dim = "x.0=5", *shape = "3x2", *first = "0=7x2";
    const formats_options by_dim = {.shapes = {.dims = &dim, .dim_count = 1}},
                          by_shape = {.shapes = {.shapes = &shape, .shape_count = 1}},
                          by_number = {.shapes = {.shapes = &first, .shape_count = 1}},
                          by_batch = {.shapes = {.batch = 4}};
    const struct {
        const formats_options *o;
        const char *want;
    } cases[] = {{&by_dim, "5x2"}, {&by_shape, "3x2"}, {&by_number, "7x2"}, {&by_batch, "4x2"}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(read_with(&open_rows, cases[i].o, &m), BASE_OK);
        assert_shape(m, 0, cases[i].want);
        assert_shape(m, 1, "1x2");
        assert_shape(m, 2, cases[i].want);
        assert_shape(m, 3, cases[i].want);
        assert_int_equal(t.d.list.n, 0);
    }
}

static void what_stays_open_is_refused(void **state) {
    (void)state;
    ir_model *m;
    const char *wrong = "y.0=5", *three = "x=2x3";
    const formats_options nobody = {.shapes = {.dims = &wrong, .dim_count = 1}},
                          unfit = {.shapes = {.shapes = &three, .shape_count = 1}};
    assert_int_equal(read_with(&open_rows, NULL, &m), BASE_REFUSED);
    assert_refused("input 0 is ?x2, and what stands for ? must be said: --shape x=...");
    assert_int_equal(read_with(&open_rows, &nobody, &m), BASE_USAGE);
    assert_refused("dim: the model has no input \"y\"");
    assert_int_equal(read_with(&open_rows, &unfit, &m), BASE_REFUSED);
    assert_refused("extents 3 and 2 cannot be broadcast together");
    assert_string_equal(t.d.list.at[1].path, "subgraph[0]/operator[0] ADD"); /* the definition is where it was found */
    model_spec hidden = open_rows;                                           /* no operator before it says what y is */
    hidden.op_count = 1;
    hidden.ops[0] = open_rows.ops[1];
    assert_int_equal(read_with(&hidden, NULL, &m), BASE_REFUSED);
    hidden.inputs[0] = 1;
    hidden.tensors[1].data = NULL;
    assert_int_equal(read_with(&hidden, NULL, &m), BASE_REFUSED);
    assert_refused("the file leaves its shape open, and it is known from no operator before it");
}

/* where(mask[4]) -> places[4,1], recorded as 2x1 -> cast -> narrow -> reshape */
static const int32_t any[] = {-1};
static const model_spec places = {
    .tensor_count = 5,
    .tensors = {{.type = 6, .rank = 1, .dims = {4}, .name = "mask"},
                {.type = 4, .rank = 2, .dims = {2, 1}, .name = "places"},
                {.type = 2, .rank = 2, .dims = {2, 1}, .name = "narrow"},
                {.type = 2, .rank = 1, .dims = {1}, .name = "any", .data = any, .bytes = 4},
                {.type = 2, .rank = 1, .dims = {2}, .name = "flat"}},
    .op_count = 2,
    .ops = {{.code = 109, .input_count = 1, .inputs = {0}, .output_count = 1, .outputs = {1}},
            {.code = 53, .input_count = 1, .inputs = {1}, .output_count = 1, .outputs = {2}},
            {.code = 22, .input_count = 2, .inputs = {2, 3}, .output_count = 1, .outputs = {4}}},
    .input_count = 1,
    .inputs = {0},
    .output_count = 1,
    .outputs = {2},
};

static void what_data_decides_is_a_symbol(void **state) {
    (void)state;
    ir_model *m;
    assert_int_equal(read_with(&places, NULL, &m), BASE_OK);
    assert_int_equal(m->symbols.n, 1);
    assert_true(m->symbols.at[0].computed);
    assert_int_equal(m->symbols.at[0].bound, 4);
    assert_shape(m, 1, "<=4x1");
    assert_shape(m, 2, "<=4x1");
    for (uint32_t i = 1; i < 3; i++) {
        assert_int_equal(m->graphs.at[0].tensors.at[i].shape.symbol[0], 1);
        assert_int_equal(m->graphs.at[0].tensors.at[i].shape.symbol[1], 0);
    }
    model_spec flat_ones = places; /* -1 stays, and is the count itself */
    flat_ones.op_count = 3;
    flat_ones.outputs[0] = 4;
    assert_int_equal(read_with(&flat_ones, NULL, &m), BASE_OK);
    assert_shape(m, 4, "<=4");
    assert_int_equal(m->graphs.at[0].tensors.at[4].shape.symbol[0], 1);
    const ir_attr *shape = ir_attr_find(&m->graphs.at[0].nodes.at[2], "shape");
    assert_non_null(shape);
    assert_int_equal(shape->v.ints[0], -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_the_caller_says_goes_through, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_stays_open_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_data_decides_is_a_symbol, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
