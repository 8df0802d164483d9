/* emit_nest.c - loop nests of stages, reductions, recurrences; and the function that a unit becomes.
 *
 * Takes a stage and its schedule. Gives loops. Conditions on a reduction's variables become bounds of its loops, and so
 * do reads whose fill adds nothing to it; what remains is tested where its variables are known. Knows no operator.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "targets/c/emit.h"

enum { MAX_CLAUSES = 96, MAX_FILLED = 16 };

/* ---- variables and loops ---- */

void c_bind_var(c_unit *u, uint32_t var, const char *text, c_scope *scope) {
    u->var_text[var] = text;
    u->var_scope[var] = scope;
}

int64_t c_extent(const c_unit *u, uint32_t var) {
    if (u->merged[var] != 0) {
        return u->merged[var];
    }
    const lang_node *e = lang_at(u->p, u->stage->vars[var].extent);
    return e->kind == LANG_CONST ? e->value.i : 0;
}

c_value c_extent_text(c_unit *u, uint32_t var) {
    int64_t extent = c_extent(u, var);
    lang_ref r = u->stage->vars[var].extent;
    if (u->merged[var] != 0 || lang_at(u->p, r)->kind == LANG_CONST) {
        bool narrow = extent <= INT32_MAX;
        return (c_value){c_constant(u->arena, narrow ? BASE_I32 : BASE_I64, (base_value){.i = extent}), C_PRIMARY,
                         narrow};
    }
    int64_t bound = u->stage->vars[var].bound;
    c_value v = c_emit(u, r);
    lang_range x = c_range(u, r);
    if (!x.known || x.hi > bound) {
        c_line(u->scope, "if (%s > %lld) {", c_wrap(u->arena, v, C_ADD), (long long)bound);
        c_line(u->scope, "    return 1u;");
        c_line(u->scope, "}");
        u->can_fail = true;
    }
    if (!v.narrow && bound <= INT32_MAX) {
        v = c_local(u, u->scope, "int32_t", base_printf(u->arena, "(int32_t)%s", c_wrap(u->arena, v, C_UNARY)));
        v.narrow = true;
    }
    return v;
}

static void loop_open(c_unit *u, uint32_t var, const char *first, const char *end, bool down, const char *more) {
    bool wide = u->var_max[var] >= INT32_MAX - 4096;
    const char *name = base_printf(u->arena, "v%" PRIu32, var), *type = wide ? "int64_t" : "int32_t";
    u->var_wide[var] = wide;
    if (down) {
        c_block_open(u, false, "for (%s %s = %s - 1; %s >= %s%s; %s--)", type, name, end, name, first, more, name);
    } else {
        c_block_open(u, false, "for (%s %s = %s; %s < %s%s; %s++)", type, name, first, name, end, more, name);
    }
    c_bind_var(u, var, name, u->scope);
}

void c_loop_open(c_unit *u, uint32_t var, const char *more) {
    c_value end = c_extent_text(u, var);
    loop_open(u, var, "0", c_wrap(u->arena, end, C_ADD), false, more);
}

/* ---- merging of loops ---- */

typedef struct c_uses_of_vars {
    uint64_t dirty; /* variables used other than in affine addresses that are always inside */
    BASE_VEC(lang_affine) addresses;
} c_uses_of_vars;

static bool clean_read(c_unit *u, lang_ref r, lang_affine *form) {
    const lang_node *n = lang_at(u->p, r);
    const lang_tensor *t = &u->p->tensors.at[n->index];
    if (!lang_affine_read(u->p, r, form)) {
        return false;
    }
    int64_t total = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        total *= t->dim[k];
    }
    for (uint32_t k = 0; k + n->has_fill < n->count; k++) {
        lang_range x = c_range(u, lang_operand(u->p, r, k));
        if (!x.known || x.lo < 0 || x.hi >= (n->flat ? total : t->dim[k]) ||
            (!n->flat && t->extent[k] != 0 && n->has_fill)) {
            return false;
        }
    }
    return true;
}

