/* test_tflite.c - the TFLite reader: tensors, constants and quantisation as they were laid out, faults with their path
 * and byte, and what is not supported. */
#include "formats/formats.h"
#include "model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const formats_interface formats_tflite;

static struct {
    base_memory memory;
    base_guard guard;
    base_arena *arena;
    base_diags d;
    flat f;
    model_places at;
    model_spec spec;
    const uint8_t *bytes; /* what was read */
} t;

static const int8_t weights[] = {1, -2, 3, -4, 5, -6};
static const int32_t bias[] = {100, -200};

/* x[1,3] -> fully_connected(x, w[2,3], b[2]) -> y[1,2] -> relu -> z[1,2], int8, w per channel. */
static model_spec sound(void) {
    return (model_spec){
        .tensor_count = 5,
        .tensors =
            {
                {.type = 9,
                 .rank = 2,
                 .dims = {1, 3},
                 .name = "x",
                 .scales = 1,
                 .zeros = 1,
                 .scale = {0.5f},
                 .zero = {-128}},
                {.type = 9,
                 .rank = 2,
                 .dims = {2, 3},
                 .name = "w",
                 .data = weights,
                 .bytes = 6,
                 .scales = 2,
                 .zeros = 2,
                 .scale = {0.25f, 0.125f}},
                {.type = 2, .rank = 1, .dims = {2}, .name = "b", .data = bias, .bytes = 8},
                {.type = 9,
                 .rank = 2,
                 .dims = {1, 2},
                 .name = "y",
                 .scales = 1,
                 .zeros = 1,
                 .scale = {2.0f},
                 .zero = {127}},
                {.type = 9,
                 .rank = 2,
                 .dims = {1, 2},
                 .name = "z",
                 .scales = 1,
                 .zeros = 1,
                 .scale = {2.0f},
                 .zero = {127}},
            },
        .op_count = 2,
        .ops =
            {
                {.code = 9,
                 .input_count = 3,
                 .inputs = {0, 1, 2},
                 .output_count = 1,
                 .outputs = {3},
                 .options = 8,
                 .widths = "111"},
                {.code = 19, .input_count = 1, .inputs = {3}, .output_count = 1, .outputs = {4}},
            },
        .input_count = 1,
        .inputs = {0},
        .output_count = 1,
        .outputs = {4},
    };
}

static int set_up(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    if (BASE_GUARD(&t.memory, &t.guard)) {
        return -1;
    }
    t.arena = base_arena_new(&t.memory);
    t.d.arena = t.arena;
    t.spec = sound();
    model_build(&t.f, &t.spec, &t.at);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(t.arena);
    base_unguard(&t.memory, &t.guard);
    return 0;
}

/* Reads what has been built, from memory of exactly its size and, so that nothing relies on it, of odd alignment. */
static base_status read_model(ir_model **m) {
    uint8_t *exact = base_alloc(t.arena, t.f.n + 1, 1);
    memcpy(exact + 1, t.f.at, t.f.n);
    t.bytes = exact + 1;
    t.d.list.n = t.d.errors = 0;
    return formats_tflite.read(t.arena, "dir/m.tflite", (base_bytes){t.bytes, t.f.n}, NULL, m, &t.d);
}

static ir_model *must_read(void) {
    ir_model *m = NULL;
    if (read_model(&m) != BASE_OK) {
        fail_msg("%s: %s", t.d.list.at[0].path, t.d.list.at[0].message);
    }
    return m;
}

static void build(void) {
    model_build(&t.f, &t.spec, &t.at);
}

/* ---- what is read ---- */

static void a_sound_model(void **state) {
    (void)state;
    ir_model *m = must_read();
    assert_string_equal(m->format, "tflite");
    assert_string_equal(m->file, "m.tflite");
    assert_int_equal(m->graphs.n, 1);
    const ir_graph *g = &m->graphs.at[0];
    assert_string_equal(g->name, "main");
    assert_int_equal(g->tensors.n, 5);
    const ir_tensor *w = &g->tensors.at[1];
    assert_string_equal(w->name, "w");
    assert_int_equal(w->type, BASE_I8);
    assert_int_equal(w->shape.rank, 2);
    assert_int_equal(w->shape.dim[0], 2);
    assert_int_equal(w->shape.dim[1], 3);
    assert_int_equal(w->source, 1);
    assert_int_equal(w->quant.n, 2);
    assert_int_equal(w->quant.axis, 0);
    assert_true(w->quant.scale[0] == 0.25f && w->quant.scale[1] == 0.125f);
    assert_int_equal(w->quant.zero[1], 0);
    assert_int_equal(g->tensors.at[0].quant.zero[0], -128);
    assert_int_equal(g->tensors.at[2].quant.n, 0);
    assert_int_equal(g->inputs.n, 1);
    assert_int_equal(g->inputs.at[0], 0);
    assert_int_equal(g->outputs.at[0], 4);
    assert_int_equal(g->nodes.n, 2);
    const ir_node *n = &g->nodes.at[1];
    assert_string_equal(n->op, "relu");
    assert_string_equal(n->source_name, "RELU");
    assert_int_equal(n->id_count, 1);
    assert_int_equal(n->ids[0], 1);
    assert_int_equal(n->byte, t.at.op[1]);
    assert_int_equal(ir_verify(m, &t.d), BASE_OK);
}

static void constants_are_borrowed(void **state) {
    (void)state;
    const ir_graph *g = &must_read()->graphs.at[0];
    for (size_t i = 1; i < 3; i++) {
        const uint8_t *data = g->tensors.at[i].data;
        assert_true(data >= t.bytes && data < t.bytes + t.f.n);
    }
    assert_memory_equal(g->tensors.at[1].data, weights, 6);
    assert_int_equal(base_load(BASE_I32, g->tensors.at[2].data, 1).i, -200);
    assert_null(g->tensors.at[0].data);
}

