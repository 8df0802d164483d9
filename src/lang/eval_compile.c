/* eval_compile.c - compiles one stage to evaluator code.
 *
 * Takes a stage, the actual extents and options. Gives blocks of instructions: loops over output variables, a tile of
 * the trailing ones as rows, and every expression in the outermost scope where its variables are bound, unless it may
 * fail or holds a reduction and the scope is conditional. Needs nothing simplified; diagnoses only nesting beyond the
 * limit.
 */
#include "lang/eval_compile.h"

#include <assert.h>
#include <string.h>

/* ---- registers and instructions ---- */

uint32_t lang_eval_new_register(lang_eval_compiler *c, const lang_eval_block *owner, lang_eval_class k, bool row) {
    uint32_t bytes = row ? (uint32_t)(lang_eval_class_size(k) * LANG_ROW) : 8;
    *BASE_PUSH(c->arena, &c->regs.list) = (lang_eval_register){.bytes = bytes, .owner = owner};
    return (uint32_t)(c->regs.list.n - 1);
}

lang_eval_ins *lang_eval_push(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_op op) {
    lang_eval_ins *i = BASE_PUSH(c->arena, &s->block->code);
    memset(i, 0, sizeof *i);
    i->op = (uint8_t)op;
    return i;
}

uint32_t lang_eval_constant_register(lang_eval_compiler *c, base_type t, base_value v) {
    lang_eval_class k = lang_eval_class_of(t);
    for (size_t i = c->out->constants.n; i-- > 0 && c->out->constants.n - i < 64;) {
        const lang_eval_constant *old = &c->out->constants.at[i];
        if (old->cls == k && old->value.u == v.u) {
            return old->reg;
        }
    }
    uint32_t reg = lang_eval_new_register(c, NULL, k, false);
    *BASE_PUSH(c->arena, &c->out->constants) = (lang_eval_constant){.reg = reg, .value = v, .cls = k};
    return reg;
}

uint32_t lang_eval_int_register(lang_eval_compiler *c, int64_t v) {
    return lang_eval_constant_register(c, BASE_I64, (base_value){.i = v});
}

lang_eval_scope *lang_eval_open(lang_eval_compiler *c, lang_eval_scope *parent, lang_eval_block *block) {
    lang_eval_scope *s = BASE_NEW(c->arena, lang_eval_scope);
    s->parent = parent;
    s->block = block;
    if (parent != NULL) {
        s->tile = parent->tile;
        s->tile_number = parent->tile_number;
        s->mask = parent->mask;
    }
    return s;
}

void lang_eval_close(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_scope *outer) {
    for (; s != outer; s = s->parent) {
        *BASE_PUSH(c->arena, &s->parent->block->code) = s->enter;
    }
}

/* ---- words ---- */

static bool may_leave_type(lang_eval_compiler *c, lang_word w, lang_ref r) {
    static const lang_word leaving[] = {LANG_ADD, LANG_SUB, LANG_MUL, LANG_DIV,    LANG_TDIV, LANG_NEG,
                                        LANG_ABS, LANG_POW, LANG_SHL, LANG_BITNOT, LANG_CAST};
    const lang_node *n = lang_at(c->program, r);
    for (size_t k = 0; k < sizeof leaving / sizeof leaving[0]; k++) {
        if (leaving[k] == w) {
            if (w == LANG_CAST &&
                !base_type_is_int((base_type)lang_at(c->program, lang_operand(c->program, r, 0))->type)) {
                return false; /* floats saturate */
            }
            return lang_eval_wrap_kernel((base_type)n->type) != NULL;
        }
    }
    return false;
}

/* A proof by ranges that the mathematical value stays in the type; lang_eval_range gives the whole type where it does
 * not. */
static bool stays_in_type(lang_eval_compiler *c, lang_ref r) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    lang_eval_interval v[2] = {{0, 0, false}, {0, 0, true}};
    for (uint32_t k = 0; k < n->count && k < 2; k++) {
        v[k] = lang_eval_range(c, lang_operand(p, r, k));
    }
    if (!v[0].known || !v[1].known) {
        return false;
    }
    int64_t lo, least, most;
    uint64_t hi;
    base_type_range((base_type)n->type, &lo, &hi);
    switch ((lang_word)n->code) {
    case LANG_ADD:
        least = v[0].lo + v[1].lo;
        most = v[0].hi + v[1].hi;
        break;
    case LANG_SUB:
        least = v[0].lo - v[1].hi;
        most = v[0].hi - v[1].lo;
        break;
    case LANG_CAST:
        least = v[0].lo;
        most = v[0].hi;
        break;
    default:
        return false;
    }
    return least >= lo && most <= (int64_t)hi;
}

