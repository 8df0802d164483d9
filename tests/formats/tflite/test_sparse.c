/* test_sparse.c - sparse constants as the schema describes them, made dense by hand, and what is wrong in them. */
#include "formats/formats.h"
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const formats_interface formats_tflite;

enum { DENSE, CSR };

static struct {
    base_memory memory;
    base_guard guard;
    base_arena *arena;
    base_diags d;
    flat f;
    model_places at;
    model_spec spec;
    model_sparse sparse;
} t;

/* Rows of [3, 4]:  . 1 . 2 / . . . . / 3 . . .  */
static const int8_t few[] = {1, 2, 3};
static const model_sparse rows = {.order_count = 2,
                                  .order = {0, 1},
                                  .level_count = 2,
                                  .levels = {{.format = DENSE, .size = 3},
                                             {.format = CSR,
                                              .type = 1,
                                              .segment_count = 4,
                                              .segments = {0, 2, 2, 3},
                                              .index_count = 3,
                                              .indices = {1, 3, 0}}}};

/* DENSIFY of a sparse constant. */
static void describe(int type, int height, int width, const void *values, size_t bytes, const model_sparse *s) {
    t.sparse = *s;
    t.spec = (model_spec){.tensor_count = 2, .op_count = 1, .output_count = 1, .outputs = {1}};
    t.spec.tensors[0] = (model_tensor){.type = type,
                                       .rank = 2,
                                       .dims = {height, width},
                                       .name = "w",
                                       .data = values,
                                       .bytes = bytes,
                                       .sparse = &t.sparse};
    t.spec.tensors[1] = (model_tensor){.type = type, .rank = 2, .dims = {height, width}, .name = "y"};
    t.spec.ops[0] = (model_op){.code = 124, .input_count = 1, .inputs = {0}, .output_count = 1, .outputs = {1}};
}

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

static base_status read_model(ir_model **m) {
    model_build(&t.f, &t.spec, &t.at);
    uint8_t *exact = base_alloc(t.arena, t.f.n + 1, 1);
    memcpy(exact + 1, t.f.at, t.f.n);
    t.d.list.n = t.d.errors = 0;
    return formats_tflite.read(t.arena, "m.tflite", (base_bytes){exact + 1, t.f.n}, NULL, m, &t.d);
}

static void is_dense(base_type type, const int *want, size_t n) {
    ir_model *m = NULL;
    if (read_model(&m) != BASE_OK) {
        fail_msg("%s: %s", t.d.list.at[0].path, t.d.list.at[0].message);
    }
    const ir_graph *g = &m->graphs.at[0];
    assert_int_equal(g->nodes.n, 0);
    for (size_t k = 0; k < 2; k++) {
        assert_non_null(g->tensors.at[k].data);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(base_load(type, g->tensors.at[k].data, i).i, want[i]);
        }
    }
}

static void compressed_rows(void **state) {
    (void)state;
    describe(9, 3, 4, few, sizeof few, &rows);
    is_dense(BASE_I8, (const int[]){0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0}, 12);
}

/* The same numbers, column by column, with the other two types of indices. */
static void compressed_columns(void **state) {
    (void)state;
    static const int16_t values[] = {3, -1, 2};
    for (int type = 2; type <= 3; type++) {
        describe(7, 3, 4, values, sizeof values,
                 &(model_sparse){.order_count = 2,
                                 .order = {1, 0},
                                 .level_count = 2,
                                 .levels = {{.format = DENSE, .size = 4},
                                            {.format = CSR,
                                             .type = type,
                                             .segment_count = 5,
                                             .segments = {0, 1, 2, 2, 3},
                                             .index_count = 3,
                                             .indices = {2, 0, 0}}}});
        is_dense(BASE_I16, (const int[]){0, -1, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0}, 12);
    }
}

/* [4, 4] in blocks of 2 by 2: the first row has the right one, the second both. */
static void blocks(void **state) {
    (void)state;
    static const int8_t values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const model_sparse s = {.order_count = 4,
                                   .order = {0, 1, 2, 3},
                                   .block_count = 2,
                                   .blocks = {0, 1},
                                   .level_count = 4,
                                   .levels = {{.format = DENSE, .size = 2},
                                              {.format = CSR,
                                               .type = 3,
                                               .segment_count = 3,
                                               .segments = {0, 1, 3},
                                               .index_count = 3,
                                               .indices = {1, 0, 1}},
                                              {.format = DENSE, .size = 2},
                                              {.format = DENSE, .size = 2}}};
    describe(9, 4, 4, values, sizeof values, &s);
    is_dense(BASE_I8, (const int[]){0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 9, 10, 7, 8, 11, 12}, 16);
}

