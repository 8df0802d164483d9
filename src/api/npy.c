/* npy.c - NumPy's .npy files (format version 1 to 3), and plain files.
 *
 * Takes paths or arrays. Gives arrays or bytes. Little-endian, C order; anything else is refused by name. The header is
 * a Python literal of which only the three keys that the format fixes are read.
 * Source: numpy/lib/format.py, "Format Version 1.0".
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

/* numpy's descr of each type that it has; others travel as V2 (bf16) and V1, one element a byte, as extensions of numpy
 * write them. */
static const struct {
    const char *descr;
    base_type type;
} descrs[] = {{"<f8", BASE_F64}, {"<f4", BASE_F32}, {"<f2", BASE_F16}, {"<i8", BASE_I64},
              {"<i4", BASE_I32}, {"<i2", BASE_I16}, {"|i1", BASE_I8},  {"<u8", BASE_U64},
              {"<u4", BASE_U32}, {"<u2", BASE_U16}, {"|u1", BASE_U8},  {"|b1", BASE_BOOL}};

static const char *descr_of(base_type type) {
    for (size_t i = 0; i < sizeof descrs / sizeof descrs[0]; i++) {
        if (descrs[i].type == type) {
            return descrs[i].descr;
        }
    }
    return base_type_bits(type) == 16 ? "<V2" : "|V1";
}

/* The text after 'key': in a header of n bytes, or NULL. */
static const char *value_of(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (at == NULL) {
        return NULL;
    }
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != ':') {
        return NULL;
    }
    return at + 1 + strspn(at + 1, " ");
}

static bool read_shape(const char *at, burin_array *a) {
    if (at == NULL || *at++ != '(') {
        return false;
    }
    for (at += strspn(at, " "); *at >= '0' && *at <= '9'; at += strspn(at, " ,")) {
        uint64_t v = 0;
        for (; *at >= '0' && *at <= '9'; at++) {
            v = v * 10 + (uint64_t)(*at - '0');
            if (v > (uint64_t)1 << 48) {
                return false;
            }
        }
        if (a->rank == 8) {
            return false;
        }
        a->dim[a->rank++] = (int64_t)v;
    }
    return *at == ')';
}

static base_type read_descr(const char *at) {
    for (size_t i = 0; at != NULL && i < sizeof descrs / sizeof descrs[0]; i++) {
        /* byte order of one-byte types is written | but < is meant the same */
        if ((at[0] == '\'' || at[0] == '"') && strncmp(at + 2, descrs[i].descr + 1, 2) == 0 && at[4] == at[0] &&
            (at[1] == '<' || at[1] == '|' || at[1] == '=')) {
            return descrs[i].type;
        }
    }
    return BASE_NONE;
}

/* Code points an element of "<U5"; 0: it is no array of strings. */
static uint64_t read_points(const char *at) {
    uint64_t n = 0;
    if (at == NULL || (at[0] != '\'' && at[0] != '"') || (at[1] != '<' && at[1] != '=') || at[2] != 'U') {
        return 0;
    }
    const char *digit = at + 3;
    for (; *digit >= '0' && *digit <= '9' && n < (uint64_t)1 << 48; digit++) {
        n = n * 10 + (uint64_t)(*digit - '0');
    }
    return *digit == at[0] ? n : 0;
}

/* Bytes an element of "<V2", "|V1"; 0: it is none of these. */
static unsigned read_void(const char *at) {
    if (at != NULL && (at[0] == '\'' || at[0] == '"') && (at[1] == '<' || at[1] == '|') && at[2] == 'V' &&
        (at[3] == '1' || at[3] == '2') && at[4] == at[0]) {
        return (unsigned)(at[3] - '0');
    }
    return 0;
}

static base_status refuse(burin_context *c, const char *path, const char *why) {
    base_place place = {.file = path};
    return base_error(&c->diags, &place, "%s", why);
}

