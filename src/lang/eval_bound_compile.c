/* eval_bound_compile.c - code for values with error bounds.
 *
 * Takes nodes whose value depends on float arithmetic over inputs. Gives instructions whose registers come in pairs:
 * the value (floats as doubles) and its bound. Everything else is compiled as in exact mode. The rules are in
 * eval_bound.c.
 */
#include <math.h>
#include <string.h>

#include "lang/eval_bound.h"
#include "lang/eval_code.h"

static uint8_t row_flags(bool d, bool a, bool b, bool c) {
    return (uint8_t)((d ? LANG_EVAL_ROW_D : 0) | (a ? LANG_EVAL_ROW_A : 0) | (b ? LANG_EVAL_ROW_B : 0) |
                     (c ? LANG_EVAL_ROW_C : 0));
}

static uint32_t float_register(lang_eval_compiler *c, double v) {
    return lang_eval_constant_register(c, BASE_F64, (base_value){.f = v});
}

/* A float as a double: values with bounds are, exact ones are held as their type. */
static lang_eval_value widened(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value v, base_type t) {
    if (!base_type_is_float(t) || v.bound != 0 || lang_eval_class_of(t) == LANG_EVAL_F64) {
        return v;
    }
    lang_eval_value w = {.row = v.row, .reg = lang_eval_new_register(c, s->block, LANG_EVAL_F64, v.row)};
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_word_kernel(LANG_CAST, BASE_F64, BASE_F32, LANG_EVAL_F64);
    i->d = w.reg;
    i->a = v.reg;
    i->rows = row_flags(w.row, v.row, false, false);
    return w;
}

static lang_eval_class wide_class(base_type t) {
    return base_type_is_float(t) ? LANG_EVAL_F64 : lang_eval_class_of(t);
}

static lang_eval_value new_pair(lang_eval_compiler *c, const lang_eval_block *owner, base_type t, bool row) {
    return (lang_eval_value){.reg = lang_eval_new_register(c, owner, wide_class(t), row),
                             .bound = lang_eval_new_register(c, owner, LANG_EVAL_F64, row),
                             .row = row};
}

/* ---- words ---- */

lang_eval_value lang_eval_bound_word(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r, lang_eval_value a,
                                     lang_eval_value b) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    base_type t = (base_type)n->type, ta = (base_type)lang_at(p, lang_operand(p, r, 0))->type;
    lang_eval_value v = new_pair(c, s->block, t, a.row || b.row);
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_bound_word_row;
    i->word = n->code;
    i->type = (uint8_t)t;
    i->atype = (uint8_t)ta;
    i->cls = (uint8_t)wide_class(t);
    i->acls = (uint8_t)lang_eval_value_class(a, ta);
    i->d = v.reg;
    i->d2 = v.bound;
    i->a = a.reg;
    i->a2 = a.bound;
    if (n->count > 1) {
        i->bcls = (uint8_t)lang_eval_value_class(b, (base_type)lang_at(p, lang_operand(p, r, 1))->type);
        i->b = b.reg;
        i->b2 = b.bound;
    }
    i->rows = row_flags(v.row, a.row, b.row, false);
    return v;
}

lang_eval_value lang_eval_bound_select(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value cond,
                                       lang_eval_value a, lang_eval_value b, base_type t) {
    a = widened(c, s, a, t);
    b = widened(c, s, b, t);
    lang_eval_value v = new_pair(c, s->block, t, cond.row || a.row || b.row);
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_bound_select_row;
    i->cls = (uint8_t)wide_class(t);
    i->d = v.reg;
    i->d2 = v.bound;
    i->a = cond.reg;
    i->c2 = cond.bound;
    i->b = a.reg;
    i->a2 = a.bound;
    i->c = b.reg;
    i->b2 = b.bound;
    i->rows = row_flags(v.row, cond.row, a.row, b.row);
    return v;
}

uint32_t lang_eval_bound_possible(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value test,
                                  lang_eval_value cond) {
    uint32_t reg = lang_eval_new_register(c, s->block, LANG_EVAL_B8, test.row);
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_bound_possible_row;
    i->d = reg;
    i->a = test.reg;
    i->b2 = cond.bound;
    i->rows = row_flags(test.row, test.row, test.row, false);
    return reg;
}

