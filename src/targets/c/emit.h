/* emit.h - what the files of the C emitter share (private to targets/c).
 *
 * A unit is one stage of a kernel, or one group of stages of a recurrence; it becomes one C function of pointers. Units
 * whose texts are equal are one function. Expressions are emitted as values: a text, its C type, and the scope that
 * computes it.
 */
#ifndef BURIN_TARGETS_C_EMIT_H
#define BURIN_TARGETS_C_EMIT_H

#include "lang/lang.h"
#include "targets/target.h"

#define C_NAME_MARK '\1' /* stands for the function's name inside its text */

/* ---- helpers: C functions of the module, written only where used (emit_words.c) ---- */
typedef struct c_helpers c_helpers;
c_helpers *c_helpers_new(base_arena *arena, const char *prefix);
/* The prefixed name of a helper, which is then part of the module together with what it calls. Asserts that it
 * exists. */
const char *c_helper(c_helpers *h, const char *name);
/* The prefixed name of a helper that is made here: text is its definition, `$` the prefix. The first text of a name
 * stands. */
const char *c_helper_made(c_helpers *h, const char *name, const char *text);
/* Some made helper may use the vector intrinsics of the host. */
bool c_helpers_use_vectors(const c_helpers *h);
void c_helpers_put(base_text *out, const c_helpers *h);
/* Appends text with every `$` replaced by the prefix. */
void c_put_prefixed(base_text *out, const char *prefix, const char *text);

/* ---- C types of element types ---- */
const char *c_storage_type(base_type t); /* of one element in memory; uint8_t for packed types */
const char *c_value_type(base_type t);   /* of a value in a local */
bool c_is_packed(base_type t);           /* below 8 bits */
bool c_is_small_float(base_type t);      /* held as float, stored as bits: f16 and narrower */
/* The constant of type t as C text: decimals that read back as the same value. */
const char *c_constant(base_arena *arena, base_type t, base_value v);

/* ---- constant data (emit_data.c) ---- */
typedef struct c_data {
    base_type type;
    const void *bytes;
    uint64_t count, size;
    uint64_t offset; /* in the blob */
} c_data;

/* ---- units ---- */
/* Names of arguments that no definition has. */
#define C_PACKED "packed factors"
#define C_FIRST "first sums"
#define C_NUMBERS "numbers of the layer"

typedef struct c_argument {
    uint32_t tensor; /* program tensor; IR_NONE: data */
    uint32_t data;   /* index of c_module.data; IR_NONE: scratch */
    uint32_t place;  /* of scratch: plan tensor */
    base_type type;
    const char *name;        /* for people: what the definition calls it */
    bool written, exclusive; /* exclusive: no other argument shares bytes with it, restrict may be said */
} c_argument;

typedef struct c_function {
    const char *text; /* with C_NAME_MARK */
    bool can_fail;    /* returns uint32_t, 1: an index is out of range */
    uint32_t split;   /* not 0: takes begin and end of its outermost loop, which has so many rounds */
    size_t argument_count;
    const c_argument *arguments;
    uint32_t step, output; /* the first kernel that calls it, and the program tensor that it writes there */
    const char *form;      /* what was performed, for people */
} c_function;

typedef struct c_call {
    uint32_t function;
    size_t argument_count;
    const c_argument *arguments;
} c_call;

typedef struct c_kernel_calls {
    BASE_VEC(c_call) list;
    /* What the C function that the definition names is called with in their place: the node's inputs, then its outputs;
     * of an absent input the type is BASE_NONE. */
    size_t argument_count;
    const c_argument *arguments;
} c_kernel_calls;

typedef struct c_module {
    base_arena *arena;
    const plan_module *plan;
    const target_options *options;
    base_diags *diags;
    const char *prefix;
    c_helpers *helpers;
    base_map *data_map, *function_map;
    BASE_VEC(c_data) data;
    BASE_VEC(c_function) functions;
    c_kernel_calls *calls; /* one for each kernel */
    base_text blob;        /* --weights blob: its contents */
    uint64_t blob_hash;    /* of the weights, FNV-1a 64 */
    bool vector;           /* loops over arrays that compilers vectorise; false: scalars in registers */
} c_module;

