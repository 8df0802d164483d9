/* operators.c - the operators of a sub-graph: which one it is, its tensors, and its node by the dictionary's row.
 *
 * Takes untrusted tables. Gives nodes with Burin's words. Operators without a row are noted by name, custom ones by
 * their own.
 */
#include "formats/tflite/control.h"

#include <string.h>

/* ---- which operator ---- */

/* The builtin's code; custom operators have their name in *custom. -1: a fault. */
static int64_t read_code(tflite_reader *r, const wire_path *outer, const wire_table *op, const char **custom) {
    int64_t index = tflite_int(&r->fb, outer, op, TFLITE_Operator_opcode_index);
    if ((uint64_t)index >= r->codes.n) {
        tflite_error(&r->fb, outer, op, TFLITE_Operator_opcode_index, "it is %lld: the model has %llu operator codes",
                     (long long)index, (unsigned long long)r->codes.n);
        return -1;
    }
    wire_path path = {.name = "operator_code", .index = index};
    wire_table code = wire_fb_table_at(&r->fb, &path, &r->codes, (uint64_t)index);
    /* Codes above 127 do not fit the old field, which then says 127; older files have only the old one. */
    int64_t old = tflite_int(&r->fb, &path, &code, TFLITE_OperatorCode_deprecated_builtin_code);
    int64_t builtin = tflite_int(&r->fb, &path, &code, TFLITE_OperatorCode_builtin_code);
    builtin = builtin > old ? builtin : old;
    if (builtin < 0 || builtin == TFLITE_OP_PLACEHOLDER_FOR_GREATER_OP_CODES) {
        tflite_error(&r->fb, &path, &code, TFLITE_OperatorCode_builtin_code, "%lld is no operator", (long long)builtin);
    }
    base_bytes name = {0};
    if (builtin == TFLITE_OP_CUSTOM) {
        name = tflite_bytes(&r->fb, &path, &code, TFLITE_OperatorCode_custom_code);
    }
    *custom = name.at ? base_printable(r->arena, (const char *)name.at, name.size, 255) : "";
    return wire_fb_failed(&r->fb) ? -1 : builtin;
}

/* Why an operator has no word, as what to do instead. */
static const char *remedy_of(int64_t code) {
    static const struct {
        tflite_builtin builtin;
        const char *remedy;
    } refusals[] = {
#define NO_KERNEL "TFLite's reference kernels have none for it: convert the model to TFLite's own operators"
#define REFUSAL(builtin, remedy) {TFLITE_OP_##builtin, remedy},
#include "formats/tflite/refusals.def"
#undef REFUSAL
#undef NO_KERNEL
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if ((int64_t)refusals[i].builtin == code) {
            return refusals[i].remedy;
        }
    }
    return TFLITE_REMEDY_OPERATOR;
}

/* Has to be said once for each operator, not once for each of its tensors. */
static void note_unsupported(tflite_reader *r, const wire_path *path, const wire_table *op, int64_t code,
                             const char *custom) {
    const char *remedy = remedy_of(code);
    const char *what = base_printf(r->arena, "operator %s", path->note);
    if (code == TFLITE_OP_CUSTOM && !strncmp(custom, "Flex", 4)) {
        what = base_printf(r->arena, "custom operator \"%s\"", custom);
        remedy = "it is a TensorFlow operator: convert the model with TFLite's builtins only";
    } else if (code == TFLITE_OP_CUSTOM) {
        what = base_printf(r->arena, "custom operator \"%s\"", custom);
        remedy = TFLITE_REMEDY_CUSTOM;
    }
    tflite_unsupported(r, path, op->at, what, remedy);
}

/* ---- its tensors and options ---- */

