/* session.c - models prepared, sessions made, forked, released; their state
 * saved and restored.
 *
 * Takes a configuration. Gives a session that owns executable and state, with
 * what was planned and admitted, or nothing. A saved state stands in an
 * envelope that says whose it is and whether a byte of it is damaged, so that a
 * provider sees none that is not its own.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "runtime/private.h"

/* ---- capabilities ---- */

static burin_code mismatch(runtime_call *call, uint64_t admitted, uint64_t realised) {
    const burin_provider *p = &call->provider->table;
    char *message = call->error->message;
    message[0] = 0;
    if (p->mismatch != NULL) {
        p->mismatch(p->user, admitted, realised, message, sizeof call->error->message);
        message[sizeof call->error->message - 1] = 0;
    }
    if (message[0] == 0) {
        char had[160], has[160];
        runtime_capability_names(admitted, had, sizeof had);
        runtime_capability_names(realised, has, sizeof has);
        snprintf(message, sizeof call->error->message, "admitted: %s; realised: %s", had, has);
    }
    return runtime_fail(call, BURIN_E_CAPABILITY_MISMATCH, admitted, realised, message);
}

static burin_code check_realised(runtime_call *call, void *session, uint64_t admitted) {
    const burin_provider *p = &call->provider->table;
    const uint64_t realised = p->session_capabilities(p->user, session) & SESSION_KNOWN;
    return realised == admitted ? BURIN_E_NONE : mismatch(call, admitted, realised);
}

burin_code runtime_enter_alone(runtime_call *call, burin_handle session, runtime_slot **slot) {
    burin_runtime *rt = call->rt;
    runtime_lock(rt);
    burin_code code = runtime_find(call, session, BURIN_HANDLE_SESSION, slot);
    runtime_live *l = code == BURIN_E_NONE ? &(*slot)->of.live : NULL;
    if (code == BURIN_E_NONE) {
        call->provider = runtime_provider(rt, *slot);
        if (l->exclusive || (l->submitted && l->disposition == BURIN_UNRESOLVED)) {
            code = runtime_fail(call, BURIN_E_BUSY, 0, l->ticket, NULL);
        }
    }
    if (code != BURIN_E_NONE) {
        runtime_unlock(rt);
        return code;
    }
    l->exclusive = true;
    (*slot)->users++;
    const bool unsettled = !runtime_settled(l);
    runtime_unlock(rt);
    if (unsettled) { /* what was abandoned may be at its end by now */
        (void)runtime_progress(call, *slot, l->ticket, 0);
        runtime_lock(rt);
        code = runtime_settled(l) ? BURIN_E_NONE : runtime_fail(call, BURIN_E_BUSY, 0, l->ticket, NULL);
        runtime_unlock(rt);
    }
    if (code == BURIN_E_NONE) {
        code = check_realised(call, l->object, l->facts.admitted);
    }
    if (code != BURIN_E_NONE) {
        runtime_leave_alone(rt, *slot);
    }
    return code;
}

void runtime_leave_alone(burin_runtime *rt, runtime_slot *slot) {
    runtime_lock(rt);
    slot->of.live.exclusive = false;
    slot->users--;
    runtime_unlock(rt);
}

/* ---- models ---- */

typedef struct counted {
    const burin_source *source;
    burin_runtime *rt;
} counted;

static burin_code read_counted(void *user, uint64_t offset, void *to, size_t n) {
    const counted *c = user;
    if (offset > c->source->bytes || n > c->source->bytes - offset) {
        return BURIN_E_READ;
    }
    runtime_lock(c->rt);
    c->rt->stats.payload_reads += n;
    runtime_unlock(c->rt);
    return n > 0 ? c->source->read(c->source->user, offset, to, n) : BURIN_E_NONE;
}

