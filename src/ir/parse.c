/* parse.c - the text form, parsed (docs/IR.md is its definition).
 *
 * Takes text of any length and content; reads it once, without recursion, in memory proportional to it. Gives the
 * model, or errors with line, column and caret: after an error it goes on at the next line that begins a statement.
 * Checks the grammar, that references are to what was declared above, and the sizes of constants; ir_verify does the
 * rest.
 */
#include "ir/text.h"

#include <math.h>
#include <string.h>

const char ir_text_base64[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const char *const ir_text_kinds[IR_GRAPH + 1] = {"int", "float", "text", "ints", "floats", "graph"};

enum { MOST_ERRORS = 20, MOST_ATTRS = 64 };

typedef struct parser {
    base_arena *arena;
    const char *file, *text;
    size_t n, at;
    base_diags *d;
    size_t errors;
    ir_model *m;
    ir_graph *g;       /* the graph being read; NULL outside */
    base_map *symbols; /* name -> number, from 1 */
} parser;

/* ---- characters and errors ---- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word_char(char c) {
    return is_letter(c) || is_digit(c) || c == '.';
}

bool ir_text_is_word(const char *s) {
    if (!s || !is_letter(*s) || !strcmp(s, "_")) {
        return false;
    }
    while (is_word_char(*s)) {
        s++;
    }
    return !*s;
}

static char peek(const parser *p) {
    return p->at < p->n ? p->text[p->at] : '\0';
}

static void skip(parser *p) {
    while (p->at < p->n) {
        char c = p->text[p->at];
        if (c == '#') {
            while (p->at < p->n && p->text[p->at] != '\n') {
                p->at++;
            }
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            p->at++;
        } else {
            return;
        }
    }
}

static bool fail(parser *p, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool fail(parser *p, size_t at, const char *format, ...) {
    base_place place = {.file = p->file, .source = p->text, .source_size = p->n, .line = 1, .column = 1};
    for (size_t i = 0; i < at && i < p->n; i++) {
        if (p->text[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)p->text[i] & 0xc0) != 0x80) {
            place.column++;
        }
    }
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(p->arena, format, list);
    va_end(list);
    base_error(p->d, &place, "%s", message);
    p->errors++;
    return false;
}

/* What stands at the cursor, for "got ...". */
static const char *found(parser *p) {
    if (p->at >= p->n) {
        return "the end";
    }
    size_t n = 1;
    while (n < 24 && p->at + n < p->n && is_word_char(p->text[p->at]) && is_word_char(p->text[p->at + n])) {
        n++;
    }
    return base_printf(p->arena, "'%s'", base_printable(p->arena, p->text + p->at, n, 40));
}

/* ---- tokens: each skips the space before it ---- */

static bool accept(parser *p, const char *mark) {
    skip(p);
    size_t n = strlen(mark);
    if (n > p->n - p->at || memcmp(p->text + p->at, mark, n) != 0) {
        return false;
    }
    p->at += n;
    return true;
}

static bool expect(parser *p, const char *mark) {
    return accept(p, mark) || fail(p, p->at, "expected '%s', got %s", mark, found(p));
}

static size_t word_length(const parser *p) {
    size_t n = 0;
    if (is_letter(peek(p))) {
        while (p->at + n < p->n && is_word_char(p->text[p->at + n])) {
            n++;
        }
    }
    return n;
}

static bool accept_word(parser *p, const char *word) {
    skip(p);
    size_t n = word_length(p);
    if (n != strlen(word) || memcmp(p->text + p->at, word, n) != 0) {
        return false;
    }
    p->at += n;
    return true;
}

static bool expect_word(parser *p, const char *word) {
    return accept_word(p, word) || fail(p, p->at, "expected '%s', got %s", word, found(p));
}

static bool parse_int(parser *p, int64_t *v) {
    skip(p);
    size_t start = p->at;
    bool negative = peek(p) == '-';
    p->at += negative;
    if (!is_digit(peek(p))) {
        p->at = start;
        return fail(p, start, "expected an integer, got %s", found(p));
    }
    uint64_t value = 0;
    const uint64_t most = (uint64_t)INT64_MAX + negative;
    for (; is_digit(peek(p)); p->at++) {
        uint64_t digit = (uint64_t)(peek(p) - '0');
        if (value > (most - digit) / 10) {
            return fail(p, start, "the integer needs more than 64 bits");
        }
        value = 10 * value + digit;
    }
    *v = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static bool parse_u32(parser *p, uint32_t *v) {
    skip(p);
    size_t start = p->at;
    int64_t wide;
    if (!parse_int(p, &wide)) {
        return false;
    }
    if (wide < 0 || wide >= (int64_t)IR_NONE) {
        return fail(p, start, "expected a number from 0 to %lu", (unsigned long)IR_NONE - 1);
    }
    *v = (uint32_t)wide;
    return true;
}

static bool parse_float(parser *p, double *v) {
    char token[512];
    const char *end = NULL;
    size_t n = 0;
    skip(p);
    while (p->at + n < p->n && (is_word_char(p->text[p->at + n]) || strchr("+-", p->text[p->at + n]))) {
        if (n == sizeof token - 1) {
            return fail(p, p->at, "the number is longer than %zu characters", sizeof token - 1);
        }
        token[n] = p->text[p->at + n];
        n++;
    }
    token[n] = '\0';
    if (!strcmp(token, "nan")) {
        *v = NAN;
    } else if (!strcmp(token, "inf") || !strcmp(token, "-inf")) {
        *v = token[0] == '-' ? -INFINITY : INFINITY;
    } else if (!base_parse_float(token, &end, v) || *end) {
        return fail(p, p->at, "expected a number, got %s", found(p));
    }
    p->at += n;
    return true;
}

static int hex_digit(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One escape after its backslash. */
static bool parse_escape(parser *p, char *c) {
    static const char from[] = "\"\\nrt", to[] = "\"\\\n\r\t";
    size_t start = p->at - 1;
    char kind = peek(p);
    const char *simple = kind ? strchr(from, kind) : NULL;
    if (simple) {
        p->at++;
        *c = to[simple - from];
        return true;
    }
    int high = kind == 'x' && p->n - p->at > 2 ? hex_digit(p->text[p->at + 1]) : -1;
    int low = high >= 0 ? hex_digit(p->text[p->at + 2]) : -1;
    if (low < 0) {
        return fail(p, start, "expected one of \\\" \\\\ \\n \\r \\t \\xNN");
    }
    p->at += 3;
    *c = (char)(16 * high + low);
    return true;
}

/* A string; *n bytes at *s, with a NUL after them that does not count. */
static bool parse_string(parser *p, const char **s, size_t *n) {
    if (!expect(p, "\"")) {
        return false;
    }
    size_t start = p->at - 1, end = p->at;
    while (end < p->n && p->text[end] != '"' && p->text[end] != '\n') {
        end += p->text[end] == '\\' && end + 1 < p->n ? 2 : 1;
    }
    if (end >= p->n || p->text[end] != '"') {
        return fail(p, start, "the string is not closed on its line");
    }
    char *out = BASE_NEWS(p->arena, char, end - start);
    size_t count = 0;
    while (p->at < end) {
        char c = p->text[p->at++];
        if (c == '\\' && !parse_escape(p, &c)) {
            return false;
        }
        out[count++] = c;
    }
    p->at = end + 1;
    *s = out;
    *n = count;
    return true;
}

static bool parse_name(parser *p, const char **s) {
    size_t n;
    skip(p);
    size_t start = p->at;
    if (!parse_string(p, s, &n)) {
        return false;
    }
    return !memchr(*s, 0, n) || fail(p, start, "a name has no byte 0");
}

/* A bare word or a string. */
static bool parse_word(parser *p, const char *what, const char **s) {
    skip(p);
    size_t n = word_length(p), start = p->at;
    if (n && !(n == 1 && peek(p) == '_')) {
        *s = base_strndup(p->arena, p->text + p->at, n);
        p->at += n;
        return true;
    }
    if (peek(p) != '"') {
        return fail(p, p->at, "expected %s, got %s", what, found(p));
    }
    if (!parse_name(p, s)) {
        return false;
    }
    return **s || fail(p, start, "expected %s, got an empty string", what);
}

/* ---- lists ---- */

typedef BASE_VEC(uint32_t) u32_list;

/* A comma, or the mark that closes the list (*more false). */
static bool parse_more(parser *p, const char *close, bool *more) {
    *more = accept(p, ",");
    return *more || accept(p, close) || fail(p, p->at, "expected ',' or '%s', got %s", close, found(p));
}

/* (%0, _, %2) */
static bool parse_refs(parser *p, bool may_be_absent, u32_list *out) {
    if (!expect(p, "(")) {
        return false;
    }
    bool more = !accept(p, ")");
    while (more) {
        skip(p);
        size_t start = p->at;
        uint32_t t = IR_NONE;
        if (!(may_be_absent && accept_word(p, "_"))) {
            if (!expect(p, "%") || !parse_u32(p, &t)) {
                return false;
            }
            if (t >= p->g->tensors.n) {
                return fail(p, start, "there is no tensor %%%lu above", (unsigned long)t);
            }
        }
        *BASE_PUSH(p->arena, out) = t;
        if (!parse_more(p, ")", &more)) {
            return false;
        }
    }
    return true;
}

/* ---- constants ---- */

/* The contents between the quotes of a constant: whitespace is passed over. *c: the next character; 0 at the closing
 * quote. */
static bool next_digit(parser *p, size_t start, char *c) {
    while (p->at < p->n && strchr(" \t\r\n", p->text[p->at])) {
        p->at++;
    }
    if (p->at >= p->n) {
        return fail(p, start, "the constant is not closed");
    }
    *c = p->text[p->at] == '"' ? '\0' : p->text[p->at];
    p->at++;
    return true;
}

static bool parse_hex(parser *p, size_t start, base_text *out) {
    char high = '\0', low = '\0';
    while (next_digit(p, start, &high)) {
        if (!high) {
            return true;
        }
        if (!next_digit(p, start, &low)) {
            return false;
        }
        if (hex_digit(high) < 0 || hex_digit(low) < 0) {
            return fail(p, p->at - 1, "expected pairs of hexadecimal digits");
        }
        uint8_t byte = (uint8_t)(16 * hex_digit(high) + hex_digit(low));
        base_putn(out, &byte, 1);
    }
    return false;
}

static bool parse_base64(parser *p, size_t start, base_text *out) {
    for (bool last = false;;) {
        uint32_t group = 0, digits = 0, pads = 0;
        for (uint32_t k = 0; k < 4; k++) {
            char c = '\0';
            if (!next_digit(p, start, &c)) {
                return false;
            }
            if (!c && !k) {
                return true;
            }
            const char *digit = c && c != '=' ? strchr(ir_text_base64, c) : NULL;
            if (last || (!digit && (c != '=' || k < 2)) || (digit && pads)) {
                return fail(p, p->at - 1, "it is not base64");
            }
            group = group << 6 | (digit ? (uint32_t)(digit - ir_text_base64) : 0);
            digits += digit != NULL;
            pads += digit == NULL;
        }
        uint8_t bytes[3] = {(uint8_t)(group >> 16), (uint8_t)(group >> 8), (uint8_t)group};
        if ((pads > 0 && bytes[2]) || (pads > 1 && bytes[1])) {
            return fail(p, p->at - 1, "it is not base64: bits are left over");
        }
        base_putn(out, bytes, digits - 1);
        last = pads > 0;
    }
}

/* "=" and contents, or nothing: *data stays NULL. */
static bool parse_contents(parser *p, base_type type, const ir_shape *shape, const void **data) {
    if (!accept(p, "=")) {
        return true;
    }
    base_text bytes = {.arena = p->arena};
    skip(p);
    size_t start = p->at;
    bool hex = accept_word(p, "hex");
    if (!hex && !accept_word(p, "base64")) {
        return fail(p, start, "expected 'hex' or 'base64', got %s", found(p));
    }
    if (!expect(p, "\"") || !(hex ? parse_hex : parse_base64)(p, start, &bytes)) {
        return false;
    }
    uint64_t elements, wanted;
    if (!ir_shape_elements(shape, &elements) || !base_type_bytes(type, elements, &wanted)) {
        return fail(p, start, "a constant of too many elements");
    }
    if (wanted != bytes.n) {
        return fail(p, start, "expected %llu bytes, got %zu", (unsigned long long)wanted, bytes.n);
    }
    *data = bytes.n ? bytes.at : "";
    return true;
}

/* ---- statements ---- */

static bool parse_shape(parser *p, ir_shape *s) {
    if (!expect(p, "[")) {
        return false;
    }
    bool more = !accept(p, "]");
    while (more) {
        skip(p);
        size_t start = p->at;
        if (s->rank == IR_MAX_RANK) {
            return fail(p, start, "at most %u extents", IR_MAX_RANK);
        }
        if (peek(p) == '"') {
            const char *name;
            if (!parse_name(p, &name)) {
                return false;
            }
            const uint64_t *number = base_map_get(p->symbols, name, strlen(name));
            if (!number) {
                return fail(p, start, "there is no such symbol above");
            }
            s->symbol[s->rank] = (uint32_t)*number;
            s->dim[s->rank] = p->m->symbols.at[*number - 1].bound;
        } else if (!parse_int(p, &s->dim[s->rank])) {
            return false;
        } else if (s->dim[s->rank] < 0) {
            return fail(p, start, "an extent is 0 or more");
        }
        s->rank++;
        if (!parse_more(p, "]", &more)) {
            return false;
        }
    }
    return true;
}

static bool parse_quant(parser *p, ir_quant *q) {
    BASE_VEC(float) scales = {0};
    BASE_VEC(int64_t) zeros = {0};
    if (accept_word(p, "axis")) {
        int64_t axis;
        skip(p);
        size_t start = p->at;
        if (!parse_int(p, &axis)) {
            return false;
        }
        if (axis < 0 || axis >= (int64_t)IR_MAX_RANK) {
            return fail(p, start, "an axis is from 0 to %u", IR_MAX_RANK - 1);
        }
        q->axis = (int32_t)axis;
    }
    bool more = true;
    if (!expect(p, "{")) {
        return false;
    }
    while (more) {
        double scale;
        if (!parse_float(p, &scale) || !expect(p, ":") || !parse_int(p, BASE_PUSH(p->arena, &zeros))) {
            return false;
        }
        *BASE_PUSH(p->arena, &scales) = (float)base_round_to(BASE_F32, scale);
        if (!parse_more(p, "}", &more)) {
            return false;
        }
    }
    q->n = (uint32_t)scales.n;
    q->scale = scales.at;
    q->zero = zeros.at;
    return true;
}

static bool parse_type(parser *p, base_type *type) {
    skip(p);
    size_t n = word_length(p);
    *type = base_type_named(p->text + p->at, n);
    if (*type == BASE_NONE) {
        return fail(p, p->at, "expected an element type, got %s", found(p));
    }
    p->at += n;
    return true;
}

/* @0 of a state that stands above. */
static bool parse_state_ref(parser *p, uint32_t *state) {
    skip(p);
    size_t start = p->at;
    if (!expect(p, "@") || !parse_u32(p, state)) {
        return false;
    }
    return *state < p->m->states.n || fail(p, start, "there is no state @%lu above", (unsigned long)*state);
}

static bool parse_state(parser *p) {
    ir_shape shape = {0};
    uint32_t number, index = ir_state_add(p->m, "", BASE_I8, &shape);
    ir_state s = p->m->states.at[index];
    if (!expect(p, "@")) {
        return false;
    }
    size_t start = p->at;
    if (!parse_u32(p, &number)) {
        return false;
    }
    if (number != index) {
        return fail(p, start, "the next state is @%lu", (unsigned long)index);
    }
    if (!parse_type(p, &s.type) || !parse_shape(p, &s.shape) || !parse_name(p, &s.name)) {
        return false;
    }
    if ((accept_word(p, "quant") && !parse_quant(p, &s.quant)) || !parse_contents(p, s.type, &s.shape, &s.data)) {
        return false;
    }
    p->m->states.at[index] = s;
    return true;
}

static bool parse_tensor(parser *p) {
    /* Added first: an error in this statement shall not shift the numbers of those that follow. */
    uint32_t index = ir_tensor_add(p->m, p->g, "", BASE_I8, NULL);
    ir_tensor t = p->g->tensors.at[index];
    uint32_t number;
    if (!expect(p, "%")) {
        return false;
    }
    size_t start = p->at;
    if (!parse_u32(p, &number)) {
        return false;
    }
    if (number != index) {
        return fail(p, start, "the next tensor is %%%lu", (unsigned long)index);
    }
    if (!parse_type(p, &t.type) || !parse_shape(p, &t.shape) || !parse_name(p, &t.name)) {
        return false;
    }
    if (accept_word(p, "source") && !parse_u32(p, &t.source)) {
        return false;
    }
    if (accept_word(p, "state") && !parse_state_ref(p, &t.state)) {
        return false;
    }
    if ((accept_word(p, "quant") && !parse_quant(p, &t.quant)) || !parse_contents(p, t.type, &t.shape, &t.data)) {
        return false;
    }
    p->g->tensors.at[index] = t;
    return true;
}

static bool parse_ints(parser *p, ir_node *n, const char *name) {
    BASE_VEC(int64_t) list = {0};
    bool more = expect(p, "[") && !accept(p, "]");
    while (more) {
        if (!parse_int(p, BASE_PUSH(p->arena, &list)) || !parse_more(p, "]", &more)) {
            return false;
        }
    }
    ir_attr_ints(p->m, n, name, list.at, list.n);
    return true;
}

static bool parse_floats(parser *p, ir_node *n, const char *name) {
    BASE_VEC(double) list = {0};
    bool more = expect(p, "[") && !accept(p, "]");
    while (more) {
        if (!parse_float(p, BASE_PUSH(p->arena, &list)) || !parse_more(p, "]", &more)) {
            return false;
        }
    }
    ir_attr_floats(p->m, n, name, list.at, list.n);
    return true;
}

static bool parse_text_attr(parser *p, ir_node *n, const char *name) {
    const char *s;
    size_t length;
    if (!parse_string(p, &s, &length)) {
        return false;
    }
    ir_attr *a = ir_attr_put(p->m, n, name, IR_TEXT);
    a->v.text = s;
    a->n = length;
    return true;
}

static bool parse_attr(parser *p, ir_node *n) {
    const char *name;
    int64_t i;
    double f;
    skip(p);
    size_t start = p->at;
    if (!parse_word(p, "an attribute's name", &name)) {
        return false;
    }
    if (n->attr_count == MOST_ATTRS) {
        return fail(p, start, "more than %d attributes", MOST_ATTRS);
    }
    if (ir_attr_find(n, name)) {
        return fail(p, start, "the attribute is there twice");
    }
    if (!expect(p, ":")) {
        return false;
    }
    if (accept_word(p, "int")) {
        if (!parse_int(p, &i)) {
            return false;
        }
        ir_attr_int(p->m, n, name, i);
        return true;
    }
    if (accept_word(p, "float")) {
        if (!parse_float(p, &f)) {
            return false;
        }
        ir_attr_float(p->m, n, name, f);
        return true;
    }
    if (accept_word(p, "text")) {
        return parse_text_attr(p, n, name);
    }
    if (accept_word(p, "ints")) {
        return parse_ints(p, n, name);
    }
    if (accept_word(p, "floats")) {
        return parse_floats(p, n, name);
    }
    if (accept_word(p, "graph")) { /* any number: the graph may stand below; the verifier knows how many there are */
        uint32_t graph;
        if (!parse_u32(p, &graph)) {
            return false;
        }
        ir_attr_graph(p->m, n, name, graph);
        return true;
    }
    return fail(p, p->at, "expected int, float, text, ints, floats or graph, got %s", found(p));
}

static bool parse_ids(parser *p, ir_node *n) {
    u32_list ids = {0};
    bool more = expect(p, "[");
    if (!more) {
        return false;
    }
    while (more) {
        if (!parse_u32(p, BASE_PUSH(p->arena, &ids)) || !parse_more(p, "]", &more)) {
            return false;
        }
    }
    n->ids = ids.at;
    n->id_count = ids.n;
    return true;
}

static bool parse_node(parser *p) {
    const char *op;
    u32_list inputs = {0}, outputs = {0};
    if (!parse_word(p, "an operator", &op) || !parse_refs(p, true, &inputs) || !expect(p, "->") ||
        !parse_refs(p, false, &outputs)) {
        return false;
    }
    ir_node *n = ir_node_add(p->m, p->g, op, inputs.at, inputs.n, outputs.at, outputs.n, IR_NONE);
    bool more = accept(p, "{");
    while (more) {
        if (!parse_attr(p, n) || !parse_more(p, "}", &more)) {
            return false;
        }
    }
    if (accept_word(p, "ids") && !parse_ids(p, n)) {
        return false;
    }
    if (accept_word(p, "from") && !parse_name(p, &n->source_name)) {
        return false;
    }
    if (accept_word(p, "at")) {
        int64_t byte;
        skip(p);
        size_t start = p->at;
        if (!parse_int(p, &byte)) {
            return false;
        }
        if (byte < 0) {
            return fail(p, start, "a byte offset is 0 or more");
        }
        n->byte = (uint64_t)byte;
    }
    return true;
}

static bool parse_graph_list(parser *p, bool is_input) {
    u32_list list = {0};
    if (!parse_refs(p, false, &list)) {
        return false;
    }
    for (size_t i = 0; i < list.n; i++) {
        *(is_input ? BASE_PUSH(p->arena, &p->g->inputs) : BASE_PUSH(p->arena, &p->g->outputs)) = list.at[i];
    }
    return true;
}

static bool parse_in_graph(parser *p) {
    if (accept_word(p, "tensor")) {
        return parse_tensor(p);
    }
    if (accept_word(p, "node")) {
        return parse_node(p);
    }
    if (accept_word(p, "inputs")) {
        return parse_graph_list(p, true);
    }
    if (accept_word(p, "outputs")) {
        return parse_graph_list(p, false);
    }
    if (accept(p, "}")) {
        p->g = NULL;
        return true;
    }
    return fail(p, p->at, "expected tensor, node, inputs, outputs or '}', got %s", found(p));
}

static bool parse_symbol(parser *p) {
    const char *name;
    int64_t bound;
    bool is_new;
    skip(p);
    size_t start = p->at;
    if (!parse_name(p, &name) || !parse_int(p, &bound)) {
        return false;
    }
    if (bound < 0) {
        return fail(p, start, "a symbol's bound is 0 or more");
    }
    uint64_t *number = base_map_put(p->symbols, name, strlen(name), &is_new);
    if (!is_new) {
        return fail(p, start, "the symbol is there twice");
    }
    *BASE_PUSH(p->arena, &p->m->symbols) = (ir_symbol){name, bound, accept_word(p, "computed")};
    *number = p->m->symbols.n;
    return true;
}

/* ("x" 0, ...): that the graph has so many is the verifier's to say. */
typedef BASE_VEC(ir_port) port_list;

static bool parse_ports(parser *p, port_list *out) {
    bool more = expect(p, "(");
    if (!more) {
        return false;
    }
    more = !accept(p, ")");
    while (more) {
        ir_port *port = BASE_PUSH(p->arena, out);
        if (!parse_name(p, &port->name) || !parse_u32(p, &port->at) || !parse_more(p, ")", &more)) {
            return false;
        }
    }
    return true;
}

static bool parse_signature(parser *p) {
    const char *name;
    uint32_t graph;
    port_list inputs = {0}, outputs = {0};
    if (!parse_name(p, &name) || !expect_word(p, "graph") || !parse_u32(p, &graph) || !parse_ports(p, &inputs) ||
        !expect(p, "->") || !parse_ports(p, &outputs)) {
        return false;
    }
    ir_signature_add(p->m, name, graph, inputs.at, inputs.n, outputs.at, outputs.n);
    return true;
}

static bool parse_metadata(parser *p) {
    ir_metadata d = {0};
    int64_t size;
    if (!parse_name(p, &d.name)) {
        return false;
    }
    skip(p);
    size_t start = p->at;
    if (!parse_int(p, &size)) {
        return false;
    }
    if (size < 0) {
        return fail(p, start, "a size is 0 or more");
    }
    ir_shape shape = {.rank = 1, .dim = {size}};
    if (!parse_contents(p, BASE_U8, &shape, &d.data)) {
        return false;
    }
    if (!d.data) {
        return fail(p, p->at, "expected '=', got %s", found(p));
    }
    d.size = (size_t)size;
    *BASE_PUSH(p->arena, &p->m->metadata) = d;
    return true;
}

static bool parse_outside(parser *p) {
    if (accept_word(p, "symbol")) {
        return parse_symbol(p);
    }
    if (accept_word(p, "state")) {
        return parse_state(p);
    }
    if (accept_word(p, "graph")) {
        const char *name;
        uint32_t index;
        if (!parse_name(p, &name) || !parse_u32(p, &index) || !expect(p, "{")) {
            return false;
        }
        p->g = ir_graph_add(p->m, name);
        p->g->index = index;
        return true;
    }
    if (accept_word(p, "description")) {
        return parse_name(p, &p->m->description);
    }
    if (accept_word(p, "signature")) {
        return parse_signature(p);
    }
    if (accept_word(p, "metadata")) {
        return parse_metadata(p);
    }
    if (accept_word(p, "takes")) {
        ir_listed *listed = BASE_PUSH(p->arena, &p->m->takes);
        return parse_name(p, &listed->name) && parse_name(p, &listed->form);
    }
    if (accept_word(p, "gives")) {
        ir_listed *listed = BASE_PUSH(p->arena, &p->m->gives);
        return parse_name(p, &listed->name) && parse_name(p, &listed->form);
    }
    return fail(p, p->at, "expected symbol, state, graph, description, signature, takes, gives or metadata, got %s",
                found(p));
}

/* After an error: to the next line that begins with a statement's word. */
static void recover(parser *p) {
    static const char *const words[] = {"tensor", "node",      "inputs",   "outputs",     "graph", "symbol",
                                        "state",  "signature", "metadata", "description", "takes", "gives"};
    while (p->at < p->n) {
        while (p->at < p->n && p->text[p->at] != '\n') {
            p->at++;
        }
        skip(p);
        size_t n = word_length(p);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (n == strlen(words[i]) && !memcmp(p->text + p->at, words[i], n)) {
                return;
            }
        }
        if (peek(p) == '}') {
            return;
        }
    }
}

static bool parse_head(parser *p) {
    int64_t version;
    size_t start;
    if (!expect_word(p, "burin")) {
        return false;
    }
    skip(p);
    start = p->at;
    if (!parse_int(p, &version)) {
        return false;
    }
    if (version != IR_TEXT_VERSION) {
        return fail(p, start, "version %lld of the text form: this program reads %d", (long long)version,
                    IR_TEXT_VERSION);
    }
    return expect_word(p, "model") && parse_name(p, &p->m->format) && parse_name(p, &p->m->file);
}

base_status ir_parse(base_arena *arena, const char *file, const char *text, size_t n, ir_model **out, base_diags *d) {
    parser p = {.arena = arena, .file = file, .text = text, .n = n, .d = d};
    p.m = ir_model_new(arena, "", "");
    p.symbols = base_map_new(arena);
    *out = NULL;
    if (!parse_head(&p)) {
        return BASE_REFUSED;
    }
    for (skip(&p); p.at < p.n && p.errors < MOST_ERRORS; skip(&p)) {
        bool in_graph = p.g != NULL;
        if (!(in_graph ? parse_in_graph(&p) : parse_outside(&p))) {
            recover(&p);
            /* A graph's statements after its broken first line would all be errors. */
            if (!in_graph) {
                break;
            }
        }
    }
    if (p.g && !p.errors) {
        fail(&p, p.n, "expected '}', got the end");
    }
    if (p.errors) {
        return BASE_REFUSED;
    }
    *out = p.m;
    return BASE_OK;
}
