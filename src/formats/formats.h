/* formats.h - face of room `formats`: model files, told apart by their content.
 *
 * Takes bytes. Gives verified graphs. Each format is a folder src/formats/NAME that exports
 * `const formats_interface formats_NAME`; the build lists the folders.
 */
#ifndef BURIN_FORMATS_H
#define BURIN_FORMATS_H

#include "ops/ops.h"
#include "wire/wire.h"

/* What the caller says of the inputs' extents, as texts of the command's form. */
typedef struct formats_shapes {
    const char *const *shapes; /* "NAME=2x3x4", "NAME=scalar"; of the only input also "2x3x4" */
    size_t shape_count;
    const char *const *dims; /* "NAME.AXIS=N" or "NAME.AXIS=..N"; NAME is the input's name, or its number */
    size_t dim_count;
    int64_t batch; /* the first extent of every input that has one to give; 0: as the file says */
} formats_shapes;

/* Contents of an input, which becomes a constant: bytes as the tensor has them, borrowed, not NULL. name: the input's, or its
 * number; NULL: the only one. type: of the bytes; NULL: not known. */
typedef struct formats_constant {
    const char *name, *type;
    const void *data;
    size_t size;
} formats_constant;

/* What an input holds in the one run that the model is read for: borrowed. */
typedef struct formats_contents {
    const char *name; /* the input's, or its number; NULL: the next one in order that no name says */
    /* "f32"; "V1", "V2": of the input's type, one element a byte, in two; NULL: nothing is known of this input */
    const char *type;
    ir_shape shape;
    const void *data;
    size_t size;
    const struct formats_contents *parts; /* of type "list" */
    size_t part_count;
} formats_contents;

/* A value that nodes of a written file use, by their order in it from the first to the last; a graph's inputs from node 0. */
typedef struct formats_block {
    uint64_t bytes;
    uint32_t first, last;
    uint64_t offset; /* result */
} formats_block;

/* How a file is written. */
typedef struct formats_writing {
    unsigned opset; /* of ONNX: the operator set; 0: the lowest that has every word, from 22 on */
    /* Constants of 1 KiB and more go to a file of their own beside it; as well where the file would pass most. */
    bool external_data;
    const char *data_name; /* what that file is called */
    uint64_t most;         /* bytes of a file; 0: 2^31-1, which is what Protocol Buffers can hold */
    base_text *data;       /* takes its bytes; stays empty where there is none */
    /* Finds places, at multiples of FORMATS_BLOCK_ALIGNMENT, for values that are there at the same time; gives the bytes of all. The file
     * says them. NULL: it says none. */
    uint64_t (*place)(base_arena *scratch, formats_block *blocks, size_t n);
} formats_writing;
enum { FORMATS_BLOCK_ALIGNMENT = 16 }; /* TFLite Micro's */

typedef struct formats_options {
    const char *format; /* the format's name; NULL: told by the content */
    const char *folder; /* of the file, for those that it names; NULL: it is read from memory, and can have none */
    formats_shapes shapes;
    ops_registry
        *ops; /* the operators' definitions, for shapes and for which custom operators there are; NULL: Burin's */
    /* Every graph that a signature names is read, behind the first one and what it reaches: for writing the model again. */
    bool every_signature;
    const char *signature;      /* the way to call the model that is meant; NULL: its first graph */
    const char *const *outputs; /* names of tensors of the graph, which become its outputs; unless there are none */
    size_t output_count;
    const formats_constant *constants;
    size_t constant_count;
    /* Inputs that are no tensors and become constants: by name, or NULL: the only input. */
    const formats_contents *lists;
    size_t list_count;
    /* Read for one run: extents that the file leaves open are its, and so is what follows from its inputs' contents where
     * the model's form depends on it. */
    const formats_contents *contents;
    size_t content_count;
    const char *const *states; /* "INPUT=OUTPUT": what the output is, the input is in the next run */
    size_t state_count;
    uint64_t
        max_trips; /* rounds of a loop, for what it gives a slice of each round where a run decides how many; 0: not said */
    bool random_mean; /* operators whose outputs are random give the mean of their distribution */
    bool *drawn;      /* the reader says here whether there was one; NULL: nobody asks */
    /* For looking at a model: operators that are not supported stay in the graph, without attributes, under a name that
     * no operator has ("custom Detect"); what else is not supported is still refused. */
    bool keep_unsupported;
    const char *numerics; /* "tflm", "litert": whose reading of a file that contradicts itself; NULL: "tflm" */
    formats_writing writing;
    /* A file that the model names stands here, not in its folder; NULL: none does. */
    const char *beside;
    base_bytes beside_bytes;
    base_map *strings; /* that constants, contents and the model have in common; NULL: the model gets its own */
} formats_options;

