/* strings.c - operators that read or make strings: computed while the file is read.
 *
 * A string is its number in the strings of the model. What only moves or compares them is an operator on numbers, like any
 * other; what looks into one needs to know it now: it is a constant, or follows from what is known of the run that the model
 * is read for. Takes such nodes. Gives constants.
 */
#include "formats/onnx/special.h"

#include <math.h>
#include <string.h>

/* ---- which operators take them ---- */

bool onnx_refuses_strings(onnx_op *op) {
    base_type *types = BASE_NEWS(op->r->arena, base_type, op->input_count + 1);
    bool any = false;
    for (size_t i = 0; i < op->input_count; i++) {
        const bool is = op->inputs[i] != IR_NONE && onnx_op_input(op, i)->type == BASE_STR;
        types[i] = is ? BASE_STR : BASE_NONE;
        any = any || is;
    }
    if (!any) {
        return false;
    }
    const bool standard = !*op->domain, known = standard || strcmp(op->domain, "ai.onnx.ml") == 0;
    const int version = standard && op->opset < 13 ? 13 : (int)op->opset; /* what types.def begins with */
    const char *why =
        known ? onnx_types_why(op->r->arena, op->type, version, types, op->input_count, NULL, 0) : "it takes none";
    if (why) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s of strings", op->type),
                            "give it numbers: Burin knows of none that takes strings");
    }
    return why != NULL;
}

/* ---- their elements ---- */

static size_t count_of(const ir_tensor *t) {
    uint64_t n = 0;
    (void)ir_shape_elements(&t->shape, &n);
    return (size_t)n;
}

static base_bytes string_of(const onnx_op *op, const void *data, size_t i) {
    base_bytes s = {.at = (const uint8_t *)""};
    const char *at = base_string_at(op->r->strings, (uint32_t)base_load(BASE_STR, data, i).u, &s.size);
    s.at = at ? (const uint8_t *)at : s.at;
    return s;
}

static void put_string(onnx_op *op, void *data, size_t i, const void *at, size_t n) {
    base_store(BASE_STR, data, i, (base_value){.u = base_string_number(op->r->strings, at, n)});
}

/* NULL: a fault, or a run decides what it holds, which was noted. */
static const void *contents_of(onnx_op *op, size_t i) {
    if (!onnx_op_has_input(op, i)) {
        onnx_op_error(op, "input %zu is absent: the operator needs it", i);
        return NULL;
    }
    const ir_tensor *t = onnx_op_input(op, i);
    const void *data = ir_shape_open(&t->shape) ? NULL : onnx_op_contents(op, i);
    if (!data && !onnx_op_failed(op)) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s on what only a run says", op->type),
                            "make the inputs that it follows from constant (--constant NAME=FILE); burin run takes "
                            "them from its files");
    }
    return data;
}

static bool has_counts(onnx_op *op, size_t inputs, size_t outputs) {
    if (op->input_count != inputs || op->output_count > outputs) {
        onnx_op_error(op, "%zu inputs and %zu outputs: expected %zu and %zu", op->input_count, op->output_count, inputs,
                      outputs);
    }
    return !onnx_op_failed(op);
}

static bool has_strings(onnx_op *op, size_t inputs, size_t outputs) {
    for (size_t i = 0; has_counts(op, inputs, outputs) && i < inputs; i++) {
        if (!onnx_op_has_input(op, i) || onnx_op_input(op, i)->type != BASE_STR) {
            onnx_op_error(op, "input %zu is %s: expected strings", i,
                          onnx_value_print(op->r, op->scope, &op->values[i]));
        }
    }
    return !onnx_op_failed(op);
}

static void give(onnx_op *op, size_t output, base_type type, const ir_shape *shape, const void *data) {
    if (output < op->output_count) {
        const uint32_t t =
            ir_tensor_add(op->r->m, onnx_graph_of(op->r, op->scope), op->output_names[output], type, shape);
        onnx_graph_of(op->r, op->scope)->tensors.at[t].data = data;
        onnx_give(op, output, t);
    }
}

/* ---- Cast ---- */

