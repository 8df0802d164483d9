/* resolve.c - compile options resolved to what the rooms take.
 *
 * Takes options and the model. Gives the device, target, moves and names that they mean; a usage error names what is allowed, and
 * the nearest name.
 */
#include <string.h>

#include "api/api.h"

static bool is(const char *a, const char *b) {
    return a != NULL && strcmp(a, b) == 0;
}

static base_status find_device(burin_context *c, const char *name, const plan_device **out) {
    const plan_device *device = plan_device_find(name != NULL ? name : "generic");
    if (device == NULL) {
        size_t n = plan_device_count();
        const char **names = BASE_NEWS(c->arena, const char *, n + 1);
        for (size_t i = 0; i < n; i++) {
            names[i] = plan_device_at(i)->name;
        }
        return api_none_of(c, "device", name, names, n);
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
        return api_none_of(c, "target", name, names, target_count);
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
            return api_none_of(c, "disable", base_printable(c->arena, name, strlen(name), 80), all, i);
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

/* A plan that was written before. */
static base_status read_plan(burin_context *c, const char *path, const plan_replay **out) {
    base_file file;
    base_status status = base_file_read(c->arena, path, &file, &c->diags);
    return status != BASE_OK ? status : plan_read(c->arena, path, (const char *)file.at, file.size, out, &c->diags);
}

base_status api_resolve(burin_context *c, const burin_model *m, const burin_compile_options *given, api_resolved *out) {
    burin_compile_options o = api_options(given);
    *out = (api_resolved){.compile = {.opt_level = o.opt_level,
                                      .dump_after = o.dump_after,
                                      .dump = &c->dump,
                                      .max_trips = o.max_trips,
                                      .exact = o.exact}};
    base_status status = find_device(c, o.device, &out->compile.device);
    if (status == BASE_OK) {
        status = find_target(c, o.target != NULL ? o.target : out->compile.device->target, &out->compile.target);
    }
    if (status == BASE_OK) {
        status = api_check_ranges(c, &o);
    }
    if (status == BASE_OK) {
        status = api_check_effects(c, &o, out->compile.target->name);
    }
    if (status == BASE_OK && o.data_name != NULL &&
        (strchr(o.data_name, '/') != NULL || !*o.data_name || !strcmp(o.data_name, ".") ||
         !strcmp(o.data_name, ".."))) {
        base_error(&c->diags, NULL, "data_name: expected the name of a file, without a folder");
        status = BASE_USAGE;
    }
    if (status == BASE_OK && o.max_trips > 0 && !m->unsupported && !ir_has_loops(m->ir)) {
        base_error(&c->diags, NULL, "max_trips: it has no effect: %s has no loop whose rounds a run decides", m->file);
        status = BASE_USAGE;
    }
    if (status == BASE_OK && m->ir->by_numerics && strcmp(o.numerics, m->options.numerics) != 0) {
        base_error(&c->diags, NULL,
                   "numerics: %s contradicts itself, and was loaded as %s reads it: load it with the same numerics",
                   m->file, m->options.numerics);
        status = BASE_USAGE;
    }
    if (status == BASE_OK) {
        status = find_disabled(c, o.disable, &out->compile);
    }
    if (status == BASE_OK && o.prefix != NULL) {
        status = check_prefix(c, o.prefix);
    }
    if (status == BASE_OK && o.plan != NULL) {
        status = read_plan(c, o.plan, &out->compile.replay);
    }
    if (status == BASE_OK) {
        out->compile.prefix = o.prefix != NULL ? o.prefix : compile_prefix(c->arena, m->file);
        out->compiler = o.compiler;
        out->compile.goal = is(o.goal, "size") ? PLAN_SIZE : PLAN_LATENCY;
        out->compile.asked = o.goal;
        out->compile.generic = o.kernel != NULL ? is(o.kernel, "generic") : out->compile.goal == PLAN_SIZE;
        out->compile.fixed_kernel = o.kernel != NULL;
        out->compile.precise = o.accumulation != NULL ? is(o.accumulation, "precise") : is(o.goal, "accuracy");
        out->goals[0] = o.numerics;
        out->compile.goals = out->goals;
        out->compile.goal_count = 1;
    }
    return status;
}
