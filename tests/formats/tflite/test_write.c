/* test_write.c - writing TFLite: what stands in a file that was made from a graph's text, read with the schema's own
 * names, and what is refused. Numbers are the public schema's. */
#include "formats/tflite/writer.h"

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
    base_text file;
    wire_fb fb;
    wire_table model;
} t;

static int set_up(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    if (BASE_GUARD(&t.memory, &t.guard)) {
        return -1;
    }
    t.arena = base_arena_new(&t.memory);
    t.d.arena = t.file.arena = t.arena;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(t.arena);
    base_unguard(&t.memory, &t.guard);
    return 0;
}

#define HEAD "burin 1\nmodel \"ir\" \"m.ir\"\n"

static ir_model *parse(const char *text) {
    ir_model *m = NULL;
    if (ir_parse(t.arena, "m.ir", text, strlen(text), &m, &t.d) != BASE_OK || ir_verify(m, &t.d) != BASE_OK) {
        fail_msg("%s", t.d.list.at[0].message);
    }
    return m;
}

static void write_model(const ir_model *m) {
    t.file.n = 0;
    if (formats_tflite.write(t.arena, m, NULL, &t.file, &t.d) != BASE_OK) {
        fail_msg("%s", t.d.list.at[0].message);
    }
    wire_fb_open(&t.fb, "m.tflite", (base_bytes){(const uint8_t *)t.file.at, t.file.n}, &t.d);
    t.model = wire_fb_root(&t.fb, "TFL3");
}

static ir_model *read_again(void) {
    ir_model *m = NULL;
    if (formats_tflite.read(t.arena, "m.tflite", t.fb.bytes, NULL, &m, &t.d) != BASE_OK) {
        fail_msg("%s", t.d.list.at[0].message);
    }
    return m;
}

static void refused(const char *text, const char *path, const char *part) {
    t.d.list.n = t.d.errors = 0;
    assert_int_equal(formats_tflite.write(t.arena, parse(text), NULL, &t.file, &t.d), BASE_REFUSED);
    const base_diag *d = &t.d.list.at[0];
    assert_string_equal(d->file, "m.ir");
    if (strcmp(d->path ? d->path : "", path) != 0 || !strstr(d->message, part)) {
        fail_msg("%s: %s; expected %s: %s", d->path, d->message, path, part);
    }
    t.d.list.n = t.d.errors = 0;
}

/* ---- looking at the file ---- */

static wire_table element(const wire_table *table, tflite_field f, uint64_t i) {
    wire_vector v = tflite_list(&t.fb, NULL, table, f);
    assert_true(i < v.n);
    return wire_fb_table_at(&t.fb, NULL, &v, i);
}

static uint64_t count(const wire_table *table, tflite_field f) {
    return tflite_list(&t.fb, NULL, table, f).n;
}

static int64_t number(const wire_table *table, tflite_field f) {
    return tflite_int(&t.fb, NULL, table, f);
}

static void assert_text(const wire_table *table, tflite_field f, const char *want) {
    base_bytes s = tflite_bytes(&t.fb, NULL, table, f);
    assert_int_equal(s.size, strlen(want));
    assert_memory_equal(s.at, want, s.size);
}

/* The operator code of the first operator. */
static wire_table code(void) {
    wire_table g = element(&t.model, TFLITE_Model_subgraphs, 0), op = element(&g, TFLITE_SubGraph_operators, 0);
    return element(&t.model, TFLITE_Model_operator_codes, (uint64_t)number(&op, TFLITE_Operator_opcode_index));
}

/* ---- what stands in a file ---- */

