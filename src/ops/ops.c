/* ops.c - the registry of definitions and the call of a definition by a node of a graph.
 *
 * Takes the embedded texts. Gives parsed libraries (on first use) and instantiated programs. Knows no operator by name.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "ops/embedded.h"
#include "ops/ops.h"

#define ELEMENT_LIMIT ((uint64_t)INT32_MAX) /* of a tensor that an operator computes: what a module can index */

/* A text that the caller added. */
typedef struct own_text {
    const char *file, *at;
    size_t n;
} own_text;

struct ops_registry {
    base_arena *arena;
    lang_library *library;        /* all that was parsed so far; NULL before the first use */
    lang_library *own;            /* what the caller added; NULL: nothing */
    BASE_VEC(own_text) texts;     /* of it */
    bool *parsed;                 /* of ops_sources */
    BASE_VEC(const char *) names; /* of operators: the files' names without .op */
    base_map *number;             /* name -> index in names */
    BASE_VEC(size_t) source;      /* index in ops_sources of names.at[i] */
    uint64_t instantiated;        /* how many programs were made */
};

static bool is_shared(const ops_source *s) {
    return s->name[0] == '_';
}

ops_registry *ops_registry_new(base_arena *arena) {
    ops_registry *r = BASE_NEW(arena, ops_registry);
    r->arena = arena;
    r->parsed = BASE_NEWS(arena, bool, ops_source_count + 1);
    r->number = base_map_new(arena);
    for (size_t i = 0; i < ops_source_count; i++) {
        if (!is_shared(&ops_sources[i])) {
            *BASE_PUSH(arena, &r->names) =
                base_strndup(arena, ops_sources[i].name, strlen(ops_sources[i].name) - strlen(".op"));
            *BASE_PUSH(arena, &r->source) = i;
            bool is_new;
            const char *name = r->names.at[r->names.n - 1];
            *base_map_put(r->number, name, strlen(name), &is_new) = r->names.n - 1;
        }
    }
    return r;
}

size_t ops_count(const ops_registry *r) {
    return r->names.n;
}

const char *ops_name(const ops_registry *r, size_t i) {
    return r->names.at[i];
}

uint64_t ops_instantiated(const ops_registry *r) {
    return r->instantiated;
}

static size_t find(const ops_registry *r, const char *op) {
    const uint64_t *at = base_map_get(r->number, op, strlen(op));
    return at != NULL ? (size_t)*at : r->names.n;
}

/* The caller's name of an operator that has its meaning from the caller's text; NULL: it is Burin's. */
static const char *own_name(const char *op) {
    static const char prefix[] = "custom.";
    return strncmp(op, prefix, sizeof prefix - 1) == 0 ? op + sizeof prefix - 1 : NULL;
}

bool ops_has(ops_registry *r, const char *op) {
    const char *own = own_name(op);
    if (own != NULL) {
        return r->own != NULL && lang_has_op(r->own, own);
    }
    return find(r, op) < r->names.n;
}

const char *ops_source_text(const ops_registry *r, const char *op) {
    size_t i = find(r, op);
    return i < r->names.n ? ops_sources[r->source.at[i]].text : NULL;
}

static base_status parse(ops_registry *r, size_t source, base_diags *d) {
    if (r->parsed[source]) {
        return BASE_OK;
    }
    const ops_source *s = &ops_sources[source];
    base_status status = lang_parse(r->library, s->name, s->text, s->size, d);
    r->parsed[source] = status == BASE_OK;
    return status;
}

static base_status parse_shared(ops_registry *r, base_diags *d) {
    base_status status = BASE_OK;
    r->own = lang_library_new(r->arena);
    for (size_t k = 0; k < ops_source_count && status == BASE_OK; k++) {
        const ops_source *s = &ops_sources[k];
        status = is_shared(s) ? lang_parse(r->own, s->name, s->text, s->size, d) : BASE_OK;
    }
    return status;
}

