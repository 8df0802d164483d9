/* test_instantiate.c - what definitions mean: every construct evaluated on values computed by hand, every fault of a
 * call named where it is ('^' marks the place of the first error).
 */
#include "lang/definition.h"

typedef struct example {
    const char *text, *call, *expected;
} example;

static const example arithmetic[] = {
    /* weak integers adapt to what they meet, weak floats to floats; weak with weak stays exact */
    {"op f in X:i8[N] Y[n<N] = X[n] + 1", "f i8[2]={1,127}", "2 -128"},
    {"op f in X:f32[N] Y[n<N] = X[n] + 1", "f f32[2]={1,0.5}", "2 1.5"},
    {"op f in X:f16[N] Y[n<N] = X[n] * 0.1", "f f16[1]={1}", "0.099975586"},
    {"op f in X:i32[N] Y[n<N] = 7 / 2 * X[n] - -7 / 2", "f i32[1]={10}", "34"},
    {"op f in X:i32[N] Y[n<N] = X[n] + (7 % 3 - tdiv(-7, 2) + trem(-7, 2))", "f i32[1]={0}", "3"},
    {"op f in X:u64[] Y[] = X[] + 0x7fffffffffffffff", "f u64[]={1}", "9223372036854775808"},
    {"op f in X:f64[] Y[] = X[] + 1 / 2 + 1.0 / 2", "f f64[]={0}", "0.5"},
    {"op f in X:i64[] Y[] = X[] + max(2, 5) + min(2, 5) + abs(-4) + pow(2, 10) + shl(1, 4) + shr(-5, 1) + bitand(6, 3)",
     "f i64[]={0}", "1050"},
    {"op f in X:f32[] Y[] = X[] + sqrt(16) + floor(2.5)", "f f32[]={0}", "6"},
    {"op f Y[] = 3", "f", "3"},
    {"op f Y:f32[] = 0.1", "f", "0.1"},
    {"op f Y[] = f64(f32(0.1))", "f", "0.10000000149011612"},
    {"op f Y[] = i8(300) Z[] = u8(-1) W[] = i32(2.9) -> Y, Z, W", "f", "44 | 255 | 2"},
    {"op f -> Y, Z, W Y[] = sat_i8(300) Z[] = sat_u8(-1) W[] = sat_i8(-2.5)", "f", "127 | 0 | -2"},
    {"op f Y[] = bits_i32(f32(1.0))", "f", "1065353216"},
    {"op f in X:f32[] Y[] = bits_f32(bits_i32(X[]) + 8388608)", "f f32[]={1}", "2"},
    {"op f in X:bool[N] Y[n<N] = i32(X[n]) + i32(n == 1)", "f bool[2]={1,1}", "1 2"},
    {"op f in X:T[N] Y[n<N] = T(if(X[n] > 0, 1, 0))", "f f16[2]={-1,3}", "0 1"},
    {"op f in X:i32[N] Y[n<N] = if(X[n] > 0, 1, if(X[n] < 0, -1, X[n]))", "f i32[3]={5,0,-5}", "1 0 -1"},
    {"op f in X:f32[N] Y[n<N] = X[n] * (2 * if(X[n] > 0, 1, -1) + 1)", "f f32[2]={5,-5}", "15 5"},
    {"op f in X:f32[N] Y:i16[n<N] = if(X[n] > 0, 1, -1)", "f f32[2]={5,-5}", "1 -1"},
    {"op f in X:f32[N] Y[n<N] = if(X[n] > 0, 1, -1)", "f f32[2]={5,-5}", "1 -1"},
    {"op f in X:bool[N] Y[n<N] = !X[n] == if(n == 0, true, false)", "f bool[2]={0,0}", "1 0"},
    {"op f in X:bool[N] Y[n<N] = X[n] == 1", "f bool[2]={0,1}", "0 1"},
    {"op f in X:i8[] W:i64[] Y[] = shl(X[], W[]) + shl(X[], 3) - shr(X[], W[])", "f i8[]={-3} i64[]={2}", "-35"},
    {"op f in X:i32[] Y[] = clz(X[]) + clz(i8(1))", "f i32[]={1}", "38"},
    {"op f in X:i32[] Y[] = srdhm(X[], 1073741824) + rdivpot(7, 1)", "f i32[]={10}", "9"},
    /* precedence and chains */
    {"op f in X:i32[] Y[] = 1 + 2 * X[] - 9 / 3 % 2", "f i32[]={3}", "6"},
    {"op f in X:i32[N] Y[n<N] = 0 <= X[n] < 3", "f i32[4]={-1,0,2,3}", "0 1 1 0"},
    {"op f in X:i32[N] Y[n<N] = X[n] > 1 && X[n] >= 2 || !(X[n] != -1) && true", "f i32[4]={-1,0,2,3}", "1 0 1 1"},
    {"op f in X:i32[N] Y[n<N] = -X[n] * 2", "f i32[1]={3}", "-6"},
};

static const example reads[] = {
    {"op f in X:T[N] Y[n<N] = X[n-1]?9", "f i8[3]={1,2,3}", "9 1 2"},
    {"op f in X:T[N] B:T[N] Y[n<N] = X[n+1]?B[n-1]?7", "f i8[3]={1,2,3} i8[3]={4,5,6}", "2 3 5"},
    {"op f in X:T[N,M] Y[k<N*M] = X.[N*M-1-k]", "f i8[2,2]={1,2,3,4}", "4 3 2 1"},
    {"op f in X:T[N] Y[k<3] = X.[k]?(-1)", "f i8[2]={1,2}", "1 2 -1"},
    {"op f in X:T[N] LO:T[]? HI:T[]? Y[n<N] = min(max(X[n], LO?lowest(T)), HI?highest(T))",
     "f i8[3]={-5,0,5} i8[]={-2}", "-2 0 5"},
    {"op f in X:T[N] LO:T[]? HI:T[]? Y[n<N] = min(max(X[n], LO?lowest(T)), HI?highest(T))",
     "f f32[3]={-5,0,5} - f32[]={1}", "-5 0 1"},
    {"op f in X:T[N] B:T[N]? Y[n<N] = if(has(B), 10 * B[n]?0, X[n]) + B[n]?1", "f i32[2]={1,2} i32[2]={3,4}", "33 44"},
    {"op f in X:T[N] B:T[N]? Y[n<N] = if(has(B), 10 * B[n]?0, X[n]) + B[n]?1", "f i32[2]={1,2}", "2 3"},
    {"op f in X:T[N] J:i32[M] Y[m<M] = X[i64(J[m])]", "f i8[3]={10,20,30} i32[2]={2,0}", "30 10"},
    /* ~: numpy's broadcasting */
    {"op f in X:T[I..] W:T[J..] let O.. = bc(I.., J..) Y[o..<O..] = X[~o..] + W[~o..]",
     "f i32[2,1]={10,20} i32[3]={1,2,3}", "11 12 13 21 22 23"},
    {"op f in X:T[I..] W:T[J..] let O.. = bc(I.., J..) Y[o..<O..] = X[~o..] + W[~o..]", "f i32[2]={10,20} i32[]={1}",
     "11 21"},
    {"op f in X:T[N,M] W:T[J..,1] Y[n<N,m<M] = X[n,m] * W[~catp(n), 0]", "f i32[2,2]={1,2,3,4} i32[2,1]={10,100}",
     "10 20 300 400"},
};

