/* emit_contract.c - register tiles: a sum of products with a constant factor over mr points and nr channels at once.
 *
 * Takes a stage whose roles are a contraction's, and its schedule. Gives tiles: accumulators in registers, the constant
 * factor packed in the order it is read, its sum with a zero point and the bias folded into where the accumulators
 * start, borders as bounds of the reduction's loops, and the rest of the body as the tile's end. Serves contractions
 * with a shared factor (channels read one point) and without (each channel reads its own). Knows no operator; returns
 * false where a stage does not fit.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "targets/c/contract.h"

enum { NO_VAR = C_NO_VAR, MAX_K = C_MAX_K, MAX_TILE = 64, MAX_UNROLLED = 32 };

/* ---- does the stage fit? ---- */

/* false: an integer sum that is used several times, as where a requantisation was not fitted, takes more code than a nest. */
static bool find_accumulated(c_tile *t) {
    c_unit *u = t->u;
    lang_ref sum = t->roles.reduction;
    t->accumulated = sum;
    t->bias = IR_NONE;
    /* Floats: a bias in front of the sum would be rounded with each of its terms, beyond the bound of the
     * definition. */
    const bool may = u->uses[sum] == 1 && !base_type_is_float(t->type);
    for (lang_ref r = sum + 1; r < u->p->nodes.n && may; r++) {
        const lang_node *n = lang_at(u->p, r);
        if (u->uses[r] == 0 || n->kind != LANG_WORD_ || n->code != LANG_ADD) {
            continue;
        }
        lang_ref x = lang_operand(u->p, r, 0), y = lang_operand(u->p, r, 1), other = x == sum ? y : y == sum ? x : 0;
        const lang_node *o = other == 0 ? NULL : lang_at(u->p, other);
        if (o == NULL || o->kind != LANG_READ || o->has_fill || u->p->tensors.at[o->index].data == NULL ||
            o->type != t->type) {
            continue;
        }
        lang_affine form;
        if (lang_affine_read(u->p, other, &form) && (form.vars & ~(UINT64_C(1) << t->n)) == 0) {
            t->accumulated = r;
            t->bias = o->index;
            t->bias_form = form;
            return true;
        }
    }
    return may || base_type_is_float(t->type) || u->m->plan->goal != PLAN_SIZE;
}

static bool find_checks(c_tile *t) {
    c_unit *u = t->u;
    lang_bound_check list[LANG_MAX_RANK];
    size_t n = LANG_MAX_RANK;
    base_value v;
    lang_ref body = lang_operand(u->p, t->roles.reduction, lang_at(u->p, t->roles.reduction)->count - 2);
    if (!lang_read_checks(u->ranges, u->stage, t->roles.a.read, list, &n)) {
        return false;
    }
    if (n > 0 && (!lang_at(u->p, t->roles.a.read)->has_fill || !c_value_with_fill(u, body, t->roles.a.read, &v, 0) ||
                  v.u != 0)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        lang_affine last = {.constant = list[i].extent - 1}, upper;
        if (!c_subtract(&last, &list[i].index, 0, &upper)) {
            return false;
        }
        for (int side = 0; side < 2; side++) {
            c_check c = {.form = side == 0 ? list[i].index : upper, .out = NO_VAR, .k = NO_VAR};
            if (side == 0 ? !list[i].low : !list[i].high) {
                continue;
            }
            for (uint32_t var = 0; var < LANG_MAX_VARS; var++) {
                if (c_coefficient(&c.form, var) == 0 || (u->zero_vars >> var & 1) != 0) {
                    continue;
                }
                uint32_t *to = var < u->stage->rank ? &c.out : &c.k;
                if (*to != NO_VAR || var == t->n) {
                    return false;
                }
                *to = var;
            }
            if (c.k == NO_VAR && c.out == NO_VAR) {
                return false;
            }
            t->check[t->check_count++] = c;
        }
    }
    return true;
}

/* Points of m where no check of m can fail. */
static bool find_inside(c_tile *t) {
    t->low = 0;
    t->high = t->M;
    for (size_t i = 0; i < t->check_count; i++) {
        const c_check *c = &t->check[i];
        if (c->k == NO_VAR) {
            return false;
        }
        if (t->m == NO_VAR || c->out != t->m) {
            continue;
        }
        int64_t cm = c->form.coefficient[t->m], ck = c->form.coefficient[c->k], least = c->form.constant;
        least += ck < 0 ? ck * t->u->var_max[c->k] : 0;
        if (cm > 0) {
            int64_t first = least >= 0 ? 0 : (-least + cm - 1) / cm;
            t->low = first > t->low ? first : t->low;
        } else {
            int64_t end = least < 0 ? 0 : least / -cm + 1;
            t->high = end < t->high ? end : t->high;
        }
    }
    if (t->low > t->M) {
        t->low = t->M;
    }
    if (t->high < t->low) {
        t->high = t->low;
    }
    return true;
}

static bool reads_are_plain(c_tile *t) {
    c_unit *u = t->u;
    const lang_node *a = lang_at(u->p, t->roles.a.read), *b = lang_at(u->p, t->roles.b.read);
    const lang_tensor *bt = &u->p->tensors.at[b->index];
    const lang_factor *f = &t->roles.a;
    if (bt->data == NULL || b->has_fill || u->p->tensors.at[a->index].data != NULL || c_is_packed((base_type)a->type)) {
        return false;
    }
    if (!lang_affine_read(u->p, t->roles.a.read, &t->a) || !lang_affine_read(u->p, t->roles.b.read, &t->b)) {
        return false;
    }
    if (f->addend != 0) {
        if (lang_at(u->p, f->addend)->kind != LANG_CONST || base_type_is_float(t->type)) {
            return false;
        }
        t->addend = lang_at(u->p, f->addend)->value.i;
    }
    if (t->roles.b.addend != 0 &&
        (lang_at(u->p, t->roles.b.addend)->kind != LANG_CONST || base_type_is_float(t->type))) {
        return false;
    }
    t->a_type = (base_type)a->type;
    /* products of one type: integers in the accumulator's, floats in f32 or f64 */
    bool real = base_type_is_float(t->type);
    return base_type_is_float(t->a_type) == real && base_type_is_float(bt->type) == real && t->a_type != BASE_BOOL &&
           t->a_type != BASE_U64 && bt->type != BASE_U64;
}

