/* speak.c - expressions as operators: one for each scalar word, reductions over bodies, and whole programs stage by stage.
 *
 * Takes a program. Gives nodes. Knows operators only as the words of spoken.def and the reductions' names.
 */
#include <math.h>
#include <string.h>

#include "passes/speak.h"

#define MOST_MADE ((int64_t)1 << 26)    /* elements of a reduction's body */
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

/* ---- reductions ---- */

static bool is_reduction_of_products(const speaker *s, lang_ref e) {
    const lang_node *n = lang_at(s->p, e);
    return n->kind == LANG_REDUCE && n->code == LANG_SUM;
}

static const char *word_of(lang_reduction r) {
    static const char *const words[] = {"sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_any", "reduce_all"};
    return (size_t)r < sizeof words / sizeof words[0] ? words[r] : NULL;
}

/* What an element left out counts as. */
static uint32_t neutral(speaker *s, lang_reduction r, base_type type) {
    int64_t lo;
    uint64_t hi;
    if (r == LANG_RMAX || r == LANG_RMIN) {
        if (base_type_is_float(type)) {
            return speak_number(s, type, r == LANG_RMAX ? -INFINITY : INFINITY);
        }
        base_type_range(type, &lo, &hi);
        return speak_scalar(s, type, r == LANG_RMAX ? (base_value){.i = lo} : (base_value){.u = hi});
    }
    return speak_number(s, type, r == LANG_PROD || r == LANG_ALL ? 1 : 0);
}

/* The body in the frame of its own variables, with as many extents as it has digits; the reduced ones are the last. */
static uint32_t say_body(speak_frame_values *in, lang_ref e, uint32_t outer) {
    speaker *s = in->s;
    const lang_node *n = lang_at(s->p, e);
    const lang_ref guard = lang_operand(s->p, e, n->count - 3);
    const lang_reduction r = (lang_reduction)n->code;
    uint32_t v = speak_value(in, lang_operand(s->p, e, n->count - 2));
    if (v != IR_NONE && guard != 0) {
        const uint32_t g = speak_value(in, guard);
        v = g == IR_NONE ? IR_NONE
                         : speak_scalar_word(s, LANG_IF, BASE_BOOL, (base_type)n->type,
                                             (uint32_t[]){g, v, neutral(s, r, (base_type)n->type)}, 3);
    }
    if (v == IR_NONE) {
        return IR_NONE;
    }
    int64_t dims[SPEAK_DIGITS];
    const ir_shape shape = *speak_shape(s, v);
    bool whole = true;
    for (uint32_t k = 0; k < in->frame.n; k++) {
        const int64_t own = shape.rank == 0 ? 1 : shape.dim[k];
        dims[k] = k < outer ? own : in->frame.at[k].extent;
        whole = whole && own == dims[k];
    }
    if (whole) {
        return speak_reshape(s, v, in->frame.n, dims);
    }
    return r == LANG_SUM || r == LANG_PROD ? speak_broadcast(s, v, in->frame.n, dims) : v;
}

