/* build.c - from a graph to kernels, buffers and places.
 *
 * Takes the entry graph of a model. Gives a plan_module: one kernel a node (programs folded, simplified, small stages
 * substituted), tensors with lifetimes, aliases of reshapes, offsets. Collects every operator that cannot be planned.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "plan/plan_private.h"

#define FOLD_LIMIT ((uint64_t)1 << 26)     /* bytes of one folded stage */
#define TENSOR_LIMIT ((uint64_t)INT32_MAX) /* elements, bytes and extents: what a module's tables hold */
#define SMALL_STAGE 12u /* nodes: a map this small is computed again at each reader rather than stored */

typedef struct builder {
    base_arena *arena;
    ops_registry *ops;
    const plan_options *o;
    plan_module *plan;
    uint32_t *of_graph; /* graph tensor -> plan tensor */
    base_diags *d;
} builder;

/* ---- programs ---- */

/* Nodes of a stage that compute. */
static uint32_t count_nodes(base_arena *scratch, const lang_program *p, const lang_stage *s) {
    const uint8_t *reached = lang_reached(scratch, p, s);
    uint32_t count = 0;
    for (lang_ref r = 1; r <= s->body; r++) {
        const lang_node *n = lang_at(p, r);
        count += reached[r] != 0 && (n->kind == LANG_WORD_ || n->kind == LANG_READ);
    }
    return count;
}

static bool is_output(const lang_program *p, uint32_t tensor) {
    for (size_t i = 0; i < p->outputs.n; i++) {
        if (p->outputs.at[i] == tensor) {
            return true;
        }
    }
    return false;
}

static bool worth_inlining(base_arena *scratch, const lang_program *p, const lang_stage *s) {
    return s->rec < 0 && !is_output(p, s->tensor) && !lang_has_reduction(p, s->body) &&
           count_nodes(scratch, p, s) <= SMALL_STAGE;
}

static const lang_program *inline_small_stages(base_arena *arena, const lang_program *p) {
    for (size_t i = 0; i < p->stages.n;) {
        base_arena *scratch = base_arena_new(base_arena_memory(arena));
        bool worth = worth_inlining(scratch, p, &p->stages.at[i]);
        base_arena_free(scratch);
        const lang_program *inlined = worth ? lang_inline(arena, p, (uint32_t)i) : NULL;
        if (inlined != NULL) {
            p = inlined;
        } else {
            i++; /* kept: it is large, or substituting it would pass a limit */
        }
    }
    return p;
}

static const lang_program *lower(base_arena *arena, const lang_program *raw, unsigned opt_level) {
    const lang_program *p = lang_simplify(arena, lang_fold(arena, raw, FOLD_LIMIT));
    return opt_level == 0 ? p : lang_simplify(arena, inline_small_stages(arena, p));
}

/* ---- tensors ---- */

static uint32_t add_tensor(builder *b, plan_tensor t) {
    uint32_t i = (uint32_t)b->plan->tensors.n;
    t.root = i;
    t.alignment = b->o->device->machine.alignment;
    t.first = UINT32_MAX;
    *BASE_PUSH(b->arena, &b->plan->tensors) = t;
    return i;
}

/* What: how the tensor is called in an error. */
static base_status check_size(builder *b, const char *what, const plan_tensor *x, uint64_t elements) {
    uint64_t widest = 0;
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        widest = (uint64_t)x->shape.dim[k] > widest ? (uint64_t)x->shape.dim[k] : widest;
    }
    if (elements <= TENSOR_LIMIT && x->bytes <= TENSOR_LIMIT && widest <= TENSOR_LIMIT) {
        return BASE_OK;
    }
    return base_error(b->d, NULL,
                      "%s: %s \"%s\" is too large: %" PRIu64 " elements, %" PRIu64 " bytes, an extent of %" PRIu64
                      "; a module may have 2^31-1 of each",
                      b->plan->model->file, what, x->name, elements, x->bytes, widest);
}

