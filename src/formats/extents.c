/* extents.c - nodes behind extents that data decides: are they the same for all of their values?
 *
 * Takes a node's inputs and a way to make the node again. Says why it has no meaning for all values: its attributes would
 * follow from them. That is found by asking for the values next below the bound, where most follow, and for the least, where
 * windows and slices reach the end. Knows no format and no operator.
 */
#include "formats/formats.h"

enum { MOST_SYMBOLS = 4, PROBES = 8 };

static ir_shape *shape_of(ir_graph *g, uint32_t tensor) {
    return tensor == IR_NONE ? NULL : &g->tensors.at[tensor].shape;
}

/* The symbols among the extents of the tensors; MOST_SYMBOLS + 1: there are more. */
static size_t symbols_of(ir_graph *g, const uint32_t *tensors, size_t count, uint32_t symbols[MOST_SYMBOLS + 1]) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const ir_shape *s = shape_of(g, tensors[i]);
        for (uint32_t k = 0; s && k < s->rank && n <= MOST_SYMBOLS; k++) {
            bool known = s->symbol[k] == 0;
            for (size_t j = 0; j < n; j++) {
                known = known || symbols[j] == s->symbol[k];
            }
            if (!known) {
                symbols[n++] = s->symbol[k];
            }
        }
    }
    return n;
}

static void set_extent(ir_graph *g, const uint32_t *tensors, size_t count, uint32_t symbol, int64_t extent) {
    for (size_t i = 0; i < count; i++) {
        ir_shape *s = shape_of(g, tensors[i]);
        for (uint32_t k = 0; s && k < s->rank; k++) {
            s->dim[k] = s->symbol[k] == symbol ? extent : s->dim[k];
        }
    }
}

const char *formats_differs_by_extents(ir_model *m, uint32_t graph, const uint32_t *tensors, size_t count,
                                       formats_again again, void *user) {
    uint32_t symbols[MOST_SYMBOLS + 1];
    const size_t n = symbols_of(&m->graphs.at[graph], tensors, count, symbols);
    if (n > MOST_SYMBOLS) {
        return "together with more than 3 others";
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t bound = m->symbols.at[symbols[i] - 1].bound;
        for (int64_t v = bound - 1; v > 0; v = v == bound - PROBES && v > PROBES ? PROBES : v - 1) {
            set_extent(&m->graphs.at[graph], tensors, count, symbols[i], v);
            const formats_likeness like = again(user);
            set_extent(&m->graphs.at[graph], tensors, count, symbols[i], bound);
            /* what no node can be made for, a run with so few refuses */
            if (like == FORMATS_OTHER || (like == FORMATS_NONE && v >= bound - PROBES)) {
                return "from which its attributes would follow";
            }
        }
    }
    return NULL;
}
