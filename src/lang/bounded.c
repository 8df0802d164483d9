/* bounded.c - programs whose outputs' extents a run decides, with room for the most and counts of what there is.
 *
 * Takes a program. Gives one whose outputs have their bounds for extents in memory, loops to what there is (or, where it is
 * asked for, to the bound, with zeros behind), and each such extent in a tensor of its own. For targets that have a place for
 * each tensor before a run.
 */
#include "lang/lang.h"
#include "lang/rewrite.h"

bool lang_can_fill(const lang_program *p, uint32_t output) {
    const uint32_t tensor = p->outputs.at[output];
    const lang_tensor *t = &p->tensors.at[tensor];
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    const uint8_t *reached = lang_reached(scratch, p, NULL);
    bool can = t->kind == LANG_STAGE && t->rank > 0 && p->stages.at[t->stage].rec < 0;
    for (uint32_t k = 1; k < t->rank; k++) {
        can = can && t->extent[k] == 0;
    }
    for (lang_ref r = 1; can && r < p->nodes.n; r++) {
        const lang_node *n = lang_at(p, r);
        can = reached[r] == 0 || n->kind != LANG_READ || n->index != tensor;
    }
    base_arena_free(scratch);
    return can;
}

/* Variable 0 of the stage runs to the bound. */
static lang_ref replace_first(lang_rewriter *w, lang_ref r) {
    const lang_node *n = lang_at(w->from, r);
    const lang_ref *bound = w->user;
    return n->kind == LANG_VAR && n->index == 0 ? lang_var(w->to, 0, *bound) : 0;
}

static lang_ref zero_of(lang_program *p, base_type type) {
    return base_type_is_float(type) ? lang_float(p, type, 0)
           : type == BASE_BOOL      ? lang_const(p, type, (base_value){.u = 0})
                                    : lang_int(p, type, 0);
}

/* Appends a stage without dimensions. */
static uint32_t add_scalar(lang_program *p, const char *name, base_type type, lang_ref body, base_place place) {
    lang_tensor t = {.name = name, .type = type, .kind = LANG_STAGE, .stage = (uint32_t)p->stages.n};
    const uint32_t tensor = lang_tensor_add(p, &t);
    lang_variable *none = BASE_NEWS(p->arena, lang_variable, 1);
    *BASE_PUSH(p->arena, &p->stages) =
        (lang_stage){.tensor = tensor, .vars = none, .body = body, .rec = -1, .place = place};
    return tensor;
}

uint32_t lang_add_test(lang_program *p, lang_ref condition, base_place place) {
    static const uint8_t contents[] = {0, 1}; /* two, so that no simplification knows what is read */
    lang_tensor table = {.name = "table", .type = BASE_U8, .rank = 1, .kind = LANG_CONSTANT, .data = contents};
    table.dim[0] = 2;
    lang_ref args[] = {condition, lang_int(p, BASE_I64, 0), lang_int(p, BASE_I64, 2)};
    lang_ref index = args[1] == 0 || args[2] == 0 ? 0 : lang_apply(p, LANG_IF, BASE_I64, args, 3);
    const uint32_t constant = lang_tensor_add(p, &table);
    lang_ref body = index == 0 ? 0 : lang_read(p, constant, &index, 1, 0);
    return body == 0 ? IR_NONE : add_scalar(p, "test", BASE_U8, body, place);
}

typedef struct counter {
    base_arena *scratch;
    const lang_program *from;
    lang_program *to;
    uint32_t *map;
    const ir_shape *most;
    const bool *filled;
    size_t n;
} counter;

/* The output that the tensor of p is; n: none. */
static size_t output_of(const counter *c, uint32_t tensor) {
    size_t o = 0;
    while (o < c->n && c->from->outputs.at[o] != tensor) {
        o++;
    }
    return o;
}

static lang_variable *own_variables(lang_program *p, lang_stage *s) {
    lang_variable *vars = BASE_NEWS(p->arena, lang_variable, s->var_count + 1);
    for (uint32_t k = 0; k < s->var_count; k++) {
        vars[k] = s->vars[k];
    }
    s->vars = vars;
    return vars;
}

/* The stage of an output runs as far as there is room. */
static bool bound_stage(counter *c, const lang_stage *s, size_t output) {
    lang_program *to = c->to;
    const uint32_t tensor = c->map[s->tensor];
    const int64_t *most = c->most[output].dim;
    const bool fill = c->filled[output] && c->from->tensors.at[s->tensor].extent[0] != 0;
    lang_ref bound = fill ? lang_int(to, BASE_I64, most[0]) : 0, count = to->tensors.at[tensor].extent[0];
    lang_rewriter w = {.from = c->from, .to = to, .tensor_map = c->map};
    if (fill) {
        w.replace = replace_first;
        w.user = &bound;
    }
    if ((fill && bound == 0) || !lang_copy_stage(c->scratch, &w, s, tensor)) {
        return false;
    }
    lang_stage *made = &to->stages.at[to->stages.n - 1];
    lang_variable *vars = own_variables(to, made);
    for (uint32_t k = 0; k < made->rank; k++) {
        vars[k].bound = c->from->tensors.at[s->tensor].extent[k] != 0 ? most[k] : vars[k].bound;
    }
    if (fill) {
        const base_type type = to->tensors.at[tensor].type;
        vars[0].extent = bound;
        lang_ref there = lang_apply2(to, LANG_LT, BASE_BOOL, lang_var(to, 0, bound), count);
        lang_ref args[] = {there, made->body, zero_of(to, type)};
        made->body = there == 0 || args[2] == 0 ? 0 : lang_apply(to, LANG_IF, type, args, 3);
    }
    return made->body != 0;
}

