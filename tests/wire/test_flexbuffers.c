/* test_flexbuffers.c - the FlexBuffers cursor: buffers that FlatBuffers' own Python package (25.x) made, and every kind of
 * broken place. */
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t scalars[] = {
    97,  0,  98,  105, 103, 0,   102, 108, 97,  103, 0,   104, 97, 108, 102, 0,   110, 97,  109, 101, 0,  8,  104,
    105, 32, 116, 104, 101, 114, 101, 0,   110, 111, 110, 101, 0,  117, 0,   7,   39,  38,  35,  31,  27, 13, 9,
    0,   0,  9,   0,   0,   0,   0,   0,   0,   0,   1,   0,   0,  0,   0,   0,   0,   0,   7,   0,   0,  0,  0,
    0,   0,  0,   253, 255, 255, 255, 255, 255, 255, 255, 0,   14, 250, 213, 254, 255, 255, 255, 1,   0,  0,  0,
    0,   0,  0,   0,   0,   0,   0,   0,   0,   0,   232, 63,  82, 0,   0,   0,   0,   0,   0,   0,   0,  0,  0,
    0,   0,  0,   0,   0,   112, 17,  1,   0,   0,   0,   0,   0,  7,   7,   107, 15,  20,  3,   11,  63, 39, 1};
static const uint8_t vectors[] = {
    102, 0,   0,   0,   0,  0,  0,   0,   3,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,   248, 63,  0,   0,  0,  0,   0,   0,   2,   192, 154, 153, 153, 153, 153, 153, 185, 63,  102, 105,
    120, 101, 100, 0,   7,  0,  248, 255, 44,  1,   105, 110, 116, 115, 0,   0,   0,   0,   4,   0,   0,
    0,   1,   0,   0,   0,  2,  0,   0,   0,   112, 17,  1,   0,   252, 255, 255, 255, 109, 105, 120, 101,
    100, 0,   1,   120, 0,  0,  0,   0,   3,   0,   0,   0,   1,   0,   0,   0,   0,   0,   32,  64,  17,
    0,   0,   0,   6,   14, 20, 116, 119, 111, 0,   0,   0,   0,   0,   63,  0,   0,   128, 64,  5,   125,
    86,  75,  48,  18,  5,  1,  5,   117, 88,  71,  40,  21,  55,  77,  46,  42,  74,  10,  36,  1};
static const uint8_t nested[] = {235, 50,  164, 248, 64,  156, 0,   0,   0,  0,   200, 64, 4,  1,  2,   0,
                                 3,   107, 0,   1,   3,   1,   1,   1,   9,  4,   3,   1,  0,  1,  108, 101,
                                 102, 116, 0,   114, 105, 103, 104, 116, 0,  2,   12,  8,  7,  45, 42,  39,
                                 35,  25,  23,  9,   26,  29,  34,  100, 36, 144, 56,  14, 40, 1};
static const uint8_t number[] = {42, 4, 1};

static struct {
    base_memory memory;
    base_guard guard;
    base_arena *arena;
    base_diags d;
    wire_flex f;
} t;

static const wire_path here = {.name = "custom_options", .index = WIRE_NO_INDEX};
enum { ORIGIN = 1000 };

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

/* The root of bytes in memory of exactly their size. */
static wire_flex_value root_of(const uint8_t *bytes, size_t n) {
    uint8_t *exact = base_alloc(t.arena, n ? n : 1, 1);
    memcpy(exact, bytes, n);
    t.d.list.n = t.d.errors = 0;
    wire_flex_open(&t.f, "test.flex", &here, ORIGIN, (base_bytes){exact, n}, &t.d);
    return wire_flex_root(&t.f);
}

static wire_flex_value find(const wire_flex_value *map, const char *key) {
    for (uint64_t i = 0; i < map->n; i++) {
        base_bytes k = wire_flex_key(&t.f, map, i);
        if (k.size == strlen(key) && memcmp(k.at, key, strlen(key)) == 0) {
            return wire_flex_at(&t.f, map, i);
        }
    }
    fail_msg("no key %s", key);
    return (wire_flex_value){0};
}

static void assert_text(const wire_flex_value *v, const char *want) {
    base_bytes b = wire_flex_bytes(&t.f, v);
    assert_int_equal(v->kind, WIRE_FLEX_TEXT);
    assert_int_equal(b.size, strlen(want));
    assert_memory_equal(b.at, want, b.size);
}

static void assert_int(const wire_flex_value *v, wire_flex_kind kind, int64_t want) {
    assert_int_equal(v->kind, kind);
    assert_true(wire_flex_int(&t.f, v) == want);
    assert_true(wire_flex_float(&t.f, v) == (double)want);
}

static void assert_float(const wire_flex_value *v, double want) {
    assert_int_equal(v->kind, WIRE_FLEX_FLOAT);
    assert_true(wire_flex_float(&t.f, v) == want);
    assert_int_equal(wire_flex_int(&t.f, v), 0);
}

