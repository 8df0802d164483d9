/* emit_apply.c - one strict word over emitted arguments, as C.
 *
 * Takes a node. Gives an expression that has exactly the word's meaning: where the ranges prove that nothing wraps,
 * divides by zero or saturates, the plain operator of C; else arithmetic in unsigned types or a helper. Knows the
 * words, no operator.
 */
#include <assert.h>
#include <string.h>

#include "targets/c/emit.h"

typedef struct c_word {
    c_unit *u;
    lang_ref r;
    const lang_node *n;
    base_type type, from; /* of the result; of the first argument */
    lang_ref operand[3];
    c_value arg[3];
} c_word;

static c_value primary(const char *text) {
    return (c_value){text, C_PRIMARY, false};
}

static c_value cast(c_word *w, const char *ctype, const char *text) {
    return (c_value){base_printf(w->u->arena, "(%s)(%s)", ctype, text), C_UNARY, false};
}

static const char *arg_text(c_word *w, uint32_t k, c_precedence limit) {
    return c_wrap(w->u->arena, w->arg[k], limit);
}

/* Calls a helper. */
static c_value call(c_word *w, const char *helper, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *arguments = base_vprintf(w->u->arena, format, list);
    va_end(list);
    return primary(base_printf(w->u->arena, "%s(%s)", c_helper(w->u->m->helpers, helper), arguments));
}

static bool is_wide(base_type t) {
    return t == BASE_I64 || t == BASE_U64;
}

static bool is_small(base_type t) {
    return base_type_is_int(t) && base_type_bits(t) < 32;
}

/* The suffix of helpers that compute type t: 32 bits hold every narrower type. */
static const char *suffix(base_type t) {
    return base_type_is_signed(t) ? (is_wide(t) ? "i64" : "i32") : (is_wide(t) ? "u64" : "u32");
}

static const char *helper_name(c_word *w, const char *base, base_type t) {
    return base_printf(w->u->arena, "%s_%s", base, suffix(t));
}

/* text is a C integer that holds the result before it wraps to the word's type. signed_bits: of the text's own type, 0:
 * unsigned 32 or 64 */
static c_value wrapped(c_word *w, const char *text) {
    switch (w->type) {
    case BASE_I4:
    case BASE_I2:
        return call(w, "wrap_signed", "(int32_t)(%s), %u", text, base_type_bits(w->type));
    case BASE_U4:
        return cast(w, "uint8_t", base_printf(w->u->arena, "(%s) & 15", text));
    case BASE_U2:
        return cast(w, "uint8_t", base_printf(w->u->arena, "(%s) & 3", text));
    default:
        return cast(w, c_value_type(w->type), text);
    }
}

static bool all_narrow(c_word *w) {
    for (uint32_t k = 0; k < w->n->count; k++) {
        if (!w->arg[k].narrow) {
            return false;
        }
    }
    return w->type == BASE_I64 && c_narrow(w->u, w->r);
}

/* The result is an i64 that fits int32_t: held so. */
static c_value settle(c_word *w, c_value v) {
    if (w->type == BASE_I64 && !v.narrow && c_narrow(w->u, w->r)) {
        return (c_value){base_printf(w->u->arena, "(int32_t)%s", c_wrap(w->u->arena, v, C_UNARY)), C_UNARY, true};
    }
    return v;
}

static void widen_arguments(c_word *w) {
    for (uint32_t k = 0; k < w->n->count; k++) {
        w->arg[k] = c_wide(w->u, w->arg[k]);
    }
}

/* ---- integers ---- */

