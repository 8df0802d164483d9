/* session.c - the evaluator over a whole model (session.h).
 *
 * Each node is compiled once, each graph once however often it is called. A run goes down the graphs by recursion, which
 * the verifier bounds. What a graph computes lives as long as its call; of a loop's rounds only two at a time.
 */
#include "ops/session.h"

#include <inttypes.h>
#include <string.h>

typedef struct compiled_graph {
    lang_code **codes; /* of each node; NULL: control, or instantiated for each run */
    uint64_t *costs;   /* scalar operations of each node */
    bool computed;     /* it has tensors with open extents */
    bool needed;       /* the session's graph reaches it */
} compiled_graph;

struct ops_session {
    base_arena *arena;
    const ir_model *m;
    ops_session_options o;
    ops_registry *ops;
    ir_shape *inputs;  /* what runs have of the graph's inputs */
    ir_shape *outputs; /* shapes of the outputs in the last run */
    compiled_graph *graphs;
    void **states;
    uint64_t *state_bytes;
    uint64_t trips, cost; /* of this run */
    bool endless;
};

/* A graph that is being executed. */
typedef struct call {
    ops_session *s;
    uint32_t graph;
    base_arena *arena;     /* of the values */
    const void **contents; /* of each tensor; NULL: not yet */
    ir_shape *shapes;      /* of each tensor, as they are; NULL: those of the graph */
    base_diags *d;
} call;

static const ir_graph *graph_of(const call *c) {
    return &c->s->m->graphs.at[c->graph];
}

static uint32_t sub_graph(const ir_node *n, const char *name) {
    return ir_attr_find(n, name)->v.graph;
}

/* ---- compiling ---- */

/* Does the node read a tensor with open extents? Then what it computes is known when they are. */
static bool reads_open(const ir_graph *g, const ir_node *n) {
    for (size_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] != IR_NONE && ir_shape_open(&g->tensors.at[n->inputs[i]].shape)) {
            return true;
        }
    }
    return false;
}

static bool has_open(const ir_model *m, const ir_graph *g) {
    for (size_t i = 0; m->symbols.n > 0 && i < g->tensors.n; i++) {
        if (ir_shape_open(&g->tensors.at[i].shape)) {
            return true;
        }
    }
    return false;
}

/* A fault of a definition points into its text: this says at which operator of the model. */
static base_status note_operator(base_arena *arena, const ir_model *m, const ir_graph *g, const ir_node *n,
                                 base_status status, base_diags *d) {
    if (status != BASE_OK) {
        base_place place = ops_place(arena, m, g, n);
        base_note(d, &place, "while computing this operator");
    }
    return status;
}

static base_status compile_program(const ops_session *s, base_arena *arena, const ir_graph *g, const ir_node *n,
                                   const lang_program *raw, lang_code **code, base_diags *d) {
    *code = lang_compile(arena, s->o.simplified ? lang_simplify(arena, raw) : raw, LANG_EVAL_EXACT, d);
    return note_operator(arena, s->m, g, n, *code == NULL ? BASE_REFUSED : BASE_OK, d);
}

static base_status compile_graph(ops_session *s, ops_registry *r, uint32_t graph, base_diags *d) {
    const ir_graph *g = &s->m->graphs.at[graph];
    compiled_graph *to = &s->graphs[graph];
    base_status status = BASE_OK;
    to->codes = BASE_NEWS(s->arena, lang_code *, g->nodes.n + 1);
    to->costs = BASE_NEWS(s->arena, uint64_t, g->nodes.n + 1);
    to->computed = has_open(s->m, g);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.at[i];
        if (ir_control_of(n) != IR_PLAIN) {
            for (size_t k = 0; k < n->attr_count; k++) {
                if (n->attrs[k].kind == IR_GRAPH) {
                    s->graphs[n->attrs[k].v.graph].needed = true;
                }
            }
            continue;
        }
        lang_program *raw = NULL;
        base_status one = ops_instantiate(s->arena, r, s->m, g, n, s->o.goal, &raw, d);
        one = one == BASE_OK ? ops_check_extents(s->m, g, n, raw, d) : one;
        if (one != BASE_OK) {
            status = one; /* go on: all operators that are refused are listed at once */
            continue;
        }
        to->costs[i] = lang_cost(raw);
        if (!reads_open(g, n)) {
            one = compile_program(s, s->arena, g, n, raw, &to->codes[i], d);
            status = one != BASE_OK ? one : status;
        }
    }
    return status;
}

/* Graph by graph until no new one is reached. */
static base_status compile_reached(ops_session *s, ops_registry *r, base_diags *d) {
    base_status status = BASE_OK;
    s->graphs[s->o.graph].needed = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < s->m->graphs.n; i++) {
            if (s->graphs[i].needed && s->graphs[i].codes == NULL) {
                base_status one = compile_graph(s, r, i, d);
                status = one != BASE_OK ? one : status;
                more = true;
            }
        }
    }
    return status;
}

