/* protobuf.h - part of wire's face: a bounded cursor over Protocol Buffers' binary form.
 *
 * Source: Protocol Buffers' "Encoding" page: a message is a row of fields, each a varint of number << 3 | wire type, then
 * a varint (0), 8 bytes (1), a varint of a length and so many bytes (2), or 4 bytes (5), little-endian. Groups (3, 4) are
 * obsolete and passed over.
 *
 * A message is walked field by field; what a length spans is not looked into before it is asked for, so that a walk costs
 * its own fields. The first fault is reported with its path and byte; after it every walk ends at once, so that a reader
 * asks wire_pb_failed at the end of each message and not after each field.
 */
#ifndef BURIN_WIRE_PROTOBUF_H
#define BURIN_WIRE_PROTOBUF_H

#include "wire/flatbuffers.h" /* wire_path */

typedef struct wire_pb {
    base_bytes bytes;
    const char *file;
    base_diags *d;
    bool failed;
} wire_pb;

/* The bytes [at, end) of a message that are still to be walked. */
typedef struct wire_message {
    uint64_t at, end;
    uint32_t depth;
} wire_message;

typedef enum wire_pb_type { WIRE_PB_VARINT = 0, WIRE_PB_I64 = 1, WIRE_PB_BYTES = 2, WIRE_PB_I32 = 5 } wire_pb_type;

typedef struct wire_pb_field {
    uint32_t number;
    wire_pb_type type;
    uint64_t value;    /* VARINT, I64, I32 */
    uint64_t at, size; /* BYTES: where they stand; else where the value does */
    uint32_t depth;
} wire_pb_field;

/* Sets the cursor on bytes. file and d are borrowed. */
void wire_pb_open(wire_pb *pb, const char *file, base_bytes bytes, base_diags *d);
wire_message wire_pb_root(const wire_pb *pb);
bool wire_pb_failed(const wire_pb *pb);
/* The next field; false: there is none, or a fault. path is the message's. */
bool wire_pb_next(wire_pb *pb, const wire_path *path, wire_message *m, wire_pb_field *f);

/* Reports "path: message (byte)" and fails the cursor. Returns BASE_REFUSED. */
base_status wire_pb_error(wire_pb *pb, const wire_path *path, uint64_t byte, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- a field's value; path is the field's. A field of another wire type is a fault. ---- */
wire_message wire_pb_message(wire_pb *pb, const wire_path *path, const wire_pb_field *f);
base_bytes wire_pb_bytes(wire_pb *pb, const wire_path *path, const wire_pb_field *f);
/* As text: without NUL inside, in arena. */
char *wire_pb_text(base_arena *arena, wire_pb *pb, const wire_path *path, const wire_pb_field *f);
/* int64, int32, enum: negative ones are 10 bytes long */
int64_t wire_pb_int(wire_pb *pb, const wire_path *path, const wire_pb_field *f);
float wire_pb_float(wire_pb *pb, const wire_path *path, const wire_pb_field *f);

/* ---- repeated scalars, which stand one a field or packed into one: the values of one field. false: there are no more,
 * or a fault. *k: 0 before the first ---- */
bool wire_pb_varint_in(wire_pb *pb, const wire_path *path, const wire_pb_field *f, uint64_t *k, uint64_t *value);
/* of width 4 or 8 bytes */
bool wire_pb_fixed_in(wire_pb *pb, const wire_path *path, const wire_pb_field *f, unsigned width, uint64_t *k,
                      uint64_t *value);

#endif
