/* test_bytes.c - bounded little-endian reads at and over every edge; sizes that overflow. */
#include "fixture.h"

static void reads_inside_only(void **state) {
    (void)state;
    static const uint8_t bytes[9] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99};
    const base_bytes b = {bytes, sizeof bytes};
    uint8_t v8 = 1;
    uint16_t v16 = 1;
    uint32_t v32 = 1;
    uint64_t v64 = 1;
    assert_true(base_get_u8(b, 8, &v8) && v8 == 0x99);
    assert_true(base_get_u16(b, 7, &v16) && v16 == 0x9988);
    assert_true(base_get_u32(b, 5, &v32) && v32 == 0x99887766u);
    assert_true(base_get_u64(b, 1, &v64) && v64 == 0x9988776655443322u);
    assert_true(base_get_u64(b, 0, &v64) && v64 == 0x8877665544332211u);
    v8 = 1, v16 = 1, v32 = 1, v64 = 1;
    static const uint64_t outside[] = {9, 10, UINT32_MAX, UINT64_MAX - 8, UINT64_MAX};
    for (size_t i = 0; i < 5; i++) {
        assert_false(base_get_u8(b, outside[i], &v8));
        assert_false(base_get_u16(b, outside[i] - 1, &v16));
        assert_false(base_get_u16(b, outside[i], &v16));
        assert_false(base_get_u32(b, outside[i] - 3, &v32));
        assert_false(base_get_u32(b, outside[i], &v32));
        assert_false(base_get_u64(b, outside[i] - 7, &v64));
        assert_false(base_get_u64(b, outside[i], &v64));
    }
    assert_true(v8 == 1 && v16 == 1 && v32 == 1 && v64 == 1);
    assert_false(base_get_u8((base_bytes){NULL, 0}, 0, &v8));
}

static void products_and_sums(void **state) {
    (void)state;
    uint64_t v = 5;
    assert_true(base_mul_size(0, UINT64_MAX, &v) && v == 0);
    assert_true(base_mul_size(UINT64_MAX, 0, &v) && v == 0);
    assert_true(base_mul_size(UINT32_MAX, UINT32_MAX, &v) && v == 0xfffffffe00000001u);
    assert_true(base_mul_size(UINT64_MAX, 1, &v) && v == UINT64_MAX);
    assert_false(base_mul_size((uint64_t)1 << 32, (uint64_t)1 << 32, &v));
    assert_false(base_mul_size(UINT64_MAX / 3 + 1, 3, &v));
    assert_true(v == UINT64_MAX);
    assert_true(base_add_size(UINT64_MAX - 1, 1, &v) && v == UINT64_MAX);
    assert_false(base_add_size(UINT64_MAX, 1, &v));
    assert_true(v == UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_inside_only), cmocka_unit_test(products_and_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
