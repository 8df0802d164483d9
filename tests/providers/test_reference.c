/* test_reference.c - the evaluator behind the contract: values worked out by hand, what a run may take, what ends it early, and files
 * that are not what they were.
 *
 * `burin conform reference` holds it to the contract itself (e2e.conform, corpus.conform).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "burin/session.h"
#include "formats/formats.h"

static const burin_provider *reference(void) {
    const burin_provider *p = NULL;
    for (size_t i = 0; (p = burin_provider_builtin(i)) != NULL && strcmp(p->name, "reference") != 0; i++) {
    }
    assert_non_null(p);
    return p;
}

/* A file in memory. */
typedef struct text {
    const char *at;
    size_t n;
} text;

static burin_code read_text(void *user, uint64_t offset, void *to, size_t n) {
    const text *t = user;
    if (offset > t->n || n > t->n - (size_t)offset) {
        return BURIN_E_READ;
    }
    memcpy(to, t->at + offset, n);
    return BURIN_E_NONE;
}

static burin_source source_of(text *t, const char *name) {
    return (burin_source){sizeof(burin_source), 0, name, t->n, t, read_text};
}

typedef struct stage {
    burin_runtime *rt;
    burin_handle provider, session;
    burin_model_facts facts;
} stage;

static burin_code plan(stage *s, const burin_source *source, burin_handle *config, burin_error *e) {
    burin_handle artifact = BURIN_NO_HANDLE;
    const burin_code code = burin_artifact_inspect(s->rt, s->provider, source, &artifact, e);
    return code == BURIN_E_NONE ? burin_artifact_plan(s->rt, &artifact, NULL, config, e) : code;
}

static void open_stage(stage *s) {
    memset(s, 0, sizeof *s);
    assert_int_equal(burin_runtime_open(NULL, &s->rt, NULL), 0);
    assert_int_equal(burin_provider_register(s->rt, reference(), &s->provider, NULL), 0);
}

static burin_code make(stage *s, const burin_source *source, burin_error *e) {
    burin_handle config = BURIN_NO_HANDLE, model = BURIN_NO_HANDLE;
    burin_code code = plan(s, source, &config, e);
    code = code == BURIN_E_NONE ? burin_model_prepare(s->rt, &config, &model, e) : code;
    s->facts.size = sizeof s->facts;
    if (code == BURIN_E_NONE) {
        assert_int_equal(burin_model_get(s->rt, model, &s->facts, NULL), 0);
        code = burin_session_create(s->rt, &model, &s->session, e);
    }
    return code;
}

static void set_up(stage *s, text *t) {
    burin_error e = BURIN_ERROR_INIT;
    const burin_source source = source_of(t, "test");
    open_stage(s);
    if (make(s, &source, &e) != BURIN_E_NONE) {
        fail_msg("%s", e.message);
    }
}

static void tear_down(stage *s) {
    assert_int_equal(burin_session_release(s->rt, &s->session, NULL), 0);
    assert_int_equal(burin_runtime_close(&s->rt, NULL), 0);
}

#define TEXT(literal)                                                                                                  \
    { literal, sizeof literal - 1 }

static burin_value floats(int64_t n, const void *data) {
    return (burin_value){.type = "f32", .rank = 1, .dim = {n}, .data = data, .bytes = (uint64_t)n * 4};
}

/* ---- values ---- */

static text sum = TEXT("burin 1\nmodel \"ir\" \"sum\"\nstate @0 f32[2] \"sum\"\n"
                       "graph \"main\" 0 {\n"
                       "tensor %0 f32[2] \"x\"\ntensor %1 f32[2] \"\" state @0\ntensor %2 f32[2] \"layer.sum\"\n"
                       "tensor %3 f32[2] \"y\"\ninputs (%0)\noutputs (%3)\n"
                       "node add (%0, %1) -> (%2)\nnode identity (%2) -> (%1)\nnode mul (%2, %2) -> (%3)\n}\n");

