/* test_ir.c - room ir: shapes, attributes, the verifier, the order, the text form. Expected values are by hand. */
#include "ir/ir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    base_memory memory;
    base_guard guard;
    base_arena *arena;
    base_diags d;
} fixture;

static fixture *f;

static int set_up(void **state) {
    f = calloc(1, sizeof *f);
    if (BASE_GUARD(&f->memory, &f->guard)) {
        return -1;
    }
    f->arena = base_arena_new(&f->memory);
    f->d.arena = f->arena;
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(f->arena);
    base_unguard(&f->memory, &f->guard);
    assert_int_equal(f->memory.in_use, 0);
    free(f);
    return 0;
}

static void assert_diag(size_t i, const char *path, const char *part) {
    assert_true(i < f->d.list.n);
    if (path) {
        assert_string_equal(f->d.list.at[i].path, path);
    }
    if (!strstr(f->d.list.at[i].message, part)) {
        fail_msg("'%s' is not in '%s'", part, f->d.list.at[i].message);
    }
}

static ir_shape shape(uint32_t rank, int64_t a, int64_t b) {
    const int64_t dims[] = {a, b};
    return ir_shape_of(rank, dims);
}

static void give_quant(ir_tensor *t, uint32_t n, int32_t axis, const float *scale, const int64_t *zero) {
    t->quant = (ir_quant){n, axis, scale, zero};
}

static const float half[] = {0.5f, 0.25f};
static const int64_t zeros[] = {-3, 0};
static const int8_t weights[4] = {1, -2, 3, 127};

/* x[1,2] -> fully_connected(x, w, _) -> y -> relu(y) -> z, as a graph "main". */
static ir_model *small(void) {
    ir_model *m = ir_model_new(f->arena, "tflite", "small.tflite");
    ir_graph *g = ir_graph_add(m, "main");
    ir_shape row = shape(2, 1, 2), square = shape(2, 2, 2);
    uint32_t x = ir_tensor_add(m, g, "x", BASE_I8, &row);
    uint32_t w = ir_tensor_add(m, g, "w \"quoted\"\n\xff", BASE_I8, &square);
    uint32_t y = ir_tensor_add(m, g, "y", BASE_I8, &row);
    uint32_t z = ir_tensor_add(m, g, "", BASE_I8, &row);
    g->tensors.at[x].source = 7;
    give_quant(&g->tensors.at[x], 1, 0, half, zeros);
    give_quant(&g->tensors.at[w], 2, 0, half, zeros + 0);
    g->tensors.at[w].data = weights;
    const uint32_t in[] = {x, w, IR_NONE};
    ir_node *n = ir_node_add(m, g, "fully_connected", in, 3, &y, 1, 0);
    n->source_name = "FULLY_CONNECTED";
    n->byte = 0x4f21;
    const int64_t ints[] = {1, -1, INT64_MIN, INT64_MAX};
    const double floats[] = {0.1, -0.0, INFINITY};
    ir_attr_text(m, n, "act", "none");
    ir_attr_int(m, n, "keep_num_dims", 1);
    ir_attr_ints(m, n, "list", ints, 4);
    ir_attr_floats(m, n, "reals", floats, 3);
    ir_attr_float(m, n, "beta", 1.0);
    ir_attr_ints(m, n, "empty", NULL, 0);
    ir_node_add(m, g, "relu", &y, 1, &z, 1, 1);
    *BASE_PUSH(f->arena, &g->inputs) = x;
    *BASE_PUSH(f->arena, &g->outputs) = z;
    return m;
}

/* ---- shapes and attributes ---- */

static void shapes(void **state) {
    (void)state;
    uint64_t n = 0;
    ir_shape s = {0};
    assert_true(ir_shape_elements(&s, &n));
    assert_int_equal(n, 1);
    assert_string_equal(ir_shape_print(f->arena, &s), "scalar");
    s = shape(2, 49, 10);
    assert_true(ir_shape_elements(&s, &n));
    assert_int_equal(n, 490);
    assert_string_equal(ir_shape_print(f->arena, &s), "49x10");
    s = shape(2, 5, 0);
    assert_true(ir_shape_elements(&s, &n));
    assert_int_equal(n, 0);
    s = shape(2, (int64_t)1 << 24, (int64_t)1 << 24);
    assert_true(ir_shape_elements(&s, &n));
    assert_int_equal(n, (int64_t)1 << 48);
    s = shape(2, (int64_t)1 << 24, ((int64_t)1 << 24) + 1);
    assert_false(ir_shape_elements(&s, &n));
    const int64_t wraps[] = {(int64_t)1 << 32, (int64_t)1 << 32, 0};
    s = ir_shape_of(3, wraps);
    assert_false(ir_shape_elements(&s, &n));
    s = shape(1, -1, 0);
    assert_false(ir_shape_elements(&s, &n));
    ir_tensor nibbles = {.type = BASE_I4, .shape = shape(1, 5, 0)};
    assert_true(ir_tensor_bytes(&nibbles, &n));
    assert_int_equal(n, 3);
    ir_shape a = shape(2, 2, 3), b = shape(2, 2, 3);
    assert_true(ir_shape_same(&a, &b));
    b.symbol[1] = 1;
    assert_false(ir_shape_same(&a, &b));
    assert_string_equal(ir_shape_print(f->arena, &b), "2x<=3");
    b = shape(1, 2, 0);
    assert_false(ir_shape_same(&a, &b));
}

static void attributes_replace_by_name(void **state) {
    (void)state;
    ir_model *m = small();
    ir_node *n = &m->graphs.at[0].nodes.at[0];
    assert_int_equal(n->attr_count, 6);
    ir_attr_int(m, n, "act", 5);
    assert_int_equal(n->attr_count, 6);
    const ir_attr *a = ir_attr_find(n, "act");
    assert_int_equal(a->kind, IR_INT);
    assert_int_equal(a->v.i, 5);
    a = ir_attr_find(n, "list");
    assert_int_equal(a->n, 4);
    assert_true(a->v.ints[2] == INT64_MIN);
    assert_null(ir_attr_find(n, "stride"));
}

/* ---- the verifier ---- */

static void a_sound_model_passes(void **state) {
    (void)state;
    assert_int_equal(ir_verify(small(), &f->d), BASE_OK);
    assert_int_equal(f->d.errors, 0);
}

static void refuse(ir_model *m, const char *path, const char *part) {
    size_t before = f->d.list.n;
    assert_int_equal(ir_verify(m, &f->d), BASE_REFUSED);
    assert_diag(before, path, part);
}

