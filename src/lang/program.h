/* program.h - the typed program: what a definition becomes for concrete types, shapes and attributes (part of lang's
 * face).
 *
 * A program is a list of stages over tensors; a stage gives every element of one tensor by a scalar expression. All
 * expressions are nodes of one hash-consed table: equal expressions are one node, so `let` has vanished into sharing
 * and a node is a DAG. Packs, fn macros, optional inputs, static lets and attributes have vanished too: what is left is
 * below. Everything that reads meaning (evaluator, simplifier, analyses, emitters, exporters) reads this and nothing
 * else.
 */
#ifndef BURIN_LANG_PROGRAM_H
#define BURIN_LANG_PROGRAM_H

#include "ir/ir.h"

typedef uint32_t lang_ref; /* a node of the program; 0: none */
#define LANG_MAX_RANK 16u  /* of a tensor inside a program (digits of split indices included) */
#define LANG_MAX_VARS 64u  /* variables of one stage, bound ones included */

typedef enum lang_kind {
    LANG_CONST, /* value */
    LANG_VAR,   /* number: variable of the stage; operand 0: its extent. Type i64, 0 <= v < extent. */
    /* tensor at operands[0..rank) (i64), then the fill if has_fill. flat: one operand, the row-major element number */
    LANG_READ,
    LANG_WORD_,  /* word over its operands */
    LANG_REDUCE, /* reduction: n-3 variables (LANG_VAR nodes, outermost first), guard or 0, body, else or 0 */
} lang_kind;

typedef enum lang_word {
#define LANG_WORD(E, spelling, arity, class) LANG_##E,
#include "lang/words.def"
#undef LANG_WORD
    LANG_WORD_COUNT
} lang_word;

/* Over the domain in ascending lexicographic order, guard true. Empty domain: else, or the identity
 * (sum 0, prod 1, max lowest or -inf, min highest or +inf, any false, all true; first and last need else).
 * sum and prod are computed in the node's type, wrapping for integers; max and min propagate NaN. */
typedef enum lang_reduction {
    LANG_SUM,
    LANG_PROD,
    LANG_RMAX,
    LANG_RMIN,
    LANG_ANY,
    LANG_ALL,
    LANG_FIRST,
    LANG_LAST,
    LANG_REDUCTION_COUNT
} lang_reduction;

typedef struct lang_node {
    uint8_t kind; /* lang_kind */
    uint8_t type; /* base_type of the value */
    uint8_t code; /* WORD_: lang_word; REDUCE: lang_reduction */
    bool has_fill, flat;
    uint32_t index; /* VAR: number; READ: tensor */
    uint32_t first; /* operands at program->operands[first .. first+count) */
    uint32_t count;
    base_value value; /* CONST */
    uint64_t free;    /* bit k: variable k of the stage occurs free (extents of bound variables included) */
} lang_node;

typedef enum lang_tensor_kind { LANG_INPUT, LANG_CONSTANT, LANG_STAGE } lang_tensor_kind;

typedef struct lang_tensor {
    /* as in the definition: "X", "W", "X.scales"; linked programs prefix nothing, names need not be unique */
    const char *name;
    base_type type;
    uint32_t rank;
    int64_t dim[LANG_MAX_RANK]; /* extents; bounds where dynamic */
    /* 0: dim is exact; else an i64 expression without free variables, evaluated when the stage starts */
    lang_ref extent[LANG_MAX_RANK];
    lang_tensor_kind kind;
    uint32_t input;   /* INPUT: index into program inputs */
    const void *data; /* CONSTANT: dense contents (also set for inputs whose contents are known); borrowed */
    int64_t most;     /* INPUT: not 0: a count, i64 without dimensions, from 0 to this */
    uint32_t stage;   /* STAGE: index of its stage */
} lang_tensor;

typedef struct lang_variable {
    const char *name; /* for dumps: "o", "y0" */
    lang_ref extent;  /* i64 */
    int64_t bound;    /* largest value of extent */
} lang_variable;

typedef struct lang_stage {
    uint32_t tensor;
    uint32_t rank;      /* variables 0 .. rank-1 are the output's, in the tensor's dimension order */
    uint32_t var_count; /* with those bound by reductions */
    const lang_variable *vars;
    lang_ref body;
    int32_t rec;      /* -1, or the index of the rec group: consecutive stages run together for t = 0 .. T-1 */
    uint32_t rec_var; /* which of the output variables is t */
    base_place place; /* of the stage in its definition */
} lang_stage;

