/* eval_index.c - code for indices, reads and stores.
 *
 * Takes linear forms. Gives registers: scalars are updated by addition as loops go on, rows over a tile are one
 * instruction; reads whose element number is linear over the tile become lang_eval_load, others gather by a row of
 * element numbers.
 */
#include <assert.h>
#include <string.h>

#include "lang/eval_compile.h"

/* ---- scalars ---- */

static bool same_form(const lang_eval_linear *a, const lang_eval_linear *b) {
    return a->c == b->c && a->n == b->n && memcmp(a->t, b->t, a->n * sizeof a->t[0]) == 0;
}

static void remove_term(lang_eval_linear *f, uint32_t at) {
    for (uint32_t i = at; i + 1 < f->n; i++) {
        f->t[i] = f->t[i + 1];
    }
    f->n--;
}

static bool is_home(lang_eval_compiler *c, lang_eval_scope *s, uint32_t id) {
    if (id < LANG_MAX_VARS) {
        return (s->binds >> id & 1) != 0;
    }
    return lang_eval_home(c, s, id - LANG_MAX_VARS) == s;
}

static uint32_t variable_register(lang_eval_compiler *c, const lang_eval_scope *s, uint32_t var) {
    if (s->loop != NULL) {
        assert(s->var == var);
        return s->var_reg;
    }
    assert(s->parent == NULL && c->out->given[var] != 0);
    return c->out->given[var];
}

static uint32_t new_scalar(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_linear *f) {
    uint32_t at = f->n;
    for (uint32_t k = f->n; k-- > 0;) {
        /* terms that are no loop variable first: they are added after the induction */
        if (is_home(c, s, f->t[k].id) && (at == f->n || f->t[k].id >= LANG_MAX_VARS)) {
            at = k;
            if (f->t[k].id >= LANG_MAX_VARS) {
                break;
            }
        }
    }
    if (at == f->n) {
        assert(s->parent != NULL);
        return lang_eval_linear_scalar(c, s->parent, f);
    }
    lang_eval_term term = f->t[at];
    bool alone = f->n == 1 && f->c == 0 && term.k == 1;
    uint32_t own =
        term.id < LANG_MAX_VARS ? variable_register(c, s, term.id) : lang_eval_emit(c, s, term.id - LANG_MAX_VARS).reg;
    if (alone) {
        return own;
    }
    lang_eval_linear rest = *f;
    remove_term(&rest, at);
    if (term.id < LANG_MAX_VARS && s->loop != NULL) {
        uint32_t init = rest.n == 0 && rest.c == 0 ? 0 : lang_eval_linear_scalar(c, s->parent, &rest);
        uint32_t reg = lang_eval_new_register(c, s->parent->block, LANG_EVAL_I64, false);
        *BASE_PUSH(c->arena, &s->loop->inductions) = (lang_eval_induction){.reg = reg, .init = init, .step = term.k};
        return reg;
    }
    uint32_t base = lang_eval_linear_scalar(c, s, &rest);
    uint32_t reg = lang_eval_new_register(c, s->block, LANG_EVAL_I64, false);
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_multiply_add;
    i->d = reg;
    i->a = base;
    i->b = own;
    i->imm = term.k;
    return reg;
}

uint32_t lang_eval_linear_scalar(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_linear *f) {
    if (f->n == 0) {
        return lang_eval_int_register(c, f->c);
    }
    for (const lang_eval_linear_memo *m = s->linears; m != NULL; m = m->next) {
        if (same_form(&m->form, f)) {
            return m->reg;
        }
    }
    uint32_t reg = new_scalar(c, s, f);
    lang_eval_linear_memo *m = BASE_NEW(c->context->arena, lang_eval_linear_memo);
    *m = (lang_eval_linear_memo){.form = *f, .reg = reg, .next = s->linears};
    s->linears = m;
    return reg;
}

/* ---- rows ---- */

/* A form over a tile: the scalar part, the step of each tile variable, and terms that are rows of their own. */
typedef struct split_form {
    lang_eval_linear scalar, rows;
    int64_t step[LANG_EVAL_TILE_VARS];
    bool moves; /* some step is not 0 */
} split_form;

