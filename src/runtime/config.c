/* config.c - from a file to a configuration: inspected, selected and planned,
 * by headers alone; and as JSON.
 *
 * Takes a source and what the application requires. Gives a configuration in
 * which selection and plan stand together. A provider reads through the host,
 * which counts, and refuses what lies beyond the headers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "runtime/private.h"

/* ---- reading ---- */

typedef struct tracked {
    const burin_source *source;
    uint64_t limit; /* reads end here */
    uint64_t furthest, bytes;
} tracked;

static burin_code read_tracked(void *user, uint64_t offset, void *to, size_t n) {
    tracked *t = user;
    const burin_source *s = t->source;
    if (offset > s->bytes || n > s->bytes - offset) {
        return BURIN_E_READ;
    }
    if (offset + n > t->limit) {
        return t->furthest = UINT64_MAX, BURIN_E_PAYLOAD_READ;
    }
    t->bytes += n;
    t->furthest = offset + n > t->furthest ? offset + n : t->furthest;
    return n > 0 ? s->read(s->user, offset, to, n) : BURIN_E_NONE;
}

static burin_source tracked_source(tracked *t) {
    burin_source s = *t->source;
    s.user = t;
    s.read = read_tracked;
    return s;
}

static void count_reads(burin_runtime *rt, const tracked *t) {
    runtime_lock(rt);
    rt->stats.header_reads += t->bytes;
    runtime_unlock(rt);
}

/* ---- inspecting ---- */

static burin_code check_source(runtime_call *call, const burin_source *s) {
    if (s == NULL || s->size < sizeof *s) {
        return runtime_fail(call, BURIN_E_STRUCT_SIZE, sizeof *s, s != NULL ? s->size : 0, NULL);
    }
    if (s->read == NULL || s->name == NULL) {
        return runtime_fail(call, BURIN_E_ARGUMENT, 0, 0, "a source has a name, and a function that reads");
    }
    return BURIN_E_NONE;
}

burin_code runtime_inspect(runtime_call *call, const burin_source *source, burin_inspection *out) {
    const burin_provider *p = &call->provider->table;
    const uint64_t limit = call->rt->options.header_limit;
    tracked t = {.source = source, .limit = limit < source->bytes ? limit : source->bytes};
    const burin_source given = tracked_source(&t);
    *out = (burin_inspection){.size = sizeof *out, .header_limit = limit};
    burin_code code = runtime_returned(call, p->inspect(p->user, &given, out, call->error));
    count_reads(call->rt, &t);
    if (t.furthest == UINT64_MAX) {
        return runtime_fail(call, BURIN_E_LIMIT, limit + 1, limit, NULL);
    }
    if (code != BURIN_E_NONE) {
        return code;
    }
    uint64_t sum = 0;
    if (out->header_bytes > limit) {
        return runtime_fail(call, BURIN_E_LIMIT, out->header_bytes, limit, NULL);
    }
    if (t.furthest > out->header_bytes) {
        return runtime_fail(call, BURIN_E_PAYLOAD_READ, out->header_bytes, t.furthest, NULL);
    }
    if (!base_add_size(out->header_bytes, out->payload_bytes, &sum) || sum > source->bytes ||
        (out->capabilities & SESSION_KNOWN & ~p->capabilities) != 0) {
        runtime_breach(call->rt);
        return runtime_fail(call, BURIN_E_CONTRACT, sum, source->bytes,
                            "what inspect says contradicts the file, or the table");
    }
    out->capabilities &= SESSION_KNOWN;
    out->format[sizeof out->format - 1] = 0;
    return BURIN_E_NONE;
}

burin_code burin_artifact_inspect(burin_runtime *rt, burin_handle provider, const burin_source *source,
                                  burin_handle *artifact, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL, *fresh = NULL;
    runtime_selection s = {0};
    if (!runtime_begin(&call, rt, error, "inspect")) {
        return BURIN_E_ARGUMENT;
    }
    if (artifact == NULL) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    *artifact = (burin_handle)BURIN_NO_HANDLE;
    burin_code code = runtime_enter(&call, provider, BURIN_HANDLE_PROVIDER, &slot);
    if (code != BURIN_E_NONE) {
        return code;
    }
    code = check_source(&call, source);
    if (code == BURIN_E_NONE) {
        code = runtime_inspect(&call, source, &s.inspection);
    }
    if (code == BURIN_E_NONE) {
        s.source = *source;
        runtime_lock(rt);
        code = runtime_take_slot(&call, BURIN_HANDLE_ARTIFACT, (uint32_t)(slot - rt->slots), &fresh);
        if (code == BURIN_E_NONE) {
            fresh->of.selection = s;
            *artifact = runtime_handle_of(rt, fresh);
        }
        runtime_unlock(rt);
    }
    runtime_leave(rt, slot);
    return code;
}