static c_value ring(c_word *w) {
    base_arena *arena = w->u->arena;
    const char *sign = w->n->code == LANG_ADD ? "+" : w->n->code == LANG_SUB ? "-" : "*";
    c_precedence level = w->n->code == LANG_MUL ? C_MUL : C_ADD;
    c_precedence right = w->n->code == LANG_ADD ? C_ADD : w->n->code == LANG_SUB ? C_MUL : C_UNARY;
    bool narrow = all_narrow(w);
    bool plain =
        narrow || w->type == BASE_U32 || w->type == BASE_U64 || !lang_may_wrap(w->u->ranges, w->u->stage, w->r);
    if (w->type == BASE_I64 && !narrow) {
        w->arg[0] = c_wide(w->u, w->arg[0]); /* the other operand converts by itself */
    }
    if (plain && !is_small(w->type)) {
        const char *text = base_printf(arena, "%s %s %s", arg_text(w, 0, level), sign, arg_text(w, 1, right));
        return settle(w, (c_value){text, level, narrow});
    }
    if (is_small(w->type)) {
        if (base_type_is_signed(w->type)) {
            return wrapped(w, base_printf(arena, "%s %s %s", arg_text(w, 0, level), sign, arg_text(w, 1, right)));
        }
        return wrapped(w, base_printf(arena, "(uint32_t)%s %s (uint32_t)%s", arg_text(w, 0, C_UNARY), sign,
                                      arg_text(w, 1, C_UNARY)));
    }
    const char *u = is_wide(w->type) ? "uint64_t" : "uint32_t";
    return settle(
        w, cast(w, c_value_type(w->type),
                base_printf(arena, "(%s)%s %s (%s)%s", u, arg_text(w, 0, C_UNARY), sign, u, arg_text(w, 1, C_UNARY))));
}

static c_value negate(c_word *w) {
    base_arena *arena = w->u->arena;
    bool narrow = all_narrow(w);
    if (narrow || (base_type_is_signed(w->type) && !lang_may_wrap(w->u->ranges, w->u->stage, w->r))) {
        const char *text = base_printf(arena, "-%s", arg_text(w, 0, C_PRIMARY));
        return is_small(w->type) ? cast(w, c_value_type(w->type), text) : (c_value){text, C_UNARY, narrow};
    }
    const char *u = is_wide(w->type) ? "uint64_t" : "uint32_t";
    const char *text = base_printf(arena, "0 - (%s)%s", u, arg_text(w, 0, C_UNARY));
    return settle(w, wrapped(w, text));
}

/* Division words. floor: toward minus infinity. */
static c_value divide(c_word *w, bool floor, bool remainder) {
    base_arena *arena = w->u->arena;
    lang_range a = c_range(w->u, w->operand[0]), b = c_range(w->u, w->operand[1]);
    bool narrow = all_narrow(w);
    if (!narrow) {
        widen_arguments(w);
    }
    bool is_signed = base_type_is_signed(w->type);
    bool nonzero = b.known && (b.lo > 0 || (b.hi < 0 && is_signed));
    bool no_floor = !is_signed || !floor || (a.known && b.known && a.lo >= 0 && b.lo > 0);
    bool no_wrap = !is_signed || (b.known && (b.lo > -1 || b.hi < -1)) || (a.known && a.lo > INT32_MIN);
    if (nonzero && no_floor && no_wrap) {
        const char *text =
            base_printf(arena, "%s %s %s", arg_text(w, 0, C_MUL), remainder ? "%" : "/", arg_text(w, 1, C_UNARY));
        return is_small(w->type) ? cast(w, c_value_type(w->type), text) : settle(w, (c_value){text, C_MUL, narrow});
    }
    const char *base = !is_signed  ? (remainder ? "urem" : "udiv")
                       : floor     ? (remainder ? "fmod" : "fdiv")
                       : remainder ? "trem"
                                   : "tdiv";
    const char *name = narrow ? base_printf(arena, "%s_i32", base) : helper_name(w, base, w->type);
    c_value v = call(w, name, "%s, %s", w->arg[0].text, w->arg[1].text);
    v.narrow = narrow;
    return is_small(w->type) ? wrapped(w, v.text) : settle(w, v);
}

static c_value extreme(c_word *w) {
    base_arena *arena = w->u->arena;
    const char *base = w->n->code == LANG_MIN ? "min" : "max";
    bool narrow = all_narrow(w);
    if (!narrow) {
        widen_arguments(w);
    }
    const char *name = narrow ? base_printf(arena, "%s_i32", base) : helper_name(w, base, w->type);
    c_value v = call(w, name, "%s, %s", w->arg[0].text, w->arg[1].text);
    v.narrow = narrow;
    return is_small(w->type) ? cast(w, c_value_type(w->type), v.text) : settle(w, v);
}

static c_value absolute(c_word *w) {
    if (!base_type_is_signed(w->type)) {
        return w->arg[0];
    }
    bool narrow = all_narrow(w);
    c_value v = call(w, narrow ? "abs_i32" : helper_name(w, "abs", w->type), "%s", w->arg[0].text);
    v.narrow = narrow;
    return is_small(w->type) ? wrapped(w, v.text) : settle(w, v);
}