/* Ends the accounts of what is gone; LEAK, where nothing else is wrong. */
static burin_code end_accounts(runtime_call *call, const runtime_live *l, burin_code code) {
    const uint64_t left = runtime_account_end(l->model_account) + runtime_account_end(l->session_account);
    runtime_unreserve(call->rt, l->planned);
    return left > 0 && code == BURIN_E_NONE ? runtime_fail(call, BURIN_E_LEAK, 0, left, NULL) : code;
}

static burin_code prepare(runtime_call *call, const runtime_selection *s, runtime_live *l) {
    const burin_provider *p = &call->provider->table;
    counted c = {&s->source, call->rt};
    burin_source given = s->source;
    burin_prepared made = {.size = sizeof made};
    given.user = &c;
    given.read = read_counted;
    burin_code code = runtime_returned(
        call, p->prepare(p->user, &given, &s->plan, &l->model_account->face, &l->object, &made, call->error));
    if (code != BURIN_E_NONE) {
        return code;
    }
    if (l->object == NULL) {
        runtime_breach(call->rt);
        return runtime_fail(call, BURIN_E_CONTRACT, 0, 0, "prepare succeeded without a model");
    }
    const uint64_t taken = runtime_account_bytes(l->model_account), admitted = made.admitted & SESSION_KNOWN;
    l->facts.admitted = admitted;
    l->facts.identity = made.identity;
    if (admitted != s->plan.capabilities) {
        code = mismatch(call, s->plan.capabilities, admitted);
    } else if (taken != s->plan.model_bytes) {
        code = runtime_fail(call, BURIN_E_MEMORY_PLAN, s->plan.model_bytes, taken, NULL);
    }
    if (code != BURIN_E_NONE) {
        p->release_model(p->user, l->object);
    }
    return code;
}

static burin_code new_model(runtime_call *call, const runtime_selection *s, uint32_t provider, runtime_slot *slot) {
    runtime_live l = {.rt = call->rt};
    uint64_t planned = 0;
    if (!base_add_size(s->plan.model_bytes, s->plan.session_bytes, &planned)) {
        return runtime_fail(call, BURIN_E_MEMORY_LIMIT, UINT64_MAX, 0, NULL);
    }
    burin_code code = runtime_reserve(call, planned);
    if (code != BURIN_E_NONE) {
        return code;
    }
    l.planned = planned;
    l.facts = (burin_model_facts){.size = sizeof l.facts,
                                  .input_count = s->inspection.input_count,
                                  .output_count = s->inspection.output_count,
                                  .activation_count = s->inspection.activation_count,
                                  .model_bytes = s->plan.model_bytes,
                                  .session_bytes = s->plan.session_bytes,
                                  .state_bytes = s->plan.state_bytes};
    l.model_account = runtime_account_new(call->rt, false, s->plan.model_bytes);
    code = l.model_account != NULL ? prepare(call, s, &l) : runtime_fail(call, BURIN_E_NO_SLOT, 0, 0, NULL);
    if (code != BURIN_E_NONE) {
        return end_accounts(call, &l, code);
    }
    (void)provider;
    slot->of.live = l;
    return BURIN_E_NONE;
}

