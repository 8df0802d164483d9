/* session.h - models run by providers, as an application calls it: one border, whatever the backend behind it.
 *
 *   open a runtime -> register a provider -> inspect a model -> plan it -> prepare it -> create a session -> submit, wait, observe
 *
 * The runtime (the host) owns everything behind its handles. A sentence with a number in brackets is a promise, and
 * docs/PROVIDERS.md names the check that holds the host to it; what a provider promises stands in provider.h.
 * Each call takes a caller's burin_error, which may be NULL, and returns its code.
 * Valid C99 and C++.
 *
 * [S1] Every function may be called from any thread, and from what a provider calls back, but open, and close, which no other
 * call of that runtime may overlap.
 * [S2] No call aborts, exits or prints, whatever its arguments' contents, its handles, the provider's results or the system do.
 * [S3] A code says the same in every version, and the record names the operation, and the provider where it has a part.
 * [S4] No state is kept per thread, and none outside of the runtime.
 */
#ifndef BURIN_SESSION_H
#define BURIN_SESSION_H

#include "burin/provider.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef BURIN_API
#if defined(__GNUC__)
#define BURIN_API __attribute__((visibility("default")))
#else
#define BURIN_API
#endif
#endif

BURIN_API const char *burin_code_text(uint32_t code); /* "the handle is stale ..."; never NULL */
BURIN_API const char *burin_code_name(uint32_t code); /* "STALE_HANDLE" */

/* ---- handles ----
 * Names of things in a runtime, freely copied and compared; all zeros name nothing.
 * [S5] A handle of what is gone is STALE_HANDLE, also where its slot was used again; zeros are NO_HANDLE.
 * [S6] A handle of another runtime, or one used with what belongs to another provider or session, is FOREIGN_HANDLE.
 * [S7] A handle of another kind is WRONG_KIND.
 * [S8] A slot whose generations are used up is not used again.
 * [S9] A call that consumes what a handle names sets the handle to zeros, on success and on failure; a release does on success.
 * [S10] To release zeros is no error, and does nothing. */
typedef struct burin_handle {
    uint64_t owner;
    uint32_t slot, generation;
} burin_handle;
#define BURIN_NO_HANDLE                                                                                                \
    { 0, 0, 0 }

/* X(NAME, name): what handles name */
#define BURIN_HANDLE_KINDS(X)                                                                                          \
    X(PROVIDER, provider)                                                                                              \
    X(ARTIFACT, artifact)                                                                                              \
    X(CONFIG, config)                                                                                                  \
    X(MODEL, model)                                                                                                    \
    X(SESSION, session)                                                                                                \
    X(OUTPUT, output)                                                                                                  \
    X(COMPLETION, completion)
typedef enum burin_handle_kind {
    BURIN_HANDLE_NONE = 0,
#define BURIN_HANDLE_ENUM(NAME, name) BURIN_HANDLE_##NAME,
    BURIN_HANDLE_KINDS(BURIN_HANDLE_ENUM)
#undef BURIN_HANDLE_ENUM
        BURIN_HANDLE_KIND_COUNT
} burin_handle_kind;

/* ---- runtime ---- */
typedef struct burin_runtime burin_runtime;

typedef struct burin_runtime_options {
    uint32_t size;    /* sizeof(burin_runtime_options) */
    uint32_t handles; /* at most at once; a session has 3 */
    /* size 0 frees and returns NULL; old_size is what was asked before (0: new). NULL: the C library's. Called under the
     * runtime's lock. */
    void *(*realloc)(void *user, void *pointer, size_t old_size, size_t size);
    void *user;
    uint64_t memory_limit;     /* bytes of all models and sessions together; 0: none */
    uint64_t header_limit;     /* most bytes that inspect and plan may read of one model */
    uint64_t first_ticket;     /* tickets count up from here: 1 */
    uint32_t first_generation; /* of every slot: 1 */
    uint32_t reserved;
} burin_runtime_options;
#define BURIN_RUNTIME_OPTIONS_INIT                                                                                     \
    { (uint32_t)sizeof(burin_runtime_options), 128, NULL, NULL, 0, (uint64_t)1 << 28, 1, 1, 0 }

/* [S11] open takes the runtime's own memory at once, in one block. */
BURIN_API burin_code burin_runtime_open(const burin_runtime_options *options, burin_runtime **runtime,
                                        burin_error *error);
/* [S12] close refuses with LIVE_HANDLES while anything but providers is live, and then changes nothing.
 * [S13] close gives all memory back. *runtime becomes NULL on success. */
BURIN_API burin_code burin_runtime_close(burin_runtime **runtime, burin_error *error);

