/* emit_window.c - one channel after the other, its points rolling along a row.
 *
 * Takes a contraction without a shared factor, whose points along one output variable m read windows that overlap: A's
 * address moves by as much for m as for a whole number of steps of one reduction variable. Gives loops in which each
 * element of A is loaded once a row: with each column of the window those accumulators grow that it belongs to, the
 * first is a finished point, and the others move up. Weights and first sums of the channel are in registers. What is
 * outside the tensor is a constant, so that rows at borders are instances with fewer rows of the window. Decided on
 * addresses alone.
 */
#include <inttypes.h>
#include <string.h>

#include "targets/c/contract.h"

enum { MAX_TAPS = 16, MAX_WEIGHTS = 32, MAX_COLUMNS = 8, MAX_INSTANCES = 3, MAX_SINGLE = 5, MAX_ROWS = 65536 };

typedef struct c_window {
    c_tile *t;
    uint32_t k_at;           /* the reduction variable along the row: place in t->k */
    int64_t stride, columns; /* columns from point to point; in a window */
    int64_t low, high;       /* columns that are in the tensor, counted from the first of point 0 */
    uint32_t border;         /* the output variable whose values decide which taps are inside; C_NO_VAR: none */
    uint32_t taps;           /* of a column */
    int64_t tap_a[MAX_TAPS], tap_w[MAX_TAPS];
    int64_t tap_index[MAX_TAPS][C_MAX_K];
    int64_t first, end;         /* points whose new columns are all inside */
    const char *weight, *begin; /* names: what weights begin with; where an accumulator starts */
    const char *pointer;
    int64_t at; /* the column that the pointer is at, before and behind the loop */
} c_window;

static int64_t floor_div(int64_t a, int64_t b) { /* b > 0 */
    return a / b - (a % b < 0 ? 1 : 0);
}

/* The reduction variable that moves as m does; the others' checks are of one other output variable. */
static bool find_row(c_window *w) {
    c_tile *t = w->t;
    int64_t step = c_coefficient(&t->a, t->m);
    bool found = false;
    for (uint32_t k = 0; k < t->k_count; k++) {
        int64_t own = c_coefficient(&t->a, t->k[k]);
        bool checked = false;
        for (size_t i = 0; i < t->check_count; i++) {
            checked = checked || (t->check[i].out == t->m && t->check[i].k == t->k[k]);
        }
        if (own == 0 || step % own != 0 || step / own < 1 || step / own > t->k_extent[k] || (found && !checked)) {
            continue;
        }
        found = true;
        w->k_at = k;
        w->stride = step / own;
        w->columns = t->k_extent[k];
    }
    return found && w->columns <= MAX_COLUMNS;
}

static bool find_borders(c_window *w) {
    c_tile *t = w->t;
    w->low = 0;
    w->high = (t->M - 1) * w->stride + w->columns;
    w->border = C_NO_VAR;
    for (size_t i = 0; i < t->check_count; i++) {
        const c_check *c = &t->check[i];
        bool along = c->k == t->k[w->k_at];
        if (along != (c->out == t->m)) {
            return false;
        }
        if (!along) {
            if (c->out == C_NO_VAR || (w->border != C_NO_VAR && w->border != c->out)) {
                return false;
            }
            w->border = c->out;
            continue;
        }
        int64_t own = c->form.coefficient[c->k];
        if (c->form.coefficient[t->m] != own * w->stride) {
            return false;
        }
        /* 0 <= own * column + constant */
        if (own > 0) {
            int64_t low = -floor_div(c->form.constant, own);
            w->low = low > w->low ? low : w->low;
        } else {
            int64_t end = floor_div(c->form.constant, -own) + 1;
            w->high = end < w->high ? end : w->high;
        }
    }
    return w->low < w->high;
}

