/* control.c - operators that call sub-graphs: IF, WHILE, CALL, STABLEHLO_COMPOSITE.
 *
 * Takes operators whose tensors are verified. Gives nodes `if` and `while` over graphs of their own, each call with what is
 * known of its arguments: a constant is the sub-graph's constant, a variable's handle the sub-graph's handle. What is only
 * called is put in the operator's place.
 */
#include "formats/tflite/control.h"

#include <string.h>

enum { COMPOSITE_OPTIONS = 21 }; /* union BuiltinOptions2: StableHLOCompositeOptions */

bool tflite_is_control(int64_t code) {
    switch (code) {
    case TFLITE_OP_IF:
    case TFLITE_OP_WHILE:
    case TFLITE_OP_CALL:
    case TFLITE_OP_CALL_ONCE:
    case TFLITE_OP_STABLEHLO_COMPOSITE:
    case TFLITE_OP_VAR_HANDLE:
    case TFLITE_OP_READ_VARIABLE:
    case TFLITE_OP_ASSIGN_VARIABLE:
        return true;
    default:
        return false;
    }
}

bool tflite_is_subgraph(tflite_op *op, int64_t subgraph) {
    if (wire_fb_failed(&op->r->fb)) {
        return false;
    }
    if (subgraph < 0 || (uint64_t)subgraph >= op->r->subgraphs.n) {
        tflite_op_error(op, "it calls sub-graph %lld: the model has %llu", (long long)subgraph,
                        (unsigned long long)op->r->subgraphs.n);
        return false;
    }
    return true;
}

static int64_t option_of(tflite_op *op, tflite_field field) {
    return tflite_int(&op->r->fb, op->options_path, &op->options, field);
}

/* ---- arguments and results ---- */

/* The arguments are the operator's inputs from number `first` on; none is absent. NULL: a fault. */
static tflite_argument *arguments_of(tflite_op *op, size_t first, size_t *count) {
    tflite_reader *r = op->r;
    *count = op->input_count < first ? 0 : op->input_count - first;
    tflite_argument *list = BASE_NEWS(r->arena, tflite_argument, *count + 1);
    for (size_t i = 0; i < *count; i++) {
        uint32_t t = op->inputs[first + i];
        if (t == IR_NONE) {
            tflite_op_error(op, "its input %zu is absent", first + i);
            return NULL;
        }
        list[i] = (tflite_argument){.tensor = t, .variable = IR_NONE, .known = r->g->tensors.at[t]};
        list[i].variable = t < r->tensor_count ? r->handle[t] : IR_NONE;
        list[i].constant = list[i].known.data != NULL;
        if (t < r->tensor_count && r->is_resource[t] && list[i].variable == IR_NONE) {
            tflite_op_error(op, "its input %zu is a resource that no operator made", first + i);
            return NULL;
        }
    }
    return list;
}

static bool call(tflite_op *op, tflite_call *c, int64_t subgraph, const tflite_argument *arguments, size_t count) {
    if (!tflite_is_subgraph(op, subgraph)) {
        return false;
    }
    c->outer = op->r->call;
    c->once = c->outer->once;
    c->conditional = c->conditional || c->outer->conditional;
    c->subgraph = (uint32_t)subgraph;
    c->arguments = arguments;
    c->count = count;
    tflite_read_subgraph(op->r, c);
    return !wire_fb_failed(&op->r->fb);
}

/* The operator's output i is what the call gives there: its shape, or the handle that it is. false: noted, or a fault. */
static bool take_output(tflite_op *op, size_t i, const tflite_call *c) {
    tflite_reader *r = op->r;
    uint32_t to = op->outputs[i];
    if (c->output_variable[i] != IR_NONE || r->is_resource[to]) {
        if (c->output_variable[i] == IR_NONE || !r->is_resource[to]) {
            tflite_op_error(op, "its output %zu is a resource on one side only", i);
            return false;
        }
        r->handle[to] = c->output_variable[i];
        return true;
    }
    if (r->g->tensors.at[to].type != c->outputs[i].type) {
        tflite_op_error(op, "its output %zu is %s, that of sub-graph %lu %s", i,
                        base_type_name(r->g->tensors.at[to].type), (unsigned long)c->subgraph,
                        base_type_name(c->outputs[i].type));
        return false;
    }
    tflite_set_shape(r, to, &c->outputs[i].shape);
    return true;
}

static bool check_outputs(tflite_op *op, const tflite_call *c) {
    if (c->output_count == op->output_count) {
        return true;
    }
    tflite_op_error(op, "%zu outputs: sub-graph %lu has %zu", op->output_count, (unsigned long)c->subgraph,
                    c->output_count);
    return false;
}

