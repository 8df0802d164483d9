/* test_eval_stages.c - the evaluator on whole definitions: reductions, fills, laziness, recurrences, dynamic extents,
 * row boundaries, faults, single elements, cost. Expected values are by hand.
 */
#include <stdio.h>

#include "lang/definition.h"

typedef struct example {
    const char *text, *call, *expected;
} example;

static void run_examples(const example *e, size_t n) {
    for (size_t k = 0; k < n; k++) {
        definition_gives(e[k].text, e[k].call, e[k].expected);
    }
}

#define RUN(list) run_examples(list, sizeof(list) / sizeof((list)[0]))

/* ---- reductions ---- */

static const example reductions[] = {
    {"op f in X:i32[N] Y[] = sum[n<N] X[n] Z[] = prod[n<N] X[n] A[] = max[n<N] X[n] B[] = min[n<N] X[n] -> Y, Z, A, B",
     "f i32[4]={3,-1,7,2}", "11 | -42 | 7 | -1"},
    {"op f in X:i32[N] Y[] = first[n<N | X[n] > 2] n else (-1) Z[] = last[n<N | X[n] > 2] n else (-1) -> Y, Z",
     "f i32[4]={1,5,7,2}", "1 | 2"},
    {"op f in X:i32[N] Y[] = first[n<N | X[n] > 9] n else (-1) Z[] = any[n<N] (X[n] > 6) A[] = all[n<N] (X[n] > 0) -> "
     "Y, Z, A",
     "f i32[4]={1,5,7,2}", "-1 | 1 | 1"},
    /* empty domains: the identities */
    {"op f in X:i8[N] Y[] = sum:i32[n<N] i32(X[n]) Z[] = prod:i32[n<N] i32(X[n]) A[] = max[n<N] X[n] B[] = min[n<N] "
     "X[n] "
     "C[] = any[n<N] (X[n] > 0) D[] = all[n<N] (X[n] > 0) E[] = max[n<N] X[n] else (i8(5)) -> Y, Z, A, B, C, D, E",
     "f i8[0]", "0 | 1 | -128 | 127 | 0 | 1 | 5"},
    {"op f in X:f32[N] Y[] = max[n<N] X[n] Z[] = min[n<N] X[n] -> Y, Z", "f f32[0]", "-inf | inf"},
    /* the guard leaves nothing for some elements */
    {"op f in X:i32[N] Y[i<N] = max[j<N | j < i] X[j] else (i32(-7))", "f i32[4]={3,1,9,2}", "-7 3 3 9"},
    /* extents that depend on outer variables, on values */
    {"op f in X:i32[N] Y[i<N] = sum[j<i+1] X[j]", "f i32[4]={1,2,3,4}", "1 3 6 10"},
    {"op f in X:i32[N] Y[i<N] = sum[j<i64(X[i])] i32(j)", "f i32[4]={0,1,4,-3}", "0 0 6 0"},
    /* nested: the inner one does not depend on the outer reduction's variable, and does */
    {"op f in X:i32[N] Y[] = sum[i<N] (X[i] * sum[j<N] X[j])", "f i32[3]={1,2,3}", "36"},
    {"op f in X:i32[N,M] Y[] = max[i<N] (sum[j<M] X[i,j])", "f i32[2,2]={1,2,3,-1}", "3"},
    {"op f in X:i32[N,M] Y[i<N,k<2] = sum[j<M | (sum[l<j+1] X[i,l]) > i32(k)] X[i,j]", "f i32[2,3]={1,1,1,2,-2,5}",
     "3 2 7 7"},
    /* float sums go in ascending order: 1 + 2^24 + 1 - 2^24 */
    {"op f in X:f32[N] Y[] = sum[n<N] X[n] Z[i<1,k<32] = sum[n<N] X[n] -> Y, Z", "f f32[4]={1,16777216,1,-16777216}",
     "0 | 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
    {"op f in X:f32[N] Y[] = sum[n<N] X[n]", "f f32[4]={16777216,-16777216,1,1}", "2"},
    {"op f in X:f32[N] Y[] = max[n<N] X[n] Z[] = min[n<N] X[n] -> Y, Z", "f f32[3]={1,nan,2}", "nan | nan"},
    /* narrow accumulators wrap once stated */
    {"op f in X:i8[N] Y[] = sum:i8[n<N] X[n]", "f i8[3]={100,100,100}", "44"},
    {"op f in X:u4[N] Y[] = prod:u4[n<N] X[n]", "f u4[3]={3,3,3}", "11"},
    /* two variables */
    {"op f in X:i32[N,M] Y[] = first[i<N,j<M | X[i,j] == 0] (10*i+j) else (-1)", "f i32[2,3]={1,1,1,1,0,0}", "11"},
    {"op f in X:i32[N,M] Y[] = last[i<N,j<M | X[i,j] == 0] (10*i+j) else (-1)", "f i32[2,3]={1,0,1,1,0,0}", "12"},
};

static void reductions_by_hand(void **state) {
    (void)state;
    RUN(reductions);
}

/* ---- reads ---- */

static const example reads[] = {
    {"op f in X:i8[H,W] Y[y<H+2,x<W+2] = X[y-1,x-1]?7", "f i8[1,2]={1,2}", "7 7 7 7 7 1 2 7 7 7 7 7"},
    {"op f in X:i8[N] Y[n<N] = X[2*n-1]?0", "f i8[4]={1,2,3,4}", "0 2 4 0"},
    {"op f in X:i8[N] Y[n<N] = X[N-2-n]?0", "f i8[4]={1,2,3,4}", "3 2 1 0"},
    {"op f in X:i8[N,M] Y[k<5] = X.[k+2]?9", "f i8[2,2]={1,2,3,4}", "3 4 9 9 9"},
    {"op f in X:i8[N] J:i32[M] Y[m<M] = X[i64(J[m])]?(-1)", "f i8[3]={10,20,30} i32[4]={2,-1,3,0}", "30 -1 -1 10"},
    {"op f in X:i8[N] Z:i8[N] Y[n<N] = X[n-1]?(Z[n]+1)", "f i8[3]={1,2,3} i8[3]={4,5,6}", "5 1 2"},
    /* packed types are read and written through the type */
    {"op f in X:i4[N] Y[n<N] = X[N-1-n] + 1", "f i4[5]={-8,-1,0,6,7}", "-8 7 1 0 -7"},
    {"op f in X:u2[N] Y[n<N-1] = u4(X[n]) + 4*u4(X[n+1])", "f u2[4]={3,0,2,1}", "3 8 6"},
    {"op f in X:i2[N] Y[n<N] = bitnot(X[n])", "f i2[4]={-2,-1,0,1}", "1 0 -1 -2"},
    {"op f in X:f4e2m1[N] Y[n<N] = f32(X[n]) * 2", "f f4e2m1[3]={6,-0.5,1.5}", "12 -1 3"},
    {"op f in X:f8e4m3fn[N] Y[n<N] = f32(X[n])", "f f8e4m3fn[2]={448,-0.015625}", "448 -0.015625"},
    /* the untaken side is not read */
    {"op f in X:i8[N] Y[n<N+1] = if(n < N, X[n], -1)", "f i8[3]={1,2,3}", "1 2 3 -1"},
    {"op f in X:i8[N] Y[n<N+1] = i8(n < N && X[n] > 1)", "f i8[3]={1,2,3}", "0 1 1 0"},
    {"op f in X:i8[N] Y[n<N+1] = i8(n >= N || X[n] > 1)", "f i8[3]={1,2,3}", "0 1 1 1"},
    {"op f in X:i8[N] Y[n<N] = if(X[0] > 5, X[n+100], X[n])", "f i8[3]={1,2,3}", "1 2 3"},
    {"op f in X:i8[N] Y[n<N] = sum:i32[k<3 | n+k < N] i32(X[n+k])", "f i8[3]={1,2,3}", "6 5 3"},
    {"op f in X:i8[N] Y[n<N] = if(n > 0, sum:i32[k<2] i32(X[n-k]), -1)", "f i8[3]={1,2,3}", "-1 3 5"},
};

static void reads_by_hand(void **state) {
    (void)state;
    RUN(reads);
}

/* ---- recurrences and dynamic extents ---- */

static const example recurrences[] = {
    {"op f in X:i32[N] rec t<N | Y:i32[t] = X[t] + Y[t-1]?0", "f i32[4]={1,2,3,4}", "1 3 6 10"},
    {"op f attr n:int rec t<n | Y:i64[t] = if(t < 2, 1, Y[t-1]?0 + Y[t-2]?0)", "f n=8", "1 1 2 3 5 8 13 21"},
    {"op f in X:i32[N,B] rec t<N | A:i32[t,b<B] = X[t,b] + Y[t-1,b]?10 | Y:i32[t,b<B] = 2 * A[t,b]",
     "f i32[2,2]={1,2,3,4}", "22 24 50 56"},
    {"op f in X:i32[B,N] rec t<N | Y:i32[b<B,t] = X[b,t] + Y[b,t-1]?0", "f i32[2,3]={1,2,3,4,5,6}", "1 3 6 4 9 15"},
    /* reads of any earlier t: greedy choice, each at least 3 from those chosen before */
    {"op f in X:i32[N] rec t<N | Y:bool[t] = !(any[u<N | u<t && Y[u]] (abs(X[u]-X[t]) < 3))", "f i32[6]={0,1,4,5,9,7}",
     "1 0 1 0 1 0"},
};

static const example dynamics[] = {
    {"op f in X:i32[N] C[] = sum:i64[n<N | X[n] != 0] 1 P[u<C[]] = first[i<N | X[i] != 0 && (sum:i64[j<i | X[j] != 0] "
     "1) == u] i "
     "else (0) Y[u<C[]] = X[P[u]] -> Y, C",
     "f i32[5]={0,7,0,8,9}", "7 8 9 | 3"},
    {"op f in X:i32[N] C[] = sum:i64[n<N | X[n] != 0] 1 Y[u<C[],v<2] = i64(v) + 10*u S[v<2] = sum[u<C[]] Y[u,v] -> Y, "
     "S",
     "f i32[3]={1,0,2}", "0 1 10 11 | 10 12"},
    {"op f in X:i32[N] C[] = sum:i64[n<N | X[n] != 0] 1 Y[u<C[]] = u S[] = sum[u<C[]] Y[u] -> Y, S", "f i32[3]={0,0,0}",
     " | 0"},
};

static void recurrences_by_hand(void **state) {
    (void)state;
    RUN(recurrences);
}

static void dynamic_extents_by_hand(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof dynamics / sizeof dynamics[0]; k++) {
        definition f;
        definition_begin(&f);
        if (definition_parse(&f, dynamics[k].text) != BASE_OK || definition_call(&f, dynamics[k].call) != BASE_OK) {
            fail_msg("%s\n%s", dynamics[k].text, definition_report(&f));
        }
        const char *given = definition_run(&f);
        if (given == NULL ||
            strcmp(given + (given[0] == '|'), dynamics[k].expected + (dynamics[k].expected[0] == ' ' ? 2 : 0)) != 0) {
            fail_msg("%s\nexpected %s\ngiven %s\n%s", dynamics[k].text, dynamics[k].expected, given ? given : "nothing",
                     definition_report(&f));
        }
        definition_end(&f);
    }
}