static void every_type(void **state) {
    (void)state;
    static const base_type types[] = {BASE_F32,  BASE_F16,  BASE_I32,  BASE_U8,       BASE_I64,   BASE_NONE,
                                      BASE_BOOL, BASE_I16,  BASE_F32,  BASE_I8,       BASE_F64,   BASE_NONE,
                                      BASE_U64,  BASE_NONE, BASE_NONE, BASE_U32,      BASE_U16,   BASE_I4,
                                      BASE_BF16, BASE_I2,   BASE_U4,   BASE_F8E4M3FN, BASE_F8E5M2};
    for (int i = 0; i < 23; i++) {
        t.spec = (model_spec){.tensor_count = 1, .input_count = 1, .output_count = 1};
        t.spec.tensors[0] = (model_tensor){.type = i, .rank = 1, .dims = {3}};
        build();
        ir_model *m = NULL;
        base_status status = read_model(&m);
        assert_int_equal(status, types[i] == BASE_NONE ? BASE_REFUSED : BASE_OK);
        if (m) {
            const ir_tensor *x = &m->graphs.at[0].tensors.at[0];
            bool is_complex = i == 8; /* pairs of floats, in a last extent of 2 */
            assert_int_equal(x->type, types[i]);
            assert_int_equal(x->shape.rank, 1 + is_complex);
            assert_int_equal(x->shape.dim[0], 3);
            assert_int_equal(x->shape.dim[is_complex], is_complex ? 2 : 3);
        } else {
            assert_non_null(strstr(t.d.list.at[0].message, i == 13 ? "a resource as input or output" : "tensor type "));
        }
    }
}

static void nibbles_have_half_the_bytes(void **state) {
    (void)state;
    static const uint8_t packed[] = {0x21, 0x43, 0x05};
    t.spec.tensors[1].type = 17;
    t.spec.tensors[1].dims[0] = 1;
    t.spec.tensors[1].dims[1] = 5;
    t.spec.tensors[1].data = packed;
    t.spec.tensors[1].bytes = 3;
    t.spec.tensors[1].scales = 0;
    build();
    const ir_tensor *w = &must_read()->graphs.at[0].tensors.at[1];
    assert_int_equal(w->type, BASE_I4);
    assert_int_equal(base_load(BASE_I4, w->data, 4).i, 5);
}

static void zero_points_may_be_one_or_none(void **state) {
    (void)state;
    t.spec.tensors[1].zeros = 1;
    t.spec.tensors[1].zero[0] = 4;
    t.spec.tensors[0].zeros = 0;
    build();
    const ir_graph *g = &must_read()->graphs.at[0];
    assert_int_equal(g->tensors.at[1].quant.zero[0], 4);
    assert_int_equal(g->tensors.at[1].quant.zero[1], 4);
    assert_int_equal(g->tensors.at[0].quant.zero[0], 0);
}

static void a_vector_has_only_one_axis(void **state) {
    (void)state;
    model_tensor *b = &t.spec.tensors[2];
    b->scales = b->zeros = 2;
    b->scale[0] = b->scale[1] = 1.0f;
    b->axis = 3;
    build();
    assert_int_equal(must_read()->graphs.at[0].tensors.at[2].quant.axis, 0);
}

static void data_may_lie_outside_the_tables(void **state) {
    (void)state;
    t.spec.tensors[1].data = NULL;
    build();
    flat_put(&t.f, flat_field(&t.f, t.at.tensor[1], 2), 2, 4);
    flat_put(&t.f, flat_field(&t.f, t.at.buffer[2], 1), t.f.n, 8);
    flat_put(&t.f, flat_field(&t.f, t.at.buffer[2], 2), 6, 8);
    memcpy(&t.f.at[t.f.n], weights, 6);
    t.f.n += 6;
    const ir_tensor *w = &must_read()->graphs.at[0].tensors.at[1];
    assert_ptr_equal(w->data, t.bytes + t.f.n - 6);
    t.f.n--;
    ir_model *m;
    assert_int_equal(read_model(&m), BASE_REFUSED);
    assert_string_equal(t.d.list.at[0].path, "buffer[2]/offset");
}

static void shape_is_a_constant(void **state) {
    (void)state;
    for (int type = 2; type <= 4; type += 2) { /* i32, i64 */
        t.spec = (model_spec){.tensor_count = 2, .op_count = 1, .input_count = 1, .output_count = 1, .outputs = {1}};
        t.spec.tensors[0] = (model_tensor){.type = 0, .rank = 3, .dims = {7, 8, 9}};
        t.spec.tensors[1] = (model_tensor){.type = type, .rank = 1, .dims = {3}};
        t.spec.ops[0] = (model_op){.code = 77, .input_count = 1, .output_count = 1, .outputs = {1}};
        build();
        const ir_graph *g = &must_read()->graphs.at[0];
        assert_int_equal(g->nodes.n, 0);
        for (uint64_t i = 0; i < 3; i++) {
            assert_int_equal(base_load(type == 2 ? BASE_I32 : BASE_I64, g->tensors.at[1].data, i).i, 7 + (int)i);
        }
    }
}

static void an_unread_shape_may_be_unfinished(void **state) {
    (void)state;
    t.spec.tensor_count = 6;
    t.spec.tensors[5] = (model_tensor){.type = 9, .rank = 1, .dims = {-1}, .name = "left over"};
    build();
    must_read();
    t.spec.ops[1].inputs[0] = 5;
    build();
    ir_model *m;
    assert_int_equal(read_model(&m), BASE_REFUSED);
    assert_string_equal(t.d.list.at[0].path, "subgraph[0]/operator[1] RELU/tensor[5] \"left over\"");
    assert_int_equal(t.d.list.at[0].byte, t.at.shape[5] + 4);
}

