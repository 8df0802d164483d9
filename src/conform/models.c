/* models.c - checks of models and sessions: prepared, created, counted,
 * released; and of the handles that name them. */
#include "conform/kit.h"

/* What a world has after all is released. */
static bool nothing_left(kit_world *w) {
    const burin_stats s = kit_stats(w);
    uint32_t live = 0;
    for (int i = BURIN_HANDLE_ARTIFACT; i < BURIN_HANDLE_KIND_COUNT; i++) {
        live += s.live[i];
    }
    return live == 0 && s.model_bytes + s.session_bytes + s.shared_bytes + s.planned_bytes == 0 &&
           s.leaked_model_bytes + s.leaked_session_bytes == 0;
}

/* ---- preparing ---- */

/* Each read, then each allocation, fails in turn. */
static void check_failures(kit *k, kit_world *w) {
    kit_changed c;
    burin_code code = BURIN_E_READ;
    for (long allowed = 0; code != BURIN_E_NONE && allowed < 10000; allowed++) {
        burin_handle model = BURIN_NO_HANDLE;
        kit_change(&c, &k->model);
        c.reads_left = allowed;
        code = kit_model(w, &c.source, &model);
        HOLDS(k, prepare_unreadable, code == BURIN_E_NONE || model.owner == 0);
        (void)burin_model_release(w->rt, &model, NULL);
        HOLDS(k, prepare_unreadable, nothing_left(w));
    }
    code = BURIN_E_NO_MEMORY;
    for (long allowed = 0; code != BURIN_E_NONE && allowed < 10000; allowed++) {
        burin_handle config = BURIN_NO_HANDLE, model = BURIN_NO_HANDLE;
        (void)kit_config(w, &k->model, &config);
        w->ledger.left = allowed;
        code = burin_model_prepare(w->rt, &config, &model, &w->error);
        w->ledger.left = 1L << 30;
        HOLDS(k, prepare_no_memory, code == BURIN_E_NONE || (code == BURIN_E_NO_MEMORY && model.owner == 0));
        (void)burin_model_release(w->rt, &model, NULL);
        HOLDS(k, prepare_no_memory, nothing_left(w));
    }
}

static void check_sharing(kit *k, kit_world *w, uint64_t payload) {
    burin_handle one = BURIN_NO_HANDLE, two = BURIN_NO_HANDLE, other = BURIN_NO_HANDLE;
    burin_model_facts a = {.size = sizeof a}, b = {.size = sizeof b};
    kit_changed c;
    (void)kit_model(w, &k->model, &one);
    const burin_stats first = kit_stats(w);
    (void)kit_model(w, &k->model, &two);
    const burin_stats both = kit_stats(w);
    HOLDS(k, weights_shared,
          payload < 16 || (both.shared_bytes == first.shared_bytes && first.shared_bytes >= payload / 2));
    (void)burin_model_get(w->rt, one, &a, NULL);
    (void)burin_model_get(w->rt, two, &b, NULL);
    HOLDS(k, identity_same, a.identity == b.identity);
    kit_change(&c, &k->model);
    c.at = k->model.bytes - 1;
    c.with = 1;
    const burin_code code = kit_model(w, &c.source, &other);
    HOLDS(k, identity_other,
          code != BURIN_E_NONE ||
              (burin_model_get(w->rt, other, &b, NULL) == BURIN_E_NONE && a.identity != b.identity));
    (void)burin_model_release(w->rt, &one, NULL);
    (void)burin_model_release(w->rt, &two, NULL);
    (void)burin_model_release(w->rt, &other, NULL);
    HOLDS(k, model_released, nothing_left(w));
}

