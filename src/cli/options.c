/* options.c - the arguments of a sub-command, parsed by the table options.def.
 *
 * Takes the words after the sub-command. Gives cli_arguments, or status 2 with a message that names the nearest option
 * or value. --name value, --name=value, -l value, -lvalue, and -MF value as C compilers spell it; -- ends the options. An option that is given twice is an
 * error, but a LIST.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Is a FLAG true where nobody says it? Of the other kinds the standard value is no truth. */
#define ON_FLAG(standard) standard
#define ON_TEXT(standard) false
#define ON_NAMES(standard) false
#define ON_PATH(standard) false
#define ON_CHOICE(standard) false
#define ON_NUMBER(standard) false
#define ON_REAL(standard) false
#define ON_LIST(standard) false
#define ON_PATHS(standard) false
#define ON_PAIRS(standard) false
#define ON_FILES(standard) false

const cli_option cli_options[CLI_OPTION_COUNT] = {
#define ROW(kind, field, flag, letter, value, lowest, highest, standard, commands, help, at)                           \
    {kind,     #field, flag,    letter,                                                                                \
     value,    lowest, highest, ON_##kind(standard),                                                                   \
     commands, help,   at,      offsetof(cli_arguments, given) + offsetof(cli_given, field)},
#define OPTION(kind, field, flag, letter, value, lowest, highest, standard, commands, standing, tests, help)           \
    ROW(kind, field, flag, letter, value, lowest, highest, standard, commands, help, offsetof(cli_arguments, field))
#define COMPILE_OPTION(kind, field, flag, letter, value, lowest, highest, standard, commands, standing, tests, help)   \
    ROW(kind, field, flag, letter, value, lowest, highest, standard, commands, help,                                   \
        offsetof(cli_arguments, compile) + offsetof(burin_compile_options, field))
#include "cli/options.def"
#undef ROW
#undef OPTION
#undef COMPILE_OPTION
};

/* What holds where nothing is given. Lists are empty. */
static void set_standards(cli_arguments *a) {
    *a = (cli_arguments){.compile = BURIN_COMPILE_OPTIONS_INIT};
#define STANDARD_FLAG(field, standard) a->field = standard;
#define STANDARD_TEXT(field, standard) a->field = standard;
#define STANDARD_PATH(field, standard) a->field = standard;
#define STANDARD_CHOICE(field, standard) a->field = standard;
#define STANDARD_NUMBER(field, standard) a->field = standard;
#define STANDARD_REAL(field, standard) a->field = standard;
#define STANDARD_LIST(field, standard)
#define STANDARD_PATHS(field, standard)
#define STANDARD_PAIRS(field, standard)
#define STANDARD_FILES(field, standard)
#define OPTION(kind, field, flag, letter, value, lowest, highest, standard, ...) STANDARD_##kind(field, standard)
#define COMPILE_OPTION(kind, field, ...)
#include "cli/options.def"
#undef OPTION
#undef COMPILE_OPTION
}

/* -MD, --check */
static const char *dashes(const char *flag) {
    return *flag >= 'A' && *flag <= 'Z' ? "-" : "--";
}

static bool has(const cli_option *o, cli_word word) {
    return *o->flag != 0 && (o->commands >> word & 1) != 0;
}

bool *cli_given_of(cli *c, const cli_option *o) {
    return (bool *)((char *)&c->arguments + o->given);
}

static bool may_repeat(const cli_option *o) {
    return o->kind >= LIST;
}

/* "no-check" for a FLAG that is on, "check-cases" */
static const char *shown(cli *c, const cli_option *o) {
    return o->on ? cli_format(c, "no-%s", o->flag) : o->flag;
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
    const char *names[2 * CLI_OPTION_COUNT];
    const bool no = strncmp(name, "no-", 3) == 0;
    size_t n = 0;
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const char *known = shown(c, &cli_options[i]);
        if (has(&cli_options[i], c->word)) {
            names[n++] = known;
            if (no && cli_options[i].kind == FLAG && !cli_options[i].on) {
                names[n++] = cli_format(c, "no-%s", cli_options[i].flag);
            }
        } else if (*name != 0 && strcmp(known, name) == 0) {
            return cli_usage(c, "%s%s is not an option of burin %s", dashes(name), name, cli_commands[c->word].name);
        }
    }
    const char *near = cli_nearest(name, names, n);
    return cli_usage(c, "no such option: --%s%s%s%s", cli_printable(c, name), near == NULL ? "" : "; did you mean --",
                     near == NULL ? "" : near, near == NULL ? "" : "?");
}

/* ---- values ---- */

