/* test_written_cases.c - every case of every operator, each a model of one node, is written as TFLite and read again as the
 * same graph, or one that computes the same; what is written from that is the same file. Refused is only what TFLite has
 * not. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/formats.h"
#include "ops/case_file.h"

extern const formats_interface formats_tflite;

static size_t written, refused, evaluated, faults;

static void fault(const char *op, const case_one *c, const char *what, const base_diags *d) {
    print_error("%s, %s: %s%s%s\n", op, c->name, what, d->list.n ? ": " : "", d->list.n ? d->list.at[0].message : "");
    faults++;
}

/* What TFLite has not, or Burin does not keep of it. */
static bool may_be_refused(const char *why) {
    static const char *const parts[] = {
        "which no float is",                                 /* an attribute of more digits */
        "its state is another tensor among the outputs",     /* a state that the caller carries */
        "TFLite has its computation in a sub-graph",         /* of StableHLO */
        "what it keeps between runs is no state of its own", /* a state that the caller carries */
        "TFLite has no first contents for the state",        /* of a recurrent operator */
        "no runtime's kernel of it reads a scale for each",  /* column of a product */
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strstr(why, parts[i])) {
            return true;
        }
    }
    return false;
}

static void **rooms(base_arena *arena, const ir_graph *g, const uint32_t *list, size_t n) {
    void **r = BASE_NEWS(arena, void *, n + 1);
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = 0;
        assert_true(ir_tensor_bytes(&g->tensors.at[list[i]], &bytes));
        r[i] = base_alloc(arena, (size_t)bytes + 1, 1);
    }
    return r;
}

/* The outputs of a model of that case's inputs; NULL: it cannot be evaluated. */
static void **evaluate(base_arena *arena, const ir_model *m, const case_one *c, base_diags *d) {
    const ir_graph *g = &m->graphs.at[0];
    const ops_goal goal = {c->goals, c->goal_count};
    const ops_session_options how = {.goal = &goal};
    const void **inputs = BASE_NEWS(arena, const void *, g->inputs.n + 1);
    const ir_node *n = &c->model->graphs.at[0].nodes.at[0];
    ops_session *s;
    for (size_t i = 0, k = 0; i < n->input_count && k < g->inputs.n; i++) {
        if (c->inputs[i]) {
            inputs[k++] = c->inputs[i];
        }
    }
    void **outputs = rooms(arena, g, g->outputs.at, g->outputs.n);
    return !ops_session_new(arena, ops_registry_new(arena), m, &how, &s, d) &&
                   !ops_session_run(s, arena, inputs, outputs, d)
               ? outputs
               : NULL;
}

static void compare(base_arena *arena, const char *op, const case_one *c, const ir_model *back) {
    base_diags d = {.arena = arena};
    const void *const *want = (const void *const *)evaluate(arena, c->model, c, &d);
    void **got = evaluate(arena, back, c, &d);
    const ir_graph *g = &c->model->graphs.at[0], *b = &back->graphs.at[0];
    if (!want && d.errors == 1 && strstr(d.list.at[0].message, "data decides extent")) {
        want = c->wanted; /* a case states the extents that it is about, and so is no graph for every input */
    }
    if (!want || !got || g->outputs.n != b->outputs.n) {
        fault(op, c, "it is read as another graph, which is not evaluated", &d);
        return;
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        uint64_t bytes = 0, mine = 0;
        (void)ir_tensor_bytes(&g->tensors.at[g->outputs.at[i]], &bytes);
        (void)ir_tensor_bytes(&b->tensors.at[b->outputs.at[i]], &mine);
        if (memcmp(got[i], want[i], (size_t)(bytes < mine ? bytes : mine)) != 0) {
            fault(op, c, "it is read as a graph that computes something else", &d);
        }
    }
    evaluated++;
}

static void one_case(base_arena *arena, const char *op, const case_one *c) {
    base_text file = {.arena = arena}, again = {.arena = arena};
    base_diags d = {.arena = arena};
    ir_model *back = NULL;
    if (formats_tflite.write(arena, c->model, NULL, &file, &d) != BASE_OK) {
        if (!strncmp(c->source, "onnx", 4)) {
            return; /* of types, ranks and operators that TFLite does not have */
        }
        refused++;
        if (!may_be_refused(d.list.at[0].message)) {
            fault(op, c, "it is refused", &d);
        }
        return;
    }
    const base_bytes bytes = {(const uint8_t *)file.at, file.n};
    if (formats_tflite.read(arena, "case.tflite", bytes, NULL, &back, &d) != BASE_OK) {
        fault(op, c, "what was written is refused", &d);
        return;
    }
    written++;
    if (!ir_same(arena, c->model, back)) {
        compare(arena, op, c, back);
    } else if (formats_tflite.write(arena, back, NULL, &again, &d) != BASE_OK || again.n != file.n ||
               memcmp(again.at, file.at, file.n) != 0) {
        fault(op, c, "written again it is another file", &d);
    }
}

static void one_file(const char *name) {
    base_memory memory = {0};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard)) {
        fail_msg("%s: no memory", name);
    }
    base_arena *arena = base_arena_new(&memory);
    base_diags d = {.arena = arena};
    base_file text;
    case_file cases = {0};
    const char *error = NULL, *op = base_strndup(arena, name, strlen(name) - strlen(".case"));
    if (base_file_read(arena, base_printf(arena, "%s/%s", BURIN_OPS_DIR, name), &text, &d) != BASE_OK ||
        !case_file_read(arena, op, base_strndup(arena, (const char *)text.at, text.size), &cases, &error)) {
        fail_msg("%s: %s", name, error ? error : "cannot be read");
    }
    for (size_t i = 0; i < cases.list.n; i++) {
        one_case(arena, op, &cases.list.at[i]);
    }
    base_arena_free(arena);
    base_unguard(&memory, &guard);
}

static void every_case(void **state) {
    (void)state;
    DIR *folder = opendir(BURIN_OPS_DIR);
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (n > 5 && !strcmp(e->d_name + n - 5, ".case")) {
            one_file(e->d_name);
        }
    }
    closedir(folder);
    print_message("%zu written, %zu of them compared by evaluation; %zu refused\n", written, evaluated, refused);
    assert_int_equal(faults, 0);
    assert_true(written > 1000 && evaluated < written / 2 && refused < written / 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
