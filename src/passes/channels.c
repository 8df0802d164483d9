/* channels.c - channels that are constant for every input, or that nobody reads, are not computed.
 *
 * Takes graphs with integer tensors. Finds by ranges (lang/channels.h) what each channel of each tensor can hold: a channel of one value
 * is known, and whoever adds channels up can have it in its bias (channels_drop.c); one that is handed on element by element goes with
 * those behind it. Gives the nodes with fewer channels and the same bits. Which operator does what with channels is read off
 * its program (channels_roles.c); outputs of graphs, states and what a run decides keep all of theirs.
 */
#include "passes/channels.h"

#include <string.h>

#define FOLD_LIMIT ((uint64_t)1 << 26) /* bytes of one folded stage */
#define MOST_CHANNELS 16384
#define MOST_ELEMENTS ((uint64_t)1 << 26) /* of a tensor */
#define MOST_CONTENTS 4096u               /* bytes of a tensor that becomes a constant */
#define MOST_WORK ((uint64_t)1 << 26)     /* of ranges, for all nodes */
#define MOST_TRIES 8u                     /* each finds nodes that stay as they are */
#define ROUNDED 4                         /* channels are kept in such groups: what is worked on together */

/* ---- programs ---- */

static bool is_plain(const ir_graph *g, const ir_node *n) {
    bool plain = n->output_count == 1 && ir_control_of(n) == IR_PLAIN && !ir_is_fused(n);
    for (size_t k = 0; plain && k < n->input_count + n->output_count; k++) {
        const uint32_t t = k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count];
        uint64_t elements = 0;
        plain = t == IR_NONE || (g->tensors.at[t].state == IR_NONE && passes_is_fixed(&g->tensors.at[t].shape) &&
                                 ir_shape_elements(&g->tensors.at[t].shape, &elements) && elements <= MOST_ELEMENTS);
    }
    return plain;
}

/* Folded and simplified. macs (NULL: not wanted): of its definition. */
static const lang_program *program_of(const channel_finder *f, base_arena *scratch, const ir_node *n, uint64_t *macs) {
    passes_context *c = f->e->c;
    base_diags ignored = {.arena = scratch};
    lang_program *raw = NULL;
    if (ops_instantiate(scratch, c->ops, f->e->m, f->e->g, n, &c->goal, &raw, &ignored) != BASE_OK ||
        raw->outputs.n != 1 || raw->external != NULL) {
        return NULL;
    }
    if (macs != NULL) {
        *macs = lang_macs(raw);
    }
    return lang_simplify(scratch, lang_fold(scratch, raw, FOLD_LIMIT));
}

static const lang_stage *output_stage(const lang_program *p) {
    for (size_t i = 0; i < p->stages.n; i++) {
        if (p->stages.at[i].tensor == p->outputs.at[0]) {
            return p->stages.at[i].rec < 0 ? &p->stages.at[i] : NULL;
        }
    }
    return NULL;
}

const lang_stage *channels_stage(const channel_finder *f, base_arena *scratch, const ir_node *n, const lang_program **p,
                                 uint64_t *macs) {
    *p = program_of(f, scratch, n, macs);
    for (uint32_t i = 0; *p != NULL && (*p)->stages.n > 1 && i < (*p)->stages.n;) {
        const lang_stage *s = &(*p)->stages.at[i];
        const bool small = s->tensor != (*p)->outputs.at[0] && s->rec < 0 && !lang_has_reduction(*p, s->body);
        const lang_program *inlined = small ? lang_inline(scratch, *p, i) : NULL;
        *p = inlined != NULL ? inlined : *p;
        i += inlined == NULL;
    }
    return *p != NULL && (*p)->stages.n == 1 ? output_stage(*p) : NULL;
}

void channels_tell(const channel_finder *f, lang_along *a, const lang_program *p, const ir_node *n) {
    for (size_t k = 0; k < n->input_count && k < p->inputs.n; k++) {
        const uint32_t t = n->inputs[k], in = p->inputs.at[k];
        if (t != IR_NONE && in != IR_NONE && f->of[t].range != NULL && p->tensors.at[in].data == NULL) {
            lang_along_tensor(a, in, f->of[t].axis, f->of[t].range);
        }
    }
}

/* ---- what each channel can hold ---- */

/* Something of it differs from channel to channel, or is known of an input. */
static bool is_promising(const channel_finder *f, const ir_node *n) {
    for (size_t k = 0; k < n->input_count; k++) {
        const ir_tensor *t = n->inputs[k] != IR_NONE ? &f->e->g->tensors.at[n->inputs[k]] : NULL;
        uint64_t elements = 0;
        if (t != NULL &&
            (f->of[n->inputs[k]].range != NULL || (t->data != NULL && base_type_is_int(t->type) &&
                                                   ir_shape_elements(&t->shape, &elements) && elements > 1))) {
            return true;
        }
    }
    return false;
}

