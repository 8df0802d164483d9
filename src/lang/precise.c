/* precise.c - sums of floats of 32 and 16 bits, taken in 64.
 *
 * Takes a program. Gives one whose sums have factors, products and sum in f64, and are rounded to their own type once, at the end: nearer to the
 * exact value than any order of f32, not the same bits. Sums of integers and of f64 stay.
 */
#include "lang/lang.h"
#include "lang/rewrite.h"

static bool is_narrow(const lang_program *p, lang_ref r) {
    return base_type_is_float((base_type)lang_at(p, r)->type) && lang_at(p, r)->type != BASE_F64;
}

static lang_ref in_f64(lang_program *p, lang_ref r) {
    return r == 0 ? 0 : lang_apply1(p, LANG_CAST, BASE_F64, r);
}

/* The value of r, whose products have not been rounded. */
static lang_ref widened(lang_program *p, lang_ref r) {
    const lang_node *n = lang_at(p, r);
    if (n->kind == LANG_WORD_ && n->code == LANG_MUL && is_narrow(p, r)) {
        const lang_ref a = lang_operand(p, r, 0), b = lang_operand(p, r, 1);
        const lang_ref wide_a = in_f64(p, a), wide_b = in_f64(p, b);
        return wide_a == 0 || wide_b == 0 ? 0 : lang_apply2(p, LANG_MUL, BASE_F64, wide_a, wide_b);
    }
    return in_f64(p, r);
}

static lang_ref replace(lang_rewriter *w, lang_ref r) {
    const lang_node *n = lang_at(w->from, r);
    if (n->kind != LANG_REDUCE || n->code != LANG_SUM || !is_narrow(w->from, r)) {
        return 0;
    }
    const base_type type = (base_type)n->type;
    const uint32_t vars = n->count - 3;
    lang_ref operand[LANG_MAX_VARS + 3];
    for (uint32_t k = 0; k < n->count; k++) {
        const lang_ref o = lang_operand(w->from, r, k);
        operand[k] = o == 0 ? 0 : w->memo.at[o];
    }
    const lang_ref otherwise = operand[vars + 2];
    const lang_ref body = widened(w->to, operand[vars + 1]), wide = in_f64(w->to, otherwise);
    if (body == 0 || (otherwise != 0 && wide == 0)) {
        return 0;
    }
    const lang_ref sum = lang_reduce(w->to, LANG_SUM, BASE_F64, operand, vars, operand[vars], body, wide);
    return sum == 0 ? 0 : lang_apply1(w->to, LANG_CAST, type, sum);
}

lang_program *lang_precise(base_arena *arena, const lang_program *p) {
    lang_rewriter *by = BASE_NEWS(arena, lang_rewriter, p->stages.n + 1);
    bool any = false;
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        any = any || (lang_at(p, r)->kind == LANG_REDUCE && lang_at(p, r)->code == LANG_SUM && is_narrow(p, r));
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        by[i].replace = replace;
    }
    return any && p->external == NULL ? lang_rewrite_stages(arena, p, by) : NULL;
}
