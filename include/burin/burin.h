/* burin.h - Burin as a library: read a model, look at it, plan it, compile it, run it, check it.
 *
 * Everything hangs on a context: its memory, its diagnostics. A context is used by one thread at a time; two contexts
 * share nothing. No call prints, exits or keeps global state. Every call that can fail returns a burin_status and
 * leaves what went wrong in the context's diagnostics. Texts and bytes that a call returns live until the context is
 * freed or reset.
 * Valid C99 and C++.
 */
#ifndef BURIN_BURIN_H
#define BURIN_BURIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BURIN_API __attribute__((visibility("default")))
#else
#define BURIN_API
#endif

#define BURIN_VERSION_MAJOR 0
#define BURIN_VERSION_MINOR 1
#define BURIN_VERSION_PATCH 0
BURIN_API const char *burin_version(void); /* "0.1.0" */

/* The numbers are the exit statuses of the command, but IO and NO_MEMORY, which it turns into 1. */
typedef enum burin_status {
    BURIN_OK = 0,
    BURIN_REFUSED = 1,   /* the input is refused; the diagnostics say why and what to do */
    BURIN_USAGE = 2,     /* an option or name that does not exist, or does not fit */
    BURIN_WRONG = 3,     /* the output does not compute what the input says */
    BURIN_BUDGET = 4,    /* no plan meets the budget */
    BURIN_IO = 5,        /* a file could not be read or written */
    BURIN_NO_MEMORY = 6, /* the allocator gave nothing, or the limit was reached */
    BURIN_INTERNAL = 70  /* a fault of Burin's own */
} burin_status;

/* ---- context ---- */
/* size 0 frees and returns NULL; old_size is what was asked before (0: new). NULL: the C library's. */
typedef void *(*burin_realloc)(void *user, void *pointer, size_t old_size, size_t size);

typedef struct burin_context burin_context;
/* limit: most bytes in use at once, 0 for no limit. NULL when out of memory. */
BURIN_API burin_context *burin_context_new(burin_realloc realloc, void *user, size_t limit);
BURIN_API void burin_context_free(burin_context *context);  /* with everything it returned; NULL is allowed */
BURIN_API void burin_context_reset(burin_context *context); /* the same, but the context goes on */

typedef enum burin_severity { BURIN_ERROR, BURIN_WARNING, BURIN_NOTE } burin_severity;
typedef struct burin_diagnostic {
    burin_severity severity;
    const char *message;
    const char *file;      /* NULL: none */
    const char *path;      /* structural place in a binary input: "subgraph[0]/operator[3] CONV_2D"; NULL: none */
    unsigned line, column; /* place in a text input, from 1; 0: none */
    uint64_t byte;         /* offset in a binary input */
    bool has_byte;
} burin_diagnostic;
BURIN_API size_t burin_diagnostic_count(const burin_context *context);
BURIN_API burin_diagnostic burin_diagnostic_at(const burin_context *context, size_t i);
/* All of them as a person reads them, one or more lines each. */
BURIN_API const char *burin_diagnostics_text(burin_context *context, bool colour);
BURIN_API void burin_diagnostics_clear(burin_context *context);

/* ---- models ---- */
typedef struct burin_model burin_model;
/* The format is told by the content. The file stays mapped; it must not change while the model is in use.
 * Operators that are not supported do not prevent loading: burin_inspect shows them, whatever else takes the model is
 * REFUSED. */
BURIN_API burin_status burin_load(burin_context *context, const char *path, burin_model **model);
/* bytes are borrowed. name is used in messages and for default prefixes. */
BURIN_API burin_status burin_load_memory(burin_context *context, const char *name, const void *bytes, size_t size,
                                         burin_model **model);

/* Contents of an input: as many bytes as its type and shape say, row-major, little-endian. name: the input's, or its number
 * from 0; NULL: the only one. type: what the bytes are ("f32"), which must be the input's; NULL: not known. */
typedef struct burin_constant {
    const char *name, *type;
    const void *data;
    size_t size;
} burin_constant;

typedef struct burin_array {
    const char *type; /* "f32" ... */
    uint32_t rank;
    int64_t dim[8];
    const void *data; /* dense, row-major, little-endian */
    size_t size;      /* bytes */
    const struct burin_array
        *parts; /* of type "list": a sequence, or an optional value; it has no elements of its own */
    size_t part_count;
} burin_array;

