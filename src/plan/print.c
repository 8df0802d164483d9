/* print.c - the plan as a table for people and as JSON for programs.
 *
 * Takes a plan. Gives text; decides nothing. The JSON is version 1 of docs/PLAN.md: fields are only ever added.
 */
#include <inttypes.h>
#include <string.h>

#include "plan/plan_private.h"

#define PLAN_VERSION 1

static const plan_tensor *output_of(const plan_module *p, const plan_kernel *k) {
    uint32_t t = k->program->outputs.n > 0 ? k->tensor[k->program->outputs.at[0]] : IR_NONE;
    return t == IR_NONE ? NULL : &p->tensors.at[t];
}

/* Bytes of the constants a kernel reads, as the graph or folding has them. */
static uint64_t constant_bytes(const plan_module *p, const plan_kernel *k) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < k->program->tensors.n; i++) {
        if (k->tensor[i] != IR_NONE && p->tensors.at[k->tensor[i]].role == PLAN_CONSTANT) {
            bytes += p->tensors.at[k->tensor[i]].bytes;
        }
    }
    return bytes;
}

static const plan_schedule *main_schedule(const plan_kernel *k) {
    return &k->schedules[k->program->stages.n - 1];
}

/* Where a control kernel goes on, by the rows' numbers. */
static char *control_text(base_arena *arena, const plan_module *p, const plan_kernel *k) {
    const char *to = k->jump >= p->kernels.n ? "the end" : base_printf(arena, "step %" PRIu32, k->jump);
    bool tests = k->control == PLAN_IF || k->control == PLAN_WHILE;
    if (tests && k->condition == IR_NONE) {
        return base_strdup(arena, "goes on");
    }
    if (tests) {
        const plan_tensor *t = &p->tensors.at[k->condition];
        return base_printf(arena, "@%" PRIu64 " false: to %s", t->offset, to);
    }
    return base_printf(arena, "to %s", to);
}

static char *schedule_text(base_arena *arena, const plan_module *p, const plan_kernel *k) {
    if (k->control != PLAN_COMPUTE) {
        return control_text(arena, p, k);
    }
    if (k->program->stages.n == 0) {
        return base_strdup(arena, "constant");
    }
    const plan_schedule *x = main_schedule(k);
    if (x->form == PLAN_CONTRACT) {
        return base_printf(arena, "contract %ux%u", x->mr, x->nr);
    }
    if (x->form == PLAN_DEPTHWISE) {
        return base_printf(arena, "depthwise %u", x->nr);
    }
    return base_strdup(arena, plan_form_name(x->form));
}

bool plan_has_control(const plan_module *p) {
    for (size_t i = 0; i < p->kernels.n; i++) {
        if (p->kernels.at[i].control != PLAN_COMPUTE) {
            return true;
        }
    }
    return false;
}

/* Whether a step's number is another than its operator's in the file: then rows have both, as what is said below names steps. */
static bool has_steps(const plan_module *p) {
    for (size_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        if (k->control != PLAN_COMPUTE || k->id_count == 0 || k->ids[0] != i) {
            return true;
        }
    }
    return false;
}

/* steps: rows have their numbers; cycles: the machine has a model. */
static void put_row(base_text *out, base_arena *scratch, const plan_module *p, size_t i, bool steps, bool cycles) {
    const plan_kernel *k = &p->kernels.at[i];
    const plan_tensor *t = output_of(p, k);
    const char *ids = k->id_count > 0 && k->ids[0] != IR_NONE ? base_printf(scratch, "%u", k->ids[0]) : "-";
    if (steps) {
        base_put(out, "%5zu ", i);
    }
    const char *cost = cycles ? base_printf(scratch, "%12" PRIu64 " ", k->cost) : "";
    base_put(out, "%5s  %-18s %-14s %-5s %12" PRIu64 " %s%10" PRIu64 " %10" PRIu64 " %9s  %s\n", ids, k->op,
             t == NULL ? "" : ir_shape_print(scratch, &t->shape), t == NULL ? "" : base_type_name(t->type), k->macs,
             cost, constant_bytes(p, k), t == NULL ? 0 : t->bytes,
             t == NULL ? ""
                       : base_printf(scratch, "%s@%" PRIu64, p->banks.n > 1 ? p->device->memories[t->memory].name : "",
                                     plan_offset(p, t)),
             schedule_text(scratch, p, k));
}

