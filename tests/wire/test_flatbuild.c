/* test_flatbuild.c - the FlatBuffers builder: one file byte for byte as FlatBuffers' "Internals" lays it out, and what
 * the cursor reads back of others. */
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct {
    base_memory memory;
    base_guard guard;
    base_arena *arena;
    base_diags d;
    wire_builder b;
    base_bytes file;
    wire_fb fb;
} t;

static const wire_path here = {.name = "field", .index = WIRE_NO_INDEX};

static int set_up(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    if (BASE_GUARD(&t.memory, &t.guard)) {
        return -1;
    }
    t.arena = base_arena_new(&t.memory);
    t.d.arena = t.arena;
    wire_build_open(&t.b, t.arena, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(t.arena);
    base_unguard(&t.memory, &t.guard);
    return 0;
}

/* Finishes the file, and opens it in memory of exactly its size. */
static wire_table read_back(wire_ref root) {
    assert_true(wire_build_finish(&t.b, root, "TEST", &t.file));
    uint8_t *exact = base_alloc(t.arena, t.file.size, 1);
    memcpy(exact, t.file.at, t.file.size);
    wire_fb_open(&t.fb, "test.fb", (base_bytes){exact, t.file.size}, &t.d);
    return wire_fb_root(&t.fb, "TEST");
}

static void assert_sound(void) {
    assert_false(wire_fb_failed(&t.fb));
    assert_int_equal(t.d.errors, 0);
}

static void a_file_byte_for_byte(void **state) {
    (void)state;
    wire_ref name = wire_build_string(&t.b, "hi", 2);
    wire_build_table(&t.b);
    wire_build_field(&t.b, 0, 1, 7);
    wire_build_ref_field(&t.b, 2, name);
    wire_build_ref_field(&t.b, 5, 0); /* left out */
    static const uint8_t want[] = {
        20, 0, 0,  0, 'T', 'E', 'S', 'T', 0, 0, /* the root table; the identifier; padding */
        10, 0, 12, 0, 11,  0,   0,   0,   4, 0, /* vtable: its bytes, the table's, three fields */
        10, 0, 0,  0,                           /* table: back to the vtable */
        8,  0, 0,  0, 0,   0,   0,   7,         /* field 2 points to the string; field 0 */
        2,  0, 0,  0, 'h', 'i', 0,   0,
    };
    read_back(wire_build_table_end(&t.b));
    assert_int_equal(t.file.size, sizeof want);
    assert_memory_equal(t.file.at, want, sizeof want);
}

static void every_kind_is_read_back(void **state) {
    (void)state;
    static const int32_t ints[] = {1, -2, INT32_MIN};
    static const int64_t longs[] = {INT64_MAX, -1};
    static const float floats[] = {0.1F, -0.0F, 3e38F};
    wire_ref i = wire_build_i32s(&t.b, ints, 3), l = wire_build_i64s(&t.b, longs, 2);
    wire_ref f = wire_build_floats(&t.b, floats, 3), none = wire_build_i32s(&t.b, NULL, 0);
    wire_ref s = wire_build_string(&t.b, "", 0), bytes = wire_build_bytes(&t.b, "abc", 3, 16);
    wire_build_table(&t.b);
    wire_build_field(&t.b, 9, 8, (uint64_t)-5);
    wire_build_field(&t.b, 8, 2, 0x12345);
    wire_build_float_field(&t.b, 0, 1.5F);
    wire_build_ref_field(&t.b, 1, i);
    wire_build_ref_field(&t.b, 2, l);
    wire_build_ref_field(&t.b, 3, f);
    wire_build_ref_field(&t.b, 4, none);
    wire_build_ref_field(&t.b, 5, s);
    wire_build_ref_field(&t.b, 6, bytes);
    wire_table root = read_back(wire_build_table_end(&t.b));
    wire_vector v = wire_fb_vector(&t.fb, &here, &root, 1, 4);
    assert_int_equal(v.n, 3);
    for (uint64_t k = 0; k < 3; k++) {
        assert_int_equal(wire_fb_i32_at(&t.fb, &v, k), ints[k]);
    }
    v = wire_fb_vector(&t.fb, &here, &root, 2, 8); /* the cursor refuses what is not aligned to 8 */
    assert_int_equal(v.n, 2);
    assert_true(wire_fb_i64_at(&t.fb, &v, 0) == INT64_MAX && wire_fb_i64_at(&t.fb, &v, 1) == -1);
    v = wire_fb_vector(&t.fb, &here, &root, 3, 4);
    assert_int_equal(v.n, 3);
    for (uint64_t k = 0; k < 3; k++) {
        float got = wire_fb_float_at(&t.fb, &v, k);
        assert_memory_equal(&got, &floats[k], sizeof got);
    }
    v = wire_fb_vector(&t.fb, &here, &root, 4, 4);
    assert_true(v.present && !v.n);
    assert_int_equal(wire_fb_string(&t.fb, &here, &root, 5).size, 0);
    assert_non_null(wire_fb_string(&t.fb, &here, &root, 5).at);
    base_bytes blob = wire_fb_blob(&t.fb, &here, &root, 6);
    assert_int_equal(blob.size, 3);
    assert_memory_equal(blob.at, "abc", 3);
    assert_int_equal((blob.at - t.fb.bytes.at) % 16, 0);
    assert_true(wire_fb_float(&t.fb, &here, &root, 0, 0) == 1.5F);
    assert_int_equal(wire_fb_signed(&t.fb, &here, &root, 9, 8, 0), -5);
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &root, 8, 2, 0), 0x2345);
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &root, 7, 4, 77), 77);
    assert_sound();
}

