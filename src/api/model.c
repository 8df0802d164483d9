/* model.c - models from files and from memory, and what a caller can ask of them.
 *
 * Takes paths or bytes. Gives models that borrow them.
 */
#include <stddef.h>
#include <string.h>

#include "api/api.h"

typedef struct load_call {
    const char *name;
    const void *bytes; /* NULL: name is a path */
    size_t size;
    const burin_load_options *options; /* NULL: none */
    burin_model *model;
} load_call;

static const char *const *copy_texts(burin_context *c, const char *const *texts, size_t n) {
    const char **copy = BASE_NEWS(c->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        copy[i] = base_strdup(c->arena, texts[i]);
    }
    return copy;
}

/* Its bytes are borrowed, the rest is copied. */
static formats_contents copy_array(burin_context *c, const burin_array *a) {
    formats_contents to = {.type = a->type != NULL ? base_strdup(c->arena, a->type) : NULL,
                           .shape = ir_shape_of(a->rank, a->dim),
                           .data = a->data,
                           .size = a->size};
    if (to.type != NULL && strcmp(to.type, "list") == 0) {
        formats_contents *parts = BASE_NEWS(c->arena, formats_contents, a->part_count + 1);
        for (size_t i = 0; i < a->part_count; i++) {
            parts[i] = copy_array(c, &a->parts[i]);
        }
        to.parts = parts;
        to.part_count = a->part_count;
    }
    return to;
}

static const formats_contents *copy_contents(burin_context *c, const burin_contents *from, size_t n) {
    formats_contents *contents = BASE_NEWS(c->arena, formats_contents, n + 1);
    for (size_t i = 0; i < n; i++) {
        const burin_contents *given = &from[i];
        contents[i] = copy_array(c, &given->array);
        contents[i].name = given->name != NULL ? base_strdup(c->arena, given->name) : NULL;
    }
    return contents;
}

/* Fields that an older caller's struct does not have keep their defaults. */
static formats_options resolve(burin_context *c, const burin_load_options *given, const char **quantization) {
    burin_load_options o = BURIN_LOAD_OPTIONS_INIT;
    if (given != NULL) {
        memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
    }
    formats_options to = {.shapes = {.shape_count = o.shape_count, .dim_count = o.dim_count, .batch = o.batch}};
    to.shapes.shapes = copy_texts(c, o.shapes, o.shape_count);
    to.shapes.dims = copy_texts(c, o.dims, o.dim_count);
    to.signature = o.signature != NULL ? base_strdup(c->arena, o.signature) : NULL;
    to.outputs = copy_texts(c, o.outputs, o.output_count);
    to.output_count = o.output_count;
    formats_constant *constants = BASE_NEWS(c->arena, formats_constant, o.constant_count + 1);
    for (size_t i = 0; i < o.constant_count; i++) {
        const burin_constant *given_one = &o.constants[i];
        void *copy = base_alloc(c->arena, given_one->size + 1, 16);
        memcpy(copy, given_one->size > 0 ? given_one->data : "", given_one->size);
        constants[i].name = given_one->name != NULL ? base_strdup(c->arena, given_one->name) : NULL;
        constants[i].type = given_one->type != NULL ? base_strdup(c->arena, given_one->type) : NULL;
        constants[i].data = copy;
        constants[i].size = given_one->size;
    }
    to.constants = constants;
    to.constant_count = o.constant_count;
    to.contents = copy_contents(c, o.contents, o.content_count);
    to.content_count = o.content_count;
    to.lists = copy_contents(c, o.lists, o.list_count);
    to.list_count = o.list_count;
    to.max_trips = o.max_trips;
    to.states = copy_texts(c, o.states, o.state_count);
    to.state_count = o.state_count;
    to.random_mean = o.random_mean;
    to.strings = api_strings(c);
    to.numerics = o.numerics != NULL ? base_strdup(c->arena, o.numerics) : "tflm";
    *quantization = o.quantization != NULL ? base_strdup(c->arena, o.quantization) : NULL;
    return to;
}

/* Definitions that are refused leave the registry with a part of them: the next call begins a new one. */
static base_status add_ops(burin_context *c, const burin_load_options *given) {
    const size_t end = offsetof(burin_load_options, op_count) + sizeof given->op_count;
    base_status status = BASE_OK;
    for (size_t i = 0; given != NULL && given->size >= end && i < given->op_count && status == BASE_OK; i++) {
        base_file file;
        const char *name = base_strdup(c->arena, given->ops[i]);
        status = base_file_read(c->arena, name, &file, &c->diags);
        const char *text = status == BASE_OK ? base_strndup(c->arena, (const char *)file.at, file.size) : NULL;
        if (status == BASE_OK) {
            status = ops_add(c->ops, name, text, file.size, &c->diags);
        }
        if (status == BASE_OK) {
            *BASE_PUSH(c->arena, &c->own) = (api_text){name, text, file.size};
        }
    }
    if (status != BASE_OK) {
        c->ops = NULL;
    }
    return status;
}

