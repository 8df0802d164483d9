/* strings.c - strings of a context by their numbers, and as NumPy has them.
 *
 * An array of type str holds numbers of 32 bits; equal strings have one number in all calls of a context. NumPy's arrays of
 * <Un are n code points of 32 bits an element, filled up with zeros: what is no UTF-8, or ends in a NUL, is none.
 */
#include <string.h>

#include "api/api.h"

base_map *api_strings(burin_context *c) {
    c->strings = c->strings != NULL ? c->strings : base_strings_new(c->arena);
    return c->strings;
}

typedef struct string_call {
    const char *at;
    size_t n;
    uint32_t number;
} string_call;

static base_status find_number(burin_context *c, void *arguments) {
    string_call *call = arguments;
    call->number = base_string_number(api_strings(c), call->at, call->n);
    return BASE_OK;
}

burin_status burin_string_number(burin_context *c, const char *at, size_t n, uint32_t *number) {
    string_call call = {.at = at, .n = n};
    burin_status status = api_guarded(c, find_number, &call);
    *number = call.number;
    return status;
}

const char *burin_string_at(const burin_context *c, uint32_t number, size_t *n) {
    *n = 0;
    return c->strings != NULL ? base_string_at(c->strings, number, n) : number == 0 ? "" : NULL;
}

/* ---- NumPy ---- */

static void put_utf8(base_text *out, uint32_t v) {
    static const uint32_t firsts[] = {0, 0xc0, 0xe0, 0xf0};
    const unsigned more = v < 0x80 ? 0 : v < 0x800 ? 1 : v < 0x10000 ? 2 : 3;
    base_putn(out, &(char){(char)(firsts[more] | v >> (6 * more))}, 1);
    for (unsigned k = more; k > 0; k--) {
        base_putn(out, &(char){(char)(0x80 | (v >> (6 * (k - 1)) & 0x3f))}, 1);
    }
}

const void *api_strings_of_points(burin_context *c, const void *points, uint64_t elements, uint64_t width) {
    uint8_t *numbers = base_alloc(c->arena, (size_t)elements + 1, sizeof(uint32_t));
    base_text text = {.arena = c->arena};
    for (uint64_t i = 0; i < elements; i++) {
        uint64_t n = width;
        while (n > 0 && base_load(BASE_U32, points, i * width + n - 1).u == 0) {
            n--;
        }
        text.n = 0;
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t v = base_load(BASE_U32, points, i * width + k).u;
            if (v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) {
                return NULL;
            }
            put_utf8(&text, (uint32_t)v);
        }
        base_store(BASE_STR, numbers, i,
                   (base_value){.u = base_string_number(api_strings(c), text.n > 0 ? text.at : "", text.n)});
    }
    return numbers;
}

/* Code points of a string; false: it has none, or its last one is NUL. */
static bool put_points(const char *at, size_t n, base_text *out) {
    uint32_t v = 1;
    unsigned bytes = 0;
    for (size_t k = 0; k < n; k += bytes) {
        bytes = base_utf8((const uint8_t *)at + k, n - k, &v);
        if (bytes == 0) {
            return false;
        }
        uint8_t point[4];
        base_store(BASE_U32, point, 0, (base_value){.u = v});
        base_putn(out, point, sizeof point);
    }
    return v != 0;
}

bool api_points_of_strings(burin_context *c, const burin_array *a, uint64_t *width, base_text *out) {
    const uint64_t n = a->size / sizeof(uint32_t);
    base_text *points = BASE_NEWS(c->arena, base_text, n + 1);
    *width = 1; /* NumPy has no strings without characters */
    for (uint64_t i = 0; i < n; i++) {
        size_t size;
        const char *at = burin_string_at(c, (uint32_t)base_load(BASE_STR, a->data, i).u, &size);
        points[i].arena = c->arena;
        if (at == NULL || !put_points(at, size, &points[i])) {
            return false;
        }
        *width = points[i].n / 4 > *width ? points[i].n / 4 : *width;
    }
    static const uint8_t zeros[4];
    for (uint64_t i = 0; i < n; i++) {
        base_putn(out, points[i].n > 0 ? points[i].at : "", points[i].n);
        for (uint64_t k = points[i].n / 4; k < *width; k++) {
            base_putn(out, zeros, sizeof zeros);
        }
    }
    return true;
}
