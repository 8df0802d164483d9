/* carried.c - a program whose values of some float types are held in f32.
 *
 * Takes a program. Gives the same one with f32 in the place of f64, which rounds otherwise, or in the place of floats of 8 bits and
 * fewer, all of whose values f32 has: there each result is brought to the nearest value of its own type, by arithmetic, so that nothing
 * is other but the sign of zero.
 */
#include <math.h>

#include "lang/lang.h"
#include "lang/rewrite.h"

bool lang_is_carried(lang_carries what, base_type type) {
    return what == LANG_CARRIES_F64 ? type == BASE_F64
                                    : base_type_is_float(type) && base_type_bits(type) <= 8 && type != BASE_F8E8M0;
}

typedef struct carrier {
    lang_carries what;
    bool fails; /* there is a word that needs the bits of what is carried, or rounds each step of a sum */
    bool exact; /* every value of f64 is one of f32, if those that are read are */
} carrier;

static bool is_carried_at(const lang_rewriter *w, lang_ref r) {
    const carrier *x = w->user;
    return lang_is_carried(x->what, (base_type)lang_at(w->from, r)->type);
}

/* ---- the nearest value of a small type ---- */

typedef struct grid {
    int fraction, least; /* bits behind the point, and the least exponent of normal numbers */
    double largest;
} grid;

static grid grid_of(base_type type) {
    grid g = {.largest = lang_word_value(LANG_SAT, type, BASE_F32, &(base_value){.f = INFINITY}).f};
    double smallest = 1;
    while (base_round_to(type, 1 + ldexp(1, -g.fraction - 1)) == 1 + ldexp(1, -g.fraction - 1)) {
        g.fraction++;
    }
    while (base_round_to(type, smallest / 2) == smallest / 2) {
        smallest /= 2;
    }
    g.least = (int)lrint(log2(smallest)) + g.fraction;
    return g;
}

static lang_ref number(lang_program *p, double v) {
    return lang_float(p, BASE_F32, v);
}

/* Added to a power of two that is large enough, and taken off again, an amount keeps as many bits as the type has. */
static lang_ref rounded(lang_program *p, lang_ref x, base_type type, bool saturates) {
    const grid g = grid_of(type);
    const lang_ref a =
        lang_apply2(p, LANG_MIN, BASE_F32, lang_apply1(p, LANG_ABS, BASE_F32, x), number(p, 2 * g.largest));
    const lang_ref one = lang_int(p, BASE_I32, 1 << 23);
    lang_ref e = lang_apply2(p, LANG_DIV, BASE_I32, lang_apply1(p, LANG_BITS, BASE_I32, a), one);
    e = lang_apply2(p, LANG_MAX, BASE_I32, e, lang_int(p, BASE_I32, g.least + 127));
    const lang_ref power = lang_apply1(p, LANG_BITS, BASE_F32, lang_apply2(p, LANG_MUL, BASE_I32, e, one));
    const lang_ref large = lang_apply2(p, LANG_MUL, BASE_F32, power, number(p, ldexp(1, 23 - g.fraction)));
    lang_ref y = lang_apply2(p, LANG_SUB, BASE_F32, lang_apply2(p, LANG_ADD, BASE_F32, a, large), large);
    const lang_ref is_over = lang_apply2(p, LANG_LT, BASE_BOOL, number(p, g.largest), y),
                   over = number(p, saturates ? g.largest : base_round_to(type, INFINITY));
    y = lang_apply(p, LANG_IF, BASE_F32, (lang_ref[]){is_over, over, y}, 3);
    const lang_ref less = lang_apply2(p, LANG_LT, BASE_BOOL, x, number(p, 0));
    y = lang_apply(p, LANG_IF, BASE_F32, (lang_ref[]){less, lang_apply1(p, LANG_NEG, BASE_F32, y), y}, 3);
    return lang_apply(p, LANG_IF, BASE_F32,
                      (lang_ref[]){lang_apply1(p, LANG_ISNAN, BASE_BOOL, x), number(p, base_round_to(type, NAN)), y},
                      3);
}

/* ---- words ---- */

static bool is_one_of(lang_word w, const lang_word *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (list[i] == w) {
            return true;
        }
    }
    return false;
}

/* Gives a value of the type, of values of the type, without rounding. */
static bool only_chooses(lang_word w) {
    static const lang_word list[] = {LANG_NEG, LANG_ABS, LANG_MIN, LANG_MAX, LANG_IF};
    return is_one_of(w, list, sizeof list / sizeof *list);
}

static bool is_whole(lang_word w) {
    static const lang_word list[] = {LANG_FLOOR, LANG_CEIL, LANG_TRUNC, LANG_RNE, LANG_RHA};
    return is_one_of(w, list, sizeof list / sizeof *list);
}

static bool is_in_f32(base_type type) {
    return base_type_is_float(type) ? base_type_bits(type) <= 32 : base_type_bits(type) <= 16;
}

