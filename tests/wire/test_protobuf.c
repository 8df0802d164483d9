/* test_protobuf.c - the Protocol Buffers cursor: the examples of the "Encoding" page, and every kind of broken place. */
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
    wire_pb pb;
} t;

static const wire_path here = {.name = "message", .index = WIRE_NO_INDEX};

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

/* The message of bytes in memory of exactly their size. */
static wire_message open(const void *bytes, size_t n) {
    uint8_t *exact = base_alloc(t.arena, n ? n : 1, 1);
    memcpy(exact, bytes, n);
    t.d.list.n = t.d.errors = 0;
    wire_pb_open(&t.pb, "test.pb", (base_bytes){exact, n}, &t.d);
    return wire_pb_root(&t.pb);
}
#define OPEN(text) open(text, sizeof text - 1)

static wire_pb_field next(wire_message *m) {
    wire_pb_field f;
    assert_true(wire_pb_next(&t.pb, &here, m, &f));
    return f;
}

static void assert_end(wire_message *m) {
    wire_pb_field f;
    assert_false(wire_pb_next(&t.pb, &here, m, &f));
    assert_false(wire_pb_failed(&t.pb));
}

/* The cursor has failed with that message at that byte, and gives nothing more. */
static void assert_fault(const char *says, uint64_t byte) {
    wire_message m = wire_pb_root(&t.pb);
    wire_pb_field f;
    assert_true(wire_pb_failed(&t.pb));
    assert_int_equal(t.d.errors, 1);
    assert_non_null(strstr(t.d.list.at[0].message, says));
    assert_string_equal(t.d.list.at[0].file, "test.pb");
    assert_string_equal(t.d.list.at[0].path, "message");
    assert_true(t.d.list.at[0].has_byte);
    assert_int_equal(t.d.list.at[0].byte, byte);
    assert_false(wire_pb_next(&t.pb, &here, &m, &f));
    wire_pb_error(&t.pb, &here, 0, "another");
    assert_int_equal(t.d.errors, 1);
}

/* ---- sound messages ---- */

static void examples_of_the_standard(void **state) {
    (void)state;
    wire_message m = OPEN("\x08\x96\x01"); /* Test1 {a: 150} */
    wire_pb_field f = next(&m);
    assert_int_equal(f.number, 1);
    assert_int_equal(wire_pb_int(&t.pb, &here, &f), 150);
    assert_end(&m);
    m = OPEN("\x12\x07testing"); /* Test2 {b: "testing"} */
    f = next(&m);
    assert_int_equal(f.number, 2);
    assert_string_equal(wire_pb_text(t.arena, &t.pb, &here, &f), "testing");
    assert_end(&m);
    m = OPEN("\x1a\x03\x08\x96\x01"); /* Test3 {c {a: 150}} */
    f = next(&m);
    wire_message inner = wire_pb_message(&t.pb, &here, &f);
    wire_pb_field g = next(&inner);
    assert_int_equal(wire_pb_int(&t.pb, &here, &g), 150);
    assert_end(&inner);
    assert_end(&m);
    m = OPEN("\x32\x06\x03\x8e\x02\x9e\xa7\x05"); /* Test5 {f: [3, 270, 86942]}, packed */
    f = next(&m);
    assert_int_equal(f.number, 6);
    uint64_t k = 0, v = 0;
    static const uint64_t want[] = {3, 270, 86942};
    for (size_t i = 0; i < 3; i++) {
        assert_true(wire_pb_varint_in(&t.pb, &here, &f, &k, &v));
        assert_true(v == want[i]);
    }
    assert_false(wire_pb_varint_in(&t.pb, &here, &f, &k, &v));
    assert_end(&m);
    m = OPEN("\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"); /* int32 -2 */
    f = next(&m);
    assert_true(wire_pb_int(&t.pb, &here, &f) == -2);
}