static const char fc[] =
    HEAD "graph \"main\" 0 {\n"
         "  tensor %0 i8[1,2] \"x\" quant {0.5:-3}\n"
         "  tensor %1 i8[3,2] \"w\" quant axis 0 {0.5:0, 0.25:0, 0.125:0} = hex \"01fe037f0506\"\n"
         "  tensor %2 i8[7] \"nobody reads it\" = hex \"00000000000000\"\n"
         "  tensor %3 i32[3] \"b\" quant axis 0 {0.25:0, 0.125:0, 0.0625:0} = hex \"010000000200000003000000\"\n"
         "  tensor %4 i8[1,3] \"y\" quant {0.25:7}\n"
         "  tensor %5 i8[3,2] \"same as w\" quant axis 0 {0.5:0, 0.25:0, 0.125:0} = hex \"01fe037f0506\"\n"
         "  tensor %6 i8[1,3] \"z\" quant {0.25:7}\n"
         "  inputs (%0)\n"
         "  outputs (%6, %4)\n"
         "  node fully_connected (%0, %1, %3) -> (%4) {act: text \"relu\", keep_num_dims: int 0, "
         "asymmetric_quantize_inputs: int 0}\n"
         "  node fully_connected (%0, %5, _) -> (%6) {act: text \"none\", keep_num_dims: int 0, "
         "asymmetric_quantize_inputs: int 0}\n"
         "}\n"
         "description \"two layers\"\n"
         "signature \"serving_default\" graph 0 (\"in\" 0) -> (\"b\" 1, \"a\" 0)\n"
         "metadata \"min_runtime_version\" 3 = hex \"312e35\"\n"
         "metadata \"none\" 0 = hex \"\"\n";

static void a_file_has_all_of_a_model(void **state) {
    (void)state;
    ir_model *m = parse(fc);
    write_model(m);
    assert_int_equal(number(&t.model, TFLITE_Model_version), 3);
    assert_text(&t.model, TFLITE_Model_description, "two layers");
    wire_table g = element(&t.model, TFLITE_Model_subgraphs, 0);
    assert_text(&g, TFLITE_SubGraph_name, "main");
    assert_int_equal(count(&g, TFLITE_SubGraph_tensors), 6); /* the unused one is left out */
    wire_table w = element(&g, TFLITE_SubGraph_tensors, 1), same = element(&g, TFLITE_SubGraph_tensors, 4);
    assert_text(&w, TFLITE_Tensor_name, "w");
    assert_int_equal(number(&w, TFLITE_Tensor_type), 9);
    assert_int_equal(number(&w, TFLITE_Tensor_has_rank), 1);
    assert_int_equal(number(&w, TFLITE_Tensor_buffer), number(&same, TFLITE_Tensor_buffer)); /* shared */
    wire_table q = tflite_table(&t.fb, NULL, &w, TFLITE_Tensor_quantization);
    wire_vector scales = tflite_list(&t.fb, NULL, &q, TFLITE_QuantizationParameters_scale);
    wire_vector zeros = tflite_list(&t.fb, NULL, &q, TFLITE_QuantizationParameters_zero_point);
    assert_int_equal(scales.n, 3);
    assert_int_equal(zeros.n, 3);
    assert_true(wire_fb_float_at(&t.fb, &scales, 2) == 0.125F);
    /* buffers: the empty one, w, b, the first metadata */
    assert_int_equal(count(&t.model, TFLITE_Model_buffers), 4);
    for (uint64_t i = 0; i < 4; i++) {
        wire_table buffer = element(&t.model, TFLITE_Model_buffers, i);
        base_bytes data = tflite_bytes(&t.fb, NULL, &buffer, TFLITE_Buffer_data);
        static const size_t sizes[] = {0, 6, 12, 3};
        assert_int_equal(data.size, sizes[i]);
        assert_true(!i || (uint64_t)(data.at - t.fb.bytes.at) % 16 == 0);
    }
    /* with a bias the version is 4 (int8), without 6 */
    assert_int_equal(count(&t.model, TFLITE_Model_operator_codes), 2);
    for (uint64_t i = 0; i < 2; i++) {
        wire_table c = element(&t.model, TFLITE_Model_operator_codes, i);
        assert_int_equal(number(&c, TFLITE_OperatorCode_builtin_code), 9);
        assert_int_equal(number(&c, TFLITE_OperatorCode_deprecated_builtin_code), 9);
        assert_int_equal(number(&c, TFLITE_OperatorCode_version), i ? 6 : 4);
    }
    wire_table op = element(&g, TFLITE_SubGraph_operators, 0);
    unsigned type;
    wire_table options = tflite_union(&t.fb, NULL, &op, TFLITE_Operator_builtin_options, &type);
    assert_int_equal(type, 8);
    assert_int_equal(number(&options, TFLITE_FullyConnectedOptions_fused_activation_function), 1);
    wire_table second = element(&g, TFLITE_SubGraph_operators, 1);
    wire_vector inputs = tflite_list(&t.fb, NULL, &second, TFLITE_Operator_inputs);
    assert_int_equal(wire_fb_i32_at(&t.fb, &inputs, 2), -1);
    wire_table s = element(&t.model, TFLITE_Model_signature_defs, 0);
    wire_table port = element(&s, TFLITE_SignatureDef_outputs, 0);
    assert_text(&port, TFLITE_TensorMap_name, "b");
    assert_int_equal(number(&port, TFLITE_TensorMap_tensor_index), 3); /* y */
    assert_false(wire_fb_failed(&t.fb));
    assert_true(ir_same(t.arena, m, read_again()));
}

