/* channels_drop.c - nodes with fewer channels, proved on both definitions.
 *
 * Takes which channels are kept. Gives every node that has dropped ones anew: constants without their elements, and a bias with what dropped channels of one value
 * add to each sum, which is the difference of the ranges of the two sums where all else is fixed. Each node is held against what it was on sampled elements;
 * one that differs, or cannot be said, is named, and the graph is as before.
 */
#include "passes/channels.h"

#include <string.h>

enum { ELEMENTS = 24, CASES = 2 };

/* Elements of an extent: all of them, or these. */
typedef struct extent_list {
    const int64_t *at; /* NULL: all */
    int64_t n;
} extent_list;

typedef struct dropper {
    channel_finder *f;
    passes_edit *e;
    base_arena *scratch;
    uint32_t *now;      /* of each tensor: the one with fewer channels, or itself */
    extent_list *lists; /* of each tensor: channels kept along its axis */
    ir_node *nodes;     /* of each node: as it becomes */
    bool *changed;
    uint32_t seed;
    passes_channel_counts saved;
} dropper;

/* ---- slices ---- */

static ir_shape sliced_shape(const ir_shape *s, const extent_list *lists) {
    ir_shape out = *s;
    for (uint32_t d = 0; d < s->rank; d++) {
        out.dim[d] = lists[d].at != NULL ? lists[d].n : s->dim[d];
    }
    return out;
}

/* The element of the whole tensor that is element i of what is kept. */
static uint64_t whole_element(const ir_shape *whole, const ir_shape *kept, const extent_list *lists, uint64_t i) {
    uint64_t stride = 1, out = 0;
    for (uint32_t d = whole->rank; d-- > 0;) {
        const int64_t at = (int64_t)(i % (uint64_t)kept->dim[d]);
        i /= (uint64_t)kept->dim[d];
        out += stride * (uint64_t)(lists[d].at != NULL ? lists[d].at[at] : at);
        stride *= (uint64_t)whole->dim[d];
    }
    return out;
}

static void *sliced_data(base_arena *arena, base_type type, const void *data, const ir_shape *whole,
                         const ir_shape *kept, const extent_list *lists) {
    uint64_t elements = 0, bytes = 0;
    (void)ir_shape_elements(kept, &elements);
    (void)base_type_bytes(type, elements, &bytes);
    void *out = base_alloc(arena, (size_t)bytes + 8, 1);
    for (uint64_t i = 0; i < elements; i++) {
        base_store(type, out, i, base_load(type, data, whole_element(whole, kept, lists, i)));
    }
    return out;
}

static ir_quant sliced_quant(base_arena *arena, const ir_quant *q, const extent_list *lists, uint32_t rank) {
    ir_quant out = *q;
    if (q->n <= 1 || q->axis < 0 || (uint32_t)q->axis >= rank || lists[q->axis].at == NULL) {
        return out;
    }
    const extent_list *list = &lists[q->axis];
    float *scale = BASE_NEWS(arena, float, (size_t)list->n + 1);
    int64_t *zero = BASE_NEWS(arena, int64_t, (size_t)list->n + 1);
    for (int64_t i = 0; i < list->n; i++) {
        scale[i] = q->scale[list->at[i]];
        zero[i] = q->zero[list->at[i]];
    }
    out.n = (uint32_t)list->n;
    out.scale = scale;
    out.zero = zero;
    return out;
}

/* The tensor with these elements, behind the others. */
static uint32_t add_slice(dropper *x, uint32_t t, const extent_list *lists) {
    ir_graph *g = x->e->g;
    const ir_tensor whole = g->tensors.at[t];
    const ir_shape shape = sliced_shape(&whole.shape, lists);
    const uint32_t out = ir_tensor_add(x->e->m, g, whole.name, whole.type, &shape);
    g->tensors.at[out].quant = sliced_quant(x->e->m->arena, &whole.quant, lists, whole.shape.rank);
    if (whole.data != NULL) {
        g->tensors.at[out].data = sliced_data(x->e->m->arena, whole.type, whole.data, &whole.shape, &shape, lists);
    }
    return out;
}

/* ---- which ---- */

