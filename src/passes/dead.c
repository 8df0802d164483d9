/* dead.c - drops operators that no output of their graph needs and that change no state, and the graphs that only they called.
 *
 * Takes graphs in executable order. Gives them without dead nodes; tensors stay, so that indices do not move.
 */
#include "passes/passes_private.h"

base_status passes_dead(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    ir_drop_dead(m);
    if (c->called != NULL) {
        ir_drop_uncalled(m, c->called, c->called_count);
    }
    return BASE_OK;
}