static void bad_tensors_are_refused(void **state) {
    (void)state;
    static const float bad[][2] = {{0.0f, 1}, {-1.0f, 1}, {INFINITY, 1}, {NAN, 1}};
    static const int64_t far[] = {128, 0};
    const char *x = "graph[0]/tensor[0] \"x\"";
    for (size_t i = 0; i < 4; i++) {
        ir_model *m = small();
        m->graphs.at[0].tensors.at[0].quant.scale = bad[i];
        refuse(m, x, "scale[0] is ");
    }
    ir_model *m = small();
    m->graphs.at[0].tensors.at[0].quant.zero = far;
    refuse(m, x, "zero_point[0] is 128: outside i8");
    static const int64_t low = -129;
    m = small();
    m->graphs.at[0].tensors.at[0].quant.zero = &low;
    refuse(m, x, "zero_point[0] is -129: outside i8");
    m = small();
    m->graphs.at[0].tensors.at[1].quant.axis = 2;
    refuse(m, NULL, "quantisation axis 2: the rank is 2");
    m = small();
    m->graphs.at[0].tensors.at[1].shape.dim[0] = 3;
    refuse(m, NULL, "2 scales along axis 0 of extent 3");
    m = small();
    m->graphs.at[0].tensors.at[0].shape.dim[1] = -2;
    refuse(m, x, "extent 1 is -2");
    m = small();
    m->graphs.at[0].tensors.at[0].shape.dim[0] = (int64_t)1 << 48;
    refuse(m, x, "too many elements");
    m = small();
    m->graphs.at[0].tensors.at[0].type = BASE_NONE;
    refuse(m, x, "no element type");
    m = small();
    m->graphs.at[0].tensors.at[0].shape.symbol[0] = 1;
    refuse(m, x, "symbol 1: the model has 0");
    ir_shape square = shape(2, 2, 2), row = shape(2, 1, 2);
    m = small();
    m->graphs.at[0].tensors.at[1].state = ir_state_add(m, "s", BASE_I8, &square);
    refuse(m, NULL, "both a constant and a state");
    m = small();
    m->graphs.at[0].tensors.at[2].state = 0;
    refuse(m, "graph[0]/tensor[2] \"y\"", "state 0: the model has 0");
    m = small();
    m->graphs.at[0].tensors.at[2].state = ir_state_add(m, "s", BASE_I8, &square);
    refuse(m, "graph[0]/tensor[2] \"y\"", "it is i8[1x2], and its state @0 i8[2x2]");
    m = small();
    m->graphs.at[0].tensors.at[2].state = ir_state_add(m, "s", BASE_U8, &row);
    refuse(m, "graph[0]/tensor[2] \"y\"", "it is i8[1x2], and its state @0 u8[1x2]");
    m = small();
    m->graphs.at[0].tensors.at[0].state = ir_state_add(m, "s", BASE_I8, &row);
    refuse(m, "graph[0]/tensor[0] \"x\"", "an input of the graph and a state");
    m = small();
    m->graphs.at[0].tensors.at[3].state = ir_state_add(m, "s", BASE_I8, &row);
    refuse(m, "graph[0]/tensor[3] \"\"", "output 0 of the graph, and a state");
    m = small();
    ir_state_add(m, "s", BASE_I8, &row);
    m->states.at[0].type = BASE_NONE;
    refuse(m, "state[0] \"s\"", "no element type");
}

static void bad_edges_are_refused(void **state) {
    (void)state;
    const char *first = "graph[0]/operator[0] FULLY_CONNECTED", *second = "graph[0]/operator[1] relu";
    ir_model *m = small();
    m->graphs.at[0].nodes.at[0].inputs[0] = 9;
    size_t i = f->d.list.n;
    refuse(m, first, "input 0 is tensor 9: the graph has 4");
    assert_true(f->d.list.at[i].has_byte);
    assert_int_equal(f->d.list.at[i].byte, 0x4f21);
    m = small();
    m->graphs.at[0].nodes.at[1].outputs[0] = IR_NONE;
    refuse(m, second, "output 0 is tensor 4294967295");
    m = small();
    m->graphs.at[0].nodes.at[1].outputs[0] = 1;
    refuse(m, second, "which is a constant");
    m = small();
    m->graphs.at[0].nodes.at[1].outputs[0] = 0;
    refuse(m, second, "which is an input of the graph");
    m = small();
    m->graphs.at[0].nodes.at[1].outputs[0] = 2;
    refuse(m, second, "it writes tensor 2 \"y\", which operator[0] writes too");
    m = small();
    m->graphs.at[0].outputs.at[0] = 4;
    refuse(m, "graph[0]", "output 0 is tensor 4: there are 4");
    m = small();
    m->graphs.at[0].inputs.n = 0;
    refuse(m, first, "it reads tensor 0 \"x\", which nothing produces");
    m = small();
    m->graphs.at[0].nodes.n = 1;
    refuse(m, "graph[0]/tensor[3] \"\"", "it is output 0 of the graph, and nothing produces it");
    m = small();
    *BASE_PUSH(f->arena, &m->graphs.at[0].inputs) = 0;
    refuse(m, NULL, "an input of the graph twice");
    m = small();
    m->graphs.at[0].nodes.at[0].op = "";
    refuse(m, NULL, "no operator");
    m = small();
    m->graphs.n = 0;
    refuse(m, NULL, "no graph");
}

static void a_cycle_and_a_late_producer_are_told_apart(void **state) {
    (void)state;
    ir_model *m = small();
    ir_graph *g = &m->graphs.at[0];
    g->nodes.at[0].inputs[0] = 3; /* reads what relu makes of its own output */
    refuse(m, NULL, "the operators form a cycle: operator[0] -> operator[1] -> operator[0]");
    m = small();
    g = &m->graphs.at[0];
    ir_node swap = g->nodes.at[0];
    g->nodes.at[0] = g->nodes.at[1];
    g->nodes.at[1] = swap;
    refuse(m, "graph[0]/operator[1] relu", "it reads tensor 2 \"y\" before operator[0] produces it");
    assert_int_equal(ir_sort(m, &f->d), BASE_OK);
    assert_string_equal(g->nodes.at[0].op, "fully_connected");
    assert_int_equal(ir_verify(m, &f->d), BASE_OK);
    m = small();
    m->graphs.at[0].nodes.at[1].inputs[0] = 3;
    size_t i = f->d.list.n;
    assert_int_equal(ir_sort(m, &f->d), BASE_REFUSED);
    assert_diag(i, "graph[0]/operator[1] relu", "a cycle: operator[1] -> operator[1]");
}

