/* conform.c - burin conform, burin providers: providers by name or file, and the checks of their contract. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burin/conform.h"
#include "cli/cli.h"

/* ---- providers ---- */

static const burin_provider *builtin(const char *name) {
    const burin_provider *p = NULL;
    for (size_t i = 0; (p = burin_provider_builtin(i)) != NULL && strcmp(p->name, name) != 0; i++) {
    }
    return p;
}

/* NAME.so in the first folder of $BURIN_PROVIDER_PATH that has it; NULL: none has. */
static const char *search(cli *c, const char *name) {
    const char *folders = getenv("BURIN_PROVIDER_PATH");
    while (folders != NULL && *folders != 0) {
        const size_t n = strcspn(folders, ":");
        const char *path = cli_format(c, "%.*s/%s.so", (int)(n & 0xffff), folders, name);
        if (cli_exists(path)) {
            return path;
        }
        folders += n + (folders[n] == ':');
    }
    return NULL;
}

static int unknown(cli *c, const char *name) {
    const char *names[32];
    size_t n = 0;
    for (const burin_provider *p; n < 32 && (p = burin_provider_builtin(n)) != NULL; n++) {
        names[n] = p->name;
    }
    const char *near = cli_nearest(name, names, n);
    return cli_usage(c,
                     "there is no provider %s: burin providers lists those that are built in; others by path, or in "
                     "$BURIN_PROVIDER_PATH%s%s%s",
                     cli_printable(c, name), near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                     near != NULL ? "?" : "");
}

static int find_provider(cli *c, const char *name, const burin_provider **table) {
    burin_error e = BURIN_ERROR_INIT;
    const char *path = strchr(name, '/') != NULL ? name : NULL;
    *table = path == NULL ? builtin(name) : NULL;
    if (*table != NULL) {
        return 0;
    }
    path = path == NULL ? search(c, name) : path;
    if (path == NULL) {
        return unknown(c, name);
    }
    return burin_provider_table(path, table, &e) == BURIN_E_NONE
               ? 0
               : cli_refuse(c, "%s: %s", cli_printable(c, path), cli_printable(c, e.message));
}

static void print_capabilities(uint64_t set, bool json) {
    static const struct {
        const char *name;
        uint64_t bit;
    } rows[] = {
#define ROW(NAME, name, bit, what) {#name, (uint64_t)1 << (bit)},
        BURIN_SESSION_CAPABILITIES(ROW)
#undef ROW
    };
    bool first = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((set & rows[i].bit) != 0) {
            printf("%s%s%s%s", first ? "" : json ? "," : " ", json ? "\"" : "", rows[i].name, json ? "\"" : "");
            first = false;
        }
    }
}

int cli_providers(cli *c) {
    const bool json = c->arguments.json;
    const burin_provider *p = NULL;
    printf(json ? "[" : "");
    for (size_t i = 0; (p = burin_provider_builtin(i)) != NULL; i++) {
        if (json) {
            printf("%s\n  {\"name\":\"%s\",\"version\":\"%s\",\"abi\":%" PRIu32 ",\"capabilities\":[", i > 0 ? "," : "",
                   p->name, p->version, p->abi);
        } else {
            printf("%-12s %-8s ", p->name, p->version);
        }
        print_capabilities(p->capabilities, json);
        printf(json ? "]}" : "\n");
    }
    printf(json ? "\n]\n" : "");
    return 0;
}

/* ---- conform ---- */

static const char *const verdicts[] = {"not claimed", "pass", "fail"};