void kit_check_prepare(kit *k) {
    kit_world w;
    burin_handle config = BURIN_NO_HANDLE, model = BURIN_NO_HANDLE, none = BURIN_NO_HANDLE;
    burin_plan_record p = {.size = sizeof p};
    burin_model_facts f = {.size = sizeof f};
    burin_inspection i = {.size = sizeof i};
    if (!kit_open(k, &w, NULL, NULL)) {
        return;
    }
    if (burin_artifact_inspect(w.rt, w.provider, &k->model, &none, NULL) == BURIN_E_NONE) {
        (void)burin_artifact_get(w.rt, none, &i, NULL);
        (void)burin_artifact_release(w.rt, &none, NULL);
    }
    (void)kit_config(&w, &k->model, &config);
    (void)burin_config_get(w.rt, config, &p, NULL);
    HOLDS(k, prepare_reads, kit_stats(&w).payload_reads == 0);
    const burin_handle alias = config;
    const burin_code code = burin_model_prepare(w.rt, &config, &model, &w.error);
    GIVES(k, prepares, BURIN_E_NONE, code);
    HOLDS(k, prepare_admits, code != BURIN_E_CAPABILITY_MISMATCH);
    HOLDS(k, prepare_memory, code != BURIN_E_MEMORY_PLAN);
    HOLDS(k, prepare_consumes, config.owner == 0 && config.generation == 0);
    HOLDS(k, prepare_reads, i.payload_bytes == 0 || kit_stats(&w).payload_reads >= i.payload_bytes);
    GIVES(k, prepare_again, BURIN_E_NO_HANDLE, burin_model_prepare(w.rt, &config, &none, &w.error));
    burin_handle again = alias;
    GIVES(k, prepare_alias, BURIN_E_STALE_HANDLE, burin_model_prepare(w.rt, &again, &none, &w.error));
    if (code == BURIN_E_NONE) {
        const burin_stats s = kit_stats(&w);
        (void)burin_model_get(w.rt, model, &f, NULL);
        HOLDS(k, prepare_admits, f.admitted == p.capabilities);
        HOLDS(k, prepare_memory, s.model_bytes + s.shared_bytes == p.model_bytes && s.session_bytes == 0);
        GIVES(k, model_released, BURIN_E_NONE, burin_model_release(w.rt, &model, &w.error));
        HOLDS(k, model_released, nothing_left(&w));
        check_failures(k, &w);
        check_sharing(k, &w, i.payload_bytes);
    }
    (void)kit_close(&w);
    burin_runtime_options o = BURIN_RUNTIME_OPTIONS_INIT;
    o.memory_limit = p.model_bytes + p.session_bytes - 1;
    if (kit_open(k, &w, &o, NULL)) {
        GIVES(k, prepare_limit, BURIN_E_MEMORY_LIMIT, kit_model(&w, &k->model, &model));
        HOLDS(k, prepare_limit, kit_stats(&w).payload_reads == 0 && nothing_left(&w));
        (void)kit_close(&w);
    }
}

/* ---- sessions ---- */

static uint64_t can_nothing(void *user, void *session) {
    (void)user, (void)session;
    return 0;
}

static void own_words(void *user, uint64_t admitted, uint64_t realised, char *message, size_t bytes) {
    (void)user, (void)admitted, (void)realised;
    if (bytes > 12) {
        memcpy(message, "in own words", 13);
    }
}

static void check_mismatch(kit *k) {
    kit_world w;
    burin_provider t = *k->provider;
    burin_handle session = BURIN_NO_HANDLE;
    t.session_capabilities = can_nothing;
    for (int words = 0; words < 2; words++) {
        t.mismatch = words ? own_words : NULL;
        if (!kit_open(k, &w, NULL, &t)) {
            return;
        }
        GIVES(k, mismatch_told, BURIN_E_CAPABILITY_MISMATCH, kit_session(&w, &k->model, &session));
        HOLDS(k, mismatch_told, w.error.wanted == k->admitted && w.error.found == 0 && session.owner == 0);
        HOLDS(k, mismatch_words, w.error.message[0] != 0 && (!words || strcmp(w.error.message, "in own words") == 0));
        HOLDS(k, mismatch_told, nothing_left(&w));
        (void)kit_close(&w);
    }
    if (k->provider->mismatch != NULL) {
        char message[100];
        memset(message, 0, sizeof message);
        k->provider->mismatch(k->provider->user, 1, 2, message, sizeof message);
        HOLDS(k, mismatch_words, message[sizeof message - 1] == 0);
    }
}

/* Bytes of n elements of a type by its name: the number in it is its bits. */
static bool fits(const burin_value *v) {
    uint64_t n = 1, bits = 0;
    for (uint32_t i = 0; i < v->rank && i < 8; i++) {
        n *= (uint64_t)v->dim[i];
    }
    for (const char *c = v->type; c != NULL && *c != 0 && (*c < '0' || *c > '9' || bits == 0); c++) {
        bits = *c >= '0' && *c <= '9' ? strtoull(c, NULL, 10) : bits;
    }
    bits = v->type != NULL && strcmp(v->type, "bool") == 0 ? 8 : bits;
    return v->rank <= 8 && bits > 0 && v->bytes == (n * bits + 7) / 8;
}

