/* test_tiles.c - contractions with and without a shared factor in every tile and machine, compared with the
 * evaluator.
 * ctest: timeout=600
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "targets/c/definition.h"

#define CONV                                                                                                           \
    "op t in X[H,V,C] W[O,KH,KW,C] B[O] M[O] S[O] Y[y<(H+PT+PB-KH)/ST+1,x<(V+PT+PB-KW)/ST+1,o<O] = {"                  \
    "a = (sum:i32[i<KH,j<KW,c<C] (i32(W[o,i,j,c]) * (i32(X[y*ST+i-PT,x*ST+j-PT,c]?(i8(-7))) + 7))) + B[o];"            \
    "i8(min(max(rdivpot(srdhm(a, M[o]), S[o]) + 3, -100), 127)) }"
#define DEPTHWISE                                                                                                      \
    "op t in X[H,V,C] W[KH,KW,C] B[C] M[C] S[C] Y[y<(H+PT+PB-KH)/ST+1,x<(V+PT+PB-KW)/ST+1,c<C] = {"                    \
    "a = (sum:i32[i<KH,j<KW] (i32(W[i,j,c]) * (i32(X[y*ST+i-PT,x*ST+j-PT,c]?(i8(-7))) + 7))) + B[c];"                  \
    "i8(min(max(rdivpot(srdhm(a, M[c]), S[c]) + 3, -128), 127)) }"
#define GEOMETRY(ST, PT, PB) "let ST = " #ST " let PT = " #PT " let PB = " #PB " "
#define PARAMETERS(O)                                                                                                  \
    {BASE_I32, O, 1, -5000, 5000}, {BASE_I32, O, 1, 1073741824, 2147483647}, {                                         \
        BASE_I32, O, 1, 1, 11                                                                                          \
    }
#define I8 BASE_I8
#define F32 BASE_F32

/* clang-format off */
static const definition tiles[] = {
    {CONV, I8, {{I8, "6,7,3", 0, 0, 0}, {I8, "5,3,3,3", 1, 0, 0}, PARAMETERS("5")}},
    {CONV, I8, {{I8, "6,7,4", 0, 0, 0}, {I8, "8,1,1,4", 1, 0, 0}, PARAMETERS("8")}},
    {CONV, I8, {{I8, "9,8,1", 0, 0, 0}, {I8, "19,4,5,1", 1, 0, 0}, PARAMETERS("19")}},
    {DEPTHWISE, I8, {{I8, "6,7,6", 0, 0, 0}, {I8, "3,3,6", 1, 0, 0}, PARAMETERS("6")}},
    {DEPTHWISE, I8, {{I8, "5,9,17", 0, 0, 0}, {I8, "3,2,17", 1, 0, 0}, PARAMETERS("17")}},
    /* multiplier 2: channel o reads channel o/2 */
    {"op t in X[H,V,C] W[3,3,O] Y[y<H,x<V,o<O] = sum:i32[i<3,j<3] (i32(W[i,j,o]) * i32(X[y+i-1,x+j-1,o/2]?(i8(0))))", BASE_I32, {{I8, "4,5,3", 0, 0, 0}, {I8, "3,3,6", 1, 0, 0}}},
    /* grouped */
    {"op t in X[H,V,C] W[O,3,3,G] Y[y<H,x<V,o<O] = sum:i32[i<3,j<3,c<G] (i32(W[o,i,j,c]) * i32(X[y+i-1,x+j-1,o/2*G+c]?(i8(0))))", BASE_I32, {{I8, "4,5,6", 0, 0, 0}, {I8, "6,3,3,2", 1, 0, 0}}},
    /* fully connected, one row and several, weights with a zero point, batch weights */
    {"op t in X[N,K] W[O,K] B[O] Y[n<N,o<O] = (sum:i32[k<K] ((i32(X[n,k]) + 9) * (i32(W[o,k]) - 3))) + B[o]", BASE_I32, {{I8, "1,37", 0, 0, 0}, {I8, "21,37", 1, 0, 0}, {BASE_I32, "21", 1, 0, 0}}},
    {"op t in X[N,K] W[O,K] B[O] Y[n<N,o<O] = (sum:i32[k<K] ((i32(X[n,k]) + 9) * (i32(W[o,k]) - 130))) + B[o]", BASE_I32, {{I8, "7,12", 0, 0, 0}, {BASE_U8, "9,12", 1, 0, 0}, {BASE_I32, "9", 1, 0, 0}}},
    {"op t in X[N,K] W[O,K] B[O] Y[n<N,o<O] = (sum:i64[k<K] (i64(X[n,k]) * i64(W[o,k]))) + B[o]", BASE_I64, {{BASE_I16, "5,12", 0, 0, 0}, {I8, "9,12", 1, 0, 0}, {BASE_I64, "9", 1, 0, 0}}},
    {"op t in X[N,K] W[O,K] Y[n<N,o<O] = sum:i32[k<K] (i32(X[n,k]) * i32(W[o,k]))", BASE_I32, {{BASE_I32, "5,12", 0, 0, 0}, {BASE_I16, "9,12", 1, 0, 0}}},
    {"op t in X[P,N,K] W[P,O,K] Y[p<P,n<N,o<O] = sum:i32[k<K] (i32(X[p,n,k]) * i32(W[p,o,k]))", BASE_I32, {{I8, "3,5,8", 0, 0, 0}, {I8, "3,9,8", 1, 0, 0}}},
    {"op t in X[H,V,C] W[O,3,3,C] B[O] Y[y<H,x<V,o<O] = max((sum[i<3,j<3,c<C] (X[y+i-1,x+j-1,c]?0.0 * W[o,i,j,c])) + B[o], 0.0)", F32, {{F32, "5,6,3", 0, 0, 0}, {F32, "7,3,3,3", 1, 0, 0}, {F32, "7", 1, 0, 0}}},
    /* a last tile that overlaps; sums that are used twice, reals and integers; another value at the end */
    {"op t in X[H,V,C] R[H,V,O] W[O,3,3,C] Y[y<H,x<V,o<O] = { s = sum[i<3,j<3,c<C] (X[y+i-1,x+j-1,c]?0.0 * W[o,i,j,c]); if(s > 0.0, s, s * 0.125) + R[y,x,o] }", F32, {{F32, "3,13,2", 0, 0, 0}, {F32, "3,13,7", 0, 0, 0}, {F32, "7,3,3,2", 1, 0, 0}}},
    {"op t in X[H,V,C] W[O,3,3,C] Y[y<H,x<V,o<O] = { s = sum:i32[i<3,j<3,c<C] ((i32(X[y+i-1,x+j-1,c]?(i8(-7))) + 7) * i32(W[o,i,j,c])); if(s > 0, s, s / 8) }", BASE_I32, {{I8, "3,13,2", 0, 0, 0}, {I8, "7,3,3,2", 1, 0, 0}}},
    {"op t in X[N,K] W[O,K] B[O] Y[n<N,o<O] = (sum[k<K] (X[n,k] * W[o,k])) + B[o]", F32, {{F32, "3,17", 0, 0, 0}, {F32, "20,17", 1, 0, 0}, {F32, "20", 1, 0, 0}}},
    {"op t in X[H,V,C] W[3,3,C] Y[y<H,x<V,c<C] = sum[i<3,j<3] (X[y+i-1,x+j-1,c]?0.0 * W[i,j,c])", F32, {{F32, "5,6,9", 0, 0, 0}, {F32, "3,3,9", 1, 0, 0}}},
    /* points of a batch and of rows in one number; the rest of the body reads at the point */
    {"op t in X[N,H,V,C] R[N,H,V,O] W[O,3,2,C] Y[n<N,y<H,x<V,o<O] = (sum:i32[i<3,j<2,c<C] ((i32(X[n,y+i-1,x+j-1,c]?(i8(5))) - 5) * i32(W[o,i,j,c]))) + i32(R[n,y,x,o])", BASE_I32, {{I8, "2,4,5,2", 0, 0, 0}, {I8, "2,4,5,6", 0, 0, 0}, {I8, "6,3,2,2", 1, 0, 0}}},
    /* and by its own coordinates */
    {"op t in X[H,V,C] R[H] W[O,3,3,C] Y[y<H,x<V,o<O] = (sum:i32[i<3,j<3,c<C] (i32(X[y+i-1,x+j-1,c]?(i8(0))) * i32(W[o,i,j,c]))) + i32(R[y])", BASE_I32, {{I8, "4,5,8", 0, 0, 0}, {I8, "4", 0, 0, 0}, {I8, "6,3,3,8", 1, 0, 0}}},
    /* unsigned elements and 16 bits; elements far apart */
    {"op t in X[H,V,C] W[O,3,3,C] Y[y<H,x<V,o<O] = sum:i32[i<3,j<3,c<C] ((i32(X[y+2*i-2,x+2*j-2,c]?(u8(200))) - 200) * (i32(W[o,i,j,c]) - 7))", BASE_I32, {{BASE_U8, "6,5,4", 0, 0, 0}, {BASE_U8, "6,3,3,4", 1, 0, 0}}},
    {"op t in X[H,V,C] W[O,3,3,C] Y[y<H,x<V,o<O] = sum:i64[i<3,j<3,c<C] ((i64(X[y+i-1,x+j-1,c]?(i16(-9))) + 9) * i64(W[o,i,j,c]))", BASE_I64, {{BASE_I16, "4,5,3", 0, 0, 0}, {I8, "5,3,3,3", 1, 0, 0}}},
    {"op t in X[C,H,V] W[O,C,3,3] Y[y<H,x<V,o<O] = sum:i32[c<C,i<3,j<3] ((i32(X[c,y+i-1,x+j-1]?(i8(-9))) + 9) * i32(W[o,c,i,j]))", BASE_I32, {{I8, "3,4,5", 0, 0, 0}, {I8, "5,3,3,3", 1, 0, 0}}},
    /* windows along a row: longer than the stride or not, steps between their elements, of one row, far over the border, with multiples of channels */
    {"op t in X[N,H,V,C] W[3,5,C] Y[n<N,y<(H+1)/2,x<(V+1)/2,c<C] = sum:i32[i<3,j<5] ((i32(X[n,2*y+i-1,2*x+j-2,c]?(i8(-7))) + 7) * i32(W[i,j,c]))", BASE_I32, {{I8, "2,7,9,4", 0, 0, 0}, {I8, "3,5,4", 1, 0, 0}}},
    {"op t in X[H,V,C] W[3,3,C] Y[y<H,x<V,c<C] = sum:i32[i<3,j<3] ((i32(X[y+2*i-2,x+2*j-2,c]?(u8(130))) - 130) * i32(W[i,j,c]))", BASE_I32, {{BASE_U8, "7,8,3", 0, 0, 0}, {I8, "3,3,3", 1, 0, 0}}},
    {"op t in X[V,C] W[4,C] Y[x<V,c<C] = sum:i32[j<4] ((i32(X[x+j-3,c]?(i8(-7))) + 7) * i32(W[j,c]))", BASE_I32, {{I8, "9,5", 0, 0, 0}, {I8, "4,5", 1, 0, 0}}},
    {"op t in X[H,V,C] W[2,2,C] Y[y<H/2,x<V/3,c<C] = sum:i64[i<2,j<2] (i64(X[2*y+i,3*x+j,c]) * i64(W[i,j,c]))", BASE_I64, {{BASE_I16, "6,9,3", 0, 0, 0}, {I8, "2,2,3", 1, 0, 0}}},
    {"op t in X[C,H,V] W[C,3,3] Y[c<C,y<H,x<V] = sum:i32[i<3,j<3] ((i32(X[c,y+i-1,x+j-1]?(i8(-7))) + 7) * i32(W[c,i,j]))", BASE_I32, {{I8, "3,5,6", 0, 0, 0}, {I8, "3,3,3", 1, 0, 0}}},
    {"op t in X[H,V,C] W[3,3,C] Y[y<H,x<V,c<C] = sum:i32[i<3,j<3] ((i32(X[y+i-1,x+j-1,c]?(i8(-7))) + 7) * i32(W[i,j,c]))", BASE_I32, {{I8, "1,2,3", 0, 0, 0}, {I8, "3,3,3", 1, 0, 0}}},
    {"op t in X[H,V,C] W[O,3,3,C] Y[o<O,y<H,x<V] = sum:i32[i<3,j<3,c<C] (i32(X[y+i-1,x+j-1,c]?(i8(0))) * i32(W[o,i,j,c]))", BASE_I32, {{I8, "5,6,3", 0, 0, 0}, {I8, "7,3,3,3", 1, 0, 0}}},
};
/* clang-format on */