typedef struct burin_stats {
    uint32_t size; /* sizeof(burin_stats) */
    uint32_t live[8]; /* handles, by burin_handle_kind */
    uint32_t retired; /* slots */
    uint64_t host_bytes; /* of the runtime itself */
    uint64_t model_bytes, session_bytes, shared_bytes; /* that providers have now; shared: the blocks of share, each once */
    uint64_t peak_bytes, planned_bytes;   /* most of the three together; what live models and sessions have planned */
    uint64_t allocations;                 /* calls of alloc that gave memory, ever */
    uint64_t late_allocations;            /* asked for, and refused, after a session was made */
    uint64_t leaked_model_bytes, leaked_session_bytes; /* that providers kept; the host has freed them */
    uint64_t header_reads, payload_reads; /* bytes read by inspect and plan, and by prepare */
    uint64_t breaches;                    /* of contract, which the host has seen and put right */
    uint64_t tickets;                     /* given out */
} burin_stats;
/* [S14] What is live is counted by kind, and bytes as providers asked for them. */
BURIN_API burin_code burin_runtime_stats(burin_runtime *runtime, burin_stats *stats, burin_error *error);

/* ---- providers ----
 * [S15] A provider is checked whole before it is taken: size, version, name, required members, and that each optional member is
 * there exactly where its bit is. [S16] Of the versions both are named where they differ.
 * [S17] The host keeps its own copy: what happens to the table later has no effect.
 * [S18] A table of a newer, larger kind of the same version is taken as far as it is known. */
BURIN_API burin_code burin_provider_register(burin_runtime *runtime, const burin_provider *provider, burin_handle *handle,
                                             burin_error *error);
/* From a shared object. [S19] What cannot be loaded, or has no entry, is NOT_LOADED. It stays loaded until the process ends. */
BURIN_API burin_code burin_provider_load(burin_runtime *runtime, const char *path, burin_handle *handle,
                                         burin_error *error);
/* The table of a shared object, for who does not register it himself. */
BURIN_API burin_code burin_provider_table(const char *path, const burin_provider **table, burin_error *error);
/* [S20] close refuses with LIVE_HANDLES while anything of the provider is live, and then leaves the handle. */
BURIN_API burin_code burin_provider_close(burin_runtime *runtime, burin_handle *provider, burin_error *error);
/* The i-th provider that is built in, which is registered like any other; NULL from their count on. */
BURIN_API const burin_provider *burin_provider_builtin(size_t i);

typedef struct burin_descriptor {
    uint32_t size; /* sizeof(burin_descriptor) */
    uint32_t abi;
    uint64_t capabilities; /* of its sessions, at most */
    char name[32], version[32];
} burin_descriptor;
/* [S21] describe fails for its arguments only. */
BURIN_API burin_code burin_provider_describe(burin_runtime *runtime, burin_handle provider, burin_descriptor *out,
                                             burin_error *error);
/* [S22] A failure to look for devices is the code DEVICES, and no count of 0. */
BURIN_API burin_code burin_device_count(burin_runtime *runtime, burin_handle provider, uint32_t *count,
                                        burin_error *error);
/* [S23] Bits that this version does not know are masked off, here and in capabilities of sessions. */
BURIN_API burin_code burin_device_get(burin_runtime *runtime, burin_handle provider, uint32_t i, burin_device *out,
                                      burin_error *error);

/* ---- from a file to a configuration ----
 * [S24] Until prepare a read beyond the headers, or the limit, fails, and no memory is given to a provider. */
BURIN_API burin_code burin_artifact_inspect(burin_runtime *runtime, burin_handle provider, const burin_source *source,
                                            burin_handle *artifact, burin_error *error);
BURIN_API burin_code burin_artifact_get(burin_runtime *runtime, burin_handle artifact, burin_inspection *out,
                                        burin_error *error);
BURIN_API burin_code burin_artifact_release(burin_runtime *runtime, burin_handle *artifact, burin_error *error);
/* Selection and plan at once, in one handle. [S25] Checked in this order, and the first that fails is told: the device is there, it
 * has what is required, sessions have what is required, the provider's plan, the plan has what is required, the
 * request's limit of memory. [S26] A required capability that is missing is told with both sets.
 * Consumes the artifact. */
BURIN_API burin_code burin_artifact_plan(burin_runtime *runtime, burin_handle *artifact, const burin_request *request,
                                         burin_handle *config, burin_error *error);
BURIN_API burin_code burin_config_get(burin_runtime *runtime, burin_handle config, burin_plan_record *out,
                                      burin_error *error);