static void empty_constants_are_constants(void **state) {
    (void)state;
    /* reshape to a scalar: the new shape has no elements, and its buffer no bytes */
    t.spec = (model_spec){.tensor_count = 3, .op_count = 1, .input_count = 1, .output_count = 1, .outputs = {2}};
    t.spec.tensors[0] = (model_tensor){.type = 0, .rank = 1, .dims = {1}};
    t.spec.tensors[1] = (model_tensor){.type = 2, .rank = 1, .dims = {0}};
    t.spec.tensors[2] = (model_tensor){.type = 0};
    t.spec.ops[0] = (model_op){
        .code = 55, .input_count = 2, .inputs = {0, 1}, .output_count = 1, .outputs = {2}}; /* MAXIMUM reads it */
    build();
    assert_non_null(must_read()->graphs.at[0].tensors.at[1].data);
}

static void old_files_have_no_identifier(void **state) {
    (void)state;
    memset(&t.f.at[4], 0, 4);
    must_read();
}

/* ---- faults ---- */

static void refuse(const char *path, size_t byte, const char *part) {
    ir_model *m = (ir_model *)&t;
    assert_int_equal(read_model(&m), BASE_REFUSED);
    assert_null(m);
    const base_diag *d = &t.d.list.at[0];
    assert_string_equal(d->file, "m.tflite");
    if ((path ? !d->path || strcmp(path, d->path) != 0 : d->path != NULL) || d->byte != byte || !d->has_byte ||
        !strstr(d->message, part)) {
        fail_msg("%s: %s (byte %llu); expected %s: %s (byte %zu)", d->path ? d->path : "-", d->message,
                 (unsigned long long)d->byte, path ? path : "-", part, byte);
    }
}

/* fully_connected(x, w) with weights in blocks of 2, whose scales are tensor 2. */
static void describe_blocks(void) {
    static const uint8_t packed[] = {0x21, 0x43, 0x65, 0x07};
    static const uint16_t halves[] = {0x3c00, 0x3800, 0x3400, 0x4000};
    t.spec = (model_spec){.tensor_count = 4, .op_count = 1, .input_count = 1, .output_count = 1, .outputs = {3}};
    t.spec.tensors[0] = (model_tensor){.type = 0, .rank = 2, .dims = {1, 4}, .name = "x"};
    t.spec.tensors[1] = (model_tensor){
        .type = 17, .rank = 2, .dims = {2, 4}, .name = "w", .data = packed, .bytes = 4, .blocks = {2, -1, 2}};
    t.spec.tensors[2] =
        (model_tensor){.type = 1, .rank = 2, .dims = {2, 2}, .name = "scales", .data = halves, .bytes = 8};
    t.spec.tensors[3] = (model_tensor){.type = 0, .rank = 2, .dims = {1, 2}, .name = "y"};
    t.spec.ops[0] = (model_op){.code = 9,
                               .input_count = 2,
                               .inputs = {0, 1},
                               .output_count = 1,
                               .outputs = {3},
                               .options = 8,
                               .widths = "111"};
}

static void weights_in_blocks(void **state) {
    (void)state;
    describe_blocks();
    build();
    ir_model *m = must_read();
    const ir_node *n = &m->graphs.at[0].nodes.at[0];
    assert_int_equal(n->input_count, 4);
    assert_int_equal(n->inputs[1], 1);
    assert_int_equal(n->inputs[2], IR_NONE);
    assert_int_equal(n->inputs[3], 2);

    const char *details = "subgraph[0]/tensor[1] \"w\"/quantization/details/";
    size_t at = t.at.blocks[1];
    flat_put(&t.f, flat_field(&t.f, at, 0), 4, 4);
    refuse(base_printf(t.arena, "%sscales", details), flat_field(&t.f, at, 0), "it is 4: expected another tensor");
    flat_put(&t.f, flat_field(&t.f, at, 0), 1, 4);
    refuse(base_printf(t.arena, "%sscales", details), flat_field(&t.f, at, 0), "it is 1: expected another tensor");
    build();
    flat_put(&t.f, flat_field(&t.f, at, 1), 4, 4);
    refuse(base_printf(t.arena, "%szero_points", details), flat_field(&t.f, at, 1), "it is 4: expected another tensor");
    build();
    flat_put(&t.f, flat_field(&t.f, at, 2), 0, 4);
    refuse(base_printf(t.arena, "%sblock_size", details), flat_field(&t.f, at, 2), "it is 0");
    build();
    flat_put(&t.f, flat_field(&t.f, at, 2), 3, 4);
    refuse("subgraph[0]/operator[0] FULLY_CONNECTED", t.at.op[0], "input 1 has blocks of 3 in an extent of 4");
    build();
    flat_put(&t.f, flat_field(&t.f, at, 1), 2, 4);
    refuse("subgraph[0]/operator[0] FULLY_CONNECTED", t.at.op[0], "quantisation in blocks with zero points");
    describe_blocks();
    t.spec.ops[0] = (model_op){.code = 19, .input_count = 1, .inputs = {1}, .output_count = 1, .outputs = {3}};
    build();
    refuse("subgraph[0]/operator[0] RELU", t.at.op[0], "RELU of a tensor that is quantised in blocks");
}

static void broken_files(void **state) {
    (void)state;
    t.f.at[7] = '9';
    refuse(NULL, 4, "the file identifier is \"TFL9\": expected \"TFL3\"");
    build();
    size_t version = flat_field(&t.f, t.at.root, 0);
    flat_put(&t.f, version, 2, 4);
    refuse("version", version, "schema version 2: version 3 is read");
    build();
    flat_put(&t.f, t.at.subgraphs, 0, 4);
    refuse("subgraphs", flat_field(&t.f, t.at.root, 2), "no sub-graph");
    build();
    flat_put(&t.f, t.at.operators, 0x80000000, 4);
    refuse("subgraph[0]/operators", t.at.operators, "2147483648 elements of 4 bytes: only ");
    build();
    flat_put(&t.f, t.at.tensors + 8, 0x7ffffff0, 4);
    refuse("subgraph[0]/tensor[1]", t.at.tensors + 8, "the offset of a table, 2147483632, points outside the file");
}

