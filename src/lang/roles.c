/* roles.c - what a stage is: found from its body, never declared.
 *
 * Takes a stage. Gives its pattern, its reduction, its factors and the role of each variable (which factor it occurs
 * in); and small questions about reads. Changes nothing.
 */
#include "lang/analysis.h"
#include "lang/linear.h"
#include "lang/walk.h"

/* ---- questions by walking ---- */

static base_arena *scratch_of(const lang_program *p) {
    return base_arena_new(base_arena_memory(p->arena));
}

uint8_t *lang_reached(base_arena *scratch, const lang_program *p, const lang_stage *s) {
    uint8_t *reached = BASE_NEWS(scratch, uint8_t, p->nodes.n);
    for (size_t i = 0; i < p->stages.n; i++) {
        if (s == NULL || s == &p->stages.at[i]) { /* stages may share a body */
            reached[p->stages.at[i].body] = 1;
        }
    }
    for (lang_ref r = (lang_ref)p->nodes.n - 1; r > 0; r--) { /* operands have smaller numbers */
        for (uint32_t k = 0; reached[r] != 0 && k < lang_at(p, r)->count; k++) {
            reached[lang_operand(p, r, k)] = 1;
        }
    }
    return reached;
}

bool lang_has_reduction(const lang_program *p, lang_ref e) {
    base_arena *scratch = scratch_of(p);
    bool found = false;
    lang_walk w;
    lang_walk_init(&w, scratch, p);
    lang_walk_add(&w, e);
    for (size_t i = 0; i < w.order.n && !found; i++) {
        found = lang_at(p, w.order.at[i])->kind == LANG_REDUCE;
    }
    base_arena_free(scratch);
    return found;
}

bool lang_reduces_over(const lang_program *p, const lang_stage *s, uint32_t tensor) {
    base_arena *scratch = scratch_of(p);
    bool *holds = BASE_NEWS(scratch, bool, p->nodes.n), found = false;
    lang_walk w;
    lang_walk_init(&w, scratch, p);
    lang_walk_add(&w, s->body);
    for (size_t i = 0; i < w.order.n && !found; i++) {
        const lang_ref r = w.order.at[i];
        const lang_node *n = lang_at(p, r);
        holds[r] = n->kind == LANG_READ && n->index == tensor;
        for (uint32_t k = 0; k < n->count; k++) {
            holds[r] = holds[r] || holds[lang_operand(p, r, k)];
        }
        found = n->kind == LANG_REDUCE && holds[r];
    }
    base_arena_free(scratch);
    return found;
}

uint32_t lang_reads_of(const lang_program *p, const lang_stage *s, uint32_t tensor) {
    base_arena *scratch = scratch_of(p);
    uint32_t count = 0;
    lang_walk w;
    lang_walk_init(&w, scratch, p);
    lang_walk_add(&w, s->body);
    for (size_t i = 0; i < w.order.n; i++) {
        const lang_node *n = lang_at(p, w.order.at[i]);
        count += n->kind == LANG_READ && n->index == tensor;
    }
    base_arena_free(scratch);
    return count;
}

/* Index k of the read is output variable k, or 0 where only 0 is possible. */
static bool index_is_point(const lang_program *p, const lang_stage *s, lang_ref read) {
    const lang_node *n = lang_at(p, read);
    const lang_tensor *t = &p->tensors.at[n->index], *y = &p->tensors.at[s->tensor];
    if (n->flat || t->rank != s->rank) {
        return false;
    }
    for (uint32_t k = 0; k < s->rank; k++) {
        const lang_node *i = lang_at(p, lang_operand(p, read, k));
        bool variable = i->kind == LANG_VAR && i->index == k;
        bool only = i->kind == LANG_CONST && i->value.i == 0 && y->extent[k] == 0 && y->dim[k] == 1;
        bool same = t->dim[k] == y->dim[k] && (t->extent[k] != 0) == (y->extent[k] != 0);
        if ((!variable && !only) || !same) {
            return false;
        }
    }
    return true;
}

/* The same by row-major numbers: covers relabelled shapes. */
static bool address_is_point(const lang_program *p, const lang_stage *s, lang_ref read) {
    const lang_tensor *y = &p->tensors.at[s->tensor];
    const lang_tensor *t = &p->tensors.at[lang_at(p, read)->index];
    lang_affine a;
    int64_t stride = 1, total = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->extent[k] != 0 || __builtin_mul_overflow(total, t->dim[k], &total)) {
            return false;
        }
    }
    if (!lang_affine_read(p, read, &a) || a.constant != 0 || (s->rank < LANG_MAX_VARS && a.vars >> s->rank != 0)) {
        return false;
    }
    for (uint32_t k = s->rank; k-- > 0;) {
        if (y->extent[k] != 0 || (y->dim[k] > 1 && a.coefficient[k] != stride) ||
            __builtin_mul_overflow(stride, y->dim[k], &stride)) {
            return false;
        }
    }
    return stride == total;
}

