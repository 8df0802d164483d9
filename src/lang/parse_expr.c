/* parse_expr.c - the parser of expressions.
 *
 * Takes tokens. Gives trees of bounded height. Decides from the text alone what a call's name means (word, conversion,
 * pack word, or a name to be found later) and that the arguments of words have the right number and shape.
 */
#include "lang/parse.h"

#include <string.h>

static lang_expr *make(lang_parser *p, lang_expr_kind kind, lang_pos pos) {
    lang_expr *e = BASE_NEW(p->lib->arena, lang_expr);
    e->kind = (uint8_t)kind;
    e->pos = pos;
    e->height = 1;
    return e;
}

static void over(lang_parser *p, lang_expr *e, const lang_expr *child) {
    if (child->height >= e->height)
        e->height = (uint16_t)(child->height + 1);
    if (e->height > LANG_MAX_HEIGHT) {
        lang_p_fail(p, e->pos, "the expression is nested too deeply (more than %u levels)", LANG_MAX_HEIGHT);
        e->height = LANG_MAX_HEIGHT; /* the definition is bad and is never read */
    }
}

static void set_args(lang_parser *p, lang_expr *e, lang_expr *const *args, size_t n) {
    const lang_expr **copy = BASE_NEWS(p->lib->arena, const lang_expr *, n + 1);
    for (size_t k = 0; k < n; k++) {
        copy[k] = args[k];
        over(p, e, args[k]);
    }
    e->args = copy;
    e->count = (uint32_t)n;
}

static lang_expr *binary(lang_parser *p, lang_binary_op op, lang_pos pos, lang_expr *a, lang_expr *b) {
    lang_expr *e = make(p, LANG_X_BINARY, pos);
    e->op = (uint8_t)op;
    set_args(p, e, (lang_expr *const[]){a, b}, 2);
    return e;
}

static bool enter(lang_parser *p) {
    if (++p->depth <= LANG_MAX_HEIGHT)
        return true;
    lang_p_fail(p, p->t.pos, "the expression is nested too deeply (more than %u levels)", LANG_MAX_HEIGHT);
    return false;
}

static void leave(lang_parser *p) {
    if (p->depth > 0)
        p->depth--;
}

static lang_expr *nothing(lang_parser *p) {
    return make(p, LANG_X_INT, p->t.pos);
}

/* ---- lists ---- */
typedef BASE_VEC(lang_expr *) expr_list;

static lang_expr *index_item(lang_parser *p) {
    lang_pos pos = p->t.pos;
    if (!lang_p_accept(p, '~', 0))
        return lang_p_expr(p);
    lang_expr *e = make(p, LANG_X_SPREAD, pos), *inner = lang_p_sum(p);
    set_args(p, e, &inner, 1);
    return e;
}

static void indices(lang_parser *p, lang_expr *e) {
    expr_list list = {0};
    size_t spreads = 0;
    while (!p->panic && !lang_p_mark(p, ']', 0)) {
        lang_expr *item = index_item(p);
        if (item->kind == LANG_X_SPREAD && ++spreads > 1)
            lang_p_fail(p, item->pos, "a read has at most one '~'");
        *BASE_PUSH(p->lib->arena, &list) = item;
        if (!lang_p_accept(p, ',', 0))
            break;
    }
    lang_p_expect(p, ']', 0, "',' or ']' after an index");
    set_args(p, e, list.at, list.n);
}

static void set_binders(lang_parser *p, lang_expr *e, const lang_binder *at, size_t n) {
    e->binders = at;
    e->binder_count = (uint32_t)n;
    for (size_t k = 0; k < n; k++)
        if (at[k].e)
            over(p, e, at[k].e);
}

/* ---- blocks ---- */
static bool binding_ahead(const lang_parser *p) {
    if (p->t.kind != LANG_T_NAME)
        return false;
    lang_lexer copy = p->lexer;
    copy.diags = NULL;
    lang_token t = lang_lex(&copy);
    return t.kind == LANG_T_MARK && t.mark == LANG_MARK('=', 0);
}

