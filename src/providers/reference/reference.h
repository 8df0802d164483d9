/* reference.h - what the files of room `providers/reference` share: a model in its block, and the evaluator in another.
 *
 * Each lives in a region within one block of the host, so that nothing is taken from the system once a session is made.
 */
#ifndef BURIN_PROVIDERS_REFERENCE_H
#define BURIN_PROVIDERS_REFERENCE_H

#include "burin/session.h"
#include "ops/ops.h"

/* A heap in a region, and its one arena. */
typedef struct reference_place {
    base_region region;
    base_memory heap;
    base_arena *arena; /* NULL: not yet, or no more */
} reference_place;
void reference_place_init(reference_place *p, void *at, size_t bytes);

typedef struct reference_model {
    reference_place place;
    burin_memory *memory; /* of the host; NULL: of a trial */
    base_bytes file;      /* shared with other models of that file */
    const char *name;     /* of the source */
    ir_model *ir;
    uint64_t hash, identity; /* of the file; of all that it names, too */
    uint64_t state_bytes, capabilities;
    size_t session_region;
    bool *shown;          /* of each tensor of graph 0: it is an activation */
    uint32_t *activation; /* their numbers */
    uint32_t activation_count;
} reference_model;
/* Reads m->file in m->place. weights: those in other files, too; else they are zeros. */
burin_code reference_read(reference_model *m, const char *name, bool weights, burin_error *error);

typedef struct reference_run {
    reference_place place;
    const reference_model *model;
    ops_session *ops;
    const void **inputs; /* of a run: dense in the shapes that were set */
    void **outputs;      /* room for each, for its bounds */
} reference_run;
/* Compiles the model in r->place. every_way, watch: as of ops_session_options. */
burin_code reference_compile(reference_run *r, const reference_model *m, bool every_way, const ops_watch *watch,
                             burin_error *error);
/* One run of r->inputs. */
burin_code reference_execute(reference_run *r, burin_error *error);

/* The bytes of the two regions, found by a trial with zeros. */
typedef struct reference_needs {
    size_t model, session;
    uint64_t state_bytes, hash;
} reference_needs;
burin_code reference_measure(base_bytes file, const char *name, reference_needs *needs, burin_error *error);

#endif