static bool check_counts(tflite_op *op) {
    wire_fb *fb = &op->r->fb;
    const tflite_word *w = op->word;
    if (op->input_count < w->needed || (w->most != TFLITE_ANY && op->input_count > w->most)) {
        if (w->most == TFLITE_ANY || w->most == w->needed) {
            tflite_error(fb, op->path, &op->table, TFLITE_Operator_inputs, "%zu inputs: expected %u%s", op->input_count,
                         w->needed, w->most == TFLITE_ANY ? " or more" : "");
        } else {
            tflite_error(fb, op->path, &op->table, TFLITE_Operator_inputs, "%zu inputs: expected %u to %u",
                         op->input_count, w->needed, w->most);
        }
    } else if (w->outputs == TFLITE_ANY ? !op->output_count : op->output_count != w->outputs) {
        tflite_error(fb, op->path, &op->table, TFLITE_Operator_outputs, "%zu outputs: expected %u%s", op->output_count,
                     w->outputs == TFLITE_ANY ? 1 : w->outputs, w->outputs == TFLITE_ANY ? " or more" : "");
    }
    size_t needed = w->most == TFLITE_ANY ? op->input_count : w->needed;
    for (size_t i = 0; i < needed && i < op->input_count && !wire_fb_failed(fb); i++) {
        if (op->inputs[i] == IR_NONE) {
            tflite_error(fb, op->path, &op->table, TFLITE_Operator_inputs, "[%zu] is absent: the operator needs it", i);
        }
    }
    return !wire_fb_failed(fb);
}

/* Options of another type are none to the runtimes, which do not look at what is there. */
static bool read_options(tflite_op *op) {
    wire_fb *fb = &op->r->fb;
    unsigned from = op->word->options >= TFLITE_SECOND ? TFLITE_SECOND : 0;
    tflite_field field = from ? TFLITE_Operator_builtin_options_2 : TFLITE_Operator_builtin_options;
    unsigned type = tflite_union_type(fb, op->path, &op->table, field);
    if (op->word->options == TFLITE_NONE || !type || from + type == op->word->options) {
        op->options = tflite_union(fb, op->path, &op->table, field, &type);
    } else if (!wire_fb_failed(fb)) {
        base_place place = {.file = op->r->file, .byte = op->table.at, .has_byte = true};
        place.path = wire_path_print(op->r->arena, op->options_path);
        base_warn(op->r->d, &place, "they are %s, expected %s: not read, as if there were none",
                  tflite_options_name(from + type), tflite_options_name(op->word->options));
    }
    return !wire_fb_failed(fb);
}

/* A tensor without a type has been noted: what its operator would say of it is no fault of the file. */
static bool tensors_are_supported(const tflite_op *op, bool resources) {
    tflite_reader *r = op->r;
    for (size_t i = 0; i < op->input_count + op->output_count; i++) {
        uint32_t t = i < op->input_count ? op->inputs[i] : op->outputs[i - op->input_count];
        if (t == IR_NONE || r->g->tensors.at[t].type != BASE_NONE) {
            continue;
        }
        if (!r->is_resource[t]) {
            return false;
        }
        if (!resources) {
            tflite_unsupported(r, op->path, op->table.at, base_printf(r->arena, "operator %s on a resource", op->name),
                               "only variables are known behind resources");
            return false;
        }
    }
    return true;
}

/* ---- its node ---- */

static void drop_inputs(tflite_op *op) {
    size_t kept = 0;
    uint32_t *inputs = BASE_NEWS(op->r->arena, uint32_t, op->input_count + 1);
    for (size_t i = 0; i < op->input_count; i++) {
        if (i >= 32 || !(op->dropped >> i & 1)) {
            inputs[kept++] = op->inputs[i];
        }
    }
    if (op->added) {
        inputs[kept++] = op->added - 1;
    }
    op->node->inputs = inputs;
    op->node->input_count = kept;
}

/* After an operator that is not supported, shapes need not be known: the model is refused, and not for that. */
static bool inputs_are_settled(const tflite_op *op) {
    for (size_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] != IR_NONE && op->r->bad_shape[op->inputs[i]]) {
            if (!formats_notes_count(op->r->notes) && !op->r->keep_unsupported) {
                (void)tflite_is_settled(op->r, op->path, op->inputs[i]);
            }
            return false;
        }
    }
    return true;
}

/* Do the shapes that the file records agree with each other, as far as is known? */
static bool is_recorded(const tflite_op *op) {
    for (size_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] != IR_NONE && op->r->changed[op->inputs[i]]) {
            return false;
        }
    }
    for (size_t i = 0; i < op->output_count; i++) {
        if (op->r->bad_shape[op->outputs[i]]) {
            return false;
        }
    }
    return true;
}

