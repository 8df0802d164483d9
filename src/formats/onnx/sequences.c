/* sequences.c - operators on sequences and optional values, which are resolved when the file is read.
 *
 * Takes nodes whose inputs' structure is known. Gives values of known structure: a sequence is a list of tensors, and no
 * tensor of the graph stands for it. Positions in a sequence must be known then, or the tensors there alike.
 */
#include "formats/onnx/special.h"

#include <string.h>

static bool has_counts(onnx_op *op, size_t needed, size_t most) {
    if (op->input_count < needed || op->input_count > most || op->output_count != 1) {
        onnx_op_error(op, "%zu inputs and %zu outputs: expected %zu to %zu and 1", op->input_count, op->output_count,
                      needed, most);
    }
    return !onnx_op_failed(op);
}

/* Input number i as a sequence; NULL: a fault, reported. */
static const onnx_value *sequence_of(onnx_op *op, size_t i) {
    if (op->values[i].kind == ONNX_A_SEQUENCE) {
        return &op->values[i];
    }
    onnx_op_error(op, "input %zu is %s: expected a sequence", i, onnx_value_print(op->r, op->scope, &op->values[i]));
    return NULL;
}

static bool is_tensor(onnx_op *op, size_t i) {
    if (op->values[i].kind != ONNX_A_TENSOR || op->values[i].tensor == IR_NONE) {
        onnx_op_error(op, "input %zu is %s: expected a tensor", i, onnx_value_print(op->r, op->scope, &op->values[i]));
    }
    return !onnx_op_failed(op);
}

/* The position that input i says, from 0, below count; otherwise where it is absent. -1: a fault, or noted. */
static int64_t position_of(onnx_op *op, size_t i, size_t count, size_t otherwise) {
    size_t n;
    if (!onnx_op_has_input(op, i)) {
        return (int64_t)otherwise;
    }
    const int64_t *list = onnx_op_constant(op, i, &n);
    if (!list) {
        return -1;
    }
    const int64_t most = (int64_t)count;
    const int64_t at = n == 1 && list[0] < 0 ? list[0] + most : n == 1 ? list[0] : -1;
    if (at < 0 || at > most) {
        onnx_op_error(op, n == 1 ? "position %lld of %zu" : "its position is a list", (long long)(n ? list[0] : 0),
                      count);
        return -1;
    }
    return at;
}

static void give_parts(onnx_op *op, onnx_kind kind, const onnx_value *at, size_t n) {
    const onnx_value value = {.kind = kind, .tensor = IR_NONE, .n = n, .at = at};
    onnx_give_value(op, 0, &value);
}

void onnx_read_sequence_construct(onnx_op *op) {
    if (!has_counts(op, 1, SIZE_MAX)) {
        return;
    }
    for (size_t i = 0; i < op->input_count; i++) {
        if (!is_tensor(op, i)) {
            return;
        }
        if (onnx_op_input(op, i)->type != onnx_op_input(op, 0)->type) {
            onnx_op_error(op, "input %zu is %s, input 0 %s", i, base_type_name(onnx_op_input(op, i)->type),
                          base_type_name(onnx_op_input(op, 0)->type));
            return;
        }
    }
    give_parts(op, ONNX_A_SEQUENCE, op->values, op->input_count);
}

void onnx_read_sequence_empty(onnx_op *op) {
    const int64_t type = onnx_op_int(op, "dtype", 1);
    if (!onnx_op_failed(op) && !onnx_type_name(type)) {
        onnx_op_error(op, "dtype: %lld is no type", (long long)type);
    }
    if (has_counts(op, 0, 0)) {
        give_parts(op, ONNX_A_SEQUENCE, NULL, 0);
    }
}

void onnx_read_sequence_insert(onnx_op *op) {
    const onnx_value *s = has_counts(op, 2, 3) ? sequence_of(op, 0) : NULL;
    if (!s || !is_tensor(op, 1)) {
        return;
    }
    const int64_t at = position_of(op, 2, s->n, s->n);
    if (at < 0) {
        return;
    }
    onnx_value *parts = BASE_NEWS(op->r->arena, onnx_value, s->n + 1);
    for (size_t i = 0; i <= s->n; i++) {
        parts[i] = i == (size_t)at ? op->values[1] : s->at[i < (size_t)at ? i : i - 1];
    }
    give_parts(op, ONNX_A_SEQUENCE, parts, s->n + 1);
}

static bool is_inside(onnx_op *op, const onnx_value *s, int64_t at) {
    if (at >= 0 && (uint64_t)at >= s->n) {
        onnx_op_error(op, "position %lld of %zu", (long long)at, s->n);
    }
    return at >= 0 && !onnx_op_failed(op);
}

