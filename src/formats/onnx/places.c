/* places.c - where the values of a written graph may lie while it runs, as metadata of the model: "burin.memory_plan".
 *
 * Takes the nodes as they are put. Gives JSON: of every value of the graph whose size is known, by its name, the offset, the bytes, and the
 * first and the last node that use it. Values between nodes that one of the graph's became have none, nor have constants.
 */
#include "formats/onnx/writer.h"

#include <string.h>

struct onnx_lives {
    base_arena *arena;
    const onnx_sheet *sheet; /* whose nodes count */
    base_map *of;            /* name -> number of its block + 1 */
    BASE_VEC(formats_block) blocks;
    BASE_VEC(const char *) names;
    uint32_t nodes; /* of the sheet, so far */
};

static void begin(onnx_lives *l, const onnx_frame *f, uint32_t t) {
    const ir_tensor *tensor = &f->g->tensors.at[t];
    bool is_new, is_fixed = true;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < tensor->shape.rank; i++) {
        is_fixed = is_fixed && !tensor->shape.symbol[i];
    }
    const char *name = f->name_of[t];
    if (!name || tensor->data || !is_fixed || !ir_tensor_bytes(tensor, &bytes) || bytes == 0) {
        return;
    }
    uint64_t *number = base_map_put(l->of, name, strlen(name), &is_new);
    if (is_new) {
        *BASE_PUSH(l->arena, &l->blocks) = (formats_block){.bytes = bytes, .first = UINT32_MAX};
        *BASE_PUSH(l->arena, &l->names) = name;
        *number = l->blocks.n;
    }
}

static void use(onnx_lives *l, const char *name, uint32_t node) {
    const uint64_t *number = base_map_get(l->of, name, strlen(name));
    if (number) {
        formats_block *b = &l->blocks.at[*number - 1];
        b->first = b->first == UINT32_MAX ? node : b->first;
        b->last = node;
    }
}

onnx_lives *onnx_lives_new(const onnx_frame *f) {
    onnx_lives *l = BASE_NEW(f->w->arena, onnx_lives);
    *l = (onnx_lives){.arena = f->w->arena, .sheet = f->sheet, .of = base_map_new(f->w->arena)};
    for (uint32_t t = 0; t < f->g->tensors.n; t++) {
        begin(l, f, t);
    }
    for (size_t i = 0; i < f->g->inputs.n; i++) {
        use(l, f->name_of[f->g->inputs.at[i]], 0);
    }
    return l;
}

/* Graphs are put before the node that has them: what they use, it uses. */
void onnx_lives_note(onnx_lives *l, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        use(l, names[i], l->nodes);
    }
}

void onnx_lives_next(onnx_lives *l, const onnx_sheet *sheet) {
    l->nodes += sheet == l->sheet;
}

void onnx_lives_end(onnx_lives *l, const onnx_frame *f) {
    for (size_t i = 0; i < f->g->outputs.n; i++) {
        use(l, f->name_of[f->g->outputs.at[i]], l->nodes ? l->nodes - 1 : 0);
    }
}

const char *onnx_lives_places(onnx_lives *l, const char *file, const formats_writing *how, base_diags *d) {
    const base_place place = {.file = file};
    base_text t = {.arena = l->arena};
    size_t n = 0;
    for (size_t i = 0; i < l->blocks.n; i++) {
        if (l->blocks.at[i].first != UINT32_MAX) {
            l->names.at[n] = l->names.at[i];
            l->blocks.at[n++] = l->blocks.at[i];
        }
    }
    const uint64_t all = how->place(l->arena, l->blocks.at, n);
    base_put(&t, "{\"version\": 1, \"bytes\": %llu, \"alignment\": %d, \"values\": {", (unsigned long long)all,
             FORMATS_BLOCK_ALIGNMENT);
    for (size_t i = 0; i < n; i++) {
        const formats_block *b = &l->blocks.at[i];
        base_puts(&t, i ? ", " : "");
        base_put_quoted(&t, l->names.at[i]);
        base_put(&t, ": {\"offset\": %llu, \"bytes\": %llu, \"first\": %u, \"last\": %u}",
                 (unsigned long long)b->offset, (unsigned long long)b->bytes, b->first, b->last);
    }
    base_puts(&t, "}}");
    base_note(d, &place, "memory plan: %llu bytes for %zu values", (unsigned long long)all, n);
    return t.at;
}
