/* spread.c - sums over every n-th place as sums over all of them.
 *
 * Takes a program with a sum of products whose guard keeps the places where an index divides by a number, and reads a tensor at the
 * quotient: a transposed convolution. Gives one that reads, at the index itself, a tensor whose elements stand apart, with zeros
 * between: a convolution. Elsewhere than at infinite factors, which times 0 are no number, it has the same values.
 */
#include "lang/lang.h"
#include "lang/rewrite.h"

#define MOST_SPREAD ((int64_t)1 << 26) /* elements */

typedef struct spreader {
    lang_ref sum, read;
    int64_t apart[LANG_MAX_RANK]; /* of each extent of what is read; 1: as it is */
    lang_ref index[LANG_MAX_RANK];
    uint32_t tensor; /* of the new program, whose elements stand apart */
} spreader;

/* The number that e is a multiple of where the condition holds; 0: it says something else. */
static int64_t divisor_of(const lang_program *p, lang_ref condition, lang_ref *e) {
    const lang_node *n = lang_at(p, condition);
    if (n->kind != LANG_WORD_ || n->code != LANG_EQ) {
        return 0;
    }
    for (uint32_t k = 0; k < 2; k++) {
        const lang_ref rest = lang_operand(p, condition, k);
        const lang_node *zero = lang_at(p, lang_operand(p, condition, 1 - k)), *mod = lang_at(p, rest);
        if (zero->kind != LANG_CONST || zero->value.i != 0 || mod->kind != LANG_WORD_ || mod->code != LANG_MOD ||
            mod->type != BASE_I64) {
            continue;
        }
        const lang_node *by = lang_at(p, lang_operand(p, rest, 1));
        *e = lang_operand(p, rest, 0);
        return by->kind == LANG_CONST && by->value.i > 1 ? by->value.i : 0;
    }
    return 0;
}

/* Which extent is read at e / by; IR_NONE: none. */
static uint32_t axis_at(const lang_program *p, lang_ref read, lang_ref e, int64_t by) {
    for (uint32_t k = 0; k < p->tensors.at[lang_at(p, read)->index].rank; k++) {
        const lang_ref index = lang_operand(p, read, k);
        const lang_node *n = lang_at(p, index);
        if (n->kind == LANG_WORD_ && n->code == LANG_DIV && lang_operand(p, index, 0) == e) {
            const lang_node *d = lang_at(p, lang_operand(p, index, 1));
            return d->kind == LANG_CONST && d->value.i == by ? k : IR_NONE;
        }
    }
    return IR_NONE;
}

/* Is it 0 outside of a tensor of fixed extents, and read for this one product? */
static bool may_spread(const lang_program *p, lang_ref read, const uint32_t *uses) {
    const lang_node *n = lang_at(p, read);
    if (n->kind != LANG_READ || n->flat || !n->has_fill || uses[read] != 1 || !base_type_is_float((base_type)n->type)) {
        return false;
    }
    const lang_node *fill = lang_at(p, lang_operand(p, read, n->count - 1));
    const lang_tensor *t = &p->tensors.at[n->index];
    bool fixed = fill->kind == LANG_CONST && fill->value.f == 0.0;
    for (uint32_t k = 0; k < t->rank; k++) {
        fixed = fixed && t->extent[k] == 0;
    }
    return fixed;
}

