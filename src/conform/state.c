/* state.c - checks of what a session keeps: reset, saved, restored, forked; and
 * of activations. */
#include "conform/kit.h"

static void check_refusals(kit *k, kit_pair *p, unsigned char *state, size_t bytes) {
    kit_world *w = &p->w;
    kit_changed c;
    burin_handle other = BURIN_NO_HANDLE;
    const size_t step = bytes > 4000 ? bytes / 2000 : 1;
    for (size_t i = 0; i < bytes; i += i < 200 ? 1 : step) {
        state[i] ^= (unsigned char)(1u << (i % 8));
        GIVES(k, restore_damaged, BURIN_E_STATE_DAMAGED, burin_session_restore(w->rt, p->a, state, bytes, &w->error));
        state[i] ^= (unsigned char)(1u << (i % 8));
    }
    HOLDS(k, restore_size, burin_session_restore(w->rt, p->a, state, bytes - 1, &w->error) != BURIN_E_NONE);
    HOLDS(k, restore_size, burin_session_restore(w->rt, p->a, state, bytes + 1, &w->error) != BURIN_E_NONE);
    GIVES(k, restore_size, BURIN_E_BUFFER_SIZE, burin_session_restore(w->rt, p->a, state, 3, &w->error));
    kit_change(&c, &k->model);
    c.at = k->model.bytes - 1;
    c.with = 1;
    if (kit_session(w, &c.source, &other) == BURIN_E_NONE) {
        GIVES(k, restore_other, BURIN_E_STATE_OTHER, burin_session_restore(w->rt, other, state, bytes, &w->error));
        (void)burin_session_release(w->rt, &other, NULL);
    } else {
        SKIP(k, restore_other, "the model with another weight is refused");
    }
}

static void check_copies(kit *k, kit_pair *p) {
    enum { GUARD = 64 };
    kit_world *w = &p->w;
    uint64_t bytes = 0, again = 0;
    burin_model_facts f = {.size = sizeof f};
    (void)burin_model_get(w->rt, p->a, &f, NULL);
    GIVES(k, state_bytes, BURIN_E_NONE, burin_session_state_bytes(w->rt, p->a, &bytes, &w->error));
    unsigned char *state = calloc((size_t)bytes + GUARD, 1);
    if (state == NULL) {
        return;
    }
    memset(state, 0x5a, (size_t)bytes + GUARD);
    GIVES(k, save_size, BURIN_E_BUFFER_SIZE, burin_session_save(w->rt, p->a, state, (size_t)bytes - 1, &w->error));
    HOLDS(k, save_size, state[0] == 0x5a && w->error.wanted == bytes);
    /* a and b run alike; a is saved in mid-stream */
    (void)kit_runs(w, p->a, &p->io, 1, 3, p->one);
    (void)kit_runs(w, p->b, &p->io, 1, 3, p->two);
    GIVES(k, save_exact, BURIN_E_NONE, burin_session_save(w->rt, p->a, state, (size_t)bytes, &w->error));
    for (size_t g = 0; g < GUARD; g++) {
        HOLDS(k, save_exact, state[bytes + g] == 0x5a);
    }
    (void)burin_session_state_bytes(w->rt, p->a, &again, NULL);
    HOLDS(k, state_bytes, again == bytes && bytes >= f.state_bytes);
    (void)kit_runs(w, p->a, &p->io, 10, 4, p->one);
    (void)kit_runs(w, p->b, &p->io, 10, 4, p->two);
    HOLDS(k, save_changes_nothing, kit_pair_same(p));
    GIVES(k, restore_exact, BURIN_E_NONE, burin_session_restore(w->rt, p->a, state, (size_t)bytes, &w->error));
    (void)kit_runs(w, p->a, &p->io, 10, 4, p->two);
    HOLDS(k, restore_exact, kit_pair_same(p));
    (void)kit_runs(w, p->b, &p->io, 50, 2, p->two);
    GIVES(k, restore_elsewhere, BURIN_E_NONE, burin_session_restore(w->rt, p->b, state, (size_t)bytes, &w->error));
    (void)kit_runs(w, p->b, &p->io, 10, 4, p->two);
    HOLDS(k, restore_elsewhere, kit_pair_same(p));
    check_refusals(k, p, state, (size_t)bytes);
    (void)kit_runs(w, p->a, &p->io, 20, 2, p->one);
    (void)kit_runs(w, p->b, &p->io, 20, 2, p->two);
    HOLDS(k, restore_unchanged, kit_pair_same(p));
    free(state);
}

