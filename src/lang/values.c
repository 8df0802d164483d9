/* values.c - values during instantiation: weak constants, their types, and words applied to them.
 *
 * Takes values. Gives values; whatever is no static value becomes a node of the program by the builders of program.h.
 * A weak constant has no type until it meets one. Weak integers are exact: leaving 64 bits is an error, as is dividing
 * by 0.
 */
#include "lang/inst.h"

#include <string.h>

static const char word_class[] = {
#define LANG_WORD(E, spelling, arity, class) class,
#include "lang/words.def"
#undef LANG_WORD
};

lang_val lang_v_node(lang_inst *in, lang_pos pos, lang_ref ref) {
    if (ref == 0)
        return lang_i_fail(in, pos, "the definition is too large for these arguments (more than %llu nodes)",
                           (unsigned long long)in->p->node_limit);
    const lang_node *n = lang_at(in->p, ref);
    if (n->kind == LANG_CONST && n->type == BASE_BOOL)
        return lang_v_bool(n->value.u != 0);
    return (lang_val){LANG_V_NODE, n->type, {.ref = ref}};
}

const char *lang_v_shown(lang_inst *in, lang_val v) {
    base_text t = {in->arena, NULL, 0, 0};
    switch ((lang_val_kind)v.kind) {
    case LANG_V_INT:
        base_put(&t, "the constant %lld", (long long)v.v.i);
        break;
    case LANG_V_FLOAT:
        base_puts(&t, "the constant ");
        base_put_float(&t, v.v.f);
        break;
    case LANG_V_BOOL:
        base_puts(&t, "a condition");
        break;
    case LANG_V_TEXT:
        base_puts(&t, "a text");
        break;
    case LANG_V_TYPE:
        base_puts(&t, "a type");
        break;
    case LANG_V_TENSOR:
        base_put(&t, "the tensor %s (an element of it is %s[...])", v.v.tensor->label, v.v.tensor->label);
        break;
    case LANG_V_CHOICE:
        return lang_v_shown(in, v.v.choice->yes);
    case LANG_V_OPEN:
        base_puts(&t, "a number that follows from extents which a run decides");
        break;
    case LANG_V_NODE:
        base_puts(&t, base_type_name((base_type)v.type));
        break;
    case LANG_V_BAD:
        base_puts(&t, "an error");
        break;
    }
    return t.at;
}

static bool is_weak(lang_val v) {
    return v.kind == LANG_V_INT || v.kind == LANG_V_FLOAT || v.kind == LANG_V_BOOL || v.kind == LANG_V_CHOICE ||
           v.kind == LANG_V_OPEN;
}

lang_val lang_v_open(lang_inst *in, lang_pos pos, lang_ref ref) {
    const lang_val v = lang_v_node(in, pos, ref);
    if (v.kind != LANG_V_NODE) {
        return v;
    }
    const lang_node *n = lang_at(in->p, ref);
    if (n->kind == LANG_CONST) {
        return n->type == BASE_I64 ? lang_v_int(n->value.i) : lang_v_float(n->value.f);
    }
    return (lang_val){LANG_V_OPEN, n->type, {.ref = ref}};
}

/* As a constant would meet t: a number that may not fit is an error. */
static lang_val adapt_open(lang_inst *in, lang_pos pos, lang_val v, base_type t, const char *what) {
    if (v.type == BASE_F64 ? !base_type_is_float(t) : t == BASE_BOOL) {
        return lang_i_fail(in, pos, "%s must be %s, found %s", what, base_type_name(t), lang_v_shown(in, v));
    }
    if (base_type_is_int(t)) {
        const lang_range r = lang_range_of(lang_i_ranges(in), NULL, v.v.ref);
        int64_t lo;
        uint64_t hi;
        base_type_range(t, &lo, &hi);
        if (!r.known || r.lo < lo || (r.hi > 0 && (uint64_t)r.hi > hi)) {
            return lang_i_fail(in, pos, "%s may not fit %s: it follows from extents which a run decides", what,
                               base_type_name(t));
        }
    }
    return v.type == t ? lang_v_node(in, pos, v.v.ref)
                       : lang_v_node(in, pos, lang_apply1(in->p, LANG_CAST, t, v.v.ref));
}

