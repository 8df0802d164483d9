/* speak.c - expressions as operators: one for each scalar word, reads as moves or gathers, and whole programs stage by stage.
 *
 * Takes a program. Gives nodes. Knows operators only as the words of spoken.def.
 */
#include <math.h>
#include <string.h>

#include "passes/speak.h"

#define MOST_INDICES ((int64_t)1 << 22) /* that become a constant */

static base_type type_of(const speaker *s, lang_ref e) {
    return (base_type)lang_at(s->p, e)->type;
}

static uint32_t say_word(speak_frame_values *f, lang_ref e, const uint32_t *v) {
    const lang_node *n = lang_at(f->s->p, e);
    return speak_scalar_word(f->s, (lang_word)n->code, type_of(f->s, lang_operand(f->s->p, e, 0)), (base_type)n->type,
                             v, n->count);
}

/* ---- indices as values ---- */

/* The number of the round, which no frame has: its factor is taken out of the form. false: the form has digits of it. */
static bool take_round(const speaker *s, lang_digits *form, int64_t *factor) {
    *factor = 0;
    for (uint32_t i = 0; s->loop != NULL && i < form->n;) {
        const lang_digit *d = &form->term[i].digit;
        if (d->var != s->loop->var) {
            i++;
            continue;
        }
        if (d->low != 1 || d->extent != s->loop->rounds) {
            return false;
        }
        *factor = form->term[i].factor;
        form->n--;
        memmove(&form->term[i], &form->term[i + 1], (form->n - i) * sizeof form->term[0]);
    }
    return true;
}

static uint32_t say_form(speak_frame_values *f, const lang_digits *whole, base_type type) {
    int64_t factor[SPEAK_DIGITS], dims[SPEAK_DIGITS], total = 1, of_round = 0;
    lang_digits own = *whole, *form = &own;
    if (!take_round(f->s, form, &of_round) || !speak_factors(&f->frame, form, factor) || f->frame.n > IR_MAX_RANK) {
        return IR_NONE;
    }
    if (of_round != 0) {
        speaker *s = f->s;
        uint32_t v[2] = {speak_cast(s, s->loop->index, type), speak_number(s, type, (double)of_round)};
        v[0] = of_round == 1 ? v[0] : speak_word(s, "mul", v, 2, BASE_NONE);
        v[1] = say_form(f, form, type);
        return form->n == 0 && form->constant == 0 ? v[0] : speak_word(s, "add", v, 2, BASE_NONE);
    }
    for (uint32_t k = 0; k < f->frame.n; k++) {
        dims[k] = factor[k] != 0 ? f->frame.at[k].extent : 1;
        total *= dims[k];
    }
    if (total > MOST_INDICES) {
        return IR_NONE;
    }
    void *data = base_alloc(f->s->scratch, (size_t)total + 1, 8);
    for (int64_t i = 0; i < total; i++) {
        int64_t value = form->constant, rest = i;
        for (uint32_t k = f->frame.n; k-- > 0; rest /= dims[k]) {
            value += rest % dims[k] * factor[k];
        }
        base_store(type, data, (uint64_t)i, (base_value){.i = value});
    }
    return speak_constant(f->s, type, f->frame.n, dims, data);
}

/* A whole number that a float holds, or an integer of 16 bits, behind a conversion to double: in f32, as far as it is in range. */
static uint32_t small_whole(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    if (n->kind == LANG_CONST) {
        return n->value.f == rint(n->value.f) && fabs(n->value.f) <= 65535 ? speak_number(s, BASE_F32, n->value.f)
                                                                           : IR_NONE;
    }
    const lang_ref from = n->kind == LANG_WORD_ && n->code == LANG_CAST ? lang_operand(s->p, e, 0) : 0;
    const lang_node *x = from != 0 ? lang_at(s->p, from) : n;
    const bool is_rounded = (x->type == BASE_F32 || x->type == BASE_F16 || x->type == BASE_BF16) &&
                            x->kind == LANG_WORD_ && x->code == LANG_RNE;
    const bool is_small = !base_type_is_float((base_type)x->type) && base_type_bits((base_type)x->type) <= 16;
    return from != 0 && (is_rounded || is_small) ? speak_cast(s, speak_value(f, from), BASE_F32) : IR_NONE;
}