burin_code burin_model_prepare(burin_runtime *rt, burin_handle *config, burin_handle *model, burin_error *error) {
    runtime_call call;
    runtime_selection s;
    runtime_slot *slot = NULL;
    uint32_t provider = 0;
    if (!runtime_begin(&call, rt, error, "prepare")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = runtime_consume_selection(&call, config, BURIN_HANDLE_CONFIG, &s, &provider);
    if (code != BURIN_E_NONE) {
        return code;
    }
    if (model == NULL) {
        code = runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    } else {
        *model = (burin_handle)BURIN_NO_HANDLE;
        runtime_lock(rt);
        code = runtime_take_slot(&call, BURIN_HANDLE_MODEL, provider, &slot);
        runtime_unlock(rt);
    }
    if (code == BURIN_E_NONE) {
        code = new_model(&call, &s, provider, slot);
        runtime_lock(rt);
        if (code == BURIN_E_NONE) {
            *model = runtime_handle_of(rt, slot);
        } else {
            runtime_free_slot(rt, slot);
        }
        runtime_unlock(rt);
    }
    runtime_unpin(rt, provider);
    return code;
}

burin_code burin_model_get(burin_runtime *rt, burin_handle model, burin_model_facts *out, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "model")) {
        return BURIN_E_ARGUMENT;
    }
    if (out == NULL || out->size < sizeof *out) {
        return runtime_fail(&call, BURIN_E_STRUCT_SIZE, sizeof *out, out != NULL ? out->size : 0, NULL);
    }
    runtime_lock(rt);
    burin_code code = runtime_find(&call, model, BURIN_HANDLE_MODEL, &slot);
    if (code == BURIN_E_WRONG_KIND && rt->slots[model.slot].kind == BURIN_HANDLE_SESSION) {
        slot = &rt->slots[model.slot];
        (void)runtime_begin(&call, rt, error, "model");
        code = BURIN_E_NONE;
    }
    if (code == BURIN_E_NONE) {
        *out = slot->of.live.facts;
    }
    runtime_unlock(rt);
    return code;
}

/* Takes what a model's slot has, and frees the slot; the provider is pinned
 * until runtime_unpin. */
static burin_code consume_model(runtime_call *call, burin_handle *model, runtime_live *out, uint32_t *provider) {
    burin_runtime *rt = call->rt;
    runtime_slot *slot = NULL;
    if (model == NULL) {
        return runtime_fail(call, BURIN_E_ARGUMENT, 0, 0, "the address of a handle is missing");
    }
    runtime_lock(rt);
    burin_code code = runtime_find(call, *model, BURIN_HANDLE_MODEL, &slot);
    if (code == BURIN_E_NONE) {
        *out = slot->of.live;
        *provider = slot->provider;
        call->provider = runtime_provider(rt, slot);
        rt->slots[slot->provider].of.registered.children++;
        runtime_free_slot(rt, slot);
        *model = (burin_handle)BURIN_NO_HANDLE;
    }
    runtime_unlock(rt);
    return code;
}

burin_code burin_model_release(burin_runtime *rt, burin_handle *model, burin_error *error) {
    runtime_call call;
    runtime_live l;
    uint32_t provider = 0;
    if (!runtime_begin(&call, rt, error, "release model")) {
        return BURIN_E_ARGUMENT;
    }
    if (model != NULL && model->owner == 0 && model->slot == 0 && model->generation == 0) {
        return BURIN_E_NONE;
    }
    burin_code code = consume_model(&call, model, &l, &provider);
    if (code == BURIN_E_NONE) {
        const burin_provider *p = &call.provider->table;
        p->release_model(p->user, l.object);
        code = end_accounts(&call, &l, BURIN_E_NONE);
        runtime_unpin(rt, provider);
    }
    return code;
}

/* ---- sessions ---- */

/* The three slots of a session: its own, its output's, its completion's. */
static burin_code take_slots(runtime_call *call, uint32_t provider, runtime_slot *slots[3]) {
    static const burin_handle_kind kinds[3] = {BURIN_HANDLE_SESSION, BURIN_HANDLE_OUTPUT, BURIN_HANDLE_COMPLETION};
    burin_runtime *rt = call->rt;
    burin_code code = BURIN_E_NONE;
    runtime_lock(rt);
    for (size_t i = 0; i < 3 && code == BURIN_E_NONE; i++) {
        code = runtime_take_slot(call, kinds[i], provider, &slots[i]);
    }
    for (size_t i = 0; i < 3 && code != BURIN_E_NONE; i++) {
        if (slots[i] != NULL) {
            runtime_free_slot(rt, slots[i]);
        }
    }
    runtime_unlock(rt);
    return code;
}

static void free_slots(burin_runtime *rt, runtime_slot *slots[3]) {
    runtime_lock(rt);
    for (size_t i = 0; i < 3; i++) {
        runtime_free_slot(rt, slots[i]);
    }
    runtime_unlock(rt);
}

