/* pipeline.c - the whole road on one page: graph, passes, plan, target.
 *
 * Takes a model that a format read. Gives a plan and the target's files. Each step is one call; what can be refused is
 * refused by the step that knows why.
 */
#include <ctype.h>
#include <string.h>

#include "compile/compile.h"
#include "formats/formats.h"

static bool is_keyword(const char *s) {
    static const char *const words[] = {
        "auto",   "break",  "case",     "char",     "class",    "const",  "continue", "default", "delete",   "do",
        "double", "else",   "enum",     "extern",   "float",    "for",    "goto",     "if",      "inline",   "int",
        "long",   "main",   "new",      "register", "restrict", "return", "short",    "signed",  "sizeof",   "static",
        "struct", "switch", "template", "this",     "typedef",  "union",  "unsigned", "void",    "volatile", "while"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(s, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char *compile_prefix(base_arena *arena, const char *file) {
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    const char *dot = strrchr(name, '.');
    size_t n = dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name);
    n = n > 64 ? 64 : n;
    base_text t = {.arena = arena};
    if (n == 0 || !is_letter(name[0])) {
        base_puts(&t, "model_");
    }
    for (size_t i = 0; i < n; i++) {
        char c = is_letter(name[i]) || (name[i] >= '0' && name[i] <= '9') ? name[i] : '_';
        base_putn(&t, &c, 1);
    }
    if (is_keyword(t.at)) {
        base_puts(&t, "_");
    }
    return t.at;
}

typedef struct vocabulary {
    const formats_interface *format;
    ops_registry *ops;
} vocabulary;

static bool is_said(void *user, base_arena *scratch, const ir_model *m, const ir_graph *g, const ir_node *n) {
    const vocabulary *v = user;
    return v->format->says(scratch, v->ops, m, g, n);
}

static bool has_memory(void *user, const ir_node *n, formats_memory memory) {
    const vocabulary *v = user;
    return v->format->memory != NULL && v->format->memory(n) == memory;
}

static bool is_over(void *user, const ir_node *n) {
    return has_memory(user, n, FORMATS_OVER);
}

static bool is_view(void *user, const ir_node *n) {
    return has_memory(user, n, FORMATS_VIEW);
}

static base_status run_passes(base_arena *arena, ops_registry *ops, ir_model *m, const compile_options *o,
                              plan_channels *channels, base_diags *d) {
    passes_context passes = {.arena = arena,
                             .ops = ops,
                             .goal = {o->goals, o->goal_count},
                             .opt_level = o->opt_level,
                             .without = o->without_passes,
                             .exact = o->exact};
    const char *format = o->target != NULL ? o->target->format : NULL;
    vocabulary words = {format != NULL ? formats_find(format) : NULL, ops};
    const bool foreign = format != NULL && (o->foreign || strcmp(m->format, format) != 0);
    const passes_vocabulary says = {
        .says = is_said, .is_over = is_over, .is_view = is_view, .user = &words, .own = !foreign};
    if (o->target != NULL) {
        passes.only = foreign && o->target->foreign_passes != NULL ? o->target->foreign_passes : o->target->passes;
    }
    passes.vocabulary = format != NULL && words.format->says != NULL ? &says : NULL;
    passes.dump_after = o->dump_after;
    passes.dump = o->dump;
    const base_status status = passes_run(&passes, m, d);
    if (o->layout != NULL) {
        *o->layout = passes.layout;
    }
    if (o->in_f32 != NULL) {
        *o->in_f32 = passes.in_f32;
    }
    if (channels != NULL) {
        *channels = (plan_channels){passes.channels.all, passes.channels.constant, passes.channels.dropped,
                                    passes.channels.macs, passes.channels.bytes};
    }
    return status;
}

base_status compile_passes(base_arena *arena, ops_registry *ops, ir_model *m, const compile_options *o, base_diags *d) {
    return run_passes(arena, ops, m, o, NULL, d);
}

base_status compile_integers(base_arena *arena, ops_registry *ops, ir_model *m, const char *numerics, base_diags *d) {
    const char *goals[] = {numerics};
    const compile_options o = {
        .target = target_find("tflite"), .opt_level = 1, .goals = goals, .goal_count = 1, .foreign = true};
    const base_status status = run_passes(arena, ops, m, &o, NULL, d);
    m->format = o.target->format;
    for (size_t i = 0; status == BASE_OK && i < m->graphs.n; i++) {
        ir_drop_unused_tensors(m, &m->graphs.at[i]);
    }
    return status;
}

/* ---- plan ---- */

/* What a plan takes. */
typedef struct costs {
    bool known;
    uint64_t cycles, flash, ram;
} costs;

/* Plans and emits it, in memory of its own. */
static costs costs_of(base_arena *arena, ops_registry *ops, const ir_model *m, const compile_options *o,
                      const plan_options *how) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    base_diags unheard = {.arena = scratch};
    plan_module *plan = NULL;
    target_files files = {0};
    const target_options layout = {.layout = "folder"};
    costs c = {.known = plan_build(scratch, ops, m, how, &plan, &unheard) == BASE_OK &&
                        compile_emit(scratch, o, plan, m, &layout, &files, &unheard) == BASE_OK};
    for (size_t i = 0; c.known && i < plan->kernels.n; i++) {
        c.cycles += plan->kernels.at[i].cost;
    }
    for (size_t i = 0; c.known && files.flash != NULL && i < files.flash->parts.n; i++) {
        c.flash += files.flash->parts.at[i].bytes;
    }
    c.ram = c.known ? plan_room(plan) : 0;
    base_arena_free(scratch);
    return c;
}

static bool is_within(uint64_t bytes, uint64_t least) {
    return bytes <= least + least / 10;
}

static bool is_better(const costs *a, const costs *b) {
    return a->cycles != b->cycles ? a->cycles < b->cycles
           : a->flash != b->flash ? a->flash < b->flash
                                  : a->ram < b->ram;
}

/* Goal "balanced": of the plans for either goal, with either kind of kernel, the fewest cycles among those whose flash and RAM are within
 * a tenth of the smallest; then the least flash. The first is as latency has it, so that plans without a model of cycles prefer that. */
static void choose_balanced(base_arena *arena, ops_registry *ops, const ir_model *m, const compile_options *o,
                            plan_options *how) {
    enum { WAYS = 4 };
    costs of[WAYS], *best = NULL;
    uint64_t flash = UINT64_MAX, ram = UINT64_MAX;
    plan_options way = *how;
    way.replay = NULL;
    for (unsigned i = 0; i < WAYS; i++) {
        way.goal = i < 2 ? PLAN_LATENCY : PLAN_SIZE;
        way.generic = i % 2 != 0;
        of[i] = (costs){0};
        if (!o->fixed_kernel || way.generic == how->generic) {
            of[i] = costs_of(arena, ops, m, o, &way);
        }
        flash = of[i].known && of[i].flash < flash ? of[i].flash : flash;
        ram = of[i].known && of[i].ram < ram ? of[i].ram : ram;
    }
    for (unsigned i = 0; i < WAYS; i++) {
        if (of[i].known && is_within(of[i].flash, flash) && is_within(of[i].ram, ram) &&
            (best == NULL || is_better(&of[i], best))) {
            best = &of[i];
            how->goal = i < 2 ? PLAN_LATENCY : PLAN_SIZE;
            how->generic = i % 2 != 0;
        }
    }
}

base_status compile_plan(base_arena *arena, ops_registry *ops, ir_model *m, const compile_options *o,
                         plan_module **plan, base_diags *d) {
    plan_channels channels = {0};
    base_status status = run_passes(arena, ops, m, o, &channels, d);
    if (status != BASE_OK) {
        return status;
    }
    plan_options how = {.device = o->device,
                        .prefix = o->prefix,
                        .goals = o->goals,
                        .goal_count = o->goal_count,
                        .opt_level = o->opt_level,
                        .without = o->without,
                        .without_passes = o->without_passes,
                        .max_trips = o->max_trips,
                        .goal = o->goal,
                        .asked = o->asked,
                        .generic = o->generic,
                        .precise = o->precise,
                        .replay = o->replay,
                        .channels = channels};
    if (o->asked != NULL && strcmp(o->asked, "balanced") == 0 && o->target->executable) {
        choose_balanced(arena, ops, m, o, &how);
    }
    return plan_build(arena, ops, m, &how, plan, d);
}

base_status compile_emit(base_arena *arena, const compile_options *o, const plan_module *plan, const ir_model *m,
                         const target_options *t, target_files *files, base_diags *d) {
    return o->target->emit(arena, plan, m, t, files, d);
}