/* Overloads are of one file: which of two files' comes first is no one's intention. */
static base_status check_new(const ops_registry *r, const char *file, const size_t *overloads, size_t before,
                             base_diags *d) {
    const base_place place = {.file = file};
    if (lang_op_count(r->own) == before) {
        bool again = false;
        for (size_t i = 0; i < before; i++) {
            again = again || lang_overload_count(r->own, lang_op_name(r->own, i)) != overloads[i];
        }
        if (!again) {
            return base_error(d, &place, "it defines no operator: expected `op NAME ...`");
        }
    }
    for (size_t i = 0; i < before; i++) {
        const char *name = lang_op_name(r->own, i);
        if (lang_overload_count(r->own, name) != overloads[i]) {
            return base_error(d, &place, "operator %s is defined by another file, too", name);
        }
    }
    return BASE_OK;
}

base_status ops_add(ops_registry *r, const char *file, const char *text, size_t n, base_diags *d) {
    for (size_t i = 0; i < r->texts.n; i++) {
        const own_text *t = &r->texts.at[i];
        if (t->n == n && memcmp(t->at, text, n) == 0) {
            return BASE_OK;
        }
    }
    base_status status = r->own == NULL ? parse_shared(r, d) : BASE_OK;
    const size_t before = lang_op_count(r->own);
    size_t *overloads = BASE_NEWS(r->arena, size_t, before + 1);
    for (size_t i = 0; i < before; i++) {
        overloads[i] = lang_overload_count(r->own, lang_op_name(r->own, i));
    }
    status = status == BASE_OK ? lang_parse(r->own, file, text, n, d) : status;
    status = status == BASE_OK ? check_new(r, file, overloads, before, d) : status;
    if (status == BASE_OK) {
        *BASE_PUSH(r->arena, &r->texts) = (own_text){file, text, n};
    }
    return status;
}

const lang_library *ops_library(ops_registry *r, const char *op, base_diags *d) {
    if (own_name(op) != NULL) {
        return ops_has(r, op) ? r->own : NULL;
    }
    size_t i = find(r, op);
    if (i == r->names.n) {
        return NULL;
    }
    if (r->library == NULL) {
        r->library = lang_library_new(r->arena);
        for (size_t k = 0; k < ops_source_count; k++) {
            if (is_shared(&ops_sources[k]) && parse(r, k, d) != BASE_OK) {
                return NULL;
            }
        }
    }
    return parse(r, r->source.at[i], d) == BASE_OK ? r->library : NULL;
}

base_place ops_place(base_arena *arena, const ir_model *m, const ir_graph *g, const ir_node *n) {
    base_place place = {.file = m->file, .byte = n->byte, .has_byte = n->byte != 0};
    const char *word = n->source_name != NULL && n->source_name[0] != 0 ? n->source_name : n->op;
    if (n->id_count > 0 && n->ids[0] != IR_NONE) {
        place.path = base_printf(arena, "subgraph[%u]/operator[%u] %s", g->index, n->ids[0], word);
    } else {
        place.path = base_printf(arena, "subgraph[%u] %s", g->index, word);
    }
    return place;
}

static lang_argument argument(const ir_graph *g, uint32_t tensor, bool is_output) {
    lang_argument a = {0};
    if (tensor != IR_NONE) {
        const ir_tensor *t = &g->tensors.at[tensor];
        a = (lang_argument){.present = true,
                            .type = t->type,
                            .shape = ir_shape_of(t->shape.rank, t->shape.dim), /* of open extents the bounds */
                            .quant = t->quant,
                            .shape_known = is_output};
        a.data = is_output ? NULL : t->data;
    }
    return a;
}

static lang_argument *arguments(base_arena *arena, const ir_graph *g, const uint32_t *tensors, size_t n, size_t open,
                                bool are_outputs) {
    lang_argument *list = BASE_NEWS(arena, lang_argument, n + open + 1);
    for (size_t i = 0; i < n; i++) {
        list[i] = argument(g, tensors[i], are_outputs);
    }
    for (size_t i = n; i < n + open; i++) {
        list[i] = (lang_argument){.present = true, .open = true};
    }
    return list;
}

