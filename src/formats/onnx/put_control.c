/* put_control.c - nodes with graphs of their own, as ONNX's If and Loop (writer.h).
 *
 * Takes `if` and `while`. Gives If, whose branches see the arguments by name, and Loop. A loop whose condition counts its
 * rounds has ONNX's limit and its number of the round; what a body fills slice by slice is a scan output; what it leaves as
 * it is, the body sees by name. Of any other condition the graph stands twice: before the loop and in its body.
 */
#include "formats/onnx/writer.h"

#include <string.h>

static const ir_shape scalar_shape = {0};

/* The node of the graph that gives the tensor; NULL: none does. */
static const ir_node *producer_of(const ir_graph *g, uint32_t tensor) {
    for (size_t i = g->nodes.n; i-- > 0;) {
        for (size_t k = 0; k < g->nodes.at[i].output_count; k++) {
            if (g->nodes.at[i].outputs[k] == tensor) {
                return &g->nodes.at[i];
            }
        }
    }
    return NULL;
}

/* A result of a graph below has a name that a node of it gives, and no other result has: else it is a copy. */
static const char *own_name(onnx_frame *f, uint32_t tensor, const uint32_t *others, size_t n) {
    bool own = producer_of(f->g, tensor) != NULL;
    for (size_t i = 0; i < n; i++) {
        own = own && others[i] != tensor;
    }
    if (own) {
        return f->name_of[tensor];
    }
    const char *name = onnx_unique_name(f->w, f->g->tensors.at[tensor].name, "copy");
    onnx_put_copy(f, f->name_of[tensor], name);
    return name;
}

static void put_value(const onnx_frame *f, wire_pb_out *graph, uint32_t field, const char *name, uint32_t tensor) {
    const ir_tensor *t = &f->g->tensors.at[tensor];
    const wire_pb_out value = onnx_put_value(f->w, name, t->type, &t->shape);
    wire_pb_put_message(graph, field, &value);
}

/* ---- If ---- */

static wire_pb_out branch(onnx_frame *f, const ir_node *n, const char *attr) {
    onnx_sheet sheet = onnx_sheet_new(f->w);
    onnx_frame in = onnx_frame_new(f->w, &sheet, ir_sub_graph(f->w->m, n, attr));
    onnx_frame_need(&in, in.g->outputs.at, in.g->outputs.n);
    const char **names = BASE_NEWS(f->w->arena, const char *, in.g->outputs.n + 1);
    for (size_t i = 0; i < in.g->inputs.n; i++) {
        in.name_of[in.g->inputs.at[i]] = f->name_of[n->inputs[i + 1]];
    }
    onnx_frame_name(&in);
    onnx_frame_put(&in);
    for (size_t i = 0; i < in.g->outputs.n; i++) {
        names[i] = own_name(&in, in.g->outputs.at[i], in.g->outputs.at, i);
    }
    wire_pb_out graph = onnx_sheet_message(&sheet, attr);
    for (size_t i = 0; i < in.g->outputs.n; i++) {
        put_value(&in, &graph, ONNX_GRAPH_OUTPUT, names[i], in.g->outputs.at[i]);
    }
    return graph;
}

/* false: an argument is absent, or stands for a state: an error. */
static bool check_arguments(onnx_frame *f, size_t node) {
    const ir_node *n = &f->g->nodes.at[node];
    bool fine = true;
    for (size_t i = 0; i < n->input_count; i++) {
        fine = fine && n->inputs[i] != IR_NONE;
    }
    if (!fine) {
        onnx_frame_cannot(f, node, "an argument is absent");
    }
    return fine;
}

static const char **result_names(const onnx_frame *f, const ir_node *n) {
    const char **names = BASE_NEWS(f->w->arena, const char *, n->output_count + 1);
    for (size_t i = 0; i < n->output_count; i++) {
        names[i] = onnx_output_name(f, n, i);
    }
    return names;
}

void onnx_put_if(onnx_frame *f, size_t node) {
    const ir_node *n = &f->g->nodes.at[node];
    if (!check_arguments(f, node)) {
        return;
    }
    const wire_pb_out then = branch(f, n, "then"), otherwise = branch(f, n, "else");
    const onnx_put_attr attrs[] = {{.name = "then_branch", .type = ONNX_GRAPH, .graph = &then},
                                   {.name = "else_branch", .type = ONNX_GRAPH, .graph = &otherwise}};
    const char *condition = f->name_of[n->inputs[0]];
    onnx_put_node(f, "", "If", &condition, 1, result_names(f, n), n->output_count, attrs, 2);
}

