/* options.c - the arguments of a sub-command, parsed by the table options.def.
 *
 * Takes the words after the sub-command. Gives cli_arguments, or status 2 with a message that names the nearest option
 * or value. --name value, --name=value, -l value, -lvalue; -- ends the options. An option that is given twice is an
 * error, but a LIST.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef enum option_kind { FLAG, TEXT, CHOICE, NUMBER, REAL, LIST } option_kind;

typedef struct option {
    option_kind kind;
    const char *name;
    char letter;
    const char *value; /* as help shows it; the choices */
    uint64_t lowest, highest;
    unsigned commands; /* bits by cli_word */
    const char *help;
    size_t field, given; /* offsets in cli_arguments */
} option;

static const option options[] = {
#define OPTION(kind, field, name, letter, value, lowest, highest, commands, help)                                      \
    {kind,                                                                                                             \
     name,                                                                                                             \
     letter,                                                                                                           \
     value,                                                                                                            \
     lowest,                                                                                                           \
     highest,                                                                                                          \
     commands,                                                                                                         \
     help,                                                                                                             \
     offsetof(cli_arguments, field),                                                                                   \
     offsetof(cli_arguments, given) + offsetof(cli_given, field)},
#include "cli/options.def"
#undef OPTION
};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

static bool has(const option *o, cli_word word) {
    return (o->commands >> word & 1) != 0;
}

/* ---- nearest ---- */

enum { LONGEST = 40 }; /* of a word that is compared */

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Insertions, deletions, changes and swaps of neighbours between two words. */
static size_t distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b), rows[3][LONGEST + 1];
    if (n > LONGEST || m > LONGEST) {
        return LONGEST;
    }
    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = least(least(row[j - 1], above[j]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], second[j - 2] + 1);
            }
        }
    }
    return rows[n % 3][m];
}

const char *cli_nearest(const char *word, const char *const *names, size_t n) {
    const char *best = NULL;
    size_t nearest = strlen(word) / 3 + 2; /* a third of it may be wrong, and a letter */
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, names[i]);
        if (d < nearest && d < strlen(names[i])) {
            nearest = d;
            best = names[i];
        }
    }
    return best;
}

static int unknown_option(cli *c, const char *name) {
    const char *names[OPTION_COUNT];
    size_t n = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (has(&options[i], c->word)) {
            names[n++] = options[i].name;
        } else if (strcmp(options[i].name, name) == 0) {
            return cli_usage(c, "--%s is not an option of burin %s", name, cli_commands[c->word].name);
        }
    }
    const char *near = cli_nearest(name, names, n);
    return cli_usage(c, "no such option: --%s%s%s%s", cli_printable(c, name), near == NULL ? "" : "; did you mean --",
                     near == NULL ? "" : near, near == NULL ? "" : "?");
}

/* ---- values ---- */

static int set_choice(cli *c, const option *o, const char *value) {
    const char *names[8];
    char *list = cli_format(c, "%s", o->value);
    size_t n = 0;
    for (char *at = list; at != NULL && n < sizeof names / sizeof names[0]; n++) {
        names[n] = at;
        at = strchr(at, '|');
        if (at != NULL) {
            *at++ = 0;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], value) == 0) {
            memcpy((char *)&c->arguments + o->field, &names[i], sizeof names[i]);
            return 0;
        }
    }
    const char *near = cli_nearest(value, names, n);
    return cli_usage(c, "--%s: \"%s\" is none of %s%s%s%s", o->name, cli_printable(c, value), o->value,
                     near == NULL ? "" : "; did you mean ", near == NULL ? "" : near, near == NULL ? "" : "?");
}

static int set_number(cli *c, const option *o, const char *value) {
    uint64_t v = 0;
    bool good = *value != 0;
    for (const char *at = value; good && *at != 0; at++) {
        good = *at >= '0' && *at <= '9';
        v = v * 10 + (uint64_t)(*at - '0');
        good = good && v <= o->highest;
    }
    if (!good || v < o->lowest) {
        return cli_usage(c, "--%s: \"%s\" is not a number from %" PRIu64 " to %" PRIu64, o->name,
                         cli_printable(c, value), o->lowest, o->highest);
    }
    memcpy((char *)&c->arguments + o->field, &v, sizeof v);
    return 0;
}

/* strtod reads the C locale: the command never sets another. */
static int set_real(cli *c, const option *o, const char *value) {
    char *end = NULL;
    double v = strtod(value, &end);
    if (strspn(value, "0123456789.eE+-") != strlen(value) || *end != 0 ||
        !(v >= (double)o->lowest && v <= (double)o->highest)) {
        return cli_usage(c, "--%s: \"%s\" is not a number from %" PRIu64 " to %" PRIu64, o->name,
                         cli_printable(c, value), o->lowest, o->highest);
    }
    memcpy((char *)&c->arguments + o->field, &v, sizeof v);
    return 0;
}

