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
    status = format->read_tensor(c->arena, base_strdup(c->arena, call->path),
                                 (base_bytes){.at = file.at, .size = file.size}, &t, &c->diags);
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

static base_status array_bytes(burin_context *c, void *arguments) {
    array_call *call = arguments;
    const formats_interface *format = formats_of_tensors(call->form);
    const burin_array *a = call->from;
    if (format == NULL) {
        base_error(&c->diags, NULL, "there is no form \"%s\" of arrays: there are npy and pb",
                   base_printable(c->arena, call->form, strlen(call->form), 60));
        return BASE_USAGE;
    }
    const ir_tensor t = {.name = call->name,
                         .type = base_type_named(a->type, strlen(a->type)),
                         .shape = ir_shape_of(a->rank, a->dim),
                         .data = a->data,
                         .state = IR_NONE};
    base_text out = {.arena = c->arena};
    format->write_tensor(c->arena, &t, &out);
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