/* ---- Loop: what its values are ---- */

typedef struct grown {
    uint32_t slice;   /* of the body: what a round adds; IR_NONE: the value does not grow */
    ir_shape shape;   /* of a slice */
    uint32_t name_as; /* of the graph around: what the output stands for */
    size_t said_by;   /* its node `leading`, which the loop says; IR_NONE */
} grown;

typedef struct loop {
    onnx_frame *f;
    const ir_node *n;
    const ir_graph *cond, *body;
    uint32_t index, condition, limit; /* numbers of values; IR_NONE: there is none */
    bool counts; /* limit, or most_rounds where it is IR_NONE, says how many rounds there are at most */
    int64_t most_rounds;
    bool *kept;    /* of each value: every round leaves it */
    bool *dropped; /* the loop says it in another way, and nothing asks for it */
    grown *grows;
} loop;

static uint32_t value_of(const ir_graph *g, uint32_t tensor) {
    for (size_t i = 0; i < g->inputs.n; i++) {
        if (g->inputs.at[i] == tensor) {
            return (uint32_t)i;
        }
    }
    return IR_NONE;
}

static bool constant_scalar(const ir_tensor *t, base_type type, int64_t *v) {
    if (!t->data || t->type != type || t->shape.rank) {
        return false;
    }
    *v = base_load(type, t->data, 0).i;
    return true;
}

/* Is it the number of the round: 0 before the first, then one more each time? */
static bool is_index(const loop *l, uint32_t value) {
    int64_t v = -1;
    const ir_tensor *first = &l->f->g->tensors.at[l->n->inputs[value]];
    const ir_node *next = producer_of(l->body, l->body->outputs.at[value]);
    if (!constant_scalar(first, BASE_I64, &v) || v != 0 || !next || strcmp(next->op, "add") != 0) {
        return false;
    }
    for (size_t k = 0; k < 2; k++) {
        if (next->inputs[k] == l->body->inputs.at[value] &&
            constant_scalar(&l->body->tensors.at[next->inputs[1 - k]], BASE_I64, &v) && v == 1) {
            return true;
        }
    }
    return false;
}

/* less(number of the round, limit) */
static bool read_limit(loop *l, uint32_t tensor) {
    const ir_node *less = producer_of(l->cond, tensor);
    const uint32_t index = less && !strcmp(less->op, "less") ? value_of(l->cond, less->inputs[0]) : IR_NONE;
    if (index == IR_NONE || !is_index(l, index)) {
        return false;
    }
    l->index = index;
    l->limit = value_of(l->cond, less->inputs[1]);
    l->counts = l->limit == IR_NONE
                    ? constant_scalar(&l->cond->tensors.at[less->inputs[1]], BASE_I64, &l->most_rounds)
                    : l->kept[l->limit] && l->body->tensors.at[l->body->inputs.at[l->limit]].type == BASE_I64;
    return l->counts;
}

/* Does the condition say what a Loop's limit and condition do? */
static bool read_condition(loop *l) {
    const uint32_t result = l->cond->outputs.at[0];
    const ir_node *both = producer_of(l->cond, result);
    l->condition = value_of(l->cond, result);
    if (l->condition != IR_NONE || read_limit(l, result)) {
        return true;
    }
    if (!both || strcmp(both->op, "logical_and") != 0) {
        return false;
    }
    for (size_t k = 0; k < 2; k++) {
        l->condition = value_of(l->cond, both->inputs[1 - k]);
        if (l->condition != IR_NONE && read_limit(l, both->inputs[k])) {
            return true;
        }
    }
    return false;
}

/* ---- what grows ---- */

static size_t uses_in(const ir_graph *g, uint32_t tensor) {
    size_t n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        for (size_t k = 0; k < g->nodes.at[i].input_count; k++) {
            n += g->nodes.at[i].inputs[k] == tensor;
        }
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        n += g->outputs.at[i] == tensor;
    }
    return n;
}

