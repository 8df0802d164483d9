/* eval_compile.h - what the parts of the evaluator's compiler share (private): scopes, values, linear forms. */
#ifndef BURIN_LANG_EVAL_COMPILE_H
#define BURIN_LANG_EVAL_COMPILE_H

#include "lang/eval_private.h"

#define LANG_EVAL_TERMS 20u

/* c + sum of k * term modulo 2^64. id below LANG_MAX_VARS: a variable; else LANG_MAX_VARS + node. */
typedef struct lang_eval_term {
    uint32_t id;
    int64_t k;
} lang_eval_term;
typedef struct lang_eval_linear {
    int64_t c;
    uint32_t n;
    lang_eval_term t[LANG_EVAL_TERMS];
} lang_eval_linear;

typedef struct lang_eval_value {
    uint32_t reg, bound; /* bound 0: exact */
    bool row;
} lang_eval_value;

/* A place where code is put: executed once for each value of the variables it binds. */
typedef struct lang_eval_scope lang_eval_scope;
typedef struct lang_eval_linear_memo {
    lang_eval_linear form;
    uint32_t reg;
    struct lang_eval_linear_memo *next;
} lang_eval_linear_memo;
struct lang_eval_scope {
    lang_eval_scope *parent;
    lang_eval_block *block;
    uint64_t binds;
    lang_eval_loop *loop; /* NULL: no loop */
    uint32_t var, var_reg;
    const lang_eval_tile *tile; /* in force here; NULL: scalar */
    uint32_t tile_number;
    uint32_t mask;       /* row of bool in force; 0: all points */
    lang_eval_ins enter; /* put into the parent's block when the scope is closed: what is hoisted comes before it */
    bool conditional;    /* may not be executed when its parent is */
    lang_eval_linear_memo *linears;
};

typedef struct lang_eval_memo {
    const lang_eval_scope *scope;
    lang_eval_value value;
    struct lang_eval_memo *next;
} lang_eval_memo;

/* A closed interval of an integer expression. */
typedef struct lang_eval_interval {
    int64_t lo, hi;
    bool known;
} lang_eval_interval;

enum { LANG_EVAL_KNOWN = 1, LANG_EVAL_PURE = 2, LANG_EVAL_REDUCES = 4, LANG_EVAL_RANGED = 16, LANG_EVAL_FIXED = 32 };

struct lang_eval_context {
    base_arena *arena; /* of the tables */
    const lang_program *program;
    lang_eval_memo **memo;
    uint8_t *flags;
    lang_eval_interval *range;
    uint32_t *constant; /* register of a constant */
    uint32_t *depth;
    BASE_VEC(lang_ref) touched;
    lang_eval_interval *contents; /* of constant tensors, see contents_known */
    uint8_t *contents_known;
};

typedef struct lang_eval_compiler {
    base_arena *arena;
    lang_eval_context *context;
    const lang_program *program;
    const lang_stage *stage;
    const lang_eval_options *options;
    lang_eval_stage *out;
    lang_eval_registers regs;
} lang_eval_compiler;

/* eval_facts.c */
uint8_t lang_eval_flags(lang_eval_compiler *c, lang_ref r); /* PURE: cannot fail; REDUCES: holds a reduction */
lang_eval_interval lang_eval_range(lang_eval_compiler *c, lang_ref r); /* of integers and bool */
/* The linear form of an i64 expression; one term that is the node itself when it is nothing simpler. */
void lang_eval_linear_of(lang_eval_compiler *c, lang_ref r, lang_eval_linear *out);
bool lang_eval_linear_add(lang_eval_linear *f, uint32_t id, int64_t k); /* false: no room */
void lang_eval_touch(lang_eval_compiler *c, lang_ref r);
static inline bool lang_eval_hoistable(lang_eval_compiler *c, lang_ref r) {
    return (lang_eval_flags(c, r) & (LANG_EVAL_PURE | LANG_EVAL_REDUCES)) == LANG_EVAL_PURE;
}

