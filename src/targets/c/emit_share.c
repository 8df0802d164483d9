/* emit_share.c - kernel generic: one function for layers of one shape, with their numbers as its last argument.
 *
 * Takes the functions and calls of a module. Texts that are equal but for integers are a class: one text in which the integers that
 * differ are elements of a constant array, of each call its own; columns of equal numbers are one element. With a call's
 * numbers put in, the text is that call's own text again, so nothing else can change. A class is made where it saves more code than
 * its numbers take.
 */
#include <inttypes.h>
#include <string.h>

#include "targets/c/emit.h"

/* What stands for an integer in a skeleton: a term with its sign ("+ 3", "- 3", "+ (-3)"), a value ("3", "(-3)"), or one with `u`. */
enum { TERM = '\3', VALUE = '\4', UNSIGNED = '\5' };
/* Bytes: of one element of the array and of what fetches it. */
enum { ELEMENT = 4, FETCH = 4 };

typedef struct c_literal {
    char kind;
    size_t first, end; /* in the text */
    int64_t value;
} c_literal;

typedef struct c_skeleton {
    const char *key; /* the text with marks in place of integers, locals numbered anew, without `restrict` */
    BASE_VEC(c_literal) literals;
} c_skeleton;

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t word_length(const char *s) {
    size_t n = 0;
    while (is_letter(s[n]) || is_digit(s[n])) {
        n++;
    }
    return n;
}

/* ---- reading a text ---- */

typedef struct c_scan {
    base_arena *arena;
    const char *text;
    size_t at;
    base_text key;
    c_skeleton *out;
    base_map *locals; /* names of one letter and a number, by what they are called in the key */
    uint32_t local_count;
    int depth, fixed;       /* of brackets; integers deeper than `fixed` stay (0: no such) */
    bool word, word_before; /* the last two tokens are words */
    bool operand, fixing;   /* the last token ends an operand; it is a word whose arguments are constants in C */
} c_scan;

/* A local's number depends on what was emitted before it and dropped again. */
static void scan_word(c_scan *s) {
    const char *w = s->text + s->at;
    size_t n = word_length(w);
    bool local = n > 1 && w[0] >= 'a' && w[0] <= 'z' && w[0] != 'p';
    for (size_t i = 1; i < n; i++) {
        local = local && is_digit(w[i]);
    }
    if (local) {
        bool is_new;
        uint64_t *number = base_map_put(s->locals, w, n, &is_new);
        if (is_new) {
            *number = s->local_count++;
        }
        base_put(&s->key, "%c%" PRIu64, w[0], *number);
    } else {
        base_putn(&s->key, w, n);
    }
    bool keyword = (n == 6 && memcmp(w, "return", n) == 0) || (n == 4 && memcmp(w, "else", n) == 0);
    s->word_before = s->word;
    s->word = !keyword;
    s->operand = !keyword;
    /* intrinsics want constants, and so do INT64_C and its like */
    s->fixing = w[0] == '_' || (n > 2 && memcmp(w + n - 2, "_C", 2) == 0);
    s->at += n;
}

/* The digits of an int, or of an unsigned int with `u`, that end at *end; false: anything else. */
static bool read_integer(const char *s, int64_t *value, bool *is_unsigned, size_t *end) {
    size_t n = 0;
    *value = 0;
    while (is_digit(s[n]) && n < 11) {
        *value = *value * 10 + (s[n++] - '0');
    }
    *is_unsigned = s[n] == 'u';
    *end = n + *is_unsigned;
    bool octal = n > 1 && s[0] == '0';
    return n > 0 && !octal && s[*end] != '.' && !is_letter(s[*end]) && !is_digit(s[*end]) &&
           *value <= (*is_unsigned ? (int64_t)UINT32_MAX : INT32_MAX);
}

static void add_literal(c_scan *s, char kind, size_t length, int64_t value) {
    base_putn(&s->key, &kind, 1);
    *BASE_PUSH(s->arena, &s->out->literals) = (c_literal){kind, s->at, s->at + length, value};
    s->at += length;
    s->word = s->word_before = false;
    s->operand = true;
}