/* Copies bytes; equal contents of one type are one entry. */
uint32_t c_data_add(c_module *m, base_type type, const void *bytes, uint64_t count);
void c_data_put(base_text *out, const c_module *m); /* all of it as const arrays */
void c_data_put_values(base_text *out, base_type type, const void *bytes, uint64_t count);
const char *c_data_name(const c_module *m, uint32_t data);
void c_data_blob(base_text *out, c_module *m);       /* sets the offsets */
void c_data_put_incbin(base_text *out, c_module *m); /* the same file, as an array of the module */

/* ---- the application's own functions (extern) ---- */
/* Notes what they are called with. REFUSED: two definitions say different things of one function. */
base_status c_external_note(c_module *m);
bool c_external_alone(const c_module *m, uint32_t function); /* is the function called only where such a one is not? */
void c_external_put_prototypes(base_text *t, c_module *m);
void c_external_put_call(base_text *t, c_module *m, uint32_t k);

/* Makes one function of those whose texts differ in integers alone, where that saves flash (emit_share.c). */
void c_share_functions(c_module *m);

/* A character of an identifier of C, whatever the locale. */
static inline bool c_in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Predicted bytes of a function's code on a 32-bit machine with short instructions, from its text (emit_size.c). */
uint64_t c_code_bytes(const char *text, plan_goal goal);
/* Helpers, of which those that take more than a call are called and not inlined. */
void c_put_outlined(base_text *out, c_module *m, const char *helpers);
/* What the module takes of flash, predicted; called behind c_module_files. */
const plan_flash *c_flash(c_module *m);

/* Emits all units of kernel k into m->functions and m->calls[k]. */
base_status c_emit_kernel(c_module *m, uint32_t k);

/* ---- expressions ---- */
typedef struct c_scope {
    struct c_scope *outer;
    base_text text;
    int depth;
    bool conditional; /* an arm of a condition: what may fail or costs much is not moved out of it */
    bool open;
} c_scope;

typedef enum c_precedence { C_PRIMARY, C_UNARY, C_MUL, C_ADD, C_LOWEST } c_precedence;

typedef struct c_value {
    const char *text;
    c_precedence precedence;
    bool narrow; /* an i64 held as int32_t: its range is known to fit */
} c_value;

typedef struct c_memo {
    c_value value;
    c_scope *scope; /* where it was computed; NULL: not yet */
} c_memo;

typedef struct c_fact { /* 0 <= form, inside scope */
    lang_affine form;
    c_scope *scope;
} c_fact;

typedef struct c_order { /* low < high, inside scope */
    lang_ref low, high;
    c_scope *scope;
} c_order;

typedef struct c_shared { /* a text that a scope computes already */
    c_scope *scope;
    const char *text, *name;
    uint32_t purpose;
} c_shared;

enum { C_TO_FACTOR, C_TO_OUTPUT, C_TO_WEIGHTS, C_TO_TENSOR }; /* purposes; the last: and the program tensor's number */

enum {
    C_UNSAFE = 1,
    C_HEAVY = 2
}; /* flags of nodes: reads something that may be out of range; costs a loop or a libm call */

typedef struct c_unit {
    c_module *m;
    base_arena *arena;
    const lang_program *p;
    const plan_kernel *kernel;
    lang_ranges *ranges;
    const lang_stage *stage;
    BASE_VEC(c_argument) arguments;
    c_scope *scope, *floor; /* floor: nothing is moved further out */
    uint32_t names;
    c_memo *memo;   /* per node */
    uint32_t *uses; /* per node, in the stage */
    uint8_t *flags; /* per node */
    const char *var_text[LANG_MAX_VARS];
    c_scope *var_scope[LANG_MAX_VARS];
    bool var_wide[LANG_MAX_VARS];
    int64_t var_max[LANG_MAX_VARS]; /* largest value */
    uint64_t zero_vars;             /* of extent 1, or merged into another variable: always 0 */
    int64_t merged[LANG_MAX_VARS];  /* extent with what was merged into it; 0: as the stage says */
    BASE_VEC(c_fact) facts;
    BASE_VEC(c_order) orders; /* of what is not affine: extents that a run decides */
    BASE_VEC(c_shared) locals;
    /* What addresses are computed for. For kernel generic, addresses of different things share no text, which would be that of layers
     * whose numbers happen to be equal. */
    uint32_t purpose;
    bool raw; /* the next read is stored as it is: its bits, not its value */
    bool can_fail;
    uint32_t split;
    const char *form; /* how the stage is performed, for people */
} c_unit;