static void lists_one_a_field_or_packed(void **state) {
    (void)state;
    wire_message m = OPEN("\x0d\x00\x00\x80\x3f"                     /* 1: f32 1 */
                          "\x0a\x08\x00\x00\x00\x40\x00\x00\x40\x40" /* 1: f32 2 and 3 */
                          "\x11\x00\x00\x00\x00\x00\x00\xf0\x3f"     /* 2: f64 1 */
                          "\x18\x05" /* 3: 5 */);
    wire_pb_field f = next(&m);
    uint64_t k = 0, v = 0;
    assert_true(wire_pb_float(&t.pb, &here, &f) == 1.0f);
    assert_true(wire_pb_fixed_in(&t.pb, &here, &f, 4, &k, &v) && v == 0x3f800000);
    assert_false(wire_pb_fixed_in(&t.pb, &here, &f, 4, &k, &v));
    f = next(&m);
    k = 0;
    assert_true(wire_pb_fixed_in(&t.pb, &here, &f, 4, &k, &v) && v == 0x40000000);
    assert_true(wire_pb_fixed_in(&t.pb, &here, &f, 4, &k, &v) && v == 0x40400000);
    assert_false(wire_pb_fixed_in(&t.pb, &here, &f, 4, &k, &v));
    f = next(&m);
    k = 0;
    assert_true(wire_pb_fixed_in(&t.pb, &here, &f, 8, &k, &v) && v == UINT64_C(0x3ff0000000000000));
    f = next(&m);
    k = 0;
    assert_true(wire_pb_varint_in(&t.pb, &here, &f, &k, &v) && v == 5);
    assert_false(wire_pb_varint_in(&t.pb, &here, &f, &k, &v));
    assert_end(&m);
}

static void empty_texts_and_messages(void **state) {
    (void)state;
    wire_message m = OPEN("");
    assert_end(&m);
    m = OPEN("\x0a\x00");
    wire_pb_field f = next(&m);
    assert_string_equal(wire_pb_text(t.arena, &t.pb, &here, &f), "");
    wire_message inner = wire_pb_message(&t.pb, &here, &f);
    assert_end(&inner);
    uint64_t k = 0, v;
    assert_false(wire_pb_varint_in(&t.pb, &here, &f, &k, &v));
    assert_false(wire_pb_failed(&t.pb));
}

/* The largest number of a field and of a varint. */
static void largest(void **state) {
    (void)state;
    wire_message m = OPEN("\xf8\xff\xff\xff\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    wire_pb_field f = next(&m);
    assert_int_equal(f.number, 0x1fffffff);
    assert_true(f.value == UINT64_MAX);
}

/* Obsolete, and no field that is asked for: passed over with what stands in them. */
static void groups(void **state) {
    (void)state;
    wire_message m = OPEN("\x0b\x08\x01\x13\x12\x01x\x14\x0c\x08\x07"); /* 1 { 1: 1, 2 { 2: "x" } } 1: 7 */
    wire_pb_field f = next(&m);
    assert_int_equal(f.number, 1);
    assert_int_equal(wire_pb_int(&t.pb, &here, &f), 7);
    assert_end(&m);
    m = OPEN("\x0b\x0c");
    assert_end(&m);
}

/* ---- faults ---- */

typedef struct fault {
    const char *bytes;
    size_t n;
    const char *says;
    uint64_t byte;
} fault;
#define FAULT(text, says, byte)                                                                                        \
    { text, sizeof text - 1, says, byte }

static void broken_fields(void **state) {
    (void)state;
    static const fault faults[] = {
        FAULT("\x88", "the message ends within a number", 0),
        FAULT("\x08", "the message ends within a number", 1),
        FAULT("\x08\x96", "the message ends within a number", 1),
        FAULT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "a number of more than 64 bits", 1),
        FAULT("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", "a number of more than 64 bits", 1),
        FAULT("\x00\x01", "field number 0", 0),
        FAULT("\x80\x80\x80\x80\x10\x01", "field number 536870912", 0),
        FAULT("\x0e", "wire type 6", 0),
        FAULT("\x0f", "wire type 7", 0),
        FAULT("\x12\x08testing", "field 2 has 8 bytes, and its message ends after 7", 0),
        FAULT("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", "field 2 has 18446744073709551615 bytes", 0),
        FAULT("\x09\x01\x02\x03\x04\x05\x06\x07", "field 1 has 8 bytes, and its message ends after 7", 0),
        FAULT("\x0d\x01\x02\x03", "field 1 has 4 bytes, and its message ends after 3", 0),
        FAULT("\x0b\x08\x01", "the message ends within a group", 0),
        FAULT("\x0c", "a group ends that did not begin", 0),
        FAULT("\x0b\x14", "a group ends that did not begin", 0),
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        wire_message m = open(faults[i].bytes, faults[i].n);
        wire_pb_field f;
        assert_false(wire_pb_next(&t.pb, &here, &m, &f));
        assert_fault(faults[i].says, faults[i].byte);
    }
}

