/* emit_data.c - the module's constant data: equal contents once, as text or as one blob.
 *
 * Takes bytes of element types. Gives arrays in C with the values in decimal (floats read back exactly; narrow floats
 * and packed elements as their bits), or one file of all of them at aligned offsets.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "targets/c/emit.h"

enum { LINE = 118, ALIGNMENT = 16 };

uint32_t c_data_add(c_module *m, base_type type, const void *bytes, uint64_t count) {
    uint64_t size = 0;
    bool ok = base_type_bytes(type, count, &size);
    assert(ok);
    (void)ok;
    base_arena *scratch = base_arena_new(base_arena_memory(m->arena));
    uint8_t *key = BASE_NEWS(scratch, uint8_t, size + 1);
    key[0] = (uint8_t)type;
    if (size > 0) {
        memcpy(key + 1, bytes, size);
    }
    bool is_new;
    uint64_t *index = base_map_put(m->data_map, key, size + 1, &is_new);
    if (is_new) {
        const uint8_t *kept = base_map_key(m->data_map, base_map_count(m->data_map) - 1, NULL, NULL);
        *index = m->data.n;
        *BASE_PUSH(m->arena, &m->data) = (c_data){.type = type, .bytes = kept + 1, .count = count, .size = size};
    }
    base_arena_free(scratch);
    return (uint32_t)*index;
}

const char *c_data_name(const c_module *m, uint32_t data) {
    return base_printf(m->arena, "%s_w%" PRIu32, m->prefix, data);
}

/* Elements of the array as they stand in memory. */
static uint64_t array_length(base_type type, uint64_t count) {
    uint64_t bytes = count;
    if (c_is_packed(type)) {
        (void)base_type_bytes(type, count, &bytes);
    }
    return bytes == 0 ? 1 : bytes;
}

static base_type raw_type(base_type type) {
    if (c_is_small_float(type)) {
        return base_type_bits(type) == 16 ? BASE_U16 : BASE_U8;
    }
    return c_is_packed(type) || type == BASE_BOOL ? BASE_U8 : type == BASE_STR ? BASE_U32 : type;
}

static size_t put_integer(char *out, bool negative, uint64_t magnitude) {
    char digits[24];
    size_t n = 0, length = 0;
    do {
        digits[n++] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude != 0);
    if (negative) {
        out[length++] = '-';
    }
    while (n > 0) {
        out[length++] = digits[--n];
    }
    return length;
}

/* Without the brackets that a negative constant of an expression needs. */
static void put_real(base_text *out, base_type type, double v) {
    if (!isfinite(v)) {
        base_puts(out, c_constant(out->arena, type, (base_value){.f = v}));
    } else if (type == BASE_F64) {
        base_put_float(out, v);
    } else {
        base_put_float32(out, (float)v);
        base_putn(out, "f", 1);
    }
}

void c_data_put_values(base_text *out, base_type type, const void *bytes, uint64_t count) {
    base_type raw = raw_type(type);
    uint64_t n = array_length(type, count);
    size_t start = out->n;
    for (uint64_t k = 0; k < n; k++) {
        base_value v = count == 0 ? (base_value){.u = 0} : base_load(raw, bytes, k);
        char text[32];
        size_t length = 0;
        if (raw == BASE_F32 || raw == BASE_F64) {
            put_real(out, raw, v.f);
        } else if (raw == BASE_I64 || raw == BASE_U64 || (raw == BASE_I32 && v.i == INT32_MIN)) {
            base_puts(out, c_constant(out->arena, raw, v));
        } else {
            bool negative = base_type_is_signed(raw) && v.i < 0;
            length = put_integer(text, negative, negative ? 0 - v.u : v.u);
            if (raw == BASE_U32) {
                text[length++] = 'u';
            }
        }
        text[length++] = k + 1 < n ? ',' : ' ';
        if (k + 1 == n) {
            length--;
        } else if (out->n + length - start > LINE - 14) {
            text[length++] = '\n';
        }
        base_putn(out, text, length);
        if (length > 0 && text[length - 1] == '\n') {
            start = out->n;
        }
    }
}

void c_data_put(base_text *out, const c_module *m) {
    bool single = strcmp(m->options->layout, "single") == 0;
    for (uint32_t k = 0; k < m->data.n; k++) {
        const c_data *d = &m->data.at[k];
        base_put(out, "%sconst %s %s[%" PRIu64 "] %s_ALIGNED %s_SECTION = {\n", single ? "static " : "",
                 c_storage_type(d->type), c_data_name(m, k), array_length(d->type, d->count), m->prefix, m->prefix);
        c_data_put_values(out, d->type, d->bytes, d->count);
        base_puts(out, "};\n");
    }
}

void c_data_blob(base_text *out, c_module *m) {
    static const uint8_t zeros[ALIGNMENT] = {0};
    for (uint32_t k = 0; k < m->data.n; k++) {
        c_data *d = &m->data.at[k];
        base_putn(out, zeros, (ALIGNMENT - out->n % ALIGNMENT) % ALIGNMENT);
        d->offset = out->n;
        base_putn(out, d->bytes, (size_t)d->size);
    }
}

/* The name of the file is the prefix's, and so nothing in it needs quoting. */
static const char incbin[] =
    "#if !defined(__GNUC__)\n#error \"this compiler takes in no file as data: compile the model with --weights inline "
    "or "
    "blob\"\n#endif\n"
    "#ifndef $_WEIGHTS_FILE /* found in the working folder, or in one that -I names; or say its path */\n"
    "#define $_WEIGHTS_FILE \"$_weights.bin\"\n#endif\n"
    "#ifndef $_WEIGHTS_SECTION /* where the weights go */\n#if defined(__APPLE__)\n"
    "#define $_WEIGHTS_SECTION \".const_data\"\n#elif defined(_WIN32)\n"
    "#define $_WEIGHTS_SECTION \".section .rdata,\\\"dr\\\"\"\n#else\n"
    "#define $_WEIGHTS_SECTION \".section .rodata.$_weights,\\\"a\\\"\"\n#endif\n#endif\n"
    "#define $_TEXT_OF(x) #x\n#define $_LABEL_OF(x) $_TEXT_OF(x)\n"
    "#define $_WEIGHTS_LABEL $_LABEL_OF(__USER_LABEL_PREFIX__) \"$_weights\"\n"
    "#if defined(__clang__) /* its assembler knows no length of a file */\n#define $_WEIGHTS_TEST \"\"\n#else\n"
    "#define $_WEIGHTS_TEST \"\\t.if . - \" $_WEIGHTS_LABEL \" - \" $_LABEL_OF($_WEIGHTS_BYTES) \"\\n\\t.error "
    "\\\"the file of weights is not this module's\\\"\\n\\t.endif\\n\"\n#endif\n"
    "__asm__($_WEIGHTS_SECTION \"\\n\\t.balign 16\\n\\t.globl \" $_WEIGHTS_LABEL \"\\n\" $_WEIGHTS_LABEL "
    "\":\\n\\t.incbin "
    "\\\"\" $_WEIGHTS_FILE \"\\\"\\n\" $_WEIGHTS_TEST \"\\t.byte 0\\n\\t.text\\n\");\n\n";

void c_data_put_incbin(base_text *out, c_module *m) {
    if (strcmp(m->options->layout, "single") == 0) {
        c_put(m, out, "#if defined(__cplusplus)\nextern \"C\"\n#else\nextern\n#endif\nconst uint8_t $_weights[];\n");
    }
    c_put_prefixed(out, m->prefix, incbin);
}
