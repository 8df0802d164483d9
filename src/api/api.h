/* api.h - what the files of room `api` share: the context and the way into it. */
#ifndef BURIN_API_H
#define BURIN_API_H

#include "burin/burin.h"
#include "check/check.h"
#include "formats/formats.h"

/* A text of the caller's definitions, in the context's arena. */
typedef struct api_text {
    const char *file, *at;
    size_t n;
} api_text;

struct burin_context {
    base_memory memory;
    base_arena *arena; /* of everything that calls return */
    base_diags diags;
    ops_registry *ops;
    BASE_VEC(api_text) own; /* definitions that were added to ops */
    base_text dump;
    base_map *strings; /* of all arrays and models; NULL: none yet */
    bool out_of_memory;
};

struct burin_model {
    burin_context *context;
    const char *file;
    base_bytes bytes;
    ir_model *ir;             /* as read; never changed */
    formats_options options;  /* with which it was read */
    const char *quantization; /* a file of parameters that it was quantised by; NULL: none */
    bool unsupported;         /* ir has operators that only inspect can take: api_copy says which */
};

/* Runs body under the context's guard: out of memory becomes BURIN_NO_MEMORY. */
burin_status api_guarded(burin_context *c, base_status (*body)(burin_context *c, void *arguments), void *arguments);

/* A fresh copy of the model's graph, for passes to change. Refuses a model with operators that are not supported, all
 * listed. */
base_status api_copy(const burin_model *m, ir_model **out);
/* The same with the graphs of all signatures, for a target that writes them; where those cannot be read, without, and a
 * warning. */
base_status api_copy_every_signature(const burin_model *m, ir_model **out);

/* ---- quantization.c ---- */
/* Parameters from a file: the model of reals becomes one of quantised operators. */
base_status api_quantise(burin_context *c, const char *path, const char *numerics, ir_model *m, base_diags *d);

/* ---- options.c ---- */
/* All fields: those that an older caller's struct does not have keep their defaults. */
burin_compile_options api_options(const burin_compile_options *given);
/* USAGE: a value is none that the table allows. */
base_status api_check_ranges(burin_context *c, const burin_compile_options *o);
/* USAGE: an option was changed that has no effect with that target. */
base_status api_check_effects(burin_context *c, const burin_compile_options *o, const char *target);
/* USAGE, having said that `given` is none of these names, and which is near. */
base_status api_none_of(burin_context *c, const char *what, const char *given, const char *const *names, size_t n);

/* ---- resolve.c ---- */
/* Options resolved to what the rooms take. Usage errors name the nearest. */
typedef struct api_resolved {
    compile_options compile;
    const char *goals[1];
    const char *compiler; /* of the host; NULL: found */
} api_resolved;
/* What `disable` may name: moves of the plan, then passes that may be left out. NULL from the count on. */
const char *api_move(size_t i, bool description);
base_status api_resolve(burin_context *c, const burin_model *m, const burin_compile_options *o, api_resolved *out);

/* A .npy file's bytes as an array that borrows them. */
base_status api_parse_npy(burin_context *c, const char *path, base_file file, burin_array *a);

/* ---- strings.c ---- */
base_map *api_strings(burin_context *c);
/* Elements of NumPy's <Uwidth as numbers of strings; NULL: one has what is no code point. */
const void *api_strings_of_points(burin_context *c, const void *points, uint64_t elements, uint64_t width);
/* The other way. false: a string is no UTF-8, or ends in a NUL. */
bool api_points_of_strings(burin_context *c, const burin_array *a, uint64_t *width, base_text *out);

/* ---- measure.c ---- */
/* Fields that an older caller's struct does not have keep their defaults; NULL: all of them. */
burin_tolerances api_tolerances(const burin_tolerances *given);
/* Arrays of one type and as many elements. */
void api_measure(burin_context *c, const burin_array *a, const burin_array *b, const burin_tolerances *t,
                 burin_difference *out);
/* "3 of 10 values differ, first [0,2]: 1.5, not 1.25" */
const char *api_difference_text(base_arena *arena, const burin_array *a, const burin_difference *d);

burin_tensor_info api_tensor_info(const ir_tensor *t);
#endif
