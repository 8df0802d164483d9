/* lex.c - the lexer of definitions.
 *
 * Takes text of any bytes. Gives one token at a time; its state is a small struct, so that the parser looks ahead by
 * copying it. Reports what is no token. Newlines are white space.
 */
#include "lang/ast.h"

#include <string.h>

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}
static bool is_hex(int c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool is_letter(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int peek(const lang_lexer *l, size_t ahead) {
    return l->source->n - l->at > ahead ? (unsigned char)l->source->at[l->at + ahead] : -1;
}

static void step(lang_lexer *l) {
    unsigned char c = (unsigned char)l->source->at[l->at++];
    if (c == '\n') {
        l->pos.line++;
        l->pos.column = 1;
    } else if ((c & 0xc0) != 0x80) {
        l->pos.column++; /* continuation bytes of UTF-8 are part of the character before */
    }
}

static void steps(lang_lexer *l, size_t n) {
    while (n-- > 0)
        step(l);
}

static void skip_space(lang_lexer *l) {
    for (;;) {
        int c = peek(l, 0);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            step(l);
        } else if (c == '/' && peek(l, 1) == '/') {
            while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
                step(l);
        } else {
            return;
        }
    }
}

static void bad(lang_lexer *l, lang_token *t, lang_pos pos, const char *message) {
    t->kind = LANG_T_BAD;
    if (!l->diags)
        return;
    base_place place = lang_place(l->source, pos);
    base_error(l->diags, &place, "%s", message);
}

static void lex_hex(lang_lexer *l, lang_token *t) {
    uint64_t v = 0;
    unsigned digits = 0;
    bool wide = false;
    size_t n = 2;
    for (; is_hex(peek(l, n)); n++, digits++) {
        int c = peek(l, n);
        wide |= v >> 60 != 0;
        v = v << 4 | (uint64_t)(is_digit(c) ? c - '0' : (c | 32) - 'a' + 10);
    }
    steps(l, n);
    t->kind = LANG_T_INT;
    t->i = (int64_t)v;
    if (digits == 0)
        bad(l, t, t->pos, "a hexadecimal digit must follow 0x");
    else if (wide || v > INT64_MAX)
        bad(l, t, t->pos, "the integer does not fit 64 bits");
}

static void lex_float(lang_lexer *l, lang_token *t, size_t n) {
    char text[128];
    const char *end;
    if (n >= sizeof text) {
        bad(l, t, t->pos, "the number is too long");
    } else {
        memcpy(text, l->source->at + l->at, n);
        text[n] = 0;
        t->kind = LANG_T_FLOAT;
        if (!base_parse_float(text, &end, &t->f) || *end)
            bad(l, t, t->pos, "this is no number");
    }
    steps(l, n);
}

/* Bytes of a float that starts here, 0 if it is an integer. Decimal: digits . digits [e] or digits e; hex: 0x h [. h]
 * p. */
static size_t float_length(const lang_lexer *l) {
    bool hex = peek(l, 0) == '0' && (peek(l, 1) | 32) == 'x', is_float = false;
    size_t n = hex ? 2 : 0;
    while (hex ? is_hex(peek(l, n)) : is_digit(peek(l, n)))
        n++;
    if (peek(l, n) == '.' && (hex ? is_hex(peek(l, n + 1)) : is_digit(peek(l, n + 1)))) {
        is_float = true;
        for (n++; hex ? is_hex(peek(l, n)) : is_digit(peek(l, n));)
            n++;
    }
    int c = peek(l, n) | 32;
    if (c == (hex ? 'p' : 'e')) {
        size_t m = n + 1;
        if (peek(l, m) == '+' || peek(l, m) == '-')
            m++;
        if (is_digit(peek(l, m))) {
            is_float = true;
            for (n = m; is_digit(peek(l, n));)
                n++;
        } else if (hex && is_float) {
            return n;
        }
    }
    return is_float ? n : 0;
}

static void lex_number(lang_lexer *l, lang_token *t) {
    size_t n = float_length(l);
    if (n > 0) {
        lex_float(l, t, n);
    } else if (peek(l, 0) == '0' && (peek(l, 1) | 32) == 'x') {
        lex_hex(l, t);
    } else {
        uint64_t v = 0;
        bool wide = false;
        for (n = 0; is_digit(peek(l, n)); n++) {
            uint64_t digit = (uint64_t)(peek(l, n) - '0');
            wide |= v > (INT64_MAX - digit) / 10;
            v = v * 10 + digit;
        }
        steps(l, n);
        t->kind = LANG_T_INT;
        t->i = (int64_t)v;
        if (wide)
            bad(l, t, t->pos, "the integer does not fit 64 bits");
    }
    if (t->kind != LANG_T_BAD &&
        (is_letter(peek(l, 0)) || (peek(l, 0) == '.' && peek(l, 1) != '[' && !is_letter(peek(l, 1))))) {
        bad(l, t, l->pos, "a number must end before this");
        while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)) || peek(l, 0) == '.')
            step(l);
    }
}