static void every_cut_is_refused(void **state) {
    (void)state;
    size_t n = t.f.n, whole = 0;
    for (t.f.n = 0; t.f.n < n; t.f.n++) {
        ir_model *m;
        whole += read_model(&m) == BASE_OK;
        if (!m) {
            assert_int_equal(t.d.errors, 1);
        }
    }
    /* What lies behind the bias is read by nothing: the tables of empty buffers that no tensor names. */
    size_t data = flat_field(&t.f, t.at.buffer[3], 0);
    size_t end = data + flat_get(&t.f, data, 4) + 4 + sizeof bias;
    assert_int_equal(whole, n - end);
}

/* Options of another type are none: so both runtimes compute it, and where they stand is not looked at. */
static void options_of_another_type(void **state) {
    (void)state;
    ir_model *m;
    t.spec.ops[0].values[0] = 1; /* relu */
    build();
    assert_int_equal(read_model(&m), BASE_OK);
    assert_string_equal(ir_attr_find(&m->graphs.at[0].nodes.at[0], "act")->v.text, "relu");
    t.f.at[flat_field(&t.f, t.at.op[0], 3)] = 5;
    flat_put(&t.f, flat_field(&t.f, t.at.op[0], 4), 0x7ffffff3, 4);
    assert_int_equal(read_model(&m), BASE_OK);
    assert_string_equal(ir_attr_find(&m->graphs.at[0].nodes.at[0], "act")->v.text, "none");
    assert_int_equal(t.d.list.n, 1);
    assert_int_equal(t.d.list.at[0].severity, BASE_WARNING);
    assert_string_equal(t.d.list.at[0].path, "subgraph[0]/operator[0] FULLY_CONNECTED/builtin_options");
    assert_string_equal(t.d.list.at[0].message,
                        "they are Pool2DOptions, expected FullyConnectedOptions: not read, as if there were none");
}

static void broken_operators(void **state) {
    (void)state;
    size_t index = flat_field(&t.f, t.at.op[0], 0);
    flat_put(&t.f, index, 2, 4);
    refuse("subgraph[0]/operator[0]/opcode_index", index, "it is 2: the model has 2 operator codes");
    build();
    size_t type = flat_field(&t.f, t.at.op[0], 3);
    t.f.at[type] = 127;
    refuse("subgraph[0]/operator[0] FULLY_CONNECTED/builtin_options", type, "union type 127: the schema has 126");
    build();
    size_t inputs = flat_field(&t.f, t.at.op[0], 1);
    const char *path = "subgraph[0]/operator[0] FULLY_CONNECTED/inputs";
    flat_put(&t.f, t.at.op_inputs[0] + 4, 5, 4);
    refuse(path, inputs, "[0] is tensor 5: the sub-graph has 5");
    flat_put(&t.f, t.at.op_inputs[0] + 4, (uint32_t)-2, 4);
    refuse(path, inputs, "[0] is tensor -2");
    flat_put(&t.f, t.at.op_inputs[0] + 4, (uint32_t)-1, 4);
    refuse(path, inputs, "[0] is absent: the operator needs it");
    flat_put(&t.f, t.at.op_inputs[0], 1, 4);
    flat_put(&t.f, t.at.op_inputs[0] + 4, 0, 4);
    refuse(path, inputs, "1 inputs: expected 2 to 3");
    build();
    flat_put(&t.f, t.at.op_outputs[0] + 4, (uint32_t)-1, 4);
    refuse("subgraph[0]/operator[0] FULLY_CONNECTED/outputs", flat_field(&t.f, t.at.op[0], 2), "[0] is tensor -1");
    flat_put(&t.f, t.at.op_outputs[0], 0, 4);
    refuse("subgraph[0]/operator[0] FULLY_CONNECTED/outputs", flat_field(&t.f, t.at.op[0], 2), "0 outputs: expected 1");
    build();
    size_t act = flat_field(&t.f, t.at.options[0], 0);
    t.f.at[act] = 6;
    refuse("subgraph[0]/operator[0] FULLY_CONNECTED/builtin_options/fused_activation_function", act,
           "there is no activation 6");
}

static void broken_edges(void **state) {
    (void)state;
    flat_put(&t.f, t.at.op_inputs[0] + 4, 4, 4);
    refuse("graph[0]/operator[0] FULLY_CONNECTED", t.at.op[0], "a cycle: operator[0] -> operator[1] -> operator[0]");
    build();
    flat_put(&t.f, t.at.op_outputs[1] + 4, 3, 4);
    refuse("graph[0]/operator[1] RELU", t.at.op[1], "it writes tensor 3 \"y\", which operator[0] writes too");
    flat_put(&t.f, t.at.op_outputs[1] + 4, 1, 4);
    refuse("graph[0]/operator[1] RELU", t.at.op[1], "it writes tensor 1 \"w\", which is a constant");
    t.spec.ops[0] = sound().ops[1];
    t.spec.ops[1] = sound().ops[0];
    build();
    refuse("graph[0]/operator[0] RELU", t.at.op[0], "it reads tensor 3 \"y\" before operator[1] produces it");
}

