/* eval_reference.c - the interpreter, random values, and building shorthands of the evaluator's tests. */
#include "eval_reference.h"

/* ---- the interpreter ---- */

uint64_t eval_reference_elements(const reference *r, uint32_t tensor) {
    uint64_t n = 1;
    for (uint32_t k = 0; k < r->p->tensors.at[tensor].rank; k++) {
        n *= (uint64_t)r->dim[tensor][k];
    }
    return n;
}

static base_value read_element(reference *r, const lang_node *n, lang_ref e) {
    const lang_tensor *t = &r->p->tensors.at[n->index];
    uint64_t element = 0;
    bool inside = true;
    uint32_t count = n->flat ? 1 : t->rank;
    for (uint32_t k = 0; k < count; k++) {
        int64_t i = eval_reference_value(r, lang_operand(r->p, e, k)).i;
        uint64_t extent = n->flat ? eval_reference_elements(r, n->index) : (uint64_t)r->dim[n->index][k];
        inside = inside && i >= 0 && (uint64_t)i < extent;
        element = element * extent + (uint64_t)i;
    }
    if (inside) {
        return r->contents[n->index][element];
    }
    if (n->has_fill) {
        return eval_reference_value(r, lang_operand(r->p, e, count));
    }
    r->failed = true;
    return (base_value){.u = 0};
}

static base_value fold(lang_reduction op, base_type t, base_value a, base_value b) {
    base_value args[2] = {a, b};
    switch (op) {
    case LANG_SUM:
        return lang_word_value(LANG_ADD, t, t, args);
    case LANG_PROD:
        return lang_word_value(LANG_MUL, t, t, args);
    case LANG_RMAX:
        return lang_word_value(LANG_MAX, t, t, args);
    case LANG_RMIN:
        return lang_word_value(LANG_MIN, t, t, args);
    case LANG_ANY:
        return (base_value){.u = a.u | b.u};
    case LANG_ALL:
        return (base_value){.u = a.u & b.u};
    case LANG_FIRST:
        return a;
    default:
        return b;
    }
}

/* The identity of min: infinity, or the highest value of the types that have none (by their specifications). */
static double highest(base_type t) {
    switch (t) {
    case BASE_F8E4M3FN:
        return 448;
    case BASE_F8E4M3FNUZ:
        return 240;
    case BASE_F8E5M2FNUZ:
        return 57344;
    case BASE_F4E2M1:
        return 6;
    default:
        return HUGE_VAL;
    }
}

static base_value identity(lang_reduction op, base_type t) {
    base_value v = {.u = 0};
    int64_t lo = 0;
    uint64_t hi = 0;
    bool real = base_type_is_float(t);
    if (!real) {
        base_type_range(t, &lo, &hi);
    }
    switch (op) {
    case LANG_PROD:
        if (real) {
            v.f = 1.0;
        } else {
            v.i = 1;
            v = lang_wrap(t, v);
        }
        break;
    case LANG_ALL:
        v.u = 1;
        break;
    case LANG_RMAX:
        if (real) {
            v.f = -highest(t);
        } else {
            v.i = lo;
        }
        break;
    case LANG_RMIN:
        if (real) {
            v.f = highest(t);
        } else {
            v.u = hi;
        }
        break;
    default:
        break;
    }
    return v;
}

typedef struct reducing {
    reference *r;
    lang_ref e;
    const lang_node *n;
    base_value acc;
    bool any;
} reducing;

static void reduce_from(reducing *s, uint32_t k) {
    reference *r = s->r;
    if (k == s->n->count - 3) {
        lang_ref guard = lang_operand(r->p, s->e, k);
        if (guard == 0 || eval_reference_value(r, guard).u != 0) {
            base_value v = eval_reference_value(r, lang_operand(r->p, s->e, k + 1));
            bool replace = !s->any && (s->n->code == LANG_FIRST || s->n->code == LANG_LAST);
            s->acc = replace ? v : fold((lang_reduction)s->n->code, (base_type)s->n->type, s->acc, v);
            s->any = true;
        }
        return;
    }
    lang_ref var = lang_operand(r->p, s->e, k);
    uint32_t number = lang_at(r->p, var)->index;
    int64_t extent = eval_reference_value(r, lang_operand(r->p, var, 0)).i, outer = r->var[number];
    for (int64_t v = 0; v < extent && !r->failed; v++) {
        r->var[number] = v;
        reduce_from(s, k + 1);
    }
    r->var[number] = outer;
}