static bool find_variables(c_tile *t) {
    c_unit *u = t->u;
    const lang_stage *s = u->stage;
    for (uint32_t k = 0; k < s->rank; k++) {
        if (t->x->order_count != s->rank || lang_at(u->p, s->vars[k].extent)->kind != LANG_CONST) {
            return false;
        }
    }
    c_merge(u, t->x->order, t->x->order_count, 0);
    t->n = t->x->n_var;
    if (t->n >= s->rank || (u->zero_vars >> t->n & 1) != 0) {
        return false;
    }
    t->m = NO_VAR;
    for (uint32_t k = 0; k < t->x->order_count; k++) {
        uint32_t v = t->x->order[k];
        if ((u->zero_vars >> v & 1) == 0 && v != t->n && c_coefficient(&t->a, v) != 0 && c_coefficient(&t->b, v) == 0) {
            t->m = v; /* the innermost */
        }
    }
    t->M = t->m == NO_VAR ? 1 : c_extent(u, t->m);
    t->N = c_extent(u, t->n);
    t->mr = t->m == NO_VAR || t->x->mr < 1 ? 1 : t->x->mr;
    t->nr = t->x->nr < 1 ? 1 : t->x->nr;
    if (t->nr > t->N) {
        t->nr = (uint32_t)t->N;
    }
    t->per_channel = c_coefficient(&t->a, t->n) != 0;
    if (t->per_channel) {
        /* lanes beyond the last channel would read past A: a divisor, or loops to a variable end */
        uint32_t d = t->nr;
        while (t->N % d != 0) {
            d--;
        }
        t->nr = t->scalar || 2 * d >= t->nr ? d : t->nr;
    }
    return t->mr <= MAX_TILE && t->nr <= 4 * MAX_TILE;
}

static bool find_reduction(c_tile *t) {
    c_unit *u = t->u;
    const lang_node *n = lang_at(u->p, t->roles.reduction);
    if (n->code != LANG_SUM || lang_operand(u->p, t->roles.reduction, n->count - 3) != 0 ||
        lang_operand(u->p, t->roles.reduction, n->count - 1) != 0) {
        return false;
    }
    t->type = (base_type)n->type;
    if (t->type != BASE_I32 && t->type != BASE_I64 && t->type != BASE_F32 && t->type != BASE_F64) {
        return false;
    }
    t->K = 1;
    for (uint32_t k = n->count - 3; k-- > 0;) {
        uint32_t var = lang_at(u->p, lang_operand(u->p, t->roles.reduction, k))->index;
        const lang_node *extent = lang_at(u->p, u->stage->vars[var].extent);
        if (extent->kind != LANG_CONST || extent->value.i < 1) {
            return false;
        }
        if (extent->value.i == 1) {
            u->zero_vars |= UINT64_C(1) << var;
            continue;
        }
        if (t->k_count == MAX_K || __builtin_mul_overflow(t->K, extent->value.i, &t->K)) {
            return false;
        }
        memmove(&t->k[1], &t->k[0], t->k_count * sizeof t->k[0]);
        memmove(&t->k_extent[1], &t->k_extent[0], t->k_count * sizeof t->k_extent[0]);
        memmove(&t->k_step[1], &t->k_step[0], t->k_count * sizeof t->k_step[0]);
        t->k[0] = var;
        t->k_extent[0] = extent->value.i;
        t->k_step[0] = t->K / extent->value.i;
        t->k_count++;
    }
    return true;
}

/* ---- packing ---- */

static int64_t weight_of(const c_tile *t, int64_t element, int64_t addend) {
    const lang_tensor *b = &t->u->p->tensors.at[lang_at(t->u->p, t->roles.b.read)->index];
    return base_load(b->type, b->data, (uint64_t)element).i + addend;
}

/* The type that the packed integers need. */
static base_type pack_type(const c_tile *t, int64_t addend) {
    const lang_tensor *b = &t->u->p->tensors.at[lang_at(t->u->p, t->roles.b.read)->index];
    if (base_type_is_float(b->type)) { /* a product with an element of f64 is one of f64 */
        return t->type == BASE_F64 && b->type != BASE_F64 ? BASE_F32 : t->type;
    }
    uint64_t elements = 1;
    int64_t lo = 0, hi = 0;
    for (uint32_t k = 0; k < b->rank; k++) {
        elements *= (uint64_t)b->dim[k];
    }
    for (uint64_t k = 0; k < elements; k++) {
        int64_t v = weight_of(t, (int64_t)k, addend);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    return lo >= INT8_MIN && hi <= INT8_MAX     ? BASE_I8
           : lo >= INT16_MIN && hi <= INT16_MAX ? BASE_I16
           : lo >= INT32_MIN && hi <= INT32_MAX ? BASE_I32
                                                : BASE_I64;
}

static int64_t b_of_k(const c_tile *t, int64_t k) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < t->k_count; i++) {
        sum += k / t->k_step[i] % t->k_extent[i] * c_coefficient(&t->b, t->k[i]);
    }
    return sum;
}

/* Output variables in B other than n: they come first in the packed order. */
static bool find_outer_steps(c_tile *t, int64_t rows, int64_t *outer_rows) {
    c_unit *u = t->u;
    *outer_rows = 1;
    for (uint32_t v = u->stage->rank; v-- > 0;) {
        t->outer_step[v] = 0;
        if (v == t->n || c_coefficient(&t->b, v) == 0 || (u->zero_vars >> v & 1) != 0) {
            continue;
        }
        t->outer_step[v] = rows * *outer_rows;
        if (__builtin_mul_overflow(*outer_rows, c_extent(u, v), outer_rows) ||
            *outer_rows * rows > INT32_MAX / (int64_t)t->nr) {
            return false;
        }
    }
    return rows * t->nr <= INT32_MAX;
}

static int64_t b_of_outer(const c_tile *t, int64_t row, int64_t rows) {
    int64_t sum = 0;
    for (uint32_t v = 0; v < t->u->stage->rank; v++) {
        if (t->outer_step[v] != 0) {
            sum += row * rows / t->outer_step[v] % c_extent(t->u, v) * c_coefficient(&t->b, v);
        }
    }
    return sum;
}

/* The constant factor on its way into the order it is read. */
typedef struct c_packing {
    base_type type;
    void *bytes;
    int64_t addend;             /* to the factor's elements */
    int64_t depth, tiles, rows; /* of a channel, of channels, of both */
    bool hoist;
    double largest; /* magnitude of A's elements with what the loop adds to them */
    int64_t *start; /* of each channel: its bias, with the hoisted sum */
    bool fits;      /* no partial sum leaves the accumulator's type */
} c_packing;