static lang_val adapt_int(lang_inst *in, lang_pos pos, int64_t i, base_type t) {
    if (t == BASE_BOOL) {
        if (i != 0 && i != 1)
            return lang_i_fail(in, pos, "the constant %lld is no bool", (long long)i);
        return lang_v_bool(i != 0);
    }
    if (base_type_is_int(t)) {
        int64_t lo;
        uint64_t hi;
        base_type_range(t, &lo, &hi);
        if (i < lo || (i > 0 && (uint64_t)i > hi))
            return lang_i_fail(in, pos, "the constant %lld does not fit %s", (long long)i, base_type_name(t));
    }
    return lang_v_node(in, pos, lang_int(in->p, t, i));
}

/* A static condition as a node. */
static lang_ref bool_node(lang_inst *in, lang_val v) {
    if (v.kind == LANG_V_NODE)
        return v.v.ref;
    return lang_const(in->p, BASE_BOOL, (base_value){.u = v.v.i != 0});
}

lang_val lang_v_adapt(lang_inst *in, lang_pos pos, lang_val v, base_type t, const char *what) {
    switch ((lang_val_kind)v.kind) {
    case LANG_V_BAD:
        return v;
    case LANG_V_INT:
        return adapt_int(in, pos, v.v.i, t);
    case LANG_V_FLOAT:
        if (base_type_is_float(t))
            return lang_v_node(in, pos, lang_float(in->p, t, v.v.f));
        break;
    case LANG_V_BOOL:
        if (t == BASE_BOOL)
            return v;
        break;
    case LANG_V_CHOICE: {
        lang_val yes = lang_v_adapt(in, pos, v.v.choice->yes, t, what);
        if (yes.kind == LANG_V_BAD)
            return yes;
        return lang_v_if(in, pos, v.v.choice->condition, yes, lang_v_adapt(in, pos, v.v.choice->no, t, what));
    }
    case LANG_V_OPEN:
        return adapt_open(in, pos, v, t, what);
    case LANG_V_NODE:
        if (v.type == t)
            return v;
        break;
    case LANG_V_TEXT:
    case LANG_V_TYPE:
    case LANG_V_TENSOR:
        break;
    }
    return lang_i_fail(in, pos, "%s must be %s, found %s", what, base_type_name(t), lang_v_shown(in, v));
}

lang_val lang_v_settle(lang_inst *in, lang_pos pos, lang_val v, const char *what) {
    switch ((lang_val_kind)v.kind) {
    case LANG_V_BAD:
    case LANG_V_NODE:
    case LANG_V_BOOL:
        return v;
    case LANG_V_INT:
        return adapt_int(in, pos, v.v.i, BASE_I64);
    case LANG_V_CHOICE: {
        lang_val yes = lang_v_settle(in, pos, v.v.choice->yes, what);
        if (yes.kind == LANG_V_BAD)
            return yes;
        return lang_v_if(in, pos, v.v.choice->condition, yes, lang_v_settle(in, pos, v.v.choice->no, what));
    }
    case LANG_V_OPEN:
        if (v.type == BASE_I64)
            return lang_v_node(in, pos, v.v.ref);
        return lang_i_fail(in, pos, "%s is a constant without a type: state the type", what);
    case LANG_V_FLOAT:
        return lang_i_fail(in, pos, "%s is a constant without a type: state the type", what);
    case LANG_V_TEXT:
    case LANG_V_TYPE:
    case LANG_V_TENSOR:
        break;
    }
    return lang_i_fail(in, pos, "%s must be a value, found %s", what, lang_v_shown(in, v));
}

bool lang_v_is_static_int(const lang_inst *in, lang_val v, int64_t *out) {
    *out = v.v.i;
    if (v.kind == LANG_V_INT)
        return true;
    if (v.kind != LANG_V_NODE || !base_type_is_int((base_type)v.type))
        return false;
    const lang_node *n = lang_at(in->p, v.v.ref);
    if (n->kind != LANG_CONST || (!base_type_is_signed((base_type)n->type) && n->value.u > INT64_MAX))
        return false;
    *out = n->value.i;
    return true;
}