static burin_code run(const stage *s, float a, float b, float out[2]) {
    const float in[2] = {a, b};
    const burin_value input = floats(2, in), output = floats(2, out);
    return burin_session_run(s->rt, s->session, &input, 1, &output, 1, NULL);
}

static void runs_and_keeps_state(void **state) {
    (void)state;
    stage s;
    float out[2];
    set_up(&s, &sum);
    assert_int_equal(s.facts.state_bytes, 8);
    assert_int_equal(run(&s, 1, 2, out), 0);
    assert_true(out[0] == 1 && out[1] == 4);
    assert_int_equal(run(&s, 2, -1, out), 0);
    assert_true(out[0] == 9 && out[1] == 1);
    assert_int_equal(burin_session_reset(s.rt, s.session, NULL), 0);
    assert_int_equal(run(&s, 3, 0, out), 0);
    assert_true(out[0] == 9 && out[1] == 0);
    tear_down(&s);
}

typedef struct seen {
    const stage *s;
    int n;
    float value[2];
} seen;

static void note(void *user, const burin_value *v) {
    seen *to = user;
    to->n++;
    assert_string_equal(v->name, "layer.sum");
    assert_int_equal(v->bytes, sizeof to->value);
    memcpy(to->value, v->data, sizeof to->value);
    assert_int_equal(burin_session_cancel(to->s->rt, to->s->session, NULL), 0);
}

/* The sum is seen; then the run is cancelled before the next operator, and the state is not known. */
static void a_cancel_ends_the_run(void **state) {
    (void)state;
    stage s;
    float out[2];
    const float in[2] = {5, 6};
    const burin_value input = floats(2, in);
    const burin_selector selector = {"layer", 1};
    burin_submit_options o = BURIN_SUBMIT_OPTIONS_INIT;
    burin_submission sub;
    burin_outcome outcome = {.size = sizeof outcome};
    set_up(&s, &sum);
    seen found = {.s = &s};
    o.inputs = &input;
    o.input_count = 1;
    o.selectors = &selector;
    o.selector_count = 1;
    o.activation = note;
    o.user = &found;
    assert_int_equal(burin_session_submit(s.rt, s.session, &o, &sub, NULL), 0);
    assert_int_equal(burin_completion_wait(s.rt, sub.completion, &outcome, NULL), 0);
    assert_int_equal(outcome.disposition, BURIN_ABANDONED);
    assert_true(found.n == 1 && found.value[0] == 5 && found.value[1] == 6);
    assert_int_equal(run(&s, 1, 1, out), BURIN_E_STATE_LOST);
    assert_int_equal(burin_session_reset(s.rt, s.session, NULL), 0);
    assert_int_equal(run(&s, 1, 1, out), 0);
    assert_true(out[0] == 1);
    tear_down(&s);
}

/* ---- memory ---- */

/* The plan has run with zeros, which take the small graph and no round of the loop: the large graph and the body have
 * their memory all the same.
 */
static text ways =
    TEXT("burin 1\nmodel \"ir\" \"ways\"\n"
         "graph \"main\" 0 {\n"
         "tensor %0 bool[] \"c\"\ntensor %1 f32[1] \"x\"\ntensor %2 f32[1] \"y\"\n"
         "tensor %3 bool[] \"d\"\ntensor %4 f32[1] \"z\"\n"
         "inputs (%0, %1)\noutputs (%4)\n"
         "node if (%0, %1) -> (%2) {then: graph 1, else: graph 2}\n"
         "node while (%0, %2) -> (%3, %4) {cond: graph 3, body: graph 4}\n}\n"
         "graph \"large\" 1 {\n"
         "tensor %0 f32[1] \"x\"\ntensor %1 f32[4096] \"t\"\ntensor %2 f32[1] \"y\"\n"
         "inputs (%0)\noutputs (%2)\n"
         "node tile (%0) -> (%1) {multiples: ints [4096]}\n"
         "node sum (%1) -> (%2) {axes: ints [0], keepdims: int 1}\n}\n"
         "graph \"small\" 2 {\ntensor %0 f32[1] \"x\"\ninputs (%0)\noutputs (%0)\n}\n"
         "graph \"cond\" 3 {\ntensor %0 bool[] \"c\"\ntensor %1 f32[1] \"x\"\ninputs (%0, %1)\noutputs (%0)\n}\n"
         "graph \"body\" 4 {\n"
         "tensor %0 bool[] \"c\"\ntensor %1 f32[1] \"x\"\ntensor %2 f32[1048576] \"t\"\ntensor %3 f32[1] \"y\"\n"
         "tensor %4 bool[] \"no\" = hex \"00\"\n"
         "inputs (%0, %1)\noutputs (%4, %3)\n"
         "node tile (%1) -> (%2) {multiples: ints [1048576]}\n"
         "node sum (%2) -> (%3) {axes: ints [0], keepdims: int 1}\n}\n");

