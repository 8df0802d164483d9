/* text.c - growing strings, JSON quoting, names made fit for terminals.
 *
 * Takes bytes that may be anything; gives text in an arena. Numbers in formats must be integers: printf writes
 * floats with the locale's decimal point, so floats go through base_put_float (number.c).
 */
#include "base/base.h"
#include "base/private.h"

#include <assert.h>
#include <string.h>

char *base_strndup(base_arena *arena, const char *s, size_t n) {
    if (n == SIZE_MAX)
        n--; /* no such string; the allocation fails */
    char *copy = base_alloc(arena, n + 1, 1);
    if (n)
        memcpy(copy, s, n);
    return copy;
}

char *base_strdup(base_arena *arena, const char *s) {
    return base_strndup(arena, s, strlen(s));
}

char *base_vprintf(base_arena *arena, const char *format, va_list list) {
    char most[256]; /* nearly every one */
    va_list again;
    va_copy(again, list);
    const int n = vsnprintf(most, sizeof most, format, again);
    va_end(again);
    if (n < 0)
        return base_alloc(arena, SIZE_MAX, 1); /* over INT_MAX bytes: out of memory, does not return */
    if ((size_t)n < sizeof most)
        return base_strndup(arena, most, (size_t)n);
    char *text = base_alloc(arena, (size_t)n + 1, 1);
    (void)vsnprintf(text, (size_t)n + 1, format, list);
    return text;
}

char *base_printf(base_arena *arena, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = base_vprintf(arena, format, list);
    va_end(list);
    return text;
}

/* ---- growing text ---- */

/* Makes room for n more bytes and a NUL. */
static void reserve(base_text *t, size_t n) {
    if (t->at && n < t->cap - t->n)
        return;
    size_t cap = t->cap ? t->cap : 64;
    while (cap - t->n <= n)
        cap = cap > SIZE_MAX / 2 ? SIZE_MAX : 2 * cap;
    t->at = base_grow_plain(t->arena, t->at, t->cap, cap);
    t->cap = cap;
}

void base_putn(base_text *t, const void *bytes, size_t n) {
    assert(n < SIZE_MAX);
    reserve(t, n);
    if (n)
        memcpy(t->at + t->n, bytes, n);
    t->n += n;
    t->at[t->n] = '\0';
}

void base_puts(base_text *t, const char *s) {
    base_putn(t, s, strlen(s));
}

void base_put(base_text *t, const char *format, ...) {
    va_list list;
    reserve(t, 0);
    va_start(list, format);
    const int n = vsnprintf(t->at + t->n, t->cap - t->n, format, list);
    va_end(list);
    if (n < 0) {
        base_alloc(t->arena, SIZE_MAX, 2); /* over INT_MAX bytes: out of memory, does not return */
    } else if ((size_t)n < t->cap - t->n) {
        t->n += (size_t)n;
    } else {
        t->at[t->n] = '\0';
        reserve(t, (size_t)n);
        va_start(list, format);
        (void)vsnprintf(t->at + t->n, t->cap - t->n, format, list);
        va_end(list);
        t->n += (size_t)n;
    }
}

void base_put_unsigned(base_text *t, uint64_t v) {
    char digits[20];
    size_t n = 0;
    do {
        digits[sizeof digits - ++n] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    base_putn(t, digits + sizeof digits - n, n);
}

/* ---- UTF-8 ---- */

unsigned base_utf8(const uint8_t *s, size_t n, uint32_t *code) {
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t lead = s[0];
    const unsigned length = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    uint32_t c = length == 1 ? lead : lead & (0x7fu >> length);
    for (unsigned i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *code = c;
    return length;
}

bool base_is_control(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

void base_put_quoted(base_text *t, const char *s) {
    const uint8_t *p = (const uint8_t *)s;
    size_t n = strlen(s);
    base_puts(t, "\"");
    while (n) {
        uint32_t c = 0;
        const unsigned length = base_utf8(p, n, &c);
        const char *name = c < 0x80 && c ? strchr("\"\"\\\\\bb\ff\nn\rr\tt", (int)c) : NULL;
        if (!length) {
            base_puts(t, "\\ufffd");
        } else if (name && (c < 0x20 || c == '"' || c == '\\')) {
            const char escape[2] = {'\\', name[1]};
            base_putn(t, escape, 2);
        } else if (base_is_control(c)) {
            base_put(t, "\\u%04x", (unsigned)c);
        } else {
            base_putn(t, p, length);
        }
        p += length ? length : 1;
        n -= length ? length : 1;
    }
    base_puts(t, "\"");
}

/* How many of the first n bytes are printable ASCII. */
static size_t plain_bytes(const char *s, size_t n) {
    size_t plain = 0;
    while (plain < n && s[plain] >= 0x20 && s[plain] < 0x7f)
        plain++;
    return plain;
}

char *base_printable(base_arena *arena, const char *s, size_t n, size_t max) {
    if (n <= max && plain_bytes(s, n) == n) /* nearly every message and name */
        return base_strndup(arena, s, n);
    static const char digits[] = "0123456789abcdef";
    base_text t = {.arena = arena};
    size_t keep = 0; /* length of the longest whole prefix that leaves room for "..." */
    base_puts(&t, "");
    for (size_t i = 0; i < n;) {
        const uint8_t *p = (const uint8_t *)s + i;
        uint32_t c = 0;
        unsigned length = base_utf8(p, n - i, &c);
        if (length && !base_is_control(c)) {
            base_putn(&t, p, length);
        } else {
            length = length ? length : 1;
            for (unsigned k = 0; k < length; k++) {
                const char escape[4] = {'\\', 'x', digits[p[k] >> 4], digits[p[k] & 15]};
                base_putn(&t, escape, 4);
            }
        }
        if (t.n > max) {
            t.n = keep;
            t.at[keep] = '\0';
            base_putn(&t, "...", max < 3 ? max : 3);
            break;
        }
        if (max >= 3 && t.n <= max - 3)
            keep = t.n;
        i += length;
    }
    return t.at;
}
