/* whole.c - checks of the table alone, without the host; of a whole life; of
 * many threads. */
#include <stdio.h>

#include "conform/kit.h"

/* ---- the table alone: a host of a few lines ---- */

typedef struct raw_memory {
    burin_memory face; /* first */
    long left;
    void *blocks[64]; /* alive: what a provider forgets is freed in the end */
} raw_memory;

static void *raw_alloc(burin_memory *memory, size_t bytes) {
    raw_memory *m = (raw_memory *)(void *)memory;
    const size_t whole = (bytes / 64 + 1) * 64;
    size_t i = 0;
    while (i < 64 && m->blocks[i] != NULL) {
        i++;
    }
    if (i == 64 || m->left-- <= 0 || posix_memalign(&m->blocks[i], 64, whole) != 0) {
        return NULL;
    }
    return memset(m->blocks[i], 0, whole);
}

static void raw_free(burin_memory *memory, void *block) {
    raw_memory *m = (raw_memory *)(void *)memory;
    for (size_t i = 0; i < 64 && block != NULL; i++) {
        if (m->blocks[i] == block) {
            free(block);
            m->blocks[i] = NULL;
        }
    }
}

static const void *raw_share(burin_memory *memory, void *block) {
    (void)memory;
    return block;
}

static void raw_unshare(burin_memory *memory, const void *block) {
    raw_free(memory, (void *)(uintptr_t)block);
}

static raw_memory raw_new(long left) {
    return (raw_memory){{sizeof(burin_memory), 0, raw_alloc, raw_free, raw_share, raw_unshare}, left, {NULL}};
}

static int never(const burin_control *control) {
    (void)control;
    return 0;
}

static int no_activation(const burin_control *control, const char *name) {
    (void)control, (void)name;
    return 0;
}

static void drop(const burin_control *control, const burin_value *value) {
    (void)control, (void)value;
}

typedef struct raw {
    raw_memory model_memory, session_memory;
    burin_inspection inspection;
    burin_plan_record plan;
    void *model, *session;
} raw;

static burin_code raw_prepare(kit *k, raw *r, long left) {
    const burin_provider *p = k->provider;
    const burin_request request = BURIN_REQUEST_INIT;
    burin_error e = BURIN_ERROR_INIT;
    memset(r, 0, sizeof *r);
    r->model_memory = raw_new(left);
    r->session_memory = raw_new(1000000);
    r->inspection.size = sizeof r->inspection;
    r->inspection.header_limit = (uint64_t)1 << 28;
    r->plan.size = sizeof r->plan;
    burin_prepared made = {.size = sizeof made};
    burin_code code = p->inspect(p->user, &k->model, &r->inspection, &e);
    code = code == BURIN_E_NONE ? p->plan(p->user, &k->model, &r->inspection, &request, &r->plan, &e) : code;
    return code == BURIN_E_NONE ? p->prepare(p->user, &k->model, &r->plan, &r->model_memory.face, &r->model, &made, &e)
                                : code;
}

static void raw_end(kit *k, raw *r) {
    const burin_provider *p = k->provider;
    if (r->session != NULL) {
        p->release_session(p->user, r->session);
    } else if (r->model != NULL) {
        p->release_model(p->user, r->model);
    }
    for (size_t i = 0; i < 64; i++) {
        free(r->model_memory.blocks[i]);
        free(r->session_memory.blocks[i]);
    }
}

static void check_work(kit *k, raw *r, kit_io *io) {
    static const burin_control control = {never, no_activation, drop};
    const burin_provider *p = k->provider;
    const burin_work work = {sizeof work, BURIN_RUN, 41, io->inputs, io->input_count, 0, &control};
    burin_progress first = {.size = sizeof first}, again;
    burin_error e = BURIN_ERROR_INIT;
    GIVES(k, raw_sticky, BURIN_E_NONE, p->submit(p->user, r->session, &work, &e));
    for (int i = 0; i < 100 && (first.phase == BURIN_PENDING || first.releasable == 0); i++) {
        GIVES(k, raw_sticky, BURIN_E_NONE, p->wait(p->user, r->session, 41, BURIN_FOREVER, &first, &e));
    }
    HOLDS(k, raw_sticky, first.phase == BURIN_DONE && first.releasable != 0);
    for (int i = 0; i < 3; i++) {
        again = (burin_progress){.size = sizeof again};
        GIVES(k, raw_sticky, BURIN_E_NONE, p->wait(p->user, r->session, 41, i == 0 ? 0 : 1000, &again, &e));
        HOLDS(k, raw_sticky, again.phase == first.phase && again.releasable != 0 && again.code == first.code);
        if (p->cancel != NULL) {
            HOLDS(k, raw_cancel_twice, p->cancel(p->user, r->session, 41, &e) == BURIN_E_NONE);
        }
    }
    if (p->cancel != NULL) {
        again = (burin_progress){.size = sizeof again};
        HOLDS(k, raw_cancel_twice,
              p->wait(p->user, r->session, 41, 0, &again, &e) == BURIN_E_NONE && again.phase == BURIN_DONE);
    }
    burin_value v;
    GIVES(k, tensor_beyond, BURIN_E_ARGUMENT,
          p->tensor(p->user, r->session, BURIN_INPUT, r->inspection.input_count, &v, &e));
    GIVES(k, raw_ticket, BURIN_E_ARGUMENT, p->wait(p->user, r->session, 42, 0, &again, &e));
}