/* What an input holds in the one run that a model is loaded for; array.data is borrowed for as long as the model is in use.
 * name: the input's, or its number from 0; NULL: the next one in order that no name says. array.type: NULL where nothing is
 * known of the input; "V1" and "V2" (burin_array_read) stand for the input's own type. */
typedef struct burin_contents {
    const char *name;
    burin_array array;
} burin_contents;

/* What is said of a model when it is loaded; struct size first, fields are only ever added at the end. Texts and lists are
 * copied. A text that does not fit the model is USAGE. */
typedef struct burin_load_options {
    size_t size; /* sizeof(burin_load_options) */
    /* Extents of inputs, in place of those that the file records; every other shape follows from them.
     * shapes: "NAME=2x3x4", "NAME=scalar", of the only input also "2x3x4". dims: "NAME.AXIS=N", axes from 0, or "NAME.AXIS=..N":
     * the extent stays open, each run has another, at most N. NAME: an input's name, or its number from 0. batch: the first extent of the inputs that the file leaves open there (if
     * there are none: of those where it is 1) and that neither shapes nor dims name; 0: as the file says. */
    const char *const *shapes;
    size_t shape_count;
    const char *const *dims;
    size_t dim_count;
    uint32_t batch;
    /* Files of definitions (docs/LANGUAGE.md) that give the model's custom operators their meaning: `op NAME` is that of
     * the custom code NAME (what is no letter, digit or _ in it: _). They hold for every model of the context. */
    const char *const *ops;
    size_t op_count;
    /* A way to call the model that the file names: what it calls is the model, and inputs and outputs have the names that
     * it gives them. NULL: the first graph, with its tensors' names. */
    const char *signature;
    /* Names of tensors of that graph, which become the outputs, in this order; what they do not need is left out. None: the
     * outputs of the file. */
    const char *const *outputs;
    size_t output_count;
    /* Inputs that become constants. Their bytes are copied. */
    const burin_constant *constants;
    size_t constant_count;
    /* The model is loaded for one run, with these inputs: extents that the file leaves open are theirs, and where the
     * model's form depends on what is computed (a shape, a count), it is what these inputs make of it. burin_run with other
     * contents, and burin_plan and burin_compile, are USAGE. */
    const burin_contents *contents;
    size_t content_count;
    /* Rounds of one loop at most, for what grows in each round where a run decides how many there are; say the same in
     * burin_compile_options. 0: not said, and such a loop is refused. */
    unsigned max_trips;
    /* "INPUT=OUTPUT": both are none any more, but a state of the model: what the output is, the input is in the next run, and
     * zeros in the first. Their types and shapes are the same. */
    const char *const *states;
    size_t state_count;
    /* Inputs that are sequences or optional values and become constants: arrays of type "list" as burin_array_read gives them.
     * Their bytes are borrowed for as long as the model is in use. */
    const burin_contents *lists;
    size_t list_count;
    /* Operators whose outputs are random numbers of a distribution give its mean in their place; false: they are refused. USAGE
     * where there is none. */
    bool random_mean;
    /* "tflm" or "litert": where a TFLite file contradicts itself (a shape that it records, and another that it tells the operator),
     * whose reading it is; say the same in burin_compile_options. NULL: "tflm". */
    const char *numerics;
    /* Path of a file of quantisation parameters (docs/CLI.md): tensors of a model of reals that it names become integers with these
     * scales and zero points, and operators around them quantised ones, as TFLite has them. NULL: none. */
    const char *quantization;
} burin_load_options;
#define BURIN_LOAD_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(burin_load_options), NULL, 0, NULL, 0, 0, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, 0, 0, NULL, 0, NULL,   \
            0, false, NULL, NULL                                                                                       \
    }
/* options may be NULL: as burin_load. */
BURIN_API burin_status burin_load_with(burin_context *context, const char *path, const burin_load_options *options,
                                       burin_model **model);
BURIN_API burin_status burin_load_memory_with(burin_context *context, const char *name, const void *bytes, size_t size,
                                              const burin_load_options *options, burin_model **model);

