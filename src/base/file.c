/* file.c - whole files: mapped for reading, written so that either all of the new or all of the old is there.
 *
 * Writing: the bytes go to a file without a name where the system has those (a kill then leaves nothing), else to
 * a temporary name in the same folder; they are synced, named, and renamed over the target. Several files are all
 * written before the first is renamed; if a rename fails the ones before it are undone.
 * Gives diagnostics with the system's reason. Does not read or write streams piecewise.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE */
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "base/private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static base_status io_error(base_diags *d, const char *path, const char *what, int error) {
    const base_place place = {.file = path};
    base_error(d, &place, "%s: %s", what, strerror(error));
    return BASE_IO;
}

static void close_fd(void *fd) {
    if (*(int *)fd >= 0)
        (void)close(*(int *)fd);
    *(int *)fd = -1;
}

/* ---- reading ---- */

static void unmap(void *argument) {
    base_file *f = argument;
    (void)munmap((void *)(uintptr_t)f->at, f->size);
}

#define LONGEST_STREAM ((uint64_t)1 << 28) /* bytes of what may have no end: /dev/zero */

static base_status too_long(base_diags *d, const char *path) {
    const base_place place = {.file = path};
    base_error(d, &place, "it is no regular file, and did not end within 256 MiB");
    return BASE_IO;
}

/* Pipes and the like: to the end, at most so many bytes. */
static base_status read_stream(base_arena *arena, int fd, const char *path, uint64_t longest, base_file *out,
                               base_diags *d) {
    base_text t = {.arena = arena};
    uint64_t total = 0;
    char *buffer = base_alloc(arena, 1 << 16, 1);
    for (;;) {
        const ssize_t n = read(fd, buffer, 1 << 16);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_error(d, path, "cannot read", errno);
        if ((total += (uint64_t)n) > longest)
            return too_long(d, path);
        base_putn(&t, buffer, (size_t)n);
        if (n == 0)
            break;
    }
    out->at = (const uint8_t *)t.at;
    out->size = t.n;
    return BASE_OK;
}

static base_status read_open(base_arena *arena, int fd, const char *path, base_file *out, base_diags *d) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return io_error(d, path, "cannot read", errno);
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return read_stream(arena, fd, path, LONGEST_STREAM, out, d); /* /proc has size 0 */
    if ((uint64_t)st.st_size > SIZE_MAX)
        return io_error(d, path, "cannot read", EFBIG);
    base_file *mapped = BASE_NEW(arena, base_file); /* before the mapping: it may run out of memory */
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return read_stream(arena, fd, path, UINT64_MAX, out, d);
    *mapped = (base_file){.at = at, .size = (size_t)st.st_size};
    base_defer(arena, unmap, mapped);
    *out = *mapped;
    return BASE_OK;
}

static void note_path(base_arena *arena, const char *path) {
    base_path **newest = base_paths_of(arena), *note = BASE_NEW(arena, base_path);
    *note = (base_path){base_strdup(arena, path), *newest};
    *newest = note;
}

const char *const *base_files_read(base_arena *arena, size_t *n) {
    size_t all = 0;
    for (const base_path *p = *base_paths_of(arena); p; p = p->older)
        all++;
    const char **list = BASE_NEWS(arena, const char *, all + 1);
    size_t at = all;
    for (const base_path *p = *base_paths_of(arena); p; p = p->older)
        list[--at] = p->path;
    base_map *seen = base_map_new(arena);
    *n = 0;
    for (size_t i = 0; i < all; i++) {
        bool is_new;
        (void)base_map_put(seen, list[i], strlen(list[i]), &is_new);
        if (is_new)
            list[(*n)++] = list[i];
    }
    return list;
}