static void put_banks(base_text *out, const plan_module *p) {
    if (p->banks.n < 2) {
        base_put(out, "RAM        arena %" PRIu64 " bytes, lower bound %" PRIu64 "; placed %s\n", p->arena_bytes,
                 p->arena_bound, p->placement);
    }
    for (size_t i = 0; i < p->banks.n && p->banks.n > 1; i++) {
        const plan_bank *b = &p->banks.at[i];
        const plan_memory *m = &p->device->memories[b->memory];
        base_put(out, "%-10s %s %" PRIu64 " bytes%s, lower bound %" PRIu64 "; placed %s\n", i == 0 ? "RAM" : "",
                 m->name, plan_bank_needs(p, i), m->bytes > 0 ? base_printf(p->arena, " of %" PRIu64, m->bytes) : "",
                 b->bound, b->placement);
    }
}

/* The tensors that hold the peak, the largest first. */
static void put_peak(base_text *out, base_arena *scratch, const plan_module *p) {
    enum { MOST = 4 };
    const uint64_t *live = plan_live_bytes(scratch, p);
    const size_t k = plan_fullest_kernel(p, live);
    uint32_t largest[MOST];
    size_t n = 0, all = 0;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        if (!plan_in_arena(p, i) || k < t->first || k > t->last) {
            continue;
        }
        all++;
        size_t at = n < MOST ? n++ : MOST;
        for (; at > 0 && p->tensors.at[largest[at - 1]].bytes < t->bytes; at--) {
            if (at < MOST) {
                largest[at] = largest[at - 1];
            }
        }
        if (at < MOST) {
            largest[at] = i;
        }
    }
    if (all == 0 || k >= p->kernels.n) { /* there may be no operator at all */
        return;
    }
    base_put(out, "peak       %" PRIu64 " bytes live in step %zu, %s:", live[k], k, p->kernels.at[k].op);
    for (size_t i = 0; i < n; i++) {
        const plan_tensor *t = &p->tensors.at[largest[i]];
        base_put(out, "%s %" PRIu64 " \"%s\"", i ? "," : "", t->bytes,
                 base_printable(scratch, t->name, strlen(t->name), 40));
    }
    base_put(out, "%s\n", all > n ? base_printf(scratch, ", and %zu more", all - n) : "");
}

