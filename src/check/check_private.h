/* check_private.h - what the files of room `check` share. */
#ifndef BURIN_CHECK_PRIVATE_H
#define BURIN_CHECK_PRIVATE_H

#include "check/check.h"

/* ---- process.c ---- */
/* A temporary folder that is removed, with all in it, when the arena is freed. NULL with an error. */
char *check_temporary_folder(base_arena *arena, base_diags *d);
/* The host's C compiler: wanted if given, else $CC, cc, gcc, clang, the first that $PATH has. NULL: none. */
const char *check_find_compiler(base_arena *arena, const char *wanted);
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
/* One run. trace: for each kernel in order the bytes of its program's inputs that are not constant (before), then of
 * its outputs (after); then the module's outputs. Without trace: the module's outputs. *bytes lives in arena. */
base_status check_run_module(base_arena *arena, const check_build *b, const void *const *inputs, const uint8_t **bytes,
                             size_t *size, base_diags *d);
/* The plan tensors whose bytes kernel k reads (is_input) or writes, constants left out, in the order they are
 * traced. */
size_t check_traced(const plan_module *p, const plan_kernel *k, bool is_input, uint32_t *out, size_t max);

/* ---- layers.c ---- */
/* Compares every kernel's outputs in a trace with the evaluator fed with the kernel's own traced inputs. inputs: the
 * module's. */
base_status check_layers(base_arena *arena, const plan_module *p, const void *const *inputs, const uint8_t *trace,
                         size_t size, uint64_t *sampled, uint64_t *total, base_diags *d);

#endif