static void fields_of_another_kind(void **state) {
    (void)state;
    wire_message m = OPEN("\x08\x01");
    wire_pb_field f = next(&m);
    assert_string_equal(wire_pb_text(t.arena, &t.pb, &here, &f), "");
    assert_fault("it is stored as a varint: expected a length and bytes", 1);
    m = OPEN("\x0a\x01x");
    f = next(&m);
    assert_int_equal(wire_pb_int(&t.pb, &here, &f), 0);
    assert_fault("it is stored as a length and bytes: expected a varint", 2);
    m = OPEN("\x08\x01");
    f = next(&m);
    assert_true(wire_pb_float(&t.pb, &here, &f) == 0);
    assert_fault("it is stored as a varint: expected 4 bytes", 1);
    m = OPEN("\x0d\x01\x02\x03\x04");
    f = next(&m);
    wire_message inner = wire_pb_message(&t.pb, &here, &f);
    assert_true(inner.at == inner.end);
    assert_fault("it is stored as 4 bytes: expected a length and bytes", 1);
    m = OPEN("\x09\x01\x02\x03\x04\x05\x06\x07\x08");
    f = next(&m);
    uint64_t k = 0, v;
    assert_false(wire_pb_varint_in(&t.pb, &here, &f, &k, &v));
    assert_fault("it is stored as 8 bytes: expected a length and bytes", 1);
}

static void broken_values(void **state) {
    (void)state;
    uint64_t k = 0, v;
    wire_message m = OPEN("\x0a\x03x\0y");
    wire_pb_field f = next(&m);
    (void)wire_pb_text(t.arena, &t.pb, &here, &f);
    assert_fault("the text holds a NUL", 2);
    m = OPEN("\x0a\x02\x01\x80\x01"); /* the second number ends behind the list */
    f = next(&m);
    assert_true(wire_pb_varint_in(&t.pb, &here, &f, &k, &v) && v == 1);
    assert_false(wire_pb_varint_in(&t.pb, &here, &f, &k, &v));
    assert_fault("the message ends within a number", 3);
    m = OPEN("\x0a\x06\x01\x02\x03\x04\x05\x06");
    f = next(&m);
    k = 0;
    assert_true(wire_pb_fixed_in(&t.pb, &here, &f, 4, &k, &v) && v == 0x04030201);
    assert_false(wire_pb_fixed_in(&t.pb, &here, &f, 4, &k, &v));
    assert_fault("the list ends within a value", 6);
}

/* Each message holds the next one: 64 are followed, and the 65th is a fault. */
static void nesting_is_bounded(void **state) {
    (void)state;
    uint8_t bytes[400];
    size_t n = 0;
    for (unsigned i = 0; i < 100; i++) { /* from the innermost */
        uint8_t whole[400];
        size_t head = n < 128 ? 2 : 3;
        whole[0] = 0x0a;
        whole[1] = n < 128 ? (uint8_t)n : (uint8_t)(n & 127) | 128;
        whole[2] = (uint8_t)(n >> 7);
        memcpy(whole + head, bytes, n);
        n += head;
        memcpy(bytes, whole, n);
    }
    wire_message m = open(bytes, n);
    unsigned depth = 0;
    while (!wire_pb_failed(&t.pb) && m.at < m.end) {
        wire_pb_field f = next(&m);
        m = wire_pb_message(&t.pb, &here, &f);
        depth++;
    }
    assert_int_equal(depth, 65);
    assert_non_null(strstr(t.d.list.at[0].message, "messages are nested more than 64 deep"));
}

static void groups_in_groups_are_bounded(void **state) {
    (void)state;
    uint8_t bytes[128];
    memset(bytes, 0x0b, 64);
    memset(bytes + 64, 0x0c, 64);
    wire_message m = open(bytes, 128);
    assert_end(&m);
    memset(bytes, 0x0b, sizeof bytes);
    m = open(bytes, sizeof bytes);
    wire_pb_field f;
    assert_false(wire_pb_next(&t.pb, &here, &m, &f));
    assert_fault("groups are more than 64 deep in each other", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(examples_of_the_standard, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_one_a_field_or_packed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_texts_and_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(largest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_fields, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fields_of_another_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nesting_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_in_groups_are_bounded, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
