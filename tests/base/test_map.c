/* test_map.c - maps: order of insertion, keys with any bytes, stable values, failures; the hash against CPython's
 * SipHash-1-3. */
#include "fixture.h"

static void keeps_order_and_values(void **state) {
    fixture *f = *state;
    base_map *map = base_map_new(f->arena);
    assert_int_equal(base_map_count(map), 0);
    assert_null(base_map_get(map, "x", 1));
    uint64_t *first = NULL;
    for (uint64_t i = 0; i < 5000; i++) {
        bool was_new = false;
        const uint64_t key = (i * 7919) % 5000;
        uint64_t *value = base_map_put(map, &key, sizeof key, &was_new);
        assert_true(was_new);
        assert_int_equal(*value, 0);
        *value = i + 1;
        first = first ? first : value;
    }
    assert_int_equal(base_map_count(map), 5000);
    for (uint64_t i = 0; i < 5000; i++) {
        bool was_new = true;
        size_t n = 0;
        uint64_t *value = NULL, key = 0;
        memcpy(&key, base_map_key(map, i, &n, &value), sizeof key);
        assert_int_equal(n, sizeof key);
        assert_int_equal(key, (i * 7919) % 5000);
        assert_int_equal(*value, i + 1);
        assert_ptr_equal(base_map_get(map, &key, n), value);
        assert_ptr_equal(base_map_put(map, &key, n, &was_new), value);
        assert_false(was_new);
    }
    assert_int_equal(base_map_count(map), 5000);
    assert_int_equal(*first, 1); /* its address stayed good */
    const uint64_t absent = 5000;
    assert_null(base_map_get(map, &absent, sizeof absent));
}

static void keys_are_bytes(void **state) {
    fixture *f = *state;
    base_map *map = base_map_new(f->arena);
    static const struct {
        const char *key;
        size_t n;
    } keys[] = {{"", 0}, {"\0", 1}, {"\0\0", 2}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"ab", 2}};
    for (uint64_t i = 0; i < 7; i++) {
        *base_map_put(map, keys[i].key, keys[i].n, NULL) = i;
    }
    assert_int_equal(base_map_count(map), 7);
    for (uint64_t i = 0; i < 7; i++) {
        assert_int_equal(*base_map_get(map, keys[i].key, keys[i].n), i);
    }
    assert_ptr_equal(base_map_get(map, NULL, 0), base_map_get(map, "", 0));
    char key[] = "copied";
    base_map_put(map, key, 6, NULL);
    key[0] = 'C';
    assert_non_null(base_map_get(map, "copied", 6));
    assert_string_equal(base_map_key(map, 7, NULL, NULL), "copied");
}

/* hash(b"...") of CPython 3.11 under PYTHONHASHSEED=0, which is SipHash-1-3 with the key zero. */
static void strings_have_numbers(void **state) {
    fixture *f = *state;
    base_map *strings = base_strings_new(f->arena);
    size_t n = 1;
    assert_int_equal(base_string_number(strings, "", 0), 0);
    assert_int_equal(base_string_number(strings, "a", 1), 1);
    assert_int_equal(base_string_number(strings, "a\0b", 3), 2);
    assert_int_equal(base_string_number(strings, "a", 1), 1);
    assert_memory_equal(base_string_at(strings, 2, &n), "a\0b", 4);
    assert_int_equal(n, 3);
    assert_string_equal(base_string_at(strings, 0, &n), "");
    assert_int_equal(n, 0);
    assert_null(base_string_at(strings, 3, &n));
    assert_null(base_string_at(NULL, 0, &n));
}

static void the_hash_is_siphash(void **state) {
    (void)state;
    assert_true(base_hash("a", 1, 0) == 0x407448d2b89b1813u);
    assert_true(base_hash("abcdefg", 7, 0) == 0x6db12aae9070f506u);
    assert_true(base_hash("abcdefgh", 8, 0) == 0x3f7b849c0b8e35eau);
    assert_true(base_hash("abcdefghi", 9, 0) == 0xf89b34a3d11eb6e5u);
    assert_true(base_hash("The quick brown fox", 19, 0) == 0x975e410714568333u);
    assert_true(base_hash("a", 1, 1) != base_hash("a", 1, 0));
    assert_true(base_hash("", 0, 0) == base_hash(NULL, 0, 0));
}

static void put_many(base_arena *arena) {
    base_map *map = base_map_new(arena);
    for (uint64_t i = 0; i < 3000; i++) {
        *base_map_put(map, &i, sizeof i, NULL) = i;
    }
    const uint64_t key = 2999;
    assert_int_equal(*base_map_get(map, &key, sizeof key), 2999);
}

static void survives_every_failure(void **state) {
    (void)state;
    assert_true(fail_each_allocation(put_many) >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_ARENA(keeps_order_and_values),
        WITH_ARENA(keys_are_bytes),
        WITH_ARENA(strings_have_numbers),
        cmocka_unit_test(the_hash_is_siphash),
        cmocka_unit_test(survives_every_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
