/* nodes.c - NodeProto: which operator it is, its tensors by name, and its node by the dictionary's row.
 *
 * Takes untrusted messages. Gives nodes with Burin's words. Operators without a row are noted by name and domain.
 */
#include "formats/onnx/special.h"

#include <string.h>

typedef struct fields {
    BASE_VEC(const char *) inputs, outputs;
    BASE_VEC(wire_pb_field) attributes;
    const char *name, *type, *domain, *overload;
} fields;

static void read_fields(onnx_reader *r, const wire_path *path, wire_message m, fields *n) {
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        switch (f.number) {
        case ONNX_NODE_INPUT:
            *BASE_PUSH(r->arena, &n->inputs) = wire_pb_text(r->arena, &r->pb, path, &f);
            break;
        case ONNX_NODE_OUTPUT:
            *BASE_PUSH(r->arena, &n->outputs) = wire_pb_text(r->arena, &r->pb, path, &f);
            break;
        case ONNX_NODE_NAME:
            n->name = wire_pb_text(r->arena, &r->pb, path, &f);
            break;
        case ONNX_NODE_OP_TYPE:
            n->type = wire_pb_text(r->arena, &r->pb, path, &f);
            break;
        case ONNX_NODE_DOMAIN:
            n->domain = onnx_domain(wire_pb_text(r->arena, &r->pb, path, &f));
            break;
        case ONNX_NODE_OVERLOAD:
            n->overload = wire_pb_text(r->arena, &r->pb, path, &f);
            break;
        case ONNX_NODE_ATTRIBUTE:
            *BASE_PUSH(r->arena, &n->attributes) = f;
            break;
        default:
            break;
        }
    }
}

/* ---- its tensors ---- */

/* Trailing absent inputs and outputs say nothing. */
static size_t without_absent(const char *const *names, size_t n) {
    while (n && !*names[n - 1]) {
        n--;
    }
    return n;
}

/* false: a fault; or an input that an operator gives that is not supported, which was noted. */
static bool find_inputs(onnx_op *op) {
    onnx_reader *r = op->r;
    op->values = BASE_NEWS(r->arena, onnx_value, op->input_count + 1);
    op->inputs = BASE_NEWS(r->arena, uint32_t, op->input_count + 1);
    op->dropped = BASE_NEWS(r->arena, bool, op->input_count + 1);
    for (size_t i = 0; i < op->input_count; i++) {
        const char *name = op->input_names[i];
        const onnx_value *value = *name ? onnx_find(r, op->scope, name) : NULL;
        op->values[i] = value ? *value : (onnx_value){.tensor = IR_NONE};
        op->inputs[i] = op->values[i].kind == ONNX_A_TENSOR ? op->values[i].tensor : IR_NONE;
        if (*name && !value) {
            onnx_op_error(op, "input %zu is \"%s\", which nothing gives", i,
                          base_printable(r->arena, name, strlen(name), 60));
            return false;
        }
        if (onnx_is_unknown(r, op->scope, &op->values[i])) {
            return false;
        }
    }
    return true;
}

void onnx_give(onnx_op *op, size_t output, uint32_t tensor) {
    const onnx_value value = {.tensor = tensor};
    onnx_give_value(op, output, &value);
}

void onnx_give_value(onnx_op *op, size_t output, const onnx_value *value) {
    const char *name = op->output_names[output];
    if (*name && !onnx_define(op->r, op->scope, name, *value)) {
        onnx_op_error(op, "output %zu is \"%s\", and so is another value", output,
                      base_printable(op->r->arena, name, strlen(name), 60));
    }
}

/* Values that nothing is known of: what reads them cannot be read either, and says nothing of it. partly: some outputs may
 * have been given. */
static void give_unknown(onnx_op *op, bool partly) {
    for (size_t i = 0; i < op->output_count; i++) {
        const char *name = op->output_names[i];
        if (!partly || !base_map_get(op->scope->names, name, strlen(name))) {
            onnx_give(op, i, onnx_new_tensor(op->r, op->scope, name));
        }
    }
}

/* ---- its node ---- */

static bool check_counts(onnx_op *op) {
    const onnx_word *w = op->word;
    if (op->input_count < w->needed || (w->most != ONNX_ANY && op->input_count > w->most)) {
        onnx_op_error(op, "%zu inputs: expected %u%s", op->input_count, w->needed,
                      w->most == ONNX_ANY    ? " or more"
                      : w->most == w->needed ? ""
                                             : base_printf(op->r->arena, " to %u", w->most));
    } else if (op->output_count < w->gives || (w->most_given != ONNX_ANY && op->output_count > w->most_given)) {
        onnx_op_error(op, "%zu outputs: expected %u%s", op->output_count, w->gives,
                      w->most_given == w->gives ? "" : " or more");
    }
    for (size_t i = 0; i < op->input_count && !onnx_op_failed(op); i++) {
        if (op->values[i].kind != ONNX_A_TENSOR) {
            onnx_op_error(op, "input %zu is %s: the operator needs a tensor", i, onnx_kind_name(&op->values[i]));
        } else if (i < w->needed && op->inputs[i] == IR_NONE) {
            onnx_op_error(op, "input %zu is absent: the operator needs it", i);
        }
    }
    return !onnx_op_failed(op);
}