/* What a session took and what it can, held against plan and admission; one
 * that is refused is released. */
static burin_code admit(runtime_call *call, const runtime_live *l) {
    const burin_provider *p = &call->provider->table;
    const uint64_t model = runtime_account_bytes(l->model_account), session = runtime_account_bytes(l->session_account);
    if (l->object == NULL) {
        runtime_breach(call->rt);
        return runtime_fail(call, BURIN_E_CONTRACT, 0, 0, "a session was made without a session");
    }
    burin_code code = check_realised(call, l->object, l->facts.admitted);
    if (code == BURIN_E_NONE && (model != l->facts.model_bytes || session != l->facts.session_bytes)) {
        code = runtime_fail(call, BURIN_E_MEMORY_PLAN, l->planned, model + session, NULL);
    }
    if (code != BURIN_E_NONE) {
        p->release_session(p->user, l->object);
    }
    return code;
}

static burin_handle publish(burin_runtime *rt, runtime_slot *slots[3], const runtime_live *l) {
    runtime_account_seal(l->model_account);
    runtime_account_seal(l->session_account);
    runtime_lock(rt);
    const uint32_t session = (uint32_t)(slots[0] - rt->slots);
    slots[0]->of.live = *l;
    slots[0]->of.live.output_slot = (uint32_t)(slots[1] - rt->slots);
    slots[0]->of.live.completion_slot = (uint32_t)(slots[2] - rt->slots);
    slots[1]->parent = slots[2]->parent = session;
    const burin_handle handle = runtime_handle_of(rt, slots[0]);
    runtime_unlock(rt);
    return handle;
}

static burin_code create(runtime_call *call, runtime_live *l) {
    const burin_provider *p = &call->provider->table;
    void *model = l->object;
    l->object = NULL;
    l->session_account = runtime_account_new(call->rt, true, l->facts.session_bytes);
    if (l->session_account == NULL) {
        p->release_model(p->user, model);
        return runtime_fail(call, BURIN_E_NO_SLOT, 0, 0, NULL);
    }
    burin_code code =
        runtime_returned(call, p->create_session(p->user, model, &l->session_account->face, &l->object, call->error));
    return code == BURIN_E_NONE ? admit(call, l) : code;
}

burin_code burin_session_create(burin_runtime *rt, burin_handle *model, burin_handle *session, burin_error *error) {
    runtime_call call;
    runtime_live l;
    runtime_slot *slots[3] = {NULL, NULL, NULL};
    uint32_t provider = 0;
    if (!runtime_begin(&call, rt, error, "create session")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = consume_model(&call, model, &l, &provider);
    if (code != BURIN_E_NONE) {
        return code;
    }
    const burin_provider *p = &call.provider->table;
    code = session != NULL ? take_slots(&call, provider, slots) : runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    if (code != BURIN_E_NONE) {
        p->release_model(p->user, l.object);
        code = end_accounts(&call, &l, code);
        runtime_unpin(rt, provider);
        return code;
    }
    *session = (burin_handle)BURIN_NO_HANDLE;
    code = create(&call, &l);
    if (code == BURIN_E_NONE) {
        *session = publish(rt, slots, &l);
    } else {
        free_slots(rt, slots);
        code = end_accounts(&call, &l, code);
    }
    runtime_unpin(rt, provider);
    return code;
}

burin_code burin_session_tensor(burin_runtime *rt, burin_handle session, burin_role role, uint32_t i, burin_value *out,
                                burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "tensor")) {
        return BURIN_E_ARGUMENT;
    }
    if (out == NULL || (unsigned)role > BURIN_ACTIVATION) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    burin_code code = runtime_enter_alone(&call, session, &slot);
    if (code != BURIN_E_NONE) {
        return code;
    }
    const burin_model_facts *f = &slot->of.live.facts;
    const uint32_t counts[3] = {f->input_count, f->output_count, f->activation_count};
    burin_value v = {.name = NULL};
    const burin_provider *p = &call.provider->table;
    if (i >= counts[role]) {
        code = runtime_fail(&call, BURIN_E_ARGUMENT, i, counts[role], NULL);
    } else {
        code = runtime_returned(&call, p->tensor(p->user, slot->of.live.object, role, i, &v, call.error));
    }
    if (code == BURIN_E_NONE) {
        *out = v;
    }
    runtime_leave_alone(rt, slot);
    return code;
}