static uint32_t say_reduction(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    const uint32_t count = n->count - 3;
    const char *word = word_of((lang_reduction)n->code);
    uint32_t vars[LANG_MAX_VARS], outer = 0, reduced = 0;
    if (word == NULL || lang_operand(s->p, e, n->count - 1) != 0) {
        return IR_NONE;
    }
    for (uint32_t k = 0; k < f->frame.n; k++) { /* in the frame's order */
        if (k == 0 || f->frame.at[k].var != f->frame.at[k - 1].var) {
            vars[outer++] = f->frame.at[k].var;
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        vars[outer + k] = lang_at(s->p, lang_operand(s->p, e, k))->index;
    }
    speak_frame_values in = {.s = s};
    const lang_ref roots[] = {lang_operand(s->p, e, n->count - 2), lang_operand(s->p, e, n->count - 3)};
    if (!speak_frame(s, roots, 2, vars, outer + count, &f->frame, &in.frame) || in.frame.n > IR_MAX_RANK ||
        speak_extents(in.frame.at, in.frame.n) > MOST_MADE) {
        return IR_NONE;
    }
    in.memo = BASE_NEWS(s->scratch, uint32_t, s->p->nodes.n);
    speak_axes left = {.n = 0};
    int64_t axes[SPEAK_DIGITS];
    uint32_t first = 0;
    while (first < in.frame.n && in.frame.at[first].var != vars[outer]) {
        first++;
    }
    uint32_t v = say_body(&in, e, first);
    for (uint32_t k = first; k < in.frame.n; k++) {
        axes[reduced++] = k;
    }
    if (v == IR_NONE) {
        return IR_NONE;
    }
    const ir_shape shape = *speak_shape(s, v);
    for (uint32_t k = 0; k < first && shape.rank != 0; k++) {
        if (shape.dim[k] == in.frame.at[k].extent) {
            left.at[left.n++] = in.frame.at[k];
        }
    }
    if (shape.rank != 0) {
        ir_node *node = speak_node(s, word, &v, 1, BASE_NONE);
        ir_attr_ints(s->m, node, "axes", axes, reduced);
        ir_attr_int(s->m, node, "keepdims", 0);
        v = speak_done(s);
        int64_t dims[SPEAK_DIGITS];
        for (uint32_t k = 0; k < left.n; k++) {
            dims[k] = left.at[k].extent;
        }
        v = speak_reshape(s, v, left.n, dims);
    }
    left.tensor = v;
    if (v == IR_NONE || s->g->tensors.at[v].type != (base_type)n->type) {
        return IR_NONE;
    }
    /* digits finer than the outer frame's join again */
    int64_t dims[SPEAK_DIGITS];
    for (uint32_t k = 0; k < f->frame.n; k++) {
        dims[k] = 1;
        for (uint32_t i = 0; i < left.n; i++) {
            const lang_digit *d = &left.at[i], *o = &f->frame.at[k];
            dims[k] *= d->var == o->var && d->low >= o->low && d->low < o->low * o->extent ? d->extent : 1;
        }
        if (dims[k] != 1 && dims[k] != f->frame.at[k].extent) {
            return IR_NONE;
        }
    }
    return speak_reshape(s, v, f->frame.n, dims);
}

/* A reduction in the frame: an operator of its own, or its body reduced. */
static uint32_t reduction(speak_frame_values *f, lang_ref e) {
    const speak_mark mark = speak_here(f->s);
    const lang_node *n = lang_at(f->s->p, e), *body = lang_at(f->s->p, lang_operand(f->s->p, e, n->count - 2));
    const bool products = is_reduction_of_products(f->s, e) && body->kind == LANG_WORD_ && body->code == LANG_MUL;
    uint32_t t = is_reduction_of_products(f->s, e) ? speak_contraction(f, e, 0) : IR_NONE;
    if (t == IR_NONE && products && f->s->only_products) {
        return IR_NONE;
    }
    if (t == IR_NONE) {
        speak_back(f->s, mark);
        t = speak_window(f, e, IR_NONE);
    }
    if (t == IR_NONE) {
        speak_back(f->s, mark);
        t = say_reduction(f, e);
    }
    return t;
}

/* Two that are said together: a sum of products and what is added, the sum of a window and what divides it. */
static uint32_t together(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    const speak_mark mark = speak_here(s);
    uint32_t t = IR_NONE;
    for (uint32_t k = 0; n->code == LANG_ADD && t == IR_NONE && k < 2; k++) {
        const lang_ref sum = lang_operand(s->p, e, k), other = lang_operand(s->p, e, 1 - k);
        if (is_reduction_of_products(s, sum) && lang_at(s->p, other)->kind == LANG_READ) {
            t = speak_contraction(f, sum, other);
        }
    }
    if (n->code == LANG_DIV && base_type_is_float((base_type)n->type) &&
        is_reduction_of_products(s, lang_operand(s->p, e, 0))) {
        const uint32_t counts = speak_value(f, lang_operand(s->p, e, 1));
        if (counts != IR_NONE && s->g->tensors.at[counts].data != NULL) {
            t = speak_window(f, lang_operand(s->p, e, 0), counts);
        }
    }
    if (t == IR_NONE) {
        speak_back(s, mark);
        memset(f->memo, 0, s->p->nodes.n * sizeof *f->memo); /* what it knew may have been taken back */
    }
    return t;
}

static uint32_t word(speak_frame_values *f, lang_ref e) {
    speaker *s = f->s;
    const lang_node *n = lang_at(s->p, e);
    uint32_t v[3], t = n->code == LANG_ADD || n->code == LANG_DIV ? together(f, e) : IR_NONE;
    lang_digits form;
    if (t != IR_NONE) {
        return t;
    }
    if (n->free != 0 && lang_digits_of(s->p, e, &form)) {
        return say_form(f, &form, (base_type)n->type);
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
        t = reduction(f, e);
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
