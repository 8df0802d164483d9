/* while.c - loops as nodes `while`, over graphs of their own.
 *
 * Takes loops whose carried values keep their types and shapes. Gives the graphs of the condition and of the body, which
 * take and give the same: the round's number, the condition and the limit where a run decides them, the carried values, what
 * has grown so far, and what the body reaches around it. What grows has room for all rounds from the start; where a run
 * decides how many there are, its extent is counted in the end.
 */
#include "formats/onnx/loops.h"
#include "formats/onnx/states.h"

typedef struct loop_graphs {
    const onnx_loop *l;
    onnx_value *start; /* the carried values before the first round */
    onnx_op *op;
    onnx_reader *r;
    onnx_scope body;
    onnx_round round;
    bool conditional; /* a run decides whether there is a next round, beside the limit */
    int64_t room;     /* rounds that what grows has room for */
    onnx_value *carried;
    /* Of each value: as an argument, as the body takes it and gives it. */
    onnx_tensors arguments, inputs, outputs;
    size_t before_grown; /* values before those that grow */
} loop_graphs;

static ir_tensor tensor_of(const loop_graphs *w, const onnx_scope *scope, uint32_t tensor) {
    return onnx_graph_of(w->r, scope)->tensors.at[tensor];
}

static void add_value(loop_graphs *w, uint32_t argument, uint32_t input, uint32_t output) {
    *BASE_PUSH(w->r->arena, &w->arguments) = argument;
    *BASE_PUSH(w->r->arena, &w->inputs) = input;
    *BASE_PUSH(w->r->arena, &w->outputs) = output;
}

static uint32_t new_scalar(loop_graphs *w, const onnx_scope *scope, const char *name, base_type type) {
    const ir_shape scalar = {0};
    return ir_tensor_add(w->r->m, onnx_graph_of(w->r, scope), name, type, &scalar);
}

/* ---- the body ---- */

static bool check_carried(const loop_graphs *w) {
    const onnx_loop *l = w->l;
    for (size_t i = 0; i < l->carried_count; i++) {
        if (!onnx_alike(w->r, &w->body, &w->carried[i], &w->body, &w->round.carried[i])) {
            onnx_op_unsupported(w->op,
                                base_printf(w->r->arena, "operator %s whose value %zu is %s and becomes %s",
                                            w->op->type, i, onnx_value_print(w->r, &w->body, &w->carried[i]),
                                            onnx_value_print(w->r, &w->body, &w->round.carried[i])),
                                "give the number of rounds: --constant NAME=FILE, or let every round keep the shape");
            return false;
        }
    }
    return onnx_settle_captures(w->op, &w->body);
}

/* Does the body say when to end? */
static bool find_condition(loop_graphs *w) {
    const onnx_loop *l = w->l;
    int truth = 1;
    if (l->counts && !l->unconditional) {
        truth = onnx_truth(w->op, &w->body, &w->round.condition);
    }
    w->conditional = truth != 1 || l->condition != 1;
    if (truth != -2 && !w->conditional && l->rounds < 0 && l->limit == IR_NONE) {
        onnx_op_unsupported(w->op, base_printf(w->r->arena, "operator %s without an end", w->op->type),
                            "give it a limit or a condition");
        return false;
    }
    return truth != -2;
}

static bool find_room(loop_graphs *w) {
    const onnx_loop *l = w->l;
    const int64_t bound = (int64_t)(w->r->options.max_trips < INT64_MAX ? w->r->options.max_trips : INT64_MAX);
    const bool exact = !w->conditional && l->rounds >= 0;
    w->room = exact || !bound || (l->rounds >= 0 && l->rounds < bound) ? l->rounds : bound;
    if (l->given_count && (w->room < 0 || (!exact && w->room > UINT32_MAX))) {
        onnx_op_unsupported(w->op,
                            base_printf(w->r->arena,
                                        "operator %s that gives a slice each round, as many as a run decides,",
                                        w->op->type),
                            "say how many at most: --max-trips N");
        return false;
    }
    return true;
}