static const along_axis *of(const dropper *x, uint32_t t) {
    return &x->f->of[t];
}

static void list_channels(dropper *x, uint32_t t) {
    const bool *kept = x->f->kept[channels_class(x->f, t)];
    int64_t *at = BASE_NEWS(x->scratch, int64_t, (size_t)of(x, t)->n + 1), n = 0;
    for (int64_t c = 0; c < of(x, t)->n; c++) {
        if (kept[c]) {
            at[n++] = c;
        }
    }
    x->lists[t] = (extent_list){n < of(x, t)->n ? at : NULL, n};
}

static bool is_shrunk(const dropper *x, uint32_t t) {
    return t != IR_NONE && t < x->e->tensors && x->lists[t].at != NULL;
}

/* The lists along the extents of a tensor that is followed. */
static void lists_of(const dropper *x, uint32_t t, extent_list *out) {
    memset(out, 0, IR_MAX_RANK * sizeof *out);
    if (is_shrunk(x, t)) {
        out[of(x, t)->axis] = x->lists[t];
    }
}

static bool shrink_tensors(dropper *x) {
    bool any = false;
    for (uint32_t t = 0; t < x->e->tensors; t++) {
        x->now[t] = t;
        if (of(x, t)->range == NULL) {
            continue;
        }
        list_channels(x, t);
        if (is_shrunk(x, t)) {
            extent_list lists[IR_MAX_RANK];
            lists_of(x, t, lists);
            x->now[t] = add_slice(x, t, lists);
            x->saved.dropped += of(x, t)->multiplies ? (uint64_t)(of(x, t)->n - x->lists[t].n) : 0;
            any = true;
        }
    }
    return any;
}

/* ---- the proof ---- */

static uint32_t next(dropper *x) {
    x->seed = x->seed * 1664525u + 1013904223u;
    return x->seed >> 8;
}

/* Contents of an input of the node as it was: dropped channels of one value have it. */
static void *fill(dropper *x, base_arena *scratch, uint32_t t, unsigned round) {
    const ir_tensor *tensor = &x->e->g->tensors.at[t];
    uint64_t elements = 0, bytes = 0, most = 0, inside = 1;
    int64_t least = 0;
    const bool real = base_type_is_float(tensor->type), follows = of(x, t)->range != NULL;
    (void)ir_shape_elements(&tensor->shape, &elements);
    (void)ir_tensor_bytes(tensor, &bytes);
    void *data = base_alloc(scratch, (size_t)bytes + 8, 1);
    if (!real) {
        base_type_range(tensor->type, &least, &most);
    }
    for (uint32_t d = follows ? of(x, t)->axis + 1 : tensor->shape.rank; d < tensor->shape.rank; d++) {
        inside *= (uint64_t)tensor->shape.dim[d];
    }
    for (uint64_t i = 0; i < elements; i++) {
        const double part = round == 0 ? (double)(next(x) & 1) : (double)(next(x) % 65537u) / 65536.0;
        base_value v = {.f = 0};
        if (real) {
            v.f = (double)(float)(part * 20 - 10);
        } else {
            v.i = least + (int64_t)(part * ((double)most - (double)least));
        }
        const lang_range *r = follows ? &of(x, t)->range[i / inside % (uint64_t)of(x, t)->n] : NULL;
        if (r != NULL && r->known && v.i < r->lo) {
            v.i = r->lo;
        }
        if (r != NULL && r->known && v.i > r->hi) {
            v.i = r->hi;
        }
        base_store(tensor->type, data, i, v);
    }
    return data;
}

static lang_code *code_of(dropper *x, base_arena *scratch, const ir_node *n, base_diags *d) {
    lang_program *p = NULL;
    return ops_instantiate(scratch, x->e->c->ops, x->e->m, x->e->g, n, &x->e->c->goal, &p, d) == BASE_OK
               ? lang_compile(scratch, p, LANG_EVAL_EXACT, d)
               : NULL;
}

