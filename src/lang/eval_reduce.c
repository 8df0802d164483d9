/* eval_reduce.c - code for reductions.
 *
 * Takes a reduction and the scope of its value. Gives loops around a row of accumulators where the value is a row; else
 * the trailing variables of the reduction itself become a row that is closed in ascending order, so that float sums are
 * the sequential sum exactly. Guards become branches (scalar) or masks (rows), conjunct by conjunct from the left.
 */
#include "lang/eval_compile.h"

#include <assert.h>

lang_eval_scope *lang_eval_open_loop(lang_eval_compiler *c, lang_eval_scope *s, uint32_t var, uint32_t extent,
                                     bool may_be_empty) {
    lang_eval_loop *loop = BASE_NEW(c->arena, lang_eval_loop);
    lang_eval_scope *inner = lang_eval_open(c, s, &loop->body);
    loop->extent = extent;
    loop->var = lang_eval_new_register(c, s->block, LANG_EVAL_I64, false);
    inner->loop = loop;
    inner->var = var;
    inner->var_reg = loop->var;
    inner->binds = (uint64_t)1 << var;
    inner->conditional = may_be_empty;
    inner->enter = (lang_eval_ins){.op = LANG_EVAL_LOOP, .extra = loop};
    return inner;
}

lang_eval_scope *lang_eval_open_tiles(lang_eval_compiler *c, lang_eval_scope *s, const lang_eval_tile *tile,
                                      uint32_t extent, bool may_be_empty, uint32_t limit) {
    lang_eval_tiles *tiles = BASE_NEW(c->arena, lang_eval_tiles);
    lang_eval_scope *inner = lang_eval_open(c, s, &tiles->body);
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
    inner->enter = (lang_eval_ins){.op = LANG_EVAL_TILES, .extra = tiles};
    return inner;
}

