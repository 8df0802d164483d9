/* check_private.h - what the files of room `check` share. */
#ifndef BURIN_CHECK_PRIVATE_H
#define BURIN_CHECK_PRIVATE_H

#include "check/check.h"

/* ---- check.c ---- */
/* Room for the contents of each of the graph's tensors that the list names, for each run. */
void **check_rooms(base_arena *scratch, const ir_graph *g, const uint32_t *list, size_t n, size_t runs);

/* ---- process.c ---- */
/* A temporary folder that is removed, with all in it, when the arena is freed. NULL with an error. */
char *check_temporary_folder(base_arena *arena, base_diags *d);
/* The host's C compiler: wanted if given, else $CC, cc, gcc, clang, the first that $PATH has. NULL: none. */
const char *check_find_compiler(base_arena *arena, const char *wanted);

/* The program's name for check_spawn, which enters a folder first: a relative path begins where this process is. */
const char *check_program(base_arena *arena, const char *name);
typedef struct check_process {
    int status;       /* exit status; -1: ended by a signal or not started */
    const char *text; /* the last of what it wrote to stderr, printable */
} check_process;
/* Runs argv (NULL-terminated) in folder, stdin and stdout from and to files of that folder (NULL: /dev/null). */
check_process check_spawn(base_arena *arena, const char *folder, const char *const *argv, const char *in,
                          const char *out);

/* ---- driver.c ---- */
/* A module built from a plan with the C target, ready to run any number of times. */
typedef struct check_build {
    const plan_module *plan;
    const char *folder, *compiler;
    const char *flags; /* as they stand in the plan */
    bool trace;        /* the program writes every step's inputs and outputs */
} check_build;
base_status check_build_module(base_arena *arena, const plan_module *plan, const compile_options *o,
                               const char *compiler, bool trace, check_build *out, base_diags *d);
/* Several runs, the module's state kept in between. inputs: of the first run, then of the next. Without trace *bytes is
 * the outputs of each run. With it, for each run: for each step that was done its number (uint32_t), the bytes of what
 * its program reads and is not constant (before), its number again and the bytes of its outputs (after); then CHECK_DONE and
 * the outputs. In place of a number CHECK_STOPPED: a loop went on beyond what is traced; CHECK_TRIPS: beyond its bound;
 * CHECK_INDEX, the second time: the step found an index or an extent out of range. Then nothing follows. *bytes lives in
 * arena. */
#define CHECK_DONE UINT32_MAX
#define CHECK_STOPPED (UINT32_MAX - 1)
#define CHECK_TRIPS (UINT32_MAX - 2)
#define CHECK_INDEX (UINT32_MAX - 3)
base_status check_run_module(base_arena *arena, const check_build *b, size_t runs, const void *const *inputs,
                             const ir_shape *shapes, const uint8_t **bytes, size_t *size, base_diags *d);
/* The tensor that a count is of, as an input of the module. */
size_t check_input_of(const plan_module *p, const plan_count *count);
/* The plan tensors whose bytes kernel k reads (is_input) or writes, constants left out, in the order they are
 * traced. */
size_t check_traced(const plan_module *p, const plan_kernel *k, bool is_input, uint32_t *out, size_t max);

/* ---- layers.c ---- */
typedef struct check_trace {
    const uint8_t *bytes; /* of check_run_module, with trace */
    size_t size, runs;
    const void *const *inputs; /* of each run */
    const ir_shape *shapes;    /* likewise */
    /* set: how many runs came to their end; the outputs of each of them; why the next one did not: 0, CHECK_STOPPED,
     * CHECK_TRIPS or CHECK_INDEX */
    size_t completed;
    const uint8_t **outputs;
    uint32_t why;
} check_trace;
/* Compares every kernel's outputs in a trace with the evaluator fed with the kernel's own traced inputs, and the order of
 * the steps with the conditions. */
base_status check_layers(base_arena *arena, ops_registry *ops, const ops_goal *goal, const plan_module *p,
                         check_trace *trace, uint64_t *sampled, uint64_t *total, base_diags *d);

/* ---- counted.c: kernels with extents that a run decided ---- */
/* Does a run decide extents of what the kernel reads or gives? */
bool check_is_counted(const plan_module *p, const plan_kernel *k);
/* The shape that plan tensor t has: counts from the bytes of the tensors that hold them. REFUSED: a count is out of its
 * bounds. */
base_status check_actual_shape(const plan_module *p, const uint8_t *const *latest, uint32_t t, ir_shape *out,
                               base_diags *d);
/* Where element number i of a tensor of that actual shape lies in memory, which is laid out for the plan tensor's. */
uint64_t check_place(const plan_tensor *t, const ir_shape *actual, uint64_t i);
/* The elements one behind the other, in arena. */
const void *check_dense(base_arena *arena, const plan_tensor *t, const ir_shape *actual, const uint8_t *bytes);

/* How the reals of two outputs may differ. */
typedef enum check_rounding {
    CHECK_BITS,    /* not at all */
    CHECK_NETWORK, /* by what a whole network makes of other constants: 1e-4 of themselves and 1e-5 of the largest */
    CHECK_FORMAT, /* as that, and floats of 16 bits by what operators of another format round: of f16 1/256 of both, of bf16 1/32 */
    CHECK_IN_F32 /* as that, of what f64 was computed in f32 for; whole numbers, which may be cut off reals, by 1 and 2^-20 of themselves */
} check_rounding;
/* Integers by bits, but for the last, reals as that says. */
bool check_same_values(const ir_tensor *t, const void *got, const void *want, check_rounding rounding);
/* Where the two differ most, and by what, in brackets behind a blank; "" where they do not. In arena. */
const char *check_difference(base_arena *arena, const ir_tensor *t, const void *got, const void *want);

#endif