base_status ops_session_new(base_arena *arena, ops_registry *r, const ir_model *m, const ops_session_options *o,
                            ops_session **out, base_diags *d) {
    ops_session *s = BASE_NEW(arena, ops_session);
    *s = (ops_session){.arena = arena, .m = m, .o = *o, .ops = r};
    const ir_graph *g = &m->graphs.at[o->graph];
    s->outputs = BASE_NEWS(arena, ir_shape, g->outputs.n + 1);
    s->inputs = BASE_NEWS(arena, ir_shape, g->inputs.n + 1);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const ir_shape *shape = &g->tensors.at[g->inputs.at[i]].shape;
        s->inputs[i] = ir_shape_of(shape->rank, shape->dim);
    }
    s->graphs = BASE_NEWS(arena, compiled_graph, m->graphs.n + 1);
    s->states = BASE_NEWS(arena, void *, m->states.n + 1);
    s->state_bytes = BASE_NEWS(arena, uint64_t, m->states.n + 1);
    *out = s;
    base_status status = compile_reached(s, r, d);
    for (size_t i = 0; status == BASE_OK && i < m->states.n; i++) {
        const ir_state *x = &m->states.at[i];
        uint64_t elements = 0;
        bool sane = ir_shape_elements(&x->shape, &elements) && base_type_bytes(x->type, elements, &s->state_bytes[i]);
        if (!sane || s->state_bytes[i] > SIZE_MAX - 1) {
            return base_error(d, NULL, "state %zu is too large", i);
        }
        s->states[i] = base_alloc(arena, (size_t)s->state_bytes[i] + 1, 1);
    }
    if (status == BASE_OK) {
        ops_session_reset(s);
    }
    return status;
}

void ops_session_reset(ops_session *s) {
    for (size_t i = 0; i < s->m->states.n; i++) {
        if (s->m->states.at[i].data != NULL) {
            memcpy(s->states[i], s->m->states.at[i].data, (size_t)s->state_bytes[i]);
        } else {
            memset(s->states[i], 0, (size_t)s->state_bytes[i]);
        }
    }
}

const void *ops_session_state(const ops_session *s, uint32_t state) {
    return s->states[state];
}

uint64_t ops_session_state_bytes(const ops_session *s, uint32_t state) {
    return s->state_bytes[state];
}

void ops_session_set_state(ops_session *s, uint32_t state, const void *contents) {
    memcpy(s->states[state], contents, (size_t)s->state_bytes[state]);
}

void ops_session_set_input_shape(ops_session *s, size_t input, const ir_shape *shape) {
    s->inputs[input] = ir_shape_of(shape->rank, shape->dim);
}

ir_shape ops_session_output_shape(const ops_session *s, size_t output) {
    return s->outputs[output];
}

bool ops_session_endless(const ops_session *s) {
    return s->endless;
}

/* ---- running ---- */

static base_status run_graph(ops_session *s, uint32_t graph, base_arena *scratch, const void *const *inputs,
                             void *const *outputs, base_diags *d);

static base_status room_for(call *c, uint32_t tensor, void **room, uint64_t *bytes) {
    if (!ir_tensor_bytes(&graph_of(c)->tensors.at[tensor], bytes) || *bytes > SIZE_MAX - 1) {
        return base_error(c->d, NULL, "tensor %u is too large", tensor);
    }
    *room = base_alloc(c->arena, (size_t)*bytes + 1, 1);
    return BASE_OK;
}

/* Room for what the node gives: a tensor's own, and what will become a state's contents. */
static base_status make_outputs(call *c, const ir_node *n, void **rooms) {
    base_status status = BASE_OK;
    for (size_t k = 0; status == BASE_OK && k < n->output_count; k++) {
        uint64_t bytes;
        status = room_for(c, n->outputs[k], &rooms[k], &bytes);
    }
    return status;
}

/* The node has read everything: what it gave becomes visible. */
static void keep_outputs(call *c, const ir_node *n, void *const *rooms) {
    for (size_t k = 0; k < n->output_count; k++) {
        uint32_t state = graph_of(c)->tensors.at[n->outputs[k]].state;
        if (state != IR_NONE) {
            memcpy(c->s->states[state], rooms[k], (size_t)c->s->state_bytes[state]);
        } else {
            c->contents[n->outputs[k]] = rooms[k];
        }
    }
}

static const void **inputs_of(call *c, const ir_node *n, size_t from) {
    const void **inputs = BASE_NEWS(c->arena, const void *, n->input_count + 1);
    for (size_t k = from; k < n->input_count; k++) {
        inputs[k - from] = n->inputs[k] == IR_NONE ? NULL : c->contents[n->inputs[k]];
    }
    return inputs;
}

