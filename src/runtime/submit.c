/* submit.c - submissions: one ticket each, one unresolved a session, and what
 * became of it.
 *
 * Takes inputs. Gives an output and a completion. Three facts of the last
 * submission stand apart: its disposition, which the first that records it
 * decides (the work's end, or a cancel); whether the work is at its end; and
 * whether its resources are free. It is settled, and the session free for the
 * next, when all three are known.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/private.h"

bool runtime_settled(const runtime_live *l) {
    return !l->submitted || (l->disposition != BURIN_UNRESOLVED && l->ended && l->releasable);
}

static void dispose(runtime_live *l, burin_disposition disposition, uint32_t code) {
    if (l->submitted && l->disposition == BURIN_UNRESOLVED) {
        l->disposition = (uint32_t)disposition;
        l->code = code;
        l->lost = l->lost || (disposition != BURIN_COMMITTED && (l->facts.admitted & BURIN_CAN_PERSISTENT_CACHE) != 0);
    }
}

void runtime_abandon(runtime_live *l) {
    dispose(l, BURIN_ABANDONED, BURIN_E_CANCELLED);
}

/* ---- progress ---- */

/* Is what the provider says now at odds with itself, or with what it said
 * before? Under the lock. */
static bool contradicts(const runtime_live *l, const burin_progress *p) {
    return p->phase > BURIN_ENDED || (p->phase == BURIN_PENDING && p->releasable != 0) ||
           (p->phase == BURIN_ENDED && l->disposition != BURIN_ABANDONED) ||
           (l->ended && (p->phase != l->ended_as || p->code != l->ended_code)) || (l->releasable && p->releasable == 0);
}

static void record(burin_runtime *rt, runtime_live *l, const burin_progress *p) {
    rt->stats.breaches += contradicts(l, p);
    if (p->phase == BURIN_PENDING || p->phase > BURIN_ENDED) {
        return;
    }
    if (!l->ended) {
        l->ended = true;
        l->ended_as = p->phase;
        l->ended_code = p->code;
        if (p->phase == BURIN_DONE) {
            dispose(l, BURIN_COMMITTED, BURIN_E_NONE);
        } else {
            dispose(l, BURIN_FAILURE, p->phase == BURIN_FAILED && p->code != 0 ? p->code : (uint32_t)BURIN_E_EXECUTION);
        }
    }
    l->releasable = l->releasable || p->releasable != 0;
}

burin_code runtime_progress(runtime_call *call, runtime_slot *slot, uint64_t ticket, uint64_t nanoseconds) {
    burin_runtime *rt = call->rt;
    runtime_live *l = &slot->of.live;
    const burin_provider *p = &call->provider->table;
    burin_progress progress = {.size = sizeof progress};
    burin_code code = runtime_returned(call, p->wait(p->user, l->object, ticket, nanoseconds, &progress, call->error));
    runtime_lock(rt);
    if (code != BURIN_E_NONE) {
        rt->stats.breaches++;
    } else if (l->ticket == ticket) {
        record(rt, l, &progress);
    }
    runtime_unlock(rt);
    return code;
}

/* ---- what a provider may call ---- */

static int control_cancelled(const burin_control *control) {
    runtime_live *l = (runtime_live *)(void *)(uintptr_t)control;
    if (l->submit.progress != NULL) {
        l->submit.progress(l->submit.user);
    }
    runtime_lock(l->rt);
    const bool cancelled = l->disposition == BURIN_ABANDONED;
    runtime_unlock(l->rt);
    return cancelled;
}

static int control_wants(const burin_control *control, const char *name) {
    const runtime_live *l = (const runtime_live *)(const void *)control;
    for (uint32_t i = 0; name != NULL && i < l->submit.selector_count; i++) {
        const burin_selector *s = &l->submit.selectors[i];
        const size_t n = strlen(s->path);
        if (strncmp(name, s->path, n) == 0 && (name[n] == 0 || (s->prefix != 0 && name[n] == '.'))) {
            return 1;
        }
    }
    return 0;
}

static void control_activation(const burin_control *control, const burin_value *value) {
    runtime_live *l = (runtime_live *)(void *)(uintptr_t)control;
    if (value == NULL || !control_wants(control, value->name)) {
        runtime_breach(l->rt);
        return;
    }
    l->submit.activation(l->submit.user, value);
}

