/* library.c - parsed definitions: names, lookup, and what an overload declares.
 *
 * Takes what parse.c makes. Gives interned names, the meaning of call names, operators by name, and their declarations
 * as text for documentation. Does not judge an expression.
 */
#include "lang/ast.h"

#include <string.h>

lang_library *lang_library_new(base_arena *arena) {
    lang_library *lib = BASE_NEW(arena, lang_library);
    lib->arena = arena;
    lib->symbols = base_map_new(arena);
    lib->ops = base_map_new(arena);
    (void)lang_intern(lib, "", 0);
    return lib;
}

lang_symbol lang_intern(lang_library *lib, const char *s, size_t n) {
    bool was_new;
    uint64_t *value = base_map_put(lib->symbols, s, n, &was_new);
    if (was_new) {
        *value = lib->names.n;
        *BASE_PUSH(lib->arena, &lib->names) = base_strndup(lib->arena, s, n);
        *BASE_PUSH(lib->arena, &lib->types) = base_type_named(s, n);
        *BASE_PUSH(lib->arena, &lib->fns) = NULL;
        *BASE_PUSH(lib->arena, &lib->callees) = (lang_callee){0};
    }
    return (lang_symbol)*value;
}

const char *lang_name(const lang_library *lib, lang_symbol s) {
    return lib->names.at[s];
}

base_place lang_place(const lang_source *source, lang_pos pos) {
    base_place place = {0};
    place.file = source->file;
    place.source = source->at;
    place.source_size = source->n;
    place.line = pos.line;
    place.column = pos.column;
    return place;
}

void lang_add_op(lang_library *lib, lang_op_decl *op) {
    const char *name = lang_name(lib, op->name);
    bool was_new;
    uint64_t *value = base_map_put(lib->ops, name, strlen(name), &was_new);
    if (was_new) {
        *value = lib->heads.n;
        *BASE_PUSH(lib->arena, &lib->heads) = op;
        return;
    }
    lang_op_decl *last = lib->heads.at[*value];
    while (last->next)
        last = last->next;
    last->next = op;
}

lang_op_decl *lang_find_op(const lang_library *lib, const char *name) {
    const uint64_t *value = base_map_get(lib->ops, name, strlen(name));
    return value ? lib->heads.at[*value] : NULL;
}

lang_fn_decl *lang_find_fn(const lang_library *lib, lang_symbol name) {
    return lib->fns.at[name];
}

bool lang_has_op(const lang_library *lib, const char *name) {
    return lang_find_op(lib, name) != NULL;
}
size_t lang_op_count(const lang_library *lib) {
    return lib->heads.n;
}
const char *lang_op_name(const lang_library *lib, size_t i) {
    return lang_name(lib, lib->heads.at[i]->name);
}

size_t lang_overload_count(const lang_library *lib, const char *name) {
    size_t n = 0;
    for (const lang_op_decl *op = lang_find_op(lib, name); op; op = op->next)
        n++;
    return n;
}

/* ---- names with a meaning of their own ---- */
static const struct {
    const char *spelling;
    unsigned least, most;
} builtins[] = {
#define LANG_BUILTIN_ROW(E, spelling, least, most) {spelling, least, most},
    LANG_BUILTINS(LANG_BUILTIN_ROW)
#undef LANG_BUILTIN_ROW
};

static const struct {
    const char *spelling;
    unsigned arity;
} words[] = {
#define LANG_WORD(E, spelling, arity, class) {spelling, arity},
#include "lang/words.def"
#undef LANG_WORD
};

const char *lang_builtin_name(lang_builtin b) {
    return builtins[b].spelling;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static lang_callee find_callee(lang_library *lib, lang_symbol name) {
    const char *s = lang_name(lib, name);
    lang_callee c = {LANG_C_NAMED, 0, 0, 255, 0, false};
    if (strcmp(s, "if") == 0)
        return (lang_callee){LANG_C_IF, 0, 3, 3, 0, false};
    if (lib->types.at[name])
        return (lang_callee){LANG_C_CONVERT, LANG_CAST, 1, 1, name, false};
    if (strncmp(s, "sat_", 4) == 0 && s[4])
        return (lang_callee){LANG_C_CONVERT, LANG_SAT, 1, 1, lang_intern(lib, s + 4, strlen(s + 4)), false};
    if (strncmp(s, "bits_", 5) == 0 && s[5])
        return (lang_callee){LANG_C_CONVERT, LANG_BITS, 1, 1, lang_intern(lib, s + 5, strlen(s + 5)), false};
    for (unsigned k = 0; k < LANG_BUILTIN_COUNT; k++)
        if (strcmp(s, builtins[k].spelling) == 0)
            return (lang_callee){LANG_C_BUILTIN, (uint8_t)k, builtins[k].least, builtins[k].most, 0, false};
    for (unsigned k = 0; k < LANG_WORD_COUNT; k++)
        if (is_letter(words[k].spelling[0]) && k != LANG_CAST && k != LANG_SAT && k != LANG_BITS &&
            strcmp(s, words[k].spelling) == 0)
            return (lang_callee){LANG_C_WORD, (uint8_t)k, words[k].arity, words[k].arity, 0, false};
    return c;
}

lang_callee lang_callee_of(lang_library *lib, lang_symbol name) {
    if (!lib->callees.at[name].known) {
        lang_callee c = find_callee(lib, name); /* may intern a type's name: the table may move */
        c.known = true;
        lib->callees.at[name] = c;
    }
    return lib->callees.at[name];
}

bool lang_reserved(const lang_library *lib, lang_symbol name) {
    static const char *const reserved[] = {"op",     "fn",    "attr", "in",   "when", "let", "chk",  "rec",
                                           "extern", "else",  "if",   "sum",  "prod", "max", "min",  "any",
                                           "all",    "first", "last", "pick", "inf",  "nan", "true", "false"};
    if (lib->types.at[name])
        return true;
    for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++)
        if (strcmp(lang_name(lib, name), reserved[k]) == 0)
            return true;
    return false;
}

