/* parse.c - the parser of definitions: items and clauses. Expressions are in parse_expr.c.
 *
 * Takes text. Gives trees in the library (ast.h). Reports every error it finds up to the diagnostics' limit: after one
 * it goes on at the next `op`, `fn` or clause keyword, and marks the definition as bad. Resolves no name.
 */
#include "lang/parse.h"

#include <string.h>

/* ---- tokens ---- */
static bool source_at(const lang_parser *p, lang_token t, const char *s) {
    return t.kind == LANG_T_NAME && !t.pack && strcmp(lang_name(p->lib, t.name), s) == 0;
}

bool lang_p_mark(const lang_parser *p, char a, char b) {
    return p->t.kind == LANG_T_MARK && p->t.mark == LANG_MARK(a, b);
}
bool lang_p_word(const lang_parser *p, const char *s) {
    return source_at(p, p->t, s);
}

void lang_p_next(lang_parser *p) {
    if (p->panic)
        return;
    p->last_end = p->t.end;
    p->t = lang_lex(&p->lexer);
    if (p->t.kind == LANG_T_BAD) {
        p->panic = true;
        p->stopped = p->t;
    }
}

bool lang_p_accept(lang_parser *p, char a, char b) {
    if (!lang_p_mark(p, a, b))
        return false;
    lang_p_next(p);
    return true;
}

void lang_p_fail(lang_parser *p, lang_pos pos, const char *format, ...) {
    if (p->panic)
        return;
    va_list list;
    va_start(list, format);
    const char *message = base_vprintf(p->lib->arena, format, list);
    va_end(list);
    base_place place = lang_place(p->source, pos);
    base_error(p->diags, &place, "%s", message);
    p->panic = true;
    p->stopped = p->t;
    p->t.kind = LANG_T_BAD;
}

static const char *shown(lang_parser *p) {
    if (p->t.kind == LANG_T_END)
        return "the end of the text";
    return base_printf(p->lib->arena, "'%s'",
                       base_printable(p->lib->arena, p->source->at + p->t.start, p->t.end - p->t.start, 40));
}

void lang_p_expected(lang_parser *p, const char *what) {
    if (!p->panic)
        lang_p_fail(p, p->t.pos, "expected %s, found %s", what, shown(p));
}

void lang_p_expect(lang_parser *p, char a, char b, const char *what) {
    if (!lang_p_accept(p, a, b))
        lang_p_expected(p, what);
}

lang_symbol lang_p_type(lang_parser *p) {
    if (p->t.kind != LANG_T_NAME || p->t.pack) {
        lang_p_expected(p, "a type");
        return 0;
    }
    lang_symbol s = p->t.name;
    char c = lang_name(p->lib, s)[0];
    if (!p->lib->types.at[s] && !(c >= 'A' && c <= 'Z'))
        lang_p_fail(p, p->t.pos, "there is no type '%s' (the name of a type variable starts with a capital letter)",
                    lang_name(p->lib, s));
    lang_p_next(p);
    return s;
}

/* A name that the definition gives to something of its own. */
static lang_symbol own_name(lang_parser *p, const char *what, bool pack_allowed, bool *pack) {
    if (p->t.kind != LANG_T_NAME || (p->t.pack && !pack_allowed)) {
        lang_p_expected(p, what);
        return 0;
    }
    lang_symbol s = p->t.name;
    if (lang_reserved(p->lib, s))
        lang_p_fail(p, p->t.pos, "'%s' is a word of the language, not a name to give", lang_name(p->lib, s));
    if (pack)
        *pack = p->t.pack;
    lang_p_next(p);
    return s;
}

lang_symbol lang_p_name(lang_parser *p, const char *what, bool *pack) {
    return own_name(p, what, pack != NULL, pack);
}

/* ---- what comes: looking ahead on a copy of the lexer ---- */
static lang_token ahead(lang_lexer *copy) {
    return lang_lex(copy);
}
static bool is_mark(lang_token t, char a) {
    return t.kind == LANG_T_MARK && t.mark == LANG_MARK(a, 0);
}