/* ---- submitting ---- */

static bool same_shape(const burin_value *want, const burin_value *given) {
    bool same = given->type != NULL && want->type != NULL && strcmp(given->type, want->type) == 0 &&
                given->rank == want->rank && given->rank <= 8 && (given->data != NULL || given->bytes == 0);
    uint64_t product = 1, bound = 1;
    for (uint32_t k = 0; same && k < want->rank; k++) {
        same = (want->open >> k & 1) != 0 ? given->dim[k] >= 0 && given->dim[k] <= want->dim[k]
                                          : given->dim[k] == want->dim[k];
        product *= (uint64_t)given->dim[k];
        bound *= (uint64_t)want->dim[k];
    }
    /* bytes are to each other as elements: what a type's elements take stands in
   * the bound */
    return same && (want->open == 0 ? given->bytes == want->bytes
                                    : bound == 0 || given->bytes == (want->bytes * product + bound - 1) / bound);
}

static burin_code check_inputs(runtime_call *call, const runtime_live *l, const burin_submit_options *o) {
    const burin_provider *p = &call->provider->table;
    char text[120];
    if (o->input_count != l->facts.input_count || (o->inputs == NULL && o->input_count > 0)) {
        return runtime_fail(call, BURIN_E_INPUT, l->facts.input_count, o->input_count, NULL);
    }
    for (uint32_t i = 0; i < o->input_count; i++) {
        burin_value want = {.name = NULL};
        burin_code code = runtime_returned(call, p->tensor(p->user, l->object, BURIN_INPUT, i, &want, call->error));
        if (code != BURIN_E_NONE) {
            return code;
        }
        if (!same_shape(&want, &o->inputs[i])) {
            snprintf(text, sizeof text, "input %u: the model's is %.8s of rank %u", i,
                     want.type != NULL ? want.type : "?", want.rank);
            return runtime_fail(call, BURIN_E_INPUT, want.bytes, o->inputs[i].bytes, text);
        }
    }
    return BURIN_E_NONE;
}