typedef struct form {
    uint32_t mr, nr, unroll;
    bool n_first; /* the channels' loop outside that of the points */
} form;

static const form forms[] = {
    {1, 1, 1, false}, {2, 4, 4, false}, {4, 16, 1, false}, {3, 5, 2, true}, {4, 8, 8, true},
};

/* The channels are the innermost output variable in both factors' sense: the last but for the transposed case, where
 * they are first. */
static plan_schedule *schedule(base_arena *arena, const lang_program *p, const form *f) {
    plan_schedule *x = test_plain_schedules(arena, p);
    lang_ranges *ranges = lang_ranges_new(arena, p);
    size_t tiled = 0;
    for (size_t k = 0; k < p->stages.n; k++) {
        const lang_stage *s = &p->stages.at[k];
        lang_roles r = lang_roles_of(ranges, s);
        if (r.pattern != LANG_CONTRACT && r.pattern != LANG_DEPTHWISE) {
            continue;
        }
        lang_role wanted = r.pattern == LANG_CONTRACT ? LANG_ROLE_N : LANG_ROLE_BATCH;
        for (uint32_t v = 0; v < s->rank; v++) {
            x[k].n_var = r.role[v] == wanted ? (uint8_t)v : x[k].n_var;
        }
        x[k].form = r.pattern == LANG_CONTRACT ? PLAN_CONTRACT : PLAN_DEPTHWISE;
        x[k].mr = f->mr;
        x[k].nr = f->nr;
        x[k].unroll = f->unroll;
        x[k].hoist_zero = true;
        for (uint32_t i = 0; i < s->rank && f->n_first; i++) {
            x[k].order[i] = i == 0 ? x[k].n_var : (uint8_t)(i - 1 < x[k].n_var ? i - 1 : i);
        }
        tiled++;
    }
    assert_true(tiled > 0);
    return x;
}

