/* map.c - hash map from byte strings to uint64, kept in order of insertion, and the hash.
 *
 * Open addressing with linear probing over indexes into the list of entries; an entry never moves, so a value's
 * address stays good while others are added. The hash is SipHash-1-3 (Aumasson and Bernstein 2012), seeded by
 * the map's address: names made to collide do not know it, and no order that anybody sees depends on it.
 * Entries cannot be removed.
 */
#include "base/base.h"

#include <string.h>

typedef struct entry {
    uint64_t hash, value;
    size_t n;
    char key[]; /* n bytes, then a NUL */
} entry;

struct base_map {
    base_arena *arena;
    BASE_VEC(entry *) entries;
    size_t *slots;     /* index of the entry plus 1; 0: free */
    size_t slot_count; /* a power of two, or 0 */
};

/* ---- SipHash-1-3 with the key (seed, 0) ---- */

static uint64_t rotate(uint64_t v, unsigned by) {
    return v << by | v >> (64 - by);
}

static void sip_round(uint64_t v[4]) {
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

/* The same on every machine; one load where bytes lie in that order. */
static uint64_t word_at(const uint8_t *p) {
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
           (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

uint64_t base_hash(const void *bytes, size_t n, uint64_t seed) {
    const uint8_t *p = bytes;
    uint64_t v[4] = {seed ^ 0x736f6d6570736575u, 0x646f72616e646f6du, seed ^ 0x6c7967656e657261u, 0x7465646279746573u};
    uint64_t word = (uint64_t)n << 56;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint64_t whole = word_at(p + i);
        v[3] ^= whole;
        sip_round(v);
        v[0] ^= whole;
    }
    for (unsigned at = 0; i < n; i++, at += 8) {
        word |= (uint64_t)p[i] << at;
    }
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int k = 0; k < 3; k++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- map ---- */

base_map *base_map_new(base_arena *arena) {
    base_map *map = BASE_NEW(arena, base_map);
    map->arena = arena;
    return map;
}

static uint64_t hash_of(const base_map *map, const void *key, size_t n) {
    return base_hash(key, n, (uint64_t)(uintptr_t)map);
}

/* The slot where the key is, or the free one where it belongs. slot_count > 0. */
static size_t find_slot(const base_map *map, const void *key, size_t n, uint64_t hash) {
    const size_t mask = map->slot_count - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        if (!map->slots[i])
            return i;
        const entry *e = map->entries.at[map->slots[i] - 1];
        if (e->hash == hash && e->n == n && (n == 0 || memcmp(e->key, key, n) == 0))
            return i;
    }
}

uint64_t *base_map_get(const base_map *map, const void *key, size_t n) {
    if (!map->slot_count)
        return NULL;
    const size_t slot = map->slots[find_slot(map, key, n, hash_of(map, key, n))];
    return slot ? &map->entries.at[slot - 1]->value : NULL;
}

static void rehash(base_map *map) {
    const size_t count = map->slot_count ? 2 * map->slot_count : 16;
    size_t *slots = BASE_NEWS(map->arena, size_t, count);
    for (size_t k = 0; k < map->entries.n; k++) {
        size_t i = (size_t)map->entries.at[k]->hash & (count - 1);
        while (slots[i])
            i = (i + 1) & (count - 1);
        slots[i] = k + 1;
    }
    map->slots = slots;
    map->slot_count = count;
}

uint64_t *base_map_put(base_map *map, const void *key, size_t n, bool *was_new) {
    if (map->entries.n >= map->slot_count / 2)
        rehash(map);
    const uint64_t hash = hash_of(map, key, n);
    const size_t slot = find_slot(map, key, n, hash);
    if (was_new)
        *was_new = !map->slots[slot];
    if (map->slots[slot])
        return &map->entries.at[map->slots[slot] - 1]->value;

    entry *e = base_alloc(map->arena, 1, sizeof *e + n + 1);
    e->hash = hash;
    e->n = n;
    if (n)
        memcpy(e->key, key, n);
    *BASE_PUSH(map->arena, &map->entries) = e;
    map->slots[slot] = map->entries.n;
    return &e->value;
}

size_t base_map_count(const base_map *map) {
    return map->entries.n;
}

const void *base_map_key(const base_map *map, size_t i, size_t *n, uint64_t **value) {
    entry *e = map->entries.at[i];
    if (n)
        *n = e->n;
    if (value)
        *value = &e->value;
    return e->key;
}

/* ---- strings ---- */

base_map *base_strings_new(base_arena *arena) {
    base_map *strings = base_map_new(arena);
    (void)base_string_number(strings, "", 0);
    return strings;
}

uint32_t base_string_number(base_map *strings, const void *at, size_t n) {
    bool was_new;
    uint64_t *number = base_map_put(strings, at, n, &was_new);
    if (was_new) {
        *number = base_map_count(strings) - 1;
    }
    return (uint32_t)*number;
}

const char *base_string_at(const base_map *strings, uint32_t number, size_t *n) {
    uint64_t *value;
    return strings != NULL && number < base_map_count(strings) ? base_map_key(strings, number, n, &value) : NULL;
}