/* Plain digits of what is shortest with an exponent: "1.5e-07" is 0.00000015. */
static void put_plain(base_text *out, const char *text) {
    const char *e = strchr(text, 'e');
    if (!e) {
        base_puts(out, text);
        return;
    }
    long exponent = 0;
    for (const char *at = e + 1; *at; at++) {
        exponent = *at >= '0' && *at <= '9' ? exponent * 10 + (*at - '0') : exponent;
    }
    exponent = e[1] == '-' ? -exponent : exponent;
    char digits[32];
    long n = 0, whole = -1;
    base_puts(out, *text == '-' ? "-" : "");
    for (const char *at = text; at < e && n < 32; at++) {
        whole = *at == '.' ? n : whole;
        if (*at >= '0' && *at <= '9') {
            digits[n++] = *at;
        }
    }
    whole = (whole < 0 ? n : whole) + exponent; /* so many digits stand before the point */
    base_puts(out, whole <= 0 ? "0." : "");
    for (long k = whole; k < 0; k++) {
        base_puts(out, "0");
    }
    for (long k = 0; k < n; k++) {
        base_puts(out, k == whole && k ? "." : "");
        base_putn(out, &digits[k], 1);
    }
    for (long k = n; k < whole; k++) {
        base_puts(out, "0");
    }
}

static void put_number(base_text *out, base_type type, base_value v) {
    base_text digits = {.arena = out->arena};
    if (!base_type_is_float(type)) {
        base_put_value(out, type, v);
    } else if (isnan(v.f) || isinf(v.f)) {
        base_puts(out, isnan(v.f) ? "NaN" : v.f < 0 ? "-INF" : "INF");
    } else {
        if (type == BASE_F64) {
            base_put_float(&digits, v.f);
        } else {
            base_put_float32(&digits, (float)v.f);
        }
        put_plain(out, digits.at);
    }
}

static bool is_word(const char *text, const char *word) {
    size_t i = 0;
    while (word[i] && (text[i] == word[i] || (text[i] >= 'a' && text[i] <= 'z' && text[i] - 32 == word[i]))) {
        i++;
    }
    return !word[i] && !text[i];
}

/* false: it says none. */
static bool read_number(const char *text, base_type type, base_value *v) {
    const char *end = text + (*text == '+');
    double real = 0;
    if (is_word(text, "NAN")) {
        real = NAN;
    } else if (is_word(end, "INF") || is_word(text, "-INF")) {
        real = *text == '-' ? -INFINITY : INFINITY;
    } else if ((*end == '-' && end != text) || strpbrk(end, "xX") || !base_parse_float(end, &end, &real) || *end) {
        return false;
    }
    if (base_type_is_float(type)) {
        v->f = base_round_to(type, real);
        return true;
    }
    /* An integer that a double holds, or the part of one before its point. */
    int64_t lo;
    uint64_t hi;
    base_type_range(type, &lo, &hi);
    if (!(fabs(real) <= 0x1p53) || trunc(real) < (double)lo || trunc(real) > (double)hi) {
        return false;
    }
    v->i = (int64_t)real;
    return true;
}

static void cast_to_strings(onnx_op *op, const ir_tensor *t, const void *data, void *out) {
    for (size_t i = 0; i < count_of(t); i++) {
        base_text text = {.arena = op->r->arena};
        put_number(&text, t->type, base_load(t->type, data, i));
        put_string(op, out, i, text.at, text.n);
    }
}

static void cast_strings(onnx_op *op, const ir_tensor *t, const void *data, base_type to, void *out) {
    for (size_t i = 0; i < count_of(t) && !onnx_op_failed(op); i++) {
        const base_bytes s = string_of(op, data, i);
        base_value v = {.u = 0};
        if (memchr(s.at, 0, s.size) || !read_number((const char *)s.at, to, &v)) {
            onnx_op_error(op, "element %zu, \"%s\", is no number of type %s", i,
                          base_printable(op->r->arena, (const char *)s.at, s.size, 40), base_type_name(to));
            return;
        }
        base_store(to, out, i, v);
    }
}

