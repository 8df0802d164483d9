/* corpus_tflite.c - every TFLite file of the corpus: read or refused with a reason, never a crash; what the manifest
 * calls broken is refused; inputs and outputs are those that TFLM reports (golden_tflm); every model goes through
 * the text form unchanged. */
#include "formats/formats.h"
#include "support/support.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

typedef struct session {
    base_memory memory;
    base_arena *arena;
    base_diags d;
    ir_model *m;
    base_status status;
} session;

/* base_guard_set's caller has set the guard. */
static void read_file(session *s, const char *path) {
    base_file file;
    s->arena = base_arena_new(&s->memory);
    s->d = (base_diags){.arena = s->arena};
    s->m = NULL;
    assert_int_equal(base_file_read(s->arena, path, &file, &s->d), BASE_OK);
    s->status = formats_read(s->arena, path, (base_bytes){file.at, file.size}, NULL, &s->m, &s->d);
    if ((s->status == BASE_OK) != (s->m != NULL) || (s->status == BASE_OK) != (s->d.errors == 0)) {
        fail_msg("%s: status %d, %zu errors", path, s->status, s->d.errors);
    }
}

static char *printed(base_arena *arena, const ir_model *m) {
    base_text out = {.arena = arena};
    ir_print(&out, m);
    return out.at;
}

typedef void (*visit_fn)(session *s, const char *path, void *user);

static void visit(const char *path, visit_fn fn, void *user) {
    session s = {0};
    base_guard guard;
    if (BASE_GUARD(&s.memory, &guard)) {
        fail_msg("%s: out of memory", path);
    }
    read_file(&s, path);
    fn(&s, path, user);
    base_arena_free(s.arena);
    base_unguard(&s.memory, &guard);
    assert_int_equal(s.memory.in_use, 0);
}

static void walk(const char *folder, visit_fn fn, void *user) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[4096];
        struct stat st;
        if (e->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        assert_int_equal(stat(path, &st), 0);
        const char *dot = strrchr(path, '.');
        if (S_ISDIR(st.st_mode)) {
            walk(path, fn, user);
        } else if (dot && !strcmp(dot, ".tflite")) {
            visit(path, fn, user);
        }
    }
    closedir(dir);
}

/* ---- all files ---- */

typedef struct totals {
    size_t read, refused;
} totals;

static void round_trip(session *s, const char *path, void *user) {
    totals *sum = user;
    if (s->status) {
        sum->refused++;
        return;
    }
    sum->read++;
    ir_model *again;
    char *once = printed(s->arena, s->m);
    if (ir_parse(s->arena, path, once, strlen(once), &again, &s->d) || ir_verify(again, &s->d) ||
        strcmp(once, printed(s->arena, again)) != 0) {
        fail_msg("%s does not go through the text form", path);
    }
}

static void every_file(void **state) {
    (void)state;
    totals sum = {0};
    walk(test_shared("corpus/tflite"), round_trip, &sum);
    print_message("%zu read, %zu refused\n", sum.read, sum.refused);
    assert_int_equal(sum.read + sum.refused, 387);
    assert_true(sum.read >= 250);
}

/* ---- broken ones ---- */