/* The slice of this round put into what has grown so far. IR_NONE: a fault, or noted. */
static uint32_t put_slice(loop_graphs *w, const onnx_slices *s, uint32_t grown, uint32_t slice, uint32_t axis,
                          uint32_t index) {
    int64_t along[IR_MAX_RANK] = {0};
    ir_shape one = tensor_of(w, &w->body, grown).shape;
    const uint32_t update = (one.dim[axis] = 1, onnx_make_reshape(w->op, &w->body, slice, &one));
    uint32_t at = index;
    along[axis] = 1;
    if (update != IR_NONE && s->backwards) {
        const uint32_t both[] = {onnx_make_scalar(w->op, &w->body, BASE_I64, w->room - 1), index};
        onnx_op sub = onnx_make(w->op, &w->body, "sub", both, 2);
        at = onnx_finish(&sub);
    }
    if (update == IR_NONE || at == IR_NONE) {
        return IR_NONE;
    }
    const uint32_t both[] = {onnx_make_list(w->op, &w->body, along, one.rank), at};
    onnx_op mul = onnx_make(w->op, &w->body, "mul", both, 2);
    const uint32_t inputs[] = {grown, update, onnx_finish(&mul)};
    if (inputs[2] == IR_NONE) {
        return IR_NONE;
    }
    onnx_op put = onnx_make(w->op, &w->body, "dynamic_update_slice", inputs, 3);
    return onnx_finish(&put);
}

static bool grow(loop_graphs *w, uint32_t index) {
    const onnx_loop *l = w->l;
    w->before_grown = w->inputs.n;
    for (size_t i = 0; i < l->given_count; i++) {
        const ir_tensor t = tensor_of(w, &w->body, w->round.slices[i]);
        ir_shape shape = {.rank = t.shape.rank + 1};
        const int64_t axis = onnx_op_axis(w->op, "scan_output_axes", l->given[i].axis, shape.rank);
        if (axis < 0 || shape.rank > IR_MAX_RANK) {
            if (axis >= 0) {
                onnx_op_error(w->op, "output %zu would have %lu extents: a tensor may have %u", l->carried_count + i,
                              (unsigned long)shape.rank, IR_MAX_RANK);
            }
            return false;
        }
        if (ir_shape_open(&t.shape)) {
            onnx_op_unsupported(w->op,
                                base_printf(w->r->arena, "operator %s whose slices' shape data decides", w->op->type),
                                "leave what is behind it to the application");
            return false;
        }
        for (uint32_t k = 0, from = 0; k < shape.rank; k++) {
            shape.dim[k] = k == (uint32_t)axis ? w->room : t.shape.dim[from++];
        }
        const uint32_t grown = ir_tensor_add(w->r->m, onnx_graph_of(w->r, &w->body), t.name, t.type, &shape);
        const uint32_t next = put_slice(w, &l->given[i], grown, w->round.slices[i], (uint32_t)axis, index);
        if (next == IR_NONE) {
            return false;
        }
        add_value(w, IR_NONE, grown, next); /* its argument is made when nothing can fail any more */
    }
    return true;
}

/* Optional values that have a content after some number of rounds, which a run decides, are those that may have one. true: before
 * the first round, too, and the body is to be read again for them. */
static bool make_maybes(loop_graphs *w) {
    const onnx_loop *l = w->l;
    const bool by_run = l->limit != IR_NONE || l->condition == -1;
    onnx_value *made = BASE_NEWS(w->r->arena, onnx_value, l->carried_count + 1);
    bool again = false;
    for (size_t i = 0; i < l->carried_count; i++) {
        made[i] = w->round.carried[i];
        const bool other = by_run && !onnx_alike(w->r, &w->body, &w->carried[i], &w->body, &made[i]);
        if (other && w->carried[i].kind == ONNX_AN_OPTIONAL && w->carried[i].tensor != IR_NONE) {
            onnx_value taken = w->carried[i];
            (void)onnx_make_maybe(w->op, &w->body, &taken, &w->body, &made[i]);
        } else if (other && onnx_make_maybe(w->op, w->op->scope, &w->start[i], &w->body, &made[i])) {
            again = true;
        }
    }
    w->round.carried = made;
    return again;
}