typedef struct burin_tensor_info {
    const char *name;
    const char *type; /* "i8", "f32" ... */
    uint32_t rank;
    int64_t dim[8];
    uint64_t elements, bytes;
    uint32_t scale_count; /* 0: not quantised */
    float scale;          /* the first */
    int64_t zero_point;
    /* bit k: extent k is another in each run, decided by data, or of an input by its caller; dim[k], elements and bytes are its
     * bound */
    uint32_t open;
} burin_tensor_info;
BURIN_API size_t burin_input_count(const burin_model *model);
BURIN_API size_t burin_output_count(const burin_model *model);
BURIN_API burin_tensor_info burin_input_info(const burin_model *model, size_t i); /* i must be in range */
BURIN_API burin_tensor_info burin_output_info(const burin_model *model, size_t i);

/* What the file's graph gives, which may be lists of the model's outputs: result i, from 0. form: "T" is the next output, "(TT)"
 * a list of the next two, "[T]" an optional value that is there, "[]" one that is not. false: there are no more. */
typedef struct burin_result {
    const char *name, *form;
} burin_result;
BURIN_API bool burin_result_at(const burin_model *model, size_t i, burin_result *result);
/* The inputs that the contents are with which the model was loaded, lists resolved; room for burin_input_count. REFUSED: they do
 * not say all of them. */
BURIN_API burin_status burin_contents_inputs(burin_context *context, const burin_model *model, burin_array *inputs);

/* BURIN_SVG: of a plan, a picture of its memory map; elsewhere as BURIN_TEXT. */
typedef enum burin_form { BURIN_TEXT, BURIN_JSON, BURIN_SVG } burin_form;
/* Graph, types, shapes, quantisation, MACs, memory, and what is unsupported (which is reported, not an error here). */
BURIN_API burin_status burin_inspect(burin_context *context, const burin_model *model, burin_form form,
                                     const char **text);

/* The quantisation of the main graph's tensors, of a quantised model or of one between conversions: as a file that
 * burin_load_options.quantization takes. Biases, whose scales follow from others, are left out. */
BURIN_API burin_status burin_quantization_text(burin_context *context, const burin_model *model, const char **text);

/* ---- options: struct size first; fields are only ever added at the end; docs/OPTIONS.md has all of them ---- */
typedef struct burin_compile_options {
    size_t size;            /* sizeof(burin_compile_options) */
    const char *target;     /* "c"; NULL: the device's, or "c" */
    const char *device;     /* "generic" */
    const char *prefix;     /* of every symbol and file, a C identifier; NULL: made from the input's name */
    unsigned opt_level;     /* 0: as defined, 1: forms by role, 2: twice the unrolling */
    const char *numerics;   /* "tflm" or "litert": whose rounding, where they differ */
    const char *layout;     /* "folder" or "single" */
    const char *weights;    /* "inline", "blob" or "incbin" */
    unsigned test_cases;    /* golden cases and a main with them; 0: none */
    bool check;             /* build what was emitted with the host's compiler and compare with the evaluator */
    unsigned check_cases;   /* seeded inputs of the check */
    const char *compiler;   /* the host's C compiler for checks and the host provider; NULL: $CC, cc, gcc or clang */
    const char *dump_after; /* a pass after which the graph is kept as text (burin_dump_text); NULL: none; "all" */
    unsigned max_trips;     /* rounds of one loop, after which a run ends with an error; 0: no bound */
    unsigned opset; /* of an ONNX model: its operator set, 13 to 28; 0: the lowest from 22 on that has every operator */
    /* constants of 1 KiB and more of an ONNX model go to a file of their own beside it; so they do in any case where one file
     * could not hold them */
    bool external_data;
    const char *data_name; /* of that file; NULL: "model.onnx.data" */
    /* an ONNX model has quantised operators as their integer arithmetic, bit for bit, and not as reals between roundings */
    bool exact;
    /* "latency", "size", "balanced" (the fewest cycles among plans within a tenth of the least flash and RAM) or "accuracy": what
     * schedules and code are chosen for */
    const char *goal;
    const char *
        kernel; /* "specialized": a function for each layer; "generic": one for layers of one shape; NULL: the goal's */
    /* names of moves and optional passes that are not to be done, a comma between (burin_list_moves); NULL: none */
    const char *disable;
    /* path of a plan that was written before, <prefix>_plan.json: its order of kernels, their schedules and its places of tensors are taken, and where
     * anything else of it is not what the model and the options give, it is REFUSED; NULL: none */
    const char *plan;
    /* a TFLite model says where its values may lie (TFLite Micro's offline allocation), an ONNX model in its metadata
     * ("burin.memory_plan") */
    bool memory_plan;
    /* path of a plan that was written before: where the one that is made differs, it is REFUSED with the first difference; NULL: none */
    const char *plan_lock;
    /* sums of floats: "defined", as the operator's definition has them; "precise": in 64 bits, rounded once; NULL: the goal's */
    const char *accumulation;
    /* "NAME=BYTES@SECTION,...": the device's writable memories in place of its own, the fastest first, and sizes of those that are not writable;
     * BYTES with K or M behind it, @SECTION may be missing; what is read and written most for each byte lies in the first, the last has the rest.
     * What does not fit is BUDGET. NULL: what the device says */
    const char *memories;
} burin_compile_options;
#define BURIN_COMPILE_OPTIONS_INIT                                                                                     \
    {                                                                                                                  \
        sizeof(burin_compile_options), NULL, "generic", NULL, 1, "tflm", "folder", "inline", 0, true, 4, NULL, NULL,   \
            0, 0, false, NULL, false, "latency", NULL, NULL, NULL, false, NULL, NULL, NULL                             \
    }
