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

#define LANG_ROW 256u          /* points of a row at most */
#define LANG_EVAL_TILE_VARS 6u /* variables of one tile at most */

/* How a register holds a value: narrow integers wrapped in I32, narrow floats exactly in F32. */
typedef enum lang_eval_class {
    LANG_EVAL_I32,
    LANG_EVAL_I64,
    LANG_EVAL_F32,
    LANG_EVAL_F64,
    LANG_EVAL_B8
} lang_eval_class;
static inline size_t lang_eval_class_size(lang_eval_class c) {
    return c == LANG_EVAL_B8 ? 1 : c == LANG_EVAL_I32 || c == LANG_EVAL_F32 ? 4 : 8;
}
lang_eval_class lang_eval_class_of(base_type t);

typedef struct lang_eval_machine lang_eval_machine;
typedef struct lang_eval_ins lang_eval_ins;
typedef struct lang_eval_block lang_eval_block;
typedef void (*lang_eval_kernel)(const lang_eval_machine *m, const lang_eval_ins *i, size_t n);

typedef enum lang_eval_op {
    LANG_EVAL_RUN,    /* run(m, i, n) */
    LANG_EVAL_LOOP,   /* extra: lang_eval_loop */
    LANG_EVAL_TILES,  /* extra: lang_eval_tiles */
    LANG_EVAL_BRANCH, /* a: scalar bool; extra: lang_eval_branch */
    LANG_EVAL_WHEN,   /* a: row of bool; extra: lang_eval_branch; yes is run when any is true */
    LANG_EVAL_LOAD,   /* extra: lang_eval_access: affine over the tile */
    /* extra: lang_eval_access: a: row or scalar of element numbers, b: row or scalar of bool: inside (0: proved) */
    LANG_EVAL_GATHER,
    LANG_EVAL_STORE, /* extra: lang_eval_access; a: value */
} lang_eval_op;

enum { LANG_EVAL_ROW_D = 1, LANG_EVAL_ROW_A = 2, LANG_EVAL_ROW_B = 4, LANG_EVAL_ROW_C = 8 };

/* Registers are numbers while compiling (0: none), then byte offsets into the frame. */
struct lang_eval_ins {
    lang_eval_kernel run;
    uint8_t op, word, type, atype, cls; /* cls: class of d; the classes of operands follow from atype and type */
    uint8_t acls, bcls;
    uint8_t rows; /* LANG_EVAL_ROW_*: which registers are rows; LANG_EVAL_ROW_D: works on all points */
    uint32_t d, a, b, c;
    uint32_t d2, a2, b2, c2; /* bounds in BOUND mode; 0: exact */
    int64_t imm;
    const void *extra;
};

struct lang_eval_block {
    BASE_VEC(lang_eval_ins) code;
    uint32_t first, last; /* positions, for register allocation */
};

typedef struct lang_eval_induction {
    uint32_t reg, init; /* init 0: starts at 0 */
    int64_t step;
} lang_eval_induction;

typedef struct lang_eval_loop {
    uint32_t var, extent; /* scalar i64; var may be 0 when nobody asks */
    lang_eval_block body;
    BASE_VEC(lang_eval_induction) inductions;
} lang_eval_loop;

typedef struct lang_eval_tiles {
    uint32_t tile;   /* number in the machine */
    uint32_t extent; /* scalar i64: of the outermost tile variable */
    int64_t inner;   /* points for each value of it */
    int64_t limit;   /* points at once */
    lang_eval_block body;
} lang_eval_tiles;

typedef struct lang_eval_branch {
    lang_eval_block yes, no;
} lang_eval_branch;

/* The tile variables, outermost first. extent[0] is not used: the machine has the chunk. */
typedef struct lang_eval_tile {
    uint32_t count;
    uint32_t var[LANG_EVAL_TILE_VARS];
    int64_t extent[LANG_EVAL_TILE_VARS];
    uint64_t vars;
} lang_eval_tile;

typedef struct lang_eval_tile_state {
    int64_t start, count; /* of the outermost variable */
    size_t n;             /* points */
} lang_eval_tile_state;

enum { LANG_EVAL_AXIS_NONE = -1, LANG_EVAL_AXIS_MANY = -2 };
typedef struct lang_eval_check {
    uint32_t reg; /* LOAD: scalar i64, the index with the tile's variables at 0; GATHER: row or scalar i64, the index */
    bool row;     /* GATHER */
    int32_t axis; /* LOAD: the tile variable that moves it, LANG_EVAL_AXIS_NONE or LANG_EVAL_AXIS_MANY */
    int64_t move[LANG_EVAL_TILE_VARS]; /* for each step of each tile variable */
    int64_t extent;
    bool proved; /* is kept for messages only */
} lang_eval_check;

enum { LANG_EVAL_PART_DATA, LANG_EVAL_PART_VALUE, LANG_EVAL_PART_BOUND };
typedef struct lang_eval_access {
    uint32_t tensor;
    base_type type;
    const lang_node *node; /* the read; NULL for a store */
    const lang_stage *stage;
    const lang_eval_tile *tile; /* NULL: scalar */
    uint32_t tile_number;
    uint32_t base; /* scalar i64: element number with the tile's variables at 0 */
    int64_t stride[LANG_EVAL_TILE_VARS];
    uint32_t check_count;
    lang_eval_check check[LANG_MAX_RANK];
    uint32_t fill, fill_bound; /* 0: none */
    bool has_fill, fill_row;
    uint32_t mask; /* row of bool: points that matter (of reads without fill); 0: all */
    uint8_t part;  /* which of the store's arrays; type is that of its elements */
} lang_eval_access;

