/* target.h - face of room `targets`: what every target is.
 *
 * Takes a planned module. Gives files, as bytes in memory: the caller checks and writes them. A target is a folder
 * src/targets/NAME that exports `const target_interface target_NAME`; the build lists the folders.
 */
#ifndef BURIN_TARGET_H
#define BURIN_TARGET_H

#include "formats/formats.h"
#include "plan/plan.h"

typedef struct target_options {
    const char *layout;              /* "folder" or "single" */
    bool weights_blob;               /* weights as one file instead of inline */
    bool weights_incbin;             /* as one file that the assembler takes in; not both */
    unsigned test_cases;             /* --test N: golden cases and a main */
    const struct target_case *cases; /* test_cases of them: inputs and the outputs that the evaluator computed */
    const char *plan_check;          /* JSON text for the plan's "check" */
    unsigned opset;                  /* as formats_writing */
    bool external_data;
    const char *data_name;
    bool memory_plan; /* the file says where its values may lie */
} target_options;

typedef struct target_case {
    const void *const *inputs; /* dense, in graph order */
    const void *const *outputs;
    const double *const *bounds; /* float outputs: the allowed difference of each element; NULL entries: integers */
    const ir_shape
        *input_shapes;      /* what the run has of the inputs: elements are dense in them, room is for the bounds */
    const ir_shape *shapes; /* of the outputs, as this run decided them; elements are dense in them, behind are zeros */
} target_case;

typedef struct target_files {
    BASE_VEC(base_output_file) list;
    const plan_flash *flash; /* NULL: the target says nothing of it */
} target_files;

typedef struct target_interface {
    const char *name, *description;
    const char *extension; /* "-o x.EXT" implies this target; NULL: a folder */
    bool executable;       /* can be built and run by check */
    bool needs_plan;       /* false: emit gets a plan only if the model can be planned */
    /* The passes whose results it can say, a blank between; NULL: all. A pass is not run for a target that does not name
     * it, whatever the level. */
    const char *passes;
    /* The same for models that were read from another format than `format`; NULL: those of `passes`. */
    const char *foreign_passes;
    /* What it writes is one file of this format, which check reads back; NULL: it is not. */
    const char *format;
    const char *unused; /* compile options without effect, as the command names them, a blank between; NULL: none */
    base_status (*emit)(base_arena *arena, const plan_module *plan, const ir_model *model, const target_options *o,
                        target_files *out, base_diags *d);
} target_interface;

/* generated from the folders, sorted by name */
extern const target_interface *const target_list[];
extern const size_t target_count;
const target_interface *target_find(const char *name);

/* formats_writing.place, by the planner: the best of what it finds (plan_place). */
uint64_t target_place(base_arena *scratch, formats_block *blocks, size_t n);

#endif