bool lang_v_static_int(lang_inst *in, lang_pos pos, lang_val v, const char *what, int64_t *out) {
    if (lang_v_is_static_int(in, v, out))
        return true;
    if (v.kind == LANG_V_NODE && base_type_is_int((base_type)v.type))
        lang_i_fail(in, pos, "%s must be constant: it depends on what a run reads", what);
    else if (v.kind == LANG_V_OPEN)
        lang_i_fail(in, pos, "%s must be constant: it follows from extents which a run decides", what);
    else if (v.kind != LANG_V_BAD)
        lang_i_fail(in, pos, "%s must be a constant integer, found %s", what, lang_v_shown(in, v));
    return false;
}

/* ---- words on weak constants ---- */
static bool int_power(int64_t a, int64_t b, int64_t *r) {
    if (b < 0) {
        *r = base_ipow(a, b);
        return true;
    }
    if (a == 0 || a == 1 || a == -1) {
        *r = base_ipow(a, b);
        return true;
    }
    int64_t x = 1;
    for (; b > 0; b--) /* |a| >= 2: at most 63 rounds before it overflows */
        if (__builtin_mul_overflow(x, a, &x))
            return false;
    *r = x;
    return true;
}

static bool int_shift_left(int64_t a, int64_t count, int64_t *r) {
    if (count < 0 || a == 0)
        count = 0;
    if (count > 62)
        return false;
    return !__builtin_mul_overflow(a, INT64_C(1) << count, r);
}

/* false: leaves 64 bits. */
static bool int_word(lang_word w, const int64_t *a, int64_t *r) {
    switch (w) {
    case LANG_ADD:
        return !__builtin_add_overflow(a[0], a[1], r);
    case LANG_SUB:
        return !__builtin_sub_overflow(a[0], a[1], r);
    case LANG_MUL:
        return !__builtin_mul_overflow(a[0], a[1], r);
    case LANG_NEG:
        return !__builtin_sub_overflow(INT64_C(0), a[0], r);
    case LANG_ABS:
        if (a[0] < 0)
            return !__builtin_sub_overflow(INT64_C(0), a[0], r);
        *r = a[0];
        return true;
    case LANG_DIV:
    case LANG_TDIV:
        if (a[0] == INT64_MIN && a[1] == -1)
            return false;
        *r = w == LANG_DIV ? base_floor_div(a[0], a[1]) : base_trunc_div(a[0], a[1]);
        return true;
    case LANG_POW:
        return int_power(a[0], a[1], r);
    case LANG_SHL:
        return int_shift_left(a[0], a[1], r);
    default:
        break;
    }
    base_value v[2] = {{.i = a[0]}, {.i = a[1]}};
    *r = lang_word_value(w, BASE_I64, BASE_I64, v).i; /* cannot leave 64 bits */
    return true;
}

static lang_val fold_ints(lang_inst *in, lang_pos pos, lang_word w, const lang_val *args, uint32_t n) {
    int64_t a[2] = {args[0].v.i, n > 1 ? args[1].v.i : 0}, r = 0;
    if (word_class[w] == 'c')
        return lang_v_bool(w == LANG_LT ? a[0] < a[1] : w == LANG_LE ? a[0] <= a[1] : a[0] == a[1]);
    if ((w == LANG_DIV || w == LANG_MOD || w == LANG_TDIV || w == LANG_TREM) && a[1] == 0)
        return lang_i_fail(in, pos, "division of constants by zero");
    if (!int_word(w, a, &r))
        return lang_i_fail(in, pos, "the constant leaves 64 bits");
    return lang_v_int(r);
}

static lang_val fold_floats(lang_word w, const lang_val *args, uint32_t n) {
    base_value v[2];
    for (uint32_t k = 0; k < 2; k++)
        v[k].f = k >= n ? 0 : args[k].kind == LANG_V_INT ? (double)args[k].v.i : args[k].v.f;
    bool condition = word_class[w] == 'c' || word_class[w] == 'p';
    base_value r = lang_word_value(w, condition ? BASE_BOOL : BASE_F64, BASE_F64, v);
    return condition ? lang_v_bool(r.u != 0) : lang_v_float(r.f);
}