static lang_expr *block(lang_parser *p) {
    lang_expr *e = make(p, LANG_X_BLOCK, p->t.pos);
    BASE_VEC(lang_binder) list = {0};
    lang_p_next(p);
    while (binding_ahead(p)) {
        lang_binder b = {0};
        b.pos = p->t.pos;
        b.name = lang_p_name(p, "a name", &b.pack);
        lang_p_expect(p, '=', 0, "'='");
        b.e = lang_p_expr(p);
        lang_p_expect(p, ';', 0, "';' after the value of a name");
        *BASE_PUSH(p->lib->arena, &list) = b;
    }
    e->body = lang_p_expr(p);
    over(p, e, e->body);
    set_binders(p, e, list.at, list.n);
    lang_p_expect(p, '}', 0, "'}' after the value of the block");
    return e;
}

/* ---- reductions ---- */
static const char *const reductions[] = {"sum", "prod", "max", "min", "any", "all", "first", "last", "pick"};

static int reduction_of(const lang_parser *p) {
    for (int k = 0; k <= LANG_PICK; k++)
        if (lang_p_word(p, reductions[k]))
            return k;
    return -1;
}

static bool operator_here(const lang_parser *p) {
    static const char marks[][2] = {"+", "-", "/", "%", "<", ">"};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
        if (lang_p_mark(p, marks[k][0], 0))
            return true;
    return lang_p_mark(p, '<', '=') || lang_p_mark(p, '>', '=') || lang_p_mark(p, '=', '=') ||
           lang_p_mark(p, '!', '=') || lang_p_mark(p, '&', '&') || lang_p_mark(p, '|', '|');
}

/* The body of a reduction reads as one thing or is refused: a + b, a*b behind parentheses and the like would be read
 * two ways. */
static lang_expr *reduction_body(lang_parser *p) {
    static const char wrap[] = "put the body of the reduction in parentheses";
    if (lang_p_mark(p, '(', 0) || lang_p_mark(p, '{', 0)) {
        lang_expr *e = lang_p_primary(p);
        if (lang_p_mark(p, '*', 0))
            lang_p_fail(p, p->t.pos,
                        "is this factor part of the body? put the whole body, or the whole reduction, in parentheses");
        return e;
    }
    lang_expr *e = NULL;
    do {
        lang_pos star = p->t.pos;
        if (lang_p_mark(p, '-', 0) || lang_p_mark(p, '!', 0))
            lang_p_fail(p, p->t.pos, "%s", wrap);
        lang_pos pos = p->t.pos;
        lang_expr *factor = lang_p_primary(p);
        if (factor->kind == LANG_X_REDUCE)
            lang_p_fail(p, pos, "%s", wrap);
        e = e ? binary(p, LANG_B_MUL, star, e, factor) : factor;
    } while (lang_p_accept(p, '*', 0));
    if (operator_here(p))
        lang_p_fail(p, p->t.pos, "%s", wrap);
    return e;
}

static lang_expr *reduction(lang_parser *p, int code, lang_pos pos) {
    lang_expr *e = make(p, LANG_X_REDUCE, pos);
    e->op = (uint8_t)code;
    if (lang_p_accept(p, ':', 0))
        e->type = lang_p_type(p);
    lang_p_expect(p, '[', 0, "'[' and the variables of the reduction");
    BASE_VEC(lang_binder) list = {0};
    bool family = false;
    do {
        lang_binder b = {0};
        b.pos = p->t.pos;
        b.name = lang_p_name(p, "a variable of the reduction", &b.pack);
        lang_p_expect(p, '<', 0, "'<' and the extent of the variable");
        b.e = lang_p_sum(p);
        family |= b.e->kind == LANG_X_ARITY;
        for (size_t k = 0; k < list.n; k++)
            if (list.at[k].name == b.name && list.at[k].pack == b.pack)
                lang_p_fail(p, b.pos, "variable '%s' is bound twice", lang_name(p->lib, b.name));
        *BASE_PUSH(p->lib->arena, &list) = b;
    } while (lang_p_accept(p, ',', 0));
    set_binders(p, e, list.at, list.n);
    if (family && list.n > 1)
        lang_p_fail(p, pos, "a variable over the members of a family stands alone");
    if (!family && code == LANG_PICK)
        lang_p_fail(p, pos, "pick runs over the members of a family: pick[k<#X | ...]");
    if (family && (code == LANG_FIRST || code == LANG_LAST))
        lang_p_fail(p, pos, "over the members of a family write pick");
    if (lang_p_accept(p, '|', 0)) {
        e->guard = lang_p_expr(p);
        over(p, e, e->guard);
    }
    lang_p_expect(p, ']', 0, "',', '|' or ']' after an extent");
    e->body = reduction_body(p);
    over(p, e, e->body);
    if (lang_p_word(p, "else")) {
        lang_p_next(p);
        e->fill = lang_p_primary(p);
        over(p, e, e->fill);
        if (family)
            lang_p_fail(p, pos, "a reduction over the members of a family has no else");
    }
    return e;
}

