/* runs.c - checks of submissions whose work is soon done: inputs, tickets, who
 * is busy, what is observed. */
#include "conform/kit.h"

/* ---- runs ---- */

static void check_inputs(kit *k, kit_world *w, burin_handle session, kit_io *io) {
    burin_submission s;
    burin_submit_options o = kit_io_submit(io);
    if (io->input_count == 0) {
        SKIP(k, input_type, "the model has no input");
        SKIP(k, input_shape, "the model has no input");
        SKIP(k, input_size, "the model has no input");
    }
    o.input_count = io->input_count + 1;
    GIVES(k, input_count, BURIN_E_INPUT, burin_session_submit(w->rt, session, &o, &s, &w->error));
    o.input_count = io->input_count;
    for (uint32_t i = 0; i < io->input_count; i++) {
        const burin_value kept = io->inputs[i];
        io->inputs[i].type = strcmp(kept.type, "i64") == 0 ? "u64" : "i64";
        GIVES(k, input_type, BURIN_E_INPUT, burin_session_submit(w->rt, session, &o, &s, &w->error));
        io->inputs[i] = kept;
        io->inputs[i].rank = kept.rank + 1;
        GIVES(k, input_shape, BURIN_E_INPUT, burin_session_submit(w->rt, session, &o, &s, &w->error));
        io->inputs[i] = kept;
        io->inputs[i].dim[0] = kept.rank > 0 ? kept.dim[0] + 1 : 0;
        HOLDS(k, input_shape,
              kept.rank == 0 || burin_session_submit(w->rt, session, &o, &s, &w->error) == BURIN_E_INPUT);
        io->inputs[i] = kept;
        io->inputs[i].bytes = kept.bytes + 1;
        GIVES(k, input_size, BURIN_E_INPUT, burin_session_submit(w->rt, session, &o, &s, &w->error));
        io->inputs[i] = kept;
        io->inputs[i].data = NULL;
        HOLDS(k, input_size,
              kept.bytes == 0 || burin_session_submit(w->rt, session, &o, &s, &w->error) == BURIN_E_INPUT);
        io->inputs[i] = kept;
    }
    o.kind = 77;
    GIVES(k, bad_kind, BURIN_E_ARGUMENT, burin_session_submit(w->rt, session, &o, &s, &w->error));
}

static void check_equal(kit *k, kit_pair *p) {
    burin_submission s;
    burin_outcome outcome;
    if ((k->admitted & BURIN_CAN_OUTPUT_OBSERVATION) == 0) {
        return;
    }
    (void)kit_runs(&p->w, p->a, &p->io, 1, 3, p->one);
    (void)kit_runs(&p->w, p->b, &p->io, 1, 3, p->two);
    HOLDS(k, runs_equal, kit_pair_same(p));
    /* refused submissions between change nothing; inputs wiped after submit have
   * no effect */
    check_inputs(k, &p->w, p->a, &p->io);
    (void)kit_runs(&p->w, p->a, &p->io, 5, 1, p->one);
    kit_io_fill(&p->io, 5);
    if (kit_submit(&p->w, p->b, &p->io, &s) == BURIN_E_NONE) {
        kit_io_fill(&p->io, 99);
        GIVES(k, inputs_taken, BURIN_E_NONE, kit_wait(&p->w, &s, &outcome));
        memset(p->io.out, 0, p->io.output_bytes);
        for (uint32_t i = 0; i < p->io.output_count; i++) {
            const burin_value *v = &p->io.outputs[i];
            (void)burin_output_observe(p->w.rt, s.output, i, (void *)(uintptr_t)v->data, (size_t)v->bytes, NULL, NULL);
        }
        memcpy(p->two, p->io.out, p->io.output_bytes);
        HOLDS(k, inputs_taken, kit_pair_same(p));
        HOLDS(k, refused_submit, kit_pair_same(p));
    }
}

