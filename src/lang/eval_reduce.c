/* eval_reduce.c - code for reductions.
 *
 * Takes a reduction and the scope of its value. Gives loops around a row of accumulators where the value is a row; else
 * the trailing variables of the reduction itself become a row that is closed in ascending order, so that float sums are
 * the sequential sum exactly. Guards become branches (scalar) or masks (rows), conjunct by conjunct from the left.
 */
#include "lang/eval_compile.h"

#include <assert.h>

eval_scope *eval_open_loop(eval_compiler *c, eval_scope *s, uint32_t var, uint32_t extent, bool may_be_empty) {
    eval_loop *loop = BASE_NEW(c->arena, eval_loop);
    eval_scope *inner = eval_open(c, s, &loop->body);
    loop->extent = extent;
    loop->var = eval_new_register(c, s->block, EVAL_I64, false);
    inner->loop = loop;
    inner->var = var;
    inner->var_reg = loop->var;
    inner->binds = (uint64_t)1 << var;
    inner->conditional = may_be_empty;
    inner->enter = (eval_ins){.op = EVAL_LOOP, .extra = loop};
    return inner;
}

eval_scope *eval_open_tiles(eval_compiler *c, eval_scope *s, const eval_tile *tile, uint32_t extent, bool may_be_empty,
                            uint32_t limit) {
    eval_tiles *tiles = BASE_NEW(c->arena, eval_tiles);
    eval_scope *inner = eval_open(c, s, &tiles->body);
    tiles->tile = c->out->tile_count++;
    tiles->extent = extent;
    tiles->inner = 1;
    for (uint32_t k = 1; k < tile->count; k++) {
        tiles->inner *= tile->extent[k];
    }
    tiles->limit = tiles->inner > 0 && limit / tiles->inner > 1 ? (int64_t)limit / tiles->inner : 1;
    inner->tile = tile;
    inner->tile_number = tiles->tile;
    inner->mask = 0;
    inner->binds = tile->vars;
    inner->conditional = may_be_empty;
    inner->enter = (eval_ins){.op = EVAL_TILES, .extra = tiles};
    return inner;
}

typedef struct reduction {
    eval_compiler *c;
    const lang_node *node;
    lang_ref ref, guard, body, otherwise;
    uint32_t vars;
    base_type type;
    lang_reduction op;
    bool row; /* the value is a row of the tile in force */
    bool never_empty;
    eval_value value, seen; /* accumulators; seen.reg 0: not needed */
    bool bound;             /* with bounds: these instead */
    bool wants_seen;
    eval_fold fold, fold_seen;
    eval_value doubt; /* the guard is uncertain where its bound > 0 */
    eval_scope *home;
} reduction;

static lang_ref variable(const reduction *r, uint32_t k) {
    return lang_operand(r->c->program, r->ref, k);
}

static lang_ref extent_of(const reduction *r, uint32_t k) {
    return lang_operand(r->c->program, variable(r, k), 0);
}

static bool constant_extent(const reduction *r, uint32_t k, int64_t *e) {
    const lang_node *n = lang_at(r->c->program, extent_of(r, k));
    if (n->kind == LANG_CONST) {
        *e = n->value.i;
    }
    return n->kind == LANG_CONST;
}

/* ---- loops ---- */

/* The extent of variable k. One that is uncertain leaves nothing known of the result. */
static eval_value emit_extent(reduction *r, eval_scope *s, uint32_t k) {
    eval_compiler *c = r->c;
    eval_value extent = eval_emit(c, s, extent_of(r, k));
    if (r->bound && extent.bound != 0) {
        eval_bound_doubt(c, s, &r->fold, extent);
        if (r->wants_seen) {
            eval_bound_doubt(c, s, &r->fold_seen, extent);
        }
    }
    return extent;
}