typedef struct reduction {
    lang_eval_compiler *c;
    const lang_node *node;
    lang_ref ref, guard, body, otherwise;
    uint32_t vars;
    base_type type;
    lang_reduction op;
    bool row; /* the value is a row of the tile in force */
    bool never_empty;
    lang_eval_value value, seen; /* accumulators; seen.reg 0: not needed */
    bool bound;                  /* with bounds: these instead */
    bool wants_seen;
    lang_eval_fold fold, fold_seen;
    lang_eval_value doubt; /* the guard is uncertain where its bound > 0 */
    lang_eval_scope *home;
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
static lang_eval_value emit_extent(reduction *r, lang_eval_scope *s, uint32_t k) {
    lang_eval_compiler *c = r->c;
    lang_eval_value extent = lang_eval_emit(c, s, extent_of(r, k));
    if (r->bound && extent.bound != 0) {
        lang_eval_bound_doubt(c, s, &r->fold, extent);
        if (r->wants_seen) {
            lang_eval_bound_doubt(c, s, &r->fold_seen, extent);
        }
    }
    return extent;
}

/* A loop over variable k. An extent that is a row runs to the largest, points beyond their own masked. */
static lang_eval_scope *open_variable(reduction *r, lang_eval_scope *s, uint32_t k) {
    lang_eval_compiler *c = r->c;
    uint32_t var = lang_at(c->program, variable(r, k))->index;
    lang_eval_value extent = emit_extent(r, s, k);
    int64_t e = 0;
    bool may_be_empty = !constant_extent(r, k, &e) || e <= 0;
    if (!extent.row) {
        return lang_eval_open_loop(c, s, var, extent.reg, may_be_empty);
    }
    uint32_t most = lang_eval_new_register(c, s->block, LANG_EVAL_I64, false);
    lang_eval_ins *i = lang_eval_push(c, s, LANG_EVAL_RUN);
    i->run = lang_eval_row_max;
    i->d = most;
    i->a = extent.reg;
    i->rows = LANG_EVAL_ROW_D | LANG_EVAL_ROW_A;
    lang_eval_scope *inner = lang_eval_open_loop(c, s, var, most, true);
    lang_eval_value live = {.reg = lang_eval_new_register(c, inner->block, LANG_EVAL_B8, true), .row = true};
    i = lang_eval_push(c, inner, LANG_EVAL_RUN);
    i->run = lang_eval_word_kernel(LANG_LT, BASE_BOOL, BASE_I64, LANG_EVAL_I64);
    i->d = live.reg;
    i->a = inner->var_reg;
    i->b = extent.reg;
    i->rows = LANG_EVAL_ROW_D | LANG_EVAL_ROW_B;
    return lang_eval_open_condition(c, inner, live, false);
}

/* Opens the conjuncts of the guard, left to right. */
static lang_eval_scope *open_guard(reduction *r, lang_eval_scope *s, lang_ref guard) {
    lang_eval_compiler *c = r->c;
    const lang_node *n = lang_at(c->program, guard);
    if (n->kind == LANG_WORD_ && n->code == LANG_AND) {
        s = open_guard(r, s, lang_operand(c->program, guard, 0));
        return open_guard(r, s, lang_operand(c->program, guard, 1));
    }
    lang_eval_value v = lang_eval_emit(c, s, guard);
    r->doubt = lang_eval_bound_worse(c, s, r->doubt, v);
    return lang_eval_open_condition(c, s, v, false);
}

/* ---- accumulators ---- */

static base_value start_value(const reduction *r) {
    if (r->op == LANG_FIRST || r->op == LANG_LAST) {
        return (base_value){.u = 0};
    }
    return lang_identity(r->op, r->type);
}

static void init_accumulator(reduction *r) {
    lang_eval_compiler *c = r->c;
    r->wants_seen = !r->never_empty && r->otherwise != 0;
    if (r->bound) {
        r->fold = lang_eval_bound_fold_start(c, r->home, r->op, r->type, r->row);
        if (r->wants_seen) {
            r->fold_seen = lang_eval_bound_fold_start(c, r->home, LANG_ANY, BASE_BOOL, r->row);
        }
        return;
    }
    lang_eval_class k = lang_eval_class_of(r->type);
    r->value.row = r->row;
    r->value.reg = lang_eval_new_register(c, r->home->block, k, r->row);
    lang_eval_emit_copy(c, r->home, r->value.reg, r->row, lang_eval_constant_register(c, r->type, start_value(r)),
                        false, k);
    if (r->wants_seen || r->op == LANG_FIRST || r->op == LANG_LAST) {
        r->seen.row = r->row;
        r->seen.reg = lang_eval_new_register(c, r->home->block, LANG_EVAL_B8, r->row);
        lang_eval_emit_copy(c, r->home, r->seen.reg, r->row,
                            lang_eval_constant_register(c, BASE_BOOL, (base_value){.u = 0}), false, LANG_EVAL_B8);
    }
}

static void emit_fold(reduction *r, lang_eval_scope *s, lang_reduction op, base_type t, uint32_t d, lang_eval_value a,
                      uint32_t seen) {
    lang_eval_ins *i = lang_eval_push(r->c, s, LANG_EVAL_RUN);
    i->run = r->row ? lang_eval_accumulate_kernel(op, t) : lang_eval_close_kernel(op, t);
    i->type = (uint8_t)t;
    i->cls = (uint8_t)lang_eval_class_of(t);
    i->imm = op;
    i->d = d;
    i->a = a.reg;
    i->b = s->mask;
    i->c = seen;
    i->rows = (uint8_t)(LANG_EVAL_ROW_D | (a.row ? LANG_EVAL_ROW_A : 0));
}

static void emit_body(reduction *r, lang_eval_scope *s) {
    lang_eval_compiler *c = r->c;
    lang_eval_value v = lang_eval_emit(c, s, r->body);
    bool ordered = r->op == LANG_FIRST || r->op == LANG_LAST;
    lang_eval_value yes = {.reg = lang_eval_constant_register(c, BASE_BOOL, (base_value){.u = 1})};
    if (r->bound) {
        lang_eval_bound_fold(c, s, &r->fold, v, r->doubt);
        if (r->wants_seen) {
            lang_eval_bound_fold(c, s, &r->fold_seen, yes, r->doubt);
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
        lang_eval_bound_fold_end(r->c, r->home, &r->fold);
        r->value = r->fold.value;
        r->seen = r->fold_seen.value;
    }
    lang_eval_kernel wrap = lang_eval_wrap_kernel(r->type);
    if (wrap != NULL && (r->op == LANG_SUM || r->op == LANG_PROD)) {
        lang_eval_ins *i = lang_eval_push(r->c, r->home, LANG_EVAL_RUN);
        i->run = wrap;
        i->d = r->value.reg;
        i->rows = r->row ? LANG_EVAL_ROW_D : 0;
    }
}

/* ---- the two ways ---- */

static void reduce_rows(reduction *r) {
    lang_eval_scope *s = r->home;
    for (uint32_t k = 0; k < r->vars; k++) {
        s = open_variable(r, s, k);
    }
    if (r->guard != 0) {
        s = open_guard(r, s, r->guard);
    }
    emit_body(r, s);
    lang_eval_close(r->c, s, r->home);
}

/* The first variable of the reduction's own tile. Its inner ones have constant extents. */
static uint32_t tile_start(const reduction *r) {
    uint32_t k = r->vars - 1;
    int64_t inner = 1, e = 0;
    while (k > 0 && r->vars - k < LANG_EVAL_TILE_VARS && constant_extent(r, k, &e) && e > 0 &&
           inner * e <= LANG_ROW / 2) {
        inner *= e;
        k--;
    }
    return k;
}

static void reduce_closing(reduction *r) {
    lang_eval_compiler *c = r->c;
    lang_eval_scope *s = r->home;
    uint32_t from = tile_start(r);
    for (uint32_t k = 0; k < from; k++) {
        s = open_variable(r, s, k);
    }
    lang_eval_tile *tile = BASE_NEW(c->arena, lang_eval_tile);
    tile->count = r->vars - from;
    bool may_be_empty = false;
    for (uint32_t k = from; k < r->vars; k++) {
        uint32_t at = k - from;
        tile->var[at] = lang_at(c->program, variable(r, k))->index;
        may_be_empty = !constant_extent(r, k, &tile->extent[at]) || tile->extent[at] <= 0 || may_be_empty;
        tile->vars |= (uint64_t)1 << tile->var[at];
    }
    lang_eval_value extent = emit_extent(r, s, from);
    s = lang_eval_open_tiles(c, s, tile, extent.reg, may_be_empty, LANG_ROW);
    if (r->guard != 0) {
        s = open_guard(r, s, r->guard);
    }
    emit_body(r, s);
    lang_eval_close(c, s, r->home);
}

lang_eval_value lang_eval_emit_reduce(lang_eval_compiler *c, lang_eval_scope *s, lang_ref ref) {
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
        return lang_eval_emit_choice(c, s, r.seen, 0, r.value, r.otherwise, r.type);
    }
    return r.value;
}