static uint32_t position(const uint32_t *list, size_t n, uint32_t what) {
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == what) {
            return i;
        }
    }
    return IR_NONE;
}

/* Where the extent is counted: an input, a stage that does it already, or a new one. */
static void find_count(counter *c, const char *name, lang_ref extent, base_place place, lang_count *out) {
    lang_program *to = c->to;
    const lang_node *n = lang_at(to, extent);
    if (n->kind == LANG_READ && to->tensors.at[n->index].kind == LANG_INPUT && to->tensors.at[n->index].most > 0) {
        out->is_input = true;
        out->index = position(to->inputs.at, to->inputs.n, n->index);
        return;
    }
    out->is_input = false;
    for (size_t i = c->from->stages.n; i < to->stages.n; i++) {
        if (to->stages.at[i].body == extent) {
            out->index = position(to->outputs.at, to->outputs.n, to->stages.at[i].tensor);
            return;
        }
    }
    const uint32_t tensor = add_scalar(to, base_printf(to->arena, "%s.count", name), BASE_I64, extent, place);
    out->index = (uint32_t)to->outputs.n;
    *BASE_PUSH(to->arena, &to->outputs) = tensor;
}

/* Fails where there may be less than nothing, or more than there is room for. */
static bool test_extent(counter *c, lang_ref extent, int64_t most, base_place place) {
    lang_program *to = c->to;
    const lang_range r = lang_range_of(lang_ranges_new(c->scratch, to), NULL, extent);
    if (r.known && r.lo >= 0 && r.hi <= most) {
        return true;
    }
    lang_ref zero = lang_int(to, BASE_I64, 0), bound = lang_int(to, BASE_I64, most);
    lang_ref low = zero == 0 ? 0 : lang_apply2(to, LANG_LE, BASE_BOOL, zero, extent);
    lang_ref high = bound == 0 ? 0 : lang_apply2(to, LANG_LE, BASE_BOOL, extent, bound);
    lang_ref fits = low == 0 || high == 0 ? 0 : lang_apply2(to, LANG_AND, BASE_BOOL, low, high);
    const uint32_t test = fits == 0 ? IR_NONE : lang_add_test(to, fits, place);
    if (test != IR_NONE) {
        *BASE_PUSH(to->arena, &to->outputs) = test;
    }
    return test != IR_NONE;
}

static bool count_outputs(counter *c, lang_count *counts, size_t *count_n) {
    bool fine = true;
    for (uint32_t o = 0; fine && o < c->n; o++) {
        const uint32_t tensor = c->map[c->from->outputs.at[o]];
        const lang_tensor t = c->to->tensors.at[tensor];
        const base_place place = t.kind == LANG_STAGE ? c->to->stages.at[t.stage].place : (base_place){0};
        for (uint32_t k = 0; fine && k < t.rank; k++) {
            if (t.extent[k] != 0) {
                lang_count count = {.output = o, .axis = k};
                find_count(c, t.name, t.extent[k], place, &count);
                fine = test_extent(c, t.extent[k], c->most[o].dim[k], place);
                counts[(*count_n)++] = count;
            }
        }
    }
    for (uint32_t o = 0; fine && o < c->n; o++) {
        if (c->filled[o]) {
            c->to->tensors.at[c->map[c->from->outputs.at[o]]].extent[0] = 0;
        }
    }
    return fine;
}

lang_program *lang_counted(base_arena *arena, const lang_program *p, size_t n, const ir_shape *most, const bool *filled,
                           lang_count *counts, size_t *count_n) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    counter c = {.scratch = scratch, .from = p, .most = most, .filled = filled, .n = n};
    c.map = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    c.to = lang_like(arena, p, NULL, c.map);
    c.to->rec_count = p->rec_count;
    c.to->node_limit = 2 * p->nodes.n + 4096;
    lang_rewriter w = {.from = p, .to = c.to, .tensor_map = c.map};
    bool fine = true;
    for (uint32_t t = 0; fine && t < p->tensors.n; t++) {
        const size_t o = output_of(&c, t);
        fine = lang_copy_extents(scratch, &w, t, c.map[t]);
        for (uint32_t k = 0; o < n && k < p->tensors.at[t].rank; k++) {
            lang_tensor *x = &c.to->tensors.at[c.map[t]];
            x->dim[k] = x->extent[k] != 0 ? most[o].dim[k] : x->dim[k];
        }
    }
    for (size_t i = 0; fine && i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        const size_t o = output_of(&c, s->tensor);
        fine = o < n ? bound_stage(&c, s, o) : lang_copy_stage(scratch, &w, s, c.map[s->tensor]);
    }
    *count_n = 0;
    fine = fine && count_outputs(&c, counts, count_n);
    c.to->node_limit = p->node_limit;
    base_arena_free(scratch);
    return fine ? c.to : NULL;
}
