/* computed.c - extents that data decides: which extents of an operator's outputs follow from them.
 *
 * Takes an operator whose node is made for the bounds of such extents. Gives symbols to its outputs' extents: a new one
 * where the definition itself counts, or where an extent changes with those of the inputs. That is found by asking: the
 * node is made again for lower extents, and what differs depends on them. An operator whose attributes would differ too
 * has no meaning for all of them and is refused. Knows no operator.
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

static bool same_attributes(const ir_node *a, const ir_node *b) {
    bool same = a->attr_count == b->attr_count;
    for (size_t i = 0; same && i < a->attr_count; i++) {
        const ir_attr *x = &a->attrs[i], *y = &b->attrs[i];
        same = !strcmp(x->name, y->name) && x->kind == y->kind;
        if (same && x->kind == IR_INTS) {
            same = x->n == y->n && !memcmp(x->v.ints, y->v.ints, x->n * sizeof *x->v.ints);
        } else if (same && x->kind == IR_INT) {
            same = x->v.i == y->v.i;
        }
    }
    return same;
}

/* The operator for another extent: the shapes of its outputs. false: it cannot be, or has other attributes. */
static bool ask(tflite_op *op, uint32_t symbol, int64_t extent, ir_shape *shapes) {
    tflite_reader *r = op->r;
    base_diags *d = r->d, *fb_d = r->fb.d, ignored = {.arena = r->arena};
    const size_t notes = formats_notes_count(r->notes);
    const int64_t bound = r->m->symbols.at[symbol - 1].bound;
    uint32_t *dynamic = BASE_NEWS(r->arena, uint32_t, op->output_count + 1);
    tflite_op other = *op;
    other.dropped = 0;
    r->d = r->fb.d = &ignored;
    set_extent(op, symbol, extent);
    tflite_make_attributes(&other, IR_NONE);
    bool fine =
        !r->fb.failed && formats_notes_count(r->notes) == notes &&
        same_attributes(&r->g->nodes.at[r->g->nodes.n - 2], other.node) &&
        ops_output_shapes(r->arena, r->ops, r->m, r->g, other.node, NULL, shapes, NULL, dynamic, &ignored) == BASE_OK;
    set_extent(op, symbol, bound);
    r->g->nodes.at[--r->g->nodes.n] = (ir_node){0};
    op->node = &r->g->nodes.at[r->g->nodes.n - 1];
    r->fb.failed = false;
    r->d = d;
    r->fb.d = fb_d;
    return fine;
}

/* What is known of each extent of the outputs. */
typedef struct extent {
    uint32_t symbol; /* it changes with that one alone; 0: with none; IR_NONE: with several, or in another way */
} extent;

static bool learn(tflite_op *op, uint32_t symbol, const ir_shape *at_bound, extent (*known)[IR_MAX_RANK]) {
    const int64_t bound = op->r->m->symbols.at[symbol - 1].bound;
    ir_shape *shapes = BASE_NEWS(op->r->arena, ir_shape, op->node->output_count + 1);
    for (int64_t v = bound - 1; v >= 0 && v >= bound - PROBES; v--) {
        if (!ask(op, symbol, v, shapes)) {
            if (v == 0) {
                break; /* a run may still say that there is nothing */
            }
            return refuse(op, "which it does not take for all of its values");
        }
        for (size_t i = 0; i < op->node->output_count; i++) {
            for (uint32_t k = 0; k < at_bound[i].rank && shapes[i].rank == at_bound[i].rank; k++) {
                bool follows = shapes[i].dim[k] == v && at_bound[i].dim[k] == bound;
                if (shapes[i].dim[k] > at_bound[i].dim[k]) {
                    return refuse(op, "whose bound would not bound its output");
                }
                if (shapes[i].dim[k] != at_bound[i].dim[k]) {
                    bool only = follows && (known[i][k].symbol == 0 || known[i][k].symbol == symbol);
                    known[i][k].symbol = only ? symbol : IR_NONE;
                }
            }
            if (shapes[i].rank != at_bound[i].rank) {
                return refuse(op, "which decides the rank of its output");
            }
        }
    }
    return true;
}

bool tflite_follow(tflite_op *op, ir_shape *shapes, const uint32_t *dynamic) {
    uint32_t symbols[MOST_SYMBOLS + 1];
    const size_t outputs = op->node->output_count, n = symbols_of(op, symbols);
    extent(*known)[IR_MAX_RANK] = base_alloc(op->r->arena, outputs + 1, sizeof *known);
    if (n > MOST_SYMBOLS) {
        return refuse(op, "together with more than 3 others");
    }
    for (size_t i = 0; i < n; i++) {
        if (!learn(op, symbols[i], shapes, known)) {
            return false;
        }
    }
    for (size_t i = 0; i < outputs; i++) {
        for (uint32_t k = 0; k < shapes[i].rank; k++) {
            bool is_new = (dynamic[i] >> k & 1) || known[i][k].symbol == IR_NONE;
            shapes[i].symbol[k] = is_new ? new_symbol(op->r, shapes[i].dim[k]) : known[i][k].symbol;
        }
    }
    return true;
}