static void find_uses(c_unit *u, lang_ref except, c_uses_of_vars *out) {
    BASE_VEC(lang_ref) stack = {0};
    bool *seen = BASE_NEWS(u->arena, bool, u->p->nodes.n);
    *BASE_PUSH(u->arena, &stack) = u->stage->body;
    while (stack.n > 0) {
        lang_ref r = stack.at[--stack.n];
        if (r == 0 || r == except || seen[r]) {
            continue;
        }
        seen[r] = true;
        const lang_node *n = lang_at(u->p, r);
        lang_affine form;
        uint32_t first = 0;
        if (n->kind == LANG_VAR) {
            out->dirty |= UINT64_C(1) << n->index;
        }
        if (n->kind == LANG_READ && clean_read(u, r, &form)) {
            *BASE_PUSH(u->arena, &out->addresses) = form;
            first = n->count - n->has_fill;
        }
        if (n->kind == LANG_REDUCE) {
            for (; first + 3 < n->count; first++) {
                *BASE_PUSH(u->arena, &stack) = lang_operand(u->p, lang_operand(u->p, r, first), 0);
            }
        }
        for (uint32_t k = first; k < n->count; k++) {
            *BASE_PUSH(u->arena, &stack) = lang_operand(u->p, r, k);
        }
    }
}

static int64_t coefficient(const lang_affine *a, uint32_t var) {
    return (a->vars >> var & 1) != 0 ? a->coefficient[var] : 0;
}

static bool mergeable(c_unit *u, const c_uses_of_vars *uses, uint32_t a, uint32_t b, int64_t extent) {
    if ((uses->dirty >> a & 1) != 0 || (uses->dirty >> b & 1) != 0) {
        return false;
    }
    for (size_t k = 0; k < uses->addresses.n; k++) {
        int64_t x;
        if (__builtin_mul_overflow(coefficient(&uses->addresses.at[k], b), extent, &x) ||
            x != coefficient(&uses->addresses.at[k], a)) {
            return false;
        }
    }
    lang_affine out;
    if (a >= u->stage->rank) {
        return b >= u->stage->rank;
    }
    return b < u->stage->rank && c_output_affine(u->p, u->stage, &out) &&
           out.coefficient[a] == out.coefficient[b] * extent;
}

void c_merge(c_unit *u, const uint8_t *vars, uint32_t n, lang_ref except) {
    c_uses_of_vars uses = {0};
    find_uses(u, except, &uses);
    uint32_t inner = UINT32_MAX;
    for (uint32_t k = n; k-- > 0;) {
        uint32_t v = vars[k];
        int64_t extent = c_extent(u, v), have = inner == UINT32_MAX ? 0 : c_extent(u, inner), product;
        if (extent == 1) {
            u->zero_vars |= UINT64_C(1) << v;
            u->var_max[v] = 0;
            continue;
        }
        if (plan_has(u->m->plan->without, PLAN_MOVE_COLLAPSE)) {
            continue;
        }
        if (inner != UINT32_MAX && extent > 1 && have > 1 && mergeable(u, &uses, v, inner, have) &&
            !__builtin_mul_overflow(extent, have, &product) && product <= INT32_MAX / 2) {
            u->merged[inner] = product;
            u->var_max[inner] = product - 1;
            u->zero_vars |= UINT64_C(1) << v;
            continue;
        }
        inner = v;
    }
}

/* ---- clauses: what a term of a reduction must satisfy ---- */

typedef struct c_clause {
    lang_affine form; /* 0 <= form, where affine */
    bool affine;
    lang_ref node; /* the condition otherwise */
    uint64_t free;
    bool done;
} c_clause;

typedef struct c_clauses {
    c_clause at[MAX_CLAUSES];
    size_t n;
} c_clauses;

static void add_form(c_unit *u, c_clauses *c, const lang_affine *form) {
    if (c->n < MAX_CLAUSES && !c_fact_known(u, form)) {
        uint64_t vars = 0;
        for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
            vars |= coefficient(form, k) != 0 ? UINT64_C(1) << k : 0;
        }
        c->at[c->n++] = (c_clause){.form = *form, .affine = true, .free = vars};
    }
}

bool c_value_with_fill(c_unit *u, lang_ref e, lang_ref read, base_value *v, int depth) {
    const lang_node *n = lang_at(u->p, e);
    if (e == read) {
        e = lang_operand(u->p, read, n->count - 1);
        n = lang_at(u->p, e);
    }
    if (n->kind == LANG_CONST) {
        *v = n->value;
        return true;
    }
    if (n->kind != LANG_WORD_ || depth > 8) {
        return false;
    }
    base_value arg[3] = {{0}};
    bool known[3] = {false}, all = true;
    for (uint32_t k = 0; k < n->count; k++) {
        known[k] = c_value_with_fill(u, lang_operand(u->p, e, k), read, &arg[k], depth + 1);
        all = all && known[k];
    }
    if (all) {
        *v = lang_word_value((lang_word)n->code, (base_type)n->type,
                             (base_type)lang_at(u->p, lang_operand(u->p, e, 0))->type, arg);
        return true;
    }
    if (n->code != LANG_MUL) {
        return false;
    }
    for (uint32_t k = 0; k < 2; k++) {
        lang_ref other = lang_operand(u->p, e, 1 - k);
        const lang_node *o = lang_at(u->p, other);
        bool zero = known[k] && (base_type_is_float((base_type)n->type) ? arg[k].f == 0 : arg[k].u == 0);
        /* 0 * x is 0 but for infinite x: only where x is a constant of the program, whose infinities show in every
         * output anyway */
        if (zero && (!base_type_is_float((base_type)n->type) ||
                     (o->kind == LANG_READ && u->p->tensors.at[o->index].data != NULL))) {
            v->u = 0;
            return true;
        }
    }
    return false;
}

