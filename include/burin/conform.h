/* conform.h - the kit of the provider contract: numbered checks, each of which names the promises it holds a provider, or the host, to.
 *
 * The kit registers the provider in runtimes of its own and calls it as an application would, and as one that misuses it would.
 * Valid C99 and C++.
 */
#ifndef BURIN_CONFORM_H
#define BURIN_CONFORM_H

#include "burin/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum burin_verdict { BURIN_VERDICT_NOT_CLAIMED = 0, BURIN_VERDICT_PASS = 1, BURIN_VERDICT_FAIL = 2 } burin_verdict;

typedef struct burin_check {
    uint32_t number;      /* from 1, in the kit's order */
    uint32_t verdict;     /* burin_verdict */
    const char *name;     /* "busy_second" */
    const char *promises; /* "S37 P6": of session.h and provider.h */
    const char *text;
    char why[200]; /* of a failure: what did not hold, and where */
} burin_check;

typedef struct burin_conform_options {
    uint32_t size; /* sizeof(burin_conform_options) */
    uint32_t reserved;
    const burin_source *model; /* what is run; NULL: the provider's sample 0 */
    const burin_source *slow;  /* one whose work is not at its end when submit returns; NULL: sample 1, or none */
} burin_conform_options;
#define BURIN_CONFORM_OPTIONS_INIT                                                                                     \
    { (uint32_t)sizeof(burin_conform_options), 0, NULL, NULL }

BURIN_API size_t burin_conform_count(void);
/* checks has room for all of them. The code is about the kit itself: what a provider does wrong stands in the checks. */
BURIN_API burin_code burin_conform(const burin_provider *provider, const burin_conform_options *options,
                                   burin_check *checks, burin_error *error);

#ifdef __cplusplus
}
#endif
#endif