static void check_outcomes(kit *k, kit_pair *p) {
    kit_world *w = &p->w;
    burin_submission s, t;
    burin_outcome first, again = {.size = sizeof again};
    GIVES(k, runs, BURIN_E_NONE, kit_submit(w, p->a, &p->io, &s));
    GIVES(k, runs, BURIN_E_NONE, kit_wait(w, &s, &first));
    HOLDS(k, runs, first.disposition == BURIN_COMMITTED && first.code == BURIN_E_NONE);
    for (int i = 0; i < 200 && first.releasable == 0; i++) {
        (void)burin_completion_poll(w->rt, s.completion, &first, NULL);
        kit_sleep(5);
    }
    HOLDS(k, becomes_releasable, first.releasable != 0);
    GIVES(k, outcome_sticky, BURIN_E_NONE, burin_completion_poll(w->rt, s.completion, &again, &w->error));
    HOLDS(k, outcome_sticky, memcmp(&first, &again, sizeof first) == 0);
    GIVES(k, outcome_sticky, BURIN_E_NONE, burin_completion_wait(w->rt, s.completion, &again, &w->error));
    HOLDS(k, outcome_sticky, memcmp(&first, &again, sizeof first) == 0);
    GIVES(k, cancel_late, BURIN_E_ALREADY_RESOLVED, burin_completion_cancel(w->rt, s.completion, &w->error));
    GIVES(k, cancel_late, BURIN_E_NONE, burin_completion_poll(w->rt, s.completion, &again, &w->error));
    HOLDS(k, cancel_late, again.disposition == BURIN_COMMITTED);
    GIVES(k, cancel_idle, BURIN_E_ALREADY_RESOLVED, burin_session_cancel(w->rt, p->b, &w->error));
    GIVES(k, runs, BURIN_E_NONE, kit_submit(w, p->a, &p->io, &t));
    HOLDS(k, tickets_differ, t.ticket != s.ticket);
    GIVES(k, stale_completion, BURIN_E_STALE_HANDLE, burin_completion_wait(w->rt, s.completion, &again, &w->error));
    GIVES(k, stale_output, BURIN_E_STALE_HANDLE, burin_output_observe(w->rt, s.output, 0, NULL, 0, NULL, &w->error));
    burin_handle kept = t.completion;
    GIVES(k, until_zero, BURIN_E_ARGUMENT,
          burin_completion_wait_until(w->rt, &kept, 0, BURIN_QUARANTINE, &again, &w->error));
    HOLDS(k, until_zero, kept.owner != 0);
    GIVES(k, until_mode, BURIN_E_ARGUMENT,
          burin_completion_wait_until(w->rt, &kept, 1, (burin_deadline_mode)9, &again, &w->error));
    HOLDS(k, until_mode, kept.owner != 0);
    if ((k->admitted & BURIN_CAN_NATIVE_CANCEL) == 0) {
        GIVES(k, mode_not_had, BURIN_E_SESSION_CAPABILITY,
              burin_completion_wait_until(w->rt, &kept, 1, BURIN_NATIVE_CANCEL, &again, &w->error));
    } else {
        SKIP(k, mode_not_had, "sessions have it");
    }
    GIVES(k, until_commits, BURIN_E_NONE,
          burin_completion_wait_until(w->rt, &kept, 60000000000u, BURIN_QUARANTINE, &again, &w->error));
    HOLDS(k, until_commits, again.disposition == BURIN_COMMITTED && kept.owner == 0);
    GIVES(k, until_commits, BURIN_E_STALE_HANDLE, burin_completion_poll(w->rt, t.completion, &again, &w->error));
    kit_world other;
    if (kit_submit(w, p->b, &p->io, &s) == BURIN_E_NONE && kit_open(k, &other, NULL, NULL)) {
        GIVES(k, foreign_completion, BURIN_E_FOREIGN_HANDLE,
              burin_completion_poll(other.rt, s.completion, &again, &w->error));
        (void)kit_wait(w, &s, &again);
        (void)kit_close(&other);
    }
}

static void check_allocations(kit *k, kit_pair *p) {
    const long calls = p->w.ledger.calls;
    const uint64_t late = kit_stats(&p->w).late_allocations;
    burin_code code = BURIN_E_NONE;
    for (unsigned i = 0; i < 1000 && code == BURIN_E_NONE; i++) {
        code = kit_run(&p->w, p->a, &p->io, i);
    }
    GIVES(k, no_allocation, BURIN_E_NONE, code);
    HOLDS(k, no_allocation, p->w.ledger.calls == calls && kit_stats(&p->w).late_allocations == late);
}

static void check_kinds(kit *k, kit_pair *p) {
    burin_submit_options o = kit_io_submit(&p->io);
    burin_submission s;
    burin_outcome outcome;
    const bool can = (k->admitted & BURIN_CAN_SEQUENCE) != 0;
    for (uint32_t kind = BURIN_PREFILL; kind <= BURIN_DECODE; kind++) {
        o.kind = kind;
        const burin_code code = burin_session_submit(p->w.rt, p->a, &o, &s, &p->w.error);
        if (can) {
            GIVES(k, sequence, BURIN_E_NONE, code);
            GIVES(k, sequence, BURIN_E_NONE, kit_wait(&p->w, &s, &outcome));
            SKIP(k, kind_not_had, "sessions have it");
        } else {
            GIVES(k, kind_not_had, BURIN_E_SESSION_CAPABILITY, code);
        }
    }
}