/* The same elements of both, for inputs that are what they can be. */
static bool agrees(dropper *x, base_arena *scratch, const ir_node *was, const ir_node *n) {
    base_diags ignored = {.arena = scratch};
    const lang_code *code[2] = {code_of(x, scratch, was, &ignored), code_of(x, scratch, n, &ignored)};
    const ir_tensor *to = &x->e->g->tensors.at[was->outputs[0]], *now = &x->e->g->tensors.at[n->outputs[0]];
    extent_list lists[IR_MAX_RANK];
    uint64_t elements = 0, at[2][ELEMENTS];
    (void)ir_shape_elements(&now->shape, &elements);
    bool same = code[0] != NULL && code[1] != NULL;
    for (unsigned round = 0; same && round < CASES; round++) {
        const void **inputs[2] = {BASE_NEWS(scratch, const void *, was->input_count + 1),
                                  BASE_NEWS(scratch, const void *, n->input_count + 1)};
        for (size_t k = 0; k < n->input_count; k++) {
            const uint32_t t = k < was->input_count ? was->inputs[k] : IR_NONE;
            const ir_tensor *whole = t != IR_NONE ? &x->e->g->tensors.at[t] : NULL;
            inputs[1][k] = n->inputs[k] != IR_NONE ? x->e->g->tensors.at[n->inputs[k]].data : NULL;
            if (whole != NULL && whole->data != NULL) {
                inputs[0][k] = whole->data;
            } else if (whole != NULL) {
                lists_of(x, t, lists);
                inputs[0][k] = fill(x, scratch, t, round);
                inputs[1][k] = sliced_data(scratch, whole->type, inputs[0][k], &whole->shape,
                                           &x->e->g->tensors.at[n->inputs[k]].shape, lists);
            }
        }
        const size_t count = elements < ELEMENTS ? (size_t)elements : ELEMENTS;
        lists_of(x, was->outputs[0], lists);
        for (size_t i = 0; i < count; i++) {
            const uint64_t r = (uint64_t)next(x) << 24 ^ next(x);
            at[1][i] = elements <= ELEMENTS ? i : i == 0 ? 0 : i == 1 ? elements - 1 : r % elements;
            at[0][i] = whole_element(&to->shape, &now->shape, lists, at[1][i]);
        }
        void *a = base_alloc(scratch, count + 1, 8), *b = base_alloc(scratch, count + 1, 8);
        same = lang_run_elements(code[0], scratch, inputs[0], 0, at[0], count, a, NULL, NULL, &ignored) == BASE_OK &&
               lang_run_elements(code[1], scratch, inputs[1], 0, at[1], count, b, NULL, NULL, &ignored) == BASE_OK;
        for (size_t i = 0; same && i < count; i++) {
            same = base_load(to->type, a, i).u == base_load(to->type, b, i).u;
        }
    }
    return same;
}

/* ---- sums and biases ---- */

/* A sum over the channels of an input, and what is added to it for each channel of the output. */
typedef struct channel_sum {
    lang_ref sum;
    bool has_bias;
    size_t bias;     /* number of the input */
    uint32_t output; /* variable of the output's channels */
    int64_t outside; /* what is read outside of the input; 0: nothing is */
} channel_sum;

static lang_ref strip_casts(const lang_program *p, lang_ref r) {
    while (lang_at(p, r)->kind == LANG_WORD_ && lang_at(p, r)->code == LANG_CAST) {
        r = lang_operand(p, r, 0);
    }
    return r;
}

/* The node that is the only one to use r, of those that are reached. */
static lang_ref only_user(const lang_program *p, const uint8_t *reached, const lang_stage *s, lang_ref r) {
    lang_ref user = 0;
    for (lang_ref u = r + 1; u <= s->body; u++) {
        for (uint32_t k = 0; reached[u] != 0 && k < lang_at(p, u)->count; k++) {
            if (lang_operand(p, u, k) == r) {
                if (user != 0) {
                    return 0;
                }
                user = u;
            }
        }
    }
    return user;
}

