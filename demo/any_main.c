/* any_main.c - any emitted module, of prefix `net`, on made-up inputs: what goes in, what comes out, how long it takes.
 *
 * usage: net [SEED]
 * The inputs are those of `burin run --seed SEED` (12345), so its outputs can be laid beside these. Exit status: 0, or
 * 1 when the module reports an error.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "timing.h"

#define SHOWN 10

typedef struct demo {
    net_model model;
    uint32_t seed;
} demo;

static void must(net_status status) {
    if (status != net_OK) {
        fprintf(stderr, "net: %s\n", net_status_text(status));
        exit(1);
    }
}

/* The next of the documented generator's numbers, in [0, 1). */
static double next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 16777216.0;
}

/* A made-up value as element k of a tensor; types that the generator does not name stay zero. */
static void put_value(void *at, net_type type, size_t k, double r) {
    switch (type) {
    case net_F32:
        ((float *)at)[k] = (float)(2 * r - 1);
        break;
    case net_F64:
        ((double *)at)[k] = 2 * r - 1;
        break;
    case net_I8:
    case net_U8:
        ((uint8_t *)at)[k] = (uint8_t)(256 * r);
        break;
    case net_I16:
    case net_U16:
        ((int16_t *)at)[k] = (int16_t)(65536 * r - 32768);
        break;
    case net_I32:
    case net_U32:
        ((int32_t *)at)[k] = (int32_t)(2 * r);
        break;
    case net_I64:
    case net_U64:
        ((int64_t *)at)[k] = (int64_t)(2 * r);
        break;
    case net_BOOL:
        ((uint8_t *)at)[k] = r >= 0.5;
        break;
    default:
        break;
    }
}

static void set_inputs(void *user, size_t k) {
    demo *d = user;
    uint32_t state = d->seed;
    (void)k;
    for (size_t i = 0; i < net_INPUT_COUNT; i++) {
        const net_tensor *info = net_input_info(i);
        void *at = net_input(&d->model, i);
        memset(at, 0, info->bytes);
        for (uint32_t e = 0; e < info->elements; e++) {
            put_value(at, info->type, e, next(&state));
        }
    }
}

static void run(void *user) {
    must(net_run(&((demo *)user)->model));
}

static void show_value(const void *at, net_type type, size_t k) {
    switch (type) {
    case net_F32:
        printf(" %g", (double)((const float *)at)[k]);
        break;
    case net_F64:
        printf(" %g", ((const double *)at)[k]);
        break;
    case net_I8:
        printf(" %d", ((const int8_t *)at)[k]);
        break;
    case net_U8:
    case net_BOOL:
        printf(" %d", ((const uint8_t *)at)[k]);
        break;
    case net_I16:
        printf(" %d", ((const int16_t *)at)[k]);
        break;
    case net_I32:
        printf(" %ld", (long)((const int32_t *)at)[k]);
        break;
    case net_I64:
        printf(" %lld", (long long)((const int64_t *)at)[k]);
        break;
    default:
        printf(" ?");
        break;
    }
}

static void show_tensor(const char *word, size_t i, const net_tensor *info, const void *at) {
    char text[128];
    size_t n = 0;
    for (uint32_t k = 0; k < info->rank && n + 16 < sizeof text; k++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%ld", k > 0 ? "x" : "", (long)info->dims[k]);
    }
    printf("%s %zu   %s, %lu bytes:", word, i, n > 0 ? text : "scalar", (unsigned long)info->bytes);
    for (uint32_t k = 0; k < info->elements && k < SHOWN; k++) {
        show_value(at, info->type, k);
    }
    printf("%s\n", info->elements > SHOWN ? " ..." : "");
}

int main(int count, char **words) {
    static demo d;
    static _Alignas(net_ARENA_ALIGNMENT) unsigned char arena[net_ARENA_BYTES + 1];
    d.seed = count > 1 ? (uint32_t)strtoul(words[1], NULL, 10) : 12345;
    must(net_init(&d.model, arena, sizeof arena));
    set_inputs(&d, 0);
    for (size_t i = 0; i < net_INPUT_COUNT; i++) {
        show_tensor("input ", i, net_input_info(i), net_input(&d.model, i));
    }
    run(&d);
    for (size_t i = 0; i < net_OUTPUT_COUNT; i++) {
        show_tensor("output", i, net_output_info(i), net_output(&d.model, i));
    }
    timing time = timing_of(set_inputs, run, &d);
    char least[32], median[32];
    printf("time       %s an inference at best, %s median of %zu, one thread\n", timing_text(least, time.least),
           timing_text(median, time.median), time.calls);
    return 0;
}