/* ---- calls ---- */
static bool is_name(const lang_expr *e, bool pack) {
    return e->kind == LANG_X_NAME && e->pack == pack;
}

/* Arguments of built-in words that are names rather than values. */
static void check_builtin(lang_parser *p, lang_expr *e) {
    const lang_expr *a = e->args[0];
    const char *want = NULL;
    switch ((lang_builtin)e->code) {
    case LANG_BUILTIN_FAMDIM:
    case LANG_BUILTIN_FAMSUM: {
        bool at = a->kind == LANG_X_CALL && a->callee == LANG_C_BUILTIN && a->code == LANG_BUILTIN_AT &&
                  is_name(a->args[0], true);
        if (!is_name(a, false) && !at)
            want = "the name of an extent, or at(NAME.., position)";
        else
            *BASE_PUSH(p->lib->arena, &p->varying) = (lang_varying){at ? a->args[0]->name : a->name, at};
        break;
    }
    case LANG_BUILTIN_VALS:
        if (!is_name(a, false))
            want = "the name of an input";
        break;
    case LANG_BUILTIN_HAS:
        if (!is_name(a, false) && !(a->kind == LANG_X_QUANT && a->count == 0 && a->op >= LANG_Q_SCALES))
            want = "the name of an input, or NAME.scales";
        break;
    case LANG_BUILTIN_GOAL:
        if (a->kind != LANG_X_TEXT)
            want = "a text in quotes";
        break;
    case LANG_BUILTIN_ISFLOAT:
    case LANG_BUILTIN_ISSIGNED:
    case LANG_BUILTIN_LOWEST:
    case LANG_BUILTIN_HIGHEST:
    case LANG_BUILTIN_WIDTH:
        if (!is_name(a, false))
            want = "a type";
        break;
    default:
        break;
    }
    if (want)
        lang_p_fail(p, a->pos, "%s takes %s", lang_builtin_name((lang_builtin)e->code), want);
}

static lang_expr *call(lang_parser *p, lang_symbol name, lang_pos pos) {
    lang_expr *e = make(p, LANG_X_CALL, pos);
    lang_callee c = lang_callee_of(p->lib, name);
    e->name = name;
    e->callee = (uint8_t)c.kind;
    e->code = c.code;
    e->type = c.type;
    expr_list list = {0};
    while (!p->panic && !lang_p_mark(p, ')', 0)) {
        *BASE_PUSH(p->lib->arena, &list) = lang_p_expr(p);
        if (!lang_p_accept(p, ',', 0))
            break;
    }
    lang_p_expect(p, ')', 0, "',' or ')' after an argument");
    if (!p->panic && (list.n < c.least || list.n > c.most)) {
        if (c.least == c.most)
            lang_p_fail(p, pos, "%s takes %u argument%s, not %zu", lang_name(p->lib, name), c.least,
                        c.least == 1 ? "" : "s", list.n);
        else
            lang_p_fail(p, pos, "%s takes %u to %u arguments, not %zu", lang_name(p->lib, name), c.least, c.most,
                        list.n);
    }
    set_args(p, e, list.at, list.n);
    if (!p->panic && c.kind == LANG_C_BUILTIN)
        check_builtin(p, e);
    return e;
}

/* ---- names and what can follow them ---- */
static void fill(lang_parser *p, lang_expr *e) {
    if (!lang_p_accept(p, '?', 0))
        return;
    if (lang_p_mark(p, '-', 0))
        lang_p_fail(p, p->t.pos, "put a negative fill in parentheses");
    e->fill = lang_p_primary(p);
    over(p, e, e->fill);
}

