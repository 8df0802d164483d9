/* ast.h - the syntax tree of definitions (private to lang).
 *
 * Takes text (lex.c, parse.c). Gives a library of `fn` and `op` (library.c), read by instantiation only and never
 * changed after parsing. Names are interned: a symbol is an index into the library's table, 0 is no name. Every tree
 * has a bounded height, so readers may recurse.
 */
#ifndef BURIN_LANG_AST_H
#define BURIN_LANG_AST_H

#include "lang/lang.h"

#define LANG_MAX_PACK 64u    /* entries of a pack; of those that are extents of a tensor, LANG_MAX_RANK */
#define LANG_MAX_HEIGHT 200u /* of a tree, and of nested brackets in the text */

typedef uint32_t lang_symbol;

/* Where a tree stands; the text it stands in is known by the definition that holds it. */
typedef struct lang_pos {
    uint32_t line, column;
} lang_pos;

typedef struct lang_source {
    const char *file, *at;
    size_t n;
} lang_source;

/* ---- tokens (lex.c) ---- */
typedef enum lang_token_kind {
    LANG_T_END,
    LANG_T_INT,
    LANG_T_FLOAT,
    LANG_T_TEXT,
    LANG_T_NAME, /* pack: with two points behind it, `i..` */
    LANG_T_MARK, /* punctuation; mark: its characters, first in the low byte */
    LANG_T_BAD,  /* reported by the lexer already */
} lang_token_kind;

#define LANG_MARK(a, b) ((uint32_t)(unsigned char)(a) | (uint32_t)(unsigned char)(b) << 8)

typedef struct lang_token {
    lang_token_kind kind;
    lang_pos pos;
    size_t start, end; /* bytes of the text */
    lang_symbol name;
    bool pack;
    uint32_t mark;
    int64_t i;
    double f;
    const char *text;
} lang_token;

typedef struct lang_lexer {
    lang_library *lib;
    const lang_source *source;
    base_diags *diags; /* NULL: silent (looking ahead) */
    size_t at;
    lang_pos pos;
} lang_lexer;
lang_token lang_lex(lang_lexer *lexer);

/* ---- expressions ---- */
typedef enum lang_expr_kind {
    LANG_X_INT,
    LANG_X_FLOAT,
    LANG_X_TEXT,
    LANG_X_BOOL,    /* i */
    LANG_X_NAME,    /* name; pack */
    LANG_X_POS,     /* # */
    LANG_X_ARITY,   /* #F: name */
    LANG_X_PERMUTE, /* name..@other */
    LANG_X_NEG,
    LANG_X_NOT,
    LANG_X_BINARY, /* op */
    LANG_X_CALL,   /* callee */
    LANG_X_READ,   /* name, member, args: indices (some LANG_X_SPREAD), fill */
    LANG_X_FLAT,   /* name, member, args[0], fill */
    LANG_X_SPREAD, /* ~e, in an index list only */
    LANG_X_QUANT,  /* name, member, op: lang_quant_member; args[0] for scales[e] and zeros[e], none for the bare list */
    LANG_X_BLOCK,  /* binders (name = e), body */
    LANG_X_REDUCE, /* op, type, binders (v < e), guard, body, fill: the else */
} lang_expr_kind;

typedef enum lang_binary_op {
    LANG_B_ADD,
    LANG_B_SUB,
    LANG_B_MUL,
    LANG_B_DIV,
    LANG_B_MOD,
    LANG_B_LT,
    LANG_B_LE,
    LANG_B_GT,
    LANG_B_GE,
    LANG_B_EQ,
    LANG_B_NE,
    LANG_B_AND,
    LANG_B_OR,
} lang_binary_op;

typedef enum lang_quant_member {
    LANG_Q_SCALE,
    LANG_Q_ZERO,
    LANG_Q_AXIS,
    LANG_Q_SCALES,
    LANG_Q_ZEROS
} lang_quant_member;

