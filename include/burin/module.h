/* module.h - an emitted module as a shared object that the provider `module` takes.
 *
 * One C file beside the module's own makes it one:
 *
 *     #include "kws.h"
 *     #define BURIN_MODULE kws
 *     #include <burin/module.h>
 *
 *   cc -shared -fPIC -O2 kws.c kws_kernels.c kws_weights.c glue.c -o kws.so -lm
 *   burin conform module kws.so
 *
 * Weights are inline or incbin (a blob has no place in the object), and no extent is the caller's or the data's.
 * The head is numbers and text alone, so that it is read from the file, and nothing is loaded until a model is prepared.
 */
#ifndef BURIN_MODULE_H
#define BURIN_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define BURIN_MODULE_MAGIC "burin module 1\n" /* 16 bytes with its end */
#define BURIN_MODULE_ENTRY_NAME "burin_module_table"

typedef struct burin_module_head {
    char magic[16];
    uint32_t size; /* sizeof(burin_module_head) */
    uint32_t input_count, output_count, step_count;
    uint64_t model_bytes; /* of P_model */
    uint64_t arena_bytes, arena_alignment, state_bytes;
    uint64_t weights_bytes, weights_hash;
    char prefix[64];
} burin_module_head;

typedef struct burin_module_tensor {
    const char *name;
    uint32_t type; /* P_type */
    uint32_t rank;
    const int32_t *dims;
    uint64_t bytes;
} burin_module_tensor;

/* The functions of docs/MODULE.md; a status is 0 where all is well. */
typedef struct burin_module {
    uint32_t size; /* sizeof(burin_module) */
    uint32_t reserved;
    const burin_module_head *head;
    int (*tensor)(int output, size_t i, burin_module_tensor *out); /* 0: there is none */
    int (*init)(void *model, void *arena, size_t bytes);
    void *(*input)(void *model, size_t i);
    const void *(*output)(const void *model, size_t i);
    int (*step)(void *model, int *done);
    void (*cancel)(void *model);
    int (*reset)(void *model);
    int (*save)(const void *model, void *state, size_t bytes);
    int (*restore)(void *model, const void *state, size_t bytes);
    const char *(*text)(int status);
} burin_module;

#endif

#ifdef BURIN_MODULE

#define BURIN_MODULE_JOIN_(a, b) a##b
#define BURIN_MODULE_JOIN(a, b) BURIN_MODULE_JOIN_(a, b)
#define BURIN_MODULE_TEXT_(a) #a
#define BURIN_MODULE_TEXT(a) BURIN_MODULE_TEXT_(a)
#define BURIN_MODULE_THE(name) BURIN_MODULE_JOIN(BURIN_MODULE, name)

#if BURIN_MODULE_THE(_DIM_COUNT) > 0
#error                                                                                                                 \
    "the module has open extents, which the provider `module` does not take: compile it for fixed ones (--dim NAME=N)"
#endif

static int burin_module_tensor_of(int output, size_t i, burin_module_tensor *out) {
    const BURIN_MODULE_THE(_tensor) *t = output ? BURIN_MODULE_THE(_output_info)(i) : BURIN_MODULE_THE(_input_info)(i);
    if (t != NULL) {
        out->name = t->name;
        out->type = (uint32_t)t->type;
        out->rank = t->rank;
        out->dims = t->dims;
        out->bytes = t->bytes;
    }
    return t != NULL;
}
static int burin_module_init(void *model, void *arena, size_t bytes) {
    return (int)BURIN_MODULE_THE(_init)((BURIN_MODULE_THE(_model) *)model, arena, bytes);
}
static void *burin_module_input(void *model, size_t i) {
    return BURIN_MODULE_THE(_input)((BURIN_MODULE_THE(_model) *)model, i);
}
static const void *burin_module_output(const void *model, size_t i) {
    return BURIN_MODULE_THE(_output)((const BURIN_MODULE_THE(_model) *)model, i);
}
static int burin_module_step(void *model, int *done) {
    return (int)BURIN_MODULE_THE(_step)((BURIN_MODULE_THE(_model) *)model, done);
}
static void burin_module_cancel(void *model) {
    BURIN_MODULE_THE(_cancel)((BURIN_MODULE_THE(_model) *)model);
}
static int burin_module_reset(void *model) {
    return (int)BURIN_MODULE_THE(_reset)((BURIN_MODULE_THE(_model) *)model);
}
static int burin_module_save(const void *model, void *state, size_t bytes) {
    return (int)BURIN_MODULE_THE(_state_save)((const BURIN_MODULE_THE(_model) *)model, state, bytes);
}
static int burin_module_restore(void *model, const void *state, size_t bytes) {
    return (int)BURIN_MODULE_THE(_state_restore)((BURIN_MODULE_THE(_model) *)model, state, bytes);
}
static const char *burin_module_text(int status) {
    return BURIN_MODULE_THE(_status_text)((BURIN_MODULE_THE(_status))status);
}

static const burin_module_head burin_module_numbers = {
    BURIN_MODULE_MAGIC,
    (uint32_t)sizeof(burin_module_head),
    BURIN_MODULE_THE(_INPUT_COUNT),
    BURIN_MODULE_THE(_OUTPUT_COUNT),
    BURIN_MODULE_THE(_STEP_COUNT),
    sizeof(BURIN_MODULE_THE(_model)),
    BURIN_MODULE_THE(_ARENA_BYTES),
    BURIN_MODULE_THE(_ARENA_ALIGNMENT),
    BURIN_MODULE_THE(_STATE_BYTES),
    BURIN_MODULE_THE(_WEIGHTS_BYTES),
    BURIN_MODULE_THE(_WEIGHTS_HASH),
    BURIN_MODULE_TEXT(BURIN_MODULE),
};

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const burin_module burin_module_table;
const burin_module burin_module_table = {
    (uint32_t)sizeof(burin_module),
    0,
    &burin_module_numbers,
    burin_module_tensor_of,
    burin_module_init,
    burin_module_input,
    burin_module_output,
    burin_module_step,
    burin_module_cancel,
    burin_module_reset,
    burin_module_save,
    burin_module_restore,
    burin_module_text,
};

#endif