/* Waits for work that was given up, or gives it up. */
static burin_code drain(runtime_call *call, runtime_slot *slot) {
    enum { PATIENCE = 100 }; /* of a wait without an end that returns before it */
    burin_runtime *rt = call->rt;
    runtime_live *l = &slot->of.live;
    const burin_provider *p = &call->provider->table;
    burin_code code = BURIN_E_NONE;
    runtime_lock(rt);
    const bool settled = runtime_settled(l);
    runtime_abandon(l);
    runtime_unlock(rt);
    if (!settled && !l->ended && p->cancel != NULL) {
        (void)p->cancel(p->user, l->object, l->ticket, call->error);
    }
    for (int i = 0; i < PATIENCE && !runtime_settled(l); i++) {
        code = runtime_progress(call, slot, l->ticket, BURIN_FOREVER);
    }
    if (!runtime_settled(l) && code == BURIN_E_NONE) {
        code = runtime_fail(call, BURIN_E_CONTRACT, 0, l->ticket, "the provider's work does not come to its end");
    }
    return runtime_settled(l) ? BURIN_E_NONE : code;
}

burin_code burin_session_release(burin_runtime *rt, burin_handle *session, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "release session")) {
        return BURIN_E_ARGUMENT;
    }
    if (session == NULL) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    if (session->owner == 0 && session->slot == 0 && session->generation == 0) {
        return BURIN_E_NONE;
    }
    runtime_lock(rt);
    burin_code code = runtime_find(&call, *session, BURIN_HANDLE_SESSION, &slot);
    if (code == BURIN_E_NONE && (slot->users > 0 || slot->of.live.exclusive)) {
        code = runtime_fail(&call, BURIN_E_BUSY, 0, slot->users, "another call is inside the session");
    }
    if (code == BURIN_E_NONE) {
        call.provider = runtime_provider(rt, slot);
        slot->of.live.exclusive = true;
        slot->users++;
    }
    runtime_unlock(rt);
    if (code != BURIN_E_NONE) {
        return code;
    }
    code = drain(&call, slot);
    if (code != BURIN_E_NONE) {
        runtime_leave_alone(rt, slot);
        return code;
    }
    const burin_provider *p = &call.provider->table;
    const uint32_t provider = slot->provider;
    const runtime_live l = slot->of.live;
    runtime_slot *slots[3] = {slot, &rt->slots[l.output_slot], &rt->slots[l.completion_slot]};
    p->release_session(p->user, l.object);
    runtime_lock(rt);
    rt->slots[provider].of.registered.children++;
    runtime_unlock(rt);
    slot->users = 0;
    free_slots(rt, slots);
    *session = (burin_handle)BURIN_NO_HANDLE;
    code = end_accounts(&call, &l, BURIN_E_NONE);
    runtime_unpin(rt, provider);
    return code;
}

