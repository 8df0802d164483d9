/* attributes.c - AttributeProto: the attributes of a node, typed.
 *
 * Takes untrusted messages. Gives values in the arena; tensors and graphs stay messages. In a function's body a reference
 * is replaced by what the call gives, and an attribute whose reference the call does not give is absent.
 */
#include "formats/onnx/reader.h"

#include <string.h>

/* Values of a repeated field, which may stand in several fields. */
typedef struct lists {
    BASE_VEC(int64_t) ints;
    BASE_VEC(float) floats;
    BASE_VEC(base_bytes) strings;
    unsigned present; /* bit f: field f stands there */
} lists;

static void read_list(onnx_reader *r, const wire_path *path, const wire_pb_field *f, lists *l) {
    uint64_t k = 0, v;
    if (f->number == ONNX_ATTR_INTS) {
        while (wire_pb_varint_in(&r->pb, path, f, &k, &v)) {
            *BASE_PUSH(r->arena, &l->ints) = (int64_t)v;
        }
    } else if (f->number == ONNX_ATTR_FLOATS) {
        while (wire_pb_fixed_in(&r->pb, path, f, 4, &k, &v)) {
            const uint32_t bits = (uint32_t)v;
            memcpy(BASE_PUSH(r->arena, &l->floats), &bits, sizeof bits);
        }
    } else {
        *BASE_PUSH(r->arena, &l->strings) = wire_pb_bytes(&r->pb, path, f);
    }
}

/* The field that holds an attribute's value. */
static unsigned field_of(onnx_attr_type type) {
    static const uint8_t fields[ONNX_ATTR_TYPES] = {
        [ONNX_FLOAT] = ONNX_ATTR_F,         [ONNX_INT] = ONNX_ATTR_I,
        [ONNX_STRING] = ONNX_ATTR_S,        [ONNX_TENSOR] = ONNX_ATTR_T,
        [ONNX_GRAPH] = ONNX_ATTR_G,         [ONNX_FLOATS] = ONNX_ATTR_FLOATS,
        [ONNX_INTS] = ONNX_ATTR_INTS,       [ONNX_STRINGS] = ONNX_ATTR_STRINGS,
        [ONNX_TENSORS] = ONNX_ATTR_TENSORS, [ONNX_GRAPHS] = ONNX_ATTR_GRAPHS,
        [ONNX_TYPE_PROTO] = ONNX_ATTR_TP,   [ONNX_SPARSE_TENSOR] = ONNX_ATTR_SPARSE_TENSOR,
    };
    return fields[type];
}

/* Models from before attributes had a type say it by the field that is there. */
static onnx_attr_type type_by_field(unsigned present) {
    for (int type = 1; type < ONNX_ATTR_TYPES; type++) {
        const unsigned field = field_of((onnx_attr_type)type);
        if (field && (present >> field & 1)) {
            return (onnx_attr_type)type;
        }
    }
    return ONNX_UNDEFINED;
}

static void read_fields(onnx_reader *r, const wire_path *path, wire_message m, onnx_attr *a, lists *l,
                        const char **ref) {
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        l->present |= f.number < 32 ? 1u << f.number : 0;
        switch (f.number) {
        case ONNX_ATTR_NAME:
            a->name = wire_pb_text(r->arena, &r->pb, path, &f);
            break;
        case ONNX_ATTR_TYPE:
            if ((uint64_t)wire_pb_int(&r->pb, path, &f) >= ONNX_ATTR_TYPES) {
                wire_pb_error(&r->pb, path, f.at, "attribute type %lld is none", (long long)f.value);
                return;
            }
            a->type = (onnx_attr_type)f.value;
            break;
        case ONNX_ATTR_REF:
            *ref = wire_pb_text(r->arena, &r->pb, path, &f);
            break;
        case ONNX_ATTR_I:
            a->i = wire_pb_int(&r->pb, path, &f);
            break;
        case ONNX_ATTR_F:
            a->f = wire_pb_float(&r->pb, path, &f);
            break;
        case ONNX_ATTR_S:
            a->s = wire_pb_bytes(&r->pb, path, &f);
            break;
        case ONNX_ATTR_INTS:
        case ONNX_ATTR_FLOATS:
        case ONNX_ATTR_STRINGS:
            read_list(r, path, &f, l);
            break;
        case ONNX_ATTR_T:
        case ONNX_ATTR_G:
        case ONNX_ATTR_TP:
        case ONNX_ATTR_SPARSE_TENSOR:
            a->message = wire_pb_message(&r->pb, path, &f);
            break;
        default:
            break;
        }
    }
}

static const onnx_attr *given_by(const onnx_attrs *call, const char *name) {
    for (size_t i = 0; call && i < call->n; i++) {
        if (strcmp(call->at[i].name, name) == 0) {
            return &call->at[i];
        }
    }
    return NULL;
}

void onnx_read_attribute(onnx_reader *r, const wire_path *path, wire_message m, const onnx_scope *scope,
                         onnx_attrs *out) {
    onnx_attr a = {.name = "", .byte = m.at};
    lists l = {0};
    const char *ref = NULL;
    read_fields(r, path, m, &a, &l, &ref);
    if (wire_pb_failed(&r->pb)) {
        return;
    }
    if (ref && *ref) {
        const onnx_attr *given = given_by(scope->call, ref);
        if (!scope->call) {
            wire_pb_error(&r->pb, path, a.byte, "attribute \"%s\" refers to one of a function, and there is none",
                          base_printable(r->arena, a.name, strlen(a.name), 60));
        } else if (given) {
            const char *name = a.name;
            a = *given;
            a.name = name;
            a.used = false;
            *BASE_PUSH(r->arena, out) = a;
        }
        return;
    }
    a.type = a.type == ONNX_UNDEFINED ? type_by_field(l.present) : a.type;
    a.ints = l.ints.at;
    a.floats = l.floats.at;
    a.strings = l.strings.at;
    a.n = a.type == ONNX_INTS ? l.ints.n : a.type == ONNX_FLOATS ? l.floats.n : l.strings.n;
    if (!*a.name || a.type == ONNX_UNDEFINED) {
        wire_pb_error(&r->pb, path, a.byte, !*a.name ? "an attribute without a name" : "attribute \"%s\" has no value",
                      base_printable(r->arena, a.name, strlen(a.name), 60));
        return;
    }
    if (given_by(out, a.name)) {
        wire_pb_error(&r->pb, path, a.byte, "attribute \"%s\" is given twice",
                      base_printable(r->arena, a.name, strlen(a.name), 60));
        return;
    }
    *BASE_PUSH(r->arena, out) = a;
}
