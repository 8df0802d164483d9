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

uint32_t eval_new_register(eval_compiler *c, const eval_block *owner, eval_class k, bool row) {
    uint32_t bytes = row ? (uint32_t)(eval_class_size(k) * LANG_ROW) : 8;
    *BASE_PUSH(c->arena, &c->regs.list) = (eval_register){.bytes = bytes, .owner = owner};
    return (uint32_t)(c->regs.list.n - 1);
}

eval_ins *eval_push(eval_compiler *c, eval_scope *s, eval_op op) {
    eval_ins *i = BASE_PUSH(c->arena, &s->block->code);
    memset(i, 0, sizeof *i);
    i->op = (uint8_t)op;
    return i;
}

uint32_t eval_constant_register(eval_compiler *c, base_type t, base_value v) {
    eval_class k = eval_class_of(t);
    for (size_t i = c->out->constants.n; i-- > 0 && c->out->constants.n - i < 64;) {
        const eval_constant *old = &c->out->constants.at[i];
        if (old->cls == k && old->value.u == v.u) {
            return old->reg;
        }
    }
    uint32_t reg = eval_new_register(c, NULL, k, false);
    *BASE_PUSH(c->arena, &c->out->constants) = (eval_constant){.reg = reg, .value = v, .cls = k};
    return reg;
}

uint32_t eval_int_register(eval_compiler *c, int64_t v) {
    return eval_constant_register(c, BASE_I64, (base_value){.i = v});
}

eval_scope *eval_open(eval_compiler *c, eval_scope *parent, eval_block *block) {
    eval_scope *s = BASE_NEW(c->arena, eval_scope);
    s->parent = parent;
    s->block = block;
    if (parent != NULL) {
        s->tile = parent->tile;
        s->tile_number = parent->tile_number;
        s->mask = parent->mask;
    }
    return s;
}

void eval_close(eval_compiler *c, eval_scope *s, const eval_scope *outer) {
    for (; s != outer; s = s->parent) {
        *BASE_PUSH(c->arena, &s->parent->block->code) = s->enter;
    }
}

/* ---- words ---- */

static bool may_leave_type(eval_compiler *c, lang_word w, lang_ref r) {
    static const lang_word leaving[] = {LANG_ADD, LANG_SUB, LANG_MUL, LANG_DIV,    LANG_TDIV, LANG_NEG,
                                        LANG_ABS, LANG_POW, LANG_SHL, LANG_BITNOT, LANG_CAST};
    const lang_node *n = lang_at(c->program, r);
    for (size_t k = 0; k < sizeof leaving / sizeof leaving[0]; k++) {
        if (leaving[k] == w) {
            if (w == LANG_CAST &&
                !base_type_is_int((base_type)lang_at(c->program, lang_operand(c->program, r, 0))->type)) {
                return false; /* floats saturate */
            }
            return eval_wrap_kernel((base_type)n->type) != NULL;
        }
    }
    return false;
}

/* A proof by ranges that the mathematical value stays in the type; eval_range gives the whole type where it does
 * not. */
static bool stays_in_type(eval_compiler *c, lang_ref r) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    eval_interval v[2] = {{0, 0, false}, {0, 0, true}};
    for (uint32_t k = 0; k < n->count && k < 2; k++) {
        v[k] = eval_range(c, lang_operand(p, r, k));
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

static eval_value emit_word(eval_compiler *c, eval_scope *s, lang_ref r) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    base_type t = (base_type)n->type;
    lang_ref a = lang_operand(p, r, 0), b = n->count > 1 ? lang_operand(p, r, 1) : 0;
    base_type ta = (base_type)lang_at(p, a)->type, tb = b != 0 ? (base_type)lang_at(p, b)->type : BASE_NONE;
    lang_word w = (lang_word)n->code;
    eval_value va = eval_emit(c, s, a), vb = {0};
    if (b != 0) {
        vb = eval_emit(c, s, b);
    }
    if (c->options->mode == LANG_EVAL_BOUND && c->options->approximate[r] != 0) {
        return eval_bound_word(c, s, r, va, vb);
    }
    eval_class k = eval_class_of(t), ka = eval_class_of(ta);
    eval_kernel run = eval_word_kernel(w, t, ta, b != 0 ? eval_class_of(tb) : k);
    bool wrap = may_leave_type(c, w, r) && !stays_in_type(c, r);
    if (run == eval_copy_kernel(k) && k == ka && !wrap) {
        return va; /* the same value in the same form */
    }
    eval_value v = {.row = va.row || vb.row};
    v.reg = eval_new_register(c, s->block, k, v.row);
    eval_ins *i = eval_push(c, s, EVAL_RUN);
    i->run = run;
    i->word = (uint8_t)w;
    i->type = (uint8_t)t;
    i->atype = (uint8_t)ta;
    i->cls = (uint8_t)k;
    i->acls = (uint8_t)ka;
    i->bcls = (uint8_t)(b != 0 ? eval_class_of(tb) : k);
    i->imm = (int64_t)base_type_bits(t);
    i->d = v.reg;
    i->a = va.reg;
    i->b = vb.reg;
    i->rows = (uint8_t)((v.row ? EVAL_ROW_D : 0) | (va.row ? EVAL_ROW_A : 0) | (vb.row ? EVAL_ROW_B : 0));
    if (wrap) {
        i = eval_push(c, s, EVAL_RUN);
        i->run = eval_wrap_kernel(t);
        i->d = v.reg;
        i->rows = v.row ? EVAL_ROW_D : 0;
    }
    return v;
}