/* ---- row boundaries: Y[i] = sum over a window, extents around the length of a row ---- */

static void row_boundaries(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        for (int64_t inner = 1; inner <= 9; inner += 4) {
            definition f;
            char call[80];
            definition_begin(&f);
            assert_int_equal(definition_parse(&f, "op f in X:i16[N,M] Y:i32[n<N,m<M] = sum:i32[k<3] i32(X[n+k-1,m]?1) "
                                                  "Z:i32[] = sum:i32[n<N,m<M] (i32(X[n,m]) * i32(m+1)) -> Y, Z"),
                             BASE_OK);
            int64_t n = sizes[k];
            snprintf(call, sizeof call, "f i16[%lld,%lld]", (long long)n, (long long)inner);
            assert_int_equal(definition_call(&f, call), BASE_OK);
            int16_t *x = base_alloc(f.arena, (size_t)(n * inner), sizeof *x);
            int32_t *y = base_alloc(f.arena, (size_t)(n * inner), sizeof *y), z = 0, total = 0;
            for (int64_t i = 0; i < n * inner; i++) {
                x[i] = (int16_t)(i * 7 % 1001 - 500);
                total += x[i] * (int32_t)(i % inner + 1);
            }
            lang_code *code = lang_compile(f.arena, f.program, LANG_EVAL_EXACT, &f.diags);
            lang_result results[2] = {{.data = y}, {.data = &z}};
            assert_int_equal(lang_run(code, f.arena, (const void *const[]){x}, results, &f.diags), BASE_OK);
            for (int64_t i = 0; i < n; i++) {
                for (int64_t m = 0; m < inner; m++) {
                    int32_t up = i > 0 ? x[(i - 1) * inner + m] : 1, down = i + 1 < n ? x[(i + 1) * inner + m] : 1;
                    assert_int_equal(y[i * inner + m], up + x[i * inner + m] + down);
                }
            }
            assert_int_equal(z, total);
            assert_int_equal(results[0].dim[0], n);
            definition_end(&f);
        }
    }
}