BURIN_API burin_code burin_config_release(burin_runtime *runtime, burin_handle *config, burin_error *error);
/* The configuration as JSON, which begins {"burin_config":1. *bytes is what it needs with its final 0, also where text has less
 * room or is NULL (BUFFER_SIZE). */
BURIN_API burin_code burin_config_write(burin_runtime *runtime, burin_handle config, char *text, size_t room, size_t *bytes,
                                        burin_error *error);
/* Inspects and plans the source as the text says. [S27] A written configuration, read again, is the same.
 * [S28] A text that is damaged, of another version or another provider, is CONFIG; a model that needs other memory or has
 * other capabilities than the text says is CONFIG_DIFFERS. */
BURIN_API burin_code burin_config_read(burin_runtime *runtime, burin_handle provider, const char *text, size_t bytes,
                                       const burin_source *source, burin_handle *config, burin_error *error);

/* ---- models and sessions ----
 * Consumes the configuration. [S29] What model and session need is compared with the runtime's limit before weights are read.
 * [S30] A provider is given no more than it has planned; one that took less is refused with MEMORY_PLAN.
 * [S31] Admitted capabilities that are not those of the plan are CAPABILITY_MISMATCH, with both sets. */
BURIN_API burin_code burin_model_prepare(burin_runtime *runtime, burin_handle *config, burin_handle *model,
                                         burin_error *error);
typedef struct burin_model_facts {
    uint32_t size; /* sizeof(burin_model_facts) */
    uint32_t input_count, output_count, activation_count;
    uint64_t admitted, identity, model_bytes, session_bytes, state_bytes;
} burin_model_facts;
/* Of a model, or of a session. */
BURIN_API burin_code burin_model_get(burin_runtime *runtime, burin_handle model, burin_model_facts *out,
                                     burin_error *error);
BURIN_API burin_code burin_model_release(burin_runtime *runtime, burin_handle *model, burin_error *error);
/* Consumes the model: a session is the one owner of executable and state. [S32] A session whose capabilities are not those
 * admitted is not given out: CAPABILITY_MISMATCH, with both sets, in the provider's words where it has some.
 * [S33] They are compared again before each operation. */
BURIN_API burin_code burin_session_create(burin_runtime *runtime, burin_handle *model, burin_handle *session,
                                          burin_error *error);
BURIN_API burin_code burin_session_tensor(burin_runtime *runtime, burin_handle session, burin_role role, uint32_t i,
                                          burin_value *out, burin_error *error);
/* [S34] While another call is inside the session it is BUSY, and nothing is freed. [S35] Work that is not at its end is cancelled, if
 * it can be, and waited for; never freed under it. */
BURIN_API burin_code burin_session_release(burin_runtime *runtime, burin_handle *session, burin_error *error);

/* ---- submissions ---- */
typedef struct burin_submit_options {
    uint32_t size; /* sizeof(burin_submit_options) */
    uint32_t kind; /* burin_kind */
    const burin_value *inputs; /* in the model's order; of types, shapes and bytes of the model's, or within its bounds */
    uint32_t input_count;
    uint32_t selector_count;
    /* Activations that are given to `activation`, which copies what it wants; they live until the submission is resolved. */
    const burin_selector *selectors;
    void (*activation)(void *user, const burin_value *value);
    /* Called by the provider now and then while it works; NULL: not. */
    void (*progress)(void *user);
    void *user;
} burin_submit_options;
#define BURIN_SUBMIT_OPTIONS_INIT                                                                                      \
    { (uint32_t)sizeof(burin_submit_options), 0, NULL, 0, 0, NULL, NULL, NULL, NULL }

typedef struct burin_submission {
    burin_handle output, completion;
    uint64_t ticket; /* [S36] No two submissions of a runtime have the same ticket. */
} burin_submission;

/* [S37] A session has at most one unresolved submission: another is BUSY, from any thread and from callbacks.
 * [S38] Inputs are taken: the caller's memory is its own again. [S39] Inputs of another count, type, shape or size are INPUT, before
 * the provider sees them. [S40] Kinds and activations that the session's capabilities lack are SESSION_CAPABILITY.
 * [S41] No memory is given to providers, nor taken by the host, once a session is made.
 * [S42] With a new submission the handles of the one before are stale. */
BURIN_API burin_code burin_session_submit(burin_runtime *runtime, burin_handle session, const burin_submit_options *options,
                                          burin_submission *submission, burin_error *error);

typedef enum burin_disposition {
    BURIN_UNRESOLVED = 0,
    BURIN_COMMITTED = 1, /* the output is there */
    BURIN_FAILURE = 2,   /* code says why */
    BURIN_ABANDONED = 3  /* cancelled: there will be no output */
} burin_disposition;
typedef struct burin_outcome {
    uint32_t size; /* sizeof(burin_outcome) */
    uint32_t disposition;
    uint32_t code;
    uint32_t releasable; /* not 0: nothing of the session is in use by this work; told apart from how it ended */
} burin_outcome;

