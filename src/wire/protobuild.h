/* protobuild.h - part of wire's face: writing Protocol Buffers' binary form.
 *
 * A message is a row of pieces; a sub-message becomes a field of the message around it once it is whole, since its length
 * stands in front of it. Long contents are borrowed until the whole is written: no piece is copied more than once, however
 * deep it stands. Lengths and numbers are written in the fewest bytes. Nothing here fails.
 */
#ifndef BURIN_WIRE_PROTOBUILD_H
#define BURIN_WIRE_PROTOBUILD_H

#include "base/base.h"

typedef struct wire_piece {
    const void *at;
    size_t n;
} wire_piece;

typedef struct wire_pb_out {
    base_arena *arena;
    BASE_VEC(wire_piece) pieces;
    uint64_t size; /* of all of them */
    uint8_t *room; /* where short fields are put together: the last piece, if it ends there */
    size_t used, cap;
} wire_pb_out;

void wire_pb_put_int(wire_pb_out *out, uint32_t field, int64_t v);
void wire_pb_put_float(wire_pb_out *out, uint32_t field, float v);
/* Copied. */
void wire_pb_put_text(wire_pb_out *out, uint32_t field, const char *text);
/* Borrowed. */
void wire_pb_put_bytes(wire_pb_out *out, uint32_t field, const void *bytes, size_t n);
/* The message's pieces become the outer's. */
void wire_pb_put_message(wire_pb_out *out, uint32_t field, const wire_pb_out *message);
/* Packed lists; of no elements: nothing. */
void wire_pb_put_ints(wire_pb_out *out, uint32_t field, const int64_t *v, size_t n);
void wire_pb_put_floats(wire_pb_out *out, uint32_t field, const float *v, size_t n);
/* Appends the message's bytes. */
void wire_pb_finish(const wire_pb_out *out, base_text *bytes);

#endif
