/* onnx.c - target `onnx`: an ONNX model, as the format writes it (docs/ONNX.md).
 *
 * Takes a model after those passes whose results ONNX has words for. Gives one file, or its
 * constants as a second. Needs no plan.
 */
#include "formats/formats.h"
#include "targets/target.h"

static base_status emit(base_arena *arena, const plan_module *plan, const ir_model *model, const target_options *o,
                        target_files *out, base_diags *d) {
    base_text bytes = {.arena = arena};
    base_text data = {.arena = arena};
    (void)plan;
    const formats_options options = {.writing = {.opset = o->opset,
                                                 .external_data = o->external_data,
                                                 .data_name = o->data_name ? o->data_name : "model.onnx.data",
                                                 .data = &data,
                                                 .place = o->memory_plan ? target_place : NULL}};
    base_status status = formats_find("onnx")->write(arena, model, &options, &bytes, d);
    *BASE_PUSH(arena, &out->list) = (base_output_file){.name = "model.onnx", .bytes = bytes.at, .size = bytes.n};
    if (data.n) {
        *BASE_PUSH(arena, &out->list) =
            (base_output_file){.name = options.writing.data_name, .bytes = data.at, .size = data.n};
    }
    return status;
}

const target_interface target_onnx = {
    .name = "onnx",
    .description = "ONNX model, read back by ONNX Runtime",
    .extension = "onnx",
    .executable = false,
    .needs_plan = false,
    .passes = "fold moves dequantise expand unscale dead",
    .foreign_passes = "fold moves dequantise expand layout same integers unscale dead",
    .format = "onnx",
    .unused = "device prefix layout weights test compiler goal kernel plan plan-lock accumulation memories",
    .emit = emit,
};
