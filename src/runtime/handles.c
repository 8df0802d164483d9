/* handles.c - the runtime itself: its one block, its lock, and the slots that
 * handles name.
 *
 * A handle is slot and generation. The generation goes up when what it names is
 * gone, so that each copy of the handle is stale; a slot whose generation would
 * wrap is retired.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/private.h"

void runtime_lock(burin_runtime *rt) {
    (void)pthread_mutex_lock(&rt->lock);
}

void runtime_unlock(burin_runtime *rt) {
    (void)pthread_mutex_unlock(&rt->lock);
}

void runtime_breach(burin_runtime *rt) {
    runtime_lock(rt);
    rt->stats.breaches++;
    runtime_unlock(rt);
}

/* ---- slots ---- */

burin_handle runtime_handle_of(const burin_runtime *rt, const runtime_slot *slot) {
    return (burin_handle){rt->owner, (uint32_t)(slot - rt->slots), slot->generation};
}

burin_code runtime_find(runtime_call *call, burin_handle h, burin_handle_kind kind, runtime_slot **out) {
    burin_runtime *rt = call->rt;
    if (h.owner == 0 && h.slot == 0 && h.generation == 0) {
        return runtime_fail(call, BURIN_E_NO_HANDLE, 0, 0, NULL);
    }
    if (h.owner != rt->owner) {
        return runtime_fail(call, BURIN_E_FOREIGN_HANDLE, rt->owner, h.owner, NULL);
    }
    runtime_slot *slot = h.slot < rt->options.handles ? &rt->slots[h.slot] : NULL;
    if (slot == NULL || slot->kind == BURIN_HANDLE_NONE || slot->generation != h.generation) {
        return runtime_fail(call, BURIN_E_STALE_HANDLE, slot != NULL ? slot->generation : 0, h.generation, NULL);
    }
    if (slot->kind != (uint8_t)kind) {
        return runtime_fail(call, BURIN_E_WRONG_KIND, (uint64_t)kind, slot->kind, NULL);
    }
    *out = slot;
    return BURIN_E_NONE;
}

runtime_registered *runtime_provider(burin_runtime *rt, const runtime_slot *slot) {
    return &rt->slots[slot->provider].of.registered;
}

burin_code runtime_take_slot(runtime_call *call, burin_handle_kind kind, uint32_t provider, runtime_slot **out) {
    burin_runtime *rt = call->rt;
    for (uint32_t i = 0; i < rt->options.handles; i++) {
        runtime_slot *slot = &rt->slots[i];
        if (slot->kind == BURIN_HANDLE_NONE && !slot->retired) {
            memset(&slot->of, 0, sizeof slot->of);
            slot->users = 0;
            slot->kind = (uint8_t)kind;
            slot->provider = provider;
            slot->parent = 0;
            if (provider != UINT32_MAX) {
                rt->slots[provider].of.registered.children++;
            }
            *out = slot;
            return BURIN_E_NONE;
        }
    }
    return runtime_fail(call, BURIN_E_NO_SLOT, rt->options.handles, rt->options.handles, NULL);
}

static void next_generation(runtime_slot *slot) {
    slot->retired = slot->generation == UINT32_MAX;
    slot->generation += slot->retired ? 0 : 1;
}

void runtime_free_slot(burin_runtime *rt, runtime_slot *slot) {
    if (slot->provider != UINT32_MAX) {
        rt->slots[slot->provider].of.registered.children--;
    }
    slot->kind = BURIN_HANDLE_NONE;
    next_generation(slot);
}

burin_code runtime_renew(runtime_call *call, uint32_t *index) {
    runtime_slot *old = &call->rt->slots[*index], *fresh = NULL;
    if (old->generation != UINT32_MAX) {
        old->generation++;
        return BURIN_E_NONE;
    }
    burin_code code = runtime_take_slot(call, (burin_handle_kind)old->kind, old->provider, &fresh);
    if (code == BURIN_E_NONE) {
        fresh->parent = old->parent;
        runtime_free_slot(call->rt, old);
        *index = (uint32_t)(fresh - call->rt->slots);
    }
    return code;
}

burin_code runtime_enter(runtime_call *call, burin_handle handle, burin_handle_kind kind, runtime_slot **slot) {
    runtime_lock(call->rt);
    burin_code code = runtime_find(call, handle, kind, slot);
    if (code == BURIN_E_NONE) {
        (*slot)->users++;
        call->provider = kind == BURIN_HANDLE_PROVIDER ? &(*slot)->of.registered : runtime_provider(call->rt, *slot);
    }
    runtime_unlock(call->rt);
    return code;
}

void runtime_leave(burin_runtime *rt, runtime_slot *slot) {
    runtime_lock(rt);
    slot->users--;
    runtime_unlock(rt);
}

burin_code runtime_consume_selection(runtime_call *call, burin_handle *handle, burin_handle_kind kind,
                                     runtime_selection *out, uint32_t *provider) {
    burin_runtime *rt = call->rt;
    runtime_slot *slot = NULL;
    if (handle == NULL) {
        return runtime_fail(call, BURIN_E_ARGUMENT, 0, 0, "the address of a handle is missing");
    }
    runtime_lock(rt);
    burin_code code = runtime_find(call, *handle, kind, &slot);
    if (code == BURIN_E_NONE && slot->users > 0) {
        code = runtime_fail(call, BURIN_E_BUSY, 0, slot->users, "another call is looking at it");
    }
    if (code == BURIN_E_NONE) {
        *out = slot->of.selection;
        out->request.options = out->options;
        *provider = slot->provider;
        call->provider = runtime_provider(rt, slot);
        rt->slots[slot->provider].of.registered.children++;
        runtime_free_slot(rt, slot);
        *handle = (burin_handle)BURIN_NO_HANDLE;
    }
    runtime_unlock(rt);
    return code;
}