static double largest_of_a(const c_tile *t, int64_t addend) {
    int64_t lo;
    uint64_t hi;
    base_type_range(t->a_type, &lo, &hi);
    lang_range contents = lang_range_tensor(t->u->ranges, lang_at(t->u->p, t->roles.a.read)->index);
    double low = contents.known ? (double)contents.lo : (double)lo;
    double high = contents.known ? (double)contents.hi : (double)hi;
    return fmax(fabs(low + (double)addend), fabs(high + (double)addend));
}

static int64_t bias_of(const c_tile *t, int64_t n) {
    if (t->bias == IR_NONE) {
        return 0;
    }
    const lang_tensor *bias = &t->u->p->tensors.at[t->bias];
    int64_t at = t->bias_form.constant + n * c_coefficient(&t->bias_form, t->n);
    return base_load(bias->type, bias->data, (uint64_t)at).i;
}

/* Packs channel n of the o-th outer part, and sees whether its sums fit. */
static void pack_channel(const c_tile *t, c_packing *x, int64_t o, int64_t n) {
    const lang_tensor *b = &t->u->p->tensors.at[lang_at(t->u->p, t->roles.b.read)->index];
    int64_t first = t->b.constant + b_of_outer(t, o, x->rows) + n * c_coefficient(&t->b, t->n);
    int64_t row = (o * x->tiles + n / t->nr) * x->depth, sum = 0;
    double magnitude = 0; /* of the largest partial sum */
    bool real = base_type_is_float(t->type);
    for (int64_t k = 0; k < t->K; k++) {
        int64_t element = first + b_of_k(t, k);
        uint64_t to =
            (uint64_t)(t->dot ? (row + k - k % 2) * t->nr + n % t->nr * 2 + k % 2 : (row + k) * t->nr + n % t->nr);
        if (real) {
            base_store(x->type, x->bytes, to, (base_value){.f = base_load(b->type, b->data, (uint64_t)element).f});
            continue;
        }
        int64_t w = weight_of(t, element, x->addend);
        base_store(x->type, x->bytes, to, (base_value){.i = w});
        sum = (int64_t)((uint64_t)sum + (uint64_t)w);
        magnitude += fabs((double)w) * x->largest;
    }
    if (!real) { /* hoisting has one outer part: the start is the same in all of them */
        uint64_t folded = (uint64_t)bias_of(t, n) + (x->hoist ? (uint64_t)t->addend * (uint64_t)sum : 0);
        x->start[n] = lang_wrap(t->type, (base_value){.u = folded}).i;
        magnitude += fabs((double)x->start[n]);
        x->fits = x->fits && magnitude < (t->type == BASE_I64 ? 0x1p62 : 0x1p31);
    }
}

/* Sets weights and start; decides whether the arithmetic is unsigned. */
static bool pack_as(c_tile *t, bool *retry) {
    c_unit *u = t->u;
    bool real = base_type_is_float(t->type);
    int64_t tiles = (t->N + t->nr - 1) / t->nr, depth = t->dot ? t->line : t->K, outer;
    c_packing x = {.depth = depth, .tiles = tiles, .rows = tiles * depth, .fits = true};
    x.addend = t->roles.b.addend == 0 ? 0 : lang_at(u->p, t->roles.b.addend)->value.i;
    if (!find_outer_steps(t, x.rows, &outer)) {
        return false;
    }
    x.type = pack_type(t, x.addend);
    uint64_t count = (uint64_t)(outer * x.rows) * t->nr, size;
    if (!base_type_bytes(x.type, count, &size)) {
        return false;
    }
    x.bytes = base_alloc(u->arena, (size_t)size + 1, 1);
    x.start = BASE_NEWS(u->arena, int64_t, (size_t)(tiles * t->nr));
    x.hoist =
        t->x->hoist_zero && t->addend != 0 && (t->check_count == 0 || t->patch || t->window) && outer == 1 && !t->dot;
    t->fill = -t->addend;
    x.largest = real ? 0 : largest_of_a(t, x.hoist ? 0 : t->addend);
    x.largest = x.hoist ? fmax(x.largest, fabs((double)t->fill)) : x.largest;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t n = 0; n < t->N; n++) {
            pack_channel(t, &x, o, n);
        }
    }
    t->is_unsigned = !real && !x.fits;
    *retry = t->dot && (t->is_unsigned || x.type != BASE_I8);
    if (*retry) {
        return false;
    }
    t->weights = c_argument_data(u, c_data_add(u->m, x.type, x.bytes, count), C_PACKED);
    t->start = UINT32_MAX;
    if (!real && (t->bias != IR_NONE || x.hoist)) {
        uint8_t *values = BASE_NEWS(u->arena, uint8_t, (size_t)(tiles * t->nr * 8));
        for (int64_t n = 0; n < tiles * t->nr; n++) {
            base_store(t->type, values, (uint64_t)n, (base_value){.i = x.start[n]});
        }
        t->start = c_argument_data(u, c_data_add(u->m, t->type, values, (uint64_t)(tiles * t->nr)), C_FIRST);
    }
    if (x.hoist) {
        t->addend = 0;
    }
    return true;
}

/* The loops are over points, then channels. */
static bool channels_are_innermost(const c_tile *t) {
    uint32_t last = NO_VAR, before = NO_VAR;
    for (uint32_t k = 0; k < t->x->order_count; k++) {
        if ((t->u->zero_vars >> t->x->order[k] & 1) == 0) {
            before = last;
            last = t->x->order[k];
        }
    }
    return last == t->n && (t->m == NO_VAR || before == t->m);
}

/* Values of A with its addend fit 16 bits, and the loops allow lines. */
static bool may_pair(const c_tile *t) {
    bool narrow = t->a_type == BASE_I8 || t->a_type == BASE_U8;
    return !t->scalar && !t->per_channel && t->type == BASE_I32 && narrow && channels_are_innermost(t) &&
           t->addend >= -1024 && t->addend <= 1024 && t->line * t->mr <= 32768;
}

