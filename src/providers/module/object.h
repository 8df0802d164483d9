/* object.h - a shared object's file, as far as it can be known without loading it (part of room `providers/module`). */
#ifndef BURIN_PROVIDERS_MODULE_OBJECT_H
#define BURIN_PROVIDERS_MODULE_OBJECT_H

#include "base/base.h"
#include "burin/module.h"
#include "burin/session.h"

typedef struct object_head {
    burin_module_head numbers;
    uint64_t address; /* of the head in the object */
} object_head;
/* FORMAT: no whole ELF object of 64 bits with the head of one module. */
burin_code object_find_head(base_bytes file, object_head *out, burin_error *error);

/* An object that is loaded, in which the head is at `head`: does what it was loaded from, but for what it may write, hold these
 * bytes? The loader gives another object where one of that path was loaded before. */
bool object_is(base_bytes file, const object_head *at, const burin_module_head *head);

#endif