/* The node for the shapes that its inputs have now. */
static base_status compile_now(call *c, const ir_node *n, lang_code **code) {
    lang_program *raw = NULL;
    base_status status =
        ops_instantiate_at(c->arena, c->s->ops, c->s->m, graph_of(c), n, c->shapes, c->s->o.goal, &raw, c->d);
    for (size_t k = 0; status == BASE_OK && k < n->output_count; k++) {
        const lang_tensor *t = &raw->tensors.at[raw->outputs.at[k]];
        const ir_shape *most = &graph_of(c)->tensors.at[n->outputs[k]].shape;
        bool fits = t->rank == most->rank;
        for (uint32_t i = 0; fits && i < t->rank; i++) {
            fits = most->symbol[i] != 0 ? t->dim[i] <= most->dim[i] : t->dim[i] == most->dim[i];
        }
        if (!fits) {
            base_place place = ops_place(c->arena, c->s->m, graph_of(c), n);
            return base_error(c->d, &place, "output %zu does not fit its bound for the extents that data gave", k);
        }
    }
    return status == BASE_OK ? compile_program(c->s, c->arena, graph_of(c), n, raw, code, c->d) : status;
}

static void keep_shapes(call *c, const ir_node *n, const lang_result *results) {
    for (size_t k = 0; k < n->output_count; k++) {
        ir_shape *s = &c->shapes[n->outputs[k]];
        for (uint32_t i = 0; i < s->rank; i++) {
            s->dim[i] = results[k].dim[i];
        }
    }
}

static base_status run_plain(call *c, const ir_node *n, lang_code *code) {
    if (code == NULL) {
        base_status compiled = compile_now(c, n, &code);
        if (compiled != BASE_OK) {
            return compiled;
        }
    }
    const void **inputs = inputs_of(c, n, 0);
    lang_result *results = BASE_NEWS(c->arena, lang_result, n->output_count + 1);
    void **rooms = BASE_NEWS(c->arena, void *, n->output_count + 1);
    base_status status = make_outputs(c, n, rooms);
    if (status != BASE_OK) {
        return status;
    }
    for (size_t k = 0; k < n->output_count; k++) {
        results[k].data = rooms[k];
    }
    base_arena *inner = base_arena_new(base_arena_memory(c->arena));
    status = note_operator(c->arena, c->s->m, graph_of(c), n, lang_run(code, inner, inputs, results, c->d), c->d);
    base_arena_free(inner);
    if (status == BASE_OK) {
        keep_outputs(c, n, rooms);
    }
    if (status == BASE_OK && c->shapes != NULL) {
        keep_shapes(c, n, results);
    }
    return status;
}

static base_status run_if(call *c, const ir_node *n) {
    bool holds = base_load(BASE_BOOL, c->contents[n->inputs[0]], 0).u != 0;
    void **rooms = BASE_NEWS(c->arena, void *, n->output_count + 1);
    base_status status = make_outputs(c, n, rooms);
    if (status == BASE_OK && c->s->o.every_way) {
        status = run_graph(c->s, sub_graph(n, holds ? "else" : "then"), c->arena, inputs_of(c, n, 1), rooms, c->d);
    }
    if (status == BASE_OK) {
        status = run_graph(c->s, sub_graph(n, holds ? "then" : "else"), c->arena, inputs_of(c, n, 1), rooms, c->d);
    }
    if (status == BASE_OK) {
        keep_outputs(c, n, rooms);
    }
    return status;
}

static base_status count_trip(call *c, const ir_node *n, uint64_t trips) {
    uint64_t each = c->s->o.max_trips, all = c->s->o.most_trips != 0 ? c->s->o.most_trips : OPS_MOST_TRIPS;
    bool own = each != 0 && trips >= each;
    if (!own && ++c->s->trips <= all) {
        return BASE_OK;
    }
    c->s->endless = true;
    base_place place = ops_place(c->arena, c->s->m, graph_of(c), n);
    return base_error(c->d, &place, "the loop goes on after %" PRIu64 " rounds%s", own ? each : all,
                      own ? "" : ", those of all loops counted");
}

