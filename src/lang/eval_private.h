/* eval_private.h - the evaluator's bytecode and machine (private to lang).
 *
 * A stage is compiled to a tree of blocks of instructions. A register is a scalar or a row: one value for each point of
 * the current tile, a run of up to LANG_ROW points of trailing variables in ascending order. eval_compile.c makes the
 * code, eval_registers.c places registers, eval_machine.c runs it, eval_rows.c and eval_access.c are what instructions
 * do, eval_bound.c is the same for values with error bounds.
 */
#ifndef BURIN_LANG_EVAL_PRIVATE_H
#define BURIN_LANG_EVAL_PRIVATE_H

#include "lang/eval.h"
#include "lang/words.h"

#define LANG_ROW 256u     /* points of a row at most */
#define EVAL_TILE_VARS 6u /* variables of one tile at most */

/* How a register holds a value: narrow integers wrapped in I32, narrow floats exactly in F32. */
typedef enum eval_class { EVAL_I32, EVAL_I64, EVAL_F32, EVAL_F64, EVAL_B8 } eval_class;
static inline size_t eval_class_size(eval_class c) {
    return c == EVAL_B8 ? 1 : c == EVAL_I32 || c == EVAL_F32 ? 4 : 8;
}
eval_class eval_class_of(base_type t);

typedef struct eval_machine eval_machine;
typedef struct eval_ins eval_ins;
typedef struct eval_block eval_block;
typedef void (*eval_kernel)(const eval_machine *m, const eval_ins *i, size_t n);

typedef enum eval_op {
    EVAL_RUN,    /* run(m, i, n) */
    EVAL_LOOP,   /* extra: eval_loop */
    EVAL_TILES,  /* extra: eval_tiles */
    EVAL_BRANCH, /* a: scalar bool; extra: eval_branch */
    EVAL_WHEN,   /* a: row of bool; extra: eval_branch; yes is run when any is true */
    EVAL_LOAD,   /* extra: eval_access: affine over the tile */
    /* extra: eval_access: a: row or scalar of element numbers, b: row or scalar of bool: inside (0: proved) */
    EVAL_GATHER,
    EVAL_STORE, /* extra: eval_access; a: value */
} eval_op;

enum { EVAL_ROW_D = 1, EVAL_ROW_A = 2, EVAL_ROW_B = 4, EVAL_ROW_C = 8 };

/* Registers are numbers while compiling (0: none), then byte offsets into the frame. */
struct eval_ins {
    eval_kernel run;
    uint8_t op, word, type, atype, cls; /* cls: class of d; the classes of operands follow from atype and type */
    uint8_t acls, bcls;
    uint8_t rows; /* EVAL_ROW_*: which registers are rows; EVAL_ROW_D: works on all points */
    uint32_t d, a, b, c;
    uint32_t d2, a2, b2, c2; /* bounds in BOUND mode; 0: exact */
    int64_t imm;
    const void *extra;
};

struct eval_block {
    BASE_VEC(eval_ins) code;
    uint32_t first, last; /* positions, for register allocation */
};

typedef struct eval_induction {
    uint32_t reg, init; /* init 0: starts at 0 */
    int64_t step;
} eval_induction;

typedef struct eval_loop {
    uint32_t var, extent; /* scalar i64; var may be 0 when nobody asks */
    eval_block body;
    BASE_VEC(eval_induction) inductions;
} eval_loop;

typedef struct eval_tiles {
    uint32_t tile;   /* number in the machine */
    uint32_t extent; /* scalar i64: of the outermost tile variable */
    int64_t inner;   /* points for each value of it */
    int64_t limit;   /* points at once */
    eval_block body;
} eval_tiles;

typedef struct eval_branch {
    eval_block yes, no;
} eval_branch;

/* The tile variables, outermost first. extent[0] is not used: the machine has the chunk. */
typedef struct eval_tile {
    uint32_t count;
    uint32_t var[EVAL_TILE_VARS];
    int64_t extent[EVAL_TILE_VARS];
    uint64_t vars;
} eval_tile;

typedef struct eval_tile_state {
    int64_t start, count; /* of the outermost variable */
    size_t n;             /* points */
} eval_tile_state;

enum { EVAL_AXIS_NONE = -1, EVAL_AXIS_MANY = -2 };
typedef struct eval_check {
    uint32_t reg; /* LOAD: scalar i64, the index with the tile's variables at 0; GATHER: row or scalar i64, the index */
    bool row;     /* GATHER */
    int32_t axis; /* LOAD: the tile variable that moves it, EVAL_AXIS_NONE or EVAL_AXIS_MANY */
    int64_t move[EVAL_TILE_VARS]; /* for each step of each tile variable */
    int64_t extent;
    bool proved; /* is kept for messages only */
} eval_check;

