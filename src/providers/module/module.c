/* module.c - the provider `module`: an emitted module in a shared object, behind the contract.
 *
 * Takes shared objects that burin/module.h made, by their path. Until a model is prepared the file is only read; then it is loaded by
 * the system, which has its code and weights once for all models of that file. A session is one block: the module's own record, its
 * arena, and what stands before. The work is done in submit, step by step; a cancel from elsewhere ends it before the next step.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/module/object.h"
#include "providers/providers.h"

enum { PAGE = 64, ALWAYS = BURIN_CAN_OUTPUT_OBSERVATION | BURIN_CAN_STATE_FORK | BURIN_CAN_NATIVE_CANCEL };
enum { STATE = BURIN_CAN_PERSISTENT_CACHE | BURIN_CAN_STATE_COPY };

/* inspect's words, and plan's */
enum { MODEL_BYTES, ARENA_BYTES, STATE_BYTES, HASH };

typedef struct module_model {
    burin_memory *memory;
    void *object; /* of dlopen */
    const burin_module *table;
    uint64_t words[8], capabilities;
    size_t bytes; /* of the file */
    char path[];  /* it is forked from there */
} module_model;

typedef struct module_session {
    module_model *model; /* owned */
    burin_memory *memory;
    void *record; /* P_model */
    uint8_t *arena;
    providers_work progress;
} module_session;