static burin_code check_options(runtime_call *call, const runtime_live *l, const burin_submit_options *o) {
    const uint64_t admitted = l->facts.admitted;
    const uint64_t needs = (o->kind != BURIN_RUN ? (uint64_t)BURIN_CAN_SEQUENCE : 0) |
                           (o->selector_count > 0 ? (uint64_t)BURIN_CAN_ACTIVATION_INSPECTION : 0);
    bool good = o->kind <= BURIN_DECODE && (o->selector_count == 0 || (o->selectors != NULL && o->activation != NULL));
    for (uint32_t i = 0; good && i < o->selector_count; i++) {
        good = o->selectors[i].path != NULL && o->selectors[i].path[0] != 0;
    }
    if (!good) {
        return runtime_fail(call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    if ((needs & ~admitted) != 0) {
        return runtime_fail(call, BURIN_E_SESSION_CAPABILITY, needs, admitted, NULL);
    }
    if (l->lost) {
        return runtime_fail(call, BURIN_E_STATE_LOST, 0, l->ticket, NULL);
    }
    return check_inputs(call, l, o);
}

/* A new ticket, and new handles of output and completion; the old ones are
 * stale. */
static burin_code begin(runtime_call *call, runtime_live *l, const burin_submit_options *o) {
    burin_runtime *rt = call->rt;
    runtime_lock(rt);
    burin_code code = rt->next_ticket == UINT64_MAX ? runtime_fail(call, BURIN_E_TICKETS, 0, 0, NULL) : BURIN_E_NONE;
    if (code == BURIN_E_NONE) {
        code = runtime_renew(call, &l->output_slot);
    }
    if (code == BURIN_E_NONE) {
        code = runtime_renew(call, &l->completion_slot);
    }
    if (code == BURIN_E_NONE) {
        l->ticket = rt->next_ticket++;
        l->submit = *o;
        l->control = (burin_control){control_cancelled, control_wants, control_activation};
        l->work = (burin_work){.size = sizeof l->work,
                               .kind = o->kind,
                               .ticket = l->ticket,
                               .inputs = o->inputs,
                               .input_count = o->input_count,
                               .observed = o->selector_count > 0,
                               .control = &l->control};
        l->disposition = BURIN_UNRESOLVED;
        l->code = l->ended_as = l->ended_code = 0;
        l->ended = l->releasable = false;
        l->submitted = true;
    }
    runtime_unlock(rt);
    return code;
}

static burin_code submit_alone(runtime_call *call, runtime_slot *slot, const burin_submit_options *o,
                               burin_submission *out) {
    burin_runtime *rt = call->rt;
    runtime_live *l = &slot->of.live;
    const burin_provider *p = &call->provider->table;
    burin_code code = check_options(call, l, o);
    if (code == BURIN_E_NONE) {
        code = begin(call, l, o);
    }
    if (code != BURIN_E_NONE) {
        return code;
    }
    code = runtime_returned(call, p->submit(p->user, l->object, &l->work, call->error));
    runtime_lock(rt);
    if (code != BURIN_E_NONE) {
        l->submitted = false; /* nothing has begun */
        (void)runtime_renew(call, &l->output_slot);
        (void)runtime_renew(call, &l->completion_slot);
    } else {
        *out = (burin_submission){runtime_handle_of(rt, &rt->slots[l->output_slot]),
                                  runtime_handle_of(rt, &rt->slots[l->completion_slot]), l->ticket};
    }
    runtime_unlock(rt);
    return code;
}

burin_code burin_session_submit(burin_runtime *rt, burin_handle session, const burin_submit_options *options,
                                burin_submission *submission, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "submit")) {
        return BURIN_E_ARGUMENT;
    }
    if (options == NULL || options->size < sizeof *options) {
        return runtime_fail(&call, BURIN_E_STRUCT_SIZE, sizeof *options, options != NULL ? options->size : 0, NULL);
    }
    if (submission == NULL) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    burin_code code = runtime_enter_alone(&call, session, &slot);
    if (code == BURIN_E_NONE) {
        code = submit_alone(&call, slot, options, submission);
        runtime_leave_alone(rt, slot);
    }
    return code;
}

/* ---- completion ---- */

/* Into the session of a completion, which stays while the call lasts. */
static burin_code enter_completion(runtime_call *call, burin_handle completion, runtime_slot **session,
                                   uint64_t *ticket) {
    burin_runtime *rt = call->rt;
    runtime_slot *slot = NULL;
    runtime_lock(rt);
    burin_code code = runtime_find(call, completion, BURIN_HANDLE_COMPLETION, &slot);
    if (code == BURIN_E_NONE && !rt->slots[slot->parent].of.live.submitted) {
        code = runtime_fail(call, BURIN_E_STALE_HANDLE, 0, 0, NULL);
    }
    if (code == BURIN_E_NONE) {
        *session = &rt->slots[slot->parent];
        (*session)->users++;
        *ticket = (*session)->of.live.ticket;
        call->provider = runtime_provider(rt, slot);
    }
    runtime_unlock(rt);
    return code;
}

static burin_code check_outcome(runtime_call *call, const burin_outcome *outcome) {
    return outcome != NULL && outcome->size >= sizeof *outcome
               ? BURIN_E_NONE
               : runtime_fail(call, BURIN_E_STRUCT_SIZE, sizeof *outcome, outcome != NULL ? outcome->size : 0, NULL);
}

/* What is known of the submission, and leaves its session. */
static void tell(burin_runtime *rt, runtime_slot *session, uint64_t ticket, burin_outcome *outcome) {
    runtime_lock(rt);
    const runtime_live *l = &session->of.live;
    if (l->ticket == ticket) {
        outcome->disposition = l->disposition;
        outcome->code = l->code;
        outcome->releasable = l->ended && l->releasable;
    } /* else it was settled, and the session has gone on: the handle is stale for
       the next call */
    session->users--;
    runtime_unlock(rt);
}

static bool known(burin_runtime *rt, const runtime_live *l, uint64_t ticket, bool settled) {
    runtime_lock(rt);
    const bool is = l->ticket != ticket || runtime_settled(l) || (!settled && l->ended);
    runtime_unlock(rt);
    return is;
}