bool onnx_casts_strings(onnx_op *op) {
    const bool like = strcmp(op->type, "CastLike") == 0;
    if (*op->domain || !(like || (strcmp(op->type, "Cast") == 0 && op->opset >= 6)) || !onnx_op_has_input(op, 0)) {
        return false;
    }
    const base_type to = like ? onnx_op_has_input(op, 1) ? onnx_op_input(op, 1)->type : BASE_NONE
                              : onnx_type_base(onnx_op_int(op, "to", 0));
    const ir_tensor t = *onnx_op_input(op, 0);
    if ((t.type != BASE_STR && to != BASE_STR) || onnx_op_failed(op)) {
        return false;
    }
    (void)onnx_op_int(op, "saturate", 1);
    (void)onnx_op_text(op, "round_mode", NULL);
    if (to == BASE_NONE || !has_counts(op, like ? 2 : 1, 1)) {
        return onnx_op_failed(op);
    }
    if (to == BASE_BOOL) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s of strings to bool", op->type),
                            "the standard does not say which strings are true: cast to a number first");
        return true;
    }
    const void *data = contents_of(op, 0);
    if (data) {
        void *out = base_alloc(op->r->arena, count_of(&t) + 1, sizeof(double));
        if (t.type == to) {
            out = (void *)(uintptr_t)data;
        } else if (to == BASE_STR) {
            cast_to_strings(op, &t, data, out);
        } else {
            cast_strings(op, &t, data, to, out);
        }
        give(op, 0, to, &t.shape, out);
    }
    return true;
}

/* ---- StringConcat ---- */

/* Where element i of a shape stands in a tensor that is broadcast to it. */
static size_t broadcast_place(const ir_shape *from, const ir_shape *to, size_t i) {
    size_t place = 0, stride = 1;
    for (uint32_t k = 0; k < to->rank; k++) {
        const uint32_t axis = to->rank - 1 - k;
        const size_t at = i % (size_t)to->dim[axis];
        i /= (size_t)to->dim[axis];
        if (k < from->rank) {
            const int64_t extent = from->dim[from->rank - 1 - k];
            place += extent == 1 ? 0 : at * stride;
            stride *= (size_t)extent;
        }
    }
    return place;
}

static bool broadcast(onnx_op *op, const ir_shape *a, const ir_shape *b, ir_shape *out) {
    *out = a->rank > b->rank ? *a : *b;
    for (uint32_t k = 0; k < out->rank; k++) {
        const int64_t x = k < a->rank ? a->dim[a->rank - 1 - k] : 1, y = k < b->rank ? b->dim[b->rank - 1 - k] : 1;
        if (x != y && x != 1 && y != 1) {
            onnx_op_error(op, "extents %lld and %lld are not broadcast to each other", (long long)x, (long long)y);
            return false;
        }
        out->dim[out->rank - 1 - k] = x == 1 ? y : x;
    }
    return true;
}

enum { MOST_BYTES = 1 << 28 }; /* of strings that one node makes */

static bool grow(onnx_op *op, size_t *bytes, size_t by) {
    *bytes = by > MOST_BYTES - *bytes ? MOST_BYTES : *bytes + by;
    if (*bytes == MOST_BYTES) {
        onnx_op_unsupported(op, base_printf(op->r->arena, "operator %s of more than 256 MiB of strings", op->type),
                            "let the model make less of them");
    }
    return *bytes < MOST_BYTES;
}

void onnx_read_string_concat(onnx_op *op) {
    ir_shape shape;
    if (!has_strings(op, 2, 1)) {
        return;
    }
    const void *a = contents_of(op, 0), *b = a ? contents_of(op, 1) : NULL;
    const ir_shape left = onnx_op_input(op, 0)->shape, right = onnx_op_input(op, 1)->shape;
    uint64_t n = 0;
    size_t bytes = 0;
    if (!a || !b || !broadcast(op, &left, &right, &shape) || !ir_shape_elements(&shape, &n) ||
        !grow(op, &bytes, n > MOST_BYTES ? MOST_BYTES : (size_t)n)) {
        return;
    }
    void *out = base_alloc(op->r->arena, (size_t)n + 1, sizeof(uint32_t));
    base_text text = {.arena = op->r->arena};
    for (size_t i = 0; i < n; i++) {
        const base_bytes x = string_of(op, a, broadcast_place(&left, &shape, i)),
                         y = string_of(op, b, broadcast_place(&right, &shape, i));
        if (!grow(op, &bytes, x.size) || !grow(op, &bytes, y.size)) {
            return;
        }
        text.n = 0;
        base_putn(&text, x.at, x.size);
        base_putn(&text, y.at, y.size);
        put_string(op, out, i, text.n ? text.at : "", text.n);
    }
    give(op, 0, BASE_STR, &shape, out);
}