/* Is the tensor the round's number at the first extent, 0 at the others? */
static bool is_place(const loop *l, uint32_t tensor, uint32_t rank) {
    const ir_node *mul = producer_of(l->body, tensor);
    if (mul && rank == 1 && !strcmp(mul->op, "reshape") && mul->inputs[0] == l->body->inputs.at[l->index]) {
        return true; /* of one extent: the number itself, as pass moves says it */
    }
    for (size_t k = 0; mul && !strcmp(mul->op, "mul") && k < 2; k++) {
        const ir_tensor *along = &l->body->tensors.at[mul->inputs[k]];
        bool fits = mul->inputs[1 - k] == l->body->inputs.at[l->index] && along->data && along->type == BASE_I64 &&
                    along->shape.rank == 1 && along->shape.dim[0] == (int64_t)rank;
        for (uint32_t i = 0; i < rank && fits; i++) {
            fits = base_load(BASE_I64, along->data, i).i == (i == 0);
        }
        if (fits) {
            return true;
        }
    }
    return false;
}

/* What asks for the result: the model itself, where there are all rounds that there is room for; else leading(result,
 * rounds) alone. */
static bool read_result(const loop *l, uint32_t value, grown *g) {
    const uint32_t result = l->n->outputs[value], rounds = l->n->outputs[l->index];
    const ir_shape *shape = &l->f->g->tensors.at[result].shape;
    if (l->condition == IR_NONE && l->limit == IR_NONE && l->most_rounds == shape->dim[0]) {
        g->name_as = result;
        return true;
    }
    for (size_t i = 0; i < l->f->g->nodes.n; i++) {
        const ir_node *n = &l->f->g->nodes.at[i];
        if (!strcmp(n->op, "leading") && n->inputs[0] == result && n->inputs[1] == rounds &&
            uses_in(l->f->g, result) == 1) {
            g->name_as = n->outputs[0];
            g->said_by = i;
            return true;
        }
    }
    return false;
}

static void find_grown(loop *l, uint32_t value) {
    grown g = {.slice = IR_NONE, .name_as = IR_NONE, .said_by = IR_NONE};
    const uint32_t in = l->body->inputs.at[value];
    const ir_node *put = producer_of(l->body, l->body->outputs.at[value]);
    l->grows[value] = g;
    if (!put || strcmp(put->op, "dynamic_update_slice") != 0 || put->inputs[0] != in || uses_in(l->body, in) != 1 ||
        uses_in(l->cond, l->cond->inputs.at[value])) {
        return;
    }
    const ir_tensor *whole = &l->body->tensors.at[in], *update = &l->body->tensors.at[put->inputs[1]];
    bool fits = whole->shape.rank > 0 && update->shape.dim[0] == 1 && is_place(l, put->inputs[2], whole->shape.rank);
    for (uint32_t k = 1; k < whole->shape.rank && fits; k++) {
        fits = update->shape.dim[k] == whole->shape.dim[k];
        g.shape.dim[g.shape.rank++] = update->shape.dim[k];
    }
    if (fits && read_result(l, value, &g)) {
        g.slice = put->inputs[1];
        l->grows[value] = g;
    }
}

/* Does anything but what the loop says itself ask for the result? */
static bool is_asked(const loop *l, uint32_t value) {
    size_t uses = uses_in(l->f->g, l->n->outputs[value]);
    for (size_t i = 0; i < l->n->output_count && value == l->index; i++) {
        uses -= l->grows[i].slice != IR_NONE && l->grows[i].said_by != IR_NONE;
    }
    return uses > 0;
}

static loop read_loop(onnx_frame *f, const ir_node *n) {
    loop l = {.f = f, .n = n, .index = IR_NONE, .condition = IR_NONE, .limit = IR_NONE, .most_rounds = -1};
    l.cond = ir_sub_graph(f->w->m, n, "cond");
    l.body = ir_sub_graph(f->w->m, n, "body");
    l.kept = BASE_NEWS(f->w->arena, bool, n->input_count + 1);
    l.dropped = BASE_NEWS(f->w->arena, bool, n->input_count + 1);
    l.grows = BASE_NEWS(f->w->arena, grown, n->input_count + 1);
    for (size_t i = 0; i < n->input_count; i++) {
        l.grows[i].slice = IR_NONE;
        l.kept[i] = l.body->outputs.at[i] == l.body->inputs.at[i];
    }
    const bool is_plain = read_condition(&l);
    if (!is_plain) {
        l.index = l.condition = l.limit = IR_NONE;
        l.counts = false;
    }
    for (uint32_t i = 0; i < n->input_count && l.index == IR_NONE; i++) {
        l.index = is_index(&l, i) ? i : IR_NONE;
    }
    for (uint32_t i = 0; i < n->input_count && l.index != IR_NONE; i++) {
        find_grown(&l, i);
    }
    for (uint32_t i = 0; i < n->input_count; i++) {
        l.dropped[i] = l.kept[i] || l.grows[i].slice != IR_NONE ||
                       (is_plain && (i == l.index || i == l.condition) && !is_asked(&l, i));
    }
    return l;
}

