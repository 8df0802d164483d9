/* test_parse.c - the parser of definitions: every production accepted, every fault named where it is.
 *
 * In the table of faults '^' marks the place that the first error must name.
 */
#include "lang/definition.h"

static const struct {
    const char *text, *words;
} faults[] = {
    /* items */
    {"^x", "expected 'op' or 'fn', found 'x'"},
    {"fn f(x) = x\n+ 1 ^)", "expected an operator, or 'op' or 'fn'"},
    {"^Y[n<N] = 1", "expected 'op' or 'fn'"},
    {"op^", "expected the name of the operator, found the end of the text"},
    {"op ^3", "expected the name of the operator, found '3'"},
    {"op f\n^1", "expected a clause"},
    {"op f in X[N] -> ^Z Y[n<N] = X[n]", "output 'Z' has no stage"},
    {"^op f in X[N] Z[n<N] = X[n]", "output 'Y' has no stage"},
    {"fn ^max(x) = x", "'max' is a word of the language"},
    {"fn ^exp(x) = x", "'exp' is a word of the language"},
    {"fn ^i8(x) = x", "'i8' is a word of the language"},
    {"fn ^sat_i8(x) = x", "'sat_i8' is a word of the language"},
    {"fn ^flat(x) = x", "'flat' is a word of the language"},
    {"fn f^", "expected '(' and the parameters"},
    {"fn f(x ^y) = x", "expected ',' or ')'"},
    {"fn f(x, ^x) = x", "parameter 'x' is stated twice"},
    {"fn f(x) ^x", "expected '=' and the body"},
    {"fn f(x) = x\nfn ^f(y) = y", "fn 'f' is defined already"},
    {"fn f(x) = ^", "expected an expression, found the end of the text"},
    /* attributes */
    {"op f attr ^in X[N] Y[n<N] = X[n]", "'in' is a word of the language"},
    {"op f attr a:^number in X[N] Y[n<N] = X[n]", "expected int, float or text"},
    {"op f attr a.. = ^3 in X[N] Y[n<N] = X[n]", "expected '{'"},
    {"op f attr a = ^1.5 in X[N] Y[n<N] = X[n]", "expected an integer"},
    {"op f attr a:text = ^none in X[N] Y[n<N] = X[n]", "expected a text in quotes"},
    {"op f attr a..:^text in X[N] Y[n<N] = X[n]", "a pack of texts"},
    {"op f attr a ^a in X[N] Y[n<N] = X[n]", "attribute 'a' is stated twice"},
    {"op f attr a.. = {1,2^;3} in X[N] Y[n<N] = X[n]", "expected '}'"},
    {"op f attr a.. = {" SIXTY_FOUR ",^65} in X[N] Y[n<N] = X[n]", "at most 64 entries"},
    /* inputs and outputs */
    {"op f in ^[N] Y[n<N] = 1", "expected the name of an input"},
    {"op f in X:^i9[N] Y[n<N] = X[n]", "there is no type 'i9'"},
    {"op f in X:i8 ^Y[n<N] = X[n]", "expected '['"},
    {"op f in X[N ^Y[n<N] = X[n]", "expected ',' or ']'"},
    {"op f in X[^-1] Y[n<3] = X[n]", "expected an extent"},
    {"op f in X[I..{1^] Y[n<3] = X[n]", "expected '}'"},
    {"op f in X[N] ^X[N] Y[n<N] = X[n]", "input 'X' is stated twice"},
    {"op f in X*[N] ^Z[N] Y[n<N] = X#0[n]", "no input can follow 'X'"},
    {"op f in X[a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,^q] Y[n<3] = 1", "at most 16 dimensions"},
    {"op f in X[^sum] Y[n<3] = 1", "'sum' is a word of the language"},
    {"op f in X[N] -> ^1 Y[n<N] = X[n]", "expected the name of an output"},
    {"op f in X[N] -> Y, ^Y Y[n<N] = X[n]", "output 'Y' is stated twice"},
    {"op f in X[N] -> Y:^none Y[n<N] = X[n]", "there is no type 'none'"},
    {"op f in X[N] -> Y*, ^Z Y#k[n<N] = X[n] Z[] = 1", "no output can follow 'Y'"},
    {"op f in X[N] -> Y* ^Y[n<N] = X[n]", "'Y' is a family of outputs"},
    {"op f in X[N] ^Y#k[n<N] = X[n]", "'Y' is no family of outputs"},
    {"op f in X[N] -> Y* Y#^[n<N] = X[n]", "expected the name that stands for the number"},
    {"op f in X[N] -> Y* rec t<N | ^Y#k[t] = X[t]", "a recurrence has no family of outputs"},
    /* clauses */
    {"op f in X[N] let ^1 = 2 Y[n<N] = X[n]", "expected the name of a static value"},
    {"op f in X[N] let a ^2 Y[n<N] = X[n]", "expected '='"},
    {"op f in X[N] when Y[n<N] ^= X[n]", "expected a clause"},
    {"op f in X[N] rec ^2 | Y[t] = 1", "expected the variable of the recurrence"},
    {"op f in X[N] rec t ^| Y[t] = 1", "expected '<'"},
    {"op f in X[N] rec t<N ^Y[t] = 1", "expected '|'"},
    {"op f in X[N] rec t<N | ^Y[n<N] = 1", "must have it as one of its variables"},
    {"op f in X[N] rec t<N | Y[t,^u] = 1", "variable 'u' has no extent"},
    {"op f in X[N] Y[n^] = X[n]", "expected '<' and the extent"},
    {"op f in X[N] Y[n<N, ^n<N] = X[n]", "variable 'n' is bound twice"},
    {"op f in X[N] Y[^if<N] = 1", "'if' is a word of the language"},
    {"op f in X[N] Z[] = 1 Y[n<N] ^X[n]", "expected '='"},
    {"op f in X[N] Y[n<N] = X[n] ^X[n<N] = 1", "'X' is defined already"},
    {"op f in X[N] Y[n<N] = X[n] ^Y[n<N] = 1", "'Y' is defined already"},
    /* expressions */
    {"op f in X[N] Y[n<N] = ^", "expected an expression"},
    {"op f in X[N] Y[n<N] = (X[n]^", "expected ')'"},
    {"op f in X[N] Y[n<N] = X[n^", "expected ',' or ']' after an index"},
    {"op f in X[N] Y[n<N] = X.[n^", "expected ']'"},
    {"op f in X[N] Y[n<N] = X[~n, ^~n]", "at most one '~'"},
    {"op f in X[N] Y[n<N] = X[n]?^-1", "put a negative fill in parentheses"},
    {"op f in X[N] Y[n<N] = X.^size", "expected scale, zero, axis, scales or zeros"},
    {"op f in X*[N] Y[n<N] = X#^[n]", "expected the number of a member"},
    {"op f in X*[N] Y[n<N] = X#0 ^+ 1", "expected '[', '.[' or '.'"},
    {"op f in X[N] Y[n<N] = n^@n", "'@' permutes a pack: write n..@"},
    {"op f in X[N] Y[n<N] = { a = X[n] ^a }", "expected ';'"},
    {"op f in X[N] Y[n<N] = { a = X[n]; a^", "expected '}'"},
    {"op f in X[N] Y[n<N] = ^if(n<2, 1)", "if takes 3 arguments, not 2"},
    {"op f in X[N] Y[n<N] = ^exp(X[n], 2)", "exp takes 1 argument, not 2"},
    {"op f in X[N] Y[n<N] = ^i8()", "i8 takes 1 argument, not 0"},
    {"op f in X[N] Y[n<N] = ^flat(n)", "flat takes 2 arguments, not 1"},
    {"op f in X[N] Y[n<N] = ^catp()", "catp takes 1 to 16 arguments, not 0"},
    {"op f in X[N] Y[n<N] = goal(^x)", "goal takes a text in quotes"},
    {"op f in X[N] Y[n<N] = lowest(^1)", "lowest takes a type"},
    {"op f in X[N] Y[n<N] = has(^X[n])", "has takes the name of an input"},
    {"op f in X*[N] Y[n<N] = famdim(^1, 0)", "famdim takes the name of an extent"},
    {"op f in X[N] Y[n<N] = vals(^1)", "vals takes the name of an input"},
    /* reductions */
    {"op f in X[N] Y[] = sum[n<N] X[n] ^+ 1", "put the body of the reduction in parentheses"},
    {"op f in X[N] Y[] = any[n<N] X[n] ^== 1", "put the body of the reduction in parentheses"},
    {"op f in X[N] Y[] = sum[n<N] X[n] ^/ 2", "put the body of the reduction in parentheses"},
    {"op f in X[N] Y[] = sum[n<N] ^-X[n]", "put the body of the reduction in parentheses"},
    {"op f in X[N] Y[] = sum[n<N] ^sum[m<N] X[m]", "put the body of the reduction in parentheses"},
    {"op f in X[N] Y[] = sum[n<N] (X[n]) ^* 2", "is this factor part of the body?"},
    {"op f in X[N] Y[] = sum:i32^", "expected '[' and the variables of the reduction"},
    {"op f in X[N] Y[] = sum[^] 1", "expected a variable of the reduction"},
    {"op f in X[N] Y[] = sum[n^] 1", "expected '<'"},
    {"op f in X[N] Y[] = sum[n<N, ^n<N] 1", "variable 'n' is bound twice"},
    {"op f in X[N] Y[] = sum[n<N ^X[n]", "expected ',', '|' or ']'"},
    {"op f in X[N] Y[] = ^pick[n<N] X[n]", "pick runs over the members of a family"},
    {"op f in X*[N] Y[] = ^first[k<#X] X#k[0]", "write pick"},
    {"op f in X*[N] Y[] = ^sum[k<#X, n<N] X#k[n]", "stands alone"},
    {"op f in X*[N] Y[] = ^sum[k<#X] X#k[0] else 1", "has no else"},
    /* tokens */
    {"op f in X[N] Y[n<N] = X[n] ^$ 1", "'$' is no part of the language"},
    {"op f in X[N] Y[n<N] = X[n] ^& 1", "'&' is no part of the language"},
    {"op f in X[N] Y[n<N] = X[n] + ^\xc3\xa9", "byte 0xc3 is no part of the language"},
    {"op f in X[N] Y[n<N] = ^\"abc", "no closing quote"},
    {"op f in X[N] Y[n<N] = ^\"abc\n\"", "no closing quote"},
    {"op f in X[N] Y[n<N] = ^9223372036854775808", "does not fit 64 bits"},
    {"op f in X[N] Y[n<N] = ^0x8000000000000000", "does not fit 64 bits"},
    {"op f in X[N] Y[n<N] = ^0x", "a hexadecimal digit must follow"},
    {"op f in X[N] Y[n<N] = 12^ab", "a number must end before this"},
    {"op f in X[N] Y[n<N] = 1^..", "a number must end before this"},
    /* places count characters, and comments are white space */
    {"// caf\xc3\xa9\nop f // op\n  in X[N]\n  Y[n<N] = ^)", "expected an expression"},
    {"op f in X[N] chk \"caf\xc3\xa9\" == ^", "expected an expression"},
};