static void lex_text(lang_lexer *l, lang_token *t) {
    size_t n = 1;
    while (peek(l, n) >= 0 && peek(l, n) != '"' && peek(l, n) != '\n')
        n++;
    t->kind = LANG_T_TEXT;
    if (peek(l, n) != '"') {
        bad(l, t, t->pos, "the text has no closing quote on its line");
        steps(l, n);
        return;
    }
    if (l->diags)
        t->text = base_strndup(l->lib->arena, l->source->at + l->at + 1, n - 1);
    if (memchr(l->source->at + l->at + 1, 0, n - 1))
        bad(l, t, t->pos, "a text cannot hold a zero byte");
    steps(l, n + 1);
}

static void lex_mark(lang_lexer *l, lang_token *t) {
    static const char *const pairs[] = {"->", "<=", ">=", "==", "!=", "&&", "||", ".["};
    int c = peek(l, 0), d = peek(l, 1);
    t->kind = LANG_T_MARK;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        if (c == pairs[k][0] && d == pairs[k][1]) {
            t->mark = LANG_MARK(c, d);
            steps(l, 2);
            return;
        }
    t->mark = LANG_MARK(c, 0);
    lang_pos pos = l->pos;
    if (c < 128 && c > ' ' && strchr("-+*/%<>=!?:;,()[]{}|~#@.", c)) {
        step(l);
        return;
    }
    char shown[8];
    char message[64];
    size_t n = 1;
    while ((peek(l, n) & 0xc0) == 0x80 && peek(l, n) >= 0 && n < 4)
        n++;
    for (size_t k = 0; k < n; k++)
        shown[k] = (char)peek(l, k);
    shown[n] = 0;
    if (c > ' ' && c < 127)
        (void)snprintf(message, sizeof message, "'%s' is no part of the language", shown);
    else
        (void)snprintf(message, sizeof message, "byte 0x%02x is no part of the language", (unsigned)c);
    steps(l, n);
    bad(l, t, pos, message);
}

lang_token lang_lex(lang_lexer *l) {
    skip_space(l);
    lang_token t = {0};
    t.pos = l->pos;
    t.start = l->at;
    int c = peek(l, 0);
    if (c < 0) {
        t.kind = LANG_T_END;
    } else if (is_letter(c)) {
        size_t n = 1;
        while (is_letter(peek(l, n)) || is_digit(peek(l, n)))
            n++;
        t.kind = LANG_T_NAME;
        t.name = lang_intern(l->lib, l->source->at + l->at, n);
        steps(l, n);
        if (peek(l, 0) == '.' && peek(l, 1) == '.') {
            t.pack = true;
            steps(l, 2);
        }
    } else if (is_digit(c)) {
        lex_number(l, &t);
    } else if (c == '"') {
        lex_text(l, &t);
    } else {
        lex_mark(l, &t);
    }
    t.end = l->at;
    return t;
}
