/* layout.c - transposes go through operators, from what makes them to what takes them back.
 *
 * Takes a graph whose operators were said in another format's, with transposes around them. Gives the same with few: a transpose is
 * put off until somebody needs its values, and what commutes with it is computed on the tensor as it was. That an operator
 * commutes is proved on its definition (lang_alike): the program for transposed inputs and renamed axes is the one for
 * those that were, but for the order of extents. Sums of products take a transpose behind a reshape into their
 * other operand, where that is constant.
 */
#include <string.h>

#include "passes/layout.h"

put_off *layout_state(layouter *l, uint32_t t) {
    while (l->of.n <= t) {
        *BASE_PUSH(l->scratch, &l->of) = (put_off){.is_off = false};
    }
    return &l->of.at[t];
}

bool layout_is_identity(const int64_t *perm, uint32_t rank) {
    for (uint32_t k = 0; k < rank; k++) {
        if (perm[k] != k) {
            return false;
        }
    }
    return true;
}

const ir_tensor *layout_tensor(const layouter *l, uint32_t t) {
    return &l->s.g->tensors.at[t];
}

void layout_back(layouter *l, speak_mark to) {
    speak_back(&l->s, to);
    l->of.n = l->of.n > to.tensors ? to.tensors : l->of.n;
}

size_t layout_transposes(const ir_graph *g, size_t first) {
    size_t n = 0;
    for (size_t i = first; i < g->nodes.n; i++) {
        n += strcmp(g->nodes.at[i].op, "transpose") == 0;
    }
    return n;
}

bool layout_may_cross(const layouter *l, const ir_node *n) {
    bool values = ir_control_of(n) == IR_PLAIN && !ir_is_fused(n) && n->output_count > 0 && n->output_count <= 16 &&
                  n->attr_count <= 16;
    for (size_t k = 0; values && k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        values =
            t == IR_NONE || (layout_tensor(l, t)->state == IR_NONE && passes_is_fixed(&layout_tensor(l, t)->shape));
    }
    return values;
}

bool layout_find_groups(const ir_shape *in, const int64_t *to, size_t n, layout_groups *out) {
    size_t o = 0;
    *out = (layout_groups){.groups = 0};
    for (uint32_t i = 0; i < in->rank; out->groups++) {
        int64_t a = in->dim[i];
        out->first[out->groups] = o;
        out->group_of[i++] = out->groups;
        int64_t b = o < n && !(a == 1 && to[o] != 1) ? to[o++] : 1;
        while (a != b) {
            if (a < b && i < in->rank) {
                out->group_of[i] = out->groups;
                a *= in->dim[i++];
            } else if (b < a && o < n) {
                b *= to[o++];
            } else {
                return false;
            }
        }
        while (i == in->rank && o < n && to[o] == 1) {
            o++;
        }
    }
    out->first[out->groups] = o;
    return o == n;
}

/* ---- what is put off is made after all ---- */

uint32_t layout_resolve(layouter *l, uint32_t t) {
    while (t != IR_NONE && layout_state(l, t)->is_off && !layout_state(l, t)->is_made &&
           !layout_state(l, t)->is_reshape &&
           layout_is_identity(layout_state(l, t)->perm, layout_tensor(l, t)->shape.rank)) {
        t = layout_state(l, t)->from;
    }
    return t;
}

static bool moves_only_ones(const ir_shape *to, const int64_t *perm) {
    int64_t last = -1;
    for (uint32_t k = 0; k < to->rank; k++) {
        if (to->dim[k] != 1) {
            if (perm[k] < last) {
                return false;
            }
            last = perm[k];
        }
    }
    return true;
}

/* The tensor that has t's values: t, or one that is the same. */
uint32_t layout_make(layouter *l, uint32_t t) {
    t = layout_resolve(l, t);
    if (t == IR_NONE || !layout_state(l, t)->is_off || layout_state(l, t)->is_made) {
        return t;
    }
    const put_off off = *layout_state(l, t);
    const uint32_t from = layout_make(l, off.from);
    const ir_shape shape = layout_tensor(l, t)->shape;
    const bool reshapes = off.is_reshape || moves_only_ones(&shape, off.perm);
    ir_node *n = ir_node_add(l->s.m, l->s.g, reshapes ? "reshape" : "transpose", &from, 1, &t, 1, IR_NONE);
    n->ids = l->s.origin->ids;
    n->id_count = l->s.origin->id_count;
    ir_attr_ints(l->s.m, n, reshapes ? "shape" : "perm", reshapes ? shape.dim : off.perm, shape.rank);
    layout_state(l, t)->is_made = true;
    return t;
}

