/* options.c - compile options: copied, compared, printed, and resolved to what the rooms take.
 *
 * Takes burin_compile_options of this or an older size (fields are only added). A value out of range is a usage error
 * that names what is allowed, and the nearest name.
 */
#include <string.h>

#include "api/api.h"

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Fields that an older caller's struct does not have keep their defaults. */
static burin_compile_options complete(const burin_compile_options *o) {
    burin_compile_options full = BURIN_COMPILE_OPTIONS_INIT;
    size_t n = o->size < sizeof full ? o->size : sizeof full;
    memcpy(&full, o, n);
    full.size = sizeof full;
    return full;
}

bool burin_compile_options_equal(const burin_compile_options *x, const burin_compile_options *y) {
    burin_compile_options a = complete(x), b = complete(y);
    bool equal = true;
#define OPTION_TEXT(f) equal = equal && same_text(a.f, b.f);
#define OPTION_UINT(f) equal = equal && a.f == b.f;
#define OPTION_BOOL(f) equal = equal && a.f == b.f;
#include "api/options.def"
#undef OPTION_TEXT
#undef OPTION_UINT
#undef OPTION_BOOL
    return equal;
}

typedef struct options_call {
    const burin_compile_options *from;
    burin_compile_options *to;
    const char *text;
} options_call;

static base_status copy(burin_context *c, void *arguments) {
    options_call *call = arguments;
    burin_compile_options o = complete(call->from);
#define OPTION_TEXT(f) o.f = o.f == NULL ? NULL : base_strdup(c->arena, o.f);
#define OPTION_UINT(f)
#define OPTION_BOOL(f)
#include "api/options.def"
#undef OPTION_TEXT
#undef OPTION_UINT
#undef OPTION_BOOL
    *call->to = o;
    return BASE_OK;
}

burin_status burin_compile_options_copy(burin_context *c, const burin_compile_options *from,
                                        burin_compile_options *to) {
    options_call call = {.from = from, .to = to};
    return api_guarded(c, copy, &call);
}

static base_status print(burin_context *c, void *arguments) {
    options_call *call = arguments;
    burin_compile_options o = complete(call->from);
    base_text t = {.arena = c->arena};
#define OPTION_TEXT(f) base_put(&t, #f ": %s\n", o.f == NULL ? "(none)" : o.f);
#define OPTION_UINT(f) base_put(&t, #f ": %u\n", o.f);
#define OPTION_BOOL(f) base_put(&t, #f ": %s\n", o.f ? "true" : "false");
#include "api/options.def"
#undef OPTION_TEXT
#undef OPTION_UINT
#undef OPTION_BOOL
    call->text = t.at;
    return BASE_OK;
}

burin_status burin_compile_options_text(burin_context *c, const burin_compile_options *options, const char **text) {
    options_call call = {.from = options};
    burin_status status = api_guarded(c, print, &call);
    *text = status == BURIN_OK ? call.text : NULL;
    return status;
}

/* ---- resolving ---- */