static void settle_inputs(onnx_op *op) {
    size_t n = 0;
    uint32_t *inputs = BASE_NEWS(op->r->arena, uint32_t, op->input_count + op->added.n + 1);
    for (size_t i = 0; i < op->input_count; i++) {
        if (!op->dropped[i]) {
            inputs[n++] = op->inputs[i];
        }
    }
    for (size_t i = 0; i < op->added.n; i++) {
        inputs[n++] = op->added.at[i];
    }
    op->node->inputs = inputs;
    op->node->input_count = n;
}

static void check_attributes(onnx_op *op) {
    for (size_t i = 0; i < op->attrs.n && !onnx_op_failed(op); i++) {
        const onnx_attr *a = &op->attrs.at[i];
        if (!a->used) {
            wire_pb_error(&op->r->pb, op->path, a->byte, "%s: version %lld of %s has no such attribute",
                          base_printable(op->r->arena, a->name, strlen(a->name), 60), (long long)op->opset,
                          *op->domain ? op->domain : "ai.onnx");
        }
    }
}

static void make_node(onnx_op *op) {
    onnx_reader *r = op->r;
    ir_graph *g = onnx_graph_of(r, op->scope);
    const size_t notes = formats_notes_count(r->notes);
    op->outputs = BASE_NEWS(r->arena, uint32_t, op->output_count + 1);
    for (size_t i = 0; i < op->output_count; i++) {
        op->outputs[i] = onnx_new_tensor(r, op->scope, op->output_names[i]);
        onnx_give(op, i, op->outputs[i]);
    }
    if (onnx_op_failed(op)) {
        return;
    }
    op->node = ir_node_add(r->m, g, op->word->word, op->inputs, op->input_count, op->outputs, op->output_count, op->id);
    op->node->source_name = op->type;
    op->node->byte = op->byte;
    onnx_op before = *op;
    before.inputs = BASE_NEWS(r->arena, uint32_t, op->input_count + 1);
    memcpy(before.inputs, op->inputs, op->input_count * sizeof *op->inputs);
    for (size_t i = 0; i < ONNX_MOST_STEPS && op->word->steps[i].kind && !onnx_op_failed(op); i++) {
        if (op->word->steps[i].kind->make) {
            op->word->steps[i].kind->make(op, &op->word->steps[i]);
        }
    }
    if (!onnx_op_failed(op) && formats_notes_count(r->notes) == notes) {
        check_attributes(op);
    }
    if (!onnx_op_failed(op) && formats_notes_count(r->notes) == notes) {
        op->node->op = op->as ? op->as : op->node->op;
        if (onnx_holds_for_all(op, &before)) {
            settle_inputs(op);
        }
        if (formats_notes_count(r->notes) == notes && onnx_infer(op)) {
            return;
        }
    }
    g = onnx_graph_of(r, op->scope);
    g->nodes.at[--g->nodes.n] = (ir_node){0}; /* it lacks attributes; what grows there again must be as new */
}

static void note_unknown(onnx_op *op, bool newer) {
    const char *domain = *op->domain ? op->domain : "ai.onnx";
    const char *what = base_printf(op->r->arena, "operator %s of %s", op->type, domain);
    if (newer) {
        what = base_printf(op->r->arena, "operator %s in version %lld of %s", op->type, (long long)op->opset, domain);
    }
    onnx_op_unsupported(op, what, "burin operators lists those that are");
}

/* For a look at the model: the node as it stands, and its outputs as scalars. */
static void keep(onnx_op *op) {
    onnx_reader *r = op->r;
    ir_graph *g = onnx_graph_of(r, op->scope);
    op->outputs = BASE_NEWS(r->arena, uint32_t, op->output_count + 1);
    for (size_t i = 0; i < op->output_count; i++) {
        const ir_shape scalar = {0};
        op->outputs[i] = ir_tensor_add(r->m, g, op->output_names[i], BASE_F32, &scalar);
        onnx_give(op, i, op->outputs[i]);
    }
    ir_node *node = ir_node_add(r->m, g, base_printf(r->arena, "onnx %s", op->type), op->inputs, op->input_count,
                                op->outputs, op->output_count, op->id);
    node->source_name = op->type;
    node->byte = op->byte;
}

/* What the dictionary has for a type of operator. */
typedef struct meaning {
    const onnx_special *special;
    const onnx_word *word;
    bool newer;
} meaning;