bool lang_reads_at_point(const lang_program *p, const lang_stage *s, uint32_t tensor) {
    base_arena *scratch = scratch_of(p);
    bool point = true;
    lang_walk w;
    lang_walk_init(&w, scratch, p);
    lang_walk_add(&w, s->body);
    for (size_t i = 0; i < w.order.n && point; i++) {
        lang_ref e = w.order.at[i];
        const lang_node *n = lang_at(p, e);
        if (n->kind == LANG_READ && n->index == tensor) {
            point = index_is_point(p, s, e) || address_is_point(p, s, e);
        }
    }
    base_arena_free(scratch);
    return point;
}

static lang_ref through_casts(const lang_program *p, lang_ref e) {
    while (lang_at(p, e)->kind == LANG_WORD_ && lang_at(p, e)->code == LANG_CAST) {
        e = lang_operand(p, e, 0);
    }
    return e;
}

static bool is_word(const lang_program *p, lang_ref e, lang_word w) {
    return lang_at(p, e)->kind == LANG_WORD_ && lang_at(p, e)->code == (uint8_t)w;
}

/* ---- multiply-accumulates ---- */

static uint64_t times(uint64_t a, int64_t b) {
    uint64_t n;
    return base_mul_size(a, b > 0 ? (uint64_t)b : 0, &n) ? n : UINT64_MAX;
}

static uint64_t stage_macs(const lang_program *p, const lang_stage *s, lang_ref e) {
    const lang_node *n = lang_at(p, e);
    uint64_t domain = 1, own = 0;
    for (uint32_t k = 0; k < n->count - 3; k++) {
        own |= UINT64_C(1) << lang_at(p, lang_operand(p, e, k))->index;
    }
    for (uint32_t v = 0; v < s->var_count; v++) { /* elements, the domain, and the enclosing reductions it depends on */
        if (v < s->rank || ((own | n->free) >> v & 1) != 0) {
            domain = times(domain, s->vars[v].bound);
        }
    }
    return domain;
}

uint64_t lang_macs(const lang_program *p) {
    base_arena *scratch = scratch_of(p);
    uint64_t sum = 0;
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        lang_walk w;
        lang_walk_init(&w, scratch, p);
        lang_walk_add(&w, s->body);
        for (size_t k = 0; k < w.order.n; k++) {
            const lang_node *n = lang_at(p, w.order.at[k]);
            if (n->kind != LANG_REDUCE || n->code != LANG_SUM) {
                continue;
            }
            if (is_word(p, through_casts(p, lang_operand(p, w.order.at[k], n->count - 2)), LANG_MUL) &&
                !base_add_size(sum, stage_macs(p, s, w.order.at[k]), &sum)) {
                sum = UINT64_MAX;
            }
        }
    }
    base_arena_free(scratch);
    return sum;
}

/* ---- roles ---- */

typedef struct finder {
    lang_ranges *r;
    const lang_program *p;
    const lang_stage *s;
    base_arena *scratch;
    uint64_t outputs, reduced; /* variables */
    lang_roles out;
} finder;

static bool fill_can_act(finder *f, lang_ref e) {
    const lang_node *n = lang_at(f->p, e);
    const lang_tensor *t = &f->p->tensors.at[n->index];
    int64_t total = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        total = t->extent[k] != 0 || __builtin_mul_overflow(total, t->dim[k], &total) ? -1 : total;
        if (total < 0) {
            return n->has_fill;
        }
    }
    for (uint32_t k = 0; n->has_fill && k < n->count - 1; k++) {
        lang_range i = lang_range_of(f->r, f->s, lang_operand(f->p, e, k));
        if (!i.known || i.lo < 0 || i.hi >= (n->flat ? total : t->dim[k])) {
            return true;
        }
    }
    return false;
}

