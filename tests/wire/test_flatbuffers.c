/* test_flatbuffers.c - the FlatBuffers cursor: values at places that the test itself laid out, and every kind of broken
 * place. */
#include "support/flatbuild.h"
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
    flat f;
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
    flat_start(&t.f, "TEST");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(t.arena);
    base_unguard(&t.memory, &t.guard);
    return 0;
}

/* Opens what has been built, in memory of exactly its size. */
static wire_table open_root(void) {
    uint8_t *exact = base_alloc(t.arena, t.f.n ? t.f.n : 1, 1);
    memcpy(exact, t.f.at, t.f.n);
    t.d.list.n = t.d.errors = 0;
    wire_fb_open(&t.fb, "test.fb", (base_bytes){exact, t.f.n}, &t.d);
    return wire_fb_root(&t.fb, "TEST");
}

static size_t root(const char *widths) {
    size_t table = flat_table(&t.f, widths);
    flat_point(&t.f, 0, table);
    return table;
}

static void assert_fault(const char *path, size_t byte, const char *part) {
    assert_true(wire_fb_failed(&t.fb));
    assert_int_equal(t.d.errors, 1);
    const base_diag *d = &t.d.list.at[0];
    if (path) {
        assert_string_equal(d->path, path);
    } else {
        assert_null(d->path);
    }
    assert_true(d->has_byte);
    if (d->byte != byte || !strstr(d->message, part)) {
        fail_msg("byte %llu: %s; expected byte %zu: %s", (unsigned long long)d->byte, d->message, byte, part);
    }
}

/* ---- sound files ---- */

static void scalars(void **state) {
    (void)state;
    size_t table = root("124814-");
    flat_put(&t.f, flat_field(&t.f, table, 0), 0xfe, 1);
    flat_put(&t.f, flat_field(&t.f, table, 1), 0x8001, 2);
    flat_put(&t.f, flat_field(&t.f, table, 2), 0xfffffffd, 4);
    flat_put(&t.f, flat_field(&t.f, table, 3), 0x8000000000000002, 8);
    flat_put(&t.f, flat_field(&t.f, table, 4), 1, 1);
    flat_put(&t.f, flat_field(&t.f, table, 5), 0xc0200000, 4); /* -2.5f */
    wire_table r = open_root();
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &r, 0, 1, 9), 0xfe);
    assert_int_equal(wire_fb_signed(&t.fb, &here, &r, 0, 1, 9), -2);
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &r, 1, 2, 9), 0x8001);
    assert_int_equal(wire_fb_signed(&t.fb, &here, &r, 1, 2, 9), -0x7fff);
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &r, 2, 4, 9), 0xfffffffd);
    assert_int_equal(wire_fb_signed(&t.fb, &here, &r, 2, 4, 9), -3);
    assert_true(wire_fb_unsigned(&t.fb, &here, &r, 3, 8, 9) == 0x8000000000000002);
    assert_true(wire_fb_signed(&t.fb, &here, &r, 3, 8, 9) == INT64_MIN + 2);
    assert_true(wire_fb_float(&t.fb, &here, &r, 5, 9.0f) == -2.5f);
    /* Absent in the vtable, and beyond it. */
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &r, 6, 4, 9), 9);
    assert_int_equal(wire_fb_signed(&t.fb, &here, &r, 7, 4, -9), -9);
    assert_true(wire_fb_float(&t.fb, &here, &r, 60000, 9.0f) == 9.0f);
    assert_int_equal(wire_fb_field(&t.fb, &here, &r, 2, 4), flat_field(&t.f, table, 2));
    assert_false(wire_fb_failed(&t.fb));
}