/* sum + B[o], of which neither is used elsewhere. */
static void find_bias(const lang_program *p, const uint8_t *reached, const lang_stage *s, const ir_node *n,
                      channel_sum *out) {
    const lang_ref add = only_user(p, reached, s, out->sum);
    const lang_node *a = lang_at(p, add);
    if (add == 0 || a->kind != LANG_WORD_ || a->code != LANG_ADD || !base_type_is_int((base_type)a->type)) {
        return;
    }
    const lang_ref other = lang_operand(p, add, lang_operand(p, add, 0) == out->sum ? 1 : 0),
                   read = strip_casts(p, other);
    const lang_node *r = lang_at(p, read);
    if (r->kind != LANG_READ || r->has_fill || r->count != 1 || p->tensors.at[r->index].rank != 1 ||
        only_user(p, reached, s, other) != add || lang_reads_of(p, s, r->index) != 1 ||
        (read != other && only_user(p, reached, s, read) == 0)) {
        return;
    }
    const lang_node *v = lang_at(p, lang_operand(p, read, 0));
    for (size_t k = 0; v->kind == LANG_VAR && v->index < s->rank && k < n->input_count && k < p->inputs.n; k++) {
        if (p->inputs.at[k] == r->index && p->tensors.at[r->index].data != NULL &&
            p->tensors.at[r->index].dim[0] == s->vars[v->index].bound) {
            out->has_bias = true;
            out->bias = k;
            out->output = v->index;
        }
    }
}

/* Of input number k, whose channels are summed along that axis. */
static bool find_sum(base_arena *scratch, const lang_program *p, const lang_stage *s, const ir_node *n, size_t k,
                     uint32_t axis, channel_sum *out) {
    const uint8_t *reached = lang_reached(scratch, p, s);
    uint32_t v = LANG_MAX_VARS;
    *out = (channel_sum){0};
    for (lang_ref r = 1; r <= s->body; r++) {
        const lang_node *x = lang_at(p, r);
        lang_digits index[LANG_MAX_RANK];
        if (reached[r] == 0 || x->kind != LANG_READ || x->index != p->inputs.at[k] || !lang_digits_read(p, r, index) ||
            index[axis].n != 1) {
            continue;
        }
        const lang_node *fill = x->has_fill ? lang_at(p, lang_operand(p, r, x->count - 1)) : NULL;
        v = index[axis].term[0].digit.var;
        if (fill != NULL && fill->kind != LANG_CONST) {
            return false;
        }
        out->outside = fill != NULL ? fill->value.i : out->outside;
    }
    for (lang_ref r = 1; r <= s->body; r++) {
        const lang_node *x = lang_at(p, r);
        for (uint32_t i = 0; reached[r] != 0 && x->kind == LANG_REDUCE && x->code == LANG_SUM && i + 3 < x->count;
             i++) {
            if (lang_at(p, lang_operand(p, r, i))->index == v) {
                if (out->sum != 0) {
                    return false;
                }
                out->sum = r;
            }
        }
    }
    if (out->sum != 0) {
        find_bias(p, reached, s, n, out);
    }
    return out->sum != 0;
}

/* The sum for each channel of the output, where kept channels of the input are what stands outside of it and dropped ones what they are. */
static bool fixed_sums(dropper *x, base_arena *scratch, const lang_program *p, const lang_stage *s, const ir_node *n,
                       const ir_node *was, size_t k, const channel_sum *sum, int64_t *out) {
    const uint32_t t = was->inputs[k], in = p->inputs.at[k];
    const along_axis *a = of(x, t);
    const bool whole = n == was;
    const int64_t count = whole ? a->n : x->lists[t].n;
    lang_range *told = BASE_NEWS(scratch, lang_range, (size_t)count + 1);
    const bool *kept = x->f->kept[channels_class(x->f, t)];
    for (int64_t c = 0; c < count; c++) {
        told[c] = whole && !kept[c] ? a->range[c] : (lang_range){sum->outside, sum->outside, true};
    }
    lang_along *along = lang_along_new(scratch, p, &x->f->work);
    lang_along_tensor(along, in, a->axis, told);
    const int64_t outputs = s->vars[sum->output].bound;
    lang_range *range = BASE_NEWS(scratch, lang_range, (size_t)outputs + 1);
    (void)lang_ranges_along(along, s, sum->sum, sum->output, range);
    for (int64_t o = 0; o < outputs; o++) {
        if (!range[o].known || range[o].lo != range[o].hi) {
            return false;
        }
        out[o] = range[o].lo;
    }
    return true;
}

