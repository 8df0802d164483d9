/* build.c - from a model to kernels, buffers and places.
 *
 * Takes a model. Gives a plan_module: one kernel a node (programs folded, simplified, small stages substituted), the
 * graphs of control nodes in the same list between control kernels (flatten.c), tensors with lifetimes and places
 * (lifetimes.c). Collects every operator that cannot be planned.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "plan/build.h"

#define FOLD_LIMIT ((uint64_t)1 << 26) /* bytes of one folded stage */
#define FIT_LIMIT ((uint64_t)1 << 28)  /* words that are evaluated for a model to find shorter ones: a second at most */
#define TENSOR_LIMIT ((uint64_t)INT32_MAX) /* elements, bytes and extents: what a module's tables hold */
#define SMALL_STAGE 12u /* nodes: a map this small is computed again at each reader rather than stored */

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

/* The one stage that reads this one; NULL: none does, or several do. */
static const lang_stage *only_reader(const lang_program *p, const lang_stage *s) {
    const lang_stage *reader = NULL;
    for (size_t i = 0; i < p->stages.n; i++) {
        if (lang_reads_of(p, &p->stages.at[i], s->tensor) > 0) {
            if (reader != NULL) {
                return NULL;
            }
            reader = &p->stages.at[i];
        }
    }
    return reader;
}

/* One stage reads this one, each element once, where it computes its own: nothing is computed again. */
static bool read_at_point(const lang_program *p, const lang_stage *s) {
    const lang_stage *reader = only_reader(p, s);
    return reader != NULL && reader->rec < 0 && !lang_has_reduction(p, reader->body) &&
           lang_reads_at_point(p, reader, s->tensor);
}

/* The same of two stages of a recurrence, at the same step, whatever they sum up: not even its tensor is needed, which has a place for
 * each step. */
static bool read_in_its_round(const lang_program *p, const lang_stage *s) {
    const lang_stage *reader = s->rec >= 0 && !is_output(p, s->tensor) ? only_reader(p, s) : NULL;
    return reader != NULL && reader != s && reader->rec == s->rec && lang_reads_at_point(p, reader, s->tensor) &&
           !lang_reduces_over(p, reader, s->tensor);
}

