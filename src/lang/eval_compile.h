/* eval_compile.h - what the parts of the evaluator's compiler share (private): scopes, values, linear forms. */
#ifndef BURIN_LANG_EVAL_COMPILE_H
#define BURIN_LANG_EVAL_COMPILE_H

#include "lang/eval_private.h"

#define EVAL_TERMS 20u
#define EVAL_DEPTH 2000u /* of nested expressions: the compiler recurses */

/* c + sum of k * term modulo 2^64. id below LANG_MAX_VARS: a variable; else LANG_MAX_VARS + node. */
typedef struct eval_term {
    uint32_t id;
    int64_t k;
} eval_term;
typedef struct eval_linear {
    int64_t c;
    uint32_t n;
    eval_term t[EVAL_TERMS];
} eval_linear;

typedef struct eval_value {
    uint32_t reg, bound; /* bound 0: exact */
    bool row;
} eval_value;

/* A place where code is put: executed once for each value of the variables it binds. */
typedef struct eval_scope eval_scope;
typedef struct eval_linear_memo {
    eval_linear form;
    uint32_t reg;
    struct eval_linear_memo *next;
} eval_linear_memo;
struct eval_scope {
    eval_scope *parent;
    eval_block *block;
    uint64_t binds;
    eval_loop *loop; /* NULL: no loop */
    uint32_t var, var_reg;
    const eval_tile *tile; /* in force here; NULL: scalar */
    uint32_t tile_number;
    uint32_t mask;    /* row of bool in force; 0: all points */
    eval_ins enter;   /* put into the parent's block when the scope is closed: what is hoisted comes before it */
    bool conditional; /* may not be executed when its parent is */
    eval_linear_memo *linears;
};

typedef struct eval_memo {
    const eval_scope *scope;
    eval_value value;
    struct eval_memo *next;
} eval_memo;

/* A closed interval of an integer expression. */
typedef struct eval_interval {
    int64_t lo, hi;
    bool known;
} eval_interval;

enum { EVAL_KNOWN = 1, EVAL_PURE = 2, EVAL_REDUCES = 4, EVAL_RANGED = 16, EVAL_FIXED = 32 };

struct eval_context {
    base_arena *arena; /* of the tables */
    const lang_program *program;
    eval_memo **memo;
    uint8_t *flags;
    eval_interval *range;
    uint32_t *constant; /* register of a constant */
    uint32_t *depth;
    BASE_VEC(lang_ref) touched;
    eval_interval *contents; /* of constant tensors, see contents_known */
    uint8_t *contents_known;
};

typedef struct eval_compiler {
    base_arena *arena;
    eval_context *context;
    const lang_program *program;
    const lang_stage *stage;
    const eval_options *options;
    eval_stage *out;
    eval_registers regs;
} eval_compiler;

/* eval_facts.c */
uint8_t eval_flags(eval_compiler *c, lang_ref r);       /* PURE: cannot fail; REDUCES: holds a reduction */
eval_interval eval_range(eval_compiler *c, lang_ref r); /* of integers and bool */
/* The linear form of an i64 expression; one term that is the node itself when it is nothing simpler. */
void eval_linear_of(eval_compiler *c, lang_ref r, eval_linear *out);
bool eval_linear_add(eval_linear *f, uint32_t id, int64_t k); /* false: no room */
void eval_touch(eval_compiler *c, lang_ref r);
static inline bool eval_hoistable(eval_compiler *c, lang_ref r) {
    return (eval_flags(c, r) & (EVAL_PURE | EVAL_REDUCES)) == EVAL_PURE;
}

/* eval_compile.c */
uint32_t eval_new_register(eval_compiler *c, const eval_block *owner, eval_class k, bool row);
eval_ins *eval_push(eval_compiler *c, eval_scope *s, eval_op op);
eval_value eval_emit(eval_compiler *c, eval_scope *s, lang_ref r);
eval_scope *eval_open(eval_compiler *c, eval_scope *parent, eval_block *block);
/* Closes s and the scopes around it up to outer, which stays open. */
void eval_close(eval_compiler *c, eval_scope *s, const eval_scope *outer);
eval_scope *eval_open_condition(eval_compiler *c, eval_scope *s, eval_value cond, bool negate);
/* if(cond, a, b) where the sides may fail or cost: each is run only where it counts. a 0: value va, already there. */
eval_value eval_emit_choice(eval_compiler *c, eval_scope *s, eval_value cond, lang_ref a, eval_value va, lang_ref b,
                            base_type t);
