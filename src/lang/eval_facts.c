/* eval_facts.c - what the evaluator's compiler knows of an expression before it emits code.
 *
 * Takes nodes of one stage. Gives whether an expression can fail or holds a reduction, its integer range, its linear
 * form. Uses nothing of the simplifier or the analyses: the evaluator is what those are checked against.
 */
#include "lang/eval_compile.h"

#define WIDE ((int64_t)1 << 61)

void lang_eval_touch(lang_eval_compiler *c, lang_ref r) {
    lang_eval_context *x = c->context;
    if ((x->flags[r] & LANG_EVAL_FIXED) == 0) {
        x->flags[r] |= LANG_EVAL_FIXED;
        *BASE_PUSH(x->arena, &x->touched) = r;
    }
}

/* Levels below each node. */
static uint32_t *depths(base_arena *arena, const lang_program *p) {
    uint32_t *depth = BASE_NEWS(arena, uint32_t, p->nodes.n);
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        for (uint32_t k = 0; k < lang_at(p, r)->count; k++) {
            lang_ref o = lang_operand(p, r, k);
            uint32_t own = o != 0 ? depth[o] + 1 : 0;
            depth[r] = own > depth[r] ? own : depth[r];
        }
    }
    return depth;
}

uint32_t lang_depth(base_arena *scratch, const lang_program *p) {
    const uint32_t *depth = depths(scratch, p);
    uint32_t deepest = 0;
    for (size_t i = 0; i < p->stages.n; i++) {
        uint32_t own = depth[p->stages.at[i].body];
        deepest = own > deepest ? own : deepest;
    }
    return deepest;
}

lang_eval_context *lang_eval_context_new(base_arena *arena, const lang_program *p) {
    lang_eval_context *x = BASE_NEW(arena, lang_eval_context);
    size_t n = p->nodes.n;
    x->arena = arena;
    x->program = p;
    x->memo = BASE_NEWS(arena, lang_eval_memo *, n);
    x->flags = BASE_NEWS(arena, uint8_t, n);
    x->range = BASE_NEWS(arena, lang_eval_interval, n);
    x->constant = BASE_NEWS(arena, uint32_t, n);
    x->depth = depths(arena, p);
    x->contents = BASE_NEWS(arena, lang_eval_interval, p->tensors.n);
    x->contents_known = BASE_NEWS(arena, uint8_t, p->tensors.n);
    return x;
}

/* ---- ranges ---- */

static lang_eval_interval unknown(void) {
    return (lang_eval_interval){0, 0, false};
}

static lang_eval_interval make(int64_t lo, int64_t hi) {
    return lo < -WIDE || hi > WIDE ? unknown() : (lang_eval_interval){lo, hi, true};
}

static lang_eval_interval type_range(base_type t) {
    if (base_type_is_float(t) || base_type_bits(t) > 32) {
        return unknown();
    }
    int64_t lo;
    uint64_t hi;
    base_type_range(t, &lo, &hi);
    return (lang_eval_interval){lo, (int64_t)hi, true};
}

/* A value computed without wrapping, as the type holds it: if it may leave the type it may be anything. */
static lang_eval_interval into(base_type t, lang_eval_interval r) {
    lang_eval_interval whole = type_range(t);
    if (!r.known) {
        return whole;
    }
    if (t == BASE_U64 && r.lo < 0) {
        return unknown();
    }
    if (whole.known && (r.lo < whole.lo || r.hi > whole.hi)) {
        return whole;
    }
    return r;
}

