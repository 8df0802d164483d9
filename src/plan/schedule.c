/* schedule.c - which form each stage of a kernel takes, by its roles and the machine's numbers.
 *
 * Takes a kernel's program and the device. Gives schedules and the reason. Rules, no search; knows no operator.
 */
#include "plan/plan_private.h"

#define NO_VAR 255u

static const char *const form_names[PLAN_FORM_COUNT] = {"alias", "nest", "contract", "depthwise"};
static const char *const role_names[] = {"input", "output", "activation", "scratch", "constant", "state"};

static const struct {
    const char *name, *description;
} moves[] = {
#define MOVE(id, name, description) {name, description},
#include "plan/moves.def"
#undef MOVE
};

const char *plan_move_name(plan_move m) {
    return moves[m].name;
}
const char *plan_move_description(plan_move m) {
    return moves[m].description;
}
const char *plan_form_name(plan_form f) {
    return form_names[f];
}
const char *plan_role_name(plan_role r) {
    return role_names[r];
}

static int64_t extent_of(const lang_stage *s, uint32_t var) {
    return s->vars[var].bound;
}

static bool is_constant(const lang_program *p, lang_ref read) {
    const lang_tensor *t = &p->tensors.at[lang_at(p, read)->index];
    return t->data != NULL;
}

/* The innermost output variable with a role; NO_VAR: none. */
static uint8_t innermost(const lang_stage *s, const lang_roles *r, lang_role role) {
    for (uint32_t k = s->rank; k-- > 0;) {
        if (r->role[k] == role && extent_of(s, k) > 1) {
            return (uint8_t)k;
        }
    }
    return NO_VAR;
}

/* Tiles of equal size rather than a full tile and a rest: ceil(extent / ceil(extent / tile)). */
static uint32_t even_tile(int64_t extent, uint32_t tile) {
    if (extent <= (int64_t)tile || tile == 0) {
        return extent < 1 ? 1 : (uint32_t)(extent < (int64_t)tile ? extent : tile);
    }
    int64_t tiles = (extent + tile - 1) / tile;
    return (uint32_t)((extent + tiles - 1) / tiles);
}

/* Bytes of the points of a tile in the order of the reduction, where A does not have them one after the other. */
static uint64_t bytes_of_lines(const lang_program *p, const lang_stage *s, const lang_roles *r, uint32_t points) {
    const lang_node *sum = lang_at(p, r->reduction), *read = lang_at(p, r->a.read);
    uint64_t elements = points, bytes;
    uint32_t loops = 0;
    for (uint32_t k = 0; k + 3 < sum->count; k++) {
        int64_t extent = extent_of(s, lang_at(p, lang_operand(p, r->reduction, k))->index);
        loops += extent > 1;
        if (!base_mul_size(elements, (uint64_t)(extent > 1 ? extent : 1), &elements)) {
            return 0;
        }
    }
    return loops > 1 && base_type_bytes((base_type)read->type, elements, &bytes) ? bytes : 0;
}

static void natural_order(plan_schedule *x, const lang_stage *s) {
    x->order_count = s->rank;
    for (uint32_t k = 0; k < s->rank; k++) {
        x->order[k] = (uint8_t)k;
    }
}

/* A run decides how far a loop goes, or how far a tensor that is read. */
static bool is_open(const lang_program *p, const lang_stage *s) {
    bool open = false;
    for (uint32_t k = 0; k < s->var_count; k++) {
        open = open || lang_at(p, s->vars[k].extent)->kind != LANG_CONST;
    }
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        for (uint32_t k = 0; k < p->tensors.at[t].rank; k++) {
            open = open || (p->tensors.at[t].extent[k] != 0 && lang_reads_of(p, s, t) > 0);
        }
    }
    return open;
}