/* ---- faults ---- */

static void fault(const char *text, const char *call, const char *words) {
    definition f;
    definition_begin(&f);
    if (definition_parse(&f, text) != BASE_OK || definition_call(&f, call) != BASE_OK) {
        fail_msg("%s\n%s", text, definition_report(&f));
    }
    const char *given = definition_run(&f);
    if (given != NULL) {
        fail_msg("%s gives %s", text, given);
    }
    assert_int_equal(f.diags.errors, 1);
    const base_diag *d = &f.diags.list.at[0];
    if (strstr(d->message, words) == NULL || d->line != 1) {
        fail_msg("%s\nexpected %s\n%s", text, words, definition_report(&f));
    }
    definition_end(&f);
}

static void reads_outside_are_named(void **state) {
    (void)state;
    fault("op f in X:i8[N] Y[n<N] = X[n+1]", "f i8[3]={1,2,3}", "stage Y of f: read X[3] outside [3]");
    fault("op f in X:i8[N,M] Y[n<N,m<M] = X[n-1,m]", "f i8[2,3]={1,2,3,4,5,6}", "read X[-1,0] outside [2,3]");
    fault("op f in X:i8[N] J:i32[M] Y[m<M] = X[i64(J[m])]", "f i8[3]={1,2,3} i32[4]={0,1,7,0}",
          "read X[7] outside [3]");
    fault("op f in X:i8[N,M] Y[k<5] = X.[k]", "f i8[2,2]={1,2,3,4}", "read X.[4] outside [2,2]");
    fault("op f in X:i8[N] Y[n<N] = if(n < 2, X[n+2], X[n])", "f i8[3]={1,2,3}", "read X[3] outside [3]");
    fault("op f in X:i8[N] J:i64[] Y[] = X[J[]]", "f i8[3]={1,2,3} i64[]={-9223372036854775808}", "outside [3]");
    fault("op f in X:i8[N] J:i64[] Y[n<N] = X[J[] + n]", "f i8[3]={1,2,3} i64[]={-9223372036854775808}",
          "read X[-9223372036854775808]");
    fault("op f in X:i8[N] Y[] = sum:i32[n<N] i32(X[2*n])", "f i8[3]={1,2,3}", "read X[4] outside [3]");
}