static const example packs[] = {
    {"op f in X:T[A..{axis},C,B..] attr axis Y[a..<A..,c<C,b..<B..] = X[a..,C-1-c,b..]",
     "f i8[2,2,2]={1,2,3,4,5,6,7,8} axis=1", "3 4 1 2 7 8 5 6"},
    {"op f in X:T[A..{axis},C,B..] attr axis Y[a..<A..,c<C,b..<B..] = X[a..,C-1-c,b..]", "f i8[3]={1,2,3} axis=0",
     "3 2 1"},
    {"op f attr p.. q.. in X:T[I..] let O.. = I.. + p.. + q.. Y[o..<O..] = X[o.. - p..]?0",
     "f i8[1,2]={1,2} p=[0,1] q=[1,0]", "0 1 2 0 0 0"},
    {"op f attr perm.. inv.. in X[I..] let O.. = I..@perm Y[o..<O..] = X[o..@inv]",
     "f i8[2,3]={1,2,3,4,5,6} perm=[1,0] inv=[1,0]", "1 4 2 5 3 6"},
    {"op f attr perm.. in X[I..] let O.. = I..@perm.. Y[k<len(O..)] = pickp(k, O..)", "f i8[2,3,4] perm=[2,0,1]",
     "4 2 3"},
    {"op f in X[I..] Y[k<prodp(I..)] = X[unflat(k, I..)]", "f i8[2,3]={1,2,3,4,5,6}", "1 2 3 4 5 6"},
    {"op f in X[I..] Y[i..<I..] = flat(i.., I..)", "f i8[2,3]", "0 1 2 3 4 5"},
    {"op f in X[I..] Y[i..<I..] = flat(rev(i..), rev(I..))", "f i8[2,3]", "0 2 4 1 3 5"},
    {"op f attr axes.. in X[I..] let O.. = if(in(#, axes), 1, I..) Y[k<len(O..)] = pickp(k, O..)",
     "f i8[2,3,4] axes=[0,2]", "1 3 1"},
    {"op f attr axes.. in X[I..] let O.. = drop(I.., axes..) Y[k<len(O..)] = pickp(k, O..)", "f i8[2,3,4] axes=[1]",
     "2 4"},
    {"op f attr axes.. in X[I..] let O.. = keep(I.., axes..) Y[k<len(O..)] = pickp(k, O..)", "f i8[2,3,4] axes=[2,0]",
     "2 4"},
    {"op f attr axes.. in X:i32[I..] let O.. = if(in(#, axes), 1, I..) let R.. = if(in(#, axes), I.., 1) Y[o..<O..] = "
     "sum[r..<R..] X[o.. + r..]",
     "f i32[2,3]={1,2,3,4,5,6} axes=[1]", "6 15"},
    {"op f in X[I..] let O.. = catp(1, I.., 2) Y[k<len(O..)] = pickp(k, O..) + 100 * at(O.., 1)", "f i8[3,4]",
     "301 303 304 302"},
    {"op f in X[I..] Y[i..<I..] = allp(i.. == 1)  Z[i..<I..] = anyp(i.. == 1) -> Y, Z", "f i8[2,2]",
     "0 0 0 1 | 0 1 1 1"},
    {"op f in X[I..] Y[i..<I..] = prodp(i.. + #)", "f i8[2,3]", "0 0 0 1 2 3"},
    {"op f in X[D..] J:i64[JJ..] attr axis Y[j..<JJ..] = X[if(# == axis, J[j..], j..)]",
     "f i8[2,2]={1,2,3,4} i64[2,2]={1,0,1,1} axis=0", "3 2 3 4"},
    {"op f attr s.. in X:i32[N] let O.. = vals(X) + s.. Y[o..<O..] = 1", "f i32[2]:{0,1} s=[2,1]", "1 1 1 1"},
    {"op f in S:i32[N] Y[k<i64(S[0])] = S[1]", "f i32[2]:{3,7}", "7 7 7"},
    {"op f in S:i64[N] Y[k<S[0]*2] = k", "f i64[1]:{2}", "0 1 2 3"},
    {"fn refl(i, n) = if(n == 1, 0, (n-1) - abs(i % (2*n-2) - (n-1))) op f attr p.. in X[I..] let O.. = I.. + 2*p.. "
     "Y[o..<O..] = X[refl(o.. - p.., I..)]",
     "f i8[3]={1,2,3} p=[2]", "3 2 1 2 3 2 1"},
    {"fn size(p..) = prodp(p..) fn twice(p..) = p.. * 2 op f in X[I..] let O.. = twice(I..) Y[k<len(O..)] = pickp(k, "
     "O..) + size(I..)",
     "f i8[2,3]", "10 12"},
    {"op f in X[I..] Y[i..<I..] = X[{ j = i..; k = I.. - 1; k - j }]", "f i8[2,2]={1,2,3,4}", "4 3 2 1"},
    {"op f in X[I..] Y[i..<I..] = { r.. = rev(i..); X[r..] }", "f i8[2,2]={1,2,3,4}", "1 3 2 4"},
    {"op f in X:T[I..] Y[] = X[I.. - 1]", "f i8[2,2]={1,2,3,4}", "4"},
    {"op f in X:T[] Y[i..<bc(1)] = X[]", "f i8[]={5}", "5"},
    {"op f in X:i64[I..] Y[] = flat(sum[k..<I..] k.., I..)", "f i64[2,3]", "15"},
    {"fn backwards(p..) = rev(drop(p.., 0)) op f attr p.. in X:i64[N] let O.. = backwards(p..) "
     "Y[n<N] = pickp(X[n], O..) + len(p..)",
     "f i64[2]={0,62} p=[" SIXTY_FOUR "]", "128 66"},
};

/* Pack words among other operations, packs inside blocks, fns, fills: their lengths are found before their values. */
static const example nested_packs[] = {
    {"op f in X[I..] let O.. = rev(I..) + 1 Y[k<len(O..)] = pickp(k, O..)", "f i8[2,3]", "4 3"},
    {"op f in X[I..] W[J..] let O.. = bc(I.., J.., 1) * 2 Y[k<len(O..)] = pickp(k, O..)", "f i8[2,1] i8[3,1,5]",
     "6 4 10"},
    {"op f in X[I..] let O.. = catp(I.., 7) - 1 Y[k<len(O..)] = pickp(k, O..)", "f i8[2,3]", "1 2 6"},
    {"op f attr a.. in X[I..] let O.. = drop(I.., a..) * 2 + keep(I.., a..) Y[k<len(O..)] = pickp(k, O..)",
     "f i8[2,3] a=[0]", "8"},
    {"op f attr a.. in X[I..] let O.. = { b.. = rev(I..); drop(b.., a..) * 2 } Y[k<len(O..)] = pickp(k, O..)",
     "f i8[2,3,4] a=[0]", "6 4"},
    {"op f in X[I..] let O.. = unflat(5, I..) + 10 Y[k<len(O..)] = pickp(k, O..)", "f i8[2,3]", "11 12"},
    {"op f attr p.. in X[I..] let O.. = I..@p * 10 Y[k<len(O..)] = pickp(k, O..)", "f i8[2,3] p=[1,0,1]", "30 20 30"},
    {"op f in X[I..] let O.. = at(I.., # * 0) + I.. Y[k<len(O..)] = pickp(k, O..)", "f i8[2,3]", "4 5"},
    {"op f in X:i64[I..] let A.. = I.. Y[] = prodp(X.[I.. - 2]?A..)", "f i64[2,3]={4,5,6,7,8,9}", "20"},
    {"op f in X:i64[I..] Y[] = prodp(X[9,9]?I..)", "f i64[2,3]={4,5,6,7,8,9}", "6"},
    {"op f in X:i64[I..] Y[] = prodp({ a = I..; a + 1 })", "f i64[2,3]", "12"},
    {"op f in X:i64[N] W[I..] Y[] = prodp(sum[n<N | n < I..] X[n])", "f i64[3]={1,2,3} i8[2,3]", "18"},
    {"fn scaled(p.., k) = p.. * k op f in X[I..] let O.. = scaled(rev(I..), # + 1) Y[k<len(O..)] = pickp(k, O..)",
     "f i8[2,3]", "3 4"},
    {"fn one(x) = x + 1 fn all_(p..) = one(p..) op f in X[I..] Y[] = flat(all_(I..), I..)", "f i8[2,3]", "13"},
    {"op f in X[I..] Y[] = flat(if(in(#, catp(0)), 1, I..), I..) + pickp(5, I..)", "f i8[2,3]", "9"},
    {"op f attr p.. in X[I..] Y[i..<I..] = allp(in(#, p) || i.. == 1)", "f i8[2,2] p=[0]", "0 1 0 1"},
    {"op f in X[A..{0},B..] Y[] = prodp(A..) Z[] = allp(A.. == 1) W[] = anyp(A.. == 1) -> Y, Z, W", "f i8[2]",
     "1 | 1 | 0"},
    {"op f in S:i32[] let O.. = vals(S) Y[o..<O..] = 1", "f i32[]:{2}", "1 1"},
};