static c_value power(c_word *w) {
    widen_arguments(w);
    c_value v = call(w, helper_name(w, base_type_is_signed(w->type) ? "pow" : "upow", w->type), "%s, %s",
                     w->arg[0].text, w->arg[1].text);
    return is_small(w->type) ? wrapped(w, v.text) : settle(w, v);
}

static c_value shift(c_word *w) {
    base_arena *arena = w->u->arena;
    unsigned width = base_type_bits(w->type);
    lang_range x = c_range(w->u, w->operand[0]), n = c_range(w->u, w->operand[1]);
    bool is_signed = base_type_is_signed(w->type), left = w->n->code == LANG_SHL;
    bool proper = n.known && n.lo >= 0 && n.hi < (int64_t)width;
    w->arg[0] = c_wide(w->u, w->arg[0]);
    const char *ctype = c_value_type(w->type);
    if (left && proper) {
        const char *u = is_wide(w->type) ? "uint64_t" : "uint32_t";
        return settle(
            w, wrapped(w, base_printf(arena, "(%s)%s << %s", u, arg_text(w, 0, C_UNARY), arg_text(w, 1, C_PRIMARY))));
    }
    if (!left && proper && (!is_signed || (x.known && x.lo >= 0))) {
        const char *text = base_printf(arena, "%s >> %s", arg_text(w, 0, C_UNARY), arg_text(w, 1, C_PRIMARY));
        return is_small(w->type) ? cast(w, ctype, text) : settle(w, (c_value){text, C_LOWEST, false});
    }
    if (!left && proper) {
        c_value v = call(w, helper_name(w, "sar", w->type), "%s, (int32_t)%s", w->arg[0].text, arg_text(w, 1, C_UNARY));
        return is_small(w->type) ? cast(w, ctype, v.text) : settle(w, v);
    }
    const char *name = left ? "shl" : is_signed ? "shr" : "ushr";
    bool huge = lang_at(w->u->p, w->operand[1])->type == BASE_U64; /* counts from 2^63 on are negative ones */
    const char *count = huge ? base_printf(arena, "(int64_t)%s", arg_text(w, 1, C_UNARY)) : w->arg[1].text;
    c_value v = call(w, helper_name(w, name, w->type), "%s, %s, %u", w->arg[0].text, count, width);
    return is_small(w->type) ? wrapped(w, v.text) : settle(w, v);
}

static c_value bitwise(c_word *w) {
    base_arena *arena = w->u->arena;
    bool narrow = all_narrow(w);
    if (!narrow) {
        widen_arguments(w);
    }
    const char *text;
    if (w->n->code == LANG_BITNOT) {
        text = base_printf(arena, "~%s", arg_text(w, 0, C_PRIMARY));
        return is_small(w->type) ? wrapped(w, text) : settle(w, (c_value){text, C_UNARY, narrow});
    }
    const char *sign = w->n->code == LANG_BITAND ? "&" : w->n->code == LANG_BITOR ? "|" : "^";
    text = base_printf(arena, "%s %s %s", arg_text(w, 0, C_PRIMARY), sign, arg_text(w, 1, C_PRIMARY));
    return is_small(w->type) ? cast(w, c_value_type(w->type), text) : settle(w, (c_value){text, C_LOWEST, narrow});
}

static c_value leading_zeros(c_word *w) {
    base_arena *arena = w->u->arena;
    unsigned width = base_type_bits(w->from);
    if (is_wide(w->from)) {
        return call(w, "clz_u64", "(uint64_t)%s", c_wrap(arena, c_wide(w->u, w->arg[0]), C_UNARY));
    }
    if (width == 32) {
        return call(w, "clz_u32", "(uint32_t)%s", arg_text(w, 0, C_UNARY));
    }
    c_value v = call(w, "clz_u32", "(uint32_t)%s & %uu", arg_text(w, 0, C_UNARY), (1u << width) - 1u);
    return (c_value){base_printf(arena, "%s - %u", v.text, 32 - width), C_ADD, false};
}

/* ---- fixed point ---- */