/* ---- single elements ---- */

static void elements_are_those_of_the_whole(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    assert_int_equal(
        definition_parse(
            &f, "op f in X:f32[N,C] -> Y, R M[n<N] = max[c<C] X[n,c] E[n<N,c<C] = exp(X[n,c]-M[n]) S[n<N] = sum[c<C] "
                "E[n,c] Y[n<N,c<C] = E[n,c]/S[n] rec t<C | R:f32[n<N,t] = Y[n,t] + R[n,t-1]?0"),
        BASE_OK);
    assert_int_equal(definition_call(&f, "f f32[40,300]"), BASE_OK);
    float *x = base_alloc(f.arena, 12000, sizeof *x), *y = base_alloc(f.arena, 12000, sizeof *y),
          *r = base_alloc(f.arena, 12000, sizeof *r);
    for (int k = 0; k < 12000; k++) {
        x[k] = (float)(k * 37 % 101) * 0.125f;
    }
    lang_code *code = lang_compile(f.arena, f.program, LANG_EVAL_EXACT, &f.diags);
    lang_code *wide = lang_compile(f.arena, f.program, LANG_EVAL_BOUND, &f.diags);
    lang_result results[2] = {{.data = y}, {.data = r}};
    const void *inputs[1] = {x};
    assert_int_equal(lang_run(code, f.arena, inputs, results, &f.diags), BASE_OK);
    const uint64_t element[4] = {0, 11999, 4711, 299};
    float got[4];
    double value[4], bound[4];
    assert_int_equal(lang_run_elements(code, f.arena, inputs, 0, element, 4, got, NULL, NULL, &f.diags), BASE_OK);
    for (int k = 0; k < 4; k++) {
        assert_memory_equal(&got[k], &y[element[k]], sizeof got[k]);
    }
    assert_int_equal(lang_run_elements(code, f.arena, inputs, 1, element, 4, got, NULL, NULL, &f.diags), BASE_OK);
    for (int k = 0; k < 4; k++) {
        assert_memory_equal(&got[k], &r[element[k]], sizeof got[k]);
    }
    assert_int_equal(lang_run_elements(wide, f.arena, inputs, 0, element, 4, got, value, bound, &f.diags), BASE_OK);
    for (int k = 0; k < 4; k++) {
        double difference = (double)y[element[k]] - value[k];
        assert_true(difference <= bound[k] && -difference <= bound[k]);
        assert_true(bound[k] > 0 && bound[k] < 1e-4 * value[k]);
    }
    const uint64_t beyond[1] = {12000};
    assert_int_equal(lang_run_elements(code, f.arena, inputs, 0, beyond, 1, got, NULL, NULL, &f.diags), BASE_REFUSED);
    definition_end(&f);
}