static void sorting_moves_only_what_it_must(void **state) {
    (void)state;
    /* a: none -> 1; b: 3 -> 2; c: none -> 3; d: 1 -> 4. Only c has to come before b. */
    ir_model *m = ir_model_new(f->arena, "ir", "order");
    ir_graph *g = ir_graph_add(m, "g");
    ir_shape one = shape(1, 1, 0);
    for (int i = 0; i < 5; i++) {
        ir_tensor_add(m, g, "t", BASE_F32, &one);
    }
    const uint32_t t[] = {0, 1, 2, 3, 4};
    *BASE_PUSH(f->arena, &g->inputs) = 0;
    ir_node_add(m, g, "a", &t[0], 1, &t[1], 1, 0);
    ir_node_add(m, g, "b", &t[3], 1, &t[2], 1, 1);
    ir_node_add(m, g, "c", &t[0], 1, &t[3], 1, 2);
    ir_node_add(m, g, "d", &t[1], 1, &t[4], 1, 3);
    assert_int_equal(ir_sort(m, &f->d), BASE_OK);
    char order[5] = "";
    for (size_t i = 0; i < 4; i++) {
        order[i] = *g->nodes.at[i].op;
    }
    assert_string_equal(order, "acbd");
}

static void variables_keep_the_order_of_their_users(void **state) {
    (void)state;
    /* read v -> 1 stands before write v <- 0 and must stay there, though nothing else says so. */
    ir_model *m = ir_model_new(f->arena, "ir", "state");
    ir_graph *g = ir_graph_add(m, "g");
    ir_shape one = shape(1, 1, 0);
    for (int i = 0; i < 4; i++) {
        ir_tensor_add(m, g, "t", BASE_F32, &one);
    }
    g->tensors.at[3].state = ir_state_add(m, "s", BASE_F32, &one);
    const uint32_t t[] = {0, 1, 2, 3};
    const uint32_t both[] = {2, 3};
    *BASE_PUSH(f->arena, &g->inputs) = 0;
    ir_node_add(m, g, "read", both, 2, &t[1], 1, 0); /* waits for "make" */
    ir_node_add(m, g, "make", &t[0], 1, &t[2], 1, 1);
    ir_node_add(m, g, "write", &t[0], 1, &t[3], 1, 2);
    assert_int_equal(ir_sort(m, &f->d), BASE_OK);
    assert_string_equal(g->nodes.at[0].op, "make");
    assert_string_equal(g->nodes.at[1].op, "read");
    assert_string_equal(g->nodes.at[2].op, "write");
    assert_int_equal(ir_verify(m, &f->d), BASE_OK);
}

static void a_reader_stays_before_the_writer(void **state) {
    (void)state;
    /* "early" needs what "write" gives, and "read" stands before "write": read, write, early. */
    ir_model *m = ir_model_new(f->arena, "ir", "state");
    ir_graph *g = ir_graph_add(m, "g");
    ir_shape one = shape(1, 1, 0);
    for (int i = 0; i < 4; i++) {
        ir_tensor_add(m, g, "t", BASE_F32, &one);
    }
    g->tensors.at[3].state = ir_state_add(m, "s", BASE_F32, &one);
    const uint32_t t[] = {0, 1, 2, 3};
    ir_node_add(m, g, "early", &t[0], 1, &t[1], 1, 0);
    ir_node_add(m, g, "read", &t[3], 1, &t[2], 1, 1);
    const uint32_t written[] = {3, 0};
    ir_node_add(m, g, "write", NULL, 0, written, 2, 2);
    assert_int_equal(ir_sort(m, &f->d), BASE_OK);
    assert_string_equal(g->nodes.at[0].op, "read");
    assert_string_equal(g->nodes.at[1].op, "write");
    assert_string_equal(g->nodes.at[2].op, "early");
}

/* ---- control ---- */

static char *printed(const ir_model *m) {
    base_text out = {.arena = f->arena};
    ir_print(&out, m);
    return out.at;
}

static ir_model *parsed(const char *text) {
    ir_model *m = NULL;
    base_status status = ir_parse(f->arena, "in.ir", text, strlen(text), &m, &f->d);
    if (status) {
        fail_msg("%u:%u: %s", f->d.list.at[0].line, f->d.list.at[0].column, f->d.list.at[0].message);
    }
    return m;
}

/* main: %0 bool, %1 f32[2] -> if -> %2; while(%2) -> %3. Graph 1 (f32[2] -> f32[2]) is then, else and body; graph 2
 * (f32[2] -> bool) is cond. */
static ir_model *controlled(void) {
    ir_model *m = ir_model_new(f->arena, "ir", "control");
    ir_shape pair = shape(1, 2, 0), one = {0};
    for (int i = 0; i < 3; i++) {
        ir_graph_add(m, "g");
    }
    ir_graph *g = &m->graphs.at[0], *body = &m->graphs.at[1], *cond = &m->graphs.at[2];
    ir_tensor_add(m, g, "c", BASE_BOOL, &one);
    for (int i = 0; i < 3; i++) {
        ir_tensor_add(m, g, "t", BASE_F32, &pair);
    }
    const uint32_t t[] = {0, 1, 2, 3};
    ir_node *n = ir_node_add(m, g, "if", t, 2, &t[2], 1, 0);
    ir_attr_graph(m, n, "then", 1);
    ir_attr_graph(m, n, "else", 1);
    n = ir_node_add(m, g, "while", &t[2], 1, &t[3], 1, 1);
    ir_attr_graph(m, n, "cond", 2);
    ir_attr_graph(m, n, "body", 1);
    *BASE_PUSH(f->arena, &g->inputs) = 0;
    *BASE_PUSH(f->arena, &g->inputs) = 1;
    *BASE_PUSH(f->arena, &g->outputs) = 3;
    ir_tensor_add(m, body, "x", BASE_F32, &pair);
    ir_tensor_add(m, body, "y", BASE_F32, &pair);
    ir_node_add(m, body, "neg", &t[0], 1, &t[1], 1, 0);
    *BASE_PUSH(f->arena, &body->inputs) = 0;
    *BASE_PUSH(f->arena, &body->outputs) = 1;
    ir_tensor_add(m, cond, "x", BASE_F32, &pair);
    ir_tensor_add(m, cond, "y", BASE_BOOL, &one);
    ir_node_add(m, cond, "any", &t[0], 1, &t[1], 1, 0);
    *BASE_PUSH(f->arena, &cond->inputs) = 0;
    *BASE_PUSH(f->arena, &cond->outputs) = 1;
    return m;
}

