/* json.c - a JSON text as a tree.
 *
 * Takes bytes that nobody has to trust. Gives values with their places, or the first fault. Looks at each byte once; the tree
 * takes memory in proportion to the text.
 */
#include <string.h>

#include "wire/json.h"

enum { DEEPEST = 64 };

typedef struct reader {
    base_arena *arena;
    const char *at, *end;
    const char *counted; /* the column of this byte is `column` */
    unsigned line, column;
    const char *file, *text;
    base_diags *d;
} reader;

/* The column of where the reader is, on from where it was counted last: each byte is looked at once. */
static unsigned column_here(reader *r) {
    for (; r->counted < r->at; r->counted++) {
        r->column += (*r->counted & 0xc0) != 0x80;
    }
    return r->column;
}

static base_status fault(reader *r, const char *what) {
    const base_place place = {.file = r->file,
                              .source = r->text,
                              .source_size = (size_t)(r->end - r->text),
                              .line = r->line,
                              .column = column_here(r)};
    return base_error(r->d, &place, "not JSON: %s", r->at == r->end ? "it ends too early" : what);
}

static void skip_blanks(reader *r) {
    for (; r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n'); r->at++) {
        if (*r->at == '\n') {
            r->line++;
            r->counted = r->at + 1;
            r->column = 1;
        }
    }
}

static bool take(reader *r, char c) {
    const bool there = r->at < r->end && *r->at == c;
    r->at += there;
    return there;
}

/* ---- texts ---- */

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Four hexadecimal digits. */
static bool take_code(reader *r, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        const int digit = r->at < r->end ? digit_of(*r->at) : -1;
        if (digit < 0) {
            return false;
        }
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

static size_t put_utf8(char *to, uint32_t code) {
    const unsigned size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (unsigned i = size; i-- > 1; code >>= 6) {
        to[i] = (char)(0x80 | (code & 0x3f));
    }
    to[0] = (char)(leads[size] | code);
    return size;
}

/* Behind a backslash: one character. A surrogate needs its other half; a zero byte would end the text. */
static base_status take_escape(reader *r, char *to, size_t *n) {
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *letter = r->at < r->end && *r->at != 0 ? strchr(letters, *r->at) : NULL;
    if (letter != NULL) {
        to[(*n)++] = values[letter - letters];
        r->at++;
        return BASE_OK;
    }
    uint32_t code = 0, low = 0;
    if (!take(r, 'u')) {
        return fault(r, "no such escape");
    }
    if (!take_code(r, &code)) {
        return fault(r, "expected four hexadecimal digits");
    }
    if (code >= 0xd800 && code < 0xdc00) {
        if (!take(r, '\\') || !take(r, 'u') || !take_code(r, &low) || low < 0xdc00 || low > 0xdfff) {
            return fault(r, "half of a surrogate pair");
        }
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    } else if (code == 0 || (code >= 0xdc00 && code < 0xe000)) {
        return fault(r, code == 0 ? "a zero byte in a text" : "half of a surrogate pair");
    }
    *n += put_utf8(to + *n, code);
    return BASE_OK;
}

/* Behind the first quote. What is decoded is never longer than what is written. */
static base_status take_text(reader *r, const char **out) {
    const char *stop = r->at;
    while (stop < r->end && *stop != '"') {
        stop += *stop == '\\' && stop + 1 < r->end ? 2 : 1;
    }
    char *to = base_alloc(r->arena, (size_t)(stop - r->at) + 1, 1);
    size_t n = 0;
    for (;;) {
        uint32_t code = 0;
        if (take(r, '"')) {
            to[n] = 0;
            *out = to;
            return BASE_OK;
        }
        if (take(r, '\\')) {
            base_status status = take_escape(r, to, &n);
            if (status != BASE_OK) {
                return status;
            }
            continue;
        }
        const size_t left = (size_t)(r->end - r->at);
        const unsigned size = left > 0 ? base_utf8((const uint8_t *)r->at, left, &code) : 0;
        if (size == 0 || code < 0x20) {
            return fault(r, size == 0 ? "no UTF-8" : "a control character in a text");
        }
        memcpy(to + n, r->at, size);
        n += size;
        r->at += size;
    }
}

/* ---- values ---- */

static size_t take_digits(reader *r) {
    const char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        r->at++;
    }
    return (size_t)(r->at - from);
}