void onnx_read_sequence_erase(onnx_op *op) {
    const onnx_value *s = has_counts(op, 1, 2) ? sequence_of(op, 0) : NULL;
    const int64_t at = s ? position_of(op, 1, s->n, s->n ? s->n - 1 : 0) : -1;
    if (!s || !is_inside(op, s, at)) {
        return;
    }
    onnx_value *parts = BASE_NEWS(op->r->arena, onnx_value, s->n + 1);
    for (size_t i = 0; i + 1 < s->n; i++) {
        parts[i] = s->at[i < (size_t)at ? i : i + 1];
    }
    give_parts(op, ONNX_A_SEQUENCE, parts, s->n - 1);
}

/* A run says which: all are alike, and stand side by side. */
static void choose(onnx_op *op, const onnx_value *s) {
    onnx_reader *r = op->r;
    onnx_tensors parts = {0};
    const ir_shape scalar = {0};
    onnx_parts(r, s, &parts);
    uint32_t at = op->inputs[1];
    const base_type type = onnx_op_input(op, 1)->type;
    at = onnx_op_input(op, 1)->shape.rank ? onnx_make_reshape(op, op->scope, at, &scalar) : at;
    const uint32_t all = at == IR_NONE ? IR_NONE : onnx_make_join(op, op->scope, parts.at, parts.n, 0, true);
    if (all == IR_NONE) {
        return;
    }
    const uint32_t count = onnx_make_scalar(op, op->scope, type, (int64_t)s->n);
    const uint32_t below[] = {at, onnx_make_scalar(op, op->scope, type, 0)}, from_end[] = {at, count};
    onnx_op less = onnx_make(op, op->scope, "less", below, 2);
    uint32_t choice[] = {onnx_finish(&less), IR_NONE, at};
    onnx_op add = onnx_make(op, op->scope, "add", from_end, 2);
    choice[1] = onnx_finish(&add);
    if (choice[0] == IR_NONE || choice[1] == IR_NONE) {
        return;
    }
    onnx_op select = onnx_make(op, op->scope, "select", choice, 3);
    const uint32_t inputs[] = {all, onnx_finish(&select)};
    if (inputs[1] == IR_NONE) {
        return;
    }
    onnx_op gather = onnx_make(op, op->scope, "gather", inputs, 2);
    ir_attr_int(r->m, gather.node, "axis", 0);
    ir_attr_int(r->m, gather.node, "from_end", 1);
    const uint32_t chosen = onnx_finish(&gather);
    if (chosen != IR_NONE) {
        onnx_give(op, 0, chosen);
    }
}

void onnx_read_sequence_at(onnx_op *op) {
    const onnx_value *s = has_counts(op, 2, 2) ? sequence_of(op, 0) : NULL;
    if (!s || !is_tensor(op, 1)) {
        return;
    }
    bool alike = s->n > 0 && base_type_is_int(onnx_op_input(op, 1)->type);
    for (size_t i = 1; i < s->n && alike; i++) {
        alike = onnx_alike(op->r, op->scope, &s->at[0], op->scope, &s->at[i]);
    }
    if (!onnx_op_contents(op, 1) && alike) {
        choose(op, s);
        return;
    }
    const int64_t at = position_of(op, 1, s->n, 0);
    if (is_inside(op, s, at)) {
        onnx_give_value(op, 0, &s->at[at]);
    }
}

void onnx_read_sequence_length(onnx_op *op) {
    const onnx_value *s = has_counts(op, 1, 1) ? sequence_of(op, 0) : NULL;
    if (s) {
        onnx_give(op, 0, onnx_make_scalar(op, op->scope, BASE_I64, (int64_t)s->n));
    }
}