/* Reads one round, of values like those before the first. */
static bool read_one(loop_graphs *w, uint32_t *index) {
    const onnx_loop *l = w->l;
    w->body = onnx_scope_new(w->r, w->op->scope, onnx_below(w->r));
    *index = new_scalar(w, &w->body, "round", BASE_I64);
    for (size_t i = 0; i < l->carried_count; i++) {
        w->carried[i] = onnx_like(w->r, w->op->scope, &w->start[i], &w->body, "");
    }
    return onnx_read_round(l, &w->body, *index, w->carried, &w->round);
}

static bool read_body(loop_graphs *w) {
    const onnx_loop *l = w->l;
    const size_t graphs = w->r->m->graphs.n, symbols = w->r->m->symbols.n;
    uint32_t index = IR_NONE;
    w->carried = BASE_NEWS(w->r->arena, onnx_value, l->carried_count + 1);
    w->start = BASE_NEWS(w->r->arena, onnx_value, l->carried_count + 1);
    for (size_t i = 0; i < l->carried_count; i++) {
        w->start[i] = l->carried[i];
    }
    bool fine = read_one(w, &index);
    for (size_t i = 0; fine && i < l->carried_count && make_maybes(w); i++) { /* each time of one value more */
        onnx_forget(w->r, graphs, symbols);
        fine = read_one(w, &index);
    }
    if (!fine || !check_carried(w) || !find_condition(w) || !find_room(w)) {
        return false;
    }
    const uint32_t counted[] = {index, onnx_make_scalar(w->op, &w->body, BASE_I64, 1)};
    onnx_op add = onnx_make(w->op, &w->body, "add", counted, 2);
    const uint32_t next = onnx_finish(&add);
    add_value(w, IR_NONE, index, next);
    if (w->conditional) {
        const ir_shape scalar = {0};
        uint32_t condition = l->counts && !l->unconditional ? w->round.condition.tensor
                                                            : onnx_make_scalar(w->op, &w->body, BASE_BOOL, 1);
        condition = tensor_of(w, &w->body, condition).shape.rank
                        ? onnx_make_reshape(w->op, &w->body, condition, &scalar)
                        : condition;
        add_value(w, l->first, new_scalar(w, &w->body, "condition", BASE_BOOL), condition);
    }
    if (l->limit != IR_NONE) {
        const uint32_t limit = new_scalar(w, &w->body, "limit", BASE_I64);
        add_value(w, l->limit, limit, limit);
    }
    for (size_t i = 0; i < l->carried_count; i++) {
        onnx_tensors outer = {0}, in = {0}, out = {0};
        onnx_parts(w->r, &w->start[i], &outer);
        onnx_parts(w->r, &w->carried[i], &in);
        onnx_parts(w->r, &w->round.carried[i], &out);
        for (size_t k = 0; k < in.n; k++) {
            add_value(w, outer.at[k], in.at[k], out.at[k]);
        }
    }
    if (next == IR_NONE || !grow(w, index)) {
        return false;
    }
    for (size_t i = 0; i < w->body.captures.n; i++) {
        const onnx_capture c = w->body.captures.at[i];
        add_value(w, c.outer, c.inner, c.inner);
    }
    for (size_t i = 0; i < w->inputs.n; i++) {
        *BASE_PUSH(w->r->arena, &onnx_graph_of(w->r, &w->body)->inputs) = w->inputs.at[i];
        *BASE_PUSH(w->r->arena, &onnx_graph_of(w->r, &w->body)->outputs) = w->outputs.at[i];
    }
    return true;
}

/* ---- the condition ---- */