/* NAME [':' type] '[' ahead? With `to_equals`, also the matching ']' and '=' behind it. */
static bool is_stage_ahead(const lang_parser *p, bool to_equals) {
    if (p->t.kind != LANG_T_NAME || p->t.pack)
        return false;
    lang_lexer copy = p->lexer;
    copy.diags = NULL;
    lang_token t = ahead(&copy);
    for (unsigned k = 0; k < 2; k++)
        if (is_mark(t, k == 0 ? '#' : ':')) {
            (void)ahead(&copy);
            t = ahead(&copy);
        }
    if (!is_mark(t, '['))
        return false;
    if (!to_equals)
        return true;
    unsigned depth = 1;
    while (depth > 0) {
        t = ahead(&copy);
        if (t.kind == LANG_T_END || t.kind == LANG_T_BAD || source_at(p, t, "op") || source_at(p, t, "fn") ||
            source_at(p, t, "attr"))
            return false;
        if (is_mark(t, '[') || (t.kind == LANG_T_MARK && t.mark == LANG_MARK('.', '[')))
            depth++;
        else if (is_mark(t, ']'))
            depth--;
        if (depth > LANG_MAX_HEIGHT)
            return false;
    }
    return is_mark(ahead(&copy), '=');
}

static bool is_clause_word(const lang_parser *p) {
    static const char *const words[] = {"op", "fn", "attr", "when", "let", "chk", "rec", "extern"};
    if (lang_p_mark(p, '-', '>'))
        return true;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (lang_p_word(p, words[k]))
            return true;
    if (!lang_p_word(p, "in"))
        return false;
    lang_lexer copy = p->lexer;
    copy.diags = NULL;
    return !is_mark(ahead(&copy), '(');
}

/* After an error: to the next item, or inside an op also to its next clause. */
static void recover(lang_parser *p, bool in_op) {
    if (!p->panic)
        return;
    p->panic = false;
    p->depth = 0;
    p->t = p->stopped;
    p->lexer.diags = NULL; /* what is skipped is not judged */
    while (p->t.kind != LANG_T_END) {
        if (lang_p_word(p, "op") || lang_p_word(p, "fn") || (in_op && is_clause_word(p)))
            break;
        do
            p->t = lang_lex(&p->lexer);
        while (p->t.kind == LANG_T_BAD);
    }
    p->lexer.diags = p->diags;
}

/* ---- clauses ---- */
static lang_literal literal(lang_parser *p, lang_attr_kind kind) {
    lang_literal v = {0};
    bool minus = lang_p_accept(p, '-', 0);
    if (kind == LANG_A_TEXT) {
        if (p->t.kind != LANG_T_TEXT || minus)
            lang_p_expected(p, "a text in quotes");
        v.text = p->t.text;
    } else if (p->t.kind == LANG_T_INT) {
        v.i = minus ? -p->t.i : p->t.i;
        v.f = (double)v.i;
    } else if (kind == LANG_A_FLOAT && (p->t.kind == LANG_T_FLOAT || lang_p_word(p, "inf") || lang_p_word(p, "nan"))) {
        double f = p->t.kind == LANG_T_FLOAT ? p->t.f : lang_p_word(p, "inf") ? (double)INFINITY : (double)NAN;
        v.f = minus ? -f : f;
    } else {
        lang_p_expected(p, kind == LANG_A_FLOAT ? "a number" : "an integer");
    }
    lang_p_next(p);
    return v;
}

static void default_value(lang_parser *p, lang_attr_decl *a) {
    BASE_VEC(lang_literal) values = {0};
    if (a->pack) {
        lang_p_expect(p, '{', 0, "'{' (the values of a pack)");
        while (!p->panic && !lang_p_mark(p, '}', 0)) {
            if (values.n == LANG_MAX_PACK)
                lang_p_fail(p, p->t.pos, "a pack has at most %u entries", LANG_MAX_PACK);
            *BASE_PUSH(p->lib->arena, &values) = literal(p, a->kind);
            if (!lang_p_accept(p, ',', 0))
                break;
        }
        lang_p_expect(p, '}', 0, "'}'");
    } else {
        *BASE_PUSH(p->lib->arena, &values) = literal(p, a->kind);
    }
    a->has_default = true;
    a->values = values.at;
    a->count = (uint32_t)values.n;
}