/* What no run could finish, hold or evaluate is refused here, for inspect, run and compile alike. */
static base_status check_limits(base_arena *arena, const lang_program *p, const base_place *place, base_diags *d) {
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_tensor *t = &p->tensors.at[p->stages.at[i].tensor];
        uint64_t elements = 1;
        for (uint32_t k = 0; k < t->rank; k++) {
            elements *= (uint64_t)t->dim[k];
        }
        if (elements > ELEMENT_LIMIT) {
            return base_error(d, place, "%s would have %" PRIu64 " elements; a tensor may have 2^31-1", t->name,
                              elements);
        }
    }
    const uint64_t cost = lang_cost(p);
    if (cost > OPS_MOST_COST) {
        return base_error(d, place, "it would take %" PRIu64 " scalar operations; an operator may take 2^40", cost);
    }
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    uint32_t depth = lang_depth(scratch, p);
    base_arena_free(scratch);
    if (depth > LANG_EVAL_DEPTH) {
        return base_error(d, place, "its expression has %" PRIu32 " levels; an operator may have %u", depth,
                          LANG_EVAL_DEPTH);
    }
    return BASE_OK;
}

typedef struct open_extents {
    const int64_t *most;
    size_t n;
} open_extents;

static base_status instantiate(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g,
                               const ir_node *n, const ir_shape *shapes, size_t open, const open_extents *counts,
                               const ops_goal *goal, bool outputs_known, lang_program **out, base_diags *d) {
    base_place place = ops_place(arena, m, g, n);
    if (ir_is_fused(n) && counts != NULL) {
        return base_error(d, &place, "an operator fused of others, and an extent that data decides");
    }
    if (ir_is_fused(n)) {
        base_status linked = ops_link_fused(arena, r, m, g, n, goal, out, d);
        return linked == BASE_OK ? check_limits(arena, *out, &place, d) : linked;
    }
    if (!ops_has(r, n->op)) {
        return base_error(d, &place, "operator is not supported");
    }
    if (n->input_count > LANG_EVAL_DEPTH) { /* a choice between them has a level for each */
        return base_error(d, &place, "it has %zu inputs; an operator may have %u", n->input_count, LANG_EVAL_DEPTH);
    }
    const lang_library *library = ops_library(r, n->op, d);
    if (library == NULL) {
        return BASE_INTERNAL;
    }
    lang_call call = {.op = own_name(n->op) != NULL ? own_name(n->op) : n->op,
                      .input_count = n->input_count + open,
                      .output_count = n->output_count,
                      .attrs = n->attrs,
                      .attr_count = n->attr_count,
                      .place = &place};
    lang_argument *outputs = arguments(arena, g, n->outputs, n->output_count, 0, true),
                  *inputs = arguments(arena, g, n->inputs, n->input_count, open, false);
    for (size_t i = 0; i < n->output_count; i++) {
        outputs[i].shape_known = outputs_known;
    }
    for (size_t i = 0; shapes != NULL && i < n->input_count; i++) {
        inputs[i].shape = n->inputs[i] == IR_NONE ? inputs[i].shape : shapes[n->inputs[i]];
    }
    call.inputs = inputs;
    call.outputs = outputs;
    call.counts = counts != NULL ? counts->most : NULL;
    call.count_count = counts != NULL ? counts->n : 0;
    if (goal != NULL) {
        call.goals = goal->names;
        call.goal_count = goal->count;
    }
    r->instantiated++;
    base_status status = lang_instantiate(arena, library, &call, out, d);
    return status == BASE_OK ? check_limits(arena, *out, &place, d) : status;
}

base_status ops_instantiate(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g, const ir_node *n,
                            const ops_goal *goal, lang_program **out, base_diags *d) {
    return instantiate(arena, r, m, g, n, NULL, 0, NULL, goal, true, out, d);
}