static lang_eval_value emit_word(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    base_type t = (base_type)n->type;
    lang_ref a = lang_operand(p, r, 0), b = n->count > 1 ? lang_operand(p, r, 1) : 0;
    base_type ta = (base_type)lang_at(p, a)->type, tb = b != 0 ? (base_type)lang_at(p, b)->type : BASE_NONE;
    lang_word w = (lang_word)n->code;
    lang_eval_value va = lang_eval_emit(c, s, a), vb = {0};
    if (b != 0) {
        vb = lang_eval_emit(c, s, b);
    }
    if (c->options->mode == LANG_EVAL_BOUND && c->options->approximate[r] != 0) {
        return lang_eval_bound_word(c, s, r, va, vb);
    }
    lang_eval_class k = lang_eval_class_of(t), ka = lang_eval_class_of(ta);
    lang_eval_kernel run = lang_eval_word_kernel(w, t, ta, b != 0 ? lang_eval_class_of(tb) : k);
    bool wrap = may_leave_type(c, w, r) && !stays_in_type(c, r);
    if (run == lang_eval_copy_kernel(k) && k == ka && !wrap) {
        return va; /* the same value in the same form */
    }
    lang_eval_value v = {.row = va.row || vb.row};
    v.reg = lang_eval_new_register(c, s->block, k, v.row);
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = run;
    i->word = (uint8_t)w;
    i->type = (uint8_t)t;
    i->atype = (uint8_t)ta;
    i->cls = (uint8_t)k;
    i->acls = (uint8_t)ka;
    i->bcls = (uint8_t)(b != 0 ? lang_eval_class_of(tb) : k);
    i->imm = (int64_t)base_type_bits(t);
    i->d = v.reg;
    i->a = va.reg;
    i->b = vb.reg;
    i->rows =
        (uint8_t)((v.row ? LANG_EVAL_ROW_D : 0) | (va.row ? LANG_EVAL_ROW_A : 0) | (vb.row ? LANG_EVAL_ROW_B : 0));
    if (wrap) {
        i = lang_eval_push(c, s, LANG_EVAL_RUN);
        i->run = lang_eval_wrap_kernel(t);
        i->d = v.reg;
        i->rows = v.row ? LANG_EVAL_ROW_D : 0;
    }
    return v;
}

/* ---- choices ---- */

static lang_eval_value emit_select(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value cond, lang_eval_value a,
                                   lang_eval_value b, base_type t) {
    if (c->options->mode == LANG_EVAL_BOUND && (cond.bound != 0 || a.bound != 0 || b.bound != 0)) {
        return lang_eval_bound_select(c, s, cond, a, b, t);
    }
    lang_eval_class k = lang_eval_class_of(t);
    lang_eval_value v = {.row = cond.row || a.row || b.row};
    v.reg = lang_eval_new_register(c, s->block, k, v.row);
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_select_kernel(k);
    i->d = v.reg;
    i->a = cond.reg;
    i->b = a.reg;
    i->c = b.reg;
    i->rows = (uint8_t)((v.row ? LANG_EVAL_ROW_D : 0) | (cond.row ? LANG_EVAL_ROW_A : 0) |
                        (a.row ? LANG_EVAL_ROW_B : 0) | (b.row ? LANG_EVAL_ROW_C : 0));
    return v;
}

void lang_eval_emit_copy(lang_eval_compiler *c, lang_eval_scope *s, uint32_t to, bool row, uint32_t from, bool from_row,
                         lang_eval_class k) {
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_copy_kernel(k);
    i->d = to;
    i->a = from;
    i->rows = (uint8_t)((row ? LANG_EVAL_ROW_D : 0) | (from_row ? LANG_EVAL_ROW_A : 0));
}