static bool is_identity(lang_reduction kind, base_type t, base_value v) {
    int64_t lo;
    uint64_t hi;
    bool real = base_type_is_float(t);
    switch (kind) {
    case LANG_SUM:
        return real ? v.f == 0 : v.u == 0;
    case LANG_PROD:
        return real ? v.f == 1 : v.i == 1;
    case LANG_ANY:
        return v.u == 0;
    case LANG_ALL:
        return v.u != 0;
    case LANG_RMAX:
    case LANG_RMIN:
        if (real) {
            return kind == LANG_RMAX ? v.f < -1.7976931348623157e308 : v.f > 1.7976931348623157e308;
        }
        base_type_range(t, &lo, &hi);
        return kind == LANG_RMAX ? v.i == lo : v.u == hi;
    default:
        return false;
    }
}

/* Reads of the body whose fill makes the term the identity: their bounds become clauses. */
static void clip_reads(c_unit *u, c_clauses *c, lang_reduction kind, lang_ref body, bool has_else) {
    BASE_VEC(lang_ref) stack = {0};
    lang_bound_check check[LANG_MAX_RANK];
    uint32_t looked = 0;
    if (has_else) {
        return; /* an empty domain would then differ from a domain of identities */
    }
    *BASE_PUSH(u->arena, &stack) = body;
    while (stack.n > 0 && looked < 256) {
        lang_ref r = stack.at[--stack.n];
        const lang_node *n = r == 0 ? NULL : lang_at(u->p, r);
        looked++;
        if (n == NULL || n->kind == LANG_REDUCE) {
            continue;
        }
        base_value v;
        size_t checks = LANG_MAX_RANK;
        if (n->kind == LANG_READ && n->has_fill && c_value_with_fill(u, body, r, &v, 0) &&
            is_identity(kind, (base_type)lang_at(u->p, body)->type, v) &&
            lang_read_checks(u->ranges, u->stage, r, check, &checks)) {
            for (size_t k = 0; k < checks; k++) {
                lang_affine last = {.constant = check[k].extent - 1}, upper;
                if (check[k].low) {
                    add_form(u, c, &check[k].index);
                }
                if (check[k].high && c_subtract(&last, &check[k].index, 0, &upper)) {
                    add_form(u, c, &upper);
                }
            }
        }
        for (uint32_t k = 0; n->kind == LANG_WORD_ && k < n->count; k++) {
            *BASE_PUSH(u->arena, &stack) = lang_operand(u->p, r, k);
        }
    }
}

static void guard_clauses(c_unit *u, c_clauses *c, lang_ref guard) {
    lang_ref part[MAX_CLAUSES / 2];
    if (guard == 0) {
        return;
    }
    size_t n = lang_conjuncts(u->p, guard, part, MAX_CLAUSES / 2);
    if (n > MAX_CLAUSES / 2) {
        part[0] = guard;
        n = 1;
    }
    for (size_t k = 0; k < n; k++) {
        lang_affine form;
        if (c_affine_of_condition(u->p, part[k], true, &form)) {
            add_form(u, c, &form);
        } else {
            c->at[c->n++] = (c_clause){.node = part[k], .free = lang_at(u->p, part[k])->free};
        }
    }
}

c_value c_bound_of(c_unit *u, const lang_affine *form, uint32_t var) {
    int64_t c = form->coefficient[var];
    lang_affine rest = *form, zero = {0}, scaled;
    rest.vars &= ~(UINT64_C(1) << var);
    rest.coefficient[var] = 0;
    bool wide = c_affine_is_wide(u, form);
    if (c > 0) {
        (void)c_subtract(&zero, &rest, c - 1, &scaled); /* v >= ceil(-rest / c) */
    } else {
        (void)c_subtract(&rest, &zero, c == -1 ? 1 : 0, &scaled); /* v < rest / -c + 1 */
    }
    c_value v = c_affine_text(u, &scaled, wide);
    v.narrow = !wide;
    if (c == 1 || c == -1) {
        return v;
    }
    const char *name = c_helper(u->m->helpers, wide ? "fdiv_i64" : "fdiv_i32");
    const char *text =
        base_printf(u->arena, "%s(%s, %lld)%s", name, v.text, (long long)(c < 0 ? -c : c), c < 0 ? " + 1" : "");
    return (c_value){text, c < 0 ? C_ADD : C_PRIMARY, !wide};
}

