/* module.h - a module for tests: kernels with programs, placed without sharing, emitted, compiled by the host's
 * compiler, run. */
#ifndef BURIN_TESTS_C_MODULE_H
#define BURIN_TESTS_C_MODULE_H

#include "lang/lang.h"
#include "targets/target.h"

typedef struct test_module {
    base_memory memory;
    base_arena *arena;
    base_diags diags;
    plan_device device;
    plan_module plan;
    BASE_VEC(const void *) inputs; /* contents of each plan input */
    BASE_VEC(void *) outputs;      /* set by test_module_run */
    uint64_t next;                 /* bytes of the arena in use */
    target_files files;
    char folder[64];
} test_module;

/* vector: the machine has vectors (loops over arrays), else scalars. */
void test_module_init(test_module *m, bool vector);
void test_module_free(test_module *m);
/* A kernel of a program; its inputs without contents become inputs of the module with these contents, its outputs
 * outputs. schedules NULL: plain nests. Returns the index of its first output in outputs. */
size_t test_module_add(test_module *m, const lang_program *p, const void *const *inputs,
                       const plan_schedule *schedules);
plan_schedule *test_plain_schedules(base_arena *arena, const lang_program *p);
/* Emits; asserts success. options NULL: folder. */
void test_module_emit(test_module *m, const target_options *options);
/* Compiles with the flags ("gcc -O0 ..."), warnings are errors; runs; fills outputs. Returns the program's exit
 * status. */
int test_module_run(test_module *m, const char *compiler);
/* The same with a main of the caller's (NULL: the emitted tests have it), called with the arguments. */
int test_module_build(test_module *m, const char *compiler, const char *driver, const char *arguments);
uint64_t test_elements(const lang_tensor *t);
uint64_t test_bytes(const lang_tensor *t);

#endif