/* A node over the graphs with those arguments and results that are values of a run. lead: an input before them. */
static ir_node *add_node(tflite_op *op, const char *word, uint32_t lead, const tflite_argument *arguments, size_t count,
                         const bool *drop) {
    tflite_reader *r = op->r;
    uint32_t *inputs = BASE_NEWS(r->arena, uint32_t, count + 2),
             *outputs = BASE_NEWS(r->arena, uint32_t, op->output_count + 1);
    size_t in = 0, out = 0;
    if (lead != IR_NONE) {
        inputs[in++] = lead;
    }
    for (size_t i = 0; i < count; i++) {
        if (!arguments[i].constant && arguments[i].variable == IR_NONE) {
            inputs[in++] = arguments[i].tensor;
        }
    }
    for (size_t i = 0; i < op->output_count; i++) {
        if (!r->is_resource[op->outputs[i]] && !(drop && drop[i])) {
            outputs[out++] = op->outputs[i];
        }
    }
    ir_node *n = ir_node_add(r->m, r->g, word, inputs, in, outputs, out, (uint32_t)op->path->index);
    n->source_name = op->name;
    n->byte = op->table.at;
    return n;
}

/* ---- IF ---- */

static void read_if(tflite_op *op) {
    tflite_reader *r = op->r;
    size_t count;
    const int64_t graphs[] = {option_of(op, TFLITE_IfOptions_then_subgraph_index),
                              option_of(op, TFLITE_IfOptions_else_subgraph_index)};
    if (!op->input_count || op->inputs[0] == IR_NONE) {
        tflite_op_error(op, "it has no condition");
        return;
    }
    const tflite_argument *arguments = arguments_of(op, 1, &count);
    tflite_call branches[2] = {{.conditional = true}, {.conditional = true}};
    const size_t notes = formats_notes_count(r->notes);
    for (size_t k = 0; k < 2; k++) {
        if (!arguments || !call(op, &branches[k], graphs[k], arguments, count) || !check_outputs(op, &branches[k])) {
            return;
        }
    }
    for (size_t i = 0; i < op->output_count && formats_notes_count(r->notes) == notes; i++) {
        const ir_shape *then = &branches[0].outputs[i].shape, *otherwise = &branches[1].outputs[i].shape;
        if (branches[0].output_variable[i] != branches[1].output_variable[i]) {
            tflite_unsupported(r, op->path, op->table.at, "IF that chooses between variables", "let it choose values");
        } else if (!ir_shape_same(then, otherwise) || ir_shape_open(then)) {
            tflite_unsupported(r, op->path, op->table.at,
                               base_printf(r->arena, "IF whose output %zu is %s or %s", i,
                                           ir_shape_print(r->arena, then), ir_shape_print(r->arena, otherwise)),
                               "shapes have to be known when the model is compiled");
        } else if (!take_output(op, i, &branches[0])) {
            return;
        }
    }
    if (formats_notes_count(r->notes) == notes) {
        ir_node *n = add_node(op, "if", op->inputs[0], arguments, count, NULL);
        ir_attr_graph(r->m, n, "then", branches[0].graph);
        ir_attr_graph(r->m, n, "else", branches[1].graph);
    }
}

/* ---- WHILE ---- */

/* Constants stay constants only where the body hands them on. */
static bool keep_constants(tflite_op *op, int64_t body, tflite_argument *arguments, size_t count) {
    tflite_reader *r = op->r;
    wire_path path = {.name = "subgraph", .index = body};
    if (!tflite_is_subgraph(op, body)) {
        return false;
    }
    wire_table subgraph = wire_fb_table_at(&r->fb, &path, &r->subgraphs, (uint64_t)body);
    wire_vector in = tflite_list(&r->fb, &path, &subgraph, TFLITE_SubGraph_inputs);
    wire_vector out = tflite_list(&r->fb, &path, &subgraph, TFLITE_SubGraph_outputs);
    if (!wire_fb_failed(&r->fb) && (in.n != count || out.n != count || op->output_count != count)) {
        tflite_op_error(op, "%zu inputs and %zu outputs: its body takes %llu and gives %llu", count, op->output_count,
                        (unsigned long long)in.n, (unsigned long long)out.n);
    }
    for (size_t i = 0; i < count && !wire_fb_failed(&r->fb); i++) {
        arguments[i].constant =
            arguments[i].constant && wire_fb_i32_at(&r->fb, &in, i) == wire_fb_i32_at(&r->fb, &out, i);
    }
    return !wire_fb_failed(&r->fb);
}