/* The parts, and the functions that take most. */
static void put_flash(base_text *out, base_arena *scratch, const plan_flash *f) {
    enum { MOST = 6 };
    uint64_t bytes = 0;
    bool predicted = false;
    size_t largest[MOST], n = 0;
    for (size_t i = 0; i < f->parts.n; i++) {
        bytes += f->parts.at[i].bytes;
        predicted = predicted || f->parts.at[i].predicted;
    }
    base_put(out, "flash      %s%" PRIu64 " bytes:", predicted ? "about " : "", bytes);
    for (size_t i = 0, put = 0; i < f->parts.n; i++) {
        const plan_flash_part *x = &f->parts.at[i];
        if (x->bytes > 0) {
            base_put(out, "%s %s %s%" PRIu64, put++ > 0 ? "," : "", x->name, x->predicted ? "~" : "", x->bytes);
        }
    }
    base_puts(out, "\n");
    for (size_t i = 0; i < f->functions.n; i++) {
        size_t at = n < MOST ? n++ : MOST;
        for (; at > 0 && f->functions.at[largest[at - 1]].bytes < f->functions.at[i].bytes; at--) {
            if (at < MOST) {
                largest[at] = largest[at - 1];
            }
        }
        if (at < MOST) {
            largest[at] = i;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const plan_flash_function *x = &f->functions.at[largest[i]];
        base_put(out, "%s%s ~%" PRIu64 " of step %" PRIu32, i == 0 ? "functions  " : ", ", x->name, x->bytes, x->step);
    }
    base_put(out, "%s%s", f->functions.n > n ? base_printf(scratch, ", and %zu more", f->functions.n - n) : "",
             n > 0 ? "\n" : "");
}

/* Moves and passes that were not to be done, each in quotes where the list is JSON, a comma between. */
static void put_disabled(base_text *out, const plan_module *p, bool quoted) {
    const char *quote = quoted ? "\"" : "", *between = "";
    for (int i = 0; i < PLAN_MOVE_COUNT; i++) {
        if (plan_has(p->without, (plan_move)i)) {
            base_put(out, "%s%s%s%s", between, quote, plan_move_name((plan_move)i), quote);
            between = ",";
        }
    }
    for (const char *at = p->without_passes; at != NULL; at = strchr(at, ' ') != NULL ? strchr(at, ' ') + 1 : NULL) {
        base_put(out, "%s%s%.*s%s", between, quote, (int)strcspn(at, " "), at, quote);
        between = ",";
    }
}

void plan_print(base_text *out, const plan_module *p, const plan_flash *flash) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    const bool steps = has_steps(p);
    uint64_t cycles = 0;
    for (size_t i = 0; i < p->kernels.n; i++) {
        cycles += p->kernels.at[i].cost;
    }
    base_puts(out, steps ? " step " : "");
    base_put(out, "%5s  %-18s %-14s %-5s %12s %s%10s %10s %9s  %s\n", "id", "operator", "output", "type", "MACs",
             cycles > 0 ? "      cycles " : "", "constants", "bytes", "place", "form");
    for (size_t i = 0; i < p->kernels.n; i++) {
        put_row(out, scratch, p, i, steps, cycles > 0);
    }
    base_put(out, "\noperators  %zu, %" PRIu64 " MACs%s\n", p->kernels.n, p->macs,
             p->loops > 0 ? ", of each loop one round" : "");
    if (p->loops > 0 && p->max_trips > 0) {
        base_put(out, "loops      at most %" PRIu64 " rounds each time\n", p->max_trips);
    } else if (p->loops > 0) {
        base_puts(out, "loops      without a bound: --max-trips gives one\n");
    }
    put_banks(out, p);
    if (p->moved > 0) {
        base_put(out, "order      %zu operators are done at another time than in the model: the arena is smaller so\n",
                 p->moved);
    }
    if (cycles > 0) {
        base_put(out, "cycles     about %" PRIu64 "%s, as the device's table has them, without wait states\n", cycles,
                 p->loops > 0 ? ", of each loop one round" : "");
    }
    put_peak(out, scratch, p);
    if (p->state_bytes > 0) {
        base_put(out, "state      %" PRIu64 " bytes\n", p->state_bytes);
    }
    base_put(out, "constants  %" PRIu64 " bytes\n", p->constant_bytes);
    if (flash != NULL) {
        put_flash(out, scratch, flash);
    }
    if (p->channels.constant > 0) {
        base_put(out,
                 "channels   %" PRIu64 " of %" PRIu64 " are constant for every input; %" PRIu64
                 " are not computed: %" PRIu64 " MACs and %" PRIu64 " bytes of constants less\n",
                 p->channels.constant, p->channels.all, p->channels.dropped, p->channels.macs, p->channels.bytes);
    }
    base_put(out, "device     %s\n", p->device->name);
    if (p->without != 0 || p->without_passes != NULL) {
        base_puts(out, "disabled   ");
        put_disabled(out, p, false);
        base_puts(out, "\n");
    }
    base_arena_free(scratch);
}

/* ---- JSON ---- */

static void put_shape(base_text *out, const ir_shape *s) {
    base_puts(out, "[");
    for (uint32_t k = 0; k < s->rank; k++) {
        base_put(out, "%s%" PRId64, k ? "," : "", s->dim[k]);
    }
    base_puts(out, "]");
}

static void put_schedule(base_text *out, const lang_program *p, size_t i, const plan_schedule *x) {
    base_puts(out, "{\"stage\":");
    base_put_quoted(out, p->tensors.at[p->stages.at[i].tensor].name);
    base_put(out, ",\"form\":\"%s\",\"order\":[", plan_form_name(x->form));
    for (uint32_t k = 0; k < x->order_count; k++) {
        base_put(out, "%s%u", k ? "," : "", x->order[k]);
    }
    base_put(out,
             "],\"n_var\":%d,\"mr\":%u,\"nr\":%u,\"unroll\":%u,\"hoist_zero\":%s,\"threads_var\":%d,\"shared\":%u,"
             "\"line_bytes\":%" PRIu64 "}",
             x->n_var == 255 ? -1 : (int)x->n_var, x->mr, x->nr, x->unroll, x->hoist_zero ? "true" : "false",
             x->threads_var == 255 ? -1 : (int)x->threads_var, x->shared, x->line_bytes);
}

static void put_control(base_text *out, const plan_kernel *k) {
    static const char *const names[PLAN_CONTROL_COUNT] = {"compute", "if", "else", "while", "repeat"};
    base_put(out, ",\"control\":\"%s\"", names[k->control]);
    if (k->control == PLAN_COMPUTE) {
        return;
    }
    base_put(out, ",\"jump\":%" PRIu32 ",\"condition\":%d,\"loop\":%d", k->jump,
             k->condition == IR_NONE ? -1 : (int)k->condition, k->loop == IR_NONE ? -1 : (int)k->loop);
}