/* ---- choices ---- */

static eval_value emit_select(eval_compiler *c, eval_scope *s, eval_value cond, eval_value a, eval_value b,
                              base_type t) {
    if (c->options->mode == LANG_EVAL_BOUND && (cond.bound != 0 || a.bound != 0 || b.bound != 0)) {
        return eval_bound_select(c, s, cond, a, b, t);
    }
    eval_class k = eval_class_of(t);
    eval_value v = {.row = cond.row || a.row || b.row};
    v.reg = eval_new_register(c, s->block, k, v.row);
    eval_ins *i = eval_push(c, s, EVAL_RUN);
    i->run = eval_select_kernel(k);
    i->d = v.reg;
    i->a = cond.reg;
    i->b = a.reg;
    i->c = b.reg;
    i->rows = (uint8_t)((v.row ? EVAL_ROW_D : 0) | (cond.row ? EVAL_ROW_A : 0) | (a.row ? EVAL_ROW_B : 0) |
                        (b.row ? EVAL_ROW_C : 0));
    return v;
}

void eval_emit_copy(eval_compiler *c, eval_scope *s, uint32_t to, bool row, uint32_t from, bool from_row,
                    eval_class k) {
    eval_ins *i = eval_push(c, s, EVAL_RUN);
    i->run = eval_copy_kernel(k);
    i->d = to;
    i->a = from;
    i->rows = (uint8_t)((row ? EVAL_ROW_D : 0) | (from_row ? EVAL_ROW_A : 0));
}

uint32_t eval_emit_bool(eval_compiler *c, eval_scope *s, lang_word w, eval_value a, eval_value b) {
    bool row = a.row || b.row;
    uint32_t reg = eval_new_register(c, s->block, EVAL_B8, row);
    eval_ins *i = eval_push(c, s, EVAL_RUN);
    i->run = eval_word_kernel(w, BASE_BOOL, BASE_BOOL, EVAL_B8);
    i->d = reg;
    i->a = a.reg;
    i->b = b.reg;
    i->rows = (uint8_t)((row ? EVAL_ROW_D : 0) | (a.row ? EVAL_ROW_A : 0) | (b.row ? EVAL_ROW_B : 0));
    return reg;
}

/* In BOUND mode a condition that is uncertain makes both sides count. */
eval_scope *eval_open_condition(eval_compiler *c, eval_scope *s, eval_value cond, bool negate) {
    eval_branch *branch = BASE_NEW(c->arena, eval_branch);
    eval_value test = {.reg = cond.reg, .row = cond.row};
    if (negate) {
        test.reg = eval_emit_bool(c, s, LANG_NOT, test, (eval_value){0});
    }
    if (cond.bound != 0) {
        test.reg = eval_bound_possible(c, s, test, cond);
    }
    uint32_t mask = s->mask;
    if (cond.row) {
        mask =
            s->mask == 0 ? test.reg : eval_emit_bool(c, s, LANG_AND, test, (eval_value){.reg = s->mask, .row = true});
    }
    eval_scope *inner = eval_open(c, s, &branch->yes);
    inner->enter =
        (eval_ins){.op = cond.row ? EVAL_WHEN : EVAL_BRANCH, .a = cond.row ? mask : test.reg, .extra = branch};
    inner->conditional = true;
    inner->mask = mask;
    return inner;
}

