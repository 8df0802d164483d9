/* schema.c - TFLite's tables by name (schema.h). Takes schema.def and builtins.def; holds no logic of any operator. */
#include "formats/tflite/schema.h"

#include <assert.h>
#include <math.h>

static const struct {
    const char *name;
    uint8_t number;
    tflite_kind kind;
    int64_t otherwise;
} fields[TFLITE_FIELD_COUNT] = {
#define FIELD(table, name, number, kind, otherwise) {#name, number, TFLITE_##kind, otherwise},
#include "formats/tflite/schema.def"
#undef FIELD
};

static const struct {
    const char *name;
    base_type type;
} types[] = {
#define TENSOR_TYPE(name, code, type) [code] = {#name, type},
#include "formats/tflite/schema.def"
#undef TENSOR_TYPE
};

static const char *const builtins[] = {
#define BUILTIN(name, code) [code] = #name,
#include "formats/tflite/builtins.def"
#undef BUILTIN
};

static const char *const options[] = {
    NULL,
#define OPTIONS(table, type) [type] = #table,
#include "formats/tflite/schema.def"
#undef OPTIONS
};

static const char *const options2[] = {
    NULL,
#define OPTIONS2(table, type) [type] = #table,
#include "formats/tflite/schema.def"
#undef OPTIONS2
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

const char *tflite_builtin_name(int64_t code) {
    return code >= 0 && code < (int64_t)COUNT(builtins) ? builtins[code] : NULL;
}

const char *tflite_options_name(unsigned type) {
    if (type >= TFLITE_SECOND) {
        return type - TFLITE_SECOND < COUNT(options2) ? options2[type - TFLITE_SECOND] : NULL;
    }
    return type < COUNT(options) ? options[type] : NULL;
}

const char *tflite_type_name(int64_t code) {
    return code >= 0 && code < (int64_t)COUNT(types) ? types[code].name : NULL;
}

base_type tflite_type_base(int64_t code) {
    return code >= 0 && code < (int64_t)COUNT(types) ? types[code].type : BASE_NONE;
}

int64_t tflite_type_code(base_type type) {
    for (size_t i = 0; i < COUNT(types); i++) {
        if (type != BASE_NONE && types[i].type == type) {
            return (int64_t)i;
        }
    }
    return -1;
}

static unsigned width_of(tflite_kind kind) {
    switch (kind) {
    case TFLITE_U8:
    case TFLITE_I8:
    case TFLITE_UNION:
    case TFLITE_U8S:
        return 1;
    case TFLITE_U64:
    case TFLITE_I64:
    case TFLITE_I64S:
        return 8;
    case TFLITE_U16S:
        return 2;
    default:
        return 4;
    }
}

const char *tflite_field_name(tflite_field f) {
    return fields[f].name;
}

tflite_kind tflite_field_kind(tflite_field f) {
    return fields[f].kind;
}

void tflite_field_range(tflite_field f, int64_t *lo, int64_t *hi) {
    tflite_kind kind = fields[f].kind;
    bool is_signed = kind == TFLITE_I8 || kind == TFLITE_I32 || kind == TFLITE_I64;
    unsigned bits = width_of(kind) == 8 ? 63 : 8 * width_of(kind) - (is_signed ? 1 : 0);
    *hi = (int64_t)(((uint64_t)1 << bits) - 1);
    *lo = is_signed ? -*hi - 1 : 0;
}

static wire_path path_of(const wire_path *outer, tflite_field f) {
    return (wire_path){.outer = outer, .name = fields[f].name, .index = WIRE_NO_INDEX};
}

int64_t tflite_int(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f) {
    wire_path path = path_of(outer, f);
    tflite_kind kind = fields[f].kind;
    unsigned width = width_of(kind);
    if (kind == TFLITE_I8 || kind == TFLITE_I32 || kind == TFLITE_I64) {
        return wire_fb_signed(fb, &path, t, fields[f].number, width, fields[f].otherwise);
    }
    assert(kind == TFLITE_U8 || kind == TFLITE_U32 || kind == TFLITE_U64);
    uint64_t v = wire_fb_unsigned(fb, &path, t, fields[f].number, width, (uint64_t)fields[f].otherwise);
    if (v > (uint64_t)INT64_MAX) {
        tflite_error(fb, outer, t, f, "%llu is too large", (unsigned long long)v);
        return 0;
    }
    return (int64_t)v;
}

float tflite_float(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f) {
    assert(fields[f].kind == TFLITE_F32);
    wire_path path = path_of(outer, f);
    return wire_fb_float(fb, &path, t, fields[f].number, (float)fields[f].otherwise);
}

wire_table tflite_table(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f) {
    assert(fields[f].kind == TFLITE_TABLE);
    wire_path path = path_of(outer, f);
    return wire_fb_table(fb, &path, t, fields[f].number);
}

unsigned tflite_union_type(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f) {
    assert(fields[f].kind == TFLITE_UNION);
    wire_path path = path_of(outer, f);
    return wire_fb_union_type(fb, &path, t, fields[f].number, (unsigned)fields[f].otherwise);
}

wire_table tflite_union(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f, unsigned *type) {
    assert(fields[f].kind == TFLITE_UNION);
    wire_path path = path_of(outer, f);
    return wire_fb_union(fb, &path, t, fields[f].number, (unsigned)fields[f].otherwise, type);
}

wire_vector tflite_list(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f) {
    assert(fields[f].kind >= TFLITE_TABLES);
    wire_path path = path_of(outer, f);
    return wire_fb_vector(fb, &path, t, fields[f].number, width_of(fields[f].kind));
}

base_bytes tflite_bytes(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f) {
    assert(fields[f].kind == TFLITE_STRING || fields[f].kind == TFLITE_BYTES);
    wire_path path = path_of(outer, f);
    return fields[f].kind == TFLITE_STRING ? wire_fb_string(fb, &path, t, fields[f].number)
                                           : wire_fb_blob(fb, &path, t, fields[f].number);
}

void tflite_put_int(wire_builder *b, tflite_field f, int64_t v) {
    int64_t lo, hi;
    tflite_field_range(f, &lo, &hi);
    assert(v >= lo && v <= hi);
    if (v != fields[f].otherwise) {
        wire_build_field(b, fields[f].number, width_of(fields[f].kind), (uint64_t)v);
    }
}

void tflite_put_float(wire_builder *b, tflite_field f, float v) {
    assert(fields[f].kind == TFLITE_F32);
    if (v != (float)fields[f].otherwise || signbit(v)) {
        wire_build_float_field(b, fields[f].number, v);
    }
}

void tflite_put_ref(wire_builder *b, tflite_field f, wire_ref ref) {
    assert(fields[f].kind >= TFLITE_TABLE && fields[f].kind != TFLITE_UNION);
    wire_build_ref_field(b, fields[f].number, ref);
}

void tflite_put_union(wire_builder *b, tflite_field f, unsigned type, wire_ref ref) {
    assert(fields[f].kind == TFLITE_UNION && type <= (unsigned)fields[f].otherwise);
    if (ref) {
        wire_build_field(b, fields[f].number, 1, type);
        wire_build_ref_field(b, fields[f].number + 1u, ref);
    }
}

base_status tflite_error(wire_fb *fb, const wire_path *outer, const wire_table *t, tflite_field f, const char *format,
                         ...) {
    wire_path path = path_of(outer, f);
    uint64_t byte = wire_fb_field(fb, &path, t, fields[f].number, 1);
    va_list list;
    va_start(list, format);
    char *message = base_vprintf(fb->d->arena, format, list);
    va_end(list);
    return wire_fb_error(fb, &path, byte ? byte : t->at, "%s", message);
}
