/* test_nests.c - definitions of every shape of nest, emitted raw and simplified, compared with the evaluator.
 * ctest: timeout=600
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "targets/c/definition.h"

enum { MAX_CASES = 200 };

/* clang-format off */
static const definition nests[] = {
    {"op t in A[I..] B[J..] let O.. = bc(I.., J..) Y[o..<O..] = A[~o..] * B[~o..] + A[~o..]", BASE_I32, {{BASE_I32, "3,1,5", 0, 0, 0}, {BASE_I32, "4,5", 0, 0, 0}}},
    {"op t in A[I..] B[J..] let O.. = bc(I.., J..) Y[o..<O..] = A[~o..] - B[~o..]", BASE_U8, {{BASE_U8, "3,4", 0, 0, 0}, {BASE_U8, "3,4", 1, 0, 0}}},
    {"op t in A[N,M] Y[i<N+3,j<M+2] = A[i-1,j-2]?(i8(7))", BASE_I8, {{BASE_I8, "3,4", 0, 0, 0}}},
    {"op t in A[N,M] Y[i<N,j<M] = A[N-1-i,(j*3+1)%M]", BASE_I16, {{BASE_I16, "3,5", 0, 0, 0}}},
    {"op t in A[N,M] Y[j<M] = sum:i32[i<N] i32(A[i,j])", BASE_I32, {{BASE_I8, "7,5", 0, 0, 0}}},
    {"op t in A[N,M] Y[j<M] = sum:i32[i<N | A[i,j] > i8(3)] i32(A[i,j])", BASE_I32, {{BASE_I8, "7,5", 0, 0, 0}}},
    {"op t in A[N,M] Y[j<M] = prod:i16[i<N] i16(A[i,j])", BASE_I16, {{BASE_I8, "7,5", 0, 0, 0}}},
    {"op t in A[N,M] Y[j<M] = max[i<N | i%2 == 1] A[i,j] else i8(5)", BASE_I8, {{BASE_I8, "1,5", 0, 0, 0}}},
    {"op t in A[N,M] Y:i64[i<N] = first[j<M | A[i,j] == max[k<M] A[i,k]] j else 0-1", BASE_I64, {{BASE_I8, "6,9", 0, -3, 3}}},
    {"op t in A[N,M] Y:i64[i<N] = last[j<M | A[i,j] > i8(2)] j else 0-1", BASE_I64, {{BASE_I8, "6,9", 0, -3, 3}}},
    {"op t in A[N,M] Y:i64[i<N] = first[j<M,k<M | A[i,j] + A[i,k] == i8(3)] (j*100+k) else if(N>2, sum[j<M] i64(A[i,j]), 0)", BASE_I64, {{BASE_I8, "6,9", 0, -3, 3}}},
    {"op t in A[N,M] Y:bool[i<N] = any[j<M] (A[i,j] == i8(3))", BASE_BOOL, {{BASE_I8, "6,4", 0, -3, 3}}},
    {"op t in A[N,M] Y:bool[i<N] = all[j<M | j>0] (A[i,j] < i8(3))", BASE_BOOL, {{BASE_I8, "6,4", 0, -3, 3}}},
    {"op t in X[H,V,C] W[O,3,3,C] Y[y<H,x<V,o<O] = sum:i32[i<3,j<3,c<C] ((i32(X[y+i-1,x+j-1,c]?(i8(-5))) + 5) * i32(W[o,i,j,c]))", BASE_I32, {{BASE_I8, "5,6,3", 0, 0, 0}, {BASE_I8, "4,3,3,3", 1, 0, 0}}},
    {"op t in X[H,V,C] W[O,3,3,C] Y[y<(H+1)/2,x<(V+1)/2,o<O] = sum:i32[i<3,j<3,c<C] (i32(X[2*y+2*i-2,2*x+2*j-2,c]?(i8(-5))) * i32(W[o,i,j,c]))", BASE_I32, {{BASE_I8, "5,6,3", 0, 0, 0}, {BASE_I8, "4,3,3,3", 1, 0, 0}}},
    {"op t in X[H,V,C] Y[y<H,x<V,c<C] = max[i<3,j<3 | 0 <= y+i-1 < H && 0 <= x+j-1 < V] X[y+i-1,x+j-1,c]", BASE_I8, {{BASE_I8, "5,6,3", 0, 0, 0}}},
    {"op t in X[H,V,C] Y[y<H,x<V,c<C] = { s = sum:i32[i<3,j<3 | 0 <= y+i-1 < H && 0 <= x+j-1 < V] i32(X[y+i-1,x+j-1,c]); k = sum:i32[i<3,j<3 | 0 <= y+i-1 < H && 0 <= x+j-1 < V] 1; if(s > 0, tdiv(s + tdiv(k,2), k), tdiv(s - tdiv(k,2), k)) }", BASE_I32, {{BASE_I8, "5,6,3", 0, 0, 0}}},
    {"op t in X[N,C] K[M] Y[m<M,c<C] = X[i64(K[m]),c]", BASE_I16, {{BASE_I16, "7,3", 0, 0, 0}, {BASE_I32, "5", 0, 0, 6}}},
    {"op t in X[N,C] K[M] Y[m<M,c<C] = X[i64(K[m]),c]?(i16(9))", BASE_I16, {{BASE_I16, "7,3", 0, 0, 0}, {BASE_I32, "5", 0, -9, 9}}},
    {"op t in X[N,C] K[M] Y[m<M,c<C] = if(0 <= i64(K[m]) && i64(K[m]) < N, X[i64(K[m]),c], i16(4))", BASE_I16, {{BASE_I16, "7,3", 0, 0, 0}, {BASE_I32, "5", 0, -9, 9}}},
    {"op t in X[N,C] K[M] Y[m<M,c<C] = if(K[m] < 0 || X[i64(K[m]),c] > i16(0), sum:i16[n<N] X[n,c], i16(4))", BASE_I16, {{BASE_I16, "7,3", 0, 0, 0}, {BASE_I32, "5", 0, -5, 6}}},
    {"op t in X[N] U[M] K[M] Y[n<N] = last[m<M | i64(K[m]) == n] U[m] else X[n]", BASE_I8, {{BASE_I8, "9", 0, 0, 0}, {BASE_I8, "6", 0, 0, 0}, {BASE_I32, "6", 0, 0, 8}}},
    {"op t in X[N,M] Y[n<N,m<M] = sum:i32[j<M | j <= m] i32(X[n,j])", BASE_I32, {{BASE_I8, "3,7", 0, 0, 0}}},
    {"op t in X[T,B] rec t<T | S:i32[t,b<B] = (S[t-1,b]?0) * 3 + i32(X[t,b]) | Y[t,b<B] = S[t,b] - sum:i32[u<T | u < t] S[u,b]", BASE_I32, {{BASE_I8, "6,4", 0, 0, 0}}},
    {"op t in X[N] CNT:i64[] = sum:i64[n<N | X[n] > i8(0)] 1 Y:i32[n<N] = (sum:i32[k<CNT[]] i32(k)) + i32(X[n])", BASE_I32, {{BASE_I8, "6", 0, 0, 0}}},
    {"op t in X[N,M] Y[i<N*M] = X.[N*M-1-i]", BASE_I8, {{BASE_I8, "3,5", 0, 0, 0}}},
    {"op t in X[N,M] Y[i<N,j<M] = X[i,j] * i4(3) + X[i,M-1-j]", BASE_I4, {{BASE_I4, "3,5", 0, 0, 0}}},
    {"op t in X[N,M] Y[i<N,j<M] = X[i,j] / u2(2)", BASE_U2, {{BASE_U2, "3,5", 0, 0, 0}}},
    {"op t in X[N,M] Y[i<N,j<M] = f16(f32(X[i,j]) * f32(X[i,M-1-j]))", BASE_F16, {{BASE_F16, "3,5", 0, 0, 0}}},
    {"op t in X[N,M] Y[i<M,j<N] = X[j,i]", BASE_BF16, {{BASE_BF16, "3,5", 0, 0, 0}}},
    {"op t in X[N,M] E[i<N,j<M] = exp(X[i,j] - max[k<M] X[i,k]) S[i<N] = sum[j<M] E[i,j] Y[i<N,j<M] = E[i,j] / S[i]", BASE_F32, {{BASE_F32, "4,9", 0, 0, 0}}},
    {"op t in X[N,M] R[i<N] = rsqrt((sum:f32[k<M] (X[i,k]*X[i,k])) / f32(M) + f32(1e-5)) Y[i<N,j<M] = X[i,j] * R[i]", BASE_F32, {{BASE_F32, "4,9", 0, 0, 0}}},
    {"op t in X[N,M] Y[i<N,j<M] = rdivpot(srdhm(X[i,j], i32(1518500250)), i32(7)) + i32(clz(X[i,j])) + shr(X[i,j], i32(3))", BASE_I32, {{BASE_I32, "4,9", 0, 0, 0}}},
    {"op t in X[N,O] M[O] S[O] Y[i<N,o<O] = i8(min(max(rdivpot(srdhm(X[i,o], M[o]), S[o]) + 3, -128), 127))", BASE_I8, {{BASE_I32, "40,9", 0, 0, 0}, {BASE_I32, "9", 1, 1073741824, 2147483647}, {BASE_I32, "9", 1, 1, 12}}},
    {"op t in X[N,O] M[O] S[O] Y[i<N,o<O] = rdivpot(srdhm(i32(X[i,o]) * 65536, M[o]), S[o]) + rdivpot(srdhm(i32(X[i,o]), M[o]), S[o] - 1)", BASE_I32, {{BASE_I8, "40,9", 0, 0, 0}, {BASE_I32, "9", 1, 1073741824, 1073741830}, {BASE_I32, "9", 1, 1, 9}}},
    {"op t in X[N,M] Y[i<N,j<M] = X[i,j] % i64(7) + X[i,j] / i64(3) - tdiv(X[i,j], i64(5)) + trem(X[i,j], X[i,0])", BASE_I64, {{BASE_I64, "4,9", 0, 0, 0}}},
    {"op t in X[N,M] Y:i64[i<N,j<M] = (i*j - 5) / 3 + (i - j) % 4 + abs(i - j) * min(i, j)", BASE_I64, {{BASE_I8, "4,9", 0, 0, 0}}},
    {"op t in X[N,M] Y[i<N,j<M] = sum:i32[k<3 | i*2+k-1 < N] { a = i32(X[i,j]); if(a > i32(k)*20, sum:i32[l<M | l != j] i32(X[i,l]), a) }", BASE_I32, {{BASE_I8, "5,4", 0, 0, 0}}},
    {"op t in X[] Y[i<5] = X[] + i8(i)", BASE_I8, {{BASE_I8, "", 0, 0, 0}}},
    {"op t in X[N] Y[] = sum:i64[n<N] i64(X[n])", BASE_I64, {{BASE_U32, "9", 0, 0, 0}}},
    {"op t in X[N] Y[n<N] = u64(X[n]) * u64(0xfffffffffff) + (X[n]?u64(0))", BASE_U64, {{BASE_U64, "9", 0, 0, 0}}},
    {"op t in X[N] Y[n<N,m<1,k<N] = if(n < k && k % 2 == 0, X[n], max(X[k], i8(2)))", BASE_I8, {{BASE_I8, "6", 0, 0, 0}}},
    /* floats' extremes by their bits: -0 < +0, NaN over all, infinities, no term, a term for none; two types */
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i32(max[j<M] F[i,j])", BASE_I32, {{BASE_I32, "400,2", 0, 0, 7}}},
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i32(max[j<M | X[i,j] % 2 == 1] F[i,j])", BASE_I32, {{BASE_I32, "40,3", 0, 0, 7}}},
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i32(max[j<M | X[i,j] > 5] F[i,j] else f32(-7.5))", BASE_I32, {{BASE_I32, "40,3", 0, 0, 7}}},
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i32(f32(max[j<M] f16(F[i,j])))", BASE_I32, {{BASE_I32, "400,2", 0, 0, 7}}},
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i64(max[j<M] f64(F[i,j]))", BASE_I64, {{BASE_I32, "400,2", 0, 0, 7}}},
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i32(min[j<M] F[i,j])", BASE_I32, {{BASE_I32, "400,2", 0, 0, 7}}},
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i32(min[j<M | X[i,j] % 2 == 1] F[i,j])", BASE_I32, {{BASE_I32, "40,3", 0, 0, 7}}},
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i32(min[j<M | X[i,j] > 5] F[i,j] else f32(-7.5))", BASE_I32, {{BASE_I32, "40,3", 0, 0, 7}}},
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i32(f32(min[j<M] f16(F[i,j])))", BASE_I32, {{BASE_I32, "400,2", 0, 0, 7}}},
    {"op t in X[N,M] F[i<N,j<M] = bits_f32(shl(X[i,j] / 4, i32(31)) + { e = X[i,j] % 4; if(e == 0, i32(0), if(e == 1, i32(0x3f800000), if(e == 2, i32(0x7f800000), i32(0x7fc00000)))) }) Y[i<N] = bits_i64(min[j<M] f64(F[i,j]))", BASE_I64, {{BASE_I32, "400,2", 0, 0, 7}}},
    /* nothing at all: input and output share an address */
    {"op t in X[N] Y[n<N] = X[n] + i8(1)", BASE_I8, {{BASE_I8, "0", 0, 0, 0}}},
    {"op t in X[N] B[M] Y[m<M] = (sum:i32[n<N] i32(X[n])) + i32(B[m])", BASE_I32, {{BASE_I8, "0", 0, 0, 0}, {BASE_I8, "3", 0, 0, 0}}},
};
/* clang-format on */