static void the_same_model_gives_the_same_bytes(void **state) {
    (void)state;
    write_model(parse(fc));
    char *first = base_strndup(t.arena, t.file.at, t.file.n);
    size_t n = t.file.n;
    write_model(parse(fc));
    assert_int_equal(t.file.n, n);
    assert_memory_equal(t.file.at, first, n);
}

/* ---- operators that TFLite has several of ---- */

static const char one_node[] =
    HEAD "graph \"g\" 0 {\n  tensor %%0 %s[%s] \"x\"\n  tensor %%1 %s[%s] \"y\"\n  inputs (%%0)\n"
         "  outputs (%%1)\n  node %s\n}\n";

static void writes(const char *type, const char *x, const char *y, const char *node, int builtin, int version) {
    write_model(parse(base_printf(t.arena, one_node, type, x, type, y, node)));
    wire_table c = code();
    const char *name = tflite_builtin_name(number(&c, TFLITE_OperatorCode_builtin_code));
    if (strcmp(name, tflite_builtin_name(builtin)) != 0 || number(&c, TFLITE_OperatorCode_version) != version) {
        fail_msg("%s: %s version %d, expected %s version %d", node, name, (int)number(&c, TFLITE_OperatorCode_version),
                 tflite_builtin_name(builtin), version);
    }
    ir_model *back = read_again();
    assert_string_equal(back->graphs.at[0].nodes.at[0].source_name, tflite_builtin_name(builtin));
}

static void the_operator_that_was_read_is_written(void **state) {
    (void)state;
    static const char to_vector[] = "reshape (%0) -> (%1) {shape: ints [3]} from ";
    /* as read, where it says the node; else the one that is spelt like the word; else another */
    writes("f32", "1,3", "3", base_printf(t.arena, "%s\"SQUEEZE\"", to_vector), TFLITE_OP_SQUEEZE, 1);
    writes("f32", "1,3", "3", base_printf(t.arena, "%s\"EXPAND_DIMS\"", to_vector), TFLITE_OP_RESHAPE, 1);
    writes("f32", "1,3", "3", base_printf(t.arena, "%s\"\"", to_vector), TFLITE_OP_RESHAPE, 1);
    writes("f32", "3", "3,1", "reshape (%0) -> (%1) {shape: ints [3, 1]} from \"EXPAND_DIMS\"", TFLITE_OP_EXPAND_DIMS,
           1);
    writes("i8", "3", "7", "pad (%0) -> (%1) {pads: ints [1, 3]} from \"PADV2\"", TFLITE_OP_PAD, 2);
}

static void versions_follow_types_and_shapes(void **state) {
    (void)state;
    static const char *const slice =
        "strided_slice (%0) -> (%1) {begin: ints [0], strides: ints [1], extents: ints [3], shape: ints [1, 3]}";
    writes("f32", "3", "1,3", slice, TFLITE_OP_STRIDED_SLICE,
           4); /* a new axis: 6, which no reference kernel is registered as */
    static const char *const kept =
        "strided_slice (%0) -> (%1) {begin: ints [0], strides: ints [1], extents: ints [3], shape: ints [3]}";
    writes("i8", "4", "3", kept, TFLITE_OP_STRIDED_SLICE, 2);
    writes("bool", "4", "3", kept, TFLITE_OP_STRIDED_SLICE, 3);
    writes("u32", "4", "3", kept, TFLITE_OP_STRIDED_SLICE, 4);
    writes("f32", "4", "3", kept, TFLITE_OP_STRIDED_SLICE, 1);
    static const char *const pads = "pad (%0) -> (%1) {pads: ints [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]}";
    writes("f32", "1,1,1,1,3", "1,1,1,1,4", pads, TFLITE_OP_PAD, 4);
    writes("i16", "1,1,1,1,3", "1,1,1,1,4", pads, TFLITE_OP_PAD, 4);
    writes("bool", "1,1,1,1,3", "1,1,1,1,4", pads, TFLITE_OP_PAD, 5);
    /* 2 and 5 are registered for other kernels than the reference's only */
    writes("i8", "1,1,1,4", "1,2,2,1", "depth_to_space (%0) -> (%1) {block_size: int 2}", TFLITE_OP_DEPTH_TO_SPACE, 1);
    writes("i32", "3", "3", "abs (%0) -> (%1)", TFLITE_OP_ABS, 3);
    /* The old field cannot say a code above 127. */
    writes("f32", "3", "3", "gelu (%0) -> (%1) {approximate: int 1}", TFLITE_OP_GELU, 1);
    wire_table c = code();
    assert_int_equal(number(&c, TFLITE_OperatorCode_builtin_code), 150);
    assert_int_equal(number(&c, TFLITE_OperatorCode_deprecated_builtin_code), 127);
}