/* What a call's name means, as far as the text alone says. */
typedef enum lang_callee_kind {
    LANG_C_NAMED, /* a type variable or an fn: decided where it is used */
    LANG_C_WORD,  /* code: lang_word */
    LANG_C_IF,
    LANG_C_CONVERT, /* code: LANG_CAST, LANG_SAT or LANG_BITS; type: of the result */
    LANG_C_BUILTIN, /* code: lang_builtin */
} lang_callee_kind;

/* The words that vanish at instantiation. LANG_BUILTIN(ENUM, spelling, least and most arguments) */
#define LANG_BUILTINS(X)                                                                                               \
    X(FLAT, "flat", 2, 2)                                                                                              \
    X(UNFLAT, "unflat", 2, 2)                                                                                          \
    X(CATP, "catp", 1, 16)                                                                                             \
    X(DROP, "drop", 2, 2)                                                                                              \
    X(KEEP, "keep", 2, 2)                                                                                              \
    X(REV, "rev", 1, 1)                                                                                                \
    X(BC, "bc", 1, 16)                                                                                                 \
    X(AT, "at", 2, 2)                                                                                                  \
    X(PICKP, "pickp", 2, 2)                                                                                            \
    X(LEN, "len", 1, 1)                                                                                                \
    X(PRODP, "prodp", 1, 1)                                                                                            \
    X(ALLP, "allp", 1, 1)                                                                                              \
    X(ANYP, "anyp", 1, 1)                                                                                              \
    X(IN, "in", 2, 2)                                                                                                  \
    X(FAMDIM, "famdim", 2, 2)                                                                                          \
    X(FAMSUM, "famsum", 2, 2)                                                                                          \
    X(VALS, "vals", 1, 1)                                                                                              \
    X(HAS, "has", 1, 1)                                                                                                \
    X(GOAL, "goal", 1, 1)                                                                                              \
    X(ISFLOAT, "isfloat", 1, 1)                                                                                        \
    X(ISSIGNED, "issigned", 1, 1)                                                                                      \
    X(LOWEST, "lowest", 1, 1)                                                                                          \
    X(HIGHEST, "highest", 1, 1)                                                                                        \
    X(WIDTH, "width", 1, 1)

typedef enum lang_builtin {
#define LANG_BUILTIN_ENUM(E, spelling, least, most) LANG_BUILTIN_##E,
    LANG_BUILTINS(LANG_BUILTIN_ENUM)
#undef LANG_BUILTIN_ENUM
        LANG_BUILTIN_COUNT
} lang_builtin;

typedef struct lang_expr lang_expr;
typedef struct lang_binder {
    lang_symbol name;
    bool pack;
    lang_pos pos;
    const lang_expr *e; /* extent, or value; NULL: the variable of a recurrence */
} lang_binder;

struct lang_expr {
    uint8_t kind; /* lang_expr_kind */
    uint8_t op;   /* lang_binary_op, lang_quant_member, lang_reduction or LANG_PICK */
    uint8_t callee;
    uint8_t code;
    bool pack;
    uint16_t height;
    lang_pos pos;
    lang_symbol name, other;
    lang_symbol type; /* as written; 0: none */
    uint32_t count, binder_count;
    const lang_expr *const *args;
    const lang_binder *binders;
    const lang_expr *member, *fill, *guard, *body;
    int64_t i;
    double f;
    const char *text;
};
#define LANG_PICK LANG_REDUCTION_COUNT /* the unrolled choice, beside the reductions */

/* ---- definitions ---- */
typedef enum lang_attr_kind { LANG_A_INT, LANG_A_FLOAT, LANG_A_TEXT } lang_attr_kind;
typedef struct lang_span {
    size_t start, end;
} lang_span;

typedef struct lang_literal {
    int64_t i;
    double f;
    const char *text;
} lang_literal;

typedef struct lang_attr_decl {
    lang_symbol name;
    bool pack, has_default;
    lang_attr_kind kind;
    uint32_t count; /* of default values; 1 for a scalar */
    const lang_literal *values;
    lang_pos pos;
    lang_span span;
} lang_attr_decl;

