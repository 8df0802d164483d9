/* inside.c - a file that another file names, which must lie in a folder or below it.
 *
 * Takes an untrusted relative path. Gives its bytes. Links are followed for as long as they stay inside.
 */
#include "base/base.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINKS = 32, LONGEST_LINK = 4096 };

typedef struct walk {
    base_arena *arena;
    const char *folder;
    BASE_VEC(const char *) parts; /* below the folder, no links among them */
    BASE_VEC(const char *) left;  /* still to be walked, the next one last */
    unsigned links;
} walk;

static void push_parts(walk *w, const char *path) {
    size_t first = w->left.n;
    while (*path != 0) {
        const size_t n = strcspn(path, "/");
        if (n > 0) {
            *BASE_PUSH(w->arena, &w->left) = base_strndup(w->arena, path, n);
        }
        path += n + (path[n] == '/');
    }
    for (size_t i = first, k = w->left.n; i + 1 < k; i++, k--) { /* the first part is walked first */
        const char *swap = w->left.at[i];
        w->left.at[i] = w->left.at[k - 1];
        w->left.at[k - 1] = swap;
    }
}

static char *path_of(const walk *w) {
    base_text t = {.arena = w->arena};
    base_puts(&t, w->folder);
    for (size_t i = 0; i < w->parts.n; i++) {
        base_put(&t, "/%s", w->parts.at[i]);
    }
    return t.at;
}

/* NULL: fine; else what is wrong. */
static const char *step(walk *w) {
    const char *part = w->left.at[--w->left.n];
    if (strcmp(part, ".") == 0) {
        return NULL;
    }
    if (strcmp(part, "..") == 0) {
        if (w->parts.n == 0) {
            return "it leaves the folder";
        }
        w->parts.n--;
        return NULL;
    }
    *BASE_PUSH(w->arena, &w->parts) = part;
    char *target = base_alloc(w->arena, 1, LONGEST_LINK);
    const ssize_t n = readlink(path_of(w), target, LONGEST_LINK - 1);
    if (n < 0) {
        return NULL; /* no link; whether it is there at all is seen when it is opened */
    }
    target[n] = 0;
    w->parts.n--;
    if (target[0] == '/' || n == LONGEST_LINK - 1) {
        return "it is a link that leaves the folder";
    }
    if (++w->links > MOST_LINKS) {
        return "more than 32 links follow each other";
    }
    push_parts(w, target);
    return NULL;
}

base_status base_file_read_inside(base_arena *arena, const char *folder, const char *path, base_file *out,
                                  base_diags *d) {
    walk w = {.arena = arena, .folder = folder};
    const char *wrong = *path == '/' ? "it is an absolute path" : *path == 0 ? "it is empty" : NULL;
    push_parts(&w, path);
    while (wrong == NULL && w.left.n > 0) {
        wrong = strcmp(w.left.at[w.left.n - 1], "..") == 0 && w.links == 0 ? "it has .. in it" : step(&w);
    }
    if (wrong != NULL) {
        return base_error(d, NULL, "%s: %s", base_printable(arena, path, strlen(path), 200), wrong);
    }
    return base_file_read_regular(arena, path_of(&w), out, d);
}