/* [1, 6] in blocks of 3 along the second extent, int4: two values a byte. */
static void packed_values(void **state) {
    (void)state;
    static const uint8_t values[] = {0xf1, 0x07}; /* 1 -1 7 */
    static const model_sparse s = {
        .order_count = 3,
        .order = {0, 1, 2},
        .block_count = 1,
        .blocks = {1},
        .level_count = 3,
        .levels = {{.format = DENSE, .size = 1},
                   {.format = CSR, .type = 1, .segment_count = 2, .segments = {0, 1}, .index_count = 1, .indices = {1}},
                   {.format = DENSE, .size = 3}}};
    describe(17, 1, 6, values, sizeof values, &s);
    is_dense(BASE_I4, (const int[]){0, 0, 0, 1, -1, 7}, 6);
}

static void refuse(const char *part) {
    ir_model *m = NULL;
    assert_int_equal(read_model(&m), BASE_REFUSED);
    if (!strstr(t.d.list.at[0].message, part) || !strstr(t.d.list.at[0].path, "subgraph[0]/tensor[0] \"w\"")) {
        fail_msg("%s: %s; expected %s", t.d.list.at[0].path, t.d.list.at[0].message, part);
    }
}

/* Each fault in a sound description. */
static void faults(void **state) {
    (void)state;
#define FAULT(change, part)                                                                                            \
    do {                                                                                                               \
        describe(9, 3, 4, few, sizeof few, &rows);                                                                     \
        change;                                                                                                        \
        refuse(part);                                                                                                  \
    } while (0)
    model_level *l = t.sparse.levels;
    FAULT(l[1].segments[1] = 3, "they must rise from 0 to the 3 indices");
    FAULT(l[1].segments[0] = 1, "they must rise");
    FAULT(l[1].segments[3] = 4, "they must rise");
    FAULT(l[1].segments[1] = -1, "they must rise");
    FAULT(l[1].segment_count = 3, "one for each of 3 parents and the end");
    FAULT(l[1].indices[2] = 4, "[2] is 4: the extent is 4");
    FAULT(l[1].indices[0] = -1, "[0] is -1: the extent is 4");
    FAULT(l[1].type = 0, "a sparse extent needs it");
    FAULT(l[1].format = 7, "there is no format 7");
    FAULT(l[0].size = 4, "it is 4: expected 3");
    FAULT(l[0].size = -3, "it is -3: expected 3");
    FAULT(t.sparse.order[1] = 0, "[1] is 0: expected the extents");
    FAULT(t.sparse.order[1] = 2, "[1] is 2: expected the extents");
    FAULT(t.sparse.order_count = 1, "1 extents: expected 2");
    FAULT(t.sparse.level_count = 1, "1 levels: expected 2");
    FAULT(t.sparse.block_count = 3, "3 blocks: the rank is 2");
    FAULT((t.sparse.block_count = 1, t.sparse.blocks[0] = 2), "[0] is 2: expected extents below 2");
    FAULT(t.spec.tensors[0].bytes = 2, "the sparse tensor has 3 values; 2 bytes are stored");
    FAULT((t.sparse.block_count = 1, t.sparse.blocks[0] = 1, t.sparse.order_count = 3, t.sparse.order[2] = 2,
           t.sparse.level_count = 3, l[2].size = 3),
          "it is 3: a block is dense, and divides its extent of 4");
#undef FAULT
}

/* Few bytes may not become many. */
static void too_large(void **state) {
    (void)state;
    static const model_sparse s = {
        .order_count = 2,
        .order = {0, 1},
        .level_count = 2,
        .levels = {{.format = CSR, .type = 1, .segment_count = 2}, {.format = DENSE, .size = 1 << 20}}};
    describe(9, 1 << 20, 1 << 20, few, sizeof few, &s);
    refuse("sparse tensors of more than 64 MiB when they are dense");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(compressed_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(compressed_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packed_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_large, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
