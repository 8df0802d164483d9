/* elements.c - what is known of the elements of small integer tensors where a run decides extents (ops.h).
 *
 * Takes a node and what is known of its inputs' elements. Gives the same of its outputs: each element's expression in the
 * definition, instantiated open, with the indices put in. What is left of it is a constant, one of the extents, or unknown.
 */
#include "ops/ops.h"

typedef struct element_of {
    const lang_stage *stage;
    int64_t index[LANG_MAX_RANK];
    size_t input_count; /* of the node; the counts stand behind them */
    const ops_element *const *inputs;
} element_of;

/* Which of the program's inputs the tensor is; IR_NONE: none. */
static size_t input_of(const lang_program *p, uint32_t tensor) {
    for (size_t i = 0; i < p->inputs.n; i++) {
        if (p->inputs.at[i] == tensor) {
            return i;
        }
    }
    return IR_NONE;
}

/* The element that a read with constant indices reads. false: they are not, or it is outside. */
static bool element_read(const lang_program *p, const lang_tensor *t, const lang_node *n, const lang_ref *operand,
                         uint64_t *out) {
    uint64_t at = 0, whole = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        whole *= (uint64_t)t->dim[k]; /* small: the caller's are */
    }
    for (uint32_t k = 0; k < (n->flat ? 1 : t->rank); k++) {
        const lang_node *index = lang_at(p, operand[k]);
        const uint64_t extent = n->flat ? whole : (uint64_t)t->dim[k];
        if (index->kind != LANG_CONST || t->extent[k] != 0 || (uint64_t)index->value.i >= extent) {
            return false;
        }
        at = at * extent + (uint64_t)index->value.i;
    }
    *out = at;
    return true;
}

static lang_ref replace(lang_rewriter *w, lang_ref r) {
    const element_of *e = w->user;
    const lang_node n = *lang_at(w->from, r);
    if (n.kind == LANG_VAR && n.index < e->stage->rank) {
        return lang_int(w->to, BASE_I64, e->index[n.index]);
    }
    if (n.kind != LANG_READ) {
        return 0;
    }
    const lang_tensor *t = &w->from->tensors.at[n.index];
    const size_t input = input_of(w->from, n.index);
    const ops_element *known = input < e->input_count ? e->inputs[input] : NULL;
    lang_ref operand[LANG_MAX_RANK];
    uint64_t at;
    for (uint32_t k = 0; k < n.count && k < LANG_MAX_RANK; k++) {
        operand[k] = w->memo.at[lang_operand(w->from, r, k)];
    }
    if ((t->data == NULL && known == NULL) || n.count - n.has_fill > LANG_MAX_RANK ||
        !element_read(w->to, t, &n, operand, &at)) {
        return 0;
    }
    return t->data != NULL   ? lang_const(w->to, t->type, base_load(t->type, t->data, at))
           : known[at].known ? lang_int(w->to, t->type, known[at].value)
                             : 0;
}

/* Does every extent fit? Then a conversion changes none. */
static bool is_wide(base_type t) {
    return base_type_is_int(t) && base_type_bits(t) >= 32;
}

/* What an expression without variables is. */
static ops_element seen(const element_of *e, const lang_program *p, lang_ref r) {
    const lang_node *n = lang_at(p, r);
    uint64_t at;
    if (n->kind == LANG_CONST) {
        return (ops_element){.known = true, .value = n->value.i};
    }
    bool wide = is_wide((base_type)n->type);
    while (wide && n->kind == LANG_WORD_ && n->code == LANG_CAST) {
        n = lang_at(p, p->operands.at[n->first]);
        wide = is_wide((base_type)n->type);
    }
    const size_t input = wide && n->kind == LANG_READ ? input_of(p, n->index) : IR_NONE;
    if (input != IR_NONE && input >= e->input_count) {
        return (ops_element){.symbol = (uint32_t)(input - e->input_count) + 1};
    }
    if (input != IR_NONE && e->inputs[input] != NULL &&
        element_read(p, &p->tensors.at[n->index], n, p->operands.at + n->first, &at)) {
        return (ops_element){.symbol = e->inputs[input][at].symbol};
    }
    return (ops_element){0};
}

static void find_elements(base_arena *scratch, element_of *e, lang_program *p, uint64_t count, ops_element *out) {
    const lang_tensor t = p->tensors.at[e->stage->tensor];
    for (uint64_t k = 0; k < count; k++) {
        uint64_t rest = k;
        for (uint32_t i = t.rank; i-- > 0;) {
            e->index[i] = (int64_t)(rest % (uint64_t)t.dim[i]);
            rest /= (uint64_t)t.dim[i];
        }
        lang_rewriter w = {.from = p, .to = p, .replace = replace, .user = e};
        const lang_ref r = lang_rewrite(scratch, &w, e->stage->body);
        out[k] = r != 0 ? seen(e, p, r) : (ops_element){0};
    }
}

bool ops_elements(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g, const ir_node *n,
                  const ops_element *const *inputs, ops_element **outputs) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    int64_t *bounds = BASE_NEWS(scratch, int64_t, m->symbols.n + 1);
    ir_shape *shapes = BASE_NEWS(scratch, ir_shape, g->tensors.n + 1);
    bool fits = ops_has(r, n->op) && m->symbols.n > 0 && m->symbols.n <= LANG_MAX_VARS;
    for (size_t i = 0; i < m->symbols.n; i++) {
        bounds[i] = m->symbols.at[i].bound;
        fits = fits && bounds[i] <= INT32_MAX;
    }
    for (size_t i = 0; fits && i < n->input_count; i++) {
        if (n->inputs[i] != IR_NONE) {
            shapes[n->inputs[i]] = g->tensors.at[n->inputs[i]].shape;
        }
    }
    fits =
        fits && ops_instantiate_open(scratch, r, m, g, n, shapes, bounds, m->symbols.n, NULL, &p, &ignored) == BASE_OK;
    fits = fits && p->outputs.n == n->output_count; /* more are tests, which a run has to make */
    for (size_t i = 0; fits && i < n->output_count; i++) {
        const ir_tensor *t = &g->tensors.at[n->outputs[i]];
        const lang_tensor *made = &p->tensors.at[p->outputs.at[i]];
        uint64_t count = 0;
        outputs[i] = NULL;
        for (uint32_t k = 0; k < made->rank; k++) {
            fits = fits && made->extent[k] == 0;
        }
        if (fits && made->kind == LANG_STAGE && base_type_is_int(t->type) && ir_shape_elements(&t->shape, &count) &&
            count <= OPS_MOST_ELEMENTS) {
            element_of e = {.stage = &p->stages.at[made->stage], .input_count = n->input_count, .inputs = inputs};
            outputs[i] = BASE_NEWS(arena, ops_element, count + 1);
            find_elements(scratch, &e, p, count, outputs[i]);
        }
    }
    base_arena_free(scratch);
    return fits;
}
