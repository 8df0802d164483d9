/* cli.h - what the files of the command share.
 *
 * The command uses only the public headers. Everything that a sub-command needs is in `cli`: its arguments, the
 * context, where messages go. Results go to stdout, everything else to stderr.
 */
#ifndef BURIN_CLI_H
#define BURIN_CLI_H

#include <stdarg.h>
#include <stdio.h>

#include "burin/burin.h"

/* ---- sub-commands: commands.def ---- */
typedef enum cli_word {
#define COMMAND(word, operands, count, summary, more, examples) CLI_##word,
#include "cli/commands.def"
#undef COMMAND
    CLI_COMMAND_COUNT
} cli_word;

typedef struct cli cli;
typedef struct cli_command {
    const char *name, *operands;
    size_t operand_count; /* at least; what operands has in brackets, one more, may be left out */
    const char *summary, *more, *examples;
    int (*run)(cli *c); /* returns the exit status */
} cli_command;
extern const cli_command cli_commands[CLI_COMMAND_COUNT];

#define COMMAND(word, operands, count, summary, more, examples) int cli_##word(cli *c);
#include "cli/commands.def"
#undef COMMAND

/* ---- arguments: options.def ---- */
typedef struct cli_list {
    const char **at;
    size_t n;
} cli_list;

typedef bool cli_type_FLAG;
typedef const char *cli_type_TEXT; /* NULL: not given, as for all texts */
typedef const char *cli_type_PATH;
typedef const char *cli_type_CHOICE;
typedef unsigned cli_type_NUMBER;
typedef double cli_type_REAL;
typedef cli_list cli_type_LIST;
typedef cli_list cli_type_PATHS;
typedef cli_list cli_type_PAIRS;
typedef cli_list cli_type_FILES;

typedef struct cli_given { /* was the option there? */
#define OPTION(kind, field, ...) bool field;
#define COMPILE_OPTION(kind, field, ...) bool field;
#include "cli/options.def"
#undef OPTION
#undef COMPILE_OPTION
} cli_given;

typedef struct cli_arguments { /* what is not given has its standard value */
    cli_list operands;
    burin_compile_options compile;
#define OPTION(kind, field, ...) cli_type_##kind field;
#define COMPILE_OPTION(kind, field, ...)
#include "cli/options.def"
#undef OPTION
#undef COMPILE_OPTION
    cli_given given;
} cli_arguments;

typedef enum cli_kind { FLAG, TEXT, NAMES, PATH, CHOICE, NUMBER, REAL, LIST, PATHS, PAIRS, FILES } cli_kind;

typedef struct cli_option {
    cli_kind kind;
    const char *key, *flag; /* flag "": only files of options have it, or only the library (no commands) */
    char letter;
    const char *value; /* as help shows it; the choices */
    uint64_t lowest, highest;
    bool on;           /* a FLAG that is true without being given: help shows it as --no-FLAG */
    unsigned commands; /* bits by cli_word */
    const char *help;
    size_t field, given; /* offsets in cli_arguments */
} cli_option;
enum {
#define OPTION(kind, field, ...) CLI_OPTION_##field,
#define COMPILE_OPTION(kind, field, ...) CLI_OPTION_##field,
#include "cli/options.def"
#undef OPTION
#undef COMPILE_OPTION
    CLI_OPTION_COUNT
};
extern const cli_option cli_options[CLI_OPTION_COUNT];

/* Where something stands in the file of options, from 1; line 0: nowhere. */
typedef struct cli_place {
    unsigned line, column;
} cli_place;

struct cli {
    cli_word word;
    cli_arguments arguments;
    cli_place at;                       /* of what is being set; line 0: a word of the command line */
    cli_place places[CLI_OPTION_COUNT]; /* of what the file of options said */
    const char *config;                 /* that file's text */
    size_t config_size;
    burin_context *context;
    bool colour, terminal; /* of stderr */
    struct cli_block *blocks;
    struct cli_file *files; /* read so far */
};

/* Parses what follows the sub-command's word. Returns 0, or 2 with the message printed. */
int cli_parse(cli *c, int count, char **words);
/* Says an option's value, as a text; of a FLAG "true" or "false". Returns 0, or 2 with the message printed, which says where. */
int cli_set(cli *c, const cli_option *o, const char *value);
/* One more: room grows in steps that double. */
void cli_append(cli *c, cli_list *list, const char *word);
bool *cli_given_of(cli *c, const cli_option *o);
/* What the file --config says, for everything that the command line does not. Returns 0, or 2 with the message printed. */
int cli_read_config(cli *c);
/* *rule: that the files of the output, at path, depend on all that were read, as make and ninja read it (depends.c). Returns 0, or 1 where
 * a name has a character that no rule can have, with the message printed. */
int cli_rule(cli *c, const burin_output *output, const char *path, const char **rule);
/* 2, with the message printed, when an option was given that has no effect with that target. */
int cli_check_target(cli *c, const char *target);
void cli_print_options(FILE *out, cli_word word);
/* Of n names the nearest to word, NULL when none is near. */
const char *cli_nearest(const char *word, const char *const *names, size_t n);

