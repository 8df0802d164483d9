/* flatten.c - the graphs of control nodes put into the one list of kernels.
 *
 * Takes a graph and a place for each of its values. Gives its kernels in order; between them control kernels that jump.
 * Every call of a graph is there for itself, with tensors of its own; constants and states are shared. What a loop
 * carries has one tensor, which its end writes anew.
 */
#include <inttypes.h>
#include <string.h>

#include "plan/build.h"

#define SIZE_LIMIT (UINT64_C(1) << 18) /* tensors and nodes of all calls together */

static const char *const control_words[PLAN_CONTROL_COUNT] = {"", "if", "else", "while", "repeat"};

static uint32_t here(const plan_builder *b) {
    return (uint32_t)b->plan->kernels.n;
}

static uint32_t add_control(plan_builder *b, plan_control control, const ir_node *n, uint32_t condition) {
    lang_program *nothing = lang_program_new(b->arena, control_words[control]);
    plan_kernel k = {.control = control,
                     .condition = condition,
                     .loop = IR_NONE,
                     .node = n,
                     .graph = b->graph,
                     .op = control_words[control],
                     .id_count = n->id_count,
                     .ids = n->ids,
                     .raw = nothing,
                     .program = nothing,
                     .reason = "control"};
    k.tensor = plan_no_tensors(b->arena, 0);
    k.inputs = k.outputs = k.tensor;
    *BASE_PUSH(b->arena, &b->plan->kernels) = k;
    return here(b) - 1;
}

/* ---- calls ---- */

/* The plan tensors of the node's arguments. */
static base_status arguments_of(plan_builder *b, const ir_node *n, size_t from, uint32_t *list) {
    base_status status = BASE_OK;
    for (size_t i = from; status == BASE_OK && i < n->input_count; i++) {
        status = plan_add_tensor(b, n->inputs[i], PLAN_ACTIVATION, &list[i - from]);
    }
    return status;
}

static base_status results_of(plan_builder *b, const ir_node *n, uint32_t *list) {
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < n->output_count; i++) {
        status = plan_add_tensor(b, n->outputs[i], PLAN_ACTIVATION, &list[i]);
    }
    return status;
}

/* Is the tensor made by a node of the graph? */
static bool is_made(const ir_graph *g, uint32_t tensor) {
    for (size_t i = 0; i < g->inputs.n; i++) {
        if (g->inputs.at[i] == tensor) {
            return false;
        }
    }
    return g->tensors.at[tensor].data == NULL;
}

/* One call of a graph: its inputs are `arguments`; what it makes for an output is made in results[i] at once, where one is
 * given (not IR_NONE). outputs[i]: where output i is in the end. */
static base_status call(plan_builder *b, const ir_graph *g, const uint32_t *arguments, const uint32_t *results,
                        uint32_t *outputs) {
    const ir_graph *outer = b->graph;
    uint32_t *of = b->of;
    b->size += g->tensors.n + g->nodes.n;
    if (b->size > SIZE_LIMIT) {
        return base_error(
            b->d, NULL, "%s: the sub-graphs, each call for itself, come to more than %" PRIu64 " tensors and operators",
            b->plan->model->file, SIZE_LIMIT);
    }
    b->graph = g;
    b->of = plan_no_tensors(b->arena, g->tensors.n);
    for (size_t i = 0; i < g->inputs.n; i++) {
        b->of[g->inputs.at[i]] = arguments[i];
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        uint32_t t = g->outputs.at[i];
        if (results != NULL && b->of[t] == IR_NONE && is_made(g, t)) {
            b->of[t] = results[i];
        }
    }
    base_status status = plan_flatten(b);
    for (size_t i = 0; status == BASE_OK && i < g->outputs.n; i++) {
        status = plan_add_tensor(b, g->outputs.at[i], PLAN_ACTIVATION, &outputs[i]);
    }
    b->graph = outer;
    b->of = of;
    return status;
}

static base_status copy_all(plan_builder *b, const ir_node *n, const uint32_t *from, const uint32_t *to, size_t count) {
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < count; i++) {
        if (from[i] != to[i]) {
            status = plan_add_copy(b, from[i], to[i], n);
        }
    }
    return status;
}

/* What the condition is known to be: 0, 1, or -1. */
static int known(const plan_builder *b, uint32_t condition) {
    const plan_tensor *t = &b->plan->tensors.at[condition];
    return t->role == PLAN_CONSTANT ? base_load(BASE_BOOL, t->data, 0).u != 0 : -1;
}

/* ---- if ---- */

static base_status branch(plan_builder *b, const ir_node *n, const char *name, const uint32_t *arguments,
                          const uint32_t *results) {
    uint32_t *outputs = plan_no_tensors(b->arena, n->output_count);
    base_status status = call(b, ir_sub_graph(b->plan->model, n, name), arguments, results, outputs);
    return status == BASE_OK ? copy_all(b, n, outputs, results, n->output_count) : status;
}

