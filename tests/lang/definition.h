/* definition.h - for the tests of the language: definitions as text, calls as text, results as text.
 *
 * A call is written  name item item ...  with the items
 *   f32[2,3]            an input; f32[2]={1,2} with contents for the run, f32[2]:{1,2} known at instantiation already;
 *                       i8[2]@0.5:3 quantised (scale:zero point, a list of them along the last extent: @0.5:3,0.25:0);
 *                       - an absent input
 *   >i8[2]  >i8         an output: its type and extents, or its type alone; may be quantised as an input
 *   axis=1  p=[1,2]  alpha=0.5  act='relu'   attributes
 *   +litert             a goal
 * Results are the elements of all outputs in order, outputs separated by |: integers in decimal, floats as the shortest
 * decimal (2, not 2.0).
 */
#ifndef BURIN_TESTS_LANG_DEFINITION_H
#define BURIN_TESTS_LANG_DEFINITION_H

#define SIXTY_FOUR                                                                                                     \
    "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"                          \
    "33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lang/lang.h"

typedef struct definition {
    base_memory memory;
    base_arena *arena;
    base_diags diags;
    lang_library *lib;
    lang_call call;
    lang_argument inputs[16], outputs[4];
    const void *contents[16];
    ir_attr attrs[16];
    const char *goals[4];
    lang_program *program;
} definition;

static inline void definition_begin(definition *f) {
    memset(f, 0, sizeof *f);
    f->arena = base_arena_new(&f->memory);
    f->diags.arena = f->arena;
    f->lib = lang_library_new(f->arena);
}

static inline void definition_end(definition *f) {
    base_arena_free(f->arena);
    assert_int_equal(f->memory.in_use, 0);
}

static inline base_status definition_parse(definition *f, const char *text) {
    return lang_parse(f->lib, "test", text, strlen(text), &f->diags);
}

/* Everything reported, as people see it. */
static inline const char *definition_report(definition *f) {
    base_text t = {f->arena, NULL, 0, 0};
    base_puts(&t, "");
    for (size_t k = 0; k < f->diags.list.n; k++)
        base_diag_print(&t, &f->diags.list.at[k], false);
    return t.at ? t.at : "";
}

/* Removes the mark '^' from a text and gives its line and column; false: there is none. */
static inline bool definition_mark(char *text, unsigned *line, unsigned *column) {
    *line = *column = 1;
    for (; *text && *text != '^'; text++) {
        if (*text == '\n') {
            ++*line;
            *column = 0;
        }
        *column += ((unsigned char)*text & 0xc0) != 0x80; /* characters, not bytes */
    }
    if (!*text)
        return false;
    memmove(text, text + 1, strlen(text));
    return true;
}

/* ---- calls ---- */
static inline double definition_number(const char **s) {
    double v;
    const bool minus = **s == '-';
    const char *at = *s + minus, *end;
    if (!base_parse_float(at, &end, &v))
        fail_msg("no number: %s", *s);
    *s = end;
    return minus ? -v : v;
}

static inline uint64_t definition_elements(const ir_shape *shape) {
    uint64_t n = 0;
    assert_true(ir_shape_elements(shape, &n));
    return n;
}

static inline void *definition_data(definition *f, const lang_argument *a, const char **s) {
    uint64_t bytes, n = definition_elements(&a->shape);
    assert_true(base_type_bytes(a->type, n, &bytes));
    void *data = base_alloc(f->arena, bytes + 1, 1);
    for (uint64_t k = 0; k < n; k++) {
        const double v = definition_number(s);
        base_value b = {.f = v};
        if (!base_type_is_float(a->type))
            b.i = (int64_t)v;
        base_store(a->type, data, k, b);
        assert_int_equal(**s, k + 1 < n ? ',' : '}');
        ++*s;
    }
    if (n == 0)
        assert_int_equal(*(*s)++, '}');
    return data;
}