uint32_t lang_eval_emit_bool(lang_eval_compiler *c, lang_eval_scope *s, lang_word w, lang_eval_value a,
                             lang_eval_value b) {
    bool row = a.row || b.row;
    uint32_t reg = lang_eval_new_register(c, s->block, LANG_EVAL_B8, row);
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_word_kernel(w, BASE_BOOL, BASE_BOOL, LANG_EVAL_B8);
    i->d = reg;
    i->a = a.reg;
    i->b = b.reg;
    i->rows = (uint8_t)((row ? LANG_EVAL_ROW_D : 0) | (a.row ? LANG_EVAL_ROW_A : 0) | (b.row ? LANG_EVAL_ROW_B : 0));
    return reg;
}

/* In BOUND mode a condition that is uncertain makes both sides count. */
lang_eval_scope *lang_eval_open_condition(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value cond,
                                          bool negate) {
    lang_eval_branch *branch = BASE_NEW(c->arena, lang_eval_branch);
    lang_eval_value test = {.reg = cond.reg, .row = cond.row};
    if (negate) {
        test.reg = lang_eval_emit_bool(c, s, LANG_NOT, test, (lang_eval_value){0});
    }
    if (cond.bound != 0) {
        test.reg = lang_eval_bound_possible(c, s, test, cond);
    }
    uint32_t mask = s->mask;
    if (cond.row) {
        mask = s->mask == 0 ? test.reg
                            : lang_eval_emit_bool(c, s, LANG_AND, test, (lang_eval_value){.reg = s->mask, .row = true});
    }
    lang_eval_scope *inner = lang_eval_open(c, s, &branch->yes);
    inner->enter = (lang_eval_ins){
        .op = cond.row ? LANG_EVAL_WHEN : LANG_EVAL_BRANCH, .a = cond.row ? mask : test.reg, .extra = branch};
    inner->conditional = true;
    inner->mask = mask;
    return inner;
}

/* One side of a choice, computed only where it counts, in a register that the choice's scope owns. */
static lang_eval_value emit_side(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value cond, bool negate,
                                 lang_ref r) {
    base_type t = (base_type)lang_at(c->program, r)->type;
    if (lang_at(c->program, r)->kind == LANG_CONST || lang_eval_hoistable(c, r)) {
        return lang_eval_emit(c, s, r);
    }
    lang_eval_scope *inner = lang_eval_open_condition(c, s, cond, negate);
    lang_eval_value v = lang_eval_emit(c, inner, r);
    lang_eval_value out = {.row = v.row};
    lang_eval_class k = lang_eval_value_class(v, t);
    out.reg = lang_eval_new_register(c, s->block, k, v.row);
    lang_eval_emit_copy(c, inner, out.reg, v.row, v.reg, v.row, k);
    if (v.bound != 0) {
        out.bound = lang_eval_new_register(c, s->block, LANG_EVAL_F64, v.row);
        lang_eval_emit_copy(c, inner, out.bound, v.row, v.bound, v.row, LANG_EVAL_F64);
    }
    lang_eval_close(c, inner, s);
    return out;
}

lang_eval_value lang_eval_emit_choice(lang_eval_compiler *c, lang_eval_scope *s, lang_eval_value cond, lang_ref a,
                                      lang_eval_value va, lang_ref b, base_type t) {
    if (a != 0) {
        va = emit_side(c, s, cond, false, a);
    }
    lang_eval_value vb = emit_side(c, s, cond, true, b);
    return emit_select(c, s, cond, va, vb, t);
}

/* a && b, a || b: b only where it counts, when it may fail or costs. */
static lang_eval_value emit_logic(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r) {
    const lang_program *p = c->program;
    lang_ref a = lang_operand(p, r, 0), b = lang_operand(p, r, 1);
    if (lang_at(p, b)->kind == LANG_CONST || lang_eval_hoistable(c, b)) {
        return emit_word(c, s, r);
    }
    bool is_or = lang_at(p, r)->code == LANG_OR;
    lang_eval_value va = lang_eval_emit(c, s, a);
    lang_eval_value fixed = {.reg = lang_eval_constant_register(c, BASE_BOOL, (base_value){.u = is_or})};
    lang_eval_value vb = emit_side(c, s, va, is_or, b);
    return is_or ? emit_select(c, s, va, fixed, vb, BASE_BOOL) : emit_select(c, s, va, vb, fixed, BASE_BOOL);
}

