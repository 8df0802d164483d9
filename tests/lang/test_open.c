/* test_open.c - calls with extents that a run knows: the same text for every number. Expected values are by hand.
 */
#include "lang/definition.h"

static const int64_t most[] = {6, 4};

/* Extent k of input i is count number `count`. */
static void open_extent(definition *f, size_t i, uint32_t k, uint32_t count) {
    f->inputs[i].shape.symbol[k] = count + 1;
    f->inputs[i].shape.dim[k] = most[count];
}

/* Instantiates `text` for inputs of the extents that the call gives, of which those marked are open: marks is a list
 * of triples input, extent, count. */
static base_status open_call(definition *f, const char *text, const char *call, const uint32_t (*marks)[3], size_t n) {
    definition_begin(f);
    if (definition_parse(f, text) != BASE_OK || definition_call(f, call) != BASE_OK) {
        fail_msg("%s", definition_report(f));
    }
    f->program = NULL;
    f->diags.list.n = f->diags.errors = 0;
    f->call.counts = most;
    f->call.count_count = 2;
    for (size_t k = 0; k < n; k++) {
        open_extent(f, marks[k][0], marks[k][1], marks[k][2]);
    }
    return lang_instantiate(f->arena, f->lib, &f->call, &f->program, &f->diags);
}

/* What the outputs are when the first count is a, the second b; NULL: the run fails. */
static void gives(definition *f, int64_t a, int64_t b, const char *expected) {
    static int64_t counts[2];
    counts[0] = a;
    counts[1] = b;
    f->contents[f->program->inputs.n - 2] = &counts[0];
    f->contents[f->program->inputs.n - 1] = &counts[1];
    const char *given = definition_run(f);
    if ((given == NULL) != (expected == NULL) || (given && strcmp(given, expected) != 0)) {
        fail_msg("%lld, %lld: expected %s, given %s\n%s", (long long)a, (long long)b, expected ? expected : "failure",
                 given ? given : "failure", definition_report(f));
    }
}

static const uint32_t first[][3] = {{0, 0, 0}};

static void extents_are_weak_numbers(void **state) {
    (void)state;
    definition f;
    /* in sums, as a divisor of reals, as an extent, in a choice */
    assert_int_equal(
        open_call(&f,
                  "op f in X:f32[N] -> M, K, C let HALF = N / 2 let P.. = catp(N, HALF + 1) M[] = (sum[n<N] (X[n])) / "
                  "max(N, 1) K[k<at(P.., 1)] = X[k]?(f32(0)) + 0.5 C[] = if(N > 3, N * 2, -1) ",
                  "f f32[6]={1,2,3,4,5,6}", first, 1),
        BASE_OK);
    assert_int_equal(lang_verify(f.program, &f.diags), BASE_OK);
    gives(&f, 6, 0, "3.5 | 1.5 2.5 3.5 4.5 | 12");
    gives(&f, 2, 0, "1.5 | 1.5 2.5 | -1");
    gives(&f, 0, 0, "0 | 0.5 | -1");
    f.program = lang_simplify(f.arena, lang_fold(f.arena, f.program, 1000));
    gives(&f, 3, 0, "2 | 1.5 2.5 | -1");
    definition_end(&f);
}

static void elements_are_dense(void **state) {
    (void)state;
    static const uint32_t last[][3] = {{0, 1, 0}};
    definition f;
    assert_int_equal(open_call(&f, "op f in X:i32[A,N] -> Y, Z Y[k<A*N] = X.[k] Z[n<N,a<A] = X[a,n]",
                               "f i32[2,6]={1,2,3,4,5,6,7,8,9,10,11,12}", last, 1),
                     BASE_OK);
    gives(&f, 3, 0, "1 2 3 4 5 6 | 1 4 2 5 3 6");
    gives(&f, 1, 0, "1 2 | 1 2");
    definition_end(&f);
}

static void what_extents_must_be_is_tested(void **state) {
    (void)state;
    static const uint32_t two[][3] = {{0, 0, 0}, {1, 0, 1}};
    definition f;
    assert_int_equal(open_call(&f, "op f in X:i32[N] Z:i32[N] Y[n<N] = X[n] + Z[n]",
                               "f i32[6]={1,2,3,4,5,6} i32[6]={1,1,1,1,1,1}", two, 2),
                     BASE_OK);
    gives(&f, 2, 2, "2 3 | 0");
    gives(&f, 2, 3, NULL);
    definition_end(&f);
    const char *sum = "op f in X:i32[I..] Z:i32[J..] let O.. = bc(I.., J..) Y[o..<O..] = X[~o..] + Z[~o..]";
    assert_int_equal(open_call(&f, sum, "f i32[6]={1,2,3,4,5,6} i32[6]={10,20,30,40,50,60}", two, 2), BASE_OK);
    gives(&f, 3, 3, "11 22 33 | 0");
    gives(&f, 1, 3, "11 21 31 | 0");
    gives(&f, 4, 1, "11 12 13 14 | 0");
    gives(&f, 4, 2, NULL);
    definition_end(&f);
    assert_int_equal(open_call(&f, sum, "f i32[6]={1,2,3,4,5,6} i32[6]={10,20,30,40,50,60}", first, 1), BASE_OK);
    gives(&f, 6, 0, "11 22 33 44 55 66 | 0");
    gives(&f, 1, 0, "11 21 31 41 51 61 | 0");
    gives(&f, 2, 0, NULL);
    definition_end(&f);
    assert_int_equal(open_call(&f, "op f in X:i32[N] chk N % 2 == 0 \"odd\" chk N < 7 \"more\" Y[n<N/2] = X[2*n]",
                               "f i32[6]={1,2,3,4,5,6}", first, 1),
                     BASE_OK);
    gives(&f, 4, 0, "1 3 | 0"); /* one test: the other is proved */
    gives(&f, 3, 0, NULL);
    definition_end(&f);
}

static void refused(const char *text, const char *call, const char *words) {
    definition f;
    assert_int_equal(open_call(&f, text, call, first, 1), BASE_REFUSED);
    if (strstr(definition_report(&f), words) == NULL) {
        fail_msg("%s", definition_report(&f));
    }
    definition_end(&f);
}

static void what_must_be_known_is_said(void **state) {
    (void)state;
    refused("op f in X:i32[N] chk N > 6 \"few\" Y[] = X[0]", "f i32[7]", "few");
    refused("op f in X:i32[N] when N > 3 Y[] = X[0]", "f i32[6]", "must be static");
    refused("op f in X:i32[N] let P.. = X.axis + drop(catp(1,2), N) Y[k<len(P..)] = 1", "f i32[6]@1:0",
            "must be constant");
    refused("op f in X:i32[N] Y:i8[] = N * 100", "f i32[1]", "may not fit i8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_are_weak_numbers),
        cmocka_unit_test(elements_are_dense),
        cmocka_unit_test(what_extents_must_be_is_tested),
        cmocka_unit_test(what_must_be_known_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