void kit_check_state(kit *k) {
    kit_pair p;
    if (kit_pair_make(k, &p, NULL)) {
        if ((k->admitted & BURIN_CAN_PERSISTENT_CACHE) != 0) {
            (void)kit_runs(&p.w, p.a, &p.io, 30, 3, p.one);
            GIVES(k, reset_is_new, BURIN_E_NONE, burin_session_reset(p.w.rt, p.a, &p.w.error));
            (void)kit_runs(&p.w, p.a, &p.io, 1, 2, p.one);
            (void)kit_runs(&p.w, p.b, &p.io, 1, 2, p.two);
            HOLDS(k, reset_is_new, kit_pair_same(&p));
        }
        if ((k->admitted & BURIN_CAN_STATE_COPY) != 0) {
            check_copies(k, &p);
        }
    }
    kit_pair_free(&p);
}

/* ---- forks ---- */

static void check_fork_failures(kit *k, kit_pair *p) {
    burin_code code = BURIN_E_NO_MEMORY;
    const burin_stats before = kit_stats(&p->w);
    for (long allowed = 0; code != BURIN_E_NONE && allowed < 10000; allowed++) {
        burin_handle forked = BURIN_NO_HANDLE;
        p->w.ledger.left = allowed;
        code = burin_session_fork(p->w.rt, p->a, &forked, &p->w.error);
        p->w.ledger.left = 1L << 30;
        HOLDS(k, fork_no_memory, code == BURIN_E_NONE || (code == BURIN_E_NO_MEMORY && forked.owner == 0));
        (void)burin_session_release(p->w.rt, &forked, NULL);
        const burin_stats after = kit_stats(&p->w);
        HOLDS(k, fork_no_memory,
              after.session_bytes == before.session_bytes && after.model_bytes == before.model_bytes);
    }
    GIVES(k, fork_no_memory, BURIN_E_NONE, kit_run(&p->w, p->a, &p->io, 1));
}

void kit_check_forks(kit *k) {
    kit_pair p;
    burin_handle forked = BURIN_NO_HANDLE;
    if (kit_pair_make(k, &p, NULL) && (k->admitted & BURIN_CAN_STATE_FORK) != 0) {
        kit_world *w = &p.w;
        (void)kit_runs(w, p.a, &p.io, 1, 3, p.one);
        (void)kit_runs(w, p.b, &p.io, 1, 3, p.one);
        const burin_stats before = kit_stats(w);
        GIVES(k, fork_same, BURIN_E_NONE, burin_session_fork(w->rt, p.a, &forked, &w->error));
        const burin_stats after = kit_stats(w);
        burin_model_facts f = {.size = sizeof f};
        (void)burin_model_get(w->rt, p.a, &f, NULL);
        HOLDS(k, fork_memory,
              after.session_bytes - before.session_bytes == f.session_bytes &&
                  after.shared_bytes == before.shared_bytes);
        (void)kit_runs(w, forked, &p.io, 10, 2, p.one);
        (void)kit_runs(w, p.b, &p.io, 10, 2, p.two);
        HOLDS(k, fork_same, kit_pair_same(&p));
        /* the fork has run on; a has not */
        (void)kit_runs(w, p.a, &p.io, 10, 2, p.two);
        HOLDS(k, fork_apart, kit_pair_same(&p));
        (void)kit_runs(w, p.a, &p.io, 40, 3, p.two);
        (void)kit_runs(w, forked, &p.io, 20, 1, p.one);
        (void)kit_runs(w, p.b, &p.io, 20, 1, p.two);
        HOLDS(k, fork_apart, kit_pair_same(&p));
        (void)burin_session_release(w->rt, &forked, NULL);
        HOLDS(k, fork_memory, kit_stats(w).session_bytes == before.session_bytes);
        check_fork_failures(k, &p);
    }
    kit_pair_free(&p);
}