static void split(lang_eval_compiler *c, const lang_eval_scope *s, const lang_eval_linear *f, split_form *out) {
    memset(out, 0, sizeof *out);
    out->scalar.c = f->c;
    for (uint32_t k = 0; k < f->n; k++) {
        lang_eval_term t = f->t[k];
        uint64_t vars = t.id < LANG_MAX_VARS ? (uint64_t)1 << t.id : lang_at(c->program, t.id - LANG_MAX_VARS)->free;
        if (s->tile == NULL || (vars & s->tile->vars) == 0) {
            (void)lang_eval_linear_add(&out->scalar, t.id, t.k);
        } else if (t.id < LANG_MAX_VARS) {
            for (uint32_t a = 0; a < s->tile->count; a++) {
                if (s->tile->var[a] == t.id) {
                    out->step[a] = t.k;
                    out->moves = true;
                }
            }
        } else {
            (void)lang_eval_linear_add(&out->rows, t.id, t.k);
        }
    }
}

lang_eval_value lang_eval_linear_value(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_linear *f) {
    split_form *parts = BASE_NEW(c->context->arena, split_form);
    split(c, s, f, parts);
    lang_eval_value v = {.reg = lang_eval_linear_scalar(c, s, &parts->scalar)};
    if (parts->moves) {
        lang_eval_access *x = BASE_NEW(c->arena, lang_eval_access);
        x->tile = s->tile;
        x->tile_number = s->tile_number;
        x->base = v.reg;
        memcpy(x->stride, parts->step, sizeof x->stride);
        v = (lang_eval_value){.reg = lang_eval_new_register(c, s->block, LANG_EVAL_I64, true), .row = true};
        lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
        i->run = lang_eval_affine_row;
        i->d = v.reg;
        i->rows = LANG_EVAL_ROW_D;
        i->extra = x;
    }
    for (uint32_t k = 0; k < parts->rows.n; k++) {
        lang_eval_value term = lang_eval_emit(c, s, parts->rows.t[k].id - LANG_MAX_VARS);
        lang_eval_value sum = {.row = v.row || term.row};
        sum.reg = lang_eval_new_register(c, s->block, LANG_EVAL_I64, sum.row);
        lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
        i->run = lang_eval_multiply_add;
        i->d = sum.reg;
        i->a = v.reg;
        i->b = term.reg;
        i->imm = parts->rows.t[k].k;
        i->rows = (uint8_t)((sum.row ? LANG_EVAL_ROW_D : 0) | (v.row ? LANG_EVAL_ROW_A : 0) |
                            (term.row ? LANG_EVAL_ROW_B : 0));
        v = sum;
    }
    return v;
}

/* ---- reads ---- */

typedef struct read_plan {
    lang_eval_linear index[LANG_MAX_RANK], element;
    split_form parts[LANG_MAX_RANK], whole;
    bool proved[LANG_MAX_RANK];
    int64_t extent[LANG_MAX_RANK], stride[LANG_MAX_RANK];
    uint32_t n;
    bool linear; /* element is the element number; else add up the indices */
    bool all_proved, rows;
} read_plan;

static void plan_read(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r, read_plan *p) {
    const lang_node *n = lang_at(c->program, r);
    const lang_tensor *t = &c->program->tensors.at[n->index];
    const int64_t *dim = c->options->dims[n->index];
    p->n = n->flat ? 1 : t->rank;
    p->linear = true;
    p->all_proved = true;
    int64_t elements = 1;
    for (uint32_t k = t->rank; k-- > 0;) {
        if (!n->flat) {
            p->extent[k] = dim[k];
            p->stride[k] = elements;
        }
        elements *= dim[k];
    }
    if (n->flat) {
        p->extent[0] = elements;
        p->stride[0] = 1;
    }
    for (uint32_t k = 0; k < p->n; k++) {
        lang_ref index = lang_operand(c->program, r, k);
        lang_eval_interval v = lang_eval_range(c, index);
        p->proved[k] = v.known && v.lo >= 0 && v.hi < p->extent[k];
        p->all_proved = p->all_proved && p->proved[k];
        lang_eval_linear_of(c, index, &p->index[k]);
        split(c, s, &p->index[k], &p->parts[k]);
        p->rows = p->rows || p->parts[k].rows.n > 0;
        p->element.c = (int64_t)((uint64_t)p->element.c + (uint64_t)p->index[k].c * (uint64_t)p->stride[k]);
        for (uint32_t i = 0; i < p->index[k].n && p->linear; i++) {
            p->linear = lang_eval_linear_add(&p->element, p->index[k].t[i].id,
                                             (int64_t)((uint64_t)p->index[k].t[i].k * (uint64_t)p->stride[k]));
        }
    }
    if (p->linear) {
        split(c, s, &p->element, &p->whole);
    }
}

