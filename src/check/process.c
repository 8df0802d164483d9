/* process.c - temporary folders and child processes.
 *
 * Takes a command. Gives its exit status and what it said. Nothing is left behind: the folder goes with its arena.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/check_private.h"

extern char **environ;

/* One level of sub-folders is all that a target makes. */
static void remove_folder(const char *path, int depth) {
    DIR *dir = opendir(path);
    struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        if (unlinkat(dirfd(dir), e->d_name, 0) != 0 && depth > 0) {
            char inner[4096];
            int n = snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
            if (n > 0 && (size_t)n < sizeof inner) {
                remove_folder(inner, depth - 1);
            }
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    rmdir(path);
}

static void remove_later(void *path) {
    remove_folder(path, 3);
}

char *check_temporary_folder(base_arena *arena, base_diags *d) {
    const char *root = getenv("TMPDIR");
    char *path = base_printf(arena, "%s/burin-XXXXXX", root != NULL && root[0] != 0 ? root : "/tmp");
    if (mkdtemp(path) == NULL) {
        base_error(d, NULL, "no temporary folder for the check: %s; set TMPDIR, or --no-check", strerror(errno));
        return NULL;
    }
    base_defer(arena, remove_later, path);
    return path;
}

static bool in_path(base_arena *arena, const char *name) {
    if (strchr(name, '/') != NULL) {
        return access(name, X_OK) == 0;
    }
    const char *path = getenv("PATH");
    for (const char *p = path != NULL ? path : ""; *p != 0;) {
        size_t n = strcspn(p, ":");
        char *full = base_printf(arena, "%.*s/%s", (int)n, p, name);
        if (n > 0 && access(full, X_OK) == 0) {
            return true;
        }
        p += n + (p[n] == ':');
    }
    return false;
}

const char *check_find_compiler(base_arena *arena, const char *wanted) {
    const char *names[] = {wanted, getenv("CC"), "cc", "gcc", "clang"};
    if (wanted != NULL) {
        return in_path(arena, wanted) ? wanted : NULL;
    }
    for (size_t i = 1; i < sizeof names / sizeof names[0]; i++) {
        if (names[i] != NULL && names[i][0] != 0 && in_path(arena, names[i])) {
            return base_strdup(arena, names[i]);
        }
    }
    return NULL;
}

const char *check_program(base_arena *arena, const char *name) {
    char here[4096];
    return name[0] != '/' && strchr(name, '/') != NULL && getcwd(here, sizeof here) != NULL
               ? base_printf(arena, "%s/%s", here, name)
               : name;
}

static const char *tail_of(base_arena *arena, const char *path) {
    char text[2048];
    size_t n = 0;
    FILE *f = fopen(path, "rb");
    if (f != NULL) {
        n = fread(text, 1, sizeof text, f);
        fclose(f);
    }
    return base_printable(arena, text, n, sizeof text);
}

check_process check_spawn(base_arena *arena, const char *folder, const char *const *argv, const char *in,
                          const char *out) {
    check_process result = {.status = -1, .text = ""};
    const char *from = in != NULL ? in : "/dev/null"; /* in the folder, as all that is opened after it was entered */
    const char *to = out != NULL ? out : "/dev/null", *said = "stderr.txt";
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return result;
    }
    pid_t pid;
    int fault = posix_spawn_file_actions_addchdir_np(&actions, folder) |
                posix_spawn_file_actions_addopen(&actions, 0, from, O_RDONLY, 0) |
                posix_spawn_file_actions_addopen(&actions, 1, to, O_WRONLY | O_CREAT | O_TRUNC, 0600) |
                posix_spawn_file_actions_addopen(&actions, 2, said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fault == 0) {
        fault = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (fault != 0) {
        result.text = base_strdup(arena, strerror(fault));
        return result;
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.text = tail_of(arena, base_printf(arena, "%s/%s", folder, said));
    if (WIFSIGNALED(status) && result.text[0] == 0) {
        result.text = base_printf(arena, "ended by signal %d", WTERMSIG(status));
    }
    return result;
}
