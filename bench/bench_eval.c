/* bench_eval.c - time of the evaluator on the layers of MLPerf's visual wake words (MobileNetV1 0.25, 96x96, int8).
 *
 * Takes nothing. Prints for each layer and in all: multiply-accumulates, milliseconds, operations a second (lang_cost).
 * The definitions are those of an int8 convolution with per-channel requantisation, double rounding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lang/lang.h"

static const char definitions[] =
    "fn mbqm(x,m,s) = rdivpot(srdhm(x*shl(i32(1),max(s,0)),m),max(0-s,0))\n"
    "op conv8 attr s p zx:int zy:int in X:i8[N,H,V,C] W:i8[O,KH,KW,G] B:i32[O] M:i32[O] S:i32[O]\n"
    " let OH = (H+s-1)/s let OV = (V+s-1)/s\n"
    " Y[n<N,y<OH,x<OV,o<O] = { g = o/(O/(C/G));\n"
    "  a = sum:i32[i<KH,j<KW,c<G] (i32(W[o,i,j,c])*(i32(X[n,y*s+i-p,x*s+j-p,g*G+c]?(i8(0-zx)))+zx)) + B[o];\n"
    "  i8(min(max(mbqm(a,M[o],S[o])+zy,-128),127)) }\n"
    "op dw8 attr s p zx:int zy:int in X:i8[N,H,V,C] W:i8[1,KH,KW,O] B:i32[O] M:i32[O] S:i32[O]\n"
    " let OH = (H+s-1)/s let OV = (V+s-1)/s\n"
    " Y[n<N,y<OH,x<OV,o<O] = {\n"
    "  a = sum:i32[i<KH,j<KW] (i32(W[0,i,j,o])*(i32(X[n,y*s+i-p,x*s+j-p,o/(O/C)]?(i8(0-zx)))+zx)) + B[o];\n"
    "  i8(min(max(mbqm(a,M[o],S[o])+zy,-128),127)) }\n";

typedef struct layer {
    const char *op;
    int64_t size, in, out, kernel, stride;
} layer;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *filled(base_arena *arena, base_type t, int64_t n) {
    uint64_t bytes = 0;
    (void)base_type_bytes(t, (uint64_t)n, &bytes);
    uint8_t *data = base_alloc(arena, (size_t)bytes, 1);
    uint32_t x = 12345;
    for (uint64_t k = 0; k < bytes; k++) {
        x = x * 1664525u + 1013904223u;
        data[k] = (uint8_t)(x >> 24);
    }
    for (int64_t k = 0; t == BASE_I32 && k < n; k++) {
        ((int32_t *)(void *)data)[k] = (int32_t)(x >> 2);
    }
    return data;
}

static lang_argument argument(base_type t, uint32_t rank, const int64_t *dims, const void *data) {
    return (lang_argument){
        .present = true, .type = t, .shape = ir_shape_of(rank, dims), .data = data, .shape_known = true};
}

static int run_layer(base_memory *memory, const layer *l, double *total, double *macs, double *ops) {
    base_arena *arena = base_arena_new(memory);
    base_diags d = {.arena = arena};
    lang_library *lib = lang_library_new(arena);
    bool depthwise = strcmp(l->op, "dw8") == 0;
    int64_t x[4] = {1, l->size, l->size, l->in}, o[1] = {l->out};
    int64_t w[4] = {depthwise ? 1 : l->out, l->kernel, l->kernel, depthwise ? l->out : l->in};
    int64_t outs = (l->size + l->stride - 1) / l->stride;
    const void *data[5] = {filled(arena, BASE_I8, x[1] * x[2] * x[3]),
                           filled(arena, BASE_I8, w[0] * w[1] * w[2] * w[3]), filled(arena, BASE_I32, l->out),
                           filled(arena, BASE_I32, l->out), filled(arena, BASE_I32, l->out)};
    for (int64_t k = 0; k < l->out; k++) {
        ((int32_t *)(uintptr_t)data[4])[k] = -8;
    }
    lang_argument in[5] = {argument(BASE_I8, 4, x, NULL), argument(BASE_I8, 4, w, data[1]),
                           argument(BASE_I32, 1, o, data[2]), argument(BASE_I32, 1, o, data[3]),
                           argument(BASE_I32, 1, o, data[4])};
    lang_argument out = {.present = true, .type = BASE_I8};
    ir_attr attrs[4] = {{.name = "s", .kind = IR_INT, .v.i = l->stride},
                        {.name = "p", .kind = IR_INT, .v.i = l->kernel == 3 && l->stride == 1},
                        {.name = "zx", .kind = IR_INT, .v.i = 3},
                        {.name = "zy", .kind = IR_INT, .v.i = -5}};
    lang_call call = {.op = l->op,
                      .inputs = in,
                      .input_count = 5,
                      .outputs = &out,
                      .output_count = 1,
                      .attrs = attrs,
                      .attr_count = 4};
    lang_program *p = NULL;
    if (lang_parse(lib, "bench", definitions, sizeof definitions - 1, &d) != BASE_OK ||
        lang_instantiate(arena, lib, &call, &p, &d) != BASE_OK) {
        fprintf(stderr, "%s\n", d.list.at[0].message);
        return 1;
    }
    lang_code *code = lang_compile(arena, p, LANG_EVAL_EXACT, &d);
    lang_result result = {.data = base_alloc(arena, (size_t)(outs * outs * l->out), 1)};
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        base_arena *scratch = base_arena_new(memory);
        double start = now();
        if (lang_run(code, scratch, data, &result, &d) != BASE_OK) {
            fprintf(stderr, "%s\n", d.list.at[0].message);
            return 1;
        }
        double time = now() - start;
        best = time < best ? time : best;
        base_arena_free(scratch);
    }
    double n = (double)(outs * outs * l->out * l->kernel * l->kernel) * (depthwise ? 1 : (double)l->in),
           cost = (double)lang_cost(p);
    printf("%-6s %3lldx%-3lld %3lld -> %3lld  %8.0f MAC  %7.3f ms  %6.2f ns/MAC  %6.0f Mop/s\n", l->op,
           (long long)l->size, (long long)l->size, (long long)l->in, (long long)l->out, n, best * 1e3, best * 1e9 / n,
           cost / best / 1e6);
    *total += best;
    *macs += n;
    *ops += cost;
    base_arena_free(arena);
    return 0;
}

int main(void) {
    static const struct {
        int64_t out, stride;
    } blocks[] = {{16, 1},  {32, 2},  {32, 1},  {64, 2},  {64, 1},  {128, 2}, {128, 1},
                  {128, 1}, {128, 1}, {128, 1}, {128, 1}, {256, 2}, {256, 1}};
    base_memory memory = {0};
    base_guard guard;
    double total = 0, macs = 0, ops = 0;
    if (BASE_GUARD(&memory, &guard)) {
        return 1;
    }
    layer first = {"conv8", 96, 3, 8, 3, 2};
    int status = run_layer(&memory, &first, &total, &macs, &ops);
    int64_t size = 48, channels = 8;
    for (size_t k = 0; k < sizeof blocks / sizeof blocks[0] && status == 0; k++) {
        layer dw = {"dw8", size, channels, channels, 3, blocks[k].stride};
        size = (size + blocks[k].stride - 1) / blocks[k].stride;
        layer pw = {"conv8", size, channels, blocks[k].out, 1, 1};
        channels = blocks[k].out;
        status = run_layer(&memory, &dw, &total, &macs, &ops);
        status = status == 0 ? run_layer(&memory, &pw, &total, &macs, &ops) : status;
    }
    printf("total %.0f MAC  %.2f ms  %.2f ns/MAC  %.0f Mop/s\n", macs, total * 1e3, total * 1e9 / macs,
           ops / total / 1e6);
    return status;
}