static lang_val wrong_arguments(lang_inst *in, lang_pos pos, lang_word w, const lang_val *args, uint32_t n) {
    if (n == 1)
        return lang_i_fail(in, pos, "%s cannot take %s", lang_word_name(w), lang_v_shown(in, args[0]));
    return lang_i_fail(in, pos, "%s cannot take %s and %s", lang_word_name(w), lang_v_shown(in, args[0]),
                       lang_v_shown(in, args[1]));
}

static lang_val fold_weak(lang_inst *in, lang_pos pos, lang_word w, const lang_val *args, uint32_t n) {
    char class = word_class[w];
    bool ints = true, floats = true;
    for (uint32_t k = 0; k < n; k++) {
        ints &= args[k].kind == LANG_V_INT;
        floats &= args[k].kind == LANG_V_INT || args[k].kind == LANG_V_FLOAT;
    }
    if (class == 'k')
        return lang_i_fail(in, pos, "%s of a constant without a type: state the type", lang_word_name(w));
    if (class == 'f' || class == 'p') {
        if (floats)
            return fold_floats(w, args, n);
    } else if (class == 'i' || class == 's') {
        if (ints)
            return fold_ints(in, pos, w, args, n);
    } else if (ints) {
        return fold_ints(in, pos, w, args, n);
    } else if (floats) {
        return fold_floats(w, args, n);
    } else if (w == LANG_EQ && n == 2) {
        lang_val a = args[0], b = args[1];
        if (a.kind == LANG_V_TEXT && b.kind == LANG_V_TEXT)
            return lang_v_bool(strcmp(a.v.text, b.v.text) == 0);
        if (a.kind == LANG_V_TYPE && b.kind == LANG_V_TYPE)
            return lang_v_bool(a.type == b.type);
        bool ab = a.kind == LANG_V_BOOL || a.kind == LANG_V_INT, bb = b.kind == LANG_V_BOOL || b.kind == LANG_V_INT;
        if (ab && bb && (a.v.i | b.v.i | 1) == 1)
            return lang_v_bool(a.v.i == b.v.i);
    }
    return wrong_arguments(in, pos, w, args, n);
}

/* Words on what is made of counts: weak again, exact in 64 bits. */
static lang_val fold_open(lang_inst *in, lang_pos pos, lang_word w, const lang_val *args, uint32_t n) {
    char class = word_class[w];
    bool floats = class == 'f' || class == 'p';
    for (uint32_t k = 0; k < n; k++) {
        if (args[k].kind != LANG_V_INT && args[k].kind != LANG_V_FLOAT && args[k].kind != LANG_V_OPEN)
            return wrong_arguments(in, pos, w, args, n);
        floats |= args[k].kind == LANG_V_FLOAT || (args[k].kind == LANG_V_OPEN && args[k].type == BASE_F64);
    }
    if (class == 'k' || (floats && (class == 'i' || class == 's')))
        return wrong_arguments(in, pos, w, args, n);
    base_type t = floats ? BASE_F64 : BASE_I64;
    bool condition = class == 'c' || class == 'p';
    lang_ref refs[3] = {0};
    for (uint32_t k = 0; k < n; k++) {
        lang_val v = lang_v_adapt(in, pos, args[k], t, "the argument");
        if (v.kind == LANG_V_BAD)
            return v;
        refs[k] = v.v.ref;
    }
    lang_val r = lang_v_node(in, pos, lang_apply(in->p, w, condition ? BASE_BOOL : t, refs, n));
    if (r.kind != LANG_V_NODE)
        return r;
    if (condition) {
        int known = lang_i_decide(in, r.v.ref);
        return known >= 0 ? lang_v_bool(known != 0) : r;
    }
    if (t == BASE_I64 && lang_may_wrap(lang_i_ranges(in), NULL, r.v.ref))
        return lang_i_fail(in, pos, "a number that follows from extents which a run decides may leave 64 bits");
    return lang_v_open(in, pos, r.v.ref);
}