static const example odd_ends[] = {
    {"op f in X:i8[N] B:i8[]? Y[] = if(has(B) == 0, 3, 4)", "f i8[1]", "3"},
    {"op f in X:i8[N] B:i8[]? Y[] = i32(has(B)) + i32(N == 1)", "f i8[1]", "1"},
    {"op f in X:i8[] Y[] = abs(3) + abs(X[]) + pow(-1, 5) + pow(1, -3) + pow(2, -1) + shl(3, -1)", "f i8[]={-4}", "10"},
    {"op f in X:i8[] Y[] = T(if(X[] > 0, 1.5, -2)) in W:T[]", "f i8[]={-4} f32[]", "-2"},
    {"op f in X:i8[] Y[] = f32(-if(X[] > 0, 1, if(X[] < 0, 2.5, 3)))", "f i8[]={-4}", "-2.5"},
    {"op f in X:i8[] Y[] = if(X[] > 0, 1, 2) < if(X[] < 0, 2, 1)", "f i8[]={4}", "0"},
    {"op f in X:i8[] -> Y:bool Y[] = if(X[] > 0, 1, 0)", "f i8[]={4}", "1"},
    {"op f in X:i8[] Y[] = { a = if(X[] > 0, 1, 2); sum:i32[n<2] a }", "f i8[]={4}", "2"},
    {"op f in X:f32[] Y[] = if(X[] > 0, nan, nan) != X[]", "f f32[]={4}", "1"},
    {"op f in X:f16[N] Y[] = sum[n<N | n > 5] X[n] else 3", "f f16[1]={4}", "3"},
    {"op f in X:i32[N] rec t<N | Y:i32[t] = Y[-1]?7 + X[t]", "f i32[2]={1,2}", "8 9"},
    {"op f in X:i32[N] rec t<N | Y:i32[t] = 1 + sum[u<N | X[u] > 0 && u < t] Y[u]", "f i32[3]={1,1,1}", "1 2 4"},
    {"op f in X:f32[N] Y[] = 1 / X.[0] + X.[1]", "f f32[2]:{2,3}", "3.5"},
    {"op f in X:i8[N] Y[] = X.scales[1] + X.scales[i64(X[0])]", "f i8[2]@0.5:0,0.25:0={1,1}", "0.5"},
};

static const example reductions[] = {
    {"op f in X:i32[N,M] Y[n<N] = sum[m<M] X[n,m]", "f i32[2,2]={1,2,3,4}", "3 7"},
    {"op f in X:i8[N] Y[] = sum:i32[n<N] i32(X[n])", "f i8[2]={100,100}", "200"},
    {"op f in X:i32[N] W:i32[N] Y[] = sum[n<N] X[n]*W[n]*2", "f i32[2]={1,2} i32[2]={3,4}", "22"},
    {"op f in X:i32[N] Y[] = sum[n<N] (X[n] + 1)", "f i32[2]={1,2}", "5"},
    {"op f in X:i32[N] Y[] = sum[n<N] { a = X[n]; a*a } + 1", "f i32[2]={1,2}", "6"},
    {"op f in X:f32[N] Y[] = sum[n<N] (X[n]) / 2", "f f32[2]={1,2}", "1.5"},
    {"op f in X:i32[N] Y[] = prod[n<N] X[n]", "f i32[3]={2,3,4}", "24"},
    {"op f in X:i8[N] Y[] = max[n<N] X[n] Z[] = min[n<N] X[n] -> Y, Z", "f i8[3]={2,-3,4}", "4 | -3"},
    {"op f in X:i8[N] Y[] = any[n<N] (X[n] > 3) Z[] = all[n<N] (X[n] > 3) -> Y, Z", "f i8[3]={2,-3,4}", "1 | 0"},
    {"op f in X:i8[N] Y[] = first[n<N | X[n] == 2] n Z[] = last[n<N | X[n] == 2] n -> Y, Z", "f i8[4]={0,2,2,0}",
     "1 | 2"},
    {"op f in X:i8[N] Y[] = first[n<N | X[n] == 3] n else (-1) Z[] = last[n<N | X[n] == 3] X[n] -> Y, Z",
     "f i8[2]={0,2}", "-1 | 0"},
    {"op f in X:i32[N] Y[] = sum[n<N | X[n] > 1] X[n] Z[] = sum[n<N | X[n] > 9] 1 else 7 -> Y, Z", "f i32[3]={1,2,3}",
     "5 | 7"},
    /* empty domains */
    {"op f in X:i8[N] -> A, B, C, D, E, F A[] = sum:i64[n<N] 1 B[] = prod:i32[n<N] 2 C[] = max[n<N] X[n] D[] = "
     "min[n<N] X[n] E[] = any[n<N] true "
     "F[] = all[n<N] false",
     "f i8[0]={}", "0 | 1 | -128 | 127 | 0 | 1"},
    {"op f in X:f32[N] -> A, B, C A[] = max[n<N] X[n] B[] = min[n<N] X[n] C[] = max[n<N] X[n] else 3", "f f32[0]={}",
     "-inf | inf | 3"},
    {"op f in X:f8e4m3fn[N] -> A, B A[] = max[n<N] X[n] B[] = max[n<N | false] X[n]", "f f8e4m3fn[0]={}",
     "-448 | -448"},
    /* narrow floats are summed in f32 and rounded once: 2048 + 1 + 1 in f16 would stay 2048 */
    {"op f in X:f16[N] Y[] = sum[n<N] X[n]", "f f16[3]={2048,1,1}", "2050"},
    {"op f in X:i32[N,M] Y[] = sum[n<N, m<M | m <= n] X[n,m]", "f i32[2,2]={1,2,4,8}", "13"},
    {"op f in X:i32[I..] Y[] = sum[i..<I.. | allp(i.. > 0)] X[i..]", "f i32[2,2]={1,2,4,8}", "8"},
    {"op f in X:i32[N] Y[n<N] = sum[j<n+1] X[j]", "f i32[3]={1,2,3}", "1 3 6"},
    {"op f in X:i32[N] Y[n<N] = { s = sum[j<N] X[j]; sum[j<N] (X[j] * s) + s }", "f i32[2]={1,2}", "12 12"},
    {"op f in X:i32[N] Y[] = sum[n<N] (sum[m<N | m <= n] X[m])", "f i32[3]={1,2,3}", "10"},
    {"fn dot(a, b) = a * b op f in X:i32[N] Y[] = max[n<N] dot(X[n], X[n])", "f i32[3]={-4,2,3}", "16"},
};

static const example families[] = {
    {"op f attr axis in X*:T[A..{axis},C,B..] let S = sum[k<#X] famdim(C,k)\n"
     "Y[a..<A..,c<S,b..<B..] = pick[k<#X | c < famsum(C,k)+famdim(C,k)] X#k[a..,c-famsum(C,k),b..]",
     "f i8[1,2]={1,2} i8[1,1]={3} i8[1,3]={4,5,6} axis=1", "1 2 3 4 5 6"},
    {"op f in X*:T[I..] Y[i..<I..] = sum[k<#X] X#k[i..]", "f i32[2]={1,2} i32[2]={10,20}", "11 22"},
    {"op f in X*:T[I..] Y[i..<I..] = max[k<#X] X#k[i..]", "f i32[2]={1,20} i32[2]={10,2} i32[2]={3,3}", "10 20"},
    {"op f in X*:T[N] Y[n<N] = prod:T[k<#X | k < 2] X#k[n]", "f i32[1]={3} i32[1]={5} i32[1]={7}", "15"},
    {"op f in X*:T[N] Y[n<N] = sum[k<#X | X#k[n] > 1] X#k[n]", "f i32[2]={1,2} i32[2]={3,1}", "3 2"},
    {"op f in X*:T[N] Y[n<N] = any[k<#X] (X#k[n] == 3) Z[n<N] = all[k<#X] (X#k[n] == 3) -> Y, Z",
     "f i32[2]={3,3} i32[2]={3,1}", "1 1 | 1 0"},
    {"op f in X*:T[N] let M = sum[k<#X] famdim(N,k) Y[] = #X + X#1[0] + X#1.[1] + M", "f i64[1]={3} i64[2]={5,6}",
     "16"},
    {"op f in X*:T[A..] let M = sum[k<#X] famdim(at(A..,1),k) Y[] = M + famsum(at(A..,0),2)", "f i8[2,3] i8[4,5]",
     "14"},
    {"op f in X*:i8[N] Y[n<N] = sum[k<#X] (i32(X#k[n]) - X#k.zero)", "f i8[1]@0.5:3={10} i8[1]@0.5:4={10}", "13"},
    {"op f in X*:T[N]? Y[] = (sum:i32[k<#X] (i32(X#k[0]))) + #X", "f", "0"},
    {"op f in X:T[N] -> Y*:T Y#k[n<N - k] = X[n + k]", "f i32[3]={1,2,3} >i32[3] >i32[2] >i32[1]", "1 2 3 | 2 3 | 3"},
    {"op f in X:T[N] -> Y*:T Y#k[n<N] = X[n] * T(k)", "f i8[2]={1,2} >i8[2]", "0 0"},
    {"op f in X:T[N] -> Z, Y* let A = 2 Y#k[n<N] = X[n] + k Z[n<N] = Y#1[n] * A", "f i64[1]={5} >i64 >i64 >i64",
     "12 | 5 | 6"},
};