static void test_faults(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
        definition_fails(faults[k].text, NULL, faults[k].words);
}

static const char *const accepted[] = {
    "",
    "// only a comment",
    "fn f() = 1 fn g(x) = x fn h(x, y, p..) = x + y",
    "op f Y[] = 1",
    "op f in X[] Y[] = X[]",
    "op f in X[N]? Y[] = X[0]?0",
    "op f in X:i8[N,3,(2*N)] W:T[A..{2},N,B..] Y[] = 1",
    "op f in X*:T[A..{axis},C,B..] attr axis Y[] = 1",
    "op f attr a attr b.. c:float=-1.5 d:text=\"x\" e..={1,-2,3} g:float=-inf h:int=-7, i..={} in X[N] Y[n<N] = X[n]",
    "op f in X[N], W[N] Y[n<N] = X[n]",
    "op f in X:T[N] -> Y:T, Z, W:i8 Y[n<N] = X[n] Z[] = 1 W[] = i8(1)",
    "op f in X:T[N] when T == i8 || T == i16 when N > 1 Y[n<N] = X[n]",
    "op f in X[N] let a = N let b.. = catp(N, 1) chk a == N \"message\" chk a >= 1 Y[n<N] = X[n]",
    "op f in X[N] Y:f32[n<N, i..<I..] = X[n]",
    "op f in X[N] rec t<N | S[t] = S[t-1]?0 + X[t] | Y[t<N, k<2] = S[t]",
    "op f Y[] = 0x1F + 1.5 + 2e3 + 1.5e-3 + 0x1p-3 + 0x1.8p3 + inf + nan",
    "op f Y[] = if(true, 1, if(false, 2, 3))",
    "op f Y[] = a || b && c == d < e + f * -g % !h",
    "op f Y[] = 0 <= a < b <= c != d > e >= g",
    "op f Y[] = X[a, i.., ~j.., #, o..*s..]?(1) + X.[k]?Z?0 + X#0[1] + X#k.[2]?1 + B?lowest(T)",
    "op f Y[] = X.scale + X.zero + X.scales[o] + X.zeros[o] + X#1.scale + len(X.scales)",
    "op f Y[] = { a = 1; b.. = i..; { c = a; c } }",
    "op f Y[] = i..@inv + flat(i.., D..) + #X + prodp(i..@p..)",
    "op f Y[] = sum:i32[i<N, k..<K.. | k == 1] i32(X[i])*W[k..]*(a+b)",
    "op f Y[] = sum[i<N] (a + b) / 2 + max[i<N] { a = 1; a } - first[i<N | c] i else (1)",
    "op f Y[] = prod[i<2] x Z[] = any[i<2] true",
    "op f Y[] = all[i<2] b Z[] = last[i<2] 3 else (-1) W[] = min[i<2] (pick[k<#X | c] X#k[i])",
    "op f Y[] = T(x) + sat_T(x) + bits_T(x) + sat_i8(x) + bits_i32(y) + i64(z)",
    "op in Y[] = 1 op max in X[N] Y[] = in(3, a..)",
    "op f in X[N] Y[] = has(X) && has(X.scales) && goal(\"litert\") && isfloat(T) && issigned(T) && width(T) == 8",
};

