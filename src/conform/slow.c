/* slow.c - checks of work that is not at its end when submit returns:
 * deadlines, quarantine, cancel, release. */
#include <time.h>

#include "conform/kit.h"

/* A world with one session of the slow model. */
typedef struct slow {
    kit_world w;
    burin_handle session;
    kit_io io;
    burin_submission s;
    burin_outcome outcome;
    unsigned char *out;
} slow;

static bool begin(kit *k, slow *x) {
    memset(x, 0, sizeof *x);
    x->outcome.size = sizeof x->outcome;
    if (!kit_open(k, &x->w, NULL, NULL)) {
        return false;
    }
    if (kit_session(&x->w, &k->slow, &x->session) == BURIN_E_NONE && kit_io_make(&x->w, x->session, &x->io)) {
        x->out = calloc(x->io.output_bytes + 1, 1);
    }
    return x->out != NULL && kit_submit(&x->w, x->session, &x->io, &x->s) == BURIN_E_NONE;
}

static bool end(slow *x) {
    free(x->out);
    kit_io_free(&x->io);
    (void)burin_session_release(x->w.rt, &x->session, NULL);
    const burin_stats s = x->w.rt != NULL ? kit_stats(&x->w) : (burin_stats){.size = 0};
    const bool empty = s.session_bytes + s.model_bytes + s.shared_bytes + s.leaked_session_bytes == 0;
    return x->w.rt != NULL && kit_close(&x->w) && empty;
}

static burin_code observe(slow *x) {
    return burin_output_observe(x->w.rt, x->s.output, 0, x->out, x->io.output_bytes, NULL, &x->w.error);
}

static burin_code poll(slow *x) {
    return burin_completion_poll(x->w.rt, x->s.completion, &x->outcome, &x->w.error);
}

/* Until the session takes another submission; false: it never does. */
static bool becomes_free(slow *x) {
    burin_value v;
    burin_code code = BURIN_E_BUSY;
    for (int i = 0; i < 1000 && code == BURIN_E_BUSY; i++) {
        kit_sleep(5);
        code = burin_session_tensor(x->w.rt, x->session, BURIN_OUTPUT, 0, &v, &x->w.error);
    }
    return code == BURIN_E_NONE;
}

static void check_end(kit *k) {
    slow x;
    if (begin(k, &x)) {
        GIVES(k, slow_pending, BURIN_E_NONE, poll(&x));
        HOLDS(k, slow_pending, x.outcome.disposition == BURIN_UNRESOLVED && x.outcome.releasable == 0);
        HOLDS(k, slow_early, observe(&x) == BURIN_E_NOT_COMPLETE);
        GIVES(k, slow_commits, BURIN_E_NONE, kit_wait(&x.w, &x.s, &x.outcome));
        HOLDS(k, slow_commits, x.outcome.disposition == BURIN_COMMITTED);
        HOLDS(k, slow_commits, (k->admitted & BURIN_CAN_OUTPUT_OBSERVATION) == 0 || observe(&x) == BURIN_E_NONE);
    }
    (void)end(&x);
}

static void check_deadlines(kit *k) {
    slow x;
    if (begin(k, &x)) {
        GIVES(k, slow_deadline, BURIN_E_NONE,
              burin_completion_wait_until(x.w.rt, &x.s.completion, 1000000, BURIN_QUARANTINE, &x.outcome, &x.w.error));
        HOLDS(k, slow_deadline, x.outcome.disposition == BURIN_ABANDONED && x.s.completion.owner == 0);
        burin_value v;
        HOLDS(k, slow_quarantine,
              x.outcome.releasable == 0 &&
                  burin_session_tensor(x.w.rt, x.session, BURIN_OUTPUT, 0, &v, NULL) == BURIN_E_BUSY);
        HOLDS(k, slow_quarantine, becomes_free(&x));
        HOLDS(k, slow_no_output, observe(&x) == BURIN_E_ABANDONED);
    }
    (void)end(&x);
    if ((k->admitted & BURIN_CAN_NATIVE_CANCEL) != 0) {
        if (begin(k, &x)) {
            GIVES(k, slow_native, BURIN_E_NONE,
                  burin_completion_wait_until(x.w.rt, &x.s.completion, 1000000, BURIN_NATIVE_CANCEL, &x.outcome,
                                              &x.w.error));
            HOLDS(k, slow_native, x.outcome.disposition == BURIN_ABANDONED && x.outcome.releasable != 0);
            burin_value v;
            GIVES(k, slow_native, BURIN_E_NONE, burin_session_tensor(x.w.rt, x.session, BURIN_OUTPUT, 0, &v, NULL));
        }
        (void)end(&x);
    }
}