/* What the options say of how a model is loaded. Returns 0, or the exit status with the message printed. */
int cli_load_options(cli *c, burin_load_options *o);
/* Loads the first operand as the options say; for one run with these contents of its inputs (n > 0). Returns 0, or the exit
 * status with the message printed. */
int cli_load_for(cli *c, const burin_contents *contents, size_t n, burin_model **model);
int cli_load(cli *c, burin_model **model); /* for no single run */

/* ---- memory: freed when the command ends; never NULL (the command ends with status 1 instead) ---- */
void *cli_alloc(cli *c, size_t count, size_t size); /* zeroed */
char *cli_format(cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *cli_vformat(cli *c, const char *format, va_list list);
/* The text with control characters as \xNN, cut after 200 bytes: fit for a terminal. */
const char *cli_printable(cli *c, const char *text);

/* $TMPDIR becomes a folder of this process, that a signal removes; called before anything is built. */
void cli_temporary_begin(void);
void cli_temporary_end(void);

/* ---- messages ---- */
int cli_usage(cli *c, const char *format, ...) __attribute__((format(printf, 2, 3))); /* returns 2 */
/* The same of a place in the file of options, with its line; without "Try ..." and status: for what follows a message. */
int cli_config_usage(cli *c, cli_place at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void cli_config_here(cli *c, cli_place at, const char *format, ...) __attribute__((format(printf, 3, 4)));
int cli_refuse(cli *c, const char *format, ...) __attribute__((format(printf, 2, 3))); /* returns 1 */
void cli_note(cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));  /* unless --quiet */
/* Prints the context's diagnostics and forgets them (warnings and notes not under --quiet). Returns the exit status. */
int cli_report(cli *c, burin_status status);
/* A line on the terminal that the next message overwrites; nothing where stderr is no terminal. NULL: takes it away. */
void cli_progress(cli *c, const char *text);

/* ---- JSON on stdout ---- */
void cli_json_text(const char *text); /* quoted and escaped */
void cli_json_shape(const burin_array *a);

/* ---- arrays ---- */
/* burin_array_read, once for each path: a pipe has its contents only once. path: as long as the command. */
burin_status cli_read_file(cli *c, const char *path, burin_array *array);
/* A file's contents as input i of the model: .npy by content, .pb, else raw bytes. Returns 0, or the exit status with the
 * message printed. */
int cli_read_array(cli *c, const char *path, const burin_tensor_info *want, burin_array *a);
/* The same as cli_read_array for several runs: a file holds the input of every run, or one after the other (.npy: along a first extent of
 * `runs`). Fills inputs[0], inputs[stride] ... */
int cli_read_runs(cli *c, const char *path, const burin_tensor_info *want, size_t runs, size_t stride,
                  burin_array *inputs);
/* Does a have the extents of info? Where data decides one, it may be less, and info takes that of a. */
bool cli_is_within(burin_tensor_info *info, const burin_array *a);
/* The same extents but for those of 1. */
bool cli_same_shape(const burin_array *a, const burin_array *b);
/* What --provider and the options that only one provider has say; 2 when they do not fit together. */
int cli_check_provider(cli *c, const char **provider);
/* What the files of --input say of their type and shape, for the reader of the model; n 0: nothing is to be said, and what
 * is wrong with a file is said when its input is known. Several runs are no single one. */
int cli_read_contents(cli *c, burin_contents **contents, size_t *n);
bool cli_has_list(const burin_contents *contents, size_t n); /* a sequence, or an optional value */
/* The inputs of so many runs: the files of --input, by name or in order, or made. contents: with which the model was
 * loaded. */
int cli_get_inputs(cli *c, const burin_model *model, const burin_contents *contents, size_t content_count, size_t runs,
                   burin_array *inputs);
/* All inputs of so many runs by the documented generator, with --seed; says so. */
int cli_make_inputs(cli *c, const burin_model *model, const char *why, size_t runs, burin_array *inputs);
bool cli_exists(const char *path);
const char *cli_shape_text(cli *c, const burin_array *a); /* [1,2,3] */
/* "1 input", "2 inputs" */
const char *cli_count(cli *c, size_t n, const char *what);
/* One line: index, type, shape, name, the first values. */
void cli_print_array(cli *c, const char *what, size_t i, const char *name, const burin_array *a);
uint64_t cli_fnv1a64(const void *bytes, size_t n); /* FNV-1a, 64 bits */
burin_array *cli_arrays(cli *c, size_t n);

/* ---- golden.c: burin verify with a folder of golden data ---- */
int cli_verify_golden(cli *c, const char *folder);
/* ---- verify.c ---- */
/* What --rtol, --atol, --ulp and --steps say. USAGE (2) where one has no effect, because no output of the model is of that kind. */
int cli_tolerances(cli *c, const burin_model *model, burin_tolerances *out);
/* One line of a comparison, or one object of JSON. differs: where no values could be compared. */
void cli_print_verdict(cli *c, const char *what, const burin_comparison *f, bool differs);
void cli_json_verdict(const char *kind, const burin_comparison *f, bool differs, size_t runs);

#endif
