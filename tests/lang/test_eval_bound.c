/* test_eval_bound.c - bounds: every allowed implementation lies within them, and they are not much wider than they must
 * be. */
#include <math.h>
#include <stdio.h>

#include "lang/definition.h"

typedef struct bounded {
    double *value, *bound;
} bounded;

static bounded run_bound(definition *f, const char *text, const char *call, const void *const *inputs, size_t n) {
    bounded r;
    definition_begin(f);
    if (definition_parse(f, text) != BASE_OK || definition_call(f, call) != BASE_OK) {
        fail_msg("%s\n%s", text, definition_report(f));
    }
    lang_code *code = lang_compile(f->arena, f->program, LANG_EVAL_BOUND, &f->diags);
    r.value = base_alloc(f->arena, n, sizeof(double));
    r.bound = base_alloc(f->arena, n, sizeof(double));
    lang_result results[2] = {{.value = r.value, .bound = r.bound}};
    if (lang_run(code, f->arena, inputs != NULL ? inputs : &f->contents[0], results, &f->diags) != BASE_OK) {
        fail_msg("%s\n%s", text, definition_report(f));
    }
    return r;
}

static uint32_t seed = 1;

static float random_float(void) {
    seed = seed * 1664525u + 1013904223u;
    return (float)(int32_t)seed * 0x1p-31f;
}

enum { TERMS = 1000 };

/* f32 sums of products in many orders, with and without fused multiply-add, in one and in eight accumulators. */
static void orders_of_a_sum_are_inside(void **state) {
    (void)state;
    float x[TERMS], w[TERMS];
    double magnitude = 0, widest = 0;
    for (int k = 0; k < TERMS; k++) {
        x[k] = random_float();
        w[k] = random_float() * 100;
        magnitude += fabs((double)x[k] * (double)w[k]);
    }
    definition f;
    bounded r = run_bound(&f, "op f in X:f32[N] W:f32[N] Y[] = sum[n<N] X[n]*W[n]", "f f32[1000] f32[1000]",
                          (const void *const[]){x, w}, 1);
    for (int round = 0; round < 200; round++) {
        float lanes[8] = {0}, total = 0;
        int order[TERMS], width = round % 2 == 0 ? 1 : 8;
        for (int k = 0; k < TERMS; k++) {
            order[k] = k;
        }
        for (int k = TERMS - 1; k > 0 && round > 1; k--) {
            seed = seed * 1664525u + 1013904223u;
            int j = (int)((seed >> 8) % (uint32_t)(k + 1)), t = order[k];
            order[k] = order[j];
            order[j] = t;
        }
        for (int k = 0; k < TERMS; k++) {
            int i = order[k];
            float product = x[i] * w[i];
            lanes[k % width] = round % 3 == 0 ? fmaf(x[i], w[i], lanes[k % width]) : lanes[k % width] + product;
        }
        for (int k = 0; k < width; k++) {
            total += lanes[k];
        }
        double off = fabs((double)total - r.value[0]);
        assert_true(off <= r.bound[0]);
        widest = off > widest ? off : widest;
    }
    assert_true(widest > 0);
    /* n terms of one rounding each, and the products' */
    assert_true(r.bound[0] <= 1.01 * (TERMS + 1) * 0x1p-24 * magnitude);
    definition_end(&f);
}

static void single_roundings(void **state) {
    (void)state;
    definition f;
    /* 1/3: one unit of roundoff of the result (and the noise of double) */
    bounded r = run_bound(&f, "op f in X:f32[] Y[] = 1 / X[]", "f f32[]={3}", NULL, 1);
    assert_true(fabs((double)(1.0f / 3.0f) - r.value[0]) <= r.bound[0] && r.bound[0] < 1.001 * 0x1p-24 / 3);
    definition_end(&f);
    /* exact operations on exact values have no error */
    r = run_bound(&f, "op f in X:f32[] Y[] = (X[] + 1) * 2 - X[] / 2", "f f32[]={3}", NULL, 1);
    assert_true(r.value[0] == 6.5 && r.bound[0] == 0);
    definition_end(&f);
    /* moving, negating, choosing: none either */
    r = run_bound(&f, "op f in X:f32[N] Y[n<N] = max(-X[N-1-n], X[n])", "f f32[2]={0.1,-0.3}", NULL, 2);
    assert_true(r.bound[0] == 0 && r.bound[1] == 0);
    assert_true(r.value[0] == (double)0.3f && r.value[1] == (double)-0.1f);
    definition_end(&f);
    /* cancellation: the bound is that of the large terms */
    r = run_bound(&f, "op f in X:f32[] Y[] = (X[] * X[] + 1) - X[] * X[]", "f f32[]={1000.1}", NULL, 1);
    assert_true(fabs(r.value[0] - 1) <= r.bound[0] && r.bound[0] > 0.05 && r.bound[0] < 0.5);
    definition_end(&f);
    /* division by what may be 0: nothing is known */
    r = run_bound(&f, "op f in X:f32[] Y[] = 1 / (X[] * X[] - X[] * X[] + X[] * 0)", "f f32[]={0.1}", NULL, 1);
    assert_true(isinf(r.bound[0]));
    definition_end(&f);
}

