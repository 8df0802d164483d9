/* session.h - the evaluator over a whole model: graph by graph, node by node, on the definitions (part of ops' face).
 *
 * Takes a verified model. Gives its outputs for given inputs, any number of times; states keep their contents between
 * runs. Control nodes run their graphs. The reference for everything that is compiled.
 */
#ifndef BURIN_OPS_SESSION_H
#define BURIN_OPS_SESSION_H

#include "ops/ops.h"

#define OPS_MOST_TRIPS UINT64_C(10000000)

/* Who looks on while a run goes. */
typedef struct ops_watch {
    void *user;
    bool (*goes_on)(void *user); /* asked before each node; false ends the run, as an error */
    /* Each tensor of the session's graph that a node has computed: its contents, dense in the shape. */
    void (*computed)(void *user, uint32_t tensor, const ir_shape *shape, const void *data);
} ops_watch;

typedef struct ops_session_options {
    const ops_goal *goal; /* NULL: the default numerics */
    bool simplified;      /* programs simplified by ranges; else as instantiated */
    uint64_t max_trips;   /* rounds of one loop, each time it is met; 0: no such bound */
    uint64_t most_trips;  /* rounds of all loops of one run; 0: OPS_MOST_TRIPS */
    uint64_t most_cost;   /* scalar operations of one run, some hundred more for each node of each round; 0: no bound */
    uint32_t graph;       /* whose inputs and outputs are meant: 0, the model's own */
    /* Both graphs of each `if` and one round of each loop are run, whatever data say: what memory a run takes at most. */
    bool every_way;
    const ops_watch *watch; /* NULL: nobody */
} ops_session_options;

typedef struct ops_session ops_session;
/* Compiles every node that the graph reaches, once; all operators that are refused are listed. States have their first
 * contents. Borrows the model; lives in arena. */
base_status ops_session_new(base_arena *arena, ops_registry *r, const ir_model *m, const ops_session_options *o,
                            ops_session **out, base_diags *d);
/* One run. inputs, outputs: dense, in graph order; outputs are given by the caller. A loop that passes the bound of rounds
 * is an error, after which ops_session_endless is true. */
base_status ops_session_run(ops_session *s, base_arena *scratch, const void *const *inputs, void *const *outputs,
                            base_diags *d);
/* What a run has of an input whose extents are symbols, from then on; at first it is their bounds. Elements are dense in it. */
void ops_session_set_input_shape(ops_session *s, size_t input, const ir_shape *shape);
/* The shape that an output of the graph had in the last run: of a tensor with computed extents the actual ones, in which
 * its elements are dense; the room given for it is for the bounds. */
ir_shape ops_session_output_shape(const ops_session *s, size_t output);
bool ops_session_endless(const ops_session *s);
/* All states to their first contents. */
void ops_session_reset(ops_session *s);
/* The contents of a state of the model now; owned by the session. */
const void *ops_session_state(const ops_session *s, uint32_t state);
uint64_t ops_session_state_bytes(const ops_session *s, uint32_t state);
void ops_session_set_state(ops_session *s, uint32_t state, const void *contents); /* all its bytes */

#endif