static burin_code poll_or_wait(burin_runtime *rt, burin_handle completion, uint64_t nanoseconds, const char *operation,
                               burin_outcome *outcome, burin_error *error) {
    runtime_call call;
    runtime_slot *session = NULL;
    uint64_t ticket = 0;
    if (!runtime_begin(&call, rt, error, operation)) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = check_outcome(&call, outcome);
    if (code == BURIN_E_NONE) {
        code = enter_completion(&call, completion, &session, &ticket);
    }
    if (code != BURIN_E_NONE) {
        return code;
    }
    if (!known(rt, &session->of.live, ticket, true)) {
        code = runtime_progress(&call, session, ticket, nanoseconds);
    }
    if (code == BURIN_E_NONE && nanoseconds == BURIN_FOREVER && !known(rt, &session->of.live, ticket, false)) {
        runtime_breach(rt);
        code = runtime_fail(&call, BURIN_E_CONTRACT, 0, ticket, "wait returned before the work was at its end");
    }
    tell(rt, session, ticket, outcome);
    return code;
}

burin_code burin_completion_poll(burin_runtime *rt, burin_handle completion, burin_outcome *outcome,
                                 burin_error *error) {
    return poll_or_wait(rt, completion, 0, "poll", outcome, error);
}

burin_code burin_completion_wait(burin_runtime *rt, burin_handle completion, burin_outcome *outcome,
                                 burin_error *error) {
    return poll_or_wait(rt, completion, BURIN_FOREVER, "wait", outcome, error);
}

/* The completion's handle, and every copy of it, is stale. */
static void end_completion(runtime_call *call, runtime_slot *session, burin_handle *completion) {
    burin_runtime *rt = call->rt;
    runtime_lock(rt);
    if (completion->slot == session->of.live.completion_slot &&
        completion->generation == rt->slots[completion->slot].generation) {
        burin_error kept = *call->error;
        (void)runtime_renew(call, &session->of.live.completion_slot);
        *call->error = kept;
    }
    *completion = (burin_handle)BURIN_NO_HANDLE;
    runtime_unlock(rt);
}

/* Cancelled, and at its end; or left to the next call that wants the session.
 */
static burin_code end_late(runtime_call *call, runtime_slot *session, uint64_t ticket, burin_deadline_mode mode) {
    burin_runtime *rt = call->rt;
    runtime_live *l = &session->of.live;
    const burin_provider *p = &call->provider->table;
    burin_code code = BURIN_E_NONE;
    runtime_lock(rt);
    runtime_abandon(l);
    runtime_unlock(rt);
    if (mode == BURIN_NATIVE_CANCEL) {
        code = runtime_returned(call, p->cancel(p->user, l->object, ticket, call->error));
        if (code == BURIN_E_NONE && !known(rt, l, ticket, true)) {
            code = runtime_progress(call, session, ticket, BURIN_FOREVER);
        }
        if (code == BURIN_E_NONE && !known(rt, l, ticket, false)) {
            runtime_breach(rt);
            code = runtime_fail(call, BURIN_E_CONTRACT, 0, ticket, "cancelled work did not come to its end");
        }
    }
    return code;
}