/* ---- Loop: its body ---- */

/* The condition's graph for those values: the name of what it gives. */
static const char *put_condition(onnx_frame *f, const ir_graph *cond, const char *const *values) {
    onnx_frame in = onnx_frame_new(f->w, f->sheet, cond);
    onnx_frame_need(&in, cond->outputs.at, 1);
    for (size_t i = 0; i < cond->inputs.n; i++) {
        in.name_of[cond->inputs.at[i]] = values[i];
    }
    onnx_frame_name(&in);
    onnx_frame_put(&in);
    return in.name_of[cond->outputs.at[0]];
}

/* The slice as it was before it had an extent along which it grows; itself where nothing gave it one. */
static uint32_t bare_slice(const ir_graph *g, const grown *of) {
    const ir_node *before = producer_of(g, of->slice);
    const bool is_bare =
        before && !strcmp(before->op, "reshape") && ir_shape_same(&g->tensors.at[before->inputs[0]].shape, &of->shape);
    return is_bare ? before->inputs[0] : of->slice;
}

/* A slice as ONNX has it, without that extent. */
static const char *put_slice(onnx_frame *f, const grown *g) {
    const uint32_t bare = bare_slice(f->g, g);
    const char *name = onnx_unique_name(f->w, "", "slice");
    if (bare != g->slice) {
        onnx_put_copy(f, f->name_of[bare], name);
        return name;
    }
    const char *const inputs[] = {f->name_of[bare], onnx_put_list(f, "shape", g->shape.dim, g->shape.rank)};
    onnx_put_node(f, "", "Reshape", inputs, 2, &name, 1, NULL, 0);
    return name;
}

/* Everything that the body's outputs need, but for what the loop says itself. */
static void need(const loop *l, onnx_frame *in) {
    uint32_t *tensors = BASE_NEWS(in->w->arena, uint32_t, l->n->input_count + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < l->n->input_count; i++) {
        if (l->grows[i].slice != IR_NONE) {
            tensors[n++] = bare_slice(l->body, &l->grows[i]);
        } else if (!l->dropped[i] || i == l->condition || l->kept[i]) {
            tensors[n++] = l->body->outputs.at[i];
        }
    }
    onnx_frame_need(in, tensors, n);
}

static void name_inputs(const loop *l, onnx_frame *in, const char *round, const char *condition) {
    for (uint32_t i = 0; i < l->n->input_count; i++) {
        const uint32_t t = l->body->inputs.at[i];
        if (l->kept[i]) {
            in->name_of[t] = l->f->name_of[l->n->inputs[i]];
        } else if (i == l->index && l->dropped[i]) {
            in->name_of[t] = round;
        } else if (i == l->condition && l->dropped[i]) {
            in->name_of[t] = condition;
        } else if (l->grows[i].slice == IR_NONE) {
            in->name_of[t] = onnx_unique_name(in->w, l->body->tensors.at[t].name, "value");
        }
    }
}