static const char *schedule_stage(const lang_program *p, const lang_stage *s, const lang_roles *r,
                                  const plan_options *o, plan_schedule *x) {
    const plan_machine *m = &o->device->machine;
    *x = (plan_schedule){.form = PLAN_NEST, .n_var = NO_VAR, .mr = 1, .nr = 1, .unroll = 1, .threads_var = NO_VAR};
    natural_order(x, s);
    if (o->opt_level == 0) {
        return "opt_level 0: the nest as defined";
    }
    if (is_open(p, s)) {
        return "one loop nest, to extents that a run decides";
    }
    const plan_moves without = o->without;
    bool packable = r->b.read != 0 && is_constant(p, r->b.read);
    if (r->pattern == LANG_CONTRACT && packable && !plan_has(without, PLAN_MOVE_TILE) &&
        innermost(s, r, LANG_ROLE_N) != NO_VAR) {
        x->form = PLAN_CONTRACT;
        x->n_var = innermost(s, r, LANG_ROLE_N);
        uint8_t points = innermost(s, r, LANG_ROLE_M);
        x->mr = points == NO_VAR ? 1 : even_tile(extent_of(s, points), m->tile_m);
        /* one point: all accumulators that there are for the channels */
        bool alone = points == NO_VAR && m->vector_bytes == 0 && m->registers > m->tile_n;
        x->nr = even_tile(extent_of(s, x->n_var), alone ? m->registers : m->tile_n);
        x->unroll = o->goal == PLAN_SIZE || plan_has(without, PLAN_MOVE_UNROLL) ? 1
                    : o->opt_level >= 2                                         ? 2 * m->unroll_k
                                                                                : m->unroll_k;
        x->hoist_zero = r->a.addend != 0 && !plan_has(without, PLAN_MOVE_HOIST_ZERO);
        const bool lines = m->vector_bytes == 0 && o->goal != PLAN_SIZE && !plan_has(without, PLAN_MOVE_LINES);
        x->line_bytes = lines ? bytes_of_lines(p, s, r, x->mr) : 0;
        return "a sum of products with constant factor: register tile, weights packed";
    }
    if (r->pattern == LANG_DEPTHWISE && packable && !plan_has(without, PLAN_MOVE_DEPTHWISE) &&
        innermost(s, r, LANG_ROLE_BATCH) != NO_VAR) {
        x->form = PLAN_DEPTHWISE;
        x->n_var = innermost(s, r, LANG_ROLE_BATCH);
        x->nr = even_tile(extent_of(s, x->n_var), m->depthwise_n);
        x->hoist_zero = r->a.addend != 0;
        return "a sum of products without a shared factor: channels side by side, weights packed";
    }
    return "one loop nest";
}

static uint32_t at_most(int64_t extent, uint32_t most) {
    return extent < (int64_t)most ? (uint32_t)extent : most;
}

plan_tile_limits plan_tile_limits_of(lang_ranges *ranges, const lang_stage *s, const plan_schedule *x) {
    enum { MOST_POINTS = 64, MOST_CHANNELS = 256, MOST_ACCUMULATORS = 512, MOST_UNROLLED = 32 };
    const lang_roles roles = lang_roles_of(ranges, s);
    const uint8_t points = innermost(s, &roles, LANG_ROLE_M);
    return (plan_tile_limits){
        .points = x->form != PLAN_CONTRACT || points == NO_VAR ? 1 : at_most(extent_of(s, points), MOST_POINTS),
        .channels = at_most(extent_of(s, x->n_var), MOST_CHANNELS),
        .accumulators = MOST_ACCUMULATORS,
        .unroll = x->form == PLAN_CONTRACT ? MOST_UNROLLED : 1};
}

bool plan_is_tiled(const plan_options *o, const lang_program *p, lang_ranges *ranges, const lang_stage *s) {
    const lang_roles roles = lang_roles_of(ranges, s);
    plan_schedule x;
    (void)schedule_stage(p, s, &roles, o, &x);
    return x.form == PLAN_CONTRACT || x.form == PLAN_DEPTHWISE;
}

void plan_schedule_kernel(base_arena *arena, plan_kernel *k, const plan_options *o) {
    const lang_program *p = k->program;
    lang_ranges *ranges = lang_ranges_new(arena, p);
    k->schedules = BASE_NEWS(arena, plan_schedule, p->stages.n + 1);
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        lang_roles roles = lang_roles_of(ranges, s);
        k->reason = schedule_stage(p, s, &roles, o, &k->schedules[i]);
    }
}