static base_status flatten_if(plan_builder *b, const ir_node *n) {
    uint32_t *arguments = plan_no_tensors(b->arena, n->input_count),
             *results = plan_no_tensors(b->arena, n->output_count);
    uint32_t condition = IR_NONE;
    base_status status = plan_add_tensor(b, n->inputs[0], PLAN_ACTIVATION, &condition);
    if (status == BASE_OK) {
        status = arguments_of(b, n, 1, arguments);
    }
    if (status == BASE_OK) {
        status = results_of(b, n, results);
    }
    if (status != BASE_OK) {
        return status;
    }
    if (known(b, condition) >= 0) {
        return branch(b, n, known(b, condition) ? "then" : "else", arguments, results);
    }
    uint32_t first = add_control(b, PLAN_IF, n, condition);
    base_status then = branch(b, n, "then", arguments, results);
    uint32_t middle = add_control(b, PLAN_ELSE, n, IR_NONE);
    status = branch(b, n, "else", arguments, results); /* of both, what is not supported is said */
    if (here(b) == middle + 1) {
        b->plan->kernels.n--;
        middle = IR_NONE;
    }
    if (here(b) == first + 1) {
        b->plan->kernels.n--;
        return then != BASE_OK ? then : status;
    }
    b->plan->kernels.at[first].jump = middle != IR_NONE ? middle + 1 : here(b);
    if (middle != IR_NONE) {
        b->plan->kernels.at[middle].jump = here(b);
    }
    return then != BASE_OK ? then : status;
}

/* ---- while ---- */

/* Values that the body only hands on are the arguments themselves where those are constants; all others are carried in
 * the tensors of the results. */
static base_status carry(plan_builder *b, const ir_node *n, const uint32_t *arguments, uint32_t *carried) {
    const ir_graph *body = ir_sub_graph(b->plan->model, n, "body");
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < n->output_count; i++) {
        bool constant = b->plan->tensors.at[arguments[i]].role == PLAN_CONSTANT;
        if (constant && body->inputs.at[i] == body->outputs.at[i] && b->of[n->outputs[i]] == IR_NONE) {
            b->of[n->outputs[i]] = arguments[i];
        }
        status = plan_add_tensor(b, n->outputs[i], PLAN_ACTIVATION, &carried[i]);
    }
    return status == BASE_OK ? copy_all(b, n, arguments, carried, n->output_count) : status;
}

static bool is_carried(const uint32_t *carried, size_t n, uint32_t tensor) {
    for (size_t i = 0; i < n; i++) {
        if (carried[i] == tensor) {
            return true;
        }
    }
    return false;
}

/* What the body gives becomes what the next round takes, all at once: a value that is carried itself is put aside before
 * it can be overwritten. */
static base_status take_over(plan_builder *b, const ir_node *n, uint32_t *given, const uint32_t *carried) {
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < n->output_count; i++) {
        if (given[i] != carried[i] && is_carried(carried, n->output_count, given[i])) {
            uint32_t aside = plan_add_scratch(b, given[i]);
            status = plan_add_copy(b, given[i], aside, n);
            given[i] = aside;
        }
    }
    return status == BASE_OK ? copy_all(b, n, given, carried, n->output_count) : status;
}

static base_status flatten_while(plan_builder *b, const ir_node *n) {
    size_t count = n->output_count;
    uint32_t *arguments = plan_no_tensors(b->arena, n->input_count), *carried = plan_no_tensors(b->arena, count);
    uint32_t *given = plan_no_tensors(b->arena, count), condition = IR_NONE;
    base_status status = arguments_of(b, n, 0, arguments);
    if (status == BASE_OK) {
        status = carry(b, n, arguments, carried);
    }
    if (status != BASE_OK) {
        return status;
    }
    uint32_t start = here(b);
    status = call(b, ir_sub_graph(b->plan->model, n, "cond"), carried, NULL, &condition);
    if (status == BASE_OK && known(b, condition) == 0) {
        return BASE_OK; /* no round at all */
    }
    bool always = status == BASE_OK && known(b, condition) == 1;
    uint32_t test = add_control(b, PLAN_WHILE, n, always ? IR_NONE : condition);
    base_status body = call(b, ir_sub_graph(b->plan->model, n, "body"), carried, NULL, given);
    status = body != BASE_OK ? body : status;
    if (status == BASE_OK) {
        status = take_over(b, n, given, carried);
    }
    uint32_t end = add_control(b, PLAN_REPEAT, n, IR_NONE);
    b->plan->kernels.at[test].jump = end + 1;
    b->plan->kernels.at[end].jump = start;
    b->plan->kernels.at[test].loop = b->plan->kernels.at[end].loop = b->plan->loops++;
    return status;
}

base_status plan_flatten(plan_builder *b) {
    const ir_graph *g = b->graph;
    base_status status = BASE_OK;
    for (size_t i = 0; i < g->nodes.n && b->size <= SIZE_LIMIT; i++) {
        const ir_node *n = &g->nodes.at[i];
        ir_control control = ir_control_of(n);
        base_status one = control == IR_IF      ? flatten_if(b, n)
                          : control == IR_WHILE ? flatten_while(b, n)
                                                : plan_add_kernel(b, n);
        status = one != BASE_OK ? one : status;
    }
    return status;
}
