/* providers.h - face of room `providers`: those that are built in, and what they share.
 *
 * Each sub-folder NAME exports `const burin_provider *providers_NAME(void)`; examples/null_provider.c is built in as `null`.
 */
#ifndef BURIN_PROVIDERS_PROVIDERS_H
#define BURIN_PROVIDERS_PROVIDERS_H

#include <pthread.h>
#include <stdbool.h>

#include "burin/session.h"

extern const burin_provider_entry_fn providers_list[]; /* generated; NULL ends it */

/* ---- at_once.c: for those whose work is done in submit ---- */
/* This processor: members device_count and device. */
burin_code providers_device_count(void *user, uint32_t *count, burin_error *error);
burin_code providers_device(void *user, uint32_t i, burin_device *out, burin_error *error);

const char *providers_name(const burin_source *source); /* never NULL */
/* All of the file within the inspection's limit, which is to be freed: for formats whose weights stand among the headers. */
burin_code providers_read(const burin_source *source, const burin_inspection *inspection, uint8_t **file,
                          burin_error *error);

/* How far the work of a session is. */
typedef struct providers_work {
    const burin_control *control; /* of the work that goes on */
    bool cancelled;               /* it was told so */
    burin_error failure;          /* of the last work; its message is the provider's to write while the work goes on */
    pthread_mutex_t lock;         /* of what stands below: wait comes from any thread */
    pthread_cond_t ended;
    uint64_t ticket;
    uint32_t phase;
} providers_work;
bool providers_work_init(providers_work *w); /* false: the system has none */
void providers_work_destroy(providers_work *w);
void providers_work_begin(providers_work *w, const burin_work *work);
bool providers_work_goes_on(providers_work *w); /* asks whether it is cancelled */
void providers_work_end(providers_work *w, burin_code code);
/* The member wait, of the session that w is of. */
burin_code providers_work_wait(providers_work *w, uint64_t ticket, uint64_t nanoseconds, burin_progress *out,
                               burin_error *error);
/* The member cancel: the work is told when it asks. */
burin_code providers_no_cancel(void *user, void *session, uint64_t ticket, burin_error *error);

#endif
