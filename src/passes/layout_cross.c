/* layout_cross.c - an operator between transposes: computed on the tensors as they were before.
 *
 * Takes a node some of whose inputs are put off by one transpose. Gives the node on the other side: the same word, with inputs as
 * they were, constants moved, and what attributes say of extents renamed in one of several ways. Which way is right, and that any is,
 * is proved on the two definitions (lang_alike).
 */
#include <stdlib.h>
#include <string.h>

#include "passes/layout.h"

enum { MOST_TRIES = 64 };

typedef struct crossing {
    layouter *l;
    const ir_node *n;
    uint32_t rank;
    int64_t perm[IR_MAX_RANK]; /* that its inputs are put off by */
    const lang_program *program;
    uint32_t *inputs; /* of the node on the other side */
    uint32_t **order; /* of each input: which extent of the other's is extent k */
    uint64_t choices; /* bit k: input k may also stay as it is */
    ir_node *other;
} crossing;

static ir_quant moved_quant(const ir_quant *q, const int64_t *to) {
    ir_quant moved = *q;
    moved.axis = q->n > 1 ? (int32_t)to[q->axis] : q->axis;
    return moved;
}

/* A constant whose extents go where those of the others go, behind extents of 1 where it has fewer. */
static uint32_t moved_constant(crossing *x, uint32_t t) {
    speaker *s = &x->l->s;
    const ir_tensor c = s->g->tensors.at[t];
    int64_t dims[IR_MAX_RANK], back[IR_MAX_RANK];
    const uint32_t more = x->rank - c.shape.rank;
    for (uint32_t k = 0; k < x->rank; k++) {
        dims[k] = k < more ? 1 : c.shape.dim[k - more];
        back[x->perm[k]] = k;
    }
    const uint32_t moved = speak_transpose(s, speak_reshape(s, t, x->rank, dims), x->rank, back);
    if (moved != IR_NONE && c.quant.n > 0) {
        s->g->tensors.at[moved].quant = moved_quant(&c.quant, x->perm + more);
    }
    return moved;
}

/* Each input as it is on the other side. false: an input stands against it. */
static bool carry_inputs(crossing *x) {
    layouter *l = x->l;
    unsigned put_off_count = 0, plain = 0;
    for (size_t k = 0; k < x->n->input_count; k++) {
        const uint32_t t = layout_resolve(l, x->n->inputs[k]);
        x->inputs[k] = t;
        x->order[k] = BASE_NEWS(l->s.scratch, uint32_t, LANG_MAX_RANK);
        for (uint32_t i = 0; i < LANG_MAX_RANK; i++) {
            x->order[k][i] = i;
        }
        if (t == IR_NONE) {
            continue;
        }
        const ir_tensor c = *layout_tensor(l, t);
        uint64_t elements = 0;
        (void)ir_shape_elements(&c.shape, &elements);
        const put_off off = *layout_state(l, t);
        if (off.is_off && !off.is_reshape && c.shape.rank == x->rank &&
            memcmp(off.perm, x->perm, x->rank * sizeof x->perm[0]) == 0) {
            x->inputs[k] = off.from;
            put_off_count++;
        } else if (c.data != NULL && c.shape.rank <= x->rank && elements > 1) {
            x->inputs[k] = moved_constant(x, t);
            x->choices |= k < 16 ? UINT64_C(1) << k : 0;
        } else if (c.data == NULL && (c.shape.rank == x->rank || off.is_off)) {
            if (c.shape.rank != x->rank || off.is_off || c.state != IR_NONE) {
                return false;
            }
            plain++;
            int64_t back[IR_MAX_RANK];
            for (uint32_t i = 0; i < x->rank; i++) {
                back[x->perm[i]] = i;
            }
            x->inputs[k] = speak_transpose(&l->s, t, x->rank, back);
        } else {
            continue;
        }
        if (x->inputs[k] == IR_NONE) {
            return false;
        }
        for (uint32_t i = 0; i < c.shape.rank; i++) {
            x->order[k][i] = (uint32_t)x->perm[x->rank - c.shape.rank + i];
        }
    }
    return put_off_count > plain;
}

/* Ways to rename what an attribute says of extents. */
static unsigned ways_of(const ir_attr *a) {
    return a->kind == IR_INT ? 2 : a->kind == IR_INTS && a->n > 0 ? 6 : 1;
}

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The others' extents in the order in which the first's stand on the other side: extent k of the first is perm[k] there. */
static bool regroup(const ir_shape *in, const int64_t *perm, const int64_t *to, size_t n, int64_t *list) {
    layout_groups g;
    bool done[IR_MAX_RANK] = {false};
    size_t count = 0;
    if (n > IR_MAX_RANK || !layout_find_groups(in, to, n, &g)) {
        return false;
    }
    for (uint32_t k = 0; k < in->rank; k++) {
        uint32_t i = 0;
        while (perm[i] != k) {
            i++;
        }
        for (size_t j = g.first[g.group_of[i]]; !done[g.group_of[i]] && j < g.first[g.group_of[i] + 1]; j++) {
            list[count++] = to[j];
        }
        done[g.group_of[i]] = true;
    }
    return count == n;
}

