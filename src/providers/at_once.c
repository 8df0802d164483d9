/* at_once.c - what providers share whose work is done in submit, on this machine: the device, the end that others wait for, a file
 * read whole.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "providers/providers.h"

/* ---- the device ---- */

burin_code providers_device_count(void *user, uint32_t *count, burin_error *error) {
    (void)user, (void)error;
    *count = 1;
    return BURIN_E_NONE;
}

burin_code providers_device(void *user, uint32_t i, burin_device *out, burin_error *error) {
    (void)user;
    if (i > 0) {
        return burin_fail(error, BURIN_E_NO_DEVICE, "there is one device");
    }
    *out = (burin_device){out->size, 0, 0, BURIN_CAN_EXACT_COMPLETION, "cpu:0", "this processor", "cpu"};
    return BURIN_E_NONE;
}

/* ---- files ---- */

const char *providers_name(const burin_source *source) {
    return source->name != NULL ? source->name : "model";
}

burin_code providers_read(const burin_source *source, const burin_inspection *inspection, uint8_t **file,
                          burin_error *error) {
    burin_code code = BURIN_E_NONE;
    *file = NULL;
    if (source->bytes > inspection->header_limit) {
        return burin_fail(error, BURIN_E_LIMIT, "the file, which is all headers, is larger than the limit");
    }
    *file = source->bytes < SIZE_MAX ? malloc((size_t)source->bytes + 1) : NULL;
    if (*file == NULL) {
        return burin_fail(error, BURIN_E_NO_MEMORY, "no memory for the file");
    }
    if (source->read(source->user, 0, *file, (size_t)source->bytes) != BURIN_E_NONE) {
        code = burin_fail(error, BURIN_E_READ, "the file could not be read");
        free(*file);
        *file = NULL;
    }
    return code;
}

/* ---- work ---- */

bool providers_work_init(providers_work *w) {
    pthread_condattr_t a;
    memset(w, 0, sizeof *w);
    if (pthread_mutex_init(&w->lock, NULL) != 0) {
        return false;
    }
    if (pthread_condattr_init(&a) == 0) {
        const bool made = pthread_condattr_setclock(&a, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&w->ended, &a) == 0;
        (void)pthread_condattr_destroy(&a);
        if (made) {
            return true;
        }
    }
    (void)pthread_mutex_destroy(&w->lock);
    return false;
}

void providers_work_destroy(providers_work *w) {
    (void)pthread_cond_destroy(&w->ended);
    (void)pthread_mutex_destroy(&w->lock);
}

void providers_work_begin(providers_work *w, const burin_work *work) {
    w->control = work->control;
    w->cancelled = false;
    pthread_mutex_lock(&w->lock);
    w->ticket = work->ticket;
    w->phase = BURIN_PENDING;
    pthread_mutex_unlock(&w->lock);
}

bool providers_work_goes_on(providers_work *w) {
    w->cancelled = w->control->cancelled(w->control) != 0;
    return !w->cancelled;
}

void providers_work_end(providers_work *w, burin_code code) {
    pthread_mutex_lock(&w->lock);
    w->failure.code = (uint32_t)code;
    w->phase = code == BURIN_E_NONE ? BURIN_DONE : w->cancelled ? BURIN_ENDED : BURIN_FAILED;
    pthread_cond_broadcast(&w->ended);
    pthread_mutex_unlock(&w->lock);
}

/* The clock's time after so many nanoseconds from now. */
static struct timespec later(uint64_t nanoseconds) {
    const uint64_t second = 1000000000u;
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    const uint64_t sum = (uint64_t)t.tv_nsec + nanoseconds % second;
    t.tv_sec += (time_t)(nanoseconds / second + sum / second);
    t.tv_nsec = (long)(sum % second);
    return t;
}

burin_code providers_work_wait(providers_work *w, uint64_t ticket, uint64_t nanoseconds, burin_progress *out,
                               burin_error *error) {
    const bool forever = nanoseconds > (uint64_t)1 << 60;
    const struct timespec until = later(forever ? 0 : nanoseconds);
    int over = nanoseconds == 0;
    pthread_mutex_lock(&w->lock);
    while (w->ticket == ticket && w->phase == BURIN_PENDING && !over) {
        over = forever ? pthread_cond_wait(&w->ended, &w->lock) : pthread_cond_timedwait(&w->ended, &w->lock, &until);
    }
    const bool mine = w->ticket == ticket;
    out->phase = w->phase;
    out->releasable = w->phase != BURIN_PENDING;
    out->code = w->phase == BURIN_FAILED ? w->failure.code : 0;
    if (mine && w->phase == BURIN_FAILED) {
        (void)burin_fail(error, BURIN_E_NONE, w->failure.message); /* told by the phase; these are its words */
    }
    pthread_mutex_unlock(&w->lock);
    return mine ? BURIN_E_NONE : burin_fail(error, BURIN_E_ARGUMENT, "that is not the last ticket");
}

burin_code providers_no_cancel(void *user, void *session, uint64_t ticket, burin_error *error) {
    (void)user, (void)session, (void)ticket, (void)error;
    return BURIN_E_NONE;
}
