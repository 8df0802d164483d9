/* c.c - target `c`: a planned model as portable C99.
 *
 * Takes a plan. Gives the files of a module (docs/MODULE.md) in the layouts folder and single, weights inline or as one
 * blob, golden tests on demand, and the plan as JSON. Knows no operator: it emits the stages of the kernels' programs
 * by their schedules.
 */
#include <string.h>

#include <inttypes.h>

#include "targets/c/emit.h"

static void add_file(c_module *m, target_files *out, const char *suffix, const base_text *text) {
    const char *name = base_printf(m->arena, "%s%s", m->prefix, suffix);
    *BASE_PUSH(m->arena, &out->list) = (base_output_file){.name = name, .bytes = text->at, .size = text->n};
}

/* BUDGET: the first memory that is not writable has no room for the constants and the code. */
static base_status check_flash(const plan_module *plan, const plan_flash *flash, base_diags *d) {
    uint64_t bytes = 0;
    base_text parts = {.arena = plan->arena};
    for (size_t i = 0; i < flash->parts.n; i++) {
        bytes += flash->parts.at[i].bytes;
        base_put(&parts, "%s%s %" PRIu64, i > 0 ? ", " : "", flash->parts.at[i].name, flash->parts.at[i].bytes);
    }
    const plan_memory *m = plan->device->memories, *end = m + plan->device->memory_count;
    while (m < end && m->writable) {
        m++;
    }
    if (m == end || m->bytes == 0 || bytes <= m->bytes) {
        return BASE_OK;
    }
    base_error(d, NULL,
               "%s: the memory %s has %" PRIu64 " bytes, and about %" PRIu64
               " are needed: %s; --goal size, a larger memory (--memories) or a smaller network would do",
               plan->model->file, m->name, m->bytes, bytes, parts.at);
    return BASE_BUDGET;
}

static base_status emit(base_arena *arena, const plan_module *plan, const ir_model *model, const target_options *o,
                        target_files *out, base_diags *d) {
    (void)model;
    c_module *m = BASE_NEW(arena, c_module);
    *m = (c_module){.arena = arena, .plan = plan, .options = o, .diags = d, .prefix = plan->prefix};
    m->helpers = c_helpers_new(arena, plan->prefix);
    m->data_map = base_map_new(arena);
    m->function_map = base_map_new(arena);
    m->calls = BASE_NEWS(arena, c_kernel_calls, plan->kernels.n + 1);
    m->vector = plan->device != NULL && plan->device->machine.vector_bytes > 0;
    if (o->layout != NULL && strcmp(o->layout, "folder") != 0 && strcmp(o->layout, "single") != 0) {
        (void)base_error(d, NULL, "target c has no layout `%s`: folder, single", o->layout);
        return BASE_USAGE;
    }
    for (uint32_t k = 0; k < plan->kernels.n; k++) {
        base_status status = c_emit_kernel(m, k);
        if (status != BASE_OK) {
            return status;
        }
    }
    if (plan->generic) {
        c_share_functions(m);
    }
    base_status status = c_external_note(m);
    if (status != BASE_OK) {
        return status;
    }
    base_text json = {.arena = arena};
    c_module_files(m, out);
    out->flash = c_flash(m);
    status = check_flash(plan, out->flash, d);
    if (status != BASE_OK) {
        return status;
    }
    plan_print_json(&json, plan, out->flash, o->plan_check);
    add_file(m, out, "_plan.json", &json);
    return BASE_OK;
}

const target_interface target_c = {
    .name = "c",
    .description = "portable C99: one module with its weights, for hosts and microcontrollers",
    .extension = NULL,
    .executable = true,
    .needs_plan = true,
    .unused = "opset external-data exact memory-plan",
    .emit = emit,
};