/* An output of the graph: the node that makes what it is the same as makes it there, if that is nobody else's. */
static void make_output(layouter *l, uint32_t t) {
    ir_graph *g = l->s.g;
    const uint32_t from = layout_resolve(l, t);
    if (from == t) {
        (void)layout_make(l, t);
        return;
    }
    const uint32_t made = layout_make(l, from);
    bool renames = false;
    for (size_t i = 0; i < g->nodes.n; i++) {
        for (size_t k = 0; k < g->nodes.at[i].output_count; k++) {
            renames = renames || g->nodes.at[i].outputs[k] == made;
        }
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        renames = renames && g->outputs.at[i] != made;
    }
    if (!renames) {
        ir_node *n = ir_node_add(l->s.m, g, "reshape", &made, 1, &t, 1, IR_NONE);
        ir_attr_ints(l->s.m, n, "shape", layout_tensor(l, t)->shape.dim, layout_tensor(l, t)->shape.rank);
        layout_state(l, t)->is_made = true;
        return;
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        ir_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->input_count + n->output_count; k++) {
            uint32_t *at = k < n->input_count ? &n->inputs[k] : &n->outputs[k - n->input_count];
            *at = *at == made ? t : *at;
        }
    }
    *layout_state(l, t) = (put_off){.is_off = false};
    *layout_state(l, made) = (put_off){.is_off = true, .from = t}; /* the same from now on */
    for (uint32_t k = 0; k < IR_MAX_RANK; k++) {
        layout_state(l, made)->perm[k] = k;
    }
}

/* ---- a graph ---- */

static bool is_output(const ir_graph *g, uint32_t t) {
    for (size_t i = 0; i < g->outputs.n; i++) {
        if (g->outputs.at[i] == t) {
            return true;
        }
    }
    return false;
}

static bool is_move(const layouter *l, const ir_node *n, const char *word) {
    return strcmp(n->op, word) == 0 && n->input_count == 1 && n->inputs[0] != IR_NONE && layout_may_cross(l, n) &&
           layout_tensor(l, n->inputs[0])->data == NULL &&
           ir_quant_same(&layout_tensor(l, n->inputs[0])->quant, &layout_tensor(l, n->outputs[0])->quant);
}

static bool put_transpose_off(layouter *l, const ir_node *n) {
    const ir_attr *perm = ir_attr_find(n, "perm");
    if (!is_move(l, n, "transpose") || perm == NULL || perm->kind != IR_INTS ||
        perm->n != layout_tensor(l, n->outputs[0])->shape.rank) {
        return false;
    }
    const uint32_t from = layout_resolve(l, n->inputs[0]);
    const put_off before = *layout_state(l, from);
    put_off off = {.is_off = true, .from = from};
    for (uint32_t k = 0; k < perm->n; k++) {
        off.perm[k] = perm->v.ints[k];
    }
    if (before.is_off && !before.is_reshape) {
        off.from = before.from;
        for (uint32_t k = 0; k < perm->n; k++) {
            off.perm[k] = before.perm[perm->v.ints[k]];
        }
    }
    for (uint32_t k = (uint32_t)perm->n; k < IR_MAX_RANK; k++) {
        off.perm[k] = k;
    }
    for (uint32_t t = 0; t < l->of.n; t++) { /* one of the same is enough */
        const put_off *other = &l->of.at[t];
        if (other->is_off && !other->is_reshape && other->from == off.from && t != n->outputs[0] &&
            memcmp(other->perm, off.perm, sizeof off.perm) == 0 && !layout_is_identity(off.perm, IR_MAX_RANK)) {
            off.from = t;
            for (uint32_t k = 0; k < IR_MAX_RANK; k++) {
                off.perm[k] = k;
            }
            break;
        }
    }
    *layout_state(l, n->outputs[0]) = off;
    return true;
}