/* Of the empty buffer 0 a tensor is no constant: LiteRT would wait for its contents. */
static void constants_of_no_bytes_are_constants(void **state) {
    (void)state;
    write_model(parse(HEAD "graph \"g\" 0 {\n  tensor %0 bool[2,0] \"x\"\n  tensor %1 bool[2,0] \"y\"\n  inputs (%0)\n"
                           "  outputs (%1)\n  node reduce_any (%0) -> (%1) {axes: ints [], keepdims: int 1}\n}\n"));
    wire_table g = element(&t.model, TFLITE_Model_subgraphs, 0), op = element(&g, TFLITE_SubGraph_operators, 0);
    wire_vector inputs = tflite_list(&t.fb, NULL, &op, TFLITE_Operator_inputs);
    wire_table axes = element(&g, TFLITE_SubGraph_tensors, (uint64_t)wire_fb_i32_at(&t.fb, &inputs, 1));
    assert_int_equal(number(&axes, TFLITE_Tensor_buffer), 1);
    wire_table x = element(&g, TFLITE_SubGraph_tensors, 0), buffer = element(&t.model, TFLITE_Model_buffers, 1);
    assert_int_equal(number(&x, TFLITE_Tensor_buffer), 0);
    assert_non_null(tflite_bytes(&t.fb, NULL, &buffer, TFLITE_Buffer_data).at);
    assert_int_equal(tflite_bytes(&t.fb, NULL, &buffer, TFLITE_Buffer_data).size, 0);
    read_again();
}

/* ---- states and control ---- */

static const char counter[] = HEAD
    "state @0 f32[2] \"sum\" = hex \"0000803f00000040\"\n"
    "state @1 f32[2] \"sum\"\n"
    "graph \"main\" 0 {\n"
    "  tensor %0 f32[2] \"x\"\n  tensor %1 f32[2] \"s\" state @0\n  tensor %2 f32[2] \"old\"\n"
    "  tensor %3 f32[2] \"new\"\n  tensor %4 bool[] \"c\"\n  tensor %5 f32[2] \"y\"\n"
    "  inputs (%0, %4)\n  outputs (%5)\n"
    "  node identity (%1) -> (%2) from \"READ_VARIABLE\"\n"
    "  node add (%2, %0) -> (%3) {act: text \"none\"}\n"
    "  node identity (%3) -> (%1) from \"ASSIGN_VARIABLE\"\n"
    "  node if (%4, %3) -> (%5) {then: graph 1, else: graph 2}\n"
    "}\n"
    "graph \"then\" 1 {\n"
    "  tensor %0 f32[2] \"a\"\n  tensor %1 f32[2] \"b\"\n  inputs (%0)\n  outputs (%1)\n  node neg (%0) -> (%1)\n}\n"
    "graph \"else\" 2 {\n"
    "  tensor %0 f32[2] \"a\"\n  tensor %1 f32[2] \"b\"\n  tensor %2 f32[2] \"t\" state @1\n  inputs (%0)\n"
    "  outputs (%1)\n  node identity (%0) -> (%2)\n  node identity (%2) -> (%1)\n}\n";

