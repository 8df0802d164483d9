/* dictionary.c - the dictionary's rows (dictionary.def says what each step does), and saying a node by one.
 *
 * Takes a node and a row. Gives options and constant inputs, or the reason why the row cannot say the node.
 */
#include "formats/tflite/steps.h"

#include <string.h>

#define ANY TFLITE_ANY
#define STEP(kind, name, a, b)                                                                                         \
    { &tflite_step_##kind, name, a, b, 0 }
#define NOTHING                                                                                                        \
    { NULL, NULL, 0, 0, 0 }
#define ACT(table) STEP(act, "act", TFLITE_##table##_fused_activation_function, 4)
#define ACT_TANH(table) STEP(act, "act", TFLITE_##table##_fused_activation_function, 5)
#define PAIR(name, h, w) STEP(pair, name, TFLITE_##h, TFLITE_##w)
#define TRIPLE(name, d, h, w)                                                                                          \
    { &tflite_step_triple, name, TFLITE_##d, TFLITE_##h, TFLITE_##w }
#define PADS(table) STEP(pads, "pads", TFLITE_##table##_padding, 1)
#define PADS_3D(table) STEP(pads, "pads", TFLITE_##table##_padding, 0)
#define TRANSPOSED(table) STEP(transposed, NULL, TFLITE_##table##_padding, 1)
#define TRANSPOSED_3D(table) STEP(transposed, NULL, TFLITE_##table##_padding, 0)
#define INT(name, field) STEP(int, name, TFLITE_##field, 0)
#define INTS(name, field) STEP(ints, name, TFLITE_##field, 0)
#define BODY(name, field) STEP(body, name, TFLITE_##field, 0)
#define FLOATS(name, field) STEP(floats, name, TFLITE_##field, 0)
#define TABLE STEP(table, NULL, 0, 0)
#define FLOAT(name, field) STEP(float, name, TFLITE_##field, 0)
#define AXIS(name, field, extra) STEP(axis, name, TFLITE_##field, extra)
#define COUNT(name, field, input) STEP(count, name, TFLITE_##field, input)
#define AXIS_IN(name, input) STEP(axis_in, name, input, 0)
#define INT_IN(name, input) STEP(int_in, name, input, 0)
#define AXES_IN(name, input) STEP(axes_in, name, input, 0)
#define PERM_IN(name, input) STEP(perm_in, name, input, 0)
#define PADS_IN(name, input) STEP(pads_in, name, input, 0)
#define LIST_IN(name, input) STEP(list_in, name, input, 0)
#define WIDE_LIST_IN(name, input) STEP(list_in, name, input, 1)
#define PAIRS_IN(name, input) STEP(pairs_in, name, input, 0)
#define SAID_IN(name, input) STEP(said_in, name, input, 0)
#define REST_IN(name, input) STEP(said_in, name, input, 1)
#define SAID(name, field) STEP(said, name, TFLITE_##field, 0)
#define OUT_SHAPE(name) STEP(out_shape, name, 0, 0)
#define MOVED_SHAPE(name, tflm) STEP(out_shape, name, 1, tflm)
#define OUT_EXTENTS(name, tflm) STEP(out_extents, name, 1, tflm)
#define ONES_IN(name, input) STEP(ones_in, name, input, 0)
#define ONES_OUT(name, field) STEP(ones_out, name, TFLITE_##field, 0)
#define INPUTS(field) STEP(inputs, NULL, TFLITE_##field, 0)
#define OUTPUTS(field) STEP(outputs, NULL, TFLITE_##field, 0)
#define TYPE_OUT(field) STEP(type_out, NULL, TFLITE_##field, 0)
#define TYPE_OF_OUT(field, output) STEP(type_out, NULL, TFLITE_##field, output)
#define NARROW_OUT(output) STEP(narrow_out, NULL, 0, output)
#define BIAS_TYPE(name, field, input) STEP(bias_type, name, TFLITE_##field, input)
#define TIMES(field) STEP(times, NULL, TFLITE_##field, 0)
#define OWN_SHAPES STEP(own_shapes, NULL, 0, 0)
#define EVEN(name) STEP(even, name, 0, 0)
#define BLOCKS(input) STEP(blocks, NULL, input, 0)
#define SLICE STEP(slice, NULL, 0, 0)
#define WINDOW_IN STEP(window_in, NULL, 0, 0)
#define MULTIPLIER STEP(multiplier, NULL, 0, 1)
#define MULTIPLIER_OF(input, filter) STEP(multiplier, NULL, input, filter)
#define OF_I16(name, field) STEP(of_i16, name, TFLITE_##field, 0)
#define TYPED_AS_INPUTS STEP(typed_as_inputs, NULL, 0, 0)
#define STATES(first, n) STEP(states, NULL, first, n)
#define INTERMEDIATES STEP(intermediates, NULL, 0, 0)
#define COMPLEX(input, output) STEP(complex, NULL, input, output)
#define KEEPS(output) STEP(keeps, NULL, output, 0)
#define HOLDS(count) STEP(holds, NULL, count, 0)
#define RAW(name, offset) STEP(raw, name, offset, 0)
#define ONLY(field, value, what) STEP(only, what, TFLITE_##field, value)

static const tflite_word words[] = {
#define WORD(builtin, word, options, needed, most, outputs, ...)                                                       \
    {TFLITE_OP_##builtin, word, TFLITE_##options, needed, most, outputs, {__VA_ARGS__}, NULL},
#include "formats/tflite/dictionary.def"
#undef WORD
};

static const tflite_word customs[] = {
#define CUSTOM(code, word, needed, most, outputs, ...)                                                                 \
    {TFLITE_OP_CUSTOM, word, TFLITE_NONE, needed, most, outputs, {__VA_ARGS__}, code},
#include "formats/tflite/customs.def"
#undef CUSTOM
};

const tflite_word *tflite_word_at(size_t i) {
    enum { WORDS = sizeof words / sizeof *words, CUSTOMS = sizeof customs / sizeof *customs };
    return i < WORDS ? &words[i] : i - WORDS < CUSTOMS ? &customs[i - WORDS] : NULL;
}

const tflite_word *tflite_word_of(int64_t builtin) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if ((int64_t)words[i].builtin == builtin) {
            return &words[i];
        }
    }
    return NULL;
}

/* Letters, digits and _ stay, all else becomes _; never a digit first. */
static char *identifier_of(base_arena *arena, const char *code) {
    base_text t = {.arena = arena};
    if (!*code || (*code >= '0' && *code <= '9')) {
        base_puts(&t, "_");
    }
    for (; *code; code++) {
        bool letter = (*code >= 'a' && *code <= 'z') || (*code >= 'A' && *code <= 'Z');
        base_putn(&t, letter || (*code >= '0' && *code <= '9') ? code : "_", 1);
    }
    return t.at;
}

const tflite_word *tflite_custom_word(tflite_reader *r, const char *code) {
    char *own = base_printf(r->arena, "custom.%s", identifier_of(r->arena, code));
    if (ops_has(tflite_definitions(r), own)) {
        tflite_word *w = BASE_NEW(r->arena, tflite_word);
        *w = (tflite_word){.builtin = TFLITE_OP_CUSTOM, .word = own, .most = TFLITE_ANY, .outputs = TFLITE_ANY};
        w->custom = code;
        return w;
    }
    for (size_t i = 0; i < sizeof customs / sizeof *customs; i++) {
        if (!strcmp(customs[i].custom, code)) {
            return &customs[i];
        }
    }
    return NULL;
}

const char *tflite_word_name(const tflite_word *w) {
    return w->custom ? w->custom : tflite_builtin_name(w->builtin);
}

/* ---- writing ---- */

/* The code is what the file said, if its word is the node's; else the word's own name. */
const tflite_word *tflite_custom_word_of(base_arena *arena, const ir_node *n) {
    static const char prefix[] = "custom.";
    if (strncmp(n->op, prefix, sizeof prefix - 1) != 0) {
        return NULL;
    }
    const char *name = n->op + sizeof prefix - 1;
    tflite_word *w = BASE_NEW(arena, tflite_word);
    *w = (tflite_word){.builtin = TFLITE_OP_CUSTOM, .word = n->op, .most = TFLITE_ANY, .outputs = TFLITE_ANY};
    w->custom = !strcmp(identifier_of(arena, n->source_name), name) ? n->source_name : name;
    return w;
}

static void check_counts(tflite_out *out) {
    const tflite_word *w = out->word;
    size_t inputs = out->node->input_count + out->made.n - out->last_said - out->kept,
           outputs = out->node->output_count - out->states;
    if (inputs < w->needed || (w->most != TFLITE_ANY && inputs > w->most)) {
        tflite_out_cannot(out, "it has %zu inputs", out->node->input_count);
    } else if (w->outputs == TFLITE_ANY ? !outputs && ir_control_of(out->node) == IR_PLAIN : outputs != w->outputs) {
        tflite_out_cannot(out, "it has %zu outputs", outputs);
    }
}

bool tflite_say(tflite_out *out) {
    for (size_t i = 0; i < TFLITE_MOST_STEPS && out->word->steps[i].kind && !out->why; i++) {
        const tflite_step_kind *kind = out->word->steps[i].kind;
        if (kind->put) {
            kind->put(out, &out->word->steps[i]);
        } else {
            tflite_out_cannot(out, "%s is read, and not yet written", kind->name);
        }
    }
    if (out->word->custom && !out->why) {
        tflite_custom_options(out);
    }
    for (size_t i = 0; i < out->node->attr_count; i++) {
        const ir_attr *a = &out->node->attrs[i];
        if (i >= 64 || (!(out->claimed >> i & 1) && !formats_says_nothing(out->arena, out->ops, out->node, a))) {
            tflite_out_cannot(out, "TFLite does not say its attribute %s", out->node->attrs[i].name);
        }
    }
    check_counts(out);
    if (!out->why && !out->word->custom) {
        tflite_check_kernel(out);
    }
    return !out->why;
}