static void vectors_and_strings(void **state) {
    (void)state;
    size_t table = root("44444-");
    size_t ints = flat_vector(&t.f, 3, 4), longs = flat_vector(&t.f, 2, 8), floats = flat_vector(&t.f, 1, 4);
    size_t string = flat_string(&t.f, "name"), blob = flat_vector(&t.f, 3, 1);
    flat_put(&t.f, ints + 4 + 8, 0xffffffff, 4);
    flat_put(&t.f, longs + 4 + 8, UINT64_MAX - 4, 8);
    flat_put(&t.f, floats + 4, 0x3f800000, 4);
    memcpy(&t.f.at[blob + 4], "\1\2\3", 3);
    const size_t children[] = {ints, longs, floats, string, blob};
    for (size_t i = 0; i < 5; i++) {
        flat_point(&t.f, flat_field(&t.f, table, i), children[i]);
    }
    wire_table r = open_root();
    wire_vector v = wire_fb_vector(&t.fb, &here, &r, 0, 4);
    assert_int_equal(v.n, 3);
    assert_int_equal(v.at, ints + 4);
    assert_int_equal(wire_fb_i32_at(&t.fb, &v, 0), 0);
    assert_int_equal(wire_fb_i32_at(&t.fb, &v, 2), -1);
    v = wire_fb_vector(&t.fb, &here, &r, 1, 8);
    assert_int_equal(v.n, 2);
    assert_int_equal(wire_fb_i64_at(&t.fb, &v, 1), -5);
    v = wire_fb_vector(&t.fb, &here, &r, 2, 4);
    assert_true(wire_fb_float_at(&t.fb, &v, 0) == 1.0f);
    base_bytes s = wire_fb_string(&t.fb, &here, &r, 3);
    assert_int_equal(s.size, 4);
    assert_memory_equal(s.at, "name", 5);
    s = wire_fb_blob(&t.fb, &here, &r, 4);
    assert_int_equal(s.size, 3);
    assert_memory_equal(s.at, "\1\2\3", 3);
    assert_null(wire_fb_string(&t.fb, &here, &r, 5).at);
    assert_null(wire_fb_blob(&t.fb, &here, &r, 5).at);
    assert_false(wire_fb_vector(&t.fb, &here, &r, 5, 4).present);
    assert_false(wire_fb_failed(&t.fb));
}

static void tables_and_unions(void **state) {
    (void)state;
    size_t table = root("414-4");
    size_t child = flat_table(&t.f, "1"), list = flat_vector(&t.f, 2, 4);
    size_t first = flat_table(&t.f, "1"), second = flat_table(&t.f, "1");
    flat_put(&t.f, flat_field(&t.f, child, 0), 7, 1);
    flat_put(&t.f, flat_field(&t.f, second, 0), 8, 1);
    flat_point(&t.f, flat_field(&t.f, table, 0), child);
    flat_put(&t.f, flat_field(&t.f, table, 1), 3, 1);
    flat_point(&t.f, flat_field(&t.f, table, 2), child);
    flat_point(&t.f, flat_field(&t.f, table, 4), list);
    flat_point(&t.f, list + 4, first);
    flat_point(&t.f, list + 8, second);
    wire_table r = open_root();
    wire_table c = wire_fb_table(&t.fb, &here, &r, 0);
    assert_int_equal(c.at, child);
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &c, 0, 1, 0), 7);
    unsigned type = 9;
    c = wire_fb_union(&t.fb, &here, &r, 1, 3, &type);
    assert_int_equal(type, 3);
    assert_int_equal(c.at, child);
    wire_vector v = wire_fb_vector(&t.fb, &here, &r, 4, 4);
    c = wire_fb_table_at(&t.fb, &here, &v, 1);
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &c, 0, 1, 0), 8);
    /* An absent union and an absent table are none. */
    c = wire_fb_union(&t.fb, &here, &r, 3, 3, &type);
    assert_int_equal(type, 0);
    assert_int_equal(c.at, 0);
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &c, 0, 1, 5), 5);
    assert_false(wire_fb_failed(&t.fb));
}

static void paths(void **state) {
    (void)state;
    const wire_path graph = {.name = "subgraph", .index = 0};
    const wire_path op = {.outer = &graph, .name = "operator", .index = 3, .note = "CONV_2D"};
    const wire_path leaf = {.outer = &op, .name = "inputs", .index = WIRE_NO_INDEX};
    assert_string_equal(wire_path_print(t.arena, &leaf), "subgraph[0]/operator[3] CONV_2D/inputs");
    const wire_path tensor = {.outer = &graph, .name = "tensor", .index = 1, .note = "a/b\n", .quoted = true};
    assert_string_equal(wire_path_print(t.arena, &tensor), "subgraph[0]/tensor[1] \"a/b\\x0a\"");
}

/* ---- broken files ---- */