burin_code burin_artifact_get(burin_runtime *rt, burin_handle artifact, burin_inspection *out, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "artifact")) {
        return BURIN_E_ARGUMENT;
    }
    if (out == NULL || out->size < sizeof *out) {
        return runtime_fail(&call, BURIN_E_STRUCT_SIZE, sizeof *out, out != NULL ? out->size : 0, NULL);
    }
    burin_code code = runtime_enter(&call, artifact, BURIN_HANDLE_ARTIFACT, &slot);
    if (code == BURIN_E_NONE) {
        *out = slot->of.selection.inspection;
        runtime_leave(rt, slot);
    }
    return code;
}

burin_code burin_artifact_release(burin_runtime *rt, burin_handle *artifact, burin_error *error) {
    runtime_call call;
    return runtime_begin(&call, rt, error, "release artifact")
               ? runtime_release_selection(&call, artifact, BURIN_HANDLE_ARTIFACT)
               : BURIN_E_ARGUMENT;
}

/* ---- planning ---- */

static burin_code missing(runtime_call *call, burin_code code, uint64_t wanted, uint64_t found) {
    char text[200];
    size_t n = (size_t)snprintf(text, sizeof text, "%s: ", burin_code_text((uint32_t)code));
    if (code == BURIN_E_SESSION_CAPABILITY) {
        runtime_capability_names(wanted & ~found, text + n, sizeof text - n);
    } else {
        snprintf(text + n, sizeof text - n, "wanted 0x%" PRIx64 ", found 0x%" PRIx64, wanted, found);
    }
    return runtime_fail(call, code, wanted, found, text);
}

/* In the order of session.h, [S25]. */
static burin_code select_and_plan(runtime_call *call, runtime_selection *s) {
    const burin_provider *p = &call->provider->table;
    const burin_request *r = &s->request;
    uint32_t devices = 0;
    burin_device device = {.size = sizeof device};
    burin_code code = runtime_returned(call, p->device_count(p->user, &devices, call->error));
    if (code == BURIN_E_NONE && r->device >= devices) {
        code = runtime_fail(call, BURIN_E_NO_DEVICE, r->device, devices, NULL);
    }
    if (code == BURIN_E_NONE) {
        code = runtime_returned(call, p->device(p->user, r->device, &device, call->error));
    }
    if (code == BURIN_E_NONE && (r->device_required & ~(device.capabilities & DEVICE_KNOWN)) != 0) {
        code = missing(call, BURIN_E_DEVICE_CAPABILITY, r->device_required, device.capabilities & DEVICE_KNOWN);
    }
    if (code == BURIN_E_NONE && (r->session_required & ~s->inspection.capabilities) != 0) {
        code = missing(call, BURIN_E_SESSION_CAPABILITY, r->session_required, s->inspection.capabilities);
    }
    if (code != BURIN_E_NONE) {
        return code;
    }
    tracked t = {.source = &s->source, .limit = s->inspection.header_bytes};
    const burin_source given = tracked_source(&t);
    s->plan = (burin_plan_record){.size = sizeof s->plan};
    code = runtime_returned(call, p->plan(p->user, &given, &s->inspection, r, &s->plan, call->error));
    count_reads(call->rt, &t);
    if (t.furthest == UINT64_MAX) {
        return runtime_fail(call, BURIN_E_PAYLOAD_READ, s->inspection.header_bytes, UINT64_MAX, NULL);
    }
    if (code != BURIN_E_NONE) {
        return code;
    }
    s->plan.capabilities &= SESSION_KNOWN;
    if ((s->plan.capabilities & ~s->inspection.capabilities) != 0) {
        runtime_breach(call->rt);
        return runtime_fail(call, BURIN_E_CONTRACT, s->plan.capabilities, s->inspection.capabilities,
                            "the plan has capabilities that the inspection has not");
    }
    if ((r->session_required & ~s->plan.capabilities) != 0) {
        return missing(call, BURIN_E_SESSION_CAPABILITY, r->session_required, s->plan.capabilities);
    }
    uint64_t sum = 0;
    if (!base_add_size(s->plan.model_bytes, s->plan.session_bytes, &sum) ||
        (r->memory_limit != 0 && sum > r->memory_limit)) {
        return runtime_fail(call, BURIN_E_MEMORY_LIMIT, sum, r->memory_limit, NULL);
    }
    return BURIN_E_NONE;
}

