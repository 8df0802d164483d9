/* model.c - models from files and from memory, and what a caller can ask of them.
 *
 * Takes paths or bytes. Gives models that borrow them.
 */
#include <string.h>

#include "api/api.h"

typedef struct load_call {
    const char *name;
    const void *bytes; /* NULL: name is a path */
    size_t size;
    burin_model *model;
} load_call;

/* What is refused only for its operators is loaded all the same, for inspect; its diagnostics are taken back until a
 * call needs the whole model. */
static base_status read_model(burin_context *c, burin_model *m) {
    const size_t n = c->diags.list.n, errors = c->diags.errors, warnings = c->diags.warnings,
                 dropped = c->diags.dropped;
    base_status status = formats_read(c->arena, m->file, m->bytes, NULL, &m->ir, &c->diags);
    base_diags again = {.arena = c->arena};
    const formats_options lenient = {.keep_unsupported = true};
    if (status == BASE_REFUSED && formats_read(c->arena, m->file, m->bytes, &lenient, &m->ir, &again) == BASE_OK) {
        m->unsupported = true;
        c->diags.list.n = n;
        c->diags.errors = errors;
        c->diags.warnings = warnings;
        c->diags.dropped = dropped;
        status = BASE_OK;
    }
    return status;
}

static base_status load(burin_context *c, void *arguments) {
    load_call *call = arguments;
    burin_model *m = BASE_NEW(c->arena, burin_model);
    base_file file = {.at = call->bytes, .size = call->size};
    base_status status = call->bytes != NULL ? BASE_OK : base_file_read(c->arena, call->name, &file, &c->diags);
    m->context = c;
    m->file = base_strdup(c->arena, call->name);
    m->bytes = (base_bytes){.at = file.at, .size = file.size};
    if (status == BASE_OK) {
        status = read_model(c, m);
    }
    call->model = status == BASE_OK ? m : NULL;
    return status;
}

burin_status burin_load(burin_context *c, const char *path, burin_model **model) {
    load_call call = {.name = path};
    burin_status status = api_guarded(c, load, &call);
    *model = status == BURIN_OK ? call.model : NULL;
    return status;
}

burin_status burin_load_memory(burin_context *c, const char *name, const void *bytes, size_t size,
                               burin_model **model) {
    load_call call = {.name = name, .bytes = bytes != NULL ? bytes : "", .size = size};
    burin_status status = api_guarded(c, load, &call);
    *model = status == BURIN_OK ? call.model : NULL;
    return status;
}

base_status api_copy(const burin_model *m, ir_model **out) {
    return formats_read(m->context->arena, m->file, m->bytes, NULL, out, &m->context->diags);
}

size_t burin_input_count(const burin_model *m) {
    return m->ir->graphs.at[0].inputs.n;
}

size_t burin_output_count(const burin_model *m) {
    return m->ir->graphs.at[0].outputs.n;
}

burin_tensor_info api_tensor_info(const ir_tensor *t) {
    burin_tensor_info info = {
        .name = t->name, .type = base_type_name(t->type), .rank = t->shape.rank, .scale_count = t->quant.n};
    memcpy(info.dim, t->shape.dim, sizeof info.dim);
    (void)ir_shape_elements(&t->shape, &info.elements);
    (void)ir_tensor_bytes(t, &info.bytes);
    if (t->quant.n > 0) {
        info.scale = t->quant.scale[0];
        info.zero_point = t->quant.zero[0];
    }
    return info;
}

burin_tensor_info burin_input_info(const burin_model *m, size_t i) {
    const ir_graph *g = &m->ir->graphs.at[0];
    return api_tensor_info(&g->tensors.at[g->inputs.at[i]]);
}

burin_tensor_info burin_output_info(const burin_model *m, size_t i) {
    const ir_graph *g = &m->ir->graphs.at[0];
    return api_tensor_info(&g->tensors.at[g->outputs.at[i]]);
}
