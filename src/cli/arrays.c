/* arrays.c - arrays between files and the terminal: reading inputs, printing values, digests.
 *
 * Takes paths and arrays. A file is .npy when it begins with that format's magic, whatever its name; anything else is
 * raw little-endian bytes, whose number must be the tensor's.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

bool cli_exists(const char *path) {
    struct stat is;
    return lstat(path, &is) == 0;
}

struct cli_file {
    struct cli_file *next;
    const char *path;
    burin_array array;
};

burin_status cli_read_file(cli *c, const char *path, burin_array *array) {
    for (const struct cli_file *f = c->files; f != NULL; f = f->next) {
        if (strcmp(f->path, path) == 0) {
            *array = f->array;
            return BURIN_OK;
        }
    }
    burin_status status = burin_array_read(c->context, path, array);
    if (status == BURIN_OK) {
        struct cli_file *f = cli_alloc(c, 1, sizeof *f);
        *f = (struct cli_file){c->files, path, *array};
        c->files = f;
    }
    return status;
}

burin_array *cli_arrays(cli *c, size_t n) {
    return cli_alloc(c, n + 1, sizeof(burin_array));
}

const char *cli_shape_text(cli *c, const burin_array *a) {
    char *text = cli_alloc(c, 8 * 22 + 3, 1);
    int n = 1;
    text[0] = '[';
    for (uint32_t k = 0; k < a->rank; k++) {
        n += snprintf(text + n, 22, "%s%" PRId64, k != 0 ? "," : "", a->dim[k]);
    }
    text[n] = ']';
    return text;
}

const char *cli_count(cli *c, size_t n, const char *what) {
    return cli_format(c, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

/* Equal but for extents of 1: a batch that was left out is no other shape; a transposed picture is. */
bool cli_same_shape(const burin_array *a, const burin_array *b) {
    uint32_t i = 0, j = 0;
    for (;;) {
        for (; i < a->rank && a->dim[i] == 1; i++) {
        }
        for (; j < b->rank && b->dim[j] == 1; j++) {
        }
        if (i == a->rank || j == b->rank) {
            return i == a->rank && j == b->rank;
        }
        if (a->dim[i++] != b->dim[j++]) {
            return false;
        }
    }
}

bool cli_is_within(burin_tensor_info *info, const burin_array *a) {
    bool within = info->open != 0 && a->rank == info->rank;
    for (uint32_t k = 0; within && k < a->rank; k++) {
        within = info->open >> k & 1 ? a->dim[k] <= info->dim[k] : a->dim[k] == info->dim[k];
    }
    for (uint32_t k = 0; within && k < a->rank; k++) {
        info->dim[k] = a->dim[k];
    }
    return within;
}

/* A file that states type and shape: they must be what is wanted. */
static int check_typed(cli *c, const char *path, burin_array file, burin_array *want) {
    if (file.type[0] == 'V' && burin_array_set_type(c->context, &file, want->type) != BURIN_OK) {
        burin_diagnostics_clear(c->context);
    }
    if (strcmp(file.type, want->type) != 0) {
        return cli_refuse(c, "%s: its type is %s, that of the tensor is %s", cli_printable(c, path), file.type,
                          want->type);
    }
    if (!cli_same_shape(&file, want)) {
        return cli_refuse(c, "%s: its shape is %s, that of the tensor is %s", cli_printable(c, path),
                          cli_shape_text(c, &file), cli_shape_text(c, want));
    }
    want->data = file.data;
    want->size = file.size;
    return 0;
}

int cli_read_array(cli *c, const char *path, const burin_tensor_info *want, burin_array *a) {
    burin_array file;
    *a = (burin_array){.type = want->type, .rank = want->rank};
    memcpy(a->dim, want->dim, sizeof a->dim);
    burin_status status = cli_read_file(c, path, &file);
    if (status != BURIN_OK) {
        return cli_report(c, status);
    }
    if (file.type != NULL) {
        burin_tensor_info actual = *want;
        if (cli_is_within(&actual, &file)) {
            memcpy(a->dim, actual.dim, sizeof a->dim);
        }
        return check_typed(c, path, file, a);
    }
    const size_t size = file.size;
    /* Of one open extent the number of bytes tells how much it is. */
    for (uint32_t k = 0; k < want->rank && size < want->bytes; k++) {
        const uint64_t row = want->dim[k] > 0 ? want->bytes / (uint64_t)want->dim[k] : 0;
        if (want->open == 1u << k && row > 0 && size % row == 0) {
            a->dim[k] = (int64_t)(size / row);
            a->data = file.data;
            a->size = size;
            return 0;
        }
    }
    if (size < want->bytes && (want->open & (want->open - 1)) != 0) {
        return cli_refuse(c,
                          "%s: it holds %zu bytes, of the %" PRIu64
                          " that %s%s has at most, and cannot say which extents are "
                          "less: give a .npy file",
                          cli_printable(c, path), size, want->bytes, want->type, cli_shape_text(c, a));
    }
    if (size != want->bytes) {
        return cli_refuse(c, "%s: it holds %zu bytes, the tensor %s%s needs %" PRIu64 " (and it is no .npy file)",
                          cli_printable(c, path), size, want->type, cli_shape_text(c, a), want->bytes);
    }
    a->data = file.data;
    a->size = size;
    return 0;
}

