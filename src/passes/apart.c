/* apart.c - how far a node on quantised numbers is from the same word on reals.
 *
 * Takes two nodes of one graph, the second with reals in place of quantised numbers. Gives the largest difference of sampled
 * elements, in steps of the output's scale: corners and random ones, for inputs over the whole range and near zero. The
 * definitions are evaluated, so that whatever one of them does not read (a zero point, an output's scale) shows. And whether
 * a node only moves numbers, whatever they stand for.
 */
#include <math.h>
#include <string.h>

#include "passes/passes_private.h"

enum { ELEMENTS = 96, CASES = 3 };
#define REAL_STEP (1.0 / 127) /* of the largest output, where it is no quantised number itself */

typedef struct sampler {
    passes_context *c;
    const ir_model *m;
    const ir_graph *g;
    base_arena *scratch;
    uint32_t seed;
} sampler;

static uint32_t next(sampler *s) {
    s->seed = s->seed * 1664525u + 1013904223u;
    return s->seed >> 8;
}

/* Which scale element i has. */
static size_t channel(const ir_tensor *t, const ir_quant *q, uint64_t i) {
    uint64_t behind = 1;
    for (uint32_t k = (uint32_t)q->axis + 1; q->n > 1 && k < t->shape.rank; k++) {
        behind *= (uint64_t)t->shape.dim[k];
    }
    return q->n > 1 ? (size_t)(i / behind % q->n) : 0;
}

double passes_real(const ir_tensor *t, const ir_quant *q, const void *data, uint64_t i) {
    const size_t c = channel(t, q, i);
    return (double)((float)(base_load(t->type, data, i).i - q->zero[c]) * q->scale[c]);
}

/* Contents of an input that is not known: case 0 over the range of the type, 1 near what stands for zero and that itself, 2 between.
 * Integers that stand for no reals may be places: 0. */
static void *random_contents(sampler *s, const ir_tensor *t, unsigned k, uint64_t elements) {
    uint64_t bytes = 0, most;
    int64_t least;
    (void)ir_tensor_bytes(t, &bytes);
    void *data = base_alloc(s->scratch, (size_t)bytes + 8, 1);
    const bool is_real = base_type_is_float(t->type);
    if (!is_real) {
        base_type_range(t->type, &least, &most);
    }
    const double zero = t->quant.n ? (double)t->quant.zero[0] : 0, part = k == 0 ? 1 : k == 1 ? 0.05 : 0.4;
    for (uint64_t i = 0; i < elements && (is_real || t->quant.n || t->type == BASE_BOOL); i++) {
        const double any = (double)next(s) / 8388608.0 - 1.0, r = k == 1 && next(s) % 4 == 0 ? 0 : any;
        base_value v = {.f = is_real ? base_round_to(t->type, 4 * r * part) : 0};
        if (!is_real) {
            const double x = zero + r * part * ((double)most - (double)least);
            v.i = (int64_t)rint(x < (double)least ? (double)least : x > (double)most ? (double)most : x);
        }
        base_store(t->type, data, i, v);
    }
    return data;
}

/* The reals that integers stand for. */
static void *reals(sampler *s, const ir_tensor *t, const ir_quant *q, const void *data, uint64_t elements) {
    float *out = BASE_NEWS(s->scratch, float, (size_t)elements + 1);
    for (uint64_t i = 0; i < elements; i++) {
        base_store(BASE_F32, out, i, (base_value){.f = passes_real(t, q, data, i)});
    }
    return out;
}

static lang_code *code_of(sampler *s, const ir_node *n, base_diags *d) {
    lang_program *p = NULL;
    return ops_instantiate(s->scratch, s->c->ops, s->m, s->g, n, &s->c->goal, &p, d) == BASE_OK
               ? lang_compile(s->scratch, p, LANG_EVAL_EXACT, d)
               : NULL;
}

/* A real that is none (the root of a negative number), or, where integers are what was meant, is infinite (a quotient by zero, which
 * the kernel does not mean), has no counterpart, and whatever stands for it will do. */
static double off(const ir_tensor *to, double real, double top, base_value got, uint64_t i, bool reals_meant) {
    if (isnan(real) || (isinf(real) && !reals_meant)) {
        return 0;
    }
    if (to->quant.n == 0 && base_type_is_float(to->type)) {
        return got.f == real ? 0 : fabs(got.f - real) / (top * REAL_STEP);
    }
    if (to->quant.n == 0) {
        return (double)got.i != real;
    }
    int64_t least;
    uint64_t most;
    base_type_range(to->type, &least, &most);
    const size_t c = channel(to, &to->quant, i);
    const double q = rint(real / (double)to->quant.scale[c]) + (double)to->quant.zero[c];
    const double kept = q < (double)least ? (double)least : q > (double)most ? (double)most : q;
    return fabs(kept - (double)got.i);
}

