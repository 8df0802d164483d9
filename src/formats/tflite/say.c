/* say.c - a model in TFLite's words: tensors, operators and buffers with the numbers that they have in the file.
 *
 * Takes a verified model. Gives the file's tables, or lists every node and tensor that TFLite has no words for. Tensors
 * that nothing uses are left out; constant inputs that an operator of TFLite has and Burin's word has not stand behind
 * the graph's own tensors.
 */
#include "formats/tflite/say.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* ---- buffers ---- */

/* Equal contents are one buffer. Contents of no bytes have one too: of buffer 0 a tensor would not be constant. */
uint32_t tflite_buffer_of(tflite_speaker *s, const void *data, size_t size) {
    if (!data) {
        return 0;
    }
    const uint64_t key[] = {base_hash(data, size, 1), base_hash(data, size, 2), size};
    bool is_new;
    uint64_t *index = base_map_put(s->buffers, key, sizeof key, &is_new);
    if (!is_new) {
        const base_bytes *old = &s->file->buffers.at[*index];
        if (!memcmp(old->at, data, size)) {
            return (uint32_t)*index;
        }
    } else {
        *index = s->file->buffers.n;
    }
    *BASE_PUSH(s->arena, &s->file->buffers) = (base_bytes){data, size};
    return (uint32_t)(s->file->buffers.n - 1);
}

/* ---- tensors ---- */

int32_t tflite_add_tensor(tflite_speaker *s, const ir_tensor *t) {
    uint64_t bytes = 0;
    bool sane = ir_tensor_bytes(t, &bytes);
    assert(sane);
    (void)sane;
    *BASE_PUSH(s->arena, &s->to->tensors) =
        (tflite_file_tensor){.name = t->name,
                             .type = (int)tflite_type_code(t->type),
                             .shape = t->shape,
                             .quant = t->quant,
                             .buffer = t->data ? tflite_buffer_of(s, t->data, (size_t)bytes) : 0};
    return (int32_t)(s->to->tensors.n - 1);
}

static void say_tensor(tflite_speaker *s, size_t index) {
    const ir_tensor *t = &s->g->tensors.at[index];
    base_place place = ir_place_tensor(s->m, s->g, index);
    if (tflite_type_code(t->type) < 0) {
        s->status = base_error(s->d, &place, "TFLite has no tensors of type %s", base_type_name(t->type));
    }
    for (uint32_t i = 0; i < t->shape.rank; i++) {
        if (t->shape.dim[i] > INT32_MAX) {
            s->status =
                base_error(s->d, &place, "an extent of %lld: TFLite's have 31 bits", (long long)t->shape.dim[i]);
        }
    }
    if (!tflite_is_variable(s, t)) {
        s->number[index] = tflite_add_tensor(s, t);
        s->to->tensors.at[s->number[index]].is_variable = t->state != IR_NONE;
    }
}

/* A constant that a step has put; equal ones are one. */
static int32_t say_made(tflite_speaker *s, const tflite_made *made) {
    uint64_t n = 0;
    bool sane = ir_shape_elements(&made->shape, &n); /* the values are there: it is no more than memory holds */
    assert(sane);
    (void)sane;
    enum { VALUES = IR_MAX_RANK + 1 };
    int32_t *key = BASE_NEWS(s->arena, int32_t, VALUES + (size_t)n);
    key[IR_MAX_RANK] = (int32_t)made->type;
    for (uint32_t i = 0; i < made->shape.rank; i++) {
        key[i] = (int32_t)made->shape.dim[i] + 1;
    }
    memcpy(key + VALUES, made->values, (size_t)n * sizeof *key);
    bool is_new;
    uint64_t *index = base_map_put(s->made, key, (VALUES + (size_t)n) * sizeof *key, &is_new);
    if (is_new) {
        uint8_t *data = base_alloc(s->arena, (size_t)n + 1, sizeof(int64_t));
        for (uint64_t i = 0; i < n; i++) {
            base_store(made->type, data, i, (base_value){.i = made->values[i]});
        }
        *index = s->to->tensors.n;
        *BASE_PUSH(s->arena, &s->to->tensors) =
            (tflite_file_tensor){.name = made->name,
                                 .type = (int)tflite_type_code(made->type),
                                 .shape = made->shape,
                                 .buffer = tflite_buffer_of(s, data, (size_t)n * (made->type == BASE_I64 ? 8 : 4))};
    }
    return (int32_t)*index;
}