static void broken_tensors(void **state) {
    (void)state;
    size_t type = flat_field(&t.f, t.at.tensor[0], 1);
    t.f.at[type] = 99;
    refuse("subgraph[0]/tensor[0] \"x\"/type", type, "there is no tensor type 99");
    build();
    size_t buffer = flat_field(&t.f, t.at.tensor[1], 2);
    flat_put(&t.f, buffer, 9999, 4);
    refuse("subgraph[0]/tensor[1] \"w\"/buffer", buffer, "it is 9999: the model has 6 buffers");
    build();
    flat_put(&t.f, t.at.shape[1] + 4, 3, 4);
    refuse("subgraph[0]/tensor[1] \"w\"/buffer", buffer, "buffer 2 has 6 bytes: i8 3x3 has 9");
    flat_put(&t.f, t.at.shape[1] + 4, 0x7fffffff, 4);
    flat_put(&t.f, t.at.shape[1] + 8, 0x7fffffff, 4);
    refuse("subgraph[0]/tensor[1] \"w\"/shape", flat_field(&t.f, t.at.tensor[1], 0),
           "2147483647x2147483647 are too many elements");
    build();
    flat_put(&t.f, t.at.shape[0] + 8, (uint32_t)-3, 4);
    refuse("subgraph[0]/tensor[0] \"x\"", t.at.shape[0] + 8, "must be said: --shape x=");
}

static void broken_quantisation(void **state) {
    (void)state;
    static const uint32_t bits[] = {0, 0xbf800000, 0x7f800000, 0x7fc00000};
    static const char *const words[] = {"[1] is 0.0: it must be", "[1] is -1.0:", "[1] is inf:", "[1] is nan:"};
    size_t scale = flat_field(&t.f, t.at.quantization[1], 2), zero = flat_field(&t.f, t.at.quantization[1], 3);
    for (size_t i = 0; i < 4; i++) {
        flat_put(&t.f, t.at.scale[1] + 8, bits[i], 4);
        refuse("subgraph[0]/tensor[1] \"w\"/quantization/scale", scale, words[i]);
    }
    build();
    flat_put(&t.f, t.at.zero[1] + 4, 128, 8);
    refuse("subgraph[0]/tensor[1] \"w\"/quantization/zero_point", zero, "[0] is 128: outside i8");
    build();
    size_t axis = flat_field(&t.f, t.at.quantization[1], 6);
    flat_put(&t.f, axis, 2, 4);
    refuse("subgraph[0]/tensor[1] \"w\"/quantization/quantized_dimension", axis, "it is 2: the rank is 2");
    flat_put(&t.f, axis, 1, 4);
    refuse("subgraph[0]/tensor[1] \"w\"/quantization/scale", scale, "2 scales along axis 1 of extent 3");
    t.spec.tensors[1].zeros = 3;
    build();
    refuse("subgraph[0]/tensor[1] \"w\"/quantization/zero_point", flat_field(&t.f, t.at.quantization[1], 3),
           "3 zero points for 2 scales");
}

/* Of a constant that is zero no scale says anything. */
static void scale_of_zeros(void **state) {
    (void)state;
    static const float scales[] = {0, -1, INFINITY, NAN};
    static const int8_t zeros[] = {7, 7, 7, 7, 7, 7}, one[] = {7, 7, 7, 7, 7, 8};
    for (size_t i = 0; i < 4; i++) {
        model_tensor *w = &t.spec.tensors[1];
        w->data = zeros;
        w->scales = w->zeros = 1;
        w->scale[0] = scales[i];
        w->zero[0] = 7;
        build();
        const ir_tensor *read = &must_read()->graphs.at[0].tensors.at[1];
        assert_true(read->quant.scale[0] == 1 && read->quant.zero[0] == 7);
        assert_int_equal(t.d.list.n, 1);
        assert_non_null(strstr(t.d.list.at[0].message, "of a constant whose every element is zero: read as 1"));
        w->data = one;
        build();
        refuse("subgraph[0]/tensor[1] \"w\"/quantization/scale", flat_field(&t.f, t.at.quantization[1], 2),
               "it must be");
    }
    t.spec.tensors[3].scale[0] = 0; /* no constant */
    build();
    ir_model *m = NULL;
    assert_int_equal(read_model(&m), BASE_REFUSED);
}

static void broken_options(void **state) {
    (void)state;
    t.spec = (model_spec){.tensor_count = 2, .op_count = 1, .input_count = 1, .output_count = 1, .outputs = {1}};
    t.spec.tensors[0] = (model_tensor){.type = 0, .rank = 4, .dims = {1, 4, 4, 1}};
    t.spec.tensors[1] = (model_tensor){.type = 0, .rank = 4, .dims = {1, 2, 2, 1}};
    t.spec.ops[0] = (model_op){.code = 17,
                               .input_count = 1,
                               .output_count = 1,
                               .outputs = {1},
                               .options = 5,
                               .widths = "14444",
                               .values = {0, 2, 2, 2, 2}};
    const char *options = "subgraph[0]/operator[0] MAX_POOL_2D/builtin_options";
    build();
    must_read();
    size_t field = flat_field(&t.f, t.at.options[0], 2);
    flat_put(&t.f, field, 0, 4);
    refuse(base_printf(t.arena, "%s/stride_h", options), field, "strides: it is 0, and must be 1 or more");
    build();
    field = flat_field(&t.f, t.at.options[0], 0);
    t.f.at[field] = 2;
    refuse(base_printf(t.arena, "%s/padding", options), field, "there is no padding 2");
    t.spec.tensors[0].rank = 3;
    build();
    refuse("subgraph[0]/operator[0] MAX_POOL_2D", t.at.op[0], "input 0 has shape 1x4x4: expected 4 extents");
    /* Without its table every option is what the schema says: a stride of 0. */
    t.spec.ops[0].options = 0;
    build();
    refuse(options, t.at.op[0], "it is 0, and must be 1 or more");
}

