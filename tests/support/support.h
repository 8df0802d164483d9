/* support.h - what tests of every room share: the corpora, and how to be skipped aloud.
 *
 * Only corpus_*.c tests may use it (make check never needs ../shared).
 */
#ifndef BURIN_TESTS_SUPPORT_H
#define BURIN_TESTS_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ends the test program as skipped, with the reason; as failed where CI=true: what CI lacks is a fault. */
static inline void test_skip(const char *reason) {
    const char *ci = getenv("CI");
    fprintf(stderr, "skipped: %s\n", reason);
    exit(ci && strcmp(ci, "true") == 0 ? 1 : 77);
}

/* The path of a file or folder under $BURIN_SHARED (default: ../shared beside the source tree), in a static buffer
 * that the next call overwrites. Skips the test when it is not there. */
static inline const char *test_shared(const char *relative) {
    static char path[4096];
    const char *shared = getenv("BURIN_SHARED");
    snprintf(path, sizeof path, "%s/%s", shared ? shared : BURIN_SOURCE_DIR "/../shared", relative);
    if (access(path, R_OK) != 0)
        test_skip(path);
    return path;
}

#endif