static bool never_both_least(c_word *w, lang_ref a, lang_ref b) {
    lang_range x = c_range(w->u, a), y = c_range(w->u, b);
    return (x.known && x.lo > INT32_MIN) || (y.known && y.lo > INT32_MIN);
}

/* rdivpot(srdhm(x, m), e) is one product, one sum and one shift where the ranges allow (host-speed.md, section 2). */
static bool requantise(c_word *w, c_value *out) {
    const lang_node *inner = lang_at(w->u->p, w->operand[0]);
    if (inner->kind != LANG_WORD_ || inner->code != LANG_SRDHM || w->u->uses[w->operand[0]] != 1) {
        return false;
    }
    lang_ref x = lang_operand(w->u->p, w->operand[0], 0), m = lang_operand(w->u->p, w->operand[0], 1);
    lang_range multiplier = c_range(w->u, m), value = c_range(w->u, x), e = c_range(w->u, w->operand[1]);
    if (!multiplier.known || multiplier.lo < (1 << 30)) {
        lang_ref t = x; /* operands of srdhm have no order */
        x = m;
        m = t;
        value = multiplier;
        multiplier = c_range(w->u, m);
    }
    if (!multiplier.known || multiplier.lo < (1 << 30) || !e.known || e.lo < 0 || e.hi > 31) {
        return false;
    }
    int64_t magnitude = value.known ? (value.hi > -value.lo ? value.hi : -value.lo) : INT64_C(1) << 31;
    int64_t half = e.hi > 0 ? INT64_C(1) << (e.hi - 1) : 0;
    if (magnitude + half > INT32_MAX - 1) {
        return false;
    }
    const char *name = e.lo == 0                                   ? "requantize_any"
                       : magnitude < (1 << 30) && !w->u->m->vector ? "requantize_wide"
                                                                   : "requantize";
    const char *text = c_emit(w->u, x).text, *multiplier_text = c_emit(w->u, m).text;
    *out = call(w, name, "%s, %s, %s", text, multiplier_text, c_emit(w->u, w->operand[1]).text);
    return true;
}

/* The 32-bit number that an i64 node widens; 0: it is none. A constant stands for itself. */
static lang_ref narrow_factor(const lang_program *p, lang_ref r) {
    const lang_node *n = lang_at(p, r);
    if (n->kind == LANG_CONST) {
        return n->value.i >= INT32_MIN && n->value.i <= INT32_MAX ? r : 0;
    }
    lang_ref x = n->kind == LANG_WORD_ && n->code == LANG_CAST ? lang_operand(p, r, 0) : 0;
    return x != 0 && lang_at(p, x)->type == BASE_I32 ? x : 0;
}

/* i32(i64(a) * i64(b) >> 32): the high word of a product. */
static bool high_word(c_word *w, c_value *out) {
    const lang_program *p = w->u->p;
    const lang_node *shifted = lang_at(p, w->operand[0]);
    if (w->type != BASE_I32 || shifted->type != BASE_I64 || shifted->kind != LANG_WORD_ || shifted->code != LANG_SHR) {
        return false;
    }
    lang_ref product = lang_operand(p, w->operand[0], 0);
    const lang_node *count = lang_at(p, lang_operand(p, w->operand[0], 1)), *n = lang_at(p, product);
    if (count->kind != LANG_CONST || count->value.i != 32 || n->kind != LANG_WORD_ || n->code != LANG_MUL) {
        return false;
    }
    lang_ref a = narrow_factor(p, lang_operand(p, product, 0)), b = narrow_factor(p, lang_operand(p, product, 1));
    if (a == 0 || b == 0) {
        return false;
    }
    c_value x[2] = {c_emit(w->u, a), c_emit(w->u, b)};
    for (uint32_t k = 0; k < 2; k++) { /* a constant of 64 bits is one of 32 here */
        const lang_node *f = lang_at(p, k == 0 ? a : b);
        if (f->kind == LANG_CONST) {
            x[k] = primary(c_constant(w->u->arena, BASE_I32, f->value));
        }
    }
    bool wide = w->u->m->plan->device->machine.wide_multiply;
    *out = call(w, wide ? "mulhi" : "mulhi_16", "%s, %s", x[0].text, x[1].text);
    return true;
}

