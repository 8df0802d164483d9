/* inst.h - instantiation: what its parts share (private to lang).
 *
 * An expression of a definition expands to a value: a static one (weak constants, texts, types, tensors by name), a
 * choice between weak constants that a run decides, or a node of the program. Packs expand to lists of values.
 */
#ifndef BURIN_LANG_INST_H
#define BURIN_LANG_INST_H

#include "lang/ast.h"

typedef enum lang_val_kind {
    LANG_V_BAD, /* reported already: everything made of it is bad, silently */
    LANG_V_INT,
    LANG_V_FLOAT,
    LANG_V_BOOL,
    LANG_V_TEXT,
    LANG_V_TYPE,
    LANG_V_TENSOR,
    LANG_V_CHOICE, /* if(condition, weak, weak): weak itself */
    LANG_V_OPEN,   /* made of counts and constants: a node of i64 or f64, weak as a constant is */
    LANG_V_NODE,
} lang_val_kind;

struct lang_choice;
struct lang_actual;
typedef struct lang_val {
    uint8_t kind; /* lang_val_kind */
    uint8_t type; /* base_type: of a NODE, an OPEN; the TYPE itself */
    union {
        int64_t i; /* INT, BOOL */
        double f;
        const char *text;
        const struct lang_choice *choice;
        struct lang_actual *tensor;
        lang_ref ref; /* NODE, OPEN */
    } v;
} lang_val;

typedef struct lang_choice {
    lang_ref condition;
    lang_val yes, no;
    uint32_t leaves;
} lang_choice;

typedef struct lang_pack {
    uint32_t n;
    lang_val at[LANG_MAX_PACK];
} lang_pack;

/* A tensor of the definition as the call gives it, or a stage. */
typedef struct lang_actual {
    lang_symbol name;
    const char *label; /* for messages: "X", "X#2" */
    bool present, family;
    bool bad;                 /* a stage that failed */
    bool refused;             /* its quantisation is not what the definition reads, which was said */
    bool output;              /* of the call: only .scale and the like can be asked before its stage */
    const lang_argument *arg; /* inputs and outputs; NULL for other stages */
    uint32_t tensor;          /* in the program; IR_NONE: none yet */
    uint32_t scales, zeros;   /* tensors of the quantisation, IR_NONE until asked */
    uint32_t group, order;    /* of a recurrence: its number + 1, and which stage of it; else 0 */
    uint32_t rec_var;
    uint32_t member_count;
    struct lang_actual *members;
} lang_actual;

typedef struct lang_binding {
    lang_symbol name;
    bool pack;
    uint32_t n;           /* entries of a pack */
    const lang_val *vals; /* one, or n; NULL: only the length is known */
    uint64_t bound;       /* variables that reductions in this value or in any binding below bind */
} lang_binding;

typedef struct lang_frame { /* one fn inside another */
    const lang_fn_decl *fn;
    const lang_source *source; /* where it is called */
    lang_pos pos;
    const struct lang_frame *outer;
    unsigned depth;
} lang_frame;

typedef struct lang_inst {
    base_arena *arena;
    const lang_library *lib;
    const lang_call *call;
    const lang_op_decl *op;
    lang_program *p;
    base_diags *diags;
    size_t errors;
    const lang_source *source; /* of the tree at hand */
    const lang_frame *frame;
    BASE_VEC(lang_binding) env; /* [0, globals): the op's own; [floor, n): of the tree at hand */
    size_t globals, floor;
    BASE_VEC(lang_actual *) tensors;
    /* the stage at hand */
    lang_variable vars[LANG_MAX_VARS];
    lang_ref var_refs[LANG_MAX_VARS];
    uint32_t var_count;
    uint64_t active;            /* variables in scope */
    BASE_VEC(uint64_t) bound;   /* by node: variables bound by reductions inside */
    BASE_VEC(lang_ref) assumed; /* conditions that hold where we are */
    uint32_t group, order;      /* of the recurrence at hand, as in lang_actual */
    lang_ref step;              /* its variable */
    unsigned depth;
    uint64_t steps;
    uint32_t *counts;            /* tensors of the call's counts */
    lang_ranges *ranges;         /* of what is made of counts; NULL: not yet asked */
    BASE_VEC(uint8_t) open;      /* by node: made of counts and constants alone */
    BASE_VEC(lang_ref) required; /* of counts: what a run must meet, not yet in a stage */
    BASE_VEC(uint32_t) tests;    /* tensors of the stages that test it */
} lang_inst;

#define LANG_MAX_EXPANSION 600u /* nested expansions */
#define LANG_MAX_STEPS (UINT64_C(1) << 22)
#define LANG_MAX_FNS 64u     /* fn inside fn */
#define LANG_MAX_CHOICE 256u /* leaves of a choice */
#define LANG_MAX_LEAVES 64u  /* of a choice that goes through a word */