static void attr_clause(lang_parser *p, lang_op_decl *op) {
    do {
        lang_attr_decl a = {0};
        a.pos = p->t.pos;
        a.span.start = p->t.start;
        a.name = lang_p_name(p, "the name of an attribute", &a.pack);
        if (lang_p_accept(p, ':', 0)) {
            if (lang_p_word(p, "int"))
                a.kind = LANG_A_INT;
            else if (lang_p_word(p, "float"))
                a.kind = LANG_A_FLOAT;
            else if (lang_p_word(p, "text"))
                a.kind = LANG_A_TEXT;
            else
                lang_p_expected(p, "int, float or text");
            if (a.kind == LANG_A_TEXT && a.pack)
                lang_p_fail(p, p->t.pos, "a pack of texts is no attribute");
            lang_p_next(p);
        }
        if (lang_p_accept(p, '=', 0))
            default_value(p, &a);
        if (p->panic)
            return;
        for (size_t k = 0; k < op->attrs.n; k++)
            if (op->attrs.at[k].name == a.name && op->attrs.at[k].pack == a.pack)
                lang_p_fail(p, a.pos, "attribute '%s' is stated twice", lang_name(p->lib, a.name));
        a.span.end = p->last_end;
        *BASE_PUSH(p->lib->arena, &op->attrs) = a;
        lang_p_accept(p, ',', 0);
    } while (p->t.kind == LANG_T_NAME && !is_clause_word(p) && !is_stage_ahead(p, false));
}

static lang_dim_decl dim(lang_parser *p) {
    lang_dim_decl d = {0};
    d.pos = p->t.pos;
    if (p->t.kind == LANG_T_INT || lang_p_mark(p, '(', 0)) {
        d.e = lang_p_primary(p);
        return d;
    }
    d.name = lang_p_name(p, "an extent: a name, an integer or an expression in parentheses", &d.pack);
    if (d.pack && lang_p_accept(p, '{', 0)) {
        d.e = lang_p_expr(p);
        lang_p_expect(p, '}', 0, "'}'");
    }
    return d;
}

static void in_clause(lang_parser *p, lang_op_decl *op) {
    do {
        lang_input_decl in = {0};
        in.pos = p->t.pos;
        in.span.start = p->t.start;
        in.name = lang_p_name(p, "the name of an input", NULL);
        in.family = lang_p_accept(p, '*', 0);
        if (lang_p_accept(p, ':', 0))
            in.type = lang_p_type(p);
        lang_p_expect(p, '[', 0, "'[' (the extents of the input)");
        BASE_VEC(lang_dim_decl) dims = {0};
        while (!p->panic && !lang_p_mark(p, ']', 0)) {
            if (dims.n == LANG_MAX_RANK)
                lang_p_fail(p, p->t.pos, "an input has at most %u dimensions", LANG_MAX_RANK);
            *BASE_PUSH(p->lib->arena, &dims) = dim(p);
            if (!lang_p_accept(p, ',', 0))
                break;
        }
        lang_p_expect(p, ']', 0, "',' or ']' after an extent");
        in.optional = lang_p_accept(p, '?', 0);
        in.dims = dims.at;
        in.dim_count = (uint32_t)dims.n;
        if (p->panic)
            return;
        for (size_t k = 0; k < op->inputs.n; k++)
            if (op->inputs.at[k].name == in.name)
                lang_p_fail(p, in.pos, "input '%s' is stated twice", lang_name(p->lib, in.name));
        if (op->inputs.n > 0 && op->inputs.at[op->inputs.n - 1].family)
            lang_p_fail(p, in.pos, "no input can follow '%s', which takes the rest",
                        lang_name(p->lib, op->inputs.at[op->inputs.n - 1].name));
        in.span.end = p->last_end;
        *BASE_PUSH(p->lib->arena, &op->inputs) = in;
        lang_p_accept(p, ',', 0);
    } while (p->t.kind == LANG_T_NAME && !is_clause_word(p) && !is_stage_ahead(p, true));
}

static void out_clause(lang_parser *p, lang_op_decl *op) {
    do {
        lang_output_decl out = {0};
        out.pos = p->t.pos;
        out.span.start = p->t.start;
        out.name = lang_p_name(p, "the name of an output", NULL);
        out.family = lang_p_accept(p, '*', 0);
        if (lang_p_accept(p, ':', 0))
            out.type = lang_p_type(p);
        if (p->panic)
            return;
        for (size_t k = 0; k < op->outputs.n; k++)
            if (op->outputs.at[k].name == out.name)
                lang_p_fail(p, out.pos, "output '%s' is stated twice", lang_name(p->lib, out.name));
        if (op->outputs.n > 0 && op->outputs.at[op->outputs.n - 1].family)
            lang_p_fail(p, out.pos, "no output can follow '%s', which takes the rest",
                        lang_name(p->lib, op->outputs.at[op->outputs.n - 1].name));
        out.span.end = p->last_end;
        *BASE_PUSH(p->lib->arena, &op->outputs) = out;
    } while (lang_p_accept(p, ',', 0));
}