/* Every tile with several geometries, in every form; of these, those whose number leaves `part` when divided by
 * `parts`. */
static void run(bool vector, const char *compiler, size_t parts, size_t part) {
    static const char *const geometries[] = {GEOMETRY(1, 0, 0), GEOMETRY(1, 1, 1), GEOMETRY(2, 1, 1), GEOMETRY(2, 0, 1),
                                             GEOMETRY(3, 2, 2)};
    enum { MAX_INSTANCES = 600 };
    static instance list[MAX_INSTANCES];
    static const form *form_of[MAX_INSTANCES];
    static definition texts[MAX_INSTANCES];
    test_module m;
    size_t n = 0, number = 0;
    test_module_init(&m, vector);
    for (size_t k = 0; k < sizeof tiles / sizeof tiles[0]; k++) {
        bool needs_geometry = strstr(tiles[k].text, "*ST") != NULL;
        for (size_t g = 0; g < (needs_geometry ? sizeof geometries / sizeof geometries[0] : 1); g++) {
            texts[n] = tiles[k];
            if (needs_geometry) {
                const char *body = strstr(tiles[k].text, " Y[");
                texts[n].text =
                    base_printf(m.arena, "%.*s %s%s", (int)(body - tiles[k].text), tiles[k].text, geometries[g], body);
            }
            instance first = {.definition = &texts[n]};
            first.program = test_instantiate(m.arena, &m.diags, &texts[n], first.inputs);
            const lang_program *p = lang_simplify(m.arena, first.program);
            for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
                assert_true(n < MAX_INSTANCES - 1);
                if (number++ % parts != part) {
                    continue;
                }
                list[n] = first;
                list[n].output[0] = test_module_add(&m, p, first.inputs, schedule(m.arena, p, &forms[f]));
                form_of[n] = &forms[f];
                texts[n + 1] = texts[n]; /* instances keep pointers to their texts */
                n++;
            }
        }
    }
    test_module_emit(&m, NULL);
    assert_int_equal(test_module_run(&m, compiler), 0);
    for (size_t k = 0; k < n; k++) {
        test_compare(&m, &list[k], 0, base_printf(m.arena, "tile %ux%u", form_of[k]->mr, form_of[k]->nr));
    }
    test_module_free(&m);
}

