/* bounded.c - programs whose outputs' extents a run decides, as programs of fixed extents and counts.
 *
 * Takes a program. Gives one whose outputs have their bounds for extents, with zeros behind what there is, and how much
 * there is as further outputs. For targets that have a place for each tensor before a run.
 */
#include "lang/lang.h"
#include "lang/rewrite.h"

static bool is_dynamic(const lang_tensor *t) {
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->extent[k] != 0) {
            return true;
        }
    }
    return false;
}

/* Only first extents of outputs that nothing else reads: elements are dense in what there is, so that only then the
 * places of the elements stay. */
static bool can_be_bounded(base_arena *scratch, const lang_program *p) {
    const uint8_t *reached = lang_reached(scratch, p, NULL);
    bool can = true;
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        const lang_tensor *t = &p->tensors.at[i];
        for (uint32_t k = 1; k < t->rank; k++) {
            can = can && t->extent[k] == 0;
        }
        can = can &&
              (!is_dynamic(t) || (t->kind == LANG_STAGE && lang_is_output(p, i) && p->stages.at[t->stage].rec < 0));
    }
    for (lang_ref r = 1; can && r < p->nodes.n; r++) {
        const lang_node *n = lang_at(p, r);
        can = reached[r] == 0 || n->kind != LANG_READ || !is_dynamic(&p->tensors.at[n->index]);
    }
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

/* Appends a stage without dimensions, as a further output. */
static void add_count(lang_program *p, const lang_tensor *of, lang_ref count, base_place place) {
    lang_tensor t = {.name = base_printf(p->arena, "%s.count", of->name), .type = BASE_I64, .kind = LANG_STAGE};
    t.stage = (uint32_t)p->stages.n;
    uint32_t tensor = lang_tensor_add(p, &t);
    lang_variable *none = BASE_NEWS(p->arena, lang_variable, 1);
    *BASE_PUSH(p->arena, &p->stages) =
        (lang_stage){.tensor = tensor, .vars = none, .body = count, .rec = -1, .place = place};
    *BASE_PUSH(p->arena, &p->outputs) = tensor;
}

static bool bound_stage(base_arena *scratch, lang_rewriter *w, const lang_stage *s, uint32_t tensor) {
    const lang_tensor *from = &w->from->tensors.at[s->tensor];
    lang_program *to = w->to;
    lang_rewriter plain = {.from = w->from, .to = to, .tensor_map = w->tensor_map};
    lang_ref bound = lang_int(to, BASE_I64, from->dim[0]), count = lang_rewrite(scratch, &plain, from->extent[0]);
    lang_rewriter first = {
        .from = w->from, .to = to, .replace = replace_first, .user = &bound, .tensor_map = w->tensor_map};
    if (bound == 0 || count == 0 || !lang_copy_stage(scratch, &first, s, tensor)) {
        return false;
    }
    lang_stage *made = &to->stages.at[to->stages.n - 1];
    lang_variable *vars = BASE_NEWS(to->arena, lang_variable, s->var_count + 1);
    for (uint32_t k = 0; k < s->var_count; k++) {
        vars[k] = made->vars[k];
    }
    vars[0].extent = bound;
    vars[0].bound = from->dim[0];
    lang_ref there = lang_apply2(to, LANG_LT, BASE_BOOL, lang_var(to, 0, bound), count);
    lang_ref args[] = {there, made->body, zero_of(to, from->type)};
    made->vars = vars;
    made->body = there == 0 || args[2] == 0 ? 0 : lang_apply(to, LANG_IF, from->type, args, 3);
    to->tensors.at[tensor].extent[0] = 0;
    to->tensors.at[tensor].dim[0] = from->dim[0];
    bool fine = made->body != 0;
    if (fine) {
        add_count(to, from, count, s->place);
    }
    return fine;
}

lang_program *lang_bounded(base_arena *arena, const lang_program *p, uint32_t *counted) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    uint32_t *map = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    lang_program *to = NULL;
    bool fine = can_be_bounded(scratch, p);
    if (fine) {
        to = lang_like(arena, p, NULL, map);
        to->rec_count = p->rec_count;
        lang_rewriter w = {.from = p, .to = to, .tensor_map = map};
        for (size_t i = 0; fine && i < p->stages.n; i++) {
            const lang_stage *s = &p->stages.at[i];
            if (is_dynamic(&p->tensors.at[s->tensor])) {
                for (uint32_t o = 0; o < p->outputs.n; o++) {
                    counted[to->outputs.n - p->outputs.n] =
                        p->outputs.at[o] == s->tensor ? o : counted[to->outputs.n - p->outputs.n];
                }
                fine = bound_stage(scratch, &w, s, map[s->tensor]);
            } else {
                fine = lang_copy_stage(scratch, &w, s, map[s->tensor]);
            }
        }
    }
    base_arena_free(scratch);
    return fine ? to : NULL;
}
