/* test_flexbuild.c - the FlexBuffers builder: one map byte for byte as FlexBuffers' document lays it out, and what the
 * cursor reads back of another. */
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
} t;

static int set_up(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    if (BASE_GUARD(&t.memory, &t.guard)) {
        return -1;
    }
    t.arena = base_arena_new(&t.memory);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(t.arena);
    base_unguard(&t.memory, &t.guard);
    return 0;
}

static void a_map_byte_for_byte(void **state) {
    (void)state;
    const wire_flex_entry entries[] = {{.key = "b", .kind = WIRE_FLEX_INT, .i = -2},
                                       {.key = "a", .kind = WIRE_FLEX_TEXT, .text = "hi", .n = 2}};
    static const uint8_t want[] = {
        'a',        0,          'b',  0,    0,    0,    0,    0,                                /* 0: the keys */
        2,          0,          0,    0,    0,    0,    0,    0,    'h', 'i', 0, 0, 0, 0, 0, 0, /* 8: a text, at 16 */
        2,          0,          0,    0,    0,    0,    0,    0,                                /* 24: so many keys */
        32,         0,          0,    0,    0,    0,    0,    0,                                /* 32: back to 0 */
        38,         0,          0,    0,    0,    0,    0,    0,                                /* 40: back to 2 */
        16,         0,          0,    0,    0,    0,    0,    0,    /* 48: back to the keys' vector, 32 */
        8,          0,          0,    0,    0,    0,    0,    0,    /* 56: the width of its elements */
        2,          0,          0,    0,    0,    0,    0,    0,    /* 64: so many values */
        56,         0,          0,    0,    0,    0,    0,    0,    /* 72: back to the text, 16 */
        0xfe,       0xff,       0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* 80: -2 */
        5 << 2 | 3, 1 << 2 | 3, 0,    0,    0,    0,    0,    0,    /* 88: their types */
        24,         0,          0,    0,    0,    0,    0,    0,    /* 96: back to the map, 72 */
        9 << 2 | 3, 8,                                              /* the root's type and width */
    };
    base_bytes got = wire_flex_build_map(t.arena, entries, 2);
    assert_int_equal(got.size, sizeof want);
    assert_memory_equal(got.at, want, sizeof want);
}

static void every_kind_is_read_back(void **state) {
    (void)state;
    static const int64_t ints[] = {INT64_MIN, 0, INT64_MAX};
    static const double floats[] = {0.1, -1e300};
    const wire_flex_entry entries[] = {
        {.key = "text", .kind = WIRE_FLEX_TEXT, .text = "", .n = 0},
        {.key = "scale", .kind = WIRE_FLEX_FLOAT, .f = 0.1},
        {.key = "ints", .kind = WIRE_FLEX_VECTOR, .ints = ints, .n = 3},
        {.key = "floats", .kind = WIRE_FLEX_VECTOR, .floats = floats, .n = 2},
        {.key = "none", .kind = WIRE_FLEX_VECTOR, .ints = ints, .n = 0},
        {.key = "largest", .kind = WIRE_FLEX_INT, .i = INT64_MAX},
    };
    static const char *const order[] = {"floats", "ints", "largest", "none", "scale", "text"};
    base_bytes bytes = wire_flex_build_map(t.arena, entries, 6);
    base_diags d = {.arena = t.arena};
    wire_flex f;
    wire_flex_open(&f, "test", NULL, 0, bytes, &d);
    wire_flex_value map = wire_flex_root(&f), v[6];
    assert_int_equal(map.kind, WIRE_FLEX_MAP);
    assert_int_equal(map.n, 6);
    for (uint64_t i = 0; i < 6; i++) {
        base_bytes key = wire_flex_key(&f, &map, i);
        assert_int_equal(key.size, strlen(order[i]));
        assert_memory_equal(key.at, order[i], key.size);
        v[i] = wire_flex_at(&f, &map, i);
    }
    assert_int_equal(v[0].n, 2);
    for (uint64_t i = 0; i < 2; i++) {
        wire_flex_value e = wire_flex_at(&f, &v[0], i);
        assert_true(wire_flex_float(&f, &e) == floats[i]);
    }
    assert_int_equal(v[1].n, 3);
    for (uint64_t i = 0; i < 3; i++) {
        wire_flex_value e = wire_flex_at(&f, &v[1], i);
        assert_true(wire_flex_int(&f, &e) == ints[i]);
    }
    assert_true(wire_flex_int(&f, &v[2]) == INT64_MAX);
    assert_true(v[3].kind == WIRE_FLEX_VECTOR && !v[3].n);
    assert_true(wire_flex_float(&f, &v[4]) == 0.1);
    assert_true(v[5].kind == WIRE_FLEX_TEXT && !wire_flex_bytes(&f, &v[5]).size);
    assert_false(wire_flex_failed(&f));
    assert_int_equal(d.errors, 0);
    base_bytes empty = wire_flex_build_map(t.arena, NULL, 0);
    wire_flex_open(&f, "test", NULL, 0, empty, &d);
    map = wire_flex_root(&f);
    assert_true(map.kind == WIRE_FLEX_MAP && !map.n && !wire_flex_failed(&f));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_map_byte_for_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_kind_is_read_back, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
