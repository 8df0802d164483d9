/* channels_roles.c - what a node does with the channels of its inputs, read off its program.
 *
 * Takes a program of one stage. A variable is pure where it only stands as the whole index along whole extents: then leaving out
 * values of it leaves out elements of tensors and points of a loop, and changes nothing else. Of a pure output variable the
 * channels are carried; of a pure variable of a sum they are added up.
 */
#include <string.h>

#include "passes/channels.h"

#define MOST_INPUTS 64u
#define NO_VARIABLE UINT32_MAX
#define SEVERAL (UINT32_MAX - 1) /* an index that is no variable, or not the same in each read */

typedef struct reading {
    uint32_t var[LANG_MAX_RANK]; /* along each extent */
} reading;

typedef struct variables {
    reading *of; /* each tensor */
    uint64_t impure;
} variables;

static uint64_t bit(uint32_t v) {
    return UINT64_C(1) << v;
}

/* The variable that is the whole index and goes over the whole extent. */
static uint32_t whole_index(const lang_stage *s, const lang_tensor *t, uint32_t k, const lang_digits *x) {
    if (x->n != 1 || x->constant != 0 || x->term[0].factor != 1 || x->term[0].digit.low != 1) {
        return SEVERAL;
    }
    const uint32_t v = x->term[0].digit.var;
    return v < s->var_count && x->term[0].digit.extent == s->vars[v].bound && t->dim[k] == s->vars[v].bound ? v
                                                                                                            : SEVERAL;
}

static void add_read(variables *u, const lang_program *p, const lang_stage *s, lang_ref r) {
    const lang_node *n = lang_at(p, r);
    const lang_tensor *t = &p->tensors.at[n->index];
    reading *to = &u->of[n->index];
    lang_digits index[LANG_MAX_RANK];
    const bool known = lang_digits_read(p, r, index);
    for (uint32_t k = 0; k < n->count - (n->has_fill ? 1 : 0); k++) {
        u->impure |= known ? 0 : lang_at(p, lang_operand(p, r, k))->free;
    }
    for (uint32_t k = 0; k < t->rank; k++) {
        const uint32_t v = known ? whole_index(s, t, k, &index[k]) : SEVERAL;
        for (uint32_t i = 0; known && v == SEVERAL && i < index[k].n; i++) {
            u->impure |= bit(index[k].term[i].digit.var);
        }
        if (to->var[k] != NO_VARIABLE && to->var[k] != v) {
            u->impure |= (v < LANG_MAX_VARS ? bit(v) : 0) | (to->var[k] < LANG_MAX_VARS ? bit(to->var[k]) : 0);
            to->var[k] = SEVERAL;
            continue;
        }
        to->var[k] = v;
    }
}

/* Variables that are operands of anything but reads are impure. */
static variables find_variables(base_arena *scratch, const lang_program *p, const lang_stage *s) {
    variables u = {.of = BASE_NEWS(scratch, reading, p->tensors.n + 1)};
    uint8_t *seen = BASE_NEWS(scratch, uint8_t, p->nodes.n + 1);
    BASE_VEC(lang_ref) stack = {0};
    memset(u.of, 0xff, (p->tensors.n + 1) * sizeof *u.of);
    *BASE_PUSH(scratch, &stack) = s->body;
    while (stack.n > 0) {
        const lang_ref r = stack.at[--stack.n];
        const lang_node *n = lang_at(p, r);
        if (r == 0 || seen[r] != 0) {
            continue;
        }
        seen[r] = 1;
        uint32_t from = 0;
        if (n->kind == LANG_VAR) {
            u.impure |= bit(n->index);
            continue;
        }
        if (n->kind == LANG_READ) {
            add_read(&u, p, s, r);
            from = n->count - (n->has_fill ? 1 : 0);
        } else if (n->kind == LANG_REDUCE) {
            from = n->count - 3; /* the variables themselves */
        }
        for (uint32_t k = from; k < n->count; k++) {
            *BASE_PUSH(scratch, &stack) = lang_operand(p, r, k);
        }
    }
    return u;
}

static bool is_pure(const variables *u, uint32_t v) {
    return v < LANG_MAX_VARS && (u->impure >> v & 1) == 0;
}

uint32_t channels_axis(const channel_finder *f, base_arena *scratch, const lang_program *p, const lang_stage *s,
                       const ir_node *n) {
    const variables u = find_variables(scratch, p, s);
    uint32_t best = s->rank - 1, most = 0;
    for (uint32_t v = 0; v < s->rank; v++) {
        uint32_t votes = 0;
        for (size_t k = 0; k < p->inputs.n && is_pure(&u, v); k++) {
            const uint32_t in = p->inputs.at[k], t = k < n->input_count ? n->inputs[k] : IR_NONE;
            for (uint32_t d = 0; in != IR_NONE && t != IR_NONE && d < p->tensors.at[in].rank; d++) {
                const bool known = p->tensors.at[in].data != NULL;
                votes += u.of[in].var[d] != v ? 0 : known ? 1 : f->of[t].range != NULL && f->of[t].axis == d ? 4 : 0;
            }
        }
        if (votes > 0 && votes >= most) {
            best = v;
            most = votes;
        }
    }
    return best;
}

/* Which input, not a constant, has an extent by variable v; `but` not counted. */
static bool read_by_others(const lang_program *p, const variables *u, uint32_t v, uint32_t but) {
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        for (uint32_t d = 0; d < p->tensors.at[t].rank && t != but && p->tensors.at[t].data == NULL; d++) {
            if (u->of[t].var[d] == v) {
                return true;
            }
        }
    }
    return false;
}

