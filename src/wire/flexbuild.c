/* flexbuild.c - the FlexBuffers builder (flexbuild.h).
 *
 * Takes entries. Gives a buffer: the keys, the values that do not fit in a place, the vector of the keys' offsets, the
 * map, and its root behind all of them. Offsets count back from where they stand.
 */
#include "wire/flexbuild.h"

#include <assert.h>
#include <string.h>

enum { WIDTH = 8, LOG_WIDTH = 3 };
/* FlexBuffers' types */
enum { INT = 1, FLOAT = 3, STRING = 5, MAP = 9, VECTOR_INT = 11, VECTOR_FLOAT = 13 };

static void align(base_text *out) {
    static const uint8_t zeros[WIDTH];
    base_putn(out, zeros, (size_t)(-(uint64_t)out->n % WIDTH));
}

static void put(base_text *out, uint64_t bits) {
    uint8_t bytes[WIDTH];
    for (unsigned i = 0; i < WIDTH; i++) {
        bytes[i] = (uint8_t)(bits >> 8 * i);
    }
    base_putn(out, bytes, WIDTH);
}

static void put_double(base_text *out, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put(out, bits);
}

/* What stands behind an offset: text or a list; the place of its first byte. 0: the value stands in its place. */
static size_t put_behind(base_text *out, const wire_flex_entry *e) {
    if (e->kind != WIRE_FLEX_TEXT && e->kind != WIRE_FLEX_VECTOR) {
        return 0;
    }
    align(out);
    put(out, e->n);
    size_t at = out->n;
    if (e->kind == WIRE_FLEX_TEXT) {
        base_putn(out, e->text, e->n);
        base_putn(out, "", 1);
        return at;
    }
    for (size_t i = 0; i < e->n; i++) {
        if (e->ints) {
            put(out, (uint64_t)e->ints[i]);
        } else {
            put_double(out, e->floats[i]);
        }
    }
    return at;
}

static uint8_t type_of(const wire_flex_entry *e) {
    unsigned type = e->kind == WIRE_FLEX_INT     ? INT
                    : e->kind == WIRE_FLEX_FLOAT ? FLOAT
                    : e->kind == WIRE_FLEX_TEXT  ? STRING
                    : e->ints                    ? VECTOR_INT
                                                 : VECTOR_FLOAT;
    return (uint8_t)(type << 2 | LOG_WIDTH);
}

/* Readers search keys by bisection. Lists are short. */
static const wire_flex_entry **sorted(base_arena *arena, const wire_flex_entry *entries, size_t n) {
    const wire_flex_entry **list = BASE_NEWS(arena, const wire_flex_entry *, n + 1);
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && strcmp(list[at - 1]->key, entries[i].key) > 0; at--) {
            list[at] = list[at - 1];
        }
        assert(!at || strcmp(list[at - 1]->key, entries[i].key) != 0);
        list[at] = &entries[i];
    }
    return list;
}

base_bytes wire_flex_build_map(base_arena *arena, const wire_flex_entry *entries, size_t n) {
    const wire_flex_entry **list = sorted(arena, entries, n);
    size_t *keys = BASE_NEWS(arena, size_t, n + 1), *values = BASE_NEWS(arena, size_t, n + 1);
    base_text out = {.arena = arena};
    for (size_t i = 0; i < n; i++) {
        keys[i] = out.n;
        base_putn(&out, list[i]->key, strlen(list[i]->key) + 1);
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = put_behind(&out, list[i]);
    }
    align(&out);
    put(&out, n);
    size_t keys_at = out.n;
    for (size_t i = 0; i < n; i++) {
        put(&out, out.n - keys[i]);
    }
    put(&out, out.n - keys_at);
    put(&out, WIDTH);
    put(&out, n);
    size_t map = out.n;
    for (size_t i = 0; i < n; i++) {
        if (values[i]) {
            put(&out, out.n - values[i]);
        } else if (list[i]->kind == WIRE_FLEX_FLOAT) {
            put_double(&out, list[i]->f);
        } else {
            put(&out, (uint64_t)list[i]->i);
        }
    }
    for (size_t i = 0; i < n; i++) {
        const uint8_t type = type_of(list[i]);
        base_putn(&out, &type, 1);
    }
    align(&out);
    put(&out, out.n - map);
    const uint8_t root[] = {MAP << 2 | LOG_WIDTH, WIDTH};
    base_putn(&out, root, sizeof root);
    return (base_bytes){(const uint8_t *)out.at, out.n};
}