/* ---- operators ---- */

uint32_t tflite_code_of(tflite_speaker *s, tflite_builtin builtin, const char *custom, int version) {
    const char *key = base_printf(s->arena, "%d %d %s", (int)builtin, version, custom ? custom : "");
    bool is_new;
    uint64_t *index = base_map_put(s->codes, key, strlen(key), &is_new);
    if (is_new) {
        *index = s->file->codes.n;
        *BASE_PUSH(s->arena, &s->file->codes) = (tflite_file_code){(int)builtin, version, custom};
    }
    return (uint32_t)*index;
}

/* TFLite's inputs: the node's, with the constants that steps have put at their places. */
static void say_inputs(tflite_speaker *s, const tflite_out *out, size_t count, int32_t *inputs,
                       const ir_tensor **tensors, ir_tensor *constants) {
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < out->made.n && out->made.at[k].at != i) {
            k++;
        }
        if (k < out->made.n) {
            constants[k] = (ir_tensor){.type = out->made.at[k].type, .shape = out->made.at[k].shape};
            tensors[i] = &constants[k];
            inputs[i] = say_made(s, &out->made.at[k]);
        } else {
            uint32_t t = out->node->inputs[next++];
            tensors[i] = t == IR_NONE ? NULL : &s->g->tensors.at[t];
            inputs[i] = t == IR_NONE ? -1 : s->number[t];
        }
    }
}

/* Intermediates stand behind the tensors that have been numbered. */
static void say_intermediates(tflite_speaker *s, const tflite_out *out, tflite_file_op *op) {
    op->intermediate_count = out->mids.n;
    op->intermediates = BASE_NEWS(s->arena, int32_t, out->mids.n + 1);
    for (size_t i = 0; i < out->mids.n; i++) {
        const tflite_mid *mid = &out->mids.at[i];
        float *scale = BASE_NEW(s->arena, float);
        int64_t *zero = BASE_NEW(s->arena, int64_t);
        *scale = mid->scale;
        *zero = mid->zero;
        op->intermediates[i] = (int32_t)s->to->tensors.n;
        *BASE_PUSH(s->arena, &s->to->tensors) =
            (tflite_file_tensor){.name = "intermediate",
                                 .type = (int)tflite_type_code(mid->type),
                                 .shape = {.rank = 1},
                                 .quant = {.n = mid->scale > 0, .scale = scale, .zero = zero}};
    }
}

static void say_operator(tflite_speaker *s, const tflite_out *out) {
    const ir_node *n = out->node;
    tflite_file_op op = {.input_count = n->input_count - out->last_said - out->kept + out->made.n,
                         .output_count = n->output_count - out->states};
    int32_t *inputs = BASE_NEWS(s->arena, int32_t, op.input_count + 1);
    int32_t *outputs = BASE_NEWS(s->arena, int32_t, op.output_count + 1);
    const ir_tensor **tensors = BASE_NEWS(s->arena, const ir_tensor *, op.input_count + 1);
    tflite_read_states(s, n);
    say_inputs(s, out, op.input_count, inputs, tensors, BASE_NEWS(s->arena, ir_tensor, out->made.n + 1));
    for (size_t i = 0; i < op.output_count; i++) {
        const ir_tensor *y = &s->g->tensors.at[n->outputs[i]];
        outputs[i] = tflite_is_variable(s, y) ? tflite_add_tensor(s, y) : s->number[n->outputs[i]];
    }
    op.inputs = inputs;
    op.outputs = outputs;
    say_intermediates(s, out, &op);
    op.options = out->word->options;
    op.values = out->values.at;
    op.value_count = out->values.n;
    op.custom_options = out->custom_options;
    op.code = tflite_code_of(s, out->word->builtin, out->word->custom, tflite_version_of(out, tensors, op.input_count));
    *BASE_PUSH(s->arena, &s->to->ops) = op;
    tflite_write_states(s, n, outputs, op.output_count);
}

/* "conv_2d" is spelt as CONV_2D. */
static bool spelt_as(const char *word, const char *builtin) {
    size_t i = 0;
    while (word[i] && builtin[i] && toupper((unsigned char)word[i]) == builtin[i]) {
        i++;
    }
    return !word[i] && !builtin[i];
}