burin_code runtime_make_config(runtime_call *call, uint32_t provider, runtime_selection *s, burin_handle *config) {
    runtime_slot *fresh = NULL;
    burin_code code = select_and_plan(call, s);
    if (code == BURIN_E_NONE) {
        runtime_lock(call->rt);
        code = runtime_take_slot(call, BURIN_HANDLE_CONFIG, provider, &fresh);
        if (code == BURIN_E_NONE) {
            fresh->of.selection = *s;
            *config = runtime_handle_of(call->rt, fresh);
        }
        runtime_unlock(call->rt);
    }
    return code;
}

static burin_code take_request(runtime_call *call, runtime_selection *s, const burin_request *request) {
    const burin_request none = BURIN_REQUEST_INIT;
    if (request != NULL && request->size < sizeof *request) {
        return runtime_fail(call, BURIN_E_STRUCT_SIZE, sizeof *request, request->size, NULL);
    }
    s->request = request != NULL ? *request : none;
    const char *options = s->request.options != NULL ? s->request.options : "";
    const size_t n = strnlen(options, OPTIONS_SIZE);
    if (n == OPTIONS_SIZE) {
        return runtime_fail(call, BURIN_E_ARGUMENT, OPTIONS_SIZE - 1, n, "the options are longer than 255 bytes");
    }
    memcpy(s->options, options, n);
    s->options[n] = 0;
    s->request.options = s->options;
    return BURIN_E_NONE;
}

burin_code burin_artifact_plan(burin_runtime *rt, burin_handle *artifact, const burin_request *request,
                               burin_handle *config, burin_error *error) {
    runtime_call call;
    runtime_selection s;
    uint32_t provider = 0;
    if (!runtime_begin(&call, rt, error, "plan")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = runtime_consume_selection(&call, artifact, BURIN_HANDLE_ARTIFACT, &s, &provider);
    if (code != BURIN_E_NONE) {
        return code;
    }
    code = take_request(&call, &s, request);
    if (code == BURIN_E_NONE && config == NULL) {
        code = runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    if (config != NULL) {
        *config = (burin_handle)BURIN_NO_HANDLE;
    }
    if (code == BURIN_E_NONE) {
        code = runtime_make_config(&call, provider, &s, config);
    }
    runtime_unpin(rt, provider);
    return code;
}

burin_code burin_config_get(burin_runtime *rt, burin_handle config, burin_plan_record *out, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "config")) {
        return BURIN_E_ARGUMENT;
    }
    if (out == NULL || out->size < sizeof *out) {
        return runtime_fail(&call, BURIN_E_STRUCT_SIZE, sizeof *out, out != NULL ? out->size : 0, NULL);
    }
    burin_code code = runtime_enter(&call, config, BURIN_HANDLE_CONFIG, &slot);
    if (code == BURIN_E_NONE) {
        *out = slot->of.selection.plan;
        runtime_leave(rt, slot);
    }
    return code;
}

burin_code burin_config_release(burin_runtime *rt, burin_handle *config, burin_error *error) {
    runtime_call call;
    return runtime_begin(&call, rt, error, "release config")
               ? runtime_release_selection(&call, config, BURIN_HANDLE_CONFIG)
               : BURIN_E_ARGUMENT;
}

/* ---- as JSON: one object of numbers and texts, no nesting ---- */

/* The numbers of a configuration, in the order in which they are written.
 * X(key, where) */
#define CONFIG_NUMBERS(X)                                                                                              \
    X(device_required, request.device_required)                                                                        \
    X(session_required, request.session_required)                                                                      \
    X(memory_limit, request.memory_limit)                                                                              \
    X(header_bytes, inspection.header_bytes)                                                                           \
    X(payload_bytes, inspection.payload_bytes)                                                                         \
    X(model_bytes, plan.model_bytes)                                                                                   \
    X(session_bytes, plan.session_bytes)                                                                               \
    X(state_bytes, plan.state_bytes)                                                                                   \
    X(capabilities, plan.capabilities)

/* Texts of ours and options, which are any bytes: what is not plain ASCII is
 * \u00XX of its byte. */
static size_t put_text(char *to, size_t room, const char *key, const char *text) {
    size_t n = (size_t)snprintf(to, room, ",\"%s\":\"", key);
    for (; *text != 0; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool plain = c >= 32 && c < 127 && c != '"' && c != '\\';
        n += (size_t)snprintf(n < room ? to + n : NULL, n < room ? room - n : 0, plain ? "%c" : "\\u00%02x", c);
    }
    return n + (size_t)snprintf(n < room ? to + n : NULL, n < room ? room - n : 0, "\"");
}

