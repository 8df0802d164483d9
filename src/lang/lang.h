/* lang.h - face of room `lang`: the tensor-comprehension language.
 *
 * Takes definitions as text. Gives parsed libraries, typed programs (program.h), the evaluator (eval.h) and the
 * analyses (analysis.h). Knows no operator by name, no file format and no target. docs/LANGUAGE.md is the definition of
 * the language.
 */
#ifndef BURIN_LANG_H
#define BURIN_LANG_H

#include "lang/analysis.h"
#include "lang/channels.h"
#include "lang/eval.h"
#include "lang/program.h"

/* Parsed definitions. An operator may have several bodies (overloads): the first whose declared types and `when` fit is
 * taken. */
typedef struct lang_library lang_library;
lang_library *lang_library_new(base_arena *arena);
/* Adds the `op`s and `fn`s of a text. The text must outlive the library. Errors have line, column and caret. An fn must
 * be known when an op that uses it is instantiated, not before. Parses all of the text; errors up to the diagnostics'
 * limit. */
base_status lang_parse(lang_library *lib, const char *file, const char *text, size_t n, base_diags *d);
bool lang_has_op(const lang_library *lib, const char *name);
size_t lang_op_count(const lang_library *lib);
/* in order of definition; an overloaded name appears once */
const char *lang_op_name(const lang_library *lib, size_t i);

/* For documentation and dictionaries: what an overload declares. */
typedef struct lang_op_info {
    const char *name, *doc; /* doc: the comment block right above `op`, NULL if none */
    size_t input_count, output_count, attr_count;
    /* as written: "X:i8[N,H,V,C]", "B:i32[O]?", "strides.." */
    const char *const *inputs, *const *outputs, *const *attrs;
} lang_op_info;
size_t lang_overload_count(const lang_library *lib, const char *name);
lang_op_info lang_overload(const lang_library *lib, const char *name, size_t k, base_arena *arena);

/* One actual input (or output, where only type and quant matter; shape of an output is checked if rank_known). */
typedef struct lang_argument {
    bool present;
    base_type type;
    ir_shape shape;
    ir_quant quant;
    const void *data; /* contents where known at compile time; NULL */
    bool shape_known; /* outputs: the shape is what the file says and must be what the definition gives */
    bool open; /* inputs: type and shape are not given, but those that the definition says by what stands before; they
                         are to be read off the program's input */
} lang_argument;

typedef struct lang_call {
    const char *op;
    /* in the order of the definition; trailing absent ones may be left out; a variadic family takes the rest */
    const lang_argument *inputs;
    size_t input_count;
    const lang_argument *outputs;
    size_t output_count;
    const ir_attr *attrs; /* by name; unknown ones are an error; missing ones without default too */
    size_t attr_count;
    const char *const *goals; /* names for which goal("x") is true, e.g. "litert" */
    size_t goal_count;
    /* Extents that a run knows: symbol[k] = s of an input's shape says that its extent is count number s - 1, at most dim[k].
     * The program has the counts as further inputs, i64 without dimensions; what must hold of them is tested in further
     * outputs, whose evaluation fails where it does not. */
    const int64_t *counts; /* the most that each can be, at least 1 */
    size_t count_count;
    const base_place *place; /* of the operator in the input, for errors of the call; NULL allowed */
    uint64_t node_limit;     /* 0: default */
} lang_call;

/* Instantiates. Errors: no overload fits (each overload's reason is given), a `chk` fails, extents differ, output shape
 * or type differ from what the call says, limits. *out is raw: nothing is simplified by ranges. */
base_status lang_instantiate(base_arena *arena, const lang_library *lib, const lang_call *call, lang_program **out,
                             base_diags *d);

/* What an attribute of the operator is where a call does not give it, in arena; NULL: it has no default. */
const ir_attr *lang_attr_default(base_arena *arena, const lang_library *lib, const char *op, const char *name);

/* Simplifies by ranges: removes / and % that cannot act, guards and fills that cannot fail, clamps that cannot act,
 * splits nothing. Every value of every output stays the same bits. Gives a new program in the same arena. */
lang_program *lang_simplify(base_arena *arena, const lang_program *p);
/* Evaluates every stage that depends on constants only (data known), up to max_bytes each, and makes it a CONSTANT
 * tensor; drops stages and tensors that no output needs (inputs stay). */
lang_program *lang_fold(base_arena *arena, const lang_program *p, uint64_t max_bytes);
/* Sums over the places where an index divides by a number become sums over all, of tensors whose elements stand apart with zeros
 * between: the same values, but where a factor is infinite, and the order of the sums. Gives p where there is none. */