static c_value fixed_point(c_word *w) {
    if (w->n->code == LANG_SRDHM) {
        bool fast = never_both_least(w, w->operand[0], w->operand[1]);
        return call(w, fast ? "srdhm_fast" : "srdhm", "%s, %s", w->arg[0].text, w->arg[1].text);
    }
    if (w->n->code == LANG_SRDHM16) {
        return call(w, "srdhm16", "%s, %s", w->arg[0].text, w->arg[1].text);
    }
    lang_range x = c_range(w->u, w->operand[0]), e = c_range(w->u, w->operand[1]);
    bool fast = x.known && e.known && e.lo >= 1 && e.hi <= 31 && x.lo > INT32_MIN &&
                x.hi + (INT64_C(1) << (e.hi - 1)) <= INT32_MAX;
    return call(w, fast ? "rdivpot_fast" : "rdivpot", "%s, %s", w->arg[0].text, w->arg[1].text);
}

/* ---- floats ---- */

/* The nearest value of the word's type to a float or double text. */
static c_value rounded(c_word *w, const char *text, bool is_double) {
    if (c_is_small_float(w->type)) {
        const char *value = is_double ? text : base_printf(w->u->arena, "(double)(%s)", text);
        return primary(c_float_decode(w->u, w->type, c_float_encode(w->u, w->type, value)));
    }
    return primary(text);
}

static c_value float_extreme(c_word *w) {
    bool least = w->n->code == LANG_MIN;
    const char *s = w->type == BASE_F64 ? "f64" : "f32";
    const lang_node *b = lang_at(w->u->p, w->operand[1]);
    if (w->type != BASE_F64 && b->kind == LANG_CONST && b->value.f == b->value.f) {
        bool zero = b->value.f == 0, negative = zero && 1 / b->value.f < 0;
        if (!zero || negative == least) {
            return call(w, least ? "min_with_f32" : "max_with_f32", "%s, %s", w->arg[0].text, w->arg[1].text);
        }
    }
    return call(w, base_printf(w->u->arena, "%s_%s", least ? "min" : "max", s), "%s, %s", w->arg[0].text,
                w->arg[1].text);
}

static const char *libm_name(lang_word word) {
    static const char *const names[LANG_WORD_COUNT] = {
        [LANG_FMOD] = "fmod",   [LANG_POW] = "pow",     [LANG_FLOOR] = "floor", [LANG_CEIL] = "ceil",
        [LANG_TRUNC] = "trunc", [LANG_RNE] = "rint",    [LANG_RHA] = "round",   [LANG_EXP] = "exp",
        [LANG_EXP2] = "exp2",   [LANG_EXPM1] = "expm1", [LANG_LOG] = "log",     [LANG_LOG1P] = "log1p",
        [LANG_SQRT] = "sqrt",   [LANG_SIN] = "sin",     [LANG_COS] = "cos",     [LANG_TAN] = "tan",
        [LANG_ASIN] = "asin",   [LANG_ACOS] = "acos",   [LANG_ATAN] = "atan",   [LANG_ATAN2] = "atan2",
        [LANG_SINH] = "sinh",   [LANG_COSH] = "cosh",   [LANG_TANH] = "tanh",   [LANG_ASINH] = "asinh",
        [LANG_ACOSH] = "acosh", [LANG_ATANH] = "atanh", [LANG_ERF] = "erf",     [LANG_ABS] = "fabs",
    };
    return names[word];
}

static c_value float_word(c_word *w) {
    base_arena *arena = w->u->arena;
    bool wide = w->type == BASE_F64;
    const char *f = wide ? "" : "f";
    lang_word word = (lang_word)w->n->code;
    const char *sign = word == LANG_ADD   ? "+"
                       : word == LANG_SUB ? "-"
                       : word == LANG_MUL ? "*"
                       : word == LANG_DIV ? "/"
                                          : NULL;
    c_value v;
    if (sign != NULL) {
        bool product = word == LANG_MUL || word == LANG_DIV;
        c_precedence level = product ? C_MUL : C_ADD;
        v = (c_value){
            base_printf(arena, "%s %s %s", arg_text(w, 0, level), sign, arg_text(w, 1, product ? C_UNARY : C_MUL)),
            level, false};
    } else if (word == LANG_NEG) {
        v = (c_value){base_printf(arena, "-%s", arg_text(w, 0, C_PRIMARY)), C_UNARY, false};
    } else if (word == LANG_MIN || word == LANG_MAX) {
        return float_extreme(w);
    } else if (word == LANG_MOD) {
        v = call(w, wide ? "mod_f64" : "mod_f32", "%s, %s", w->arg[0].text, w->arg[1].text);
    } else if (word == LANG_RSQRT) {
        v = (c_value){base_printf(arena, "%s / sqrt%s(%s)", wide ? "1.0" : "1.0f", f, w->arg[0].text), C_MUL, false};
    } else if (w->n->count == 2) {
        v = primary(base_printf(arena, "%s%s(%s, %s)", libm_name(word), f, w->arg[0].text, w->arg[1].text));
    } else {
        v = primary(base_printf(arena, "%s%s(%s)", libm_name(word), f, w->arg[0].text));
    }
    if (c_is_small_float(w->type)) {
        return rounded(w, v.text, false);
    }
    return v;
}