static void run(bool vector, const char *compiler) {
    test_module m;
    instance list[MAX_CASES];
    size_t n = sizeof nests / sizeof nests[0];
    test_module_init(&m, vector);
    for (size_t k = 0; k < n; k++) {
        list[k] = (instance){.definition = &nests[k]};
        list[k].program = test_instantiate(m.arena, &m.diags, &nests[k], list[k].inputs);
        list[k].output[0] = test_module_add(&m, list[k].program, list[k].inputs, NULL);
        list[k].output[1] = test_module_add(&m, lang_simplify(m.arena, list[k].program), list[k].inputs, NULL);
    }
    test_module_emit(&m, NULL);
    assert_int_equal(test_module_run(&m, compiler), 0);
    for (size_t k = 0; k < n; k++) {
        test_compare(&m, &list[k], 0, "raw");
        test_compare(&m, &list[k], 1, "simplified");
    }
    test_module_free(&m);
}

static void nests_as_the_evaluator(void **state) {
    (void)state;
    run(true, "gcc -std=c99 -O0 -fsanitize=undefined,address -fno-sanitize-recover=all");
    run(false, "gcc -std=c99 -O3 -march=native");
}

/* An index from data that leaves the tensor ends the run with a status: the driver returns 12. */
static void index_out_of_range_ends_the_run(void **state) {
    (void)state;
    static const definition bad = {"op t in X[N,C] K[M] Y[m<M,c<C] = X[i64(K[m]),c]",
                                   BASE_I16,
                                   {{BASE_I16, "7,3", 0, 0, 0}, {BASE_I32, "5", 0, 7, 9}}};
    test_module m;
    const void *inputs[MAX_ARGUMENTS];
    test_module_init(&m, true);
    (void)test_module_add(&m, test_instantiate(m.arena, &m.diags, &bad, inputs), inputs, NULL);
    m.inputs.at[1] = inputs[1];
    test_module_emit(&m, NULL);
    assert_int_equal(test_module_run(&m, "gcc -std=c99 -O1 -fsanitize=address"), 12);
    test_module_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nests_as_the_evaluator),
        cmocka_unit_test(index_out_of_range_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