/* Reads it, and quantises it where parameters were given. */
static base_status read_settled(const burin_model *m, const formats_options *o, ir_model **out, base_diags *d) {
    const base_status status = formats_read(m->context->arena, m->file, m->bytes, o, out, d);
    return status == BASE_OK && m->quantization != NULL
               ? api_quantise(m->context, m->quantization, o->numerics, *out, d)
               : status;
}

/* What is refused only for its operators is loaded all the same, for inspect; its diagnostics are taken back until a
 * call needs the whole model. */
static base_status read_model(burin_context *c, burin_model *m) {
    const size_t n = c->diags.list.n, errors = c->diags.errors, warnings = c->diags.warnings,
                 dropped = c->diags.dropped;
    base_status status = read_settled(m, &m->options, &m->ir, &c->diags);
    base_diags again = {.arena = c->arena};
    formats_options lenient = m->options;
    lenient.keep_unsupported = true;
    if (status == BASE_REFUSED && m->quantization == NULL &&
        formats_read(c->arena, m->file, m->bytes, &lenient, &m->ir, &again) == BASE_OK) {
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
    m->options = resolve(c, call->options, &m->quantization);
    m->options.folder = call->bytes == NULL ? formats_folder(c->arena, m->file) : NULL;
    if (status == BASE_OK && strcmp(m->options.numerics, "tflm") != 0 && strcmp(m->options.numerics, "litert") != 0) {
        base_error(&c->diags, NULL, "numerics: there is no %s: tflm, litert",
                   base_printable(c->arena, m->options.numerics, strlen(m->options.numerics), 40));
        status = BASE_USAGE;
    }
    if (status == BASE_OK) {
        status = add_ops(c, call->options);
    }
    m->options.ops = c->ops;
    if (status == BASE_OK) {
        status = read_model(c, m);
    }
    call->model = status == BASE_OK ? m : NULL;
    return status;
}

burin_status burin_load_with(burin_context *c, const char *path, const burin_load_options *options,
                             burin_model **model) {
    load_call call = {.name = path, .options = options};
    burin_status status = api_guarded(c, load, &call);
    *model = status == BURIN_OK ? call.model : NULL;
    return status;
}

burin_status burin_load(burin_context *c, const char *path, burin_model **model) {
    return burin_load_with(c, path, NULL, model);
}

burin_status burin_load_memory_with(burin_context *c, const char *name, const void *bytes, size_t size,
                                    const burin_load_options *options, burin_model **model) {
    load_call call = {.name = name, .bytes = bytes != NULL ? bytes : "", .size = size, .options = options};
    burin_status status = api_guarded(c, load, &call);
    *model = status == BURIN_OK ? call.model : NULL;
    return status;
}

burin_status burin_load_memory(burin_context *c, const char *name, const void *bytes, size_t size,
                               burin_model **model) {
    return burin_load_memory_with(c, name, bytes, size, NULL, model);
}

/* What is no error was said when the model was loaded. */
static base_status copy(const burin_model *m, bool every_signature, ir_model **out) {
    base_diags *d = &m->context->diags;
    const size_t n = d->list.n, warnings = d->warnings, dropped = d->dropped;
    formats_options options = m->options;
    options.ops = m->context->ops; /* running out of memory may have replaced it */
    options.every_signature = every_signature;
    base_status status = read_settled(m, &options, out, d);
    if (status == BASE_OK) {
        d->list.n = n;
        d->warnings = warnings;
        d->dropped = dropped;
    }
    return status;
}

base_status api_copy(const burin_model *m, ir_model **out) {
    return copy(m, false, out);
}

base_status api_copy_every_signature(const burin_model *m, ir_model **out) {
    base_diags *d = &m->context->diags;
    const base_diags before = *d;
    base_status status = copy(m, true, out);
    if (status == BASE_OK) {
        return status;
    }
    const char *why = d->list.n > before.list.n ? d->list.at[before.list.n].message : "";
    d->list.n = before.list.n; /* the list may have moved */
    d->errors = before.errors;
    d->warnings = before.warnings;
    d->dropped = before.dropped;
    status = copy(m, false, out);
    if (status == BASE_OK) {
        const base_place place = {.file = m->file};
        base_warn(d, &place, "signatures beside the first sub-graph's are left out: %s", why);
    }
    return status;
}

size_t burin_input_count(const burin_model *m) {
    return m->ir->graphs.at[0].inputs.n;
}

bool burin_result_at(const burin_model *m, size_t i, burin_result *result) {
    const ir_graph *g = &m->ir->graphs.at[0];
    if (m->ir->gives.n > 0 && i < m->ir->gives.n) {
        *result = (burin_result){m->ir->gives.at[i].name, m->ir->gives.at[i].form};
        return true;
    }
    if (m->ir->gives.n > 0 || i >= g->outputs.n) {
        return false;
    }
    *result = (burin_result){g->tensors.at[g->outputs.at[i]].name, "T"};
    return true;
}

typedef struct inputs_call {
    const burin_model *model;
    burin_array *inputs;
} inputs_call;

static base_status contents_inputs(burin_context *c, void *arguments) {
    const inputs_call *call = arguments;
    const ir_model *m = call->model->ir;
    const ir_graph *g = &m->graphs.at[0];
    const formats_contents **of = BASE_NEWS(c->arena, const formats_contents *, g->inputs.n + 1),
                           *contents = call->model->options.contents;
    size_t n = call->model->options.content_count;
    if (m->takes.n > 0) {
        contents = formats_flatten_contents(c->arena, m, contents, n, &n);
    }
    base_status status = formats_match_contents(c->arena, g, contents, n, NULL, of, &c->diags);
    for (size_t i = 0; i < g->inputs.n && status == BASE_OK; i++) {
        const ir_tensor *t = &g->tensors.at[g->inputs.at[i]];
        const void *data = of[i] != NULL ? formats_contents_data(c->arena, t, of[i]) : NULL;
        uint64_t bytes = 0;
        if (data == NULL || !ir_tensor_bytes(t, &bytes)) {
            return base_error(&c->diags, NULL, "input %zu \"%s\" is not given, or of another type or shape", i,
                              base_printable(c->arena, t->name, strlen(t->name), 60));
        }
        call->inputs[i] =
            (burin_array){.type = base_type_name(t->type), .rank = t->shape.rank, .data = data, .size = (size_t)bytes};
        memcpy(call->inputs[i].dim, t->shape.dim, sizeof t->shape.dim);
    }
    return status;
}

burin_status burin_contents_inputs(burin_context *c, const burin_model *m, burin_array *inputs) {
    inputs_call call = {m, inputs};
    return api_guarded(c, contents_inputs, &call);
}

size_t burin_output_count(const burin_model *m) {
    return m->ir->graphs.at[0].outputs.n;
}

burin_tensor_info api_tensor_info(const ir_tensor *t) {
    burin_tensor_info info = {
        .name = t->name, .type = base_type_name(t->type), .rank = t->shape.rank, .scale_count = t->quant.n};
    memcpy(info.dim, t->shape.dim, sizeof info.dim);
    for (uint32_t k = 0; k < t->shape.rank; k++) {
        info.open |= (uint32_t)(t->shape.symbol[k] != 0) << k;
    }
    (void)ir_shape_elements(&t->shape, &info.elements);
    (void)ir_tensor_bytes(t, &info.bytes);
    if (t->quant.n > 0) {
        info.scale = t->quant.scale[0];
        info.zero_point = t->quant.zero[0];
    }
    return info;
}

/* What the signature that was asked for calls it; otherwise its own name stays. */
static burin_tensor_info info_of(const burin_model *m, bool input, size_t i) {
    const ir_graph *g = &m->ir->graphs.at[0];
    burin_tensor_info info = api_tensor_info(&g->tensors.at[input ? g->inputs.at[i] : g->outputs.at[i]]);
    for (size_t k = 0; m->options.signature != NULL && k < m->ir->signatures.n; k++) {
        const ir_signature *s = &m->ir->signatures.at[k];
        const ir_port *ports = input ? s->inputs : s->outputs;
        bool meant = s->graph == 0 && strcmp(s->name, m->options.signature) == 0;
        for (size_t p = 0; meant && p < (input ? s->input_count : s->output_count); p++) {
            info.name = ports[p].at == i ? ports[p].name : info.name;
        }
    }
    return info;
}

burin_tensor_info burin_input_info(const burin_model *m, size_t i) {
    return info_of(m, true, i);
}

burin_tensor_info burin_output_info(const burin_model *m, size_t i) {
    return info_of(m, false, i);
}