#define SANITIZED " -fsanitize=undefined,address -fno-sanitize-recover=all"

static void tiles_on_a_machine_with_vectors(void **state) {
    (void)state;
    run(true, "gcc -std=c99 -O1" SANITIZED, 8, 0);
    run(true, "gcc -std=c99 -O1 -march=native" SANITIZED, 8, 1);
    run(true, "gcc -std=c99 -O3 -march=native", 8, 2);
    run(true, "gcc -std=c99 -O1", 8, 3);
}

static void tiles_on_a_scalar_machine(void **state) {
    (void)state;
    run(false, "gcc -std=c99 -O1" SANITIZED, 8, 4);
    run(false, "gcc -std=c99 -O1", 8, 5);
    run(false, "gcc -std=c99 -O2", 8, 6);
}

/* Ones in the first batch, weights whose sums leave 32 bits in the second: both decide how sums are added. */
static void sums_may_wrap_in_any_batch(void **state) {
    (void)state;
    static const definition batches = {
        "op t in X[P,N,K] W[P,O,K] Y[p<P,n<N,o<O] = sum:i32[k<K] (i32(X[p,n,k]) * W[p,o,k])",
        BASE_I32,
        {{I8, "2,3,4", 0, 0, 0}, {BASE_I32, "2,8,4", 1, 1, 1}}};
    static const form one = {2, 4, 1, false};
    for (int vector = 0; vector < 2; vector++) {
        test_module m;
        test_module_init(&m, vector != 0);
        instance x = {.definition = &batches};
        x.program = test_instantiate(m.arena, &m.diags, &batches, x.inputs);
        int32_t *weights = (int32_t *)(uintptr_t)x.inputs[1]; /* borrowed by the program */
        for (int k = 8 * 4; k < 2 * 8 * 4; k++) {
            weights[k] = 1 << 30;
        }
        const lang_program *p = lang_simplify(m.arena, x.program);
        x.output[0] = test_module_add(&m, p, x.inputs, schedule(m.arena, p, &one));
        test_module_emit(&m, NULL);
        assert_int_equal(test_module_run(&m, "gcc -std=c99 -O1" SANITIZED), 0);
        test_compare(&m, &x, 0, "batches");
        test_module_free(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_may_wrap_in_any_batch),
        cmocka_unit_test(tiles_on_a_machine_with_vectors),
        cmocka_unit_test(tiles_on_a_scalar_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