static void follow(channel_finder *f, const ir_node *n) {
    const ir_tensor *to = &f->e->g->tensors.at[n->outputs[0]];
    if (!base_type_is_int(to->type) || to->type == BASE_U64 || to->shape.rank == 0 || to->data != NULL ||
        f->work == 0 || !is_plain(f->e->g, n) || !is_promising(f, n)) {
        return;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(f->e->c->arena));
    uint64_t *macs = &f->macs[n - f->e->g->nodes.at];
    const lang_program *p = program_of(f, scratch, n, macs);
    const lang_stage *s = p != NULL ? output_stage(p) : NULL;
    along_axis *of = &f->of[n->outputs[0]];
    if (s != NULL && s->rank == to->shape.rank) {
        const uint32_t axis = channels_axis(f, scratch, p, s, n);
        const int64_t channels = to->shape.dim[axis];
        if (channels >= 1 && channels <= MOST_CHANNELS && s->vars[axis].bound == channels) {
            lang_along *a = lang_along_new(scratch, p, &f->work);
            channels_tell(f, a, p, n);
            *of = (along_axis){axis, channels, BASE_NEWS(f->e->scratch, lang_range, (size_t)channels + 1), *macs > 0};
            (void)lang_ranges_along(a, s, s->body, axis, of->range);
        }
    }
    base_arena_free(scratch);
}

static bool is_constant(const lang_range *r) {
    return r->known && r->lo == r->hi;
}

/* Those of what multiplies are counted. false: there is no constant channel. */
static bool count(const channel_finder *f, passes_channel_counts *out) {
    bool any = false;
    for (uint32_t t = 0; t < f->e->tensors; t++) {
        for (int64_t c = 0; f->of[t].range != NULL && c < f->of[t].n; c++) {
            const bool constant = is_constant(&f->of[t].range[c]);
            any = any || constant;
            out->constant += f->of[t].multiplies && constant;
            out->all += f->of[t].multiplies;
        }
    }
    return any;
}

/* ---- what is constant altogether ---- */

/* The tensor's contents in every run; NULL: they vary, or are too many to be kept. */
static const void *contents_of(const channel_finder *f, uint32_t t) {
    const ir_tensor *x = &f->e->g->tensors.at[t];
    const along_axis *of = &f->of[t];
    uint64_t elements = 0, bytes = 0, inside = 1;
    if (!ir_shape_elements(&x->shape, &elements) || !ir_tensor_bytes(x, &bytes) || bytes > MOST_CONTENTS) {
        return NULL;
    }
    for (int64_t c = 0; c < of->n; c++) {
        if (!is_constant(&of->range[c])) {
            return NULL;
        }
    }
    for (uint32_t d = of->axis + 1; d < x->shape.rank; d++) {
        inside *= (uint64_t)x->shape.dim[d];
    }
    void *data = base_alloc(f->e->m->arena, (size_t)bytes + 8, 1);
    for (uint64_t i = 0; i < elements; i++) {
        base_store(x->type, data, i, (base_value){.i = of->range[i / inside % (uint64_t)of->n].lo});
    }
    return data;
}

static void leave_out(channel_finder *f, size_t i, passes_channel_counts *found) {
    const ir_node *n = &f->e->g->nodes.at[i];
    f->e->gone[i] = true;
    found->macs += f->macs[i];
    found->bytes += channels_constants(f->e->g, n);
    for (size_t k = 0; k < n->input_count; k++) {
        if (n->inputs[k] != IR_NONE) {
            f->e->uses[n->inputs[k]]--;
        }
    }
}

/* Small tensors all of whose channels are constant become constants, and what made them goes, with all that nobody else needs. */
static void settle(channel_finder *f, passes_channel_counts *found) {
    for (size_t i = f->e->g->nodes.n; i-- > 0;) {
        const ir_node *n = &f->e->g->nodes.at[i];
        const uint32_t t = n->output_count == 1 ? n->outputs[0] : IR_NONE;
        if (t == IR_NONE || f->of[t].range == NULL || f->e->is_output[t]) {
            continue;
        }
        const void *data = f->e->uses[t] > 0 ? contents_of(f, t) : NULL;
        if (data != NULL || f->e->uses[t] == 0) {
            found->dropped += f->of[t].multiplies ? (uint64_t)f->of[t].n : 0;
            f->e->g->tensors.at[t].data = data;
            f->of[t].range = NULL;
            leave_out(f, i, found);
        }
    }
}

/* ---- which channels stay ---- */

uint32_t channels_class(const channel_finder *f, uint32_t t) {
    while (f->same[t] != t) {
        t = f->same[t] = f->same[f->same[t]];
    }
    return t;
}

static void need_all(channel_finder *f, uint32_t t) {
    memset(f->kept[channels_class(f, t)], 1, (size_t)f->of[t].n);
}