base_value eval_reference_value(reference *r, lang_ref e) {
    const lang_node *n = lang_at(r->p, e);
    base_value args[3] = {{.u = 0}, {.u = 0}, {.u = 0}};
    if (r->failed || ++r->steps > r->limit) {
        r->limit_hit = r->limit_hit || !r->failed;
        r->failed = true;
        return args[0];
    }
    switch ((lang_kind)n->kind) {
    case LANG_CONST:
        return n->value;
    case LANG_VAR:
        return (base_value){.i = r->var[n->index]};
    case LANG_READ:
        return read_element(r, n, e);
    case LANG_WORD_:
        args[0] = eval_reference_value(r, lang_operand(r->p, e, 0));
        if (n->code == LANG_IF) {
            return eval_reference_value(r, lang_operand(r->p, e, args[0].u != 0 ? 1 : 2));
        }
        if ((n->code == LANG_AND && args[0].u == 0) || (n->code == LANG_OR && args[0].u != 0)) {
            return args[0];
        }
        for (uint32_t k = 1; k < n->count; k++) {
            args[k] = eval_reference_value(r, lang_operand(r->p, e, k));
        }
        return lang_word_value((lang_word)n->code, (base_type)n->type,
                               (base_type)lang_at(r->p, lang_operand(r->p, e, 0))->type, args);
    default:
        break;
    }
    reducing s = {.r = r, .e = e, .n = n, .acc = identity((lang_reduction)n->code, (base_type)n->type)};
    reduce_from(&s, 0);
    lang_ref otherwise = lang_operand(r->p, e, n->count - 1);
    return !s.any && otherwise != 0 ? eval_reference_value(r, otherwise) : s.acc;
}

static void start_stage(reference *r, const lang_stage *s) {
    const lang_tensor *t = &r->p->tensors.at[s->tensor];
    for (uint32_t k = 0; k < t->rank; k++) {
        r->dim[s->tensor][k] = t->extent[k] != 0 ? eval_reference_value(r, t->extent[k]).i : t->dim[k];
        r->failed = r->failed || r->dim[s->tensor][k] < 0 || r->dim[s->tensor][k] > t->dim[k];
    }
    r->contents[s->tensor] =
        base_alloc(r->arena, r->failed ? 1 : (size_t)eval_reference_elements(r, s->tensor) + 1, sizeof(base_value));
}

/* All elements, or those whose rec variable is t. */
static void run_elements(reference *r, const lang_stage *s, int64_t t) {
    uint64_t n = eval_reference_elements(r, s->tensor);
    for (uint64_t e = 0; e < n && !r->failed; e++) {
        uint64_t rest = e;
        for (uint32_t k = s->rank; k-- > 0;) {
            r->var[k] = (int64_t)(rest % (uint64_t)r->dim[s->tensor][k]);
            rest /= (uint64_t)r->dim[s->tensor][k];
        }
        if (t < 0 || r->var[s->rec_var] == t) {
            r->contents[s->tensor][e] = eval_reference_value(r, s->body);
        }
    }
}

void eval_reference_run(reference *r, base_arena *arena, const lang_program *p, const void *const *inputs) {
    r->p = p;
    r->arena = arena;
    r->contents = base_alloc(arena, p->tensors.n, sizeof *r->contents);
    r->dim = base_alloc(arena, p->tensors.n, sizeof *r->dim);
    for (uint32_t t = 0; t < p->tensors.n; t++) {
        const lang_tensor *tensor = &p->tensors.at[t];
        memcpy(r->dim[t], tensor->dim, sizeof r->dim[t]);
        const void *data = tensor->kind == LANG_INPUT && tensor->data == NULL ? inputs[tensor->input] : tensor->data;
        if (tensor->kind == LANG_STAGE || data == NULL) {
            continue;
        }
        uint64_t n = eval_reference_elements(r, t);
        r->contents[t] = base_alloc(arena, (size_t)n + 1, sizeof(base_value));
        for (uint64_t e = 0; e < n; e++) {
            r->contents[t][e] = base_load(tensor->type, data, e);
        }
    }
    for (size_t k = 0; k < p->stages.n && !r->failed;) {
        const lang_stage *s = &p->stages.at[k];
        size_t last = k + 1;
        while (s->rec >= 0 && last < p->stages.n && p->stages.at[last].rec == s->rec) {
            last++;
        }
        for (size_t i = k; i < last && !r->failed; i++) {
            start_stage(r, &p->stages.at[i]);
        }
        int64_t steps = s->rec >= 0 ? r->dim[s->tensor][s->rec_var] : 0;
        if (s->rec < 0) {
            run_elements(r, s, -1);
        }
        for (int64_t t = 0; t < steps; t++) {
            for (size_t i = k; i < last && !r->failed; i++) {
                run_elements(r, &p->stages.at[i], t);
            }
        }
        k = last;
    }
}