/* What only the shapes of the outputs say is taken from there, if they can be right. */
static void recorded_attributes(tflite_op *op) {
    const bool infers = op->infers;
    for (size_t i = 0; i < TFLITE_MOST_STEPS && op->word->steps[i].kind && infers; i++) {
        const tflite_step *step = &op->word->steps[i];
        if ((step->kind != &tflite_step_out_shape && step->kind != &tflite_step_out_extents) ||
            wire_fb_failed(&op->r->fb) || ir_attr_find(op->node, step->name)) {
            continue;
        }
        if (!op->recorded) {
            tflite_op_error(op, "the shape of its output is stated nowhere else, and the file leaves it open");
            return;
        }
        op->infers = false;
        step->kind->make(op, step);
    }
}

/* Only some operators know what scales of blocks mean: no other may take the weights as if they had none. */
static bool blocks_are_supported(tflite_op *op) {
    const tflite_step *step = op->word ? op->word->steps : NULL;
    size_t known = TFLITE_ANY;
    for (size_t i = 0; step && i < TFLITE_MOST_STEPS && step[i].kind; i++) {
        known = step[i].kind == &tflite_step_blocks ? (size_t)step[i].a : known;
    }
    for (size_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] != IR_NONE && op->inputs[i] < op->r->tensor_count && op->r->blocks[op->inputs[i]].size &&
            i != known) {
            tflite_unsupported(op->r, op->path, op->table.at,
                               base_printf(op->r->arena, "%s of a tensor that is quantised in blocks", op->path->note),
                               "convert the model with scales for each tensor or channel");
            return false;
        }
    }
    return true;
}

/* A kernel takes complex numbers only if its row says so; but moving them around is the same for pairs of floats. */
static bool complex_is_supported(tflite_op *op) {
    bool known = op->word && !strcmp(op->word->word, "reshape");
    for (size_t i = 0; op->word && i < TFLITE_MOST_STEPS && op->word->steps[i].kind; i++) {
        known = known || op->word->steps[i].kind == &tflite_step_complex;
    }
    for (size_t i = 0; i < op->input_count + op->output_count && !known; i++) {
        uint32_t t = i < op->input_count ? op->inputs[i] : op->outputs[i - op->input_count];
        if (t != IR_NONE && t < op->r->tensor_count && op->r->is_complex[t]) {
            tflite_unsupported(op->r, op->path, op->table.at,
                               base_printf(op->r->arena, "operator %s of complex numbers", op->path->note),
                               "RFFT2D, REAL, IMAG, COMPLEX_ABS and RESHAPE take them");
            return false;
        }
    }
    return true;
}

void tflite_make_attributes(tflite_op *op, uint32_t id) {
    tflite_reader *r = op->r;
    const size_t notes = formats_notes_count(r->notes);
    op->node = ir_node_add(r->m, r->g, op->word->word, op->inputs, op->input_count, op->outputs, op->output_count, id);
    op->node->source_name = op->name;
    op->node->byte = op->table.at;
    if (op->word->custom) {
        tflite_custom_attributes(op);
    }
    for (size_t i = 0; i < TFLITE_MOST_STEPS && op->word->steps[i].kind && !wire_fb_failed(&r->fb); i++) {
        const tflite_step *step = &op->word->steps[i];
        if (step->kind->make) {
            step->kind->make(op, step);
        }
    }
    if (formats_notes_count(r->notes) == notes) {
        recorded_attributes(op);
    }
    drop_inputs(op);
}

static void make_node(tflite_op *op, uint32_t id) {
    tflite_reader *r = op->r;
    const size_t notes = formats_notes_count(r->notes);
    tflite_make_attributes(op, id);
    if (wire_fb_failed(&r->fb) || formats_notes_count(r->notes) > notes) {
        return; /* it lacks attributes */
    }
    tflite_resize(op);
    if (op->infers) {
        tflite_infer(op);
    }
    const size_t nodes = r->g->nodes.n;
    if (!wire_fb_failed(&r->fb)) {
        tflite_fold(r);
    }
    if (!wire_fb_failed(&r->fb) && r->g->nodes.n == nodes && r->m->symbols.n) {
        tflite_follow_elements(r);
    }
}

