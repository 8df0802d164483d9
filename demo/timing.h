/* timing.h - how long one call takes, from many of them. */
#ifndef DEMO_TIMING_H
#define DEMO_TIMING_H

#include <stddef.h>

typedef struct timing {
    double least, median; /* seconds */
    size_t calls;
} timing;

/* Calls before(user, k), not timed, and then call(user), for about 0.3 seconds (100,000 calls at most, 3 at least). */
timing timing_of(void (*before)(void *user, size_t k), void (*call)(void *user), void *user);
/* Seconds as a person reads them: "12.3 us". Returns text. */
const char *timing_text(char text[32], double seconds);

#endif