/* Where the format's runtime puts what a node computes. */
typedef enum formats_memory {
    FORMATS_OWN,
    FORMATS_OVER, /* over what it reads, if nobody else reads that */
    FORMATS_VIEW, /* it is what is read, under another name */
} formats_memory;

typedef struct formats_interface {
    const char *name, *description;
    const char *const *extensions;                     /* without the dot; NULL at the end */
    bool (*recognise)(const uint8_t *bytes, size_t n); /* by the first bytes; cheap */
    /* Reads bytes, which the model borrows. file: its name, for messages. Every fault of the input is a diagnostic;
     * operators and types that are not supported are all listed. *out is verified; options may be NULL. */
    base_status (*read)(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                        ir_model **out, base_diags *d);
    /* Appends the file's bytes; NULL: the format is only read. */
    base_status (*write)(base_arena *arena, const ir_model *m, const formats_options *options, base_text *out,
                         base_diags *d);
    /* Has the format words for that node of a verified graph, as write would say it? NULL: it has for all. */
    bool (*says)(base_arena *scratch, ops_registry *ops, const ir_model *m, const ir_graph *g, const ir_node *n);
    formats_memory (*memory)(const ir_node *n); /* NULL: each node has its own */
    /* Files of one tensor with its contents, as the format stores them: their extension, NULL where there are none.
     * read_tensor: *out borrows bytes, or is in the arena; file is used in messages. write_tensor appends the file's bytes.
     * strings: of tensors of type str. */
    const char *tensor_extension;
    base_status (*read_tensor)(base_arena *arena, const char *file, base_bytes bytes, base_map *strings, ir_tensor *out,
                               base_diags *d);
    void (*write_tensor)(base_arena *arena, const base_map *strings, const ir_tensor *t, base_text *out);
    /* The same of lists of tensors and optional values; form: as ir_listed, no tensor. */
    base_status (*read_list)(base_arena *arena, const char *file, base_bytes bytes, base_map *strings,
                             formats_contents *out, base_diags *d);
    void (*write_list)(base_arena *arena, const base_map *strings, const char *form, const ir_tensor *tensors,
                       base_text *out);
} formats_interface;

/* generated from the folders, sorted by name */
extern const formats_interface *const formats_list[];
extern const size_t formats_count;
const formats_interface *formats_find(const char *name); /* NULL: none */

/* The format that recognises the bytes, else the one that the file's extension names (so that a broken file is
 * explained by the right reader), else NULL. */
const formats_interface *formats_recognise(const char *file, base_bytes bytes);
/* The format whose tensors' files have that extension ("pb"); NULL: none. */
const formats_interface *formats_of_tensors(const char *extension);
/* Reads a file of any format. BASE_USAGE: options name a format that does not exist. */
base_status formats_read(base_arena *arena, const char *file, base_bytes bytes, const formats_options *options,
                         ir_model **out, base_diags *d);

/* Have the nodes the same attributes? */
bool formats_same_attributes(const ir_node *a, const ir_node *b);
/* Is the node's attribute what its definition says of an absent one? */
bool formats_says_nothing(base_arena *arena, ops_registry *ops, const ir_node *n, const ir_attr *a);

/* ---- extents.c ---- */
/* A node that was made again, for other extents: as it was, another, or there can be none. */
typedef enum formats_likeness { FORMATS_SAME, FORMATS_OTHER, FORMATS_NONE } formats_likeness;
/* Makes the node again for the extents that its inputs have now, compares, and leaves the graph as it was. */
typedef formats_likeness (*formats_again)(void *user);
/* Why a node of that graph with those inputs has no meaning for every value of their symbolic extents; NULL: it has one, as
 * far as was asked. */
const char *formats_differs_by_extents(ir_model *m, uint32_t graph, const uint32_t *tensors, size_t count,
                                       formats_again again, void *user);

/* The input called so, else the input of that number, from 0. what: the option, for messages. BASE_USAGE: there is none, or
 * several have the name. */
base_status formats_find_input(base_arena *arena, const ir_graph *g, const char *what, const char *name, size_t n,
                               size_t *out, base_diags *d);
/* Decimal digits, the whole of the text: lowest to 2^31-1. */
bool formats_parse_count(const char *text, size_t n, int64_t lowest, int64_t *out);
/* Gives inputs of g their contents; they stay inputs until formats_drop_constants, so that numbers and signatures keep
 * their meaning while the file is read. BASE_REFUSED: another number of bytes. */