/* One side of a choice, computed only where it counts, in a register that the choice's scope owns. */
static eval_value emit_side(eval_compiler *c, eval_scope *s, eval_value cond, bool negate, lang_ref r) {
    base_type t = (base_type)lang_at(c->program, r)->type;
    if (lang_at(c->program, r)->kind == LANG_CONST || eval_hoistable(c, r)) {
        return eval_emit(c, s, r);
    }
    eval_scope *inner = eval_open_condition(c, s, cond, negate);
    eval_value v = eval_emit(c, inner, r);
    eval_value out = {.row = v.row};
    eval_class k = eval_value_class(v, t);
    out.reg = eval_new_register(c, s->block, k, v.row);
    eval_emit_copy(c, inner, out.reg, v.row, v.reg, v.row, k);
    if (v.bound != 0) {
        out.bound = eval_new_register(c, s->block, EVAL_F64, v.row);
        eval_emit_copy(c, inner, out.bound, v.row, v.bound, v.row, EVAL_F64);
    }
    eval_close(c, inner, s);
    return out;
}

eval_value eval_emit_choice(eval_compiler *c, eval_scope *s, eval_value cond, lang_ref a, eval_value va, lang_ref b,
                            base_type t) {
    if (a != 0) {
        va = emit_side(c, s, cond, false, a);
    }
    eval_value vb = emit_side(c, s, cond, true, b);
    return emit_select(c, s, cond, va, vb, t);
}

/* a && b, a || b: b only where it counts, when it may fail or costs. */
static eval_value emit_logic(eval_compiler *c, eval_scope *s, lang_ref r) {
    const lang_program *p = c->program;
    lang_ref a = lang_operand(p, r, 0), b = lang_operand(p, r, 1);
    if (lang_at(p, b)->kind == LANG_CONST || eval_hoistable(c, b)) {
        return emit_word(c, s, r);
    }
    bool is_or = lang_at(p, r)->code == LANG_OR;
    eval_value va = eval_emit(c, s, a);
    eval_value fixed = {.reg = eval_constant_register(c, BASE_BOOL, (base_value){.u = is_or})};
    eval_value vb = emit_side(c, s, va, is_or, b);
    return is_or ? emit_select(c, s, va, fixed, vb, BASE_BOOL) : emit_select(c, s, va, vb, fixed, BASE_BOOL);
}

/* ---- nodes ---- */

static bool binds(const eval_scope *s, uint64_t vars) {
    return (s->binds & vars) != 0;
}

/* The outermost scope where r may be computed for s. */
static eval_scope *home_of(eval_compiler *c, eval_scope *s, lang_ref r) {
    uint64_t vars = lang_at(c->program, r)->free;
    bool hoist = eval_hoistable(c, r);
    while (s->parent != NULL && !binds(s, vars) && (hoist || !s->conditional)) {
        s = s->parent;
    }
    return s;
}

static bool within(const eval_scope *outer, const eval_scope *s) {
    while (s != NULL && s != outer) {
        s = s->parent;
    }
    return s != NULL;
}

static eval_value emit_new(eval_compiler *c, eval_scope *s, lang_ref r) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    switch ((lang_kind)n->kind) {
    case LANG_READ:
        return eval_emit_read(c, s, r);
    case LANG_REDUCE:
        return eval_emit_reduce(c, s, r);
    default:
        break;
    }
    if (n->type == BASE_I64 && (c->options->mode == LANG_EVAL_EXACT || c->options->approximate[r] == 0)) {
        eval_linear f;
        eval_linear_of(c, r, &f);
        if (f.n != 1 || f.t[0].id != LANG_MAX_VARS + r) {
            return eval_linear_value(c, s, &f);
        }
    }
    if (n->kind == LANG_WORD_ && n->code == LANG_IF) {
        eval_value cond = eval_emit(c, s, lang_operand(p, r, 0));
        return eval_emit_choice(c, s, cond, lang_operand(p, r, 1), (eval_value){0}, lang_operand(p, r, 2),
                                (base_type)n->type);
    }
    if (n->kind == LANG_WORD_ && (n->code == LANG_AND || n->code == LANG_OR)) {
        return emit_logic(c, s, r);
    }
    return emit_word(c, s, r);
}

eval_scope *eval_home(eval_compiler *c, eval_scope *s, lang_ref r) {
    return home_of(c, s, r);
}

