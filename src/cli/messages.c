/* messages.c - what the command says and where: errors, notes, progress, JSON texts; and its memory.
 *
 * Takes texts. Results are printed on stdout by the sub-commands; all that is here but JSON goes to stderr.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- memory ---- */

typedef struct cli_block {
    struct cli_block *next;
    max_align_t data[];
} cli_block;

void *cli_alloc(cli *c, size_t count, size_t size) {
    cli_block *block =
        size != 0 && count > (SIZE_MAX - sizeof *block) / size ? NULL : calloc(1, sizeof *block + count * size);
    if (block == NULL) {
        cli_progress(c, NULL);
        fputs("burin: out of memory\n", stderr);
        exit(1);
    }
    block->next = c->blocks;
    c->blocks = block;
    return block->data;
}

char *cli_vformat(cli *c, const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t size = n < 0 ? 1 : (size_t)n + 1;
    char *text = cli_alloc(c, size, 1);
    vsnprintf(text, size, format, list);
    return text;
}

char *cli_format(cli *c, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = cli_vformat(c, format, list);
    va_end(list);
    return text;
}

const char *cli_printable(cli *c, const char *text) {
    enum { MOST = 200 };
    char *out = cli_alloc(c, 4 * MOST + 4, 1), *at = out;
    for (size_t i = 0; text[i] != 0; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (i == MOST) {
            strcpy(at, "...");
            break;
        }
        if (byte < 0x20 || byte >= 0x7f) {
            snprintf(at, 5, "\\x%02x", byte);
            at += 4;
        } else {
            *at++ = text[i];
        }
    }
    return out;
}

/* ---- messages ---- */

static void say(cli *c, const char *word, const char *format, va_list list) {
    cli_progress(c, NULL);
    fprintf(stderr, "burin %s: %s", cli_commands[c->word].name, word);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
}

int cli_usage(cli *c, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(c, "", format, list);
    va_end(list);
    fprintf(stderr, "Try: burin help %s\n", cli_commands[c->word].name);
    return BURIN_USAGE;
}

/* The line of the place in the file of options, and a caret below its column. Columns are characters. */
static void print_line(cli *c, cli_place at) {
    const char *line = c->config, *end = c->config + c->config_size;
    for (unsigned i = 1; i < at.line && line < end; i++) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        line = feed != NULL ? feed + 1 : end;
    }
    const char *feed = memchr(line, '\n', (size_t)(end - line)), *stop = feed != NULL ? feed : end, *column = line;
    for (unsigned i = 1; i < at.column && column < stop; i++) {
        do {
            column++;
        } while (column < stop && (*column & 0xc0) == 0x80);
    }
    enum { WIDEST = 120 };
    if (stop == line || column - line > WIDEST) {
        return;
    }
    stop = stop - line > WIDEST ? line + WIDEST : stop;
    const char *before = cli_printable(c, cli_format(c, "%.*s", (int)(column - line), line));
    fprintf(stderr, "    %s\n    %*s^\n", cli_printable(c, cli_format(c, "%.*s", (int)(stop - line), line)),
            (int)strlen(before), "");
}

static void say_place(cli *c, cli_place at, const char *format, va_list list) {
    cli_progress(c, NULL);
    fprintf(stderr, "burin %s: %s:%u:%u: %s\n", cli_commands[c->word].name, cli_printable(c, c->arguments.config),
            at.line, at.column, cli_vformat(c, format, list));
    print_line(c, at);
}

int cli_config_usage(cli *c, cli_place at, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say_place(c, at, format, list);
    va_end(list);
    fprintf(stderr, "Try: burin help %s\n", cli_commands[c->word].name);
    return BURIN_USAGE;
}

void cli_config_here(cli *c, cli_place at, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say_place(c, at, format, list);
    va_end(list);
}

int cli_refuse(cli *c, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(c, "", format, list);
    va_end(list);
    return BURIN_REFUSED;
}

void cli_note(cli *c, const char *format, ...) {
    if (!c->arguments.quiet) {
        va_list list;
        va_start(list, format);
        say(c, "note: ", format, list);
        va_end(list);
    }
}

/* Where the file of options says what the library finds wrong: its messages begin with the option's name. */
static void show_place(cli *c, const char *message) {
    const size_t n = strcspn(message, ": ");
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        if (c->places[i].line != 0 && strlen(cli_options[i].key) == n && strncmp(cli_options[i].key, message, n) == 0) {
            cli_config_here(c, c->places[i], "%s is said here", cli_options[i].key);
        }
    }
}

int cli_report(cli *c, burin_status status) {
    cli_progress(c, NULL);
    if (status != BURIN_OK || !c->arguments.quiet) {
        fputs(burin_diagnostics_text(c->context, c->colour), stderr);
    }
    if (status != BURIN_OK && burin_diagnostic_count(c->context) == 0) {
        fprintf(stderr, "burin %s: failed, and nothing says why: a fault of Burin\n", cli_commands[c->word].name);
        return BURIN_INTERNAL;
    }
    for (size_t i = 0; status == BURIN_USAGE && i < burin_diagnostic_count(c->context); i++) {
        show_place(c, burin_diagnostic_at(c->context, i).message);
    }
    burin_diagnostics_clear(c->context);
    return status == BURIN_IO || status == BURIN_NO_MEMORY ? BURIN_REFUSED : (int)status;
}

void cli_progress(cli *c, const char *text) {
    if (!c->terminal || c->arguments.quiet) {
        return;
    }
    fputs("\r\033[K", stderr);
    if (text != NULL) {
        fprintf(stderr, "%s ...", text);
    }
    fflush(stderr);
}

/* ---- JSON ---- */

/* Bytes of a UTF-8 character at s: 0 where there is none. No surrogates, nothing longer than it need be. */
static size_t utf8(const unsigned char *s) {
    static const struct {
        unsigned char mask, lead, size;
        unsigned lowest;
    } forms[] = {{0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
    for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
        if ((s[0] & forms[k].mask) == forms[k].lead) {
            unsigned code = s[0] & (unsigned)~forms[k].mask & 0xff;
            for (size_t i = 1; i < forms[k].size; i++) {
                if ((s[i] & 0xc0) != 0x80) {
                    return 0;
                }
                code = code << 6 | (s[i] & 0x3f);
            }
            bool good = code >= forms[k].lowest && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
            return good ? forms[k].size : 0;
        }
    }
    return 0;
}

void cli_json_text(const char *text) {
    putchar('"');
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; at++) {
        if (*at == '"' || *at == '\\') {
            printf("\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            printf("\\u%04x", *at);
        } else if (*at < 0x80) {
            putchar(*at);
        } else {
            size_t n = utf8(at);
            if (n == 0) {
                fputs("\\ufffd", stdout);
            } else {
                fwrite(at, 1, n, stdout);
                at += n - 1;
            }
        }
    }
    putchar('"');
}

void cli_json_shape(const burin_array *a) {
    putchar('[');
    for (uint32_t k = 0; k < a->rank; k++) {
        printf("%s%" PRId64, k != 0 ? "," : "", a->dim[k]);
    }
    putchar(']');
}