/* The builtin code of operator i of a sub-graph. */
static int64_t operator_of(uint64_t graph, uint64_t i) {
    wire_table g = element(&t.model, TFLITE_Model_subgraphs, graph), op = element(&g, TFLITE_SubGraph_operators, i);
    wire_table c = element(&t.model, TFLITE_Model_operator_codes, (uint64_t)number(&op, TFLITE_Operator_opcode_index));
    return number(&c, TFLITE_OperatorCode_builtin_code);
}

static wire_table options_of(uint64_t graph, uint64_t i) {
    wire_table g = element(&t.model, TFLITE_Model_subgraphs, graph), op = element(&g, TFLITE_SubGraph_operators, i);
    unsigned type;
    return tflite_union(&t.fb, NULL, &op, TFLITE_Operator_builtin_options, &type);
}

static void variables_and_branches_are_written(void **state) {
    (void)state;
    write_model(parse(counter));
    assert_int_equal(count(&t.model, TFLITE_Model_subgraphs), 4);
    /* CALL_ONCE of the last sub-graph, the handle, then the nodes */
    static const int64_t entry[] = {129, 142, 143, 0, 144, 118}, branch[] = {142, 144, 143},
                         first[] = {142, 144, 142, 144};
    for (uint64_t i = 0; i < 6; i++) {
        assert_int_equal(operator_of(0, i), entry[i]);
    }
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(operator_of(2, i), branch[i]);
    }
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(operator_of(3, i), first[i]);
    }
    wire_table once = options_of(0, 0), handle = options_of(0, 1), other = options_of(2, 0), choice = options_of(0, 5);
    assert_int_equal(number(&once, TFLITE_CallOnceOptions_init_subgraph_index), 3);
    assert_text(&handle, TFLITE_VarHandleOptions_container, "");
    assert_text(&handle, TFLITE_VarHandleOptions_shared_name, "sum");
    assert_text(&other, TFLITE_VarHandleOptions_shared_name, "variable 1"); /* its own name is taken */
    assert_int_equal(number(&choice, TFLITE_IfOptions_then_subgraph_index), 1);
    assert_int_equal(number(&choice, TFLITE_IfOptions_else_subgraph_index), 2);
    ir_model *back = read_again();
    assert_int_equal(back->states.n, 2);
    assert_memory_equal(back->states.at[0].data, "\0\0\x80\x3f\0\0\0\x40", 8);
    assert_int_equal(back->graphs.n, 3);
    assert_int_equal(back->graphs.at[0].nodes.n, 4);
    assert_int_equal(back->graphs.at[2].nodes.n, 2);
    assert_int_equal(ir_control_of(&back->graphs.at[0].nodes.at[3]), IR_IF);
}

/* Nodes that read and write a state themselves: it is read before, and assigned after. */
static void any_node_may_touch_a_state(void **state) {
    (void)state;
    write_model(parse(HEAD "state @0 f32[2] \"\"\n"
                           "graph \"main\" 0 {\n  tensor %0 f32[2] \"x\"\n  tensor %1 f32[2] \"s\" state @0\n"
                           "  tensor %2 f32[2] \"y\"\n  inputs (%0)\n  outputs (%2)\n"
                           "  node add (%1, %0) -> (%1) {act: text \"none\"}\n"
                           "  node mul (%1, %1) -> (%2) {act: text \"none\"}\n}\n"));
    static const int64_t want[] = {129, 142, 143, 0, 144, 143, 18};
    wire_table g = element(&t.model, TFLITE_Model_subgraphs, 0);
    assert_int_equal(count(&g, TFLITE_SubGraph_operators), 7);
    for (uint64_t i = 0; i < 7; i++) {
        assert_int_equal(operator_of(0, i), want[i]);
    }
    ir_model *back = read_again();
    assert_int_equal(back->graphs.at[0].nodes.n, 5); /* what reads and assigns is copies */
}

static const char recurrent[] = HEAD
    "state @0 f32[1,6] \"s\"%s\n"
    "graph \"main\" 0 {\n  tensor %%0 f32[1,2] \"x\"\n  tensor %%1 f32[2,2] \"f\" = hex \"%032d\"\n"
    "  tensor %%2 f32[2,3] \"w\" = hex \"%048d\"\n  tensor %%3 f32[1,6] \"s\" state @0\n  tensor %%4 f32[1,2] \"y\"\n"
    "  tensor %%5 f32[1,6] \"end\"\n%s  inputs (%%0)\n  outputs (%%4, %%5)\n"
    "  node svdf (%%0, %%1, %%2, _, %%3) -> (%%4, %%3) {rank: int 1, act: text \"none\", asymmetric_quantize_inputs: "
    "int "
    "0}\n  node identity (%%3) -> (%%5)\n%s}\n";

