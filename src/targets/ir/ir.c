/* ir.c - target `ir`: the graph's text form, as Burin reads it back (docs/IR.md).
 *
 * Takes a model after its passes. Gives one text file. Needs no plan.
 */
#include "targets/target.h"

static base_status emit(base_arena *arena, const plan_module *plan, const ir_model *model, const target_options *o,
                        target_files *out, base_diags *d) {
    base_text text = {.arena = arena};
    (void)plan;
    (void)o;
    if (ir_has_strings(model)) {
        return base_error(d, NULL, "the text form has no strings: write ONNX (--target onnx)");
    }
    ir_print(&text, model);
    *BASE_PUSH(arena, &out->list) = (base_output_file){.name = "model.ir", .bytes = text.at, .size = text.n};
    return BASE_OK;
}

const target_interface target_ir = {
    .name = "ir",
    .description = "the graph as text, read back by burin",
    .extension = "ir",
    .executable = false,
    .needs_plan = false,
    /* all but chain: what is written is read again, to be cut at its values and compiled */
    .passes = "fold moves requantise scale pad clamp fuse dead",
    .unused = "device prefix layout weights test no-check check-cases compiler opset external-data exact goal kernel "
              "plan memory-plan plan-lock accumulation memories",
    .emit = emit,
};
