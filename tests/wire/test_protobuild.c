/* test_protobuild.c - writing Protocol Buffers: bytes by the examples of its "Encoding" page, and nesting. */
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static base_arena *arena;
static base_memory memory;
static base_guard guard;

static int set_up(void **state) {
    (void)state;
    if (BASE_GUARD(&memory, &guard)) {
        return -1;
    }
    arena = base_arena_new(&memory);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(arena);
    base_unguard(&memory, &guard);
    return 0;
}

static void expect(const wire_pb_out *out, const char *bytes, size_t n) {
    base_text text = {.arena = arena};
    wire_pb_finish(out, &text);
    assert_int_equal(text.n, n);
    assert_int_equal(out->size, n);
    assert_memory_equal(text.at, bytes, n);
}
#define EXPECT(out, bytes) expect((out), (bytes), sizeof(bytes) - 1)

static void scalars(void **state) {
    (void)state;
    wire_pb_out out = {.arena = arena};
    wire_pb_put_int(&out, 1, 150);
    EXPECT(&out, "\x08\x96\x01");
    wire_pb_put_float(&out, 5, 1.0f);
    EXPECT(&out, "\x08\x96\x01\x2d\x00\x00\x80\x3f");
    wire_pb_out negative = {.arena = arena};
    wire_pb_put_int(&negative, 1, -2);
    EXPECT(&negative, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    wire_pb_out far = {.arena = arena};
    wire_pb_put_int(&far, 20, 0);
    EXPECT(&far, "\xa0\x01\x00");
}

static void texts_and_messages(void **state) {
    (void)state;
    wire_pb_out out = {.arena = arena}, inner = {.arena = arena};
    wire_pb_put_text(&out, 2, "testing");
    wire_pb_put_int(&inner, 1, 150);
    wire_pb_put_message(&out, 3, &inner);
    EXPECT(&out, "\x12\x07testing\x1a\x03\x08\x96\x01");
    wire_pb_out empty = {.arena = arena}, holder = {.arena = arena};
    wire_pb_put_message(&holder, 4, &empty);
    wire_pb_put_text(&holder, 5, "");
    EXPECT(&holder, "\x22\x00\x2a\x00");
}

static void lists(void **state) {
    (void)state;
    static const int64_t v[] = {3, 270, 86942};
    static const float f[] = {1.0f, -2.0f};
    wire_pb_out out = {.arena = arena}, none = {.arena = arena};
    wire_pb_put_ints(&out, 6, v, 3);
    wire_pb_put_floats(&out, 7, f, 2);
    EXPECT(&out, "\x32\x06\x03\x8e\x02\x9e\xa7\x05\x3a\x08\x00\x00\x80\x3f\x00\x00\x00\xc0");
    wire_pb_put_ints(&none, 6, v, 0);
    wire_pb_put_floats(&none, 7, f, 0);
    assert_int_equal(none.size, 0);
}

/* Long contents are borrowed, at any depth; what is read again is what was put. */
static void depth(void **state) {
    (void)state;
    enum { LONG = 3000, DEEP = 20 };
    char *bytes = base_alloc(arena, LONG, 1);
    memset(bytes, 'x', LONG);
    wire_pb_out out = {.arena = arena};
    wire_pb_put_bytes(&out, 9, bytes, LONG);
    wire_pb_put_int(&out, 10, 7);
    for (int i = 0; i < DEEP; i++) {
        wire_pb_out outer = {.arena = arena};
        wire_pb_put_int(&outer, 2, i);
        wire_pb_put_message(&outer, 1, &out);
        wire_pb_put_text(&outer, 3, "behind");
        out = outer;
    }
    base_text text = {.arena = arena};
    wire_pb_finish(&out, &text);
    base_diags d = {.arena = arena};
    wire_pb pb;
    wire_pb_open(&pb, "x", (base_bytes){(const uint8_t *)text.at, text.n}, &d);
    wire_message m = wire_pb_root(&pb);
    wire_pb_field f;
    for (int i = DEEP; i-- > 0;) {
        assert_true(wire_pb_next(&pb, NULL, &m, &f));
        assert_int_equal(f.number, 2);
        assert_int_equal(wire_pb_int(&pb, NULL, &f), i);
        assert_true(wire_pb_next(&pb, NULL, &m, &f));
        wire_message inner = wire_pb_message(&pb, NULL, &f);
        assert_true(wire_pb_next(&pb, NULL, &m, &f));
        assert_string_equal(wire_pb_text(arena, &pb, NULL, &f), "behind");
        assert_false(wire_pb_next(&pb, NULL, &m, &f));
        m = inner;
    }
    assert_true(wire_pb_next(&pb, NULL, &m, &f));
    base_bytes back = wire_pb_bytes(&pb, NULL, &f);
    assert_int_equal(back.size, LONG);
    assert_memory_equal(back.at, bytes, LONG);
    assert_true(wire_pb_next(&pb, NULL, &m, &f));
    assert_int_equal(f.value, 7);
    assert_false(wire_pb_next(&pb, NULL, &m, &f));
    assert_false(wire_pb_failed(&pb));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scalars, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_and_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(depth, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
