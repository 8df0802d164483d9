/* main.c - the command: finds the sub-command, runs it, ends with its status.
 *
 * Exit status: 0 done, 1 the input is refused (also files that cannot be read or written, and memory), 2 usage, 3 the
 * output does not compute what the input says, 4 no plan meets the budget, 70 our own fault.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

const cli_command cli_commands[CLI_COMMAND_COUNT] = {
#define COMMAND(word, operands, count, summary, more, examples)                                                        \
    {#word, operands, count, summary, more, examples, cli_##word},
#include "cli/commands.def"
#undef COMMAND
};

static void print_lines(const char *indent, const char *text) {
    while (*text != 0) {
        size_t n = strcspn(text, "\n");
        printf("%s%.*s\n", indent, (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static int help(void) {
    puts("burin: compiles trained networks to C that fits, and that was checked.\n");
    puts("usage: burin COMMAND [ARGUMENTS] [OPTIONS]\n");
    for (size_t i = 0; i < CLI_COMMAND_COUNT; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", cli_commands[i].name, cli_commands[i].operands);
        printf("  burin %-25s %s\n", left, cli_commands[i].summary);
    }
    puts("  burin help COMMAND              its options and examples");
    puts("  burin --version\n");
    puts("Example: burin compile model.tflite -o out");
    puts("Exit status: 0 done, 1 input refused, 2 usage, 3 output differs, 4 over budget, 70 a fault of Burin");
    return 0;
}

static int help_of(cli_word word) {
    const cli_command *command = &cli_commands[word];
    printf("burin %s: %s\n\nusage: burin %s%s%s [OPTIONS]%s\n", command->name, command->summary, command->name,
           command->operands[0] != 0 ? " " : "", command->operands, word == CLI_compile ? " -o OUT" : "");
    if (command->more[0] != 0) {
        puts("");
        print_lines("", command->more);
    }
    cli_print_options(stdout, word);
    puts("\nExamples:");
    print_lines("  ", command->examples);
    return 0;
}

/* The sub-command of that name, or CLI_COMMAND_COUNT with the message printed. */
static cli_word find(const char *name) {
    const char *names[CLI_COMMAND_COUNT + 1] = {[CLI_COMMAND_COUNT] = "help"};
    for (size_t i = 0; i < CLI_COMMAND_COUNT; i++) {
        names[i] = cli_commands[i].name;
        if (strcmp(name, names[i]) == 0) {
            return (cli_word)i;
        }
    }
    cli c = {0};
    const char *near = cli_nearest(name, names, CLI_COMMAND_COUNT + 1);
    fprintf(stderr, "burin: no such command: %s%s%s%s\nTry: burin --help\n", cli_printable(&c, name),
            near == NULL ? "" : "; did you mean ", near == NULL ? "" : near, near == NULL ? "" : "?");
    free(c.blocks);
    return CLI_COMMAND_COUNT;
}

static int run(cli *c, int count, char **words) {
    c->context = burin_context_new(NULL, NULL, 0);
    int status = c->context == NULL ? cli_refuse(c, "out of memory") : cli_parse(c, count, words);
    if (status == 0) {
        status = c->arguments.help ? help_of(c->word) : cli_commands[c->word].run(c);
    }
    cli_progress(c, NULL);
    burin_context_free(c->context);
    cli_temporary_end();
    return status;
}

static int dispatch(int count, char **words) {
    const char *first = count > 1 ? words[1] : NULL;
    if (first == NULL) {
        fputs("usage: burin COMMAND [ARGUMENTS] [OPTIONS]\nTry: burin --help\n", stderr);
        return BURIN_USAGE;
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        printf("burin %s\n", burin_version());
        return 0;
    }
    bool asks = strcmp(first, "help") == 0;
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || (asks && count == 2)) {
        return help();
    }
    cli_word word = find(asks ? words[2] : first);
    if (word == CLI_COMMAND_COUNT) {
        return BURIN_USAGE;
    }
    if (asks) {
        return help_of(word);
    }
    const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
    bool terminal = isatty(STDERR_FILENO) != 0 && term != NULL && strcmp(term, "dumb") != 0;
    cli c = {.word = word, .terminal = terminal, .colour = terminal && (plain == NULL || *plain == 0)};
    int status = run(&c, count - 2, words + 2);
    while (c.blocks != NULL) {
        void *block = c.blocks;
        memcpy(&c.blocks, block, sizeof c.blocks); /* each begins with the next */
        free(block);
    }
    return status;
}

int main(int count, char **words) {
    (void)signal(SIGXFSZ, SIG_IGN); /* a file too large for its limit is an error of the write, as on a full disk */
    int status = dispatch(count, words);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "burin: standard output: %s\n", strerror(errno));
        return status == 0 ? BURIN_REFUSED : status;
    }
    return status;
}