static void states_of_recurrent_operators_are_variable_tensors(void **state) {
    (void)state;
    write_model(parse(base_printf(t.arena, recurrent, "", 0, 0, "", "")));
    wire_table g = element(&t.model, TFLITE_Model_subgraphs, 0), op = element(&g, TFLITE_SubGraph_operators, 0);
    assert_int_equal(count(&g, TFLITE_SubGraph_operators), 1); /* the state itself is the second output */
    assert_int_equal(count(&op, TFLITE_Operator_outputs), 1);
    wire_vector outputs = tflite_list(&t.fb, NULL, &g, TFLITE_SubGraph_outputs);
    assert_int_equal(wire_fb_i32_at(&t.fb, &outputs, 1), 3);
    wire_table s = element(&g, TFLITE_SubGraph_tensors, 3);
    assert_int_equal(number(&s, TFLITE_Tensor_is_variable), 1);
    ir_model *back = read_again();
    assert_int_equal(back->states.n, 1);
    assert_int_equal(back->graphs.at[0].nodes.n, 2);
    refused(
        base_printf(t.arena, recurrent, " = hex \"0000803f0000000000000000000000000000000000000000\"", 0, 0, "", ""),
        "state[0] \"s\"", "TFLite has no first contents for the state of an operator but zeros");
    refused(base_printf(t.arena, recurrent, "", 0, 0, "  tensor %6 f32[1,6] \"again\" state @0\n", ""),
            "state[0] \"s\"", "TFLite has one tensor for the state of an operator; 2 stand for it");
}

static const char delayed[] =
    HEAD "state @0 i16[3] \"y/state\"%s\n"
         "graph \"main\" 0 {\n  tensor %%0 i16[2] \"x\"\n  tensor %%1 i16[2] \"y\"\n  tensor %%2 i16[3] \"y/state\" "
         "state @0\n"
         "%s  inputs (%%0)\n  outputs (%%1)\n  node signal_delay (%%0, %%2) -> (%%1, %%2) {delay_length: int 3}\n%s}\n";

/* A state that a custom operator keeps in itself stands nowhere in the file, and is made again when it is read. */
static void states_of_custom_operators_stand_nowhere(void **state) {
    (void)state;
    write_model(parse(base_printf(t.arena, delayed, "", "", "")));
    wire_table g = element(&t.model, TFLITE_Model_subgraphs, 0), op = element(&g, TFLITE_SubGraph_operators, 0);
    assert_int_equal(count(&g, TFLITE_SubGraph_tensors), 2);
    assert_int_equal(count(&op, TFLITE_Operator_inputs), 1);
    assert_int_equal(count(&op, TFLITE_Operator_outputs), 1);
    ir_model *back = read_again();
    const ir_node *n = &back->graphs.at[0].nodes.at[0];
    assert_int_equal(back->states.n, 1);
    assert_string_equal(back->states.at[0].name, "y/state");
    assert_int_equal(back->states.at[0].type, BASE_I16);
    assert_int_equal(back->states.at[0].shape.dim[0], 3); /* as the definition says */
    assert_int_equal(n->input_count, 2);
    assert_int_equal(n->outputs[1], n->inputs[1]);
    refused(base_printf(t.arena, delayed, " = hex \"010000000000\"", "", ""), "state[0] \"y/state\"",
            "TFLite has no first contents for the state of an operator but zeros");
    refused(base_printf(t.arena, delayed, "", "  tensor %3 i16[3] \"z\"\n", "  node identity (%2) -> (%3)\n"),
            "state[0] \"y/state\"", "what TFLite's operator keeps in itself no other can read or write");
    refused(HEAD "graph \"main\" 0 {\n  tensor %0 i16[2] \"x\"\n  tensor %1 i16[2] \"y\"\n  tensor %2 i16[3] \"s\"\n"
                 "  tensor %3 i16[3] \"t\"\n  inputs (%0, %2)\n  outputs (%1, %3)\n"
                 "  node signal_delay (%0, %2) -> (%1, %3) {delay_length: int 3}\n}\n",
            "graph[0]/node[0] signal_delay", "what it keeps between runs is no state of its own");
}

