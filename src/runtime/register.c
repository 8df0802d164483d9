/* register.c - providers: checked and sealed, loaded from shared objects, and
 * their devices.
 *
 * Takes a provider's table. Gives a handle behind which stands the host's own
 * copy.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "runtime/private.h"

static burin_code check_members(runtime_call *call, const burin_provider *p) {
    const struct {
        const char *name;
        bool there;
    } required[] = {
#define ROW(member) {#member, p->member != NULL},
        RUNTIME_REQUIRED_MEMBERS(ROW)
#undef ROW
    };
    const struct {
        const char *name;
        bool there;
        uint64_t bit;
    } optional[] = {
#define ROW(member, capability) {#member, p->member != NULL, BURIN_CAN_##capability},
        RUNTIME_OPTIONAL_MEMBERS(ROW)
#undef ROW
    };
    char text[100];
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        if (!required[i].there) {
            snprintf(text, sizeof text, "member %s is required, and is NULL", required[i].name);
            return runtime_fail(call, BURIN_E_MISSING_MEMBER, 0, 0, text);
        }
    }
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
        if (optional[i].there != ((p->capabilities & optional[i].bit) != 0)) {
            snprintf(text, sizeof text, "member %s %s, and its capability bit is %s", optional[i].name,
                     optional[i].there ? "is there" : "is NULL", optional[i].there ? "not set" : "set");
            return runtime_fail(call, BURIN_E_CAPABILITY_MEMBER, optional[i].bit, p->capabilities, text);
        }
    }
    return BURIN_E_NONE;
}

static bool good_text(const char *text, const char *allowed) {
    const size_t n = text != NULL ? strnlen(text, 32) : 0;
    bool good = n > 0 && n < 32;
    for (size_t i = 0; i < n; i++) {
        good = good && (allowed != NULL ? strchr(allowed, text[i]) != NULL : text[i] > 32 && text[i] < 127);
    }
    return good;
}

static burin_code check(runtime_call *call, const burin_provider *p) {
    char text[100];
    if (p == NULL) {
        return runtime_fail(call, BURIN_E_ARGUMENT, 0, 0, "there is no provider");
    }
    if (p->size >= 8 && p->abi != BURIN_PROVIDER_ABI) {
        snprintf(text, sizeof text,
                 "the provider is made for version %u of the contract, this is "
                 "version %u",
                 p->abi, BURIN_PROVIDER_ABI);
        return runtime_fail(call, BURIN_E_ABI, BURIN_PROVIDER_ABI, p->abi, text);
    }
    if (p->size < sizeof *p) {
        return runtime_fail(call, BURIN_E_STRUCT_SIZE, sizeof *p, p->size, NULL);
    }
    if (!good_text(p->name, "abcdefghijklmnopqrstuvwxyz0123456789_-.") || !good_text(p->version, NULL)) {
        return runtime_fail(call, BURIN_E_NAME, 0, 0, NULL);
    }
    return check_members(call, p);
}

burin_code burin_provider_register(burin_runtime *rt, const burin_provider *p, burin_handle *handle,
                                   burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "register")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = handle != NULL ? check(&call, p) : runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    if (code != BURIN_E_NONE) {
        return code;
    }
    runtime_lock(rt);
    for (uint32_t i = 0; i < rt->options.handles && code == BURIN_E_NONE; i++) {
        const runtime_slot *s = &rt->slots[i];
        if (s->kind == BURIN_HANDLE_PROVIDER && strcmp(s->of.registered.name, p->name) == 0) {
            code = runtime_fail(&call, BURIN_E_DUPLICATE, 0, 0, NULL);
        }
    }
    if (code == BURIN_E_NONE) {
        code = runtime_take_slot(&call, BURIN_HANDLE_PROVIDER, UINT32_MAX, &slot);
    }
    if (code == BURIN_E_NONE) {
        runtime_registered *r = &slot->of.registered;
        r->table = *p;
        snprintf(r->name, sizeof r->name, "%s", p->name);
        snprintf(r->version, sizeof r->version, "%s", p->version);
        r->table.name = r->name;
        r->table.version = r->version;
        r->table.capabilities &= SESSION_KNOWN;
        *handle = runtime_handle_of(rt, slot);
    }
    runtime_unlock(rt);
    return code;
}

static burin_code load(runtime_call *call, const char *path, const burin_provider **table) {
    void *object = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = object != NULL ? dlsym(object, BURIN_PROVIDER_ENTRY_NAME) : NULL;
    if (symbol == NULL) {
        const char *why = path != NULL ? dlerror() : "no path was given";
        char text[400];
        snprintf(text, sizeof text, "%.390s", why != NULL ? why : "it has no " BURIN_PROVIDER_ENTRY_NAME);
        if (object != NULL) {
            (void)dlclose(object);
        }
        return runtime_fail(call, BURIN_E_NOT_LOADED, 0, 0, text);
    }
    burin_provider_entry_fn entry;
    memcpy(&entry, &symbol, sizeof entry);
    *table = entry();
    return BURIN_E_NONE;
}

burin_code burin_provider_table(const char *path, const burin_provider **table, burin_error *error) {
    runtime_call call;
    (void)runtime_begin(&call, NULL, error, "load");
    if (table == NULL) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    *table = NULL;
    call.error->code = 0;
    return load(&call, path, table);
}

burin_code burin_provider_load(burin_runtime *rt, const char *path, burin_handle *handle, burin_error *error) {
    runtime_call call;
    const burin_provider *table = NULL;
    if (!runtime_begin(&call, rt, error, "load")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = load(&call, path, &table);
    return code == BURIN_E_NONE ? burin_provider_register(rt, table, handle, error) : code;
}

burin_code burin_provider_close(burin_runtime *rt, burin_handle *handle, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "close provider")) {
        return BURIN_E_ARGUMENT;
    }
    if (handle == NULL) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    if (handle->owner == 0 && handle->slot == 0 && handle->generation == 0) {
        return BURIN_E_NONE;
    }
    runtime_lock(rt);
    burin_code code = runtime_find(&call, *handle, BURIN_HANDLE_PROVIDER, &slot);
    if (code == BURIN_E_NONE && slot->of.registered.children + slot->users > 0) {
        call.provider = &slot->of.registered;
        code = runtime_fail(&call, BURIN_E_LIVE_HANDLES, 0, slot->of.registered.children + slot->users, NULL);
    }
    if (code == BURIN_E_NONE) {
        runtime_free_slot(rt, slot);
        *handle = (burin_handle)BURIN_NO_HANDLE;
    }
    runtime_unlock(rt);
    return code;
}

burin_code burin_provider_describe(burin_runtime *rt, burin_handle provider, burin_descriptor *out,
                                   burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "describe")) {
        return BURIN_E_ARGUMENT;
    }
    if (out == NULL || out->size < sizeof *out) {
        return runtime_fail(&call, BURIN_E_STRUCT_SIZE, sizeof *out, out != NULL ? out->size : 0, NULL);
    }
    burin_code code = runtime_enter(&call, provider, BURIN_HANDLE_PROVIDER, &slot);
    if (code == BURIN_E_NONE) {
        const runtime_registered *r = &slot->of.registered;
        *out = (burin_descriptor){.size = sizeof *out, .abi = r->table.abi, .capabilities = r->table.capabilities};
        memcpy(out->name, r->name, sizeof out->name);
        memcpy(out->version, r->version, sizeof out->version);
        runtime_leave(rt, slot);
    }
    return code;
}

burin_code burin_device_count(burin_runtime *rt, burin_handle provider, uint32_t *count, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "devices")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = count != NULL ? runtime_enter(&call, provider, BURIN_HANDLE_PROVIDER, &slot)
                                    : runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    if (code == BURIN_E_NONE) {
        const burin_provider *p = &slot->of.registered.table;
        uint32_t n = 0;
        code = p->device_count(p->user, &n, call.error);
        if (code != BURIN_E_NONE && code != BURIN_E_DEVICES) {
            code = runtime_fail(&call, BURIN_E_DEVICES, 0, (uint64_t)code,
                                call.error->message[0] != 0 ? call.error->message : NULL);
        }
        code = runtime_returned(&call, code);
        *count = code == BURIN_E_NONE ? n : *count;
        runtime_leave(rt, slot);
    }
    return code;
}

burin_code burin_device_get(burin_runtime *rt, burin_handle provider, uint32_t i, burin_device *out,
                            burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "device")) {
        return BURIN_E_ARGUMENT;
    }
    if (out == NULL || out->size < sizeof *out) {
        return runtime_fail(&call, BURIN_E_STRUCT_SIZE, sizeof *out, out != NULL ? out->size : 0, NULL);
    }
    burin_code code = runtime_enter(&call, provider, BURIN_HANDLE_PROVIDER, &slot);
    if (code != BURIN_E_NONE) {
        return code;
    }
    const burin_provider *p = &slot->of.registered.table;
    burin_device d = {.size = sizeof d};
    uint32_t n = 0;
    code = runtime_returned(&call, p->device_count(p->user, &n, call.error));
    if (code == BURIN_E_NONE && i >= n) {
        code = runtime_fail(&call, BURIN_E_NO_DEVICE, i, n, NULL);
    }
    if (code == BURIN_E_NONE) {
        code = runtime_returned(&call, p->device(p->user, i, &d, call.error));
    }
    if (code == BURIN_E_NONE) {
        d.capabilities &= DEVICE_KNOWN;
        d.id[sizeof d.id - 1] = d.name[sizeof d.name - 1] = d.family[sizeof d.family - 1] = 0;
        *out = d;
    }
    runtime_leave(rt, slot);
    return code;
}