/* A reshape joins extents that the transpose before it has brought together: that much of it is made now, the rest stays put off. */
static void split_transpose(layouter *l, const ir_node *n) {
    const uint32_t t = layout_resolve(l, n->inputs[0]);
    const put_off off = *layout_state(l, t);
    const ir_shape in = layout_tensor(l, t)->shape, *out = &layout_tensor(l, n->outputs[0])->shape;
    layout_groups g;
    int64_t part[IR_MAX_RANK], rest[IR_MAX_RANK];
    bool done[IR_MAX_RANK] = {false};
    uint32_t count = 0;
    if (!layout_find_groups(&in, out->dim, out->rank, &g)) {
        return;
    }
    for (uint32_t k = 0; k < in.rank; k++) { /* as it stands before: groups in that order, each in its own */
        uint32_t i = 0;
        while (off.perm[i] != k) {
            i++;
        }
        for (uint32_t j = 0; j < in.rank && !done[g.group_of[i]]; j++) {
            if (g.group_of[j] == g.group_of[i]) {
                part[count] = off.perm[j];
                rest[j] = count++;
            }
        }
        done[g.group_of[i]] = true;
    }
    if (layout_is_identity(part, in.rank) || layout_is_identity(rest, in.rank)) {
        return;
    }
    const uint32_t moved = speak_transpose(&l->s, layout_make(l, off.from), in.rank, part);
    if (moved == IR_NONE) {
        return;
    }
    put_off now = {.is_off = true, .from = moved};
    for (uint32_t k = 0; k < IR_MAX_RANK; k++) {
        now.perm[k] = k < in.rank ? rest[k] : k;
    }
    *layout_state(l, t) = now;
}

static bool put_node(layouter *l, const ir_node *n) {
    size_t at = n->input_count, moved = n->input_count;
    for (size_t k = 0; k < n->input_count; k++) {
        const uint32_t t = layout_resolve(l, n->inputs[k]);
        if (t != IR_NONE && layout_state(l, t)->is_off) {
            moved = moved == n->input_count ? k : moved;
            at = at == n->input_count && !layout_state(l, t)->is_reshape ? k : at;
        }
    }
    if (moved == n->input_count || !layout_may_cross(l, n)) {
        return false;
    }
    if (at < n->input_count && layout_cross(l, n, at)) {
        return true;
    }
    if (at < n->input_count && is_move(l, n, "reshape") && !layout_state(l, layout_resolve(l, n->inputs[0]))->is_made) {
        split_transpose(l, n);
        if (layout_cross(l, n, at)) {
            return true;
        }
    }
    if (is_move(l, n, "reshape")) {
        *layout_state(l, n->outputs[0]) =
            (put_off){.is_off = true, .is_reshape = true, .from = layout_resolve(l, n->inputs[0])};
        return true;
    }
    return layout_absorb(l, n, moved);
}

static void lay_out(layouter *l, const ir_node *old, size_t count) {
    ir_graph *g = l->s.g;
    for (size_t i = 0; i < count; i++) {
        l->s.origin = &old[i];
        if (put_transpose_off(l, &old[i]) || put_node(l, &old[i])) {
            continue;
        }
        ir_node n = old[i];
        n.inputs = BASE_NEWS(l->s.m->arena, uint32_t, n.input_count + 1);
        n.outputs = BASE_NEWS(l->s.m->arena, uint32_t, n.output_count + 1);
        memcpy(n.outputs, old[i].outputs, n.output_count * sizeof *n.outputs);
        for (size_t k = 0; k < n.input_count; k++) {
            n.inputs[k] = layout_make(l, old[i].inputs[k]);
        }
        *BASE_PUSH(l->s.m->arena, &g->nodes) = n;
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        make_output(l, g->outputs.at[i]);
    }
}

/* Transposes between operators: neither right behind an input nor right before an output. */
static size_t inside(const ir_graph *g) {
    size_t n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const ir_node *t = &g->nodes.at[i];
        bool outside = strcmp(t->op, "transpose") != 0 || is_output(g, t->outputs[0]);
        for (size_t k = 0; k < g->inputs.n && !outside; k++) {
            outside = g->inputs.at[k] == t->inputs[0];
        }
        n += !outside;
    }
    return n;
}

/* How the graph's transposes of that rank move most often. false: there are none. */
static bool usual_perm(const ir_node *old, size_t count, uint32_t rank, int64_t *perm) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const ir_attr *a = strcmp(old[i].op, "transpose") == 0 ? ir_attr_find(&old[i], "perm") : NULL;
        size_t n = 0;
        for (size_t k = i; a != NULL && a->kind == IR_INTS && a->n == rank && k < count && k < i + 64; k++) {
            const ir_attr *b = strcmp(old[k].op, "transpose") == 0 ? ir_attr_find(&old[k], "perm") : NULL;
            n += b != NULL && b->kind == IR_INTS && b->n == rank &&
                 memcmp(a->v.ints, b->v.ints, rank * sizeof *perm) == 0;
        }
        if (n > most) { /* the first of those that are as many: what is next to the inputs */
            most = n;
            memcpy(perm, a->v.ints, rank * sizeof *perm);
        }
    }
    return most > 0;
}

