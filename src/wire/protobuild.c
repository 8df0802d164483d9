/* protobuild.c - writing Protocol Buffers' binary form (protobuild.h). */
#include "wire/protobuild.h"

#include <string.h>

enum { ROOM = 512, VARINT = 10, KEPT = 64 /* bytes: shorter contents are copied */ };
enum { TYPE_VARINT = 0, TYPE_BYTES = 2, TYPE_I32 = 5 };

/* Place for n <= ROOM bytes behind the last piece. */
static uint8_t *take(wire_pb_out *out, size_t n) {
    if (out->cap - out->used < n) {
        out->room = base_alloc(out->arena, 1, ROOM);
        out->cap = ROOM;
        out->used = 0;
    }
    uint8_t *at = out->room + out->used;
    wire_piece *last = out->pieces.n ? &out->pieces.at[out->pieces.n - 1] : NULL;
    if (last && (const uint8_t *)last->at + last->n == at && out->used) {
        last->n += n;
    } else {
        *BASE_PUSH(out->arena, &out->pieces) = (wire_piece){at, n};
    }
    out->used += n;
    out->size += n;
    return at;
}

static size_t varint(uint8_t at[VARINT], uint64_t v) {
    size_t n = 0;
    do {
        at[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v);
    return n;
}

static void put_varint(wire_pb_out *out, uint64_t v) {
    uint8_t bytes[VARINT];
    const size_t n = varint(bytes, v);
    memcpy(take(out, n), bytes, n);
}

static void put_key(wire_pb_out *out, uint32_t field, unsigned type) {
    put_varint(out, (uint64_t)field << 3 | type);
}

static void put_fixed(wire_pb_out *out, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint8_t *at = take(out, 4);
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(bits >> (8 * i));
    }
}

void wire_pb_put_int(wire_pb_out *out, uint32_t field, int64_t v) {
    put_key(out, field, TYPE_VARINT);
    put_varint(out, (uint64_t)v);
}

void wire_pb_put_float(wire_pb_out *out, uint32_t field, float v) {
    put_key(out, field, TYPE_I32);
    put_fixed(out, v);
}

void wire_pb_put_bytes(wire_pb_out *out, uint32_t field, const void *bytes, size_t n) {
    put_key(out, field, TYPE_BYTES);
    put_varint(out, n);
    if (n && n <= KEPT) {
        memcpy(take(out, n), bytes, n);
    } else if (n) {
        *BASE_PUSH(out->arena, &out->pieces) = (wire_piece){bytes, n};
        out->size += n;
    }
}

void wire_pb_put_text(wire_pb_out *out, uint32_t field, const char *text) {
    wire_pb_put_bytes(out, field, base_strdup(out->arena, text), strlen(text));
}

void wire_pb_put_message(wire_pb_out *out, uint32_t field, const wire_pb_out *message) {
    put_key(out, field, TYPE_BYTES);
    put_varint(out, message->size);
    for (size_t i = 0; i < message->pieces.n; i++) {
        const wire_piece *p = &message->pieces.at[i];
        if (p->n <= KEPT) {
            memcpy(take(out, p->n), p->at, p->n);
        } else {
            *BASE_PUSH(out->arena, &out->pieces) = *p;
            out->size += p->n;
        }
    }
}

void wire_pb_put_ints(wire_pb_out *out, uint32_t field, const int64_t *v, size_t n) {
    uint8_t bytes[VARINT];
    uint64_t size = 0;
    for (size_t i = 0; i < n; i++) {
        size += varint(bytes, (uint64_t)v[i]);
    }
    if (n) {
        put_key(out, field, TYPE_BYTES);
        put_varint(out, size);
    }
    for (size_t i = 0; i < n; i++) {
        put_varint(out, (uint64_t)v[i]);
    }
}

void wire_pb_put_floats(wire_pb_out *out, uint32_t field, const float *v, size_t n) {
    if (n) {
        put_key(out, field, TYPE_BYTES);
        put_varint(out, 4 * (uint64_t)n);
    }
    for (size_t i = 0; i < n; i++) {
        put_fixed(out, v[i]);
    }
}

void wire_pb_finish(const wire_pb_out *out, base_text *bytes) {
    for (size_t i = 0; i < out->pieces.n; i++) {
        base_putn(bytes, out->pieces.at[i].at, out->pieces.at[i].n);
    }
}
