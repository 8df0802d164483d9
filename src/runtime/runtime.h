/* runtime.h - face of room `runtime`: the host of the provider contract, as
 * burin/session.h declares it.
 *
 * Takes providers (burin/provider.h) and calls of applications. Gives handles,
 * checks, memory. Knows no model format, no graph and no compiler.
 */
#ifndef BURIN_RUNTIME_RUNTIME_H
#define BURIN_RUNTIME_RUNTIME_H

#include "burin/session.h"

/* The names of the bits of a set, a comma between; cut where room ends. */
void runtime_capability_names(uint64_t set, char *text, size_t room);

/* Members of the table by name: X(member), which must be there, and X(member,
 * CAPABILITY), which agree with a bit. */
#define RUNTIME_REQUIRED_MEMBERS(X)                                                                                    \
    X(device_count)                                                                                                    \
    X(device)                                                                                                          \
    X(inspect)                                                                                                         \
    X(plan)                                                                                                            \
    X(prepare)                                                                                                         \
    X(release_model)                                                                                                   \
    X(create_session)                                                                                                  \
    X(release_session)                                                                                                 \
    X(session_capabilities)                                                                                            \
    X(tensor)                                                                                                          \
    X(submit)                                                                                                          \
    X(wait)
#define RUNTIME_OPTIONAL_MEMBERS(X)                                                                                    \
    X(cancel, NATIVE_CANCEL)                                                                                           \
    X(reset, PERSISTENT_CACHE)                                                                                         \
    X(observe, OUTPUT_OBSERVATION)                                                                                     \
    X(save, STATE_COPY)                                                                                                \
    X(restore, STATE_COPY)                                                                                             \
    X(fork, STATE_FORK)

#endif
