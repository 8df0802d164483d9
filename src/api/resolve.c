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

/* "64K" -> 65536. */
static bool take_bytes(const char *s, const char **end, uint64_t *bytes) {
    *bytes = 0;
    if (*s < '0' || *s > '9') {
        return false;
    }
    for (; *s >= '0' && *s <= '9' && *bytes < UINT32_MAX; s++) {
        *bytes = *bytes * 10 + (uint64_t)(*s - '0');
    }
    const unsigned shift = *s == 'K' ? 10 : *s == 'M' ? 20 : 0;
    *bytes <<= shift;
    *end = s + (shift > 0);
    return *bytes > 0 && *bytes <= UINT32_MAX;
}

/* One of the list, up to its comma. */
static bool take_memory(burin_context *c, const char *s, const char **end, plan_memory *out) {
    const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    *out = (plan_memory){.writable = true};
    if (n == 0 || n > 16 || s[0] < 'a' || s[0] > 'z' || s[n] != '=' || !take_bytes(s + n + 1, end, &out->bytes)) {
        return false;
    }
    out->name = base_strndup(c->arena, s, n);
    if (**end == '@') {
        const size_t section = strcspn(*end + 1, ",");
        const bool good = section > 0 && section <= 64 && strcspn(*end + 1, "\"\\\n\t ") >= section;
        out->section = base_strndup(c->arena, *end + 1, section);
        *end += 1 + section;
        return good;
    }
    return true;
}

static const plan_memory *find_memory(const plan_memory *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

/* The device with these memories: writable ones in place of its own, sizes of the others. */
static base_status take_memories(burin_context *c, const char *given, const plan_device **device) {
    enum { MOST = 8 };
    const plan_device *from = *device;
    plan_device *to = BASE_NEW(c->arena, plan_device);
    plan_memory *list = BASE_NEWS(c->arena, plan_memory, MOST + from->memory_count);
    size_t n = 0, writable = 0;
    for (const char *at = given; at != NULL; at = *at == ',' ? at + 1 : NULL) {
        const char *begin = at;
        if (n == MOST || !take_memory(c, begin, &at, &list[n]) || (*at != ',' && *at != 0) ||
            find_memory(list, n, list[n].name) != NULL) {
            base_error(&c->diags, NULL,
                       "memories: expected NAME=BYTES or NAME=BYTES@SECTION, at most %d of different names in small "
                       "letters, a comma between, such as tcm=64K@.dtcm,ram=256K; not \"%s\"",
                       MOST, base_printable(c->arena, begin, strlen(begin), 60));
            return BASE_USAGE;
        }
        const plan_memory *own = find_memory(from->memories, from->memory_count, list[n].name);
        list[n].writable = own == NULL || own->writable;
        writable += list[n].writable;
        n++;
    }
    for (size_t i = 0; i < from->memory_count; i++) {
        const plan_memory *own = &from->memories[i];
        if (find_memory(list, n, own->name) == NULL && (!own->writable || writable == 0)) {
            list[n++] = *own;
        }
    }
    *to = *from;
    to->memories = list;
    to->memory_count = n;
    *device = to;
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
    if (status == BASE_OK && o.memories != NULL) {
        status = take_memories(c, o.memories, &out->compile.device);
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
