/* test_session.c - the host of the provider contract, over the null provider: its handles, its order of checks, its memory.
 *
 * What the null provider computes is worked out by hand: its weights are 1, 2, -0.5, 4, and a run gives the sum of all inputs so
 * far times these.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "burin/session.h"

typedef struct ledger {
    long live, left; /* blocks alive; allocations still allowed */
} ledger;

static void *counted(void *user, void *pointer, size_t old_size, size_t size) {
    ledger *l = user;
    (void)old_size;
    if (size == 0) {
        l->live -= pointer != NULL;
        free(pointer);
        return NULL;
    }
    if (l->left-- <= 0) {
        return NULL;
    }
    l->live += pointer == NULL;
    return realloc(pointer, size);
}

static const burin_provider *null_provider(void) {
    const burin_provider *p = NULL;
    for (size_t i = 0; (p = burin_provider_builtin(i)) != NULL && strcmp(p->name, "null") != 0; i++) {
    }
    return p;
}

typedef struct stage {
    burin_runtime *rt;
    burin_handle provider, session;
} stage;

static burin_code make_session(burin_runtime *rt, burin_handle provider, uint32_t sample, burin_handle *session,
                               burin_error *e) {
    burin_source source = {.size = 0};
    burin_handle artifact = BURIN_NO_HANDLE, config = BURIN_NO_HANDLE, model = BURIN_NO_HANDLE;
    assert_int_equal(null_provider()->sample(NULL, sample, &source), 0);
    burin_code code = burin_artifact_inspect(rt, provider, &source, &artifact, e);
    if (code == BURIN_E_NONE) {
        code = burin_artifact_plan(rt, &artifact, NULL, &config, e);
    }
    if (code == BURIN_E_NONE) {
        code = burin_model_prepare(rt, &config, &model, e);
    }
    return code == BURIN_E_NONE ? burin_session_create(rt, &model, session, e) : code;
}

static void set_up(stage *s, uint32_t sample, ledger *l) {
    burin_runtime_options o = BURIN_RUNTIME_OPTIONS_INIT;
    burin_error e = BURIN_ERROR_INIT;
    o.realloc = counted;
    o.user = l;
    memset(s, 0, sizeof *s);
    assert_int_equal(burin_runtime_open(&o, &s->rt, &e), 0);
    assert_int_equal(burin_provider_register(s->rt, null_provider(), &s->provider, &e), 0);
    assert_int_equal(make_session(s->rt, s->provider, sample, &s->session, &e), 0);
}

static void tear_down(stage *s, const ledger *l) {
    assert_int_equal(burin_session_release(s->rt, &s->session, NULL), 0);
    assert_int_equal(burin_runtime_close(&s->rt, NULL), 0);
    assert_int_equal(l->live, 0);
}

static const float ones[4] = {1, 1, 1, 1};

static burin_code run(burin_runtime *rt, burin_handle session, const float in[4], float out[4], burin_error *e) {
    const burin_value input = {.type = "f32", .rank = 1, .dim = {4}, .data = in, .bytes = 16};
    const burin_value output = {.type = "f32", .rank = 1, .dim = {4}, .data = out, .bytes = 16};
    return burin_session_run(rt, session, &input, 1, &output, 1, e);
}

static void runs_and_keeps_state(void **state) {
    (void)state;
    ledger l = {.left = 1L << 40};
    stage s;
    float out[4];
    uint8_t saved[200];
    uint64_t bytes = 0;
    burin_handle other = BURIN_NO_HANDLE;
    set_up(&s, 0, &l);
    const long before = l.left;
    assert_int_equal(run(s.rt, s.session, ones, out, NULL), 0);
    assert_true(out[0] == 1 && out[1] == 2 && out[2] == -0.5f && out[3] == 4);
    assert_int_equal(burin_session_state_bytes(s.rt, s.session, &bytes, NULL), 0);
    assert_true(bytes <= sizeof saved);
    assert_int_equal(burin_session_save(s.rt, s.session, saved, bytes, NULL), 0);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(run(s.rt, s.session, ones, out, NULL), 0);
    }
    assert_true(out[0] == 10001 && out[3] == 40004);
    assert_int_equal(l.left, before); /* nothing was allocated */
    assert_int_equal(burin_session_fork(s.rt, s.session, &other, NULL), 0);
    assert_int_equal(burin_session_restore(s.rt, s.session, saved, bytes, NULL), 0);
    assert_int_equal(run(s.rt, s.session, ones, out, NULL), 0);
    assert_true(out[0] == 2);
    assert_int_equal(run(s.rt, other, ones, out, NULL), 0);
    assert_true(out[0] == 10002);
    for (size_t i = 0; i < bytes; i++) {
        saved[i] ^= 0x10;
        const burin_code code = burin_session_restore(s.rt, s.session, saved, bytes, NULL);
        assert_true(code == BURIN_E_STATE_DAMAGED);
        saved[i] ^= 0x10;
    }
    assert_int_equal(run(s.rt, s.session, ones, out, NULL), 0);
    assert_true(out[0] == 3);
    assert_int_equal(burin_session_reset(s.rt, s.session, NULL), 0);
    assert_int_equal(run(s.rt, s.session, ones, out, NULL), 0);
    assert_true(out[0] == 1);
    assert_int_equal(burin_session_release(s.rt, &other, NULL), 0);
    tear_down(&s, &l);
}