/* Nothing that is not followed has the output's channels, and of no tensor two extents. */
static bool can_follow(const channel_finder *f, const lang_program *p, const variables *u, const ir_node *n,
                       uint32_t v) {
    for (size_t k = 0; k < p->inputs.n; k++) {
        const uint32_t in = p->inputs.at[k], t = k < n->input_count ? n->inputs[k] : IR_NONE;
        for (uint32_t d = 0; in != IR_NONE && d < p->tensors.at[in].rank && p->tensors.at[in].data == NULL; d++) {
            if (u->of[in].var[d] == v && (t == IR_NONE || f->of[t].range == NULL || f->of[t].axis != d)) {
                return false;
            }
        }
    }
    return is_pure(u, v);
}

static bool *find_absorbed(channel_finder *f, base_arena *scratch, const lang_program *p, const lang_stage *s,
                           const ir_node *n, uint32_t in, uint32_t v, int64_t channels) {
    bool *absorbs = BASE_NEWS(f->e->scratch, bool, (size_t)channels + 1);
    lang_range *range = BASE_NEWS(scratch, lang_range, (size_t)channels + 1);
    const uint8_t *reached = lang_reached(scratch, p, s);
    lang_along *a = lang_along_new(scratch, p, &f->work);
    channels_tell(f, a, p, n);
    memset(absorbs, 1, (size_t)channels);
    for (lang_ref r = 1; r <= s->body; r++) {
        if (reached[r] == 0 || lang_at(p, r)->kind != LANG_READ || lang_at(p, r)->index != in) {
            continue;
        }
        (void)lang_ranges_along(a, s, r, v, range);
        for (int64_t c = 0; c < channels; c++) {
            absorbs[c] = absorbs[c] && range[c].known && range[c].lo == range[c].hi;
        }
    }
    return absorbs;
}

static channel_role role_of(const channel_finder *f, const lang_program *p, const lang_stage *s, const variables *u,
                            const ir_node *n, size_t k, bool follows) {
    const uint32_t t = n->inputs[k], in = k < p->inputs.n ? p->inputs.at[k] : IR_NONE;
    if (t == IR_NONE || f->of[t].range == NULL) {
        return CHANNELS_UNTOUCHED;
    }
    const uint32_t v = in != IR_NONE && f->of[t].axis < p->tensors.at[in].rank ? u->of[in].var[f->of[t].axis] : SEVERAL;
    if (!is_pure(u, v)) {
        return CHANNELS_NEEDED;
    }
    if (v < s->rank) {
        return follows && v == f->of[n->outputs[0]].axis ? CHANNELS_CARRIED : CHANNELS_NEEDED;
    }
    for (uint32_t d = 0; d < p->tensors.at[in].rank; d++) {
        if (d != f->of[t].axis && u->of[in].var[d] == v) {
            return CHANNELS_NEEDED;
        }
    }
    return read_by_others(p, u, v, in) ? CHANNELS_NEEDED : CHANNELS_SUMMED;
}

void channels_find_roles(channel_finder *f, const ir_node *n, node_roles *out) {
    const along_axis *to = &f->of[n->outputs[0]];
    bool any = to->range != NULL;
    for (size_t k = 0; k < n->input_count; k++) {
        any = any || (n->inputs[k] != IR_NONE && f->of[n->inputs[k]].range != NULL);
    }
    if (!any || n->input_count > MOST_INPUTS) {
        return;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(f->e->c->arena));
    const lang_program *p = NULL;
    const lang_stage *s = channels_stage(f, scratch, n, &p, NULL);
    if (s != NULL && s->rank == f->e->g->tensors.at[n->outputs[0]].shape.rank) {
        const variables u = find_variables(scratch, p, s);
        out->follows = to->range != NULL && can_follow(f, p, &u, n, to->axis);
        out->role = BASE_NEWS(f->e->scratch, channel_role, n->input_count + 1);
        out->absorbs = BASE_NEWS(f->e->scratch, bool *, n->input_count + 1);
        out->extent = base_alloc(f->e->scratch, n->input_count + 1, sizeof *out->extent);
        uint32_t summed[LANG_MAX_VARS] = {0}; /* of each variable 1 + the input whose channels it is */
        for (size_t k = 0; k < n->input_count; k++) {
            const uint32_t t = n->inputs[k];
            out->role[k] = role_of(f, p, s, &u, n, k, out->follows);
            if (out->role[k] == CHANNELS_SUMMED) {
                const uint32_t v = u.of[p->inputs.at[k]].var[f->of[t].axis];
                out->absorbs[k] = find_absorbed(f, scratch, p, s, n, p->inputs.at[k], v, f->of[t].n);
                summed[v] = (uint32_t)k + 1;
            }
        }
        for (size_t k = 0; k < n->input_count && k < p->inputs.n; k++) {
            const uint32_t in = p->inputs.at[k];
            for (uint32_t d = 0;
                 in != IR_NONE && p->tensors.at[in].data != NULL && d < p->tensors.at[in].rank && d < IR_MAX_RANK;
                 d++) {
                const uint32_t v = u.of[in].var[d];
                const bool by_output = out->follows && v == to->axis;
                out->extent[k][d] = by_output                            ? CHANNELS_OUTPUT
                                    : v < LANG_MAX_VARS && summed[v] > 0 ? (uint8_t)(CHANNELS_INPUT + summed[v] - 1)
                                                                         : 0;
            }
        }
    }
    base_arena_free(scratch);
}