/* Inputs of the graph are transposed at once, as its transposes mostly do. */
static void transpose_inputs(layouter *l, const ir_node *old, size_t count) {
    for (size_t i = 0; i < l->s.g->inputs.n; i++) {
        const uint32_t t = l->s.g->inputs.at[i];
        const ir_tensor x = *layout_tensor(l, t);
        int64_t perm[IR_MAX_RANK];
        if (x.shape.rank < 3 || x.quant.n > 1 || !passes_is_fixed(&x.shape) ||
            !usual_perm(old, count, x.shape.rank, perm)) {
            continue;
        }
        const uint32_t moved = speak_transpose(&l->s, t, x.shape.rank, perm);
        if (moved == IR_NONE || moved == t) {
            continue;
        }
        l->s.g->tensors.at[moved].quant = x.quant;
        put_off off = {.is_off = true, .is_made = true, .from = moved};
        for (uint32_t k = 0; k < IR_MAX_RANK; k++) {
            off.perm[k] = k;
        }
        for (uint32_t k = 0; k < x.shape.rank; k++) {
            off.perm[perm[k]] = k;
        }
        *layout_state(l, t) = off;
    }
}

/* One way to lay out; the nodes are what becomes of the old ones. */
static void try_layout(passes_context *c, ir_model *m, ir_graph *g, const ir_node *old, size_t count, bool inputs) {
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    layouter l = {.s = {.c = c, .m = m, .g = g, .scratch = scratch, .origin = &old[0]}, .scratch = scratch};
    g->nodes.at = NULL;
    g->nodes.n = g->nodes.cap = 0;
    if (inputs) {
        transpose_inputs(&l, old, count);
    }
    lay_out(&l, old, count);
    base_arena_free(scratch);
    ir_drop_dead(m);
}

static size_t readers(const ir_graph *g, uint32_t t) {
    size_t n = is_output(g, t);
    for (size_t i = 0; i < g->nodes.n; i++) {
        for (size_t k = 0; k < g->nodes.at[i].input_count; k++) {
            n += g->nodes.at[i].inputs[k] == t;
        }
    }
    return n;
}

/* What a transpose of quantised numbers takes are such numbers, too, where nothing else reads it. */
static void scale_sources(ir_graph *g) {
    for (size_t i = g->nodes.n; i-- > 0;) {
        const ir_node *n = &g->nodes.at[i];
        if (strcmp(n->op, "transpose") != 0 || n->input_count != 1 || n->inputs[0] == IR_NONE) {
            continue;
        }
        ir_tensor *from = &g->tensors.at[n->inputs[0]];
        const ir_tensor *to = &g->tensors.at[n->outputs[0]];
        if (to->quant.n == 1 && from->quant.n == 0 && from->data == NULL && from->state == IR_NONE &&
            readers(g, n->inputs[0]) == 1) {
            from->quant = to->quant;
        }
    }
}

static void lay_out_graph(passes_context *c, ir_model *m, ir_graph *g) {
    const size_t count = g->nodes.n;
    const ir_node *old = g->nodes.at;
    if (layout_transposes(g, 0) == 0) {
        return;
    }
    scale_sources(g);
    try_layout(c, m, g, old, count, true);
    const ir_graph first = *g;
    const size_t between = inside(g), all = layout_transposes(g, 0);
    if (between == 0) {
        return;
    }
    try_layout(c, m, g, old, count, false);
    if (inside(g) > between || (inside(g) == between && layout_transposes(g, 0) >= all)) {
        g->nodes.at = first.nodes.at;
        g->nodes.n = first.nodes.n;
        g->nodes.cap = first.nodes.cap;
    }
}

void passes_count_transposes(passes_context *c, const ir_model *m) {
    size_t all = 0, between = 0;
    for (size_t i = 0; c->vocabulary != NULL && i < m->graphs.n; i++) {
        all += layout_transposes(&m->graphs.at[i], 0);
        between += inside(&m->graphs.at[i]);
    }
    if (c->vocabulary != NULL) {
        c->layout = base_printf(c->arena, "%zu transposes, %zu of them between operators", all, between);
    }
}

base_status passes_layout(passes_context *c, ir_model *m, base_diags *d) {
    base_status status = BASE_OK;
    for (size_t i = 0; c->vocabulary != NULL && i < m->graphs.n; i++) {
        lay_out_graph(c, m, &m->graphs.at[i]);
    }
    if (c->expanded && c->opt_level > 0) { /* reshapes that are behind each other now */
        status = passes_moves(c, m, d);
    }
    passes_count_transposes(c, m);
    return status;
}
