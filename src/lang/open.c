/* open.c - instantiation with extents that a run knows: counts, and what must hold of them.
 *
 * Takes a call whose inputs' extents are counts. Gives values for them, weak as constants are: what a definition makes of
 * its extents becomes an expression over the counts. A condition on extents that ranges do not decide becomes a stage
 * whose evaluation fails where it does not hold. Knows no operator.
 */
#include "lang/inst.h"
#include "lang/rewrite.h"

bool lang_i_add_counts(lang_inst *in) {
    in->counts = BASE_NEWS(in->arena, uint32_t, in->call->count_count + 1);
    for (size_t k = 0; k < in->call->count_count; k++) {
        lang_tensor t = {.name = base_printf(in->p->arena, "count%zu", k), .type = BASE_I64, .kind = LANG_INPUT};
        t.most = in->call->counts[k] > 0 ? in->call->counts[k] : 1;
        in->counts[k] = lang_tensor_add(in->p, &t);
    }
    return true;
}

void lang_i_push_counts(lang_inst *in) {
    for (size_t k = 0; k < in->call->count_count; k++) {
        in->p->tensors.at[in->counts[k]].input = (uint32_t)in->p->inputs.n;
        *BASE_PUSH(in->p->arena, &in->p->inputs) = in->counts[k];
    }
}

static bool is_count(const lang_inst *in, uint32_t tensor) {
    const lang_tensor *t = &in->p->tensors.at[tensor];
    return t->kind == LANG_INPUT && t->most > 0;
}

/* Nodes are numbered after their operands: one pass over the new ones. */
bool lang_i_is_open(lang_inst *in, lang_ref r) {
    while (in->open.n <= r) {
        const lang_ref e = (lang_ref)in->open.n;
        const lang_node *n = lang_at(in->p, e);
        bool open =
            e > 0 && n->kind != LANG_VAR && n->kind != LANG_REDUCE && (n->kind != LANG_READ || is_count(in, n->index));
        for (uint32_t k = 0; open && k < n->count; k++) {
            const lang_ref o = lang_operand(in->p, e, k);
            open = o == 0 || in->open.at[o] != 0;
        }
        *BASE_PUSH(in->arena, &in->open) = open;
    }
    return in->open.at[r] != 0;
}

lang_ranges *lang_i_ranges(lang_inst *in) {
    in->ranges = in->ranges != NULL ? in->ranges : lang_ranges_new(in->arena, in->p);
    return in->ranges;
}

lang_val lang_i_dim(lang_inst *in, const lang_argument *arg, uint32_t k) {
    const uint32_t symbol = arg->shape.symbol[k];
    if (symbol == 0) {
        return lang_v_int(arg->shape.dim[k]);
    }
    return lang_v_open(in, in->op->pos, lang_read(in->p, in->counts[symbol - 1], NULL, 0, 0));
}

int lang_i_decide(lang_inst *in, lang_ref condition) {
    const lang_range r = lang_range_of(lang_i_ranges(in), NULL, condition);
    return r.known && r.lo == r.hi ? (int)r.lo : -1;
}

bool lang_i_require(lang_inst *in, lang_ref condition) {
    const int known = lang_i_decide(in, condition);
    bool there = known >= 0;
    for (size_t k = 0; !there && k < in->required.n; k++) {
        there = in->required.at[k] == condition;
    }
    if (!there) {
        *BASE_PUSH(in->arena, &in->required) = condition;
    }
    return known != 0;
}

static lang_val equal(lang_inst *in, lang_pos pos, lang_val a, lang_val b) {
    return lang_v_binary(in, pos, LANG_B_EQ, a, b);
}

bool lang_i_require_equal(lang_inst *in, lang_pos pos, lang_val a, lang_val b) {
    const lang_val same = equal(in, pos, a, b);
    if (same.kind == LANG_V_BOOL) {
        return same.v.i != 0;
    }
    return same.kind == LANG_V_NODE && lang_i_require(in, same.v.ref);
}

void lang_i_make_tests(lang_inst *in) {
    for (size_t k = 0; k < in->required.n; k++) {
        const uint32_t test = lang_add_test(in->p, in->required.at[k], lang_place(in->op->source, in->op->pos));
        if (test == IR_NONE) {
            lang_v_node(in, in->op->pos, 0);
            return;
        }
        *BASE_PUSH(in->arena, &in->tests) = test;
    }
    in->required.n = 0;
}

static lang_val either(lang_inst *in, lang_pos pos, lang_val a, lang_val b) {
    if (a.kind != LANG_V_NODE || b.kind != LANG_V_NODE) {
        const bool a_decides = a.kind != LANG_V_NODE;
        return (a_decides ? a : b).v.i != 0 ? lang_v_bool(true) : a_decides ? b : a;
    }
    return lang_v_word(in, pos, LANG_OR, (lang_val[]){a, b}, 2);
}

bool lang_i_broadcast(lang_inst *in, lang_pos pos, lang_val a, lang_val b, lang_val *out) {
    int64_t x = 0, y = 0;
    const bool a_known = lang_v_is_static_int(in, a, &x), b_known = lang_v_is_static_int(in, b, &y);
    const lang_val one = lang_v_int(1);
    if ((a_known && x == 1) || (b_known && y == 1) || (a_known && b_known && x == y)) {
        *out = a_known && x == 1 ? b : a;
        return true;
    }
    if (a_known && b_known) {
        lang_i_fail(in, pos, "extents %lld and %lld cannot be broadcast together", (long long)x, (long long)y);
        return false;
    }
    lang_val same = equal(in, pos, a, b), a_one = equal(in, pos, a, one), b_one = equal(in, pos, b, one);
    if (same.kind == LANG_V_BAD || a_one.kind == LANG_V_BAD || b_one.kind == LANG_V_BAD) {
        return false;
    }
    const lang_val fits = either(in, pos, same, either(in, pos, a_one, b_one));
    const bool holds =
        fits.kind == LANG_V_BOOL ? fits.v.i != 0 : fits.kind == LANG_V_NODE && lang_i_require(in, fits.v.ref);
    if (!holds) {
        lang_i_fail(in, pos, "these extents can never be broadcast together");
        return false;
    }
    if (a_known || b_known || a_one.kind == LANG_V_BOOL) {
        *out = a_known || (a_one.kind == LANG_V_BOOL && !a_one.v.i) ? a : b;
    } else {
        *out = same.kind == LANG_V_BOOL && same.v.i ? a : lang_v_if(in, pos, a_one.v.ref, b, a);
    }
    return out->kind != LANG_V_BAD;
}

lang_ref lang_i_spread(lang_inst *in, const lang_tensor *t, uint32_t k, lang_ref index) {
    const lang_ref extent = t->extent[k], zero = lang_int(in->p, BASE_I64, 0);
    const lang_node *n = lang_at(in->p, index);
    if (extent == 0) {
        return t->dim[k] == 1 ? zero : index;
    }
    if (n->kind == LANG_VAR && lang_operand(in->p, index, 0) == extent) {
        return index; /* where the extent is 1 it is 0 */
    }
    lang_ref args[] = {lang_apply2(in->p, LANG_EQ, BASE_BOOL, extent, lang_int(in->p, BASE_I64, 1)), zero, index};
    return lang_apply(in->p, LANG_IF, BASE_I64, args, 3);
}