static void must_refuse(session *s, const char *path, void *user) {
    (void)user;
    /* Sound as a file: its operator's definition refuses it. */
    static const char *const later[] = {"built_input_dim_int32max.tflite"};
    /* Said to be either; they are sound. */
    static const char *const sound[] = {"2_subgraphs.tflite", "2_subgraphs_dont_delegate_name.tflite",
                                        "topo_sort_fork_violation.tflite"};
    const char *name = formats_base_name(path);
    bool expected = false;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        expected = expected || !strcmp(name, later[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        expected = expected || !strcmp(name, sound[i]);
    }
    if ((s->status == BASE_OK) != expected) {
        fail_msg("%s: status %d", path, s->status);
    }
}

static void broken_files(void **state) {
    (void)state;
    walk(test_shared("corpus/tflite/malformed"), must_refuse, NULL);
}

static void must_name_it(session *s, const char *path, void *user) {
    (void)user;
    /* Its custom operator has a row of its own. */
    static const char *const known = "coco_ssd_mobilenet_v1_uint8_postprocess.tflite";
    if (!strcmp(formats_base_name(path), known)) {
        assert_int_equal(s->status, BASE_OK);
        return;
    }
    assert_int_equal(s->status, BASE_REFUSED);
    const base_diag *d = &s->d.list.at[0];
    if (!d->has_byte || !d->path ||
        (!strstr(d->message, "is not supported") && !strstr(d->message, "strides: it is 0"))) {
        fail_msg("%s: %s", path, d->message);
    }
}

static void custom_operators_and_strings(void **state) {
    (void)state;
    walk(test_shared("corpus/tflite/custom_or_string"), must_name_it, NULL);
}

/* ---- what TFLM says of inputs and outputs ---- */

static void expect_tensor(const session *s, const char *path, const char *line) {
    static const char *const names[][2] = {{"FLOAT32", "f32"}, {"INT8", "i8"},   {"INT16", "i16"}, {"UINT8", "u8"},
                                           {"INT32", "i32"},   {"BOOL", "bool"}, {"INT64", "i64"}};
    char kind[8], type[16], dims[128] = "", got[160] = "[";
    unsigned index;
    double scale = 0;
    long long zero;
    if (sscanf(line, "%7s %u %15s [%127[^]]", kind, &index, type, dims) < 3 || kind[0] == 'a') {
        return;
    }
    const ir_graph *g = &s->m->graphs.at[0];
    bool is_input = !strcmp(kind, "input");
    assert_true(index < (is_input ? g->inputs.n : g->outputs.n));
    const ir_tensor *t = &g->tensors.at[is_input ? g->inputs.at[index] : g->outputs.at[index]];
    for (uint32_t i = 0; i < t->shape.rank; i++) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%lld", i ? "," : "", (long long)t->shape.dim[i]);
    }
    const char *word = "?";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        word = strcmp(names[i][0], type) ? word : names[i][1];
    }
    if (strcmp(word, base_type_name(t->type)) != 0 || strcmp(got + 1, dims) != 0) {
        fail_msg("%s: %s: read %s %s]", path, line, base_type_name(t->type), got);
    }
    const char *quant = strstr(line, "scale ");
    if (quant && sscanf(quant, "scale %lf zero_point %lld", &scale, &zero) == 2 && t->quant.n) {
        double have = (double)t->quant.scale[0];
        if (have < scale * (1 - 1e-6) || have > scale * (1 + 1e-6) || t->quant.zero[0] != zero) {
            fail_msg("%s: %s: read another scale or zero point", path, line);
        }
    } else if (scale > 0 && base_type_is_int(t->type)) {
        fail_msg("%s: %s: read no scale", path, line);
    }
}

static void check_golden(session *s, const char *path, void *user) {
    size_t *count = user;
    char golden[4096], line[512];
    const char *inside = strstr(path, "corpus/tflite/");
    assert_non_null(inside);
    inside += strlen("corpus/tflite/");
    snprintf(golden, sizeof golden, "%.*sgolden_tflm/%.*s/io.txt", (int)(inside - path), path,
             (int)(strlen(inside) - strlen(".tflite")), inside);
    FILE *file = fopen(golden, "r");
    if (!file) {
        return;
    }
    if (s->status == BASE_OK) {
        *count += 1;
        while (fgets(line, sizeof line, file)) {
            line[strcspn(line, "\n")] = '\0';
            expect_tensor(s, path, line);
        }
    }
    fclose(file);
}

static void golden_inputs_and_outputs(void **state) {
    (void)state;
    size_t count = 0;
    walk(test_shared("corpus/tflite"), check_golden, &count);
    print_message("%zu models as TFLM sees them\n", count);
    assert_true(count >= 141);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file),
        cmocka_unit_test(broken_files),
        cmocka_unit_test(custom_operators_and_strings),
        cmocka_unit_test(golden_inputs_and_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