/* ---- instantiate.c: errors ---- */
lang_val lang_i_fail(lang_inst *in, lang_pos pos, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The caller's fault: its place comes first, where it has one, and the note says what stands here. */
void lang_i_refuse(lang_inst *in, lang_pos pos, const char *note, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- values.c ---- */
static inline lang_val lang_v_int(int64_t i) {
    return (lang_val){LANG_V_INT, 0, {.i = i}};
}
static inline lang_val lang_v_float(double f) {
    return (lang_val){LANG_V_FLOAT, 0, {.f = f}};
}
static inline lang_val lang_v_bool(bool b) {
    return (lang_val){LANG_V_BOOL, 0, {.i = b}};
}
static inline lang_val lang_v_bad(void) {
    return (lang_val){LANG_V_BAD, 0, {.i = 0}};
}
static inline lang_val lang_v_type(base_type t) {
    return (lang_val){LANG_V_TYPE, (uint8_t)t, {.i = 0}};
}
lang_val lang_v_node(lang_inst *in, lang_pos pos,
                     lang_ref ref); /* 0: the program is full, an error; a bool constant is a static BOOL */
const char *lang_v_shown(lang_inst *in, lang_val v); /* "i32", "the constant 3", for messages */
/* The value as a node of type t: weak constants take it if it holds them, nodes must have it. what: "the fill", for
 * messages. */
lang_val lang_v_adapt(lang_inst *in, lang_pos pos, lang_val v, base_type t, const char *what);
/* As a node of its own type: weak integers as i64; weak floats are an error. */
lang_val lang_v_settle(lang_inst *in, lang_pos pos, lang_val v, const char *what);
/* A weak value of a node that is_open, i64 or f64. */
lang_val lang_v_open(lang_inst *in, lang_pos pos, lang_ref ref);
/* A static integer (weak, or a typed constant). */
bool lang_v_static_int(lang_inst *in, lang_pos pos, lang_val v, const char *what, int64_t *out);
bool lang_v_is_static_int(const lang_inst *in, lang_val v, int64_t *out); /* silent */
lang_val lang_v_word(lang_inst *in, lang_pos pos, lang_word w, const lang_val *args, uint32_t n);
lang_val lang_v_convert(lang_inst *in, lang_pos pos, lang_word mode, base_type t, lang_val v);
lang_val lang_v_binary(lang_inst *in, lang_pos pos, lang_binary_op op, lang_val a, lang_val b);
lang_val lang_v_if(lang_inst *in, lang_pos pos, lang_ref condition, lang_val yes, lang_val no);

/* ---- names.c ---- */
void lang_i_bind(lang_inst *in, lang_symbol name, bool pack, const lang_val *vals, uint32_t n); /* copies the values */
void lang_i_bind_length(lang_inst *in, lang_symbol name, uint32_t n);
const lang_binding *lang_i_find(const lang_inst *in, lang_symbol name, bool pack);
bool lang_i_known(lang_inst *in, lang_pos pos,
                  const lang_binding *b);                          /* has values, not a length only; false: reported */
lang_actual *lang_i_tensor(const lang_inst *in, lang_symbol name); /* NULL: none */
base_type lang_i_type(lang_inst *in, lang_pos pos, lang_symbol name); /* BASE_NONE: reported */
uint64_t lang_i_bound(lang_inst *in, lang_ref r);
lang_val lang_i_unknown(lang_inst *in, lang_pos pos, lang_symbol name, const char *what);

/* ---- open.c: extents that a run knows ---- */
bool lang_i_add_counts(lang_inst *in);          /* the tensors of the call's counts; false: reported */
void lang_i_push_counts(lang_inst *in);         /* they become inputs, behind those of the call */
bool lang_i_is_open(lang_inst *in, lang_ref r); /* made of counts and constants alone */
lang_ranges *lang_i_ranges(lang_inst *in);
lang_val lang_i_dim(lang_inst *in, const lang_argument *arg, uint32_t k); /* extent k: INT or OPEN */
/* What ranges say of an open condition: 1, 0; -1: a run decides. */
int lang_i_decide(lang_inst *in, lang_ref condition);
/* The condition must hold: tested in a stage of its own, unless ranges decide it. false: it never holds; the caller reports. */
bool lang_i_require(lang_inst *in, lang_ref condition);
bool lang_i_require_equal(lang_inst *in, lang_pos pos, lang_val a, lang_val b); /* false: as above, or reported */
void lang_i_make_tests(lang_inst *in);                                          /* stages for what is required */
/* Extents broadcast together; false: reported. */
bool lang_i_broadcast(lang_inst *in, lang_pos pos, lang_val a, lang_val b, lang_val *out);
/* index, or 0 where the extent of the tensor is 1. */
lang_ref lang_i_spread(lang_inst *in, const lang_tensor *t, uint32_t k, lang_ref index);

/* ---- expand.c ---- */
/* at: position inside the packs being zipped, or -1. */
lang_val lang_x(lang_inst *in, const lang_expr *e, int at);
lang_val lang_x_condition(lang_inst *in, const lang_expr *e, int at, const char *what); /* BOOL, or a NODE of bool */
bool lang_x_tick(lang_inst *in, const lang_expr *e); /* counts; false: limit reached, reported */
/* Enters a call of an fn: binds its parameters, lengths only or values. lang_x_leave undoes it, also after a
 * failure. */
typedef struct lang_entered {
    size_t floor, n;
    const lang_source *source;
    const lang_frame *frame;
    lang_frame inner;
} lang_entered;
bool lang_x_enter(lang_inst *in, const lang_expr *e, const lang_fn_decl *fn, int at, bool values, lang_entered *was);
void lang_x_leave(lang_inst *in, const lang_entered *was);
lang_actual *lang_x_actual(lang_inst *in, const lang_expr *e, int at); /* the tensor a read names; NULL: reported */

/* ---- packs.c ---- */
#define LANG_NO_PACK (-1)
#define LANG_BAD_PACK (-2)
/* Entries of the packs zipped in e; LANG_NO_PACK: there are none; LANG_BAD_PACK: reported. */
int lang_x_length(lang_inst *in, const lang_expr *e);
/* All entries of e; a scalar is a pack of one. false: reported. */
bool lang_x_pack(lang_inst *in, const lang_expr *e, int at, lang_pack *out);
lang_val lang_x_builtin(lang_inst *in, const lang_expr *e, int at);

/* ---- extents ---- */
/* An extent as an i64 node, with its bound. outside: it may use no variable (extents of tensors). */
bool lang_i_extent(lang_inst *in, lang_pos pos, lang_val v, bool outside, lang_ref *ref, int64_t *bound);

#endif
