/* test_file.c - files: reading, writing whole or not at all (existing, unwritable, full, killed, out of memory),
 * several at once. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

typedef struct place {
    fixture f;
    char folder[64];
} place;

/* What is in a folder: "name name ", sorted, and a folder with a slash. */
static const char *list(fixture *f, const char *folder) {
    char *names[32];
    size_t n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            assert_true(n < 32);
            names[n++] = base_strdup(f->arena, e->d_name);
        }
    }
    closedir(d);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            if (strcmp(names[k], names[i]) < 0) {
                char *swap = names[i];
                names[i] = names[k];
                names[k] = swap;
            }
        }
    }
    base_text t = {.arena = f->arena};
    base_puts(&t, "");
    for (size_t i = 0; i < n; i++) {
        base_put(&t, "%s ", names[i]);
    }
    return t.at;
}

static void remove_tree(fixture *f, const char *folder) {
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            const char *path = base_printf(f->arena, "%s/%s", folder, e->d_name);
            struct stat st;
            assert_int_equal(lstat(path, &st), 0);
            if (S_ISDIR(st.st_mode)) {
                remove_tree(f, path);
            } else {
                assert_int_equal(unlink(path), 0);
            }
        }
    }
    closedir(d);
    assert_int_equal(rmdir(folder), 0);
}

static int setup(void **state) {
    place *p = calloc(1, sizeof *p);
    if (!p) {
        return -1;
    }
    p->f.arena = base_arena_new(&p->f.memory);
    p->f.diags.arena = p->f.arena;
    strcpy(p->folder, "/tmp/burin-test-XXXXXX");
    *state = p;
    return mkdtemp(p->folder) ? 0 : -1;
}

static int teardown(void **state) {
    place *p = *state;
    remove_tree(&p->f, p->folder);
    base_arena_free(p->f.arena);
    const int leaked = p->f.memory.in_use != 0;
    free(p);
    return leaked;
}

static const char *in(place *p, const char *name) {
    return base_printf(p->f.arena, "%s/%s", p->folder, name);
}

static base_status write_text(place *p, const char *path, const char *text, bool force) {
    return base_file_write(p->f.arena, path, text, strlen(text), force, &p->f.diags);
}

static void expect(place *p, const char *path, const char *text) {
    base_file file = {0};
    assert_int_equal(base_file_read(p->f.arena, path, &file, &p->f.diags), BASE_OK);
    assert_int_equal(file.size, strlen(text));
    assert_memory_equal(file.at, text, file.size);
}

static const char *last_message(place *p) {
    assert_true(p->f.diags.list.n > 0);
    return p->f.diags.list.at[p->f.diags.list.n - 1].message;
}

static void reads_files_empty_files_and_streams(void **state) {
    place *p = *state;
    assert_int_equal(write_text(p, in(p, "a"), "hello", false), BASE_OK);
    expect(p, in(p, "a"), "hello");
    assert_int_equal(write_text(p, in(p, "empty"), "", false), BASE_OK);
    expect(p, in(p, "empty"), "");
    assert_string_equal(list(&p->f, p->folder), "a empty ");
    /* a pipe: more than its buffer and ours */
    assert_int_equal(mkfifo(in(p, "pipe"), 0600), 0);
    const char *pipe_path = in(p, "pipe");
    const size_t n = 300000;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int fd = open(pipe_path, O_WRONLY);
        for (size_t i = 0; i < n; i++) {
            const uint8_t byte = (uint8_t)(i % 251);
            if (write(fd, &byte, 1) != 1) {
                _exit(1);
            }
        }
        _exit(0);
    }
    base_file file = {0};
    assert_int_equal(base_file_read(p->f.arena, pipe_path, &file, &p->f.diags), BASE_OK);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(file.size, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(file.at[i], i % 251);
    }
}