static void control_is_what_its_graphs_are(void **state) {
    (void)state;
    ir_model *m = controlled();
    assert_int_equal(ir_verify(m, &f->d), BASE_OK);
    const ir_node *n = m->graphs.at[0].nodes.at;
    assert_int_equal(ir_control_of(&n[0]), IR_IF);
    assert_int_equal(ir_control_of(&n[1]), IR_WHILE);
    assert_int_equal(ir_control_of(m->graphs.at[1].nodes.at), IR_PLAIN);
    assert_ptr_equal(ir_sub_graph(m, &n[1], "cond"), &m->graphs.at[2]);
    char *once = printed(m);
    assert_non_null(strstr(once, "node if (%0, %1) -> (%2) {then: graph 1, else: graph 1} ids [0]\n"));
    assert_string_equal(printed(parsed(once)), once);
}

static void control_that_does_not_fit_is_refused(void **state) {
    (void)state;
    const char *first = "graph[0]/operator[0] if", *second = "graph[0]/operator[1] while";
    ir_shape pair = shape(1, 2, 0), row = shape(2, 1, 2);
    ir_model *m = controlled();
    ir_attr_graph(m, m->graphs.at[0].nodes.at, "then", 3);
    refuse(m, first, "then is graph 3: the model has 3");
    m = controlled();
    m->graphs.at[0].nodes.at[0].attr_count = 1;
    refuse(m, first, "it does not name its graph \"else\"");
    m = controlled();
    ir_attr_int(m, &m->graphs.at[0].nodes.at[1], "body", 1);
    refuse(m, second, "it does not name its graph \"body\"");
    m = controlled();
    m->graphs.at[0].tensors.at[0].type = BASE_I8;
    refuse(m, first, "input 0 is i8[scalar]: a condition is one bool");
    m = controlled();
    m->graphs.at[2].tensors.at[1].shape = pair;
    refuse(m, second, "cond's output is bool[2]: a condition is one bool");
    m = controlled();
    ir_attr_graph(m, m->graphs.at[0].nodes.at, "else", 2);
    refuse(m, first, "else: output 0 is bool[scalar] in graph 2, and f32[2] at the node");
    m = controlled();
    m->graphs.at[0].tensors.at[1].shape = row;
    refuse(m, first, "then: input 0 is f32[2] in graph 1, and f32[1x2] at the node");
    m = controlled();
    m->graphs.at[0].nodes.at[0].input_count = 1;
    refuse(m, first, "then: graph 1 has 1 inputs, the node has 0 for it");
    m = controlled();
    m->graphs.at[2].outputs.n = 0;
    refuse(m, second, "cond: graph 2 has 0 outputs");
    m = controlled();
    m->graphs.at[0].nodes.at[1].output_count = 0;
    m->graphs.at[0].outputs.at[0] = 2;
    refuse(m, second, "body: graph 1 has 1 outputs, the node has 0 for it");
    m = controlled();
    m->graphs.at[0].tensors.at[2].state = ir_state_add(m, "s", BASE_F32, &pair);
    refuse(m, first, "tensor 2 stands for a state");
    m = controlled();
    ir_node *deep = ir_node_add(m, &m->graphs.at[1], "call", NULL, 0, NULL, 0, 2);
    ir_attr_graph(m, deep, "graph", 0);
    refuse(m, NULL, "the graph reaches itself");
    /* a chain of graphs, each of which names the next */
    m = ir_model_new(f->arena, "ir", "deep");
    for (uint32_t i = 0; i < IR_MAX_CALLS + 2; i++) {
        ir_graph_add(m, "g");
    }
    for (uint32_t i = 0; i + 1 < m->graphs.n; i++) {
        deep = ir_node_add(m, &m->graphs.at[i], "call", NULL, 0, NULL, 0, 0);
        ir_attr_graph(m, deep, "graph", i + 1);
    }
    refuse(m, NULL, "more than 64 deep");
    m->graphs.at[IR_MAX_CALLS].nodes.n = 0; /* now one less */
    assert_int_equal(ir_verify(m, &f->d), BASE_OK);
}

/* main: fused(%0) -> %1, of graph 1: neg. */
static ir_model *fused(void) {
    ir_model *m = ir_model_new(f->arena, "ir", "fused");
    ir_shape pair = shape(1, 2, 0);
    const uint32_t t[] = {0, 1};
    for (int i = 0; i < 2; i++) {
        ir_graph *g = ir_graph_add(m, "g");
        ir_tensor_add(m, g, "x", BASE_F32, &pair);
        ir_tensor_add(m, g, "y", BASE_F32, &pair);
        *BASE_PUSH(f->arena, &g->inputs) = 0;
        *BASE_PUSH(f->arena, &g->outputs) = 1;
        ir_node *n = ir_node_add(m, g, i ? "neg" : "fused", t, 1, &t[1], 1, 0);
        if (!i) {
            ir_attr_graph(m, n, "body", 1);
        }
    }
    return m;
}

static void what_is_fused_is_one_plain_operator(void **state) {
    (void)state;
    const char *node = "graph[0]/operator[0] fused";
    ir_shape row = shape(2, 1, 2);
    ir_model *m = fused();
    assert_int_equal(ir_verify(m, &f->d), BASE_OK);
    assert_true(ir_is_fused(m->graphs.at[0].nodes.at));
    assert_int_equal(ir_control_of(m->graphs.at[0].nodes.at), IR_PLAIN);
    m->graphs.at[0].nodes.at[0].attr_count = 0;
    refuse(m, node, "it does not name its graph \"body\", and that alone");
    m = fused();
    m->graphs.at[1].tensors.at[1].shape = row;
    refuse(m, node, "body: output 0 is f32[1x2] in graph 1, and f32[2] at the node");
    m = fused();
    m->graphs.at[0].nodes.at[0].inputs[0] = IR_NONE;
    refuse(m, node, "body: input 0 is absent, and the graph takes it");
    m = fused();
    m->graphs.at[1].nodes.at[0].op = "fused";
    ir_attr_graph(m, m->graphs.at[1].nodes.at, "body", 2);
    ir_graph *inner = ir_graph_add(m, "g");
    *inner = m->graphs.at[1];
    inner->nodes.at = BASE_NEWS(f->arena, ir_node, 1);
    inner->nodes.at[0] = fused()->graphs.at[1].nodes.at[0];
    refuse(m, node, "its graph holds fused");
    m = fused();
    m->graphs.at[1].outputs.at[0] = 0;
    refuse(m, node, "output 0 of its graph is an input");
    m = fused();
    ir_tensor_add(m, &m->graphs.at[1], "s", BASE_F32, &m->graphs.at[1].tensors.at[0].shape);
    m->graphs.at[1].tensors.at[2].state = ir_state_add(m, "s", BASE_F32, &m->graphs.at[1].tensors.at[0].shape);
    refuse(m, node, "its graph holds a state or a constant");
}