burin_code burin_session_fork(burin_runtime *rt, burin_handle session, burin_handle *forked, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL, *slots[3] = {NULL, NULL, NULL};
    if (!runtime_begin(&call, rt, error, "fork")) {
        return BURIN_E_ARGUMENT;
    }
    if (forked == NULL) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    *forked = (burin_handle)BURIN_NO_HANDLE;
    burin_code code = runtime_enter_alone(&call, session, &slot);
    if (code != BURIN_E_NONE) {
        return code;
    }
    const burin_provider *p = &call.provider->table;
    runtime_live *from = &slot->of.live;
    runtime_live l = {.rt = rt, .facts = from->facts, .planned = from->planned};
    if ((from->facts.admitted & BURIN_CAN_STATE_FORK) == 0) {
        code = runtime_fail(&call, BURIN_E_SESSION_CAPABILITY, BURIN_CAN_STATE_FORK, from->facts.admitted, NULL);
    } else if (from->lost) {
        code = runtime_fail(&call, BURIN_E_STATE_LOST, 0, 0, NULL);
    } else {
        code = take_slots(&call, slot->provider, slots);
    }
    if (code == BURIN_E_NONE) {
        code = runtime_reserve(&call, l.planned);
        if (code == BURIN_E_NONE) {
            l.model_account = runtime_account_new(rt, false, l.facts.model_bytes);
            l.session_account = runtime_account_new(rt, true, l.facts.session_bytes);
            code = l.model_account == NULL || l.session_account == NULL
                       ? runtime_fail(&call, BURIN_E_NO_SLOT, 0, 0, NULL)
                       : runtime_returned(&call, p->fork(p->user, from->object, &l.model_account->face,
                                                         &l.session_account->face, &l.object, call.error));
            code = code == BURIN_E_NONE ? admit(&call, &l) : code;
            code = code == BURIN_E_NONE ? code : end_accounts(&call, &l, code);
        }
        if (code == BURIN_E_NONE) {
            *forked = publish(rt, slots, &l);
        } else {
            free_slots(rt, slots);
        }
    }
    runtime_leave_alone(rt, slot);
    return code;
}

/* ---- state ----
 * envelope: "BURINST1", ABI u32, 0 u32, bytes of the state u64, identity u64,
 * provider's name and version as a hash u64, 0 u64, hash u64 of all else. */

static void put64(uint8_t *to, uint64_t v) {
    for (size_t i = 0; i < 8; i++) {
        to[i] = (uint8_t)(v >> (8 * i));
    }
}

static void make_envelope(const runtime_registered *r, const burin_model_facts *f, uint8_t to[ENVELOPE_SIZE]) {
    memset(to, 0, ENVELOPE_SIZE);
    memcpy(to, "BURINST1", 8);
    put64(to + 8, BURIN_PROVIDER_ABI);
    put64(to + 16, f->state_bytes);
    put64(to + 24, f->identity);
    put64(to + 32, base_hash(r->version, strlen(r->version), base_hash(r->name, strlen(r->name), 1)));
}

static uint64_t envelope_hash(const uint8_t *state, size_t bytes) {
    return base_hash(state + ENVELOPE_SIZE, bytes - ENVELOPE_SIZE, base_hash(state, ENVELOPE_SIZE - 8, 2));
}

/* The session alone, able to save or restore. */
static burin_code enter_for_state(runtime_call *call, burin_handle session, uint64_t capability, runtime_slot **slot) {
    burin_code code = runtime_enter_alone(call, session, slot);
    if (code == BURIN_E_NONE && ((*slot)->of.live.facts.admitted & capability) == 0) {
        code = runtime_fail(call, BURIN_E_SESSION_CAPABILITY, capability, (*slot)->of.live.facts.admitted, NULL);
        runtime_leave_alone(call->rt, *slot);
    }
    return code;
}

burin_code burin_session_reset(burin_runtime *rt, burin_handle session, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "reset")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = enter_for_state(&call, session, BURIN_CAN_PERSISTENT_CACHE, &slot);
    if (code == BURIN_E_NONE) {
        const burin_provider *p = &call.provider->table;
        code = runtime_returned(&call, p->reset(p->user, slot->of.live.object, call.error));
        slot->of.live.lost = slot->of.live.lost && code != BURIN_E_NONE;
        runtime_leave_alone(rt, slot);
    }
    return code;
}