/* What is handed on channel by channel keeps the same channels. */
static void join(channel_finder *f) {
    for (uint32_t t = 0; t < f->e->tensors; t++) {
        f->same[t] = t;
    }
    for (size_t i = 0; i < f->e->g->nodes.n; i++) {
        const ir_node *n = &f->e->g->nodes.at[i];
        for (size_t k = 0; f->roles[i].role != NULL && !f->stays[i] && k < n->input_count; k++) {
            if (f->roles[i].role[k] == CHANNELS_CARRIED) {
                f->same[channels_class(f, n->inputs[k])] = channels_class(f, n->outputs[0]);
            }
        }
    }
}

static void need(channel_finder *f, size_t i) {
    const ir_node *n = &f->e->g->nodes.at[i];
    const node_roles *r = &f->roles[i];
    const bool stays = f->stays[i] || r->role == NULL;
    for (size_t k = 0; k < n->output_count; k++) {
        const uint32_t t = n->outputs[k];
        if (f->of[t].range != NULL && (stays || !r->follows)) {
            need_all(f, t);
        }
    }
    for (size_t k = 0; k < n->input_count; k++) {
        const uint32_t t = n->inputs[k];
        if (t == IR_NONE || f->of[t].range == NULL) {
            continue;
        }
        if (stays || r->role[k] == CHANNELS_NEEDED) {
            need_all(f, t);
        }
        for (int64_t c = 0; !stays && r->role[k] == CHANNELS_SUMMED && c < f->of[t].n; c++) {
            f->kept[channels_class(f, t)][c] = f->kept[channels_class(f, t)][c] || !r->absorbs[k][c];
        }
    }
}

/* So many that they come in whole groups, and at least one. */
static void round_up(bool *kept, int64_t n) {
    int64_t some = 0;
    for (int64_t c = 0; c < n; c++) {
        some += kept[c];
    }
    for (int64_t c = 0; c < n && (some == 0 || some % ROUNDED != 0); c++) {
        some += !kept[c];
        kept[c] = true;
    }
}

static void choose(channel_finder *f) {
    join(f);
    for (uint32_t t = 0; t < f->e->tensors; t++) {
        f->kept[t] = f->of[t].range != NULL && channels_class(f, t) == t
                         ? BASE_NEWS(f->e->scratch, bool, (size_t)f->of[t].n + 1)
                         : NULL;
    }
    for (size_t i = 0; i < f->e->g->nodes.n; i++) {
        if (!f->e->gone[i]) {
            need(f, i);
        }
    }
    for (uint32_t t = 0; t < f->e->tensors; t++) {
        if (f->of[t].range != NULL && f->e->is_output[t]) {
            need_all(f, t);
        }
    }
    for (uint32_t t = 0; t < f->e->tensors; t++) {
        if (f->kept[t] != NULL) {
            round_up(f->kept[t], f->of[t].n);
        }
    }
}

static void drop(channel_finder *f, passes_channel_counts *found) {
    const size_t nodes = f->e->g->nodes.n;
    f->roles = BASE_NEWS(f->e->scratch, node_roles, nodes + 1);
    f->same = BASE_NEWS(f->e->scratch, uint32_t, f->e->tensors + 1);
    f->kept = BASE_NEWS(f->e->scratch, bool *, f->e->tensors + 1);
    f->stays = BASE_NEWS(f->e->scratch, bool, nodes + 1);
    for (size_t i = 0; i < nodes; i++) {
        if (!f->e->gone[i] && is_plain(f->e->g, &f->e->g->nodes.at[i])) {
            channels_find_roles(f, &f->e->g->nodes.at[i], &f->roles[i]);
        }
    }
    bool done = false;
    for (unsigned k = 0; !done && k < MOST_TRIES; k++) {
        choose(f);
        done = channels_drop(f, found);
    }
}

base_status passes_channels(passes_context *c, ir_model *m, base_diags *d) {
    (void)d;
    for (size_t i = 0; i < m->graphs.n; i++) {
        passes_edit e = passes_edit_begin(c, m, &m->graphs.at[i]);
        channel_finder f = {.e = &e, .work = MOST_WORK, .of = BASE_NEWS(e.scratch, along_axis, e.tensors + 1)};
        f.macs = BASE_NEWS(e.scratch, uint64_t, e.g->nodes.n + 1);
        passes_channel_counts found = {0};
        for (size_t k = 0; k < e.g->nodes.n; k++) {
            if (e.g->nodes.at[k].output_count == 1) {
                follow(&f, &e.g->nodes.at[k]);
            }
        }
        if (count(&f, &found)) {
            settle(&f, &found);
            drop(&f, &found);
        }
        passes_edit_end(&e);
        c->channels.constant += found.constant;
        c->channels.all += found.all;
        c->channels.dropped += found.dropped;
        c->channels.macs += found.macs;
        c->channels.bytes += found.bytes;
    }
    return BASE_OK;
}