static base_status add_graph_tensor(builder *b, uint32_t g, plan_role role, uint32_t *out) {
    if (b->of_graph[g] != IR_NONE) {
        *out = b->of_graph[g];
        return BASE_OK;
    }
    const ir_tensor *t = &b->plan->graph->tensors.at[g];
    plan_tensor x = {
        .graph_tensor = g, .role = role, .type = t->type, .shape = t->shape, .quant = t->quant, .data = t->data};
    x.name = base_printable(b->arena, t->name, strlen(t->name), 80);
    uint64_t elements = UINT64_MAX;
    if (!ir_shape_elements(&t->shape, &elements) || !ir_tensor_bytes(t, &x.bytes)) {
        x.bytes = UINT64_MAX;
    }
    if (t->data != NULL) {
        x.role = PLAN_CONSTANT;
    }
    *out = b->of_graph[g] = add_tensor(b, x); /* one that is too large, too: it is reported once */
    return check_size(b, base_printf(b->arena, "tensor %u", g), &x, elements);
}

/* A tensor that only the program knows: an intermediate stage, or a constant that folding made. */
static base_status add_program_tensor(builder *b, const lang_program *p, const lang_tensor *t, uint32_t *out) {
    plan_tensor x = {.graph_tensor = IR_NONE,
                     .role = t->data != NULL ? PLAN_CONSTANT : PLAN_SCRATCH,
                     .type = t->type,
                     .data = t->data};
    uint64_t elements = 1;
    x.name = base_printf(b->arena, "%s.%s", p->name, t->name);
    x.shape.rank = t->rank <= IR_MAX_RANK ? t->rank : 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        elements *= (uint64_t)t->dim[k];
        if (t->rank <= IR_MAX_RANK) {
            x.shape.dim[k] = t->dim[k];
        }
    }
    if (t->rank > IR_MAX_RANK) {
        x.shape.dim[0] = (int64_t)elements;
    }
    bool fits = base_type_bytes(t->type, elements, &x.bytes);
    assert(fits);
    (void)fits;
    base_status status = check_size(b, "an operator's intermediate tensor", &x, elements);
    if (status == BASE_OK) {
        *out = add_tensor(b, x);
    }
    return status;
}

/* Which tensors the kept stages read or write. */
static uint8_t *used_tensors(base_arena *scratch, const lang_program *p) {
    uint8_t *used = BASE_NEWS(scratch, uint8_t, p->tensors.n + 1);
    const uint8_t *reached = lang_reached(scratch, p, NULL);
    for (size_t i = 0; i < p->stages.n; i++) {
        used[p->stages.at[i].tensor] = 1;
    }
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        if (reached[r] != 0 && lang_at(p, r)->kind == LANG_READ) {
            used[lang_at(p, r)->index] = 1;
        }
    }
    return used;
}

static uint32_t position(const uint32_t *list, size_t n, uint32_t what) {
    for (size_t i = 0; i < n; i++) {
        if (list[i] == what) {
            return (uint32_t)i;
        }
    }
    return IR_NONE;
}

static base_status bind_tensors(builder *b, plan_kernel *k) {
    const lang_program *p = k->program;
    base_arena *scratch = base_arena_new(base_arena_memory(b->arena));
    uint8_t *used = used_tensors(scratch, p);
    base_status status = BASE_OK;
    k->tensor = BASE_NEWS(b->arena, uint32_t, p->tensors.n + 1);
    for (uint32_t i = 0; status == BASE_OK && i < p->tensors.n; i++) {
        const lang_tensor *t = &p->tensors.at[i];
        uint32_t in = position(p->inputs.at, p->inputs.n, i), out = position(p->outputs.at, p->outputs.n, i);
        k->tensor[i] = IR_NONE;
        if (out != IR_NONE) {
            status = add_graph_tensor(b, k->node->outputs[out], PLAN_ACTIVATION, &k->tensor[i]);
        } else if (used[i] && in != IR_NONE) {
            status = add_graph_tensor(b, k->node->inputs[in], PLAN_ACTIVATION, &k->tensor[i]);
        } else if (used[i]) {
            status = add_program_tensor(b, p, t, &k->tensor[i]);
        }
    }
    base_arena_free(scratch);
    return status;
}

/* ---- kernels ---- */