static void broken_constant_inputs(void **state) {
    (void)state;
    static const int32_t axis[] = {2};
    t.spec = (model_spec){.tensor_count = 3, .op_count = 1, .input_count = 1, .output_count = 1, .outputs = {2}};
    t.spec.tensors[0] = (model_tensor){.type = 0, .rank = 2, .dims = {2, 2}};
    t.spec.tensors[1] = (model_tensor){.type = 2, .rank = 1, .dims = {1}, .data = axis, .bytes = 4};
    t.spec.tensors[2] = (model_tensor){.type = 0, .rank = 1, .dims = {2}};
    t.spec.ops[0] = (model_op){.code = 40, .input_count = 2, .inputs = {0, 1}, .output_count = 1, .outputs = {2}};
    build();
    refuse("subgraph[0]/operator[0] MEAN", t.at.op[0], "axis 2: the rank is 2");
    t.spec.tensors[1].type = 0;
    build();
    refuse("subgraph[0]/operator[0] MEAN", t.at.op[0], "input 1 has type f32: expected i8, i16, i32 or i64");
    t.spec.tensors[1].type = 2;
    t.spec.ops[0].code = 34;
    build();
    refuse("subgraph[0]/operator[0] PAD", t.at.op[0], "1 paddings: expected 4");
    t.spec.ops[0].code = 39;
    build();
    refuse("subgraph[0]/operator[0] TRANSPOSE", t.at.op[0], "a permutation of 1 axes: the rank is 2");
    static const int32_t twice[] = {1, -1}, negative[] = {0, 0, -1, 0}, many[65] = {0};
    t.spec.tensors[1] = (model_tensor){.type = 2, .rank = 1, .dims = {2}, .data = twice, .bytes = 8};
    build();
    refuse("subgraph[0]/operator[0] TRANSPOSE", t.at.op[0], "axis 1 is in the permutation twice");
    t.spec.tensors[1] = (model_tensor){.type = 2, .rank = 1, .dims = {4}, .data = negative, .bytes = 16};
    t.spec.ops[0].code = 34;
    build();
    refuse("subgraph[0]/operator[0] PAD", t.at.op[0], "padding 2 is -1");
    t.spec.tensors[1] = (model_tensor){.type = 2, .rank = 1, .dims = {65}, .data = many, .bytes = 260};
    build();
    refuse("subgraph[0]/operator[0] PAD", t.at.op[0], "input 1 has 65 elements: no such list is longer than 64");
}

static void broken_slices(void **state) {
    (void)state;
    static const int32_t zeros[] = {0, 0, 0}, ones[] = {1, 1, 1}, far[] = {0, 5, 0};
    t.spec = (model_spec){.tensor_count = 5, .op_count = 1, .input_count = 1, .output_count = 1, .outputs = {4}};
    t.spec.tensors[0] = (model_tensor){.type = 0, .rank = 2, .dims = {2, 5}};
    t.spec.tensors[1] = (model_tensor){.type = 2, .rank = 1, .dims = {3}, .data = zeros, .bytes = 12};
    t.spec.tensors[2] = t.spec.tensors[3] = t.spec.tensors[1];
    t.spec.tensors[2].data = t.spec.tensors[3].data = ones;
    t.spec.tensors[4] = (model_tensor){.type = 0, .rank = 1, .dims = {1}};
    t.spec.ops[0] = (model_op){.code = 45,
                               .input_count = 4,
                               .inputs = {0, 1, 2, 3},
                               .output_count = 1,
                               .outputs = {4},
                               .options = 32,
                               .widths = "44444",
                               .values = {0, 0, 0, 0, 2}};
    const char *path = "subgraph[0]/operator[0] STRIDED_SLICE";
    build();
    refuse(path, t.at.op[0], "3 extents are sliced: the rank is 2");
    for (int i = 1; i < 4; i++) {
        t.spec.tensors[i].dims[0] = 2;
        t.spec.tensors[i].bytes = 8;
    }
    build();
    must_read();
    t.spec.tensors[1].data = far;
    build();
    refuse(path, t.at.op[0], "index 5 of an extent of 5");
    t.spec.tensors[3].data = zeros;
    build();
    refuse(path, t.at.op[0], "stride 0 is 0");
    t.spec.tensors[3].dims[0] = 1;
    t.spec.tensors[3].bytes = 4;
    build();
    refuse(path, t.at.op[0], "2 begins, 2 ends, 1 strides");
}

static void broken_windows_of_slices(void **state) {
    (void)state;
    static const int32_t begin[] = {1, 3}, size[] = {1, -1}, far[] = {1, 6}, wide[] = {1, 3}, short_of[] = {1};
    t.spec = (model_spec){.tensor_count = 4, .op_count = 1, .input_count = 1, .output_count = 1, .outputs = {3}};
    t.spec.tensors[0] = (model_tensor){.type = 0, .rank = 2, .dims = {2, 5}};
    t.spec.tensors[1] = (model_tensor){.type = 2, .rank = 1, .dims = {2}, .data = begin, .bytes = 8};
    t.spec.tensors[2] = (model_tensor){.type = 2, .rank = 1, .dims = {2}, .data = size, .bytes = 8};
    t.spec.tensors[3] = (model_tensor){.type = 0, .rank = 2, .dims = {1, 2}};
    t.spec.ops[0] = (model_op){.code = 65, .input_count = 3, .inputs = {0, 1, 2}, .output_count = 1, .outputs = {3}};
    const char *path = "subgraph[0]/operator[0] SLICE";
    build();
    must_read();
    t.spec.tensors[1].data = far;
    build();
    refuse(path, t.at.op[0], "begin 6 and size -1 of an extent of 5");
    t.spec.tensors[1].data = begin;
    t.spec.tensors[2].data = wide;
    build();
    refuse(path, t.at.op[0], "begin 3 and size 3 of an extent of 5");
    t.spec.tensors[2] = (model_tensor){.type = 2, .rank = 1, .dims = {1}, .data = short_of, .bytes = 4};
    build();
    refuse(path, t.at.op[0], "2 begins and 1 sizes: the rank is 2");
    /* all that is left, of a place that a run gives */
    t.spec.tensors[1].data = NULL;
    t.spec.tensors[1].bytes = 0;
    t.spec.tensors[2] = (model_tensor){.type = 2, .rank = 1, .dims = {2}, .data = size, .bytes = 8};
    t.spec.input_count = 2;
    t.spec.inputs[1] = 1;
    build();
    refuse(path, t.at.op[0], "operator SLICE with a size of -1 from a computed begin is not supported");
    t.spec.tensors[2].data = wide;
    build();
    must_read();
}