/* The sum in double of two such, saturated to 16 bits or fewer: what a float rounds of it lies outside in any case. */
static uint32_t saturated_sum(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e), *sum = lang_at(s->p, lang_operand(s->p, e, 0));
    uint32_t v[2];
    if (n->code != LANG_SAT || base_type_is_float((base_type)n->type) || base_type_bits((base_type)n->type) > 16 ||
        sum->kind != LANG_WORD_ || sum->code != LANG_ADD || sum->type != BASE_F64) {
        return IR_NONE;
    }
    for (uint32_t k = 0; k < 2; k++) {
        v[k] = small_whole(f, lang_operand(s->p, lang_operand(s->p, e, 0), k));
    }
    v[0] = speak_word(s, "add", v, 2, BASE_NONE);
    return v[0] == IR_NONE ? IR_NONE : speak_scalar_word(s, LANG_SAT, BASE_F32, (base_type)n->type, v, 1);
}

/* An operand of a power in double: a float, or integers of which each is one. */
static uint32_t power_operand(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    const lang_ref from = n->kind == LANG_WORD_ && n->code == LANG_CAST ? lang_operand(s->p, e, 0) : 0;
    const uint32_t v = from != 0 ? speak_value(f, from) : IR_NONE;
    if (v == IR_NONE) {
        return IR_NONE;
    }
    const ir_tensor t = s->g->tensors.at[v];
    uint64_t count = 0;
    bool fits = t.type == BASE_F32 || (!base_type_is_float(t.type) && base_type_bits(t.type) <= 16);
    if (!fits && t.data != NULL && !base_type_is_float(t.type) && ir_shape_elements(&t.shape, &count)) {
        fits = true;
        for (uint64_t i = 0; i < count; i++) {
            const int64_t x = base_load(t.type, t.data, i).i;
            fits = fits && x >= -16777216 && x <= 16777216;
        }
    }
    return fits ? speak_cast(s, v, BASE_F32) : IR_NONE;
}

/* A power in double that becomes a float: of floats it is the same but for rounding. */
static uint32_t power_of_floats(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e), *power = lang_at(s->p, lang_operand(s->p, e, 0));
    uint32_t v[2];
    if (n->code != LANG_CAST || n->type != BASE_F32 || power->kind != LANG_WORD_ || power->code != LANG_POW ||
        power->type != BASE_F64) {
        return IR_NONE;
    }
    for (uint32_t k = 0; k < 2; k++) {
        v[k] = power_operand(f, lang_operand(s->p, lang_operand(s->p, e, 0), k));
    }
    return speak_word(s, "pow", v, 2, BASE_NONE);
}

static uint32_t word(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    uint32_t v[3], t = n->code == LANG_ADD || n->code == LANG_DIV ? speak_together(f, e) : IR_NONE;
    lang_digits form;
    if (t != IR_NONE) {
        return t;
    }
    if (n->free != 0 && lang_digits_of(s->p, e, &form)) {
        return say_form(f, &form, (base_type)n->type);
    }
    t = saturated_sum(f, e);
    t = t == IR_NONE ? power_of_floats(f, e) : t;
    if (t != IR_NONE) {
        return t;
    }
    for (uint32_t k = 0; k < n->count; k++) {
        v[k] = speak_value(f, lang_operand(s->p, e, k));
        if (v[k] == IR_NONE) {
            return IR_NONE;
        }
    }
    return say_word(f, e, v);
}

/* ---- reads ---- */