/* A completion is about its own submission alone. [S43] An outcome once told stays: later calls tell the same.
 * [S44] A failure of the work is the outcome's code, and no error of the call.
 * [S45] A provider that goes back on what it said is counted as a breach, and the first word holds.
 * poll does not wait; wait does. */
BURIN_API burin_code burin_completion_poll(burin_runtime *runtime, burin_handle completion, burin_outcome *outcome,
                                           burin_error *error);
BURIN_API burin_code burin_completion_wait(burin_runtime *runtime, burin_handle completion, burin_outcome *outcome,
                                           burin_error *error);
typedef enum burin_deadline_mode {
    BURIN_NATIVE_CANCEL = 1, /* cancelled, and at its end, on return */
    BURIN_QUARANTINE = 2     /* left to the host: the session is BUSY until the work is at its end */
} burin_deadline_mode;
/* Waits at most so long, then ends it by the mode. Consumes the completion. [S46] A time of 0, or a mode that is none, is ARGUMENT;
 * NATIVE_CANCEL without the capability is SESSION_CAPABILITY; neither waits, and the completion stays.
 * [S47] After the time is over the outcome is ABANDONED, whatever the work comes to. */
BURIN_API burin_code burin_completion_wait_until(burin_runtime *runtime, burin_handle *completion, uint64_t nanoseconds,
                                                 burin_deadline_mode mode, burin_outcome *outcome, burin_error *error);
/* [S48] Cancelling is safe at any time and from any thread. [S49] The first disposition that is recorded holds: where the outcome is
 * there already, cancel is ALREADY_RESOLVED; where cancel was first, the output is never given out. */
BURIN_API burin_code burin_completion_cancel(burin_runtime *runtime, burin_handle completion, burin_error *error);
/* The same of whatever is unresolved in the session; none: ALREADY_RESOLVED. */
BURIN_API burin_code burin_session_cancel(burin_runtime *runtime, burin_handle session, burin_error *error);
/* [S50] To release a completion of unfinished work abandons and quarantines it; nothing is freed under it. */
BURIN_API burin_code burin_completion_release(burin_runtime *runtime, burin_handle *completion, burin_error *error);

/* Copies output i of a committed submission. value: type and shape as they are in this run, data is `to`. Needs output_observation.
 * [S51] Before the outcome it is NOT_COMPLETE, of what failed or was abandoned ABANDONED.
 * [S52] room must hold the output: less is BUFFER_SIZE with the bytes needed, and nothing is written. */
BURIN_API burin_code burin_output_observe(burin_runtime *runtime, burin_handle output, uint32_t i, void *to, size_t room,
                                          burin_value *value, burin_error *error);

/* submit, wait and observe all outputs, in one call. outputs: as many as the model has; data and bytes: where to, and its room. */
BURIN_API burin_code burin_session_run(burin_runtime *runtime, burin_handle session, const burin_value *inputs,
                                       uint32_t input_count, const burin_value *outputs, uint32_t output_count,
                                       burin_error *error);

/* ---- state ----
 * All of them are BUSY while a submission is unresolved.
 * [S53] After a submission that failed or was abandoned a session that has state is STATE_LOST until reset or restore. */
BURIN_API burin_code burin_session_reset(burin_runtime *runtime, burin_handle session, burin_error *error);
/* What save writes. [S54] How much save writes is known before a session is made, from its plan, and is the same for all states. */
BURIN_API burin_code burin_session_state_bytes(burin_runtime *runtime, burin_handle session, uint64_t *bytes,
                                               burin_error *error);
/* [S55] Exactly so many bytes, no others are written. */
BURIN_API burin_code burin_session_save(burin_runtime *runtime, burin_handle session, void *to, size_t bytes,
                                        burin_error *error);
/* [S56] A state with any byte damaged, cut short or lengthened is refused as STATE_DAMAGED or BUFFER_SIZE, one of another model,
 * provider or version as STATE_OTHER; before the provider sees it, and the session is as it was. */
BURIN_API burin_code burin_session_restore(burin_runtime *runtime, burin_handle session, const void *from, size_t bytes,
                                           burin_error *error);
/* [S57] A forked session is counted, limited and released as any other. */
BURIN_API burin_code burin_session_fork(burin_runtime *runtime, burin_handle session, burin_handle *forked,
                                        burin_error *error);

#ifdef __cplusplus
}
#endif
#endif