static base_status usage(burin_context *c, const char *what, const char *given, const char *const *names, size_t n) {
    base_text list = {.arena = c->arena};
    for (size_t i = 0; i < n; i++) {
        base_put(&list, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", names[i]);
    }
    const char *near = base_nearest(given, names, n);
    base_error(&c->diags, NULL, "%s: \"%s\" is none of %s%s%s%s", what, given, list.at,
               near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
    return BASE_USAGE;
}

static base_status one_of(burin_context *c, const char *what, const char *given, const char *a, const char *b) {
    const char *names[] = {a, b};
    return same_text(given, a) || same_text(given, b) ? BASE_OK : usage(c, what, given == NULL ? "" : given, names, 2);
}

static base_status find_device(burin_context *c, const char *name, const plan_device **out) {
    const plan_device *device = plan_device_find(name != NULL ? name : "generic");
    if (device == NULL) {
        size_t n = plan_device_count();
        const char **names = BASE_NEWS(c->arena, const char *, n + 1);
        for (size_t i = 0; i < n; i++) {
            names[i] = plan_device_at(i)->name;
        }
        return usage(c, "device", name, names, n);
    }
    *out = plan_device_detect(c->arena, device);
    return BASE_OK;
}

static base_status find_target(burin_context *c, const char *name, const target_interface **out) {
    *out = target_find(name);
    if (*out == NULL) {
        const char **names = BASE_NEWS(c->arena, const char *, target_count + 1);
        for (size_t i = 0; i < target_count; i++) {
            names[i] = target_list[i]->name;
        }
        return usage(c, "target", name, names, target_count);
    }
    return BASE_OK;
}

/* What is left after every letter, digit and _ was taken must be nothing, and the first no digit. */
static base_status check_prefix(burin_context *c, const char *prefix) {
    const char *made = compile_prefix(c->arena, prefix);
    if (strcmp(made, prefix) == 0) {
        return BASE_OK;
    }
    const size_t n = strlen(prefix);
    if (strncmp(made, prefix, n) == 0 && strcmp(made + n, "_") == 0) {
        base_error(&c->diags, NULL, "prefix: \"%s\" is reserved in C or C++; \"%s\" would do", prefix, made);
        return BASE_USAGE;
    }
    base_error(&c->diags, NULL, "prefix: \"%s\" is no C identifier of at most 64 characters; \"%s\" would be one",
               base_printable(c->arena, prefix, strlen(prefix), 80), made);
    return BASE_USAGE;
}

const char *api_move(size_t i, bool description) {
    if (i < PLAN_MOVE_COUNT) {
        return description ? plan_move_description((plan_move)i) : plan_move_name((plan_move)i);
    }
    i -= PLAN_MOVE_COUNT;
    for (size_t k = 0; k < passes_count; k++) {
        if (passes_list[k].level > 0 && i-- == 0) {
            return description ? passes_list[k].description : passes_list[k].name;
        }
    }
    return NULL;
}

/* "A,B": bits of the plan's moves, and the passes' names with a blank between. */
static base_status find_disabled(burin_context *c, const char *list, compile_options *o) {
    base_text names = {.arena = c->arena};
    for (const char *at = list; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL) {
        const char *name = base_printf(c->arena, "%.*s", (int)(strcspn(at, ",") & 0xffff), at);
        size_t i = 0;
        while (api_move(i, false) != NULL && strcmp(api_move(i, false), name) != 0) {
            i++;
        }
        if (api_move(i, false) == NULL) {
            const char **all = BASE_NEWS(c->arena, const char *, i + 1);
            for (size_t k = 0; k < i; k++) {
                all[k] = api_move(k, false);
            }
            return usage(c, "disable", base_printable(c->arena, name, strlen(name), 80), all, i);
        }
        if (i < PLAN_MOVE_COUNT) {
            o->without |= (plan_moves)1 << i;
        } else {
            base_put(&names, "%s%s", names.n > 0 ? " " : "", name);
        }
    }
    o->without_passes = names.n > 0 ? names.at : NULL;
    return BASE_OK;
}

base_status api_resolve(burin_context *c, const burin_model *m, const burin_compile_options *given, api_resolved *out) {
    burin_compile_options o = complete(given);
    *out = (api_resolved){.compile = {.opt_level = o.opt_level,
                                      .dump_after = o.dump_after,
                                      .dump = &c->dump,
                                      .max_trips = o.max_trips,
                                      .exact = o.exact}};
    base_status status = find_device(c, o.device, &out->compile.device);
    if (status == BASE_OK) {
        status = find_target(c, o.target != NULL ? o.target : out->compile.device->target, &out->compile.target);
    }
    const struct {
        const char *field, *option;
        bool given;
    } some[] = {{"opset", "opset", o.opset != 0},
                {"external_data", "external-data", o.external_data},
                {"exact", "exact", o.exact},
                {"goal", "goal", same_text(o.goal, "size")},
                {"kernel", "kernel", o.kernel != NULL}};
    for (size_t i = 0; status == BASE_OK && i < sizeof some / sizeof some[0]; i++) {
        if (some[i].given && !burin_target_uses(out->compile.target->name, some[i].option)) {
            base_error(&c->diags, NULL, "%s has no effect with target %s", some[i].field, out->compile.target->name);
            status = BASE_USAGE;
        }
    }
    if (status == BASE_OK && o.data_name != NULL &&
        (strchr(o.data_name, '/') != NULL || !*o.data_name || !strcmp(o.data_name, ".") ||
         !strcmp(o.data_name, ".."))) {
        base_error(&c->diags, NULL, "data_name: expected the name of a file, without a folder");
        status = BASE_USAGE;
    }
    if (status == BASE_OK && o.opt_level > 2) {
        base_error(&c->diags, NULL, "opt_level: %u is none of 0, 1 or 2", o.opt_level);
        status = BASE_USAGE;
    }
    if (status == BASE_OK && o.check && o.check_cases == 0) {
        base_error(&c->diags, NULL, "check_cases: a check needs at least one input; to leave it out say --no-check");
        status = BASE_USAGE;
    }
    if (status == BASE_OK && o.max_trips > 0 && !m->unsupported && !ir_has_loops(m->ir)) {
        base_error(&c->diags, NULL, "max_trips: it has no effect: %s has no loop whose rounds a run decides", m->file);
        status = BASE_USAGE;
    }
    if (status == BASE_OK) {
        status = one_of(c, "numerics", o.numerics, "tflm", "litert");
    }
    if (status == BASE_OK && m->ir->by_numerics && strcmp(o.numerics, m->options.numerics) != 0) {
        base_error(&c->diags, NULL,
                   "numerics: %s contradicts itself, and was loaded as %s reads it: load it with the same numerics",
                   m->file, m->options.numerics);
        status = BASE_USAGE;
    }
    if (status == BASE_OK) {
        status = one_of(c, "layout", o.layout, "folder", "single");
    }
    if (status == BASE_OK) {
        static const char *const names[] = {"inline", "blob", "incbin"};
        bool known = same_text(o.weights, names[0]) || same_text(o.weights, names[1]) || same_text(o.weights, names[2]);
        status = known ? BASE_OK : usage(c, "weights", o.weights == NULL ? "" : o.weights, names, 3);
    }
    if (status == BASE_OK) {
        status = one_of(c, "goal", o.goal, "latency", "size");
    }
    if (status == BASE_OK && o.kernel != NULL) {
        status = one_of(c, "kernel", o.kernel, "generic", "specialized");
    }
    if (status == BASE_OK) {
        status = find_disabled(c, o.disable, &out->compile);
    }
    if (status == BASE_OK && o.prefix != NULL) {
        status = check_prefix(c, o.prefix);
    }
    if (status == BASE_OK) {
        out->compile.prefix = o.prefix != NULL ? o.prefix : compile_prefix(c->arena, m->file);
        out->compiler = o.compiler;
        out->compile.goal = same_text(o.goal, "size") ? PLAN_SIZE : PLAN_LATENCY;
        out->compile.generic = o.kernel != NULL ? same_text(o.kernel, "generic") : out->compile.goal == PLAN_SIZE;
        out->goals[0] = o.numerics;
        out->compile.goals = out->goals;
        out->compile.goal_count = 1;
    }
    return status;
}