static base_status add_kernel(builder *b, const ir_node *n) {
    const ir_graph *g = b->plan->graph;
    ops_goal goal = {b->o->goals, b->o->goal_count};
    lang_program *raw = NULL;
    base_status status = ops_instantiate(b->arena, b->ops, b->plan->model, g, n, &goal, &raw, b->d);
    if (status != BASE_OK) {
        return status;
    }
    for (size_t i = 0; i < raw->tensors.n; i++) {
        for (uint32_t k = 0; k < raw->tensors.at[i].rank; k++) {
            if (raw->tensors.at[i].extent[k] != 0) {
                return base_error(b->d, NULL, "%s: operator %u %s: extents that depend on data cannot be planned",
                                  b->plan->model->file, n->id_count ? n->ids[0] : 0, n->op);
            }
        }
    }
    plan_kernel k = {.node = n, .op = n->op, .id_count = n->id_count, .ids = n->ids, .raw = raw};
    k.program = lower(b->arena, raw, b->o->opt_level);
    k.macs = lang_macs(raw);
    status = bind_tensors(b, &k);
    if (status == BASE_OK) {
        plan_schedule_kernel(b->arena, &k, b->o);
        b->plan->macs += k.macs;
        *BASE_PUSH(b->arena, &b->plan->kernels) = k;
    }
    return status;
}

static base_status add_io(builder *b) {
    const ir_graph *g = b->plan->graph;
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < g->inputs.n; i++) {
        status = add_graph_tensor(b, g->inputs.at[i], PLAN_INPUT, BASE_PUSH(b->arena, &b->plan->inputs));
    }
    for (size_t i = 0; status == BASE_OK && i < g->outputs.n; i++) {
        status = add_graph_tensor(b, g->outputs.at[i], PLAN_OUTPUT, BASE_PUSH(b->arena, &b->plan->outputs));
    }
    return status;
}

/* ---- lifetimes, aliases, offsets ---- */

static void touch(plan_module *p, uint32_t tensor, uint32_t step) {
    plan_tensor *t = &p->tensors.at[p->tensors.at[tensor].root];
    t->first = step < t->first ? step : t->first;
    t->last = step > t->last ? step : t->last;
}

static bool can_share(const plan_tensor *from, const plan_tensor *to) {
    bool both_visible = from->role == PLAN_INPUT && to->role == PLAN_OUTPUT;
    return !both_visible && from->role != PLAN_CONSTANT && from->role != PLAN_STATE && to->role != PLAN_STATE &&
           from->bytes == to->bytes;
}

/* Reshapes: the output is the input's bytes. A root that is an input of the module may not become its output. */
static void find_aliases(builder *b) {
    plan_module *p = b->plan;
    for (size_t i = 0; b->o->opt_level > 0 && i < p->kernels.n; i++) {
        plan_kernel *k = &p->kernels.at[i];
        uint32_t input = 0;
        if (!plan_is_alias(k->program, &input)) {
            continue;
        }
        uint32_t from = k->tensor[k->program->inputs.at[input]], to = k->tensor[k->program->outputs.at[0]];
        uint32_t root = p->tensors.at[from].root;
        if (from != to && can_share(&p->tensors.at[root], &p->tensors.at[to])) {
            p->tensors.at[to].root = root;
            k->schedules[0].form = PLAN_ALIAS;
            k->reason = "the same bytes under another shape";
        }
    }
}

static void fill_lifetimes(plan_module *p) {
    uint32_t end = p->kernels.n == 0 ? 0 : (uint32_t)p->kernels.n - 1;
    for (size_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        for (size_t t = 0; t < k->program->tensors.n; t++) {
            if (k->tensor[t] != IR_NONE) {
                touch(p, k->tensor[t], (uint32_t)i);
            }
        }
    }
    for (size_t i = 0; i < p->inputs.n; i++) {
        touch(p, p->inputs.at[i], 0);
    }
    for (size_t i = 0; i < p->outputs.n; i++) {
        touch(p, p->outputs.at[i], end);
    }
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        t->first = t->first == UINT32_MAX ? 0 : t->first;
        if (t->root != i) {
            t->first = p->tensors.at[t->root].first;
            t->last = p->tensors.at[t->root].last;
        }
    }
}

static uint64_t line_up(plan_module *p, plan_role role) {
    uint64_t at = 0;
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        if (t->role == role && t->root == i) {
            uint64_t a = t->alignment == 0 ? 1 : t->alignment;
            t->offset = (at + a - 1) / a * a;
            at = t->offset + t->bytes;
        }
    }
    return at;
}