const lang_program *lang_spread(base_arena *arena, const lang_program *p);
/* Is the tensor one that lang_spread made? Of which, and how many places apart elements are along each extent. */
bool lang_is_spread(const lang_program *p, uint32_t tensor, uint32_t *from, int64_t *apart);
/* The same program with f32 for values of a type that a format has not: f64, which rounds otherwise, or floats of 8 bits and fewer
 * (but powers of two alone), whose every result is brought to the nearest of its type: the same values but the sign of zero. *exact: where
 * the inputs' values are f32's, those of the outputs are the same. NULL: a word needs their bits, or a sum of small floats rounds at each step. */
typedef enum lang_carries { LANG_CARRIES_F64, LANG_CARRIES_SMALL } lang_carries;
bool lang_is_carried(lang_carries what, base_type type);
lang_program *lang_carried(base_arena *arena, const lang_program *p, lang_carries what, bool *exact);
/* Elements of such a type as f32; *exact becomes false where one is none. */
const void *lang_carried_data(base_arena *arena, base_type type, const void *data, uint64_t count, bool *exact);
/* Substitutes stage s into all its readers and drops it: legal for any stage without rec, and for one of a recurrence that stages of
 * it read behind that one, at the same step, and itself does not; the caller judges the cost.
 * A read with fill becomes if(in range, body, fill). An output keeps its stage. NULL: an extent reads the stage, or
 * there are more nodes or variables than a program or stage may have. */
lang_program *lang_inline(base_arena *arena, const lang_program *p, uint32_t stage);
/* In place of what brings one integer to few values, step by step, by constants (requantisation and its clamp, whatever its
 * words), one product, one sum, one shift and a clamp: on every number that can come the same value, which is proved at every
 * step. wide: products of 64 bits are cheap; else two products of 32 bits are tried first. *work: how many words may
 * still be evaluated, for as many programs as share it; what would take more stays. *found: how many expressions. NULL: none. */
lang_program *lang_stairs(base_arena *arena, const lang_program *p, bool wide, uint64_t *work, uint32_t *found);
/* In place of what makes one byte of two through their sum or difference, two products, a sum, one shift and a clamp: the same at
 * each of at most 65,536 pairs. *found: in how many stages. NULL: in none. */
lang_program *lang_planes(base_arena *arena, const lang_program *p, uint64_t *work, uint32_t *found);
/* Sums of floats of 32 and 16 bits are taken in f64 and rounded once: other bits, nearer to the exact ones. NULL: there are none. */
lang_program *lang_precise(base_arena *arena, const lang_program *p);
/* Sums of a recurrence that none of its rounds changes, each with the largest expression around it of which that is true, become stages
 * before it, which it reads: the same bits. wanted: is it worth while, of each such stage of program p, with its ranges? NULL: there are
 * none, or the node limit. */
typedef bool (*lang_wanted)(const void *user, const lang_program *p, lang_ranges *ranges, const lang_stage *s);
lang_program *lang_hoist(base_arena *arena, const lang_program *p, lang_wanted wanted, const void *user);
/* The program for targets that have a place for each tensor before a run. most: what outputs 0 .. n-1 have room for, whose
 * extents along what a run decides become these bounds. Each such extent is counted: counts[j] says where, in a stage without
 * dimensions that is a further output, or in an input of p that is a count. Where more may come out than there is room for,
 * a further output fails. filled[i]: of output i what is behind its elements is 0 (lang_can_fill must hold). counts: room for
 * n * LANG_MAX_RANK. NULL: the node limit. */
typedef struct lang_count {
    uint32_t output, axis;
    bool is_input;  /* of the new program, as any made of it has them */
    uint32_t index; /* number of the input, or of the output */
} lang_count;
lang_program *lang_counted(base_arena *arena, const lang_program *p, size_t n, const ir_shape *most, const bool *filled,
                           lang_count *counts, size_t *count_n);
/* Nothing but the first extent of the output is decided by a run, and no stage reads it again. */
bool lang_can_fill(const lang_program *p, uint32_t output);
/* Links programs into one: input k of part j is bound to an input of the whole, or to an output of an earlier part, of
 * its type and rank. NULL: the node limit. */
typedef struct lang_link_source {
    uint32_t part;  /* IR_NONE: an input of the whole */
    uint32_t index; /* output of the part, or input of the whole; IR_NONE: absent */
} lang_link_source;
typedef struct lang_link_part {
    const lang_program *program;
    const lang_link_source *inputs; /* one for each of program->inputs */
} lang_link_part;
lang_program *lang_link(base_arena *arena, const char *name, const lang_link_part *parts, size_t n, size_t input_count,
                        const lang_link_source *outputs, size_t output_count);

#endif