/* What is there as 0 fits A's elements. Floats: a term of 0 would not be the one that is left out. */
static bool fill_is_element(const c_tile *t) {
    int64_t lo;
    uint64_t hi;
    if (t->check_count == 0 || base_type_is_float(t->a_type) || base_type_is_float(t->type)) {
        return t->check_count == 0;
    }
    base_type_range(t->a_type, &lo, &hi);
    return -t->addend >= lo && (-t->addend < 0 || (uint64_t)-t->addend <= hi);
}

/* Tiles whose pointers run through the whole reduction: over the points where they are, or over lines of them. */
static void choose_stream(c_tile *t) {
    c_run run[MAX_K];
    const int64_t bytes = t->K * base_type_bits(t->a_type) / 8;
    if (!t->scalar || t->per_channel || !channels_are_innermost(t)) {
        return;
    }
    if (t->check_count == 0 && c_runs_of(t, false, run) == 1) {
        t->stream = true;
        t->a_step = run[0].a_step;
    } else if (t->u->m->plan->goal != PLAN_SIZE && fill_is_element(t) &&
               (bytes <= C_MAX_PATCH || t->x->line_bytes != 0)) {
        t->stream = t->patch = true;
        t->a_step = 1;
        t->line = t->K;
        t->placed = (uint64_t)bytes * t->mr <= t->x->line_bytes;
        while (!t->placed && bytes * t->mr > C_MAX_PATCH) {
            t->mr--;
        }
    }
}

static bool pack(c_tile *t) {
    bool retry = false;
    uint32_t nr = t->nr;
    t->line = (t->K + 1) / 2 * 2;
    t->dot = may_pair(t);
    if (t->dot) {
        t->nr = (t->nr + 7) / 8 * 8;
    }
    choose_stream(t);
    t->window = t->u->m->plan->goal != PLAN_SIZE && c_window_fits(t);
    if (pack_as(t, &retry)) {
        if (t->dot || t->patch) {
            c_flatten_points(t);
        }
        return true;
    }
    if (!retry) {
        return false;
    }
    t->dot = false;
    t->nr = nr;
    return pack_as(t, &retry);
}

/* ---- the tile ---- */

const char *c_accumulator_type(const c_tile *t) {
    if (t->is_unsigned) {
        return t->type == BASE_I64 ? "uint64_t" : "uint32_t";
    }
    return c_value_type(t->type);
}

/* The loops of the reduction for tiles that need the checks of m (edge) or not; neighbours joined where the addresses
 * allow. */
uint32_t c_runs_of(c_tile *t, bool edge, c_run *run) {
    c_unit *u = t->u;
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->k_count; k++) {
        uint32_t var = t->k[k];
        c_run r = {.extent = t->k_extent[k], .a_step = c_coefficient(&t->a, var), .b_step = t->k_step[k]};
        base_text low = {.arena = u->arena}, high = {.arena = u->arena};
        const char *max = "max_i32", *min = "min_i32";
        for (size_t i = 0; i < t->check_count; i++) {
            c_check *c = &t->check[i];
            if (c->k != var || (c->out == t->m && t->m != NO_VAR && !edge)) {
                continue;
            }
            bool is_low = c->form.coefficient[var] > 0;
            const char *bound = c_bound_of(u, &c->form, var).text;
            base_text *to = is_low ? &low : &high;
            const char *before = to->n > 0 ? to->at : is_low ? "0" : base_printf(u->arena, "%" PRId64, r.extent);
            const char *text =
                base_printf(u->arena, "%s(%s, %s)", c_helper(u->m->helpers, is_low ? max : min), before, bound);
            /* as far out as its variables allow */
            c_scope *home = c->out == NO_VAR ? u->floor : u->var_scope[c->out];
            *to = (base_text){.arena = u->arena};
            base_puts(to, c_local(u, home, "int32_t", text).text);
        }
        r.low = low.n > 0 ? low.at : NULL;
        r.high = high.n > 0 ? high.at : NULL;
        if (n > 0 && r.low == NULL && r.high == NULL && run[n - 1].low == NULL && run[n - 1].high == NULL &&
            run[n - 1].a_step == r.a_step * r.extent) {
            run[n - 1].extent *= r.extent;
            run[n - 1].a_step = r.a_step;
            run[n - 1].b_step = r.b_step;
            continue;
        }
        run[n++] = r;
    }
    if (n == 0) {
        run[n++] = (c_run){.extent = 1, .a_step = 0, .b_step = 1};
    }
    return n;
}

/* index + offset as text */
const char *c_plus(c_tile *t, const char *index, int64_t offset) {
    if (offset == 0) {
        return index;
    }
    return base_printf(t->u->arena, "%s %s %" PRId64, index, offset < 0 ? "-" : "+", offset < 0 ? -offset : offset);
}

const char *c_scaled(c_tile *t, const char *base, const char *var, int64_t step) {
    base_arena *arena = t->u->arena;
    const char *term = step == 1 ? var : base_printf(arena, "%" PRId64 " * %s", step, var);
    return base == NULL ? term : base_printf(arena, "%s + %s", base, term);
}

static const char *a_name(c_tile *t) {
    return c_argument_name(t->u, c_argument_of(t->u, lang_at(t->u->p, t->roles.a.read)->index));
}

const char *c_a_element(c_tile *t, const char *pointer, const char *index) {
    c_unit *u = t->u;
    base_arena *arena = u->arena;
    c_value v = c_load(u, t->a_type, pointer, index);
    const char *text = v.text;
    if (t->a_type != t->type) {
        text = base_printf(arena, "(%s)%s", c_value_type(t->type), c_wrap(arena, v, C_UNARY));
    }
    if (t->addend != 0) {
        text = base_printf(arena, "%s %s %" PRId64, text, t->addend < 0 ? "-" : "+",
                           t->addend < 0 ? -t->addend : t->addend);
    }
    if (t->is_unsigned) {
        text = base_printf(arena, "(%s)(%s)", c_accumulator_type(t), text);
    }
    return text;
}

const char *c_w_element(c_tile *t, const char *pointer, const char *index) {
    c_unit *u = t->u;
    base_type type = u->arguments.at[t->weights].type;
    const char *text = base_printf(u->arena, "%s[%s]", pointer, index);
    if (type != t->type) {
        text = base_printf(u->arena, "(%s)%s", c_value_type(t->type), text);
    }
    return t->is_unsigned ? base_printf(u->arena, "(%s)%s", c_accumulator_type(t), text) : text;
}