base_status ops_check_extents(const ir_model *m, const ir_graph *g, const ir_node *n, const lang_program *p,
                              base_diags *d) {
    for (size_t i = 0; i < n->output_count && i < p->outputs.n; i++) {
        const lang_tensor *t = &p->tensors.at[p->outputs.at[i]];
        const ir_shape *s = &g->tensors.at[n->outputs[i]].shape;
        const uint32_t computed = ir_shape_open(s);
        for (uint32_t k = 0; k < t->rank && k < s->rank; k++) {
            if (t->extent[k] != 0 && !(computed >> k & 1)) {
                base_place place = ops_place(d->arena, m, g, n);
                return base_error(d, &place,
                                  "data decides extent %" PRIu32 " of output %zu, and the graph says that it is "
                                  "%" PRId64 ": it must be a computed symbol",
                                  k, i, s->dim[k]);
            }
        }
    }
    return BASE_OK;
}

base_status ops_instantiate_at(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g,
                               const ir_node *n, const ir_shape *shapes, const ops_goal *goal, lang_program **out,
                               base_diags *d) {
    return instantiate(arena, r, m, g, n, shapes, 0, NULL, goal, false, out, d);
}

base_status ops_more_inputs(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g, const ir_node *n,
                            const ops_goal *goal, size_t count, base_type *types, ir_shape *shapes, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lang_program *p;
    base_status status = instantiate(scratch, r, m, g, n, NULL, count, NULL, goal, false, &p, d);
    for (size_t i = 0; status == BASE_OK && i < count; i++) {
        const lang_tensor *t = &p->tensors.at[p->inputs.at[n->input_count + i]];
        types[i] = (base_type)t->type;
        shapes[i] = ir_shape_of(t->rank, t->dim);
    }
    base_arena_free(scratch);
    return status;
}

base_status ops_instantiate_open(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g,
                                 const ir_node *n, const ir_shape *shapes, const int64_t *counts, size_t count_count,
                                 const ops_goal *goal, lang_program **out, base_diags *d) {
    const open_extents open = {counts, count_count};
    return instantiate(arena, r, m, g, n, shapes, 0, &open, goal, true, out, d);
}

/* ---- shapes ---- */

/* The symbols among the extents of a node's inputs, as counts of a call. */
typedef struct symbol_counts {
    ir_shape *shapes; /* of the graph's tensors, with numbers of counts for symbols; NULL: there are none */
    uint32_t symbols[LANG_MAX_VARS];
    int64_t most[LANG_MAX_VARS];
    size_t n;
    bool too_many;
} symbol_counts;

static symbol_counts counts_of(base_arena *arena, const ir_graph *g, const ir_node *n) {
    symbol_counts c = {0};
    for (size_t i = 0; i < n->input_count && !c.too_many; i++) {
        const ir_shape *s = n->inputs[i] == IR_NONE ? NULL : &g->tensors.at[n->inputs[i]].shape;
        for (uint32_t k = 0, computed = s != NULL ? ir_shape_open(s) : 0; computed >> k != 0; k++) {
            size_t at = 0;
            if ((computed >> k & 1) == 0) {
                continue;
            }
            while (at < c.n && c.symbols[at] != s->symbol[k]) {
                at++;
            }
            if (at == LANG_MAX_VARS) {
                c.too_many = true;
                break;
            }
            if (at == c.n) {
                c.symbols[c.n] = s->symbol[k];
                c.most[c.n++] = s->dim[k];
            }
            if (c.shapes == NULL) {
                c.shapes = BASE_NEWS(arena, ir_shape, g->tensors.n + 1);
                for (size_t t = 0; t < g->tensors.n; t++) {
                    c.shapes[t] = ir_shape_of(g->tensors.at[t].shape.rank, g->tensors.at[t].shape.dim);
                }
            }
            c.shapes[n->inputs[i]].symbol[k] = (uint32_t)at + 1;
        }
    }
    return c;
}