/* Index k of the read, of a tensor with that extent: kept inside where it may not be, which then `inside` says. */
static uint32_t read_index(speak_frame_values *f, lang_ref index, int64_t extent, uint32_t *inside) {
    speaker *s = f->s;
    uint32_t v = speak_value(f, index);
    lang_digits form;
    int64_t lo = -1, hi = extent;
    if (v == IR_NONE || extent < 1) {
        return IR_NONE;
    }
    if (lang_digits_of(s->p, index, &form) && lang_digits_range(&form, &lo, &hi) && lo >= 0 && hi < extent) {
        return v;
    }
    const uint32_t low = speak_number(s, BASE_I64, 0), high = speak_number(s, BASE_I64, (double)(extent - 1));
    const uint32_t kept = speak_word(
        s, "minimum", (uint32_t[]){speak_word(s, "maximum", (uint32_t[]){v, low}, 2, BASE_NONE), high}, 2, BASE_NONE);
    const uint32_t is = speak_word(s, "equal", (uint32_t[]){v, kept}, 2, BASE_NONE);
    *inside = *inside == IR_NONE ? is : speak_word(s, "logical_and", (uint32_t[]){*inside, is}, 2, BASE_NONE);
    return *inside == IR_NONE ? IR_NONE : kept;
}

/* Each element from where its indices, computed as values, say. */
static uint32_t gathered(speak_frame_values *f, lang_ref e, const speak_source *from) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    const lang_tensor *t = &s->p->tensors.at[n->index];
    uint32_t inside = IR_NONE, at = IR_NONE;
    int64_t count = 1, stride = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        count *= k == from->round_axis ? 1 : t->dim[k];
    }
    if (n->flat) {
        at = from->round_axis != IR_NONE ? IR_NONE : read_index(f, lang_operand(s->p, e, 0), count, &inside);
    }
    for (uint32_t k = t->rank; k-- > 0 && !n->flat;) {
        if (k == from->round_axis) {
            continue;
        }
        uint32_t v = read_index(f, lang_operand(s->p, e, k), t->dim[k], &inside);
        if (v != IR_NONE && stride != 1) {
            v = speak_word(s, "mul", (uint32_t[]){v, speak_number(s, BASE_I64, (double)stride)}, 2, BASE_NONE);
        }
        at = stride == 1 ? v : speak_word(s, "add", (uint32_t[]){at, v}, 2, BASE_NONE);
        if (at == IR_NONE) {
            return IR_NONE;
        }
        stride *= t->dim[k];
    }
    at = at == IR_NONE && !n->flat && stride == 1 ? speak_number(s, BASE_I64, 0) : at;
    if (at == IR_NONE) {
        return IR_NONE;
    }
    const uint32_t value = speak_gather(s, speak_reshape(s, from->tensor, 1, &count), at);
    if (value == IR_NONE || inside == IR_NONE || !n->has_fill) {
        return value;
    }
    const uint32_t fill = speak_value(f, lang_operand(s->p, e, n->count - 1));
    return speak_scalar_word(s, LANG_IF, BASE_BOOL, (base_type)n->type, (uint32_t[]){inside, value, fill}, 3);
}

static uint32_t read_value(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    const speak_mark mark = speak_here(s);
    speak_axes axes;
    speak_source from;
    if (!speak_source_of(s, e, &from)) {
        return IR_NONE;
    }
    if (from.before && s->loop->rounds == 1) {
        return n->has_fill ? speak_value(f, lang_operand(s->p, e, n->count - 1)) : IR_NONE;
    }
    uint32_t t = speak_read(s, e, &f->frame, &axes) ? speak_to_frame(s, &axes, &f->frame) : IR_NONE;
    if (t == IR_NONE && s->gathers) {
        speak_back(s, mark);
        t = gathered(f, e, &from);
    }
    if (t == IR_NONE || !from.before || !n->has_fill) {
        return t;
    }
    /* before the first round there is what fills */
    const uint32_t zero = speak_number(s, BASE_I64, 0), fill = speak_value(f, lang_operand(s->p, e, n->count - 1));
    const uint32_t later = speak_word(s, "less", (uint32_t[]){zero, s->loop->index}, 2, BASE_NONE);
    return speak_scalar_word(s, LANG_IF, BASE_BOOL, (base_type)n->type, (uint32_t[]){later, t, fill}, 3);
}

