/* cost.c - predicted cycles of a kernel: what its stages do, counted, times what each thing takes on the machine.
 *
 * Takes a kernel with its schedules and the machine's cycles (devices/). Gives one number, 0 without a model. Counts words, reads,
 * stores and rounds of loops of the program; a register tile shares its reads. Knows no operator; measured against qemu's counts of
 * instructions by make bench.
 */
#include "plan/plan_private.h"

#define MOST_LOOKED (UINT64_C(1) << 22) /* nodes, counted for each reduction that has them inside */
#define LIBRARY 20.0                    /* real words that are a function: times a sum */

typedef struct counter {
    base_arena *scratch;
    const lang_program *p;
    const lang_stage *stage;
    const plan_cycles *cycles;
    lang_ref apart; /* a reduction that is counted elsewhere; 0: none */
    uint64_t looked;
} counter;

static double word_cycles(const counter *c, lang_ref r) {
    const lang_node *n = lang_at(c->p, r);
    const base_type type = (base_type)n->type, from = (base_type)lang_at(c->p, lang_operand(c->p, r, 0))->type;
    const plan_cycles *y = c->cycles;
    const bool real = base_type_is_float(type) || base_type_is_float(from), wide = type == BASE_I64 || type == BASE_U64;
    switch ((lang_word)n->code) {
    case LANG_CAST:
        return real ? y->real : 0;
    case LANG_MUL:
        return real ? y->real : wide ? y->long_multiply : y->multiply;
    case LANG_SRDHM:
    case LANG_SRDHM16:
        return y->long_multiply + 2.0 * y->word;
    case LANG_RDIVPOT:
        return 4.0 * y->word;
    case LANG_DIV:
    case LANG_MOD:
    case LANG_TDIV:
    case LANG_TREM:
    case LANG_FMOD:
        return real ? 2.0 * y->real : y->divide;
    case LANG_MIN:
    case LANG_MAX:
    case LANG_SAT:
    case LANG_IF:
        return real ? y->real : 2.0 * y->word;
    default:
        break;
    }
    if (real) {
        return n->code >= LANG_EXP && n->code <= LANG_ERF ? LIBRARY * y->real : y->real;
    }
    return wide ? 2.0 * y->word : y->word;
}

static double rounds_of(const counter *c, lang_ref reduction) {
    const lang_node *n = lang_at(c->p, reduction);
    double rounds = 1;
    for (uint32_t k = 0; k + 3 < n->count; k++) {
        rounds *= (double)c->stage->vars[lang_at(c->p, lang_operand(c->p, reduction, k))->index].bound;
    }
    return rounds;
}

/* Of an expression at one point, each of its nodes once. What an index costs is in the read: most are steps of pointers. */
static double point_cycles(counter *c, lang_ref root) {
    double cycles = 0;
    if (root == 0 || (c->looked += root) > MOST_LOOKED) {
        return 0;
    }
    uint8_t *wanted = BASE_NEWS(c->scratch, uint8_t, (size_t)root + 1);
    wanted[root] = 1;
    for (lang_ref r = root; r > 0; r--) {
        const lang_node *n = lang_at(c->p, r);
        if (wanted[r] == 0 || r == c->apart) {
            continue;
        }
        if (n->kind == LANG_READ) {
            cycles += c->cycles->load + (n->has_fill ? 2.0 * c->cycles->word : 0);
        } else if (n->kind == LANG_REDUCE) {
            const lang_ref guard = lang_operand(c->p, r, n->count - 3), body = lang_operand(c->p, r, n->count - 2);
            const double sum = base_type_is_float((base_type)n->type) ? c->cycles->real : c->cycles->word;
            cycles += rounds_of(c, r) * (point_cycles(c, guard) + point_cycles(c, body) + sum + c->cycles->loop);
        } else if (n->kind == LANG_WORD_) {
            cycles += word_cycles(c, r);
            for (uint32_t k = 0; k < n->count; k++) {
                wanted[lang_operand(c->p, r, k)] = 1;
            }
        }
    }
    return cycles;
}

/* Of one point of a stage in register tiles: sums, then the rest of the body. Points at borders, or in windows, are copied first. */
static double tile_cycles(counter *c, const lang_roles *roles, const plan_schedule *x) {
    const plan_cycles *y = c->cycles;
    const double sums = rounds_of(c, roles->reduction), mr = x->mr, nr = x->nr;
    const base_type type = (base_type)lang_at(c->p, roles->reduction)->type;
    const double product = base_type_is_float(type) ? 2.0 * y->real : y->multiply_add;
    double each = product;
    if (x->form == PLAN_CONTRACT) {
        each += y->load * (1 / mr + 1 / nr) + y->loop / (mr * nr * x->unroll);
        if (roles->mixed && x->line_bytes > 0) {
            const double channels = (double)c->stage->vars[x->n_var].bound;
            each += (y->load + y->store + y->word) / 4.0 / channels;
        }
    } else {
        each +=
            y->load / 2.0 + y->loop / 4.0; /* a window shares what it read with the next; weights stay in registers */
    }
    c->apart = roles->reduction;
    const double rest = point_cycles(c, c->stage->body);
    c->apart = 0;
    return sums * each + rest + y->load + y->store;
}

static double stage_cycles(counter *c, lang_ranges *ranges, const plan_schedule *x) {
    const lang_stage *s = c->stage;
    double points = 1;
    for (uint32_t k = 0; k < s->rank; k++) {
        points *= (double)s->vars[k].bound;
    }
    if (x->form == PLAN_ALIAS) {
        return 0;
    }
    if (x->form == PLAN_CONTRACT || x->form == PLAN_DEPTHWISE) {
        const lang_roles roles = lang_roles_of(ranges, s);
        if (roles.reduction != 0) {
            return points * tile_cycles(c, &roles, x);
        }
    }
    return points * (point_cycles(c, s->body) + c->cycles->store + c->cycles->loop);
}

uint64_t plan_cost(base_arena *arena, const plan_kernel *k, const plan_machine *m) {
    const lang_program *p = k->program;
    if (m->cycles.word == 0 || k->control != PLAN_COMPUTE || p->external != NULL) {
        return 0;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lang_ranges *ranges = lang_ranges_new(scratch, p);
    counter c = {.scratch = scratch, .p = p, .cycles = &m->cycles};
    double cycles = 0;
    for (size_t i = 0; i < p->stages.n; i++) {
        c.stage = &p->stages.at[i];
        cycles += stage_cycles(&c, ranges, &k->schedules[i]);
    }
    base_arena_free(scratch);
    return c.looked > MOST_LOOKED || !(cycles < 1e18) ? 0 : (uint64_t)cycles;
}