static void every_signature_is_read_where_it_is_wanted(void **state) {
    (void)state;
    ir_model *m = parse(HEAD "state @0 f32[2] \"kept\"\n"
                             "graph \"set\" 0 {\n  tensor %0 f32[2] \"x\"\n  tensor %1 f32[2] \"kept\" state @0\n"
                             "  inputs (%0)\n  outputs (%0)\n  node identity (%0) -> (%1)\n}\n"
                             "graph \"get\" 1 {\n  tensor %0 f32[2] \"y\"\n  tensor %1 f32[2] \"kept\" state @0\n"
                             "  inputs ()\n  outputs (%0)\n  node identity (%1) -> (%0)\n}\n"
                             "signature \"set\" graph 0 (\"x\" 0) -> (\"same\" 0)\n"
                             "signature \"get\" graph 1 () -> (\"y\" 0)\n"
                             "signature \"get again\" graph 1 () -> (\"z\" 0)\n");
    write_model(m);
    assert_int_equal(operator_of(0, 0), TFLITE_OP_CALL_ONCE); /* each is called from outside */
    assert_int_equal(operator_of(1, 0), TFLITE_OP_CALL_ONCE);
    ir_model *back = read_again();
    assert_int_equal(back->graphs.n, 1);
    assert_int_equal(back->signatures.n, 1);
    const formats_options every = {.every_signature = true};
    assert_int_equal(formats_tflite.read(t.arena, "m.tflite", t.fb.bytes, &every, &back, &t.d), BASE_OK);
    assert_int_equal(back->graphs.n, 2);
    assert_int_equal(back->states.n, 1);
    assert_int_equal(back->signatures.n, 3);
    assert_string_equal(back->signatures.at[2].name, "get again");
    assert_int_equal(back->signatures.at[2].graph, 1);
    char *first = base_strndup(t.arena, t.file.at, t.file.n);
    size_t n = t.file.n;
    write_model(back);
    assert_int_equal(t.file.n, n);
    assert_memory_equal(t.file.at, first, n);
}

/* ---- what TFLite has no words for ---- */

/* Their shapes in the file have not the extent of the pairs; a reshape between is of complex numbers, in both directions. */
static void reshapes_keep_complex_numbers(void **state) {
    (void)state;
    write_model(parse(
        HEAD "graph \"main\" 0 {\n  tensor %0 f32[2,4] \"x\"\n  tensor %1 f32[2,3,2] \"c\"\n"
             "  tensor %2 f32[6,2] \"d\"\n  tensor %3 f32[6] \"y\"\n  tensor %4 f32[3,2] \"r\"\n"
             "  tensor %5 f32[1,3,2] \"z\"\n  tensor %6 f32[1,3] \"a\"\n  inputs (%0, %5)\n  outputs (%3, %6, %4)\n"
             "  node rfft2d (%0) -> (%1) {fft_length: ints [2, 4]}\n"
             "  node reshape (%1) -> (%2) {shape: ints [6, 2]}\n  node complex_abs (%2) -> (%3)\n"
             "  node reshape (%5) -> (%4) {shape: ints [3, 2]}\n  node real (%5) -> (%6)\n}\n"));
    wire_table g = element(&t.model, TFLITE_Model_subgraphs, 0);
    ir_model *back = read_again();
    const ir_graph *main = &back->graphs.at[0];
    assert_int_equal(main->nodes.n, 5);
    assert_int_equal(count(&g, TFLITE_SubGraph_operators), 5);
    static const struct {
        size_t node;
        int64_t pairs;
    } made[] = {{1, 6}, {3, 3}};
    for (size_t i = 0; i < 2; i++) {
        const ir_shape *shape = &main->tensors.at[main->nodes.at[made[i].node].outputs[0]].shape;
        assert_int_equal(shape->rank, 2);
        assert_int_equal(shape->dim[0], made[i].pairs);
        assert_int_equal(shape->dim[1], 2);
    }
    uint64_t complex = 0;
    for (uint64_t i = 0; i < count(&g, TFLITE_SubGraph_tensors); i++) {
        wire_table x = element(&g, TFLITE_SubGraph_tensors, i);
        complex += number(&x, TFLITE_Tensor_type) == TFLITE_TYPE_COMPLEX64;
    }
    assert_int_equal(complex, 4); /* c, d, z, r */
}