static void broken_transposed_convolutions(void **state) {
    (void)state;
    static const int32_t shape[] = {1, 4, 4, 1}, none[] = {1, 0, 4, 1};
    t.spec = (model_spec){.tensor_count = 4, .op_count = 1, .input_count = 1, .inputs = {2}, .output_count = 1};
    t.spec.outputs[0] = 3;
    t.spec.tensors[0] = (model_tensor){.type = 2, .rank = 1, .dims = {4}, .data = shape, .bytes = 16};
    t.spec.tensors[1] = (model_tensor){.type = 0, .rank = 4, .dims = {1, 1, 1, 1}, .data = shape, .bytes = 4};
    t.spec.tensors[2] = (model_tensor){.type = 0, .rank = 4, .dims = {1, 2, 2, 1}};
    t.spec.tensors[3] = (model_tensor){.type = 0, .rank = 4, .dims = {1, 4, 4, 1}};
    t.spec.ops[0] = (model_op){.code = 67,
                               .input_count = 3,
                               .inputs = {0, 1, 2},
                               .output_count = 1,
                               .outputs = {3},
                               .options = 49,
                               .widths = "144",
                               .values = {0, 2, 2}};
    const char *path = "subgraph[0]/operator[0] TRANSPOSE_CONV";
    build();
    must_read();
    t.spec.tensors[0].data = none;
    build();
    refuse(path, t.at.op[0], "the output's shape: expected 4 extents, of 1 or more");
    t.spec.tensors[0] = (model_tensor){.type = 2, .rank = 1, .dims = {3}, .data = shape, .bytes = 12};
    build();
    refuse(path, t.at.op[0], "the output's shape: expected 4 extents, of 1 or more");
}

/* ---- what is not supported ---- */

static void everything_unsupported_is_listed(void **state) {
    (void)state;
    t.spec.op_count = 6;
    t.spec.tensor_count = 6;
    t.spec.tensors[5] = (model_tensor){.type = 5, .rank = 1, .dims = {1}, .name = "words"};
    t.spec.ops[2] = (model_op){.code = 149, .input_count = 1, .inputs = {4}, .output_count = 1, .outputs = {3}};
    t.spec.ops[3] = t.spec.ops[2];
    t.spec.ops[4] = (model_op){.code = 32, .custom = "My\nOp", .input_count = 1, .output_count = 1, .outputs = {3}};
    t.spec.ops[5] = (model_op){.code = 32, .custom = "FlexErf", .input_count = 1, .output_count = 1, .outputs = {3}};
    build();
    t.f.at[flat_field(&t.f, t.at.options[0], 0)] = 4;
    ir_model *m;
    assert_int_equal(read_model(&m), BASE_REFUSED);
    assert_int_equal(t.d.errors, 5);
    static const char *const paths[] = {"subgraph[0]/tensor[5] \"words\"", "subgraph[0]/operator[0] FULLY_CONNECTED",
                                        "subgraph[0]/operator[2] MULTINOMIAL", "subgraph[0]/operator[4] My\\x0aOp",
                                        "subgraph[0]/operator[5] FlexErf"};
    static const char *const parts[] = {
        "tensor type STRING is not supported; ",
        "operator FULLY_CONNECTED with the fused activation TANH is not supported; ",
        "operator MULTINOMIAL is not supported, 2 times: operator[2], operator[3]; ",
        "custom operator \"My\\x0aOp\" is not supported; ",
        "custom operator \"FlexErf\" is not supported; it is a TensorFlow operator: ",
    };
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(t.d.list.at[i].path, paths[i]);
        if (!strstr(t.d.list.at[i].message, parts[i])) {
            fail_msg("%s; expected %s", t.d.list.at[i].message, parts[i]);
        }
    }
    assert_int_equal(t.d.list.at[2].byte, t.at.op[2]);
}