/* ---- another outline ---- */

static void the_entry_changes_places(void **state) {
    (void)state;
    ir_model *m = controlled();
    const ir_port x = {"x", 0}, y = {"y", 0};
    ir_signature_add(m, "negate", 1, &x, 1, &y, 1);
    ir_make_entry(m, 1);
    assert_int_equal(ir_verify(m, &f->d), BASE_OK);
    assert_string_equal(m->graphs.at[0].nodes.at[0].op, "neg");
    assert_int_equal(m->signatures.at[0].graph, 0);
    const ir_node *n = m->graphs.at[1].nodes.at;
    assert_ptr_equal(ir_sub_graph(m, &n[0], "then"), &m->graphs.at[0]);
    assert_ptr_equal(ir_sub_graph(m, &n[1], "cond"), &m->graphs.at[2]);
}

static void what_nobody_calls_any_more_goes(void **state) {
    (void)state;
    ir_model *m = controlled();
    const bool *called = ir_called(f->arena, m);
    assert_true(!called[0] && called[1] && called[2]);
    ir_drop_uncalled(m, called, 3);
    assert_int_equal(m->graphs.n, 3);
    m->graphs.at[0].nodes.n = 1; /* the loop is gone, and alone called graph 2 */
    const ir_port x = {"x", 0}, y = {"y", 0};
    ir_signature_add(m, "less", 2, &x, 1, &y, 1);
    ir_drop_uncalled(m, called, 3);
    assert_int_equal(m->graphs.n, 3);
    m->signatures.n = 0;
    ir_drop_uncalled(m, called, 3);
    assert_int_equal(m->graphs.n, 2);
    m = controlled();
    ir_node *n = &m->graphs.at[0].nodes.at[0];
    ir_attr_graph(m, n, "then", 2);
    ir_attr_graph(m, n, "else", 2);
    m->graphs.at[0].nodes.n = 1;
    const ir_graph *kept = &m->graphs.at[2];
    const size_t nodes = kept->nodes.n;
    const char *word = kept->nodes.at[0].op;
    ir_drop_uncalled(m, called, 3);
    assert_int_equal(m->graphs.n, 2);
    assert_int_equal(ir_sub_graph(m, n, "then")->nodes.n, nodes);
    assert_string_equal(ir_sub_graph(m, n, "else")->nodes.at[0].op, word);
}

static void a_cut_keeps_what_its_outputs_need(void **state) {
    (void)state;
    /* a: 0 -> 2; b: 1 -> 3; write: 2 -> state; c: 2, 3 -> 4. Cut at 3: b and what changes the state stay. */
    ir_model *m = ir_model_new(f->arena, "ir", "cut");
    ir_graph *g = ir_graph_add(m, "g");
    ir_shape one = shape(1, 1, 0);
    for (int i = 0; i < 6; i++) {
        ir_tensor_add(m, g, "t", BASE_F32, &one);
    }
    g->tensors.at[5].state = ir_state_add(m, "s", BASE_F32, &one);
    const uint32_t t[] = {0, 1, 2, 3, 4, 5};
    *BASE_PUSH(f->arena, &g->inputs) = 0;
    *BASE_PUSH(f->arena, &g->inputs) = 1;
    *BASE_PUSH(f->arena, &g->outputs) = 4;
    *BASE_PUSH(f->arena, &g->outputs) = 3;
    ir_node_add(m, g, "a", &t[0], 1, &t[2], 1, 0);
    ir_node_add(m, g, "b", &t[1], 1, &t[3], 1, 1);
    ir_node_add(m, g, "write", &t[2], 1, &t[5], 1, 2);
    ir_node_add(m, g, "c", &t[2], 2, &t[4], 1, 3);
    const ir_port in[] = {{"first", 0}, {"second", 1}}, out[] = {{"sum", 0}, {"part", 1}};
    ir_signature_add(m, "call", 0, in, 2, out, 2);
    ir_cut(m, &t[3], 1);
    assert_int_equal(ir_verify(m, &f->d), BASE_OK);
    assert_int_equal(g->nodes.n, 3);
    assert_string_equal(g->nodes.at[2].op, "write");
    assert_int_equal(g->inputs.n, 2);
    assert_int_equal(m->signatures.at[0].output_count, 1);
    assert_string_equal(m->signatures.at[0].outputs[0].name, "part");
    assert_int_equal(m->signatures.at[0].outputs[0].at, 0);
    g->nodes.n = 2; /* without the state input 0 is needed by nobody */
    ir_cut(m, &t[3], 1);
    assert_int_equal(g->nodes.n, 1);
    assert_int_equal(g->inputs.n, 1);
    assert_int_equal(g->inputs.at[0], 1);
    assert_int_equal(m->signatures.at[0].input_count, 1);
    assert_string_equal(m->signatures.at[0].inputs[0].name, "second");
    assert_int_equal(m->signatures.at[0].inputs[0].at, 0);
}