/* false: that way does not fit the attribute. */
static bool rename_attr(crossing *x, const ir_attr *a, unsigned way, ir_node *to) {
    ir_model *m = x->l->s.m;
    int64_t list[4 * IR_MAX_RANK];
    if (way == 0) {
        return true; /* as it is */
    }
    if (a->kind == IR_INT) {
        const bool is_axis = a->v.i >= 0 && a->v.i < (int64_t)x->rank;
        if (is_axis) {
            ir_attr_int(m, to, a->name, x->perm[a->v.i]);
        }
        return is_axis && x->perm[a->v.i] != a->v.i;
    }
    if (way == 5) {
        const ir_shape *in = &layout_tensor(x->l, layout_resolve(x->l, x->n->inputs[0]))->shape;
        if (in->rank != x->rank || !regroup(in, x->perm, a->v.ints, a->n, list)) {
            return false;
        }
        ir_attr_ints(m, to, a->name, list, a->n);
        return true;
    }
    const size_t pairs = way == 2 ? 1 : 2;
    if (way > 1 && a->n != pairs * x->rank) {
        return false;
    }
    for (size_t k = 0; way == 1 && k < a->n; k++) { /* axes */
        if (a->n > x->rank || a->v.ints[k] < 0 || a->v.ints[k] >= (int64_t)x->rank) {
            return false;
        }
        list[k] = x->perm[a->v.ints[k]];
    }
    for (uint32_t k = 0; way > 1 && k < x->rank; k++) {
        const size_t at = (size_t)x->perm[k];
        if (way == 2) { /* one for each extent */
            list[at] = a->v.ints[k];
        } else if (way == 3) { /* two for each extent */
            list[2 * at] = a->v.ints[2 * k];
            list[2 * at + 1] = a->v.ints[2 * k + 1];
        } else { /* one for each, then one for each */
            list[at] = a->v.ints[k];
            list[at + x->rank] = a->v.ints[k + x->rank];
        }
    }
    if (way == 1) {
        qsort(list, a->n, sizeof list[0], compare);
    }
    ir_attr_ints(m, to, a->name, list, a->n);
    return true;
}

/* The node on the other side, with its outputs' types and shapes. */
static bool infer_outputs(crossing *x) {
    speaker *s = &x->l->s;
    const ir_node *n = x->other;
    ir_shape shapes[16];
    base_type types[16];
    uint32_t dynamic[16] = {0};
    base_arena *scratch = base_arena_new(base_arena_memory(s->scratch));
    base_diags ignored = {.arena = scratch};
    bool fits = ops_output_shapes(scratch, s->c->ops, s->m, s->g, n, &s->c->goal, shapes, types, dynamic, NULL,
                                  &ignored) == BASE_OK;
    for (size_t k = 0; fits && k < n->output_count; k++) {
        s->g->tensors.at[n->outputs[k]].shape = shapes[k];
        fits = dynamic[k] == 0 && types[k] == s->g->tensors.at[n->outputs[k]].type;
    }
    fits = fits && passes_says(s->c, scratch, s->m, s->g, n);
    base_arena_free(scratch);
    return fits;
}

static bool is_alike(crossing *x, uint32_t (*order)[LANG_MAX_RANK]) {
    speaker *s = &x->l->s;
    base_arena *scratch = base_arena_new(base_arena_memory(s->scratch));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    const bool is = ops_instantiate(scratch, s->c->ops, s->m, s->g, x->other, &s->c->goal, &p, &ignored) == BASE_OK &&
                    lang_alike(scratch, x->program, p, (const uint32_t *const *)x->order, order);
    base_arena_free(scratch);
    return is;
}

static void put_outputs_off(crossing *x, uint32_t (*order)[LANG_MAX_RANK]) {
    layouter *l = x->l;
    for (size_t k = 0; k < x->n->output_count; k++) {
        put_off off = {.is_off = true, .from = x->other->outputs[k]};
        const ir_tensor old = *layout_tensor(l, x->n->outputs[k]);
        for (uint32_t i = 0; i < IR_MAX_RANK; i++) {
            off.perm[i] = i < old.shape.rank ? order[k][i] : i;
        }
        if (old.quant.n > 0) {
            l->s.g->tensors.at[off.from].quant = moved_quant(&old.quant, off.perm);
        }
        *layout_state(l, x->n->outputs[k]) = off;
    }
}