static void what_cannot_be_read_is_said(void **state) {
    place *p = *state;
    base_file file = {0};
    assert_int_equal(base_file_read(p->f.arena, in(p, "none"), &file, &p->f.diags), BASE_IO);
    assert_string_equal(last_message(p), "cannot open: No such file or directory");
    assert_string_equal(p->f.diags.list.at[0].file, in(p, "none"));
    assert_int_equal(base_file_read(p->f.arena, p->folder, &file, &p->f.diags), BASE_IO);
    assert_string_equal(last_message(p), "cannot read: Is a directory");
    assert_null(file.at);
    assert_int_equal(base_file_read(p->f.arena, "/dev/zero", &file, &p->f.diags), BASE_IO);
    assert_string_equal(last_message(p), "it is no regular file, and did not end within 256 MiB");
    assert_null(file.at);
}

static void an_existing_file_is_kept_unless_forced(void **state) {
    place *p = *state;
    const char *path = in(p, "out.c");
    assert_int_equal(write_text(p, path, "old", false), BASE_OK);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(write_text(p, path, "new", false), BASE_REFUSED);
    expect(p, path, "old");
    assert_int_equal(p->f.diags.errors, 1);
    assert_int_equal(write_text(p, path, "new", true), BASE_OK);
    expect(p, path, "new");
    assert_string_equal(list(&p->f, p->folder), "out.c ");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640); /* as the old one */
}

static void a_link_stays_a_link(void **state) {
    place *p = *state;
    assert_int_equal(write_text(p, in(p, "real"), "old", false), BASE_OK);
    assert_int_equal(symlink("real", in(p, "link")), 0);
    assert_int_equal(write_text(p, in(p, "link"), "new", false), BASE_REFUSED);
    assert_int_equal(write_text(p, in(p, "link"), "new", true), BASE_OK);
    expect(p, in(p, "real"), "new");
    struct stat st;
    assert_int_equal(lstat(in(p, "link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_string_equal(list(&p->f, p->folder), "link real ");
}

static void what_cannot_be_written_is_said(void **state) {
    place *p = *state;
    assert_int_equal(write_text(p, in(p, "file"), "x", false), BASE_OK);
    assert_int_equal(write_text(p, in(p, "none/out"), "x", false), BASE_IO);
    assert_string_equal(last_message(p), "cannot write: No such file or directory");
    assert_int_equal(write_text(p, in(p, "file/out"), "x", false), BASE_IO);
    assert_string_equal(last_message(p), "cannot write: Not a directory");
    assert_int_equal(write_text(p, "/proc/self/out", "x", false), BASE_IO); /* where nobody can write */
    assert_int_equal(write_text(p, p->folder, "x", false), BASE_REFUSED);
    assert_int_equal(write_text(p, p->folder, "x", true), BASE_IO);
    assert_string_equal(last_message(p), "cannot write: Is a directory");
    assert_int_equal(write_text(p, "/dev/full", "x", true), BASE_IO);
    assert_string_equal(last_message(p), "cannot write: No space left on device");
    assert_int_equal(write_text(p, "/dev/null", "x", true), BASE_OK);
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_string_equal(list(&p->f, p->folder), "file ");
}

/* Runs write in a child whose files may have 1000 bytes at most; gives the child's wait status. */
static int limited(place *p, bool killed, base_status (*write_it)(place *p)) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {1000, 1000}, no_core = {0, 0};
        (void)signal(SIGXFSZ, killed ? SIG_DFL : SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || setrlimit(RLIMIT_CORE, &no_core) != 0) {
            _exit(100);
        }
        _exit((int)write_it(p));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static base_status write_2000_bytes(place *p) {
    static const char bytes[2000];
    return base_file_write(p->f.arena, in(p, "out"), bytes, sizeof bytes, true, &p->f.diags);
}

static base_status write_several_with_one_large(place *p) {
    static const char bytes[2000];
    const base_output_file files[] = {
        {"out", "new", 3}, {"sub/deep/b", "new", 3}, {"large", bytes, sizeof bytes}, {"c", "new", 3}};
    return base_files_write(p->f.arena, p->folder, files, 4, true, &p->f.diags);
}

static void no_room_leaves_the_old_file(void **state) {
    place *p = *state;
    assert_int_equal(write_text(p, in(p, "out"), "old", false), BASE_OK);
    int status = limited(p, false, write_2000_bytes);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), BASE_IO);
    assert_string_equal(list(&p->f, p->folder), "out ");
    expect(p, in(p, "out"), "old");
    status = limited(p, false, write_several_with_one_large);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), BASE_IO);
    assert_string_equal(list(&p->f, p->folder), "out ");
    expect(p, in(p, "out"), "old");
}