static void graphs_that_reach_a_state_keep_their_place(void **state) {
    (void)state;
    /* main: write v <- 0; while (whose body reads v); write v <- 1 ... and a read behind. Nothing else orders them. */
    ir_model *m = controlled();
    ir_shape pair = shape(1, 2, 0);
    ir_graph *g = &m->graphs.at[0];
    uint32_t s = ir_state_add(m, "s", BASE_F32, &pair);
    uint32_t v = ir_tensor_add(m, g, "v", BASE_F32, &pair), r = ir_tensor_add(m, g, "r", BASE_F32, &pair);
    uint32_t inner = ir_tensor_add(m, &m->graphs.at[1], "v", BASE_F32, &pair);
    g->tensors.at[v].state = m->graphs.at[1].tensors.at[inner].state = s;
    bool *with = ir_graphs_with_state(f->arena, m);
    assert_true(with[0] && with[1] && !with[2]);
    assert_true(ir_reaches_state(m, &g->nodes.at[1], with));
    m->graphs.at[1].tensors.at[inner].state = IR_NONE;
    with = ir_graphs_with_state(f->arena, m);
    assert_true(with[0] && !with[1] && !ir_reaches_state(m, &g->nodes.at[1], with));
    m->graphs.at[1].tensors.at[inner].state = s;
    ir_node wrong = g->nodes.at[1];
    ir_attr none = {.name = "cond", .kind = IR_GRAPH, .v.graph = 1000000};
    wrong.attrs = &none;
    wrong.attr_count = 1;
    assert_false(ir_reaches_state(m, &wrong, with));
    /* the order given: if, while, read v -> r, write v; "read" is moved behind "late" by its input alone */
    const uint32_t x = 1;
    uint32_t late = ir_tensor_add(m, g, "late", BASE_F32, &pair);
    const uint32_t both[] = {v, late};
    ir_node_add(m, g, "read", both, 2, &r, 1, 2);
    ir_node_add(m, g, "write", &x, 1, &v, 1, 3);
    ir_node_add(m, g, "late", &x, 1, &late, 1, 4);
    assert_int_equal(ir_sort(m, &f->d), BASE_OK);
    const char *const want[] = {"if", "while", "late", "read", "write"};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(m->graphs.at[0].nodes.at[i].op, want[i]);
    }
    /* A control node that comes last stays behind what touched the state, though its inputs are there from the start. */
    ir_node moved = g->nodes.at[1];
    moved.inputs[0] = 1;
    memmove(&g->nodes.at[1], &g->nodes.at[2], 3 * sizeof moved);
    g->nodes.at[4] = moved;
    uint32_t after = ir_tensor_add(m, g, "after", BASE_F32, &pair);
    const uint32_t done = 3;
    ir_node_add(m, g, "after", &done, 1, &after, 1, 5);
    g->nodes.at[5] = g->nodes.at[0]; /* "after" takes the place of "if": it wants what "while" makes */
    g->nodes.at[0] = (ir_node){.op = "after", .input_count = 1, .output_count = 1, .source_name = ""};
    g->nodes.at[0].inputs = BASE_NEW(f->arena, uint32_t);
    g->nodes.at[0].outputs = BASE_NEW(f->arena, uint32_t);
    *g->nodes.at[0].inputs = 3;
    *g->nodes.at[0].outputs = after;
    assert_int_equal(ir_sort(m, &f->d), BASE_OK);
    const char *const again[] = {"late", "read", "write", "while", "after"};
    size_t at = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (strcmp(g->nodes.at[i].op, "if")) {
            assert_string_equal(g->nodes.at[i].op, again[at++]);
        }
    }
    assert_int_equal(at, 5);
}

/* ---- the text form ---- */

static void printing_is_what_the_document_says(void **state) {
    (void)state;
    assert_string_equal(
        printed(small()),
        "burin 1\n"
        "model \"tflite\" \"small.tflite\"\n"
        "graph \"main\" 0 {\n"
        "  tensor %0 i8[1,2] \"x\" source 7 quant {0.5:-3}\n"
        "  tensor %1 i8[2,2] \"w \\\"quoted\\\"\\x0a\\xff\" quant axis 0 {0.5:-3, 0.25:0} = hex \"01fe037f\"\n"
        "  tensor %2 i8[1,2] \"y\"\n"
        "  tensor %3 i8[1,2] \"\"\n"
        "  inputs (%0)\n"
        "  outputs (%3)\n"
        "  node fully_connected (%0, %1, _) -> (%2) {act: text \"none\", keep_num_dims: int 1, "
        "list: ints [1, -1, -9223372036854775808, 9223372036854775807], reals: floats [0.1, -0.0, inf], "
        "beta: float 1.0, empty: ints []} ids [0] from \"FULLY_CONNECTED\" at 20257\n"
        "  node relu (%2) -> (%3) ids [1]\n"
        "}\n");
}

static void computed_extents_come_from_nodes(void **state) {
    (void)state;
    ir_model *m = small();
    *BASE_PUSH(f->arena, &m->symbols) =
        (ir_symbol){"n", m->graphs.at[0].tensors.at[0].shape.dim[0], false}; /* the caller of a run says it */
    m->graphs.at[0].tensors.at[0].shape.symbol[0] = 1;
    assert_int_equal(ir_verify(m, &f->d), BASE_OK);
    m->symbols.at[0].computed = true;
    refuse(m, "graph[0]/tensor[0] \"x\"", "an input of the graph, and an extent is computed");
    m->graphs.at[0].tensors.at[0].shape.symbol[0] = 0;
    m->symbols.at[0].bound = m->graphs.at[0].tensors.at[1].shape.dim[0];
    m->graphs.at[0].tensors.at[1].shape.symbol[0] = 1;
    refuse(m, NULL, "a constant or a state");
}

static void printing_what_was_parsed_gives_the_same_bytes(void **state) {
    (void)state;
    ir_model *m = small();
    ir_graph *g = &m->graphs.at[0];
    *BASE_PUSH(f->arena, &m->symbols) = (ir_symbol){"T", 16, false};
    *BASE_PUSH(f->arena, &m->symbols) = (ir_symbol){"n", 5, true};
    /* Every length of base64's last group, and constants of 0 elements. */
    static uint8_t bytes[101];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 37 + 11);
    }
    for (int64_t n = 98; n < 101; n++) {
        ir_shape s = ir_shape_of(1, &n);
        uint32_t t = ir_tensor_add(m, g, "c", BASE_U8, &s);
        g->tensors.at[t].data = bytes;
    }
    ir_shape none = shape(1, 0, 0), symbolic = shape(2, 16, 3);
    symbolic.symbol[0] = 1;
    uint32_t t = ir_tensor_add(m, g, "none", BASE_F32, &none);
    g->tensors.at[t].data = bytes;
    t = ir_tensor_add(m, g, "state", BASE_F32, &symbolic);
    g->tensors.at[t].state = ir_state_add(m, "state", BASE_F32, &symbolic);
    ir_state_add(m, "other \"one\"", BASE_U8, &none);
    const int64_t one = 1;
    ir_shape first = ir_shape_of(1, &one);
    ir_state_add(m, "quantised", BASE_I8, &first);
    m->states.at[2].quant = (ir_quant){1, 0, half, zeros};
    m->states.at[2].data = weights;
    ir_node_add(m, g, "an op", NULL, 0, NULL, 0, IR_NONE);
    ir_graph_add(m, "sub")->index = 4;
    char *once = printed(m);
    ir_model *again = parsed(once);
    assert_string_equal(printed(again), once);
    assert_string_equal(again->graphs.at[0].tensors.at[1].name, "w \"quoted\"\n\xff");
    assert_memory_equal(again->graphs.at[0].tensors.at[1].data, weights, 4);
    for (size_t i = 4; i < 7; i++) {
        assert_memory_equal(again->graphs.at[0].tensors.at[i].data, bytes, 94 + i);
    }
    assert_non_null(again->graphs.at[0].tensors.at[7].data);
    assert_int_equal(again->graphs.at[0].tensors.at[8].shape.symbol[0], 1);
    assert_int_equal(again->graphs.at[0].tensors.at[8].shape.dim[0], 16);
    assert_int_equal(again->graphs.at[1].index, 4);
    assert_false(again->symbols.at[0].computed);
    assert_true(again->symbols.at[1].computed);
    assert_int_equal(again->symbols.at[1].bound, 5);
    assert_int_equal(again->states.n, 3);
    assert_int_equal(again->graphs.at[0].tensors.at[8].state, 0);
    assert_int_equal(again->graphs.at[0].tensors.at[0].state, IR_NONE);
    assert_int_equal(again->states.at[0].shape.dim[0], 16);
    assert_null(again->states.at[0].data);
    assert_string_equal(again->states.at[1].name, "other \"one\"");
    assert_memory_equal(again->states.at[2].data, weights, 1);
    assert_int_equal(again->states.at[2].quant.zero[0], -3);
    assert_int_equal(again->graphs.at[0].nodes.at[0].inputs[2], IR_NONE);
}