static const char *accumulator(c_tile *t, uint32_t i, uint32_t j) {
    if (t->dot) {
        return base_printf(t->u->arena, "c[%" PRIu32 " + j]", i * t->nr);
    }
    return t->scalar ? base_printf(t->u->arena, "c%" PRIu32 "_%" PRIu32, i, j)
                     : base_printf(t->u->arena, "c%" PRIu32 "[j]", i);
}

/* One step of the reduction: mr x nr products. a, w: indices. */
static void products(c_tile *t, uint32_t mr, const char *a, const char *w) {
    c_unit *u = t->u;
    int64_t step = t->m == NO_VAR ? 0 : c_coefficient(&t->a, t->m), channel = c_coefficient(&t->a, t->n);
    const char *ctype = c_accumulator_type(t);
    bool mac = t->per_channel && !t->scalar && !t->is_unsigned && t->type == BASE_I32 && t->a_type == BASE_I8 &&
               channel == 1 && u->arguments.at[t->weights].type == BASE_I8 && t->N % t->nr == 0 && t->nr % 8 == 0;
    if (mac) {
        const char *x = a_name(t);
        for (uint32_t i = 0; i < mr; i++) {
            c_line(u->scope, "%s(%s + (%s), %" PRId64 ", %s + (%s), c%" PRIu32 ");", c_helper_mac(u, t->nr), x,
                   c_plus(t, a, step * i), t->addend, c_argument_name(u, t->weights), w, i);
        }
        return;
    }
    c_block_open(u, false, "%s", "");
    for (uint32_t i = 0; i < mr && !t->per_channel; i++) {
        c_line(u->scope, "const %s s%" PRIu32 " = %s;", ctype, i, c_a_element(t, a_name(t), c_plus(t, a, step * i)));
    }
    if (!t->scalar) {
        const char *end = base_printf(u->arena, "%" PRIu32, t->nr);
        if (t->per_channel && t->N % t->nr != 0) {
            end = c_local(u, u->scope, "int32_t",
                          base_printf(u->arena, "%s(%s, %" PRId64 " - %s)", c_helper(u->m->helpers, "min_i32"), end,
                                      t->N, u->var_text[t->n]))
                      .text;
        }
        c_block_open(u, false, "for (int32_t j = 0; j < %s; j++)", end);
        c_line(u->scope, "const %s b = %s;", ctype,
               c_w_element(t, c_argument_name(u, t->weights), base_printf(u->arena, "%s + j", w)));
        for (uint32_t i = 0; i < mr; i++) {
            const char *s = t->per_channel
                                ? c_a_element(t, a_name(t), c_scaled(t, c_plus(t, a, step * i), "j", channel))
                                : base_printf(u->arena, "s%" PRIu32, i);
            c_line(u->scope, "c%" PRIu32 "[j] += %s * b;", i, t->per_channel ? base_printf(u->arena, "(%s)", s) : s);
        }
        c_block_close(u, "");
    } else {
        for (uint32_t j = 0; j < t->nr; j++) {
            c_line(u->scope, "const %s b%" PRIu32 " = %s;", ctype, j,
                   c_w_element(t, c_argument_name(u, t->weights), c_plus(t, w, j)));
            for (uint32_t i = 0; i < mr; i++) {
                const char *s =
                    t->per_channel
                        ? base_printf(u->arena, "(%s)", c_a_element(t, a_name(t), c_plus(t, a, step * i + channel * j)))
                        : base_printf(u->arena, "s%" PRIu32, i);
                c_line(u->scope, "c%" PRIu32 "_%" PRIu32 " += %s * b%" PRIu32 ";", i, j, s, j);
            }
        }
    }
    c_block_close(u, "");
}

static bool is_fixed(const c_run *r) {
    return r->low == NULL && r->high == NULL;
}

/* Loops k .. of the runs, then the products. a, w: indices so far. */
static void reduce(c_tile *t, uint32_t mr, const c_run *run, uint32_t n, uint32_t k, const char *a, const char *w,
                   int64_t unrolled) {
    c_unit *u = t->u;
    if (k == n) {
        products(t, mr, a, w);
        return;
    }
    const c_run *r = &run[k];
    bool all = t->scalar && is_fixed(r) && unrolled * r->extent <= MAX_UNROLLED && t->per_channel;
    if (r->extent == 1 && is_fixed(r)) {
        reduce(t, mr, run, n, k + 1, a, w, unrolled);
        return;
    }
    if (all) {
        for (int64_t i = 0; i < r->extent; i++) {
            reduce(t, mr, run, n, k + 1, c_plus(t, a, i * r->a_step), c_plus(t, w, i * r->b_step * t->nr),
                   unrolled * r->extent);
        }
        return;
    }
    const char *name = c_name(u, 'k');
    const char *high = r->high != NULL ? r->high : base_printf(u->arena, "%" PRId64, r->extent);
    int64_t step = 1;
    if (k + 1 == n && t->scalar && is_fixed(r)) {
        for (int64_t unroll = t->x->unroll; unroll > 1 && step == 1; unroll--) {
            step = r->extent % unroll == 0 ? unroll : 1;
        }
    }
    c_block_open(u, false, "for (int32_t %s = %s; %s < %s; %s += %" PRId64 ")", name, r->low != NULL ? r->low : "0",
                 name, high, name, step);
    const char *a_text = c_scaled(t, a, name, r->a_step), *w_text = c_scaled(t, w, name, r->b_step * t->nr);
    if (k + 1 < n) {
        a_text = c_local(u, u->scope, "int32_t", a_text).text;
        w_text = c_local(u, u->scope, "int32_t", w_text).text;
    }
    for (int64_t i = 0; i < step; i++) {
        reduce(t, mr, run, n, k + 1, c_plus(t, a_text, i * r->a_step), c_plus(t, w_text, i * r->b_step * t->nr),
               unrolled);
    }
    c_block_close(u, "");
}

void c_finish_at(c_tile *t, const char *accumulator) {
    c_unit *u = t->u;
    c_value v = {accumulator, C_PRIMARY, false};
    if (t->is_unsigned) {
        v = (c_value){base_printf(u->arena, "(%s)%s", c_value_type(t->type), accumulator), C_UNARY, false};
    }
    u->memo[t->accumulated] = (c_memo){v, u->scope};
    c_store(u, u->stage->tensor, c_address_text(u, &t->out, false, C_TO_OUTPUT), u->stage->body);
}

