/* kit.h - what the files of room `conform` share: the checks being filled in,
 * and short ways to a world, a model, a session. */
#ifndef BURIN_CONFORM_KIT_H
#define BURIN_CONFORM_KIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "burin/conform.h"

typedef enum kit_check {
#define CHECK(name, needs, promises, text) KIT_##name,
#include "conform/checks.def"
#undef CHECK
    KIT_CHECK_COUNT
} kit_check;

typedef struct kit {
    const burin_provider *provider;
    burin_source model, slow; /* slow.read NULL: there is none */
    burin_check *checks;
    pthread_mutex_t lock; /* of checks */
    uint64_t admitted;
    uint64_t breaches, leaked, late; /* summed over all worlds */
} kit;

/* Holds: the check passes, unless it failed before. */
void kit_note(kit *k, kit_check check, bool holds, const char *what, const char *file, int line);
void kit_note_code(kit *k, kit_check check, burin_code is, burin_code wanted, const char *file, int line);
/* Not to be judged: what it is about is not there. */
void kit_skip(kit *k, kit_check check, const char *why);
#define SKIP(k, name, why) kit_skip((k), KIT_##name, (why))
#define HOLDS(k, name, what) kit_note((k), KIT_##name, (what), #what, __FILE__, __LINE__)
#define GIVES(k, name, code, call) kit_note_code((k), KIT_##name, (call), (code), __FILE__, __LINE__)

/* ---- memory that is counted, and may fail ---- */
typedef struct kit_ledger {
    pthread_mutex_t lock;
    long live, left, calls; /* blocks alive; allocations still allowed; made */
} kit_ledger;

/* A runtime with the provider in it. */
typedef struct kit_world {
    kit *k;
    kit_ledger ledger;
    burin_runtime_options options;
    burin_runtime *rt;
    burin_handle provider;
    burin_error error;
} kit_world;

/* options NULL: the defaults. table NULL: the provider's. false: it could not
 * be opened. */
bool kit_open(kit *k, kit_world *w, const burin_runtime_options *options, const burin_provider *table);
/* Closes, after sessions are released; false: something was live, or memory is.
 */
bool kit_close(kit_world *w);
burin_stats kit_stats(kit_world *w);

burin_code kit_config(kit_world *w, const burin_source *source, burin_handle *config);
burin_code kit_model(kit_world *w, const burin_source *source, burin_handle *model);
burin_code kit_session(kit_world *w, const burin_source *source, burin_handle *session);

/* ---- inputs and outputs of a session: buffers of the kit's ---- */
typedef struct kit_io {
    burin_value *inputs, *outputs;
    uint32_t input_count, output_count;
    size_t output_bytes; /* of all */
    unsigned char *memory, *out;
} kit_io;
bool kit_io_make(kit_world *w, burin_handle session, kit_io *io);
void kit_io_free(kit_io *io);
/* Contents that a seed makes: small numbers. */
void kit_io_fill(kit_io *io, unsigned seed);
burin_submit_options kit_io_submit(const kit_io *io);
/* One run with that seed's inputs; outputs are in io->out, one after the other.
 */
burin_code kit_run(kit_world *w, burin_handle session, kit_io *io, unsigned seed);
/* Runs with seeds from..from+n-1, and the outputs of the last into `to`
 * (io->output_bytes of them). */
burin_code kit_runs(kit_world *w, burin_handle session, kit_io *io, unsigned from, unsigned n, void *to);
burin_code kit_submit(kit_world *w, burin_handle session, const kit_io *io, burin_submission *s);
/* 0: committed. */
burin_code kit_wait(kit_world *w, const burin_submission *s, burin_outcome *outcome);

/* A world with two sessions of the model, and room for their outputs; free is
 * to be called in any case. */
typedef struct kit_pair {
    kit_world w;
    burin_handle a, b;
    kit_io io;
    unsigned char *one, *two;
} kit_pair;
bool kit_pair_make(kit *k, kit_pair *p, const burin_runtime_options *o);
bool kit_pair_same(const kit_pair *p); /* one and two */
void kit_pair_free(kit_pair *p);

/* A source that reads another one's bytes but for what is changed. */
typedef struct kit_changed {
    burin_source source; /* to be given */
    const burin_source *from;
    uint64_t at;     /* that byte */
    uint8_t with;    /* is xored with this */
    long reads_left; /* reads that succeed; negative: all */
} kit_changed;
void kit_change(kit_changed *c, const burin_source *from);

void kit_sleep(unsigned milliseconds);

/* ---- the groups of checks ---- */
void kit_check_registration(kit *k);
void kit_check_devices(kit *k);
void kit_check_inspect(kit *k);
void kit_check_plan(kit *k);
void kit_check_prepare(kit *k);
void kit_check_sessions(kit *k);
void kit_check_handles(kit *k);
void kit_check_runs(kit *k);
void kit_check_busy(kit *k);
void kit_check_outputs(kit *k);
void kit_check_state(kit *k);
void kit_check_forks(kit *k);
void kit_check_activations(kit *k);
void kit_check_slow(kit *k);
void kit_check_raw(kit *k);
void kit_check_whole(kit *k);
#endif