/* ---- reductions ---- */

typedef struct c_reduction {
    c_unit *u;
    lang_ref r, guard, body, otherwise;
    lang_reduction kind;
    base_type type;
    uint32_t n;
    uint32_t var[LANG_MAX_VARS]; /* outermost first, without those that are always 0 */
    const char *name, *found;    /* the accumulator; the flag that a term was met, or NULL */
    bool keyed;    /* the accumulator holds a float's place in their order: integers compare without branches */
    uint32_t open; /* blocks opened */
    c_clauses clauses;
} c_reduction;

/* A float as what the accumulator holds. */
static const char *key_text(const c_reduction *d, const char *value) {
    const char *helper = d->kind == LANG_RMAX ? "max_key" : "min_key";
    return d->keyed ? base_printf(d->u->arena, "%s(%s)", c_helper(d->u->m->helpers, helper), value) : value;
}

static const char *identity_text(c_reduction *d) {
    int64_t lo;
    uint64_t hi;
    base_value v = {.u = 0};
    bool real = base_type_is_float(d->type);
    if (!real) {
        base_type_range(d->type, &lo, &hi);
    }
    switch (d->kind) {
    case LANG_PROD:
        if (real) {
            v.f = 1;
        } else {
            v = lang_wrap(d->type, (base_value){.i = 1});
        }
        break;
    case LANG_ALL:
        v.u = 1;
        break;
    case LANG_RMAX:
        if (real) {
            v.f = base_round_to(d->type, -HUGE_VAL);
        } else {
            v.i = lo;
        }
        break;
    case LANG_RMIN:
        if (real) {
            v.f = base_round_to(d->type, HUGE_VAL);
        } else {
            v.u = hi;
        }
        break;
    default:
        if (real) {
            v.f = base_round_to(d->type, 0);
        }
        break;
    }
    return c_constant(d->u->arena, d->type, v);
}

/* The loop of variable k: bounds from the clauses that end with it. */
static void open_variable(c_reduction *d, uint32_t k) {
    c_unit *u = d->u;
    uint32_t var = d->var[k];
    uint64_t inner = 0;
    for (uint32_t i = k + 1; i < d->n; i++) {
        inner |= UINT64_C(1) << d->var[i];
    }
    c_value end = c_extent_text(u, var), first = {"0", C_PRIMARY, true};
    for (size_t i = 0; i < d->clauses.n; i++) {
        c_clause *c = &d->clauses.at[i];
        if (!c->affine || c->done || (c->free & inner) != 0 || coefficient(&c->form, var) == 0) {
            continue;
        }
        bool lower = c->form.coefficient[var] > 0;
        c_value v = c_bound_of(u, &c->form, var);
        c_value *to = lower ? &first : &end;
        bool narrow = v.narrow && to->narrow;
        const char *helper = c_helper(u->m->helpers, lower    ? (narrow ? "max_i32" : "max_i64")
                                                     : narrow ? "min_i32"
                                                              : "min_i64");
        const char *text = base_printf(u->arena, "%s(%s, %s)", helper, to->text, v.text);
        *to = (c_value){text, C_PRIMARY, narrow};
        c->done = true;
    }
    /* computed once, where their variables are known */
    first = first.text[0] == '0' ? first : c_local(u, u->scope, first.narrow ? "int32_t" : "int64_t", first.text);
    if (end.text[strspn(end.text, "0123456789")] != 0) {
        end = c_local(u, u->scope, end.narrow ? "int32_t" : "int64_t", end.text);
    }
    const char *more = "";
    if (d->kind == LANG_FIRST || d->kind == LANG_LAST) {
        more = base_printf(u->arena, " && !%s", d->found);
    } else if (d->kind == LANG_ANY || d->kind == LANG_ALL) {
        more = base_printf(u->arena, " && %s%s", d->kind == LANG_ANY ? "!" : "", d->name);
    }
    loop_open(u, var, first.text, end.text, d->kind == LANG_LAST, more);
    d->open++;
    for (size_t i = 0; i < d->clauses.n; i++) {
        c_clause *c = &d->clauses.at[i];
        if (c->affine && c->done && coefficient(&c->form, var) != 0) {
            c_fact_add(u, &c->form);
        }
    }
}