static void check_cancel(kit *k) {
    slow x;
    if (begin(k, &x)) {
        GIVES(k, slow_cancel, BURIN_E_NONE, burin_completion_cancel(x.w.rt, x.s.completion, &x.w.error));
        GIVES(k, slow_cancel, BURIN_E_ALREADY_RESOLVED, burin_session_cancel(x.w.rt, x.session, &x.w.error));
        HOLDS(k, slow_no_output, observe(&x) == BURIN_E_ABANDONED);
        for (int i = 0; i < 2; i++) {
            GIVES(k, slow_cancel, BURIN_E_CANCELLED, kit_wait(&x.w, &x.s, &x.outcome));
            HOLDS(k, slow_cancel, x.outcome.disposition == BURIN_ABANDONED);
        }
        HOLDS(k, slow_no_output, observe(&x) == BURIN_E_ABANDONED);
        if ((k->admitted & BURIN_CAN_PERSISTENT_CACHE) != 0) {
            HOLDS(k, slow_lost, becomes_free(&x));
            GIVES(k, slow_lost, BURIN_E_STATE_LOST, kit_submit(&x.w, x.session, &x.io, &x.s));
            GIVES(k, slow_lost, BURIN_E_NONE, burin_session_reset(x.w.rt, x.session, &x.w.error));
            GIVES(k, slow_lost, BURIN_E_NONE, kit_submit(&x.w, x.session, &x.io, &x.s));
            GIVES(k, slow_lost, BURIN_E_NONE, kit_wait(&x.w, &x.s, &x.outcome));
        }
    }
    (void)end(&x);
}

static void check_release(kit *k) {
    slow x;
    if (begin(k, &x)) {
        const burin_stats before = kit_stats(&x.w);
        GIVES(k, slow_release_completion, BURIN_E_NONE, burin_completion_release(x.w.rt, &x.s.completion, &x.w.error));
        HOLDS(k, slow_release_completion, x.s.completion.owner == 0);
        HOLDS(k, slow_release_completion, kit_stats(&x.w).session_bytes == before.session_bytes);
        HOLDS(k, slow_release_completion, observe(&x) != BURIN_E_NONE);
        HOLDS(k, slow_release_completion, becomes_free(&x));
    }
    (void)end(&x);
    if (begin(k, &x)) {
        HOLDS(k, slow_release_session, end(&x));
    } else {
        (void)end(&x);
    }
}

/* ---- two threads ---- */

typedef struct waiter {
    slow *x;
    burin_outcome outcome;
    burin_code code;
} waiter;

static void *wait_in_thread(void *argument) {
    waiter *a = argument;
    a->outcome = (burin_outcome){.size = sizeof a->outcome};
    a->code = burin_completion_wait(a->x->w.rt, a->x->s.completion, &a->outcome, NULL);
    return NULL;
}

static void check_threads(kit *k) {
    slow x;
    pthread_t thread;
    for (int round = 0; round < 6; round++) {
        waiter a = {.x = &x};
        if (begin(k, &x) && pthread_create(&thread, NULL, wait_in_thread, &a) == 0) {
            burin_code cancelled;
            if (round == 0) {
                kit_sleep(2); /* it waits by now, most likely; where it does not, the
                         session is released, which is right as well */
                burin_handle kept = x.session;
                const burin_code code = burin_session_release(x.w.rt, &kept, NULL);
                HOLDS(k, slow_release_waiting, code == BURIN_E_BUSY || code == BURIN_E_NONE);
                HOLDS(k, slow_release_waiting, code != BURIN_E_BUSY || kept.owner != 0);
                (void)pthread_join(thread, NULL);
                (void)end(&x);
                continue;
            }
            kit_sleep(round == 1 ? 2 : 8 * (unsigned)round);
            cancelled = burin_completion_cancel(x.w.rt, x.s.completion, NULL);
            (void)pthread_join(thread, NULL);
            HOLDS(k, slow_race, a.code == BURIN_E_NONE);
            HOLDS(k, slow_race,
                  cancelled == BURIN_E_NONE
                      ? a.outcome.disposition == BURIN_ABANDONED
                      : cancelled == BURIN_E_ALREADY_RESOLVED && a.outcome.disposition == BURIN_COMMITTED);
            if (round == 1) {
                HOLDS(k, slow_wakes, cancelled != BURIN_E_NONE || a.outcome.releasable != 0);
            }
        }
        (void)end(&x);
    }
}

void kit_check_slow(kit *k) {
    if (k->slow.read == NULL) {
        return;
    }
    check_end(k);
    check_deadlines(k);
    check_cancel(k);
    check_release(k);
    check_threads(k);
}