/* ---- reads and stores ---- */

static base_type value_type(base_type t) {
    static const base_type types[] = {BASE_I32, BASE_I64, BASE_F32, BASE_F64, BASE_BOOL};
    return types[wide_class(t)];
}

lang_eval_value lang_eval_bound_access(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_access *x,
                                       base_type t, bool row, lang_eval_value fill, const lang_eval_value *element,
                                       const lang_eval_value *inside, lang_eval_access_part part) {
    lang_eval_access own = *x;
    fill = x->has_fill ? widened(c, s, fill, t) : fill;
    own.fill_row = fill.row;
    lang_eval_value v = part(c, s, &own, LANG_EVAL_PART_VALUE, value_type(t), fill.reg, row, element, inside);
    uint32_t fill_bound = fill.bound;
    own.fill_row = fill.bound != 0 && fill.row;
    if (x->has_fill && fill.bound == 0) {
        fill_bound = float_register(c, 0);
    }
    v.bound = part(c, s, &own, LANG_EVAL_PART_BOUND, BASE_F64, fill_bound, row, element, inside).reg;
    return v;
}

bool lang_eval_approximate_index(lang_eval_compiler *c, lang_ref r) {
    const lang_node *n = lang_at(c->program, r);
    uint32_t indices = n->count - (n->has_fill ? 1 : 0);
    for (uint32_t k = 0; k < indices; k++) {
        if (c->options->approximate[lang_operand(c->program, r, k)] != 0) {
            return true;
        }
    }
    return false;
}

/* An index that may be another: the element may be any. */
lang_eval_value lang_eval_bound_taint(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r, lang_eval_value v) {
    const lang_node *n = lang_at(c->program, r);
    base_type t = (base_type)n->type;
    uint32_t indices = n->count - (n->has_fill ? 1 : 0);
    v = widened(c, s, v, t);
    if (v.bound == 0) {
        v.bound = float_register(c, 0);
        if (v.row) {
            uint32_t zero = lang_eval_new_register(c, s->block, LANG_EVAL_F64, true);
            lang_eval_emit_copy(c, s, zero, true, v.bound, false, LANG_EVAL_F64);
            v.bound = zero;
        }
    }
    for (uint32_t k = 0; k < indices; k++) {
        lang_ref index = lang_operand(c->program, r, k);
        if (c->options->approximate[index] == 0) {
            continue;
        }
        lang_eval_value at = lang_eval_emit(c, s, index);
        if (at.bound == 0) {
            continue;
        }
        uint32_t bound = lang_eval_new_register(c, s->block, LANG_EVAL_F64, v.row);
        lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
        i->run = lang_eval_bound_taint_row;
        i->d = bound;
        i->a = v.bound;
        i->b2 = at.bound;
        i->rows = row_flags(v.row, v.row, at.row, false);
        v.bound = bound;
    }
    return v;
}

static void store_part(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_access *x, uint8_t part, base_type t,
                       uint32_t reg, bool row) {
    lang_eval_access *own = BASE_NEW(c->arena, lang_eval_access);
    *own = *x;
    own->part = part;
    own->type = t;
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_STORE);
    i->a = reg;
    i->cls = (uint8_t)lang_eval_class_of(t);
    i->rows = row ? LANG_EVAL_ROW_A : 0;
    i->extra = own;
}

void lang_eval_bound_store(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_access *x, lang_eval_value v,
                           base_type t) {
    v = widened(c, s, v, t);
    store_part(c, s, x, LANG_EVAL_PART_VALUE, value_type(t), v.reg, v.row);
    store_part(c, s, x, LANG_EVAL_PART_BOUND, BASE_F64, v.bound != 0 ? v.bound : float_register(c, 0),
               v.bound != 0 && v.row);
}

/* ---- reductions ---- */