static void set_fill(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r, lang_eval_access *x,
                     lang_eval_value *fill) {
    const lang_node *n = lang_at(c->program, r);
    if (n->has_fill) {
        lang_ref f = lang_operand(c->program, r, n->count - 1);
        *fill = lang_eval_emit(c, s, f);
        x->has_fill = true;
        x->fill = fill->reg;
        x->fill_row = fill->row;
    }
}

/* Element number by rows (or scalars that no linear form holds). */
static lang_eval_value gather(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_access *x, const read_plan *p,
                              lang_eval_value *inside) {
    lang_eval_value element = {0};
    *inside = (lang_eval_value){0};
    lang_eval_value index[LANG_MAX_RANK];
    for (uint32_t k = 0; k < p->n; k++) {
        index[k] = lang_eval_linear_value(c, s, &p->index[k]);
    }
    if (p->linear) {
        element = lang_eval_linear_value(c, s, &p->element);
    } else {
        element = (lang_eval_value){.reg = lang_eval_int_register(c, 0)};
        for (uint32_t k = 0; k < p->n; k++) {
            lang_eval_value sum = {.row = element.row || index[k].row};
            sum.reg = lang_eval_new_register(c, s->block, LANG_EVAL_I64, sum.row);
            lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
            i->run = lang_eval_multiply_add;
            i->d = sum.reg;
            i->a = element.reg;
            i->b = index[k].reg;
            i->imm = p->stride[k];
            i->rows = (uint8_t)((sum.row ? LANG_EVAL_ROW_D : 0) | (element.row ? LANG_EVAL_ROW_A : 0) |
                                (index[k].row ? LANG_EVAL_ROW_B : 0));
            element = sum;
        }
    }
    for (uint32_t k = 0; k < p->n; k++) {
        x->check[x->check_count++] =
            (lang_eval_check){.reg = index[k].reg, .row = index[k].row, .extent = p->extent[k], .proved = p->proved[k]};
        if (p->proved[k]) {
            continue;
        }
        lang_eval_value both = {.row = inside->row || index[k].row};
        both.reg = lang_eval_new_register(c, s->block, LANG_EVAL_B8, both.row);
        lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
        i->run = lang_eval_inside;
        i->d = both.reg;
        i->a = index[k].reg;
        i->c = inside->reg;
        i->imm = p->extent[k];
        i->rows = (uint8_t)((both.row ? LANG_EVAL_ROW_D : 0) | (index[k].row ? LANG_EVAL_ROW_A : 0) |
                            (inside->row ? LANG_EVAL_ROW_C : 0));
        *inside = both;
    }
    return element;
}

static void add_checks(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_access *x, const read_plan *p) {
    for (uint32_t k = 0; k < p->n; k++) {
        if (p->proved[k] && (x->has_fill || p->all_proved)) {
            continue;
        }
        lang_eval_check *check = &x->check[x->check_count++];
        check->reg = lang_eval_linear_scalar(c, s, &p->parts[k].scalar);
        check->proved = p->proved[k];
        check->extent = p->extent[k];
        check->axis = LANG_EVAL_AXIS_NONE;
        memcpy(check->move, p->parts[k].step, sizeof check->move);
        for (int32_t a = 0; a < (int32_t)LANG_EVAL_TILE_VARS; a++) {
            if (check->move[a] != 0) {
                check->axis = check->axis == LANG_EVAL_AXIS_NONE ? a : LANG_EVAL_AXIS_MANY;
            }
        }
    }
}

/* One load or gather of part `part` of the tensor. */
static lang_eval_value access_part(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_access *x, uint8_t part,
                                   base_type t, uint32_t fill, bool row, const lang_eval_value *element,
                                   const lang_eval_value *inside) {
    lang_eval_access *own = BASE_NEW(c->arena, lang_eval_access);
    *own = *x;
    own->part = part;
    own->type = t;
    own->fill = fill;
    lang_eval_value v = {.row = row};
    lang_eval_class k = lang_eval_class_of(t);
    v.reg = lang_eval_new_register(c, s->block, k, row);
    lang_eval_ins *i = lang_eval_push(c, s, element != NULL ? LANG_EVAL_GATHER : LANG_EVAL_LOAD);
    i->d = v.reg;
    i->cls = (uint8_t)k;
    i->rows = row ? LANG_EVAL_ROW_D : 0;
    i->extra = own;
    if (element != NULL) {
        i->a = element->reg;
        i->b = inside->reg;
        i->rows |= (uint8_t)((element->row ? LANG_EVAL_ROW_A : 0) | (inside->row ? LANG_EVAL_ROW_B : 0));
    }
    return v;
}