static void a_kill_leaves_the_old_file(void **state) {
    place *p = *state;
    assert_int_equal(write_text(p, in(p, "out"), "old", false), BASE_OK);
    int status = limited(p, true, write_2000_bytes);
    assert_true(WIFSIGNALED(status));
    expect(p, in(p, "out"), "old");
    status = limited(p, true, write_several_with_one_large);
    assert_true(WIFSIGNALED(status));
    expect(p, in(p, "out"), "old");
    assert_int_equal(access(in(p, "c"), F_OK), -1);
    assert_int_equal(access(in(p, "large"), F_OK), -1);
}

static void several_files_and_their_folders(void **state) {
    place *p = *state;
    const base_output_file files[] = {
        {"a.c", "A", 1}, {"include/a.h", "H", 1}, {"x/y/z.bin", "Z\0Z", 3}, {"e", NULL, 0}};
    const char *folder = in(p, "made/out/");
    assert_int_equal(base_files_write(p->f.arena, folder, files, 4, false, &p->f.diags), BASE_OK);
    expect(p, in(p, "made/out/a.c"), "A");
    expect(p, in(p, "made/out/include/a.h"), "H");
    base_file z = {0};
    assert_int_equal(base_file_read(p->f.arena, in(p, "made/out/x/y/z.bin"), &z, &p->f.diags), BASE_OK);
    assert_int_equal(z.size, 3);
    assert_memory_equal(z.at, "Z\0Z", 3);
    expect(p, in(p, "made/out/e"), "");
    assert_string_equal(list(&p->f, in(p, "made/out")), "a.c e include x ");
    assert_string_equal(list(&p->f, in(p, "made/out/include")), "a.h ");
    /* again: all are kept, even where only one is in the way */
    const base_output_file again[] = {{"new", "N", 1}, {"include/a.h", "new", 3}};
    assert_int_equal(base_files_write(p->f.arena, folder, again, 2, false, &p->f.diags), BASE_REFUSED);
    assert_string_equal(list(&p->f, in(p, "made/out")), "a.c e include x ");
    expect(p, in(p, "made/out/include/a.h"), "H");
    assert_int_equal(base_files_write(p->f.arena, folder, again, 2, true, &p->f.diags), BASE_OK);
    expect(p, in(p, "made/out/include/a.h"), "new");
    assert_string_equal(list(&p->f, in(p, "made/out/include")), "a.h ");
    assert_string_equal(list(&p->f, in(p, "made/out")), "a.c e include new x ");
    /* a folder that was asked for stays, even an empty one, when the arena goes */
    base_arena *other = base_arena_new(&p->f.memory);
    assert_int_equal(base_files_write(other, in(p, "none"), NULL, 0, false, &p->f.diags), BASE_OK);
    base_arena_free(other);
    assert_string_equal(list(&p->f, in(p, "none")), "");
}

static void a_failed_set_leaves_nothing(void **state) {
    place *p = *state;
    assert_int_equal(write_text(p, in(p, "file"), "F", false), BASE_OK);
    assert_int_equal(write_text(p, in(p, "old"), "old", false), BASE_OK);
    /* below a file there can be no folder */
    const base_output_file below[] = {{"new/deep/a", "A", 1}, {"old", "new", 3}, {"file/b", "B", 1}};
    assert_int_equal(base_files_write(p->f.arena, p->folder, below, 3, true, &p->f.diags), BASE_IO);
    assert_string_equal(list(&p->f, p->folder), "file old ");
    expect(p, in(p, "old"), "old");
    /* the rename of x fails, since x is a folder by then; old was replaced before and comes back */
    const base_output_file both[] = {{"n", "N", 1}, {"old", "new", 3}, {"x", "X", 1}, {"x/b", "B", 1}, {"m", "M", 1}};
    assert_int_equal(base_files_write(p->f.arena, p->folder, both, 5, true, &p->f.diags), BASE_IO);
    assert_string_equal(list(&p->f, p->folder), "file old ");
    expect(p, in(p, "old"), "old");
    const base_output_file twice[] = {{"n", "N", 1}, {"m", "M", 1}, {"m", "M", 1}};
    assert_int_equal(base_files_write(p->f.arena, p->folder, twice, 3, true, &p->f.diags), BASE_USAGE);
    assert_string_equal(list(&p->f, p->folder), "file old ");
    static const char *const outside[] = {"", "/tmp/x", "../x", "a/../../x", "a//b", "./a", "a/", ".."};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        const base_output_file file = {outside[i], "X", 1};
        assert_int_equal(base_files_write(p->f.arena, p->folder, &file, 1, true, &p->f.diags), BASE_USAGE);
    }
    assert_string_equal(list(&p->f, p->folder), "file old ");
}