/* How well a row suits the node, before its steps are tried: the operator that was read, the word's own, any other. */
enum { AS_READ, AS_SPELT, ANY_OTHER, PREFERENCES };

static int preference(const ir_node *n, const tflite_word *w) {
    const char *name = tflite_word_name(w);
    return !strcmp(name, n->source_name) ? AS_READ : spelt_as(n->op, name) ? AS_SPELT : ANY_OTHER;
}

/* Tries a row. why: the first reason why none says the node. */
static bool try_row(tflite_speaker *s, tflite_said *one, const ir_node *n, const tflite_word *w, const char **why) {
    *one = (tflite_said){.out = {.arena = s->arena, .ops = s->ops, .m = s->m, .g = s->g, .node = n, .word = w}};
    one->is_said = tflite_say(&one->out);
    if (!one->is_said && !*why) {
        *why = base_printf(s->arena, "as %s: %s", tflite_word_name(w), one->out.why);
    }
    return one->is_said;
}

/* Finds the row that says a node; *why: else the reason of the first that has its word. */
static bool find_row(tflite_speaker *s, tflite_said *one, const ir_node *n, const char **why) {
    const tflite_word *w =
        ir_control_of(n) != IR_PLAIN ? tflite_control_word_of(n) : tflite_custom_word_of(s->arena, n);
    *why = NULL;
    if (w && try_row(s, one, n, w, why)) {
        return true;
    }
    for (int wanted = 0; wanted < PREFERENCES; wanted++) {
        for (size_t i = 0; (w = tflite_word_at(i)); i++) {
            if (!strcmp(w->word, n->op) && preference(n, w) == wanted && try_row(s, one, n, w, why)) {
                return true;
            }
        }
    }
    return false;
}

static void choose(tflite_speaker *s, size_t index, const ir_node *n) {
    const char *why;
    if (find_row(s, &s->nodes[index], n, &why)) {
        return;
    }
    base_place place = ir_place_node(s->m, s->g, index);
    s->status = base_error(s->d, &place, "TFLite cannot say this operator: %s", why ? why : "it has none like it");
}

/* TFLite has no operator that copies; a RESHAPE to the same shape does. */
static const ir_node *as_reshape(const tflite_speaker *s, const ir_node *n) {
    const ir_shape *shape = &s->g->tensors.at[n->outputs[0]].shape;
    int64_t *dims = BASE_NEWS(s->arena, int64_t, shape->rank + 1u);
    uint32_t counted = 0;
    ir_attr *attr = BASE_NEW(s->arena, ir_attr);
    ir_node *copy = BASE_NEW(s->arena, ir_node);
    memcpy(dims, shape->dim, shape->rank * sizeof *dims);
    for (uint32_t k = 0; k < shape->rank; k++) { /* one extent may be left to the run */
        counted += shape->symbol[k] != 0;
    }
    for (uint32_t k = 0; counted == 1 && k < shape->rank; k++) {
        dims[k] = shape->symbol[k] != 0 ? -1 : dims[k];
    }
    *attr = (ir_attr){.name = "shape", .kind = IR_INTS, .n = shape->rank, .v.ints = dims};
    *copy = *n;
    copy->op = "reshape";
    copy->attrs = attr;
    copy->attr_count = 1;
    return copy;
}

static bool copies_value(const ir_node *n) {
    return !strcmp(n->op, "identity") && n->input_count == 1 && n->output_count == 1 && !n->attr_count &&
           n->inputs[0] != IR_NONE;
}

bool tflite_says(base_arena *scratch, ops_registry *ops, const ir_model *m, const ir_graph *g, const ir_node *n) {
    tflite_speaker s = {.arena = scratch, .m = m, .ops = ops, .g = g};
    tflite_said said;
    const char *why;
    for (size_t k = 0; k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        if (t != IR_NONE && tflite_type_code(g->tensors.at[t].type) < 0) {
            return false;
        }
    }
    return copies_value(n) || find_row(&s, &said, n, &why);
}

static bool is_among(uint32_t tensor, const uint32_t *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (list[i] == tensor) {
            return true;
        }
    }
    return false;
}

/* A copy of a state that is nothing but an output of the graph, after the last change of the state: TFLite lists the
 * variable tensor among the outputs. */