static inline void definition_quant(definition *f, lang_argument *a, const char **s) {
    float *scales = BASE_NEWS(f->arena, float, 8);
    int64_t *zeros = BASE_NEWS(f->arena, int64_t, 8);
    do {
        ++*s;
        scales[a->quant.n] = (float)definition_number(s);
        assert_int_equal(*(*s)++, ':');
        zeros[a->quant.n++] = (int64_t)definition_number(s);
    } while (**s == ',');
    a->quant.axis = a->quant.n > 1 && a->shape.rank > 0 ? (int32_t)a->shape.rank - 1 : 0;
    a->quant.scale = scales;
    a->quant.zero = zeros;
}

static inline void definition_argument(definition *f, lang_argument *a, const char *s, const void **contents) {
    if (*s == '-')
        return;
    size_t n = strcspn(s, "[@");
    a->present = true;
    a->type = base_type_named(s, n);
    s += n;
    if (*s == '[') {
        int64_t dims[IR_MAX_RANK];
        uint32_t rank = 0;
        for (s++; *s != ']'; s += *s == ',')
            dims[rank++] = (int64_t)definition_number(&s);
        s++;
        a->shape = ir_shape_of(rank, dims);
        a->shape_known = true;
    }
    if (*s == '@')
        definition_quant(f, a, &s);
    if ((*s == '=' || *s == ':') && s[1] == '{') {
        const bool known = *s == ':';
        s += 2;
        *contents = definition_data(f, a, &s);
        if (known)
            a->data = *contents;
    }
    if (*s)
        fail_msg("what is this in a call: %s", s);
}

static inline void definition_attr(definition *f, ir_attr *a, const char *s, const char *equals) {
    a->name = base_strndup(f->arena, s, (size_t)(equals - s));
    s = equals + 1;
    if (*s == '\'') {
        a->kind = IR_TEXT;
        a->n = strlen(s) - 2;
        a->v.text = base_strndup(f->arena, s + 1, a->n);
        return;
    }
    const bool list = *s == '[', is_float = strpbrk(s, ".in") != NULL;
    int64_t *ints = BASE_NEWS(f->arena, int64_t, 128);
    double *floats = BASE_NEWS(f->arena, double, 128);
    for (s += list; *s && *s != ']'; s += *s == ',') {
        floats[a->n] = definition_number(&s);
        ints[a->n] = (int64_t)floats[a->n];
        a->n++;
    }
    a->kind = list ? (is_float ? IR_FLOATS : IR_INTS) : is_float ? IR_FLOAT : IR_INT;
    if (list && is_float)
        a->v.floats = floats;
    else if (list)
        a->v.ints = ints;
    else if (is_float)
        a->v.f = floats[0];
    else
        a->v.i = ints[0];
}

/* Instantiates the call; the program is in f->program. */
static inline base_status definition_call(definition *f, const char *text) {
    char *copy = base_strdup(f->arena, text), *save = NULL;
    memset(&f->call, 0, sizeof f->call);
    memset(f->inputs, 0, sizeof f->inputs);
    memset(f->outputs, 0, sizeof f->outputs);
    memset(f->attrs, 0, sizeof f->attrs);
    memset(f->contents, 0, sizeof f->contents);
    f->call.op = strtok_r(copy, " ", &save);
    for (char *s; (s = strtok_r(NULL, " ", &save)) != NULL;) {
        char *equals = strchr(s, '='), *bracket = strchr(s, '[');
        if (*s == '>')
            definition_argument(f, &f->outputs[f->call.output_count++], s + 1, NULL);
        else if (*s == '+')
            f->goals[f->call.goal_count++] = s + 1;
        else if (equals && (!bracket || equals < bracket))
            definition_attr(f, &f->attrs[f->call.attr_count++], s, equals);
        else {
            definition_argument(f, &f->inputs[f->call.input_count], s, &f->contents[f->call.input_count]);
            f->call.input_count++;
        }
    }
    f->call.inputs = f->inputs;
    f->call.outputs = f->outputs;
    f->call.attrs = f->attrs;
    f->call.goals = f->goals;
    base_status status = lang_instantiate(f->arena, f->lib, &f->call, &f->program, &f->diags);
    if (status == BASE_OK && lang_verify(f->program, &f->diags) != BASE_OK)
        fail_msg("the program breaks an invariant:\n%s", definition_report(f));
    return status;
}

static inline const char *definition_dump(definition *f) {
    base_text t = {f->arena, NULL, 0, 0};
    lang_print(&t, f->program);
    return t.at;
}

