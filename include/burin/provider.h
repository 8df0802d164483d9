/* provider.h - the provider contract, as a backend implements it. session.h is what an application calls.
 *
 * A provider is one const table of functions. Between it and the application stands the host (the runtime of session.h):
 * it owns the handles, checks every call, keeps the memory, and calls the table. A sentence with a number in brackets is a promise,
 * and docs/PROVIDERS.md names the check of `burin conform` that holds a provider, or the host, to it.
 * Every struct that may grow has its size first; fields are only ever added at the end. Valid C99 and C++.
 */
#ifndef BURIN_PROVIDER_H
#define BURIN_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BURIN_PROVIDER_ABI 1u

/* ---- codes: domain * 256 + number; neither ever changes its meaning ---- */
/* X(name, domain, number, text) */
#define BURIN_CODES(X)                                                                                                 \
    X(ARGUMENT, 1, 1, "an argument is missing or out of range")                                                        \
    X(NO_HANDLE, 1, 2, "no handle was given: it was consumed, or never made")                                          \
    X(STALE_HANDLE, 1, 3, "the handle is stale: what it named is gone")                                                \
    X(FOREIGN_HANDLE, 1, 4, "the handle is of another runtime, or of another provider")                                \
    X(WRONG_KIND, 1, 5, "the handle names something of another kind")                                                  \
    X(BUSY, 1, 6, "the session has an unresolved submission, or another call is inside it")                            \
    X(LIVE_HANDLES, 1, 7, "handles are live: release them first")                                                      \
    X(NO_SLOT, 1, 8, "all handles that the runtime was opened with are in use or retired")                             \
    X(BUFFER_SIZE, 1, 9, "the buffer has another size than is needed")                                                 \
    X(STRUCT_SIZE, 2, 1, "a struct is smaller than the contract's")                                                    \
    X(ABI, 2, 2, "the provider is made for another version of the contract")                                           \
    X(MISSING_MEMBER, 2, 3, "a required member of the provider is missing")                                            \
    X(CAPABILITY_MEMBER, 2, 4, "an optional member and its capability bit do not agree")                               \
    X(NAME, 2, 5, "the provider's name or version is missing, too long, or has other characters than a-z 0-9 _ - .")   \
    X(DUPLICATE, 2, 6, "a provider of that name is registered")                                                        \
    X(NOT_LOADED, 2, 7, "the shared object could not be loaded, or has no entry")                                      \
    X(READ, 3, 1, "the model could not be read")                                                                       \
    X(FORMAT, 3, 2, "the model is of a format, or has a part, that the provider does not take")                        \
    X(LIMIT, 3, 3, "the model's headers are larger than the limit")                                                    \
    X(PAYLOAD_READ, 3, 4, "weights were to be read before the model is prepared")                                      \
    X(NO_DEVICE, 4, 1, "there is no such device")                                                                      \
    X(DEVICE_CAPABILITY, 4, 2, "the device lacks a required capability")                                               \
    X(SESSION_CAPABILITY, 4, 3, "sessions of this model lack a required capability")                                   \
    X(CAPABILITY_MISMATCH, 4, 4, "the session's capabilities are not those that were admitted")                        \
    X(CONFIG, 4, 5, "the configuration is not well-formed, or of another provider or version")                         \
    X(CONFIG_DIFFERS, 4, 6, "the model is not the one that the configuration was made for")                            \
    X(UNSUPPORTED, 4, 7, "the provider does not offer this")                                                           \
    X(NO_MEMORY, 5, 1, "the allocator gave nothing")                                                                   \
    X(MEMORY_LIMIT, 5, 2, "more memory is needed than the limit allows")                                               \
    X(MEMORY_PLAN, 5, 3, "the provider took other memory than it had planned")                                         \
    X(LEAK, 5, 4, "the provider kept memory of what was released")                                                     \
    X(NOT_COMPLETE, 6, 1, "the submission is not complete")                                                            \
    X(ABANDONED, 6, 2, "the submission was abandoned or failed: it has no output")                                     \
    X(ALREADY_RESOLVED, 6, 3, "the submission has its outcome already")                                                \
    X(CANCELLED, 6, 4, "the submission was cancelled")                                                                 \
    X(EXECUTION, 6, 5, "the model could not be run to its end")                                                        \
    X(INPUT, 6, 6, "an input has another type, shape or size than the model's")                                        \
    X(TICKETS, 6, 7, "the runtime has no ticket left")                                                                 \
    X(STATE_DAMAGED, 7, 1, "the state is damaged")                                                                     \
    X(STATE_OTHER, 7, 2, "the state is of another model, provider or version")                                         \
    X(STATE_LOST, 7, 3, "the state is not known after a failed or cancelled submission: reset or restore it")          \
    X(CONTRACT, 8, 1, "the provider broke its contract")                                                               \
    X(DEVICES, 8, 2, "the provider could not look for devices")