/* SHAPE of a tensor is a constant, since its extents are known. */
static void fold_shape(tflite_op *op) {
    tflite_reader *r = op->r;
    if (op->input_count != 1 || op->output_count != 1 || op->inputs[0] == IR_NONE) {
        tflite_op_error(op, "%zu inputs and %zu outputs: expected 1 and 1", op->input_count, op->output_count);
        return;
    }
    const ir_shape *shape = &tflite_op_input(op, 0)->shape, list = ir_shape_of(1, &(int64_t){shape->rank});
    ir_tensor *t = &r->g->tensors.at[op->outputs[0]];
    if (op->infers) {
        tflite_set_shape(r, op->outputs[0], &list);
    }
    if ((t->type != BASE_I32 && t->type != BASE_I64) || !ir_shape_same(&t->shape, &list) || t->data ||
        t->state != IR_NONE) {
        tflite_error(&r->fb, op->path, &op->table, TFLITE_Operator_outputs,
                     "expected a computed i32 or i64 tensor of %lu elements", (unsigned long)shape->rank);
        return;
    }
    uint64_t bytes;
    if (!base_type_bytes(t->type, shape->rank, &bytes)) {
        return;
    }
    void *data = base_alloc(r->arena, (size_t)bytes + 1, 1);
    for (uint32_t i = 0; i < shape->rank; i++) {
        base_store(t->type, data, i, (base_value){.i = shape->dim[i]});
    }
    t->data = data;
    r->derived[op->outputs[0]] = true;
}

/* Sparse constants are dense since they were read (sparse.c). */
static void fold_densify(tflite_op *op) {
    if (op->input_count != 1 || op->output_count != 1 || op->inputs[0] == IR_NONE) {
        tflite_op_error(op, "%zu inputs and %zu outputs: expected 1 and 1", op->input_count, op->output_count);
        return;
    }
    const ir_tensor *from = tflite_op_input(op, 0);
    ir_tensor *to = &op->r->g->tensors.at[op->outputs[0]];
    if (op->infers) {
        tflite_set_shape(op->r, op->outputs[0], &from->shape);
    }
    if (!from->data || from->type != to->type || !ir_shape_same(&from->shape, &to->shape) || to->data ||
        to->state != IR_NONE) {
        tflite_op_error(op, "expected a constant, and a computed tensor of its type and shape");
        return;
    }
    to->data = from->data;
}

/* What is computed here is no operator of the graph: its output is a constant. */
static void (*folded(int64_t code))(tflite_op *) {
    return code == TFLITE_OP_SHAPE ? fold_shape : code == TFLITE_OP_DENSIFY ? fold_densify : NULL;
}

/* Do its inputs have extents that data decides? Then nothing that it says of them is constant. */
static bool counts_extents(const tflite_op *op) {
    for (size_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] != IR_NONE && ir_shape_open(&op->r->g->tensors.at[op->inputs[i]].shape)) {
            return true;
        }
    }
    return false;
}

