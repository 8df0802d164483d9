/* compile.c - inspect, plan, compile: from a loaded model to texts and files.
 *
 * Takes a model and options. Gives what the rooms below made, in the context. Writes nothing but in burin_output_write.
 */
#include <math.h>
#include <string.h>

#include "api/api.h"

static base_status check_whole(burin_context *c, const burin_model *m) {
    if (m->options.content_count > 0) {
        base_error(&c->diags, NULL, "the model was loaded for one run: load it without contents");
        return BASE_USAGE;
    }
    return BASE_OK;
}

/* ---- plan ---- */

typedef struct plan_call {
    const burin_model *m;
    const burin_compile_options *options;
    burin_form form;
    bool explains;
    uint32_t id; /* operator to explain */
    const char *text;
} plan_call;

static base_status read_plan(burin_context *c, const char *path, plan_text *out) {
    base_file file;
    base_status status = base_file_read(c->arena, path, &file, &c->diags);
    *out = (plan_text){path, (const char *)file.at, status == BASE_OK ? file.size : 0};
    return status;
}

static const char *or_nothing(const char *value) {
    return value != NULL ? value : "nothing";
}

/* The plan must be the one at that path. */
static base_status check_lock(burin_context *c, const plan_module *plan, const char *path) {
    plan_text locked, own = {.file = "the plan"};
    base_text t = {.arena = c->arena};
    plan_differences found = {0};
    base_status status = read_plan(c, path, &locked);
    if (status != BASE_OK) {
        return status;
    }
    plan_print_json(&t, plan, NULL, NULL);
    own.at = t.at;
    own.n = t.n;
    status = plan_diff(c->arena, &locked, &own, true, &found, &c->diags);
    if (status == BASE_OK && found.count > 0) {
        const plan_difference *first = &found.list.at[0];
        const base_place place = {.file = path};
        status =
            base_error(&c->diags, &place,
                       "the plan has drifted, in %zu field(s): %s is %s there, and %s now: make it again with --plan "
                       "of that file, or write a new one without --plan-lock",
                       found.count, first->where, or_nothing(first->a), or_nothing(first->b));
    }
    return status;
}

static base_status make_plan(burin_context *c, const burin_model *m, const api_resolved *o, const char *lock,
                             ir_model **changed, plan_module **plan) {
    c->dump.n = 0;
    base_status status = check_whole(c, m);
    status = status == BASE_OK ? api_copy(m, changed) : status;
    status = status == BASE_OK ? compile_plan(c->arena, c->ops, *changed, &o->compile, plan, &c->diags) : status;
    return status == BASE_OK && lock != NULL ? check_lock(c, *plan, lock) : status;
}

typedef struct diff_call {
    const char *a, *b;
    burin_form form;
    size_t count;
    const char *text;
} diff_call;

static void put_differences(base_text *t, const plan_differences *found, bool json) {
    if (json) {
        base_put(t, "{\"count\":%zu,\"differences\":[", found->count);
    }
    for (size_t i = 0; i < found->list.n; i++) {
        const plan_difference *one = &found->list.at[i];
        if (!json) {
            base_put(t, "%s: %s -> %s\n", one->where, or_nothing(one->a), or_nothing(one->b));
            continue;
        }
        base_puts(t, i > 0 ? ",\n{\"where\":" : "\n{\"where\":");
        base_put_quoted(t, one->where);
        base_puts(t, ",\"a\":");
        one->a != NULL ? base_put_quoted(t, one->a) : base_puts(t, "null");
        base_puts(t, ",\"b\":");
        one->b != NULL ? base_put_quoted(t, one->b) : base_puts(t, "null");
        base_puts(t, "}");
    }
    if (json) {
        base_puts(t, "]}\n");
    } else if (found->count > found->list.n) {
        base_put(t, "and %zu more\n", found->count - found->list.n);
    }
}

static base_status diff(burin_context *c, void *arguments) {
    diff_call *call = arguments;
    plan_text a, b;
    plan_differences found = {0};
    base_text t = {.arena = c->arena};
    base_status status = read_plan(c, call->a, &a);
    status = status == BASE_OK ? read_plan(c, call->b, &b) : status;
    status = status == BASE_OK ? plan_diff(c->arena, &a, &b, false, &found, &c->diags) : status;
    base_puts(&t, "");
    put_differences(&t, &found, call->form == BURIN_JSON);
    call->count = found.count;
    call->text = t.at;
    return status;
}