typedef enum burin_code {
    BURIN_E_NONE = 0,
#define BURIN_CODE_ENUM(name, domain, number, text) BURIN_E_##name = (domain)*256 + (number),
    BURIN_CODES(BURIN_CODE_ENUM)
#undef BURIN_CODE_ENUM
        BURIN_E_HIGHEST = 0xffff /* so that every code fits in whatever type the enum has */
} burin_code;

/* What went wrong: the caller's own record of fixed size, so that to report needs no memory. */
typedef struct burin_error {
    uint32_t size; /* sizeof(burin_error) */
    uint32_t code;
    uint64_t wanted, found; /* required and available, admitted and realised, bytes needed and allowed: what the code is about */
    char operation[24];     /* of the table or of session.h */
    char provider[32];      /* its name; "": none has part in it */
    char message[432];
} burin_error;
#define BURIN_ERROR_INIT                                                                                               \
    { (uint32_t)sizeof(burin_error), 0, 0, 0, "", "", "" }

/* For providers: words the error and returns the code. error may be NULL. */
static inline burin_code burin_fail(burin_error *error, burin_code code, const char *message) {
    size_t i = 0;
    if (error != NULL) {
        error->code = (uint32_t)code;
        for (; message[i] != 0 && i + 1 < sizeof error->message; i++) {
            error->message[i] = message[i];
        }
        error->message[i] = 0;
    }
    return code;
}

/* ---- capabilities: a bit that is not set is unsupported ---- */
/* of a device: X(NAME, name, bit, what) */
#define BURIN_DEVICE_CAPABILITIES(X)                                                                                   \
    X(EXACT_COMPLETION, exact_completion, 0, "a completion observes exactly its submission")                           \
    X(TRANSFERS, transfers, 1, "values of the provider move from device to device")                                    \
    X(COLLECTIVES, collectives, 2, "devices of one session compute sums and gathers together")
/* of a session: X(NAME, name, bit, what) */
#define BURIN_SESSION_CAPABILITIES(X)                                                                                  \
    X(PERSISTENT_CACHE, persistent_cache, 0, "the session keeps state from run to run: member reset")                  \
    X(OUTPUT_OBSERVATION, output_observation, 1, "a completed output can be copied to the host: member observe")       \
    X(ACTIVATION_INSPECTION, activation_inspection, 2, "named tensors between are given to a run's sink")              \
    X(STATE_COPY, state_copy, 3, "state can be saved and restored: members save, restore")                             \
    X(STATE_FORK, state_fork, 4, "a session can be forked: member fork")                                               \
    X(SEQUENCE, sequence, 5, "submissions prefill and decode")                                                         \
    X(NATIVE_CANCEL, native_cancel, 6, "work that runs can be ended early: member cancel")

enum {
#define BURIN_CAPABILITY_ENUM(NAME, name, bit, what) BURIN_CAN_##NAME = 1 << (bit),
    BURIN_DEVICE_CAPABILITIES(BURIN_CAPABILITY_ENUM)
};
enum {
    BURIN_SESSION_CAPABILITIES(BURIN_CAPABILITY_ENUM)
#undef BURIN_CAPABILITY_ENUM
};

typedef struct burin_device {
    uint32_t size;     /* set by the host */
    uint32_t has_memory; /* 0: how much memory it has is not known, which is not 0 bytes */
    uint64_t memory_bytes;
    uint64_t capabilities;
    char id[32];     /* stable: "cpu:0" */
    char name[64];   /* for people */
    char family[32]; /* an open set: "cpu", "gpu", "npu", any other word */
} burin_device;