static char *work; /* the folder of the body below, which gets an arena only */

static void read_and_write(base_arena *arena) {
    base_diags diags = {.arena = arena};
    base_file file = {0};
    const base_output_file files[] = {{"old", "new", 3}, {"sub/b", "B", 1}};
    assert_int_equal(base_file_read(arena, "/dev/null", &file, &diags), BASE_OK);
    assert_int_equal(base_file_read(arena, base_printf(arena, "%s/old", work), &file, &diags), BASE_OK);
    assert_int_equal(base_files_write(arena, work, files, 2, true, &diags), BASE_OK);
    assert_int_equal(base_file_write(arena, base_printf(arena, "%s/one", work), "1", 1, true, &diags), BASE_OK);
}

static int open_descriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

static void out_of_memory_leaves_no_descriptor_and_no_file(void **state) {
    place *p = *state;
    work = p->folder;
    assert_int_equal(write_text(p, in(p, "old"), "old", false), BASE_OK);
    const int before = open_descriptors();
    assert_true(fail_each_allocation(read_and_write) >= 3);
    assert_int_equal(open_descriptors(), before);
    assert_string_equal(list(&p->f, p->folder), "old one sub ");
    assert_string_equal(list(&p->f, in(p, "sub")), "b ");
    expect(p, in(p, "old"), "new");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* Each path once, in the order of the first reading; what could not be read is none. */
static void paths_that_were_read(void **state) {
    place *p = *state;
    base_arena *arena = p->f.arena;
    const char *a = base_printf(arena, "%s/a", p->folder), *b = base_printf(arena, "%s/b", p->folder);
    base_file file;
    size_t n = 1;
    (void)base_files_read(arena, &n);
    assert_int_equal(n, 0);
    assert_int_equal(base_file_write(arena, a, "1", 1, false, &p->f.diags), BASE_OK);
    assert_int_equal(base_file_write(arena, b, "2", 1, false, &p->f.diags), BASE_OK);
    assert_int_equal(base_file_read(arena, b, &file, &p->f.diags), BASE_OK);
    assert_int_equal(base_file_read_inside(arena, p->folder, "a", &file, &p->f.diags), BASE_OK);
    assert_int_equal(base_file_read(arena, b, &file, &p->f.diags), BASE_OK);
    assert_int_not_equal(base_file_read(arena, base_printf(arena, "%s/none", p->folder), &file, &p->f.diags), BASE_OK);
    const char *const *paths = base_files_read(arena, &n);
    assert_int_equal(n, 2);
    assert_string_equal(paths[0], b);
    assert_string_equal(paths[1], a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(paths_that_were_read),
        IN_FOLDER(reads_files_empty_files_and_streams),
        IN_FOLDER(what_cannot_be_read_is_said),
        IN_FOLDER(an_existing_file_is_kept_unless_forced),
        IN_FOLDER(a_link_stays_a_link),
        IN_FOLDER(what_cannot_be_written_is_said),
        IN_FOLDER(no_room_leaves_the_old_file),
        IN_FOLDER(a_kill_leaves_the_old_file),
        IN_FOLDER(several_files_and_their_folders),
        IN_FOLDER(a_failed_set_leaves_nothing),
        IN_FOLDER(out_of_memory_leaves_no_descriptor_and_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