lang_eval_fold lang_eval_bound_fold_start(lang_eval_compiler *c, lang_eval_scope *s, lang_reduction op, base_type t,
                                          bool row) {
    lang_eval_fold f = {.op = op, .type = t, .value = new_pair(c, s->block, t, row)};
    base_value start = {.u = 0};
    base_type held = base_type_is_float(t) ? BASE_F64 : t;
    if (op != LANG_FIRST && op != LANG_LAST) {
        start = lang_identity(op, t);
    }
    f.size = lang_eval_new_register(c, s->block, LANG_EVAL_F64, row);
    f.count = lang_eval_new_register(c, s->block, LANG_EVAL_F64, row);
    uint32_t zero = float_register(c, 0);
    lang_eval_emit_copy(c, s, f.value.reg, row, lang_eval_constant_register(c, held, start), false, wide_class(t));
    lang_eval_emit_copy(c, s, f.value.bound, row, zero, false, LANG_EVAL_F64);
    lang_eval_emit_copy(c, s, f.size, row, zero, false, LANG_EVAL_F64);
    lang_eval_emit_copy(c, s, f.count, row, zero, false, LANG_EVAL_F64);
    return f;
}

void lang_eval_bound_fold(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_fold *f, lang_eval_value term,
                          lang_eval_value doubt) {
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = f->value.row ? lang_eval_bound_accumulate : lang_eval_bound_close;
    i->type = (uint8_t)f->type;
    i->imm = f->op;
    i->cls = (uint8_t)wide_class(f->type);
    i->acls = (uint8_t)lang_eval_value_class(term, f->type);
    i->d = f->value.reg;
    i->d2 = f->value.bound;
    i->a = term.reg;
    i->a2 = term.bound;
    i->b = s->mask;
    i->b2 = doubt.bound;
    i->c = f->size;
    i->c2 = f->count;
    i->rows = row_flags(true, term.row, doubt.row, false);
}

void lang_eval_bound_doubt(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_fold *f, lang_eval_value v) {
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_bound_taint_row;
    i->d = f->value.bound;
    i->a = f->value.bound;
    i->b2 = v.bound;
    i->rows = row_flags(f->value.row, f->value.row, v.row, false);
}

/* The rounding of sums. */
void lang_eval_bound_fold_end(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_fold *f) {
    if (f->op != LANG_SUM) {
        return;
    }
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_bound_sum;
    i->type = (uint8_t)f->type;
    i->cls = (uint8_t)wide_class(f->type);
    i->d = f->value.reg;
    i->d2 = f->value.bound;
    i->c = f->size;
    i->c2 = f->count;
    i->rows = f->value.row ? LANG_EVAL_ROW_D : 0;
}

lang_eval_value lang_eval_bound_worse(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value a, lang_eval_value b) {
    if (a.bound == 0 || b.bound == 0) {
        return a.bound == 0 ? b : a;
    }
    lang_eval_value v = {.row = a.row || b.row};
    v.bound = lang_eval_new_register(c, s->block, LANG_EVAL_F64, v.row);
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_word_kernel(LANG_MAX, BASE_F64, BASE_F64, LANG_EVAL_F64);
    i->d = v.bound;
    i->a = a.bound;
    i->b = b.bound;
    i->rows = row_flags(v.row, a.row, b.row, false);
    return v;
}

/* ---- results ---- */

void lang_eval_deliver_element(const lang_eval_store *store, base_type t, uint64_t from, void *data, uint64_t to,
                               double *value, double *bound) {
    bool wide = store->at[LANG_EVAL_PART_VALUE] != NULL, real = base_type_is_float(t);
    base_value v = wide ? base_load(value_type(t), store->at[LANG_EVAL_PART_VALUE], from)
                        : base_load(t, store->at[LANG_EVAL_PART_DATA], from);
    if (value != NULL) {
        *value = real ? v.f : base_type_is_signed(t) ? (double)v.i : (double)v.u;
    }
    if (bound != NULL) {
        *bound = wide ? ((const double *)store->at[LANG_EVAL_PART_BOUND])[from] : 0;
    }
    if (data != NULL) {
        base_store(t, data, to, lang_wrap(t, v));
    }
}

void lang_eval_deliver_bounds(const lang_eval_store *store, base_type t, uint64_t n, void *data, double *value,
                              double *bound) {
    for (uint64_t k = 0; k < n; k++) {
        lang_eval_deliver_element(store, t, k, data, k, value != NULL ? value + k : NULL,
                                  bound != NULL ? bound + k : NULL);
    }
}