/* ---- values ---- */
typedef struct burin_value {
    const char *name; /* of a tensor of the model; NULL: it has none, or the order says which */
    const char *type; /* "f32", "i8" ... as in burin.h */
    uint32_t rank;
    uint32_t open; /* bit k: extent k is another in each run, dim[k] is its bound */
    int64_t dim[8];
    const void *data; /* dense, row-major, little-endian */
    uint64_t bytes;
} burin_value;

typedef enum burin_role { BURIN_INPUT = 0, BURIN_OUTPUT = 1, BURIN_ACTIVATION = 2 } burin_role;

/* Where a model's bytes come from. name, user and what read needs live until the model is prepared or given up. */
typedef struct burin_source {
    uint32_t size; /* sizeof(burin_source) */
    uint32_t reserved;
    const char *name; /* a path, or what people call it */
    uint64_t bytes;   /* all of them */
    void *user;
    burin_code (*read)(void *user, uint64_t offset, void *to, size_t n); /* all n bytes, or a code */
} burin_source;

/* What a model is, as far as its headers say. words: the provider's own. */
typedef struct burin_inspection {
    uint32_t size; /* set by the host */
    uint32_t input_count, output_count, activation_count;
    uint64_t header_limit;  /* set by the host: most bytes that inspect and plan may read */
    uint64_t header_bytes;  /* headers end here, the weights come behind; those of interleaved formats are all headers */
    uint64_t payload_bytes; /* of the weights */
    uint64_t capabilities;  /* of sessions, which this model can have */
    char format[16];
    uint64_t words[8];
} burin_inspection;

/* What the application asks for. */
typedef struct burin_request {
    uint32_t size;            /* sizeof(burin_request) */
    uint32_t device;          /* its number */
    uint64_t device_required; /* capabilities */
    uint64_t session_required;
    uint64_t memory_limit; /* bytes of model and session together; 0: none */
    const char *options;   /* the provider's own words, at most 255 bytes; NULL: none */
} burin_request;
#define BURIN_REQUEST_INIT                                                                                             \
    { (uint32_t)sizeof(burin_request), 0, 0, 0, 0, NULL }

typedef struct burin_plan_record {
    uint32_t size; /* set by the host */
    uint32_t reserved;
    uint64_t model_bytes;   /* that prepare takes, with what it shares */
    uint64_t session_bytes; /* that create_session takes */
    uint64_t state_bytes;   /* of a saved state; 0: none */
    uint64_t capabilities;  /* that sessions will have */
    uint64_t words[8];      /* the provider's own */
} burin_plan_record;

/* The memory of one model or session, kept and counted by the host. Any thread. */
typedef struct burin_memory burin_memory;
struct burin_memory {
    uint32_t size; /* sizeof(burin_memory) */
    uint32_t reserved;
    /* Zeroed and aligned to 64 bytes; NULL: none is left, or it is more than was planned. */
    void *(*alloc)(burin_memory *memory, size_t bytes);
    void (*free)(burin_memory *memory, void *block); /* NULL is allowed */
    /* Gives up a block of alloc for the one block of the runtime with its contents, which is never written: models with equal
     * weights have them once. Given back by unshare. NULL: no memory, and the block is as it was. */
    const void *(*share)(burin_memory *memory, void *block);
    void (*unshare)(burin_memory *memory, const void *block);
};

typedef struct burin_prepared {
    uint32_t size; /* set by the host */
    uint32_t reserved;
    uint64_t admitted; /* capabilities of its sessions */
    uint64_t identity; /* of the model with its weights: a state fits only where it is equal */
} burin_prepared;

/* ---- work ---- */
typedef enum burin_kind { BURIN_RUN = 0, BURIN_PREFILL = 1, BURIN_DECODE = 2 } burin_kind;

/* path: a whole name; or, where prefix is not 0, a name or what it begins with before a '.': "layer.2" is not "layer.20". */
typedef struct burin_selector {
    const char *path;
    uint32_t prefix;
} burin_selector;