static bool find_taps(c_window *w) {
    c_tile *t = w->t;
    w->taps = 1;
    for (uint32_t k = 0; k < t->k_count; k++) {
        if (k != w->k_at && (t->k_extent[k] > MAX_TAPS || (w->taps *= (uint32_t)t->k_extent[k]) > MAX_TAPS)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < w->taps; i++) {
        int64_t rest = i;
        for (uint32_t k = t->k_count; k-- > 0;) {
            int64_t index = k == w->k_at ? 0 : rest % t->k_extent[k];
            rest = k == w->k_at ? rest : rest / t->k_extent[k];
            w->tap_index[i][k] = index;
            w->tap_a[i] += index * c_coefficient(&t->a, t->k[k]);
            w->tap_w[i] += index * t->k_step[k];
        }
    }
    return w->taps * w->columns <= MAX_WEIGHTS;
}

/* The taps that are inside at value v of the border variable, as bits. */
static uint32_t taps_at(const c_window *w, int64_t v) {
    const c_tile *t = w->t;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < w->taps; i++) {
        bool inside = true;
        for (size_t c = 0; c < t->check_count; c++) {
            const c_check *check = &t->check[c];
            for (uint32_t k = 0; k < t->k_count; k++) {
                if (t->k[k] == check->k && k != w->k_at) {
                    inside = inside && check->form.constant + check->form.coefficient[check->out] * v +
                                               check->form.coefficient[check->k] * w->tap_index[i][k] >=
                                           0;
                }
            }
        }
        mask |= inside ? 1u << i : 0;
    }
    return mask;
}

static int64_t border_extent(const c_window *w) {
    return w->border == C_NO_VAR ? 1 : c_extent(w->t->u, w->border);
}

/* Values from v on with the same taps. */
static int64_t same_taps(const c_window *w, int64_t v) {
    int64_t end = v + 1, extent = border_extent(w);
    while (end < extent && taps_at(w, end) == taps_at(w, v)) {
        end++;
    }
    return end;
}

static bool few_instances(c_window *w) {
    uint32_t n = 0;
    if (border_extent(w) > MAX_ROWS) { /* each is looked at */
        return false;
    }
    for (int64_t v = 0; v < border_extent(w); v = same_taps(w, v)) {
        n += taps_at(w, v) != 0;
        if (n > MAX_INSTANCES || taps_at(w, v) == 0) {
            return false;
        }
    }
    /* point x finishes with columns x * stride + columns - stride .. x * stride + columns - 1 */
    int64_t before = w->low - (w->columns - w->stride);
    w->first = before > 0 ? (before + w->stride - 1) / w->stride : 0;
    w->end = floor_div(w->high - w->columns, w->stride) + 1;
    w->first = w->first > w->t->M ? w->t->M : w->first;
    w->end = w->end > w->t->M ? w->t->M : w->end < w->first ? w->first : w->end;
    return w->first + (w->t->M - w->end) <= MAX_SINGLE;
}

static bool find(c_window *w, c_tile *t) {
    memset(w, 0, sizeof *w);
    w->t = t;
    if (!t->scalar || !t->per_channel || t->m == C_NO_VAR || t->nr != 1 || t->M < 2 || base_type_is_float(t->type) ||
        (t->addend != 0 && !t->x->hoist_zero)) {
        return false;
    }
    for (uint32_t v = 0; v < t->u->stage->rank; v++) {
        if (v != t->n && c_coefficient(&t->b, v) != 0 && (t->u->zero_vars >> v & 1) == 0) {
            return false;
        }
    }
    return find_row(w) && find_borders(w) && find_taps(w) && few_instances(w);
}

bool c_window_fits(c_tile *t) {
    c_window w;
    return !plan_has(t->u->m->plan->without, PLAN_MOVE_ROLL) && find(&w, t);
}

/* ---- a row ---- */

static const char *weight_of(const c_window *w, uint32_t tap, int64_t column) {
    return base_printf(w->t->u->arena, "%s_%" PRId64, w->weight, w->tap_w[tap] + column * w->t->k_step[w->k_at]);
}