/* Tables with the same fields share a vtable, wherever they stand: the older one's is behind, a negative distance. */
static void equal_vtables_are_one(void **state) {
    (void)state;
    wire_ref list[100];
    size_t before = 0;
    for (uint32_t i = 0; i < 100; i++) {
        wire_build_table(&t.b);
        wire_build_field(&t.b, 3, 4, i);
        list[i] = wire_build_table_end(&t.b);
        before = i ? before : t.b.n;
    }
    assert_int_equal(t.b.n - before, 99 * 8); /* the distance to the vtable and the field */
    wire_ref vector = wire_build_refs(&t.b, list, 100);
    wire_build_table(&t.b);
    wire_build_ref_field(&t.b, 0, vector);
    wire_table root = read_back(wire_build_table_end(&t.b));
    wire_vector v = wire_fb_vector(&t.fb, &here, &root, 0, 4);
    assert_int_equal(v.n, 100);
    for (uint32_t i = 0; i < 100; i++) {
        wire_table one = wire_fb_table_at(&t.fb, &here, &v, i);
        assert_int_equal(wire_fb_unsigned(&t.fb, &here, &one, 3, 4, 999), i);
    }
    assert_sound();
}

/* Whatever stands behind them, bytes begin at a multiple of what was asked for. */
static void bytes_are_aligned(void **state) {
    (void)state;
    wire_ref list[64];
    uint8_t data[64];
    memset(data, 0xa5, sizeof data);
    for (size_t i = 0; i < 64; i++) {
        wire_ref bytes = wire_build_bytes(&t.b, data, i, 1u << i % 7);
        wire_build_table(&t.b);
        wire_build_ref_field(&t.b, 0, bytes);
        wire_build_field(&t.b, 1, i % 2 ? 1 : 8, i);
        list[i] = wire_build_table_end(&t.b);
    }
    wire_ref vector = wire_build_refs(&t.b, list, 64);
    wire_build_table(&t.b);
    wire_build_ref_field(&t.b, 0, vector);
    wire_table root = read_back(wire_build_table_end(&t.b));
    assert_int_equal(t.file.size % 64, 0); /* as wide as the widest */
    wire_vector v = wire_fb_vector(&t.fb, &here, &root, 0, 4);
    for (size_t i = 0; i < 64; i++) {
        wire_table one = wire_fb_table_at(&t.fb, &here, &v, i);
        base_bytes blob = wire_fb_blob(&t.fb, &here, &one, 0);
        assert_int_equal(blob.size, i);
        assert_memory_equal(blob.at, data, i);
        assert_int_equal((uint64_t)(blob.at - t.fb.bytes.at) % (1u << i % 7), 0);
        assert_int_equal(wire_fb_unsigned(&t.fb, &here, &one, 1, i % 2 ? 1 : 8, 999), i);
    }
    assert_sound();
}

/* The builder stops at its bound, wherever that falls, and says so in the end. */
static void a_file_that_is_too_large_is_refused(void **state) {
    (void)state;
    size_t refused = 0, built = 0;
    for (uint64_t most = 0; most < 200; most++) {
        wire_build_open(&t.b, t.arena, 0);
        t.b.most = most;
        static const int64_t longs[] = {1, 2, 3};
        wire_ref parts[] = {wire_build_bytes(&t.b, "0123456789", 10, 16), wire_build_string(&t.b, "name", 4)};
        wire_ref list = wire_build_refs(&t.b, parts, 2), l = wire_build_i64s(&t.b, longs, 3);
        wire_build_table(&t.b);
        wire_build_ref_field(&t.b, 0, list);
        wire_build_ref_field(&t.b, 1, l);
        bool done = wire_build_finish(&t.b, wire_build_table_end(&t.b), "TEST", &t.file);
        built += done;
        refused += !done;
        assert_true(!done || t.file.size <= most);
        assert_true(!built || done); /* there is one bound */
    }
    assert_true(refused > 60 && built > 60);
    /* Lengths beyond any memory are never looked at. */
    wire_build_open(&t.b, t.arena, 0);
    wire_build_bytes(&t.b, NULL, SIZE_MAX - 8, 16);
    assert_true(t.b.too_large);
    wire_build_open(&t.b, t.arena, SIZE_MAX);
    wire_build_i64s(&t.b, NULL, SIZE_MAX / 2);
    assert_true(t.b.too_large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_byte_for_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_kind_is_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_vtables_are_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_are_aligned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_too_large_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