static lang_stage_decl stage(lang_parser *p, bool in_rec) {
    lang_stage_decl s = {0};
    s.pos = p->t.pos;
    s.name = lang_p_name(p, "a clause (attr, in, when, ->, let, chk, rec) or a stage NAME[v<extent, ...] = ...", NULL);
    if (lang_p_accept(p, '#', 0))
        s.member = lang_p_name(p, "the name that stands for the number of the member", NULL);
    if (lang_p_accept(p, ':', 0))
        s.type = lang_p_type(p);
    lang_p_expect(p, '[', 0, "'[' (the variables of the stage)");
    BASE_VEC(lang_binder) vars = {0};
    while (!p->panic && !lang_p_mark(p, ']', 0)) {
        lang_binder b = {0};
        b.pos = p->t.pos;
        if (vars.n == LANG_MAX_RANK)
            lang_p_fail(p, b.pos, "a stage has at most %u dimensions", LANG_MAX_RANK);
        b.name = lang_p_name(p, "a variable", &b.pack);
        if (lang_p_accept(p, '<', 0))
            b.e = lang_p_sum(p);
        else if (!in_rec || b.pack)
            lang_p_expected(p, "'<' and the extent of the variable");
        for (size_t k = 0; k < vars.n; k++)
            if (vars.at[k].name == b.name && vars.at[k].pack == b.pack)
                lang_p_fail(p, b.pos, "variable '%s' is bound twice", lang_name(p->lib, b.name));
        *BASE_PUSH(p->lib->arena, &vars) = b;
        if (!lang_p_accept(p, ',', 0))
            break;
    }
    lang_p_expect(p, ']', 0, "',' or ']' after a variable");
    lang_p_expect(p, '=', 0, "'=' and the value of an element");
    s.vars = vars.at;
    s.var_count = (uint32_t)vars.n;
    s.body = lang_p_expr(p);
    return s;
}

static void rec_clause(lang_parser *p, lang_clause *c) {
    c->kind = LANG_S_REC;
    c->name = lang_p_name(p, "the variable of the recurrence", NULL);
    lang_p_expect(p, '<', 0, "'<' and the number of steps");
    c->e = lang_p_sum(p);
    BASE_VEC(lang_stage_decl) stages = {0};
    if (!lang_p_mark(p, '|', 0))
        lang_p_expected(p, "'|' and a stage of the recurrence");
    while (lang_p_accept(p, '|', 0)) {
        lang_stage_decl s = stage(p, true);
        size_t own = 0;
        for (uint32_t k = 0; k < s.var_count; k++)
            own += s.vars[k].name == c->name && !s.vars[k].pack;
        for (uint32_t k = 0; k < s.var_count; k++)
            if (!s.vars[k].e && s.vars[k].name != c->name)
                lang_p_fail(p, s.vars[k].pos, "variable '%s' has no extent, and is not the recurrence's '%s'",
                            lang_name(p->lib, s.vars[k].name), lang_name(p->lib, c->name));
        if (own != 1)
            lang_p_fail(p, s.pos, "a stage of a recurrence over '%s' must have it as one of its variables",
                        lang_name(p->lib, c->name));
        if (s.member)
            lang_p_fail(p, s.pos, "a recurrence has no family of outputs");
        *BASE_PUSH(p->lib->arena, &stages) = s;
    }
    c->stages = stages.at;
    c->stage_count = (uint32_t)stages.n;
}

static void body_clause(lang_parser *p, lang_op_decl *op) {
    lang_clause c = {0};
    c.pos = p->t.pos;
    if (lang_p_word(p, "let")) {
        lang_p_next(p);
        c.kind = LANG_S_LET;
        c.name = lang_p_name(p, "the name of a static value", &c.pack);
        lang_p_expect(p, '=', 0, "'='");
        c.e = lang_p_expr(p);
    } else if (lang_p_word(p, "chk")) {
        lang_p_next(p);
        c.kind = LANG_S_CHK;
        c.e = lang_p_expr(p);
        if (p->t.kind == LANG_T_TEXT) {
            c.text = p->t.text;
            lang_p_next(p);
        }
    } else if (lang_p_word(p, "rec")) {
        lang_p_next(p);
        rec_clause(p, &c);
    } else {
        c.kind = LANG_S_STAGE;
        lang_stage_decl *s = BASE_NEW(p->lib->arena, lang_stage_decl);
        *s = stage(p, false);
        c.stages = s;
        c.stage_count = 1;
    }
    if (!p->panic)
        *BASE_PUSH(p->lib->arena, &op->clauses) = c;
}