static void place(builder *b) {
    plan_module *p = b->plan;
    base_arena *scratch = base_arena_new(base_arena_memory(b->arena));
    plan_block *blocks = BASE_NEWS(scratch, plan_block, p->tensors.n + 1);
    uint32_t *owner = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    const char *winner = "";
    size_t n = 0;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        if (t->root == i && t->role != PLAN_CONSTANT && t->role != PLAN_STATE) {
            owner[n] = i;
            blocks[n++] =
                (plan_block){.bytes = t->bytes, .first = t->first, .last = t->last, .alignment = t->alignment};
        }
    }
    p->arena_bytes = plan_place(scratch, blocks, n, &winner);
    p->arena_bound = plan_place_bound(scratch, blocks, n);
    for (size_t i = 0; i < n; i++) {
        p->tensors.at[owner[i]].offset = blocks[i].offset;
    }
    for (size_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *t = &p->tensors.at[i];
        t->offset = p->tensors.at[t->root].offset + t->root_offset;
    }
    p->state_bytes = line_up(p, PLAN_STATE);
    p->constant_bytes = line_up(p, PLAN_CONSTANT);
    p->placement = base_printf(b->arena, "%s%s", winner,
                               p->arena_bytes == p->arena_bound ? "; optimal (this order, whole tensors)" : "");
    base_arena_free(scratch);
}

/* What the tables and macros of a module hold as 32 bits. */
static base_status check_totals(builder *b) {
    const plan_module *p = b->plan;
    const struct {
        const char *what;
        uint64_t bytes;
    } totals[] = {{"an arena", p->arena_bytes + p->state_bytes}, {"constants", p->constant_bytes}};
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        if (totals[i].bytes > UINT32_MAX) {
            return base_error(b->d, NULL, "%s: the module needs %s of %" PRIu64 " bytes; it may have 2^32-1",
                              p->model->file, totals[i].what, totals[i].bytes);
        }
    }
    return BASE_OK;
}

/* ---- hashes ---- */

static void fill_hashes(builder *b) {
    plan_module *p = b->plan;
    base_arena *scratch = base_arena_new(base_arena_memory(b->arena));
    base_text text = {.arena = scratch};
    for (size_t i = 0; i < p->kernels.n; i++) {
        const ir_node *n = p->kernels.at[i].node;
        lang_print(&text, p->kernels.at[i].raw);
        for (size_t k = 0; k < n->input_count + n->output_count; k++) {
            base_put(&text, " %u", k < n->input_count ? n->inputs[k] : n->outputs[k - n->input_count]);
        }
    }
    p->structure_hash = base_hash(text.at, text.n, 1);
    p->weights_hash = 2;
    for (size_t i = 0; i < p->graph->tensors.n; i++) {
        const ir_tensor *t = &p->graph->tensors.at[i];
        uint64_t bytes;
        if (t->data != NULL && ir_tensor_bytes(t, &bytes)) {
            p->weights_hash = base_hash(t->data, (size_t)bytes, p->weights_hash);
        }
    }
    base_arena_free(scratch);
}

base_status plan_build(base_arena *arena, ops_registry *ops, const ir_model *m, const plan_options *o,
                       plan_module **out, base_diags *d) {
    if (m->states.n || m->graphs.n > 1) {
        return base_error(d, NULL, "%s: models with state or several sub-graphs cannot be planned", m->file);
    }
    plan_module *p = BASE_NEW(arena, plan_module);
    p->arena = arena;
    p->model = m;
    p->graph = &m->graphs.at[0];
    p->device = o->device;
    p->prefix = o->prefix;
    builder b = {.arena = arena, .ops = ops, .o = o, .plan = p, .d = d};
    b.of_graph = BASE_NEWS(arena, uint32_t, p->graph->tensors.n + 1);
    for (size_t i = 0; i < p->graph->tensors.n; i++) {
        b.of_graph[i] = IR_NONE;
    }
    base_status status = add_io(&b);
    for (size_t i = 0; i < p->graph->nodes.n; i++) {
        base_status one = add_kernel(&b, &p->graph->nodes.at[i]);
        status = one != BASE_OK ? one : status;
    }
    if (status != BASE_OK) {
        return status;
    }
    find_aliases(&b);
    fill_lifetimes(p);
    place(&b);
    status = check_totals(&b);
    if (status != BASE_OK) {
        return status;
    }
    fill_hashes(&b);
    *out = p;
    return plan_validate(p, d);
}