static void heads(void **state) {
    (void)state;
    root("4");
    for (size_t n = 0; n < 8; n++) {
        size_t whole = t.f.n;
        t.f.n = n;
        assert_int_equal(open_root().at, 0);
        assert_fault(NULL, n, "too short for a header");
        t.f.n = whole;
    }
    t.f.at[7] = '9';
    open_root();
    assert_fault(NULL, 4, "the file identifier is \"TES9\": expected \"TEST\"");
}

static void broken_tables(void **state) {
    (void)state;
    size_t table = root("4");
    size_t vtable = flat_vtable(&t.f, table);
    flat good = t.f;
    flat_put(&t.f, 0, 0, 4);
    open_root();
    assert_fault("root", 0, "points outside the file");
    flat_put(&t.f, 0, t.f.n - 3, 4);
    open_root();
    assert_fault("root", 0, "points outside the file");
    flat_put(&t.f, 0, 0xffffffff, 4);
    open_root();
    assert_fault("root", 0, "points outside the file");
    flat_put(&t.f, 0, table + 2, 4);
    open_root();
    assert_fault("root", table + 2, "not aligned to 4 bytes");
    t.f = good;
    flat_put(&t.f, table, (uint64_t) - (int64_t)(t.f.n - table), 4); /* a vtable right behind the file */
    open_root();
    assert_fault("root", table, "is outside the file");
    flat_put(&t.f, table, table + 8, 4); /* before it */
    open_root();
    assert_fault("root", table, "is outside the file");
    flat_put(&t.f, table, table - 2, 4); /* within the root's offset */
    open_root();
    assert_fault("root", table, "is outside the file");
    flat_put(&t.f, table, table - vtable - 1, 4); /* at an odd byte; its size reads 0x.. of two neighbours */
    flat_put(&t.f, vtable + 1, 6, 2);
    open_root();
    assert_fault("root", vtable + 1, "a vtable of 6 bytes");
    t.f = good;
    static const uint16_t sizes[] = {0, 2, 5, 7, 200};
    for (size_t i = 0; i < 5; i++) {
        flat_put(&t.f, vtable, sizes[i], 2);
        open_root();
        assert_fault("root", vtable, "a vtable of ");
    }
    t.f = good;
    flat_put(&t.f, vtable + 2, t.f.n - table + 1, 2);
    open_root();
    assert_fault("root", table, "a table of 9 bytes: the file ends 8 bytes after its start");
    flat_put(&t.f, vtable + 2, 3, 2);
    open_root();
    assert_fault("root", table, "a table of 3 bytes");
}

static void broken_fields(void **state) {
    (void)state;
    size_t table = root("4");
    size_t vtable = flat_vtable(&t.f, table);
    flat_put(&t.f, vtable + 4, 6, 2); /* bytes 6 to 9 of a table of 8 */
    wire_table r = open_root();
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &r, 0, 4, 9), 9);
    assert_fault("field", vtable + 4, "a field of 4 bytes at 6 of a table of 8 bytes");
    flat_put(&t.f, vtable + 4, 2, 2); /* within the distance to the vtable */
    r = open_root();
    wire_fb_unsigned(&t.fb, &here, &r, 0, 2, 9);
    assert_fault("field", vtable + 4, "a field of 2 bytes at 2");
    flat_put(&t.f, vtable + 4, 5, 2);
    r = open_root();
    wire_fb_unsigned(&t.fb, &here, &r, 0, 2, 9);
    assert_fault("field", table + 5, "not aligned to 2 bytes");
}

static void broken_vectors(void **state) {
    (void)state;
    size_t table = root("4");
    size_t field = flat_field(&t.f, table, 0);
    size_t vector = flat_vector(&t.f, 2, 4);
    flat_point(&t.f, field, vector);
    flat good = t.f;
    flat_put(&t.f, vector, 3, 4);
    wire_table r = open_root();
    assert_int_equal(wire_fb_vector(&t.fb, &here, &r, 0, 4).n, 0);
    assert_fault("field", vector, "3 elements of 4 bytes: only 8 bytes follow");
    flat_put(&t.f, vector, 0xffffffff, 4);
    r = open_root();
    wire_fb_vector(&t.fb, &here, &r, 0, 8);
    assert_fault("field", vector, "4294967295 elements of 8 bytes");
    t.f = good;
    flat_put(&t.f, field, 0xfffffff0, 4);
    r = open_root();
    wire_fb_vector(&t.fb, &here, &r, 0, 4);
    assert_fault("field", field, "the offset of a vector, 4294967280, points outside");
    t.f = good;
    t.f.n = flat_room(&t.f, 4, 8, 0); /* elements of 8 bytes at a place that is aligned to 4 only */
    vector = flat_room(&t.f, 12, 8, 0);
    flat_put(&t.f, vector, 1, 4);
    flat_point(&t.f, field, vector);
    r = open_root();
    wire_fb_vector(&t.fb, &here, &r, 0, 8);
    assert_fault("field", vector + 4, "not aligned to 8 bytes");
}