static size_t up(size_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static size_t session_bytes(const uint64_t *words) {
    return up(sizeof(module_session)) + up((size_t)words[MODEL_BYTES]) + (size_t)words[ARENA_BYTES];
}

static size_t model_bytes(const char *path) {
    return sizeof(module_model) + strlen(path) + 1;
}

/* ---- from a file to a model ---- */

static burin_code inspect(void *user, const burin_source *source, burin_inspection *out, burin_error *error) {
    (void)user;
    object_head head;
    uint8_t *file = NULL;
    burin_code code = providers_read(source, out, &file, error);
    if (code != BURIN_E_NONE) {
        return code;
    }
    code = object_find_head((base_bytes){file, (size_t)source->bytes}, &head, error);
    if (code == BURIN_E_NONE) {
        const burin_module_head *h = &head.numbers;
        out->input_count = h->input_count;
        out->output_count = h->output_count;
        out->activation_count = 0;
        out->header_bytes = source->bytes;
        out->payload_bytes = 0;
        out->capabilities = (uint64_t)ALWAYS | (h->state_bytes > 0 ? STATE : 0);
        memcpy(out->format, "module", sizeof "module");
        out->words[MODEL_BYTES] = h->model_bytes;
        out->words[ARENA_BYTES] = h->arena_bytes;
        out->words[STATE_BYTES] = h->state_bytes;
        out->words[HASH] = base_hash(file, (size_t)source->bytes, 1);
    }
    free(file);
    return code;
}

static burin_code plan(void *user, const burin_source *source, const burin_inspection *inspection,
                       const burin_request *request, burin_plan_record *out, burin_error *error) {
    (void)user;
    if (request->options != NULL && request->options[0] != 0) {
        return burin_fail(error, BURIN_E_ARGUMENT, "the module provider has no options");
    }
    out->model_bytes = model_bytes(providers_name(source));
    out->session_bytes = session_bytes(inspection->words);
    out->state_bytes = inspection->words[STATE_BYTES];
    out->capabilities = inspection->capabilities;
    memcpy(out->words, inspection->words, sizeof out->words);
    return BURIN_E_NONE;
}

static void release_model(void *user, void *model) {
    (void)user;
    module_model *m = model;
    if (m->object != NULL) {
        (void)dlclose(m->object);
    }
    m->memory->free(m->memory, m);
}

/* Has the object all that the head says, with types that there are? */
static bool is_whole(const burin_module *t, const burin_module_head *h) {
    burin_module_tensor tensor;
    bool whole = t != NULL && t->size == sizeof *t && t->tensor != NULL && t->init != NULL && t->input != NULL &&
                 t->output != NULL && t->step != NULL && t->cancel != NULL && t->reset != NULL && t->save != NULL &&
                 t->restore != NULL && t->text != NULL;
    for (size_t i = 0; whole && i < (size_t)h->input_count + h->output_count; i++) {
        const bool output = i >= h->input_count;
        whole = t->tensor(output, output ? i - h->input_count : i, &tensor) != 0 && tensor.type > BASE_NONE &&
                tensor.type < BASE_TYPE_COUNT && tensor.rank <= 8;
    }
    return whole;
}

/* All bytes of the file at the path, which are to be freed; NULL: it cannot be read, or is not so large. */
static uint8_t *read_path(const char *path, size_t bytes) {
    FILE *f = fopen(path, "rb");
    uint8_t *file = f != NULL ? malloc(bytes + 1) : NULL;
    if (file != NULL && fread(file, 1, bytes + 1, f) != bytes) {
        free(file);
        file = NULL;
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return file;
}

static burin_code load_checked(module_model *m, base_bytes file, burin_error *error) {
    object_head head;
    const burin_code code = object_find_head(file, &head, error);
    if (code != BURIN_E_NONE) {
        return code;
    }
    m->object = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
    if (m->object == NULL) {
        const char *why = dlerror();
        return burin_fail(error, BURIN_E_READ, why != NULL ? why : "the shared object could not be loaded");
    }
    m->table = dlsym(m->object, BURIN_MODULE_ENTRY_NAME);
    if (m->table == NULL || !object_is(file, &head, m->table->head)) {
        return burin_fail(error, BURIN_E_FORMAT,
                          m->table == NULL ? "the shared object has no " BURIN_MODULE_ENTRY_NAME
                                           : "another object is loaded from that path: give each its own");
    }
    return is_whole(m->table, &head.numbers)
               ? BURIN_E_NONE
               : burin_fail(error, BURIN_E_FORMAT,
                            "the module's table is not of this version, or contradicts its head");
}

/* Loads what is at the model's path, if it is what was planned. */
static burin_code load(module_model *m, size_t bytes, burin_error *error) {
    if (strchr(m->path, '/') == NULL) {
        return burin_fail(error, BURIN_E_READ, "a shared object is loaded by its path, which has a / in it");
    }
    uint8_t *file = read_path(m->path, bytes);
    if (file == NULL || base_hash(file, bytes, 1) != m->words[HASH]) {
        free(file);
        return burin_fail(error, BURIN_E_READ, "the file at that path is not the one that was given and planned");
    }
    const burin_code code = load_checked(m, (base_bytes){file, bytes}, error);
    free(file);
    return code;
}

/* What fails has given everything back. */
static burin_code make_model(burin_memory *memory, const char *path, const uint64_t *words, size_t bytes,
                             uint64_t capabilities, module_model **out, burin_error *error) {
    module_model *m = memory->alloc(memory, model_bytes(path));
    if (m == NULL) {
        return burin_fail(error, BURIN_E_NO_MEMORY, "no memory for the model");
    }
    m->memory = memory;
    m->capabilities = capabilities;
    m->bytes = bytes;
    memcpy(m->words, words, sizeof m->words);
    memcpy(m->path, path, strlen(path) + 1);
    const burin_code code = load(m, bytes, error);
    if (code != BURIN_E_NONE) {
        release_model(NULL, m);
        return code;
    }
    *out = m;
    return BURIN_E_NONE;
}

static burin_code prepare(void *user, const burin_source *source, const burin_plan_record *planned,
                          burin_memory *memory, void **model, burin_prepared *out, burin_error *error) {
    (void)user;
    const burin_inspection no_limit = {.header_limit = UINT64_MAX};
    module_model *m = NULL;
    uint8_t *file = NULL;
    burin_code code = providers_read(source, &no_limit, &file, error);
    if (code != BURIN_E_NONE) {
        return code;
    }
    const bool same = base_hash(file, (size_t)source->bytes, 1) == planned->words[HASH];
    free(file);
    if (!same) {
        return burin_fail(error, BURIN_E_FORMAT, "the file has changed since it was planned");
    }
    code = make_model(memory, providers_name(source), planned->words, (size_t)source->bytes, planned->capabilities, &m,
                      error);
    if (code == BURIN_E_NONE) {
        out->admitted = planned->capabilities;
        out->identity = m->words[HASH];
        *model = m;
    }
    return code;
}

/* ---- sessions ---- */

static void release_session(void *user, void *session) {
    module_session *s = session;
    burin_memory *memory = s->memory;
    providers_work_destroy(&s->progress);
    release_model(user, s->model);
    memory->free(memory, s);
}

static burin_code create_session(void *user, void *model, burin_memory *memory, void **session, burin_error *error) {
    module_model *m = model;
    module_session *s = memory->alloc(memory, session_bytes(m->words));
    if (s == NULL || !providers_work_init(&s->progress)) {
        memory->free(memory, s);
        release_model(user, m);
        return burin_fail(error, BURIN_E_NO_MEMORY, "no memory for the session");
    }
    s->model = m;
    s->memory = memory;
    s->record = (char *)s + up(sizeof *s);
    s->arena = (uint8_t *)s->record + up((size_t)m->words[MODEL_BYTES]);
    const int status = m->table->init(s->record, s->arena, (size_t)m->words[ARENA_BYTES]);
    if (status != 0) {
        (void)burin_fail(error, BURIN_E_EXECUTION, m->table->text(status));
        release_session(user, s);
        return BURIN_E_EXECUTION;
    }
    *session = s;
    return BURIN_E_NONE;
}

static uint64_t session_capabilities(void *user, void *session) {
    (void)user;
    return ((const module_session *)session)->model->capabilities;
}

static burin_code tensor(void *user, void *session, burin_role role, uint32_t i, burin_value *out, burin_error *error) {
    (void)user;
    burin_module_tensor t;
    const burin_module *table = ((const module_session *)session)->model->table;
    if (role == BURIN_ACTIVATION || table->tensor(role == BURIN_OUTPUT, i, &t) == 0) {
        return burin_fail(error, BURIN_E_ARGUMENT, "the module has no tensor of that number");
    }
    *out = (burin_value){.name = t.name != NULL && t.name[0] != 0 ? t.name : NULL,
                         .type = base_type_name((base_type)t.type),
                         .rank = t.rank,
                         .bytes = t.bytes};
    for (uint32_t d = 0; d < t.rank; d++) {
        out->dim[d] = t.dims[d];
    }
    return BURIN_E_NONE;
}

/* ---- work ---- */

/* Step by step; a run that is cancelled begins anew the next time. */
static burin_code execute(module_session *s) {
    const burin_module *t = s->model->table;
    int status = 0, done = 0;
    do {
        if (!providers_work_goes_on(&s->progress)) {
            t->cancel(s->record);
            (void)t->step(s->record, &done); /* which ends the run: the flag is taken back */
            return BURIN_E_CANCELLED;
        }
        status = t->step(s->record, &done);
    } while (status == 0 && !done);
    return status == 0 ? BURIN_E_NONE : burin_fail(&s->progress.failure, BURIN_E_EXECUTION, t->text(status));
}

static burin_code submit(void *user, void *session, const burin_work *work, burin_error *error) {
    (void)user, (void)error;
    module_session *s = session;
    for (uint32_t i = 0; i < work->input_count; i++) {
        memcpy(s->model->table->input(s->record, i), work->inputs[i].data, (size_t)work->inputs[i].bytes);
    }
    providers_work_begin(&s->progress, work);
    providers_work_end(&s->progress, execute(s));
    return BURIN_E_NONE;
}

static burin_code wait(void *user, void *session, uint64_t ticket, uint64_t nanoseconds, burin_progress *out,
                       burin_error *error) {
    (void)user;
    return providers_work_wait(&((module_session *)session)->progress, ticket, nanoseconds, out, error);
}

static burin_code observe(void *user, void *session, uint32_t i, void *to, size_t bytes, burin_value *out,
                          burin_error *error) {
    const module_session *s = session;
    const burin_code code = tensor(user, session, BURIN_OUTPUT, i, out, error);
    if (code == BURIN_E_NONE && out->bytes > bytes) {
        return burin_fail(error, BURIN_E_BUFFER_SIZE, "the output does not fit");
    }
    if (code == BURIN_E_NONE) {
        memcpy(to, s->model->table->output(s->record, i), (size_t)out->bytes);
    }
    return code;
}

/* ---- state ---- */

static burin_code told(const module_session *s, int status, burin_error *error) {
    return status == 0 ? BURIN_E_NONE : burin_fail(error, BURIN_E_EXECUTION, s->model->table->text(status));
}

static burin_code reset(void *user, void *session, burin_error *error) {
    (void)user;
    const module_session *s = session;
    return told(s, s->model->table->reset(s->record), error);
}

static burin_code save(void *user, void *session, void *to, size_t bytes, burin_error *error) {
    (void)user;
    const module_session *s = session;
    return told(s, s->model->table->save(s->record, to, bytes), error);
}

static burin_code restore(void *user, void *session, const void *from, size_t bytes, burin_error *error) {
    (void)user;
    const module_session *s = session;
    return told(s, s->model->table->restore(s->record, from, bytes), error);
}

/* The arena is all that a module has: state is a part of it. */
static burin_code fork_session(void *user, void *session, burin_memory *model_memory, burin_memory *session_memory,
                               void **forked, burin_error *error) {
    const module_session *s = session;
    const module_model *m = s->model;
    module_model *copy = NULL;
    burin_code code = make_model(model_memory, m->path, m->words, m->bytes, m->capabilities, &copy, error);
    code = code == BURIN_E_NONE ? create_session(user, copy, session_memory, forked, error) : code;
    if (code == BURIN_E_NONE) {
        memcpy(((module_session *)*forked)->arena, s->arena, (size_t)m->words[ARENA_BYTES]);
    }
    return code;
}

const burin_provider *providers_module(void);
const burin_provider *providers_module(void) {
    static const burin_provider table = {
        .size = sizeof table,
        .abi = BURIN_PROVIDER_ABI,
        .name = "module",
        .version = "1.0",
        .capabilities = (uint64_t)ALWAYS | STATE,
        .device_count = providers_device_count,
        .device = providers_device,
        .inspect = inspect,
        .plan = plan,
        .prepare = prepare,
        .release_model = release_model,
        .create_session = create_session,
        .release_session = release_session,
        .session_capabilities = session_capabilities,
        .tensor = tensor,
        .submit = submit,
        .wait = wait,
        .cancel = providers_no_cancel,
        .reset = reset,
        .observe = observe,
        .save = save,
        .restore = restore,
        .fork = fork_session,
    };
    return &table;
}