/* ---- conversions ---- */

static c_value from_float(c_word *w) {
    base_arena *arena = w->u->arena;
    int64_t lo;
    uint64_t hi;
    if (w->type == BASE_BOOL) {
        return (c_value){base_printf(arena, "%s != 0", arg_text(w, 0, C_ADD)), C_LOWEST, false};
    }
    base_type_range(w->type, &lo, &hi);
    const char *value =
        w->from == BASE_F64 ? w->arg[0].text : base_printf(arena, "(double)%s", arg_text(w, 0, C_UNARY));
    c_value v =
        base_type_is_signed(w->type)
            ? call(w, "float_to_signed", "%s, %s, %s", value, c_constant(arena, BASE_I64, (base_value){.i = lo}),
                   c_constant(arena, BASE_I64, (base_value){.u = hi}))
            : call(w, "float_to_unsigned", "%s, %s", value, c_constant(arena, BASE_U64, (base_value){.u = hi}));
    return w->type == BASE_I64 || w->type == BASE_U64 ? settle(w, v) : cast(w, c_value_type(w->type), v.text);
}

static c_value to_float(c_word *w, bool saturate) {
    base_arena *arena = w->u->arena;
    bool from_int = !base_type_is_float(w->from);
    const char *as_double =
        w->from == BASE_F64 ? w->arg[0].text : base_printf(arena, "(double)%s", arg_text(w, 0, C_UNARY));
    if (saturate && (!from_int || c_is_small_float(w->type))) {
        base_value highest = {.f = w->type == BASE_F64 ? 1.7976931348623157e308 : 3.4028234663852886e38};
        double low_exponent = 0;
        switch (w->type) {
        case BASE_F16:
            highest.f = 65504;
            break;
        case BASE_BF16:
            highest.f = 3.3895313892515355e38;
            break;
        case BASE_F8E4M3FN:
            highest.f = 448;
            break;
        case BASE_F8E4M3FNUZ:
            highest.f = 240;
            break;
        case BASE_F8E5M2:
        case BASE_F8E5M2FNUZ:
            highest.f = 57344;
            break;
        case BASE_F4E2M1:
            highest.f = 6;
            break;
        case BASE_F8E8M0:
            highest.f = 1.7014118346046923e38;
            low_exponent = 5.877471754111438e-39;
            break;
        default:
            break;
        }
        const char *top = c_constant(arena, BASE_F64, highest);
        const char *low = low_exponent > 0 ? c_constant(arena, BASE_F64, (base_value){.f = low_exponent})
                                           : c_constant(arena, BASE_F64, (base_value){.f = -highest.f});
        as_double = call(w, "clamp_f64", "%s, %s, %s", as_double, low, top).text;
        if (w->type == BASE_F32 || w->type == BASE_F64) {
            return (c_value){base_printf(arena, "(%s)%s", c_value_type(w->type), as_double), C_UNARY, false};
        }
        return rounded(w, as_double, true);
    }
    if (c_is_small_float(w->type)) {
        return rounded(w, as_double, true);
    }
    if (!from_int && w->type == BASE_F32 && c_is_small_float(w->from)) {
        return w->arg[0];
    }
    return (c_value){base_printf(arena, "(%s)%s", c_value_type(w->type), arg_text(w, 0, C_UNARY)), C_UNARY, false};
}