/* ---- sound buffers ---- */

static void scalars_of_a_map(void **state) {
    (void)state;
    wire_flex_value m = root_of(scalars, sizeof scalars), v;
    assert_int_equal(m.kind, WIRE_FLEX_MAP);
    assert_int_equal(m.n, 7);
    v = find(&m, "a");
    assert_int(&v, WIRE_FLEX_INT, -3);
    v = find(&m, "big");
    assert_int(&v, WIRE_FLEX_INT, -5000000000);
    v = find(&m, "flag");
    assert_int(&v, WIRE_FLEX_BOOL, 1);
    v = find(&m, "half");
    assert_float(&v, 0.75);
    v = find(&m, "name");
    assert_text(&v, "hi there");
    v = find(&m, "none");
    assert_int_equal(v.kind, WIRE_FLEX_NULL);
    v = find(&m, "u");
    assert_int(&v, WIRE_FLEX_UINT, 70000);
    assert_false(wire_flex_failed(&t.f));
    assert_int_equal(t.d.errors, 0);
}

static void vectors_of_a_map(void **state) {
    (void)state;
    static const double reals[] = {1.5, -2.25, 0.1}, two[] = {0.5, 4};
    static const int64_t fixed[] = {7, -8, 300}, ints[] = {1, 2, 70000, -4};
    wire_flex_value m = root_of(vectors, sizeof vectors), e;
    wire_flex_value f = find(&m, "f"), x = find(&m, "fixed"), n = find(&m, "ints"), mixed = find(&m, "mixed");
    wire_flex_value pair = find(&m, "two");
    assert_int_equal(f.kind, WIRE_FLEX_VECTOR);
    assert_int_equal(f.n, 3);
    assert_int_equal(x.n, 3);
    assert_int_equal(n.n, 4);
    assert_int_equal(mixed.n, 3);
    assert_int_equal(pair.n, 2);
    for (unsigned i = 0; i < 3; i++) {
        e = wire_flex_at(&t.f, &f, i);
        assert_float(&e, reals[i]);
        e = wire_flex_at(&t.f, &x, i);
        assert_int(&e, WIRE_FLEX_INT, fixed[i]);
    }
    for (unsigned i = 0; i < 4; i++) {
        e = wire_flex_at(&t.f, &n, i);
        assert_int(&e, WIRE_FLEX_INT, ints[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        e = wire_flex_at(&t.f, &pair, i);
        assert_float(&e, two[i]);
    }
    e = wire_flex_at(&t.f, &mixed, 0);
    assert_int(&e, WIRE_FLEX_INT, 1);
    e = wire_flex_at(&t.f, &mixed, 1);
    assert_float(&e, 2.5);
    e = wire_flex_at(&t.f, &mixed, 2);
    assert_text(&e, "x");
    assert_false(wire_flex_failed(&t.f));
}

static void values_that_stand_elsewhere(void **state) {
    (void)state;
    static const uint8_t blob[] = {1, 2, 0, 3};
    wire_flex_value v = root_of(nested, sizeof nested), e, k;
    assert_int_equal(v.kind, WIRE_FLEX_VECTOR);
    assert_int_equal(v.n, 7);
    e = wire_flex_at(&t.f, &v, 0);
    assert_int(&e, WIRE_FLEX_INT, -123456789);
    e = wire_flex_at(&t.f, &v, 1);
    assert_int(&e, WIRE_FLEX_UINT, 40000);
    e = wire_flex_at(&t.f, &v, 2);
    assert_float(&e, 6.25);
    e = wire_flex_at(&t.f, &v, 3);
    assert_int_equal(e.kind, WIRE_FLEX_BLOB);
    assert_int_equal(wire_flex_bytes(&t.f, &e).size, 4);
    assert_memory_equal(wire_flex_bytes(&t.f, &e).at, blob, 4);
    e = wire_flex_at(&t.f, &v, 4);
    k = find(&e, "k");
    assert_int(&k, WIRE_FLEX_INT, 9);
    e = wire_flex_at(&t.f, &v, 5);
    assert_int_equal(e.n, 3);
    for (unsigned i = 0; i < 3; i++) {
        k = wire_flex_at(&t.f, &e, i);
        assert_int(&k, WIRE_FLEX_BOOL, i != 1);
    }
    e = wire_flex_at(&t.f, &v, 6);
    k = wire_flex_at(&t.f, &e, 1);
    assert_text(&k, "right");
    assert_false(wire_flex_failed(&t.f));
    v = root_of(number, sizeof number);
    assert_int(&v, WIRE_FLEX_INT, 42);
}

/* A half float and a number above 2^63-1, laid out by hand: value, type << 2 | log2 of the width, width. */
static void widths_by_hand(void **state) {
    (void)state;
    static const uint8_t half[] = {0x00, 0xc1, 3 << 2 | 1, 2}; /* -2.5 */
    static const uint8_t large[] = {0, 0, 0, 0, 0, 0, 0, 0x80, 2 << 2 | 3, 8};
    static const uint8_t tiny[] = {1, 3 << 2, 1};
    wire_flex_value v = root_of(half, sizeof half);
    assert_float(&v, -2.5);
    v = root_of(large, sizeof large);
    assert_int_equal(wire_flex_int(&t.f, &v), 0);
    assert_true(wire_flex_failed(&t.f));
    assert_string_equal(t.d.list.at[0].message, "a FlexBuffers number above 2^63-1");
    assert_int_equal(t.d.list.at[0].byte, ORIGIN);
    assert_string_equal(t.d.list.at[0].path, "custom_options");
    v = root_of(tiny, sizeof tiny);
    assert_true(wire_flex_float(&t.f, &v) == 0);
    assert_true(wire_flex_failed(&t.f));
}

/* ---- broken ones ---- */

typedef struct broken {
    uint8_t bytes[16];
    size_t n;
    const char *message;
} broken;

static const broken faults[] = {
    {{0}, 0, "fewer than 3 bytes"},
    {{1, 4}, 2, "fewer than 3 bytes"},
    {{1, 4, 3}, 3, "no width of a FlexBuffer's root"},
    {{1, 4, 2}, 3, "no width of a FlexBuffer's root"},
    {{1, 5 << 2, 1}, 3, "offset points outside"},    /* a string one byte before the buffer */
    {{0, 5 << 2, 1}, 3, "begins before the buffer"}, /* its count would stand before */
    {{9, 'a', 0, 2, 5 << 2, 1}, 6, "end outside"},   /* 9 characters */
    {{'a', 'b', 2, 4 << 2, 1}, 5, "without its NUL"},
    {{9, 1, 2, 2, 11 << 2, 1}, 6, "end outside"}, /* 9 integers */
    {{1, 15 << 2, 1}, 3, "unknown, or was given up"},
    {{1, 27 << 2, 1}, 3, "unknown, or was given up"},
    {{1, 7, 4, 2, 9 << 2, 1}, 6, "map begins before the buffer"}, /* a map whose count is the first byte */
};

static void faults_are_said(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const broken *b = &faults[i];
        wire_flex_value v = root_of(b->bytes, b->n);
        for (uint64_t k = 0; k < v.n && v.kind >= WIRE_FLEX_VECTOR; k++) {
            (void)wire_flex_at(&t.f, &v, k);
        }
        if (t.d.errors != 1 || !strstr(t.d.list.at[0].message, b->message)) {
            fail_msg("buffer %zu: %zu errors, %s; expected %s", i, (size_t)t.d.errors,
                     t.d.errors ? t.d.list.at[0].message : "none", b->message);
        }
        assert_true(wire_flex_failed(&t.f));
        assert_int_equal(wire_flex_root(&t.f).kind, WIRE_FLEX_NULL);
    }
}

/* Everything that can be reached, to a depth of 4. */
static void walk(wire_flex_value v, unsigned depth) {
    (void)wire_flex_int(&t.f, &v);
    (void)wire_flex_float(&t.f, &v);
    (void)wire_flex_bytes(&t.f, &v);
    for (uint64_t i = 0; v.kind >= WIRE_FLEX_VECTOR && depth && i < v.n && !wire_flex_failed(&t.f); i++) {
        if (v.kind == WIRE_FLEX_MAP) {
            (void)wire_flex_key(&t.f, &v, i);
        }
        walk(wire_flex_at(&t.f, &v, i), depth - 1);
    }
}

/* Cut anywhere, or with any byte changed, it is read without a step outside (AddressSanitizer looks), and a fault is said
 * exactly once. */
static void any_damage_is_bounded(void **state) {
    (void)state;
    uint8_t copy[sizeof nested > sizeof vectors ? sizeof nested : sizeof vectors];
    const struct {
        const uint8_t *at;
        size_t n;
    } all[] = {{scalars, sizeof scalars}, {vectors, sizeof vectors}, {nested, sizeof nested}};
    size_t failed = 0;
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < all[k].n; i++) {
            walk(root_of(all[k].at, i), 4);
            assert_int_equal(t.d.errors, wire_flex_failed(&t.f));
            failed += t.d.errors;
            for (unsigned b = 1; b < 256 && all[k].n <= sizeof copy; b += 7) {
                memcpy(copy, all[k].at, all[k].n);
                copy[i] ^= (uint8_t)b;
                walk(root_of(copy, all[k].n), 4);
                assert_int_equal(t.d.errors, wire_flex_failed(&t.f));
                failed += t.d.errors;
            }
        }
    }
    assert_true(failed > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scalars_of_a_map, set_up, tear_down),
        cmocka_unit_test_setup_teardown(vectors_of_a_map, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_that_stand_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(widths_by_hand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_are_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_damage_is_bounded, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