/* Copies texts into the context. Equal means every field. Print: one "name: value" a line, in the order above. */
BURIN_API burin_status burin_compile_options_copy(burin_context *context, const burin_compile_options *from,
                                                  burin_compile_options *to);
BURIN_API bool burin_compile_options_equal(const burin_compile_options *a, const burin_compile_options *b);
BURIN_API burin_status burin_compile_options_text(burin_context *context, const burin_compile_options *options,
                                                  const char **text);
/* Sets the field of that name to what the text says, as print writes it: "true", "12", "blob", "(none)". USAGE: there is no such
 * field, or it cannot have that value; nothing is changed. */
BURIN_API burin_status burin_compile_options_set(burin_context *context, burin_compile_options *options,
                                                 const char *name, const char *value);
/* The same for each line "name: value" of what print wrote, all or none. Fields that no line names stay as they are. */
BURIN_API burin_status burin_compile_options_parse(burin_context *context, const char *text,
                                                   burin_compile_options *options);

/* Schedule, memory map, totals with lower bounds; JSON is <prefix>_plan.json (docs/PLAN.md), SVG a picture of the map. */
BURIN_API burin_status burin_plan(burin_context *context, const burin_model *model,
                                  const burin_compile_options *options, burin_form form, const char **text);

/* What differs between two written plans, <prefix>_plan.json at these paths: form TEXT (a line each) or JSON (docs/PLAN.md). *count: how many
 * fields. */
BURIN_API burin_status burin_plan_diff(burin_context *context, const char *a, const char *b, burin_form form,
                                       size_t *count, const char **text);

/* Why the code of an operator is what it is: roles, form, reason, what was performed, where its output lies. id: its number in the
 * model's file. REFUSED: none is left of that number. */
BURIN_API burin_status burin_explain(burin_context *context, const burin_model *model,
                                     const burin_compile_options *options, uint32_t id, const char **text);

/* ---- compiling ---- */
typedef struct burin_file {
    const char *name; /* relative to the output, / between folders */
    const void *bytes;
    size_t size;
} burin_file;
typedef struct burin_output {
    const burin_file *files;
    size_t file_count;
    /* the target writes one file: the output's path is the file itself; files behind it stand in its folder */
    bool single;
    bool checked;      /* what is here was built, run and compared */
    const char *check; /* what the check did, one line; "not checked: no C compiler was found" ... */
    const char *plan;  /* the plan's table for people; NULL if the target has none */
    uint64_t arena_bytes, arena_bound, constant_bytes, macs;
    /* Of a model that was read in another format than it is written: what became of its layout, one line; else NULL. */
    const char *layout;
} burin_output;
/* WRONG: the first differing element and operator are in the diagnostics, and output is left NULL. */
BURIN_API burin_status burin_compile(burin_context *context, const burin_model *model,
                                     const burin_compile_options *options, const burin_output **output);
