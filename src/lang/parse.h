/* parse.h - what the two halves of the parser share (private to lang).
 *
 * After an error the parser is in panic: the current token matches nothing, so every loop ends and nothing more is
 * reported until parse.c recovers.
 */
#ifndef BURIN_LANG_PARSE_H
#define BURIN_LANG_PARSE_H

#include "lang/ast.h"

#include <math.h>

typedef struct lang_varying {
    lang_symbol name;
    bool pack;
} lang_varying;

typedef struct lang_parser {
    lang_library *lib;
    const lang_source *source;
    base_diags *diags;
    lang_lexer lexer;
    lang_token t;
    lang_token stopped; /* the token at which a panic began */
    size_t last_end;    /* byte after the token before t */
    bool panic;
    unsigned depth;                 /* of nested expressions */
    BASE_VEC(lang_varying) varying; /* extents that famdim and famsum name in this op */
} lang_parser;

bool lang_p_mark(const lang_parser *p, char a, char b);
bool lang_p_word(const lang_parser *p, const char *s);
void lang_p_next(lang_parser *p);
bool lang_p_accept(lang_parser *p, char a, char b);
void lang_p_fail(lang_parser *p, lang_pos pos, const char *format, ...) __attribute__((format(printf, 3, 4)));
void lang_p_expected(lang_parser *p, const char *what);
void lang_p_expect(lang_parser *p, char a, char b, const char *what);
lang_symbol lang_p_type(lang_parser *p);
/* A name to be given; pack NULL: no pack allowed. */
lang_symbol lang_p_name(lang_parser *p, const char *what, bool *pack);

/* Never NULL, also in panic. */
lang_expr *lang_p_expr(lang_parser *p);
lang_expr *lang_p_sum(lang_parser *p); /* without comparisons and logic: extents */
lang_expr *lang_p_primary(lang_parser *p);

#endif