/* Of complex numbers, elements are no numbers: what is not made for them is refused, and so is what they are not made for. */
static void complex_numbers_are_for_their_operators(void **state) {
    (void)state;
    static const struct {
        int code, input, output;
        const char *message; /* NULL: it is read */
    } all[] = {{134, 8, 0, NULL},
               {135, 8, 0, NULL},
               {22, 8, 8, NULL},
               {18, 8, 8, "operator MUL of complex numbers is not"},
               {77, 8, 2, "operator SHAPE of complex numbers is not"},
               {136, 0, 0, "input has type f32: expected COMPLEX64"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        t.spec = (model_spec){.tensor_count = 2, .op_count = 1, .input_count = 1, .output_count = 1, .outputs = {1}};
        t.spec.tensors[0] = (model_tensor){.type = all[i].input, .rank = 1, .dims = {3}};
        t.spec.tensors[1] = (model_tensor){.type = all[i].output, .rank = 1, .dims = {all[i].code == 77 ? 1 : 3}};
        t.spec.ops[0] = (model_op){.code = all[i].code == 136 ? 134 : all[i].code,
                                   .input_count = all[i].code == 18 ? 2 : 1,
                                   .output_count = 1,
                                   .outputs = {1}};
        build();
        ir_model *m = NULL;
        assert_int_equal(read_model(&m), all[i].message ? BASE_REFUSED : BASE_OK);
        if (all[i].message && !strstr(t.d.list.at[0].message, all[i].message)) {
            fail_msg("%s; expected %s", t.d.list.at[0].message, all[i].message);
        }
    }
}

static void long_lists_are_cut_aloud(void **state) {
    (void)state;
    /* 29 of one kind, and 19 other kinds */
    t.spec = (model_spec){.tensor_count = 2, .op_count = 48, .input_count = 1, .output_count = 1, .outputs = {1}};
    t.spec.tensors[0] = t.spec.tensors[1] = (model_tensor){.type = 0, .rank = 1, .dims = {1}};
    for (int i = 0; i < 48; i++) {
        /* 136 HASHTABLE; 149 MULTINOMIAL; 167 to 180, 182 to 185: StableHLO's that TFLite has no kernels for */
        int code = i < 29 ? 136 : i == 29 ? 149 : i < 44 ? 167 + i - 30 : 182 + i - 44;
        t.spec.ops[i] = (model_op){.code = code, .input_count = 1, .output_count = 1, .outputs = {1}};
    }
    build();
    ir_model *m;
    assert_int_equal(read_model(&m), BASE_REFUSED);
    assert_int_equal(t.d.errors, 17);
    assert_non_null(strstr(t.d.list.at[0].message, "HASHTABLE is not supported, 29 times: operator[0], "));
    assert_non_null(strstr(t.d.list.at[0].message, "operator[23]...; "));
    assert_non_null(strstr(t.d.list.at[1].message, "operator MULTINOMIAL is not supported; "));
    /* The first 16 kinds end with code 180; left are 182 to 185. */
    assert_non_null(strstr(t.d.list.at[15].message, "operator STABLEHLO_LOG "));
    assert_string_equal(t.d.list.at[16].message,
                        "not supported either: operator STABLEHLO_NEGATE (operator[44]); operator STABLEHLO_OR "
                        "(operator[45]); operator STABLEHLO_POWER (operator[46]); operator STABLEHLO_REMAINDER "
                        "(operator[47])");
}

static void the_old_code_is_enough(void **state) {
    (void)state;
    flat_put(&t.f, flat_field(&t.f, t.at.code[0], 3), 0, 4);
    assert_string_equal(must_read()->graphs.at[0].nodes.at[0].op, "fully_connected");
    flat_put(&t.f, flat_field(&t.f, t.at.code[0], 0), 127, 1);
    refuse("operator_code[0]/builtin_code", flat_field(&t.f, t.at.code[0], 3), "127 is no operator");
}

static void a_computed_axis_is_not_supported(void **state) {
    (void)state;
    t.spec = (model_spec){
        .tensor_count = 3, .op_count = 1, .input_count = 2, .inputs = {0, 1}, .output_count = 1, .outputs = {2}};
    t.spec.tensors[0] = (model_tensor){.type = 0, .rank = 2, .dims = {2, 2}};
    t.spec.tensors[1] = (model_tensor){.type = 2, .rank = 1, .dims = {1}};
    t.spec.tensors[2] = (model_tensor){.type = 0, .rank = 1, .dims = {2}};
    t.spec.ops[0] = (model_op){.code = 40, .input_count = 2, .inputs = {0, 1}, .output_count = 1, .outputs = {2}};
    build();
    refuse("subgraph[0]/operator[0] MEAN", t.at.op[0], "operator MEAN whose input 1 is computed is not supported; ");
}

/* ---- memory ---- */

/* Fails the allocation with number left == 0. */
static void *failing(void *user, void *pointer, size_t old, size_t size) {
    size_t *left = user;
    (void)old;
    if (size && !(*left)--) {
        *left = 0;
        return NULL;
    }
    if (!size) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, size);
}

/* Reads, prints and parses with that allocation failing; false: it was reached. What was made is gone by then. */
static bool read_with(size_t left) {
    base_memory memory = {.realloc = failing, .user = &left};
    base_guard guard;
    volatile bool done = false;
    if (!BASE_GUARD(&memory, &guard)) {
        base_arena *arena = base_arena_new(&memory);
        base_diags d = {.arena = arena};
        ir_model *m;
        assert_int_equal(formats_tflite.read(arena, "m.tflite", (base_bytes){t.f.at, t.f.n}, NULL, &m, &d), BASE_OK);
        base_text out = {.arena = arena};
        ir_print(&out, m);
        assert_int_equal(ir_parse(arena, "m.ir", out.at, out.n, &m, &d), BASE_OK);
        base_arena_free(arena);
        base_unguard(&memory, &guard);
        done = true;
    }
    assert_int_equal(memory.in_use, 0);
    return done;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    size_t failures = 0;
    while (!read_with(failures)) {
        failures++;
    }
    assert_true(failures > 2);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_sound_model),
        CASE(constants_are_borrowed),
        CASE(every_type),
        CASE(nibbles_have_half_the_bytes),
        CASE(zero_points_may_be_one_or_none),
        CASE(a_vector_has_only_one_axis),
        CASE(data_may_lie_outside_the_tables),
        CASE(shape_is_a_constant),
        CASE(an_unread_shape_may_be_unfinished),
        CASE(empty_constants_are_constants),
        CASE(old_files_have_no_identifier),
        CASE(weights_in_blocks),
        CASE(broken_files),
        CASE(every_cut_is_refused),
        CASE(broken_operators),
        CASE(broken_edges),
        CASE(broken_tensors),
        CASE(broken_quantisation),
        CASE(options_of_another_type),
        CASE(scale_of_zeros),
        CASE(broken_options),
        CASE(broken_constant_inputs),
        CASE(broken_slices),
        CASE(broken_windows_of_slices),
        CASE(broken_transposed_convolutions),
        CASE(everything_unsupported_is_listed),
        CASE(complex_numbers_are_for_their_operators),
        CASE(long_lists_are_cut_aloud),
        CASE(the_old_code_is_enough),
        CASE(a_computed_axis_is_not_supported),
        CASE(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