static void read_while(tflite_op *op) {
    tflite_reader *r = op->r;
    size_t count;
    int64_t cond = option_of(op, TFLITE_WhileOptions_cond_subgraph_index),
            body = option_of(op, TFLITE_WhileOptions_body_subgraph_index);
    tflite_argument *arguments = arguments_of(op, 0, &count);
    if (!arguments || !keep_constants(op, body, arguments, count)) {
        return;
    }
    bool *drop = BASE_NEWS(r->arena, bool, count + 1);
    for (size_t i = 0; i < count; i++) {
        drop[i] = arguments[i].constant;
    }
    tflite_call test = {.conditional = true}, round = {.conditional = true, .drop = drop};
    const size_t notes = formats_notes_count(r->notes);
    if (!call(op, &test, cond, arguments, count) || !call(op, &round, body, arguments, count)) {
        return;
    }
    for (size_t i = 0; i < count && formats_notes_count(r->notes) == notes; i++) {
        if (round.output_variable[i] != arguments[i].variable) {
            tflite_unsupported(r, op->path, op->table.at, "WHILE that exchanges variables", "let it exchange values");
        } else if (arguments[i].variable == IR_NONE &&
                   !ir_shape_same(&round.outputs[i].shape, &arguments[i].known.shape)) {
            tflite_unsupported(r, op->path, op->table.at,
                               base_printf(r->arena, "WHILE whose value %zu is %s and becomes %s", i,
                                           ir_shape_print(r->arena, &arguments[i].known.shape),
                                           ir_shape_print(r->arena, &round.outputs[i].shape)),
                               "shapes have to be known when the model is compiled");
        } else if (!take_output(op, i, &round)) {
            return;
        }
        if (drop[i]) {
            r->g->tensors.at[op->outputs[i]].data = arguments[i].known.data;
        }
    }
    if (formats_notes_count(r->notes) == notes) {
        ir_node *n = add_node(op, "while", IR_NONE, arguments, count, drop);
        ir_attr_graph(r->m, n, "cond", test.graph);
        ir_attr_graph(r->m, n, "body", round.graph);
    }
}

/* ---- calls put in their place ---- */

/* For each tensor of the called graph the caller's: arguments and results are the operator's, the rest is new. */
static uint32_t *map_tensors(tflite_op *op, const tflite_call *c) {
    tflite_reader *r = op->r;
    const ir_graph *sub = &r->m->graphs.at[c->graph];
    uint32_t *map = BASE_NEWS(r->arena, uint32_t, sub->tensors.n + 1);
    memset(map, 0xff, (sub->tensors.n + 1) * sizeof *map);
    for (size_t i = 0, in = 0; i < c->count; i++) {
        if (!c->arguments[i].constant && c->arguments[i].variable == IR_NONE) {
            map[sub->inputs.at[in++]] = c->arguments[i].tensor;
        }
    }
    for (size_t i = 0; i < c->output_count; i++) {
        const uint32_t from = c->output_tensor[i], to = op->outputs[i];
        const ir_tensor *t = &sub->tensors.at[from];
        if (c->output_variable[i] == IR_NONE && map[from] == IR_NONE && !t->data && t->state == IR_NONE &&
            ir_quant_same(&t->quant, &r->g->tensors.at[to].quant)) {
            map[from] = to;
        }
    }
    for (size_t i = 0; i < sub->tensors.n; i++) {
        if (map[i] == IR_NONE) {
            const ir_tensor t = sub->tensors.at[i];
            map[i] = ir_tensor_add(r->m, r->g, t.name, t.type, &t.shape);
            r->g->tensors.at[map[i]] = t;
            r->g->tensors.at[map[i]].source = IR_NONE;
        }
    }
    return map;
}

static void add_nodes(tflite_op *op, const ir_graph *sub, const uint32_t *map) {
    tflite_reader *r = op->r;
    for (size_t i = 0; i < sub->nodes.n; i++) {
        const ir_node n = sub->nodes.at[i];
        ir_node *copy = ir_node_add(r->m, r->g, n.op, n.inputs, n.input_count, n.outputs, n.output_count,
                                    (uint32_t)op->path->index);
        copy->attrs = n.attrs;
        copy->attr_count = n.attr_count;
        copy->source_name = n.source_name;
        copy->byte = n.byte;
        for (size_t k = 0; k < n.input_count; k++) {
            copy->inputs[k] = n.inputs[k] == IR_NONE ? IR_NONE : map[n.inputs[k]];
        }
        for (size_t k = 0; k < n.output_count; k++) {
            copy->outputs[k] = map[n.outputs[k]];
        }
    }
}

/* What the called graph gives under another name: an argument, a constant, one value twice. */
static void add_results(tflite_op *op, const tflite_call *c, const uint32_t *map) {
    tflite_reader *r = op->r;
    for (size_t i = 0; i < c->output_count; i++) {
        uint32_t from = map[c->output_tensor[i]], to = op->outputs[i];
        if (c->output_variable[i] != IR_NONE || from == to) {
            continue;
        }
        if (r->g->tensors.at[from].data) {
            r->g->tensors.at[to].data = r->g->tensors.at[from].data;
            r->derived[to] = true;
            continue;
        }
        ir_node *n = ir_node_add(r->m, r->g, "identity", &from, 1, &to, 1, (uint32_t)op->path->index);
        n->source_name = op->name;
        n->byte = op->table.at;
    }
}

