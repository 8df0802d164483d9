/* types.c - which element types an operator of ai.onnx takes and gives in a version, and how many inputs (types.def). */
#include "formats/onnx/writer.h"

#include <string.h>

#define OF(type) (UINT32_C(1) << BASE_##type)
_Static_assert(BASE_TYPE_COUNT <= 32, "a bit for each type");

typedef struct signature {
    const char *op;
    int since;
    size_t least;                 /* inputs that are listed */
    const char *inputs, *outputs; /* a set's letter each, "*" at the end; NULL: the operator is gone */
} signature;

static const uint32_t sets[128] = {
#define SET(letter, types) [letter] = types,
#define TYPES(op, since, least, inputs, outputs)
#define GONE(op, since)
#include "formats/onnx/types.def"
#undef SET
#undef TYPES
#undef GONE
};

static const signature signatures[] = {
#define SET(letter, types)
#define TYPES(op, since, least, inputs, outputs) {op, since, least, inputs, outputs},
#define GONE(op, since) {op, since, 0, NULL, NULL},
#include "formats/onnx/types.def"
#undef SET
#undef TYPES
#undef GONE
};

/* NULL: the version has no such operator. */
static const signature *find(const char *op, int opset) {
    const signature *best = NULL;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const signature *s = &signatures[i];
        if (s->op[0] == op[0] && s->since <= opset && !strcmp(s->op, op) && (!best || s->since > best->since)) {
            best = s;
        }
    }
    return best && best->inputs ? best : NULL;
}

/* The first type that does not fit; BASE_NONE: none. */
static base_type misfit(const char *letters, const base_type *types, size_t n) {
    const size_t given = strlen(letters);
    const bool more = given && letters[given - 1] == '*';
    const size_t count = more ? given - 1 : given;
    for (size_t i = 0; i < n; i++) {
        const size_t at = i < count ? i : count - 1;
        if (types[i] != BASE_NONE && count && !(sets[(unsigned char)letters[at]] & (UINT32_C(1) << types[i]))) {
            return types[i];
        }
    }
    return BASE_NONE;
}

const char *onnx_types_why(base_arena *arena, const char *op, int opset, const base_type *inputs, size_t input_count,
                           const base_type *outputs, size_t output_count) {
    const signature *s = find(op, opset);
    if (!s) {
        return base_printf(arena, "there is no operator %s", op);
    }
    base_type type = misfit(s->inputs, inputs, input_count);
    const bool taken = type == BASE_NONE;
    type = taken ? misfit(s->outputs, outputs, output_count) : type;
    return type == BASE_NONE
               ? NULL
               : base_printf(arena, "%s does not %s %s", op, taken ? "give" : "take", base_type_name(type));
}

size_t onnx_least_inputs(const char *op, int opset) {
    const signature *s = find(op, opset);
    return s ? s->least : 0;
}