static size_t write_config(char *to, size_t room, const runtime_registered *r, const char *device,
                           const runtime_selection *s) {
#define AT n < room ? to + n : NULL, n < room ? room - n : 0
    size_t n = (size_t)snprintf(to, room, "{\"burin_config\":1");
    n += put_text(AT, "provider", r->name);
    n += put_text(AT, "version", r->version);
    n += put_text(AT, "format", s->inspection.format);
    n += put_text(AT, "device", device);
    n += put_text(AT, "options", s->options);
#define NUMBER(key, where) n += (size_t)snprintf(AT, ",\"%s\":%" PRIu64, #key, s->where);
    CONFIG_NUMBERS(NUMBER)
#undef NUMBER
    const uint64_t check = n < room ? base_hash(to, n, 1) : 0;
    n += (size_t)snprintf(AT, ",\"check\":\"%016" PRIx64 "\"}\n", check);
#undef AT
    return n + 1;
}

burin_code burin_config_write(burin_runtime *rt, burin_handle config, char *text, size_t room, size_t *bytes,
                              burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    burin_device device = {.size = sizeof device};
    if (!runtime_begin(&call, rt, error, "write config")) {
        return BURIN_E_ARGUMENT;
    }
    burin_code code = bytes != NULL ? runtime_enter(&call, config, BURIN_HANDLE_CONFIG, &slot)
                                    : runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    if (code != BURIN_E_NONE) {
        return code;
    }
    const runtime_selection *s = &slot->of.selection;
    const burin_provider *p = &call.provider->table;
    code = runtime_returned(&call, p->device(p->user, s->request.device, &device, call.error));
    if (code == BURIN_E_NONE) {
        device.id[sizeof device.id - 1] = 0;
        *bytes = write_config(NULL, 0, call.provider, device.id, s);
        if (text == NULL || room < *bytes) {
            code = runtime_fail(&call, BURIN_E_BUFFER_SIZE, *bytes, text != NULL ? room : 0, NULL);
        } else {
            (void)write_config(text, room, call.provider, device.id, s);
        }
    }
    runtime_leave(rt, slot);
    return code;
}

/* A cursor over the text; at is NULL once something did not fit. */
typedef struct reader {
    const char *at, *end;
} reader;

static void expect(reader *r, const char *text) {
    const size_t n = strlen(text);
    if (r->at != NULL && (size_t)(r->end - r->at) >= n && memcmp(r->at, text, n) == 0) {
        r->at += n;
    } else {
        r->at = NULL;
    }
}