/* ---- nodes ---- */

static bool binds(const lang_eval_scope *s, uint64_t vars) {
    return (s->binds & vars) != 0;
}

/* The outermost scope where r may be computed for s. */
static lang_eval_scope *home_of(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r) {
    uint64_t vars = lang_at(c->program, r)->free;
    bool hoist = lang_eval_hoistable(c, r);
    while (s->parent != NULL && !binds(s, vars) && (hoist || !s->conditional)) {
        s = s->parent;
    }
    return s;
}

static bool within(const lang_eval_scope *outer, const lang_eval_scope *s) {
    while (s != NULL && s != outer) {
        s = s->parent;
    }
    return s != NULL;
}

static lang_eval_value emit_new(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    switch ((lang_kind)n->kind) {
    case LANG_READ:
        return lang_eval_emit_read(c, s, r);
    case LANG_REDUCE:
        return lang_eval_emit_reduce(c, s, r);
    default:
        break;
    }
    if (n->type == BASE_I64 && (c->options->mode == LANG_EVAL_EXACT || c->options->approximate[r] == 0)) {
        lang_eval_linear f;
        lang_eval_linear_of(c, r, &f);
        if (f.n != 1 || f.t[0].id != LANG_MAX_VARS + r) {
            return lang_eval_linear_value(c, s, &f);
        }
    }
    if (n->kind == LANG_WORD_ && n->code == LANG_IF) {
        lang_eval_value cond = lang_eval_emit(c, s, lang_operand(p, r, 0));
        return lang_eval_emit_choice(c, s, cond, lang_operand(p, r, 1), (lang_eval_value){0}, lang_operand(p, r, 2),
                                     (base_type)n->type);
    }
    if (n->kind == LANG_WORD_ && (n->code == LANG_AND || n->code == LANG_OR)) {
        return emit_logic(c, s, r);
    }
    return emit_word(c, s, r);
}

lang_eval_scope *lang_eval_home(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r) {
    return home_of(c, s, r);
}

lang_eval_value lang_eval_emit(lang_eval_compiler *c, lang_eval_scope *s, lang_ref r) {
    lang_eval_context *x = c->context;
    const lang_node *n = lang_at(c->program, r);
    if (n->kind == LANG_CONST) {
        return (lang_eval_value){.reg = lang_eval_constant_register(c, (base_type)n->type, n->value)};
    }
    for (const lang_eval_memo *m = x->memo[r]; m != NULL; m = m->next) {
        if (within(m->scope, s)) {
            return m->value;
        }
    }
    lang_eval_scope *home = home_of(c, s, r);
    lang_eval_value v = emit_new(c, home, r);
    lang_eval_touch(c, r);
    lang_eval_memo *m = BASE_NEW(x->arena, lang_eval_memo);
    *m = (lang_eval_memo){.scope = home, .value = v, .next = x->memo[r]};
    x->memo[r] = m;
    return v;
}

/* ---- stages ---- */

/* Points of the largest reduction outside other reductions; 0: none. */
static int64_t largest_domain(lang_eval_compiler *c, lang_ref r, unsigned *budget) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    int64_t most = 0;
    if ((lang_eval_flags(c, r) & LANG_EVAL_REDUCES) == 0 || *budget == 0) {
        return 0;
    }
    --*budget;
    if (n->kind == LANG_REDUCE) {
        most = 1;
        for (uint32_t k = 0; k + 3 < n->count; k++) {
            lang_eval_interval extent = lang_eval_range(c, lang_operand(p, lang_operand(p, r, k), 0));
            int64_t e = extent.known && extent.hi < 65536 ? extent.hi : 65536;
            most = most * e > 65536 ? 65536 : most * e;
        }
        return most;
    }
    for (uint32_t k = 0; k < n->count; k++) {
        lang_ref o = lang_operand(p, r, k);
        int64_t v = o != 0 ? largest_domain(c, o, budget) : 0;
        most = v > most ? v : most;
    }
    return most;
}