static void print_json(const burin_provider *p, const burin_check *checks, size_t n, const size_t counts[3]) {
    printf("{\"provider\":");
    cli_json_text(p->name != NULL ? p->name : "");
    printf(",\"passed\":%zu,\"failed\":%zu,\"not_claimed\":%zu,\"checks\":[", counts[BURIN_VERDICT_PASS],
           counts[BURIN_VERDICT_FAIL], counts[BURIN_VERDICT_NOT_CLAIMED]);
    for (size_t i = 0; i < n; i++) {
        printf("%s\n  {\"number\":%" PRIu32 ",\"name\":\"%s\",\"promises\":\"%s\",\"verdict\":\"%s\",\"text\":",
               i > 0 ? "," : "", checks[i].number, checks[i].name, checks[i].promises, verdicts[checks[i].verdict]);
        cli_json_text(checks[i].text);
        if (checks[i].why[0] != 0) {
            printf(",\"why\":");
            cli_json_text(checks[i].why);
        }
        printf("}");
    }
    printf("]}\n");
}

static void print_text(cli *c, const burin_check *checks, size_t n, const size_t counts[3]) {
    for (size_t i = 0; i < n && !c->arguments.quiet; i++) {
        printf("%3" PRIu32 "  %-11s  %-24s %-10s %s\n", checks[i].number, verdicts[checks[i].verdict], checks[i].name,
               checks[i].promises, checks[i].text);
        if (checks[i].verdict == BURIN_VERDICT_FAIL) {
            printf("     %s\n", cli_printable(c, checks[i].why));
        }
    }
    printf("%zu pass, %zu fail, %zu not claimed\n", counts[BURIN_VERDICT_PASS], counts[BURIN_VERDICT_FAIL],
           counts[BURIN_VERDICT_NOT_CLAIMED]);
}

/* All n bytes, or READ. The offset is the call's own, so any thread may read at any time. */
static burin_code read_file(void *user, uint64_t offset, void *to, size_t n) {
    const int file = *(const int *)user;
    while (n > 0) {
        const ssize_t got = offset <= INT64_MAX ? pread(file, to, n, (off_t)offset) : 0;
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return BURIN_E_READ;
        }
        if (got > 0) {
            to = (char *)to + got;
            offset += (uint64_t)got;
            n -= (size_t)got;
        }
    }
    return BURIN_E_NONE;
}

/* The model as a source; file is to be closed, where it is not negative. */
static int open_model(cli *c, const char *path, int *file, burin_source *model) {
    struct stat is;
    *file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe without a writer is refused, and not waited for */
    if (*file < 0 || fstat(*file, &is) != 0) {
        return cli_refuse(c, "%s: %s", cli_printable(c, path), strerror(errno));
    }
    if (!S_ISREG(is.st_mode)) {
        return cli_refuse(c, "%s is no regular file: the checks read a model at any place, and again",
                          cli_printable(c, path));
    }
    *model = (burin_source){sizeof *model, 0, path, (uint64_t)is.st_size, file, read_file};
    return 0;
}

/* model NULL: the provider's sample. */
static int check(cli *c, const burin_provider *provider, const burin_source *model) {
    burin_error e = BURIN_ERROR_INIT;
    burin_conform_options options = BURIN_CONFORM_OPTIONS_INIT;
    options.model = model;
    const size_t n = burin_conform_count();
    burin_check *checks = cli_alloc(c, n, sizeof *checks);
    size_t counts[3] = {0, 0, 0};
    cli_progress(c, "checking");
    if (burin_conform(provider, &options, checks, &e) != BURIN_E_NONE) {
        return cli_usage(c, "%s", cli_printable(c, e.message));
    }
    cli_progress(c, NULL);
    for (size_t i = 0; i < n; i++) {
        counts[checks[i].verdict]++;
    }
    if (c->arguments.json) {
        print_json(provider, checks, n, counts);
    } else {
        print_text(c, checks, n, counts);
    }
    return counts[BURIN_VERDICT_FAIL] > 0 ? BURIN_WRONG : 0;
}

int cli_conform(cli *c) {
    const cli_list *operands = &c->arguments.operands;
    const burin_provider *provider = NULL;
    burin_source model;
    int file = -1;
    int status = find_provider(c, operands->at[0], &provider);
    if (status == 0 && operands->n > 1) {
        status = open_model(c, operands->at[1], &file, &model);
    }
    if (status == 0) {
        status = check(c, provider, operands->n > 1 ? &model : NULL);
    }
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}