static void check_tensors(kit *k, kit_world *w, burin_handle session) {
    burin_model_facts f = {.size = sizeof f};
    burin_value v, again;
    kit_io io;
    (void)burin_model_get(w->rt, session, &f, NULL);
    if (!kit_io_make(w, session, &io)) {
        return;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int role = BURIN_INPUT; role <= BURIN_OUTPUT; role++) {
            const uint32_t n = role == BURIN_INPUT ? f.input_count : f.output_count;
            for (uint32_t i = 0; i < n; i++) {
                const burin_value *first = role == BURIN_INPUT ? &io.inputs[i] : &io.outputs[i];
                memset(&v, 0, sizeof v);
                GIVES(k, tensors, BURIN_E_NONE,
                      burin_session_tensor(w->rt, session, (burin_role)role, i, &v, &w->error));
                HOLDS(k, tensors, fits(&v));
                HOLDS(k, tensors_stable,
                      v.rank == first->rank && memcmp(v.dim, first->dim, sizeof v.dim) == 0 &&
                          v.bytes == first->bytes && strcmp(v.type, first->type) == 0);
            }
            GIVES(k, tensor_beyond, BURIN_E_ARGUMENT,
                  burin_session_tensor(w->rt, session, (burin_role)role, n, &again, &w->error));
        }
        HOLDS(k, realised_stays, kit_run(w, session, &io, 3) != BURIN_E_CAPABILITY_MISMATCH);
    }
    HOLDS(k, realised_stays, burin_session_tensor(w->rt, session, BURIN_OUTPUT, 0, &v, &w->error) == BURIN_E_NONE);
    kit_io_free(&io);
}

static void check_create_failures(kit *k, kit_world *w) {
    burin_code code = BURIN_E_NO_MEMORY;
    for (long allowed = 0; code != BURIN_E_NONE && allowed < 10000; allowed++) {
        burin_handle model = BURIN_NO_HANDLE, session = BURIN_NO_HANDLE;
        (void)kit_model(w, &k->model, &model);
        w->ledger.left = allowed;
        code = burin_session_create(w->rt, &model, &session, &w->error);
        w->ledger.left = 1L << 30;
        HOLDS(k, create_no_memory, model.owner == 0 && (code == BURIN_E_NONE || session.owner == 0));
        HOLDS(k, create_no_memory, code == BURIN_E_NONE || code == BURIN_E_NO_MEMORY);
        (void)burin_session_release(w->rt, &session, NULL);
        HOLDS(k, create_no_memory, nothing_left(w));
    }
}

void kit_check_sessions(kit *k) {
    kit_world w;
    burin_handle model = BURIN_NO_HANDLE, session = BURIN_NO_HANDLE, none = BURIN_NO_HANDLE;
    burin_model_facts f = {.size = sizeof f}, s = {.size = sizeof s};
    if (!kit_open(k, &w, NULL, NULL)) {
        return;
    }
    if (kit_model(&w, &k->model, &model) == BURIN_E_NONE) {
        (void)burin_model_get(w.rt, model, &f, NULL);
        burin_handle alias = model;
        const burin_code code = burin_session_create(w.rt, &model, &session, &w.error);
        GIVES(k, creates, BURIN_E_NONE, code);
        HOLDS(k, realised_equal, code != BURIN_E_CAPABILITY_MISMATCH);
        HOLDS(k, create_memory, code != BURIN_E_MEMORY_PLAN);
        HOLDS(k, create_consumes, model.owner == 0);
        GIVES(k, create_again, BURIN_E_NO_HANDLE, burin_session_create(w.rt, &model, &none, &w.error));
        GIVES(k, create_alias, BURIN_E_STALE_HANDLE, burin_session_create(w.rt, &alias, &none, &w.error));
        if (code == BURIN_E_NONE) {
            const burin_stats now = kit_stats(&w);
            (void)burin_model_get(w.rt, session, &s, NULL);
            HOLDS(k, realised_equal, s.admitted == f.admitted);
            HOLDS(k, create_memory, now.session_bytes == f.session_bytes);
            HOLDS(k, stats_by_kind,
                  now.live[BURIN_HANDLE_SESSION] == 1 && now.live[BURIN_HANDLE_MODEL] == 0 &&
                      now.live[BURIN_HANDLE_PROVIDER] == 1 && now.live[BURIN_HANDLE_OUTPUT] == 1);
            burin_handle provider = w.provider;
            burin_runtime *rt = w.rt;
            GIVES(k, provider_in_use, BURIN_E_LIVE_HANDLES, burin_provider_close(w.rt, &provider, &w.error));
            HOLDS(k, provider_in_use, provider.owner != 0);
            GIVES(k, close_in_use, BURIN_E_LIVE_HANDLES, burin_runtime_close(&rt, &w.error));
            HOLDS(k, close_in_use, rt == w.rt && w.error.found > 0);
            check_tensors(k, &w, session);
            GIVES(k, session_released, BURIN_E_NONE, burin_session_release(w.rt, &session, &w.error));
            HOLDS(k, session_released, nothing_left(&w) && session.owner == 0);
            check_create_failures(k, &w);
        }
    }
    GIVES(k, provider_in_use, BURIN_E_NONE, burin_provider_close(w.rt, &w.provider, &w.error));
    HOLDS(k, close_frees, kit_close(&w));
    check_mismatch(k);
}