static void handles_are_told_apart(void **state) {
    (void)state;
    ledger l = {.left = 1L << 40}, l2 = {.left = 1L << 40};
    stage s, t;
    float out[4];
    burin_error e = BURIN_ERROR_INIT;
    burin_outcome outcome = {.size = sizeof outcome};
    set_up(&s, 1, &l);
    set_up(&t, 0, &l2);
    const burin_handle old = t.session, none = BURIN_NO_HANDLE;
    assert_int_equal(run(s.rt, old, ones, out, &e), BURIN_E_FOREIGN_HANDLE);
    assert_int_equal(run(s.rt, none, ones, out, &e), BURIN_E_NO_HANDLE);
    assert_int_equal(burin_session_reset(s.rt, s.provider, &e), BURIN_E_WRONG_KIND);
    assert_string_equal(e.operation, "reset");
    assert_int_equal(burin_session_release(t.rt, &t.session, NULL), 0);
    assert_int_equal(run(t.rt, old, ones, out, &e), BURIN_E_STALE_HANDLE);
    assert_int_equal(make_session(t.rt, t.provider, 0, &t.session, &e), 0);
    assert_int_equal(run(t.rt, old, ones, out, &e), BURIN_E_STALE_HANDLE);
    tear_down(&t, &l2);

    /* unfinished work: busy; cancelled; its output never given out; its state not known */
    burin_submit_options o = BURIN_SUBMIT_OPTIONS_INIT;
    const burin_value input = {.type = "f32", .rank = 1, .dim = {4}, .data = ones, .bytes = 16};
    burin_submission first, second;
    o.inputs = &input;
    o.input_count = 1;
    assert_int_equal(burin_session_submit(s.rt, s.session, &o, &first, &e), 0);
    assert_int_equal(burin_session_submit(s.rt, s.session, &o, &second, &e), BURIN_E_BUSY);
    assert_int_equal(burin_session_reset(s.rt, s.session, &e), BURIN_E_BUSY);
    assert_int_equal(burin_completion_poll(s.rt, first.completion, &outcome, &e), 0);
    assert_true(outcome.disposition == BURIN_UNRESOLVED && outcome.releasable == 0);
    assert_int_equal(burin_output_observe(s.rt, first.output, 0, out, sizeof out, NULL, &e), BURIN_E_NOT_COMPLETE);
    assert_int_equal(burin_completion_cancel(s.rt, first.completion, &e), 0);
    assert_int_equal(burin_completion_cancel(s.rt, first.completion, &e), BURIN_E_ALREADY_RESOLVED);
    assert_int_equal(burin_output_observe(s.rt, first.output, 0, out, sizeof out, NULL, &e), BURIN_E_ABANDONED);
    assert_int_equal(burin_completion_wait(s.rt, first.completion, &outcome, &e), 0);
    assert_true(outcome.disposition == BURIN_ABANDONED && outcome.releasable != 0);
    assert_int_equal(burin_session_submit(s.rt, s.session, &o, &second, &e), BURIN_E_STATE_LOST);
    assert_int_equal(burin_session_reset(s.rt, s.session, &e), 0);
    assert_int_equal(burin_session_submit(s.rt, s.session, &o, &second, &e), 0);
    assert_true(second.ticket > first.ticket);
    assert_int_equal(burin_completion_poll(s.rt, first.completion, &outcome, &e), BURIN_E_STALE_HANDLE);
    assert_int_equal(burin_completion_wait(s.rt, second.completion, &outcome, &e), 0);
    assert_int_equal(outcome.disposition, BURIN_COMMITTED);
    assert_int_equal(burin_completion_cancel(s.rt, second.completion, &e), BURIN_E_ALREADY_RESOLVED);

    /* a time that is over: quarantined, busy until the work is at its end */
    assert_int_equal(burin_session_submit(s.rt, s.session, &o, &first, &e), 0);
    assert_int_equal(burin_completion_wait_until(s.rt, &first.completion, 0, BURIN_QUARANTINE, &outcome, &e),
                     BURIN_E_ARGUMENT);
    assert_int_equal(burin_completion_wait_until(s.rt, &first.completion, 1, BURIN_QUARANTINE, &outcome, &e), 0);
    assert_true(outcome.disposition == BURIN_ABANDONED && outcome.releasable == 0);
    assert_int_equal(first.completion.slot, 0);
    assert_int_equal(burin_session_reset(s.rt, s.session, &e), BURIN_E_BUSY);
    burin_runtime *closed = s.rt;
    assert_int_equal(burin_runtime_close(&closed, &e), BURIN_E_LIVE_HANDLES);
    tear_down(&s, &l); /* waits for it */
}