/* A conversion to a type that is carried. */
static lang_ref converted(lang_rewriter *w, const lang_node *n, lang_ref from, lang_ref a) {
    carrier *x = w->user;
    const base_type had = (base_type)lang_at(w->from, from)->type;
    const bool saturates = n->code == LANG_SAT;
    x->exact = x->exact && (is_in_f32(had) || is_carried_at(w, from));
    a = lang_at(w->to, a)->type == BASE_F32 ? a : lang_apply1(w->to, LANG_CAST, BASE_F32, a);
    return x->what == LANG_CARRIES_F64 || had == (base_type)n->type ? a
                                                                    : rounded(w->to, a, (base_type)n->type, saturates);
}

static lang_ref replace_word(lang_rewriter *w, lang_ref r) {
    carrier *x = w->user;
    const lang_node n = *lang_at(w->from, r);
    const lang_word word = (lang_word)n.code;
    const bool gives = is_carried_at(w, r), takes = is_carried_at(w, lang_operand(w->from, r, 0)),
               converts = word == LANG_CAST || word == LANG_SAT;
    lang_ref args[3] = {0};
    for (uint32_t k = 0; k < n.count; k++) {
        args[k] = w->memo.at[lang_operand(w->from, r, k)];
    }
    if (word == LANG_BITS && (gives || takes)) {
        x->fails = true;
        return lang_int(w->to, gives ? BASE_F32 : (base_type)n.type, 0);
    }
    if (converts && gives) {
        return converted(w, &n, lang_operand(w->from, r, 0), args[0]);
    }
    if (!gives) {
        return converts && takes && n.type == BASE_F32 ? args[0] : 0;
    }
    x->exact = x->exact && (only_chooses(word) || is_whole(word));
    const lang_ref y = lang_apply(w->to, word, BASE_F32, args, n.count);
    return x->what == LANG_CARRIES_F64 || only_chooses(word) || y == 0 ? y
                                                                       : rounded(w->to, y, (base_type)n.type, false);
}

static lang_ref replace_reduction(lang_rewriter *w, lang_ref r) {
    carrier *x = w->user;
    const lang_node n = *lang_at(w->from, r);
    const lang_reduction how = (lang_reduction)n.code;
    lang_ref operands[LANG_MAX_VARS + 3] = {0};
    if (!is_carried_at(w, r)) {
        return 0;
    }
    for (uint32_t k = 0; k < n.count; k++) {
        const lang_ref o = lang_operand(w->from, r, k);
        operands[k] = o != 0 ? w->memo.at[o] : 0;
    }
    const bool adds = how == LANG_SUM || how == LANG_PROD;
    x->exact = x->exact && !adds;
    x->fails = x->fails || (adds && x->what != LANG_CARRIES_F64);
    return lang_reduce(w->to, how, BASE_F32, operands, n.count - 3, operands[n.count - 3], operands[n.count - 2],
                       operands[n.count - 1]);
}

static lang_ref replace(lang_rewriter *w, lang_ref r) {
    carrier *x = w->user;
    const lang_node n = *lang_at(w->from, r);
    switch ((lang_kind)n.kind) {
    case LANG_CONST:
        if (!is_carried_at(w, r)) {
            return 0;
        }
        x->exact = x->exact && (isnan(n.value.f) || base_round_to(BASE_F32, n.value.f) == n.value.f);
        return number(w->to, n.value.f);
    case LANG_WORD_:
        return replace_word(w, r);
    case LANG_REDUCE:
        return replace_reduction(w, r);
    case LANG_VAR:
    case LANG_READ:
        break;
    }
    return 0;
}

/* ---- the program ---- */

const void *lang_carried_data(base_arena *arena, base_type type, const void *data, uint64_t count, bool *exact) {
    float *to = BASE_NEWS(arena, float, (size_t)count + 1);
    for (uint64_t i = 0; i < count; i++) {
        const base_value v = base_load(type, data, i);
        *exact = *exact && (isnan(v.f) || base_round_to(BASE_F32, v.f) == v.f);
        base_store(BASE_F32, to, i, v);
    }
    return to;
}

static void carry_tensor(lang_program *q, lang_tensor *t, carrier *x) {
    uint64_t count = 1;
    if (!lang_is_carried(x->what, t->type)) {
        return;
    }
    for (uint32_t k = 0; k < t->rank; k++) {
        count *= (uint64_t)t->dim[k];
    }
    t->data = t->data != NULL ? lang_carried_data(q->arena, t->type, t->data, count, &x->exact) : NULL;
    t->type = BASE_F32;
}

lang_program *lang_carried(base_arena *arena, const lang_program *p, lang_carries what, bool *exact) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    uint32_t *map = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    lang_program *q = lang_like(arena, p, NULL, map);
    carrier x = {.what = what, .exact = true};
    lang_rewriter w = {.from = p, .to = q, .replace = replace, .user = &x, .tensor_map = map};
    bool fine = p->external == NULL;
    q->node_limit = 64 * p->nodes.n + 4096;
    for (size_t t = 0; t < q->tensors.n; t++) {
        carry_tensor(q, &q->tensors.at[t], &x);
    }
    for (uint32_t t = 0; fine && t < p->tensors.n; t++) {
        fine = lang_copy_extents(scratch, &w, t, map[t]);
    }
    for (size_t i = 0; fine && i < p->stages.n; i++) {
        fine = lang_copy_stage(scratch, &w, &p->stages.at[i], map[p->stages.at[i].tensor]) && !x.fails;
    }
    base_arena_free(scratch);
    *exact = x.exact;
    return fine ? q : NULL;
}