/* (read [cast]) [+ addend], nothing else. */
static bool parse_factor(const finder *f, lang_ref e, lang_factor *out) {
    *out = (lang_factor){.whole = e};
    lang_ref x = through_casts(f->p, e);
    if (is_word(f->p, x, LANG_ADD)) {
        lang_ref a = lang_operand(f->p, x, 0), b = lang_operand(f->p, x, 1);
        bool second = lang_at(f->p, b)->free == 0;
        out->addend = second ? b : a;
        if (lang_at(f->p, out->addend)->free != 0 || lang_at(f->p, out->addend)->kind == LANG_REDUCE ||
            !base_type_is_int((base_type)lang_at(f->p, x)->type)) {
            return false;
        }
        x = through_casts(f->p, second ? a : b);
    }
    out->read = x;
    return lang_at(f->p, x)->kind == LANG_READ;
}

static bool known_contents(const lang_program *p, lang_ref read) {
    return p->tensors.at[lang_at(p, read)->index].data != NULL;
}

static bool mixes(const finder *f, lang_ref read) {
    const lang_node *n = lang_at(f->p, read);
    for (uint32_t k = 0; k < n->count - (n->has_fill ? 1u : 0u); k++) {
        uint64_t free = lang_at(f->p, lang_operand(f->p, read, k))->free;
        if ((free & f->outputs) != 0 && (free & f->reduced) != 0 && !n->flat) {
            return true;
        }
    }
    return false;
}

/* The factor with the weights is b; where contents do not tell, the one whose indices mix is a, then the one with the
 * first row. */
static bool wants_swap(const finder *f, const lang_factor *a, const lang_factor *b) {
    bool ka = known_contents(f->p, a->read), kb = known_contents(f->p, b->read);
    if (ka != kb) {
        return ka;
    }
    if (mixes(f, a->read) != mixes(f, b->read)) {
        return mixes(f, b->read);
    }
    uint64_t fa = lang_at(f->p, a->read)->free & f->outputs, fb = lang_at(f->p, b->read)->free & f->outputs;
    uint64_t only_a = fa & ~fb, only_b = fb & ~fa;
    return only_b != 0 && (only_a == 0 || (only_b & (~only_b + 1)) < (only_a & (~only_a + 1)));
}

static void assign_roles(finder *f, uint64_t a, uint64_t b) {
    for (uint32_t v = 0; v < LANG_MAX_VARS; v++) {
        uint64_t bit = UINT64_C(1) << v;
        bool in_a = (a & bit) != 0, in_b = (b & bit) != 0;
        if ((f->outputs & bit) != 0) {
            f->out.role[v] = in_a && in_b ? LANG_ROLE_BATCH : in_a ? LANG_ROLE_M : in_b ? LANG_ROLE_N : LANG_ROLE_FREE;
        } else if ((f->reduced & bit) != 0) {
            f->out.role[v] = in_a && in_b ? LANG_ROLE_K : in_a ? LANG_ROLE_K_A : in_b ? LANG_ROLE_K_B : LANG_ROLE_NONE;
        }
    }
}

static bool has_role(const finder *f, lang_role role) {
    for (uint32_t v = 0; v < LANG_MAX_VARS; v++) {
        if (f->out.role[v] == role) {
            return true;
        }
    }
    return false;
}

/* One sum of a product of two reads. */
static bool find_contraction(finder *f, lang_ref body) {
    lang_factor a, b;
    const lang_node *n = lang_at(f->p, f->out.reduction);
    if (n->code != LANG_SUM || !is_word(f->p, body, LANG_MUL) || !parse_factor(f, lang_operand(f->p, body, 0), &a) ||
        !parse_factor(f, lang_operand(f->p, body, 1), &b)) {
        return false;
    }
    if (wants_swap(f, &a, &b)) {
        lang_factor t = a;
        a = b;
        b = t;
    }
    assign_roles(f, lang_at(f->p, a.read)->free, lang_at(f->p, b.read)->free);
    bool wide = has_role(f, LANG_ROLE_N), batch = has_role(f, LANG_ROLE_BATCH);
    /* weights by one vector have no rows left once extents of 1 have vanished */
    bool rows = has_role(f, LANG_ROLE_M) || batch || known_contents(f->p, b.read);
    if (!has_role(f, LANG_ROLE_K) || (wide ? !rows : !batch)) {
        return false;
    }
    f->out.pattern = wide ? LANG_CONTRACT : LANG_DEPTHWISE;
    f->out.a = a;
    f->out.b = b;
    f->out.mixed = mixes(f, a.read);
    return true;
}

/* Does e say that a reduction variable and an output variable are tied: one side of the equation holds one of them
 * bare, and the other kind occurs somewhere? */