/* Does the guard say nothing but that this read's indices divide? */
static bool divides(const lang_program *p, lang_ref guard, lang_ref read, spreader *out) {
    enum { MOST = 8 };
    const lang_tensor *t = &p->tensors.at[lang_at(p, read)->index];
    lang_ref part[MOST];
    int64_t elements = 1;
    bool all = true;
    for (uint32_t k = 0; k < t->rank; k++) {
        out->apart[k] = 1;
        out->index[k] = 0;
    }
    const size_t n = lang_conjuncts(p, guard, part, MOST);
    for (size_t i = 0; i < n && all; i++) {
        lang_ref e = 0;
        const int64_t by = n < MOST ? divisor_of(p, part[i], &e) : 0;
        const uint32_t axis = by != 0 ? axis_at(p, read, e, by) : IR_NONE;
        all = axis != IR_NONE;
        if (all) {
            out->apart[axis] = by;
            out->index[axis] = e;
        }
    }
    for (uint32_t k = 0; k < t->rank && all; k++) {
        int64_t extent = 0;
        all = !__builtin_mul_overflow(t->dim[k], out->apart[k], &extent) &&
              !__builtin_mul_overflow(elements, extent, &elements) && elements <= MOST_SPREAD;
    }
    return all && n > 0;
}

/* How often nodes that stages need have each of them for an operand. */
static uint32_t *uses_of(base_arena *scratch, const lang_program *p) {
    const uint8_t *reached = lang_reached(scratch, p, NULL);
    uint32_t *uses = BASE_NEWS(scratch, uint32_t, p->nodes.n + 1);
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        for (uint32_t k = 0; reached[r] != 0 && k < lang_at(p, r)->count; k++) {
            uses[lang_operand(p, r, k)]++;
        }
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        uses[p->stages.at[i].body]++;
    }
    return uses;
}

/* The stage's sum that can be spread; false: none. */
static bool find(base_arena *scratch, const lang_program *p, const lang_stage *s, const uint32_t *uses, spreader *out) {
    const uint8_t *reached = lang_reached(scratch, p, s);
    for (lang_ref r = 1; s->rec < 0 && r < p->nodes.n; r++) {
        const lang_node *n = lang_at(p, r);
        const lang_ref guard = n->kind == LANG_REDUCE ? lang_operand(p, r, n->count - 3) : 0;
        if (reached[r] == 0 || guard == 0 || n->code != LANG_SUM || uses[r] != 1) {
            continue;
        }
        const lang_ref body = lang_operand(p, r, n->count - 2);
        const lang_node *product = lang_at(p, body);
        for (uint32_t k = 0; product->kind == LANG_WORD_ && product->code == LANG_MUL && k < 2; k++) {
            const lang_ref read = lang_operand(p, body, k);
            if (uses[body] == 1 && may_spread(p, read, uses) && divides(p, guard, read, out)) {
                out->sum = r;
                out->read = read;
                return true;
            }
        }
    }
    return false;
}

/* Appends a stage of that tensor, whose body reads `from` at index. */
static void add_stage(lang_program *p, const lang_tensor *t, uint32_t from, lang_ref *index, uint32_t rank,
                      lang_ref fill, base_place place) {
    lang_variable *vars = BASE_NEWS(p->arena, lang_variable, t->rank + 1);
    for (uint32_t k = 0; k < t->rank; k++) {
        vars[k] = (lang_variable){.name = "z", .extent = lang_int(p, BASE_I64, t->dim[k]), .bound = t->dim[k]};
    }
    const uint32_t tensor = lang_tensor_add(p, t);
    *BASE_PUSH(p->arena, &p->stages) = (lang_stage){.tensor = tensor,
                                                    .rank = t->rank,
                                                    .var_count = t->rank,
                                                    .vars = vars,
                                                    .body = lang_read(p, from, index, rank, fill),
                                                    .rec = -1,
                                                    .place = place};
}

static lang_ref variable(lang_program *p, uint32_t k, int64_t extent) {
    return lang_var(p, k, lang_int(p, BASE_I64, extent));
}