/* What the row's column brings to the accumulators, of which the first is that of point x. offset: from the pointer. */
static void column(c_window *w, uint32_t mask, int64_t number, bool inside, int64_t offset) {
    c_tile *t = w->t;
    c_unit *u = t->u;
    const char *ctype = c_accumulator_type(t);
    const int64_t first = w->tap_a[__builtin_ctz(mask)];
    c_block_open(u, false, "%s", "");
    for (uint32_t i = 0; inside && i < w->taps; i++) {
        if ((mask >> i & 1) != 0) {
            const char *at = base_printf(u->arena, "%" PRId64, offset + w->tap_a[i] - first);
            c_line(u->scope, "const %s a%" PRIu32 " = %s;", ctype, i, c_a_element(t, w->pointer, at));
        }
    }
    for (int64_t j = 0; j * w->stride <= number; j++) {
        int64_t own = number - j * w->stride;
        if (own >= w->columns) {
            continue;
        }
        base_text sum = {.arena = u->arena};
        for (uint32_t i = 0; i < w->taps; i++) {
            if ((mask >> i & 1) == 0) {
                continue;
            }
            const char *weight = weight_of(w, i, own);
            if (inside) {
                base_put(&sum, "%sa%" PRIu32 " * %s", sum.n > 0 ? " + " : "", i, weight);
            } else if (t->fill != 0) {
                base_put(&sum, "%s%s", sum.n > 0 ? " + " : "", weight);
            }
        }
        const char *text = inside ? sum.at : base_printf(u->arena, "%" PRId64 " * (%s)", t->fill, sum.at);
        if (own == 0) {
            c_line(u->scope, "c%" PRId64 " = %s%s%s;", j, w->begin, sum.n > 0 ? " + " : "", sum.n > 0 ? text : "");
        } else if (sum.n > 0) {
            c_line(u->scope, "c%" PRId64 " += %s;", j, text);
        }
    }
    c_block_close(u, "");
}

/* Point x: its last columns, its end, and the accumulators move up. fixed: x is a number. */
static void point(c_window *w, uint32_t mask, bool fixed, int64_t x) {
    c_tile *t = w->t;
    c_unit *u = t->u;
    const int64_t step = c_coefficient(&t->a, t->k[w->k_at]);
    for (int64_t q = 0; q < w->stride; q++) {
        int64_t number = w->columns - w->stride + q, place = x * w->stride + number;
        bool inside = !fixed || (place >= w->low && place < w->high);
        column(w, mask, number, inside, fixed ? (place - w->at) * step : q * step);
    }
    const char *m = u->var_text[t->m];
    c_scope *scope = u->var_scope[t->m];
    c_block_open(u, false, "%s", "");
    c_bind_var(u, t->m, m, u->scope); /* the end belongs here: the accumulators change */
    c_finish_at(t, "c0");
    c_block_close(u, "");
    c_bind_var(u, t->m, m, scope);
    for (int64_t j = 1; (j - 1) * w->stride < w->columns - w->stride; j++) {
        c_line(u->scope, "c%" PRId64 " = c%" PRId64 ";", j - 1, j);
    }
}

static void fixed_points(c_window *w, uint32_t mask, int64_t from, int64_t end) {
    c_unit *u = w->t->u;
    for (int64_t x = from; x < end; x++) {
        c_block_open(u, false, "%s", "");
        c_bind_var(u, w->t->m, base_printf(u->arena, "%" PRId64, x), u->scope);
        point(w, mask, true, x);
        c_block_close(u, "");
    }
}

static void row(c_window *w, uint32_t mask) {
    c_tile *t = w->t;
    c_unit *u = t->u;
    const char *ctype = c_accumulator_type(t), *name = base_printf(u->arena, "v%" PRIu32, t->m);
    const int64_t step = c_coefficient(&t->a, t->k[w->k_at]), before = w->columns - w->stride;
    lang_affine base = t->a;
    w->at = w->low > 0 ? w->low : 0;
    base.constant += w->tap_a[__builtin_ctz(mask)] + w->at * step;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        if (k >= u->stage->rank || k == t->m) {
            base.vars &= ~(UINT64_C(1) << k);
        }
    }
    const char *a = c_argument_name(u, c_argument_of(u, lang_at(u->p, t->roles.a.read)->index));
    w->pointer = c_name(u, 'r');
    c_line(u->scope, "const %s *%s = %s + (%s);", c_storage_type(t->a_type), w->pointer, a,
           c_affine_text(u, &base, false).text);
    base_text names = {.arena = u->arena};
    for (int64_t j = 0; j * w->stride < w->columns; j++) {
        base_put(&names, "%sc%" PRId64, j > 0 ? ", " : "", j);
    }
    c_line(u->scope, "%s %s;", ctype, names.at);
    for (int64_t c = 0; c < before; c++) {
        column(w, mask, c, c >= w->low && c < w->high, (c - w->at) * step);
    }
    bool single = w->end - w->first <= 1;
    fixed_points(w, mask, 0, single ? w->end : w->first);
    if (!single) {
        int64_t from = w->first * w->stride + before;
        if (from != w->at) {
            c_line(u->scope, "%s += %" PRId64 ";", w->pointer, (from - w->at) * step);
        }
        c_block_open(u, false, "for (int32_t %s = %" PRId64 "; %s < %" PRId64 "; %s++)", name, w->first, name, w->end,
                     name);
        c_bind_var(u, t->m, name, u->scope);
        point(w, mask, false, 0);
        c_line(u->scope, "%s += %" PRId64 ";", w->pointer, w->stride * step);
        c_block_close(u, "");
        w->at = w->end * w->stride + before;
    }
    fixed_points(w, mask, w->end, t->M);
}