static unsigned hex_digit(char c) {
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

static void read_text(reader *r, const char *key, char *to, size_t room) {
    size_t n = 0;
    expect(r, ",\"");
    expect(r, key);
    expect(r, "\":\"");
    while (r->at != NULL && r->at < r->end && *r->at != '"') {
        unsigned c = (unsigned char)*r->at++;
        if (c == '\\') {
            expect(r, "u00");
            if (r->at == NULL || r->end - r->at < 2 || hex_digit(r->at[0]) > 15 || hex_digit(r->at[1]) > 15) {
                r->at = NULL;
                break;
            }
            c = hex_digit(r->at[0]) * 16 + hex_digit(r->at[1]);
            r->at += 2;
        }
        if (c == 0 || n + 1 >= room) {
            r->at = NULL;
            break;
        }
        to[n++] = (char)c;
    }
    to[n] = 0;
    expect(r, "\"");
}

static uint64_t read_number(reader *r, const char *key) {
    uint64_t v = 0;
    expect(r, ",\"");
    expect(r, key);
    expect(r, "\":");
    const char *first = r->at;
    while (r->at != NULL && r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        const uint64_t digit = (uint64_t)(*r->at - '0');
        r->at = v > (UINT64_MAX - digit) / 10 ? NULL : r->at + 1;
        v = v * 10 + digit;
    }
    r->at = r->at == first ? NULL : r->at;
    return v;
}

typedef struct said {
    char provider[32], version[32], format[16], device[32], options[OPTIONS_SIZE];
    runtime_selection numbers;
} said;

static bool parse(const char *text, size_t bytes, said *out) {
    reader r = {text, text + bytes};
    expect(&r, "{\"burin_config\":1");
    read_text(&r, "provider", out->provider, sizeof out->provider);
    read_text(&r, "version", out->version, sizeof out->version);
    read_text(&r, "format", out->format, sizeof out->format);
    read_text(&r, "device", out->device, sizeof out->device);
    read_text(&r, "options", out->options, sizeof out->options);
#define NUMBER(key, where) out->numbers.where = read_number(&r, #key);
    CONFIG_NUMBERS(NUMBER)
#undef NUMBER
    const char *checked = r.at;
    char check[17], computed[17];
    read_text(&r, "check", check, sizeof check);
    snprintf(computed, sizeof computed, "%016" PRIx64,
             checked != NULL ? base_hash(text, (size_t)(checked - text), 1) : 0);
    expect(&r, strcmp(check, computed) == 0 ? "}" : "damaged");
    while (r.at != NULL && r.at < r.end && (*r.at == '\n' || *r.at == ' ' || (*r.at == 0 && r.at + 1 == r.end))) {
        r.at++;
    }
    return r.at != NULL && r.at == r.end;
}

static burin_code find_device(runtime_call *call, const char *id, uint32_t *number) {
    const burin_provider *p = &call->provider->table;
    uint32_t n = 0;
    burin_code code = runtime_returned(call, p->device_count(p->user, &n, call->error));
    for (uint32_t i = 0; i < n && code == BURIN_E_NONE; i++) {
        burin_device d = {.size = sizeof d};
        code = runtime_returned(call, p->device(p->user, i, &d, call->error));
        d.id[sizeof d.id - 1] = 0;
        if (code == BURIN_E_NONE && strcmp(d.id, id) == 0) {
            *number = i;
            return BURIN_E_NONE;
        }
    }
    return code != BURIN_E_NONE ? code : runtime_fail(call, BURIN_E_NO_DEVICE, 0, n, NULL);
}

/* The model, as it is now, against what the text says of it. */
static burin_code compare(runtime_call *call, const runtime_selection *s, const said *t) {
    if (strcmp(s->inspection.format, t->format) != 0) {
        return runtime_fail(call, BURIN_E_CONFIG_DIFFERS, 0, 0, "the model is of another format");
    }
#define NUMBER(key, where)                                                                                             \
    if (s->where != t->numbers.where) {                                                                                \
        return runtime_fail(call, BURIN_E_CONFIG_DIFFERS, t->numbers.where, s->where,                                  \
                            #key " is another than is said");                                                          \
    }
    CONFIG_NUMBERS(NUMBER)
#undef NUMBER
    return BURIN_E_NONE;
}

static burin_code read_config(runtime_call *call, uint32_t provider, const char *text, size_t bytes,
                              const burin_source *source, burin_handle *config) {
    said t = {0};
    runtime_selection s = {0};
    runtime_selection planned;
    if (text == NULL || !parse(text, bytes, &t)) {
        return runtime_fail(call, BURIN_E_CONFIG, 0, 0, "the text is no configuration of version 1");
    }
    if (strcmp(t.provider, call->provider->name) != 0 || strcmp(t.version, call->provider->version) != 0) {
        return runtime_fail(call, BURIN_E_CONFIG, 0, 0,
                            "the configuration is of another provider, or another version of it");
    }
    burin_request request = t.numbers.request;
    request.size = sizeof request;
    request.options = t.options;
    burin_code code = find_device(call, t.device, &request.device);
    if (code == BURIN_E_NONE) {
        code = runtime_inspect(call, source, &s.inspection);
    }
    if (code == BURIN_E_NONE) {
        s.source = *source;
        code = take_request(call, &s, &request);
    }
    planned = s;
    planned.request.options = planned.options;
    if (code == BURIN_E_NONE) {
        code = select_and_plan(call, &planned);
    }
    if (code == BURIN_E_NONE) {
        code = compare(call, &planned, &t);
    }
    return code == BURIN_E_NONE ? runtime_make_config(call, provider, &s, config) : code;
}

burin_code burin_config_read(burin_runtime *rt, burin_handle provider, const char *text, size_t bytes,
                             const burin_source *source, burin_handle *config, burin_error *error) {
    runtime_call call;
    runtime_slot *slot = NULL;
    if (!runtime_begin(&call, rt, error, "read config")) {
        return BURIN_E_ARGUMENT;
    }
    if (config == NULL) {
        return runtime_fail(&call, BURIN_E_ARGUMENT, 0, 0, NULL);
    }
    *config = (burin_handle)BURIN_NO_HANDLE;
    burin_code code = check_source(&call, source);
    if (code == BURIN_E_NONE) {
        code = runtime_enter(&call, provider, BURIN_HANDLE_PROVIDER, &slot);
    }
    if (code == BURIN_E_NONE) {
        code = read_config(&call, (uint32_t)(slot - rt->slots), text, bytes, source, config);
        runtime_leave(rt, slot);
    }
    return code;
}
