/* fuzz_lang.c - definitions of any bytes: parsed, then every operator instantiated with a few fixed sets of arguments.
 *
 * Memory is limited, as it is for every caller; running out must come back to the guard.
 */
#include <stddef.h>
#include <stdint.h>

#include "lang/lang.h"

static const int32_t counts[] = {1, 2, 0, 3};
static const float scales[] = {0.5f, 0.25f, 2.0f};
static const int64_t zeros[] = {-3, 0, 7};
static const int64_t ones[] = {1, 1, 1};

static lang_argument argument(base_type type, uint32_t rank, const int64_t *dims, uint32_t scale_count,
                              const void *data) {
    lang_argument a = {.present = true, .type = type, .shape = ir_shape_of(rank, dims), .data = data};
    a.quant = (ir_quant){.n = scale_count, .axis = 0, .scale = scales, .zero = zeros};
    return a;
}

/* Calls op with every attribute its first overload names (as an integer, or a list of them), so that bodies are
 * reached. */
static void instantiate(base_arena *arena, const lang_library *lib, const char *op, const lang_argument *inputs,
                        size_t n, const lang_argument *output) {
    base_diags diags = {.arena = arena};
    static const char *const goals[] = {"litert"};
    lang_call call = {.op = op,
                      .inputs = inputs,
                      .input_count = n,
                      .outputs = output,
                      .output_count = output ? 1 : 0,
                      .goals = goals,
                      .goal_count = n & 1};
    call.node_limit = 4000;
    lang_program *program = NULL;
    if (lang_overload_count(lib, op) > 0) {
        lang_op_info info = lang_overload(lib, op, 0, arena);
        ir_attr *attrs = BASE_NEWS(arena, ir_attr, info.attr_count + 1);
        for (size_t k = 0; k < info.attr_count; k++) {
            const char *s = info.attrs[k];
            size_t length = 0;
            while ((s[length] >= '0' && s[length] <= '9') || (s[length] >= 'A' && s[length] <= 'Z') ||
                   (s[length] >= 'a' && s[length] <= 'z') || s[length] == '_')
                length++;
            attrs[k].name = base_strndup(arena, s, length);
            attrs[k].kind = s[length] == '.' ? IR_INTS : IR_INT;
            if (s[length] == '.') {
                attrs[k].n = 2;
                attrs[k].v.ints = ones;
            } else {
                attrs[k].v.i = 1;
            }
        }
        call.attrs = attrs;
        call.attr_count = n == 2 ? 0 : info.attr_count;
    }
    if (lang_instantiate(arena, lib, &call, &program, &diags) != BASE_OK)
        return;
    base_diags faults = {.arena = arena};
    if (lang_verify(program, &faults) != BASE_OK)
        __builtin_trap();
    base_text text = {.arena = arena};
    lang_print(&text, program);
}

static void whole(base_arena *arena, const char *text, size_t size) {
    base_diags diags = {.arena = arena};
    lang_library *lib = lang_library_new(arena);
    base_status status = lang_parse(lib, "fuzz", text, size, &diags);
    if ((status == BASE_OK) != (diags.errors == 0))
        __builtin_trap();
    base_text shown = {.arena = arena};
    for (size_t k = 0; k < diags.list.n; k++)
        base_diag_print(&shown, &diags.list.at[k], false);
    lang_argument image = argument(BASE_I8, 4, (const int64_t[]){1, 4, 4, 2}, 1, NULL);
    lang_argument matrix = argument(BASE_F32, 2, (const int64_t[]){2, 3}, 0, NULL);
    lang_argument list = argument(BASE_I32, 1, (const int64_t[]){4}, 0, counts);
    lang_argument channels = argument(BASE_I8, 1, (const int64_t[]){3}, 3, NULL);
    lang_argument scalar = argument(BASE_F32, 0, NULL, 0, NULL);
    const lang_argument mixed[] = {image, image, list, channels};
    const lang_argument floats[] = {matrix, matrix, scalar};
    const lang_argument lists[] = {list, list};
    for (size_t k = 0; k < lang_op_count(lib) && k < 6; k++) {
        const char *op = lang_op_name(lib, k);
        for (size_t n = 1; n <= 4; n++)
            instantiate(arena, lib, op, mixed, n, n == 4 ? &image : NULL);
        for (size_t n = 0; n <= 3; n++)
            instantiate(arena, lib, op, floats, n, n == 3 ? &matrix : NULL);
        for (size_t n = 1; n <= 2; n++)
            instantiate(arena, lib, op, lists, n, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
    base_memory memory = {.limit = (size_t)256 << 20};
    base_guard guard;
    if (BASE_GUARD(&memory, &guard))
        return 0;
    base_arena *arena = base_arena_new(&memory);
    whole(arena, (const char *)at, size);
    base_unguard(&memory, &guard);
    base_arena_free(arena);
    if (memory.in_use != 0)
        __builtin_trap();
    return 0;
}
