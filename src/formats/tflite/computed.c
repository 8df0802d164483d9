/* computed.c - extents that data decides, behind the operators that decide them.
 *
 * Takes an operator whose node is made for the bounds of such extents, and its outputs' shapes as its definition gives them.
 * Gives symbols to the extents that have none yet. An operator whose attributes would follow from such an extent has no
 * meaning for all of them and is refused: that is found by asking, the node is made again for lower extents. Knows no
 * operator.
 */
#include "formats/tflite/dictionary.h"

bool tflite_op_has_symbol(const tflite_op *op, bool computed) {
    for (size_t i = 0; i < op->input_count; i++) {
        const ir_shape *s = op->inputs[i] != IR_NONE ? &op->r->g->tensors.at[op->inputs[i]].shape : &(ir_shape){0};
        for (uint32_t k = 0; k < s->rank; k++) {
            if (s->symbol[k] && op->r->m->symbols.at[s->symbol[k] - 1].computed == computed) {
                return true;
            }
        }
    }
    return false;
}

static uint32_t new_symbol(tflite_reader *r, int64_t bound) {
    const char *name = base_printf(r->arena, "count%zu", r->m->symbols.n);
    *BASE_PUSH(r->arena, &r->m->symbols) = (ir_symbol){name, bound, true};
    return (uint32_t)r->m->symbols.n;
}

static bool refuse(tflite_op *op, const char *why) {
    const bool decided = tflite_op_has_symbol(op, true);
    tflite_unsupported(op->r, op->path, op->table.at,
                       base_printf(op->r->arena, "operator %s behind an extent that %s, %s", op->name,
                                   decided ? "data decides" : "--dim leaves open", why),
                       decided ? "leave what is behind it to the application" : TFLITE_REMEDY_OPEN);
    return false;
}

/* Has the operator the same attributes for the extents that its inputs have now? */
static formats_likeness make_again(void *user) {
    tflite_op *op = user;
    tflite_reader *r = op->r;
    base_diags *d = r->d, *fb_d = r->fb.d, ignored = {.arena = r->arena};
    const size_t notes = formats_notes_count(r->notes);
    tflite_op other = *op;
    other.dropped = 0;
    r->d = r->fb.d = &ignored;
    tflite_make_attributes(&other, IR_NONE);
    const bool made = !r->fb.failed && formats_notes_count(r->notes) == notes;
    const bool same = made && formats_same_attributes(&r->g->nodes.at[r->g->nodes.n - 2], other.node);
    r->g->nodes.at[--r->g->nodes.n] = (ir_node){0};
    op->node = &r->g->nodes.at[r->g->nodes.n - 1];
    r->fb.failed = false;
    r->d = d;
    r->fb.d = fb_d;
    return same ? FORMATS_SAME : made ? FORMATS_OTHER : FORMATS_NONE;
}

bool tflite_follow(tflite_op *op, ir_shape *shapes, const uint32_t *dynamic) {
    const size_t outputs = op->node->output_count;
    const char *why = formats_differs_by_extents(op->r->m, (uint32_t)(op->r->g - op->r->m->graphs.at), op->inputs,
                                                 op->input_count, make_again, op);
    if (why) {
        return refuse(op, why);
    }
    for (size_t i = 0; i < outputs; i++) {
        for (uint32_t k = 0; k < shapes[i].rank; k++) {
            if (dynamic[i] >> k & 1) {
                shapes[i].symbol[k] = new_symbol(op->r, shapes[i].dim[k]);
            }
        }
    }
    return true;
}