static bool in_type(base_type type, int64_t v) {
    int64_t lo;
    uint64_t hi;
    base_type_range(type, &lo, &hi);
    return v >= lo && (v < 0 || (uint64_t)v <= hi);
}

/* Input `at` of the node, a bias or nothing so far, as it is with `more` added. IR_NONE: it is no bias, or its type does not hold that. */
static uint32_t added_bias(dropper *x, const ir_node *n, size_t at, base_type type, const int64_t *more,
                           int64_t channels) {
    const uint32_t t = at < n->input_count ? n->inputs[at] : IR_NONE;
    const ir_shape shape = ir_shape_of(1, &channels);
    ir_tensor b = {.name = "bias", .type = type, .shape = shape};
    if (t != IR_NONE) {
        b = x->e->g->tensors.at[t];
        if (b.data == NULL || b.type != type || !ir_shape_same(&b.shape, &shape)) {
            return IR_NONE;
        }
    }
    void *data = base_alloc(x->e->m->arena, (size_t)channels + 1, 8);
    for (int64_t o = 0; o < channels; o++) {
        int64_t v = 0;
        if (__builtin_add_overflow(b.data != NULL ? base_load(type, b.data, (uint64_t)o).i : 0, more[o], &v) ||
            !in_type(type, v)) {
            return IR_NONE;
        }
        base_store(type, data, (uint64_t)o, (base_value){.i = v});
    }
    const uint32_t fresh = ir_tensor_add(x->e->m, x->e->g, b.name, type, &shape);
    x->e->g->tensors.at[fresh].quant = b.quant;
    x->e->g->tensors.at[fresh].data = data;
    return fresh;
}

/* Is input `at` of the node what is added to the sum over channels of input k, for each channel of the output? Asked with contents that
 * differ, since what is one value is no input of the program any more; of one channel nothing differs, and only `agrees` speaks for it. */
static bool is_bias(dropper *x, base_arena *scratch, const ir_node *n, size_t k, uint32_t axis, size_t at) {
    ir_node asked = *n;
    const lang_program *p;
    channel_sum sum;
    const ir_tensor b = x->e->g->tensors.at[n->inputs[at]];
    void *data = base_alloc(scratch, (size_t)b.shape.dim[0] + 1, 8);
    for (int64_t o = 0; o < b.shape.dim[0]; o++) {
        base_store(b.type, data, (uint64_t)o, (base_value){.i = o % 2});
    }
    uint32_t *inputs = BASE_NEWS(scratch, uint32_t, n->input_count + 1);
    memcpy(inputs, n->inputs, n->input_count * sizeof *inputs);
    inputs[at] = ir_tensor_add(x->e->m, x->e->g, b.name, b.type, &b.shape);
    x->e->g->tensors.at[inputs[at]].quant = b.quant;
    x->e->g->tensors.at[inputs[at]].data = data;
    asked.inputs = inputs;
    const lang_stage *s = channels_stage(x->f, scratch, &asked, &p, NULL);
    const bool is = s != NULL && find_sum(scratch, p, s, &asked, k, axis, &sum) &&
                    ((sum.has_bias && sum.bias == at) || b.shape.dim[0] == 1);
    x->e->g->tensors.n--;
    return is;
}

static bool add_to_bias(dropper *x, base_arena *scratch, const ir_node *was, ir_node *n, size_t k, uint32_t axis,
                        const int64_t *more, int64_t channels) {
    static const base_type types[] = {BASE_I32, BASE_I64};
    for (size_t at = 0; at <= n->input_count; at++) {
        for (size_t i = 0; i < 2 && at != k; i++) {
            ir_node tried = *n;
            const uint32_t bias = added_bias(x, n, at, types[i], more, channels);
            tried.input_count = at < n->input_count ? n->input_count : n->input_count + 1;
            tried.inputs = BASE_NEWS(x->e->m->arena, uint32_t, n->input_count + 2);
            memcpy(tried.inputs, n->inputs, n->input_count * sizeof *tried.inputs);
            tried.inputs[at] = bias;
            if (bias != IR_NONE && is_bias(x, scratch, &tried, k, axis, at) && agrees(x, scratch, was, &tried)) {
                *n = tried;
                return true;
            }
        }
    }
    return false;
}