static c_value int_to_int(c_word *w) {
    base_arena *arena = w->u->arena;
    if (w->type == BASE_BOOL) {
        return (c_value){base_printf(arena, "%s != 0", arg_text(w, 0, C_ADD)), C_LOWEST, false};
    }
    lang_range x = c_range(w->u, w->operand[0]);
    if (w->type == BASE_I64 && w->from != BASE_I64) {
        bool fits = x.known && x.lo >= INT32_MIN && x.hi <= INT32_MAX;
        if (fits && w->from == BASE_I32) {
            return (c_value){w->arg[0].text, w->arg[0].precedence, true};
        }
        return (c_value){base_printf(arena, "(%s)%s", fits ? "int32_t" : "int64_t", arg_text(w, 0, C_UNARY)), C_UNARY,
                         fits};
    }
    if (w->type == BASE_I32 && w->from == BASE_I64 && w->arg[0].narrow) {
        return (c_value){w->arg[0].text, w->arg[0].precedence, false};
    }
    if (w->type == BASE_I32 && is_small(w->from)) {
        return (c_value){base_printf(arena, "(int32_t)%s", arg_text(w, 0, C_UNARY)), C_UNARY, false};
    }
    if (base_type_bits(w->type) < 8) {
        int64_t lo;
        uint64_t hi;
        base_type_range(w->type, &lo, &hi);
        if (x.known && x.lo >= lo && x.hi <= (int64_t)hi) {
            return cast(w, c_value_type(w->type), w->arg[0].text);
        }
        /* through uint32_t: the low bits are all that count */
        const char *low = base_printf(arena, "(uint32_t)%s", arg_text(w, 0, C_UNARY));
        return wrapped(w, low);
    }
    return settle(
        w, (c_value){base_printf(arena, "(%s)%s", c_value_type(w->type), arg_text(w, 0, C_UNARY)), C_UNARY, false});
}

static c_value saturate_int(c_word *w) {
    base_arena *arena = w->u->arena;
    int64_t lo, from_lo;
    uint64_t hi, from_hi;
    base_type_range(w->type, &lo, &hi);
    base_type_range(w->from, &from_lo, &from_hi);
    lang_range x = c_range(w->u, w->operand[0]);
    if (x.known) {
        from_lo = x.lo;
        from_hi = x.hi < 0 ? 0 : (uint64_t)x.hi;
    }
    bool low = from_lo<lo, high = from_hi> hi;
    bool narrow = w->from == BASE_I64 && w->arg[0].narrow;
    const char *s = narrow ? "i32" : suffix(w->from);
    base_type limit = strcmp(s, "i32") == 0   ? BASE_I32
                      : strcmp(s, "i64") == 0 ? BASE_I64
                      : strcmp(s, "u32") == 0 ? BASE_U32
                                              : BASE_U64;
    if (low) {
        w->arg[0] = call(w, base_printf(arena, "max_%s", s), "%s, %s", w->arg[0].text,
                         c_constant(arena, limit, (base_value){.i = lo}));
    }
    if (high) {
        w->arg[0] = call(w, base_printf(arena, "min_%s", s), "%s, %s", w->arg[0].text,
                         c_constant(arena, limit, (base_value){.u = hi}));
    }
    w->arg[0].narrow = narrow;
    if (w->type == BASE_I64) {
        return settle(w, (c_value){base_printf(arena, "(int64_t)%s", arg_text(w, 0, C_UNARY)), C_UNARY, false});
    }
    return (c_value){base_printf(arena, "(%s)%s", c_value_type(w->type), arg_text(w, 0, C_UNARY)), C_UNARY, false};
}

static c_value reinterpret(c_word *w) {
    base_arena *arena = w->u->arena;
    const char *bits = c_wrap(arena, c_wide(w->u, w->arg[0]), C_UNARY);
    if (base_type_is_float(w->from)) {
        if (w->from == BASE_F32 || w->from == BASE_F64) {
            bits = call(w, w->from == BASE_F32 ? "f32_to_bits" : "f64_to_bits", "%s", w->arg[0].text).text;
        } else {
            bits = c_float_encode(w->u, w->from, base_printf(arena, "(double)%s", arg_text(w, 0, C_UNARY)));
        }
    }
    if (base_type_is_float(w->type)) {
        if (w->type == BASE_F32 || w->type == BASE_F64) {
            return call(w, w->type == BASE_F32 ? "bits_to_f32" : "bits_to_f64", "(%s)%s",
                        w->type == BASE_F32 ? "uint32_t" : "uint64_t", bits);
        }
        unsigned width = base_type_bits(w->type);
        return primary(
            c_float_decode(w->u, w->type, base_printf(arena, "(uint32_t)%s & %uu", bits, (1u << width) - 1u)));
    }
    if (w->type == BASE_BOOL) {
        return (c_value){base_printf(arena, "%s != 0", bits), C_LOWEST, false};
    }
    return base_type_bits(w->type) < 8
               ? wrapped(w, base_printf(arena, "(uint32_t)%s", bits))
               : settle(w, (c_value){base_printf(arena, "(%s)%s", c_value_type(w->type), bits), C_UNARY, false});
}