static void test_accepted(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof accepted / sizeof *accepted; k++) {
        definition f;
        definition_begin(&f);
        definition_parse(&f, accepted[k]);
        if (f.diags.errors)
            fail_msg("%s\n%s", accepted[k], definition_report(&f));
        definition_end(&f);
    }
}

static void test_goes_on_after_an_error(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    const char *text = "op a in X[N] let k = ) let m = 2 chk ( Y[n<N] = X[n]\n"
                       "fn g(x = 1\n"
                       "op b in X[N] Y[n<N] = X[n]\n"
                       "op c in X[N] Y[n<N] = X[n] +\n";
    assert_int_equal(definition_parse(&f, text), BASE_REFUSED);
    assert_int_equal(f.diags.errors, 4);
    const unsigned lines[] = {1, 1, 2, 5};
    const unsigned columns[] = {22, 47, 8, 1};
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(f.diags.list.at[k].line, lines[k]);
        assert_int_equal(f.diags.list.at[k].column, columns[k]);
    }
    assert_int_equal(lang_op_count(f.lib), 3);
    f.diags.errors = 0;
    assert_int_equal(definition_call(&f, "b f32[2]"), BASE_OK);
    assert_int_equal(definition_call(&f, "a f32[2]"), BASE_REFUSED);
    definition_end(&f);
}