static wire_pb_out body(const loop *l) {
    onnx_writer *w = l->f->w;
    const size_t count = l->n->input_count;
    onnx_sheet sheet = onnx_sheet_new(w);
    onnx_frame in = onnx_frame_new(w, &sheet, l->body);
    const char *round = onnx_unique_name(w, "", "round"), *condition = onnx_unique_name(w, "", "condition"),
               *next = onnx_unique_name(w, "", "go_on");
    const char **names = BASE_NEWS(w->arena, const char *, count + 1);
    need(l, &in);
    name_inputs(l, &in, round, condition);
    onnx_frame_name(&in);
    onnx_frame_put(&in);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = l->kept[i]                     ? in.name_of[l->body->inputs.at[i]]
                   : l->grows[i].slice != IR_NONE ? put_slice(&in, &l->grows[i])
                   : l->dropped[i]                ? ""
                                                  : own_name(&in, l->body->outputs.at[i], l->body->outputs.at, i);
    }
    onnx_put_copy(&in,
                  l->condition != IR_NONE ? in.name_of[l->body->outputs.at[l->condition]]
                  : l->counts             ? condition
                                          : put_condition(&in, l->cond, names),
                  next);
    wire_pb_out graph = onnx_sheet_message(&sheet, "body");
    const wire_pb_out inputs[] = {onnx_put_value(w, round, BASE_I64, &scalar_shape),
                                  onnx_put_value(w, condition, BASE_BOOL, &scalar_shape)};
    const wire_pb_out given = onnx_put_value(w, next, BASE_BOOL, &scalar_shape);
    wire_pb_put_message(&graph, ONNX_GRAPH_INPUT, &inputs[0]);
    wire_pb_put_message(&graph, ONNX_GRAPH_INPUT, &inputs[1]);
    wire_pb_put_message(&graph, ONNX_GRAPH_OUTPUT, &given);
    for (uint32_t i = 0; i < count; i++) {
        if (!l->dropped[i]) {
            put_value(&in, &graph, ONNX_GRAPH_INPUT, in.name_of[l->body->inputs.at[i]], l->body->inputs.at[i]);
            put_value(&in, &graph, ONNX_GRAPH_OUTPUT, names[i], l->body->outputs.at[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (l->grows[i].slice != IR_NONE) {
            const ir_tensor *t = &l->body->tensors.at[l->grows[i].slice];
            const wire_pb_out value = onnx_put_value(w, names[i], t->type, &l->grows[i].shape);
            wire_pb_put_message(&graph, ONNX_GRAPH_OUTPUT, &value);
        }
    }
    return graph;
}

/* ---- Loop ---- */

static const char *put_limit(const loop *l) {
    return !l->counts            ? ""
           : l->limit != IR_NONE ? l->f->name_of[l->n->inputs[l->limit]]
                                 : onnx_put_scalar(l->f, "rounds", l->most_rounds);
}

static const char *put_first(const loop *l) {
    if (l->condition != IR_NONE) {
        return l->f->name_of[l->n->inputs[l->condition]];
    }
    if (l->counts) {
        return "";
    }
    const char **values = BASE_NEWS(l->f->w->arena, const char *, l->n->input_count + 1);
    for (size_t i = 0; i < l->n->input_count; i++) {
        values[i] = l->f->name_of[l->n->inputs[i]];
    }
    return put_condition(l->f, l->cond, values);
}

void onnx_while_uses(onnx_frame *f, const ir_node *n) {
    const loop l = read_loop(f, n);
    for (size_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] != IR_NONE && (!l.dropped[i] || l.kept[i] || i == l.condition)) {
            f->is_used[n->inputs[i]] = true;
        }
    }
}

void onnx_put_while(onnx_frame *f, size_t node) {
    const ir_node *n = &f->g->nodes.at[node];
    if (!check_arguments(f, node)) {
        return;
    }
    const loop l = read_loop(f, n);
    const char **inputs = BASE_NEWS(f->w->arena, const char *, n->input_count + 3),
               **outputs = BASE_NEWS(f->w->arena, const char *, n->input_count + 1);
    size_t in = 0, out = 0;
    inputs[in++] = put_limit(&l);
    inputs[in++] = put_first(&l);
    for (size_t i = 0; i < n->input_count; i++) {
        if (!l.dropped[i]) {
            inputs[in++] = f->name_of[n->inputs[i]];
            outputs[out++] = onnx_output_name(f, n, i);
        }
    }
    for (size_t i = 0; i < n->input_count; i++) {
        if (l.grows[i].slice != IR_NONE) {
            outputs[out++] = f->name_of[l.grows[i].name_as];
            if (l.grows[i].said_by != IR_NONE) {
                f->is_said[l.grows[i].said_by] = true;
            }
        }
    }
    const wire_pb_out graph = body(&l);
    const onnx_put_attr attr = {.name = "body", .type = ONNX_GRAPH, .graph = &graph};
    if (out) {
        onnx_put_node(f, "", "Loop", inputs, in, outputs, out, &attr, 1);
    }
    for (size_t i = 0; i < n->input_count; i++) {
        if (l.kept[i] && uses_in(f->g, n->outputs[i])) {
            onnx_put_copy(f, f->name_of[n->inputs[i]], onnx_output_name(f, n, i));
        }
    }
}