static lang_eval_interval product(lang_eval_interval a, lang_eval_interval b) {
    const int64_t most = (int64_t)1 << 30;
    if (a.lo == a.hi && a.lo == 0) {
        return a;
    }
    if ((a.lo < -most || a.hi > most || b.lo < -most || b.hi > most)) {
        return unknown();
    }
    int64_t v[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    int64_t lo = v[0], hi = v[0];
    for (int k = 1; k < 4; k++) {
        lo = v[k] < lo ? v[k] : lo;
        hi = v[k] > hi ? v[k] : hi;
    }
    return make(lo, hi);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static lang_eval_interval word_range(lang_eval_compiler *c, const lang_node *n, lang_ref r) {
    const lang_program *p = c->program;
    base_type t = (base_type)n->type;
    lang_eval_interval v[3] = {unknown(), unknown(), unknown()};
    for (uint32_t k = 0; k < n->count && k < 3; k++) {
        v[k] = lang_eval_range(c, lang_operand(p, r, k));
    }
    bool both = v[0].known && v[1].known;
    switch ((lang_word)n->code) {
    case LANG_ADD:
        return both ? into(t, make(v[0].lo + v[1].lo, v[0].hi + v[1].hi)) : type_range(t);
    case LANG_SUB:
        return both ? into(t, make(v[0].lo - v[1].hi, v[0].hi - v[1].lo)) : type_range(t);
    case LANG_MUL:
        return both ? into(t, product(v[0], v[1])) : type_range(t);
    case LANG_NEG:
        return v[0].known ? into(t, make(-v[0].hi, -v[0].lo)) : type_range(t);
    case LANG_ABS:
        return v[0].known ? into(t, v[0].lo >= 0 ? v[0] : make(0, most(-v[0].lo, v[0].hi))) : type_range(t);
    case LANG_MIN:
        return both ? make(least(v[0].lo, v[1].lo), least(v[0].hi, v[1].hi)) : type_range(t);
    case LANG_MAX:
        return both ? make(most(v[0].lo, v[1].lo), most(v[0].hi, v[1].hi)) : type_range(t);
    case LANG_DIV:
        return both && v[1].lo > 0 ? make(least(base_floor_div(v[0].lo, v[1].lo), base_floor_div(v[0].lo, v[1].hi)),
                                          most(base_floor_div(v[0].hi, v[1].lo), base_floor_div(v[0].hi, v[1].hi)))
                                   : type_range(t);
    case LANG_MOD:
        if (v[1].known && v[1].lo > 0) {
            return v[0].known && v[0].lo >= 0 && v[0].hi < v[1].lo ? v[0] : make(0, v[1].hi - 1);
        }
        return type_range(t);
    case LANG_IF:
        return v[1].known && v[2].known ? make(least(v[1].lo, v[2].lo), most(v[1].hi, v[2].hi)) : type_range(t);
    case LANG_CAST:
        return into(t, v[0]);
    case LANG_SAT: {
        lang_eval_interval whole = type_range(t);
        if (v[0].known && whole.known) {
            return make(most(least(v[0].lo, whole.hi), whole.lo), least(most(v[0].hi, whole.lo), whole.hi));
        }
        return whole.known ? whole : v[0];
    }
    default:
        return type_range(t);
    }
}

/* Constant contents narrow what a gather may address; large ones are not looked at. */
static lang_eval_interval contents_range(lang_eval_compiler *c, uint32_t tensor) {
    const lang_tensor *t = &c->program->tensors.at[tensor];
    lang_eval_context *x = c->context;
    if (t->data == NULL || base_type_is_float(t->type) || t->type == BASE_U64) {
        return type_range(t->type);
    }
    if (x->contents_known[tensor] == 0) {
        uint64_t n = 1;
        for (uint32_t k = 0; k < t->rank; k++) {
            n *= (uint64_t)t->dim[k];
        }
        x->contents_known[tensor] = 1;
        x->contents[tensor] = type_range(t->type);
        if (n > 0 && n <= 65536) {
            int64_t lo = INT64_MAX, hi = INT64_MIN;
            for (uint64_t k = 0; k < n; k++) {
                int64_t v = base_load(t->type, t->data, k).i;
                lo = least(lo, v);
                hi = most(hi, v);
            }
            x->contents[tensor] = make(lo, hi);
        }
    }
    return x->contents[tensor];
}

static lang_eval_interval node_range(lang_eval_compiler *c, lang_ref r) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    base_type t = (base_type)n->type;
    switch ((lang_kind)n->kind) {
    case LANG_CONST:
        return t == BASE_U64 && n->value.u > (uint64_t)WIDE ? unknown() : make(n->value.i, n->value.i);
    case LANG_VAR: {
        lang_eval_interval extent = lang_eval_range(c, lang_operand(p, r, 0));
        int64_t hi = extent.known ? extent.hi : WIDE;
        if (c->stage != NULL && n->index < c->stage->var_count && c->stage->vars != NULL &&
            c->stage->vars[n->index].bound > 0) {
            hi = least(hi, c->stage->vars[n->index].bound);
        }
        return make(0, most(hi - 1, 0));
    }
    case LANG_READ: {
        lang_eval_interval v = contents_range(c, n->index);
        if (n->has_fill) {
            lang_eval_interval fill = lang_eval_range(c, lang_operand(p, r, n->count - 1));
            return v.known && fill.known ? make(least(v.lo, fill.lo), most(v.hi, fill.hi)) : type_range(t);
        }
        return v;
    }
    case LANG_WORD_:
        return word_range(c, n, r);
    case LANG_REDUCE:
        return type_range(t);
    }
    return type_range(t);
}

lang_eval_interval lang_eval_range(lang_eval_compiler *c, lang_ref r) {
    lang_eval_context *x = c->context;
    base_type t = (base_type)lang_at(c->program, r)->type;
    if (base_type_is_float(t)) {
        return unknown();
    }
    if ((x->flags[r] & LANG_EVAL_RANGED) == 0) {
        lang_eval_touch(c, r);
        lang_eval_interval v = node_range(c, r);
        x->range[r] = v;
        x->flags[r] |= LANG_EVAL_RANGED;
    }
    return x->range[r];
}

/* ---- purity ---- */

static bool read_is_proved(lang_eval_compiler *c, lang_ref r) {
    const lang_node *n = lang_at(c->program, r);
    const lang_tensor *t = &c->program->tensors.at[n->index];
    const int64_t *dim = c->options->dims[n->index];
    int64_t elements = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        elements *= dim[k];
    }
    for (uint32_t k = 0; k < (n->flat ? 1 : t->rank); k++) {
        lang_eval_interval v = lang_eval_range(c, lang_operand(c->program, r, k));
        if (!v.known || v.lo < 0 || v.hi >= (n->flat ? elements : dim[k])) {
            return false;
        }
    }
    return elements > 0;
}

