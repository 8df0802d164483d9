/* fuzz_compile.c - any bytes as a model of any format, by the public interface: looked at and compiled to C, without the check.
 *
 * Memory is limited, as a caller may: running out of it is a refusal like any other. Whatever is refused leaves a diagnostic.
 */
#include "burin/burin.h"

#include <stdlib.h>

static void compile_once(burin_context *context, const uint8_t *at, size_t size) {
    burin_model *model = NULL;
    if (burin_load_memory(context, "fuzz", at, size, &model) != BURIN_OK)
        return;
    const char *text = NULL;
    (void)burin_inspect(context, model, BURIN_TEXT, &text);
    burin_compile_options options = BURIN_COMPILE_OPTIONS_INIT;
    options.check = false;
    const burin_output *output = NULL;
    const size_t before = burin_diagnostic_count(context);
    const burin_status status = burin_compile(context, model, &options, &output);
    if ((status == BURIN_OK) != (output != NULL) || status == BURIN_INTERNAL || status == BURIN_WRONG)
        abort();
    if (status != BURIN_OK && status != BURIN_NO_MEMORY && burin_diagnostic_count(context) == before)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
    burin_context *context = burin_context_new(NULL, NULL, (size_t)512 << 20);
    if (!context)
        return 0;
    compile_once(context, at, size);
    burin_context_free(context);
    return 0;
}