static void put_kernel(base_text *out, const plan_kernel *k, size_t i) {
    base_put(out, "    {\"kernel\":%zu,\"graph\":%" PRIu32 ",\"ids\":[", i, k->graph->index);
    for (size_t n = 0, put = 0; n < k->id_count; n++) {
        if (k->ids[n] != IR_NONE) {
            base_put(out, "%s%u", put++ ? "," : "", k->ids[n]);
        }
    }
    base_puts(out, "],\"op\":");
    base_put_quoted(out, k->op);
    put_control(out, k);
    base_put(out, ",\"macs\":%" PRIu64 ",\"cost\":%" PRIu64 ",\"reason\":", k->macs, k->cost);
    base_put_quoted(out, k->reason == NULL ? "" : k->reason);
    base_puts(out, ",\"tensors\":[");
    for (size_t t = 0, put = 0; t < k->program->tensors.n; t++) {
        if (k->tensor[t] != IR_NONE) {
            base_put(out, "%s%u", put++ ? "," : "", k->tensor[t]);
        }
    }
    base_puts(out, "],\"stages\":[");
    for (size_t s = 0; s < k->program->stages.n; s++) {
        base_puts(out, s ? "," : "");
        put_schedule(out, k->program, s, &k->schedules[s]);
    }
    base_puts(out, "]}");
}

static void put_tensor(base_text *out, const plan_module *p, uint32_t i) {
    const plan_tensor *t = &p->tensors.at[i];
    base_put(out, "    {\"tensor\":%u,\"graph\":%" PRIu32 ",\"source\":%d,\"name\":", i,
             p->model->graphs.at[t->graph].index, t->graph_tensor == IR_NONE ? -1 : (int)t->graph_tensor);
    base_put_quoted(out, t->name);
    base_put(out, ",\"role\":\"%s\",\"type\":\"%s\",\"shape\":", plan_role_name(t->role), base_type_name(t->type));
    put_shape(out, &t->shape);
    bool placed = t->role != PLAN_CONSTANT;
    base_put(out, ",\"bytes\":%" PRIu64 ",\"memory\":", t->bytes);
    base_put_quoted(out, t->memory < p->device->memory_count ? p->device->memories[t->memory].name
                         : placed                            ? "arena"
                                                             : "constants");
    if (placed) {
        base_put(out, ",\"offset\":%" PRIu64 ",\"first\":%u,\"last\":%u,\"root\":%u,\"root_offset\":%" PRIu64,
                 plan_offset(p, t), t->first, t->last, t->root, t->root_offset);
    }
    if (t->until != UINT32_MAX) {
        base_put(out, ",\"from\":%u,\"until\":%u", t->from, t->until);
    }
    base_puts(out, "}");
}

/* Where there are several: each, with its limit, 0: none. */
static void put_banks_json(base_text *out, const plan_module *p) {
    base_puts(out, p->banks.n > 1 ? ",\"memories\":[" : "");
    for (size_t i = 0; i < p->banks.n && p->banks.n > 1; i++) {
        const plan_memory *m = &p->device->memories[p->banks.at[i].memory];
        base_put(out,
                 "%s{\"name\":\"%s\",\"bytes\":%" PRIu64 ",\"lower_bound\":%" PRIu64 ",\"limit\":%" PRIu64
                 ",\"section\":",
                 i > 0 ? "," : "", m->name, plan_bank_needs(p, i), p->banks.at[i].bound, m->bytes);
        base_put_quoted(out, m->section != NULL ? m->section : base_printf(p->arena, ".bss.%s", m->name));
        base_puts(out, ",\"placement\":");
        base_put_quoted(out, p->banks.at[i].placement);
        base_puts(out, "}");
    }
    base_puts(out, p->banks.n > 1 ? "]" : "");
}

static void put_list(base_text *out, const char *name, const uint32_t *at, size_t n) {
    base_put(out, "  \"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        base_put(out, "%s%u", i ? "," : "", at[i]);
    }
    base_puts(out, "],\n");
}

