/* kit.c - the kit: its table of checks, its worlds, and the order in which
 * everything is tried.
 *
 * Takes a provider's table and models. Gives a verdict for each check: one that
 * was claimed and not reached has failed.
 */
#include <stdio.h>
#include <time.h>

#include "conform/kit.h"

#define ALWAYS (uint64_t)0 |
#define SLOW ((uint64_t)1 << 32) |
#define OBSERVE (uint64_t) BURIN_CAN_OUTPUT_OBSERVATION |
#define CACHE (uint64_t) BURIN_CAN_PERSISTENT_CACHE |
#define COPY (uint64_t) BURIN_CAN_STATE_COPY |
#define FORK (uint64_t) BURIN_CAN_STATE_FORK |
#define ACTIVATION (uint64_t) BURIN_CAN_ACTIVATION_INSPECTION |
#define SEQUENCE (uint64_t) BURIN_CAN_SEQUENCE |
#define CANCEL (uint64_t) BURIN_CAN_NATIVE_CANCEL |

static const struct {
    const char *name, *promises, *text;
    uint64_t needs;
} rows[KIT_CHECK_COUNT] = {
#define CHECK(name, needs, promises, text) {#name, promises, text, needs 0},
#include "conform/checks.def"
#undef CHECK
};

size_t burin_conform_count(void) {
    return KIT_CHECK_COUNT;
}

void kit_note(kit *k, kit_check check, bool holds, const char *what, const char *file, int line) {
    burin_check *c = &k->checks[check];
    pthread_mutex_lock(&k->lock);
    if (!holds && c->verdict != BURIN_VERDICT_FAIL) {
        const char *name = strrchr(file, '/');
        snprintf(c->why, sizeof c->why, "%s (%s:%d)", what, name != NULL ? name + 1 : file, line);
    }
    c->verdict = !holds || c->verdict == BURIN_VERDICT_FAIL ? BURIN_VERDICT_FAIL : BURIN_VERDICT_PASS;
    pthread_mutex_unlock(&k->lock);
}

void kit_note_code(kit *k, kit_check check, burin_code is, burin_code wanted, const char *file, int line) {
    char text[120];
    snprintf(text, sizeof text, "%s, not %s", burin_code_name((uint32_t)is), burin_code_name((uint32_t)wanted));
    kit_note(k, check, is == wanted, text, file, line);
}

void kit_skip(kit *k, kit_check check, const char *why) {
    snprintf(k->checks[check].why, sizeof k->checks[check].why, "%s", why);
}

/* ---- worlds ---- */

static void *counted(void *user, void *pointer, size_t old_size, size_t size) {
    kit_ledger *l = user;
    void *result = NULL;
    (void)old_size;
    pthread_mutex_lock(&l->lock);
    if (size == 0) {
        l->live -= pointer != NULL;
        free(pointer);
    } else if (l->left-- > 0) {
        result = realloc(pointer, size);
        l->live += pointer == NULL && result != NULL;
        l->calls++;
    }
    pthread_mutex_unlock(&l->lock);
    return result;
}

bool kit_open(kit *k, kit_world *w, const burin_runtime_options *options, const burin_provider *table) {
    const burin_runtime_options defaults = BURIN_RUNTIME_OPTIONS_INIT;
    const burin_error none = BURIN_ERROR_INIT;
    memset(w, 0, sizeof *w);
    w->k = k;
    w->error = none;
    w->options = options != NULL ? *options : defaults;
    pthread_mutex_init(&w->ledger.lock, NULL);
    w->ledger.left = 1L << 30;
    w->options.realloc = counted;
    w->options.user = &w->ledger;
    if (burin_runtime_open(&w->options, &w->rt, &w->error) == BURIN_E_NONE &&
        burin_provider_register(w->rt, table != NULL ? table : k->provider, &w->provider, &w->error) == BURIN_E_NONE) {
        return true;
    }
    (void)kit_close(w);
    return false;
}