/* What a provider may call while it works; any thread. */
typedef struct burin_control burin_control;
struct burin_control {
    int (*cancelled)(const burin_control *control); /* not 0: end the work; asked now and then, it also tells the caller */
    int (*wants)(const burin_control *control, const char *name); /* is that activation to be given? */
    void (*activation)(const burin_control *control, const burin_value *value);
};

/* Lives until its submission is resolved, but inputs, which end with submit. */
typedef struct burin_work {
    uint32_t size;
    uint32_t kind; /* burin_kind */
    uint64_t ticket;
    const burin_value *inputs; /* as many as the model has, types and sizes checked */
    uint32_t input_count;
    uint32_t observed; /* not 0: activations are wanted */
    const burin_control *control;
} burin_work;

typedef enum burin_phase { BURIN_PENDING = 0, BURIN_DONE = 1, BURIN_FAILED = 2, BURIN_ENDED = 3 } burin_phase;
typedef struct burin_progress {
    uint32_t size;       /* set by the host */
    uint32_t phase;      /* burin_phase; ENDED: early, since it was cancelled */
    uint32_t releasable; /* not 0: nothing of the session is in use by this work any more */
    uint32_t code;       /* of FAILED */
} burin_progress;

#define BURIN_FOREVER UINT64_MAX

/* ---- the table ----
 * [P1] Name and version are texts that stay the same for as long as the provider is registered.
 * [P2] No function of the table aborts, exits, jumps or prints, whatever a file, an application or the system does.
 * [P3] Functions that return a code return BURIN_E_NONE or a code of BURIN_CODES, and word the error that they are given.
 * [P4] What a function gives is left alone, or complete: on failure no result is half made.
 * [P5] Functions of different sessions may be called by different threads at the same time.
 * [P6] Of one session, wait and cancel may be called by several threads, also during submit; all else by one at a time.
 * [P7] Equal inputs in equal state give equal outputs, bit for bit.
 * The members up to `wait` are required. The table may lie in read-only memory: the host copies it. */