static void every_way_has_its_memory(void **state) {
    (void)state;
    stage s;
    float x = 2, y = 0;
    uint8_t c = 0;
    set_up(&s, &ways);
    const burin_value inputs[2] = {{.type = "bool", .data = &c, .bytes = 1}, floats(1, &x)};
    const burin_value output = floats(1, &y);
    assert_int_equal(burin_session_run(s.rt, s.session, inputs, 2, &output, 1, NULL), 0);
    assert_true(y == 2);
    c = 1;
    assert_int_equal(burin_session_run(s.rt, s.session, inputs, 2, &output, 1, NULL), 0);
    assert_true(y == 8589934592.0f); /* 2^1 * 2^12 * 2^20: every sum on the way is exact */
    tear_down(&s);
}

/* ---- extents ---- */

static text open = TEXT("burin 1\nmodel \"ir\" \"open\"\nsymbol \"N\" 4\n"
                        "graph \"main\" 0 {\n"
                        "tensor %0 f32[\"N\"] \"x\"\ntensor %1 f32[\"N\"] \"y\"\ntensor %2 f32[\"N\"] \"z\"\n"
                        "inputs (%0, %1)\noutputs (%2)\nnode add (%0, %1) -> (%2)\n}\n");

static void extents_are_the_run_s(void **state) {
    (void)state;
    stage s;
    const float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40};
    float out[4] = {0};
    burin_value inputs[2] = {floats(2, a), floats(2, b)}, v;
    burin_submit_options o = BURIN_SUBMIT_OPTIONS_INIT;
    burin_submission sub;
    burin_outcome outcome = {.size = sizeof outcome};
    set_up(&s, &open);
    o.inputs = inputs;
    o.input_count = 2;
    assert_int_equal(burin_session_submit(s.rt, s.session, &o, &sub, NULL), 0);
    assert_int_equal(burin_completion_wait(s.rt, sub.completion, &outcome, NULL), 0);
    assert_int_equal(burin_output_observe(s.rt, sub.output, 0, out, sizeof out, &v, NULL), 0);
    assert_true(v.dim[0] == 2 && v.bytes == 8 && v.open == 1);
    assert_true(out[0] == 11 && out[1] == 22 && out[2] == 0);
    inputs[1] = floats(3, b); /* N is 2, and 3 */
    assert_int_equal(burin_session_submit(s.rt, s.session, &o, &sub, NULL), BURIN_E_INPUT);
    tear_down(&s);
}

/* ---- files that change ---- */

static void a_file_that_changed_is_refused(void **state) {
    (void)state;
    stage s;
    char bytes[2000];
    text changing = {bytes, sum.n};
    const burin_source source = source_of(&changing, "test");
    burin_handle config = BURIN_NO_HANDLE, model = BURIN_NO_HANDLE;
    burin_error e = BURIN_ERROR_INIT;
    memcpy(bytes, sum.at, sum.n);
    open_stage(&s);
    assert_int_equal(plan(&s, &source, &config, &e), 0);
    memcpy(strstr(bytes, "\"x\""), "\"w\"", 3); /* another name: as good a model, but another */
    assert_int_equal(burin_model_prepare(s.rt, &config, &model, &e), BURIN_E_FORMAT);
    assert_non_null(strstr(e.message, "changed"));
    tear_down(&s);
}