static base_status open_and_read(base_arena *arena, const char *path, bool only_regular, base_file *out,
                                 base_diags *d) {
    int *fd = BASE_NEW(arena, int); /* in the arena and deferred: reading may run out of memory */
    struct stat st;
    *fd = -1;
    base_defer(arena, close_fd, fd);
    *fd = open(path, O_RDONLY | O_CLOEXEC | (only_regular ? O_NONBLOCK | O_NOCTTY : 0));
    if (*fd < 0)
        return io_error(d, path, "cannot open", errno);
    base_status status = BASE_OK;
    if (only_regular && fstat(*fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        const base_place place = {.file = path};
        base_error(d, &place, S_ISDIR(st.st_mode) ? "it is a folder" : "it is no regular file");
        status = BASE_IO;
    }
    if (status == BASE_OK)
        status = read_open(arena, *fd, path, out, d);
    if (status == BASE_OK)
        note_path(arena, path);
    close_fd(fd);
    return status;
}

base_status base_file_read(base_arena *arena, const char *path, base_file *out, base_diags *d) {
    return open_and_read(arena, path, false, out, d);
}

base_status base_file_read_regular(base_arena *arena, const char *path, base_file *out, base_diags *d) {
    return open_and_read(arena, path, true, out, d);
}

/* ---- one output on its way ---- */

typedef struct output {
    const char *path; /* as the caller named it, for messages */
    char *target;     /* where it goes: path, or what the link at path points to */
    char *folder;     /* target's */
    char *temporary;  /* a name in folder that is ours */
    char *saved;      /* another, for the old file while it can still come back */
    int fd;           /* open while the file has no name; -1 */
    bool named;       /* temporary exists */
    bool has_saved;   /* saved exists */
    bool renamed;     /* target is the new file */
    bool existed;     /* target was there before */
    mode_t mode;      /* of the old file */
} output;

/* Takes back whatever of the output is not final. Deferred, so that running out of memory leaves nothing either. */
static void undo(void *argument) {
    output *o = argument;
    close_fd(&o->fd);
    if (o->named)
        (void)unlink(o->temporary);
    if (o->renamed && o->has_saved) {
        if (rename(o->saved, o->target) == 0)
            o->has_saved = false;
    } else if (o->renamed && !o->existed) {
        (void)unlink(o->target);
    }
    if (o->has_saved)
        (void)unlink(o->saved);
    o->named = o->renamed = o->has_saved = false;
}

/* After the last rename nothing can fail: let the new files stand. */
static void keep(output *o) {
    if (o->has_saved)
        (void)unlink(o->saved);
    o->named = o->renamed = o->has_saved = false;
}

static void sync_folder(const char *folder) {
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd); /* some file systems cannot; the rename itself stands */
    (void)close(fd);
}