/* One argument is a choice: the word goes into both of its sides. */
static lang_val distribute(lang_inst *in, lang_pos pos, lang_word w, const lang_val *args, uint32_t n) {
    uint32_t k = args[0].kind == LANG_V_CHOICE ? 0 : 1, leaves = 1;
    for (uint32_t j = 0; j < n; j++)
        leaves *= args[j].kind == LANG_V_CHOICE ? args[j].v.choice->leaves : 1;
    if (leaves > LANG_MAX_LEAVES)
        return lang_i_fail(in, pos, "too many choices between constants without a type: state the type");
    const lang_choice *c = args[k].v.choice;
    lang_val side[2] = {args[0], n > 1 ? args[1] : lang_v_bad()};
    side[k] = c->yes;
    lang_val yes = lang_v_word(in, pos, w, side, n);
    if (yes.kind == LANG_V_BAD)
        return yes;
    side[k] = c->no;
    lang_val no = lang_v_word(in, pos, w, side, n);
    return lang_v_if(in, pos, c->condition, yes, no);
}

/* ---- words ---- */
static bool type_fits(char class, lang_word w, base_type t) {
    switch (class) {
    case 'n':
        return t != BASE_BOOL;
    case 'c':
        return w == LANG_EQ || t != BASE_BOOL;
    case 'f':
    case 'p':
        return base_type_is_float(t);
    default:
        return base_type_is_int(t);
    }
}

static lang_val shift(lang_inst *in, lang_pos pos, lang_word w, const lang_val *args) {
    base_type t = (base_type)args[0].type;
    lang_val count = args[1];
    if (args[0].kind != LANG_V_NODE)
        return lang_i_fail(in, pos, "%s of a constant without a type by a computed count: state the type",
                           lang_word_name(w));
    if (!base_type_is_int(t) || (count.kind == LANG_V_NODE && !base_type_is_int((base_type)count.type)))
        return wrong_arguments(in, pos, w, args, 2);
    if (count.kind != LANG_V_NODE)
        count = lang_v_adapt(in, pos, count, BASE_I64, "the count of a shift");
    if (count.kind == LANG_V_BAD)
        return count;
    return lang_v_node(in, pos, lang_apply2(in->p, w, t, args[0].v.ref, count.v.ref));
}

static lang_val apply(lang_inst *in, lang_pos pos, lang_word w, const lang_val *args, uint32_t n, base_type t,
                      base_type result) {
    lang_ref refs[3] = {0};
    for (uint32_t k = 0; k < n; k++) {
        lang_val v = args[k];
        if (v.kind == LANG_V_NODE && v.type != t)
            return wrong_arguments(in, pos, w, args, n);
        v = lang_v_adapt(in, pos, v, t, n == 1 ? "the argument" : "the other side");
        if (v.kind == LANG_V_BAD)
            return v;
        refs[k] = v.kind == LANG_V_BOOL ? bool_node(in, v) : v.v.ref;
    }
    return lang_v_node(in, pos, lang_apply(in->p, w, result, refs, n));
}

lang_val lang_v_word(lang_inst *in, lang_pos pos, lang_word w, const lang_val *args, uint32_t n) {
    char class = word_class[w];
    bool choice = false, node = false, open = false;
    base_type t = BASE_NONE;
    for (uint32_t k = 0; k < n; k++) {
        if (args[k].kind == LANG_V_BAD)
            return args[k];
        open |= args[k].kind == LANG_V_OPEN;
        if (args[k].kind == LANG_V_CHOICE)
            choice = true;
        if (args[k].kind == LANG_V_NODE && !node) {
            node = true;
            t = (base_type)args[k].type;
        }
    }
    if (class == 'x' || class == 'h')
        return apply(in, pos, w, args, n, class == 'x' ? BASE_I32 : BASE_I16, class == 'x' ? BASE_I32 : BASE_I16);
    if (class == 'l')
        return apply(in, pos, w, args, n, BASE_BOOL, BASE_BOOL);
    if (!node)
        return choice ? distribute(in, pos, w, args, n)
               : open ? fold_open(in, pos, w, args, n)
                      : fold_weak(in, pos, w, args, n);
    if (class == 's')
        return shift(in, pos, w, args);
    if (!type_fits(class, w, t))
        return wrong_arguments(in, pos, w, args, n);
    return apply(in, pos, w, args, n, t, class == 'c' || class == 'p' ? BASE_BOOL : class == 'k' ? BASE_I32 : t);
}