static bool ties(finder *f, lang_ref e) {
    lang_linear a, b, d;
    if (!is_word(f->p, e, LANG_EQ) || !base_type_is_int((base_type)lang_at(f->p, lang_operand(f->p, e, 0))->type)) {
        return false;
    }
    (void)lang_range_of(f->r, f->s, e);
    if (!lang_linear_of(f->r, lang_operand(f->p, e, 0), &a) || !lang_linear_of(f->r, lang_operand(f->p, e, 1), &b)) {
        return false;
    }
    (void)lang_linear_difference(f->r, &a, &b, &d);
    uint64_t bare = 0, free = 0;
    for (uint32_t i = 0; i < d.n; i++) {
        const lang_node *n = lang_at(f->p, d.term[i].atom);
        free |= n->free;
        bare |= n->kind == LANG_VAR ? UINT64_C(1) << n->index : 0;
    }
    return ((bare & f->outputs) != 0 && (free & f->reduced) != 0) ||
           ((bare & f->reduced) != 0 && (free & f->outputs) != 0);
}

static bool find_scatter(finder *f, lang_ref guard) {
    lang_ref part[32];
    size_t n = lang_conjuncts(f->p, guard, part, sizeof part / sizeof *part);
    for (size_t k = 0; k < n; k++) {
        if (ties(f, part[k])) {
            return true;
        }
    }
    return false;
}

/* Pattern of a stage with exactly one reduction. */
static void classify_reduction(finder *f) {
    const lang_program *p = f->p;
    lang_ref e = f->out.reduction;
    const lang_node *n = lang_at(p, e);
    uint32_t vars = n->count - 3;
    lang_ref guard = lang_operand(p, e, vars), body = lang_operand(p, e, vars + 1);
    for (uint32_t k = 0; k < vars; k++) {
        f->reduced |= UINT64_C(1) << lang_at(p, lang_operand(p, e, k))->index;
    }
    f->out.guarded = f->out.guarded || guard != 0;
    lang_walk w;
    lang_walk_init(&w, f->scratch, p);
    lang_walk_add(&w, body);
    uint32_t reads = 0;
    lang_ref read = 0;
    uint64_t free = 0;
    for (size_t i = 0; i < w.order.n; i++) {
        if (lang_at(p, w.order.at[i])->kind == LANG_READ) {
            reads++;
            read = w.order.at[i];
            free |= lang_at(p, read)->free;
        }
    }
    if (find_scatter(f, guard)) {
        assign_roles(f, free, 0);
        f->out.pattern = LANG_SCATTER;
        return;
    }
    if (find_contraction(f, body)) {
        return;
    }
    assign_roles(f, free, 0);
    f->out.pattern = LANG_ROW;
    if (reads == 1) {
        f->out.a = (lang_factor){.read = read, .whole = body};
        f->out.mixed = mixes(f, read);
        f->out.pattern = f->out.mixed ? LANG_WINDOW : LANG_ROW;
    }
}

lang_roles lang_roles_of(lang_ranges *r, const lang_stage *s) {
    const lang_program *p = lang_ranges_program(r);
    finder f = {.r = r, .p = p, .s = s, .scratch = scratch_of(p)};
    uint32_t reductions = 0;
    lang_walk w;
    f.outputs = s->rank >= LANG_MAX_VARS ? UINT64_MAX : (UINT64_C(1) << s->rank) - 1;
    lang_walk_init(&w, f.scratch, p);
    lang_walk_add(&w, s->body);
    for (size_t i = 0; i < w.order.n; i++) {
        const lang_node *n = lang_at(p, w.order.at[i]);
        if (n->kind == LANG_REDUCE) {
            reductions++;
            f.out.reduction = w.order.at[i];
        }
        f.out.guarded = f.out.guarded || (n->kind == LANG_READ && fill_can_act(&f, w.order.at[i]));
    }
    if (s->rec >= 0) {
        f.out.pattern = LANG_RECURRENT;
        f.out.reduction = reductions == 1 ? f.out.reduction : 0;
    } else if (reductions > 1) {
        f.out.pattern = LANG_OTHER;
        f.out.reduction = 0;
    } else if (reductions == 1) {
        classify_reduction(&f);
    } else {
        lang_ref core = through_casts(p, s->body);
        assign_roles(&f, lang_at(p, s->body)->free, 0);
        f.out.pattern = lang_at(p, core)->kind == LANG_READ ? LANG_MOVE : LANG_MAP;
        f.out.a = f.out.pattern == LANG_MOVE ? (lang_factor){.read = core, .whole = s->body} : f.out.a;
    }
    base_arena_free(f.scratch);
    return f.out;
}
