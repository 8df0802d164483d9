/* null_provider.c - a whole provider to copy: every capability, in one file.
 *
 * Its models are files of its own: "NULLMOD1", elements u32, microseconds of a run u32, then as many weights, f32, all
 * little-endian. A run adds its input to the state and gives state * weight; prefill begins from zeros. Its device is the clock: work
 * is at its end when its time is over, and is done by whoever sees that first. With time 0 it is done in submit.
 * Built alone it is a shared object for `burin conform`:  cc -shared -fPIC -Iinclude examples/null_provider.c -o null.so -lpthread
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "burin/provider.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* few functions need all that they are given */
#ifndef NULL_PROVIDER_ENTRY /* a program that has several providers gives each entry a name of its own */
#define NULL_PROVIDER_ENTRY burin_provider_entry
#endif

enum { HEADER = 16, ELEMENTS = 1 << 20 };
#define CAPABILITY(NAME, name, bit, what) | 1 << (bit)
enum { ALL = 0 BURIN_SESSION_CAPABILITIES(CAPABILITY) };

typedef struct null_model {
    burin_memory *memory;
    const float *weights; /* shared */
    uint32_t elements;
    uint64_t microseconds; /* of a run */
} null_model;

typedef struct null_session {
    null_model *model; /* owned from create_session on */
    burin_memory *memory;
    pthread_mutex_t lock; /* of all below: wait and cancel come from several threads */
    float *input, *state, *output;
    const burin_work *work;
    uint64_t ticket, end;
    uint32_t phase;
    int busy;
} null_session;

/* ---- devices ---- */
static burin_code device_count(void *user, uint32_t *count, burin_error *error) {
    *count = 1;
    return BURIN_E_NONE;
}

/* Its memory is not known, which has_memory 0 says. */
static burin_code device(void *user, uint32_t i, burin_device *out, burin_error *error) {
    *out = (burin_device){out->size, 0, 0, BURIN_CAN_EXACT_COMPLETION, "clock:0", "the clock", "clock"};
    return i > 0 ? burin_fail(error, BURIN_E_NO_DEVICE, "there is one device") : BURIN_E_NONE;
}