static void read_operator(tflite_reader *r, wire_path *path, const wire_table *table) {
    const char *custom;
    int64_t code = read_code(r, path, table, &custom);
    if (code < 0) {
        return;
    }
    const char *name = tflite_builtin_name(code);
    path->note = code == TFLITE_OP_CUSTOM ? custom : name ? name : base_printf(r->arena, "%lld", (long long)code);
    const tflite_word *word = code == TFLITE_OP_CUSTOM ? tflite_custom_word(r, custom) : tflite_word_of(code);
    const bool second = word && word->options >= TFLITE_SECOND;
    wire_path options_path = {
        .outer = path, .name = second ? "builtin_options_2" : "builtin_options", .index = WIRE_NO_INDEX};
    tflite_op op = {
        .r = r, .path = path, .options_path = &options_path, .table = *table, .word = word, .name = path->note};
    op.inputs = tflite_read_indices(r, path, table, TFLITE_Operator_inputs, true, &op.input_count);
    op.outputs = tflite_read_indices(r, path, table, TFLITE_Operator_outputs, false, &op.output_count);
    op.mids = tflite_read_indices(r, path, table, TFLITE_Operator_intermediates, false, &op.mid_count);
    if (wire_fb_failed(&r->fb)) {
        return;
    }
    const bool settled = inputs_are_settled(&op);
    /* Behind what is not supported shapes may depend on it: for a look at the model, those that are recorded will do. */
    op.recorded = is_recorded(&op);
    op.infers = tflite_is_open(r, op.inputs, op.input_count, op.outputs, op.output_count) &&
                !(r->keep_unsupported && op.recorded);
    if (settled && tflite_is_control(code) && counts_extents(&op)) {
        tflite_unsupported(r, path, table->at,
                           base_printf(r->arena, "operator %s of an extent that data decides", name),
                           "shapes have to be known when the model is compiled");
    } else if (settled && tflite_is_control(code)) {
        if (tensors_are_supported(&op, true) && blocks_are_supported(&op)) {
            tflite_read_control(&op, code);
        }
    } else if (settled && folded(code) && !counts_extents(&op)) {
        if (tensors_are_supported(&op, false) && complex_is_supported(&op)) {
            folded(code)(&op);
        }
    } else if ((!word || !settled) && r->keep_unsupported) {
        const char *kind = code == TFLITE_OP_CUSTOM ? "custom" : "tflite";
        ir_node *node = ir_node_add(r->m, r->g, base_printf(r->arena, "%s %s", kind, path->note), op.inputs,
                                    op.input_count, op.outputs, op.output_count, (uint32_t)path->index);
        node->source_name = path->note;
        node->byte = table->at;
    } else if (!word) {
        note_unsupported(r, path, table, code, custom);
    } else if (settled && check_counts(&op) && read_options(&op) && tensors_are_supported(&op, false) &&
               blocks_are_supported(&op) && complex_is_supported(&op)) {
        make_node(&op, (uint32_t)path->index);
    }
}

/* Of an operator behind a faulty one: only whether it has a word. */
static void read_word(tflite_reader *r, wire_path *path, const wire_table *table) {
    const char *custom;
    int64_t code = read_code(r, path, table, &custom);
    if (code >= 0 && !folded(code) && !tflite_is_control(code) &&
        !(code == TFLITE_OP_CUSTOM ? tflite_custom_word(r, custom) : tflite_word_of(code))) {
        const char *name = tflite_builtin_name(code);
        path->note = code == TFLITE_OP_CUSTOM ? custom : name ? name : base_printf(r->arena, "%lld", (long long)code);
        note_unsupported(r, path, table, code, custom);
    }
}

/* Does it keep something between runs, so that no output needs to want it? */
static bool keeps(const tflite_reader *r, const uint32_t *tensors, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (tensors[i] != IR_NONE && (r->is_variable[tensors[i]] || r->is_resource[tensors[i]])) {
            return true;
        }
    }
    return n == 0;
}

/* Of each operator whether the outputs that were asked for need it: what they do not need may be unsupported. NULL: none was
 * asked for, or a fault. */
static bool *needed_operators(tflite_reader *r, const wire_path *outer, const wire_vector *operators) {
    if (!r->cut || r->call->outer) {
        return NULL;
    }
    bool *needed = BASE_NEWS(r->arena, bool, operators->n + 1),
         *wanted = BASE_NEWS(r->arena, bool, r->tensor_count + 1);
    for (size_t i = 0; i < r->g->outputs.n; i++) {
        wanted[r->g->outputs.at[i]] = true;
    }
    for (uint64_t i = operators->n; i-- > 0;) {
        wire_path path = {.outer = outer, .name = "operator", .index = (int64_t)i};
        wire_table table = wire_fb_table_at(&r->fb, &path, operators, i);
        size_t in, out;
        const uint32_t *inputs = tflite_read_indices(r, &path, &table, TFLITE_Operator_inputs, true, &in);
        const uint32_t *outputs = tflite_read_indices(r, &path, &table, TFLITE_Operator_outputs, false, &out);
        if (wire_fb_failed(&r->fb)) {
            return NULL;
        }
        needed[i] = keeps(r, outputs, out) || (in > 0 && keeps(r, inputs, in));
        for (size_t k = 0; k < out; k++) {
            needed[i] = needed[i] || wanted[outputs[k]];
        }
        for (size_t k = 0; k < in && needed[i]; k++) {
            if (inputs[k] != IR_NONE) {
                wanted[inputs[k]] = true;
            }
        }
    }
    return needed;
}