base_status formats_set_constants(base_arena *arena, ir_graph *g, const formats_constant *constants, size_t n,
                                  base_diags *d);
/* Inputs of the entry graph that were given these contents are inputs no more. */
void formats_drop_constants(ir_model *m, const formats_constant *constants, size_t n);

/* ---- states.c ---- */
/* The input of a pair "INPUT=OUTPUT": of those whose names begin it the one with the longest. SIZE_MAX: none. */
size_t formats_state_input(const ir_graph *g, const char *pair);
/* Inputs and outputs of the entry graph become states, which begin as zeros. BASE_USAGE: a name that the model does not have;
 * BASE_REFUSED: the two are of other types or shapes. */
base_status formats_pair_states(base_arena *arena, ir_model *m, const char *const *texts, size_t n, base_diags *d);

/* ---- contents.c ---- */
/* of[i]: what is said of input i of g; NULL: nothing. skip: of each input whether its place in the order is no one's; NULL:
 * none. BASE_USAGE: a name that does not fit, or more than there are inputs. */
base_status formats_match_contents(base_arena *arena, const ir_graph *g, const formats_contents *contents, size_t n,
                                   const bool *skip, const formats_contents **of, base_diags *d);
/* BASE_USAGE: one of the contents is for none of m->takes, or two are for one. */
base_status formats_check_takes(base_arena *arena, const ir_model *m, const formats_contents *contents, size_t n,
                                base_diags *d);
/* What is said of m->takes.at[i], by name or else in order; NULL: nothing. */
const formats_contents *formats_contents_for(const ir_model *m, size_t i, const formats_contents *contents, size_t n);
/* Contents of m->takes as those of the graph's inputs, each by its name. */
formats_contents *formats_flatten_contents(base_arena *arena, const ir_model *m, const formats_contents *contents,
                                           size_t n, size_t *out_n);
/* Extents of inputs that are -1 become those of their contents. BASE_REFUSED: the others, or the types, are not the same. */
base_status formats_set_contents(base_arena *arena, ir_graph *g, const formats_contents *const *of, base_diags *d);
/* Bytes that are said to be of a type, as tensor t has them, in the arena or borrowed; "V1", "V2": of t's own type, one element
 * a byte, in two. NULL: they are of another type, or not so many. */
const void *formats_as_type(base_arena *arena, const ir_tensor *t, const char *type, const void *data, size_t size);
/* The contents as tensor t has them, in the arena or borrowed; NULL: not known, or not of its type and shape (but for
 * extents of 1). */
const void *formats_contents_data(base_arena *arena, const ir_tensor *t, const formats_contents *c);

/* Gives the inputs of g the extents that the caller asked for; changed[i], of each tensor, is set where they differ from
 * what is there. open[i]: bit k is set where the file leaves extent k of input tensor i open; an extent that is named is
 * open no more. The batch goes to the inputs whose first extent is open; if there are none, to those where it is 1; and
 * to none that a shape or dim names. BASE_USAGE: a name, number or form that does not fit. */
base_status formats_set_shapes(base_arena *arena, ir_model *m, ir_graph *g, const formats_shapes *s, uint32_t *open,
                               bool *changed, base_diags *d);
/* What a dim says behind "=": a number, or "..N", what the caller of a run says, up to N. */
bool formats_parse_extent(const char *text, int64_t *extent, bool *up_to);
/* A symbol that the caller of a run says; for one name and bound one symbol. Its number, from 1. */
uint32_t formats_add_symbol(ir_model *m, const char *name, int64_t bound);

/* ---- what a model holds that is valid and not supported: collected, and refused whole at the end ---- */
typedef struct formats_notes formats_notes;
formats_notes *formats_notes_new(base_arena *arena, const char *file); /* file: borrowed, for messages */
/* One place of one kind. what and remedy are borrowed: "operator FOO", "burin operators lists those that are". */
void formats_note(formats_notes *n, const wire_path *path, uint64_t byte, const char *what, const char *remedy);
size_t formats_notes_count(const formats_notes *n);
/* One error for each kind, with its first place and a list of all. BASE_OK: nothing was noted. */
base_status formats_notes_report(const formats_notes *n, base_diags *d);

/* Says that the model has no such signature, and which it has. */
void formats_no_signature(base_arena *arena, const char *file, const char *wanted, const char *const *names, size_t n,
                          base_diags *d);

/* The part of a path after the last slash. */
const char *formats_base_name(const char *path);
/* What stands before it, "." where there is none: formats_options.folder of that file. */
const char *formats_folder(base_arena *arena, const char *path);

#endif