static void broken_strings_and_unions(void **state) {
    (void)state;
    size_t table = root("414");
    size_t string = flat_string(&t.f, "abc");
    flat_point(&t.f, flat_field(&t.f, table, 0), string);
    flat_put(&t.f, flat_field(&t.f, table, 1), 5, 1);
    flat good = t.f;
    t.f.at[string + 4 + 3] = 'd';
    wire_table r = open_root();
    assert_null(wire_fb_string(&t.fb, &here, &r, 0).at);
    assert_fault("field", string + 4 + 3, "a string without its NUL");
    t.f = good;
    t.f.n = string + 4 + 3; /* the NUL is cut off with the file's end */
    r = open_root();
    assert_null(wire_fb_string(&t.fb, &here, &r, 0).at);
    assert_fault("field", string + 4 + 3, "a string without its NUL");
    t.f = good;
    r = open_root();
    unsigned type;
    wire_fb_union(&t.fb, &here, &r, 1, 4, &type);
    assert_int_equal(type, 0);
    assert_fault("field", flat_field(&t.f, table, 1), "union type 5: the schema has 4");
}

static void nesting_is_limited(void **state) {
    (void)state;
    size_t table = root("4");
    for (int i = 0; i < 70; i++) {
        size_t child = flat_table(&t.f, "4");
        flat_point(&t.f, flat_field(&t.f, table, 0), child);
        table = child;
    }
    wire_table r = open_root();
    for (int i = 1; i < 64; i++) {
        r = wire_fb_table(&t.fb, &here, &r, 0);
        assert_true(r.at != 0);
    }
    size_t deepest = wire_fb_field(&t.fb, &here, &r, 0, 4);
    r = wire_fb_table(&t.fb, &here, &r, 0);
    assert_int_equal(r.at, 0);
    assert_fault("field", deepest + flat_get(&t.f, deepest, 4), "nested more than 64 deep");
}

static void sharing_is_limited(void **state) {
    (void)state;
    size_t table = root("4");
    size_t vector = flat_vector(&t.f, 16384, 4);
    flat_point(&t.f, flat_field(&t.f, table, 0), vector);
    wire_table r = open_root();
    size_t times = 0;
    while (wire_fb_vector(&t.fb, &here, &r, 0, 4).n) {
        times++;
    }
    assert_fault("field", vector + 4, "the same bytes are reached again and again");
    /* 16 times the file and 1 MiB: 16 * 65,5xx + 1,048,576 bytes for 65,540 each: 31 or 32 times. */
    assert_in_range(times, 31, 32);
    /* What is only borrowed may be reached for ever. */
    r = open_root();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(wire_fb_blob(&t.fb, &here, &r, 0).size, 16384);
    }
}

static void after_the_first_fault_nothing_is_there(void **state) {
    (void)state;
    size_t table = root("44");
    flat_put(&t.f, flat_field(&t.f, table, 1), 77, 4);
    wire_table r = open_root();
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &r, 1, 4, 9), 77);
    wire_fb_vector(&t.fb, &here, &r, 1, 4);
    assert_fault("field", flat_field(&t.f, table, 1), "points outside");
    assert_int_equal(wire_fb_unsigned(&t.fb, &here, &r, 1, 4, 9), 9);
    assert_int_equal(wire_fb_error(&t.fb, &here, 1, "a second one"), BASE_REFUSED);
    assert_int_equal(t.d.errors, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scalars, set_up, tear_down),
        cmocka_unit_test_setup_teardown(vectors_and_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_and_unions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(heads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_fields, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_vectors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_strings_and_unions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nesting_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sharing_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_the_first_fault_nothing_is_there, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
