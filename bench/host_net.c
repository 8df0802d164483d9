/* host_net.c - one emitted module, of prefix P, as a shared library that bench/nets.py times beside its peers.
 *
 * Every call copies the inputs in first, as a user of the module would; that is part of what is timed. Not thread-safe.
 */
#include <string.h>
#include <time.h>

#include "P.h"

#define EXPORT __attribute__((visibility("default")))
#define MOST_STEPS 512

static P_model model;
static _Alignas(64) unsigned char room[P_ARENA_BYTES + 1];
static unsigned long long started, least[MOST_STEPS];

EXPORT int net_init(void) {
    return P_init(&model, room, sizeof room) == P_OK ? 0 : 1;
}

/* `times` inferences of the inputs given (all, one after the other); the outputs of the last into `out`. 0, or 1 on an
 * error. */
EXPORT int net_run(const unsigned char *given, unsigned char *out, int times) {
    while (times-- > 0) {
        size_t at = 0;
        for (size_t i = 0; i < P_INPUT_COUNT; i++) {
            memcpy(P_input(&model, i), given + at, P_input_info(i)->bytes);
            at += P_input_info(i)->bytes;
        }
        if (P_run(&model) != P_OK) {
            return 1;
        }
    }
    for (size_t i = 0, at = 0; i < P_OUTPUT_COUNT; i++) {
        memcpy(out + at, P_output(&model, i), P_output_info(i)->bytes);
        at += P_output_info(i)->bytes;
    }
    return 0;
}

static unsigned long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

static void each_step(void *user, uint32_t step, uint32_t operator_id, int begin) {
    (void)user;
    (void)operator_id;
    if (begin) {
        started = now();
        return;
    }
    unsigned long long took = now() - started;
    if (step < MOST_STEPS && took < least[step]) {
        least[step] = took;
    }
}

/* The least time of each step over `times` inferences, in ns, of which the clock itself takes some 30. Returns the
 * number of steps. */
EXPORT int net_profile(const unsigned char *given, unsigned char *out, int times, unsigned long long *ns) {
    memset(least, 0xff, sizeof least);
    P_set_callback(&model, each_step, NULL);
    int failed = net_run(given, out, times);
    P_set_callback(&model, NULL, NULL);
    for (int k = 0; k < P_STEP_COUNT && k < MOST_STEPS; k++) {
        ns[k] = least[k];
    }
    return failed ? -1 : P_STEP_COUNT;
}
