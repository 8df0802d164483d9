/* test_packed.c - constants packed by Infineon's tools, unpacked by hand, and what is wrong in them. */
#include "formats/formats.h"
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const formats_interface formats_tflite;

enum { DETAILS = 12, U8 = 3, I8 = 9 };

static struct {
    base_memory memory;
    base_guard guard;
    base_arena *arena;
    base_diags d;
    flat f;
    model_places at;
    model_spec spec;
    uint8_t details[DETAILS + 1];
} t;

/* RESHAPE of a constant that is packed. */
static void describe(int height, int width, uint8_t bits, uint8_t container, uint8_t extents, const void *stored,
                     size_t bytes) {
    const uint8_t details[] = {0x92, 0x2d, 0x59, 0xa4, bits, container, extents};
    memset(t.details, 0, sizeof t.details);
    memcpy(t.details, details, sizeof details);
    t.spec = (model_spec){.tensor_count = 2, .op_count = 1, .output_count = 1, .outputs = {1}};
    for (size_t i = 0; i < 2; i++) {
        t.spec.tensors[i] = (model_tensor){.type = U8,
                                           .rank = 2,
                                           .dims = {height, width},
                                           .name = "w",
                                           .scales = 1,
                                           .zeros = 1,
                                           .scale = {0.5f},
                                           .zero = {3}};
    }
    t.spec.tensors[0].data = stored;
    t.spec.tensors[0].bytes = bytes;
    t.spec.tensors[0].custom = t.details;
    t.spec.tensors[0].custom_bytes = DETAILS;
    t.spec.ops[0] = (model_op){.code = 22, .input_count = 1, .inputs = {0}, .output_count = 1, .outputs = {1}};
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

static void is_whole(const uint8_t *want, size_t n) {
    ir_model *m = NULL;
    if (read_model(&m) != BASE_OK) {
        fail_msg("%s: %s", t.d.list.at[0].path, t.d.list.at[0].message);
    }
    const ir_tensor *w = &m->graphs.at[0].tensors.at[0];
    assert_non_null(w->data);
    assert_memory_equal(w->data, want, n);
    assert_true(w->quant.n == 1 && w->quant.scale[0] == 0.5f && w->quant.zero[0] == 3);
}

/* Two in a byte, the first the lower; each row begins a byte, or the whole tensor is one run. */
static void four_bits(void **state) {
    (void)state;
    static const uint8_t rows[] = {0x21, 0x03, 0xfe, 0x09}, run[] = {0x21, 0xe3, 0x9f};
    static const uint8_t want[] = {1, 2, 3, 14, 15, 9};
    describe(2, 3, 4, 8, 1, rows, sizeof rows);
    is_whole(want, sizeof want);
    describe(2, 3, 4, 8, 2, run, sizeof run);
    is_whole(want, sizeof want);
}

/* No extent is packed: a container an element. */
static void alone(void **state) {
    (void)state;
    static const uint8_t stored[] = {0xf1, 0x02, 0x13, 0x0e};
    describe(2, 2, 4, 8, 0, stored, sizeof stored);
    is_whole((const uint8_t[]){1, 2, 3, 14}, 4);
}

/* Three of 5 bits in two bytes: 1 + 2 * 32 + 31 * 1024 = 0x7c41; the fourth begins the next. */
static void five_bits(void **state) {
    (void)state;
    static const uint8_t stored[] = {0x41, 0x7c, 0x04, 0x00};
    describe(1, 4, 5, 16, 1, stored, sizeof stored);
    is_whole((const uint8_t[]){1, 2, 31, 4}, 4);
}

/* Five of 6 bits in four bytes: 1 + 2 << 6 + 63 << 12 + 4 << 18 + 32 << 24 = 0x2013f081. */
static void six_bits(void **state) {
    (void)state;
    static const uint8_t stored[] = {0x81, 0xf0, 0x13, 0x20, 0x07, 0x00, 0x00, 0x00};
    describe(1, 6, 6, 32, 1, stored, sizeof stored);
    is_whole((const uint8_t[]){1, 2, 63, 4, 32, 7}, 6);
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
    static const uint8_t rows[] = {0x21, 0x03, 0xfe, 0x09, 0x00};
#define FAULT(change, part)                                                                                            \
    do {                                                                                                               \
        describe(2, 3, 4, 8, 1, rows, 4);                                                                              \
        change;                                                                                                        \
        refuse(part);                                                                                                  \
    } while (0)
    const char *custom = "quantisation of a custom kind", *bytes = "runs of 3 elements of 4 bits take 2 bytes each";
    for (size_t i = 0; i < DETAILS; i++) {
        FAULT(t.details[i] ^= 0x80, custom);
    }
    FAULT(t.details[7] = 1, custom); /* sparse */
    FAULT(t.details[5] = 16, custom);
    FAULT(t.details[6] = 3, custom);
    FAULT(t.spec.tensors[0].custom_bytes = 0, custom);
    FAULT(t.spec.tensors[0].custom_bytes = DETAILS - 1, custom);
    FAULT(t.spec.tensors[0].custom_bytes = DETAILS + 1, custom);
    FAULT(t.spec.tensors[0].type = I8, custom);
    FAULT(t.spec.tensors[0].bytes = 3, bytes);
    FAULT(t.spec.tensors[0].bytes = 5, bytes);
    FAULT(t.spec.tensors[0].dims[0] = 3, bytes);
    FAULT(t.spec.tensors[0].dims[0] = 0, "0 runs");
    FAULT(t.spec.tensors[0].dims[1] = 0, "0 runs");
    FAULT((t.spec.tensors[0].dims[0] = 1 << 30, t.spec.tensors[0].dims[1] = 1), "1073741824 runs");
    FAULT(t.spec.tensors[0].data = NULL, "of a custom kind"); /* no constant */
#undef FAULT
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(four_bits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(five_bits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(six_bits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