void runtime_unpin(burin_runtime *rt, uint32_t provider) {
    runtime_lock(rt);
    rt->slots[provider].of.registered.children--;
    runtime_unlock(rt);
}

burin_code runtime_release_selection(runtime_call *call, burin_handle *handle, burin_handle_kind kind) {
    runtime_selection ignored;
    uint32_t provider = 0;
    if (handle != NULL && handle->owner == 0 && handle->slot == 0 && handle->generation == 0) {
        return BURIN_E_NONE;
    }
    burin_code code = runtime_consume_selection(call, handle, kind, &ignored, &provider);
    if (code == BURIN_E_NONE) {
        runtime_unpin(call->rt, provider);
    }
    return code;
}

/* ---- open and close ---- */

static void *from_libc(void *user, void *pointer, size_t old_size, size_t size) {
    (void)user;
    (void)old_size;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, size);
}

burin_code burin_runtime_open(const burin_runtime_options *given, burin_runtime **runtime, burin_error *error) {
    burin_runtime_options o = BURIN_RUNTIME_OPTIONS_INIT;
    runtime_call call;
    (void)runtime_begin(&call, NULL, error, "open");
    call.error->code = 0;
    call.error->operation[0] = call.error->message[0] = 0;
    if (runtime == NULL) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, "where the runtime goes is missing");
    }
    *runtime = NULL;
    if (given != NULL && given->size < sizeof o) {
        return runtime_fail(&call, BURIN_E_STRUCT_SIZE, sizeof o, given->size, NULL);
    }
    o = given != NULL ? *given : o;
    if (o.handles == 0 || o.handles > 1u << 20 || o.first_generation == 0 || o.first_ticket == 0) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 1, 0, "handles, first_generation and first_ticket begin at 1");
    }
    o.realloc = o.realloc != NULL ? o.realloc : from_libc;
    const size_t head = (sizeof(burin_runtime) + 63) / 64 * 64;
    const size_t slots = (o.handles * sizeof(runtime_slot) + 63) / 64 * 64;
    const size_t total = head + slots + o.handles * sizeof(runtime_account);
    burin_runtime *rt = o.realloc(o.user, NULL, 0, total);
    if (rt == NULL) {
        return runtime_fail(&call, BURIN_E_NO_MEMORY, total, 0, NULL);
    }
    memset(rt, 0, total);
    rt->options = o;
    rt->total = total;
    rt->slots = (runtime_slot *)(void *)((char *)rt + head);
    rt->accounts = (runtime_account *)(void *)((char *)rt + head + slots);
    rt->owner = (uint64_t)(uintptr_t)rt * 0x9e3779b97f4a7c15u | 1u;
    rt->next_ticket = o.first_ticket;
    rt->stats.host_bytes = total;
    for (uint32_t i = 0; i < o.handles; i++) {
        rt->slots[i].generation = o.first_generation;
    }
    if (pthread_mutex_init(&rt->lock, NULL) != 0) {
        (void)o.realloc(o.user, rt, total, 0);
        return runtime_fail(&call, BURIN_E_NO_MEMORY, 0, 0, "the system gave no lock");
    }
    *runtime = rt;
    return BURIN_E_NONE;
}

burin_code burin_runtime_close(burin_runtime **runtime, burin_error *error) {
    runtime_call call;
    if (!runtime_begin(&call, runtime != NULL ? *runtime : NULL, error, "close")) {
        return BURIN_E_ARGUMENT;
    }
    burin_runtime *rt = *runtime;
    uint64_t live = 0;
    runtime_lock(rt);
    for (uint32_t i = 0; i < rt->options.handles; i++) {
        const runtime_slot *slot = &rt->slots[i];
        live += slot->kind != BURIN_HANDLE_NONE && (slot->kind != BURIN_HANDLE_PROVIDER || slot->users > 0);
    }
    runtime_unlock(rt);
    if (live > 0) {
        return runtime_fail(&call, BURIN_E_LIVE_HANDLES, 0, live, NULL);
    }
    (void)pthread_mutex_destroy(&rt->lock);
    (void)rt->options.realloc(rt->options.user, rt, rt->total, 0);
    *runtime = NULL;
    return BURIN_E_NONE;
}

burin_code burin_runtime_stats(burin_runtime *rt, burin_stats *stats, burin_error *error) {
    runtime_call call;
    if (!runtime_begin(&call, rt, error, "stats")) {
        return BURIN_E_ARGUMENT;
    }
    if (stats == NULL || stats->size < sizeof *stats) {
        return runtime_fail(&call, BURIN_E_STRUCT_SIZE, sizeof *stats, stats != NULL ? stats->size : 0, NULL);
    }
    runtime_lock(rt);
    *stats = rt->stats;
    stats->size = sizeof *stats;
    stats->tickets = rt->next_ticket - rt->options.first_ticket;
    for (uint32_t i = 0; i < rt->options.handles; i++) {
        stats->live[rt->slots[i].kind] += rt->slots[i].kind != BURIN_HANDLE_NONE;
        stats->retired += rt->slots[i].retired;
    }
    runtime_unlock(rt);
    return BURIN_E_NONE;
}