static bool is_state_at_end(const tflite_speaker *s, size_t index) {
    const ir_graph *g = s->g;
    const uint32_t state = g->nodes.at[index].inputs[0], copy = g->nodes.at[index].outputs[0];
    if (g->tensors.at[state].state == IR_NONE || g->tensors.at[copy].state != IR_NONE ||
        !is_among(copy, g->outputs.at, g->outputs.n)) {
        return false;
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        if (is_among(copy, n->inputs, n->input_count) || (i > index && is_among(state, n->outputs, n->output_count))) {
            return false;
        }
    }
    return true;
}

static void say_node(tflite_speaker *s, size_t index) {
    const ir_node *n = &s->g->nodes.at[index];
    const bool copies = copies_value(n);
    if (copies && tflite_copies_variable(s, n)) {
        s->nodes[index].copies_variable = true;
    } else if (copies && is_state_at_end(s, index)) {
        s->stands_for[n->outputs[0]] = n->inputs[0];
    } else {
        choose(s, index, copies ? as_reshape(s, n) : n);
    }
}

/* ---- graphs ---- */

static void mark(const tflite_speaker *s, bool *used, const uint32_t *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (list[i] != IR_NONE) {
            used[s->stands_for[list[i]]] = true;
        }
    }
}

static int32_t *numbers(const tflite_speaker *s, const uint32_t *list, size_t n) {
    int32_t *out = BASE_NEWS(s->arena, int32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        out[i] = s->number[s->stands_for[list[i]]];
    }
    return out;
}

/* The tensors that stand in the file. Those that an operator of TFLite does not list, its states among the outputs, are
 * there only if others use them. */
static bool *used_tensors(const tflite_speaker *s) {
    const ir_graph *g = s->g;
    bool *used = BASE_NEWS(s->arena, bool, g->tensors.n + 1);
    mark(s, used, g->inputs.at, g->inputs.n);
    mark(s, used, g->outputs.at, g->outputs.n);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const tflite_out *out = &s->nodes[i].out;
        const ir_node *n = &g->nodes.at[i];
        if (s->nodes[i].copies_variable) {
            mark(s, used, n->inputs, 1);
            mark(s, used, n->outputs, 1);
        } else if (s->nodes[i].is_said) {
            mark(s, used, out->node->inputs, out->node->input_count - out->kept);
            mark(s, used, out->node->outputs, out->node->output_count - out->states);
        }
    }
    return used;
}

/* Scales of blocks stand in the file beside the weights that have them. */
static void say_blocks(tflite_speaker *s) {
    for (size_t i = 0; i < s->g->nodes.n; i++) {
        const tflite_out *out = &s->nodes[i].out;
        if (!s->nodes[i].is_said || !out->block_size) {
            continue;
        }
        tflite_file_tensor *t = &s->to->tensors.at[s->number[out->block_weights]];
        int32_t scales = s->number[out->block_scales];
        if (t->block_size && (t->block_size != out->block_size || t->block_scales != scales)) {
            base_place place = ir_place_node(s->m, s->g, i);
            s->status = base_error(s->d, &place, "TFLite has one list of scales for the blocks of a tensor");
        }
        t->block_size = out->block_size;
        t->block_scales = scales;
    }
}

/* ---- pairs of floats that are complex numbers in the file ---- */

static bool is_complex(const tflite_speaker *s, uint32_t t) {
    return t != IR_NONE && s->number[t] >= 0 && s->to->tensors.at[s->number[t]].type == TFLITE_TYPE_COMPLEX64;
}

static bool make_complex(tflite_speaker *s, uint32_t t) {
    tflite_file_tensor *file = &s->to->tensors.at[s->number[t]];
    if (is_complex(s, t) || file->type != TFLITE_TYPE_FLOAT32 || !file->shape.rank ||
        file->shape.dim[file->shape.rank - 1] != 2) {
        return false;
    }
    file->type = TFLITE_TYPE_COMPLEX64;
    file->shape.rank--;
    return true;
}

/* A reshape keeps the pairs: what it reads and what it makes are both complex, or neither. */
static bool reshapes(const tflite_said *one) {
    return one->is_said && !strcmp(one->out.node->op, "reshape");
}

static void spread_through(tflite_speaker *s, size_t i) {
    const ir_node *n = &s->g->nodes.at[i];
    if (reshapes(&s->nodes[i]) && is_complex(s, n->inputs[0]) != is_complex(s, n->outputs[0])) {
        (void)make_complex(s, is_complex(s, n->inputs[0]) ? n->outputs[0] : n->inputs[0]);
    }
}