static c_value convert(c_word *w) {
    bool saturate = w->n->code == LANG_SAT;
    if (w->n->code == LANG_BITS) {
        return reinterpret(w);
    }
    if (base_type_is_float(w->type)) {
        return to_float(w, saturate);
    }
    if (base_type_is_float(w->from)) {
        return from_float(w);
    }
    return saturate && w->type != BASE_BOOL ? saturate_int(w) : int_to_int(w);
}

/* ---- conditions ---- */

static c_value compare(c_word *w) {
    const char *sign = w->n->code == LANG_LT ? "<" : w->n->code == LANG_LE ? "<=" : "==";
    return (c_value){base_printf(w->u->arena, "%s %s %s", arg_text(w, 0, C_ADD), sign, arg_text(w, 1, C_ADD)), C_LOWEST,
                     false};
}

static c_value predicate(c_word *w) {
    const char *a = arg_text(w, 0, C_PRIMARY);
    if (w->n->code == LANG_ISNAN) {
        return (c_value){base_printf(w->u->arena, "isnan(%s) != 0", a), C_LOWEST, false};
    }
    return (c_value){base_printf(w->u->arena, "isinf(%s) != 0", a), C_LOWEST, false};
}

static c_value int_word(c_word *w) {
    switch ((lang_word)w->n->code) {
    case LANG_ADD:
    case LANG_SUB:
    case LANG_MUL:
        return ring(w);
    case LANG_NEG:
        return negate(w);
    case LANG_ABS:
        return absolute(w);
    case LANG_MIN:
    case LANG_MAX:
        return extreme(w);
    case LANG_DIV:
        return divide(w, true, false);
    case LANG_MOD:
        return divide(w, true, true);
    case LANG_TDIV:
        return divide(w, false, false);
    case LANG_TREM:
        return divide(w, false, true);
    case LANG_POW:
        return power(w);
    case LANG_SHL:
    case LANG_SHR:
        return shift(w);
    case LANG_BITAND:
    case LANG_BITOR:
    case LANG_BITXOR:
    case LANG_BITNOT:
        return bitwise(w);
    default:
        return fixed_point(w);
    }
}

c_value c_word_text(c_unit *u, lang_ref r) {
    c_word w = {.u = u, .r = r, .n = lang_at(u->p, r)};
    c_value v;
    w.type = (base_type)w.n->type;
    for (uint32_t k = 0; k < w.n->count; k++) {
        w.operand[k] = lang_operand(u->p, r, k);
    }
    w.from = (base_type)lang_at(u->p, w.operand[0])->type;
    if (w.n->code == LANG_RDIVPOT && requantise(&w, &v)) {
        return v;
    }
    if (w.n->code == LANG_CAST && high_word(&w, &v)) {
        return v;
    }
    for (uint32_t k = 0; k < w.n->count; k++) {
        w.arg[k] = c_emit(u, w.operand[k]);
    }
    switch ((lang_word)w.n->code) {
    case LANG_LT:
    case LANG_LE:
    case LANG_EQ:
        return compare(&w);
    case LANG_NOT:
        return (c_value){base_printf(u->arena, "!%s", arg_text(&w, 0, C_PRIMARY)), C_UNARY, false};
    case LANG_ISNAN:
    case LANG_ISINF:
        return predicate(&w);
    case LANG_CAST:
    case LANG_SAT:
    case LANG_BITS:
        return convert(&w);
    case LANG_CLZ:
        return leading_zeros(&w);
    default:
        return base_type_is_float(w.type) ? float_word(&w) : int_word(&w);
    }
}