burin_code burin_session_state_bytes(burin_runtime *rt, burin_handle session, uint64_t *bytes, burin_error *error) {
    runtime_call call;
    burin_model_facts f = {.size = sizeof f};
    if (!runtime_begin(&call, rt, error, "state bytes")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code =
        bytes != NULL ? burin_model_get(rt, session, &f, error) : runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    if (code == BURIN_E_NONE && (f.admitted & BURIN_CAN_STATE_COPY) == 0) {
        return runtime_fail(&call, BURIN_E_SESSION_CAPABILITY, BURIN_CAN_STATE_COPY, f.admitted, NULL);
    }
    if (code == BURIN_E_NONE) {
        *bytes = ENVELOPE_SIZE + f.state_bytes;
    }
    return code;
}

burin_code burin_session_save(burin_runtime *rt, burin_handle session, void *to, size_t bytes, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "save")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = enter_for_state(&call, session, BURIN_CAN_STATE_COPY, &slot);
    if (code != BURIN_E_NONE) {
        return code;
    }
    const burin_provider *p = &call.provider->table;
    const burin_model_facts *f = &slot->of.live.facts;
    uint8_t *out = to;
    if (to == NULL || bytes != ENVELOPE_SIZE + f->state_bytes) {
        code = runtime_fail(&call, BURIN_E_BUFFER_SIZE, ENVELOPE_SIZE + f->state_bytes, to != NULL ? bytes : 0, NULL);
    } else if (slot->of.live.lost) {
        code = runtime_fail(&call, BURIN_E_STATE_LOST, 0, 0, NULL);
    } else {
        make_envelope(call.provider, f, out);
        code = runtime_returned(
            &call, p->save(p->user, slot->of.live.object, out + ENVELOPE_SIZE, bytes - ENVELOPE_SIZE, call.error));
    }
    if (code == BURIN_E_NONE) {
        put64(out + ENVELOPE_SIZE - 8, envelope_hash(out, bytes));
    }
    runtime_leave_alone(rt, slot);
    return code;
}

static burin_code check_state(runtime_call *call, const burin_model_facts *f, const uint8_t *from, size_t bytes) {
    uint8_t want[ENVELOPE_SIZE], hash[8];
    if (from == NULL || bytes < ENVELOPE_SIZE) {
        return runtime_fail(call, BURIN_E_BUFFER_SIZE, ENVELOPE_SIZE + f->state_bytes, from != NULL ? bytes : 0, NULL);
    }
    put64(hash, envelope_hash(from, bytes));
    if (memcmp(hash, from + ENVELOPE_SIZE - 8, 8) != 0) {
        return runtime_fail(call, BURIN_E_STATE_DAMAGED, 0, 0, NULL);
    }
    make_envelope(call->provider, f, want);
    if (memcmp(want, from, ENVELOPE_SIZE - 8) != 0) {
        return runtime_fail(call, BURIN_E_STATE_OTHER, 0, 0, NULL);
    }
    if (bytes != ENVELOPE_SIZE + f->state_bytes) {
        return runtime_fail(call, BURIN_E_BUFFER_SIZE, ENVELOPE_SIZE + f->state_bytes, bytes, NULL);
    }
    return BURIN_E_NONE;
}

burin_code burin_session_restore(burin_runtime *rt, burin_handle session, const void *from, size_t bytes,
                                 burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "restore")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = enter_for_state(&call, session, BURIN_CAN_STATE_COPY, &slot);
    if (code != BURIN_E_NONE) {
        return code;
    }
    code = check_state(&call, &slot->of.live.facts, from, bytes);
    if (code == BURIN_E_NONE) {
        const burin_provider *p = &call.provider->table;
        code = runtime_returned(&call, p->restore(p->user, slot->of.live.object, (const uint8_t *)from + ENVELOPE_SIZE,
                                                  bytes - ENVELOPE_SIZE, call.error));
        slot->of.live.lost = slot->of.live.lost && code != BURIN_E_NONE;
    }
    runtime_leave_alone(rt, slot);
    return code;
}