static const example statics[] = {
    {"op f attr a b.. c:float=-1.5 d:text=\"x\" e..={4,5} in X:f32[] Y[] = X[] + a + at(b..,1) + c + if(d == \"x\", "
     "100, 0) + at(e..,0)",
     "f f32[]={0} a=1 b=[2,3]", "106.5"},
    {"op f attr a b.. c:float=-1.5 d:text=\"x\" e..={4,5} in X:f32[] Y[] = X[] + a + at(b..,1) + c + if(d == \"x\", "
     "100, 0) + at(e..,0)",
     "f f32[]={0} a=1 b=[2,3] c=2 d='y' e=[7]", "13"},
    {"op f attr a..:float in X:f32[] Y[] = X[] + at(a..,0)", "f f32[]={0} a=[0.5,1]", "0.5"},
    {"op f attr a:float in X:f32[] Y[] = X[] + a", "f f32[]={0} a=inf", "inf"},
    {"op f in X:T[N] Y[] = width(T) + if(isfloat(T), 100, 0) + if(issigned(T), 1000, 0)", "f u4[1]", "4"},
    {"op f in X:T[N] Y[] = width(T) + if(isfloat(T), 100, 0) + if(issigned(T), 1000, 0)", "f bf16[1]", "1116"},
    {"op f in X:T[N] -> Y, Z Y:T[] = lowest(T) Z:T[] = highest(T)", "f u64[1]", "0 | 18446744073709551615"},
    {"op f in X:T[N] -> Y, Z Y:T[] = lowest(T) Z:T[] = highest(T)", "f f32[1]", "-inf | inf"},
    {"op f in X:T[N] -> Y, Z Y:T[] = lowest(T) Z:T[] = highest(T)", "f f8e4m3fn[1]", "-448 | 448"},
    {"op f in X:T[N] Y[] = if(goal(\"litert\"), 1, 2)", "f i8[1]", "2"},
    {"op f in X:T[N] Y[] = if(goal(\"litert\"), 1, 2)", "f i8[1] +other +litert", "1"},
    {"op f in X:i8[N] let a = f32(0.1) let b = a * a Y[] = b", "f i8[1]", "0.010000001"},
    {"op f in X:T[N] Y[] = if(T == i8, 1, if(T == f32, 2, 3))", "f f32[1]", "2"},
    /* overloads: the first that fits */
    {"op f in X:i8[N] Y[] = 1 op f in X:T[N] when T == f32 || T == f16 Y[] = 2 op f in X:T[N,M] Y[] = 3 op f in X:T[N] "
     "Y[] = 4",
     "f i8[1]", "1"},
    {"op f in X:i8[N] Y[] = 1 op f in X:T[N] when T == f32 || T == f16 Y[] = 2 op f in X:T[N,M] Y[] = 3 op f in X:T[N] "
     "Y[] = 4",
     "f f16[1]", "2"},
    {"op f in X:i8[N] Y[] = 1 op f in X:T[N] when T == f32 || T == f16 Y[] = 2 op f in X:T[N,M] Y[] = 3 op f in X:T[N] "
     "Y[] = 4",
     "f i8[1,1]", "3"},
    {"op f in X:i8[N] Y[] = 1 op f in X:T[N] when T == f32 || T == f16 Y[] = 2 op f in X:T[N,M] Y[] = 3 op f in X:T[N] "
     "Y[] = 4",
     "f i4[1]", "4"},
    {"op f in X:T[N] -> Y:i8 Y[] = 1 op f in X:T[N] -> Y:U Y[] = U(X[0]) + 1", "f i16[1]={300} >f32", "301"},
    /* quantisation */
    {"op f in X:i8[N] -> Y:f32 Y[n<N] = (f32(X[n]) - X.zero) * X.scale", "f i8[2]@0.5:3={1,7}", "-1 2"},
    {"op f in X:i8[N] -> Y:i8 Y[n<N] = i8(X.zero + 10 * Y.zero)", "f i8[1]@0.5:3={1} >i8[1]@0.25:-2", "-17"},
    {"op f in X:i8[N] Y[n<N] = f32(X[n]) * X.scales[n] + f32(X.zeros[n]) + len(X.scales)", "f i8[2]@0.5:3,0.25:1={2,8}",
     "6 5"},
    {"op f in X:i8[N] Y[n<N] = f32(X[n]) * X.scales[n] + f32(X.zeros[n]) + len(X.scales)", "f i8[2]@0.5:3={2,8}",
     "5 8"},
    {"op f in X:i8[N] Y[] = if(has(X.scales), 1, 2)", "f i8[1]", "2"},
    {"op f in X:i8[N] Y[] = if(has(X.scales), 1, 2)", "f i8[1]@1:0", "1"},
    {"op f in X:i8[N] Y[] = f64(X.scale)", "f i8[1]@0.1:0", "0.10000000149011612"},
    /* fns see their parameters; types and tensors are values too */
    {"fn add(x, y) = x + y fn to(T, x) = T(x) op f in X:i8[N] Y[n<N] = to(f32, add(X[n], 1))", "f i8[1]={4}", "5"},
    {"fn add(a, b) = a + 10 * b op f Y[] = { a = 5; b = 7; add(b, a) }", "f", "57"},
    {"fn look(t, i) = t[i]?0 op f in X:i8[N] Y[n<N] = look(X, n - 1) + look(X, n + 1)", "f i8[3]={1,2,3}", "2 4 2"},
};

static const example recurrences[] = {
    {"op f in X:i32[N] rec t<N | Y:i32[t] = Y[t-1]?0 + X[t]", "f i32[4]={1,2,3,4}", "1 3 6 10"},
    {"op f in X:i32[N] -> Y:i32 rec t<N | Y[t<N] = Y[t-1]?1 * X[t]", "f i32[3]={2,3,4}", "2 6 24"},
    {"op f in X:i32[N] rec t<N | A:i32[t,k<2] = B[t-1,k]?(i32(k)) + X[t] | B:i32[t,k<2] = A[t,1-k] * 2 Y[k<2] = "
     "B[N-1,k]",
     "f i32[2]={1,2}", "8 12"},
    /* Fibonacci: two steps back */
    {"op f in X:i32[N] rec t<N | Y:i32[t] = Y[t-1]?1 + Y[t-2]?0", "f i32[6]", "1 1 2 3 5 8"},
    /* any earlier step, under a guard that says so */
    {"op f in X:i32[N] rec t<N | Y:i32[t] = 1 + sum[u<N | u < t && X[u] < X[t]] Y[u]", "f i32[3]={1,2,3}", "1 2 4"},
    {"op f in X:i32[N] rec t<N | Y:bool[t] = !(any[u<N | u <= t - 1 && Y[u]] (X[u] == X[t]))", "f i32[4]={5,5,6,6}",
     "1 0 1 0"},
    {"op f in X:i32[N] rec t<N | Y:i32[k<2,t] = (if(t > 0, Y[1-k,t-1]?0, i32(k))) + X[t]", "f i32[2]={10,20}",
     "10 31 11 30"},
};

/* Stages with an extent that a run decides: dims are the actual ones. */
static const example dynamic[] = {
    {"op f in X:i32[N] R:i64[n<N] = sum[j<n] (if(X[j] != 0, 1, 0)) CNT:i64[] = min(sum[j<N] (if(X[j] != 0, 1, 0)), N)\n"
     "Y[u<CNT[]] = first[n<N | X[n] != 0 && R[n] == u] n",
     "f i32[5]={0,7,0,0,8}", "1 4"},
};