static int write_all(int fd, const uint8_t *bytes, size_t n) {
    while (n) {
        const ssize_t wrote = write(fd, bytes, n < (1u << 30) ? n : (1u << 30));
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return errno;
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

/* A name in the target's folder that no other process and no other output of this one uses at the same time. */
static char *own_name(base_arena *arena, const output *o, const char *kind) {
    const char *slash = strrchr(o->target, '/');
    const char *name = slash ? slash + 1 : o->target;
    const unsigned long long hash = base_hash(name, strlen(name), 0); /* names may differ after what is shown */
    return base_printf(arena, "%s.%.100s.%016llx.%ld.%s", o->folder, name, hash, (long)getpid(), kind);
}

/* The folder of path with its slash; "" for the current one. */
static char *folder_of(base_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? base_strndup(arena, path, (size_t)(slash - path) + 1) : base_strdup(arena, "");
}

/* What a chain of links ends at, so that a rename replaces the file and not the link. */
static char *follow_links(base_arena *arena, const char *path) {
    char *target = base_strdup(arena, path);
    for (int depth = 0; depth < 40; depth++) {
        char link_text[4096];
        const ssize_t n = readlink(target, link_text, sizeof link_text - 1);
        if (n <= 0)
            break;
        link_text[n] = '\0';
        target = link_text[0] == '/' ? base_strdup(arena, link_text)
                                     : base_printf(arena, "%s%s", folder_of(arena, target), link_text);
    }
    return target;
}

static output *output_new(base_arena *arena, const char *path) {
    output *o = BASE_NEW(arena, output);
    o->path = path;
    o->fd = -1;
    o->target = follow_links(arena, path);
    o->folder = folder_of(arena, o->target);
    o->temporary = own_name(arena, o, "new");
    o->saved = own_name(arena, o, "old");
    base_defer(arena, undo, o);
    return o;
}

/* Looks at the target: refuses what must not be replaced. *device: it is no regular file, and is written directly. */
static base_status look(output *o, bool force, bool *device, base_diags *d) {
    struct stat st;
    const base_place place = {.file = o->path};
    *device = false;
    if (lstat(o->path, &st) != 0) {
        return errno == ENOENT ? BASE_OK : io_error(d, o->path, "cannot write", errno);
    }
    if (!force)
        return base_error(d, &place, "exists already and is kept (force replaces it)");
    if (stat(o->path, &st) != 0)
        return BASE_OK; /* a link to nothing: the file it names is made */
    if (S_ISDIR(st.st_mode))
        return io_error(d, o->path, "cannot write", EISDIR);
    *device = !S_ISREG(st.st_mode);
    o->existed = true;
    o->mode = st.st_mode & 0777;
    return BASE_OK;
}

/* Writes the new bytes beside the target, synced, under no name or the temporary one. */
static base_status write_beside(output *o, const uint8_t *bytes, size_t n, base_diags *d) {
#ifdef O_TMPFILE
    if (access("/proc/self/fd", X_OK) == 0) /* where give_name finds it */
        o->fd = open(o->folder[0] ? o->folder : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#endif
    if (o->fd < 0) {
        (void)unlink(o->temporary); /* left by a killed process of our number */
        o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        o->named = o->fd >= 0;
    }
    if (o->fd < 0)
        return io_error(d, o->path, "cannot write", errno);
    int error = write_all(o->fd, bytes, n);
    if (!error && o->existed)
        (void)fchmod(o->fd, o->mode); /* some file systems have no modes */
    if (!error && fsync(o->fd) != 0 && errno != EINVAL && errno != EROFS)
        error = errno;
    return error ? io_error(d, o->path, "cannot write", error) : BASE_OK;
}

/* Gives the written file its temporary name, if it has none yet. */
static base_status give_name(output *o, base_diags *d) {
    if (!o->named) {
        char self[64];
        (void)snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
        (void)unlink(o->temporary);
        if (linkat(AT_FDCWD, self, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW) != 0) {
            return io_error(d, o->path, "cannot write", errno);
        }
        o->named = true;
    }
    close_fd(&o->fd);
    return BASE_OK;
}

/* Puts the file in its place. force false: never over another one, even one that came a moment ago. */
static base_status place_file(output *o, bool force, base_diags *d) {
    const base_place place = {.file = o->path};
    if (!force) {
        if (link(o->temporary, o->target) == 0) {
            o->renamed = true;
            (void)unlink(o->temporary);
            o->named = false;
            return BASE_OK;
        }
        if (errno == EEXIST)
            return base_error(d, &place, "exists already and is kept (force replaces it)");
        /* a file system without links: rename below */
    } else if (o->existed) {
        (void)unlink(o->saved);
        o->has_saved = link(o->target, o->saved) == 0;
    }
    if (rename(o->temporary, o->target) != 0)
        return io_error(d, o->path, "cannot write", errno);
    o->named = false;
    o->renamed = true;
    return BASE_OK;
}

static base_status write_device(const char *path, const void *bytes, size_t n, base_diags *d) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return io_error(d, path, "cannot write", errno);
    int error = write_all(fd, bytes, n);
    if (close(fd) != 0 && !error)
        error = errno;
    return error ? io_error(d, path, "cannot write", error) : BASE_OK;
}

/* ---- one file, several files ---- */

base_status base_file_write(base_arena *arena, const char *path, const void *bytes, size_t n, bool force,
                            base_diags *d) {
    output *o = output_new(arena, path);
    bool device = false;
    base_status status = look(o, force, &device, d);
    if (status == BASE_OK && device)
        return write_device(path, bytes, n, d);
    if (status == BASE_OK)
        status = write_beside(o, bytes, n, d);
    if (status == BASE_OK)
        status = give_name(o, d);
    if (status == BASE_OK)
        status = place_file(o, force, d);
    if (status != BASE_OK) {
        undo(o);
        return status;
    }
    keep(o);
    sync_folder(o->folder[0] ? o->folder : ".");
    return BASE_OK;
}

/* Folders that were made, to be removed again if the writing fails. */
typedef struct made {
    BASE_VEC(char *) paths;
} made;

static void remove_made(void *argument) {
    made *m = argument;
    while (m->paths.n)
        (void)rmdir(m->paths.at[--m->paths.n]);
}

/* Makes the folder and those above it. */
static base_status make_folder(base_arena *arena, const char *path, made *m, base_diags *d) {
    for (size_t i = 1; path[0]; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        char *prefix = base_strndup(arena, path, i);
        char **slot = BASE_PUSH(arena, &m->paths); /* before mkdir: it may run out of memory */
        *slot = prefix;
        if (mkdir(prefix, 0777) != 0) {
            m->paths.n--;
            struct stat st;
            const int error = errno;
            if (error != EEXIST)
                return io_error(d, prefix, "cannot make the folder", error);
            if (stat(prefix, &st) != 0 || !S_ISDIR(st.st_mode))
                return io_error(d, prefix, "cannot write into", ENOTDIR);
        }
        if (path[i] == '\0')
            break;
    }
    return BASE_OK;
}

/* Whether a name stays inside its folder. */
static bool is_inside(const char *name) {
    if (!name[0] || name[0] == '/')
        return false;
    for (const char *part = name;;) {
        const size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        if (!part[n])
            return true;
        part += n + 1;
    }
}

static base_status write_several(base_arena *arena, const char *folder, const base_output_file *files, size_t n,
                                 bool force, output **outputs, made *m, base_diags *d) {
    const bool slash = folder[0] && folder[strlen(folder) - 1] != '/';
    base_map *names = base_map_new(arena);
    base_status status = make_folder(arena, folder, m, d);
    for (size_t i = 0; i < n && status == BASE_OK; i++) {
        bool is_new = true;
        const bool inside = is_inside(files[i].name);
        if (inside) {
            base_map_put(names, files[i].name, strlen(files[i].name), &is_new);
        }
        if (!inside || !is_new) {
            const base_place place = {.file = files[i].name};
            base_error(d, &place, inside ? "is written twice" : "is not a name inside the output folder");
            return BASE_USAGE;
        }
        const char *path = base_printf(arena, "%s%s%s", folder, slash ? "/" : "", files[i].name);
        bool device = false;
        outputs[i] = output_new(arena, path);
        status = look(outputs[i], force, &device, d);
        if (status == BASE_OK && device)
            status = io_error(d, path, "cannot write", EINVAL);
    }
    for (size_t i = 0; i < n && status == BASE_OK; i++) {
        status = make_folder(arena, outputs[i]->folder, m, d);
        if (status == BASE_OK)
            status = write_beside(outputs[i], files[i].bytes, files[i].size, d);
    }
    for (size_t i = 0; i < n && status == BASE_OK; i++)
        status = give_name(outputs[i], d);
    for (size_t i = 0; i < n && status == BASE_OK; i++)
        status = place_file(outputs[i], force, d);
    return status;
}

base_status base_files_write(base_arena *arena, const char *folder, const base_output_file *files, size_t n, bool force,
                             base_diags *d) {
    made *m = BASE_NEW(arena, made);
    base_defer(arena, remove_made, m);
    output **outputs = BASE_NEWS(arena, output *, n);
    const base_status status = write_several(arena, folder, files, n, force, outputs, m, d);
    if (status != BASE_OK) {
        for (size_t i = n; i-- > 0;) {
            if (outputs[i])
                undo(outputs[i]);
        }
        remove_made(m);
        return status;
    }
    m->paths.n = 0;
    for (size_t i = 0; i < n; i++)
        keep(outputs[i]);
    for (size_t i = 0; i < n; i++)
        sync_folder(outputs[i]->folder[0] ? outputs[i]->folder : ".");
    return BASE_OK;
}