/* Tests the clauses whose variables are bound now. unbound: those that are not yet. */
static void open_tests(c_reduction *d, uint64_t unbound) {
    c_unit *u = d->u;
    base_text test = {.arena = u->arena};
    for (size_t i = 0; i < d->clauses.n; i++) {
        c_clause *c = &d->clauses.at[i];
        if (c->done || (c->free & unbound) != 0) {
            continue;
        }
        if (!c->affine && (u->flags[c->node] & (C_UNSAFE | C_HEAVY)) != 0 && test.n > 0) {
            c_block_open(u, true, "if (%s)", test.at);
            d->open++;
            test = (base_text){.arena = u->arena};
        }
        c_value v = c->affine ? c_condition(u, &c->form) : c_emit(u, c->node);
        base_put(&test, "%s%s", test.n > 0 ? " && " : "", c_wrap(u->arena, v, test.n > 0 ? C_ADD : C_LOWEST));
        c->done = true;
    }
    if (test.n == 0) {
        return;
    }
    if (strstr(test.at, " && ") != NULL) {
        c_block_open(u, true, "if ((%s))", test.at);
    } else {
        c_block_open(u, true, "if (%s)", test.at);
    }
    d->open++;
    for (size_t i = 0; i < d->clauses.n; i++) {
        c_clause *c = &d->clauses.at[i];
        if (c->affine && c->done && (c->free & unbound) == 0) {
            c_fact_add(u, &c->form);
        }
    }
}

static void accumulate(c_reduction *d, c_value v) {
    c_unit *u = d->u;
    base_arena *arena = u->arena;
    const char *a = d->name, *ctype = c_value_type(d->type);
    bool real = base_type_is_float(d->type);
    bool sum = d->kind == LANG_SUM;
    switch (d->kind) {
    case LANG_SUM:
    case LANG_PROD:
        if (c_is_small_float(d->type)) {
            const char *text = base_printf(arena, "(double)(%s %s %s)", a, sum ? "+" : "*", c_wrap(arena, v, C_UNARY));
            c_line(u->scope, "%s = %s;", a, c_float_decode(u, d->type, c_float_encode(u, d->type, text)));
        } else if (base_type_bits(d->type) < 32) {
            const char *text =
                base_printf(arena, "(uint32_t)%s %s (uint32_t)%s", a, sum ? "+" : "*", c_wrap(arena, v, C_UNARY));
            if (base_type_bits(d->type) < 8) {
                text = base_type_is_signed(d->type)
                           ? base_printf(arena, "%s((int32_t)(%s), %u)", c_helper(u->m->helpers, "wrap_signed"), text,
                                         base_type_bits(d->type))
                           : base_printf(arena, "(%s)((%s) & %uu)", ctype, text, (1u << base_type_bits(d->type)) - 1u);
                c_line(u->scope, "%s = %s;", a, text);
            } else {
                c_line(u->scope, "%s = (%s)(%s);", a, ctype, text);
            }
        } else if (real || !base_type_is_signed(d->type) || !lang_may_wrap(u->ranges, u->stage, d->r)) {
            c_line(u->scope, "%s %s= %s;", a, sum ? "+" : "*", v.text);
        } else {
            const char *w = d->type == BASE_I64 ? "uint64_t" : "uint32_t";
            c_line(u->scope, "%s = (%s)((%s)%s %s (%s)%s);", a, ctype, w, a, sum ? "+" : "*", w,
                   c_wrap(arena, v, C_UNARY));
        }
        break;
    case LANG_RMAX:
    case LANG_RMIN:
        if (real && !d->keyed) {
            const char *helper =
                base_printf(arena, "%s_%s", d->kind == LANG_RMAX ? "max" : "min", d->type == BASE_F64 ? "f64" : "f32");
            c_line(u->scope, "%s = %s(%s, %s);", a, c_helper(u->m->helpers, helper), a, v.text);
        } else {
            const bool narrow = d->keyed || (d->type == BASE_I64 && v.narrow);
            const char *name = c_local(u, u->scope, narrow ? "int32_t" : ctype, key_text(d, v.text)).text;
            c_line(u->scope, "%s = %s %s %s ? %s : %s;", a, name, d->kind == LANG_RMAX ? ">" : "<", a, name, a);
        }
        break;
    case LANG_ANY:
    case LANG_ALL:
    case LANG_FIRST:
    default:
        c_line(u->scope, "%s = %s;", a, v.text);
        break;
    }
    if (d->found != NULL) {
        c_line(u->scope, "%s = 1;", d->found);
    }
}