/* The rows of the border variable's values, an instance for each set of taps. */
static void rows(c_window *w) {
    c_tile *t = w->t;
    c_unit *u = t->u;
    const char *all = w->begin;
    for (int64_t v = 0, end; v < border_extent(w); v = end) {
        uint32_t mask = taps_at(w, v);
        end = same_taps(w, v);
        base_text missing = {.arena = u->arena};
        for (uint32_t i = 0; t->fill != 0 && i < w->taps; i++) {
            for (int64_t c = 0; (mask >> i & 1) == 0 && c < w->columns; c++) {
                base_put(&missing, "%s%s", missing.n > 0 ? " + " : "", weight_of(w, i, c));
            }
        }
        c_block_open(u, false, "%s", "");
        w->begin = all;
        if (missing.n > 0) {
            w->begin = c_name(u, 'b');
            c_line(u->scope, "const %s %s = %s + %" PRId64 " * (%s);", c_accumulator_type(t), w->begin, all, t->fill,
                   missing.at);
        }
        bool loop = end - v > 1;
        if (loop) {
            const char *name = base_printf(u->arena, "v%" PRIu32, w->border);
            c_block_open(u, false, "for (int32_t %s = %" PRId64 "; %s < %" PRId64 "; %s++)", name, v, name, end, name);
            c_bind_var(u, w->border, name, u->scope);
        } else if (w->border != C_NO_VAR) {
            c_bind_var(u, w->border, base_printf(u->arena, "%" PRId64, v), u->scope);
        }
        row(w, mask);
        if (loop) {
            c_block_close(u, "");
        }
        c_block_close(u, "");
    }
    w->begin = all;
}

static void outer_loops(c_window *w, uint32_t at) {
    c_tile *t = w->t;
    uint32_t var = 0;
    while (at < t->x->order_count) {
        var = t->x->order[at];
        if ((t->u->zero_vars >> var & 1) == 0 && var != t->n && var != t->m && var != w->border) {
            break;
        }
        at++;
    }
    if (at == t->x->order_count) {
        rows(w);
        return;
    }
    c_loop_open(t->u, var, "");
    outer_loops(w, at + 1);
    c_block_close(t->u, "");
}

void c_emit_window(c_tile *t) {
    c_unit *u = t->u;
    c_window w;
    const char *name = base_printf(u->arena, "v%" PRIu32, t->n), *ctype = c_accumulator_type(t);
    (void)find(&w, t);
    c_loop_open(u, t->n, "");
    w.weight = c_name(u, 'w');
    w.begin = c_name(u, 'b');
    for (int64_t k = 0; k < t->K; k++) {
        const char *at = c_plus(t, base_printf(u->arena, "%" PRId64 " * %s", t->K, name), k);
        c_line(u->scope, "const %s %s_%" PRId64 " = %s;", ctype, w.weight, k,
               c_w_element(t, c_argument_name(u, t->weights), at));
    }
    const char *start =
        t->start == UINT32_MAX ? "0" : base_printf(u->arena, "%s[%s]", c_argument_name(u, t->start), name);
    c_line(u->scope, "const %s %s = %s%s;", ctype, w.begin,
           t->is_unsigned && t->start != UINT32_MAX ? base_printf(u->arena, "(%s)", ctype) : "", start);
    outer_loops(&w, 0);
    c_block_close(u, "");
}