lang_val lang_v_convert(lang_inst *in, lang_pos pos, lang_word mode, base_type t, lang_val v) {
    switch ((lang_val_kind)v.kind) {
    case LANG_V_BAD:
        return v;
    case LANG_V_CHOICE: {
        lang_val yes = lang_v_convert(in, pos, mode, t, v.v.choice->yes);
        if (yes.kind == LANG_V_BAD)
            return yes;
        return lang_v_if(in, pos, v.v.choice->condition, yes, lang_v_convert(in, pos, mode, t, v.v.choice->no));
    }
    case LANG_V_INT:
    case LANG_V_FLOAT:
        if (mode == LANG_BITS)
            return lang_i_fail(in, pos, "the bits of a constant without a type: state its type");
        v = lang_v_node(in, pos,
                        v.kind == LANG_V_INT ? lang_int(in->p, BASE_I64, v.v.i) : lang_float(in->p, BASE_F64, v.v.f));
        if (v.kind == LANG_V_BAD)
            return v;
        break;
    case LANG_V_OPEN:
        if (mode == LANG_BITS)
            return lang_i_fail(in, pos, "the bits of a constant without a type: state its type");
        v.kind = LANG_V_NODE;
        break;
    case LANG_V_BOOL:
        if (t == BASE_BOOL)
            return v;
        v = (lang_val){LANG_V_NODE, BASE_BOOL, {.ref = bool_node(in, v)}};
        break;
    case LANG_V_NODE:
        break;
    case LANG_V_TEXT:
    case LANG_V_TYPE:
    case LANG_V_TENSOR:
        return lang_i_fail(in, pos, "%s cannot be converted to %s", lang_v_shown(in, v), base_type_name(t));
    }
    if (v.type == t)
        return v;
    if (mode == LANG_BITS && base_type_bits((base_type)v.type) != base_type_bits(t))
        return lang_i_fail(in, pos, "bits_%s of %s: the widths differ", base_type_name(t),
                           base_type_name((base_type)v.type));
    return lang_v_node(in, pos, lang_apply1(in->p, mode, t, v.v.ref));
}

static lang_val negated(lang_inst *in, lang_pos pos, lang_val v) {
    if (v.kind == LANG_V_BOOL)
        return lang_v_bool(!v.v.i);
    return lang_v_word(in, pos, LANG_NOT, &v, 1);
}

lang_val lang_v_binary(lang_inst *in, lang_pos pos, lang_binary_op op, lang_val a, lang_val b) {
    static const lang_word words[] = {
        [LANG_B_ADD] = LANG_ADD, [LANG_B_SUB] = LANG_SUB, [LANG_B_MUL] = LANG_MUL, [LANG_B_DIV] = LANG_DIV,
        [LANG_B_MOD] = LANG_MOD, [LANG_B_LT] = LANG_LT,   [LANG_B_LE] = LANG_LE,   [LANG_B_GT] = LANG_LT,
        [LANG_B_GE] = LANG_LE,   [LANG_B_EQ] = LANG_EQ,   [LANG_B_NE] = LANG_EQ,   [LANG_B_AND] = LANG_AND,
        [LANG_B_OR] = LANG_OR};
    bool swap = op == LANG_B_GT || op == LANG_B_GE;
    lang_val args[2] = {swap ? b : a, swap ? a : b};
    lang_val r = lang_v_word(in, pos, words[op], args, 2);
    return op == LANG_B_NE && r.kind != LANG_V_BAD ? negated(in, pos, r) : r;
}