/* The tensor with its elements along that extent apart: first with an extent of 1 behind it, outside of which there are zeros. */
static uint32_t spread_along(lang_program *p, uint32_t tensor, uint32_t axis, int64_t apart, base_place place) {
    lang_tensor view = p->tensors.at[tensor], wide = view;
    lang_ref index[LANG_MAX_RANK + 1];
    view.kind = wide.kind = LANG_STAGE;
    view.data = wide.data = NULL;
    view.rank++;
    for (uint32_t k = 0; k < view.rank; k++) {
        view.dim[k] = k == axis + 1 ? 1 : wide.dim[k < axis + 1 ? k : k - 1];
    }
    for (uint32_t k = 0; k < wide.rank; k++) {
        index[k] = variable(p, k <= axis ? k : k + 1, wide.dim[k]);
    }
    view.stage = (uint32_t)p->stages.n;
    add_stage(p, &view, tensor, index, wide.rank, 0, place);
    wide.dim[axis] *= apart;
    for (uint32_t k = 0; k < view.rank; k++) {
        index[k] = variable(p, k <= axis ? k : k - 1, wide.dim[k <= axis ? k : k - 1]);
    }
    index[axis] = lang_apply2(p, LANG_DIV, BASE_I64, index[axis], lang_int(p, BASE_I64, apart));
    index[axis + 1] =
        lang_apply2(p, LANG_MOD, BASE_I64, variable(p, axis, wide.dim[axis]), lang_int(p, BASE_I64, apart));
    wide.stage = (uint32_t)p->stages.n;
    add_stage(p, &wide, p->stages.at[view.stage].tensor, index, view.rank, lang_float(p, wide.type, 0), place);
    return p->stages.at[wide.stage].tensor;
}

static lang_ref replace(lang_rewriter *w, lang_ref r) {
    const spreader *x = w->user;
    const lang_node n = *lang_at(w->from, r);
    lang_ref operand[LANG_MAX_VARS + 3];
    if ((r != x->read && r != x->sum) || n.count > LANG_MAX_VARS + 3) {
        return 0;
    }
    for (uint32_t k = 0; k < n.count; k++) {
        const lang_ref old = lang_operand(w->from, r, k);
        operand[k] = old == 0 ? 0 : w->memo.at[old];
    }
    if (r == x->sum) {
        return lang_reduce(w->to, LANG_SUM, (base_type)n.type, operand, n.count - 3, 0, operand[n.count - 2],
                           operand[n.count - 1]);
    }
    for (uint32_t k = 0; k + 1 < n.count; k++) {
        operand[k] = x->apart[k] > 1 ? w->memo.at[x->index[k]] : operand[k];
    }
    return lang_read(w->to, x->tensor, operand, n.count - 1, operand[n.count - 1]);
}

/* The program with the sum of stage number `at` spread. NULL: the node limit. */
static lang_program *spread(base_arena *arena, base_arena *scratch, const lang_program *p, size_t at, spreader *x) {
    uint32_t *map = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
    lang_program *q = lang_like(arena, p, NULL, map);
    lang_rewriter plain = {.from = p, .to = q, .tensor_map = map},
                  w = {.from = p, .to = q, .replace = replace, .user = x, .tensor_map = map};
    bool fine = true;
    for (uint32_t t = 0; t < p->tensors.n && fine; t++) {
        fine = lang_copy_extents(scratch, &plain, t, map[t]);
    }
    for (size_t i = 0; i < p->stages.n && fine; i++) {
        const lang_stage *s = &p->stages.at[i];
        if (i == at) {
            const uint32_t from = lang_at(p, x->read)->index;
            x->tensor = map[from];
            for (uint32_t k = 0; k < p->tensors.at[from].rank; k++) {
                x->tensor = x->apart[k] > 1 ? spread_along(q, x->tensor, k, x->apart[k], s->place) : x->tensor;
            }
        }
        fine = lang_copy_stage(scratch, i == at ? &w : &plain, s, map[s->tensor]);
    }
    return fine && !lang_full(q) ? q : NULL;
}

