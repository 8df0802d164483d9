/* timing.c - how long one call takes: the least, which is the call without disturbance, and the median of many. */
#define _POSIX_C_SOURCE 200809L
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST_CALLS 100000

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

timing timing_of(void (*before)(void *user, size_t k), void (*call)(void *user), void *user) {
    static double seconds[MOST_CALLS];
    size_t n = 0;
    for (double end = now() + 0.3; n < MOST_CALLS && (n < 3 || now() < end); n++) {
        before(user, n);
        double begin = now();
        call(user);
        seconds[n] = now() - begin;
    }
    qsort(seconds, n, sizeof seconds[0], order);
    return (timing){seconds[0], seconds[n / 2], n};
}

const char *timing_text(char text[32], double seconds) {
    if (seconds < 1e-3) {
        snprintf(text, 32, "%.2f us", 1e6 * seconds);
    } else if (seconds < 1) {
        snprintf(text, 32, "%.2f ms", 1e3 * seconds);
    } else {
        snprintf(text, 32, "%.2f s", seconds);
    }
    return text;
}
