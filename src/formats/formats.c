/* formats.c - which reader a file is for (formats.h). Knows the formats only through their list. */
#include "formats/formats.h"

#include <string.h>

const formats_interface *formats_find(const char *name) {
    for (size_t i = 0; i < formats_count; i++) {
        if (!strcmp(formats_list[i]->name, name)) {
            return formats_list[i];
        }
    }
    return NULL;
}

const formats_interface *formats_of_tensors(const char *extension) {
    for (size_t i = 0; i < formats_count; i++) {
        if (formats_list[i]->tensor_extension != NULL && !strcmp(formats_list[i]->tensor_extension, extension)) {
            return formats_list[i];
        }
    }
    return NULL;
}

const formats_interface *formats_recognise(const char *file, base_bytes bytes) {
    for (size_t i = 0; i < formats_count; i++) {
        if (formats_list[i]->recognise(bytes.at, bytes.size)) {
            return formats_list[i];
        }
    }
    const char *dot = strrchr(formats_base_name(file), '.');
    for (size_t i = 0; dot && i < formats_count; i++) {
        for (const char *const *e = formats_list[i]->extensions; *e; e++) {
            if (!strcmp(*e, dot + 1)) {
                return formats_list[i];
            }
        }
    }
    return NULL;
}

static char *list_names(base_arena *arena) {
    base_text out = {.arena = arena};
    for (size_t i = 0; i < formats_count; i++) {
        base_put(&out, "%s%s", i ? ", " : "", formats_list[i]->name);
    }
    return out.at;
}

/* What signatures call an output of the graph. */
static bool is_port(const ir_model *m, uint32_t output, const char *name) {
    for (size_t i = 0; i < m->signatures.n; i++) {
        const ir_signature *s = &m->signatures.at[i];
        for (size_t k = 0; s->graph == 0 && k < s->output_count; k++) {
            if (s->outputs[k].at == output && !strcmp(s->outputs[k].name, name)) {
                return true;
            }
        }
    }
    return false;
}

/* The tensor of that name: an output by its name in a signature, else any by its own. IR_NONE: there is none. */
static uint32_t find_tensor(const ir_model *m, const char *name) {
    const ir_graph *g = &m->graphs.at[0];
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        if (is_port(m, i, name)) {
            return g->outputs.at[i];
        }
    }
    uint32_t t = 0;
    while (t < g->tensors.n && strcmp(g->tensors.at[t].name, name) != 0) {
        t++;
    }
    return t < g->tensors.n ? t : IR_NONE;
}

/* Is the tensor a value: given, made by a node, a constant? */
static bool is_value(const ir_graph *g, uint32_t tensor) {
    bool value = g->tensors.at[tensor].data != NULL;
    for (size_t i = 0; i < g->inputs.n && !value; i++) {
        value = g->inputs.at[i] == tensor;
    }
    for (size_t i = 0; i < g->nodes.n && !value; i++) {
        for (size_t k = 0; k < g->nodes.at[i].output_count; k++) {
            value = value || g->nodes.at[i].outputs[k] == tensor;
        }
    }
    return value && g->tensors.at[tensor].state == IR_NONE;
}

static base_status cut(base_arena *arena, ir_model *m, const formats_options *o, base_diags *d) {
    const ir_graph *g = &m->graphs.at[0];
    uint32_t *outputs = BASE_NEWS(arena, uint32_t, o->output_count);
    const char **names = BASE_NEWS(arena, const char *, g->tensors.n + 1);
    for (size_t i = 0; i < g->tensors.n; i++) {
        names[i] = g->tensors.at[i].name;
    }
    for (size_t i = 0; i < o->output_count; i++) {
        const char *name = o->outputs[i];
        outputs[i] = find_tensor(m, name);
        if (outputs[i] == IR_NONE || !is_value(g, outputs[i])) {
            const char *near = outputs[i] == IR_NONE ? base_nearest(name, names, g->tensors.n) : NULL;
            base_place place = {.file = m->file};
            base_error(d, &place, "outputs: %s \"%s\"%s%s%s",
                       outputs[i] == IR_NONE ? "the model has no tensor" : "no operator makes tensor",
                       base_printable(arena, name, strlen(name), 60), near ? "; did you mean \"" : "",
                       near ? base_printable(arena, near, strlen(near), 60) : "", near ? "\"?" : "");
            return BASE_USAGE;
        }
    }
    ir_cut(m, outputs, o->output_count);
    return ir_verify(m, d);
}

base_status formats_read(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                         ir_model **out, base_diags *d) {
    base_place place = {.file = file};
    const formats_interface *format = NULL;
    *out = NULL;
    if (options && options->format) {
        format = formats_find(options->format);
        if (!format) {
            base_error(d, NULL, "there is no format \"%s\": there are %s",
                       base_printable(arena, options->format, strlen(options->format), 60), list_names(arena));
            return BASE_USAGE;
        }
    } else {
        format = formats_recognise(file, bytes);
    }
    if (!format) {
        return base_error(d, &place, "its content is of no format that is read (%s)", list_names(arena));
    }
    if (options && options->list_count && !format->read_list) {
        base_error(d, NULL, "constant: the file holds a sequence or an optional value, and inputs of %s are tensors",
                   format->name);
        return BASE_USAGE;
    }
    bool drawn = false;
    formats_options how = options ? *options : (formats_options){0};
    how.drawn = &drawn;
    base_status status = format->read(arena, file, bytes, &how, out, d);
    if (status == BASE_OK && how.random_mean && !drawn) {
        base_error(d, NULL,
                   "random-mean: it has no effect: the model has no operator that draws numbers of a distribution");
        status = BASE_USAGE;
    }
    if (status == BASE_OK && options && options->state_count) {
        status = formats_pair_states(arena, *out, options->states, options->state_count, d);
    }
    return status == BASE_OK && options && options->output_count ? cut(arena, *out, options, d) : status;
}