static void declare(c_reduction *d, bool ordered) {
    c_unit *u = d->u;
    bool eager = ordered && d->otherwise != 0 && (u->flags[d->otherwise] & (C_UNSAFE | C_HEAVY)) == 0;
    const char *start = identity_text(d);
    if (eager) {
        start = c_emit(u, d->otherwise).text;
        d->otherwise = 0;
    }
    c_line(u->scope, "%s %s = %s;", d->keyed ? "int32_t" : c_value_type(d->type), d->name, key_text(d, start));
    if (ordered || d->otherwise != 0) {
        d->found = c_name(u, 'f');
        c_line(u->scope, "int %s = 0;", d->found);
    }
}

c_value c_emit_reduction(c_unit *u, lang_ref r) {
    const lang_node *n = lang_at(u->p, r);
    c_reduction d = {
        .u = u, .r = r, .kind = (lang_reduction)n->code, .type = (base_type)n->type, .name = c_name(u, 'a')};
    uint32_t count = n->count - 3;
    uint64_t bound = 0;
    d.keyed = (d.kind == LANG_RMAX || d.kind == LANG_RMIN) && base_type_is_float(d.type) && d.type != BASE_F64 &&
              u->m->plan->goal != PLAN_SIZE;
    d.guard = lang_operand(u->p, r, count);
    d.body = lang_operand(u->p, r, count + 1);
    d.otherwise = lang_operand(u->p, r, count + 2);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t var = lang_at(u->p, lang_operand(u->p, r, k))->index;
        if ((u->zero_vars >> var & 1) == 0) {
            d.var[d.n++] = var;
            bound |= UINT64_C(1) << var;
        }
    }
    declare(&d, d.kind == LANG_FIRST || d.kind == LANG_LAST);
    guard_clauses(u, &d.clauses, d.guard);
    if (!plan_has(u->m->plan->without, PLAN_MOVE_CLIP)) {
        clip_reads(u, &d.clauses, d.kind, d.body, d.otherwise != 0);
    }
    open_tests(&d, bound);
    for (uint32_t k = 0; k < d.n; k++) {
        open_variable(&d, k);
        bound &= ~(UINT64_C(1) << d.var[k]);
        open_tests(&d, bound);
    }
    accumulate(&d, c_emit(u, d.body));
    for (uint32_t k = 0; k < d.open; k++) {
        c_block_close(u, "");
    }
    if (d.otherwise != 0) {
        c_block_open(u, true, "if (!%s)", d.found);
        c_line(u->scope, "%s = %s;", d.name, key_text(&d, c_emit(u, d.otherwise).text));
        c_block_close(u, "");
    }
    if (d.keyed) {
        return (c_value){base_printf(u->arena, "%s(%s)", c_helper(u->m->helpers, "key_to_f32"), d.name), C_PRIMARY,
                         false};
    }
    return (c_value){d.name, C_PRIMARY, false};
}

/* ---- nests ---- */

static void merge_reductions(c_unit *u) {
    for (lang_ref r = 1; r < u->p->nodes.n; r++) {
        const lang_node *n = lang_at(u->p, r);
        if (u->uses[r] == 0 || n->kind != LANG_REDUCE || n->code >= LANG_FIRST) {
            continue;
        }
        uint8_t vars[LANG_MAX_VARS];
        for (uint32_t k = 0; k + 3 < n->count; k++) {
            vars[k] = (uint8_t)lang_at(u->p, lang_operand(u->p, r, k))->index;
        }
        c_merge(u, vars, n->count - 3, 0);
    }
}

void c_emit_nest(c_unit *u, const plan_schedule *x) {
    const lang_stage *s = u->stage;
    uint8_t order[LANG_MAX_VARS];
    uint32_t n = 0, open = 0;
    for (uint32_t k = 0; k < x->order_count; k++) {
        if (s->rec < 0 ? x->order[k] >= x->shared : x->order[k] != s->rec_var) {
            order[n++] = x->order[k];
        }
    }
    merge_reductions(u);
    c_merge(u, order, n, 0);
    bool threads = x->threads_var != 255 && s->rec < 0 && !c_is_packed(u->p->tensors.at[s->tensor].type);
    for (uint32_t k = 0; k < n; k++) {
        if ((u->zero_vars >> order[k] & 1) != 0) {
            continue;
        }
        int64_t rounds = c_extent(u, order[k]);
        if (threads && open == 0 && rounds > 1 && rounds <= INT32_MAX / 2) {
            loop_open(u, order[k], "(int32_t)begin", "(int32_t)end", false, "");
            u->split = (uint32_t)rounds;
        } else {
            c_loop_open(u, order[k], "");
        }
        open++;
    }
    lang_affine out;
    if (c_output_affine(u->p, s, &out)) {
        for (uint32_t k = 0; k < s->rank; k++) {
            if ((u->zero_vars >> k & 1) != 0) {
                out.vars &= ~(UINT64_C(1) << k);
            }
        }
        c_store(u, s->tensor, c_address_text(u, &out, c_affine_is_wide(u, &out), C_TO_OUTPUT), s->body);
    }
    for (uint32_t k = 0; k < open; k++) {
        c_block_close(u, "");
    }
}