burin_stats kit_stats(kit_world *w) {
    burin_stats s = {.size = sizeof s};
    (void)burin_runtime_stats(w->rt, &s, NULL);
    return s;
}

bool kit_close(kit_world *w) {
    bool good = true;
    if (w->rt != NULL) {
        const burin_stats s = kit_stats(w);
        w->k->breaches += s.breaches;
        w->k->leaked += s.leaked_model_bytes + s.leaked_session_bytes;
        w->k->late += s.late_allocations;
        good = burin_runtime_close(&w->rt, &w->error) == BURIN_E_NONE && w->ledger.live == 0;
    }
    pthread_mutex_destroy(&w->ledger.lock);
    return good;
}

burin_code kit_config(kit_world *w, const burin_source *source, burin_handle *config) {
    burin_handle artifact = BURIN_NO_HANDLE;
    burin_code code = burin_artifact_inspect(w->rt, w->provider, source, &artifact, &w->error);
    return code == BURIN_E_NONE ? burin_artifact_plan(w->rt, &artifact, NULL, config, &w->error) : code;
}

burin_code kit_model(kit_world *w, const burin_source *source, burin_handle *model) {
    burin_handle config = BURIN_NO_HANDLE;
    burin_code code = kit_config(w, source, &config);
    return code == BURIN_E_NONE ? burin_model_prepare(w->rt, &config, model, &w->error) : code;
}

burin_code kit_session(kit_world *w, const burin_source *source, burin_handle *session) {
    burin_handle model = BURIN_NO_HANDLE;
    burin_code code = kit_model(w, source, &model);
    return code == BURIN_E_NONE ? burin_session_create(w->rt, &model, session, &w->error) : code;
}

/* ---- inputs and outputs ---- */