static bool worth_inlining(base_arena *scratch, const lang_program *p, const lang_stage *s) {
    const bool small = !lang_has_reduction(p, s->body) && count_nodes(scratch, p, s) <= SMALL_STAGE;
    return s->rec < 0 && !is_output(p, s->tensor) && (small || read_at_point(p, s));
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

static const lang_program *inline_rounds(base_arena *arena, const lang_program *p) {
    for (size_t i = 0; i < p->stages.n;) {
        const lang_program *inlined =
            read_in_its_round(p, &p->stages.at[i]) ? lang_inline(arena, p, (uint32_t)i) : NULL;
        p = inlined != NULL ? inlined : p;
        i += inlined == NULL;
    }
    return p;
}

static const lang_program *lower(base_arena *arena, const lang_program *raw, const plan_options *o, uint64_t *work,
                                 bool *hoisted) {
    const lang_program *p = lang_simplify(arena, lang_fold(arena, raw, FOLD_LIMIT));
    if (o->opt_level == 0) {
        return p;
    }
    uint32_t found = 0;
    const lang_program *precise = o->precise ? lang_precise(arena, p) : NULL;
    p = precise != NULL ? precise : p;
    p = plan_has(o->without, PLAN_MOVE_INLINE) ? p : lang_simplify(arena, inline_small_stages(arena, p));
    const bool before = !plan_has(o->without, PLAN_MOVE_HOIST) && o->goal != PLAN_SIZE;
    const lang_program *out = before ? lang_hoist(arena, p, plan_wants_before, o) : NULL;
    *hoisted = out != NULL;
    p = out != NULL ? out : p;
    const lang_program *plane = plan_has(o->without, PLAN_MOVE_PLANES) ? NULL : lang_planes(arena, p, work, &found);
    p = plane != NULL ? plane : p;
    const bool stairs = !plan_has(o->without, PLAN_MOVE_STAIRS);
    const lang_program *fitted = stairs ? lang_stairs(arena, p, o->device->machine.wide_multiply, work, &found) : NULL;
    p = fitted != NULL ? fitted : p;
    return plan_has(o->without, PLAN_MOVE_INLINE) ? p : inline_rounds(arena, p);
}

/* ---- tensors ---- */

static uint32_t add_tensor(plan_builder *b, plan_tensor t) {
    uint32_t i = (uint32_t)b->plan->tensors.n;
    memset(t.count, 0xff, sizeof t.count);
    t.root = i;
    t.alignment = b->o->device->machine.alignment;
    t.first = t.until = UINT32_MAX;
    *BASE_PUSH(b->arena, &b->plan->tensors) = t;
    return i;
}

uint32_t plan_add_scratch(plan_builder *b, uint32_t like) {
    plan_tensor t = b->plan->tensors.at[like];
    t.graph_tensor = t.state = IR_NONE;
    t.role = PLAN_SCRATCH;
    t.data = NULL;
    return add_tensor(b, t);
}

/* What: how the tensor is called in an error. */
static base_status check_size(plan_builder *b, const char *what, const plan_tensor *x, uint64_t elements) {
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

/* A graph's constant is one tensor, however many calls of the graph there are. */
static uint32_t *constant_place(plan_builder *b, uint32_t g) {
    if (b->copied != NULL) {
        return &b->copied[g];
    }
    uint32_t graph = (uint32_t)(b->graph - b->plan->model->graphs.at);
    if (b->constants[graph] == NULL) {
        b->constants[graph] = plan_no_tensors(b->arena, b->graph->tensors.n);
    }
    return &b->constants[graph][g];
}

static base_status add_state(plan_builder *b, uint32_t state, uint32_t *out) {
    const ir_state *s = &b->plan->model->states.at[state];
    if (b->states[state] != IR_NONE) {
        *out = b->states[state];
        return BASE_OK;
    }
    plan_tensor x = {.graph_tensor = IR_NONE,
                     .state = state,
                     .role = PLAN_STATE,
                     .type = s->type,
                     .shape = s->shape,
                     .quant = s->quant,
                     .data = s->data};
    uint64_t elements = UINT64_MAX;
    x.name = base_printable(b->arena, s->name, strlen(s->name), 80);
    if (!ir_shape_elements(&s->shape, &elements) || !base_type_bytes(s->type, elements, &x.bytes)) {
        x.bytes = UINT64_MAX;
    }
    *out = b->states[state] = add_tensor(b, x);
    return check_size(b, base_printf(b->arena, "state %u", state), &x, elements);
}

base_status plan_add_tensor(plan_builder *b, uint32_t g, plan_role role, uint32_t *out) {
    const ir_tensor *t = &b->graph->tensors.at[g];
    uint32_t *place = t->data != NULL ? constant_place(b, g) : &b->of[g];
    if (t->state != IR_NONE) {
        return add_state(b, t->state, out);
    }
    if (*place != IR_NONE) {
        *out = b->of[g] = *place;
        return BASE_OK;
    }
    plan_tensor x = {.graph = (uint32_t)(b->graph - b->plan->model->graphs.at),
                     .graph_tensor = g,
                     .state = IR_NONE,
                     .role = t->data != NULL ? PLAN_CONSTANT : role,
                     .type = t->type,
                     .shape = t->shape,
                     .quant = t->quant,
                     .data = t->data};
    x.name = base_printable(b->arena, t->name, strlen(t->name), 80);
    uint64_t elements = UINT64_MAX;
    if (!ir_shape_elements(&t->shape, &elements) || !ir_tensor_bytes(t, &x.bytes)) {
        x.bytes = UINT64_MAX;
    }
    *out = *place = b->of[g] = add_tensor(b, x); /* one that is too large, too: it is reported once */
    return check_size(b, base_printf(b->arena, "tensor %u", g), &x, elements);
}

uint32_t *plan_no_tensors(base_arena *arena, size_t n) {
    uint32_t *list = BASE_NEWS(arena, uint32_t, n + 1);
    memset(list, 0xff, (n + 1) * sizeof *list);
    return list;
}

/* A tensor that only the program knows: an intermediate stage, or a constant that folding made. */
static base_status add_program_tensor(plan_builder *b, const lang_program *p, const lang_tensor *t, uint32_t *out) {
    plan_tensor x = {.graph_tensor = IR_NONE,
                     .state = IR_NONE,
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
    uint8_t *reached = lang_reached(scratch, p, NULL);
    for (size_t i = 0; i < p->stages.n; i++) {
        used[p->stages.at[i].tensor] = 1;
        for (uint32_t k = 0; k < p->stages.at[i].var_count; k++) {
            reached[p->stages.at[i].vars[k].extent] = 1; /* of variables that the body does not use, too */
        }
    }
    for (size_t t = 0; t < p->tensors.n; t++) {
        for (uint32_t k = 0; k < p->tensors.at[t].rank; k++) {
            reached[p->tensors.at[t].extent[k]] = 1; /* reads are tested against it */
        }
    }
    for (lang_ref r = (lang_ref)p->nodes.n - 1; r > 0; r--) {
        for (uint32_t k = 0; reached[r] != 0 && k < lang_at(p, r)->count; k++) {
            reached[lang_operand(p, r, k)] = 1;
        }
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

/* Where output number `out` of the node goes: to its tensor; a state that the node reads, too, gets it by a copy
 * afterwards, since a node reads everything before it writes; so does an output of the module whose elements do not come to
 * lie dense. */
static base_status bind_output(plan_builder *b, plan_kernel *k, size_t out, plan_pending *pending, uint32_t *tensor) {
    uint32_t g = k->node->outputs[out];
    const uint32_t state = b->graph->tensors.at[g].state;
    base_status status = plan_add_tensor(b, g, PLAN_ACTIVATION, tensor);
    bool read = false;
    if (status == BASE_OK && pending->dense) {
        pending->to = *tensor;
        pending->from = *tensor = b->of[g] = plan_add_scratch(b, *tensor);
        return BASE_OK;
    }
    for (size_t i = 0; i < k->node->input_count && state != IR_NONE; i++) {
        uint32_t in = k->node->inputs[i];
        read = read || (in != IR_NONE && b->graph->tensors.at[in].state == state);
    }
    if (status == BASE_OK && read) {
        pending->to = *tensor;
        pending->from = *tensor = plan_add_scratch(b, *tensor);
    }
    return status;
}

/* counts: of the program's last inputs, which are counts, the plan tensors. */
static base_status bind_tensors(plan_builder *b, plan_kernel *k, const uint32_t *counts, size_t count_n,
                                plan_pending *pending) {
    const lang_program *p = k->program;
    base_arena *scratch = base_arena_new(base_arena_memory(b->arena));
    uint8_t *used = used_tensors(scratch, p);
    uint32_t *inputs = plan_no_tensors(b->arena, p->inputs.n), *outputs = plan_no_tensors(b->arena, p->outputs.n);
    base_status status = BASE_OK;
    k->tensor = plan_no_tensors(b->arena, p->tensors.n);
    k->inputs = inputs;
    k->outputs = outputs;
    for (size_t i = 0; i < p->inputs.n && i < k->node->input_count; i++) {
        uint32_t in = k->node->inputs[i];
        bool known = in != IR_NONE && b->graph->tensors.at[in].data == NULL;
        status = known ? plan_add_tensor(b, in, PLAN_ACTIVATION, &inputs[i]) : status;
    }
    const size_t first_count = p->inputs.n - count_n;
    for (size_t i = 0; i < count_n; i++) {
        inputs[first_count + i] = counts[i];
    }
    for (uint32_t i = 0; status == BASE_OK && i < p->tensors.n; i++) {
        const lang_tensor *t = &p->tensors.at[i];
        uint32_t in = position(p->inputs.at, p->inputs.n, i), out = position(p->outputs.at, p->outputs.n, i);
        if (out != IR_NONE && out >= k->node->output_count) { /* what is tested, a count */
            status = add_program_tensor(b, p, t, &k->tensor[i]);
            outputs[out] = k->tensor[i];
        } else if (out != IR_NONE) {
            status = bind_output(b, k, out, &pending[out], &k->tensor[i]);
            outputs[out] = k->tensor[i];
        } else if (used[i] && in != IR_NONE && in >= first_count) {
            k->tensor[i] = inputs[in];
        } else if (used[i] && in != IR_NONE) {
            status = plan_add_tensor(b, k->node->inputs[in], PLAN_ACTIVATION, &k->tensor[i]);
        } else if (used[i]) {
            status = add_program_tensor(b, p, t, &k->tensor[i]);
        }
    }
    base_arena_free(scratch);
    return status;
}

/* ---- kernels ---- */

/* ---- extents that a run decides ---- */

static base_status add_dense_copy(plan_builder *b, uint32_t from, uint32_t to, const ir_node *cause);

typedef struct open_node {
    ir_shape *shapes; /* of the graph's tensors: what the node's inputs have room for, symbols are numbers of counts */
    int64_t most[LANG_MAX_VARS];
    uint32_t counts[LANG_MAX_VARS]; /* plan tensors */
    size_t n;
} open_node;

/* The counts among the extents of the node's inputs, each once. */
static base_status find_counts(plan_builder *b, const ir_node *n, open_node *open) {
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < n->input_count; i++) {
        const uint32_t g = n->inputs[i];
        uint32_t tensor = IR_NONE;
        if (g == IR_NONE || b->graph->tensors.at[g].data != NULL) {
            continue;
        }
        status = plan_add_tensor(b, g, PLAN_ACTIVATION, &tensor);
        const plan_tensor *t = status == BASE_OK ? &b->plan->tensors.at[tensor] : NULL;
        for (uint32_t k = 0; t != NULL && k < t->shape.rank; k++) {
            if (t->count[k] == IR_NONE) {
                continue;
            }
            if (open->shapes == NULL) {
                open->shapes = BASE_NEWS(b->arena, ir_shape, b->graph->tensors.n);
                for (size_t x = 0; x < b->graph->tensors.n; x++) {
                    const ir_shape *s = &b->graph->tensors.at[x].shape;
                    open->shapes[x] = ir_shape_of(s->rank, s->dim);
                }
            }
            const uint32_t at = position(open->counts, open->n, t->count[k]);
            if (at == IR_NONE && open->n == LANG_MAX_VARS) {
                return base_error(b->d, NULL, "%s: an operator behind more than %u extents that data decides",
                                  b->plan->model->file, LANG_MAX_VARS);
            }
            if (at == IR_NONE) {
                open->counts[open->n] = t->count[k];
                open->most[open->n++] = t->shape.dim[k];
            } else {
                open->most[at] = open->most[at] < t->shape.dim[k] ? open->most[at] : t->shape.dim[k];
            }
            open->shapes[g].symbol[k] = (at == IR_NONE ? (uint32_t)open->n - 1 : at) + 1;
        }
    }
    return status;
}

static base_status instantiate(plan_builder *b, base_arena *arena, const ir_node *n, open_node *open,
                               lang_program **raw) {
    ops_goal goal = {b->o->goals, b->o->goal_count};
    base_status status = find_counts(b, n, open);
    if (status != BASE_OK) {
        return status;
    }
    status = open->n > 0 ? ops_instantiate_open(arena, b->ops, b->plan->model, b->graph, n, open->shapes, open->most,
                                                open->n, &goal, raw, b->d)
                         : ops_instantiate(arena, b->ops, b->plan->model, b->graph, n, &goal, raw, b->d);
    return status == BASE_OK && b->copied == NULL ? ops_check_extents(b->plan->model, b->graph, n, *raw, b->d) : status;
}

static bool is_module_output(const plan_builder *b, uint32_t tensor) {
    return tensor != IR_NONE && position(b->plan->outputs.at, b->plan->outputs.n, tensor) != IR_NONE;
}

/* The node's program with its counts, where a run decides extents of its outputs. The module's outputs are dense, with zeros
 * behind what there is: made so where the first extent alone is open, else by a copy. */
static base_status count_outputs(plan_builder *b, base_arena *arena, plan_kernel *k, plan_pending *pending,
                                 lang_count *counts, size_t *n) {
    const ir_node *node = k->node;
    const lang_program *raw = k->raw;
    ir_shape *most = BASE_NEWS(arena, ir_shape, node->output_count + 1);
    bool *filled = BASE_NEWS(arena, bool, node->output_count + 1), any = false;
    *n = 0;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const lang_tensor *t = &raw->tensors.at[raw->outputs.at[i]];
        bool open = false;
        most[i] = b->graph->tensors.at[node->outputs[i]].shape;
        for (uint32_t d = 0; d < t->rank; d++) {
            open = open || t->extent[d] != 0;
        }
        if (open && is_module_output(b, b->of[node->outputs[i]])) {
            filled[i] = lang_can_fill(raw, i);
            pending[i].dense = !filled[i];
        }
        any = any || open;
    }
    if (any) {
        k->program = lang_counted(arena, raw, node->output_count, most, filled, counts, n);
    }
    if (k->program != NULL && raw->external != NULL && (any || k->open)) {
        return base_error(b->d, NULL,
                          "%s: operator %s is a C function of the application's own, and an extent is what data "
                          "decides: such a function is given fixed extents",
                          b->plan->model->file, k->op);
    }
    return k->program != NULL ? BASE_OK
                              : base_error(b->d, NULL, "%s: operator %s is too large", b->plan->model->file, k->op);
}

/* What the counts say of the node's outputs. */
static void note_counts(plan_builder *b, const plan_kernel *k, const plan_pending *pending, const lang_count *counts,
                        size_t n) {
    plan_module *p = b->plan;
    for (size_t i = 0; i < n && b->copied == NULL; i++) {
        const uint32_t count = (counts[i].is_input ? k->inputs : k->outputs)[counts[i].index];
        const uint32_t out = k->outputs[counts[i].output];
        p->tensors.at[out].count[counts[i].axis] = count;
        const plan_pending *copy = &pending[counts[i].output];
        const uint32_t visible = copy->dense ? copy->to : out;
        p->tensors.at[visible].count[counts[i].axis] = count;
        if (is_module_output(b, visible)) {
            *BASE_PUSH(b->arena, &p->counts) = (plan_count){count, visible, counts[i].axis, false};
        }
    }
}

/* The kernel's programs, and what its outputs wait for: made in scratch, of which the programs are kept. */
static base_status make_programs(plan_builder *b, base_arena *scratch, plan_kernel *k, open_node *open,
                                 plan_pending *pending, lang_count *counts, size_t *count_n) {
    lang_program *raw = NULL;
    base_status status = instantiate(b, scratch, k->node, open, &raw);
    if (status != BASE_OK) {
        return status;
    }
    k->raw = k->program = raw;
    k->open = open->n > 0;
    status = count_outputs(b, scratch, k, pending, counts, count_n);
    if (status != BASE_OK) {
        return status;
    }
    k->program = lang_keep(b->arena, scratch, lower(scratch, k->program, b->o, &b->work, &k->hoisted));
    k->raw = lang_keep(b->arena, scratch, raw);
    k->macs = lang_macs(raw);
    return BASE_OK;
}

static base_status add_kernel(plan_builder *b, base_arena *scratch, const ir_node *n) {
    open_node open = {0};
    plan_kernel k = {.control = PLAN_COMPUTE,
                     .condition = IR_NONE,
                     .loop = IR_NONE,
                     .node = n,
                     .graph = b->graph,
                     .op = n->op,
                     .id_count = n->id_count,
                     .ids = n->ids};
    plan_pending *pending = BASE_NEWS(scratch, plan_pending, n->output_count + 1);
    lang_count *counts = BASE_NEWS(scratch, lang_count, n->output_count * LANG_MAX_RANK + 1);
    size_t count_n = 0;
    base_status status = make_programs(b, scratch, &k, &open, pending, counts, &count_n);
    status = status == BASE_OK ? bind_tensors(b, &k, open.counts, open.n, pending) : status;
    if (status != BASE_OK) {
        return status;
    }
    plan_schedule_kernel(b->arena, &k, b->o);
    b->plan->macs += k.macs;
    note_counts(b, &k, pending, counts, count_n);
    *BASE_PUSH(b->arena, &b->plan->kernels) = k;
    for (size_t i = 0; status == BASE_OK && i < n->output_count; i++) {
        if (pending[i].from != pending[i].to) {
            status = pending[i].dense ? add_dense_copy(b, pending[i].from, pending[i].to, n)
                                      : plan_add_copy(b, pending[i].from, pending[i].to, n);
        }
    }
    return status;
}

base_status plan_add_kernel(plan_builder *b, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(b->arena));
    const base_status status = add_kernel(b, scratch, n);
    base_arena_free(scratch);
    return status;
}

/* A graph that holds nothing but the copy: an identity, or a reshape to one extent. */
static base_status add_copy(plan_builder *b, uint32_t from, uint32_t to, const ir_node *cause, bool dense) {
    static const int64_t all = -1;
    const ir_graph *graph = b->graph;
    uint32_t *of = b->of, copied[] = {from, to};
    ir_graph *g = BASE_NEW(b->arena, ir_graph);
    ir_node *n = BASE_NEW(b->arena, ir_node);
    ir_attr *shape = BASE_NEW(b->arena, ir_attr);
    uint32_t *ends = BASE_NEWS(b->arena, uint32_t, 2);
    *g = (ir_graph){.name = "", .index = graph->index};
    *shape = (ir_attr){.name = "shape", .kind = IR_INTS, .n = 1, .v = {.ints = &all}};
    for (size_t i = 0; i < 2; i++) {
        const plan_tensor *t = &b->plan->tensors.at[copied[i]];
        ir_tensor x = {.name = t->name,
                       .type = t->type,
                       .shape = t->shape,
                       .data = t->role == PLAN_CONSTANT ? t->data : NULL,
                       .state = IR_NONE,
                       .source = IR_NONE};
        if (dense && i == 1) {
            uint64_t elements = 0;
            (void)ir_shape_elements(&t->shape, &elements);
            x.shape = ir_shape_of(1, (const int64_t[]){(int64_t)elements});
        }
        *BASE_PUSH(b->arena, &g->tensors) = x;
        ends[i] = (uint32_t)i;
    }
    *n = (ir_node){.op = dense ? "reshape" : "identity",
                   .attrs = shape,
                   .attr_count = dense ? 1 : 0,
                   .inputs = ends,
                   .input_count = 1,
                   .outputs = ends + 1,
                   .output_count = 1,
                   .ids = cause->ids,
                   .id_count = cause->id_count,
                   .source_name = cause->source_name,
                   .byte = cause->byte};
    b->copied = copied;
    b->graph = g;
    b->of = copied;
    base_status status = plan_add_kernel(b, n);
    b->copied = NULL;
    b->graph = graph;
    b->of = of;
    return status;
}

base_status plan_add_copy(plan_builder *b, uint32_t from, uint32_t to, const ir_node *cause) {
    return add_copy(b, from, to, cause, false);
}

static base_status add_dense_copy(plan_builder *b, uint32_t from, uint32_t to, const ir_node *cause) {
    return add_copy(b, from, to, cause, true);
}

/* The extents of an input that the caller of a run says: one count for each symbol. Its elements are dense, and so they are
 * where the plan has them. */
static base_status add_dims(plan_builder *b, uint32_t input, const ir_shape *shape, uint32_t *of_symbol) {
    bool outermost = true;
    for (uint32_t k = 0; k < shape->rank; k++) {
        const uint32_t symbol = shape->symbol[k];
        if (symbol != 0 && !outermost) {
            return base_error(
                b->d, NULL,
                "%s: input \"%s\": extent %u is open, and so C has it only where those before it are 1: give it "
                "a number (--dim)",
                b->plan->model->file, b->plan->tensors.at[input].name, k);
        }
        outermost = outermost && symbol == 0 && shape->dim[k] == 1;
        if (symbol == 0) {
            continue;
        }
        if (of_symbol[symbol - 1] == IR_NONE) {
            const char *name = b->plan->model->symbols.at[symbol - 1].name;
            of_symbol[symbol - 1] =
                add_tensor(b, (plan_tensor){.graph_tensor = IR_NONE,
                                            .state = IR_NONE,
                                            .name = base_printable(b->arena, name, strlen(name), 80),
                                            .role = PLAN_SCRATCH,
                                            .type = BASE_I64,
                                            .bytes = 8});
        }
        b->plan->tensors.at[input].count[k] = of_symbol[symbol - 1];
        *BASE_PUSH(b->arena, &b->plan->counts) = (plan_count){of_symbol[symbol - 1], input, k, true};
    }
    return BASE_OK;
}

static base_status add_io(plan_builder *b) {
    const ir_graph *g = b->plan->graph;
    uint32_t *of_symbol = plan_no_tensors(b->arena, b->plan->model->symbols.n);
    base_status status = BASE_OK;
    for (size_t i = 0; status == BASE_OK && i < g->inputs.n; i++) {
        uint32_t tensor = IR_NONE;
        status = plan_add_tensor(b, g->inputs.at[i], PLAN_INPUT, &tensor);
        *BASE_PUSH(b->arena, &b->plan->inputs) = tensor;
        status = status == BASE_OK ? add_dims(b, tensor, &g->tensors.at[g->inputs.at[i]].shape, of_symbol) : status;
    }
    for (size_t i = 0; status == BASE_OK && i < g->outputs.n; i++) {
        status = plan_add_tensor(b, g->outputs.at[i], PLAN_OUTPUT, BASE_PUSH(b->arena, &b->plan->outputs));
    }
    return status;
}

/* What the tables and macros of a module hold as 32 bits. */
static base_status check_totals(plan_builder *b) {
    const plan_module *p = b->plan;
    const struct {
        const char *what;
        uint64_t bytes;
    } totals[] = {{"an arena", plan_room(p)}, {"constants", p->constant_bytes}};
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        if (totals[i].bytes > UINT32_MAX) {
            return base_error(b->d, NULL, "%s: the module needs %s of %" PRIu64 " bytes; it may have 2^32-1",
                              p->model->file, totals[i].what, totals[i].bytes);
        }
    }
    return BASE_OK;
}

/* ---- hashes ---- */

static void fill_hashes(plan_builder *b) {
    plan_module *p = b->plan;
    base_arena *scratch = base_arena_new(base_arena_memory(b->arena));
    base_text text = {.arena = scratch};
    for (size_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        const ir_node *n = k->node;
        if (k->control != PLAN_COMPUTE) {
            base_put(&text, " control %d %u %u\n", (int)k->control, k->condition, k->jump);
            continue;
        }
        lang_print(&text, k->raw);
        for (size_t t = 0; t < n->input_count + n->output_count; t++) {
            base_put(&text, " %u", t < n->input_count ? n->inputs[t] : n->outputs[t - n->input_count]);
        }
    }
    p->structure_hash = base_hash(text.at, text.n, 1);
    p->weights_hash = 2;
    for (size_t g = 0; g < p->model->graphs.n; g++) {
        for (size_t i = 0; i < p->model->graphs.at[g].tensors.n; i++) {
            const ir_tensor *t = &p->model->graphs.at[g].tensors.at[i];
            uint64_t bytes;
            if (t->data != NULL && ir_tensor_bytes(t, &bytes)) {
                p->weights_hash = base_hash(t->data, (size_t)bytes, p->weights_hash);
            }
        }
    }
    for (size_t i = 0; i < p->tensors.n; i++) {
        const plan_tensor *t = &p->tensors.at[i];
        if (t->role == PLAN_STATE && t->data != NULL) {
            p->weights_hash = base_hash(t->data, (size_t)t->bytes, p->weights_hash);
        }
    }
    base_arena_free(scratch);
}

base_status plan_build_once(base_arena *arena, ops_registry *ops, const ir_model *m, const plan_options *o,
                            plan_module **out, base_diags *d) {
    plan_module *p = BASE_NEW(arena, plan_module);
    p->arena = arena;
    p->model = m;
    p->graph = &m->graphs.at[0];
    p->device = o->device;
    p->prefix = o->prefix;
    p->without = o->without;
    p->without_passes = o->without_passes;
    p->max_trips = o->max_trips;
    p->goal = o->goal;
    p->asked = o->asked != NULL ? o->asked : o->goal == PLAN_SIZE ? "size" : "latency";
    p->generic = o->generic;
    p->precise = o->precise;
    p->channels = o->channels;
    plan_builder b = {.arena = arena, .ops = ops, .o = o, .plan = p, .graph = p->graph, .work = FIT_LIMIT, .d = d};
    b.of = plan_no_tensors(arena, p->graph->tensors.n);
    b.states = plan_no_tensors(arena, m->states.n);
    b.constants = BASE_NEWS(arena, uint32_t *, m->graphs.n + 1);
    base_status status = add_io(&b), planned = plan_flatten(&b);
    status = planned != BASE_OK ? planned : status;
    if (status != BASE_OK) {
        return status;
    }
    fill_hashes(&b); /* of what the network is, in its own order */
    uint32_t *order = o->replay != NULL ? BASE_NEWS(arena, uint32_t, p->kernels.n + 1) : NULL;
    bool edited = false;
    status = o->replay != NULL ? plan_replay_order(o->replay, p, order, d) : BASE_OK;
    if (status == BASE_OK && o->replay != NULL) {
        status = plan_replay_schedules(o->replay, p, order, &edited, d);
    }
    if (status != BASE_OK) {
        return status;
    }
    plan_place_tensors(arena, p, o->opt_level > 0 && !plan_has(o->without, PLAN_MOVE_ALIAS), order);
    plan_spread_memories(p);
    const uint32_t placed = (uint32_t)p->tensors.n;
    status = o->replay != NULL ? plan_replay_places(o->replay, p, 0, d) : BASE_OK;
    if (status != BASE_OK) {
        return status;
    }
    plan_place_lines(p);
    status = o->replay != NULL && !edited ? plan_replay_places(o->replay, p, placed, d) : BASE_OK;
    if (status != BASE_OK) {
        return status;
    }
    for (size_t i = 0; i < p->kernels.n; i++) {
        p->kernels.at[i].cost = plan_cost(arena, &p->kernels.at[i], &p->device->machine);
    }
    status = check_totals(&b);
    if (status != BASE_OK) {
        return status;
    }
    *out = p;
    status = o->replay != NULL ? plan_replay_rest(o->replay, p, edited ? placed : UINT32_MAX, d) : BASE_OK;
    status = status == BASE_OK ? plan_validate(p, d) : status;
    return status == BASE_OK ? plan_check_memories(p, d) : status;
}
