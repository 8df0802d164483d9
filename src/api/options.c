/* options.c - compile options: copied, compared, printed, read, held to their ranges; by the table burin/options.def.
 *
 * Takes burin_compile_options of this or an older size (fields are only added). A name or value that is not in the table is a
 * usage error that names what is allowed, and the nearest. What they mean for the rooms is resolve.c's.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api.h"

/* The table's rows have the places and sizes of the struct's fields: no field is without a row. */
struct by_table {
    size_t size;
#define TYPE_FLAG bool
#define TYPE_TEXT const char *
#define TYPE_NAMES const char *
#define TYPE_PATH const char *
#define TYPE_CHOICE const char *
#define TYPE_NUMBER unsigned
#define BURIN_OPTION(kind, field, ...) TYPE_##kind field;
#include "burin/options.def"
#undef BURIN_OPTION
};
_Static_assert(sizeof(struct by_table) == sizeof(burin_compile_options),
               "a field of the struct has no row, or a row no field");
#define BURIN_OPTION(kind, field, ...)                                                                                 \
    _Static_assert(offsetof(struct by_table, field) == offsetof(burin_compile_options, field),                         \
                   "the rows are in the struct's order: " #field);
#include "burin/options.def"
#undef BURIN_OPTION

typedef enum kind { FLAG, TEXT, NAMES, PATH, CHOICE, NUMBER } kind;

typedef struct option {
    kind kind;
    const char *field, *flag, *value;
    uint64_t lowest, highest;
    size_t at, size; /* in the struct */
} option;

static const option options[] = {
#define BURIN_OPTION(kind, field, flag, letter, value, lowest, highest, ...)                                           \
    {kind, #field, flag, value, lowest, highest, offsetof(burin_compile_options, field), sizeof(TYPE_##kind)},
#include "burin/options.def"
#undef BURIN_OPTION
};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

/* What a field holds, whatever its kind. */
typedef struct value {
    const char *text;
    unsigned number;
    bool yes;
} value;

static value get(const option *o, const burin_compile_options *from) {
    const char *at = (const char *)from + o->at;
    value v = {0};
    memcpy(o->kind == FLAG ? (void *)&v.yes : o->kind == NUMBER ? (void *)&v.number : (void *)&v.text, at, o->size);
    return v;
}

static void set(const option *o, burin_compile_options *to, value v) {
    memcpy((char *)to + o->at,
           o->kind == FLAG     ? (const void *)&v.yes
           : o->kind == NUMBER ? (const void *)&v.number
                               : (const void *)&v.text,
           o->size);
}

static bool same(value a, value b) {
    return a.number == b.number && a.yes == b.yes &&
           (a.text == b.text || (a.text != NULL && b.text != NULL && strcmp(a.text, b.text) == 0));
}

burin_compile_options api_options(const burin_compile_options *o) {
    burin_compile_options full = BURIN_COMPILE_OPTIONS_INIT;
    memcpy(&full, o, o->size < sizeof full ? o->size : sizeof full);
    full.size = sizeof full;
    return full;
}

bool burin_compile_options_equal(const burin_compile_options *x, const burin_compile_options *y) {
    const burin_compile_options a = api_options(x), b = api_options(y);
    bool equal = true;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        equal = equal && same(get(&options[i], &a), get(&options[i], &b));
    }
    return equal;
}

typedef struct options_call {
    const burin_compile_options *from;
    burin_compile_options *to;
    const char *name, *text;
} options_call;

static base_status copy(burin_context *c, void *arguments) {
    options_call *call = arguments;
    burin_compile_options full = api_options(call->from);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        value v = get(&options[i], &full);
        v.text = v.text != NULL ? base_strdup(c->arena, v.text) : NULL;
        set(&options[i], &full, v);
    }
    *call->to = full;
    return BASE_OK;
}