/* A loop over variable k. An extent that is a row runs to the largest, points beyond their own masked. */
static eval_scope *open_variable(reduction *r, eval_scope *s, uint32_t k) {
    eval_compiler *c = r->c;
    uint32_t var = lang_at(c->program, variable(r, k))->index;
    eval_value extent = emit_extent(r, s, k);
    int64_t e = 0;
    bool may_be_empty = !constant_extent(r, k, &e) || e <= 0;
    if (!extent.row) {
        return eval_open_loop(c, s, var, extent.reg, may_be_empty);
    }
    uint32_t most = eval_new_register(c, s->block, EVAL_I64, false);
    eval_ins *i = eval_push(c, s, EVAL_RUN);
    i->run = eval_row_max;
    i->d = most;
    i->a = extent.reg;
    i->rows = EVAL_ROW_D | EVAL_ROW_A;
    eval_scope *inner = eval_open_loop(c, s, var, most, true);
    eval_value live = {.reg = eval_new_register(c, inner->block, EVAL_B8, true), .row = true};
    i = eval_push(c, inner, EVAL_RUN);
    i->run = eval_word_kernel(LANG_LT, BASE_BOOL, BASE_I64, EVAL_I64);
    i->d = live.reg;
    i->a = inner->var_reg;
    i->b = extent.reg;
    i->rows = EVAL_ROW_D | EVAL_ROW_B;
    return eval_open_condition(c, inner, live, false);
}

/* Opens the conjuncts of the guard, left to right. */
static eval_scope *open_guard(reduction *r, eval_scope *s, lang_ref guard) {
    eval_compiler *c = r->c;
    const lang_node *n = lang_at(c->program, guard);
    if (n->kind == LANG_WORD_ && n->code == LANG_AND) {
        s = open_guard(r, s, lang_operand(c->program, guard, 0));
        return open_guard(r, s, lang_operand(c->program, guard, 1));
    }
    eval_value v = eval_emit(c, s, guard);
    r->doubt = eval_bound_worse(c, s, r->doubt, v);
    return eval_open_condition(c, s, v, false);
}

/* ---- accumulators ---- */

static base_value start_value(const reduction *r) {
    if (r->op == LANG_FIRST || r->op == LANG_LAST) {
        return (base_value){.u = 0};
    }
    return lang_identity(r->op, r->type);
}

static void init_accumulator(reduction *r) {
    eval_compiler *c = r->c;
    r->wants_seen = !r->never_empty && r->otherwise != 0;
    if (r->bound) {
        r->fold = eval_bound_fold_start(c, r->home, r->op, r->type, r->row);
        if (r->wants_seen) {
            r->fold_seen = eval_bound_fold_start(c, r->home, LANG_ANY, BASE_BOOL, r->row);
        }
        return;
    }
    eval_class k = eval_class_of(r->type);
    r->value.row = r->row;
    r->value.reg = eval_new_register(c, r->home->block, k, r->row);
    eval_emit_copy(c, r->home, r->value.reg, r->row, eval_constant_register(c, r->type, start_value(r)), false, k);
    if (r->wants_seen || r->op == LANG_FIRST || r->op == LANG_LAST) {
        r->seen.row = r->row;
        r->seen.reg = eval_new_register(c, r->home->block, EVAL_B8, r->row);
        eval_emit_copy(c, r->home, r->seen.reg, r->row, eval_constant_register(c, BASE_BOOL, (base_value){.u = 0}),
                       false, EVAL_B8);
    }
}

static void emit_fold(reduction *r, eval_scope *s, lang_reduction op, base_type t, uint32_t d, eval_value a,
                      uint32_t seen) {
    eval_ins *i = eval_push(r->c, s, EVAL_RUN);
    i->run = r->row ? eval_accumulate_kernel(op, t) : eval_close_kernel(op, t);
    i->type = (uint8_t)t;
    i->cls = (uint8_t)eval_class_of(t);
    i->imm = op;
    i->d = d;
    i->a = a.reg;
    i->b = s->mask;
    i->c = seen;
    i->rows = (uint8_t)(EVAL_ROW_D | (a.row ? EVAL_ROW_A : 0));
}

static void emit_body(reduction *r, eval_scope *s) {
    eval_compiler *c = r->c;
    eval_value v = eval_emit(c, s, r->body);
    bool ordered = r->op == LANG_FIRST || r->op == LANG_LAST;
    eval_value yes = {.reg = eval_constant_register(c, BASE_BOOL, (base_value){.u = 1})};
    if (r->bound) {
        eval_bound_fold(c, s, &r->fold, v, r->doubt);
        if (r->wants_seen) {
            eval_bound_fold(c, s, &r->fold_seen, yes, r->doubt);
        }
        return;
    }
    emit_fold(r, s, r->op, r->type, r->value.reg, v, ordered ? r->seen.reg : 0);
    if (r->seen.reg != 0 && !ordered) {
        emit_fold(r, s, LANG_ANY, BASE_BOOL, r->seen.reg, yes, 0);
    }
}