void onnx_read_sequence_map(onnx_op *op) {
    onnx_reader *r = op->r;
    const onnx_attr *body = onnx_op_attr(op, "body", ONNX_GRAPH);
    const onnx_value *s = body && op->input_count ? sequence_of(op, 0) : NULL;
    if (!s) {
        if (!onnx_op_failed(op)) {
            onnx_op_error(op, "it has no body or no sequence");
        }
        return;
    }
    const wire_path path = {.outer = op->path, .name = body->name, .index = WIRE_NO_INDEX};
    onnx_value **given = BASE_NEWS(r->arena, onnx_value *, op->output_count + 1);
    for (size_t k = 0; k < op->output_count; k++) {
        given[k] = BASE_NEWS(r->arena, onnx_value, s->n + 1);
    }
    for (size_t i = 0; i < s->n; i++) {
        onnx_values inputs = {0}, outputs = {0};
        onnx_scope scope = onnx_scope_new(r, op->scope, op->scope->graph);
        scope.id = op->id;
        for (size_t k = 0; k < op->input_count; k++) {
            const onnx_value *v = &op->values[k];
            if (v->kind == ONNX_A_SEQUENCE && v->n < s->n) {
                onnx_op_error(op, "input %zu is a sequence of %zu, input 0 one of %zu", k, v->n, s->n);
                return;
            }
            *BASE_PUSH(r->arena, &inputs) = v->kind == ONNX_A_SEQUENCE ? v->at[i] : *v;
        }
        if (!onnx_read_body(r, &path, body->message, &scope, inputs.at, inputs.n, &outputs)) {
            return;
        }
        if (outputs.n < op->output_count) {
            onnx_op_error(op, "%zu outputs: its body gives %zu", op->output_count, outputs.n);
            return;
        }
        for (size_t k = 0; k < op->output_count; k++) {
            given[k][i] = outputs.at[k];
        }
    }
    for (size_t k = 0; k < op->output_count; k++) {
        const onnx_value value = {.kind = ONNX_A_SEQUENCE, .tensor = IR_NONE, .n = s->n, .at = given[k]};
        onnx_give_value(op, k, &value);
    }
}

void onnx_read_concat_from_sequence(onnx_op *op) {
    const onnx_attr *axis = onnx_op_attr(op, "axis", ONNX_INT);
    const bool pack = onnx_op_int(op, "new_axis", 0) != 0;
    const onnx_value *s = has_counts(op, 1, 1) ? sequence_of(op, 0) : NULL;
    onnx_tensors parts = {0};
    if (s && (!axis || !s->n)) {
        onnx_op_error(op, axis ? "the sequence is empty" : "axis: it is absent, and the operator needs it");
    }
    if (!s || onnx_op_failed(op)) {
        return;
    }
    onnx_parts(op->r, s, &parts);
    const uint32_t rank = onnx_graph_of(op->r, op->scope)->tensors.at[parts.at[0]].shape.rank;
    const int64_t at = onnx_op_axis(op, "axis", axis->i, rank + (pack ? 1 : 0));
    const uint32_t joined = at < 0 ? IR_NONE : onnx_make_join(op, op->scope, parts.at, parts.n, (uint32_t)at, pack);
    if (joined != IR_NONE) {
        onnx_give(op, 0, joined);
    }
}

/* ---- SplitToSequence ---- */

/* How many elements each part has; NULL: a fault, or noted. */
static const int64_t *sizes_of(onnx_op *op, int64_t extent, size_t *n) {
    onnx_reader *r = op->r;
    const bool given = onnx_op_has_input(op, 1), list = given && onnx_op_input(op, 1)->shape.rank == 1;
    const int64_t *split = given ? onnx_op_constant(op, 1, n) : NULL;
    int64_t sum = 0;
    if (given && !split) {
        return NULL;
    }
    for (size_t i = 0; list && i < *n; i++) {
        if (split[i] < 0 || split[i] > extent - sum) {
            onnx_op_error(op, "split: its parts are more than %lld", (long long)extent);
            return NULL;
        }
        sum += split[i];
    }
    if (list && sum != extent) {
        onnx_op_error(op, "split: its parts are %lld together: expected %lld", (long long)sum, (long long)extent);
        return NULL;
    }
    if (list) {
        return split;
    }
    const int64_t each = split && *n == 1 ? split[0] : 1;
    static const int64_t most_parts = 1 << 16;
    if (each < 1 || extent / each > most_parts) {
        onnx_op_error(op, "split: parts of %lld of %lld", (long long)each, (long long)extent);
        return NULL;
    }
    *n = (size_t)((extent + each - 1) / each);
    int64_t *sizes = BASE_NEWS(r->arena, int64_t, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        sizes[i] = extent - (int64_t)i * each < each ? extent - (int64_t)i * each : each;
    }
    return sizes;
}

void onnx_read_split_to_sequence(onnx_op *op) {
    const int64_t axis = onnx_op_int(op, "axis", 0);
    const bool keep = onnx_op_int(op, "keepdims", 1) != 0 || onnx_op_has_input(op, 1);
    if (!has_counts(op, 1, 2) || !is_tensor(op, 0)) {
        return;
    }
    const ir_shape shape = onnx_op_input(op, 0)->shape;
    const int64_t at = onnx_op_axis(op, "axis", axis, shape.rank);
    size_t n = 0;
    if (at >= 0 && ir_shape_open(&shape)) {
        onnx_op_unsupported(op, "operator SplitToSequence behind an extent that data decides",
                            "leave what is behind it to the application");
        return;
    }
    const int64_t *sizes = at < 0 ? NULL : sizes_of(op, shape.dim[at], &n);
    if (!sizes) {
        return;
    }
    onnx_value *parts = BASE_NEWS(op->r->arena, onnx_value, n + 1);
    int64_t from = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t part = onnx_make_slice(op, op->scope, op->inputs[0], (uint32_t)at, from, sizes[i]);
        from += sizes[i];
        if (part != IR_NONE && !keep) {
            ir_shape less = {.rank = shape.rank - 1};
            for (uint32_t k = 0, to = 0; k < shape.rank; k++) {
                if (k != (uint32_t)at) {
                    less.dim[to++] = shape.dim[k];
                }
            }
            part = onnx_make_reshape(op, op->scope, part, &less);
        }
        if (part == IR_NONE) {
            return;
        }
        parts[i] = (onnx_value){.tensor = part};
    }
    give_parts(op, ONNX_A_SEQUENCE, parts, n);
}