typedef struct burin_provider {
    uint32_t size;         /* sizeof(burin_provider) */
    uint32_t abi;          /* BURIN_PROVIDER_ABI */
    const char *name;      /* 1 to 31 characters of a-z 0-9 _ - . */
    const char *version;   /* 1 to 31 printable characters */
    uint64_t capabilities; /* of sessions: every bit that one of them may have */
    void *user;            /* the first argument of every function */

    /* [P8] A failure to look for devices is an error, and no empty list.
     * [P9] Devices keep their numbers and ids. [P10] A device reports only capabilities that it has.
     * [P11] Memory that is not known is said to be so. */
    burin_code (*device_count)(void *user, uint32_t *count, burin_error *error);
    burin_code (*device)(void *user, uint32_t i, burin_device *out, burin_error *error);

    /* [P12] inspect reads headers alone, through the source it is given, and within the limit.
     * [P13] What is no model of the provider's formats, is cut short or contradicts itself, is refused as FORMAT or READ.
     * [P14] inspect and plan give the same for the same file. */
    burin_code (*inspect)(void *user, const burin_source *source, burin_inspection *out, burin_error *error);
    /* [P15] plan reads no weights and uses no device. [P16] What plan states are the bytes that model and session then take.
     * [P17] The capabilities that plan states are of those that the inspection and the provider's table have.
     * [P18] Options that the provider does not know are refused as ARGUMENT. */
    burin_code (*plan)(void *user, const burin_source *source, const burin_inspection *inspection,
                       const burin_request *request, burin_plan_record *out, burin_error *error);
    /* [P19] prepare is the only function that reads weights. [P20] prepare admits the capabilities that were planned.
     * [P21] A prepare that fails has given all memory back. [P22] Models with other weights have another identity.
     * [P23] Equal weights of two models are shared. */
    burin_code (*prepare)(void *user, const burin_source *source, const burin_plan_record *plan, burin_memory *memory,
                          void **model, burin_prepared *out, burin_error *error);
    void (*release_model)(void *user, void *model); /* [P24] release_model gives all memory of the model back. */

    /* [P25] create_session takes the model: release_session frees it, too, and a create_session that fails has freed it. */
    burin_code (*create_session)(void *user, void *model, burin_memory *memory, void **session, burin_error *error);
    void (*release_session)(void *user, void *session); /* [P26] release_session gives all memory of session and model back. */
    /* [P27] The capabilities of a session are those that were admitted, and stay so. */
    uint64_t (*session_capabilities)(void *user, void *session);
    /* Name, type and shape; data is not set. [P28] A session has as many inputs and outputs as the inspection said, and they
     * keep their types and shapes. [P29] A number beyond them is ARGUMENT. [P30] Bytes are what type and shape make. */
    burin_code (*tensor)(void *user, void *session, burin_role role, uint32_t i, burin_value *out, burin_error *error);
    /* Begins the work, or does it. [P31] What submit needs of the inputs it has taken when it returns.
     * [P32] A submit that fails has changed nothing. [P33] submit takes no memory from the host.
     * [P34] The work asks control->cancelled at least once. [P35] Activations are given only where work->observed says so, only those
     * that control->wants, and each once. */
    burin_code (*submit)(void *user, void *session, const burin_work *work, burin_error *error);
    /* How far the work of that ticket is, after at most so many nanoseconds; 0: now. [P36] wait returns when the work is at its end,
     * and soon after the time is over. [P37] Once at its end, the work stays there with the same code.
     * [P38] A failure is told by the phase, not by what wait returns. [P39] releasable is never said while the work goes on.
     * [P40] Work that is at its end becomes releasable. [P41] Another ticket than the last one's is ARGUMENT. */
    burin_code (*wait)(void *user, void *session, uint64_t ticket, uint64_t nanoseconds, burin_progress *out,
                       burin_error *error);

    /* Optional; NULL where the bit is not set. */
    burin_code (*cancel)(void *user, void *session, uint64_t ticket, burin_error *error); /* native_cancel: [P42] Cancelled work
                                                        ends soon. [P43] To cancel twice, or what is at its end, does no harm. */
    burin_code (*reset)(void *user, void *session, burin_error *error); /* persistent_cache: [P44] The state becomes that of
                                                                           a new session. */
    /* output_observation: copies output i of the last work. [P45] observe writes all bytes of the output, and none beyond. */
    burin_code (*observe)(void *user, void *session, uint32_t i, void *to, size_t bytes, burin_value *out,
                          burin_error *error);
    /* state_copy: as many bytes as the plan's state_bytes. [P46] A restored state goes on bit for bit as the saved one.
     * [P47] A restore that fails changes nothing. [P48] save changes nothing. */
    burin_code (*save)(void *user, void *session, void *to, size_t bytes, burin_error *error);
    burin_code (*restore)(void *user, void *session, const void *from, size_t bytes, burin_error *error);
    /* state_fork: model and session memory are the new session's own. [P49] Both go on from the same state, and neither sees the
     * other. */
    burin_code (*fork)(void *user, void *session, burin_memory *model_memory, burin_memory *session_memory, void **forked,
                       burin_error *error);

    /* Optional, without a bit. */
    /* Words the error where a session's capabilities are not those admitted. [P50] mismatch returns, with a text that ends within bytes. */
    void (*mismatch)(void *user, uint64_t admitted, uint64_t realised, char *message, size_t bytes);
    /* A small model for checks: 0, one whose state, if any, shows in its outputs; 1, one whose work is not at its end when submit
     * returns. UNSUPPORTED: there is none. [P51] The provider takes its own samples. */
    burin_code (*sample)(void *user, uint32_t i, burin_source *out);
} burin_provider;

/* What a shared object of a provider exports, under the name burin_provider_entry. [P52] The entry returns the same table at each call. */
typedef const burin_provider *(*burin_provider_entry_fn)(void);
#define BURIN_PROVIDER_ENTRY_NAME "burin_provider_entry"
#if defined(__GNUC__)
#define BURIN_PROVIDER_EXPORT __attribute__((visibility("default")))
#else
#define BURIN_PROVIDER_EXPORT
#endif

#ifdef __cplusplus
}
#endif
#endif
