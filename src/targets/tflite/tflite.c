/* tflite.c - target `tflite`: a TensorFlow Lite model, as the format writes it (docs/TFLITE.md).
 *
 * Takes a model after those passes whose results TFLite has words for. Gives one file. Needs no plan.
 */
#include "formats/formats.h"
#include "targets/target.h"

static base_status emit(base_arena *arena, const plan_module *plan, const ir_model *model, const target_options *o,
                        target_files *out, base_diags *d) {
    base_text bytes = {.arena = arena};
    (void)plan;
    const formats_options options = {.writing = {.place = o->memory_plan ? target_place : NULL}};
    base_status status = formats_find("tflite")->write(arena, model, &options, &bytes, d);
    *BASE_PUSH(arena, &out->list) = (base_output_file){.name = "model.tflite", .bytes = bytes.at, .size = bytes.n};
    return status;
}

const target_interface target_tflite = {
    .name = "tflite",
    .description = "TensorFlow Lite model, read back by TFLite's own runtimes",
    .extension = "tflite",
    .executable = false,
    .needs_plan = false,
    /* Not scale, after which reals are other bits; not clamp, which makes RELU_0_TO_1, unknown to TFLM. */
    .passes = "fold moves requantise fuse dead copies",
    .foreign_passes = "fold moves requantise scales expand layout same scale fuse quantise dead copies unshare",
    .format = "tflite",
    .unused = "device prefix layout weights test compiler opset external-data exact goal kernel plan plan-lock "
              "accumulation memories",
    .emit = emit,
};