int cli_read_runs(cli *c, const char *path, const burin_tensor_info *want, size_t runs, size_t stride,
                  burin_array *inputs) {
    burin_tensor_info all = *want;
    burin_array array, whole = {.type = want->type, .rank = want->rank + 1};
    bool sequence = false;
    if (runs > 1 && want->rank < 8 && want->bytes <= SIZE_MAX / runs) {
        burin_status status = cli_read_file(c, path, &array);
        if (status != BURIN_OK) {
            return cli_report(c, status);
        }
        whole.dim[0] = all.dim[0] = (int64_t)runs;
        memcpy(whole.dim + 1, want->dim, want->rank * sizeof *want->dim);
        memcpy(all.dim + 1, want->dim, want->rank * sizeof *want->dim);
        all.rank = want->rank + 1;
        all.elements *= runs;
        all.bytes *= runs;
        sequence = array.type != NULL ? cli_same_shape(&array, &whole) : array.size == all.bytes;
    }
    int status = cli_read_array(c, path, sequence ? &all : want, &array);
    for (size_t r = 0; r < runs && status == 0; r++) {
        inputs[r * stride] = (burin_array){.type = want->type, .rank = want->rank, .size = (size_t)want->bytes};
        memcpy(inputs[r * stride].dim, want->dim, sizeof want->dim);
        if (want->open != 0 && !sequence) {
            inputs[r * stride] = array;
            continue;
        }
        inputs[r * stride].data = (const char *)array.data + (sequence ? r * (size_t)want->bytes : 0);
    }
    return status;
}

/* ---- inputs ---- */

int cli_check_provider(cli *c, const char **provider) {
    const cli_arguments *a = &c->arguments;
    *provider = a->provider;
    bool host = strcmp(*provider, "host") == 0;
    const char *compiling = a->given.compiler    ? "compiler"
                            : a->given.device    ? "device"
                            : a->given.opt_level ? "opt-level"
                            : a->given.goal      ? "goal"
                            : a->given.kernel    ? "kernel"
                            : a->given.disable   ? "disable"
                                                 : NULL;
    if (!host && compiling != NULL) {
        return cli_usage(c, "--%s needs --provider host: the reference is not compiled", compiling);
    }
    if (host) {
        cli_temporary_begin();
    }
    return host && a->raw ? cli_usage(c, "--raw needs --provider reference: emitted C is always simplified") : 0;
}

int cli_make_inputs(cli *c, const burin_model *model, const char *why, size_t runs, burin_array *inputs) {
    uint32_t seed = c->arguments.seed;
    int status = cli_report(c, burin_generate_runs(c->context, model, seed, runs, inputs));
    if (status == 0 && burin_input_count(model) > 0) {
        cli_note(c, "%sthe inputs are made by the documented generator with seed %" PRIu32, why, seed);
    }
    return status;
}

/* ---- printing ---- */

/* One element; false where the type has no form of its own in C. */
static bool print_value(const char *type, const unsigned char *at) {
    union {
        double f64;
        float f32;
        int64_t i64;
        int32_t i32;
        int16_t i16;
        int8_t i8;
        uint64_t u64;
        uint32_t u32;
        uint16_t u16;
        uint8_t u8;
    } v;
#define VALUE(name, member, format, as)                                                                                \
    if (strcmp(type, name) == 0) {                                                                                     \
        memcpy(&v.member, at, sizeof v.member);                                                                        \
        printf(format, (as)v.member);                                                                                  \
        return true;                                                                                                   \
    }
    VALUE("f64", f64, "%.6g", double)
    VALUE("f32", f32, "%.6g", double)
    VALUE("i64", i64, "%" PRId64, int64_t)
    VALUE("i32", i32, "%" PRId32, int32_t)
    VALUE("i16", i16, "%d", int)
    VALUE("i8", i8, "%d", int)
    VALUE("u64", u64, "%" PRIu64, uint64_t)
    VALUE("u32", u32, "%" PRIu32, uint32_t)
    VALUE("u16", u16, "%d", int)
    VALUE("u8", u8, "%d", int)
    VALUE("bool", u8, "%d", int)
#undef VALUE
    return false;
}

static size_t width_of(const char *type) {
#define TYPE(name, tflite, bytes)                                                                                      \
    if (strcmp(type, name) == 0) {                                                                                     \
        return bytes;                                                                                                  \
    }
#include "cli/types.def"
#undef TYPE
    return 0;
}

static void print_strings(cli *c, const burin_array *a, size_t most) {
    const size_t n = a->size / sizeof(uint32_t);
    for (size_t k = 0; k < n && k < most; k++) {
        uint32_t number;
        size_t size;
        memcpy(&number, (const unsigned char *)a->data + k * sizeof number, sizeof number);
        const char *at = burin_string_at(c->context, number, &size);
        printf("%s\"%s\"", k == 0 ? "   " : " ", at != NULL ? cli_printable(c, at) : "");
    }
    fputs(n == 0 ? "" : n > most ? " ...\n" : "\n", stdout);
}

void cli_print_array(cli *c, const char *what, size_t i, const char *name, const burin_array *a) {
    enum { MOST = 12 };
    size_t width = width_of(a->type), n = width != 0 ? a->size / width : 0;
    printf("%s %zu  %s%s \"%s\"  fnv1a64 %016" PRIx64 "\n", what, i, a->type, cli_shape_text(c, a),
           cli_printable(c, name), cli_fnv1a64(a->data, a->size));
    if (strcmp(a->type, "str") == 0) {
        print_strings(c, a, MOST);
        return;
    }
    for (size_t k = 0; k < n && k < MOST; k++) {
        fputs(k == 0 ? "   " : " ", stdout);
        if (!print_value(a->type, (const unsigned char *)a->data + k * width)) {
            break;
        }
    }
    fputs(n == 0 ? "" : n > MOST ? " ...\n" : "\n", stdout);
}

uint64_t cli_fnv1a64(const void *bytes, size_t n) {
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}