burin_status burin_compile_options_copy(burin_context *c, const burin_compile_options *from,
                                        burin_compile_options *to) {
    options_call call = {.from = from, .to = to};
    return api_guarded(c, copy, &call);
}

/* ---- as text ---- */

#define NONE "(none)" /* how a text that is NULL is printed, and read */

static base_status print(burin_context *c, void *arguments) {
    options_call *call = arguments;
    const burin_compile_options full = api_options(call->from);
    base_text t = {.arena = c->arena};
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const value v = get(&options[i], &full);
        base_put(&t, "%s: ", options[i].field);
        if (options[i].kind == NUMBER) {
            base_put(&t, "%u\n", v.number);
        } else {
            base_put(&t, "%s\n", options[i].kind == FLAG ? (v.yes ? "true" : "false") : v.text != NULL ? v.text : NONE);
        }
    }
    call->text = t.at;
    return BASE_OK;
}

burin_status burin_compile_options_text(burin_context *c, const burin_compile_options *from, const char **text) {
    options_call call = {.from = from};
    burin_status status = api_guarded(c, print, &call);
    *text = status == BURIN_OK ? call.text : NULL;
    return status;
}

base_status api_none_of(burin_context *c, const char *what, const char *given, const char *const *names, size_t n) {
    base_text list = {.arena = c->arena};
    for (size_t i = 0; i < n; i++) {
        base_put(&list, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", names[i]);
    }
    const char *near = base_nearest(given, names, n);
    base_error(&c->diags, NULL, "%s: \"%s\" is none of %s%s%s%s", what, given, list.at,
               near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
    return BASE_USAGE;
}

/* A choice: one of "a|b|c". On success v->text is the table's. */
static base_status choose(burin_context *c, const option *o, value *v) {
    const char *names[8];
    size_t n = 0;
    for (const char *at = o->value; at != NULL && n < sizeof names / sizeof names[0]; n++) {
        const char *bar = strchr(at, '|');
        names[n] = bar != NULL ? base_printf(c->arena, "%.*s", (int)(bar - at), at) : at;
        at = bar != NULL ? bar + 1 : NULL;
        if (v->text != NULL && strcmp(v->text, names[n]) == 0) {
            v->text = names[n];
            return BASE_OK;
        }
    }
    return api_none_of(c, o->field, v->text != NULL ? v->text : "", names, n);
}

/* The standard value of a field is in its range, whatever the range says: so "no bound", "the lowest that will do". */
static base_status check_range(burin_context *c, const option *o, value *v) {
    static const burin_compile_options standards = BURIN_COMPILE_OPTIONS_INIT;
    if (same(*v, get(o, &standards))) {
        return BASE_OK;
    }
    if (o->kind == NUMBER && (v->number < o->lowest || v->number > o->highest)) {
        base_error(&c->diags, NULL, "%s: %u is not a number from %" PRIu64 " to %" PRIu64, o->field, v->number,
                   o->lowest, o->highest);
        return BASE_USAGE;
    }
    return o->kind == CHOICE ? choose(c, o, v) : BASE_OK;
}

base_status api_check_ranges(burin_context *c, const burin_compile_options *o) {
    base_status status = BASE_OK;
    for (size_t i = 0; i < OPTION_COUNT && status == BASE_OK; i++) {
        value v = get(&options[i], o);
        status = check_range(c, &options[i], &v);
    }
    return status;
}

base_status api_check_effects(burin_context *c, const burin_compile_options *o, const char *target) {
    const burin_compile_options standards = BURIN_COMPILE_OPTIONS_INIT;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *row = &options[i];
        /* what is on without being said, and was switched off, asks for less: there may be nothing to leave out */
        const bool off = row->kind == FLAG && get(row, &standards).yes;
        const value v = get(row, o);
        const bool said = row->kind == FLAG || row->kind == NUMBER || v.text != NULL;
        if (!off && said && *row->flag != 0 && !same(v, get(row, &standards)) &&
            !burin_target_uses(target, row->flag)) {
            base_error(&c->diags, NULL, "%s has no effect with target %s", row->field, target);
            return BASE_USAGE;
        }
    }
    return BASE_OK;
}

/* ---- read ---- */

static base_status not_that(burin_context *c, const option *o, const char *given, const char *expected) {
    base_error(&c->diags, NULL, "%s: \"%s\" is not %s", o->field, base_printable(c->arena, given, strlen(given), 80),
               expected);
    return BASE_USAGE;
}

static base_status read_value(burin_context *c, const option *o, const char *text, value *v) {
    if (o->kind == FLAG) {
        v->yes = strcmp(text, "true") == 0;
        return v->yes || strcmp(text, "false") == 0 ? BASE_OK : not_that(c, o, text, "true or false");
    }
    if (o->kind != NUMBER) {
        v->text = strcmp(text, NONE) == 0 ? NULL : base_strdup(c->arena, text);
        return *text == 0 ? not_that(c, o, text, "a value") : BASE_OK;
    }
    uint64_t n = 0;
    const char *at = text;
    while (*at >= '0' && *at <= '9' && n <= UINT32_MAX) {
        n = n * 10 + (uint64_t)(*at++ - '0');
    }
    if (at == text || *at != 0 || n > UINT32_MAX) {
        return not_that(c, o, text,
                        base_printf(c->arena, "a number from %" PRIu64 " to %" PRIu64, o->lowest, o->highest));
    }
    v->number = (unsigned)n;
    return BASE_OK;
}

static base_status set_option(burin_context *c, burin_compile_options *to, const char *name, const char *text) {
    const char *names[OPTION_COUNT];
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *o = &options[i];
        names[i] = o->field;
        if (strcmp(name, o->field) != 0) {
            continue;
        }
        if (o->at + o->size > to->size) {
            base_error(&c->diags, NULL, "%s: the struct that was given is of an older version, without it", name);
            return BASE_USAGE;
        }
        value v = {0};
        base_status status = read_value(c, o, text, &v);
        if (status == BASE_OK) {
            status = check_range(c, o, &v);
        }
        if (status == BASE_OK) {
            set(o, to, v);
        }
        return status;
    }
    const char *near = base_nearest(name, names, OPTION_COUNT);
    base_error(&c->diags, NULL, "no such option: %s%s%s%s", base_printable(c->arena, name, strlen(name), 80),
               near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
    return BASE_USAGE;
}

static base_status set_one(burin_context *c, void *arguments) {
    options_call *call = arguments;
    return set_option(c, call->to, call->name, call->text);
}

burin_status burin_compile_options_set(burin_context *c, burin_compile_options *to, const char *name,
                                       const char *text) {
    options_call call = {.to = to, .name = name, .text = text};
    return api_guarded(c, set_one, &call);
}

static base_status parse(burin_context *c, void *arguments) {
    options_call *call = arguments;
    burin_compile_options read = api_options(call->to);
    read.size = call->to->size;
    for (const char *line = call->text; *line != 0;) {
        const size_t n = strcspn(line, "\n"), name = strcspn(line, ":\n");
        if (n != 0) {
            if (name == n || line[name + 1] != ' ') {
                base_error(&c->diags, NULL, "\"%s\" is not of the form \"name: value\"",
                           base_printable(c->arena, line, n, 80));
                return BASE_USAGE;
            }
            base_status status = set_option(c, &read, base_strndup(c->arena, line, name),
                                            base_strndup(c->arena, line + name + 2, n - name - 2));
            if (status != BASE_OK) {
                return status;
            }
        }
        line += n + (line[n] == '\n');
    }
    memcpy(call->to, &read, read.size < sizeof read ? read.size : sizeof read);
    return BASE_OK;
}

burin_status burin_compile_options_parse(burin_context *c, const char *text, burin_compile_options *to) {
    options_call call = {.to = to, .text = text};
    return api_guarded(c, parse, &call);
}