/* Point i. In the scope at hand n's text is the channel's number. */
static void finish_point(c_tile *t, uint32_t i, uint32_t j, const char *m_text) {
    c_unit *u = t->u;
    if (t->m != NO_VAR) {
        const char *text =
            i == 0 ? m_text : c_local(u, u->scope, "int32_t", base_printf(u->arena, "%s + %" PRIu32, m_text, i)).text;
        c_bind_var(u, t->m, text, i == 0 ? u->var_scope[t->m] : u->scope);
    }
    c_finish_at(t, accumulator(t, i, j));
}

/* Words behind the sum. */
static uint32_t words_behind(const c_tile *t) {
    const c_unit *u = t->u;
    const lang_node *sum = lang_at(u->p, t->roles.reduction);
    const lang_ref inside = lang_operand(u->p, t->roles.reduction, sum->count - 2);
    uint32_t words = 0;
    for (lang_ref r = 1; r <= u->stage->body; r++) {
        words += u->uses[r] > 0 && r != inside && lang_at(u->p, r)->kind == LANG_WORD_ &&
                 base_type_is_float((base_type)lang_at(u->p, r)->type);
    }
    return words;
}

/* Scalars whose end is more than a bias: said once, in a loop over them. */
static void finish_in_loop(c_tile *t, uint32_t mr) {
    c_unit *u = t->u;
    base_text sums = {.arena = u->arena};
    const char *m_text = t->m == NO_VAR ? NULL : u->var_text[t->m], *n_text = u->var_text[t->n];
    c_scope *m_scope = t->m == NO_VAR ? NULL : u->var_scope[t->m], *n_scope = u->var_scope[t->n];
    for (uint32_t k = 0; k < mr * t->nr; k++) {
        base_put(&sums, "%s%s", k > 0 ? ", " : "", accumulator(t, k / t->nr, k % t->nr));
    }
    c_line(u->scope, "const %s c[] = {%s};", c_accumulator_type(t), sums.at);
    if (mr > 1) {
        c_block_open(u, false, "for (int32_t i = 0; i < %" PRIu32 "; i++)", mr);
        c_bind_var(u, t->m, c_local(u, u->scope, "int32_t", base_printf(u->arena, "%s + i", m_text)).text, u->scope);
    }
    const char *end = t->N % t->nr == 0 ? base_printf(u->arena, "%" PRIu32, t->nr)
                                        : base_printf(u->arena, "%s(%" PRIu32 ", %" PRId64 " - %s)",
                                                      c_helper(u->m->helpers, "min_i32"), t->nr, t->N, n_text);
    c_block_open(u, false, "for (int32_t j = 0, e = %s; j < e; j++)", end);
    c_bind_var(u, t->n, c_local(u, u->scope, "int32_t", base_printf(u->arena, "%s + j", n_text)).text, u->scope);
    c_finish_at(t, mr > 1 ? base_printf(u->arena, "c[%" PRIu32 " * i + j]", t->nr) : "c[j]");
    c_block_close(u, "");
    c_bind_var(u, t->n, n_text, n_scope);
    if (mr > 1) {
        c_block_close(u, "");
        c_bind_var(u, t->m, m_text, m_scope);
    }
}

static void finish(c_tile *t, uint32_t mr) {
    c_unit *u = t->u;
    if (t->scalar && base_type_is_float(t->type) && mr * t->nr > 1 && words_behind(t) > 1) {
        finish_in_loop(t, mr);
        return;
    }
    const char *m_text = t->m == NO_VAR ? NULL : u->var_text[t->m], *n_text = u->var_text[t->n];
    c_scope *m_scope = t->m == NO_VAR ? NULL : u->var_scope[t->m], *n_scope = u->var_scope[t->n];
    bool whole = t->N % t->nr == 0;
    /* what depends on the channel is read once for all points */
    for (uint32_t j = 0; j < (t->scalar ? t->nr : 1); j++) {
        for (uint32_t i = 0; i < mr; i++) {
            if (!t->scalar) {
                const char *end = whole ? base_printf(u->arena, "%" PRIu32, t->nr)
                                        : base_printf(u->arena, "%s(%" PRIu32 ", %" PRId64 " - %s)",
                                                      c_helper(u->m->helpers, "min_i32"), t->nr, t->N, n_text);
                c_block_open(u, false, "for (int32_t j = 0, e = %s; j < e; j++)", end);
                c_bind_var(u, t->n, c_local(u, u->scope, "int32_t", base_printf(u->arena, "%s + j", n_text)).text,
                           u->scope);
            } else if (!whole && j > 0) {
                c_block_open(u, false, "if (%s + %" PRIu32 " < %" PRId64 ")", n_text, j, t->N);
                c_bind_var(u, t->n,
                           c_local(u, u->scope, "int32_t", base_printf(u->arena, "%s + %" PRIu32, n_text, j)).text,
                           u->scope);
            } else {
                c_block_open(u, false, "%s", "");
                const char *text =
                    j == 0 ? n_text
                           : c_local(u, u->scope, "int32_t", base_printf(u->arena, "%s + %" PRIu32, n_text, j)).text;
                c_bind_var(u, t->n, text, u->scope);
            }
            finish_point(t, i, j, m_text);
            c_block_close(u, "");
            c_bind_var(u, t->n, n_text, n_scope);
            if (t->m != NO_VAR) {
                c_bind_var(u, t->m, m_text, m_scope);
            }
        }
    }
}

/* ---- lines ---- */

static void tile_of_lines(c_tile *t, uint32_t mr, const char *w) {
    c_unit *u = t->u;
    c_line(u->scope, "int32_t c[%" PRIu32 "];", mr * t->nr);
    c_block_open(u, false, "for (int32_t j = 0; j < %" PRIu32 "; j++)", t->nr);
    for (uint32_t i = 0; i < mr; i++) {
        const char *start = t->start == UINT32_MAX
                                ? "0"
                                : base_printf(u->arena, "%s[%s + j]", c_argument_name(u, t->start), u->var_text[t->n]);
        c_line(u->scope, "c[%" PRIu32 " + j] = %s;", i * t->nr, start);
    }
    c_block_close(u, "");
    c_line(u->scope, "%s(q, %" PRId64 ", %s + (%s), %" PRId64 ", c);", c_helper_dot(u, mr, t->nr), t->line,
           c_argument_name(u, t->weights), w, t->line / 2);
    finish(t, mr);
}

