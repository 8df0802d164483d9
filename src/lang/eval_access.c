/* eval_access.c - reading tensors into rows and writing rows to tensors.
 *
 * Takes lang_eval_access: an address affine over the tile with a box of points that are inside (lang_eval_load), or an
 * element number for each point (lang_eval_gather). Gives values in the register's class; outside the tensor the fill,
 * or an error with stage, tensor, index and place. Knows no words.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "lang/eval_private.h"

/* ---- runs: n elements of a tensor at index, index + stride ... to or from n consecutive values of a register ---- */

#define LOAD_RUN(name, S, T)                                                                                           \
    static void name(T *restrict d, const S *restrict s, int64_t stride, size_t n) {                                   \
        if (stride == 1) {                                                                                             \
            for (size_t j = 0; j < n; j++) {                                                                           \
                d[j] = s[j];                                                                                           \
            }                                                                                                          \
        } else if (stride == 0) {                                                                                      \
            T x = s[0];                                                                                                \
            for (size_t j = 0; j < n; j++) {                                                                           \
                d[j] = x;                                                                                              \
            }                                                                                                          \
        } else {                                                                                                       \
            for (size_t j = 0; j < n; j++) {                                                                           \
                d[j] = s[(int64_t)j * stride];                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }
LOAD_RUN(load_f64, double, double)
LOAD_RUN(load_f32, float, float)
LOAD_RUN(load_i64, int64_t, int64_t)
LOAD_RUN(load_u32, uint32_t, int64_t)
LOAD_RUN(load_i32, int32_t, int32_t)
LOAD_RUN(load_i16, int16_t, int32_t)
LOAD_RUN(load_u16, uint16_t, int32_t)
LOAD_RUN(load_i8, int8_t, int32_t)
LOAD_RUN(load_u8, uint8_t, int32_t)

/* Files may hold any byte for true. */
static void load_b8(uint8_t *restrict d, const uint8_t *restrict s, int64_t stride, size_t n) {
    for (size_t j = 0; j < n; j++) {
        d[j] = s[(int64_t)j * stride] != 0;
    }
}

static void load_any(void *d, base_type t, const void *data, int64_t index, int64_t stride, size_t n) {
    lang_eval_class c = lang_eval_class_of(t);
    base_value v = {.u = 0};
    for (size_t j = 0; j < n; j++) {
        if (j == 0 || stride != 0) {
            v = base_load(t, data, (uint64_t)(index + (int64_t)j * stride));
        }
        if (c == LANG_EVAL_I32) {
            ((int32_t *)d)[j] = (int32_t)v.i;
        } else {
            ((float *)d)[j] = (float)v.f;
        }
    }
}

static void load_run(unsigned char *d, base_type t, const void *data, int64_t index, int64_t stride, size_t n) {
#define RUN(E, name, S, T)                                                                                             \
    case BASE_##E:                                                                                                     \
        name((T *)(void *)d, (const S *)data + index, stride, n);                                                      \
        break;
    switch (t) {
        RUN(F64, load_f64, double, double)
        RUN(F32, load_f32, float, float)
        RUN(I64, load_i64, int64_t, int64_t)
        RUN(U64, load_i64, int64_t, int64_t)
        RUN(U32, load_u32, uint32_t, int64_t)
        RUN(STR, load_u32, uint32_t, int64_t)
        RUN(I32, load_i32, int32_t, int32_t)
        RUN(I16, load_i16, int16_t, int32_t)
        RUN(U16, load_u16, uint16_t, int32_t)
        RUN(I8, load_i8, int8_t, int32_t)
        RUN(U8, load_u8, uint8_t, int32_t)
        RUN(BOOL, load_b8, uint8_t, uint8_t)
    default:
        load_any(d, t, data, index, stride, n);
        break;
    }
#undef RUN
}

#define STORE_RUN(name, S, T, expr)                                                                                    \
    static void name(S *restrict d, const T *restrict s, int64_t stride, size_t step, size_t n) {                      \
        if (stride == 1 && step == 1) {                                                                                \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T x = s[j];                                                                                            \
                d[j] = (expr);                                                                                         \
            }                                                                                                          \
        } else {                                                                                                       \
            for (size_t j = 0; j < n; j++) {                                                                           \
                T x = s[j * step];                                                                                     \
                d[(int64_t)j * stride] = (expr);                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
/* One NaN, so that machines agree on the bits of outputs. */
STORE_RUN(store_f64, double, double, x == x ? x : (double)NAN)
STORE_RUN(store_f32, float, float, x == x ? x : NAN)
STORE_RUN(store_i64, int64_t, int64_t, x)
STORE_RUN(store_u32, uint32_t, int64_t, (uint32_t)x)
STORE_RUN(store_i32, int32_t, int32_t, x)
STORE_RUN(store_i16, int16_t, int32_t, (int16_t)x)
STORE_RUN(store_i8, int8_t, int32_t, (int8_t)x)
STORE_RUN(store_b8, uint8_t, uint8_t, x)

/* step 0: one value for all. */
static void store_run(void *data, base_type t, const unsigned char *s, size_t step, int64_t index, int64_t stride,
                      size_t n) {
#define RUN(E, name, S, T)                                                                                             \
    case BASE_##E:                                                                                                     \
        name((S *)data + index, (const T *)(const void *)s, stride, step, n);                                          \
        break;
    switch (t) {
        RUN(F64, store_f64, double, double)
        RUN(F32, store_f32, float, float)
        RUN(I64, store_i64, int64_t, int64_t)
        RUN(U64, store_i64, int64_t, int64_t)
        RUN(U32, store_u32, uint32_t, int64_t)
        RUN(STR, store_u32, uint32_t, int64_t)
        RUN(I32, store_i32, int32_t, int32_t)
        RUN(I16, store_i16, int16_t, int32_t)
        RUN(U16, store_i16, int16_t, int32_t)
        RUN(I8, store_i8, int8_t, int32_t)
        RUN(U8, store_i8, int8_t, int32_t)
        RUN(BOOL, store_b8, uint8_t, uint8_t)
    default:
        for (size_t j = 0; j < n; j++) {
            base_value v;
            if (base_type_is_float(t)) {
                v.f = (double)((const float *)(const void *)s)[j * step];
            } else {
                v.i = ((const int32_t *)(const void *)s)[j * step];
            }
            base_store(t, data, (uint64_t)(index + (int64_t)j * stride), v);
        }
        break;
    }
#undef RUN
}

/* ---- boxes: sub-ranges of the tile's variables ---- */

typedef struct box {
    int64_t lo[LANG_EVAL_TILE_VARS], hi[LANG_EVAL_TILE_VARS];
} box;

static int64_t tile_extent(const lang_eval_access *x, const lang_eval_tile_state *s, uint32_t k) {
    return k == 0 ? s->count : x->tile->extent[k];
}

static int64_t floor_div(int64_t a, int64_t b) {
    return base_floor_div(a, b);
}

/* The values v of axis k, start + v*step in [0, extent), met with the box. Everything is far from the ends of int64_t:
 * see fits. */
static void narrow(box *b, uint32_t k, int64_t start, int64_t step, int64_t extent) {
    int64_t lo, hi; /* hi is exclusive */
    if (step > 0) {
        lo = floor_div(-start + step - 1, step);
        hi = floor_div(extent - 1 - start, step) + 1;
    } else {
        lo = floor_div(start - extent + 1 - step - 1, -step);
        hi = floor_div(start, -step) + 1;
    }
    b->lo[k] = lo > b->lo[k] ? lo : b->lo[k];
    b->hi[k] = hi < b->hi[k] ? hi : b->hi[k];
}

#define FAR ((int64_t)1 << 60)
static bool fits(int64_t start, int64_t step, int64_t count) {
    return start > -FAR && start < FAR && step > -FAR && step < FAR &&
           (count == 0 || (step < 0 ? -step : step) <= FAR / count);
}

/* ---- errors ---- */

static base_status outside(const lang_eval_machine *m, const lang_eval_access *x, const int64_t *index, uint32_t rank) {
    const lang_tensor *t = &m->program->tensors.at[x->tensor];
    const char *stage = x->stage != NULL ? m->program->tensors.at[x->stage->tensor].name : "an extent";
    base_text text = {.arena = m->diags != NULL ? m->diags->arena : NULL};
    if (m->diags == NULL) {
        return BASE_REFUSED;
    }
    for (uint32_t k = 0; k < rank; k++) {
        base_put(&text, "%s%lld", k == 0 ? "" : ",", (long long)index[k]);
    }
    base_puts(&text, "] outside [");
    for (uint32_t k = 0; k < t->rank; k++) {
        base_put(&text, "%s%lld", k == 0 ? "" : ",", (long long)m->dims[x->tensor][k]);
    }
    return base_error(m->diags, x->stage != NULL ? &x->stage->place : NULL, "stage %s of %s: read %s%s[%s]", stage,
                      m->program->name, t->name, x->node->flat ? "." : "", text.at);
}

/* ---- affine loads ---- */

/* The tile's point with the given digits, as indices of the tensor. */
static base_status outside_at(const lang_eval_machine *m, const lang_eval_access *x, size_t point) {
    int64_t index[LANG_MAX_RANK] = {0};
    int64_t digit[LANG_EVAL_TILE_VARS] = {0};
    if (x->tile != NULL) {
        const lang_eval_tile_state *s = &m->tiles[x->tile_number];
        int64_t rest = (int64_t)point;
        for (uint32_t k = x->tile->count; k-- > 0;) {
            int64_t extent = tile_extent(x, s, k);
            digit[k] = rest % extent + (k == 0 ? s->start : 0);
            rest /= extent;
        }
    }
    for (uint32_t k = 0; k < x->check_count; k++) {
        const lang_eval_check *c = &x->check[k];
        index[k] = LANG_EVAL_AT(m, int64_t, c->reg)[c->row ? point : 0];
        for (uint32_t a = 0; x->node != NULL && !c->row && a < LANG_EVAL_TILE_VARS; a++) {
            index[k] = (int64_t)((uint64_t)index[k] + (uint64_t)c->move[a] * (uint64_t)digit[a]);
        }
    }
    return outside(m, x, index, x->check_count);
}

typedef struct transfer {
    lang_eval_machine *m;
    const lang_eval_access *x;
    int64_t base;
    unsigned char *reg;          /* row of the register */
    size_t size;                 /* of one value */
    const unsigned char *scalar; /* store: one value for all */
} transfer;

static void move_run(const transfer *t, size_t point, int64_t index, int64_t stride, size_t n) {
    void *data = t->m->store[t->x->tensor].at[t->x->part];
    base_type type = t->x->type;
    if (t->x->node == NULL) {
        const unsigned char *from = t->scalar != NULL ? t->scalar : t->reg + point * t->size;
        store_run(data, type, from, t->scalar == NULL, index, stride, n);
    } else {
        load_run(t->reg + point * t->size, type, data, index, stride, n);
    }
}

static void move_box(const transfer *t, const box *b, uint32_t k, int64_t index, size_t point) {
    const lang_eval_access *x = t->x;
    const lang_eval_tile_state *s = &t->m->tiles[x->tile_number];
    uint32_t last = x->tile->count - 1;
    if (k == last) {
        move_run(t, point + (size_t)b->lo[k], index + b->lo[k] * x->stride[k], x->stride[k],
                 (size_t)(b->hi[k] - b->lo[k]));
        return;
    }
    size_t inner = 1;
    for (uint32_t i = k + 1; i <= last; i++) {
        inner *= (size_t)tile_extent(x, s, i);
    }
    for (int64_t v = b->lo[k]; v < b->hi[k]; v++) {
        if (x->node != NULL && !x->fill_row && x->stride[k] == 0 && v > b->lo[k] && inner >= 8) {
            memcpy(t->reg + (point + (size_t)v * inner) * t->size,
                   t->reg + (point + (size_t)b->lo[k] * inner) * t->size, inner * t->size);
        } else {
            move_box(t, b, k + 1, index + v * x->stride[k], point + (size_t)v * inner);
        }
    }
}

/* Merges the tile's variables into as few runs as the strides allow, then moves. */
static void move_all(const transfer *t) {
    const lang_eval_access *x = t->x;
    const lang_eval_tile_state *s = &t->m->tiles[x->tile_number];
    uint32_t last = x->tile->count - 1;
    int64_t length = tile_extent(x, s, last), stride = x->stride[last];
    uint32_t k = last;
    while (k > 0 && x->stride[k - 1] == stride * length) {
        k--;
        length *= tile_extent(x, s, k);
    }
    int64_t index = t->base + s->start * x->stride[0];
    if (k == 0) {
        move_run(t, 0, index, stride, (size_t)length);
        return;
    }
    int64_t digit[LANG_EVAL_TILE_VARS] = {0};
    size_t point = 0;
    bool repeated = x->node != NULL; /* the same run for every value of the outer variables: move it once */
    for (uint32_t i = 0; i < k; i++) {
        repeated = repeated && x->stride[i] == 0;
    }
    while (point < s->n) {
        if (repeated && point > 0) {
            memcpy(t->reg + point * t->size, t->reg, (size_t)length * t->size);
        } else {
            move_run(t, point, index, stride, (size_t)length);
        }
        point += (size_t)length;
        for (uint32_t i = k; i-- > 0;) {
            index += x->stride[i];
            if (++digit[i] < tile_extent(x, s, i)) {
                break;
            }
            index -= digit[i] * x->stride[i];
            digit[i] = 0;
        }
    }
}

static void fill_row(const lang_eval_machine *m, const lang_eval_access *x, const transfer *t, size_t n) {
    const unsigned char *from = m->frame + x->fill;
    if (x->fill_row) {
        memcpy(t->reg, from, n * t->size);
        return;
    }
    if (t->size == 4) {
        uint32_t v = *(const uint32_t *)(const void *)from;
        for (size_t j = 0; j < n; j++) {
            ((uint32_t *)(void *)t->reg)[j] = v;
        }
    } else if (t->size == 8) {
        uint64_t v = *(const uint64_t *)(const void *)from;
        for (size_t j = 0; j < n; j++) {
            ((uint64_t *)(void *)t->reg)[j] = v;
        }
    } else {
        memset(t->reg, from[0], n);
    }
}

static bool on_demand(const lang_eval_machine *m, const lang_eval_access *x) {
    return m->demand != NULL && m->program->tensors.at[x->tensor].kind == LANG_STAGE;
}

static base_status load_scalar(lang_eval_machine *m, const lang_eval_access *x, const transfer *t) {
    for (uint32_t k = 0; k < x->check_count; k++) {
        if (!x->check[k].proved &&
            (uint64_t)*LANG_EVAL_AT(m, int64_t, x->check[k].reg) >= (uint64_t)x->check[k].extent) {
            if (!x->has_fill) {
                return outside_at(m, x, 0);
            }
            memcpy(t->reg, m->frame + x->fill, t->size);
            return BASE_OK;
        }
    }
    if (on_demand(m, x)) {
        base_status status = lang_eval_demand_element(m->demand, x->tensor, (uint64_t)t->base);
        if (status != BASE_OK) {
            return status;
        }
    }
    move_run(t, 0, t->base, 1, 1);
    return BASE_OK;
}

/* Point by point: for indices that several variables move, or that may wrap. */
static base_status load_points(lang_eval_machine *m, const lang_eval_access *x, const transfer *t) {
    const lang_eval_tile_state *s = &m->tiles[x->tile_number];
    int64_t digit[LANG_EVAL_TILE_VARS] = {0};
    const uint8_t *mask = x->mask != 0 ? LANG_EVAL_AT(m, uint8_t, x->mask) : NULL;
    digit[0] = s->start;
    for (size_t point = 0; point < s->n; point++) {
        bool inside = true;
        for (uint32_t k = 0; k < x->check_count && inside; k++) {
            const lang_eval_check *c = &x->check[k];
            uint64_t index = (uint64_t)*LANG_EVAL_AT(m, int64_t, c->reg);
            for (uint32_t a = 0; a < x->tile->count; a++) {
                index += (uint64_t)c->move[a] * (uint64_t)digit[a];
            }
            inside = c->proved || index < (uint64_t)c->extent;
        }
        if (inside) {
            int64_t element = t->base;
            for (uint32_t a = 0; a < x->tile->count; a++) {
                element += digit[a] * x->stride[a];
            }
            if (on_demand(m, x)) {
                base_status status = lang_eval_demand_element(m->demand, x->tensor, (uint64_t)element);
                if (status != BASE_OK) {
                    return status;
                }
            }
            move_run(t, point, element, 1, 1);
        } else if (x->has_fill) {
            memcpy(t->reg + point * t->size, m->frame + x->fill + (x->fill_row ? point * t->size : 0), t->size);
        } else if (mask == NULL || mask[point] != 0) {
            return outside_at(m, x, point);
        } else {
            memset(t->reg + point * t->size, 0, t->size);
        }
        for (uint32_t k = x->tile->count; k-- > 0;) {
            int64_t first = k == 0 ? s->start : 0;
            if (++digit[k] < first + tile_extent(x, s, k)) {
                break;
            }
            digit[k] = first;
        }
    }
    return BASE_OK;
}

/* The box of points inside, in chunk coordinates. false: not a box. */
static bool inside_box(const lang_eval_machine *m, const lang_eval_access *x, box *b, bool *whole) {
    const lang_eval_tile_state *s = &m->tiles[x->tile_number];
    for (uint32_t k = 0; k < x->tile->count; k++) {
        b->lo[k] = 0;
        b->hi[k] = tile_extent(x, s, k);
    }
    for (uint32_t k = 0; k < x->check_count; k++) {
        const lang_eval_check *c = &x->check[k];
        int64_t start = *LANG_EVAL_AT(m, int64_t, c->reg);
        if (c->proved) {
            continue;
        }
        if (c->axis == LANG_EVAL_AXIS_MANY) {
            return false;
        }
        if (c->axis == LANG_EVAL_AXIS_NONE) {
            if ((uint64_t)start >= (uint64_t)c->extent) {
                b->hi[0] = 0;
                b->lo[0] = 0;
                break;
            }
            continue;
        }
        uint32_t a = (uint32_t)c->axis;
        int64_t step = c->move[a];
        if (a == 0) {
            if (!fits(start, step, s->start + s->count)) {
                return false;
            }
            start += step * s->start;
        }
        if (!fits(start, step, tile_extent(x, s, a))) {
            return false;
        }
        narrow(b, a, start, step, c->extent);
    }
    *whole = true;
    for (uint32_t k = 0; k < x->tile->count; k++) {
        if (b->hi[k] <= b->lo[k]) {
            b->hi[0] = b->lo[0] = 0;
            *whole = false;
            return true;
        }
        *whole = *whole && b->lo[k] == 0 && b->hi[k] == tile_extent(x, s, k);
    }
    return true;
}

static bool in_box(const lang_eval_access *x, const lang_eval_tile_state *s, const box *b, size_t point) {
    for (uint32_t k = x->tile->count; k-- > 0;) {
        size_t extent = (size_t)tile_extent(x, s, k);
        int64_t digit = (int64_t)(point % extent);
        point /= extent;
        if (digit < b->lo[k] || digit >= b->hi[k]) {
            return false;
        }
    }
    return true;
}

base_status lang_eval_load(lang_eval_machine *m, const lang_eval_ins *i) {
    const lang_eval_access *x = i->extra;
    transfer t = {.m = m,
                  .x = x,
                  .base = *LANG_EVAL_AT(m, int64_t, x->base),
                  .reg = m->frame + i->d,
                  .size = lang_eval_class_size((lang_eval_class)i->cls)};
    if ((i->rows & LANG_EVAL_ROW_D) == 0) {
        return load_scalar(m, x, &t);
    }
    const lang_eval_tile_state *s = &m->tiles[x->tile_number];
    box b;
    bool whole;
    if (!inside_box(m, x, &b, &whole) || on_demand(m, x)) {
        return load_points(m, x, &t);
    }
    if (whole) {
        move_all(&t);
        return BASE_OK;
    }
    if (x->has_fill) {
        fill_row(m, x, &t, s->n);
    } else {
        const uint8_t *mask = x->mask != 0 ? LANG_EVAL_AT(m, uint8_t, x->mask) : NULL;
        for (size_t point = 0; point < s->n; point++) {
            if ((mask == NULL || mask[point] != 0) && !in_box(x, s, &b, point)) {
                return outside_at(m, x, point);
            }
        }
        memset(t.reg, 0, s->n * t.size);
    }
    if (b.hi[0] > b.lo[0]) {
        move_box(&t, &b, 0, t.base + s->start * x->stride[0], 0);
    }
    return BASE_OK;
}

/* ---- gathers ---- */

#define GATHER(name, S, T)                                                                                             \
    static void name(T *restrict d, const S *restrict s, const int64_t *restrict index, size_t n) {                    \
        for (size_t j = 0; j < n; j++) {                                                                               \
            d[j] = s[index[j]];                                                                                        \
        }                                                                                                              \
    }
GATHER(gather_f64, double, double)
GATHER(gather_f32, float, float)
GATHER(gather_i64, int64_t, int64_t)
GATHER(gather_i32, int32_t, int32_t)
GATHER(gather_i8, int8_t, int32_t)
GATHER(gather_u8, uint8_t, int32_t)

static bool gather_run(unsigned char *d, base_type t, const void *data, const int64_t *index, size_t n) {
#define RUN(E, name, S, T)                                                                                             \
    case BASE_##E:                                                                                                     \
        name((T *)(void *)d, (const S *)data, index, n);                                                               \
        return true;
    switch (t) {
        RUN(F64, gather_f64, double, double)
        RUN(F32, gather_f32, float, float)
        RUN(I64, gather_i64, int64_t, int64_t)
        RUN(I32, gather_i32, int32_t, int32_t)
        RUN(I8, gather_i8, int8_t, int32_t)
        RUN(U8, gather_u8, uint8_t, int32_t)
    default:
        return false;
    }
#undef RUN
}

base_status lang_eval_gather(lang_eval_machine *m, const lang_eval_ins *i) {
    const lang_eval_access *x = i->extra;
    transfer t = {.m = m, .x = x, .reg = m->frame + i->d, .size = lang_eval_class_size((lang_eval_class)i->cls)};
    size_t n = (i->rows & LANG_EVAL_ROW_D) != 0 ? m->n : 1;
    const int64_t *index = LANG_EVAL_AT(m, int64_t, i->a);
    size_t step = (i->rows & LANG_EVAL_ROW_A) != 0;
    const uint8_t *inside = i->b != 0 ? LANG_EVAL_AT(m, uint8_t, i->b) : NULL;
    size_t inside_step = (i->rows & LANG_EVAL_ROW_B) != 0;
    const uint8_t *mask = x->mask != 0 ? LANG_EVAL_AT(m, uint8_t, x->mask) : NULL;
    if (inside == NULL && !on_demand(m, x) && step == 1 &&
        gather_run(t.reg, x->type, m->store[x->tensor].at[x->part], index, n)) {
        return BASE_OK;
    }
    for (size_t j = 0; j < n; j++) {
        if (inside == NULL || inside[j * inside_step] != 0) {
            if (on_demand(m, x)) {
                base_status status = lang_eval_demand_element(m->demand, x->tensor, (uint64_t)index[j * step]);
                if (status != BASE_OK) {
                    return status;
                }
            }
            move_run(&t, j, index[j * step], 1, 1);
        } else if (x->has_fill) {
            memcpy(t.reg + j * t.size, m->frame + x->fill + (x->fill_row ? j * t.size : 0), t.size);
        } else if (mask == NULL || mask[j] != 0) {
            return outside_at(m, x, j);
        } else {
            memset(t.reg + j * t.size, 0, t.size);
        }
    }
    return BASE_OK;
}

/* ---- stores ---- */

base_status lang_eval_store_row(lang_eval_machine *m, const lang_eval_ins *i) {
    const lang_eval_access *x = i->extra;
    transfer t = {.m = m,
                  .x = x,
                  .base = *LANG_EVAL_AT(m, int64_t, x->base),
                  .reg = m->frame + i->a,
                  .size = lang_eval_class_size((lang_eval_class)i->cls)};
    if ((i->rows & LANG_EVAL_ROW_A) == 0) {
        t.scalar = t.reg;
    }
    if (x->tile == NULL) {
        move_run(&t, 0, t.base, 1, 1);
    } else {
        move_all(&t);
    }
    return BASE_OK;
}

void lang_eval_affine_row(const lang_eval_machine *m, const lang_eval_ins *i, size_t n) {
    const lang_eval_access *x = i->extra;
    const lang_eval_tile_state *s = &m->tiles[x->tile_number];
    int64_t *restrict d = LANG_EVAL_AT(m, int64_t, i->d);
    uint64_t base = (uint64_t)*LANG_EVAL_AT(m, int64_t, x->base) + (uint64_t)s->start * (uint64_t)x->stride[0];
    uint32_t last = x->tile->count - 1;
    size_t length = (size_t)tile_extent(x, s, last);
    int64_t digit[LANG_EVAL_TILE_VARS] = {0};
    uint64_t stride = (uint64_t)x->stride[last];
    for (size_t point = 0; point < n;) {
        for (size_t j = 0; j < length; j++) {
            d[point + j] = (int64_t)(base + j * stride);
        }
        point += length;
        for (uint32_t k = last; k-- > 0;) {
            base += (uint64_t)x->stride[k];
            if (++digit[k] < tile_extent(x, s, k)) {
                break;
            }
            base -= (uint64_t)digit[k] * (uint64_t)x->stride[k];
            digit[k] = 0;
        }
    }
}