static void test_errors_are_limited(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    base_text t = {f.arena, NULL, 0, 0};
    for (int k = 0; k < 50; k++)
        base_puts(&t, "op f let = 1\n");
    assert_int_equal(definition_parse(&f, t.at), BASE_REFUSED);
    assert_int_equal(f.diags.list.n, 20);
    definition_end(&f);
}

/* One character repeated, or an operator, deeper than the limit; and as deep as definitions are. */
static void nest(const char *open, const char *close, const char *inner, int n, bool accepted_) {
    definition f;
    definition_begin(&f);
    base_text t = {f.arena, NULL, 0, 0};
    base_puts(&t, "op f in X[N] Y[] = ");
    for (int k = 0; k < n; k++)
        base_puts(&t, open);
    base_puts(&t, inner);
    for (int k = 0; k < n; k++)
        base_puts(&t, close);
    const base_status status = definition_parse(&f, t.at);
    if ((status == BASE_OK) != accepted_)
        fail_msg("%d times %s: %s", n, open, definition_report(&f));
    if (!accepted_)
        assert_non_null(strstr(f.diags.list.at[0].message, "nested too deeply"));
    definition_end(&f);
}

static void test_depth(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"(", ")", "1"},
        {"-", "", "1"},
        {"!", "", "true"},
        {"exp(", ")", "1"},
        {"X[", "]", "1"},
        {"X[0]?", "", "1"},
        {"{ ", "}", "1"},
        {"{ a = ", "; a}", "1"},
        {"sum[i<2] (", ")", "1"},
        {"1+", "", "1"},
        {"1*", "", "1"},
        {"1 && ", "", "1"},
        {"if(a, 1, ", ")", "1"},
        {"X.[", "]", "1"},
        {"a < ", "", "1"},
        {"sum[i<", "] 1", "1"},
        {"sum[i<2 | ", "] 1", "1"},
        {"catp(", ")", "1"},
        {"a || ", "", "1"},
        {"X?", "", "1"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        nest(cases[k][0], cases[k][1], cases[k][2], 60, true);
        nest(cases[k][0], cases[k][1], cases[k][2], 250, false);
        nest(cases[k][0], "", "", 5000, false);
    }
}