/* ---- StringSplit ---- */

typedef BASE_VEC(base_bytes) pieces;

static bool is_space(uint8_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* At runs of white space, of which none stands at an end. */
static void split_at_spaces(onnx_op *op, base_bytes s, int64_t most, pieces *out) {
    size_t at = 0;
    for (;;) {
        while (at < s.size && is_space(s.at[at])) {
            at++;
        }
        if (at == s.size) {
            return;
        }
        size_t end = at;
        while (end < s.size && !is_space(s.at[end])) {
            end++;
        }
        if (most-- == 0) { /* the rest */
            for (end = s.size; is_space(s.at[end - 1]);) {
                end--;
            }
            *BASE_PUSH(op->r->arena, out) = (base_bytes){s.at + at, end - at};
            return;
        }
        *BASE_PUSH(op->r->arena, out) = (base_bytes){s.at + at, end - at};
        at = end;
    }
}

static void split_at(onnx_op *op, base_bytes s, base_bytes by, int64_t most, pieces *out) {
    size_t from = 0;
    for (size_t at = 0; most != 0 && at + by.size <= s.size;) {
        if (memcmp(s.at + at, by.at, by.size) != 0) {
            at++;
            continue;
        }
        *BASE_PUSH(op->r->arena, out) = (base_bytes){s.at + from, at - from};
        at += by.size;
        from = at;
        most--;
    }
    *BASE_PUSH(op->r->arena, out) = (base_bytes){s.at + from, s.size - from};
}

void onnx_read_string_split(onnx_op *op) {
    const onnx_attr *delimiter = onnx_op_attr(op, "delimiter", ONNX_STRING);
    const int64_t most = onnx_op_int(op, "maxsplit", -1);
    const void *data = has_strings(op, 1, 2) ? contents_of(op, 0) : NULL;
    if (!data) {
        return;
    }
    const ir_tensor t = *onnx_op_input(op, 0);
    const size_t n = count_of(&t);
    pieces *of = BASE_NEWS(op->r->arena, pieces, n + 1);
    size_t widest = 0, bytes = 0;
    void *counts = base_alloc(op->r->arena, n + 1, sizeof(int64_t));
    for (size_t i = 0; i < n; i++) {
        if (delimiter && delimiter->s.size) {
            split_at(op, string_of(op, data, i), delimiter->s, most, &of[i]);
        } else {
            split_at_spaces(op, string_of(op, data, i), most, &of[i]);
        }
        widest = of[i].n > widest ? of[i].n : widest;
        base_store(BASE_I64, counts, i, (base_value){.i = (int64_t)of[i].n});
    }
    if (t.shape.rank == IR_MAX_RANK || (widest && n > MOST_BYTES / widest) || !grow(op, &bytes, n * widest)) {
        if (!onnx_op_failed(op) && t.shape.rank == IR_MAX_RANK) {
            onnx_op_error(op, "its output has more than %u extents", IR_MAX_RANK);
        }
        return;
    }
    uint8_t *out = base_alloc(op->r->arena, n * widest + 1, sizeof(uint32_t));
    memset(out, 0, n * widest * sizeof(uint32_t)); /* empty strings */
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < of[i].n; k++) {
            put_string(op, out, i * widest + k, of[i].at[k].at, of[i].at[k].size);
        }
    }
    ir_shape shape = t.shape;
    shape.dim[shape.rank++] = (int64_t)widest;
    give(op, 0, BASE_STR, &shape, out);
    give(op, 1, BASE_I64, &t.shape, counts);
}

/* ---- StringNormalizer, RegexFullMatch ---- */