static void start_accumulators(c_tile *t, uint32_t mr) {
    c_unit *u = t->u;
    const char *ctype = c_accumulator_type(t), *n = u->var_text[t->n];
    for (uint32_t i = 0; i < mr; i++) {
        for (uint32_t j = 0; j < t->nr; j++) {
            const char *start = t->start == UINT32_MAX
                                    ? "0"
                                    : base_printf(u->arena, "%s[%s]", c_argument_name(u, t->start), c_plus(t, n, j));
            const char *cast = t->is_unsigned && t->start != UINT32_MAX ? base_printf(u->arena, "(%s)", ctype) : "";
            c_line(u->scope, "%s c%" PRIu32 "_%" PRIu32 " = %s%s;", ctype, i, j, cast, start);
        }
    }
}

/* One tile by pointers: w runs on from tile to tile. */
static void tile_of_stream(c_tile *t, uint32_t mr) {
    c_unit *u = t->u;
    base_arena *arena = u->arena;
    const char *ctype = c_accumulator_type(t), *type = c_storage_type(t->a_type), *first = t->q, *w = t->w;
    const char *row = c_name(u, 'r'), *end = c_name(u, 'e');
    int64_t step = t->patch ? t->line : t->m == NO_VAR ? 0 : c_coefficient(&t->a, t->m), unroll = t->x->unroll;
    while (t->K % unroll != 0) {
        unroll--;
    }
    start_accumulators(t, mr);
    if (!t->patch) {
        lang_affine base = t->a;
        for (uint32_t k = u->stage->rank; k < LANG_MAX_VARS; k++) {
            base.vars &= ~(UINT64_C(1) << k);
        }
        first = base_printf(arena, "%s + %s", a_name(t), c_affine_text(u, &base, false).text);
    }
    c_line(u->scope, "const %s *%s = %s;", type, row, first);
    if (t->K > unroll) {
        c_line(u->scope, "const %s *const %s = %s + %" PRId64 ";", type, end, row, t->K * t->a_step);
        c_block_open(u, false, "do");
    }
    for (int64_t k = 0; k < unroll; k++) {
        c_block_open(u, false, "%s", "");
        for (uint32_t i = 0; i < mr; i++) {
            const char *at = base_printf(arena, "%" PRId64, k * t->a_step + i * step);
            c_line(u->scope, "const %s s%" PRIu32 " = %s;", ctype, i, c_a_element(t, row, at));
        }
        for (uint32_t j = 0; j < t->nr; j++) {
            const char *at = base_printf(arena, "%" PRId64, k * t->nr + j);
            c_line(u->scope, "const %s b%" PRIu32 " = %s;", ctype, j, c_w_element(t, w, at));
            for (uint32_t i = 0; i < mr; i++) {
                c_line(u->scope, "c%" PRIu32 "_%" PRIu32 " += s%" PRIu32 " * b%" PRIu32 ";", i, j, i, j);
            }
        }
        c_block_close(u, "");
    }
    if (t->K > unroll) {
        c_line(u->scope, "%s += %" PRId64 ";", row, unroll * t->a_step);
    }
    c_line(u->scope, "%s += %" PRId64 ";", w, unroll * t->nr);
    if (t->K > unroll) {
        c_block_close(u, base_printf(arena, " while (%s != %s);", row, end));
    }
    finish(t, mr);
}

/* One tile at the point and channel that are bound. */
static void tile(c_tile *t, uint32_t mr, bool edge) {
    c_unit *u = t->u;
    c_run run[MAX_K];
    const char *ctype = c_accumulator_type(t), *n = u->var_text[t->n];
    uint32_t count = t->dot || t->stream ? 0 : c_runs_of(t, edge, run);
    lang_affine base = t->a, w = {.vars = 0};
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        if (k >= u->stage->rank) {
            base.vars &= ~(UINT64_C(1) << k);
        } else if (k == t->n || t->outer_step[k] != 0) {
            w.coefficient[k] = k == t->n ? (t->dot ? t->line : t->K) : t->outer_step[k] * t->nr;
            w.vars |= UINT64_C(1) << k;
        }
    }
    if (t->dot) {
        tile_of_lines(t, mr, c_affine_text(u, &w, false).text);
        return;
    }
    if (t->stream) {
        tile_of_stream(t, mr);
        return;
    }
    if (t->scalar) {
        start_accumulators(t, mr);
    }
    for (uint32_t i = 0; !t->scalar && i < mr; i++) {
        c_line(u->scope, "%s c%" PRIu32 "[%" PRIu32 "];", ctype, i, t->nr);
    }
    if (!t->scalar) {
        c_block_open(u, false, "for (int32_t j = 0; j < %" PRIu32 "; j++)", t->nr);
        const char *start =
            t->start == UINT32_MAX
                ? "0"
                : base_printf(u->arena, "%s%s[%s + j]", t->is_unsigned ? base_printf(u->arena, "(%s)", ctype) : "",
                              c_argument_name(u, t->start), n);
        for (uint32_t i = 0; i < mr; i++) {
            c_line(u->scope, "c%" PRIu32 "[j] = %s;", i, start);
        }
        c_block_close(u, "");
    }
    const char *a_text = c_affine_text(u, &base, false).text, *w_text = c_address_text(u, &w, false, C_TO_WEIGHTS);
    a_text = c_local(u, u->scope, "int32_t", a_text).text;
    w_text = c_local(u, u->scope, "int32_t", w_text).text;
    reduce(t, mr, run, count, 0, a_text, w_text, 1);
    finish(t, mr);
}

/* ---- loops over points and channels ---- */

static void loops(c_tile *t, uint32_t at);

static void channels(c_tile *t, uint32_t at) {
    c_unit *u = t->u;
    const char *name = base_printf(u->arena, "v%" PRIu32, t->n);
    if (t->dot || t->patch) {
        c_gather(t, t->mr_now);
    }
    if (t->stream) {
        lang_affine w = {.vars = 0};
        for (uint32_t k = 0; k < u->stage->rank; k++) {
            if (t->outer_step[k] != 0) {
                w.coefficient[k] = t->outer_step[k] * t->nr;
                w.vars |= UINT64_C(1) << k;
            }
        }
        t->w = c_name(u, 'w');
        c_line(u->scope, "const %s *%s = %s;", c_storage_type(u->arguments.at[t->weights].type), t->w,
               w.vars == 0 ? c_argument_name(u, t->weights)
                           : base_printf(u->arena, "%s + (%s)", c_argument_name(u, t->weights),
                                         c_affine_text(u, &w, false).text));
    }
    c_block_open(u, false, "for (int32_t %s = 0; %s < %" PRId64 "; %s += %" PRIu32 ")", name, name, t->N, name, t->nr);
    c_bind_var(u, t->n, name, u->scope);
    loops(t, at + 1);
    c_block_close(u, "");
}