bool eval_reference_same(base_type t, base_value a, base_value b) {
    if (base_type_is_float(t)) {
        return isnan(a.f) ? isnan(b.f) : a.f == b.f && signbit(a.f) == signbit(b.f);
    }
    return a.u == b.u;
}

/* ---- memory ---- */

int eval_set_up(void **state) {
    eval_fixture *f = calloc(1, sizeof *f);
    if (f == NULL || BASE_GUARD(&f->memory, &f->guard)) {
        return -1;
    }
    f->arena = base_arena_new(&f->memory);
    f->d.arena = f->arena;
    *state = f;
    return 0;
}

int eval_tear_down(void **state) {
    eval_fixture *f = *state;
    base_arena_free(f->arena);
    free(f);
    return 0;
}

/* ---- random values (xorshift64*) ---- */

uint64_t eval_random_bits(eval_random *r) {
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * UINT64_C(2685821657736338717);
}

uint64_t eval_random_below(eval_random *r, uint64_t n) {
    return (eval_random_bits(r) >> 16) % n;
}

base_value eval_random_value(eval_random *r, base_type t) {
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e30, -1e-30, 6.0, HUGE_VAL, -HUGE_VAL};
    base_value v;
    v.u = eval_random_bits(r);
    if (base_type_is_float(t)) {
        uint64_t kind = eval_random_below(r, 8);
        v.f = kind == 0   ? special[eval_random_below(r, 12)]
              : kind == 1 ? (double)NAN
                          : ((double)(v.u >> 40) - 8388608.0) / 65536.0;
    } else if (eval_random_below(r, 3) != 0) {
        v.i = (int64_t)eval_random_below(r, 11) - 5;
    }
    return lang_wrap(t, v);
}

/* ---- building ---- */

uint32_t eval_add_input(lang_program *p, const char *name, base_type t, uint32_t rank, const int64_t *dim) {
    lang_tensor tensor = {.name = name, .type = t, .rank = rank, .kind = LANG_INPUT, .input = (uint32_t)p->inputs.n};
    memcpy(tensor.dim, dim, rank * sizeof *dim);
    uint32_t id = lang_tensor_add(p, &tensor);
    *BASE_PUSH(p->arena, &p->inputs) = id;
    return id;
}

lang_ref eval_const_var(lang_program *p, uint32_t number, int64_t extent) {
    return lang_var(p, number, lang_int(p, BASE_I64, extent));
}

uint32_t eval_add_stage(lang_program *p, const char *name, base_type t, uint32_t rank, const int64_t *dim,
                        lang_ref body) {
    lang_tensor tensor = {.name = name, .type = t, .rank = rank, .kind = LANG_STAGE, .stage = (uint32_t)p->stages.n};
    memcpy(tensor.dim, dim, rank * sizeof *dim);
    uint32_t id = lang_tensor_add(p, &tensor);
    lang_variable *vars = base_alloc(p->arena, LANG_MAX_VARS, sizeof *vars);
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        vars[k].name = "v";
        vars[k].bound = k < rank ? dim[k] : 0;
        vars[k].extent = k < rank ? lang_int(p, BASE_I64, dim[k]) : 0;
    }
    *BASE_PUSH(p->arena, &p->stages) = (lang_stage){.tensor = id,
                                                    .rank = rank,
                                                    .var_count = LANG_MAX_VARS,
                                                    .vars = vars,
                                                    .body = body,
                                                    .rec = -1,
                                                    .place = {.file = "test.op", .line = 7, .column = 3}};
    return id;
}