typedef struct lang_program {
    base_arena *arena;
    const char *name;          /* the operator's word */
    const char *external;      /* the C function that emitted C calls in its place; NULL: none */
    BASE_VEC(lang_node) nodes; /* nodes.at[0] is unused; operands of a node have smaller indices than it */
    BASE_VEC(lang_ref) operands;
    BASE_VEC(lang_tensor) tensors;
    BASE_VEC(lang_stage) stages; /* in executable order */
    BASE_VEC(uint32_t) inputs;   /* tensor of each actual input; IR_NONE: absent */
    BASE_VEC(uint32_t) outputs;  /* tensor of each output */
    uint32_t rec_count;
    uint64_t node_limit;      /* blow-up is refused: default 1 << 20 */
    bool by_contents;         /* as instantiated: contents of an input that is constant had a part in it */
    struct lang_table *table; /* the hash-cons table; private */
} lang_program;

lang_program *lang_program_new(base_arena *arena, const char *name);
/* The program in another arena, as tight as can be, with all of it that lies in `from`, which may be freed then. */
lang_program *lang_keep(base_arena *arena, const base_arena *from, const lang_program *p);
static inline const lang_node *lang_at(const lang_program *p, lang_ref r) {
    return &p->nodes.at[r];
}
static inline lang_ref lang_operand(const lang_program *p, lang_ref r, uint32_t k) {
    return p->operands.at[p->nodes.at[r].first + k];
}

/* Builders. Each folds what is constant (by the same words as the evaluator) and applies only identities that hold for
 * every value of the type and never touch a range (x+0 and x*1 on integers, if(true,..), !(!x), and the like); shared
 * nodes are found again. Types are checked by assert: callers have diagnosed before. Node limit reached: returns 0 (see
 * lang_full). */
lang_ref lang_const(lang_program *p, base_type type, base_value v); /* v is brought into the range of the type first */
lang_ref lang_int(lang_program *p, base_type type, int64_t v);      /* any numeric type */
lang_ref lang_float(lang_program *p, base_type type, double v);
lang_ref lang_var(lang_program *p, uint32_t number, lang_ref extent);
lang_ref lang_read(lang_program *p, uint32_t tensor, const lang_ref *index, uint32_t rank, lang_ref fill /* 0: none */);
lang_ref lang_read_flat(lang_program *p, uint32_t tensor, lang_ref index, lang_ref fill);
lang_ref lang_apply(lang_program *p, lang_word w, base_type type, const lang_ref *args, uint32_t n);
lang_ref lang_apply1(lang_program *p, lang_word w, base_type type, lang_ref a);
lang_ref lang_apply2(lang_program *p, lang_word w, base_type type, lang_ref a, lang_ref b);
lang_ref lang_reduce(lang_program *p, lang_reduction r, base_type type, const lang_ref *vars, uint32_t n,
                     lang_ref guard, lang_ref body, lang_ref otherwise);
uint32_t lang_tensor_add(lang_program *p, const lang_tensor *t);
bool lang_full(const lang_program *p); /* the node limit was hit: refuse with "too large" */

/* One word on constants: the definition of every word's meaning in C (docs/LANGUAGE.md in words). Values are held as
 * base_value of their types; the result is in the range of `type`. arg_type: type of the first argument
 * (conversions). */
base_value lang_word_value(lang_word w, base_type type, base_type arg_type, const base_value *args);
base_value lang_convert(base_type to, base_type from, base_value v); /* CAST */
/* integers: wrap to width; floats: round to type */
base_value lang_wrap(base_type type, base_value v);

/* Rebuilds the DAG under r in program `to` (may be the same) with a callback that may replace any node: for
 * substitution, inlining and linking. Memoised: O(nodes). replace returns 0 to rebuild the node from its rebuilt
 * operands. */
typedef struct lang_rewriter {
    const lang_program *from;
    lang_program *to;
    lang_ref (*replace)(struct lang_rewriter *w, lang_ref r);
    void *user;
    const uint32_t *tensor_map; /* tensor of from -> tensor of to; NULL: the same */
    BASE_VEC(lang_ref) memo;    /* private */
} lang_rewriter;
lang_ref lang_rewrite(base_arena *scratch, lang_rewriter *w, lang_ref r);

const char *lang_word_name(lang_word w);
const char *lang_reduction_name(lang_reduction r);
void lang_print(base_text *out, const lang_program *p); /* readable dump, in the language's own syntax without packs */
/* Structure of a program: types, operand order, extents, every invariant stated above. For tests and debug builds. */
base_status lang_verify(const lang_program *p, base_diags *d);

#endif