/* The graph has been put in its place: the numbers of those behind it are one less. */
static void remove_graph(tflite_reader *r, uint32_t graph) {
    const size_t at = (size_t)(r->g - r->m->graphs.at);
    memmove(&r->m->graphs.at[graph], &r->m->graphs.at[graph + 1], (r->m->graphs.n - graph - 1) * sizeof *r->g);
    r->m->graphs.at[--r->m->graphs.n] = (ir_graph){0}; /* what grows there again must be as new */
    for (size_t i = 0; i < r->m->graphs.n; i++) {
        const ir_graph *g = &r->m->graphs.at[i];
        for (size_t k = 0; k < g->nodes.n; k++) {
            ir_node *n = &g->nodes.at[k];
            for (size_t a = 0; a < n->attr_count; a++) {
                if (n->attrs[a].kind == IR_GRAPH && n->attrs[a].v.graph > graph) {
                    ir_attr_graph(r->m, n, n->attrs[a].name, n->attrs[a].v.graph - 1);
                }
            }
        }
    }
    for (size_t i = 0; i < r->variables.n; i++) {
        tflite_variable *v = &r->variables.at[i];
        v->graph = v->graph == graph ? IR_NONE : v->graph > graph && v->graph != IR_NONE ? v->graph - 1 : v->graph;
    }
    r->g = &r->m->graphs.at[at];
}

static void read_call(tflite_op *op, int64_t subgraph) {
    tflite_reader *r = op->r;
    size_t count;
    tflite_call c = {0};
    const size_t notes = formats_notes_count(r->notes);
    const tflite_argument *arguments = arguments_of(op, 0, &count);
    if (!arguments || !call(op, &c, subgraph, arguments, count) || !check_outputs(op, &c)) {
        return;
    }
    for (size_t i = 0; i < op->output_count && formats_notes_count(r->notes) == notes; i++) {
        if (!take_output(op, i, &c)) {
            return;
        }
    }
    if (formats_notes_count(r->notes) == notes) {
        const uint32_t *map = map_tensors(op, &c);
        const ir_graph sub = r->m->graphs.at[c.graph];
        r->size += sub.tensors.n + sub.nodes.n; /* copied once more */
        add_nodes(op, &sub, map);
        add_results(op, &c, map);
        remove_graph(r, c.graph);
    }
}

/* ---- all of them ---- */

static bool read_options(tflite_op *op, int64_t code) {
    wire_fb *fb = &op->r->fb;
    static const struct {
        tflite_builtin code;
        unsigned type;
    } wanted[] = {{TFLITE_OP_IF, TFLITE_IfOptions},
                  {TFLITE_OP_WHILE, TFLITE_WhileOptions},
                  {TFLITE_OP_CALL, TFLITE_CallOptions},
                  {TFLITE_OP_CALL_ONCE, TFLITE_CallOnceOptions},
                  {TFLITE_OP_VAR_HANDLE, TFLITE_VarHandleOptions}};
    unsigned type = 0, due = 0;
    bool composite = code == TFLITE_OP_STABLEHLO_COMPOSITE;
    op->options = tflite_union(fb, op->path, &op->table,
                               composite ? TFLITE_Operator_builtin_options_2 : TFLITE_Operator_builtin_options, &type);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        due = wanted[i].code == code ? wanted[i].type : due;
    }
    due = composite ? COMPOSITE_OPTIONS : due;
    if (due && type != due && !wire_fb_failed(fb)) {
        tflite_error(fb, op->path, &op->table,
                     composite ? TFLITE_Operator_builtin_options_2 : TFLITE_Operator_builtin_options,
                     "they are not those of %s", op->name);
    }
    return !wire_fb_failed(fb);
}

void tflite_read_control(tflite_op *op, int64_t code) {
    if (!read_options(op, code)) {
        return;
    }
    switch (code) {
    case TFLITE_OP_IF:
        read_if(op);
        break;
    case TFLITE_OP_WHILE:
        read_while(op);
        break;
    case TFLITE_OP_CALL:
        read_call(op, option_of(op, TFLITE_CallOptions_subgraph));
        break;
    case TFLITE_OP_STABLEHLO_COMPOSITE:
        read_call(op, option_of(op, TFLITE_StableHLOCompositeOptions_decomposition_subgraph_index));
        break;
    default:
        tflite_read_variable_op(op, code);
        break;
    }
}