static void scales_are_exact(void **state) {
    (void)state;
    static const float hard[] = {0.1f, 1.17549435e-38f, 1.40129846e-45f, 3.40282347e+38f, 0.003921569f, 16777217.0f};
    ir_model *m = small();
    ir_tensor *x = &m->graphs.at[0].tensors.at[0];
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        x->quant.scale = &hard[i];
        float back = parsed(printed(m))->graphs.at[0].tensors.at[0].quant.scale[0];
        assert_memory_equal(&back, &hard[i], sizeof back);
    }
}

#define HEAD "burin 1\nmodel \"a\" \"b\"\n"

static void comments_and_space_mean_nothing(void **state) {
    (void)state;
    ir_model *m =
        parsed("# first\nburin 1 model \"a\" # format\n\"b\" graph \"g\" 0 {tensor %0 f32 [ 2 , 3 ]\t\"\\n\"}");
    assert_string_equal(printed(m),
                        HEAD "graph \"g\" 0 {\n  tensor %0 f32[2,3] \"\\x0a\"\n  inputs ()\n  outputs ()\n}\n");
}

typedef struct malformed {
    const char *text;
    unsigned line, column;
    const char *part;
} malformed;

static const malformed wrong[] = {
    {"", 1, 1, "expected 'burin', got the end"},
    {"burin 2\n", 1, 7, "version 2 of the text form: this program reads 1"},
    {"burin 99999999999999999999", 1, 7, "more than 64 bits"},
    {"burin 1\nmodel tflite", 2, 7, "expected '\"', got 'tflite'"},
    {"burin 1\nmodel \"a\n\"", 2, 7, "not closed on its line"},
    {HEAD "tensor", 3, 1,
     "expected symbol, state, graph, description, signature, takes, gives or metadata, got 'tensor'"},
    {HEAD "metadata \"m\" -1 = hex \"\"", 3, 14, "a size is 0 or more"},
    {HEAD "metadata \"m\" 2 = hex \"01\"", 3, 18, "expected 2 bytes, got 1"},
    {HEAD "metadata \"m\" 2", 3, 15, "expected '=', got the end"},
    {HEAD "signature \"s\" graph 0 (\"x\") -> ()", 3, 27, "expected an integer, got ')'"},
    {HEAD "signature \"s\" graph 0 (\"x\" 0) ()", 3, 31, "expected '->', got '('"},
    {HEAD "description 1", 3, 13, "expected '\"', got '1'"},
    {HEAD "symbol \"N\" -1", 3, 8, "bound is 0 or more"},
    {HEAD "symbol \"N\" 1\nsymbol \"N\" 2", 4, 8, "there twice"},
    {HEAD "graph \"g\" 0 {\n", 4, 1, "expected '}', got the end"},
    {HEAD "graph \"g\" 0 {\n  rubbish\n}", 4, 3, "expected tensor, node, inputs, outputs or '}', got 'rubbish'"},
    {HEAD "graph \"g\" 0 {\n tensor %1 i8[] \"\"\n}", 4, 10, "the next tensor is %0"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i7[] \"\"\n}", 4, 12, "expected an element type, got 'i7'"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[-1] \"\"\n}", 4, 15, "an extent is 0 or more"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[\"N\"] \"\"\n}", 4, 15, "no such symbol"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[1 2] \"\"\n}", 4, 17, "expected ',' or ']', got '2'"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[1,1,1,1,1,1,1,1,1] \"\"\n}", 4, 31, "at most 8 extents"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[] \"\\q\"\n}", 4, 18, "expected one of"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[] \"a\\x00\"\n}", 4, 17, "a name has no byte 0"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[] \"\" quant {x:1}\n}", 4, 27, "expected a number, got 'x'"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[] \"\" quant axis 8 {1:1}\n}", 4, 31, "an axis is from 0 to 7"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[2] \"\" = hex \"01\"\n}", 4, 23, "expected 2 bytes, got 1"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[2] \"\" = hex \"010\"\n}", 4, 31, "pairs of hexadecimal digits"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[2] \"\" = base64 \"AQ=A\"\n}", 4, 34, "not base64"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[2] \"\" = base64 \"AAF=\"\n}", 4, 34, "bits are left over"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[1] \"\" = base64 \"AR==\"\n}", 4, 34, "bits are left over"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[2] \"\" = base64 \"AQ\n", 4, 23, "the constant is not closed"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[2] \"\" = raw\n}", 4, 23, "expected 'hex' or 'base64', got 'raw'"},
    {HEAD "graph \"g\" 0 {\n inputs (%0)\n}", 4, 10, "there is no tensor %0 above"},
    {HEAD "graph \"g\" 0 {\n node relu (_) -> (_)\n}", 4, 20, "expected '%', got '_'"},
    {HEAD "graph \"g\" 0 {\n node _ () -> ()\n}", 4, 7, "expected an operator, got '_'"},
    {HEAD "graph \"g\" 0 {\n node a () -> () {x: int 1, x: int 2}\n}", 4, 29, "there twice"},
    {HEAD "graph \"g\" 0 {\n node a () -> () {x: real 1}\n}", 4, 22,
     "expected int, float, text, ints, floats or graph"},
    {HEAD "graph \"g\" 0 {\n node a () -> () {x: graph -1}\n}", 4, 28, "expected a number from 0"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[] \"\" state @0\n}", 4, 26, "there is no state @0 above"},
    {HEAD "graph \"g\" 0 {\n tensor %0 i8[] \"\" state 0\n}", 4, 26, "expected '@', got '0'"},
    {HEAD "state @1 i8[] \"\"", 3, 8, "the next state is @0"},
    {HEAD "state @0 i8[2] \"\" = hex \"01\"", 3, 21, "expected 2 bytes, got 1"},
    {HEAD "graph \"\xc3\xa9\xc3\xa9\" 0 {\n}\ngraph \"\xc3\xa9\xc3\xa9\" x", 5, 12, "expected an integer, got 'x'"},
};

static void malformed_texts_have_line_and_column(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ir_model *m = NULL;
        f->d.list.n = 0; /* each text has the whole of the list */
        f->d.errors = 0;
        assert_int_equal(ir_parse(f->arena, "in.ir", wrong[i].text, strlen(wrong[i].text), &m, &f->d), BASE_REFUSED);
        assert_null(m);
        const base_diag *got = &f->d.list.at[0];
        if (got->line != wrong[i].line || got->column != wrong[i].column || !strstr(got->message, wrong[i].part)) {
            fail_msg("text %zu: %u:%u: %s; expected %u:%u: %s", i, got->line, got->column, got->message, wrong[i].line,
                     wrong[i].column, wrong[i].part);
        }
    }
}