/* ---- items ---- */
/* Y#k[...] for a family of outputs, and for nothing else. */
static void check_member(lang_parser *p, lang_op_decl *op, const lang_stage_decl *s) {
    bool family = false;
    for (size_t k = 0; k < op->outputs.n; k++)
        family |= op->outputs.at[k].name == s->name && op->outputs.at[k].family;
    if (family == (s->member != 0))
        return;
    base_place place = lang_place(p->source, s->pos);
    const char *name = lang_name(p->lib, s->name);
    if (family)
        base_error(p->diags, &place, "'%s' is a family of outputs: write %s#k[...] = ...", name, name);
    else
        base_error(p->diags, &place, "'%s' is no family of outputs", name);
    op->bad = true;
}

/* Each output has its stage, no tensor has two. */
static void check_stages(lang_parser *p, lang_op_decl *op) {
    BASE_VEC(lang_symbol) seen = {0};
    for (size_t k = 0; k < op->inputs.n; k++)
        *BASE_PUSH(p->lib->arena, &seen) = op->inputs.at[k].name;
    for (size_t k = 0; k < op->clauses.n; k++)
        for (uint32_t j = 0; j < op->clauses.at[k].stage_count; j++) {
            const lang_stage_decl *s = &op->clauses.at[k].stages[j];
            base_place place = lang_place(p->source, s->pos);
            check_member(p, op, s);
            for (size_t i = 0; i < seen.n; i++)
                if (seen.at[i] == s->name) {
                    base_error(p->diags, &place, "'%s' is defined already", lang_name(p->lib, s->name));
                    op->bad = true;
                    break;
                }
            *BASE_PUSH(p->lib->arena, &seen) = s->name;
        }
    for (size_t k = 0; k < op->outputs.n; k++) {
        bool found = false;
        for (size_t i = op->inputs.n; i < seen.n; i++)
            found |= seen.at[i] == op->outputs.at[k].name;
        if (found)
            continue;
        base_place place = lang_place(p->source, op->outputs.at[k].pos);
        base_error(p->diags, &place, "op %s: output '%s' has no stage", lang_name(p->lib, op->name),
                   lang_name(p->lib, op->outputs.at[k].name));
        op->bad = true;
    }
}

static void mark_varying(lang_parser *p, lang_op_decl *op) {
    for (size_t k = 0; k < op->inputs.n; k++) {
        lang_input_decl *in = &op->inputs.at[k];
        if (!in->family)
            continue;
        lang_dim_decl *dims = BASE_NEWS(p->lib->arena, lang_dim_decl, in->dim_count + 1);
        for (uint32_t j = 0; j < in->dim_count; j++) {
            dims[j] = in->dims[j];
            for (size_t i = 0; i < p->varying.n; i++)
                if (p->varying.at[i].name == dims[j].name && p->varying.at[i].pack == dims[j].pack)
                    dims[j].varies = true;
        }
        in->dims = dims;
    }
}

static void extern_clause(lang_parser *p, lang_op_decl *op) {
    lang_pos pos = p->t.pos;
    lang_p_next(p);
    lang_symbol name = lang_p_name(p, "the name of a C function", NULL);
    if (op->external && !p->panic)
        lang_p_fail(p, pos, "op %s has an extern already", lang_name(p->lib, op->name));
    op->external = name;
}

