/* board_main.c - one emitted module, of prefix P, on a Cortex-M in qemu: instructions, stack, and whether the outputs
 * are right.
 *
 * Takes data.h (written by board.py): given[] and wanted[], all inputs and all outputs one after the other, as bytes.
 * Prints through semihosting `run insns N`, `stack bytes N`, `same` or `DIFFERS`; with STEPS also `step K insns N` for
 * each step. count.h and the start code are of ../shared/tools/cortexm.
 */
#include <string.h>

#include "P.h"
#include "count.h"
#include "data.h"

#define PAINTED 16384
#define PAINT 0x5a

#ifdef P_MEMORY_COUNT
P_MEMORIES;
#else
static unsigned char room[P_ARENA_BYTES + 1] __attribute__((aligned(P_ARENA_ALIGNMENT)));
#define P_INIT_MEMORIES(model) P_init(model, room, P_ARENA_BYTES)
#endif
static P_model model;

static void put(const char *name, uint32_t v) {
    char text[12];
    int at = 11;
    text[at] = 0;
    do {
        text[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    semi_puts(name);
    semi_puts(text + at);
    semi_puts("\n");
}

/* The stack below the caller: painted before a run, and looked at after it. Not inlined, so that both see the same
 * frame. */
__attribute__((noinline)) static void paint(void) {
    volatile unsigned char below[PAINTED];
    for (uint32_t k = 0; k < PAINTED; k++) {
        below[k] = PAINT;
    }
}
__attribute__((noinline)) static uint32_t painted_over(void) {
    volatile unsigned char below[PAINTED];
    uint32_t k = 0;
    while (k < PAINTED && below[k] == PAINT) {
        k++;
    }
    return PAINTED - k;
}

static void set_inputs(void) {
    uint32_t at = 0;
    for (size_t i = 0; i < P_INPUT_COUNT; i++) {
        memcpy(P_input(&model, i), given + at, P_input_info(i)->bytes);
        at += P_input_info(i)->bytes;
    }
}

static int right(void) {
    uint32_t at = 0;
    for (size_t i = 0; i < P_OUTPUT_COUNT; i++) {
        if (memcmp(P_output(&model, i), wanted + at, P_output_info(i)->bytes) != 0) {
            return 0;
        }
        at += P_output_info(i)->bytes;
    }
    return at == sizeof wanted;
}

#ifdef STEPS
static void each_step(void *user, uint32_t step, uint32_t operator_id, int begin) {
    static uint32_t started;
    (void)user;
    (void)operator_id;
    if (begin) {
        started = count_insns();
        return;
    }
    uint32_t ended = count_insns();
    put("step ", step);
    put("insns ", ended - started);
}
#endif

int main(void) {
    if (P_INIT_MEMORIES(&model) != P_OK) {
        semi_puts("FAULT init\n");
        return 0;
    }
    set_inputs();
    paint();
    count_begin();
    P_status status = P_run(&model);
    count_end("run");
    put("stack bytes ", painted_over());
    semi_puts(status == P_OK && right() ? "same\n" : "DIFFERS\n");
#ifdef STEPS
    P_set_callback(&model, each_step, NULL);
    set_inputs();
    (void)P_run(&model);
#endif
    return 0;
}