/* Says what is wrong with a value, and where it was said. Returns 2. */
static int __attribute__((format(printf, 3, 4))) wrong(cli *c, const cli_option *o, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *why = cli_vformat(c, format, list);
    va_end(list);
    return c->at.line != 0 ? cli_config_usage(c, c->at, "%s: %s", o->key, why)
                           : cli_usage(c, "%s%s: %s", dashes(o->flag), o->flag, why);
}

static int set_choice(cli *c, const cli_option *o, const char *value) {
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
    return wrong(c, o, "\"%s\" is none of %s%s%s%s", cli_printable(c, value), o->value,
                 near == NULL ? "" : "; did you mean ", near == NULL ? "" : near, near == NULL ? "" : "?");
}

static int set_number(cli *c, const cli_option *o, const char *value) {
    uint64_t v = 0;
    bool good = *value != 0;
    for (const char *at = value; good && *at != 0; at++) {
        good = *at >= '0' && *at <= '9';
        v = v * 10 + (uint64_t)(*at - '0');
        good = good && v <= o->highest;
    }
    if (!good || v < o->lowest) {
        return wrong(c, o, "\"%s\" is not a number from %" PRIu64 " to %" PRIu64, cli_printable(c, value), o->lowest,
                     o->highest);
    }
    const unsigned number = (unsigned)v;
    memcpy((char *)&c->arguments + o->field, &number, sizeof number);
    return 0;
}

/* strtod reads the C locale: the command never sets another. */
static int set_real(cli *c, const cli_option *o, const char *value) {
    char *end = NULL;
    double v = strtod(value, &end);
    if (strspn(value, "0123456789.eE+-") != strlen(value) || *end != 0 ||
        !(v >= (double)o->lowest && v <= (double)o->highest)) {
        return wrong(c, o, "\"%s\" is not a number from %" PRIu64 " to %" PRIu64, cli_printable(c, value), o->lowest,
                     o->highest);
    }
    memcpy((char *)&c->arguments + o->field, &v, sizeof v);
    return 0;
}

void cli_append(cli *c, cli_list *list, const char *word) {
    if ((list->n & (list->n - 1)) == 0) {
        const char **more = cli_alloc(c, list->n == 0 ? 1 : 2 * list->n, sizeof *more);
        if (list->n > 0) {
            memcpy(more, list->at, list->n * sizeof *more);
        }
        list->at = more;
    }
    list->at[list->n++] = word;
}

int cli_set(cli *c, const cli_option *o, const char *value) {
    char *field = (char *)&c->arguments + o->field;
    bool yes = false;
    *cli_given_of(c, o) = true;
    if (*value == 0) {
        return wrong(c, o, "the value is empty");
    }
    switch (o->kind) {
    case FLAG:
        yes = strcmp(value, "true") == 0;
        memcpy(field, &yes, sizeof yes);
        return 0;
    case TEXT:
    case NAMES:
    case PATH:
        memcpy(field, &value, sizeof value);
        return 0;
    case CHOICE:
        return set_choice(c, o, value);
    case NUMBER:
        return set_number(c, o, value);
    case REAL:
        return set_real(c, o, value);
    case LIST:
    case PATHS:
    case PAIRS:
    case FILES:
        cli_append(c, (cli_list *)(void *)field, value);
        return 0;
    }
    return 0;
}

/* ---- words ---- */

static int set(cli *c, const cli_option *o, const char *value) {
    return *cli_given_of(c, o) && !may_repeat(o) ? cli_usage(c, "%s%s is given twice", dashes(o->flag), o->flag)
                                                 : cli_set(c, o, value);
}

/* An option with its value: here inside the same word, or the next word, of which *used says that it was taken. */
static int take(cli *c, const cli_option *o, const char *inside, const char *next, bool *used) {
    if (inside == NULL && next == NULL) {
        return cli_usage(c, "%s%s needs a value: %s", dashes(o->flag), o->flag, o->value);
    }
    *used = inside == NULL;
    return set(c, o, inside != NULL ? inside : next);
}

/* --NAME and --no-NAME are a FLAG's two values. */
static int take_flag(cli *c, const cli_option *o, const char *inside, bool yes) {
    return inside != NULL ? cli_usage(c, "%s%s%s takes no value", dashes(o->flag), yes ? "" : "no-", o->flag)
                          : set(c, o, yes ? "true" : "false");
}

static bool is_word(const char *name, const char *word, size_t n) {
    return strlen(name) == n && strncmp(name, word, n) == 0;
}