uint32_t speak_value(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    uint32_t t = IR_NONE;
    lang_digits form;
    if (f->memo[e] != 0) {
        return f->memo[e] - 1;
    }
    switch ((lang_kind)n->kind) {
    case LANG_CONST:
        t = speak_scalar(s, (base_type)n->type, n->value);
        break;
    case LANG_VAR:
        t = lang_digits_of(s->p, e, &form) ? say_form(f, &form, (base_type)n->type) : IR_NONE;
        break;
    case LANG_READ:
        t = read_value(f, e);
        break;
    case LANG_WORD_:
        t = word(f, e);
        break;
    case LANG_REDUCE:
        t = speak_reduction(f, e);
        break;
    }
    f->memo[e] = t != IR_NONE ? t + 1 : 0;
    return t;
}

/* ---- programs ---- */

uint32_t speak_stage(speaker *s, const lang_stage *stage) {
    const lang_tensor *t = &s->p->tensors.at[stage->tensor];
    uint32_t vars[LANG_MAX_RANK], count = 0;
    int64_t dims[SPEAK_DIGITS], own[LANG_MAX_RANK];
    bool whole = true;
    speak_frame_values f = {.s = s};
    if (t->rank > IR_MAX_RANK) {
        return IR_NONE;
    }
    for (uint32_t k = 0; k < stage->rank; k++) {
        if (t->extent[k] != 0) {
            return IR_NONE;
        }
        if (s->loop == NULL || k != s->loop->var) {
            own[count] = t->dim[k];
            vars[count++] = k;
        }
    }
    s->s = stage;
    f.memo = BASE_NEWS(s->scratch, uint32_t, s->p->nodes.n);
    if (!speak_frame(s, &stage->body, 1, vars, count, NULL, &f.frame)) {
        return IR_NONE;
    }
    uint32_t v = speak_value(&f, stage->body);
    if (v == IR_NONE) {
        return IR_NONE;
    }
    for (uint32_t k = 0; k < f.frame.n; k++) {
        dims[k] = f.frame.at[k].extent;
        whole = whole && speak_shape(s, v)->rank == f.frame.n && speak_shape(s, v)->dim[k] == dims[k];
    }
    v = whole || f.frame.n > IR_MAX_RANK ? v : speak_broadcast(s, v, f.frame.n, dims);
    v = speak_reshape(s, v, count, own);
    return v != IR_NONE && s->g->tensors.at[v].type == t->type ? v : IR_NONE;
}

bool speak_program(speaker *s, uint32_t *outputs) {
    const speak_mark mark = speak_here(s);
    bool said = s->p->external == NULL;
    for (uint32_t t = 0; said && t < s->p->tensors.n; t++) {
        const lang_tensor *x = &s->p->tensors.at[t];
        if (x->kind == LANG_CONSTANT && s->tensor[t] == IR_NONE && x->rank <= IR_MAX_RANK) {
            s->tensor[t] = speak_constant(s, x->type, x->rank, x->dim, x->data);
        }
    }
    for (size_t i = 0; said && i < s->p->stages.n; i++) {
        const lang_stage *stage = &s->p->stages.at[i];
        if (stage->rec >= 0) {
            said = speak_recurrence(s, i);
            while (said && i + 1 < s->p->stages.n && s->p->stages.at[i + 1].rec == stage->rec) {
                i++;
            }
            continue;
        }
        s->tensor[stage->tensor] = speak_stage(s, stage);
        said = s->tensor[stage->tensor] != IR_NONE;
    }
    for (size_t i = 0; said && i < s->p->outputs.n; i++) {
        outputs[i] = s->tensor[s->p->outputs.at[i]];
        said = outputs[i] != IR_NONE;
    }
    if (!said) {
        speak_back(s, mark);
    }
    return said;
}