/* ---- units ---- */

c_unit *c_unit_new(base_arena *scratch, c_module *m, const plan_kernel *kernel, lang_ranges *ranges) {
    c_unit *u = BASE_NEW(scratch, c_unit);
    size_t n = kernel->program->nodes.n;
    u->m = m;
    u->arena = scratch;
    u->p = kernel->program;
    u->kernel = kernel;
    u->ranges = ranges;
    u->memo = BASE_NEWS(scratch, c_memo, n);
    u->uses = BASE_NEWS(scratch, uint32_t, n);
    u->flags = BASE_NEWS(scratch, uint8_t, n);
    u->floor = c_scope_open(u, false);
    u->form = "loop nest";
    return u;
}

typedef struct c_region {
    int space; /* 0: constant, shared with nothing that is written; 1: arena; 2: state */
    uint64_t first, end;
} c_region;

static c_region region_of(const c_unit *u, const c_argument *a) {
    c_region r = {0};
    const bool scratch = a->tensor == IR_NONE && a->data == IR_NONE;
    if (!scratch && (a->tensor == IR_NONE || u->kernel->tensor[a->tensor] == IR_NONE)) {
        return r;
    }
    const plan_tensor *t = &u->m->plan->tensors.at[scratch ? a->place : u->kernel->tensor[a->tensor]];
    const plan_tensor *root = &u->m->plan->tensors.at[t->root];
    r.space = root->role == PLAN_CONSTANT ? 0 : root->role == PLAN_STATE ? 2 : 1;
    r.first = root->offset + t->root_offset;
    r.end = r.first + (t->bytes > 0 ? t->bytes : 1); /* equal addresses count, even of nothing */
    return r;
}

static void find_sharing(c_unit *u) {
    for (size_t i = 0; i < u->arguments.n; i++) {
        c_argument *a = &u->arguments.at[i];
        c_region x = region_of(u, a);
        a->exclusive = true;
        for (size_t k = 0; k < u->arguments.n; k++) {
            c_region y = region_of(u, &u->arguments.at[k]);
            bool share = x.space != 0 && x.space == y.space && x.first < y.end && y.first < x.end;
            if (k != i && share && (a->written || u->arguments.at[k].written)) {
                a->exclusive = false;
            }
        }
    }
}

/* The function of that text, which has been there or is new, and the call, in the module's arena: the unit's goes. */
static void enter_function(const c_unit *u, const base_text *text, c_kernel_calls *calls) {
    c_module *m = u->m;
    bool is_new;
    const char *split = base_printf(u->arena, "%u ", u->split), *key = base_printf(u->arena, "%s%s", split, text->at);
    uint64_t *index = base_map_put(m->function_map, key, strlen(key), &is_new);
    c_argument *arguments = BASE_NEWS(m->arena, c_argument, u->arguments.n);
    if (u->arguments.n > 0) {
        memcpy(arguments, u->arguments.at, u->arguments.n * sizeof *arguments);
    }
    if (is_new) {
        const char *kept = base_map_key(m->function_map, base_map_count(m->function_map) - 1, NULL, NULL);
        *index = m->functions.n;
        *BASE_PUSH(m->arena, &m->functions) = (c_function){.text = kept + strlen(split),
                                                           .can_fail = u->can_fail,
                                                           .split = u->split,
                                                           .argument_count = u->arguments.n,
                                                           .arguments = arguments,
                                                           .step = (uint32_t)(u->kernel - m->plan->kernels.at),
                                                           .output = u->stage->tensor,
                                                           .form = base_strdup(m->arena, u->form)};
    }
    *BASE_PUSH(m->arena, &calls->list) = (c_call){(uint32_t)*index, u->arguments.n, arguments};
}