static void parse_op(lang_parser *p) {
    lang_op_decl *op = BASE_NEW(p->lib->arena, lang_op_decl);
    op->pos = p->t.pos;
    op->source = p->source;
    op->start = p->t.start;
    lang_p_next(p);
    p->varying.n = 0;
    if (p->t.kind == LANG_T_NAME && !p->t.pack) {
        op->name = p->t.name; /* any name: an operator may be called as a word is */
        lang_p_next(p);
    } else {
        lang_p_expected(p, "the name of the operator");
    }
    for (;;) {
        if (p->panic) {
            op->bad = true;
            recover(p, true);
        }
        if (p->t.kind == LANG_T_END || lang_p_word(p, "op") || lang_p_word(p, "fn"))
            break;
        if (lang_p_word(p, "attr")) {
            lang_p_next(p);
            attr_clause(p, op);
        } else if (lang_p_word(p, "in")) {
            lang_p_next(p);
            in_clause(p, op);
        } else if (lang_p_accept(p, '-', '>')) {
            out_clause(p, op);
        } else if (lang_p_word(p, "when")) {
            lang_p_next(p);
            const lang_expr *e = lang_p_expr(p);
            if (!p->panic)
                *BASE_PUSH(p->lib->arena, &op->whens) = e;
        } else if (lang_p_word(p, "extern")) {
            extern_clause(p, op);
        } else {
            body_clause(p, op);
        }
    }
    if (op->name == 0)
        return;
    if (op->outputs.n == 0) {
        lang_output_decl y = {lang_intern(p->lib, "Y", 1), 0, false, op->pos, {0, 0}};
        *BASE_PUSH(p->lib->arena, &op->outputs) = y;
    }
    if (!op->bad)
        check_stages(p, op);
    mark_varying(p, op);
    lang_add_op(p->lib, op);
}

static void parse_fn(lang_parser *p) {
    lang_fn_decl *fn = BASE_NEW(p->lib->arena, lang_fn_decl);
    fn->source = p->source;
    lang_p_next(p);
    fn->pos = p->t.pos;
    fn->name = lang_p_name(p, "the name of the fn", NULL);
    if (!p->panic && lang_callee_of(p->lib, fn->name).kind != LANG_C_NAMED)
        lang_p_fail(p, fn->pos, "'%s' is a word of the language, not a name to give", lang_name(p->lib, fn->name));
    lang_p_expect(p, '(', 0, "'(' and the parameters of the fn");
    BASE_VEC(lang_binder) params = {0};
    while (!p->panic && !lang_p_mark(p, ')', 0)) {
        lang_binder b = {0};
        b.pos = p->t.pos;
        b.name = lang_p_name(p, "a parameter", &b.pack);
        for (size_t k = 0; k < params.n; k++)
            if (params.at[k].name == b.name && params.at[k].pack == b.pack)
                lang_p_fail(p, b.pos, "parameter '%s' is stated twice", lang_name(p->lib, b.name));
        *BASE_PUSH(p->lib->arena, &params) = b;
        if (!lang_p_accept(p, ',', 0))
            break;
    }
    lang_p_expect(p, ')', 0, "',' or ')' after a parameter");
    lang_p_expect(p, '=', 0, "'=' and the body of the fn");
    fn->params = params.at;
    fn->param_count = (uint32_t)params.n;
    fn->body = lang_p_expr(p);
    if (!p->panic && p->t.kind != LANG_T_END && !lang_p_word(p, "op") && !lang_p_word(p, "fn"))
        lang_p_expected(p, "an operator, or 'op' or 'fn' after the body of the fn");
    if (p->panic) {
        recover(p, false);
        return;
    }
    if (p->lib->fns.at[fn->name]) {
        base_place place = lang_place(p->source, fn->pos),
                   before = lang_place(p->lib->fns.at[fn->name]->source, p->lib->fns.at[fn->name]->pos);
        base_error(p->diags, &place, "fn '%s' is defined already", lang_name(p->lib, fn->name));
        base_note(p->diags, &before, "here");
        return;
    }
    p->lib->fns.at[fn->name] = fn;
}

base_status lang_parse(lang_library *lib, const char *file, const char *text, size_t n, base_diags *d) {
    lang_source *source = BASE_NEW(lib->arena, lang_source);
    *source = (lang_source){file, text, n};
    lang_parser p = {0};
    p.lib = lib;
    p.source = source;
    p.diags = d;
    p.lexer = (lang_lexer){lib, source, d, 0, {1, 1}};
    size_t before = d->errors;
    lang_p_next(&p);
    recover(&p, false);
    while (p.t.kind != LANG_T_END) {
        if (lang_p_word(&p, "op"))
            parse_op(&p);
        else if (lang_p_word(&p, "fn"))
            parse_fn(&p);
        else
            lang_p_expected(&p, "'op' or 'fn'");
        recover(&p, false);
    }
    return d->errors > before ? BASE_REFUSED : BASE_OK;
}
