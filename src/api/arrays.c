/* arrays.c - files of one array, whatever their form, and the type of arrays that NumPy has no name for.
 *
 * Takes paths or arrays. Gives arrays, which borrow the file's bytes, or bytes. .npy is read and written by npy.c, other
 * files by the formats that have them.
 */
#include <string.h>

#include "api/api.h"

typedef struct array_call {
    const char *path;
    burin_array *array;
    const burin_array *from;
    const char *form, *name, *type;
    const void *bytes;
    size_t size;
} array_call;

static burin_array of_tensor(const ir_tensor *t) {
    burin_array a = {.type = base_type_name(t->type), .rank = t->shape.rank, .data = t->data};
    uint64_t bytes = 0;
    memcpy(a.dim, t->shape.dim, sizeof a.dim);
    a.size = ir_tensor_bytes(t, &bytes) ? (size_t)bytes : 0;
    return a;
}

static burin_array of_contents(base_arena *arena, const formats_contents *from) {
    burin_array a = {.type = from->type, .rank = from->shape.rank, .data = from->data, .size = from->size};
    burin_array *parts = BASE_NEWS(arena, burin_array, from->part_count + 1);
    memcpy(a.dim, from->shape.dim, sizeof a.dim);
    for (size_t i = 0; i < from->part_count; i++) {
        parts[i] = of_contents(arena, &from->parts[i]);
    }
    a.parts = parts;
    a.part_count = from->part_count;
    return a;
}

/* A file that is no tensor may be a list of them. */
static bool read_list(burin_context *c, const formats_interface *format, const array_call *call, base_bytes bytes) {
    base_diags ignored = {.arena = c->arena};
    formats_contents list;
    ir_tensor t;
    if (format->read_list == NULL ||
        format->read_tensor(c->arena, call->path, bytes, api_strings(c), &t, &ignored) == BASE_OK ||
        format->read_list(c->arena, call->path, bytes, api_strings(c), &list, &ignored) != BASE_OK) {
        return false;
    }
    *call->array = of_contents(c->arena, &list);
    return true;
}

static base_status read_array(burin_context *c, void *arguments) {
    array_call *call = arguments;
    base_file file;
    ir_tensor t;
    const char *dot = strrchr(formats_base_name(call->path), '.');
    base_status status = base_file_read(c->arena, call->path, &file, &c->diags);
    if (status != BASE_OK) {
        return status;
    }
    if (file.size >= 6 && memcmp(file.at, "\x93NUMPY", 6) == 0) {
        return api_parse_npy(c, call->path, file, call->array);
    }
    const formats_interface *format = dot != NULL ? formats_of_tensors(dot + 1) : NULL;
    if (format == NULL) {
        *call->array = (burin_array){.data = file.at, .size = file.size};
        return BASE_OK;
    }
    call->path = base_strdup(c->arena, call->path);
    const base_bytes bytes = {.at = file.at, .size = file.size};
    if (read_list(c, format, call, bytes)) {
        return BASE_OK;
    }
    status = format->read_tensor(c->arena, call->path, bytes, api_strings(c), &t, &c->diags);
    if (status == BASE_OK) {
        *call->array = of_tensor(&t);
    }
    return status;
}

burin_status burin_array_read(burin_context *c, const char *path, burin_array *array) {
    array_call call = {.path = path, .array = array};
    return api_guarded(c, read_array, &call);
}

static base_status set_type(burin_context *c, void *arguments) {
    const array_call *call = arguments;
    burin_array *a = call->array;
    const ir_tensor t = {.name = "",
                         .type = base_type_named(call->type, strlen(call->type)),
                         .shape = ir_shape_of(a->rank, a->dim),
                         .state = IR_NONE};
    const void *data =
        t.type != BASE_NONE && a->type != NULL ? formats_as_type(c->arena, &t, a->type, a->data, a->size) : NULL;
    if (data == NULL) {
        return base_error(&c->diags, NULL, "an array of %s is none of %s", a->type != NULL ? a->type : "no type",
                          base_printable(c->arena, call->type, strlen(call->type), 60));
    }
    *a = of_tensor(&(ir_tensor){.type = t.type, .shape = t.shape, .data = data});
    return BASE_OK;
}

burin_status burin_array_set_type(burin_context *c, burin_array *array, const char *type) {
    array_call call = {.array = array, .type = type};
    return api_guarded(c, set_type, &call);
}

static ir_tensor tensor_of(const burin_array *a, const char *name) {
    return (ir_tensor){.name = name,
                       .type = base_type_named(a->type, strlen(a->type)),
                       .shape = ir_shape_of(a->rank, a->dim),
                       .data = a->data,
                       .state = IR_NONE};
}

static base_status list_bytes(burin_context *c, void *arguments) {
    array_call *call = arguments;
    const formats_interface *format = formats_of_tensors("pb");
    size_t n = 0;
    for (const char *at = call->form; *at != 0; at++) {
        n += *at == 'T';
    }
    ir_tensor *tensors = BASE_NEWS(c->arena, ir_tensor, n + 1);
    for (size_t i = 0; i < n; i++) {
        tensors[i] = tensor_of(&call->from[i], "");
    }
    base_text out = {.arena = c->arena};
    format->write_list(c->arena, api_strings(c), call->form, tensors, &out);
    call->bytes = out.at != NULL ? out.at : "";
    call->size = out.n;
    return BASE_OK;
}

burin_status burin_list_bytes(burin_context *c, const char *form, const burin_array *arrays, const void **bytes,
                              size_t *size) {
    array_call call = {.from = arrays, .form = form};
    burin_status status = api_guarded(c, list_bytes, &call);
    *bytes = call.bytes;
    *size = call.size;
    return status;
}

static base_status array_bytes(burin_context *c, void *arguments) {
    array_call *call = arguments;
    const formats_interface *format = formats_of_tensors(call->form);
    const burin_array *a = call->from;
    if (format == NULL) {
        base_error(&c->diags, NULL, "there is no form \"%s\" of arrays: there are npy and pb",
                   base_printable(c->arena, call->form, strlen(call->form), 60));
        return BASE_USAGE;
    }
    const ir_tensor t = tensor_of(a, call->name);
    base_text out = {.arena = c->arena};
    format->write_tensor(c->arena, api_strings(c), &t, &out);
    call->bytes = out.at;
    call->size = out.n;
    return BASE_OK;
}

burin_status burin_array_bytes(burin_context *c, const burin_array *array, const char *form, const char *name,
                               const void **bytes, size_t *size) {
    if (strcmp(form, "npy") == 0) {
        return burin_npy_bytes(c, array, bytes, size);
    }
    array_call call = {.from = array, .form = form, .name = name};
    burin_status status = api_guarded(c, array_bytes, &call);
    *bytes = call.bytes;
    *size = call.size;
    return status;
}