static void check(const example *e, size_t n) {
    for (size_t k = 0; k < n; k++)
        definition_gives(e[k].text, e[k].call, e[k].expected);
}
#define CHECK(list) check(list, sizeof list / sizeof *list)

static void test_arithmetic(void **state) {
    (void)state;
    CHECK(arithmetic);
}
static void test_reads(void **state) {
    (void)state;
    CHECK(reads);
}
static void test_packs(void **state) {
    (void)state;
    CHECK(nested_packs);
    CHECK(odd_ends);
    CHECK(packs);
}
static void test_reductions(void **state) {
    (void)state;
    CHECK(reductions);
}
static void test_families(void **state) {
    (void)state;
    CHECK(families);
}
static void test_statics(void **state) {
    (void)state;
    CHECK(statics);
}
static void test_recurrences(void **state) {
    (void)state;
    CHECK(recurrences);
}
static void test_dynamic(void **state) {
    (void)state;
    CHECK(dynamic);
}

/* '^' marks the first error. */
static const struct {
    const char *text, *call, *words;
} faults[] = {
    /* the call */
    {"^op f in X[N] Y[] = 1", "f", "the input X is missing"},
    {"^op f in X[N] Y[] = 1", "f f32[1] f32[1]", "2 inputs are given, and the definition has 1"},
    {"^op f in X[N] Y[] = 1", "f f32[1,2]", "X has rank 2, 1 too many"},
    {"^op f in X[N,M] Y[] = 1", "f f32[1]", "X has rank 1, which the extents of its definition do not fit"},
    {"^op f in X[A..{2},B..] Y[] = 1", "f f32[1]", "X has rank 1"},
    {"^op f attr n in X[A..{n}] Y[] = 1", "f f32[1] n=-1", "X has rank 1"},
    {"^op f in X[A..,B..] Y[] = 1", "f f32[1]", "two packs without a stated length"},
    {"^op f in X[N] W[N] Y[] = 1", "f f32[1] f32[2]", "W: extent N is 2, and must be 1"},
    {"^op f in X[I..] W[I..] Y[] = 1", "f f32[1] f32[2,3]", "W has rank 2, 1 too many"},
    {"^op f in X[3] Y[] = 1", "f f32[4]", "X: extent 0 is 4, and must be 3"},
    {"^op f in X[N,(2*N)] Y[] = 1", "f f32[4,9]", "X: extent 1 is 9, and must be 8"},
    {"^op f in X:i8[N] Y[] = 1", "f f32[4]", "X is f32, and must be i8"},
    {"^op f in X:T[N] W:T[N] Y[] = 1", "f f32[4] i8[4]", "W is i8, and must be f32"},
    {"^op f in X[N] -> Y:i8 Y[] = i8(1)", "f f32[4] >f32", "Y is f32, and must be i8"},
    {"^op f in X[N] Y[] = 1", "f f32[4] >i64 >i64", "2 outputs are wanted, and the definition has 1"},
    {"op f in X[N] -> ^Y Y[] = 1", "f f32[4] >i8", "output Y is i8, and the definition gives i64"},
    {"op f in X[N] -> ^Y Y[n<N] = 1", "f f32[4] >i64[3]", "output Y is [3], and the definition gives [4]"},
    {"op f in X[N] -> ^Y Y[n<N] = 1", "f f32[4] >i64[4,1]", "output Y is [4,1], and the definition gives [4]"},
    {"^op f attr a in X[N] Y[] = 1", "f f32[4]", "attribute 'a' is missing"},
    {"^op f attr stride in X[N] Y[] = 1", "f f32[4] stride=1 strde=2",
     "there is no attribute 'strde'; did you mean 'stride'?"},
    {"^op f attr a in X[N] Y[] = 1", "f f32[4] a=1.5", "attribute 'a' must be an integer"},
    {"^op f attr a in X[N] Y[] = 1", "f f32[4] a=[1]", "attribute 'a' must be an integer"},
    {"^op f attr a.. in X[N] Y[] = 1", "f f32[4] a=1", "attribute 'a' must be a list of integers"},
    {"^op f attr a.. in X[N] Y[] = 1", "f f32[4] a=[" SIXTY_FOUR ",65]", "of at most 64 entries"},
    {"^op f attr a:text in X[N] Y[] = 1", "f f32[4] a=1", "attribute 'a' must be a text"},
    {"^op f in X*:T[N] Y[] = 1", "f", "X must have at least one member"},
    {"^op f in X*:T[N] Y[] = 1", "f f32[2] f32[3]", "X#1: extent N is 3, and must be 2"},
    {"^op f in X*:T[N] Y[] = 1", "f f32[2] i8[2]", "X#1 is i8, and must be f32"},
    {"^op f in X*:T[N] Y[] = 1", "f f32[2] -", "X#1 is absent"},
    {"^op f in X[N] when N > 3 Y[] = 1", "f f32[2]", "its condition (when) does not hold"},
    {"^op f in X:i32[N] when X[0] > 3 Y[] = 1", "f i32[2]", "the condition of an overload must be static"},
    {"^op f in X:i8[N] Y[] = 1 op f in X[N,M] Y[] = 1", "f f32[2]", "none of the 2 definitions fits; (i8) would"},
    {"^op f in X:T[N] W:U[N] when T == i8 && U == T || T == i16 && U == i8 -> Y:T Y[] = 1 op f in X[N] Y[] = 1",
     "f i16[2] i16[2] >i16", "none of the 2 definitions fits; (i16, i8) would"},
    {"^op f in X:T[N] when T == i8 || T == u8 Y[] = 1", "f f32[2]",
     "its condition (when) does not hold; (i8), (u8) would"},
    {"op f in X[N] ^chk N == 3 \"three are needed\" Y[] = 1", "f f32[2]", "f: three are needed"},
    {"op f in X[N] ^chk N == 3 Y[] = 1", "f f32[2]", "a check of the definition fails"},
    {"op f in X:i32[N] chk X[0] ^== 3 Y[] = 1", "f i32[2]", "chk must be static"},
    {"op f in X:i32[N] chk ^N Y[] = 1", "f i32[2]", "chk must be a condition, found the constant 2"},
    {"op f in X:i32[N] let k = ^X[0] Y[] = 1", "f i32[2]", "let k must be static"},
    {"op f in X:i32[N] ^let N = 2 Y[] = 1", "f i32[2]", "'N' is defined already"},
    /* names */
    {"op f in X[N] Y[] = ^Q", "f f32[2]", "there is no name 'Q' here"},
    {"op f attr stride in X[N] Y[] = ^strid", "f f32[2] stride=1", "did you mean 'stride'?"},
    {"op f in X[N] Y[] = ^Q[0]", "f f32[2]", "there is no tensor 'Q'"},
    {"op f in X[N] Y[] = ^g(1)", "f f32[2]", "there is no word, type or fn 'g'"},
    {"op f in X[N] Y[] = ^U(1)", "f f32[2]", "there is no word, type or fn 'U'"},
    {"op f in X[N] Y[] = ^sat_U(1)", "f f32[2]", "there is no type 'U' here"},
    {"op f in X[N] Y[] = ^sum:U[n<N] 1", "f f32[2]", "there is no type 'U' here"},
    {"op f in X[N] Y[] = flat(^i.., N)", "f f32[2]", "there is no pack 'i'"},
    {"op f in X[N] Y[n<N] = ^n[0]", "f f32[2]", "'n' is no tensor"},
    {"op f in X:f32[] Y[] = X ^+ 1", "f f32[]", "+ cannot take the tensor X (an element of it is X[...])"},
    {"fn g(x) = ^N op f in X[N] Y[] = g(1)", "f f32[2]", "there is no name 'N' here"},
    {"fn g(x) = ^X[0] op f in X[N] Y[] = g(1)", "f f32[2]", "there is no tensor 'X'"},
    {"fn g(x) = x op f in X[N] Y[] = ^g(1, 2)", "f f32[2]", "the fn g takes 1 argument, not 2"},
    {"fn g(x) = ^h(x) fn h(x) = g(x) op f in X[N] Y[] = h(1)", "f f32[2]", "the fn h uses itself"},
    /* types */
    {"op f in X:f32[] Y[] = X[] ^+ i32(1)", "f f32[]", "+ cannot take f32 and i32"},
    {"op f in X:i8[] Y[] = X[] ^+ 1.5", "f i8[]", "must be i8, found the constant 1.5"},
    {"op f in X:i8[] Y[] = X[] ^+ 128", "f i8[]", "the constant 128 does not fit i8"},
    {"op f in X:u8[] Y[] = X[] ^+ -1", "f u8[]", "the constant -1 does not fit u8"},
    {"op f in X:bool[] Y[] = X[] ^+ 1", "f bool[]", "+ cannot take bool"},
    {"op f in X:i8[] Y[] = ^exp(X[])", "f i8[]", "exp cannot take i8"},
    {"op f in X:f32[] Y[] = ^clz(X[])", "f f32[]", "clz cannot take f32"},
    {"op f in X:f32[] Y[] = ^clz(1)", "f f32[]", "state the type"},
    {"op f in X:i32[] Y[] = ^shl(1, X[])", "f i32[]", "state the type"},
    {"op f in X:i32[] Y[] = ^bits_f64(X[])", "f i32[]", "the widths differ"},
    {"op f in X:i32[] Y[] = ^bits_f64(1.0)", "f i32[]", "state its type"},
    {"op f in X:i32[] Y[] = if(^X[], 1, 2)", "f i32[]", "must be a condition, found i32"},
    {"op f in X:i32[] Y[] = ^X[] && true", "f i32[]", "must be a condition, found i32"},
    {"op f in X:i32[] Y[] = !^X[]", "f i32[]", "must be a condition, found i32"},
    {"op f in X:i32[] Y[] = ^if(X[] > 0, X[], i8(1))", "f i32[]", "the two sides of if are i32 and i8"},
    {"op f in X:i32[] Y[] = ^if(X[] > 0, i8, 1)", "f i32[]", "a run cannot choose between a type and the constant 1"},
    {"op f in X:i32[N] Y[] = X[^X[0]]", "f i32[1]", "an index must be i64, found i32"},
    {"op f in X:i8[N] Y[] = X[0]?(^f32(1))", "f i8[1]", "the fill must be i8, found f32"},
    {"op f in X:i8[N] Y:i32[] = ^X[0]", "f i8[1]", "the value of Y must be i32, found i8"},
    {"op f in X:i8[N] Y[] = ^1.5", "f i8[1]", "the value of Y is a constant without a type"},
    {"op f in X:i8[N] -> Y:i8 ^Y:i32[] = 1", "f i8[1]", "Y is stated as i32, and as output as i8"},
    {"op f in X:i8[N] Y[] = \"a\" ^+ 1", "f i8[1]", "+ cannot take a text and the constant 1"},
    {"op f in X:i8[N] Y[] = ^\"a\"", "f i8[1]", "must be a value, found a text"},
    /* static values */
    {"op f in X:i8[N] Y[] = N ^/ 0", "f i8[1]", "division of constants by zero"},
    {"op f in X:i8[N] Y[] = 9223372036854775807 ^+ N", "f i8[1]", "the constant leaves 64 bits"},
    {"op f in X:i8[N] Y[] = ^pow(2, 63)", "f i8[1]", "the constant leaves 64 bits"},
    {"op f in X:i8[N] Y[] = ^shl(1, 63)", "f i8[1]", "the constant leaves 64 bits"},
    /* reads */
    {"op f in X:i8[N] Y[] = ^X[0,0]", "f i8[1]", "X has 1 dimension, and the read 2 indices"},
    {"op f in X:i8[N,M] Y[] = ^X[0]", "f i8[1,1]", "X has 2 dimensions, and the read 1 index"},
    {"op f in X:i8[N,M] Y[i..<catp(1)] = X[^~i..]", "f i8[1,2]",
     "X has 2 dimensions here, and the pack after '~' 1 entries"},
    {"op f in X:i8[N] B:i8[]? Y[] = ^B[]", "f i8[1]", "the optional input B is absent"},
    {"op f in X:i8[N] Y[] = ^Z[] Z[] = 1", "f i8[1]", "there is no tensor 'Z'"},
    {"op f in X:i8[N] -> Y, Z Y[] = ^Z[] Z[] = 1", "f i8[1]", "the stage Z is read before it is defined"},
    {"op f in X:i8[N] -> Y, Z Y[] = ^Z[]?1 Z[] = 1", "f i8[1]", "the stage Z is read before it is defined"},
    {"op f in X*:i8[N] Y[] = ^X[0]", "f i8[1]", "X is a family"},
    {"op f in X*:i8[N] Y[] = X#^1[0]", "f i8[1]", "X has no member 1, only 1"},
    {"op f in X:i8[N] Y[] = ^X#0[0]", "f i8[1]", "X is no family"},
    {"op f in X:i8[N] Y[] = ^#X", "f i8[1]", "'X' is no family"},
    {"op f in X:i8[N] Y[] = sum[k<^#X] 1", "f i8[1]", "'X' is no family"},
    {"op f in X:i8[N] Y[] = ^X.scale", "f i8[1]", "X has no quantisation"},
    {"op f in X:i8[N] Y[] = ^X.zero", "f i8[2]@1:0,2:0", "X has 2 scales: read X.zeros[...]"},
    {"op f in X:i8[N] Y[] = ^X.scales", "f i8[2]@1:0,2:0", "X.scales is a list"},
    /* packs */
    {"op f in X:i8[I..] Y[] = ^I..", "f i8[1,2]", "the pack 'I..' stands where one value is wanted"},
    {"op f in X:i8[I..] Y[] = ^#", "f i8[1,2]", "'#' is the position inside a pack"},
    {"op f in X:i8[I..] let O.. = I.. ^+ catp(1,2,3) Y[] = 1", "f i8[1,2]", "packs of 2 and of 3 entries meet"},
    {"op f in X:i8[I..] let O.. = ^# let P.. = O.. + I.. Y[o..<P..] = X[o..]", "f i8[1,2]",
     "'#' is the position inside a pack"},
    {"op f in X:i8[I..] Y[] = ^flat(I.., catp(1,2,3))", "f i8[1,2]", "flat of 2 indices over 3 extents"},
    {"op f in X:i8[I..] Y[] = ^at(I.., 2)", "f i8[1,2]", "position 2 is outside a pack of 2 entries"},
    {"op f in X:i8[I..] attr p.. let O.. = ^I..@p Y[] = 1", "f i8[1,2] p=[0,2]",
     "position 2 is outside the pack 'I..' of 2 entries"},
    {"op f in X:i8[I..] W:i8[J..] let O.. = ^bc(I.., J..) Y[] = 1", "f i8[2] i8[3]",
     "extents 2 and 3 cannot be broadcast together"},
    {"op f in X:i32[N] let O.. = ^vals(X) Y[] = 1", "f i32[2]", "the values of X: it must be constant"},
    {"op f in X:f32[N] let O.. = ^vals(X) Y[] = 1", "f f32[2]:{1,2}", "the values of X: its elements are no integers"},
    {"op f attr p.. in X:i8[A..] let O.. = ^catp(p.., A..) Y[] = 1", "f i8[1,1,1,1] p=[" SIXTY_FOUR "]",
     "a pack of 68 entries; the limit is 64"},
    {"op f in X:i8[A..] W:i64[] let k = in(^W[], A..) Y[] = 1", "f i8[1] i64[]", "must be constant"},
    {"op f in X*:i8[N] Y[] = famdim(^M, 0)", "f i8[1]", "no family has the extent 'M'"},
    {"op f in X*:i8[N] Y[] = ^famdim(N, 1)", "f i8[1]", "X has no member 1"},
    {"op f in X:i8[I..] Y[] = ^rev(I..)", "f i8[1]", "rev gives a pack, and one value is wanted"},
    {"op f in X:i8[I..] attr p.. Y[] = ^I..@p", "f i8[1] p=[0]", "stands where one value is wanted"},
    {"op f in X:i8[I..] Y[] = prodp(^J.. + 1)", "f i8[1]", "there is no pack 'J'"},
    {"op f in X:i8[I..] Y[] = prodp(^I..@q)", "f i8[1]", "there is no pack 'q'"},
    {"op f in X:i8[A..{0},B..] Y[] = ^pickp(X[0], A..)", "f i8[1]", "pickp of an empty pack"},
    {"op f in X:i8[A..] Y[] = in(0, ^Q)", "f i8[1]", "there is no pack 'Q'"},
    {"op f in X:i32[N]? let O.. = ^vals(X) Y[] = 1", "f -", "it is absent"},
    {"op f in X:i32[N,M] let O.. = ^vals(X) Y[] = 1", "f i32[1,1]:{1}", "it has more than one dimension"},
    {"op f in X:i8[N] let O.. = ^vals(X) Y[] = 1", "f i8[65]:{" SIXTY_FOUR ",65}", "too many elements"},
    {"op f in X*:i8[A..] Y[] = famdim(^at(A.., 1), 0)", "f i8[1]", "position 1 is outside the pack 'A..'"},
    {"op f in X:i8[I..] let O.. = { b.. = I..; drop(I.., ^b..) + 1 } Y[] = 1", "f i8[1,2]",
     "the length of a pack cannot depend on 'b'"},
    {"op f in X:i8[I..] let O.. = catp(I..) ^+ catp(I.., I..) Y[] = 1", "f i8[1,2]",
     "packs of 2 and of 4 entries meet"},
    {"op f attr p.. in X:i8[I..] Y[] = prodp(^catp(I.., p..) + 1)", "f i8[1,2,1,1] p=[" SIXTY_FOUR "]",
     "a pack of 68 entries"},
    {"op f in X:i8[N] Y[] = ^i8(X)", "f i8[1]", "cannot be converted to i8"},
    {"op f in X:i8[N] Y[] = ^i8(i8)", "f i8[1]", "a type cannot be converted to i8"},
    {"op f in X:f32[] Y[] = ^shl(X[], 1)", "f f32[]", "shl cannot take f32 and the constant 1"},
    {"op f in X:bool[] Y[] = X[] ^== 2", "f bool[]", "the constant 2 is no bool"},
    {"op f in X:bool[] Y[] = true ^+ if(X[], 1, 2)", "f bool[]", "+ cannot take a condition and the constant"},
    {"^op f attr T in X:T[N] Y[] = 1", "f i8[1] T=1", "'T' is no type"},
    {"op f in X*:i8[N] Y[] = ^X.scale", "f i8[1]", "X is a family"},
    {"op f in X*:f16[N] Y[n<N] = ^sum[k<#X] X#k[n]", "f f16[1]",
     "a sum or product of f16 over members: state the type"},
    {"op f in X*:i32[N] Y[n<N] = ^max[k<#X | X#k[n] > 1] X#k[n]", "f i32[1]",
     "the guard of the first member must be static"},
    {"op f in X*:i32[N] Y[n<N] = ^max[k<#X | k > 5] X#k[n]", "f i32[1]", "no member of X is taken"},
    {"fn g(T, x) = ^T(x, 1) op f in X:i8[N] Y[] = g(i8, X[0])", "f i8[1]", "a conversion takes 1 argument, not 2"},
    {"op f in X:i8[N] Y[] = { a = 1; ^b }", "f i8[1]", "there is no name 'b'"},
    /* reductions */
    {"op f in X:i8[N] Y[] = ^sum[n<N] X[n]", "f i8[1]", "state i32 or i64"},
    {"op f in X:i8[N] Y[] = sum:i32[n<N] ^X[n]", "f i8[1]", "the body of the reduction must be i32, found i8"},
    {"op f in X:i8[N] Y[] = ^any[n<N] X[n]", "f i8[1]", "any and all are of conditions"},
    {"op f in X:bool[N] Y[] = ^sum[n<N] X[n]", "f bool[1]", "conditions are reduced with any or all"},
    {"op f in X:f32[N] Y[] = sum[n<N] ^1.5", "f f32[1]", "is a constant without a type"},
    {"op f in X:i32[N] Y[] = sum[n<N | ^X[n]] 1", "f i32[1]", "must be a condition"},
    {"op f in X:i32[N] Y[] = sum[n<^-1] 1", "f i32[1]", "an extent cannot be -1"},
    {"op f in X:i32[N] Y[] = sum[n<^X[0]] 1", "f i32[1]", "an extent must be i64"},
    {"op f in X:i32[N] Y[] = first[n<N] X[n] else (^f32(1))", "f i32[1]",
     "the else of the reduction must be i32, found f32"},
    /* extents of stages */
    {"op f in X:i32[N] Y[n<N ^- 5] = 1", "f i32[1]", "an extent cannot be -4"},
    {"op f in X:i32[N] Y[n<N, m<^n] = 1", "f i32[1]", "there is no name 'n'"},
    {"op f in X:i64[N] C[] = X[0] Y[m<^C[]] = 1", "f i64[1]", "has no bound"},
    /* recurrences */
    {"op f in X:i32[N] rec t<N | Y:i32[t] = ^Y[t]", "f i32[1]", "Y must be read at an earlier step"},
    {"op f in X:i32[N] rec t<N | Y:i32[t] = ^Y[t+1]?0", "f i32[1]", "Y must be read at an earlier step"},
    {"op f in X:i32[N] rec t<N | Y:i32[t] = ^Y[0]", "f i32[1]", "Y must be read at an earlier step"},
    {"op f in X:i32[N] rec t<N | A:i32[t] = ^Y[t] | Y:i32[t] = A[t]", "f i32[1]", "Y must be read at an earlier step"},
    {"op f in X:i32[N] rec t<N | A:i32[t] = 1 | Y:i32[t] = ^A[t+1]?0", "f i32[1]",
     "A must be read at an earlier step or at this one"},
    {"op f in X:i32[N] rec t<N | Y:i32[t] = sum[u<N | u <= t] ^Y[u]", "f i32[1]", "Y must be read at an earlier step"},
    {"op f in X:i32[N] rec t<N | Y[t] = ^Y[t-1]?0 + X[t]", "f i32[1]",
     "the stage Y is read before its value is known: state its type"},
    {"op f in X:i32[N] rec t<N | Y:i32[t] = ^Y.[t-1]?0", "f i32[1]", "read by its indices"},
};