burin_code burin_completion_wait_until(burin_runtime *rt, burin_handle *completion, uint64_t nanoseconds,
                                       burin_deadline_mode mode, burin_outcome *outcome, burin_error *error) {
    runtime_call call;
    runtime_slot *session = NULL;
    uint64_t ticket = 0;
    if (!runtime_begin(&call, rt, error, "wait until")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = check_outcome(&call, outcome);
    if (code == BURIN_E_NONE &&
        (completion == NULL || nanoseconds == 0 || (mode != BURIN_NATIVE_CANCEL && mode != BURIN_QUARANTINE))) {
        code = runtime_fail(&call, BURIN_E_ARGUMENT, 1, nanoseconds, "a time above 0, and one of the two modes");
    }
    if (code == BURIN_E_NONE) {
        code = enter_completion(&call, *completion, &session, &ticket);
    }
    if (code != BURIN_E_NONE) {
        return code;
    }
    runtime_live *l = &session->of.live;
    if (mode == BURIN_NATIVE_CANCEL && (l->facts.admitted & BURIN_CAN_NATIVE_CANCEL) == 0) {
        runtime_leave(rt, session);
        return runtime_fail(&call, BURIN_E_SESSION_CAPABILITY, BURIN_CAN_NATIVE_CANCEL, l->facts.admitted, NULL);
    }
    if (!known(rt, l, ticket, true)) {
        code = runtime_progress(&call, session, ticket, nanoseconds);
    }
    if (!known(rt, l, ticket, false)) {
        const burin_code late = end_late(&call, session, ticket, mode);
        code = code != BURIN_E_NONE ? code : late;
    }
    end_completion(&call, session, completion);
    tell(rt, session, ticket, outcome);
    return code;
}

/* The disposition of what is unresolved becomes ABANDONED, if nothing was
 * first. */
static burin_code cancel(runtime_call *call, runtime_slot *session, uint64_t ticket) {
    burin_runtime *rt = call->rt;
    runtime_live *l = &session->of.live;
    const burin_provider *p = &call->provider->table;
    runtime_lock(rt);
    const bool first = l->submitted && l->ticket == ticket && l->disposition == BURIN_UNRESOLVED;
    if (first) {
        runtime_abandon(l);
    }
    runtime_unlock(rt);
    if (!first) {
        return runtime_fail(call, BURIN_E_ALREADY_RESOLVED, 0, ticket, NULL);
    }
    return p->cancel != NULL && (l->facts.admitted & BURIN_CAN_NATIVE_CANCEL) != 0
               ? runtime_returned(call, p->cancel(p->user, l->object, ticket, call->error))
               : BURIN_E_NONE;
}

burin_code burin_completion_cancel(burin_runtime *rt, burin_handle completion, burin_error *error) {
    runtime_call call;
    runtime_slot *session = NULL;
    uint64_t ticket = 0;
    if (!runtime_begin(&call, rt, error, "cancel")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = enter_completion(&call, completion, &session, &ticket);
    if (code == BURIN_E_NONE) {
        code = cancel(&call, session, ticket);
        runtime_leave(rt, session);
    }
    return code;
}

burin_code burin_session_cancel(burin_runtime *rt, burin_handle handle, burin_error *error) {
    runtime_call call;
    runtime_slot *session = NULL;
    if (!runtime_begin(&call, rt, error, "cancel")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = runtime_enter(&call, handle, BURIN_HANDLE_SESSION, &session);
    if (code == BURIN_E_NONE) {
        runtime_lock(rt);
        const uint64_t ticket = session->of.live.ticket;
        runtime_unlock(rt);
        code = cancel(&call, session, ticket);
        runtime_leave(rt, session);
    }
    return code;
}

burin_code burin_completion_release(burin_runtime *rt, burin_handle *completion, burin_error *error) {
    runtime_call call;
    runtime_slot *session = NULL;
    uint64_t ticket = 0;
    if (!runtime_begin(&call, rt, error, "release completion")) {
        return BURIN_E_ARGUMENT;
    }
    if (completion == NULL) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    if (completion->owner == 0 && completion->slot == 0 && completion->generation == 0) {
        return BURIN_E_NONE;
    }
    burin_code code = enter_completion(&call, *completion, &session, &ticket);
    if (code == BURIN_E_NONE) {
        (void)cancel(&call, session, ticket);
        end_completion(&call, session, completion);
        runtime_leave(rt, session);
        (void)runtime_begin(&call, rt, error, "release completion");
    }
    return code;
}

/* ---- output ---- */

static burin_code observe_alone(runtime_call *call, const runtime_live *l, uint32_t i, void *to, size_t room,
                                burin_value *value) {
    const burin_provider *p = &call->provider->table;
    burin_value v = {.name = NULL};
    if ((l->facts.admitted & BURIN_CAN_OUTPUT_OBSERVATION) == 0) {
        return runtime_fail(call, BURIN_E_SESSION_CAPABILITY, BURIN_CAN_OUTPUT_OBSERVATION, l->facts.admitted, NULL);
    }
    if (i >= l->facts.output_count) {
        return runtime_fail(call, BURIN_E_ARGUMENT, i, l->facts.output_count, NULL);
    }
    burin_code code = runtime_returned(call, p->tensor(p->user, l->object, BURIN_OUTPUT, i, &v, call->error));
    if (code == BURIN_E_NONE && (room < v.bytes || (to == NULL && v.bytes > 0))) {
        code = runtime_fail(call, BURIN_E_BUFFER_SIZE, v.bytes, to != NULL ? room : 0, NULL);
    }
    if (code == BURIN_E_NONE) {
        code = runtime_returned(call, p->observe(p->user, l->object, i, to, (size_t)v.bytes, &v, call->error));
    }
    if (code == BURIN_E_NONE && value != NULL) {
        *value = v;
        value->data = to;
    }
    return code;
}

burin_code burin_output_observe(burin_runtime *rt, burin_handle output, uint32_t i, void *to, size_t room,
                                burin_value *value, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL, *session = NULL;
    if (!runtime_begin(&call, rt, error, "observe")) {
        return BURIN_E_ARGUMENT;
    }
    runtime_lock(rt);
    burin_code code = runtime_find(&call, output, BURIN_HANDLE_OUTPUT, &slot);
    burin_handle parent = BURIN_NO_HANDLE;
    if (code == BURIN_E_NONE) {
        const runtime_live *l = &rt->slots[slot->parent].of.live;
        call.provider = runtime_provider(rt, slot);
        parent = runtime_handle_of(rt, &rt->slots[slot->parent]);
        if (!l->submitted) {
            code = runtime_fail(&call, BURIN_E_STALE_HANDLE, 0, 0, NULL);
        } else if (l->disposition == BURIN_UNRESOLVED) {
            code = runtime_fail(&call, BURIN_E_NOT_COMPLETE, 0, l->ticket, NULL);
        } else if (l->disposition != BURIN_COMMITTED) {
            code = runtime_fail(&call, BURIN_E_ABANDONED, 0, l->ticket, NULL);
        }
    }
    runtime_unlock(rt);
    if (code == BURIN_E_NONE) {
        code = runtime_enter_alone(&call, parent, &session);
    }
    if (code != BURIN_E_NONE) {
        return code;
    }
    runtime_lock(rt); /* between the two another thread may have submitted */
    code = runtime_find(&call, output, BURIN_HANDLE_OUTPUT, &slot);
    runtime_unlock(rt);
    if (code == BURIN_E_NONE) {
        code = observe_alone(&call, &session->of.live, i, to, room, value);
    }
    runtime_leave_alone(rt, session);
    return code;
}

burin_code burin_session_run(burin_runtime *rt, burin_handle session, const burin_value *inputs, uint32_t input_count,
                             const burin_value *outputs, uint32_t output_count, burin_error *error) {
    burin_submit_options o = BURIN_SUBMIT_OPTIONS_INIT;
    burin_submission s;
    burin_outcome outcome = {.size = sizeof outcome};
    burin_model_facts facts = {.size = sizeof facts};
    runtime_call call;
    if (!runtime_begin(&call, rt, error, "run")) {
        return BURIN_E_ARGUMENT;
    }
    o.inputs = inputs;
    o.input_count = input_count;
    burin_code code = burin_model_get(rt, session, &facts, error);
    if (code == BURIN_E_NONE && (output_count != facts.output_count || (outputs == NULL && output_count > 0))) {
        code = runtime_fail(&call, BURIN_E_ARGUMENT, facts.output_count, output_count,
                            "the outputs are not as many as the model has");
    }
    if (code == BURIN_E_NONE) {
        code = burin_session_submit(rt, session, &o, &s, error);
    }
    if (code != BURIN_E_NONE) {
        return code;
    }
    code = burin_completion_wait(rt, s.completion, &outcome, error);
    if (code == BURIN_E_NONE && outcome.disposition != BURIN_COMMITTED) {
        code = runtime_fail(&call, (burin_code)outcome.code, 0, s.ticket, NULL);
    }
    for (uint32_t i = 0; i < output_count && code == BURIN_E_NONE; i++) {
        code = burin_output_observe(rt, s.output, i, (void *)(uintptr_t)outputs[i].data, (size_t)outputs[i].bytes, NULL,
                                    error);
    }
    return code;
}