/* All files to temporary names, then renamed; refused when one exists and force is false. */
BURIN_API burin_status burin_output_write(burin_context *context, const burin_output *output, const char *path,
                                          bool force);
BURIN_API const char *burin_dump_text(burin_context *context); /* what dump_after kept; NULL: nothing */

/* ---- running and comparing ---- */
/* The documented generator: S = seed; S = S*1664525 + 1013904223 mod 2^32; r = (S>>8)/2^24, one r an element on through
 * the inputs in order: floats 2r-1, 8-bit integers floor(256r) as bits, 16-bit 65536r-32768, wider integers floor(2r),
 * bool r >= 0.5. */
BURIN_API burin_status burin_generate_inputs(burin_context *context, const burin_model *model, uint32_t seed,
                                             burin_array *inputs);
/* The same for several runs: those of the first, then of the next, the generator going on. */
BURIN_API burin_status burin_generate_runs(burin_context *context, const burin_model *model, uint32_t seed, size_t runs,
                                           burin_array *inputs);
/* One inference. provider: "reference" (the evaluator) or "host" (the emitted C, built with the host's compiler).
 * inputs and outputs: one each, in graph order; types and element counts must be the model's. raw: the evaluator
 * without any simplification. Of an output whose extents data decides, dim and size are those of the run. */
BURIN_API burin_status burin_run(burin_context *context, const burin_model *model, const char *provider,
                                 const burin_compile_options *options, bool raw, const burin_array *inputs,
                                 burin_array *outputs);
/* Several inferences one after the other, the model's state kept from each to the next; it has its first contents before
 * the first. inputs and outputs: those of the first run, then of the next. */
BURIN_API burin_status burin_run_many(burin_context *context, const burin_model *model, const char *provider,
                                      const burin_compile_options *options, bool raw, size_t runs,
                                      const burin_array *inputs, burin_array *outputs);
/* Compares two outputs: integers by bits, floats |a-b| <= absolute*max|b| + relative*|b|, NaN equal to NaN. WRONG: the
 * first that differs. */
BURIN_API burin_status burin_compare(burin_context *context, const char *name, const burin_array *a,
                                     const burin_array *b, double absolute, double relative);
/* How far values may be apart; struct size first, fields are only ever added at the end. */
typedef struct burin_tolerances {
    size_t size;
    double absolute, relative; /* floats: |a-b| <= absolute * (largest |b|) + relative * |b| */
    uint64_t ulp;              /* floats: or so many values of the type further */
    uint64_t steps;            /* integers: so much */
} burin_tolerances;
#define BURIN_TOLERANCES_INIT                                                                                          \
    { sizeof(burin_tolerances), 1e-5, 1e-4, 0, 0 }
typedef struct burin_difference {
    uint64_t elements, unequal, mismatches; /* all; those not equal; of these those outside of the tolerances */
    /* Of those that are not equal and finite: largest |a-b|, |a-b|/|b| where b is not 0, and how many values of the type
     * further. */
    double max_absolute, max_relative;
    uint64_t max_steps;
    uint64_t first;                /* number of the first mismatch, row-major; elements: there is none */
    const char *first_a, *first_b; /* its values; NULL: there is none */
} burin_difference;
/* As burin_compare, and says how far. tolerances NULL: the defaults. */
BURIN_API burin_status burin_measure(burin_context *context, const char *name, const burin_array *a,
                                     const burin_array *b, const burin_tolerances *tolerances,
                                     burin_difference *difference);

/* Two models, of any formats, given the same inputs. Struct size first, fields are only ever added at the end. */
typedef struct burin_verify_options {
    size_t size;
    burin_tolerances tolerances;
    const char *provider;                 /* of both: "reference" or "host" */
    const burin_compile_options *compile; /* NULL: the defaults */
    size_t runs;                          /* one after the other, state is kept */
    bool layers;                          /* tensors between as well; with "reference" only */
} burin_verify_options;
#define BURIN_VERIFY_OPTIONS_INIT                                                                                      \
    { sizeof(burin_verify_options), BURIN_TOLERANCES_INIT, "reference", NULL, 1, false }