static int take_long(cli *c, const char *word, const char *next, bool *used) {
    const char *equals = strchr(word, '=');
    const char *inside = equals == NULL ? NULL : equals + 1;
    const size_t n = equals == NULL ? strlen(word) : (size_t)(equals - word);
    const bool no = strncmp(word, "no-", 3) == 0;
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const cli_option *o = &cli_options[i];
        if (!has(o, c->word)) {
            continue;
        }
        if (is_word(o->flag, word, n)) {
            return o->kind == FLAG ? take_flag(c, o, inside, true) : take(c, o, inside, next, used);
        }
        if (o->kind == FLAG && no && is_word(o->flag, word + 3, n - 3)) {
            return take_flag(c, o, inside, false);
        }
    }
    return unknown_option(c, cli_format(c, "%.*s", n > 1000 ? 1000 : (int)n, word));
}

static int take_short(cli *c, const char *word, const char *next, bool *used) {
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const cli_option *o = &cli_options[i];
        if (!has(o, c->word) || o->letter == 0 || o->letter != *word) {
            continue;
        }
        if (o->kind != FLAG) {
            const char *inside = word[1] == 0 ? NULL : word[1] == '=' ? word + 2 : word + 1;
            return take(c, o, inside, next, used);
        }
        if (word[1] == '=') {
            return take_flag(c, o, word + 2, true);
        }
        int status = take_flag(c, o, NULL, true);
        return status != 0 || word[1] == 0 ? status : take_short(c, word + 1, next, used);
    }
    return cli_usage(c, "no such option: -%s", cli_printable(c, word));
}

/* The operands, of which the file of options may say the first. */
static int check_operands(cli *c) {
    const cli_command *command = &cli_commands[c->word];
    cli_list *operands = &c->arguments.operands;
    const size_t most = command->operand_count + (strchr(command->operands, '[') != NULL);
    if (c->arguments.given.model && operands->n + 1 == command->operand_count) {
        cli_append(c, operands, NULL);
        memmove(operands->at + 1, operands->at, (operands->n - 1) * sizeof *operands->at);
        operands->at[0] = c->arguments.model;
    }
    for (size_t i = 0; i < operands->n; i++) {
        if (*operands->at[i] == 0) {
            return cli_usage(c, "an argument is empty");
        }
    }
    if (operands->n > most) {
        return cli_usage(c, "too many arguments: \"%s\"", cli_printable(c, operands->at[most]));
    }
    return operands->n < command->operand_count ? cli_usage(c, "it needs %s", command->operands) : 0;
}

/* -MD, -MF FILE */
static bool is_spelt_so(cli *c, const char *word) {
    bool is = false;
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        is = is || (has(&cli_options[i], c->word) && dashes(word)[1] == 0 && strcmp(cli_options[i].flag, word) == 0);
    }
    return is;
}

int cli_parse(cli *c, int count, char **words) {
    bool options_end = false;
    set_standards(&c->arguments);
    for (int i = 0; i < count; i++) {
        const char *word = words[i], *next = i + 1 < count ? words[i + 1] : NULL;
        bool used = false;
        int status = 0;
        if (options_end || word[0] != '-' || word[1] == 0) {
            cli_append(c, &c->arguments.operands, word);
        } else if (strcmp(word, "--") == 0) {
            options_end = true;
        } else {
            const bool is_long = word[1] == '-' || is_spelt_so(c, word + 1);
            status = is_long ? take_long(c, word + (word[1] == '-' ? 2 : 1), next, &used)
                             : take_short(c, word + 1, next, &used);
        }
        if (status != 0) {
            return status;
        }
        i += used;
    }
    if (c->arguments.help) {
        return 0;
    }
    int status = c->arguments.given.config ? cli_read_config(c) : 0;
    return status != 0 ? status : check_operands(c);
}

int cli_check_target(cli *c, const char *target) {
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const char *name = shown(c, &cli_options[i]);
        if (!*cli_given_of(c, &cli_options[i]) || burin_target_uses(target, name)) {
            continue;
        }
        if (c->places[i].line != 0) {
            return cli_config_usage(c, c->places[i], "%s has no effect with target %s", cli_options[i].key,
                                    cli_printable(c, target));
        }
        return cli_usage(c, "%s%s has no effect with target %s", dashes(name), name, cli_printable(c, target));
    }
    return 0;
}

void cli_print_options(FILE *out, cli_word word) {
    fprintf(out, "\nOptions (in parentheses what holds without them):\n");
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const cli_option *o = &cli_options[i];
        if (has(o, word)) {
            char left[64];
            char letter[5] = {'-', o->letter, ',', ' ', 0};
            snprintf(left, sizeof left, "%s%s%s%s%s%s", o->letter != 0 ? letter : "    ", dashes(o->flag),
                     o->on ? "no-" : "", o->flag, o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
            fprintf(out, "  %-33s %s\n", left, o->help);
        }
    }
}