/* ---- handles ---- */

static void check_retired(kit *k) {
    kit_world w;
    burin_runtime_options o = BURIN_RUNTIME_OPTIONS_INIT;
    burin_handle seen[64];
    size_t n = 0;
    o.handles = 9;
    o.first_generation = UINT32_MAX - 1;
    if (!kit_open(k, &w, &o, NULL)) {
        return;
    }
    burin_code code = BURIN_E_NONE;
    while (code == BURIN_E_NONE && n < 64) {
        burin_handle artifact = BURIN_NO_HANDLE;
        code = burin_artifact_inspect(w.rt, w.provider, &k->model, &artifact, &w.error);
        for (size_t i = 0; i < n && code == BURIN_E_NONE; i++) {
            HOLDS(k, slots_retire, seen[i].slot != artifact.slot || seen[i].generation != artifact.generation);
        }
        seen[n] = artifact;
        n += code == BURIN_E_NONE;
        (void)burin_artifact_release(w.rt, &artifact, NULL);
    }
    HOLDS(k, slots_retire, code == BURIN_E_NO_SLOT && n == 16); /* eight slots, two generations each */
    HOLDS(k, slots_retire, kit_stats(&w).retired == 8);
    (void)kit_close(&w);
}

void kit_check_handles(kit *k) {
    kit_world w, other;
    burin_handle session = BURIN_NO_HANDLE, second = BURIN_NO_HANDLE, none = BURIN_NO_HANDLE;
    burin_model_facts f = {.size = sizeof f};
    if (!kit_open(k, &w, NULL, NULL)) {
        return;
    }
    if (kit_session(&w, &k->model, &session) == BURIN_E_NONE && kit_open(k, &other, NULL, NULL)) {
        burin_handle wrong = session, old = session;
        GIVES(k, wrong_kind, BURIN_E_WRONG_KIND, burin_session_create(w.rt, &wrong, &none, &w.error));
        GIVES(k, wrong_kind, BURIN_E_WRONG_KIND, burin_session_cancel(w.rt, w.provider, &w.error));
        GIVES(k, wrong_kind, BURIN_E_WRONG_KIND, burin_artifact_inspect(w.rt, session, &k->model, &none, &w.error));
        GIVES(k, foreign, BURIN_E_FOREIGN_HANDLE, burin_model_get(other.rt, session, &f, &w.error));
        GIVES(k, foreign, BURIN_E_FOREIGN_HANDLE, burin_session_release(other.rt, &old, &w.error));
        const burin_handle zeros = BURIN_NO_HANDLE;
        GIVES(k, no_handle, BURIN_E_NO_HANDLE, burin_session_cancel(w.rt, zeros, &w.error));
        GIVES(k, no_handle, BURIN_E_NO_HANDLE, burin_model_get(w.rt, zeros, &f, &w.error));
        (void)burin_session_release(w.rt, &session, NULL);
        if (kit_session(&w, &k->model, &second) == BURIN_E_NONE) {
            HOLDS(k, slot_reused, second.slot == old.slot);
            GIVES(k, slot_reused, BURIN_E_STALE_HANDLE, burin_model_get(w.rt, old, &f, &w.error));
            GIVES(k, slot_reused, BURIN_E_STALE_HANDLE, burin_session_release(w.rt, &old, &w.error));
            GIVES(k, slot_reused, BURIN_E_NONE, burin_model_get(w.rt, second, &f, &w.error));
        }
        GIVES(k, release_nothing, BURIN_E_NONE, burin_session_release(w.rt, &session, &w.error));
        GIVES(k, release_nothing, BURIN_E_NONE, burin_model_release(w.rt, &none, &w.error));
        GIVES(k, release_nothing, BURIN_E_NONE, burin_config_release(w.rt, &none, &w.error));
        GIVES(k, release_nothing, BURIN_E_NONE, burin_completion_release(w.rt, &none, &w.error));
        (void)kit_close(&other);
        GIVES(k, contexts_apart, BURIN_E_NONE, burin_model_get(w.rt, second, &f, &w.error));
    }
    (void)burin_session_release(w.rt, &session, NULL);
    (void)burin_session_release(w.rt, &second, NULL);
    (void)kit_close(&w);
    check_retired(k);
}