static void put_flash_json(base_text *out, const plan_flash *f) {
    base_puts(out, "  \"flash\":{\"parts\":[");
    for (size_t i = 0; i < f->parts.n; i++) {
        base_put(out, "%s{\"part\":\"%s\",\"bytes\":%" PRIu64 ",\"predicted\":%s}", i ? "," : "", f->parts.at[i].name,
                 f->parts.at[i].bytes, f->parts.at[i].predicted ? "true" : "false");
    }
    base_puts(out, "],\"functions\":[");
    for (size_t i = 0; i < f->functions.n; i++) {
        base_put(out, "%s{\"function\":\"%s\",\"kernel\":%" PRIu32 ",\"bytes\":%" PRIu64 "}", i ? "," : "",
                 f->functions.at[i].name, f->functions.at[i].step, f->functions.at[i].bytes);
    }
    base_puts(out, "]},\n");
}

void plan_print_json(base_text *out, const plan_module *p, const plan_flash *flash, const char *check) {
    base_put(out, "{\n  \"version\":%d,\n  \"prefix\":", PLAN_VERSION);
    base_put_quoted(out, p->prefix);
    base_puts(out, ",\n  \"model\":{\"file\":");
    base_put_quoted(out, p->model->file);
    base_puts(out, ",\"format\":");
    base_put_quoted(out, p->model->format);
    base_put(out, ",\"structure_hash\":\"%016" PRIx64 "\",\"weights_hash\":\"%016" PRIx64 "\"},\n", p->structure_hash,
             p->weights_hash);
    base_puts(out, "  \"device\":{\"name\":");
    base_put_quoted(out, p->device->name);
    const plan_machine *m = &p->device->machine;
    base_put(out,
             ",\"detected\":%s,\"vector_bytes\":%u,\"registers\":%u,\"tile_m\":%u,\"tile_n\":%u,\"depthwise_n\":%u,"
             "\"unroll_k\":%u,\"alignment\":%u},\n",
             p->device->detected ? "true" : "false", m->vector_bytes, m->registers, m->tile_m, m->tile_n,
             m->depthwise_n, m->unroll_k, m->alignment);
    base_put(out, "  \"goal\":\"%s\",\n  \"kernel\":\"%s\",\n  \"accumulation\":\"%s\",\n", p->asked,
             p->generic ? "generic" : "specialized", p->precise ? "precise" : "defined");
    base_put(out, "  \"arena\":{\"bytes\":%" PRIu64 ",\"lower_bound\":%" PRIu64 ",\"placement\":", p->arena_bytes,
             p->arena_bound);
    base_put_quoted(out, p->placement);
    put_banks_json(out, p);
    base_put(out,
             ",\"moved\":%zu},\n  \"state_bytes\":%" PRIu64 ",\n  \"constant_bytes\":%" PRIu64 ",\n  \"macs\":%" PRIu64
             ",\n",
             p->moved, p->state_bytes, p->constant_bytes, p->macs);
    base_put(out,
             "  \"channels\":{\"all\":%" PRIu64 ",\"constant\":%" PRIu64 ",\"dropped\":%" PRIu64
             ",\"macs_saved\":%" PRIu64 ",\"constant_bytes_saved\":%" PRIu64 "},\n",
             p->channels.all, p->channels.constant, p->channels.dropped, p->channels.macs, p->channels.bytes);
    if (flash != NULL) {
        put_flash_json(out, flash);
    }
    base_puts(out, "  \"disabled\":[");
    put_disabled(out, p, true);
    base_puts(out, "],\n");
    put_list(out, "inputs", p->inputs.at, p->inputs.n);
    put_list(out, "outputs", p->outputs.at, p->outputs.n);
    for (size_t i = 0; i < p->counts.n; i++) {
        base_put(out, "%s{\"tensor\":%u,\"of\":%u,\"axis\":%u,\"set\":%s}%s", i == 0 ? "  \"counts\":[" : ",",
                 p->counts.at[i].tensor, p->counts.at[i].of, p->counts.at[i].axis,
                 p->counts.at[i].set ? "true" : "false", i + 1 == p->counts.n ? "],\n" : "");
    }
    base_puts(out, "  \"kernels\":[\n");
    for (size_t i = 0; i < p->kernels.n; i++) {
        put_kernel(out, &p->kernels.at[i], i);
        base_puts(out, i + 1 < p->kernels.n ? ",\n" : "\n");
    }
    base_puts(out, "  ],\n  \"tensors\":[\n");
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        put_tensor(out, p, i);
        base_puts(out, i + 1 < p->tensors.n ? ",\n" : "\n");
    }
    base_put(out, "  ],\n  \"check\":%s\n}\n", check == NULL ? "{\"checked\":false}" : check);
}