static lang_eval_value emit_access(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_access *x, base_type t,
                                   bool row, lang_eval_value fill, const lang_eval_value *element,
                                   const lang_eval_value *inside) {
    if (c->options->mode == LANG_EVAL_BOUND && c->options->wide[x->tensor] != 0) {
        return lang_eval_bound_access(c, s, x, t, row, fill, element, inside, access_part);
    }
    return access_part(c, s, x, LANG_EVAL_PART_DATA, t, fill.reg, row, element, inside);
}

static bool is_row(const lang_eval_compiler *c, const lang_eval_scope *s, lang_ref r) {
    return s->tile != NULL && (lang_at(c->program, r)->free & s->tile->vars) != 0;
}

static lang_eval_value emit_read(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r) {
    const lang_node *n = lang_at(c->program, r);
    base_type t = (base_type)n->type;
    bool row = is_row(c, s, r);
    read_plan *p = BASE_NEW(c->context->arena, read_plan);
    plan_read(c, s, r, p);
    lang_eval_access x = {.tensor = n->index,
                          .type = t,
                          .node = n,
                          .stage = c->stage,
                          .tile = row ? s->tile : NULL,
                          .tile_number = s->tile_number};
    lang_ref fill_node = n->has_fill ? lang_operand(c->program, r, n->count - 1) : 0;
    bool lazy =
        fill_node != 0 && lang_at(c->program, fill_node)->kind != LANG_CONST && !lang_eval_hoistable(c, fill_node);
    bool bound = c->options->mode == LANG_EVAL_BOUND;
    lazy =
        lazy || (bound && fill_node != 0 && c->options->approximate[fill_node] != 0 && c->options->wide[n->index] == 0);
    bool linear = p->linear && !p->rows && !lazy;
    lang_eval_value fill = {0}, element, inside;
    if (!n->has_fill && !p->all_proved && row) {
        x.mask = s->mask;
    }
    if (!lazy) {
        set_fill(c, s, r, &x, &fill);
    }
    if (linear) {
        x.base = lang_eval_linear_scalar(c, s, &p->whole.scalar);
        memcpy(x.stride, p->whole.step, sizeof x.stride);
        add_checks(c, s, &x, p);
        return emit_access(c, s, &x, t, row, fill, NULL, NULL);
    }
    element = gather(c, s, &x, p, &inside);
    if (!lazy || p->all_proved) {
        bool any = element.row || inside.row || fill.row;
        return emit_access(c, s, &x, t, any, fill, &element, &inside);
    }
    x.has_fill = true;
    fill.reg = lang_eval_constant_register(c, t, (base_value){.u = 0});
    lang_eval_value v = emit_access(c, s, &x, t, element.row || inside.row, fill, &element, &inside);
    return lang_eval_emit_choice(c, s, inside, 0, v, fill_node, t);
}

lang_eval_value lang_eval_emit_read(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r) {
    lang_eval_value v = emit_read(c, s, r);
    bool taint = c->options->mode == LANG_EVAL_BOUND && lang_eval_approximate_index(c, r);
    return taint ? lang_eval_bound_taint(c, s, r, v) : v;
}

/* ---- the store of a stage ---- */

void lang_eval_emit_store(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value v, base_type t) {
    const lang_stage *st = c->stage;
    const int64_t *dim = c->options->dims[st->tensor];
    lang_eval_linear f = {0};
    int64_t stride = 1;
    for (uint32_t k = st->rank; k-- > 0;) {
        (void)lang_eval_linear_add(&f, k, stride);
        stride *= dim[k];
    }
    split_form *parts = BASE_NEW(c->context->arena, split_form);
    split(c, s, &f, parts);
    lang_eval_access x = {.tensor = st->tensor,
                          .type = c->program->tensors.at[st->tensor].type,
                          .stage = st,
                          .tile = s->tile,
                          .tile_number = s->tile_number};
    x.base = lang_eval_linear_scalar(c, s, &parts->scalar);
    memcpy(x.stride, parts->step, sizeof x.stride);
    if (c->options->mode == LANG_EVAL_BOUND && c->options->wide[st->tensor] != 0) {
        lang_eval_bound_store(c, s, &x, v, t);
        return;
    }
    lang_eval_access *own = BASE_NEW(c->arena, lang_eval_access);
    *own = x;
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_STORE);
    i->a = v.reg;
    i->cls = (uint8_t)lang_eval_class_of(t);
    i->rows = v.row ? LANG_EVAL_ROW_A : 0;
    i->extra = own;
}