/* ---- optional values ---- */

void onnx_read_optional(onnx_op *op) {
    (void)onnx_op_attr(op, "type", ONNX_TYPE_PROTO);
    if (!has_counts(op, 0, 1)) {
        return;
    }
    const bool some = op->input_count == 1;
    if (some && op->values[0].kind == ONNX_AN_OPTIONAL) {
        onnx_op_error(op, "input 0 is an optional value: expected a tensor or a sequence");
        return;
    }
    give_parts(op, ONNX_AN_OPTIONAL, op->values, some ? 1 : 0);
}

/* Is there a content? As a tensor of the scope. */
static uint32_t presence_of(onnx_op *op, onnx_scope *scope, const onnx_value *v) {
    return v->tensor != IR_NONE ? v->tensor : onnx_make_scalar(op, scope, BASE_BOOL, v->n != 0);
}

/* Zeros in the place of each tensor of a value of another scope. false: noted. */
static bool make_blank(onnx_op *op, onnx_scope *from, const onnx_value *v, onnx_scope *to, onnx_value *out) {
    onnx_reader *r = op->r;
    onnx_tensors parts = {0};
    size_t at = 0;
    onnx_parts(r, v, &parts);
    for (size_t i = 0; i < parts.n; i++) {
        const ir_tensor t = onnx_graph_of(r, from)->tensors.at[parts.at[i]];
        if (ir_shape_open(&t.shape)) {
            onnx_op_unsupported(op, "an optional value of an extent that data decides", "let it always be there");
            return false;
        }
        parts.at[i] = onnx_make_zeros(op, to, t.type, &t.shape);
        if (parts.at[i] == IR_NONE) {
            return false;
        }
    }
    *out = onnx_rebuild(r, v, parts.at, &at);
    return true;
}

bool onnx_make_maybe(onnx_op *op, onnx_scope *a_scope, onnx_value *a, onnx_scope *b_scope, onnx_value *b) {
    if (a->kind != ONNX_AN_OPTIONAL || b->kind != ONNX_AN_OPTIONAL || (!a->n && !b->n) ||
        (a->n && b->n && !onnx_alike(op->r, a_scope, a->at, b_scope, b->at))) {
        return false;
    }
    for (size_t k = 0; k < 2; k++) {
        onnx_value *v = k ? b : a, *other = k ? a : b;
        onnx_scope *scope = k ? b_scope : a_scope;
        v->tensor = presence_of(op, scope, v);
        if (!v->n) {
            onnx_value *blank = BASE_NEW(op->r->arena, onnx_value);
            if (!make_blank(op, k ? a_scope : b_scope, other->at, scope, blank)) {
                return false;
            }
            v->n = 1;
            v->at = blank;
        }
    }
    return true;
}

void onnx_read_optional_get(onnx_op *op) {
    if (!has_counts(op, 1, 1)) {
        return;
    }
    const onnx_value *v = &op->values[0];
    if (v->kind == ONNX_AN_OPTIONAL && !v->n) {
        onnx_op_error(op, "input 0 is an optional value without content");
        return;
    }
    /* of one that a run leaves without content zeros, as of a place outside (gather.op) */
    onnx_give_value(op, 0, v->kind == ONNX_AN_OPTIONAL ? v->at : v);
}

void onnx_read_optional_has(onnx_op *op) {
    if (!has_counts(op, 0, 1)) {
        return;
    }
    const onnx_value *v = op->input_count ? &op->values[0] : NULL;
    if (v && v->kind == ONNX_AN_OPTIONAL && v->tensor != IR_NONE) {
        onnx_give(op, 0, v->tensor);
        return;
    }
    const bool some = v && (v->kind == ONNX_AN_OPTIONAL ? v->n : v->kind == ONNX_A_SEQUENCE || v->tensor != IR_NONE);
    onnx_give(op, 0, onnx_make_scalar(op, op->scope, BASE_BOOL, some));
}