c_unit *c_unit_new(base_arena *scratch, c_module *m, const plan_kernel *kernel, lang_ranges *ranges);
/* Starts a stage: clears memo, facts and variables; counts uses and flags. false: too deep, diagnosed. */
bool c_unit_stage(c_unit *u, const lang_stage *s);
uint32_t c_argument_of(c_unit *u, uint32_t tensor);
uint32_t c_argument_data(c_unit *u, uint32_t data, const char *name);
uint32_t c_argument_scratch(c_unit *u, uint32_t place, base_type type, const char *name);
/* Closes the unit: its function (new or found) and the call are entered, in the module's arena. */
void c_unit_finish(c_unit *u, c_kernel_calls *calls);

c_scope *c_scope_open(c_unit *u, bool conditional); /* a child of u->scope, which becomes u->scope */
void c_scope_close(c_unit *u); /* u->scope becomes its outer scope; text is the caller's to place */
void c_line(c_scope *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Opens a loop or block: the child's text goes to the outer scope when c_block_close is called. */
void c_block_open(c_unit *u, bool conditional, const char *format, ...) __attribute__((format(printf, 3, 4)));
void c_block_close(c_unit *u, const char *tail);
bool c_scope_encloses(const c_scope *outer, const c_scope *inner);
const char *c_name(c_unit *u, char letter);

c_value c_emit(c_unit *u, lang_ref r);
const char *c_wrap(base_arena *arena, c_value v, c_precedence limit); /* in parentheses where it binds weaker */
c_value c_wide(c_unit *u, c_value v);                                 /* an i64 as int64_t */
c_value c_word_text(c_unit *u, lang_ref r); /* a word that is not lazy, its arguments emitted (emit_apply.c) */
/* Text of an affine form; parts that do not change inside are computed in the scopes of their variables. wide: as
 * int64_t. */
c_value c_affine_text(c_unit *u, const lang_affine *a, bool wide);
/* Of one that is an address. */
const char *c_address_text(c_unit *u, const lang_affine *a, bool wide, uint32_t purpose);
bool c_affine_is_wide(c_unit *u, const lang_affine *a); /* may leave int32_t */
bool c_affine_range(c_unit *u, const lang_affine *a, int64_t *lo, int64_t *hi);
c_value c_load(c_unit *u, base_type type, const char *pointer, const char *index);
void c_store(c_unit *u, uint32_t tensor, const char *index, lang_ref body);
void c_store_value(c_unit *u, base_type type, const char *pointer, const char *index, c_value v);
/* Takes out of a unit's text the locals that nothing reads: what was to read them was found to hold without. */
void c_drop_unread(c_unit *u, base_text *text);
c_value c_local(c_unit *u, c_scope *s, const char *ctype,
                const char *text);                         /* a const local of scope s, shared by text */
const char *c_node_type(c_unit *u, lang_ref r, c_value v); /* the C type of a value of node r */
bool c_narrow(c_unit *u, lang_ref r);
/* Range of an integer node, or of its type. */
lang_range c_range(c_unit *u, lang_ref r);
/* Element number of the point being written. */
bool c_output_affine(const lang_program *p, const lang_stage *s, lang_affine *out);
void c_fact_add(c_unit *u, const lang_affine *form);
void c_facts_drop(c_unit *u); /* those of scopes that are closed */
bool c_subtract(const lang_affine *a, const lang_affine *b, int64_t extra,
                lang_affine *out);                     /* a - b + extra; false: overflow */
bool c_fact_known(c_unit *u, const lang_affine *form); /* 0 <= form follows from ranges or one fact */
bool c_affine_of_condition(const lang_program *p, lang_ref condition, bool holds, lang_affine *out);
const char *c_argument_name(c_unit *u, uint32_t argument);
const char *c_float_decode(c_unit *u, base_type t, const char *bits);
const char *c_float_encode(c_unit *u, base_type t, const char *value); /* value: a double */
void c_facts_of(c_unit *u, lang_ref condition, bool holds);            /* of a condition, its conjuncts */
c_value c_condition(c_unit *u, const lang_affine *form);               /* 0 <= form as text */

/* ---- reductions and nests (emit_nest.c) ---- */
c_value c_emit_reduction(c_unit *u, lang_ref r);
void c_emit_nest(c_unit *u, const plan_schedule *x);
void c_bind_var(c_unit *u, uint32_t var, const char *text, c_scope *scope);
int64_t c_extent(const c_unit *u, uint32_t var); /* 0: not a constant */
c_value c_extent_text(c_unit *u, uint32_t var);
/* Opens the loop of a variable; more: a further condition, or "". */
void c_loop_open(c_unit *u, uint32_t var, const char *more);
/* Joins neighbours of a list of variables, outermost first, where every address allows it but that of `except` (0:
 * none). */
void c_merge(c_unit *u, const uint8_t *vars, uint32_t n, lang_ref except);
/* 0 <= c * var + rest as the first (c > 0) or the end (c < 0) of var's range. */
c_value c_bound_of(c_unit *u, const lang_affine *form, uint32_t var);
bool c_value_with_fill(c_unit *u, lang_ref e, lang_ref read, base_value *v,
                       int depth); /* of e where read takes its fill */

/* ---- register tiles (emit_contract.c) ---- */
/* false: this stage does not fit the template; nothing was emitted, the nest is. */
bool c_emit_contract(c_unit *u, const plan_schedule *x);

/* Names of helpers for inner loops of a tile (emit_vector.c). */
const char *c_helper_dot(c_unit *u, uint32_t mr, uint32_t nr);
const char *c_helper_mac(c_unit *u, uint32_t nr);

/* ---- files (emit_module.c, emit_test.c) ---- */
/* Appends the formatted text with every `$` replaced by the prefix. */
void c_put(c_module *m, base_text *t, const char *format, ...);
uint64_t c_elements(const ir_shape *s); /* of a planned tensor: the product cannot overflow */
const plan_tensor *c_io(const c_module *m, bool is_input, size_t i);
void c_put_header(base_text *out, c_module *m);
void c_put_interface(base_text *out, c_module *m);
void c_put_test(base_text *out, c_module *m);
void c_module_files(c_module *m, target_files *out);
const char *c_pointer_text(c_module *m, const plan_kernel *kernel, const c_argument *a);
/* Bytes from the plan's start to a tensor that is no constant. */
uint64_t c_place_of(const c_module *m, const plan_tensor *t);

/* ---- emit_memories.c: several memories; without them there is nothing to put ---- */
bool c_has_memories(const c_module *m);
/* "arena + 16", "memory_tcm + 16"; from: "" or "model->" */
const char *c_place_text(const c_module *m, const plan_tensor *t, const char *from);
void c_put_memory_macros(base_text *t, c_module *m);
void c_put_memory_members(base_text *t, const c_module *m);
void c_put_memory_declarations(base_text *t, c_module *m);
void c_put_memory_locals(base_text *t, const c_module *m);
/* P_init_memories to its brace; what it asks of its arguments; and what it keeps of them. */
void c_put_memory_init(base_text *t, c_module *m);
void c_put_memory_checks(base_text *t, c_module *m);
void c_put_memory_pointers(base_text *t, const c_module *m);
/* P_init, which divides one piece. */
void c_put_memory_one(base_text *t, c_module *m);

#endif