/* ---- doubts ---- */

/* The doubts of each tensor, as its maker's output: the last one. */
static tflite_doubt **doubts_of(tflite_reader *r) {
    tflite_doubt **of = BASE_NEWS(r->arena, tflite_doubt *, r->g->tensors.n + 1);
    for (tflite_doubt *d = r->doubts; d; d = d->next) {
        of[d->output] = of[d->output] && of[d->output]->message ? of[d->output] : d;
    }
    return of;
}

static bool is_wanted(const ir_graph *g, const ir_node *n, const bool *wanted) {
    bool is = n->output_count == 0;
    for (size_t i = 0; i < n->output_count; i++) {
        is = is || wanted[n->outputs[i]] || g->tensors.at[n->outputs[i]].state != IR_NONE;
    }
    return is;
}

/* An operator that was doubted is a fault where anything depends on it; what adds nothing up depends on nothing. */
static void settle_doubts(tflite_reader *r, const wire_path *outer) {
    tflite_doubt **of = doubts_of(r);
    const ir_graph *g = r->g;
    bool *wanted = BASE_NEWS(r->arena, bool, g->tensors.n + 1);
    for (size_t i = 0; i < g->outputs.n; i++) {
        wanted[g->outputs.at[i]] = true;
    }
    for (size_t i = g->nodes.n; i-- > 0;) {
        const ir_node *n = &g->nodes.at[i];
        const bool is = is_wanted(g, n, wanted);
        const tflite_doubt *doubt = n->output_count ? of[n->outputs[0]] : NULL;
        for (size_t k = doubt && !doubt->message ? 1 : 0; k < n->input_count && is; k++) {
            if (n->inputs[k] != IR_NONE) {
                wanted[n->inputs[k]] = true;
            }
        }
    }
    for (const tflite_doubt *d = r->doubts; d; d = d->next) {
        wire_path path = {.outer = outer, .name = "operator", .index = d->index, .note = d->name};
        if (d->message && wanted[d->output]) {
            wire_fb_error(&r->fb, &path, d->byte, "%s", d->message);
        } else if (d->message) {
            base_place place = {.file = r->file, .byte = d->byte, .has_byte = true};
            place.path = wire_path_print(r->arena, &path);
            base_warn(r->d, &place, "%s; no output depends on it", d->message);
        }
    }
}

void tflite_read_operators(tflite_reader *r, const wire_path *outer, const wire_table *subgraph) {
    wire_vector operators = tflite_list(&r->fb, outer, subgraph, TFLITE_SubGraph_operators);
    const bool *needed = needed_operators(r, outer, &operators);
    bool failed = false;
    r->doubts = NULL;
    for (uint64_t i = 0; i < operators.n && !wire_fb_failed(&r->fb); i++) {
        if (needed && !needed[i]) {
            continue;
        }
        wire_path path = {.outer = outer, .name = "operator", .index = (int64_t)i};
        wire_table table = wire_fb_table_at(&r->fb, &path, &operators, i);
        if (table.at && !failed) {
            read_operator(r, &path, &table);
        } else if (table.at) {
            read_word(r, &path, &table);
        }
        if (wire_fb_failed(&r->fb) && failed) {
            return;
        }
        if (wire_fb_failed(&r->fb)) { /* one fault must not hide that later operators are not supported */
            failed = true;
            r->fb.failed = false;
        }
    }
    if (r->doubts && !wire_fb_failed(&r->fb)) {
        settle_doubts(r, outer);
    }
    r->fb.failed = r->fb.failed || failed;
}