typedef struct lang_eval_constant {
    uint32_t reg;
    base_value value;
    lang_eval_class cls;
} lang_eval_constant;

/* Compiled code of one stage (or of one expression without free variables). */
typedef struct lang_eval_stage {
    const lang_stage *stage; /* NULL: an expression; its value is in result */
    lang_eval_block body;
    uint32_t tile_count;
    BASE_VEC(lang_eval_constant) constants;
    uint32_t given[LANG_MAX_VARS]; /* registers of variables given from outside; 0: none */
    uint32_t result;
    size_t frame; /* bytes */
} lang_eval_stage;

typedef struct lang_eval_register {
    uint32_t bytes;
    const lang_eval_block *owner; /* NULL: lives always */
    uint32_t first, last, offset;
    bool used;
} lang_eval_register;

typedef struct lang_eval_registers {
    BASE_VEC(lang_eval_register) list; /* [0] unused */
} lang_eval_registers;

/* How a stage is to be run. */
typedef struct lang_eval_options {
    lang_eval_mode mode;
    const int64_t (*dims)[LANG_MAX_RANK]; /* actual extents of every tensor */
    uint64_t given;                       /* output variables given from outside */
    uint32_t tile_limit;                  /* points of an output tile at most */
    const uint8_t *wide;                  /* BOUND: for each tensor, kept as value and bound */
    const uint8_t *approximate;           /* BOUND: for each node, its value has a bound */
} lang_eval_options;

/* What compiling the stages of one program shares: tables by node, cleared after each stage. */
typedef struct lang_eval_context lang_eval_context;
lang_eval_context *lang_eval_context_new(base_arena *scratch, const lang_program *p);

/* NULL with a diagnostic when the expression is nested too deeply or the code would be too large. */
lang_eval_stage *lang_eval_compile_stage(base_arena *arena, lang_eval_context *context, const lang_stage *s,
                                         lang_ref expression, const lang_eval_options *options, base_diags *d);
void lang_eval_place_registers(base_arena *arena, lang_eval_stage *s, lang_eval_registers *regs);

/* Where the contents of a tensor are while running. */
typedef struct lang_eval_store {
    /* PART_DATA: typed, dense; in BOUND mode PART_VALUE: 8-byte cells by class, and PART_BOUND: doubles; or NULL */
    void *at[3];
} lang_eval_store;

/* Elements computed by need. */
typedef struct lang_eval_demand lang_eval_demand;

struct lang_eval_machine {
    unsigned char *frame;
    size_t n; /* points of the current tile */
    lang_eval_tile_state *tiles;
    lang_eval_store *store; /* by tensor */
    const lang_program *program;
    const int64_t (*dims)[LANG_MAX_RANK];
    base_diags *diags;
    lang_eval_demand *demand; /* NULL: everything is there */
};

base_status lang_eval_run_block(lang_eval_machine *m, const lang_eval_block *b);
/* Sees to it that the element of a stage's tensor is there. */
base_status lang_eval_demand_element(lang_eval_demand *d, uint32_t tensor, uint64_t element);

#define LANG_EVAL_AT(m, T, reg) ((T *)(void *)((m)->frame + (reg)))

/* ---- kernels ---- */
/* The kernel of a word; never NULL (the general one calls lang_word_value for each point). */
lang_eval_kernel lang_eval_word_kernel(lang_word w, base_type type, base_type arg_type,
                                       lang_eval_class second); /* imm of shifts: width */
lang_eval_kernel lang_eval_select_kernel(lang_eval_class c);    /* d = a (bool) ? b : c */
lang_eval_kernel lang_eval_copy_kernel(lang_eval_class c);      /* d = a */
/* d = reduction(d, a) point by point; b: mask or 0; first and last: c: bool, a point was seen; imm: the reduction. */
lang_eval_kernel lang_eval_accumulate_kernel(lang_reduction r, base_type type);
/* The same with scalars d and c over the points a in ascending order. */
lang_eval_kernel lang_eval_close_kernel(lang_reduction r, base_type type);
lang_eval_kernel lang_eval_wrap_kernel(base_type t); /* in place on d, narrow integers; NULL: nothing to do */
void lang_eval_affine_row(const lang_eval_machine *m, const lang_eval_ins *i,
                          size_t n); /* extra: lang_eval_access (base, stride): i64 row */
void lang_eval_multiply_add(const lang_eval_machine *m, const lang_eval_ins *i, size_t n); /* d = a + b * imm, i64 */
void lang_eval_inside(const lang_eval_machine *m, const lang_eval_ins *i,
                      size_t n); /* d = (c ? c : true) && 0 <= a < imm */
void lang_eval_row_max(const lang_eval_machine *m, const lang_eval_ins *i,
                       size_t n); /* scalar d = max of i64 row a, at least 0 */
base_value lang_eval_get(const lang_eval_machine *m, uint32_t reg, lang_eval_class c, size_t j);
void lang_eval_put(const lang_eval_machine *m, uint32_t reg, lang_eval_class c, size_t j, base_value v);

base_status lang_eval_load(lang_eval_machine *m, const lang_eval_ins *i);
base_status lang_eval_gather(lang_eval_machine *m, const lang_eval_ins *i);
base_status lang_eval_store_row(lang_eval_machine *m, const lang_eval_ins *i);

#endif
