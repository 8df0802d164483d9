/* text.h - private to room `ir`: what the printer and the parser of the text form share with model.c. */
#ifndef BURIN_IR_TEXT_H
#define BURIN_IR_TEXT_H

#include "ir/ir.h"

enum { IR_TEXT_VERSION = 1 };

extern const char ir_text_base64[65];
extern const char *const ir_text_kinds[IR_GRAPH + 1]; /* by ir_attr_kind */

/* A letter or underscore, then letters, digits, underscores, dots; "_" alone is no word (it is the absent input). */
bool ir_text_is_word(const char *s);

/* The node's attribute called name, made if it is new; its value is the caller's to set. Valid until the next one is
 * put. */
ir_attr *ir_attr_put(ir_model *m, ir_node *n, const char *name, ir_attr_kind kind);

#endif