base_status api_parse_npy(burin_context *c, const char *path, base_file file, burin_array *a) {
    if (file.size < 6 || memcmp(file.at, "\x93NUMPY", 6) != 0) {
        return refuse(c, path, "not a .npy file: it does not begin with \\x93NUMPY");
    }
    if (file.size < 10) {
        return refuse(c, path,
                      base_printf(c->arena, "truncated: it ends after %zu bytes, inside the .npy header", file.size));
    }
    size_t length_bytes = file.at[6] == 1 ? 2 : 4, start = 8 + length_bytes;
    uint64_t length = 0;
    if (file.at[6] < 1 || file.at[6] > 3 || file.size < start) {
        return refuse(c, path, "a version of .npy that is not 1, 2 or 3");
    }
    for (size_t i = 0; i < length_bytes; i++) {
        length |= (uint64_t)file.at[8 + i] << (8 * i);
    }
    if (length > file.size - start) {
        return refuse(c, path, "the header is longer than the file");
    }
    const char *header = base_strndup(c->arena, (const char *)file.at + start, (size_t)length);
    const char *order = value_of(header, "'fortran_order'");
    base_type type = read_descr(value_of(header, "'descr'"));
    const unsigned width = read_void(value_of(header, "'descr'"));
    const uint64_t points = read_points(value_of(header, "'descr'"));
    uint64_t elements = 1, bytes = 0;
    *a = (burin_array){0};
    if (type == BASE_NONE && width == 0 && points == 0) {
        return refuse(c, path,
                      "its element type is not one of f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1 V2 V1 U, little-endian");
    }
    if (!read_shape(value_of(header, "'shape'"), a)) {
        return refuse(c, path, "its shape has more than 8 extents, or is no tuple of numbers");
    }
    if ((order == NULL || strncmp(order, "False", 5) != 0) && a->rank > 1) {
        return refuse(c, path, "it is in Fortran order; save it with numpy.ascontiguousarray");
    }
    for (uint32_t k = 0; k < a->rank; k++) {
        if (!base_mul_size(elements, (uint64_t)a->dim[k], &elements)) {
            return refuse(c, path, "its shape is too large");
        }
    }
    if (!(points != 0  ? base_mul_size(elements, points, &bytes) && base_mul_size(bytes, 4, &bytes)
          : width != 0 ? base_mul_size(elements, width, &bytes)
                       : base_type_bytes(type, elements, &bytes)) ||
        bytes != file.size - start - length) {
        return refuse(c, path,
                      base_printf(c->arena, "its shape needs %" PRIu64 " bytes, the file holds %" PRIu64, bytes,
                                  file.size - start - length));
    }
    if (points != 0) {
        a->type = base_type_name(BASE_STR);
        a->data = api_strings_of_points(c, file.at + start + length, elements, points);
        a->size = (size_t)elements * sizeof(uint32_t);
        return a->data != NULL ? BASE_OK : refuse(c, path, "a character of its strings is none that Unicode has");
    }
    a->type = width == 0 ? base_type_name(type) : width == 1 ? "V1" : "V2";
    a->data = file.at + start + length;
    a->size = (size_t)bytes;
    return BASE_OK;
}

typedef struct file_call {
    const char *path;
    const burin_array *from;
    burin_array *array;
    const void *bytes;
    size_t size;
    bool force;
} file_call;

static base_status npy_read(burin_context *c, void *arguments) {
    file_call *call = arguments;
    base_file file;
    base_status status = base_file_read(c->arena, call->path, &file, &c->diags);
    return status != BASE_OK ? status : api_parse_npy(c, call->path, file, call->array);
}

burin_status burin_npy_read(burin_context *c, const char *path, burin_array *array) {
    file_call call = {.path = path, .array = array};
    return api_guarded(c, npy_read, &call);
}