/* The carried values have two places each, which take turns. */
static base_status run_while(call *c, const ir_node *n) {
    size_t count = n->output_count;
    void **now = BASE_NEWS(c->arena, void *, count + 1), **next = BASE_NEWS(c->arena, void *, count + 1);
    base_status status = make_outputs(c, n, now);
    if (status == BASE_OK) {
        status = make_outputs(c, n, next);
    }
    for (size_t k = 0; status == BASE_OK && k < count; k++) {
        uint64_t bytes = 0;
        (void)ir_tensor_bytes(&graph_of(c)->tensors.at[n->outputs[k]], &bytes);
        memcpy(now[k], c->contents[n->inputs[k]], (size_t)bytes);
    }
    for (uint64_t trips = 0; status == BASE_OK; trips++) {
        uint64_t holds = 0;
        void *condition = &holds;
        status = run_graph(c->s, sub_graph(n, "cond"), c->arena, (const void *const *)now, &condition, c->d);
        const bool goes_on = c->s->o.every_way ? trips == 0 : base_load(BASE_BOOL, condition, 0).u != 0;
        if (status != BASE_OK || !goes_on) {
            break;
        }
        status = count_trip(c, n, trips);
        if (status == BASE_OK) {
            status = run_graph(c->s, sub_graph(n, "body"), c->arena, (const void *const *)now, next, c->d);
        }
        void **swap = now;
        now = next;
        next = swap;
    }
    if (status == BASE_OK) {
        keep_outputs(c, n, now);
    }
    return status;
}

/* What setting up a node costs, however few elements it has, in scalar operations. */
enum { NODE_COST = 500 };

static base_status run_node(call *c, size_t i) {
    const ir_node *n = &graph_of(c)->nodes.at[i];
    const ops_watch *watch = c->s->o.watch;
    if (watch != NULL && !watch->goes_on(watch->user)) {
        return base_error(c->d, NULL, "the run was ended");
    }
    switch (ir_control_of(n)) {
    case IR_IF:
        return run_if(c, n);
    case IR_WHILE:
        return run_while(c, n);
    case IR_PLAIN:
        break;
    }
    const compiled_graph *g = &c->s->graphs[c->graph];
    c->s->cost += g->costs[i] + NODE_COST;
    if (c->s->o.most_cost != 0 && c->s->cost > c->s->o.most_cost) {
        return base_error(c->d, NULL, "%s: it takes more than %" PRIu64 " scalar operations", c->s->m->file,
                          c->s->o.most_cost);
    }
    return run_plain(c, n, g->codes[i]);
}

/* What the node has computed, for who looks on. */
static void show(const call *c, const ir_node *n) {
    const ops_watch *watch = c->s->o.watch;
    for (size_t k = 0; watch != NULL && c->graph == c->s->o.graph && k < n->output_count; k++) {
        const uint32_t t = n->outputs[k];
        const ir_tensor *x = &graph_of(c)->tensors.at[t];
        if (x->state == IR_NONE) {
            watch->computed(watch->user, t, c->shapes != NULL ? &c->shapes[t] : &x->shape, c->contents[t]);
        }
    }
}

static base_status run_graph(ops_session *s, uint32_t graph, base_arena *scratch, const void *const *inputs,
                             void *const *outputs, base_diags *d) {
    const ir_graph *g = &s->m->graphs.at[graph];
    base_arena *arena = base_arena_new(base_arena_memory(scratch));
    call c = {.s = s, .graph = graph, .arena = arena, .d = d};
    c.contents = BASE_NEWS(arena, const void *, g->tensors.n + 1);
    for (size_t t = 0; t < g->tensors.n; t++) {
        const ir_tensor *x = &g->tensors.at[t];
        c.contents[t] = x->state != IR_NONE ? s->states[x->state] : x->data;
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        c.contents[g->inputs.at[i]] = inputs[i];
    }
    if (s->graphs[graph].computed) {
        c.shapes = BASE_NEWS(arena, ir_shape, g->tensors.n + 1);
        for (size_t t = 0; t < g->tensors.n; t++) {
            c.shapes[t] = ir_shape_of(g->tensors.at[t].shape.rank, g->tensors.at[t].shape.dim);
        }
        for (size_t i = 0; graph == s->o.graph && i < g->inputs.n; i++) {
            c.shapes[g->inputs.at[i]] = s->inputs[i];
        }
    }
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < g->nodes.n; i++) {
        status = run_node(&c, i);
        if (status == BASE_OK) {
            show(&c, &g->nodes.at[i]);
        }
    }
    for (size_t i = 0; status == BASE_OK && i < g->outputs.n; i++) {
        uint32_t t = g->outputs.at[i];
        uint64_t bytes = 0;
        if (c.contents[t] == NULL || !ir_tensor_bytes(&g->tensors.at[t], &bytes)) {
            status = base_error(d, NULL, "output %zu is computed by no operator", i);
        } else {
            memcpy(outputs[i], c.contents[t], (size_t)bytes);
        }
        if (graph == s->o.graph) {
            s->outputs[i] = c.shapes != NULL ? c.shapes[t] : g->tensors.at[t].shape;
        }
    }
    base_arena_free(arena);
    return status;
}

base_status ops_session_run(ops_session *s, base_arena *scratch, const void *const *inputs, void *const *outputs,
                            base_diags *d) {
    s->trips = s->cost = 0;
    s->endless = false;
    return run_graph(s, s->o.graph, scratch, inputs, outputs, d);
}