/* A read that fails is met only when its element is asked for. */
static void elements_read_what_they_need(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    assert_int_equal(definition_parse(&f, "op f in X:i8[N] A[n<N] = X[n+1] Y[n<N] = A[n] + 1"), BASE_OK);
    assert_int_equal(definition_call(&f, "f i8[3]={1,2,3}"), BASE_OK);
    lang_code *code = lang_compile(f.arena, f.program, LANG_EVAL_EXACT, &f.diags);
    int8_t got[2];
    assert_int_equal(
        lang_run_elements(code, f.arena, &f.contents[0], 0, (const uint64_t[]){1, 0}, 2, got, NULL, NULL, &f.diags),
        BASE_OK);
    assert_int_equal(got[0], 4);
    assert_int_equal(got[1], 3);
    assert_int_equal(
        lang_run_elements(code, f.arena, &f.contents[0], 0, (const uint64_t[]){2}, 1, got, NULL, NULL, &f.diags),
        BASE_REFUSED);
    definition_end(&f);
}

/* ---- cost ---- */

static void cost_counts_words(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    assert_int_equal(definition_parse(&f, "op f in A:i32[M,K] B:i32[K,N] Y[m<M,n<N] = sum[k<K] A[m,k]*B[k,n]"),
                     BASE_OK);
    assert_int_equal(definition_call(&f, "f i32[3,5] i32[5,7]"), BASE_OK);
    assert_int_equal(lang_cost(f.program), 2 * 3 * 5 * 7); /* a product and a sum for each point */
    definition_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_by_hand),
        cmocka_unit_test(reads_by_hand),
        cmocka_unit_test(recurrences_by_hand),
        cmocka_unit_test(dynamic_extents_by_hand),
        cmocka_unit_test(row_boundaries),
        cmocka_unit_test(reads_outside_are_named),
        cmocka_unit_test(elements_are_those_of_the_whole),
        cmocka_unit_test(elements_read_what_they_need),
        cmocka_unit_test(cost_counts_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