const lang_program *lang_spread(base_arena *arena, const lang_program *p) {
    base_arena *scratch = base_arena_new(base_arena_memory(arena));
    const uint32_t *uses = uses_of(scratch, p);
    for (size_t i = 0; i < p->stages.n; i++) {
        spreader x = {.sum = 0};
        if (p->external == NULL && find(scratch, p, &p->stages.at[i], uses, &x)) {
            const lang_program *q = spread(arena, scratch, p, i, &x);
            if (q == NULL) {
                break;
            }
            p = q;
            uses = uses_of(scratch, p);
            i = SIZE_MAX; /* stages have moved */
        }
    }
    base_arena_free(scratch);
    return p;
}

/* ---- what was spread ---- */

static bool is_variable(const lang_program *p, lang_ref e, uint32_t number) {
    return lang_at(p, e)->kind == LANG_VAR && lang_at(p, e)->index == number;
}

/* The word on that variable and a constant: the constant; 0: it is another. */
static int64_t by_constant(const lang_program *p, lang_ref e, lang_word w, uint32_t number) {
    const lang_node *n = lang_at(p, e);
    if (n->kind != LANG_WORD_ || n->code != w || !is_variable(p, lang_operand(p, e, 0), number)) {
        return 0;
    }
    const lang_node *by = lang_at(p, lang_operand(p, e, 1));
    return by->kind == LANG_CONST ? by->value.i : 0;
}

/* The read that is all of a stage's body. NULL: it is more, or the tensor is none of a stage. */
static const lang_node *only_read(const lang_program *p, uint32_t tensor, bool fills, lang_ref *read) {
    const lang_tensor *t = &p->tensors.at[tensor];
    *read = t->kind == LANG_STAGE && p->stages.at[t->stage].rec < 0 ? p->stages.at[t->stage].body : 0;
    const lang_node *n = *read != 0 ? lang_at(p, *read) : NULL;
    return n != NULL && n->kind == LANG_READ && !n->flat && n->has_fill == fills ? n : NULL;
}

/* The one extent along which the tensor is spread, and the tensor whose elements it has; IR_NONE: it is not. */
static uint32_t spread_axis(const lang_program *p, uint32_t tensor, uint32_t *from, int64_t *apart) {
    const uint32_t rank = p->tensors.at[tensor].rank;
    lang_ref outer, inner;
    const lang_node *wide = only_read(p, tensor, true, &outer);
    const lang_node *view = wide != NULL ? only_read(p, wide->index, false, &inner) : NULL;
    if (view == NULL || wide->count != rank + 2 || view->count != rank) {
        return IR_NONE;
    }
    const lang_node *fill = lang_at(p, lang_operand(p, outer, rank + 1));
    uint32_t axis = 0;
    while (axis < rank && is_variable(p, lang_operand(p, outer, axis), axis)) {
        axis++;
    }
    bool is = axis < rank && fill->kind == LANG_CONST && fill->value.f == 0.0 &&
              p->tensors.at[wide->index].dim[axis + 1] == 1;
    *apart = is ? by_constant(p, lang_operand(p, outer, axis), LANG_DIV, axis) : 0;
    is = is && *apart > 1 && by_constant(p, lang_operand(p, outer, axis + 1), LANG_MOD, axis) == *apart;
    for (uint32_t k = 0; k < rank && is; k++) {
        is = is_variable(p, lang_operand(p, inner, k), k <= axis ? k : k + 1) &&
             (k <= axis || is_variable(p, lang_operand(p, outer, k + 1), k));
    }
    *from = view->index;
    return is ? axis : IR_NONE;
}

bool lang_is_spread(const lang_program *p, uint32_t tensor, uint32_t *from, int64_t *apart) {
    bool any = false;
    int64_t by = 1;
    for (uint32_t k = 0; k < p->tensors.at[tensor].rank; k++) {
        apart[k] = 1;
    }
    *from = tensor;
    for (uint32_t axis; (axis = spread_axis(p, *from, &tensor, &by)) != IR_NONE && apart[axis] == 1; any = true) {
        apart[axis] = by;
        *from = tensor;
    }
    return any;
}