burin_status burin_plan_diff(burin_context *c, const char *a, const char *b, burin_form form, size_t *count,
                             const char **text) {
    diff_call call = {.a = a, .b = b, .form = form};
    burin_status status = api_guarded(c, diff, &call);
    *count = call.count;
    *text = status == BURIN_OK ? call.text : NULL;
    return status;
}

static base_status plan_as_text(burin_context *c, void *arguments) {
    plan_call *call = arguments;
    api_resolved o;
    ir_model *changed = NULL;
    plan_module *plan = NULL;
    base_text t = {.arena = c->arena};
    base_status status = api_resolve(c, call->m, call->options, &o);
    if (status == BASE_OK) {
        status = make_plan(c, call->m, &o, api_options(call->options).plan_lock, &changed, &plan);
    }
    target_files files = {0};
    if (status == BASE_OK && o.compile.target->executable && call->form != BURIN_SVG) { /* what the code takes */
        const target_options how = {.layout = "folder"};
        status = compile_emit(c->arena, &o.compile, plan, changed, &how, &files, &c->diags);
    }
    if (status == BASE_OK) {
        if (call->explains) {
            status = plan_explain(&t, plan, files.flash, call->id, &c->diags);
        } else if (call->form == BURIN_JSON) {
            plan_print_json(&t, plan, files.flash, NULL);
        } else if (call->form == BURIN_SVG) {
            plan_draw(&t, plan);
        } else {
            plan_print(&t, plan, files.flash);
        }
        call->text = t.at;
    }
    return status;
}

burin_status burin_plan(burin_context *c, const burin_model *m, const burin_compile_options *options, burin_form form,
                        const char **text) {
    plan_call call = {.m = m, .options = options, .form = form};
    burin_status status = api_guarded(c, plan_as_text, &call);
    *text = status == BURIN_OK ? call.text : NULL;
    return status;
}

burin_status burin_explain(burin_context *c, const burin_model *m, const burin_compile_options *options, uint32_t id,
                           const char **text) {
    plan_call call = {.m = m, .options = options, .explains = true, .id = id};
    burin_status status = api_guarded(c, plan_as_text, &call);
    *text = status == BURIN_OK ? call.text : NULL;
    return status;
}

/* ---- compile ---- */

typedef struct compile_call {
    const burin_model *m;
    const burin_compile_options *options;
    burin_output *output;
} compile_call;

/* What an output of a golden case may differ by: floats are reordered and contracted by the target's compiler, and a
 * whole network amplifies it; the same tolerance as docs/MODULE.md states. NULL for integers. */
static const double *case_bound(burin_context *c, const ir_tensor *t, const void *values) {
    uint64_t n = 0;
    double top = 0;
    if (!base_type_is_float(t->type) || !ir_shape_elements(&t->shape, &n)) {
        return NULL;
    }
    double *bound = BASE_NEWS(c->arena, double, (size_t)n + 1);
    for (uint64_t i = 0; i < n; i++) {
        bound[i] = fabs(base_load(t->type, values, i).f);
        top = bound[i] > top && isfinite(bound[i]) ? bound[i] : top;
    }
    for (uint64_t i = 0; i < n; i++) {
        bound[i] = 1e-4 * bound[i] + 1e-5 * top;
    }
    return bound;
}

/* The inputs of case k, and what the evaluator makes of them. false: a loop goes on, or there are fewer or more of what data
 * counts than operators take, so that there is no case. */
static bool fill_case(burin_context *c, const burin_model *m, ops_session *session, unsigned k, target_case *to,
                      base_status *status) {
    const ir_graph *g = &m->ir->graphs.at[0];
    const size_t errors = c->diags.errors, listed = c->diags.list.n;
    void **inputs = BASE_NEWS(c->arena, void *, g->inputs.n + 1),
         **outputs = BASE_NEWS(c->arena, void *, g->outputs.n + 1);
    const double **bounds = BASE_NEWS(c->arena, const double *, g->outputs.n + 1);
    for (size_t i = 0; i < g->inputs.n; i++) {
        inputs[i] = base_alloc(c->arena, (size_t)burin_input_info(m, i).bytes + 1, 1);
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        outputs[i] = base_alloc(c->arena, (size_t)burin_output_info(m, i).bytes + 1, 1);
    }
    ir_shape *input_shapes = BASE_NEWS(c->arena, ir_shape, g->inputs.n + 1);
    check_fill_inputs(m->ir, k, inputs);
    check_fill_shapes(m->ir, k, input_shapes);
    for (size_t i = 0; i < g->inputs.n; i++) {
        ops_session_set_input_shape(session, i, &input_shapes[i]);
    }
    base_arena *scratch = base_arena_new(&c->memory);
    *status = ops_session_run(session, scratch, (const void *const *)inputs, outputs, &c->diags);
    base_arena_free(scratch);
    if (*status != BASE_OK && (ops_session_endless(session) || m->ir->symbols.n > 0)) {
        c->diags.errors = errors;
        c->diags.list.n = listed;
        return false;
    }
    ir_shape *shapes = BASE_NEWS(c->arena, ir_shape, g->outputs.n + 1);
    for (size_t i = 0; *status == BASE_OK && i < g->outputs.n; i++) {
        shapes[i] = ops_session_output_shape(session, i);
        bounds[i] = case_bound(c, &g->tensors.at[g->outputs.at[i]], outputs[i]);
    }
    *to = (target_case){.inputs = (const void *const *)inputs,
                        .outputs = (const void *const *)outputs,
                        .bounds = bounds,
                        .input_shapes = input_shapes,
                        .shapes = shapes};
    return true;
}