/* What was held against each other: an output, or a tensor between. */
typedef struct burin_comparison {
    const char *name, *other;    /* in a, in b */
    bool layer;                  /* a tensor between */
    size_t number, other_number; /* of an output: which of a's, of b's */
    const char *why;             /* why it could not be compared: another type or shape; NULL: it was */
    burin_difference difference; /* over all runs; first, first_a and first_b of the run that has the first mismatch */
    size_t run;                  /* that run */
    burin_array array;           /* type and extents, in a, in that run or else the last; without contents */
} burin_comparison;
/* inputs: of a, for each run. b gets them by name where its inputs have the names of a's, else in order; types and extents (but
 * for those of 1) must be the same. Outputs likewise. Tensors between: those of one name, else, where both graphs have the same
 * operators in the same order, those of one place. list: the outputs in a's order, then, in the order of a's operators, tensors
 * between. WRONG: outputs differ; list is made all the same, and the diagnostics name the first that does. */
BURIN_API burin_status burin_verify(burin_context *context, const burin_model *a, const burin_model *b,
                                    const burin_verify_options *options, const burin_array *inputs,
                                    const burin_comparison **list, size_t *count);
/* Arrays of type "str" hold for each string its number in the context, of 32 bits; equal strings have one number. Number 0 is the
 * empty string. n: bytes; any that there are, NUL too. burin_string_at gives NULL where no string has the number. */
BURIN_API burin_status burin_string_number(burin_context *context, const char *at, size_t n, uint32_t *number);
BURIN_API const char *burin_string_at(const burin_context *context, uint32_t number, size_t *n);
/* A file that states type and shape: .npy (by its content), or one of a format's own (by its extension: .pb, ONNX's
 * TensorProto, SequenceProto or OptionalProto; the latter two are of type "list"). type NULL: it is neither, array has its bytes as data. NumPy has no names for bf16, for floats of 8 bits and
 * for what is narrower: such arrays are of type "V2" (two bytes an element) and "V1" (one each) until burin_array_set_type.
 */
BURIN_API burin_status burin_array_read(burin_context *context, const char *path, burin_array *array);
/* The bytes of such a file of a list; arrays: its tensors, in order. form: of burin_result, not "T". */
BURIN_API burin_status burin_list_bytes(burin_context *context, const char *form, const burin_array *arrays,
                                        const void **bytes, size_t *size);
/* A "V1" or "V2" becomes an array of that type; REFUSED: it cannot. */
BURIN_API burin_status burin_array_set_type(burin_context *context, burin_array *array, const char *type);
/* The bytes of such a file: form "npy" or "pb". name: of the tensor, in files that have it. */
BURIN_API burin_status burin_array_bytes(burin_context *context, const burin_array *array, const char *form,
                                         const char *name, const void **bytes, size_t *size);
BURIN_API burin_status burin_npy_read(burin_context *context, const char *path, burin_array *array);
BURIN_API burin_status burin_npy_bytes(burin_context *context, const burin_array *array, const void **bytes,
                                       size_t *size);
BURIN_API burin_status burin_file_bytes(burin_context *context, const char *path, const void **bytes, size_t *size);
/* The paths of the files that calls with this context read so far, each once, in the order of their first reading: for a build's rule
 * of dependencies. In the context. NO_MEMORY: count is 0. */
BURIN_API burin_status burin_files_read(burin_context *context, const char *const **paths, size_t *count);
/* Atomic; refused when path exists and force is false. */
BURIN_API burin_status burin_file_write(burin_context *context, const char *path, const void *bytes, size_t size,
                                        bool force);

/* ---- what there is ---- */
BURIN_API burin_status burin_list_targets(burin_context *context, burin_form form, const char **text);
/* The target that -o PATH implies: the one whose extension the path has ("kws.ir": "ir"); NULL: none has it. */
BURIN_API const char *burin_target_of(const char *path);
/* Does a compile option, called as the command calls it ("check-cases"), have an effect with that target? true for a
 * target or an option that does not exist: burin_compile says so. */
BURIN_API bool burin_target_uses(const char *target, const char *option);
BURIN_API burin_status burin_list_devices(burin_context *context, burin_form form, const char **text);
/* What `disable` may name: moves of the plan and of targets, and passes that only make a graph smaller or quicker. */
BURIN_API burin_status burin_list_moves(burin_context *context, burin_form form, const char **text);
BURIN_API burin_status burin_list_operators(burin_context *context, burin_form form, const char **text);

#ifdef __cplusplus
}
#endif
#endif