/* Letters of ASCII, which all locales but the Turkic change alike. */
static void change_case(base_text *text, base_bytes s, char action) {
    text->n = 0;
    for (size_t i = 0; i < s.size; i++) {
        char c = (char)s.at[i];
        if (action == 'U' && c >= 'a' && c <= 'z') {
            c = (char)(c - 32);
        } else if (action == 'L' && c >= 'A' && c <= 'Z') {
            c = (char)(c + 32);
        }
        base_putn(text, &c, 1);
    }
}

/* Other letters' cases, and those of Turkish, are a locale's. */
static bool needs_locale(onnx_op *op, base_bytes s) {
    for (size_t i = 0; i < s.size; i++) {
        if (s.at[i] >= 0x80) {
            onnx_op_unsupported(op, "operator StringNormalizer that changes the case of letters beyond ASCII",
                                "a locale decides that: change it before the model, and give is_case_sensitive 1");
            return true;
        }
    }
    return false;
}

/* Is it one of the words, in the case that `action` makes? */
static bool is_stopword(onnx_op *op, base_bytes s, const onnx_attr *words, char action) {
    base_text a = {.arena = op->r->arena}, b = {.arena = op->r->arena};
    change_case(&a, s, action);
    for (size_t i = 0; words && i < words->n; i++) {
        change_case(&b, words->strings[i], action);
        if (a.n == b.n && (!a.n || memcmp(a.at, b.at, a.n) == 0)) {
            return true;
        }
    }
    return false;
}

void onnx_read_string_normalizer(onnx_op *op) {
    const onnx_attr *words = onnx_op_attr(op, "stopwords", ONNX_STRINGS);
    const char *action = onnx_op_text(op, "case_change_action", "NONE"), *locale = onnx_op_text(op, "locale", "");
    const bool exact = onnx_op_int(op, "is_case_sensitive", 0) != 0;
    const void *data = has_strings(op, 1, 1) ? contents_of(op, 0) : NULL;
    if (!data) {
        return;
    }
    const ir_shape from = onnx_op_input(op, 0)->shape;
    const bool none = strcmp(action, "NONE") == 0;
    if ((!none && strcmp(action, "UPPER") != 0 && strcmp(action, "LOWER") != 0) || from.rank < 1 || from.rank > 2 ||
        (from.rank == 2 && from.dim[0] != 1)) {
        onnx_op_error(op, "expected NONE, UPPER or LOWER, and strings of shape C or 1xC");
        return;
    }
    const bool changes = !none || !exact;
    if (changes && (strncmp(locale, "tr", 2) == 0 || strncmp(locale, "az", 2) == 0)) {
        onnx_op_unsupported(op, "operator StringNormalizer of a Turkic locale", "change the case before the model");
        return;
    }
    for (size_t i = 0; changes && words && i < words->n; i++) {
        if (!exact && needs_locale(op, words->strings[i])) {
            return;
        }
    }
    const size_t n = (size_t)from.dim[from.rank - 1];
    uint8_t *out = base_alloc(op->r->arena, n + 1, sizeof(uint32_t));
    base_text text = {.arena = op->r->arena};
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const base_bytes s = string_of(op, data, i);
        if (changes && needs_locale(op, s)) {
            return;
        }
        if (!is_stopword(op, s, words, exact ? 'N' : 'L')) {
            change_case(&text, s, *action);
            put_string(op, out, kept++, text.n ? text.at : "", text.n);
        }
    }
    if (!kept) {
        put_string(op, out, kept++, "", 0);
    }
    ir_shape shape = from;
    shape.dim[shape.rank - 1] = (int64_t)kept;
    give(op, 0, BASE_STR, &shape, out);
}

/* Of no strings none matches; patterns are RE2's own language. */
void onnx_read_regex_full_match(onnx_op *op) {
    (void)onnx_op_text(op, "pattern", "");
    if (!has_strings(op, 1, 1)) {
        return;
    }
    const ir_tensor t = *onnx_op_input(op, 0);
    if (!ir_shape_open(&t.shape) && count_of(&t) == 0) {
        give(op, 0, BASE_BOOL, &t.shape, "");
        return;
    }
    onnx_op_unsupported(op, "operator RegexFullMatch of ai.onnx",
                        "match before the model: patterns are RE2's language");
}
