/* wire.h - face of room `wire`: cursors over the encodings that model files are made of.
 *
 * Each gives bounded access to bytes that nobody has to trust. No cursor knows a schema, a graph or a file format.
 */
#ifndef BURIN_WIRE_H
#define BURIN_WIRE_H

#include "wire/flatbuffers.h"
#include "wire/flatbuild.h"
#include "wire/flexbuffers.h"
#include "wire/flexbuild.h"
#include "wire/json.h"
#include "wire/protobuf.h"
#include "wire/protobuild.h"

#endif