static void test_what_overloads_declare(void **state) {
    (void)state;
    definition f;
    definition_begin(&f);
    const char *text = "// not this\n\n// Adds two tensors.\n//\n// Broadcasts.\nop add\n"
                       "attr act:text = \"none\" strides.. k = 3\n"
                       "in X:i8[N, H] B:i32[O]?\n-> Y:i8, Z\nY[] = i8(1) Z[] = i8(2)\n"
                       "op add in X*:T[A..{1},C] Y[] = 1\nop sub Y[] = 1\n";
    assert_int_equal(definition_parse(&f, text), BASE_OK);
    assert_int_equal(lang_op_count(f.lib), 2);
    assert_string_equal(lang_op_name(f.lib, 0), "add");
    assert_string_equal(lang_op_name(f.lib, 1), "sub");
    assert_true(lang_has_op(f.lib, "sub"));
    assert_false(lang_has_op(f.lib, "mul"));
    assert_int_equal(lang_overload_count(f.lib, "add"), 2);
    assert_int_equal(lang_overload_count(f.lib, "mul"), 0);
    lang_op_info info = lang_overload(f.lib, "add", 0, f.arena);
    assert_string_equal(info.name, "add");
    assert_string_equal(info.doc, "Adds two tensors.\n\nBroadcasts.");
    assert_int_equal(info.attr_count, 3);
    assert_string_equal(info.attrs[0], "act:text = \"none\"");
    assert_string_equal(info.attrs[1], "strides..");
    assert_string_equal(info.attrs[2], "k = 3");
    assert_int_equal(info.input_count, 2);
    assert_string_equal(info.inputs[0], "X:i8[N, H]");
    assert_string_equal(info.inputs[1], "B:i32[O]?");
    assert_int_equal(info.output_count, 2);
    assert_string_equal(info.outputs[0], "Y:i8");
    assert_string_equal(info.outputs[1], "Z");
    info = lang_overload(f.lib, "add", 1, f.arena);
    assert_null(info.doc);
    assert_string_equal(info.inputs[0], "X*:T[A..{1},C]");
    assert_string_equal(info.outputs[0], "Y");
    definition_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_goes_on_after_an_error),
        cmocka_unit_test(test_errors_are_limited),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_what_overloads_declare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