/* Narrow integer sums and products are exact modulo the wider class: wrapped once. */
static void finish(reduction *r) {
    if (r->bound) {
        eval_bound_fold_end(r->c, r->home, &r->fold);
        r->value = r->fold.value;
        r->seen = r->fold_seen.value;
    }
    eval_kernel wrap = eval_wrap_kernel(r->type);
    if (wrap != NULL && (r->op == LANG_SUM || r->op == LANG_PROD)) {
        eval_ins *i = eval_push(r->c, r->home, EVAL_RUN);
        i->run = wrap;
        i->d = r->value.reg;
        i->rows = r->row ? EVAL_ROW_D : 0;
    }
}

/* ---- the two ways ---- */

static void reduce_rows(reduction *r) {
    eval_scope *s = r->home;
    for (uint32_t k = 0; k < r->vars; k++) {
        s = open_variable(r, s, k);
    }
    if (r->guard != 0) {
        s = open_guard(r, s, r->guard);
    }
    emit_body(r, s);
    eval_close(r->c, s, r->home);
}

/* The first variable of the reduction's own tile. Its inner ones have constant extents. */
static uint32_t tile_start(const reduction *r) {
    uint32_t k = r->vars - 1;
    int64_t inner = 1, e = 0;
    while (k > 0 && r->vars - k < EVAL_TILE_VARS && constant_extent(r, k, &e) && e > 0 && inner * e <= LANG_ROW / 2) {
        inner *= e;
        k--;
    }
    return k;
}

static void reduce_closing(reduction *r) {
    eval_compiler *c = r->c;
    eval_scope *s = r->home;
    uint32_t from = tile_start(r);
    for (uint32_t k = 0; k < from; k++) {
        s = open_variable(r, s, k);
    }
    eval_tile *tile = BASE_NEW(c->arena, eval_tile);
    tile->count = r->vars - from;
    bool may_be_empty = false;
    for (uint32_t k = from; k < r->vars; k++) {
        uint32_t at = k - from;
        tile->var[at] = lang_at(c->program, variable(r, k))->index;
        may_be_empty = !constant_extent(r, k, &tile->extent[at]) || tile->extent[at] <= 0 || may_be_empty;
        tile->vars |= (uint64_t)1 << tile->var[at];
    }
    eval_value extent = emit_extent(r, s, from);
    s = eval_open_tiles(c, s, tile, extent.reg, may_be_empty, LANG_ROW);
    if (r->guard != 0) {
        s = open_guard(r, s, r->guard);
    }
    emit_body(r, s);
    eval_close(c, s, r->home);
}

eval_value eval_emit_reduce(eval_compiler *c, eval_scope *s, lang_ref ref) {
    const lang_program *p = c->program;
    const lang_node *n = lang_at(p, ref);
    reduction r = {.c = c,
                   .node = n,
                   .ref = ref,
                   .vars = n->count - 3,
                   .guard = lang_operand(p, ref, n->count - 3),
                   .body = lang_operand(p, ref, n->count - 2),
                   .otherwise = lang_operand(p, ref, n->count - 1),
                   .type = (base_type)n->type,
                   .op = (lang_reduction)n->code,
                   .row = s->tile != NULL && (n->free & s->tile->vars) != 0,
                   .home = s};
    r.bound = c->options->mode == LANG_EVAL_BOUND && c->options->approximate[ref] != 0;
    r.never_empty = r.guard == 0;
    for (uint32_t k = 0; k < r.vars; k++) {
        int64_t e = 0;
        r.never_empty = constant_extent(&r, k, &e) && e > 0 && r.never_empty;
    }
    init_accumulator(&r);
    if (r.row) {
        reduce_rows(&r);
    } else {
        reduce_closing(&r);
    }
    finish(&r);
    if (r.otherwise != 0 && !r.never_empty) {
        return eval_emit_choice(c, s, r.seen, 0, r.value, r.otherwise, r.type);
    }
    return r.value;
}