void eval_emit_copy(eval_compiler *c, eval_scope *s, uint32_t to, bool row, uint32_t from, bool from_row, eval_class k);
uint32_t eval_emit_bool(eval_compiler *c, eval_scope *s, lang_word w, eval_value a, eval_value b);
eval_scope *eval_home(eval_compiler *c, eval_scope *s, lang_ref r);
/* Floats with a bound are kept as doubles. */
static inline eval_class eval_value_class(eval_value v, base_type t) {
    return v.bound != 0 && base_type_is_float(t) ? EVAL_F64 : eval_class_of(t);
}
uint32_t eval_constant_register(eval_compiler *c, base_type t, base_value v);
uint32_t eval_int_register(eval_compiler *c, int64_t v);

/* eval_index.c */
uint32_t eval_linear_scalar(eval_compiler *c, eval_scope *s, const eval_linear *f);
eval_value eval_linear_value(eval_compiler *c, eval_scope *s, const eval_linear *f);
eval_value eval_emit_read(eval_compiler *c, eval_scope *s, lang_ref r);
void eval_emit_store(eval_compiler *c, eval_scope *s, eval_value v, base_type t);

/* eval_reduce.c */
eval_value eval_emit_reduce(eval_compiler *c, eval_scope *s, lang_ref r);
/* Opens a loop over var with extent (a scalar register). */
eval_scope *eval_open_loop(eval_compiler *c, eval_scope *s, uint32_t var, uint32_t extent, bool may_be_empty);
/* Opens a tile of variables; extent: register of the outermost. */
eval_scope *eval_open_tiles(eval_compiler *c, eval_scope *s, const eval_tile *tile, uint32_t extent, bool may_be_empty,
                            uint32_t limit);
/* eval_bound_compile.c: the same with bounds, in BOUND mode */
typedef eval_value (*eval_access_part)(eval_compiler *c, eval_scope *s, const eval_access *x, uint8_t part, base_type t,
                                       uint32_t fill, bool row, const eval_value *element, const eval_value *inside);
eval_value eval_bound_word(eval_compiler *c, eval_scope *s, lang_ref r, eval_value a, eval_value b);
eval_value eval_bound_select(eval_compiler *c, eval_scope *s, eval_value cond, eval_value a, eval_value b, base_type t);
/* A bool register: test may be true. */
uint32_t eval_bound_possible(eval_compiler *c, eval_scope *s, eval_value test, eval_value cond);
eval_value eval_bound_access(eval_compiler *c, eval_scope *s, const eval_access *x, base_type t, bool row,
                             eval_value fill, const eval_value *element, const eval_value *inside,
                             eval_access_part part);
bool eval_approximate_index(eval_compiler *c, lang_ref r);
eval_value eval_bound_taint(eval_compiler *c, eval_scope *s, lang_ref r, eval_value v);
void eval_bound_store(eval_compiler *c, eval_scope *s, const eval_access *x, eval_value v, base_type t);

/* Accumulators of a reduction with bounds. size: sum of magnitudes; count: of terms, or what first and last have
 * seen. */
typedef struct eval_fold {
    lang_reduction op;
    base_type type;
    eval_value value;
    uint32_t size, count;
} eval_fold;
eval_fold eval_bound_fold_start(eval_compiler *c, eval_scope *s, lang_reduction op, base_type t, bool row);
void eval_bound_fold(eval_compiler *c, eval_scope *s, const eval_fold *f, eval_value term, eval_value doubt);
void eval_bound_fold_end(eval_compiler *c, eval_scope *s, const eval_fold *f);
/* Nothing is known of the accumulators where v is uncertain. */
void eval_bound_doubt(eval_compiler *c, eval_scope *s, const eval_fold *f, eval_value v);
/* The larger of two bounds; only .bound and .row count. */
eval_value eval_bound_worse(eval_compiler *c, eval_scope *s, eval_value a, eval_value b);

#endif