static void what_stands_beside_the_graphs_is_kept(void **state) {
    (void)state;
    const char *text = HEAD "graph \"g\" 0 {\n"
                            "  tensor %0 i8[] \"a\"\n"
                            "  tensor %1 i8[] \"b\"\n"
                            "  inputs (%0, %1)\n"
                            "  outputs (%1)\n"
                            "}\n"
                            "description \"a \\\"model\\\"\"\n"
                            "signature \"serving\" graph 0 (\"x\" 1, \"\" 0) -> (\"y\" 0)\n"
                            "signature \"none\" graph 0 () -> ()\n"
                            "takes \"list\" \"((T)[T]())\"\n"
                            "gives \"t\" \"T\"\n"
                            "gives \"absent\" \"[]\"\n"
                            "metadata \"min_runtime_version\" 3 = hex \"312e35\"\n"
                            "metadata \"\" 0 = hex \"\"\n";
    ir_model *m = NULL;
    assert_int_equal(ir_parse(f->arena, "in.ir", text, strlen(text), &m, &f->d), BASE_OK);
    assert_int_equal(ir_verify(m, &f->d), BASE_OK);
    assert_string_equal(m->description, "a \"model\"");
    assert_int_equal(m->signatures.n, 2);
    assert_int_equal(m->signatures.at[0].inputs[0].at, 1);
    assert_memory_equal(m->metadata.at[0].data, "1.5", 3);
    assert_string_equal(printed(m), text);
    /* Its tensors must be as many as lists are made of, and each list is closed. */
    static const char *const none[] = {"", "(", ")", "(T]", "TT", "(T)T", "x", "(T"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(ir_form_tensors(none[i]), SIZE_MAX);
    }
    assert_int_equal(ir_form_tensors("T"), 1);
    assert_int_equal(ir_form_tensors("[(TTT)]"), 3);
    m->gives.at[1].form = "[)";
    refuse(m, "gives \"absent\"", "is no form of tensors");
    m->gives.at[1].form = "[T]";
    refuse(m, NULL, "gives names 2 tensors: the graph has 1");
    m->gives.n = 1;
    /* The graph must have what a signature names. */
    m->signatures.at[0].graph = 1;
    refuse(m, "signature \"serving\"", "there is no graph 1");
    const ir_port output = {"z", 1};
    m->signatures.n = 0;
    ir_signature_add(m, "cut", 0, NULL, 0, &output, 1);
    refuse(m, "signature \"cut\"", "it names output 1 of its graph, which has 1");
}

static void every_error_of_a_text_is_reported(void **state) {
    (void)state;
    const char *text = HEAD "graph \"g\" 0 {\n"
                            "  tensor %0 i7[] \"a\"\n"
                            "  tensor %1 i8[] \"b\"\n"
                            "  tensor %2 i8[] \"c\" = hex \"\"\n"
                            "  node relu (%1) -> (%9)\n"
                            "}\n";
    ir_model *m = NULL;
    assert_int_equal(ir_parse(f->arena, "in.ir", text, strlen(text), &m, &f->d), BASE_REFUSED);
    assert_int_equal(f->d.errors, 3);
    assert_int_equal(f->d.list.at[0].line, 4);
    assert_int_equal(f->d.list.at[1].line, 6);
    assert_int_equal(f->d.list.at[2].line, 7);
}

static void any_cut_of_a_text_is_refused_or_read(void **state) {
    (void)state;
    char *text = printed(small());
    size_t n = strlen(text), read = 0;
    for (size_t i = 0; i < n; i++) {
        ir_model *m = NULL;
        char *cut = malloc(i ? i : 1); /* its own block: a read past the end is seen by a sanitizer */
        memcpy(cut, text, i);
        f->d.list.n = 0;
        read += ir_parse(f->arena, "in.ir", cut, i, &m, &f->d) == BASE_OK;
        free(cut);
    }
    /* Whole are only the head (before the graph: from the quote that closes it) and all but the last line end. */
    assert_int_equal(read, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shapes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(attributes_replace_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sound_model_passes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_tensors_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_edges_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cycle_and_a_late_producer_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sorting_moves_only_what_it_must, set_up, tear_down),
        cmocka_unit_test_setup_teardown(variables_keep_the_order_of_their_users, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reader_stays_before_the_writer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(control_is_what_its_graphs_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(control_that_does_not_fit_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_fused_is_one_plain_operator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_entry_changes_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_calls_any_more_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut_keeps_what_its_outputs_need, set_up, tear_down),
        cmocka_unit_test_setup_teardown(graphs_that_reach_a_state_keep_their_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(printing_is_what_the_document_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(computed_extents_come_from_nodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(printing_what_was_parsed_gives_the_same_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scales_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(comments_and_space_mean_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(malformed_texts_have_line_and_column, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_stands_beside_the_graphs_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_error_of_a_text_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_cut_of_a_text_is_refused_or_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