static lang_expr *quant_member(lang_parser *p, lang_symbol name, const lang_expr *member, lang_pos pos) {
    static const char *const members[] = {"scale", "zero", "axis", "scales", "zeros"};
    lang_expr *e = make(p, LANG_X_QUANT, pos);
    e->name = name;
    e->member = member;
    int code = -1;
    for (int k = 0; k < 5; k++)
        if (lang_p_word(p, members[k]))
            code = k;
    if (code < 0) {
        lang_p_expected(p, "scale, zero, axis, scales or zeros");
        return e;
    }
    e->op = (uint8_t)code;
    lang_p_next(p);
    if (code >= LANG_Q_SCALES && lang_p_accept(p, '[', 0)) {
        lang_expr *index = lang_p_expr(p);
        set_args(p, e, &index, 1);
        lang_p_expect(p, ']', 0, "']'");
    }
    return e;
}

static lang_expr *named(lang_parser *p) {
    lang_token t = p->t;
    lang_pos pos = t.pos;
    int code = reduction_of(p);
    lang_p_next(p);
    if (code >= 0 && (lang_p_mark(p, '[', 0) || lang_p_mark(p, ':', 0)))
        return reduction(p, code, pos);
    if (!t.pack && lang_p_accept(p, '(', 0))
        return call(p, t.name, pos);
    if (t.pack) {
        lang_expr *e = make(p, LANG_X_NAME, pos);
        e->name = t.name;
        e->pack = true;
        if (!lang_p_accept(p, '@', 0))
            return e;
        e->kind = LANG_X_PERMUTE;
        if (p->t.kind != LANG_T_NAME)
            lang_p_expected(p, "the name of a pack of positions");
        e->other = p->t.name;
        lang_p_next(p);
        return e;
    }
    const lang_expr *member = NULL;
    if (lang_p_accept(p, '#', 0)) {
        if (p->t.kind != LANG_T_INT && p->t.kind != LANG_T_NAME)
            lang_p_expected(p, "the number of a member");
        lang_expr *m = make(p, p->t.kind == LANG_T_INT ? LANG_X_INT : LANG_X_NAME, p->t.pos);
        m->i = p->t.i;
        m->name = p->t.name;
        member = m;
        lang_p_next(p);
    }
    lang_expr *e = make(p, LANG_X_READ, pos);
    e->name = t.name;
    e->member = member;
    if (lang_p_accept(p, '[', 0)) {
        indices(p, e);
        fill(p, e);
    } else if (lang_p_accept(p, '.', '[')) {
        e->kind = LANG_X_FLAT;
        lang_expr *index = lang_p_expr(p);
        set_args(p, e, &index, 1);
        lang_p_expect(p, ']', 0, "']'");
        fill(p, e);
    } else if (lang_p_accept(p, '.', 0)) {
        return quant_member(p, t.name, member, pos);
    } else if (lang_p_mark(p, '?', 0)) {
        fill(p, e);
    } else if (lang_p_mark(p, '@', 0)) {
        lang_p_fail(p, p->t.pos, "'@' permutes a pack: write %s..@", lang_name(p->lib, t.name));
    } else if (member) {
        lang_p_expected(p, "'[', '.[' or '.' after a member of a family");
    } else {
        e->kind = LANG_X_NAME;
    }
    return e;
}

static lang_expr *constant(lang_parser *p) {
    lang_expr *e = make(p, LANG_X_FLOAT, p->t.pos);
    if (lang_p_word(p, "inf")) {
        e->f = (double)INFINITY;
    } else if (lang_p_word(p, "nan")) {
        e->f = (double)NAN;
    } else {
        e->kind = LANG_X_BOOL;
        e->i = lang_p_word(p, "true");
    }
    lang_p_next(p);
    return e;
}