eval_value eval_emit(eval_compiler *c, eval_scope *s, lang_ref r) {
    eval_context *x = c->context;
    const lang_node *n = lang_at(c->program, r);
    if (n->kind == LANG_CONST) {
        return (eval_value){.reg = eval_constant_register(c, (base_type)n->type, n->value)};
    }
    for (const eval_memo *m = x->memo[r]; m != NULL; m = m->next) {
        if (within(m->scope, s)) {
            return m->value;
        }
    }
    eval_scope *home = home_of(c, s, r);
    eval_value v = emit_new(c, home, r);
    eval_touch(c, r);
    eval_memo *m = BASE_NEW(x->arena, eval_memo);
    *m = (eval_memo){.scope = home, .value = v, .next = x->memo[r]};
    x->memo[r] = m;
    return v;
}

/* ---- stages ---- */

/* Points of the largest reduction outside other reductions; 0: none. */
static int64_t largest_domain(eval_compiler *c, lang_ref r, unsigned *budget) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, r);
    int64_t most = 0;
    if ((eval_flags(c, r) & EVAL_REDUCES) == 0 || *budget == 0) {
        return 0;
    }
    --*budget;
    if (n->kind == LANG_REDUCE) {
        most = 1;
        for (uint32_t k = 0; k + 3 < n->count; k++) {
            eval_interval extent = eval_range(c, lang_operand(p, lang_operand(p, r, k), 0));
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
static eval_tile *choose_tile(eval_compiler *c, const lang_stage *st, const int64_t *dim) {
    eval_tile tile = {0};
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
    for (; count < n && count < EVAL_TILE_VARS; count++) {
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
    eval_tile *out = BASE_NEW(c->arena, eval_tile);
    *out = tile;
    return out;
}

static void emit_stage(eval_compiler *c, eval_scope *root) {
    const lang_stage *st = c->stage;
    const int64_t *dim = c->options->dims[st->tensor];
    eval_tile *tile = choose_tile(c, st, dim);
    uint64_t tiled = tile != NULL ? tile->vars : 0;
    eval_scope *s = root;
    for (uint32_t k = 0; k < st->rank; k++) {
        if (((root->binds | tiled) >> k & 1) == 0) {
            s = eval_open_loop(c, s, k, eval_int_register(c, dim[k]), false);
        }
    }
    if (tile != NULL) {
        s = eval_open_tiles(c, s, tile, eval_int_register(c, tile->extent[0]), false, c->options->tile_limit);
    }
    eval_value v = eval_emit(c, s, st->body);
    eval_emit_store(c, s, v, (base_type)lang_at(c->program, st->body)->type);
    eval_close(c, s, root);
}

static void clear_tables(eval_context *x) {
    for (size_t k = 0; k < x->touched.n; k++) {
        lang_ref r = x->touched.at[k];
        x->memo[r] = NULL;
        x->flags[r] = 0;
    }
    x->touched.n = 0;
}

eval_stage *eval_compile_stage(base_arena *arena, eval_context *context, const lang_stage *st, lang_ref expression,
                               const eval_options *options, base_diags *d) {
    eval_stage *out = BASE_NEW(arena, eval_stage);
    eval_compiler c = {
        .arena = arena, .context = context, .program = context->program, .stage = st, .options = options, .out = out};
    lang_ref body = st != NULL ? st->body : expression;
    if (context->depth[body] > EVAL_DEPTH) {
        base_error(d, st != NULL ? &st->place : NULL,
                   "%s: expressions are nested too deeply to evaluate (%u levels, at most %u)", context->program->name,
                   context->depth[body], EVAL_DEPTH);
        return NULL;
    }
    (void)BASE_PUSH(arena, &c.regs.list);
    out->stage = st;
    eval_scope *root = eval_open(&c, NULL, &out->body);
    root->binds = options->given;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        if ((options->given >> k & 1) != 0) {
            out->given[k] = eval_new_register(&c, NULL, EVAL_I64, false);
        }
    }
    if (st != NULL) {
        emit_stage(&c, root);
    } else {
        out->result = eval_new_register(&c, NULL, EVAL_I64, false);
        eval_value v = eval_emit(&c, root, expression);
        eval_emit_copy(&c, root, out->result, false, v.reg, false, EVAL_I64);
    }
    clear_tables(context);
    eval_place_registers(arena, out, &c.regs);
    return out;
}