static burin_code begin_nothing(void *user, void *session, const burin_work *work, burin_error *error) {
    (void)user, (void)session, (void)work, (void)error;
    return BURIN_E_NONE;
}

static burin_code end_in_failure(void *user, void *session, uint64_t ticket, uint64_t nanoseconds, burin_progress *out,
                                 burin_error *error) {
    (void)user, (void)session, (void)ticket, (void)nanoseconds, (void)error;
    out->phase = BURIN_FAILED;
    out->releasable = 1;
    out->code = BURIN_E_EXECUTION;
    return BURIN_E_NONE;
}

/* The provider's sessions, whose work fails. */
static void check_failure(kit *k) {
    kit_world w;
    burin_provider t = *k->provider;
    burin_handle session = BURIN_NO_HANDLE;
    kit_io io;
    burin_submission s;
    burin_outcome outcome = {.size = sizeof outcome};
    t.submit = begin_nothing;
    t.wait = end_in_failure;
    if (!kit_open(k, &w, NULL, &t)) {
        return;
    }
    if (kit_session(&w, &k->model, &session) == BURIN_E_NONE && kit_io_make(&w, session, &io)) {
        GIVES(k, failure_is_outcome, BURIN_E_NONE, kit_submit(&w, session, &io, &s));
        GIVES(k, failure_is_outcome, BURIN_E_NONE, burin_completion_wait(w.rt, s.completion, &outcome, &w.error));
        HOLDS(k, failure_is_outcome, outcome.disposition == BURIN_FAILURE && outcome.code == BURIN_E_EXECUTION);
        HOLDS(k, failure_is_outcome,
              burin_output_observe(w.rt, s.output, 0, io.out, io.output_bytes, NULL, NULL) != BURIN_E_NONE);
        kit_io_free(&io);
    }
    (void)burin_session_release(w.rt, &session, NULL);
    (void)kit_close(&w);
}

void kit_check_runs(kit *k) {
    kit_pair p;
    burin_runtime_options o = BURIN_RUNTIME_OPTIONS_INIT;
    if (kit_pair_make(k, &p, NULL)) {
        check_equal(k, &p);
        check_inputs(k, &p.w, p.a, &p.io);
        check_outcomes(k, &p);
        check_kinds(k, &p);
        check_allocations(k, &p);
    }
    kit_pair_free(&p);
    check_failure(k);
    o.first_ticket = UINT64_MAX - 2;
    if (kit_pair_make(k, &p, &o)) {
        GIVES(k, tickets_end, BURIN_E_NONE, kit_run(&p.w, p.a, &p.io, 1));
        GIVES(k, tickets_end, BURIN_E_NONE, kit_run(&p.w, p.a, &p.io, 1));
        GIVES(k, tickets_end, BURIN_E_TICKETS, kit_run(&p.w, p.a, &p.io, 1));
    }
    kit_pair_free(&p);
}

/* ---- who is busy ---- */

typedef struct intruder {
    kit *k;
    kit_world *w;
    burin_handle session, completion;
    const kit_io *io;
    int calls;
    burin_code submit, release, cancel, end; /* what it was told */
} intruder;

static void *submit_from_thread(void *argument) {
    intruder *i = argument;
    burin_submission s;
    burin_submit_options o = kit_io_submit(i->io);
    burin_outcome outcome = {.size = sizeof outcome};
    i->submit = burin_session_submit(i->w->rt, i->session, &o, &s, NULL);
    i->cancel = burin_completion_cancel(i->w->rt, i->completion, NULL);
    i->end = burin_completion_release(i->w->rt, &i->completion, NULL);
    return NULL;
}

static void in_thread(intruder *i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, submit_from_thread, i) == 0) {
        (void)pthread_join(thread, NULL);
    }
}

/* Called by the provider while it works. */
static void submit_from_callback(void *user) {
    intruder *i = user;
    burin_submission s;
    const burin_submit_options o = kit_io_submit(i->io);
    burin_handle session = i->session;
    i->calls++;
    i->submit = burin_session_submit(i->w->rt, i->session, &o, &s, NULL);
    i->release = burin_session_release(i->w->rt, &session, NULL);
}