static lang_expr *primary_inside(lang_parser *p) {
    lang_token t = p->t;
    lang_expr *e;
    switch (t.kind) {
    case LANG_T_INT:
    case LANG_T_FLOAT:
    case LANG_T_TEXT:
        e = make(p, t.kind == LANG_T_INT ? LANG_X_INT : t.kind == LANG_T_FLOAT ? LANG_X_FLOAT : LANG_X_TEXT, t.pos);
        e->i = t.i;
        e->f = t.f;
        e->text = t.text;
        lang_p_next(p);
        return e;
    case LANG_T_NAME:
        if (lang_p_word(p, "inf") || lang_p_word(p, "nan") || lang_p_word(p, "true") || lang_p_word(p, "false"))
            return constant(p);
        return named(p);
    case LANG_T_MARK:
        if (lang_p_accept(p, '(', 0)) {
            e = lang_p_expr(p);
            lang_p_expect(p, ')', 0, "')'");
            return e;
        }
        if (lang_p_mark(p, '{', 0))
            return block(p);
        if (lang_p_accept(p, '#', 0)) {
            bool family = p->t.kind == LANG_T_NAME && !p->t.pack && !lang_reserved(p->lib, p->t.name);
            e = make(p, family ? LANG_X_ARITY : LANG_X_POS, t.pos);
            if (family) {
                e->name = p->t.name;
                lang_p_next(p);
            }
            return e;
        }
        break;
    default:
        break;
    }
    lang_p_expected(p, "an expression");
    return nothing(p);
}

lang_expr *lang_p_primary(lang_parser *p) {
    if (!enter(p))
        return nothing(p);
    lang_expr *e = primary_inside(p);
    leave(p);
    return e;
}

static lang_expr *unary(lang_parser *p) {
    if (!lang_p_mark(p, '-', 0) && !lang_p_mark(p, '!', 0))
        return lang_p_primary(p);
    if (!enter(p))
        return nothing(p);
    lang_expr *e = make(p, lang_p_mark(p, '-', 0) ? LANG_X_NEG : LANG_X_NOT, p->t.pos);
    lang_p_next(p);
    lang_expr *inner = unary(p);
    set_args(p, e, &inner, 1);
    leave(p);
    return e;
}

static lang_expr *product(lang_parser *p) {
    lang_expr *e = unary(p);
    for (;;) {
        lang_pos pos = p->t.pos;
        if (lang_p_accept(p, '*', 0))
            e = binary(p, LANG_B_MUL, pos, e, unary(p));
        else if (lang_p_accept(p, '/', 0))
            e = binary(p, LANG_B_DIV, pos, e, unary(p));
        else if (lang_p_accept(p, '%', 0))
            e = binary(p, LANG_B_MOD, pos, e, unary(p));
        else
            return e;
    }
}

lang_expr *lang_p_sum(lang_parser *p) {
    lang_expr *e = product(p);
    for (;;) {
        lang_pos pos = p->t.pos;
        if (lang_p_accept(p, '+', 0))
            e = binary(p, LANG_B_ADD, pos, e, product(p));
        else if (lang_p_accept(p, '-', 0))
            e = binary(p, LANG_B_SUB, pos, e, product(p));
        else
            return e;
    }
}

static bool comparison(lang_parser *p, lang_binary_op *op) {
    static const struct {
        char a, b;
        lang_binary_op op;
    } marks[] = {{'<', 0, LANG_B_LT},   {'<', '=', LANG_B_LE}, {'>', 0, LANG_B_GT},
                 {'>', '=', LANG_B_GE}, {'=', '=', LANG_B_EQ}, {'!', '=', LANG_B_NE}};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
        if (lang_p_accept(p, marks[k].a, marks[k].b)) {
            *op = marks[k].op;
            return true;
        }
    return false;
}

/* a < b <= c is a < b && b <= c. */
static lang_expr *compare(lang_parser *p) {
    lang_expr *left = lang_p_sum(p), *result = NULL;
    lang_binary_op op;
    for (;;) {
        lang_pos pos = p->t.pos;
        if (!comparison(p, &op))
            return result ? result : left;
        lang_expr *right = lang_p_sum(p), *one = binary(p, op, pos, left, right);
        result = result ? binary(p, LANG_B_AND, pos, result, one) : one;
        left = right;
    }
}

static lang_expr *conjunction(lang_parser *p) {
    lang_expr *e = compare(p);
    for (;;) {
        lang_pos pos = p->t.pos;
        if (!lang_p_accept(p, '&', '&'))
            return e;
        e = binary(p, LANG_B_AND, pos, e, compare(p));
    }
}

lang_expr *lang_p_expr(lang_parser *p) {
    lang_expr *e = conjunction(p);
    for (;;) {
        lang_pos pos = p->t.pos;
        if (!lang_p_accept(p, '|', '|'))
            return e;
        e = binary(p, LANG_B_OR, pos, e, conjunction(p));
    }
}
