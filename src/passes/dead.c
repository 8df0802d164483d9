/* dead.c - drops operators that no output of their graph needs and that change no state.
 *
 * Takes graphs in executable order. Gives them without dead nodes; tensors stay, so that indices do not move.
 */
#include "passes/passes_private.h"

base_status passes_dead(passes_context *c, ir_model *m, base_diags *d) {
    (void)c;
    (void)d;
    ir_drop_dead(m);
    return BASE_OK;
}