/* The dictionary is long, and large models have few types. */
static const meaning *look_up(onnx_op *op) {
    onnx_reader *r = op->r;
    bool is_new;
    r->key.arena = r->arena;
    r->key.n = 0;
    base_putn(&r->key, &op->opset, sizeof op->opset);
    base_putn(&r->key, op->domain, strlen(op->domain) + 1);
    base_puts(&r->key, op->type);
    r->meanings = r->meanings ? r->meanings : base_map_new(r->arena);
    uint64_t *at = base_map_put(r->meanings, r->key.at, r->key.n, &is_new);
    if (is_new) {
        meaning *m = BASE_NEW(r->arena, meaning);
        m->special = onnx_special_of(op->domain, op->type, op->opset);
        m->word = m->special ? NULL : onnx_word_of(op->domain, op->type, op->opset, &m->newer);
        *at = (uint64_t)(uintptr_t)m;
    }
    return (const meaning *)(uintptr_t)*at;
}

static void read_operator(onnx_op *op) {
    onnx_reader *r = op->r;
    const size_t notes = formats_notes_count(r->notes);
    onnx_function *function = onnx_function_of(r, op->domain, op->type, op->overload);
    const meaning none = {0}, *means = function ? &none : look_up(op);
    const onnx_special *special = means->special;
    const bool newer = means->newer;
    op->word = means->word;
    if (!op->output_count) { /* operators only give: one that gives nothing means nothing */
        return;
    }
    const bool settled = find_inputs(op);
    if (onnx_op_failed(op)) {
        return;
    }
    if (!special && !function && (!op->word || !op->word->word)) {
        if (r->options.keep_unsupported) {
            keep(op);
            return;
        }
        note_unknown(op, newer);
        give_unknown(op, false);
    } else if (!settled || (!(special && special->read == onnx_read_identity) && onnx_takes_instead(op))) {
        give_unknown(op, false);
    } else if (!function && onnx_refuses_strings(op)) {
        give_unknown(op, false);
    } else if (!function && onnx_casts_strings(op)) {
        if (formats_notes_count(r->notes) == notes) {
            check_attributes(op);
        } else {
            give_unknown(op, true);
        }
    } else if (special || function) {
        if (function) {
            onnx_call_function(op, function);
        } else {
            special->read(op);
        }
        if (formats_notes_count(r->notes) == notes) {
            check_attributes(op);
        } else {
            give_unknown(op, true);
        }
    } else if (check_counts(op)) {
        make_node(op);
    }
}

/* "conv_3" Conv: what messages call a node */
static const char *title(onnx_reader *r, const char *name, const char *type) {
    const char *shown = base_printable(r->arena, type, strlen(type), 40);
    return *name ? base_printf(r->arena, "\"%s\" %s", base_printable(r->arena, name, strlen(name), 60), shown) : shown;
}

static void read_node(onnx_reader *r, const wire_path *outer, const wire_pb_field *field, size_t index,
                      onnx_scope *scope) {
    static const uint64_t most_nodes = (uint64_t)1 << 22;
    wire_path path = {.outer = outer, .name = "node", .index = (int64_t)index};
    fields n = {.name = "", .type = "", .domain = "", .overload = ""};
    read_fields(r, &path, wire_pb_message(&r->pb, &path, field), &n);
    onnx_op op = {.r = r, .scope = scope, .path = &path, .byte = field->at};
    op.id = scope->id == IR_NONE ? (uint32_t)index : scope->id;
    op.domain = n.domain;
    op.type = n.type;
    op.name = n.name;
    op.overload = n.overload;
    op.input_names = n.inputs.at;
    op.output_names = n.outputs.at;
    op.input_count = without_absent(n.inputs.at, n.inputs.n);
    op.output_count = without_absent(n.outputs.at, n.outputs.n);
    op.listed_outputs = n.outputs.n;
    op.opset = onnx_version_of(scope->imports, op.domain);
    if (!op.opset && strcmp(op.domain, "com.microsoft") == 0) {
        op.opset = 1; /* the only one there is: ONNX Runtime's tools write it without an import */
    }
    path.note = title(r, n.name, n.type);
    for (size_t i = 0; i < n.attributes.n && !wire_pb_failed(&r->pb); i++) {
        onnx_read_attribute(r, &path, wire_pb_message(&r->pb, &path, &n.attributes.at[i]), scope, &op.attrs);
    }
    if (wire_pb_failed(&r->pb)) {
        return;
    }
    if (++r->size > most_nodes) {
        onnx_op_error(&op, "the model has more than %llu nodes, each call of a function for itself",
                      (unsigned long long)most_nodes);
    } else if (!*op.type) {
        onnx_op_error(&op, "it has no op_type");
    } else if (!op.opset) {
        const char *domain = *op.domain ? op.domain : "ai.onnx";
        onnx_op_error(&op, "domain \"%s\" is not among the imported operator sets",
                      base_printable(r->arena, domain, strlen(domain), 60));
    } else {
        read_operator(&op);
    }
}

void onnx_read_nodes(onnx_reader *r, const wire_path *outer, const wire_pb_field *nodes, size_t n, onnx_scope *scope) {
    const onnx_ordered *order = onnx_order(r, outer, nodes, n);
    for (size_t i = 0; i < (order ? order->n : n) && !wire_pb_failed(&r->pb); i++) {
        const size_t at = order ? order->at[i] : i;
        read_node(r, outer, &nodes[at], at, scope);
    }
}