/* ---- declarations as text ---- */
static const char *span_text(base_arena *arena, const lang_source *source, lang_span span) {
    return base_strndup(arena, source->at + span.start, span.end - span.start);
}

/* The lines of comment right above byte `start`, without their slashes, or NULL. */
static const char *doc_above(base_arena *arena, const lang_source *source, size_t start) {
    size_t line = start;
    while (line > 0 && source->at[line - 1] != '\n')
        line--;
    size_t first = line;
    while (first > 0) {
        size_t begin = first - 1;
        while (begin > 0 && source->at[begin - 1] != '\n')
            begin--;
        size_t k = begin;
        while (k < first && (source->at[k] == ' ' || source->at[k] == '\t'))
            k++;
        if (first - k < 3 || source->at[k] != '/' || source->at[k + 1] != '/')
            break;
        first = begin;
    }
    if (first == line)
        return NULL;
    base_text out = {arena, NULL, 0, 0};
    for (size_t k = first; k < line;) {
        while (source->at[k] != '/')
            k++;
        k += 2;
        if (k < line && source->at[k] == ' ')
            k++;
        size_t end = k;
        while (end < line && source->at[end] != '\n')
            end++;
        base_putn(&out, source->at + k, end - k - (end > k && source->at[end - 1] == '\r' ? 1 : 0));
        if (end + 1 < line)
            base_puts(&out, "\n");
        k = end + 1;
    }
    return out.at;
}

lang_op_info lang_overload(const lang_library *lib, const char *name, size_t k, base_arena *arena) {
    const lang_op_decl *op = lang_find_op(lib, name);
    while (k-- > 0)
        op = op->next;
    lang_op_info info = {0};
    info.name = lang_name(lib, op->name);
    info.doc = doc_above(arena, op->source, op->start);
    info.input_count = op->inputs.n;
    info.output_count = op->outputs.n;
    info.attr_count = op->attrs.n;
    const char **inputs = BASE_NEWS(arena, const char *, op->inputs.n + 1);
    const char **outputs = BASE_NEWS(arena, const char *, op->outputs.n + 1);
    const char **attrs = BASE_NEWS(arena, const char *, op->attrs.n + 1);
    for (size_t i = 0; i < op->inputs.n; i++)
        inputs[i] = span_text(arena, op->source, op->inputs.at[i].span);
    for (size_t i = 0; i < op->outputs.n; i++)
        outputs[i] = op->outputs.at[i].span.end ? span_text(arena, op->source, op->outputs.at[i].span) : "Y";
    for (size_t i = 0; i < op->attrs.n; i++)
        attrs[i] = span_text(arena, op->source, op->attrs.at[i].span);
    info.inputs = inputs;
    info.outputs = outputs;
    info.attrs = attrs;
    return info;
}

const ir_attr *lang_attr_default(base_arena *arena, const lang_library *lib, const char *op, const char *name) {
    const lang_op_decl *decl = lang_find_op(lib, op);
    for (size_t i = 0; decl && i < decl->attrs.n; i++) {
        const lang_attr_decl *a = &decl->attrs.at[i];
        if (!a->has_default || strcmp(lang_name(lib, a->name), name) != 0) {
            continue;
        }
        ir_attr *out = BASE_NEW(arena, ir_attr);
        int64_t *ints = BASE_NEWS(arena, int64_t, a->count + 1u);
        double *floats = BASE_NEWS(arena, double, a->count + 1u);
        for (uint32_t k = 0; k < a->count; k++) {
            ints[k] = a->values[k].i;
            floats[k] = a->values[k].f;
        }
        *out = (ir_attr){.name = name, .n = a->count};
        if (a->kind == LANG_A_TEXT) {
            out->kind = IR_TEXT;
            out->v.text = a->count ? a->values[0].text : "";
            out->n = strlen(out->v.text);
        } else if (a->kind == LANG_A_INT) {
            out->kind = a->pack ? IR_INTS : IR_INT;
            if (a->pack) {
                out->v.ints = ints;
            } else {
                out->v.i = ints[0];
            }
        } else {
            out->kind = a->pack ? IR_FLOATS : IR_FLOAT;
            if (a->pack) {
                out->v.floats = floats;
            } else {
                out->v.f = floats[0];
            }
        }
        return a->pack && a->kind == LANG_A_TEXT ? NULL : out;
    }
    return NULL;
}