/* Elements of less than a byte, each in one of its own. */
static void put_unpacked(base_text *out, const burin_array *a, unsigned bits) {
    uint64_t n = 1;
    for (uint32_t k = 0; k < a->rank; k++) {
        n *= (uint64_t)a->dim[k];
    }
    for (uint64_t i = 0; i < n; i++) {
        const unsigned whole = (unsigned)((const uint8_t *)a->data)[i * bits / 8] >> (i * bits % 8);
        base_putn(out, &(uint8_t){(uint8_t)(whole & ((1u << bits) - 1))}, 1);
    }
}

static base_status npy_bytes(burin_context *c, void *arguments) {
    file_call *call = arguments;
    const burin_array *a = call->from;
    base_text header = {.arena = c->arena}, out = {.arena = c->arena};
    const base_type type = base_type_named(a->type, strlen(a->type));
    base_text strings = {.arena = c->arena};
    uint64_t points = 0;
    if (type == BASE_STR && !api_points_of_strings(c, a, &points, &strings)) {
        return base_error(
            &c->diags, NULL,
            "a string is no UTF-8, or ends in a NUL, which .npy does not have: write .pb (--output-format pb)");
    }
    base_put(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
             type == BASE_STR ? base_printf(c->arena, "<U%" PRIu64, points) : descr_of(type));
    for (uint32_t k = 0; k < a->rank; k++) {
        base_put(&header, "%s%" PRId64, k ? ", " : "", a->dim[k]);
    }
    base_puts(&header, a->rank == 1 ? ",), }" : "), }");
    while ((10 + header.n + 1) % 64 != 0) {
        base_puts(&header, " ");
    }
    base_puts(&header, "\n");
    uint8_t head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(header.n & 0xff), (uint8_t)(header.n >> 8)};
    base_putn(&out, head, sizeof head);
    base_putn(&out, header.at, header.n);
    if (type == BASE_STR) {
        base_putn(&out, strings.at != NULL ? strings.at : "", strings.n);
    } else if (base_type_bits(type) < 8) {
        put_unpacked(&out, a, base_type_bits(type));
    } else {
        base_putn(&out, a->data, a->size);
    }
    call->bytes = out.at;
    call->size = out.n;
    return BASE_OK;
}

burin_status burin_npy_bytes(burin_context *c, const burin_array *array, const void **bytes, size_t *size) {
    file_call call = {.from = array};
    burin_status status = api_guarded(c, npy_bytes, &call);
    *bytes = call.bytes;
    *size = call.size;
    return status;
}

static base_status read_bytes(burin_context *c, void *arguments) {
    file_call *call = arguments;
    base_file file = {0};
    base_status status = base_file_read(c->arena, call->path, &file, &c->diags);
    call->bytes = file.at;
    call->size = file.size;
    return status;
}

burin_status burin_file_bytes(burin_context *c, const char *path, const void **bytes, size_t *size) {
    file_call call = {.path = path};
    burin_status status = api_guarded(c, read_bytes, &call);
    *bytes = call.bytes;
    *size = call.size;
    return status;
}

static base_status write_bytes(burin_context *c, void *arguments) {
    file_call *call = arguments;
    return base_file_write(c->arena, call->path, call->bytes, call->size, call->force, &c->diags);
}

burin_status burin_file_write(burin_context *c, const char *path, const void *bytes, size_t size, bool force) {
    file_call call = {.path = path, .bytes = bytes, .size = size, .force = force};
    return api_guarded(c, write_bytes, &call);
}

typedef struct files_call {
    const char *const *paths;
    size_t count;
} files_call;

static base_status files_read(burin_context *c, void *arguments) {
    files_call *call = arguments;
    call->paths = base_files_read(c->arena, &call->count);
    return BASE_OK;
}

burin_status burin_files_read(burin_context *c, const char *const **paths, size_t *count) {
    files_call call = {0};
    burin_status status = api_guarded(c, files_read, &call);
    *paths = call.paths;
    *count = call.count;
    return status;
}