static uint32_t mix(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void kit_io_fill(kit_io *io, unsigned seed) {
    uint32_t state = seed * 7919u + 1;
    for (uint32_t i = 0; i < io->input_count; i++) {
        unsigned char *at = (unsigned char *)(uintptr_t)io->inputs[i].data;
        const bool real = strcmp(io->inputs[i].type, "f32") == 0;
        const bool narrow = io->inputs[i].type[1] == '8';
        for (uint64_t b = 0; b < io->inputs[i].bytes; b += real ? 4 : 1) {
            const float v = (float)(mix(&state) % 17) / 8.0f - 1.0f;
            if (real && b + 4 <= io->inputs[i].bytes) {
                memcpy(at + b, &v, 4);
            } else {
                at[b] = (unsigned char)(narrow ? mix(&state) : b % 8 == 0 ? mix(&state) % 2 : 0);
            }
        }
    }
}

bool kit_io_make(kit_world *w, burin_handle session, kit_io *io) {
    burin_model_facts f = {.size = sizeof f};
    uint64_t in = 0, out = 0;
    memset(io, 0, sizeof *io);
    if (burin_model_get(w->rt, session, &f, &w->error) != BURIN_E_NONE) {
        return false;
    }
    io->input_count = f.input_count;
    io->output_count = f.output_count;
    io->inputs = calloc(f.input_count + 1, sizeof *io->inputs);
    io->outputs = calloc(f.output_count + 1, sizeof *io->outputs);
    bool good = io->inputs != NULL && io->outputs != NULL;
    for (uint32_t i = 0; good && i < f.input_count; i++) {
        good = burin_session_tensor(w->rt, session, BURIN_INPUT, i, &io->inputs[i], &w->error) == BURIN_E_NONE &&
               io->inputs[i].type != NULL;
        in += (io->inputs[i].bytes + 63) / 64 * 64;
    }
    for (uint32_t i = 0; good && i < f.output_count; i++) {
        good = burin_session_tensor(w->rt, session, BURIN_OUTPUT, i, &io->outputs[i], &w->error) == BURIN_E_NONE;
        out += io->outputs[i].bytes;
    }
    io->memory = good ? calloc((size_t)(in + 1), 1) : NULL;
    io->out = good ? calloc((size_t)(out + 1), 1) : NULL;
    io->output_bytes = (size_t)out;
    if (io->memory == NULL || io->out == NULL) {
        kit_io_free(io);
        return false;
    }
    in = out = 0;
    for (uint32_t i = 0; i < f.input_count; i++) {
        io->inputs[i].data = io->memory + in;
        in += (io->inputs[i].bytes + 63) / 64 * 64;
    }
    for (uint32_t i = 0; i < f.output_count; i++) {
        io->outputs[i].data = io->out + out;
        out += io->outputs[i].bytes;
    }
    kit_io_fill(io, 1);
    return true;
}

void kit_io_free(kit_io *io) {
    free(io->inputs);
    free(io->outputs);
    free(io->memory);
    free(io->out);
    memset(io, 0, sizeof *io);
}

burin_submit_options kit_io_submit(const kit_io *io) {
    burin_submit_options o = BURIN_SUBMIT_OPTIONS_INIT;
    o.inputs = io->inputs;
    o.input_count = io->input_count;
    return o;
}

burin_code kit_submit(kit_world *w, burin_handle session, const kit_io *io, burin_submission *s) {
    const burin_submit_options o = kit_io_submit(io);
    return burin_session_submit(w->rt, session, &o, s, &w->error);
}

burin_code kit_wait(kit_world *w, const burin_submission *s, burin_outcome *outcome) {
    *outcome = (burin_outcome){.size = sizeof *outcome};
    burin_code code = burin_completion_wait(w->rt, s->completion, outcome, &w->error);
    return code != BURIN_E_NONE ? code : (burin_code)outcome->code;
}

burin_code kit_run(kit_world *w, burin_handle session, kit_io *io, unsigned seed) {
    kit_io_fill(io, seed);
    if ((w->k->admitted & BURIN_CAN_OUTPUT_OBSERVATION) != 0) {
        return burin_session_run(w->rt, session, io->inputs, io->input_count, io->outputs, io->output_count, &w->error);
    }
    burin_submission s;
    burin_outcome outcome;
    burin_code code = kit_submit(w, session, io, &s);
    return code == BURIN_E_NONE ? kit_wait(w, &s, &outcome) : code;
}

burin_code kit_runs(kit_world *w, burin_handle session, kit_io *io, unsigned from, unsigned n, void *to) {
    burin_code code = BURIN_E_NONE;
    for (unsigned i = 0; i < n && code == BURIN_E_NONE; i++) {
        code = kit_run(w, session, io, from + i);
    }
    memcpy(to, io->out, io->output_bytes);
    return code;
}

bool kit_pair_make(kit *k, kit_pair *p, const burin_runtime_options *o) {
    memset(p, 0, sizeof *p);
    if (!kit_open(k, &p->w, o, NULL)) {
        return false;
    }
    if (kit_session(&p->w, &k->model, &p->a) == BURIN_E_NONE && kit_session(&p->w, &k->model, &p->b) == BURIN_E_NONE &&
        kit_io_make(&p->w, p->a, &p->io)) {
        p->one = calloc(p->io.output_bytes + 1, 1);
        p->two = calloc(p->io.output_bytes + 1, 1);
    }
    return p->one != NULL && p->two != NULL;
}

bool kit_pair_same(const kit_pair *p) {
    return memcmp(p->one, p->two, p->io.output_bytes) == 0;
}

void kit_pair_free(kit_pair *p) {
    if (p->w.k == NULL) {
        return;
    }
    free(p->one);
    free(p->two);
    kit_io_free(&p->io);
    (void)burin_session_release(p->w.rt, &p->a, NULL);
    (void)burin_session_release(p->w.rt, &p->b, NULL);
    if (p->w.rt != NULL) {
        (void)kit_close(&p->w);
    }
}

static burin_code read_changed(void *user, uint64_t offset, void *to, size_t n) {
    kit_changed *c = user;
    if (c->reads_left >= 0 && c->reads_left-- == 0) {
        return BURIN_E_READ;
    }
    burin_code code = c->from->read(c->from->user, offset, to, n);
    if (code == BURIN_E_NONE && c->at >= offset && c->at - offset < n) {
        ((unsigned char *)to)[c->at - offset] ^= c->with;
    }
    return code;
}

void kit_change(kit_changed *c, const burin_source *from) {
    *c = (kit_changed){.source = *from, .from = from, .at = 0, .with = 0, .reads_left = -1};
    c->source.user = c;
    c->source.read = read_changed;
}

void kit_sleep(unsigned milliseconds) {
    const struct timespec t = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

/* ---- the whole ---- */

/* The capabilities of the model's sessions: what is claimed. */
static void look_at_claims(kit *k) {
    kit_world w;
    burin_handle config = BURIN_NO_HANDLE;
    burin_plan_record plan = {.size = sizeof plan};
    if (kit_open(k, &w, NULL, NULL)) {
        if (kit_config(&w, &k->model, &config) == BURIN_E_NONE) {
            (void)burin_config_get(w.rt, config, &plan, NULL);
            (void)burin_config_release(w.rt, &config, NULL);
        }
        k->admitted = plan.capabilities;
        (void)kit_close(&w);
    }
}

static void judge_unreached(kit *k) {
    const uint64_t claimed = k->admitted | (k->slow.read != NULL ? (uint64_t)1 << 32 : 0);
    for (size_t i = 0; i < KIT_CHECK_COUNT; i++) {
        burin_check *c = &k->checks[i];
        if (c->verdict == BURIN_VERDICT_NOT_CLAIMED && (rows[i].needs & ~claimed) == 0 && c->why[0] == 0) {
            c->verdict = BURIN_VERDICT_FAIL;
            snprintf(c->why, sizeof c->why, "not reached: something before it failed");
        }
    }
}

burin_code burin_conform(const burin_provider *provider, const burin_conform_options *options, burin_check *checks,
                         burin_error *error) {
    static void (*const groups[])(kit *) = {
        kit_check_registration, kit_check_devices,  kit_check_inspect, kit_check_plan,
        kit_check_prepare,      kit_check_sessions, kit_check_handles, kit_check_runs,
        kit_check_busy,         kit_check_outputs,  kit_check_state,   kit_check_forks,
        kit_check_activations,  kit_check_slow,     kit_check_raw,     kit_check_whole,
    };
    kit k = {.provider = provider, .checks = checks};
    if (provider == NULL || checks == NULL || (options != NULL && options->size < sizeof *options)) {
        return burin_fail(error, BURIN_E_ARGUMENT, "a provider, and room for its checks");
    }
    for (size_t i = 0; i < KIT_CHECK_COUNT; i++) {
        checks[i] = (burin_check){
            .number = (uint32_t)i + 1, .name = rows[i].name, .promises = rows[i].promises, .text = rows[i].text};
    }
    if (options != NULL && options->model != NULL) {
        k.model = *options->model;
    } else if (provider->sample == NULL || provider->sample(provider->user, 0, &k.model) != BURIN_E_NONE) {
        return burin_fail(error, BURIN_E_ARGUMENT, "the provider has no sample: a model is needed");
    }
    if (options != NULL && options->slow != NULL) {
        k.slow = *options->slow;
    } else if (provider->sample == NULL || provider->sample(provider->user, 1, &k.slow) != BURIN_E_NONE) {
        k.slow.read = NULL;
    }
    pthread_mutex_init(&k.lock, NULL);
    look_at_claims(&k);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        groups[i](&k);
    }
    HOLDS(&k, no_breach, k.breaches == 0);
    HOLDS(&k, no_leak, k.leaked == 0);
    HOLDS(&k, no_late, k.late == 0);
    judge_unreached(&k);
    pthread_mutex_destroy(&k.lock);
    return BURIN_E_NONE;
}