/* A slot's last generation is not followed by its first. */
static void slots_retire(void **state) {
    (void)state;
    burin_runtime_options o = BURIN_RUNTIME_OPTIONS_INIT;
    burin_runtime *rt = NULL;
    burin_handle provider = BURIN_NO_HANDLE, session = BURIN_NO_HANDLE;
    burin_stats stats = {.size = sizeof stats};
    float out[4];
    o.handles = 24;
    o.first_generation = UINT32_MAX - 1;
    assert_int_equal(burin_runtime_open(&o, &rt, NULL), 0);
    assert_int_equal(burin_provider_register(rt, null_provider(), &provider, NULL), 0);
    assert_int_equal(make_session(rt, provider, 0, &session, NULL), 0);
    burin_code code = BURIN_E_NONE;
    int runs = 0;
    while (code == BURIN_E_NONE && runs < 100) {
        code = run(rt, session, ones, out, NULL);
        runs += code == BURIN_E_NONE;
    }
    assert_int_equal(code, BURIN_E_NO_SLOT);
    assert_true(runs > 4 && out[0] == (float)runs);
    assert_int_equal(burin_runtime_stats(rt, &stats, NULL), 0);
    assert_true(stats.retired > 10);
    assert_int_equal(burin_session_release(rt, &session, NULL), 0);
    assert_int_equal(burin_runtime_close(&rt, NULL), 0);
}

/* Every allocation of the whole life failed in turn. */
static void allocations_fail_in_turn(void **state) {
    (void)state;
    int points = 0;
    for (long allowed = 0;; allowed++) {
        ledger l = {.left = allowed};
        burin_runtime_options o = BURIN_RUNTIME_OPTIONS_INIT;
        burin_runtime *rt = NULL;
        burin_handle provider = BURIN_NO_HANDLE, session = BURIN_NO_HANDLE, forked = BURIN_NO_HANDLE;
        burin_stats stats = {.size = sizeof stats};
        o.realloc = counted;
        o.user = &l;
        burin_code code = burin_runtime_open(&o, &rt, NULL);
        if (code == BURIN_E_NONE) {
            assert_int_equal(burin_provider_register(rt, null_provider(), &provider, NULL), 0);
            code = make_session(rt, provider, 0, &session, NULL);
            code = code == BURIN_E_NONE ? burin_session_fork(rt, session, &forked, NULL) : code;
            assert_int_equal(burin_session_release(rt, &forked, NULL), 0);
            assert_int_equal(burin_session_release(rt, &session, NULL), 0);
            assert_int_equal(burin_runtime_stats(rt, &stats, NULL), 0);
            assert_true(stats.model_bytes + stats.session_bytes + stats.shared_bytes + stats.planned_bytes == 0);
            assert_true(stats.leaked_model_bytes + stats.leaked_session_bytes + stats.breaches == 0);
            assert_int_equal(burin_runtime_close(&rt, NULL), 0);
        }
        assert_int_equal(l.live, 0);
        if (code == BURIN_E_NONE) {
            break;
        }
        assert_int_equal(code, BURIN_E_NO_MEMORY);
        points++;
    }
    assert_true(points > 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_and_keeps_state),
        cmocka_unit_test(handles_are_told_apart),
        cmocka_unit_test(slots_retire),
        cmocka_unit_test(allocations_fail_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