/* The graph's number; IR_NONE: a fault, or noted. */
static uint32_t make_condition(loop_graphs *w) {
    const onnx_loop *l = w->l;
    onnx_scope scope = onnx_scope_new(w->r, w->op->scope, onnx_below(w->r));
    uint32_t result = IR_NONE;
    for (size_t i = 0; i < w->inputs.n; i++) {
        const ir_tensor t = tensor_of(w, &w->body, w->inputs.at[i]);
        const uint32_t in = ir_tensor_add(w->r->m, onnx_graph_of(w->r, &scope), t.name, t.type, &t.shape);
        *BASE_PUSH(w->r->arena, &onnx_graph_of(w->r, &scope)->inputs) = in;
    }
    const uint32_t *inputs = onnx_graph_of(w->r, &scope)->inputs.at;
    const uint32_t condition = w->conditional ? inputs[1] : IR_NONE, index = inputs[0],
                   limit = l->limit != IR_NONE ? inputs[w->conditional ? 2 : 1] : IR_NONE;
    if (limit != IR_NONE || l->rounds >= 0) {
        const uint32_t both[] = {index,
                                 limit != IR_NONE ? limit : onnx_make_scalar(w->op, &scope, BASE_I64, l->rounds)};
        onnx_op less = onnx_make(w->op, &scope, "less", both, 2);
        result = onnx_finish(&less);
        if (result == IR_NONE) {
            return IR_NONE;
        }
    }
    if (result != IR_NONE && condition != IR_NONE) {
        const uint32_t both[] = {result, condition};
        onnx_op all = onnx_make(w->op, &scope, "logical_and", both, 2);
        result = onnx_finish(&all);
    }
    result = result != IR_NONE ? result : condition;
    *BASE_PUSH(w->r->arena, &onnx_graph_of(w->r, &scope)->outputs) = result;
    return result != IR_NONE ? scope.graph : IR_NONE;
}

/* ---- the node ---- */

static bool make_arguments(loop_graphs *w) {
    const onnx_loop *l = w->l;
    w->arguments.at[0] = onnx_make_scalar(w->op, w->op->scope, BASE_I64, 0);
    if (w->conditional && w->arguments.at[1] == IR_NONE) {
        w->arguments.at[1] = onnx_make_scalar(w->op, w->op->scope, BASE_BOOL, l->condition == 1);
    }
    for (size_t i = 0; i < l->given_count; i++) {
        const ir_tensor t = tensor_of(w, &w->body, w->inputs.at[w->before_grown + i]);
        const uint32_t start = onnx_make_zeros(w->op, w->op->scope, t.type, &t.shape);
        if (start == IR_NONE) {
            return false;
        }
        w->arguments.at[w->before_grown + i] = start;
    }
    return true;
}

bool onnx_while(const onnx_loop *l) {
    loop_graphs w = {.l = l, .op = l->op, .r = l->op->r};
    if (!read_body(&w)) {
        return false;
    }
    const uint32_t condition = make_condition(&w);
    if (condition == IR_NONE || !make_arguments(&w)) {
        return false;
    }
    onnx_op *op = l->op;
    uint32_t *results = BASE_NEWS(w.r->arena, uint32_t, w.inputs.n + 1);
    for (size_t i = 0; i < w.inputs.n; i++) {
        const ir_tensor t = tensor_of(&w, &w.body, w.inputs.at[i]);
        results[i] = ir_tensor_add(w.r->m, onnx_graph_of(w.r, op->scope), "", t.type, &t.shape);
    }
    onnx_take_values(w.r, op->scope, w.arguments.at, w.inputs.n);
    ir_node *n = ir_node_add(w.r->m, onnx_graph_of(w.r, op->scope), "while", w.arguments.at, w.inputs.n, results,
                             w.inputs.n, op->id);
    n->source_name = op->type;
    n->byte = op->byte;
    ir_attr_graph(w.r->m, n, "cond", condition);
    ir_attr_graph(w.r->m, n, "body", w.body.graph);
    size_t at = (size_t)1 + (w.conditional ? 1 : 0) + (l->limit != IR_NONE ? 1 : 0);
    onnx_value *carried = BASE_NEWS(w.r->arena, onnx_value, l->carried_count + 1);
    for (size_t i = 0; i < l->carried_count; i++) {
        carried[i] = onnx_rebuild(w.r, &w.start[i], results, &at);
    }
    uint32_t *grown = results + w.before_grown;
    for (size_t i = 0; i < l->given_count && (w.conditional || l->rounds < 0); i++) {
        const uint32_t both[] = {grown[i], results[0]};
        onnx_op leading = onnx_make(op, op->scope, "leading", both, 2);
        grown[i] = onnx_finish(&leading);
        if (grown[i] == IR_NONE) {
            return false;
        }
    }
    onnx_give_results(l, carried, grown);
    return true;
}