uint8_t lang_eval_flags(lang_eval_compiler *c, lang_ref r) {
    lang_eval_context *x = c->context;
    if ((x->flags[r] & LANG_EVAL_KNOWN) != 0) {
        return x->flags[r];
    }
    const lang_node *n = lang_at(c->program, r);
    uint8_t flags = LANG_EVAL_PURE;
    for (uint32_t k = 0; k < n->count; k++) {
        lang_ref o = lang_operand(c->program, r, k);
        if (o != 0) {
            uint8_t f = lang_eval_flags(c, o);
            flags &= (uint8_t)(f | ~LANG_EVAL_PURE);
            flags |= f & LANG_EVAL_REDUCES;
        }
    }
    if (n->kind == LANG_READ && !n->has_fill && !read_is_proved(c, r)) {
        flags &= (uint8_t)~LANG_EVAL_PURE;
    }
    if (n->kind == LANG_REDUCE) {
        flags |= LANG_EVAL_REDUCES;
    }
    lang_eval_touch(c, r);
    x->flags[r] |= (uint8_t)(flags | LANG_EVAL_KNOWN);
    return x->flags[r];
}

/* ---- linear forms ---- */

bool lang_eval_linear_add(lang_eval_linear *f, uint32_t id, int64_t k) {
    if (k == 0) {
        return true;
    }
    uint32_t at = 0;
    while (at < f->n && f->t[at].id < id) {
        at++;
    }
    if (at < f->n && f->t[at].id == id) {
        f->t[at].k = (int64_t)((uint64_t)f->t[at].k + (uint64_t)k);
        if (f->t[at].k == 0) {
            for (uint32_t i = at; i + 1 < f->n; i++) {
                f->t[i] = f->t[i + 1];
            }
            f->n--;
        }
        return true;
    }
    if (f->n == LANG_EVAL_TERMS) {
        return false;
    }
    for (uint32_t i = f->n; i > at; i--) {
        f->t[i] = f->t[i - 1];
    }
    f->t[at] = (lang_eval_term){id, k};
    f->n++;
    return true;
}

static bool gather_terms(lang_eval_compiler *c, lang_ref r, uint64_t k, lang_eval_linear *f, unsigned *budget) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    if ((*budget)-- == 0) {
        return false;
    }
    if (n->kind == LANG_CONST) {
        f->c = (int64_t)((uint64_t)f->c + k * n->value.u);
        return true;
    }
    if (n->kind == LANG_VAR) {
        return lang_eval_linear_add(f, n->index, (int64_t)k);
    }
    if (n->kind == LANG_WORD_) {
        lang_ref a = lang_operand(p, r, 0), b = n->count > 1 ? lang_operand(p, r, 1) : 0;
        lang_eval_interval va = unknown(), vb = unknown();
        if (n->code == LANG_DIV || n->code == LANG_MOD) {
            va = lang_eval_range(c, a);
            vb = lang_eval_range(c, b);
        }
        switch ((lang_word)n->code) {
        case LANG_ADD:
            return gather_terms(c, a, k, f, budget) && gather_terms(c, b, k, f, budget);
        case LANG_SUB:
            return gather_terms(c, a, k, f, budget) && gather_terms(c, b, 0 - k, f, budget);
        case LANG_NEG:
            return gather_terms(c, a, 0 - k, f, budget);
        case LANG_MUL:
            if (lang_at(p, b)->kind == LANG_CONST) {
                return gather_terms(c, a, k * lang_at(p, b)->value.u, f, budget);
            }
            if (lang_at(p, a)->kind == LANG_CONST) {
                return gather_terms(c, b, k * lang_at(p, a)->value.u, f, budget);
            }
            break;
        case LANG_DIV: /* one quotient for every value */
            if (va.known && vb.known && vb.lo == vb.hi && vb.lo > 0 &&
                base_floor_div(va.lo, vb.lo) == base_floor_div(va.hi, vb.lo)) {
                f->c = (int64_t)((uint64_t)f->c + k * (uint64_t)base_floor_div(va.lo, vb.lo));
                return true;
            }
            break;
        case LANG_MOD:
            if (va.known && vb.known && va.lo >= 0 && va.hi < vb.lo) {
                return gather_terms(c, a, k, f, budget);
            }
            break;
        default:
            break;
        }
    }
    return lang_eval_linear_add(f, LANG_MAX_VARS + r, (int64_t)k);
}

void lang_eval_linear_of(lang_eval_compiler *c, lang_ref r, lang_eval_linear *out) {
    unsigned budget = 64;
    out->c = 0;
    out->n = 0;
    if (!gather_terms(c, r, 1, out, &budget)) {
        out->c = 0;
        out->n = 0;
        (void)lang_eval_linear_add(out, LANG_MAX_VARS + r, 1);
    }
}
