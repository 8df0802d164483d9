/* computed.c - extents that data decides, behind the operators that decide them.
 *
 * Takes an operator whose node is made for the bounds of such extents, and its outputs' shapes as its definition gives them.
 * Gives symbols to the extents that have none yet. An operator whose attributes would follow from such an extent has no
 * meaning for all of them and is refused: that is found by asking, the node is made again for lower extents. Knows no
 * operator.
 */
#include "formats/tflite/dictionary.h"

#include <string.h>

enum { MOST_SYMBOLS = 4, PROBES = 8 };

static uint32_t new_symbol(tflite_reader *r, int64_t bound) {
    const char *name = base_printf(r->arena, "count%zu", r->m->symbols.n);
    *BASE_PUSH(r->arena, &r->m->symbols) = (ir_symbol){name, bound, true};
    return (uint32_t)r->m->symbols.n;
}

static bool refuse(tflite_op *op, const char *why) {
    tflite_unsupported(op->r, op->path, op->table.at,
                       base_printf(op->r->arena, "operator %s behind an extent that data decides, %s", op->name, why),
                       "leave what is behind it to the application");
    return false;
}

/* The symbols among the extents of the operator's inputs. */
static size_t symbols_of(const tflite_op *op, uint32_t symbols[MOST_SYMBOLS + 1]) {
    size_t n = 0;
    for (size_t i = 0; i < op->input_count; i++) {
        const ir_shape *s = op->inputs[i] == IR_NONE ? NULL : &op->r->g->tensors.at[op->inputs[i]].shape;
        for (uint32_t k = 0; s && k < s->rank && n <= MOST_SYMBOLS; k++) {
            bool known = s->symbol[k] == 0;
            for (size_t m = 0; m < n; m++) {
                known = known || symbols[m] == s->symbol[k];
            }
            if (!known) {
                symbols[n++] = s->symbol[k];
            }
        }
    }
    return n;
}

static void set_extent(const tflite_op *op, uint32_t symbol, int64_t extent) {
    for (size_t i = 0; i < op->input_count; i++) {
        ir_shape *s = op->inputs[i] == IR_NONE ? NULL : &op->r->g->tensors.at[op->inputs[i]].shape;
        for (uint32_t k = 0; s && k < s->rank; k++) {
            s->dim[k] = s->symbol[k] == symbol ? extent : s->dim[k];
        }
    }
}

/* Has the operator the same attributes for another extent? */
static bool ask(tflite_op *op, uint32_t symbol, int64_t extent) {
    tflite_reader *r = op->r;
    base_diags *d = r->d, *fb_d = r->fb.d, ignored = {.arena = r->arena};
    const size_t notes = formats_notes_count(r->notes);
    const int64_t bound = r->m->symbols.at[symbol - 1].bound;
    tflite_op other = *op;
    other.dropped = 0;
    r->d = r->fb.d = &ignored;
    set_extent(op, symbol, extent);
    tflite_make_attributes(&other, IR_NONE);
    bool same = !r->fb.failed && formats_notes_count(r->notes) == notes &&
                formats_same_attributes(&r->g->nodes.at[r->g->nodes.n - 2], other.node);
    set_extent(op, symbol, bound);
    r->g->nodes.at[--r->g->nodes.n] = (ir_node){0};
    op->node = &r->g->nodes.at[r->g->nodes.n - 1];
    r->fb.failed = false;
    r->d = d;
    r->fb.d = fb_d;
    return same;
}

bool tflite_follow(tflite_op *op, ir_shape *shapes, const uint32_t *dynamic) {
    uint32_t symbols[MOST_SYMBOLS + 1];
    const size_t outputs = op->node->output_count, n = symbols_of(op, symbols);
    if (n > MOST_SYMBOLS) {
        return refuse(op, "together with more than 3 others");
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t bound = op->r->m->symbols.at[symbols[i] - 1].bound;
        for (int64_t v = bound - 1; v > 0 && v >= bound - PROBES; v--) {
            if (!ask(op, symbols[i], v)) {
                return refuse(op, "from which its attributes would follow");
            }
        }
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