/* All that is inside the loop over m, for mr points. */
static void inside_points(c_tile *t, uint32_t at, uint32_t mr, bool edge) {
    t->mr_now = mr;
    t->edge = edge;
    loops(t, at + 1);
}

static void points(c_tile *t, uint32_t at) {
    c_unit *u = t->u;
    const char *name = base_printf(u->arena, "v%" PRIu32, t->m), *first = base_printf(u->arena, "i%" PRIu32, t->m);
    uint32_t mr = t->mr;
    bool checked = t->low > 0 || t->high < t->M;
    if (t->dot || t->patch) {
        checked = false;
        mr = (int64_t)mr > t->M ? (uint32_t)t->M : mr;
    } else if ((int64_t)mr > t->high - t->low) {
        mr = 1;
    }
    if (checked && u->m->plan->goal == PLAN_SIZE) { /* one body: every point with the checks */
        c_block_open(u, false, "for (int32_t %s = 0; %s < %" PRId64 "; %s++)", name, name, t->M, name);
        c_bind_var(u, t->m, name, u->scope);
        inside_points(t, at, 1, true);
        c_block_close(u, "");
        return;
    }
    if (!checked) {
        if (t->M % mr == 0 && (u->m->plan->goal != PLAN_SIZE || mr == 1)) {
            c_block_open(u, false, "for (int32_t %s = 0; %s < %" PRId64 "; %s += %" PRIu32 ")", name, name, t->M, name,
                         mr);
        } else { /* the last tile overlaps the one before: the same values again */
            c_block_open(u, false, "for (int32_t %s = 0; %s < %" PRId64 "; %s += %" PRIu32 ")", first, first, t->M,
                         first, mr);
            c_line(u->scope, "const int32_t %s = %s(%s, %" PRId64 ");", name, c_helper(u->m->helpers, "min_i32"), first,
                   t->M - mr);
        }
        c_bind_var(u, t->m, name, u->scope);
        inside_points(t, at, mr, false);
        c_block_close(u, "");
        return;
    }
    c_block_open(u, false, "for (int32_t %s = 0; %s < %" PRId64 ";)", name, name, t->M);
    c_bind_var(u, t->m, name, u->scope);
    c_scope *loop = u->scope;
    if (t->high - t->low >= (int64_t)mr) {
        /* most of a tile that is left is one tile that overlaps the one before: the same values again */
        const bool overlaps = 2 * ((t->high - t->low) % mr) > (int64_t)mr;
        c_block_open(u, false, "if (%s%s <= %" PRId64 ")",
                     t->low > 0 ? base_printf(u->arena, "%s >= %" PRId64 " && ", name, t->low) : "", name,
                     overlaps ? t->high - 1 : t->high - mr);
        if (overlaps) {
            c_line(u->scope, "%s = %s(%s, %" PRId64 ");", name, c_helper(u->m->helpers, "min_i32"), name, t->high - mr);
        }
        c_bind_var(u, t->m, name, u->scope);
        inside_points(t, at, mr, false);
        c_line(u->scope, "%s += %" PRIu32 ";", name, mr);
        c_block_close(u, " else {");
        (void)c_scope_open(u, false);
    } else {
        c_block_open(u, false, "%s", "");
    }
    c_bind_var(u, t->m, name, u->scope);
    inside_points(t, at, 1, checked);
    c_line(u->scope, "%s++;", name);
    c_block_close(u, "");
    c_bind_var(u, t->m, name, loop);
    c_block_close(u, "");
}

static void loops(c_tile *t, uint32_t at) {
    c_unit *u = t->u;
    while (at < t->x->order_count && (u->zero_vars >> t->x->order[at] & 1) != 0) {
        at++;
    }
    if (at == t->x->order_count) {
        tile(t, t->mr_now, t->edge);
        return;
    }
    uint32_t var = t->x->order[at];
    if (var == t->n) {
        channels(t, at);
    } else if (var == t->m) {
        points(t, at);
    } else {
        c_loop_open(u, var, "");
        loops(t, at + 1);
        c_block_close(u, "");
    }
}

static const char *form_of(const c_tile *t) {
    base_arena *arena = t->u->arena;
    const char *lines = t->dot     ? ", points copied to 16-bit lines first"
                        : t->patch ? ", points copied to lines first"
                                   : "";
    if (t->window) {
        return "one channel after the other, its points rolling along rows";
    }
    return t->per_channel ? base_printf(arena, "%" PRIu32 " channels side by side, weights packed%s", t->nr, lines)
                          : base_printf(arena, "register tile of %" PRIu32 " x %" PRIu32 ", weights packed%s", t->mr,
                                        t->nr, lines);
}

bool c_emit_contract(c_unit *u, const plan_schedule *x) {
    c_tile *t = BASE_NEW(u->arena, c_tile);
    *t = (c_tile){.u = u, .x = x, .roles = lang_roles_of(u->ranges, u->stage), .mr_now = 1, .scalar = !u->m->vector};
    bool known = t->roles.pattern == LANG_CONTRACT || t->roles.pattern == LANG_DEPTHWISE;
    uint64_t zero = u->zero_vars;
    bool fits = known && t->roles.a.read != 0 && t->roles.b.read != 0 && find_reduction(t) && reads_are_plain(t) &&
                find_variables(t) && find_accumulated(t) && find_checks(t) && find_inside(t) &&
                c_output_affine(u->p, u->stage, &t->out) && !c_affine_is_wide(u, &t->a) &&
                !c_affine_is_wide(u, &t->out) && pack(t);
    if (!fits) {
        u->zero_vars = zero;
        memset(u->merged, 0, sizeof u->merged);
        for (uint32_t k = 0; k < u->stage->var_count; k++) {
            u->var_max[k] = u->stage->vars[k].bound - 1;
        }
        return false;
    }
    u->form = form_of(t);
    if (t->window) {
        c_emit_window(t);
    } else {
        loops(t, 0);
    }
    return true;
}