/* Room for one more, in steps that double. */
static void append(cli *c, cli_list *list, const char *word) {
    if ((list->n & (list->n - 1)) == 0) {
        const char **more = cli_alloc(c, list->n == 0 ? 1 : 2 * list->n, sizeof *more);
        if (list->n > 0) {
            memcpy(more, list->at, list->n * sizeof *more);
        }
        list->at = more;
    }
    list->at[list->n++] = word;
}

static int set(cli *c, const option *o, const char *value) {
    char *field = (char *)&c->arguments + o->field;
    bool *given = (bool *)((char *)&c->arguments + o->given), yes = true;
    if (*given && o->kind != LIST) {
        return cli_usage(c, "--%s is given twice", o->name);
    }
    *given = true;
    if (value != NULL && *value == 0) {
        return cli_usage(c, "--%s: the value is empty", o->name);
    }
    switch (o->kind) {
    case FLAG:
        memcpy(field, &yes, sizeof yes);
        return 0;
    case TEXT:
        memcpy(field, &value, sizeof value);
        return 0;
    case CHOICE:
        return set_choice(c, o, value);
    case NUMBER:
        return set_number(c, o, value);
    case REAL:
        return set_real(c, o, value);
    case LIST:
        append(c, (cli_list *)(void *)field, value);
        return 0;
    }
    return 0;
}

/* ---- words ---- */

/* An option with its value: here inside the same word, or the next word, of which *used says that it was taken. */
static int take(cli *c, const option *o, const char *inside, const char *next, bool *used) {
    if (o->kind == FLAG) {
        return inside != NULL ? cli_usage(c, "--%s takes no value", o->name) : set(c, o, NULL);
    }
    if (inside == NULL && next == NULL) {
        return cli_usage(c, "--%s needs a value: %s", o->name, o->value);
    }
    *used = inside == NULL;
    return set(c, o, inside != NULL ? inside : next);
}

static int take_long(cli *c, const char *word, const char *next, bool *used) {
    const char *equals = strchr(word, '=');
    size_t n = equals == NULL ? strlen(word) : (size_t)(equals - word);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (has(&options[i], c->word) && strlen(options[i].name) == n && strncmp(options[i].name, word, n) == 0) {
            return take(c, &options[i], equals == NULL ? NULL : equals + 1, next, used);
        }
    }
    return unknown_option(c, cli_format(c, "%.*s", n > 1000 ? 1000 : (int)n, word));
}

static int take_short(cli *c, const char *word, const char *next, bool *used) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (has(&options[i], c->word) && options[i].letter != 0 && options[i].letter == *word) {
            if (options[i].kind == FLAG && word[1] != 0) {
                int status = set(c, &options[i], NULL);
                return status != 0 ? status : take_short(c, word + 1, next, used);
            }
            const char *inside = word[1] == 0 ? NULL : word[1] == '=' ? word + 2 : word + 1;
            return take(c, &options[i], inside, next, used);
        }
    }
    return cli_usage(c, "no such option: -%s", cli_printable(c, word));
}

int cli_parse(cli *c, int count, char **words) {
    const cli_command *command = &cli_commands[c->word];
    bool options_end = false;
    for (int i = 0; i < count; i++) {
        const char *word = words[i], *next = i + 1 < count ? words[i + 1] : NULL;
        bool used = false;
        int status = 0;
        if (options_end || word[0] != '-' || word[1] == 0) {
            append(c, &c->arguments.operands, word);
        } else if (strcmp(word, "--") == 0) {
            options_end = true;
        } else {
            status = word[1] == '-' ? take_long(c, word + 2, next, &used) : take_short(c, word + 1, next, &used);
        }
        if (status != 0) {
            return status;
        }
        i += used;
    }
    if (c->arguments.help) {
        return 0;
    }
    const cli_list *operands = &c->arguments.operands;
    for (size_t i = 0; i < operands->n; i++) {
        if (*operands->at[i] == 0) {
            return cli_usage(c, "an argument is empty");
        }
    }
    if (operands->n > command->operand_count) {
        return cli_usage(c, "too many arguments: \"%s\"", cli_printable(c, operands->at[command->operand_count]));
    }
    return operands->n < command->operand_count ? cli_usage(c, "it needs %s", command->operands) : 0;
}

int cli_check_target(cli *c, const char *target) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const bool *given = (const bool *)((const char *)&c->arguments + options[i].given);
        if (*given && !burin_target_uses(target, options[i].name)) {
            return cli_usage(c, "--%s has no effect with target %s", options[i].name, cli_printable(c, target));
        }
    }
    return 0;
}

void cli_print_options(FILE *out, cli_word word) {
    fprintf(out, "\nOptions (in parentheses what holds without them):\n");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *o = &options[i];
        if (has(o, word)) {
            char left[64];
            char letter[5] = {'-', o->letter, ',', ' ', 0};
            snprintf(left, sizeof left, "%s--%s%s%s", o->letter != 0 ? letter : "    ", o->name,
                     o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
            fprintf(out, "  %-33s %s\n", left, o->help);
        }
    }
}