/* An integer in one of its forms; false: here is none. */
static bool scan_integer(c_scan *s) {
    const char *t = s->text + s->at;
    int64_t value;
    bool is_unsigned;
    size_t end;
    if (s->fixed != 0) {
        return false;
    }
    if (s->operand && (t[0] == '+' || t[0] == '-') && t[1] == ' ' && read_integer(t + 2, &value, &is_unsigned, &end) &&
        !is_unsigned) {
        add_literal(s, TERM, end + 2, t[0] == '-' ? -value : value);
        return true;
    }
    if (s->operand && strncmp(t, "+ (-", 4) == 0 && read_integer(t + 4, &value, &is_unsigned, &end) && !is_unsigned &&
        t[end + 4] == ')') {
        add_literal(s, TERM, end + 5, -value);
        return true;
    }
    if (t[0] == '(' && t[1] == '-' && !s->word && read_integer(t + 2, &value, &is_unsigned, &end) && !is_unsigned &&
        t[end + 2] == ')') {
        add_literal(s, VALUE, end + 3, -value);
        return true;
    }
    if (is_digit(t[0]) && read_integer(t, &value, &is_unsigned, &end)) {
        add_literal(s, is_unsigned ? UNSIGNED : VALUE, end, value);
        return true;
    }
    return false;
}

/* A number that stays: its letters, points and exponents belong to it. */
static void scan_number(c_scan *s) {
    const char *t = s->text + s->at;
    size_t n = 0;
    while (is_letter(t[n]) || is_digit(t[n]) || t[n] == '.' ||
           ((t[n] == '+' || t[n] == '-') && n > 0 && strchr("eEpP", t[n - 1]) != NULL && t[0] != '0')) {
        n++;
    }
    base_putn(&s->key, t, n);
    s->at += n;
    s->word = s->word_before = false;
    s->operand = true;
}

static void scan_mark(c_scan *s) {
    char c = s->text[s->at++];
    if (c == '(' || c == '[') {
        s->depth++;
        /* the length of an array that is declared: two words in front */
        if (s->fixed == 0 && ((c == '(' && s->word && s->fixing) || (c == '[' && s->word && s->word_before))) {
            s->fixed = s->depth;
        }
    } else if (c == ')' || c == ']') {
        s->fixed = s->fixed == s->depth ? 0 : s->fixed;
        s->depth--;
    }
    if (c != '\2') { /* restrict */
        base_putn(&s->key, &c, 1);
    }
    if (c != ' ' && c != '\n' && c != '\2') {
        s->word = s->word_before = false;
        s->operand = c == ')' || c == ']';
    }
}

/* NULL: the text has what is only understood where it stands, and stays alone. */
static c_skeleton *skeleton_of(base_arena *arena, const c_function *f) {
    c_skeleton *out = BASE_NEW(arena, c_skeleton);
    c_scan s = {.arena = arena, .text = f->text, .out = out, .key = {.arena = arena}, .locals = base_map_new(arena)};
    if (strpbrk(f->text, "#\"'\\") != NULL || strstr(f->text, "static const") != NULL) {
        return NULL;
    }
    base_put(&s.key, "%" PRIu32 " ", f->split);
    while (s.text[s.at] != 0) {
        char c = s.text[s.at];
        if (c == C_NAME_MARK || is_letter(c)) {
            if (c == C_NAME_MARK) {
                base_putn(&s.key, &c, 1);
                s.at++;
                s.word = s.fixing = false;
            } else {
                scan_word(&s);
            }
        } else if (scan_integer(&s)) {
            /* taken */
        } else if (is_digit(c)) {
            scan_number(&s);
        } else {
            scan_mark(&s);
        }
    }
    out->key = s.key.at;
    return out;
}

/* ---- classes ---- */

typedef struct c_class {
    BASE_VEC(uint32_t) members;
    uint32_t *column; /* of each literal: its element, UINT32_MAX where all members agree */
    uint32_t columns;
    uint32_t *literal_of; /* of each element the first literal that it stands for */
} c_class;

static bool equal_columns(const c_class *x, c_skeleton *const *of, size_t a, size_t b) {
    bool equal = true;
    for (size_t i = 0; i < x->members.n && equal; i++) {
        const c_literal *l = of[x->members.at[i]]->literals.at;
        equal = l[a].value == l[b].value;
    }
    return equal && (of[x->members.at[0]]->literals.at[a].kind == UNSIGNED) ==
                        (of[x->members.at[0]]->literals.at[b].kind == UNSIGNED);
}