/* Made inputs that give no case are passed over; a model with state, whose cases follow each other, has
 * none to pass over. */
static base_status fill_cases(burin_context *c, const burin_model *m, const api_resolved *o, unsigned n,
                              target_options *t) {
    enum { MOST_PASSED = 64, MOST_TRIPS = 1000000 };
    ops_session *session = NULL;
    target_case *cases = BASE_NEWS(c->arena, target_case, n + 1);
    ops_goal goal = {o->compile.goals, o->compile.goal_count};
    const ops_session_options how = {.goal = &goal, .max_trips = o->compile.max_trips, .most_trips = MOST_TRIPS};
    base_status status = n == 0 ? BASE_OK : ops_session_new(c->arena, c->ops, m->ir, &how, &session, &c->diags);
    unsigned have = 0;
    for (unsigned k = 0; status == BASE_OK && have < n; k++) {
        if (fill_case(c, m, session, k, &cases[have], &status)) {
            have++;
        } else if (m->ir->states.n > 0 || k >= n + MOST_PASSED) {
            status = base_error(&c->diags, NULL,
                                "%s: there can be no %u golden cases: with made inputs a loop goes on "
                                "for ever, or data counts what no operator takes",
                                m->file, n);
        } else {
            status = BASE_OK;
        }
    }
    t->cases = cases;
    t->test_cases = n;
    return status;
}

static base_status check(burin_context *c, const burin_model *m, const api_resolved *o,
                         const burin_compile_options *given, const plan_module *plan, check_result *result) {
    *result = (check_result){.why = "not checked: --no-check", .json = "{\"checked\":false,\"why\":\"--no-check\"}"};
    if (!o->compile.target->executable && o->compile.target->format == NULL) {
        *result = (check_result){.why = "not checked: this target does not run",
                                 .json = "{\"checked\":false,\"why\":\"this target does not run\"}"};
        return BASE_OK;
    }
    if (!given->check || !o->compile.target->executable) {
        return BASE_OK;
    }
    base_arena *scratch = base_arena_new(&c->memory);
    check_result r;
    base_status status =
        check_emitted(scratch, c->ops, m->ir, plan, &o->compile, given->compiler, given->check_cases, &r, &c->diags);
    if (status == BASE_OK) {
        *result = (check_result){
            .checked = r.checked, .why = base_strdup(c->arena, r.why), .json = base_strdup(c->arena, r.json)};
    }
    base_arena_free(scratch);
    return status;
}

/* Of a target that writes a format: the file is read again. */
static base_status check_files(burin_context *c, const burin_model *m, const api_resolved *o,
                               const burin_compile_options *given, const ir_model *written, const target_files *files,
                               check_result *result) {
    if (!given->check || o->compile.target->format == NULL) {
        return BASE_OK;
    }
    base_arena *scratch = base_arena_new(&c->memory);
    check_result r;
    base_status status = check_written(scratch, c->ops, m->ir, written, &o->compile, files->list.at, files->list.n,
                                       given->check_cases, &r, &c->diags);
    if (status == BASE_OK) {
        *result = (check_result){
            .checked = r.checked, .why = base_strdup(c->arena, r.why), .json = base_strdup(c->arena, r.json)};
    }
    base_arena_free(scratch);
    return status;
}