static void test_faults(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
        definition_fails(faults[k].text, faults[k].call, faults[k].words);
}

static void test_unknown_operator(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    assert_int_equal(definition_call(&f, "nothing f32[1]"), BASE_REFUSED);
    assert_string_equal(f.diags.list.at[0].message, "there is no operator 'nothing'");
    definition_end(&f);
}

/* Stages fail one by one; what reads a failed one is silent. */
static void test_two_errors(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    definition_parse(&f, "op f in X:i8[N]\nA[n<N] = X[n] + q\nB[n<N] = A[n] + 1\nY[n<N] = X[n] + f32(1) + B[n]\n");
    assert_int_equal(definition_call(&f, "f i8[2]"), BASE_REFUSED);
    assert_int_equal(f.diags.errors, 2);
    assert_int_equal(f.diags.list.at[0].line, 2);
    assert_int_equal(f.diags.list.at[1].line, 4);
    assert_int_equal(f.diags.list.at[2].severity, BASE_NOTE);
    assert_string_equal(f.diags.list.at[2].message, "while instantiating f(i8[2]), defined at line 1");
    definition_end(&f);
}

/* A check that fails is the caller's fault: the place of the call, then the definition's. */
static void test_place_of_the_call(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    definition_parse(&f, "op f in X:i8[N] chk N == 3 \"three are needed\" Y[] = 1");
    const base_place place = {.file = "m.tflite", .path = "subgraph[0]/operator[3] F", .byte = 16, .has_byte = true};
    const lang_argument input = {.present = true, .type = BASE_I8, .shape = ir_shape_of(1, (const int64_t[]){2})};
    const lang_call call = {.op = "f", .inputs = &input, .input_count = 1, .place = &place};
    assert_int_equal(lang_instantiate(f.arena, f.lib, &call, &f.program, &f.diags), BASE_REFUSED);
    assert_string_equal(f.diags.list.at[0].file, "m.tflite");
    assert_string_equal(f.diags.list.at[0].path, "subgraph[0]/operator[3] F");
    assert_string_equal(f.diags.list.at[1].file, "test");
    assert_int_equal(f.diags.list.at[1].column, 17);
    definition_end(&f);
}

