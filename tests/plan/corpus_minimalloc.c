/* ctest: name=plan.minimalloc, timeout=300
 * corpus_minimalloc.c - the public instances of google/minimalloc: a plan within each one's capacity, which no greedy
 * order reaches. Rows are id, first step, step after the last, bytes; the capacity stands in the file's name. */
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "plan/plan.h"

enum { MOST = 1000, MOST_PLACEMENTS = 1650000 };

static base_memory memory;
static base_guard guard;

static int compare_steps(const void *x, const void *y) {
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

/* The instances' steps are sparse: each becomes its number among those that are there. */
static void make_dense(plan_block *b, size_t n) {
    static uint32_t steps[2 * MOST];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        steps[count++] = b[i].first;
        steps[count++] = b[i].last + 1;
    }
    qsort(steps, count, sizeof *steps, compare_steps);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || steps[kept - 1] != steps[i]) {
            steps[kept++] = steps[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t first = b[i].first, end = b[i].last + 1;
        for (size_t k = 0; k < kept; k++) {
            b[i].first = steps[k] == first ? (uint32_t)k : b[i].first;
            b[i].last = steps[k] == end ? (uint32_t)k - 1 : b[i].last;
        }
    }
}

static size_t read_instance(const char *path, plan_block *b) {
    FILE *f = fopen(path, "r");
    char line[256];
    size_t n = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        uint32_t first, end;
        uint64_t bytes;
        if (sscanf(line, "%*[^,],%" SCNu32 ",%" SCNu32 ",%" SCNu64, &first, &end, &bytes) == 3) {
            assert_true(n < MOST);
            b[n++] = (plan_block){.bytes = bytes, .first = first, .last = end - 1, .alignment = 1};
        }
    }
    fclose(f);
    make_dense(b, n);
    return n;
}

static void expect_apart(const plan_block *b, size_t n, uint64_t capacity) {
    for (size_t i = 0; i < n; i++) {
        assert_true(b[i].offset + b[i].bytes <= capacity);
        for (size_t k = 0; k < i; k++) {
            assert_true(b[i].last < b[k].first || b[k].last < b[i].first || b[i].offset + b[i].bytes <= b[k].offset ||
                        b[k].offset + b[k].bytes <= b[i].offset);
        }
    }
}

static void every_instance(void **state) {
    (void)state;
    const char *shared = getenv("BURIN_SHARED");
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/corpus/memplan/minimalloc/*.csv", shared ? shared : "../shared");
    if (glob(pattern, 0, NULL, &found)) {
        print_message("no corpus/memplan: skipped\n");
        exit(77);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        static plan_block b[MOST];
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        const size_t n = read_instance(found.gl_pathv[i], b);
        const uint64_t capacity = strtoull(strchr(name, '.') + 1, NULL, 10);
        base_arena *arena = base_arena_new(&memory);
        const plan_placement greedy = plan_place(arena, b, n, 0);
        const clock_t start = clock();
        const plan_placement p = plan_place(arena, b, n, MOST_PLACEMENTS);
        print_message("%-18s %3zu blocks, bound %" PRIu64 ", greedy %" PRIu64 " (%s), %" PRIu64 " %s%s, %.2f s\n", name,
                      n, p.bound, greedy.peak, greedy.how, p.peak, p.how, p.optimal ? ", optimal" : "",
                      (double)(clock() - start) / CLOCKS_PER_SEC);
        expect_apart(b, n, capacity);
        assert_true(n > 0 && p.peak <= capacity && p.peak <= greedy.peak);
        base_arena_free(arena);
    }
    print_message("%zu instances\n", found.gl_pathc);
    globfree(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_instance)};
    if (BASE_GUARD(&memory, &guard)) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