static base_status take_number(reader *r, wire_json *v) {
    const char *from = r->at;
    (void)take(r, '-');
    if (!take(r, '0') && take_digits(r) == 0) {
        return fault(r, "expected a value");
    }
    if (take(r, '.') && take_digits(r) == 0) {
        return fault(r, "expected a digit");
    }
    if (take(r, 'e') || take(r, 'E')) {
        (void)(take(r, '+') || take(r, '-'));
        if (take_digits(r) == 0) {
            return fault(r, "expected a digit");
        }
    }
    v->kind = WIRE_JSON_NUMBER;
    v->text = base_strndup(r->arena, from, (size_t)(r->at - from));
    return BASE_OK;
}

static bool take_word(reader *r, const char *word) {
    const size_t n = strlen(word);
    const bool there = (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0;
    r->at += there ? n : 0;
    return there;
}

static base_status take_name(reader *r, base_map *names, const char **name) {
    bool is_new = false;
    (void)column_here(r); /* of the name */
    const char *from = r->at;
    if (!take(r, '"')) {
        return fault(r, "expected a name in quotes");
    }
    base_status status = take_text(r, name);
    if (status != BASE_OK) {
        return status;
    }
    (void)base_map_put(names, *name, strlen(*name), &is_new);
    if (!is_new) {
        r->at = from;
        return fault(r, "the name is there twice");
    }
    skip_blanks(r);
    return take(r, ':') ? BASE_OK : fault(r, "expected :");
}

static base_status take_value(reader *r, unsigned depth, wire_json *v);

/* What is in a list or an object, behind its bracket. */
static base_status take_members(reader *r, unsigned depth, wire_json *v) {
    const bool object = v->kind == WIRE_JSON_OBJECT;
    const char close = object ? '}' : ']';
    base_map *names = object ? base_map_new(r->arena) : NULL;
    wire_json **link = &v->first;
    skip_blanks(r);
    if (take(r, close)) {
        return BASE_OK;
    }
    for (;;) {
        wire_json *member = BASE_NEW(r->arena, wire_json);
        base_status status = object ? take_name(r, names, &member->name) : BASE_OK;
        if (status == BASE_OK) {
            status = take_value(r, depth + 1, member);
        }
        if (status != BASE_OK) {
            return status;
        }
        *link = member;
        link = &member->next;
        v->count++;
        skip_blanks(r);
        if (take(r, close)) {
            return BASE_OK;
        }
        if (!take(r, ',')) {
            return fault(r, object ? "expected , or }" : "expected , or ]");
        }
        skip_blanks(r);
    }
}

static base_status take_value(reader *r, unsigned depth, wire_json *v) {
    skip_blanks(r);
    v->line = r->line;
    v->column = column_here(r);
    const bool list = take(r, '[');
    if (list || take(r, '{')) {
        v->kind = list ? WIRE_JSON_LIST : WIRE_JSON_OBJECT;
        return depth < DEEPEST ? take_members(r, depth, v) : fault(r, "it is too deep");
    }
    if (take(r, '"')) {
        v->kind = WIRE_JSON_TEXT;
        return take_text(r, &v->text);
    }
    static const struct {
        const char *word;
        wire_json_kind kind;
    } words[] = {{"null", WIRE_JSON_NULL}, {"true", WIRE_JSON_TRUE}, {"false", WIRE_JSON_FALSE}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (take_word(r, words[i].word)) {
            v->kind = words[i].kind;
            return BASE_OK;
        }
    }
    return take_number(r, v);
}

base_status wire_json_read(base_arena *arena, const char *file, const char *text, size_t n, const wire_json **out,
                           base_diags *d) {
    reader r = {.arena = arena,
                .at = text,
                .end = text + n,
                .counted = text,
                .line = 1,
                .column = 1,
                .file = file,
                .text = text,
                .d = d};
    wire_json *v = BASE_NEW(arena, wire_json);
    base_status status = take_value(&r, 1, v);
    skip_blanks(&r);
    if (status == BASE_OK && r.at != r.end) {
        status = fault(&r, "something behind the value");
    }
    *out = status == BASE_OK ? v : NULL;
    return status;
}

const wire_json *wire_json_find(const wire_json *object, const char *name) {
    const wire_json *v = object != NULL && object->kind == WIRE_JSON_OBJECT ? object->first : NULL;
    while (v != NULL && strcmp(v->name, name) != 0) {
        v = v->next;
    }
    return v;
}

bool wire_json_uint(const wire_json *value, uint64_t *out) {
    *out = 0;
    if (value == NULL || value->kind != WIRE_JSON_NUMBER) {
        return false;
    }
    for (const char *c = value->text; *c != 0; c++) {
        const uint64_t digit = (uint64_t)(*c - '0');
        if (*c < '0' || *c > '9' || *out > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *out = *out * 10 + digit;
    }
    return true;
}