/* Of one output, whose elements both programs compute by need. */
static bool compare(sampler *s, lang_code *const code[2], const void *const *inputs[2], const ir_tensor *to,
                    const ir_tensor *real, uint32_t output, bool reals_meant, double *steps, base_diags *d) {
    uint64_t elements = 0, list[ELEMENTS];
    if (!ir_shape_elements(&to->shape, &elements) || elements == 0) {
        return true;
    }
    size_t n = elements < ELEMENTS ? (size_t)elements : ELEMENTS;
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = (uint64_t)next(s) << 24 ^ next(s);
        list[i] = elements <= ELEMENTS ? i : i == 0 ? 0 : i == 1 ? elements - 1 : r % elements;
    }
    void *a = base_alloc(s->scratch, n + 1, 8), *b = base_alloc(s->scratch, n + 1, 8);
    if (lang_run_elements(code[0], s->scratch, inputs[0], output, list, n, a, NULL, NULL, d) != BASE_OK ||
        lang_run_elements(code[1], s->scratch, inputs[1], output, list, n, b, NULL, NULL, d) != BASE_OK) {
        return false;
    }
    const bool is_real = base_type_is_float(real->type);
    double top = 0;
    for (size_t i = 0; is_real && i < n; i++) {
        const double v = fabs(base_load(real->type, b, i).f);
        top = v > top && isfinite(v) ? v : top;
    }
    for (size_t i = 0; i < n; i++) {
        const base_value v = base_load(real->type, b, i);
        const double far = off(to, is_real ? v.f : (double)v.i, top, base_load(to->type, a, i), list[i], reals_meant);
        *steps = far > *steps || isnan(far) ? far : *steps;
    }
    return !isnan(*steps);
}

double passes_most_apart(base_type type) {
    return base_type_bits(type) == 16 ? 65.0 : 1.0;
}

bool passes_steps_apart(passes_context *c, const ir_model *m, const ir_graph *g, const ir_node *quantised,
                        const ir_node *real, const ir_quant *quants, bool reals_meant, double *steps, base_diags *d) {
    sampler s = {c, m, g, base_arena_new(base_arena_memory(c->arena)), 99u};
    lang_code *code[2] = {code_of(&s, quantised, d), code_of(&s, real, d)};
    bool done = code[0] != NULL && code[1] != NULL;
    *steps = 0;
    for (unsigned k = 0; done && k < CASES; k++) {
        const void **inputs[2] = {BASE_NEWS(s.scratch, const void *, quantised->input_count + 1),
                                  BASE_NEWS(s.scratch, const void *, quantised->input_count + 1)};
        for (size_t i = 0; i < quantised->input_count; i++) {
            if (quantised->inputs[i] == IR_NONE) {
                continue;
            }
            const ir_tensor *t = &g->tensors.at[quantised->inputs[i]], *r = &g->tensors.at[real->inputs[i]];
            uint64_t n = 0;
            (void)ir_shape_elements(&t->shape, &n);
            inputs[0][i] = t->data != NULL ? t->data : random_contents(&s, t, k, n);
            inputs[1][i] = r->data != NULL   ? r->data
                           : quants[i].n > 0 ? reals(&s, t, &quants[i], inputs[0][i], n)
                                             : inputs[0][i];
        }
        for (size_t i = 0; done && i < quantised->output_count; i++) {
            done = compare(&s, code, (const void *const **)inputs, &g->tensors.at[quantised->outputs[i]],
                           &g->tensors.at[real->outputs[i]], (uint32_t)i, reals_meant, steps, d);
        }
    }
    base_arena_free(s.scratch);
    return done;
}

/* ---- what only moves numbers ---- */

/* The value is one of the inputs' elements, a place, or a constant. */
static bool is_moved(const lang_program *p, lang_ref r) {
    const lang_node *n = lang_at(p, r);
    switch (n->kind) {
    case LANG_WORD_:
        return n->code == LANG_IF && is_moved(p, lang_operand(p, r, 1)) && is_moved(p, lang_operand(p, r, 2));
    case LANG_REDUCE:
        return n->code != LANG_SUM && n->code != LANG_PROD && is_moved(p, lang_operand(p, r, n->count - 2));
    default:
        return true;
    }
}

static bool program_moves(base_arena *scratch, const lang_program *p) {
    const lang_program *simple = lang_simplify(scratch, lang_fold(scratch, p, 0)); /* stages that are needed */
    bool moves = simple != NULL;
    for (size_t i = 0; moves && i < simple->stages.n; i++) {
        moves = is_moved(simple, simple->stages.at[i].body);
    }
    return moves;
}

bool passes_only_moves(passes_context *c, const ir_model *m, const ir_graph *g, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    const bool moves =
        ops_instantiate(scratch, c->ops, m, g, n, &c->goal, &p, &ignored) == BASE_OK && program_moves(scratch, p);
    base_arena_free(scratch);
    return moves;
}

bool passes_stays_on_integers(passes_context *c, const ir_model *m, ir_graph *g, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    base_diags ignored = {.arena = scratch};
    base_text texts[2] = {{.arena = scratch}, {.arena = scratch}};
    const size_t count = n->input_count + n->output_count;
    ir_quant *kept = BASE_NEWS(scratch, ir_quant, count + 1);
    lang_program *p = NULL;
    bool same = ops_instantiate(scratch, c->ops, m, g, n, &c->goal, &p, &ignored) == BASE_OK;
    if (same) {
        lang_print(&texts[0], p);
    }
    for (size_t k = 0; k < count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        if (t != IR_NONE) {
            kept[k] = g->tensors.at[t].quant;
            g->tensors.at[t].quant = (ir_quant){0};
        }
    }
    same = same && ops_instantiate(scratch, c->ops, m, g, n, &c->goal, &p, &ignored) == BASE_OK;
    if (same) {
        lang_print(&texts[1], p);
    }
    for (size_t k = count; k-- > 0;) { /* backwards: a tensor may stand there twice */
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        if (t != IR_NONE) {
            g->tensors.at[t].quant = kept[k];
        }
    }
    same = same && strcmp(texts[0].at, texts[1].at) == 0 && program_moves(scratch, p);
    base_arena_free(scratch);
    return same;
}