static bool agrees(const c_class *x, c_skeleton *const *of, size_t a) {
    for (size_t i = 1; i < x->members.n; i++) {
        if (of[x->members.at[i]]->literals.at[a].value != of[x->members.at[0]]->literals.at[a].value) {
            return false;
        }
    }
    return true;
}

static void find_columns(base_arena *arena, c_class *x, c_skeleton *const *of) {
    const size_t n = of[x->members.at[0]]->literals.n;
    x->column = BASE_NEWS(arena, uint32_t, n + 1);
    x->literal_of = BASE_NEWS(arena, uint32_t, n + 1);
    x->columns = 0;
    for (size_t a = 0; a < n; a++) {
        x->column[a] = UINT32_MAX;
        if (agrees(x, of, a)) {
            continue;
        }
        uint32_t k = 0;
        while (k < x->columns && !equal_columns(x, of, x->literal_of[k], a)) {
            k++;
        }
        if (k == x->columns) {
            x->literal_of[x->columns++] = (uint32_t)a;
        }
        x->column[a] = k;
    }
}

/* ---- the text of a class ---- */

static void put_literal(base_text *out, const c_literal *l, uint32_t column) {
    if (column != UINT32_MAX) {
        base_put(out, "%sn%" PRIu32 "_", l->kind == TERM ? "+ " : "", column);
    } else if (l->kind == TERM) {
        base_put(out, "%s%" PRId64, l->value < 0 ? "- " : "+ ", l->value < 0 ? -l->value : l->value);
    } else {
        base_put(out, l->value < 0 ? "(%" PRId64 ")" : l->kind == UNSIGNED ? "%" PRId64 "u" : "%" PRId64, l->value);
    }
}

/* The first line: `restrict` where every member may say it, and the array behind the pointers. */
static void put_head(base_text *out, const c_module *m, const c_class *x, const c_function *f) {
    const char *end = strchr(f->text, '\n');
    size_t argument = 0;
    for (const char *c = f->text; c < end; c++) {
        const char *split = f->split != 0 ? strstr(c, "uint32_t begin") : NULL;
        bool last = f->split != 0 ? c == split : *c == ')' && c + 1 == end;
        if (x->columns > 0 && (last || (f->argument_count == 0 && strncmp(c, "(void)", 6) == 0))) {
            bool none = *c == '(';
            base_put(out, "%sconst int32_t *\2 p%zu%s",
                     none                                 ? "("
                     : f->argument_count > 0 && *c == ')' ? ", "
                                                          : "",
                     f->argument_count, *c == 'u' ? ", " : "");
            c += none ? 5 : 0;
        }
        if (*c == '*') { /* of the next argument */
            bool exclusive = true;
            for (size_t i = 0; i < x->members.n; i++) {
                exclusive = exclusive && m->functions.at[x->members.at[i]].arguments[argument].exclusive;
            }
            argument++;
            base_puts(out, exclusive ? "*\2 " : "*");
            c += c[1] == '\2' ? 2 : 0;
            continue;
        }
        base_putn(out, c, 1);
    }
}

static c_function class_function(c_module *m, const c_class *x, c_skeleton *const *of) {
    c_function f = m->functions.at[x->members.at[0]];
    const c_skeleton *s = of[x->members.at[0]];
    base_text out = {.arena = m->arena};
    const char *body = strchr(f.text, '\n');
    put_head(&out, m, x, &f);
    base_puts(&out, "\n{\n");
    for (uint32_t k = 0; k < x->columns; k++) {
        const char *type = s->literals.at[x->literal_of[k]].kind == UNSIGNED ? "uint32_t" : "int32_t";
        base_put(&out, "    const %s n%" PRIu32 "_ = %sp%zu[%" PRIu32 "];\n", type, k,
                 type[0] == 'u' ? "(uint32_t)" : "", f.argument_count, k);
    }
    size_t at = (size_t)(body - f.text) + strlen("\n{\n");
    for (size_t a = 0; a < s->literals.n; a++) {
        const c_literal *l = &s->literals.at[a];
        base_putn(&out, f.text + at, l->first - at);
        put_literal(&out, l, x->column[a]);
        at = l->end;
    }
    base_puts(&out, f.text + at);
    f.text = out.at;
    if (x->columns == 0) {
        return f;
    }
    c_argument *arguments = BASE_NEWS(m->arena, c_argument, f.argument_count + 1);
    if (f.argument_count > 0) {
        memcpy(arguments, f.arguments, f.argument_count * sizeof arguments[0]);
    }
    arguments[f.argument_count++] =
        (c_argument){.tensor = IR_NONE, .type = BASE_I32, .name = C_NUMBERS, .exclusive = true};
    f.arguments = arguments;
    return f;
}