void c_unit_finish(c_unit *u, c_kernel_calls *calls) {
    base_text text = {.arena = u->arena};
    c_drop_unread(u, &u->floor->text);
    find_sharing(u);
    base_put(&text, "static %s %c(", u->can_fail ? "uint32_t" : "void", C_NAME_MARK);
    for (size_t k = 0; k < u->arguments.n; k++) {
        const c_argument *a = &u->arguments.at[k];
        base_put(&text, "%s%s%s *%sp%zu", k > 0 ? ", " : "", a->written ? "" : "const ", c_storage_type(a->type),
                 a->exclusive ? "\2 " : "", k);
    }
    if (u->split != 0) {
        base_puts(&text, ", uint32_t begin, uint32_t end");
    }
    base_put(&text, "%s)\n{\n", u->arguments.n == 0 && u->split == 0 ? "void" : "");
    base_putn(&text, u->floor->text.at, u->floor->text.n);
    base_puts(&text, u->can_fail ? "    return 0u;\n}\n" : "}\n");
    enter_function(u, &text, calls);
}

/* The variable of loop i that stages run together share: the steps of a recurrence, or the first ones of the output. */
static uint32_t shared_variable(const lang_stage *s, uint32_t i) {
    return s->rec < 0 ? i : s->rec_var;
}

/* Stages first .. end together: one loop over each of the variables they share, each stage a block inside. */
static bool emit_together(c_unit *u, size_t first, size_t end, uint32_t loops) {
    c_scope *function = u->floor, *at[LANG_MAX_RANK];
    const char *name[LANG_MAX_RANK];
    if (!c_unit_stage(u, &u->p->stages.at[first])) {
        return false;
    }
    for (uint32_t i = 0; i < loops; i++) {
        name[i] = c_name(u, 't');
        c_value extent = c_extent_text(u, shared_variable(u->stage, i));
        c_block_open(u, false, "for (int32_t %s = 0; %s < %s; %s++)", name[i], name[i], c_wrap(u->arena, extent, C_ADD),
                     name[i]);
        at[i] = u->scope;
    }
    for (size_t k = first; k < end; k++) {
        if (u->kernel->schedules[k].form == PLAN_ALIAS) {
            continue;
        }
        if (!c_unit_stage(u, &u->p->stages.at[k])) {
            return false;
        }
        for (uint32_t i = 0; i < loops; i++) {
            c_bind_var(u, shared_variable(u->stage, i), name[i], at[i]);
        }
        c_block_open(u, false, "%s", "");
        u->floor = u->scope;
        c_emit_nest(u, &u->kernel->schedules[k]);
        c_block_close(u, "");
    }
    for (uint32_t i = 0; i < loops; i++) {
        c_block_close(u, "");
    }
    u->floor = function;
    return true;
}

static base_status emit_units(c_module *m, base_arena *scratch, uint32_t k) {
    const plan_kernel *kernel = &m->plan->kernels.at[k];
    const lang_program *p = kernel->program;
    lang_ranges *ranges = lang_ranges_new(scratch, p);
    for (size_t i = 0; i < p->stages.n;) {
        const lang_stage *s = &p->stages.at[i];
        const plan_schedule *x = &kernel->schedules[i];
        size_t end = i + 1;
        if (x->form == PLAN_ALIAS) {
            i = end;
            continue;
        }
        c_unit *u = c_unit_new(scratch, m, kernel, ranges);
        if (s->rec >= 0) {
            while (end < p->stages.n && p->stages.at[end].rec == s->rec) {
                end++;
            }
            u->form = "recurrence";
            if (!emit_together(u, i, end, 1)) {
                return BASE_REFUSED;
            }
        } else if (x->shared > 0) {
            while (end < p->stages.n && kernel->schedules[end].shared > 0 && kernel->schedules[end].group == x->group) {
                end++;
            }
            u->form = base_printf(u->arena, "%zu stages in one nest of %" PRIu32 " loops", end - i, x->shared);
            if (!emit_together(u, i, end, x->shared)) {
                return BASE_REFUSED;
            }
        } else {
            if (!c_unit_stage(u, s)) {
                return BASE_REFUSED;
            }
            bool tile = x->form == PLAN_CONTRACT || x->form == PLAN_DEPTHWISE;
            if (!tile || !c_emit_contract(u, x)) {
                c_emit_nest(u, x);
            }
        }
        c_unit_finish(u, &m->calls[k]);
        i = end;
    }
    return BASE_OK;
}

base_status c_emit_kernel(c_module *m, uint32_t k) {
    base_arena *scratch = base_arena_new(base_arena_memory(m->arena));
    const base_status status = emit_units(m, scratch, k);
    base_arena_free(scratch);
    return status;
}