/* What the dropped channels of input k add to each sum goes into the bias of node n. */
static bool absorb(dropper *x, base_arena *scratch, const ir_node *was, ir_node *n, size_t k) {
    const uint32_t axis = of(x, was->inputs[k])->axis, to = was->outputs[0];
    const lang_program *p[2];
    const lang_stage *s[2] = {channels_stage(x->f, scratch, was, &p[0], NULL),
                              channels_stage(x->f, scratch, n, &p[1], NULL)};
    channel_sum sum[2];
    if (s[0] == NULL || s[1] == NULL || !find_sum(scratch, p[0], s[0], was, k, axis, &sum[0]) ||
        !find_sum(scratch, p[1], s[1], n, k, axis, &sum[1]) || of(x, to)->range == NULL) {
        return false;
    }
    for (unsigned i = 0; i < 2; i++) { /* of a bias of one value the program has a number */
        sum[i].output = sum[i].has_bias ? sum[i].output : sum[1 - i].has_bias ? sum[1 - i].output : of(x, to)->axis;
    }
    const int64_t outputs[2] = {s[0]->vars[sum[0].output].bound, s[1]->vars[sum[1].output].bound};
    int64_t *sums[2] = {BASE_NEWS(scratch, int64_t, (size_t)outputs[0] + 1),
                        BASE_NEWS(scratch, int64_t, (size_t)outputs[1] + 1)};
    const bool fewer = is_shrunk(x, to) && of(x, to)->axis == sum[0].output;
    if (outputs[1] != (fewer ? x->lists[to].n : outputs[0]) ||
        !fixed_sums(x, scratch, p[0], s[0], was, was, k, &sum[0], sums[0]) ||
        !fixed_sums(x, scratch, p[1], s[1], n, was, k, &sum[1], sums[1])) {
        return false;
    }
    bool any = false;
    for (int64_t o = 0; o < outputs[1]; o++) {
        sums[1][o] = sums[0][fewer ? x->lists[to].at[o] : o] - sums[1][o];
        any = any || sums[1][o] != 0;
    }
    return any ? add_to_bias(x, scratch, was, n, k, axis, sums[1], outputs[1]) : agrees(x, scratch, was, n);
}

/* ---- nodes ---- */

static void slice_inputs(dropper *x, size_t i, ir_node *n) {
    const ir_node *was = &x->e->g->nodes.at[i];
    const node_roles *r = &x->f->roles[i];
    n->inputs = BASE_NEWS(x->e->m->arena, uint32_t, was->input_count + 1);
    for (size_t k = 0; k < was->input_count; k++) {
        const uint32_t t = was->inputs[k];
        extent_list lists[IR_MAX_RANK] = {{NULL, 0}};
        bool any = false;
        for (uint32_t d = 0; t != IR_NONE && d < x->e->g->tensors.at[t].shape.rank; d++) {
            const uint8_t by = r->extent[k][d];
            const uint32_t from = by == 0                 ? IR_NONE
                                  : by == CHANNELS_OUTPUT ? was->outputs[0]
                                                          : was->inputs[by - CHANNELS_INPUT];
            if (is_shrunk(x, from)) {
                lists[d] = x->lists[from];
                any = true;
            }
        }
        n->inputs[k] = t == IR_NONE ? IR_NONE : any ? add_slice(x, t, lists) : x->now[t];
    }
    n->outputs = BASE_NEWS(x->e->m->arena, uint32_t, 1);
    n->outputs[0] = x->now[was->outputs[0]];
}

/* Attributes that say the output's shape say the new one. false: none does. */
static bool say_shape(dropper *x, const ir_node *was, ir_node *n) {
    const ir_shape *old = &x->e->g->tensors.at[was->outputs[0]].shape, *now = &x->e->g->tensors.at[n->outputs[0]].shape;
    bool any = false;
    for (size_t a = 0; a < was->attr_count; a++) {
        const ir_attr *attr = &was->attrs[a];
        if (attr->kind == IR_INTS && attr->n == old->rank &&
            memcmp(attr->v.ints, old->dim, attr->n * sizeof old->dim[0]) == 0) {
            ir_attr_ints(x->e->m, n, attr->name, now->dim, now->rank);
            any = true;
        }
    }
    return any;
}