enum { EVAL_DATA, EVAL_VALUE, EVAL_BOUND };
typedef struct eval_access {
    uint32_t tensor;
    base_type type;
    const lang_node *node; /* the read; NULL for a store */
    const lang_stage *stage;
    const eval_tile *tile; /* NULL: scalar */
    uint32_t tile_number;
    uint32_t base; /* scalar i64: element number with the tile's variables at 0 */
    int64_t stride[EVAL_TILE_VARS];
    uint32_t check_count;
    eval_check check[LANG_MAX_RANK];
    uint32_t fill, fill_bound; /* 0: none */
    bool has_fill, fill_row;
    uint32_t mask; /* row of bool: points that matter (of reads without fill); 0: all */
    uint8_t part;  /* which of the store's arrays; type is that of its elements */
} eval_access;

typedef struct eval_constant {
    uint32_t reg;
    base_value value;
    eval_class cls;
} eval_constant;

/* Compiled code of one stage (or of one expression without free variables). */
typedef struct eval_stage {
    const lang_stage *stage; /* NULL: an expression; its value is in result */
    eval_block body;
    uint32_t tile_count;
    BASE_VEC(eval_constant) constants;
    uint32_t given[LANG_MAX_VARS]; /* registers of variables given from outside; 0: none */
    uint32_t result;
    size_t frame; /* bytes */
} eval_stage;

typedef struct eval_register {
    uint32_t bytes;
    const eval_block *owner; /* NULL: lives always */
    uint32_t first, last, offset;
    bool used;
} eval_register;

typedef struct eval_registers {
    BASE_VEC(eval_register) list; /* [0] unused */
} eval_registers;

/* How a stage is to be run. */
typedef struct eval_options {
    lang_eval_mode mode;
    const int64_t (*dims)[LANG_MAX_RANK]; /* actual extents of every tensor */
    uint64_t given;                       /* output variables given from outside */
    uint32_t tile_limit;                  /* points of an output tile at most */
    const uint8_t *wide;                  /* BOUND: for each tensor, kept as value and bound */
    const uint8_t *approximate;           /* BOUND: for each node, its value has a bound */
} eval_options;

/* What compiling the stages of one program shares: tables by node, cleared after each stage. */
typedef struct eval_context eval_context;
eval_context *eval_context_new(base_arena *scratch, const lang_program *p);

/* NULL with a diagnostic when the expression is nested too deeply or the code would be too large. */
eval_stage *eval_compile_stage(base_arena *arena, eval_context *context, const lang_stage *s, lang_ref expression,
                               const eval_options *options, base_diags *d);
void eval_place_registers(base_arena *arena, eval_stage *s, eval_registers *regs);

/* Where the contents of a tensor are while running. */
typedef struct eval_store {
    void *at
        [3]; /* EVAL_DATA: typed, dense; BOUND mode: EVAL_VALUE: 8-byte cells by class, EVAL_BOUND: doubles; or NULL */
} eval_store;

/* Elements computed by need. */
typedef struct eval_demand eval_demand;

struct eval_machine {
    unsigned char *frame;
    size_t n; /* points of the current tile */
    eval_tile_state *tiles;
    eval_store *store; /* by tensor */
    const lang_program *program;
    const int64_t (*dims)[LANG_MAX_RANK];
    base_diags *diags;
    eval_demand *demand; /* NULL: everything is there */
};

base_status eval_run_block(eval_machine *m, const eval_block *b);
/* Sees to it that the element of a stage's tensor is there. */
base_status eval_demand_element(eval_demand *d, uint32_t tensor, uint64_t element);

#define EVAL_AT(m, T, reg) ((T *)(void *)((m)->frame + (reg)))

/* ---- kernels ---- */
/* The kernel of a word; never NULL (the general one calls lang_word_value for each point). */
eval_kernel eval_word_kernel(lang_word w, base_type type, base_type arg_type,
                             eval_class second); /* imm of shifts: width */
eval_kernel eval_select_kernel(eval_class c);    /* d = a (bool) ? b : c */
eval_kernel eval_copy_kernel(eval_class c);      /* d = a */
/* d = reduction(d, a) point by point; b: mask or 0; first and last: c: bool, a point was seen; imm: the reduction. */
eval_kernel eval_accumulate_kernel(lang_reduction r, base_type type);
/* The same with scalars d and c over the points a in ascending order. */
eval_kernel eval_close_kernel(lang_reduction r, base_type type);
eval_kernel eval_wrap_kernel(base_type t); /* in place on d, narrow integers; NULL: nothing to do */
void eval_affine_row(const eval_machine *m, const eval_ins *i,
                     size_t n); /* extra: eval_access (base, stride): i64 row */
void eval_multiply_add(const eval_machine *m, const eval_ins *i, size_t n); /* d = a + b * imm, i64 */
void eval_inside(const eval_machine *m, const eval_ins *i, size_t n);       /* d = (c ? c : true) && 0 <= a < imm */
void eval_row_max(const eval_machine *m, const eval_ins *i, size_t n); /* scalar d = max of i64 row a, at least 0 */
base_value eval_get(const eval_machine *m, uint32_t reg, eval_class c, size_t j);
void eval_put(const eval_machine *m, uint32_t reg, eval_class c, size_t j, base_value v);

base_status eval_load(eval_machine *m, const eval_ins *i);
base_status eval_gather(eval_machine *m, const eval_ins *i);
base_status eval_store_row(eval_machine *m, const eval_ins *i);

#endif
