/* temporary.c - a folder for what the check and the host provider build, which is gone also when the command is
 * stopped.
 *
 * The library makes its temporary files under $TMPDIR and removes them when it returns; a signal would leave them. So
 * TMPDIR becomes a folder of this process; on SIGINT, SIGTERM and SIGHUP it is removed, and then the signal does what
 * it always does. Where no folder can be made nothing changes: the library says what is wrong when it needs one.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof signals / sizeof signals[0] };

static char folder[4096]; /* a signal handler has no other way to its data */

/* Only calls that are allowed in a handler: POSIX lists fork, execve, waitpid, sigaction and raise. */
static void stop(int number) {
    char *words[] = {"rm", "-rf", "--", folder, NULL}, *environment[] = {NULL};
    struct sigaction plain = {.sa_handler = SIG_DFL};
    pid_t child = fork();
    if (child == 0) {
        execve("/bin/rm", words, environment);
        _exit(1);
    }
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
    }
    (void)sigaction(number, &plain, NULL);
    (void)raise(number);
}

void cli_temporary_begin(void) {
    const char *root = getenv("TMPDIR");
    int n = snprintf(folder, sizeof folder, "%s/burin-XXXXXX", root != NULL && *root != 0 ? root : "/tmp");
    if (n < 0 || (size_t)n >= sizeof folder || mkdtemp(folder) == NULL || setenv("TMPDIR", folder, 1) != 0) {
        folder[0] = 0;
        return;
    }
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        struct sigaction now, old;
        memset(&now, 0, sizeof now);
        now.sa_handler = stop;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) { /* nohup stays nohup */
            (void)sigaction(signals[i], &now, NULL);
        }
    }
}

void cli_temporary_end(void) {
    if (folder[0] != 0) {
        (void)rmdir(folder); /* the library left it empty */
        folder[0] = 0;
    }
}