/* Which extents of the outputs follow from the counts: a symbol itself, or a number of their own. */
static void follow_counts(const lang_program *open, const symbol_counts *c, size_t outputs, ir_shape *shapes,
                          uint32_t *dynamic) {
    const size_t first = open->inputs.n - c->n;
    for (size_t i = 0; i < outputs; i++) {
        const lang_tensor *t = &open->tensors.at[open->outputs.at[i]];
        for (uint32_t k = 0; k < t->rank && t->rank == shapes[i].rank; k++) {
            const lang_node *e = lang_at(open, t->extent[k]);
            size_t at = c->n;
            for (size_t j = 0; t->extent[k] != 0 && e->kind == LANG_READ && j < c->n; j++) {
                at = open->inputs.at[first + j] == e->index ? j : at;
            }
            const bool itself = at < c->n && c->most[at] == shapes[i].dim[k];
            shapes[i].symbol[k] = itself ? c->symbols[at] : 0;
            dynamic[i] |= (uint32_t)(!itself && (t->extent[k] != 0 || t->dim[k] != shapes[i].dim[k])) << k;
        }
    }
}

base_status ops_output_shapes(base_arena *arena, ops_registry *r, const ir_model *m, const ir_graph *g,
                              const ir_node *n, const ops_goal *goal, ir_shape *shapes, base_type *types,
                              uint32_t *dynamic, bool *by_contents, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    lang_program *p = NULL, *open = NULL;
    base_status status = ops_instantiate_at(scratch, r, m, g, n, NULL, goal, &p, d);
    if (by_contents != NULL) {
        *by_contents = p == NULL || p->by_contents;
    }
    for (size_t i = 0; status == BASE_OK && i < n->output_count && i < p->outputs.n; i++) {
        dynamic[i] = 0;
        const lang_tensor *t = &p->tensors.at[p->outputs.at[i]];
        if (t->rank > IR_MAX_RANK) {
            base_place place = ops_place(scratch, m, g, n);
            status = base_error(d, &place, "output %zu would have %u extents; a tensor may have %u", i, t->rank,
                                IR_MAX_RANK);
            break;
        }
        shapes[i] = ir_shape_of(t->rank, t->dim);
        if (types != NULL) {
            types[i] = t->type;
        }
        for (uint32_t k = 0; k < t->rank; k++) {
            dynamic[i] |= (uint32_t)(t->extent[k] != 0) << k;
        }
    }
    const symbol_counts c = counts_of(scratch, g, n);
    if (status == BASE_OK && c.too_many) {
        base_place place = ops_place(scratch, m, g, n);
        status = base_error(d, &place, "it is behind more than %u extents that data decides", LANG_MAX_VARS);
    }
    if (status == BASE_OK && c.n > 0) {
        const open_extents most = {c.most, c.n};
        status = instantiate(scratch, r, m, g, n, c.shapes, 0, &most, goal, false, &open, d);
    }
    if (open != NULL && status == BASE_OK) {
        follow_counts(lang_simplify(scratch, open), &c, n->output_count < p->outputs.n ? n->output_count : p->outputs.n,
                      shapes, dynamic);
    }
    base_arena_free(scratch);
    return status;
}

base_status ops_check(base_arena *arena, ops_registry *r, const ir_model *m, const ops_goal *goal, base_diags *d) {
    base_status status = BASE_OK;
    for (size_t i = 0; i < m->graphs.n; i++) {
        const ir_graph *g = &m->graphs.at[i];
        for (size_t k = 0; k < g->nodes.n; k++) {
            if (ir_control_of(&g->nodes.at[k]) != IR_PLAIN) {
                continue; /* its graphs say what it does */
            }
            base_arena *scratch = base_arena_new(base_arena_memory(arena));
            lang_program *ignored;
            base_status one = ops_instantiate(scratch, r, m, g, &g->nodes.at[k], goal, &ignored, d);
            status = one != BASE_OK ? one : status;
            base_arena_free(scratch);
        }
    }
    return status;
}
