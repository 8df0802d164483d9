/* private.h - what the files of room `runtime` share: slots, accounts of
 * memory, the call that is being made.
 *
 * One lock a runtime guards slots, accounts and dispositions. It is never held
 * while a provider, or a callback of the application, runs (but the
 * application's allocator).
 */
#ifndef BURIN_RUNTIME_PRIVATE_H
#define BURIN_RUNTIME_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "runtime/runtime.h"

#define SESSION_KNOWN ((uint64_t)RUNTIME_SESSION_KNOWN)
#define DEVICE_KNOWN ((uint64_t)RUNTIME_DEVICE_KNOWN)
enum {
#define BIT(NAME, name, bit, what) | 1 << (bit)
    RUNTIME_DEVICE_KNOWN = 0 BURIN_DEVICE_CAPABILITIES(BIT),
    RUNTIME_SESSION_KNOWN = 0 BURIN_SESSION_CAPABILITIES(BIT)
#undef BIT
};
enum { OPTIONS_SIZE = 256, ENVELOPE_SIZE = 56 };

/* ---- memory ---- */
typedef struct runtime_shared {
    struct runtime_shared *next;
    uint64_t hash, bytes, refs;
    void *base; /* of the allocation, of total bytes */
    size_t total;
    void *data;
} runtime_shared;

typedef struct runtime_account runtime_account;
/* Stands before what the provider has, or for a reference to what is shared. */
typedef struct runtime_block {
    struct runtime_block *before, *next;
    runtime_account *account;
    runtime_shared *shared; /* NULL: a block of its own */
    uint64_t bytes;
    void *base;
    size_t total;
} runtime_block;

struct runtime_account {
    burin_memory face; /* first: the provider's pointer is the account's */
    burin_runtime *rt;
    runtime_block *blocks;
    uint64_t used, shared, limit; /* bytes; shared: of everything that share gave,
                                   whoever was first */
    bool taken, of_session, sealed;
};

/* ---- slots ---- */
typedef struct runtime_registered {
    burin_provider table; /* sealed */
    char name[32], version[32];
    uint32_t children; /* slots that belong to it, and calls that consume one */
} runtime_registered;

typedef struct runtime_selection {
    burin_source source;
    burin_inspection inspection;
    burin_request request;
    char options[OPTIONS_SIZE];
    burin_plan_record plan;
} runtime_selection;

typedef struct runtime_live {
    struct burin_control control; /* first: what a provider is given leads back here */
    burin_runtime *rt;
    void *object; /* the provider's model or session */
    runtime_account *model_account, *session_account;
    burin_model_facts facts;
    uint64_t planned; /* bytes */
    /* of a session */
    uint32_t output_slot, completion_slot;
    bool exclusive; /* a call that needs it alone is inside */
    /* of its last submission */
    burin_submit_options submit;
    burin_work work;
    uint64_t ticket;
    uint32_t disposition, code; /* the first that was recorded */
    bool submitted, ended, releasable, lost;
    uint32_t ended_as, ended_code; /* what the provider said first */
} runtime_live;

typedef struct runtime_slot {
    uint32_t generation, users; /* users: calls inside */
    uint32_t provider, parent;  /* slots; parent: the session of an output or completion */
    uint8_t kind;               /* burin_handle_kind; NONE: free */
    bool retired;
    union {
        runtime_registered registered;
        runtime_selection selection;
        runtime_live live;
    } of;
} runtime_slot;

struct burin_runtime {
    pthread_mutex_t lock;
    burin_runtime_options options;
    uint64_t owner, next_ticket;
    size_t total; /* bytes of this block */
    runtime_slot *slots;
    runtime_account *accounts; /* as many as slots */
    runtime_shared *shared;
    burin_stats stats; /* all but live, retired */
};

/* ---- the call ---- */
typedef struct runtime_call {
    burin_runtime *rt;
    const char *operation;
    const runtime_registered *provider; /* NULL: none has part in it yet */
    burin_error *error;                 /* the caller's, or own */
    burin_error own;
} runtime_call;

/* false: rt is NULL, and the error is made. */
bool runtime_begin(runtime_call *call, burin_runtime *rt, burin_error *error, const char *operation);
/* message NULL: the code's text. */
burin_code runtime_fail(runtime_call *call, burin_code code, uint64_t wanted, uint64_t found, const char *message);
/* Completes what a provider returned; what is no code is CONTRACT. */
burin_code runtime_returned(runtime_call *call, burin_code code);
void runtime_breach(burin_runtime *rt);

void runtime_lock(burin_runtime *rt);
void runtime_unlock(burin_runtime *rt);

/* All of these under the lock. */
burin_code runtime_find(runtime_call *call, burin_handle handle, burin_handle_kind kind, runtime_slot **slot);
burin_handle runtime_handle_of(const burin_runtime *rt, const runtime_slot *slot);
/* A slot of that kind, with all of it zero; NO_SLOT. provider: of what,
 * UINT32_MAX: of none. */
burin_code runtime_take_slot(runtime_call *call, burin_handle_kind kind, uint32_t provider, runtime_slot **slot);
void runtime_free_slot(burin_runtime *rt, runtime_slot *slot);
/* The handle of the slot is stale from now on; a slot whose generations are
 * used up is replaced: *index is another. */
burin_code runtime_renew(runtime_call *call, uint32_t *index);
runtime_registered *runtime_provider(burin_runtime *rt, const runtime_slot *slot);

/* With their own locking. Enter and leave: the slot is not freed between. */
burin_code runtime_enter(runtime_call *call, burin_handle handle, burin_handle_kind kind, runtime_slot **slot);
void runtime_leave(burin_runtime *rt, runtime_slot *slot);
/* Takes a selection out of its slot, which is free from then on; its provider
 * is pinned until runtime_unpin. */
burin_code runtime_consume_selection(runtime_call *call, burin_handle *handle, burin_handle_kind kind,
                                     runtime_selection *out, uint32_t *provider);
void runtime_unpin(burin_runtime *rt, uint32_t provider);
burin_code runtime_release_selection(runtime_call *call, burin_handle *handle, burin_handle_kind kind);

/* ---- memory.c ---- */
runtime_account *runtime_account_new(burin_runtime *rt, bool of_session, uint64_t limit); /* NULL: none is left */
/* Frees what is left and counts it as leaked; gives its bytes. NULL is allowed.
 */
uint64_t runtime_account_end(runtime_account *account);
uint64_t runtime_account_bytes(runtime_account *account);
void runtime_account_seal(runtime_account *account);
/* Reserves planned bytes against the runtime's limit. */
burin_code runtime_reserve(runtime_call *call, uint64_t bytes);
void runtime_unreserve(burin_runtime *rt, uint64_t bytes);

/* ---- config.c ---- */
burin_code runtime_make_config(runtime_call *call, uint32_t provider, runtime_selection *s, burin_handle *config);
burin_code runtime_inspect(runtime_call *call, const burin_source *source, burin_inspection *out);

/* ---- session.c ---- */
/* The session for one call alone: none inside, no submission unresolved,
 * capabilities as admitted. */
burin_code runtime_enter_alone(runtime_call *call, burin_handle session, runtime_slot **slot);
void runtime_leave_alone(burin_runtime *rt, runtime_slot *slot);
/* ---- submit.c ---- */
bool runtime_settled(const runtime_live *l);
void runtime_abandon(runtime_live *l);
/* One wait of the provider, recorded. */
burin_code runtime_progress(runtime_call *call, runtime_slot *slot, uint64_t ticket, uint64_t nanoseconds);
#endif