typedef struct lang_dim_decl {
    lang_symbol name; /* 0: e is the extent */
    bool pack;
    bool varies;        /* in a family: may differ from member to member (named by famdim or famsum) */
    const lang_expr *e; /* extent, or length of the pack; NULL: none stated */
    lang_pos pos;
} lang_dim_decl;

typedef struct lang_input_decl {
    lang_symbol name, type;
    bool optional, family;
    uint32_t dim_count;
    const lang_dim_decl *dims;
    lang_pos pos;
    lang_span span;
} lang_input_decl;

typedef struct lang_output_decl {
    lang_symbol name, type;
    bool family; /* all outputs from here on */
    lang_pos pos;
    lang_span span;
} lang_output_decl;

typedef struct lang_stage_decl {
    lang_symbol name, type;
    lang_symbol member; /* of a family of outputs: stands for the number of each; 0: one tensor */
    lang_pos pos;
    uint32_t var_count;
    const lang_binder *vars;
    const lang_expr *body;
} lang_stage_decl;

typedef enum lang_clause_kind { LANG_S_LET, LANG_S_CHK, LANG_S_STAGE, LANG_S_REC } lang_clause_kind;
typedef struct lang_clause {
    lang_clause_kind kind;
    lang_pos pos;
    lang_symbol name; /* let, rec */
    bool pack;
    const lang_expr *e; /* let: value; chk: condition; rec: extent */
    const char *text;   /* chk: the message; NULL */
    uint32_t stage_count;
    const lang_stage_decl *stages;
} lang_clause;

typedef struct lang_op_decl {
    lang_symbol name;
    lang_pos pos;
    const lang_source *source;
    size_t start;         /* byte of `op` */
    bool bad;             /* had errors: reported, never instantiated */
    lang_symbol external; /* the C function that is called in its place; 0: none */
    BASE_VEC(lang_attr_decl) attrs;
    BASE_VEC(lang_input_decl) inputs;
    BASE_VEC(lang_output_decl) outputs;
    BASE_VEC(const lang_expr *) whens;
    BASE_VEC(lang_clause) clauses;
    struct lang_op_decl *next; /* the next overload */
} lang_op_decl;

typedef struct lang_fn_decl {
    lang_symbol name;
    lang_pos pos;
    const lang_source *source;
    uint32_t param_count;
    const lang_binder *params;
    const lang_expr *body;
} lang_fn_decl;

/* What name( means; named: neither word nor type. */
typedef struct lang_callee {
    lang_callee_kind kind;
    uint8_t code;
    unsigned least, most; /* arguments */
    lang_symbol type;
    bool known;
} lang_callee;
struct lang_library {
    base_arena *arena;
    base_map *symbols;            /* spelling -> symbol */
    BASE_VEC(const char *) names; /* by symbol; [0] is "" */
    BASE_VEC(base_type) types;    /* by symbol: the type of that name, or BASE_NONE */
    base_map *ops;                /* name -> index into heads */
    BASE_VEC(lang_op_decl *) heads;
    BASE_VEC(lang_fn_decl *) fns;  /* by symbol; NULL: none */
    BASE_VEC(lang_callee) callees; /* by symbol, once asked */
};

lang_symbol lang_intern(lang_library *lib, const char *s, size_t n);
const char *lang_name(const lang_library *lib, lang_symbol s);
base_place lang_place(const lang_source *source, lang_pos pos);
void lang_add_op(lang_library *lib, lang_op_decl *op);
lang_fn_decl *lang_find_fn(const lang_library *lib, lang_symbol name);
lang_op_decl *lang_find_op(const lang_library *lib, const char *name); /* its first overload, or NULL */

lang_callee lang_callee_of(lang_library *lib, lang_symbol name);
/* A name that a definition may not give to anything of its own. */
bool lang_reserved(const lang_library *lib, lang_symbol name);
const char *lang_builtin_name(lang_builtin b);

#endif
