/* reference.c - the provider `reference`: the evaluator behind the contract.
 *
 * Takes files of every format that Burin reads. Gives outputs bit for bit as the definitions say them. The file is shared by content;
 * what is read from it is one block of the model, and the compiled operators with all that a run needs are one block of the session.
 * The work is done in submit; a cancel from elsewhere ends it before the next operator.
 */
#include <stdlib.h>
#include <string.h>

#include "providers/providers.h"
#include "providers/reference/reference.h"

enum { PAGE = 64, ALWAYS = BURIN_CAN_OUTPUT_OBSERVATION | BURIN_CAN_STATE_FORK | BURIN_CAN_NATIVE_CANCEL };
enum { STATE = BURIN_CAN_PERSISTENT_CACHE | BURIN_CAN_STATE_COPY };

/* plan's words */
enum { MODEL_REGION, SESSION_REGION, HASH };

typedef struct reference_session {
    reference_run run;
    reference_model *model; /* owned */
    burin_memory *memory;
    ops_watch watch;
    const burin_work *work; /* while submit goes */
    providers_work progress;
} reference_session;

static size_t head_of(size_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* ---- from a file to a model ---- */

static burin_code inspect(void *user, const burin_source *source, burin_inspection *out, burin_error *error) {
    (void)user;
    uint8_t *file = NULL;
    burin_code code = providers_read(source, out, &file, error);
    if (code != BURIN_E_NONE) {
        return code;
    }
    reference_model m = {.file = {file, (size_t)source->bytes}};
    code = reference_read(&m, providers_name(source), false, error);
    if (code == BURIN_E_NONE) {
        const ir_graph *g = &m.ir->graphs.at[0];
        out->input_count = (uint32_t)g->inputs.n;
        out->output_count = (uint32_t)g->outputs.n;
        out->activation_count = m.activation_count;
        out->header_bytes = source->bytes;
        out->payload_bytes = 0;
        out->capabilities = (uint64_t)ALWAYS | (m.activation_count > 0 ? BURIN_CAN_ACTIVATION_INSPECTION : 0) |
                            (m.ir->states.n > 0 ? STATE : 0);
        const size_t n = strlen(m.ir->format) < sizeof out->format ? strlen(m.ir->format) : sizeof out->format - 1;
        memcpy(out->format, m.ir->format, n);
        out->format[n] = 0;
        base_arena_free(m.place.arena);
    }
    free(file);
    return code;
}

static burin_code plan(void *user, const burin_source *source, const burin_inspection *inspection,
                       const burin_request *request, burin_plan_record *out, burin_error *error) {
    (void)user;
    uint8_t *file = NULL;
    reference_needs needs = {0};
    if (request->options != NULL && request->options[0] != 0) {
        return burin_fail(error, BURIN_E_ARGUMENT, "the reference provider has no options");
    }
    burin_code code = providers_read(source, inspection, &file, error);
    if (code != BURIN_E_NONE) {
        return code;
    }
    code = reference_measure((base_bytes){file, (size_t)source->bytes}, providers_name(source), &needs, error);
    free(file);
    if (code != BURIN_E_NONE) {
        return code;
    }
    out->model_bytes = source->bytes + head_of(sizeof(reference_model)) + needs.model;
    out->session_bytes = head_of(sizeof(reference_session)) + needs.session;
    out->state_bytes = (inspection->capabilities & BURIN_CAN_STATE_COPY) != 0 ? needs.state_bytes : 0;
    out->capabilities = inspection->capabilities;
    out->words[MODEL_REGION] = needs.model;
    out->words[SESSION_REGION] = needs.session;
    out->words[HASH] = needs.hash;
    return BURIN_E_NONE;
}

static void release_model(void *user, void *model) {
    (void)user;
    reference_model *m = model;
    burin_memory *memory = m->memory;
    base_arena_free(m->place.arena);
    memory->unshare(memory, m->file.at);
    memory->free(memory, m);
}

/* A model of `file`, a block of the memory, which is given up; what fails has given everything back. */
static burin_code make_model(burin_memory *memory, void *file, size_t bytes, const char *name, const uint64_t *words,
                             reference_model **out, burin_error *error) {
    reference_model *m = memory->alloc(memory, head_of(sizeof *m) + (size_t)words[MODEL_REGION]);
    const void *shared = m != NULL ? memory->share(memory, file) : NULL;
    if (shared == NULL) {
        memory->free(memory, file);
        memory->free(memory, m);
        return burin_fail(error, BURIN_E_NO_MEMORY, "no memory for the model");
    }
    *m = (reference_model){.memory = memory, .file = {shared, bytes}, .session_region = (size_t)words[SESSION_REGION]};
    reference_place_init(&m->place, (char *)m + head_of(sizeof *m), (size_t)words[MODEL_REGION]);
    const burin_code code = reference_read(m, name, true, error);
    if (code != BURIN_E_NONE || m->hash != words[HASH]) {
        release_model(NULL, m);
        return code == BURIN_E_READ ? code
                                    : burin_fail(error, BURIN_E_FORMAT, "the file has changed since it was planned");
    }
    *out = m;
    return BURIN_E_NONE;
}

static burin_code prepare(void *user, const burin_source *source, const burin_plan_record *planned,
                          burin_memory *memory, void **model, burin_prepared *out, burin_error *error) {
    (void)user;
    const size_t bytes = (size_t)source->bytes;
    reference_model *m = NULL;
    void *file = memory->alloc(memory, bytes);
    if (file == NULL) {
        return burin_fail(error, BURIN_E_NO_MEMORY, "no memory for the file");
    }
    if (source->read(source->user, 0, file, bytes) != BURIN_E_NONE) {
        memory->free(memory, file);
        return burin_fail(error, BURIN_E_READ, "the file could not be read");
    }
    const burin_code code = make_model(memory, file, bytes, providers_name(source), planned->words, &m, error);
    if (code == BURIN_E_NONE) {
        m->capabilities = planned->capabilities;
        out->admitted = planned->capabilities;
        out->identity = m->identity;
        *model = m;
    }
    return code;
}

/* ---- sessions ---- */

static bool goes_on(void *user) {
    return providers_work_goes_on(&((reference_session *)user)->progress);
}

static burin_value value_of(const ir_tensor *t, const ir_shape *shape, const void *data) {
    const ir_tensor as = {.type = t->type, .shape = *shape};
    burin_value v = {
        .name = t->name[0] != 0 ? t->name : NULL, .type = base_type_name(t->type), .rank = shape->rank, .data = data};
    memcpy(v.dim, shape->dim, sizeof v.dim);
    (void)ir_tensor_bytes(&as, &v.bytes);
    return v;
}

static void computed(void *user, uint32_t tensor, const ir_shape *shape, const void *data) {
    const reference_session *s = user;
    const burin_work *w = s->work;
    const ir_tensor *t = &s->model->ir->graphs.at[0].tensors.at[tensor];
    if (w->observed != 0 && s->model->shown[tensor] && w->control->wants(w->control, t->name)) {
        const burin_value v = value_of(t, shape, data);
        w->control->activation(w->control, &v);
    }
}

static void release_session(void *user, void *session) {
    reference_session *s = session;
    burin_memory *memory = s->memory;
    base_arena_free(s->run.place.arena);
    release_model(user, s->model);
    providers_work_destroy(&s->progress);
    memory->free(memory, s);
}

static burin_code create_session(void *user, void *model, burin_memory *memory, void **session, burin_error *error) {
    reference_model *m = model;
    reference_session *s = memory->alloc(memory, head_of(sizeof *s) + m->session_region);
    if (s == NULL || !providers_work_init(&s->progress)) {
        memory->free(memory, s);
        release_model(user, m);
        return burin_fail(error, BURIN_E_NO_MEMORY, "no memory for the session");
    }
    s->model = m;
    s->memory = memory;
    s->watch = (ops_watch){s, goes_on, computed};
    reference_place_init(&s->run.place, (char *)s + head_of(sizeof *s), m->session_region);
    const burin_code code = reference_compile(&s->run, m, false, &s->watch, error);
    if (code != BURIN_E_NONE) {
        release_session(user, s);
        return code;
    }
    *session = s;
    return BURIN_E_NONE;
}

static uint64_t session_capabilities(void *user, void *session) {
    (void)user;
    return ((const reference_session *)session)->model->capabilities;
}

/* The tensor of that number; NULL: there is none. */
static const ir_tensor *find(const reference_model *m, burin_role role, uint32_t i) {
    const ir_graph *g = &m->ir->graphs.at[0];
    switch (role) {
    case BURIN_INPUT:
        return i < g->inputs.n ? &g->tensors.at[g->inputs.at[i]] : NULL;
    case BURIN_OUTPUT:
        return i < g->outputs.n ? &g->tensors.at[g->outputs.at[i]] : NULL;
    case BURIN_ACTIVATION:
        return i < m->activation_count ? &g->tensors.at[m->activation[i]] : NULL;
    }
    return NULL;
}

static burin_code tensor(void *user, void *session, burin_role role, uint32_t i, burin_value *out, burin_error *error) {
    (void)user;
    const ir_tensor *t = find(((const reference_session *)session)->model, role, i);
    if (t == NULL) {
        return burin_fail(error, BURIN_E_ARGUMENT, "the model has no tensor of that number");
    }
    *out = value_of(t, &t->shape, NULL);
    out->open = ir_shape_open(&t->shape);
    return BURIN_E_NONE;
}

/* ---- work ---- */

/* One symbol has one number in a run. */
static bool agree(const reference_model *m, const burin_work *work) {
    const ir_graph *g = &m->ir->graphs.at[0];
    for (size_t k = 0; m->ir->symbols.n > 0 && k < g->inputs.n; k++) {
        const ir_shape *a = &g->tensors.at[g->inputs.at[k]].shape;
        for (uint32_t d = 0; d < a->rank; d++) {
            for (size_t j = 0; a->symbol[d] != 0 && j <= k; j++) {
                const ir_shape *b = &g->tensors.at[g->inputs.at[j]].shape;
                for (uint32_t e = 0; e < b->rank; e++) {
                    if (b->symbol[e] == a->symbol[d] && work->inputs[j].dim[e] != work->inputs[k].dim[d]) {
                        return false;
                    }
                }
            }
        }
    }
    return true;
}

static burin_code execute(reference_session *s, const burin_work *work) {
    const ir_graph *g = &s->model->ir->graphs.at[0];
    for (size_t i = 0; i < g->inputs.n; i++) {
        s->run.inputs[i] = work->inputs[i].data;
        if (s->model->ir->symbols.n > 0) {
            const ir_shape shape = ir_shape_of(work->inputs[i].rank, work->inputs[i].dim);
            ops_session_set_input_shape(s->run.ops, i, &shape);
        }
    }
    return reference_execute(&s->run, &s->progress.failure);
}

static burin_code submit(void *user, void *session, const burin_work *work, burin_error *error) {
    (void)user;
    reference_session *s = session;
    if (!agree(s->model, work)) {
        return burin_fail(error, BURIN_E_INPUT, "two inputs have one symbol with two numbers");
    }
    s->work = work;
    providers_work_begin(&s->progress, work);
    providers_work_end(&s->progress, goes_on(s) ? execute(s, work) : BURIN_E_CANCELLED);
    return BURIN_E_NONE;
}

static burin_code wait(void *user, void *session, uint64_t ticket, uint64_t nanoseconds, burin_progress *out,
                       burin_error *error) {
    (void)user;
    return providers_work_wait(&((reference_session *)session)->progress, ticket, nanoseconds, out, error);
}

static burin_code observe(void *user, void *session, uint32_t i, void *to, size_t bytes, burin_value *out,
                          burin_error *error) {
    (void)user;
    const reference_session *s = session;
    const ir_tensor *t = find(s->model, BURIN_OUTPUT, i);
    if (t == NULL) {
        return burin_fail(error, BURIN_E_ARGUMENT, "the model has no output of that number");
    }
    const ir_shape shape = ops_session_output_shape(s->run.ops, i);
    *out = value_of(t, &shape, to);
    out->open = ir_shape_open(&t->shape);
    if (out->bytes > bytes) {
        return burin_fail(error, BURIN_E_BUFFER_SIZE, "the output does not fit");
    }
    memcpy(to, s->run.outputs[i], (size_t)out->bytes);
    return BURIN_E_NONE;
}

/* ---- state ---- */

static burin_code reset(void *user, void *session, burin_error *error) {
    (void)user, (void)error;
    ops_session_reset(((reference_session *)session)->run.ops);
    return BURIN_E_NONE;
}

/* The states stand one after the other, in the model's order. */
static burin_code save(void *user, void *session, void *to, size_t bytes, burin_error *error) {
    (void)user;
    const reference_session *s = session;
    char *at = to;
    if (bytes != s->model->state_bytes) {
        return burin_fail(error, BURIN_E_BUFFER_SIZE, "the state has another size");
    }
    for (uint32_t i = 0; i < s->model->ir->states.n; i++) {
        const size_t n = (size_t)ops_session_state_bytes(s->run.ops, i);
        memcpy(at, ops_session_state(s->run.ops, i), n);
        at += n;
    }
    return BURIN_E_NONE;
}

static burin_code restore(void *user, void *session, const void *from, size_t bytes, burin_error *error) {
    (void)user;
    reference_session *s = session;
    const char *at = from;
    if (bytes != s->model->state_bytes) {
        return burin_fail(error, BURIN_E_BUFFER_SIZE, "the state has another size");
    }
    for (uint32_t i = 0; i < s->model->ir->states.n; i++) {
        ops_session_set_state(s->run.ops, i, at);
        at += ops_session_state_bytes(s->run.ops, i);
    }
    return BURIN_E_NONE;
}

/* The model is made again from the file's bytes, which the two then share. */
static burin_code fork_session(void *user, void *session, burin_memory *model_memory, burin_memory *session_memory,
                               void **forked, burin_error *error) {
    const reference_session *s = session;
    const reference_model *m = s->model;
    const uint64_t words[] = {m->place.region.size, m->session_region, m->hash};
    reference_model *copy = NULL;
    void *file = model_memory->alloc(model_memory, m->file.size);
    if (file == NULL) {
        return burin_fail(error, BURIN_E_NO_MEMORY, "no memory for the file");
    }
    memcpy(file, m->file.at, m->file.size);
    burin_code code = make_model(model_memory, file, m->file.size, m->name, words, &copy, error);
    if (code == BURIN_E_NONE && copy->identity != m->identity) {
        release_model(user, copy);
        return burin_fail(error, BURIN_E_FORMAT, "files that the model names have changed");
    }
    if (code == BURIN_E_NONE) {
        copy->capabilities = m->capabilities;
        code = create_session(user, copy, session_memory, forked, error);
    }
    for (uint32_t i = 0; code == BURIN_E_NONE && i < m->ir->states.n; i++) {
        ops_session_set_state(((reference_session *)*forked)->run.ops, i, ops_session_state(s->run.ops, i));
    }
    return code;
}

/* ---- a sample: the sum of all inputs so far, weighed ---- */

static const char sample_text[] = "burin 1\n"
                                  "model \"ir\" \"sum\"\n"
                                  "state @0 f32[4] \"sum\"\n"
                                  "graph \"main\" 0 {\n"
                                  "  tensor %0 f32[4] \"x\"\n"
                                  "  tensor %1 f32[4] \"sum\" state @0\n"
                                  "  tensor %2 f32[4] \"layer.sum\"\n"
                                  "  tensor %3 f32[4] \"weights\" = hex \"0000803f00000040000000bf00008040\"\n"
                                  "  tensor %4 f32[4] \"y\"\n"
                                  "  inputs (%0)\n"
                                  "  outputs (%4)\n"
                                  "  node add (%0, %1) -> (%2)\n"
                                  "  node identity (%2) -> (%1)\n"
                                  "  node mul (%2, %3) -> (%4)\n"
                                  "}\n";

static burin_code read_sample(void *user, uint64_t offset, void *to, size_t n) {
    (void)user;
    if (offset > sizeof sample_text - 1 || n > sizeof sample_text - 1 - (size_t)offset) {
        return BURIN_E_READ;
    }
    memcpy(to, sample_text + offset, n);
    return BURIN_E_NONE;
}

static burin_code sample(void *user, uint32_t i, burin_source *out) {
    (void)user;
    *out = (burin_source){sizeof *out, 0, "sum", sizeof sample_text - 1, NULL, read_sample};
    return i > 0 ? BURIN_E_UNSUPPORTED : BURIN_E_NONE;
}

const burin_provider *providers_reference(void);
const burin_provider *providers_reference(void) {
    static const burin_provider table = {
        .size = sizeof table,
        .abi = BURIN_PROVIDER_ABI,
        .name = "reference",
        .version = "1.0",
        .capabilities = (uint64_t)ALWAYS | STATE | BURIN_CAN_ACTIVATION_INSPECTION,
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
        .sample = sample,
    };
    return &table;
}
