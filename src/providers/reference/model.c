/* model.c - a file as a model that the evaluator takes, compiled, and what both need.
 *
 * Takes a file's bytes. Gives models and runs in regions of a known size. The size is measured: the same is done in a region that is
 * large enough, and its peak is what the same needs again.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/formats.h"
#include "providers/reference/reference.h"

enum { WORDS = 1 << 16 }; /* bytes for what a run that fails has to say */

void reference_place_init(reference_place *p, void *at, size_t bytes) {
    *p = (reference_place){.arena = NULL};
    base_region_init(&p->region, at, bytes);
    p->heap = (base_memory){.realloc = base_region_realloc, .user = &p->region};
}

/* The first thing that was said. */
static burin_code fail(burin_error *error, burin_code code, const base_diags *d) {
    return burin_fail(error, code, d->list.n > 0 ? d->list.at[0].message : burin_code_text((uint32_t)code));
}

static burin_code no_memory(burin_error *error) {
    return burin_fail(error, BURIN_E_NO_MEMORY, "the evaluator's memory is not enough");
}

/* ---- reading ---- */

/* Contents that are in another file are copied, and are part of the identity: that file may change. */
static const void *own(reference_model *m, const void *data, uint64_t bytes, bool weights) {
    const uint8_t *at = data;
    if (data == NULL || (at >= m->file.at && at - m->file.at < (ptrdiff_t)m->file.size) ||
        base_arena_holds(m->place.arena, data)) {
        return data;
    }
    void *copy = base_alloc(m->place.arena, (size_t)bytes + 1, 1);
    if (weights) {
        memcpy(copy, data, (size_t)bytes);
        m->identity = base_hash(copy, (size_t)bytes, m->identity);
    }
    return copy;
}

static void own_all(reference_model *m, bool weights) {
    uint64_t bytes = 0;
    for (size_t g = 0; g < m->ir->graphs.n; g++) {
        ir_graph *graph = &m->ir->graphs.at[g];
        for (size_t t = 0; t < graph->tensors.n; t++) {
            ir_tensor *x = &graph->tensors.at[t];
            x->data = ir_tensor_bytes(x, &bytes) ? own(m, x->data, bytes, weights) : x->data;
        }
    }
    for (size_t i = 0; i < m->ir->states.n; i++) {
        ir_state *s = &m->ir->states.at[i];
        const ir_tensor as = {.type = s->type, .shape = s->shape};
        if (ir_tensor_bytes(&as, &bytes)) {
            s->data = own(m, s->data, bytes, weights);
            m->state_bytes += bytes;
        }
    }
}

/* What a node of the model's own graph computes, and a name tells from all else. */
static void find_activations(reference_model *m) {
    const ir_graph *g = &m->ir->graphs.at[0];
    base_map *names = base_map_new(m->place.arena);
    m->shown = BASE_NEWS(m->place.arena, bool, g->tensors.n + 1);
    m->activation = BASE_NEWS(m->place.arena, uint32_t, g->tensors.n + 1);
    for (size_t i = 0; i < g->nodes.n; i++) {
        for (size_t k = 0; k < g->nodes.at[i].output_count; k++) {
            const uint32_t t = g->nodes.at[i].outputs[k];
            const ir_tensor *x = &g->tensors.at[t];
            bool new = false;
            if (x->state == IR_NONE && x->name[0] != 0) {
                (void)base_map_put(names, x->name, strlen(x->name), &new);
            }
            if (new) {
                m->shown[t] = true;
                m->activation[m->activation_count++] = t;
            }
        }
    }
}

static burin_code read_in(reference_model *m, const char *name, bool weights, burin_error *error) {
    base_diags d = {.arena = m->place.arena};
    m->name = base_strdup(m->place.arena, name);
    m->hash = m->identity = base_hash(m->file.at, m->file.size, 1);
    m->state_bytes = 0;
    const formats_options options = {.folder = formats_folder(m->place.arena, m->name)};
    const base_status status = formats_read(m->place.arena, m->name, m->file, &options, &m->ir, &d);
    if (status != BASE_OK) {
        return fail(error, status == BASE_IO ? BURIN_E_READ : BURIN_E_FORMAT, &d);
    }
    own_all(m, weights);
    find_activations(m);
    return BURIN_E_NONE;
}

burin_code reference_read(reference_model *m, const char *name, bool weights, burin_error *error) {
    base_guard guard;
    if (BASE_GUARD(&m->place.heap, &guard)) {
        m->place.arena = NULL;
        return no_memory(error);
    }
    m->place.arena = base_arena_new(&m->place.heap);
    const burin_code code = read_in(m, name, weights, error);
    base_unguard(&m->place.heap, &guard);
    if (code != BURIN_E_NONE) {
        base_arena_free(m->place.arena);
        m->place.arena = NULL;
    }
    return code;
}

/* ---- compiling and running ---- */