static void describe(burin_context *c, const plan_module *plan, const target_files *files,
                     const target_interface *target, const check_result *result, const char *layout,
                     burin_output *out) {
    burin_file *list = BASE_NEWS(c->arena, burin_file, files->list.n + 1);
    for (size_t i = 0; i < files->list.n; i++) {
        list[i] = (burin_file){files->list.at[i].name, files->list.at[i].bytes, files->list.at[i].size};
    }
    *out = (burin_output){.files = list,
                          .file_count = files->list.n,
                          .single = target->extension != NULL,
                          .checked = result->checked,
                          .check = result->why,
                          .layout = layout};
    if (plan != NULL) {
        base_text t = {.arena = c->arena};
        plan_print(&t, plan, files->flash);
        out->plan = t.at;
        out->arena_bytes = plan->arena_bytes;
        out->arena_bound = plan->arena_bound;
        out->constant_bytes = plan->constant_bytes;
        out->macs = plan->macs;
    }
}

static base_status compile_without_plan(burin_context *c, const api_resolved *o, const burin_model *m,
                                        ir_model **changed) {
    c->dump.n = 0;
    base_status status = check_whole(c, m);
    if (status == BASE_OK) {
        status = o->compile.target->format != NULL ? api_copy_every_signature(m, changed) : api_copy(m, changed);
    }
    return status != BASE_OK ? status : compile_passes(c->arena, c->ops, *changed, &o->compile, &c->diags);
}

static base_status compile(burin_context *c, void *arguments) {
    compile_call *call = arguments;
    const burin_model *m = call->m;
    burin_compile_options given = BURIN_COMPILE_OPTIONS_INIT;
    memcpy(&given, call->options, call->options->size < sizeof given ? call->options->size : sizeof given);
    api_resolved o;
    ir_model *changed = NULL;
    plan_module *plan = NULL;
    check_result result;
    target_files files = {0};
    const char *layout = NULL;
    bool in_f32 = false;
    base_status status = api_resolve(c, m, call->options, &o);
    if (status != BASE_OK) {
        return status;
    }
    o.compile.layout = &layout;
    o.compile.in_f32 = &in_f32;
    status = o.compile.target->needs_plan ? make_plan(c, m, &o, given.plan_lock, &changed, &plan)
                                          : compile_without_plan(c, &o, m, &changed);
    target_options t = {.layout = given.layout,
                        .weights_blob = strcmp(given.weights, "blob") == 0,
                        .weights_incbin = strcmp(given.weights, "incbin") == 0,
                        .opset = given.opset,
                        .external_data = given.external_data,
                        .data_name = given.data_name,
                        .memory_plan = given.memory_plan};
    if (status == BASE_OK) {
        status = check(c, m, &o, &given, plan, &result);
    }
    if (status == BASE_OK) {
        status = fill_cases(c, m, &o, given.test_cases, &t);
    }
    if (status == BASE_OK) {
        t.plan_check = result.json;
        status = compile_emit(c->arena, &o.compile, plan, changed, &t, &files, &c->diags);
    }
    if (status == BASE_OK) {
        status = check_files(c, m, &o, &given, changed, &files, &result);
    }
    if (status == BASE_OK) {
        burin_output *output = BASE_NEW(c->arena, burin_output);
        describe(c, plan, &files, o.compile.target, &result, layout, output);
        call->output = output;
    }
    return status;
}

burin_status burin_compile(burin_context *c, const burin_model *m, const burin_compile_options *options,
                           const burin_output **output) {
    compile_call call = {.m = m, .options = options};
    burin_status status = api_guarded(c, compile, &call);
    *output = status == BURIN_OK ? call.output : NULL;
    return status;
}

/* ---- files ---- */

typedef struct write_call {
    const burin_output *output;
    const char *path;
    bool force;
} write_call;

static base_status write_output(burin_context *c, void *arguments) {
    write_call *call = arguments;
    const burin_output *o = call->output;
    if (o->single && o->file_count == 1) {
        return base_file_write(c->arena, call->path, o->files[0].bytes, o->files[0].size, call->force, &c->diags);
    }
    const char *folder = call->path;
    base_output_file *files = BASE_NEWS(c->arena, base_output_file, o->file_count + 1);
    for (size_t i = 0; i < o->file_count; i++) {
        files[i] = (base_output_file){o->files[i].name, o->files[i].bytes, o->files[i].size};
    }
    if (o->single) {
        const char *slash = strrchr(call->path, '/');
        folder = slash ? base_printf(c->arena, "%.*s", (int)(slash == call->path ? 1 : slash - call->path), call->path)
                       : ".";
        files[0].name = slash ? slash + 1 : call->path;
    }
    return base_files_write(c->arena, folder, files, o->file_count, call->force, &c->diags);
}

burin_status burin_output_write(burin_context *c, const burin_output *output, const char *path, bool force) {
    write_call call = {output, path, force};
    return api_guarded(c, write_output, &call);
}