/* One choice of inputs and of ways to say attributes. */
static bool try_one(crossing *x, unsigned kept, unsigned choice) {
    speaker *s = &x->l->s;
    const ir_node *n = x->n;
    uint32_t order[16][LANG_MAX_RANK], outputs[16];
    const speak_mark mark = speak_here(s);
    uint32_t *inputs = BASE_NEWS(s->scratch, uint32_t, n->input_count + 1), **orders = x->order;
    x->order = BASE_NEWS(s->scratch, uint32_t *, n->input_count + 1);
    for (size_t k = 0; k < n->input_count; k++) {
        const bool stays = k < 16 && (x->choices >> k & 1) != 0 && (kept & 1) != 0;
        kept = k < 16 && (x->choices >> k & 1) != 0 ? kept >> 1 : kept;
        inputs[k] = stays ? layout_resolve(x->l, n->inputs[k]) : x->inputs[k];
        x->order[k] = orders[k];
        if (stays) {
            x->order[k] = BASE_NEWS(s->scratch, uint32_t, LANG_MAX_RANK);
            for (uint32_t i = 0; i < LANG_MAX_RANK; i++) {
                x->order[k][i] = i;
            }
        }
    }
    for (size_t k = 0; k < n->output_count; k++) {
        const ir_tensor old = *layout_tensor(x->l, n->outputs[k]);
        outputs[k] = ir_tensor_add(s->m, s->g, old.name, old.type, &old.shape);
        s->g->tensors.at[outputs[k]].quant = old.quant;
    }
    x->other = ir_node_add(s->m, s->g, n->op, inputs, n->input_count, outputs, n->output_count, IR_NONE);
    x->other->ids = n->ids;
    x->other->id_count = n->id_count;
    x->other->byte = n->byte;
    x->other->attrs = n->attrs;
    x->other->attr_count = n->attr_count;
    bool fits = true;
    for (size_t i = 0; fits && i < n->attr_count; i++) {
        const unsigned ways = ways_of(&n->attrs[i]);
        /* the first choice says everything anew */
        fits = rename_attr(x, &n->attrs[i], (ways - choice % ways) % ways, x->other);
        choice /= ways;
    }
    fits = fits && infer_outputs(x) && is_alike(x, order);
    if (fits) {
        put_outputs_off(x, order);
    } else {
        speak_back(s, mark);
    }
    x->order = orders;
    return fits;
}

bool layout_cross(layouter *l, const ir_node *n, size_t at) {
    crossing x = {.l = l, .n = n};
    base_arena *outer = l->s.scratch, *scratch = base_arena_new(base_arena_memory(outer));
    base_diags ignored = {.arena = scratch};
    lang_program *p = NULL;
    for (size_t k = 0; k < n->input_count; k++) { /* what stands before the transposes must be there */
        const uint32_t input = layout_resolve(l, n->inputs[k]);
        if (input != IR_NONE && layout_state(l, input)->is_off && !layout_state(l, input)->is_reshape) {
            (void)layout_make(l, layout_state(l, input)->from);
        }
    }
    const speak_mark mark = speak_here(&l->s);
    const uint32_t t = layout_resolve(l, n->inputs[at]);
    x.rank = layout_tensor(l, t)->shape.rank;
    memcpy(x.perm, layout_state(l, t)->perm, sizeof x.perm);
    l->s.scratch = scratch;
    x.inputs = BASE_NEWS(scratch, uint32_t, n->input_count + 1);
    x.order = BASE_NEWS(scratch, uint32_t *, n->input_count + 1);
    bool crossed = ops_instantiate(scratch, l->s.c->ops, l->s.m, l->s.g, n, &l->s.c->goal, &p, &ignored) == BASE_OK &&
                   carry_inputs(&x);
    x.program = p;
    unsigned kept = 1, choices = 1;
    for (size_t i = 0; crossed && i < n->attr_count && choices <= MOST_TRIES; i++) {
        choices *= ways_of(&n->attrs[i]);
    }
    for (uint64_t bits = x.choices; bits != 0; bits &= bits - 1) {
        kept *= 2;
    }
    bool found = false;
    for (unsigned k = 0; crossed && !found && k < kept && k < 8; k++) {
        for (unsigned choice = 1; !found && choice <= choices && choice <= MOST_TRIES; choice++) {
            found = try_one(&x, k, choice % choices);
        }
    }
    if (!found) {
        layout_back(l, mark);
    }
    l->s.scratch = outer;
    base_arena_free(scratch);
    return found;
}