static burin_code compile_in(reference_run *r, bool every_way, const ops_watch *watch, burin_error *error) {
    base_arena *arena = r->place.arena;
    base_diags d = {.arena = arena};
    const ops_session_options options = {.simplified = true, .every_way = every_way, .watch = watch};
    const ir_graph *g = &r->model->ir->graphs.at[0];
    if (ops_session_new(arena, ops_registry_new(arena), r->model->ir, &options, &r->ops, &d) != BASE_OK) {
        return fail(error, BURIN_E_FORMAT, &d);
    }
    r->inputs = BASE_NEWS(arena, const void *, g->inputs.n + 1);
    r->outputs = BASE_NEWS(arena, void *, g->outputs.n + 1);
    for (size_t i = 0; i < g->outputs.n; i++) {
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(&g->tensors.at[g->outputs.at[i]], &bytes);
        r->outputs[i] = base_alloc(arena, (size_t)bytes + 1, 1);
    }
    return BURIN_E_NONE;
}

burin_code reference_compile(reference_run *r, const reference_model *m, bool every_way, const ops_watch *watch,
                             burin_error *error) {
    base_guard guard;
    r->model = m;
    if (BASE_GUARD(&r->place.heap, &guard)) {
        r->place.arena = NULL;
        return no_memory(error);
    }
    r->place.arena = base_arena_new(&r->place.heap);
    const burin_code code = compile_in(r, every_way, watch, error);
    base_unguard(&r->place.heap, &guard);
    if (code != BURIN_E_NONE) {
        base_arena_free(r->place.arena);
        r->place.arena = NULL;
    }
    return code;
}

burin_code reference_execute(reference_run *r, burin_error *error) {
    base_guard guard;
    if (BASE_GUARD(&r->place.heap, &guard)) {
        return no_memory(error);
    }
    base_arena *scratch = base_arena_new(&r->place.heap);
    base_diags d = {.arena = scratch};
    burin_code code = BURIN_E_NONE;
    if (ops_session_run(r->ops, scratch, r->inputs, r->outputs, &d) != BASE_OK) {
        code = fail(error, BURIN_E_EXECUTION, &d);
    }
    base_arena_free(scratch);
    base_unguard(&r->place.heap, &guard);
    return code;
}

/* ---- measuring ---- */

/* A block of the system's, aligned as the host's are; *raw is to be freed. */
static void *block(size_t bytes, void **raw) {
    enum { ALIGNMENT = 64 };
    *raw = malloc(bytes + ALIGNMENT);
    return *raw != NULL ? (char *)*raw + (ALIGNMENT - (uintptr_t)*raw % ALIGNMENT) : NULL;
}

/* The largest input of the model, as zeros for all of them. */
static void *zeros_for(const ir_model *m) {
    const ir_graph *g = &m->graphs.at[0];
    uint64_t most = 0, bytes = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        most = ir_tensor_bytes(&g->tensors.at[g->inputs.at[i]], &bytes) && bytes > most ? bytes : most;
    }
    return most < SIZE_MAX - 64 ? calloc((size_t)most + 64, 1) : NULL;
}

/* Zeros may be what a model cannot run with: then, and where extents are another in each run, what was measured is no bound. */
static burin_code run_with_zeros(reference_run *r, bool *bound, burin_error *error) {
    burin_error unsaid = BURIN_ERROR_INIT;
    const ir_model *m = r->model->ir;
    const size_t n = m->graphs.at[0].inputs.n;
    void *zeros = zeros_for(m);
    for (size_t i = 0; i < n; i++) {
        r->inputs[i] = zeros;
    }
    const burin_code code = zeros != NULL ? reference_execute(r, &unsaid) : BURIN_E_NO_MEMORY;
    free(zeros);
    *bound = code == BURIN_E_NONE && m->symbols.n == 0;
    return code == BURIN_E_NO_MEMORY ? no_memory(error) : BURIN_E_NONE;
}

static burin_code measure_in(reference_model *m, reference_run *r, const char *name, reference_needs *needs,
                             burin_error *error) {
    bool bound = true;
    burin_code code = reference_read(m, name, false, error);
    code = code == BURIN_E_NONE ? reference_compile(r, m, true, NULL, error) : code;
    code = code == BURIN_E_NONE ? run_with_zeros(r, &bound, error) : code;
    const size_t peak = r->place.region.peak;
    needs->model = m->place.region.peak;
    needs->session = WORDS + (bound ? peak : 2 * peak);
    needs->state_bytes = m->state_bytes;
    needs->hash = m->hash;
    base_arena_free(r->place.arena);
    base_arena_free(m->place.arena);
    return code;
}

burin_code reference_measure(base_bytes file, const char *name, reference_needs *needs, burin_error *error) {
    const size_t most = SIZE_MAX / 64 / 1024;
    size_t size = ((size_t)1 << 26) + 8 * file.size;
    burin_code code = BURIN_E_NO_MEMORY;
    for (; code == BURIN_E_NO_MEMORY && size < most; size *= 4) {
        void *raw[2] = {NULL, NULL};
        reference_model m = {.file = file};
        reference_run r = {.ops = NULL};
        void *first = block(size, &raw[0]), *second = first != NULL ? block(size, &raw[1]) : NULL;
        if (second != NULL) {
            reference_place_init(&m.place, first, size);
            reference_place_init(&r.place, second, size);
            code = measure_in(&m, &r, name, needs, error);
        }
        free(raw[0]);
        free(raw[1]);
        if (second == NULL) {
            return no_memory(error);
        }
    }
    return code;
}