/* The trailing output variables that make a row; none where rows would be short and reductions long. */
static lang_eval_tile *choose_tile(lang_eval_compiler *c, const lang_stage *st, const int64_t *dim) {
    lang_eval_tile tile = {0};
    int64_t points = 1, inner = 1;
    uint32_t vars[LANG_MAX_RANK], n = 0;
    int64_t limit = c->options->tile_limit;
    for (uint32_t k = st->rank; k-- > 0;) {
        if (dim[k] == 0) {
            return NULL; /* nothing is ever run */
        }
        if ((c->options->given >> k & 1) == 0) {
            vars[n++] = k; /* innermost first */
        }
    }
    uint32_t count = 0;
    for (; count < n && count < LANG_EVAL_TILE_VARS; count++) {
        int64_t e = dim[vars[count]];
        if (count > 0 && inner * 2 > limit) {
            break;
        }
        points = e > limit / inner ? limit : inner * e;
        if (inner * e > limit) {
            count++;
            break;
        }
        inner *= e;
    }
    unsigned budget = 1000;
    int64_t domain = largest_domain(c, st->body, &budget);
    if (count == 0 || points <= 1 || (points < 24 && domain >= 2 * points)) {
        return NULL;
    }
    for (uint32_t k = 0; k < count; k++) {
        uint32_t v = vars[count - 1 - k];
        tile.var[k] = v;
        tile.extent[k] = dim[v];
        tile.vars |= (uint64_t)1 << v;
    }
    tile.count = count;
    lang_eval_tile *out = BASE_NEW(c->arena, lang_eval_tile);
    *out = tile;
    return out;
}

static void emit_stage(lang_eval_compiler *c, lang_eval_scope *root) {
    const lang_stage *st = c->stage;
    const int64_t *dim = c->options->dims[st->tensor];
    lang_eval_tile *tile = choose_tile(c, st, dim);
    uint64_t tiled = tile != NULL ? tile->vars : 0;
    lang_eval_scope *s = root;
    for (uint32_t k = 0; k < st->rank; k++) {
        if (((root->binds | tiled) >> k & 1) == 0) {
            s = lang_eval_open_loop(c, s, k, lang_eval_int_register(c, dim[k]), false);
        }
    }
    if (tile != NULL) {
        s = lang_eval_open_tiles(c, s, tile, lang_eval_int_register(c, tile->extent[0]), false, c->options->tile_limit);
    }
    lang_eval_value v = lang_eval_emit(c, s, st->body);
    lang_eval_emit_store(c, s, v, (base_type)lang_at(c->program, st->body)->type);
    lang_eval_close(c, s, root);
}

static void clear_tables(lang_eval_context *x) {
    for (size_t k = 0; k < x->touched.n; k++) {
        lang_ref r = x->touched.at[k];
        x->memo[r] = NULL;
        x->flags[r] = 0;
    }
    x->touched.n = 0;
}

lang_eval_stage *lang_eval_compile_stage(base_arena *arena, lang_eval_context *context, const lang_stage *st,
                                         lang_ref expression, const lang_eval_options *options, base_diags *d) {
    lang_eval_stage *out = BASE_NEW(arena, lang_eval_stage);
    lang_eval_compiler c = {
        .arena = arena, .context = context, .program = context->program, .stage = st, .options = options, .out = out};
    lang_ref body = st != NULL ? st->body : expression;
    if (context->depth[body] > LANG_EVAL_DEPTH) {
        base_error(d, st != NULL ? &st->place : NULL,
                   "%s: expressions are nested too deeply to evaluate (%u levels, at most %u)", context->program->name,
                   context->depth[body], LANG_EVAL_DEPTH);
        return NULL;
    }
    (void)BASE_PUSH(arena, &c.regs.list);
    out->stage = st;
    lang_eval_scope *root = lang_eval_open(&c, NULL, &out->body);
    root->binds = options->given;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        if ((options->given >> k & 1) != 0) {
            out->given[k] = lang_eval_new_register(&c, NULL, LANG_EVAL_I64, false);
        }
    }
    if (st != NULL) {
        emit_stage(&c, root);
    } else {
        out->result = lang_eval_new_register(&c, NULL, LANG_EVAL_I64, false);
        lang_eval_value v = lang_eval_emit(&c, root, expression);
        lang_eval_emit_copy(&c, root, out->result, false, v.reg, false, LANG_EVAL_I64);
    }
    clear_tables(context);
    lang_eval_place_registers(arena, out, &c.regs);
    return out;
}