/* Runs the program on the call's contents. NULL: the run was refused. */
static inline const char *definition_run(definition *f) {
    const lang_program *p = f->program;
    lang_code *code = lang_compile(f->arena, p, LANG_EVAL_EXACT, &f->diags);
    if (!code)
        return NULL;
    const void *inputs[16] = {0};
    for (size_t k = 0; k < p->inputs.n; k++)
        inputs[k] = f->contents[k];
    lang_result results[8] = {0};
    for (size_t k = 0; k < p->outputs.n; k++) {
        const lang_tensor *t = &p->tensors.at[p->outputs.at[k]];
        uint64_t n = 1, bytes;
        for (uint32_t j = 0; j < t->rank; j++)
            n *= (uint64_t)t->dim[j];
        assert_true(base_type_bytes(t->type, n, &bytes));
        results[k].data = base_alloc(f->arena, bytes + 1, 1);
    }
    if (lang_run(code, f->arena, inputs, results, &f->diags) != BASE_OK)
        return NULL;
    base_text out = {f->arena, NULL, 0, 0};
    base_puts(&out, "");
    for (size_t k = 0; k < p->outputs.n; k++) {
        const lang_tensor *t = &p->tensors.at[p->outputs.at[k]];
        uint64_t n = 1;
        for (uint32_t j = 0; j < t->rank; j++)
            n *= (uint64_t)results[k].dim[j];
        if (k > 0)
            base_puts(&out, out.n ? " |" : "|");
        for (uint64_t j = 0; j < n; j++) {
            const base_value v = base_load(t->type, results[k].data, j);
            if (out.n)
                base_puts(&out, " ");
            if (base_type_is_float(t->type)) {
                if (t->type == BASE_F64)
                    base_put_float(&out, v.f);
                else
                    base_put_float32(&out, (float)v.f);
                if (out.n > 2 && strcmp(out.at + out.n - 2, ".0") == 0)
                    out.at[out.n -= 2] = 0;
            } else if (base_type_is_signed(t->type))
                base_put(&out, "%lld", (long long)v.i);
            else
                base_put(&out, "%llu", (unsigned long long)v.u);
        }
    }
    return out.at ? out.at : "";
}

/* Parses, calls, runs, compares. */
static inline void definition_gives(const char *text, const char *call, const char *expected) {
    definition f;
    definition_begin(&f);
    if (definition_parse(&f, text) != BASE_OK || definition_call(&f, call) != BASE_OK)
        fail_msg("%s\n%s\n%s", text, call, definition_report(&f));
    const char *given = definition_run(&f);
    if (!given || strcmp(given, expected) != 0)
        fail_msg("%s\n%s\nexpected %s\ngiven    %s\n%s%s", text, call, expected, given ? given : "nothing",
                 definition_report(&f), definition_dump(&f));
    definition_end(&f);
}

/* The first error of a text with a mark, or of the call of it: at the mark, with these words. */
static inline void definition_fails(const char *marked, const char *call, const char *words) {
    definition f;
    unsigned line, column;
    definition_begin(&f);
    char *text = base_strdup(f.arena, marked);
    if (!definition_mark(text, &line, &column))
        fail_msg("no mark in %s", marked);
    if (!call) {
        assert_int_equal(definition_parse(&f, text), BASE_REFUSED);
    } else {
        if (definition_parse(&f, text) != BASE_OK)
            fail_msg("%s\n%s", marked, definition_report(&f));
        if (definition_call(&f, call) != BASE_REFUSED)
            fail_msg("%s\n%s\nis not refused", marked, call);
        assert_null(f.program);
    }
    assert_true(f.diags.list.n > 0);
    const base_diag *d = &f.diags.list.at[0];
    if (d->severity != BASE_ERROR || d->line != line || d->column != column || !strstr(d->message, words))
        fail_msg("%s\nexpected %u:%u: %s\n%s", marked, line, column, words, definition_report(&f));
    if (f.diags.errors != 1)
        fail_msg("%s\nmore than one error\n%s", marked, definition_report(&f));
    assert_string_equal(d->file, "test");
    assert_non_null(d->line_text);
    definition_end(&f);
}

#endif