/* To those that are read first: what a tensor is made from is one chain. */
static void spread_complex(tflite_speaker *s) {
    for (size_t i = s->g->nodes.n; i-- > 0;) {
        spread_through(s, i);
    }
    for (size_t i = 0; i < s->g->nodes.n; i++) {
        spread_through(s, i);
    }
}

/* The shape that a reshape of complex numbers asks for has not the extent of the pairs. */
static void shorten_shape(tflite_out *out) {
    for (size_t k = 0; k < out->made.n; k++) {
        out->made.at[k].shape.dim[0]--;
    }
    for (size_t k = 0; k < out->values.n; k++) {
        out->values.at[k].n--;
    }
}

/* Pairs of floats that one operator says are complex are so for all: another that does not know is refused. */
static void say_complex(tflite_speaker *s) {
    for (size_t i = 0; i < s->g->nodes.n; i++) {
        if (s->nodes[i].is_said && s->nodes[i].out.complex) {
            (void)make_complex(s, s->nodes[i].out.complex - 1);
        }
    }
    spread_complex(s);
    for (size_t i = 0; i < s->g->nodes.n; i++) {
        tflite_out *out = &s->nodes[i].out;
        if (reshapes(&s->nodes[i]) && is_complex(s, out->node->inputs[0]) && is_complex(s, out->node->outputs[0])) {
            shorten_shape(out);
            continue;
        }
        for (size_t k = 0; s->nodes[i].is_said && k < out->node->input_count + out->node->output_count; k++) {
            const size_t inputs = out->node->input_count;
            uint32_t t = k < inputs ? out->node->inputs[k] : out->node->outputs[k - inputs];
            if (t != IR_NONE && t + 1 != out->complex && is_complex(s, t)) {
                base_place place = ir_place_node(s->m, s->g, i);
                s->status = base_error(s->d, &place, "TFLite cannot say this operator of complex numbers");
            }
        }
    }
}

static void say_graph(tflite_speaker *s, const ir_graph *g) {
    s->g = g;
    s->to = BASE_PUSH(s->arena, &s->file->graphs);
    s->to->name = g->name;
    s->made = base_map_new(s->arena);
    s->number = BASE_NEWS(s->arena, int32_t, g->tensors.n + 1);
    s->nodes = BASE_NEWS(s->arena, tflite_said, g->nodes.n + 1);
    s->stands_for = BASE_NEWS(s->arena, uint32_t, g->tensors.n + 1);
    for (size_t i = 0; i < g->tensors.n; i++) {
        s->stands_for[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        say_node(s, i);
    }
    const bool *used = used_tensors(s);
    for (size_t i = 0; i < g->tensors.n; i++) {
        s->number[i] = -1;
        if (used[i]) {
            say_tensor(s, i);
        }
    }
    say_blocks(s);
    tflite_say_handles(s);
    say_complex(s);
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (s->nodes[i].copies_variable) {
            tflite_say_copy(s, &g->nodes.at[i]);
        } else if (s->nodes[i].is_said) {
            say_operator(s, &s->nodes[i].out);
        }
    }
    s->to->inputs = numbers(s, g->inputs.at, g->inputs.n);
    s->to->input_count = g->inputs.n;
    s->to->outputs = numbers(s, g->outputs.at, g->outputs.n);
    s->to->output_count = g->outputs.n;
}

base_status tflite_say_model(base_arena *arena, const ir_model *m, ops_registry *ops, tflite_file *file,
                             base_diags *d) {
    tflite_speaker s = {.arena = arena, .m = m, .file = file, .d = d, .status = BASE_OK};
    s.ops = ops ? ops : ops_registry_new(arena);
    s.buffers = base_map_new(arena);
    s.codes = base_map_new(arena);
    *BASE_PUSH(arena, &file->buffers) = (base_bytes){0};
    tflite_say_states(&s);
    for (size_t i = 0; i < m->graphs.n; i++) {
        say_graph(&s, &m->graphs.at[i]);
    }
    tflite_say_first_contents(&s);
    file->metadata = BASE_NEWS(arena, uint32_t, m->metadata.n + 1);
    for (size_t i = 0; i < m->metadata.n; i++) {
        const ir_metadata *one = &m->metadata.at[i];
        file->metadata[i] = one->size ? tflite_buffer_of(&s, one->data, one->size) : 0;
    }
    return s.status;
}