/* eval_compile.c */
uint32_t lang_eval_new_register(lang_eval_compiler *c, const lang_eval_block *owner, lang_eval_class k, bool row);
lang_eval_ins *lang_eval_push(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_op op);
lang_eval_value lang_eval_emit(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r);
lang_eval_scope *lang_eval_open(lang_eval_compiler *c, lang_eval_scope *parent, lang_eval_block *block);
/* Closes s and the scopes around it up to outer, which stays open. */
void lang_eval_close(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_scope *outer);
lang_eval_scope *lang_eval_open_condition(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value cond, bool negate);
/* if(cond, a, b) where the sides may fail or cost: each is run only where it counts. a 0: value va, already there. */
lang_eval_value lang_eval_emit_choice(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value cond, lang_ref a,
                                      lang_eval_value va, lang_ref b, base_type t);
void lang_eval_emit_copy(lang_eval_compiler *c, lang_eval_scope *s, uint32_t to, bool row, uint32_t from, bool from_row,
                         lang_eval_class k);
uint32_t lang_eval_emit_bool(lang_eval_compiler *c, lang_eval_scope *s, lang_word w, lang_eval_value a,
                             lang_eval_value b);
lang_eval_scope *lang_eval_home(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r);
/* Floats with a bound are kept as doubles. */
static inline lang_eval_class lang_eval_value_class(lang_eval_value v, base_type t) {
    return v.bound != 0 && base_type_is_float(t) ? LANG_EVAL_F64 : lang_eval_class_of(t);
}
uint32_t lang_eval_constant_register(lang_eval_compiler *c, base_type t, base_value v);
uint32_t lang_eval_int_register(lang_eval_compiler *c, int64_t v);

/* eval_index.c */
uint32_t lang_eval_linear_scalar(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_linear *f);
lang_eval_value lang_eval_linear_value(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_linear *f);
lang_eval_value lang_eval_emit_read(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r);
void lang_eval_emit_store(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value v, base_type t);

/* eval_reduce.c */
lang_eval_value lang_eval_emit_reduce(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r);
/* Opens a loop over var with extent (a scalar register). */
lang_eval_scope *lang_eval_open_loop(lang_eval_compiler *c, lang_eval_scope *s, uint32_t var, uint32_t extent,
                                     bool may_be_empty);
/* Opens a tile of variables; extent: register of the outermost. */
lang_eval_scope *lang_eval_open_tiles(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_tile *tile,
                                      uint32_t extent, bool may_be_empty, uint32_t limit);
/* eval_bound_compile.c: the same with bounds, in BOUND mode */
typedef lang_eval_value (*lang_eval_access_part)(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_access *x,
                                                 uint8_t part, base_type t, uint32_t fill, bool row,
                                                 const lang_eval_value *element, const lang_eval_value *inside);
lang_eval_value lang_eval_bound_word(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r, lang_eval_value a,
                                     lang_eval_value b);
lang_eval_value lang_eval_bound_select(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value cond,
                                       lang_eval_value a, lang_eval_value b, base_type t);
/* A bool register: test may be true. */
uint32_t lang_eval_bound_possible(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value test,
                                  lang_eval_value cond);
lang_eval_value lang_eval_bound_access(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_access *x,
                                       base_type t, bool row, lang_eval_value fill, const lang_eval_value *element,
                                       const lang_eval_value *inside, lang_eval_access_part part);
bool lang_eval_approximate_index(lang_eval_compiler *c, lang_ref r);
lang_eval_value lang_eval_bound_taint(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r, lang_eval_value v);
void lang_eval_bound_store(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_access *x, lang_eval_value v,
                           base_type t);

/* Accumulators of a reduction with bounds. size: sum of magnitudes; count: of terms, or what first and last have
 * seen. */
typedef struct lang_eval_fold {
    lang_reduction op;
    base_type type;
    lang_eval_value value;
    uint32_t size, count;
} lang_eval_fold;
lang_eval_fold lang_eval_bound_fold_start(lang_eval_compiler *c, lang_eval_scope *s, lang_reduction op, base_type t,
                                          bool row);
void lang_eval_bound_fold(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_fold *f, lang_eval_value term,
                          lang_eval_value doubt);
void lang_eval_bound_fold_end(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_fold *f);
/* Nothing is known of the accumulators where v is uncertain. */
void lang_eval_bound_doubt(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_fold *f, lang_eval_value v);
/* The larger of two bounds; only .bound and .row count. */
lang_eval_value lang_eval_bound_worse(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value a, lang_eval_value b);

#endif