burin_compile_options cli_compile_options(const cli *c) {
    const cli_arguments *a = &c->arguments;
    burin_compile_options o = BURIN_COMPILE_OPTIONS_INIT;
    o.target = a->target;
    o.device = a->device != NULL ? a->device : o.device;
    o.prefix = a->prefix;
    o.opt_level = a->opt_level != NULL ? (unsigned)(a->opt_level[0] - '0') : o.opt_level;
    o.numerics = a->numerics != NULL ? a->numerics : o.numerics;
    o.layout = a->layout != NULL ? a->layout : o.layout;
    o.weights = a->weights != NULL ? a->weights : o.weights;
    o.test_cases = (unsigned)a->test;
    o.check = !a->no_check;
    o.check_cases = a->given.check_cases ? (unsigned)a->check_cases : o.check_cases;
    o.compiler = a->compiler;
    o.dump_after = a->dump_after;
    o.max_trips = (unsigned)a->max_trips;
    o.opset = (unsigned)a->opset;
    o.external_data = a->external_data;
    o.exact = a->exact;
    o.goal = a->goal != NULL ? a->goal : o.goal;
    o.kernel = a->kernel;
    o.disable = a->disable;
    return o;
}

/* "A,B" and "C" are three names. */
static cli_list split_names(cli *c, const cli_list *given) {
    size_t n = 0;
    for (size_t i = 0; i < given->n; i++) {
        for (const char *s = given->at[i]; s != NULL; s = strchr(s, ',') != NULL ? strchr(s, ',') + 1 : NULL) {
            n++;
        }
    }
    cli_list names = {.at = cli_alloc(c, n + 1, sizeof *names.at)};
    for (size_t i = 0; i < given->n; i++) {
        for (const char *s = given->at[i]; s != NULL; s = strchr(s, ',') != NULL ? strchr(s, ',') + 1 : NULL) {
            names.at[names.n++] = cli_format(c, "%.*s", (int)(strcspn(s, ",") & 0xffff), s);
        }
    }
    return names;
}

/* NAME=FILE, or FILE where the model has one input: into one of the two lists of o, which have room. */
static int read_constant(cli *c, const char *text, burin_constant *constants, burin_contents *lists,
                         burin_load_options *o) {
    const char *equals = strchr(text, '='), *path = equals != NULL ? equals + 1 : text;
    burin_array array = {0};
    burin_status status = cli_read_file(c, path, &array);
    const char *name = equals != NULL ? cli_format(c, "%.*s", (int)((equals - text) & 0xffff), text) : NULL;
    if (array.type != NULL && strcmp(array.type, "list") == 0) {
        lists[o->list_count++] = (burin_contents){name, array};
    } else {
        constants[o->constant_count++] = (burin_constant){name, array.type, array.data, array.size};
    }
    return cli_report(c, status);
}

int cli_load_options(cli *c, burin_load_options *o) {
    const cli_arguments *a = &c->arguments;
    *o = (burin_load_options)BURIN_LOAD_OPTIONS_INIT;
    o->shapes = a->shape.at;
    o->shape_count = a->shape.n;
    o->dims = a->dim.at;
    o->dim_count = a->dim.n;
    o->batch = (uint32_t)a->batch;
    o->max_trips = (unsigned)a->max_trips;
    o->states = a->state.at;
    o->state_count = a->state.n;
    o->random_mean = a->random_mean;
    o->numerics = a->numerics;
    o->ops = a->ops.at;
    o->op_count = a->ops.n;
    o->signature = a->signature;
    const cli_list outputs = split_names(c, &a->outputs);
    o->outputs = outputs.at;
    o->output_count = outputs.n;
    for (size_t i = 0; i < outputs.n; i++) {
        if (*outputs.at[i] == 0) {
            return cli_usage(c, "--outputs: a name is empty");
        }
    }
    burin_constant *constants = cli_alloc(c, a->constant.n + 1, sizeof *constants);
    burin_contents *lists = cli_alloc(c, a->constant.n + 1, sizeof *lists);
    int status = 0;
    for (size_t i = 0; i < a->constant.n && status == 0; i++) {
        status = read_constant(c, a->constant.at[i], constants, lists, o);
    }
    o->constants = constants;
    o->lists = lists;
    return status;
}

int cli_load_for(cli *c, const burin_contents *contents, size_t n, burin_model **model) {
    burin_load_options o;
    int status = cli_load_options(c, &o);
    o.contents = contents;
    o.content_count = n;
    return status != 0 ? status : cli_report(c, burin_load_with(c->context, c->arguments.operands.at[0], &o, model));
}

int cli_load(cli *c, burin_model **model) {
    return cli_load_for(c, NULL, 0, model);
}
