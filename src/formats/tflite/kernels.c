/* kernels.c - whether a runtime has a kernel for an operator's plain numbers, and whose memory it writes (kernels.def).
 *
 * Takes an operator as a row says it. Gives nothing where some runtime's kernel takes its types and ranks, or the reason why none does, with
 * the types that one would take.
 */
#include "formats/tflite/steps.h"

#include <string.h>

typedef struct takes {
    tflite_builtin builtin;
    bool is_output;
    size_t at;
    const char *types;
} takes;

typedef struct ranks {
    tflite_builtin builtin;
    int input;
    uint32_t least, most;
} ranks;

#define TAKES(builtin, input, types)
#define GIVES(builtin, output, types)
#define RANKS(builtin, input, least, most)
#define ONE_TYPE(builtin)
#define OVER(builtin)
#define VIEW(builtin)

static const takes types[] = {
#undef TAKES
#undef GIVES
#define TAKES(builtin, input, types) {TFLITE_OP_##builtin, false, input, types},
#define GIVES(builtin, output, types) {TFLITE_OP_##builtin, true, output, types},
#include "formats/tflite/kernels.def"
#undef TAKES
#undef GIVES
#define TAKES(builtin, input, types)
#define GIVES(builtin, output, types)
};

static const ranks extents[] = {
#undef RANKS
#define RANKS(builtin, input, least, most) {TFLITE_OP_##builtin, input, least, most},
#include "formats/tflite/kernels.def"
#undef RANKS
#define RANKS(builtin, input, least, most)
};

static const tflite_builtin of_one_type[] = {
#undef ONE_TYPE
#define ONE_TYPE(builtin) TFLITE_OP_##builtin,
#include "formats/tflite/kernels.def"
#undef ONE_TYPE
#define ONE_TYPE(builtin)
};

static const struct {
    tflite_builtin builtin;
    formats_memory memory;
} memories[] = {
#undef OVER
#undef VIEW
#define OVER(builtin) {TFLITE_OP_##builtin, FORMATS_OVER},
#define VIEW(builtin) {TFLITE_OP_##builtin, FORMATS_VIEW},
#include "formats/tflite/kernels.def"
};

/* Tensor number i of the operator's inputs in the file; NULL: it is absent, or a constant that a step has put. */
static const ir_tensor *input_of(const tflite_out *out, size_t i) {
    size_t next = 0;
    for (size_t at = 0; next < out->node->input_count || at <= i; at++) {
        bool is_made = false;
        for (size_t k = 0; k < out->made.n; k++) {
            is_made = is_made || out->made.at[k].at == at;
        }
        if (at == i) {
            const bool has = !is_made && next < out->node->input_count && out->node->inputs[next] != IR_NONE;
            return has ? &out->g->tensors.at[out->node->inputs[next]] : NULL;
        }
        next += !is_made;
    }
    return NULL;
}

static bool lists(const char *list, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n) {
        if ((at == list || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' ')) {
            return true;
        }
    }
    return false;
}

void tflite_check_kernel(tflite_out *out) {
    const tflite_builtin builtin = out->word->builtin;
    for (size_t i = 0; i < sizeof types / sizeof *types && out->why == NULL; i++) {
        const ir_node *n = out->node;
        const takes *one = &types[i];
        if (one->builtin != builtin || (one->is_output && one->at >= n->output_count)) {
            continue;
        }
        const ir_tensor *t = one->is_output ? &out->g->tensors.at[n->outputs[one->at]] : input_of(out, one->at);
        if (t != NULL && t->quant.n == 0 && tflite_type_code(t->type) >= 0 &&
            !lists(one->types, base_type_name(t->type))) {
            tflite_out_cannot(out, "no runtime has a kernel of it that %s %s: cast, to one of %s",
                              one->is_output ? "gives" : "takes", base_type_name(t->type), one->types);
        }
    }
    for (size_t i = 0; i < sizeof extents / sizeof *extents && out->why == NULL; i++) {
        const ir_tensor *t = extents[i].builtin == builtin ? input_of(out, (size_t)extents[i].input) : NULL;
        if (t != NULL && (t->shape.rank < extents[i].least || t->shape.rank > extents[i].most)) {
            tflite_out_cannot(out, "no runtime has a kernel of it for %u extents: reshape, to %u to %u", t->shape.rank,
                              extents[i].least, extents[i].most);
        }
    }
    for (size_t i = 0; i < sizeof of_one_type / sizeof *of_one_type && out->why == NULL; i++) {
        const ir_tensor *a = of_one_type[i] == builtin ? input_of(out, 0) : NULL,
                        *b = a != NULL ? input_of(out, 1) : NULL;
        if (a != NULL && b != NULL && a->type != b->type) {
            tflite_out_cannot(out, "no runtime has a kernel of it for %s and %s: cast one of them",
                              base_type_name(a->type), base_type_name(b->type));
        }
    }
    /* A TFLite file that has it keeps it: its runtimes are to make of what is written what they make of the file. */
    const bool is_own = strcmp(out->m->format, "tflite") == 0;
    const ir_tensor *a = builtin == TFLITE_OP_BATCH_MATMUL && !is_own && out->why == NULL ? input_of(out, 0) : NULL,
                    *b = a != NULL ? input_of(out, 1) : NULL;
    if (b != NULL && a->quant.n > 0 && b->quant.n > 1) {
        tflite_out_cannot(
            out,
            "no runtime's kernel of it reads a scale for each column: give the matrix one scale, or multiply reals");
    }
}

formats_memory tflite_memory(const ir_node *n) {
    const char *op = strcmp(n->op, "identity") == 0 ? "reshape" : n->op; /* as which copies are written */
    const tflite_word *w;
    for (size_t k = 0; (w = tflite_word_at(k)) != NULL; k++) {
        for (size_t i = 0; strcmp(w->word, op) == 0 && i < sizeof memories / sizeof *memories; i++) {
            if (memories[i].builtin == w->builtin) {
                return memories[i].memory;
            }
        }
    }
    return FORMATS_OWN;
}