static void what_cannot_be_said_is_refused(void **state) {
    (void)state;
    refused(base_printf(t.arena, one_node, "f8e8m0", "3", "f8e8m0", "3", "neg (%0) -> (%1)"),
            "graph[0]/tensor[0] \"x\"", "TFLite has no tensors of type f8e8m0");
    refused(base_printf(t.arena, one_node, "f32", "3", "f32", "3", "no_such_word (%0) -> (%1)"),
            "graph[0]/node[0] no_such_word", "TFLite cannot say this operator: it has none like it");
    refused(base_printf(t.arena, one_node, "f32", "3", "f32", "3", "neg (%0) -> (%1) {how: int 1}"),
            "graph[0]/node[0] neg", "as NEG: TFLite does not say its attribute how");
    refused(base_printf(t.arena, one_node, "f32", "3", "f32", "3", "neg (%0, %0) -> (%1)"), "graph[0]/node[0] neg",
            "as NEG: it has 2 inputs");
    refused(base_printf(t.arena, one_node, "f32", "3", "f32", "3", "leaky_relu (%0) -> (%1) {alpha: float 0.1}"),
            "graph[0]/node[0] leaky_relu", "as LEAKY_RELU: alpha would be 0.1, which no float is");
    refused(base_printf(t.arena, one_node, "f32", "3", "f32", "3", "concatenation (%0) -> (%1)"),
            "graph[0]/node[0] concatenation", "as CONCATENATION: it has no attribute axis");
    refused(base_printf(t.arena, one_node, "f32", "1,4,4,1", "f32", "1,4,4,1",
                        "max_pool2d (%0) -> (%1) {kernel: ints [2, 2], strides: ints [1, 1], pads: ints [1, 1, 0, 0], "
                        "act: text \"none\"} ids [4] from \"MAX_POOL_2D\""),
            "graph[0]/operator[4] MAX_POOL_2D", "as MAX_POOL_2D: its padding [1, 1, 0, 0] is neither SAME nor VALID");
    refused(base_printf(t.arena, one_node, "f32", "1,4,4,1", "f32", "1,3,3,1",
                        "max_pool2d (%0) -> (%1) {kernel: ints [2, 2], strides: ints [1, 1], pads: ints [0, 0, 0, 0], "
                        "act: text \"clamp\"}"),
            "graph[0]/node[0] max_pool2d", "its activation \"clamp\" is none that TFLite fuses");
    refused(
        base_printf(t.arena, one_node, "f32", "3", "f32", "1,3",
                    "strided_slice (%0) -> (%1) {begin: ints [0], strides: ints [1], extents: ints [3], shape: ints "
                    "[2, 3]}"),
        "graph[0]/node[0] strided_slice", "its shape is not that of its slice");
    refused(HEAD
            "state @0 f32[4194305] \"large\"\n"
            "graph \"g\" 0 {\n  tensor %0 f32[4194305] \"x\"\n  tensor %1 f32[4194305] \"s\" state @0\n  inputs (%0)\n"
            "  outputs (%0)\n  node identity (%0) -> (%1)\n}\n",
            "state[0] \"large\"", "TFLite has variables begin with what the file holds: 16777220 bytes of zeros");
    /* all of them, not the first alone */
    t.d.list.n = t.d.errors = 0;
    static const char two[] =
        HEAD "graph \"g\" 0 {\n  tensor %0 f32[1] \"x\"\n  tensor %1 f32[1] \"y\"\n  tensor %2 f32[1] \"z\"\n"
             "  inputs (%0)\n  outputs (%2)\n  node a (%0) -> (%1)\n  node b (%1) -> (%2)\n}\n";
    assert_int_equal(formats_tflite.write(t.arena, parse(two), NULL, &t.file, &t.d), BASE_REFUSED);
    assert_int_equal(t.d.errors, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_has_all_of_a_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_same_model_gives_the_same_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_operator_that_was_read_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(versions_follow_types_and_shapes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(constants_of_no_bytes_are_constants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(variables_and_branches_are_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_node_may_touch_a_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_of_recurrent_operators_are_variable_tensors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_of_custom_operators_stand_nowhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_signature_is_read_where_it_is_wanted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reshapes_keep_complex_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_said_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
