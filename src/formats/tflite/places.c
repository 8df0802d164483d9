/* places.c - where the tensors of a written file may lie while it runs: TFLite Micro's offline memory allocation.
 *
 * Takes the file's tables. Gives one more buffer with the offsets. Every tensor that operators compute, and every input, has a place from
 * the first operator that uses it to the last, as TFLite Micro counts it; constants, variables and what nothing uses have none.
 * Source: TensorFlow Lite Micro, Memory Management, "Offline planned tensor allocations".
 */
#include "formats/tflite/writer.h"

#include <string.h>

enum { VERSION = 1, HEAD = 3 };

typedef struct uses {
    const tflite_file_graph *g;
    formats_block *of; /* each tensor; bytes 0: it has no place */
} uses;

/* Elements of less than a byte are unpacked by some versions: they get a byte each. */
static uint64_t bytes_of(const tflite_file_tensor *t) {
    ir_tensor whole = {.type = tflite_type_base(t->type), .shape = t->shape};
    uint64_t bytes = 0;
    whole.type = base_type_bits(whole.type) < 8 ? BASE_U8 : whole.type;
    return ir_tensor_bytes(&whole, &bytes) ? bytes : UINT64_MAX;
}

static void note(uses *u, int32_t tensor, uint32_t op) {
    if (tensor < 0 || u->g->tensors.at[tensor].is_variable || u->g->tensors.at[tensor].buffer != 0) {
        return;
    }
    formats_block *b = &u->of[tensor];
    if (b->bytes == 0) {
        *b = (formats_block){.bytes = bytes_of(&u->g->tensors.at[tensor]), .first = op};
    }
    b->last = op;
}

static void note_all(uses *u) {
    const tflite_file_graph *g = u->g;
    for (size_t i = 0; i < g->input_count; i++) {
        note(u, g->inputs[i], 0);
    }
    for (uint32_t op = 0; op < g->ops.n; op++) {
        const tflite_file_op *one = &g->ops.at[op];
        for (size_t i = 0; i < one->input_count + one->output_count; i++) {
            note(u, i < one->input_count ? one->inputs[i] : one->outputs[i - one->input_count], op);
        }
    }
    for (size_t i = 0; i < g->output_count && g->ops.n; i++) {
        note(u, g->outputs[i], (uint32_t)g->ops.n - 1);
    }
}

static base_status too_large(base_diags *d, const ir_model *m, uint64_t bytes) {
    const base_place place = {.file = m->file};
    return base_error(d, &place, "memory plan: %llu bytes: offsets have 31 bits", (unsigned long long)bytes);
}

base_status tflite_say_places(base_arena *arena, const ir_model *m, const formats_writing *how, tflite_file *file,
                              base_diags *d) {
    const base_place place = {.file = m->file};
    if (file->graphs.n != 1) {
        return base_error(d, &place,
                          "memory plan: the model has %zu sub-graphs, and TFLite Micro takes places for one: leave out "
                          "--memory-plan",
                          file->graphs.n);
    }
    const size_t n = file->graphs.at[0].tensors.n;
    uses u = {.g = &file->graphs.at[0], .of = BASE_NEWS(arena, formats_block, n + 1)};
    formats_block *blocks = BASE_NEWS(arena, formats_block, n + 1);
    int32_t *list = BASE_NEWS(arena, int32_t, HEAD + n);
    size_t count = 0;
    note_all(&u);
    for (size_t i = 0; i < n; i++) {
        if (u.of[i].bytes > INT32_MAX) {
            return too_large(d, m, u.of[i].bytes);
        }
        if (u.of[i].bytes != 0) {
            blocks[count++] = u.of[i];
        }
    }
    const uint64_t all = how->place(arena, blocks, count);
    if (all > INT32_MAX) {
        return too_large(d, m, all);
    }
    memcpy(list, (const int32_t[HEAD]){VERSION, 0, (int32_t)n}, HEAD * sizeof *list);
    for (size_t i = 0, at = 0; i < n; i++) {
        list[HEAD + i] = u.of[i].bytes != 0 ? (int32_t)blocks[at++].offset : -1;
    }
    file->places = (uint32_t)file->buffers.n;
    *BASE_PUSH(arena, &file->buffers) = (base_bytes){(const uint8_t *)list, (HEAD + n) * sizeof *list};
    base_note(d, &place, "memory plan: %llu bytes for %zu values", (unsigned long long)all, count);
    return BASE_OK;
}