uint64_t channels_constants(const ir_graph *g, const ir_node *n) {
    uint64_t sum = 0, bytes = 0;
    for (size_t k = 0; k < n->input_count; k++) {
        const ir_tensor *t = n->inputs[k] != IR_NONE ? &g->tensors.at[n->inputs[k]] : NULL;
        sum += t != NULL && t->data != NULL && ir_tensor_bytes(t, &bytes) ? bytes : 0;
    }
    return sum;
}

static bool remake(dropper *x, base_arena *scratch, size_t i) {
    const ir_node was = x->e->g->nodes.at[i];
    const lang_program *p[2];
    uint64_t macs[2] = {0};
    ir_node n = was;
    size_t summed = SIZE_MAX;
    slice_inputs(x, i, &n);
    if (channels_stage(x->f, scratch, &n, &p[1], &macs[1]) == NULL &&
        (!say_shape(x, &was, &n) || channels_stage(x->f, scratch, &n, &p[1], &macs[1]) == NULL)) {
        return false;
    }
    (void)channels_stage(x->f, scratch, &was, &p[0], &macs[0]);
    for (size_t k = 0; k < was.input_count; k++) {
        if (x->f->roles[i].role[k] == CHANNELS_SUMMED && is_shrunk(x, was.inputs[k])) {
            if (summed != SIZE_MAX) {
                return false;
            }
            summed = k;
        }
    }
    if (summed != SIZE_MAX ? !absorb(x, scratch, &was, &n, summed) : !agrees(x, scratch, &was, &n)) {
        return false;
    }
    x->saved.macs += macs[0] - macs[1];
    const uint64_t before = channels_constants(x->e->g, &was), after = channels_constants(x->e->g, &n);
    x->saved.bytes += before > after ? before - after : 0;
    x->nodes[i] = n;
    x->changed[i] = true;
    return true;
}

/* Does the node have a tensor with fewer channels? */
static bool is_concerned(const dropper *x, size_t i) {
    const ir_node *n = &x->e->g->nodes.at[i];
    for (size_t k = 0; !x->e->gone[i] && k < n->input_count + n->output_count; k++) {
        if (is_shrunk(x, k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count])) {
            return true;
        }
    }
    return false;
}

bool channels_drop(channel_finder *f, passes_channel_counts *saved) {
    dropper x = {.f = f, .e = f->e, .scratch = base_arena_new(base_arena_memory(f->e->c->arena)), .seed = 77u};
    const size_t nodes = f->e->g->nodes.n, tensors = f->e->g->tensors.n;
    bool all = true;
    x.now = BASE_NEWS(x.scratch, uint32_t, f->e->tensors + 1);
    x.lists = BASE_NEWS(x.scratch, extent_list, f->e->tensors + 1);
    x.nodes = BASE_NEWS(x.scratch, ir_node, nodes + 1);
    x.changed = BASE_NEWS(x.scratch, bool, nodes + 1);
    const bool any = shrink_tensors(&x);
    for (size_t i = 0; any && i < nodes; i++) {
        base_arena *scratch = base_arena_new(base_arena_memory(f->e->c->arena));
        f->stays[i] = f->stays[i] || (is_concerned(&x, i) && !remake(&x, scratch, i));
        all = all && !(f->stays[i] && is_concerned(&x, i));
        base_arena_free(scratch);
    }
    for (size_t i = 0; all && i < nodes; i++) {
        if (x.changed[i]) {
            f->e->g->nodes.at[i] = x.nodes[i];
        }
    }
    if (!all) {
        f->e->g->tensors.n = tensors;
    } else {
        saved->dropped += x.saved.dropped;
        saved->macs += x.saved.macs;
        saved->bytes += x.saved.bytes;
    }
    base_arena_free(x.scratch);
    return all;
}