/* ---- activations ---- */

typedef struct seen {
    int n;
    bool good;
    const char *name; /* expected */
} seen;

static void note_activation(void *user, const burin_value *value) {
    seen *s = user;
    s->n++;
    s->good = value->name != NULL && value->data != NULL && value->type != NULL && value->bytes > 0 &&
              (s->name == NULL || strcmp(value->name, s->name) == 0);
}

static seen look(kit_pair *p, const char *path, uint32_t prefix, const char *expected, burin_code *code) {
    const burin_selector selector = {path, prefix};
    burin_submit_options o = kit_io_submit(&p->io);
    burin_submission s;
    burin_outcome outcome;
    seen found = {.name = expected};
    o.selectors = path != NULL ? &selector : NULL;
    o.selector_count = path != NULL;
    o.activation = note_activation;
    o.user = &found;
    *code = burin_session_submit(p->w.rt, p->a, &o, &s, &p->w.error);
    *code = *code == BURIN_E_NONE ? kit_wait(&p->w, &s, &outcome) : *code;
    return found;
}

void kit_check_activations(kit *k) {
    kit_pair p;
    burin_value v;
    burin_code code;
    if (kit_pair_make(k, &p, NULL)) {
        seen s = look(&p, NULL, 0, NULL, &code);
        HOLDS(k, activation_none, code == BURIN_E_NONE && s.n == 0);
        if ((k->admitted & BURIN_CAN_ACTIVATION_INSPECTION) == 0) {
            (void)look(&p, "x", 0, NULL, &code);
            GIVES(k, activation_not_had, BURIN_E_SESSION_CAPABILITY, code);
        } else {
            SKIP(k, activation_not_had, "sessions have it");
            memset(&v, 0, sizeof v);
            GIVES(k, activation_exact, BURIN_E_NONE,
                  burin_session_tensor(p.w.rt, p.a, BURIN_ACTIVATION, 0, &v, &p.w.error));
            char name[4000] = "?"; /* those of fused operators list what they are of */
            if (v.name != NULL && strlen(v.name) < sizeof name) {
                memcpy(name, v.name, strlen(v.name) + 1);
            }
            s = look(&p, name, 0, name, &code);
            HOLDS(k, activation_exact, code == BURIN_E_NONE && s.n == 1 && s.good);
            char *dot = strchr(name, '.');
            if (dot != NULL) {
                *dot = 0;
                s = look(&p, name, 1, NULL, &code);
                HOLDS(k, activation_prefix, code == BURIN_E_NONE && s.n >= 1 && s.good);
                s = look(&p, name, 0, NULL, &code);
                HOLDS(k, activation_other, s.n == 0);
                name[strlen(name) - 1] = 0; /* a part of a word is no prefix */
                s = look(&p, name[0] != 0 ? name : "?", 1, NULL, &code);
                HOLDS(k, activation_other, s.n == 0);
            } else {
                SKIP(k, activation_prefix, "the first activation has no dot in its name");
            }
            s = look(&p, "no such activation", 0, NULL, &code);
            HOLDS(k, activation_other, code == BURIN_E_NONE && s.n == 0);
            (void)look(&p, "", 0, NULL, &code);
            GIVES(k, activation_empty, BURIN_E_ARGUMENT, code);
        }
    }
    kit_pair_free(&p);
}
