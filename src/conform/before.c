/* before.c - checks of all that comes before weights are read: registration,
 * devices, inspecting, planning, configurations. */
#include "conform/kit.h"
#include "runtime/runtime.h"

/* ---- registration ---- */

static burin_code try_table(kit *k, const burin_provider *table, burin_error *error) {
    burin_runtime *rt = NULL;
    burin_handle handle = BURIN_NO_HANDLE;
    (void)k;
    if (burin_runtime_open(NULL, &rt, error) != BURIN_E_NONE) {
        return BURIN_E_NO_MEMORY;
    }
    burin_code code = burin_provider_register(rt, table, &handle, error);
    burin_error kept = *error;
    (void)burin_runtime_close(&rt, NULL);
    *error = kept;
    return code;
}

static void check_members(kit *k) {
    burin_error e = BURIN_ERROR_INIT;
#define TRY(member)                                                                                                    \
    {                                                                                                                  \
        burin_provider t = *k->provider;                                                                               \
        t.member = NULL;                                                                                               \
        GIVES(k, missing_##member, BURIN_E_MISSING_MEMBER, try_table(k, &t, &e));                                      \
    }
    RUNTIME_REQUIRED_MEMBERS(TRY)
#undef TRY
    /* The bit turned; where it takes two members, the other agrees with neither.
   */
#define TRY(member, capability)                                                                                        \
    {                                                                                                                  \
        burin_provider t = *k->provider;                                                                               \
        t.capabilities ^= BURIN_CAN_##capability;                                                                      \
        GIVES(k, bit_of_##member, BURIN_E_CAPABILITY_MEMBER, try_table(k, &t, &e));                                    \
        t = *k->provider;                                                                                              \
        t.member = NULL;                                                                                               \
        HOLDS(k, bit_of_##member, k->provider->member == NULL || try_table(k, &t, &e) == BURIN_E_CAPABILITY_MEMBER);   \
    }
    RUNTIME_OPTIONAL_MEMBERS(TRY)
#undef TRY
}

static void check_sealed(kit *k) {
    kit_world w;
    burin_provider t = *k->provider;
    burin_descriptor d = {.size = sizeof d};
    burin_handle again = BURIN_NO_HANDLE;
    if (!kit_open(k, &w, NULL, &t)) {
        return;
    }
    GIVES(k, duplicate, BURIN_E_DUPLICATE, burin_provider_register(w.rt, k->provider, &again, &w.error));
    memset(&t, 0, sizeof t);
    uint32_t n = 0;
    GIVES(k, sealed, BURIN_E_NONE, burin_device_count(w.rt, w.provider, &n, &w.error));
    GIVES(k, sealed, BURIN_E_NONE, burin_provider_describe(w.rt, w.provider, &d, &w.error));
    HOLDS(k, sealed, strcmp(d.name, k->provider->name) == 0);
    HOLDS(k, sealed, kit_close(&w));
}

void kit_check_registration(kit *k) {
    burin_error e = BURIN_ERROR_INIT;
    burin_provider t = *k->provider;
    GIVES(k, registers, BURIN_E_NONE, try_table(k, &t, &e));
    t.size = (uint32_t)sizeof t - 1;
    GIVES(k, size_small, BURIN_E_STRUCT_SIZE, try_table(k, &t, &e));
    t.size = 0;
    GIVES(k, size_zero, BURIN_E_STRUCT_SIZE, try_table(k, &t, &e));
    t.size = (uint32_t)sizeof t + 64;
    GIVES(k, size_large, BURIN_E_NONE, try_table(k, &t, &e));
    t = *k->provider;
    t.abi = BURIN_PROVIDER_ABI + 1;
    GIVES(k, abi_other, BURIN_E_ABI, try_table(k, &t, &e));
    HOLDS(k, abi_other, e.wanted == BURIN_PROVIDER_ABI && e.found == BURIN_PROVIDER_ABI + 1);
    t = *k->provider;
    t.name = NULL;
    GIVES(k, name_missing, BURIN_E_NAME, try_table(k, &t, &e));
    t.name = "Two Words";
    GIVES(k, name_bad, BURIN_E_NAME, try_table(k, &t, &e));
    t = *k->provider;
    t.version = NULL;
    GIVES(k, version_missing, BURIN_E_NAME, try_table(k, &t, &e));
    GIVES(k, no_table, BURIN_E_ARGUMENT, try_table(k, NULL, &e));
    check_members(k);
    check_sealed(k);
    burin_runtime *rt = NULL;
    burin_handle handle = BURIN_NO_HANDLE;
    if (burin_runtime_open(NULL, &rt, &e) == BURIN_E_NONE) {
        GIVES(k, load_absent, BURIN_E_NOT_LOADED, burin_provider_load(rt, "/nonexistent/provider.so", &handle, &e));
        GIVES(k, load_no_entry, BURIN_E_NOT_LOADED, burin_provider_load(rt, "libm.so.6", &handle, &e));
        (void)burin_runtime_close(&rt, NULL);
    }
}

/* ---- devices ---- */

static burin_code no_devices(void *user, uint32_t *count, burin_error *error) {
    (void)user;
    *count = 77;
    return burin_fail(error, BURIN_E_EXECUTION, "the bus does not answer");
}

static burin_code every_bit(void *user, uint32_t i, burin_device *out, burin_error *error) {
    (void)user, (void)i, (void)error;
    out->capabilities = UINT64_MAX;
    memcpy(out->id, "x", 2);
    return BURIN_E_NONE;
}

static void check_host_devices(kit *k) {
    kit_world w;
    burin_provider t = *k->provider;
    burin_device d = {.size = sizeof d};
    uint32_t n = 5;
    t.device_count = no_devices;
    if (kit_open(k, &w, NULL, &t)) {
        GIVES(k, devices_fail, BURIN_E_DEVICES, burin_device_count(w.rt, w.provider, &n, &w.error));
        HOLDS(k, devices_fail, n == 5);
        (void)kit_close(&w);
    }
    t = *k->provider;
    t.device = every_bit;
    if (kit_open(k, &w, NULL, &t)) {
        GIVES(k, device_unknown_bits, BURIN_E_NONE, burin_device_get(w.rt, w.provider, 0, &d, &w.error));
        HOLDS(k, device_unknown_bits, d.capabilities == 7);
        (void)kit_close(&w);
    }
}

void kit_check_devices(kit *k) {
    kit_world w;
    uint32_t n = 0, m = 0;
    burin_device d = {.size = sizeof d}, again = {.size = sizeof again}, before = {.size = sizeof before};
    burin_descriptor about = {.size = sizeof about};
    const burin_provider *p = k->provider;
    if (!kit_open(k, &w, NULL, NULL)) {
        return;
    }
    GIVES(k, descriptor, BURIN_E_NONE, burin_provider_describe(w.rt, w.provider, &about, &w.error));
    HOLDS(k, descriptor, strcmp(about.name, p->name) == 0 && strcmp(about.version, p->version) == 0);
    GIVES(k, devices, BURIN_E_NONE, burin_device_count(w.rt, w.provider, &n, &w.error));
    HOLDS(k, devices, n > 0);
    for (uint32_t i = 0; i < n; i++) {
        GIVES(k, devices, BURIN_E_NONE, burin_device_get(w.rt, w.provider, i, &d, &w.error));
        GIVES(k, devices_stable, BURIN_E_NONE, burin_device_get(w.rt, w.provider, i, &again, &w.error));
        HOLDS(k, devices_stable, strcmp(d.id, again.id) == 0 && d.capabilities == again.capabilities);
        HOLDS(k, device_ids, d.id[0] != 0 && strcmp(d.id, before.id) != 0);
        HOLDS(k, device_memory, d.has_memory == 0 || d.memory_bytes > 0);
        burin_device raw = {.size = sizeof raw};
        HOLDS(k, device_bits, p->device(p->user, i, &raw, NULL) == BURIN_E_NONE && raw.capabilities <= 7);
        before = d;
    }
    HOLDS(k, devices_stable, burin_device_count(w.rt, w.provider, &m, &w.error) == BURIN_E_NONE && m == n);
    GIVES(k, device_beyond, BURIN_E_NO_DEVICE, burin_device_get(w.rt, w.provider, n, &d, &w.error));
    HOLDS(k, device_beyond, p->device(p->user, n, &d, NULL) != BURIN_E_NONE);
    (void)kit_close(&w);
    check_host_devices(k);
}

/* ---- inspecting ---- */

static burin_code try_inspect(kit_world *w, const burin_source *source) {
    burin_handle artifact = BURIN_NO_HANDLE;
    burin_code code = burin_artifact_inspect(w->rt, w->provider, source, &artifact, &w->error);
    (void)burin_artifact_release(w->rt, &artifact, NULL);
    return code;
}

static bool refused(burin_code code) {
    return code == BURIN_E_FORMAT || code == BURIN_E_READ || code == BURIN_E_LIMIT;
}

static burin_code read_noise(void *user, uint64_t offset, void *to, size_t n) {
    (void)user, (void)offset;
    memset(to, 0xa5, n);
    return BURIN_E_NONE;
}

static void check_damage(kit *k, kit_world *w, uint64_t header_bytes) {
    kit_changed c;
    const uint64_t most = header_bytes < 400 ? header_bytes : 400;
    for (uint64_t i = 0; i < most; i++) {
        kit_change(&c, &k->model);
        c.at = i;
        c.with = (uint8_t)(1u << (i % 8));
        const burin_code code = try_inspect(w, &c.source);
        HOLDS(k, inspect_damaged, code == BURIN_E_NONE || strcmp(burin_code_name((uint32_t)code), "UNKNOWN") != 0);
        HOLDS(k, inspect_damaged, code != BURIN_E_CONTRACT);
    }
    kit_change(&c, &k->model);
    c.source.bytes = 0;
    HOLDS(k, inspect_empty, refused(try_inspect(w, &c.source)));
    kit_change(&c, &k->model);
    c.source.read = read_noise;
    HOLDS(k, inspect_noise, refused(try_inspect(w, &c.source)));
    kit_change(&c, &k->model);
    c.reads_left = 0;
    HOLDS(k, inspect_unreadable, try_inspect(w, &c.source) != BURIN_E_NONE);
    for (uint64_t bytes = 1; bytes < k->model.bytes; bytes += 1 + k->model.bytes / 16) {
        burin_handle model = BURIN_NO_HANDLE;
        kit_change(&c, &k->model);
        c.source.bytes = bytes;
        HOLDS(k, inspect_short, kit_model(w, &c.source, &model) != BURIN_E_NONE);
        (void)burin_model_release(w->rt, &model, NULL);
    }
    kit_change(&c, &k->model);
    c.source.read = NULL;
    GIVES(k, inspect_no_source, BURIN_E_ARGUMENT, try_inspect(w, &c.source));
}

void kit_check_inspect(kit *k) {
    kit_world w;
    burin_handle artifact = BURIN_NO_HANDLE, second = BURIN_NO_HANDLE;
    burin_inspection i = {.size = sizeof i}, again = {.size = sizeof again};
    if (!kit_open(k, &w, NULL, NULL)) {
        return;
    }
    const burin_code code = burin_artifact_inspect(w.rt, w.provider, &k->model, &artifact, &w.error);
    GIVES(k, inspects, BURIN_E_NONE, code);
    if (burin_artifact_get(w.rt, artifact, &i, &w.error) == BURIN_E_NONE) {
        const burin_stats s = kit_stats(&w);
        HOLDS(k, headers_only, s.payload_reads == 0 && s.header_reads > 0);
        HOLDS(k, inspect_takes_nothing, s.allocations == 0 && s.model_bytes == 0);
        HOLDS(k, inspect_adds_up, i.header_bytes > 0 && i.header_bytes + i.payload_bytes <= k->model.bytes);
        HOLDS(k, inspect_capabilities, (i.capabilities & ~k->provider->capabilities) == 0);
        HOLDS(k, inspects, i.output_count > 0 && i.format[0] != 0);
        (void)burin_artifact_inspect(w.rt, w.provider, &k->model, &second, &w.error);
        HOLDS(k, inspect_stable,
              burin_artifact_get(w.rt, second, &again, &w.error) == BURIN_E_NONE && memcmp(&i, &again, sizeof i) == 0);
        check_damage(k, &w, i.header_bytes);
    } else {
        HOLDS(k, headers_only, code != BURIN_E_PAYLOAD_READ);
    }
    (void)burin_artifact_release(w.rt, &artifact, NULL);
    (void)burin_artifact_release(w.rt, &second, NULL);
    (void)kit_close(&w);
    burin_runtime_options o = BURIN_RUNTIME_OPTIONS_INIT;
    o.header_limit = 1;
    if (kit_open(k, &w, &o, NULL)) {
        HOLDS(k, inspect_limit, refused(try_inspect(&w, &k->model)));
        HOLDS(k, inspect_limit, kit_stats(&w).header_reads <= 1);
        (void)kit_close(&w);
    }
}

/* ---- planning ---- */

static burin_code try_plan(kit_world *w, const burin_request *request) {
    burin_handle artifact = BURIN_NO_HANDLE, config = BURIN_NO_HANDLE;
    burin_code code = burin_artifact_inspect(w->rt, w->provider, &w->k->model, &artifact, &w->error);
    if (code == BURIN_E_NONE) {
        code = burin_artifact_plan(w->rt, &artifact, request, &config, &w->error);
        HOLDS(w->k, plan_consumes, artifact.owner == 0);
    }
    burin_error kept = w->error;
    (void)burin_config_release(w->rt, &config, NULL);
    w->error = kept;
    return code;
}

static void check_order(kit *k, kit_world *w) {
    const uint64_t never = (uint64_t)1 << 62;
    char words[300];
    burin_request r = BURIN_REQUEST_INIT;
    r.device = 9999;
    r.device_required = r.session_required = never;
    r.memory_limit = 1;
    GIVES(k, order_device, BURIN_E_NO_DEVICE, try_plan(w, &r));
    r.device = 0;
    GIVES(k, order_device_capability, BURIN_E_DEVICE_CAPABILITY, try_plan(w, &r));
    r.device_required = 0;
    r.session_required = never | 1;
    GIVES(k, order_session_capability, BURIN_E_SESSION_CAPABILITY, try_plan(w, &r));
    HOLDS(k, missing_told, w->error.wanted == (never | 1) && (w->error.found & never) == 0);
    r.session_required = 0;
    GIVES(k, plan_limit, BURIN_E_MEMORY_LIMIT, try_plan(w, &r));
    HOLDS(k, plan_limit, w->error.wanted > 1 && w->error.found == 1);
    HOLDS(k, plan_limit, kit_stats(w).payload_reads == 0 && kit_stats(w).allocations == 0);
    r.memory_limit = 0;
    r.options = "no_such_option_of_any_provider=1";
    GIVES(k, plan_options, BURIN_E_ARGUMENT, try_plan(w, &r));
    memset(words, 'a', sizeof words);
    words[sizeof words - 1] = 0;
    r.options = words;
    GIVES(k, plan_options_long, BURIN_E_ARGUMENT, try_plan(w, &r));
}

static void check_text(kit *k, kit_world *w, burin_handle config) {
    char text[2000], again[2000];
    size_t bytes = 0, more = 0;
    burin_handle second = BURIN_NO_HANDLE;
    kit_changed c;
    GIVES(k, config_size, BURIN_E_BUFFER_SIZE, burin_config_write(w->rt, config, text, 1, &bytes, &w->error));
    HOLDS(k, config_size, bytes > 1 && bytes <= sizeof text);
    GIVES(k, config_again, BURIN_E_NONE, burin_config_write(w->rt, config, text, sizeof text, &bytes, &w->error));
    GIVES(k, config_again, BURIN_E_NONE,
          burin_config_read(w->rt, w->provider, text, bytes - 1, &k->model, &second, &w->error));
    GIVES(k, config_again, BURIN_E_NONE, burin_config_write(w->rt, second, again, sizeof again, &more, &w->error));
    HOLDS(k, config_again, more == bytes && memcmp(text, again, bytes) == 0);
    (void)burin_config_release(w->rt, &second, NULL);
    for (size_t i = 0; i + 2 < bytes; i++) { /* not the final newline */
        text[i] ^= 1;
        burin_code code = burin_config_read(w->rt, w->provider, text, bytes - 1, &k->model, &second, &w->error);
        HOLDS(k, config_damaged, code == BURIN_E_CONFIG || code == BURIN_E_CONFIG_DIFFERS);
        (void)burin_config_release(w->rt, &second, NULL);
        text[i] ^= 1;
    }
    kit_change(&c, &k->model);
    c.source.bytes = k->model.bytes / 2;
    HOLDS(k, config_other_model,
          burin_config_read(w->rt, w->provider, text, bytes - 1, &c.source, &second, &w->error) != BURIN_E_NONE);
}

void kit_check_plan(kit *k) {
    kit_world w;
    burin_handle artifact = BURIN_NO_HANDLE, config = BURIN_NO_HANDLE, other = BURIN_NO_HANDLE;
    burin_inspection i = {.size = sizeof i};
    burin_plan_record p = {.size = sizeof p}, again = {.size = sizeof again};
    if (!kit_open(k, &w, NULL, NULL)) {
        return;
    }
    (void)burin_artifact_inspect(w.rt, w.provider, &k->model, &artifact, &w.error);
    (void)burin_artifact_get(w.rt, artifact, &i, NULL);
    const burin_handle alias = artifact;
    GIVES(k, plans, BURIN_E_NONE, burin_artifact_plan(w.rt, &artifact, NULL, &config, &w.error));
    HOLDS(k, plan_reads_no_weights, kit_stats(&w).payload_reads == 0 && w.error.code != BURIN_E_PAYLOAD_READ);
    HOLDS(k, inspect_takes_nothing, kit_stats(&w).allocations == 0);
    HOLDS(k, plan_consumes, artifact.owner == 0);
    GIVES(k, plan_alias, BURIN_E_STALE_HANDLE, burin_artifact_get(w.rt, alias, &i, &w.error));
    if (burin_config_get(w.rt, config, &p, &w.error) == BURIN_E_NONE) {
        HOLDS(k, plan_capabilities, (p.capabilities & ~i.capabilities) == 0);
        (void)kit_config(&w, &k->model, &other);
        HOLDS(k, plan_stable,
              burin_config_get(w.rt, other, &again, &w.error) == BURIN_E_NONE && memcmp(&p, &again, sizeof p) == 0);
        check_order(k, &w);
        check_text(k, &w, config);
    }
    (void)burin_config_release(w.rt, &config, NULL);
    (void)burin_config_release(w.rt, &other, NULL);
    (void)kit_close(&w);
}
