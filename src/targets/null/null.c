/* null.c - target `null`: no code. Prints the plan as a table: the folder to copy when a target is added.
 *
 * Takes a plan. Gives one text file, plan.txt.
 */
#include "targets/target.h"

static base_status emit(base_arena *arena, const plan_module *plan, const ir_model *model, const target_options *o,
                        target_files *out, base_diags *d) {
    base_text text = {.arena = arena};
    (void)model;
    (void)o;
    (void)d;
    plan_print(&text, plan, NULL);
    *BASE_PUSH(arena, &out->list) = (base_output_file){.name = "plan.txt", .bytes = text.at, .size = text.n};
    return BASE_OK;
}

const target_interface target_null = {
    .name = "null",
    .description = "no code: the plan, as a table",
    .extension = NULL,
    .executable = false,
    .needs_plan = true,
    .unused = "prefix layout weights test no-check check-cases compiler opset external-data exact kernel memory-plan "
              "accumulation memories",
    .emit = emit,
};