/* An ONNX file whose weights are in another: what the other file holds is part of the identity, and is the session's own. */
static const char external[] = "burin 1\nmodel \"ir\" \"external\"\ngraph \"main\" 0 {\n"
                               "tensor %0 f32[2,256] \"x\"\ntensor %1 f32[2,256] \"w\" = hex \"%s\"\n"
                               "tensor %2 f32[2,256] \"y\"\ninputs (%0)\noutputs (%2)\nnode mul (%0, %1) -> (%2)\n}\n";
enum { WEIGHTS = 512 };

static void write_file(const char *folder, const char *name, const void *bytes, size_t n) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_external(base_arena *arena, const char *folder, text *onnx) {
    base_text t = {.arena = arena};
    base_diags d = {.arena = arena};
    const char *hole = strstr(external, "%s");
    base_putn(&t, external, (size_t)(hole - external));
    for (int i = 0; i < WEIGHTS; i++) {
        base_puts(&t, "00000040"); /* 2 */
    }
    base_puts(&t, hole + 2);
    ir_model *m = NULL;
    assert_int_equal(formats_read(arena, "external", (base_bytes){(uint8_t *)t.at, t.n}, NULL, &m, &d), BASE_OK);
    base_text out = {.arena = arena}, data = {.arena = arena};
    const formats_options o = {.writing = {.external_data = true, .data_name = "w.data", .data = &data}};
    assert_int_equal(formats_find("onnx")->write(arena, m, &o, &out, &d), BASE_OK);
    assert_int_equal(data.n, WEIGHTS * 4);
    write_file(folder, "w.data", data.at, data.n);
    *onnx = (text){out.at, out.n};
}

static void weights_in_another_file_are_part_of_it(void **state) {
    (void)state;
    char folder[] = "/tmp/burin_reference_XXXXXX", name[300], path[320];
    base_memory memory = {.realloc = NULL};
    base_arena *arena = base_arena_new(&memory);
    static float in[WEIGHTS], out[WEIGHTS];
    burin_error e = BURIN_ERROR_INIT;
    text onnx;
    stage s, t;
    assert_non_null(mkdtemp(folder));
    write_external(arena, folder, &onnx);
    snprintf(name, sizeof name, "%s/m.onnx", folder);
    const burin_source source = source_of(&onnx, name);
    open_stage(&s);
    assert_int_equal(make(&s, &source, &e), 0);
    in[WEIGHTS - 1] = 1.5f;
    const burin_value input = {.type = "f32", .rank = 2, .dim = {2, 256}, .data = in, .bytes = sizeof in};
    const burin_value output = {.type = "f32", .rank = 2, .dim = {2, 256}, .data = out, .bytes = sizeof out};
    float other[WEIGHTS] = {0};
    write_file(folder, "w.data", other, sizeof other); /* under the session */
    assert_int_equal(burin_session_run(s.rt, s.session, &input, 1, &output, 1, NULL), 0);
    assert_true(out[WEIGHTS - 1] == 3);
    burin_handle forked = BURIN_NO_HANDLE;
    assert_int_equal(burin_session_fork(s.rt, s.session, &forked, &e), BURIN_E_FORMAT);
    open_stage(&t);
    assert_int_equal(make(&t, &source, &e), 0);
    assert_true(s.facts.identity != t.facts.identity);
    assert_int_equal(burin_session_run(t.rt, t.session, &input, 1, &output, 1, NULL), 0);
    assert_true(out[WEIGHTS - 1] == 0);
    tear_down(&s);
    tear_down(&t);
    base_arena_free(arena);
    snprintf(path, sizeof path, "%s/w.data", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_and_keeps_state),           cmocka_unit_test(a_cancel_ends_the_run),
        cmocka_unit_test(every_way_has_its_memory),       cmocka_unit_test(extents_are_the_run_s),
        cmocka_unit_test(a_file_that_changed_is_refused), cmocka_unit_test(weights_in_another_file_are_part_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