static void library_words(void **state) {
    (void)state;
    static const char *const words[] = {"exp", "tanh", "log", "sin", "cos", "erf", "rsqrt", "expm1", "log1p", "atan"};
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        definition f;
        char text[100];
        snprintf(text, sizeof text, "op f in X:f32[N] Y[n<N] = %s(X[n])", words[k]);
        bounded r = run_bound(&f, text, "f f32[3]={0.3,1.7,0.9}", NULL, 3);
        for (int i = 0; i < 3; i++) { /* 4 ulp, which is 8 units of roundoff at most, and no more */
            assert_true(r.bound[i] >= 4 * 0x1p-24 * fabs(r.value[i]) &&
                        r.bound[i] <= 8.01 * 0x1p-24 * fabs(r.value[i]));
        }
        definition_end(&f);
        /* an uncertain argument: more, but about the derivative's share */
        snprintf(text, sizeof text, "op f in X:f32[N] Y[n<N] = %s(sum[k<100] (X[n] / 100))", words[k]);
        r = run_bound(&f, text, "f f32[3]={0.3,1.7,0.9}", NULL, 3);
        for (int i = 0; i < 3; i++) {
            assert_true(r.bound[i] > 4 * 0x1p-24 * fabs(r.value[i]) && r.bound[i] < 1e-4);
        }
        definition_end(&f);
    }
}

static void integers_from_floats(void **state) {
    (void)state;
    definition f;
    /* far from a border the integer is certain; at the border it may be one less */
    bounded r = run_bound(&f, "op f in X:f32[N] Y[n<N] = i32(rne(X[n] * 10))", "f f32[3]={0.1,0.33,0.25}", NULL, 3);
    assert_true(r.value[0] == 1 && r.bound[0] == 0);
    assert_true(r.value[1] == 3 && r.bound[1] == 0);
    assert_true(r.bound[2] == 0); /* 2.5 exactly: no rounding before the tie */
    definition_end(&f);
    r = run_bound(&f, "op f in X:f32[N] Y[n<N] = i32(floor(X[n] * 10))", "f f32[2]={0.1,0.35}", NULL, 2);
    assert_true(r.value[0] == 1 && r.bound[0] == 1); /* 0.1f * 10 is 1.0000000149 before it is rounded */
    assert_true(r.value[1] == 3 && r.bound[1] == 0);
    definition_end(&f);
    /* arithmetic on an uncertain integer carries it on */
    r = run_bound(&f, "op f in X:f32[] Y[] = f32(i32(floor(X[] * 10)) * 3 + 1)", "f f32[]={0.1}", NULL, 1);
    assert_true(r.value[0] == 4 && r.bound[0] >= 3 && r.bound[0] < 3.01);
    definition_end(&f);
}

static void conditions_within_the_bound(void **state) {
    (void)state;
    definition f;
    bounded r = run_bound(&f, "op f in X:f32[N] Y[n<N] = if(X[n] * 10 < 1.00000001, X[n], X[n] + 5)",
                          "f f32[2]={0.1,0.2}", NULL, 2);
    assert_true(r.bound[0] >= 5 && r.bound[0] < 5.01); /* either side */
    assert_true(r.value[1] > 5 && r.bound[1] < 1e-6);  /* certain */
    definition_end(&f);
    /* a position that may be another: nothing is known of what is read there */
    r = run_bound(
        &f, "op f in X:f32[N] M[] = max[n<N] (X[n] * 3) A[] = first[n<N | X[n] * 3 == M[]] n else 0 Y[] = X[A[]] + 0",
        "f f32[3]={0.1,0.7,0.3}", NULL, 1);
    assert_true(isinf(r.bound[0]) || fabs(r.value[0] - (double)0.7f) <= r.bound[0]);
    definition_end(&f);
    /* any and all */
    r = run_bound(&f, "op f in X:f32[N] Y[] = any[n<N] (X[n] * 10 < 1.00000001) ", "f f32[2]={0.1,0.2}", NULL, 1);
    assert_true(r.bound[0] == 1);
    definition_end(&f);
    r = run_bound(&f, "op f in X:f32[N] Y[] = all[n<N] (X[n] * 10 < 1.00000001) ", "f f32[2]={0.1,0.2}", NULL, 1);
    assert_true(r.value[0] == 0 && r.bound[0] == 0);
    definition_end(&f);
}

static void constants_are_exact(void **state) {
    (void)state;
    definition f;
    /* what depends on constants only is folded by our own words: its integers are certain */
    bounded r = run_bound(
        &f, "op f in X:i32[N] S:f32[N] M[n<N] = i32(rne(f64(S[n]) / 3 * 2147483648.0)) Y[n<N] = srdhm(X[n], M[n])",
        "f i32[2]={1000,2000} f32[2]:{0.5,0.7}", NULL, 2);
    assert_true(r.bound[0] == 0 && r.value[0] == 167 && r.bound[1] == 0);
    definition_end(&f);
}

/* Softmax of 1000: relative bounds stay near the sum's. */
static void softmax_is_tight(void **state) {
    (void)state;
    float x[TERMS], y[TERMS], e[TERMS], most = -2, total = 0;
    for (int k = 0; k < TERMS; k++) {
        x[k] = random_float() * 8;
        most = x[k] > most ? x[k] : most;
    }
    definition f;
    bounded r = run_bound(
        &f, "op f in X:f32[N] M[] = max[n<N] X[n] E[n<N] = exp(X[n]-M[]) S[] = sum[n<N] E[n] Y[n<N] = E[n]/S[]",
        "f f32[1000]", (const void *const[]){x}, TERMS);
    for (int k = TERMS - 1; k >= 0; k--) {
        e[k] = expf(x[k] - most);
        total += e[k];
    }
    for (int k = 0; k < TERMS; k++) {
        y[k] = e[k] / total;
        assert_true(fabs((double)y[k] - r.value[k]) <= r.bound[k]);
        assert_true(r.bound[k] < 2e-4 * r.value[k]);
    }
    definition_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_of_a_sum_are_inside),
        cmocka_unit_test(single_roundings),
        cmocka_unit_test(library_words),
        cmocka_unit_test(integers_from_floats),
        cmocka_unit_test(conditions_within_the_bound),
        cmocka_unit_test(constants_are_exact),
        cmocka_unit_test(softmax_is_tight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