/* Arguments that no reader of files gives, from a caller of the library. */
static void test_arguments_are_checked(void **state) {
    (void)state;
    static const struct {
        lang_argument argument;
        const char *words;
    } cases[] = {
        {{.present = true, .type = BASE_NONE}, "it has no type"},
        {{.present = true, .type = BASE_I8, .shape = {.rank = 9}}, "its rank is too large"},
        {{.present = true, .type = BASE_I8, .shape = {.rank = 1, .dim = {-1}}}, "it has a negative extent"},
        {{.present = true, .type = BASE_I8, .shape = {.rank = 1, .dim = {4}, .symbol = {1}}}, "a symbolic extent"},
        {{.present = true, .type = BASE_I8, .shape = {.rank = 2, .dim = {INT64_MAX, 3}}}, "too many elements"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        definition f;
        definition_begin(&f);
        definition_parse(&f, "op f in X[I..] Y[] = 1");
        const lang_call call = {.op = "f", .inputs = &cases[k].argument, .input_count = 1};
        assert_int_equal(lang_instantiate(f.arena, f.lib, &call, &f.program, &f.diags), BASE_REFUSED);
        assert_non_null(strstr(definition_report(&f), cases[k].words));
        definition_end(&f);
    }
}

/* An input that the call leaves open has the type and the extents that the definition says by what stands before it. */
static void test_open_inputs(void **state) {
    (void)state;
    static const struct {
        const char *text, *words; /* NULL: i16[2,3,5] */
    } cases[] = {
        {"op f in X:T[A..,N] S:T[A..,(N + 1)] Y[] = S[0,0,0]", NULL},
        {"op f in X:T[A..,N] S[A..] Y[] = 1", "nothing says the type of S"},
        {"op f in X:T[A..,N] S:U[A..] Y[] = 1", "U"},
        {"op f in X:T[A..,N] S:T[M] Y[] = 1", "nothing says the extent M of S"},
        {"op f in X:T[A..,N] S:T[(1 - N)] Y[] = 1", "negative extent"},
        {"op f in X:T[A..,N] S:T[A..,A..,A..,A..,A..] Y[] = 1", "S has too many extents"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        definition f;
        definition_begin(&f);
        definition_parse(&f, cases[k].text);
        const lang_argument inputs[] = {
            {.present = true, .type = BASE_I16, .shape = ir_shape_of(3, (const int64_t[]){2, 3, 4})},
            {.present = true, .open = true}};
        const lang_call call = {.op = "f", .inputs = inputs, .input_count = 2};
        base_status status = lang_instantiate(f.arena, f.lib, &call, &f.program, &f.diags);
        if (cases[k].words) {
            assert_int_equal(status, BASE_REFUSED);
            assert_non_null(strstr(definition_report(&f), cases[k].words));
        } else {
            assert_int_equal(status, BASE_OK);
            const lang_tensor *s = &f.program->tensors.at[f.program->inputs.at[1]];
            assert_int_equal(s->type, BASE_I16);
            assert_int_equal(s->rank, 3);
            assert_int_equal(s->dim[0], 2);
            assert_int_equal(s->dim[2], 5);
        }
        definition_end(&f);
    }
}

static void test_chain_of_fns_in_an_error(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    definition_parse(&f, "fn inner(x) = exp(x)\nfn outer(x) = inner(x) + 1\nop f in X:i8[N]\nY[n<N] = outer(X[n])\n");
    assert_int_equal(definition_call(&f, "f i8[2]"), BASE_REFUSED);
    const unsigned lines[] = {1, 2, 4};
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(f.diags.list.at[k].line, lines[k]);
    assert_string_equal(f.diags.list.at[1].message, "in the fn inner, called here");
    definition_end(&f);
}

static size_t nodes_of(const char *text, const char *call, uint32_t *vars) {
    definition f;
    definition_begin(&f);
    if (definition_parse(&f, text) != BASE_OK || definition_call(&f, call) != BASE_OK)
        fail_msg("%s\n%s", text, definition_report(&f));
    const size_t n = f.program->nodes.n;
    if (vars)
        *vars = f.program->stages.at[0].var_count;
    definition_end(&f);
    return n;
}

/* The argument of an fn is bound once, and equal expressions are one node: forty doublings are forty nodes. */
static void test_sharing(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    base_text t = {f.arena, NULL, 0, 0};
    base_puts(&t, "fn d(x) = x + x op f in X:i32[] Y[] = ");
    for (int k = 0; k < 40; k++)
        base_puts(&t, "d(");
    base_puts(&t, "X[]");
    for (int k = 0; k < 40; k++)
        base_puts(&t, ")");
    assert_true(nodes_of(t.at, "f i32[]", NULL) < 60);
    definition_end(&f);
    /* the same reduction twice: the same node, one variable */
    uint32_t vars;
    const size_t once = nodes_of("op f in X:i32[N] Y[] = sum[n<N] X[n]", "f i32[3]", NULL);
    assert_int_equal(nodes_of("op f in X:i32[N] Y[] = (sum[n<N] X[n]) * (sum[k<N] X[k])", "f i32[3]", &vars), once + 1);
    assert_int_equal(vars, 1);
    /* one inside the other, by a name: two variables, for their loops are nested */
    (void)nodes_of("op f in X:i32[N] Y[] = { s = sum[n<N] X[n]; sum[n<N] (X[n] * s) }", "f i32[3]", &vars);
    assert_int_equal(vars, 2);
}

static void refuses(const char *text, const char *call, uint64_t node_limit, const char *words) {
    definition f;
    definition_begin(&f);
    if (definition_parse(&f, text) != BASE_OK)
        fail_msg("%s", definition_report(&f));
    const lang_argument input = {.present = true, .type = BASE_I32, .shape = ir_shape_of(1, (const int64_t[]){4})};
    const lang_call c = {.op = call, .inputs = &input, .input_count = 1, .node_limit = node_limit};
    assert_int_equal(lang_instantiate(f.arena, f.lib, &c, &f.program, &f.diags), BASE_REFUSED);
    if (!strstr(f.diags.list.at[0].message, words))
        fail_msg("%s", definition_report(&f));
    definition_end(&f);
}

static void test_limits(void **state) {
    (void)state;
    /* 2^40 expansions by fns that double their text */
    definition f;
    definition_begin(&f);
    base_text t = {f.arena, NULL, 0, 0};
    base_puts(&t, "fn g0(x) = x ");
    for (int k = 1; k <= 40; k++)
        base_put(&t, "fn g%d(x) = g%d(x) + g%d(x) ", k, k - 1, k - 1);
    base_puts(&t, "op f in X:i32[N] Y[n<N] = g40(X[n])");
    refuses(t.at, "f", 0, "too large");
    base_text u = {f.arena, NULL, 0, 0};
    base_puts(&u, "fn g0(x) = x ");
    for (int k = 1; k <= 80; k++)
        base_put(&u, "fn g%d(x) = g%d(x) ", k, k - 1);
    base_puts(&u, "op f in X:i32[N] Y[n<N] = g80(X[n])");
    refuses(u.at, "f", 0, "more than 64 fns inside one another");
    definition_end(&f);
    refuses("op f in X:i32[N] Y[n<N] = X[n]*X[n] + X[n]*3 + X[n]*X[n]*X[n]", "f", 8, "more than 8 nodes");
    refuses("op f in X:i32[N] Y[a<65536, b<65536, c<65536, d<2] = 1", "f", 0, "too many elements");
    refuses("op f in X:i32[N] Y[i..<catp(1,1,1,1,1,1,1,1), j..<catp(1,1,1,1,1,1,1,1,1)] = 1", "f", 0,
            "at most 16 dimensions");
    refuses("op f in X:i32[N] let P.. = catp(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16) "
            "Y[] = sum[a..<P.., b..<P.., c..<P.., d..<P.., e<2] 1",
            "f", 0, "at most 64 variables");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_packs),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_statics),
        cmocka_unit_test(test_recurrences),
        cmocka_unit_test(test_dynamic),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_unknown_operator),
        cmocka_unit_test(test_two_errors),
        cmocka_unit_test(test_place_of_the_call),
        cmocka_unit_test(test_chain_of_fns_in_an_error),
        cmocka_unit_test(test_arguments_are_checked),
        cmocka_unit_test(test_open_inputs),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