void kit_check_raw(kit *k) {
    const burin_provider *p = k->provider;
    kit_pair pair;
    raw r;
    burin_error e = BURIN_ERROR_INIT;
    if (raw_prepare(k, &r, 0) != BURIN_E_NONE) {
        HOLDS(k, raw_failure, r.model == NULL);
        r.model = NULL;
        raw_end(k, &r);
    } else {
        SKIP(k, raw_failure, "its models take no memory");
        raw_end(k, &r);
    }
    if (kit_pair_make(k, &pair, NULL) && raw_prepare(k, &r, 1000000) == BURIN_E_NONE) {
        void *model = r.model;
        r.model = NULL; /* create_session takes it */
        if (p->create_session(p->user, model, &r.session_memory.face, &r.session, &e) == BURIN_E_NONE) {
            check_work(k, &r, &pair.io);
        }
        raw_end(k, &r);
    }
    kit_pair_free(&pair);
    if (p->sample == NULL) {
        SKIP(k, raw_samples, "it has none");
        return;
    }
    burin_source sample = {.size = 0};
    for (uint32_t i = 0; i < 2 && p->sample(p->user, i, &sample) == BURIN_E_NONE; i++) {
        burin_inspection inspection = {.size = sizeof inspection, .header_limit = (uint64_t)1 << 28};
        GIVES(k, raw_samples, BURIN_E_NONE, p->inspect(p->user, &sample, &inspection, &e));
    }
}

/* ---- many threads ---- */

enum { THREADS = 8, RUNS = 20 };
typedef struct runner {
    kit_world w; /* its error record is this thread's */
    burin_handle session;
    unsigned char *out;
    burin_code code;
} runner;

static void *run_in_thread(void *argument) {
    runner *r = argument;
    kit_io io;
    r->code = BURIN_E_NO_MEMORY;
    if (kit_io_make(&r->w, r->session, &io)) {
        r->code = kit_runs(&r->w, r->session, &io, 1, RUNS, r->out);
        kit_io_free(&io);
    }
    return NULL;
}

static void check_threads(kit *k) {
    kit_pair p;
    runner runners[THREADS];
    pthread_t threads[THREADS];
    bool begun[THREADS];
    if (kit_pair_make(k, &p, NULL) && (k->admitted & BURIN_CAN_OUTPUT_OBSERVATION) != 0) {
        GIVES(k, threads, BURIN_E_NONE, kit_runs(&p.w, p.a, &p.io, 1, RUNS, p.one));
        for (int i = 0; i < THREADS; i++) {
            runners[i] = (runner){.w = p.w, .out = calloc(p.io.output_bytes + 1, 1)};
            begun[i] = runners[i].out != NULL && kit_session(&p.w, &k->model, &runners[i].session) == BURIN_E_NONE;
        }
        for (int i = 0; i < THREADS; i++) {
            begun[i] = begun[i] && pthread_create(&threads[i], NULL, run_in_thread, &runners[i]) == 0;
        }
        for (int i = 0; i < THREADS; i++) {
            HOLDS(k, threads, begun[i]);
            if (begun[i]) {
                (void)pthread_join(threads[i], NULL);
                GIVES(k, threads, BURIN_E_NONE, runners[i].code);
                HOLDS(k, threads, memcmp(p.one, runners[i].out, p.io.output_bytes) == 0);
            }
            (void)burin_session_release(p.w.rt, &runners[i].session, NULL);
            free(runners[i].out);
        }
    }
    kit_pair_free(&p);
}

/* ---- a whole life ---- */

static burin_code live(kit *k, long allowed, bool *clean) {
    kit_world w;
    burin_handle session = BURIN_NO_HANDLE;
    kit_io io;
    if (!kit_open(k, &w, NULL, NULL)) {
        return BURIN_E_INPUT;
    }
    w.ledger.left = allowed;
    burin_code code = kit_session(&w, &k->model, &session);
    if (code == BURIN_E_NONE && kit_io_make(&w, session, &io)) {
        code = kit_run(&w, session, &io, 1);
        kit_io_free(&io);
    }
    (void)burin_session_release(w.rt, &session, NULL);
    const burin_stats s = kit_stats(&w);
    *clean = s.planned_bytes + s.model_bytes + s.session_bytes + s.shared_bytes == 0;
    *clean = kit_close(&w) && *clean;
    return code;
}

void kit_check_whole(kit *k) {
    kit_world w;
    burin_handle none = BURIN_NO_HANDLE;
    burin_descriptor about = {.size = sizeof about};
    check_threads(k);
    burin_code code = BURIN_E_NO_MEMORY;
    for (long allowed = 0; code != BURIN_E_NONE && allowed < 10000; allowed++) {
        bool clean = false;
        code = live(k, allowed, &clean);
        HOLDS(k, whole_life, clean && (code == BURIN_E_NONE || code == BURIN_E_NO_MEMORY));
    }
    GIVES(k, whole_life, BURIN_E_NONE, code);
    if (kit_open(k, &w, NULL, NULL)) {
        const burin_request nowhere = {(uint32_t)sizeof nowhere, 9999, 0, 0, 0, NULL};
        (void)burin_artifact_inspect(w.rt, w.provider, &k->model, &none, &w.error);
        GIVES(k, errors_told, BURIN_E_NO_DEVICE, burin_artifact_plan(w.rt, &none, &nowhere, &none, &w.error));
        HOLDS(k, errors_told,
              w.error.code == BURIN_E_NO_DEVICE && strcmp(w.error.operation, "plan") == 0 &&
                  strcmp(w.error.provider, k->provider->name) == 0 && w.error.message[0] != 0);
        (void)burin_provider_describe(w.rt, w.provider, &about, NULL);
        HOLDS(k, descriptor_stable,
              strcmp(about.name, k->provider->name) == 0 && strcmp(about.version, k->provider->version) == 0);
        (void)kit_close(&w);
    }
}