static bool same(lang_val a, lang_val b) {
    if (a.kind != b.kind || a.type != b.type)
        return false;
    if (a.kind == LANG_V_NODE || a.kind == LANG_V_OPEN)
        return a.v.ref == b.v.ref;
    if (a.kind == LANG_V_FLOAT)
        return memcmp(&a.v.f, &b.v.f, sizeof a.v.f) == 0;
    return (a.kind == LANG_V_INT || a.kind == LANG_V_BOOL) && a.v.i == b.v.i;
}

/* A choice between weak numbers by what extents say is such a number itself; BAD: it is none, or an error. */
static lang_val open_choice(lang_inst *in, lang_pos pos, lang_ref condition, lang_val yes, lang_val no) {
    bool ints = true, floats = true;
    const lang_val side[] = {yes, no};
    for (uint32_t k = 0; k < 2; k++) {
        bool is_int = side[k].kind == LANG_V_INT || (side[k].kind == LANG_V_OPEN && side[k].type == BASE_I64);
        bool is_float = side[k].kind == LANG_V_FLOAT || (side[k].kind == LANG_V_OPEN && side[k].type == BASE_F64);
        ints &= is_int;
        floats &= is_float;
    }
    if ((!ints && !floats) || !lang_i_is_open(in, condition))
        return lang_v_bad();
    base_type t = ints ? BASE_I64 : BASE_F64;
    lang_ref refs[3] = {condition};
    for (uint32_t k = 0; k < 2; k++) {
        lang_val v = lang_v_adapt(in, pos, side[k], t, "a side of if");
        if (v.kind == LANG_V_BAD)
            return v;
        refs[k + 1] = v.v.ref;
    }
    return lang_v_open(in, pos, lang_apply(in->p, LANG_IF, t, refs, 3));
}

lang_val lang_v_if(lang_inst *in, lang_pos pos, lang_ref condition, lang_val yes, lang_val no) {
    if (yes.kind == LANG_V_BAD || same(yes, no))
        return yes;
    if (no.kind == LANG_V_BAD)
        return no;
    bool nodes =
        yes.kind == LANG_V_NODE || no.kind == LANG_V_NODE || (yes.kind == LANG_V_BOOL && no.kind == LANG_V_BOOL);
    if (!nodes && in->call->count_count > 0) {
        lang_val open = open_choice(in, pos, condition, yes, no);
        if (open.kind != LANG_V_BAD)
            return open;
    }
    if (!nodes) {
        if (!is_weak(yes) || !is_weak(no))
            return lang_i_fail(in, pos, "a run cannot choose between %s and %s", lang_v_shown(in, yes),
                               lang_v_shown(in, no));
        uint32_t leaves = (yes.kind == LANG_V_CHOICE ? yes.v.choice->leaves : 1) +
                          (no.kind == LANG_V_CHOICE ? no.v.choice->leaves : 1);
        if (leaves > LANG_MAX_CHOICE)
            return lang_i_fail(in, pos, "too many choices between constants without a type: state the type");
        lang_choice *c = BASE_NEW(in->arena, lang_choice);
        *c = (lang_choice){condition, yes, no, leaves};
        return (lang_val){LANG_V_CHOICE, 0, {.choice = c}};
    }
    base_type t = yes.kind == LANG_V_NODE  ? (base_type)yes.type
                  : no.kind == LANG_V_NODE ? (base_type)no.type
                                           : BASE_BOOL;
    if (yes.kind == LANG_V_NODE && no.kind == LANG_V_NODE && yes.type != no.type)
        return lang_i_fail(in, pos, "the two sides of if are %s and %s", lang_v_shown(in, yes), lang_v_shown(in, no));
    yes = lang_v_adapt(in, pos, yes, t, "a side of if");
    if (yes.kind == LANG_V_BAD)
        return yes;
    no = lang_v_adapt(in, pos, no, t, "a side of if");
    if (no.kind == LANG_V_BAD)
        return no;
    lang_ref refs[3] = {condition, bool_node(in, yes), bool_node(in, no)};
    return lang_v_node(in, pos, lang_apply(in->p, LANG_IF, t, refs, 3));
}