/* The array of a member, as data of the module. */
static uint32_t numbers_of(c_module *m, const c_class *x, const c_skeleton *s) {
    int32_t *values = BASE_NEWS(m->arena, int32_t, x->columns + 1);
    for (uint32_t k = 0; k < x->columns; k++) {
        values[k] = (int32_t)(uint32_t)s->literals.at[x->literal_of[k]].value;
    }
    return c_data_add(m, BASE_I32, values, x->columns);
}

static bool pays(const c_module *m, const c_class *x) {
    uint64_t code = c_code_bytes(m->functions.at[x->members.at[0]].text, m->plan->goal), n = x->members.n;
    return n > 1 && (n - 1) * code > n * x->columns * ELEMENT + x->columns * FETCH;
}

/* to: of each function the new one; data: of each the array that its calls now give, UINT32_MAX: none. */
static void change_calls(c_module *m, const uint32_t *to, const uint32_t *data) {
    for (uint32_t k = 0; k < m->plan->kernels.n; k++) {
        for (size_t i = 0; i < m->calls[k].list.n; i++) {
            c_call *call = &m->calls[k].list.at[i];
            uint32_t old = call->function;
            call->function = to[old];
            if (data[old] != UINT32_MAX) {
                c_argument *arguments = BASE_NEWS(m->arena, c_argument, call->argument_count + 1);
                if (call->argument_count > 0) {
                    memcpy(arguments, call->arguments, call->argument_count * sizeof arguments[0]);
                }
                arguments[call->argument_count++] = (c_argument){
                    .tensor = IR_NONE, .data = data[old], .type = BASE_I32, .name = C_NUMBERS, .exclusive = true};
                call->arguments = arguments;
            }
        }
    }
}

void c_share_functions(c_module *m) {
    const size_t n = m->functions.n;
    c_skeleton **of = BASE_NEWS(m->arena, c_skeleton *, n + 1);
    c_class *classes = BASE_NEWS(m->arena, c_class, n + 1);
    uint32_t *class_of = BASE_NEWS(m->arena, uint32_t, n + 1), *to = BASE_NEWS(m->arena, uint32_t, n + 1),
             *data = BASE_NEWS(m->arena, uint32_t, n + 1), count = 0;
    base_map *keys = base_map_new(m->arena);
    for (uint32_t i = 0; i < n; i++) {
        of[i] = skeleton_of(m->arena, &m->functions.at[i]);
        bool is_new = true;
        uint64_t alone, *number = &alone;
        if (of[i] != NULL) {
            number = base_map_put(keys, of[i]->key, strlen(of[i]->key), &is_new);
        }
        if (is_new) {
            *number = count++;
        }
        class_of[i] = (uint32_t)*number;
        *BASE_PUSH(m->arena, &classes[class_of[i]].members) = i;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (classes[k].members.n > 1) {
            find_columns(m->arena, &classes[k], of);
        }
    }
    BASE_VEC(c_function) functions = {0};
    for (uint32_t i = 0; i < n; i++) {
        c_class *x = &classes[class_of[i]];
        data[i] = UINT32_MAX;
        if (!pays(m, x)) {
            to[i] = (uint32_t)functions.n;
            *BASE_PUSH(m->arena, &functions) = m->functions.at[i];
            continue;
        }
        data[i] = x->columns > 0 ? numbers_of(m, x, of[i]) : UINT32_MAX;
        if (x->members.at[0] == i) {
            to[i] = (uint32_t)functions.n;
            *BASE_PUSH(m->arena, &functions) = class_function(m, x, of);
        } else {
            to[i] = to[x->members.at[0]];
        }
    }
    change_calls(m, to, data);
    m->functions.n = 0;
    for (size_t i = 0; i < functions.n; i++) {
        *BASE_PUSH(m->arena, &m->functions) = functions.at[i];
    }
}