void kit_check_busy(kit *k) {
    kit_pair p;
    burin_submission s, t;
    burin_outcome outcome = {.size = sizeof outcome};
    if (!kit_pair_make(k, &p, NULL)) {
        kit_pair_free(&p);
        return;
    }
    kit_world *w = &p.w;
    intruder i = {.k = k, .w = w, .session = p.a, .io = &p.io};
    if (kit_submit(w, p.a, &p.io, &s) == BURIN_E_NONE) {
        GIVES(k, busy_second, BURIN_E_BUSY, kit_submit(w, p.a, &p.io, &t));
        burin_value v;
        GIVES(k, busy_other_calls, BURIN_E_BUSY, burin_session_tensor(w->rt, p.a, BURIN_OUTPUT, 0, &v, &w->error));
        GIVES(k, busy_other_calls, BURIN_E_BUSY, burin_session_reset(w->rt, p.a, &w->error));
        in_thread(&i);
        HOLDS(k, busy_thread, i.submit == BURIN_E_BUSY);
        GIVES(k, busy_second, BURIN_E_NONE, kit_wait(w, &s, &outcome));
    }
    /* a stale completion, in another thread, against a newer submission */
    i.completion = s.completion;
    if (kit_submit(w, p.a, &p.io, &t) == BURIN_E_NONE) {
        in_thread(&i);
        HOLDS(k, stale_thread, i.cancel == BURIN_E_STALE_HANDLE && i.end == BURIN_E_STALE_HANDLE);
        GIVES(k, stale_thread, BURIN_E_NONE, kit_wait(w, &t, &outcome));
        HOLDS(k, stale_thread, outcome.disposition == BURIN_COMMITTED);
    }
    burin_submit_options o = kit_io_submit(&p.io);
    o.progress = submit_from_callback;
    o.user = &i;
    i.calls = 0;
    if (burin_session_submit(w->rt, p.a, &o, &s, &w->error) == BURIN_E_NONE) {
        GIVES(k, busy_callback, BURIN_E_NONE, kit_wait(w, &s, &outcome));
        HOLDS(k, asks_cancelled, i.calls > 0);
        HOLDS(k, busy_callback, i.calls == 0 || (i.submit == BURIN_E_BUSY && i.release == BURIN_E_BUSY));
    }
    kit_pair_free(&p);
}

/* ---- outputs ---- */

static void check_output(kit *k, kit_pair *p, const burin_submission *s, uint32_t i) {
    enum { GUARD = 64 };
    kit_world *w = &p->w;
    const burin_value *want = &p->io.outputs[i];
    const size_t bytes = (size_t)want->bytes;
    unsigned char *a = malloc(bytes + GUARD), *b = malloc(bytes + GUARD);
    burin_value v;
    memset(&v, 0, sizeof v);
    if (a != NULL && b != NULL) {
        memset(a, 0x11, bytes + GUARD);
        memset(b, 0xee, bytes + GUARD);
        GIVES(k, observes, BURIN_E_NONE, burin_output_observe(w->rt, s->output, i, a, bytes + GUARD, &v, &w->error));
        GIVES(k, observe_again, BURIN_E_NONE, burin_output_observe(w->rt, s->output, i, b, bytes, &v, &w->error));
        HOLDS(k, observe_shape,
              v.type != NULL && strcmp(v.type, want->type) == 0 && v.bytes <= want->bytes &&
                  (want->open != 0 || v.bytes == want->bytes) && v.data == b);
        const size_t got = (size_t)v.bytes <= bytes ? (size_t)v.bytes : bytes;
        HOLDS(k, observes, memcmp(a, b, got) == 0);
        HOLDS(k, observe_again, memcmp(a, b, got) == 0);
        for (size_t g = 0; g < GUARD; g++) {
            HOLDS(k, observes, a[bytes + g] == 0x11 && b[bytes + g] == 0xee);
        }
        memset(a, 0x11, bytes);
        GIVES(k, observe_room, BURIN_E_BUFFER_SIZE,
              burin_output_observe(w->rt, s->output, i, a, bytes - 1, &v, &w->error));
        HOLDS(k, observe_room, w->error.wanted == bytes && a[0] == 0x11 && a[bytes - 1] == 0x11);
    }
    free(a);
    free(b);
}

void kit_check_outputs(kit *k) {
    kit_pair p;
    burin_submission s;
    burin_outcome outcome = {.size = sizeof outcome};
    if (kit_pair_make(k, &p, NULL) && (k->admitted & BURIN_CAN_OUTPUT_OBSERVATION) != 0) {
        kit_world *w = &p.w;
        kit_io_fill(&p.io, 4);
        if (kit_submit(w, p.a, &p.io, &s) == BURIN_E_NONE) {
            GIVES(k, observe_early, BURIN_E_NOT_COMPLETE,
                  burin_output_observe(w->rt, s.output, 0, p.one, p.io.output_bytes, NULL, &w->error));
            (void)kit_wait(w, &s, &outcome);
            for (uint32_t i = 0; i < p.io.output_count; i++) {
                check_output(k, &p, &s, i);
            }
            GIVES(k, observe_beyond, BURIN_E_ARGUMENT,
                  burin_output_observe(w->rt, s.output, p.io.output_count, p.one, p.io.output_bytes, NULL, &w->error));
        }
    }
    kit_pair_free(&p);
}