/* ---- from a file to a model ---- */
static uint32_t word(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static burin_code inspect(void *user, const burin_source *source, burin_inspection *out, burin_error *error) {
    unsigned char head[HEADER];
    if (out->header_limit < HEADER || source->read(source->user, 0, head, sizeof head) != BURIN_E_NONE) {
        return burin_fail(error, BURIN_E_READ, "the 16 bytes that a null model begins with could not be read");
    }
    const uint32_t n = word(head + 8);
    if (memcmp(head, "NULLMOD1", 8) != 0 || n == 0 || n > ELEMENTS || source->bytes != HEADER + (uint64_t)n * 4) {
        return burin_fail(error, BURIN_E_FORMAT, "no null model, or one whose size is not what it says");
    }
    out->input_count = out->output_count = out->activation_count = 1;
    out->header_bytes = HEADER;
    out->payload_bytes = (uint64_t)n * 4;
    out->capabilities = ALL;
    strcpy(out->format, "null");
    out->words[0] = n, out->words[1] = word(head + 12), out->words[2] = HEADER; /* which is where weights begin */
    return BURIN_E_NONE;
}

static burin_code plan(void *user, const burin_source *source, const burin_inspection *inspection,
                       const burin_request *request, burin_plan_record *out, burin_error *error) {
    const uint64_t bytes = inspection->words[0] * 4;
    if (request->options != NULL && request->options[0] != 0) {
        return burin_fail(error, BURIN_E_ARGUMENT, "the null provider has no options");
    }
    out->model_bytes = sizeof(null_model) + bytes;
    out->session_bytes = sizeof(null_session) + 3 * bytes;
    out->state_bytes = bytes;
    out->capabilities = ALL;
    memcpy(out->words, inspection->words, sizeof out->words);
    return BURIN_E_NONE;
}

static void release_model(void *user, void *model) {
    null_model *m = model;
    m->memory->unshare(m->memory, m->weights);
    m->memory->free(m->memory, m);
}

static burin_code prepare(void *user, const burin_source *source, const burin_plan_record *planned,
                          burin_memory *memory, void **model, burin_prepared *out, burin_error *error) {
    const size_t bytes = (size_t)planned->words[0] * 4;
    null_model *m = memory->alloc(memory, sizeof *m);
    void *weights = memory->alloc(memory, bytes);
    burin_code code = m != NULL && weights != NULL ? source->read(source->user, planned->words[2], weights, bytes)
                                                   : BURIN_E_NO_MEMORY;
    const void *shared = code == BURIN_E_NONE ? memory->share(memory, weights) : NULL;
    if (shared == NULL) {
        memory->free(memory, weights);
        memory->free(memory, m);
        return burin_fail(error, code != BURIN_E_NONE ? code : BURIN_E_NO_MEMORY, "no weights, or no memory for them");
    }
    *m = (null_model){memory, shared, (uint32_t)planned->words[0], planned->words[1]};
    out->admitted = planned->capabilities;
    out->identity = m->elements;
    for (size_t i = 0; i < bytes; i++) { /* FNV-1a */
        out->identity = (out->identity ^ ((const unsigned char *)shared)[i]) * 0x100000001b3u;
    }
    *model = m;
    return BURIN_E_NONE;
}

/* ---- sessions ---- */
static void release_session(void *user, void *session) {
    null_session *s = session;
    release_model(user, s->model);
    (void)pthread_mutex_destroy(&s->lock);
    s->memory->free(s->memory, s);
}

static burin_code create_session(void *user, void *model, burin_memory *memory, void **session, burin_error *error) {
    null_model *m = model;
    null_session *s = memory->alloc(memory, sizeof *s + (size_t)m->elements * 12);
    if (s == NULL || pthread_mutex_init(&s->lock, NULL) != 0) {
        memory->free(memory, s);
        release_model(user, m);
        return burin_fail(error, BURIN_E_NO_MEMORY, "no memory for the session");
    }
    s->model = m;
    s->memory = memory;
    s->input = (float *)(s + 1);
    s->state = s->input + m->elements;
    s->output = s->state + m->elements;
    *session = s;
    return BURIN_E_NONE;
}

static uint64_t session_capabilities(void *user, void *session) {
    return ALL;
}

static burin_code tensor(void *user, void *session, burin_role role, uint32_t i, burin_value *out, burin_error *error) {
    static const char *const names[] = {"x", "y", "layer.sum"};
    const null_session *s = session;
    if (i > 0) {
        return burin_fail(error, BURIN_E_ARGUMENT, "there is one of each");
    }
    const uint32_t n = s->model->elements;
    *out = (burin_value){.name = names[role], .type = "f32", .rank = 1, .dim = {(int64_t)n}, .bytes = (uint64_t)n * 4};
    return BURIN_E_NONE;
}

/* ---- work ---- */
static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Without the lock, since what control calls may come back; busy says that one thread is here. */
static void work_on(null_session *s) {
    const burin_control *control = s->work->control;
    const uint32_t phase = control->cancelled(control) ? BURIN_ENDED : BURIN_DONE;
    for (size_t i = 0; i < s->model->elements && phase == BURIN_DONE; i++) {
        s->state[i] = (s->work->kind == BURIN_PREFILL ? 0.0f : s->state[i]) + s->input[i];
        s->output[i] = s->state[i] * s->model->weights[i];
    }
    if (phase == BURIN_DONE && s->work->observed && control->wants(control, "layer.sum")) {
        burin_value v;
        (void)tensor(NULL, s, BURIN_ACTIVATION, 0, &v, NULL);
        v.data = s->state;
        control->activation(control, &v);
    }
    pthread_mutex_lock(&s->lock);
    s->phase = phase;
    s->busy = 0;
    pthread_mutex_unlock(&s->lock);
}

static burin_code submit(void *user, void *session, const burin_work *work, burin_error *error) {
    null_session *s = session;
    const int at_once = s->model->microseconds == 0;
    memcpy(s->input, work->inputs[0].data, (size_t)s->model->elements * 4);
    pthread_mutex_lock(&s->lock);
    s->work = work;
    s->ticket = work->ticket;
    s->phase = BURIN_PENDING;
    s->busy = at_once;
    s->end = now() + s->model->microseconds * 1000u;
    pthread_mutex_unlock(&s->lock);
    if (at_once) {
        work_on(s);
    }
    return BURIN_E_NONE;
}

static burin_code wait(void *user, void *session, uint64_t ticket, uint64_t nanoseconds, burin_progress *out,
                       burin_error *error) {
    null_session *s = session;
    const struct timespec tick = {0, 50000};
    const uint64_t start = now();
    for (;;) {
        pthread_mutex_lock(&s->lock);
        const int mine = s->phase == BURIN_PENDING && !s->busy && ticket == s->ticket && now() >= s->end;
        s->busy = s->busy || mine;
        out->phase = s->phase;
        out->releasable = s->phase != BURIN_PENDING;
        const int other = ticket != s->ticket;
        pthread_mutex_unlock(&s->lock);
        if (other) {
            return burin_fail(error, BURIN_E_ARGUMENT, "that is not the last ticket");
        } else if (mine) {
            work_on(s);
        } else if (out->phase != BURIN_PENDING || now() - start >= nanoseconds) {
            return BURIN_E_NONE;
        } else {
            nanosleep(&tick, NULL);
        }
    }
}

static burin_code cancel(void *user, void *session, uint64_t ticket, burin_error *error) {
    null_session *s = session;
    pthread_mutex_lock(&s->lock);
    s->end = s->ticket == ticket ? 0 : s->end; /* the next to look ends it, and control->cancelled says how */
    pthread_mutex_unlock(&s->lock);
    return BURIN_E_NONE;
}

static burin_code observe(void *user, void *session, uint32_t i, void *to, size_t bytes, burin_value *out,
                          burin_error *error) {
    memcpy(to, ((null_session *)session)->output, bytes);
    return tensor(user, session, BURIN_OUTPUT, i, out, error);
}

/* ---- state ---- */
/* clang-format off */
static burin_code reset(void *user, void *session, burin_error *error) {
    null_session *s = session;
    return memset(s->state, 0, (size_t)s->model->elements * 4), BURIN_E_NONE;
}
static burin_code save(void *user, void *session, void *to, size_t bytes, burin_error *error) {
    return memcpy(to, ((null_session *)session)->state, bytes), BURIN_E_NONE;
}
static burin_code restore(void *user, void *session, const void *from, size_t bytes, burin_error *error) {
    return memcpy(((null_session *)session)->state, from, bytes), BURIN_E_NONE;
}
static burin_code read_bytes(void *user, uint64_t offset, void *to, size_t n) {
    return memcpy(to, (const char *)user + offset, n), BURIN_E_NONE;
}
/* clang-format on */

/* A model is prepared again, from the weights of the first, which it then shares. */
static burin_code fork_session(void *user, void *session, burin_memory *model_memory, burin_memory *session_memory,
                               void **forked, burin_error *error) {
    const null_session *s = session;
    const burin_source from = {sizeof from, 0, "", 0, (void *)(uintptr_t)s->model->weights, read_bytes};
    const burin_plan_record as = {.words = {s->model->elements, s->model->microseconds}};
    burin_prepared ignored;
    void *model = NULL;
    burin_code code = prepare(user, &from, &as, model_memory, &model, &ignored, error);
    code = code == BURIN_E_NONE ? create_session(user, model, session_memory, forked, error) : code;
    if (code == BURIN_E_NONE) {
        memcpy(((null_session *)*forked)->state, s->state, (size_t)s->model->elements * 4);
    }
    return code;
}

/* ---- samples: the same weights, done at once and in 20 ms ---- */
static const unsigned char samples[2][HEADER + 16] = {
    {"NULLMOD1\4\0\0\0\0\0\0\0\0\0\200\077\0\0\0\100\0\0\0\277\0\0\200\100"}, /* 1, 2, -0.5, 4 */
    {"NULLMOD1\4\0\0\0\x20\x4e\0\0\0\0\200\077\0\0\0\100\0\0\0\277\0\0\200\100"},
};

static burin_code sample(void *user, uint32_t i, burin_source *out) {
    void *bytes = (void *)(uintptr_t)samples[i & 1];
    *out = (burin_source){sizeof *out, 0, i == 0 ? "at once" : "in 20 ms", sizeof samples[0], bytes, read_bytes};
    return i > 1 ? BURIN_E_UNSUPPORTED : BURIN_E_NONE;
}

/* clang-format off */
static const burin_provider table = {
    sizeof table, BURIN_PROVIDER_ABI, "null", "1.0", ALL, NULL, device_count, device, inspect, plan, prepare, release_model,
    create_session, release_session, session_capabilities, tensor, submit, wait, cancel, reset, observe, save, restore,
    fork_session, NULL, sample,
};
/* clang-format on */

BURIN_PROVIDER_EXPORT const burin_provider *NULL_PROVIDER_ENTRY(void);
const burin_provider *NULL_PROVIDER_ENTRY(void) {
    return &table;
}
